//! The configuration tree, read: typed declarations with the places they were written at. References hold canonical (safe) names.

use crate::class::Class;
use crate::fields::Fields;
use crate::name::{Name, safe_name};
use crate::node::Node;
use crate::place::{Place, Spanned};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// `id:` of the tree.
    pub id: Spanned<String>,
    /// The tree's id as the ownership tag `csis_config`: lower-case, other characters than `[a-z0-9_-]` as `-`, at most 63.
    pub config_tag: String,
    /// Where emission goes, relative to the root, without `./` and trailing `/`.
    pub generation_directory: String,
    /// strftime format of the time stamp in artifact names.
    pub dateformat: String,
    pub gitignore: Vec<String>,
    pub config: Config,
    pub executables: Vec<Executable>,
    /// Every builder of every class, in order of declaration.
    pub builders: Vec<Builder>,
    pub users: Vec<User>,
    pub groups: Vec<Group>,
    pub storages: Vec<Storage>,
    pub images: Vec<Image>,
    pub instances: Vec<Instance>,
    /// Playbooks and scripts that modifications name, by path relative to the root; read once.
    pub files: BTreeMap<String, TreeFile>,
    /// The overlays in force, as named.
    pub overlays: Vec<String>,
    /// What `--undeclare` and overlays removed, as `kind:name`.
    pub undeclared: Vec<String>,
    /// What is asked for once, by the path of its file.
    pub operations: BTreeMap<String, Operation>,
}

/// Something that a landing does once and then takes out of the tree: a file of `operations/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// A machine moves onto another build of its image.
    UpgradeInstance { instance: Spanned<String>, to: Spanned<String> },
    /// An image is baked from another build of its parent.
    UpgradeImage { image: Spanned<String>, runtime: Option<Spanned<String>>, to: Spanned<String> },
    /// The records drop a machine that is gone.
    ForgetInstance { instance: Spanned<String> },
}

/// The recognised keys of `config:`; everything else is template data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    pub apply_identity: ApplyFlag,
    pub apply_storage: ApplyFlag,
    pub apply_instances: ApplyFlag,
    pub apply_release: ApplyFlag,
    pub use_state_backends: bool,
    /// Without a trailing `/`.
    pub module_source_base: Spanned<String>,
    pub admin_public_keys: Vec<Spanned<String>>,
    pub require_mod_tests: bool,
    pub require_image_tests: bool,
    pub require_released_builds: bool,
    /// Variables that templates may read as `ENV` in the action.
    pub template_env: Vec<String>,
    pub expected_run_minutes: f64,
    /// The whole mapping, overlays applied.
    pub all: Node,
}

/// Which roots of a lifecycle a merge may apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyFlag {
    pub value: Apply,
    /// Where the flag is written; none when it is absent (off).
    pub at: Option<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Apply {
    Off,
    All,
    /// Roots by builder name or runtime name (safe names).
    Only(Vec<String>),
}

impl ApplyFlag {
    pub fn off() -> Self {
        ApplyFlag { value: Apply::Off, at: None }
    }

    /// Whether it covers a root, by the names of its builder and its runtime.
    pub fn covers(&self, builder: &str, runtime: Option<&str>) -> bool {
        match &self.value {
            Apply::Off => false,
            Apply::All => true,
            Apply::Only(names) => names.iter().any(|n| n == builder || Some(n.as_str()) == runtime),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Executable {
    pub name: Name,
    /// The checker's name; the entry's own name when unset.
    pub kind: String,
    pub binary: String,
    pub version: Option<Spanned<String>>,
    pub fields: Fields,
    pub at: Place,
}

/// An entry of a builder list. What only its kind knows is in [`Builder::fields`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Builder {
    pub class: Class,
    /// The registered kind, e.g. `tf-aws-ebs`.
    pub kind: String,
    pub name: Name,
    pub aliases: Vec<String>,
    pub is_default: bool,
    /// Canonical runtime name, for runtime-bound classes.
    pub runtime: Option<Spanned<String>>,
    /// Canonical backend name, when the entry names one.
    pub state_configuration: Option<Spanned<String>>,
    pub executable: Option<Spanned<String>>,
    pub tags: BTreeMap<String, String>,
    pub fields: Fields,
    pub at: Place,
}

impl Builder {
    /// Whether a safe name is its own or one of its aliases.
    pub fn is_called(&self, word: &str) -> bool {
        self.name.safe == word || self.aliases.iter().any(|alias| safe_name(alias) == word)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct User {
    pub name: Name,
    pub builder: Spanned<String>,
    pub first_name: String,
    pub last_name: String,
    pub email: String,
    pub description: String,
    pub uid: Option<Spanned<i64>>,
    pub public_keys: Vec<Spanned<String>>,
    pub fields: Fields,
    pub at: Place,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    pub name: Name,
    pub aliases: Vec<String>,
    pub builder: Spanned<String>,
    pub description: String,
    pub is_root: bool,
    /// Safe user names.
    pub members: Vec<Spanned<String>>,
    pub admins: Vec<Spanned<String>>,
    /// None while deferred.
    pub gid: Option<Spanned<i64>>,
    pub include_root_group_in_admins: bool,
    pub unmanaged: bool,
    pub in_both: Option<bool>,
    pub fields: Fields,
    pub at: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StorageState {
    Active,
    Archived,
    Destroyed,
}

impl StorageState {
    pub fn name(self) -> &'static str {
        match self {
            StorageState::Active => "active",
            StorageState::Archived => "archived",
            StorageState::Destroyed => "destroyed",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    pub name: Name,
    pub aliases: Vec<String>,
    pub builder: Spanned<String>,
    pub description: String,
    /// Safe names of the groups allowed to attach.
    pub groups: Vec<Spanned<String>>,
    pub availability_zone: Option<Spanned<String>>,
    pub public_read: bool,
    /// `2770` or `2775`.
    pub share_mode: String,
    pub state: Spanned<StorageState>,
    pub lifecycle: Option<Fields>,
    pub bucket_name: Option<Spanned<String>>,
    pub tags: BTreeMap<String, String>,
    /// Declared by an overlay and not by the tree.
    pub transient: bool,
    pub fields: Fields,
    pub at: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    Pinned,
    Follow,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Image {
    pub name: Name,
    pub aliases: Vec<String>,
    /// The primary image builder.
    pub builder: Spanned<String>,
    pub description: String,
    /// Safe name of an OS builder or image.
    pub source: Spanned<String>,
    /// Safe name of the owning group.
    pub group: Option<Spanned<String>>,
    pub runtimes: Vec<ImageRuntime>,
    pub parent_policy: Policy,
    pub retention_keep: Option<i64>,
    pub primary_disk_size: i64,
    pub architecture: String,
    pub modifications: Vec<Modification>,
    pub tags: BTreeMap<String, String>,
    pub fields: Fields,
    pub at: Place,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageRuntime {
    /// Canonical image builder name.
    pub image_builder: Spanned<String>,
    /// The image builder's text as written, which is what artifact names carry; the default builder's name when unset.
    pub image_builder_written: String,
    /// The runtime of that image builder.
    pub runtime: String,
    pub machine_type: Option<String>,
    pub tags: BTreeMap<String, String>,
    pub fields: Fields,
    pub at: Place,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Modification {
    pub name: Name,
    /// Canonical name of the modification builder.
    pub builder: String,
    /// That builder's kind.
    pub kind: String,
    pub fields: Fields,
    pub at: Place,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    pub name: Name,
    pub aliases: Vec<String>,
    pub builder: Spanned<String>,
    pub description: String,
    /// Safe name of the image; none is refused by the rules.
    pub image: Option<Spanned<String>>,
    /// Canonical runtime name.
    pub runtime: Spanned<String>,
    pub machine_type: Option<String>,
    pub mounts: Vec<Mount>,
    pub availability_zone: Option<Spanned<String>>,
    /// Lines appended to the launch script, literally.
    pub userdata: String,
    pub image_policy: Policy,
    pub ephemeral: bool,
    pub tags: BTreeMap<String, String>,
    pub transient: bool,
    pub fields: Fields,
    pub at: Place,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Safe name of the storage.
    pub storage: Spanned<String>,
    pub mount_point: Spanned<String>,
    pub at: Place,
}

/// A file a modification names, with what a fingerprint and a copy need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeFile {
    pub mode: u32,
    pub bytes: Vec<u8>,
    pub sha256: String,
}

impl Tree {
    pub fn builders_of(&self, class: Class) -> impl Iterator<Item = &Builder> {
        self.builders.iter().filter(move |b| b.class == class)
    }

    /// By canonical name.
    pub fn builder(&self, class: Class, name: &str) -> Option<&Builder> {
        self.builders_of(class).find(|b| b.name.safe == name)
    }

    pub fn user(&self, name: &str) -> Option<&User> {
        self.users.iter().find(|u| u.name.safe == name)
    }

    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|g| g.name.safe == name)
    }

    pub fn storage(&self, name: &str) -> Option<&Storage> {
        self.storages.iter().find(|s| s.name.safe == name)
    }

    pub fn image(&self, name: &str) -> Option<&Image> {
        self.images.iter().find(|i| i.name.safe == name)
    }

    pub fn instance(&self, name: &str) -> Option<&Instance> {
        self.instances.iter().find(|i| i.name.safe == name)
    }

    /// The OS builder an image's chain of sources ends at; none when it does not end (unknown source, cycle).
    pub fn base_of(&self, image: &str) -> Option<&Builder> {
        let mut current = image;
        for _ in 0..=self.images.len() {
            let Some(found) = self.image(current) else { return self.builder(Class::OsBuilder, current) };
            current = &found.source.value;
        }
        None
    }
}
