//! Approval is coverage: every change that a landing would make must be one that was approved. What was approved and is no longer planned is done already.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A change that no approval covers, and what about it is other than approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncovered {
    pub address: String,
    /// `it was not approved`, `size is another value than approved`.
    pub why: String,
}

/// What of a root's change set is not covered by the approved ones; both made with the same salt. Of two approvals of one address the later counts.
///
/// A value that the review could not know (a token for what another root makes, or one that is computed) is covered by whatever it became: what it is made
/// from is the same configuration.
pub fn uncovered(approved: &[&Value], now: &Value) -> Vec<Uncovered> {
    let mut known: BTreeMap<(String, String), &Map<String, Value>> = BTreeMap::new();
    for set in approved.iter().filter(|set| set.get("root") == now.get("root")) {
        known.extend(changes(set).map(|change| (key(change), change)));
    }
    let mut found: Vec<Uncovered> = Vec::new();
    for change in changes(now) {
        let why = match known.get(&key(change)) {
            None => Some("it was not approved".to_owned()),
            Some(approved) => differs(approved, change),
        };
        let address = text(change, "address");
        found.extend(why.map(|why| Uncovered { address, why }));
    }
    let actions = |set: &Value| set.get("actions").and_then(Value::as_array).cloned().unwrap_or_default();
    let allowed: Vec<Value> =
        approved.iter().filter(|set| set.get("root") == now.get("root")).flat_map(|set| actions(set)).collect();
    for action in actions(now).into_iter().filter(|action| !allowed.contains(action)) {
        let word = |key: &str| action.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        found.push(Uncovered {
            address: word("object"),
            why: format!("csis's own `{}` was not approved", word("action")),
        });
    }
    found
}

fn changes(set: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    set.get("changes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

fn text(change: &Map<String, Value>, key: &str) -> String {
    change.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn key(change: &Map<String, Value>) -> (String, String) {
    (text(change, "address"), text(change, "deposed"))
}

/// What about a change is other than approved.
fn differs(approved: &Map<String, Value>, now: &Map<String, Value>) -> Option<String> {
    for part in ["actions", "provider", "replace", "id", "import", "previous_address", "attributes_left_out"] {
        let (was, is) = (approved.get(part), now.get(part));
        if was != is {
            return Some(match part {
                "actions" => format!("it is {} now, and {} was approved", words(is), words(was)),
                "attributes_left_out" => "its further attributes are others than approved".to_owned(),
                part => format!("its {} is another than approved", part.replace('_', " ")),
            });
        }
    }
    let of =
        |change: &Map<String, Value>| change.get("attributes").and_then(Value::as_object).cloned().unwrap_or_default();
    let (was, is) = (of(approved), of(now));
    is.iter().find_map(|(path, value)| match was.get(path) {
        Some(approved) if covers(approved, value) => None,
        Some(_) => Some(format!("`{path}` is another value than approved")),
        // What stands within a part that was unknown as a whole.
        None if within_unknown(&was, path) => None,
        None => Some(format!("`{path}` changes as well, and that was not approved")),
    })
}

/// Whether a value may stand where another was approved.
fn covers(approved: &Value, now: &Value) -> bool {
    let is_open = approved.get("token").is_some() || approved == "unknown";
    approved == now || (is_open && now.get("sha256").is_some()) || (approved.get("token").is_some() && now == "unknown")
}

fn within_unknown(approved: &Map<String, Value>, path: &str) -> bool {
    approved.iter().any(|(above, value)| {
        let is_open = value.get("token").is_some() || value == "unknown";
        is_open && path.strip_prefix(above.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']))
    })
}

fn words(actions: Option<&Value>) -> String {
    let list = actions.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let list: Vec<&str> = list.collect();
    if list.is_empty() { "nothing".into() } else { list.join(" and ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const VOLUME: &str = "module.storage_a.aws_ebs_volume.this";

    fn set(changes: &Value) -> Value {
        json!({"root": "storage/volumes", "changes": changes, "actions": [], "outputs": []})
    }

    fn update(attributes: &Value) -> Value {
        json!({"address": VOLUME, "actions": ["update"], "provider": "aws", "id": "vol-1", "attributes": attributes})
    }

    fn told(approved: &Value, now: &Value) -> Vec<String> {
        uncovered(&[approved], now).into_iter().map(|found| format!("{}: {}", found.address, found.why)).collect()
    }

    #[test]
    fn what_was_approved_is_covered_and_what_is_done_already_is_no_matter() {
        let one = update(&json!({"size": {"sha256": "a"}}));
        assert_eq!(told(&set(&json!([one])), &set(&json!([one]))), Vec::<String>::new());
        assert_eq!(told(&set(&json!([one])), &set(&json!([]))), Vec::<String>::new());
        let fewer = update(&json!({}));
        assert_eq!(told(&set(&json!([one])), &set(&json!([fewer]))), Vec::<String>::new(), "half of it is done");
    }

    #[test]
    fn what_nobody_approved_is_told_by_its_address() {
        let approved = set(&json!([update(&json!({"size": {"sha256": "a"}}))]));
        for (now, why) in [
            (json!({"address": "other", "actions": ["delete"]}), "other: it was not approved"),
            (update(&json!({"size": {"sha256": "b"}})), "`size` is another value than approved"),
            (update(&json!({"size": {"sha256": "a"}, "iops": {"sha256": "c"}})), "`iops` changes as well"),
            (update(&json!({"size": "unknown"})), "`size` is another value than approved"),
            (
                json!({"address": VOLUME, "actions": ["delete", "create"], "provider": "aws", "id": "vol-1"}),
                "it is delete and create now, and update was approved",
            ),
            (json!({"address": VOLUME, "actions": ["update"], "provider": "aws", "id": "vol-2"}), "its id is another"),
            (
                json!({"address": VOLUME, "actions": ["update"], "provider": "evil", "id": "vol-1"}),
                "its provider is another",
            ),
            (
                json!({"address": VOLUME, "deposed": "x", "actions": ["update"], "provider": "aws", "id": "vol-1"}),
                "it was not approved",
            ),
        ] {
            let told = told(&approved, &set(&json!([now])));
            assert!(told.len() == 1 && told[0].contains(why), "{told:?} for {why}");
        }
        let elsewhere = json!({"root": "storage/shares", "changes": approved["changes"], "actions": []});
        assert_eq!(told(&elsewhere, &approved).len(), 1, "an approval is of its root");
    }

    #[test]
    fn what_could_not_be_known_is_covered_by_what_it_became() {
        let approved = set(&json!([update(&json!({
            "volume_id": {"token": "storage/volumes:x"}, "arn": "unknown", "secret": "sensitive", "block": "unknown"
        }))]));
        let now = |attributes: &Value| set(&json!([update(attributes)]));
        let known = json!({"volume_id": {"sha256": "a"}, "arn": {"sha256": "b"}, "secret": "sensitive", "block[0].x": {"sha256": "c"}});
        assert_eq!(told(&approved, &now(&known)), Vec::<String>::new());
        for other in [
            json!({"volume_id": "absent"}),
            json!({"arn": "absent"}),
            json!({"secret": {"sha256": "a"}}),
            json!({"blocks": {"sha256": "c"}}),
        ] {
            assert_eq!(told(&approved, &now(&other)).len(), 1, "{other}");
        }
    }

    #[test]
    fn the_later_approval_of_an_address_counts_and_own_actions_are_covered_too() {
        let (small, large) = (
            set(&json!([update(&json!({"size": {"sha256": "a"}}))])),
            set(&json!([update(&json!({"size": {"sha256": "b"}}))])),
        );
        assert_eq!(uncovered(&[&small, &large], &large), []);
        assert_eq!(uncovered(&[&large, &small], &large).len(), 1);
        let mut wipes = set(&json!([]));
        wipes["actions"] = json!([{"action": "wipe", "object": "s3://lake", "loses_data": true}]);
        assert_eq!(uncovered(&[&wipes], &wipes), []);
        assert!(uncovered(&[&small], &wipes)[0].why.contains("`wipe` was not approved"));
    }
}
