//! Values as people may see them, and the digests of the exact ones.

use super::json::Json;
use super::redact::{Redactor, is_secret_name};
use crate::pending::Tokens;
use base64::Engine as _;
use csis_values::plan::Shown;
use csis_values::sha256;

/// A value longer than this is cut where it is shown.
pub const SHOWN: usize = 2048;

/// How values are judged and shown.
#[derive(Clone, Copy)]
pub struct Lens<'a> {
    pub redactor: &'a Redactor,
    pub tokens: Option<&'a Tokens>,
}

/// Values that a secret-sounding name does not make secret.
pub fn harmless(value: &Json<'_>) -> bool {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => true,
        Json::Text(text) => text.is_empty() || text.starts_with("arn:"),
        Json::List(items) => items.iter().all(harmless),
        Json::Map(entries) => entries.is_empty(),
    }
}

/// The exact new value, with tokens as what they mean so that the digest does not depend on the run.
pub fn digest(value: &Json<'_>, script: bool, tokens: Option<&Tokens>) -> String {
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

pub fn script_in_short(text: &str, lens: Lens<'_>) -> Shown {
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
pub fn show(value: &Json<'_>, name: Option<&str>, lens: Lens<'_>, limit: usize) -> Shown {
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
pub fn show_partly(after: Option<&Json<'_>>, marks: &Json<'_>, lens: Lens<'_>) -> Shown {
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
