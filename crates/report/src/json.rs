//! The report for programs: `generated/plan.json`.

use crate::canonical;
use csis_values::Diagnostic;
use csis_values::report::{Report, RootReport};
use csis_values::verdict::{Finding, Weight};
use serde_json::{Value, json};

/// JSON Schema (2020-12) of what [`json()`] writes.
pub const PLAN_SCHEMA: &str = include_str!("../../../docs/plan.schema.json");

/// Indented JSON with sorted keys, ended by a newline: the same report gives the same bytes.
pub fn json(report: &Report) -> String {
    canonical::pretty(&value(report))
}

/// The published shape. Values without a form of their own there are as their types say.
pub fn value(report: &Report) -> Value {
    json!({
        "schema": 1,
        "csis": report.csis,
        "tree": report.tree,
        "verdict": report.verdict,
        "digest": report.digest,
        "roots": report.roots.iter().map(root).collect::<Vec<_>>(),
        "bakes": report.bakes,
        "lineage": report.lineage,
        "drift": report.drift,
        "diagnostics": report.diagnostics.iter().map(diagnostic).collect::<Vec<_>>(),
        "sanctions": report.sanctions,
        "emission": report.emission,
        "not_judged": report.not_judged,
    })
}

fn root(root: &RootReport) -> Value {
    json!({
        "name": root.name,
        "lifecycle": root.lifecycle,
        "builder": root.builder,
        "runtime": root.runtime,
        "status": root.status,
        "why": root.why,
        "counts": root.counts,
        "digest": root.digest,
        "applies": root.applies,
        "concerned": root.concerned,
        "changes": root.changes,
        "findings": root.findings.iter().map(finding).collect::<Vec<_>>(),
        "obligations": root.obligations,
        "actions": root.actions,
        "outputs_changed": root.outputs_changed,
    })
}

fn finding(finding: &Finding) -> Value {
    let severity = match finding.weight {
        Weight::Refuse => "refuse",
        Weight::Confirm => "confirm",
        Weight::Warn => "warn",
        Weight::Note => "note",
    };
    json!({
        "rule": finding.rule,
        "severity": severity,
        "address": finding.address,
        "message": finding.message,
        "remedy": finding.remedy,
        "at": finding.at,
    })
}

fn diagnostic(found: &Diagnostic) -> Value {
    json!({
        "code": found.code,
        "severity": found.severity,
        "message": found.message,
        "help": found.help,
        "file": found.at.as_ref().map(|at| at.file.as_ref()),
        "line": found.at.as_ref().map(|at| at.line),
        "column": found.at.as_ref().map(|at| at.column),
        "also": found.also.iter().map(|(at, what)| json!({"file": at.file, "line": at.line, "column": at.column, "message": what})).collect::<Vec<_>>(),
    })
}
