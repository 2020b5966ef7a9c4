//! What was asked of GitHub, for tests to count and for people to read.

use crate::clock;
use jiff::Timestamp;
use serde::Serialize;
use std::fmt;
use std::ops::Deref;

/// One call. It never holds the text of a token.
#[derive(Clone, Debug, Serialize)]
pub struct Call {
    #[serde(serialize_with = "clock::serialize")]
    pub at: Timestamp,
    pub method: String,
    /// The path, with the prefix of Enterprise Server when it was called by that.
    pub path: String,
    /// The query, without `?`.
    pub query: String,
    /// What was answered; none when the connection was closed without an answer.
    pub status: Option<u16>,
    /// Whether it carried an `Authorization` header.
    pub authorized: bool,
    /// The login that its token stands for, when GitHub knows the token.
    pub login: Option<String>,
    /// The fields at the top of a GraphQL document.
    pub operations: Vec<String>,
    /// Whether it asks for a change: REST with another method than `GET`, or a GraphQL mutation.
    pub mutation: bool,
    /// Whether a fault decided the answer.
    pub faulted: bool,
    /// Whether the text of a token that GitHub knows stood in the path, the query or the body.
    pub leaked: bool,
    /// The `x-github-request-id` of the answer.
    pub request_id: String,
}

/// Calls in the order they came. `{calls}` writes a table for the message of a failed test.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Calls(pub Vec<Call>);

impl Calls {
    /// Those with a method and a path that contains some text.
    #[must_use]
    pub fn of(&self, method: &str, part_of_path: &str) -> Calls {
        let fits = |call: &&Call| call.method == method && call.path.contains(part_of_path);
        Calls(self.0.iter().filter(fits).cloned().collect())
    }
}

impl Deref for Calls {
    type Target = [Call];

    fn deref(&self) -> &[Call] {
        &self.0
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "{} calls", self.0.len())?;
        for (number, call) in self.0.iter().enumerate() {
            let status = call.status.map_or_else(|| "---".to_owned(), |status| status.to_string());
            let who = call.login.as_deref().unwrap_or(if call.authorized { "(unknown token)" } else { "(nobody)" });
            let mark = if call.query.is_empty() { "" } else { "?" };
            write!(to, "{:>4}  {status}  {:<6} {}{mark}{}", number + 1, call.method, call.path, call.query)?;
            if !call.operations.is_empty() {
                write!(to, " {}", call.operations.join(", "))?;
            }
            let faulted = if call.faulted { "  FAULT" } else { "" };
            let leaked = if call.leaked { "  TOKEN LEAKED" } else { "" };
            writeln!(to, "  by {who}{faulted}{leaked}")?;
        }
        Ok(())
    }
}
