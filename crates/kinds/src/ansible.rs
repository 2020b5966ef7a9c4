//! Playbooks run against a bake.

use crate::family::{Kind, Modification};
use crate::modifications::{content_of, file_contents};
use crate::vocabulary::{check_base_names, check_no_blanks};
use csis_values::fields::{Field, Fields, Shape};
use csis_values::tree::TreeFile;
use csis_values::{Class, Diagnostic, Diagnostics, Spanned};
use std::collections::BTreeMap;

pub struct Ansible;

const FIELDS: &[Field] = &[
    Field::new("configuration_user", Shape::Text, "The user playbooks log in as; left out, the bake's user."),
    Field::new("extra_arguments", Shape::Texts, "Arguments added to every ansible-playbook call.").default("[]"),
    Field::new("expect_disconnect", Shape::Bool, "Whether a lost connection is part of the step.").default("false"),
    Field::new("ansible_connection", Shape::Text, "The connection type, e.g. `ssh`."),
];

const ITEM: &[Field] =
    &[Field::new("playbooks", Shape::Texts, "The playbooks, paths relative to the configuration root; at least one.")
        .required()
        .literal()];

impl Kind for Ansible {
    fn name(&self) -> &'static str {
        "ansible"
    }

    fn class(&self) -> Class {
        Class::ModBuilder
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }
}

impl Modification for Ansible {
    fn item_fields(&self) -> &'static [Field] {
        ITEM
    }

    fn files(&self, item: &Fields) -> Vec<Spanned<String>> {
        item.texts("playbooks")
    }

    fn check_item(&self, name: &str, item: &Fields, found: &mut Diagnostics) {
        let who = format!("modification `{name}`");
        if item.texts("playbooks").is_empty() {
            found.push(
                Diagnostic::error("no-playbooks", format!("{who} names no playbooks"))
                    .at(item.place("playbooks"))
                    .help("list at least one under `playbooks:`"),
            );
        }
        check_no_blanks(&who, "playbooks", item, found);
        check_base_names(&who, &self.files(item), found);
    }

    fn idempotence(&self, _item: &Fields) -> &'static str {
        "ansible"
    }

    fn content(&self, item: &Fields, files: &BTreeMap<String, TreeFile>) -> serde_json::Value {
        let mut content = content_of(self.name(), item);
        content.insert("playbooks".into(), file_contents(&self.files(item), files));
        content.into()
    }
}
