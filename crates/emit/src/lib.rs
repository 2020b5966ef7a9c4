//! From the intent to the files and steps of every root.
//!
//! **Invariant:** pure. The same intent gives the same bytes: no time, run id, user or absolute path of this machine is known here.

pub mod effect;
mod escape;
mod files;
pub mod fmt;
mod ignore;
mod machines;
mod module_source;
mod runner;
mod steps;
mod storages;

use csis_values::emission::{Emission, EmittedRoot};
use csis_values::intent::{Content, Intent, Root};
use csis_values::name::safe_name;
use csis_values::request::{Lifecycle, Request};
use csis_values::tree::{Builder, Tree};
use csis_values::{Class, Diagnostic, Diagnostics};
use files::Files;

/// The lifecycles whose roots this build writes, with the class of their builders and the phase of their roots.
pub const EMITTED: &[(Lifecycle, Class, &str)] = &[
    (Lifecycle::Storage, Class::StorageBuilder, "storage-generation"),
    (Lifecycle::InstanceImage, Class::InstanceBuilder, "instance-generation"),
];

/// The files of every root of the intent, the scripts that run them, and the same steps as values.
///
/// Findings are errors of names that cannot be files, and warnings of what a script cannot say; what they concern is left out.
pub fn emission(tree: &Tree, intent: &Intent, request: &Request) -> (Emission, Diagnostics) {
    let mut found = Diagnostics::default();
    let mut files = Files::default();
    let mut roots: Vec<(&Root, EmittedRoot)> = Vec::new();
    let overlays = steps::overlays(request, &mut found);
    for root in &intent.roots {
        let Some((builder, runtime)) = builders(tree, root) else { continue };
        let Some(directory) =
            Files::directory(&[root.lifecycle.name(), &root.builder.safe, &root.phase], &builder.at, &mut found)
        else {
            continue;
        };
        let rewrite = |module: &str| module_source::of(tree, module);
        let site = csis_kinds::RootSite { tree, root, builder, runtime, module_source: &rewrite };
        let stem = format!("{}-{}", root.builder.safe, root.phase);
        match &root.content {
            Content::Storages { storages } => {
                storages::write(&site, storages, &directory, &stem, &mut files, &mut found);
            }
            Content::Instances { instances } => {
                machines::write(&site, instances, &directory, &stem, &mut files, &mut found);
            }
        }
        let backend_file = files::backend(tree, root).map(|(head, body)| {
            let name = format!("{stem}.tfbackend.hcl");
            files.add(&directory, &name, fmt::file(&[head], &body), &builder.at, &mut found);
            name
        });
        let mut emitted = EmittedRoot { id: root.id.clone(), directory, backend_file, steps: Vec::new() };
        emitted.steps = steps::of(root, &emitted, &module_source::up(&tree.generation_directory), &overlays, request);
        roots.push((root, emitted));
    }
    let named = |option: &str, values: &[String]| -> Vec<String> {
        values.iter().flat_map(|value| [option.to_owned(), value.clone()]).collect()
    };
    let options = [named("--overlay", &overlays), named("--undeclare", &request.undeclare)].concat();
    for (lifecycle, _, _) in EMITTED {
        let own: Vec<_> = roots.iter().filter(|(root, _)| root.lifecycle == *lifecycle).collect();
        if !own.is_empty() {
            files.loose(&format!("{lifecycle}/.gitignore"), ignore::of_lifecycle(tree));
            let script = runner::of_lifecycle(*lifecycle, tree, &own, &options);
            files.loose(&format!("{lifecycle}/run-{lifecycle}.sh"), script);
        }
    }
    files.loose(".gitignore", ignore::of_all(tree));
    files.loose("final_execution.sh", runner::of_all());
    let emission = Emission {
        files: files.into_map(),
        roots: roots.into_iter().map(|(_, emitted)| emitted).collect(),
        kept: kept(tree, request),
    };
    (emission, found)
}

fn builders<'a>(tree: &'a Tree, root: &Root) -> Option<(&'a Builder, &'a Builder)> {
    let (_, class, _) = EMITTED.iter().find(|(lifecycle, _, _)| *lifecycle == root.lifecycle)?;
    let builder = tree.builder(*class, &root.builder.safe)?;
    Some((builder, tree.builder(Class::Runtime, &builder.runtime.as_ref()?.value)?))
}

/// Roots of runtimes that this run leaves alone.
fn kept(tree: &Tree, request: &Request) -> Vec<String> {
    let Some(only) = request.only_runtime.as_ref().or(request.apply_runtime.as_ref()).map(|word| safe_name(word))
    else {
        return Vec::new();
    };
    let is_out = |builder: &Builder| {
        let runtime = builder.runtime.as_ref().and_then(|r| tree.builder(Class::Runtime, &r.value));
        runtime.is_none_or(|r| !r.is_called(&only))
    };
    let mut kept: Vec<_> = EMITTED
        .iter()
        .flat_map(|(lifecycle, class, phase)| {
            tree.builders_of(*class).filter(|b| is_out(b)).map(move |b| format!("{lifecycle}/{}/{phase}", b.name.safe))
        })
        .collect();
    kept.sort();
    kept
}

pub(crate) fn refusal(code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, message)
}

#[cfg(test)]
mod fmt_tests;
