//! The part of a plan's JSON that says what the root would run besides its providers' own work.

use csis_values::plan::{ACTING_READS, Code};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

#[derive(Default)]
pub struct Configuration {
    pub code: Vec<Code>,
    /// Full names of the providers.
    pub providers: Vec<String>,
    /// There was a root module to read.
    pub is_whole: bool,
}

/// Where in the document the reader is.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Configuration,
    Providers,
    Provider,
    Module,
    Resources,
    Resource,
    Provisioners,
    Actions,
    Calls,
    Call,
}

pub struct ConfigurationSeed<'s> {
    found: &'s mut Configuration,
    at: At,
    /// Module path with a final point, or empty.
    prefix: String,
}

impl<'s> ConfigurationSeed<'s> {
    pub fn root(found: &'s mut Configuration) -> Self {
        ConfigurationSeed { found, at: At::Configuration, prefix: String::new() }
    }
}

impl<'de> DeserializeSeed<'de> for ConfigurationSeed<'_> {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<String>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The value of the seed is the list of provisioner types, for [`At::Provisioners`] alone.
impl<'de> Visitor<'de> for ConfigurationSeed<'_> {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the configuration of a plan")
    }

    fn visit_unit<E>(self) -> Result<Vec<String>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
        let mut types = Vec::new();
        match self.at {
            At::Resources => {
                while list
                    .next_element_seed(ConfigurationSeed {
                        found: self.found,
                        at: At::Resource,
                        prefix: self.prefix.clone(),
                    })?
                    .is_some()
                {}
            }
            At::Actions => {
                while let Some(one) = list.next_element::<Provisioner>()? {
                    let address = format!("{}action.{}", self.prefix, one.kind);
                    self.found.code.push(Code { what: format!("action {}", one.kind), address });
                }
            }
            At::Provisioners => {
                while let Some(one) = list.next_element::<Provisioner>()? {
                    types.push(one.kind);
                }
            }
            // What is written otherwise than engines write it may hold anything.
            _ => return Err(A::Error::custom("a part of the configuration is a list where an object belongs")),
        }
        Ok(types)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
        match self.at {
            At::Resource => return self.resource(map),
            At::Resources | At::Provisioners | At::Actions => {
                return Err(A::Error::custom("a part of the configuration is an object where a list belongs"));
            }
            _ => {}
        }
        let ConfigurationSeed { found, at, prefix } = self;
        found.is_whole |= at == At::Module;
        while let Some(key) = map.next_key::<String>()? {
            let inner = match (at, key.as_str()) {
                (At::Configuration, "provider_config") => Some((At::Providers, String::new())),
                (At::Configuration, "root_module") => Some((At::Module, String::new())),
                (At::Providers, _) => Some((At::Provider, String::new())),
                (At::Module, "resources") => Some((At::Resources, prefix.clone())),
                (At::Module, "actions") => Some((At::Actions, prefix.clone())),
                (At::Module, "module_calls") => Some((At::Calls, prefix.clone())),
                (At::Calls, name) => Some((At::Call, format!("{prefix}module.{name}."))),
                (At::Call, "module") => Some((At::Module, prefix.clone())),
                _ => None,
            };
            match inner {
                Some((at, prefix)) => {
                    map.next_value_seed(ConfigurationSeed { found: &mut *found, at, prefix })?;
                }
                None if at == At::Provider && key == "full_name" => found.providers.push(map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Vec::new())
    }
}

impl ConfigurationSeed<'_> {
    fn resource<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
        let (mut address, mut mode, mut kind) = (String::new(), String::new(), String::new());
        let mut provisioners = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "address" => address = map.next_value()?,
                "mode" => mode = map.next_value()?,
                "type" => kind = map.next_value()?,
                "provisioners" => {
                    let seed =
                        ConfigurationSeed { found: &mut *self.found, at: At::Provisioners, prefix: String::new() };
                    provisioners.append(&mut map.next_value_seed(seed)?);
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let address = format!("{}{address}", self.prefix);
        for kind in provisioners {
            self.found.code.push(Code { what: format!("provisioner {kind}"), address: address.clone() });
        }
        if mode == "data" && ACTING_READS.contains(&kind.as_str()) {
            self.found.code.push(Code { what: format!("data {kind}"), address });
        }
        Ok(Vec::new())
    }
}

#[derive(serde::Deserialize)]
struct Provisioner {
    #[serde(rename = "type", default)]
    kind: String,
}
