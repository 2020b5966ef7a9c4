//! One HTTP exchange, through octocrab as the carrier alone: its own repeating and redirecting would do a write twice or carry it elsewhere.

use crate::Secret;
use bytes::Bytes;
use http::response::Parts;
use http::{Request, Uri};
use http_body_util::{BodyExt, Limited};
use octocrab::Octocrab;
use std::time::Duration;

/// The greatest answer that is read.
const ANSWER: usize = 32 << 20;

/// The one host that a token goes to, and how long it may take to answer.
pub struct Carrier {
    octocrab: Octocrab,
    limit: Duration,
}

impl Carrier {
    pub fn new(origin: &str, token: &Secret, limit: Duration) -> Result<Carrier, String> {
        let failed = |error: octocrab::Error| cause(&error);
        let octocrab = Octocrab::builder()
            .base_uri(origin)
            .map_err(failed)?
            .personal_token(token.clone())
            .set_connect_timeout(Some(limit))
            .set_read_timeout(Some(limit))
            .build()
            .map_err(failed)?;
        Ok(Carrier { octocrab, limit })
    }

    /// Sends a request, whose address is a path alone, and reads the whole answer. `Err`: there was none.
    pub async fn exchange(&self, request: http::request::Builder, body: String) -> Result<(Parts, Bytes), String> {
        let request: Request<String> = request
            .header("user-agent", concat!("csis/", env!("CARGO_PKG_VERSION")))
            .body(body)
            .map_err(|error| error.to_string())?;
        let whole = async {
            let response = self.octocrab.execute(request).await.map_err(|error| cause(&error))?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, ANSWER).collect().await.map_err(|error| error.to_string())?;
            Ok((parts, body.to_bytes()))
        };
        tokio::time::timeout(self.limit, whole)
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {} s", self.limit.as_secs())))
    }
}

/// The scheme and host of an address, and its path with the query.
pub fn split(url: &str) -> Option<(String, String)> {
    let uri: Uri = url.parse().ok()?;
    let origin = format!("{}://{}", uri.scheme_str()?, uri.authority()?);
    Some((origin, uri.path_and_query().map_or("/", |path| path.as_str()).to_owned()))
}

/// A value as it stands in a query.
pub fn encoded(value: &str) -> String {
    let one = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    value.bytes().map(one).collect()
}

/// The innermost reason: the outer ones say `Service Error`.
fn cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_ends_its_own_place_in_a_query() {
        assert_eq!(encoded("csis plan (a/b)&x=1"), "csis%20plan%20%28a%2Fb%29%26x%3D1");
        assert_eq!(encoded("2026-01-01T00:00:00Z"), "2026-01-01T00%3A00%3A00Z");
        assert_eq!(encoded("ö"), "%C3%B6");
    }
}
