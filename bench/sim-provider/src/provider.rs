//! The provider itself: its configuration, and the list of its types.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use tf_provider::schema::Schema;
use tf_provider::value::ValueEmpty;
use tf_provider::{AttributePath, Diagnostic, Diagnostics, DynamicDataSource, DynamicResource, Provider};

use crate::aws::Aws;
use crate::credentials::{Surroundings, resolve};
use crate::schema::{Catalogue, TypeSchema};
use crate::value::{Attrs, Value, attrs, block, flag, text_map, texts};
use crate::{data, resource};

/// The client of the configured provider block; the engine starts one process per block.
pub type Session = Arc<OnceLock<Aws>>;

pub struct AwsProvider {
    schema: TypeSchema,
    resources: HashMap<String, Arc<TypeSchema>>,
    data_sources: HashMap<String, Arc<TypeSchema>>,
    session: Session,
}

impl AwsProvider {
    pub fn new(catalogue: Catalogue) -> Self {
        let shared = |types: HashMap<String, TypeSchema>| {
            types.into_iter().map(|(name, schema)| (name, Arc::new(schema))).collect()
        };
        Self {
            schema: catalogue.provider,
            resources: shared(catalogue.resource_schemas),
            data_sources: shared(catalogue.data_source_schemas),
            session: Session::default(),
        }
    }
}

fn connect(config: &Attrs) -> Result<Aws, String> {
    let identity = resolve(config, &Surroundings::of_process(config))?;
    let endpoint = std::env::var("AWS_ENDPOINT_URL")
        .map_err(|_| "AWS_ENDPOINT_URL is not set: this stand-in reaches an emulator and nothing else".to_owned())?;
    let mut aws = Aws::new(&endpoint, &identity.region, &identity.access_key)?;
    if let Some(default_tags) = block(config, "default_tags") {
        aws.default_tags = text_map(default_tags, "tags");
    }
    if flag(config, "skip_requesting_account_id") {
        "123456789012".clone_into(&mut aws.account);
        return Ok(aws);
    }
    let caller = aws
        .sts("GetCallerIdentity")
        .map_err(|error| format!("Retrieving AWS account details: validating provider credentials: {error}"))?;
    aws.account = caller.text("GetCallerIdentityResult/Account").unwrap_or_default();
    let allowed = texts(config, "allowed_account_ids");
    if (!allowed.is_empty() && !allowed.contains(&aws.account))
        || texts(config, "forbidden_account_ids").contains(&aws.account)
    {
        return Err(format!("AWS account ID not allowed: {}", aws.account));
    }
    Ok(aws)
}

#[async_trait]
impl Provider for AwsProvider {
    type Config<'a> = Value;
    type MetaState<'a> = ValueEmpty;

    fn schema(&self, diags: &mut Diagnostics) -> Option<Schema> {
        served(&self.schema, "the provider block", diags)
    }

    async fn configure<'a>(&self, diags: &mut Diagnostics, _version: String, config: Value) -> Option<()> {
        match connect(&attrs(config)) {
            Ok(aws) => {
                let _ = self.session.set(aws);
            }
            Err(message) => refuse(diags, "Provider configuration", message),
        }
        Some(())
    }

    fn get_resources(&self, _diags: &mut Diagnostics) -> Option<HashMap<String, Box<dyn DynamicResource>>> {
        let types = self.resources.iter().map(|(name, schema)| {
            let resource = resource::Simulated::new(name, Arc::clone(schema), Arc::clone(&self.session));
            (short(name), Box::new(resource) as Box<dyn DynamicResource>)
        });
        Some(types.collect())
    }

    fn get_data_sources(&self, _diags: &mut Diagnostics) -> Option<HashMap<String, Box<dyn DynamicDataSource>>> {
        let types = self.data_sources.iter().map(|(name, schema)| {
            let source = data::Simulated::new(name, Arc::clone(schema), Arc::clone(&self.session));
            (short(name), Box::new(source) as Box<dyn DynamicDataSource>)
        });
        Some(types.collect())
    }
}

fn short(name: &str) -> String {
    name.strip_prefix("aws_").unwrap_or(name).to_owned()
}

/// Adds an error. Not through the crate's own constructors: those append a backtrace when `RUST_BACKTRACE` is set.
pub fn refuse(diags: &mut Diagnostics, summary: impl Into<String>, detail: impl Into<String>) {
    let (summary, detail) = (summary.into().into(), detail.into().into());
    diags.add_error(Diagnostic { summary, detail, attribute: AttributePath::root() });
}

pub fn served(schema: &TypeSchema, what: &str, diags: &mut Diagnostics) -> Option<Schema> {
    match schema.served() {
        Ok(schema) => Some(schema),
        Err(error) => {
            refuse(diags, format!("The recorded schema of {what} cannot be served"), format!("{error:#}"));
            None
        }
    }
}

/// The client, or an error for a provider block that was not configured.
pub fn session(session: &Session, diags: &mut Diagnostics) -> Option<Aws> {
    let aws = session.get().cloned();
    if aws.is_none() {
        refuse(diags, "the provider is not configured", "");
    }
    aws
}
