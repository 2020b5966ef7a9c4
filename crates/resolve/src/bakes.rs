//! Which images bake, and why: one decision per series and runtime, the first reason counts.

use crate::fingerprint::{self, Capabilities, short};
use crate::site::Scope;
use crate::time::days_between;
use csis_values::fields::Fields;
use csis_values::intent::{Bake, LineageEdge};
use csis_values::records::{Build, Records};
use csis_values::request::Request;
use csis_values::tree::{Builder, Image, Policy, Tree};
use csis_values::{Class, Diagnostic, Diagnostics};
use std::collections::{BTreeMap, BTreeSet};

/// The version of the fingerprint's shape that builds are recorded with.
const SCHEME: u32 = 1;

/// The shortest prefix an imported build may carry instead of a whole fingerprint.
const IMPORTED_PREFIX: usize = 16;

pub(crate) struct Bakes {
    /// By series and runtime.
    decided: BTreeMap<(String, String), Bake>,
}

impl Bakes {
    pub(crate) fn decide(
        tree: &Tree,
        records: &Records,
        request: &Request,
        scope: &Scope,
        found: &mut Diagnostics,
    ) -> Bakes {
        let mut round = Round { tree, records, request, scope, decided: BTreeMap::new(), adopted: BTreeSet::new() };
        for os in tree.builders_of(Class::OsBuilder) {
            for (entry, runtime) in base_runtimes(tree, os) {
                round.base(os, &entry, runtime);
            }
        }
        for image in parents_first(tree) {
            round.image(image);
        }
        if !round.adopted.is_empty() {
            let list: Vec<_> = round.adopted.iter().map(String::as_str).collect();
            found.push(
                Diagnostic::note(
                    "adopted-build",
                    format!("builds recorded without csis's fingerprint count as current: {}", list.join(", ")),
                )
                .help("Run `csis lineage restamp` to track their inputs"),
            );
        }
        Bakes { decided: round.decided }
    }

    pub(crate) fn is_due(&self, series: &str, runtime: &str) -> bool {
        self.decided.get(&(series.to_owned(), runtime.to_owned())).is_some_and(|b| b.due)
    }

    pub(crate) fn into_list(self) -> Vec<Bake> {
        self.decided.into_values().collect()
    }

    /// The edges at which something bakes, on any runtime.
    pub(crate) fn edges(&self, tree: &Tree) -> Vec<LineageEdge> {
        let due: BTreeSet<&str> =
            self.decided.iter().filter(|(_, bake)| bake.due).map(|((series, _), _)| series.as_str()).collect();
        let mut edges: Vec<_> = tree
            .images
            .iter()
            .filter(|i| due.contains(i.name.safe.as_str()) || due.contains(i.source.value.as_str()))
            .map(|i| LineageEdge {
                parent: i.source.value.clone(),
                child: i.name.safe.clone(),
                due: due.contains(i.name.safe.as_str()),
            })
            .collect();
        edges.sort();
        edges.dedup();
        edges
    }
}

/// The runtime entries of an OS builder with the runtime each bakes on; of two entries for one runtime the later counts.
fn base_runtimes<'a>(tree: &'a Tree, os: &Builder) -> Vec<(Fields, &'a Builder)> {
    let mut by_runtime: BTreeMap<&str, (Fields, &Builder)> = BTreeMap::new();
    for entry in os.fields.objects("runtimes") {
        let named = entry.text("image_builder").map(csis_values::name::safe_name);
        let builder = tree.builders_of(Class::ImageBuilder).find(|b| match &named {
            Some(name) if !csis_values::name::is_reserved(name) => b.is_called(name),
            _ => b.is_default,
        });
        if let Some(runtime) = builder.and_then(|b| crate::site::runtime_of(tree, b)) {
            by_runtime.insert(&runtime.name.safe, (entry, runtime));
        }
    }
    by_runtime.into_values().collect()
}

/// Every image after the image it is made from; an image on a cycle stands where it is met.
fn parents_first(tree: &Tree) -> Vec<&Image> {
    let by_name: BTreeMap<&str, &Image> = tree.images.iter().map(|i| (i.name.safe.as_str(), i)).collect();
    let mut placed: BTreeSet<&str> = BTreeSet::new();
    let mut order = Vec::new();
    for image in &tree.images {
        let mut chain = Vec::new();
        let mut next = Some(image);
        while let Some(current) = next.filter(|i| placed.insert(&i.name.safe)) {
            chain.push(current);
            next = by_name.get(current.source.value.as_str()).copied();
        }
        order.extend(chain.into_iter().rev());
    }
    order
}

struct Round<'a> {
    tree: &'a Tree,
    records: &'a Records,
    request: &'a Request,
    scope: &'a Scope,
    decided: BTreeMap<(String, String), Bake>,
    /// `series@runtime` of heads without a fingerprint of ours.
    adopted: BTreeSet<String>,
}

impl Round<'_> {
    fn base(&mut self, os: &Builder, entry: &Fields, runtime: &Builder) {
        let series = &os.name.safe;
        let fingerprint = fingerprint::base(self.tree, os, entry, runtime);
        let refresh = os.fields.object("update").and_then(|u| u.int("refresh_days")).filter(|days| *days > 0);
        self.conclude(
            series,
            &runtime.name.safe,
            fingerprint,
            |head, request| {
                let days = refresh?;
                let age = days_between(head.run.as_deref()?, &request.now)?;
                (age >= days)
                    .then(|| format!("update policy: head {} is {age} days old (refresh_days: {days})", head.build_id))
            },
            None,
        );
    }

    fn image(&mut self, image: &Image) {
        let runtimes: BTreeSet<&str> = image.runtimes.iter().map(|r| r.runtime.as_str()).collect();
        for name in runtimes {
            let parent = Parent::of(self, image, name);
            let runtime = self.tree.builder(Class::Runtime, name);
            let fingerprint = fingerprint::image(self.tree, image, runtime, &parent.fingerprint, &parent.capabilities);
            self.conclude(&image.name.safe, name, fingerprint, |_, _| None, parent.moved);
        }
    }

    fn conclude(
        &mut self,
        series: &str,
        runtime: &str,
        fingerprint: String,
        outdated: impl Fn(&Build, &Request) -> Option<String>,
        parent_moved: Option<String>,
    ) {
        let head = self.records.head(series, runtime);
        let outside = !self.scope.holds(Some(runtime));
        let (due, why) = match head {
            _ if outside => (false, format!("outside the scope ({})", self.scope.only.as_deref().unwrap_or_default())),
            None => (true, format!("no build of {series} on {runtime} yet")),
            Some(head) => {
                if head.fingerprint_scheme.is_none() {
                    self.adopted.insert(format!("{series}@{runtime}"));
                }
                match parent_moved
                    .or_else(|| inputs_changed(head, &fingerprint))
                    .or_else(|| outdated(head, self.request))
                {
                    Some(why) => (true, why),
                    None => (false, format!("current (build {})", head.build_id)),
                }
            }
        };
        let bake = Bake {
            series: series.to_owned(),
            runtime: runtime.to_owned(),
            due,
            why,
            fingerprint,
            head: head.map(|h| h.build_id.clone()),
        };
        self.decided.insert((series.to_owned(), runtime.to_owned()), bake);
    }
}

/// What an image's parent lends it on a runtime.
struct Parent {
    fingerprint: String,
    capabilities: Capabilities,
    /// Why the parent alone makes the image bake.
    moved: Option<String>,
}

impl Parent {
    fn of(round: &Round<'_>, image: &Image, runtime: &str) -> Parent {
        let records = round.records;
        let series = image.source.value.as_str();
        let own = round.decided.get(&(series.to_owned(), runtime.to_owned()));
        let own_fingerprint = || own.map_or_else(|| format!("unresolved:{series}"), |b| b.fingerprint.clone());
        let bakes = own.is_some_and(|b| b.due);
        let head = records.head(series, runtime);
        let pin = pinned_parent(records, &image.name.safe, runtime);
        let recorded =
            |build: &Build| build.input_fingerprint.clone().unwrap_or_else(|| format!("build:{}", build.build_id));
        let declared = || {
            let base = round.tree.base_of(&image.name.safe);
            base.map(|os| Capabilities::declared(round.tree, os, runtime)).unwrap_or_default()
        };
        match image.parent_policy {
            Policy::Pinned => {
                let bound = match pin {
                    Some(id) => records.build(id),
                    None if bakes => None,
                    None => head,
                };
                let fingerprint = match (bound, pin) {
                    (Some(build), _) => recorded(build),
                    (None, Some(id)) => format!("build:{id}"),
                    (None, None) => own_fingerprint(),
                };
                let capabilities = bound.and_then(Capabilities::stamped).unwrap_or_else(declared);
                Parent { fingerprint, capabilities, moved: None }
            }
            Policy::Follow => {
                let made_from = pin.or_else(|| {
                    let parent = records.head(&image.name.safe, runtime)?.parent.as_deref()?;
                    records.build(parent).map(|b| b.build_id.as_str())
                });
                let moved = match (made_from, head) {
                    (Some(old), Some(new)) if old != new.build_id => {
                        Some(format!("parent moved {old} -> {} (parent_policy: follow)", new.build_id))
                    }
                    _ if bakes => {
                        let current = head.map_or(series, |h| h.build_id.as_str());
                        Some(format!("parent {current} re-bakes this run (parent_policy: follow)"))
                    }
                    _ => None,
                };
                Parent { fingerprint: own_fingerprint(), capabilities: declared(), moved }
            }
        }
    }
}

/// The parent build an image is pinned to; a key without a runtime is an older record's.
fn pinned_parent<'a>(records: &'a Records, image: &str, runtime: &str) -> Option<&'a str> {
    let pins = &records.pins.images;
    pins.get(&format!("{image}@{runtime}")).or_else(|| pins.get(image)).map(String::as_str)
}

fn inputs_changed(head: &Build, fingerprint: &str) -> Option<String> {
    // Another tool's hash, or a later shape of ours, says nothing about today's inputs.
    if head.fingerprint_scheme != Some(SCHEME) {
        return None;
    }
    let recorded = head.input_fingerprint.as_deref().unwrap_or("");
    let same = recorded == fingerprint
        || (head.imported && recorded.len() >= IMPORTED_PREFIX && fingerprint.starts_with(recorded));
    (!same).then(|| {
        format!(
            "inputs changed ({} -> {})",
            if recorded.is_empty() { "none" } else { short(recorded) },
            short(fingerprint)
        )
    })
}
