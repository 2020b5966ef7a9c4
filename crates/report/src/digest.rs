//! The change set of a root, and the digest that an approval is bound to.
//!
//! In a change set stands what an apply would do, and nothing that moves without it: no commit, run, time, serial or version, no old value, no attribute that
//! stays, no data read. So two plans that would do the same have the same digest, made on whatever day and from whatever commit.

use crate::canonical;
use crate::things::repeats_tags;
use csis_values::intent::Bake;
use csis_values::plan::{Action, AttributeChange, Change, Shown};
use csis_values::report::{Report, RootReport, RootStatus};
use csis_values::sanction::OwnAction;
use csis_values::sha256;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// What applying a root would do, as one value. `salt` keeps short values from being guessed by their hashes; the same salt gives the same change set.
pub fn change_set(root: &RootReport, salt: &str) -> Value {
    let parts = Parts::of(root);
    json!({
        "root": root.name,
        "changes": parts.changes.iter().map(|c| change(c, salt)).collect::<Vec<_>>(),
        "actions": parts.actions(),
        "outputs": parts.outputs,
    })
}

/// What of a root is in its change set, in order.
struct Parts<'a> {
    changes: Vec<&'a Change>,
    actions: Vec<&'a OwnAction>,
    outputs: Vec<&'a String>,
}

impl Parts<'_> {
    fn of(root: &RootReport) -> Parts<'_> {
        let mut changes: Vec<&Change> = root.changes.iter().filter(|c| acts(c)).collect();
        changes.sort_by(|a, b| (&a.address, &a.deposed).cmp(&(&b.address, &b.deposed)));
        let mut actions: Vec<&OwnAction> = root.actions.iter().collect();
        actions.sort();
        let mut outputs: Vec<&String> = root.outputs_changed.iter().collect();
        outputs.sort();
        Parts { changes, actions, outputs }
    }

    fn actions(&self) -> Value {
        self.actions.iter().map(|a| action(a)).collect()
    }
}

/// The digest of one root: SHA-256 of its change set's canonical JSON. Empty for a root that was not planned.
pub fn root_digest(root: &RootReport, salt: &str) -> String {
    if !matches!(root.status, RootStatus::Planned | RootStatus::Unchanged) {
        return String::new();
    }
    let parts = Parts::of(root);
    let mut hash = Sha256::new();
    // The text of `change_set`, in pieces: that of a large plan is never held as a whole.
    hash.update(format!("{{\"actions\":{},\"changes\":[", canonical::compact(&parts.actions())));
    for (index, change) in parts.changes.iter().enumerate() {
        if index > 0 {
            hash.update(",");
        }
        hash.update(canonical::compact(&self::change(change, salt)));
    }
    let (outputs, name) = (canonical::compact(&json!(parts.outputs)), canonical::compact(&json!(root.name)));
    hash.update(format!("],\"outputs\":{outputs},\"root\":{name}}}"));
    hash.finalize().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

/// The digest of a whole report: over the roots that the change concerns, in root order, then the bakes that are due, by fingerprint. Roots that would do
/// nothing count for nothing, so that a tree's other roots do not move it. Empty when no root was planned and nothing bakes, and when a root that the change
/// concerns was not planned: a digest of a part would look like an approval of the whole.
pub fn digest(roots: &[RootReport], bakes: &[Bake], salt: &str) -> String {
    let digests: Vec<String> = roots.iter().map(|root| root_digest(root, salt)).collect();
    over(roots, &digests, bakes)
}

fn over(roots: &[RootReport], digests: &[String], bakes: &[Bake]) -> String {
    if roots.iter().any(|root| root.concerned && matches!(root.status, RootStatus::Failed | RootStatus::NotJudged)) {
        return String::new();
    }
    let mut due: Vec<(&str, &str, &str)> = bakes
        .iter()
        .filter(|b| b.due)
        .map(|b| (b.series.as_str(), b.runtime.as_str(), b.fingerprint.as_str()))
        .collect();
    due.sort_unstable();
    if digests.iter().all(String::is_empty) && due.is_empty() {
        return String::new();
    }
    let roots: Vec<Value> = roots
        .iter()
        .zip(digests)
        .filter(|(root, _)| root.concerned && does_something(root))
        .map(|(root, digest)| json!([root.name, digest]))
        .collect();
    sha256(canonical::compact(&json!({"roots": roots, "bakes": due})))
}

/// Writes the digests of the roots and of the whole into a report.
pub fn stamp(report: &mut Report, salt: &str) {
    let digests: Vec<String> = report.roots.iter().map(|root| root_digest(root, salt)).collect();
    report.digest = over(&report.roots, &digests, &report.bakes);
    for (root, digest) in report.roots.iter_mut().zip(digests) {
        root.digest = digest;
    }
}

fn does_something(root: &RootReport) -> bool {
    root.changes.iter().any(acts) || !root.actions.is_empty()
}

fn acts(change: &Change) -> bool {
    let kept = change.action == Action::NoOp && change.previous_address.is_none() && change.importing.is_none();
    change.mode != "data" && change.action != Action::Read && !kept
}

fn change(change: &Change, salt: &str) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    put("address", json!(change.address));
    put("actions", json!(actions(&change.action)));
    put("provider", json!(change.provider));
    for (key, value) in [
        ("deposed", &change.deposed),
        ("previous_address", &change.previous_address),
        ("import", &change.importing),
        ("id", &change.id),
    ] {
        if let Some(value) = value {
            put(key, json!(value));
        }
    }
    if !change.replace_paths.is_empty() {
        let mut paths = change.replace_paths.clone();
        paths.sort();
        put("replace", json!(paths));
    }
    // What a destroy leaves is nothing; its old values are told by the object's id.
    if !matches!(change.action, Action::Delete | Action::Forget) {
        let attributes: Map<String, Value> = change
            .attributes
            .iter()
            .filter(|a| !repeats_tags(change, &a.path))
            .map(|a| (a.path.clone(), attribute(a, salt)))
            .collect();
        put("attributes", Value::Object(attributes));
        if change.attributes_left_out > 0 {
            // What was not kept is told by the reader as one digest over all of it.
            let covered = match change.facts.get("left_out_digest") {
                Some(Shown::Value(digest)) => json!({"sha256": sha256(format!("{salt}\n{digest}"))}),
                _ => Value::Null,
            };
            put("attributes_left_out", json!([change.attributes_left_out, covered]));
        }
    }
    Value::Object(out)
}

/// The action list as plans write it.
fn actions(action: &Action) -> Vec<&str> {
    match action {
        Action::NoOp => vec!["no-op"],
        Action::Create => vec!["create"],
        Action::Read => vec!["read"],
        Action::Update => vec!["update"],
        Action::Delete => vec!["delete"],
        Action::Replace => vec!["delete", "create"],
        Action::ReplaceCreateFirst => vec!["create", "delete"],
        Action::Forget => vec!["forget"],
        Action::ForgetThenCreate => vec!["forget", "create"],
        Action::Unknown(list) => list.split('+').collect(),
    }
}

/// The new value: a salted hash, or what stands for a value that is not told. Objects, so that no text can pass for one of the words.
fn attribute(attribute: &AttributeChange, salt: &str) -> Value {
    match &attribute.after {
        Shown::Absent => json!("absent"),
        Shown::Sensitive => json!("sensitive"),
        Shown::Unknown => json!("unknown"),
        Shown::Pending(token) => json!({"token": token}),
        Shown::Value(text) => {
            let exact = attribute.digest.clone().unwrap_or_else(|| sha256(text));
            json!({"sha256": sha256(format!("{salt}\n{exact}"))})
        }
    }
}

fn action(action: &OwnAction) -> Value {
    json!({"action": action.action, "object": action.object, "loses_data": action.loses_data})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::things::tests::change;
    use csis_values::intent::Applies;
    use csis_values::plan::Counts;

    fn root(changes: Vec<Change>) -> RootReport {
        RootReport {
            name: "storage/volumes".into(),
            lifecycle: "storage".into(),
            builder: "volumes".into(),
            runtime: None,
            status: RootStatus::Planned,
            why: None,
            counts: Counts::of(&changes),
            digest: String::new(),
            applies: Applies { applies: true, flag: "apply_storage".into(), value: "true".into(), at: None },
            concerned: true,
            changes,
            findings: Vec::new(),
            obligations: Vec::new(),
            actions: Vec::new(),
            outputs_changed: Vec::new(),
            names: std::collections::BTreeMap::new(),
            ephemeral: Vec::new(),
        }
    }

    fn resized(to: &str, from: &str) -> Change {
        let mut volume = change("module.storage_a.aws_ebs_volume.this", "aws_ebs_volume", Action::Update);
        volume.attributes.push(AttributeChange {
            path: "size".into(),
            before: Shown::Value(from.into()),
            after: Shown::Value(to.into()),
            forces_replacement: false,
            digest: Some(sha256(to)),
        });
        volume
    }

    #[test]
    fn only_what_an_apply_would_do_moves_the_digest() {
        let base = root_digest(&root(vec![resized("60", "50")]), "s");
        assert_eq!(base, root_digest(&root(vec![resized("60", "40")]), "s"), "old values are no part of it");
        let mut read = change("data.aws_ami.x", "aws_ami", Action::Read);
        read.mode = "data".into();
        assert_eq!(base, root_digest(&root(vec![read, resized("60", "50")]), "s"), "reads are no part of it");
        let mut reasoned = resized("60", "50");
        reasoned.reason = Some("whatever".into());
        assert_eq!(base, root_digest(&root(vec![reasoned]), "s"), "reasons are no part of it");
        assert_ne!(base, root_digest(&root(vec![resized("70", "50")]), "s"));
        assert_ne!(base, root_digest(&root(vec![resized("60", "50")]), "t"), "the salt is part of it");
        let mut other = resized("60", "50");
        other.id = Some("vol-b".into());
        assert_ne!(base, root_digest(&root(vec![other]), "s"), "approval of one object never covers another");
    }

    #[test]
    fn no_value_is_readable_in_a_change_set() {
        let set = change_set(&root(vec![resized("hunter2", "50")]), "s").to_string();
        assert!(!set.contains("hunter2") && !set.contains(&sha256("hunter2")), "{set}");
    }

    #[test]
    fn tags_all_counts_once() {
        let mut tagged = resized("60", "50");
        for path in ["tags.data", "tags_all.data"] {
            let after = Shown::Value("x".into());
            tagged.attributes.push(AttributeChange {
                path: path.into(),
                before: Shown::Absent,
                after,
                forces_replacement: false,
                digest: None,
            });
        }
        let set = change_set(&root(vec![tagged]), "s").to_string();
        assert!(set.contains("tags.data") && !set.contains("tags_all"), "{set}");
    }

    #[test]
    fn roots_that_do_nothing_or_are_not_concerned_do_not_move_the_whole() {
        let one = root(vec![resized("60", "50")]);
        let mut quiet = root(Vec::new());
        quiet.name = "storage/shares".into();
        let mut elsewhere = root(vec![resized("9", "8")]);
        elsewhere.concerned = false;
        let alone = digest(std::slice::from_ref(&one), &[], "s");
        assert_eq!(alone, digest(&[quiet, one, elsewhere], &[], "s"));
        assert_eq!(digest(&[], &[], "s"), "");
    }

    /// A change beyond what the reader kept must not go unnoticed by an approval.
    #[test]
    fn attributes_that_were_left_out_count_by_their_digest() {
        let with = |digest: &str| {
            let mut change = resized("m7i.large", "m7i.xlarge");
            change.attributes_left_out = 3;
            change.facts.insert("left_out_digest".into(), Shown::Value(digest.into()));
            root_digest(&root(vec![change]), "salt")
        };
        assert_eq!(with("a"), with("a"));
        assert_ne!(with("a"), with("b"));
    }

    #[test]
    fn the_digest_is_that_of_the_change_set_as_one_text() {
        let mut root = root(vec![resized("m7i.large", "m7i.xlarge"), resized("a", "b")]);
        root.outputs_changed = vec!["storage_b".into(), "storage_a".into()];
        assert_eq!(root_digest(&root, "salt"), sha256(canonical::compact(&change_set(&root, "salt"))));
    }
}
