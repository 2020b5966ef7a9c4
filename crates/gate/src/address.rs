//! Addresses, and what they are called by the people who declared the objects.

use crate::question::Question;
use csis_values::intent::Content;
use csis_values::name;
use csis_values::plan::Change;

/// The address as people and command lines write it, with the deposed key where there is one.
pub fn shown(change: &Change) -> String {
    match &change.deposed {
        Some(key) => format!("{} (deposed {key})", change.address),
        None => change.address.clone(),
    }
}

/// Reads `ADDRESS` or `ADDRESS (deposed KEY)`.
pub fn parse(text: &str) -> (String, Option<String>) {
    let text = text.trim();
    let deposed = text.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (deposed "));
    match deposed {
        Some((address, key)) => (address.trim_end().to_owned(), Some(key.trim().to_owned())),
        None => (text.to_owned(), None),
    }
}

/// The declared item behind an address: its kind, and the label that stands for its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    /// `storage`, `instance` or `group`.
    pub kind: &'a str,
    pub label: &'a str,
}

/// `module.storage_data.aws_ebs_volume.this` belongs to the storage with the label `data`.
pub fn owner(address: &str) -> Option<Owner<'_>> {
    let module = address.strip_prefix("module.")?;
    let module = &module[..module.find(['.', '[']).unwrap_or(module.len())];
    ["storage", "instance", "group"].into_iter().find_map(|kind| {
        let label = module.strip_prefix(kind)?.strip_prefix('_')?;
        (!label.is_empty()).then_some(Owner { kind, label })
    })
}

/// The root's own item with this label, when the root still emits it.
pub fn emits(question: &Question<'_>, owner: Owner<'_>) -> Option<bool> {
    let root = question.root?;
    Some(match &root.content {
        Content::Storages { storages } => {
            owner.kind == "storage" && storages.iter().any(|s| s.name.label == owner.label)
        }
        Content::Instances { instances } => {
            owner.kind == "instance" && instances.iter().any(|i| i.name.label == owner.label)
        }
    })
}

fn written_name(question: &Question<'_>, owner: Owner<'_>) -> String {
    let declared = question.root.and_then(|root| match &root.content {
        Content::Storages { storages } if owner.kind == "storage" => {
            storages.iter().map(|s| &s.name).find(|name| name.label == owner.label)
        }
        Content::Instances { instances } if owner.kind == "instance" => {
            instances.iter().map(|i| &i.name).find(|name| name.label == owner.label)
        }
        _ => None,
    });
    if let Some(name) = declared {
        return name.written.clone();
    }
    let live =
        question.root.into_iter().flat_map(|root| &root.live).map(|live| (live.kind.as_str(), live.name.as_str()));
    let sanctioned =
        question.sanctions.iter().map(|sanction| (sanction.because.kind.as_str(), sanction.because.name.as_str()));
    live.chain(sanctioned)
        .find(|(kind, written)| *kind == owner.kind && name::label(written) == owner.label)
        .map_or_else(|| owner.label.to_owned(), |(_, written)| written.to_owned())
}

/// `storage data`, or the address when no declared item stands behind it.
pub fn item(question: &Question<'_>, address: &str) -> String {
    match owner(address) {
        Some(owner) => format!("{} {}", owner.kind, written_name(question, owner)),
        None => address.to_owned(),
    }
}

/// `EBS volume of storage data`.
pub fn object(question: &Question<'_>, change: &Change) -> String {
    match owner(&change.address) {
        Some(owner) => format!("{} of {} {}", thing(&change.kind), owner.kind, written_name(question, owner)),
        None => format!("{} {}", thing(&change.kind), change.name),
    }
}

/// A resource type in words; the type itself when it has none here.
pub fn thing(kind: &str) -> String {
    let words = match kind {
        "aws_ami" => "registered image",
        "aws_ebs_snapshot" => "EBS snapshot",
        "aws_ebs_volume" => "EBS volume",
        "aws_efs_access_point" => "EFS access point",
        "aws_efs_file_system" => "EFS file system",
        "aws_efs_mount_target" => "EFS mount target",
        "aws_instance" => "machine",
        "aws_s3_bucket" => "S3 bucket",
        "aws_s3_bucket_lifecycle_configuration" => "lifecycle rules",
        "aws_s3_bucket_policy" => "bucket policy",
        "aws_s3_object" => "S3 object",
        "aws_security_group" => "security group",
        "aws_security_group_rule" => "security group rule",
        "aws_volume_attachment" => "volume attachment",
        other => return format!("`{other}`"),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_owner() {
        assert_eq!(owner("module.storage_data.aws_ebs_volume.this"), Some(Owner { kind: "storage", label: "data" }));
        assert_eq!(owner("module.instance_a_1[0].x.y"), Some(Owner { kind: "instance", label: "a_1" }));
        assert_eq!(owner("module.storage_.x"), None);
        assert_eq!(owner("module.storages_data.x"), None);
        assert_eq!(owner("aws_security_group.csis_instances"), None);
    }

    #[test]
    fn a_deposed_key_is_read_back() {
        assert_eq!(parse("a.b (deposed 1a2b)"), ("a.b".to_owned(), Some("1a2b".to_owned())));
        assert_eq!(parse(" a.b[\"x (deposed y)\"] "), ("a.b[\"x (deposed y)\"]".to_owned(), None));
    }
}
