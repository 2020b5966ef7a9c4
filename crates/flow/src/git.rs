//! What git knows of the tree: its repository, its commits, and files as they stood at one of them.
//!
//! The user's git is run as a child, without touching global configuration: the workspace may belong to another user, as in a container.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What passes to git from the environment at hand. What a hook, a filter or a helper of some repository has no need of does not: the keys of a run and of clouds.
const PASSES: &[&str] = &["PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR", "LANG"];
const PASSES_BY_PREFIX: &[&str] = &["GIT_", "SSL_CERT_"];
/// In either case of letters.
const PROXIES: &[&str] = &["http_proxy", "https_proxy", "no_proxy", "all_proxy"];

/// What a git that failed without a word has said.
const SILENT: &str = "it gave no reason";

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git is not on PATH")]
    NoGit,
    #[error("{0} is in no git repository")]
    NoRepository(String),
    #[error("the two commits have no common ancestor that is here")]
    NoCommonAncestor,
    #[error("`git {command}` failed: {said}")]
    Failed { command: String, said: String },
}

/// A submodule by the commit that is recorded of it: what a change writes into `.gitmodules` hides nothing, and no git is started in it.
const SUBMODULES: &str = "--ignore-submodules=dirty";
const DIFF: &[&str] = &["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", SUBMODULES];

/// A commit as people write it.
pub fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}

/// A repository and where the configuration root lies in it.
#[derive(Clone, Debug)]
pub struct Repository {
    pub(crate) top: PathBuf,
    /// Path of the configuration root below `top`, with `/`; empty at the top.
    pub prefix: String,
}

impl Repository {
    pub fn find(root: &Path) -> Result<Repository, GitError> {
        let said = run(root, &["rev-parse", "--show-toplevel", "--show-prefix"], None).map_err(|e| match e {
            GitError::Failed { .. } => GitError::NoRepository(root.display().to_string()),
            other => other,
        })?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let mut lines = said.lines();
        let top = lines.next().unwrap_or_default();
        let prefix = lines.next().unwrap_or_default().trim_end_matches('/').to_owned();
        Ok(Repository { top: PathBuf::from(top), prefix })
    }

    fn text(&self, arguments: &[&str]) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&run(&self.top, arguments, None)?).trim().to_owned())
    }

    /// The commit of HEAD; none in a repository without commits.
    pub fn head(&self) -> Option<String> {
        self.text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).ok().filter(|s| !s.is_empty())
    }

    /// Whether files below the root differ from HEAD or are not tracked, generated files and records aside.
    pub fn is_dirty(&self, generation_directory: &str) -> bool {
        let below = |dir: &str| if self.prefix.is_empty() { dir.to_owned() } else { format!("{}/{dir}", self.prefix) };
        let root = if self.prefix.is_empty() { ".".to_owned() } else { self.prefix.clone() };
        let excluded = [below(generation_directory), below("_private")].map(|d| format!(":(exclude,top){d}"));
        let arguments =
            ["status", "--porcelain", "--untracked-files=normal", SUBMODULES, "--", &root, &excluded[0], &excluded[1]];
        self.text(&arguments).is_ok_and(|said| !said.is_empty())
    }

    /// The commit a reference names.
    pub fn commit(&self, reference: &str) -> Result<String, GitError> {
        self.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{reference}^{{commit}}")])
    }

    /// The address of the remote `origin`, as it is written in the configuration.
    pub fn origin(&self) -> Option<String> {
        self.text(&["config", "--get", "remote.origin.url"]).ok().filter(|s| !s.is_empty())
    }

    /// The configuration root's tree at a commit, as git takes it.
    pub fn tree(&self, commit: &str) -> String {
        if self.prefix.is_empty() { format!("{commit}^{{tree}}") } else { format!("{commit}:{}", self.prefix) }
    }

    /// Its id: equal where not a file below the root differs, records and generated files included.
    pub fn tree_id(&self, commit: &str) -> Option<String> {
        self.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &self.tree(commit)]).ok()
    }

    /// The remote's default branch as a reference, when git knows it.
    pub fn default_branch(&self) -> Option<String> {
        self.text(&["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]).ok().filter(|s| !s.is_empty())
    }

    pub fn merge_base(&self, a: &str, b: &str) -> Result<String, GitError> {
        self.text(&["merge-base", "--end-of-options", a, b]).map_err(|error| match error {
            // Without one, git ends with 1 and says nothing.
            GitError::Failed { said, .. } if said == SILENT => GitError::NoCommonAncestor,
            other => other,
        })
    }

    /// The place of a path that git told.
    pub fn absolute(&self, path: &str) -> PathBuf {
        self.top.join(path)
    }

    /// A path within the repository, from its top; none when it is outside.
    fn below(&self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(&self.top).ok()?;
        let parts: Option<Vec<&str>> = below
            .components()
            .filter(|part| !matches!(part, std::path::Component::CurDir))
            .map(|part| part.as_os_str().to_str())
            .collect();
        Some(parts?.join("/"))
    }

    /// A path as git takes it literally; none when it is outside of the repository.
    fn literal(&self, path: &Path) -> Option<String> {
        Some(format!(":(top,literal){}", self.below(path)?))
    }

    fn listed(&self, arguments: &[&str], folders: &[PathBuf]) -> Result<Vec<String>, GitError> {
        let folders: Vec<String> = folders.iter().filter_map(|folder| self.literal(folder)).collect();
        if folders.is_empty() {
            return Ok(Vec::new());
        }
        let mut all = arguments.to_vec();
        all.push("--");
        all.extend(folders.iter().map(String::as_str));
        Ok(paths(&run(&self.top, &all, None)?))
    }

    /// What a commit holds at paths, in the form of git's listing of a tree, by the whole path.
    pub fn listing(&self, commit: &str, paths: &[PathBuf]) -> Result<Vec<u8>, GitError> {
        let below: Vec<String> = paths.iter().filter_map(|path| self.below(path)).collect();
        if below.is_empty() {
            return Ok(Vec::new());
        }
        let mut arguments = vec!["--literal-pathspecs", "ls-tree", "-z", "--full-tree", "--end-of-options", commit];
        arguments.extend(below.iter().map(String::as_str));
        run(&self.top, &arguments, None)
    }

    /// A file below a folder that git holds, by its path in the repository.
    pub fn first_tracked(&self, folder: &Path) -> Option<String> {
        self.listed(&["ls-files", "-z"], &[folder.to_owned()]).ok()?.into_iter().next()
    }

    /// The files below the folders that git held at a commit and that are others, or gone, in the working tree; paths in the repository, sorted.
    pub fn edited_since(&self, commit: &str, folders: &[PathBuf]) -> Result<Vec<String>, GitError> {
        self.listed(&[DIFF, &["--diff-filter=MDT", commit]].concat(), folders)
    }

    /// The files below the folders that differ between a commit and the working tree, those that git does not hold included; paths in the repository, sorted.
    pub fn changed_since(&self, commit: &str, folders: &[PathBuf]) -> Result<Vec<String>, GitError> {
        let mut changed = self.listed(&[DIFF, &[commit]].concat(), folders)?;
        changed.extend(self.listed(&["ls-files", "-z", "--others"], folders)?);
        changed.sort();
        changed.dedup();
        Ok(changed)
    }

    /// The files below the folders that differ between two commits; paths in the repository, sorted.
    pub fn changed_between(&self, from: &str, to: &str, folders: &[PathBuf]) -> Result<Vec<String>, GitError> {
        self.listed(&[DIFF, &[from, to]].concat(), folders)
    }

    /// The files below the folders that are not committed as they are, without those that git is told to ignore; paths in the repository.
    pub fn uncommitted(&self, folders: &[PathBuf]) -> Vec<String> {
        // Only a hint hangs on it.
        let mut found = self.listed(&[DIFF, &["HEAD"]].concat(), folders).unwrap_or_default();
        found.extend(self.listed(&["ls-files", "-z", "--others", "--exclude-standard"], folders).unwrap_or_default());
        found.sort();
        found.dedup();
        found
    }

    /// The files below a folder at a commit; paths in the repository, sorted.
    pub fn held_at(&self, commit: &str, folder: &Path) -> Result<Vec<String>, GitError> {
        let Some(below) = folder.strip_prefix(&self.top).ok().and_then(Path::to_str) else { return Ok(Vec::new()) };
        let below = format!("{}/", below.trim_end_matches('/'));
        let said = run(&self.top, &["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit], None)?;
        Ok(paths(&said).into_iter().filter(|path| path.starts_with(&below)).collect())
    }

    /// A file's bytes at a commit, by its path in the repository; none when it is not there.
    pub fn file_at(&self, commit: &str, path: &str) -> Option<Vec<u8>> {
        run(&self.top, &["cat-file", "blob", &format!("{commit}:{path}")], None).ok()
    }

    /// Every file below the configuration root at a commit, by path relative to the root; links lead where they lead in a checkout, as long as that is below
    /// the root. Submodules are left out; files of the given top folders too.
    pub fn files_at(&self, commit: &str, leave_out: &[&str]) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
        let tree = self.tree(commit);
        let listing = match run(&self.top, &["ls-tree", "-r", "-z", "--end-of-options", &tree], None) {
            Ok(listing) => listing,
            // The root did not exist at that commit.
            Err(GitError::Failed { .. }) if !self.prefix.is_empty() => return Ok(BTreeMap::new()),
            Err(error) => return Err(error),
        };
        let mut wanted = Vec::new();
        let mut links = Vec::new();
        for line in listing.split(|b| *b == 0).filter(|l| !l.is_empty()) {
            let line = String::from_utf8_lossy(line);
            let Some((meta, path)) = line.split_once('\t') else { continue };
            let mut meta = meta.split(' ');
            let (mode, kind, object) =
                (meta.next().unwrap_or(""), meta.next().unwrap_or(""), meta.next().unwrap_or(""));
            let top = path.split('/').next().unwrap_or("");
            if kind == "blob" && !leave_out.contains(&top) {
                if mode == "120000" {
                    links.push(path.to_owned());
                }
                wanted.push((path.to_owned(), object.to_owned()));
            }
        }
        let asked = wanted.iter().fold(String::new(), |text, (_, object)| text + object + "\n");
        let answered = run(&self.top, &["cat-file", "--batch"], Some(asked.as_bytes()))?;
        let mut files = BTreeMap::new();
        let mut rest = answered.as_slice();
        for (path, object) in wanted {
            let Some((content, after)) = next_object(rest) else {
                return Err(GitError::Failed { command: "cat-file".into(), said: format!("no answer for {object}") });
            };
            files.insert(path, content.to_vec());
            rest = after;
        }
        let links = links.into_iter().filter_map(|path| {
            let target = files.remove(&path)?;
            Some((path, String::from_utf8(target).ok()?))
        });
        let links: Vec<(String, String)> = links.collect();
        follow(&mut files, links);
        Ok(files)
    }
}

/// Links on the way to one file, more than any tree needs.
const LINKS: usize = 8;
/// Segments of a path that links may make, as deep as a tree is read.
const DEEPEST: usize = 32;

/// Puts at the place of each link what it leads to, a file or a folder. One that leaves the root, or leads to a folder that it is in, leads nowhere.
fn follow(files: &mut BTreeMap<String, Vec<u8>>, links: Vec<(String, String)>) {
    let links: Vec<(String, String)> = links
        .into_iter()
        .filter_map(|(path, target)| {
            let target = led_to(&path, &target)?;
            let is_above = target.is_empty() || path.starts_with(&format!("{target}/"));
            (!is_above).then_some((path, target))
        })
        .collect();
    // A link may lead through another.
    for _ in 0..LINKS {
        let mut made = BTreeMap::new();
        for (path, target) in &links {
            if let Some(content) = files.get(target) {
                made.insert(path.clone(), content.clone());
            }
            let below = format!("{target}/");
            let inside = files.range(below.clone()..).take_while(|(found, _)| found.starts_with(&below));
            made.extend(inside.map(|(found, content)| (format!("{path}/{}", &found[below.len()..]), content.clone())));
        }
        made.retain(|path, _| !files.contains_key(path) && path.split('/').count() <= DEEPEST);
        if made.is_empty() {
            break;
        }
        files.extend(made);
    }
}

/// Where a link leads, from the root; none where that is outside.
fn led_to(link: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut at: Vec<&str> = link.split('/').collect();
    at.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(at.pop()?),
            part => at.push(part),
        }
    }
    Some(at.join("/"))
}

/// Paths as git tells them with `-z`.
fn paths(said: &[u8]) -> Vec<String> {
    let paths = said.split(|b| *b == 0).filter(|path| !path.is_empty());
    paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

/// One answer of `cat-file --batch`: a header line that ends with the size, the bytes, a newline.
fn next_object(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|b| *b == b'\n')?;
    let header = std::str::from_utf8(&bytes[..end]).ok()?;
    let size: usize = header.rsplit(' ').next()?.parse().ok()?;
    let content = bytes.get(end + 1..end + 1 + size)?;
    Some((content, bytes.get(end + 2 + size..)?))
}

fn passes(name: &str) -> bool {
    PASSES.contains(&name)
        || PASSES_BY_PREFIX.iter().any(|prefix| name.starts_with(prefix))
        || PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy))
}

/// A git that trusts the folder for this call alone, runs nothing that its configuration watches files with, and sees the allowed part of the environment.
///
/// A repository without a working copy is none: a tree may hold files that look like one, and their configuration would name programs to run.
pub(crate) fn command(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(directory)
        .args(["-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit"])
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(passes)))
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C");
    command
}

pub(crate) fn run(directory: &Path, arguments: &[&str], input: Option<&[u8]>) -> Result<Vec<u8>, GitError> {
    let mut child = command(directory)
        .args(["-c", "core.quotePath=false"])
        .args(arguments)
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|_| GitError::NoGit)?;
    // Written beside the reading, since git answers while it reads.
    let writer = input
        .map(<[u8]>::to_vec)
        .zip(child.stdin.take())
        .map(|(bytes, mut stdin)| std::thread::spawn(move || drop(stdin.write_all(&bytes))));
    let failed =
        |said: String| GitError::Failed { command: arguments.first().copied().unwrap_or_default().to_owned(), said };
    let output = child.wait_with_output().map_err(|e| failed(crate::outcome::why(&e)))?;
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    if output.status.success() {
        Ok(output.stdout)
    } else {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(failed(if said.is_empty() { SILENT.to_owned() } else { said }))
    }
}

#[cfg(test)]
mod tests {
    use super::{follow, passes};
    use std::collections::BTreeMap;

    #[test]
    fn links_lead_where_they_lead_in_a_checkout() {
        let mut files: BTreeMap<String, Vec<u8>> =
            ["s/sub/a.yaml", "t/b.yaml"].map(|path| (path.to_owned(), path.into())).into();
        let links = [
            ("s/in.yaml", "sub/a.yaml"),
            ("s/through.yaml", "other/b.yaml"),
            ("s/other", "../t"),
            ("s/sub/up", ".."),
            ("s/out.yaml", "../../secret.yaml"),
            ("s/absolute.yaml", "/etc/passwd"),
            ("s/gone.yaml", "nowhere"),
            ("x", "y"),
            ("y", "x"),
        ];
        follow(&mut files, links.map(|(path, target)| (path.to_owned(), target.to_owned())).into());
        let found: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), std::str::from_utf8(text).unwrap())).collect();
        let expected = [
            ("s/in.yaml", "s/sub/a.yaml"),
            ("s/other/b.yaml", "t/b.yaml"),
            ("s/sub/a.yaml", "s/sub/a.yaml"),
            ("s/through.yaml", "t/b.yaml"),
            ("t/b.yaml", "t/b.yaml"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn git_sees_no_key_of_the_run_or_of_a_cloud() {
        for name in ["PATH", "HOME", "TMPDIR", "LANG", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy", "GIT_SSH_COMMAND"]
        {
            assert!(passes(name), "{name}");
        }
        for name in [
            "INPUT_GITHUB-TOKEN",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
            "ACTIONS_RUNTIME_TOKEN",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_CONFIG_FILE",
            "CSIS_CONFIG_IDENTITY",
            "TF_VAR_x",
            "MY_HTTP_PROXY",
            "path",
        ] {
            assert!(!passes(name), "{name}");
        }
    }
}
