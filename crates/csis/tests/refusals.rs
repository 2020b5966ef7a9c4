//! `tests/cases/harbor/refusals.json`: edits of the example tree, and what csis must say of each. Only here the whole list of refusals is held as one.

mod support;

use std::process::Command;
use std::time::Duration;

#[test]
fn every_case_holds() {
    let project = support::project();
    let mut command = Command::new(support::python());
    command
        .arg(project.join("tests/tools/refusals.py"))
        .arg(support::CSIS)
        .arg(project.join("examples/harbor"))
        .arg(project.join("tests/cases/harbor/refusals.json"));
    let said = support::run(&mut command, Duration::from_mins(5));
    assert_eq!(said.code, Some(0), "{}", said.all());
    let held: usize = said.stdout.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
    assert!(held >= 50, "{}", said.stdout);
}
