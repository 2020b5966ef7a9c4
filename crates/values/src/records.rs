//! The records of a tree (meta-state): what earlier landings made true. Absent files are empty records.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Records {
    /// `storage-state.yaml`.
    pub storages: BTreeMap<String, StorageRecord>,
    /// `lineage.yaml`, in order; the last build of a series on a runtime is its head.
    pub builds: Vec<Build>,
    /// `pins.yaml`.
    pub pins: Pins,
    /// `launch-params.yaml`.
    pub launches: BTreeMap<String, Launch>,
    /// `instance-state.yaml`.
    pub generations: BTreeMap<String, Generations>,
    /// `state-locations.yaml`, by workspace.
    pub locations: BTreeMap<String, LocationRecord>,
    /// `identity.yaml`.
    pub groups: BTreeMap<String, GroupRecord>,
    /// `releases.yaml`: model → image → build.
    pub releases: BTreeMap<String, BTreeMap<String, String>>,
    /// `releases.yaml`: every build that was ever released.
    pub released: BTreeSet<String>,
    /// `image-tests.yaml`: build → whether its last post-bake tests passed.
    pub image_tests: BTreeMap<String, bool>,
    /// `vendor-images.yaml`: `<os builder>@<runtime>` → image id.
    pub vendor_images: BTreeMap<String, String>,
    /// `state-report.json`'s hard findings are not records; they are not read here.
    /// `aliases.txt` as it is.
    pub aliases: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StorageRecord {
    /// `active`, `archived`, `destroyed`; none when never applied.
    pub state: Option<String>,
    pub generation: u32,
    pub builder: Option<String>,
    /// The capability, e.g. `ebs`.
    pub kind: Option<String>,
    pub bucket_name: Option<String>,
    pub archive: Option<String>,
    pub history: Vec<serde_json::Value>,
}

impl StorageRecord {
    /// Whether something stands for it.
    pub fn is_live(&self) -> bool {
        matches!(self.state.as_deref(), Some("active" | "archived"))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Build {
    pub build_id: String,
    pub series: String,
    pub runtime: String,
    pub name: String,
    pub parent: Option<String>,
    pub input_fingerprint: Option<String>,
    /// Absent in records of the original: the head counts as current.
    pub fingerprint_scheme: Option<u32>,
    pub run: Option<String>,
    /// Whether capabilities were recorded with it; without, the two lists below say nothing.
    pub stamped: bool,
    pub identity_types: Vec<String>,
    pub storage_types: Vec<String>,
    pub imported: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pins {
    /// `<image>@<runtime>` → parent build.
    pub images: BTreeMap<String, String>,
    /// instance → build.
    pub instances: BTreeMap<String, String>,
    pub pending_replacements: BTreeMap<String, String>,
}

/// The launch parameters of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    pub image: Option<String>,
    pub build: Option<String>,
    pub machine_type: Option<String>,
    pub group: Option<String>,
    pub identity_type: Option<String>,
    pub mounts: Vec<LaunchMount>,
    pub session: Option<String>,
    pub hostname: Option<String>,
    /// The memorable name it drew from the pool.
    pub alias: Option<String>,
    pub ephemeral: bool,
    pub userdata: Option<String>,
    pub launched: bool,
    pub launched_run: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchMount {
    pub storage: String,
    pub kind: Option<String>,
    pub builder: Option<String>,
    pub mount_point: String,
    pub group: Option<String>,
    pub public_read: bool,
    pub device: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Generations {
    pub durable: u32,
    pub ephemeral: u32,
    /// The cloud's id of the machine that stands.
    pub instance_id: Option<String>,
    pub current_kind: Option<String>,
    /// What its machines mounted, of every generation, each with the run that launched it.
    pub mounted: Vec<Mounted>,
}

/// A storage on a machine that stands or stood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mounted {
    pub storage: String,
    pub run: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocationRecord {
    /// `s3://bucket/key` and the like.
    pub location: String,
    pub backend: Option<String>,
    pub kind: Option<String>,
    /// The state's lineage and last serial, once a landing recorded them.
    pub lineage: Option<String>,
    pub serial: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRecord {
    pub builder: Option<String>,
    pub managed: bool,
}

impl Records {
    /// The newest build of a series on a runtime.
    pub fn head(&self, series: &str, runtime: &str) -> Option<&Build> {
        self.builds.iter().rev().find(|b| b.series == series && b.runtime == runtime)
    }

    /// Whether a machine mounted a storage since a run; what has no run may be of any time. Ids of runs sort by their time.
    pub fn was_mounted(&self, storage: &str, since: Option<&str>) -> bool {
        let of_then = |run: Option<&str>| run.zip(since).is_none_or(|(run, since)| run >= since);
        let launched = self.launches.values().filter(|launch| launch.launched);
        launched
            .filter(|launch| launch.mounts.iter().any(|mount| mount.storage == storage))
            .any(|launch| of_then(launch.launched_run.as_deref()))
            || (self.generations.values().flat_map(|generations| &generations.mounted))
                .any(|mounted| mounted.storage == storage && of_then(mounted.run.as_deref()))
    }

    pub fn build(&self, id: &str) -> Option<&Build> {
        self.builds.iter().find(|b| b.build_id == id)
    }
}
