//! One root, planned as it is and applied by that very plan.

use crate::engine::EngineError;
use crate::graph::{RootOutcome, Roots};
use crate::trouble::Trouble;
use crate::work::alone;
use csis_values::plan::Plan;
use serde::Deserialize;
use std::io::Read;

/// What a state holds, as far as the records need it. Nothing else of a state is kept: it is full of secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub lineage: Option<String>,
    pub serial: Option<u64>,
    pub objects: Vec<Object>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// `module.instance_api_1.aws_instance.this[0]`
    pub address: String,
    pub kind: String,
    /// The cloud's id.
    pub id: Option<String>,
    /// Of a machine: the image that it was booted from.
    pub image: Option<String>,
}

/// What became of a root that was to be applied.
#[derive(Debug)]
pub enum LandedRoot {
    /// It could not be planned.
    Unplanned(RootOutcome),
    /// Planned, and not to be applied.
    Declined(Box<Plan>),
    Applied {
        plan: Box<Plan>,
        kept: Result<Kept, Trouble>,
    },
    /// The engine failed within the apply. What the state holds says how far it came.
    Broken {
        plan: Box<Plan>,
        why: Trouble,
        kept: Result<Kept, Trouble>,
    },
}

impl Roots {
    /// Plans a root against what its producers are, asks, and applies that plan when the answer is yes. `hear`: every line that the apply says.
    pub async fn land(
        &self,
        id: &str,
        decide: impl AsyncFnOnce(&Plan) -> bool,
        hear: impl FnMut(&str),
    ) -> Result<LandedRoot, EngineError> {
        let Some(root) = self.order.iter().find(|root| root.id == id) else {
            return Ok(LandedRoot::Unplanned(RootOutcome::Failed { why: "there is no such root".into() }));
        };
        let landed = alone(&self.shared, root, async |steps, plan| {
            if !decide(plan).await {
                return None;
            }
            let applied = steps.apply(hear).await;
            Some((applied, steps.kept().await))
        })
        .await;
        // Before its apply a root that was stopped is one that was not planned; after, what it did is told.
        match landed {
            Err(_) if self.shared.job.stop.is_stopped() => Err(EngineError::Interrupted),
            Err(outcome) => Ok(LandedRoot::Unplanned(outcome)),
            Ok((plan, None)) => Ok(LandedRoot::Declined(Box::new(plan))),
            Ok((plan, Some((Ok(()), kept)))) => Ok(LandedRoot::Applied { plan: Box::new(plan), kept }),
            Ok((plan, Some((Err(why), kept)))) => Ok(LandedRoot::Broken { plan: Box::new(plan), why, kept }),
        }
    }
}

/// Reads a state as the engine prints it. Nothing at all is a state that was never written.
pub(crate) fn read(reader: impl Read) -> Result<Kept, String> {
    let mut text = String::new();
    std::io::BufReader::new(reader).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.trim().is_empty() {
        return Ok(Kept::default());
    }
    let state: State =
        serde_json::from_str(&text).map_err(|error| format!("line {}, column {}", error.line(), error.column()))?;
    if state.version != 4 {
        return Err(format!("it has version {}", state.version));
    }
    let mut objects = Vec::new();
    for resource in state.resources.into_iter().filter(|resource| resource.mode == "managed") {
        let module = resource.module.map(|module| format!("{module}.")).unwrap_or_default();
        for instance in resource.instances.into_iter().filter(|instance| instance.deposed.is_none()) {
            let index = match instance.index_key {
                Some(key) => format!("[{key}]"),
                None => String::new(),
            };
            objects.push(Object {
                address: format!("{module}{}.{}{index}", resource.kind, resource.name),
                kind: resource.kind.clone(),
                id: instance.attributes.id,
                image: instance.attributes.ami,
            });
        }
    }
    Ok(Kept { lineage: state.lineage.filter(|lineage| !lineage.is_empty()), serial: state.serial, objects })
}

#[derive(Deserialize)]
struct State {
    version: u64,
    #[serde(default)]
    serial: Option<u64>,
    #[serde(default)]
    lineage: Option<String>,
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(default)]
    module: Option<String>,
    #[serde(default)]
    mode: String,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    instances: Vec<Instance>,
}

#[derive(Deserialize)]
struct Instance {
    #[serde(default)]
    index_key: Option<serde_json::Value>,
    #[serde(default)]
    deposed: Option<String>,
    #[serde(default)]
    attributes: Attributes,
}

#[derive(Default, Deserialize)]
struct Attributes {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    ami: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_tells_its_objects_by_address_and_id_and_nothing_else() {
        let text = r#"{"version": 4, "serial": 7, "lineage": "l-1", "outputs": {"x": {"value": "secret"}}, "resources": [
            {"module": "module.instance_a", "mode": "managed", "type": "aws_instance", "name": "this",
             "instances": [{"attributes": {"id": "i-1", "ami": "ami-1", "password": "hush"}},
                           {"deposed": "abc", "attributes": {"id": "i-0"}}]},
            {"mode": "managed", "type": "aws_volume_attachment", "name": "this",
             "instances": [{"index_key": "ledger", "attributes": {"id": "vai-1"}}, {"index_key": 0, "attributes": {}}]},
            {"mode": "data", "type": "aws_ami", "name": "own", "instances": [{"attributes": {"id": "ami-9"}}]}]}"#;
        let kept = read(text.as_bytes()).unwrap();
        assert_eq!((kept.lineage.as_deref(), kept.serial), (Some("l-1"), Some(7)));
        let told: Vec<(&str, Option<&str>, Option<&str>)> =
            kept.objects.iter().map(|o| (o.address.as_str(), o.id.as_deref(), o.image.as_deref())).collect();
        assert_eq!(
            told,
            [
                ("module.instance_a.aws_instance.this", Some("i-1"), Some("ami-1")),
                ("aws_volume_attachment.this[\"ledger\"]", Some("vai-1"), None),
                ("aws_volume_attachment.this[0]", None, None),
            ]
        );
        assert!(!format!("{kept:?}").contains("hush") && !format!("{kept:?}").contains("secret"));
    }

    #[test]
    fn no_state_is_empty_and_a_strange_one_is_an_error_without_its_text() {
        assert_eq!(read(&b"\n"[..]), Ok(Kept::default()));
        for text in ["{", r#"{"version": 5}"#, r#"{"version": 4, "resources": "hush"}"#, "hush"] {
            let said = read(text.as_bytes()).unwrap_err();
            assert!(!said.contains("hush"), "{said}");
        }
    }
}
