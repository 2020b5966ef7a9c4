//! People, apps and names as GitHub writes them in answers.

use crate::access::App;
use crate::http::Ask;
use crate::model::Repo;
use crate::state::State;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The id of an object in GraphQL: a prefix for its type, then its id.
pub(crate) fn node_id(prefix: &str, id: u64) -> String {
    format!("{prefix}_kwDO{}", URL_SAFE_NO_PAD.encode(id.to_be_bytes()))
}

/// Where things are: the API as it was called, and the pages for people.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub api: &'a str,
    pub web: &'a str,
    pub state: &'a State,
}

impl<'a> Places<'a> {
    pub fn new(state: &'a State, ask: &'a Ask) -> Places<'a> {
        Places { api: &ask.base, web: &state.server_url, state }
    }

    pub fn repo_api(&self, repo: &Repo) -> String {
        format!("{}/repos/{}", self.api, repo.full_name())
    }

    pub fn repo_web(&self, repo: &Repo) -> String {
        format!("{}/{}", self.web, repo.full_name())
    }

    /// A user as in every answer. Who is not known is `ghost`, as on GitHub.
    pub fn user(&self, login: &str) -> Value {
        let known = self.state.accounts.get(&login.to_lowercase());
        let (login, id, kind) = known.map_or(("ghost", 10137, "User"), |it| (&it.login, it.id, &it.kind));
        let plain = login.trim_end_matches("[bot]");
        let html = if kind == "Bot" { format!("{}/apps/{plain}", self.web) } else { format!("{}/{login}", self.web) };
        let url = format!("{}/users/{}", self.api, login.replace('[', "%5B").replace(']', "%5D"));
        json!({
            "login": login,
            "id": id,
            "node_id": node_id(if kind == "Bot" { "BOT" } else { "U" }, id),
            "avatar_url": format!("{}/avatars/u/{id}", self.web),
            "gravatar_id": "",
            "url": url,
            "html_url": html,
            "followers_url": format!("{url}/followers"),
            "following_url": format!("{url}/following{{/other_user}}"),
            "gists_url": format!("{url}/gists{{/gist_id}}"),
            "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
            "subscriptions_url": format!("{url}/subscriptions"),
            "organizations_url": format!("{url}/orgs"),
            "repos_url": format!("{url}/repos"),
            "events_url": format!("{url}/events{{/privacy}}"),
            "received_events_url": format!("{url}/received_events"),
            "type": kind,
            "user_view_type": "public",
            "site_admin": false,
        })
    }

    /// An app, as in `performed_via_github_app` and check runs.
    pub fn app(&self, app: &App) -> Value {
        let granted: BTreeMap<&str, &str> = [("checks", "write"), ("contents", "read"), ("issues", "write")].into();
        json!({
            "id": app.id,
            "slug": app.slug,
            "client_id": format!("Iv1.{:016x}", app.id),
            "node_id": node_id("A", app.id),
            "owner": self.user("github"),
            "name": app.slug,
            "description": "",
            "external_url": format!("https://apps.example/{}", app.slug),
            "html_url": format!("{}/apps/{}", self.web, app.slug),
            "created_at": "2018-07-30T09:30:17Z",
            "updated_at": "2024-04-10T20:33:16Z",
            "permissions": granted,
            "events": ["check_run", "pull_request"],
        })
    }
}
