//! A request as the operations see it, and an answer before it is bytes.

use crate::access::Caller;
use serde_json::{Map, Value, json};

/// What an operation gives back: its answer, or GitHub's refusal.
pub(crate) type Reply = Result<Answer, Answer>;

/// A request, without the prefix of Enterprise Server.
pub(crate) struct Ask {
    pub method: String,
    /// Percent-encoded, as it came.
    pub path: String,
    /// The parts of the path, decoded.
    pub segments: Vec<String>,
    pub query: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub caller: Caller,
    /// The full name in lower case of the repository that the path names, by name or by id.
    pub repo: String,
    /// Where the API begins: the address that URLs in answers are made with.
    pub base: String,
}

impl Ask {
    /// The path below the repository.
    pub fn rest(&self) -> Vec<&str> {
        let skip = if self.segments.first().is_some_and(|first| first == "repositories") { 2 } else { 3 };
        self.segments.iter().skip(skip).map(String::as_str).collect()
    }

    /// The same request by the repository's id: the form that GitHub uses in `Link` and redirects.
    pub fn by_id(&self, repo: u64) -> String {
        let skip = if self.path.starts_with("/repositories/") { 3 } else { 4 };
        let rest: Vec<&str> = self.path.split('/').skip(skip).collect();
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.query).finish();
        let mark = if query.is_empty() { "" } else { "?" };
        let slash = if rest.is_empty() { "" } else { "/" };
        format!("{}/repositories/{repo}{slash}{}{mark}{query}", self.base, rest.join("/"))
    }

    /// The filter `state`: open ones alone, closed ones alone, or all.
    pub(crate) fn open_only(&self) -> Option<bool> {
        match self.param("state").unwrap_or("open") {
            "open" => Some(true),
            "closed" => Some(false),
            _ => None,
        }
    }

    pub fn param(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body, which must be a JSON object.
    pub fn json(&self) -> Result<Map<String, Value>, Answer> {
        if self.body.is_empty() {
            return Ok(Map::new());
        }
        match serde_json::from_slice(&self.body) {
            Ok(Value::Object(map)) => Ok(map),
            Ok(_) => Err(Answer::error(400, "Body should be a JSON object")),
            Err(_) => Err(Answer::error(400, "Problems parsing JSON")),
        }
    }

    /// One page of a list, with `Link` to its neighbours. `wrap` makes the body of the page's items.
    pub fn page<T>(
        &self,
        repo: u64,
        items: &[T],
        json: impl FnMut(&T) -> Value,
        wrap: impl FnOnce(Vec<Value>) -> Value,
    ) -> Answer {
        let number = |name, default: usize| self.param(name).and_then(|text| text.parse().ok()).unwrap_or(default);
        let size = number("per_page", 30).clamp(1, 100);
        let page = number("page", 1).max(1);
        let last = items.len().div_ceil(size).max(1);
        let shown = items.iter().skip(size.saturating_mul(page - 1)).take(size);
        let answer = Answer::ok(wrap(shown.map(json).collect()));
        let link = |page: usize, rel: &str| {
            let mut query: Vec<(String, String)> = self.query.clone();
            query.retain(|(name, _)| name != "page");
            query.push(("page".into(), page.to_string()));
            let there = Ask { query, ..self.bare() };
            format!("<{}>; rel=\"{rel}\"", there.by_id(repo))
        };
        let mut links = Vec::new();
        if page > 1 {
            links.push(link(page.min(last + 1) - 1, "prev"));
        }
        if page < last {
            links.extend([link(page + 1, "next"), link(last, "last")]);
        }
        if page > 1 {
            links.push(link(1, "first"));
        }
        if links.is_empty() { answer } else { answer.header("link", &links.join(", ")) }
    }

    /// The same place, with nothing asked.
    pub fn bare(&self) -> Ask {
        Ask {
            method: String::new(),
            path: self.path.clone(),
            segments: Vec::new(),
            query: Vec::new(),
            body: Vec::new(),
            caller: Caller::Nobody,
            repo: String::new(),
            base: self.base.clone(),
        }
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Content,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    None,
    Json(Value),
    Text(&'static str, String),
}

impl Answer {
    pub fn new(status: u16, body: Content) -> Answer {
        Answer { status, headers: Vec::new(), body }
    }

    pub fn ok(body: Value) -> Answer {
        Answer::new(200, Content::Json(body))
    }

    pub fn created(body: Value) -> Answer {
        let place = body["url"].as_str().unwrap_or_default().to_owned();
        Answer::new(201, Content::Json(body)).header("location", &place)
    }

    pub fn no_content() -> Answer {
        Answer::new(204, Content::None)
    }

    pub fn error(status: u16, message: &str) -> Answer {
        let documentation = "https://docs.github.com/rest";
        let body = json!({ "message": message, "documentation_url": documentation, "status": status.to_string() });
        Answer::new(status, Content::Json(body))
    }

    pub fn not_found() -> Answer {
        Answer::error(404, "Not Found")
    }

    /// 422 about fields that do not fit.
    pub fn validation(errors: &[Value]) -> Answer {
        let mut answer = Answer::error(422, "Validation Failed");
        if let Content::Json(body) = &mut answer.body {
            body["errors"] = json!(errors);
        }
        answer
    }

    /// 422 about a request whose shape does not fit.
    pub fn invalid(what: &str) -> Answer {
        Answer::error(422, &format!("Invalid request.\n\n{what}"))
    }

    pub fn redirect(status: u16, to: &str) -> Answer {
        let message = if status == 301 { "Moved Permanently" } else { "Temporary Redirect" };
        let mut answer = Answer::error(status, message);
        if let Content::Json(body) = &mut answer.body {
            body["url"] = json!(to);
        }
        answer.header("location", to)
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Answer {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// One entry of `errors` in a 422.
pub(crate) fn flaw(resource: &str, field: &str, code: &str, message: &str) -> Value {
    json!({ "resource": resource, "field": field, "code": code, "message": message })
}

/// A string of a request's body; a value of another type is refused.
pub(crate) fn text<'a>(body: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Answer> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(Answer::invalid(&format!("For 'properties/{name}', {other} is not a string."))),
    }
}

/// A string of a request's body that must be there.
pub(crate) fn required<'a>(body: &'a Map<String, Value>, name: &str) -> Result<&'a str, Answer> {
    text(body, name)?.ok_or_else(|| Answer::invalid(&format!("\"{name}\" wasn't supplied.")))
}
