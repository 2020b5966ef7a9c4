//! What becomes true, as changes of the records. An event that the records already hold changes nothing.

use crate::documents::{Documents, Misfit};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Something that a run made true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The run's id.
    pub run: String,
    /// When, as ISO date-time in UTC.
    pub at: String,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A machine is to stand on another build; until it does, its replacement is pending.
    InstanceUpgraded { instance: String, to: String },
    /// An image is to be baked from another build of its parent.
    ImageUpgraded { image: String, runtime: String, to: String },
    /// A machine that is gone and declared no more.
    InstanceForgotten { instance: String },
}

impl Event {
    pub fn apply(&self, documents: &mut Documents<'_>) -> Result<(), Misfit> {
        match &self.what {
            What::InstanceUpgraded { instance, to } => {
                let entry = json!({"kind": "instance", "name": instance, "op": "upgrade", "run": self.run, "to": to});
                if pin(documents, "instances", instance, entry)? {
                    let mut pins = documents.open(PINS)?;
                    pins.part("pending_replacements")?.map.insert(instance.clone(), to.clone().into());
                }
                Ok(())
            }
            What::ImageUpgraded { image, runtime, to } => {
                let edge = format!("{image}@{runtime}");
                let entry = json!({"kind": "image", "name": edge, "op": "upgrade", "run": self.run, "runtime": runtime, "to": to});
                pin(documents, "images", &edge, entry)?;
                Ok(())
            }
            What::InstanceForgotten { instance } => self.forget(documents, instance),
        }
    }

    fn forget(&self, documents: &mut Documents<'_>, instance: &str) -> Result<(), Misfit> {
        let mut launches = documents.open("launch-params.yaml")?;
        if let Some(launches) = launches.existing("instances")? {
            launches.map.remove(instance);
        }
        let mut pins = documents.open(PINS)?;
        if let Some(pending) = pins.existing("pending_replacements")? {
            pending.map.remove(instance);
        }
        let pinned = pins.existing("instances")?.and_then(|pinned| pinned.map.remove(instance));
        if let Some(build) = pinned {
            pins.list("upgrades")?.push(
                json!({"from": build, "kind": "instance", "name": instance, "op": "forget", "run": self.run, "to": null}),
            );
        }
        self.close(documents, instance, "forgotten")
    }

    /// Closes the generation of a machine that stands no more; its number stays taken.
    fn close(&self, documents: &mut Documents<'_>, instance: &str, why: &str) -> Result<(), Misfit> {
        let mut states = documents.open("instance-state.yaml")?;
        let Some(mut states) = states.existing("instances")? else { return Ok(()) };
        let Some(mut state) = states.existing(instance)? else { return Ok(()) };
        let Some(Value::Object(current)) = state.map.get("current").cloned() else { return Ok(()) };
        let mut closed: Map<String, Value> = current;
        closed.insert("closed_at".into(), self.at.clone().into());
        closed.insert("closed_run".into(), self.run.clone().into());
        closed.insert("why".into(), why.into());
        state.list("history")?.push(closed.into());
        state.map.insert("current".into(), Value::Null);
        Ok(())
    }
}

/// Moves a pin and writes it down; false when its run had already done so.
fn pin(documents: &mut Documents<'_>, edges: &str, edge: &str, mut entry: Value) -> Result<bool, Misfit> {
    let mut pins = documents.open(PINS)?;
    let same = |known: &&Value| ["kind", "name", "op", "run", "to"].iter().all(|key| known.get(key) == entry.get(key));
    if pins.list("upgrades")?.iter().any(|known| same(&known)) {
        return Ok(false);
    }
    let was = pins.part(edges)?.map.insert(edge.to_owned(), entry["to"].clone());
    entry["from"] = was.unwrap_or_default();
    pins.list("upgrades")?.push(entry);
    Ok(true)
}

const PINS: &str = "pins.yaml";
