//! What is wrong with a tree, as a terminal shows it.

use crate::inert;
use crate::text::{BLUE, BOLD, CYAN, Pen, RED, YELLOW};
use crate::words;
use csis_values::{Diagnostic, Severity};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The longest message, in characters.
const MESSAGE: usize = 2_000;

/// So many findings of one code are shown; who has more has one cause, or a tool that reads them as JSON.
const OF_A_KIND: usize = 100;

/// All findings in the order of [`sorted`], with a line that counts them. Empty without any. Of one code, the first hundred are shown and the
/// others counted.
///
/// ```text
/// error[unknown-key]: storage `ledger` has no key `sise`
///  --> storages/storages.yaml:3:5
///   help: write `size`
///
/// 1 error
/// ```
pub fn text(found: &[Diagnostic], colour: bool) -> String {
    let sorted = sorted(found);
    let pen = Pen { width: usize::MAX, colour };
    let mut out = String::new();
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    for diagnostic in &sorted {
        let of_a_kind = shown.entry(&diagnostic.code).or_default();
        *of_a_kind += 1;
        if *of_a_kind <= OF_A_KIND {
            one(&pen, diagnostic, &mut out);
            out.push('\n');
        }
    }
    for (code, count) in shown.into_iter().filter(|(_, count)| *count > OF_A_KIND) {
        let _ = writeln!(out, "{}\n", words::more_of_a_kind((count - OF_A_KIND) as u64, &inert::terminal(code, 80)));
    }
    if !out.is_empty() {
        let _ = writeln!(out, "{}", totals(&sorted));
    }
    inert::no_commands(&out)
}

/// In the order that every reader is told them, each once: errors, then warnings, then notes; of each by file, line and column.
pub fn sorted(found: &[Diagnostic]) -> Vec<&Diagnostic> {
    let mut sorted: Vec<&Diagnostic> = found.iter().collect();
    sorted.sort_by(|a, b| (a.severity, &a.at, &a.message).cmp(&(b.severity, &b.at, &b.message)));
    sorted.dedup();
    sorted
}

fn totals(found: &[&Diagnostic]) -> String {
    let of = |severity| found.iter().filter(|d| d.severity == severity).count() as u64;
    words::totals(of(Severity::Error), of(Severity::Warning), of(Severity::Note))
}

fn one(pen: &Pen, diagnostic: &Diagnostic, out: &mut String) {
    let style = match diagnostic.severity {
        Severity::Error => RED,
        Severity::Warning => YELLOW,
        Severity::Note => BLUE,
    };
    let head = format!("{}[{}]", words::severity(diagnostic.severity), inert::terminal(&diagnostic.code, 80));
    let _ = writeln!(
        out,
        "{}{}",
        pen.paint(style, &head),
        pen.paint(BOLD, &format!(": {}", inert::terminal(&diagnostic.message, MESSAGE)))
    );
    if let Some(at) = &diagnostic.at {
        let _ = writeln!(out, " {} {}", pen.paint(CYAN, "-->"), inert::terminal(&at.to_string(), inert::NAME));
    }
    for (at, what) in &diagnostic.also {
        let place = inert::terminal(&at.to_string(), inert::NAME);
        let _ = writeln!(out, " {} {place}: {}", pen.paint(CYAN, "  ="), inert::terminal(what, MESSAGE));
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(out, "  {} {}", pen.paint(CYAN, "help:"), inert::terminal(help, MESSAGE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use csis_values::Place;

    #[test]
    fn findings_are_sorted_and_counted() {
        let found = [
            Diagnostic::warning("unread-key", "nothing reads `config.colour`").at(&Place::new("cfg/_config.yml", 1, 3)),
            Diagnostic::error("unknown-key", "storage `ledger` has no key `sise`")
                .at(&Place::new("cfg/_config.yml", 3, 5))
                .also(&Place::new("cfg/x.yml", 1, 1), "the builder is here")
                .help("write `size`"),
        ];
        let expected = "error[unknown-key]: storage `ledger` has no key `sise`\n --> cfg/_config.yml:3:5\n   = cfg/x.yml:1:1: the builder is here\n  help: write `size`\n\nwarning[unread-key]: nothing reads `config.colour`\n --> cfg/_config.yml:1:3\n\n1 error, 1 warning\n";
        assert_eq!(text(&found, false), expected);
        assert_eq!(text(&[], false), "");
    }

    #[test]
    fn of_very_many_of_a_kind_the_first_are_shown_and_all_are_counted() {
        let many = (1..=250).map(|line| Diagnostic::error("unknown-key", "a").at(&Place::new("a.yaml", line, 1)));
        let found: Vec<Diagnostic> = many.chain([Diagnostic::error("other", "b")]).collect();
        let shown = text(&found, false);
        assert_eq!(shown.matches("error[unknown-key]").count(), 100);
        assert!(
            shown.contains("and 150 more") && shown.contains("error[other]") && shown.ends_with("251 errors\n"),
            "{shown}"
        );
    }

    #[test]
    fn a_message_cannot_colour_the_terminal() {
        let found = [Diagnostic::error("x", "a\u{1b}[2Jb\n::error::c")];
        let shown = text(&found, false);
        assert!(!shown.contains('\u{1b}') && !shown.contains("\n::"), "{shown}");
    }
}
