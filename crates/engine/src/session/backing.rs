//! What can stand behind a profile, and the AWS configuration that says so.

use crate::credentials::Roles;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;

/// The session at hand.
#[derive(Clone, PartialEq, Eq)]
pub enum Held {
    /// A role to assume with a token that the SDKs read from a file.
    WebIdentity {
        role: String,
        token_file: String,
        session_name: String,
    },
    Keys {
        id: String,
        secret: String,
        token: Option<String>,
    },
    /// None that csis knows; the SDKs may find one by themselves.
    Nothing,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Held::WebIdentity { role, .. } => write!(f, "WebIdentity({role})"),
            Held::Keys { .. } => f.write_str("Keys"),
            Held::Nothing => f.write_str("Nothing"),
        }
    }
}

impl Held {
    /// Reads the session out of an environment.
    pub fn of(environment: &BTreeMap<String, String>) -> Held {
        let get = |name: &str| environment.get(name).filter(|value| !value.is_empty()).cloned();
        if let (Some(role), Some(token_file)) = (get("AWS_ROLE_ARN"), get("AWS_WEB_IDENTITY_TOKEN_FILE")) {
            let session_name = get("AWS_ROLE_SESSION_NAME").unwrap_or_else(|| "csis".into());
            return Held::WebIdentity { role, token_file, session_name };
        }
        match (get("AWS_ACCESS_KEY_ID"), get("AWS_SECRET_ACCESS_KEY")) {
            (Some(id), Some(secret)) => Held::Keys { id, secret, token: get("AWS_SESSION_TOKEN") },
            _ => Held::Nothing,
        }
    }
}

pub fn sections(held: &Held, profiles: &BTreeSet<String>) -> String {
    let mut text = String::new();
    let titles = std::iter::once("[default]".to_owned())
        .chain(profiles.iter().filter(|name| *name != "default" && fits(name)).map(|name| format!("[profile {name}]")));
    for title in titles {
        section(&mut text, &title, held);
    }
    text
}

fn section(text: &mut String, title: &str, held: &Held) {
    let _ = writeln!(text, "{title}");
    match held {
        Held::WebIdentity { role, token_file, session_name } => {
            let _ = writeln!(
                text,
                "role_arn = {role}\nweb_identity_token_file = {token_file}\nrole_session_name = {session_name}"
            );
        }
        Held::Keys { id, secret, token } => {
            let _ = writeln!(text, "aws_access_key_id = {id}\naws_secret_access_key = {secret}");
            if let Some(token) = token {
                let _ = writeln!(text, "aws_session_token = {token}");
            }
        }
        Held::Nothing => {}
    }
    text.push('\n');
}

/// A name that would break out of its section title gets none.
fn fits(name: &str) -> bool {
    !name.is_empty() && !name.contains(['[', ']', '\n', '\r']) && name.trim() == name
}

/// One section per profile that has a role, and the default one.
pub fn role_sections(roles: &Roles, profiles: &BTreeSet<String>) -> io::Result<String> {
    let token_file = roles.token_file.to_string_lossy();
    let mut text = String::new();
    let named = profiles.iter().filter(|name| *name != "default" && fits(name));
    let titled = named.map(|name| (format!("[profile {name}]"), roles.of(name)));
    for (title, role) in std::iter::once(("[default]".to_owned(), roles.of("default"))).chain(titled) {
        let Some(role) = role else { continue };
        for value in [role, &token_file, &roles.session_name] {
            if value.trim() != value || value.is_empty() || value.chars().any(char::is_control) {
                let kind = io::ErrorKind::InvalidInput;
                return Err(io::Error::new(kind, format!("{value:?} cannot stand in an AWS configuration")));
            }
        }
        let (role, token_file, session_name) = (role.to_owned(), token_file.to_string(), roles.session_name.clone());
        section(&mut text, &title, &Held::WebIdentity { role, token_file, session_name });
    }
    Ok(text)
}

/// The user's own AWS files.
pub struct OwnFiles {
    pub config: String,
    pub credentials: String,
    sections: BTreeSet<String>,
}

impl OwnFiles {
    pub fn of(environment: &BTreeMap<String, String>) -> OwnFiles {
        let home = PathBuf::from(environment.get("HOME").map_or("", String::as_str)).join(".aws");
        let at = |name: &str, file: &str| {
            let path = environment.get(name).map_or_else(|| home.join(file), PathBuf::from);
            fs::read_to_string(path).unwrap_or_default()
        };
        let (config, credentials) = (at("AWS_CONFIG_FILE", "config"), at("AWS_SHARED_CREDENTIALS_FILE", "credentials"));
        let titles = config.lines().chain(credentials.lines()).filter_map(|line| {
            let title = line.trim().strip_prefix('[')?.split(']').next()?.trim();
            Some(title.strip_prefix("profile ").unwrap_or(title).trim().to_owned())
        });
        let sections = titles.collect();
        OwnFiles { config, credentials, sections }
    }

    pub fn has(&self, profile: &str) -> bool {
        self.sections.contains(profile)
    }
}
