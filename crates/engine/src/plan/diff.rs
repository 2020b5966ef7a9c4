//! What differs between an object before and after, by attribute path.

use super::facts::JUDGED;
use super::json::{Json, quote};
use super::redact::is_secret_name;
use super::shown::{Lens, SHOWN, cut, digest, harmless, script_in_short, show, show_partly};
use csis_values::plan::{AttributeChange, Shown};
use csis_values::sha256;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

pub const PATH: usize = 512;
/// With less than this left, a plan keeps no further values.
const LEAST: usize = 1024;
/// More attributes of one object are only counted.
const ATTRIBUTES: usize = 200;

/// Attributes that hold whole scripts; told by length and digest.
const SCRIPTS: &[&str] = &["user_data", "user_data_base64", "custom_data", "startup_script"];

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
pub static NONE: Json<'static> = Json::List(Vec::new());

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
