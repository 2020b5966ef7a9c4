//! Encrypted values: where they may stand, and what they hold.
//!
//! A marker `ENC[age:<base64>]` stays a marker in everything made from the tree. Its plaintext is kept beside, in [`Secrets`], for the few who must know it:
//! the working copy that the engine runs in, and whoever must keep it out of texts.

use crate::error::LoadError;
use crate::words::quote;
use base64::Engine;
use csis_values::node::Entry;
use csis_values::{Diagnostic, Diagnostics, Node, Place, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;

/// The variable that flow reads identities from.
pub const IDENTITY_VARIABLE: &str = "CSIS_CONFIG_IDENTITY";

const OPENING: &str = "ENC[age:";

/// The marker that a text is, as a whole.
pub fn marker(text: &str) -> Option<&str> {
    let text = text.trim();
    let body = text.strip_prefix(OPENING)?.strip_suffix(']')?;
    body.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')).then_some(text)
}

pub fn is_marker(text: &str) -> bool {
    marker(text).is_some()
}

/// Whose secret keys are at hand. Never printed.
#[derive(Clone, Default)]
pub struct Identities {
    keys: Vec<age::x25519::Identity>,
    /// Lines that are no identity.
    unreadable: usize,
    /// Nothing is to be opened, and what is encrypted stays so.
    sealed: bool,
}

impl Identities {
    /// From single keys or the content of identity files: a key a line, `#` begins a comment. A line that is no X25519 identity is told of when a marker
    /// asks for an identity.
    pub fn new(texts: &[String]) -> Self {
        let mut identities = Identities::default();
        for line in texts.iter().flat_map(|text| text.lines()).map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.parse() {
                Ok(key) => identities.keys.push(key),
                Err(_) => identities.unreadable += 1,
            }
        }
        identities
    }

    /// None, for a reader who is not to open anything: encrypted values stay markers, and that is no error.
    pub fn sealed() -> Self {
        Identities { sealed: true, ..Identities::default() }
    }

    fn open(&self, ciphertext: &[u8]) -> Result<Vec<u8>, age::DecryptError> {
        let decryptor = age::Decryptor::new_buffered(ciphertext)?;
        let mut plaintext = Vec::new();
        let identities = self.keys.iter().map(|identity| identity as &dyn age::Identity);
        decryptor.decrypt(identities)?.read_to_end(&mut plaintext).map_err(age::DecryptError::Io)?;
        Ok(plaintext)
    }
}

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identities({})", self.keys.len())
    }
}

/// What the markers of a tree hold, and further texts that must not be shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    plaintexts: BTreeMap<String, String>,
    sensitive: BTreeSet<String>,
    /// Where values stand that were not to be opened.
    closed: Vec<Place>,
}

impl Secrets {
    /// Whether an encrypted value stands there that was not opened: what a rule says of it, it says of the marker.
    pub fn is_closed(&self, at: &Place) -> bool {
        self.closed.contains(at)
    }

    pub fn plaintext(&self, marker: &str) -> Option<&str> {
        self.plaintexts.get(marker).map(String::as_str)
    }

    /// Marker → plaintext.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.plaintexts.iter().map(|(marker, text)| (marker.as_str(), text.as_str()))
    }

    /// Every text to keep out of logs and reports: plaintexts, and the variables that templates read.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.plaintexts.values().chain(&self.sensitive).map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.plaintexts.is_empty() && self.sensitive.is_empty()
    }

    /// A text with every marker in it replaced by its plaintext.
    pub fn open(&self, text: &str) -> String {
        let mut opened = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(OPENING) {
            let (before, from) = rest.split_at(at);
            opened.push_str(before);
            let Some(end) = from.find(']') else {
                rest = from;
                break;
            };
            let (marker, after) = from.split_at(end + 1);
            opened.push_str(self.plaintext(marker).unwrap_or(marker));
            rest = after;
        }
        opened.push_str(rest);
        opened
    }

    pub(crate) fn hide(&mut self, text: String) {
        if !text.is_empty() {
            self.sensitive.insert(text);
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} markers, {} further texts)", self.plaintexts.len(), self.sensitive.len())
    }
}

/// Paths whose values are read before anything is opened; `[]` stands for any element.
const IN_CLEAR: &[&str] = &[
    "encryption.recipients.[]",
    "public_safe.allow.[]",
    "runtime_builders.[].profile",
    "runtime_builders.[].credentials.profile_name",
    "config.preflight.expected_run_minutes",
    "config.apply_instances",
    "config.apply_storage",
    "config.apply_identity",
    "config.apply_release",
    "config.apply_instances.[]",
    "config.apply_storage.[]",
    "config.apply_identity.[]",
];

/// Judges where the markers of a document stand. `lists` says that entries of its top-level lists must have `name` and `type` in clear.
pub(crate) fn check_places(document: &Node, lists: bool, found: &mut Diagnostics) {
    check(document, &mut Vec::new(), lists, found);
}

fn check(node: &Node, path: &mut Vec<String>, lists: bool, found: &mut Diagnostics) {
    match &node.value {
        Value::Text(text) if text.contains(OPENING) => {
            let shown = path.join(".");
            let pattern: Vec<&str> =
                path.iter().map(|s| if s.parse::<usize>().is_ok() { "[]" } else { s.as_str() }).collect();
            let declares = lists && pattern.len() == 3 && pattern[1] == "[]" && matches!(pattern[2], "name" | "type");
            if marker(text).is_none() {
                let message = format!("at {}, an encrypted value stands inside of a longer text", quote(&shown));
                found.push(Diagnostic::error("marker-place", message).at(&node.at).help("encrypt the whole value"));
            } else if declares || IN_CLEAR.contains(&pattern.join(".").as_str()) {
                let message = format!("{} is encrypted, and is read before anything is opened", quote(&shown));
                found.push(Diagnostic::error("marker-place", message).at(&node.at).help("write the value in clear"));
            }
        }
        Value::List(items) => {
            for (number, item) in items.iter().enumerate() {
                path.push(number.to_string());
                check(item, path, lists, found);
                path.pop();
            }
        }
        Value::Map(entries) => {
            for Entry { key, at, value } in entries {
                if key.contains(OPENING) {
                    let message = format!("an encrypted value stands as a key under {}", quote(&path.join(".")));
                    found.push(Diagnostic::error("marker-place", message).at(at).help("write keys in clear"));
                }
                path.push(key.clone());
                check(value, path, lists, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Opens every marker of the documents. Values under `name`, `members` and `admins` become their plaintext; all others stay markers.
pub(crate) fn open<'a>(
    documents: impl IntoIterator<Item = &'a mut Node>,
    identities: &Identities,
    found: &mut Diagnostics,
) -> Result<Secrets, LoadError> {
    let mut opening = Opening { identities, found: &mut *found, secrets: Secrets::default(), closed: Vec::new() };
    for document in documents {
        opening.walk(document, false);
    }
    let Opening { mut secrets, closed, .. } = opening;
    let Some((first, rest)) = closed.split_first() else { return Ok(secrets) };
    if identities.sealed {
        let message = format!("{} encrypted values stay closed, since this change gets no identity", closed.len());
        found.push(Diagnostic::note("marker-closed", message).at(first));
        secrets.closed = closed;
        return Ok(secrets);
    }
    let message = match identities.keys.len() {
        0 if identities.unreadable > 0 => {
            format!("the value is encrypted and {IDENTITY_VARIABLE} holds no age identity (AGE-SECRET-KEY-1…)")
        }
        0 => format!("the value is encrypted and there is no identity to open it: {IDENTITY_VARIABLE} is not set"),
        1 => format!("the value is encrypted and the identity of {IDENTITY_VARIABLE} does not open it"),
        n => format!("the value is encrypted and none of the {n} identities of {IDENTITY_VARIABLE} opens it"),
    };
    let help = format!(
        "set {IDENTITY_VARIABLE} to the secret key, a key file or a folder of key files of one of the tree's recipients"
    );
    let mut diagnostic = Diagnostic::error("marker-identity", message).at(first).help(help);
    for place in rest.iter().take(20) {
        diagnostic = diagnostic.also(place, "encrypted too");
    }
    Err(LoadError::Identity(Box::new(diagnostic)))
}

struct Opening<'a> {
    identities: &'a Identities,
    found: &'a mut Diagnostics,
    secrets: Secrets,
    /// Where markers stand that no identity opens.
    closed: Vec<Place>,
}

impl Opening<'_> {
    fn walk(&mut self, node: &mut Node, public: bool) {
        match &mut node.value {
            Value::Text(text) => {
                let Some(found) = marker(text).map(str::to_owned) else { return };
                self.read(&found, &node.at);
                *text = match self.secrets.plaintext(&found) {
                    Some(plaintext) if public => plaintext.to_owned(),
                    _ => found,
                };
            }
            Value::List(items) => items.iter_mut().for_each(|item| self.walk(item, public)),
            Value::Map(entries) => {
                for entry in entries {
                    self.walk(&mut entry.value, matches!(entry.key.as_str(), "name" | "members" | "admins"));
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, marker: &str, at: &Place) {
        if self.secrets.plaintexts.contains_key(marker) {
            return;
        }
        let body = &marker[OPENING.len()..marker.len() - 1];
        let refuse = |why: &str| {
            let help = "encrypt the value anew with `csis encrypt`";
            Diagnostic::error("marker-malformed", format!("the encrypted value cannot be read: {why}"))
                .at(at)
                .help(help)
        };
        let Ok(ciphertext) = base64::engine::general_purpose::STANDARD.decode(body) else {
            return self.found.push(refuse("what follows `age:` is not base64"));
        };
        if self.identities.keys.is_empty() {
            return self.closed.push(at.clone());
        }
        match self.identities.open(&ciphertext).map(String::from_utf8) {
            Ok(Ok(text)) => {
                self.secrets.plaintexts.insert(marker.to_owned(), text);
            }
            Ok(Err(_)) => self.found.push(refuse("it holds something else than text")),
            Err(age::DecryptError::NoMatchingKeys | age::DecryptError::KeyDecryptionFailed) => {
                self.closed.push(at.clone());
            }
            Err(_) => self.found.push(refuse("it is no age file, or was cut or changed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;
    use std::sync::Arc;

    fn pair() -> (Identities, age::x25519::Recipient) {
        let identity = age::x25519::Identity::generate();
        let recipient = identity.to_public();
        (Identities { keys: vec![identity], ..Identities::default() }, recipient)
    }

    fn seal(recipient: &age::x25519::Recipient, text: &str) -> String {
        let sealed = age::encrypt(recipient, text.as_bytes()).expect("a ciphertext");
        format!("{OPENING}{}]", base64::engine::general_purpose::STANDARD.encode(sealed))
    }

    fn read(text: &str) -> Node {
        yaml::parse(&Arc::from("cfg/x.yml"), text.as_bytes(), &mut Diagnostics::default()).expect("a document")
    }

    #[test]
    fn only_names_and_members_are_opened_in_place() {
        let (identities, recipient) = pair();
        let (name, mail) = (seal(&recipient, "Mira"), seal(&recipient, "mira@example.org"));
        let mut node = read(&format!("users:\n- name: {name}\n  email: {mail}\ngroups:\n- members: [\"{name}\"]\n"));
        let mut found = Diagnostics::default();
        let secrets = open([&mut node], &identities, &mut found).expect("opened");
        assert!(found.0.is_empty());
        let json = node.to_json();
        assert_eq!(json["users"][0]["name"], "Mira");
        assert_eq!(json["groups"][0]["members"][0], "Mira");
        assert_eq!(json["users"][0]["email"], mail.as_str());
        assert_eq!(secrets.open(&format!("to {mail}, ENC[age:x")), "to mira@example.org, ENC[age:x");
        assert!(!format!("{secrets:?} {identities:?}").contains("ira"));
    }

    #[test]
    fn a_marker_without_an_identity_cannot_be_loaded() {
        let (_, recipient) = pair();
        let text = format!("a: {}\n", seal(&recipient, "x"));
        let refused = |identities: &Identities| match open([&mut read(&text)], identities, &mut Diagnostics::default())
        {
            Err(LoadError::Identity(d)) => d.message,
            other => panic!("{other:?}"),
        };
        assert!(refused(&Identities::default()).contains(IDENTITY_VARIABLE));
        assert!(
            refused(&Identities { keys: [pair().0.keys, pair().0.keys].concat(), unreadable: 0, sealed: false })
                .contains("none of the 2")
        );
    }

    #[test]
    fn a_damaged_marker_is_a_fault_of_the_tree() {
        let (identities, recipient) = pair();
        let sealed = seal(&recipient, "x");
        let damaged = format!("{}AAAA]", &sealed[..sealed.len() - 20]);
        for text in ["ENC[age:AAAA]", "ENC[age:A]", damaged.as_str()] {
            let mut found = Diagnostics::default();
            assert!(open([&mut read(&format!("a: {text}\n"))], &identities, &mut found).is_ok(), "{text}");
            assert_eq!(found.0.len(), 1, "{text}");
        }
    }

    #[test]
    fn markers_stand_only_where_they_can_be_opened() {
        let text = "\
encryption: {recipients: [\"ENC[age:AA==]\"]}
runtime_builders:
- {name: \"ENC[age:AA==]\", profile: \"ENC[age:AA==]\", description: \"ENC[age:AA==]\"}
config: {apply_storage: \"ENC[age:AA==]\", x: \"a ENC[age:AA==]\"}
\"ENC[age:AA==]\": 1
";
        let mut found = Diagnostics::default();
        check_places(&read(text), true, &mut found);
        let lines: Vec<u32> = found.iter().filter_map(|d| d.at.as_ref()).map(|p| p.line).collect();
        assert_eq!(lines, [1, 3, 3, 4, 4, 5], "{found:?}");
        assert!(found.0[0].message.contains("encryption.recipients.0"));
    }

    #[test]
    fn who_is_not_to_open_anything_reads_the_rest() {
        let (_, recipient) = pair();
        let text = seal(&recipient, "ira");
        let mut node = read(&format!("a: {text}\nname: {text}\nb: 1\n"));
        let mut found = Diagnostics::default();
        let secrets = open([&mut node], &Identities::sealed(), &mut found).expect("no error");
        assert!(secrets.texts().next().is_none() && !found.is_refused());
        assert_eq!(found.0[0].code, "marker-closed");
        assert_eq!(node.get("name").and_then(Node::text), Some(text.as_str()));
    }

    #[test]
    fn identities_come_one_a_line() {
        use age::secrecy::ExposeSecret;
        let key = age::x25519::Identity::generate().to_string();
        let identities =
            Identities::new(&[format!("# mine\n\n{}\n", key.expose_secret()), "AGE-SECRET-KEY-1NO".into()]);
        assert_eq!((identities.keys.len(), identities.unreadable), (1, 1));
        let (_, recipient) = pair();
        let text = format!("a: {}\n", seal(&recipient, "x"));
        let refused = open([&mut read(&text)], &Identities::new(&["nonsense".into()]), &mut Diagnostics::default());
        assert!(
            matches!(refused, Err(LoadError::Identity(d)) if d.message.contains("no age identity") && !d.message.contains("nonsense"))
        );
    }
}
