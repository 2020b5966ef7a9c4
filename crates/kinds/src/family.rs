//! The families of builder types and what each must answer.

use crate::script::Script;
use csis_values::fields::{Field, Fields};
use csis_values::intent::{InstanceIntent, MountIntent, Root, StorageIntent};
use csis_values::snapshot::RuntimeSnapshot;
use csis_values::tree::{Builder, Storage, Tree, TreeFile};
use csis_values::{Class, Diagnostics};
use hcl::Expression;
use std::collections::BTreeMap;

/// What every builder type answers.
pub trait Kind: Sync {
    /// The word after `type:`.
    fn name(&self) -> &'static str;

    fn class(&self) -> Class;

    /// Its own fields, beyond the ones every builder of the class has ([`crate::registry::common_fields`]).
    fn fields(&self) -> &'static [Field];

    /// Keys that are refused with an explanation of their own: (key, what to do instead).
    fn refused_keys(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The `executables` entry its commands use when the builder names none.
    fn default_executable(&self) -> Option<&'static str> {
        None
    }

    /// What the entry alone can get wrong, beyond shapes.
    fn check(&self, _builder: &Builder, _found: &mut Diagnostics) {}
}

/// Where roots keep their state.
pub trait StateKind: Kind {
    /// The backend's name in HCL, e.g. `s3`.
    fn backend(&self) -> &'static str;

    /// The full location of a workspace's state, e.g. `s3://bucket/key/ws.tfstate`; `ws` is a label.
    fn location(&self, backend: &Builder, ws: &str) -> String;

    /// The partial backend configuration, in order.
    fn settings(&self, backend: &Builder, ws: &str) -> Vec<(String, Expression)>;

    /// The `config` of a consumer's remote-state block, in order.
    fn remote_state(&self, backend: &Builder, ws: &str) -> Vec<(String, Expression)>;

    /// The profile it names.
    fn profile(&self, _backend: &Builder) -> Option<String> {
        None
    }

    /// The engine's lowest version it needs, as `major.minor`.
    fn engine_floor(&self, _backend: &Builder) -> Option<&'static str> {
        None
    }
}

/// A cloud or daemon where images are baked and instances run.
pub trait RuntimeKind: Kind {
    /// Arguments of a provider block bound to it, without the alias, in order: (provider name, arguments).
    fn provider(&self, runtime: &Builder) -> (&'static str, Vec<(String, Expression)>);

    /// Where that provider comes from, e.g. `hashicorp/aws`, when a builder requires no version of it.
    fn provider_source(&self) -> &'static str;

    fn default_machine_type(&self, runtime: &Builder) -> Option<String>;

    /// The zone machines and volumes get by default: the networking default zone, else the default subnet's, else the runtime's.
    fn default_zone(&self, runtime: &Builder) -> Option<String>;

    /// `ssm` and the like, when sessions are configured.
    fn session(&self, runtime: &Builder) -> Option<String>;

    /// The cloud profile it names.
    fn profile(&self, runtime: &Builder) -> Option<String>;

    /// The instance profiles that machines on it may wear.
    fn instance_profiles(&self, _runtime: &Builder) -> Vec<String> {
        Vec::new()
    }

    /// The account it must be, when declared.
    fn account(&self, runtime: &Builder) -> Option<String>;

    /// Judges its ids against what the cloud answered.
    fn check_against(&self, runtime: &Builder, snapshot: &RuntimeSnapshot, found: &mut Diagnostics);
}

/// An operating system base images are made of.
pub trait OsKind: Kind {
    /// The architecture of its images.
    fn architecture(&self, _os: &Builder) -> String {
        "x86_64".into()
    }
}

/// What bakes images.
pub trait ImageKind: Kind {
    /// The artifact's name without its time stamp; the deferred pattern is this, and the query appends `*`.
    fn base_pattern(&self, os: &Builder, runtime: &str) -> String {
        format!("{}-{runtime}", os.name.written)
    }

    fn instance_pattern(&self, image_written: &str, image_builder_written: &str) -> String {
        format!("{image_written}-{image_builder_written}")
    }
}

/// What a root of the emission is made in: the tree, the root, its builder and runtime.
pub struct RootSite<'a> {
    pub tree: &'a Tree,
    pub root: &'a Root,
    pub builder: &'a Builder,
    pub runtime: &'a Builder,
    /// The module source for a module name, already rewritten relative to the root's directory.
    pub module_source: &'a dyn Fn(&str) -> String,
}

/// A storage within its root.
pub struct StorageSite<'a> {
    pub root: &'a RootSite<'a>,
    pub storage: &'a Storage,
    pub intent: &'a StorageIntent,
}

/// A mount within its machine.
pub struct MountSite<'a> {
    pub tree: &'a Tree,
    pub instance: &'a InstanceIntent,
    pub mount: &'a MountIntent,
    /// The storage's builder.
    pub builder: &'a Builder,
}

/// What of a storage's declaration others follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Who may use it, by which id, and how it is shared.
    Groups,
    PublicRead,
    Lifecycle,
    /// The network of its runtime.
    Networking,
}

impl Part {
    /// As the reason of a sanction names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Groups => "groups",
            Self::PublicRead => "public_read",
            Self::Lifecycle => "lifecycle",
            Self::Networking => "networking",
        }
    }
}

/// What realises storages.
pub trait StorageKind: Kind {
    /// `ebs`, `efs`, `s3`: what a base image declares among its storage types.
    fn capability(&self) -> &'static str;

    /// One machine at a time.
    fn single_attach(&self) -> bool;

    /// Groups get a directory of their own with a gid.
    fn posix(&self) -> bool;

    fn zonal(&self) -> bool;

    fn archives(&self) -> bool;

    /// Whether a machine gets it as a block device (a device letter is drawn).
    fn attaches_device(&self) -> bool;

    /// The module's directory name under the module base.
    fn module(&self) -> &'static str;

    /// The module's arguments, in order, without `source` and `providers`.
    fn arguments(&self, site: &StorageSite<'_>) -> Vec<(String, Expression)>;

    /// What a storage of this kind can get wrong: its lifecycle, bucket name, zone.
    fn check_storage(&self, tree: &Tree, builder: &Builder, storage: &Storage, found: &mut Diagnostics);

    /// The name of the thing in the cloud when two storages must not share it (a bucket).
    fn shared_identity(&self, _builder: &Builder, _storage: &Storage) -> Option<String> {
        None
    }

    /// The resource types its module makes.
    fn resource_types(&self) -> &'static [&'static str];

    /// Those among them that hold data.
    fn data_types(&self) -> &'static [&'static str];

    /// Those that hold none, each with the parts of the storage's declaration that it follows: a change there lets it go or be replaced.
    fn followers(&self) -> &'static [(&'static str, &'static [Part])] {
        &[]
    }

    /// Blocks its root needs beside the providers and the state it reads.
    fn root_blocks(&self, _site: &RootSite<'_>) -> Vec<hcl::structure::Structure> {
        Vec::new()
    }

    /// What the launch template is passed for a mount: section of the template's variables (`ebs`, `efs`) and the entry's expressions.
    fn template_entry(&self, _site: &MountSite<'_>) -> Option<(&'static str, Vec<(String, Expression)>)> {
        None
    }

    /// Sections of the template variables that exist even when empty.
    fn template_sections(&self) -> &'static [&'static str] {
        &[]
    }

    /// Shell functions that [`StorageKind::mount_script`] calls, put once at the head of a launch script.
    fn mount_functions(&self) -> &'static str {
        ""
    }

    /// The lines of the launch script that mount it.
    fn mount_script(&self, site: &MountSite<'_>, script: &mut Script);
}

/// What realises instances.
pub trait InstanceKind: Kind {
    /// The module's directory name under the module base.
    fn module(&self) -> &'static str;

    /// The root's own file: file name → body, the name without a directory. An instance's own file is [`crate::head::module_call`] with
    /// [`InstanceKind::arguments`], its launch script [`InstanceKind::script_name`] with [`InstanceKind::launch_script`].
    fn root_files(&self, site: &RootSite<'_>) -> BTreeMap<String, hcl::Body>;

    /// The variable that gives an instance's image once it is known: `<label>_ami_id`.
    fn image_variable(&self, instance: &csis_values::Name) -> String;

    /// The file name of an instance's launch script.
    fn script_name(&self, instance: &csis_values::Name) -> String {
        format!("user-data-{}.sh.tftpl", instance.label)
    }

    /// One instance's module arguments, in order, without `source` and `providers`.
    fn arguments(&self, site: &RootSite<'_>, instance: &InstanceIntent) -> Vec<(String, Expression)>;

    /// The launch script template of an instance.
    fn launch_script(&self, site: &RootSite<'_>, instance: &InstanceIntent) -> Script;

    fn resource_types(&self) -> &'static [&'static str];

    /// Address of the machine within its module, e.g. `aws_instance.this`.
    fn machine(&self) -> &'static str {
        "aws_instance.this"
    }

    /// Address of the attachments within the module, keyed by the storage's safe name; none when mounts are no objects of their own.
    fn attachments(&self) -> Option<&'static str> {
        Some("aws_volume_attachment.this")
    }

    /// Addresses in the root that machines share and that go with the last of them.
    fn shared(&self) -> &'static [&'static str] {
        &["aws_security_group.csis_instances"]
    }
}

/// What owns groups.
pub trait GroupKind: Kind {
    /// `posix`, `okta`.
    fn identity_type(&self) -> &'static str;

    /// Whether gids are declared in configuration.
    fn declares_gids(&self) -> bool;
}

/// What owns users.
pub trait UserKind: Kind {
    /// The default of `email_as_username`.
    fn email_as_username(&self) -> bool;
}

/// What modifies an image while it bakes.
pub trait Modification: Kind {
    /// Fields of a modification item of this type, beyond the common ones.
    fn item_fields(&self) -> &'static [Field];

    /// Paths of the files an item names (playbooks, scripts), as written.
    fn files(&self, item: &Fields) -> Vec<csis_values::Spanned<String>>;

    /// What an item alone can get wrong.
    fn check_item(&self, name: &str, item: &Fields, found: &mut Diagnostics);

    /// `ansible`, `declared` or `unknown`: what the record says of running it twice.
    fn idempotence(&self, item: &Fields) -> &'static str;

    /// The content that a fingerprint hashes, given the files it names.
    fn content(&self, item: &Fields, files: &BTreeMap<String, TreeFile>) -> serde_json::Value;
}
