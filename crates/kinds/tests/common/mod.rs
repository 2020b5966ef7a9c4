//! A small tree built by hand, and the tools that tests run.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::similar_names,
    clippy::type_complexity
)]

use csis_kinds::{RootSite, registry};
use csis_values::fields::Fields;
use csis_values::intent::{
    Access, Applies, BuildRef, Content, EngineRef, InstanceIntent, MountIntent, Read, Root, Standing, StateBinding,
    StorageIntent,
};
use csis_values::node::Entry;
use csis_values::request::Lifecycle;
use csis_values::tree::{ApplyFlag, Builder, Config, Storage, StorageState, Tree};
use csis_values::{Class, Diagnostics, Name, Node, Place, Spanned, Value};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn place() -> Place {
    Place::new("cfg/x.yml", 3, 5)
}

pub fn node(value: &Json) -> Node {
    let value = match value {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(n) => Value::Int(n.as_i64().unwrap(), n.to_string()),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(node).collect()),
        Json::Object(map) => {
            Value::Map(map.iter().map(|(k, v)| Entry { key: k.clone(), at: place(), value: node(v) }).collect())
        }
    };
    Node::new(value, place())
}

pub fn fields(value: &Json) -> Fields {
    let mut fields = Fields::new(place());
    for (key, value) in value.as_object().unwrap() {
        fields.values.insert(key.clone(), node(value));
    }
    fields
}

pub fn builder(class: Class, kind: &str, name: &str, value: &Json) -> Builder {
    let fields = fields(value);
    Builder {
        class,
        kind: kind.into(),
        name: Name::new(name),
        aliases: Vec::new(),
        is_default: false,
        runtime: matches!(class, Class::ImageBuilder | Class::InstanceBuilder | Class::StorageBuilder)
            .then(|| Spanned::new("west".into(), place())),
        state_configuration: None,
        executable: None,
        tags: fields.text_map("tags"),
        fields,
        at: place(),
    }
}

pub fn networking() -> Json {
    json!({
        "network": "vpc-1",
        "ssh_ingress_security_group_ids": ["sg-1"],
        "addl_security_groups": ["sg-1"],
        "subnets": [
            {"name": "a", "subnet_id": "subnet-a", "availability_zone": "z-a", "is_default": true},
            {"name": "a2", "subnet_id": "subnet-a2", "availability_zone": "z-a"},
            {"name": "b", "subnet_id": "subnet-b", "availability_zone": "z-b"},
            {"name": "p", "subnet_id": "subnet-p", "availability_zone": "z-c", "public": true},
        ]
    })
}

pub fn runtime() -> Json {
    json!({
        "region": "us-west-2", "default_machine_type": "t3.small", "session_mechanism": "ssm", "session_instance_profile": "prof",
        "credentials": {"profile_name": "harbor"}, "networking": networking()
    })
}

pub fn storage(name: &str, builder: &str) -> Storage {
    Storage {
        name: Name::new(name),
        aliases: Vec::new(),
        builder: Spanned::new(builder.into(), place()),
        description: String::new(),
        groups: Vec::new(),
        availability_zone: None,
        public_read: false,
        share_mode: "2770".into(),
        state: Spanned::new(StorageState::Active, place()),
        lifecycle: None,
        bucket_name: None,
        tags: BTreeMap::new(),
        transient: false,
        fields: Fields::new(place()),
        at: place(),
    }
}

pub fn tree() -> Tree {
    let off = ApplyFlag::off;
    let config = Config {
        apply_identity: off(),
        apply_storage: off(),
        apply_instances: off(),
        apply_release: off(),
        use_state_backends: true,
        module_source_base: Spanned::new("tfmodules".into(), place()),
        admin_public_keys: Vec::new(),
        require_mod_tests: false,
        require_image_tests: true,
        require_released_builds: false,
        template_env: Vec::new(),
        expected_run_minutes: 30.0,
        all: node(&json!({})),
    };
    Tree {
        id: Spanned::new("harbor".into(), place()),
        config_tag: "harbor".into(),
        generation_directory: "generated".into(),
        dateformat: String::new(),
        gitignore: Vec::new(),
        config,
        executables: Vec::new(),
        builders: vec![
            builder(Class::Runtime, "aws", "west", &runtime()),
            builder(
                Class::StateBackend,
                "s3",
                "main",
                &json!({"bucket": "b", "key": "roots/harbor/", "region": "us-west-2"}),
            ),
            builder(
                Class::StorageBuilder,
                "tf-aws-ebs",
                "volumes",
                &json!({"size": 50, "variables": {"volume_type": "gp3", "tags": {"team": "harbor"}}}),
            ),
            builder(Class::StorageBuilder, "tf-aws-efs", "shares", &json!({})),
            builder(Class::StorageBuilder, "tf-aws-s3", "buckets", &json!({"bucket_name": "harbor-default"})),
            builder(
                Class::InstanceBuilder,
                "tofu",
                "fleet",
                &json!({"required_plugins": [{"name": "aws", "source": "hashicorp/aws", "version": ">= 5.0.0"}]}),
            ),
        ],
        users: Vec::new(),
        groups: Vec::new(),
        storages: vec![storage("ledger", "volumes"), storage("depot", "shares"), storage("vault", "buckets")],
        images: Vec::new(),
        instances: Vec::new(),
        files: BTreeMap::new(),
        overlays: Vec::new(),
        undeclared: Vec::new(),
        operations: BTreeMap::new(),
    }
}

pub fn mount(storage: &str, builder: &str, kind: &str) -> MountIntent {
    MountIntent {
        storage: storage.into(),
        builder: builder.into(),
        kind: kind.into(),
        mount_point: format!("/mnt/{storage}"),
        device: (kind == "tf-aws-ebs").then(|| "/dev/xvdf".into()),
        subtree: None,
        read_only: false,
        allowed: true,
        may_format: false,
    }
}

pub fn instance() -> InstanceIntent {
    let mut ledger = mount("ledger", "volumes", "tf-aws-ebs");
    ledger.subtree = Some(("crew".into(), "2770".into()));
    ledger.may_format = true;
    InstanceIntent {
        name: Name::new("api-1"),
        hostname: "api-1-001".into(),
        machine_type: "m7i.large".into(),
        image: "harbor-api".into(),
        build: BuildRef::Deferred {
            pattern: "harbor-api-bake".into(),
            series: "harbor-api".into(),
            runtime: "west".into(),
        },
        group: Some(("crew".into(), 4000)),
        ephemeral: false,
        mounts: vec![ledger, mount("depot", "shares", "tf-aws-efs"), mount("vault", "buckets", "tf-aws-s3")],
        tags: BTreeMap::from([("tier".into(), "api".into())]),
        userdata: "systemctl restart api\n".into(),
    }
}

pub fn root(tree: &Tree, class: Class, name: &str, content: Content) -> Root {
    let builder = tree.builder(class, name).unwrap();
    let lifecycle = if class == Class::StorageBuilder { Lifecycle::Storage } else { Lifecycle::InstanceImage };
    Root {
        id: format!("{lifecycle}/{name}"),
        lifecycle,
        phase: if class == Class::StorageBuilder { "storage-generation".into() } else { "instance-generation".into() },
        builder: builder.name.clone(),
        runtime: Some("west".into()),
        engine: EngineRef { name: "tofu".into(), kind: "tofu".into(), binary: "tofu".into(), version: None },
        state: Some(StateBinding {
            backend: "main".into(),
            kind: "s3".into(),
            location: String::new(),
            profile: None,
            lineage: None,
            serial: None,
        }),
        applies: Applies { applies: false, flag: String::new(), value: String::new(), at: None },
        reads: if class == Class::InstanceBuilder {
            vec![Read { root: "storage/volumes".into(), label: "volumes".into(), backend: Some("main".into()) }]
        } else {
            Vec::new()
        },
        content,
        sanctions: Vec::new(),
        obligations: Vec::new(),
        actions: Vec::new(),
        replace: Vec::new(),
        resource_types: Vec::new(),
        data_types: Vec::new(),
        live: Vec::new(),
        variables: BTreeMap::new(),
    }
}

pub fn with_site<T>(tree: &Tree, root: &Root, class: Class, run: impl FnOnce(&RootSite<'_>) -> T) -> T {
    let source = |module: &str| format!("../../../../tfmodules/{module}");
    let site = RootSite {
        tree,
        root,
        builder: tree.builder(class, &root.builder.safe).unwrap(),
        runtime: tree.builder(Class::Runtime, "west").unwrap(),
        module_source: &source,
    };
    run(&site)
}

pub fn storage_intent(name: &str) -> StorageIntent {
    StorageIntent { name: Name::new(name), stands: Standing::Live, restore_from: None, access: Vec::new() }
}

pub fn access(group: &str, gid: i64, mode: &str) -> Access {
    Access { group: group.into(), gid, mode: mode.into() }
}

/// The module arguments of a storage, as HCL.
pub fn storage_arguments(tree: &Tree, builder: &str, intent: &StorageIntent) -> String {
    let root = root(tree, Class::StorageBuilder, builder, Content::Storages { storages: vec![intent.clone()] });
    with_site(tree, &root, Class::StorageBuilder, |site| {
        let kind = registry::storage(site.builder).unwrap();
        let storage = tree.storage(&intent.name.safe).unwrap();
        let arguments = kind.arguments(&csis_kinds::StorageSite { root: site, storage, intent });
        text(&csis_kinds::ast::body(csis_kinds::ast::sets(arguments)))
    })
}

/// The launch script template of a machine.
pub fn launch_template(tree: &Tree, instance: &InstanceIntent) -> String {
    let root = root(tree, Class::InstanceBuilder, "fleet", Content::Instances { instances: vec![instance.clone()] });
    with_site(tree, &root, Class::InstanceBuilder, |site| {
        registry::instance(site.builder).unwrap().launch_script(site, instance).into_template()
    })
}

pub fn text(body: &hcl::Body) -> String {
    hcl::format::to_string(body).unwrap()
}

/// What a builder's own check says: (code, message).
pub fn findings(class: Class, kind: &str, value: &Json) -> Vec<(String, String)> {
    let builder = builder(class, kind, "it", value);
    let mut found = Diagnostics::default();
    registry::find(class, kind).unwrap().kind().check(&builder, &mut found);
    told(&found)
}

/// Every finding has a place and says what to do.
pub fn told(found: &Diagnostics) -> Vec<(String, String)> {
    for finding in found.iter() {
        assert!(finding.at.is_some() && finding.help.is_some(), "{finding:?}");
    }
    found.iter().map(|d| (d.code.to_string(), d.message.clone())).collect()
}

/// The engine on PATH; a test that needs it fails without one under CI and is skipped elsewhere.
pub fn engine() -> Option<PathBuf> {
    tool("CSIS_ENGINE", &["tofu", "terraform"])
}

pub fn shellcheck() -> Option<PathBuf> {
    tool("CSIS_SHELLCHECK", &["shellcheck"])
}

fn tool(variable: &str, names: &[&str]) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let found = named.or_else(|| {
        let path = std::env::var_os("PATH")?;
        names.iter().find_map(|name| std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file()))
    });
    assert!(
        found.is_some() || std::env::var("CI").as_deref() != Ok("true"),
        "none of {names:?} is on PATH; {variable} may name one"
    );
    if found.is_none() {
        eprintln!("not run: none of {names:?} is on PATH");
    }
    found
}

/// Templates rendered by the engine itself, in one call.
pub fn render(engine: &Path, templates: &[String], variables: &str) -> Vec<String> {
    use base64::Engine as _;
    let dir = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (number, template) in templates.iter().enumerate() {
        std::fs::write(dir.path().join(format!("{number}.tftpl")), template).unwrap();
        files.push(format!("templatefile(\"{number}.tftpl\", {variables})"));
    }
    let question = format!("base64encode(jsonencode([{}]))\n", files.join(", "));
    std::fs::write(dir.path().join("rc"), "").unwrap();
    let mut child = Command::new(engine)
        .arg("console")
        .current_dir(dir.path())
        .env("TF_CLI_CONFIG_FILE", dir.path().join("rc"))
        .env("CHECKPOINT_DISABLE", "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), question.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer = String::from_utf8(output.stdout).unwrap();
    let json = base64::engine::general_purpose::STANDARD.decode(answer.trim().trim_matches('"')).unwrap();
    let rendered: Vec<String> = serde_json::from_slice(&json).unwrap();
    assert_eq!(rendered.len(), templates.len());
    rendered
}

/// What the engine passes a launch script.
pub const VARIABLES: &str = r#"{ ebs = { ledger = { device_name = "/dev/xvdf", volume_id = "vol-0ab1" } }, efs = { depot = { access_point_id = "fsap-1", file_system_id = "fs-1" } }, group_gid = 4000, sft_enrollment_token = "" }"#;
