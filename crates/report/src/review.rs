//! What a review says beside its report: while it plans, when it ends early, when the pull request is closed, and on the lines of the tree.

use crate::compose;
use crate::document::{Line, code, prose};
use crate::inert;
use crate::markdown::{Links, render};
use crate::say;
use csis_values::report::{Report, RootReport};
use csis_values::verdict::{Finding, Weight};
use csis_values::{Diagnostic, Place, Severity};
use std::fmt::Write as _;

/// Roots that a comment names while they are planned.
const NAMED: usize = 40;
/// The longest text of an annotation, in characters; GitHub folds longer ones away.
const ANNOTATION: usize = 1500;

/// The run that a comment is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    pub head: String,
    pub run_url: String,
    /// The tree's root in its repository where it is not the top.
    pub root: Option<String>,
}

impl RunFacts {
    fn tree(&self) -> Line {
        match &self.root {
            Some(root) => say![" of ", code(root.clone())],
            None => Line::default(),
        }
    }

    /// The last line of a comment: which commit it speaks of, and where the run is.
    pub fn foot(&self) -> String {
        let head = self.head.get(..8).unwrap_or(&self.head);
        format!("\n<sub>`{head}`{} · [run]({})</sub>\n", inline(&self.tree()), self.run_url)
    }
}

fn inline(line: &Line) -> String {
    render::inline(line, &Links::default())
}

/// The comment of a run that is under way; `roots`: what each is at.
pub fn planning(facts: &RunFacts, roots: &[(String, String)]) -> String {
    let head = facts.head.get(..8).unwrap_or(&facts.head);
    let mut text = format!("⏳ **Planning** `{head}`{}. The result replaces this text.\n", inline(&facts.tree()));
    if !roots.is_empty() {
        text += "\n| root | is |\n| --- | --- |\n";
        for (name, what) in roots.iter().take(NAMED) {
            let _ = writeln!(text, "| {} | {} |", inline(&code(name.clone())), inline(&prose(what.clone())));
        }
        if roots.len() > NAMED {
            let _ = writeln!(text, "\nand {} more.", roots.len() - NAMED);
        }
    }
    text + &facts.foot()
}

/// The comment of a run that was stopped.
pub fn cancelled(facts: &RunFacts) -> String {
    let text = "🚫 **Cancelled** before the plan was complete: nothing here has been judged. A new push, or running the job again, plans anew.\n";
    text.to_owned() + &facts.foot()
}

/// The comment of a run that could not begin, with what it said.
pub fn failed(facts: &RunFacts, findings: &[Diagnostic]) -> String {
    let mut text = "❌ **Not planned**: csis could not start its work.\n\n".to_owned();
    for finding in findings.iter().take(20) {
        let mut line = say!["- ", prose(finding.message.clone())];
        if let Some(help) = &finding.help {
            line = line.then(" → ").then(prose(help.clone()));
        }
        text += &inline(&line);
        text.push('\n');
    }
    text + &facts.foot()
}

/// Nothing of the tree is in the change.
pub fn untouched(facts: &RunFacts) -> String {
    "✅ **Nothing of csis changed**: this change touches neither the tree nor what its plans are made with.\n"
        .to_owned()
        + &facts.foot()
}

/// A comment of a pull request that is closed: what it said, folded.
pub fn closed(merged: bool, before: &str) -> String {
    let first = if merged { "🟣 **Merged.**" } else { "⚪ **Closed without merging.**" };
    format!("{first}\n\n<details><summary>The last review</summary>\n\n{}\n\n</details>\n", before.trim_end())
}

/// What stands above the report of a change that was planned without credentials by construction.
pub fn without_credentials(who: &str) -> String {
    format!(
        "> [!NOTE]\n> This change comes from {who}. It was checked and generated with no credential, so no root was planned. Merging it does not apply by itself: \
         what it would do is judged by the merge queue, or when a maintainer pushes it to a branch of this repository.\n\n"
    )
}

/// A finding on a line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub severity: Severity,
    /// The rule's id.
    pub title: String,
    pub message: String,
    pub at: Place,
}

/// The findings that have a line, worst first.
pub fn marks(report: &Report) -> Vec<Mark> {
    let of_tree = report.diagnostics.iter().filter_map(|finding| {
        Some(Mark {
            severity: finding.severity,
            title: inert::one_line(&finding.code, inert::NAME),
            message: words(&finding.message, finding.help.as_deref()),
            at: finding.at.clone()?,
        })
    });
    let of_roots = report.roots.iter().filter(|root| root.concerned).flat_map(|root| {
        root.findings.iter().filter_map(|finding| {
            Some(Mark {
                severity: severity(finding),
                title: inert::one_line(&finding.rule, inert::NAME),
                message: words(&said(root, finding), Some(&finding.remedy)),
                at: finding.at.clone()?,
            })
        })
    });
    let mut marks: Vec<Mark> = of_tree.chain(of_roots).filter(|mark| mark.severity != Severity::Note).collect();
    marks.sort_by(|a, b| {
        (a.severity, &a.at.file, a.at.line, a.at.column).cmp(&(b.severity, &b.at.file, b.at.line, b.at.column))
    });
    marks
}

fn said(root: &RootReport, finding: &Finding) -> String {
    let what = finding.address.as_deref().unwrap_or(&root.name);
    format!("{what}: {}", finding.message)
}

fn severity(finding: &Finding) -> Severity {
    match finding.weight {
        Weight::Refuse => Severity::Error,
        Weight::Confirm | Weight::Warn => Severity::Warning,
        Weight::Note => Severity::Note,
    }
}

fn words(message: &str, help: Option<&str>) -> String {
    let help = help.filter(|help| !help.is_empty()).map(|help| format!("\n{}", inert::one_line(help, ANNOTATION)));
    inert::one_line(message, ANNOTATION) + &help.unwrap_or_default()
}

/// The first sentence of a report as plain text, for a check's title.
pub fn headline(report: &Report) -> String {
    let (_, line) = compose::lead::lead(report);
    crate::text::plain(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> RunFacts {
        RunFacts { head: "0123456789abcdef".into(), run_url: "https://h/r/1".into(), root: Some("infra|x".into()) }
    }

    #[test]
    fn progress_names_roots_and_no_name_breaks_the_table() {
        let roots = [("storage/a|b".to_owned(), "planned\n| x | y |".to_owned())];
        let text = planning(&facts(), &roots);
        assert!(text.starts_with("⏳ **Planning** `01234567` of <code>infra&#124;x</code>."), "{text}");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), 3, "{text}");
        assert_eq!(rows[2].matches(" | ").count(), 1, "{text}");
    }

    #[test]
    fn a_closed_pull_request_keeps_its_review_folded() {
        let text = closed(false, "the report\n");
        assert!(text.starts_with("⚪ **Closed without merging.**\n\n<details>"), "{text}");
        assert!(text.contains("\n\nthe report\n\n</details>"));
    }

    #[test]
    fn lines_are_marked_worst_first() {
        let at = |line| Place::new("cfg/a.yml", line, 1);
        let report = Report {
            diagnostics: vec![
                Diagnostic::warning("w", "later").at(&at(1)),
                Diagnostic::error("e", "now\u{1b}[31m").at(&at(9)).help("do this"),
                Diagnostic::error("nowhere", "no line"),
                Diagnostic::note("n", "quiet").at(&at(2)),
            ],
            ..Report::default()
        };
        let marks = marks(&report);
        let told: Vec<(&str, u32)> = marks.iter().map(|m| (m.title.as_str(), m.at.line)).collect();
        assert_eq!(told, [("e", 9), ("w", 1)]);
        assert_eq!(marks[0].message, "now␛[31m\ndo this");
    }
}
