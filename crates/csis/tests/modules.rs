//! The Terraform modules against the real providers' schemas: the bench's provider is a stand-in, so only here a misspelt attribute is found before users do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "what cannot be set up cannot be judged")]

use hcl::{Block, Body, Structure};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Arguments and blocks that the engine gives every resource and data source.
const ENGINES: &[&str] = &["count", "for_each", "provider", "depends_on", "lifecycle", "provisioner", "connection"];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The schemas of the provider's releases that the modules are used with.
fn providers() -> Vec<Value> {
    let text = std::fs::read_to_string(project().join("bench/provider-schema.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let of = |(name, schema): (&String, &Value)| name.contains("hashicorp/aws").then(|| schema.clone());
    let found: Vec<Value> = all["provider_schemas"].as_object().unwrap().iter().filter_map(of).collect();
    assert!(found.len() >= 2, "the schemas of two major releases");
    found
}

fn modules() -> Vec<(String, String)> {
    let folder = project().join("tfmodules");
    let mut found = Vec::new();
    for module in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        for file in std::fs::read_dir(&module).unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().is_some_and(|end| end == "tf") {
                found.push((file.display().to_string(), std::fs::read_to_string(&file).unwrap()));
            }
        }
    }
    assert!(found.len() >= 16);
    found
}

/// What a file says that no schema knows.
fn unknown(text: &str, provider: &Value) -> Vec<String> {
    let body: Body = hcl::parse(text).unwrap();
    let mut found = Vec::new();
    for block in body.into_blocks() {
        let family = match block.identifier() {
            "resource" => "resource_schemas",
            "data" => "data_source_schemas",
            _ => continue,
        };
        let kind = block.labels()[0].as_str().to_owned();
        match provider[family].get(&kind) {
            Some(schema) => walk(&block, &schema["block"], &kind, true, &mut found),
            None => found.push(format!("{family}: {kind}")),
        }
    }
    found
}

fn walk(block: &Block, schema: &Value, at: &str, is_top: bool, found: &mut Vec<String>) {
    let mut given: Vec<&str> = Vec::new();
    for structure in block.body() {
        match structure {
            Structure::Attribute(attribute) => {
                let name = attribute.key();
                given.push(name);
                let known = &schema["attributes"][name];
                // What only the provider sets cannot be given.
                let can_be_set = known["required"] == true || known["optional"] == true;
                if !(is_top && ENGINES.contains(&name) || can_be_set) {
                    found.push(format!("{at}.{name}"));
                }
            }
            Structure::Block(inner) => {
                let (name, content) = match inner.identifier() {
                    "dynamic" => {
                        (inner.labels()[0].as_str(), inner.body().blocks().find(|b| b.identifier() == "content"))
                    }
                    name => (name, Some(inner)),
                };
                given.push(name);
                if is_top && ENGINES.contains(&name) {
                    continue;
                }
                match (schema["block_types"].get(name), content) {
                    (Some(known), Some(content)) => {
                        walk(content, &known["block"], &format!("{at}.{name}"), false, found);
                    }
                    _ => found.push(format!("{at}.{name} {{}}")),
                }
            }
        }
    }
    let needed = schema["attributes"].as_object().into_iter().flatten().filter(|(_, known)| known["required"] == true);
    found.extend(
        needed.filter(|(name, _)| !given.contains(&name.as_str())).map(|(name, _)| format!("{at} lacks {name}")),
    );
}

#[test]
fn every_attribute_and_block_is_one_of_the_provider() {
    for provider in providers() {
        let version = &provider["provider_version"];
        for (file, text) in modules() {
            assert_eq!(unknown(&text, &provider), Vec::<String>::new(), "{file}, provider {version}");
        }
    }
}

#[test]
fn a_misspelt_one_is_found() {
    let provider = &providers()[0];
    let main = |module: &str| {
        let end = format!("{module}/main.tf");
        modules().into_iter().find(|(file, _)| file.ends_with(&end)).map(|(_, text)| text).unwrap()
    };
    for (module, right, wrong, named) in [
        ("aws_instance", "  instance_type  ", "  instance_typ  ", "aws_instance.instance_typ"),
        ("aws_instance", "most_recent", "most_recnt", "aws_ami.most_recnt"),
        ("aws_storage_ebs", "snapshot_id       ", "arn       ", "aws_ebs_volume.arn"),
        ("aws_storage_ebs", "\"aws_ebs_volume\"", "\"aws_ebs_volum\"", "resource_schemas: aws_ebs_volum"),
        (
            "aws_storage_efs",
            "dynamic \"lifecycle_policy\"",
            "dynamic \"lifecycle_polici\"",
            "aws_efs_file_system.lifecycle_polici {}",
        ),
        ("aws_storage_efs", "creation_info {", "creation_inf {", "aws_efs_access_point.root_directory.creation_inf {}"),
        (
            "aws_storage_s3",
            "storage_class =",
            "storage_klass =",
            "aws_s3_bucket_lifecycle_configuration.rule.transition.storage_klass",
        ),
        ("aws_storage_s3", "key     =", "kee     =", "aws_s3_object lacks key"),
    ] {
        let text = main(module);
        assert!(text.contains(right), "{right} stands in {module}");
        let found = unknown(&text.replace(right, wrong), provider);
        assert!(found.iter().any(|what| what == named), "{wrong}: {found:?}");
    }
}
