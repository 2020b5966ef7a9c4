//! The fields that every entry of a class has, whatever its type, and the keys that are refused with an explanation of their own.

use crate::items;
use csis_values::Class;
use csis_values::fields::{Field, Shape};

const NAME: Field =
    Field::new("name", Shape::Text, "The entry's name, unique within its class; lower-cased for look-ups.")
        .required()
        .literal();
const TYPE: Field =
    Field::new("type", Shape::Text, "The builder type, one of the registered words.").required().literal();
const DESCRIPTION: Field = Field::new("description", Shape::Text, "What the entry is for, in words.");
const ALIASES: Field = Field::new(
    "aliases",
    Shape::Texts,
    "Further names the entry is found by; an alias equal to its own name is dropped.",
)
.literal();
const EXECUTABLE: Field = Field::new(
    "executable",
    Shape::Ref(Class::Executable),
    "The program that runs this builder's commands, an entry of `executables`.",
);
const IS_DEFAULT: Field = Field::new(
    "is_default",
    Shape::Bool,
    "Whether a reference left out means this entry; exactly one entry of each list says so.",
)
.default("false");
const CONFIG: Field =
    Field::new("config", Shape::Free, "Template data of this entry; shadows the document's `config` key by key.")
        .default("{}");
const GITIGNORE: Field =
    Field::new("gitignore", Shape::Texts, "Lines added to the ignore file beside this builder's emission.")
        .default("[]");
const TAGS: Field = Field::new("tags", Shape::TextMap, "Tags, from key to value.").default("{}");
const RUNTIME: Field =
    Field::new("runtime", Shape::Ref(Class::Runtime), "The runtime this builder works on, by name or alias.")
        .default("default");
const STATE: Field = Field::new(
    "state_configuration",
    Shape::Ref(Class::StateBackend),
    "The state backend of this entry's roots; left out, the runtime's is used, then the default backend.",
)
.default("default");

const PLAIN: &[Field] = &[NAME, TYPE, DESCRIPTION, ALIASES, EXECUTABLE, IS_DEFAULT, CONFIG, GITIGNORE, TAGS];
const STATEFUL: &[Field] = &[NAME, TYPE, DESCRIPTION, ALIASES, EXECUTABLE, IS_DEFAULT, CONFIG, GITIGNORE, TAGS, STATE];
const BOUND: &[Field] = &[NAME, TYPE, DESCRIPTION, ALIASES, EXECUTABLE, IS_DEFAULT, CONFIG, GITIGNORE, TAGS, RUNTIME];
const ROOTED: &[Field] =
    &[NAME, TYPE, DESCRIPTION, ALIASES, EXECUTABLE, IS_DEFAULT, CONFIG, GITIGNORE, TAGS, RUNTIME, STATE];

const EXECUTABLES: &[Field] = &[
    NAME,
    Field::new("type", Shape::Text, "The version check to use when none is known under the entry's name.")
        .literal()
        .default("executable"),
    Field::new("version", Shape::Text, "The versions accepted, e.g. `>=1.6,<2`."),
    Field::new(
        "binary",
        Shape::Text,
        "The program: an absolute path or a name found on PATH; the entry's name when left out.",
    ),
    Field::new("prepended_arguments", Shape::Texts, "Arguments put before every command's own.").default("[]"),
    Field::new("appended_arguments", Shape::Texts, "Arguments put after every command's own.").default("[]"),
    Field::new("args", Shape::Texts, "Arguments put before those of a call.").default("[]"),
    Field::new("working_directory", Shape::Text, "Accepted; every command sets its own directory."),
    DESCRIPTION,
    ALIASES,
    Field::new("config", Shape::Free, "Accepted; template data.").default("{}"),
];

/// Providers or plugins a root requires.
pub(crate) const PROVIDERS: Field = Field::new(
    "required_plugins",
    Shape::Objects(&[
        Field::new("name", Shape::Text, "The provider's local name, e.g. `aws`.").required(),
        Field::new("source", Shape::Text, "The provider's source address, e.g. `hashicorp/aws`."),
        Field::new("version", Shape::Text, "The version constraint; left out, any version serves."),
        Field::new("config", Shape::Free, "Accepted; template data.").default("{}"),
    ]),
    "The providers its roots require; left out, the runtime's own provider at any version.",
)
.default("[]");

/// The fields every builder of a class has, or all fields of an item of a collection.
pub fn fields(class: Class) -> &'static [Field] {
    match class {
        Class::Executable => EXECUTABLES,
        Class::Runtime => STATEFUL,
        Class::StateBackend | Class::OsBuilder | Class::GroupBuilder | Class::UserBuilder | Class::ModBuilder => PLAIN,
        Class::ImageBuilder => BOUND,
        Class::InstanceBuilder | Class::StorageBuilder => ROOTED,
        Class::User => items::USER,
        Class::Group => items::GROUP,
        Class::Storage => items::STORAGE,
        Class::Image => items::IMAGE,
        Class::Instance => items::INSTANCE,
    }
}

/// Keys of a class that are refused with an explanation: (key, what to do instead).
pub fn refused_keys(class: Class) -> &'static [(&'static str, &'static str)] {
    match class {
        Class::Executable | Class::Group | Class::Storage | Class::Image => &[],
        Class::User => &[("aliases", "remove it: a user has one name; a further one is a user of its own")],
        Class::Instance => &[("groups", "set `group:` on its image; the machine belongs to that group")],
        _ => &[("parameters", "set module inputs under `variables:`")],
    }
}
