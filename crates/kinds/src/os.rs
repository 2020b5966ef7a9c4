//! What all operating system builders share.

use crate::vocabulary::{TAG_DOC, TESTS};
use csis_values::Class;
use csis_values::fields::{Field, Shape};

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
