//! State in an S3 bucket.

use crate::ast::{text, text_map, texts};
use crate::family::{Kind, StateKind};
use crate::head::plain_object;
use csis_values::fields::{Field, Fields, Shape};
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostic, Diagnostics};
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

    fn check(&self, builder: &Builder, found: &mut Diagnostics) {
        let fields = &builder.fields;
        let name = &builder.name;
        if fields.text("bucket").is_some_and(|b| b.trim().is_empty()) {
            found.push(
                Diagnostic::error("backend-bucket", format!("state backend `{name}` has an empty `bucket`"))
                    .at(fields.place("bucket"))
                    .help("name the bucket that keeps the state"),
            );
        }
        let Some(key) = fields.text("key") else { return };
        if segments(key).next().is_none() {
            found.push(
                Diagnostic::error("backend-key", format!("state backend `{name}` has an empty `key`"))
                    .at(fields.place("key"))
                    .help("give the prefix of its state objects, e.g. `roots/main/`"),
            );
        }
        if let Some(dots) = segments(key).find(|s| matches!(*s, "." | "..")) {
            found.push(
                Diagnostic::error(
                    "backend-key",
                    format!("state backend `{name}` has the segment `{dots}` in its `key` `{key}`"),
                )
                .at(fields.place("key"))
                .help("write the prefix without `.` and `..`"),
            );
        }
    }
}

fn segments(key: &str) -> impl Iterator<Item = &str> {
    key.split('/').filter(|s| !s.is_empty())
}

/// The object of a workspace's state within the bucket.
fn object_key(backend: &Builder, ws: &str) -> String {
    let prefix = backend.fields.text("key").unwrap_or_default();
    segments(prefix).chain([format!("{ws}.tfstate").as_str()]).collect::<Vec<_>>().join("/")
}

fn region(backend: &Builder) -> &str {
    backend.fields.text("region").unwrap_or("us-east-2")
}

fn head(backend: &Builder, ws: &str) -> Vec<(String, Expression)> {
    vec![
        ("bucket".into(), text(backend.fields.text("bucket").unwrap_or_default())),
        ("key".into(), text(object_key(backend, ws))),
        ("region".into(), text(region(backend))),
    ]
}

/// The profile and what is passed on, in the order of the table, unless it is the default.
fn tail(backend: &Builder) -> Vec<(String, Expression)> {
    let fields = &backend.fields;
    let mut settings = Vec::new();
    for field in FIELDS.iter().filter(|f| !matches!(f.name, "bucket" | "key" | "region" | "encrypt" | "use_lockfile")) {
        let value = match field.name {
            "no_proxy" => Some(fields.texts(field.name))
                .filter(|l| !l.is_empty())
                .map(|hosts| text(hosts.iter().map(|h| h.value.as_str()).collect::<Vec<_>>().join(","))),
            "max_retries" => fields.int(field.name).filter(|n| *n != 5).map(Expression::from),
            "shared_config_file" | "shared_credentials_file" => fields.text(field.name).map(|file| texts([file])),
            _ => set_value(fields, field),
        };
        if let Some(value) = value {
            let name =
                if field.name.starts_with("shared_") { format!("{}s", field.name) } else { field.name.to_owned() };
            settings.push((name, value));
        }
    }
    settings
}

/// A field's value unless it is absent, false or empty.
fn set_value(fields: &Fields, field: &Field) -> Option<Expression> {
    match field.shape {
        Shape::Bool => fields.flag(field.name).filter(|flag| *flag).map(Expression::Bool),
        Shape::Texts => {
            Some(fields.texts(field.name)).filter(|l| !l.is_empty()).map(|l| texts(l.into_iter().map(|t| t.value)))
        }
        Shape::TextMap => Some(fields.text_map(field.name)).filter(|m| !m.is_empty()).map(|m| text_map(&m)),
        Shape::Object(members) => {
            let inner = fields.object(field.name)?;
            let set: Vec<_> =
                members.iter().filter_map(|member| Some((member.name, set_value(&inner, member)?))).collect();
            (!set.is_empty()).then(|| plain_object(set))
        }
        _ => fields.text(field.name).map(text),
    }
}

impl StateKind for S3 {
    fn backend(&self) -> &'static str {
        "s3"
    }

    fn location(&self, backend: &Builder, ws: &str) -> String {
        format!("s3://{}/{}", backend.fields.text("bucket").unwrap_or_default(), object_key(backend, ws))
    }

    fn settings(&self, backend: &Builder, ws: &str) -> Vec<(String, Expression)> {
        let mut settings = head(backend, ws);
        settings.push(("encrypt".into(), Expression::Bool(backend.fields.flag("encrypt").unwrap_or(false))));
        settings.push(("use_lockfile".into(), Expression::Bool(locks(backend))));
        settings.extend(tail(backend));
        settings
    }

    fn remote_state(&self, backend: &Builder, ws: &str) -> Vec<(String, Expression)> {
        let mut settings = head(backend, ws);
        settings.extend(tail(backend));
        settings
    }

    fn profile(&self, backend: &Builder) -> Option<String> {
        backend.fields.text("profile").map(str::to_owned)
    }

    fn engine_floor(&self, backend: &Builder) -> Option<&'static str> {
        locks(backend).then_some("1.10")
    }
}

fn locks(backend: &Builder) -> bool {
    backend.fields.flag("use_lockfile").unwrap_or(true)
}
