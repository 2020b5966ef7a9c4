//! What code of modules names by a path: another module, a script, a template. It is code of the same plan, wherever it lies.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Endings of files that the engine reads as code.
const CODE: &[&str] = &[".tf", ".tf.json", ".tofu", ".tofu.json"];
/// A file of code is far smaller; beyond it nothing is looked for, and the engine takes its time as well.
const LARGEST: u64 = 8 << 20;
/// The folder of the file itself, as code writes it.
const HERE: &str = "${path.module}/";

/// The paths that a file of code names relative to itself; of one that is computed, the folder that it is computed below. Nothing of any other file.
///
/// A text that only looks like a path is taken for one: what is looked at too much costs a question, what is missed runs unseen.
pub fn named(file: &Path) -> Vec<PathBuf> {
    let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let (Some(folder), true) = (file.parent(), CODE.iter().any(|ending| name.ends_with(ending))) else {
        return Vec::new();
    };
    if std::fs::metadata(file).map_or(true, |about| !about.is_file() || about.len() > LARGEST) {
        return Vec::new();
    }
    let text = fs_err::read(file).unwrap_or_default();
    paths(&String::from_utf8_lossy(&text)).into_iter().map(|path| folder.join(path)).collect()
}

/// Relative paths in quotes.
fn paths(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('"') {
        let rest = text[at + 1..].trim_start_matches(HERE);
        let is_relative = rest.starts_with("./") || rest.starts_with("../") || rest.starts_with("..\"");
        if !is_relative && rest.len() == text[at + 1..].len() {
            continue;
        }
        let end = rest.find(['"', '\n', '\\']).unwrap_or(rest.len());
        let whole = &rest[..end];
        // What follows is known to the engine alone.
        let known = whole.split("${").next().unwrap_or_default();
        let known =
            if known.len() < whole.len() { known.rsplit_once('/').map_or("", |(above, _)| above) } else { known };
        found.push(known.split(['?', '*']).next().unwrap_or_default().to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_wherever_code_names_them() {
        let text = r#"
            module "a" { source = "../../shared/a" }
            module "b" { source = "./b//inner" }
            module "c" { source = "hashicorp/consul/aws" }
            x = file("${path.module}/run.sh") + templatefile("${path.module}/../t/${var.name}.tpl", {})
            y = "../${var.all}/x"
            z = "${var.a}/../b"
        "#;
        assert_eq!(paths(text), ["../../shared/a", "./b//inner", "run.sh", "../t", "..",]);
        assert_eq!(paths(r#"{"module": {"a": {"source": "../x"}}}"#), ["../x"]);
        assert_eq!(paths("\"../open"), ["../open"]);
    }

    #[test]
    fn only_code_is_read() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["main.tf", "a.tofu.json", "README.md"] {
            fs_err::write(folder.path().join(name), "\"../x\"").unwrap();
        }
        assert_eq!(named(&folder.path().join("main.tf")), [folder.path().join("../x")]);
        assert_eq!(named(&folder.path().join("a.tofu.json")).len(), 1);
        assert!(named(&folder.path().join("README.md")).is_empty() && named(folder.path()).is_empty());
    }
}
