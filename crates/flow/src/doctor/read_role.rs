//! What a review needs to read in the clouds, as the policies to add to its read roles: the state of this tree's roots and what its modules refresh. No write,
//! and no state of another tree. That it is complete is known for the services below alone; a root of others has no policy here.

use csis_kinds::registry;
use csis_values::Class;
use csis_values::intent::{Content, Intent, Root};
use csis_values::tree::{Builder, Tree};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Which objects an engine refreshes, and what it calls for them. Listing and describing take no resource.
const DESCRIBED: &[(&[&str], &str)] = &[
    (&["aws_instance", "aws_volume_", "aws_ebs_", "aws_security_group", "aws_efs_mount_target"], "ec2:Describe*"),
    (&["aws_efs_"], "elasticfilesystem:Describe*"),
    (&["aws_efs_"], "elasticfilesystem:ListTagsForResource"),
];
const BUCKET: &str = "aws_s3_";
const OF_BUCKETS: &[&str] = &[
    "s3:GetAccelerateConfiguration",
    "s3:GetBucket*",
    "s3:GetEncryptionConfiguration",
    "s3:GetLifecycleConfiguration",
    "s3:GetReplicationConfiguration",
    "s3:ListBucket",
];
/// Prefixes of groups are empty objects whose names end with a slash; no other object of a bucket is read.
const OF_PREFIXES: &[&str] = &["s3:GetObject", "s3:GetObjectTagging"];

/// What one session may read; ordered, so that the same tree prints the same text.
#[derive(Default)]
struct Needs {
    described: BTreeSet<&'static str>,
    buckets: BTreeSet<String>,
    states: BTreeSet<(String, String)>,
    roles: BTreeSet<String>,
}

/// The policies, each under the role it is for; empty for a tree that reads no cloud of a known kind.
pub(super) fn text(tree: &Tree, intent: &Intent) -> String {
    let mut needs: BTreeMap<String, Needs> = BTreeMap::new();
    for root in &intent.roots {
        if let Some(runtime) = root.runtime.as_ref().and_then(|name| tree.builder(Class::Runtime, name)) {
            let role = of_profile(registry::runtime(runtime).and_then(|kind| kind.profile(runtime)));
            refreshed(tree, root, partition(runtime.fields.text("region")), needs.entry(role).or_default());
        }
        let state = root.state.as_ref().and_then(|state| tree.builder(Class::StateBackend, &state.backend));
        if let Some(backend) = state {
            stored(backend, &mut needs);
        }
    }
    let mut told = String::new();
    for (role, needs) in &needs {
        let statements = statements(needs);
        if statements.is_empty() {
            continue;
        }
        let policy = json!({ "Version": "2012-10-17", "Statement": statements });
        let policy = serde_json::to_string_pretty(&policy).unwrap_or_default();
        let _ = writeln!(told, "\nWhat {role} must be allowed, and nothing more:\n{policy}");
        if !needs.states.is_empty() {
            told.push_str("\nA bucket that encrypts with a key of its own needs `kms:Decrypt` on that key too.\n");
        }
    }
    told
}

fn of_profile(profile: Option<String>) -> String {
    profile.map_or_else(|| "the read role".to_owned(), |name| format!("the read role of the profile `{name}`"))
}

fn refreshed(tree: &Tree, root: &Root, partition: &str, needs: &mut Needs) {
    let has =
        |starts: &[&str]| root.resource_types.iter().any(|kind| starts.iter().any(|start| kind.starts_with(start)));
    needs.described.extend(DESCRIBED.iter().filter(|(starts, _)| has(starts)).map(|(_, action)| *action));
    let Content::Storages { storages } = &root.content else { return };
    if !has(&[BUCKET]) {
        return;
    }
    let Some(builder) = tree.builder(Class::StorageBuilder, &root.builder.safe) else { return };
    let names = storages
        .iter()
        .filter_map(|intent| registry::storage(builder)?.shared_identity(builder, tree.storage(&intent.name.safe)?));
    needs.buckets.extend(names.map(|name| format!("arn:{partition}:s3:::{name}")));
}

/// The state of every root in a bucket, as the backend itself says where it is and by which role it is reached.
fn stored(backend: &Builder, needs: &mut BTreeMap<String, Needs>) {
    let Some(kind) = registry::state(backend) else { return };
    let all = kind.location(backend, "*");
    let Some((bucket, keys)) = all.strip_prefix("s3://").and_then(|rest| rest.split_once('/')) else { return };
    let bucket = format!("arn:{}:s3:::{bucket}", partition(backend.fields.text("region")));
    let taken = |how: &str| backend.fields.object(how)?.text("role_arn").map(str::to_owned);
    let own = of_profile(kind.profile(backend));
    let reads = match (taken("assume_role"), taken("assume_role_with_web_identity")) {
        (Some(role), _) => {
            needs.entry(own).or_default().roles.insert(role.clone());
            format!("the role `{role}`")
        }
        (None, Some(role)) => format!("the role `{role}`"),
        (None, None) => own,
    };
    needs.entry(reads).or_default().states.insert((format!("{bucket}/{keys}"), bucket));
}

pub(super) fn partition(region: Option<&str>) -> &'static str {
    let region = region.unwrap_or_default();
    let partitions = [("us-gov-", "aws-us-gov"), ("cn-", "aws-cn")];
    partitions.iter().find(|(start, _)| region.starts_with(start)).map_or("aws", |(_, name)| *name)
}

fn statements(needs: &Needs) -> Vec<Value> {
    let mut statements = Vec::new();
    let mut allow = |sid: &str, actions: Value, resources: Vec<&str>| {
        if !resources.is_empty() {
            statements.push(json!({ "Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources }));
        }
    };
    allow("ReadState", json!(["s3:GetObject"]), needs.states.iter().map(|(keys, _)| keys.as_str()).collect());
    allow(
        "FindState",
        json!(["s3:ListBucket"]),
        needs.states.iter().map(|(_, bucket)| bucket.as_str()).collect::<BTreeSet<_>>().into_iter().collect(),
    );
    allow("ReachState", json!(["sts:AssumeRole"]), needs.roles.iter().map(String::as_str).collect());
    allow("Describe", json!(needs.described), if needs.described.is_empty() { Vec::new() } else { vec!["*"] });
    allow("RefreshBuckets", json!(OF_BUCKETS), needs.buckets.iter().map(String::as_str).collect());
    let prefixes: Vec<String> = needs.buckets.iter().map(|bucket| format!("{bucket}/*/")).collect();
    allow("RefreshPrefixes", json!(OF_PREFIXES), prefixes.iter().map(String::as_str).collect());
    statements
}
