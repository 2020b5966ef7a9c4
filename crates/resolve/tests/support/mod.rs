//! Trees and records built by hand, so that the pure rooms are tested without a file.
#![allow(dead_code, clippy::unwrap_used, clippy::too_many_lines)]

use csis_values::fields::Fields;
use csis_values::node::{Entry, Node, Value};
use csis_values::records::{Build, Launch, LaunchMount, Records, StorageRecord};
use csis_values::request::Request;
use csis_values::tree::*;
use csis_values::{Class, Name, Place, Spanned};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

pub const WEST: &str = "aws-west";

pub fn at() -> Place {
    Place::new("test.yaml", 1, 1)
}

pub fn spanned<T>(value: T) -> Spanned<T> {
    Spanned::new(value, at())
}

pub fn text(value: &str) -> Spanned<String> {
    spanned(value.to_owned())
}

fn node(json: &Json) -> Node {
    let value = match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => n
            .as_i64()
            .map_or_else(|| Value::Float(n.as_f64().unwrap(), n.to_string()), |i| Value::Int(i, n.to_string())),
        Json::String(s) => Value::Text(s.clone()),
        Json::Array(items) => Value::List(items.iter().map(node).collect()),
        Json::Object(map) => {
            Value::Map(map.iter().map(|(k, v)| Entry { key: k.clone(), at: at(), value: node(v) }).collect())
        }
    };
    Node::new(value, at())
}

pub fn fields(json: &Json) -> Fields {
    Fields { at: at(), values: json.as_object().unwrap().iter().map(|(k, v)| (k.clone(), node(v))).collect() }
}

pub fn tags(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

pub fn builder(class: Class, kind: &str, name: &str, is_default: bool, own: &Json) -> Builder {
    Builder {
        class,
        kind: kind.to_owned(),
        name: Name::new(name),
        aliases: Vec::new(),
        is_default,
        runtime: matches!(class, Class::StorageBuilder | Class::InstanceBuilder | Class::ImageBuilder)
            .then(|| text(WEST)),
        state_configuration: None,
        executable: matches!(class, Class::StorageBuilder | Class::InstanceBuilder).then(|| text("engine")),
        tags: BTreeMap::new(),
        fields: fields(own),
        at: at(),
    }
}

pub fn storage(name: &str, builder: &str, groups: &[&str]) -> Storage {
    Storage {
        name: Name::new(name),
        aliases: Vec::new(),
        builder: text(builder),
        description: String::new(),
        groups: groups.iter().map(|g| text(g)).collect(),
        availability_zone: None,
        public_read: false,
        share_mode: "2770".to_owned(),
        state: spanned(StorageState::Active),
        lifecycle: None,
        bucket_name: None,
        tags: BTreeMap::new(),
        transient: false,
        fields: fields(&json!({})),
        at: at(),
    }
}

pub fn mount(storage: &str, point: &str) -> Mount {
    Mount { storage: text(storage), mount_point: text(point), at: at() }
}

pub fn instance(name: &str, image: &str, mounts: &[&str]) -> Instance {
    Instance {
        name: Name::new(name),
        aliases: Vec::new(),
        builder: text("fleet"),
        description: String::new(),
        image: Some(text(image)),
        runtime: text(WEST),
        machine_type: None,
        mounts: mounts.iter().map(|s| mount(s, &format!("/mnt/{s}"))).collect(),
        availability_zone: None,
        userdata: String::new(),
        image_policy: Policy::Pinned,
        ephemeral: false,
        tags: BTreeMap::new(),
        transient: false,
        fields: fields(&json!({})),
        at: at(),
    }
}

fn image(name: &str, group: &str, source: &str, own: &Json) -> Image {
    Image {
        name: Name::new(name),
        aliases: Vec::new(),
        builder: text("bake"),
        description: String::new(),
        source: text(source),
        group: Some(text(group)),
        runtimes: vec![ImageRuntime {
            image_builder: text("bake"),
            image_builder_written: "bake".to_owned(),
            runtime: WEST.to_owned(),
            machine_type: None,
            tags: BTreeMap::new(),
            fields: fields(&json!({})),
            at: at(),
        }],
        parent_policy: Policy::Pinned,
        retention_keep: None,
        primary_disk_size: 200,
        architecture: "x86_64".to_owned(),
        modifications: Vec::new(),
        tags: BTreeMap::new(),
        fields: fields(own),
        at: at(),
    }
}

fn group(name: &str, gid: i64) -> Group {
    Group {
        name: Name::new(name),
        aliases: Vec::new(),
        builder: text("posix-groups"),
        description: String::new(),
        is_root: name == "crew",
        members: Vec::new(),
        admins: Vec::new(),
        gid: Some(spanned(gid)),
        include_root_group_in_admins: true,
        unmanaged: false,
        in_both: None,
        fields: fields(&json!({})),
        at: at(),
    }
}

/// `examples/harbor`, as far as the storage and instance roots need it.
pub fn harbor() -> Tree {
    let os = |kind: &str, name: &str, own: &Json| builder(Class::OsBuilder, kind, name, name == "alma9", own);
    let variables = json!({"volume_type": "gp3", "encrypted": true, "tags": {"team": "harbor"}});
    let builders = vec![
        builder(
            Class::Runtime,
            "aws",
            WEST,
            true,
            &json!({
                "account_id": "123456789012", "region": "us-west-2", "credentials": {"profile_name": "harbor"},
                "session_mechanism": "ssm", "session_instance_profile": "harbor-ssm", "default_machine_type": "t3.small",
                "networking": {
                    "network": "vpc-0ab00000000000001",
                    "ssh_ingress_security_group_ids": ["sg-0ab00000000000011"], "addl_security_groups": ["sg-0ab00000000000011"],
                    "subnets": [
                        {"name": "a-private", "subnet_id": "subnet-0ab0000000000000a", "availability_zone": "us-west-2a", "is_default": true},
                        {"name": "b-private", "subnet_id": "subnet-0ab0000000000000b", "availability_zone": "us-west-2b"},
                        {"name": "a-public", "subnet_id": "subnet-0ab0000000000001a", "availability_zone": "us-west-2a", "public": true},
                    ],
                },
            }),
        ),
        builder(
            Class::StateBackend,
            "s3",
            "state-main",
            true,
            &json!({
                "bucket": "harbor-state", "key": "roots/harbor/", "region": "us-west-2", "profile": "harbor", "encrypt": true, "use_lockfile": true,
            }),
        ),
        os(
            "rhel",
            "alma9",
            &json!({
                "family": "rhel", "family_version": "9", "identity_types": ["posix"], "storage_types": ["ebs", "efs", "s3"],
                "update": {"policy": "security"}, "runtimes": [{"name": "west-alma9", "image_builder": "bake"}],
            }),
        ),
        os(
            "ubuntu",
            "noble",
            &json!({
                "family": "ubuntu", "family_version": "24.04", "identity_types": ["posix"], "storage_types": ["ebs", "s3"],
                "runtimes": [{"name": "west-noble", "image_builder": "bake"}],
            }),
        ),
        builder(Class::GroupBuilder, "posix", "posix-groups", true, &json!({})),
        builder(Class::UserBuilder, "posix", "posix-users", true, &json!({})),
        builder(Class::ImageBuilder, "packer-ebs", "bake", true, &json!({})),
        builder(
            Class::InstanceBuilder,
            "tofu",
            "fleet",
            true,
            &json!({
                "required_plugins": [{"name": "aws", "source": "hashicorp/aws", "version": ">= 5.0.0"}],
            }),
        ),
        builder(Class::ModBuilder, "bash-remote", "shell", true, &json!({})),
        builder(Class::StorageBuilder, "tf-aws-ebs", "volumes", true, &json!({"size": 50, "variables": variables})),
        builder(Class::StorageBuilder, "tf-aws-efs", "shares", false, &json!({"variables": {"encrypted": true}})),
        builder(Class::StorageBuilder, "tf-aws-s3", "buckets", false, &json!({"bucket_name": "harbor-default"})),
    ];
    let ledger = Storage { tags: tags(&[("data", "ledger")]), ..storage("ledger", "volumes", &["crew"]) };
    let depot = Storage {
        share_mode: "2775".to_owned(),
        lifecycle: Some(fields(&json!({"ia_days": 14}))),
        ..storage("depot", "shares", &["crew", "audit"])
    };
    let vault = Storage {
        bucket_name: Some(text("harbor-vault")),
        lifecycle: Some(fields(&json!({"transition_days": 60, "storage_class": "GLACIER_IR", "expire_days": 400}))),
        ..storage("vault", "buckets", &["audit"])
    };
    let docs = Storage {
        bucket_name: Some(text("harbor-public-docs")),
        public_read: true,
        ..storage("public-docs", "buckets", &[])
    };
    let api_1 = Instance {
        machine_type: Some("m7i.large".to_owned()),
        userdata: "systemctl restart api\n".to_owned(),
        tags: tags(&[("tier", "api")]),
        ..instance("api-1", "harbor-api", &["ledger", "depot"])
    };
    let api_2 = Instance { image_policy: Policy::Follow, ..instance("api-2", "harbor-api", &["depot"]) };
    let probe = Instance { ephemeral: true, ..instance("probe", "harbor-base", &["depot"]) };
    let api = Image { parent_policy: Policy::Follow, ..image("harbor-api", "crew", "harbor-base", &json!({})) };
    Tree {
        id: text("harbor"),
        config_tag: "harbor".to_owned(),
        generation_directory: "generated".to_owned(),
        dateformat: "%Y%m%d_%H%M%S".to_owned(),
        gitignore: [".*", "!.terraform.lock.hcl", "!.gitignore"].map(str::to_owned).to_vec(),
        config: Config {
            apply_identity: ApplyFlag::off(),
            apply_storage: ApplyFlag { value: Apply::Only(vec![WEST.to_owned()]), at: Some(at()) },
            apply_instances: ApplyFlag { value: Apply::Off, at: Some(at()) },
            apply_release: ApplyFlag::off(),
            use_state_backends: true,
            module_source_base: text("tfmodules"),
            admin_public_keys: Vec::new(),
            require_mod_tests: false,
            require_image_tests: false,
            require_released_builds: false,
            template_env: Vec::new(),
            expected_run_minutes: 30.0,
            all: node(&json!({})),
        },
        executables: vec![Executable {
            name: Name::new("engine"),
            kind: "tofu".to_owned(),
            binary: "tofu".to_owned(),
            version: None,
            fields: fields(&json!({})),
            at: at(),
        }],
        builders,
        users: Vec::new(),
        groups: vec![group("crew", 4000), group("audit", 4100)],
        storages: vec![ledger, depot, vault, docs],
        images: vec![
            image("harbor-base", "crew", "alma9", &json!({"tests": {"packages": ["git"]}})),
            api,
            image("harbor-edge", "audit", "noble", &json!({})),
        ],
        instances: vec![api_1, api_2, instance("edge-1", "harbor-edge", &["vault"]), probe],
        files: BTreeMap::new(),
        overlays: Vec::new(),
        undeclared: Vec::new(),
        operations: BTreeMap::new(),
    }
}

pub fn request() -> Request {
    Request {
        now: "2026-03-02T08:00:00Z".to_owned(),
        run: "2026_03_02t08_00_00_000001".to_owned(),
        ..Request::default()
    }
}

pub fn build(series: &str, id: &str) -> Build {
    Build {
        build_id: id.to_owned(),
        series: series.to_owned(),
        runtime: WEST.to_owned(),
        name: format!("{series}-x"),
        run: Some("2026_03_01t08_00_00_000001".to_owned()),
        ..Build::default()
    }
}

pub fn storage_record(builder: &str, state: &str) -> StorageRecord {
    StorageRecord {
        state: Some(state.to_owned()),
        generation: 1,
        builder: Some(builder.to_owned()),
        history: vec![json!({"from": null, "generation": 1, "run": "R1", "to": "active"})],
        ..StorageRecord::default()
    }
}

/// A launched machine with volumes on devices; a mount without a device is a share.
pub fn launch(build: &str, mounts: &[(&str, Option<&str>)]) -> Launch {
    Launch {
        build: Some(build.to_owned()),
        hostname: Some("recorded-007".to_owned()),
        launched: true,
        mounts: mounts
            .iter()
            .map(|(storage, device)| LaunchMount {
                storage: (*storage).to_owned(),
                mount_point: format!("/mnt/{storage}"),
                device: device.map(str::to_owned),
                ..LaunchMount::default()
            })
            .collect(),
        ..Launch::default()
    }
}

/// Harbor with everything applied: builds, pins, storages and machines.
pub fn standing() -> Records {
    let mut records = Records::default();
    for (series, id) in [
        ("alma9", "ami-alma"),
        ("noble", "ami-noble"),
        ("harbor-base", "ami-base"),
        ("harbor-api", "ami-api"),
        ("harbor-edge", "ami-edge"),
    ] {
        records.builds.push(build(series, id));
    }
    for (name, builder) in
        [("ledger", "volumes"), ("depot", "shares"), ("vault", "buckets"), ("public-docs", "buckets")]
    {
        records.storages.insert(name.to_owned(), storage_record(builder, "active"));
    }
    records.storages.get_mut("vault").unwrap().bucket_name = Some("harbor-vault".to_owned());
    let volume = [("ledger", Some("/dev/xvdf")), ("depot", None)];
    for (name, build, mounts) in
        [("api-1", "ami-api", &volume[..]), ("api-2", "ami-api", &volume[1..]), ("edge-1", "ami-edge", &[][..])]
    {
        records.launches.insert(name.to_owned(), launch(build, mounts));
        records.pins.instances.insert(name.to_owned(), build.to_owned());
    }
    records
}
