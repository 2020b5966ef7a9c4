//! Users and groups.

use super::{Assembler, Entry, aliases, description, number};
use crate::arena::{EntryKey, kind_of, table_of};
use crate::hygiene::REMOVED;
use crate::template::Evaluator;
use crate::words::{list, quote};
use csis_kinds::{public_key, registry};
use csis_values::name::is_reserved;
use csis_values::tree::{Group, User};
use csis_values::{Class, Diagnostic, Node, Place, Spanned, Value};
use std::collections::HashMap;
use std::sync::Arc;

impl Assembler<'_> {
    pub fn users(&mut self) -> Vec<User> {
        self.each(Class::User, Self::user)
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
        let groups = self.each(Class::Group, Self::group);
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
