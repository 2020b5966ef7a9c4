//! What a change touches beside what its tree declares: code that plans are made with, and files that csis alone writes.
//!
//! None of it shows in the difference of two emissions, so each is looked for by itself.

use crate::git::{GitError, Repository, short};
use crate::{module_calls, modules};
use csis_engine::materialise::{LOCK, PRIVATE};
use csis_values::Diagnostic;
use csis_values::tree::Tree;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The list of machine names beside the records, which people add to.
const ALIASES: &str = "aliases.txt";

/// What a change is compared with.
pub struct Against<'a> {
    pub repository: &'a Repository,
    /// The commit the change began at.
    pub base: &'a str,
    /// Where the branch it goes to stands now.
    pub tip: &'a str,
    /// That branch as people name it.
    pub name: &'a str,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Reach {
    pub findings: Vec<Diagnostic>,
    /// Any root's plan may be another one for it, whatever its emission says.
    pub every_root: bool,
}

/// What the working tree changes since the base. `before`: where the base wrote its emission, when its tree is known.
pub fn of(against: &Against<'_>, root: &Path, tree: &Tree, before: Option<&str>) -> Reach {
    let mut reach = Reach::default();
    modules_changed(against.repository, against.base, root, tree, &mut reach);
    let place = |name: &str| (root.join(plain(name)), name.to_owned());
    let here = place(&tree.generation_directory);
    // A change may write its emission elsewhere; what the base wrote is then left behind, providers' locks included.
    let left = before.map(place).filter(|left| left.0 != here.0);
    locks_changed(against, &here.0, left.as_ref().map(|(left, _)| left.as_path()), &mut reach);
    let written = Written { records: root.join(csis_records::FOLDER), here, left };
    written.committed(against, &mut reach);
    written.uncommitted(against.repository, &mut reach);
    reach
}

/// A folder of the tree as git writes it.
fn plain(name: &str) -> &str {
    name.trim_start_matches("./").trim_end_matches('/')
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
    let changed = match repository.changed_since(commit, &real_folders(&folder)) {
        Ok(changed) => changed,
        // What cannot be told is not taken for nothing.
        Err(_) => vec![tree.config.module_source_base.value.clone()],
    };
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

/// Where the code of a tree's modules lies outside of the tree's own folder.
pub fn modules_beside(root: &Path, tree: &Tree) -> Vec<PathBuf> {
    let Some(folder) = modules::folder(root, tree) else { return Vec::new() };
    real_folders(&folder).into_iter().filter(|path| !path.starts_with(root)).collect()
}

/// Links on the way to one file, more than any system follows.
const LINKS: usize = 64;

/// Where the folder lies, every link on the way to it and in it, where they lead, and what their code names by a path: a change to any of them is one of the
/// code.
fn real_folders(folder: &Path) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let Some(real) = follow(&path, &mut found) else { continue };
        if !seen.insert(real.clone()) {
            continue;
        }
        open.extend(module_calls::named(&real));
        if real.is_dir() {
            open.extend(fs_err::read_dir(&real).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
    found.extend(seen);
    // A folder stands for what is in it.
    let all = found.clone();
    found.retain(|path| !path.ancestors().skip(1).any(|above| all.contains(above)));
    found.into_iter().collect()
}

/// A path without links; the links themselves are noted. None where they lead nowhere.
fn follow(path: &Path, links: &mut BTreeSet<PathBuf>) -> Option<PathBuf> {
    let parts = |path: &Path| path.components().map(|part| part.as_os_str().to_owned()).rev().collect::<Vec<_>>();
    let mut rest = parts(path);
    let mut done = PathBuf::new();
    let mut steps = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        // An absolute part takes the place of all before it.
        let next = if part == "." { done.clone() } else { done.join(part) };
        if next.symlink_metadata().ok()?.is_symlink() {
            steps += 1;
            if steps > LINKS {
                return None;
            }
            links.insert(next.clone());
            rest.extend(parts(&std::fs::read_link(&next).ok()?));
        } else {
            done = next;
        }
    }
    Some(done)
}

fn locks_changed(against: &Against<'_>, here: &Path, left: Option<&Path>, reach: &mut Reach) {
    let Against { repository, base, .. } = *against;
    let generated: Vec<PathBuf> = std::iter::once(here).chain(left).map(Path::to_owned).collect();
    let changed = repository.edited_since(base, &generated).and_then(|mut changed| {
        // One that the change brings fixes a root's providers as well; one that a run left here and nobody committed is no part of the change.
        changed.extend(repository.changed_between(base, "HEAD", &generated)?);
        if let Some(left) = left {
            changed.extend(repository.held_at(base, left)?);
        }
        Ok(changed)
    });
    // What cannot be told is not taken for nothing.
    let mut changed = changed.unwrap_or_else(|_| vec![LOCK.into()]);
    changed.retain(|path| is_named(path, LOCK));
    changed.sort();
    changed.dedup();
    let Some(named) = some(&changed) else { return };
    reach.every_root = true;
    reach.findings.push(
        Diagnostic::warning("provider-locks-changed", format!("this change edits which providers are run: {named}"))
            .help("compare the checksums with those that the provider's registry publishes"),
    );
}

/// The folders that landings alone write, emissions with the names that people give them.
struct Written {
    records: PathBuf,
    here: (PathBuf, String),
    /// Where the base's emission is, when that is elsewhere.
    left: Option<(PathBuf, String)>,
}

impl Written {
    fn generated(&self) -> impl Iterator<Item = &(PathBuf, String)> {
        std::iter::once(&self.here).chain(&self.left)
    }

    /// What the change commits there is refused: a record is what later sanctions are derived from.
    fn committed(&self, against: &Against<'_>, reach: &mut Reach) {
        let records = (self.records.clone(), csis_records::FOLDER.to_owned());
        let folders: Vec<&(PathBuf, String)> = self.generated().chain([&records]).collect();
        let places: Vec<PathBuf> = folders.iter().map(|(place, _)| place.clone()).collect();
        let mut edited = match edited(against, &places) {
            Ok(edited) => edited,
            Err(error) => {
                reach.findings.push(
                    Diagnostic::error(
                        "records-edited",
                        format!("git does not tell whether this change edits what landings alone write: {error}"),
                    )
                    .help("fetch the whole history, e.g. `git fetch --unshallow`, and run it again"),
                );
                return;
            }
        };
        edited.retain(|path| !self.is_free(against, path));
        let Some(named) = some(&edited) else { return };
        let below = |folder: &Path| edited.iter().any(|path| against.repository.absolute(path).starts_with(folder));
        let folders: Vec<&str> =
            folders.iter().filter(|(place, _)| below(place)).map(|(_, name)| name.as_str()).collect();
        reach.findings.push(
            Diagnostic::error("records-edited", format!("this change edits what landings alone write: {named}")).help(
                // Without `--no-overlay` files that the change added would stay.
                format!(
                    "take it back and commit that: `git checkout --no-overlay {} -- {}`; records are read from the base, and a landing writes both folders",
                    in_a_shell(against),
                    folders.join(" ")
                ),
            ),
        );
    }

    /// Provider locks are told by themselves; the aliases may grow, and a folder may be kept.
    fn is_free(&self, against: &Against<'_>, path: &str) -> bool {
        let absolute = against.repository.absolute(path);
        if self.generated().any(|(place, _)| absolute.starts_with(place)) {
            return is_named(path, LOCK);
        }
        is_named(path, ".keep") || (absolute == self.records.join(ALIASES) && grows(against, path))
    }

    /// What is not committed takes no part: that is said, for it is easily taken for the change.
    fn uncommitted(&self, repository: &Repository, reach: &mut Reach) {
        let (generated, records) = (&self.here.1, csis_records::FOLDER);
        // Only a hint hangs on it.
        let mut edited = repository.changed_since("HEAD", std::slice::from_ref(&self.records)).unwrap_or_default();
        edited.retain(|path| !is_named(path, ".keep") && repository.absolute(path) != self.records.join(ALIASES));
        if let Some(named) = some(&edited) {
            reach.findings.push(
                Diagnostic::warning("records-edited", format!("edits of records here take no part in this: {named}"))
                    .help(format!(
                        "take them back: `git checkout HEAD -- {records}`; records are read from the base, and a change that commits its own is refused"
                    )),
            );
        }
        let mut output = repository.uncommitted(std::slice::from_ref(&self.here.0));
        output.retain(|path| !is_named(path, LOCK));
        if !output.is_empty() {
            reach.findings.push(
                Diagnostic::note("generated-uncommitted", format!("`{generated}` differs from what is committed"))
                    .help(format!("leave `{generated}` out of your commits: a landing writes it")),
            );
        }
    }
}

/// The files that differ from where the change began and from where its branch stands: what was brought over from there is no edit.
fn edited(against: &Against<'_>, folders: &[PathBuf]) -> Result<Vec<String>, GitError> {
    let mut edited = against.repository.changed_between(against.base, "HEAD", folders)?;
    if against.tip != against.base && !edited.is_empty() {
        let others = against.repository.changed_between(against.tip, "HEAD", folders)?;
        edited.retain(|path| others.contains(path));
    }
    Ok(edited)
}

/// Whether every line of a file stands in the change as it stood before, in the same order.
fn grows(against: &Against<'_>, path: &str) -> bool {
    let Some(after) = against.repository.file_at("HEAD", path) else { return false };
    let before = against.repository.file_at(against.base, path).unwrap_or_default();
    let mut lines = after.split(|b| *b == b'\n');
    let mut old: Vec<&[u8]> = before.split(|b| *b == b'\n').collect();
    // The last line may end in a newline or not.
    while old.last().is_some_and(|line| line.is_empty()) {
        old.pop();
    }
    old.into_iter().all(|line| lines.any(|kept| kept == line))
}

/// The branch as it can stand in a command; a name that a shell would read as more is told by its commit.
fn in_a_shell<'a>(against: &Against<'a>) -> &'a str {
    let name = against.name.trim_start_matches("refs/remotes/");
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'_' | b'-');
    if !name.is_empty() && !name.starts_with('-') && name.bytes().all(plain) { name } else { short(against.tip) }
}

fn is_named(path: &str, name: &str) -> bool {
    Path::new(path).file_name().is_some_and(|last| last == name)
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
        tip: Option<String>,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir().unwrap();
            let mut place = Place { folder, commit: String::new(), tip: None };
            place.git(&["init", "--quiet"]);
            place
                .put("tfmodules/aws_instance/main.tf", "old\n")
                .put("meta-state/pins.yaml", "images: {}\n")
                .put("meta-state/aliases.txt", "a\nb\n")
                .put("generated/storage/volumes/storage-generation/main.tf", "old\n")
                .put("generated/storage/volumes/storage-generation/.terraform.lock.hcl", "old\n")
                .commit();
            place.commit = place.git(&["rev-parse", "HEAD"]);
            place
        }

        fn put(&self, path: &str, text: &str) -> &Self {
            let path = self.folder.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
            self
        }

        fn git(&self, arguments: &[&str]) -> String {
            let said = std::process::Command::new("git")
                .current_dir(self.folder.path())
                .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"])
                .args(arguments)
                .output()
                .unwrap();
            assert!(said.status.success(), "{said:?}");
            String::from_utf8(said.stdout).unwrap().trim().to_owned()
        }

        fn commit(&self) -> &Self {
            self.git(&["add", "--all"]);
            self.git(&["commit", "--quiet", "--message", "change"]);
            self
        }

        fn codes(&self) -> (Vec<String>, bool) {
            let (findings, every_root) = self.found();
            (findings.iter().map(|f| f.code.to_string()).collect(), every_root)
        }

        /// The one finding about what landings write.
        fn edits(&self) -> Option<Diagnostic> {
            let (mut findings, _) = self.found();
            findings.retain(|f| f.code == "records-edited");
            assert!(findings.len() < 2, "{findings:?}");
            findings.pop()
        }

        fn found(&self) -> (Vec<Diagnostic>, bool) {
            let root = fs_err::canonicalize(self.folder.path()).unwrap();
            let repository = Repository::find(&root).unwrap();
            let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/harbor");
            let request = csis_values::request::Request::default();
            let identities = csis_tree::Identities::new(&[] as &[String]);
            let loaded = csis_tree::load(&csis_tree::Folder::new(&example), &request, &identities).unwrap();
            let tree = loaded.tree.unwrap();
            let tip = self.tip.as_ref().unwrap_or(&self.commit);
            let against =
                Against { repository: &repository, base: &self.commit, tip, name: "refs/remotes/origin/main" };
            let reach = of(&against, &root, &tree, None);
            (reach.findings, reach.every_root)
        }
    }

    #[test]
    fn what_shows_in_no_emission_is_said() {
        let place = Place::new();
        assert_eq!(place.codes(), (vec![], false), "nothing changed");
        place.put("meta-state/aliases.txt", "a\nb\nc\n").put("instances/instances.yaml", "instances: []\n");
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

    /// A record that a change writes would sanction what the same change destroys.
    #[test]
    fn what_a_change_commits_of_a_landings_files_is_refused() {
        use csis_values::Severity::{Error, Warning};
        let place = Place::new();
        place.put("meta-state/pins.yaml", "images: {a: b}\n");
        assert_eq!(place.edits().unwrap().severity, Warning, "not committed");
        place.put("meta-state/new.yaml", "x\n").put("generated/storage/volumes/storage-generation/main.tf", "mine\n");
        place.commit();
        let found = place.edits().unwrap();
        assert_eq!(found.severity, Error);
        for path in ["meta-state/pins.yaml", "meta-state/new.yaml", "storage-generation/main.tf"] {
            assert!(found.message.contains(path), "{path}: {}", found.message);
        }
        let help = found.help.unwrap();
        let command = "git checkout --no-overlay origin/main -- generated meta-state";
        assert!(help.contains(command), "{help}");
        // The remedy is one.
        let words = command.replace("origin/main", &place.commit);
        place.git(&words.split(' ').skip(1).collect::<Vec<_>>());
        place.commit();
        assert_eq!(place.codes(), (vec![], false));
    }

    #[test]
    fn aliases_may_grow_and_locks_are_told_by_themselves() {
        let place = Place::new();
        place.put("meta-state/aliases.txt", "a\nnew\nb\nlast").commit();
        assert_eq!(place.codes().0, Vec::<String>::new(), "lines were added");
        place.put("generated/storage/shares/storage-generation/.terraform.lock.hcl", "new\n").commit();
        assert_eq!(place.codes(), (vec!["provider-locks-changed".into()], true), "a lock was added");
        place.put("meta-state/aliases.txt", "b\na\n").commit();
        assert!(place.edits().is_some(), "the order changed");
        place.put("meta-state/aliases.txt", "a\n").commit();
        assert!(place.edits().is_some(), "a line went");
        place.put("meta-state/aliases.txt", "a\nb\n").put("meta-state/more/aliases.txt", "x\n").commit();
        assert!(place.edits().is_some(), "another file of that name");
    }

    /// What the branch has by now is no edit of the change that takes it over.
    #[test]
    fn what_came_from_the_branch_is_no_edit() {
        let mut place = Place::new();
        place.put("meta-state/pins.yaml", "images: {landed: b}\n").commit();
        assert!(place.edits().is_some());
        place.tip = Some(place.git(&["rev-parse", "HEAD"]));
        place.put("instances/instances.yaml", "instances: []\n").commit();
        assert_eq!(place.edits(), None);
    }

    #[test]
    fn output_of_a_shell_is_only_noted() {
        let place = Place::new();
        place.put("generated/storage/volumes/storage-generation/main.tf", "made here\n");
        assert_eq!(place.codes().0, ["generated-uncommitted"]);
        place.put(".gitignore", "generated/more/\n").commit();
        place.git(&["checkout", "--quiet", &place.commit, "--", "generated"]);
        place.commit();
        place.put("generated/more/x.tf", "ignored\n");
        assert_eq!(place.codes().0, Vec::<String>::new());
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

    #[test]
    fn a_submodule_that_moves_is_told_whatever_the_change_says_to_ignore() {
        let mut place = Place::new();
        let record = |place: &Place, commit: &str| {
            place.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},tfmodules/far")]);
            place.git(&["commit", "--quiet", "--message", "submodule"]);
        };
        record(&place, &"1".repeat(40));
        place.commit = place.git(&["rev-parse", "HEAD"]);
        let hidden = "[submodule \"far\"]\n\tpath = tfmodules/far\n\turl = ./far\n\tignore = all\n";
        place.put(".gitmodules", hidden);
        place.git(&["add", ".gitmodules"]);
        record(&place, &"2".repeat(40));
        assert_eq!(place.codes(), (vec!["modules-changed".into()], true));
    }
}
