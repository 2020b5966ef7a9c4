use super::{Found, Rule};
use crate::attributes as attr;
use crate::{Question, address, loss};
use csis_values::name;
use csis_values::plan::{Action, Change};

/// A standing machine ran its launch script once; the plan hides that the script is another one now.
pub struct LaunchScript;

impl Rule for LaunchScript {
    fn id(&self) -> &'static str {
        "launch-script"
    }

    fn sentence(&self) -> &'static str {
        "That a changed launch script takes effect only at the next replacement of a standing machine is said"
    }

    fn remedy(&self) -> &'static str {
        "nothing, when that is soon enough; otherwise replace the machine (`csis upgrade instance NAME`)"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for machine in q.launch_scripts_changed {
            let label = name::label(machine);
            // Every root is judged with the same list; the one that holds the machine speaks of it.
            if address::emits(q, address::Owner { kind: "instance", label: &label }) == Some(false) {
                continue;
            }
            let made = q.managed().any(|change| {
                is_machine_of(change, &label) && (attr::makes(change) || change.action == Action::Delete)
            });
            if !made {
                found.note(format!(
                    "the launch script of instance {machine} changes; it takes effect at the next replacement"
                ));
            }
        }
        for change in q.managed().filter(|c| c.action == Action::Update && loss::is_machine(&c.kind)) {
            let data = ["user_data", "user_data_base64"].iter().any(|name| attr::change_of(change, name).is_some());
            if data {
                found
                    .warn(format!(
                        "{} is stopped and started again to be given another launch script, which it does not run",
                        address::item(q, &change.address)
                    ))
                    .on(change)
                    .remedy("use the module that csis carries, which leaves the launch script of a standing machine alone (`csis init-config`)");
            }
        }
    }
}

fn is_machine_of(change: &Change, label: &str) -> bool {
    loss::is_machine(&change.kind)
        && address::owner(&change.address).is_some_and(|owner| owner.kind == "instance" && owner.label == label)
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::Action;
    use csis_values::verdict::Weight;

    #[test]
    fn a_hidden_change_is_told_unless_the_machine_is_made_anew() {
        let settings = Settings::default();
        let changed = ["api-1".to_owned()];
        for (action, told) in [(Action::Update, 1), (Action::Replace, 0), (Action::Create, 0)] {
            let plan = plan(vec![change("module.instance_api_1.aws_instance.this", action)]);
            let question = Question { launch_scripts_changed: &changed, ..Question::new(&plan, &settings) };
            assert_eq!(said(&judge(&question), "launch-script").len(), told);
        }
        // A root that does not hold the machine says nothing of it.
        for (root, told) in [(storages(&["ledger"]), 0), (machines(&[("api-1", false)]), 1)] {
            let plan = plan(vec![]);
            let question = Question { launch_scripts_changed: &changed, ..Question::of_root(&plan, &root, &settings) };
            assert_eq!(said(&judge(&question), "launch-script").len(), told, "{}", root.id);
        }
        let seen = with(
            change("module.instance_api_1.aws_instance.this", Action::Update),
            "user_data",
            value("a"),
            value("b"),
        );
        assert_eq!(weights(&judged(&plan(vec![seen])), "launch-script"), [Weight::Warn]);
    }
}
