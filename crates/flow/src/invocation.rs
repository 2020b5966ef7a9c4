//! The command line and the environment as one value, and the request made from it.

use crate::outcome::why;
use csis_engine::{ChildUser, Credentials, Stop};
use csis_values::request::{Lifecycle, Request};
use csis_values::{Diagnostic, Diagnostics};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What every command is given. The binary fills it from arguments and environment; tests fill it by hand.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The configuration root, as given.
    pub root: PathBuf,
    pub offline: bool,
    pub snapshot: Option<PathBuf>,
    pub overlays: Vec<String>,
    pub undeclare: Vec<String>,
    pub only_runtime: Option<String>,
    pub apply_runtime: Option<String>,
    pub parallel: usize,
    /// `--tool NAME=PATH`.
    pub tools: BTreeMap<String, String>,
    /// The whole environment of the process.
    pub environment: BTreeMap<String, String>,
    /// The time the process began.
    pub now: jiff::Timestamp,
    pub template_variables: TemplateVariables,
    /// Why no root is planned at all, where that is no choice of the caller's.
    pub unplanned: Option<String>,
    pub children: Children,
}

/// The variables of the environment that templates may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TemplateVariables {
    /// All of a shell's but credentials.
    #[default]
    Shell,
    /// Those that the base of the change lists: a change does not open the environment to itself.
    OfBase,
    Listed(Vec<String>),
}

/// What the engine's processes get, and as whom they run.
#[derive(Clone, Debug)]
pub struct Children {
    pub credentials: Credentials,
    pub user: Option<ChildUser>,
    pub stop: Stop,
}

impl Default for Children {
    fn default() -> Self {
        Children { credentials: Credentials::Ambient, user: None, stop: Stop::never() }
    }
}

/// The variable that names the identity which opens encrypted values: an `AGE-SECRET-KEY-1…`, a file, or a folder of `*.age-identity` files.
pub const IDENTITY: &str = "CSIS_CONFIG_IDENTITY";

impl Invocation {
    /// Whether no root is planned, by choice or by construction.
    pub fn is_unplanned(&self) -> bool {
        self.offline || self.unplanned.is_some()
    }

    pub(crate) fn why_unplanned(&self) -> Option<String> {
        let offline = || "--offline: the state of a root and its objects are not read".to_owned();
        self.unplanned.clone().or_else(|| self.offline.then(offline))
    }

    /// The request, and a note where templates see less of the environment than the shell has.
    pub fn request(&self, lifecycles: &[String]) -> Result<Request, Diagnostic> {
        let mut wanted = Vec::new();
        for word in lifecycles {
            if word == "all" {
                wanted.extend(Lifecycle::ALL);
                continue;
            }
            wanted.push(Lifecycle::parse(word).ok_or_else(|| unknown_lifecycle(word))?);
        }
        wanted.sort();
        wanted.dedup();
        let now = self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        // The run id keeps its microseconds even when they are zero, so that it always parses.
        let run =
            self.now.strftime("%Y_%m_%dt%H_%M_%S_").to_string() + &format!("{:06}", self.now.subsec_microsecond());
        Ok(Request {
            overlays: self.overlays.clone(),
            undeclare: self.undeclare.clone(),
            lifecycles: wanted,
            only_runtime: self.only_runtime.clone(),
            apply_runtime: self.apply_runtime.clone(),
            now,
            run,
            template_env: self.template_env(),
        })
    }

    /// What templates may read as `ENV` in a shell: everything but names that look like credentials.
    fn template_env(&self) -> BTreeMap<String, String> {
        let may_read = |name: &String| match &self.template_variables {
            TemplateVariables::Shell => !looks_like_a_credential(name),
            TemplateVariables::OfBase => false,
            TemplateVariables::Listed(names) => names.contains(name),
        };
        self.environment.iter().filter(|(name, _)| may_read(name)).map(|(k, v)| (k.clone(), v.clone())).collect()
    }

    /// Age identities from [`IDENTITY`]; the texts of every identity found.
    /// What opens encrypted values: nothing where nothing may be planned because of who asks.
    pub fn opening(&self) -> Result<csis_tree::Identities, Diagnostic> {
        if self.unplanned.is_some() {
            return Ok(csis_tree::Identities::sealed());
        }
        self.identities().map(|texts| csis_tree::Identities::new(&texts))
    }

    pub fn identities(&self) -> Result<Vec<String>, Diagnostic> {
        let Some(value) = self.environment.get(IDENTITY).filter(|v| !v.trim().is_empty()) else {
            return Ok(Vec::new());
        };
        if value.trim().starts_with("AGE-SECRET-KEY-1") {
            return Ok(vec![value.trim().to_owned()]);
        }
        let unreadable = |error: std::io::Error| {
            Diagnostic::error(
                "identity-unreadable",
                format!("{IDENTITY} names something that cannot be read: {}", why(&error)),
            )
            .help("set it to an AGE-SECRET-KEY-1… text, to an identity file, or to a folder of *.age-identity files")
        };
        let path = PathBuf::from(value);
        if !path.is_dir() {
            return Ok(vec![std::fs::read_to_string(&path).map_err(unreadable)?]);
        }
        let mut files: Vec<PathBuf> = std::fs::read_dir(&path)
            .map_err(unreadable)?
            .filter_map(|entry| entry.ok().map(|e| e.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "age-identity"))
            .collect();
        files.sort();
        files.iter().map(|file| std::fs::read_to_string(file).map_err(unreadable)).collect()
    }
}

const CREDENTIAL_WORDS: &[&str] = &[
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "PRIVATE",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "SESSION",
    "AUTH",
    "COOKIE",
    "IDENTITY",
];

fn looks_like_a_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();

    CREDENTIAL_WORDS.iter().any(|part| name.contains(part))
        || ["AWS_", "TF_VAR_", "INPUT_", "ACTIONS_", "CSIS_", "GITHUB_"].iter().any(|p| name.starts_with(p))
        || name.ends_with("_KEY")
}

fn unknown_lifecycle(word: &str) -> Diagnostic {
    let names: Vec<&str> = Lifecycle::ALL.iter().map(|l| l.name()).collect();
    Diagnostic::error("unknown-lifecycle", format!("`{word}` is no lifecycle"))
        .help(format!("name one of: {}", names.join(", ")))
}

/// A snapshot named on the command line.
pub fn read_snapshot(
    invocation: &Invocation,
    found: &mut Diagnostics,
) -> Result<Option<csis_values::snapshot::Snapshot>, Diagnostic> {
    let Some(path) = &invocation.snapshot else { return Ok(None) };
    let refuse =
        |what: String| Diagnostic::error("snapshot", what).help("name a snapshot file, or leave --snapshot out");
    let bytes = std::fs::read(path)
        .map_err(|e| refuse(format!("the snapshot {} cannot be read: {}", path.display(), why(&e))))?;
    let snapshot: csis_values::snapshot::Snapshot =
        serde_json::from_slice(&bytes).map_err(|e| refuse(format!("{} is not a snapshot: {e}", path.display())))?;
    if snapshot.schema != 1 {
        return Err(refuse(format!("{} has schema {}, and this csis reads schema 1", path.display(), snapshot.schema)));
    }
    if snapshot.time.is_empty() {
        found.push(Diagnostic::note("snapshot-time", format!("{} does not say when it was taken", path.display())));
    }
    Ok(Some(snapshot))
}
