//! What no later room may see: values that are secrets by their shape, their name or because csis opened them itself.

use std::ops::Range;

/// Shorter opened secrets are not searched for in other texts: they would hide half of every message.
const SHORTEST: usize = 6;

const HIDDEN: &str = "(redacted)";

/// Knows the secrets of this run beside the shapes.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Vec<String>,
}

impl Redactor {
    /// `known`: plaintexts that csis opened or holds, such as session keys.
    pub fn new(known: impl IntoIterator<Item = String>) -> Self {
        let mut known: Vec<String> = known.into_iter().filter(|secret| secret.trim().len() >= SHORTEST).collect();
        known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        known.dedup();
        Redactor { known }
    }

    pub fn is_secret(&self, text: &str) -> bool {
        self.known.iter().any(|secret| text.contains(secret.as_str())) || !shapes(text).is_empty()
    }

    /// Whether a file holds a secret that nothing excuses. What is encrypted, and what only looks like a password, is none.
    pub fn holds_key(&self, text: &str) -> bool {
        self.known.iter().any(|secret| text.contains(secret.as_str())) || !keys(text).is_empty()
    }

    /// The text with every secret in it replaced.
    pub fn text(&self, text: &str) -> String {
        self.without(text, shapes(text))
    }

    /// The same for the text of configuration files, or a difference of two: what is set to a name that says *secret* goes too.
    pub fn configuration(&self, text: &str) -> String {
        let mut ranges = shapes(text);
        ranges.extend(named_settings(text));
        self.without(text, ranges)
    }

    fn without(&self, text: &str, mut ranges: Vec<Range<usize>>) -> String {
        for secret in &self.known {
            ranges.extend(text.match_indices(secret.as_str()).map(|(at, met)| at..at + met.len()));
        }
        ranges.sort_by_key(|range| (range.start, range.end));
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for range in ranges {
            if range.start >= from {
                out.push_str(&text[from..range.start]);
                out.push_str(HIDDEN);
            }
            from = from.max(range.end);
        }
        out.push_str(&text[from..]);
        out
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} known)", self.known.len())
    }
}

/// Whether an attribute's name says that its text is a secret.
pub fn is_secret_name(name: &str) -> bool {
    const NOT: &[&str] = &["creation_token", "client_token", "http_tokens", "get_password_data"];
    const SAYS: &[&str] =
        &["password", "passwd", "passphrase", "secret", "token", "private_key", "api_key", "access_key"];
    let name = name.to_ascii_lowercase().replace('-', "_");
    !NOT.contains(&name.as_str()) && SAYS.iter().any(|word| name.contains(word))
}

/// Where secrets stand in a text, by shape alone.
fn shapes(text: &str) -> Vec<Range<usize>> {
    let mut found = keys(text);
    for (at, _) in text.match_indices("ENC[") {
        if let Some(end) = text[at..].find(']') {
            found.push(at..at + end + 1);
        }
    }
    found.extend(passwords_in_addresses(text));
    found.extend(assignments(text));
    found
}

/// Where keys and tokens stand that have a shape of their own.
fn keys(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("-----BEGIN ") {
        let head = text[at..].lines().next().unwrap_or_default();
        if head.contains("PRIVATE KEY") {
            let end = text[at..]
                .find("-----END ")
                .map_or(text.len(), |end| text[at + end..].find('\n').map_or(text.len(), |line| at + end + line));
            found.push(at..end);
        }
    }
    for (prefix, least, allowed) in PREFIXES {
        for (at, _) in text.match_indices(prefix) {
            let before = text[..at].chars().next_back();
            let start = at + prefix.len();
            let length = text[start..].chars().take_while(|c| c.is_ascii() && allowed(*c)).count();
            if length >= *least && !before.is_some_and(|c| c.is_ascii_alphanumeric()) {
                found.push(at..start + length);
            }
        }
    }
    found.extend(web_tokens(text));
    found
}

type Allowed = fn(char) -> bool;

const WORD: Allowed = |c| c.is_ascii_alphanumeric() || c == '_' || c == '-';
const UPPER: Allowed = |c| c.is_ascii_uppercase() || c.is_ascii_digit();

/// Beginnings that vendors give their secrets, how much must follow, and of what.
const PREFIXES: &[(&str, usize, Allowed)] = &[
    ("AKIA", 16, UPPER),
    ("ASIA", 16, UPPER),
    ("AGE-SECRET-KEY-", 20, UPPER),
    ("AGE-PLUGIN-", 20, WORD),
    ("ghp_", 30, WORD),
    ("gho_", 30, WORD),
    ("ghu_", 30, WORD),
    ("ghs_", 30, WORD),
    ("ghr_", 30, WORD),
    ("github_pat_", 22, WORD),
    ("glpat-", 20, WORD),
    ("xoxa-", 10, WORD),
    ("xoxb-", 10, WORD),
    ("xoxp-", 10, WORD),
    ("xoxr-", 10, WORD),
    ("xoxs-", 10, WORD),
    ("xapp-", 10, WORD),
    ("npm_", 30, WORD),
    ("sk_live_", 16, WORD),
    ("rk_live_", 16, WORD),
];

/// `header.payload.signature`, the first two being base64 of a JSON object.
fn web_tokens(text: &str) -> Vec<Range<usize>> {
    let part = |from: usize| {
        text[from..].bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-').count()
    };
    let mut found = Vec::new();
    for (at, _) in text.match_indices("eyJ") {
        let payload = at + part(at) + 1;
        if !text.get(payload - 1..).is_some_and(|rest| rest.starts_with(".eyJ")) {
            continue;
        }
        let signature = payload + part(payload) + 1;
        if text.get(signature - 1..).is_some_and(|rest| rest.starts_with('.')) {
            found.push(at..signature + part(signature));
        }
    }
    found
}

/// `scheme://user:password@host`.
fn passwords_in_addresses(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("://") {
        let start = at + 3;
        let rest = &text[start..];
        let end =
            rest.find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '?' | '#')).unwrap_or(rest.len());
        let Some(host) = rest[..end].rfind('@') else { continue };
        if let Some(colon) = rest[..host].find(':')
            && colon + 1 < host
            && &rest[colon + 1..host] != HIDDEN
        {
            found.push(start + colon + 1..start + host);
        }
    }
    found
}

/// `Password=…;` as connection strings and environment lines have it.
fn assignments(text: &str) -> Vec<Range<usize>> {
    const NAMES: &[&str] =
        &["password=", "passwd=", "pwd=", "secret=", "secret_key=", "access_key=", "api_key=", "token="];
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    for name in NAMES {
        for (at, _) in lower.match_indices(name) {
            let start = at + name.len();
            let rest = text[start..].strip_prefix(['"', '\'']).unwrap_or(&text[start..]);
            let length = rest
                .find(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '"' | '\'' | ','))
                .unwrap_or(rest.len());
            let value = &rest[..length];
            // A reference to a variable is no secret.
            if !value.is_empty() && !value.starts_with('$') && !value.starts_with('(') {
                let start = text.len() - text[start..].len() + (text[start..].len() - rest.len());
                found.push(start..start + length);
            }
        }
    }
    found
}

/// Quoted texts of `name = "text"` lines whose name says that they are secret.
fn named_settings(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let setting = line.split_once('=').and_then(|(name, value)| {
            let name = name.trim_start_matches(['+', '-', ' ', '\t']).trim_end().trim_matches('"');
            let from = value.find('"')? + 1;
            let length = value[from..].rfind('"')?;
            let is_reference = value[from..].starts_with("${");
            let plain = !name.contains(char::is_whitespace) && value[..from - 1].trim().is_empty();
            let offset = line.len() - value.len() + from;
            (plain && !is_reference && length > 0 && is_secret_name(name)).then_some(offset..offset + length)
        });
        found.extend(setting.map(|range| start + range.start..start + range.end));
        start += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_shape() {
        let redactor = Redactor::new(["hunter22".to_owned()]);
        let jwt = format!("eyJ{}.eyJ{}.{}", "hbGciOi", "zdWIi", "sig_1-x");
        for secret in [
            "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----",
            "key AKIAIOSFODNN7EXAMPLE end",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "xoxb-1234567890-abcdef",
            jwt.as_str(),
            "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQ",
            "postgres://app:s3cret@db:5432/x",
            "Server=db;Password=s3cret;",
            "x ENC[age:YWJj] y",
            "is hunter22 here",
        ] {
            assert!(redactor.is_secret(secret), "{secret}");
            let text = redactor.text(secret);
            assert!(text.contains("(redacted)") && !redactor.is_secret(&text), "{text}");
        }
    }

    #[test]
    fn what_people_write_stays() {
        let redactor = Redactor::new([String::new(), "ab".to_owned()]);
        for plain in [
            "https://example.org:8080/path?x=1",
            "-----BEGIN CERTIFICATE-----",
            "MAKIAIOSFODNN7EXAMPLE",
            "abc",
            "password=$DB_PASSWORD",
            "arn:aws:iam::123456789012:role/x",
        ] {
            assert!(!redactor.is_secret(plain), "{plain}");
            assert_eq!(redactor.text(plain), plain);
        }
    }

    #[test]
    fn settings_of_configuration_files_are_known_by_their_names() {
        let redactor = Redactor::new(["from-the-environment".to_owned()]);
        let text = "+    \"password\"    = \"hunter2 = \\\"x\\\"\"\n     \"data\" = \"from-the-environment\"\n-    api_key = \"k\"\n     secret_id = var.id\n     token = \"${var.t}\"\n     size = 5\n";
        let shown = redactor.configuration(text);
        assert_eq!(
            shown,
            "+    \"password\"    = \"(redacted)\"\n     \"data\" = \"(redacted)\"\n-    api_key = \"(redacted)\"\n     secret_id = var.id\n     token = \"${var.t}\"\n     size = 5\n"
        );
    }

    #[test]
    fn names_tell_too() {
        assert!(
            is_secret_name("master_password")
                && is_secret_name("SFT-Enrollment-Token")
                && is_secret_name("private_key_pem")
        );
        assert!(!is_secret_name("creation_token") && !is_secret_name("http_tokens") && !is_secret_name("key_name"));
    }
}
