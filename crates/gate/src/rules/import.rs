use super::{Found, Rule};
use crate::attributes as attr;
use crate::{Moment, Question, address};

/// An import takes an object that somebody else may own under this tree's hand.
pub struct Import;

impl Rule for Import {
    fn id(&self) -> &'static str {
        "import"
    }

    fn sentence(&self) -> &'static str {
        "An import is shown; one of an object that neither carries this configuration's tag nor stands in the records is refused"
    }

    fn remedy(&self) -> &'static str {
        "take the `import` block out, or give the object this configuration's `csis_config` tag first when it is really its own"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed() {
            let Some(id) = &change.importing else { continue };
            let tag = attr::fact(change, "tags.csis_config");
            let ours = tag.is_some() && tag == q.settings.config_id.as_deref();
            let recorded = q.known_ids.is_some_and(|known| known.contains(id));
            let object = address::object(q, change);
            if ours || recorded {
                found
                    .note(format!("{object} is imported: `{id}` comes under this root"))
                    .on(change)
                    .remedy("nothing, when this is the object that is meant");
                continue;
            }
            let unknown = q.settings.config_id.is_none() && q.known_ids.is_none();
            let message = match (tag, &q.settings.config_id) {
                (Some(tag), Some(_)) => {
                    format!("{object} would be imported, but `{id}` belongs to the configuration `{tag}`")
                }
                _ => format!("{object} would be imported, and nothing tells that `{id}` belongs to this configuration"),
            };
            if unknown && q.moment == Moment::Script && !q.settings.strict {
                found.warn(message).on(change);
            } else {
                found.refuse(message).on(change);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Moment, Question, Settings, judge};
    use csis_values::plan::Action;
    use csis_values::verdict::Weight;

    #[test]
    fn only_what_is_ours_is_imported() {
        let address = "module.storage_data.aws_ebs_volume.this";
        let import = |tag: Option<&str>| {
            let mut c = change(address, Action::NoOp);
            c.importing = Some("vol-1".into());
            tag.map_or(c.clone(), |tag| knowing(c, "tags.csis_config", value(tag)))
        };
        let settings = Settings { config_id: Some("harbor".into()), ..Settings::default() };
        let ids = ["vol-1".to_owned()];
        for (tag, known, weight) in [
            (Some("harbor"), None, Weight::Note),
            (Some("other"), None, Weight::Refuse),
            (None, None, Weight::Refuse),
            (None, Some(&ids[..]), Weight::Note),
        ] {
            let plan = plan(vec![import(tag)]);
            let verdict = judge(&Question { known_ids: known, ..Question::new(&plan, &settings) });
            assert_eq!(weights(&verdict, "import"), [weight], "{tag:?}");
        }
        let plan = plan(vec![import(None)]);
        let unknowing = Settings::default();
        let script = Question { moment: Moment::Script, ..Question::new(&plan, &unknowing) };
        assert_eq!(weights(&judge(&script), "import"), [Weight::Warn]);
        assert_eq!(weights(&judged(&plan), "import"), [Weight::Refuse]);
    }
}
