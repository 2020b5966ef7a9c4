//! What keeps a file from being YAML, in words of our own. The parser says at which character it stopped and of which of its expectations; what a person got
//! wrong is read from the lines around it. No text of the file is told: what is no YAML may be anything, a secret too.

use csis_values::{Diagnostic, Place};
use std::sync::Arc;

/// The finding for an error that the parser raised at a place.
pub(crate) fn explain(text: &str, at: Place, said: &str) -> Diagnostic {
    let site = Site { lines: text.lines().collect(), at, said };
    let told = site
        .conflict()
        .or_else(|| site.tab())
        .or_else(|| site.quotes())
        .or_else(|| site.brackets())
        .or_else(|| site.colon())
        .or_else(|| site.indentation())
        .or_else(|| site.first_character())
        .or_else(|| site.block_text());
    told.unwrap_or_else(|| {
        let help = if said.contains("recursion") {
            "nest less deeply"
        } else {
            "check indentation, colons and quotes at and before this line"
        };
        Site::tell(&site.at, format!("this is not YAML: {said}"), help)
    })
}

struct Site<'a> {
    lines: Vec<&'a str>,
    /// Where the parser stopped; after the last line when something is open at the end.
    at: Place,
    said: &'a str,
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn indent(line: &str) -> usize {
    line.chars().take_while(|c| *c == ' ').count()
}

fn is_entry(line: &str) -> bool {
    let line = line.trim();
    line == "-" || line.starts_with("- ")
}

/// Whether a line holds a key and, behind it, a value.
fn has_value(line: &str) -> bool {
    line.trim().trim_start_matches("- ").split_once(": ").is_some_and(|(_, value)| !value.trim().is_empty())
}

impl Site<'_> {
    fn tell(at: &Place, message: impl Into<String>, help: &str) -> Diagnostic {
        Diagnostic::error("yaml-syntax", message).at(at).help(help)
    }

    fn place(&self, line: usize, column: usize) -> Place {
        Place::new(Arc::clone(&self.at.file), narrow(line + 1), narrow(column + 1))
    }

    /// The index of the line where the parser stopped.
    fn index(&self) -> usize {
        (self.at.line as usize).saturating_sub(1)
    }

    fn line(&self) -> &str {
        self.lines.get(self.index()).copied().unwrap_or_default()
    }

    /// What stands on the line before the parser stopped.
    fn before(&self) -> String {
        self.line().chars().take((self.at.column as usize).saturating_sub(1)).collect()
    }

    fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.said.contains(word))
    }

    /// The nearest line above that is neither blank nor a comment.
    fn above(&self, index: usize) -> Option<usize> {
        let told = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
        (0..index.min(self.lines.len())).rev().find(|at| told(self.lines[*at]))
    }

    /// The first character of a line.
    fn start_of(&self, index: usize) -> Place {
        self.place(index, self.lines.get(index).map_or(0, |line| indent(line)))
    }

    fn conflict(&self) -> Option<Diagnostic> {
        let begins = |mark: &str| self.lines.iter().position(|line| line.starts_with(mark));
        let (first, _) = begins("<<<<<<< ").zip(begins(">>>>>>> "))?;
        let help =
            "resolve the conflict: keep what counts, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`";
        Some(Site::tell(&self.place(first, 0), "a conflict that git left stands in the file", help))
    }

    fn tab(&self) -> Option<Diagnostic> {
        let help = "replace the tab by spaces";
        let leading = |line: &str| line.chars().take_while(|c| c.is_whitespace()).position(|c| c == '\t');
        let tells = self.says(&["tab"]) && !self.says(&["quoted scalar"]);
        // A text that goes on over lines is told of at its beginning.
        let far = if tells { self.lines.len() } else { self.index() + 1 };
        let indented = (self.index()..far).find_map(|at| Some((at, leading(self.lines.get(at)?)?)));
        if let Some((line, column)) = indented {
            let at = self.place(line, column);
            return Some(Site::tell(&at, "a tab indents this line; YAML indents with spaces", help));
        }
        tells.then(|| Site::tell(&self.at, "a tab stands where YAML takes spaces alone", help))
    }

    fn quotes(&self) -> Option<Diagnostic> {
        if self.says(&["trailing content after double-quoted"]) {
            let help = "put all of the value between the quotes; inside of single quotes write a quote twice, inside of double ones behind a `\\`";
            return Some(Site::tell(&self.at, "text follows a closing quote", help));
        }
        if !self.says(&["quoted scalar"]) {
            return None;
        }
        if self.says(&["escape", "hexadecimal"]) {
            let help = "write two backslashes for one, or use single quotes, where a backslash is itself";
            return Some(Site::tell(&self.at, "the text in double quotes has a backslash that begins no escape", help));
        }
        let help = "close it with the same quote; lines that continue it are indented deeper than its key";
        Some(Site::tell(&self.at, "the quote that opens here is not closed", help))
    }

    fn brackets(&self) -> Option<Diagnostic> {
        if self.says(&["misplaced bracket"]) {
            let help = "remove the bracket, or put the value in quotes when it is part of a text";
            return Some(Site::tell(&self.at, "a bracket closes here that was not opened", help));
        }
        let inside = ["flow", "valid inside a block", "illegal placement of ':'"];
        if !self.says(&inside) {
            return None;
        }
        let (bracket, open) = self.open_bracket()?;
        let close = if bracket == '[' { ']' } else { '}' };
        let message = format!("the `{bracket}` of line {} is not closed where it should be", open.line);
        let help = format!("close it with `{close}`, and separate its elements by commas");
        Some(Site::tell(&self.at, message, &help).also(&open, "it opens here"))
    }

    /// The last bracket before the place that is still open. Quotes are taken into account line by line, which is enough for a hint.
    fn open_bracket(&self) -> Option<(char, Place)> {
        const FAR: usize = 200;
        let last = self.index().min(self.lines.len().saturating_sub(1));
        let mut open: Vec<(char, Place)> = Vec::new();
        for index in last.saturating_sub(FAR)..=last {
            let (mut quote, mut previous) = (None, ' ');
            for (column, c) in self.lines.get(index)?.chars().enumerate() {
                if index == self.index() && column + 1 >= self.at.column as usize {
                    break;
                }
                match (quote, c) {
                    (Some(q), c) if q == c => quote = None,
                    (None, '#') if previous == ' ' => break,
                    (None, '"' | '\'') if " [{,:".contains(previous) => quote = Some(c),
                    (None, '[' | '{') if open.is_empty() && !" :-[{,".contains(previous) => {}
                    (None, '[' | '{') => open.push((c, self.place(index, column))),
                    (None, ']' | '}') => drop(open.pop()),
                    _ => {}
                }
                previous = c;
            }
        }
        open.pop()
    }

    /// A colon that begins a value where none can be.
    fn colon(&self) -> Option<Diagnostic> {
        if !self.says(&["mapping values are not allowed"]) {
            return None;
        }
        let before = self.before();
        if before.contains(": ") {
            return Some(Site::tell(
                &self.at,
                "a text without quotes holds a colon and a space, which begin a value",
                "put the text in quotes",
            ));
        }
        let here = self.index();
        let above = self.above(here)?;
        let (line, over) = (self.line(), self.lines[above]);
        let at = self.start_of(here);
        if has_value(over) && indent(line) > indent(over) {
            let message = format!("this line is indented deeper than line {}, which has its value already", above + 1);
            return Some(Site::tell(&at, message, "indent it like the other keys of its mapping"));
        }
        let message = format!("this line continues the text of line {}, which is no key and value", above + 1);
        let help = format!("write line {} as `key: value`, with a space behind the colon", above + 1);
        Some(Site::tell(&at, message, &help))
    }

    fn indentation(&self) -> Option<Diagnostic> {
        if self.says(&["simple key expect"]) {
            let line = self.above(self.index()).unwrap_or_default();
            let help = "write `key: value`, end a key by a colon, or indent the line deeper when it continues a text";
            return Some(Site::tell(&self.start_of(line), "this line is neither a key nor an entry of a list", help));
        }
        if !self.says(&[
            "did not find expected '-'",
            "did not find expected key",
            "invalid indentation",
            "not allowed in this context",
        ]) {
            return None;
        }
        let before = self.before();
        if before.trim_end().ends_with([']', '}']) {
            let help = "put all of the value in quotes, when the brackets are part of a text";
            return Some(Site::tell(&self.at, "text follows a closing bracket", help));
        }
        let here = self.index();
        let at = self.start_of(here);
        let beside = (0..here.min(self.lines.len())).rev().map(|index| (index, self.lines[index]));
        let dash = beside
            .filter(|(_, line)| !line.trim().is_empty())
            .take_while(|(_, line)| indent(line) >= indent(self.line()))
            .find(|(_, line)| line.trim().starts_with('-') && !is_entry(line) && !line.trim().starts_with("--"));
        if let Some((index, _)) = dash {
            let message = format!("line {} begins with `-` and no space, so it is no entry of a list", index + 1);
            return Some(Site::tell(&self.start_of(index), message, "write a space behind the `-`"));
        }
        let above = self.above(here).map_or("", |index| self.lines[index]);
        if is_entry(self.line()) && !is_entry(above) && indent(above) == indent(self.line()) {
            let help = "begin every entry of the list with `- `, or indent the list below its key";
            return Some(Site::tell(&at, "an entry of a list stands among the keys of a mapping", help));
        }
        let help = "indent it exactly like the other keys of its mapping, or the other entries of its list";
        Some(Site::tell(&at, "this line is indented like none of the lines above that it could belong to", help))
    }

    fn first_character(&self) -> Option<Diagnostic> {
        let help = "put the value in quotes";
        if let Some((_, rest)) = self.said.split_once("unexpected character: `") {
            let character = rest.chars().next().filter(|c| c.is_ascii_graphic() && *c != '`');
            let message = match character {
                Some(character) => format!("a value without quotes cannot begin with `{character}`"),
                None => "a value without quotes cannot begin with this character".to_owned(),
            };
            return Some(Site::tell(&self.at, message, help));
        }
        if self.says(&["unknown anchor"]) {
            let message = "`*` refers to an anchor, and the file has none of that name above";
            return Some(Site::tell(&self.at, message, "put the value in quotes, or define the anchor with `&` first"));
        }
        self.says(&["anchor or alias"])
            .then(|| Site::tell(&self.at, "`&` and `*` begin the name of an anchor, and none follows", help))
    }

    fn block_text(&self) -> Option<Diagnostic> {
        self.says(&["block scalar"]).then(|| {
            let help = "begin the text on the line below, every line of it indented deeper than its key";
            Site::tell(&self.at, "the text behind `|` or `>` does not begin as one can", help)
        })
    }
}

#[cfg(test)]
#[path = "syntax_tests.rs"]
mod tests;
