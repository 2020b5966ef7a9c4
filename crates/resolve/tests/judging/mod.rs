//! Harbor, changed, before the rules.
#![allow(dead_code, clippy::unwrap_used)]

use crate::support::*;
use csis_resolve::rules::check;
use csis_values::records::Records;
use csis_values::tree::*;
use csis_values::{Class, Diagnostics, Name, Severity};
use serde_json::json;

pub fn judge(tree: &Tree, records: &Records) -> Diagnostics {
    check(tree, records, None, &request())
}

pub fn errors(tree: &Tree, records: &Records) -> Vec<String> {
    let found = judge(tree, records);
    for finding in found.iter() {
        assert!(finding.at.is_some() && (finding.help.is_some() || finding.severity == Severity::Note), "{finding:?}");
    }
    found.iter().filter(|d| d.severity == Severity::Error).map(|d| format!("{}: {}", d.code, d.message)).collect()
}

/// Harbor, changed, is refused by exactly one finding of the rule that names everything.
#[track_caller]
pub fn refused(change: impl FnOnce(&mut Tree, &mut Records), code: &str, names: &[&str]) {
    let (mut tree, mut records) = (harbor(), Records::default());
    change(&mut tree, &mut records);
    let said = errors(&tree, &records);
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].starts_with(&format!("{code}: ")), "{said:#?}");
    for name in names {
        assert!(said[0].contains(name), "{name} is not named: {said:#?}");
    }
}

#[track_caller]
pub fn accepted(change: impl FnOnce(&mut Tree, &mut Records)) {
    let (mut tree, mut records) = (harbor(), Records::default());
    change(&mut tree, &mut records);
    assert_eq!(errors(&tree, &records), [] as [&str; 0]);
}

pub fn own(tree: &mut Tree, class: Class, name: &str) -> usize {
    tree.builders.iter().position(|b| b.class == class && b.name.safe == name).unwrap()
}

pub fn set(tree: &mut Tree, class: Class, name: &str, key: &str, value: &serde_json::Value) {
    let index = own(tree, class, name);
    let more = fields(&json!({ key: value }));
    tree.builders[index].fields.values.extend(more.values);
}

pub fn user(name: &str, uid: i64) -> User {
    User {
        name: Name::new(name),
        builder: text("posix-users"),
        first_name: name.to_owned(),
        last_name: "Quay".to_owned(),
        email: name.to_owned(),
        description: String::new(),
        uid: Some(spanned(uid)),
        public_keys: Vec::new(),
        fields: fields(&json!({ "uid": uid })),
        at: at(),
    }
}

pub fn launched(records: &mut Records, name: &str, mounts: &[(&str, Option<&str>)]) {
    records.launches.insert(name.to_owned(), launch("ami-api", mounts));
    records.pins.instances.insert(name.to_owned(), "ami-api".to_owned());
    records.builds.push(build("harbor-api", "ami-api"));
}
