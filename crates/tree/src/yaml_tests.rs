use super::*;

fn read(text: impl AsRef<[u8]>) -> (Option<Node>, Diagnostics) {
    let mut found = Diagnostics::default();
    let node = parse(&Arc::from("cfg/x.yml"), text.as_ref(), &mut found);
    (node, found)
}

fn good(text: &str) -> Node {
    let (node, found) = read(text);
    assert!(found.0.is_empty(), "{found:?}");
    node.expect("a document")
}

fn refused(text: impl AsRef<[u8]>) -> Diagnostic {
    let (node, mut found) = read(text);
    assert!(node.is_none());
    assert_eq!(found.0.len(), 1, "{found:?}");
    found.0.remove(0)
}

fn place(d: &Diagnostic) -> (u32, u32) {
    d.at.as_ref().map(|p| (p.line, p.column)).expect("a place")
}

#[test]
fn values_know_where_they_stand() {
    let node = good("a: 1\nb:\n  - x: yes\n    y: \"no\"\n");
    let x = node.get("b").and_then(Node::list).map(|l| &l[0]).expect("the list's mapping");
    assert_eq!(x.get("x").map(|n| (&n.value, n.at.line, n.at.column)), Some((&Value::Bool(true), 3, 8)));
    assert_eq!(x.get("y").and_then(Node::text), Some("no"));
    assert_eq!(x.entry("y").map(|e| (e.at.line, e.at.column)), Some((4, 5)));
}

#[test]
fn crlf_and_a_byte_order_mark_change_nothing() {
    let node = good("\u{feff}a: 1\r\nb: |\r\n  x\r\n  y\r\n");
    assert_eq!(node.get("b").and_then(Node::text), Some("x\ny\n"));
    assert_eq!(node.get("a").map(|n| n.at.column), Some(4));
}

#[test]
fn an_empty_file_is_null() {
    for text in ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n"] {
        assert!(good(text).is_null(), "{text:?}");
    }
}

#[test]
fn what_is_not_utf8_is_refused_at_its_byte() {
    let d = refused(b"a: 1\nb: \xff\n");
    assert_eq!((d.code.as_ref(), place(&d)), ("not-utf8", (2, 4)));
    assert!(d.message.contains("byte 8") && d.message.contains("0xff"), "{}", d.message);
    assert!(refused([0xff, 0xfe, b'a', 0]).message.contains("UTF-16"));
    assert_eq!(place(&refused("a: 1\nb: \0\n")), (2, 4));
}

#[test]
fn a_duplicate_key_names_the_first_and_the_rest_is_read() {
    let (node, found) = read("a: 1\nb: 2\na: 3\nc: 4\n");
    assert_eq!(found.0.len(), 1);
    assert_eq!(place(&found.0[0]), (3, 1));
    assert_eq!(found.0[0].also[0].0.line, 1);
    assert!(node.is_some_and(|n| n.get("c").is_some()));
}

#[test]
fn anchors_aliases_and_merge_keys() {
    let node = good("base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\nc:\n  <<: [*b, *o]\n  x: 9\nd: *b\n");
    let c = node.get("c").map(Node::to_json);
    assert_eq!(c, Some(serde_json::json!({"x": 9, "y": 2, "z": 4})));
    assert_eq!(node.get("d").map(Node::to_json), Some(serde_json::json!({"x": 1, "y": 2})));
    assert_eq!(refused("a: &x [*x]\n").code, "yaml-alias");
    assert_eq!(refused("a:\n  <<: 3\n").code, "yaml-merge");
    assert_eq!(refused("a: *nope\n").code, "yaml-syntax");
}

#[test]
fn tags_complex_keys_and_further_documents_are_refused() {
    assert_eq!(good("a: !!str 12\n").get("a").and_then(Node::text), Some("12"));
    let d = refused("a: !!python/object:os.system x\n");
    assert_eq!(d.code, "yaml-tag");
    assert!(d.message.contains("python/object"), "{}", d.message);
    assert_eq!(refused("a: !mine x\n").code, "yaml-tag");
    assert_eq!(refused("? [a, b]\n: c\n").code, "yaml-key");
    assert_eq!(refused("{[a]: b}\n").code, "yaml-key");
    assert_eq!(refused("a: 1\n---\nb: 2\n").code, "yaml-documents");
    let node = good("1: a\nyes: b\n");
    assert_eq!(node.map().map(|m| m.iter().map(|e| e.key.as_str()).collect::<Vec<_>>()), Some(vec!["1", "yes"]));
}

#[test]
fn a_tab_is_named() {
    let d = refused("a:\n\tb: 1\n");
    assert!(d.message.contains("tab"), "{}", d.message);
    assert_eq!(place(&d).0, 2);
}

#[test]
fn hostile_files_end_soon_with_an_error() {
    let bomb: String = (0..40).fold("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned(), |mut s, i| {
        use std::fmt::Write;
        let _ = writeln!(s, "a{}: &a{} [*a{i},*a{i},*a{i},*a{i},*a{i}]", i + 1, i + 1);
        s
    });
    let chain: String = (0..5000).fold("a0: &a0 [x]\n".to_owned(), |mut s, i| {
        use std::fmt::Write;
        let _ = writeln!(s, "a{}: &a{} [*a{i}]", i + 1, i + 1);
        s
    });
    let text_bomb = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1 << 20), "*a,".repeat(4000));
    for text in [
        bomb,
        chain,
        text_bomb,
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        (0..2000).map(|i| format!("{}a:\n", " ".repeat(i))).collect(),
        "a: x\n".repeat(2_000_000),
        format!("[{}]", "1,".repeat(600_000)),
        "\"".to_owned() + &"x".repeat(1 << 20),
        "&a ".repeat(50_000),
        "!".repeat(50_000),
        "a: ".repeat(50_000),
        "%".repeat(50_000),
    ] {
        let (node, found) = read(&text);
        assert!(found.is_refused(), "{:?} was read: {}", &text[..20.min(text.len())], node.is_some());
    }
}

#[test]
fn many_keys_are_linear() {
    let text: String = (0..50_000).map(|i| format!("k{i}: v\n")).collect();
    assert_eq!(good(&text).map().map(<[Entry]>::len), Some(50_000));
}
