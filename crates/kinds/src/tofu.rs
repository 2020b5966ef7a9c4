//! Machines of EC2.

use crate::common::PROVIDERS;
use crate::family::{InstanceKind, Kind, RootSite};
use crate::script::Script;
use csis_values::Class;
use csis_values::fields::Field;
use csis_values::intent::InstanceIntent;
use hcl::Expression;
use std::collections::BTreeMap;

pub struct Tofu;

const FIELDS: &[Field] = &[PROVIDERS];

impl Kind for Tofu {
    fn name(&self) -> &'static str {
        "tofu"
    }

    fn class(&self) -> Class {
        Class::InstanceBuilder
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }

    fn default_executable(&self) -> Option<&'static str> {
        Some("tofu")
    }
}

impl InstanceKind for Tofu {
    fn module(&self) -> &'static str {
        "aws_instance"
    }

    fn root_files(&self, _site: &RootSite<'_>) -> BTreeMap<String, hcl::Body> {
        BTreeMap::new()
    }

    fn arguments(&self, _site: &RootSite<'_>, _instance: &InstanceIntent) -> Vec<(String, Expression)> {
        Vec::new()
    }

    fn launch_script(&self, _site: &RootSite<'_>, _instance: &InstanceIntent) -> Script {
        Script::new()
    }

    fn resource_types(&self) -> &'static [&'static str] {
        &["aws_instance", "aws_volume_attachment", "aws_security_group"]
    }
}
