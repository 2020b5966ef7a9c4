//! Opening encrypted values in the private working copy.
//!
//! The emission carries a marker, `ENC[…]`, wherever a secret belongs. Its plaintext is written by the rules of the place where the marker stands, so that a
//! quote, a line break or `${` in a secret stays part of the secret.

use std::collections::BTreeMap;

/// A marker that has no plaintext.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an encrypted value in {file} was not opened")]
pub struct Unopened {
    pub file: String,
}

/// What a marker's plaintext must be escaped for.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    /// Outside of any text, or in a comment: markers stay.
    Code,
    /// In a quoted text of HCL, or of JSON that the engine reads as HCL.
    Quoted,
    /// In a heredoc or a template file.
    Template,
    /// In a file that the engine hands on as it is.
    Raw,
}

/// The text with its markers opened. `secrets` maps a marker, as written, to its plaintext.
pub fn open(file: &str, text: &str, secrets: &BTreeMap<String, String>) -> Result<String, Unopened> {
    if !text.contains("ENC[") {
        return Ok(text.to_owned());
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    let mut places = Places::new(file, text);
    for (at, _) in text.match_indices("ENC[") {
        if at < from {
            continue;
        }
        let Some(end) = text[at..].find(']').map(|end| at + end + 1) else { break };
        let place = places.at(at);
        if place == Place::Code {
            continue;
        }
        let plain = secrets.get(&text[at..end]).ok_or_else(|| Unopened { file: file.to_owned() })?;
        out.push_str(&text[from..at]);
        out.push_str(&escape(plain, place));
        from = end;
    }
    out.push_str(&text[from..]);
    Ok(out)
}

fn escape(plain: &str, place: Place) -> String {
    if place == Place::Raw {
        return plain.to_owned();
    }
    let mut out = String::with_capacity(plain.len());
    let mut chars = plain.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '$' | '%' if chars.peek() == Some(&'{') => {
                out.push(c);
                out.push(c);
            }
            _ if place == Place::Template => out.push(c),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                use std::fmt::Write;
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// Tells, going forward through a file, what stands at a position.
struct Places<'a> {
    text: &'a str,
    at: usize,
    nest: Vec<Nest>,
    /// The same everywhere in the file.
    whole: Option<Place>,
}

#[derive(Clone, Debug, PartialEq)]
enum Nest {
    Quoted,
    Heredoc(String),
    /// An interpolation or directive, with the depth of braces in it.
    Hole(usize),
    LineComment,
    BlockComment,
}

impl<'a> Places<'a> {
    fn new(file: &str, text: &'a str) -> Self {
        let name = file.rsplit('/').next().unwrap_or(file);
        let ends = |all: &[&str]| all.iter().any(|end| name.ends_with(end));
        let whole = if ends(&[".tftpl", ".tpl"]) {
            Some(Place::Template)
        } else if ends(&[".tf", ".tfvars", ".hcl", ".json"]) {
            None
        } else {
            Some(Place::Raw)
        };
        Places { text, at: 0, nest: Vec::new(), whole }
    }

    fn at(&mut self, position: usize) -> Place {
        if let Some(place) = self.whole {
            return place;
        }
        while self.at < position {
            self.step();
        }
        match self.nest.last() {
            Some(Nest::Quoted) => Place::Quoted,
            Some(Nest::Heredoc(_)) => Place::Template,
            _ => Place::Code,
        }
    }

    fn starts(&self, what: &str) -> bool {
        self.text[self.at..].starts_with(what)
    }

    fn step(&mut self) {
        let Some(c) = self.text[self.at..].chars().next() else {
            self.at = self.text.len() + 1;
            return;
        };
        let mut width = c.len_utf8();
        match self.nest.last_mut() {
            Some(Nest::LineComment) => {
                if c == '\n' {
                    self.nest.pop();
                }
            }
            Some(Nest::BlockComment) => {
                if self.starts("*/") {
                    width = 2;
                    self.nest.pop();
                }
            }
            Some(Nest::Quoted) => match c {
                '\\' => width += self.text[self.at + width..].chars().next().map_or(0, char::len_utf8),
                '"' => {
                    self.nest.pop();
                }
                _ => width = self.hole(width),
            },
            Some(Nest::Heredoc(end)) => {
                let line = self.text[self.at..].strip_prefix('\n').map(|rest| rest.lines().next().unwrap_or_default());
                if line.is_some_and(|line| line.trim() == end.as_str()) {
                    self.nest.pop();
                } else {
                    width = self.hole(width);
                }
            }
            Some(Nest::Hole(depth)) => match c {
                '{' => *depth += 1,
                '}' if *depth == 0 => {
                    self.nest.pop();
                }
                '}' => *depth -= 1,
                _ => width = self.code(width),
            },
            None => width = self.code(width),
        }
        self.at += width;
    }

    /// Enters an interpolation of a text; `$${` is none.
    fn hole(&mut self, width: usize) -> usize {
        if self.starts("$${") || self.starts("%%{") {
            return 3;
        }
        if self.starts("${") || self.starts("%{") {
            self.nest.push(Nest::Hole(0));
            return 2;
        }
        width
    }

    fn code(&mut self, width: usize) -> usize {
        if self.starts("\"") {
            self.nest.push(Nest::Quoted);
        } else if self.starts("#") || self.starts("//") {
            self.nest.push(Nest::LineComment);
        } else if self.starts("/*") {
            self.nest.push(Nest::BlockComment);
            return 2;
        } else if self.starts("<<") {
            let line = self.text[self.at + 2..].lines().next().unwrap_or_default();
            let end = line.strip_prefix('-').unwrap_or(line).trim();
            if !end.is_empty() && end.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') {
                self.nest.push(Nest::Heredoc(end.to_owned()));
                // Stops before the line break: an empty heredoc ends on the next line.
                return 2 + line.len();
            }
        }
        width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "a\"b\\c\nd${e}%{f}$g";

    fn secrets() -> BTreeMap<String, String> {
        BTreeMap::from([("ENC[age:eA==]".to_owned(), PLAIN.to_owned())])
    }

    #[test]
    fn a_secret_stays_text_wherever_it_stands() {
        let text = "# ENC[age:eA==]\na = \"x${lookup(m, \"k\")}ENC[age:eA==]y\"\nb = <<-EOT\n  ENC[age:eA==]\n  EOT\nc = \"$${ENC[age:eA==]\"\n";
        let opened = open("main.tf", text, &secrets()).unwrap();
        let quoted = r#"a\"b\\c\nd$${e}%%{f}$g"#;
        let template = "a\"b\\c\nd$${e}%%{f}$g";
        assert_eq!(
            opened,
            format!(
                "# ENC[age:eA==]\na = \"x${{lookup(m, \"k\")}}{quoted}y\"\nb = <<-EOT\n  {template}\n  EOT\nc = \"$${{{quoted}\"\n"
            )
        );
    }

    #[test]
    fn the_engine_reads_back_the_exact_plaintext() {
        let opened = open("main.tf", "a = \"ENC[age:eA==]\"\n", &secrets()).unwrap();
        let body: hcl::Body = hcl::from_str(&opened).unwrap();
        let expression = body.attributes().next().unwrap().expr().to_string();
        assert!(expression.contains(r#"a\"b\\c\nd$${e}"#), "{expression}");
    }

    #[test]
    fn templates_keep_lines_and_escape_only_holes() {
        assert_eq!(open("site.sh", "X=ENC[age:eA==]\n", &secrets()).unwrap(), format!("X={PLAIN}\n"));
        assert_eq!(open("user-data.sh.tftpl", "X=ENC[age:eA==]\n", &secrets()).unwrap(), "X=a\"b\\c\nd$${e}%%{f}$g\n");
    }

    #[test]
    fn a_marker_without_a_plaintext_is_an_error_that_shows_nothing() {
        let error = open("main.tf", "a = \"ENC[age:b3RoZXI=]\"", &secrets()).unwrap_err();
        assert_eq!(error.to_string(), "an encrypted value in main.tf was not opened");
    }
}
