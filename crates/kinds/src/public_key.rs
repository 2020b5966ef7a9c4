//! SSH public keys: what passes for one, and what must never stand in a tree.

use crate::vocabulary::is_marker;
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use csis_values::{Diagnostic, Diagnostics, Spanned};

const TYPES: &[&str] = &[
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Whether a text holds private key material: PEM, OpenSSH or age.
pub fn is_private(text: &str) -> bool {
    let upper = text.to_uppercase();
    upper.contains("PRIVATE KEY") || upper.contains("AGE-SECRET-KEY-") || text.contains("b3BlbnNzaC1rZXktdjE")
}

/// Judges a key of `who` (``user `mira` ``). Private material is never repeated in the message.
pub fn check(who: &str, key: &Spanned<String>, found: &mut Diagnostics) {
    if is_marker(key) {
        return;
    }
    if is_private(key) {
        found.push(
            Diagnostic::error("private-key", format!("{who} has private key material where a public key belongs"))
                .at(&key.at)
                .help("remove it, count the key as known to others, and put the public key (`….pub`) here"),
        );
        return;
    }
    if let Some(fault) = fault(key) {
        found.push(
            Diagnostic::error("public-key", format!("{who} has a public key that cannot be read: {fault}"))
                .at(&key.at)
                .help("paste the whole line of the `.pub` file: type, key, comment"),
        );
    }
}

fn fault(key: &str) -> Option<String> {
    if key.trim_end().contains(['\n', '\r']) {
        return Some("it goes over several lines, and one entry is one key".into());
    }
    let mut words = key.split_whitespace();
    let kind = words.next().unwrap_or_default();
    if !TYPES.contains(&kind) {
        return Some(format!("`{}` is no known key type", kind.chars().take(40).collect::<String>()));
    }
    let Some(body) = words.next() else { return Some(format!("nothing follows `{kind}`")) };
    let Ok(bytes) = BASE64.decode(body) else { return Some(format!("what follows `{kind}` is not base64")) };
    match inner_type(&bytes) {
        Some(inner) if inner == kind.as_bytes() => None,
        Some(inner) => Some(format!(
            "it says `{kind}` and holds `{}`",
            String::from_utf8_lossy(inner).chars().take(40).collect::<String>()
        )),
        None => Some("it is cut short".into()),
    }
}

fn inner_type(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let kind = rest.get(..length)?;
    (rest.len() > length).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use csis_values::Place;

    fn found(key: &str) -> Vec<Diagnostic> {
        let mut found = Diagnostics::default();
        check("user `mira`", &Spanned::new(key.into(), Place::new("groups/users.yaml", 2, 5)), &mut found);
        found.0
    }

    const GOOD: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE1Xh0Jc2Jm1y0YQ0Qm0Y3o8hQxk7l7Zr6o3m3J2c9Vd mira";

    #[test]
    fn a_public_key_passes_and_a_damaged_one_does_not() {
        assert!(found(GOOD).is_empty());
        assert!(found(&format!("{GOOD}\n")).is_empty());
        assert!(found("ENC[age:abc]").is_empty());
        for (bad, word) in [
            (format!("{GOOD}\n{GOOD}").as_str(), "several lines"),
            ("ssh-dss AAAA", "no known key type"),
            ("ssh-ed25519", "nothing follows"),
            ("ssh-ed25519 !!!", "not base64"),
            ("ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIE1Xh0Jc2Jm1y0YQ0Qm0Y3o8hQxk7l7Zr6o3m3J2c9Vd", "holds `ssh-ed25519`"),
            ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5", "cut short"),
        ] {
            let found = found(bad);
            assert!(found.len() == 1 && found[0].message.contains(word), "{bad}: {found:?}");
        }
    }

    #[test]
    fn private_material_is_refused_and_never_repeated() {
        for secret in [
            "-----BEGIN OPENSSH PRIVATE KEY----- b3BlbnNzaC1rZXktdjEAAAAA",
            "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU",
            "AGE-SECRET-KEY-1QQ",
        ] {
            let found = found(secret);
            assert_eq!(found[0].code, "private-key");
            let told = format!("{:?}", found[0]);
            assert!(!told.contains("b3Blbn") && !told.contains("1QQ"), "{told}");
        }
    }
}
