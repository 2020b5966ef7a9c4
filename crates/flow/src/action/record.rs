//! The record of a review: what a landing will compare its own plans with.

use crate::action::Begun;
use crate::action::{checkout, publish, review};
use crate::git::Repository;
use csis_report::digest::change_set;
use csis_values::report::Report;
use serde_json::{Value, json};

/// Random, one for each record: hashes of two records do not compare, and none was computed before.
pub fn salt() -> String {
    let mut bytes = [0_u8; 16];
    // A machine without randomness gets no salt that could be guessed: hashes then stand for nothing, and a landing finds no coverage.
    if getrandom::fill(&mut bytes).is_err() {
        return "unsalted".into();
    }
    bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

/// Change sets, verdicts and what they were made from; keyed by the tree of configuration inputs.
pub fn of(begun: &Begun<'_>, subject: &review::Subject, repository: &Repository, report: &Report, salt: &str) -> Value {
    let commit = repository.head().unwrap_or_default();
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
        "inputs": checkout::inputs(repository, &commit, "generated").unwrap_or_default(),
        "root": report.tree.root,
        "tree": report.tree.id,
        "pull": subject.number,
        "head": subject.head,
        "judged": commit,
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
