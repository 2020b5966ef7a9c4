//! Tags as the real provider keeps them: `tags` as declared, `tags_all` with the provider's default tags beneath.

use std::collections::BTreeMap;

use crate::aws::Params;
use crate::value::{Attrs, Value, has_unknown, is_empty, put, string_map, text_map};

pub type Tags = BTreeMap<String, String>;

/// What `tags_all` will be: unknown as long as one of the tags is.
pub fn plan(planned: &mut Attrs, default_tags: &Tags) {
    let all = match planned.get("tags") {
        Some(tags) if has_unknown(tags) => Value::Unknown,
        _ => {
            let mut all = default_tags.clone();
            all.extend(text_map(planned, "tags"));
            string_map(&all)
        }
    };
    put(planned, "tags_all", all);
}

/// The tags to give an object: `tags_all`, which a plan has always worked out.
pub fn wanted(planned: &Attrs) -> Tags {
    let all = text_map(planned, "tags_all");
    if all.is_empty() { text_map(planned, "tags") } else { all }
}

/// Writes the tags an object was found with.
pub fn observed(state: &mut Attrs, found: &Tags, default_tags: &Tags) {
    let found: Tags =
        found.iter().filter(|(key, _)| !key.starts_with("aws:")).map(|(k, v)| (k.clone(), v.clone())).collect();
    let declared = text_map(state, "tags");
    let own: Tags = found
        .iter()
        .filter(|(key, value)| declared.contains_key(*key) || default_tags.get(*key) != Some(value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    put(state, "tags_all", string_map(&found));
    if !(own.is_empty() && is_empty(state.get("tags"))) {
        put(state, "tags", string_map(&own));
    }
}

/// What to set and what to remove so that an object tagged `prior` comes to `wanted`.
pub fn difference(prior: &Tags, wanted: &Tags) -> (Tags, Vec<String>) {
    let set = wanted.iter().filter(|(k, v)| prior.get(*k) != Some(*v)).map(|(k, v)| (k.clone(), v.clone())).collect();
    let removed = prior.keys().filter(|key| !wanted.contains_key(*key)).cloned().collect();
    (set, removed)
}

/// The tag parameters of an EC2 call that creates an object.
pub fn specification(params: &mut Params, resource_type: &str, tags: &Tags) {
    if tags.is_empty() {
        return;
    }
    params.add("TagSpecification.1.ResourceType", resource_type);
    for (index, (key, value)) in tags.iter().enumerate() {
        params.add(format!("TagSpecification.1.Tag.{}.Key", index + 1), key);
        params.add(format!("TagSpecification.1.Tag.{}.Value", index + 1), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn a_declared_tag_wins_over_a_default_one() {
        let mut planned = Attrs::from([("tags".into(), string_map(&tags(&[("team", "a")])))]);
        plan(&mut planned, &tags(&[("team", "z"), ("org", "o")]));
        assert_eq!(wanted(&planned), tags(&[("team", "a"), ("org", "o")]));
    }

    #[test]
    fn a_default_tag_is_not_an_own_tag() {
        let mut state = Attrs::from([("tags".into(), string_map(&tags(&[("Name", "x")])))]);
        let found = tags(&[("Name", "x"), ("org", "o"), ("by-hand", "y"), ("aws:inner", "1")]);
        observed(&mut state, &found, &tags(&[("org", "o")]));
        assert_eq!(text_map(&state, "tags"), tags(&[("Name", "x"), ("by-hand", "y")]));
        assert_eq!(text_map(&state, "tags_all"), tags(&[("Name", "x"), ("org", "o"), ("by-hand", "y")]));
    }

    #[test]
    fn only_what_differs_is_changed() {
        let (set, removed) = difference(&tags(&[("a", "1"), ("b", "2"), ("c", "3")]), &tags(&[("a", "1"), ("b", "9")]));
        assert_eq!(set, tags(&[("b", "9")]));
        assert_eq!(removed, ["c"]);
    }
}
