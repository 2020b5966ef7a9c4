//! What a run hands back to its workflow: outputs, the summary of the job, and commands in its log.

use csis_values::sha256;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

/// GitHub refuses a summary beyond this, as a whole.
pub const SUMMARY: usize = 1 << 20;

/// Sets an output of the step.
pub fn set(file: &Path, name: &str, value: &str) -> io::Result<()> {
    // A value cannot hold its own hash, so no value can end its own block and set another output.
    let end = format!("csis_{}", sha256(value));
    append(file, &format!("{name}<<{end}\n{value}\n{end}\n"))
}

/// Adds to the job's summary.
pub fn summary(file: &Path, text: &str) -> io::Result<()> {
    append(file, text)
}

fn append(file: &Path, text: &str) -> io::Result<()> {
    std::fs::OpenOptions::new().create(true).append(true).open(file)?.write_all(text.as_bytes())
}

/// Hides every line of a secret in the log from here on. Written to stdout before the secret is used.
pub fn mask(secret: &str) -> String {
    secret.lines().filter(|line| !line.trim().is_empty()).fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "::add-mask::{}", data(line));
        all
    })
}

/// An annotation in the log, for a token that may not make check runs.
pub fn annotation(level: &str, place: Option<(&str, u32, u32)>, title: &str, message: &str) -> String {
    let mut properties = format!("title={}", property(title));
    if let Some((file, line, column)) = place {
        let _ = write!(properties, ",file={},line={line},col={column}", property(file));
    }
    format!("::{level} {properties}::{}\n", data(message))
}

/// Text that no line of a log takes for a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_set_another_output() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("output");
        let hostile = "x\nEOF\nverdict<<EOF\npass\nEOF\n";
        set(&file, "digest", hostile).unwrap();
        set(&file, "verdict", "refused").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let end = format!("csis_{}", sha256(hostile));
        assert!(text.starts_with(&format!("digest<<{end}\n{hostile}\n{end}\nverdict<<csis_")), "{text}");
    }

    #[test]
    fn no_text_becomes_a_command() {
        let line = annotation("error", Some(("a,b:c.yaml", 3, 4)), "t\n::set-env", "m%\r\n::warning::x");
        assert_eq!(line, "::error title=t%0A%3A%3Aset-env,file=a%2Cb%3Ac.yaml,line=3,col=4::m%25%0D%0A::warning::x\n");
        assert_eq!(mask("one\n\ntwo%"), "::add-mask::one\n::add-mask::two%25\n");
    }
}
