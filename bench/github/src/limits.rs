//! The two limits of GitHub: requests in an hour, and mutations in a minute.

use crate::clock;
use crate::http::Answer;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

/// The limits, one bucket for every caller. Answers that are 304 cost nothing.
#[derive(Clone, Debug, Serialize)]
pub struct RateLimit {
    /// Requests in an hour; `GITHUB_TOKEN` has 1,000 in a repository.
    pub limit: u64,
    /// What is left of them.
    pub remaining: u64,
    /// When `remaining` is `limit` again.
    #[serde(serialize_with = "clock::serialize")]
    pub reset_at: Timestamp,
    /// How many mutations in a minute GitHub takes before the secondary limit answers; none is without limit.
    pub mutations_per_minute: Option<usize>,
    /// What the secondary limit answers with: 403 or 429.
    pub secondary_status: u16,
    /// The `retry-after` of the secondary limit, in seconds.
    pub retry_after: u64,
    #[serde(skip)]
    mutations: Vec<Timestamp>,
}

impl RateLimit {
    pub(crate) fn new(now: Timestamp) -> RateLimit {
        RateLimit {
            limit: 1000,
            remaining: 1000,
            reset_at: later(now, 3600),
            mutations_per_minute: None,
            secondary_status: 403,
            retry_after: 60,
            mutations: Vec::new(),
        }
    }

    /// Refuses what comes above a limit.
    pub(crate) fn check(&mut self, now: Timestamp, mutation: bool) -> Option<Answer> {
        if now >= self.reset_at {
            (self.remaining, self.reset_at) = (self.limit, later(now, 3600));
        }
        if self.remaining == 0 {
            return Some(exhausted(403));
        }
        let minute = now.checked_sub(SignedDuration::from_secs(60)).unwrap_or(now);
        self.mutations.retain(|at| *at > minute);
        if mutation {
            if self.mutations_per_minute.is_some_and(|most| self.mutations.len() >= most) {
                return Some(secondary(self.secondary_status, Some(self.retry_after)));
            }
            self.mutations.push(now);
        }
        None
    }

    pub(crate) fn spend(&mut self) {
        self.remaining = self.remaining.saturating_sub(1);
    }

    pub(crate) fn headers(&self) -> [(&'static str, String); 5] {
        [
            ("x-ratelimit-limit", self.limit.to_string()),
            ("x-ratelimit-remaining", self.remaining.to_string()),
            ("x-ratelimit-reset", self.reset_at.as_second().to_string()),
            ("x-ratelimit-used", self.limit.saturating_sub(self.remaining).to_string()),
            ("x-ratelimit-resource", "core".to_owned()),
        ]
    }
}

pub(crate) fn later(now: Timestamp, seconds: i64) -> Timestamp {
    now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(now)
}

/// The primary limit's refusal.
pub(crate) fn exhausted(status: u16) -> Answer {
    let message = "API rate limit exceeded for installation. If you reach out to GitHub Support for help, please \
                   include the request ID and timestamp.";
    Answer::error(status, message)
}

/// The secondary limit's refusal.
pub(crate) fn secondary(status: u16, retry_after: Option<u64>) -> Answer {
    let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. If you \
                   reach out to GitHub Support for help, please include the request ID and timestamp.";
    let answer = Answer::error(status, message);
    match retry_after {
        Some(seconds) => answer.header("retry-after", &seconds.to_string()),
        None => answer,
    }
}
