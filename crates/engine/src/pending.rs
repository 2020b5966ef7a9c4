//! Typed stand-ins for what another change of the same plan set will make.
//!
//! A consumer is planned before its producer is applied, so what only the apply will know is given a *token*: a text with the shape that the provider's
//! validators want at that place. Tokens are derived from everything that was emitted, so nobody can write one into the tree: writing it changes it. What
//! counts as a token is decided by the map of the run, never by a pattern.

use csis_values::sha256;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a token stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Meaning {
    /// The producing root's id, or `build` for an image that is not baked yet.
    pub root: String,
    /// The output's path, e.g. `storage_ledger.volume_id`; for a build `<series>@<runtime>:<fingerprint>`.
    pub path: String,
}

impl std::fmt::Display for Meaning {
    /// `storage/volumes:storage_ledger.volume_id`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.root, self.path)
    }
}

/// The tokens of one run. Clones share the same map: a token that one root got may come out of another root's outputs.
#[derive(Clone, Debug)]
pub struct Tokens {
    nonce: String,
    /// Eight hexadecimal digits that every token of the run contains, so that most texts are passed over quickly.
    mark: String,
    known: Arc<Mutex<BTreeMap<String, Meaning>>>,
}

/// Encloses a token's meaning where it stands inside a longer text. The engine's texts cannot contain it, so nobody can write it.
const EDGE: char = '\0';

impl Tokens {
    /// `seed`: what was emitted. The same emission has the same tokens.
    pub fn new(seed: impl AsRef<[u8]>) -> Self {
        let nonce = sha256(seed);
        let mark = sha256(format!("mark {nonce}"))[..8].to_owned();
        Tokens { nonce, mark, known: Arc::default() }
    }

    /// The token for an output, in the shape its name asks for.
    pub fn for_output(&self, root: &str, path: &str) -> Token {
        let meaning = Meaning { root: root.to_owned(), path: path.to_owned() };
        let hash = sha256(format!("{} {meaning}", self.nonce));
        if path.starts_with("group_gids") {
            // Above every gid that groups declare, below the 32-bit limit; ten digits of which nine vary.
            let low = u64::from_str_radix(&hash[..8], 16).unwrap_or_default() % 200_000_000;
            return self.keep(Token::Number(4_000_000_000 + low), meaning);
        }
        let unique = format!("{}{}", self.mark, &hash[..9]);
        self.keep(Token::Text(shaped(path, &unique)), meaning)
    }

    /// The token for a build that is due.
    pub fn for_build(&self, series: &str, runtime: &str, fingerprint: &str) -> Token {
        let short: String = fingerprint.chars().take(16).collect();
        let meaning = Meaning { root: "build".into(), path: format!("{series}@{runtime}:{short}") };
        let hash = sha256(format!("{} {meaning}", self.nonce));
        self.keep(Token::Text(format!("ami-{}{}", self.mark, &hash[..9])), meaning)
    }

    fn keep(&self, token: Token, meaning: Meaning) -> Token {
        self.lock().insert(token.to_string(), meaning);
        token
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Meaning>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a whole value stands for.
    pub fn meaning(&self, value: &str) -> Option<Meaning> {
        self.lock().get(value).cloned()
    }

    /// A text with the tokens inside it replaced by what they mean; none when it has none. The result does not depend on the run, and no text of a user can
    /// equal it.
    pub fn canonical(&self, text: &str) -> Option<String> {
        self.replace(text, |meaning| format!("{EDGE}csis-pending:{meaning}{EDGE}"))
    }

    /// The same for people.
    pub fn readable(&self, text: &str) -> Option<String> {
        self.replace(text, |meaning| format!("(pending {meaning})"))
    }

    fn replace(&self, text: &str, say: impl Fn(&Meaning) -> String) -> Option<String> {
        if !text.contains(self.mark.as_str()) {
            return None;
        }
        let mut out: Option<String> = None;
        for (token, meaning) in self.lock().iter() {
            let now = out.as_deref().unwrap_or(text);
            if token.contains(self.mark.as_str()) && now.contains(token.as_str()) {
                out = Some(now.replace(token.as_str(), &say(meaning)));
            }
        }
        out
    }
}

/// A stand-in value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Text(String),
    Number(u64),
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Text(text) => f.write_str(text),
            Token::Number(number) => write!(f, "{number}"),
        }
    }
}

/// The words of an output's name that tell what kind of id it is, and how such ids begin. The first match from the end of the path decides.
const SHAPES: &[(&str, &str)] = &[
    ("access_point", "fsap-"),
    ("file_system", "fs-"),
    ("mount_target", "fsmt-"),
    ("security_group", "sg-"),
    ("snapshot", "snap-"),
    ("subnet", "subnet-"),
    ("volume", "vol-"),
    ("vpc", "vpc-"),
    ("image", "ami-"),
    ("ami", "ami-"),
    ("instance", "i-"),
];

fn shaped(path: &str, unique: &str) -> String {
    let names: Vec<&str> = path.split(['.', '[']).filter(|part| !part.starts_with('"')).collect();
    for name in names.iter().rev() {
        let name = name.trim_end_matches(']');
        if name.ends_with("arn") || name.ends_with("arns") {
            return format!("arn:aws:ec2:us-east-1:000000000000:pending/{unique}");
        }
        if name.contains("bucket") {
            return format!("csis-pending-{unique}");
        }
        if name.ends_with("id") || name.ends_with("ids") {
            for (word, prefix) in SHAPES {
                if name.contains(word) {
                    return format!("{prefix}{unique}");
                }
            }
        }
    }
    format!("csis-pending-{unique}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_the_shape_of_its_attribute() {
        let tokens = Tokens::new("emission");
        for (path, prefix, length) in [
            ("storage_ledger.volume_id", "vol-", 17),
            ("storage_home.file_system_id", "fs-", 17),
            ("storage_home.access_point_ids[\"web\"]", "fsap-", 17),
            ("storage_home.public_read_access_point_id", "fsap-", 17),
            ("subnet_ids[0]", "subnet-", 17),
            ("group_id_of_security_group_id", "sg-", 17),
            ("storage_ledger.comment", "csis-pending-", 17),
        ] {
            let token = tokens.for_output("storage/volumes", path).to_string();
            let rest = token.strip_prefix(prefix).unwrap_or_else(|| panic!("{token} for {path}"));
            assert!(rest.len() == length && rest.bytes().all(|b| b.is_ascii_hexdigit()), "{token}");
        }
        assert!(tokens.for_output("storage/volumes", "storage_ledger.volume_arn").to_string().starts_with("arn:aws:"));
        assert!(matches!(tokens.for_output("identity/x", "group_gids[\"web\"]"), Token::Number(4_000_000_000..)));
    }

    #[test]
    fn the_map_of_the_run_decides_and_not_a_pattern() {
        let tokens = Tokens::new("emission");
        let token = tokens.for_output("storage/volumes", "storage_ledger.volume_id").to_string();
        assert_eq!(tokens.meaning(&token).unwrap().to_string(), "storage/volumes:storage_ledger.volume_id");
        let other = Tokens::new("emission with another tag")
            .for_output("storage/volumes", "storage_ledger.volume_id")
            .to_string();
        for typed in [other.as_str(), "csis-pending:storage/volumes:storage_ledger.volume_id", "vol-0123456789abcdef0"]
        {
            assert_eq!((tokens.meaning(typed), tokens.canonical(typed)), (None, None), "{typed}");
        }
    }

    #[test]
    fn inside_a_text_a_token_becomes_what_it_means() {
        let tokens = Tokens::new("emission");
        let token = tokens.for_output("storage/volumes", "storage_ledger.volume_id").to_string();
        let script = format!("VOL={token}\n");
        assert_eq!(tokens.readable(&script).unwrap(), "VOL=(pending storage/volumes:storage_ledger.volume_id)\n");
        assert_eq!(
            tokens.canonical(&script).unwrap(),
            "VOL=\0csis-pending:storage/volumes:storage_ledger.volume_id\0\n"
        );
    }

    #[test]
    fn the_same_emission_has_the_same_tokens() {
        let make = || Tokens::new("e").for_build("web", "aws-west", "0123456789abcdef0123");
        assert_eq!(make(), make());
        assert_eq!(Tokens::new("e").meaning(&make().to_string()), None);
    }
}
