//! Names and what is made of them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of a builder or item, in its three forms.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name {
    /// As written in YAML; used in artifact names and messages.
    pub written: String,
    /// Trimmed, space and `:` become `_`, lower-case; the key of every lookup.
    pub safe: String,
    /// [`Name::safe`] with each of `: + space . / \ - @` as `_`; used for HCL labels, variables and provider aliases.
    pub label: String,
}

impl Name {
    pub fn new(written: &str) -> Self {
        let safe = safe_name(written);
        let label = label(&safe);
        Name { written: written.to_owned(), safe, label }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// The lookup form of a name.
pub fn safe_name(written: &str) -> String {
    written.trim().chars().map(|c| if c == ' ' || c == ':' { '_' } else { c }).collect::<String>().to_lowercase()
}

/// The label form of a name.
pub fn label(written: &str) -> String {
    safe_name(written)
        .chars()
        .map(|c| if matches!(c, ':' | '+' | ' ' | '.' | '/' | '\\' | '-' | '@') { '_' } else { c })
        .collect()
}

/// Words that mean "not set" wherever a reference is read; nothing may be named after one.
pub const RESERVED: &[&str] = &["default", "self", "none", ""];

pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name.trim().to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_three_forms() {
        let name = Name::new(" Open Data:x-1.b ");
        assert_eq!((name.safe.as_str(), name.label.as_str()), ("open_data_x-1.b", "open_data_x_1_b"));
    }
}
