//! The action's inputs, read from the environment as the runner hands them over.

use csis_github::{Secret, sticky};
use csis_values::Diagnostic;
use std::collections::BTreeMap;

/// What of the inputs a review uses. Every input is optional.
pub struct Inputs {
    pub root: String,
    pub token: Option<Secret>,
    pub read_role: RoleInput,
    pub allowed_accounts: Vec<String>,
    pub only_runtime: Option<String>,
    pub apply_runtime: Option<String>,
    pub comment: CommentInput,
    pub detail: DetailInput,
    pub fail_on: Vec<String>,
    pub parallel: Option<usize>,
    pub engine: Option<String>,
    pub identity: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentInput {
    On(sticky::Mode),
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetailInput {
    /// Values where only those see them who may read the repository.
    Auto,
    Values,
    Addresses,
}

/// One role for everything, or one per runtime or profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleInput {
    pub default: Option<String>,
    pub by_name: BTreeMap<String, String>,
}

impl RoleInput {
    pub fn is_empty(&self) -> bool {
        self.default.is_none() && self.by_name.is_empty()
    }

    /// One ARN, or lines `runtime-or-profile = ARN`.
    fn parse(input: &str, text: &str) -> Result<RoleInput, Diagnostic> {
        let mut roles = RoleInput::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, arn) = match line.split_once('=') {
                Some((name, arn)) => (Some(name.trim()), arn.trim()),
                None => (None, line),
            };
            if account(arn).is_none() {
                return Err(wrong(input, line, "write an ARN such as arn:aws:iam::123456789012:role/csis-read"));
            }
            let doubled = match name {
                Some("") => {
                    return Err(wrong(input, line, "write `runtime-or-profile = ARN`, or the ARN alone"));
                }
                Some(name) => roles.by_name.insert(name.to_owned(), arn.to_owned()).is_some(),
                None => roles.default.replace(arn.to_owned()).is_some(),
            };
            if doubled {
                return Err(wrong(input, line, "give each runtime or profile one role"));
            }
        }
        Ok(roles)
    }
}

/// The account that a role is in.
pub fn account(arn: &str) -> Option<&str> {
    let mut parts = arn.split(':');
    let (Some("arn"), Some(partition), Some("iam"), Some(""), Some(account), Some(resource), None) =
        (parts.next(), parts.next(), parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let fits = partition.starts_with("aws")
        && account.len() == 12
        && account.bytes().all(|b| b.is_ascii_digit())
        && resource.strip_prefix("role/").is_some_and(|name| !name.is_empty())
        && resource.chars().all(|c| c.is_ascii_alphanumeric() || "/+=,.@_-".contains(c));
    fits.then_some(account)
}

fn wrong(input: &str, value: &str, help: &str) -> Diagnostic {
    let shown: String = value.chars().take(120).collect();
    Diagnostic::error("input", format!("the input `{input}` is `{shown}`, which is not understood")).help(help)
}

impl Inputs {
    pub fn of(environment: &BTreeMap<String, String>) -> Result<Inputs, Diagnostic> {
        // The runner upper-cases names and keeps their dashes.
        let get = |name: &str| {
            let value = environment.get(&format!("INPUT_{}", name.to_ascii_uppercase())).map(|value| value.trim());
            value.filter(|value| !value.is_empty()).map(str::to_owned)
        };
        let word = |name: &str| get(name).unwrap_or_default();
        let list = |name: &str| -> Vec<String> {
            word(name).split([',', '\n', ' ']).map(str::trim).filter(|w| !w.is_empty()).map(str::to_owned).collect()
        };
        let comment = match word("comment").as_str() {
            "" | "update" => CommentInput::On(sticky::Mode::Update),
            "new" => CommentInput::On(sticky::Mode::New),
            "off" => CommentInput::Off,
            other => return Err(wrong("comment", other, "write update, new or off")),
        };
        let detail = match word("comment-detail").as_str() {
            "" | "auto" => DetailInput::Auto,
            "values" | "full" => DetailInput::Values,
            "addresses" | "counts" => DetailInput::Addresses,
            other => return Err(wrong("comment-detail", other, "write auto, values or addresses")),
        };
        // The event decides; the input is there to say so in a workflow.
        let mode = word("mode");
        if !matches!(mode.as_str(), "" | "auto" | "review") {
            return Err(wrong("mode", &mode, "write auto or review: this release reviews, and lands nothing"));
        }
        let parallel = match get("parallel") {
            Some(text) => match text.parse::<usize>() {
                Ok(n) if (1..=64).contains(&n) => Some(n),
                _ => return Err(wrong("parallel", &text, "write a number from 1 to 64")),
            },
            None => None,
        };
        let allowed_accounts = list("allowed-account-ids");
        if let Some(odd) = allowed_accounts.iter().find(|id| id.len() != 12 || !id.bytes().all(|b| b.is_ascii_digit()))
        {
            return Err(wrong("allowed-account-ids", odd, "write AWS account ids of twelve digits"));
        }
        Ok(Inputs {
            root: get("root").unwrap_or_else(|| ".".into()),
            token: get("github-token").map(Secret::from),
            read_role: RoleInput::parse("aws-read-role", &word("aws-read-role"))?,
            allowed_accounts,
            only_runtime: get("only-runtime"),
            apply_runtime: get("apply-runtime"),
            comment,
            detail,
            fail_on: list("fail-on"),
            parallel,
            engine: get("engine"),
            identity: get("config-identity"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(pairs: &[(&str, &str)]) -> Result<Inputs, String> {
        let environment =
            pairs.iter().map(|(name, value)| (format!("INPUT_{}", name.to_uppercase()), (*value).to_owned())).collect();
        Inputs::of(&environment).map_err(|finding| finding.message)
    }

    #[test]
    fn roles_are_one_or_one_a_name() {
        let arn = "arn:aws:iam::111122223333:role/csis-read";
        let one = inputs(&[("aws-read-role", arn)]).unwrap();
        assert_eq!(one.read_role.default.as_deref(), Some(arn));
        let several = inputs(&[("aws-read-role", &format!("harbor = {arn}\n\n other={arn}-2 \n"))]).unwrap();
        assert_eq!(several.read_role.by_name.len(), 2);
        assert_eq!(several.read_role.by_name["other"], format!("{arn}-2"));
        for odd in ["csis-read", "a = b", &format!("= {arn}"), &format!("x={arn}\nx={arn}"), &format!("{arn}\n{arn}")] {
            assert!(inputs(&[("aws-read-role", odd)]).is_err(), "{odd}");
        }
    }

    #[test]
    fn an_account_is_read_from_a_role_alone() {
        assert_eq!(account("arn:aws-us-gov:iam::111122223333:role/a/b"), Some("111122223333"));
        for odd in [
            "arn:aws:iam::1111:role/a",
            "arn:aws:iam::111122223333:user/a",
            "arn:aws:sts::111122223333:role/a",
            "arn:aws:iam::111122223333:role/",
            "arn:aws:iam::111122223333:role/a:b",
            "arn:aws:iam::111122223333:role/a\nb",
        ] {
            assert_eq!(account(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_value_that_is_not_understood_is_refused_with_its_name() {
        for (name, value) in [
            ("comment", "loud"),
            ("parallel", "0"),
            ("allowed-account-ids", "12"),
            ("mode", "destroy"),
            ("comment-detail", "x"),
        ] {
            let message = inputs(&[(name, value)]).err().unwrap();
            assert!(message.contains(&format!("`{name}` is `{value}`")), "{message}");
        }
        let plain = inputs(&[]).unwrap();
        assert_eq!((plain.root.as_str(), plain.comment), (".", CommentInput::On(sticky::Mode::Update)));
    }
}
