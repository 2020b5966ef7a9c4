use super::{Found, Rule};
use crate::attributes as attr;
use crate::{Question, address};
use csis_values::plan::{Action, Shown};

/// What a machine may do in the cloud is what its instance profile lets it.
pub struct ProfileChange;

impl Rule for ProfileChange {
    fn id(&self) -> &'static str {
        "profile-change"
    }

    fn sentence(&self) -> &'static str {
        "A standing machine gets no instance profile that its runtime does not declare, and a declared one not unnoticed"
    }

    fn remedy(&self) -> &'static str {
        "declare the profile as the runtime's `session_instance_profile`, or leave the machine's as it is"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed().filter(|change| change.action == Action::Update) {
            let Some(attribute) = attr::change_of(change, "iam_instance_profile") else { continue };
            if attribute.before == attribute.after {
                continue;
            }
            let message = format!(
                "{} changes its instance profile from {} to {}",
                address::object(q, change),
                attr::say(&attribute.before),
                attr::say(&attribute.after)
            );
            let declared = match (&q.settings.profiles, &attribute.after) {
                (None, _) | (_, Shown::Absent) => true,
                (Some(profiles), after) => attr::text(after).is_some_and(|name| profiles.iter().any(|p| p == name)),
            };
            if declared {
                found.warn(message).on(change).remedy("make sure that the machine should have these rights");
            } else {
                found.refuse(format!("{message}, which the runtime does not declare")).on(change);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::{Action, Shown};
    use csis_values::verdict::Weight;

    #[test]
    fn a_profile_is_declared_or_refused() {
        for (profiles, after, weight) in [
            (Some(vec!["ssm".to_owned()]), value("ssm"), Weight::Warn),
            (Some(vec!["ssm".to_owned()]), value("admin"), Weight::Refuse),
            (Some(vec!["ssm".to_owned()]), Shown::Unknown, Weight::Refuse),
            (Some(vec![]), Shown::Absent, Weight::Warn),
            (None, value("admin"), Weight::Warn),
        ] {
            let settings = Settings { profiles, ..Settings::default() };
            let machine = with(
                change("module.instance_a.aws_instance.this", Action::Update),
                "iam_instance_profile",
                value("old"),
                after,
            );
            assert_eq!(weights(&judge(&Question::new(&plan(vec![machine]), &settings)), "profile-change"), [weight]);
        }
    }
}
