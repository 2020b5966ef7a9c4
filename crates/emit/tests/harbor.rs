//! The emission of harbor: its facts, its bytes, its format, and scripts that a shell accepts.
//!
//! Only this layer can find that all parts of an emission together are what the format promises.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "../../resolve/tests/support/mod.rs"]
mod support;

use csis_values::emission::Emission;
use csis_values::records::Records;
use csis_values::request::Request;
use csis_values::tree::{Apply, Tree};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{harbor, request, standing};

fn emitted(tree: &Tree, records: &Records, request: &Request) -> Emission {
    let (intent, found) = csis_resolve::intent(tree, records, None, request);
    assert!(!found.is_refused(), "{found:?}");
    let (emission, found) = csis_emit::emission(tree, &intent, request);
    assert!(!found.is_refused(), "{found:?}");
    emission
}

fn written(emission: &Emission) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in &emission.files {
        let path = folder.path().join("generated").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every fact of the storage and instance roots, judged by the tool that any implementation is judged by.
#[test]
fn every_fact_of_harbor_holds() {
    let Ok(python) = std::env::var("CSIS_PYTHON") else {
        return eprintln!("CSIS_PYTHON is not set (a Python with python-hcl2): not judged");
    };
    let folder = written(&emitted(&harbor(), &Records::default(), &request()));
    let output = Command::new(python)
        .arg(repository().join("tests/tools/facts.py"))
        .arg("compare")
        .arg(repository().join("tests/cases/harbor/facts.json"))
        .arg(folder.path().join("generated"))
        .args(["--only", "storage", "--only", "instance-image/fleet", "--only", "instance-image|", "--show", "50"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// The emission as files, so that a change of a kind shows as a diff. `CSIS_UPDATE=1` writes them anew.
#[test]
fn the_bytes_are_the_expected_ones() {
    let expected = repository().join("tests/cases/harbor/expected");
    let emission = emitted(&harbor(), &Records::default(), &request());
    if std::env::var_os("CSIS_UPDATE").is_some() {
        let _ = std::fs::remove_dir_all(&expected);
        for (path, text) in &emission.files {
            let path = expected.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }
    let mut stored = BTreeMap::new();
    collect(&expected, &expected, &mut stored);
    assert_eq!(emission.files.keys().collect::<Vec<_>>(), stored.keys().collect::<Vec<_>>());
    for (path, text) in &emission.files {
        assert_eq!(text, &stored[path], "{path}; CSIS_UPDATE=1 writes what is expected anew");
    }
}

fn collect(top: &Path, folder: &Path, into: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(top, &path, into);
        } else {
            into.insert(
                path.strip_prefix(top).unwrap().to_str().unwrap().to_owned(),
                std::fs::read_to_string(&path).unwrap(),
            );
        }
    }
}

#[test]
fn nothing_of_the_run_reaches_the_emission() {
    let once = emitted(&harbor(), &standing(), &request());
    let later = Request { now: "2027-01-01T00:00:00Z".into(), run: "2027_01_01t00_00_00_000009".into(), ..request() };
    assert_eq!(once, emitted(&harbor(), &standing(), &later));
    for (path, text) in &once.files {
        assert!(text.ends_with('\n') && !text.contains("2026_03"), "{path}");
    }
}

#[test]
fn the_engine_has_nothing_to_format() {
    let Some(engine) =
        ["tofu", "terraform"].into_iter().find(|name| Command::new(name).arg("version").output().is_ok())
    else {
        return eprintln!("no tofu or terraform on PATH: not judged");
    };
    let mut tree = harbor();
    for storage in &mut tree.storages {
        storage.tags.insert("say \"${hi}\"\n".into(), "%{ if x } \\ größe 👩‍🚀".into());
        storage.tags.insert("größe".into(), "data.science".into());
    }
    let folder = written(&emitted(&tree, &standing(), &request()));
    let output = Command::new(engine)
        .args(["fmt", "-check", "-diff", "-recursive"])
        .current_dir(folder.path())
        .env("CHECKPOINT_DISABLE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Scripts with everything in them: applies, a detach, a decommission, an archive, ephemeral machines.
fn busy() -> Emission {
    let mut tree = harbor();
    tree.config.apply_instances.value = Apply::All;
    tree.storages[0].state.value = csis_values::tree::StorageState::Archived;
    tree.instances[0].mounts.remove(0);
    tree.instances.remove(2);
    tree.storages.retain(|s| s.name.safe != "vault");
    emitted(&tree, &standing(), &Request { overlays: vec!["overlays/la unch.yaml".into()], ..request() })
}

#[test]
fn a_shell_accepts_every_script() {
    let emission = busy();
    let folder = written(&emission);
    let shellcheck = Command::new("shellcheck").arg("--version").output().is_ok();
    for path in emission.files.keys().filter(|p| Path::new(p).extension().is_some_and(|e| e == "sh")) {
        let path = folder.path().join("generated").join(path);
        let syntax = Command::new("bash").arg("-n").arg(&path).output().unwrap();
        assert!(syntax.status.success(), "{}", String::from_utf8_lossy(&syntax.stderr));
        if shellcheck {
            let checked = Command::new("shellcheck").arg(&path).output().unwrap();
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
        }
    }
}

#[test]
fn a_script_stops_at_the_first_step_that_fails() {
    let emission = busy();
    let folder = written(&emission);
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let log = folder.path().join("log");
    let run = |refuse: &str| {
        let _ = std::fs::remove_file(&log);
        let tool = |name: &str| {
            let text = format!(
                "#!/usr/bin/env bash\necho \"{name} $*\" >> '{}'\ncase \"$*\" in *materialize*) pwd ;; esac\ncase \"{name} $*\" in *'{refuse}'*) exit 3 ;; esac\n",
                log.display()
            );
            std::fs::write(bin.join(name), text).unwrap();
            Command::new("chmod").arg("755").arg(bin.join(name)).status().unwrap();
        };
        tool("csis");
        tool("tofu");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let script = folder.path().join("generated/final_execution.sh");
        let output = Command::new("bash").arg(script).env("PATH", path).current_dir("/").output().unwrap();
        (output.status.code(), std::fs::read_to_string(&log).unwrap())
    };
    let (code, log) = run("nothing-like-this");
    assert_eq!(code, Some(0), "{log}");
    assert!(
        log.contains("csis gate-plan --planfile tfplan --tofu tofu --allow-destroy module.storage_ledger"),
        "{log}"
    );
    assert!(log.contains("--allow-destroy module.instance_api_1.aws_volume_attachment.this[\"ledger\"]"), "{log}");
    assert!(log.contains("--require-unmounted api-1:ledger"), "{log}");
    assert!(log.contains("csis apply-check --lifecycle instances --root fleet --root-alias aws-west --overlay ../../../../overlays/la unch.yaml"), "{log}");
    assert!(log.contains("tofu plan -input=false -out=tfplan -var=ephemeral_present=false"), "{log}");
    for refused in ["materialize", "gate-plan", "apply-check"] {
        let (code, log) = run(refused);
        assert_ne!(code, Some(0), "{refused}");
        assert!(!log.contains("tofu apply"), "{refused}: {log}");
    }
}

/// The engine renders every launch script; what it makes of them is shell, and a user's lines arrive as they were written.
#[test]
fn launch_scripts_render_to_shell_that_says_what_was_declared() {
    let Some(engine) =
        ["tofu", "terraform"].into_iter().find(|name| Command::new(name).arg("version").output().is_ok())
    else {
        return eprintln!("no tofu or terraform on PATH: not judged");
    };
    let mut tree = harbor();
    let declared = "echo ${HOME:-x} %{ if } $${a} 'it'\"'\"'s' 100% \\n\n";
    tree.instances[0].userdata = declared.into();
    tree.instances[0].mounts[1].mount_point.value = "/mnt/de'pot \"$(id)\" ${x}".into();
    let folder = written(&emitted(&tree, &Records::default(), &request()));
    let root = folder.path().join("generated/instance-image/fleet/instance-generation");
    let rendered = folder.path().join("rendered");
    std::fs::create_dir(&rendered).unwrap();
    std::fs::write(rendered.join("none.tfrc"), "").unwrap();
    let share = "depot = { file_system_id = \"fs-1\", access_point_id = \"fsap-1\" }";
    let main: String = ["api_1", "api_2", "edge_1", "probe"]
        .map(|name| {
            format!(
                "output \"{name}\" {{\n  value = templatefile(\"{}/user-data-{name}.sh.tftpl\", {{ ebs = {{ ledger = {{ volume_id = \"vol-1\", device_name = \"/dev/xvdf\" }} }}, efs = {{ {share} }}, group_gid = 4000, sft_enrollment_token = \"\" }})\n}}\n",
                root.display()
            )
        })
        .concat();
    std::fs::write(rendered.join("main.tf"), main).unwrap();
    let run = |args: &[&str]| {
        let output = Command::new(engine)
            .args(args)
            .current_dir(&rendered)
            .env("CHECKPOINT_DISABLE", "1")
            .env("TF_CLI_CONFIG_FILE", rendered.join("none.tfrc"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["apply", "-auto-approve", "-input=false"]);
    let outputs: serde_json::Value = serde_json::from_str(&run(&["output", "-json"])).unwrap();
    let script = |name: &str| outputs[name]["value"].as_str().unwrap().to_owned();
    assert!(script("api_1").contains(declared), "{}", script("api_1"));
    let shellcheck = Command::new("shellcheck").arg("--version").output().is_ok();
    for name in ["api_1", "api_2", "edge_1", "probe"] {
        let path = rendered.join(format!("{name}.sh"));
        std::fs::write(&path, script(name)).unwrap();
        let syntax = Command::new("bash").arg("-n").arg(&path).output().unwrap();
        assert!(syntax.status.success(), "{}", String::from_utf8_lossy(&syntax.stderr));
        // The declared lines of api-1 are the user's own business.
        if shellcheck && name != "api_1" {
            let checked = Command::new("shellcheck").arg(&path).output().unwrap();
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
        }
    }
    let mounts: Vec<_> = script("api_1").lines().filter(|l| l.contains("csis_share '")).map(str::to_owned).collect();
    let words = Command::new("bash")
        .arg("-c")
        .arg(format!("csis_share() {{ printf '%s' \"$1\"; }}; EFS_ID=x EFS_AP=y; {}", mounts[0]))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&words.stdout), "/mnt/de'pot \"$(id)\" ${x}");
}
