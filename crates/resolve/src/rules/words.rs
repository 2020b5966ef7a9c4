//! Turns of phrase that messages share.

use std::fmt::Display;

/// `a`, `a and b`, `a, b and c`; "none" for nothing; a long list ends with how many more there are.
pub(super) fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    const SHOWN: usize = 20;
    let mut items = items.into_iter().map(|item| item.to_string());
    let mut shown: Vec<String> = items.by_ref().take(SHOWN).collect();
    match items.count() {
        0 => {}
        more => shown.push(format!("{more} more")),
    }
    let Some(last) = shown.pop() else { return "none".into() };
    if shown.is_empty() { last } else { format!("{} and {last}", shown.join(", ")) }
}

/// The nearest of the known words, when one is near enough to be meant.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, best) = known.into_iter().map(|k| (strsim::damerau_levenshtein(word, k), k)).min()?;
    (distance <= 2.max(word.chars().count() / 3)).then_some(best)
}

/// A character in a message: printable ones as they are, others by number.
pub(super) fn character(c: char) -> String {
    match c {
        ' ' => "a space".into(),
        '`' => "a backtick".into(),
        c if c.is_control() || c.is_whitespace() => format!("the character U+{:04X}", u32::from(c)),
        c => format!("`{c}`"),
    }
}

/// Whether a text is a hostname label of RFC 1123; the reason when it is none.
pub(super) fn not_a_hostname(label: &str) -> Option<String> {
    if label.is_empty() {
        return Some("it is empty".into());
    }
    if label.len() > 63 {
        return Some(format!("it has {} characters, and a hostname has at most 63", label.len()));
    }
    if let Some(odd) = label.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '-') {
        return Some(format!("{} does not belong in a hostname, only letters, digits and hyphens do", character(odd)));
    }
    (label.starts_with('-') || label.ends_with('-')).then(|| "a hostname neither starts nor ends with a hyphen".into())
}

/// Whether a text can be the name of a Unix account or group.
pub(super) fn is_account_name(name: &str) -> bool {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_');
    first
        && name.len() <= 32
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(list(["a"]), "a");
        assert_eq!(list(["a", "b", "c"]), "a, b and c");
        assert_eq!(list::<&str>([]), "none");
        assert!(list(0..30).ends_with("19 and 10 more"));
    }

    #[test]
    fn a_suggestion_is_near_or_absent() {
        assert_eq!(nearest("nobel", ["noble", "alma9"]), Some("noble"));
        assert_eq!(nearest("something", ["noble", "alma9"]), None);
    }

    #[test]
    fn hostnames_follow_rfc_1123() {
        assert_eq!(not_a_hostname("edge-1-001"), None);
        for wrong in ["", "edge_1", "-a", "a-", "é", &"a".repeat(64)] {
            assert!(not_a_hostname(wrong).is_some(), "{wrong}");
        }
    }

    #[test]
    fn account_names() {
        assert!(is_account_name("_svc.x-1"));
        for wrong in ["", "1a", "Ana", "a b", "a'b", &"a".repeat(33)] {
            assert!(!is_account_name(wrong), "{wrong}");
        }
    }
}
