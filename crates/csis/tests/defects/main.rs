//! What the original tool got wrong, one test for each kind of fault, each named after what must hold. Only here every fault that was seen is held against
//! the whole product.
//!
//! Later work, and not held here: scripts that archive and restore volumes and whose volumes they touch; whether and from which parent an image bakes, and
//! what is recorded of it; the order of imported builds; run scripts of releases and retention; what is written into an image (tests, ensured files, Debian
//! upgrades, the on-image bundle, roles beside a playbook); times in run ids and refresh intervals; `encrypt`, `describe`, and the check before publishing.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

mod access;
mod emission;
mod machines;
mod messages;
mod safety;
#[path = "../support/mod.rs"]
mod support;
mod validation;

use serde_json::{Value, json};
use std::fs;
use std::time::Duration;
use support::{Harbor, Said, run};

const RUN_MACHINES: &str = "instance-image/run-instance-image.sh";

fn refuses(edits: &[(&str, &str, &str)], words: &[&str]) -> Said {
    let harbor = Harbor::new();
    for (file, find, replace) in edits {
        harbor.edit(file, find, replace);
    }
    harbor.csis(&["validate"]).ends(1).tells(words)
}

/// A plan document with these changes, judged in a folder of its own.
fn judged(plan: &Value, arguments: &[&str], zone: &str) -> Said {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p.json"), plan.to_string()).unwrap();
    let mut command = support::csis(&["gate-plan", "p.json"]);
    command.args(arguments).current_dir(folder.path()).env("TZ", zone);
    run(&mut command, Duration::from_secs(20))
}

fn plan(actions: &[&str]) -> Value {
    let change = json!({ "actions": actions, "before": {}, "after": {}, "after_unknown": {}, "before_sensitive": {}, "after_sensitive": {} });
    json!({ "format_version": "1.2", "terraform_version": "1.11.4", "complete": true, "errored": false, "configuration": { "root_module": {} }, "resource_changes": [{
        "address": "module.storage_a.aws_ebs_volume.this", "mode": "managed", "type": "aws_ebs_volume", "name": "this",
        "provider_name": "registry.terraform.io/hashicorp/aws", "change": change,
    }]})
}
