//! What every root of the emission has: its providers, its backend, the state it reads, and the calls of its modules.
//!
//! A storage root's own file is [`storage_root`]; an instance root's is made by its kind from [`requirements`] and [`remote_states`] with its variables
//! between them. An item's file is [`module_call`] and, for a storage, [`storage_output`].

use crate::ast::{block, body, identifier, object, path, set, sets, text};
use crate::family::RootSite;
use crate::registry;
use csis_values::Class;
use csis_values::fields::Fields;
use csis_values::intent::{Content, Root};
use csis_values::tree::{Builder, Tree};
use hcl::structure::Structure;
use hcl::{Block, Body, Expression};

/// The whole own file of a storage root.
pub fn storage_root(site: &RootSite<'_>) -> Body {
    let mut parts = requirements(site);
    parts.extend(remote_states(site));
    if let Some(kind) = registry::storage(site.builder) {
        parts.extend(kind.root_blocks(site));
    }
    body(parts)
}

/// The `terraform` block and the provider blocks.
pub fn requirements(site: &RootSite<'_>) -> Vec<Structure> {
    let mut terraform = vec![block("required_providers", &[], required_providers(site)).into()];
    if let Some(state) = backend(site) {
        terraform.push(block("backend", &[state], Vec::new()).into());
    }
    let mut parts = vec![block("terraform", &[], terraform).into()];
    if let Some(kind) = registry::runtime(site.runtime) {
        let (name, arguments) = kind.provider(site.runtime);
        let mut settings = sets(arguments);
        settings.push(set("alias", text(alias(site))));
        parts.push(block("provider", &[name], settings).into());
    }
    parts
}

/// The backend's name in HCL, when backends are in use and the root has one.
fn backend(site: &RootSite<'_>) -> Option<&'static str> {
    let state = site.root.state.as_ref().filter(|_| site.tree.config.use_state_backends)?;
    Some(registry::state(site.tree.builder(Class::StateBackend, &state.backend)?)?.backend())
}

fn required_providers(site: &RootSite<'_>) -> Vec<Structure> {
    required(site.builder, site.runtime).into_iter().map(Requirement::into_attribute).collect()
}

/// The sources of the providers that a root requires, e.g. `hashicorp/aws`.
pub fn provider_sources(tree: &Tree, root: &Root) -> Vec<String> {
    let class = match root.content {
        Content::Storages { .. } => Class::StorageBuilder,
        Content::Instances { .. } => Class::InstanceBuilder,
    };
    let builder = tree.builder(class, &root.builder.safe);
    let runtime = root.runtime.as_deref().and_then(|name| tree.builder(Class::Runtime, name));
    let Some((builder, runtime)) = builder.zip(runtime) else { return Vec::new() };
    required(builder, runtime).into_iter().map(|requirement| requirement.source).collect()
}

/// Where an entry of `required_plugins` comes from; one that does not say has the engine's default. None without a name.
pub fn plugin_source(plugin: &Fields) -> Option<String> {
    plugin.text("source").map(str::to_owned).or_else(|| Some(format!("hashicorp/{}", plugin.text("name")?)))
}

fn required(builder: &Builder, runtime: &Builder) -> Vec<Requirement> {
    let mut wanted: Vec<Requirement> = Vec::new();
    for plugin in builder.fields.objects("required_plugins") {
        let Some((name, source)) = plugin.text("name").zip(plugin_source(&plugin)) else { continue };
        let at = wanted.iter().position(|r| r.name == name).unwrap_or_else(|| {
            wanted.push(Requirement { name: name.to_owned(), source, versions: Vec::new() });
            wanted.len() - 1
        });
        if let Some(version) = plugin.text("version").map(str::to_owned).filter(|v| !wanted[at].versions.contains(v)) {
            wanted[at].versions.push(version);
        }
    }
    if wanted.is_empty()
        && let Some(kind) = registry::runtime(runtime)
    {
        let (name, _) = kind.provider(runtime);
        wanted.push(Requirement { name: name.into(), source: kind.provider_source().into(), versions: Vec::new() });
    }
    wanted
}

struct Requirement {
    name: String,
    source: String,
    versions: Vec<String>,
}

impl Requirement {
    fn into_attribute(self) -> Structure {
        let mut entry = vec![("source", text(self.source))];
        if !self.versions.is_empty() {
            entry.push(("version", text(self.versions.join(", "))));
        }
        set(&self.name, plain_object(entry))
    }
}

/// An object with bare keys.
pub(crate) fn plain_object<'a>(entries: impl IntoIterator<Item = (&'a str, Expression)>) -> Expression {
    Expression::Object(
        entries
            .into_iter()
            .map(|(key, value)| (hcl::expr::ObjectKey::Identifier(hcl::Identifier::sanitized(key)), value))
            .collect(),
    )
}

/// The alias of the root's provider.
fn alias(site: &RootSite<'_>) -> String {
    identifier(&site.builder.name.label).to_string()
}

/// `aws.<alias>`: what modules, data and resources of the root bind to.
pub fn provider_reference(site: &RootSite<'_>) -> Option<Expression> {
    let (name, _) = registry::runtime(site.runtime)?.provider(site.runtime);
    Some(path(name, &[&alias(site)]))
}

/// A `terraform_remote_state` block per root that this one reads. A producer without a backend is left out: the rules refuse such a tree.
pub fn remote_states(site: &RootSite<'_>) -> Vec<Structure> {
    let mut parts = Vec::new();
    for read in &site.root.reads {
        let Some(backend) = read.backend.as_deref().and_then(|name| site.tree.builder(Class::StateBackend, name))
        else {
            continue;
        };
        let Some(kind) = registry::state(backend) else { continue };
        let config = object_of(kind.remote_state(backend, &read.label));
        let settings = vec![set("backend", text(kind.backend())), set("config", config)];
        parts.push(block("data", &["terraform_remote_state", identifier(&read.label).as_str()], settings).into());
    }
    parts
}

/// An object with bare keys, from arguments.
fn object_of(arguments: Vec<(String, Expression)>) -> Expression {
    Expression::Object(
        arguments
            .into_iter()
            .map(|(key, value)| (hcl::expr::ObjectKey::Identifier(hcl::Identifier::sanitized(key)), value))
            .collect(),
    )
}

/// The output of a storage that another root reads: `data.terraform_remote_state.<builder>.outputs.storage_<label>`.
pub fn storage_outputs(tree: &Tree, builder: &Builder, storage: &str) -> Expression {
    let label = tree.storage(storage).map_or_else(|| csis_values::name::label(storage), |s| s.name.label.clone());
    let producer = identifier(&builder.name.label);
    path("data", &["terraform_remote_state", producer.as_str(), "outputs", &format!("storage_{label}")])
}

/// The call of a module: `label` is the block's (`storage_ledger`), `module` the module's directory name.
pub fn module_call(site: &RootSite<'_>, label: &str, module: &str, arguments: Vec<(String, Expression)>) -> Block {
    let mut settings = vec![set("source", text((site.module_source)(module)))];
    if let (Some(kind), Some(reference)) = (registry::runtime(site.runtime), provider_reference(site)) {
        let (name, _) = kind.provider(site.runtime);
        settings.push(set("providers", plain_object([(name, reference)])));
    }
    settings.extend(sets(arguments));
    block("module", &[label], settings)
}

/// What a storage's root tells the roots that mount it.
pub fn storage_output(label: &str, storage: &str) -> Block {
    let value = path("module", &[label]);
    let description = format!("Outputs of storage {storage} for roots that read this state");
    block("output", &[label], vec![set("value", value), set("description", text(description))])
}

/// The tags of what a root makes: the given layers, later ones over earlier ones, and the tree's own mark over all.
pub(crate) fn tags(tree: &Tree, layers: &[&std::collections::BTreeMap<String, String>]) -> Expression {
    let mut all = std::collections::BTreeMap::new();
    for layer in layers {
        all.extend(layer.iter().map(|(k, v)| (k.clone(), v.clone())));
    }
    all.insert("csis_config".into(), tree.config_tag.clone());
    object(all.into_iter().map(|(k, v)| (k, text(v))))
}

/// The declared `variables` of a storage builder as arguments, in the order of its table; `tags` apart.
pub(crate) fn variables(builder: &Builder, names: &[&str]) -> Vec<(String, Expression)> {
    let Some(variables) = builder.fields.object("variables") else { return Vec::new() };
    names.iter().filter_map(|name| Some(((*name).to_owned(), scalar(&variables, name)?))).collect()
}

pub(crate) fn scalar(fields: &Fields, key: &str) -> Option<Expression> {
    use csis_values::Value;
    match &fields.node(key)?.value {
        Value::Bool(flag) => Some(Expression::Bool(*flag)),
        Value::Int(number, _) => Some(Expression::from(*number)),
        Value::Text(value) => Some(text(value.clone())),
        _ => None,
    }
}
