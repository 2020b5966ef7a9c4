//! Shell run on a bake: lines, files, and a state to ensure.

use crate::family::{Kind, Modification};
use csis_values::fields::{Field, Fields, Shape};
use csis_values::tree::TreeFile;
use csis_values::{Class, Diagnostics, Spanned};
use std::collections::BTreeMap;

pub struct BashRemote;

const FIELDS: &[Field] = &[
    Field::new(
        "configuration_user",
        Shape::Text,
        "The user every script runs as; not together with `execute_command`.",
    ),
    Field::new("execute_command", Shape::Text, "How Packer runs a script; not together with `configuration_user`.")
        .literal(),
    Field::new("environment_vars", Shape::Texts, "Variables of every script, as `KEY=value`.").default("[]"),
    Field::new("expect_disconnect", Shape::Bool, "Whether a lost connection is part of the step.").default("false"),
];

const ENSURE: &[Field] = &[
    Field::new("packages", Shape::Texts, "Packages to install unless they are there.").default("[]"),
    Field::new("services", Shape::Texts, "Units to enable and start unless they are.").default("[]"),
    Field::new(
        "files",
        Shape::Objects(&[
            Field::new("path", Shape::Text, "The file, an absolute path.").required(),
            Field::new("content", Shape::Text, "What it holds."),
            Field::new("mode", Shape::Mode, "Its mode.").default("0644"),
        ]),
        "Files to write unless they hold the same.",
    )
    .default("[]"),
    Field::new(
        "commands",
        Shape::Objects(&[
            Field::new("run", Shape::Text, "The command.").required(),
            Field::new("unless", Shape::Text, "A command that succeeds when nothing is to be done."),
        ]),
        "Commands to run.",
    )
    .default("[]"),
];

const ITEM: &[Field] = &[
    Field::new("script", Shape::Texts, "Lines of shell; blank ones are dropped.").literal().default("[]"),
    Field::new("scripts", Shape::Texts, "Files of shell, paths relative to the configuration root.")
        .literal()
        .default("[]"),
    Field::new(
        "ensure",
        Shape::Object(ENSURE),
        "A state to ensure: packages, files, services, commands, in that order.",
    ),
];

impl Kind for BashRemote {
    fn name(&self) -> &'static str {
        "bash-remote"
    }

    fn class(&self) -> Class {
        Class::ModBuilder
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }
}

impl Modification for BashRemote {
    fn item_fields(&self) -> &'static [Field] {
        ITEM
    }

    fn files(&self, item: &Fields) -> Vec<Spanned<String>> {
        item.texts("scripts")
    }

    fn check_item(&self, _name: &str, _item: &Fields, _found: &mut Diagnostics) {}

    fn idempotence(&self, _item: &Fields) -> &'static str {
        "unknown"
    }

    fn content(&self, _item: &Fields, _files: &BTreeMap<String, TreeFile>) -> serde_json::Value {
        serde_json::Value::Null
    }
}
