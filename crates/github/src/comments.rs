//! Comments of a pull request, and which of them is ours: by the hidden marker *and* the author.

use crate::marker::Marker;
use crate::transport::encoded;
use crate::{ApiError, Client, Repo};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// No conversation that people still read has more.
const MOST: usize = 5000;

#[derive(Clone, Debug, Deserialize)]
pub struct Comment {
    pub id: u64,
    pub node_id: String,
    #[serde(default)]
    pub body: Option<String>,
    #[serde(default)]
    pub user: Option<Author>,
    pub html_url: String,
    pub created_at: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Author {
    pub login: String,
}

impl Comment {
    pub fn marker(&self) -> Option<Marker> {
        Marker::read(self.body.as_deref()?)
    }

    /// Whether this login wrote it.
    pub fn is_by(&self, login: &str) -> bool {
        self.user.as_ref().is_some_and(|user| user.login.eq_ignore_ascii_case(login))
    }
}

/// Our comments for a key, oldest first.
pub fn ours<'a>(comments: &'a [Comment], login: &str, key: &str) -> Vec<&'a Comment> {
    let mut ours: Vec<&Comment> = comments
        .iter()
        .filter(|comment| comment.is_by(login) && comment.marker().is_some_and(|marker| marker.key == key))
        .collect();
    ours.sort_by_key(|comment| comment.id);
    ours
}

/// Whether any comment carries a marker for the key, whoever wrote it: only then is it worth asking who we are.
pub fn any_marked(comments: &[Comment], key: &str) -> bool {
    comments.iter().any(|comment| comment.marker().is_some_and(|marker| marker.key == key))
}

/// The comments of one conversation.
#[derive(Clone, Debug)]
pub struct Conversation {
    pub client: Arc<Client>,
    pub repo: Repo,
    pub number: u64,
}

impl Conversation {
    pub async fn list(&self) -> Result<Vec<Comment>, ApiError> {
        let path = self.repo.path(&format!("/issues/{}/comments", self.number));
        self.client.pages(&path, None, MOST).await
    }

    /// Those made or edited since a time as the API writes it.
    pub async fn since(&self, time: &str) -> Result<Vec<Comment>, ApiError> {
        let path = self.repo.path(&format!("/issues/{}/comments?since={}", self.number, encoded(time)));
        self.client.pages(&path, None, MOST).await
    }

    pub async fn get(&self, id: u64) -> Result<Comment, ApiError> {
        self.client.get(&self.repo.path(&format!("/issues/comments/{id}"))).await
    }

    pub async fn create(&self, body: &str) -> Result<Comment, ApiError> {
        let path = self.repo.path(&format!("/issues/{}/comments", self.number));
        self.client.post(&path, &json!({ "body": body })).await
    }

    pub async fn update(&self, id: u64, body: &str) -> Result<Comment, ApiError> {
        self.client.patch(&self.repo.path(&format!("/issues/comments/{id}")), &json!({ "body": body })).await
    }

    pub async fn delete(&self, id: u64) -> Result<(), ApiError> {
        self.client.delete(&self.repo.path(&format!("/issues/comments/{id}"))).await
    }

    /// Folds a comment as outdated; folded twice is folded.
    pub async fn minimise(&self, comment: &Comment) -> Result<(), ApiError> {
        const MINIMISE: &str = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized } } }";
        self.client.change(MINIMISE, &json!({ "id": comment.node_id })).await.map(|_: serde::de::IgnoredAny| ())
    }
}

/// The login that the token writes under.
pub async fn login(client: &Client) -> Result<String, ApiError> {
    #[derive(Deserialize)]
    struct Data {
        viewer: Author,
    }
    // An app's token may not ask for `/user`.
    client.ask("query { viewer { login } }", &json!({})).await.map(|data: Data| data.viewer.login)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marker::State;

    fn comment(id: u64, login: &str, key: &str) -> Comment {
        let marker =
            Marker { key: key.into(), head: "h".into(), run: 1, attempt: 1, state: State::Result, tree: String::new() };
        Comment {
            id,
            node_id: String::new(),
            body: Some(marker.line() + "text"),
            user: Some(Author { login: login.into() }),
            html_url: String::new(),
            created_at: String::new(),
        }
    }

    #[test]
    fn a_comment_is_ours_by_marker_and_author() {
        let all = [
            comment(9, "github-actions[bot]", "k"),
            comment(3, "mallory", "k"),
            comment(4, "github-actions[bot]", "other"),
            comment(5, "github-actions[bot]", "k"),
            Comment { user: None, ..comment(1, "", "k") },
        ];
        let ids: Vec<u64> = ours(&all, "github-actions[bot]", "k").iter().map(|c| c.id).collect();
        assert_eq!(ids, [5, 9], "the oldest first, no stranger's, no other tree's");
    }
}
