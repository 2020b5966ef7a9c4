//! The fields of the document itself, and the list of all models for the schema and the format's documentation.

use csis_kinds::registry;
use csis_values::Class;
use csis_values::fields::{Field, Shape};

const TEXTS: Shape = Shape::Texts;

/// Top-level keys of `cfg/` beside the lists of entries.
pub(crate) const DOCUMENT: &[Field] = &[
    Field::new(
        "id",
        Shape::Text,
        "The configuration's identifier; the ownership tag `csis_config` of everything it makes.",
    )
    .required(),
    Field::new("working_directory", Shape::Text, "Accepted; the tree's root is where work is done.")
        .default("./workdir"),
    Field::new("generation_directory", Shape::Text, "Where the emission goes, relative to the root.")
        .default("generated"),
    Field::new("dateformat", Shape::Text, "The time stamp in artifact names, as a strftime format.")
        .default("%Y%m%d_%H%M%S"),
    Field::new("gitignore", TEXTS, "Lines added to every emitted ignore file.").default("[]"),
    Field::new("sleep_before_finalization", Shape::Int { min: 0, max: i64::MAX }, "Accepted; nothing waits.")
        .default("1"),
    Field::new(
        "encryption",
        Shape::Object(&[Field::new(
            "recipients",
            TEXTS,
            "The age public keys that new encrypted values are made for.",
        )
        .default("[]")]),
        "Who can open encrypted values.",
    )
    .default("{}"),
    Field::new(
        "public_safe",
        Shape::Object(&[Field::new(
            "allow",
            TEXTS,
            "Texts, or `path:` patterns, that the check for publishing accepts.",
        )
        .default("[]")]),
        "What may stand in a tree that is published.",
    )
    .default("{}"),
    Field::new("config", Shape::Object(CONFIG), "Switches, and data for templates.").default("{}"),
    Field::new("base_plugins", Shape::Free, "Accepted; nothing built in reads it."),
    Field::new("other_builders", Shape::Free, "Accepted; nothing built in reads it."),
];

/// Recognised keys of `config:`; any other is data for templates.
pub(crate) const CONFIG: &[Field] = &[
    Field::new(
        "apply_identity",
        Shape::Free,
        "Which identity roots a merge applies: `true`, or a list of builders and runtimes.",
    )
    .default("false"),
    Field::new(
        "apply_storage",
        Shape::Free,
        "Which storage roots a merge applies: `true`, or a list of builders and runtimes.",
    )
    .default("false"),
    Field::new(
        "apply_instances",
        Shape::Free,
        "Which instance roots a merge applies: `true`, or a list of builders and runtimes.",
    )
    .default("false"),
    Field::new("apply_release", Shape::Bool, "Whether released builds are marked in the cloud.").default("false"),
    Field::new("use_state_backends", Shape::Bool, "Whether roots keep their state in the state backends.")
        .default("false"),
    Field::new(
        "module_source_base",
        Shape::Text,
        "Where module calls point; relative to the root, or elsewhere at a commit (`?ref=` and its full hash).",
    )
    .default("../tfmodules"),
    Field::new("admin_public_keys", TEXTS, "SSH public keys of the administrator of every base image."),
    Field::new("okta_gateway_selector", Shape::Text, "The gateway selector of group builders that set none."),
    Field::new("require_mod_tests", Shape::Bool, "Whether a release needs a local test record of every modification.")
        .default("false"),
    Field::new("require_image_tests", Shape::Bool, "Whether a release needs a passing record of `tests.post_bake`.")
        .default("true"),
    Field::new("require_released_builds", Shape::Bool, "Whether instances may pin only released builds.")
        .default("false"),
    Field::new(
        "gate",
        Shape::Object(&[
            Field::new("extra_types", TEXTS, "Resource types that roots may hold besides those that csis makes.")
                .default("[]"),
            Field::new("confirm_data_loss", Shape::Bool, "Whether a loss of data waits for a second person's word.")
                .default("true"),
            Field::new(
                "max_data_losses",
                Shape::Int { min: 0, max: i64::MAX },
                "How many losses of data one landing may hold.",
            )
            .default("3"),
        ]),
        "What the gate goes by, read from the base of a change.",
    )
    .default("{}"),
    Field::new("template_env", TEXTS, "The variables that templates may read as `ENV`.").default("[]"),
    Field::new(
        "preflight",
        Shape::Object(&[
            Field::new("expected_run_minutes", Shape::Text, "A session that ends sooner is reported.").default("30")
        ]),
        "What a run needs before it starts.",
    ),
];

/// `upgrade:` of a file of `operations/`.
pub(crate) const UPGRADE: &[Field] = &[
    Field::new("instance", Shape::Ref(Class::Instance), "The machine that moves onto another build of its image."),
    Field::new("image", Shape::Ref(Class::Image), "The image that is baked from another build of its parent."),
    Field::new("runtime", Shape::Ref(Class::Runtime), "For an image: where; needed when it is baked on several."),
    Field::new("to", Shape::Text, "The id of the build, as the records have it.").required(),
];

/// `forget:` of a file of `operations/`.
pub(crate) const FORGET: &[Field] = &[Field::new(
    "instance",
    Shape::Text,
    "A machine that is declared no more and gone: the records drop its pin and its launch.",
)
.required()];

/// Every model by the key it stands under: the document, its lists, the collections, and the modifications of images. A builder's type adds its own
/// fields ([`registry::REGISTRY`]).
pub fn models() -> Vec<(&'static str, &'static [Field])> {
    let classes = std::iter::once(&Class::Executable).chain(Class::BUILDERS).chain(Class::COLLECTIONS);
    let mut models = vec![("", DOCUMENT), ("config", CONFIG)];
    models.extend(classes.map(|class| (class.key(), registry::common_fields(*class))));
    models.push(("images[].modifications", registry::modification_fields()));
    models.extend([("upgrade", UPGRADE), ("forget", FORGET)]);
    models
}
