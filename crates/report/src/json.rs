//! The report for programs: `generated/plan.json`.

use crate::canonical;
use csis_values::Diagnostic;
use csis_values::report::{Report, RootReport};
use csis_values::sanction::{Allowed, Sanction};
use csis_values::verdict::{Finding, Weight};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::ser::PrettyFormatter;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io;

/// JSON Schema (2020-12) of what [`json()`] writes.
pub const PLAN_SCHEMA: &str = include_str!("../../../docs/plan.schema.json");

/// Indented JSON with sorted keys, ended by a newline: the same report gives the same bytes.
pub fn json(report: &Report) -> String {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = write(report, &mut bytes);
    String::from_utf8(bytes).unwrap_or_default()
}

/// The same, written piece by piece: a long report is never held as a whole a second time.
pub fn write(report: &Report, mut to: impl io::Write) -> io::Result<()> {
    let formatter = PrettyFormatter::new();
    whole(report).serialize(&mut serde_json::Serializer::with_formatter(&mut to, formatter))?;
    to.write_all(b"\n")
}

/// The published shape as a value.
pub fn value(report: &Report) -> Value {
    serde_json::to_value(whole(report)).unwrap_or_default()
}

/// An object whose members are made when they are written, in the order of their keys.
struct Members<'a, const N: usize>([(&'static str, Make<'a>); N]);

type Make<'a> = Box<dyn Fn() -> Part<'a> + 'a>;

enum Part<'a> {
    Value(Value),
    List(Box<dyn Iterator<Item = Value> + 'a>),
    Roots(&'a [RootReport]),
}

impl<const N: usize> Serialize for Members<'_, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(N))?;
        for (key, part) in &self.0 {
            match part() {
                Part::Value(value) => map.serialize_entry(key, &canonical::sorted(&value))?,
                Part::List(items) => map.serialize_entry(key, &Items(RefCell::new(items)))?,
                Part::Roots(roots) => map.serialize_entry(key, &Roots(roots))?,
            }
        }
        map.end()
    }
}

/// A list whose items are made one at a time.
struct Items<'a>(RefCell<Box<dyn Iterator<Item = Value> + 'a>>);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for value in &mut *self.0.borrow_mut() {
            list.serialize_element(&canonical::sorted(&value))?;
        }
        list.end()
    }
}

struct Roots<'a>(&'a [RootReport]);

impl Serialize for Roots<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(root))
    }
}

/// A member that is small.
fn small<'a>(value: impl Fn() -> Value + 'a) -> Make<'a> {
    Box::new(move || Part::Value(value()))
}

/// A member that may be long.
fn long<T>(items: &[T], one: fn(&T) -> Value) -> Make<'_> {
    Box::new(move || Part::List(Box::new(items.iter().map(one))))
}

fn plain<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn whole(report: &Report) -> Members<'_, 13> {
    Members([
        ("bakes", long(&report.bakes, plain)),
        ("csis", small(|| json!(report.csis))),
        ("diagnostics", long(&report.diagnostics, diagnostic)),
        ("digest", small(|| json!(report.digest))),
        ("drift", long(&report.drift, plain)),
        ("emission", long(&report.emission, plain)),
        ("lineage", long(&report.lineage, plain)),
        ("not_judged", long(&report.not_judged, plain)),
        ("roots", Box::new(|| Part::Roots(&report.roots))),
        ("sanctions", Box::new(|| Part::List(Box::new(report.sanctions.iter().flat_map(sanctions))))),
        ("schema", small(|| json!(1))),
        ("tree", small(|| json!(report.tree))),
        ("verdict", small(|| json!(report.verdict))),
    ])
}

fn root(root: &RootReport) -> Members<'_, 16> {
    Members([
        ("actions", long(&root.actions, plain)),
        ("applies", small(|| json!(root.applies))),
        ("builder", small(|| json!(root.builder))),
        ("changes", long(&root.changes, plain)),
        ("concerned", small(|| json!(root.concerned))),
        ("counts", small(|| json!(root.counts))),
        ("digest", small(|| json!(root.digest))),
        ("ephemeral", small(|| json!(root.ephemeral))),
        ("findings", long(&root.findings, finding)),
        ("lifecycle", small(|| json!(root.lifecycle))),
        ("name", small(|| json!(root.name))),
        ("obligations", long(&root.obligations, plain)),
        ("outputs_changed", long(&root.outputs_changed, plain)),
        ("runtime", small(|| json!(root.runtime))),
        ("status", small(|| json!(root.status))),
        ("why", small(|| json!(root.why))),
    ])
}

/// A sanction by the actions that the published shape knows: what allows two of them is two.
fn sanctions(sanction: &Sanction) -> impl Iterator<Item = Value> {
    let actions: &[Allowed] = match sanction.action {
        Allowed::DestroyOrReplace => &[Allowed::Destroy, Allowed::Replace],
        Allowed::Destroy => &[Allowed::Destroy],
        Allowed::Replace => &[Allowed::Replace],
        Allowed::Forget => &[Allowed::Forget],
    };
    actions.iter().map(|action| plain(&Sanction { action: *action, ..sanction.clone() }))
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
