//! An account and region of AWS.

use crate::ast::text;
use crate::family::{Kind, RuntimeKind};
use crate::vocabulary::{OPEN, is_marker};
use csis_values::fields::{Field, Fields, Shape};
use csis_values::name::is_reserved;
use csis_values::snapshot::RuntimeSnapshot;
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostic, Diagnostics, Name};
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

    fn check(&self, builder: &Builder, found: &mut Diagnostics) {
        let fields = &builder.fields;
        let name = &builder.name;
        for key in ["region", "default_machine_type"] {
            if fields.text(key).is_some_and(|t| t.trim().is_empty()) {
                found.push(
                    Diagnostic::error("runtime-blank", format!("runtime `{name}` has an empty `{key}`"))
                        .at(fields.place(key))
                        .help(format!("give `{key}` a value")),
                );
            }
        }
        if let Some(word) = fields.text("session_mechanism").filter(|w| !is_marker(w) && !is_ssm(w)) {
            found.push(
                Diagnostic::error(
                    "session-mechanism",
                    format!("runtime `{name}` has the session mechanism `{word}`, which is not supported"),
                )
                .at(fields.place("session_mechanism"))
                .help("write `session_mechanism: ssm`, or leave it out"),
            );
        }
        if let Some(id) = fields.text("account_id").filter(|id| !is_marker(id) && !is_account(id)) {
            found.push(
                Diagnostic::warning(
                    "account-id",
                    format!("runtime `{name}` has the account `{id}`, which is not twelve digits"),
                )
                .at(fields.place("account_id"))
                .help("quote the account's twelve digits"),
            );
        }
        match fields.object("networking") {
            Some(networking) => check_networking(name, &networking, found),
            None => found.push(
                Diagnostic::error(
                    "no-networking",
                    format!("runtime `{name}` has no `networking`, so nothing can be placed in it"),
                )
                .at(&builder.at)
                .help("declare `networking:` with a `network` and its `subnets`"),
            ),
        }
    }
}

fn check_networking(name: &Name, networking: &Fields, found: &mut Diagnostics) {
    let network = network_name(networking);
    for key in ["name", "network"] {
        if networking.text(key).is_some_and(|t| !t.is_empty() && t.trim().is_empty()) {
            found.push(
                Diagnostic::error("network-blank", format!("the networking of runtime `{name}` has a blank `{key}`"))
                    .at(networking.place(key))
                    .help(format!("give `{key}` a value, or leave it out")),
            );
        }
    }
    let subnets = networking.objects("subnets");
    let defaults: Vec<&Fields> = subnets.iter().filter(|s| s.flag("is_default") == Some(true)).collect();
    if subnets.is_empty() {
        found.push(
            Diagnostic::error("no-subnets", format!("network `{network}` of runtime `{name}` has no subnets"))
                .at(networking.place("subnets"))
                .help("declare at least one subnet, with `is_default: true` on one"),
        );
    } else if defaults.is_empty() && !subnets.iter().any(|subnet| is_no_flag(subnet, "is_default")) {
        found.push(
            Diagnostic::error(
                "no-default-subnet",
                format!("network `{network}` of runtime `{name}` has no default subnet"),
            )
            .at(networking.place("subnets"))
            .help("set `is_default: true` on the subnet that machines are placed in"),
        );
    } else if let [first, second, ..] = defaults.as_slice() {
        let (one, two) = (subnet_name(first), subnet_name(second));
        found.push(
            Diagnostic::error(
                "two-default-subnets",
                format!("network `{network}` of runtime `{name}` has two default subnets, `{one}` and `{two}`"),
            )
            .at(second.place("is_default"))
            .also(first.place("is_default"), format!("`{one}` is the default here"))
            .help("keep `is_default: true` on one subnet"),
        );
    }
    let groups = networking.texts("addl_security_groups");
    if groups.len() > MOST_GROUPS {
        found.push(
            Diagnostic::error(
                "too-many-security-groups",
                format!("network `{network}` of runtime `{name}` has {} additional security groups; a machine wears {MOST_GROUPS} at most", groups.len()),
            )
            .at(networking.place("addl_security_groups"))
            .help("remove some, or join their rules in one group"),
        );
    }
    let zones = networking.objects("availability_zones");
    if zones.iter().filter(|z| z.flag("is_default") == Some(true)).count() > 1 {
        found.push(
            Diagnostic::error(
                "two-default-zones",
                format!("network `{network}` of runtime `{name}` has more than one default zone"),
            )
            .at(networking.place("availability_zones"))
            .help("keep `is_default: true` on one zone"),
        );
    }
}

const MOST_GROUPS: usize = 5;

/// The value has its own refusal; what follows from it is not told again.
fn is_no_flag(fields: &Fields, key: &str) -> bool {
    fields.node(key).is_some() && fields.flag(key).is_none()
}

fn is_account(id: &str) -> bool {
    id.len() == 12 && id.bytes().all(|b| b.is_ascii_digit())
}

fn is_ssm(word: &str) -> bool {
    word.trim().eq_ignore_ascii_case("ssm")
}

fn network_name(networking: &Fields) -> String {
    ["name", "network"].iter().find_map(|k| networking.text(k)).unwrap_or("default").to_owned()
}

fn subnet_name(subnet: &Fields) -> String {
    ["name", "subnet_id"].iter().find_map(|k| subnet.text(k)).unwrap_or_default().to_owned()
}

/// What the networking of a runtime says.
pub(crate) struct Network<'a> {
    fields: Fields,
    runtime: &'a Builder,
}

impl<'a> Network<'a> {
    pub(crate) fn of(runtime: &'a Builder) -> Option<Self> {
        Some(Network { fields: runtime.fields.object("networking")?, runtime })
    }

    /// The VPC's id; none when the account's default VPC is meant.
    pub(crate) fn vpc(&self) -> Option<String> {
        self.fields.text("network").filter(|n| !is_reserved(n)).map(str::to_owned)
    }

    pub(crate) fn default_subnet(&self) -> Option<Fields> {
        self.fields.objects("subnets").into_iter().find(|s| s.flag("is_default") == Some(true))
    }

    pub(crate) fn default_subnet_id(&self) -> Option<String> {
        self.default_subnet()?.text("subnet_id").map(str::to_owned)
    }

    /// The zone the list of zones marks as default.
    pub(crate) fn listed_zone(&self) -> Option<String> {
        let zones = self.fields.objects("availability_zones");
        zones.iter().find(|z| z.flag("is_default") == Some(true))?.text("name").map(str::to_owned)
    }

    /// Subnets that are not public, the first of each zone.
    pub(crate) fn private_subnets(&self) -> Vec<String> {
        let mut zones = Vec::new();
        let mut ids = Vec::new();
        for subnet in self.fields.objects("subnets").iter().filter(|s| s.flag("public") != Some(true)) {
            let Some(id) = subnet.text("subnet_id") else { continue };
            let zone = subnet.text("availability_zone").unwrap_or(id).to_owned();
            if !zones.contains(&zone) {
                zones.push(zone);
                ids.push(id.to_owned());
            }
        }
        ids
    }

    pub(crate) fn additional_groups(&self) -> Vec<String> {
        self.fields.texts("addl_security_groups").into_iter().map(|g| g.value).collect()
    }

    pub(crate) fn ingress_groups(&self) -> Vec<String> {
        self.fields.texts("ssh_ingress_security_group_ids").into_iter().map(|g| g.value).collect()
    }

    fn check_against(&self, snapshot: &RuntimeSnapshot, found: &mut Diagnostics) {
        let name = &self.runtime.name;
        let declared = network_name(&self.fields);
        let vpc = match (self.vpc(), snapshot.networks.known()) {
            (Some(vpc), Some(networks)) if !networks.contains_key(&vpc) => {
                found.push(
                    Diagnostic::error(
                        "unknown-network",
                        format!("network `{vpc}` of runtime `{name}` is not in the account"),
                    )
                    .at(self.fields.place("network"))
                    .help("correct the id, or look into the account the runtime names"),
                );
                return;
            }
            (None, Some(networks)) => {
                let Some((id, _)) = networks.iter().find(|(_, n)| n.is_default) else {
                    found.push(
                        Diagnostic::error(
                            "no-default-network",
                            format!("runtime `{name}` names no network and the account has no default VPC"),
                        )
                        .at(self.fields.place("network"))
                        .help("name the VPC in `networking.network`"),
                    );
                    return;
                };
                Some(id.clone())
            }
            (vpc, _) => vpc,
        };
        if let (Some(vpc), Some(known)) = (vpc, snapshot.subnets.known()) {
            let listed = known.values().any(|s| s.network == vpc);
            for subnet in self.fields.objects("subnets") {
                let Some(id) = subnet.text("subnet_id").filter(|id| listed && !is_marker(id)) else { continue };
                if known.get(id).is_none_or(|s| s.network != vpc) {
                    found.push(
                        Diagnostic::error(
                            "subnet-not-in-network",
                            format!(
                                "subnet `{id}` (`{}`) of runtime `{name}` is not in network `{vpc}`",
                                subnet_name(&subnet)
                            ),
                        )
                        .at(subnet.place("subnet_id"))
                        .help("correct the id, or the network"),
                    );
                }
            }
        }
        if let Some(known) = snapshot.security_groups.known() {
            for key in ["addl_security_groups", "ssh_ingress_security_group_ids"] {
                for group in self.fields.texts(key) {
                    if !is_marker(&group) && !known.contains(&group.value) {
                        found.push(
                            Diagnostic::error(
                                "unknown-security-group",
                                format!("security group `{group}` of network `{declared}` of runtime `{name}` is not in the account"),
                            )
                            .at(&group.at)
                            .help("correct the id, or make the group first"),
                        );
                    }
                }
            }
        }
    }
}

impl RuntimeKind for Aws {
    fn provider(&self, runtime: &Builder) -> (&'static str, Vec<(String, Expression)>) {
        let mut arguments = vec![("region".to_owned(), text(runtime.fields.text("region").unwrap_or_default()))];
        if let Some(profile) = self.profile(runtime) {
            arguments.push(("profile".into(), text(profile)));
        }
        ("aws", arguments)
    }

    fn provider_source(&self) -> &'static str {
        "hashicorp/aws"
    }

    fn default_machine_type(&self, runtime: &Builder) -> Option<String> {
        runtime.fields.text("default_machine_type").map(str::to_owned)
    }

    fn default_zone(&self, runtime: &Builder) -> Option<String> {
        let network = Network::of(runtime)?;
        network.listed_zone().or_else(|| network.default_subnet()?.text("availability_zone").map(str::to_owned))
    }

    fn session(&self, runtime: &Builder) -> Option<String> {
        runtime.fields.text("session_mechanism").filter(|w| is_ssm(w)).map(|_| "ssm".to_owned())
    }

    fn profile(&self, runtime: &Builder) -> Option<String> {
        runtime.fields.object("credentials")?.text("profile_name").filter(|p| !p.trim().is_empty()).map(str::to_owned)
    }

    fn instance_profiles(&self, runtime: &Builder) -> Vec<String> {
        ["session_instance_profile", "iam_instance_profile"]
            .iter()
            .filter_map(|key| runtime.fields.text(key).map(str::to_owned))
            .collect()
    }

    fn account(&self, runtime: &Builder) -> Option<String> {
        runtime.fields.text("account_id").map(str::to_owned)
    }

    fn check_against(&self, runtime: &Builder, snapshot: &RuntimeSnapshot, found: &mut Diagnostics) {
        if let (Some(declared), Some(real)) = (self.account(runtime), snapshot.account.as_deref())
            && declared != real
            && !is_marker(&declared)
        {
            found.push(
                Diagnostic::error(
                    "wrong-account",
                    format!("runtime `{}` is account `{declared}`, but the session reaches `{real}`", runtime.name),
                )
                .at(runtime.fields.place("account_id"))
                .help("use the session of the declared account, or correct `account_id`"),
            );
        }
        if let Some(network) = Network::of(runtime) {
            network.check_against(snapshot, found);
        }
    }
}
