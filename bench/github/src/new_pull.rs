//! A pull request before it is opened.

use crate::model::ChangedFile;

/// A pull request to be opened with [`crate::State::add_pull`].
#[must_use]
#[derive(Clone, Debug)]
pub struct NewPull {
    pub(crate) branch: String,
    pub(crate) author: String,
    pub(crate) title: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) base: Option<String>,
    pub(crate) fork: Option<String>,
    pub(crate) head_sha: Option<String>,
    pub(crate) number: Option<u64>,
    pub(crate) draft: bool,
    pub(crate) labels: Vec<String>,
    pub(crate) files: Vec<ChangedFile>,
}

impl NewPull {
    /// From a branch of the same repository into the default branch, by `octocat`.
    pub fn from(branch: &str) -> NewPull {
        NewPull {
            branch: branch.into(),
            author: "octocat".into(),
            title: None,
            body: None,
            base: None,
            fork: None,
            head_sha: None,
            number: None,
            draft: false,
            labels: Vec::new(),
            files: Vec::new(),
        }
    }

    pub fn by(mut self, author: &str) -> NewPull {
        self.author = author.into();
        self
    }

    pub fn title(mut self, title: &str) -> NewPull {
        self.title = Some(title.into());
        self
    }

    pub fn body(mut self, body: &str) -> NewPull {
        self.body = Some(body.into());
        self
    }

    /// Into another branch, which exists.
    pub fn into(mut self, base: &str) -> NewPull {
        self.base = Some(base.into());
        self
    }

    /// From a fork, `OWNER/NAME`; it is made when it does not exist.
    pub fn fork(mut self, full_name: &str) -> NewPull {
        self.fork = Some(full_name.into());
        self
    }

    /// The commit of the head; made up without it.
    pub fn at(mut self, head_sha: &str) -> NewPull {
        self.head_sha = Some(head_sha.into());
        self
    }

    /// The number; the next free one without it.
    pub fn number(mut self, number: u64) -> NewPull {
        self.number = Some(number);
        self
    }

    pub fn draft(mut self) -> NewPull {
        self.draft = true;
        self
    }

    pub fn label(mut self, label: &str) -> NewPull {
        self.labels.push(label.into());
        self
    }

    /// A file that it changes.
    pub fn file(mut self, file: ChangedFile) -> NewPull {
        self.files.push(file);
        self
    }
}
