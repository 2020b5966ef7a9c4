//! The one comment of a tree on a pull request: found, written and given up.
//!
//! GitHub has no conditional write for comments, so every write reads the comment first and gives way to a newer run; what two runs make at the same moment
//! is put right by the one that sees both: the oldest comment stays.

use crate::ApiError;
use crate::comments::{Comment, Conversation, any_marked, login, ours};
use crate::marker::{Marker, State};
use std::time::Duration;
use tokio::time::Instant;

/// How long a comment that was just made may be unknown to GitHub's other machines.
const SETTLING: Duration = Duration::from_secs(15);
/// How often a write begins anew because the comment went away under it.
const TURNS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One comment, brought up to date in place.
    Update,
    /// One comment a run; the run before's is folded as outdated.
    New,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    Done {
        url: String,
    },
    /// A newer run has the comment: this one has nothing more to say there.
    GaveWay,
}

/// The comment of one run.
pub struct Sticky {
    conversation: Conversation,
    mine: Marker,
    mode: Mode,
    login: Option<String>,
    at: Option<At>,
    gave_way: bool,
    edits: u32,
}

/// Where the comment is, and whether it was read a moment ago.
struct At {
    id: u64,
    url: String,
    made: Option<Instant>,
    just_read: bool,
}

impl Sticky {
    /// Looks for the comment. What an earlier run left behind beside it is taken away.
    pub async fn find(
        conversation: Conversation,
        mine: Marker,
        mode: Mode,
    ) -> Result<(Sticky, Option<Comment>), ApiError> {
        let mut sticky = Sticky { conversation, mine, mode, login: None, at: None, gave_way: false, edits: 0 };
        let all = sticky.conversation.list().await?;
        let mut found = None;
        if any_marked(&all, &sticky.mine.key) {
            let name = login(&sticky.conversation.client).await?;
            let ours = ours(&all, &name, &sticky.mine.key);
            sticky.login = Some(name);
            found = sticky.settle(&ours).await?;
        }
        Ok((sticky, found))
    }

    /// Keeps the one that stays, and takes away or folds what is beside it.
    async fn settle(&mut self, ours: &[&Comment]) -> Result<Option<Comment>, ApiError> {
        let newest = ours.iter().filter_map(|c| c.marker()).max_by_key(|m| (m.run, m.attempt));
        self.gave_way = newest.is_some_and(|newest| !self.mine.may_replace(&newest));
        if self.gave_way {
            return Ok(None);
        }
        let same_run =
            |c: &&&Comment| c.marker().is_some_and(|m| (m.run, m.attempt) == (self.mine.run, self.mine.attempt));
        let kept = match self.mode {
            Mode::Update => ours.first(),
            Mode::New => ours.iter().find(same_run),
        };
        match self.mode {
            Mode::Update => {
                for surplus in ours.iter().skip(1) {
                    self.conversation.delete(surplus.id).await?;
                }
            }
            Mode::New => {
                // Those before the last were folded by the run that wrote the last.
                if let Some(last) = ours.iter().rev().find(|c| !same_run(c)) {
                    self.conversation.minimise(last).await?;
                }
            }
        }
        self.at = kept.map(|comment| At { id: comment.id, url: comment.html_url.clone(), made: None, just_read: true });
        Ok(kept.map(|comment| (*comment).clone()))
    }

    /// What was read is old by the next writing.
    pub fn look_again(&mut self) {
        if let Some(at) = &mut self.at {
            at.just_read = false;
        }
    }

    /// Writes that were made.
    pub fn edits(&self) -> u32 {
        self.edits
    }

    pub fn gave_way(&self) -> bool {
        self.gave_way
    }

    /// Writes a text below the marker.
    pub async fn write(&mut self, state: State, text: &str) -> Result<Written, ApiError> {
        self.mine.state = state;
        let body = self.mine.line() + text;
        for _ in 0..TURNS {
            if !self.gave_way && self.at.is_none() {
                self.create(&body).await?;
                if let Some(At { url, just_read: false, .. }) = &self.at {
                    return Ok(Written::Done { url: url.clone() });
                }
            }
            let Some(at) = self.at.as_mut().filter(|_| !self.gave_way) else { return Ok(Written::GaveWay) };
            let id = at.id;
            if !std::mem::take(&mut at.just_read) && !self.still_ours(id).await? {
                continue;
            }
            match self.conversation.update(id, &body).await {
                Ok(comment) => {
                    self.edits += 1;
                    return Ok(Written::Done { url: comment.html_url });
                }
                // Taken away between the reading and the writing.
                Err(ApiError::NotFound | ApiError::Gone) => self.at = None,
                Err(error) => return Err(error),
            }
        }
        Err(ApiError::Unavailable("the comment goes away whenever it is written".into()))
    }

    /// Reads the comment again: whether it is there, and no newer run's.
    async fn still_ours(&mut self, id: u64) -> Result<bool, ApiError> {
        let mut wait = self.conversation.client.pace().again;
        loop {
            match self.conversation.get(id).await {
                Ok(comment) => {
                    self.gave_way = comment.marker().is_some_and(|there| !self.mine.may_replace(&there));
                    return Ok(!self.gave_way);
                }
                Err(ApiError::NotFound | ApiError::Gone) if self.is_settling() => {
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
                Err(ApiError::NotFound | ApiError::Gone) => {
                    self.at = None;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn is_settling(&self) -> bool {
        self.at.as_ref().and_then(|at| at.made).is_some_and(|made| made.elapsed() < SETTLING)
    }

    /// Makes the comment, and sees to it that there is one. Where another run's stays, `at` is that one and says `just_read`.
    async fn create(&mut self, body: &str) -> Result<(), ApiError> {
        let made = match self.conversation.create(body).await {
            Err(ApiError::Unknown(_)) => {
                // It may be there: a second one would stay beside it.
                tokio::time::sleep(self.conversation.client.pace().again).await;
                match self.made_by_this_run().await? {
                    Some(comment) => comment,
                    None => self.conversation.create(body).await?,
                }
            }
            other => other?,
        };
        self.edits += 1;
        self.at = Some(At { id: made.id, url: made.html_url.clone(), made: Some(Instant::now()), just_read: false });
        if self.login.is_none() {
            self.login = made.user.as_ref().map(|user| user.login.clone());
        }
        if self.mode == Mode::New {
            return Ok(());
        }
        let all = match self.conversation.since(&shortly_before(&made.created_at)).await {
            Ok(all) => all,
            // The comment is there. Should there be another, the next run takes one away.
            Err(error) if error.is_passing() => return Ok(()),
            Err(error) => return Err(error),
        };
        let ours = ours(&all, self.login.as_deref().unwrap_or_default(), &self.mine.key);
        let Some(oldest) = ours.first().filter(|oldest| oldest.id < made.id) else { return Ok(()) };
        self.conversation.delete(made.id).await?;
        self.gave_way = oldest.marker().is_some_and(|there| !self.mine.may_replace(&there));
        self.at = Some(At { id: oldest.id, url: oldest.html_url.clone(), made: None, just_read: true });
        Ok(())
    }

    async fn made_by_this_run(&mut self) -> Result<Option<Comment>, ApiError> {
        let all = self.conversation.list().await?;
        if !any_marked(&all, &self.mine.key) {
            return Ok(None);
        }
        if self.login.is_none() {
            self.login = Some(login(&self.conversation.client).await?);
        }
        let ours = ours(&all, self.login.as_deref().unwrap_or_default(), &self.mine.key);
        let this = |comment: &&&Comment| {
            comment.marker().is_some_and(|m| (m.run, m.attempt) == (self.mine.run, self.mine.attempt))
        };
        Ok(ours.iter().rev().find(this).map(|comment| (*comment).clone()))
    }
}

/// Ten minutes before a time as the API writes it: runs that race are not further apart.
fn shortly_before(time: &str) -> String {
    let moment: Option<jiff::Timestamp> = time.parse().ok();
    let before = moment.and_then(|moment| moment.checked_sub(jiff::SignedDuration::from_mins(10)).ok());
    before.map_or_else(|| time.to_owned(), |before| before.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_race_is_looked_for_in_the_minutes_before() {
        assert_eq!(super::shortly_before("2026-01-01T00:05:00Z"), "2025-12-31T23:55:00Z");
        assert_eq!(super::shortly_before("whenever"), "whenever");
    }
}
