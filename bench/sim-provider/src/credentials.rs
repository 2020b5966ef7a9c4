//! Where the real provider would take region and credentials from, and what it says when there are none.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::value::{Attrs, flag, items, text};

/// The region and the access key a provider block works with.
#[derive(Debug, PartialEq)]
pub struct Identity {
    pub region: String,
    pub access_key: String,
}

/// Environment variables and the profiles of the shared files.
pub struct Surroundings {
    pub variables: HashMap<String, String>,
    pub profiles: HashMap<String, HashMap<String, String>>,
}

impl Surroundings {
    pub fn of_process(config: &Attrs) -> Self {
        let variables: HashMap<String, String> = std::env::vars().filter(|(_, value)| !value.is_empty()).collect();
        let mut profiles = HashMap::new();
        for path in files(config, &variables) {
            if let Ok(text) = std::fs::read_to_string(path) {
                read_profiles(&text, &mut profiles);
            }
        }
        Self { variables, profiles }
    }
}

fn files(config: &Attrs, variables: &HashMap<String, String>) -> Vec<PathBuf> {
    let home = PathBuf::from(variables.get("HOME").map_or("/", String::as_str)).join(".aws");
    let listed = |key: &str, variable: &str, default: &str| -> Vec<PathBuf> {
        let given: Vec<PathBuf> = items(config, key)
            .iter()
            .filter_map(|item| match item {
                crate::value::Value::String(path) => Some(PathBuf::from(path)),
                _ => None,
            })
            .collect();
        if given.is_empty() {
            vec![variables.get(variable).map_or_else(|| home.join(default), PathBuf::from)]
        } else {
            given
        }
    };
    let mut files = listed("shared_config_files", "AWS_CONFIG_FILE", "config");
    files.extend(listed("shared_credentials_files", "AWS_SHARED_CREDENTIALS_FILE", "credentials"));
    files
}

fn read_profiles(text: &str, into: &mut HashMap<String, HashMap<String, String>>) {
    let mut current = None;
    for line in text.lines().map(str::trim) {
        if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let name = title.trim().strip_prefix("profile ").unwrap_or(title).trim().to_owned();
            into.entry(name.clone()).or_default();
            current = Some(name);
        } else if let (Some(name), Some((key, value))) = (&current, line.split_once('='))
            && !line.starts_with('#')
        {
            into.entry(name.clone()).or_default().insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
}

/// Resolves a provider block.
///
/// # Errors
/// The real provider's words for a profile that no file has, for no region and for no credentials.
pub fn resolve(config: &Attrs, around: &Surroundings) -> Result<Identity, String> {
    let variable = |name: &str| around.variables.get(name).cloned();
    let named = text(config, "profile").map(ToOwned::to_owned).or_else(|| variable("AWS_PROFILE"));
    let profile = match &named {
        Some(name) => {
            Some(around.profiles.get(name).ok_or_else(|| format!("failed to get shared config profile, {name}"))?)
        }
        None => around.profiles.get("default"),
    };
    let of_profile = |key: &str| profile.and_then(|profile| profile.get(key).cloned());

    let region = text(config, "region")
        .map(ToOwned::to_owned)
        .or_else(|| variable("AWS_REGION"))
        .or_else(|| variable("AWS_DEFAULT_REGION"))
        .or_else(|| of_profile("region"))
        .ok_or("Missing region configuration: set region in the provider block or AWS_REGION")?;

    let from_block = text(config, "access_key").map(ToOwned::to_owned);
    let from_profile = of_profile("aws_access_key_id");
    let from_environment = variable("AWS_ACCESS_KEY_ID").filter(|_| variable("AWS_SECRET_ACCESS_KEY").is_some());
    let by_token = ["role_arn", "credential_process", "source_profile", "sso_session", "web_identity_token_file"]
        .iter()
        .any(|key| of_profile(key).is_some())
        || variable("AWS_WEB_IDENTITY_TOKEN_FILE").is_some_and(|path| PathBuf::from(path).exists());
    let from_token = by_token.then(|| "test".to_owned());
    let access_key = if named.is_some() {
        from_block.or(from_profile).or(from_environment).or(from_token)
    } else {
        from_block.or(from_environment).or(from_profile).or(from_token)
    };
    let access_key = access_key.or_else(|| flag(config, "skip_credentials_validation").then(|| "test".to_owned()));
    let access_key = access_key.ok_or("No valid credential sources found")?;
    Ok(Identity { region, access_key })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::string;

    fn around(variables: &[(&str, &str)], file: &str) -> Surroundings {
        let mut profiles = HashMap::new();
        read_profiles(file, &mut profiles);
        Surroundings {
            variables: variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            profiles,
        }
    }

    fn block(pairs: &[(&str, &str)]) -> Attrs {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), string(*v))).collect()
    }

    #[test]
    fn a_profile_that_no_file_has_is_refused_even_with_keys_in_the_environment() {
        let around = around(&[("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")], "[profile other]\n");
        let refused = resolve(&block(&[("profile", "harbor"), ("region", "r")]), &around);
        assert_eq!(refused, Err("failed to get shared config profile, harbor".to_owned()));
    }

    #[test]
    fn a_profile_gives_region_and_key() {
        let around = around(&[], "# c\n[profile harbor]\nregion = us-west-2\naws_access_key_id = AK\n");
        let found = resolve(&block(&[("profile", "harbor")]), &around);
        assert_eq!(found, Ok(Identity { region: "us-west-2".to_owned(), access_key: "AK".to_owned() }));
    }

    #[test]
    fn no_credentials_are_an_error() {
        assert_eq!(
            resolve(&block(&[("region", "r")]), &around(&[], "")),
            Err("No valid credential sources found".to_owned())
        );
    }
}
