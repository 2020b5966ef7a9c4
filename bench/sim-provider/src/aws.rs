//! The emulator's wire: EC2 and STS over the Query protocol, EFS over REST JSON, S3 over REST XML, plain HTTP.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value as Json;
use thiserror::Error;

use crate::tags::Tags;

/// A call that did not succeed, in the words of the real provider's diagnostics.
#[derive(Debug, Error)]
#[error("operation error {operation}, https response error StatusCode: {status}, api error {code}: {message}")]
pub struct AwsError {
    pub operation: String,
    pub status: u16,
    pub code: String,
    pub message: String,
}

impl AwsError {
    pub fn new(operation: &str, code: &str, message: impl Into<String>) -> Self {
        Self { operation: operation.to_owned(), status: 400, code: code.to_owned(), message: message.into() }
    }

    /// Whether the object asked for is not there.
    pub fn is_absent(&self) -> bool {
        self.status == 404 || self.code.contains("NotFound") || self.code.starts_with("NoSuch")
    }

    fn is_throttling(&self) -> bool {
        matches!(
            self.code.as_str(),
            "RequestLimitExceeded" | "Throttling" | "ThrottlingException" | "SlowDown" | "ServiceUnavailable"
        )
    }
}

pub type Answer<T> = Result<T, AwsError>;

/// Turns "is not there" into `None`.
pub fn found<T>(answer: Answer<T>) -> Answer<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Parameters of a Query call.
#[derive(Default)]
pub struct Params(Vec<(String, String)>);

impl Params {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with(key: &str, value: impl Into<String>) -> Self {
        let mut params = Self::new();
        params.add(key, value);
        params
    }

    pub fn add(&mut self, key: impl Into<String>, value: impl Into<String>) -> &mut Self {
        self.0.push((key.into(), value.into()));
        self
    }

    fn form(&self, action: &str, version: &str) -> String {
        let mut form = format!("Action={action}&Version={version}");
        for (key, value) in &self.0 {
            let _ = write!(form, "&{}={}", encode(key, ""), encode(value, ""));
        }
        form
    }
}

/// An XML element, owned.
#[derive(Debug, Default)]
pub struct Element {
    name: String,
    text: String,
    children: Vec<Element>,
}

impl Element {
    fn parse(xml: &str) -> Option<Self> {
        fn convert(node: roxmltree::Node) -> Element {
            Element {
                name: node.tag_name().name().to_owned(),
                text: node.text().unwrap_or_default().to_owned(),
                children: node.children().filter(roxmltree::Node::is_element).map(convert).collect(),
            }
        }
        roxmltree::Document::parse(xml).ok().map(|document| convert(document.root_element()))
    }

    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text at a path of names; none when the path ends early or the text is empty.
    pub fn text(&self, path: &str) -> Option<String> {
        let mut at = self;
        for name in path.split('/') {
            at = at.child(name)?;
        }
        (!at.text.is_empty()).then(|| at.text.clone())
    }

    pub fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    /// The children of that name; with a path, those of the element the path leads to.
    pub fn all<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a Element> {
        let mut at = Some(self);
        let mut names: Vec<&str> = path.split('/').collect();
        let last = names.pop().unwrap_or_default().to_owned();
        for name in names {
            at = at.and_then(|element| element.child(name));
        }
        at.into_iter().flat_map(|element| &element.children).filter(move |child| child.name == last)
    }

    /// Takes the first element at a path out of the tree.
    pub fn take_first(&mut self, path: &str) -> Option<Element> {
        let mut at = self;
        let (parents, last) = path.rsplit_once('/').unwrap_or(("", path));
        for name in parents.split('/').filter(|name| !name.is_empty()) {
            at = at.children.iter_mut().find(|child| child.name == name)?;
        }
        let index = at.children.iter().position(|child| child.name == last)?;
        Some(at.children.swap_remove(index))
    }

    /// The tags in an EC2 `tagSet`.
    pub fn tags(&self) -> Tags {
        self.all("tagSet/item")
            .filter_map(|tag| Some((tag.text("key")?, tag.text("value").unwrap_or_default())))
            .collect()
    }

    pub fn own_text(&self) -> &str {
        &self.text
    }

    /// The first element of that name, at any depth.
    fn find(&self, name: &str) -> Option<&Element> {
        if self.name == name { Some(self) } else { self.children.iter().find_map(|child| child.find(name)) }
    }
}

/// The answer to an S3 call.
pub struct Reply {
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn xml(&self) -> Element {
        Element::parse(&self.body).unwrap_or_default()
    }
}

/// An S3 call on a bucket, or on an object of it.
pub struct Call<'a> {
    operation: &'a str,
    method: &'a str,
    bucket: &'a str,
    key: &'a str,
    query: &'a str,
    headers: Vec<(String, String)>,
    body: &'a str,
}

impl<'a> Call<'a> {
    pub fn new(operation: &'a str, method: &'a str, bucket: &'a str) -> Self {
        Self { operation, method, bucket, key: "", query: "", headers: Vec::new(), body: "" }
    }

    pub fn key(mut self, key: &'a str) -> Self {
        self.key = key;
        self
    }

    /// A sub-resource such as `?tagging`.
    pub fn query(mut self, query: &'a str) -> Self {
        self.query = query;
        self
    }

    pub fn headers(mut self, headers: Vec<(String, String)>) -> Self {
        self.headers = headers;
        self
    }

    pub fn body(mut self, body: &'a str) -> Self {
        self.body = body;
        self
    }
}

struct Request<'a> {
    service: &'a str,
    operation: String,
    method: &'a str,
    target: String,
    content_type: Option<&'a str>,
    headers: Vec<(String, String)>,
    body: String,
}

/// A client of the emulator for one region.
#[derive(Clone, Debug)]
pub struct Aws {
    authority: String,
    access_key: String,
    pub region: String,
    pub account: String,
    pub default_tags: Tags,
}

impl Aws {
    /// `endpoint` is `http://host:port`: the emulator is on this machine, so nothing else is spoken.
    pub fn new(endpoint: &str, region: &str, access_key: &str) -> Result<Self, String> {
        let authority = endpoint
            .strip_prefix("http://")
            .ok_or_else(|| format!("the endpoint {endpoint:?} is not an http:// address of an emulator"))?
            .trim_end_matches('/');
        Ok(Self {
            authority: authority.to_owned(),
            access_key: access_key.to_owned(),
            region: region.to_owned(),
            account: String::new(),
            default_tags: Tags::new(),
        })
    }

    pub fn in_region(&self, region: Option<&str>) -> Self {
        let mut other = self.clone();
        if let Some(region) = region {
            region.clone_into(&mut other.region);
        }
        other
    }

    pub fn arn(&self, service: &str, resource: &str) -> String {
        format!("arn:aws:{service}:{}:{}:{resource}", self.region, self.account)
    }

    pub fn ec2(&self, action: &str, params: &Params) -> Answer<Element> {
        self.query("ec2", "EC2", action, &params.form(action, "2016-11-15"))
    }

    pub fn sts(&self, action: &str) -> Answer<Element> {
        self.query("sts", "STS", action, &Params::new().form(action, "2011-06-15"))
    }

    fn query(&self, service: &str, title: &str, action: &str, form: &str) -> Answer<Element> {
        let reply = self.send(&Request {
            service,
            operation: format!("{title}: {action}"),
            method: "POST",
            target: "/".to_owned(),
            content_type: Some("application/x-www-form-urlencoded; charset=utf-8"),
            headers: Vec::new(),
            body: form.to_owned(),
        })?;
        Ok(reply.xml())
    }

    /// An EFS call; `path` begins behind the API's version.
    pub fn efs(&self, operation: &str, method: &str, path: &str, body: Option<&Json>) -> Answer<Json> {
        let reply = self.send(&Request {
            service: "elasticfilesystem",
            operation: format!("EFS: {operation}"),
            method,
            target: format!("/2015-02-01/{path}"),
            content_type: Some("application/json"),
            headers: Vec::new(),
            body: body.map(Json::to_string).unwrap_or_default(),
        })?;
        Ok(serde_json::from_str(&reply.body).unwrap_or(Json::Null))
    }

    pub fn s3(&self, call: &Call) -> Answer<Reply> {
        let slash = if call.key.is_empty() { "" } else { "/" };
        self.send(&Request {
            service: "s3",
            operation: format!("S3: {}", call.operation),
            method: call.method,
            target: format!("/{}{slash}{}{}", call.bucket, encode(call.key, "/"), call.query),
            content_type: None,
            headers: call.headers.clone(),
            body: call.body.to_owned(),
        })
    }

    fn send(&self, request: &Request) -> Answer<Reply> {
        let mut pause = Duration::from_millis(100);
        for _ in 0..4 {
            match self.send_once(request) {
                Err(error) if error.is_throttling() => std::thread::sleep(pause),
                other => return other,
            }
            pause *= 2;
        }
        self.send_once(request)
    }

    fn send_once(&self, request: &Request) -> Answer<Reply> {
        let failed = |message: String| AwsError {
            operation: request.operation.clone(),
            status: 0,
            code: "RequestError".to_owned(),
            message: format!("{}: {message}", self.authority),
        };
        let raw = self.exchange(request).map_err(|error| failed(error.to_string()))?;
        let (head, body) = raw.split_once("\r\n\r\n").ok_or_else(|| failed("the answer has no head".to_owned()))?;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let status: u16 = status.ok_or_else(|| failed("the answer has no status".to_owned()))?;
        log(&format!("{} {} {} -> {status}", request.operation, request.target, request.body));
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
            .collect();
        let reply = Reply { headers, body: body.to_owned() };
        if (200..300).contains(&status) { Ok(reply) } else { Err(refusal(request, status, &reply)) }
    }

    fn exchange(&self, request: &Request) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&self.authority)?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        // The emulator checks no signature, but reads service, region and account from the credential's scope.
        let mut head = format!(
            "{method} {target} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\nX-Amz-Date: 20260101T000000Z\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential={key}/20260101/{region}/{service}/aws4_request, \
             SignedHeaders=host;x-amz-date, Signature=0\r\nContent-Length: {length}\r\n",
            method = request.method,
            target = request.target,
            host = self.authority,
            key = self.access_key,
            region = self.region,
            service = request.service,
            length = request.body.len(),
        );
        if let Some(content_type) = request.content_type {
            let _ = write!(head, "Content-Type: {content_type}\r\n");
        }
        for (key, value) in &request.headers {
            let _ = write!(head, "{key}: {value}\r\n");
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes())?;
        stream.write_all(request.body.as_bytes())?;
        let mut raw = Vec::new();
        stream.read_to_end(&mut raw)?;
        Ok(String::from_utf8_lossy(&raw).into_owned())
    }
}

fn refusal(request: &Request, status: u16, reply: &Reply) -> AwsError {
    let (code, message) = if let Ok(json) = serde_json::from_str::<Json>(&reply.body) {
        let text = |key: &str| json[key].as_str().map(ToOwned::to_owned);
        let kind = reply.header("x-amzn-errortype").map(ToOwned::to_owned);
        (
            text("ErrorCode").or(kind).or_else(|| text("__type")).unwrap_or_default(),
            text("Message").or_else(|| text("message")).unwrap_or_default(),
        )
    } else {
        let xml = reply.xml();
        let text = |name: &str| xml.find(name).map(|element| element.own_text().to_owned()).unwrap_or_default();
        (text("Code"), text("Message"))
    };
    let code = if code.is_empty() {
        match status {
            404 => "NotFound".to_owned(),
            503 => "ServiceUnavailable".to_owned(),
            _ => "Unknown".to_owned(),
        }
    } else {
        code
    };
    AwsError { operation: request.operation.clone(), status, code, message }
}

/// Percent-encodes all but unreserved characters and those in `also`.
pub fn encode(text: &str, also: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let character = char::from(byte);
        if byte.is_ascii_alphanumeric() || "-_.~".contains(character) || also.contains(character) {
            encoded.push(character);
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

pub fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// One line per call in the file that `SIM_LOG` names.
fn log(line: &str) {
    let Ok(path) = std::env::var("SIM_LOG") else { return };
    if let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(path) {
        let _ = writeln!(file, "{}", line.replace('\n', " "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_read_from_xml_and_from_json() {
        let request = |operation: &str| Request {
            service: "ec2",
            operation: operation.to_owned(),
            method: "POST",
            target: "/".to_owned(),
            content_type: None,
            headers: Vec::new(),
            body: String::new(),
        };
        let xml = "<Response><Errors><Error><Code>InvalidVolume.NotFound</Code><Message>gone</Message></Error></Errors></Response>";
        let error = refusal(&request("EC2: DescribeVolumes"), 400, &Reply { headers: vec![], body: xml.to_owned() });
        assert!(error.is_absent());
        assert_eq!(error.message, "gone");
        let json = r#"{"ErrorCode":"FileSystemInUse","Message":"has mount targets"}"#;
        let error = refusal(&request("EFS: DeleteFileSystem"), 409, &Reply { headers: vec![], body: json.to_owned() });
        assert_eq!(error.code, "FileSystemInUse");
        assert!(!error.is_absent());
    }

    #[test]
    fn elements_are_found_by_path() {
        let xml = "<R><set><item><id>a</id></item><item><id>b</id><n/></item></set></R>";
        let root = Element::parse(xml).unwrap_or_default();
        let ids: Vec<_> = root.all("set/item").filter_map(|item| item.text("id")).collect();
        assert_eq!(ids, ["a", "b"]);
        assert_eq!(root.text("set/item/n"), None);
    }

    #[test]
    fn an_object_key_keeps_its_slashes() {
        assert_eq!(encode("crew/a b", "/"), "crew/a%20b");
    }
}
