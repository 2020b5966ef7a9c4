//! The files of an instance root.

use crate::files::Files;
use crate::fmt;
use csis_kinds::{RootSite, head, registry};
use csis_values::Diagnostics;
use csis_values::intent::InstanceIntent;
use hcl::Body;

pub(crate) fn write(
    site: &RootSite<'_>,
    instances: &[InstanceIntent],
    directory: &str,
    stem: &str,
    files: &mut Files,
    found: &mut Diagnostics,
) {
    let builder = site.builder;
    let Some(kind) = registry::instance(builder) else { return };
    let title = format!(
        "Instances of {} ({}) on {}: providers, backend, variables, the state they read and what they share",
        builder.name, builder.kind, site.runtime.name
    );
    for (name, body) in kind.root_files(site) {
        files.add(directory, &name, fmt::file(std::slice::from_ref(&title), &body), &builder.at, found);
    }
    for intent in instances {
        let at = site.tree.instance(&intent.name.safe).map_or(&builder.at, |i| &i.at);
        let call = head::module_call(
            site,
            &format!("instance_{}", intent.name.label),
            kind.module(),
            kind.arguments(site, intent),
        );
        files.add(
            directory,
            &format!("{stem}-instance-{}.tf", intent.name.label),
            fmt::file(&about(intent), &Body::from_iter([call])),
            at,
            found,
        );
        files.add(
            directory,
            &kind.script_name(&intent.name),
            kind.launch_script(site, intent).into_template(),
            at,
            found,
        );
    }
}

fn about(intent: &InstanceIntent) -> Vec<String> {
    let mut lines = vec![format!(
        "Instance {}{}",
        intent.name,
        if intent.ephemeral { ", launched, verified and destroyed in one run" } else { "" }
    )];
    let owner = intent.group.as_ref().map(|(group, _)| format!("of the group {group}, "));
    lines.push(format!("{}from the image {}", owner.unwrap_or_default(), intent.image));
    lines
}
