//! The verdicts of `tests/cases/gate.json`, through the binary as a script calls it. Only here the command line, the reader and the rules meet.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn every_case_ends_as_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/gate.json");
    let text = std::fs::read_to_string(path).expect("tests/cases/gate.json");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("a list of cases");
    assert!(cases.len() >= 30, "only {} cases", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case["name"].as_str().expect("a name");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gate-cases").join(name);
        let _ = std::fs::remove_dir_all(&folder);
        for (file, content) in case["write"].as_object().expect("files") {
            let file = folder.join(file);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("made");
            std::fs::write(file, content.as_str().expect("a text")).expect("written");
        }
        let output = Command::new(env!("CARGO_BIN_EXE_csis"))
            .args(texts(&case["args"]))
            .current_dir(&folder)
            .output()
            .expect("csis runs");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let unsaid: Vec<&str> = texts(&case["mention"]).into_iter().filter(|word| !said.contains(word)).collect();
        let exit = output.status.code().map(i64::from);
        if exit != case["exit"].as_i64() || !unsaid.is_empty() {
            wrong.push(format!("{name}: exit {exit:?} for {}, without {unsaid:?}\n{said}", case["exit"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
