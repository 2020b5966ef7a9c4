//! Storages, and the instances that mount them.

use super::{Assembler, Entry, aliases, description, policy};
use csis_values::name::is_reserved;
use csis_values::tree::{Instance, Mount, Storage, StorageState};
use csis_values::{Class, Diagnostic, Spanned};

impl Assembler<'_> {
    pub fn storages(&mut self) -> Vec<Storage> {
        self.each(Class::Storage, Self::storage)
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

    pub fn instances(&mut self) -> Vec<Instance> {
        self.each(Class::Instance, Self::instance)
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
        let image = Self::image_of(&entry);
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
    fn image_of(entry: &Entry) -> Option<Spanned<String>> {
        let given = entry.node.get("image").filter(|n| !n.is_null())?;
        Some(entry.fields.spanned("image").unwrap_or_else(|| Spanned::new(String::new(), given.at.clone())))
    }
}
