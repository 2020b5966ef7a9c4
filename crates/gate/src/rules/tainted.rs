use super::{Found, Rule};
use crate::{Moment, Question, address, allow};
use csis_values::plan::Change;

/// A create that failed midway leaves an object the engine wants to replace. Only a journal could tell that nothing of it was ever in use.
pub struct Tainted;

/// Whether the engine replaces it because its creation failed.
pub fn is_tainted(change: &Change) -> bool {
    change.action.is_replace() && change.reason.as_deref() == Some("replace_because_tainted")
}

impl Rule for Tainted {
    fn id(&self) -> &'static str {
        "tainted"
    }

    fn sentence(&self) -> &'static str {
        "An object whose creation failed midway is replaced only when that is sanctioned like any other replacement"
    }

    fn remedy(&self) -> &'static str {
        "look at the object: when it is sound, `untaint` it in the engine; when nothing of it was ever in use, replace it by hand with the gate's leave (`--allow-replace ADDRESS`)"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed().filter(|c| is_tainted(c) && c.deposed.is_none()) {
            if allow::sanction(q, change).is_some() {
                continue;
            }
            let draft = found
                .refuse(format!(
                    "{} would be replaced because an earlier creation failed midway, and nothing tells that it was never in use",
                    address::object(q, change)
                ))
                .on(change);
            if q.moment == Moment::Script {
                draft.remedy(format!(
                    "when it is sound, `untaint '{0}'` in the engine; when nothing of it was ever in use, run the gate with `--allow-replace '{0}'`",
                    change.address
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use csis_values::plan::Action;

    #[test]
    fn a_tainted_object_has_a_remedy_of_its_own() {
        let mut machine = change("module.instance_a.aws_instance.this", Action::Replace);
        machine.reason = Some("replace_because_tainted".into());
        let found = judged(&plan(vec![machine]));
        assert!(said(&found, "replace").is_empty());
        let tainted = found.findings.iter().find(|f| f.rule == "tainted").expect("found");
        assert!(tainted.remedy.contains("untaint"));
    }
}
