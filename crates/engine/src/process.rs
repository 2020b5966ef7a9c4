//! Running the engine's processes: no shell, a given environment, bounded output, an end that can be asked for.

#[cfg(all(test, unix))]
mod tests;

use crate::stop::Stop;
use crate::user::ChildUser;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::Instant;

/// What is kept of an output: its end.
const KEPT: usize = 256 * 1024;
/// A line longer than this is passed over.
const LINE: usize = 1 << 20;
/// How long an engine may take to end after its step took too long.
const GRACE: Duration = Duration::from_secs(20);
/// How long it may take when the run is stopped. A runner that cancels a job ends csis itself 7.5 s after the interrupt.
const STOP_GRACE: Duration = Duration::from_secs(6);

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("{program} could not be started: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("{program} was stopped after {} s", limit.as_secs())]
    Timeout { program: String, limit: Duration },
    #[error("{program} was interrupted")]
    Interrupted { program: String },
    #[error("{program}: {source}")]
    Io { program: String, source: std::io::Error },
}

/// How children run: what they see, as whom, and until when.
#[derive(Clone, Copy, Debug)]
pub struct Children<'a> {
    pub environment: &'a BTreeMap<String, String>,
    pub user: Option<ChildUser>,
    pub stop: &'a Stop,
}

/// One call of an engine.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    pub program: &'a Path,
    pub arguments: Vec<String>,
    pub directory: &'a Path,
    pub children: Children<'a>,
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

    fn interrupted(&self) -> ProcessError {
        ProcessError::Interrupted { program: self.name() }
    }

    fn failed(&self, source: std::io::Error) -> ProcessError {
        ProcessError::Io { program: self.name(), source }
    }

    fn spawn(&self) -> Result<Running, ProcessError> {
        if self.children.stop.is_stopped() {
            return Err(self.interrupted());
        }
        let mut command = Command::new(self.program);
        command
            .args(&self.arguments)
            .current_dir(self.directory)
            .env_clear()
            .envs(self.children.environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        {
            // A terminal and a runner interrupt a whole group; an engine that hears it twice drops its state.
            command.process_group(0);
            if let Some(user) = self.children.user {
                command.gid(user.gid).uid(user.uid);
            }
        }
        let child = command.spawn().map_err(|source| ProcessError::Start { program: self.name(), source })?;
        Ok(Running { child: Some(child), is_interrupted: false })
    }

    /// Awaits a child and what is read of it. Over the limit, or when the run is stopped, the child is interrupted once; it is heard out until it ends or its
    /// grace is over.
    async fn attend<T>(
        &self,
        mut running: Running,
        reading: impl Future<Output = T>,
    ) -> Result<(T, ExitStatus), ProcessError> {
        let mut reading = std::pin::pin!(reading);
        let (mut read, mut status) = (None, None);
        let (mut asked, mut is_stopping) = (None, false);
        let mut deadline = Instant::now() + self.limit;
        loop {
            tokio::select! {
                value = &mut reading, if read.is_none() => read = Some(value),
                ended = running.wait(), if status.is_none() => {
                    status = Some(ended.map_err(|source| self.failed(source))?);
                }
                () = self.children.stop.stopped(), if !is_stopping => {
                    running.interrupt();
                    is_stopping = true;
                    asked = Some(self.interrupted());
                    deadline = Instant::now() + STOP_GRACE;
                }
                () = tokio::time::sleep_until(deadline) => {
                    if let Some(why) = asked {
                        running.kill().await;
                        return Err(why);
                    }
                    running.interrupt();
                    asked = Some(ProcessError::Timeout { program: self.name(), limit: self.limit });
                    deadline = Instant::now() + GRACE;
                }
            }
            // Whoever still holds the outputs of a child that was asked to end, and did, is not waited for.
            if status.is_some()
                && let Some(why) = asked
            {
                return Err(why);
            }
            match (read, status) {
                (Some(read), Some(status)) => return Ok((read, status)),
                unfinished => (read, status) = unfinished,
            }
        }
    }

    /// Runs to the end. `line` sees every line of stdout.
    pub async fn run(&self, mut line: impl FnMut(&str)) -> Result<Left, ProcessError> {
        let mut running = self.spawn()?;
        let (stdout, stderr) = running.outputs();
        let reading = async { tokio::join!(tail(stdout, &mut line), tail(stderr, |_| {})) };
        let ((stdout, stderr), status) = self.attend(running, reading).await?;
        Ok(Left { status, stdout, stderr })
    }

    /// Hands stdout to a reader that blocks, on a thread of its own, while the process runs.
    #[cfg(unix)]
    pub async fn pipe<T: Send + 'static>(
        &self,
        read: impl FnOnce(std::fs::File) -> T + Send + 'static,
    ) -> Result<(T, Left), ProcessError> {
        let mut running = self.spawn()?;
        let (stdout, stderr) = running.outputs();
        let stdout = stdout.ok_or_else(|| self.failed(std::io::ErrorKind::BrokenPipe.into()))?;
        let stdout = std::fs::File::from(stdout.into_owned_fd().map_err(|source| self.failed(source))?);
        // No thread of the runtime: one that waits for whoever still holds the output would keep csis from ending.
        let (tell, reader) = tokio::sync::oneshot::channel();
        std::thread::Builder::new()
            .spawn(move || {
                let _ = tell.send(read(stdout));
            })
            .map_err(|source| self.failed(source))?;
        let reading = async { tokio::join!(reader, tail(stderr, |_| {})) };
        let ((value, stderr), status) = self.attend(running, reading).await?;
        let value = value.map_err(|error| self.failed(std::io::Error::other(error)))?;
        Ok((value, Left { status, stdout: String::new(), stderr }))
    }
}

/// A process in a group of its own that is asked to end when nobody waits for it any more. It is not killed at once: an engine that is killed leaves its
/// providers behind.
struct Running {
    /// None only while it is dropped.
    child: Option<Child>,
    is_interrupted: bool,
}

impl Running {
    fn outputs(&mut self) -> (Option<tokio::process::ChildStdout>, Option<tokio::process::ChildStderr>) {
        self.child.as_mut().map_or((None, None), |child| (child.stdout.take(), child.stderr.take()))
    }

    async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        match &mut self.child {
            Some(child) => child.wait().await,
            None => Err(std::io::ErrorKind::NotFound.into()),
        }
    }

    /// Once, whoever asks: the second interrupt makes an engine drop what it holds. Only the engine is asked; its providers are its own to end.
    fn interrupt(&mut self) {
        if std::mem::replace(&mut self.is_interrupted, true) {
            return;
        }
        #[cfg(unix)]
        if let Some(pid) = self.child.as_ref().and_then(pid) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
    }

    async fn kill(&mut self) {
        if let Some(child) = &mut self.child {
            kill(child).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.interrupt();
        // Where the run itself was dropped, somebody must still see that the engine ends.
        if let Some(mut child) = self.child.take()
            && child.id().is_some()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                if tokio::time::timeout(STOP_GRACE, child.wait()).await.is_err() {
                    kill(&mut child).await;
                }
            });
        }
    }
}

/// None once it has ended and was awaited: its number may be somebody else's then.
#[cfg(unix)]
fn pid(child: &Child) -> Option<rustix::process::Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
}

/// Kills a child and what it started in its group.
async fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Some(pid) = pid(child) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
    let _ = child.kill().await;
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
