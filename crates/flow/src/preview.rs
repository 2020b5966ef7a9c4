//! `csis preview`: the comment for the working tree against its merge base. Writes nothing below the generation directory.

use crate::Invocation;
use crate::generate;
use crate::git::{GitError, Repository, short};
use crate::invocation::TemplateVariables;
use crate::judging::{self, Case, FailOn};
use crate::outcome::{Exit, Outcome};
use crate::reach::{self, Against, Reach};
use crate::reading::{self, Reading, RecordsFrom};
use csis_engine::{Progress, Redactor};
use csis_values::Diagnostic;
use csis_values::records::Records;
use csis_values::report::{Report, TreeFacts};
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
    progress.step("the tree", "reading it and its base");
    let report = match prepare(invocation, &Compared::With(reference))? {
        Prepared::Refused(report) => *report,
        Prepared::Ready(change) => change.plan(invocation, progress).await?,
    };
    let exit = judging::exit(&report, invocation.is_unplanned(), fail_on);
    Ok(Outcome { report: Some(Box::new(report)), ..Outcome::new(exit) })
}

/// What a change is compared with.
pub enum Compared<'a> {
    /// Its merge base with a reference; with the remote's default branch when none is named.
    With(Option<&'a str>),
    /// This very commit: the one that a merge commit was made on.
    Commit { commit: &'a str, name: &'a str },
    /// Nothing: the tree as it is.
    Nothing,
}

/// A change that was read and judged so far as no plan is needed for it.
pub enum Prepared {
    Refused(Box<Report>),
    Ready(Box<Change>),
}

/// A change, ready to be planned.
pub struct Change {
    pub reading: Reading,
    /// The base's tree and records; none when there is no base, or none that loads.
    pub before: Option<(Tree, Records)>,
    pub facts: TreeFacts,
    touched: Reach,
}

impl Change {
    /// The tree whose settings judge: the base's, when there is one.
    pub fn judges(&self) -> &Tree {
        self.before.as_ref().map_or(&self.reading.tree, |(tree, _)| tree)
    }

    /// Whether the code that every root is planned with is another one.
    pub fn touches_every_root(&self) -> bool {
        self.touched.every_root
    }

    /// Plans every root, gates the plans and reports.
    pub async fn plan(self, invocation: &Invocation, progress: Arc<dyn Progress>) -> Result<Report, Outcome> {
        let Change { mut reading, before, facts, touched } = self;
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
            let launched_otherwise = csis_emit::effect::launched_with_other_values(&old_emission, &emission);
            judging::Effect { files, concerned, launched_otherwise }
        });
        let judges = before.as_ref().map_or(&reading.tree, |(tree, _)| tree);
        let case = Case { invocation, reading: &reading, intent, emission, judges, facts, effect, keep_locks: false };
        judging::report(case, progress).await
    }
}

/// Reads a change and its base, and judges what needs no plan.
pub fn prepare(invocation: &Invocation, compared: &Compared<'_>) -> Result<Prepared, Outcome> {
    let root = reading::root_of(invocation)?;
    let mut notes = Vec::new();
    let base = find_base(&root, compared, &mut notes)?;
    // Records come from the base, never from the change: a change must not write its own sanctions.
    let records = base.as_ref().map_or(RecordsFrom::Folder, |base| RecordsFrom::Files(&base.files));
    let listing;
    let invocation = if invocation.template_variables == TemplateVariables::OfBase {
        let names = base.as_ref().map_or_else(|| Ok(Vec::new()), |base| listed(invocation, base))?;
        listing = Invocation { template_variables: TemplateVariables::Listed(names), ..invocation.clone() };
        &listing
    } else {
        invocation
    };
    let mut reading = match Reading::of(invocation, &[], &records) {
        // A tree of which nothing can be read: its findings are what a reader needs.
        Err(outcome) if outcome.exit == Exit::Failed => {
            let report = judging::refused_tree(outcome.findings, facts(None, base.as_ref()));
            return Ok(Prepared::Refused(Box::new(report)));
        }
        read => read?,
    };
    reading.findings.0.extend(notes);
    reading.findings.0.extend(reach::private_tracked(&root, &reading.tree.generation_directory));
    let facts = facts(Some(&reading.tree), base.as_ref());
    let refused = reading.findings.is_refused();
    let identities = invocation.opening().map_err(Outcome::usage)?;
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
    // What the change edits beside its tree is told with the tree's own errors, and keeps nothing from being planned.
    let left = before.as_ref().map(|(tree, _)| tree.generation_directory.as_str());
    let mut touched =
        base.as_ref().map_or_else(Reach::default, |base| reach::of(&base.against(), &root, &reading.tree, left));
    reading.findings.0.append(&mut touched.findings);
    if refused {
        let report = judging::refused_tree(reading.findings.0, facts);
        return Ok(Prepared::Refused(Box::new(report)));
    }
    if let Some((tree, records)) = &before {
        reading.findings.0.extend(csis_resolve::account_changes(tree, &reading.tree, records));
    }
    Ok(Prepared::Ready(Box::new(Change { reading, before, facts, touched })))
}

/// The commit a change is compared with, and the tree's files there.
struct Base {
    repository: Repository,
    commit: String,
    /// The commit that was named, and how.
    tip: String,
    name: String,
    files: BTreeMap<String, Vec<u8>>,
}

impl Base {
    fn against(&self) -> Against<'_> {
        Against { repository: &self.repository, base: &self.commit, tip: &self.tip, name: &self.name }
    }
}

/// None without git, or without a commit: head stands alone, and that is said.
fn find_base(
    root: &std::path::Path,
    compared: &Compared<'_>,
    notes: &mut Vec<Diagnostic>,
) -> Result<Option<Base>, Outcome> {
    let reference = match compared {
        Compared::With(reference) => *reference,
        Compared::Commit { name, .. } => Some(*name),
        Compared::Nothing => return Ok(None),
    };
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
    let chosen = reference.map(str::to_owned).or_else(|| repository.default_branch()).unwrap_or_else(|| {
        notes.push(
            Diagnostic::warning(
                "base-is-head",
                "git knows no default branch of a remote, so only what is not committed is shown",
            )
            .help("name what to compare with, e.g. `csis preview --base main`, or let git learn it: `git remote set-head origin --auto`"),
        );
        "HEAD".into()
    });
    let cannot = |help: String| {
        move |error: GitError| Outcome::usage(Diagnostic::error("no-base", error.to_string()).help(help))
    };
    let at = |repository: &Repository, commit: &str| {
        repository
            .files_at(commit, &["_private", "generated"])
            .map_err(cannot("the base's files could not be read from git".into()))
    };
    if let Compared::Commit { commit, name } = compared {
        let (commit, name) = ((*commit).to_owned(), (*name).to_owned());
        let files = at(&repository, &commit)?;
        return Ok(Some(Base { repository, tip: commit.clone(), commit, name, files }));
    }
    let tip = repository.commit(&chosen).map_err(|_| {
        Outcome::usage(
            Diagnostic::error("no-base", format!("git knows no commit `{chosen}`"))
                .help("name a branch, tag or commit with --base; a shallow clone may need `git fetch` first"),
        )
    })?;
    let commit = repository.merge_base(&head, &tip).map_err(cannot(format!(
        "HEAD and `{chosen}` share no commit that is here; a shallow clone may need `git fetch --unshallow`"
    )))?;
    let files = at(&repository, &commit)?;
    Ok(Some(Base { repository, commit, tip, name: chosen, files }))
}

/// The variables that the base lets templates read.
fn listed(invocation: &Invocation, base: &Base) -> Result<Vec<String>, Outcome> {
    let request = invocation.request(&[]).map_err(Outcome::usage)?;
    let identities = invocation.opening().map_err(Outcome::usage)?;
    Ok(reading::base(&base.files, &request, &identities).map(|(tree, ..)| tree.config.template_env).unwrap_or_default())
}

fn facts(tree: Option<&Tree>, base: Option<&Base>) -> TreeFacts {
    let repository = base.map(|b| &b.repository);
    TreeFacts {
        id: tree.map(|tree| tree.id.value.clone()).unwrap_or_default(),
        root: repository.map_or(".", |r| if r.prefix.is_empty() { "." } else { &r.prefix }).to_owned(),
        base: base.map(|b| b.commit.clone()),
        head: repository.and_then(Repository::head),
        dirty: repository.zip(tree).is_some_and(|(r, tree)| r.is_dirty(&tree.generation_directory)),
    }
}
