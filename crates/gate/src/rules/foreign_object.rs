use super::{Found, Rule};
use crate::{Question, address};
use csis_values::intent::Root;
use csis_values::plan::{Action, Change};
use std::collections::BTreeSet;

/// A closed world: what a root may make is what its kinds make, at the addresses the emission gives them.
pub struct ForeignObject;

impl Rule for ForeignObject {
    fn id(&self) -> &'static str {
        "foreign-object"
    }

    fn sentence(&self) -> &'static str {
        "A root touches only objects of the types and at the addresses that csis emits, through the providers it emits"
    }

    fn remedy(&self) -> &'static str {
        "take the object out of the module; where the tree wants it, allow its type with `gate.extra_types` in a change of its own"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        if let Some(root) = q.root {
            for change in q.managed() {
                judge_change(q, root, change, found);
            }
        } else if q.is_plan() {
            for change in q.managed() {
                judge_alone(q, change, found);
            }
            found
                .note(
                    "types and addresses: held against what csis makes at all, since the gate was given a plan and no tree",
                )
                .remedy("plan with `csis plan`, which knows what the tree's roots make");
        }
        if let Some(known) = &q.settings.providers {
            let known: BTreeSet<String> = known.iter().map(|source| short(source)).collect();
            let named = q.plan.providers.iter().chain(q.plan.changes.iter().map(|change| &change.provider));
            let foreign: BTreeSet<&str> = named
                .map(String::as_str)
                .filter(|source| !is_builtin(source) && !known.contains(&short(source)))
                .collect();
            for source in foreign.into_iter().filter(|source| !source.is_empty()) {
                found.refuse(format!("the plan uses the provider {source}, which the emission does not name")).remedy(
                    "take the provider out of the module, or declare it under the builder's `required_plugins`",
                );
            }
        }
    }
}

/// Whether anything is made or taken over. A destroy makes nothing: whether it may happen is asked elsewhere.
fn makes(change: &Change) -> bool {
    let idle = change.action == Action::NoOp && change.previous_address.is_none() && change.importing.is_none();
    !idle && change.action != Action::Delete
}

fn judge_change(q: &Question<'_>, root: &Root, change: &Change, found: &mut Found<'_>) {
    if !makes(change) {
        return;
    }
    let allowed = |kind: &String| *kind == change.kind;
    if !root.resource_types.iter().any(allowed) && !q.settings.extra_types.iter().any(allowed) {
        let message = format!("`{}` is no type that {} makes", change.kind, root.id);
        found.refuse(message).on(change);
        return;
    }
    let at_home = match address::owner(&change.address) {
        Some(owner) => address::emits(q, owner).unwrap_or(true),
        None => is_shared(change),
    };
    if !at_home && !change.action.is_forget() {
        found
            .refuse(format!(
                "{} stands at an address that the emission of {} does not have",
                address::object(q, change),
                root.id
            ))
            .on(change)
            .remedy("remove the file that declares it; csis alone writes the files of a root");
    }
}

/// Without a tree nobody knows what it allows besides, so that what no tree makes by itself is only warned of.
fn judge_alone(q: &Question<'_>, change: &Change, found: &mut Found<'_>) {
    if !makes(change) {
        return;
    }
    let message = if !q.settings.made_types.is_empty() && !q.settings.made_types.contains(&change.kind) {
        format!("`{}` is no type that csis makes", change.kind)
    } else if address::owner(&change.address).is_none() && !is_shared(change) && !change.action.is_forget() {
        format!("{} stands at an address that no emission has", address::object(q, change))
    } else {
        return;
    };
    let draft = if q.settings.strict { found.refuse(message) } else { found.warn(message) };
    draft.on(change);
}

/// What the machines of a root share stands in the root itself, under names of csis's own.
fn is_shared(change: &Change) -> bool {
    !change.address.starts_with("module.") && change.name.starts_with("csis_")
}

fn is_builtin(source: &str) -> bool {
    source.starts_with("terraform.io/builtin/")
}

/// `hashicorp/aws` for each way to write it; a source on another host stays whole.
fn short(source: &str) -> String {
    let source = source.trim().to_lowercase();
    let path = ["registry.terraform.io/", "registry.opentofu.org/"].iter().find_map(|host| source.strip_prefix(host));
    let path = path.unwrap_or(&source);
    if path.contains('/') { path.to_owned() } else { format!("hashicorp/{path}") }
}

#[cfg(test)]
mod tests {
    use super::short;
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::Action;
    use csis_values::verdict::Weight;

    #[test]
    fn another_type_or_address_is_refused_whatever_happens_to_it() {
        let settings = Settings::default();
        let root = storages(&["data"]);
        for (address, action, refused) in [
            ("module.storage_data.aws_ebs_volume.this", Action::Create, false),
            ("module.storage_data.aws_iam_role.x", Action::Create, true),
            ("module.storage_data.aws_kms_key.x", Action::Update, true),
            ("module.storage_data.aws_kms_key.x", Action::NoOp, false),
            ("module.storage_other.aws_ebs_volume.this", Action::Create, true),
            ("module.instance_data.aws_ebs_volume.this", Action::Create, true),
            ("aws_s3_bucket.exfil", Action::Create, true),
            ("module.network.aws_s3_bucket.x", Action::Create, true),
        ] {
            let plan = plan(vec![change(address, action.clone())]);
            let found = said(&judge(&Question::of_root(&plan, &root, &settings)), "foreign-object");
            assert_eq!(!found.is_empty(), refused, "{address} {action:?}");
        }
        let plan = plan(vec![change("module.storage_data.aws_kms_key.x", Action::Create)]);
        let allowing = Settings { extra_types: vec!["aws_kms_key".into()], ..Settings::default() };
        assert!(!judge(&Question::of_root(&plan, &root, &allowing)).is_refused());
    }

    #[test]
    fn without_a_tree_what_no_tree_makes_is_warned_of_and_refused_when_strict() {
        let made = || vec!["aws_ebs_volume".to_owned()];
        let loose = Settings { made_types: made(), ..Settings::default() };
        let strict = Settings { made_types: made(), strict: true, ..Settings::default() };
        for (address, action, told) in [
            ("module.storage_data.aws_ebs_volume.this", Action::Create, false),
            ("module.storage_data.aws_iam_role.x", Action::Create, true),
            ("module.storage_data.aws_iam_role.x", Action::NoOp, false),
            ("module.network.aws_ebs_volume.x", Action::Create, true),
            ("aws_ebs_volume.x", Action::Create, true),
        ] {
            let plan = plan(vec![change(address, action.clone())]);
            for (settings, weight) in [(&loose, Weight::Warn), (&strict, Weight::Refuse)] {
                let expected: Vec<_> = told.then_some(weight).into_iter().chain([Weight::Note]).collect();
                assert_eq!(weights(&judge(&Question::new(&plan, settings)), "foreign-object"), expected, "{address}");
            }
        }
    }

    #[test]
    fn the_group_that_machines_share_is_at_home() {
        let settings = Settings::default();
        let root = machines(&[("a", false)]);
        for (address, refused) in [("aws_security_group.csis_instances", false), ("aws_security_group.mine", true)] {
            let plan = plan(vec![change(address, Action::Create)]);
            assert_eq!(judge(&Question::of_root(&plan, &root, &settings)).is_refused(), refused, "{address}");
        }
    }

    #[test]
    fn a_provider_the_emission_does_not_name_is_refused() {
        let settings = Settings { providers: Some(vec!["hashicorp/aws".into()]), ..Settings::default() };
        let mut plan = plan(vec![change("module.storage_data.aws_ebs_volume.this", Action::Create)]);
        plan.providers = vec!["registry.opentofu.org/hashicorp/aws".into(), "terraform.io/builtin/terraform".into()];
        assert!(!judge(&Question::new(&plan, &settings)).is_refused());
        plan.changes[0].provider = "registry.terraform.io/evil/aws".into();
        assert!(said(&judge(&Question::new(&plan, &settings)), "foreign-object")[0].contains("evil/aws"));
        assert_eq!(short("aws"), "hashicorp/aws");
        assert_eq!(short("example.com/hashicorp/aws"), "example.com/hashicorp/aws");
    }
}
