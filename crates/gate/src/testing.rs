//! Plans, roots and sanctions for the tests of the rules.

use crate::{Question, Settings, judge};
use csis_values::Name;
use csis_values::intent::{Applies, Content, EngineRef, InstanceIntent, Root, Standing, StorageIntent};
use csis_values::plan::{Action, AttributeChange, Change, Freshness, Plan, Shown};
use csis_values::request::Lifecycle;
use csis_values::sanction::{Allowed, Because, Sanction};
use csis_values::verdict::{Verdict, Weight};

pub fn plan(changes: Vec<Change>) -> Plan {
    Plan {
        source: "p.json".into(),
        format_version: Some("1.2".into()),
        complete: Some(true),
        freshness: Freshness::Fresh,
        ours: true,
        configured: true,
        changes,
        ..Plan::default()
    }
}

/// The type and the name are read from the address.
pub fn change(address: &str, action: Action) -> Change {
    let mut tail = address.split('[').next().unwrap_or(address).rsplit('.');
    let name = tail.next().unwrap_or_default().to_owned();
    let kind = tail.next().unwrap_or_default().to_owned();
    Change {
        address: address.into(),
        previous_address: None,
        deposed: None,
        mode: "managed".into(),
        kind,
        name,
        provider: "registry.terraform.io/hashicorp/aws".into(),
        action,
        reason: None,
        importing: None,
        id: None,
        replace_paths: vec![],
        attributes: vec![],
        attributes_left_out: 0,
        facts: std::collections::BTreeMap::default(),
    }
}

pub fn value(text: &str) -> Shown {
    Shown::Value(text.into())
}

/// Adds a changed attribute.
pub fn with(mut change: Change, path: &str, before: Shown, after: Shown) -> Change {
    change.attributes.push(AttributeChange {
        path: path.into(),
        before,
        after,
        forces_replacement: false,
        digest: None,
    });
    change
}

/// Adds a fact.
pub fn knowing(mut change: Change, name: &str, fact: Shown) -> Change {
    change.facts.insert(name.into(), fact);
    change
}

pub fn sanction(address: &str, action: Allowed) -> Sanction {
    let owner = crate::address::owner(address);
    let because = Because {
        operation: "undeclared".into(),
        kind: owner.map_or("storage", |o| o.kind).to_owned(),
        name: owner.map_or("data", |o| o.label).to_owned(),
        at: None,
    };
    Sanction { root: String::new(), address: address.into(), deposed: None, action, because }
}

fn root(id: &str, lifecycle: Lifecycle, content: Content, types: &[&str], data: &[&str]) -> Root {
    Root {
        id: id.into(),
        lifecycle,
        phase: "storage-generation".into(),
        builder: Name::new(id.split('/').next_back().unwrap_or(id)),
        runtime: None,
        engine: EngineRef { name: "tofu".into(), kind: "tofu".into(), binary: "tofu".into(), version: None },
        state: None,
        applies: Applies { applies: true, flag: "apply_storage".into(), value: "true".into(), at: None },
        reads: vec![],
        content,
        sanctions: vec![],
        obligations: vec![],
        actions: vec![],
        replace: vec![],
        resource_types: types.iter().map(|t| (*t).to_owned()).collect(),
        data_types: data.iter().map(|t| (*t).to_owned()).collect(),
        live: vec![],
        variables: std::collections::BTreeMap::default(),
    }
}

pub fn storages(names: &[&str]) -> Root {
    let storages = names
        .iter()
        .map(|name| StorageIntent { name: Name::new(name), stands: Standing::Live, restore_from: None, access: vec![] })
        .collect();
    let types = ["aws_ebs_volume", "aws_efs_file_system", "aws_efs_access_point", "aws_s3_bucket"];
    root("storage/volumes", Lifecycle::Storage, Content::Storages { storages }, &types, &["aws_ebs_volume"])
}

/// Machines, each with whether it is ephemeral.
pub fn machines(names: &[(&str, bool)]) -> Root {
    let instances = names
        .iter()
        .map(|(name, ephemeral)| {
            let mut machine: InstanceIntent = serde_json::from_value(serde_json::json!({
                "name": Name::new(name), "hostname": name, "machine_type": "t3.small", "image": "img",
                "build": {"is": "pinned", "id": "ami-1"}, "group": null, "ephemeral": ephemeral, "mounts": [], "tags": {}, "userdata": ""
            }))
            .expect("an instance");
            machine.ephemeral = *ephemeral;
            machine
        })
        .collect();
    let types = ["aws_instance", "aws_volume_attachment", "aws_security_group"];
    root("instance-image/fleet", Lifecycle::InstanceImage, Content::Instances { instances }, &types, &[])
}

/// At review, without a root, with the settings nobody changed.
pub fn judged(plan: &Plan) -> Verdict {
    judge(&Question::new(plan, &Settings::default()))
}

pub fn said(verdict: &Verdict, rule: &str) -> Vec<String> {
    verdict.findings.iter().filter(|f| f.rule == rule).map(|f| f.message.clone()).collect()
}

pub fn weights(verdict: &Verdict, rule: &str) -> Vec<Weight> {
    verdict.findings.iter().filter(|f| f.rule == rule).map(|f| f.weight).collect()
}
