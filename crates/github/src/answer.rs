//! What an answer means, read off its status, its headers and its body: the rules of GitHub's limits in one place.

use crate::ApiError;
use http::{HeaderMap, StatusCode};
use std::time::Duration;

/// What to do with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Fine,
    /// 304: what was kept still holds.
    Same,
    /// Refused before it was acted on: the same call may be made again after the wait.
    Wait(Duration),
    /// The server's own trouble; whether it acted is not known.
    Trouble(String),
    /// To be asked for at another place.
    Moved(String),
    Refused(ApiError),
}

/// A limit that says nothing of its length; GitHub asks for a minute at least.
const UNSAID: Duration = Duration::from_mins(1);

pub fn read(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Answer {
    let message = || message(body);
    match status.as_u16() {
        304 => Answer::Same,
        301 | 302 | 307 | 308 => match text(headers, "location") {
            Some(place) => Answer::Moved(place.to_owned()),
            None => Answer::Refused(ApiError::Unreadable(format!("a redirect ({status}) without a place"))),
        },
        200..=299 => Answer::Fine,
        401 => Answer::Refused(ApiError::Unauthorized(message())),
        429 => Answer::Wait(limit(headers).unwrap_or(UNSAID)),
        403 => forbidden(headers, message()),
        404 => Answer::Refused(ApiError::NotFound),
        410 => Answer::Refused(ApiError::Gone),
        409 | 422 => Answer::Refused(ApiError::Invalid(message())),
        500..=599 => Answer::Trouble(format!("status {}", status.as_u16())),
        _ => Answer::Refused(ApiError::Unreadable(format!("status {}: {}", status.as_u16(), message()))),
    }
}

/// A 403 is a limit where it says so in a header or in words, and a right that is missing everywhere else.
fn forbidden(headers: &HeaderMap, message: String) -> Answer {
    let spoken = message.to_ascii_lowercase();
    if let Some(wait) = limit(headers) {
        return Answer::Wait(wait);
    }
    if spoken.contains("rate limit") || spoken.contains("abuse detection") {
        return Answer::Wait(UNSAID);
    }
    if spoken.contains("is locked") {
        return Answer::Refused(ApiError::Locked);
    }
    let accepted = text(headers, "x-accepted-github-permissions").map(str::to_owned);
    Answer::Refused(ApiError::Forbidden { message, accepted })
}

/// How long a limit lasts, where the headers tell: `retry-after`, else the reset of a budget that is spent.
fn limit(headers: &HeaderMap) -> Option<Duration> {
    if let Some(seconds) = number(headers, "retry-after") {
        // At once is not a wait: each one has to use up patience.
        return Some(Duration::from_secs(seconds.max(1)));
    }
    if number(headers, "x-ratelimit-remaining") != Some(0) {
        return None;
    }
    let reset = number(headers, "x-ratelimit-reset")?;
    // By the server's own clock: a runner's may be off.
    let now = text(headers, "date")
        .and_then(|date| jiff::fmt::rfc2822::parse(date).ok())
        .and_then(|date| u64::try_from(date.timestamp().as_second()).ok())?;
    Some(Duration::from_secs(reset.saturating_sub(now).max(1)))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    text(headers, name)?.trim().parse().ok()
}

/// What GitHub says for people, on one line; a page of HTML is named, not repeated.
pub fn message(body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Said {
        message: String,
        #[serde(default)]
        errors: Vec<serde_json::Value>,
    }
    let Ok(said) = serde_json::from_slice::<Said>(body) else {
        return if body.is_empty() { "no words".into() } else { "an answer that is no JSON".into() };
    };
    let details = said.errors.iter().filter_map(|error| match error {
        serde_json::Value::String(text) => Some(text.as_str()),
        other => other.get("message").and_then(serde_json::Value::as_str),
    });
    let whole = std::iter::once(said.message.as_str()).chain(details).collect::<Vec<_>>().join("; ");
    let line: String = whole.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        super::read(StatusCode::from_u16(status).unwrap(), &map, body.as_bytes())
    }

    #[test]
    fn a_limit_says_how_long_it_lasts() {
        let seconds = |n| Answer::Wait(Duration::from_secs(n));
        assert_eq!(read(403, &[("retry-after", "7")], "{}"), seconds(7));
        let spent = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1700000090"),
            ("date", "Tue, 14 Nov 2023 22:13:20 GMT"),
        ];
        assert_eq!(read(403, &spent, "{}"), seconds(90), "by the server's clock");
        assert_eq!(read(429, &[], ""), seconds(60));
        let words = r#"{"message": "You have exceeded a secondary rate limit. Please wait."}"#;
        assert_eq!(read(403, &[], words), seconds(60));
    }

    #[test]
    fn a_forbidden_call_is_a_missing_right_unless_it_says_otherwise() {
        let missing = read(
            403,
            &[("x-accepted-github-permissions", "checks=write"), ("x-ratelimit-remaining", "4000")],
            r#"{"message": "Resource not accessible by integration"}"#,
        );
        let wanted = ApiError::Forbidden {
            message: "Resource not accessible by integration".into(),
            accepted: Some("checks=write".into()),
        };
        assert_eq!(missing, Answer::Refused(wanted));
        let bare = read(403, &[], "");
        assert_eq!(bare, Answer::Refused(ApiError::Forbidden { message: "no words".into(), accepted: None }));
        let locked = r#"{"message": "Unable to create comment because issue is locked."}"#;
        assert_eq!(read(403, &[], locked), Answer::Refused(ApiError::Locked));
    }

    #[test]
    fn a_page_of_html_is_trouble_and_is_never_repeated() {
        assert_eq!(read(502, &[], "<html>bad gateway</html>"), Answer::Trouble("status 502".into()));
        assert_eq!(message(b"<html>x</html>"), "an answer that is no JSON");
        assert_eq!(message(br#"{"message": "a\u001b[31m\nb", "errors": [{"message": "c"}, "d"]}"#), "a [31m b; c; d");
    }
}
