//! Every sentence a user reads in a report, in one place. Callers bring values with types; plural, order and emphasis are made here.

pub mod change;
pub mod lead;

use crate::document::{Line, code, own, prose, strong};
use crate::{document, say};
use csis_values::Severity;
use csis_values::intent::{Applies, Bake};
use csis_values::report::FileChangeKind;
use csis_values::sanction::{Because, Obligation, OwnAction};

/// `1 root`, `2 roots`; irregular plurals are given.
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// `cfg/_config.yml:12`, with the column when asked for.
pub fn place(place: &csis_values::Place, column: bool) -> String {
    if column { place.to_string() } else { format!("{}:{}", place.file, place.line) }
}

/// Where a rule of the gate is explained.
pub fn rule_anchor(id: &str) -> String {
    format!("docs/gate.md#{id}")
}

/// A noun with a regular plural.
pub fn counted(n: u64, noun: &str) -> String {
    count(n, noun, &plural(noun))
}

pub fn plural(noun: &str) -> String {
    match noun.as_bytes() {
        [.., b's' | b'x' | b'z'] | [.., b's' | b'c', b'h'] => format!("{noun}es"),
        [.., before, b'y'] if !b"aeiou".contains(before) => format!("{}ies", &noun[..noun.len() - 1]),
        _ => format!("{noun}s"),
    }
}

/// Thousands are set apart by commas.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `50 GiB`, `1.2 TiB`.
pub fn size(gibibytes: u64) -> String {
    if gibibytes < 1024 {
        return format!("{gibibytes} GiB");
    }
    let tenths = (u128::from(gibibytes) * 10 + 512) / 1024;
    if tenths.is_multiple_of(10) {
        format!("{} TiB", tenths / 10)
    } else {
        format!("{}.{} TiB", tenths / 10, tenths % 10)
    }
}

/// What `validate` says of a tree without errors.
pub fn tree_is_fine(storages: usize, images: usize, instances: usize) -> String {
    let parts =
        [(storages, "storage"), (images, "image"), (instances, "instance")].map(|(n, noun)| counted(n as u64, noun));
    format!("The tree is valid: {}, {} and {}.", parts[0], parts[1], parts[2])
}

/// What stands for the findings of a code that are not shown.
pub fn more_of_a_kind(count: u64, code: &str) -> String {
    format!("… and {} more of [{code}]; `--log json` tells each", number(count))
}

/// What `generate` says of what it wrote into `directory`.
pub fn generated(directory: &str, added: usize, changed: usize, removed: usize) -> String {
    let directory = crate::inert::terminal(directory, crate::inert::NAME);
    let parts: Vec<String> = [(added, "added"), (changed, "changed"), (removed, "removed")]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{} {word}", counted(n as u64, "file")))
        .collect();
    if parts.is_empty() {
        format!("{directory} was up to date.")
    } else {
        format!("{directory}: {}.", parts.join(", "))
    }
}

/// Titles of sections.
pub mod title {
    pub const ROOTS: &str = "Root by root";
    pub const OBLIGATIONS: &str = "Before the apply, met and checked at landing";
    pub const LOSSES: &str = "Goes away or is rebuilt, as declared";
    pub const WARNINGS: &str = "The gate warns";
    pub const NOT_JUDGED: &str = "Not judged";
    pub const BAKES: &str = "Images that bake";
    pub const LINEAGE: &str = "Images whose parents change";
    pub const ROOT: &str = "Root";
    pub const ON_MERGE: &str = "On merge";
}

pub fn errors_title(n: u64) -> Line {
    own(format!("{} in the tree", counted(n, "error")))
}

pub fn refusals_title(n: u64) -> Line {
    own(format!("The gate refuses {}", counted(n, "change")))
}

pub fn confirm_title(n: u64) -> Line {
    own(format!("{} to confirm before this lands", count(n, "data loss", "data losses")))
}

/// Below the data losses: what a confirmation is bound to.
pub fn confirm_foot(digest: &str) -> Line {
    say!["A confirmation is for digest ", code(short_digest(digest)), "; another plan needs another one."]
}

fn short_digest(digest: &str) -> String {
    digest.chars().take(8).collect()
}

pub fn failures_title(name: &str, failed: bool) -> Line {
    say!["Why ", code(name), if failed { " failed" } else { " was not judged" }]
}

pub fn changes_title(name: &str, tally: Line) -> Line {
    say![strong(code(name)), ": ", tally]
}

pub fn drift_title(n: u64) -> Line {
    own(format!("Changed outside since the last apply: {}", counted(n, "object")))
}

pub fn anyway_title(roots: u64) -> Line {
    own(format!("Would change anyway, whether you merge or not: {}", counted(roots, "root")))
}

pub fn anyway_item(name: &str, tally: Line) -> Line {
    say![code(name), ": ", tally, "; this change does not touch it"]
}

pub fn files_title(added: u64, changed: u64, removed: u64) -> Line {
    let mut parts = Vec::new();
    for (n, word) in [(added, "added"), (changed, "changed"), (removed, "removed")] {
        if n > 0 {
            parts.push(own(format!("{} {word}", number(n))));
        }
    }
    say!["Generated files: ", Line::join(parts, ", ")]
}

pub fn diagnostics_title(warnings: u64, notes: u64) -> Line {
    let mut parts = Vec::new();
    if warnings > 0 {
        parts.push(own(counted(warnings, "warning")));
    }
    if notes > 0 {
        parts.push(own(counted(notes, "note")));
    }
    say!["About the tree: ", Line::and(parts)]
}

pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// `2 errors, 1 warning`.
pub fn totals(errors: u64, warnings: u64, notes: u64) -> String {
    let parts: Vec<String> = [(errors, "error"), (warnings, "warning"), (notes, "note")]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, noun)| counted(n, noun))
        .collect();
    parts.join(", ")
}

pub fn file_kind(kind: FileChangeKind) -> &'static str {
    match kind {
        FileChangeKind::Added => "added",
        FileChangeKind::Changed => "changed",
        FileChangeKind::Removed => "removed",
    }
}

pub fn file_item(path: &str, kind: FileChangeKind, plus: u64, minus: u64) -> Line {
    say![code(path), " ", file_kind(kind), own(format!(" (+{plus} −{minus})"))]
}

/// What to do, under a finding.
pub fn remedy(text: &str) -> Line {
    say!["→ ", prose(text)]
}

/// Why a destroy is allowed.
pub fn because(because: &Because) -> Line {
    let mut line = if because.name.is_empty() {
        say!["allowed by ", code(&because.operation)]
    } else {
        say![prose(&because.kind), " ", code(&because.name), ": ", prose(&because.operation)]
    };
    if let Some(at) = &because.at {
        line = line.then(" (").then(document::place(at)).then(")");
    }
    line
}

pub const NO_SANCTION: &str = "no operation of the tree is named for it";

pub fn obligation(root: &str, must: &Obligation) -> Line {
    let what = match must {
        Obligation::Unmounted { instance, storage, mount_point } => {
            say!["unmount ", code(storage), " on ", code(instance), " (", code(mount_point), ")"]
        }
        Obligation::Snapshot { storage, archive } => {
            say!["take a complete snapshot of ", code(storage), ", named ", code(archive)]
        }
        Obligation::Emptied { storage, bucket } => say!["empty the bucket ", code(bucket), " of ", code(storage)],
    };
    say![code(root), ": ", what]
}

pub fn own_action(action: &OwnAction) -> Line {
    let lead =
        say![code(&action.root), ": csis itself does a ", strong(prose(&action.action)), " of ", code(&action.object)];
    let lead = if action.loses_data { lead.then(", which ").then(strong("loses its data")) } else { lead };
    lead.then("; ").then(because(&action.because))
}

/// The cell *On merge* of a root's row.
pub mod standing {
    use super::{Applies, Line, prose, say, strong};

    pub fn applies() -> Line {
        "applies".into()
    }

    pub fn plan_only(applies: &Applies) -> Line {
        let line = say!["plan-only: ", super::flag(applies)];
        match &applies.at {
            Some(at) => say![line, " (", crate::document::place(at), ")"],
            None => line,
        }
    }

    pub fn refused() -> Line {
        strong("refused")
    }

    pub fn failed(why: Option<&str>) -> Line {
        with(strong("failed"), why)
    }

    pub fn not_judged(why: Option<&str>) -> Line {
        with(strong("not judged"), why)
    }

    fn with(word: Line, why: Option<&str>) -> Line {
        match why.and_then(|text| text.lines().find(|line| !line.trim().is_empty())) {
            Some(why) => say![word, ": ", prose(crate::inert::one_line(why.trim(), 160))],
            None => word,
        }
    }

    /// Below the table, whose figures count them as created.
    pub fn ephemeral(names: &[&str]) -> Line {
        let verb = if names.len() == 1 { " is" } else { " are" };
        say![Line::and(super::some(names)), verb, " created for one run, and destroyed again by it."]
    }

    pub fn nothing_to_do(names: &[&str]) -> Line {
        say!["Nothing to do in ", Line::and(super::some(names)), "."]
    }
}

/// `apply_instances: false`.
pub fn flag(applies: &Applies) -> Line {
    if applies.flag.is_empty() {
        "not applied here".into()
    } else {
        code(format!("{}: {}", applies.flag, applies.value))
    }
}

/// At most six names as code, then how many more.
pub fn some(names: &[&str]) -> Vec<Line> {
    let mut out: Vec<Line> = names.iter().take(6).map(|name| code(*name)).collect();
    if names.len() > 6 {
        out.push(own(format!("{} more", number((names.len() - 6) as u64))));
    }
    out
}

pub fn bake(bake: &Bake) -> Line {
    say![strong(code(&bake.series)), " on ", code(&bake.runtime), ": ", prose(&bake.why)]
}

pub fn bakes_current(n: u64) -> Line {
    own(format!("{} current.", count(n, "further image is", "further images are")))
}

pub fn edges_left_out(n: u64) -> String {
    format!("{} left out of the picture.", count(n, "further line is", "further lines are"))
}

pub const BAKES_NOW: &str = "bakes";

/// Below a section that was cut: what went, by kind.
pub fn left_out(tallies: &[(String, u64)], rest: u64) -> Line {
    let mut parts: Vec<Line> =
        tallies.iter().map(|(what, n)| own(format!("{} ", number(*n))).then(prose(what))).collect();
    if rest > 0 {
        parts.push(own(format!("{} of other kinds", number(rest))));
    }
    say!["… and ", Line::and(parts), ", not listed here to keep this short; ", code("csis preview"), " lists all of it"]
}

/// Above the foot, when anything was cut.
pub fn shortened(details: u64, sections: u64) -> Line {
    let mut parts = Vec::new();
    if details > 0 {
        parts.push(own(counted(details, "entry")));
    }
    if sections > 0 {
        parts.push(own(count(sections, "whole section", "whole sections")));
    }
    say![
        "Shortened to fit a comment: ",
        Line::and(parts),
        " left out or put in brief. ",
        code("csis preview"),
        " shows all."
    ]
}

pub fn more_lines(n: u64) -> String {
    count(n, "further line", "further lines")
}

/// When not even the outline fits.
pub fn too_long() -> Line {
    say!["The report does not fit here; ", code("csis preview"), " shows it."]
}

/// The last line: what this was made from.
pub fn foot(csis: &str, tree: &csis_values::report::TreeFacts, digest: &str) -> Line {
    let mut parts = vec![say!["csis ", code(csis)]];
    let named = if tree.id.is_empty() { say!["this tree"] } else { say!["tree ", code(&tree.id)] };
    let named = if tree.root.is_empty() || tree.root == "." { named } else { say![named, " in ", code(&tree.root)] };
    let head = match (&tree.head, tree.dirty) {
        (Some(head), false) => say![named, " at ", code(short(head))],
        (Some(head), true) => say![named, " at ", code(short(head)), " with uncommitted changes"],
        (None, _) => named,
    };
    parts.push(match &tree.base {
        Some(base) => say![head, " against ", code(short(base))],
        None => head,
    });
    if !digest.is_empty() {
        parts.push(say!["digest ", code(short_digest(digest))]);
    }
    Line::join(parts, " · ")
}

/// A commit as people write it; anything else as it is.
fn short(commit: &str) -> String {
    if commit.len() >= 40 && commit.bytes().all(|b| b.is_ascii_hexdigit()) {
        commit[..8].to_owned()
    } else {
        commit.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_nouns_agree() {
        assert_eq!(counted(1, "storage"), "1 storage");
        assert_eq!(counted(1200, "security group policy"), "1,200 security group policies");
        assert_eq!(counted(2, "alias"), "2 aliases");
        assert_eq!((size(50), size(1024), size(1230)), ("50 GiB".into(), "1 TiB".into(), "1.2 TiB".into()));
        assert_eq!(totals(2, 1, 0), "2 errors, 1 warning");
    }
}
