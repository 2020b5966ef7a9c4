//! Reading what a change does to one attribute.

use csis_values::plan::{Action, AttributeChange, Change, Shown};

/// The path without the indexes of its lists: `rule[0].expiration[0].days` is `rule.expiration.days`.
pub fn plain(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(open) = rest.find('[') {
        plain.push_str(&rest[..open]);
        let inside = &rest[open + 1..];
        let Some(close) = inside.find(']') else {
            plain.push_str(&rest[open..]);
            return plain;
        };
        if inside[..close].bytes().all(|b| b.is_ascii_digit()) {
            rest = &inside[close + 1..];
        } else {
            plain.push_str(&rest[open..=open + 1 + close]);
            rest = &inside[close + 1..];
        }
    }
    plain.push_str(rest);
    plain
}

/// Whether a path is this attribute or lies under it.
pub fn is_under(path: &str, name: &str) -> bool {
    plain(path).strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The attribute changes at or under a name.
pub fn changed<'a>(change: &'a Change, name: &str) -> impl Iterator<Item = &'a AttributeChange> {
    change.attributes.iter().filter(move |attribute| is_under(&attribute.path, name))
}

/// The change of exactly this attribute.
pub fn change_of<'a>(change: &'a Change, name: &str) -> Option<&'a AttributeChange> {
    change.attributes.iter().find(|attribute| plain(&attribute.path) == name)
}

/// What an attribute will be at or under a name, where this change sets it. An object that is made anew sets all it has; one that is updated, what differs.
///
/// Facts are kept longer than changes are shown, so where both tell a value the fact is taken.
pub fn set<'a>(change: &'a Change, name: &str) -> Vec<(&'a str, &'a Shown)> {
    let mut set = all_set(change);
    set.retain(|(path, _)| is_under(path, name));
    set
}

/// The same for every attribute.
pub fn all_set(change: &Change) -> Vec<(&str, &Shown)> {
    let mut set: Vec<(&str, &Shown)> = (change.attributes.iter())
        .filter(|attribute| attribute.after != Shown::Absent)
        .map(|attribute| (attribute.path.as_str(), change.facts.get(&attribute.path).unwrap_or(&attribute.after)))
        .collect();
    if makes(change) || change.attributes_left_out > 0 {
        set.extend(change.facts.iter().map(|(path, value)| (path.as_str(), value)));
    }
    set.retain(|(_, value)| **value != Shown::Absent);
    set
}

/// Whether some of what rules judge by did not fit into the plan as it was read.
pub fn is_cut(change: &Change) -> bool {
    change.facts.contains_key("facts_left_out")
}

/// Whether an object is made by this change.
pub fn makes(change: &Change) -> bool {
    matches!(change.action, Action::Create | Action::ForgetThenCreate) || change.action.is_replace()
}

/// One plain value within an attribute: its plain path and its text, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub path: String,
    pub value: Option<String>,
}

impl Leaf {
    /// The last segment of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or(&self.path)
    }
}

/// The plain values of an attribute. A value that is unknown, sensitive or cut gives one leaf without a text, at the attribute's own path.
pub fn leaves(path: &str, shown: &Shown) -> Vec<Leaf> {
    let path = plain(path);
    let text = match shown {
        Shown::Absent => return Vec::new(),
        Shown::Value(text) => text,
        Shown::Sensitive | Shown::Unknown | Shown::Pending(_) => return vec![Leaf { path, value: None }],
    };
    if !text.starts_with(['[', '{']) {
        return vec![Leaf { path, value: (!text.ends_with('…')).then(|| text.clone()) }];
    }
    let Ok(whole) = serde_json::from_str(text) else { return vec![Leaf { path, value: None }] };
    let mut leaves = Vec::new();
    walk(&path, &whole, &mut leaves);
    leaves
}

fn walk(path: &str, value: &serde_json::Value, leaves: &mut Vec<Leaf>) {
    match value {
        serde_json::Value::Null => {}
        serde_json::Value::Array(items) => items.iter().for_each(|item| walk(path, item, leaves)),
        serde_json::Value::Object(map) => {
            map.iter().for_each(|(key, item)| walk(&format!("{path}.{key}"), item, leaves));
        }
        serde_json::Value::String(text) => leaves.push(Leaf { path: path.to_owned(), value: Some(text.clone()) }),
        other => leaves.push(Leaf { path: path.to_owned(), value: Some(other.to_string()) }),
    }
}

/// The text of a value that is at hand.
pub fn text(shown: &Shown) -> Option<&str> {
    match shown {
        Shown::Value(text) => Some(text),
        _ => None,
    }
}

/// A value at hand as a number.
pub fn number(shown: &Shown) -> Option<f64> {
    text(shown)?.trim().parse().ok().filter(|n: &f64| n.is_finite())
}

pub fn is_true(shown: &Shown) -> bool {
    text(shown) == Some("true")
}

pub fn is_false(shown: &Shown) -> bool {
    text(shown) == Some("false")
}

/// A fact about the object, as text.
pub fn fact<'a>(change: &'a Change, name: &str) -> Option<&'a str> {
    change.facts.get(name).and_then(text)
}

/// A value as a message names it.
pub fn say(shown: &Shown) -> String {
    match shown {
        Shown::Absent => "nothing".to_owned(),
        Shown::Value(text) => {
            let short: String = text.chars().take(80).collect();
            if short.len() < text.len() { format!("`{short}…`") } else { format!("`{short}`") }
        }
        Shown::Sensitive => "a sensitive value".to_owned(),
        Shown::Unknown => "a value known only after the apply".to_owned(),
        Shown::Pending(what) => format!("a value of this change ({what})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_no_part_of_a_plain_path() {
        assert_eq!(plain("rule[0].expiration[12].days"), "rule.expiration.days");
        assert_eq!(plain("tags[\"a.b\"]"), "tags[\"a.b\"]");
        assert_eq!(plain("broken[0"), "broken[0");
        assert!(is_under("ingress[3].cidr_blocks", "ingress") && is_under("tags[\"x\"]", "tags"));
        assert!(!is_under("ingress_rules", "ingress"));
    }

    #[test]
    fn nested_values_are_walked_and_cut_ones_are_not_guessed() {
        let found =
            leaves("ingress", &Shown::Value(r#"[{"cidr_blocks":["10.0.0.0/8"],"from_port":22,"x":null}]"#.into()));
        let cidr = Leaf { path: "ingress.cidr_blocks".into(), value: Some("10.0.0.0/8".into()) };
        assert!(found.contains(&cidr) && found.len() == 2 && cidr.name() == "cidr_blocks");
        for unread in [Shown::Value("[{\"a\":…".into()), Shown::Value("0.0.…".into()), Shown::Unknown, Shown::Sensitive]
        {
            assert_eq!(leaves("a[0]", &unread), [Leaf { path: "a".into(), value: None }]);
        }
    }
}
