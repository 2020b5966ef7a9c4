//! Where storages are mounted: plain absolute paths, each used once, none that a system lives on.

use super::site::Site;
use super::words::character;
use csis_values::tree::{Instance, Mount};
use csis_values::{Diagnostic, Diagnostics};
use std::collections::BTreeMap;

/// Directories a machine does not start without.
const SYSTEM: &[&str] =
    &["/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"];

/// What is mounted by the kernel alone.
const KERNEL: &[&str] = &["/dev/", "/proc/", "/sys/"];

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    for instance in &site.tree.instances {
        let mut taken: BTreeMap<String, &Mount> = BTreeMap::new();
        for mount in &instance.mounts {
            if let Some((why, help)) = unfit(&mount.mount_point) {
                let what = format!(
                    "instance `{}` mounts storage `{}` at {:?}: {why}",
                    instance.name, mount.storage, mount.mount_point.value
                );
                found.push(Diagnostic::error("mount-point", what).at(&mount.mount_point.at).help(help));
                continue;
            }
            let path = plain(&mount.mount_point);
            match taken.get(&path) {
                Some(first) if first.storage.value != mount.storage.value => {
                    found.push(twice(instance, &path, first, mount));
                }
                // The same storage twice is told as that.
                Some(_) => {}
                None => {
                    taken.insert(path, mount);
                }
            }
        }
        for (inner, mount) in &taken {
            let outer = taken
                .iter()
                .find(|(outer, _)| inner.strip_prefix(outer.as_str()).is_some_and(|rest| rest.starts_with('/')));
            if let Some((outer, holder)) = outer {
                found.push(nested(instance, (inner, mount), (outer, holder)));
            }
        }
    }
}

fn twice(instance: &Instance, path: &str, first: &Mount, second: &Mount) -> Diagnostic {
    let what = format!(
        "instance `{}` mounts storages `{}` and `{}` at one place, `{path}`",
        instance.name, first.storage, second.storage
    );
    Diagnostic::error("mount-point-taken", what)
        .at(&second.mount_point.at)
        .help("give each mount a `mount_point:` of its own")
        .also(&first.mount_point.at, format!("`{}` is mounted there", first.storage))
}

/// Which of two such mounts comes first decides whether the inner one shows, and after a restart it is the system that decides.
fn nested(instance: &Instance, inner: (&str, &Mount), outer: (&str, &Mount)) -> Diagnostic {
    let what = format!(
        "instance `{}` mounts storage `{}` at `{}`, within storage `{}` at `{}`: whichever is mounted last hides the other",
        instance.name, inner.1.storage, inner.0, outer.1.storage, outer.0
    );
    Diagnostic::warning("mount-point-nested", what)
        .at(&inner.1.mount_point.at)
        .help("mount the storages side by side")
        .also(&outer.1.mount_point.at, format!("`{}` is mounted there", outer.1.storage))
}

/// Without doubled and trailing slashes.
fn plain(path: &str) -> String {
    format!("/{}", path.split('/').filter(|s| !s.is_empty()).collect::<Vec<_>>().join("/"))
}

/// Why a path is no mount point, and what to do.
fn unfit(path: &str) -> Option<(String, &'static str)> {
    const CHARACTERS: &str = "use letters, digits and the characters . _ - + @ / in the path";
    if path.trim().is_empty() {
        return Some(("the path is blank".into(), "name a directory such as `/mnt/data`"));
    }
    // A shell run as root reads the path.
    if let Some(odd) = path.chars().find(|c| !c.is_ascii_alphanumeric() && !"._-+@/".contains(*c)) {
        return Some((format!("{} does not belong in a mount point", character(odd)), CHARACTERS));
    }
    if !path.starts_with('/') {
        return Some(("the path is relative".into(), "begin it with `/`"));
    }
    if path.split('/').any(|segment| segment == "." || segment == "..") {
        return Some(("a mount point has no `.` or `..` in it".into(), "write the path out"));
    }
    let plain = plain(path);
    if SYSTEM.contains(&plain.as_str()) || KERNEL.iter().any(|under| plain.starts_with(under)) {
        return Some((
            "the machine needs what is there".into(),
            "mount it below `/mnt`, `/srv` or another directory of its own",
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_absolute_paths_pass() {
        for fine in ["/mnt/depot", "/srv/a.b-c_d", "/var/lib/data/", "/home"] {
            assert_eq!(unfit(fine), None, "{fine}");
        }
    }

    #[test]
    fn hostile_and_system_paths_do_not() {
        for bad in [
            "",
            "mnt/vault",
            "/mnt/v'; id; '",
            "/mnt/${x}",
            "/mnt/a b",
            "/mnt/../etc",
            "/",
            "//",
            "/etc/",
            "/proc/1",
            "/mnt/\n",
            "/mnt/é",
        ] {
            assert!(unfit(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn slashes_do_not_tell_paths_apart() {
        assert_eq!(plain("/mnt//depot/"), plain("/mnt/depot"));
    }
}
