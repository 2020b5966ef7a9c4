//! Where a root finds the modules.

use csis_values::tree::Tree;

/// Folders between a root and the generation directory: lifecycle, builder, phase.
const DEPTH: usize = 3;

/// The source of a module for a root: the tree's module base and the module's name; a base that is a path within the tree is rewritten for the root's
/// place, others stay as they are.
pub(crate) fn of(tree: &Tree, module: &str) -> String {
    source(&tree.config.module_source_base.value, &tree.generation_directory, module)
}

/// The way from a root's folder up to the configuration root, ending with `/`. The private working copies lie as deep as `generated/`.
pub(crate) fn up(generation_directory: &str) -> String {
    let folders = generation_directory.split('/').filter(|part| !matches!(*part, "" | ".")).count();
    "../".repeat(folders + DEPTH)
}

fn source(base: &str, generation_directory: &str, module: &str) -> String {
    if is_remote(base) {
        // A reference such as `?ref=v1` stays behind the module's path.
        let (path, query) =
            base.split_once('?').map_or((base, String::new()), |(path, query)| (path, format!("?{query}")));
        return format!("{}/{module}{query}", path.trim_end_matches('/'));
    }
    if base.starts_with('/') {
        return format!("{}/{module}", base.trim_end_matches('/'));
    }
    let mut kept: Vec<&str> = Vec::new();
    for part in base.split('/') {
        match part {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            other => kept.push(other),
        }
    }
    kept.push(module);
    up(generation_directory) + &kept.join("/")
}

fn is_remote(base: &str) -> bool {
    base.contains("://")
        || base.contains("::")
        || base.starts_with("git@")
        || base.starts_with("github.com/")
        || base.starts_with("bitbucket.org/")
}

#[cfg(test)]
mod tests {
    use super::source;

    #[test]
    fn only_a_path_within_the_tree_is_rewritten() {
        let of = |base: &str| source(base, "generated", "aws_instance");
        for base in ["tfmodules", "./tfmodules/", "x/../tfmodules//."] {
            assert_eq!(of(base), "../../../../tfmodules/aws_instance", "{base}");
        }
        assert_eq!(of("../shared"), "../../../../../shared/aws_instance");
        assert_eq!(of("a/../../b"), "../../../../../b/aws_instance");
        assert_eq!(source("tfmodules", "out/generated", "m"), "../../../../../tfmodules/m");
        assert_eq!(of("/opt/modules/"), "/opt/modules/aws_instance");
        assert_eq!(of("git@github.com:a/b.git//mods"), "git@github.com:a/b.git//mods/aws_instance");
        assert_eq!(
            of("git::https://x.example/y.git//mods?ref=v1"),
            "git::https://x.example/y.git//mods/aws_instance?ref=v1"
        );
        assert_eq!(of("github.com/a/b"), "github.com/a/b/aws_instance");
        assert_eq!(of("s3::https://s3.example/b"), "s3::https://s3.example/b/aws_instance");
    }
}
