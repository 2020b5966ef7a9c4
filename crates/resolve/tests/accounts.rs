//! A runtime that becomes another account, by what stands in the one it was.
#![allow(clippy::unwrap_used)]

mod judging;
mod support;

use csis_resolve::account_changes;
use csis_values::records::Records;
use csis_values::tree::Tree;
use csis_values::{Class, Severity};
use judging::set;
use serde_json::json;
use support::*;

fn in_account(id: &str) -> Tree {
    let mut tree = harbor();
    set(&mut tree, Class::Runtime, "aws-west", "account_id", &json!(id));
    tree
}

/// The runtime does not say which account it is.
fn in_any_account() -> Tree {
    let mut tree = harbor();
    let runtime = tree.builders.iter_mut().find(|b| b.class == Class::Runtime && b.name.safe == "aws-west").unwrap();
    runtime.fields.values.remove("account_id").unwrap();
    tree
}

#[test]
fn what_stands_in_the_account_that_was_is_named() {
    let (base, head) = (in_account("123456789012"), in_account("210987654321"));
    let found = account_changes(&base, &head, &standing());
    let [warning] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(warning.severity, Severity::Warning);
    for words in
        ["becomes account `210987654321`, and was `123456789012`", "aws-west", "storage `ledger`", "instance `api-1`"]
    {
        assert!(warning.message.contains(words), "{words}: {}", warning.message);
    }
    assert!(warning.at.is_some() && warning.help.as_ref().unwrap().contains("123456789012"), "{warning:?}");
    let unsaid = account_changes(&base, &in_any_account(), &standing());
    assert!(unsaid[0].message.contains("says no more"), "{unsaid:?}");
}

#[test]
fn nothing_is_said_where_nothing_is_left_behind() {
    let (base, head) = (in_account("123456789012"), in_account("210987654321"));
    assert_eq!(account_changes(&base, &base, &standing()), []);
    assert_eq!(account_changes(&base, &head, &Records::default()), [], "nothing stands");
    assert_eq!(account_changes(&in_any_account(), &head, &standing()), [], "it said nothing before");
    let mut gone = standing();
    gone.launches.clear();
    for record in gone.storages.values_mut() {
        record.state = Some("destroyed".into());
    }
    assert_eq!(account_changes(&base, &head, &gone), []);
}
