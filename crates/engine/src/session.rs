//! The credentials and the environment that the engine gets.
//!
//! A tree names profiles that exist on nobody's machine. Every run gets AWS files of its own, in a private temporary folder, with one section per profile
//! the tree names, each backed by the session at hand. The environment is built from an allow list.

use crate::materialise::private_folder;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What passes from the environment at hand to the engine.
const PASSES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "XDG_CONFIG_HOME",
    "TF_CLI_CONFIG_FILE",
    "TF_PLUGIN_CACHE_DIR",
    "TOFU_CLI_CONFIG_FILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_CA_BUNDLE",
    "AWS_STS_REGIONAL_ENDPOINTS",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_RETRY_MODE",
    "AWS_MAX_ATTEMPTS",
];

/// What passes by its beginning: an endpoint per service.
const PASSES_BY_PREFIX: &[&str] = &["AWS_ENDPOINT_URL"];

/// Passes only where the user's own AWS files are used, or where the machine itself is the identity.
const AMBIENT: &[&str] = &[
    "AWS_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];

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

/// The environment of the engine's processes, and the profiles that cannot be had. Its files go with it.
pub struct Session {
    environment: BTreeMap<String, String>,
    missing: BTreeSet<String>,
    secrets: Vec<String>,
    _files: Option<tempfile::TempDir>,
}

impl Session {
    /// `profiles`: the ones the tree names. `temporary`: where the private folder is made.
    pub fn open(
        ambient: &BTreeMap<String, String>,
        profiles: &BTreeSet<String>,
        temporary: &Path,
    ) -> io::Result<Session> {
        let mut environment: BTreeMap<String, String> = ambient
            .iter()
            .filter(|(name, _)| {
                PASSES.contains(&name.as_str()) || PASSES_BY_PREFIX.iter().any(|prefix| name.starts_with(prefix))
            })
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        environment.insert("TF_IN_AUTOMATION".into(), "1".into());
        environment.insert("CHECKPOINT_DISABLE".into(), "1".into());
        let held = Held::of(ambient);
        if held == Held::Nothing {
            let own = OwnFiles::of(ambient);
            let missing = profiles.iter().filter(|profile| !own.has(profile)).cloned().collect();
            for name in AMBIENT {
                if let Some(value) = ambient.get(*name) {
                    environment.insert((*name).to_owned(), value.clone());
                }
            }
            return Ok(Session { environment, missing, secrets: Vec::new(), _files: None });
        }
        let files = tempfile::Builder::new().prefix("csis-session-").tempdir_in(temporary)?;
        private_folder(files.path()).map_err(io::Error::other)?;
        let (config, credentials) = (files.path().join("config"), files.path().join("credentials"));
        write_private(&config, &sections(&held, profiles))?;
        write_private(&credentials, "")?;
        environment.insert("AWS_CONFIG_FILE".into(), config.to_string_lossy().into_owned());
        environment.insert("AWS_SHARED_CREDENTIALS_FILE".into(), credentials.to_string_lossy().into_owned());
        let secrets = match held {
            Held::Keys { secret, token, .. } => std::iter::once(secret).chain(token).collect(),
            _ => Vec::new(),
        };
        Ok(Session { environment, missing: BTreeSet::new(), secrets, _files: Some(files) })
    }

    /// The whole environment of a child.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// Profiles of the tree that neither a session nor the user's own files can back.
    pub fn missing(&self) -> &BTreeSet<String> {
        &self.missing
    }

    /// What must never be shown.
    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("missing", &self.missing).finish_non_exhaustive()
    }
}

fn sections(held: &Held, profiles: &BTreeSet<String>) -> String {
    let mut text = String::new();
    let titles = std::iter::once("[default]".to_owned())
        .chain(profiles.iter().filter(|name| *name != "default" && fits(name)).map(|name| format!("[profile {name}]")));
    for title in titles {
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
    text
}

/// A name that would break out of its section title gets none.
fn fits(name: &str) -> bool {
    !name.is_empty() && !name.contains(['[', ']', '\n', '\r']) && name.trim() == name
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use io::Write as _;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)?.write_all(text.as_bytes())
}

/// The user's own AWS files.
struct OwnFiles {
    sections: BTreeSet<String>,
}

impl OwnFiles {
    fn of(environment: &BTreeMap<String, String>) -> OwnFiles {
        let home = PathBuf::from(environment.get("HOME").map_or("", String::as_str)).join(".aws");
        let at = |name: &str, file: &str| environment.get(name).map_or_else(|| home.join(file), PathBuf::from);
        let mut sections = BTreeSet::new();
        for path in [at("AWS_CONFIG_FILE", "config"), at("AWS_SHARED_CREDENTIALS_FILE", "credentials")] {
            let text = fs::read_to_string(path).unwrap_or_default();
            sections.extend(text.lines().filter_map(|line| {
                let title = line.trim().strip_prefix('[')?.split(']').next()?.trim();
                Some(title.strip_prefix("profile ").unwrap_or(title).trim().to_owned())
            }));
        }
        OwnFiles { sections }
    }

    fn has(&self, profile: &str) -> bool {
        self.sections.contains(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn profiles() -> BTreeSet<String> {
        BTreeSet::from(["harbor".to_owned()])
    }

    #[test]
    fn nothing_passes_that_is_not_on_the_list() {
        let temporary = tempfile::tempdir().unwrap();
        let ambient = env(&[
            ("PATH", "/bin"),
            ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1"),
            ("TF_CLI_ARGS_plan", "-destroy"),
            ("TF_WORKSPACE", "x"),
            ("TF_VAR_a", "b"),
            ("TF_LOG", "trace"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "hush"),
            ("AWS_PROFILE", "mine"),
            ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "t"),
            ("INPUT_GITHUB-TOKEN", "t"),
            ("GITHUB_TOKEN", "t"),
        ]);
        let session = Session::open(&ambient, &profiles(), temporary.path()).unwrap();
        let names: Vec<&str> = session.environment().keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "AWS_CONFIG_FILE",
                "AWS_ENDPOINT_URL_S3",
                "AWS_SHARED_CREDENTIALS_FILE",
                "CHECKPOINT_DISABLE",
                "PATH",
                "TF_IN_AUTOMATION"
            ]
        );
        assert_eq!(session.secrets(), ["hush"]);
        assert!(!format!("{session:?} {:?}", Held::of(&ambient)).contains("hush"));
    }

    #[test]
    fn every_profile_is_backed_by_the_session_at_hand() {
        let temporary = tempfile::tempdir().unwrap();
        let ambient =
            env(&[("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "key"), ("AWS_SESSION_TOKEN", "tok")]);
        let session = Session::open(&ambient, &profiles(), temporary.path()).unwrap();
        let config = PathBuf::from(&session.environment()["AWS_CONFIG_FILE"]);
        let section = "aws_access_key_id = id\naws_secret_access_key = key\naws_session_token = tok\n\n";
        assert_eq!(fs::read_to_string(&config).unwrap(), format!("[default]\n{section}[profile harbor]\n{section}"));
        assert_eq!(fs::read_to_string(&session.environment()["AWS_SHARED_CREDENTIALS_FILE"]).unwrap(), "");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o600);
        }
        drop(session);
        assert!(!config.exists());
    }

    #[test]
    fn a_web_identity_comes_before_keys() {
        let temporary = tempfile::tempdir().unwrap();
        let ambient = env(&[
            ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", "/t"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "key"),
        ]);
        let session = Session::open(&ambient, &profiles(), temporary.path()).unwrap();
        let text = fs::read_to_string(&session.environment()["AWS_CONFIG_FILE"]).unwrap();
        assert!(text.ends_with("[profile harbor]\nrole_arn = arn:aws:iam::1:role/r\nweb_identity_token_file = /t\nrole_session_name = csis\n\n"));
        assert!(!text.contains("key"));
    }

    #[test]
    fn without_a_session_the_users_own_files_serve_where_they_have_the_profile() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".aws")).unwrap();
        fs::write(home.path().join(".aws/config"), "[profile harbor]\nregion = x\n").unwrap();
        let ambient = env(&[("HOME", &home.path().to_string_lossy())]);
        let named = BTreeSet::from(["harbor".to_owned(), "other".to_owned()]);
        let session = Session::open(&ambient, &named, home.path()).unwrap();
        assert_eq!(session.missing(), &BTreeSet::from(["other".to_owned()]));
        assert!(!session.environment().contains_key("AWS_CONFIG_FILE"));
    }

    #[test]
    fn a_profile_cannot_write_a_section_of_its_own() {
        let named = BTreeSet::from(["x]\n[profile admin".to_owned()]);
        let held = Held::Keys { id: "i".into(), secret: "s".into(), token: None };
        assert!(!sections(&held, &named).contains("admin"));
    }
}
