//! What each root holds, which bakes are due and why, and which destroys a declared operation sanctions.

use crate::name::Name;
use crate::place::Place;
use crate::request::Lifecycle;
use crate::sanction::{Obligation, OwnAction, Sanction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// In execution order: producers before consumers.
    pub roots: Vec<Root>,
    /// One per series and runtime, due or not.
    pub bakes: Vec<Bake>,
    /// Series whose parent or content changed, as edges for the lineage picture.
    pub lineage: Vec<LineageEdge>,
}

/// One OpenTofu root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Root {
    /// `<lifecycle>/<builder>`.
    pub id: String,
    pub lifecycle: Lifecycle,
    /// The phase's directory name, e.g. `storage-generation`.
    pub phase: String,
    /// The builder that owns it (safe name in `builder.safe`); its label is the provider alias and the workspace key.
    pub builder: Name,
    /// The builder's class and kind are found in the tree by name.
    pub runtime: Option<String>,
    /// The executable entry's binary that runs it, e.g. `tofu`; and that entry's name and kind for overriding.
    pub engine: EngineRef,
    pub state: Option<StateBinding>,
    /// Whether merging applies it, and where that is decided.
    pub applies: Applies,
    /// Roots whose outputs it reads, by id, in the order their data blocks stand.
    pub reads: Vec<Read>,
    pub content: Content,
    pub sanctions: Vec<Sanction>,
    pub obligations: Vec<Obligation>,
    pub actions: Vec<OwnAction>,
    /// Addresses to replace (`-replace=`), sorted.
    pub replace: Vec<String>,
    /// Resource types the kinds of this root emit; anything else is a foreign object.
    pub resource_types: Vec<String>,
    /// Among them, the types that hold data.
    pub data_types: Vec<String>,
    /// Facts the state-lost rule needs: addresses of objects that records call live.
    pub live: Vec<LiveObject>,
    /// `-var` arguments of the plan, e.g. `ephemeral_present=false`.
    pub variables: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineRef {
    /// Name of the `executables` entry; the kind's own default when the builder names none.
    pub name: String,
    pub kind: String,
    pub binary: String,
    pub version: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Applies {
    pub applies: bool,
    /// The flag that decides, e.g. `apply_storage`, and its value in words.
    pub flag: String,
    pub value: String,
    pub at: Option<Place>,
}

/// A root that is read through remote state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// The producer's root id.
    pub root: String,
    /// The label of the data block; also the producer's workspace key.
    pub label: String,
    /// Canonical name of the backend that keeps the producer's state; none when the tree has none.
    #[serde(default)]
    pub backend: Option<String>,
}

/// Where a root keeps its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateBinding {
    /// The backend entry's canonical name.
    pub backend: String,
    /// The backend's kind as HCL names it, e.g. `s3`.
    pub kind: String,
    /// The full location, e.g. `s3://bucket/key`.
    pub location: String,
    /// The profile the backend names, if any.
    pub profile: Option<String>,
    /// Lineage and serial the records know.
    pub lineage: Option<String>,
    pub serial: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Content {
    Storages { storages: Vec<StorageIntent> },
    Instances { instances: Vec<InstanceIntent> },
}

/// A storage as its root emits it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StorageIntent {
    /// The declared storage's safe name; looked up in the tree.
    pub name: Name,
    pub stands: Standing,
    /// The snapshot that holds its content: to restore from when it is live again, or where an archived storage went.
    pub restore_from: Option<String>,
    /// The groups that get a directory of their own, with the gid expression and the mode.
    pub access: Vec<Access>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    pub group: String,
    pub gid: i64,
    pub mode: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Emitted as a module.
    Live,
    /// A comment names the archive.
    Archived,
    /// A comment marks the tombstone.
    Destroyed,
}

/// A machine as its root emits it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstanceIntent {
    pub name: Name,
    pub hostname: String,
    pub machine_type: String,
    pub image: String,
    pub build: BuildRef,
    /// The owning group and its gid.
    pub group: Option<(String, i64)>,
    pub ephemeral: bool,
    pub mounts: Vec<MountIntent>,
    pub tags: BTreeMap<String, String>,
    pub userdata: String,
}

/// Which build a machine runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum BuildRef {
    /// A recorded pin.
    Pinned { id: String },
    /// The variable `<label>_ami_id`, or the newest own image by this name pattern (without `*`).
    Deferred { pattern: String, series: String, runtime: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountIntent {
    /// Safe name of the storage.
    pub storage: String,
    /// Safe name of its storage builder, and that builder's kind.
    pub builder: String,
    pub kind: String,
    pub mount_point: String,
    /// Device for kinds that attach a block device.
    pub device: Option<String>,
    /// The group subtree made under the mount point, with its mode; none when the group may not write there.
    pub subtree: Option<(String, String)>,
    /// Mounted read-only: the storage is public and the machine's group is not among its groups.
    pub read_only: bool,
    /// The storage's groups include the machine's group.
    pub allowed: bool,
    /// The volume is new in this generation and made without a snapshot, so it may be formatted.
    pub may_format: bool,
}

/// A bake decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bake {
    pub series: String,
    pub runtime: String,
    pub due: bool,
    /// `no build of … yet`, `inputs changed (a -> b)`, `current (build …)`.
    pub why: String,
    pub fingerprint: String,
    pub head: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LineageEdge {
    pub parent: String,
    pub child: String,
    /// The child bakes.
    pub due: bool,
}

/// An object the records call live, which a plan must not create anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveObject {
    /// Address prefix, e.g. `module.storage_ledger`.
    pub address: String,
    pub kind: String,
    pub name: String,
}
