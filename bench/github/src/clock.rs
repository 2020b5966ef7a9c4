//! The time that GitHub's answers tell: real, until a test moves it.

use jiff::{SignedDuration, Timestamp};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A clock that a test can move. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<Mutex<Setting>>);

#[derive(Debug, Default)]
struct Setting {
    stopped: Option<Timestamp>,
    ahead: SignedDuration,
}

impl Clock {
    /// The time now: real time, the moment it was stopped at, and what it was moved by.
    pub fn now(&self) -> Timestamp {
        let setting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let base = setting.stopped.unwrap_or_else(Timestamp::now);
        base.checked_add(setting.ahead).unwrap_or(base)
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let mut setting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
        setting.ahead = setting.ahead.saturating_add(by);
    }

    /// Stops the clock at a moment; from then on only [`Clock::advance`] moves it.
    pub fn stop_at(&self, moment: Timestamp) {
        let mut setting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *setting = Setting { stopped: Some(moment), ahead: SignedDuration::ZERO };
    }
}

/// A moment as GitHub writes it: whole seconds, UTC.
pub(crate) fn text(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A moment for serde, as GitHub writes it.
pub(crate) fn serialize<S: serde::Serializer>(moment: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&text(*moment))
}
