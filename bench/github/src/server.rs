//! The wire: requests from bytes, answers to bytes, and the ways in which an answer never arrives.

use crate::access::Caller;
use crate::document::{self, Document};
use crate::faults::{self, Effect, Fault};
use crate::http::{Answer, Ask, Content};
use crate::limits;
use crate::record::{Call, Calls};
use crate::state::State;
use crate::{graphql, oidc, route};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// More than any answer or request of GitHub.
const LARGEST_BODY: usize = 32 << 20;

/// What the handle and the server share.
pub(crate) struct Shared(Mutex<Inner>);

pub(crate) struct Inner {
    pub state: State,
    pub faults: Vec<Fault>,
    pub calls: Calls,
    /// Where the API begins in answers.
    pub url: String,
}

impl Shared {
    pub fn new(inner: Inner) -> Arc<Shared> {
        Arc::new(Shared(Mutex::new(inner)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        // A test that panicked while it changed the state is told by that panic already.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How an answer travels.
struct Delivery {
    answer: Answer,
    effect: Effect,
}

/// One exchange, from bytes to bytes.
pub(crate) async fn exchange(shared: Arc<Shared>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, LARGEST_BODY).await.unwrap_or_default();
    let delivery = {
        let mut inner = shared.lock();
        inner.turn(
            parts.method.as_str(),
            parts.uri.path(),
            parts.uri.query().unwrap_or_default(),
            &parts.headers,
            &body,
        )
    };
    match delivery.effect {
        Effect::Hang(time) => {
            tokio::time::sleep(time).await;
            return Response::new(Body::new(Broken { first: None, pause: None }));
        }
        Effect::Slow(time) => tokio::time::sleep(time).await,
        _ => {}
    }
    write(delivery.answer, matches!(delivery.effect, Effect::Truncate))
}

fn write(answer: Answer, truncate: bool) -> Response<Body> {
    let (kind, body) = match answer.body {
        Content::None => (None, Bytes::new()),
        Content::Json(body) => (Some("application/json; charset=utf-8"), Bytes::from(body.to_string())),
        Content::Text(kind, text) => (Some(kind), Bytes::from(text)),
    };
    let mut response =
        Response::builder().status(StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY));
    if let Some(kind) = kind {
        response = response.header(header::CONTENT_TYPE, kind);
    }
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    let body = if truncate {
        response = response.header(header::CONTENT_LENGTH, body.len());
        Body::new(Broken { first: Some(body.slice(..body.len() / 2)), pause: None })
    } else {
        Body::from(body)
    };
    response.body(body).unwrap_or_default()
}

/// A body that ends in a closed connection: at once, so that not even the status is sent, or after its first part.
struct Broken {
    first: Option<Bytes>,
    pause: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl http_body::Body for Broken {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
        if let Some(first) = self.first.take() {
            // What was written is sent only when the body lets the connection breathe.
            self.pause = Some(Box::pin(tokio::time::sleep(Duration::from_millis(20))));
            return Poll::Ready(Some(Ok(http_body::Frame::data(first))));
        }
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(context));
        }
        Poll::Ready(Some(Err(std::io::Error::other("the bench closes this connection"))))
    }
}

impl Inner {
    /// Serves one request: faults first, then what stands before every operation, then the operation.
    fn turn(&mut self, method: &str, path: &str, query: &str, headers: &HeaderMap, body: &[u8]) -> Delivery {
        if let Some(answer) = self.inside(method, path) {
            return Delivery { answer, effect: Effect::Nothing };
        }
        let (place, prefix) = match path {
            "/api/graphql" => ("/graphql", ""),
            _ => match path.strip_prefix("/api/v3") {
                Some(rest) if rest.starts_with('/') => (rest, "/api/v3"),
                _ => (path, ""),
            },
        };
        let token = bearer(headers);
        let mut ask = Ask {
            method: method.into(),
            path: place.into(),
            segments: place.split('/').skip(1).map(decode).collect(),
            query: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
            body: body.into(),
            caller: Caller::Nobody,
            repo: String::new(),
            base: format!("{}{prefix}", self.url),
        };
        if ask.segments.last().is_some_and(String::is_empty) {
            ask.segments.pop();
        }
        let document = (place == "/graphql").then(|| read_document(&ask));
        let operations: Vec<String> = match &document {
            Some(Ok(document)) => document.fields.iter().map(|field| field.name.clone()).collect(),
            _ => Vec::new(),
        };
        let mutation = match &document {
            Some(document) => document.as_ref().is_ok_and(|document| document.mutation),
            None => method != "GET" && method != "HEAD",
        };

        let fate = faults::meet(&mut self.faults, &mut self.state, method, place, &operations);
        // After the hooks, which may have changed what a token or a name stands for.
        ask.caller = self.state.caller(token.as_deref());
        ask.repo = self.state.named(&ask.segments);

        let request_id = self.request_id();
        let mut answer =
            if fate.acts { self.act(&mut ask, token.as_deref(), headers, document, mutation) } else { None };
        let faulted = !matches!(fate.effect, Effect::Nothing);
        match &fate.effect {
            Effect::Instead(instead) => answer = Some(instead.clone()),
            Effect::Exhausted(status) => {
                self.state.rate.remaining = 0;
                answer = Some(limits::exhausted(*status));
            }
            _ => {}
        }
        let mut answer = answer.unwrap_or_else(|| Answer::new(504, Content::None));
        if !(faulted && matches!(answer.body, Content::Text(..))) && place != "/oidc/token" {
            self.dress(&mut answer, &request_id, headers, method);
        }
        self.calls.0.push(Call {
            at: self.state.clock.now(),
            method: method.into(),
            path: path.into(),
            query: query.into(),
            status: (!matches!(fate.effect, Effect::Hang(_))).then_some(answer.status),
            authorized: headers.contains_key(header::AUTHORIZATION),
            login: ask.caller.login().map(str::to_owned),
            operations,
            mutation,
            faulted,
            leaked: self.state.leaks(&[path.as_bytes(), query.as_bytes(), body]),
            request_id,
        });
        Delivery { answer, effect: fate.effect }
    }

    fn act(
        &mut self,
        ask: &mut Ask,
        token: Option<&str>,
        headers: &HeaderMap,
        document: Option<Result<Document, String>>,
        mutation: bool,
    ) -> Option<Answer> {
        let both = |reply: Result<Answer, Answer>| Some(reply.unwrap_or_else(|refusal| refusal));
        if ask.path == "/oidc/token" {
            ask.caller = Caller::Nobody;
            return both(oidc::token(&self.state, ask, token));
        }
        if !headers.contains_key(header::USER_AGENT) {
            let text = "Request forbidden by administrative rules. Please make sure your request has a User-Agent header \
                        (https://docs.github.com/en/rest/overview/resources-in-the-rest-api#user-agent-required). Check \
                        https://developer.github.com for other possible causes.\n";
            return Some(Answer::new(403, Content::Text("text/plain", text.into())));
        }
        if matches!(ask.caller, Caller::Unknown) {
            return Some(Answer::error(401, "Bad credentials"));
        }
        // Asking for the limit costs nothing and is answered when nothing is left.
        if ask.path == "/rate_limit" {
            return both(route::serve(&mut self.state, ask));
        }
        let now = self.state.clock.now();
        if let Some(refusal) = self.state.rate.check(now, mutation) {
            return Some(refusal);
        }
        self.state.rate.spend();
        match document {
            Some(document) => both(graphql::answer(&mut self.state, ask, &document)),
            None => both(route::serve(&mut self.state, ask)),
        }
    }

    /// The headers of every answer, and 304 for what the caller has already.
    fn dress(&mut self, answer: &mut Answer, request_id: &str, headers: &HeaderMap, method: &str) {
        if method == "GET" && answer.status == 200 {
            let Content::Json(body) = &answer.body else { return };
            let digest = Sha256::digest(body.to_string());
            let tag = format!("W/\"{}\"", digest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}")));
            let plain = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
            let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
            if known.split(',').any(|known| plain(known) == plain(&tag)) {
                (answer.status, answer.body) = (304, Content::None);
                let rate = &mut self.state.rate;
                rate.remaining = (rate.remaining + 1).min(rate.limit);
            }
            answer.headers.push(("etag".into(), tag));
            answer.headers.push(("cache-control".into(), "private, max-age=60, s-maxage=60".into()));
        }
        let always = [
            ("server", "github.com".to_owned()),
            ("x-github-request-id", request_id.to_owned()),
            ("x-github-media-type", "github.v3; format=json".to_owned()),
            ("x-github-api-version-selected", "2022-11-28".to_owned()),
        ];
        for (name, value) in always.into_iter().chain(self.state.rate.headers()) {
            answer.headers.push((name.into(), value));
        }
    }

    fn request_id(&self) -> String {
        let digest = Sha256::digest(format!("request {}", self.calls.0.len()));
        let hex = digest.iter().take(10).fold(String::new(), |text, byte| format!("{text}{byte:02X}"));
        format!("{}:{}:{}", &hex[..4], &hex[4..10], &hex[10..])
    }

    /// The bench's own pages, which no fault and no limit touches.
    fn inside(&self, method: &str, path: &str) -> Option<Answer> {
        match (method, path) {
            ("GET", "/_bench/state") => Some(Answer::ok(json!(self.state))),
            ("GET", "/_bench/calls") => Some(Answer::ok(json!(self.calls))),
            _ => None,
        }
    }
}

impl State {
    /// The full name, in lower case, of the repository that a path names by name or by id.
    fn named(&self, segments: &[String]) -> String {
        match segments {
            [first, owner, name, ..] if first == "repos" => format!("{owner}/{name}").to_lowercase(),
            [first, id, ..] if first == "repositories" => {
                let found = self.repos.iter().find(|(_, repo)| repo.id.to_string() == *id);
                found.map(|(name, _)| name.clone()).unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    fn leaks(&self, places: &[&[u8]]) -> bool {
        let holds = |place: &[u8], token: &str| place.windows(token.len().max(1)).any(|part| part == token.as_bytes());
        // A short one stands in many a text by chance.
        let tokens = || self.tokens.keys().chain([&self.oidc.request_token]).filter(|token| token.len() >= 8);
        places.iter().any(|place| tokens().any(|token| holds(place, token)))
    }
}

fn read_document(ask: &Ask) -> Result<Document, String> {
    let body = ask.json().map_err(|_| "Problems parsing JSON".to_owned())?;
    let text =
        body.get("query").and_then(Value::as_str).ok_or("A query attribute must be specified and must be a string.")?;
    let none = Map::new();
    document::parse(text, body.get("variables").and_then(Value::as_object).unwrap_or(&none))
}

/// The token of an `Authorization` header in each form that GitHub takes.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (kind, rest) = value.split_once(' ').unwrap_or((value, ""));
    match kind.to_ascii_lowercase().as_str() {
        "bearer" | "token" => Some(rest.trim().to_owned()),
        "basic" => {
            let pair = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
            pair.split_once(':').map(|(_, password)| password.to_owned())
        }
        _ => Some(String::new()),
    }
}

fn decode(segment: &str) -> String {
    percent_encoding::percent_decode_str(segment).decode_utf8_lossy().into_owned()
}
