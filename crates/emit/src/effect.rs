//! What a change of the tree does to the emission: the difference between the emission of its base and of its head, both made in memory.

use csis_values::emission::Emission;
use csis_values::intent::{Intent, Root};
use csis_values::report::{FileChange, FileChangeKind};
use csis_values::sanction::Allowed;
use hcl::Expression;
use similar::TextDiff;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The files that differ, by path.
pub fn effect(base: &Emission, head: &Emission) -> Vec<FileChange> {
    let paths: BTreeSet<&String> = base.files.keys().chain(head.files.keys()).collect();
    paths
        .into_iter()
        .filter_map(|path| {
            let (before, after) = (base.files.get(path), head.files.get(path));
            let kind = match (before, after) {
                (Some(before), Some(after)) if before == after => return None,
                (Some(_), Some(_)) => FileChangeKind::Changed,
                (None, _) => FileChangeKind::Added,
                (_, None) => FileChangeKind::Removed,
            };
            let (before, after) = (before.map_or("", String::as_str), after.map_or("", String::as_str));
            let diff = TextDiff::from_lines(before, after).unified_diff().context_radius(2).to_string();
            Some(FileChange {
                path: path.clone(),
                root: root_of(path, head).or_else(|| root_of(path, base)),
                kind,
                diff,
            })
        })
        .collect()
}

/// The modules of machines whose launch script is given other values, by label (`instance_api_1`). The script's own text is a file of its own.
pub fn launched_with_other_values(base: &Emission, head: &Emission) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, after) in head.files.iter().filter(|(path, _)| Path::new(path).extension().is_some_and(|e| e == "tf")) {
        let Some(before) = base.files.get(path).filter(|before| *before != after) else { continue };
        let before = template_calls(before);
        found.extend(
            template_calls(after)
                .into_iter()
                .filter(|(label, calls)| before.get(label).is_some_and(|old| old != calls))
                .map(|(label, _)| label),
        );
    }
    found
}

/// The calls of `templatefile` among the arguments of each module.
fn template_calls(text: &str) -> BTreeMap<String, Vec<Expression>> {
    // What does not parse was not printed by this crate, and holds no module of it.
    let body = hcl::parse(text).unwrap_or_default();
    let modules = body.into_blocks().filter(|block| block.identifier.as_str() == "module");
    modules
        .map(|module| {
            let label = module.labels.first().map_or_else(String::new, |label| label.as_str().to_owned());
            let calls =
                module.body.into_attributes().map(|attribute| attribute.expr).filter(
                    |expr| matches!(expr, Expression::FuncCall(call) if call.name.name.as_str() == "templatefile"),
                );
            (label, calls.collect())
        })
        .collect()
}

fn root_of(path: &str, emission: &Emission) -> Option<String> {
    let root = emission
        .roots
        .iter()
        .find(|r| path.strip_prefix(r.directory.as_str()).is_some_and(|rest| rest.starts_with('/')))?;
    Some(root.id.clone())
}

/// The roots a change concerns, by id: those whose emission or sanctions differ, those with a bake of theirs due, and those that read one of them.
///
/// The others are planned and shown apart: what they would change does not come from this change.
pub fn concerned(effect: &[FileChange], base: &Intent, head: &Intent) -> BTreeSet<String> {
    let mut concerned: BTreeSet<String> = effect.iter().filter_map(|f| f.root.clone()).collect();
    let before: BTreeMap<&str, _> = base.roots.iter().map(|r| (r.id.as_str(), r)).collect();
    for root in &head.roots {
        let same = before.get(root.id.as_str()).is_some_and(|b| allowances(b) == allowances(root));
        if !same {
            concerned.insert(root.id.clone());
        }
    }
    // Roots stand producers first, so one pass carries the concern down.
    for root in &head.roots {
        if root.reads.iter().any(|read| concerned.contains(&read.root)) {
            concerned.insert(root.id.clone());
        }
    }
    concerned
}

/// A sanction without its place: address, deposed key, action, operation, name.
type Allowance<'a> = (&'a str, Option<&'a str>, Allowed, &'a str, &'a str);
type Allowances<'a> = (Vec<Allowance<'a>>, Vec<(&'a str, &'a str)>, &'a [String], bool);

/// What a root may do beyond its files. Places are left out: a declaration that moves in its file asks for nothing new.
fn allowances(root: &Root) -> Allowances<'_> {
    let sanctions = root.sanctions.iter().map(|s| {
        (s.address.as_str(), s.deposed.as_deref(), s.action, s.because.operation.as_str(), s.because.name.as_str())
    });
    let actions = root.actions.iter().map(|a| (a.action.as_str(), a.object.as_str()));
    (sanctions.collect(), actions.collect(), &root.replace, root.applies.applies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use csis_values::emission::EmittedRoot;

    fn emission(files: &[(&str, &str)]) -> Emission {
        let root = EmittedRoot {
            id: "storage/vol".into(),
            directory: "storage/vol/storage-generation".into(),
            backend_file: None,
            steps: vec![],
        };
        Emission {
            files: files.iter().map(|(p, t)| ((*p).into(), (*t).into())).collect(),
            roots: vec![root],
            kept: vec![],
        }
    }

    #[test]
    fn files_are_told_with_their_root_and_a_diff() {
        let base = emission(&[("storage/vol/storage-generation/a.tf", "one\n"), ("storage/run-storage.sh", "x\n")]);
        let head = emission(&[
            ("storage/vol/storage-generation/a.tf", "two\n"),
            ("storage/vol/storage-generation/b.tf", "new\n"),
        ]);
        let found = effect(&base, &head);
        let told: Vec<_> = found.iter().map(|f| (f.path.as_str(), f.root.as_deref(), f.kind)).collect();
        assert_eq!(
            told,
            [
                ("storage/run-storage.sh", None, FileChangeKind::Removed),
                ("storage/vol/storage-generation/a.tf", Some("storage/vol"), FileChangeKind::Changed),
                ("storage/vol/storage-generation/b.tf", Some("storage/vol"), FileChangeKind::Added),
            ]
        );
        assert!(found[1].diff.contains("-one") && found[1].diff.contains("+two"));
        assert!(effect(&base, &base).is_empty());
    }

    #[test]
    fn other_values_for_a_launch_script_are_found() {
        let call = |values: &str, size: &str| {
            format!(
                "module \"instance_a\" {{\n  instance_type = \"{size}\"\n  user_data = templatefile(\"x.tftpl\", {{\n    group_gid = {values}\n  }})\n}}\n"
            )
        };
        let of = |text: &str| emission(&[("instance-image/fleet/instance-generation/a.tf", text)]);
        let base = of(&call("4200", "small"));
        let changed = |text: &str| launched_with_other_values(&base, &of(text)).into_iter().collect::<Vec<_>>();
        assert_eq!(changed(&call("4201", "small")), ["instance_a"]);
        assert_eq!(changed(&call("4200", "large")), Vec::<String>::new());
        assert!(launched_with_other_values(&emission(&[]), &base).is_empty(), "a new machine");
    }
}
