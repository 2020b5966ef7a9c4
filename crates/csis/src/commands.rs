//! From arguments to the flow of each command.

use crate::arguments::{
    ApplyCheckArguments, Arguments, Command, ForgetCommand, Format, GatePlanArguments, Global, ReportArguments,
    UpgradeCommand,
};
use crate::terminal::Terminal;
use csis_flow::apply_check::ApplyCheckArgs;
use csis_flow::gate_plan::GatePlanArgs;
use csis_flow::operate::Asked;
use csis_flow::{
    Exit, Invocation, Outcome, action, apply_check, doctor, gate_plan, generate, materialize, modules, operate, plan,
    preview, schema, validate,
};
use csis_values::Diagnostic;
use std::path::Path;
use std::sync::Arc;

pub fn run(arguments: Arguments, terminal: &Arc<Terminal>) -> Outcome {
    let invocation = invocation(&arguments.global);
    if let Command::Plan { report, .. } | Command::Preview { report, .. } = &arguments.command
        && let Some(Err(finding)) = report.output.as_deref().map(can_be_kept)
    {
        return Outcome::usage(finding);
    }
    match arguments.command {
        Command::Validate => validate::run(&invocation),
        Command::Generate { lifecycles } => generate::run(&invocation, &lifecycles),
        Command::Plan { lifecycles, report } => {
            let outcome = block_on(async {
                plan::run(&interruptible(invocation), &lifecycles, &report.fail_on, terminal.clone()).await
            });
            render(outcome, &report)
        }
        Command::Preview { base, report } => {
            let outcome = block_on(async {
                preview::run(&interruptible(invocation), base.as_deref(), &report.fail_on, terminal.clone()).await
            });
            render(outcome, &report)
        }
        Command::GatePlan(arguments) => gate_plan::run(&invocation, &gate(arguments)),
        Command::ApplyCheck(arguments) => apply_check::run(&invocation, &check(arguments, &invocation)),
        Command::Materialize { source } => materialize::run(&invocation, &source),
        Command::Upgrade { what: UpgradeCommand::Instance { name, to } } => {
            operate::run(&invocation, &Asked::UpgradeInstance { name, to })
        }
        Command::Upgrade { what: UpgradeCommand::Image { name, to, runtime } } => {
            operate::run(&invocation, &Asked::UpgradeImage { name, runtime, to })
        }
        Command::Forget { what: ForgetCommand::Instance { name } } => {
            operate::run(&invocation, &Asked::ForgetInstance { name })
        }
        Command::Action => block_on(async { action::run(&interruptible(invocation), terminal.clone()).await }),
        Command::Doctor => block_on(doctor::run(&invocation)),
        Command::Schema { name } => schema::run(name.as_deref()),
        Command::InitConfig { destination, force } => {
            let destination = destination.unwrap_or_else(|| invocation.root.clone());
            modules::run(&invocation, &destination, force)
        }
        Command::Storage { .. } => later("storage", "Land"),
        Command::Unmount { .. } => later("unmount", "Land"),
        Command::Look { .. } => later("look", "the cloud clients"),
        Command::Verify { .. } => later("verify", "Land"),
    }
}

fn invocation(global: &Global) -> Invocation {
    Invocation {
        root: global.root.clone(),
        offline: global.offline,
        snapshot: global.snapshot.clone(),
        overlays: global.overlay.clone(),
        undeclare: global.undeclare.clone(),
        only_runtime: global.only_runtime.clone(),
        apply_runtime: global.apply_runtime.clone(),
        parallel: usize::from(global.parallel),
        tools: global.tool.iter().cloned().collect(),
        environment: std::env::vars_os()
            .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
            .collect(),
        now: jiff::Timestamp::now(),
        template_variables: csis_flow::invocation::TemplateVariables::Shell,
        unplanned: None,
        children: csis_flow::invocation::Children::default(),
    }
}

/// Engines have process groups of their own, so a terminal's interrupt reaches csis alone: it passes the word on. Asked for within the runtime.
fn interruptible(mut invocation: Invocation) -> Invocation {
    if let Ok(stop) = csis_engine::Stop::at_interrupt() {
        invocation.children.stop = stop;
    }
    invocation
}

fn block_on(work: impl Future<Output = Outcome>) -> Outcome {
    match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => Outcome::usage(Diagnostic::error("runtime", format!("no threads could be started: {error}"))),
    }
}

/// Renders the report of a command in the format asked for, and keeps the comment as a file when asked.
fn render(mut outcome: Outcome, arguments: &ReportArguments) -> Outcome {
    let Some(report) = outcome.report.take() else { return outcome };
    let markdown = || csis_report::markdown(&report, &csis_report::MarkdownOptions::default());
    outcome.stdout = match arguments.format {
        Format::Text => csis_report::text(&report, &Terminal::text_options()),
        Format::Json => csis_report::json(&report),
        Format::Markdown => markdown(),
    };
    if let Some(path) = &arguments.output
        && let Err(finding) = keep(path, &markdown())
    {
        outcome.exit = Exit::Failed;
        outcome.findings.push(finding);
    }
    outcome
}

/// Asked before anything is planned: minutes of work are not to be lost to a slip in a path.
fn can_be_kept(path: &Path) -> Result<(), Diagnostic> {
    let is_new = !path.exists();
    std::fs::OpenOptions::new().append(true).create(true).open(path).map_err(|error| not_kept(path, &error))?;
    // What the command does not come to write must not stand there empty.
    if is_new { std::fs::remove_file(path).map_err(|error| not_kept(path, &error)) } else { Ok(()) }
}

fn keep(path: &Path, comment: &str) -> Result<(), Diagnostic> {
    std::fs::write(path, comment).map_err(|error| not_kept(path, &error))
}

fn not_kept(path: &Path, error: &std::io::Error) -> Diagnostic {
    let why = csis_flow::outcome::why(error);
    Diagnostic::error("cannot-write", format!("the comment cannot be written to {}: {why}", path.display()))
        .help("name a file in a folder that can be written with `--output FILE`")
}

fn gate(arguments: GatePlanArguments) -> GatePlanArgs {
    GatePlanArgs {
        directory: Path::new("").into(),
        plan_json: arguments.plan_json,
        planfile: arguments.planfile,
        tofu: arguments.tofu,
        allow_destroy: arguments.allow_destroy,
        allow_destroy_from: arguments.allow_destroy_from,
        allow_replace: arguments.allow_replace,
        allow_forget: arguments.allow_forget,
        require_unmounted: arguments.require_unmounted,
        run: arguments.run,
        strict: arguments.strict,
        now: arguments.now,
    }
}

fn check(arguments: ApplyCheckArguments, invocation: &Invocation) -> ApplyCheckArgs {
    // A tree named for the whole command line is that tree; without one it is found by walking up.
    let named = (invocation.root != Path::new(".")).then(|| invocation.root.clone());
    ApplyCheckArgs {
        directory: Path::new("").into(),
        lifecycle: arguments.lifecycle,
        config_root: arguments.config_root.or(named),
        root: arguments.root_name,
        root_alias: arguments.root_alias,
    }
}

fn later(command: &str, with: &str) -> Outcome {
    Outcome::usage(
        Diagnostic::error(
            "not-yet",
            format!("`{command}` comes with {with}; this build previews: it neither applies nor asks a cloud"),
        )
        .help("`csis preview` shows what a change would do"),
    )
}
