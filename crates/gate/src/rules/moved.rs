use super::{Found, Rule};
use crate::{Question, address};

/// A move changes no object, but it changes which declaration an object belongs to.
pub struct Moved;

impl Rule for Moved {
    fn id(&self) -> &'static str {
        "moved"
    }

    fn sentence(&self) -> &'static str {
        "A move is shown; one to or from an address that csis does not emit is refused"
    }

    fn remedy(&self) -> &'static str {
        "take the `moved` block out, or move within the modules of storages or of instances"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed() {
            let Some(previous) = &change.previous_address else { continue };
            let within = match (address::owner(previous), address::owner(&change.address)) {
                (Some(from), Some(to)) => from.kind == to.kind && address::emits(q, to).unwrap_or(true),
                _ => false,
            };
            if within {
                found
                    .note(format!("{} was at {previous} before; the object itself stays", address::object(q, change)))
                    .on(change)
                    .remedy("nothing, when the new owner is the one that is meant");
            } else {
                found
                    .refuse(format!(
                        "{} comes from {previous}, and csis emits no such move",
                        address::object(q, change)
                    ))
                    .on(change);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::Action;
    use csis_values::verdict::Weight;

    #[test]
    fn a_move_between_labels_is_shown_and_any_other_is_refused() {
        let settings = Settings::default();
        let root = machines(&[("a", false)]);
        for (from, to, weight) in [
            ("module.instance_b.aws_instance.this", "module.instance_a.aws_instance.this", Weight::Note),
            ("module.storage_b.aws_instance.this", "module.instance_a.aws_instance.this", Weight::Refuse),
            ("aws_instance.by_hand", "module.instance_a.aws_instance.this", Weight::Refuse),
            ("module.instance_a.aws_instance.this", "module.instance_gone.aws_instance.this", Weight::Refuse),
        ] {
            let mut moved = change(to, Action::NoOp);
            moved.previous_address = Some(from.into());
            let plan = plan(vec![moved]);
            let verdict = judge(&Question::of_root(&plan, &root, &settings));
            assert_eq!(weights(&verdict, "moved"), [weight], "{from} {to}");
            assert!(said(&verdict, "moved")[0].contains(from));
        }
    }
}
