use super::{Found, Rule};
use crate::{Filed, Instant, Moment, Question};
use csis_values::sanction::{Obligation, Receipt};

/// How old a receipt may be, in minutes, when no run id says that it is of this run.
const MAX_AGE: i64 = 60;

pub struct Unmounted;

impl Rule for Unmounted {
    fn id(&self) -> &'static str {
        "unmounted"
    }

    fn sentence(&self) -> &'static str {
        "A storage is taken from a machine only when a fresh receipt says that it was unmounted there"
    }

    fn remedy(&self) -> &'static str {
        "unmount the storage on the machine (`csis unmount storage --instance INSTANCE --storage STORAGE`), in the run that applies"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        if q.moment == Moment::Review {
            return;
        }
        for obligation in q.obligations {
            let Obligation::Unmounted { instance, storage, .. } = obligation else { continue };
            if let Err(why) = proven(q, instance, storage) {
                found.refuse(format!("{instance}:{storage} is not known to be unmounted: {why}"));
            }
        }
    }
}

fn proven(q: &Question<'_>, instance: &str, storage: &str) -> Result<(), String> {
    let Some(filed) = q.receipts.iter().find(|filed| filed.instance == instance && filed.storage == storage) else {
        return Err("there is no receipt".to_owned());
    };
    let Filed { path, content, .. } = filed;
    let receipt = content.as_ref().map_err(|why| format!("the receipt {path} cannot be read: {why}"))?;
    if receipt.instance != instance || receipt.storage != storage {
        return Err(format!("the receipt {path} is of {}:{}", receipt.instance, receipt.storage));
    }
    if !receipt.ok {
        return Err(format!("the receipt {path} says that the unmount failed"));
    }
    fresh(q, receipt).map_err(|why| format!("the receipt {path} {why}"))
}

fn fresh(q: &Question<'_>, receipt: &Receipt) -> Result<(), String> {
    if let Some(run) = q.run {
        return match receipt.run.as_deref() {
            Some(of) if of == run => Ok(()),
            Some(of) => Err(format!("is of the run {of}, not of {run}")),
            None => Err(format!("names no run; this is {run}")),
        };
    }
    let Some(made) = receipt.time.as_deref().and_then(Instant::parse) else {
        return Err("does not say when it was made".to_owned());
    };
    let Some(now) = q.now.and_then(Instant::parse) else {
        return Err("cannot be dated: the gate was not told the time".to_owned());
    };
    let age = now.minutes_since(made);
    if age > MAX_AGE {
        return Err(format!("is {age} minutes old, and {MAX_AGE} is the most"));
    }
    // Clocks of two machines differ by a little.
    if age < -5 {
        return Err("is from the future".to_owned());
    }
    match q.inputs_written.and_then(Instant::parse) {
        Some(written) if made < written => Err("is older than the files the plan was made from".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Filed, Moment, Question, Settings, judge};
    use csis_values::sanction::{Obligation, Receipt};

    const NOW: &str = "2026-01-31T08:00:00Z";

    fn receipt() -> Receipt {
        Receipt {
            instance: "a".into(),
            storage: "data".into(),
            ok: true,
            run: Some("r1".into()),
            time: Some("2026-01-31T07:30:00Z".into()),
        }
    }

    fn why(content: Option<Result<Receipt, String>>, change: impl FnOnce(&mut Question<'_>)) -> Option<String> {
        let settings = Settings::default();
        let plan = plan(vec![]);
        let must =
            [Obligation::Unmounted { instance: "a".into(), storage: "data".into(), mount_point: "/data".into() }];
        let filed: Vec<Filed> = content
            .into_iter()
            .map(|content| Filed { instance: "a".into(), storage: "data".into(), path: "a__data.json".into(), content })
            .collect();
        let mut question = Question {
            obligations: &must,
            receipts: &filed,
            moment: Moment::Script,
            now: Some(NOW),
            ..Question::new(&plan, &settings)
        };
        change(&mut question);
        let verdict = judge(&question);
        assert_eq!(verdict.obligations, must);
        said(&verdict, "unmounted").pop()
    }

    #[test]
    fn a_fresh_receipt_of_this_pair_is_proof() {
        assert_eq!(why(Some(Ok(receipt())), |_| ()), None);
        assert_eq!(why(Some(Ok(receipt())), |q| q.run = Some("r1")), None);
        assert_eq!(why(None, |q| q.moment = Moment::Review), None, "at review it is only listed");
    }

    #[test]
    fn anything_else_is_not() {
        let with = |change: fn(&mut Receipt)| {
            let mut receipt = receipt();
            change(&mut receipt);
            Some(Ok(receipt))
        };
        let cases: Vec<(&str, Option<String>)> = vec![
            ("no receipt", why(None, |_| ())),
            ("cannot be read", why(Some(Err("broken".into())), |_| ())),
            ("is of b:data", why(with(|r| r.instance = "b".into()), |_| ())),
            ("is of a:other", why(with(|r| r.storage = "other".into()), |_| ())),
            ("failed", why(with(|r| r.ok = false), |_| ())),
            ("not of r2", why(with(|_| ()), |q| q.run = Some("r2"))),
            ("names no run", why(with(|r| r.run = None), |q| q.run = Some("r1"))),
            ("does not say when", why(with(|r| r.time = None), |_| ())),
            ("not told the time", why(with(|_| ()), |q| q.now = None)),
            ("61 minutes old", why(with(|r| r.time = Some("2026-01-31T06:59:00Z".into())), |_| ())),
            ("future", why(with(|r| r.time = Some("2026-01-31T09:00:00Z".into())), |_| ())),
            ("older than the files", why(with(|_| ()), |q| q.inputs_written = Some("2026-01-31T07:45:00Z"))),
        ];
        for (expected, said) in cases {
            let said = said.unwrap_or_default();
            assert!(said.contains(expected) && said.starts_with("a:data"), "{expected}: {said}");
        }
    }
}
