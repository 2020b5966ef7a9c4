//! The invariants of ARCHITECTURE.md that a compiler does not hold: what each room may depend on and touch. Only this layer sees a pure room reach out.

#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources has nothing to judge")]

use std::fs;
use std::path::{Path, PathBuf};

/// What a room may use of the others, and whether it is pure.
struct Room {
    name: &'static str,
    pure: bool,
    uses: &'static [&'static str],
}

const ROOMS: &[Room] = &[
    Room { name: "values", pure: true, uses: &[] },
    Room { name: "kinds", pure: true, uses: &["values"] },
    Room { name: "tree", pure: false, uses: &["values", "kinds"] },
    Room { name: "records", pure: false, uses: &["values", "tree"] },
    Room { name: "resolve", pure: true, uses: &["values", "kinds"] },
    Room { name: "emit", pure: true, uses: &["values", "kinds"] },
    Room { name: "engine", pure: false, uses: &["values"] },
    Room { name: "gate", pure: true, uses: &["values"] },
    Room { name: "report", pure: true, uses: &["values"] },
    Room { name: "github", pure: false, uses: &["values"] },
    Room {
        name: "flow",
        pure: false,
        uses: &["values", "kinds", "tree", "records", "resolve", "emit", "engine", "gate", "report", "github"],
    },
    Room { name: "csis", pure: false, uses: &["values", "flow", "report", "engine"] },
];

/// The crates a pure room may use: they hold data or transform it, and touch nothing.
const PURE_CRATES: &[&str] = &["serde", "serde_json", "hcl-rs", "sha2", "strsim", "base64", "similar", "thiserror"];

/// Ways out of a pure room.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "ToSocketAddrs",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "std::time",
    "std::thread",
    "SystemTime",
    "tokio",
    "println!",
    "eprintln!",
    "print!(",
    "eprint!(",
    "include_dir",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The product's source files; files that hold only tests are left out.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        let name = entry.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        if name == "testing" || name == "tests" || name.ends_with("_tests") {
            continue;
        }
        if entry.is_dir() {
            found.extend(sources(&entry));
        } else if entry.extension().is_some_and(|e| e == "rs") {
            found.push(entry);
        }
    }
    found
}

/// The dependencies a manifest names under `[dependencies]`.
fn dependencies(room: &str) -> Vec<String> {
    let manifest = fs::read_to_string(crates().join(room).join("Cargo.toml")).unwrap();
    let section = manifest.split("[dependencies]").nth(1).unwrap_or("").split("\n[").next().unwrap_or("");
    section
        .lines()
        .filter_map(|l| l.split(['.', '=', ' ']).next())
        .filter(|n| !n.is_empty() && !n.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// The text of a source file without comments and without its test module.
fn product_code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or("");
    text.lines().map(|l| l.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_room_is_listed() {
    let mut found: Vec<String> =
        fs::read_dir(crates()).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    let mut listed: Vec<String> = ROOMS.iter().map(|r| r.name.to_owned()).collect();
    found.sort();
    listed.sort();
    assert_eq!(found, listed);
}

#[test]
fn a_room_uses_only_the_rooms_it_may() {
    for room in ROOMS {
        for dependency in dependencies(room.name) {
            if let Some(other) = dependency.strip_prefix("csis-") {
                assert!(room.uses.contains(&other), "`{}` must not use the room `{other}`", room.name);
            } else if room.pure {
                assert!(
                    PURE_CRATES.contains(&dependency.as_str()),
                    "`{}` is pure; `{dependency}` is not among the crates it may use",
                    room.name
                );
            }
        }
    }
}

#[test]
fn pure_rooms_reach_for_nothing_outside() {
    for room in ROOMS.iter().filter(|r| r.pure) {
        for source in sources(&crates().join(room.name).join("src")) {
            let code = product_code(&source);
            for way in OUTSIDE {
                assert!(!code.contains(way), "{}: `{}` is pure and must not use `{way}`", source.display(), room.name);
            }
        }
    }
}

/// Rooms ask the registry what a type can do; only its own file knows its name.
#[test]
fn no_room_but_kinds_names_a_builder_type() {
    let names = ["\"tf-aws-ebs\"", "\"tf-aws-efs\"", "\"tf-aws-s3\"", "\"packer-ebs\"", "\"bash-remote\"", "\"posix\""];
    for room in ROOMS.iter().filter(|r| r.name != "kinds") {
        for source in sources(&crates().join(room.name).join("src")) {
            let code = product_code(&source);
            for name in names {
                assert!(
                    !code.contains(name),
                    "{} names the builder type {name}; ask the registry instead",
                    source.display()
                );
            }
        }
    }
}
