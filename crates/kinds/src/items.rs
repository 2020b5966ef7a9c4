//! The fields of the items of a tree's collections.

use crate::vocabulary::{TAG_DOC, TESTS};
use csis_values::Class;
use csis_values::fields::{Field, Shape};

const POSITIVE: Shape = Shape::Int { min: 1, max: i64::MAX };
const ID: Shape = Shape::Int { min: 1024, max: 4_294_967_294 };

const NAME: Field =
    Field::new("name", Shape::Text, "The item's name, unique within its collection; lower-cased for look-ups.")
        .required()
        .literal();
const DESCRIPTION: Field = Field::new("description", Shape::Text, "What the item is for, in words.");
const ALIASES: Field =
    Field::new("aliases", Shape::Texts, "Further names the item is found by.").literal().default("[]");
const TAGS: Field = Field::new("tags", Shape::TextMap, TAG_DOC).default("{}");
const CONFIG: Field = Field::new("config", Shape::Free, "Template data of this item.").default("{}");
const IS_DEFAULT: Field = Field::new("is_default", Shape::Bool, "Accepted; nothing reads it.").default("false");

const fn profile(name: &'static str) -> Field {
    Field::new(name, Shape::Text, "A profile text for directories that keep one; posix accounts do not.")
}

pub(crate) const USER: &[Field] = &[
    NAME,
    Field::new("type", Shape::Ref(Class::UserBuilder), "The user builder that owns the account.").default("default"),
    Field::new("first_name", Shape::Text, "The person's first name; not blank.").required(),
    Field::new("last_name", Shape::Text, "The person's last name; not blank.").required(),
    Field::new("middle_name", Shape::Text, "The person's middle name."),
    Field::new("email", Shape::Text, "The person's address; left out, the user builder's template makes it."),
    Field::new("description", Shape::Text, "Who it is; left out, the user builder's template makes it."),
    Field::new("uid", ID, "The numeric id of the account and of its private group; a posix account needs one."),
    Field::new("public_keys", Shape::Texts, "SSH public keys that open the account; private keys are refused.")
        .default("[]"),
    Field::new("is_service_account", Shape::Bool, "Whether it is a machine's account, not a person's.")
        .default("false"),
    Field::new("is_enabled", Shape::Bool, "Whether the account is active in directories that can suspend one.")
        .default("true"),
    Field::new("managed", Shape::Bool, "Whether the account is created here rather than only looked up."),
    Field::new(
        "attributes",
        Shape::Free,
        "Account attributes of directories that keep them; posix users set `uid` instead.",
    ),
    TAGS,
    CONFIG,
    profile("mobile_phone"),
    profile("honorific_prefix"),
    profile("honorific_suffix"),
    profile("title"),
    profile("display_name"),
    profile("nick_name"),
    profile("profile_url"),
    profile("second_email"),
    profile("primary_phone"),
    profile("street_address"),
    profile("city"),
    profile("state"),
    profile("zip_code"),
    profile("country_code"),
    profile("postal_address"),
    profile("preferred_language"),
    profile("locale"),
    profile("timezone"),
    profile("user_type"),
    profile("employee_number"),
    profile("cost_center"),
    profile("organization"),
    profile("division"),
    profile("department"),
    profile("manager_id"),
    profile("manager"),
];

pub(crate) const GROUP: &[Field] = &[
    NAME,
    DESCRIPTION,
    ALIASES,
    Field::new("type", Shape::Ref(Class::GroupBuilder), "The group builder that owns the group.").default("default"),
    Field::new(
        "is_root",
        Shape::Bool,
        "Whether it is the root group, whose admins administer every group; exactly one group says so.",
    )
    .default("false"),
    IS_DEFAULT,
    Field::new("members", Shape::Refs(Class::User), "The users in the group.").default("[]"),
    Field::new("admins", Shape::Refs(Class::User), "The users who administer the group.").default("[]"),
    Field::new("gid", Shape::Text, "The group's numeric id, at least 1024; `default` or 0 leaves it open.").literal(),
    Field::new(
        "include_root_group_in_admins",
        Shape::Bool,
        "Whether the root group's admins administer this group too.",
    )
    .default("true"),
    Field::new("unmanaged", Shape::Bool, "Whether the group stays in being and leaves management here.")
        .default("false"),
    Field::new(
        "attributes",
        Shape::Free,
        "Group attributes of directories that keep them; posix groups set `gid` instead.",
    ),
    Field::new("in_both", Shape::Bool, "What a name in both lists is: an admin only (false), or a member too (true)."),
    TAGS,
    CONFIG,
];

pub(crate) const STORAGE: &[Field] = &[
    NAME,
    DESCRIPTION,
    ALIASES,
    Field::new("type", Shape::Ref(Class::StorageBuilder), "The storage builder that realises it.").default("default"),
    Field::new("runtime", Shape::Ref(Class::Runtime), "Accepted; the storage builder's runtime is where it lives.")
        .default("default"),
    Field::new("groups", Shape::Refs(Class::Group), "The groups whose machines may attach it.").default("[]"),
    Field::new(
        "availability_zone",
        Shape::Text,
        "The zone it lives in, for kinds that live in one; left out, the runtime's default zone.",
    ),
    Field::new("public_read", Shape::Bool, "Whether every machine may read it.").default("false"),
    Field::new(
        "share_mode",
        Shape::Word(&["2770", "2775"]),
        "The mode of the groups' directories: private to each group, or readable by all.",
    )
    .default("2770"),
    Field::new("state", Shape::Word(&["active", "archived", "destroyed"]), "The state asked for.").default("active"),
    Field::new(
        "lifecycle",
        Shape::Free,
        "When its content moves to cheaper storage or expires: `ia_days`, `archive_days` (EFS); `transition_days`, `storage_class`, `expire_days`, `prefix` (S3).",
    ),
    Field::new("bucket_name", Shape::Text, "The bucket's name, for object stores; left out, the storage builder's."),
    TAGS,
    Field::new(
        "config",
        Shape::Free,
        "Template data; EFS reads `file_system_id`, an existing file system to use instead of making one.",
    )
    .default("{}"),
    Field::new("mount_point", Shape::Text, "Accepted; the instance says where it mounts a storage."),
    Field::new("source", Shape::Text, "Accepted; nothing reads it."),
    Field::new("ephemeral", Shape::Bool, "Accepted; nothing reads it."),
    Field::new("generative", Shape::Bool, "Accepted; nothing reads it."),
    Field::new("singleton", Shape::Bool, "Accepted; nothing reads it."),
    IS_DEFAULT,
];

const IMAGE_RUNTIMES: &[Field] = &[
    Field::new(
        "image_builder",
        Shape::Ref(Class::ImageBuilder),
        "The image builder that bakes it; it decides the runtime.",
    )
    .default("default"),
    Field::new("name", Shape::Text, "A label; left out, the image builder's name.").literal(),
    Field::new(
        "machine_type",
        Shape::Text,
        "The machine it bakes on; left out, the image builder's, then the runtime's.",
    ),
    Field::new("ssh_username", Shape::Text, "The user the bake logs in as; left out, the base's.").default("default"),
    Field::new("owners", Shape::Texts, "Accepted; images are looked for among one's own.").default("[self]"),
    Field::new("tags", Shape::TextMap, "Tags of the image on this runtime, over all other tags.").default("{}"),
    Field::new("image_identifier", Shape::Text, "Accepted; nothing reads it."),
    Field::new("type", Shape::Text, "Accepted; a label."),
    DESCRIPTION,
    ALIASES,
    CONFIG,
];

pub(crate) const IMAGE: &[Field] = &[
    NAME,
    DESCRIPTION,
    ALIASES,
    Field::new("type", Shape::Ref(Class::ImageBuilder), "The image builder that bakes it first.").default("default"),
    Field::new("source_image", Shape::Text, "What it is made from: an OS builder or another image, by name.")
        .required()
        .literal(),
    Field::new(
        "group",
        Shape::Ref(Class::Group),
        "The group that owns the image and every machine made from it; left out, none.",
    ),
    Field::new(
        "runtimes",
        Shape::Objects(IMAGE_RUNTIMES),
        "Where it bakes, one entry per image builder; at least one.",
    )
    .required(),
    Field::new(
        "parent_policy",
        Shape::Word(&["pinned", "follow"]),
        "Whether it keeps the parent build it was made from, or follows newer ones.",
    )
    .default("pinned"),
    Field::new(
        "retention",
        Shape::Object(&[Field::new(
            "keep",
            Shape::Int { min: 0, max: i64::MAX },
            "How many builds of the series are kept.",
        )
        .required()]),
        "How many builds are kept; left out, the runtime's rule.",
    ),
    Field::new(
        "release",
        Shape::Object(&[Field::new("model", Shape::Text, "The name builds are released under.").required()]),
        "The release the image is part of.",
    ),
    Field::new("primary_disk_size", POSITIVE, "The size of the bake's disk in GB.").default("200"),
    Field::new("architecture", Shape::Text, "The machine architecture.").default("x86_64"),
    Field::new("variables", Shape::ScalarMap, "Packer variables: texts, numbers or booleans.").default("{}"),
    Field::new("modifications", Shape::Free, "What is done to the image while it bakes, in order.").default("[]"),
    Field::new("tests", Shape::Object(TESTS), "What must hold at the end of the bake.").default("{}"),
    TAGS,
    CONFIG,
    IS_DEFAULT,
    Field::new("auto_update", Shape::Bool, "Accepted; nothing reads it."),
    Field::new("auto_generate_storage", Shape::Bool, "Accepted; nothing reads it."),
    Field::new("default_groups", Shape::Texts, "Accepted; nothing reads it."),
];

/// What every modification of an image has; its type's own fields come beside them.
pub const MODIFICATION: &[Field] = &[
    NAME,
    Field::new("type", Shape::Ref(Class::ModBuilder), "The modification builder that applies it.").default("default"),
    DESCRIPTION,
    ALIASES,
    Field::new("config", Shape::Free, "Data that is part of what the image is made of: a change of it bakes anew.")
        .default("{}"),
    TAGS,
];

const MOUNTS: &[Field] = &[
    Field::new("name", Shape::Ref(Class::Storage), "The storage, by name or alias.").required(),
    Field::new("mount_point", Shape::Text, "The directory it is mounted at, an absolute path.").default("/mnt/storage"),
    Field::new("type", Shape::Text, "Accepted; the storage says what it is."),
    Field::new("min_size", POSITIVE, "Accepted; the storage says how large it is.").default("100"),
    Field::new("tags", Shape::TextMap, "Accepted; nothing reads them.").default("{}"),
    Field::new("config", Shape::Free, "Template data.").default("{}"),
    Field::new("aliases", Shape::Texts, "Accepted and dropped with a warning.").literal(),
];

pub(crate) const INSTANCE: &[Field] = &[
    NAME,
    DESCRIPTION,
    ALIASES,
    Field::new("type", Shape::Ref(Class::InstanceBuilder), "The instance builder whose root holds it.")
        .default("default"),
    Field::new(
        "image",
        Shape::Ref(Class::Image),
        "The image it boots from, by name or alias; every instance names one.",
    ),
    Field::new("runtime", Shape::Ref(Class::Runtime), "The runtime it runs on, that of its builder.")
        .default("default"),
    Field::new("machine_type", Shape::Text, "The machine type; left out, the runtime's default."),
    Field::new("storages", Shape::Objects(MOUNTS), "The storages it mounts, in order.").default("[]"),
    Field::new(
        "availability_zone",
        Shape::Text,
        "The zone it must be in; only compared with its subnet's and its storages'.",
    ),
    Field::new("userdata", Shape::Text, "Lines of shell added to the launch script, taken literally."),
    Field::new(
        "image_policy",
        Shape::Word(&["pinned", "follow"]),
        "Whether it keeps the build it was launched from, or is replaced by newer ones.",
    )
    .default("pinned"),
    Field::new("ephemeral", Shape::Bool, "Whether it is launched, verified and destroyed in one run.").default("false"),
    Field::new(
        "on_failure",
        Shape::Word(&["keep", "teardown"]),
        "What becomes of an ephemeral machine that fails its verification; left out, the runtime's rule.",
    ),
    Field::new(
        "teardown_after",
        Shape::Duration,
        "How long an ephemeral machine may stand; left out, the runtime's rule.",
    ),
    TAGS,
    CONFIG,
];
