//! The identity token of a job, minted by GitHub for one audience.

use crate::Secret;
use crate::transport::{self, Carrier, encoded};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Request;
use secrecy::ExposeSecret;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The audience that AWS takes.
pub const AWS: &str = "sts.amazonaws.com";
const URL: &str = "ACTIONS_ID_TOKEN_REQUEST_URL";
const TOKEN: &str = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";
const TRIES: u32 = 5;
const LIMIT: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("this job cannot mint an identity token")]
    None,
    #[error("GitHub mints no identity token: {0}")]
    Refused(String),
}

/// Where tokens are asked for.
pub struct Minter {
    url: String,
    bearer: Secret,
}

/// A token, and what it says of itself.
pub struct IdToken {
    pub token: Secret,
    pub claims: Claims,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Claims {
    pub sub: String,
    pub iat: i64,
    pub exp: i64,
    pub repository_id: String,
    pub repository_owner_id: String,
    pub job_workflow_ref: String,
}

impl Minter {
    /// None where the job has no `id-token: write`, and under runners that mint none.
    pub fn of(environment: &BTreeMap<String, String>) -> Option<Minter> {
        let get = |name: &str| environment.get(name).filter(|value| !value.is_empty()).cloned();
        Some(Minter { url: get(URL)?, bearer: get(TOKEN)?.into() })
    }

    /// A new token; never kept, since it lives minutes.
    pub async fn mint(&self, audience: &str) -> Result<IdToken, IdentityError> {
        let mut wait = Duration::from_secs(1);
        let mut last = String::new();
        for attempt in 0..TRIES {
            if attempt > 0 {
                tokio::time::sleep(wait).await;
                wait *= 2;
            }
            match self.once(audience).await {
                Ok(token) => return Ok(token),
                Err(Outcome::Refused(why)) => return Err(IdentityError::Refused(why)),
                Err(Outcome::Trouble(why)) => last = why,
            }
        }
        Err(IdentityError::Refused(last))
    }

    async fn once(&self, audience: &str) -> Result<IdToken, Outcome> {
        let refused = |why: &str| Outcome::Refused(why.to_owned());
        let (origin, path) = transport::split(&self.url).ok_or_else(|| refused("its address is none"))?;
        let mark = if path.contains('?') { '&' } else { '?' };
        let carrier = Carrier::new(&origin, &self.bearer, LIMIT).map_err(Outcome::Trouble)?;
        let request =
            Request::get(format!("{path}{mark}audience={}", encoded(audience))).header("accept", "application/json");
        let (parts, body) = carrier.exchange(request, String::new()).await.map_err(Outcome::Trouble)?;
        let status = parts.status;
        if status.is_server_error() || status.as_u16() == 429 {
            return Err(Outcome::Trouble(format!("status {}", status.as_u16())));
        }
        if !status.is_success() {
            return Err(Outcome::Refused(format!("status {}", status.as_u16())));
        }
        let minted: Minted = serde_json::from_slice(&body).map_err(|_| refused("its answer holds no token"))?;
        let claims = claims(&minted.value).ok_or_else(|| refused("its answer is no token"))?;
        Ok(IdToken { token: minted.value.into(), claims })
    }
}

#[derive(Deserialize)]
struct Minted {
    value: String,
}

enum Outcome {
    Refused(String),
    Trouble(String),
}

impl IdToken {
    /// The text, for the file that SDKs read.
    pub fn expose(&self) -> &str {
        self.token.expose_secret()
    }
}

/// What a token says; not verified, since it is shown to the reader of our own job alone.
fn claims(token: &str) -> Option<Claims> {
    let body = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_without_the_right_mints_nothing() {
        assert!(Minter::of(&BTreeMap::new()).is_none());
        let half = BTreeMap::from([(URL.to_owned(), "https://h/x".to_owned())]);
        assert!(Minter::of(&half).is_none());
    }

    #[test]
    fn a_token_tells_its_subject() {
        let body = URL_SAFE_NO_PAD.encode(r#"{"sub": "repo:a/b:pull_request", "iat": 1, "exp": 301, "aud": "x"}"#);
        assert_eq!(claims(&format!("h.{body}.s")).unwrap().sub, "repo:a/b:pull_request");
        assert_eq!(claims("x.y"), None);
    }
}
