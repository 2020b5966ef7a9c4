use super::{Found, Rule};
use crate::{Moment, Question};

/// The major version of plan documents whose meaning is known here.
const MAJOR: &str = "1";

pub struct FormatVersion;

impl Rule for FormatVersion {
    fn id(&self) -> &'static str {
        "format-version"
    }

    fn sentence(&self) -> &'static str {
        "A plan document of a major format version other than 1 may mean anything, and is refused"
    }

    fn remedy(&self) -> &'static str {
        "plan with an engine whose format csis knows, or use a newer csis"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        if !q.is_plan() {
            return;
        }
        match q.plan.format_version.as_deref() {
            None => {
                found.refuse("the plan does not say which format version it has");
            }
            Some(version) if !is_known(version) => {
                found.refuse(format!("the plan has format version {version}; csis knows {MAJOR}.x"));
            }
            Some(_) => {}
        }
        if !q.plan.unknown_parts.is_empty() {
            let parts = q.plan.unknown_parts.join("`, `");
            let message = format!("the plan has parts that csis does not know: `{parts}`");
            if q.settings.strict || q.plan.ours || q.moment == Moment::Landing {
                found.refuse(message);
            } else {
                found.warn(message);
            }
        }
    }
}

/// `1` or `1.<number>`.
fn is_known(version: &str) -> bool {
    match version.split_once('.') {
        None => version == MAJOR,
        Some((major, minor)) => major == MAJOR && !minor.is_empty() && minor.bytes().all(|b| b.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::verdict::Weight;

    #[test]
    fn a_part_that_nobody_knows_may_mean_anything() {
        for (ours, weight) in [(true, Weight::Refuse), (false, Weight::Warn)] {
            let mut plan = plan(vec![]);
            (plan.unknown_parts, plan.ours) = (vec!["reactor_shutdowns".into()], ours);
            assert_eq!(weights(&judge(&Question::new(&plan, &Settings::default())), "format-version"), [weight]);
        }
    }

    #[test]
    fn only_major_one_is_known() {
        for (version, refused) in [
            (Some("1.2"), false),
            (Some("1"), false),
            (Some("2.0"), true),
            (Some("1.evil"), true),
            (Some("1."), true),
            (Some("10.0"), true),
            (Some(""), true),
            (None, true),
        ] {
            let mut plan = plan(vec![]);
            plan.format_version = version.map(str::to_owned);
            assert_eq!(judged(&plan).is_refused(), refused, "{version:?}");
        }
    }
}
