//! What of the emission stays out of version control.

use csis_values::tree::Tree;

const BUILT_IN: &str = "\
# Written by csis generate.
# What the engine and the runs leave beside the emission is not part of it.
# Provider locks are: a review's providers are what its landing uses.
# Further entries come from `gitignore` of the configuration.
target/
.terraform/
terraform.tfstate
terraform.tfstate.backup
!.terraform.lock.hcl
csis-sanctioned-removals.txt
";

const OF_RUNS: &[&str] = &["run-summary.json", "state-report.json", "manifest.json", "plan.json"];

pub(crate) fn of_lifecycle(tree: &Tree) -> String {
    let mut text = BUILT_IN.to_owned();
    for entry in &tree.gitignore {
        text.push_str(&entry.replace(['\n', '\r'], " "));
        text.push('\n');
    }
    text
}

pub(crate) fn of_all(tree: &Tree) -> String {
    let mut text = of_lifecycle(tree);
    for entry in OF_RUNS {
        text.push_str(entry);
        text.push('\n');
    }
    text
}
