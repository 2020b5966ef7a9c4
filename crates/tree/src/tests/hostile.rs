//! Trees that nobody would write by accident.

use super::support::{edited, harbor, loaded, one, request, told};
use crate::*;
use base64::Engine;

#[test]
fn encrypted_values_stay_encrypted() {
    use age::secrecy::ExposeSecret;
    let key = age::x25519::Identity::generate();
    let seal = |text: &str| {
        let sealed = age::encrypt(&key.to_public(), text.as_bytes()).expect("a ciphertext");
        format!("ENC[age:{}]", base64::engine::general_purpose::STANDARD.encode(sealed))
    };
    let (last, name) = (seal("Secretname"), seal("mira"));
    let memory = edited(&[
        (
            "groups/users.yaml",
            "last_name: Quay",
            &format!("last_name: \"{last}\", email: \"{{{{ user.first_name }}}}.{{{{ user.last_name }}}}@x.org\""),
        ),
        ("groups/groups.yaml", "members: [mira, oskar]", &format!("members: [\"{name}\", oskar]")),
    ]);
    let identities = Identities::new(&[key.to_string().expose_secret().to_owned()]);
    let read = load(&memory, &request(), &identities).expect("loaded");
    assert!(read.diagnostics.0.is_empty(), "{:#?}", told(&read.diagnostics));
    assert!(!format!("{read:?}").contains("Secretname"));
    let tree = read.tree.expect("a tree");
    let mira = tree.user("mira").expect("mira");
    assert_eq!((mira.last_name.as_str(), mira.email.as_str()), (last.as_str(), format!("Mira.{last}@x.org").as_str()));
    assert_eq!(read.secrets.open(&mira.email), "Mira.Secretname@x.org");
    assert_eq!(tree.group("crew").map(|g| g.members[0].as_str()), Some("mira"));

    assert!(matches!(load(&memory, &request(), &Identities::default()), Err(LoadError::Identity(_))));
    let number = edited(&[("groups/users.yaml", "uid: 4001", &format!("uid: \"{}\"", seal("4001")))]);
    one(
        &load(&number, &request(), &identities).expect("loaded").diagnostics,
        "groups/users.yaml:2",
        &["`mira`", "uid", "encrypted"],
    );
}

#[test]
fn odd_files_are_refused_with_their_place() {
    let big = format!("storages: [{}]\n", "x,".repeat(6 << 20));
    let cases: [(&[u8], &str); 8] = [
        (b"storages:\n- {name: \xff}\n", "not UTF-8"),
        (b"storages:\n\t- {name: x}\n", "tab"),
        (b"storages: !!python/object:os.system x\n", "python/object"),
        (b"storages: &a [*a]\n", "alias"),
        (b"a: 1\n---\nb: 1\n", "more than one"),
        (b"? [a]\n: b\n", "key"),
        (b"storages:\n- {name: \"a\0b\"}\n", "control character"),
        (big.as_bytes(), "MiB"),
    ];
    for (bytes, word) in cases {
        let mut memory = harbor();
        memory.insert("storages/more.yaml", bytes, 0o644);
        let read = loaded(&memory);
        one(&read.diagnostics, "storages/more.yaml", &[word]);
        assert!(!read.whole);
    }
}

#[test]
fn bom_and_crlf_are_nothing_special() {
    let mut memory = harbor();
    let text = String::from_utf8(memory.read("storages/storages.yaml").expect("a file").bytes).expect("text");
    memory.insert("storages/storages.yaml", format!("\u{feff}{}", text.replace('\n', "\r\n")), 0o644);
    let read = loaded(&memory);
    assert!(read.diagnostics.0.is_empty(), "{:#?}", told(&read.diagnostics));
}

#[test]
fn names_of_every_odd_character_end_in_words() {
    for odd in [
        "\u{202e}x",
        "a b",
        "ä/ö",
        "$(id)",
        "`id`",
        "'; id; '",
        "{{ x }}",
        "a\u{7}",
        "😀",
        "\"",
        "%{x}",
        "..",
        "-",
        "\u{0}",
    ] {
        let quoted = serde_json::to_string(odd).expect("a text");
        let mut memory = harbor();
        memory.insert("storages/more.yaml", format!("storages:\n- {{name: {quoted}, type: buckets, groups: [{quoted}], {quoted}: 1, tags: {{{quoted}: {quoted}}}}}\n"), 0o644);
        let read = loaded(&memory);
        assert!(read.diagnostics.is_refused(), "{odd:?}");
        for d in read.diagnostics.iter() {
            assert!(!d.message.contains(['\u{7}', '\n', '\u{0}']), "{d:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out_of_the_tree() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path().join("tree");
    copy(std::path::Path::new(super::support::ROOT), &root);
    std::fs::write(dir.path().join("secret"), "storages: []\n").expect("a file");
    let read = || load(&Folder::new(&root), &request(), &Identities::default()).expect("loaded");
    assert!(read().diagnostics.0.is_empty());

    std::os::unix::fs::symlink("../../secret", root.join("storages/out.yaml")).expect("a link");
    one(&read().diagnostics, "storages/out.yaml:1:1", &["outside"]);
    std::fs::remove_file(root.join("storages/out.yaml")).expect("gone");

    std::os::unix::fs::symlink("..", root.join("storages/round")).expect("a link");
    let found = told(&read().diagnostics);
    assert!(found.iter().all(|t| t.contains("storages/round")), "{found:#?}");
    std::fs::remove_file(root.join("storages/round")).expect("gone");

    std::fs::remove_file(root.join("scripts/site.sh")).expect("gone");
    std::os::unix::fs::symlink("../../secret", root.join("scripts/site.sh")).expect("a link");
    one(&read().diagnostics, "images/images.yaml:22:", &["scripts/site.sh", "outside"]);
}

#[cfg(unix)]
fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("a copy");
        }
    }
}

/// A tree so many times as large as the example.
fn large(times: usize) -> Memory {
    let mut memory = harbor();
    let text = |memory: &Memory, path: &str| String::from_utf8(memory.read(path).expect("a file").bytes).expect("text");
    for (file, names) in [
        ("storages/storages.yaml", &["ledger", "depot", "vault", "public-docs"][..]),
        (
            "instances/instances.yaml",
            &[
                "api-1",
                "api-2",
                "edge-1",
                "probe",
                "ledger",
                "depot",
                "vault",
                "harbor-api",
                "harbor-edge",
                "harbor-base",
            ],
        ),
        ("images/images.yaml", &["harbor-base", "harbor-api", "harbor-edge"]),
    ] {
        let once = text(&memory, file);
        for copy in 1..times {
            let changed = names.iter().fold(once.clone(), |text, name| text.replace(name, &format!("{name}x{copy}")));
            memory.insert(file.replace(".yaml", &format!("-{copy}.yaml")), changed, 0o644);
        }
    }
    memory
}

#[test]
fn a_tree_a_hundred_times_as_large_is_read_whole() {
    let read = loaded(&large(100));
    assert!(read.diagnostics.0.is_empty(), "{:#?}", told(&read.diagnostics));
    assert_eq!(read.tree.map(|t| t.instances.len()), Some(400));
}

#[test]
fn many_faults_are_all_told() {
    let many = |line: &dyn Fn(usize) -> String| (0..8000).map(line).collect::<String>();
    let mut memory = harbor();
    memory.insert(
        "groups/more.yaml",
        format!("groups:\n{}", many(&|i| format!("- {{name: g{i}, gid: {}}}\n", 10_000 + i))),
        0o644,
    );
    memory.insert(
        "storages/more.yaml",
        format!(
            "storages:\n{}",
            many(&|i| format!("- {{name: s{i}, groups: [h{i}], nome: 1, tags: {{a: \"{{{{ config.k{i}x }}}}\"}}}}\n"))
        ),
        0o644,
    );
    memory.insert("cfg/y.yml", format!("config:\n{}", many(&|i| format!("  k{i}: 1\n"))), 0o644);
    memory.insert("cfg/z.yml", format!("config:\n{}", many(&|i| format!("  k{i}: 1\n"))), 0o644);
    let found = loaded(&memory).diagnostics;
    assert!(found.0.len() > 30_000, "{}", found.0.len());
}
