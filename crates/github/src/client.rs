//! The one client: every call to GitHub goes through it.

use crate::answer::{self, Answer};
use crate::transport::{self, Carrier};
use crate::{ApiError, Context};
use bytes::Bytes;
use http::{Method, Request};
pub use secrecy::SecretString as Secret;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// How the client behaves in time.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two writes; GitHub asks for a second at least.
    pub between_writes: Duration,
    /// One call, from the first byte sent to the last one read.
    pub call: Duration,
    /// Before the first repetition; each further one waits twice as long.
    pub again: Duration,
    /// All the waiting for limits that one call may do.
    pub patience: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            between_writes: Duration::from_secs(1),
            call: Duration::from_secs(30),
            again: Duration::from_secs(1),
            patience: Duration::from_mins(3),
        }
    }
}

/// How often a call that may be repeated is made.
const TRIES: u32 = 4;
const REDIRECTS: u32 = 3;
/// GitHub's greatest page.
const PAGE: usize = 100;

pub struct Client {
    rest: Carrier,
    /// GraphQL stands beside the REST base, not below it.
    graph: Carrier,
    base: Base,
    graph_path: String,
    pace: Pace,
    calls: AtomicU32,
    kept: Mutex<HashMap<String, (String, Bytes)>>,
    last_write: tokio::sync::Mutex<Option<Instant>>,
}

/// The API's own place: the only one that the token goes to.
struct Base {
    origin: String,
    path: String,
}

impl Base {
    fn of(url: &str) -> Result<Base, ApiError> {
        let (origin, path) =
            transport::split(url).ok_or_else(|| ApiError::Unreadable(format!("`{url}` is no address of an API")))?;
        Ok(Base { origin, path: path.trim_end_matches('/').to_owned() })
    }

    /// The path and query of a place that an answer names; none when it is on another host.
    fn local(&self, place: &str) -> Option<String> {
        if place.starts_with('/') && !place.starts_with("//") {
            return Some(place.to_owned());
        }
        let (origin, path) = transport::split(place)?;
        (origin == self.origin).then_some(path)
    }
}

/// Whether a call may be made again when nobody knows if it took effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Safe,
    /// It would be done twice: the caller looks first.
    Never,
}

/// An answer that is fine.
struct Reply {
    body: Bytes,
    next: Option<String>,
}

impl Client {
    pub fn new(context: &Context, token: &Secret, pace: Pace) -> Result<Client, ApiError> {
        let base = Base::of(&context.api)?;
        let graph = Base::of(&context.graphql)?;
        let carrier = |origin: &str| Carrier::new(origin, token, pace.call).map_err(ApiError::Unavailable);
        Ok(Client {
            rest: carrier(&base.origin)?,
            graph: carrier(&graph.origin)?,
            graph_path: if graph.path.is_empty() { "/graphql".into() } else { graph.path },
            base,
            pace,
            calls: AtomicU32::new(0),
            kept: Mutex::default(),
            last_write: tokio::sync::Mutex::default(),
        })
    }

    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Calls made so far, repetitions included.
    pub fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// `path` begins with `/` and is below the API's base.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        let reply = self.call(&Method::GET, &self.below(path), None, Repeat::Safe).await?;
        parse(&reply.body)
    }

    /// All pages of a list, to the given number of entries; `key` is the field that holds the list, where the answer is no list itself.
    pub async fn pages<T: DeserializeOwned>(
        &self,
        path: &str,
        key: Option<&str>,
        most: usize,
    ) -> Result<Vec<T>, ApiError> {
        let mark = if path.contains('?') { '&' } else { '?' };
        let mut next = Some(self.below(&format!("{path}{mark}per_page={PAGE}")));
        let mut all = Vec::new();
        while let Some(place) = next.take() {
            let reply = self.call(&Method::GET, &place, None, Repeat::Safe).await?;
            let mut page: Value = parse(&reply.body)?;
            let list = match key {
                Some(key) => page.get_mut(key).map(Value::take).unwrap_or_default(),
                None => page,
            };
            let list: Vec<T> = serde_json::from_value(list).map_err(|e| ApiError::Unreadable(e.to_string()))?;
            all.extend(list);
            if all.len() >= most {
                all.truncate(most);
                break;
            }
            next = match reply.next {
                Some(place) => Some(self.base.local(&place).ok_or_else(|| ApiError::Elsewhere(host(&place)))?),
                None => None,
            };
        }
        Ok(all)
    }

    /// Makes something. Never repeated by itself: after [`ApiError::Unknown`] the caller looks whether it is there.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ApiError> {
        self.write(&Method::POST, path, Some(body), Repeat::Never).await.and_then(|reply| parse(&reply.body))
    }

    /// Changes something to what is given; the same change twice is one.
    pub async fn patch<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ApiError> {
        self.write(&Method::PATCH, path, Some(body), Repeat::Safe).await.and_then(|reply| parse(&reply.body))
    }

    /// Adds to something: done twice it would be there twice, so a lost answer is [`ApiError::Unknown`].
    pub async fn add<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ApiError> {
        self.write(&Method::PATCH, path, Some(body), Repeat::Never).await.and_then(|reply| parse(&reply.body))
    }

    /// Removes something; what is gone already is removed.
    pub async fn delete(&self, path: &str) -> Result<(), ApiError> {
        match self.write(&Method::DELETE, path, None::<&()>, Repeat::Safe).await {
            Ok(_) | Err(ApiError::NotFound) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A GraphQL question (not a change): may be repeated.
    pub async fn ask<T: DeserializeOwned>(&self, query: &str, variables: &Value) -> Result<T, ApiError> {
        let body = serde_json::json!({"query": query, "variables": variables});
        let reply = self.call(&Method::POST, &self.graph_path, Some((&body, Place::Graph)), Repeat::Safe).await?;
        graph_data(&reply.body)
    }

    /// A GraphQL change that may be made twice without harm.
    pub async fn change<T: DeserializeOwned>(&self, query: &str, variables: &Value) -> Result<T, ApiError> {
        let body = serde_json::json!({"query": query, "variables": variables});
        let reply = self.in_turn(&Method::POST, &self.graph_path, Some((&body, Place::Graph)), Repeat::Safe).await?;
        graph_data(&reply.body)
    }

    fn below(&self, path: &str) -> String {
        format!("{}{path}", self.base.path)
    }

    async fn write(
        &self,
        method: &Method,
        path: &str,
        body: Option<&impl Serialize>,
        repeat: Repeat,
    ) -> Result<Reply, ApiError> {
        let body = body
            .map(serde_json::to_value)
            .transpose()
            .map_err(|error| ApiError::Invalid(format!("what was to be sent is no JSON: {error}")))?;
        self.in_turn(method, &self.below(path), body.as_ref().map(|b| (b, Place::Rest)), repeat).await
    }

    /// Writes are made one after the other, with time between them.
    async fn in_turn(
        &self,
        method: &Method,
        path: &str,
        body: Option<(&Value, Place)>,
        repeat: Repeat,
    ) -> Result<Reply, ApiError> {
        let mut last = self.last_write.lock().await;
        if let Some(last) = *last {
            tokio::time::sleep_until(last + self.pace.between_writes).await;
        }
        let reply = self.call(method, path, body, repeat).await;
        *last = Some(Instant::now());
        reply
    }

    async fn call(
        &self,
        method: &Method,
        path: &str,
        body: Option<(&Value, Place)>,
        repeat: Repeat,
    ) -> Result<Reply, ApiError> {
        let mut path = path.to_owned();
        let (mut tries, mut moves, mut waited) = (0, 0, Duration::ZERO);
        loop {
            tries += 1;
            let trouble = match self.once(method, &path, body).await {
                Ok((answer, reply)) => match answer {
                    Answer::Fine | Answer::Same => return Ok(reply),
                    Answer::Refused(error) => return Err(error),
                    Answer::Wait(wait) => {
                        waited += wait;
                        if waited > self.pace.patience {
                            return Err(ApiError::Limited { wait });
                        }
                        tokio::time::sleep(wait).await;
                        tries -= 1;
                        continue;
                    }
                    Answer::Moved(place) => {
                        let local = self.base.local(&place).filter(|_| may_follow(method));
                        let Some(local) = local else { return Err(ApiError::Elsewhere(host(&place))) };
                        moves += 1;
                        if moves > REDIRECTS {
                            return Err(ApiError::Unavailable("its redirects lead in a circle".into()));
                        }
                        path = local;
                        tries -= 1;
                        continue;
                    }
                    Answer::Trouble(why) => why,
                },
                Err(why) => why,
            };
            if repeat == Repeat::Never {
                return Err(ApiError::Unknown(trouble));
            }
            if tries >= TRIES {
                return Err(ApiError::Unavailable(format!("{trouble}, {TRIES} times")));
            }
            tokio::time::sleep(self.pace.again * 2_u32.pow(tries - 1)).await;
        }
    }

    /// One request and its answer. `Err`: there was none.
    async fn once(
        &self,
        method: &Method,
        path: &str,
        body: Option<(&Value, Place)>,
    ) -> Result<(Answer, Reply), String> {
        let client = if matches!(body, Some((_, Place::Graph))) { &self.graph } else { &self.rest };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("accept", "application/vnd.github+json")
            .header("x-github-api-version", "2022-11-28");
        let kept = (method == Method::GET).then(|| self.kept.lock().ok()?.get(path).cloned()).flatten();
        if let Some((tag, _)) = &kept {
            request = request.header("if-none-match", tag);
        }
        let body = match body {
            Some((body, _)) => {
                request = request.header("content-type", "application/json");
                body.to_string()
            }
            None => String::new(),
        };
        self.calls.fetch_add(1, Ordering::Relaxed);
        let (parts, body) = client.exchange(request, body).await?;
        let answer = answer::read(parts.status, &parts.headers, &body);
        let next = parts.headers.get("link").and_then(|link| next_page(link.to_str().ok()?));
        let body = match (&answer, kept) {
            (Answer::Same, Some((_, body))) => body,
            (Answer::Same, None) => return Err("it says that nothing changed since an answer it never gave".into()),
            _ => body,
        };
        if method == Method::GET
            && answer == Answer::Fine
            && let Some(tag) = parts.headers.get("etag").and_then(|tag| tag.to_str().ok())
            && let Ok(mut all) = self.kept.lock()
        {
            all.insert(path.to_owned(), (tag.to_owned(), body.clone()));
        }
        Ok((answer, Reply { body, next }))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("api", &self.base.origin).field("calls", &self.calls()).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Rest,
    Graph,
}

/// A write is never carried on: what stands at the other place is not what was meant.
fn may_follow(method: &Method) -> bool {
    method == Method::GET
}

fn host(place: &str) -> String {
    transport::split(place).map_or_else(|| "another place".into(), |(origin, _)| origin)
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::Unreadable(error.to_string()))
}

/// GraphQL tells failures in a body whose status is 200.
fn graph_data<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let mut whole: Value = parse(body)?;
    let first = whole.pointer("/errors/0").cloned();
    if let Some(error) = first {
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        return Err(match text("type").as_str() {
            "FORBIDDEN" | "INSUFFICIENT_SCOPES" => ApiError::Forbidden { message: text("message"), accepted: None },
            "NOT_FOUND" => ApiError::NotFound,
            _ => ApiError::Invalid(text("message")),
        });
    }
    let data = whole.get_mut("data").map(Value::take).unwrap_or_default();
    serde_json::from_value(data).map_err(|error| ApiError::Unreadable(error.to_string()))
}

/// The place behind `rel="next"` of a `Link` header.
fn next_page(link: &str) -> Option<String> {
    link.split(',').find_map(|part| {
        let (place, rest) = part.trim().strip_prefix('<')?.split_once('>')?;
        rest.split(';').any(|p| p.trim() == r#"rel="next""#).then(|| place.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_the_one_that_the_header_names() {
        let link =
            r#"<https://h/x?page=1>; rel="prev", <https://h/x?page=3>; rel="next", <https://h/x?page=9>; rel="last""#;
        assert_eq!(next_page(link).as_deref(), Some("https://h/x?page=3"));
        assert_eq!(next_page(r#"<https://h/x?page=1>; rel="prev""#), None);
    }

    #[test]
    fn only_the_apis_own_host_is_followed() {
        let base = Base::of("https://ghes.example/api/v3").unwrap();
        assert_eq!(base.local("https://ghes.example/api/v3/x?y=1").as_deref(), Some("/api/v3/x?y=1"));
        assert_eq!(base.local("/api/v3/x").as_deref(), Some("/api/v3/x"));
        for place in
            ["https://evil.example/x", "//evil.example/x", "http://ghes.example/x", "https://ghes.example.evil/x"]
        {
            assert_eq!(base.local(place), None, "{place}");
        }
    }
}
