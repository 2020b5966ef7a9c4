//! State in a directory.

use crate::family::{Kind, StateKind};
use csis_values::Class;
use csis_values::fields::{Field, Shape};
use csis_values::tree::Builder;
use hcl::Expression;

pub struct Local;

const FIELDS: &[Field] = &[Field::new(
    "path",
    Shape::Text,
    "The directory of the state files, absolute or relative to the configuration root.",
)
.default("state")];

impl Kind for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn class(&self) -> Class {
        Class::StateBackend
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }
}

impl StateKind for Local {
    fn backend(&self) -> &'static str {
        "local"
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
