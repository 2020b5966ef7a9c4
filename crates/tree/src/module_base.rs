//! Where the modules come from: a folder, or somewhere else at one commit.

use crate::words::quote;
use csis_values::place::Spanned;
use csis_values::{Diagnostic, Diagnostics};

/// A module from elsewhere runs with the landing's credentials; a branch or a tag there may be another code tomorrow, and no plan shows it.
pub(crate) fn check(base: &Spanned<String>, found: &mut Diagnostics) {
    if is_remote(&base.value) && !is_pinned(&base.value) {
        let message = format!("`config.module_source_base` {} is elsewhere and names no commit", quote(&base.value));
        found.push(Diagnostic::error("module-source-unpinned", message).at(&base.at).help(
            "end it with `?ref=` and the full hash of the commit, or keep a copy in the tree (`csis init-config`)",
        ));
    }
}

fn is_remote(base: &str) -> bool {
    base.contains("://")
        || base.contains("::")
        || ["git@", "github.com/", "bitbucket.org/"].iter().any(|start| base.starts_with(start))
}

fn is_pinned(base: &str) -> bool {
    let Some((_, query)) = base.split_once('?') else { return false };
    let mut refs = query.split('&').filter_map(|part| part.strip_prefix("ref="));
    let is_commit = |text: &str| matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    // Of two, the engine's choice is not ours to know.
    refs.next().is_some_and(is_commit) && refs.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use csis_values::Place;

    #[test]
    fn modules_from_elsewhere_are_pinned_to_a_commit() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let refused = |base: &str| {
            let mut found = Diagnostics::default();
            check(&Spanned::new(base.to_owned(), Place::new("cfg/_config.yml", 1, 1)), &mut found);
            found.is_refused()
        };
        for free in [
            "tfmodules",
            "../tfmodules",
            "./a/b",
            "/srv/modules",
            &format!("git::https://x.example/y.git//m?ref={commit}"),
        ] {
            assert!(!refused(free), "{free}");
        }
        for loose in [
            "git::https://x.example/y.git//m",
            "git::https://x.example/y.git//m?ref=main",
            "git::https://x.example/y.git//m?ref=v1.2.3",
            "git@x.example:y.git",
            "github.com/x/y",
            "s3::https://x.example/m.zip",
            "https://x.example/m.zip?archive=zip",
            &format!("git::ssh://x.example/y.git?ref={commit}&ref=main"),
            &format!("git::ssh://x.example/y.git?depth=1#ref={commit}"),
        ] {
            assert!(refused(loose), "{loose}");
        }
    }
}
