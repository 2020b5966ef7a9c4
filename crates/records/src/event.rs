//! What an event changes in the record files. An event that they already hold changes nothing.

use crate::documents::{Documents, Misfit};
use csis_values::event::{Event, Operated, What};
use csis_values::tree::StorageState;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const PINS: &str = "pins.yaml";

impl Documents<'_> {
    pub fn apply(&mut self, event: &Event) -> Result<(), Misfit> {
        match &event.what {
            What::Operated(operated) => self.operate(event, operated),
            What::StorageMoved { storage, to, facts, undeclared } => {
                self.move_storage(event, storage, *to, facts, *undeclared)
            }
        }
    }

    fn operate(&mut self, event: &Event, operated: &Operated) -> Result<(), Misfit> {
        let run = &event.run;
        match operated {
            Operated::InstanceUpgraded { instance, to } => {
                let entry = json!({"kind": "instance", "name": instance, "op": "upgrade", "run": run, "to": to});
                if self.pin("instances", instance, entry)? {
                    let mut pins = self.open(PINS)?;
                    pins.part("pending_replacements")?.map.insert(instance.clone(), to.clone().into());
                }
                Ok(())
            }
            Operated::ImageUpgraded { image, runtime, to } => {
                let edge = format!("{image}@{runtime}");
                let entry =
                    json!({"kind": "image", "name": edge, "op": "upgrade", "run": run, "runtime": runtime, "to": to});
                self.pin("images", &edge, entry).map(drop)
            }
            Operated::InstanceForgotten { instance } => self.forget(event, instance),
        }
    }

    /// Moves a pin and writes it down; false when its run had already done so.
    fn pin(&mut self, edges: &str, edge: &str, mut entry: Value) -> Result<bool, Misfit> {
        let mut pins = self.open(PINS)?;
        let same =
            |known: &Value| ["kind", "name", "op", "run", "to"].iter().all(|key| known.get(key) == entry.get(key));
        if pins.list("upgrades")?.iter().any(same) {
            return Ok(false);
        }
        let was = pins.part(edges)?.map.insert(edge.to_owned(), entry["to"].clone());
        entry["from"] = was.unwrap_or_default();
        pins.list("upgrades")?.push(entry);
        Ok(true)
    }

    /// A storage that stands again after it was destroyed is another one, of the next generation.
    fn move_storage(
        &mut self,
        event: &Event,
        storage: &str,
        to: StorageState,
        facts: &BTreeMap<String, String>,
        undeclared: bool,
    ) -> Result<(), Misfit> {
        let mut states = self.open("storage-state.yaml")?;
        let mut storages = states.part("storages")?;
        let mut state = storages.part(storage)?;
        let from = state.map.get("state").cloned().unwrap_or_default();
        if from == to.name() {
            return Ok(());
        }
        let last = state.map.get("generation").and_then(Value::as_u64).unwrap_or(0);
        let again = from == StorageState::Destroyed.name();
        let generation = if last == 0 || (again && to == StorageState::Active) { last + 1 } else { last };
        let mut entry = json!({"from": from, "generation": generation, "run": event.run, "to": to.name()});
        if undeclared {
            entry["action"] = "undeclared".into();
        } else if again {
            entry["action"] = "regenerate".into();
        }
        for (fact, value) in facts {
            state.part("facts")?.map.insert(fact.clone(), value.clone().into());
        }
        state.map.insert("generation".into(), generation.into());
        state.map.insert("state".into(), to.name().into());
        state.list("history")?.push(entry);
        Ok(())
    }

    fn forget(&mut self, event: &Event, instance: &str) -> Result<(), Misfit> {
        if let Some(launches) = self.open("launch-params.yaml")?.existing("instances")? {
            launches.map.remove(instance);
        }
        let mut pins = self.open(PINS)?;
        if let Some(pending) = pins.existing("pending_replacements")? {
            pending.map.remove(instance);
        }
        let pinned = pins.existing("instances")?.and_then(|pinned| pinned.map.remove(instance));
        if let Some(build) = pinned {
            let entry = json!({"from": build, "kind": "instance", "name": instance, "op": "forget", "run": event.run, "to": null});
            pins.list("upgrades")?.push(entry);
        }
        self.close(event, instance, "forgotten")
    }

    /// Closes the generation of a machine that stands no more; its number stays taken.
    fn close(&mut self, event: &Event, instance: &str, why: &str) -> Result<(), Misfit> {
        let mut states = self.open("instance-state.yaml")?;
        let Some(mut states) = states.existing("instances")? else { return Ok(()) };
        let Some(mut state) = states.existing(instance)? else { return Ok(()) };
        let Some(Value::Object(mut closed)) = state.map.get("current").cloned() else { return Ok(()) };
        closed.insert("closed_at".into(), event.at.clone().into());
        closed.insert("closed_run".into(), event.run.clone().into());
        closed.insert("why".into(), why.into());
        state.list("history")?.push(closed.into());
        state.map.insert("current".into(), Value::Null);
        Ok(())
    }
}
