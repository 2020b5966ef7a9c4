use super::{Found, Rule};
use crate::loss::{holds_data, is_machine};
use crate::{Moment, Question, address};
use csis_values::intent::{Root, StateBinding};
use csis_values::plan::Action;
use csis_values::sanction::Sanction;

/// A plan against a lost or wrong state is all creates, and so passes every rule about destroys: a second copy of everything, beside the first.
pub struct StateLost;

impl Rule for StateLost {
    fn id(&self) -> &'static str {
        "state-lost"
    }

    fn sentence(&self) -> &'static str {
        "A plan against a state that is gone, older or another than the records know would make a second copy of what stands, and is refused"
    }

    fn remedy(&self) -> &'static str {
        "check the state backend's bucket, key and workspace and put the state back; when it moved, run with `--migrate-state`; when the object is really gone, take it out of the records (`csis storage forget`)"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        let Some(root) = q.root else { return };
        if !q.is_plan() {
            return;
        }
        if let Some(state) = &root.state {
            judge_state(q, state, found);
        }
        judge_creates(q, root, found);
    }
}

fn judge_state(q: &Question<'_>, recorded: &StateBinding, found: &mut Found<'_>) {
    if recorded.lineage.is_none() && recorded.serial.is_none() {
        return;
    }
    let place = &recorded.location;
    let Some(state) = &q.plan.state else {
        let message = format!(
            "whether the state at {place} is the recorded one cannot be told: the plan does not say which state it was made against"
        );
        if q.moment == Moment::Landing {
            found.refuse(message);
        } else {
            found.note(message);
        }
        return;
    };
    if !state.exists {
        found.refuse(format!("there is no state at {place}, but the records know one"));
        return;
    }
    if let (Some(known), Some(now)) = (&recorded.lineage, &state.lineage)
        && known != now
    {
        found.refuse(format!("the state at {place} is another one: its lineage is {now}, the records know {known}"));
        return;
    }
    if let (Some(known), Some(now)) = (recorded.serial, state.serial)
        && now < known
    {
        found.refuse(format!("the state at {place} is older than the records: its serial is {now}, they know {known}"));
    }
}

fn judge_creates(q: &Question<'_>, root: &Root, found: &mut Found<'_>) {
    for change in q.managed().filter(|change| matches!(change.action, Action::Create | Action::ForgetThenCreate)) {
        if change.importing.is_some() || !(holds_data(q, &change.kind) || is_machine(&change.kind)) {
            continue;
        }
        let Some(live) = root.live.iter().find(|live| covers(&live.address, &change.address)) else { continue };
        found
            .refuse(format!(
                "{} would be created, but the records say that {} {} stands",
                address::object(q, change),
                live.kind,
                live.name
            ))
            .on(change);
    }
}

fn covers(prefix: &str, address: &str) -> bool {
    let whole = Sanction {
        root: String::new(),
        address: prefix.to_owned(),
        deposed: None,
        action: csis_values::sanction::Allowed::Destroy,
        because: csis_values::sanction::Because {
            operation: String::new(),
            kind: String::new(),
            name: String::new(),
            at: None,
        },
    };
    whole.covers(address)
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Moment, Question, Settings, judge};
    use csis_values::intent::{LiveObject, StateBinding};
    use csis_values::plan::{Action, StateFacts};
    use csis_values::verdict::Weight;

    fn recorded() -> StateBinding {
        StateBinding {
            backend: "state".into(),
            kind: "s3".into(),
            location: "s3://b/volumes.tfstate".into(),
            profile: None,
            lineage: Some("l-1".into()),
            serial: Some(7),
        }
    }

    #[test]
    fn a_missing_foreign_or_older_state_is_refused() {
        let settings = Settings::default();
        let mut root = storages(&["data"]);
        root.state = Some(recorded());
        let state =
            |exists, lineage: &str, serial| StateFacts { exists, lineage: Some(lineage.into()), serial: Some(serial) };
        for (state, refused) in [
            (Some(state(true, "l-1", 7)), false),
            (Some(state(true, "l-1", 9)), false),
            (Some(state(true, "l-1", 6)), true),
            (Some(state(true, "l-2", 9)), true),
            (Some(StateFacts::default()), true),
            (None, false),
        ] {
            let mut plan = plan(vec![]);
            plan.state = state.clone();
            let verdict = judge(&Question::of_root(&plan, &root, &settings));
            assert_eq!(verdict.is_refused(), refused, "{state:?}");
        }
        let plan = plan(vec![]);
        let landing = Question { moment: Moment::Landing, ..Question::of_root(&plan, &root, &settings) };
        assert_eq!(weights(&judge(&landing), "state-lost"), [Weight::Refuse]);
    }

    #[test]
    fn a_second_copy_of_a_live_storage_is_refused_but_a_new_part_of_it_is_not() {
        let settings = Settings::default();
        let mut root = storages(&["data"]);
        root.live =
            vec![LiveObject { address: "module.storage_data".into(), kind: "storage".into(), name: "data".into() }];
        let copy = plan(vec![change("module.storage_data.aws_ebs_volume.this", Action::Create)]);
        let found = judge(&Question::of_root(&copy, &root, &settings));
        assert!(said(&found, "state-lost")[0].contains("storage data stands"));
        let part = plan(vec![change("module.storage_data.aws_efs_access_point.group[\"x\"]", Action::Create)]);
        assert!(said(&judge(&Question::of_root(&part, &root, &settings)), "state-lost").is_empty());
        let other = plan(vec![change("module.storage_data_2.aws_ebs_volume.this", Action::Create)]);
        assert!(said(&judge(&Question::of_root(&other, &root, &settings)), "state-lost").is_empty());
    }
}
