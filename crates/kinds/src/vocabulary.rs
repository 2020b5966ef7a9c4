//! Field tables and rules that several models share.

use csis_values::fields::{Field, Shape};

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
