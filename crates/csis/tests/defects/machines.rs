//! Launched machines and their devices.

use super::Harbor;
use std::fmt::Write;

/// The standing tree whose machine api-1 also mounts two more volumes, on the next devices.
fn three_volumes() -> Harbor {
    let harbor = Harbor::new();
    harbor.add_records();
    let mount = |name: &str| format!("      - {{name: {name}, mount_point: /mnt/{name}}}\n");
    harbor.write(
        "storages/more.yaml",
        "storages:\n  - {name: second, groups: [crew]}\n  - {name: third, groups: [crew]}\n",
    );
    harbor.edit("instances/instances.yaml", &mount("ledger"), &(mount("ledger") + &mount("second") + &mount("third")));
    let records = harbor.read("meta-state/launch-params.yaml");
    let (before, after) = records.split_once("    - builder: shares\n").unwrap();
    let recorded = |name: &str, device: &str| {
        format!(
            "    - builder: volumes\n      device: {device}\n      group: crew\n      mount_point: /mnt/{name}\n      public_read: false\n      share_mode: '2770'\n      storage: {name}\n      type: ebs\n"
        )
    };
    let more = recorded("second", "/dev/xvdg") + &recorded("third", "/dev/xvdh");
    harbor.write("meta-state/launch-params.yaml", format!("{before}{more}    - builder: shares\n{after}"));
    harbor.csis(&["validate"]).ends(0);
    harbor
}

#[test]
fn any_volume_may_be_detached_and_the_others_keep_their_devices() {
    for gone in ["ledger", "second", "third"] {
        let harbor = three_volumes();
        harbor.edit("instances/instances.yaml", &format!("      - {{name: {gone}, mount_point: /mnt/{gone}}}\n"), "");
        harbor.csis(&["generate"]).ends(0);
        let machine = harbor.emitted("instance-api_1.tf");
        for (name, device) in [("ledger", "xvdf"), ("second", "xvdg"), ("third", "xvdh")] {
            assert_eq!(machine.contains(&format!("/dev/{device}")), name != gone, "{gone} goes: {machine}");
        }
    }
}

#[test]
fn a_new_mount_takes_the_first_free_device() {
    let harbor = three_volumes();
    harbor.edit(
        "instances/instances.yaml",
        "{name: second, mount_point: /mnt/second}",
        "{name: fourth, mount_point: /mnt/fourth}",
    );
    harbor.edit("storages/more.yaml", "  - {name: third", "  - {name: fourth, groups: [crew]}\n  - {name: third");
    let said = harbor.csis(&["generate"]);
    if said.code == Some(0) {
        let machine = harbor.emitted("instance-api_1.tf");
        assert!(machine.contains("/dev/xvdg") && machine.contains("fourth"), "{machine}");
    } else {
        // A launched machine's parameters may not grow a mount without being said to be replaced.
        said.ends(1).tells(&["api-1", "fourth"]);
    }
}

#[test]
fn the_order_of_mounts_and_a_share_mode_are_no_launch_parameters() {
    let harbor = Harbor::standing();
    harbor.edit(
        "instances/instances.yaml",
        "      - {name: ledger, mount_point: /mnt/ledger}\n      - {name: depot, mount_point: /mnt/depot}\n    userdata",
        "      - {name: depot, mount_point: /mnt/depot}\n      - {name: ledger, mount_point: /mnt/ledger}\n    userdata",
    );
    harbor.edit("storages/storages.yaml", "2775", "2770");
    harbor.csis(&["validate"]).ends(0);
    harbor.csis(&["generate"]).ends(0);
    assert!(harbor.emitted("instance-api_1.tf").contains("/dev/xvdf"));
}

#[test]
fn a_machine_has_as_many_volumes_as_there_are_devices() {
    let with = |volumes: usize| {
        let harbor = Harbor::new();
        let (mut storages, mut mounts) = (String::new(), String::new());
        for n in 1..=volumes {
            let _ = writeln!(storages, "  - {{name: v{n}, groups: [crew]}}");
            let _ = writeln!(mounts, "      - {{name: v{n}, mount_point: /mnt/v{n}}}");
        }
        harbor.write("storages/more.yaml", format!("storages:\n{storages}"));
        harbor.edit("instances/instances.yaml", "      - {name: ledger, mount_point: /mnt/ledger}\n", &mounts);
        harbor
    };
    let full = with(21);
    full.csis(&["generate"]).ends(0);
    let machine = full.emitted("instance-api_1.tf");
    assert!(machine.contains("/dev/xvdz") && !machine.contains("/dev/xvd{"), "{machine}");
    with(22).csis(&["generate"]).ends(1).tells(&["api-1", "21", "instances/instances.yaml:"]);
}
