//! What all operating system builders share.

use crate::public_key;
use crate::vocabulary::{TAG_DOC, TESTS, check_no_blanks, check_tests, is_marker};
use csis_values::fields::{Field, Fields, Shape};
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostic, Diagnostics};

const UPDATE: &[Field] = &[
    Field::new("policy", Shape::Word(&["none", "security", "packages", "full"]), "What is updated.").default("none"),
    Field::new(
        "packages",
        Shape::Texts,
        "The packages updated under `packages`, and beside the fixes under `security`.",
    )
    .default("[]"),
    Field::new("exclude", Shape::Texts, "Packages that are never updated.").default("[]"),
    Field::new("pin", Shape::TextMap, "Packages held at a version.").default("{}"),
    Field::new(
        "refresh_days",
        Shape::Int { min: 1, max: 36_500 },
        "After how many days the image is baked anew for its updates.",
    ),
];

const RUNTIMES: &[Field] = &[
    Field::new("name", Shape::Text, "What the entry is called.").required().literal(),
    Field::new(
        "image_builder",
        Shape::Ref(Class::ImageBuilder),
        "The image builder that bakes it; it decides the runtime.",
    )
    .default("default"),
    Field::new("type", Shape::Text, "Accepted; a label."),
    Field::new("description", Shape::Text, "What it is for, in words."),
    Field::new("config", Shape::Free, "Template data.").default("{}"),
    Field::new("image_id", Shape::Text, "The vendor's image by id; no query is made then."),
    Field::new("auto_update", Shape::Bool, "Whether a policy that updates nothing becomes `full` here."),
    Field::new(
        "default_machine_type",
        Shape::Text,
        "The machine it bakes on; left out, the image builder's, then the runtime's.",
    ),
    Field::new(
        "default_primary_disk_size",
        Shape::Int { min: 1, max: 65_536 },
        "The size of the bake's disk in GB here; left out, the builder's.",
    ),
    Field::new("tags", Shape::TextMap, TAG_DOC).default("{}"),
    Field::new("owners", Shape::Texts, "Owners added to the query for the vendor's image.").default("[]"),
    Field::new("query", Shape::Free, "The query for the vendor's image, merged over the builder's key by key.")
        .default("{}"),
    Field::new("ssh_username", Shape::Text, "The user the bake logs in as here.").default("default"),
    Field::new("tests", Shape::Object(TESTS), "What is tested here, in place of the builder's tests."),
];

macro_rules! table {
    ($($extra:expr),*) => {
        &[
            Field::new("family", Shape::Text, "The distribution, e.g. `rhel` or `ubuntu`; it chooses the package manager and the vendor's user.").required(),
            Field::new("family_version", Shape::Text, "The distribution's version; quote it.").required(),
            Field::new("architecture", Shape::Text, "The machine architecture; `default` is `x86_64`.").default("default"),
            Field::new("default_primary_disk_size", Shape::Text, "The size of the bake's disk in GB; `default` is 200.").default("default"),
            Field::new("owners", Shape::Texts, "The owners of the vendor's image.").default("[]"),
            Field::new("query", Shape::Free, "The query for the vendor's image.").default("{}"),
            Field::new("runtimes", Shape::Objects(RUNTIMES), "Where it is baked, one entry per image builder; at least one.").required(),
            Field::new("config_username", Shape::Text, "The user bakes log in as."),
            Field::new("auto_update", Shape::Bool, "Stands for `update: {policy: full}` when there is no `update`.").default("false"),
            Field::new("update", Shape::Object(UPDATE), "What a bake updates."),
            Field::new("identity_types", Shape::Texts, "The kinds of identity its images can carry, e.g. `posix`.").default("[]"),
            Field::new("storage_types", Shape::Texts, "The kinds of storage its machines can mount, e.g. `ebs`.").default("[]"),
            Field::new("admin_user", Shape::Text, "The local administrator of its images; not blank.").default("csisadmin"),
            Field::new("admin_public_keys", Shape::Texts, "The SSH public keys of the administrator; left out, the document's list."),
            Field::new("local_test_image", Shape::Text, "The container modifications are tried in; left out, one that fits the family."),
            Field::new("tests", Shape::Object(TESTS), "What must hold at the end of the bake.").default("{}"),
            $($extra),*
        ]
    };
}

pub(crate) const FIELDS: &[Field] = table!();
pub(crate) const RHEL_FIELDS: &[Field] =
    table!(Field::new("subscription_id", Shape::Text, "Accepted; nothing reads it."));

/// The rules of every OS builder.
pub(crate) fn check(builder: &Builder, found: &mut Diagnostics) {
    let fields = &builder.fields;
    let who = format!("OS builder `{}`", builder.name);
    check_runtimes(&who, fields, found);
    if let Some(size) = fields.text("default_primary_disk_size").filter(|s| !is_disk_size(s)) {
        found.push(
            Diagnostic::error("disk-size", format!("{who} has the disk size `{size}`, which is no number of GB"))
                .at(fields.place("default_primary_disk_size"))
                .help("write a whole number, or `default`"),
        );
    }
    if fields.text("admin_user").is_some_and(|u| u.trim().is_empty()) {
        found.push(
            Diagnostic::error("admin-user", format!("{who} has a blank `admin_user`"))
                .at(fields.place("admin_user"))
                .help("name the local administrator, or leave the key out"),
        );
    }
    for key in fields.texts("admin_public_keys") {
        public_key::check(&who, &key, found);
    }
    for key in ["identity_types", "storage_types"] {
        check_no_blanks(&who, key, fields, found);
    }
    if let Some(update) = fields.object("update") {
        check_update(&who, &update, found);
    }
    if let Some(tests) = fields.object("tests") {
        check_tests(&who, &tests, found);
    }
}

fn is_disk_size(text: &str) -> bool {
    is_marker(text) || csis_values::name::is_reserved(text) || text.parse::<u32>().is_ok_and(|n| n > 0)
}

fn check_runtimes(who: &str, fields: &Fields, found: &mut Diagnostics) {
    let entries = fields.objects("runtimes");
    if entries.is_empty() && fields.node("runtimes").is_some() {
        found.push(
            Diagnostic::error("no-runtimes", format!("{who} has no `runtimes`, so it is baked nowhere"))
                .at(fields.place("runtimes"))
                .help("declare one entry per image builder"),
        );
    }
    for (position, entry) in entries.iter().enumerate() {
        let builder = entry.text("image_builder").unwrap_or("default");
        if let Some(first) =
            entries[..position].iter().find(|e| e.text("image_builder").unwrap_or("default") == builder)
        {
            found.push(
                Diagnostic::error(
                    "image-builder-twice",
                    format!("{who} has two `runtimes` entries for image builder `{builder}`"),
                )
                .at(entry.place("image_builder"))
                .also(first.place("image_builder"), "the first entry")
                .help("keep one entry per image builder"),
            );
        }
        let name = entry.text("name").unwrap_or_default();
        if let Some(tests) = entry.object("tests") {
            check_tests(&format!("{who}, entry `{name}`,"), &tests, found);
        }
    }
}

fn check_update(who: &str, update: &Fields, found: &mut Diagnostics) {
    let packages = update.texts("packages");
    let pins = update.node("pin").and_then(csis_values::Node::map).unwrap_or_default();
    if update.text("policy") == Some("packages") && packages.is_empty() && pins.is_empty() {
        found.push(
            Diagnostic::error("update-packages", format!("{who} updates `packages` and names none"))
                .at(update.place("policy"))
                .help("list them under `update.packages`, or pin some under `update.pin`"),
        );
    }
    for pin in pins {
        let version = pin.value.text().unwrap_or_default();
        if version.is_empty() || version.contains(char::is_whitespace) {
            found.push(
                Diagnostic::error(
                    "update-pin",
                    format!("{who} pins `{}` at `{version}`, which is no version", pin.key),
                )
                .at(&pin.value.at)
                .help("write one version without spaces"),
            );
        }
    }
    for excluded in update.texts("exclude") {
        if packages.iter().any(|p| p.value == excluded.value) {
            found.push(
                Diagnostic::error("update-both", format!("{who} both updates and excludes the package `{excluded}`"))
                    .at(&excluded.at)
                    .help("remove it from `packages` or from `exclude`"),
            );
        }
    }
    for key in ["packages", "exclude"] {
        check_no_blanks(who, key, update, found);
    }
}
