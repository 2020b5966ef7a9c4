//! Images, where they bake, and what is done to them.

use super::{Assembler, Entry, aliases, description, policy};
use crate::arena::{EntryKey, kind_of, modification_table};
use crate::read::Reader;
use crate::words::quote;
use csis_values::fields::Fields;
use csis_values::name::{is_reserved, safe_name};
use csis_values::tree::{Image, ImageRuntime, Modification};
use csis_values::{Class, Diagnostic, Name, Node, Spanned, Value};
use std::collections::HashMap;

impl Assembler<'_> {
    pub fn images(&mut self) -> Vec<Image> {
        self.each(Class::Image, Self::image)
    }

    fn image(&mut self, mut entry: Entry) -> Image {
        let builder = Self::realised_by(&entry);
        let source = self.source(&mut entry.fields);
        let modifications = self.modifications(&entry);
        let runtimes = self.image_runtimes(&entry);
        if let Some(tests) = entry.fields.object("tests") {
            csis_kinds::check_tests(&entry.what, &tests, &mut self.found);
        }
        self.variables(&entry);
        let Entry { name, fields, .. } = entry;
        let said = description(&fields);
        Image {
            aliases: aliases(&fields, &name),
            builder,
            description: if said.is_empty() {
                format!("Image {} from source image {}", name.written, source.value)
            } else {
                said
            },
            source,
            group: fields.spanned("group"),
            runtimes,
            parent_policy: policy(&fields, "parent_policy"),
            retention_keep: fields.object("retention").and_then(|r| r.int("keep")),
            primary_disk_size: fields.int("primary_disk_size").unwrap_or(200),
            architecture: fields.text("architecture").unwrap_or("x86_64").to_owned(),
            modifications,
            tags: fields.text_map("tags"),
            at: fields.at.clone(),
            fields,
            name,
        }
    }

    /// Variables become names in Packer's language.
    fn variables(&mut self, entry: &Entry) {
        for variable in entry.fields.node("variables").and_then(Node::map).unwrap_or_default() {
            let mut chars = variable.key.chars();
            let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
            if !first || !chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
                let message = format!("{} has the variable {}, which is no name", entry.what, quote(&variable.key));
                let help = "begin it with a letter or `_`, and go on with letters, digits, `_` and `-`";
                self.found.push(Diagnostic::error("variable-name", message).at(&variable.at).help(help));
            }
        }
    }

    /// A source is an OS builder or an image; an unknown one is judged with the chains of images.
    fn source(&self, fields: &mut Fields) -> Spanned<String> {
        let Some(written) = fields.spanned("source_image") else {
            return Spanned::new(String::new(), fields.at.clone());
        };
        let name =
            [Class::OsBuilder, Class::Image].into_iter().find_map(|class| self.names().canonical(class, &written));
        let name = name.map_or_else(|| safe_name(&written), str::to_owned);
        fields.values.insert("source_image".into(), Node::new(Value::Text(name.clone()), written.at.clone()));
        Spanned::new(name, written.at)
    }

    fn image_runtimes(&mut self, entry: &Entry) -> Vec<ImageRuntime> {
        let written =
            entry.node.get("runtimes").and_then(Node::list).unwrap_or_default().iter().filter(|n| n.map().is_some());
        let mut runtimes: Vec<ImageRuntime> = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (fields, node) in entry.fields.objects("runtimes").into_iter().zip(written) {
            let image_builder =
                fields.spanned("image_builder").unwrap_or_else(|| Spanned::new(String::new(), fields.at.clone()));
            let position = self.names().find(Class::ImageBuilder, &image_builder).ok();
            let declared = position
                .and_then(|at| self.names().name(Class::ImageBuilder, at))
                .map(|n| n.written.clone())
                .unwrap_or_default();
            let text = node.get("image_builder").and_then(Node::text).filter(|t| !is_reserved(t));
            let named = !image_builder.value.is_empty();
            let before = if named { seen.insert(image_builder.value.clone(), runtimes.len()) } else { None };
            if let Some(first) = before.and_then(|at| runtimes.get(at)) {
                let message = format!(
                    "{} has two `runtimes` entries for the image builder {}",
                    entry.what,
                    quote(&image_builder)
                );
                let finding = Diagnostic::error("image-builder-twice", message)
                    .at(&image_builder.at)
                    .help("keep one entry per image builder");
                self.found.push(finding.also(&first.image_builder.at, "the first one"));
            }
            runtimes.push(ImageRuntime {
                image_builder_written: text.map_or(declared, str::to_owned),
                runtime: position
                    .and_then(|at| self.reference_of(Class::ImageBuilder, at, "runtime", Class::Runtime))
                    .unwrap_or_default(),
                machine_type: self.machine_type(&fields, position),
                tags: fields.text_map("tags"),
                image_builder,
                at: fields.at.clone(),
                fields,
            });
        }
        if runtimes.is_empty() && entry.fields.node("runtimes").and_then(Node::list).is_some_and(<[Node]>::is_empty) {
            let message = format!("{} has no `runtimes`, so it is baked nowhere", entry.what);
            self.found.push(
                Diagnostic::error("no-runtimes", message)
                    .at(entry.fields.place("runtimes"))
                    .help("declare one entry per image builder"),
            );
        }
        runtimes
    }

    /// The entry's, else its image builder's, else the runtime's.
    fn machine_type(&self, fields: &Fields, image_builder: Option<usize>) -> Option<String> {
        let set = |text: &str| (!is_reserved(text)).then(|| text.to_owned());
        if let Some(own) = fields.text("machine_type").and_then(set) {
            return Some(own);
        }
        let position = image_builder?;
        if let Some(builders) =
            self.rendered(Class::ImageBuilder, position, "default_machine_type").as_deref().and_then(set)
        {
            return Some(builders);
        }
        let runtime = self.reference_of(Class::ImageBuilder, position, "runtime", Class::Runtime)?;
        let runtime = self.names().find(Class::Runtime, &runtime).ok()?;
        self.rendered(Class::Runtime, runtime, "default_machine_type").as_deref().and_then(set)
    }

    /// A text of another entry, rendered.
    fn rendered(&self, class: Class, position: usize, key: &str) -> Option<String> {
        let entry = *self.eval.arena.entries.get(&EntryKey { class, position })?;
        let id = self.eval.arena.get(entry, key)?;
        self.eval.text(id).ok().map(|t| t.to_string()).filter(|t| !t.is_empty())
    }

    /// The canonical name that a field of another entry refers to; its default when absent.
    fn reference_of(&self, class: Class, position: usize, key: &str, target: Class) -> Option<String> {
        let text = self.rendered(class, position, key).unwrap_or_else(|| "default".into());
        self.names().canonical(target, &text).map(str::to_owned)
    }

    fn modifications(&mut self, entry: &Entry) -> Vec<Modification> {
        let Some(node) = entry.fields.node("modifications") else { return Vec::new() };
        let Some(items) = node.list() else {
            if !self.broken.contains(&node.at) {
                let message =
                    format!("{}: `modifications` is {} where a list of mappings belongs", entry.what, node.describe());
                self.found.push(
                    Diagnostic::error("wrong-type", message).at(&node.at).help("begin each modification with `- `"),
                );
            }
            return Vec::new();
        };
        let builders = self.entries.get(&Class::ModBuilder).map_or(&[] as &[Node], Vec::as_slice);
        let mut modifications: Vec<Modification> = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (number, item) in items.iter().enumerate() {
            if item.map().is_none() {
                let message =
                    format!("{}: `modifications[{number}]` is {} where a mapping belongs", entry.what, item.describe());
                self.found.push(
                    Diagnostic::error("wrong-type", message)
                        .at(&item.at)
                        .help("write `- name: …` and its fields below"),
                );
                continue;
            }
            let named = crate::names::written(item);
            let name = Name::new(named.map_or("", |(name, _)| name));
            let what = if named.is_some() {
                format!("{}, modification {}", entry.what, quote(&name.written))
            } else {
                format!("{}, modification {}", entry.what, number + 1)
            };
            let table = modification_table(item, builders, self.names());
            let known = item.get("type").is_none_or(Node::is_null)
                || item
                    .get("type")
                    .and_then(Node::text)
                    .is_some_and(|t| self.names().find(Class::ModBuilder, t).is_ok());
            let mut item = item.clone();
            if (!known || table.own.is_empty())
                && let Value::Map(entries) = &mut item.value
            {
                // Its type is unknown and reported; what the type's own keys mean cannot be judged.
                entries.retain(|e| table.find(&e.key).is_some());
            }
            let mut reader = Reader { names: &self.eval.names, broken: &self.broken, found: &mut self.found };
            let fields = reader.entry(&what, &item, table, &[]);
            let before = if named.is_some() { seen.insert(name.safe.clone(), modifications.len()) } else { None };
            if let Some(first) = before.and_then(|at| modifications.get(at)) {
                let message = format!("{} has two modifications called {}", entry.what, quote(&name.written));
                self.found.push(
                    Diagnostic::error("duplicate-name", message)
                        .at(fields.place("name"))
                        .help("rename one of them")
                        .also(first.fields.place("name"), "the first one"),
                );
            }
            let builder = fields.text("type").unwrap_or_default().to_owned();
            let kind = self
                .names()
                .find(Class::ModBuilder, &builder)
                .ok()
                .and_then(|at| builders.get(at))
                .and_then(kind_of)
                .unwrap_or_default()
                .to_owned();
            modifications.push(Modification { name, builder, kind, at: fields.at.clone(), fields });
        }
        modifications
    }
}
