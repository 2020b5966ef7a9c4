use super::{Found, Rule};
use crate::{Question, address};
use csis_values::plan::Action;

/// Unknown means no: a change no rule understands is not let through because no rule objects.
pub struct UnknownAction;

impl Rule for UnknownAction {
    fn id(&self) -> &'static str {
        "unknown-action"
    }

    fn sentence(&self) -> &'static str {
        "A change whose actions csis does not know is refused"
    }

    fn remedy(&self) -> &'static str {
        "use an engine that csis knows, or a newer csis; no sanction covers an unknown action"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in &q.plan.changes {
            let data = change.mode == "data";
            let what = match &change.action {
                Action::Unknown(what) if what.is_empty() => "no action at all".to_owned(),
                Action::Unknown(what) => format!("the unknown action `{what}`"),
                // What the engine only reads can be read, and can leave the state; nothing else.
                action if data && !matches!(action, Action::NoOp | Action::Read | Action::Delete) => {
                    "an action that makes no sense for something that is only read".to_owned()
                }
                _ => continue,
            };
            found.refuse(format!("{} has {what}", address::object(q, change))).on(change);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use csis_values::plan::Action;

    #[test]
    fn unknown_actions_are_refused_by_name() {
        let plan = plan(vec![change("module.instance_a.aws_instance.this", Action::Unknown("evaporate".into()))]);
        assert!(said(&judged(&plan), "unknown-action")[0].contains("evaporate"));
    }

    #[test]
    fn data_may_be_read_and_dropped_and_nothing_else() {
        for (action, refused) in
            [(Action::Read, false), (Action::Delete, false), (Action::Update, true), (Action::Forget, true)]
        {
            let mut read = change("module.instance_a.data.aws_ami.this", action.clone());
            read.mode = "data".into();
            assert_eq!(judged(&plan(vec![read])).is_refused(), refused, "{action:?}");
        }
    }
}
