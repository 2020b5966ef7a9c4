//! Launch scripts, rendered by the engine and run by a shell with stand-ins for the commands that touch a machine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::similar_names,
    clippy::type_complexity
)]

mod common;

use common::{VARIABLES, engine, instance, launch_template, mount, render, shellcheck, tree};
use csis_kinds::script::{escape, fstab_field};
use csis_values::intent::InstanceIntent;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn rendered(instance: &InstanceIntent) -> Option<String> {
    Some(rendered_all(std::slice::from_ref(instance))?.remove(0))
}

fn rendered_all(instances: &[InstanceIntent]) -> Option<Vec<String>> {
    let tree = tree();
    let templates: Vec<String> = instances.iter().map(|i| launch_template(&tree, i)).collect();
    Some(render(&engine()?, &templates, VARIABLES))
}

#[test]
fn a_rendered_script_passes_the_shell_and_shellcheck() {
    let Some(script) = rendered(&instance()) else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("launch.sh");
    fs::write(&file, &script).unwrap();
    let bash = Command::new("bash").arg("-n").arg(&file).output().unwrap();
    assert!(bash.status.success(), "{}", String::from_utf8_lossy(&bash.stderr));
    if let Some(shellcheck) = shellcheck() {
        let said = Command::new(shellcheck).arg("--norc").arg(&file).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
    }
    for wanted in [
        "set -euo pipefail",
        "hostnamectl set-hostname 'api-1-001' || true",
        "GID=\"4000\"",
        "VOL=\"vol-0ab1\"",
        "EFS_AP=\"fsap-1\"",
        "csis_subtree '/mnt/ledger' 'crew' '2770'",
        "mkdir -p '/mnt/vault'",
        "systemctl restart api",
    ] {
        assert!(script.lines().any(|l| l.starts_with(wanted)), "{wanted} is missing in\n{script}");
    }
    assert!(script.ends_with("mkdir -p /var/lib/csis\ndate -u +%FT%TZ > /var/lib/csis/launch-applied\n"));
}

const HOSTILE: &[&str] = &[
    "echo ${HOME:-x} $${x} $$${y} %{ if true }a%{ endif } %%{ z",
    "x=\"$(id)\"; y='it'\\''s'; z=\"\\\\ \\n \\t\"",
    "cat <<'EOF'\n${not.a.reference}\nEOF\ncat <<EOT\n~}%{~ for x in y ~}\nEOT",
    "printf '%s' \"grüße 漢字 🚢\"",
    "trailing $",
    "trailing %",
    "tabs\tand\r\nreturns",
    "  leading and trailing  \n\n\n",
    "${",
    "%{",
    "$",
];

#[test]
fn declared_lines_come_out_byte_for_byte() {
    let machines: Vec<InstanceIntent> =
        HOSTILE.iter().map(|text| InstanceIntent { userdata: (*text).into(), ..instance() }).collect();
    let Some(scripts) = rendered_all(&machines) else { return };
    for (text, script) in HOSTILE.iter().zip(scripts) {
        let (_, lines) = script.split_once("\n# Declared lines\n").unwrap();
        let (lines, _) = lines.rsplit_once("\nmkdir -p /var/lib/csis\n").unwrap();
        assert_eq!(lines.strip_suffix('\n').unwrap_or(lines), text.strip_suffix('\n').unwrap_or(text));
    }
}

/// Every string of up to four of the characters that templates read, and of up to six of the three that open something, one a line.
#[test]
fn escaping_is_right_for_every_run_of_template_characters() {
    let Some(engine) = engine() else { return };
    let mut all = strings(&['$', '{', '%', '\\', '"', '}', '~'], 4);
    all.extend(strings(&['$', '{', '%'], 6));
    let plain = all.join("\n") + "\n";
    assert_eq!(render(&engine, &[escape(&plain)], "{}").remove(0), plain);
}

fn strings(alphabet: &[char], longest: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut last = vec![String::new()];
    for _ in 0..longest {
        last = last.iter().flat_map(|s| alphabet.iter().map(move |c| format!("{s}{c}"))).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// A machine made of a folder: its fstab, its devices, and commands that write down how they were called.
struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Machine { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(machine.path("bin")).unwrap();
        fs::write(machine.path("fstab"), "").unwrap();
        fs::write(machine.path("mounted"), "").unwrap();
        machine.command("hostnamectl", "exit 1");
        machine.command("sleep", "exit 0");
        machine.command("chgrp", "exit 0");
        machine.command("mkfs", "exit 0");
        machine.command("mount", &format!("for last; do :; done; echo \"$last\" >> {}", machine.show("mounted")));
        machine
            .command("findmnt", &format!("for last; do :; done; grep -qxF -- \"$last\" {}", machine.show("mounted")));
        machine
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn show(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn command(&self, name: &str, body: &str) {
        let file = self.path("bin").join(name);
        fs::write(&file, format!("#!/bin/bash\necho \"{name} $*\" >> {}\n{body}\n", self.show("calls"))).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `blkid` ends with a status and says a type.
    fn blkid(&self, status: i32, kind: &str) {
        self.command("blkid", &format!("printf '%s' '{kind}'; exit {status}"));
    }

    fn run(&self, script: &str) -> (bool, String, String) {
        let script = script
            .replace("/etc/fstab", &self.show("fstab"))
            .replace("/var/lib/csis", &self.show("lib"))
            .replace("/dev/xvdf", &self.show("xvdf"))
            .replace("/mnt/", &self.show("mnt/"));
        fs::write(self.path("launch.sh"), script).unwrap();
        let path = format!("{}:{}", self.show("bin"), std::env::var("PATH").unwrap());
        let output = Command::new("bash").arg(self.path("launch.sh")).env("PATH", path).output().unwrap();
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.success(), said, calls)
    }
}

fn one_volume(may_format: bool) -> InstanceIntent {
    let mut machine = instance();
    machine.userdata = String::new();
    machine.mounts.truncate(1);
    machine.mounts[0].may_format = may_format;
    machine
}

#[test]
fn a_volume_is_formatted_only_when_it_is_new_and_reads_as_zeros() {
    let zeros = vec![0_u8; 2 << 20];
    let mut used = zeros.clone();
    used[700_000] = 1;
    // (may be formatted, blkid's status, its type, content, is formatted, is mounted)
    let cases: [(bool, i32, &str, &[u8], bool, bool); 8] = [
        (true, 2, "", &zeros, true, true),
        (false, 2, "", &zeros, false, false),
        (true, 2, "", &used, false, false),
        (true, 0, "ext4", &used, false, true),
        (false, 0, "xfs", &used, false, true),
        (true, 4, "", &zeros, false, false),
        (true, 8, "", &zeros, false, false),
        (true, 2, "", &zeros[..1000], false, false),
    ];
    let Some(scripts) = rendered_all(&[one_volume(false), one_volume(true)]) else { return };
    for (may_format, status, kind, content, formatted, mounted) in cases {
        let script = &scripts[usize::from(may_format)];
        let machine = Machine::new();
        machine.blkid(status, kind);
        fs::write(machine.path("xvdf"), content).unwrap();
        let (done, said, calls) = machine.run(script);
        let case = format!("{may_format} {status} {kind} {}: {said}{calls}", content.len());
        assert!(done, "{case}");
        assert_eq!(calls.contains("mkfs -t xfs"), formatted, "{case}");
        let mark = format!(
            "csis-mount: {}/mnt/ledger {}\n",
            machine.dir.path().display(),
            if mounted { "mounted" } else { "NOT mounted" }
        );
        assert!(said.contains(&mark), "{case}");
        assert_eq!(machine.path("mnt/ledger/crew").is_dir(), mounted, "{case}");
        let fstab = fs::read_to_string(machine.path("fstab")).unwrap();
        assert_eq!(fstab.contains("defaults,nofail 0 2"), mounted, "{case}{fstab}");
        if mounted {
            assert!(fstab.contains(if kind.is_empty() { " xfs " } else { kind }), "{case}{fstab}");
        }
        assert!(machine.path("lib/launch-applied").is_file(), "{case}");
    }
}

#[test]
fn a_device_that_cannot_be_read_is_not_empty() {
    let Some(script) = rendered(&one_volume(true)) else { return };
    let machine = Machine::new();
    machine.blkid(2, "");
    // Reading a directory fails as reading a broken device does.
    fs::create_dir(machine.path("xvdf")).unwrap();
    let (done, said, calls) = machine.run(&script);
    assert!(done && said.contains("NOT mounted") && !calls.contains("mkfs"), "{said}{calls}");
}

#[test]
fn a_device_that_never_comes_leaves_the_rest_of_the_script_running() {
    let Some(script) = rendered(&one_volume(true)) else { return };
    let machine = Machine::new();
    machine.blkid(2, "");
    let (done, said, calls) = machine.run(&script);
    assert!(done && said.contains("NOT mounted"), "{said}");
    assert_eq!(calls.matches("sleep 2").count(), 60);
    assert!(machine.path("lib/launch-applied").is_file());
}

#[test]
fn a_share_is_mounted_through_its_access_point_and_a_public_one_read_only() {
    let mut own = instance();
    own.userdata = String::new();
    own.mounts = vec![mount("depot", "shares", "tf-aws-efs")];
    let mut public = own.clone();
    public.mounts[0].read_only = true;
    public.mounts[0].allowed = false;
    let Some(scripts) = rendered_all(&[own, public]) else { return };
    for (script, options) in scripts
        .iter()
        .zip(["_netdev,tls,accesspoint=fsap-1,nofail 0 0", "_netdev,tls,accesspoint=fsap-1,nofail,ro 0 0"])
    {
        let machine = Machine::new();
        let (done, said, _) = machine.run(script);
        let fstab = fs::read_to_string(machine.path("fstab")).unwrap();
        assert!(done && said.contains(" mounted\n"), "{said}");
        assert_eq!(fstab, format!("fs-1:/ {}/mnt/depot efs {options}\n", machine.dir.path().display()));
    }
}

#[test]
fn a_hostile_mount_point_stays_one_word() {
    let mut machine = one_volume(false);
    machine.mounts[0].mount_point = "/mnt/a '; touch pwned; ' $(touch pwned) ${x}".into();
    let Some(script) = rendered(&machine) else { return };
    let folder = Machine::new();
    folder.blkid(0, "xfs");
    fs::write(folder.path("xvdf"), "x").unwrap();
    let (done, said, _) = folder.run(&script);
    assert!(done && said.contains("/mnt/a '; touch pwned; ' $(touch pwned) ${x} mounted"), "{said}");
    assert!(!Path::new("pwned").exists() && !folder.path("pwned").exists());
    let field = fstab_field("/mnt/a '; touch pwned; ' $(touch pwned) ${x}");
    assert!(!field.contains(' '), "{field}");
}
