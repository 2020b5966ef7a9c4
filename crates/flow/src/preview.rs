//! `csis preview`: the comment for the working tree against its merge base. Writes nothing below the generation directory.

use crate::Invocation;
use crate::generate;
use crate::git::{GitError, Repository};
use crate::judging::{self, Case, FailOn};
use crate::outcome::{Exit, Outcome};
use crate::reach::{self, Reach};
use crate::reading::{self, Reading, RecordsFrom};
use csis_engine::{Progress, Redactor};
use csis_values::Diagnostic;
use csis_values::records::Records;
use csis_values::report::TreeFacts;
use csis_values::tree::Tree;
use std::collections::BTreeMap;
use std::sync::Arc;

pub async fn run(
    invocation: &Invocation,
    reference: Option<&str>,
    fail_on: &[String],
    progress: Arc<dyn Progress>,
) -> Outcome {
    match attempt(invocation, reference, fail_on, progress).await {
        Ok(outcome) | Err(outcome) => outcome,
    }
}

async fn attempt(
    invocation: &Invocation,
    reference: Option<&str>,
    fail_on: &[String],
    progress: Arc<dyn Progress>,
) -> Result<Outcome, Outcome> {
    let fail_on = FailOn::parse(fail_on).map_err(Outcome::usage)?;
    let root = reading::root_of(invocation)?;
    progress.step("the tree", "reading it and its base");
    let mut notes = Vec::new();
    let base = find_base(&root, reference, &mut notes)?;
    // Records come from the base, never from the change: a change must not write its own sanctions.
    let records = base.as_ref().map_or(RecordsFrom::Folder, |base| RecordsFrom::Files(&base.files));
    let mut reading = Reading::of(invocation, &[], &records)?;
    reading.findings.0.extend(notes);
    reading.findings.0.extend(reach::private_tracked(&root, &reading.tree.generation_directory));
    let facts = facts(&reading, base.as_ref());
    if reading.findings.is_refused() {
        let report = judging::refused_tree(reading.findings.0, facts);
        return Ok(Outcome { report: Some(Box::new(report)), ..Outcome::new(Exit::Failed) });
    }

    let identities = invocation.identities().map_err(Outcome::usage)?;
    let before = base.as_ref().and_then(|base| match reading::base(&base.files, &reading.request, &identities) {
        Ok((tree, records, secrets)) => {
            reading.base_secrets = Some(secrets);
            Some((tree, records))
        }
        Err(found) => {
            let first =
                found.iter().find(|d| d.severity == csis_values::Severity::Error).map_or("", |d| d.message.as_str());
            reading.findings.push(Diagnostic::warning(
                "base-unreadable",
                format!("the base {} does not load, so there is nothing to compare with: {first}", short(&base.commit)),
            ));
            None
        }
    });
    let touched = base
        .as_ref()
        .map_or_else(Reach::default, |base| reach::of(&base.repository, &base.commit, &root, &reading.tree));
    reading.findings.0.extend(touched.findings);
    let (mut intent, emission) = generate::emit(&mut reading)?;
    let effect = before.as_ref().map(|(tree, records): &(Tree, Records)| {
        let (mut old_intent, old_emission, _) =
            generate::make(tree, records, reading.snapshot.as_ref(), &reading.request);
        csis_resolve::follow_changes(tree, &reading.tree, &mut intent);
        // What follows a change of a declaration follows none in the base: left there, it would be a difference that nobody made.
        csis_resolve::follow_changes(tree, tree, &mut old_intent);
        let mut files = csis_emit::effect::effect(&old_emission, &emission);
        let mut concerned = csis_emit::effect::concerned(&files, &old_intent, &intent);
        if touched.every_root {
            concerned.extend(intent.roots.iter().map(|root| root.id.clone()));
        }
        // Compared first: of a secret that changes, it is told that it does.
        let redactor = Redactor::new(reading.hidden());
        for file in &mut files {
            file.diff = redactor.configuration(&file.diff);
        }
        (files, concerned)
    });
    let judges = before.as_ref().map_or(&reading.tree, |(tree, _)| tree);
    let case = Case { invocation, reading: &reading, intent, emission, judges, facts, effect, keep_locks: false };
    let report = judging::report(case, progress).await?;
    let exit = judging::exit(&report, invocation.offline, fail_on);
    Ok(Outcome { report: Some(Box::new(report)), ..Outcome::new(exit) })
}

/// The commit a change is compared with, and the tree's files there.
struct Base {
    repository: Repository,
    commit: String,
    files: BTreeMap<String, Vec<u8>>,
}

/// None without git, or without a commit: head stands alone, and that is said.
fn find_base(
    root: &std::path::Path,
    reference: Option<&str>,
    notes: &mut Vec<Diagnostic>,
) -> Result<Option<Base>, Outcome> {
    let repository = match Repository::find(root) {
        Ok(repository) => repository,
        Err(error @ (GitError::NoGit | GitError::NoRepository(_))) if reference.is_none() => {
            notes.push(Diagnostic::note("no-base", format!("{error}; the tree is shown alone")));
            return Ok(None);
        }
        Err(error) => {
            return Err(Outcome::usage(
                Diagnostic::error("no-base", error.to_string()).help("run it in a git repository, or leave --base out"),
            ));
        }
    };
    let Some(head) = repository.head() else {
        notes.push(Diagnostic::note("no-base", "the repository has no commit yet; the tree is shown alone"));
        return Ok(None);
    };
    let chosen = reference.map(str::to_owned).or_else(|| repository.default_branch()).unwrap_or_else(|| "HEAD".into());
    let cannot = |help: String| {
        move |error: GitError| Outcome::usage(Diagnostic::error("no-base", error.to_string()).help(help))
    };
    let tip = repository.commit(&chosen).map_err(|_| {
        Outcome::usage(
            Diagnostic::error("no-base", format!("git knows no commit `{chosen}`"))
                .help("name a branch, tag or commit with --base; a shallow clone may need `git fetch` first"),
        )
    })?;
    let commit = repository.merge_base(&head, &tip).map_err(cannot(format!(
        "HEAD and `{chosen}` share no commit that is here; a shallow clone may need `git fetch --unshallow`"
    )))?;
    let files = repository
        .files_at(&commit, &["_private", "generated"])
        .map_err(cannot("the base's files could not be read from git".into()))?;
    Ok(Some(Base { repository, commit, files }))
}

fn facts(reading: &Reading, base: Option<&Base>) -> TreeFacts {
    let repository = base.map(|b| &b.repository);
    TreeFacts {
        id: reading.tree.id.value.clone(),
        root: repository.map_or(".", |r| if r.prefix.is_empty() { "." } else { &r.prefix }).to_owned(),
        base: base.map(|b| b.commit.clone()),
        head: repository.and_then(Repository::head),
        dirty: repository.is_some_and(|r| r.is_dirty(&reading.tree.generation_directory)),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}
