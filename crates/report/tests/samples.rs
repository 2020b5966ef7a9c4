//! The reports that people read, as files beside their data: `CSIS_BLESS=1 cargo test -p csis-report` writes them anew.
//! Only here is seen how a whole report reads.

#![allow(clippy::expect_used)]

use csis_report::{MarkdownOptions, TextOptions, digest, json, markdown, text};
use csis_values::report::Report;
use std::path::{Path, PathBuf};

pub fn samples() -> Vec<(PathBuf, Report)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the samples")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let mut report: Report =
                serde_json::from_slice(&std::fs::read(&path).expect("a sample")).expect("a report");
            digest::stamp(&mut report, "sample");
            (path, report)
        })
        .collect()
}

fn matches(path: &Path, made: &str) {
    if std::env::var_os("CSIS_BLESS").is_some() {
        std::fs::write(path, made).expect("to write the snapshot");
    }
    let stands = std::fs::read_to_string(path).unwrap_or_default();
    assert!(stands == made, "{} reads differently now; look at it, then set CSIS_BLESS=1", path.display());
}

#[test]
fn the_samples_read_as_they_stand() {
    let links = csis_report::markdown::Links { docs: Some("https://csis.example/docs".into()), source: None };
    for (path, report) in samples() {
        matches(
            &path.with_extension("md"),
            &markdown(&report, &MarkdownOptions { links: links.clone(), ..MarkdownOptions::default() }),
        );
        matches(&path.with_extension("txt"), &text(&report, &TextOptions::default()));
    }
}

#[test]
fn the_report_as_data_follows_its_schema() {
    let schema = serde_json::from_str(csis_report::PLAN_SCHEMA).expect("the schema");
    let validator = jsonschema::draft202012::new(&schema).expect("a JSON Schema of 2020-12");
    for (path, report) in samples() {
        let made: serde_json::Value = serde_json::from_str(&json(&report)).expect("JSON");
        let errors: Vec<String> = validator.iter_errors(&made).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
    }
    assert!(!validator.is_valid(&serde_json::json!({"schema": 1})), "the schema demands nothing");
}
