//! Which role serves which profile of the tree, judged before any call is made.

use crate::action::inputs::{RoleInput, account};
use csis_engine::Roles;
use csis_kinds::registry;
use csis_values::name::safe_name;
use csis_values::request::Request;
use csis_values::tree::Tree;
use csis_values::{Class, Diagnostic};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What the tree says of accounts and profiles.
struct Wants {
    /// Runtime → (profile, account).
    runtimes: BTreeMap<String, (Option<String>, Option<String>)>,
    /// Profiles of state backends.
    backends: BTreeSet<String>,
}

impl Wants {
    fn of(tree: &Tree) -> Wants {
        let runtimes = tree.builders_of(Class::Runtime).filter_map(|builder| {
            let kind = registry::runtime(builder)?;
            Some((builder.name.safe.clone(), (kind.profile(builder), kind.account(builder))))
        });
        let backends = tree.builders_of(Class::StateBackend).filter_map(|b| registry::state(b)?.profile(b));
        Wants { runtimes: runtimes.collect(), backends: backends.collect() }
    }
}

/// The roles of the input, by profile. `judges` is the base's tree: a change does not name the accounts that it may reach.
pub fn of(
    input: &RoleInput,
    allowed: &[String],
    judges: &Tree,
    head: &Tree,
    token_file: &Path,
    session_name: &str,
) -> Result<Roles, Vec<Diagnostic>> {
    let (base, wants) = (Wants::of(judges), Wants::of(head));
    let allowed: BTreeSet<&str> = if allowed.is_empty() {
        base.runtimes.values().filter_map(|(_, account)| account.as_deref()).collect()
    } else {
        allowed.iter().map(String::as_str).collect()
    };
    let mut found = Vec::new();
    for arn in input.default.iter().chain(input.by_name.values()) {
        let id = account(arn).unwrap_or_default();
        if !allowed.contains(id) {
            found.push(strange_account(arn, id, &allowed));
        }
    }
    let mut by_profile: BTreeMap<String, String> = BTreeMap::new();
    for (name, arn) in &input.by_name {
        let runtime = wants.runtimes.get(&safe_name(name));
        let is_profile = wants.backends.contains(name)
            || wants.runtimes.values().any(|(profile, _)| profile.as_deref() == Some(name));
        if runtime.is_none() && !is_profile {
            found.push(unknown_name(name, &wants));
        }
        let profiles = is_profile.then_some(name).into_iter().chain(runtime.and_then(|(profile, _)| profile.as_ref()));
        for profile in profiles {
            let before = by_profile.insert(profile.clone(), arn.clone());
            if before.is_some_and(|before| before != *arn) {
                found.push(
                    Diagnostic::error("role-name", format!("two roles are given for the profile `{profile}`")).help(
                        "the engine knows the profile alone: give it one role, or each runtime a profile of its own",
                    ),
                );
            }
        }
    }
    // A runtime that names no profile is served by the default chain, and so there is one of those.
    let mut unnamed: BTreeMap<String, String> = BTreeMap::new();
    for (runtime, (profile, declared)) in &wants.runtimes {
        let of_profile = profile.as_ref().and_then(|profile| by_profile.get(profile));
        let of_runtime = input.by_name.iter().find(|(name, _)| safe_name(name) == *runtime).map(|(_, arn)| arn);
        let Some(arn) = of_profile.or(of_runtime).or(input.default.as_ref()) else { continue };
        if let (Some(id), Some(declared)) = (account(arn), declared)
            && id != declared
        {
            found.push(
                Diagnostic::error(
                    "role-account",
                    format!("the role {arn} is in account {id}, and runtime `{runtime}` is account {declared}"),
                )
                .help(format!(
                    "give `{runtime}` a role of its own: a line `{runtime} = arn:aws:iam::{declared}:role/…`"
                )),
            );
        }
        if profile.is_none() {
            unnamed.insert(runtime.clone(), arn.clone());
        }
    }
    let distinct: BTreeSet<&String> = unnamed.values().collect();
    if distinct.len() > 1 {
        let names: Vec<String> = unnamed.keys().map(|name| format!("`{name}`")).collect();
        found.push(
            Diagnostic::error(
                "role-profiles",
                format!("the runtimes {} have different roles and no profile names", names.join(" and ")),
            )
            .help("give each a `profile_name` under its `credentials`, so that the engine can tell them apart"),
        );
    }
    if !found.is_empty() {
        return Err(found);
    }
    Ok(Roles {
        // A runtime's own line is more than the role for all.
        default: distinct.into_iter().next().cloned().or_else(|| input.default.clone()),
        by_profile,
        token_file: token_file.to_owned(),
        session_name: session_name.to_owned(),
    })
}

/// The runtimes of this run in accounts that the input `allowed-account-ids` does not list; it lists none: none of them is strange.
pub fn strange_runtimes(allowed: &[String], head: &Tree, request: &Request) -> Vec<Diagnostic> {
    let wants = Wants::of(head);
    let account_of = |name: &'_ str| wants.runtimes.get(name)?.1.clone();
    csis_resolve::runtimes_in_scope(head, request)
        .into_iter()
        .filter_map(|name| Some((name, account_of(name)?)))
        .filter(|(_, account)| !allowed.is_empty() && !allowed.contains(account))
        .map(|(name, account)| {
            Diagnostic::error(
                "account-not-allowed",
                format!("runtime `{name}` is account {account}, and `allowed-account-ids` does not list it"),
            )
            .help("list the account, or take the runtime out of this run with `only-runtime`")
        })
        .collect()
}

fn strange_account(arn: &str, id: &str, allowed: &BTreeSet<&str>) -> Diagnostic {
    let message = format!("the role {arn} is in account {id}, which is not one that this run may reach");
    let help = if allowed.is_empty() {
        "declare `account_id` on the runtimes of the base branch, or list accounts in `allowed-account-ids`".to_owned()
    } else {
        let known = allowed.iter().copied().collect::<Vec<_>>().join(", ");
        format!("these may: {known}. A state bucket in another account is listed in `allowed-account-ids`")
    };
    Diagnostic::error("role-account", message).help(help)
}

fn unknown_name(name: &str, wants: &Wants) -> Diagnostic {
    let profiles = wants.runtimes.values().filter_map(|(profile, _)| profile.clone());
    let known: BTreeSet<String> =
        wants.runtimes.keys().cloned().chain(profiles).chain(wants.backends.iter().cloned()).collect();
    Diagnostic::error(
        "role-name",
        format!("a role is given for `{name}`, which is no runtime and no profile of the tree"),
    )
    .help(format!("name one of: {}", known.into_iter().collect::<Vec<_>>().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn harbor() -> Tree {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/harbor");
        let request = csis_values::request::Request::default();
        let identities = csis_tree::Identities::new(&[] as &[String]);
        csis_tree::load(&csis_tree::Folder::new(&example), &request, &identities).unwrap().tree.unwrap()
    }

    fn harbor_account(tree: &Tree) -> String {
        Wants::of(tree).runtimes.values().next().unwrap().1.clone().unwrap()
    }

    fn judge(input: &RoleInput, allowed: &[String]) -> Result<Roles, Vec<String>> {
        let tree = harbor();
        of(input, allowed, &tree, &tree, Path::new("/t"), "s")
            .map_err(|found| found.into_iter().map(|f| format!("{}: {}", f.code, f.message)).collect())
    }

    fn one(arn: &str) -> RoleInput {
        RoleInput { default: Some(arn.to_owned()), by_name: BTreeMap::new() }
    }

    #[test]
    fn an_account_that_is_not_the_runtimes_is_refused() {
        let account = harbor_account(&harbor());
        let fine = format!("arn:aws:iam::{account}:role/read");
        assert_eq!(judge(&one(&fine), &[]).unwrap().default.as_deref(), Some(fine.as_str()));
        let said = judge(&one("arn:aws:iam::999999999999:role/read"), &[]).unwrap_err();
        assert!(said.iter().all(|s| s.starts_with("role-account")) && said.len() == 2, "{said:?}");
        // Listing the account opens the list, not the runtime.
        let said = judge(&one("arn:aws:iam::999999999999:role/read"), &["999999999999".into()]).unwrap_err();
        assert_eq!(said.len(), 1, "{said:?}");
    }

    #[test]
    fn a_profile_has_one_role_however_it_is_named() {
        let tree = harbor();
        let account = harbor_account(&tree);
        let (runtime, (profile, _)) = Wants::of(&tree).runtimes.into_iter().next().unwrap();
        let role = |name: &str| format!("arn:aws:iam::{account}:role/{name}");
        let by_name = BTreeMap::from([(runtime, role("one")), (profile.unwrap(), role("two"))]);
        let said = judge(&RoleInput { default: None, by_name }, &[]).unwrap_err();
        assert_eq!(said, ["role-name: two roles are given for the profile `harbor`"]);
    }

    #[test]
    fn a_role_is_found_by_runtime_and_by_profile() {
        let tree = harbor();
        let account = harbor_account(&tree);
        let (runtime, (profile, _)) = Wants::of(&tree).runtimes.into_iter().next().unwrap();
        let arn = format!("arn:aws:iam::{account}:role/read");
        for name in [runtime, profile.clone().unwrap()] {
            let input = RoleInput { default: None, by_name: BTreeMap::from([(name, arn.clone())]) };
            assert_eq!(judge(&input, &[]).unwrap().by_profile[profile.as_ref().unwrap()], arn);
        }
        let input = RoleInput { default: None, by_name: BTreeMap::from([("nobody".into(), arn)]) };
        assert!(judge(&input, &[]).unwrap_err()[0].starts_with("role-name"));
    }
}
