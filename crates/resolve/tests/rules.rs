//! The rules that a tree is judged by alone: what each refuses, what its message names, and what it lets pass.
#![allow(clippy::unwrap_used)]

mod judging;
mod support;

use csis_resolve::rules::check;
use csis_values::records::Records;
use csis_values::snapshot::{Answer, RuntimeSnapshot, Snapshot};
use csis_values::tree::*;
use csis_values::{Class, Name, Severity};
use judging::*;
use serde_json::json;
use std::collections::BTreeMap;
use support::*;

#[test]
fn harbor_is_fine() {
    accepted(|_, _| {});
    let found = judge(&harbor(), &Records::default());
    assert_eq!(found.iter().map(|d| d.code.as_ref()).collect::<Vec<_>>(), ["account-not-judged"]);
}

#[test]
fn findings_are_the_same_twice() {
    let mut tree = harbor();
    tree.storages[0].state = spanned(StorageState::Archived);
    tree.instances[2].image = None;
    let (once, again) = (judge(&tree, &Records::default()), judge(&tree, &Records::default()));
    assert_eq!(once, again);
    assert!(once.0.len() >= 2);
}

#[test]
fn series_share_one_set_of_names() {
    let mut tree = harbor();
    tree.images[0].name = Name::new("noble");
    let said = errors(&tree, &Records::default());
    assert!(
        said.iter().any(|s| s.starts_with("name-not-unique: image `noble` has the same name as OS builder `noble`")),
        "{said:#?}"
    );
    refused(
        |t, _| set(t, Class::OsBuilder, "noble", "runtimes", &json!([{"name": "west-alma9", "image_builder": "bake"}])),
        "name-not-unique",
        &["`west-alma9`", "`noble`", "`alma9`"],
    );
}

#[test]
fn a_storage_goes_only_after_its_machines_let_go_of_it() {
    let records = standing();
    let detached = |state: Option<StorageState>| {
        let mut tree = harbor();
        for instance in &mut tree.instances {
            instance.mounts.retain(|mount| mount.storage.value != "ledger");
        }
        match state {
            Some(state) => tree.storages.iter_mut().find(|s| s.name.safe == "ledger").unwrap().state = spanned(state),
            None => tree.storages.retain(|s| s.name.safe != "ledger"),
        }
        tree
    };
    let in_use = |tree: &Tree, records: &Records| {
        errors(tree, records).into_iter().filter(|said| said.starts_with("storage-in-use")).count()
    };
    for state in [Some(StorageState::Destroyed), Some(StorageState::Archived), None] {
        assert_eq!(in_use(&detached(state), &records), 1, "{state:?}");
    }
    assert_eq!(in_use(&detached(Some(StorageState::Active)), &records), 0, "a detach alone");
    let mut landed = records.clone();
    landed.launches.get_mut("api-1").unwrap().mounts.clear();
    assert_eq!(in_use(&detached(None), &landed), 0, "the detach has landed");
    let mut both = detached(None);
    both.instances.retain(|instance| instance.name.safe != "api-1");
    assert_eq!(in_use(&both, &records), 1, "machine and storage at once");
    let mut gone = records;
    gone.storages.get_mut("ledger").unwrap().state = Some("destroyed".into());
    assert_eq!(in_use(&detached(None), &gone), 0, "nothing stands");
}

#[test]
fn names_with_one_label_are_told_apart() {
    let bucket = |name: &str| Storage { bucket_name: Some(text("another")), ..storage(name, "buckets", &["crew"]) };
    refused(|t, _| t.storages.push(bucket("public_docs")), "label-collision", &["`public-docs`", "`public_docs`"]);
    accepted(|t, _| t.storages.push(bucket("public_papers")));
    refused(
        |t, _| {
            let twin = Group { name: Name::new("cr.ew"), gid: Some(spanned(4200)), ..t.groups[0].clone() };
            t.groups.push(Group { name: Name::new("cr_ew"), gid: Some(spanned(4201)), ..twin.clone() });
            t.groups.push(twin);
        },
        "label-collision",
        &["`cr.ew`", "`cr_ew`"],
    );
}

#[test]
fn a_repetition_in_a_list_is_a_warning() {
    let mut tree = harbor();
    tree.storages[0].groups = vec![text("crew"), text("crew")];
    let found = judge(&tree, &Records::default());
    let warning = found.iter().find(|d| d.code == "listed-twice").unwrap();
    assert_eq!(warning.severity, Severity::Warning);
    assert!(warning.message.contains("`ledger`") && warning.message.contains("`crew`"));
}

#[test]
fn the_executable_a_builder_runs_by_default_is_declared() {
    refused(
        |t, _| {
            let volumes = own(t, Class::StorageBuilder, "volumes");
            t.builders[volumes].executable = None;
        },
        "executable-undeclared",
        &["`volumes`", "`tofu`", "`engine`"],
    );
}

#[test]
fn a_root_has_a_state_of_its_own() {
    refused(
        |t, _| {
            let fleet = own(t, Class::InstanceBuilder, "fleet");
            t.builders[fleet].name = Name::new("volumes");
            t.instances.iter_mut().for_each(|i| i.builder = text("volumes"));
        },
        "state-location-shared",
        &["storage builder `volumes`", "instance builder `volumes`", "s3://harbor-state/roots/harbor/volumes.tfstate"],
    );
}

#[test]
fn roots_have_a_backend_once_backends_are_on() {
    refused(
        |t, _| t.builders.retain(|b| b.class != Class::StateBackend),
        "state-backend-missing",
        &["`fleet`", "`volumes`", "use_state_backends"],
    );
}

#[test]
fn machines_that_read_storages_need_backends() {
    refused(
        |t, _| t.config.use_state_backends = false,
        "state-backends-needed",
        &["`fleet`", "`volumes`", "`shares`", "`buckets`"],
    );
    accepted(|t, _| {
        t.config.use_state_backends = false;
        t.instances.iter_mut().for_each(|i| i.mounts.clear());
    });
}

#[test]
fn one_id_one_name() {
    refused(
        |t, _| t.users.extend([user("mira", 4001), user("oskar", 4001)]),
        "posix-id-shared",
        &["4001", "`mira`", "`oskar`"],
    );
    refused(|t, _| t.groups[1].gid = Some(spanned(4000)), "posix-id-shared", &["4000", "`crew`", "`audit`"]);
    refused(
        |t, _| t.users.push(user("mira", 4100)),
        "posix-id-shared",
        &["4100", "`mira`", "`audit`", "private group"],
    );
    refused(|t, _| t.users.push(user("crew", 4500)), "posix-id-twofold", &["4000", "4500", "`crew`"]);
    accepted(|t, _| t.users.push(user("crew", 4000)));
}

#[test]
fn posix_names_and_ids_are_there_and_sound() {
    refused(|t, _| t.users.push(user("1mira", 4001)), "posix-name", &["`1mira`"]);
    refused(|t, _| t.groups[1].gid = Some(spanned(700)), "posix-id-low", &["`audit`", "700", "1024"]);
    refused(|t, _| t.groups[1].gid = None, "posix-id-missing", &["`audit`", "gid"]);
    refused(
        |t, _| {
            t.users.push(User { uid: None, fields: fields(&json!({})), ..user("mira", 1) });
            t.groups[0].members = vec![text("mira")];
        },
        "posix-id-missing",
        &["`mira`", "uid"],
    );
    // A gid of the wrong shape was told when the file was read.
    accepted(|t, _| {
        t.groups[1].gid = None;
        t.groups[1].fields = fields(&json!({"gid": "many"}));
    });
    refused(
        |t, _| t.groups[1].fields = fields(&json!({"attributes": {"unix_gid": 4100}})),
        "posix-attributes",
        &["`audit`"],
    );
}

#[test]
fn members_of_posix_groups_have_accounts() {
    refused(
        |t, _| {
            t.builders.push(builder(Class::UserBuilder, "directory", "people", false, &json!({})));
            t.users.push(User { builder: text("people"), ..user("mira", 4001) });
            t.groups[0].admins = vec![text("mira")];
            t.groups[0].members = vec![text("mira")];
        },
        "posix-member",
        &["`crew`", "`mira`", "`people`"],
    );
}

#[test]
fn a_base_prepares_for_what_is_configured() {
    refused(
        |t, _| set(t, Class::OsBuilder, "noble", "identity_types", &json!(["posix", "okta"])),
        "type-unconfigured",
        &["`noble`", "`okta`", "`posix`"],
    );
    refused(
        |t, _| set(t, Class::OsBuilder, "alma9", "storage_types", &json!(["ebs", "efs", "s3", "pd"])),
        "type-unconfigured",
        &["`alma9`", "`pd`", "`ebs`, `efs` and `s3`"],
    );
}

#[test]
fn a_base_that_nobody_can_enter_is_refused() {
    let shut = |t: &mut Tree| {
        let runtime = own(t, Class::Runtime, WEST);
        t.builders[runtime].fields.values.remove("session_mechanism");
    };
    let mut tree = harbor();
    shut(&mut tree);
    let said = errors(&tree, &Records::default());
    assert_eq!(said.iter().filter(|s| s.starts_with("base-dead-end")).count(), 2, "{said:#?}");
    assert!(said.iter().any(|s| s.contains("`noble`") && s.contains(WEST)));
}

#[test]
fn bakes_log_in_as_an_account() {
    refused(
        |t, _| set(t, Class::Runtime, WEST, "ssh_username", &json!("root; id")),
        "bake-user",
        &[WEST, "ssh_username", "root; id"],
    );
    accepted(|t, _| set(t, Class::Runtime, WEST, "ssh_username", &json!("ec2-user")));
}

#[test]
fn images_chain_to_a_base() {
    refused(|t, _| t.images[2].source = text("nobel"), "source-unknown", &["`harbor-edge`", "`nobel`", "`noble`"]);
    refused(|t, _| t.images[0].source = text("harbor-api"), "image-cycle", &["`harbor-base`", "`harbor-api`"]);
    refused(|t, _| t.images[0].source = text("harbor-base"), "image-cycle", &["`harbor-base` from `harbor-base`"]);
}

#[test]
fn images_are_baked_where_their_source_is() {
    refused(
        |t, _| {
            let entry = ImageRuntime { runtime: "aws-east".to_owned(), ..t.images[1].runtimes[0].clone() };
            t.images[1].runtimes.push(entry);
        },
        "source-not-baked",
        &["`harbor-api`", "`aws-east`", "`harbor-base`", WEST],
    );
}

#[test]
fn machines_have_an_image_with_an_owner_that_is_baked_where_they_run() {
    refused(|t, _| t.instances[2].image = None, "instance-without-image", &["`edge-1`", "image"]);
    // An image that is named and unknown was told when the reference was read.
    accepted(|t, _| {
        t.instances[2].image = None;
        t.instances[2].fields = fields(&json!({"image": "harbor-egde"}));
    });
    refused(|t, _| t.images[2].group = None, "image-without-group", &["`edge-1`", "`harbor-edge`"]);
    let elsewhere = |t: &mut Tree| {
        t.images[2].runtimes[0].runtime = "aws-east".to_owned();
        let entry = json!([{"name": "e", "image_builder": "bake"}]);
        set(t, Class::OsBuilder, "noble", "runtimes", &entry);
    };
    let mut tree = harbor();
    elsewhere(&mut tree);
    let said = errors(&tree, &Records::default());
    assert!(
        said.iter().any(|s| s.starts_with("image-not-baked") && s.contains("`edge-1`") && s.contains("`aws-east`")),
        "{said:#?}"
    );
}

#[test]
fn machines_mount_what_their_base_is_prepared_for() {
    let depot_on_edge = |t: &mut Tree| {
        t.storages[1].public_read = true;
        t.instances[2].mounts = vec![mount("depot", "/mnt/depot")];
    };
    refused(
        |t, _| depot_on_edge(t),
        "capability-undeclared",
        &["`edge-1`", "`efs`", "`noble`", "`ebs` and `s3`", "declared by"],
    );
    let mut tree = harbor();
    set(&mut tree, Class::OsBuilder, "noble", "identity_types", &json!([]));
    let said = errors(&tree, &Records::default());
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].contains("image `harbor-edge`") && said[0].contains("`posix`") && said[0].contains("`audit`"));
}

#[test]
fn two_storages_are_two_buckets() {
    refused(
        |t, _| t.storages[3].bucket_name = Some(text("harbor-vault")),
        "storage-shared",
        &["`vault`", "`public-docs`", "harbor-vault"],
    );
    refused(
        |t, _| {
            t.storages[2].bucket_name = None;
            t.storages[3].bucket_name = None;
        },
        "storage-shared",
        &["`vault`", "`public-docs`", "harbor-default"],
    );
}

#[test]
fn groups_attach_what_is_theirs() {
    refused(
        |t, _| {
            t.instances[0].mounts.remove(0);
            t.instances[2].mounts = vec![mount("ledger", "/mnt/vault")];
        },
        "attach-not-allowed",
        &["`edge-1`", "`ledger`", "`audit`", "`crew`", "`harbor-edge`"],
    );
    accepted(|t, _| {
        t.instances[0].mounts.remove(0);
        t.storages[0].public_read = true;
        t.instances[2].mounts = vec![mount("ledger", "/mnt/vault")];
    });
}

#[test]
fn a_volume_has_one_machine() {
    refused(
        |t, _| t.instances[1].mounts.push(mount("ledger", "/mnt/l")),
        "single-attach",
        &["`ledger`", "`volumes`", "`api-1`", "`api-2`"],
    );
    refused(
        |t, _| t.instances[0].mounts.push(mount("ledger", "/mnt/l")),
        "storage-mounted-twice",
        &["`api-1`", "`ledger`"],
    );
}

#[test]
fn a_machine_has_letters_for_so_many_volumes() {
    let volumes = |t: &mut Tree, count: usize| {
        for n in 1..count {
            let name = format!("v{n}");
            t.storages.push(storage(&name, "volumes", &["crew"]));
            t.instances[0].mounts.push(mount(&name, &format!("/mnt/{name}")));
        }
    };
    accepted(|t, _| volumes(t, 21));
    refused(|t, _| volumes(t, 22), "too-many-devices", &["`api-1`", "22", "21"]);
}

#[test]
fn machines_run_where_their_builder_and_their_storages_are() {
    let mut tree = harbor();
    tree.instances[2].runtime = text("aws-east");
    let said = errors(&tree, &Records::default());
    for code in ["instance-elsewhere", "attach-elsewhere"] {
        assert!(
            said.iter()
                .any(|s| s.starts_with(code) && s.contains("`edge-1`") && s.contains("`aws-east`") && s.contains(WEST)),
            "{said:#?}"
        );
    }
}

#[test]
fn mount_points_are_plain_and_taken_once() {
    refused(
        |t, _| t.instances[0].mounts[1].mount_point = text("/mnt/ledger/"),
        "mount-point-taken",
        &["`api-1`", "/mnt/ledger", "`depot`"],
    );
    for bad in ["mnt/vault", "/mnt/v'; id; '", "/etc", "/mnt/../etc", "/mnt/$(id)"] {
        refused(|t, _| t.instances[2].mounts[0].mount_point = text(bad), "mount-point", &["`edge-1`", "`vault`", bad]);
    }
}

#[test]
fn a_mount_within_another_is_warned_of() {
    let mut tree = harbor();
    let outer = tree.instances[0].mounts[0].mount_point.value.clone();
    tree.instances[0].mounts[1].mount_point = text(&format!("{outer}/depot"));
    let found = judge(&tree, &Records::default());
    let warning = found.iter().find(|d| d.code == "mount-point-nested").unwrap();
    assert_eq!(warning.severity, Severity::Warning);
    assert!(warning.message.contains("`depot`") && warning.message.contains("`ledger`"), "{}", warning.message);
    tree.instances[0].mounts[1].mount_point = text(&format!("{outer}-depot"));
    assert!(judge(&tree, &Records::default()).iter().all(|d| d.code != "mount-point-nested"));
}

#[test]
fn a_machine_and_its_volumes_are_in_one_zone() {
    refused(
        |t, _| {
            t.storages[0].availability_zone = Some(text("us-west-2b"));
            t.instances[0].availability_zone = Some(text("us-west-2a"));
        },
        "zone-conflict",
        &["`api-1`", "`ledger`", "us-west-2a", "us-west-2b", "runtime `aws-west`"],
    );
    refused(
        |t, _| {
            t.storages.push(Storage {
                availability_zone: Some(text("us-west-2b")),
                ..storage("spare", "volumes", &["crew"])
            });
        },
        "zone-conflict",
        &["`spare`", "us-west-2a", "us-west-2b"],
    );
    // A file system has no zone.
    accepted(|t, _| t.storages[1].availability_zone = Some(text("us-west-2b")));
}

#[test]
fn machines_have_hostnames() {
    refused(|t, _| t.instances[2].name = Name::new("edge_1"), "hostname", &["`edge_1`", "edge_1-001"]);
    refused(|t, _| t.instances[2].name = Name::new(&"e".repeat(60)), "hostname", &["64"]);
    accepted(|t, _| t.instances[2].name = Name::new(&"e".repeat(59)));
}

#[test]
fn a_storage_the_invocation_takes_away_is_not_mounted() {
    refused(
        |t, _| {
            t.storages.remove(0);
            t.undeclared = vec!["storage:ledger".to_owned()];
        },
        "storage-undeclared",
        &["`ledger`", "`api-1`"],
    );
    // Any other unknown storage was told as a reference when the tree was read.
    accepted(|t, _| {
        t.storages.remove(0);
    });
}

#[test]
fn a_snapshot_is_judged_against() {
    let seen = RuntimeSnapshot { networks: Answer::Known(BTreeMap::default()), ..RuntimeSnapshot::default() };
    let snapshot = Snapshot { schema: 1, runtimes: [(WEST.to_owned(), seen)].into(), ..Snapshot::default() };
    let found = check(&harbor(), &Records::default(), Some(&snapshot), &request());
    assert!(found.iter().any(|d| d.message.contains("vpc-0ab00000000000001")), "{found:?}");
    assert!(found.iter().all(|d| d.code != "account-not-judged"));
}
