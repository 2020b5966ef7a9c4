use super::{Found, Rule};
use crate::attributes as attr;
use crate::{Question, address, loss};
use csis_values::plan::Action;

/// The plan calls it an update in place; for whoever works on the machine it is a restart.
pub struct Resize;

impl Rule for Resize {
    fn id(&self) -> &'static str {
        "resize"
    }

    fn sentence(&self) -> &'static str {
        "That a machine is stopped and started again is said"
    }

    fn remedy(&self) -> &'static str {
        "land it when the machine may be away for some minutes"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed().filter(|c| c.action == Action::Update && loss::is_machine(&c.kind)) {
            let Some(kind) = attr::change_of(change, "instance_type") else { continue };
            found
                .warn(format!(
                    "{} is stopped and started again: its type changes from {} to {}",
                    address::item(q, &change.address),
                    attr::say(&kind.before),
                    attr::say(&kind.after)
                ))
                .on(change);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use csis_values::plan::Action;
    use csis_values::verdict::Weight;

    #[test]
    fn a_resize_is_told_with_both_types() {
        let machine = with(
            change("module.instance_api_1.aws_instance.this", Action::Update),
            "instance_type",
            value("t3.small"),
            value("t3.large"),
        );
        let verdict = judged(&plan(vec![machine]));
        assert_eq!(weights(&verdict, "resize"), [Weight::Warn]);
        assert!(said(&verdict, "resize")[0].contains("`t3.small` to `t3.large`"));
    }
}
