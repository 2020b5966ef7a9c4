//! JSON with its numbers as written: a size, an id or a gid beyond 2^53 must come out as it went in.

use std::borrow::Cow;
use std::fmt::Write;

/// Nesting beyond this is refused; no provider's schema comes near it.
const DEEPEST: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    Null,
    Bool(bool),
    /// The digits as written.
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    /// Sorted by key; of two equal keys the last one stays.
    Map(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads one value. An error is a sentence without a place: the caller knows which object it read.
    pub fn parse(text: &'a str) -> Result<Json<'a>, &'static str> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0)?;
        parser.space();
        if parser.at == text.len() { Ok(value) } else { Err("there is text after the value") }
    }

    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        match self {
            Json::Map(entries) => {
                entries.binary_search_by(|(k, _)| k.as_ref().cmp(key)).ok().map(|found| &entries[found].1)
            }
            _ => None,
        }
    }

    pub fn at(&self, index: usize) -> Option<&Json<'a>> {
        match self {
            Json::List(items) => items.get(index),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn is_scalar(&self) -> bool {
        !matches!(self, Json::List(_) | Json::Map(_))
    }

    /// Whether `true` stands anywhere inside: how the engine marks sensitive and unknown parts.
    pub fn marks_any(&self) -> bool {
        match self {
            Json::Bool(mark) => *mark,
            Json::List(items) => items.iter().any(Json::marks_any),
            Json::Map(entries) => entries.iter().any(|(_, value)| value.marks_any()),
            _ => false,
        }
    }

    /// Compact JSON with sorted keys; every text passes through `text` first.
    pub fn write(&self, out: &mut String, text: &mut impl FnMut(&str) -> Option<String>) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(digits) => out.push_str(digits),
            Json::Text(value) => match text(value) {
                Some(other) => quote(out, &other),
                None => quote(out, value),
            },
            Json::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out, text);
                }
                out.push(']');
            }
            Json::Map(entries) => {
                out.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    quote(out, key);
                    out.push(':');
                    value.write(out, text);
                }
                out.push('}');
            }
        }
    }

    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &mut |_| None);
        out
    }
}

/// Writes a JSON string.
pub fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let met = self.peek() == Some(byte);
        self.at += usize::from(met);
        met
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, &'static str> {
        if depth > DEEPEST {
            return Err("a value is nested too deeply");
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => Ok(Json::Text(self.text()?)),
            Some(b'-' | b'0'..=b'9') => {
                let start = self.at;
                while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
                    self.at += 1;
                }
                Ok(Json::Number(Cow::Borrowed(&self.text[start..self.at])))
            }
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Json<'a>, &'static str> {
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err("a value is missing")
    }

    fn list(&mut self, depth: usize) -> Result<Json<'a>, &'static str> {
        self.at += 1;
        let mut items = Vec::new();
        if self.eat(b']') {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.eat(b']') {
                items.shrink_to_fit();
                return Ok(Json::List(items));
            }
            if !self.eat(b',') {
                return Err("a list is not closed");
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Json<'a>, &'static str> {
        self.at += 1;
        let mut entries: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
        if self.eat(b'}') {
            return Ok(Json::Map(entries));
        }
        loop {
            self.space();
            let key = self.text()?;
            if !self.eat(b':') {
                return Err("a key has no value");
            }
            entries.push((key, self.value(depth + 1)?));
            if self.eat(b'}') {
                break;
            }
            if !self.eat(b',') {
                return Err("an object is not closed");
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(&mut later.1, &mut earlier.1);
            }
            same
        });
        Ok(Json::Map(entries))
    }

    fn text(&mut self) -> Result<Cow<'a, str>, &'static str> {
        if self.peek() != Some(b'"') {
            return Err("a text is missing");
        }
        self.at += 1;
        let start = self.at;
        let mut owned: Option<String> = None;
        let mut from = start;
        loop {
            match self.peek() {
                None => return Err("a text is not closed"),
                Some(b'"') => {
                    let rest = &self.text[from..self.at];
                    self.at += 1;
                    return Ok(match owned {
                        Some(mut text) => {
                            text.push_str(rest);
                            Cow::Owned(text)
                        }
                        None => Cow::Borrowed(rest),
                    });
                }
                Some(b'\\') => {
                    let text = owned.get_or_insert_with(String::new);
                    text.push_str(&self.text[from..self.at]);
                    self.at += 1;
                    let c = self.escape()?;
                    text.push(c);
                    owned = owned.take();
                    from = self.at;
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<char, &'static str> {
        let byte = self.peek().ok_or("a text is not closed")?;
        self.at += 1;
        Ok(match byte {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'"' | b'\\' | b'/' => char::from(byte),
            b'u' => {
                let high = self.hex()?;
                if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u") {
                    let back = self.at;
                    self.at += 2;
                    let low = self.hex()?;
                    if (0xdc00..0xe000).contains(&low) {
                        let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                        return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                    self.at = back;
                }
                char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err("a text has an unknown escape"),
        })
    }

    fn hex(&mut self) -> Result<u32, &'static str> {
        let digits = self.text.get(self.at..self.at + 4).ok_or("a text has a broken escape")?;
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| "a text has a broken escape")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_as_written_and_keys_are_sorted() {
        let text = r#" {"b": 12345678901234567890123, "a": [1.50, -0, 1e400], "é": "\u00e9\ud83d\ude00\n", "b2": {}} "#;
        let value = Json::parse(text).unwrap();
        assert_eq!(value.compact(), "{\"a\":[1.50,-0,1e400],\"b\":12345678901234567890123,\"b2\":{},\"é\":\"é😀\\n\"}");
    }

    #[test]
    fn of_equal_keys_the_last_one_counts() {
        assert_eq!(Json::parse(r#"{"a":1,"a":2}"#).unwrap().get("a"), Some(&Json::Number("2".into())));
    }

    #[test]
    fn broken_and_bottomless_texts_are_errors() {
        for text in ["", "{", "[1", "{\"a\"}", "\"", "\"\\x\"", "\"\\u12\"", "nul", "1 2", "{\"a\":1,}"] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
        assert!(Json::parse(&"[".repeat(100_000)).is_err());
        assert_eq!(Json::parse("\"\\ud800x\"").unwrap().as_text(), Some("\u{fffd}x"));
    }
}
