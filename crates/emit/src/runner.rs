//! The runner scripts: the same steps, printed for a shell.

use crate::escape::comment;
use csis_kinds::script::quote;
use csis_values::emission::{EmittedRoot, Step};
use csis_values::intent::Root;
use csis_values::request::Lifecycle;
use csis_values::tree::Tree;
use std::fmt::Write;

/// `options` are those that made the emission: the working copies must be laid with the same.
pub(crate) fn of_lifecycle(
    lifecycle: Lifecycle,
    tree: &Tree,
    roots: &[&(&Root, EmittedRoot)],
    options: &[String],
) -> String {
    let options = options.iter().fold(String::new(), |line, option| line + " " + &word(option));
    let mut text = format!(
        "#!/usr/bin/env bash\n# Runs the {lifecycle} roots: each is planned and gated, and applied where its flag allows.\n# Written by csis generate; run it with `bash run-{lifecycle}.sh`.\n"
    );
    for (root, _) in roots {
        if let Some(state) = &root.state {
            let _ =
                writeln!(text, "# state: workspace {} -> {}", comment(&root.builder.label), comment(&state.location));
        }
    }
    let up = vec![".."; tree.generation_directory.split('/').filter(|part| !matches!(*part, "" | ".")).count() + 1]
        .join("/");
    let _ = write!(
        text,
        "set -euo pipefail\nunset CDPATH\ncd \"$(dirname \"${{BASH_SOURCE[0]}}\")\"\nCSIS_ROOT=\"$(cd {up} && pwd)\"\nexport CSIS_ROOT\n"
    );
    for (root, emitted) in roots {
        let _ = writeln!(text, "\n# --- {}: {} ---", root.phase, comment(&root.builder.safe));
        for step in &emitted.steps {
            text.push_str(&line(lifecycle, step, &options));
        }
    }
    text
}

/// A subshell in the root's private working copy. The copy's path is taken in a step of its own, so that a failing `materialize` ends it.
fn line(lifecycle: Lifecycle, step: &Step, options: &str) -> String {
    let directory = step
        .directory
        .strip_prefix(lifecycle.name())
        .map_or(step.directory.as_str(), |rest| rest.trim_start_matches('/'));
    // A name that begins with a hyphen would be an option.
    let directory = if directory.starts_with('-') { format!("./{directory}") } else { directory.to_owned() };
    let environment = step.environment.iter().map(|(name, value)| format!("{name}={}", word(value)));
    let command: Vec<_> = environment.chain(step.argv.iter().map(|a| word(a))).collect();
    format!(
        "( cd {} && copy=\"$(csis --root \"$CSIS_ROOT\"{options} materialize .)\" && cd \"$copy\" && {} )\n",
        word(&directory),
        command.join(" ")
    )
}

/// A word for the shell, quoted only where it must be.
fn word(text: &str) -> String {
    let plain = !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-+=:,./@".contains(c))
        && !text.starts_with('=');
    if plain { text.to_owned() } else { quote(text) }
}

/// Every runner that is there, in the order of the lifecycles.
pub(crate) fn of_all() -> String {
    let names: Vec<_> = Lifecycle::ALL.iter().map(|l| l.name()).collect();
    format!(
        "#!/usr/bin/env bash\n# Runs every runner script of this emission, in order.\n# Written by csis generate; run it with `bash final_execution.sh`.\nset -euo pipefail\nunset CDPATH\ncd \"$(dirname \"${{BASH_SOURCE[0]}}\")\"\nfor lifecycle in {}; do\n  script=\"$lifecycle/run-$lifecycle.sh\"\n  if [ -f \"$script\" ]; then\n    bash \"$script\"\n  fi\ndone\n",
        names.join(" ")
    )
}
