//! The commands of a root, in order, as values.

use csis_values::emission::{EmittedRoot, Step};
use csis_values::intent::{Content, Root};
use csis_values::request::{Lifecycle, Request};
use csis_values::sanction::{Allowed, Because, Obligation, OwnAction, Sanction};
use csis_values::{Diagnostic, Diagnostics};
use std::collections::BTreeMap;

/// The name csis is called by.
const CSIS: &str = "csis";
const PLAN: &str = "tfplan";

/// The overlays that a script can name: those within the tree. An apply that another one allows is not repeated by a script.
pub(crate) fn overlays(request: &Request, found: &mut Diagnostics) -> Vec<String> {
    let (within, outside): (Vec<_>, Vec<_>) =
        request.overlays.iter().cloned().partition(|o| !o.starts_with('/') && !o.split('/').any(|part| part == ".."));
    for overlay in outside {
        found.push(
            Diagnostic::warning(
                "overlay-outside",
                format!("the overlay {overlay} lies outside the tree, so the runner scripts do not name it"),
            )
            .help("put the overlay into the tree, e.g. under `overlays/`"),
        );
    }
    within.into_iter().map(|o| o.trim_start_matches("./").to_owned()).collect()
}

struct Sequence<'a> {
    root: &'a Root,
    emitted: &'a EmittedRoot,
    steps: Vec<Step>,
}

impl Sequence<'_> {
    fn push(&mut self, purpose: &str, argv: impl IntoIterator<Item = String>) {
        self.steps.push(Step {
            purpose: purpose.to_owned(),
            directory: self.emitted.directory.clone(),
            argv: argv.into_iter().collect(),
            environment: BTreeMap::new(),
        });
    }

    fn engine<'s>(&mut self, purpose: &str, arguments: impl IntoIterator<Item = &'s str>) {
        let binary = self.root.engine.binary.clone();
        self.push(purpose, std::iter::once(binary).chain(arguments.into_iter().map(str::to_owned)));
    }
}

/// `clean`, `init`, `plan`, `gate`; and for a root that may be applied: `unmount` and what csis does itself around them, `apply-check`, `apply`, and the
/// verification and teardown of ephemeral machines.
///
/// `up` leads from the root's folder to the configuration root.
pub(crate) fn of(root: &Root, emitted: &EmittedRoot, up: &str, overlays: &[String], request: &Request) -> Vec<Step> {
    let mut sequence = Sequence { root, emitted, steps: Vec::new() };
    let applies = root.applies.applies;
    sequence.push("clean", words(["rm", "-f", PLAN]));
    let mut init = vec!["init".to_owned(), "-input=false".into(), "-reconfigure".into()];
    init.extend(emitted.backend_file.iter().map(|file| format!("-backend-config={file}")));
    sequence.engine("init", init.iter().map(String::as_str));
    if applies {
        for obligation in &root.obligations {
            if let Obligation::Unmounted { instance, storage, mount_point } = obligation {
                let argv = [
                    CSIS,
                    "unmount",
                    "storage",
                    "--instance",
                    instance,
                    "--storage",
                    storage,
                    "--mount-point",
                    mount_point,
                    "--workdir",
                    ".",
                ];
                sequence.push("unmount", words(argv));
            }
        }
    }
    let check = apply_check(root, overlays, request, up);
    gated(&mut sequence, "", &root.variables, &root.sanctions, applies);
    if applies {
        sequence.push("apply-check", check.clone());
        let (after, before): (Vec<_>, Vec<_>) = root.actions.iter().partition(|a| a.because.operation == "restored");
        for action in before {
            sequence.push(&action.action, act(action));
        }
        sequence.engine("apply", ["apply", "-input=false", PLAN]);
        for action in after {
            sequence.push(&action.action, act(action));
        }
        teardown(&mut sequence, &check);
    }
    sequence.steps
}

fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}

fn act(action: &OwnAction) -> Vec<String> {
    words([CSIS, "storage", &action.action, &action.object])
}

/// Plan and gate; `prefix` keeps the purposes of a second round apart.
fn gated(
    sequence: &mut Sequence<'_>,
    prefix: &str,
    variables: &BTreeMap<String, String>,
    sanctions: &[Sanction],
    applies: bool,
) {
    let mut plan = vec!["plan".to_owned(), "-input=false".into(), format!("-out={PLAN}")];
    if prefix.is_empty() {
        plan.extend(sequence.root.replace.iter().map(|address| format!("-replace={address}")));
    }
    plan.extend(variables.iter().map(|(name, value)| format!("-var={name}={value}")));
    sequence.engine(&format!("{prefix}plan"), plan.iter().map(String::as_str));
    let mut gate = words([CSIS, "gate-plan", "--planfile", PLAN, "--tofu", &sequence.root.engine.binary]);
    // A script knows no base, so that what follows a declaration goes there only by a flag that somebody writes.
    for sanction in sanctions.iter().filter(|s| s.because.operation != Because::FOLLOWS) {
        let flag = match sanction.action {
            Allowed::Destroy | Allowed::DestroyOrReplace => "--allow-destroy",
            Allowed::Replace => "--allow-replace",
            Allowed::Forget => "--allow-forget",
        };
        let deposed = sanction.deposed.as_ref().map(|key| format!(" (deposed {key})")).unwrap_or_default();
        gate.extend([flag.to_owned(), format!("{}{deposed}", sanction.address)]);
    }
    if applies && prefix.is_empty() {
        for obligation in &sequence.root.obligations {
            if let Obligation::Unmounted { instance, storage, .. } = obligation {
                gate.extend(["--require-unmounted".to_owned(), format!("{instance}:{storage}")]);
            }
        }
    }
    sequence.push(&format!("{prefix}gate"), gate);
}

fn apply_check(root: &Root, overlays: &[String], request: &Request, up: &str) -> Vec<String> {
    let key = match root.lifecycle {
        Lifecycle::InstanceImage => "instances",
        other => other.name(),
    };
    let mut argv = words([CSIS, "apply-check", "--lifecycle", key, "--root", &root.builder.safe]);
    if let Some(runtime) = &root.runtime {
        argv.extend(words(["--root-alias", runtime]));
    }
    for overlay in overlays {
        argv.extend(["--overlay".to_owned(), format!("{up}{overlay}")]);
    }
    if let Some(runtime) = &request.apply_runtime {
        argv.extend(words(["--apply-runtime", runtime]));
    }
    argv
}

/// Ephemeral machines are verified and then planned away.
fn teardown(sequence: &mut Sequence<'_>, check: &[String]) {
    let Content::Instances { instances } = &sequence.root.content else { return };
    let ephemeral: Vec<_> = instances.iter().filter(|i| i.ephemeral).collect();
    if ephemeral.is_empty() {
        return;
    }
    for instance in &ephemeral {
        sequence.push("verify", words([CSIS, "verify", "instance", &instance.name.safe]));
    }
    let sanctions: Vec<_> = ephemeral
        .iter()
        .map(|i| Sanction {
            root: sequence.root.id.clone(),
            address: format!("module.instance_{}", i.name.label),
            deposed: None,
            action: Allowed::Destroy,
            because: Because {
                operation: "ephemeral".into(),
                kind: "instance".into(),
                name: i.name.safe.clone(),
                at: None,
            },
        })
        .collect();
    sequence.push("teardown-clean", words(["rm", "-f", PLAN]));
    let gone = BTreeMap::from([("ephemeral_present".to_owned(), "false".to_owned())]);
    gated(sequence, "teardown-", &gone, &sanctions, true);
    sequence.push("teardown-apply-check", check.to_vec());
    sequence.engine("teardown-apply", ["apply", "-input=false", PLAN]);
}
