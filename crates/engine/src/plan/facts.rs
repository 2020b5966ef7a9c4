//! The attributes that rules judge by, whatever changed.

use super::diff::{NONE, PATH, Sides, push_key};
use super::json::Json;
use super::shown::{Lens, cut, show, show_partly};
use csis_values::plan::Shown;
use std::collections::BTreeMap;

/// Facts are what rules judge by: a bucket policy may have 20 kB.
const FACT: usize = 65_536;
/// More facts of one object are counted under `facts_left_out`, so that a rule knows that it did not see all.
const FACTS: usize = 2000;

/// Their names at the top of an object.
pub const JUDGED: &[&str] = &[
    "access_point_id",
    "account_id",
    "acl",
    "ami",
    "associate_public_ip_address",
    "availability_zone",
    "block_public_acls",
    "block_public_policy",
    "bucket",
    "cidr_blocks",
    "cidr_ipv4",
    "cidr_ipv6",
    "egress",
    "encrypted",
    "expiration",
    "file_system_id",
    "force_destroy",
    "from_port",
    "group",
    "iam_instance_profile",
    "ignore_public_acls",
    "image_id",
    "ingress",
    "instance_id",
    "instance_type",
    "iops",
    "ip_protocol",
    "ipv6_cidr_blocks",
    "kms_key_id",
    "launch_permission",
    "map_public_ip_on_launch",
    "mfa",
    "object_lock_enabled",
    "organization_arn",
    "policy",
    "posix_user",
    "prefix_list_id",
    "prefix_list_ids",
    "principal",
    "protocol",
    "referenced_security_group_id",
    "restrict_public_buckets",
    "root_directory",
    "rule",
    "security_group_id",
    "security_groups",
    "self",
    "size",
    "snapshot_id",
    "source_security_group_id",
    "subnet_id",
    "throughput",
    "to_port",
    "type",
    "user_id",
    "versioning",
    "versioning_configuration",
    "volume_id",
    "vpc_security_group_ids",
];

/// The attributes of one object that rules judge by. Lists of scalars are compact JSON; everything else is told leaf by leaf.
pub fn facts(sides: Sides<'_>, lens: Lens<'_>) -> BTreeMap<String, Shown> {
    let mut facts = BTreeMap::new();
    let (Some(object), unknown, hidden) = (match sides.after {
        Some(after @ Json::Map(_)) => (Some(after), sides.unknown, sides.hidden_after),
        _ => (sides.before, None, sides.hidden_before),
    }) else {
        return facts;
    };
    let mut left_out = 0u64;
    let mut keys: Vec<&str> = Vec::new();
    for side in [Some(object), unknown] {
        if let Some(Json::Map(entries)) = side {
            keys.extend(
                entries.iter().map(|(key, _)| key.as_ref()).filter(|key| JUDGED.contains(key) || *key == "tags"),
            );
        }
    }
    keys.sort_unstable();
    keys.dedup();
    let mut gather = Gather { lens, facts: &mut facts, left_out: &mut left_out };
    for key in keys {
        let mut path = key.to_owned();
        let at = |side: Option<&'_ Json<'_>>| -> bool { side == Some(&Json::Bool(true)) };
        let hidden = if at(hidden) { hidden } else { hidden.and_then(|mark| mark.get(key)) };
        gather.leaf(&mut path, object.get(key), unknown.and_then(|mark| mark.get(key)), hidden);
    }
    if left_out > 0 {
        facts.insert("facts_left_out".into(), Shown::Value(left_out.to_string()));
    }
    facts
}

struct Gather<'a, 'b> {
    lens: Lens<'a>,
    facts: &'b mut BTreeMap<String, Shown>,
    left_out: &'b mut u64,
}

impl Gather<'_, '_> {
    fn leaf(
        &mut self,
        path: &mut String,
        value: Option<&Json<'_>>,
        unknown: Option<&Json<'_>>,
        hidden: Option<&Json<'_>>,
    ) {
        let value = value.unwrap_or(&Json::Null);
        let shown = if unknown == Some(&Json::Bool(true)) {
            Shown::Unknown
        } else if hidden == Some(&Json::Bool(true)) {
            Shown::Sensitive
        } else {
            match value {
                Json::Map(entries) => return self.map(path, entries, unknown, hidden),
                Json::List(items) if !items.iter().all(Json::is_scalar) => {
                    return self.list(path, items, unknown, hidden);
                }
                Json::Null => match unknown {
                    Some(Json::Map(marks)) if !marks.is_empty() => return self.map(path, &[], unknown, hidden),
                    Some(mark) if mark.marks_any() => Shown::Unknown,
                    _ => return,
                },
                Json::List(_) if hidden.is_some_and(Json::marks_any) => Shown::Sensitive,
                Json::List(_) if unknown.is_some_and(Json::marks_any) => {
                    show_partly(Some(value), unknown.unwrap_or(&NONE), self.lens)
                }
                value => show(value, path.rsplit('.').next(), self.lens, FACT),
            }
        };
        if self.facts.len() < FACTS {
            self.facts.insert(cut(path, PATH), shown);
        } else {
            *self.left_out += 1;
        }
    }

    fn map(
        &mut self,
        path: &mut String,
        entries: &[(std::borrow::Cow<'_, str>, Json<'_>)],
        unknown: Option<&Json<'_>>,
        hidden: Option<&Json<'_>>,
    ) {
        let of_tags = path == "tags";
        let mut keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_ref()).collect();
        if let Some(Json::Map(marks)) = unknown {
            keys.extend(marks.iter().filter(|(_, mark)| mark.marks_any()).map(|(key, _)| key.as_ref()));
        }
        keys.sort_unstable();
        keys.dedup();
        let length = path.len();
        for key in keys {
            if of_tags && !key.starts_with("csis") {
                continue;
            }
            push_key(path, key);
            let value = entries.iter().find(|(name, _)| name == key).map(|(_, value)| value);
            self.leaf(path, value, unknown.and_then(|mark| mark.get(key)), hidden.and_then(|mark| mark.get(key)));
            path.truncate(length);
        }
    }

    fn list(&mut self, path: &mut String, items: &[Json<'_>], unknown: Option<&Json<'_>>, hidden: Option<&Json<'_>>) {
        let length = path.len();
        for (index, item) in items.iter().enumerate() {
            use std::fmt::Write;
            let _ = write!(path, "[{index}]");
            self.leaf(
                path,
                Some(item),
                unknown.and_then(|mark| mark.at(index)),
                hidden.and_then(|mark| mark.at(index)),
            );
            path.truncate(length);
        }
    }
}
