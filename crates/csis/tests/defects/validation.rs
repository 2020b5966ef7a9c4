//! What a tree must agree on.

use super::{Harbor, refuses};
use serde_json::{Value, json};

#[test]
fn config_of_a_second_file_is_added() {
    let harbor = Harbor::new();
    harbor.edit("cfg/_config.yml", "  apply_instances: false\n", "");
    harbor.write("cfg/zz.yml", "config:\n  apply_instances: [aws-west]\n");
    harbor.csis(&["apply-check", "--lifecycle", "instances", "--root", "fleet", "--root-alias", "aws-west"]).ends(0);
    harbor.csis(&["apply-check", "--lifecycle", "storage", "--root", "volumes", "--root-alias", "aws-west"]).ends(0);
}

#[test]
fn a_storage_is_mounted_once() {
    refuses(
        &[(
            "instances/instances.yaml",
            "      - {name: ledger, mount_point: /mnt/ledger}\n",
            "      - {name: ledger, mount_point: /mnt/ledger}\n      - {name: ledger, mount_point: /mnt/again}\n",
        )],
        &["api-1", "ledger", "instances/instances.yaml:"],
    );
}

#[test]
fn a_public_key_that_is_none_is_refused() {
    for key in [
        "ssh-ed25519 AAAA mira",
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIE1Xh0Jc2Jm1y0YQ0Qm0Y3o8hQxk7l7Zr6o3m3J2c9Vd",
        "hello",
        "ssh-ed25519 not base64!",
    ] {
        let good = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE1Xh0Jc2Jm1y0YQ0Qm0Y3o8hQxk7l7Zr6o3m3J2c9Vd mira";
        refuses(&[("groups/users.yaml", good, key)], &["mira", "key", "groups/users.yaml:"]);
    }
}

#[test]
fn a_text_where_a_list_belongs_is_refused() {
    for (file, find, replace) in [
        ("images/images.yaml", "packages: [git]", "packages: git"),
        ("images/images.yaml", "scripts: [scripts/site.sh]", "scripts: scripts/site.sh"),
        ("storages/storages.yaml", "groups: [crew, audit]", "groups: crew"),
        ("groups/groups.yaml", "members: [lena]", "members: lena"),
    ] {
        refuses(&[(file, find, replace)], &["list", &format!("{file}:")]);
    }
}

#[test]
fn what_follows_from_a_misspelt_value_is_not_told_beside_it() {
    let harbor = Harbor::new();
    let subnet = "availability_zone: us-west-2a, is_default: ";
    harbor.edit("cfg/runtime-builders.yml", &format!("{subnet}true"), &format!("{subnet}ture"));
    let said = harbor.csis(&["validate"]).ends(1);
    said.tells(&["`networking.subnets[0].is_default` is `ture`", "1 error, 1 note"]);
}

#[test]
fn what_the_gate_goes_by_is_read_as_strictly_as_the_rest() {
    let gate = |written: &str| {
        let harbor = Harbor::new();
        harbor.edit("cfg/_config.yml", "config:\n", &format!("config:\n  gate: {written}\n"));
        harbor.csis(&["validate"])
    };
    gate("{extra_types: [aws_efs_backup_policy], max_data_losses: 1, confirm_data_loss: true}")
        .ends(0)
        .hides(&["gate"]);
    for (written, told) in [
        ("{max_data_losses: lots}", "`gate.max_data_losses` is `lots`"),
        ("{max_data_loses: 1}", "max_data_losses"),
        ("{extra_types: aws_iam_role}", "list"),
        ("{confirm_data_loss: never}", "true or false"),
    ] {
        gate(written).ends(1).tells(&[told, "cfg/_config.yml:"]);
    }
}

#[test]
fn a_tree_does_not_say_how_an_engine_is_called() {
    for argument in
        ["-target=x", "--destroy", "-refresh=false", "-lock=false", "-state=/tmp/x", "-var=a=b", "-chdir=/tmp"]
    {
        let harbor = Harbor::new();
        harbor.edit("cfg/executables.yml", "type: tofu,", &format!("type: tofu, args: [{argument:?}],"));
        harbor.csis(&["validate"]).ends(1).tells(&["engine-argument", argument, "cfg/executables.yml:"]);
    }
    let harbor = Harbor::new();
    harbor.edit("cfg/executables.yml", "type: tofu,", "type: tofu, args: [-no-color],");
    harbor.csis(&["validate"]).ends(0).tells(&["engine-argument-unused"]);
}

#[test]
fn an_alias_is_nobody_elses_name() {
    refuses(
        &[("cfg/storage-builders.yml", "name: shares\n", "name: shares\n    aliases: [volumes]\n")],
        &["volumes", "shares", "cfg/storage-builders.yml:"],
    );
}

#[test]
fn a_machine_its_image_and_its_storages_are_on_one_runtime() {
    let east = r#"runtime_builders:
  - name: aws-east
    type: aws
    account_id: "123456789012"
    region: us-east-1
    default_machine_type: t3.small
    credentials: {profile_name: harbor}
    networking:
      network: vpc-0ab00000000000002
      subnets: [{name: a, subnet_id: subnet-0ab0000000000002a, availability_zone: us-east-1a, is_default: true}]
storage_builders:
  - {name: east-volumes, type: tf-aws-ebs, runtime: aws-east, executable: engine}
instance_builders:
  - {name: east-fleet, type: tofu, runtime: aws-east, executable: engine}
"#;
    let harbor = Harbor::new();
    harbor.write("cfg/east.yml", east);
    harbor.csis(&["validate"]).ends(0);
    let machine = |extra: &str| format!("instances:\n  - name: far-1\n    image: harbor-api\n    {extra}\n");
    harbor.write("instances/far.yaml", machine("type: east-fleet\n    runtime: aws-east"));
    harbor.csis(&["validate"]).ends(1).tells(&["far-1", "harbor-api", "aws-east", "instances/far.yaml:"]);
    harbor.write("instances/far.yaml", machine("type: east-fleet\n    runtime: aws-west"));
    harbor.csis(&["validate"]).ends(1).tells(&["far-1", "aws-west", "instances/far.yaml:"]);
    harbor.write("instances/far.yaml", machine("storages: [{name: away, mount_point: /mnt/away}]"));
    harbor.write("storages/far.yaml", "storages:\n  - {name: away, type: east-volumes, groups: [crew]}\n");
    harbor.csis(&["validate"]).ends(1).tells(&["far-1", "away", "aws-east", "instances/far.yaml:"]);
}

#[test]
fn a_deadline_is_longer_than_nothing() {
    for time in ["0m", "0s", "0h", "-5m", "soon", "5"] {
        refuses(
            &[("instances/instances.yaml", "teardown_after: 45m", &format!("teardown_after: \"{time}\""))],
            &["teardown_after", "instances/instances.yaml:"],
        );
    }
}

#[test]
fn variables_of_images_do_not_clash() {
    let base = ("images/images.yaml", "    tags: {role: base}\n", "    tags: {role: base}\n    variables: {");
    let api = (
        "images/images.yaml",
        "    parent_policy: follow\n",
        "    parent_policy: follow\n    variables: {level: other}\n",
    );
    let with = |text: &str| format!("{}{text}}}\n", base.2);
    for text in ["release: x", "base_image_version: x", "level: [a, b]", "\"0bad\": x"] {
        refuses(
            &[(base.0, base.1, &with(text))],
            &[text.trim_matches('"').split(['"', ':']).next().unwrap(), "images/images.yaml:"],
        );
    }
    refuses(&[(base.0, base.1, &with("level: one")), api], &["level", "harbor-base", "harbor-api"]);
}

/// What only the account can tell is judged from a snapshot, and said to be not judged without one.
#[test]
fn the_account_is_judged_from_a_snapshot() {
    let harbor = Harbor::new();
    harbor.csis(&["validate"]).ends(0).tells(&["not judged", "security groups"]);
    let network = "vpc-0ab00000000000001";
    let subnets: serde_json::Map<String, Value> =
        ["subnet-0ab0000000000000a", "subnet-0ab0000000000000b", "subnet-0ab0000000000001a"]
            .into_iter()
            .zip(["us-west-2a", "us-west-2b", "us-west-2a"])
            .map(|(id, zone)| (id.to_owned(), json!({ "network": network, "availability_zone": zone })))
            .collect();
    let snapshot = |account: &str, groups: &[&str]| {
        json!({ "schema": 1, "time": "2026-03-01T12:00:00Z", "runtimes": { "aws-west": {
            "account": account, "region": "us-west-2", "networks": { "known": { network: {} } },
            "subnets": { "known": subnets }, "security_groups": { "known": groups },
        }}})
        .to_string()
    };
    let judge = |text: String| {
        harbor.write("snapshot.json", text);
        harbor.csis(&["--snapshot", "snapshot.json", "validate"])
    };
    judge(snapshot("123456789012", &["sg-0ab00000000000011"])).ends(0);
    judge(snapshot("123456789012", &[])).ends(1).tells(&["sg-0ab00000000000011", "cfg/runtime-builders.yml:"]);
    judge(snapshot("999999999999", &["sg-0ab00000000000011"])).ends(1).tells(&["999999999999", "123456789012"]);
    judge("{}".into()).ends(2);
}
