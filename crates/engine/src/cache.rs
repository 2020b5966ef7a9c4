//! A provider cache that several roots, and several runs on one machine, fill and use at the same time. The engine does not guard it, so csis does: filling
//! lays a provider anew, under the feet of a plan that is about to start it.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The file in the cache's folder that runs lock.
const LOCK: &str = ".csis.lock";

pub struct Cache {
    within: RwLock<()>,
    /// None when the configuration names a folder in a way that only the engine understands; then only this run is guarded.
    folder: Option<PathBuf>,
}

/// The cache is this root's to fill, until it is dropped.
pub struct Filling<'a> {
    _within: RwLockWriteGuard<'a, ()>,
    _across: Option<File>,
}

/// Nobody fills the cache until it is dropped.
pub struct Using<'a> {
    _within: RwLockReadGuard<'a, ()>,
    _across: Option<File>,
}

impl Cache {
    /// The cache that the engine's environment names, by variable or in its configuration file.
    pub fn shared(environment: &BTreeMap<String, String>) -> Option<Cache> {
        let home = environment.get("HOME").map_or("", String::as_str);
        let variable = environment.get("TF_PLUGIN_CACHE_DIR").filter(|folder| !folder.is_empty()).cloned();
        let folder = variable.or_else(|| configured(environment, home))?;
        let folder = folder.replace("$HOME", home);
        let folder =
            folder.strip_prefix("~/").map_or_else(|| PathBuf::from(&folder), |rest| Path::new(home).join(rest));
        Some(Cache { within: RwLock::default(), folder: folder.is_absolute().then_some(folder) })
    }

    /// Of this run alone: nothing is written into its folder, which is not csis's own.
    pub fn of_this_run(self) -> Cache {
        Cache { folder: None, ..self }
    }

    /// Waits until no other root and no other run fills or uses the cache.
    pub async fn fill(&self) -> Filling<'_> {
        let within = self.within.write().await;
        Filling { _within: within, _across: self.lock(File::try_lock).await }
    }

    /// Waits until nobody fills the cache.
    pub async fn keep(&self) -> Using<'_> {
        let within = self.within.read().await;
        Using { _within: within, _across: self.lock(File::try_lock_shared).await }
    }

    async fn lock(&self, how: fn(&File) -> Result<(), TryLockError>) -> Option<File> {
        lock(self.folder.as_ref()?, how).await
    }
}

/// A folder that cannot be locked is left to the engine, which says what it lacks. The lock is tried anew rather than awaited: a wait in the system could not
/// be given up.
async fn lock(folder: &Path, how: fn(&File) -> Result<(), TryLockError>) -> Option<File> {
    std::fs::create_dir_all(folder).ok()?;
    let file = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK)).ok()?;
    loop {
        match how(&file) {
            Ok(()) => return Some(file),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(Duration::from_millis(100)).await,
            Err(TryLockError::Error(_)) => return None,
        }
    }
}

/// `plugin_cache_dir` of the engine's configuration file.
fn configured(environment: &BTreeMap<String, String>, home: &str) -> Option<String> {
    let named = environment.get("TF_CLI_CONFIG_FILE").or_else(|| environment.get("TOFU_CLI_CONFIG_FILE"));
    let files = match named {
        Some(file) => vec![PathBuf::from(file)],
        None => [".terraformrc", ".tofurc"].iter().map(|file| Path::new(home).join(file)).collect(),
    };
    files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).find_map(|text| {
        let line = text.lines().map(str::trim).find(|line| line.starts_with("plugin_cache_dir"))?;
        Some(line.split('"').nth(1).unwrap_or_default().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_second_run_waits_for_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let environment =
            BTreeMap::from([("TF_PLUGIN_CACHE_DIR".to_owned(), folder.path().to_string_lossy().into_owned())]);
        let (one, other) = (Cache::shared(&environment).unwrap(), Cache::shared(&environment).unwrap());
        let short = Duration::from_millis(200);
        let filling = one.fill().await;
        assert!(tokio::time::timeout(short, other.fill()).await.is_err(), "both fill the cache");
        assert!(tokio::time::timeout(short, other.keep()).await.is_err(), "used while it is filled");
        drop(filling);
        let using = one.keep().await;
        assert!(tokio::time::timeout(short, other.keep()).await.is_ok(), "two may use it");
        assert!(tokio::time::timeout(short, one.fill()).await.is_err(), "filled while this run uses it");
        assert!(tokio::time::timeout(short, other.fill()).await.is_err(), "filled while another run uses it");
        drop(using);
    }

    #[test]
    fn the_cache_is_found_in_the_variable_and_in_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("engine.tfrc");
        std::fs::write(&file, "plugin_cache_dir = \"$HOME/cache\"\n").unwrap();
        let home = folder.path().to_string_lossy().into_owned();
        let with = |pairs: &[(&str, &str)]| {
            let environment = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            Cache::shared(&environment).map(|cache| cache.folder)
        };
        assert_eq!(with(&[("HOME", &home)]), None);
        let named = with(&[("HOME", &home), ("TF_CLI_CONFIG_FILE", &file.to_string_lossy())]);
        assert_eq!(named, Some(Some(folder.path().join("cache"))));
        assert_eq!(with(&[("TF_PLUGIN_CACHE_DIR", "/c")]), Some(Some("/c".into())));
    }
}
