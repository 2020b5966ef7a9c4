//! What the rules ask again and again, indexed once.

use csis_kinds::registry;
use csis_kinds::{GroupKind, RuntimeKind, StorageKind};
use csis_values::fields::Fields;
use csis_values::name::{is_reserved, safe_name};
use csis_values::records::{Build, Records};
use csis_values::tree::{Builder, Group, Image, Instance, Mount, Policy, Storage, Tree, User};
use csis_values::{Class, Place};
use std::collections::{BTreeMap, BTreeSet};

pub(super) struct Site<'a> {
    pub tree: &'a Tree,
    pub records: &'a Records,
    pub users: BTreeMap<&'a str, &'a User>,
    pub groups: BTreeMap<&'a str, &'a Group>,
    pub storages: BTreeMap<&'a str, &'a Storage>,
    pub images: BTreeMap<&'a str, &'a Image>,
    pub instances: BTreeMap<&'a str, &'a Instance>,
    builders: BTreeMap<(Class, &'a str), &'a Builder>,
    /// Storage → the mounts of it, in order of declaration.
    pub mounted: BTreeMap<&'a str, Vec<(&'a Instance, &'a Mount)>>,
    /// (series, runtime) → newest build.
    heads: BTreeMap<(&'a str, &'a str), &'a Build>,
    builds: BTreeMap<&'a str, &'a Build>,
    /// Image → the OS builder its chain ends at.
    bases: BTreeMap<&'a str, &'a Builder>,
}

impl<'a> Site<'a> {
    pub fn new(tree: &'a Tree, records: &'a Records) -> Self {
        let mut mounted: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for instance in &tree.instances {
            for mount in &instance.mounts {
                mounted.entry(&mount.storage.value).or_default().push((instance, mount));
            }
        }
        let builders: BTreeMap<_, _> = tree.builders.iter().map(|b| ((b.class, b.name.safe.as_str()), b)).collect();
        let images: BTreeMap<_, _> = tree.images.iter().map(|i| (i.name.safe.as_str(), i)).collect();
        Site {
            tree,
            records,
            users: tree.users.iter().map(|u| (u.name.safe.as_str(), u)).collect(),
            groups: tree.groups.iter().map(|g| (g.name.safe.as_str(), g)).collect(),
            storages: tree.storages.iter().map(|s| (s.name.safe.as_str(), s)).collect(),
            instances: tree.instances.iter().map(|i| (i.name.safe.as_str(), i)).collect(),
            mounted,
            bases: bases(&images, &builders),
            images,
            builders,
            heads: records.builds.iter().map(|b| ((b.series.as_str(), b.runtime.as_str()), b)).collect(),
            builds: records.builds.iter().map(|b| (b.build_id.as_str(), b)).collect(),
        }
    }

    pub fn builder(&self, class: Class, name: &str) -> Option<&'a Builder> {
        self.builders.get(&(class, name)).copied()
    }

    pub fn default_builder(&self, class: Class) -> Option<&'a Builder> {
        self.tree.builders_of(class).find(|b| b.is_default)
    }

    /// A reference in a nested entry: a name or alias, or the default entry when unset.
    fn referred(&self, class: Class, written: Option<&str>) -> Option<&'a Builder> {
        let Some(written) = written.filter(|w| !is_reserved(w)) else { return self.default_builder(class) };
        let name = safe_name(written);
        self.builder(class, &name)
            .or_else(|| self.tree.builders_of(class).find(|b| b.aliases.iter().any(|a| safe_name(a) == name)))
    }

    pub fn runtime_of(&self, builder: &Builder) -> Option<&'a Builder> {
        self.builder(Class::Runtime, &builder.runtime.as_ref()?.value)
    }

    pub fn runtime_kind(&self, runtime: &str) -> Option<(&'a Builder, &'static dyn RuntimeKind)> {
        let builder = self.builder(Class::Runtime, runtime)?;
        Some((builder, registry::runtime(builder)?))
    }

    pub fn storage_kind(&self, storage: &Storage) -> Option<(&'a Builder, &'static dyn StorageKind)> {
        let builder = self.builder(Class::StorageBuilder, &storage.builder.value)?;
        Some((builder, registry::storage(builder)?))
    }

    pub fn group_kind(&self, group: &Group) -> Option<&'static dyn GroupKind> {
        registry::group(self.builder(Class::GroupBuilder, &group.builder.value)?)
    }

    pub fn os(&self, name: &str) -> Option<&'a Builder> {
        self.builder(Class::OsBuilder, name)
    }

    /// The runtimes an OS builder's base image is baked on, by its entries whose image builder is known.
    pub fn base_runtimes(&self, os: &Builder) -> Vec<&'a Builder> {
        let entries = os.fields.objects("runtimes");
        let builders =
            entries.iter().filter_map(|entry| self.referred(Class::ImageBuilder, entry.text("image_builder")));
        builders.filter_map(|image_builder| self.runtime_of(image_builder)).collect()
    }

    /// The runtimes an image or base image is baked on; none when no such thing is declared.
    pub fn baked_on(&self, series: &str) -> Option<BTreeSet<&'a str>> {
        if let Some(image) = self.images.get(series) {
            return Some(image.runtimes.iter().map(|r| r.runtime.as_str()).collect());
        }
        Some(self.base_runtimes(self.os(series)?).into_iter().map(|runtime| runtime.name.safe.as_str()).collect())
    }

    /// The OS builder a chain of sources ends at; none when it does not end.
    pub fn base_of(&self, series: &str) -> Option<&'a Builder> {
        self.bases.get(series).copied().or_else(|| self.os(series))
    }

    pub fn head(&self, series: &str, runtime: &str) -> Option<&'a Build> {
        self.heads.get(&(series, runtime)).copied()
    }

    pub fn build(&self, id: &str) -> Option<&'a Build> {
        self.builds.get(id).copied()
    }

    /// The instance's image, when it names one that is declared.
    pub fn image_of(&self, instance: &Instance) -> Option<&'a Image> {
        self.images.get(instance.image.as_ref()?.value.as_str()).copied()
    }

    /// The group that owns an instance, through its image.
    pub fn group_of(&self, instance: &Instance) -> Option<&'a Group> {
        self.groups.get(self.image_of(instance)?.group.as_ref()?.value.as_str()).copied()
    }

    /// Whether the next landing replaces a launched machine: an upgrade is pending, or it follows its image and the image has a newer build.
    pub fn is_replaced(&self, instance: &Instance) -> bool {
        let name = instance.name.safe.as_str();
        if self.records.pins.pending_replacements.contains_key(name) {
            return true;
        }
        let Some(image) = instance.image.as_ref().filter(|_| instance.image_policy == Policy::Follow) else {
            return false;
        };
        let stands_on =
            self.records.pins.instances.get(name).or_else(|| self.records.launches.get(name)?.build.as_ref());
        self.head(&image.value, &instance.runtime.value)
            .is_some_and(|head| stands_on.is_some_and(|build| *build != head.build_id))
    }
}

/// Where an item's key stands, else where the item does.
pub(super) fn place<'f>(fields: &'f Fields, key: &str, item: &'f Place) -> &'f Place {
    fields.values.get(key).map_or(item, |node| &node.at)
}

/// Every image whose chain of sources ends at an OS builder, each step walked once.
fn bases<'a>(
    images: &BTreeMap<&'a str, &'a Image>,
    builders: &BTreeMap<(Class, &'a str), &'a Builder>,
) -> BTreeMap<&'a str, &'a Builder> {
    let mut ends: BTreeMap<&str, Option<&Builder>> = BTreeMap::new();
    for name in images.keys() {
        let mut walked = Vec::new();
        let mut current = *name;
        let end = loop {
            if let Some(end) = ends.get(current) {
                break *end;
            }
            let Some(image) = images.get(current) else { break builders.get(&(Class::OsBuilder, current)).copied() };
            walked.push(current);
            // Who comes by here again before the end goes in a circle.
            ends.insert(current, None);
            current = &image.source.value;
        };
        ends.extend(walked.into_iter().map(|image| (image, end)));
    }
    ends.into_iter().filter_map(|(image, end)| Some((image, end?))).collect()
}
