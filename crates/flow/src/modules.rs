//! The Terraform modules that csis carries: written by `csis init-config`, compared by `validate`, never touched by `generate`.

use crate::Invocation;
use crate::outcome::{Exit, Outcome, why};
use csis_tree::Identities;
use csis_values::request::Request;
use csis_values::tree::Tree;
use csis_values::{Diagnostic, Diagnostics};
use std::path::{Component, Path, PathBuf};

macro_rules! carried {
    ($($path:literal),+ $(,)?) => { &[$(($path, include_str!(concat!("../../../tfmodules/", $path)))),+] };
}

/// Every file of every module, by path below the module base.
pub const CARRIED: &[(&str, &str)] = carried![
    "aws_instance/main.tf",
    "aws_instance/outputs.tf",
    "aws_instance/provider.tf",
    "aws_instance/variables.tf",
    "aws_storage_ebs/main.tf",
    "aws_storage_ebs/outputs.tf",
    "aws_storage_ebs/provider.tf",
    "aws_storage_ebs/variables.tf",
    "aws_storage_efs/main.tf",
    "aws_storage_efs/outputs.tf",
    "aws_storage_efs/provider.tf",
    "aws_storage_efs/variables.tf",
    "aws_storage_s3/main.tf",
    "aws_storage_s3/outputs.tf",
    "aws_storage_s3/provider.tf",
    "aws_storage_s3/variables.tf",
];

/// The comment that says which release of the modules a file is from.
const MARK: &str = "# csis modules ";

fn release(text: &str) -> u32 {
    text.lines().find_map(|l| l.strip_prefix(MARK)).and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}

/// The folder a tree takes its modules from; none when it is not a local one.
pub fn folder(root: &Path, tree: &Tree) -> Option<PathBuf> {
    let base = &tree.config.module_source_base.value;
    let remote =
        base.contains("://") || ["git@", "git::", "github.com/", "s3::", "gcs::"].iter().any(|p| base.starts_with(p));
    (!remote).then(|| root.join(base))
}

/// A path as a reader would write it: without `.` and, where a name stands before it, `..`.
fn plain(path: &Path) -> PathBuf {
    let mut shown = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(shown.components().next_back(), Some(Component::Normal(_))) => {
                shown.pop();
            }
            part => shown.push(part),
        }
    }
    shown
}

/// Whether these files below a module folder are, byte for byte, the ones that csis carries.
pub fn are_carried(folder: &Path, files: impl Iterator<Item = PathBuf>) -> bool {
    let mut files = files;
    files.all(|file| {
        let carried =
            file.strip_prefix(folder).ok().and_then(|below| CARRIED.iter().find(|(path, _)| Path::new(path) == below));
        carried.is_some_and(|(_, text)| {
            !file.is_symlink() && fs_err::read(&file).is_ok_and(|theirs| theirs == text.as_bytes())
        })
    })
}

/// The module folders a tree lacks, and the ones of an older release.
pub fn state(root: &Path, tree: &Tree) -> (Vec<&'static str>, Vec<&'static str>) {
    let (mut missing, mut older) = (Vec::new(), Vec::new());
    let Some(folder) = folder(root, tree) else { return (missing, older) };
    for (path, text) in CARRIED.iter().filter(|(path, _)| path.ends_with("/main.tf")) {
        let module = path.trim_end_matches("/main.tf");
        match fs_err::read_to_string(folder.join(path)) {
            Ok(theirs) if release(&theirs) < release(text) => older.push(module),
            Ok(_) => {}
            Err(_) => missing.push(module),
        }
    }
    (missing, older)
}

/// A warning when the tree's copy of the modules is of an older release. A tree without a copy is `doctor`'s and the plan's to say.
pub fn check(root: &Path, tree: &Tree) -> Diagnostics {
    let (_, older) = state(root, tree);
    let mut found = Diagnostics::default();
    if !older.is_empty() {
        found.push(
            Diagnostic::warning(
                "modules-older",
                format!("the Terraform modules {} are of an older release than this csis", older.join(", ")),
            )
            .at(&tree.config.module_source_base.at)
            .help("run `csis init-config` with the same `--root` and review the difference as a change of its own"),
        );
    }
    found
}

/// `csis init-config`: writes the modules where they are missing or of an older release.
pub fn run(invocation: &Invocation, destination: &Path, force: bool) -> Outcome {
    let invocation = Invocation { root: destination.to_path_buf(), ..invocation.clone() };
    let (request, root) = match (invocation.request(&[]), crate::reading::root_of(&invocation)) {
        (Ok(request), Ok(root)) => (request, root),
        (Err(finding), _) => return Outcome::usage(finding),
        (_, Err(end)) => return end,
    };
    let request = Request {
        overlays: request
            .overlays
            .iter()
            .map(|overlay| crate::reading::from_root(&root, Path::new(""), overlay))
            .collect(),
        ..request
    };
    let identities = match invocation.identities() {
        Ok(identities) => identities,
        Err(finding) => return Outcome::usage(finding),
    };
    let loaded = match csis_tree::load(&csis_tree::Folder::new(&root), &request, &Identities::new(&identities)) {
        Ok(loaded) => loaded,
        Err(error) => return Outcome::usage(error.into_diagnostic()),
    };
    let Some(tree) = loaded.tree.filter(|_| loaded.whole) else { return crate::reading::refused(loaded.diagnostics) };
    let Some(folder) = folder(&root, &tree) else {
        return Outcome::new(Exit::Done).stderr(format!(
            "Nothing to write: the tree takes its modules from {}.\n",
            tree.config.module_source_base.value
        ));
    };
    write(&folder, force)
}

fn write(folder: &Path, force: bool) -> Outcome {
    let (mut written, mut edited) = (0, Vec::new());
    // Judged before anything is written: a module's main file tells the release of all its files.
    let current: Vec<&str> =
        CARRIED.iter().map(|(path, _)| *path).filter(|path| main_is_current(folder, path)).collect();
    for (path, text) in CARRIED {
        let target = folder.join(path);
        match fs_err::read_to_string(&target) {
            Ok(theirs) if theirs == *text => continue,
            // A copy of this release that differs was edited by hand.
            Ok(_) if !force && current.contains(path) => {
                edited.push(plain(&target).display().to_string());
                continue;
            }
            _ => {}
        }
        let put = target.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&target, text));
        if let Err(error) = put {
            return Outcome {
                findings: vec![
                    Diagnostic::error(
                        "cannot-write",
                        format!("the module file {} could not be written: {}", plain(&target).display(), why(&error)),
                    )
                    .help("clear the way or give the right to write, then run it again"),
                ],
                ..Outcome::new(Exit::Failed)
            };
        }
        written += 1;
    }
    let findings: Vec<Diagnostic> = edited
        .iter()
        .map(|path| {
            Diagnostic::error("module-edited", format!("{path} was edited"))
                .help("keep it, or replace it with the carried one by --force")
        })
        .collect();
    let exit = if findings.is_empty() { Exit::Done } else { Exit::Failed };
    Outcome::new(exit)
        .stderr(format!(
            "{written} module {} written below {}.\n",
            if written == 1 { "file" } else { "files" },
            plain(folder).display()
        ))
        .findings(findings)
}

fn main_is_current(folder: &Path, path: &str) -> bool {
    let module = path.split('/').next().unwrap_or_default();
    let main = format!("{module}/main.tf");
    let ours = CARRIED.iter().find(|(p, _)| *p == main).map_or(0, |(_, text)| release(text));
    fs_err::read_to_string(folder.join(main)).is_ok_and(|theirs| release(&theirs) >= ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list above is written by hand; a module file left out of it would be missing at every user's.
    #[test]
    fn every_module_file_is_carried() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tfmodules");
        let mut found = Vec::new();
        for module in fs_err::read_dir(&folder).unwrap() {
            let module = module.unwrap().path();
            for file in fs_err::read_dir(&module).unwrap() {
                let file = file.unwrap().path();
                if file.extension().is_some_and(|e| e == "tf") {
                    found.push(format!(
                        "{}/{}",
                        module.file_name().unwrap().to_string_lossy(),
                        file.file_name().unwrap().to_string_lossy()
                    ));
                }
            }
        }
        found.sort();
        let carried: Vec<&str> = CARRIED.iter().map(|(path, _)| *path).collect();
        assert_eq!(found, carried);
        assert!(CARRIED.iter().filter(|(p, _)| p.ends_with("main.tf")).all(|(_, text)| release(text) > 0));
    }

    #[test]
    fn an_edited_module_is_kept_unless_forced_and_an_older_one_is_replaced() {
        let tmp = tempfile::tempdir().unwrap();
        assert_eq!(write(tmp.path(), false).exit, Exit::Done);
        let outputs = tmp.path().join("aws_instance/outputs.tf");
        fs_err::write(&outputs, "# mine\n").unwrap();
        assert_eq!(write(tmp.path(), false).exit, Exit::Failed);
        assert_eq!(fs_err::read_to_string(&outputs).unwrap(), "# mine\n");
        fs_err::write(tmp.path().join("aws_instance/main.tf"), "# an old one\n").unwrap();
        assert_eq!(write(tmp.path(), false).exit, Exit::Done);
        assert_ne!(fs_err::read_to_string(&outputs).unwrap(), "# mine\n");
    }
}
