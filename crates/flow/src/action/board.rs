//! The comment while a run is under way: written at once, brought up to date now and then, replaced by the result.
//!
//! One task owns the comment, so its writes never overtake each other. What it may spend on progress is bounded: each write is a reading and a writing.

use csis_engine::Progress;
use csis_github::ApiError;
use csis_github::comments::{Comment, Conversation};
use csis_github::marker::{Marker, State};
use csis_github::sticky::{Mode, Sticky, Written};
use csis_report::review::{self, RunFacts};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Between two updates of the progress.
const BETWEEN: Duration = Duration::from_secs(10);
/// Updates between the first text and the result.
const UPDATES: u32 = 2;
/// Calls of a whole review, the check run and its second batch of annotations among them.
const CALLS: u32 = 12;
/// What is kept for the result: reading and writing the comment, the check run, its second batch.
const KEPT: u32 = 4;
/// What one update costs.
const UPDATE: u32 = 2;

/// Hears the progress for the comment, and passes it on to the log.
pub struct Board {
    /// How far each root is, in the order in which they began.
    roots: Mutex<Vec<(String, String)>>,
    changed: Notify,
    log: Arc<dyn Progress>,
}

impl Board {
    pub fn new(log: Arc<dyn Progress>) -> Arc<Board> {
        Arc::new(Board { roots: Mutex::default(), changed: Notify::new(), log })
    }

    fn roots(&self) -> Vec<(String, String)> {
        self.roots.lock().map(|roots| roots.clone()).unwrap_or_default()
    }
}

impl Progress for Board {
    fn step(&self, root: &str, what: &str) {
        self.log.step(root, what);
        // A root's name has its lifecycle; other steps are for the log.
        if !root.contains('/') {
            return;
        }
        if let Ok(mut roots) = self.roots.lock() {
            match roots.iter_mut().find(|(name, _)| name == root) {
                Some((_, at)) => what.clone_into(at),
                None => roots.push((root.to_owned(), what.to_owned())),
            }
        }
        self.changed.notify_one();
    }
}

/// What the comment is to become.
pub struct Last {
    pub state: State,
    pub text: String,
}

/// The comment of this run, in the hands of its task.
pub struct Commenting {
    last: oneshot::Sender<Last>,
    task: JoinHandle<Result<Written, ApiError>>,
}

impl Commenting {
    /// Finds the comment and says that it plans; then keeps it up to date. Where nothing but the head is new, only the result is written.
    pub fn begin(
        conversation: Conversation,
        mine: Marker,
        mode: Mode,
        facts: RunFacts,
        board: Arc<Board>,
    ) -> Commenting {
        let (last, mut ended) = oneshot::channel::<Last>();
        let task = tokio::spawn(async move {
            let client = Arc::clone(&conversation.client);
            let mut begun = announce(conversation.clone(), mine.clone(), mode, &facts).await;
            let mut written = Instant::now();
            let mut left = begun.as_ref().map_or(0, |(_, updates)| *updates);
            let last = loop {
                tokio::select! {
                    last = &mut ended => break last.ok(),
                    () = board.changed.notified(), if left > 0 => {}
                }
                // A burst of steps is one update, made when its time has come.
                let due = written + BETWEEN;
                tokio::select! {
                    last = &mut ended => break last.ok(),
                    () = tokio::time::sleep_until(due) => {}
                }
                if client.calls() + UPDATE + KEPT > CALLS {
                    left = 0;
                    continue;
                }
                left -= 1;
                written = Instant::now();
                if let Ok((sticky, _)) = &mut begun {
                    // Progress that cannot be told is no reason to stop: the result will say what is wrong.
                    let _ = sticky.write(State::Planning, &review::planning(&facts, &board.roots())).await;
                }
            };
            let Some(last) = last else { return Ok(Written::GaveWay) };
            let mut sticky = match begun {
                Ok((sticky, _)) => sticky,
                // GitHub may be well again.
                Err(error) if error.is_passing() => Sticky::find(conversation, mine, mode).await?.0,
                Err(error) => return Err(error),
            };
            sticky.write(last.state, &last.text).await
        });
        Commenting { last, task }
    }

    /// Writes the last text.
    pub async fn end(self, last: Last) -> Result<Written, ApiError> {
        // The task ends only after it was told to, or by a panic, which joining tells.
        let _ = self.last.send(last);
        self.task.await.unwrap_or_else(|error| Err(ApiError::Unavailable(format!("the comment's task ended: {error}"))))
    }
}

/// The comment, and how often its progress may be told: not at all where it holds the result for this very tree already.
async fn announce(
    conversation: Conversation,
    mine: Marker,
    mode: Mode,
    facts: &RunFacts,
) -> Result<(Sticky, u32), ApiError> {
    let tree = mine.tree.clone();
    let (mut sticky, before) = Sticky::find(conversation, mine, mode).await?;
    if mode == Mode::Update && is_same(before.as_ref(), &tree) {
        // Nothing is written until the end, and by then another run may have written.
        sticky.look_again();
        return Ok((sticky, 0));
    }
    sticky.write(State::Planning, &review::planning(facts, &[])).await?;
    Ok((sticky, UPDATES))
}

/// Whether a comment holds the result for the very tree that is judged now.
fn is_same(before: Option<&Comment>, tree: &str) -> bool {
    let marker = before.and_then(Comment::marker);
    marker.is_some_and(|marker| marker.state == State::Result && !tree.is_empty() && marker.tree == tree)
}
