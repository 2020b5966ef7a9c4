//! `aws_security_group` with its inline rules, and `aws_security_group_rule`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::aws::{Answer, Aws, Element, Params, found};
use crate::ec2::{copy_texts, observe_tags, retag};
use crate::resource::Body;
use crate::tags::{specification, wanted};
use crate::value::{
    Attrs, Value, digest, flag, is_unknown, items, number, object, put, put_optional, put_text, string, strings, text,
    text_or_empty, texts,
};

/// One permission, as narrow as it gets: a protocol, a range of ports and one peer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Permission {
    protocol: String,
    from: i64,
    to: i64,
    peer: Peer,
    description: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Peer {
    Cidr(String),
    Cidr6(String),
    Group(String),
    PrefixList(String),
}

type MakePeer = fn(String) -> Peer;

#[derive(Clone, Copy)]
enum Side {
    Ingress,
    Egress,
}

impl Side {
    fn attribute(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        }
    }

    fn element(self) -> &'static str {
        match self {
            Self::Ingress => "ipPermissions",
            Self::Egress => "ipPermissionsEgress",
        }
    }

    fn action(self, verb: &str) -> String {
        match self {
            Self::Ingress => format!("{verb}SecurityGroupIngress"),
            Self::Egress => format!("{verb}SecurityGroupEgress"),
        }
    }
}

/// Protocol and ports as AWS keeps them: "all protocols" has no ports.
fn normal(protocol: &str, from: i64, to: i64) -> (String, i64, i64) {
    match protocol {
        "-1" | "all" => ("-1".to_owned(), 0, 0),
        other => (other.to_lowercase(), from, to),
    }
}

fn declared(rule: &Attrs, own_id: &str) -> BTreeSet<Permission> {
    let (protocol, from, to) = normal(
        &text_or_empty(rule, "protocol"),
        number(rule, "from_port").unwrap_or(0),
        number(rule, "to_port").unwrap_or(0),
    );
    let mut peers: Vec<Peer> = texts(rule, "cidr_blocks").into_iter().map(Peer::Cidr).collect();
    peers.extend(texts(rule, "ipv6_cidr_blocks").into_iter().map(Peer::Cidr6));
    peers.extend(texts(rule, "prefix_list_ids").into_iter().map(Peer::PrefixList));
    peers.extend(texts(rule, "security_groups").into_iter().map(Peer::Group));
    if let Some(group) = text(rule, "source_security_group_id") {
        peers.push(Peer::Group(group.to_owned()));
    }
    if flag(rule, "self") {
        peers.push(Peer::Group(own_id.to_owned()));
    }
    let description = text_or_empty(rule, "description");
    peers
        .into_iter()
        .map(|peer| Permission { protocol: protocol.clone(), from, to, peer, description: description.clone() })
        .collect()
}

fn inline(state: &Attrs, side: Side, own_id: &str) -> BTreeSet<Permission> {
    items(state, side.attribute()).iter().filter_map(object).flat_map(|rule| declared(rule, own_id)).collect()
}

fn standing(group: &Element, side: Side) -> BTreeSet<Permission> {
    let mut permissions = BTreeSet::new();
    for item in group.all(&format!("{}/item", side.element())) {
        let (protocol, from, to) = normal(
            &item.text("ipProtocol").unwrap_or_default(),
            item.number("fromPort").unwrap_or(0),
            item.number("toPort").unwrap_or(0),
        );
        let peers: [(&str, &str, MakePeer); 4] = [
            ("ipRanges/item", "cidrIp", Peer::Cidr),
            ("ipv6Ranges/item", "cidrIpv6", Peer::Cidr6),
            ("groups/item", "groupId", Peer::Group),
            ("prefixListIds/item", "prefixListId", Peer::PrefixList),
        ];
        for (path, name, make) in peers {
            for range in item.all(path) {
                let Some(value) = range.text(name) else { continue };
                let description = range.text("description").unwrap_or_default();
                permissions.insert(Permission { protocol: protocol.clone(), from, to, peer: make(value), description });
            }
        }
    }
    permissions
}

/// Permissions as the objects of `ingress` and `egress`: one per protocol, ports and description.
fn observed(permissions: &BTreeSet<Permission>, own_id: &str) -> Value {
    let mut rules: BTreeMap<(String, i64, i64, String), Vec<&Peer>> = BTreeMap::new();
    for p in permissions {
        rules.entry((p.protocol.clone(), p.from, p.to, p.description.clone())).or_default().push(&p.peer);
    }
    let rules = rules.into_iter().map(|((protocol, from, to, description), peers)| {
        let pick = |choose: fn(&Peer) -> Option<&String>| {
            peers.iter().filter_map(|peer| choose(peer)).cloned().collect::<Vec<String>>()
        };
        let groups = pick(|peer| if let Peer::Group(id) = peer { Some(id) } else { None });
        let own = groups.iter().any(|id| id == own_id);
        Value::Map(Attrs::from([
            ("protocol".to_owned(), string(protocol)),
            ("from_port".to_owned(), Value::Number(from)),
            ("to_port".to_owned(), Value::Number(to)),
            ("description".to_owned(), string(description)),
            ("self".to_owned(), Value::Bool(own)),
            (
                "cidr_blocks".to_owned(),
                strings(pick(|peer| if let Peer::Cidr(cidr) = peer { Some(cidr) } else { None })),
            ),
            (
                "ipv6_cidr_blocks".to_owned(),
                strings(pick(|peer| if let Peer::Cidr6(cidr) = peer { Some(cidr) } else { None })),
            ),
            (
                "prefix_list_ids".to_owned(),
                strings(pick(|peer| if let Peer::PrefixList(id) = peer { Some(id) } else { None })),
            ),
            ("security_groups".to_owned(), strings(groups.into_iter().filter(|id| id != own_id))),
        ]))
    });
    Value::List(rules.collect())
}

fn change(aws: &Aws, verb: &str, side: Side, group: &str, permissions: &BTreeSet<Permission>) -> Answer<()> {
    if permissions.is_empty() {
        return Ok(());
    }
    let mut params = Params::with("GroupId", group);
    for (index, p) in permissions.iter().enumerate() {
        let at = format!("IpPermissions.{}", index + 1);
        params.add(format!("{at}.IpProtocol"), &p.protocol);
        if p.protocol != "-1" {
            params.add(format!("{at}.FromPort"), p.from.to_string());
            params.add(format!("{at}.ToPort"), p.to.to_string());
        }
        let (list, name, value) = match &p.peer {
            Peer::Cidr(cidr) => ("IpRanges", "CidrIp", cidr),
            Peer::Cidr6(cidr) => ("Ipv6Ranges", "CidrIpv6", cidr),
            Peer::Group(id) => ("Groups", "GroupId", id),
            Peer::PrefixList(id) => ("PrefixListIds", "PrefixListId", id),
        };
        params.add(format!("{at}.{list}.1.{name}"), value);
        if !p.description.is_empty() {
            params.add(format!("{at}.{list}.1.Description"), &p.description);
        }
    }
    aws.ec2(&side.action(verb), &params).map(|_| ())
}

fn describe(aws: &Aws, id: &str) -> Answer<Option<Element>> {
    let answer = found(aws.ec2("DescribeSecurityGroups", &Params::with("GroupId.1", id)))?;
    Ok(answer.and_then(|mut answer| answer.take_first("securityGroupInfo/item")))
}

/// A suffix that grows, as the real provider appends to a name prefix.
fn suffix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:018}{:08x}", now.as_micros(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub struct Group;

impl Body for Group {
    fn force_new(&self) -> &'static [&'static str] {
        &["description", "name", "name_prefix", "vpc_id"]
    }

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()> {
        if is_unknown(state, "name") {
            let prefix = text(state, "name_prefix").unwrap_or("terraform-");
            let name = format!("{prefix}{}", suffix());
            put_text(state, "name", name);
        }
        let mut params = Params::with("GroupName", text_or_empty(state, "name"));
        params.add("GroupDescription", text(state, "description").unwrap_or("Managed by Terraform"));
        if let Some(vpc) = text(state, "vpc_id") {
            params.add("VpcId", vpc);
        }
        specification(&mut params, "security-group", &wanted(state));
        let id = aws.ec2("CreateSecurityGroup", &params)?.text("groupId").unwrap_or_default();
        put_text(state, "id", &id);
        // AWS opens every new group to the outside; the real provider closes it again.
        if let Some(group) = describe(aws, &id)? {
            change(aws, "Revoke", Side::Egress, &id, &standing(&group, Side::Egress))?;
        }
        for side in [Side::Ingress, Side::Egress] {
            change(aws, "Authorize", side, &id, &inline(state, side, &id))?;
        }
        Ok(())
    }

    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool> {
        let id = text_or_empty(state, "id");
        let Some(group) = describe(aws, &id)? else { return Ok(false) };
        put_text(state, "arn", aws.arn("ec2", &format!("security-group/{id}")));
        copy_texts(&group, state, &[("name", "groupName"), ("owner_id", "ownerId"), ("vpc_id", "vpcId")]);
        if text(state, "description").is_some() {
            put_optional(state, "description", group.text("groupDescription"));
        }
        if is_unknown(state, "name_prefix") {
            put_text(state, "name_prefix", "");
        }
        for side in [Side::Ingress, Side::Egress] {
            let there = standing(&group, side);
            let known = matches!(state.get(side.attribute()), Some(Value::List(_)));
            if !known || there != inline(state, side, &id) {
                put(state, side.attribute(), observed(&there, &id));
            }
        }
        observe_tags(aws, state, &group.tags());
        Ok(true)
    }

    fn update(&self, aws: &Aws, prior: &Attrs, state: &mut Attrs) -> Answer<()> {
        let id = text_or_empty(prior, "id");
        for side in [Side::Ingress, Side::Egress] {
            let (before, after) = (inline(prior, side, &id), inline(state, side, &id));
            change(aws, "Revoke", side, &id, &before.difference(&after).cloned().collect())?;
            change(aws, "Authorize", side, &id, &after.difference(&before).cloned().collect())?;
        }
        retag(aws, prior, state)
    }

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()> {
        aws.ec2("DeleteSecurityGroup", &Params::with("GroupId", text_or_empty(prior, "id"))).map(|_| ())
    }
}

pub struct Rule;

impl Rule {
    fn side(state: &Attrs) -> Side {
        if text(state, "type") == Some("egress") { Side::Egress } else { Side::Ingress }
    }

    fn permissions(state: &Attrs) -> (String, BTreeSet<Permission>) {
        let group = text_or_empty(state, "security_group_id");
        let permissions = declared(state, &group);
        (group, permissions)
    }
}

impl Body for Rule {
    fn force_new(&self) -> &'static [&'static str] {
        &[
            "cidr_blocks",
            "from_port",
            "ipv6_cidr_blocks",
            "prefix_list_ids",
            "protocol",
            "security_group_id",
            "self",
            "source_security_group_id",
            "to_port",
            "type",
        ]
    }

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()> {
        let (group, permissions) = Self::permissions(state);
        change(aws, "Authorize", Self::side(state), &group, &permissions)?;
        put_text(state, "id", format!("sgrule-{}", digest(&format!("{group}{permissions:?}"))));
        Ok(())
    }

    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool> {
        let (id, wanted) = Self::permissions(state);
        let Some(group) = describe(aws, &id)? else { return Ok(false) };
        Ok(wanted.is_subset(&standing(&group, Self::side(state))))
    }

    fn update(&self, aws: &Aws, prior: &Attrs, state: &mut Attrs) -> Answer<()> {
        self.destroy(aws, prior)?;
        let (group, permissions) = Self::permissions(state);
        change(aws, "Authorize", Self::side(state), &group, &permissions)
    }

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()> {
        let (group, permissions) = Self::permissions(prior);
        change(aws, "Revoke", Self::side(prior), &group, &permissions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(protocol: &str, ports: (i64, i64), cidr: &str) -> Attrs {
        Attrs::from([
            ("protocol".to_owned(), string(protocol)),
            ("from_port".to_owned(), Value::Number(ports.0)),
            ("to_port".to_owned(), Value::Number(ports.1)),
            ("cidr_blocks".to_owned(), strings([cidr])),
            ("self".to_owned(), Value::Bool(true)),
        ])
    }

    #[test]
    fn a_rule_survives_the_way_to_aws_and_back() {
        let permissions = declared(&rule("tcp", (22, 22), "10.0.0.0/8"), "sg-own");
        assert_eq!(permissions.len(), 2, "one peer is a network, one the group itself");
        let back = observed(&permissions, "sg-own");
        let Value::List(list) = &back else { panic!("not a list") };
        assert_eq!(list.len(), 1);
        let Value::Map(rule) = &list[0] else { panic!("not an object") };
        assert_eq!(declared(rule, "sg-own"), permissions);
    }

    #[test]
    fn all_protocols_have_no_ports() {
        assert_eq!(
            declared(&rule("-1", (0, 0), "0.0.0.0/0"), "sg-own"),
            declared(&rule("all", (0, 65535), "0.0.0.0/0"), "sg-own")
        );
    }
}
