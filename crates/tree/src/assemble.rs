//! Fields into the typed tree.

use crate::arena::{EntryKey, Id, Table, kind_of, modification_table, table_of};
use crate::hygiene::REMOVED;
use crate::names::Names;
use crate::read::Reader;
use crate::template::Evaluator;
use crate::words::{list, nearest, quote};
use csis_kinds::{public_key, registry};
use csis_values::fields::Fields;
use csis_values::name::{is_reserved, safe_name};
use csis_values::tree::{
    Builder, Executable, Group, Image, ImageRuntime, Instance, Modification, Mount, Policy, Storage, StorageState, User,
};
use csis_values::{Class, Diagnostic, Diagnostics, Name, Node, Place, Spanned, Value};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

pub(crate) struct Assembler<'a> {
    pub eval: &'a Arc<Evaluator>,
    /// Entries of `cfg/` by class, as counted by the names.
    pub entries: &'a HashMap<Class, Vec<Node>>,
    pub transient: &'a BTreeSet<(Class, String)>,
    pub broken: HashSet<Place>,
    pub found: Diagnostics,
}

/// An entry on its way: what it is called, its rendered node, its fields.
struct Entry {
    id: Id,
    name: Name,
    what: String,
    node: Node,
    fields: Fields,
}

impl<'a> Assembler<'a> {
    fn names(&self) -> &'a Names {
        &self.eval.names
    }

    fn entry(&mut self, class: Class, position: usize) -> Option<Entry> {
        let name = self.names().name(class, position)?.clone();
        let id = *self.eval.arena.entries.get(&EntryKey { class, position })?;
        let node = self.eval.node(id, &mut self.broken);
        let what = format!("{} {}", class.noun(), quote(&name.written));
        let (node, table, refused) = self.model(class, &what, node);
        let mut reader = Reader { names: &self.eval.names, broken: &self.broken, found: &mut self.found };
        let fields = reader.entry(&what, &node, table, &refused);
        Some(Entry { id, name, what, node, fields })
    }

    /// The table an entry is read by. A builder of an unknown type keeps only what its class shares, and its other keys are not judged.
    fn model(&mut self, class: Class, what: &str, mut node: Node) -> (Node, Table, Vec<(&'static str, &'static str)>) {
        let mut refused = registry::refused_keys(class).to_vec();
        if !Class::BUILDERS.contains(&class) {
            return (node, table_of(class, None), refused);
        }
        let kind = kind_of(&node).unwrap_or_default().to_owned();
        let table = table_of(class, Some(&kind));
        match registry::find(class, &kind) {
            Some(registered) => refused.extend(registered.kind().refused_keys()),
            None => {
                if let Some(at) = node.get("type").filter(|n| !n.is_null()).map(|n| n.at.clone()) {
                    let known = registry::names(class);
                    let message = format!(
                        "{what}: there is no {} type {} (the types are {})",
                        class.noun(),
                        quote(&kind),
                        list(known.iter().copied())
                    );
                    let help = nearest(&kind, known.iter().copied())
                        .map_or_else(|| "write one of them".to_owned(), |near| format!("write `{near}`"));
                    self.found.push(Diagnostic::error("unknown-type", message).at(&at).help(help));
                }
                if let Value::Map(entries) = &mut node.value {
                    entries.retain(|e| table.find(&e.key).is_some() || refused.iter().any(|(key, _)| *key == e.key));
                }
            }
        }
        (node, table, refused)
    }

    pub fn executables(&mut self) -> Vec<Executable> {
        self.each(Class::Executable, |_, entry| {
            let Entry { name, fields, .. } = entry;
            let kind = fields
                .text("type")
                .filter(|k| !matches!(*k, "default" | "executable"))
                .unwrap_or(&name.written)
                .to_owned();
            let binary = fields.text("binary").unwrap_or(&name.written).to_owned();
            Executable { kind, binary, version: fields.spanned("version"), at: fields.at.clone(), fields, name }
        })
    }

    fn each<T>(&mut self, class: Class, make: impl Fn(&mut Self, Entry) -> T) -> Vec<T> {
        let count = self.names().declared(class).count();
        (0..count).filter_map(|position| self.entry(class, position).map(|entry| make(self, entry))).collect()
    }

    pub fn builders(&mut self) -> Vec<Builder> {
        let mut builders = Vec::new();
        for class in Class::BUILDERS.iter().copied() {
            builders.extend(self.each(class, |assembler, entry| assembler.builder(class, entry)));
        }
        builders
    }

    fn builder(&mut self, class: Class, entry: Entry) -> Builder {
        let Entry { name, node, fields, .. } = entry;
        let state_configuration = fields.spanned("state_configuration");
        Builder {
            class,
            kind: kind_of(&node).unwrap_or_default().to_owned(),
            aliases: aliases(&fields, &name),
            is_default: fields.flag("is_default").unwrap_or_default(),
            runtime: fields.spanned("runtime").filter(|_| class != Class::Runtime),
            state_configuration,
            executable: fields.spanned("executable"),
            tags: fields.text_map("tags"),
            at: fields.at.clone(),
            fields,
            name,
        }
    }

    /// The builder of an item, by the canonical name that its `type` was read as; empty when there is none.
    fn realised_by(entry: &Entry) -> Spanned<String> {
        entry.fields.spanned("type").unwrap_or_else(|| Spanned::new(String::new(), entry.fields.at.clone()))
    }

    pub fn users(&mut self) -> Vec<User> {
        self.each(Class::User, |assembler, entry| assembler.user(entry))
    }

    fn user(&mut self, entry: Entry) -> User {
        let builder = Self::realised_by(&entry);
        for key in ["first_name", "last_name"] {
            if entry.fields.text(key).is_some_and(|t| t.trim().is_empty()) {
                let message = format!("{}: `{key}` is blank", entry.what);
                self.found.push(
                    Diagnostic::error("missing-field", message)
                        .at(entry.fields.place(key))
                        .help("write the person's name"),
                );
            }
        }
        let public_keys = entry.fields.texts("public_keys");
        for key in public_keys.iter().filter(|k| k.value != REMOVED) {
            public_key::check(&entry.what, key, &mut self.found);
        }
        let template = self.builder_text(Class::UserBuilder, &builder, "default_user_description_template");
        let description = match entry.fields.text("description") {
            Some(text) => text.to_owned(),
            None => template.and_then(|t| self.eval.render_in(entry.id, &t.value, &t.at).ok()).unwrap_or_default(),
        };
        let email = entry
            .fields
            .text("email")
            .map(str::to_owned)
            .or_else(|| self.eval.given(entry.id, "email").map(|t| t.to_string()))
            .unwrap_or_default();
        self.email_is_name(&entry, &builder, &email);
        let Entry { name, fields, .. } = entry;
        let text = |key: &str| fields.text(key).unwrap_or_default().to_owned();
        User {
            first_name: text("first_name"),
            last_name: text("last_name"),
            email,
            description,
            uid: number(&fields, "uid"),
            public_keys,
            builder,
            at: fields.at.clone(),
            fields,
            name,
        }
    }

    fn email_is_name(&mut self, entry: &Entry, builder: &Spanned<String>, email: &str) {
        let Ok(position) = self.names().find(Class::UserBuilder, builder) else { return };
        let Some(node) = self.entries.get(&Class::UserBuilder).and_then(|nodes| nodes.get(position)) else { return };
        let kind = kind_of(node).and_then(|kind| registry::find(Class::UserBuilder, kind));
        let default = matches!(kind, Some(registry::Registered::User(kind)) if kind.email_as_username());
        let wanted = match node.get("email_as_username").map(|n| &n.value) {
            Some(Value::Bool(b)) => *b,
            Some(Value::Text(text)) => crate::read::bool_word(text).unwrap_or(default),
            _ => default,
        };
        if wanted
            && !email.is_empty()
            && !crate::secrets::is_marker(email)
            && !email.eq_ignore_ascii_case(entry.name.written.trim())
        {
            let message = format!(
                "{} has the address {}, and user builder {} wants name and address to be equal",
                entry.what,
                quote(email),
                quote(builder)
            );
            let help = "make them equal, or set `email_as_username: false` on the user builder";
            self.found.push(Diagnostic::error("email-as-username", message).at(entry.fields.place("email")).help(help));
        }
    }

    /// A text of a builder entry as it is written, else its type's default.
    fn builder_text(&self, class: Class, builder: &str, key: &str) -> Option<Spanned<String>> {
        builder_text(self.eval, self.entries, class, builder, key)
    }

    pub fn groups(&mut self) -> Vec<Group> {
        let groups = self.each(Class::Group, |assembler, entry| assembler.group(entry));
        let roots: Vec<&Group> = groups.iter().filter(|g| g.is_root).collect();
        if roots.len() != 1 && !self.names().partial.contains(&Class::Group) {
            let message = match roots.as_slice() {
                [] => "no group is the root group (`is_root: true`); exactly one is".to_owned(),
                many => format!(
                    "{} groups say `is_root: true`, {}; exactly one does",
                    many.len(),
                    list(many.iter().map(|g| g.name.written.as_str()))
                ),
            };
            let mut finding = Diagnostic::error("root-group", message)
                .help("set `is_root: true` on the group whose admins administer every group");
            if let Some((last, rest)) = roots.split_last() {
                finding = rest.iter().fold(finding.at(last.fields.place("is_root")), |f, g| {
                    f.also(g.fields.place("is_root"), "says so too")
                });
            } else {
                finding = finding.at(&groups.first().map_or_else(|| Place::head("groups"), |g| g.at.clone()));
            }
            self.found.push(finding);
        }
        groups
    }

    fn group(&mut self, entry: Entry) -> Group {
        let builder = Self::realised_by(&entry);
        let gid = self.gid(&entry);
        let Entry { name, fields, .. } = entry;
        Group {
            aliases: aliases(&fields, &name),
            builder,
            description: description(&fields),
            is_root: fields.flag("is_root").unwrap_or_default(),
            members: fields.texts("members"),
            admins: fields.texts("admins"),
            gid,
            include_root_group_in_admins: fields.flag("include_root_group_in_admins").unwrap_or(true),
            unmanaged: fields.flag("unmanaged").unwrap_or_default(),
            in_both: fields.flag("in_both"),
            at: fields.at.clone(),
            fields,
            name,
        }
    }

    /// A number; `default`, 0 and nothing leave it open.
    fn gid(&mut self, entry: &Entry) -> Option<Spanned<i64>> {
        let node = entry.fields.node("gid")?;
        let text = match &node.value {
            Value::Text(text) | Value::Int(_, text) => text.trim(),
            _ => return None,
        };
        if is_reserved(text) || text == "0" || self.broken.contains(&node.at) {
            return None;
        }
        match text.parse::<i64>() {
            Ok(gid) if text.bytes().all(|b| b.is_ascii_digit()) => Some(Spanned::new(gid, node.at.clone())),
            _ => {
                let message = format!("{}: the gid is {}, which is no number from 1024", entry.what, quote(text));
                self.found.push(
                    Diagnostic::error("wrong-type", message)
                        .at(&node.at)
                        .help("write a whole number from 1024, or leave the key out"),
                );
                None
            }
        }
    }

    pub fn storages(&mut self) -> Vec<Storage> {
        self.each(Class::Storage, |assembler, entry| assembler.storage(entry))
    }

    fn storage(&mut self, entry: Entry) -> Storage {
        let builder = Self::realised_by(&entry);
        let Entry { name, fields, .. } = entry;
        let state = fields.spanned("state").map(|s| {
            s.map(|word| match word.as_str() {
                "archived" => StorageState::Archived,
                "destroyed" => StorageState::Destroyed,
                _ => StorageState::Active,
            })
        });
        Storage {
            aliases: aliases(&fields, &name),
            builder,
            description: description(&fields),
            groups: fields.texts("groups"),
            availability_zone: fields.spanned("availability_zone"),
            public_read: fields.flag("public_read").unwrap_or_default(),
            share_mode: fields.text("share_mode").filter(|m| *m == "2775").unwrap_or("2770").to_owned(),
            state: state.unwrap_or_else(|| Spanned::new(StorageState::Active, fields.at.clone())),
            lifecycle: fields.object("lifecycle"),
            bucket_name: fields.spanned("bucket_name"),
            tags: fields.text_map("tags"),
            transient: self.transient.contains(&(Class::Storage, name.safe.clone())),
            at: fields.at.clone(),
            fields,
            name,
        }
    }

    pub fn images(&mut self) -> Vec<Image> {
        self.each(Class::Image, |assembler, entry| assembler.image(entry))
    }

    fn image(&mut self, mut entry: Entry) -> Image {
        let builder = Self::realised_by(&entry);
        let source = self.source(&mut entry.fields);
        let modifications = self.modifications(&entry);
        let runtimes = self.image_runtimes(&entry);
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
        for (fields, node) in entry.fields.objects("runtimes").into_iter().zip(written) {
            let image_builder =
                fields.spanned("image_builder").unwrap_or_else(|| Spanned::new(String::new(), fields.at.clone()));
            let position = self.names().find(Class::ImageBuilder, &image_builder).ok();
            let declared = position
                .and_then(|at| self.names().name(Class::ImageBuilder, at))
                .map(|n| n.written.clone())
                .unwrap_or_default();
            let text = node.get("image_builder").and_then(Node::text).filter(|t| !is_reserved(t));
            if let Some(first) = runtimes
                .iter()
                .find(|r| r.image_builder.value == image_builder.value && !image_builder.value.is_empty())
            {
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
            let known = item.get("type").is_none_or(|n| n.is_null())
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
            if let Some(first) = modifications.iter().find(|m| m.name.safe == name.safe && named.is_some()) {
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

    pub fn instances(&mut self) -> Vec<Instance> {
        self.each(Class::Instance, |assembler, entry| assembler.instance(entry))
    }

    fn instance(&mut self, entry: Entry) -> Instance {
        let builder = Self::realised_by(&entry);
        let mut mounts = Vec::new();
        for fields in entry.fields.objects("storages") {
            if let Some(aliases) = fields.node("aliases") {
                let message = format!("{}: `aliases` of a mount means nothing and is dropped", entry.what);
                self.found.push(Diagnostic::warning("mount-aliases", message).at(&aliases.at).help("remove it"));
            }
            let Some(storage) = fields.spanned("name") else { continue };
            let mount_point =
                fields.spanned("mount_point").unwrap_or_else(|| Spanned::new("/mnt/storage".into(), fields.at.clone()));
            mounts.push(Mount { storage, mount_point, at: fields.at.clone() });
        }
        let image = self.image_of(&entry);
        let Entry { name, fields, .. } = entry;
        let said = description(&fields);
        let image_name = image.as_ref().map_or("no image", |i| i.value.as_str());
        Instance {
            aliases: aliases(&fields, &name),
            builder,
            description: if said.is_empty() { format!("Instance from {image_name}") } else { said },
            runtime: fields.spanned("runtime").unwrap_or_else(|| Spanned::new(String::new(), fields.at.clone())),
            machine_type: fields.text("machine_type").filter(|t| !is_reserved(t)).map(str::to_owned),
            mounts,
            availability_zone: fields.spanned("availability_zone"),
            userdata: fields.text("userdata").unwrap_or_default().to_owned(),
            image_policy: policy(&fields, "image_policy"),
            ephemeral: fields.flag("ephemeral").unwrap_or_default(),
            tags: fields.text_map("tags"),
            transient: self.transient.contains(&(Class::Instance, name.safe.clone())),
            image,
            at: fields.at.clone(),
            fields,
            name,
        }
    }

    /// An image that is named and cannot be read is known to be there: its name is empty.
    fn image_of(&self, entry: &Entry) -> Option<Spanned<String>> {
        let given = entry.node.get("image").filter(|n| !n.is_null())?;
        Some(entry.fields.spanned("image").unwrap_or_else(|| Spanned::new(String::new(), given.at.clone())))
    }
}

/// A text of a builder entry as it is written, else its type's default.
fn builder_text(
    eval: &Evaluator,
    entries: &HashMap<Class, Vec<Node>>,
    class: Class,
    builder: &str,
    key: &str,
) -> Option<Spanned<String>> {
    let position = eval.names.find(class, builder).ok()?;
    let node = entries.get(&class)?.get(position)?;
    if let Some(Node { value: Value::Text(text), at }) = node.get(key) {
        return Some(Spanned::new(text.clone(), at.clone()));
    }
    let field = table_of(class, kind_of(node)).find(key)?;
    (!field.default.is_empty()).then(|| Spanned::new(field.default.to_owned(), node.at.clone()))
}

/// Gives every user that has no address the one its builder's template makes, before anything reads it.
pub(crate) fn give_addresses(eval: &Arc<Evaluator>, entries: &HashMap<Class, Vec<Node>>) {
    for position in 0..eval.names.declared(Class::User).count() {
        let Some(&id) = eval.arena.entries.get(&EntryKey { class: Class::User, position }) else { continue };
        if eval.arena.get(id, "email").is_some_and(|email| !eval.arena.is_null(email)) {
            continue;
        }
        let builder = match eval.arena.get(id, "type").map(|t| eval.text(t)) {
            Some(Ok(text)) if !text.is_empty() => text.to_string(),
            _ => "default".to_owned(),
        };
        if let Some(template) = builder_text(eval, entries, Class::UserBuilder, &builder, "default_user_email_template")
            && let Ok(text) = eval.render_in(id, &template.value, &template.at)
        {
            eval.give(id, "email", text);
        }
    }
}

fn description(fields: &Fields) -> String {
    fields.text("description").unwrap_or_default().to_owned()
}

fn aliases(fields: &Fields, name: &Name) -> Vec<String> {
    let aliases = fields.texts("aliases").into_iter().map(|a| safe_name(&a.value));
    aliases.filter(|a| *a != name.safe).collect::<BTreeSet<_>>().into_iter().collect()
}

fn policy(fields: &Fields, key: &str) -> Policy {
    if fields.text(key) == Some("follow") { Policy::Follow } else { Policy::Pinned }
}

fn number(fields: &Fields, key: &str) -> Option<Spanned<i64>> {
    fields.int(key).map(|n| Spanned::new(n, fields.place(key).clone()))
}
