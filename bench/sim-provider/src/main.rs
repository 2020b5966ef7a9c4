//! A stand-in for `hashicorp/aws`: every resource and data type of the real provider's schema, with the types that the
//! modules under `tfmodules/` use kept in an AWS emulator (`AWS_ENDPOINT_URL`), and all others simulated.
//!
//! Development only: the engine loads it from a filesystem mirror that `scripts/bench` lays. Nothing of it ships.

mod aws;
mod credentials;
mod data;
mod ec2;
mod ec2_instance;
mod ec2_security_group;
mod ec2_volume;
mod efs;
mod efs_access;
mod policy_document;
mod provider;
mod resource;
mod s3;
mod s3_config;
mod schema;
mod tags;
mod value;

use tf_provider::serve;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let catalogue = schema::Catalogue::load()?;
    serve("aws", provider::AwsProvider::new(catalogue)).await
}
