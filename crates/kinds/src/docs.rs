//! The reference part of `docs/format.md`, from the same tables that read a tree. The page is the guide beside this file, then these tables.

use crate::family::Kind;
use crate::registry::{self, REGISTRY, Registered};
use crate::vocabulary::TESTS;
use csis_values::Class;
use csis_values::fields::{Field, Shape};
use std::fmt::Write;

const GUIDE: &str = include_str!("format_guide.md");

/// The whole page. `document` and `config` are the tables of the document itself.
pub fn page(document: &[Field], config: &[Field]) -> String {
    let mut page = String::from(GUIDE);
    let document: Vec<Field> =
        document.iter().map(|f| if f.name == "config" { Field { shape: Shape::Free, ..*f } } else { *f }).collect();
    section(&mut page, 3, "Document", "The top-level keys of `cfg/`, beside the lists below.", &document);
    section(&mut page, 3, "Config", "The recognised keys of `config:`. Every other key is data for templates.", config);
    class(&mut page, Class::Executable);
    for one in Class::BUILDERS.iter().chain(Class::COLLECTIONS) {
        class(&mut page, *one);
    }
    section(&mut page, 3, "Tests", "What a `tests:` mapping may hold.", TESTS);
    page
}

/// Where a class or a type stands in the page: `format.md#storage-builder-tf-aws-ebs`.
pub fn anchor(class: Class, kind: Option<&str>) -> String {
    let heading = kind.map_or_else(|| class.noun().to_owned(), |kind| format!("{} {kind}", class.noun()));
    format!("format.md#{}", heading.to_lowercase().replace(' ', "-"))
}

fn class(page: &mut String, class: Class) {
    let noun = class.noun();
    let about = format!(
        "An entry of `{}:`{}.",
        class.key(),
        if registry::names(class).is_empty() { "" } else { "; every type has these fields" }
    );
    let kinds: Vec<&dyn Kind> = REGISTRY.iter().map(Registered::kind).filter(|k| k.class() == class).collect();
    let shared = shared(&kinds);
    section(page, 3, &capital(noun), &about, &[registry::common_fields(class), &shared].concat());
    for kind in kinds {
        let about = match kind.default_executable() {
            Some(executable) => {
                format!("Beside the fields of every {noun}. Without an `executable` it uses the entry `{executable}`.")
            }
            None => format!("Beside the fields of every {noun}."),
        };
        let own: Vec<Field> =
            kind.fields().iter().filter(|f| shared.iter().all(|s| s.name != f.name)).copied().collect();
        let about = if own.is_empty() { about.replace("Beside the", "The") } else { about };
        section(page, 4, &format!("{} `{}`", capital(noun), kind.name()), &about, &own);
        let refused: Vec<String> = kind.refused_keys().iter().map(|(key, why)| format!("- `{key}`: {why}\n")).collect();
        if !refused.is_empty() {
            let _ = write!(page, "\nRefused:\n\n{}", refused.concat());
        }
    }
    let refused: Vec<String> =
        registry::refused_keys(class).iter().map(|(key, why)| format!("- `{key}`: {why}\n")).collect();
    if !refused.is_empty() && registry::names(class).is_empty() {
        let _ = write!(page, "\nRefused:\n\n{}", refused.concat());
    }
    if class == Class::Image {
        modifications(page);
    }
}

/// The fields that every one of several types has.
fn shared(kinds: &[&dyn Kind]) -> Vec<Field> {
    let [first, rest @ ..] = kinds else { return Vec::new() };
    let everywhere =
        |field: &&Field| !rest.is_empty() && rest.iter().all(|k| k.fields().iter().any(|other| is_same(field, other)));
    first.fields().iter().filter(everywhere).copied().collect()
}

fn is_same(one: &Field, other: &Field) -> bool {
    let inner = match (one.shape, other.shape) {
        (Shape::Object(a) | Shape::Objects(a), Shape::Object(b) | Shape::Objects(b)) => are_same(a, b),
        _ => true,
    };
    one.name == other.name && one.doc == other.doc && inner
}

fn are_same(one: &[Field], other: &[Field]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
}

fn modifications(page: &mut String) {
    section(
        page,
        3,
        "Modification",
        "An entry of an image's `modifications:`; every type has these fields.",
        registry::modification_fields(),
    );
    for registered in REGISTRY {
        if let Registered::Modification(kind) = registered {
            section(
                page,
                4,
                &format!("Modification `{}`", kind.name()),
                "Beside the fields of every modification.",
                kind.item_fields(),
            );
        }
    }
}

fn section(page: &mut String, level: usize, heading: &str, about: &str, fields: &[Field]) {
    let _ = write!(page, "\n{} {heading}\n\n{about}\n", "#".repeat(level));
    if fields.is_empty() {
        return;
    }
    page.push_str("\n| field | value | default | meaning |\n|---|---|---|---|\n");
    rows(page, "", fields);
}

fn rows(page: &mut String, prefix: &str, fields: &[Field]) {
    for field in fields {
        let default = match (field.required, field.default) {
            (true, _) => "*required*".to_owned(),
            (false, "") => String::new(),
            (false, default) => format!("`{default}`"),
        };
        let _ = writeln!(
            page,
            "| `{prefix}{}` | {} | {default} | {} |",
            field.name,
            value(&field.shape),
            field.doc.replace('|', "\\|")
        );
        match field.shape {
            Shape::Object(inner) if is_tests(inner) => {}
            Shape::Object(inner) => rows(page, &format!("{prefix}{}.", field.name), inner),
            Shape::Objects(inner) => rows(page, &format!("{prefix}{}[].", field.name), inner),
            _ => {}
        }
    }
}

fn value(shape: &Shape) -> String {
    match shape {
        Shape::Text => "text".into(),
        Shape::Bool => "yes or no".into(),
        Shape::Int { min, max: i64::MAX } => format!("whole number from {min}"),
        Shape::Int { min, max } => format!("whole number, {min} to {max}"),
        Shape::Word(words) => words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", "),
        Shape::Texts => "list of texts".into(),
        Shape::TextMap => "mapping to texts".into(),
        Shape::ScalarMap => "mapping to texts, numbers or booleans".into(),
        Shape::Duration => "duration: `45m`, `2h`, `7d`".into(),
        Shape::Mode => "file mode: `\"0644\"`".into(),
        Shape::Free => "free".into(),
        Shape::Object(inner) if is_tests(inner) => "[tests](#tests)".into(),
        Shape::Object(_) => "mapping".into(),
        Shape::Objects(_) => "list of mappings".into(),
        Shape::Ref(class) => format!("name of {} [{}](#{})", article(class.noun()), class.noun(), slug(*class)),
        Shape::Refs(class) => format!("names of [{}s](#{})", class.noun(), slug(*class)),
    }
}

/// The vocabulary of tests is told once.
fn is_tests(fields: &[Field]) -> bool {
    are_same(fields, TESTS)
}

fn slug(class: Class) -> String {
    class.noun().to_lowercase().replace(' ', "-")
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'O']) { "an" } else { "a" }
}

fn capital(noun: &str) -> String {
    let mut letters = noun.chars();
    letters.next().map(|first| first.to_uppercase().collect::<String>() + letters.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anchor_has_its_heading() {
        let page = page(&[], &[]);
        let slugs: Vec<String> = page
            .lines()
            .filter_map(|l| l.strip_prefix("#"))
            .map(|l| l.trim_start_matches('#').trim().to_lowercase().replace('`', "").replace(' ', "-"))
            .collect();
        for kind in REGISTRY.iter().map(Registered::kind) {
            for anchor in [anchor(kind.class(), None), anchor(kind.class(), Some(kind.name()))] {
                assert!(slugs.iter().any(|s| format!("format.md#{s}") == anchor), "{anchor}");
            }
        }
    }
}
