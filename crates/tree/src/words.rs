//! Turns of phrase that messages share.

/// The nearest of the known words, when it is near enough to be meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A hostile tree must not buy time with long names.
    if word.len() > 80 {
        return None;
    }
    let lower = word.to_lowercase();
    let known = known.into_iter().take(2000).filter(|k| k.len() <= 80);
    let near = known.map(|k| (strsim::damerau_levenshtein(&lower, &k.to_lowercase()), k));
    let (distance, best) = near.min()?;
    let length = word.chars().count();
    (distance <= if length <= 4 { 1 } else { 2.max(length / 3) }).then_some(best)
}

/// `` `a`, `b` and `c` ``; a long list ends with how many more there are.
pub fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 20;
    let words: Vec<&str> = words.into_iter().collect();
    let mut shown: Vec<String> = words.iter().take(SHOWN).map(|w| quote(w)).collect();
    if words.len() > SHOWN {
        shown.push(format!("{} more", words.len() - SHOWN));
    }
    match shown.pop() {
        None => "none".into(),
        Some(last) if shown.is_empty() => last,
        Some(last) => format!("{} and {last}", shown.join(", ")),
    }
}

/// A text of the tree inside a message: one line, not too long.
pub fn quote(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut shown: String =
        text.chars().take(LONGEST).map(|c| if c.is_control() || c == '`' { '\u{fffd}' } else { c }).collect();
    if text.chars().count() > LONGEST {
        shown.push('…');
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggestion_is_near_or_absent() {
        assert_eq!(nearest("sharemode", ["share_mode", "state"]), Some("share_mode"));
        assert_eq!(nearest("State", ["share_mode", "state"]), Some("state"));
        assert_eq!(nearest("nope", ["type"]), None);
        assert_eq!(nearest("something", ["share_mode", "state"]), None);
    }

    #[test]
    fn a_quoted_text_stays_on_its_line() {
        assert_eq!(quote("a\nb`c"), "`a\u{fffd}b\u{fffd}c`");
        assert_eq!(quote(&"x".repeat(90)).chars().count(), 83);
    }
}
