//! A hand-made tree of two roots: `storage/volumes` makes things, `instance-image/fleet` reads them.
#![allow(clippy::unwrap_used, dead_code)]

use csis_engine::{Credentials, PlanJob, Progress, Stop};
use csis_values::emission::{Emission, EmittedRoot};
use csis_values::intent::{
    Applies, Bake, BuildRef, Content, EngineRef, InstanceIntent, Intent, Read, Root, Standing, StorageIntent,
};
use csis_values::request::Lifecycle;
use csis_values::{Name, Place};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub const STORAGE: &str = "storage/volumes";
pub const FLEET: &str = "instance-image/fleet";
pub const STORAGE_DIR: &str = "storage/volumes/storage-generation";
pub const FLEET_DIR: &str = "instance-image/fleet/instance-generation";

pub struct Tree {
    pub folder: tempfile::TempDir,
    pub emission: Emission,
    pub intent: Intent,
    pub environment: BTreeMap<String, String>,
    pub secrets: BTreeMap<String, String>,
    pub heard: Arc<Heard>,
}

#[derive(Default)]
pub struct Heard(pub Mutex<Vec<String>>);

impl Progress for Heard {
    fn step(&self, root: &str, what: &str) {
        self.0.lock().unwrap().push(format!("{root}: {what}"));
    }
}

/// The engine on PATH, or none with a word about it.
pub fn engine() -> Option<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let environment = BTreeMap::from([("PATH".to_owned(), path)]);
    let found = ["tofu", "terraform"].into_iter().find(|name| csis_engine::process::find(name, &environment).is_some());
    assert!(
        found.is_some() || std::env::var_os("CI").is_none(),
        "the tests of the engine need tofu or terraform on PATH"
    );
    found.map(str::to_owned)
}

pub fn root(id: &str, engine: &str, content: Content) -> Root {
    let (_, builder) = id.split_once('/').unwrap();
    let lifecycle = if id.starts_with("storage") { Lifecycle::Storage } else { Lifecycle::InstanceImage };
    Root {
        id: id.into(),
        lifecycle,
        phase: "x".into(),
        builder: Name::new(builder),
        runtime: None,
        engine: EngineRef { name: "engine".into(), kind: "tofu".into(), binary: engine.into(), version: None },
        state: None,
        applies: Applies { applies: true, flag: "apply_storage".into(), value: "true".into(), at: None },
        reads: Vec::new(),
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

impl Tree {
    /// Both roots keep their state in files beside the tree.
    pub fn new(engine: &str, storage: &str, fleet: &str) -> Tree {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("state")).unwrap();
        std::fs::write(folder.path().join("tfrc"), "").unwrap();
        let emitted = |id: &str, directory: &str| EmittedRoot {
            id: id.into(),
            directory: directory.into(),
            backend_file: Some("x.tfbackend.hcl".into()),
            steps: Vec::new(),
        };
        let mut emission =
            Emission { roots: vec![emitted(STORAGE, STORAGE_DIR), emitted(FLEET, FLEET_DIR)], ..Emission::default() };
        for (directory, name, text) in [(STORAGE_DIR, "volumes", storage), (FLEET_DIR, "fleet", fleet)] {
            emission.files.insert(
                format!("{directory}/main.tf"),
                format!("terraform {{\n  backend \"local\" {{}}\n}}\n\n{text}"),
            );
            emission.files.insert(
                format!("{directory}/x.tfbackend.hcl"),
                format!("path = \"../../../../state/{name}.tfstate\"\n"),
            );
        }
        let storages = Content::Storages {
            storages: vec![StorageIntent {
                name: Name::new("ledger"),
                stands: Standing::Live,
                restore_from: None,
                access: Vec::new(),
            }],
        };
        let mut fleet = root(FLEET, engine, Content::Instances { instances: Vec::new() });
        fleet.reads.push(Read { root: STORAGE.into(), label: "volumes".into(), backend: None });
        let intent = Intent { roots: vec![root(STORAGE, engine, storages), fleet], ..Intent::default() };
        let mut environment: BTreeMap<String, String> = ["PATH", "HOME", "TMPDIR"]
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .collect();
        environment.insert("TF_CLI_CONFIG_FILE".into(), folder.path().join("tfrc").to_string_lossy().into_owned());
        Tree { folder, emission, intent, environment, secrets: BTreeMap::new(), heard: Arc::default() }
    }

    pub fn file(&mut self, directory: &str, name: &str, text: &str) {
        self.emission.files.insert(format!("{directory}/{name}"), text.into());
    }

    pub fn machine(&mut self, name: &str, build: BuildRef) {
        let Content::Instances { instances } = &mut self.intent.roots[1].content else { unreachable!() };
        instances.push(InstanceIntent {
            name: Name::new(name),
            hostname: name.into(),
            machine_type: "t3.small".into(),
            image: "web".into(),
            build,
            group: None,
            ephemeral: false,
            mounts: Vec::new(),
            tags: BTreeMap::new(),
            userdata: String::new(),
        });
    }

    pub fn bake(&mut self, series: &str, fingerprint: &str) {
        self.intent.bakes.push(Bake {
            series: series.into(),
            runtime: "aws-west".into(),
            due: true,
            why: "new".into(),
            fingerprint: fingerprint.into(),
            head: None,
        });
    }

    pub fn plan_only(&mut self, flag_at: (&str, u32)) {
        let place = Place::new(flag_at.0, flag_at.1, 3);
        self.intent.roots[0].applies =
            Applies { applies: false, flag: "apply_storage".into(), value: "false".into(), at: Some(place) };
    }

    pub fn job(&self) -> PlanJob {
        PlanJob {
            tree: self.folder.path().to_owned(),
            generation: "./generated/".into(),
            emission: Arc::new(self.emission.clone()),
            intent: Arc::new(self.intent.clone()),
            only: None,
            tools: BTreeMap::new(),
            environment: self.environment.clone(),
            secrets: self.secrets.clone(),
            hidden: Vec::new(),
            parallel: 4,
            limit: Duration::from_mins(2),
            keep_locks: false,
            stop: Stop::never(),
            user: None,
            credentials: Credentials::Ambient,
            progress: Arc::clone(&self.heard) as Arc<dyn Progress>,
        }
    }

    /// Applies what stands in the working copy of a root, as a landing would.
    pub fn apply(&self, engine: &str, directory: &str) {
        let folder = self.folder.path().join("_private").join(directory);
        let out = std::process::Command::new(engine)
            .args(["apply", "-input=false", "-no-color", "tfplan"])
            .current_dir(&folder)
            .env_clear()
            .envs(&self.environment)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }

    pub fn read(&self, path: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.folder.path().join(path)).unwrap()
    }
}

/// A folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
