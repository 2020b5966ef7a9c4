//! What is asked for once: whether it may be, and what the records hold once it is done.

use csis_values::event::Operated;
use csis_values::name::safe_name;
use csis_values::records::{Build, Records};
use csis_values::tree::{Image, Operation, Tree};
use csis_values::{Diagnostic, Diagnostics, Spanned};

/// What the operations of a tree make of its records; those that are refused are in `found`.
pub fn operations(tree: &Tree, records: &Records, found: &mut Diagnostics) -> Vec<Operated> {
    let mut events = Vec::new();
    for operation in tree.operations.values() {
        match event(tree, records, operation) {
            Ok(event) if events.contains(&event) => {}
            Ok(event) => events.push(event),
            Err(refused) => found.push(*refused),
        }
    }
    events
}

type Judged<T> = Result<T, Box<Diagnostic>>;

fn refuse<T>(code: &'static str, at: &Spanned<String>, what: String, help: String) -> Judged<T> {
    Err(Box::new(Diagnostic::error(code, what).at(&at.at).help(help)))
}

fn event(tree: &Tree, records: &Records, operation: &Operation) -> Judged<Operated> {
    match operation {
        Operation::UpgradeInstance { instance, to } => upgrade_instance(tree, records, instance, to),
        Operation::UpgradeImage { image, runtime, to } => upgrade_image(tree, records, image, runtime.as_ref(), to),
        Operation::ForgetInstance { instance } => {
            let name = safe_name(instance);
            if tree.instances.iter().any(|i| i.name.safe == name) {
                return refuse(
                    "forget-declared",
                    instance,
                    format!("instance `{instance}` is declared, and only one that is gone is forgotten"),
                    "remove the declaration and let a landing take the machine away".into(),
                );
            }
            if !records.launches.contains_key(&name) && !records.pins.instances.contains_key(&name) {
                let known: Vec<&str> = records.launches.keys().map(String::as_str).collect();
                return refuse(
                    "forget-unknown",
                    instance,
                    format!("the records hold no instance `{instance}`"),
                    format!("remove the file; the records know {}", list(&known)),
                );
            }
            Ok(Operated::InstanceForgotten { instance: name })
        }
    }
}

fn upgrade_instance(tree: &Tree, records: &Records, name: &Spanned<String>, to: &Spanned<String>) -> Judged<Operated> {
    // A reference that leads nowhere was told when the tree was read.
    let Some(instance) = tree.instances.iter().find(|i| i.name.safe == name.value) else {
        return refuse("upgrade-undeclared", name, format!("instance `{name}` is not declared"), "declare it".into());
    };
    let Some(image) = &instance.image else {
        return refuse(
            "upgrade-without-image",
            name,
            format!("instance `{name}` has no image to move along"),
            "give the instance an `image:`".into(),
        );
    };
    build(records, &image.value, &instance.runtime.value, to)?;
    not_there_yet(records.pins.instances.get(&instance.name.safe), name, to)?;
    Ok(Operated::InstanceUpgraded { instance: instance.name.safe.clone(), to: to.value.clone() })
}

fn upgrade_image(
    tree: &Tree,
    records: &Records,
    name: &Spanned<String>,
    runtime: Option<&Spanned<String>>,
    to: &Spanned<String>,
) -> Judged<Operated> {
    let Some(image) = tree.images.iter().find(|i| i.name.safe == name.value) else {
        return refuse("upgrade-undeclared", name, format!("image `{name}` is not declared"), "declare it".into());
    };
    let runtime = runtime_of(image, name, runtime)?;
    build(records, &image.source.value, &runtime, to)?;
    let edge = format!("{}@{runtime}", image.name.safe);
    not_there_yet(records.pins.images.get(&edge), name, to)?;
    Ok(Operated::ImageUpgraded { image: image.name.safe.clone(), runtime, to: to.value.clone() })
}

fn runtime_of(image: &Image, name: &Spanned<String>, runtime: Option<&Spanned<String>>) -> Judged<String> {
    let mut runtimes: Vec<&str> = image.runtimes.iter().map(|r| r.runtime.as_str()).collect();
    runtimes.sort_unstable();
    runtimes.dedup();
    match (runtime, runtimes.as_slice()) {
        (Some(wanted), known) if known.contains(&wanted.value.as_str()) => Ok(wanted.value.clone()),
        (Some(wanted), known) => refuse(
            "upgrade-elsewhere",
            wanted,
            format!("image `{name}` is not baked on `{wanted}`"),
            format!("name one of {}", list(known)),
        ),
        (None, [one]) => Ok((*one).to_owned()),
        (None, known) => refuse(
            "upgrade-runtime",
            name,
            format!("image `{name}` is baked on several runtimes, and the upgrade names none"),
            format!("add `runtime:` with one of {}", list(known)),
        ),
    }
}

/// The build that is meant: of the series, on the runtime.
fn build<'r>(records: &'r Records, series: &str, runtime: &str, to: &Spanned<String>) -> Judged<&'r Build> {
    let of_series = |b: &&Build| b.series == series && b.runtime == runtime;
    let known: Vec<&str> = records.builds.iter().filter(of_series).map(|b| b.build_id.as_str()).collect();
    let help = if known.is_empty() {
        format!("let a landing bake `{series}` on `{runtime}` first")
    } else {
        format!("name a build of `{series}` on `{runtime}`: {}", list(&known))
    };
    match records.build(&to.value) {
        Some(build) if of_series(&build) => Ok(build),
        Some(build) => refuse(
            "upgrade-other-series",
            to,
            format!("build `{to}` is of `{}` on `{}`, not of `{series}` on `{runtime}`", build.series, build.runtime),
            help,
        ),
        None => refuse("upgrade-unknown-build", to, format!("the records know no build `{to}`"), help),
    }
}

fn not_there_yet(pinned: Option<&String>, name: &Spanned<String>, to: &Spanned<String>) -> Judged<()> {
    if pinned == Some(&to.value) {
        return refuse("upgrade-done", to, format!("`{name}` is on build `{to}` already"), "remove the file".into());
    }
    Ok(())
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".into() } else { names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ") }
}
