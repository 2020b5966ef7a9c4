use super::{Found, Rule};
use crate::attributes as attr;
use crate::rules::public_exposure;
use crate::{Question, address};
use csis_values::plan::Action;

pub struct IngressChanged;

impl Rule for IngressChanged {
    fn id(&self) -> &'static str {
        "ingress-changed"
    }

    fn sentence(&self) -> &'static str {
        "What may reach a standing security group, or be reached from it, does not change unnoticed"
    }

    fn remedy(&self) -> &'static str {
        "look at the networks and ports that change"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed() {
            let group = change.kind.ends_with("security_group") && change.action == Action::Update;
            let rule = change.kind.contains("security_group") && change.kind.ends_with("_rule");
            if !(group || rule) || !public_exposure::exposures(q, change).is_empty() {
                continue;
            }
            let names: &[&str] = if group {
                &["ingress", "egress"]
            } else {
                &["cidr_blocks", "ipv6_cidr_blocks", "cidr_ipv4", "cidr_ipv6", "prefix_list_ids", "prefix_list_id"]
            };
            let mut said: Vec<String> = names
                .iter()
                .flat_map(|name| attr::changed(change, name))
                .filter(|attribute| attribute.before != attribute.after)
                .map(|a| format!("{} from {} to {}", a.path, attr::say(&a.before), attr::say(&a.after)))
                .collect();
            if said.is_empty() || (rule && !matches!(change.action, Action::Create | Action::Update)) {
                continue;
            }
            let more = said.len().saturating_sub(3);
            said.truncate(3);
            let more = if more == 0 { String::new() } else { format!(", and {more} more") };
            found.warn(format!("{} changes {}{more}", address::object(q, change), said.join(", "))).on(change);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use csis_values::plan::{Action, Shown};
    use csis_values::verdict::Weight;

    #[test]
    fn a_standing_group_that_opens_further_is_told() {
        let group = |action| {
            with(
                change("aws_security_group.csis_instances", action),
                "ingress[0].cidr_blocks[1]",
                Shown::Absent,
                value("10.9.0.0/16"),
            )
        };
        let verdict = judged(&plan(vec![group(Action::Update)]));
        assert_eq!(weights(&verdict, "ingress-changed"), [Weight::Warn]);
        assert!(said(&verdict, "ingress-changed")[0].contains("10.9.0.0/16"));
        assert!(said(&judged(&plan(vec![group(Action::Create)])), "ingress-changed").is_empty());
    }
}
