//! Playbooks run against a bake.

use crate::family::{Kind, Modification};
use csis_values::fields::{Field, Fields, Shape};
use csis_values::tree::TreeFile;
use csis_values::{Class, Diagnostics, Spanned};
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

    fn check_item(&self, _name: &str, _item: &Fields, _found: &mut Diagnostics) {}

    fn idempotence(&self, _item: &Fields) -> &'static str {
        "ansible"
    }

    fn content(&self, _item: &Fields, _files: &BTreeMap<String, TreeFile>) -> serde_json::Value {
        serde_json::Value::Null
    }
}
