//! A record as YAML: block style, sorted keys, no folded lines, and one way to write each value, so that a landing changes only the lines of what it did.
//!
//! What is printed reads back as the same value, by YAML 1.1 as by 1.2: a text that either takes for something else is quoted.

use csis_tree::yaml::resolve;
use serde_json::{Map, Value};
use std::fmt::Write;

/// A whole document, with its last line ended.
pub fn document(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => mapping(map, 0, &mut out),
        Value::Array(items) if !items.is_empty() => sequence(items, 0, &mut out),
        other => {
            out.push_str(&flow(other));
            out.push('\n');
        }
    }
    out
}

fn mapping(map: &Map<String, Value>, depth: usize, out: &mut String) {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    for (index, (key, value)) in entries.into_iter().enumerate() {
        // The first entry of a list's item stands behind its dash.
        if index > 0 || !out.ends_with("- ") {
            indent(depth, out);
        }
        out.push_str(&one_line(key));
        out.push(':');
        match value {
            Value::Object(map) if !map.is_empty() => {
                out.push('\n');
                mapping(map, depth + 1, out);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                sequence(items, depth, out);
            }
            other => scalar(other, depth + 1, out),
        }
    }
}

fn sequence(items: &[Value], depth: usize, out: &mut String) {
    for item in items {
        indent(depth, out);
        match item {
            Value::Object(map) if !map.is_empty() => {
                out.push_str("- ");
                mapping(map, depth + 1, out);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push_str("-\n");
                sequence(items, depth + 1, out);
            }
            other => {
                out.push('-');
                scalar(other, depth + 1, out);
            }
        }
    }
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth));
}

/// A value behind a colon or a dash, to the end of its last line.
fn scalar(value: &Value, depth: usize, out: &mut String) {
    if let Value::String(text) = value
        && let Some(chomp) = literal(text)
    {
        let _ = writeln!(out, " |{chomp}");
        for line in text.lines() {
            if !line.is_empty() {
                indent(depth, out);
                out.push_str(line);
            }
            out.push('\n');
        }
        return;
    }
    let _ = writeln!(out, " {}", flow(value));
}

fn flow(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::String(text) => one_line(text),
        Value::Array(_) => "[]".into(),
        Value::Object(_) => "{}".into(),
        other => other.to_string(),
    }
}

/// How a literal block of the text ends; none when only quotes keep it.
fn literal(text: &str) -> Option<&'static str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let fits = body.contains('\n') || text.len() > body.len();
    let keeps = !body.is_empty()
        && !body.starts_with([' ', '\t', '\n'])
        && !body.ends_with('\n')
        && body.lines().all(|line| !line.ends_with([' ', '\t']))
        && body.chars().all(|c| c == '\n' || is_shown(c));
    (fits && keeps).then_some(if text.len() > body.len() { "" } else { "-" })
}

fn one_line(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else if text.chars().all(is_shown) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        let mut quoted = String::from("\"");
        for c in text.chars() {
            match c {
                '"' => quoted.push_str("\\\""),
                '\\' => quoted.push_str("\\\\"),
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                c if is_shown(c) => quoted.push(c),
                c => {
                    let _ = write!(quoted, "\\U{:08x}", u32::from(c));
                }
            }
        }
        quoted.push('"');
        quoted
    }
}

/// A character that stands in a line as itself.
fn is_shown(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether a text without quotes is that text, to every reader.
fn is_plain(text: &str) -> bool {
    let bare = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '.' | '$' | '(' | '~' | '+');
    let is_text = |node: csis_values::Value| matches!(node, csis_values::Value::Text(_));
    text.starts_with(bare)
        && text.chars().all(is_shown)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && is_text(resolve(text))
        && !is_date(text)
        && !is_number_elsewhere(text)
}

/// YAML 1.1 takes `2031-02-03` and what begins so for a time.
fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let digits = |part: Option<&str>, few: usize, most: usize| {
        part.is_some_and(|p| (few..=most).contains(&p.len()) && p.bytes().all(|b| b.is_ascii_digit()))
    };
    digits(parts.next(), 4, 4)
        && digits(parts.next(), 1, 2)
        && parts.next().is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// `1e3`, `0o17` and `.inf` are numbers to YAML 1.2, and a lone `y` is true to some.
fn is_number_elsewhere(text: &str) -> bool {
    text.parse::<f64>().is_ok()
        || text.starts_with("0o")
        || text.trim_start_matches(['+', '-']).starts_with('.')
        || matches!(text, "y" | "Y" | "n" | "N" | "~" | "...")
}

#[cfg(test)]
mod tests {
    use super::document;
    use crate::documents::parsed;
    use serde_json::{Value, json};

    #[test]
    fn the_records_of_a_standing_tree_are_printed_as_they_are() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/harbor-standing/meta-state");
        let mut seen = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let value = parsed("r.yaml", &bytes).unwrap();
            assert_eq!(document(&value), String::from_utf8(bytes).unwrap(), "{}", path.display());
            seen += 1;
        }
        assert!(seen >= 6);
    }

    #[test]
    fn every_text_reads_back_as_itself() {
        let texts = [
            "",
            " ",
            "a",
            "a b",
            "2775",
            "0644",
            "1e3",
            "1_000",
            "12:30:00",
            "yes",
            "No",
            "null",
            "~",
            "y",
            "-",
            "- a",
            "-a",
            "?",
            "? a",
            ":",
            "a:",
            "a: b",
            "a:b",
            "#",
            "a #b",
            "a#b",
            "[a]",
            "{a}",
            "*a",
            "&a",
            "!a",
            "|",
            ">",
            "%a",
            "@a",
            "`a`",
            "'a'",
            "\"a\"",
            "it's",
            "2031-02-03",
            "2031-02-03T04:09:00+00:00",
            "a\n",
            "a\nb",
            "a\nb\n",
            "a\n\n",
            "\n",
            "\na",
            " a\nb\n",
            "a \nb\n",
            "a\n\nb\n",
            "a\n  b\n",
            "a\tb",
            "\ta\n",
            "a\r\nb",
            "\u{0}",
            "\u{1b}[31m",
            "\u{85}",
            "\u{2028}x",
            "\u{feff}a",
            "ж",
            "日本\n語\n",
            "🦀",
            "---",
            "...",
            "--- a",
            "<<",
            "=",
            ".inf",
            ".5",
            "+1",
            "0x1f",
            "0o17",
            "0b1",
            "%YAML 1.1",
            "a\\b",
            "$(rm -rf /)",
            "ENC[age:abc]",
            "true ",
        ];
        for text in texts {
            for value in [
                json!({"k": text}),
                json!({ text: 1 }),
                json!([text, [text], {"a": text}]),
                json!({"a": {"b": text}, "c": [text]}),
            ] {
                let printed = document(&value);
                assert_eq!(parsed("r.yaml", printed.as_bytes()).as_ref(), Ok(&value), "{text:?} as\n{printed}");
            }
        }
    }

    #[test]
    fn empty_things_and_numbers() {
        for value in [
            json!({}),
            json!({"a": [], "b": {}, "c": null, "d": true, "e": -3}),
            json!({"a": [[], {}, [[1]], {"b": [{"c": 1, "d": 2}]}]}),
        ] {
            let printed = document(&value);
            assert_eq!(parsed("r.yaml", printed.as_bytes()).as_ref(), Ok(&value), "{printed}");
        }
        assert_eq!(document(&Value::Object(serde_json::Map::new())), "{}\n");
    }
}
