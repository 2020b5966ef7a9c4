//! Versions of engines and the rules a tree states for them.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u64,
    pub minor: u64,
    pub patch: u64,
}

impl Version {
    /// Reads `1`, `1.6`, `1.11.4`, with or without `v`; a suffix such as `-rc1` is passed over.
    pub fn parse(text: &str) -> Option<Version> {
        let text = text.trim().trim_start_matches('v');
        let core = text.split(['-', '+', ' ']).next()?;
        let mut parts = core.split('.').map(|part| part.parse::<u64>().ok());
        let major = parts.next()??;
        let minor = parts.next().unwrap_or(Some(0))?;
        let patch = parts.next().unwrap_or(Some(0))?;
        parts.next().is_none().then_some(Version { major, minor, patch })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Whether a version meets a rule such as `>=1.6,<2`; none when the rule cannot be read.
pub fn meets(version: Version, rule: &str) -> Option<bool> {
    let mut all = true;
    for clause in rule.split(',').map(str::trim).filter(|clause| !clause.is_empty()) {
        let operator: String = clause.chars().take_while(|c| "<>=!~".contains(*c)).collect();
        let operand = clause[operator.len()..].trim();
        let wanted = Version::parse(operand)?;
        all &= match operator.as_str() {
            ">=" => version >= wanted,
            ">" => version > wanted,
            "<=" => version <= wanted,
            "<" => version < wanted,
            "!=" => version != wanted,
            "" | "=" | "==" => {
                // `1.11` means any 1.11.x.
                match operand.trim_start_matches('v').split('.').count() {
                    1 => version.major == wanted.major,
                    2 => (version.major, version.minor) == (wanted.major, wanted.minor),
                    _ => version == wanted,
                }
            }
            "~>" | "~=" => {
                let next = match operand.trim_start_matches('v').split('.').count() {
                    3 => Version { minor: wanted.minor + 1, patch: 0, ..wanted },
                    _ => Version { major: wanted.major + 1, minor: 0, patch: 0 },
                };
                version >= wanted && version < next
            }
            _ => return None,
        };
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_people_mean_them() {
        let version = Version::parse("v1.11.4").unwrap();
        for (rule, met) in [
            (">=1.6,<2", Some(true)),
            (">= 1.12", Some(false)),
            ("~> 1.10", Some(true)),
            ("~> 1.11.2", Some(true)),
            ("~> 1.10.2", Some(false)),
            ("1.11", Some(true)),
            ("=1.11.3", Some(false)),
            ("!=1.11.4", Some(false)),
            ("", Some(true)),
            ("newest", None),
            ("=>1", None),
        ] {
            assert_eq!(meets(version, rule), met, "{rule}");
        }
        assert_eq!(Version::parse("1.12.0-rc1"), Version::parse("1.12"));
        assert_eq!(Version::parse("1.2.3.4"), None);
    }
}
