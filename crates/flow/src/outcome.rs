//! What a command ends with.

use csis_values::diagnostic::Diagnostic;
use csis_values::report::Report;

/// Why a file or a folder could not be used, in words that a sentence ends with.
pub fn why(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    let words = match error.kind() {
        ErrorKind::NotFound => "it does not exist",
        ErrorKind::PermissionDenied => "permission denied",
        ErrorKind::IsADirectory => "it is a folder",
        ErrorKind::NotADirectory => "a part of the path is no folder",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "there is no room left",
        ErrorKind::InvalidData => "it is no text",
        // An error that another room made says it in its own words.
        ErrorKind::Other => return error.to_string(),
        kind => return kind.to_string(),
    };
    // An error that tells which file it met puts the path between backticks.
    let met = error.get_ref().map(ToString::to_string);
    match met.as_deref().and_then(|text| text.split('`').nth(1)) {
        Some(path) => format!("`{path}`: {words}"),
        None => words.to_owned(),
    }
}

/// The exit codes scripts rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// Failed, or refused by validation.
    Failed = 1,
    /// Usage or environment: what was asked cannot be started here.
    Usage = 2,
    /// Refused by a gate.
    Gate = 3,
    /// Locked by another.
    Locked = 75,
}

/// A command's end: its exit code, what it says on stdout, and its findings, which go to stderr.
#[derive(Debug)]
pub struct Outcome {
    pub exit: Exit,
    /// Results, written to stdout as they are.
    pub stdout: String,
    /// Plain lines for stderr, before the findings.
    pub stderr: String,
    pub findings: Vec<Diagnostic>,
    /// The report, for commands that make one; the binary renders it in the format asked for.
    pub report: Option<Box<Report>>,
}

impl Outcome {
    pub fn new(exit: Exit) -> Self {
        Outcome { exit, stdout: String::new(), stderr: String::new(), findings: Vec::new(), report: None }
    }

    /// What was asked cannot be started here.
    pub fn usage(finding: Diagnostic) -> Self {
        Outcome { findings: vec![finding], ..Outcome::new(Exit::Usage) }
    }

    #[must_use]
    pub fn stdout(mut self, text: impl Into<String>) -> Self {
        self.stdout = text.into();
        self
    }

    #[must_use]
    pub fn stderr(mut self, text: impl Into<String>) -> Self {
        self.stderr = text.into();
        self
    }

    #[must_use]
    pub fn findings(mut self, findings: Vec<Diagnostic>) -> Self {
        self.findings = findings;
        self
    }
}
