use super::{GatePlanArgs, run};
use crate::{Exit, Invocation, Outcome};
use csis_values::diagnostic::Severity;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const DATA: &str = "module.instance_a.aws_volume_attachment.this[\"data\"]";

fn invocation() -> Invocation {
    Invocation {
        root: PathBuf::from("."),
        offline: true,
        snapshot: None,
        overlays: vec![],
        undeclare: vec![],
        only_runtime: None,
        apply_runtime: None,
        parallel: 1,
        tools: BTreeMap::new(),
        environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        now: jiff::Timestamp::UNIX_EPOCH,
        template_variables: crate::invocation::TemplateVariables::Shell,
        unplanned: None,
        children: crate::invocation::Children::default(),
    }
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    folder
}

/// `aws_ebs_volume` of `module.storage_data.aws_ebs_volume.this`.
fn resource_type(address: &str) -> &str {
    address.split('.').find(|part| part.starts_with("aws_")).unwrap_or("aws_volume_attachment")
}

fn plan(changes: &[(&str, &str, &str)]) -> String {
    let changes: Vec<_> = changes
        .iter()
        .map(|(address, mode, actions)| {
            let actions: Vec<&str> = actions.split('+').collect();
            serde_json::json!({"address": address, "mode": mode, "type": resource_type(address), "name": "this",
                "provider_name": "registry.terraform.io/hashicorp/aws", "change": {"actions": actions, "before": {}, "after": null}})
        })
        .collect();
    serde_json::json!({"format_version": "1.2", "complete": true, "errored": false,
        "configuration": {"root_module": {}}, "resource_changes": changes})
    .to_string()
}

fn gate(folder: &Path, change: impl FnOnce(&mut GatePlanArgs)) -> Outcome {
    let mut args = GatePlanArgs {
        directory: folder.to_owned(),
        plan_json: Some("p.json".into()),
        now: Some("2026-01-31T08:00:00Z".into()),
        ..GatePlanArgs::default()
    };
    change(&mut args);
    run(&invocation(), &args)
}

fn judge(json: &str, change: impl FnOnce(&mut GatePlanArgs)) -> Outcome {
    gate(folder(&[("p.json", json)]).path(), change)
}

#[test]
fn an_address_covers_itself_and_what_is_below_it() {
    let json = plan(&[(DATA, "managed", "delete")]);
    for (allowed, exit) in [
        (DATA, Exit::Done),
        ("module.instance_a.aws_volume_attachment.this", Exit::Done),
        ("module.instance_a", Exit::Done),
        ("module.instance_a.aws_volume_attachment.this[\"scratch\"]", Exit::Gate),
        ("module.instance", Exit::Gate),
        ("", Exit::Usage),
        ("  ", Exit::Usage),
    ] {
        assert_eq!(judge(&json, |args| args.allow_destroy = vec![allowed.into()]).exit, exit, "{allowed}");
    }
    let outcome = judge(&json, |_| ());
    assert_eq!(outcome.stderr, format!("DESTROY NOT WHITELISTED: {DATA}\n"));
    assert!(outcome.stdout.is_empty());
}

#[test]
fn a_line_of_a_file_covers_its_own_address_alone() {
    let json = plan(&[(DATA, "managed", "delete+create"), ("data.aws_ami.x", "data", "delete")]);
    for (lines, exit) in [
        (format!("# why\n\n  {DATA}\n"), Exit::Done),
        ("module.instance_a\n".to_owned(), Exit::Gate),
        ("# nothing\n".to_owned(), Exit::Gate),
    ] {
        let folder = folder(&[("p.json", &json), ("ok.txt", &lines)]);
        let outcome = gate(folder.path(), |args| args.allow_destroy_from = vec!["gone.txt".into(), "ok.txt".into()]);
        assert_eq!(outcome.exit, exit, "{lines}");
        if exit == Exit::Done {
            let expected = format!("Destroy sanctioned by the declaration: {DATA}\nPlan passes the apply gate.\n");
            assert_eq!(outcome.stdout, expected);
        }
    }
}

#[test]
fn harmless_and_odd_documents() {
    for (json, exit) in [
        (plan(&[("data.aws_ami.x", "data", "delete")]), Exit::Done),
        (plan(&[]), Exit::Done),
        (r#"{"format_version":"1.2","planned_values":{}}"#.to_owned(), Exit::Done),
        (r#"{"format_version":"1.2","resource_changes":null}"#.to_owned(), Exit::Gate),
        (r#"{"format_version":"1.2","resource_changes":null,"planned_values":{}}"#.to_owned(), Exit::Done),
        (r#"{"format_version":"1.2"}"#.to_owned(), Exit::Gate),
        (String::new(), Exit::Gate),
    ] {
        assert_eq!(judge(&json, |_| ()).exit, exit, "{json}");
    }
    let told = judge(&plan(&[]), |_| ()).findings;
    assert!(told.iter().any(|d| d.message.contains("freshness: not judged")));
    assert_eq!(judge(&plan(&[]), |args| args.strict = true).exit, Exit::Gate);
}

#[test]
fn what_csis_never_makes_is_told_and_refused_when_strict() {
    let told = |json: &str, strict: bool| {
        let outcome = judge(json, |args| args.strict = strict);
        let told = outcome.findings.into_iter().filter(|d| d.code == "foreign-object" && d.message.contains("no type"));
        told.map(|d| d.severity).collect::<Vec<_>>()
    };
    let role = plan(&[("module.storage_data.aws_iam_role.x", "managed", "create")]);
    assert_eq!((told(&role, false), told(&role, true)), (vec![Severity::Warning], vec![Severity::Error]));
    let volume = plan(&[("module.storage_data.aws_ebs_volume.this", "managed", "create")]);
    assert_eq!(told(&volume, true), []);
}

#[test]
fn what_was_not_asked_properly_is_usage() {
    let json = plan(&[]);
    assert_eq!(judge(&json, |args| args.plan_json = None).exit, Exit::Usage);
    assert_eq!(judge(&json, |args| args.run = Some(" ".into())).exit, Exit::Usage);
    assert_eq!(judge(&json, |args| args.allow_forget = vec![" ".into()]).exit, Exit::Usage);
    assert_eq!(judge(&json, |args| args.plan_json = Some("gone.json".into())).exit, Exit::Usage);
    assert_eq!(judge(&json, |args| args.plan_json = Some(".".into())).exit, Exit::Usage);
    for pair in ["a", "a:", ":b", "../a:b"] {
        assert_eq!(judge(&json, |args| args.require_unmounted = vec![pair.into()]).exit, Exit::Usage, "{pair}");
    }
}

#[test]
fn a_receipt_is_read_for_what_it_says() {
    let json = plan(&[]);
    let good = r#"{"ok":true,"instance":"a","storage":"data","run":"r1","time":"2026-01-31T07:59:00Z","output":"bye"}"#;
    for (receipt, run, exit) in [
        (good, Some("r1"), Exit::Done),
        (good, Some("r2"), Exit::Gate),
        (good, None, Exit::Done),
        (r#"{"ok":true,"instance":"a","storage":"data","time":"2026-01-31T06:00:00Z"}"#, None, Exit::Gate),
        (r#"{"ok":true}"#, None, Exit::Gate),
        ("[]", None, Exit::Gate),
    ] {
        let folder = folder(&[("p.json", &json), ("unmount-receipts/a__data.json", receipt)]);
        let outcome = gate(folder.path(), |args| {
            args.require_unmounted = vec!["a:data".into()];
            args.run = run.map(str::to_owned);
        });
        assert_eq!(outcome.exit, exit, "{receipt} {run:?}");
        assert_eq!(outcome.stderr.starts_with("DETACH NOT UNMOUNTED: a:data"), exit == Exit::Gate);
    }
}

#[test]
fn hostile_text_stays_in_its_line() {
    let outcome = judge(&plan(&[("module.x\u{1b}[2J\nPlan passes the apply gate.", "managed", "delete")]), |_| ());
    assert_eq!((outcome.exit, outcome.stderr.lines().count()), (Exit::Gate, 1));
    assert!(!outcome.stderr.contains('\u{1b}') && outcome.findings.iter().all(|d| !d.message.contains('\u{1b}')));
}

/// An engine that says its version, and does as the script says when it is asked for a plan.
fn engine(folder: &Path, show: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("engine");
    let script = format!("#!/bin/sh\n[ \"$1\" = version ] && {{ echo 'OpenTofu v1.10.0'; exit 0; }}\n{show}\n");
    std::fs::write(&path, script).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("allowed");
    path.to_string_lossy().into_owned()
}

fn set_age(path: &Path, seconds: u64) {
    let time = SystemTime::now() - Duration::from_secs(seconds);
    std::fs::File::options().append(true).open(path).and_then(|file| file.set_modified(time)).expect("dated");
}

#[test]
fn a_plan_file_is_read_by_the_engine_in_its_own_folder() {
    let folder = folder(&[("root/tfplan", "x"), ("root/main.tf", ""), ("plan.json", &plan(&[]))]);
    set_age(&folder.path().join("root/main.tf"), 60);
    let json = folder.path().join("plan.json");
    let engine = engine(
        folder.path(),
        &format!("[ -f main.tf ] && [ \"$1 $2\" = 'show -json' ] && [ -f \"$4\" ] || exit 9\ncat '{}'", json.display()),
    );
    for beside in [None, Some("elsewhere.json")] {
        let outcome = gate(folder.path(), |args| {
            // What scripts of before name beside the file is left alone.
            args.plan_json = beside.map(Into::into);
            args.planfile = Some("root/tfplan".into());
            args.tofu = engine.clone();
            args.strict = true;
        });
        assert_eq!(outcome.exit, Exit::Done, "{outcome:?}");
    }
}

#[test]
fn a_plan_that_is_not_younger_than_its_inputs_is_stale() {
    for (input, age, exit) in [
        ("root/main.tf", 20, Exit::Done),
        ("root/main.tf", 10, Exit::Gate),
        ("root/main.tf", 5, Exit::Gate),
        ("root/user-data.sh.tftpl", 5, Exit::Gate),
        ("root/x.auto.tfvars", 5, Exit::Gate),
        ("root/sub/module/a.tf.json", 5, Exit::Gate),
        ("root/readme.md", 5, Exit::Done),
    ] {
        let folder = folder(&[("root/tfplan", "x"), ("plan.json", &plan(&[])), (input, "")]);
        let made = SystemTime::now() - Duration::from_secs(10);
        for (path, time) in [("root/tfplan", made), (input, made + Duration::from_secs(10) - Duration::from_secs(age))]
        {
            let file = std::fs::File::options().append(true).open(folder.path().join(path)).expect("opened");
            file.set_modified(time).expect("dated");
        }
        let engine = engine(folder.path(), &format!("cat '{}'", folder.path().join("plan.json").display()));
        let outcome = gate(folder.path(), |args| {
            args.plan_json = None;
            args.planfile = Some("root/tfplan".into());
            args.tofu = engine.clone();
        });
        assert_eq!(outcome.exit, exit, "{input} {age}: {outcome:?}");
        assert_eq!(outcome.stderr.starts_with("STALE PLANFILE: "), exit == Exit::Gate);
    }
}

#[test]
fn an_engine_that_fails_refuses_and_a_missing_one_is_usage() {
    let folder = folder(&[("tfplan", "x")]);
    let broken = engine(folder.path(), "echo 'this is no plan file' >&2; exit 1");
    let ask = |tofu: &str, planfile: &str| {
        gate(folder.path(), |args| {
            args.plan_json = None;
            args.planfile = Some(planfile.into());
            args.tofu = tofu.into();
        })
    };
    let outcome = ask(&broken, "tfplan");
    assert_eq!(outcome.exit, Exit::Gate);
    assert!(outcome.findings.iter().any(|d| d.message.contains("this is no plan file")));
    assert_eq!(ask("/nowhere/tofu", "tfplan").exit, Exit::Usage);
    let missing = ask(&broken, "gone/tfplan");
    assert_eq!(missing.exit, Exit::Gate);
    assert!(missing.stderr.starts_with("STALE PLANFILE: ") && missing.stderr.contains("gone/tfplan"));
}
