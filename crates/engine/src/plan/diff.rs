//! What differs between an object before and after, by attribute path, with every value made fit for people.

use super::json::{Json, quote};
use super::redact::{Redactor, is_secret_name};
use crate::pending::Tokens;
use base64::Engine as _;
use csis_values::plan::{AttributeChange, Shown};
use csis_values::sha256;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// A value longer than this is cut where it is shown.
const SHOWN: usize = 2048;
/// Facts are what rules judge by: a bucket policy may have 20 kB.
const FACT: usize = 65_536;
const PATH: usize = 512;
/// With less than this left, a plan keeps no further values.
const LEAST: usize = 1024;
/// More facts of one object are counted under `facts_left_out`, so that a rule knows that it did not see all.
const FACTS: usize = 2000;
/// More attributes of one object are only counted.
const ATTRIBUTES: usize = 200;

/// The attributes that rules judge by, whatever changed.
const JUDGED: &[&str] = &[
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

/// Attributes that hold whole scripts; told by length and digest.
const SCRIPTS: &[&str] = &["user_data", "user_data_base64", "custom_data", "startup_script"];

/// How values are judged and shown.
#[derive(Clone, Copy)]
pub struct Lens<'a> {
    pub redactor: &'a Redactor,
    pub tokens: Option<&'a Tokens>,
}

/// Both sides of an object and the engine's marks on them.
#[derive(Clone, Copy, Default)]
pub struct Sides<'a> {
    pub before: Option<&'a Json<'a>>,
    pub after: Option<&'a Json<'a>>,
    pub unknown: Option<&'a Json<'a>>,
    pub hidden_before: Option<&'a Json<'a>>,
    pub hidden_after: Option<&'a Json<'a>>,
}

#[derive(Default)]
pub struct Differences {
    pub attributes: Vec<AttributeChange>,
    pub left_out: u64,
    /// SHA-256 over the path and digest of what was left out.
    pub left_out_digest: Option<String>,
}

/// The attributes that differ, sorted by path. `detail` is how many bytes of values the whole plan may still keep.
pub fn differences(sides: Sides<'_>, forced: &[String], lens: Lens<'_>, detail: &mut usize) -> Differences {
    let mut walk = Walk {
        lens,
        forced,
        // What an object begins with is among its facts; what it had before is told here alone.
        is_new: !sides.before.is_some_and(|before| *before != Json::Null),
        is_full: *detail < LEAST,
        found: Vec::new(),
        rest: Rest::default(),
    };
    walk.step(&mut String::new(), sides, false);
    let Walk { mut found, mut rest, is_new, .. } = walk;
    drop_tags_that_follow(&mut found);
    found.sort_by(|a, b| is_weighty(b, is_new).cmp(&is_weighty(a, is_new)).then_with(|| a.path.cmp(&b.path)));
    let mut kept = 0;
    while kept < found.len() && kept < ATTRIBUTES {
        let cost = cost(&found[kept]);
        if cost > *detail && !is_weighty(&found[kept], is_new) {
            // The next objects need not try.
            *detail = 0;
            break;
        }
        *detail = detail.saturating_sub(cost);
        kept += 1;
    }
    for change in found.split_off(kept) {
        rest.add(&change);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.shrink_to_fit();
    Differences { attributes: found, left_out: rest.count, left_out_digest: rest.digest() }
}

/// Kept even when the plan is too large to keep all.
fn is_weighty(change: &AttributeChange, is_new: bool) -> bool {
    change.forces_replacement || (!is_new && JUDGED.contains(&head(&change.path)))
}

/// What is not kept, as a count and a digest over paths and digests.
#[derive(Default)]
struct Rest {
    count: u64,
    hash: Sha256,
}

impl Rest {
    fn add(&mut self, change: &AttributeChange) {
        let value = change.digest.as_deref().unwrap_or(match change.after {
            Shown::Pending(ref meaning) => meaning,
            Shown::Unknown => "unknown",
            _ => "sensitive",
        });
        for part in [&change.path, value] {
            self.hash.update(part.len().to_le_bytes());
            self.hash.update(part);
        }
        self.count += 1;
    }

    fn digest(self) -> Option<String> {
        (self.count > 0).then(|| sha256(self.hash.finalize()))
    }
}

fn cost(change: &AttributeChange) -> usize {
    let size = |shown: &Shown| match shown {
        Shown::Value(text) | Shown::Pending(text) => text.len(),
        _ => 0,
    };
    320 + change.path.len() + size(&change.before) + size(&change.after)
}

/// `tags_all` where it says what `tags` says is no difference of its own.
fn drop_tags_that_follow(found: &mut Vec<AttributeChange>) {
    let tags: BTreeMap<String, (Shown, Shown)> = found
        .iter()
        .filter(|change| head(&change.path) == "tags")
        .map(|change| (change.path["tags".len()..].to_owned(), (change.before.clone(), change.after.clone())))
        .collect();
    found.retain(|change| {
        let Some(key) = change.path.strip_prefix("tags_all") else { return true };
        tags.get(key).is_none_or(|(before, after)| *before != change.before || *after != change.after)
    });
}

/// Whether `path` is `prefix` or lies under it.
fn reaches(prefix: &str, path: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn head(path: &str) -> &str {
    &path[..path.find(['.', '[']).unwrap_or(path.len())]
}

struct Walk<'a> {
    lens: Lens<'a>,
    forced: &'a [String],
    is_new: bool,
    /// Nothing more is kept than what is weighty.
    is_full: bool,
    found: Vec<AttributeChange>,
    rest: Rest,
}

static EMPTY: Json<'static> = Json::Map(Vec::new());
static NONE: Json<'static> = Json::List(Vec::new());

impl Walk<'_> {
    fn step(&mut self, path: &mut String, sides: Sides<'_>, named_secret: bool) {
        let unknown = sides.unknown == Some(&Json::Bool(true));
        let present = |side: Option<&Json<'_>>| side.is_some_and(|value| *value != Json::Null);
        if !unknown && !sides.unknown.is_some_and(Json::marks_any) {
            let same = match (present(sides.before), present(sides.after)) {
                (true, true) => sides.before == sides.after,
                (before, after) => before == after,
            };
            if same {
                return;
            }
        }
        let hidden = |mark: Option<&Json<'_>>| mark == Some(&Json::Bool(true));
        if hidden(sides.hidden_before) || hidden(sides.hidden_after) {
            return self.leaf(path, sides, named_secret);
        }
        let side = |value: Option<&Json<'_>>| match value {
            Some(Json::Map(_)) => 'm',
            Some(Json::List(_)) => 'l',
            None | Some(Json::Null) => '-',
            Some(_) => 's',
        };
        let parts = match sides.unknown {
            Some(Json::Map(_)) => 'm',
            Some(Json::List(_)) => 'l',
            _ => '-',
        };
        let after = if side(sides.after) == '-' && sides.unknown.is_some_and(Json::marks_any) {
            parts
        } else {
            side(sides.after)
        };
        match (side(sides.before), if unknown { '-' } else { after }) {
            ('m', 'm' | '-') | ('-', 'm') if !unknown => self.map(path, sides, named_secret),
            ('l', 'l' | '-') | ('-', 'l') if !unknown => self.list(path, sides, named_secret),
            ('-' | 's', '-' | 's') => self.leaf(path, sides, named_secret),
            // Another kind of value took the place: each side is told by itself.
            _ => {
                self.step(path, Sides { after: None, unknown: None, hidden_after: None, ..sides }, named_secret);
                if unknown {
                    self.leaf(path, Sides { before: None, ..sides }, named_secret);
                } else {
                    self.step(path, Sides { before: None, hidden_before: None, ..sides }, named_secret);
                }
            }
        }
    }

    fn map(&mut self, path: &mut String, sides: Sides<'_>, named_secret: bool) {
        let (before, after) = (sides.before.unwrap_or(&EMPTY), sides.after.unwrap_or(&EMPTY));
        let mut keys: Vec<&str> = Vec::new();
        for side in [Some(before), Some(after), sides.unknown] {
            if let Some(Json::Map(entries)) = side {
                keys.extend(entries.iter().map(|(key, _)| key.as_ref()));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() {
            return self.leaf(path, sides, named_secret);
        }
        let length = path.len();
        for key in keys {
            push_key(path, key);
            let under = |mark: Option<&'_ Json<'_>>| -> bool { mark == Some(&Json::Bool(true)) };
            let inner = Sides {
                before: before.get(key),
                after: after.get(key),
                unknown: sides.unknown.and_then(|mark| mark.get(key)),
                hidden_before: sides
                    .hidden_before
                    .and_then(|mark| if under(Some(mark)) { Some(mark) } else { mark.get(key) }),
                hidden_after: sides
                    .hidden_after
                    .and_then(|mark| if under(Some(mark)) { Some(mark) } else { mark.get(key) }),
            };
            self.step(path, inner, named_secret || is_secret_name(key));
            path.truncate(length);
        }
    }

    fn list(&mut self, path: &mut String, sides: Sides<'_>, named_secret: bool) {
        let (before, after) = (sides.before.unwrap_or(&NONE), sides.after.unwrap_or(&NONE));
        let length_of = |side: Option<&Json<'_>>| match side {
            Some(Json::List(items)) => items.len(),
            _ => 0,
        };
        let count = length_of(Some(before)).max(length_of(Some(after))).max(length_of(sides.unknown));
        let plain = |side: &Json<'_>| matches!(side, Json::List(items) if items.iter().all(Json::is_scalar));
        let marked =
            sides.hidden_before.is_some_and(Json::marks_any) || sides.hidden_after.is_some_and(Json::marks_any);
        let nested = matches!(sides.unknown, Some(Json::List(items)) if !items.iter().all(Json::is_scalar));
        if count == 0 || (plain(before) && plain(after) && !nested && !marked) {
            return self.leaf(path, sides, named_secret);
        }
        let length = path.len();
        for index in 0..count {
            use std::fmt::Write;
            let _ = write!(path, "[{index}]");
            let inner = Sides {
                before: before.at(index),
                after: after.at(index),
                unknown: sides.unknown.and_then(|mark| mark.at(index)),
                hidden_before: sides.hidden_before.and_then(|mark| mark.at(index)),
                hidden_after: sides.hidden_after.and_then(|mark| mark.at(index)),
            };
            self.step(path, inner, named_secret);
            path.truncate(length);
        }
    }

    /// A scalar, an empty collection or a list of scalars.
    fn leaf(&mut self, path: &str, sides: Sides<'_>, named_secret: bool) {
        let nothing = |side: Option<&Json<'_>>| matches!(side, None | Some(Json::Null));
        let empty = |side: Option<&Json<'_>>| {
            nothing(side)
                || matches!(side, Some(Json::List(items)) if items.is_empty())
                || matches!(side, Some(Json::Map(entries)) if entries.is_empty())
        };
        // A block that a new object does not have is told as an empty list; that is no change.
        if nothing(sides.before)
            && empty(sides.after)
            && !nothing(sides.after)
            && sides.unknown.is_none_or(|mark| !mark.marks_any())
        {
            return;
        }
        let hidden = [sides.hidden_before, sides.hidden_after].contains(&Some(&Json::Bool(true)));
        let secret =
            hidden || (named_secret && ![sides.before, sides.after].iter().flatten().all(|value| harmless(value)));
        let name = path.rsplit('.').next().unwrap_or(path);
        let script = SCRIPTS.contains(&head(name));
        let unknown = sides.unknown == Some(&Json::Bool(true));
        let show = |value: Option<&Json<'_>>| match value {
            None | Some(Json::Null) => Shown::Absent,
            Some(_) if secret => Shown::Sensitive,
            Some(Json::Text(text)) if script => script_in_short(text, self.lens),
            Some(value) => show(value, None, self.lens, SHOWN),
        };
        let before = show(sides.before);
        let after = match (unknown, sides.unknown) {
            (true, _) if hidden => Shown::Sensitive,
            (true, _) => Shown::Unknown,
            (false, Some(marks)) if marks.marks_any() && !secret => show_partly(sides.after, marks, self.lens),
            _ => show(sides.after),
        };
        // Either side's secret may be the other side's value too.
        let (before, after) = match (&before, &after) {
            (Shown::Sensitive, Shown::Value(_)) => (before, Shown::Sensitive),
            (Shown::Value(_), Shown::Sensitive) => (Shown::Sensitive, after),
            _ => (before, after),
        };
        let digest = match &after {
            Shown::Sensitive | Shown::Unknown | Shown::Pending(_) => None,
            Shown::Absent => Some(sha256("null")),
            Shown::Value(_) if sides.unknown.is_some_and(Json::marks_any) => None,
            Shown::Value(_) => sides.after.map(|value| digest(value, script, self.lens.tokens)),
        };
        let path = cut(path, PATH);
        let forces_replacement = self.forced.iter().any(|forced| reaches(forced, &path) || reaches(&path, forced));
        let change = AttributeChange { path, before, after, forces_replacement, digest };
        if self.is_full && !is_weighty(&change, self.is_new) {
            self.rest.add(&change);
        } else {
            self.found.push(change);
        }
    }
}

/// Values that a secret-sounding name does not make secret.
fn harmless(value: &Json<'_>) -> bool {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => true,
        Json::Text(text) => text.is_empty() || text.starts_with("arn:"),
        Json::List(items) => items.iter().all(harmless),
        Json::Map(entries) => entries.is_empty(),
    }
}

pub fn push_key(path: &mut String, key: &str) {
    let simple = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '/'));
    if simple {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
    } else {
        path.push('[');
        quote(path, key);
        path.push(']');
    }
}

/// A path of the engine's `replace_paths`.
pub fn path_of(steps: &Json<'_>) -> String {
    let mut path = String::new();
    if let Json::List(steps) = steps {
        for step in steps {
            match step {
                Json::Text(key) => push_key(&mut path, key),
                Json::Number(index) => {
                    path.push('[');
                    path.push_str(index);
                    path.push(']');
                }
                _ => path.push_str("[?]"),
            }
        }
    }
    cut(&path, PATH)
}

/// The exact new value, with tokens as what they mean so that the digest does not depend on the run.
fn digest(value: &Json<'_>, script: bool, tokens: Option<&Tokens>) -> String {
    let canonical = |text: &str| tokens.and_then(|tokens| tokens.canonical(text));
    if script && let Json::Text(text) = value {
        let plain = decoded(text);
        let plain = plain.as_deref().unwrap_or(text);
        return sha256(canonical(plain).unwrap_or_else(|| plain.to_owned()));
    }
    let mut out = String::new();
    value.write(&mut out, &mut |text| canonical(text));
    sha256(out)
}

/// A script that an attribute holds in base64.
fn decoded(text: &str) -> Option<String> {
    let compact: String = text.split_ascii_whitespace().collect();
    if compact.len() < 8 || !compact.len().is_multiple_of(4) {
        return None;
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(compact).ok()?;
    String::from_utf8(bytes).ok().filter(|plain| plain.starts_with('#') || plain.contains('\n'))
}

fn script_in_short(text: &str, lens: Lens<'_>) -> Shown {
    let is_digest = text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if is_digest {
        return Shown::Value(format!("script with SHA-1 {}", &text[..12]));
    }
    let plain = decoded(text);
    let plain = plain.as_deref().unwrap_or(text);
    let canonical = lens.tokens.and_then(|tokens| tokens.canonical(plain));
    let sum = sha256(canonical.as_deref().unwrap_or(plain));
    let lines = plain.lines().count();
    Shown::Value(format!("script of {lines} line{} with SHA-256 {}", if lines == 1 { "" } else { "s" }, &sum[..12]))
}

/// A value as people may see it.
fn show(value: &Json<'_>, name: Option<&str>, lens: Lens<'_>, limit: usize) -> Shown {
    if matches!(value, Json::Null) {
        return Shown::Absent;
    }
    if has_secret(value, lens.redactor) || (name.is_some_and(is_secret_name) && !harmless(value)) {
        return Shown::Sensitive;
    }
    let exact = match value {
        Json::Text(text) => Some(text.as_ref()),
        Json::Number(digits) => Some(digits.as_ref()),
        _ => None,
    };
    if let (Some(tokens), Some(exact)) = (lens.tokens, exact)
        && let Some(meaning) = tokens.meaning(exact)
    {
        return Shown::Pending(meaning.to_string());
    }
    let readable = |text: &str| lens.tokens.and_then(|tokens| tokens.readable(text));
    Shown::Value(match value {
        Json::Text(text) => cut(readable(text).as_deref().unwrap_or(text), limit),
        other => {
            let mut out = String::new();
            other.write(&mut out, &mut |text| readable(text));
            cut(&out, limit)
        }
    })
}

/// A list of scalars of which some are known only after the apply.
fn show_partly(after: Option<&Json<'_>>, marks: &Json<'_>, lens: Lens<'_>) -> Shown {
    let (Some(Json::List(items)), Json::List(marks)) = (after, marks) else { return Shown::Unknown };
    let known: Vec<Json<'_>> = (0..items.len().max(marks.len()))
        .map(|index| match marks.get(index) {
            Some(mark) if mark.marks_any() => Json::Text("(known after apply)".into()),
            _ => items.get(index).cloned().unwrap_or(Json::Null),
        })
        .collect();
    show(&Json::List(known), None, lens, SHOWN)
}

fn has_secret(value: &Json<'_>, redactor: &Redactor) -> bool {
    match value {
        Json::Text(text) => redactor.is_secret(text),
        Json::List(items) => items.iter().any(|item| has_secret(item, redactor)),
        Json::Map(entries) => {
            entries.iter().any(|(key, value)| (is_secret_name(key) && !harmless(value)) || has_secret(value, redactor))
        }
        _ => false,
    }
}

/// At most `limit` bytes, ending in `…` when something is missing.
pub fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut end = limit.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

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
