//! Text from outside made harmless: it is shown as it is, and can neither format, link, notify, colour nor hide.

use std::fmt::Write;

/// The longest piece of foreign text that is shown in a sentence, in characters.
pub const SENTENCE: usize = 600;
/// The longest name, address or value that is shown within a sentence, in characters.
pub const NAME: usize = 240;

/// Makes control, bidirectional and invisible characters visible; line breaks too. What is longer than `limit` characters ends in `…`.
pub fn one_line(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit * 4));
    for (count, c) in text.chars().enumerate() {
        if count >= limit {
            out.push('…');
            break;
        }
        match c {
            '\n' => out.push('⏎'),
            '\t' => out.push(' '),
            c => visible(c, &mut out),
        }
    }
    out
}

/// The lines of a text, each made visible and at most `limit` characters long.
pub fn lines(text: &str, limit: usize) -> Vec<String> {
    text.split('\n').map(|line| one_line(line.strip_suffix('\r').unwrap_or(line), limit)).collect()
}

fn visible(c: char, out: &mut String) {
    match c as u32 {
        code @ 0..=0x1f => out.push(char::from_u32(0x2400 + code).unwrap_or('\u{fffd}')),
        0x7f => out.push('␡'),
        // C1 controls, soft hyphen, bidirectional marks, zero widths, blank fillers, line separators, interlinear and tag characters.
        code @ (0x80..=0x9f
        | 0xad
        | 0x61c
        | 0x115f
        | 0x1160
        | 0x180e
        | 0x200b..=0x200f
        | 0x2028..=0x202e
        | 0x2060..=0x206f
        | 0x3164
        | 0xfeff
        | 0xffa0
        | 0xfff0..=0xfffb
        | 0xe0000..=0xe0fff) => {
            let _ = write!(out, "⟨U+{code:04X}⟩");
        }
        _ => out.push(c),
    }
}

/// A foreign sentence split at its backticks: (is code, text). An unpaired backtick stays in the text.
pub fn segments(text: &str) -> Vec<(bool, &str)> {
    let pieces: Vec<&str> = text.split('`').collect();
    let paired = (pieces.len() - 1) / 2 * 2;
    let mut out = Vec::new();
    let mut consumed = 0;
    for (index, piece) in pieces.iter().enumerate().take(paired + 1) {
        let is_code = index % 2 == 1;
        if index == paired {
            // Everything after the last pair, with its lone backtick if there is one.
            out.push((false, &text[consumed..]));
        } else {
            out.push((is_code, *piece));
        }
        consumed += piece.len() + 1;
    }
    out.retain(|(_, piece)| !piece.is_empty());
    out
}

/// A sentence for Markdown; code in backticks stays code.
pub fn markdown_prose(text: &str) -> String {
    prose(text, markdown_text, markdown_code)
}

/// A sentence for HTML within Markdown (a `<summary>`).
pub fn html_prose(text: &str) -> String {
    prose(text, html_text, html_code)
}

fn prose(text: &str, plain: impl Fn(&str) -> String, code: impl Fn(&str) -> String) -> String {
    // Leading blanks would make an indented block of it.
    let cut = one_line(text.trim(), SENTENCE);
    segments(&cut).into_iter().map(|(is_code, piece)| if is_code { code(piece) } else { plain(piece) }).collect()
}

/// Plain text for Markdown: no character of it is syntax, and nothing is linked or notified.
fn markdown_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' => out.push_str("&#124;"),
            '\\' | '`' | '*' | '[' | ']' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            '_' if !(before.is_alphanumeric() && next.is_alphanumeric()) => out.push_str("\\_"),
            '#' | '+' | '-' | '=' | '!' if out.is_empty() => {
                out.push('\\');
                out.push(c);
                interrupt(c, next, &mut out);
            }
            '.' | ')' if next == ' ' && !out.is_empty() && out.bytes().all(|b| b.is_ascii_digit()) => {
                out.push('\\');
                out.push(c);
            }
            c => {
                out.push(c);
                interrupt(c, next, &mut out);
            }
        }
        before = c;
    }
    unlink_www(out)
}

fn html_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => {
                out.push(c);
                interrupt(c, next, &mut out);
            }
        }
    }
    unlink_www(out)
}

/// Puts a zero-width space where the platform would otherwise see a mention, an issue, an address or an emoji name.
fn interrupt(c: char, next: char, out: &mut String) {
    let stop = match c {
        '@' | '#' => next.is_alphanumeric(),
        ':' => next == '/' || next == '+' || next == '-' || next.is_ascii_alphanumeric(),
        '-' => next.is_ascii_digit() && ends_with_ignore_case(out, "gh-"),
        _ => false,
    };
    if stop {
        out.push_str("&#8203;");
    }
}

fn ends_with_ignore_case(text: &str, suffix: &str) -> bool {
    text.len() >= suffix.len() && text.as_bytes()[text.len() - suffix.len()..].eq_ignore_ascii_case(suffix.as_bytes())
}

fn unlink_www(text: String) -> String {
    if !text.to_ascii_lowercase().contains("www.") {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c == '.' && ends_with_ignore_case(&out, "www") {
            out.push_str("&#8203;");
        }
        out.push(c);
    }
    out
}

/// A name, address or value as code within a line of Markdown, in a table too.
pub fn markdown_code(text: &str) -> String {
    let clean = one_line(text, NAME);
    // A code span is literal but for its own fence, and for the border of a table's cell.
    let plain =
        !clean.is_empty() && !clean.starts_with(' ') && !clean.ends_with(' ') && !clean.contains(['`', '|', '<', '>']);
    if plain { format!("`{clean}`") } else { wrap_code(&clean) }
}

/// The same within HTML, where Markdown is not read.
pub fn html_code(text: &str) -> String {
    let mut out = String::from("<code>");
    for c in one_line(text, NAME).chars() {
        if matches!(c, '&' | '<' | '>' | '"' | '\'' | '@' | '#' | '`') {
            let _ = write!(out, "&#{};", c as u32);
        } else {
            out.push(c);
        }
    }
    out.push_str("</code>");
    out
}

/// As an element whose punctuation is written by number, so that neither Markdown nor HTML sees any. Addresses are looked for in finished text, so `@` stands
/// in an element of its own.
fn wrap_code(clean: &str) -> String {
    let mut out = String::from("<code>");
    for c in clean.chars() {
        if c == '@' {
            out.push_str("<span>&#64;</span>");
        } else if c.is_ascii_punctuation() && c != '-' {
            let _ = write!(out, "&#{};", c as u32);
        } else {
            out.push(c);
        }
    }
    out.push_str("</code>");
    out
}

/// A fence that no line of the text can close: longer than any run of backticks in it, and at least three.
pub fn fence(lines: &[String]) -> String {
    let longest = lines.iter().map(|line| longest_run(line)).max().unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}

fn longest_run(line: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in line.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// A label of a Mermaid node, without its quotes: letters, digits and a few marks as they are, all else by number.
pub fn mermaid(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text, 60).chars() {
        if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ' ') {
            out.push(c);
        } else {
            let _ = write!(out, "#{};", c as u32);
        }
    }
    out
}

/// A path as a part of a link's address.
pub fn url_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_') {
            out.push(byte as char);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Text for a terminal or a job's log on one line: no escape sequence, and no marker that a runner takes for a command.
pub fn terminal(text: &str, limit: usize) -> String {
    one_line(text, limit).replace("##[", "# #[")
}

/// A whole rendered text whose lines must not be taken for workflow commands (`::error::`) by a runner that reads them.
pub fn no_commands(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("::") {
            let blank = line.len() - line.trim_start().len();
            out.push_str(&line[..blank]);
            out.push('·');
            out.push_str(&line[blank..]);
        } else {
            out.push_str(line);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_made_visible() {
        assert_eq!(one_line("a\u{1b}[31mb\u{202e}c\nd\r", 99), "a␛[31mb⟨U+202E⟩c⏎d␍");
        assert_eq!(one_line("ééé", 2), "éé…");
    }

    #[test]
    fn prose_is_neither_syntax_nor_a_notification() {
        assert_eq!(
            markdown_prose("see @ops in #12, GH-3 and https://x.y"),
            "see @&#8203;ops in #&#8203;12, GH-&#8203;3 and https:&#8203;//x.y"
        );
        assert_eq!(markdown_prose("<b>*x* | _y_ a_b"), "&lt;b&gt;\\*x\\* &#124; \\_y\\_ a_b");
        assert_eq!(markdown_prose("# no heading"), "\\# no heading");
        assert_eq!(markdown_prose("1. no list"), "1\\. no list");
        assert_eq!(markdown_prose("unknown key `colour`"), "unknown key `colour`");
        assert_eq!(markdown_prose("odd ` tick"), "odd \\` tick");
    }

    #[test]
    fn code_holds_whatever_is_in_it() {
        assert_eq!(markdown_code("module.a.b"), "`module.a.b`");
        assert_eq!(markdown_code("a`|b"), "<code>a&#96;&#124;b</code>");
        assert_eq!(fence(&["a ```` b".to_owned()]), "`````");
        assert_eq!(mermaid("a\"]-->b"), "a#34;#93;--#62;b");
    }

    #[test]
    fn a_runner_sees_no_command() {
        assert_eq!(no_commands("x\n  ::error::no\n"), "x\n  ·::error::no\n");
        assert_eq!(terminal("##[group]x", 99), "# #[group]x");
    }

    #[test]
    fn backticks_pair_up_and_a_lone_one_stays() {
        assert_eq!(segments("a `b` c ` d"), vec![(false, "a "), (true, "b"), (false, " c ` d")]);
        assert_eq!(segments("`b`"), vec![(true, "b")]);
        assert_eq!(segments("`"), vec![(false, "`")]);
    }
}
