//! What is judged of every file before it is merged with others: words that cannot be names, keys that `config:` cannot have, private keys.

use crate::words::{list, quote};
use csis_values::name::is_reserved;
use csis_values::{Diagnostic, Diagnostics, Node, Value};

/// What stands in place of private material from then on.
pub(crate) const REMOVED: &str = "[private key removed]";

/// Words that templates and references use for something else.
const REFUSED_CONFIG_KEYS: &[&str] = &[
    "self",
    "this",
    "same",
    "runtime",
    "os",
    "default",
    "defaults",
    "any",
    "anything",
    "none",
    "null",
    "",
    "timestamp",
    "date",
    "datetime",
    "config",
    "configuration",
];

/// Reports every reserved word that a `name` or an alias uses, at any depth.
pub(crate) fn check_names(node: &Node, found: &mut Diagnostics) {
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| check_names(item, found)),
        Value::Map(entries) => {
            for entry in entries {
                match entry.key.as_str() {
                    "name" => check_name(&entry.value, "a name", found),
                    "aliases" => {
                        for alias in entry.value.list().unwrap_or_default() {
                            check_name(alias, "an alias", found);
                        }
                    }
                    _ => {}
                }
                check_names(&entry.value, found);
            }
        }
        _ => {}
    }
}

fn check_name(node: &Node, what: &str, found: &mut Diagnostics) {
    let word = match &node.value {
        Value::Text(text) if is_reserved(text) => text.as_str(),
        Value::Null => "null",
        _ => return,
    };
    let message = format!("{} cannot be {what}: it means \"not set\" wherever a name is read", quote(word));
    found.push(Diagnostic::error("reserved-name", message).at(&node.at).help("choose another word"));
}

pub(crate) fn is_refused_config_key(key: &str) -> bool {
    REFUSED_CONFIG_KEYS.contains(&key.trim().to_lowercase().as_str())
}

/// Reports every key of a `config:` mapping that is a refused word.
pub(crate) fn check_config_keys(config: &Node, found: &mut Diagnostics) {
    for entry in config.map().unwrap_or_default() {
        if is_refused_config_key(&entry.key) {
            let message = format!("{} cannot be a key of `config:`", quote(&entry.key));
            let help = format!(
                "choose another word than {}",
                list(REFUSED_CONFIG_KEYS.iter().copied().filter(|w| !w.is_empty()))
            );
            found.push(Diagnostic::error("config-key", message).at(&entry.at).help(help));
        }
    }
}

/// Reports private key material wherever it stands and takes it out, so that nothing after this can show it.
pub(crate) fn purge_private_keys(node: &mut Node, found: &mut Diagnostics) {
    match &mut node.value {
        Value::Text(text) if is_private_key(text) => {
            REMOVED.clone_into(text);
            let help = "remove it, also from the history of the repository, and count the key as known to others; \
                        a secret that the tree needs is written with `csis encrypt`";
            found.push(
                Diagnostic::error("private-key", "private key material stands in the tree").at(&node.at).help(help),
            );
        }
        Value::List(items) => items.iter_mut().for_each(|item| purge_private_keys(item, found)),
        Value::Map(entries) => {
            for entry in entries {
                if is_private_key(&entry.key) {
                    REMOVED.clone_into(&mut entry.key);
                    found.push(
                        Diagnostic::error("private-key", "private key material stands in the tree as a key")
                            .at(&entry.at)
                            .help("remove it"),
                    );
                }
                purge_private_keys(&mut entry.value, found);
            }
        }
        _ => {}
    }
}

/// PEM and OpenSSH private keys, and age identities.
fn is_private_key(text: &str) -> bool {
    let pem = text.match_indices("-----BEGIN ").any(|(at, opening)| {
        let label: &str = text[at + opening.len()..].split("-----").next().unwrap_or_default();
        label.len() < 60 && label.ends_with("PRIVATE KEY")
    });
    let age = text
        .match_indices("AGE-SECRET-KEY-1")
        .any(|(at, opening)| text[at + opening.len()..].bytes().take_while(u8::is_ascii_alphanumeric).count() >= 40);
    pem || age || text.contains("b3BlbnNzaC1rZXktdjE")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;
    use std::sync::Arc;

    fn read(text: &str) -> Node {
        yaml::parse(&Arc::from("cfg/x.yml"), text.as_bytes(), &mut Diagnostics::default()).expect("a document")
    }

    #[test]
    fn reserved_words_are_no_names_at_any_depth() {
        let mut found = Diagnostics::default();
        check_names(
            &read("a:\n- name: None\n  aliases: [x, self]\n- b: {name: ' Default '}\n- name: nonesuch\n- name:\n"),
            &mut found,
        );
        let lines: Vec<u32> = found.iter().filter_map(|d| d.at.as_ref()).map(|p| p.line).collect();
        assert_eq!(lines, [2, 3, 4, 6]);
    }

    #[test]
    fn config_keys_are_not_words_of_the_format() {
        let mut found = Diagnostics::default();
        check_config_keys(&read("{OS: 1, ' Date ': 2, dates: 3}"), &mut found);
        assert_eq!(found.0.len(), 2);
    }

    #[test]
    fn private_keys_are_taken_out_wherever_they_stand() {
        let secret = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE";
        let age = format!("AGE-SECRET-KEY-1{}", "Q".repeat(58));
        let text = format!(
            "a: \"-----BEGIN OPENSSH PRIVATE KEY----- {secret}\"\nb: [{{c: '{age}'}}]\nd: \"grep 'PRIVATE KEY' x\"\n"
        );
        let mut node = read(&text);
        let mut found = Diagnostics::default();
        purge_private_keys(&mut node, &mut found);
        assert_eq!(found.0.len(), 2);
        let told = format!("{found:?} {node:?}");
        assert!(!told.contains(secret) && !told.contains("QQQQ"), "{told}");
        assert_eq!(node.get("d").and_then(Node::text), Some("grep 'PRIVATE KEY' x"));
    }
}
