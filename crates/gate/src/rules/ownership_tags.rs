use super::{Found, Rule};
use crate::attributes as attr;
use crate::{Question, address};
use csis_values::plan::{Action, AttributeChange, Shown};

/// Tags tell whose an object is; without them no configuration finds it again, and another one may take it.
pub struct OwnershipTags;

impl Rule for OwnershipTags {
    fn id(&self) -> &'static str {
        "ownership-tags"
    }

    fn sentence(&self) -> &'static str {
        "The `csis_` tags that tell whose an object is are neither removed nor given to another configuration"
    }

    fn remedy(&self) -> &'static str {
        "put the tag back; csis sets it, and the tree's `id` names the owner"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed().filter(|change| change.action == Action::Update) {
            for attribute in attr::changed(change, "tags").chain(attr::changed(change, "labels")) {
                if let Some(what) = lost(attribute) {
                    found.refuse(format!("{} would lose its owner: {what}", address::object(q, change))).on(change);
                }
            }
        }
    }
}

/// The groups of a storage change with its declaration; every other tag of csis's own stays.
fn is_of_ownership(key: &str) -> bool {
    key.starts_with("csis_") && !key.starts_with("csis_group") && key != "csis_public_read"
}

fn lost(attribute: &AttributeChange) -> Option<String> {
    let path = attr::plain(&attribute.path);
    let key = path.strip_prefix("tags").or_else(|| path.strip_prefix("labels"))?;
    if key.is_empty() {
        // All tags in one value: before and after are compared key by key.
        let Shown::Value(before) = &attribute.before else { return None };
        let before: serde_json::Map<String, serde_json::Value> = serde_json::from_str(before).ok()?;
        let after: serde_json::Map<String, serde_json::Value> =
            attr::text(&attribute.after).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let gone = before.keys().find(|key| is_of_ownership(key) && !after.contains_key(*key))?;
        return Some(format!("the tag `{gone}` is removed"));
    }
    let key = key.trim_start_matches('.').trim_start_matches("[\"").trim_end_matches("\"]");
    if !is_of_ownership(key) || matches!(attribute.before, Shown::Absent) {
        return None;
    }
    match &attribute.after {
        Shown::Absent => Some(format!("the tag `{key}` is removed")),
        after if key == "csis_config" && *after != attribute.before => {
            Some(format!("`csis_config` changes from {} to {}", attr::say(&attribute.before), attr::say(after)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use csis_values::plan::{Action, Shown};

    #[test]
    fn the_owner_stays_and_other_tags_are_free() {
        for (path, before, after, refused) in [
            ("tags.csis_config", value("harbor"), Shown::Absent, true),
            ("tags.csis_config", value("harbor"), value("other"), true),
            ("tags[\"csis_config\"]", value("harbor"), Shown::Absent, true),
            ("labels.csis_storage", value("data"), Shown::Absent, true),
            ("tags", value(r#"{"csis_config":"harbor","x":"1"}"#), value(r#"{"x":"1"}"#), true),
            ("tags", value(r#"{"csis_config":"harbor"}"#), Shown::Absent, true),
            ("tags.csis_config", Shown::Absent, value("harbor"), false),
            ("tags.csis_group_web", value("true"), Shown::Absent, false),
            ("tags.purpose", value("x"), Shown::Absent, false),
            ("tags_all.csis_config", value("harbor"), Shown::Absent, false),
        ] {
            let volume = with(change("module.storage_a.aws_ebs_volume.this", Action::Update), path, before, after);
            assert_eq!(judged(&plan(vec![volume])).is_refused(), refused, "{path}");
        }
    }
}
