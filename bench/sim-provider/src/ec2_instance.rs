//! `aws_instance`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::aws::{Answer, Aws, Element, Params, found};
use crate::ec2::{copy_flags, copy_texts, observe_tags, retag};
use crate::resource::Body;
use crate::tags::{specification, wanted};
use crate::value::{
    Attrs, Value, flag, is_null, is_unknown, put, put_optional, put_text, same, strings, text, text_or_empty, texts,
};

pub struct Instance;

impl Body for Instance {
    fn force_new(&self) -> &'static [&'static str] {
        &[
            "ami",
            "associate_public_ip_address",
            "availability_zone",
            "hibernation",
            "ipv6_addresses",
            "key_name",
            "placement_group",
            "private_ip",
            "subnet_id",
            "tenancy",
        ]
    }

    fn objection(&self, config: &Attrs) -> Option<String> {
        (is_null(config.get("ami")) && crate::value::items(config, "launch_template").is_empty())
            .then(|| "one of `ami,launch_template` must be specified".to_owned())
    }

    fn plan(&self, prior: Option<&Attrs>, planned: &mut Attrs) {
        // A stopped and started machine may come back under other public names.
        if let Some(prior) = prior
            && !same(prior.get("instance_type"), planned.get("instance_type"))
        {
            for key in ["public_dns", "public_ip"] {
                put(planned, key, Value::Unknown);
            }
        }
    }

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()> {
        let mut params = Params::with("ImageId", text_or_empty(state, "ami"));
        params.add("MinCount", "1").add("MaxCount", "1");
        for (attribute, name) in [
            ("instance_type", "InstanceType"),
            ("key_name", "KeyName"),
            ("iam_instance_profile", "IamInstanceProfile.Name"),
        ] {
            if let Some(value) = text(state, attribute) {
                params.add(name, value);
            }
        }
        if let Some(script) = text(state, "user_data") {
            params.add("UserData", STANDARD.encode(script));
        } else if let Some(encoded) = text(state, "user_data_base64") {
            params.add("UserData", encoded);
        }
        let groups = texts(state, "vpc_security_group_ids");
        // The emulator can change the groups of a machine later only when they are not those of an interface.
        if let (Some(subnet), true) = (text(state, "subnet_id"), flag(state, "associate_public_ip_address")) {
            params.add("NetworkInterface.1.DeviceIndex", "0");
            params.add("NetworkInterface.1.DeleteOnTermination", "true");
            params.add("NetworkInterface.1.SubnetId", subnet);
            params.add("NetworkInterface.1.AssociatePublicIpAddress", "true");
            for (index, group) in groups.iter().enumerate() {
                params.add(format!("NetworkInterface.1.SecurityGroupId.{}", index + 1), group);
            }
        } else {
            if let Some(subnet) = text(state, "subnet_id") {
                params.add("SubnetId", subnet);
            }
            for (index, group) in groups.iter().enumerate() {
                params.add(format!("SecurityGroupId.{}", index + 1), group);
            }
        }
        specification(&mut params, "instance", &wanted(state));
        let mut reservation = aws.ec2("RunInstances", &params)?;
        let instance = reservation.take_first("instancesSet/item").unwrap_or_default();
        put_text(state, "id", instance.text("instanceId").unwrap_or_default());
        Ok(())
    }

    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool> {
        let id = text_or_empty(state, "id");
        let answer = found(aws.ec2("DescribeInstances", &Params::with("InstanceId.1", &id)))?;
        let reservation = answer.and_then(|mut answer| answer.take_first("reservationSet/item"));
        let Some(instance) = reservation.and_then(|mut reservation| reservation.take_first("instancesSet/item")) else {
            return Ok(false);
        };
        if matches!(instance.text("instanceState/name").as_deref(), Some("terminated" | "shutting-down")) {
            return Ok(false);
        }
        observe(aws, &id, &instance, state);
        observe_tags(aws, state, &instance.tags());
        Ok(true)
    }

    fn update(&self, aws: &Aws, prior: &Attrs, state: &mut Attrs) -> Answer<()> {
        let id = text_or_empty(prior, "id");
        let changed = |key: &str| !same(prior.get(key), state.get(key));
        if changed("instance_type") || changed("user_data") {
            aws.ec2("StopInstances", &Params::with("InstanceId.1", &id))?;
            if changed("instance_type") {
                modify(aws, &id, "InstanceType.Value", &text_or_empty(state, "instance_type"))?;
            }
            if changed("user_data") {
                modify(aws, &id, "UserData.Value", &STANDARD.encode(text_or_empty(state, "user_data")))?;
            }
            aws.ec2("StartInstances", &Params::with("InstanceId.1", &id))?;
        }
        if changed("vpc_security_group_ids") {
            let mut params = Params::with("InstanceId", &id);
            for (index, group) in texts(state, "vpc_security_group_ids").iter().enumerate() {
                params.add(format!("GroupId.{}", index + 1), group);
            }
            aws.ec2("ModifyInstanceAttribute", &params)?;
        }
        if changed("iam_instance_profile") {
            associate_profile(aws, &id, text(state, "iam_instance_profile"))?;
        }
        if changed("disable_api_termination") {
            modify(aws, &id, "DisableApiTermination.Value", &flag(state, "disable_api_termination").to_string())?;
        }
        retag(aws, prior, state)
    }

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()> {
        aws.ec2("TerminateInstances", &Params::with("InstanceId.1", text_or_empty(prior, "id"))).map(|_| ())
    }
}

fn modify(aws: &Aws, id: &str, name: &str, value: &str) -> Answer<()> {
    let mut params = Params::with("InstanceId", id);
    params.add(name, value);
    aws.ec2("ModifyInstanceAttribute", &params).map(|_| ())
}

fn associate_profile(aws: &Aws, id: &str, profile: Option<&str>) -> Answer<()> {
    let mut filter = Params::with("Filter.1.Name", "instance-id");
    filter.add("Filter.1.Value.1", id);
    let answer = aws.ec2("DescribeIamInstanceProfileAssociations", &filter)?;
    let association = answer.all("iamInstanceProfileAssociationSet/item").find_map(|item| item.text("associationId"));
    let (action, mut params) = match (&association, profile) {
        (Some(association), Some(_)) => {
            ("ReplaceIamInstanceProfileAssociation", Params::with("AssociationId", association))
        }
        (Some(association), None) => ("DisassociateIamInstanceProfile", Params::with("AssociationId", association)),
        (None, Some(_)) => ("AssociateIamInstanceProfile", Params::with("InstanceId", id)),
        (None, None) => return Ok(()),
    };
    if let Some(profile) = profile {
        params.add("IamInstanceProfile.Name", profile);
    }
    aws.ec2(action, &params).map(|_| ())
}

fn observe(aws: &Aws, id: &str, instance: &Element, state: &mut Attrs) {
    put_text(state, "arn", aws.arn("ec2", &format!("instance/{id}")));
    copy_texts(
        instance,
        state,
        &[
            ("ami", "imageId"),
            ("availability_zone", "placement/availabilityZone"),
            ("instance_state", "instanceState/name"),
            ("instance_type", "instanceType"),
            ("key_name", "keyName"),
            ("private_dns", "privateDnsName"),
            ("private_ip", "privateIpAddress"),
            ("subnet_id", "subnetId"),
            ("tenancy", "placement/tenancy"),
        ],
    );
    copy_flags(instance, state, &[("ebs_optimized", "ebsOptimized")]);
    let interface = instance.child("networkInterfaceSet").and_then(|set| set.child("item"));
    if let Some(interface) = interface {
        copy_texts(interface, state, &[("primary_network_interface_id", "networkInterfaceId")]);
    }
    put_text(state, "public_ip", instance.text("ipAddress").unwrap_or_default());
    put_text(state, "public_dns", instance.text("dnsName").unwrap_or_default());
    if is_unknown(state, "associate_public_ip_address") || is_null(state.get("associate_public_ip_address")) {
        put(state, "associate_public_ip_address", Value::Bool(instance.text("ipAddress").is_some()));
    }
    let profile = instance.text("iamInstanceProfile/arn").and_then(|arn| arn.rsplit('/').next().map(ToOwned::to_owned));
    put_optional(state, "iam_instance_profile", profile);
    let ids = |of: &Element| of.all("groupSet/item").filter_map(|group| group.text("groupId")).collect::<Vec<String>>();
    let mut groups = ids(instance);
    if groups.is_empty() {
        groups = interface.map(ids).unwrap_or_default();
    }
    groups.sort();
    if !same(state.get("vpc_security_group_ids"), Some(&strings(groups.clone()))) {
        put(state, "vpc_security_group_ids", strings(groups));
    }
    if !matches!(state.get("security_groups"), Some(Value::List(_))) {
        put(state, "security_groups", strings(Vec::<String>::new()));
    }
    let monitored = instance.text("monitoring/state").is_some_and(|state| state == "enabled");
    put(state, "monitoring", Value::Bool(monitored));
    for key in ["disable_api_stop", "disable_api_termination"] {
        if !matches!(state.get(key), Some(Value::Bool(_))) {
            put(state, key, Value::Bool(false));
        }
    }
    if text(state, "instance_initiated_shutdown_behavior").is_none() {
        put_text(state, "instance_initiated_shutdown_behavior", "stop");
    }
}
