//! The example tree, and what a person may get wrong in it.

use super::support::{ROOT, edited, harbor, loaded, one, request, told};
use crate::*;
use csis_values::tree::{Apply, Policy, StorageState};

#[test]
fn the_example_is_read_without_a_word() {
    let folder = Folder::new(ROOT);
    let from_folder = load(&folder, &request(), &Identities::default()).expect("loaded");
    assert!(from_folder.diagnostics.0.is_empty(), "{:#?}", told(&from_folder.diagnostics));
    let tree = from_folder.tree.expect("a tree");
    assert_eq!(loaded(&harbor()).tree.as_ref(), Some(&tree));

    assert_eq!(
        (tree.id.as_str(), tree.config_tag.as_str(), tree.generation_directory.as_str()),
        ("harbor", "harbor", "generated")
    );
    assert_eq!(tree.config.apply_storage.value, Apply::Only(vec!["aws-west".into()]));
    assert!(tree.config.use_state_backends && tree.config.require_image_tests);
    assert_eq!(tree.executables.len(), 5);
    let storage = tree.storage("ledger").expect("ledger");
    assert_eq!((storage.builder.as_str(), storage.state.value), ("volumes", StorageState::Active));
    assert_eq!(
        tree.builder(Class::ImageBuilder, "bake").and_then(|b| b.runtime.as_ref()).map(|r| r.as_str()),
        Some("aws-west")
    );
    assert_eq!(
        tree.builder(Class::Runtime, "aws-west").and_then(|b| b.fields.text("description")),
        Some("aws-west in us-west-2")
    );
    let image = tree.image("harbor-base").expect("harbor-base");
    assert_eq!((image.description.as_str(), image.source.as_str()), ("harbor-base on alma9", "alma9"));
    assert_eq!(image.runtimes[0].runtime, "aws-west");
    assert_eq!(image.modifications.iter().map(|m| m.kind.as_str()).collect::<Vec<_>>(), ["ansible", "bash-remote"]);
    assert_eq!(tree.image("harbor-edge").and_then(|i| i.runtimes[0].machine_type.clone()).as_deref(), Some("t3.small"));
    let instance = tree.instance("api-2").expect("api-2");
    assert_eq!(
        (instance.image_policy, instance.runtime.as_str(), instance.builder.as_str()),
        (Policy::Follow, "aws-west", "fleet")
    );
    assert_eq!(instance.description, "Instance from harbor-api");
    assert_eq!(tree.groups[0].gid.as_ref().map(|g| g.value), Some(4000));
    assert_eq!(tree.group("crew").map(|g| g.description.as_str()), Some("crew of the harbor"));
    let mira = tree.user("mira").expect("mira");
    assert_eq!((mira.email.as_str(), mira.description.as_str()), ("mira", "User mira / mira"));
    assert_eq!(tree.files.keys().map(String::as_str).collect::<Vec<_>>(), ["playbooks/tools.yml", "scripts/site.sh"]);
}

#[test]
fn refusals_say_what_where_and_what_to_do() {
    const STORAGES: &str = "storages/storages.yaml";
    const INSTANCES: &str = "instances/instances.yaml";
    const CONFIG: &str = "cfg/_config.yml";
    const IMAGES: &str = "images/images.yaml";
    type Case<'a> = ((&'a str, &'a str, &'a str), &'a str, &'a [&'a str]);
    let cases: &[Case<'_>] = &[
        (
            (STORAGES, "    share_mode: \"2775\"", "    sharemode: \"2775\""),
            "storages/storages.yaml:8:5",
            &["`depot`", "sharemode", "write `share_mode`"],
        ),
        (
            (INSTANCES, "machine_type: m7i.large", "machinetype: m7i.large"),
            "instances/instances.yaml:4:5",
            &["`api-1`", "machinetype", "machine_type"],
        ),
        (
            (CONFIG, "require_released_builds: false", "require_release_builds: true"),
            "cfg/_config.yml:11:3",
            &["require_release_builds", "write `require_released_builds`"],
        ),
        (
            (STORAGES, "tags: {data: ledger}", "state: archivd"),
            "storages/storages.yaml:4:12",
            &["`ledger`", "archivd", "active", "destroyed", "write `archived`"],
        ),
        ((STORAGES, "2775", "2777"), "storages/storages.yaml:8:17", &["`depot`", "2777", "2770", "2775"]),
        (
            (STORAGES, "groups: [crew, audit]", "groups: [crew, auditt]"),
            "storages/storages.yaml:7:20",
            &["`depot`", "auditt", "write `audit`"],
        ),
        (
            (INSTANCES, "image: harbor-edge", "image: harbor-egde"),
            "instances/instances.yaml:18:12",
            &["`edge-1`", "harbor-egde", "write `harbor-edge`"],
        ),
        (
            (INSTANCES, "image: harbor-edge", "image: none"),
            "instances/instances.yaml:18:12",
            &["`edge-1`", "none", "names nothing"],
        ),
        (
            (INSTANCES, "image: harbor-edge", "image: [harbor-edge]"),
            "instances/instances.yaml:18:12",
            &["`edge-1`", "a list"],
        ),
        (
            (IMAGES, "parent_policy: follow", "parent_policy: float"),
            "images/images.yaml:27:20",
            &["`harbor-api`", "float", "pinned", "follow"],
        ),
        (
            (IMAGES, "playbooks/tools.yml", "playbooks/tool.yml"),
            "images/images.yaml:15:21",
            &["`tools`", "playbooks/tool.yml", "does not exist"],
        ),
        (
            (IMAGES, "playbooks/tools.yml", "../tools.yml"),
            "images/images.yaml:15:21",
            &["`tools`", "../tools.yml", "outside"],
        ),
        (
            (IMAGES, "playbooks/tools.yml", "/etc/passwd"),
            "images/images.yaml:15:21",
            &["`tools`", "/etc/passwd", "outside"],
        ),
        ((IMAGES, "playbooks/tools.yml", "playbooks"), "images/images.yaml:15:21", &["`tools`", "playbooks"]),
        ((IMAGES, "type: play", "type: pley"), "images/images.yaml:14:15", &["`tools`", "pley", "write `play`"]),
        (
            (IMAGES, "{{ image.name }} on", "{{ image.nme }} on"),
            "images/images.yaml:5:18",
            &["image.nme", "write `image.name`"],
        ),
        ((IMAGES, "{{ image.name }} on", "{{ nope }} on"), "images/images.yaml:5:18", &["`nope`", "not set"]),
        ((IMAGES, "{{ image.name }} on", "{{ image.name on"), "images/images.yaml:5:18", &["template"]),
        (
            ("groups/groups.yaml", "members: [lena]", "members: [lenna]"),
            "groups/groups.yaml:10:15",
            &["`audit`", "lenna", "write `lena`"],
        ),
        (("groups/groups.yaml", "gid: 4100", "gid: many"), "groups/groups.yaml:9:10", &["`audit`", "many", "1024"]),
        (("groups/groups.yaml", "    is_root: true\n", ""), "groups/groups.yaml:2:5", &["root group"]),
        (
            ("groups/groups.yaml", "    gid: 4100", "    gid: 4100\n    is_root: yes"),
            "groups/groups.yaml:10:14",
            &["`crew`", "`audit`"],
        ),
        (
            ("groups/users.yaml", "first_name: Mira", "first_name: ' '"),
            "groups/users.yaml:2:30",
            &["`mira`", "first_name"],
        ),
        (
            ("groups/users.yaml", "first_name: Mira", "firstname: Mira, first_name: Mira"),
            "groups/users.yaml:2:18",
            &["`mira`", "firstname"],
        ),
        (
            ("groups/users.yaml", "first_name: Mira", "aliases: [m], first_name: Mira"),
            "groups/users.yaml:2:18",
            &["`mira`", "aliases"],
        ),
        (
            (
                "cfg/storage-builders.yml",
                "name: shares\n    type: tf-aws-efs\n    runtime: aws-west",
                "name: shares\n    type: tf-aws-efs\n    runtime: aws-wets",
            ),
            "cfg/storage-builders.yml:11:14",
            &["`shares`", "aws-wets", "write `aws-west`"],
        ),
        (
            ("cfg/storage-builders.yml", "type: tf-aws-efs", "type: tf-aws-esf"),
            "cfg/storage-builders.yml:10:11",
            &["`shares`", "tf-aws-esf", "write `tf-aws-efs`"],
        ),
        (
            ("cfg/storage-builders.yml", "variables: {encrypted: true}", "parameters: {encrypted: true}"),
            "cfg/storage-builders.yml:13:5",
            &["`shares`", "parameters", "variables"],
        ),
        (
            ("cfg/storage-builders.yml", "variables: {encrypted: true}", "variables: {encripted: true}"),
            "cfg/storage-builders.yml:13:17",
            &["`shares`", "encripted", "encrypted"],
        ),
        (
            ("cfg/storage-builders.yml", "    is_default: true\n", ""),
            "cfg/storage-builders.yml:2:5",
            &["storage_builders", "default", "`shares`"],
        ),
        (
            ("cfg/storage-builders.yml", "type: tf-aws-efs", "type: tf-aws-efs\n    is_default: true"),
            "cfg/storage-builders.yml:11:17",
            &["`volumes`", "`shares`"],
        ),
        (
            ("cfg/runtime-builders.yml", "    default_machine_type: t3.small\n", ""),
            "cfg/runtime-builders.yml:2:5",
            &["`aws-west`", "default_machine_type"],
        ),
        (
            ("cfg/mod-builders.yml", "executable: bash}", "executable: bsh}"),
            "cfg/mod-builders.yml:3:50",
            &["`shell`", "bsh", "write `bash`"],
        ),
        (
            (CONFIG, "apply_instances: false", "apply_instances: \"false\""),
            "cfg/_config.yml:9:20",
            &["apply_instances", "without quotes"],
        ),
        (
            (CONFIG, "apply_instances: false", "apply_instances: 1"),
            "cfg/_config.yml:9:20",
            &["apply_instances", "an integer"],
        ),
        (
            (CONFIG, "apply_instances: false", "apply_instances: {aws-west: false}"),
            "cfg/_config.yml:9:20",
            &["apply_instances", "a mapping"],
        ),
        (
            (CONFIG, "apply_storage: [aws-west]", "apply_storage: [aws-wets]"),
            "cfg/_config.yml:8:19",
            &["aws-wets", "write `aws-west`"],
        ),
        (
            (CONFIG, "apply_storage: [aws-west]", "apply_storage: [fleet]"),
            "cfg/_config.yml:8:19",
            &["fleet", "`volumes`"],
        ),
        (
            (CONFIG, "generation_directory: ./generated/", "generation_directory: ../x"),
            "cfg/_config.yml:2:23",
            &["../x"],
        ),
        (
            (CONFIG, "generation_directory: ./generated/", "generation_directory: ./cfg/x"),
            "cfg/_config.yml:2:23",
            &["cfg/x"],
        ),
        ((CONFIG, "gitignore:", "gitignores:"), "cfg/_config.yml:4:1", &["gitignores", "write `gitignore`"]),
        ((CONFIG, "  apply_identity: false", "  runtime: x"), "cfg/_config.yml:7:3", &["`runtime`", "config"]),
        ((CONFIG, "ssh-ed25519 AAAA", "ssh-rsa AAAA"), "cfg/_config.yml:13:7", &["admin_public_keys", "ssh-ed25519"]),
        (
            (STORAGES, "    tags: {data: ledger}", "    groups: [audit]"),
            "storages/storages.yaml:4:5",
            &["groups", "storages.yaml:3:5"],
        ),
        (
            (STORAGES, "tags: {data: ledger}", "tags: {data: yes}"),
            "storages/storages.yaml:4:18",
            &["tags.data", "quotes"],
        ),
        ((STORAGES, "groups: [crew]", "groups: crew"), "storages/storages.yaml:3:13", &["groups", "`[crew]`"]),
        (
            (INSTANCES, "teardown_after: 45m", "teardown_after: 0m"),
            "instances/instances.yaml:25:21",
            &["`probe`", "0m"],
        ),
        ((INSTANCES, "name: edge-1", "name: edge/1"), "instances/instances.yaml:17:11", &["edge/1", "slash"]),
        ((INSTANCES, "tags: {tier: api}", "groups: [crew]"), "instances/instances.yaml:11:5", &["`api-1`", "group"]),
        (
            (INSTANCES, "name: ledger, mount_point", "nme: ledger, name: ledger, mount_point"),
            "instances/instances.yaml:7:10",
            &["`api-1`", "storages[0]", "nme"],
        ),
    ];
    let mut wrong = Vec::new();
    for (edit, at, words) in cases {
        let loaded = loaded(&edited(&[*edit]));
        let found = told(&loaded.diagnostics);
        let right =
            found.len() == 1 && found[0].contains(&format!(" {at}: ")) && words.iter().all(|w| found[0].contains(w));
        let kept = loaded.diagnostics.is_refused()
            && loaded.tree.is_some()
            && loaded.diagnostics.iter().all(|d| d.help.is_some());
        if !right || !kept {
            wrong.push(format!("{edit:?}: expected {at} {words:?}, found {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_alias_is_a_reference_like_its_name() {
    let tree = loaded(&edited(&[
        (
            "cfg/storage-builders.yml",
            "name: shares\n    type: tf-aws-efs\n    runtime: aws-west",
            "name: shares\n    type: tf-aws-efs\n    runtime: WEST\n    aliases: [files]",
        ),
        ("storages/storages.yaml", "type: shares", "type: files"),
        ("cfg/_config.yml", "apply_storage: [aws-west]", "apply_storage: west"),
        ("instances/instances.yaml", "image: harbor-edge", "image: Harbor-Edge"),
        ("groups/groups.yaml", "members: [mira, oskar]", "members: [Mira, oskar]"),
        ("images/images.yaml", "source_image: alma9", "source_image: default"),
    ]));
    assert!(tree.diagnostics.0.is_empty(), "{:#?}", told(&tree.diagnostics));
    let tree = tree.tree.expect("a tree");
    assert_eq!(
        tree.builder(Class::StorageBuilder, "shares").and_then(|b| b.runtime.as_ref()).map(|r| r.as_str()),
        Some("aws-west")
    );
    assert_eq!(tree.storage("depot").map(|s| s.builder.as_str()), Some("shares"));
    assert_eq!(tree.config.apply_storage.value, Apply::Only(vec!["aws-west".into()]));
    assert_eq!(tree.instance("edge-1").and_then(|i| i.image.as_ref()).map(|i| i.as_str()), Some("harbor-edge"));
    assert_eq!(tree.group("crew").map(|g| g.members[0].as_str()), Some("mira"));
    assert_eq!(tree.image("harbor-base").map(|i| i.source.as_str()), Some("alma9"));
}

#[test]
fn every_fault_is_told_at_once_and_the_items_stay_known() {
    let loaded = loaded(&edited(&[
        ("storages/storages.yaml", "2775", "2777"),
        ("instances/instances.yaml", "image: harbor-edge", "image: harbor-egde"),
        ("groups/groups.yaml", "members: [lena]", "members: [lenna]"),
    ]));
    let told = told(&loaded.diagnostics);
    assert_eq!(told.len(), 3, "{told:#?}");
    let tree = loaded.tree.expect("a tree");
    assert_eq!(tree.storage("depot").map(|s| s.share_mode.as_str()), Some("2770"));
    assert_eq!(tree.instance("edge-1").and_then(|i| i.image.as_ref()).map(|i| i.as_str()), Some("harbor-egde"));
}

#[test]
fn names_are_told_apart_across_files() {
    let mut memory = harbor();
    memory.insert("storages/more.yaml", "storages:\n  - {name: Vault, type: buckets, groups: [crew]}\n", 0o644);
    one(&loaded(&memory).diagnostics, "storages/more.yaml:2:12", &["Vault", "storages/storages.yaml"]);
    memory.insert("storages/more.yaml", "storages:\n  - {name: none, groups: [crew]}\n", 0o644);
    assert!(told(&loaded(&memory).diagnostics)[0].contains("reserved-name"));
    memory.insert("storages/more.yaml", "storages:\n  - {name: x, aliases: [vault], type: buckets}\n", 0o644);
    one(&loaded(&memory).diagnostics, "storages/more.yaml:2:25", &["alias", "`x`", "`vault`"]);
    memory.insert("storages/more.yaml", "storages:\n  - {groups: [crew]}\n  - x\n", 0o644);
    let found = told(&loaded(&memory).diagnostics);
    assert!(
        found.len() == 2 && found[0].contains("storages/more.yaml:2:5") && found[1].contains("more.yaml:3:5"),
        "{found:#?}"
    );
}

#[test]
fn a_collection_file_says_what_it_is_for() {
    let mut memory = harbor();
    memory.insert("storages/more.yaml", "storagez:\n  - name: x\n", 0o644);
    one(&loaded(&memory).diagnostics, "storages/more.yaml:1:1", &["storagez", "write `storages`"]);
    memory.insert("storages/more.yaml", "- name: x\n", 0o644);
    one(&loaded(&memory).diagnostics, "storages/more.yaml:1:1", &["a list", "storages"]);
    memory.insert("storages/more.yaml", "storages: {name: x}\n", 0o644);
    one(&loaded(&memory).diagnostics, "storages/more.yaml:1:11", &["a mapping"]);
    memory.insert("storages/more.yaml", "x-note: 1\n.y: 2\n", 0o644);
    assert!(loaded(&memory).diagnostics.0.is_empty());
    memory.insert("storages/more.yaml", "storages: []\nnotes: 2\n", 0o644);
    let loaded = loaded(&memory);
    assert!(!loaded.diagnostics.is_refused());
    one(&loaded.diagnostics, "storages/more.yaml:2:1", &["Warning", "notes"]);
}

#[test]
fn cfg_is_one_document_of_many_files() {
    let mut memory = harbor();
    memory.insert("cfg/zz.yml", "config:\n  apply_instances: true\n", 0o644);
    one(&loaded(&memory).diagnostics, "cfg/zz.yml:2:3", &["cfg/zz.yml", "cfg/_config.yml", "apply_instances"]);
    memory.insert("cfg/zz.yml", "config:\n  colour: blue\nstorage_builders:\n- {name: more, type: tf-aws-efs, executable: engine, tags: {c: \"{{ config.colour }}\"}}\n", 0o644);
    let read = loaded(&memory);
    assert!(read.diagnostics.0.is_empty(), "{:#?}", told(&read.diagnostics));
    assert_eq!(
        read.tree.and_then(|t| t.builder(Class::StorageBuilder, "more").map(|b| b.tags["c"].clone())).as_deref(),
        Some("blue")
    );
    memory.insert("cfg/zz.yml", "config:\n  colour: blue\n", 0o644);
    one(&loaded(&memory).diagnostics, "cfg/zz.yml:2:3", &["Warning", "colour"]);
    for (text, word) in [
        ("- a\n", "a list"),
        ("word\n", "a text"),
        ("", "is empty"),
        ("config: [a]\n", "a list"),
        ("users: []\n", "users"),
    ] {
        memory.insert("cfg/zz.yml", text, 0o644);
        let found = told(&loaded(&memory).diagnostics);
        assert!(found.len() == 1 && found[0].contains(word) && found[0].contains("cfg/zz.yml"), "{found:#?}");
    }
}

#[test]
fn a_file_that_cannot_be_read_hides_what_depends_on_it() {
    let mut memory = harbor();
    memory.insert("groups/users.yaml", "users:\n  - name: [broken\n", 0o644);
    let read = loaded(&memory);
    one(&read.diagnostics, "groups/users.yaml", &["yaml-syntax"]);
    assert!(!read.whole);
    let mut memory = harbor();
    memory.insert("cfg/storage-builders.yml", "storage_builders: [\n", 0o644);
    one(&loaded(&memory).diagnostics, "cfg/storage-builders.yml", &["yaml-syntax"]);
    let mut memory = harbor();
    memory.remove("instances/instances.yaml");
    one(&loaded(&memory).diagnostics, "instances:1:1", &["`instances`", "does not exist"]);
}

#[test]
fn what_is_no_tree_is_no_tree() {
    let refused = load(&Memory::default(), &request(), &Identities::default());
    assert!(matches!(refused, Err(LoadError::NotATree(d)) if d.message.contains("cfg")));
    let mut memory = Memory::default();
    memory.folder("cfg");
    let read = loaded(&memory);
    assert!(read.tree.is_none() && told(&read.diagnostics).iter().any(|t| t.contains("`cfg`")));
}

#[test]
fn private_keys_are_refused_once_and_never_told() {
    let secret = "b3BlbnNzaC1rZXktdjEAAAAA";
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE1Xh0Jc2Jm1y0YQ0Qm0Y3o8hQxk7l7Zr6o3m3J2c9Vd harbor-admin";
    let read = loaded(&edited(&[("cfg/_config.yml", key, &format!("-----BEGIN OPENSSH PRIVATE KEY----- {secret}"))]));
    one(&read.diagnostics, "cfg/_config.yml:13:7", &["private"]);
    assert!(!format!("{read:?}").contains(secret));
}
