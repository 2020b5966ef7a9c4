//! Running the engine's processes: no shell, a given environment, bounded output, an end that can be asked for.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

/// What is kept of an output: its end.
const KEPT: usize = 256 * 1024;
/// A line longer than this is passed over.
const LINE: usize = 1 << 20;
/// How long an engine may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("{program} could not be started: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("{program} was stopped after {} s", limit.as_secs())]
    Timeout { program: String, limit: Duration },
    #[error("{program}: {source}")]
    Io { program: String, source: std::io::Error },
}

/// One call of an engine.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    pub program: &'a Path,
    pub arguments: Vec<String>,
    pub directory: &'a Path,
    pub environment: &'a BTreeMap<String, String>,
    pub limit: Duration,
}

/// What a call left: its status and the ends of its outputs.
#[derive(Debug)]
pub struct Left {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Call<'_> {
    fn name(&self) -> String {
        self.program.file_name().unwrap_or(self.program.as_os_str()).to_string_lossy().into_owned()
    }

    fn spawn(&self) -> Result<Running, ProcessError> {
        let child = Command::new(self.program)
            .args(&self.arguments)
            .current_dir(self.directory)
            .env_clear()
            .envs(self.environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| ProcessError::Start { program: self.name(), source })?;
        Ok(Running { child })
    }

    async fn stop(&self, mut running: Running) -> ProcessError {
        running.end().await;
        ProcessError::Timeout { program: self.name(), limit: self.limit }
    }

    /// Runs to the end. `line` sees every line of stdout.
    pub async fn run(&self, mut line: impl FnMut(&str)) -> Result<Left, ProcessError> {
        let mut running = self.spawn()?;
        let (stdout, stderr) = (running.child.stdout.take(), running.child.stderr.take());
        let work = async {
            let (stdout, stderr, status) =
                tokio::join!(tail(stdout, &mut line), tail(stderr, |_| {}), running.child.wait());
            status.map(|status| Left { status, stdout, stderr })
        };
        let Ok(done) = tokio::time::timeout(self.limit, work).await else { return Err(self.stop(running).await) };
        done.map_err(|source| ProcessError::Io { program: self.name(), source })
    }

    /// Hands stdout to a reader that blocks, on a thread of its own, while the process runs.
    #[cfg(unix)]
    pub async fn pipe<T: Send + 'static>(
        &self,
        read: impl FnOnce(std::fs::File) -> T + Send + 'static,
    ) -> Result<(T, Left), ProcessError> {
        let failed = |source| ProcessError::Io { program: self.name(), source };
        let mut running = self.spawn()?;
        let stderr = running.child.stderr.take();
        let stdout = running.child.stdout.take().ok_or_else(|| failed(std::io::ErrorKind::BrokenPipe.into()))?;
        let stdout = std::fs::File::from(stdout.into_owned_fd().map_err(failed)?);
        let reader = tokio::task::spawn_blocking(move || read(stdout));
        let work = async {
            let (value, stderr, status) = tokio::join!(reader, tail(stderr, |_| {}), running.child.wait());
            let value = value.map_err(std::io::Error::other)?;
            Ok((value, Left { status: status?, stdout: String::new(), stderr }))
        };
        let Ok(done) = tokio::time::timeout(self.limit, work).await else { return Err(self.stop(running).await) };
        done.map_err(failed)
    }
}

/// A process that is asked to end when nobody waits for it any more. It is not killed at once: an engine that is killed leaves its providers behind.
struct Running {
    child: Child,
}

impl Running {
    fn interrupt(&self) {
        #[cfg(unix)]
        if let Some(pid) =
            self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
    }

    async fn end(&mut self) {
        self.interrupt();
        if tokio::time::timeout(GRACE, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.interrupt();
    }
}

/// Reads to the end, shows each line, keeps the end.
async fn tail(reader: Option<impl AsyncRead + Unpin>, mut line: impl FnMut(&str)) -> String {
    let Some(mut reader) = reader else { return String::new() };
    let mut kept: VecDeque<u8> = VecDeque::new();
    let mut partial: Vec<u8> = Vec::new();
    let mut too_long = false;
    let mut buffer = vec![0; 1 << 14];
    while let Ok(count) = reader.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        for piece in buffer[..count].split_inclusive(|byte| *byte == b'\n') {
            too_long |= partial.len() + piece.len() > LINE;
            if !too_long {
                partial.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                if !too_long {
                    line(String::from_utf8_lossy(&partial).trim_end());
                }
                partial.clear();
                too_long = false;
            }
        }
        kept.extend(&buffer[..count]);
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }
    if !partial.is_empty() && !too_long {
        line(String::from_utf8_lossy(&partial).trim_end());
    }
    String::from_utf8_lossy(kept.make_contiguous()).into_owned()
}

/// Finds a program as a shell would: by path, or by name in `PATH`.
pub fn find(name: &str, environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.contains('/') {
        let path = PathBuf::from(name);
        return runs(&path).then(|| std::path::absolute(&path).unwrap_or(path));
    }
    let folders = environment.get("PATH")?;
    folders
        .split(':')
        .filter(|folder| folder.starts_with('/'))
        .map(|folder| Path::new(folder).join(name))
        .find(|path| runs(path))
}

fn runs(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn environment() -> BTreeMap<String, String> {
        BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())])
    }

    fn shell<'a>(script: &str, environment: &'a BTreeMap<String, String>, limit: Duration) -> Call<'a> {
        Call {
            program: Path::new("/bin/sh"),
            arguments: vec!["-c".into(), script.into()],
            directory: Path::new("/"),
            environment,
            limit,
        }
    }

    #[tokio::test]
    async fn lines_are_seen_and_only_the_end_is_kept() {
        let environment = environment();
        let mut lines = 0;
        let call = shell("seq 1 100000; echo bad >&2; exit 3", &environment, Duration::from_secs(20));
        let left = call.run(|_| lines += 1).await.unwrap();
        assert_eq!((left.status.code(), lines, left.stderr.as_str()), (Some(3), 100_000, "bad\n"));
        assert!(left.stdout.len() == KEPT && left.stdout.ends_with("100000\n"));
    }

    #[tokio::test]
    async fn a_call_over_its_limit_is_interrupted() {
        let environment = environment();
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("ended");
        let script = format!("trap 'echo > {}; exit 1' INT; while :; do sleep 0.05; done", mark.display());
        let error = shell(&script, &environment, Duration::from_millis(400)).run(|_| {}).await.unwrap_err();
        assert!(matches!(error, ProcessError::Timeout { .. }) && mark.exists());
    }

    #[tokio::test]
    async fn stdout_can_be_read_as_a_stream() {
        let environment = environment();
        let call = shell("echo one; sleep 0.1; echo two", &environment, Duration::from_secs(20));
        let (text, left) = call.pipe(|file| std::io::read_to_string(file).unwrap()).await.unwrap();
        assert_eq!((text.as_str(), left.status.success()), ("one\ntwo\n", true));
    }

    #[tokio::test]
    async fn the_environment_is_the_given_one() {
        let environment = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let left = shell("/usr/bin/env", &environment, Duration::from_secs(20)).run(|_| {}).await.unwrap();
        assert!(left.stdout.contains("A=1") && !left.stdout.contains("HOME"), "{}", left.stdout);
    }

    #[test]
    fn programs_are_found_by_name_or_path() {
        let environment = environment();
        assert!(find("sh", &environment).is_some_and(|path| path.is_absolute()));
        assert!(find("/bin/sh", &environment).is_some());
        for none in ["", "no-such-program", "/bin", "/etc/passwd"] {
            assert_eq!(find(none, &environment), None, "{none}");
        }
        assert_eq!(find("sh", &BTreeMap::from([("PATH".to_owned(), ".:bin".to_owned())])), None);
    }
}
