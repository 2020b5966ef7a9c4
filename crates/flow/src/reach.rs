//! What a change touches beside what its tree declares: code that plans are made with, and files that csis alone writes.
//!
//! None of it shows in the difference of two emissions, so each is looked for by itself.

use crate::git::Repository;
use crate::modules;
use csis_engine::materialise::{LOCK, PRIVATE};
use csis_values::Diagnostic;
use csis_values::tree::Tree;
use std::path::{Path, PathBuf};

/// Files that people may add to beside the records.
const NOT_RECORDS: &[&str] = &["aliases.txt", ".keep"];

/// What was found.
#[derive(Debug, Default)]
pub struct Reach {
    pub findings: Vec<Diagnostic>,
    /// Any root's plan may be another one for it, whatever its emission says.
    pub every_root: bool,
}

/// What the working tree changes since a commit.
pub fn of(repository: &Repository, commit: &str, root: &Path, tree: &Tree) -> Reach {
    let mut reach = Reach::default();
    modules_changed(repository, commit, root, tree, &mut reach);
    locks_changed(repository, commit, root, tree, &mut reach);
    records_edited(repository, commit, root, &mut reach);
    reach
}

/// A refusal when git holds files where the engine works: they would stand in for what the engine makes there, providers and variables included.
pub fn private_tracked(root: &Path, generation_directory: &str) -> Option<Diagnostic> {
    let repository = Repository::find(root).ok()?;
    let above = Path::new(generation_directory).parent().unwrap_or(Path::new(""));
    let first = repository.first_tracked(&root.join(above).join(PRIVATE))?;
    Some(
        Diagnostic::error("private-tracked", format!("`{first}` is committed, and the engine works in that folder"))
            .help(format!("take the folder out of git: `git rm -r --cached --quiet {PRIVATE}`, and commit that")),
    )
}

fn modules_changed(repository: &Repository, commit: &str, root: &Path, tree: &Tree, reach: &mut Reach) {
    let Some(folder) = modules::folder(root, tree) else { return };
    let changed = repository.changed_since(commit, &real_folders(&folder));
    let Some(named) = some(&changed) else { return };
    reach.every_root = true;
    let base = &tree.config.module_source_base;
    let finding = if modules::are_carried(&folder, changed.iter().map(|path| repository.absolute(path))) {
        Diagnostic::note(
            "modules-changed",
            format!("this change brings the Terraform modules to those of csis {}: {named}", env!("CARGO_PKG_VERSION")),
        )
        .help("nothing: they are byte for byte the ones that csis carries")
    } else {
        Diagnostic::warning("modules-changed", format!("this change edits the code of the Terraform modules: {named}"))
            .help("read it as code: what a module protects, ignores or reads does not show in a plan")
    };
    reach.findings.push(finding.at(&base.at));
}

/// The folder and where its links lead, its modules' included.
fn real_folders(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let entries = fs_err::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in entries.chain([folder.to_owned()]) {
        if let Ok(real) = fs_err::canonicalize(&path)
            && !real.starts_with(folder)
        {
            folders.push(real);
        }
    }
    folders
}

fn locks_changed(repository: &Repository, commit: &str, root: &Path, tree: &Tree, reach: &mut Reach) {
    let generated = root.join(&tree.generation_directory);
    let mut changed = repository.edited_since(commit, &[generated]);
    changed.retain(|path| Path::new(path).file_name().is_some_and(|name| name == LOCK));
    let Some(named) = some(&changed) else { return };
    reach.every_root = true;
    reach.findings.push(
        Diagnostic::warning("provider-locks-changed", format!("this change edits which providers are run: {named}"))
            .help("compare the checksums with those that the provider's registry publishes"),
    );
}

fn records_edited(repository: &Repository, commit: &str, root: &Path, reach: &mut Reach) {
    let mut changed = repository.changed_since(commit, &[root.join(csis_records::FOLDER)]);
    changed.retain(|path| {
        Path::new(path).file_name().is_none_or(|name| !NOT_RECORDS.iter().any(|allowed| name == *allowed))
    });
    let Some(named) = some(&changed) else { return };
    reach.findings.push(
        Diagnostic::warning(
            "records-edited",
            format!("this change edits records, and what that leads to is not judged: {named}"),
        )
        .help(format!(
            "take it back: `git checkout {} -- {}`; records are written by landings alone, and are read from the base here",
            commit.get(..8).unwrap_or(commit),
            csis_records::FOLDER
        )),
    );
}

/// `a, b, c and 4 more`; none when there are none.
fn some(paths: &[String]) -> Option<String> {
    let shown: Vec<String> = paths.iter().take(3).map(|path| format!("`{path}`")).collect();
    match paths.len() {
        0 => None,
        n if n > shown.len() => Some(format!("{} and {} more", shown.join(", "), n - shown.len())),
        _ => Some(shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        commit: String,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir().unwrap();
            let git = |arguments: &[&str]| {
                let said = std::process::Command::new("git")
                    .current_dir(folder.path())
                    .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"])
                    .args(arguments)
                    .output()
                    .unwrap();
                assert!(said.status.success(), "{said:?}");
                String::from_utf8(said.stdout).unwrap().trim().to_owned()
            };
            let put = |path: &str, text: &str| {
                let path = folder.path().join(path);
                fs_err::create_dir_all(path.parent().unwrap()).unwrap();
                fs_err::write(path, text).unwrap();
            };
            git(&["init", "--quiet"]);
            put("tfmodules/aws_instance/main.tf", "old\n");
            put("meta-state/pins.yaml", "images: {}\n");
            put("meta-state/aliases.txt", "a\n");
            put("generated/storage/volumes/storage-generation/.terraform.lock.hcl", "old\n");
            git(&["add", "--all"]);
            git(&["commit", "--quiet", "--message", "base"]);
            let commit = git(&["rev-parse", "HEAD"]);
            Place { folder, commit }
        }

        fn put(&self, path: &str, text: &str) -> &Self {
            let path = self.folder.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
            self
        }

        fn codes(&self) -> (Vec<String>, bool) {
            let root = fs_err::canonicalize(self.folder.path()).unwrap();
            let repository = Repository::find(&root).unwrap();
            let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/harbor");
            let request = csis_values::request::Request::default();
            let identities = csis_tree::Identities::new(&[] as &[String]);
            let loaded = csis_tree::load(&csis_tree::Folder::new(&example), &request, &identities).unwrap();
            let tree = loaded.tree.unwrap();
            let reach = of(&repository, &self.commit, &root, &tree);
            (reach.findings.iter().map(|f| f.code.to_string()).collect(), reach.every_root)
        }
    }

    #[test]
    fn what_shows_in_no_emission_is_said() {
        let place = Place::new();
        assert_eq!(place.codes(), (vec![], false), "nothing changed");
        place.put("meta-state/aliases.txt", "a\nb\n").put("instances/instances.yaml", "instances: []\n");
        assert_eq!(place.codes(), (vec![], false), "nothing of csis's own");
        place.put("meta-state/pins.yaml", "images: {a: b}\n");
        assert_eq!(place.codes(), (vec!["records-edited".into()], false));
        place.put("tfmodules/aws_instance/more.tf", "new\n");
        assert_eq!(place.codes(), (vec!["modules-changed".into(), "records-edited".into()], true));
        place.put("generated/storage/volumes/storage-generation/.terraform.lock.hcl", "new\n");
        assert_eq!(
            place.codes().0,
            ["modules-changed".to_owned(), "provider-locks-changed".into(), "records-edited".into()]
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_module_behind_a_link_counts_where_the_link_leads() {
        let place = Place::new();
        place.put("elsewhere/main.tf", "x\n");
        std::os::unix::fs::symlink("../elsewhere", place.folder.path().join("tfmodules/linked")).unwrap();
        assert!(place.codes().1);
    }

    #[test]
    fn what_git_holds_of_the_working_copies_is_refused() {
        let place = Place::new();
        let root = fs_err::canonicalize(place.folder.path()).unwrap();
        place.put("_private/storage/volumes/storage-generation/.terraform/environment", "evil");
        assert!(private_tracked(&root, "generated").is_none(), "not in git");
        let added = std::process::Command::new("git").current_dir(&root).args(["add", "--force", "_private"]).status();
        assert!(added.unwrap().success());
        let refusal = private_tracked(&root, "generated").unwrap();
        assert!(refusal.message.contains("_private/storage/volumes"), "{}", refusal.message);
    }
}
