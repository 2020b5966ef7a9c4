//! What a consumer takes from a producer's outputs, and what of it does not stand.

use crate::plan::Outputs;
use crate::plan::json::Json;
use csis_values::emission::{Emission, EmittedRoot};
use csis_values::intent::{Content, Root};
use serde::{Deserialize, Serialize};

/// Something a root needs that its producer has not made and this merge will not make.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Need {
    /// The block that needs it, e.g. `module.instance_api_1`.
    pub block: String,
    /// The machine that block declares, as the tree names it.
    pub instance: Option<String>,
    /// The output's path, e.g. `storage_ledger.volume_id`.
    pub output: String,
    /// The storage that output tells of, as the tree names it.
    pub storage: Option<String>,
}

/// A reference to a producer's output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    block: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Key(String),
    Index(usize),
}

/// The needs of a consumer that do not stand: not there before, and there after an apply that will not be.
pub fn unmet(
    emission: &Emission,
    emitted: &EmittedRoot,
    consumer: &Root,
    producer: &Root,
    label: &str,
    outputs: &Outputs,
) -> Vec<Need> {
    let mut needs: Vec<Need> = references(emission, emitted, label)
        .into_iter()
        .filter(|reference| !stands(outputs, &reference.steps) && is_planned(outputs, &reference.steps))
        .map(|reference| Need {
            instance: instance_of(consumer, &reference.block),
            storage: reference.steps.first().and_then(|step| storage_of(producer, step)),
            output: path(&reference.steps),
            block: reference.block,
        })
        .collect();
    needs.sort();
    needs.dedup();
    needs
}

fn instance_of(consumer: &Root, block: &str) -> Option<String> {
    let Content::Instances { instances } = &consumer.content else { return None };
    let label = block.strip_prefix("module.instance_")?;
    instances.iter().find(|instance| instance.name.label == label).map(|instance| instance.name.written.clone())
}

fn storage_of(producer: &Root, step: &Step) -> Option<String> {
    let (Content::Storages { storages }, Step::Key(output)) = (&producer.content, step) else { return None };
    let label = output.strip_prefix("storage_")?;
    storages.iter().find(|storage| storage.name.label == label).map(|storage| storage.name.written.clone())
}

fn path(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) => crate::plan::push_key(&mut path, key),
            Step::Index(index) => {
                use std::fmt::Write;
                let _ = write!(path, "[{index}]");
            }
        }
    }
    path
}

fn stands(outputs: &Outputs, steps: &[Step]) -> bool {
    let Some((Step::Key(name), rest)) = steps.split_first() else { return true };
    let Some(output) = outputs.0.get(name) else { return false };
    output.before().ok().flatten().is_some_and(|before| reach(&before, rest).is_some_and(|value| *value != Json::Null))
}

fn is_planned(outputs: &Outputs, steps: &[Step]) -> bool {
    let Some((Step::Key(name), rest)) = steps.split_first() else { return false };
    let Some(output) = outputs.0.get(name) else { return false };
    let known = output
        .after()
        .ok()
        .flatten()
        .is_some_and(|after| reach(&after, rest).is_some_and(|value| *value != Json::Null));
    known || output.after_unknown().ok().flatten().is_some_and(|marks| is_marked(&marks, rest))
}

fn reach<'j>(value: &'j Json<'j>, steps: &[Step]) -> Option<&'j Json<'j>> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.at(*index),
    })
}

fn is_marked(marks: &Json<'_>, steps: &[Step]) -> bool {
    if *marks == Json::Bool(true) {
        return true;
    }
    match steps.split_first() {
        None => marks.marks_any(),
        Some((Step::Key(key), rest)) => marks.get(key).is_some_and(|inner| is_marked(inner, rest)),
        Some((Step::Index(index), rest)) => marks.at(*index).is_some_and(|inner| is_marked(inner, rest)),
    }
}

/// `data.terraform_remote_state.<label>.outputs.<path>` in the files of a root.
fn references(emission: &Emission, emitted: &EmittedRoot, label: &str) -> Vec<Reference> {
    let start = format!("data.terraform_remote_state.{label}.outputs");
    let prefix = format!("{}/", emitted.directory.trim_end_matches('/'));
    let mut found = Vec::new();
    for (_, text) in emission.files.iter().filter(|(name, _)| is_in(name, &prefix, &[".tf"])) {
        let mut block = String::new();
        for line in text.lines() {
            if line.trim_start().starts_with('#') {
                continue;
            }
            if let Some(opened) = block_of(line) {
                block = opened;
            }
            for (at, met) in line.match_indices(&start) {
                let steps = steps(&line[at + met.len()..]);
                if !steps.is_empty() {
                    found.push(Reference { block: block.clone(), steps });
                }
            }
        }
    }
    found
}

fn is_in(name: &str, prefix: &str, ends: &[&str]) -> bool {
    name.starts_with(prefix) && ends.iter().any(|end| name.ends_with(end))
}

/// The address of the block that a line at the margin opens.
fn block_of(line: &str) -> Option<String> {
    if !line.ends_with('{') || line.starts_with(char::is_whitespace) {
        return None;
    }
    let mut words = line.trim_end_matches('{').split_whitespace().map(|word| word.trim_matches('"'));
    let kind = words.next()?;
    let labels: Vec<&str> = words.collect();
    Some(if kind == "resource" {
        labels.join(".")
    } else {
        std::iter::once(kind).chain(labels).collect::<Vec<_>>().join(".")
    })
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = text;
    loop {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(after.len());
            if end == 0 {
                return steps;
            }
            steps.push(Step::Key(after[..end].to_owned()));
            rest = &after[end..];
        } else if let Some((key, after)) = rest.strip_prefix("[\"").and_then(|after| after.split_once("\"]")) {
            steps.push(Step::Key(key.to_owned()));
            rest = after;
        } else if let Some((number, after)) = rest.strip_prefix('[').and_then(|after| after.split_once(']'))
            && let Ok(index) = number.parse()
        {
            steps.push(Step::Index(index));
            rest = after;
        } else {
            return steps;
        }
    }
}

/// Whether the files of a root declare the remote-state block with this label.
pub fn declares(emission: &Emission, emitted: &EmittedRoot, label: &str) -> bool {
    let prefix = format!("{}/", emitted.directory.trim_end_matches('/'));
    let block = format!("data \"terraform_remote_state\" \"{label}\"");
    emission
        .files
        .iter()
        .any(|(name, text)| name.starts_with(&prefix) && text.lines().any(|line| line.starts_with(&block)))
}

/// Profiles that the files of a root name.
pub fn profiles(emission: &Emission, emitted: &EmittedRoot) -> Vec<String> {
    let prefix = format!("{}/", emitted.directory.trim_end_matches('/'));
    let files = emission.files.iter().filter(|(name, _)| is_in(name, &prefix, &[".tf", ".hcl"]));
    let mut found: Vec<String> = files
        .flat_map(|(_, text)| text.lines())
        .filter_map(|line| {
            let rest = line.trim().strip_prefix("profile")?.trim_start().strip_prefix('=')?.trim();
            let name = rest.strip_prefix('"')?.strip_suffix('"')?;
            (!name.is_empty() && !name.contains(['"', '$', '%'])).then(|| name.to_owned())
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emission(text: &str) -> (Emission, EmittedRoot) {
        let root = EmittedRoot { id: "i/f".into(), directory: "i/f/x".into(), backend_file: None, steps: Vec::new() };
        let mut emission = Emission::default();
        emission.files.insert("i/f/x/m.tf".into(), text.into());
        emission.files.insert("other/m.tf".into(), "profile = \"other\"\n".into());
        (emission, root)
    }

    #[test]
    fn references_are_found_with_the_block_that_makes_them() {
        let text = "# data.terraform_remote_state.v.outputs.no\nmodule \"instance_api_1\" {\n  a = { b = data.terraform_remote_state.v.outputs.storage_ledger.volume_id, c = data.terraform_remote_state.v.outputs.storage_home.access_point_ids[\"web-x\"] }\n}\nresource \"a\" \"b\" {\n  x = \"${data.terraform_remote_state.v.outputs.l[0].id}\"\n  y = data.terraform_remote_state.v2.outputs.no\n}\n";
        let (emission, root) = emission(text);
        let found: Vec<(String, String)> =
            references(&emission, &root, "v").into_iter().map(|r| (r.block, path(&r.steps))).collect();
        let expected = [
            ("module.instance_api_1", "storage_ledger.volume_id"),
            ("module.instance_api_1", "storage_home.access_point_ids.web-x"),
            ("a.b", "l[0].id"),
        ];
        assert_eq!(found, expected.map(|(block, path)| (block.to_owned(), path.to_owned())));
    }

    #[test]
    fn profiles_are_read_from_the_files_of_the_root() {
        let (emission, root) = emission("provider \"aws\" {\n  profile = \"harbor\"\n}\n  profile = var.x\n");
        assert_eq!(profiles(&emission, &root), ["harbor"]);
    }
}
