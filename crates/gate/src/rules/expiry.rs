use super::{Found, Rule};
use crate::attributes::{self as attr, Leaf};
use crate::rules::data_loss;
use crate::{Question, address};
use csis_values::plan::{Action, AttributeChange, Change};

/// An expiry deletes what is older than it within a day, and no destroy shows in the plan.
pub struct Expiry;

impl Rule for Expiry {
    fn id(&self) -> &'static str {
        "expiry"
    }

    fn sentence(&self) -> &'static str {
        "A new, shorter or wider expiry on a standing bucket deletes what is in it, and is confirmed like any loss of data"
    }

    fn remedy(&self) -> &'static str {
        "make sure that no object older than the expiry is needed; a second person then confirms the digest of the report"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed() {
            if let Some(what) = shortened(q, change) {
                let item = address::item(q, &change.address);
                data_loss::tell(q, found, format!("objects of {item} expire: {what}")).on(change);
            }
        }
    }
}

fn is_days(leaf: &Leaf) -> bool {
    leaf.path.contains("expiration") && matches!(leaf.name(), "days" | "noncurrent_days" | "date")
}

/// How a change makes objects expire that did not before, or not so soon; none when it does not.
pub fn shortened(q: &Question<'_>, change: &Change) -> Option<String> {
    if change.kind != "aws_s3_bucket_lifecycle_configuration" && change.kind != "aws_s3_bucket" {
        return None;
    }
    match change.action {
        Action::Create if is_new(q, change) => None,
        Action::Create | Action::Update | Action::Replace | Action::ReplaceCreateFirst => {
            let unseen = (change.attributes_left_out > 0 && change.kind != "aws_s3_bucket")
                .then(|| format!("{} attributes of its rules were not kept to be judged", change.attributes_left_out));
            change.attributes.iter().find_map(sooner).or(unseen)
        }
        _ => None,
    }
}

/// Whether the bucket itself is made by this plan, so that nothing is in it.
fn is_new(q: &Question<'_>, change: &Change) -> bool {
    change.kind == "aws_s3_bucket"
        || q.managed().any(|other| {
            other.kind == "aws_s3_bucket"
                && other.action == Action::Create
                && address::owner(&other.address).is_some_and(|o| Some(o) == address::owner(&change.address))
        })
}

fn sooner(attribute: &AttributeChange) -> Option<String> {
    let before = attr::leaves(&attribute.path, &attribute.before);
    let after = attr::leaves(&attribute.path, &attribute.after);
    let days = |leaves: &[Leaf]| {
        leaves
            .iter()
            .filter(|l| is_days(l))
            .filter_map(|l| l.value.clone()?.parse::<f64>().ok())
            .fold(f64::INFINITY, |least, n| if n > 0.0 { least.min(n) } else { least })
    };
    for leaf in &after {
        if is_days(leaf) {
            let Some(value) = &leaf.value else {
                return Some(format!("{} is known only after the apply", leaf.path));
            };
            let (was, now) = (days(&before), days(&after));
            if leaf.name() == "date" && before != after {
                return Some(format!("from {value} on"));
            }
            if now < was {
                let was = if was.is_finite() { format!("{was} days before") } else { "never before".to_owned() };
                return Some(format!("after {now} days, {was}"));
            }
        }
        let enabled = leaf.path.ends_with("rule.status") && leaf.value.as_deref() == Some("Enabled");
        if enabled && before.iter().any(|l| l.value.as_deref() == Some("Disabled")) {
            return Some("a rule that was disabled is enabled".to_owned());
        }
    }
    let prefix = |leaves: &[Leaf]| leaves.iter().find(|l| l.name() == "prefix").and_then(|l| l.value.clone());
    let was = prefix(&before).filter(|prefix| !prefix.is_empty())?;
    let now = prefix(&after).unwrap_or_default();
    // A whole rule that is gone has no prefix either; only a prefix of its own that became shorter widens one.
    let own = attr::plain(&attribute.path).ends_with("prefix");
    (own && now != was && !now.starts_with(&was)).then(|| format!("a rule for `{was}` is for `{now}` now"))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::{Action, Shown};
    use csis_values::verdict::Weight;

    const RULES: &str = "module.storage_lake.aws_s3_bucket_lifecycle_configuration.this[0]";
    const DAYS: &str = "rule[0].expiration[0].days";

    #[test]
    fn sooner_is_a_loss_and_later_is_none() {
        for (path, before, after, loss) in [
            (DAYS, value("90"), value("30"), true),
            (DAYS, value("30"), value("90"), false),
            (DAYS, Shown::Absent, value("30"), true),
            (DAYS, value("30"), Shown::Absent, false),
            (DAYS, value("30"), Shown::Unknown, true),
            ("rule[0].transition[0].days", value("90"), value("30"), false),
            ("rule[1]", Shown::Absent, value(r#"{"expiration":[{"days":7}],"status":"Enabled"}"#), true),
            ("rule[0].status", value("Disabled"), value("Enabled"), true),
            ("rule[0].filter[0].prefix", value("logs/app/"), value("logs/"), true),
            ("rule[0].filter[0].prefix", value("logs/"), value("logs/app/"), false),
        ] {
            let plan = plan(vec![with(change(RULES, Action::Update), path, before.clone(), after.clone())]);
            let found = weights(&judged(&plan), "expiry");
            assert_eq!(found, if loss { vec![Weight::Confirm] } else { vec![] }, "{path} {before:?} {after:?}");
        }
    }

    #[test]
    fn the_expiry_of_a_new_bucket_loses_nothing_and_of_a_standing_one_does() {
        let settings = Settings::default();
        let rules = with(change(RULES, Action::Create), DAYS, Shown::Absent, value("30"));
        let standing = plan(vec![rules.clone()]);
        assert_eq!(said(&judge(&Question::new(&standing, &settings)), "expiry").len(), 1);
        let new = plan(vec![change("module.storage_lake.aws_s3_bucket.this", Action::Create), rules]);
        assert!(said(&judge(&Question::new(&new, &settings)), "expiry").is_empty());
    }
}
