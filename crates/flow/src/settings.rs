//! What a tree says to the gate under `config: gate:`. Read from the tree that judges: the base of a change.

use csis_values::node::Value;
use csis_values::tree::Tree;

pub struct GateSettings {
    pub confirm_data_loss: bool,
    pub max_data_losses: u64,
    pub extra_types: Vec<String>,
}

pub fn of(tree: &Tree) -> GateSettings {
    let gate = tree.config.all.get("gate");
    let get = |key: &str| gate.and_then(|g| g.get(key));
    let confirm = match get("confirm_data_loss").map(|n| &n.value) {
        Some(Value::Bool(b)) => *b,
        // Anything else keeps the cautious default.
        _ => true,
    };
    let max = match get("max_data_losses").map(|n| &n.value) {
        Some(Value::Int(n, _)) => u64::try_from(*n).unwrap_or(3),
        _ => 3,
    };
    let types = get("extra_types").and_then(|n| n.list()).unwrap_or_default();
    GateSettings {
        confirm_data_loss: confirm,
        max_data_losses: max,
        extra_types: types.iter().filter_map(|n| n.text().map(str::to_owned)).collect(),
    }
}
