use super::*;
use csis_values::emission::EmittedRoot;

fn emission(files: &[(&str, &str)], roots: &[&str]) -> Emission {
    Emission {
        files: files.iter().map(|(p, t)| ((*p).to_owned(), (*t).to_owned())).collect(),
        roots: roots
            .iter()
            .map(|d| EmittedRoot { id: (*d).into(), directory: (*d).into(), backend_file: None, steps: vec![] })
            .collect(),
        kept: vec![],
    }
}

#[test]
fn a_root_is_replaced_as_a_set_and_keeps_its_provider_lock() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = "storage/vol/storage-generation";
    let first = emission(
        &[
            ("storage/vol/storage-generation/a.tf", "a"),
            ("storage/vol/storage-generation/b.tf", "b"),
            (".gitignore", "x"),
        ],
        &[dir],
    );
    write(tmp.path(), "generated", &first, &["storage"]).unwrap();
    let root = tmp.path().join("generated").join(dir);
    fs_err::write(root.join(".terraform.lock.hcl"), "lock").unwrap();
    let second = emission(&[("storage/vol/storage-generation/a.tf", "a2")], &[dir]);
    let written = write(tmp.path(), "generated", &second, &["storage"]).unwrap();
    assert_eq!((written.changed, written.removed), (1, 1));
    assert_eq!(written.foreign.iter().collect::<Vec<_>>(), ["storage/vol/storage-generation/b.tf"]);
    assert_eq!(fs_err::read_to_string(root.join("a.tf")).unwrap(), "a2");
    assert!(!root.join("b.tf").exists() && root.join(".terraform.lock.hcl").exists());
    let names: Vec<_> = fs_err::read_dir(root.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["storage-generation"], "nothing stays aside");
}

#[test]
fn a_root_that_is_gone_is_removed_and_other_lifecycles_are_left() {
    let tmp = tempfile::tempdir().unwrap();
    let both = emission(
        &[("storage/vol/storage-generation/a.tf", "a"), ("instance-image/vm/instance-generation/a.tf", "a")],
        &["storage/vol/storage-generation", "instance-image/vm/instance-generation"],
    );
    write(tmp.path(), "generated", &both, &["storage", "instance-image"]).unwrap();
    let packer = tmp.path().join("generated/instance-image/bake/image-generation/block-000");
    fs_err::create_dir_all(&packer).unwrap();
    let written = write(tmp.path(), "generated", &emission(&[], &[]), &["instance-image"]).unwrap();
    assert!(!tmp.path().join("generated/instance-image/vm").exists());
    assert!(tmp.path().join("generated/storage/vol/storage-generation/a.tf").exists());
    assert!(packer.exists());
    assert_eq!(written.untouched, ["instance-image/bake/image-generation"]);
}

#[test]
fn the_last_root_of_a_lifecycle_takes_its_script_along() {
    let tmp = tempfile::tempdir().unwrap();
    let all = [("storage/vol/storage-generation/a.tf", "a"), ("storage/run-storage.sh", "r"), ("all.sh", "s")];
    let some = emission(&all, &["storage/vol/storage-generation"]);
    write(tmp.path(), "generated", &some, &["storage"]).unwrap();
    let none = emission(&[("all.sh", "s")], &[]);
    write(tmp.path(), "generated", &none, &["identity"]).unwrap();
    assert!(tmp.path().join("generated/storage/run-storage.sh").exists());
    assert_eq!(write(tmp.path(), "generated", &none, &["storage"]).unwrap().removed, 2);
    let left: Vec<_> =
        fs_err::read_dir(tmp.path().join("generated")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["all.sh"]);
}

#[test]
fn a_root_that_a_killed_run_left_aside_is_taken_back() {
    let tmp = tempfile::tempdir().unwrap();
    let (dir, all) = ("storage/vol/storage-generation", &[("storage/vol/storage-generation/a.tf", "a")]);
    let builder = tmp.path().join("generated/storage/vol");
    fs_err::create_dir_all(builder.join(".storage-generation.csis-old")).unwrap();
    fs_err::write(builder.join(".storage-generation.csis-old/.terraform.lock.hcl"), "lock").unwrap();
    write(tmp.path(), "generated", &emission(all, &[dir]), &["storage"]).unwrap();
    assert_eq!(fs_err::read_to_string(builder.join("storage-generation/.terraform.lock.hcl")).unwrap(), "lock");
    assert_eq!(fs_err::read_dir(&builder).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    use std::os::unix::fs::symlink;
    let dir = "storage/vol/storage-generation";
    let all = emission(&[("storage/vol/storage-generation/a.tf", "a"), ("storage/run.sh", "r")], &[dir]);
    for link in ["generated", "generated/storage", "generated/storage/vol"] {
        let (tmp, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let link = tmp.path().join(link);
        fs_err::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(elsewhere.path(), &link).unwrap();
        assert!(write(tmp.path(), "generated", &all, &["storage"]).is_err());
        assert_eq!(fs_err::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
    let (tmp, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let victim = elsewhere.path().join("victim");
    fs_err::write(&victim, "mine").unwrap();
    fs_err::create_dir_all(tmp.path().join("generated/storage")).unwrap();
    symlink(&victim, tmp.path().join("generated/storage/.run.sh.csis-new")).unwrap();
    write(tmp.path(), "generated", &all, &["storage"]).unwrap();
    assert_eq!(fs_err::read_to_string(&victim).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn a_root_that_cannot_be_emptied_is_told_and_everything_stays_as_it_was() {
    use std::os::unix::fs::PermissionsExt;
    let tmp = tempfile::tempdir().unwrap();
    let (dir, path) = ("storage/vol/storage-generation", "storage/vol/storage-generation/a.tf");
    write(tmp.path(), "generated", &emission(&[(path, "a")], &[dir]), &["storage"]).unwrap();
    let folder = tmp.path().join("generated").join(dir);
    let mode = |mode| fs_err::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    let error = write(tmp.path(), "generated", &emission(&[(path, "b")], &[dir]), &["storage"]).unwrap_err();
    assert!(error.to_string().contains("it is read-only"), "{error}");
    assert_eq!(fs_err::read_to_string(folder.join("a.tf")).unwrap(), "a");
    assert_eq!(fs_err::read_dir(folder.parent().unwrap()).unwrap().count(), 1, "nothing stays aside");
    mode(0o755);
    // A file that is read-only can be replaced all the same.
    fs_err::set_permissions(folder.join("a.tf"), std::fs::Permissions::from_mode(0o444)).unwrap();
    write(tmp.path(), "generated", &emission(&[(path, "b"), ("storage/run-storage.sh", "r")], &[dir]), &["storage"])
        .unwrap();
    assert_eq!(fs_err::read_to_string(folder.join("a.tf")).unwrap(), "b");
    let script = tmp.path().join("generated/storage/run-storage.sh");
    fs_err::set_permissions(&script, std::fs::Permissions::from_mode(0o444)).unwrap();
    write(tmp.path(), "generated", &emission(&[], &[]), &["storage"]).unwrap();
    assert!(!script.exists());
}
