//! What people see while csis works: findings and progress on stderr, results on stdout.

use crate::arguments::Log;
use csis_flow::Outcome;
use csis_values::diagnostic::Diagnostic;
use std::io::{IsTerminal, Write};
use std::time::Instant;

pub struct Terminal {
    log: Log,
    colour: bool,
    began: Instant,
}

impl Terminal {
    pub fn new(log: Log) -> Self {
        let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Terminal { log, colour, began: Instant::now() }
    }

    pub fn findings(&self, findings: &[Diagnostic]) {
        match self.log {
            Log::Text if !findings.is_empty() => to_stderr(&csis_report::diagnostics::text(findings, self.colour)),
            Log::Text => {}
            Log::Json => {
                for finding in csis_report::diagnostics::sorted(findings) {
                    if let Ok(line) = serde_json::to_string(finding) {
                        to_stderr(&(line + "\n"));
                    }
                }
            }
        }
    }

    /// How a report is laid out on stdout.
    pub fn text_options() -> csis_report::TextOptions {
        let stdout = std::io::stdout();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        csis_report::TextOptions {
            colour: stdout.is_terminal() && !plain,
            width: width(),
            ..csis_report::TextOptions::default()
        }
    }

    /// Writes what a command said and gives its exit code.
    pub fn finish(&self, outcome: &Outcome) -> u8 {
        match self.log {
            Log::Json if !outcome.stderr.is_empty() => {
                to_stderr(
                    &(serde_json::json!({ "severity": "note", "message": outcome.stderr.trim_end() }).to_string()
                        + "\n"),
                );
            }
            _ => to_stderr(&outcome.stderr),
        }
        self.findings(&outcome.findings);
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(outcome.stdout.as_bytes()).and_then(|()| stdout.flush()) {
            // Who closed the pipe has read enough.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                to_stderr(&format!("error: the result could not be written to stdout: {error}\n"));
                1
            }
            _ => outcome.exit as u8,
        }
    }
}

impl csis_engine::Progress for Terminal {
    fn step(&self, root: &str, what: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        match self.log {
            Log::Text => to_stderr(&format!("{seconds:6.1}s  {root:<28} {what}\n")),
            Log::Json => to_stderr(
                &(serde_json::json!({ "severity": "progress", "root": root, "message": what }).to_string() + "\n"),
            ),
        }
    }
}

/// The terminal's width where it says one, else a width that reads well.
fn width() -> usize {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|c| (40..=400).contains(c)).unwrap_or(120)
}

/// Text for people; a closed pipe ends quietly.
fn to_stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
