//! What a reader is told.

use super::{Harbor, refuses};

#[test]
fn a_fault_of_a_file_is_a_few_lines_that_name_file_and_item() {
    for (file, find, replace, words) in [
        ("storages/storages.yaml", "share_mode:", "sharemode:", &["sharemode", "share_mode", "depot"][..]),
        ("storages/storages.yaml", "type: shares", "type: sharess", &["sharess", "shares"]),
        ("instances/instances.yaml", "on_failure: teardown", "on_failure: explode", &["explode", "teardown", "probe"]),
        ("groups/groups.yaml", "members: [lena]", "members: [nobody]", &["nobody", "audit"]),
        ("groups/groups.yaml", "gid: 4100", "gid: many", &["gid", "many", "audit"]),
        ("cfg/os-builders.yml", "type: ubuntu", "type: ubunto", &["ubunto", "ubuntu"]),
        ("cfg/state-backends.yml", "bucket: harbor-state, ", "", &["bucket", "state-main"]),
        ("images/images.yaml", "  - name: harbor-edge\n", "  - naem: harbor-edge\n", &["name"]),
        ("images/images.yaml", "images:\n", "images:\n  - name: [\n", &[]),
    ] {
        let said = refuses(&[(file, find, replace)], words).tells(&[&format!("{file}:"), "help:"]);
        for help in said.stderr.lines().filter_map(|line| line.trim().strip_prefix("help: ")) {
            assert!(
                !help.starts_with(char::is_uppercase) && !help.ends_with('.'),
                "not in the style of the others: {help}"
            );
        }
        let lines = said.stderr.lines().count();
        assert!(lines <= 30, "{lines} lines:\n{}", said.stderr);
    }
}

#[test]
fn a_message_names_the_right_kind_and_both_names() {
    let harbor = Harbor::new();
    harbor.write(
        "storages/more.yaml",
        "storages:\n  - {name: Vault, type: buckets, bucket_name: other, groups: [crew]}\n",
    );
    let said = harbor.csis(&["validate"]).ends(1).tells(&["storage", "`Vault`", "`vault`"]);
    assert!(!said.stderr.contains("image files"), "{}", said.stderr);
    refuses(&[("instances/instances.yaml", "- name: api-2", "- name: API-1")], &["`API-1`", "`api-1`"]);
}

#[test]
fn a_member_is_found_however_its_name_is_written() {
    let harbor = Harbor::new();
    harbor.write(
        "groups/more.yaml",
        "users:\n  - {name: Emery, first_name: E, last_name: M, uid: 4009}\ngroups:\n  - {name: Guests, gid: 4300, members: [Emery, LENA]}\n",
    );
    let said = harbor.csis(&["validate"]);
    assert!(!said.stderr.contains("not in the list"), "{}", said.stderr);
    said.ends(0);
}

#[test]
fn there_is_a_version_and_an_unknown_entry_is_no_warning() {
    let harbor = Harbor::new();
    harbor.csis(&["--version"]).ends(0).tells(&["csis 0."]);
    for entry in ["instance:nope", "nope", "nope:api-1", "instance:", ":"] {
        harbor.csis(&["--undeclare", entry, "validate"]).ends(2).tells(&["undeclare"]);
    }
}
