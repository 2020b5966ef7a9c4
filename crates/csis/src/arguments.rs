//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Parser)]
#[command(
    name = "csis",
    version,
    about = "Machine images, storages and instances from a tree of YAML: generated, planned, gated, explained",
    long_about = "csis reads a configuration tree (cfg/, groups/, storages/, images/, instances/), generates its OpenTofu roots, plans each with the real \
                  engine, refuses what no declared operation sanctions, and explains all of it.\n\nResults go to stdout, everything for people to stderr.",
    after_help = "Exit codes: 0 done · 1 failed or refused by validation · 2 usage or environment · 3 refused by a gate · 75 locked by another.\n\
                  Start with `csis doctor`, then `csis preview`.",
    max_term_width = 120
)]
pub struct Arguments {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Headings under which the help of every command lists the options that all commands have.
const TREE: &str = "Tree";
const RUN: &str = "Run";

#[derive(Debug, Args)]
pub struct Global {
    /// The configuration root: the folder that holds cfg/
    #[arg(help_heading = TREE, long, visible_alias = "root-dir", value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Ask no cloud and read no remote state; what needs one is said to be not judged
    #[arg(help_heading = RUN, long, global = true)]
    pub offline: bool,
    /// Read what the clouds hold from a snapshot file
    #[arg(help_heading = RUN, long, value_name = "FILE", global = true)]
    pub snapshot: Option<PathBuf>,
    /// Lay a file of transient declarations over the tree; its path begins at the tree's root, else at the present folder (repeatable)
    #[arg(help_heading = TREE, long, value_name = "FILE", global = true)]
    pub overlay: Vec<String>,
    /// Treat an entry as absent, e.g. instance:api-1 (repeatable)
    #[arg(help_heading = TREE, long, value_name = "KIND:NAME", global = true)]
    pub undeclare: Vec<String>,
    /// Leave the roots of every other runtime as they are
    #[arg(help_heading = TREE, long, value_name = "RT", global = true)]
    pub only_runtime: Option<String>,
    /// Let storages and instances of this runtime apply, whatever the tree's flags say
    #[arg(help_heading = TREE, long, value_name = "RT", global = true)]
    pub apply_runtime: Option<String>,
    /// How many roots are planned at the same time
    #[arg(help_heading = RUN, long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64), global = true)]
    pub parallel: u8,
    /// Use this binary, a path or a name on PATH, for every executable of that name or type, e.g. tofu=terraform (repeatable)
    #[arg(help_heading = RUN, long, value_name = "NAME=PATH", global = true, value_parser = name_and_path)]
    pub tool: Vec<(String, String)>,
    /// How messages and progress are written to stderr
    #[arg(help_heading = RUN, long, value_enum, default_value_t = Log::Text, global = true)]
    pub log: Log,
}

fn name_and_path(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), path.to_owned())),
        _ => Err("write NAME=PATH, e.g. tofu=/usr/local/bin/tofu".into()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Log {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    Markdown,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Judge the tree: every refusal at once, with its place and what to do
    ///
    /// Uses no network, no credential and starts no process.
    Validate,
    /// Write the emission: the OpenTofu roots and the scripts that run them
    ///
    /// Uses no network, no credential and starts no process; the same tree gives the same bytes everywhere. Names the lifecycles to write (all by default).
    Generate {
        /// identity, storage, base-image, instance-image, release, retention
        lifecycles: Vec<String>,
    },
    /// Generate, plan every root with the real engine, gate the plans and report
    Plan {
        /// identity, storage, base-image, instance-image, release, retention
        lifecycles: Vec<String>,
        #[command(flatten)]
        report: ReportArguments,
    },
    /// The pull-request comment for the working tree, in the terminal
    ///
    /// Compares the working tree (uncommitted files included) with its merge base, plans the working tree against the base's records, gates the plans and
    /// renders the comment. Writes nothing below generated/.
    Preview {
        /// The reference the change is for; the remote's default branch when left out
        #[arg(long, value_name = "REF")]
        base: Option<String>,
        #[command(flatten)]
        report: ReportArguments,
    },
    /// Judge one plan, as the generated scripts do
    ///
    /// Reads a plan file (--planfile) or a plan as JSON; exits 3 when it does what nothing sanctions. The rules: docs/gate.md.
    GatePlan(GatePlanArguments),
    /// Whether the tree's flags, read now, let a root be applied
    ApplyCheck(ApplyCheckArguments),
    /// Lay a root into its private working copy, with encrypted values opened, and print its path
    ///
    /// The engine runs there and nowhere else: generated/ holds encrypted values as their markers. The copy is below _private/, which git ignores.
    #[command(after_help = "Example: look at a root's plan with the engine itself\n\n  \
        csis generate\n  \
        cd \"$(csis materialize generated/storage/volumes/storage-generation)\"\n  \
        tofu init && tofu plan")]
    Materialize {
        /// The folder of a root below the generation directory, from the present folder
        source: PathBuf,
    },
    /// Move a machine or an image onto another build
    ///
    /// With a remote, writes a file of operations/ for a pull request: it is reviewed as any change, and a landing does it once. Without one, writes the
    /// records at once. Moves one edge and never more.
    #[command(
        after_help = "Examples:\n\n  csis upgrade instance api-1\n  csis upgrade image harbor-api --runtime aws-west --to ami-0123456789abcdef0"
    )]
    Upgrade {
        #[command(subcommand)]
        what: UpgradeCommand,
    },
    /// Drop a machine that is gone and declared no more from the records
    ///
    /// With a remote, writes a file of operations/ for a pull request; without one, writes the records at once.
    Forget {
        #[command(subcommand)]
        what: ForgetCommand,
    },
    /// The container's entry: decide by GitHub's event, run the flow, set outputs
    ///
    /// Reads the environment of a workflow's run and its inputs; in a shell use `csis preview`.
    Action,
    /// What is missing to run here, each with its remedy; and the policies of the AWS roles
    ///
    /// Prints at its end what the read role must be allowed for this tree, and the trust policies of the read role and the apply role for this repository, as JSON
    /// to paste. The repository is the one of GITHUB_REPOSITORY, else of the remote `origin`.
    Doctor,
    /// JSON Schema of every file of the tree and of the report
    Schema {
        /// One schema: `report`, or a model of the tree such as `storages`; all when left out
        name: Option<String>,
    },
    /// Write or refresh the Terraform modules that csis carries, where the tree's module_source_base says
    InitConfig {
        /// The tree; the one of --root when left out
        destination: Option<PathBuf>,
        /// Replace module files that were edited
        #[arg(long)]
        force: bool,
    },
    /// Comes with landing: exits 2
    #[command(hide = true)]
    Storage {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Comes with landing: exits 2
    #[command(hide = true)]
    Unmount {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Comes with the cloud clients: exits 2
    #[command(hide = true)]
    Look {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Comes with landing: exits 2
    #[command(hide = true)]
    Verify {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum UpgradeCommand {
    /// Replace a machine by one of another build of its image
    Instance {
        name: String,
        /// The build, as the records have it; the newest of the image when left out
        #[arg(long, value_name = "BUILD")]
        to: Option<String>,
    },
    /// Bake an image from another build of its parent
    Image {
        name: String,
        /// The build of the parent; the newest when left out
        #[arg(long, value_name = "BUILD")]
        to: Option<String>,
        /// Where; needed when the image is baked on several runtimes
        #[arg(long, value_name = "RT")]
        runtime: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum ForgetCommand {
    /// Drop its pin and its launch; its number stays taken
    Instance { name: String },
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// How the report is written to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write the comment as Markdown to a file as well
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What makes the exit code non-zero besides a failure: gate (a refusal; always on), unavailable (a root that was not judged), drift
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "unavailable")]
    pub fail_on: Vec<String>,
}

#[derive(Debug, Args)]
pub struct GatePlanArguments {
    /// A plan as JSON (`tofu show -json tfplan`)
    pub plan_json: Option<PathBuf>,
    /// A plan file; read with the engine, and judged for freshness
    #[arg(long, value_name = "FILE")]
    pub planfile: Option<PathBuf>,
    /// The engine that reads the plan file
    #[arg(long, value_name = "BIN", default_value = "tofu")]
    pub tofu: String,
    /// Allow destroys and replacements at or under an address (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    pub allow_destroy: Vec<String>,
    /// Allow the destroys whose exact addresses stand in a file, one a line (repeatable)
    #[arg(long, value_name = "FILE")]
    pub allow_destroy_from: Vec<PathBuf>,
    /// Allow replacements at or under an address (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    pub allow_replace: Vec<String>,
    /// Allow that an object leaves management (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    pub allow_forget: Vec<String>,
    /// Require a fresh receipt that the storage is unmounted (repeatable)
    #[arg(long, value_name = "INSTANCE:STORAGE")]
    pub require_unmounted: Vec<String>,
    /// The run whose receipts count as fresh
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// Refuse what cannot be judged: a plan without `complete` or without its configuration, one whose freshness is unknown; and objects that csis never makes
    #[arg(long)]
    pub strict: bool,
    /// The present time, for tests
    #[arg(long, hide = true)]
    pub now: Option<String>,
}

#[derive(Debug, Args)]
pub struct ApplyCheckArguments {
    /// identity, storage, instances or release
    #[arg(long, value_name = "WHICH")]
    pub lifecycle: String,
    /// The tree; found by walking up when left out
    #[arg(long, value_name = "DIR")]
    pub config_root: Option<PathBuf>,
    /// The root's builder
    #[arg(id = "root_name", long = "root", value_name = "NAME", allow_hyphen_values = true)]
    pub root_name: Option<String>,
    /// Another name the flag may list it by (its runtime)
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub root_alias: Vec<String>,
}
