//! The real provider's schema, as recorded in `bench/provider-schema.json`, in the form that the engine is served.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value as Json;
use tf_provider::schema::{
    Attribute, AttributeConstraint, AttributeType, Block, Description, NestedBlock, Schema as Served,
};

use crate::value::{Attrs, Value, is_null, is_unknown};

const RECORDED: &str = include_str!("../../provider-schema.json");
const PROVIDER: &str = "registry.terraform.io/hashicorp/aws";

#[derive(Deserialize)]
struct Recorded {
    provider_schemas: HashMap<String, Catalogue>,
}

/// All types of the provider.
#[derive(Deserialize)]
pub struct Catalogue {
    pub provider: TypeSchema,
    pub resource_schemas: HashMap<String, TypeSchema>,
    pub data_source_schemas: HashMap<String, TypeSchema>,
}

impl Catalogue {
    /// Reads the built-in schema, or the file that `SIM_SCHEMA` names.
    pub fn load() -> Result<Self> {
        let text = match std::env::var("SIM_SCHEMA") {
            Ok(path) if !path.is_empty() => {
                std::fs::read_to_string(&path).with_context(|| format!("SIM_SCHEMA={path} cannot be read"))?
            }
            _ => RECORDED.to_owned(),
        };
        let mut recorded: Recorded = serde_json::from_str(&text).context("the provider schema is not readable")?;
        recorded.provider_schemas.remove(PROVIDER).with_context(|| format!("the provider schema has no {PROVIDER}"))
    }
}

#[derive(Deserialize)]
pub struct TypeSchema {
    pub block: BlockSchema,
}

#[derive(Deserialize)]
pub struct BlockSchema {
    #[serde(default)]
    pub attributes: HashMap<String, AttributeSchema>,
    #[serde(default)]
    pub block_types: HashMap<String, NestedSchema>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the recorded form has them")]
pub struct AttributeSchema {
    #[serde(rename = "type")]
    kind: Json,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    pub computed: bool,
    #[serde(default)]
    sensitive: bool,
}

#[derive(Deserialize)]
pub struct NestedSchema {
    nesting_mode: Nesting,
    #[serde(default)]
    max_items: Option<u64>,
    pub block: BlockSchema,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Nesting {
    Single,
    List,
    Set,
    Map,
}

/// The schema of one type, shared between its calls.
pub type Shared = Arc<TypeSchema>;

impl TypeSchema {
    pub fn served(&self) -> Result<Served> {
        Ok(Served { version: 0, block: self.block.served()? })
    }
}

impl BlockSchema {
    fn served(&self) -> Result<Block> {
        let attributes = self
            .attributes
            .iter()
            .map(|(name, attribute)| {
                Ok((name.clone(), attribute.served().with_context(|| format!("attribute {name}"))?))
            })
            .collect::<Result<_>>()?;
        let blocks = self
            .block_types
            .iter()
            .map(|(name, nested)| Ok((name.clone(), nested.served().with_context(|| format!("block {name}"))?)))
            .collect::<Result<_>>()?;
        Ok(Block { attributes, blocks, ..Block::default() })
    }

    /// Marks what only an apply can tell: computed attributes that the configuration leaves out and nothing else gave.
    pub fn mark_unknown(&self, planned: &mut Attrs, config: &Attrs) {
        for (name, attribute) in &self.attributes {
            if attribute.computed && is_null(config.get(name)) && is_null(planned.get(name)) {
                planned.insert(name.clone(), Value::Unknown);
            }
        }
        for (name, nested) in &self.block_types {
            let (Some(Value::List(planned)), Some(Value::List(config))) = (planned.get_mut(name), config.get(name))
            else {
                continue;
            };
            for (planned, config) in planned.iter_mut().zip(config) {
                if let (Value::Map(planned), Value::Map(config)) = (planned, config) {
                    nested.block.mark_unknown(planned, config);
                }
            }
        }
    }

    /// Forgets computed values of the object that is about to be replaced.
    pub fn forget_computed(&self, planned: &mut Attrs, config: &Attrs) {
        for (name, attribute) in &self.attributes {
            if attribute.computed && is_null(config.get(name)) {
                planned.insert(name.clone(), Value::Unknown);
            }
        }
    }

    /// Gives every attribute and block of the schema a place, and drops what the schema does not know.
    pub fn conform(&self, object: &mut Attrs) {
        object.retain(|name, _| self.attributes.contains_key(name) || self.block_types.contains_key(name));
        for name in self.attributes.keys() {
            object.entry(name.clone()).or_insert(Value::Null);
        }
        for (name, nested) in &self.block_types {
            let empty = || match nested.nesting_mode {
                Nesting::Single => Value::Null,
                Nesting::Map => Value::Map(Attrs::new()),
                Nesting::List | Nesting::Set => Value::List(Vec::new()),
            };
            let place = object.entry(name.clone()).or_insert_with(empty);
            if nested.nesting_mode != Nesting::Single && is_null(Some(place)) {
                *place = empty();
            }
            if let Value::List(list) = place {
                for item in list {
                    if let Value::Map(item) = item {
                        nested.block.conform(item);
                    }
                }
            }
        }
    }

    /// Whether the attribute exists here and still waits for its value.
    pub fn awaits(&self, object: &Attrs, name: &str) -> bool {
        self.attributes.contains_key(name) && (is_unknown(object, name) || is_null(object.get(name)))
    }
}

impl AttributeSchema {
    fn served(&self) -> Result<Attribute> {
        let constraint = match (self.required, self.optional, self.computed) {
            (true, _, _) => AttributeConstraint::Required,
            (_, true, true) => AttributeConstraint::OptionalComputed,
            (_, true, false) => AttributeConstraint::Optional,
            _ => AttributeConstraint::Computed,
        };
        Ok(Attribute {
            attr_type: attribute_type(&self.kind)?,
            description: Description::plain(""),
            constraint,
            sensitive: self.sensitive,
            deprecated: false,
        })
    }
}

impl NestedSchema {
    fn served(&self) -> Result<NestedBlock> {
        let block = self.block.served()?;
        Ok(match self.nesting_mode {
            // The crate's "single" means exactly one; a list of at most one reads the same configuration.
            Nesting::Single => NestedBlock::Optional(block),
            Nesting::Set => NestedBlock::Set(block),
            Nesting::Map => NestedBlock::Map(block),
            Nesting::List if self.max_items == Some(1) => NestedBlock::Optional(block),
            Nesting::List => NestedBlock::List(block),
        })
    }
}

fn attribute_type(kind: &Json) -> Result<AttributeType> {
    if let Some(name) = kind.as_str() {
        return Ok(match name {
            "string" => AttributeType::String,
            "number" => AttributeType::Number,
            "bool" => AttributeType::Bool,
            "dynamic" => AttributeType::Any,
            other => bail!("unknown type {other}"),
        });
    }
    let [name, of] = kind.as_array().map_or(&[][..], Vec::as_slice) else { bail!("unreadable type {kind}") };
    Ok(match name.as_str() {
        Some("list") => AttributeType::List(Box::new(attribute_type(of)?)),
        Some("set") => AttributeType::Set(Box::new(attribute_type(of)?)),
        Some("map") => AttributeType::Map(Box::new(attribute_type(of)?)),
        Some("object") => {
            let members = of.as_object().with_context(|| format!("unreadable object type {kind}"))?;
            AttributeType::Object(
                members.iter().map(|(name, of)| Ok((name.clone(), attribute_type(of)?))).collect::<Result<_>>()?,
            )
        }
        _ => bail!("unknown type {kind}"),
    })
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::value::string;

    #[test]
    fn every_recorded_type_can_be_served() {
        let catalogue = Catalogue::load().expect("the recorded schema loads");
        catalogue.provider.served().expect("the provider block");
        for (name, schema) in catalogue.resource_schemas.iter().chain(&catalogue.data_source_schemas) {
            schema.served().unwrap_or_else(|error| panic!("{name}: {error:#}"));
        }
        assert!(catalogue.resource_schemas.contains_key("aws_efs_access_point"));
    }

    #[test]
    fn conform_fills_blocks_to_their_depth_and_drops_strangers() {
        let catalogue = Catalogue::load().expect("the recorded schema loads");
        let block = &catalogue.resource_schemas["aws_efs_access_point"].block;
        let directory = Attrs::from([("path".into(), string("/crew"))]);
        let mut object = Attrs::from([
            ("root_directory".into(), Value::List(vec![Value::Map(directory)])),
            ("stranger".into(), string("x")),
        ]);
        block.conform(&mut object);
        assert!(!object.contains_key("stranger"));
        assert!(matches!(object.get("posix_user"), Some(Value::List(list)) if list.is_empty()));
        let Some(Value::List(list)) = object.get("root_directory") else { panic!("no root_directory") };
        let Value::Map(directory) = &list[0] else { panic!("not an object") };
        assert!(directory.contains_key("creation_info"), "a nested block has a place of its own");
    }
}
