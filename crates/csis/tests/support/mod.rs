//! What the suites that go through the built binary share: a copy of the example tree, and a csis run in it with an environment of its own.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "each suite uses its part; what cannot be set up cannot be judged"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const CSIS: &str = env!("CARGO_BIN_EXE_csis");

/// The top of the project.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct Said {
    /// None when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Said {
    pub fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// It ended with this code, and neither a panic nor a signal ended it.
    #[track_caller]
    pub fn ends(self, code: i32) -> Said {
        assert!(!self.stderr.contains("panicked at"), "it panicked:\n{}", self.stderr);
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", cut(&self.stdout), cut(&self.stderr));
        self
    }

    /// Each of these stands in what was said, whatever its case.
    #[track_caller]
    pub fn tells(self, words: &[&str]) -> Said {
        let all = self.all().to_lowercase();
        for word in words {
            assert!(all.contains(&word.to_lowercase()), "does not tell `{word}`:\n{}", cut(&self.all()));
        }
        self
    }

    /// None of these stands in what was said.
    #[track_caller]
    pub fn hides(self, words: &[&str]) -> Said {
        let all = self.all();
        for word in words {
            assert!(!all.contains(word), "tells `{word}`:\n{}", cut(&all));
        }
        self
    }
}

fn cut(text: &str) -> String {
    text.chars().take(4000).collect()
}

/// A copy of `examples/harbor` in a folder of its own.
pub struct Harbor {
    outside: TempDir,
    pub root: PathBuf,
}

impl Harbor {
    /// The tree as it is, at the top of a repository without commits.
    pub fn new() -> Harbor {
        Harbor::named("tree")
    }

    /// The same, its folder at this path below the temporary one.
    pub fn named(path: &str) -> Harbor {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().canonicalize().unwrap().join(path);
        copy(&project().join("examples/harbor"), &root);
        let harbor = Harbor { outside, root };
        harbor.git(&["init", "--quiet", "--initial-branch=main"]);
        harbor
    }

    /// The tree with the records of its standing account, all in one commit on `main`.
    pub fn standing() -> Harbor {
        let harbor = Harbor::new();
        harbor.add_records();
        harbor.commit("as it stands");
        harbor
    }

    pub fn add_records(&self) {
        copy(&project().join("examples/harbor-standing/meta-state"), &self.root.join("meta-state"));
    }

    /// A folder beside the tree, for what a test needs outside of it.
    pub fn outside(&self) -> &Path {
        self.outside.path()
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    pub fn write(&self, file: &str, text: impl AsRef<[u8]>) -> &Harbor {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Replaces a text that stands in a file exactly once.
    #[track_caller]
    pub fn edit(&self, file: &str, find: &str, replace: &str) -> &Harbor {
        let text = self.read(file);
        assert_eq!(text.matches(find).count(), 1, "{find:?} stands not exactly once in {file}");
        self.write(file, text.replace(find, replace))
    }

    /// The emitted file whose path ends so.
    #[track_caller]
    pub fn emitted(&self, end: &str) -> String {
        let files = files(&self.path("generated"));
        let found: Vec<&String> = files.keys().filter(|path| path.ends_with(end)).collect();
        assert_eq!(found.len(), 1, "{end} among {:?}", files.keys());
        String::from_utf8(files[found[0]].clone()).unwrap()
    }

    pub fn git(&self, arguments: &[&str]) -> Said {
        git(&self.root, arguments)
    }

    pub fn commit(&self, subject: &str) -> &Harbor {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", subject]);
        self
    }

    /// csis in this tree, to be run with [`run`].
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = csis(arguments);
        command.current_dir(&self.root).env("HOME", self.outside());
        command
    }

    pub fn csis(&self, arguments: &[&str]) -> Said {
        run(&mut self.command(arguments), Duration::from_mins(2))
    }

    /// What a refused command must leave as it is: the emission, the records and the private copies.
    pub fn kept(&self) -> BTreeMap<String, Vec<u8>> {
        ["generated", "meta-state", "_private"]
            .iter()
            .flat_map(|top| {
                files(&self.path(top)).into_iter().map(move |(path, bytes)| (format!("{top}/{path}"), bytes))
            })
            .collect()
    }
}

/// csis with an environment that holds nothing of the caller's but PATH.
pub fn csis(arguments: &[&str]) -> Command {
    let mut command = Command::new(CSIS);
    command.args(arguments).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("NO_COLOR", "1").env("RUST_BACKTRACE", "0").env("CHECKPOINT_DISABLE", "1");
    command
}

/// Runs a program to its end; one that takes longer than `limit` is stopped, and fails the test.
#[track_caller]
pub fn run(command: &mut Command, limit: Duration) -> Said {
    let folder = tempfile::tempdir().unwrap();
    let (out, err) = (folder.path().join("out"), folder.path().join("err"));
    let began = Instant::now();
    command.stdin(Stdio::null()).stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{command:?} took longer than {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(3));
    };
    let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let said = Said { code: status.code(), stdout: text(&out), stderr: text(&err), took: began.elapsed() };
    assert_eq!(status.signal(), None, "a signal ended {command:?}: {}", cut(&said.all()));
    said
}

/// The files below a folder, by path with `/`; none where there is no folder.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![(folder.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.map(|e| e.unwrap()) {
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                open.push((entry.path(), format!("{path}/")));
            } else {
                found.insert(path, fs::read(entry.path()).unwrap_or_default());
            }
        }
    }
    found
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for (path, bytes) in files(from) {
        let target = to.join(path);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, bytes).unwrap();
    }
}

/// The Python that has what the tools of `tests/tools` need.
pub fn python() -> String {
    std::env::var("CSIS_PYTHON").unwrap_or_else(|_| "python3".into())
}

/// `tofu` or `terraform`: the bench's, else the one on PATH. Without any, only a run in CI fails.
pub fn engine() -> Option<PathBuf> {
    let named = std::env::var_os("CSIS_BENCH_ENGINE").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut on_path = std::env::split_paths(&path).flat_map(|folder| [folder.join("tofu"), folder.join("terraform")]);
    let found = named.or_else(|| on_path.find(|candidate| candidate.is_file()));
    assert!(found.is_some() || !in_ci(), "no tofu or terraform on PATH");
    found
}

pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|v| v == "true" || v == "1")
}

/// Whether the engine would format these files as they are.
#[track_caller]
pub fn formatted(folder: &Path) {
    let Some(engine) = engine() else { return };
    let mut command = Command::new(engine);
    command.args(["fmt", "-check", "-recursive", "-diff"]).arg(folder).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("CHECKPOINT_DISABLE", "1");
    let said = run(&mut command, Duration::from_mins(1));
    assert_eq!((said.code, said.all().as_str()), (Some(0), ""), "the engine would format it otherwise");
}

/// Git in a folder, as nobody in particular.
#[track_caller]
pub fn git(folder: &Path, arguments: &[&str]) -> Said {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"]);
    command.args(arguments).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
    run(&mut command, Duration::from_mins(1)).ends(0)
}

/// A secret of its own key: the key, and the marker that holds the text.
pub struct Sealed {
    pub identity: String,
    pub marker: String,
}

pub fn seal(text: &str) -> Sealed {
    use age::secrecy::ExposeSecret;
    use base64::Engine;
    let key = age::x25519::Identity::generate();
    let bytes = age::encrypt(&key.to_public(), text.as_bytes()).unwrap();
    Sealed {
        identity: key.to_string().expose_secret().to_owned(),
        marker: format!("ENC[age:{}]", base64::engine::general_purpose::STANDARD.encode(bytes)),
    }
}
