//! Text inside quotes: nothing of it can become an interpolation, end the quotes, or hide from a reader.

/// A quoted literal.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    literal(text, &mut out);
    out.push('"');
    out
}

/// What stands between quotes for a literal text.
pub(crate) fn literal(text: &str, out: &mut String) {
    let mut rest = text.chars().peekable();
    let mut before = '\0';
    while let Some(c) = rest.next() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '$' | '%' if rest.peek() == Some(&'{') => {
                // After another of its kind a doubled marker would be read as that one's escape.
                if before == c { numbered(c, out) } else { out.extend([c, c]) }
            }
            hidden if is_hidden(hidden) => numbered(hidden, out),
            plain => out.push(plain),
        }
        before = c;
    }
}

/// An object key's text: also written by number is what may share a column with its neighbour, so that alignment needs no table of characters.
pub(crate) fn key(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut plain = String::new();
    for c in text.chars() {
        if is_one_column(c) {
            plain.push(c);
        } else {
            literal(&plain, &mut out);
            plain.clear();
            let mut escaped = String::new();
            literal(c.encode_utf8(&mut [0; 4]), &mut escaped);
            if escaped.is_ascii() { out.push_str(&escaped) } else { numbered(c, &mut out) }
        }
    }
    literal(&plain, &mut out);
    out.push('"');
    out
}

fn numbered(c: char, out: &mut String) {
    use std::fmt::Write;
    let code = u32::from(c);
    let _ = if code > 0xffff { write!(out, "\\U{code:08x}") } else { write!(out, "\\u{code:04x}") };
}

/// Controls, and what is invisible or turns the direction of reading.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            u32::from(c),
            0xad | 0x034f | 0x061c | 0x115f | 0x1160 | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f
                | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0xe0000..=0xe0fff
        )
}

/// Letters that stand alone whatever surrounds them.
fn is_one_column(c: char) -> bool {
    matches!(u32::from(c), 0x20..=0x7e | 0xa1..=0xa8 | 0xaa..=0xac | 0xaf..=0x2ff | 0x370..=0x482 | 0x48a..=0x52f | 0x3041..=0x3096 | 0x30a1..=0x30fa | 0x4e00..=0x9fff)
}

/// A comment's text on one line, with nothing hidden.
pub(crate) fn comment(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            hidden if is_hidden(hidden) => '\u{fffd}',
            plain => plain,
        })
        .collect()
}
