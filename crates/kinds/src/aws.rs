//! An account and region of AWS.

use crate::family::{Kind, RuntimeKind};
use crate::vocabulary::OPEN;
use csis_values::fields::{Field, Shape};
use csis_values::snapshot::RuntimeSnapshot;
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostics};
use hcl::Expression;

pub struct Aws;

const CREDENTIALS: &[Field] = &[
    Field::new(
        "profile_name",
        Shape::Text,
        "The profile whose credentials reach the account; it also stands in the emission.",
    ),
    Field::new("aws_access_key_id", Shape::Text, "An access key id; better left to the session."),
    Field::new(
        "aws_secret_access_key",
        Shape::Text,
        "The secret of the access key, encrypted; better left to the session.",
    ),
    Field::new(
        "aws_session_token",
        Shape::Text,
        "The token of a temporary key, encrypted; better left to the session.",
    ),
];

const SUBNETS: &[Field] = &[
    Field::new("name", Shape::Text, "What the subnet is called here.").required(),
    Field::new("subnet_id", Shape::Text, "The subnet's id.").required(),
    Field::new("is_default", Shape::Bool, "Whether machines and volumes are placed here; exactly one subnet says so.")
        .default("false"),
    Field::new("public", Shape::Bool, "Whether it has a route from the internet; public subnets get no mount targets.")
        .default("false"),
    Field::new("cidr", Shape::Text, "Its address range, for readers."),
    Field::new("availability_zone", Shape::Text, "The zone it is in."),
    Field::new("config", Shape::Free, "Template data.").default("{}"),
];

const NETWORKING: &[Field] = &[
    Field::new("name", Shape::Text, "What the network is called here; left out, its id."),
    Field::new("network", Shape::Text, "The VPC's id; `default` is the account's default VPC.").default("default"),
    Field::new("subnets", Shape::Objects(SUBNETS), "The subnets in use; at least one.").required(),
    Field::new(
        "availability_zones",
        Shape::Objects(&[
            Field::new("name", Shape::Text, "The zone.").required(),
            Field::new("is_default", Shape::Bool, "Whether it is the zone of what names none.").default("false"),
        ]),
        "The zones in use.",
    )
    .default("[]"),
    Field::new(
        "addl_security_groups",
        Shape::Texts,
        "Existing security groups every machine also wears, five at most; they reach the shared file systems.",
    )
    .default("[]"),
    Field::new(
        "ssh_ingress_security_group_ids",
        Shape::Texts,
        "The only security groups that may open SSH to machines; left out, the VPC's address range may.",
    )
    .default("[]"),
];

const FIELDS: &[Field] = &[
    Field::new("region", Shape::Text, "The region.").required(),
    Field::new("account_id", Shape::Text, "The account it must be."),
    Field::new(
        "default_machine_type",
        Shape::Text,
        "The machine type of bakes and instances that name none; not empty.",
    )
    .required(),
    Field::new(
        "default_image_builder",
        Shape::Ref(Class::ImageBuilder),
        "Accepted; the default image builder is used.",
    )
    .default("default"),
    Field::new("default_owners", Shape::Texts, "Owners added to every query for a vendor's image."),
    Field::new("credentials", Shape::Object(CREDENTIALS), "How the account is reached.").default("{}"),
    Field::new("default_config_username", Shape::Text, "The user bakes log in as when nothing nearer says so."),
    Field::new("ssh_username", Shape::Text, "The user bakes log in as on this runtime.").default("default"),
    Field::new("ena_support", Shape::Bool, "Whether images declare enhanced networking."),
    Field::new("sriov_support", Shape::Bool, "Whether images declare the older enhanced networking."),
    Field::new("iam_instance_profile", Shape::Text, "The instance profile of build machines."),
    Field::new("session_mechanism", Shape::Text, "How sessions reach machines without an open port: `ssm`."),
    Field::new(
        "session_instance_profile",
        Shape::Text,
        "The instance profile sessions need, of build machines and instances.",
    ),
    Field::new("networking", Shape::Object(NETWORKING), "Where machines and volumes are placed."),
    Field::new("ephemeral", Shape::Bool, "Whether nothing baked here outlives a run.").default("false"),
    Field::new("retention_keep", OPEN, "How many builds of a series are kept here; left out, all."),
    Field::new(
        "on_failure",
        Shape::Word(&["keep", "teardown"]),
        "What becomes of an ephemeral machine that fails its verification.",
    )
    .default("keep"),
    Field::new("teardown_after", Shape::Duration, "How long an ephemeral machine may stand."),
];

impl Kind for Aws {
    fn name(&self) -> &'static str {
        "aws"
    }

    fn class(&self) -> Class {
        Class::Runtime
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }
}

impl RuntimeKind for Aws {
    fn provider(&self, _runtime: &Builder) -> (&'static str, Vec<(String, Expression)>) {
        ("aws", Vec::new())
    }

    fn default_machine_type(&self, runtime: &Builder) -> Option<String> {
        runtime.fields.text("default_machine_type").map(str::to_owned)
    }

    fn default_zone(&self, _runtime: &Builder) -> Option<String> {
        None
    }

    fn session(&self, _runtime: &Builder) -> Option<String> {
        None
    }

    fn profile(&self, runtime: &Builder) -> Option<String> {
        runtime.fields.object("credentials")?.text("profile_name").map(str::to_owned)
    }

    fn account(&self, runtime: &Builder) -> Option<String> {
        runtime.fields.text("account_id").map(str::to_owned)
    }

    fn check_against(&self, _runtime: &Builder, _snapshot: &RuntimeSnapshot, _found: &mut Diagnostics) {}
}
