//! The list of builder types. Adding a type is one new file and one line here.

use crate::family::{
    GroupKind, ImageKind, InstanceKind, Kind, Modification, OsKind, RuntimeKind, StateKind, StorageKind, UserKind,
};
use csis_values::Class;
use csis_values::fields::Field;
use csis_values::tree::Builder;
use std::collections::BTreeSet;

/// A registered type, by family.
#[derive(Clone, Copy)]
pub enum Registered {
    State(&'static dyn StateKind),
    Runtime(&'static dyn RuntimeKind),
    Os(&'static dyn OsKind),
    Image(&'static dyn ImageKind),
    Instance(&'static dyn InstanceKind),
    Storage(&'static dyn StorageKind),
    Group(&'static dyn GroupKind),
    User(&'static dyn UserKind),
    Modification(&'static dyn Modification),
}

pub static REGISTRY: &[Registered] = &[
    Registered::State(&crate::s3_backend::S3),
    Registered::State(&crate::local_backend::Local),
    Registered::Runtime(&crate::aws::Aws),
    Registered::Os(&crate::rhel::Rhel),
    Registered::Os(&crate::fedora::Fedora),
    Registered::Os(&crate::debian::Debian),
    Registered::Os(&crate::ubuntu::Ubuntu),
    Registered::Os(&crate::alpine::Alpine),
    Registered::Image(&crate::packer_ebs::PackerEbs),
    Registered::Instance(&crate::tofu::Tofu),
    Registered::Storage(&crate::tf_aws_ebs::TfAwsEbs),
    Registered::Storage(&crate::tf_aws_efs::TfAwsEfs),
    Registered::Storage(&crate::tf_aws_s3::TfAwsS3),
    Registered::Group(&crate::posix_groups::PosixGroups),
    Registered::User(&crate::posix_users::PosixUsers),
    Registered::Modification(&crate::ansible::Ansible),
    Registered::Modification(&crate::bash_remote::BashRemote),
];

impl Registered {
    pub fn kind(&self) -> &'static dyn Kind {
        match *self {
            Registered::State(k) => k,
            Registered::Runtime(k) => k,
            Registered::Os(k) => k,
            Registered::Image(k) => k,
            Registered::Instance(k) => k,
            Registered::Storage(k) => k,
            Registered::Group(k) => k,
            Registered::User(k) => k,
            Registered::Modification(k) => k,
        }
    }
}

/// A registered type by class and name (group and user builders share the word `posix`).
pub fn find(class: Class, name: &str) -> Option<Registered> {
    REGISTRY.iter().copied().find(|r| r.kind().class() == class && r.kind().name() == name)
}

/// The words a class accepts after `type:`, in order of registration.
pub fn names(class: Class) -> Vec<&'static str> {
    REGISTRY.iter().map(Registered::kind).filter(|k| k.class() == class).map(Kind::name).collect()
}

/// The resource types that all kinds together make.
pub fn resource_types() -> BTreeSet<&'static str> {
    let of = |registered: &Registered| match *registered {
        Registered::Storage(kind) => kind.resource_types(),
        Registered::Instance(kind) => kind.resource_types(),
        _ => &[],
    };
    REGISTRY.iter().flat_map(of).copied().collect()
}

macro_rules! lookup {
    ($name:ident, $family:ident, $of:ty) => {
        /// The type of a builder that was read, by family.
        pub fn $name(builder: &Builder) -> Option<&'static $of> {
            match find(builder.class, &builder.kind)? {
                Registered::$family(kind) => Some(kind),
                _ => None,
            }
        }
    };
}
lookup!(state, State, dyn StateKind);
lookup!(runtime, Runtime, dyn RuntimeKind);
lookup!(os, Os, dyn OsKind);
lookup!(image, Image, dyn ImageKind);
lookup!(instance, Instance, dyn InstanceKind);
lookup!(storage, Storage, dyn StorageKind);
lookup!(group, Group, dyn GroupKind);
lookup!(user, User, dyn UserKind);
lookup!(modification, Modification, dyn Modification);

/// The fields every builder of a class has, kind or no kind; for executables and the collections, all their fields.
///
/// A reference of an item to another item (`group`, `image`) that is left out means none; only builder classes have a default entry.
pub fn common_fields(class: Class) -> &'static [Field] {
    crate::common::fields(class)
}

/// Keys that are refused in every entry of a class: (key, what to do instead). A type adds its own ([`Kind::refused_keys`]).
pub fn refused_keys(class: Class) -> &'static [(&'static str, &'static str)] {
    crate::common::refused_keys(class)
}

/// The fields every modification of an image has; its type adds [`crate::Modification::item_fields`].
pub fn modification_fields() -> &'static [Field] {
    crate::items::MODIFICATION
}
