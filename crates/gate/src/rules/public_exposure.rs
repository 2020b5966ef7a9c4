use super::{Found, Rule};
use crate::attributes as attr;
use crate::strict;
use crate::{Question, address};
use csis_values::plan::{Action, Change, Shown};
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The one rule without an exception: nothing that csis makes is open to the world.
pub struct PublicExposure;

impl Rule for PublicExposure {
    fn id(&self) -> &'static str {
        "public-exposure"
    }

    fn sentence(&self) -> &'static str {
        "Nothing is opened to the world: no ingress from everywhere, no public address, no policy for everybody, no public list, no image shared beyond declared accounts"
    }

    fn remedy(&self) -> &'static str {
        "narrow it to the networks and accounts that need it; no sanction exists for this"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed() {
            for what in exposures(q, change) {
                found.refuse(format!("{} {what}", address::object(q, change))).on(change);
            }
        }
    }
}

/// How a change opens its object to the world, in words.
pub fn exposures(q: &Question<'_>, change: &Change) -> Vec<String> {
    if !attr::makes(change) && change.action != Action::Update {
        return Vec::new();
    }
    let mut found = Vec::new();
    if attr::is_cut(change) {
        found.push("has more attributes than can be judged".to_owned());
    }
    ingress(q, change, &mut found);
    addresses(change, &mut found);
    policies(q, change, &mut found);
    lists(change, &mut found);
    shares(q, change, &mut found);
    found.sort();
    found.dedup();
    found
}

fn ingress(q: &Question<'_>, change: &Change, found: &mut Vec<String>) {
    let mut names = vec!["ingress"];
    if change.kind.ends_with("security_group_rule") && attr::fact(change, "type") != Some("egress") {
        names.extend(["cidr_blocks", "ipv6_cidr_blocks", "prefix_list_ids"]);
    }
    if change.kind.ends_with("ingress_rule") {
        names.extend(["cidr_ipv4", "cidr_ipv6", "prefix_list_id"]);
    }
    let mut networks = BTreeSet::new();
    for (path, shown) in names.into_iter().flat_map(|name| attr::set(change, name)) {
        // A group without rules of its own has `ingress` computed; that says nothing of what is open.
        let computed = attr::plain(path) == "ingress" && *shown == Shown::Unknown;
        for leaf in attr::leaves(path, shown).into_iter().filter(|_| !computed) {
            let network = matches!(leaf.name(), "cidr_blocks" | "ipv6_cidr_blocks" | "cidr_ipv4" | "cidr_ipv6");
            let list = matches!(leaf.name(), "prefix_list_ids" | "prefix_list_id");
            let whole = leaf.path == "ingress";
            match &leaf.value {
                None if network || list || whole => {
                    found.push("lets in networks that cannot be told before the apply".to_owned());
                }
                // Elements of a list that are not known yet stand in it as words.
                Some(words) if network && !words.contains('/') => {
                    found.push("lets in networks that cannot be told before the apply".to_owned());
                }
                Some(cidr) if network && !is_open(cidr) => {
                    networks.insert(cidr.clone());
                }
                Some(cidr) if network => found.push(format!("lets in everybody from {cidr}")),
                Some(id) if list && !q.settings.prefix_lists.contains(id) => {
                    found.push(format!("lets in the networks of the undeclared prefix list {id}"));
                }
                _ => {}
            }
        }
    }
    if networks.iter().map(|cidr| public_addresses(cidr)).sum::<u64>() > MANY {
        found.push(format!("lets in a large part of the internet by {} networks", networks.len()));
    }
}

/// The address of the other kind that one stands for: mapped, or translated on the way.
fn v4_within(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let translated = segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
    let inner = translated.then(|| Ipv4Addr::from((u32::from(segments[6]) << 16) | u32::from(segments[7])));
    address.to_ipv4_mapped().or(inner)
}

/// Addresses of the internet that a change may let in altogether: a sixteenth of what there are.
const MANY: u64 = 1 << 28;

/// How many addresses of the internet a network holds; none of those that only neighbours have.
fn public_addresses(cidr: &str) -> u64 {
    let Some((network, length)) = cidr.trim().split_once('/') else { return 0 };
    let (Ok(address), Ok(length)) = (network.parse::<Ipv4Addr>(), length.parse::<u32>()) else { return 0 };
    if address.is_private() || length > 32 { 0 } else { 1 << (32 - length) }
}

/// Whether a network is the world, a large part of it, or address space that strangers share.
fn is_open(cidr: &str) -> bool {
    let cidr = cidr.trim();
    let Some((network, length)) = cidr.split_once('/') else { return true };
    let Ok(length) = length.parse::<u8>() else { return true };
    let length = match network.parse::<Ipv6Addr>() {
        Ok(address) => match v4_within(address).filter(|_| length >= 96) {
            Some(inner) => return is_open(&format!("{inner}/{}", length - 96)),
            // All of the first block is what stands for networks of the other kind.
            None => return length < 16 || address.segments()[0] == 0,
        },
        Err(_) => length,
    };
    let Ok(address) = network.parse::<Ipv4Addr>() else { return true };
    let [first, second, ..] = address.octets();
    let carrier_grade = first == 100 && (64..128).contains(&second);
    length < 8 || carrier_grade
}

fn addresses(change: &Change, found: &mut Vec<String>) {
    for name in ["associate_public_ip_address", "map_public_ip_on_launch", "network_interface", "network_interfaces"] {
        for (path, shown) in attr::set(change, name) {
            for leaf in attr::leaves(path, shown) {
                if !matches!(leaf.name(), "associate_public_ip_address" | "map_public_ip_on_launch") {
                    continue;
                }
                match leaf.value.as_deref() {
                    Some("true") => found.push("gets a public address".to_owned()),
                    Some(_) => {}
                    None => found
                        .push("gets a public address or not: the plan cannot tell, because nothing sets it".to_owned()),
                }
            }
        }
    }
}

fn policies(q: &Question<'_>, change: &Change, found: &mut Vec<String>) {
    for name in ["policy", "assume_role_policy"] {
        for (_, shown) in attr::set(change, name) {
            match shown {
                Shown::Value(text) => match strict::json(text) {
                    Ok(policy) => policy_opens(q, &policy, found),
                    Err(_) if text.trim().is_empty() => {}
                    Err(_) => found.push(format!("has a {name} too long or too odd to be judged")),
                },
                Shown::Absent => {}
                // What the cloud computes for a new object is no policy that anybody wrote.
                Shown::Unknown if attr::makes(change) && crate::loss::holds_data(q, &change.kind) => {}
                _ => found.push(format!("gets a {name} that cannot be told before the apply")),
            }
        }
    }
}

fn policy_opens(q: &Question<'_>, policy: &Value, found: &mut Vec<String>) {
    let statements = match part(policy, "Statement") {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    };
    for statement in statements.into_iter().filter(|s| part(s, "Effect").and_then(Value::as_str) != Some("Deny")) {
        let everybody =
            part(statement, "NotPrincipal").is_some() || part(statement, "Principal").is_some_and(is_everybody);
        if everybody && !is_bound_to_accounts(q, part(statement, "Condition")) {
            found.push(
                "gets a policy that lets everybody in: `*` as principal without a condition on the account".to_owned(),
            );
        }
    }
}

/// A part of a policy by its name, whatever the case of its letters.
fn part<'a>(policy: &'a Value, name: &str) -> Option<&'a Value> {
    policy.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn is_everybody(principal: &Value) -> bool {
    match principal {
        // A pattern in an account's place is everybody as well.
        Value::String(who) => who.contains('*'),
        Value::Array(list) => list.iter().any(is_everybody),
        Value::Object(kinds) => kinds.values().any(is_everybody),
        _ => false,
    }
}

/// Only an exact comparison binds: `StringLike` takes patterns, and the `IfExists` forms let in requests without the key.
fn is_bound_to_accounts(q: &Question<'_>, condition: Option<&Value>) -> bool {
    let Some(Value::Object(operators)) = condition else { return false };
    operators.iter().filter(|(operator, _)| operator.eq_ignore_ascii_case("StringEquals")).any(|(_, keys)| {
        keys.as_object().into_iter().flatten().any(|(key, values)| {
            let key = key.to_lowercase();
            let account = matches!(key.as_str(), "aws:principalaccount" | "aws:sourceaccount");
            let organisation = matches!(key.as_str(), "aws:principalorgid" | "aws:sourceorgid");
            let values: Vec<&str> = match values {
                Value::String(one) => vec![one.as_str()],
                Value::Array(list) => list.iter().map(|value| value.as_str().unwrap_or("*")).collect(),
                _ => vec!["*"],
            };
            let known = |value: &&str| {
                !account || q.settings.accounts.is_empty() || q.settings.accounts.iter().any(|a| a == value)
            };
            (account || organisation)
                && !values.is_empty()
                && values.iter().all(|value| !value.contains('*') && known(value))
        })
    })
}

/// Access lists stand in attributes of many names; what they say of everybody is the same in all.
fn lists(change: &Change, found: &mut Vec<String>) {
    for (path, shown) in attr::all_set(change) {
        for leaf in attr::leaves(path, shown) {
            match leaf.value.as_deref() {
                Some(acl @ ("public-read" | "public-read-write" | "authenticated-read")) if leaf.name() == "acl" => {
                    found.push(format!("gets the public access list `{acl}`"));
                }
                Some(uri) if uri.ends_with("/global/AllUsers") || uri.ends_with("/global/AuthenticatedUsers") => {
                    found.push("grants access to everybody in its access list".to_owned());
                }
                Some("true") if leaf.name() == "publicly_accessible" => {
                    found.push("gets an address that everybody reaches".to_owned());
                }
                None if matches!(leaf.path.as_str(), "acl" | "grant" | "access_control_policy")
                    && !attr::makes(change) =>
                {
                    found.push("gets an access list that cannot be told before the apply".to_owned());
                }
                _ => {}
            }
        }
    }
}

fn shares(q: &Question<'_>, change: &Change, found: &mut Vec<String>) {
    if !matches!(change.kind.as_str(), "aws_ami_launch_permission" | "aws_snapshot_create_volume_permission") {
        return;
    }
    for name in ["group", "account_id", "organization_arn", "organizational_unit_arn"] {
        for (_, shown) in attr::set(change, name) {
            match shown {
                Shown::Value(who) if name == "account_id" && q.settings.accounts.contains(who) => {}
                Shown::Value(who) if who.is_empty() => {}
                Shown::Value(who) => {
                    found.push(format!("shares an image or snapshot with `{who}`, which is not declared"));
                }
                Shown::Absent => {}
                _ if name == "account_id" => {
                    found.push("shares an image or snapshot with an account that cannot be told".to_owned());
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_open;
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::{Action, Change, Shown};

    const GROUP: &str = "aws_security_group.csis_instances";

    fn exposed(change: Change) -> bool {
        !said(&judged(&plan(vec![change])), "public-exposure").is_empty()
    }

    #[test]
    fn access_lists_are_read_wherever_they_stand() {
        let everybody =
            r#"[{"type":"Group","uri":"http://acs.amazonaws.com/groups/global/AllUsers","permissions":["READ"]}]"#;
        let logs = everybody.replace("global/AllUsers", "s3/LogDelivery");
        for (name, after, open) in [
            ("grant", everybody, true),
            ("grant", &logs, false),
            ("some_later_name", everybody, true),
            ("grant[0].uri", "http://acs.amazonaws.com/groups/global/AuthenticatedUsers", true),
            ("acl", "public-read", true),
            ("acl", "private", false),
            ("publicly_accessible", "true", true),
            ("tags.acl_note", "public-read", false),
        ] {
            for action in [Action::Create, Action::Update] {
                let bucket = change("module.storage_lake.aws_s3_bucket.this", action);
                assert_eq!(exposed(with(bucket, name, Shown::Absent, value(after))), open, "{name} {after}");
            }
        }
    }

    #[test]
    fn the_world_is_not_let_in() {
        for open in [
            "0.0.0.0/0",
            "::/0",
            "0.0.0.0/1",
            "128.0.0.0/1",
            "2000::/3",
            "100.64.0.0/10",
            "100.100.0.0/16",
            "x/0",
            "1.2.3.4/x",
            "::ffff:0:0/96",
            "::ffff:0.0.0.0/97",
            "64:ff9b::/96",
            "::/80",
            "",
        ] {
            assert!(is_open(open), "{open}");
        }
        for closed in ["10.0.0.0/8", "192.168.1.0/24", "203.0.113.7/32", "fd00::/48", "::ffff:10.0.0.0/104"] {
            assert!(!is_open(closed), "{closed}");
        }
    }

    #[test]
    fn ingress_is_found_in_every_form_and_egress_is_free() {
        let group = || change(GROUP, Action::Create);
        let whole = r#"[{"cidr_blocks":["10.0.0.0/8","0.0.0.0/0"],"from_port":22}]"#;
        assert!(exposed(with(group(), "ingress", Shown::Absent, value(whole))));
        assert!(exposed(with(group(), "ingress[0].cidr_blocks", Shown::Absent, value(r#"["0.0.0.0/0"]"#))));
        assert!(exposed(with(group(), "ingress[0].cidr_blocks[0]", Shown::Absent, value("0.0.0.0/0"))));
        assert!(exposed(with(group(), "ingress[0].ipv6_cidr_blocks[0]", Shown::Absent, value("::/0"))));
        assert!(exposed(with(group(), "ingress[0].prefix_list_ids[0]", Shown::Absent, value("pl-1"))));
        assert!(exposed(with(group(), "ingress[0].cidr_blocks", Shown::Absent, Shown::Unknown)));
        let partly = r#"["10.0.0.0/8","(known after apply)"]"#;
        assert!(exposed(with(group(), "ingress[0].cidr_blocks", Shown::Absent, value(partly))));
        let many = |count: u32| {
            let list: Vec<String> = (0..count).map(|n| format!("\"{n}.0.0.0/8\"")).collect();
            with(group(), "ingress[0].cidr_blocks", Shown::Absent, value(&format!("[{}]", list.join(","))))
        };
        assert!(exposed(many(99)) && !exposed(many(12)), "piece by piece");
        assert!(exposed(knowing(group(), "facts_left_out", value("3"))));
        let none = with(group(), "ingress[0].cidr_blocks", Shown::Absent, value("[]"));
        assert!(!exposed(none));
        assert!(exposed(knowing(group(), "ingress", value(whole))));
        assert!(exposed(knowing(group(), "ingress", value("[{\"cidr_blocks\":[\"10…"))));
        assert!(!exposed(with(group(), "egress[0].cidr_blocks[0]", Shown::Absent, value("0.0.0.0/0"))));
        assert!(!exposed(with(group(), "ingress", Shown::Absent, Shown::Unknown)));
        assert!(!exposed(with(group(), "ingress[0].security_groups[0]", Shown::Absent, Shown::Unknown)));
        assert!(!exposed(with(
            change(GROUP, Action::Delete),
            "ingress[0].cidr_blocks[0]",
            value("0.0.0.0/0"),
            Shown::Absent
        )));
    }

    #[test]
    fn rules_of_their_own_are_judged_by_direction() {
        let rule = |direction: &str| {
            let rule = change("module.storage_a.aws_security_group_rule.x", Action::Create);
            knowing(with(rule, "cidr_blocks[0]", Shown::Absent, value("0.0.0.0/0")), "type", value(direction))
        };
        assert!(exposed(rule("ingress")) && !exposed(rule("egress")));
        let single = change("module.storage_a.aws_vpc_security_group_ingress_rule.x", Action::Create);
        assert!(exposed(with(single, "cidr_ipv4", Shown::Absent, value("0.0.0.0/0"))));
    }

    #[test]
    fn a_machine_gets_no_public_address() {
        let machine = |after| {
            with(
                change("module.instance_a.aws_instance.this", Action::Create),
                "associate_public_ip_address",
                Shown::Absent,
                after,
            )
        };
        assert!(
            exposed(machine(value("true"))) && exposed(machine(Shown::Unknown)) && !exposed(machine(value("false")))
        );
        // A tag changes on a machine that has an address since ever.
        let old = knowing(
            change("module.instance_a.aws_instance.this", Action::Update),
            "associate_public_ip_address",
            value("true"),
        );
        assert!(!exposed(old));
    }

    #[test]
    fn a_policy_for_everybody_needs_an_exact_condition_on_the_account() {
        let policy = |principal: &str, condition: &str| {
            let text = format!(
                r#"{{"Statement":[{{"Effect":"Allow","Principal":{principal},"Action":"s3:GetObject"{condition}}}]}}"#
            );
            with(
                change("module.storage_lake.aws_s3_bucket_policy.public_read[0]", Action::Create),
                "policy",
                Shown::Absent,
                value(&text),
            )
        };
        let account = r#","Condition":{"StringEquals":{"aws:PrincipalAccount":["123456789012"]}}"#;
        for principal in
            [r#""*""#, r#"{"AWS":"*"}"#, r#"{"AWS":["arn:aws:iam::1:root","*"]}"#, r#"{"AWS":"arn:aws:iam::*:root"}"#]
        {
            assert!(exposed(policy(principal, "")), "{principal}");
            assert!(!exposed(policy(principal, account)), "{principal}");
        }
        assert!(!exposed(policy(r#"{"AWS":"arn:aws:iam::1:root"}"#, "")));
        for loose in [
            r#","Condition":{"StringLike":{"aws:PrincipalAccount":"*"}}"#,
            r#","Condition":{"StringEqualsIfExists":{"aws:PrincipalAccount":"1"}}"#,
            r#","Condition":{"StringEquals":{"aws:PrincipalAccount":["1","*"]}}"#,
            r#","Condition":{"StringEquals":{"aws:UserAgent":"x"}}"#,
        ] {
            assert!(exposed(policy(r#""*""#, loose)), "{loose}");
        }
        let lower = with(
            change("module.storage_lake.aws_s3_bucket_policy.public_read[0]", Action::Create),
            "policy",
            Shown::Absent,
            value(r#"{"statement":[{"effect":"Allow","principal":"*","action":"s3:GetObject"}]}"#),
        );
        assert!(exposed(lower));
        let known = Settings { accounts: vec!["999".into()], ..Settings::default() };
        assert!(judge(&Question::new(&plan(vec![policy(r#""*""#, account)]), &known)).is_refused());
    }

    #[test]
    fn a_policy_that_cannot_be_read_does_not_pass() {
        let policy = |shown| {
            with(
                change("module.storage_lake.aws_s3_bucket_policy.public_read[0]", Action::Create),
                "policy",
                Shown::Absent,
                shown,
            )
        };
        assert!(
            exposed(policy(Shown::Unknown))
                && exposed(policy(value("{\"Statement\":…")))
                && exposed(policy(Shown::Sensitive))
        );
        // A long policy is cut where it is shown and whole among the facts.
        let long = knowing(policy(value("{\"Statement\":…")), "policy", value(r#"{"Statement":[]}"#));
        assert!(!exposed(long));
        let bucket = || change("module.storage_lake.aws_s3_bucket.this", Action::Create);
        assert!(!exposed(with(bucket(), "policy", Shown::Absent, Shown::Unknown)), "computed");
        let new = plan(vec![bucket(), policy(Shown::Unknown)]);
        assert!(
            !said(&judged(&new), "public-exposure").is_empty(),
            "the module says whom it lets in before the bucket stands"
        );
    }

    #[test]
    fn public_lists_and_shared_images_are_refused() {
        let acl = |text| {
            with(
                change("module.storage_lake.aws_s3_bucket_acl.x", Action::Update),
                "acl",
                value("private"),
                value(text),
            )
        };
        assert!(exposed(acl("public-read")) && !exposed(acl("bucket-owner-read")));
        let share = |path: &str, who: &str| {
            with(change("module.x.aws_ami_launch_permission.x", Action::Create), path, Shown::Absent, value(who))
        };
        assert!(exposed(share("group", "all")) && exposed(share("account_id", "1")));
        let known = Settings { accounts: vec!["1".into()], ..Settings::default() };
        assert!(!judge(&Question::new(&plan(vec![share("account_id", "1")]), &known)).is_refused());
    }
}
