//! Numeric ids of accounts and groups that configuration hands out: one name one id, one id one name.

use super::site::{Site, place};
use super::words::{is_account_name, list};
use csis_kinds::GroupKind;
use csis_kinds::registry::{self, Registered};
use csis_values::tree::{Builder, Group, User};
use csis_values::{Class, Diagnostic, Diagnostics, Place};
use std::collections::{BTreeMap, BTreeSet};

/// Ids below are the system's own.
const FLOOR: i64 = 1024;

/// Further places a finding names at most.
const SHOWN: usize = 10;

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    let users: Vec<&User> = site.tree.users.iter().filter(|u| has_account(site, u)).collect();
    let groups: Vec<&Group> =
        site.tree.groups.iter().filter(|g| site.group_kind(g).is_some_and(GroupKind::declares_gids)).collect();
    names(&users, &groups, found);
    missing(&users, &groups, found);
    floor(&groups, found);
    uids(&users, found);
    gids(&users, &groups, found);
    members(site, &groups, found);
    attributes(&users, &groups, found);
}

/// Whether a user gets an account with a declared uid: the user's builder is of a type that, for groups, declares gids.
fn has_account(site: &Site<'_>, user: &User) -> bool {
    let builder: Option<&Builder> = site.builder(Class::UserBuilder, &user.builder.value);
    let group_kind = builder.and_then(|b| registry::find(Class::GroupBuilder, &b.kind));
    matches!(group_kind, Some(Registered::Group(kind)) if kind.declares_gids())
}

fn names(users: &[&User], groups: &[&Group], found: &mut Diagnostics) {
    let people = users.iter().map(|u| (Class::User, &u.name, &u.at));
    for (class, name, at) in people.chain(groups.iter().map(|g| (Class::Group, &g.name, &g.at))) {
        if !is_account_name(&name.safe) {
            found.push(
                Diagnostic::error(
                    "posix-name",
                    format!("{class} `{name}` cannot be the name of a Unix account or group"),
                )
                .at(at)
                .help("use at most 32 of a-z, 0-9, `_`, `.` and `-`, and start with a letter or `_`"),
            );
        }
    }
}

fn missing(users: &[&User], groups: &[&Group], found: &mut Diagnostics) {
    let without: Vec<_> = users.iter().filter(|u| u.uid.is_none() && u.fields.node("uid").is_none()).collect();
    let mut counted_on: BTreeMap<&str, Vec<(&Group, &Place)>> = BTreeMap::new();
    for group in groups.iter().filter(|_| !without.is_empty()) {
        for member in group.members.iter().chain(&group.admins) {
            counted_on.entry(&member.value).or_default().push((group, &member.at));
        }
    }
    for user in without {
        let what = format!("user `{}` has no uid, and nobody but the configuration can give it one", user.name);
        let mut error = Diagnostic::error("posix-id-missing", what)
            .at(&user.at)
            .help(format!("add `uid:` with a free number from {FLOOR}"));
        for (group, at) in counted_on.get(user.name.safe.as_str()).into_iter().flatten().take(SHOWN) {
            error = error.also(at, format!("group `{}` counts on the account", group.name));
        }
        found.push(error);
    }
    let undecided =
        |g: &&&Group| g.gid.is_none() && g.fields.text("gid").is_none_or(|t| matches!(t.trim(), "" | "0" | "default"));
    for group in groups.iter().filter(undecided) {
        let has = match group.fields.text("gid").map(str::trim) {
            None | Some("") => "no gid".to_owned(),
            Some(written) => format!("the gid `{written}`, which stands for none"),
        };
        found.push(
            Diagnostic::error(
                "posix-id-missing",
                format!("group `{}` has {has}, and nobody but the configuration can give it one", group.name),
            )
            .at(place(&group.fields, "gid", &group.at))
            .help(format!("add `gid:` with a free number from {FLOOR}")),
        );
    }
}

/// Groups alone: what a uid may be is said where the user is read.
fn floor(groups: &[&Group], found: &mut Diagnostics) {
    for (name, id) in groups.iter().filter_map(|g| Some((&g.name, g.gid.as_ref()?))) {
        if id.value < FLOOR {
            found.push(
                Diagnostic::error(
                    "posix-id-low",
                    format!("group `{name}` has the gid {id}, and ids below {FLOOR} belong to the system"),
                )
                .at(&id.at)
                .help(format!("take a number from {FLOOR}")),
            );
        }
    }
}

fn uids(users: &[&User], found: &mut Diagnostics) {
    let mut by_uid: BTreeMap<i64, Vec<&User>> = BTreeMap::new();
    for user in users {
        if let Some(uid) = &user.uid {
            by_uid.entry(uid.value).or_default().push(user);
        }
    }
    for (uid, sharing) in by_uid {
        let [first, second, ..] = sharing.as_slice() else { continue };
        let what = format!("users {} have one uid, {uid}", list(sharing.iter().map(|u| format!("`{}`", u.name))));
        let at = second.uid.as_ref().map_or(&second.at, |u| &u.at);
        let there = first.uid.as_ref().map_or(&first.at, |u| &u.at);
        found.push(
            Diagnostic::error("posix-id-shared", what)
                .at(at)
                .help("give each user a uid of its own")
                .also(there, format!("user `{}` has {uid}", first.name)),
        );
    }
}

fn gids(users: &[&User], groups: &[&Group], found: &mut Diagnostics) {
    let mut by_gid: BTreeMap<i64, Vec<&Group>> = BTreeMap::new();
    for group in groups {
        if let Some(gid) = &group.gid {
            by_gid.entry(gid.value).or_default().push(group);
        }
    }
    for (gid, sharing) in &by_gid {
        let [first, second, ..] = sharing.as_slice() else { continue };
        let what = format!("groups {} have one gid, {gid}", list(sharing.iter().map(|g| format!("`{}`", g.name))));
        found.push(
            Diagnostic::error("posix-id-shared", what)
                .at(place(&second.fields, "gid", &second.at))
                .help("give each group a gid of its own")
                .also(place(&first.fields, "gid", &first.at), format!("group `{}` has {gid}", first.name)),
        );
    }
    let by_name: BTreeMap<&str, &Group> = groups.iter().map(|g| (g.name.safe.as_str(), *g)).collect();
    // Every account brings a private group of its own name, whose gid is the uid.
    for user in users {
        let Some(uid) = &user.uid else { continue };
        for group in by_gid.get(&uid.value).into_iter().flatten().filter(|g| g.name.safe != user.name.safe) {
            let what = format!(
                "group `{}` has the gid {uid}, which is the uid of user `{}` and so the gid of that user's private group",
                group.name, user.name
            );
            found.push(
                Diagnostic::error("posix-id-shared", what)
                    .at(place(&group.fields, "gid", &group.at))
                    .help("give the group another gid")
                    .also(&uid.at, format!("user `{}` has the uid {uid}", user.name)),
            );
        }
        let namesake = by_name.get(user.name.safe.as_str());
        if let Some((group, gid)) = namesake.and_then(|g| Some((g, g.gid.as_ref()?)))
            && gid.value != uid.value
        {
            let what = format!(
                "the name `{}` has two gids: {gid} as a declared group, {uid} as the private group of the user",
                group.name
            );
            found.push(
                Diagnostic::error("posix-id-twofold", what)
                    .at(&gid.at)
                    .help("rename the group, or give it the user's uid as its gid")
                    .also(&uid.at, format!("user `{}` has the uid {uid}", user.name)),
            );
        }
    }
}

fn members(site: &Site<'_>, groups: &[&Group], found: &mut Diagnostics) {
    for group in groups {
        let mut told = BTreeSet::new();
        for member in group.members.iter().chain(&group.admins) {
            let Some(user) = site.users.get(member.value.as_str()) else { continue };
            if !has_account(site, user) && told.insert(&user.name.safe) {
                let what = format!(
                    "group `{}` names `{}`, whose user builder `{}` makes no accounts on machines",
                    group.name, user.name, user.builder
                );
                found.push(
                    Diagnostic::error("posix-member", what)
                        .at(&member.at)
                        .help("give the user a `type:` whose builder makes accounts and a `uid:`, or take the name out of the group")
                        .also(&user.at, format!("user `{}`", user.name)),
                );
            }
        }
    }
}

fn attributes(users: &[&User], groups: &[&Group], found: &mut Diagnostics) {
    let people = users.iter().map(|u| (Class::User, "uid", &u.name, &u.fields));
    for (class, key, name, fields) in people.chain(groups.iter().map(|g| (Class::Group, "gid", &g.name, &g.fields))) {
        if let Some(node) = fields.node("attributes") {
            let what = format!("{class} `{name}` has `attributes`, which only directories keep");
            found.push(Diagnostic::error("posix-attributes", what).at(&node.at).help(format!("set `{key}:` instead")));
        }
    }
}
