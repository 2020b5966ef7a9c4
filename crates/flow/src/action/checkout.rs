//! The checked-out commit, its base, and the id of what is judged. The workspace may belong to another user; no configuration of git is touched.

use crate::git::{self, GitError, Repository, run};
use base64::Engine as _;
use csis_engine::Owner;
use csis_github::{Context, Secret};
use secrecy::ExposeSecret;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The parents of a commit. Read from the commit itself: a shallow checkout hides them elsewhere.
pub fn parents(repository: &Repository, commit: &str) -> Result<Vec<String>, GitError> {
    let text = run(&repository.top, &["cat-file", "commit", commit], None)?;
    let text = String::from_utf8_lossy(&text);
    let header = text.lines().take_while(|line| !line.is_empty());
    Ok(header.filter_map(|line| line.strip_prefix("parent ")).map(str::to_owned).collect())
}

/// Whether git holds a commit with its tree.
pub fn has(repository: &Repository, commit: &str) -> bool {
    run(&repository.top, &["cat-file", "-e", &format!("{commit}^{{tree}}")], None).is_ok()
}

/// Whether the checkout's own configuration holds what a fetch is authorised with, as a header or in an address; engines read that file.
pub fn keeps_a_token(repository: &Repository) -> bool {
    let asked = |what: &str| {
        let said = run(&repository.top, &["config", "--local", "--includes", "--get-regexp", what], None);
        String::from_utf8_lossy(&said.unwrap_or_default()).into_owned()
    };
    let with_user = |word: &str| {
        let host = word.split_once("://").and_then(|(_, rest)| rest.split('/').next());
        host.and_then(|host| host.rsplit_once('@')).is_some_and(|(user, _)| user != "git")
    };
    !asked(r"^http\..*extraheader$").is_empty()
        || asked(r"^(remote\..*url|url\..*insteadof)$").split_whitespace().any(with_user)
}

/// Fetches one commit, or the one that a branch (`refs/heads/NAME`) stands at, and tells its id. The token reaches git through its environment, and only for
/// the server that it belongs to.
pub fn fetch(
    repository: &Repository,
    context: &Context,
    token: Option<&Secret>,
    what: &str,
) -> Result<String, GitError> {
    let failed = |said: String| GitError::Failed { command: "fetch".into(), said };
    let mut command = git::command(&repository.top);
    command
        .args(["-c", "protocol.ext.allow=never"])
        .args(["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "origin", what])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(token) = token {
        let basic =
            base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{}", token.expose_secret()));
        command
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", format!("http.{}/.extraheader", context.server))
            .env("GIT_CONFIG_VALUE_0", format!("AUTHORIZATION: basic {basic}"));
    }
    let output = command.output().map_err(|_| GitError::NoGit)?;
    if output.status.success() {
        let fetched = run(&repository.top, &["rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}"], None);
        hand_over(repository)?;
        return Ok(String::from_utf8_lossy(&fetched?).trim().to_owned());
    }
    // Git may repeat what it was given.
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let hidden = token.map_or(said.clone(), |token| said.replace(token.expose_secret(), "(hidden)"));
    Err(failed(hidden.lines().last().unwrap_or_default().to_owned()))
}

/// Gives what a fetch made to whom the checkout belongs: a step after this one is another user.
fn hand_over(repository: &Repository) -> Result<(), GitError> {
    let git = run(&repository.top, &["rev-parse", "--git-common-dir"], None)?;
    let git = repository.top.join(String::from_utf8_lossy(&git).trim());
    Owner::of(&repository.top).and_then(|owner| owner.take_all(&git)).map_err(|error| GitError::Failed {
        command: "fetch".into(),
        said: format!("what it brought cannot be given to the checkout's owner: {}", crate::outcome::why(&error)),
    })
}

/// The id of the tree of configuration inputs at a commit: the root's tree without what csis writes, and with it what the root takes from elsewhere in the
/// repository (`beside`). Made aside, so that the checkout stays as it is.
///
/// A tree that takes nothing from elsewhere and generates nothing within has the id that git itself gives it.
pub fn inputs(
    repository: &Repository,
    commit: &str,
    generation_directory: &str,
    beside: &[PathBuf],
) -> Result<String, GitError> {
    let aside = tempfile::tempdir().map_err(|error| no_tree(&error))?;
    let objects = run(&repository.top, &["rev-parse", "--git-path", "objects"], None)?;
    let objects = repository.top.join(String::from_utf8_lossy(&objects).trim());
    let maker = Maker { top: &repository.top, aside: aside.path(), objects: &objects };
    let generated: Vec<&str> = generation_directory.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let mut listing = maker.without(&repository.tree(commit), &generated)?;
    listing =
        entries(&listing).filter(|entry| name(entry) != csis_records::FOLDER.as_bytes()).flat_map(ended).collect();
    for entry in entries(&repository.listing(commit, beside)?) {
        // A name of a tree has no slash.
        let path = String::from_utf8_lossy(name(entry)).replace('%', "%25").replace('/', "%2F");
        let kind = entry.split(|b| *b == b'\t').next().unwrap_or_default();
        listing.extend([kind, b"\t..%2F", path.as_bytes(), b"\0"].concat());
    }
    maker.make(&listing)
}

/// The entries of a listing that ends each with a zero byte.
fn entries(listing: &[u8]) -> impl Iterator<Item = &[u8]> {
    listing.split(|b| *b == 0).filter(|entry| !entry.is_empty())
}

fn ended(entry: &[u8]) -> impl Iterator<Item = u8> {
    entry.iter().copied().chain([0])
}

fn name(entry: &[u8]) -> &[u8] {
    entry.iter().position(|b| *b == b'\t').map_or(&[][..], |tab| &entry[tab + 1..])
}

fn no_tree(why: &dyn std::fmt::Display) -> GitError {
    GitError::Failed { command: "mktree".into(), said: why.to_string() }
}

/// Makes trees of git in a folder aside.
struct Maker<'a> {
    top: &'a Path,
    aside: &'a Path,
    objects: &'a Path,
}

impl Maker<'_> {
    fn git(&self) -> std::process::Command {
        let mut command = git::command(self.top);
        command.env("GIT_OBJECT_DIRECTORY", self.aside).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.objects);
        command
    }

    /// The listing of a tree without what lies at a path below it.
    fn without(&self, tree: &str, path: &[&str]) -> Result<Vec<u8>, GitError> {
        let listing = run(self.top, &["ls-tree", "-z", "--end-of-options", tree], None)?;
        let Some((first, rest)) = path.split_first() else { return Ok(listing) };
        let mut kept = Vec::with_capacity(listing.len());
        for entry in entries(&listing) {
            let folder = entry.strip_prefix(b"040000 tree ").and_then(|entry| entry.split(|b| *b == b'\t').next());
            match folder {
                _ if name(entry) != first.as_bytes() => kept.extend(ended(entry)),
                Some(id) if !rest.is_empty() => {
                    let id = self.make(&self.without(&String::from_utf8_lossy(id), rest)?)?;
                    kept.extend(format!("040000 tree {id}\t{first}\0").bytes());
                }
                _ => {}
            }
        }
        Ok(kept)
    }

    fn make(&self, listing: &[u8]) -> Result<String, GitError> {
        let made = || -> std::io::Result<String> {
            let mut child = self
                .git()
                .args(["mktree", "-z", "--missing"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()?;
            // One folder's listing is smaller than a pipe that mktree reads to its end.
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(listing)?;
            }
            let output = child.wait_with_output()?;
            let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            if output.status.success() && !id.is_empty() {
                Ok(id)
            } else {
                Err(std::io::Error::other("git made no tree"))
            }
        };
        made().map_err(|error| no_tree(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Place {
            let place = Place(tempfile::tempdir().unwrap());
            place.git(&["init", "--quiet", "--initial-branch", "main"]);
            place
        }

        fn git(&self, arguments: &[&str]) -> String {
            let said = Command::new("git")
                .current_dir(self.0.path())
                .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"])
                .args(arguments)
                .output()
                .unwrap();
            assert!(said.status.success(), "{arguments:?}: {said:?}");
            String::from_utf8(said.stdout).unwrap().trim().to_owned()
        }

        fn put(&self, path: &str, text: &str) -> &Self {
            let path = self.0.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
            self
        }

        fn commit(&self) -> String {
            self.git(&["add", "--all"]);
            self.git(&["commit", "--quiet", "--allow-empty", "--message", "x"]);
            self.git(&["rev-parse", "HEAD"])
        }
    }

    #[test]
    fn what_csis_writes_itself_is_no_part_of_what_is_judged() {
        let place = Place::new();
        let first = place.put("cfg/a.yml", "a").put("generated/x.tf", "1").put("meta-state/pins.yaml", "p").commit();
        let repository = Repository::find(&fs_err::canonicalize(place.0.path()).unwrap()).unwrap();
        let before = inputs(&repository, &first, "./generated/", &[]).unwrap();
        let second = place.put("generated/x.tf", "2").put("meta-state/pins.yaml", "q").commit();
        assert_eq!(inputs(&repository, &second, "./generated/", &[]).unwrap(), before);
        let count = place.git(&["count-objects"]);
        let third = place.put("cfg/a.yml", "b").commit();
        assert_ne!(inputs(&repository, &third, "./generated/", &[]).unwrap(), before);
        assert_ne!(place.git(&["count-objects"]), count, "the commit itself adds objects");
        let count = place.git(&["count-objects"]);
        inputs(&repository, &third, "./generated/", &[]).unwrap();
        assert_eq!(place.git(&["count-objects"]), count, "the checkout stays as it is");
    }

    #[test]
    fn a_generation_directory_further_down_and_modules_beside_the_root_are_told_apart() {
        let place = Place::new();
        place.put("infra/cfg/a.yml", "a").put("infra/out/made/x.tf", "1").put("infra/out/keep", "k");
        let first = place.put("modules/aws/main.tf", "m").put("other/main.tf", "m").commit();
        let top = fs_err::canonicalize(place.0.path()).unwrap();
        let repository = Repository::find(&top.join("infra")).unwrap();
        let id = |commit: &str| inputs(&repository, commit, "out/made", &[top.join("modules")]).unwrap();
        let before = id(&first);
        assert_eq!(id(&place.put("infra/out/made/x.tf", "2").put("other/main.tf", "n").commit()), before);
        let kept = id(&place.put("infra/out/keep", "l").commit());
        assert_ne!(kept, before);
        assert_ne!(id(&place.put("modules/aws/main.tf", "n").commit()), kept);
        let alone = inputs(&repository, &first, "generated", &[]).unwrap();
        assert_eq!(alone, place.git(&["rev-parse", &format!("{first}:infra")]), "the id that git gives");
    }

    #[test]
    fn a_shallow_checkout_knows_its_parents_and_gets_the_base() {
        let origin = Place::new();
        let base = origin.put("a", "1").commit();
        let head = origin.put("a", "2").commit();
        let clone = tempfile::tempdir().unwrap();
        let url = format!("file://{}", origin.0.path().display());
        let said = Command::new("git")
            .args(["clone", "--quiet", "--depth=1", &url])
            .arg(clone.path().join("c"))
            .status()
            .unwrap();
        assert!(said.success());
        let repository = Repository::find(&fs_err::canonicalize(clone.path().join("c")).unwrap()).unwrap();
        assert_eq!(parents(&repository, &head).unwrap(), std::slice::from_ref(&base));
        assert!(!has(&repository, &base));
        let environment = [
            ("GITHUB_REPOSITORY", "a/b"),
            ("GITHUB_EVENT_NAME", "x"),
            ("GITHUB_EVENT_PATH", "x"),
            ("GITHUB_WORKSPACE", "x"),
            ("GITHUB_RUN_ID", "1"),
        ];
        let context =
            Context::of(&environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()).unwrap();
        // Somebody else's, as a runner's workspace is to the container. Only root can give it away.
        let theirs = Command::new("chown").args(["-R", "54320:54320"]).arg(&repository.top).status().unwrap().success();
        fetch(&repository, &context, Some(&Secret::from("hush")), &base).unwrap();
        assert!(has(&repository, &base));
        if theirs {
            let all = Command::new("find").arg(&repository.top).args(["!", "-uid", "54320"]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&all.stdout), "", "what is no longer theirs");
        }
        let said = fetch(&repository, &context, Some(&Secret::from("hush")), &"1".repeat(40)).unwrap_err().to_string();
        assert!(!said.contains("hush") && said.starts_with("`git fetch` failed: "), "{said}");
    }
}
