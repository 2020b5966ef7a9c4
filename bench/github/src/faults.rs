//! What goes wrong, and what changes in between: told once, in one place.

use crate::http::{Answer, Content};
use crate::limits;
use crate::state::State;
use serde_json::{Value, json};
use std::time::Duration;

/// Something that goes wrong with matching calls, or happens just before them. Give it to [`crate::GitHub::fault`].
///
/// ```
/// # use csis_bench_github::Fault;
/// // The first comment is made, but the client never hears of it.
/// Fault::on("POST", "/repos/*/issues/*/comments").times(1).act_then_cut();
/// // A person deletes the bot's comment just before its second update.
/// Fault::on("PATCH", "/repos/*/issues/comments/*").after(1).times(1).before(|state| {
///     state.delete_comment("acme/harbor", 1007);
/// });
/// ```
///
/// Faults stand in a row. The first that matches a call, is not used up and has an effect takes it, and those behind
/// it that have one wait for the next: two faults of one `times(1)` each answer two calls. Hooks without an effect run
/// at every matching call, and the call is served as ever.
#[must_use]
pub struct Fault {
    method: String,
    path: String,
    operation: Option<String>,
    skip: usize,
    times: Option<usize>,
    seen: usize,
    acts: bool,
    effect: Effect,
    hooks: Vec<Hook>,
}

type Hook = Box<dyn FnMut(&mut State) + Send>;

/// What becomes of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// It is served as ever.
    Nothing,
    /// This is said in its place.
    Instead(Answer),
    /// The primary limit answers; `Instead` cannot know the time of reset.
    Exhausted(u16),
    /// It comes late.
    Slow(Duration),
    /// The connection is held so long, then closed without a word.
    Hang(Duration),
    /// Half of the body comes, then the connection closes.
    Truncate,
}

impl Fault {
    /// For calls with this method (`*`: any) and path. In the path `*` stands for any text, slashes too, and `{…}` for
    /// one segment. The prefix of Enterprise Server is not part of it.
    pub fn on(method: &str, path: &str) -> Fault {
        Fault {
            method: method.into(),
            path: path.into(),
            operation: None,
            skip: 0,
            times: None,
            seen: 0,
            acts: false,
            effect: Effect::Nothing,
            hooks: Vec::new(),
        }
    }

    /// For GraphQL calls with this field at the top: `minimizeComment`.
    pub fn graphql(field: &str) -> Fault {
        Fault { operation: Some(field.into()), ..Fault::on("POST", "/graphql") }
    }

    /// Leaves the first so many matching calls alone.
    pub fn after(mut self, calls: usize) -> Fault {
        self.skip = calls;
        self
    }

    /// Is used up after so many calls; without it, never.
    pub fn times(mut self, calls: usize) -> Fault {
        self.times = Some(calls);
        self
    }

    /// Something that happens in GitHub just before the call is served. The hook is given the state: it must not call
    /// the handle.
    pub fn before(mut self, hook: impl FnMut(&mut State) + Send + 'static) -> Fault {
        self.hooks.push(Box::new(hook));
        self
    }

    /// GitHub does what was asked before it fails to say so. Without it, a call that fails did nothing.
    pub fn acting(mut self) -> Fault {
        self.acts = true;
        self
    }

    /// Answers with this status and a JSON message.
    pub fn status(mut self, status: u16) -> Fault {
        let message = match status {
            500 => "Server Error",
            502 => "Bad Gateway",
            503 => "Service Unavailable",
            504 => "Gateway Timeout",
            _ => "Something went wrong",
        };
        self.effect = Effect::Instead(Answer::error(status, message));
        self
    }

    /// Answers with a page for browsers, as a proxy in front does; 502 without another status.
    pub fn html(mut self) -> Fault {
        let page = "<!DOCTYPE html>\n<html><head><title>Unicorn! &middot; GitHub</title></head>\n<body><p>We had issues \
                    producing the response to your request.</p></body></html>\n";
        self.instead(502).body = Content::Text("text/html; charset=utf-8", page.into());
        self
    }

    /// Answers with this JSON; 200 without another status.
    pub fn json(mut self, body: Value) -> Fault {
        self.instead(200).body = Content::Json(body);
        self
    }

    /// Puts a header on the answer of [`Fault::status`], [`Fault::json`] and the like.
    pub fn header(mut self, name: &str, value: &str) -> Fault {
        self.instead(200).headers.push((name.into(), value.into()));
        self
    }

    /// The secondary limit: 403 with `retry-after` in seconds.
    pub fn rate_limited(mut self, retry_after: u64) -> Fault {
        self.effect = Effect::Instead(limits::secondary(403, Some(retry_after)));
        self
    }

    /// 403 that says nothing: no `retry-after`, limits not used up, no JSON.
    pub fn bare_403(mut self) -> Fault {
        self.effect = Effect::Instead(Answer::new(403, Content::Text("text/plain", "Forbidden\n".into())));
        self
    }

    /// The primary limit: this status (403 or 429), `x-ratelimit-remaining: 0` and the time of reset.
    pub fn too_many(mut self, status: u16) -> Fault {
        self.effect = Effect::Exhausted(status);
        self
    }

    /// Sends the client on: 301 for `GET`, 307 for the rest, with this `Location`.
    pub fn redirect_to(mut self, url: &str) -> Fault {
        let status = if self.method == "GET" { 301 } else { 307 };
        self.effect = Effect::Instead(Answer::redirect(status, url));
        self
    }

    /// The answer comes late.
    pub fn slow(mut self, by: Duration) -> Fault {
        self.effect = Effect::Slow(by);
        self.acts = true;
        self
    }

    /// Nothing is done; the connection is held so long and then closed without a word.
    pub fn hang(mut self, duration: Duration) -> Fault {
        self.effect = Effect::Hang(duration);
        self
    }

    /// GitHub does what was asked, then the client waits so long for an answer that never comes.
    pub fn act_then_hang(self, duration: Duration) -> Fault {
        self.hang(duration).acting()
    }

    /// Nothing is done; the connection is closed without a word.
    pub fn cut(self) -> Fault {
        self.hang(Duration::ZERO)
    }

    /// GitHub does what was asked, then the connection is closed without a word.
    pub fn act_then_cut(self) -> Fault {
        self.cut().acting()
    }

    /// GitHub does what was asked; half of the answer's body arrives, then the connection is closed.
    pub fn truncate(mut self) -> Fault {
        self.effect = Effect::Truncate;
        self.acts = true;
        self
    }

    fn instead(&mut self, status: u16) -> &mut Answer {
        if !matches!(self.effect, Effect::Instead(_)) {
            self.effect = Effect::Instead(Answer::new(status, Content::Json(json!({}))));
        }
        match &mut self.effect {
            Effect::Instead(answer) => answer,
            _ => unreachable!("it was set above"),
        }
    }

    fn matches(&self, method: &str, path: &str, operations: &[String]) -> bool {
        (self.method == "*" || self.method.eq_ignore_ascii_case(method))
            && fits(self.path.as_bytes(), path.as_bytes())
            && self.operation.as_ref().is_none_or(|field| operations.contains(field))
    }

    /// What this fault is for, and how often it was met.
    pub(crate) fn describe(&self) -> String {
        let times = self.times.map_or(String::new(), |times| format!(" of {times}"));
        let operation = self.operation.as_ref().map_or(String::new(), |field| format!(" {field}"));
        format!("{} {}{operation}: met {}{times} after {}", self.method, self.path, self.met(), self.skip)
    }

    /// Whether calls that it waits for have not come.
    pub(crate) fn waits(&self) -> bool {
        self.met() < self.times.unwrap_or(1)
    }

    fn met(&self) -> usize {
        self.seen.saturating_sub(self.skip)
    }
}

/// What the faults make of one call.
pub(crate) struct Fate {
    pub effect: Effect,
    /// Whether GitHub does what was asked.
    pub acts: bool,
}

/// Counts a call, runs the hooks that wait for it and tells what becomes of it.
pub(crate) fn meet(faults: &mut [Fault], state: &mut State, method: &str, path: &str, operations: &[String]) -> Fate {
    let mut fate = Fate { effect: Effect::Nothing, acts: true };
    for fault in faults {
        let used_up = fault.times.is_some_and(|times| fault.met() >= times);
        let has_effect = !matches!(fault.effect, Effect::Nothing);
        let taken = has_effect && !matches!(fate.effect, Effect::Nothing);
        if used_up || taken || !fault.matches(method, path, operations) {
            continue;
        }
        fault.seen += 1;
        if fault.seen <= fault.skip {
            continue;
        }
        for hook in &mut fault.hooks {
            hook(state);
        }
        if has_effect {
            fate = Fate { effect: fault.effect.clone(), acts: fault.acts };
        }
    }
    fate
}

/// Whether a path is what a pattern says.
fn fits(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => path.is_empty(),
        [b'*', rest @ ..] => (1..=path.len()).any(|taken| fits(rest, &path[taken..])),
        [b'{', ..] => {
            let end = pattern.iter().position(|byte| *byte == b'}').map_or(pattern.len(), |end| end + 1);
            let segment = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
            segment > 0 && fits(&pattern[end..], &path[segment..])
        }
        [byte, rest @ ..] => path.first() == Some(byte) && fits(rest, &path[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns() {
        let fits = |pattern: &str, path: &str| fits(pattern.as_bytes(), path.as_bytes());
        assert!(fits("/repos/*/issues/*/comments", "/repos/acme/harbor/issues/7/comments"));
        assert!(!fits("/repos/*/issues/*/comments", "/repos/acme/harbor/issues/comments/7"));
        assert!(fits("/repos/{o}/{r}/issues/{n}", "/repos/acme/harbor/issues/7"));
        assert!(!fits("/repos/{o}/{r}/issues/{n}", "/repos/acme/harbor/issues/7/comments"));
        assert!(fits("*", "/graphql"));
        assert!(!fits("/repos/*", "/repos/"));
    }
}
