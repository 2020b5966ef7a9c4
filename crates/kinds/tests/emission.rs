//! What each type emits: settings, blocks and module arguments, as the printer would see them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::*;
use csis_kinds::{head, registry};
use csis_values::intent::{BuildRef, Content, InstanceIntent};
use csis_values::{Class, Spanned};
use serde_json::json;

fn settings(kind: &str, value: &serde_json::Value, remote: bool) -> (String, String) {
    let backend = builder(Class::StateBackend, kind, "it", value);
    let kind = registry::state(&backend).unwrap();
    let settings = if remote { kind.remote_state(&backend, "fleet") } else { kind.settings(&backend, "fleet") };
    (kind.location(&backend, "fleet"), text(&csis_kinds::ast::body(csis_kinds::ast::sets(settings))))
}

#[test]
fn the_s3_backend_passes_on_what_differs_from_its_default() {
    let (location, settings_) =
        settings("s3", &json!({"bucket": "b", "key": "/roots//harbor/", "profile": "p"}), false);
    assert_eq!(location, "s3://b/roots/harbor/fleet.tfstate");
    assert_eq!(
        settings_,
        "bucket = \"b\"\nkey = \"roots/harbor/fleet.tfstate\"\nregion = \"us-east-2\"\nencrypt = false\nuse_lockfile = true\nprofile = \"p\"\n"
    );
    let more = json!({
        "bucket": "b", "key": "k", "region": "r", "max_retries": 5, "insecure": false, "no_proxy": ["a", "b"], "skip_s3_checksum": true,
        "shared_config_file": "f", "endpoints": {"s3": "http://x", "iam": null},
        "assume_role": {"session_name": "n", "role_arn": "arn", "tags": {"a": "b"}},
    });
    let (_, remote) = settings("s3", &more, true);
    let names: Vec<&str> = remote
        .lines()
        .filter(|l| l.contains(" = ") && !l.starts_with(' '))
        .filter_map(|l| l.split(' ').next())
        .collect();
    let expected =
        ["bucket", "key", "region", "no_proxy", "shared_config_files", "skip_s3_checksum", "endpoints", "assume_role"];
    assert_eq!(names, expected);
    assert!(remote.contains("no_proxy = \"a,b\"") && remote.contains("role_arn = \"arn\""), "{remote}");
    assert!(remote.find("role_arn").unwrap() < remote.find("session_name").unwrap(), "{remote}");
    assert!(!remote.contains("iam") && !remote.contains("max_retries"), "{remote}");
}

#[test]
fn the_local_backend_keeps_its_files_under_the_configuration_root() {
    for (path, location, file) in [
        (json!({}), "local://state/fleet.tfstate", "../../../../state/fleet.tfstate"),
        (json!({"path": "./a//b/"}), "local://a/b/fleet.tfstate", "../../../../a/b/fleet.tfstate"),
        (json!({"path": "."}), "local://fleet.tfstate", "../../../../fleet.tfstate"),
        (json!({"path": "/srv/s"}), "local:///srv/s/fleet.tfstate", "/srv/s/fleet.tfstate"),
    ] {
        let (at, settings) = settings("local", &path, false);
        assert_eq!((at.as_str(), settings), (location, format!("path = \"{file}\"\n")));
    }
}

fn instance_root(machine: &InstanceIntent, tree: &csis_values::tree::Tree) -> String {
    let root = root(tree, Class::InstanceBuilder, "fleet", Content::Instances { instances: vec![machine.clone()] });
    with_site(tree, &root, Class::InstanceBuilder, |site| {
        let files = registry::instance(site.builder).unwrap().root_files(site);
        text(&files["fleet-instance-generation.tf"])
    })
}

#[test]
fn an_instance_root_has_its_head_its_variables_and_its_network() {
    let mut machine = instance();
    machine.ephemeral = true;
    let told = instance_root(&machine, &tree());
    let heads: Vec<&str> = told.lines().filter(|l| !l.starts_with([' ', '}']) && !l.is_empty()).collect();
    assert_eq!(
        heads,
        [
            "terraform {",
            "provider \"aws\" {",
            "variable \"api_1_ami_id\" {",
            "variable \"ephemeral_present\" {",
            "variable \"sft_enrollment_token\" {",
            "data \"terraform_remote_state\" \"volumes\" {",
            "data \"aws_vpc\" \"csis_instances\" {",
            "resource \"aws_security_group\" \"csis_instances\" {",
        ]
    );
    for wanted in [
        "version = \">= 5.0.0\"",
        "backend \"s3\"",
        "alias = \"fleet\"",
        "profile = \"harbor\"",
        "provider = aws.fleet",
        "id = \"vpc-1\"",
        "security_groups = [\n      \"sg-1\"",
        "key = \"roots/harbor/volumes.tfstate\"",
        "create_before_destroy = true",
    ] {
        assert!(told.contains(wanted), "{wanted} is missing in\n{told}");
    }
}

#[test]
fn without_ingress_groups_the_network_may_open_ssh_and_the_default_network_is_looked_up() {
    let mut tree = tree();
    let mut networking = networking();
    let map = networking.as_object_mut().unwrap();
    map.remove("ssh_ingress_security_group_ids");
    map.insert("network".into(), "default".into());
    let mut runtime = runtime();
    runtime.as_object_mut().unwrap().insert("networking".into(), networking);
    tree.builders[0] = builder(Class::Runtime, "aws", "west", &runtime);
    let told = instance_root(&instance(), &tree);
    assert!(told.contains("default = true") && told.contains("data.aws_vpc.csis_instances.cidr_block"), "{told}");
    let mut depot = storage_intent("depot");
    depot.access = vec![access("crew", 4000, "2775")];
    assert!(storage_arguments(&tree, "shares", &depot).contains("vpc_id = data.aws_vpc.csis_network.id"));
    let root = root(&tree, Class::StorageBuilder, "shares", Content::Storages { storages: vec![depot] });
    let own = with_site(&tree, &root, Class::StorageBuilder, |site| text(&head::storage_root(site)));
    assert!(own.contains("data \"aws_vpc\" \"csis_network\"") && own.contains("source = \"hashicorp/aws\""), "{own}");
}

fn instance_arguments(machine: &InstanceIntent) -> (Vec<String>, String) {
    let tree = tree();
    let root = root(&tree, Class::InstanceBuilder, "fleet", Content::Instances { instances: vec![machine.clone()] });
    with_site(&tree, &root, Class::InstanceBuilder, |site| {
        let kind = registry::instance(site.builder).unwrap();
        let arguments = kind.arguments(site, machine);
        let names = arguments.iter().map(|(n, _)| n.clone()).collect();
        (names, text(&hcl::Body::from(head::module_call(site, "instance_api_1", kind.module(), arguments))))
    })
}

#[test]
fn a_machine_s_arguments_stand_in_their_order() {
    let mut machine = instance();
    machine.ephemeral = true;
    let (names, told) = instance_arguments(&machine);
    assert_eq!(
        names.join(" "),
        "count name ami_id ami_name_pattern instance_type associate_public_ip_address vpc_security_group_ids subnet_id iam_instance_profile tags user_data ebs_volumes"
    );
    for wanted in [
        "source = \"../../../../tfmodules/aws_instance\"",
        "count = var.ephemeral_present ? 1 : 0",
        "ami_id = var.api_1_ami_id",
        "ami_name_pattern = \"harbor-api-bake*\"",
        "templatefile(\"${path.module}/user-data-api_1.sh.tftpl\"",
        "data.terraform_remote_state.volumes.outputs.storage_ledger.volume_id",
        "data.terraform_remote_state.shares.outputs.storage_depot.access_point_ids[\"crew\"]",
        "\"group_gid\" = 4000",
        "aws_security_group.csis_instances.id",
    ] {
        assert!(told.contains(wanted), "{wanted} is missing in\n{told}");
    }

    machine.ephemeral = false;
    machine.build = BuildRef::Pinned { id: "ami-1".into() };
    machine.mounts.remove(0);
    machine.mounts[0].allowed = false;
    let (names, told) = instance_arguments(&machine);
    assert!(!names.iter().any(|n| ["count", "ami_name_pattern", "ebs_volumes"].contains(&n.as_str())), "{names:?}");
    assert!(
        told.contains("ami_id = \"ami-1\"")
            && told.contains("\"ebs\" = {}")
            && told.contains("public_read_access_point_id"),
        "{told}"
    );
}

#[test]
fn a_name_that_starts_with_a_digit_still_makes_a_variable() {
    let kind = tree().builders.iter().find_map(registry::instance).unwrap();
    assert_eq!(kind.image_variable(&csis_values::Name::new("1st-node")), "_1st_node_ami_id");
}

#[test]
fn the_arguments_of_storages() {
    let mut tree = tree();
    tree.storages[0].tags.insert("data".into(), "led\"${x}ger".into());
    let mut ledger = storage_intent("ledger");
    assert_eq!(
        storage_arguments(&tree, "volumes", &ledger),
        "volume_type = \"gp3\"\nname = \"ledger\"\nsize = 50\nsubnet_id = \"subnet-a\"\ntags = {\n  \"csis_config\" = \"harbor\"\n  \"data\" = \"led\\\"$${x}ger\"\n  \"team\" = \"harbor\"\n}\n"
    );
    ledger.restore_from = Some("csis-ledger-archive".into());
    tree.storages[0].availability_zone = Some(Spanned::new("z-b".into(), place()));
    let told = storage_arguments(&tree, "volumes", &ledger);
    assert!(
        told.contains("snapshot_name = \"csis-ledger-archive\"\navailability_zone = \"z-b\"\n")
            && !told.contains("subnet_id"),
        "{told}"
    );

    tree.storages[1].lifecycle = Some(fields(&json!({"ia_days": 14, "archive_days": "90"})));
    let mut depot = storage_intent("depot");
    depot.access = vec![access("audit", 4100, "2775"), access("crew", 4000, "2775")];
    let told = storage_arguments(&tree, "shares", &depot);
    for wanted in [
        "transition_to_ia = \"AFTER_14_DAYS\"\ntransition_to_archive = \"AFTER_90_DAYS\"\naccess_points = {\n  \"audit\" = {",
        "path = \"/crew\"",
        "vpc_id = \"vpc-1\"\nmount_target_subnet_ids = [\n  \"subnet-a\",\n  \"subnet-b\"\n]\nclient_security_group_ids",
    ] {
        assert!(told.contains(wanted), "{wanted} is missing in\n{told}");
    }

    tree.storages[2].groups = vec![Spanned::new("crew".into(), place()), Spanned::new("audit".into(), place())];
    tree.storages[2].lifecycle = Some(fields(&json!({"expire_days": 400})));
    tree.storages[2].public_read = true;
    let told = storage_arguments(&tree, "buckets", &storage_intent("vault"));
    assert!(told.starts_with("bucket_name = \"harbor-default\"\nlifecycle_rules = [\n"), "{told}");
    assert!(
        told.contains("expire_days = 400")
            && told.contains("transition_days = 0")
            && told.contains("public_read = true"),
        "{told}"
    );
    assert!(told.contains("group_prefixes = [\n  \"audit\",\n  \"crew\"\n]"), "{told}");
}
