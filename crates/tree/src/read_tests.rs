use super::*;
use crate::yaml;
use std::sync::Arc;

const INNER: &[Field] =
    &[Field::new("days", Shape::Int { min: 1, max: 30 }, "").required(), Field::new("note", Shape::Text, "")];
const FIELDS: &[Field] = &[
    Field::new("text", Shape::Text, ""),
    Field::new("flag", Shape::Bool, ""),
    Field::new("count", Shape::Int { min: 0, max: i64::MAX }, ""),
    Field::new("word", Shape::Word(&["2770", "2775", "none"]), ""),
    Field::new("texts", Shape::Texts, ""),
    Field::new("map", Shape::TextMap, ""),
    Field::new("scalars", Shape::ScalarMap, ""),
    Field::new("wait", Shape::Duration, ""),
    Field::new("mode", Shape::Mode, ""),
    Field::new("inner", Shape::Object(INNER), ""),
    Field::new("inners", Shape::Objects(INNER), ""),
    Field::new("backend", Shape::Ref(Class::StateBackend), "").default("default"),
    Field::new("runtime", Shape::Ref(Class::Runtime), "").default("default"),
    Field::new("groups", Shape::Refs(Class::Group), ""),
];

fn node(text: &str) -> Node {
    yaml::parse(&Arc::from("x.yaml"), text.as_bytes(), &mut Diagnostics::default()).expect("a document")
}

fn read(text: &str) -> (Fields, Diagnostics) {
    let mut found = Diagnostics::default();
    let mut names = Names::default();
    names.add(Class::StateBackend, &[node("{name: S, is_default: true}")], &mut found);
    names.add(
        Class::Runtime,
        &[node("{name: West Coast, is_default: 'yes', aliases: [w]}"), node("{name: east}")],
        &mut found,
    );
    names.add(Class::Group, &[node("name: Lab"), node("name: 7")], &mut found);
    let broken = HashSet::new();
    let mut reader = Reader { names: &names, broken: &broken, found: &mut found };
    let fields = reader.entry("thing `t`", &node(text), Table::new(FIELDS), &[]);
    (fields, found)
}

fn value(key: &str, text: &str) -> serde_json::Value {
    let (fields, found) = read(&format!("{key}: {text}\n"));
    assert!(found.0.is_empty(), "{key}: {text}: {found:?}");
    fields.node(key).map_or(serde_json::Value::Null, Node::to_json)
}

#[test]
fn values_come_in_the_shape_of_their_field() {
    use serde_json::json;
    for (key, text, expected) in [
        ("text", "24.5", json!("24.5")),
        ("text", "0644", json!("0644")),
        ("text", "12:30", json!("12:30")),
        ("text", "'yes'", json!("yes")),
        ("flag", "on", json!(true)),
        ("flag", "'No'", json!(false)),
        ("count", "'12'", json!(12)),
        ("count", "1_000", json!(1000)),
        ("word", "2775", json!("2775")),
        ("texts", "[a, 1, 2.5]", json!(["a", "1", "2.5"])),
        ("texts", "", json!(null)),
        ("map", "{a: 1, b: x}", json!({"a": "1", "b": "x"})),
        ("scalars", "{a: 1, b: yes, c: x}", json!({"a": 1, "b": true, "c": "x"})),
        ("wait", "45m", json!("45m")),
        ("mode", "0644", json!("0644")),
        ("mode", "'755'", json!("0755")),
        ("mode", "420", json!("0644")),
        ("inner", "{days: 3, note: 4}", json!({"days": 3, "note": "4"})),
        ("inners", "[{days: 3}]", json!([{"days": 3}])),
        ("runtime", "W", json!("west_coast")),
        ("runtime", "EAST", json!("east")),
        ("runtime", "Default", json!("west_coast")),
        ("backend", "s", json!("s")),
        ("backend", "default", json!(null)),
        ("groups", "[lab, '', 7]", json!(["lab", "7"])),
    ] {
        assert_eq!(value(key, text), expected, "{key}: {text}");
    }
    assert_eq!(read("text: a\n").0.text("runtime"), Some("west_coast"));
    assert_eq!(read("text: a\n").0.node("backend"), None);
}

#[test]
fn another_shape_is_refused_with_what_belongs_there_and_kept_as_written() {
    for (key, text, words) in [
        ("text", "yes", &["the boolean true", "quotes"][..]),
        ("text", "[a]", &["a list"]),
        ("flag", "maybe", &["`maybe`", "true or false"]),
        ("flag", "2", &["`2`"]),
        ("count", "-1", &["`-1`", "from 0"]),
        ("count", "1.5", &["`1.5`"]),
        ("count", "99999999999999999999999", &["999999"]),
        ("word", "nome", &["`nome`", "`2770`", "`2775`", "write `none`"]),
        ("texts", "git", &["a list of texts", "write `[git]`"]),
        ("texts", "{a: b}", &["a mapping", "a list of texts"]),
        ("texts", "[a, yes]", &["texts[1]", "the boolean true"]),
        ("texts", "[a, [b]]", &["texts[1]", "a list"]),
        ("map", "[a]", &["a list", "a mapping"]),
        ("map", "{a: no}", &["map.a", "the boolean false"]),
        ("map", "{a: {b: c}}", &["map.a", "a mapping"]),
        ("scalars", "{a: [1]}", &["scalars.a"]),
        ("wait", "0m", &["`0m`", "one minute"]),
        ("wait", "45", &["`45`", "45m"]),
        ("wait", "45s", &["`45s`"]),
        ("mode", "644", &["`644`", "quotes"]),
        ("mode", "'0899'", &["`0899`"]),
        ("inner", "{note: x}", &["inner.days", "missing"]),
        ("inner", "{days: 31}", &["inner.days", "from 1 to 30"]),
        ("inner", "{days: 3, dys: 3}", &["`inner`", "`dys`", "write `days`"]),
        ("inners", "{days: 3}", &["a list of mappings"]),
        ("inners", "[3]", &["inners[0]", "a mapping"]),
        ("runtime", "wset", &["`wset`", "West Coast", "east"]),
        ("runtime", "none", &["`none`", "names nothing"]),
        ("runtime", "[w]", &["a list", "one runtime"]),
        ("groups", "lab", &["a list of names", "write `[lab]`"]),
        ("groups", "[labb]", &["groups[0]", "`labb`", "write `Lab`"]),
        ("groups", "[default]", &["groups[0]", "names nothing"]),
        ("txt", "x", &["no field `txt`", "write `text`"]),
        ("text", "'ENC[age:AA==] x'", &[]),
        ("count", "'ENC[age:AA==]'", &["encrypted"]),
    ] {
        let (fields, found) = read(&format!("{key}: {text}\n"));
        if words.is_empty() {
            continue;
        }
        assert_eq!(found.0.len(), 1, "{key}: {text}: {found:?}");
        let told = format!("{} | {}", found.0[0].message, found.0[0].help.as_deref().unwrap_or_default());
        for word in words {
            assert!(told.contains(word), "{key}: {text}: no {word:?} in {told}");
        }
        assert!(told.starts_with("thing `t`") && found.0[0].at.is_some());
        assert!(fields.node(key).is_some() || matches!(key, "txt" | "groups"), "{key}: {text}");
    }
}

#[test]
fn a_number_that_loses_its_last_zero_is_a_warning() {
    let (fields, found) = read("text: 24.10\n");
    assert_eq!(fields.text("text"), Some("24.10"));
    assert_eq!(found.0.len(), 1);
    assert!(!found.is_refused() && found.0[0].help.as_deref().is_some_and(|h| h.contains("\"24.10\"")));
}
