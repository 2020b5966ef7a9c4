//! One engine, and the steps it takes for one root: initialise, plan, tell the plan.

use crate::inputs::{self, Inputs};
use crate::land::Kept;
use crate::materialise::{INITIALISED, LOCK, WorkingCopy, write_if_changed};
use crate::pending::Tokens;
use crate::plan::{self, Outputs, Reading, Redactor};
use crate::process::{Call, Children, Left, ProcessError, find};
use crate::stop::Stop;
use crate::trouble::{self, Errors, Trouble};
use crate::user::{UserError, acting};
use crate::version::{Version, meets};
use csis_values::intent::EngineRef;
use csis_values::plan::{Document, Freshness, Plan};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The plan file in a working copy.
pub const PLAN: &str = "tfplan";

/// Why no engine can be had: what was asked cannot be started on this machine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("no engine: `{binary}` (executable `{name}`) is not on PATH")]
    Missing { name: String, binary: String },
    #[error("`{binary}` is neither tofu nor terraform: {said}")]
    Unknown { binary: String, said: String },
    #[error("`{binary}` is {engine}, but executable `{name}` asks for `{rule}`")]
    Version { name: String, binary: String, engine: String, rule: String },
    #[error("`{binary}` is {engine}, but {what} needs at least {floor}")]
    Floor { binary: String, engine: String, what: String, floor: Version },
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    User(#[from] UserError),
    /// The run was stopped before its time, and so nothing is said of any root.
    #[error("csis was interrupted while it planned")]
    Interrupted,
}

impl EngineError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            EngineError::Missing { name, .. } => {
                format!("install OpenTofu or Terraform, or name one with `--tool {name}=PATH`")
            }
            EngineError::Unknown { .. } => "name an OpenTofu or Terraform binary with `--tool NAME=PATH`".into(),
            EngineError::Version { name, rule, .. } => {
                format!("install a version that meets `{rule}`, or name another binary with `--tool {name}=PATH`")
            }
            EngineError::Floor { floor, .. } => format!("install {floor} or newer"),
            EngineError::Process(_) => "run `csis doctor`".into(),
            EngineError::User(error) => error.help(),
            EngineError::Interrupted => "run it again".into(),
        }
    }
}

/// A binary that was found and asked for its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    pub binary: PathBuf,
    /// `tofu` or `terraform`, as the binary itself says.
    pub kind: String,
    pub version: Version,
    /// The binary was named on the command line, against a version rule it does not meet.
    pub waived: Option<String>,
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.version)
    }
}

impl Engine {
    /// Finds the engine an executable entry names. `tools` replaces binaries by the name or the kind of their entry.
    pub async fn locate(
        wanted: &EngineRef,
        tools: &BTreeMap<String, String>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Engine, EngineError> {
        Engine::locate_as(wanted, tools, Children { environment, user: None, stop: &Stop::never() }).await
    }

    /// The same; the binary, which a tree may name, is asked as every child is.
    pub(crate) async fn locate_as(
        wanted: &EngineRef,
        tools: &BTreeMap<String, String>,
        children: Children<'_>,
    ) -> Result<Engine, EngineError> {
        let named = tools.get(&wanted.name).or_else(|| tools.get(&wanted.kind));
        let name = named.unwrap_or(&wanted.binary);
        let missing = || EngineError::Missing { name: wanted.name.clone(), binary: name.clone() };
        let binary = find(name, children.environment).ok_or_else(missing)?;
        let call = Call {
            program: &binary,
            arguments: vec!["version".into()],
            directory: Path::new("/"),
            children,
            limit: Duration::from_mins(1),
        };
        let left = call.run(|_| {}).await?;
        let (kind, version) = left.stdout.lines().find_map(read_version).ok_or_else(|| EngineError::Unknown {
            binary: name.clone(),
            said: plan::cut(left.stdout.lines().next().unwrap_or("it says no version"), 200),
        })?;
        let mut engine = Engine { binary, kind: kind.into(), version, waived: None };
        if let Some(rule) = &wanted.version
            && meets(version, rule) != Some(true)
        {
            if named.is_none() {
                let (name, binary, engine, rule) =
                    (wanted.name.clone(), name.clone(), engine.to_string(), rule.clone());
                return Err(EngineError::Version { name, binary, engine, rule });
            }
            engine.waived =
                Some(format!("`{name}` is {engine}; the rule `{rule}` of executable `{}` is waived", wanted.name));
        }
        Ok(engine)
    }

    /// Checks the floor that csis itself needs for a feature in use.
    pub fn needs(&self, what: &str, floor: Version) -> Result<(), EngineError> {
        if self.version >= floor {
            return Ok(());
        }
        let binary = self.binary.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Err(EngineError::Floor { binary, engine: self.to_string(), what: what.to_owned(), floor })
    }
}

fn read_version(line: &str) -> Option<(&'static str, Version)> {
    let of = |prefix: &str| line.trim().strip_prefix(prefix).and_then(Version::parse);
    of("Terraform v")
        .map(|version| ("terraform", version))
        .or_else(|| of("OpenTofu v").map(|version| ("tofu", version)))
}

/// What one root's steps have in common.
pub struct Steps<'a> {
    pub engine: &'a Engine,
    pub copy: &'a WorkingCopy,
    pub children: Children<'a>,
    pub redactor: &'a Redactor,
    /// Folders whose paths are no one's business.
    pub here: Vec<&'a Path>,
    pub limit: Duration,
}

impl Steps<'_> {
    fn call(&self, arguments: Vec<String>) -> Call<'_> {
        Call {
            program: &self.engine.binary,
            arguments,
            directory: &self.copy.directory,
            children: self.children,
            limit: self.limit,
        }
    }

    fn trouble(&self, text: &str) -> Trouble {
        trouble::judge(text, self.redactor, &self.here)
    }

    fn process(&self, error: &ProcessError) -> Trouble {
        self.trouble(&error.to_string())
    }

    fn said(&self, left: &Left) -> Trouble {
        let text = if left.stderr.trim().is_empty() { &left.stdout } else { &left.stderr };
        self.trouble(&trouble::from_text(text))
    }

    /// The inputs that decide what `init` makes.
    fn init_inputs(&self) -> Option<Inputs> {
        let mut now =
            acting(self.children.user, || Inputs::now(&self.copy.directory, &self.engine.to_string())).ok()?;
        now.inputs.retain(|name, _| {
            name.starts_with('(')
                || [".tf", ".tf.json", ".hcl"].iter().any(|end| name.ends_with(end)) && !name.ends_with("_override.tf")
        });
        for variable in ["TF_CLI_CONFIG_FILE", "TF_PLUGIN_CACHE_DIR", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"] {
            let value = self.children.environment.get(variable).map_or("", String::as_str);
            now.inputs.insert(format!("({variable})"), value.to_owned());
        }
        if let Some(config) = self.children.environment.get("TF_CLI_CONFIG_FILE") {
            now.inputs.insert("(cli config)".into(), fs::read(config).map(csis_values::sha256).unwrap_or_default());
        }
        Some(now)
    }

    /// Whether the working copy was initialised with just these inputs.
    pub fn is_initialised(&self) -> bool {
        let known = acting(self.children.user, || fs::read(self.copy.directory.join(INITIALISED))).ok();
        let made = self.copy.directory.join(".terraform").is_dir();
        known
            .filter(|_| made)
            .and_then(|text| serde_json::from_slice::<Inputs>(&text).ok())
            .is_some_and(|known| self.init_inputs() == Some(known))
    }

    /// Initialises the working copy; returns notes for people.
    pub async fn init(&self, backend_file: Option<&str>) -> Result<Vec<String>, Trouble> {
        let _ = fs::remove_file(self.copy.directory.join(INITIALISED));
        let mut arguments: Vec<String> =
            ["init", "-input=false", "-no-color", "-reconfigure"].map(str::to_owned).into();
        arguments.extend(backend_file.map(|file| format!("-backend-config={file}")));
        let mut notes = Vec::new();
        let mut strict = arguments.clone();
        let lock = self.copy.directory.join(LOCK);
        if self.copy.locked {
            strict.push("-lockfile=readonly".into());
        }
        let mut left = self.call(strict).run(|_| {}).await.map_err(|error| self.process(&error))?;
        if !left.status.success() && lock.is_file() && lock_is_short(&left) {
            if self.copy.locked {
                notes.push(format!(
                    "`{LOCK}` in `generated/` does not cover the providers of this root here; providers were chosen for this plan alone"
                ));
            } else {
                // An earlier choice of this machine, which nothing commits to.
                fs::remove_file(&lock).map_err(|error| self.trouble(&format!("{LOCK}: {error}")))?;
            }
            left = self.call(arguments).run(|_| {}).await.map_err(|error| self.process(&error))?;
        }
        if !left.status.success() {
            return Err(self.said(&left));
        }
        if let Some(now) = self.init_inputs()
            && let Ok(text) = serde_json::to_vec(&now)
        {
            let write = || write_if_changed(&self.copy.directory.join(INITIALISED), &text).map_err(io::Error::other);
            let _ = acting(self.children.user, write);
        }
        Ok(notes)
    }

    /// Plans into [`PLAN`]. Takes no lock and writes no state.
    pub async fn plan(&self, replace: &[String], variables: &BTreeMap<String, String>) -> Result<(), Trouble> {
        let plan_file = self.copy.directory.join(PLAN);
        for old in [&plan_file, &self.copy.directory.join(inputs::FILE)] {
            if old.exists() {
                fs::remove_file(old).map_err(|error| self.trouble(&format!("{PLAN}: {error}")))?;
            }
        }
        let inputs = acting(self.children.user, || Inputs::now(&self.copy.directory, &self.engine.to_string()))
            .map_err(|error| self.trouble(&format!("the inputs of the plan could not be read: {error}")))?;
        let mut arguments: Vec<String> =
            ["plan", "-input=false", "-lock=false", "-no-color", "-json", "-out=tfplan"].map(str::to_owned).into();
        arguments.extend(replace.iter().map(|address| format!("-replace={address}")));
        arguments.extend(variables.iter().map(|(name, value)| format!("-var={name}={value}")));
        let mut errors = Errors::default();
        let left = self.call(arguments).run(|line| errors.line(line)).await.map_err(|error| self.process(&error))?;
        if !left.status.success() {
            return Err(if errors.is_empty() { self.said(&left) } else { self.trouble(&errors.text()) });
        }
        acting(self.children.user, || inputs.store(&self.copy.directory, &plan_file))
            .map_err(|error| self.trouble(&format!("the inputs of the plan could not be kept: {error}")))
    }

    /// Applies the very plan that [`Steps::plan`] made. What it had done when it failed stays done.
    pub async fn apply(&self, mut hear: impl FnMut(&str)) -> Result<(), Trouble> {
        let arguments = ["apply", "-input=false", "-no-color", "-json", "-lock-timeout=5m", PLAN];
        let call = self.call(arguments.map(str::to_owned).into());
        let mut errors = Errors::default();
        let left = call
            .run(|line| {
                errors.line(line);
                hear(line);
            })
            .await
            .map_err(|error| self.process(&error))?;
        if left.status.success() {
            return Ok(());
        }
        Err(if errors.is_empty() { self.said(&left) } else { self.trouble(&errors.text()) })
    }

    /// What the state holds now.
    pub async fn kept(&self) -> Result<Kept, Trouble> {
        let call = self.call(["state", "pull"].map(str::to_owned).into());
        let (kept, left) = call.pipe(crate::land::read).await.map_err(|error| self.process(&error))?;
        if !left.status.success() {
            return Err(self.said(&left));
        }
        kept.map_err(|error| self.trouble(&format!("the state could not be read: {error}")))
    }

    /// Reads the plan that [`Steps::plan`] made.
    pub async fn show(&self, source: &str, tokens: &Tokens) -> Result<(Plan, Outputs), Trouble> {
        let (source, redactor, tokens) = (source.to_owned(), self.redactor.clone(), tokens.clone());
        let call = self.call(["show", "-json", "-no-color", PLAN].map(str::to_owned).into());
        let read = move |file| {
            let reading = Reading { source: &source, redactor: &redactor, tokens: Some(&tokens), ours: true };
            plan::read(file, reading)
        };
        let ((mut plan, outputs), left) = call.pipe(read).await.map_err(|error| self.process(&error))?;
        if !left.status.success() {
            return Err(self.said(&left));
        }
        if let Document::NotAPlan(why) = &plan.document {
            return Err(self.trouble(&format!("{} told no plan: {why}", self.engine)));
        }
        let plan_file = self.copy.directory.join(PLAN);
        let judged = || {
            let freshness = inputs::judge_plan_file(&plan_file, &self.engine.to_string());
            Ok((freshness.unwrap_or(Freshness::NotJudged), crate::state::of_plan_file(&plan_file)))
        };
        (plan.freshness, plan.state) = acting(self.children.user, judged).unwrap_or((Freshness::NotJudged, None));
        Ok((plan, outputs))
    }
}

/// The engine's words when the lock file lacks something, as against one whose checksums are wrong.
fn lock_is_short(left: &Left) -> bool {
    let said =
        format!("{}{}", left.stdout, left.stderr).split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let wrong =
        ["does not match any of the checksums", "checksum list has unexpected", "doesn't match any of the checksums"];
    let short = [
        "provider dependency changes detected",
        "inconsistent dependency lock file",
        "does not match configured version constraint",
        "the required_providers",
        "required_provider",
        "-upgrade",
        "no version is selected",
    ];
    !wrong.iter().any(|words| said.contains(words)) && short.iter().any(|words| said.contains(words))
}

/// Reads a plan file that some engine made, in its own folder. A file that is not there is told as [`Document::Missing`].
pub async fn read_plan_file(
    engine: &Engine,
    plan_file: &Path,
    environment: &BTreeMap<String, String>,
    redactor: &Redactor,
) -> Result<Plan, Trouble> {
    let name = plan_file.to_string_lossy().into_owned();
    if !plan_file.is_file() {
        return Ok(Plan { source: name, document: Document::Missing, ..Plan::default() });
    }
    let folder = match plan_file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let file = plan_file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let here = [folder.as_path()];
    let trouble = |text: &str| trouble::judge(text, redactor, &here);
    let freshness =
        inputs::judge_plan_file(plan_file, &engine.to_string()).map_err(|error| trouble(&error.to_string()))?;
    let call = Call {
        program: &engine.binary,
        arguments: vec!["show".into(), "-json".into(), "-no-color".into(), file],
        directory: &folder,
        children: Children { environment, user: None, stop: &Stop::never() },
        limit: Duration::from_mins(10),
    };
    let (source, own) = (name.clone(), redactor.clone());
    let read = move |file| plan::read(file, Reading { source: &source, redactor: &own, tokens: None, ours: false }).0;
    let (mut plan, left) = call.pipe(read).await.map_err(|error| trouble(&error.to_string()))?;
    if !left.status.success() {
        return Err(trouble(&trouble::from_text(&left.stderr)));
    }
    plan.freshness = freshness;
    plan.state = crate::state::of_plan_file(plan_file);
    Ok(plan)
}

/// Reads a plan's JSON from a file. Its freshness is not judged: nothing says what it was made from.
pub fn read_json_file(path: &Path, redactor: &Redactor) -> std::io::Result<Plan> {
    let source = path.to_string_lossy();
    let file = fs::File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    Ok(plan::read(file, Reading { source: &source, redactor, tokens: None, ours: false }).0)
}
