//! State in an S3 bucket.

use crate::family::{Kind, StateKind};
use csis_values::fields::{Field, Shape};
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostics};
use hcl::Expression;

pub struct S3;

const ROLE_COMMON: [Field; 5] = [
    Field::new("role_arn", Shape::Text, "The role to take.").required(),
    Field::new("duration", Shape::Text, "How long its credentials live, e.g. `1h`."),
    Field::new("policy", Shape::Text, "A policy that narrows the role, as JSON."),
    Field::new("policy_arns", Shape::Texts, "Managed policies that narrow the role."),
    Field::new("session_name", Shape::Text, "The name of the session."),
];

const FIELDS: &[Field] = &[
    Field::new("bucket", Shape::Text, "The bucket.").required(),
    Field::new("key", Shape::Text, "The prefix of every state object; exactly one `/` ends it.").required(),
    Field::new("region", Shape::Text, "The bucket's region.").default("us-east-2"),
    Field::new("encrypt", Shape::Bool, "Whether objects are encrypted by the server.").default("false"),
    Field::new("use_lockfile", Shape::Bool, "Whether a lock object guards the state.").default("true"),
    Field::new("profile", Shape::Text, "The profile whose credentials reach the bucket."),
    Field::new("allowed_account_ids", Shape::Texts, "The only accounts it may be used with.").default("[]"),
    Field::new("forbidden_account_ids", Shape::Texts, "Accounts it must never be used with.").default("[]"),
    Field::new("http_proxy", Shape::Text, "The proxy for HTTP."),
    Field::new("https_proxy", Shape::Text, "The proxy for HTTPS."),
    Field::new("no_proxy", Shape::Texts, "Hosts reached without a proxy.").default("[]"),
    Field::new("insecure", Shape::Bool, "Whether certificates go unchecked.").default("false"),
    Field::new("max_retries", Shape::Int { min: 0, max: 1000 }, "How often a failed call is repeated.").default("5"),
    Field::new("shared_config_file", Shape::Text, "A configuration file of the AWS tools to use."),
    Field::new("shared_credentials_file", Shape::Text, "A credentials file of the AWS tools to use."),
    Field::new("skip_credentials_validation", Shape::Bool, "Whether credentials go unchecked at first.")
        .default("false"),
    Field::new("skip_region_validation", Shape::Bool, "Whether any region name is accepted.").default("false"),
    Field::new("skip_requesting_account_id", Shape::Bool, "Whether the account's id is not asked for.")
        .default("false"),
    Field::new("skip_metadata_api_check", Shape::Bool, "Whether the machine's metadata service is not asked.")
        .default("false"),
    Field::new("skip_s3_checksum", Shape::Bool, "Whether uploads carry no checksum.").default("false"),
    Field::new("use_dualstack_endpoint", Shape::Bool, "Whether endpoints with IPv6 are used.").default("false"),
    Field::new("use_fips_endpoint", Shape::Bool, "Whether FIPS endpoints are used.").default("false"),
    Field::new(
        "endpoints",
        Shape::Object(&[
            Field::new("dynamodb", Shape::Text, "The address of DynamoDB."),
            Field::new("s3", Shape::Text, "The address of S3."),
            Field::new("sts", Shape::Text, "The address of STS."),
            Field::new("iam", Shape::Text, "The address of IAM."),
            Field::new("sso", Shape::Text, "The address of the sign-in service."),
        ]),
        "Addresses of services other than the public ones.",
    ),
    Field::new(
        "assume_role",
        Shape::Object(&[
            ROLE_COMMON[0],
            ROLE_COMMON[1],
            Field::new("external_id", Shape::Text, "The external id the role asks for."),
            ROLE_COMMON[2],
            ROLE_COMMON[3],
            ROLE_COMMON[4],
            Field::new("source_identity", Shape::Text, "The source identity of the session."),
            Field::new("tags", Shape::TextMap, "Tags of the session."),
            Field::new("transitive_tag_keys", Shape::Texts, "Tags that pass on to further roles."),
        ]),
        "A role to take before reaching the bucket.",
    ),
    Field::new(
        "assume_role_with_web_identity",
        Shape::Object(&[
            ROLE_COMMON[0],
            ROLE_COMMON[1],
            ROLE_COMMON[2],
            ROLE_COMMON[3],
            ROLE_COMMON[4],
            Field::new("web_identity_token", Shape::Text, "The token itself."),
            Field::new("web_identity_token_file", Shape::Text, "The file that holds the token."),
        ]),
        "A role to take with a web identity token.",
    ),
];

impl Kind for S3 {
    fn name(&self) -> &'static str {
        "s3"
    }

    fn class(&self) -> Class {
        Class::StateBackend
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }

    fn refused_keys(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("access_key", "Credentials never stand in the tree; name a `profile` or use the environment's session."),
            ("secret_key", "Credentials never stand in the tree; name a `profile` or use the environment's session."),
            ("skips_credentials_validation", "The key is written `skip_credentials_validation`."),
            ("required_plugins", "A backend has no providers; remove the key."),
        ]
    }

    fn check(&self, _builder: &Builder, _found: &mut Diagnostics) {}
}

impl StateKind for S3 {
    fn backend(&self) -> &'static str {
        "s3"
    }

    fn location(&self, _backend: &Builder, _ws: &str) -> String {
        String::new()
    }

    fn settings(&self, _backend: &Builder, _ws: &str) -> Vec<(String, Expression)> {
        Vec::new()
    }

    fn remote_state(&self, _backend: &Builder, _ws: &str) -> Vec<(String, Expression)> {
        Vec::new()
    }
}
