//! Trees that nobody writes by accident: what they cost, and that each ends in a clear error or a sound emission. Only the whole binary can hang, crash or
//! half write.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

mod support;

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::Duration;
use support::{Harbor, Said, run};

/// A tree that takes longer is told to be too much instead.
const LIMIT: Duration = Duration::from_secs(5);

fn quick(harbor: &Harbor, arguments: &[&str]) -> Said {
    run(&mut harbor.command(arguments), LIMIT)
}

/// Validation and generation refuse alike: with this code, an error, a remedy, and nothing written.
#[track_caller]
fn refused(harbor: &Harbor, code: i32, words: &[&str]) {
    let before = harbor.kept();
    for command in ["validate", "generate"] {
        quick(harbor, &[command]).ends(code).tells(&["error[", "help:"]).tells(words);
    }
    assert!(harbor.kept() == before, "something was written");
}

/// The tree is emitted, and the engine reads what was emitted.
#[track_caller]
fn accepted(harbor: &Harbor) {
    quick(harbor, &["validate"]).ends(0);
    quick(harbor, &["generate"]).ends(0);
    support::formatted(&harbor.path("generated"));
}

#[test]
fn an_empty_folder_is_no_tree() {
    let harbor = Harbor::new();
    let empty = harbor.outside().join("empty");
    fs::create_dir(&empty).unwrap();
    for command in ["validate", "generate", "plan", "preview", "doctor"] {
        let said = run(harbor.command(&["--offline", command]).current_dir(&empty), LIMIT);
        said.ends(2).tells(&["cfg", "--root", "help:"]);
    }
    let said = run(harbor.command(&["init-config", empty.to_str().unwrap()]).current_dir(&empty), LIMIT);
    said.ends(2).tells(&["cfg"]);
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
    let said = run(harbor.command(&["--root", "no/such/place", "validate"]).current_dir(&empty), LIMIT);
    said.ends(2).tells(&["no/such/place"]);
}

#[test]
fn a_tree_without_a_repository_is_a_tree() {
    let harbor = Harbor::new();
    fs::remove_dir_all(harbor.path(".git")).unwrap();
    accepted(&harbor);
    quick(&harbor, &["--offline", "preview"]).ends(0).tells(&["no git repository", "shown alone"]);
}

#[test]
fn missing_folders_and_empty_files() {
    for folder in ["groups", "storages", "images", "instances"] {
        let harbor = Harbor::new();
        fs::remove_dir_all(harbor.path(folder)).unwrap();
        refused(&harbor, 1, &[folder]);
    }
    let harbor = Harbor::new();
    for text in ["", "\n\n", "---\n", "# nothing\n", "~\n", "storages:\n", "storages: []\n"] {
        quick(harbor.write("storages/more.yaml", text), &["validate"]).ends(0);
    }
    for (text, word) in [("- a\n", "mapping"), ("text\n", "mapping"), ("storages: 1\n", "list"), ("{", "YAML")] {
        harbor.write("storages/more.yaml", text);
        refused(&harbor, 1, &["storages/more.yaml", word]);
    }
    for text in ["", "- a\n", "a: b\n"] {
        harbor.write("storages/more.yaml", "").write("cfg/_config.yml", text);
        refused(&harbor, 1, &["cfg/"]);
    }
}

#[test]
fn what_is_no_readable_file_is_told() {
    type Prepare = fn(&Harbor);
    let cases: [(&str, Prepare); 9] = [
        ("storages/x.yaml", |h| symlink("nowhere", h.path("storages/x.yaml")).unwrap()),
        ("cfg/x.yml", |h| symlink("nowhere", h.path("cfg/x.yml")).unwrap()),
        ("storages/x.yaml", |h| symlink("x.yaml", h.path("storages/x.yaml")).unwrap()),
        ("storages/x.yaml", |h| symlink("/dev/zero", h.path("storages/x.yaml")).unwrap()),
        ("storages/x.yaml", |h| symlink("/etc/passwd", h.path("storages/x.yaml")).unwrap()),
        ("storages/x.yaml", |h| drop(UnixListener::bind(h.path("storages/x.yaml")).unwrap())),
        ("storages/x.yaml", |h| {
            run(Command::new("mkfifo").arg(h.path("storages/x.yaml")), LIMIT).ends(0);
        }),
        ("cfg/x.yml", |h| fs::create_dir(h.path("cfg/x.yml")).unwrap()),
        ("storages/out", |h| symlink("/", h.path("storages/out")).unwrap()),
    ];
    for (path, prepare) in cases {
        let harbor = Harbor::new();
        prepare(&harbor);
        refused(&harbor, 1, &[path, "cannot be read"]);
    }
}

#[test]
fn links_that_go_round_end() {
    for (link, to) in [("storages/round", "."), ("storages/round", "../storages"), ("instances/a", "../instances/a")] {
        let harbor = Harbor::new();
        symlink(to, harbor.path(link)).unwrap();
        refused(&harbor, 1, &[link]);
    }
    let harbor = Harbor::new();
    fs::remove_dir_all(harbor.path("cfg")).unwrap();
    symlink("cfg", harbor.path("cfg")).unwrap();
    refused(&harbor, 2, &["cfg"]);
}

#[test]
fn ten_megabytes_of_yaml() {
    let harbor = Harbor::new();
    let entries = (0..100_000).fold(String::from("storages:\n"), |mut text, n| {
        let _ = writeln!(text, "  - name: s{n}\n    groups: [crew]\n    tags: {{a: \"{}\"}}", "x".repeat(60));
        text
    });
    let scalar = format!("storages:\n  - name: s\n    description: \"{}\"\n", "x".repeat(10_000_000));
    let comment = format!("#{}\nstorages: []\n", "x".repeat(10_000_000));
    for text in [entries, scalar, comment, format!("storages: [{}]\n", "a,".repeat(5_000_000))] {
        assert!(text.len() >= 10_000_000);
        harbor.write("storages/big.yaml", text);
        refused(&harbor, 1, &["storages/big.yaml", "MiB"]);
    }
}

#[test]
fn many_small_values_end_in_time() {
    let harbor = Harbor::new();
    for (file, text) in [
        ("storages/n.yaml", format!("storages: [{}]\n", "a,".repeat(100_000))),
        ("cfg/n.yml", format!("config:\n  x:\n{}", "    - {a: b}\n".repeat(100_000))),
        ("storages/n.yaml", format!("storages:\n{}", "  - {name: x}\n".repeat(5_000))),
        ("storages/n.yaml", format!("{}\n", "? \n".repeat(30_000))),
    ] {
        harbor.write(file, text);
        let said = quick(&harbor, &["validate"]);
        assert!(matches!(said.code, Some(0 | 1)), "{}", said.stderr);
        assert!(said.stderr.len() < 100_000, "{} bytes are too much to read", said.stderr.len());
        fs::remove_file(harbor.path(file)).unwrap();
    }
}

#[test]
fn aliases_that_multiply() {
    let bomb =
        ('b'..='k').zip('a'..='j').fold(String::from("a: &a [x,x,x,x,x,x,x,x,x]\n"), |mut text, (this, last)| {
            let _ = writeln!(text, "{this}: &{this} [{}]", vec![format!("*{last}"); 9].join(","));
            text
        });
    let mappings = ('b'..='k').zip('a'..='j').fold(String::from("x-a: &a {k: v}\n"), |mut text, (this, last)| {
        let _ = writeln!(text, "x-{this}: &{this} {{m: *{last}, n: *{last}, o: *{last}, p: *{last}, q: *{last}}}");
        text
    });
    let harbor = Harbor::new();
    for file in ["storages/n.yaml", "cfg/n.yml", "groups/n.yaml"] {
        for text in [&bomb, &mappings] {
            harbor.write(file, text);
            refused(&harbor, 1, &[file, "aliases"]);
        }
        fs::remove_file(harbor.path(file)).unwrap();
    }
    for text in ["storages: &a [*a]\n", "storages: *nowhere\n", "x-a: &a {<<: *a}\n"] {
        harbor.write("storages/n.yaml", text);
        refused(&harbor, 1, &["storages/n.yaml"]);
    }
}

#[test]
fn an_overlay_is_as_hostile_as_a_tree() {
    let harbor = Harbor::new();
    for text in ["[".repeat(100_000), "a: b: c\n".into(), "x: &a [*a]\n".into(), "- a\n".into()] {
        harbor.write("overlays/o.yaml", text);
        quick(&harbor, &["--overlay", "overlays/o.yaml", "validate"]).ends(1).tells(&["overlays/o.yaml"]);
    }
    quick(&harbor, &["--overlay", "../outside.yaml", "validate"]).ends(2).tells(&["outside.yaml"]);
    quick(&harbor, &["--overlay", "overlays", "validate"]).ends(2).tells(&["overlays"]);
    quick(&harbor, &["--overlay", "/dev/zero", "validate"]).ends(2).tells(&["/dev/zero"]);
}

#[test]
fn deep_nesting() {
    let harbor = Harbor::new();
    let steps = (0..3000).fold(String::new(), |text, n| text + &" ".repeat(n) + "a:\n");
    for text in [
        format!("storages: {}\n", "[".repeat(100_000)),
        format!("storages: {}{}\n", "[".repeat(100_000), "]".repeat(100_000)),
        format!("storages: {}\n", "{a: ".repeat(100_000)),
        "- ".repeat(100_000),
        steps,
    ] {
        harbor.write("storages/n.yaml", text);
        refused(&harbor, 1, &["storages/n.yaml:", "nest"]);
    }
    let path = "storages/".to_owned() + &"d/".repeat(200);
    fs::remove_file(harbor.path("storages/n.yaml")).unwrap();
    harbor.write(&format!("{path}n.yaml"), "storages: []\n");
    refused(&harbor, 1, &["storages/d", "deep"]);
}

#[test]
fn bytes_that_are_no_text() {
    let harbor = Harbor::new();
    let utf16: Vec<u8> = "\u{feff}storages: []\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, word) in [
        (b"storages:\n  - name: \xff\xfe\n".to_vec(), "UTF-8"),
        (b"storages:\n  - name: \xc0\xaf\n".to_vec(), "UTF-8"),
        (b"storages:\n  - name: \xed\xa0\x80\n".to_vec(), "UTF-8"),
        (utf16, "UTF-16"),
        (b"storages:\n  - name: a\0b\n".to_vec(), "control character"),
        (b"storages:\n  - name: a\x1b[31mb\n".to_vec(), "control character"),
        (b"\x7fELF\x02\x01\x01".to_vec(), "storages/n.yaml"),
        (b"storages: []\n---\nstorages: []\n".to_vec(), "document"),
        (b"storages: !!python/object/apply:os.system [id]\n".to_vec(), "tag"),
    ] {
        harbor.write("storages/n.yaml", bytes);
        refused(&harbor, 1, &["storages/n.yaml:", word]);
    }
}

#[test]
fn line_ends_and_byte_order_marks_change_nothing() {
    let plain = Harbor::new();
    accepted(&plain);
    let expected = support::files(&plain.path("generated"));
    for (before, end) in [("", "\r\n"), ("\u{feff}", "\n"), ("\u{feff}", "\r\n")] {
        let harbor = Harbor::new();
        let ends = [".yml", ".yaml"];
        for path in support::files(&harbor.root).keys().filter(|path| ends.iter().any(|end| path.ends_with(end))) {
            harbor.write(path, before.to_owned() + &harbor.read(path).replace('\n', end));
        }
        accepted(&harbor);
        assert_eq!(support::files(&harbor.path("generated")), expected, "{before:?} {end:?}");
    }
}

#[test]
fn templates_that_cost_too_much() {
    let harbor = Harbor::new();
    for template in [
        "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}",
        "{{ 'x' * 2000000000 }}",
        "{% set ns = namespace(a='x') %}{% for i in range(64) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}{{ ns.a }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ range(10000000) | list | length }}",
    ] {
        harbor.write(
            "storages/n.yaml",
            format!("storages:\n  - name: z\n    groups: [crew]\n    tags: {{t: \"{template}\"}}\n"),
        );
        refused(&harbor, 1, &["storages/n.yaml:4"]);
    }
}

/// What a name is tried with: every ASCII sign, and characters that look like others, like nothing, or go the other way.
fn odd_characters() -> impl Iterator<Item = char> {
    let signs = (0x20..0x7f_u8).map(char::from).filter(|c| !c.is_ascii_alphanumeric());
    let controls = ['\t', '\n', '\r', '\u{1}', '\u{7}', '\u{1b}', '\u{7f}', '\u{85}'];
    let others = [
        '\u{a0}',
        'é',
        'ß',
        'İ',
        '名',
        '😀',
        '\u{301}',
        '\u{200b}',
        '\u{200d}',
        '\u{202e}',
        '\u{2028}',
        '\u{feff}',
        '\u{fffe}',
        '\u{e000}',
        '\u{10ffff}',
    ];
    signs.chain(controls).chain(others)
}

/// A YAML scalar in double quotes that holds exactly this text.
fn quoted(text: &str) -> String {
    let inner: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_ascii_graphic() || c == ' ' => c.to_string(),
            c => format!("\\U{:08x}", u32::from(c)),
        })
        .collect();
    format!("\"{inner}\"")
}

/// Tries every odd name in entries of one kind: each alone, and those that pass together in one emission that the engine and bash can read.
fn odd_names(file: &str, entry: fn(usize, &str) -> String) -> Vec<String> {
    let harbor = Harbor::new();
    let long = ["x".repeat(300), "名".repeat(300), "..".into(), "${x}".into(), "%{if x}".into()];
    let mut tried: Vec<String> =
        odd_characters().map(String::from).chain(long).enumerate().map(|(n, odd)| format!("o{n}{odd}o")).collect();
    tried.extend(["", " ", "-", "--help", "-rf", ".", "..", "~", "null", "true", "1", "0x10", "*"].map(String::from));
    let key = file.rsplit('/').next().unwrap().trim_end_matches(".yaml");
    let mut passed = Vec::new();
    for (n, name) in tried.iter().enumerate() {
        harbor.write(file, format!("{key}:\n{}", entry(n, &quoted(name))));
        let said = quick(&harbor, &["generate"]);
        match said.code {
            Some(0) => {
                passed.push(name.clone());
                fs::remove_dir_all(harbor.path("generated")).unwrap();
            }
            Some(1) => {
                let place = format!("{file}:2:");
                assert!(said.stderr.contains(&place), "{name:?} is refused at no place: {}", said.stderr);
                let raw = said.stderr.chars().find(|c| c.is_control() && *c != '\n' || "\u{202e}\u{200b}".contains(*c));
                assert_eq!(raw, None, "{name:?} reaches the terminal");
                assert!(!harbor.path("generated").exists(), "{name:?} is refused and half written");
            }
            other => panic!("{name:?} ends with {other:?}: {}", said.stderr),
        }
    }
    // Names of signs alone have one label; each was fine by itself.
    let together = passed.iter().enumerate().filter(|(_, name)| name.starts_with('o'));
    let together: String = together.map(|(n, name)| entry(n, &quoted(name))).collect();
    harbor.write(file, format!("{key}:\n{together}"));
    accepted(&harbor);
    for path in support::files(&harbor.path("generated")).keys().filter(|path| path.contains(".sh")) {
        run(Command::new("bash").arg("-n").arg(harbor.path("generated").join(path)), LIMIT).ends(0);
    }
    passed
}

#[test]
fn odd_names_of_storages() {
    let fine = odd_names("storages/odd/storages.yaml", |_, name| {
        format!("  - {{name: {name}, groups: [crew], tags: {{a: {name}}}}}\n")
    });
    assert!(fine.iter().any(|name| name.contains('-')) && fine.len() < 40, "{fine:?}");
}

#[test]
fn odd_names_of_instances() {
    let fine = odd_names("instances/odd/instances.yaml", |_, name| {
        format!("  - {{name: {name}, image: harbor-api, description: {name}, tags: {{a: {name}}}, userdata: {name}}}\n")
    });
    assert!(fine.iter().any(|name| name.contains('-')) && fine.len() < 20, "{fine:?}");
}

#[test]
fn odd_names_of_groups() {
    let fine = odd_names("groups/odd/groups.yaml", |n, name| {
        format!("  - {{name: {name}, gid: {}, members: [lena]}}\n", 5000 + n)
    });
    assert!(fine.iter().any(|name| name.contains('-')) && fine.len() < 20, "{fine:?}");
}

#[test]
fn odd_names_of_images() {
    let fine = odd_names("images/odd/images.yaml", |_, name| {
        format!(
            "  - {{name: {name}, source_image: alma9, group: crew, description: x, runtimes: [{{image_builder: bake}}]}}\n"
        )
    });
    assert!(fine.iter().any(|name| name.contains('-')), "{fine:?}");
}

#[test]
fn odd_texts_are_carried_literally() {
    let harbor = Harbor::new();
    let mut tags = String::new();
    for (n, odd) in odd_characters().enumerate() {
        let _ = writeln!(tags, "      {}: {}", quoted(&format!("k{n}{odd}")), quoted(&format!("a{odd}b")));
    }
    for (n, text) in ["${var.x}", "%{if true}x%{endif}", "$${x}", "data.science", "${", "<<EOT", "\\${x}", "EOT\n"]
        .iter()
        .enumerate()
    {
        let _ = writeln!(tags, "      t{n}: {}", quoted(text));
    }
    harbor.edit("storages/storages.yaml", "    tags: {data: ledger}\n", &format!("    tags:\n{tags}"));
    harbor.edit("instances/instances.yaml", "    tags: {tier: api}\n", &format!("    tags:\n{tags}"));
    accepted(&harbor);
}

/// A shell and a parser of arguments take a leading hyphen for an option.
#[test]
fn a_builder_named_like_an_option_is_run_all_the_same() {
    let harbor = Harbor::new();
    harbor.edit("cfg/storage-builders.yml", "  - name: volumes\n", "  - name: \"-x\"\n");
    harbor.csis(&["validate"]).ends(0);
    harbor.csis(&["init-config", "."]).ends(0);
    harbor.csis(&["generate"]).ends(0);
    let script = harbor.read("generated/storage/run-storage.sh");
    let line = script.lines().find(|line| line.contains("-x/storage-generation")).unwrap();
    assert!(line.starts_with("( cd ./-x/storage-generation && "), "{line}");
    let check = script.lines().find(|line| line.contains("apply-check") && line.contains("--root -x")).unwrap();
    let arguments = check.split("csis apply-check").nth(1).unwrap().split(['&', ')', ';']).next().unwrap();
    let arguments: Vec<&str> = std::iter::once("apply-check").chain(arguments.split_whitespace()).collect();
    harbor.csis(&arguments).hides(&["unexpected argument", "a value is required"]);
}

#[test]
fn a_link_to_what_its_folder_lies_in_is_one_finding() {
    let harbor = Harbor::new();
    std::os::unix::fs::symlink("..", harbor.path("storages/loop")).unwrap();
    let said = harbor.csis(&["validate"]).ends(1).tells(&["storages/loop", "it links to a folder that it is in"]);
    said.tells(&["1 error"]);
}
