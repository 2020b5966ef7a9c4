//! The hidden first line of a comment: whose it is, and which run wrote it.

/// What is known of a comment before its text: the tree and job it is for, and the run that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Tree and job: two trees, or two jobs of a matrix, have a comment each.
    pub key: String,
    pub head: String,
    pub run: u64,
    pub attempt: u32,
    pub state: State,
    /// The git tree id of the configuration root that was judged; empty where git does not tell.
    pub tree: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Planning,
    Result,
    Cancelled,
    /// The pull request is closed.
    Closed,
}

impl State {
    const ALL: &[(State, &str)] = &[
        (State::Planning, "planning"),
        (State::Result, "result"),
        (State::Cancelled, "cancelled"),
        (State::Closed, "closed"),
    ];

    fn word(self) -> &'static str {
        State::ALL.iter().find(|(state, _)| *state == self).map_or("result", |(_, word)| word)
    }
}

const BEGIN: &str = "<!-- csis:comment v";
const VERSION: u32 = 1;

impl Marker {
    /// The line, with its end.
    pub fn line(&self) -> String {
        let Marker { key, head, run, attempt, state, tree } = self;
        format!("{BEGIN}{VERSION} key={key} head={head} run={run}.{attempt} state={} tree={tree} -->\n", state.word())
    }

    /// The marker of a comment's text, of this or an earlier version; a field that an earlier version did not have counts as the oldest there is.
    pub fn read(body: &str) -> Option<Marker> {
        let line = body.lines().next()?.trim();
        let rest = line.strip_prefix(BEGIN)?.strip_suffix("-->")?;
        let mut words = rest.split_ascii_whitespace();
        let version: u32 = words.next()?.parse().ok()?;
        if version > VERSION {
            return None;
        }
        let mut marker = Marker {
            key: String::new(),
            head: String::new(),
            run: 0,
            attempt: 0,
            state: State::Result,
            tree: String::new(),
        };
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            match name {
                "key" => value.clone_into(&mut marker.key),
                "head" => value.clone_into(&mut marker.head),
                "tree" => value.clone_into(&mut marker.tree),
                "run" => {
                    let (run, attempt) = value.split_once('.').unwrap_or((value, "1"));
                    marker.run = run.parse().unwrap_or(0);
                    marker.attempt = attempt.parse().unwrap_or(0);
                }
                "state" => {
                    marker.state =
                        State::ALL.iter().find(|(_, word)| *word == value).map_or(State::Result, |(state, _)| *state);
                }
                _ => {}
            }
        }
        (!marker.key.is_empty()).then_some(marker)
    }

    /// Whether what this run has to say may stand where `other` stands. Run ids grow; a run that is started again keeps its id and counts its attempts.
    pub fn may_replace(&self, other: &Marker) -> bool {
        (self.run, self.attempt) >= (other.run, other.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker() -> Marker {
        Marker {
            key: "0123abcd".into(),
            head: "aa".into(),
            run: 12,
            attempt: 2,
            state: State::Planning,
            tree: "bb".into(),
        }
    }

    #[test]
    fn a_marker_comes_back_as_it_was_written() {
        for (state, _) in State::ALL {
            let written = Marker { state: *state, ..marker() };
            assert_eq!(Marker::read(&format!("{}## text", written.line())), Some(written.clone()));
            let unknown = Marker { tree: String::new(), ..written };
            assert_eq!(Marker::read(&unknown.line()), Some(unknown));
        }
    }

    #[test]
    fn only_the_first_line_counts_and_only_of_a_version_that_is_known() {
        assert_eq!(Marker::read(&format!("hello\n{}", marker().line())), None);
        assert_eq!(Marker::read(&marker().line().replace(" v1 ", " v9 ")), None);
        assert_eq!(Marker::read("<!-- csis:comment v1 -->"), None);
        let old = Marker::read("<!-- csis:comment v0 key=k -->\r\nold").unwrap();
        assert_eq!((old.run, old.attempt, old.key.as_str()), (0, 0, "k"));
    }

    #[test]
    fn an_older_run_or_an_earlier_attempt_replaces_nothing_newer() {
        let at = |run, attempt| Marker { run, attempt, ..marker() };
        assert!(at(12, 2).may_replace(&at(12, 2)));
        assert!(at(12, 3).may_replace(&at(12, 2)));
        assert!(!at(12, 1).may_replace(&at(12, 2)));
        assert!(!at(11, 9).may_replace(&at(12, 1)));
        assert!(at(13, 1).may_replace(&at(12, 9)));
    }
}
