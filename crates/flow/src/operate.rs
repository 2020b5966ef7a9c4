//! `csis upgrade` and `csis forget`: what is asked for once. Where there is a remote it becomes an operation file, which is reviewed as any change; elsewhere
//! it goes into the records at once.

use crate::Invocation;
use crate::git::Repository;
use crate::outcome::{Exit, Outcome, why};
use crate::reading::{Reading, RecordsFrom};
use csis_engine::Redactor;
use csis_records::Documents;
use csis_values::event::{Event, Operated, What};
use csis_values::name::{label, safe_name};
use csis_values::tree::{Operation, Tree};
use csis_values::{Diagnostic, Diagnostics, Place, Severity, Spanned};
use serde_json::json;

/// What is asked for; names as a person writes them.
pub enum Asked {
    /// Without a build: the newest of the image.
    UpgradeInstance {
        name: String,
        to: Option<String>,
    },
    UpgradeImage {
        name: String,
        runtime: Option<String>,
        to: Option<String>,
    },
    ForgetInstance {
        name: String,
    },
}

const FOLDER: &str = "operations";

pub fn run(invocation: &Invocation, asked: &Asked) -> Outcome {
    match attempt(invocation, asked) {
        Ok(outcome) | Err(outcome) => outcome,
    }
}

fn attempt(invocation: &Invocation, asked: &Asked) -> Result<Outcome, Outcome> {
    // Not held against the rules: an upgrade is a way out of what some of them refuse.
    let reading = Reading::of(invocation, &[], &RecordsFrom::Folder)?;
    let unreadable = |d: &&Diagnostic| {
        d.severity == Severity::Error
            && (!reading.whole || d.code.starts_with("record-") || d.code.starts_with("yaml-"))
    };
    let broken: Vec<Diagnostic> = reading.findings.iter().filter(unreadable).cloned().collect();
    if !broken.is_empty() {
        return Err(Outcome::new(Exit::Failed).findings(broken));
    }
    let operation = operation(&reading, asked).map_err(|refused| *refused)?;
    let mut found = Diagnostics::default();
    let alone = Tree { operations: [(String::new(), operation)].into(), ..reading.tree.clone() };
    let events = csis_resolve::operations(&alone, &reading.records, &mut found);
    let [what] = events.as_slice() else {
        let mut refused = found.0;
        for finding in &mut refused {
            // What stands on a command line has no place in a file.
            finding.at = None;
            finding.help = finding
                .help
                .take()
                .map(|help| help.replace("remove the file; ", "").replace("remove the file", "there is nothing to do"));
        }
        return Err(Outcome::new(Exit::Failed).findings(refused));
    };
    match Repository::find(&reading.root).ok().and_then(|repository| repository.origin()) {
        Some(_) => as_file(&reading, what),
        None => as_record(&reading, what),
    }
}

/// The operation by canonical names, with the build that is meant.
fn operation(reading: &Reading, asked: &Asked) -> Result<Operation, Box<Outcome>> {
    let tree = &reading.tree;
    let spanned = |text: &str| Spanned::new(text.to_owned(), Place::head("the command line"));
    let newest = |to: &Option<String>, series: Option<&str>, runtime: Option<&str>| {
        let head = || Some(reading.records.head(series?, runtime?)?.build_id.clone());
        to.clone().or_else(head).ok_or_else(|| {
            let what = match (series, runtime) {
                (Some(series), Some(runtime)) => format!("the records hold no build of `{series}` on `{runtime}`"),
                _ => "what to move onto which build is not told".to_owned(),
            };
            let help =
                "let a landing bake one first, or name a build with `--to BUILD`, and for an image its `--runtime`";
            Box::new(
                Outcome::new(Exit::Failed).findings(vec![Diagnostic::error("upgrade-unknown-build", what).help(help)]),
            )
        })
    };
    Ok(match asked {
        Asked::UpgradeInstance { name, to } => {
            let is_it = |written: &str, aliases: &[String]| {
                safe_name(written) == safe_name(name) || aliases.iter().any(|alias| safe_name(alias) == safe_name(name))
            };
            let instance = tree.instances.iter().find(|i| is_it(&i.name.written, &i.aliases));
            let image = instance.and_then(|i| i.image.as_ref()).map(|image| image.value.as_str());
            let to = match instance {
                Some(instance) => newest(to, image, Some(&instance.runtime.value))?,
                None => to.clone().unwrap_or_default(),
            };
            let name = instance.map_or_else(|| name.clone(), |i| i.name.safe.clone());
            Operation::UpgradeInstance { instance: spanned(&name), to: spanned(&to) }
        }
        Asked::UpgradeImage { name, runtime, to } => {
            let is_it = |i: &&csis_values::tree::Image| {
                i.name.safe == safe_name(name) || i.aliases.iter().any(|alias| safe_name(alias) == safe_name(name))
            };
            let image = tree.images.iter().find(is_it);
            let runtime = runtime.as_ref().map(|r| safe_name(r));
            let only = image.filter(|i| i.runtimes.iter().all(|r| r.runtime == i.runtimes[0].runtime));
            let place = runtime.clone().or_else(|| Some(only?.runtimes.first()?.runtime.clone()));
            let to = match image.filter(|_| place.is_some()) {
                Some(image) => newest(to, Some(&image.source.value), place.as_deref())?,
                None => to.clone().unwrap_or_default(),
            };
            let name = image.map_or_else(|| name.clone(), |i| i.name.safe.clone());
            Operation::UpgradeImage { image: spanned(&name), runtime: runtime.map(|r| spanned(&r)), to: spanned(&to) }
        }
        Asked::ForgetInstance { name } => Operation::ForgetInstance { instance: spanned(name) },
    })
}

fn as_file(reading: &Reading, what: &Operated) -> Result<Outcome, Outcome> {
    let (name, content, says) = match what {
        Operated::InstanceUpgraded { instance, to } => (
            format!("upgrade-{}", label(instance)),
            json!({"upgrade": {"instance": instance, "to": to}}),
            format!("`{instance}` moves onto build `{to}`"),
        ),
        Operated::ImageUpgraded { image, runtime, to } => (
            format!("upgrade-{}-{}", label(image), label(runtime)),
            json!({"upgrade": {"image": image, "runtime": runtime, "to": to}}),
            format!("`{image}` is baked from build `{to}` on `{runtime}`"),
        ),
        Operated::InstanceForgotten { instance } => (
            format!("forget-{}", label(instance)),
            json!({"forget": {"instance": instance}}),
            format!("the records drop `{instance}`"),
        ),
    };
    let file = format!("{}.yaml", name.replace('_', "-"));
    csis_records::put(&reading.root.join(FOLDER), &file, &csis_records::yaml(&content)).map_err(|error| {
        Outcome::new(Exit::Failed).findings(vec![
            Diagnostic::error("cannot-write", format!("{FOLDER}/{file} cannot be written: {}", why(&error)))
                .help("make the folder writable"),
        ])
    })?;
    Ok(Outcome::new(Exit::Done)
        .stdout(format!("{FOLDER}/{file}\n"))
        .stderr(format!("{says} once this file lands: commit it on a branch and open a pull request\n")))
}

fn as_record(reading: &Reading, what: &Operated) -> Result<Outcome, Outcome> {
    let folder = csis_records::Folder(reading.root.join(csis_records::FOLDER));
    let mut documents = Documents::of(&folder);
    let event =
        Event { run: reading.request.run.clone(), at: reading.request.now.clone(), what: What::Operated(what.clone()) };
    let failed = |message: String| {
        Outcome::new(Exit::Failed).findings(vec![
            Diagnostic::error("record-shape", message).help("restore the record from the last commit that landed"),
        ])
    };
    documents.apply(&event).map_err(|misfit| failed(misfit.to_string()))?;
    let redactor = Redactor::new(reading.hidden());
    let written = csis_records::write(&reading.root, &documents, &|text| redactor.holds_key(text))
        .map_err(|error| failed(error.to_string()))?;
    let paths: Vec<String> = written.iter().map(|name| format!("{}/{name}\n", csis_records::FOLDER)).collect();
    Ok(Outcome::new(Exit::Done)
        .stdout(paths.concat())
        .stderr("no remote is known, so the records hold it at once: commit them, then plan\n"))
}
