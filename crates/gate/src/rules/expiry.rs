use super::{Found, Rule};
use crate::attributes::{self as attr, Leaf};
use crate::rules::data_loss;
use crate::{Question, address};
use csis_values::plan::{Action, AttributeChange, Change, Shown};

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
        // A bucket that is made anew is empty; that the old one goes is told as that.
        Action::Replace | Action::ReplaceCreateFirst if change.kind == "aws_s3_bucket" => None,
        Action::Create | Action::Update | Action::Replace | Action::ReplaceCreateFirst => {
            let unseen = (change.attributes_left_out > 0 && change.kind != "aws_s3_bucket")
                .then(|| format!("{} attributes of its rules were not kept to be judged", change.attributes_left_out));
            change.attributes.iter().find_map(sooner).or_else(|| elsewhere(change)).or(unseen)
        }
        _ => None,
    }
}

/// Whether the rules become those of another bucket.
fn elsewhere(change: &Change) -> Option<String> {
    let bucket = attr::change_of(change, "bucket").filter(|_| change.kind != "aws_s3_bucket")?;
    let differs = bucket.before != Shown::Absent && bucket.before != bucket.after;
    differs.then(|| format!("the rules of {} are those of {} now", attr::say(&bucket.before), attr::say(&bucket.after)))
}

/// Whether the bucket itself is made by this plan, so that nothing is in it.
fn is_new(q: &Question<'_>, change: &Change) -> bool {
    let named = |change: &Change| {
        attr::set(change, "bucket").into_iter().find_map(|(_, shown)| attr::text(shown).map(str::to_owned))
    };
    change.kind == "aws_s3_bucket" || {
        // The rules name their bucket where it is known beforehand: then that one is asked about, not its neighbours.
        let theirs = named(change);
        let is_near = |other: &&Change| {
            address::owner(&other.address).is_some_and(|o| Some(o) == address::owner(&change.address))
        };
        let mut buckets = q.managed().filter(|other| other.kind == "aws_s3_bucket").filter(is_near).peekable();
        buckets.peek().is_some()
            && buckets.all(|bucket| {
                let other = theirs.as_ref().zip(named(bucket)).is_some_and(|(theirs, bucket)| *theirs != bucket);
                bucket.action == Action::Create && !other
            })
    }
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
        let whole = matches!(leaf.path.as_str(), "rule" | "lifecycle_rule") || leaf.name().ends_with("expiration");
        if whole && leaf.value.is_none() {
            return Some(format!("{} is known only after the apply", leaf.path));
        }
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
    let kept =
        |leaves: &[Leaf]| leaves.iter().find(|l| is_kept_count(l)).and_then(|l| l.value.clone()?.parse::<f64>().ok());
    if let Some(was) = kept(&before)
        && kept(&after).is_none_or(|now| now < was)
        // Of a whole rule that is gone nothing expires any more.
        && (!after.is_empty() || is_kept_count_path(&attribute.path))
    {
        return Some(format!("fewer than {was} older versions are kept"));
    }
    widened(attribute, &before, &after)
}

/// How many older versions an expiry leaves.
fn is_kept_count(leaf: &Leaf) -> bool {
    is_kept_count_path(&leaf.path)
}

fn is_kept_count_path(path: &str) -> bool {
    attr::plain(path).ends_with("newer_noncurrent_versions")
}

/// Whether a rule's filter lets in what it kept out. A whole rule that is gone has no filter either, and widens nothing.
fn widened(attribute: &AttributeChange, before: &[Leaf], after: &[Leaf]) -> Option<String> {
    let path = attr::plain(&attribute.path);
    let own = path.contains("filter") || path.ends_with("prefix");
    let is_condition = |leaf: &&Leaf| leaf.path.contains("filter") || leaf.name() == "prefix";
    let value = |leaf: &Leaf| leaf.value.clone().unwrap_or_default();
    let gone = before.iter().filter(is_condition).filter(|was| !value(was).is_empty()).find(|was| {
        !after.iter().filter(|now| now.path == was.path).any(|now| match was.name() {
            "prefix" => value(now).starts_with(&value(was)),
            _ => now == *was,
        })
    })?;
    if !own && after.is_empty() {
        return None;
    }
    let (name, was) = (gone.name(), value(gone));
    let now: Vec<String> = after.iter().filter(|leaf| leaf.path == gone.path).map(value).collect();
    Some(match now.as_slice() {
        [] => format!("a rule for {name} `{was}` is for all of them now"),
        now => format!("a rule for {name} `{was}` is for `{}` now", now.join("`, `")),
    })
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
            ("rule[0].filter[0].prefix", Shown::Absent, value("logs/"), false),
            ("rule[0].filter[0].tag", value(r#"[{"key":"a","value":"b"}]"#), value("[]"), true),
            ("rule[0].filter[0].tag[0].value", value("b"), value("c"), true),
            (
                "rule[0].filter",
                value(r#"[{"and":[{"prefix":"a/","tags":{"x":"y"}}]}]"#),
                value(r#"[{"prefix":"a/"}]"#),
                true,
            ),
            ("rule[0].filter[0].object_size_greater_than", value("1000"), Shown::Absent, true),
            ("rule[0].filter[0].tag", value("[]"), value(r#"[{"key":"a","value":"b"}]"#), false),
            ("rule[0].noncurrent_version_expiration[0].newer_noncurrent_versions", value("5"), Shown::Absent, true),
            ("rule[0].noncurrent_version_expiration[0].newer_noncurrent_versions", value("5"), value("2"), true),
            ("rule[0].noncurrent_version_expiration[0].newer_noncurrent_versions", value("2"), value("5"), false),
            ("rule[1]", value(r#"{"expiration":[{"days":7}],"filter":[{"prefix":"a/"}]}"#), Shown::Absent, false),
            ("rule", value("[]"), Shown::Unknown, true),
            ("rule[0]", value("{}"), Shown::Sensitive, true),
            ("rule[0].expiration", value("[]"), Shown::Unknown, true),
            ("rule[0].transition", value("[]"), Shown::Unknown, false),
            ("bucket", value("lake"), value("archive"), true),
            ("bucket", value("lake"), Shown::Unknown, true),
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
        // The rules of one bucket beside another that is new.
        let named = |rules: &str| {
            let bucket = change("module.storage_lake.aws_s3_bucket.this", Action::Create);
            let bucket = with(bucket, "bucket", Shown::Absent, value("lake"));
            let of = with(change(RULES, Action::Create), DAYS, Shown::Absent, value("30"));
            plan(vec![bucket, with(of, "bucket", Shown::Absent, value(rules))])
        };
        assert!(said(&judge(&Question::new(&named("lake"), &settings)), "expiry").is_empty());
        assert_eq!(said(&judge(&Question::new(&named("archive"), &settings)), "expiry").len(), 1);
        let mut beside = new.clone();
        beside.changes.push(change("module.storage_lake.aws_s3_bucket.second", Action::NoOp));
        assert_eq!(said(&judge(&Question::new(&beside, &settings)), "expiry").len(), 1, "a bucket stands beside");
    }
}
