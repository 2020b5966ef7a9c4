//! Data sources: those the modules read ask the emulator, the others answer with what they were asked.

use async_trait::async_trait;
use tf_provider::schema::Schema;
use tf_provider::value::ValueEmpty;
use tf_provider::{DataSource, Diagnostics};

use crate::aws::{Answer, Aws, Element, Params, found};
use crate::ec2::{copy_flags, copy_numbers, copy_texts, filters};
use crate::provider::{Session, refuse, served, session};
use crate::schema::Shared;
use crate::value::{
    Attrs, Value, attrs, flag, is_null, items, put, put_text, settle, string_map, text, text_or_empty, texts,
};
use crate::{efs, policy_document};

pub struct Simulated {
    name: String,
    schema: Shared,
    session: Session,
}

/// A message for the user when a query is answered with nothing or too much.
type Looked = Answer<Option<String>>;

impl Simulated {
    pub fn new(name: &str, schema: Shared, session: Session) -> Self {
        Self { name: name.to_owned(), schema, session }
    }

    fn look_up(&self, aws: &Aws, state: &mut Attrs) -> Looked {
        match self.name.as_str() {
            "aws_ami" => ami(aws, state),
            "aws_caller_identity" => caller(aws, state),
            "aws_ebs_snapshot" => snapshot(aws, state),
            "aws_efs_file_system" => efs::look_up(aws, state),
            "aws_iam_policy_document" => Ok(policy_document::render(state)),
            "aws_region" => Ok(region(aws, state)),
            "aws_subnet" => subnet(aws, state),
            "aws_vpc" => vpc(aws, state),
            _ => Ok(None),
        }
    }
}

#[async_trait]
impl DataSource for Simulated {
    type State<'a> = Value;
    type ProviderMetaState<'a> = ValueEmpty;

    fn schema(&self, diags: &mut Diagnostics) -> Option<Schema> {
        served(&self.schema, &self.name, diags)
    }

    async fn read<'a>(&self, diags: &mut Diagnostics, config: Value, _meta: ValueEmpty) -> Option<Value> {
        let mut state = attrs(config);
        let aws = session(&self.session, diags)?.in_region(text(&state, "region"));
        match self.look_up(&aws, &mut state) {
            Ok(None) => {}
            Ok(Some(message)) => {
                refuse(diags, message, "");
                return None;
            }
            Err(error) => {
                refuse(diags, format!("reading {}", self.name), error.to_string());
                return None;
            }
        }
        if self.schema.block.attributes.contains_key("region") && text(&state, "region").is_none() {
            put_text(&mut state, "region", &aws.region);
        }
        if self.schema.block.awaits(&state, "id") {
            put_text(&mut state, "id", &aws.region);
        }
        self.schema.block.conform(&mut state);
        let mut value = Value::Map(state);
        settle(&mut value);
        Some(value)
    }
}

fn none_or_many(what: &str, none: bool) -> String {
    if none {
        format!("no matching {what} found")
    } else {
        format!("multiple {what}s matched; use additional constraints to reduce matches to a single {what}")
    }
}

fn observe_tags(element: &Element, state: &mut Attrs) {
    if is_null(state.get("tags")) {
        put(state, "tags", string_map(&element.tags()));
    }
}

/// Takes the only match out of an answer.
fn only(answer: Option<Element>, set: &str) -> Result<Element, bool> {
    let Some(mut answer) = answer else { return Err(true) };
    if answer.all(set).count() > 1 {
        return Err(false);
    }
    answer.take_first(set).ok_or(true)
}

fn vpc(aws: &Aws, state: &mut Attrs) -> Looked {
    let mut params = Params::new();
    if let Some(id) = text(state, "id") {
        params.add("VpcId.1", id);
    }
    let mut state_filters = state.clone();
    extra_filter(&mut state_filters, "cidr", text(state, "cidr_block"));
    extra_filter(&mut state_filters, "is-default", flag(state, "default").then_some("true"));
    filters(&state_filters, &mut params);
    let vpc = match only(found(aws.ec2("DescribeVpcs", &params))?, "vpcSet/item") {
        Ok(vpc) => vpc,
        Err(none) => return Ok(Some(none_or_many("EC2 VPC", none))),
    };
    copy_texts(
        &vpc,
        state,
        &[
            ("id", "vpcId"),
            ("cidr_block", "cidrBlock"),
            ("dhcp_options_id", "dhcpOptionsId"),
            ("instance_tenancy", "instanceTenancy"),
            ("owner_id", "ownerId"),
            ("state", "state"),
        ],
    );
    copy_flags(&vpc, state, &[("default", "isDefault")]);
    put_text(state, "arn", aws.arn("ec2", &format!("vpc/{}", text_or_empty(state, "id"))));
    observe_tags(&vpc, state);
    Ok(None)
}

fn subnet(aws: &Aws, state: &mut Attrs) -> Looked {
    let mut params = Params::new();
    if let Some(id) = text(state, "id") {
        params.add("SubnetId.1", id);
    }
    let mut state_filters = state.clone();
    for (filter, attribute) in [
        ("vpc-id", "vpc_id"),
        ("availabilityZone", "availability_zone"),
        ("cidrBlock", "cidr_block"),
        ("state", "state"),
    ] {
        extra_filter(&mut state_filters, filter, text(state, attribute));
    }
    filters(&state_filters, &mut params);
    let subnet = match only(found(aws.ec2("DescribeSubnets", &params))?, "subnetSet/item") {
        Ok(subnet) => subnet,
        Err(none) => return Ok(Some(none_or_many("EC2 Subnet", none))),
    };
    copy_texts(
        &subnet,
        state,
        &[
            ("id", "subnetId"),
            ("availability_zone", "availabilityZone"),
            ("availability_zone_id", "availabilityZoneId"),
            ("cidr_block", "cidrBlock"),
            ("owner_id", "ownerId"),
            ("state", "state"),
            ("vpc_id", "vpcId"),
        ],
    );
    copy_flags(
        &subnet,
        state,
        &[("default_for_az", "defaultForAz"), ("map_public_ip_on_launch", "mapPublicIpOnLaunch")],
    );
    copy_numbers(&subnet, state, &[("available_ip_address_count", "availableIpAddressCount")]);
    put_text(state, "arn", aws.arn("ec2", &format!("subnet/{}", text_or_empty(state, "id"))));
    observe_tags(&subnet, state);
    Ok(None)
}

fn extra_filter(state: &mut Attrs, name: &str, value: Option<&str>) {
    let Some(value) = value else { return };
    let filter = Attrs::from([
        ("name".to_owned(), crate::value::string(name)),
        ("values".to_owned(), crate::value::strings([value])),
    ]);
    let mut all = items(state, "filter").to_vec();
    all.push(Value::Map(filter));
    put(state, "filter", Value::List(all));
}

const NO_RESULTS: &str = "Your query returned no results. Please change your search criteria and try again.";
const MANY_RESULTS: &str = "Your query returned more than one result. Please try a more specific search criteria, \
    or set `most_recent` attribute to true.";

/// The newest of the matches, as `most_recent` allows.
fn newest(mut answer: Element, set: &str, time: &str, most_recent: bool) -> Result<Element, String> {
    let mut matches = Vec::new();
    while let Some(item) = answer.take_first(set) {
        matches.push(item);
    }
    if matches.len() > 1 && !most_recent {
        return Err(MANY_RESULTS.to_owned());
    }
    matches.sort_by_key(|item| item.text(time).unwrap_or_default());
    matches.pop().ok_or_else(|| NO_RESULTS.to_owned())
}

fn ami(aws: &Aws, state: &mut Attrs) -> Looked {
    if items(state, "filter").is_empty()
        && items(state, "owners").is_empty()
        && items(state, "executable_users").is_empty()
        && text(state, "name_regex").is_none()
    {
        return Ok(Some("one of executable_users, filter, name_regex or owners must be assigned".to_owned()));
    }
    if text(state, "name_regex").is_some() {
        return Ok(Some("this stand-in does not know name_regex; use a filter".to_owned()));
    }
    let mut params = Params::new();
    for (index, owner) in texts(state, "owners").iter().enumerate() {
        params.add(format!("Owner.{}", index + 1), owner);
    }
    filters(state, &mut params);
    let answer = aws.ec2("DescribeImages", &params)?;
    let image = match newest(answer, "imagesSet/item", "creationDate", flag(state, "most_recent")) {
        Ok(image) => image,
        Err(message) => return Ok(Some(message)),
    };
    copy_texts(
        &image,
        state,
        &[
            ("id", "imageId"),
            ("image_id", "imageId"),
            ("architecture", "architecture"),
            ("creation_date", "creationDate"),
            ("description", "description"),
            ("hypervisor", "hypervisor"),
            ("image_location", "imageLocation"),
            ("image_owner_alias", "imageOwnerAlias"),
            ("image_type", "imageType"),
            ("name", "name"),
            ("owner_id", "imageOwnerId"),
            ("platform", "platform"),
            ("root_device_name", "rootDeviceName"),
            ("root_device_type", "rootDeviceType"),
            ("state", "imageState"),
            ("virtualization_type", "virtualizationType"),
        ],
    );
    copy_flags(&image, state, &[("public", "isPublic"), ("ena_support", "enaSupport")]);
    let snapshot = image.all("blockDeviceMapping/item").find_map(|mapping| mapping.text("ebs/snapshotId"));
    put_text(state, "root_snapshot_id", snapshot.unwrap_or_default());
    put_text(state, "arn", format!("arn:aws:ec2:{}::image/{}", aws.region, text_or_empty(state, "id")));
    observe_tags(&image, state);
    Ok(None)
}

fn snapshot(aws: &Aws, state: &mut Attrs) -> Looked {
    let mut params = Params::new();
    for (name, attribute) in
        [("Owner", "owners"), ("SnapshotId", "snapshot_ids"), ("RestorableBy", "restorable_by_user_ids")]
    {
        for (index, value) in texts(state, attribute).iter().enumerate() {
            params.add(format!("{name}.{}", index + 1), value);
        }
    }
    filters(state, &mut params);
    let Some(answer) = found(aws.ec2("DescribeSnapshots", &params))? else { return Ok(Some(NO_RESULTS.to_owned())) };
    let snapshot = match newest(answer, "snapshotSet/item", "startTime", flag(state, "most_recent")) {
        Ok(snapshot) => snapshot,
        Err(message) => return Ok(Some(message)),
    };
    copy_texts(
        &snapshot,
        state,
        &[
            ("id", "snapshotId"),
            ("snapshot_id", "snapshotId"),
            ("description", "description"),
            ("kms_key_id", "kmsKeyId"),
            ("owner_id", "ownerId"),
            ("start_time", "startTime"),
            ("state", "status"),
            ("storage_tier", "storageTier"),
            ("volume_id", "volumeId"),
        ],
    );
    copy_flags(&snapshot, state, &[("encrypted", "encrypted")]);
    copy_numbers(&snapshot, state, &[("volume_size", "volumeSize")]);
    put_text(state, "arn", format!("arn:aws:ec2:{}::snapshot/{}", aws.region, text_or_empty(state, "id")));
    observe_tags(&snapshot, state);
    Ok(None)
}

fn caller(aws: &Aws, state: &mut Attrs) -> Looked {
    let answer = aws.sts("GetCallerIdentity")?;
    for (attribute, name) in [("id", "Account"), ("account_id", "Account"), ("arn", "Arn"), ("user_id", "UserId")] {
        put_text(state, attribute, answer.text(&format!("GetCallerIdentityResult/{name}")).unwrap_or_default());
    }
    Ok(None)
}

fn region(aws: &Aws, state: &mut Attrs) -> Option<String> {
    for attribute in ["id", "name", "region"] {
        put_text(state, attribute, &aws.region);
    }
    put_text(state, "endpoint", format!("ec2.{}.amazonaws.com", aws.region));
    None
}
