//! What every root has, whatever it holds: its runtime, its engine, its state, and whether merging applies it.

use csis_kinds::registry;
use csis_values::intent::{Applies, EngineRef, Read, StateBinding};
use csis_values::name::{is_reserved, safe_name};
use csis_values::records::Records;
use csis_values::request::{Lifecycle, Request};
use csis_values::tree::{Apply, ApplyFlag, Builder, Tree};
use csis_values::{Class, Diagnostic, Diagnostics};

/// The runtimes this invocation concerns.
pub(crate) struct Scope {
    /// Canonical name, from `--only-runtime`, else implied by `--apply-runtime`.
    pub only: Option<String>,
    /// Canonical name from `--apply-runtime`.
    pub apply: Option<String>,
}

impl Scope {
    pub(crate) fn new(tree: &Tree, request: &Request, found: &mut Diagnostics) -> Scope {
        let mut named = |option: &str, word: &Option<String>| {
            let word = word.as_deref()?;
            let runtime = runtime_named(tree, word);
            if runtime.is_none() {
                let known: Vec<_> = tree.builders_of(Class::Runtime).map(|b| b.name.written.as_str()).collect();
                found.push(
                    Diagnostic::error(
                        "unknown-runtime",
                        format!("{option} names `{word}`, which is no runtime of this tree"),
                    )
                    .help(format!("Name one of: {}", known.join(", "))),
                );
            }
            // An unknown name matches no runtime, so that nothing is done by mistake.
            Some(runtime.map_or_else(|| safe_name(word), |b| b.name.safe.clone()))
        };
        let only = named("--only-runtime", &request.only_runtime);
        let apply = named("--apply-runtime", &request.apply_runtime);
        Scope { only: only.or_else(|| apply.clone()), apply }
    }

    pub(crate) fn holds(&self, runtime: Option<&str>) -> bool {
        self.only.as_deref().is_none_or(|only| runtime == Some(only))
    }
}

/// The runtimes that an invocation concerns, by their canonical names.
pub fn runtimes_in_scope<'a>(tree: &'a Tree, request: &Request) -> Vec<&'a str> {
    let scope = Scope::new(tree, request, &mut Diagnostics::default());
    tree.builders_of(Class::Runtime).map(|b| b.name.safe.as_str()).filter(|name| scope.holds(Some(name))).collect()
}

fn runtime_named<'a>(tree: &'a Tree, word: &str) -> Option<&'a Builder> {
    let word = safe_name(word);
    tree.builders_of(Class::Runtime).find(|b| b.is_called(&word))
}

pub(crate) fn runtime_of<'a>(tree: &'a Tree, builder: &Builder) -> Option<&'a Builder> {
    tree.builder(Class::Runtime, &builder.runtime.as_ref()?.value)
}

pub(crate) fn engine(tree: &Tree, builder: &Builder) -> EngineRef {
    let default = || registry::find(builder.class, &builder.kind)?.kind().default_executable();
    let name = builder.executable.as_ref().map(|e| e.value.as_str()).or_else(default).unwrap_or_default();
    match tree.executables.iter().find(|e| e.name.safe == safe_name(name)) {
        Some(entry) => EngineRef {
            name: entry.name.safe.clone(),
            kind: entry.kind.clone(),
            binary: entry.binary.clone(),
            version: entry.version.as_ref().map(|v| v.value.clone()),
        },
        None => EngineRef { name: name.to_owned(), kind: name.to_owned(), binary: name.to_owned(), version: None },
    }
}

/// The backend of a builder's state: its own, else its runtime's, else the default one.
pub(crate) fn backend<'a>(tree: &'a Tree, builder: &Builder) -> Option<&'a Builder> {
    let named = |b: &Builder| {
        let name = &b.state_configuration.as_ref()?.value;
        if is_reserved(name) { None } else { tree.builder(Class::StateBackend, name) }
    };
    named(builder)
        .or_else(|| runtime_of(tree, builder).and_then(named))
        .or_else(|| tree.builders_of(Class::StateBackend).find(|b| b.is_default))
}

pub(crate) fn state(tree: &Tree, records: &Records, builder: &Builder) -> Option<StateBinding> {
    if !tree.config.use_state_backends {
        return None;
    }
    let backend = backend(tree, builder)?;
    let kind = registry::state(backend)?;
    let recorded = records.locations.get(&builder.name.safe).or_else(|| records.locations.get(&builder.name.label));
    Some(StateBinding {
        backend: backend.name.safe.clone(),
        kind: kind.backend().to_owned(),
        location: kind.location(backend, &builder.name.label),
        profile: kind.profile(backend),
        lineage: recorded.and_then(|r| r.lineage.clone()),
        serial: recorded.and_then(|r| r.serial),
    })
}

/// The roots an instance root reads: every storage builder having storages, in order of declaration.
pub(crate) fn reads(tree: &Tree) -> Vec<Read> {
    tree.builders_of(Class::StorageBuilder)
        .filter(|b| tree.storages.iter().any(|s| s.builder.value == b.name.safe))
        .map(|b| Read {
            root: root_id(Lifecycle::Storage, b),
            label: b.name.label.clone(),
            backend: backend(tree, b).map(|backend| backend.name.safe.clone()),
        })
        .collect()
}

pub(crate) fn root_id(lifecycle: Lifecycle, builder: &Builder) -> String {
    format!("{}/{}", lifecycle.name(), builder.name.safe)
}

/// Whether merging applies a root, by its lifecycle's flag, or by `--apply-runtime` instead.
pub(crate) fn applies(
    name: &str,
    flag: &ApplyFlag,
    scope: &Scope,
    builder: &Builder,
    runtime: Option<&str>,
) -> Applies {
    if let Some(only) = &scope.apply {
        return Applies {
            applies: runtime == Some(only),
            flag: name.to_owned(),
            value: format!("[{only}] (--apply-runtime)"),
            at: None,
        };
    }
    let value = match &flag.value {
        Apply::Off if flag.at.is_none() => "not set".to_owned(),
        Apply::Off => "false".to_owned(),
        Apply::All => "true".to_owned(),
        Apply::Only(names) => format!("[{}]", names.join(", ")),
    };
    Applies { applies: flag.covers(&builder.name.safe, runtime), flag: name.to_owned(), value, at: flag.at.clone() }
}
