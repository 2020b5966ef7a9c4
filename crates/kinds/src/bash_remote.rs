//! Shell run on a bake: lines, files, and a state to ensure.

use crate::family::{Kind, Modification};
use crate::modifications::{content_of, file_contents};
use crate::vocabulary::{check_base_names, check_members, check_no_blanks, is_marker};
use csis_values::fields::{Field, Fields, Shape};
use csis_values::tree::{Builder, TreeFile};
use csis_values::{Class, Diagnostic, Diagnostics, Node, Spanned};
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

    fn check(&self, builder: &Builder, found: &mut Diagnostics) {
        let fields = &builder.fields;
        let who = format!("modification builder `{}`", builder.name);
        if let (Some(user), Some(_)) = (fields.text("configuration_user"), fields.node("execute_command")) {
            found.push(
                Diagnostic::error(
                    "user-and-command",
                    format!("{who} has both the `configuration_user` `{user}` and an `execute_command`"),
                )
                .at(fields.place("execute_command"))
                .also(fields.place("configuration_user"), "the user is set here")
                .help("keep one: the command already says who runs the script"),
            );
        }
        for variable in fields.texts("environment_vars") {
            if !variable.split_once('=').is_some_and(|(key, _)| is_variable(key)) && !is_marker(&variable) {
                found.push(
                    Diagnostic::error(
                        "environment-variable",
                        format!("{who} has an entry in `environment_vars` that is not `KEY=value`"),
                    )
                    .at(&variable.at)
                    .help("write `KEY=value`, with letters, digits and `_` in the key"),
                );
            }
        }
    }
}

fn is_variable(key: &str) -> bool {
    !key.is_empty()
        && !key.starts_with(|c: char| c.is_ascii_digit())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The inline lines that are not blank.
fn lines(item: &Fields) -> Vec<String> {
    item.texts("script").into_iter().map(|l| l.value).filter(|l| !l.trim().is_empty()).collect()
}

fn check_ensure(who: &str, ensure: &Fields, found: &mut Diagnostics) {
    let empty = |key: &str| ensure.node(key).and_then(Node::list).unwrap_or_default().is_empty();
    if ["packages", "services", "files", "commands"].into_iter().all(empty) {
        found.push(
            Diagnostic::error("empty-ensure", format!("{who} is empty"))
                .at(&ensure.at)
                .help("list something under `packages`, `services`, `files` or `commands`, or remove `ensure`"),
        );
    }
    check_no_blanks(who, "packages", ensure, found);
    check_no_blanks(who, "services", ensure, found);
    check_members(who, "files", "path", ensure, found);
    check_members(who, "commands", "run", ensure, found);
    for file in ensure.objects("files") {
        if let Some(path) = file.text("path").filter(|p| !p.trim().is_empty() && !p.starts_with('/') && !is_marker(p)) {
            found.push(
                Diagnostic::error(
                    "relative-file",
                    format!("{who} writes the file `{path}`, which is no absolute path"),
                )
                .at(file.place("path"))
                .help("write the whole path, from `/`"),
            );
        }
    }
}

impl Modification for BashRemote {
    fn item_fields(&self) -> &'static [Field] {
        ITEM
    }

    fn files(&self, item: &Fields) -> Vec<Spanned<String>> {
        item.texts("scripts")
    }

    fn check_item(&self, name: &str, item: &Fields, found: &mut Diagnostics) {
        let who = format!("modification `{name}`");
        let scripts = item.texts("scripts");
        if lines(item).is_empty() && scripts.is_empty() && item.object("ensure").is_none() {
            found.push(
                Diagnostic::error(
                    "empty-modification",
                    format!("{who} does nothing: it has no `script`, `scripts` or `ensure`"),
                )
                .at(&item.at)
                .help("give it lines under `script`, files under `scripts`, or a state under `ensure`"),
            );
        }
        check_no_blanks(&who, "scripts", item, found);
        check_base_names(&who, &scripts, found);
        if let Some(ensure) = item.object("ensure") {
            check_ensure(&format!("{who}, `ensure`,"), &ensure, found);
        }
    }

    fn idempotence(&self, item: &Fields) -> &'static str {
        let only_ensure = item.object("ensure").is_some() && lines(item).is_empty() && item.texts("scripts").is_empty();
        if only_ensure { "declared" } else { "unknown" }
    }

    fn content(&self, item: &Fields, files: &BTreeMap<String, TreeFile>) -> serde_json::Value {
        let mut content = content_of(self.name(), item);
        if !lines(item).is_empty() {
            content.insert("script".into(), lines(item).into());
        }
        let scripts = item.texts("scripts");
        if !scripts.is_empty() {
            content.insert("scripts".into(), file_contents(&scripts, files));
        }
        if let Some(ensure) = item.node("ensure") {
            content.insert("ensure".into(), ensure.to_json());
        }
        content.into()
    }
}
