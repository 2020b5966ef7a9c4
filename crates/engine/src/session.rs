//! The credentials and the environment that the engine gets.
//!
//! A tree names profiles that exist on nobody's machine. Every run gets AWS files of its own, in a private temporary folder, with one section per profile
//! the tree names, each backed by the session at hand or by a role. The environment is built from an allow list. Children that run as another user, or that
//! may not use what the user's own files hold, get a home folder of their own; an engine's configuration then comes from `TF_CLI_CONFIG_FILE` alone.

mod backing;
#[cfg(test)]
mod tests;

pub use backing::Held;

use crate::cache::Cache;
use crate::credentials::Credentials;
use crate::materialise::private_folder;
use crate::owner::Owner;
use crate::user::ChildUser;
use backing::{OwnFiles, role_sections, sections};
use std::collections::{BTreeMap, BTreeSet};
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

/// The environment of the engine's processes, and the profiles that cannot be had. Its files go with it.
pub struct Session {
    environment: BTreeMap<String, String>,
    missing: BTreeSet<String>,
    why_missing: String,
    no_default: Option<String>,
    secrets: Vec<String>,
    _files: Option<tempfile::TempDir>,
    _token: Option<LentToken>,
}

/// What the private AWS files say, and whose place they take.
enum Backing {
    /// The user's own files, wherever they are.
    Own,
    Files {
        config: String,
        credentials: String,
    },
}

impl Session {
    /// The session at hand. `profiles`: the ones the tree names. `temporary`: where the private folder is made.
    pub fn open(
        ambient: &BTreeMap<String, String>,
        profiles: &BTreeSet<String>,
        temporary: &Path,
    ) -> io::Result<Session> {
        Session::with(ambient, profiles, temporary, &Credentials::Ambient, None)
    }

    /// The same with other credentials, or for children that run as `user`, whose the files then are.
    pub fn with(
        ambient: &BTreeMap<String, String>,
        profiles: &BTreeSet<String>,
        temporary: &Path,
        credentials: &Credentials,
        user: Option<ChildUser>,
    ) -> io::Result<Session> {
        let mut session = Session {
            environment: allowed(ambient),
            missing: BTreeSet::new(),
            why_missing: String::new(),
            no_default: None,
            secrets: held_secrets(ambient),
            _files: None,
            _token: None,
        };
        let backing = session.back(ambient, profiles, credentials, user.is_some())?;
        let is_apart = user.is_some() || *credentials != Credentials::Ambient;
        let Backing::Files { config, credentials: keys } = backing else { return Ok(session) };
        let files = tempfile::Builder::new().prefix("csis-session-").tempdir_in(temporary)?;
        private_folder(files.path()).map_err(io::Error::other)?;
        let own = |path: &Path| user.map_or(Ok(()), |user| user.own(path));
        for (name, variable, text) in
            [("config", "AWS_CONFIG_FILE", config), ("credentials", "AWS_SHARED_CREDENTIALS_FILE", keys)]
        {
            let path = files.path().join(name);
            write_private(&path, &text)?;
            own(&path)?;
            session.set(variable, &path);
        }
        if is_apart {
            session.live_apart(files.path(), ambient, user)?;
        }
        let mut token = None;
        // Last: what csis makes in it, it makes in a folder of its own.
        own(files.path())?;
        if let Some(user) = user {
            user.reads(files.path()).map_err(io::Error::other)?;
            if let Credentials::Roles(roles) = credentials {
                token = LentToken::lend(&roles.token_file, user)?;
            }
        }
        Ok(Session { _files: Some(files), _token: token, ..session })
    }

    fn set(&mut self, name: &str, path: &Path) {
        self.environment.insert(name.to_owned(), path.to_string_lossy().into_owned());
    }

    /// What stands behind the profiles; says which have nothing.
    fn back(
        &mut self,
        ambient: &BTreeMap<String, String>,
        profiles: &BTreeSet<String>,
        credentials: &Credentials,
        other_user: bool,
    ) -> io::Result<Backing> {
        match credentials {
            Credentials::Ambient => {
                let held = Held::of(ambient);
                if held != Held::Nothing {
                    return Ok(Backing::Files { config: sections(&held, profiles), credentials: String::new() });
                }
                let own = OwnFiles::of(ambient);
                self.missing = profiles.iter().filter(|profile| !own.has(profile)).cloned().collect();
                self.why_missing = "the environment holds no AWS session and the AWS files have no such profile".into();
                for name in AMBIENT {
                    if let Some(value) = ambient.get(*name) {
                        self.environment.insert((*name).to_owned(), value.clone());
                    }
                }
                // Another user cannot read them where they are.
                let copied = || Backing::Files { config: own.config.clone(), credentials: own.credentials.clone() };
                Ok(if other_user { copied() } else { Backing::Own })
            }
            Credentials::Nothing { why } => {
                self.missing.clone_from(profiles);
                self.why_missing.clone_from(why);
                self.no_default = Some(why.clone());
                self.without_machine();
                Ok(Backing::Files { config: String::new(), credentials: String::new() })
            }
            Credentials::Roles(roles) => {
                self.missing = profiles.iter().filter(|profile| roles.of(profile).is_none()).cloned().collect();
                self.why_missing = "no role is named for it, and there is no default role".into();
                self.no_default = roles.default.is_none().then(|| "there is no default role".to_owned());
                self.without_machine();
                Ok(Backing::Files { config: role_sections(roles, profiles)?, credentials: String::new() })
            }
        }
    }

    /// The machine's own identity does not serve either.
    fn without_machine(&mut self) {
        self.environment.insert("AWS_EC2_METADATA_DISABLED".into(), "true".into());
    }

    /// A home of its own; for another user also what it writes besides.
    fn live_apart(
        &mut self,
        files: &Path,
        ambient: &BTreeMap<String, String>,
        user: Option<ChildUser>,
    ) -> io::Result<()> {
        let mut folders = vec![("HOME", "home")];
        // It holds what the home folder holds.
        self.environment.remove("XDG_CONFIG_HOME");
        if user.is_some() {
            folders.push(("TMPDIR", "tmp"));
            self.environment.remove("USER");
            self.environment.remove("LOGNAME");
            // A cache that outlives the run is nothing that a hostile child may write.
            if Cache::shared(ambient).is_some() {
                folders.push(("TF_PLUGIN_CACHE_DIR", "plugins"));
            }
        }
        for (variable, name) in folders {
            let path = files.join(name);
            private_folder(&path).map_err(io::Error::other)?;
            user.map_or(Ok(()), |user| user.own(&path))?;
            self.set(variable, &path);
        }
        Ok(())
    }

    /// The whole environment of a child.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// Profiles of the tree that nothing backs.
    pub fn missing(&self) -> &BTreeSet<String> {
        &self.missing
    }

    /// Why nothing backs them.
    pub fn why_missing(&self) -> &str {
        &self.why_missing
    }

    /// Why there are no credentials for what names no profile; none when there may be.
    pub fn no_default(&self) -> Option<&str> {
        self.no_default.as_deref()
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

/// The part of an environment that every child may see.
fn allowed(ambient: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut environment: BTreeMap<String, String> = ambient
        .iter()
        .filter(|(name, _)| {
            PASSES.contains(&name.as_str()) || PASSES_BY_PREFIX.iter().any(|prefix| name.starts_with(prefix))
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    environment.insert("TF_IN_AUTOMATION".into(), "1".into());
    environment.insert("CHECKPOINT_DISABLE".into(), "1".into());
    environment
}

/// Secrets of the environment, whether they are used or not: keys, and what a proxy's address holds before its `@`.
fn held_secrets(ambient: &BTreeMap<String, String>) -> Vec<String> {
    let mut secrets = Vec::new();
    for (name, value) in ambient {
        if ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"].contains(&name.as_str()) {
            secrets.push(value.clone());
        } else if name.to_ascii_lowercase().ends_with("_proxy") {
            let address = value.split_once("://").map_or(value.as_str(), |(_, rest)| rest);
            let host = address.split('/').next().unwrap_or_default();
            if let Some((who, _)) = host.rsplit_once('@') {
                secrets.push(who.to_owned());
                secrets.extend(who.split_once(':').map(|(_, password)| password.to_owned()));
            }
        }
    }
    secrets.retain(|secret| !secret.is_empty());
    secrets
}

/// The web identity is the children's while they run.
struct LentToken {
    path: PathBuf,
    owner: Owner,
}

impl LentToken {
    /// None when it is the user's already: then it is another's to take back.
    fn lend(path: &Path, user: ChildUser) -> io::Result<Option<LentToken>> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("the web identity: {error}"));
        let owner = Owner::of(path).map_err(named)?;
        let lent = (owner != user.into()).then(|| LentToken { path: path.to_owned(), owner });
        user.own(path).map_err(named)?;
        user.reads(path).map_err(io::Error::other)?;
        Ok(lent)
    }
}

impl Drop for LentToken {
    fn drop(&mut self) {
        // It may have gone before.
        let _ = self.owner.take(&self.path);
    }
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
