//! What an engine says when it fails, in one sentence that may be shown.

use crate::plan::Redactor;

const LONGEST: usize = 1200;

/// Why an engine's step failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// State, account or registry cannot be reached or may not be read: nothing can be said about the root.
    NoAccess(String),
    Failed(String),
}

impl Trouble {
    pub fn why(&self) -> &str {
        match self {
            Trouble::NoAccess(why) | Trouble::Failed(why) => why,
        }
    }
}

/// Errors as the engine's `-json` output tells them.
#[derive(Default)]
pub struct Errors {
    found: Vec<String>,
}

impl Errors {
    /// Takes one line of the output.
    pub fn line(&mut self, line: &str) {
        if self.found.len() >= 20 || !line.contains("\"diagnostic\"") {
            return;
        }
        let Ok(message) = serde_json::from_str::<Message>(line) else { return };
        let Some(diagnostic) = message.diagnostic.filter(|diagnostic| diagnostic.severity == "error") else { return };
        let mut text = diagnostic.summary.trim().to_owned();
        let detail = unwrap(&diagnostic.detail);
        if !detail.is_empty() {
            text = format!("{}: {detail}", text.trim_end_matches(['.', ':']));
        }
        if let Some(range) = diagnostic.range {
            text = format!("{text} ({}:{})", range.filename, range.start.line);
        }
        self.found.push(text);
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// All of them in one text; the first is the one that matters most.
    pub fn text(&self) -> String {
        let mut texts = self.found.clone();
        texts.dedup();
        texts.join(" · ")
    }
}

#[derive(serde::Deserialize)]
struct Message {
    diagnostic: Option<Diagnostic>,
}

#[derive(serde::Deserialize)]
struct Diagnostic {
    #[serde(default)]
    severity: String,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    detail: String,
    range: Option<Range>,
}

#[derive(serde::Deserialize)]
struct Range {
    #[serde(default)]
    filename: String,
    start: Start,
}

#[derive(serde::Deserialize)]
struct Start {
    #[serde(default)]
    line: u64,
}

/// The error blocks of an engine's text output; the whole end of it when there are none.
pub fn from_text(text: &str) -> String {
    let mut blocks: Vec<String> = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let line = line.trim_start_matches(['│', '╷', '╵']).trim();
        if let Some(summary) = line.strip_prefix("Error: ") {
            blocks.extend(open.take());
            open = Some(format!("{summary}\n\n"));
        } else if line.starts_with("Warning: ") {
            blocks.extend(open.take());
        } else if let Some(block) = &mut open {
            block.push_str(line);
            block.push('\n');
        }
    }
    blocks.extend(open);
    if blocks.is_empty() {
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        return lines[lines.len().saturating_sub(3)..].join(" ");
    }
    let said: Vec<String> = blocks
        .iter()
        .map(|block| {
            let (summary, detail) = block.split_once("\n\n").unwrap_or((block, ""));
            let detail = unwrap(detail);
            let summary = summary.trim().trim_end_matches(['.', ':']);
            if detail.is_empty() { summary.to_owned() } else { format!("{summary}: {detail}") }
        })
        .collect();
    said.join(" · ")
}

/// The engine's lines are wrapped for a terminal.
fn unwrap(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words by which providers and backends say that they may not or cannot look.
const NO_ACCESS: &[&str] = &[
    "no valid credential sources",
    "failed to get shared config profile",
    "failed to refresh cached credentials",
    "failed to retrieve credentials",
    "failed to load aws credentials",
    "no ec2 imds role found",
    "unable to locate credentials",
    "could not find credentials",
    "expiredtoken",
    "token has expired",
    "invalidclienttokenid",
    "invalidaccesskeyid",
    "invalididentitytoken",
    "unrecognizedclientexception",
    "signaturedoesnotmatch",
    "accessdenied",
    "access denied",
    "authfailure",
    "unauthorizedoperation",
    "not authorized to perform",
    "statuscode: 401",
    "statuscode: 403",
    "dial tcp",
    "connection refused",
    "no such host",
    "i/o timeout",
    "tls handshake timeout",
    "client.timeout exceeded",
    "could not connect to registry",
    "failed to query available provider packages",
];

/// Sorts a failure and makes its text fit to be shown: redacted, short, without the paths of this machine.
pub fn judge(text: &str, redactor: &Redactor, here: &[&std::path::Path]) -> Trouble {
    let lower = text.to_lowercase();
    let why = shown(text, redactor, here);
    if NO_ACCESS.iter().any(|words| lower.contains(words)) { Trouble::NoAccess(why) } else { Trouble::Failed(why) }
}

/// The text as it may be shown.
pub fn shown(text: &str, redactor: &Redactor, here: &[&std::path::Path]) -> String {
    let mut why = redactor.text(text);
    for folder in here {
        let folder = folder.to_string_lossy();
        if folder.len() > 1 {
            why = why.replace(&format!("{folder}/"), "").replace(folder.as_ref(), ".");
        }
    }
    crate::plan::cut(&why, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn error_blocks_are_told_in_one_line() {
        let text = "\nInitializing the backend...\n╷\n│ Warning: old\n│ \n│ careful\n╵\n╷\n│ Error: Invalid backend configuration argument\n│ \n│ The backend\n│ has no `x`.\n╵\n";
        assert_eq!(from_text(text), "Invalid backend configuration argument: The backend has no `x`.");
        assert_eq!(from_text("a\nb\nc\nd\n"), "b c d");
    }

    #[test]
    fn json_lines_give_errors_with_their_place_and_no_warnings() {
        let mut errors = Errors::default();
        errors.line("not json \"diagnostic\"");
        errors.line(r#"{"type":"diagnostic","diagnostic":{"severity":"warning","summary":"w"}}"#);
        errors.line(r#"{"type":"diagnostic","diagnostic":{"severity":"error","summary":"Bad.","detail":"It\nis.","range":{"filename":"main.tf","start":{"line":3,"column":1}}}}"#);
        assert_eq!(errors.text(), "Bad: It is. (main.tf:3)");
    }

    #[test]
    fn no_access_is_no_failure_and_nothing_secret_is_said() {
        let redactor = Redactor::new(["topsecret".to_owned()]);
        let here = [Path::new("/home/me/tree")];
        let denied = judge("Error: AccessDenied for topsecret in /home/me/tree/_private/x", &redactor, &here);
        assert_eq!(denied, Trouble::NoAccess("Error: AccessDenied for (redacted) in _private/x".into()));
        assert!(matches!(judge("Unsupported attribute", &redactor, &here), Trouble::Failed(_)));
        assert!(judge(&"é".repeat(3000), &redactor, &here).why().len() <= LONGEST);
    }
}
