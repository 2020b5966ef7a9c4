//! What each type refuses, each kind of fault once, with its place and what to do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::*;
use csis_kinds::registry;
use csis_values::fields::Fields;
use csis_values::snapshot::RuntimeSnapshot;
use csis_values::tree::Storage;
use csis_values::{Class, Diagnostics, Spanned};
use serde_json::{Value, json};

/// The change to a good entry, and what the only finding names.
fn refused(class: Class, kind: &str, good: &Value, changes: &[(&str, Value, &[&str])]) {
    assert_eq!(findings(class, kind, good), [], "{kind}");
    for (key, value, words) in changes {
        let mut entry = good.clone();
        entry.as_object_mut().unwrap().insert((*key).into(), value.clone());
        let found = findings(class, kind, &entry);
        assert_eq!(found.len(), 1, "{kind}: {key}: {value}: {found:?}");
        for word in *words {
            assert!(found[0].1.contains(word), "{kind}: {key}: {value}: {found:?}");
        }
    }
}

#[test]
fn backends() {
    let s3 = json!({"bucket": "b", "key": "k/"});
    let changes: &[(&str, Value, &[&str])] = &[
        ("bucket", json!(" "), &["it", "bucket"]),
        ("key", json!("/"), &["it", "key"]),
        ("key", json!("a/../b"), &["..", "a/../b"]),
    ];
    refused(Class::StateBackend, "s3", &s3, changes);
    let keys = registry::find(Class::StateBackend, "s3").unwrap().kind().refused_keys();
    assert!(
        ["access_key", "secret_key", "skips_credentials_validation", "required_plugins"]
            .iter()
            .all(|k| keys.iter().any(|(key, _)| key == k))
    );
    let changes: &[(&str, Value, &[&str])] = &[
        ("path", json!("  "), &["blank"]),
        ("path", json!("/"), &["root of the file system"]),
        ("path", json!("a/../b"), &["a/../b"]),
        ("path", json!(".."), &[".."]),
    ];
    refused(Class::StateBackend, "local", &json!({"path": "./state"}), changes);
    assert_eq!(findings(Class::StateBackend, "local", &json!({"path": "."})), []);
}

#[test]
fn a_runtime_s_networking() {
    let good = runtime();
    let with = |key: &str, value: Value| {
        let mut networking = networking();
        networking.as_object_mut().unwrap().insert(key.into(), value);
        networking
    };
    let subnet = |name: &str, default: bool| json!({"name": name, "subnet_id": name, "is_default": default});
    let changes: &[(&str, Value, &[&str])] = &[
        ("networking", Value::Null, &["it", "networking"]),
        ("networking", with("subnets", json!([])), &["vpc-1", "no subnets"]),
        ("networking", with("subnets", json!([subnet("a", false)])), &["vpc-1", "no default subnet"]),
        ("networking", with("subnets", json!([subnet("a", true), subnet("b", true)])), &["`a`", "`b`"]),
        ("networking", with("addl_security_groups", json!(["1", "2", "3", "4", "5", "6"])), &["6", "5"]),
        ("networking", with("name", json!("  ")), &["blank"]),
        ("session_mechanism", json!("iap"), &["it", "iap"]),
        ("default_machine_type", json!(""), &["default_machine_type"]),
        ("account_id", json!("1234"), &["1234"]),
    ];
    refused(Class::Runtime, "aws", &good, changes);
    assert_eq!(
        findings(
            Class::Runtime,
            "aws",
            &json!({"region": "r", "networking": networking(), "session_mechanism": " SSM "})
        ),
        []
    );
}

#[test]
fn a_runtime_is_compared_with_the_account() {
    let runtime = builder(Class::Runtime, "aws", "west", &runtime());
    let judge = |snapshot: Value| {
        let snapshot: RuntimeSnapshot = serde_json::from_value(snapshot).unwrap();
        let mut found = Diagnostics::default();
        registry::runtime(&runtime).unwrap().check_against(&runtime, &snapshot, &mut found);
        told(&found).into_iter().map(|(code, _)| code).collect::<Vec<_>>()
    };
    let subnet = |vpc: &str| json!({"network": vpc});
    assert!(judge(json!({})).is_empty());
    assert_eq!(judge(json!({"networks": {"known": {"vpc-2": {}}}})), ["unknown-network"]);
    let networks = json!({"known": {"vpc-1": {}}});
    let subnets =
        json!({"known": {"subnet-a": subnet("vpc-1"), "subnet-a2": subnet("vpc-1"), "subnet-b": subnet("vpc-1")}});
    assert_eq!(judge(json!({"networks": networks, "subnets": subnets})), ["subnet-not-in-network"]);
    assert!(judge(json!({"networks": networks, "subnets": {"known": {}}})).is_empty());
    assert_eq!(judge(json!({"security_groups": {"known": ["sg-2"]}})), ["unknown-security-group"; 2]);
    assert!(judge(json!({"security_groups": {"unavailable": "denied"}})).is_empty());
}

#[test]
fn operating_systems() {
    let entry = |builder: &str| json!({"name": "e", "image_builder": builder});
    let good = json!({"family": "rhel", "family_version": "9.4", "runtimes": [entry("bake")], "update": {"policy": "security", "exclude": ["a"]}});
    let changes: &[(&str, Value, &[&str])] = &[
        ("family_version", json!("7"), &["it", "7", "8, 9, 10"]),
        ("family_version", json!("nine"), &["nine"]),
        ("runtimes", json!([]), &["it"]),
        ("runtimes", json!([entry("bake"), entry("bake")]), &["it", "bake"]),
        ("default_primary_disk_size", json!("40G"), &["40G"]),
        ("admin_user", json!(" "), &["admin_user"]),
        ("admin_public_keys", json!(["ssh-dss AAAA"]), &["ssh-dss"]),
        ("update", json!({"policy": "packages"}), &["packages"]),
        ("update", json!({"pin": {"p": "1 2"}}), &["`p`", "1 2"]),
        ("update", json!({"pin": {"p": ""}}), &["`p`"]),
        ("update", json!({"packages": ["a"], "exclude": ["a"]}), &["`a`"]),
        ("tests", json!({"files": [{"path": ""}]}), &["path"]),
        ("tests", json!({"post_bake": {"mounts": ["mnt"]}}), &["mnt"]),
    ];
    refused(Class::OsBuilder, "rhel", &good, changes);
    for kind in ["fedora", "debian", "ubuntu"] {
        assert_eq!(
            findings(Class::OsBuilder, kind, &json!({"family": kind, "family_version": "1", "runtimes": []})).len(),
            1
        );
    }
    let changes: &[(&str, Value, &[&str])] = &[
        ("update", json!({"policy": "security"}), &["alpine", "security"]),
        ("update", json!({"policy": "full", "exclude": ["a"]}), &["exclude"]),
    ];
    refused(Class::OsBuilder, "alpine", &json!({"runtimes": [entry("bake")], "update": {"policy": "full"}}), changes);
}

#[test]
fn modifications() {
    let changes: &[(&str, Value, &[&str])] = &[
        ("configuration_user", json!("root"), &["it", "root"]),
        ("environment_vars", json!(["no value"]), &["KEY=value"]),
    ];
    refused(Class::ModBuilder, "bash-remote", &json!({"execute_command": "x", "environment_vars": ["A=b"]}), changes);

    let judge = |kind: &str, item: Value| {
        let builder = builder(Class::ModBuilder, kind, "it", &json!({}));
        let mut found = Diagnostics::default();
        registry::modification(&builder).unwrap().check_item("site", &fields(&item), &mut found);
        told(&found)
    };
    for (kind, item, word) in [
        ("ansible", json!({}), "playbooks"),
        ("ansible", json!({"playbooks": []}), "playbooks"),
        ("ansible", json!({"playbooks": ["a/x.yml", "b/x.yml"]}), "x.yml"),
        ("bash-remote", json!({"script": ["  "]}), "does nothing"),
        ("bash-remote", json!({"ensure": {"packages": []}}), "empty"),
        ("bash-remote", json!({"ensure": {"packages": ["a", ""]}}), "number 2"),
        ("bash-remote", json!({"ensure": {"commands": [{"run": " "}]}}), "run"),
        ("bash-remote", json!({"scripts": ["a/site.sh", "site.sh"]}), "site.sh"),
    ] {
        let found = judge(kind, item.clone());
        assert!(found.len() == 1 && found[0].1.contains("`site`") && found[0].1.contains(word), "{item}: {found:?}");
    }
    assert_eq!(judge("bash-remote", json!({"script": ["true"]})), []);
}

#[test]
fn a_modification_s_content_moves_with_its_files_and_lines() {
    let bash = builder(Class::ModBuilder, "bash-remote", "it", &json!({}));
    let kind = registry::modification(&bash).unwrap();
    let item: Fields = fields(&json!({"script": ["a", " "], "scripts": ["s.sh"], "config": {"level": "1"}}));
    let file = |sum: &str| csis_values::tree::TreeFile { mode: 0o755, bytes: Vec::new(), sha256: sum.into() };
    let content = |sum: &str| kind.content(&item, &[("s.sh".to_owned(), file(sum))].into());
    assert_ne!(content("1"), content("2"));
    assert_eq!(content("1")["script"], json!(["a"]));
    assert_eq!(
        (kind.idempotence(&item), kind.idempotence(&fields(&json!({"ensure": {"packages": ["jq"]}})))),
        ("unknown", "declared")
    );
}

fn storage_findings(storage: &Storage) -> Vec<(String, String)> {
    let mut tree = tree();
    tree.storages = vec![storage.clone()];
    let builder = tree.builder(Class::StorageBuilder, &storage.builder).unwrap();
    let mut found = Diagnostics::default();
    registry::storage(builder).unwrap().check_storage(&tree, builder, storage, &mut found);
    told(&found)
}

#[test]
fn a_storage_s_lifecycle() {
    for (builder, lifecycle, words) in [
        ("volumes", json!({"ia_days": 14}), &["lifecycle"][..]),
        ("shares", json!({"ia_days": 15}), &["15"]),
        ("shares", json!({"archive_days": 30}), &["30"]),
        ("shares", json!({"ia_day": 30}), &["ia_day"]),
        ("shares", json!({"ia_days": true}), &["true"]),
        ("buckets", json!({"storage_class": "GLACIER", "expire_days": 3}), &["transition_days"]),
        ("buckets", json!({"transition_days": 3}), &["storage_class"]),
        ("buckets", json!({"transition_days": 3, "storage_class": "COLD"}), &["COLD"]),
        ("buckets", json!({"expire_days": 0}), &["0"]),
        ("buckets", json!({"prefix": "a"}), &["does nothing"]),
        ("buckets", json!({"expire_days": 3, "days": 4}), &["days"]),
    ] {
        let mut it = storage("it", builder);
        it.lifecycle = Some(fields(&lifecycle));
        let found = storage_findings(&it);
        assert_eq!(found.len(), 1, "{builder} {lifecycle}: {found:?}");
        assert!(
            found[0].1.contains("`it`") && words.iter().all(|w| found[0].1.contains(w)),
            "{builder} {lifecycle}: {found:?}"
        );
    }
    for (builder, lifecycle) in [
        ("shares", json!({"ia_days": 1, "archive_days": 365})),
        ("buckets", json!({"transition_days": 60, "storage_class": "GLACIER_IR", "expire_days": 400, "prefix": "a/"})),
    ] {
        let mut it = storage("it", builder);
        it.lifecycle = Some(fields(&lifecycle));
        assert_eq!(storage_findings(&it), []);
    }
}

#[test]
fn buckets_have_names_s3_accepts_and_one_identity() {
    let mut it = storage("it", "buckets");
    it.bucket_name = Some(Spanned::new("Not_A_Bucket".into(), place()));
    assert_eq!(storage_findings(&it)[0].0, "bucket-name");
    it.bucket_name = None;
    let tree = tree();
    let builder = tree.builder(Class::StorageBuilder, "buckets").unwrap();
    assert_eq!(registry::storage(builder).unwrap().shared_identity(builder, &it).as_deref(), Some("harbor-default"));
    let mut volume = storage("it", "volumes");
    volume.bucket_name = Some(Spanned::new("b".into(), place()));
    assert_eq!(storage_findings(&volume)[0].0, "unused-bucket-name");
}

#[test]
fn names_that_make_no_address_and_requirements_that_cannot_hold() {
    assert_eq!(storage_findings(&storage("a\"b", "volumes"))[0].0, "odd-name");
    assert_eq!(storage_findings(&storage("öffentlich-1", "volumes")), []);
    for (plugins, code) in [
        (json!([{"name": "aws", "version": "about 5"}]), "version-constraint"),
        (json!([{"name": "aws", "source": "a/aws"}, {"name": "aws", "source": "b/aws"}]), "two-sources"),
    ] {
        for (class, kind) in [
            (Class::InstanceBuilder, "tofu"),
            (Class::StorageBuilder, "tf-aws-ebs"),
            (Class::ImageBuilder, "packer-ebs"),
        ] {
            assert_eq!(findings(class, kind, &json!({"required_plugins": plugins}))[0].0, code);
        }
    }
    assert_eq!(
        findings(
            Class::InstanceBuilder,
            "tofu",
            &json!({"required_plugins": [{"name": "aws", "version": ">= 5.0, < 6, != 5.1.0-beta1, ~> 5"}]})
        ),
        []
    );
    assert_eq!(findings(Class::GroupBuilder, "posix", &json!({"shell": "bash"}))[0].0, "login-shell");
}
