//! What may come of a call, as far as a caller does something different about it.

use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// 401: the token is no token, or no longer one.
    #[error("GitHub does not take the token: {0}")]
    Unauthorized(String),
    /// 403 that says so: the token has not the right.
    #[error("the token has not the right: {message}")]
    Forbidden {
        message: String,
        /// `X-Accepted-GitHub-Permissions`, e.g. `issues=write; pull_requests=write`.
        accepted: Option<String>,
    },
    /// The conversation is locked to everyone but collaborators.
    #[error("the conversation is locked")]
    Locked,
    #[error("GitHub knows no such thing (404)")]
    NotFound,
    /// 410: e.g. issues are switched off.
    #[error("GitHub no longer has it (410)")]
    Gone,
    /// 409 and 422: understood, and not taken.
    #[error("GitHub refuses what was sent: {0}")]
    Invalid(String),
    /// A limit that lasts longer than this run waits.
    #[error("GitHub's rate limit lasts {} s more", wait.as_secs())]
    Limited { wait: Duration },
    /// A redirect to where the token must not go.
    #[error("GitHub's API answers with a redirect to {0}, and the token goes to the API's own host alone")]
    Elsewhere(String),
    /// Nothing was changed, or repeating did not help.
    #[error("GitHub cannot be reached: {0}")]
    Unavailable(String),
    /// A write was sent and no answer tells whether it took effect.
    #[error("GitHub gave no answer that tells whether it acted: {0}")]
    Unknown(String),
    /// An answer that is not what the API describes.
    #[error("GitHub's answer cannot be read: {0}")]
    Unreadable(String),
}

impl ApiError {
    /// Whether the same call may succeed a while later, with nothing changed by anybody.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            ApiError::Limited { .. } | ApiError::Unavailable(_) | ApiError::Unknown(_) | ApiError::Unreadable(_)
        )
    }
}
