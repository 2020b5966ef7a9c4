//! Field tables and rules that several models share.

use csis_values::fields::{Field, Fields, Shape};
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostic, Diagnostics, Name, Place, Spanned};

pub(crate) const TAG_DOC: &str = "Tags, from key to value.";

pub(crate) const OPEN: Shape = Shape::Int { min: 0, max: i64::MAX };

const FILES: Field = Field::new(
    "files",
    Shape::Objects(&[
        Field::new("path", Shape::Text, "The file that must be there.").required(),
        Field::new("contains", Shape::Text, "A text the file must hold."),
        Field::new("mode", Shape::Mode, "The mode the file must have."),
    ]),
    "Files that must be there.",
)
.default("[]");
const PACKAGES: Field = Field::new("packages", Shape::Texts, "Packages that must be installed.").default("[]");
const COMMANDS: Field = Field::new(
    "commands",
    Shape::Objects(&[
        Field::new("run", Shape::Text, "The command.").required(),
        Field::new("expect_rc", Shape::Int { min: 0, max: 255 }, "The exit status it must end with.").default("0"),
        Field::new("contains", Shape::Text, "A text its output must hold."),
    ]),
    "Commands that must succeed.",
)
.default("[]");
const SERVICES: Field = Field::new("services_enabled", Shape::Texts, "Units that must be enabled.").default("[]");
const USERS: Field = Field::new("users", Shape::Texts, "Accounts that must exist.").default("[]");

/// What a bake or a machine made from it is tested for.
pub(crate) const TESTS: &[Field] = &[
    FILES,
    PACKAGES,
    COMMANDS,
    SERVICES,
    USERS,
    Field::new(
        "post_bake",
        Shape::Object(&[
            FILES,
            PACKAGES,
            COMMANDS,
            SERVICES,
            USERS,
            Field::new("mounts", Shape::Texts, "Directories that must be mount points, absolute paths.").default("[]"),
        ]),
        "What is tested on a machine made from the image.",
    )
    .default("{}"),
];

/// An encrypted value: its plaintext is not known here, so no rule judges it.
pub(crate) fn is_marker(text: &str) -> bool {
    text.starts_with("ENC[")
}

/// Labels become parts of addresses; a name with other characters than these makes none.
pub(crate) fn check_label(class: Class, name: &Name, at: &Place, found: &mut Diagnostics) {
    let is_odd = |c: &char| !(c.is_alphabetic() || c.is_ascii_digit() || *c == '_');
    // Control characters were told when the name was read.
    if let Some(odd) = name.label.chars().find(is_odd).filter(|c| !c.is_control()) {
        let shown = match odd {
            '`' => "a backtick".to_owned(),
            odd if odd.is_ascii() => format!("`{odd}`"),
            odd => format!("the character U+{:04X}", u32::from(odd)),
        };
        found.push(
            Diagnostic::error(
                "odd-name",
                format!("{} `{name}` has {shown} in its name, which no address can hold", class.noun()),
            )
            .at(at)
            .help("use letters, digits, `-`, `_` and `.` in the name"),
        );
    }
}

/// The providers or plugins of a builder: one source each, and versions that can be read.
pub(crate) fn check_requirements(builder: &Builder, found: &mut Diagnostics) {
    let who = format!("{} `{}`", builder.class.noun(), builder.name);
    let mut sources: Vec<(String, Spanned<String>)> = Vec::new();
    for plugin in builder.fields.objects("required_plugins") {
        let name = plugin.text("name").unwrap_or_default().to_owned();
        if let Some(version) = plugin.text("version").filter(|v| !is_marker(v) && !is_constraint(v)) {
            found.push(
                Diagnostic::error(
                    "version-constraint",
                    format!("{who} requires `{name}` at `{version}`, which is no version constraint"),
                )
                .at(plugin.place("version"))
                .help("write constraints like `>= 5.0.0, < 6`, joined by commas"),
            );
        }
        let Some(source) = plugin.spanned("source") else { continue };
        match sources.iter().find(|(known, _)| *known == name) {
            Some((_, first)) if !first.eq_ignore_ascii_case(&source) => found.push(
                Diagnostic::error(
                    "two-sources",
                    format!("{who} requires `{name}` from two sources, `{first}` and `{source}`"),
                )
                .at(&source.at)
                .also(&first.at, format!("`{first}` is named here"))
                .help("keep one source"),
            ),
            Some(_) => {}
            None => sources.push((name, source)),
        }
    }
}

fn is_constraint(text: &str) -> bool {
    text.split(',').all(|part| {
        let part = part.trim();
        let version = ["~>", ">=", "<=", "!=", "==", ">", "<", "="]
            .iter()
            .find_map(|op| part.strip_prefix(op))
            .unwrap_or(part)
            .trim();
        let version = version.strip_prefix('v').unwrap_or(version);
        let numbers = version.split(['-', '+']).next().unwrap_or_default();
        !numbers.is_empty() && numbers.split('.').all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// Refuses blank entries of a list of texts.
pub(crate) fn check_no_blanks(who: &str, key: &str, fields: &Fields, found: &mut Diagnostics) {
    for (number, text) in fields.texts(key).iter().enumerate() {
        if text.trim().is_empty() {
            found.push(
                Diagnostic::error("blank-entry", format!("{who} has a blank entry in `{key}` (number {})", number + 1))
                    .at(&text.at)
                    .help("fill it in, or remove it"),
            );
        }
    }
}

/// Refuses a required text that is blank.
fn check_not_blank(who: &str, list: &str, number: usize, key: &str, fields: &Fields, found: &mut Diagnostics) {
    if fields.text(key).is_some_and(|t| t.trim().is_empty()) {
        found.push(
            Diagnostic::error("blank-entry", format!("{who} has an empty `{key}` in `{list}` (number {})", number + 1))
                .at(fields.place(key))
                .help(format!("give `{key}` a value, or remove the entry")),
        );
    }
}

/// Refuses blank members of the mappings of a list.
pub(crate) fn check_members(who: &str, list: &str, key: &str, fields: &Fields, found: &mut Diagnostics) {
    for (number, entry) in fields.objects(list).iter().enumerate() {
        check_not_blank(who, list, number, key, entry, found);
    }
}

/// What a `tests` mapping can get wrong beyond its shape. `who` says whose it is, e.g. ``image `web` ``.
pub fn check_tests(who: &str, tests: &Fields, found: &mut Diagnostics) {
    for key in ["packages", "services_enabled", "users"] {
        check_no_blanks(who, key, tests, found);
    }
    check_members(who, "files", "path", tests, found);
    check_members(who, "commands", "run", tests, found);
    for mount in tests.texts("mounts") {
        if !mount.starts_with('/') && !is_marker(&mount) {
            found.push(
                Diagnostic::error(
                    "relative-mount",
                    format!("{who} tests for the mount `{mount}`, which is no absolute path"),
                )
                .at(&mount.at)
                .help("write the whole path, from `/`"),
            );
        }
    }
    if let Some(later) = tests.object("post_bake") {
        check_tests(&format!("{who}, after the bake,"), &later, found);
    }
}

/// Refuses two files of one item with the same base name: the copy beside the image would keep only the last.
pub(crate) fn check_base_names(who: &str, files: &[Spanned<String>], found: &mut Diagnostics) {
    for (position, file) in files.iter().enumerate() {
        let base = base_name(file);
        if let Some(first) = files[..position].iter().find(|f| base_name(f) == base) {
            found.push(
                Diagnostic::error(
                    "same-base-name",
                    format!("{who} names two files called `{base}`: `{first}` and `{file}`"),
                )
                .at(&file.at)
                .also(&first.at, format!("`{first}` is named here"))
                .help("rename one of them: both are copied into one directory on the image"),
            );
        }
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
