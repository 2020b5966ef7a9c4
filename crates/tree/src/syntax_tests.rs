//! Each way in which people get YAML wrong, as the file that has it, and what is said where.

use crate::yaml::parse;
use csis_values::Diagnostics;
use std::sync::Arc;

/// `line:column message | help` of the only finding.
fn said(text: &str) -> String {
    let mut found = Diagnostics::default();
    assert!(parse(&Arc::from("x.yaml"), text.as_bytes(), &mut found).is_none(), "{text}");
    assert_eq!(found.0.len(), 1, "{found:?}");
    let at = found.0[0].at.as_ref().expect("a place");
    format!("{}:{} {} | {}", at.line, at.column, found.0[0].message, found.0[0].help.as_deref().expect("a help"))
}

#[test]
fn what_people_get_wrong_is_said_where_it_stands_and_with_what_to_do() {
    let mut wrong = Vec::new();
    for (text, at, words) in [
        ("a:\n  - b: the store: for all\n", "2:17", &["colon and a space", "put the text in quotes"][..]),
        ("a:\n  - b: c: d\n", "2:9", &["put the text in quotes"]),
        ("a:\n\t- b\n", "2:1", &["a tab indents this line", "spaces"]),
        ("a:\n  - b: c\n\td: e\n", "3:1", &["a tab indents this line"]),
        ("a:\n  - b: c\n  \td: e\n", "3:3", &["a tab indents this line"]),
        ("a:\n  - b: c\n   d: [e]\n", "3:4", &["indented like none", "other keys of its mapping"]),
        ("a:\n  - b: c\n      d: [e]\n", "3:7", &["indented deeper than line 2", "other keys"]),
        ("a:\n  - b: c\n - b: d\n", "3:2", &["indented like none"]),
        ("a:\n    - b: c\n  d: e\n", "3:3", &["indented like none"]),
        ("a: b\n c: d\n", "2:2", &["indented deeper than line 1"]),
        ("a:\n  b: c\n  - b: d\n", "3:3", &["among the keys", "`- `"]),
        ("a:\n  -b: c\n  - b: d\n", "2:3", &["begins with `-` and no space", "write a space behind the `-`"]),
        ("a:\n  - b:c\n    d: [e]\n", "3:5", &["line 2", "a space behind the colon"]),
        ("a\n  - b: c\n", "2:3", &["line 1", "`key: value`"]),
        ("a:\n  - b: c\n    d\n    e: {}\n", "3:5", &["neither a key nor an entry"]),
        ("a:\n  - b: |\n    c\n", "3:5", &["neither a key nor an entry", "indent the line deeper"]),
        ("a:\n  - b: \"c\n    d: [e]\n", "2:8", &["quote that opens here is not closed"]),
        ("a:\n  - b: 'c\n    d: [e]\n", "2:8", &["quote that opens here is not closed"]),
        ("a: {b: \"c}\n", "1:8", &["quote that opens here is not closed"]),
        ("a: 'it's here'\n", "1:8", &["follows a closing quote", "twice"]),
        ("a: \"b\" c\n", "1:8", &["follows a closing quote"]),
        ("a: \"C:\\Users\\x\"\n", "1:4", &["backslash", "single quotes"]),
        ("a: \"b\\q\"\n", "1:4", &["backslash"]),
        ("a:\n  - b: [c\n    d: {}\n", "3:6", &["the `[` of line 2 is not closed", "`]`"]),
        ("a:\n  - b: [c\n", "3:1", &["the `[` of line 2 is not closed"]),
        ("a: {b: c\n", "2:1", &["the `{` of line 1 is not closed", "`}`"]),
        ("a:\n  - {b: c, d: [e]\n  - {b: f}\n", "3:3", &["the `{` of line 2 is not closed"]),
        ("a: {b: c d: [e]}\n", "1:11", &["the `{` of line 1", "commas"]),
        ("a: {b: [c}]\n", "1:10", &["the `[` of line 1"]),
        ("a: [b]]\n", "1:7", &["closes here that was not opened"]),
        ("a: [ -f x ] && y\nb: c\n", "1:13", &["follows a closing bracket", "quotes"]),
        ("a: @b\n", "1:4", &["cannot begin with `@`", "put the value in quotes"]),
        ("a: %b\n", "1:4", &["cannot begin with `%`"]),
        ("a: `b\n", "1:4", &["cannot begin with this"]),
        ("a: *b\n", "1:4", &["anchor", "quotes"]),
        ("a: & b\n", "1:4", &["anchor", "quotes"]),
        ("a: |x\n  b\n", "1:4", &["`|`", "line below"]),
        ("a: {{ b }}\n", "1:4", &["template", "in quotes"]),
        ("a: {{ b.c }} of it\n", "1:4", &["template", "in quotes"]),
        ("a:\n<<<<<<< HEAD\n  - b\n=======\n  - c\n>>>>>>> d\n", "2:1", &["git left", "resolve the conflict"]),
    ] {
        let told = said(text);
        if !told.starts_with(&format!("{at} ")) || !words.iter().all(|word| told.contains(word)) {
            wrong.push(format!("{text}expected {at} {words:?}, told {told}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_of_the_file_is_told() {
    for text in ["s3cr3t: 'it's s3cr3t'\n", "a: [s3cr3t\n", "a: s3cr3t: b\n", "s3cr3t\n  a: b\n", "a: @s3cr3t\n"] {
        assert!(!said(text).contains("s3cr3t"), "{}", said(text));
    }
}
