//! The rules that hold a tree against its records: what stands is not lost, moved or changed by accident.
#![allow(clippy::unwrap_used)]

mod judging;
mod support;

use csis_values::records::{Generations, GroupRecord, LaunchMount, LocationRecord, Records, StorageRecord};
use csis_values::tree::*;
use csis_values::{Class, Severity};
use judging::*;
use serde_json::json;
use support::*;

/// api-1 stands as it is declared.
fn stands(tree: &Tree, records: &mut Records) {
    let mut launch = launch("ami-api", &[("ledger", Some("/dev/xvdf")), ("depot", None)]);
    launch.userdata = Some(tree.instances[0].userdata.clone());
    launch.image = Some("harbor-api".to_owned());
    launch.group = Some("crew".to_owned());
    launch.session = Some("ssm".to_owned());
    launch.launched_run = Some("R5".to_owned());
    records.launches.insert("api-1".to_owned(), launch);
    records.pins.instances.insert("api-1".to_owned(), "ami-api".to_owned());
    records.builds.push(build("harbor-api", "ami-api"));
}

#[test]
fn a_new_storage_starts_active() {
    for state in [StorageState::Archived, StorageState::Destroyed] {
        refused(
            |t, _| t.storages[0].state = spanned(state),
            "storage-transition",
            &["`ledger`", state.name(), "active"],
        );
    }
}

fn ledger_free(state: &str, to: StorageState) -> impl FnOnce(&mut Tree, &mut Records) + use<'_> {
    move |t, r| {
        r.storages.insert("ledger".to_owned(), storage_record("volumes", state));
        t.storages[0].state = spanned(to);
        t.instances[0].mounts.remove(0);
    }
}

#[test]
fn storages_move_between_states_as_they_may() {
    use StorageState::{Active, Archived, Destroyed};
    for (from, to) in [
        ("active", Active),
        ("active", Archived),
        ("archived", Active),
        ("archived", Archived),
        ("active", Destroyed),
        ("archived", Destroyed),
        ("destroyed", Active),
        ("destroyed", Destroyed),
    ] {
        accepted(ledger_free(from, to));
    }
    refused(ledger_free("destroyed", Archived), "storage-transition", &["`ledger`", "destroyed", "archived"]);
}

#[test]
fn a_mounted_storage_stays_active() {
    for state in [StorageState::Archived, StorageState::Destroyed] {
        refused(
            |t, r| {
                r.storages.insert("ledger".to_owned(), storage_record("volumes", "active"));
                t.storages[0].state = spanned(state);
            },
            "storage-attached",
            &["`ledger`", state.name(), "`api-1`"],
        );
    }
}

#[test]
fn only_volumes_archive() {
    refused(
        |t, r| {
            r.storages.insert("vault".to_owned(), storage_record("buckets", "active"));
            t.storages[2].state = spanned(StorageState::Archived);
            t.instances[2].mounts.clear();
        },
        "storage-archive-unsupported",
        &["`vault`", "`buckets`"],
    );
}

#[test]
fn a_live_storage_stays_in_its_root() {
    refused(
        |_, r| {
            r.storages.insert("ledger".to_owned(), storage_record("shares", "active"));
        },
        "storage-moved",
        &["`ledger`", "`shares`", "`volumes`"],
    );
    accepted(|_, r| {
        r.storages.insert("ledger".to_owned(), storage_record("shares", "destroyed"));
    });
}

#[test]
fn an_undeclared_storage_has_a_root_that_takes_it_down() {
    refused(
        |_, r| {
            r.storages.insert("old".to_owned(), StorageRecord { builder: None, ..storage_record("", "active") });
        },
        "storage-orphaned",
        &["`old`", "active"],
    );
    refused(
        |_, r| {
            r.storages.insert("old".to_owned(), storage_record("gone", "archived"));
        },
        "storage-orphaned",
        &["`old`", "`gone`"],
    );
    accepted(|_, r| {
        r.storages.insert("old".to_owned(), storage_record("volumes", "active"));
        r.storages.insert("older".to_owned(), storage_record("gone", "destroyed"));
    });
}

#[test]
fn a_bucket_that_is_about_to_be_wiped_is_not_taken_over() {
    refused(
        |_, r| {
            let leaving = StorageRecord {
                bucket_name: Some("harbor-vault".to_owned()),
                kind: Some("s3".to_owned()),
                ..storage_record("buckets", "active")
            };
            r.storages.insert("safe".to_owned(), leaving);
        },
        "storage-shared",
        &["`vault`", "`safe`", "harbor-vault"],
    );
}

#[test]
fn state_does_not_move_under_what_stands() {
    let elsewhere = |r: &mut Records, workspace: &str| {
        let location = "s3://harbor-state/old/ws.tfstate".to_owned();
        r.locations.insert(workspace.to_owned(), LocationRecord { location, ..LocationRecord::default() });
    };
    refused(
        |_, r| {
            elsewhere(r, "volumes");
            r.storages.insert("ledger".to_owned(), storage_record("volumes", "active"));
        },
        "state-location-moved",
        &[
            "`volumes`",
            "s3://harbor-state/old/ws.tfstate",
            "s3://harbor-state/roots/harbor/volumes.tfstate",
            "`ledger`",
        ],
    );
    refused(
        |t, r| {
            elsewhere(r, "fleet");
            stands(t, r);
        },
        "state-location-moved",
        &["`fleet`", "`api-1`"],
    );
    // The record of a machine that is no longer declared does not say which root holds it.
    refused(
        |t, r| {
            elsewhere(r, "fleet");
            stands(t, r);
            t.instances.remove(0);
        },
        "state-location-moved",
        &["`fleet`", "`api-1`"],
    );
    let (tree, mut records) = (harbor(), Records::default());
    elsewhere(&mut records, "volumes");
    let found = judge(&tree, &records);
    assert!(found.iter().any(|d| d.code == "state-location-moves" && d.severity == Severity::Note), "{found:?}");
}

#[test]
fn managed_groups_do_not_vanish() {
    let recorded = |managed| GroupRecord { builder: Some("posix-groups".to_owned()), managed };
    refused(
        |_, r| {
            r.groups.insert("dock".to_owned(), recorded(true));
        },
        "group-vanished",
        &["`dock`"],
    );
    accepted(|_, r| {
        r.groups.insert("dock".to_owned(), recorded(false));
        r.groups.insert("crew".to_owned(), recorded(true));
    });
}

type Change = fn(&mut Tree);

#[test]
fn a_standing_machine_keeps_what_it_was_launched_with() {
    accepted(|t, r| stands(t, r));
    let changes: [(Change, &str); 6] = [
        (|t| t.instances[0].image = Some(text("harbor-base")), "`image` (`harbor-api` to `harbor-base`)"),
        (|t| t.instances[0].userdata = "true\n".to_owned(), "`userdata`"),
        (|t| t.instances[0].ephemeral = true, "`ephemeral`"),
        (|t| t.instances[0].mounts[0].mount_point = text("/mnt/books"), "from `/mnt/ledger` to `/mnt/books`"),
        (|t| t.storages.push(storage("extra", "volumes", &["crew"])), ""),
        (
            |t| {
                t.storages.push(storage("extra", "volumes", &["crew"]));
                t.instances[0].mounts.insert(0, mount("extra", "/mnt/extra"));
            },
            "`extra` is added",
        ),
    ];
    for (change, said) in changes {
        let both = |t: &mut Tree, r: &mut Records| {
            stands(t, r);
            change(t);
        };
        if said.is_empty() {
            accepted(both);
        } else {
            refused(both, "launch-parameters", &["`api-1`", "`R5`", said]);
        }
    }
}

#[test]
fn what_may_change_on_a_standing_machine() {
    // Its type, the order of mounts, a mount taken away, the mode of a storage.
    accepted(|t, r| {
        stands(t, r);
        t.instances[0].machine_type = Some("m7i.xlarge".to_owned());
        t.instances[0].mounts.reverse();
        t.storages[0].share_mode = "2775".to_owned();
    });
    accepted(|t, r| {
        stands(t, r);
        t.instances[0].mounts.remove(0);
    });
}

#[test]
fn a_machine_about_to_be_replaced_may_change() {
    let changed = |t: &mut Tree, r: &mut Records| {
        stands(t, r);
        t.instances[0].userdata = "true\n".to_owned();
    };
    accepted(|t, r| {
        changed(t, r);
        r.pins.pending_replacements.insert("api-1".to_owned(), "ami-api".to_owned());
    });
    accepted(|t, r| {
        changed(t, r);
        t.instances[0].image_policy = Policy::Follow;
        r.builds.push(build("harbor-api", "ami-newer"));
    });
    refused(
        |t, r| {
            changed(t, r);
            t.instances[0].image_policy = Policy::Follow;
        },
        "launch-parameters",
        &["`api-1`"],
    );
}

#[test]
fn a_storage_of_another_type_is_another_mount() {
    refused(
        |t, r| {
            stands(t, r);
            let mounts = &mut r.launches.get_mut("api-1").unwrap().mounts;
            mounts[1] = LaunchMount { kind: Some("ebs".to_owned()), ..mounts[1].clone() };
        },
        "launch-parameters",
        &["`depot`", "`ebs`"],
    );
}

#[test]
fn a_pinned_build_has_what_was_stamped_on_it() {
    let pinned = |r: &mut Records, storage_types: &[&str]| {
        let mut stamped = build("harbor-edge", "ami-edge");
        stamped.stamped = true;
        stamped.identity_types = vec!["posix".to_owned()];
        stamped.storage_types = storage_types.iter().map(|t| (*t).to_owned()).collect();
        r.builds.push(stamped);
        r.pins.instances.insert("edge-1".to_owned(), "ami-edge".to_owned());
    };
    refused(
        |_, r| pinned(r, &["ebs"]),
        "capability-undeclared",
        &["`edge-1`", "`vault`", "`s3`", "`ami-edge`", "`noble`"],
    );
    // What the tree declares today says nothing about it.
    accepted(|t, r| {
        pinned(r, &["s3"]);
        set(t, Class::OsBuilder, "noble", "storage_types", &json!([]));
    });
    // An image that keeps its parent gets what the parent has.
    refused(
        |t, r| {
            let mut parent = build("noble", "ami-noble");
            parent.stamped = true;
            parent.identity_types = vec!["posix".to_owned()];
            r.builds.push(parent);
            r.pins.images.insert(format!("harbor-edge@{WEST}"), "ami-noble".to_owned());
            t.instances.truncate(3);
        },
        "capability-undeclared",
        &["`edge-1`", "`s3`", "`ami-noble`"],
    );
}

#[test]
fn machines_stand_on_released_builds_where_that_is_required() {
    let required = |t: &mut Tree, r: &mut Records| {
        t.config.require_released_builds = true;
        r.pins.instances.insert("api-1".to_owned(), "ami-api".to_owned());
        r.builds.push(build("harbor-api", "ami-api"));
    };
    refused(required, "build-not-released", &["`api-1`", "`ami-api`", "`harbor-api`"]);
    accepted(|t, r| {
        required(t, r);
        r.released.insert("ami-api".to_owned());
    });
    // Grace: the newest build, stood on or about to be, whose tests did not fail.
    accepted(|t, r| {
        required(t, r);
        stands(t, r);
    });
    refused(
        |t, r| {
            required(t, r);
            stands(t, r);
            r.image_tests.insert("ami-api".to_owned(), false);
        },
        "build-not-released",
        &["`ami-api`"],
    );
    refused(
        |t, r| {
            required(t, r);
            stands(t, r);
            r.builds.push(build("harbor-api", "ami-newer"));
        },
        "build-not-released",
        &["`ami-api`"],
    );
}

#[test]
fn the_alias_pool_holds_free_hostnames() {
    for (pool, said) in [
        ("heron\nswan_1\n", "line 2"),
        ("heron\n\nHeron\n", "line 3"),
        ("api-1\n", "`api-1`"),
        ("# x\nedge-1-001\n", "`edge-1`"),
    ] {
        refused(|_, r| r.aliases = Some(pool.to_owned()), "alias-pool", &[said]);
    }
    let records = Records { aliases: Some("# heron  -- instance api-1\n".to_owned()), ..Records::default() };
    let found = judge(&harbor(), &records);
    assert!(found.iter().any(|d| d.code == "alias-pool-empty" && d.severity == Severity::Warning), "{found:?}");
    accepted(|_, r| r.aliases = Some("heron\nswan\n".to_owned()));
}

#[test]
fn a_hostname_counts_the_generations() {
    refused(
        |t, r| {
            let name = "e".repeat(59);
            r.generations.insert(name.clone(), Generations { durable: 999, ..Generations::default() });
            t.instances[2].name = csis_values::Name::new(&name);
        },
        "hostname",
        &["-1000", "64"],
    );
    // A standing machine keeps the name it has, however it was made.
    accepted(|t, r| {
        let mut launch = launch("ami-edge", &[("vault", None)]);
        launch.hostname = Some("edge_1".to_owned());
        r.launches.insert("edge_1".to_owned(), launch);
        t.instances[2].name = csis_values::Name::new("edge_1");
    });
}
