//! Who may read and write what.

use super::Harbor;

/// Harbor with a machine of the group audit on an image that can mount everything.
fn with_reader(storage: &str) -> Harbor {
    let harbor = Harbor::new();
    harbor.write(
        "images/reader.yaml",
        "images:\n  - {name: reader, group: audit, source_image: alma9, description: x, runtimes: [{image_builder: bake}]}\n",
    );
    harbor.write(
        "instances/reader.yaml",
        format!("instances:\n  - name: reader-1\n    image: reader\n    storages: [{{name: {storage}, mount_point: /mnt/x}}]\n"),
    );
    harbor
}

/// The line that mounts what is mounted at /mnt/x.
fn mount_line(harbor: &Harbor) -> String {
    let script = harbor.emitted("user-data-reader_1.sh.tftpl");
    let lines: Vec<&str> = script.lines().filter(|line| line.contains("'/mnt/x'")).collect();
    lines.join("\n")
}

#[test]
fn a_public_share_is_read_only_for_others_and_whole_for_its_groups() {
    let harbor = with_reader("depot");
    harbor.edit("storages/storages.yaml", "    groups: [crew, audit]\n", "    groups: [crew]\n    public_read: true\n");
    harbor.csis(&["generate"]).ends(0);
    let reader = harbor.emitted("instance-reader_1.tf");
    assert!(reader.contains("public_read"), "{reader}");
    assert!(mount_line(&harbor).split([',', '"', ' ']).any(|option| option == "ro"), "{}", mount_line(&harbor));
    let owner = harbor.emitted("instance-api_2.tf");
    assert!(owner.contains(r#"access_point_ids["crew"]"#) && !owner.contains("public_read"), "{owner}");
    let script = harbor.emitted("user-data-api_2.sh.tftpl");
    assert!(!script.split([',', '"', ' ', '\n']).any(|option| option == "ro"), "{script}");
}

#[test]
fn a_public_volume_is_read_only_for_others_who_get_no_folder_of_their_own() {
    let harbor = with_reader("library");
    harbor.write("storages/more.yaml", "storages:\n  - {name: library, groups: [crew], public_read: true}\n");
    harbor.csis(&["generate"]).ends(0);
    let lines = mount_line(&harbor);
    assert!(lines.split([',', '"', ' ', '\n']).any(|option| option == "ro"), "{lines}");
    assert!(!lines.contains("csis_subtree"), "{lines}");
}

#[test]
fn a_groups_files_belong_to_who_wrote_them() {
    let harbor = Harbor::new();
    harbor.csis(&["init-config", "."]).ends(0);
    let module = harbor.read("tfmodules/aws_storage_efs/main.tf");
    let code: String = module.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    assert!(code.contains("aws_efs_access_point") && !code.contains("posix_user"), "{module}");
}
