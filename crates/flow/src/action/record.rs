//! The record of a review: what a landing will compare its own plans with.

use crate::action::Begun;
use crate::action::publish;
use crate::action::review::{Judged, Subject};
use crate::git::Repository;
use csis_report::digest::change_set;
use serde_json::{Value, json};

/// Random, one for each record: hashes of two records do not compare, and none was computed before. None on a machine without randomness, which keeps no record.
pub fn salt() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}")))
}

/// Change sets, verdicts and what they were made from; keyed by the tree of configuration inputs.
pub fn of(begun: &Begun<'_>, subject: &Subject, repository: &Repository, judged: &Judged, salt: &str) -> Value {
    let Judged { report, inputs } = judged;
    let roots: Vec<Value> = report
        .roots
        .iter()
        .map(|root| {
            json!({
                "name": root.name,
                "status": root.status,
                "concerned": root.concerned,
                "applies": root.applies.applies,
                "digest": root.digest,
                "refused_by": root.findings.iter().filter(|f| f.weight == csis_values::verdict::Weight::Refuse)
                    .map(|f| f.rule.as_str()).collect::<Vec<_>>(),
                "obligations": root.obligations,
                "set": change_set(root, salt),
            })
        })
        .collect();
    let bakes: Vec<Value> = report
        .bakes
        .iter()
        .filter(|bake| bake.due)
        .map(|bake| json!({ "series": bake.series, "runtime": bake.runtime, "fingerprint": bake.fingerprint }))
        .collect();
    json!({
        "schema": 1,
        "inputs": inputs,
        "root": report.tree.root,
        "only_runtime": begun.inputs.only_runtime,
        "tree": report.tree.id,
        "pull": subject.number,
        "head": subject.head,
        "judged": repository.head(),
        "base": report.tree.base,
        "records": report.tree.base,
        "run": begun.context.run,
        "attempt": begun.context.attempt,
        "as_of": begun.invocation.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "salt": salt,
        "verdict": publish::verdict(report.verdict),
        "digest": report.digest,
        "roots": roots,
        "bakes": bakes,
        "provenance": { "csis": report.csis },
    })
}
