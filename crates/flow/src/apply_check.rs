//! `apply-check`: the flag that let a root be applied when its script was generated, read again when the script runs.
//!
//! It needs `cfg/` as it is written, and nothing is rendered or decrypted. What cannot be read allows nothing.

use crate::outcome::why;
use crate::reading::from_root;
use crate::{Exit, Invocation, Outcome};
use csis_tree::Switches;
use csis_values::name::safe_name;
use csis_values::{Class, Diagnostic, Node, Place, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What `apply-check` is given; overlays and the runtime to apply come with the invocation.
#[derive(Clone, Debug, Default)]
pub struct ApplyCheckArgs {
    /// The folder the command runs in; empty for the present one.
    pub directory: PathBuf,
    /// `identity`, `storage`, `instances` or `release`.
    pub lifecycle: String,
    /// The tree; found by walking up when absent.
    pub config_root: Option<PathBuf>,
    /// The root's builder.
    pub root: Option<String>,
    /// Other names a flag may list the root by: its runtime.
    pub root_alias: Vec<String>,
}

const LIFECYCLES: &[&str] = &["identity", "storage", "instances", "release"];
const HEAD: &str = "cfg/_config.yml";

/// Exit: done when the root may be applied, refused by the gate when not, usage for a lifecycle or a root that there is not.
pub fn run(invocation: &Invocation, args: &ApplyCheckArgs) -> Outcome {
    if !LIFECYCLES.contains(&args.lifecycle.as_str()) {
        let message = format!("there is no apply flag for `{}`", args.lifecycle);
        return Outcome::usage(Diagnostic::error("usage", message).help(format!("one of {}", LIFECYCLES.join(", "))));
    }
    match check(invocation, args) {
        Ok(line) => Outcome::new(Exit::Done).stderr(format!("{line}\n")),
        Err(end) => *end,
    }
}

type Refused<T> = Result<T, Box<Outcome>>;

fn refused(found: Vec<Diagnostic>) -> Outcome {
    Outcome::new(Exit::Gate).findings(found)
}

fn refuse<T>(message: String, help: &str) -> Refused<T> {
    Err(Box::new(refused(vec![Diagnostic::error("apply-check", message).help(help)])))
}

/// The builders whose roots a lifecycle's flag may list; none for a flag that lists nothing.
fn classes(lifecycle: &str) -> &'static [Class] {
    match lifecycle {
        "identity" => &[Class::GroupBuilder, Class::UserBuilder],
        "storage" => &[Class::StorageBuilder],
        "instances" => &[Class::InstanceBuilder],
        _ => &[],
    }
}

fn check(invocation: &Invocation, args: &ApplyCheckArgs) -> Refused<String> {
    let root = config_root(args)?;
    let flag = format!("apply_{}", args.lifecycle);
    let what =
        args.root.as_ref().map_or_else(|| format!("the {} roots", args.lifecycle), |root| format!("root {root}"));
    // The files are read even where the run's own option decides, so that a broken tree applies nothing.
    let overlays: Vec<String> =
        invocation.overlays.iter().map(|overlay| from_root(&root, &args.directory, overlay)).collect();
    let switches = csis_tree::switches(&csis_tree::Folder::new(&root), &overlays).map_err(|found| {
        let line = format!("not applying {what}: the configuration is refused\n");
        Box::new(Outcome::new(Exit::Gate).stderr(line).findings(found))
    })?;
    let names = names(&switches, args)?;
    if let Some(runtime) = &invocation.apply_runtime
        && matches!(args.lifecycle.as_str(), "storage" | "instances")
    {
        if args.root.is_none() || names.contains(&safe_name(runtime)) {
            return Ok(format!("--apply-runtime {runtime} lets {what} be applied in this run, whatever {flag} says"));
        }
        let message = format!("not applying {what}: this run applies only what is on {runtime} (--apply-runtime)");
        return refuse(message, "leave the option out, or name the runtime of this root");
    }
    let (value, at) = match switches.get(&flag) {
        Some(entry) => (Some(&entry.value), Some(&entry.at)),
        None => (None, None),
    };
    if allows(value, args.root.is_some(), &names) {
        let place = at.map(|at| format!(" ({at})")).unwrap_or_default();
        return Ok(format!("{flag}{place} lets {what} be applied"));
    }
    Err(Box::new(refused(vec![not_applied(&flag, value, at, &what)])))
}

/// What the flag may list the root by: the names given, and those that the tree knows of it.
fn names(switches: &Switches, args: &ApplyCheckArgs) -> Refused<BTreeSet<String>> {
    let mut names: BTreeSet<String> = args.root.iter().chain(&args.root_alias).map(|name| safe_name(name)).collect();
    let classes = classes(&args.lifecycle);
    let Some(name) = args.root.as_ref().filter(|_| !classes.is_empty()) else { return Ok(names) };
    let Some(root) = switches.root(classes, name) else {
        let there = || switches.roots(classes).map(|root| root.written.as_str());
        let message = format!("not applying: the lifecycle {} has no root `{name}`", args.lifecycle);
        let help = match (csis_tree::nearest(name, there()), there().next()) {
            (Some(near), _) => format!("write `--root {near}`"),
            (None, Some(_)) => format!("name one of: {}", there().collect::<Vec<_>>().join(", ")),
            (None, None) => format!("declare one under `{}:`", classes[0].key()),
        };
        return Err(Box::new(Outcome::usage(Diagnostic::error("unknown-root", message).help(help))));
    };
    names.extend(root.all.iter().cloned());
    Ok(names)
}

fn not_applied(flag: &str, value: Option<&Node>, at: Option<&Place>, what: &str) -> Diagnostic {
    let said = match value.map(|node| &node.value) {
        None | Some(Value::Null) => "is not set".to_owned(),
        Some(Value::Bool(_)) => "is `false`".to_owned(),
        Some(Value::List(items)) if items.is_empty() => "lists nothing".to_owned(),
        Some(Value::List(items)) => {
            let names: Vec<&str> = items.iter().filter_map(Node::text).collect();
            format!("lists only {}", names.join(", "))
        }
        Some(Value::Text(text)) => format!("is the text `{text}`, which names neither the root nor its runtime"),
        Some(Value::Int(_, text) | Value::Float(_, text)) => format!("is the number {text}, which allows nothing"),
        Some(Value::Map(_)) => "is a mapping, which allows nothing".to_owned(),
    };
    let diagnostic = Diagnostic::error("apply-check", format!("not applying {what}: {flag} {said}")).help(format!(
        "to apply it, set `{flag}: true` or list the root's builder or runtime there, and generate again"
    ));
    match at {
        Some(at) => diagnostic.at(at),
        None => diagnostic.at(&Place::head(HEAD)),
    }
}

/// Only `true`, and a name of the root, allow. A list without a root in question allows when it names anything.
fn allows(flag: Option<&Node>, has_root: bool, names: &BTreeSet<String>) -> bool {
    let is_named = |node: &Node| node.text().is_some_and(|text| names.contains(&safe_name(text)));
    match flag.map(|node| &node.value) {
        Some(Value::Bool(on)) => *on,
        Some(Value::List(items)) if has_root => items.iter().any(is_named),
        Some(Value::List(items)) => items.iter().any(|item| item.text().is_some_and(|text| !text.trim().is_empty())),
        Some(Value::Text(_)) => has_root && flag.is_some_and(is_named),
        _ => false,
    }
}

fn config_root(args: &ApplyCheckArgs) -> Refused<PathBuf> {
    let help = "run it inside the tree, or name the tree with `--config-root`";
    if let Some(root) = &args.config_root {
        let root = args.directory.join(root);
        if root.join(HEAD).is_file() {
            return Ok(root);
        }
        return refuse(format!("not applying: {} has no {HEAD}", root.display()), help);
    }
    let from = if args.directory.as_os_str().is_empty() { Path::new(".") } else { &args.directory };
    let from = match std::path::absolute(from) {
        Ok(from) => from,
        Err(error) => return refuse(format!("not applying: the present folder cannot be told: {}", why(&error)), help),
    };
    match from.ancestors().find(|folder| folder.join(HEAD).is_file()) {
        Some(root) => Ok(root.to_owned()),
        None => refuse(format!("not applying: no folder from here upwards has {HEAD}"), help),
    }
}

#[cfg(test)]
mod tests {
    use super::{ApplyCheckArgs, run};
    use crate::{Exit, Invocation, Outcome};
    use std::collections::BTreeMap;
    use std::path::Path;

    fn invocation(apply_runtime: Option<&str>, overlays: &[&str]) -> Invocation {
        Invocation {
            root: ".".into(),
            offline: true,
            snapshot: None,
            overlays: overlays.iter().map(|o| (*o).to_owned()).collect(),
            undeclare: vec![],
            only_runtime: None,
            apply_runtime: apply_runtime.map(str::to_owned),
            parallel: 1,
            tools: BTreeMap::new(),
            environment: BTreeMap::new(),
            now: jiff::Timestamp::UNIX_EPOCH,
            template_variables: crate::invocation::TemplateVariables::Shell,
            unplanned: None,
            children: crate::invocation::Children::default(),
        }
    }

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let builders = "runtime_builders: [{name: aws-west, aliases: [west], is_default: true}, {name: aws-east}]\n\
            storage_builders: [{name: volumes, aliases: [disks]}, {name: far, runtime: aws-east}]\n\
            user_builders: [{name: volumes}]\n";
        for (path, text) in files.iter().chain(&[("cfg/builders.yml", builders)]) {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        folder
    }

    fn args(directory: &Path) -> ApplyCheckArgs {
        ApplyCheckArgs {
            directory: directory.to_owned(),
            lifecycle: "storage".into(),
            config_root: None,
            root: Some("volumes".into()),
            root_alias: vec!["aws-west".into()],
        }
    }

    fn check(flag: &str) -> Outcome {
        let folder = tree(&[("cfg/_config.yml", &format!("id: x\nconfig:\n  apply_storage: {flag}\n"))]);
        run(&invocation(None, &[]), &args(folder.path()))
    }

    #[test]
    fn only_true_and_a_name_of_the_root_allow() {
        for flag in ["true", "[volumes]", "[other, aws-west]", "volumes", "aws-west", "yes", "[west]", "DISKS"] {
            assert_eq!(check(flag).exit, Exit::Done, "{flag}");
        }
        for flag in [
            "false",
            "no",
            "\"true\"",
            "\"false\"",
            "\"no\"",
            "1",
            "0",
            "1.5",
            "[]",
            "[other]",
            "other",
            "{volumes: true}",
            "{aws-west: false}",
            "~",
            "[true]",
            "[1]",
            "\"\"",
        ] {
            let outcome = check(flag);
            assert_eq!(outcome.exit, Exit::Gate, "{flag}");
            assert!(outcome.findings[0].message.contains("apply_storage"), "{flag}");
            assert_eq!(outcome.findings[0].at.as_ref().map(|at| at.line), Some(3), "{flag}");
        }
    }

    #[test]
    fn a_root_is_known_by_its_names_and_one_that_is_not_there_names_those_that_are() {
        let folder = tree(&[("cfg/_config.yml", "config: {apply_storage: [aws-west], apply_release: true}\n")]);
        let ask = |lifecycle: &str, root: &str| {
            let root = Some(root.to_owned());
            let asked = ApplyCheckArgs { lifecycle: lifecycle.into(), root, root_alias: vec![], ..args(folder.path()) };
            run(&invocation(None, &[]), &asked)
        };
        for (root, exit) in [("volumes", Exit::Done), ("disks", Exit::Done), ("far", Exit::Gate)] {
            assert_eq!(ask("storage", root).exit, exit, "{root}");
        }
        for (lifecycle, root, word) in [
            ("storage", "volume", "--root volumes"),
            ("storage", "nope", "volumes, far"),
            ("instances", "x", "instance_builders"),
        ] {
            let outcome = ask(lifecycle, root);
            assert_eq!(outcome.exit, Exit::Usage, "{root}");
            assert!(outcome.findings[0].help.as_ref().is_some_and(|help| help.contains(word)), "{outcome:?}");
        }
        assert_eq!(ask("release", "any").exit, Exit::Done);
    }

    #[test]
    fn an_absent_flag_is_off_and_an_unknown_lifecycle_is_usage() {
        let folder = tree(&[("cfg/_config.yml", "id: x\n")]);
        assert_eq!(run(&invocation(None, &[]), &args(folder.path())).exit, Exit::Gate);
        let odd = ApplyCheckArgs { lifecycle: "instance-image".into(), ..args(folder.path()) };
        assert_eq!(run(&invocation(None, &[]), &odd).exit, Exit::Usage);
    }

    #[test]
    fn without_a_root_a_list_allows_and_a_text_does_not() {
        for (flag, exit) in [
            ("[volumes]", Exit::Done),
            ("true", Exit::Done),
            ("[]", Exit::Gate),
            ("\"no\"", Exit::Gate),
            ("volumes", Exit::Gate),
        ] {
            let folder = tree(&[("cfg/_config.yml", &format!("config: {{apply_storage: {flag}}}\n"))]);
            let all = ApplyCheckArgs { root: None, root_alias: vec![], ..args(folder.path()) };
            assert_eq!(run(&invocation(None, &[]), &all).exit, exit, "{flag}");
        }
    }

    #[test]
    fn every_file_of_cfg_is_read_and_one_key_in_two_is_refused() {
        let deep = "_private/storage/volumes/x";
        let folder = tree(&[
            ("cfg/_config.yml", "id: x\n"),
            ("cfg/more.YAML", "config:\n  apply_storage: true\n"),
            (&format!("{deep}/a"), ""),
        ]);
        assert_eq!(run(&invocation(None, &[]), &args(&folder.path().join(deep))).exit, Exit::Done);
        std::fs::write(folder.path().join("cfg/third.yml"), "config: {apply_storage: true}\n").expect("written");
        let outcome = run(&invocation(None, &[]), &args(folder.path()));
        assert_eq!((outcome.exit, outcome.findings[0].also.len()), (Exit::Gate, 1));
    }

    #[test]
    fn overlays_replace_the_flag_and_a_missing_one_refuses() {
        let folder = tree(&[
            ("cfg/_config.yml", "config: {apply_storage: false}\n"),
            ("overlays/on.yaml", "config: {apply_storage: [volumes]}\n"),
        ]);
        let with = |overlays: &[&str]| run(&invocation(None, overlays), &args(folder.path())).exit;
        assert_eq!(
            (with(&[]), with(&["overlays/on.yaml"]), with(&["overlays/gone.yaml"])),
            (Exit::Gate, Exit::Done, Exit::Gate)
        );
    }

    #[test]
    fn a_run_scoped_to_a_runtime_applies_what_is_on_it() {
        let folder = tree(&[("cfg/_config.yml", "config: {apply_storage: false, apply_identity: false}\n")]);
        let with = |runtime: &str, lifecycle: &str| {
            run(&invocation(Some(runtime), &[]), &ApplyCheckArgs { lifecycle: lifecycle.into(), ..args(folder.path()) })
                .exit
        };
        assert_eq!(with("aws-west", "storage"), Exit::Done);
        assert_eq!(with("aws-east", "storage"), Exit::Gate);
        assert_eq!(with("aws-west", "identity"), Exit::Gate);
    }

    #[test]
    fn what_cannot_be_read_allows_nothing() {
        for (files, why) in [
            (vec![("cfg/other.yml", "config: {apply_storage: true}\n")], "no _config.yml"),
            (vec![("cfg/_config.yml", "config: {apply_storage: true}\n"), ("cfg/bad.yml", "a: [")], "a broken file"),
            (vec![("cfg/_config.yml", "config: true\n")], "no mapping"),
            (vec![("cfg/_config.yml", "config:\n  apply_storage: false\n  apply_storage: true\n")], "a key twice"),
        ] {
            let folder = tree(&files);
            assert_eq!(run(&invocation(None, &[]), &args(folder.path())).exit, Exit::Gate, "{why}");
        }
    }
}
