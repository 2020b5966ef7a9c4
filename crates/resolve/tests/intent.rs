//! What declarations and records together mean for each root.
#![allow(clippy::unwrap_used)]

mod support;

use csis_resolve::{follow_changes, intent};
use csis_values::Diagnostics;
use csis_values::intent::{BuildRef, Content, InstanceIntent, Intent, Root, Standing, StorageIntent};
use csis_values::records::{LocationRecord, Records};
use csis_values::request::Request;
use csis_values::sanction::{Allowed, Obligation};
use csis_values::tree::*;
use serde_json::json;
use support::*;

fn resolved(tree: &Tree, records: &Records) -> Intent {
    let (intent, found) = intent(tree, records, None, &request());
    assert!(!found.is_refused(), "{found:?}");
    intent
}

fn root<'a>(intent: &'a Intent, id: &str) -> &'a Root {
    intent.roots.iter().find(|r| r.id == id).unwrap_or_else(|| panic!("no root {id}"))
}

fn machine<'a>(intent: &'a Intent, name: &str) -> &'a InstanceIntent {
    let Content::Instances { instances } = &root(intent, "instance-image/fleet").content else {
        panic!("no instances")
    };
    instances.iter().find(|i| i.name.safe == name).unwrap()
}

fn storage_of<'a>(root: &'a Root, name: &str) -> &'a StorageIntent {
    let Content::Storages { storages } = &root.content else { panic!("no storages") };
    storages.iter().find(|s| s.name.safe == name).unwrap()
}

/// Sanctions that an operation of this tree gives, as (address, action, operation).
fn sanctions(root: &Root) -> Vec<(&str, Allowed, &str)> {
    root.sanctions
        .iter()
        .filter(|s| !s.because.is_standing())
        .map(|s| (s.address.as_str(), s.action, s.because.operation.as_str()))
        .collect()
}

#[test]
fn roots_come_producers_first_with_their_state_and_flags() {
    let mut records = Records::default();
    records.locations.insert(
        "volumes".into(),
        LocationRecord { lineage: Some("l-1".into()), serial: Some(7), ..LocationRecord::default() },
    );
    let intent = resolved(&harbor(), &records);
    let ids: Vec<_> = intent.roots.iter().map(|r| r.id.as_str()).collect();
    assert_eq!(ids, ["storage/buckets", "storage/shares", "storage/volumes", "instance-image/fleet"]);
    let volumes = root(&intent, "storage/volumes");
    let state = volumes.state.as_ref().unwrap();
    assert_eq!(
        (state.location.as_str(), state.profile.as_deref()),
        ("s3://harbor-state/roots/harbor/volumes.tfstate", Some("harbor"))
    );
    assert_eq!((state.lineage.as_deref(), state.serial), (Some("l-1"), Some(7)));
    assert!(
        volumes.applies.applies && volumes.applies.flag == "apply_storage" && volumes.applies.value == "[aws-west]"
    );
    let fleet = root(&intent, "instance-image/fleet");
    assert!(!fleet.applies.applies && fleet.applies.at.is_some());
    assert_eq!(
        fleet.reads.iter().map(|r| r.label.as_str()).collect::<Vec<_>>(),
        ["volumes", "shares", "buckets"],
        "in order of declaration"
    );
    assert_eq!(fleet.reads[0].backend.as_deref(), Some("state-main"));
    assert_eq!(
        fleet.variables.get("ephemeral_present").map(String::as_str),
        Some("false"),
        "an ephemeral machine is not planned where it may not be launched"
    );
    assert!(sanctions(fleet).is_empty() && sanctions(volumes).is_empty());
}

#[test]
fn scope_and_flags_of_the_run() {
    let with = |change: &dyn Fn(&mut Request)| {
        let mut request = request();
        change(&mut request);
        intent(&harbor(), &Records::default(), None, &request)
    };
    let (only, found) = with(&|r| r.only_runtime = Some("elsewhere".into()));
    assert!(only.roots.is_empty() && found.is_refused());
    let (applying, _) = with(&|r| r.apply_runtime = Some(WEST.into()));
    assert!(
        applying.roots.iter().all(|r| r.applies.applies)
            && root(&applying, "instance-image/fleet").variables.is_empty()
    );
    let (storages, _) = with(&|r| r.lifecycles = vec![csis_values::request::Lifecycle::Storage]);
    assert_eq!(storages.roots.len(), 3);
}

#[test]
fn a_launched_machine_keeps_its_devices_and_a_detach_frees_none_before_it_landed() {
    let mut tree = harbor();
    for name in ["a", "b", "c"] {
        tree.storages.push(storage(name, "volumes", &["crew"]));
    }
    let mut records = standing();
    records.launches.insert(
        "api-1".into(),
        launch("ami-api", &[("a", Some("/dev/xvdf")), ("ledger", Some("/dev/xvdg")), ("b", Some("/dev/xvdi"))]),
    );
    // `a` is detached, `c` is new, and the order is another one.
    tree.instances[0].mounts = ["b", "c", "ledger"].map(|s| mount(s, &format!("/mnt/{s}"))).to_vec();
    let intent = resolved(&tree, &records);
    let devices: Vec<_> =
        machine(&intent, "api-1").mounts.iter().map(|m| (m.storage.as_str(), m.device.as_deref().unwrap())).collect();
    assert_eq!(devices, [("b", "/dev/xvdi"), ("c", "/dev/xvdh"), ("ledger", "/dev/xvdg")]);
    let fleet = root(&intent, "instance-image/fleet");
    assert_eq!(
        sanctions(fleet),
        [(r#"module.instance_api_1.aws_volume_attachment.this["a"]"#, Allowed::Destroy, "detach")]
    );
    assert_eq!(
        fleet.obligations,
        [Obligation::Unmounted { instance: "api-1".into(), storage: "a".into(), mount_point: "/mnt/a".into() }]
    );
}

#[test]
fn dropping_a_share_detaches_no_volume() {
    let mut tree = harbor();
    tree.instances[0].mounts.pop();
    let intent = resolved(&tree, &standing());
    let fleet = root(&intent, "instance-image/fleet");
    assert!(sanctions(fleet).is_empty() && fleet.obligations.is_empty());
}

#[test]
fn the_twenty_second_volume_is_refused() {
    let mut tree = harbor();
    let names: Vec<String> = (0..22).map(|i| format!("v{i:02}")).collect();
    tree.storages.extend(names.iter().map(|n| storage(n, "volumes", &["crew"])));
    tree.instances[0].mounts = names.iter().map(|s| mount(s, &format!("/mnt/{s}"))).collect();
    let (intent, found) = intent(&tree, &Records::default(), None, &request());
    let codes: Vec<_> = found.iter().map(|d| d.code.as_ref()).collect();
    assert_eq!(codes, ["no-device-left"]);
    let mounts = &machine(&intent, "api-1").mounts;
    assert_eq!((mounts.len(), mounts.last().unwrap().device.as_deref()), (21, Some("/dev/xvdz")));
}

#[test]
fn only_a_volume_made_new_and_empty_may_be_formatted() {
    let formats = |event: Option<serde_json::Value>, state: &str| {
        let mut records = standing();
        records.launches.clear();
        let record = records.storages.get_mut("ledger").unwrap();
        record.state = Some(state.into());
        record.history = event.into_iter().collect();
        let intent = resolved(&harbor(), &records);
        machine(&intent, "api-1").mounts[0].may_format
    };
    assert!(machine(&resolved(&harbor(), &Records::default()), "api-1").mounts[0].may_format, "never applied");
    assert!(formats(Some(json!({"from": null, "to": "active"})), "active"));
    assert!(formats(Some(json!({"from": "destroyed", "to": "active", "action": "regenerate"})), "active"));
    assert!(formats(None, "destroyed"), "a new generation");
    assert!(!formats(Some(json!({"from": null, "to": "active", "action": "import"})), "active"), "imported");
    assert!(!formats(Some(json!({"from": "archived", "to": "active"})), "active"), "restored from its snapshot");
    assert!(!formats(None, "archived"), "restored now");
    assert!(!formats(None, "active"), "records that do not tell");
    let intent = resolved(&harbor(), &Records::default());
    assert!(!machine(&intent, "api-2").mounts[0].may_format, "a share is never formatted");
}

#[test]
fn a_volume_that_a_machine_had_is_never_formatted_again() {
    let formats = |of: &str, run: Option<&str>| {
        let mut records = standing();
        records.storages.get_mut("ledger").unwrap().history = vec![json!({"from": null, "to": "active", "run": "r5"})];
        let run = run.map(str::to_owned);
        if of == "standing" {
            records.launches.get_mut("api-1").unwrap().launched_run = run;
        } else {
            records.launches.clear();
            let mounted = vec![csis_values::records::Mounted { storage: of.to_owned(), run }];
            let gone = csis_values::records::Generations { mounted, ..Default::default() };
            records.generations.insert("long-gone".into(), gone);
        }
        machine(&resolved(&harbor(), &records), "api-1").mounts[0].may_format
    };
    assert!(!formats("standing", Some("r5")) && !formats("standing", Some("r6")));
    assert!(!formats("ledger", Some("r7")) && !formats("ledger", None), "what does not say when");
    assert!(formats("ledger", Some("r4")), "an earlier generation of the storage");
    assert!(formats("depot", Some("r7")), "another storage");
}

#[test]
fn a_group_writes_where_it_is_allowed_and_reads_what_is_public() {
    let mut tree = harbor();
    tree.storages[1].public_read = true;
    let base = resolved(&tree, &Records::default());
    let depot = &machine(&base, "api-2").mounts[0];
    assert!(depot.allowed && !depot.read_only, "an allowed group keeps its own access to a public storage");
    tree.storages[1].groups.remove(0);
    let narrowed = resolved(&tree, &Records::default());
    let depot = &machine(&narrowed, "api-2").mounts[0];
    assert!(!depot.allowed && depot.read_only && depot.subtree.is_none());
    let access: Vec<_> =
        storage_of(root(&base, "storage/shares"), "depot").access.iter().map(|a| (a.group.as_str(), a.gid)).collect();
    assert_eq!(access, [("audit", 4100), ("crew", 4000)]);
}

#[test]
fn a_host_name_lasts_as_long_as_its_machine() {
    let mut records = standing();
    records.generations.insert("api-1".into(), csis_values::records::Generations { durable: 4, ..Default::default() });
    assert_eq!(machine(&resolved(&harbor(), &records), "api-1").hostname, "recorded-007");
    records.pins.pending_replacements.insert("api-1".into(), "ami-api".into());
    assert_eq!(machine(&resolved(&harbor(), &records), "api-1").hostname, "api-1-005");
    assert_eq!(machine(&resolved(&harbor(), &Records::default()), "api-1").hostname, "api-1-001");
}

#[test]
fn an_upgrade_sanctions_one_machine_and_its_attachments() {
    let mut records = standing();
    records.pins.pending_replacements.insert("api-1".into(), "ami-new".into());
    let intent = resolved(&harbor(), &records);
    let fleet = root(&intent, "instance-image/fleet");
    assert_eq!(
        sanctions(fleet),
        [
            ("module.instance_api_1.aws_instance.this", Allowed::Replace, "upgrade"),
            (r#"module.instance_api_1.aws_volume_attachment.this["ledger"]"#, Allowed::Replace, "upgrade"),
        ]
    );
    assert_eq!(fleet.replace, ["module.instance_api_1.aws_instance.this"]);
    assert!(fleet.obligations.is_empty());
}

#[test]
fn a_machine_that_follows_is_replaced_by_the_newer_build() {
    let mut records = standing();
    records.builds.push(build("harbor-api", "ami-api-2"));
    let intent = resolved(&harbor(), &records);
    let fleet = root(&intent, "instance-image/fleet");
    assert_eq!(sanctions(fleet), [("module.instance_api_2.aws_instance.this", Allowed::Replace, "follow")]);
    assert_eq!(machine(&intent, "api-2").build, BuildRef::Pinned { id: "ami-api-2".into() });
    assert_eq!(machine(&intent, "api-1").build, BuildRef::Pinned { id: "ami-api".into() }, "a pinned machine stays");
    records.launches.get_mut("api-2").unwrap().launched = false;
    assert!(
        root(&resolved(&harbor(), &records), "instance-image/fleet").replace.is_empty(),
        "what was never launched is not replaced"
    );
}

#[test]
fn only_launched_machines_are_decommissioned() {
    let mut tree = harbor();
    tree.instances.retain(|i| i.name.safe != "api-1");
    let mut records = standing();
    let mut prepared = launch("ami-api", &[]);
    prepared.launched = false;
    records.launches.insert("ghost".into(), prepared);
    records.launches.insert("abroad".into(), launch("ami-abroad", &[]));
    records
        .builds
        .push(csis_values::records::Build { runtime: "aws-east".into(), ..build("harbor-api", "ami-abroad") });
    let fleet = resolved(&tree, &records);
    let fleet = root(&fleet, "instance-image/fleet");
    assert_eq!(sanctions(fleet), [("module.instance_api_1", Allowed::Destroy, "undeclared")]);
    assert!(fleet.obligations.is_empty());
}

#[test]
fn with_the_last_machine_goes_what_machines_share() {
    let mut tree = harbor();
    tree.instances.clear();
    let shared = |intent: &Intent| {
        root(intent, "instance-image/fleet").sanctions.iter().any(|s| s.address == "aws_security_group.csis_instances")
    };
    assert!(shared(&resolved(&tree, &standing())));
    assert!(!shared(&resolved(&harbor(), &standing())));
    assert!(
        resolved(&tree, &Records::default()).roots.iter().all(|r| r.id != "instance-image/fleet"),
        "nothing stands and nothing is declared"
    );
}

#[test]
fn storages_go_when_the_tree_says_so() {
    let mut tree = harbor();
    tree.storages.retain(|s| s.name.safe != "vault");
    tree.storages[0].state = spanned(StorageState::Destroyed);
    let intent = resolved(&tree, &standing());
    let volumes = root(&intent, "storage/volumes");
    assert_eq!(sanctions(volumes), [("module.storage_ledger", Allowed::Destroy, "destroyed")]);
    assert_eq!(storage_of(volumes, "ledger").stands, Standing::Destroyed);
    let buckets = root(&intent, "storage/buckets");
    assert_eq!(sanctions(buckets), [("module.storage_vault", Allowed::Destroy, "undeclared")]);
    assert_eq!(buckets.obligations, [Obligation::Emptied { storage: "vault".into(), bucket: "harbor-vault".into() }]);
    let wipe = &buckets.actions[0];
    assert_eq!((wipe.action.as_str(), wipe.object.as_str(), wipe.loses_data), ("wipe", "s3://harbor-vault", true));
}

#[test]
fn a_storage_that_moves_to_another_builder_is_not_let_go() {
    let mut tree = harbor();
    tree.storages[0].builder = text("shares");
    let intent = resolved(&tree, &standing());
    let volumes = root(&intent, "storage/volumes");
    assert!(
        volumes.sanctions.is_empty() && volumes.live.len() == 1,
        "its old root is planned, and nothing there may go"
    );
}

#[test]
fn an_archive_is_taken_before_and_dropped_after() {
    let mut tree = harbor();
    let mut records = standing();
    tree.storages[0].state = spanned(StorageState::Archived);
    let intent = resolved(&tree, &records);
    let volumes = root(&intent, "storage/volumes");
    assert_eq!(
        volumes.obligations,
        [Obligation::Snapshot { storage: "ledger".into(), archive: "csis-ledger-archive".into() }]
    );
    assert_eq!(sanctions(volumes), [("module.storage_ledger", Allowed::Destroy, "archived")]);

    records.storages.get_mut("ledger").unwrap().state = Some("archived".into());
    let settled = resolved(&tree, &records);
    let volumes = root(&settled, "storage/volumes");
    assert!(sanctions(volumes).is_empty() && volumes.actions.is_empty() && volumes.live.is_empty());

    tree.storages[0].state = spanned(StorageState::Active);
    let restored = resolved(&tree, &records);
    let volumes = root(&restored, "storage/volumes");
    assert_eq!(storage_of(volumes, "ledger").restore_from.as_deref(), Some("csis-ledger-archive"));
    assert_eq!((volumes.actions[0].action.as_str(), volumes.actions[0].loses_data), ("delete-snapshot", false));

    tree.storages[0].state = spanned(StorageState::Destroyed);
    let gone = resolved(&tree, &records);
    let volumes = root(&gone, "storage/volumes");
    assert!(sanctions(volumes).is_empty(), "the volume went when it was archived");
    assert_eq!((volumes.actions[0].action.as_str(), volumes.actions[0].loses_data), ("delete-snapshot", true));
}

#[test]
fn followers_go_where_the_declaration_changed() {
    let base = harbor();
    let mut head = harbor();
    head.storages[1].groups.pop();
    let mut intent = resolved(&head, &standing());
    assert!(
        root(&intent, "storage/buckets").sanctions.iter().all(|s| s.because.is_standing()),
        "without a base every storage keeps them"
    );
    follow_changes(&base, &head, &mut intent);
    assert!(root(&intent, "storage/buckets").sanctions.is_empty());
    let shares = &root(&intent, "storage/shares").sanctions;
    let access_points = shares.iter().find(|s| s.address == "module.storage_depot.aws_efs_access_point");
    let told = access_points.map(|s| (s.action, s.because.operation.as_str()));
    assert_eq!(told, Some((Allowed::DestroyOrReplace, "groups changed")), "{shares:?}");
    assert_eq!(shares.len(), 1, "mount targets follow the network, not the groups: {shares:?}");
    let mut before = harbor();
    before.storages.retain(|storage| storage.name.safe != "depot");
    let mut intent = resolved(&head, &standing());
    follow_changes(&before, &head, &mut intent);
    let shares = &root(&intent, "storage/shares").sanctions;
    assert!(shares.iter().all(|s| s.because.operation == "declaration changed"), "{shares:?}");
}

fn why(intent: &Intent, series: &str) -> String {
    intent.bakes.iter().find(|b| b.series == series).unwrap().why.clone()
}

/// Records in which every series was baked from today's inputs.
fn baked(tree: &Tree) -> Records {
    let mut records = standing();
    // A parent's fingerprint enters its children's, so bases come first.
    for _ in 0..3 {
        for bake in resolved(tree, &records).bakes {
            let build = records.builds.iter_mut().find(|b| b.series == bake.series).unwrap();
            build.input_fingerprint = Some(bake.fingerprint);
            build.fingerprint_scheme = Some(1);
        }
    }
    records
}

#[test]
fn what_is_baked_from_the_same_inputs_stays() {
    let mut tree = harbor();
    let records = baked(&tree);
    assert!(resolved(&tree, &records).bakes.iter().all(|b| !b.due), "{:?}", resolved(&tree, &records).bakes);
    assert_eq!(why(&resolved(&tree, &Records::default()), "harbor-api"), "no build of harbor-api on aws-west yet");

    tree.images[0].fields = fields(&json!({"tests": {"packages": ["git", "jq"]}}));
    let intent = resolved(&tree, &records);
    assert!(why(&intent, "harbor-base").starts_with("inputs changed ("), "{}", why(&intent, "harbor-base"));
    assert_eq!(
        why(&intent, "harbor-api"),
        "parent ami-base re-bakes this run (parent_policy: follow)",
        "a follower without a pin follows"
    );
    assert!(!intent.bakes.iter().any(|b| b.due && b.series == "harbor-edge"));
    let edges: Vec<_> = intent.lineage.iter().map(|e| (e.parent.as_str(), e.child.as_str(), e.due)).collect();
    assert_eq!(edges, [("alma9", "harbor-base", true), ("harbor-base", "harbor-api", true)]);
}

#[test]
fn a_pinned_child_is_deaf_to_its_grandparents() {
    let mut tree = harbor();
    tree.images[1].parent_policy = Policy::Pinned;
    let mut records = baked(&tree);
    records.pins.images.insert(format!("harbor-api@{WEST}"), "ami-base".into());
    tree.images[0].fields = fields(&json!({}));
    let intent = resolved(&tree, &records);
    assert!(why(&intent, "harbor-base").starts_with("inputs changed"));
    assert_eq!(why(&intent, "harbor-api"), "current (build ami-api)");
    // Once the pin moves to the new build, the child bakes.
    records.builds.push(csis_values::records::Build {
        input_fingerprint: Some("f".repeat(64)),
        fingerprint_scheme: Some(1),
        ..build("harbor-base", "ami-base-2")
    });
    records.pins.images.insert(format!("harbor-api@{WEST}"), "ami-base-2".into());
    assert!(why(&resolved(&tree, &records), "harbor-api").starts_with("inputs changed"));
}

#[test]
fn builds_of_another_tool_count_as_current_with_a_note() {
    let mut records = standing();
    for build in &mut records.builds {
        build.input_fingerprint = Some("0".repeat(64));
    }
    let (intent, found): (Intent, Diagnostics) = intent(&harbor(), &records, None, &request());
    assert!(intent.bakes.iter().all(|b| !b.due));
    assert_eq!(found.iter().map(|d| d.code.as_ref()).collect::<Vec<_>>(), ["adopted-build"]);
}

#[test]
fn an_old_base_is_refreshed_when_its_days_are_over() {
    let mut tree = harbor();
    let os = tree.builders.iter_mut().find(|b| b.name.safe == "alma9").unwrap();
    os.fields.values.extend(fields(&json!({"update": {"policy": "security", "refresh_days": 1}})).values);
    let mut records = baked(&tree);
    records.builds[0].run = Some("2026_03_01t08_00_01_000001".into());
    assert!(!resolved(&tree, &records).bakes.iter().any(|b| b.due), "a second short of a day");
    records.builds[0].run = Some("2026_03_01t07_59_59".into());
    assert_eq!(
        why(&resolved(&tree, &records), "alma9"),
        "update policy: head ami-alma is 1 days old (refresh_days: 1)"
    );
}

#[test]
fn a_deferred_build_is_looked_for_by_its_name() {
    let intent = resolved(&harbor(), &Records::default());
    assert_eq!(
        machine(&intent, "api-1").build,
        BuildRef::Deferred { pattern: "harbor-api-bake".into(), series: "harbor-api".into(), runtime: WEST.into() }
    );
    let mut records = standing();
    records.pins.instances.clear();
    records.launches.clear();
    assert_eq!(
        machine(&resolved(&harbor(), &records), "api-1").build,
        BuildRef::Pinned { id: "ami-api".into() },
        "the first binding is to the head"
    );
}

#[test]
fn a_cycle_of_images_ends() {
    let mut tree = harbor();
    tree.images[0].source = text("harbor-api");
    let _ = intent(&tree, &standing(), None, &request());
}
