//! What a hostile child can do: a provider that dumps every environment and file it may read, an engine that writes links where csis reads. Only here the real
//! engine starts such a provider under another user, from a csis whose own environment holds tokens.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{FLEET_DIR, STORAGE, STORAGE_DIR, Tree, engine};
use csis_engine::{ChildUser, Credentials, EngineError, PlanResult, Roles, RootOutcome, Stop, UserError, plan_all};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Nobody on the machine of a test.
const USER: ChildUser = ChildUser { uid: 54321, gid: 54322 };
/// Whose the tree is.
const KEEPER: u32 = 54320;
const TOKENS: &[(&str, &str)] = &[
    ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "token-of-identity"),
    ("INPUT_GITHUB-TOKEN", "token-of-input"),
    ("GITHUB_TOKEN", "token-of-github"),
    ("ACTIONS_RUNTIME_TOKEN", "token-of-runtime"),
];
/// Tells the inner run which of the two it is.
const INNER: &str = "CSIS_TEST_SNOOPED_AS";

const LEDGER: &str = "resource \"terraform_data\" \"ledger\" {\n  input = 1\n}\n\noutput \"id\" {\n  value = terraform_data.ledger.id\n}\n";
const READER: &str = "data \"terraform_remote_state\" \"volumes\" {\n  backend = \"local\"\n  config = {\n    path = \"../../../../state/volumes.tfstate\"\n  }\n}\n\nresource \"terraform_data\" \"reader\" {\n  input = data.terraform_remote_state.volumes.outputs.id\n}\n";
const SNOOPED: &str = "terraform {\n  required_providers {\n    snoop = {\n      source = \"bench/snoop\"\n    }\n  }\n}\n\nresource \"snoop_it\" \"all\" {}\n";

fn is_root() -> bool {
    let root = fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0);
    if !root {
        eprintln!("skipped: only root can start children as another user");
    }
    root
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn uid(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().uid()
}

/// Everything below a folder, with the folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    if folder.symlink_metadata().unwrap().is_dir() {
        found.extend(fs::read_dir(folder).unwrap().flat_map(|entry| below(&entry.unwrap().path())));
    }
    found
}

/// The tree as a runner checks it out: somebody's, readable for all.
fn kept(tree: &Tree) {
    mode(tree.folder.path(), 0o755);
    for path in below(tree.folder.path()) {
        lchown(path, Some(KEEPER), Some(KEEPER)).unwrap();
    }
}

fn outcome<'r>(result: &'r PlanResult, id: &str) -> &'r RootOutcome {
    &result.roots.iter().find(|root| root.id == id).unwrap().outcome
}

/// A provider in a mirror that writes all it can read to `dump`, and is none.
fn lay_snoop(tree: &Tree, dump: &Path) {
    let os = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let script = format!(
        "#!/bin/sh\n{{\n  env\n  for file in /proc/[0-9]*/environ /proc/[0-9]*/cmdline \"${{AWS_CONFIG_FILE%/*}}\"/*; do\n    echo\n    echo \"== $file\"\n    cat \"$file\"\n  done\n  echo; id -u\n}} >> {} 2>/dev/null\n",
        dump.display()
    );
    for registry in ["registry.terraform.io", "registry.opentofu.org"] {
        let place = tree.folder.path().join(format!("mirror/{registry}/bench/snoop/1.0.0/{os}_{architecture}"));
        fs::create_dir_all(&place).unwrap();
        let provider = place.join("terraform-provider-snoop_v1.0.0");
        fs::write(&provider, &script).unwrap();
        mode(&provider, 0o755);
    }
    let mirror = tree.folder.path().join("mirror");
    fs::write(
        tree.folder.path().join("tfrc"),
        format!("provider_installation {{\n  filesystem_mirror {{\n    path = \"{}\"\n  }}\n}}\n", mirror.display()),
    )
    .unwrap();
}

/// The run that is snooped on: csis itself, with the tokens in its environment. Started by the test below alone.
#[tokio::test]
async fn inner_run() {
    let (Some(engine), Ok(inner)) = (engine(), std::env::var(INNER)) else { return };
    let (user, dump) = inner.split_once(' ').unwrap();
    let mut tree = Tree::new(&engine, SNOOPED, "");
    lay_snoop(&tree, Path::new(dump));
    kept(&tree);
    tree.environment = std::env::vars().chain(std::mem::take(&mut tree.environment)).collect();
    let mut job = tree.job();
    job.user = (user == "another").then_some(USER);
    job.credentials = Credentials::Nothing { why: "none are needed".into() };
    let result = plan_all(job).await.unwrap();
    assert!(matches!(outcome(&result, STORAGE), RootOutcome::Failed { .. }), "{result:?}");
}

#[test]
fn a_provider_that_dumps_all_it_can_read_finds_no_token() {
    if engine().is_none() || !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    mode(folder.path(), 0o777);
    let dumped = |user: &str| {
        let dump = folder.path().join(user);
        let run = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "inner_run", "--nocapture"])
            .env(INNER, format!("{user} {}", dump.display()))
            .envs(TOKENS.iter().copied())
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8_lossy(&fs::read(dump).expect("the provider was started")).into_owned()
    };
    let (same, another) = (dumped("same"), dumped("another"));
    // What was found is not shown: run by root, it is everybody's secrets.
    for (_, token) in TOKENS {
        assert!(same.contains(token), "as csis's own user it must find {token}, or this test finds nothing");
        assert!(!another.contains(token), "{token} was found");
    }
    assert!(another.contains(&format!("\n{}\n", USER.uid)), "it did not run as the user");
    for dump in [same, another] {
        let own = dump.split("\n== ").next().unwrap();
        assert!(own.contains("AWS_CONFIG_FILE=") && !own.contains("token-of"), "its own environment: {own}");
    }
}

#[tokio::test]
async fn what_stays_has_the_owner_of_the_tree_whoever_ran() {
    let Some(engine) = engine() else { return };
    if !is_root() {
        return;
    }
    for user in [Some(USER), None] {
        // The second root reads what csis lays after the user was given the folder.
        let tree = Tree::new(&engine, LEDGER, READER);
        kept(&tree);
        for again in [false, true] {
            let mut job = tree.job();
            job.user = user;
            job.keep_locks = true;
            let result = plan_all(job).await.unwrap();
            let planned = result.roots.iter().all(|root| matches!(root.outcome, RootOutcome::Planned(_)));
            assert!(planned, "{again}: {result:?}");
        }
        for path in below(tree.folder.path()) {
            assert_eq!(uid(&path), KEEPER, "{}", path.display());
        }
        let copy = tree.folder.path().join("_private").join(STORAGE_DIR);
        assert!(copy.join("tfplan").is_file());
        for folder in copy.ancestors().take(4) {
            assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700, "{}", folder.display());
        }
    }
}

/// An engine that runs a script instead of planning.
fn fake(tree: &Tree, script: &str) -> String {
    let path = tree.folder.path().join("fake-engine");
    fs::write(&path, format!("#!/bin/sh\ncase $1 in\nversion) echo 'Terraform v1.11.4'; exit ;;\nesac\n{script}\n"))
        .unwrap();
    mode(&path, 0o755);
    path.to_string_lossy().into_owned()
}

fn faked(tree: &mut Tree, script: &str) {
    let binary = fake(tree, script);
    for root in &mut tree.intent.roots {
        root.engine.binary.clone_from(&binary);
    }
}

#[tokio::test]
async fn a_lock_that_is_a_link_is_not_carried_out() {
    if !is_root() {
        return;
    }
    let mut tree = Tree::new("", LEDGER, "");
    let hidden = tempfile::NamedTempFile::new().unwrap();
    fs::write(hidden.path(), "for root alone").unwrap();
    let script = format!(
        "case $1 in\nplan) echo > tfplan ;;\nshow) ln -s {} .terraform.lock.hcl; echo '{{\"format_version\":\"1.2\",\"resource_changes\":[]}}' ;;\nesac",
        hidden.path().display()
    );
    faked(&mut tree, &script);
    kept(&tree);
    let mut job = tree.job();
    job.user = Some(USER);
    job.keep_locks = true;
    let result = plan_all(job).await.unwrap();
    assert!(matches!(outcome(&result, STORAGE), RootOutcome::Planned(_)), "{result:?}");
    assert!(result.roots[0].notes.iter().any(|note| note.contains("lock was not kept")), "{result:?}");
    assert!(!tree.folder.path().join("generated").exists());
    assert_eq!(uid(hidden.path()), 0, "what it leads to keeps its owner");
}

#[tokio::test]
async fn a_link_that_a_child_lays_leads_csis_nowhere() {
    if !is_root() {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    mode(outside.path(), 0o777);
    let (hidden, made) = (outside.path().join("hidden"), outside.path().join("made"));
    fs::write(&hidden, "for root alone").unwrap();
    mode(&hidden, 0o600);
    let [tfplan, input] = ["tfplan", "more.tf"].map(|link| {
        let mut tree = Tree::new("", LEDGER, "");
        let script = format!(
            "case $1 in\ninit) ln -sf {made} $TF_PLUGIN_CACHE_DIR/.csis.lock; ln -sf {made} .csis-initialised.json; ln -sf {made} tfplan.inputs.json ;;\nplan) echo > tfplan; ln -sf {hidden} {link} ;;\nshow) echo '{{\"format_version\":\"1.2\",\"resource_changes\":[]}}' ;;\nesac",
            made = made.display(),
            hidden = hidden.display()
        );
        faked(&mut tree, &script);
        tree.environment.insert("TF_PLUGIN_CACHE_DIR".into(), "/nowhere".into());
        kept(&tree);
        tree
    });
    let (denied, unjudged) = ("Permission denied", "freshness: NotJudged");
    for (tree, says) in [(&tfplan, denied), (&input, unjudged), (&input, unjudged)] {
        let mut job = tree.job();
        job.user = Some(USER);
        // One after the other: the second finds what the first laid in the cache.
        job.parallel = 1;
        let result = plan_all(job).await.unwrap();
        assert!(!made.exists(), "csis wrote through a link: {result:?}");
        let digest = csis_values::sha256(fs::read(&hidden).unwrap());
        let private = tree.folder.path().join("_private");
        for file in below(&private).into_iter().filter(|path| path.symlink_metadata().unwrap().is_file()) {
            let text = fs::read(&file).unwrap();
            assert!(!String::from_utf8_lossy(&text).contains(&digest), "{} tells of it", file.display());
        }
        let told = format!("{result:?}");
        assert!(told.contains(says), "{told}");
        assert_eq!((uid(&hidden), hidden.metadata().unwrap().mode() & 0o777), (0, 0o600));
    }
}

#[tokio::test]
async fn another_user_finds_nothing_that_an_earlier_run_installed() {
    if !is_root() {
        return;
    }
    let mut tree = Tree::new("", LEDGER, "");
    let found = tree.folder.path().join("found");
    fs::write(&found, "").unwrap();
    let script = format!(
        "case $1 in\ninit) ls -A >> {}; mkdir -p .terraform/providers; echo > .terraform.lock.hcl; exit ;;\nplan) exit 1 ;;\nesac",
        found.display()
    );
    faked(&mut tree, &script);
    kept(&tree);
    mode(&found, 0o666);
    for _ in 0..2 {
        let mut job = tree.job();
        job.user = Some(USER);
        plan_all(job).await.unwrap();
    }
    let found = fs::read_to_string(found).unwrap();
    assert_eq!(found, "main.tf\nx.tfbackend.hcl\n".repeat(4), "two roots, each initialised twice");
}

#[tokio::test]
async fn a_stopped_run_says_so_and_starts_nothing_more() {
    let mut tree = Tree::new("", LEDGER, "");
    let calls = tree.folder.path().join("calls");
    let script =
        format!("trap 'echo INT >> {0}; exit 1' INT\necho $1 >> {0}\nwhile :; do sleep 0.05; done", calls.display());
    faked(&mut tree, &script);
    let (stopper, stop) = Stop::pair();
    let mut job = tree.job();
    job.parallel = 1;
    job.stop = stop;
    let started = std::time::Instant::now();
    let asks = async {
        while !calls.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        stopper.stop();
    };
    let (ended, ()) = tokio::join!(plan_all(job), asks);
    let error = ended.unwrap_err();
    assert!(matches!(error, EngineError::Interrupted) && error.to_string().contains("interrupted"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(tree.read("calls"), "init\nINT\n", "the other root waited for its turn, and does not start");
    assert!(tree.heard.0.lock().unwrap().contains(&format!("{STORAGE}: interrupted")));
    let mut job = tree.job();
    job.stop = {
        let (stopper, stop) = Stop::pair();
        stopper.stop();
        stop
    };
    assert!(matches!(plan_all(job).await, Err(EngineError::Interrupted)));
    assert_eq!(tree.read("calls"), "init\nINT\n");
}

#[tokio::test]
async fn a_tree_that_the_user_cannot_read_is_told_by_name() {
    let Some(engine) = engine() else { return };
    if !is_root() {
        return;
    }
    let module = "module \"m\" {\n  source = \"../../../../tfmodules/m\"\n}\n";
    let tree = Tree::new(&engine, module, "");
    let folder = tree.folder.path().join("tfmodules/m");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("main.tf"), "").unwrap();
    kept(&tree);
    let planned = async || {
        let mut job = tree.job();
        job.user = Some(USER);
        plan_all(job).await
    };
    assert!(matches!(outcome(&planned().await.unwrap(), STORAGE), RootOutcome::Planned(_)));
    mode(&folder.join("main.tf"), 0o600);
    let result = planned().await.unwrap();
    let RootOutcome::Failed { why } = outcome(&result, STORAGE) else { panic!("{result:?}") };
    assert!(why.contains("tfmodules/m/main.tf cannot be read by user 54321") && !why.contains("/tmp"), "{why}");
    mode(tree.folder.path(), 0o700);
    let error = planned().await.unwrap_err();
    assert!(matches!(error, EngineError::User(UserError::Closed { .. })), "{error}");
    assert!(error.help().contains("o+rX"), "{}", error.help());
    let mut job = tree.job();
    job.user = Some(ChildUser { uid: 0, gid: 0 });
    assert!(matches!(plan_all(job).await, Err(EngineError::User(UserError::Root))));
}

#[tokio::test]
async fn without_credentials_a_root_is_not_judged_and_says_why() {
    let mut tree = Tree::new("", "provider \"aws\" {\n  profile = \"harbor\"\n}\n", "");
    let denied = "echo 'Error: No valid credential sources found' >&2; exit 1";
    faked(&mut tree, denied);
    let why = "the change widens what the tree may reach";
    let mut job = tree.job();
    job.credentials = Credentials::Nothing { why: why.into() };
    let result = plan_all(job).await.unwrap();
    let whys: BTreeMap<&str, &str> = result
        .roots
        .iter()
        .map(|root| match &root.outcome {
            RootOutcome::NotJudged { why, .. } => (root.id.as_str(), why.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(whys[STORAGE], format!("no credentials for profile `harbor`: {why}"));
    let bare = whys[common::FLEET];
    assert!(bare.starts_with(&format!("planned without credentials: {why}; the engine said: No valid")), "{bare}");

    let mut job = tree.job();
    job.credentials = Credentials::Roles(Roles {
        default: None,
        by_profile: BTreeMap::from([("other".to_owned(), "arn:x".to_owned())]),
        token_file: "/t".into(),
        session_name: "csis".into(),
    });
    let result = plan_all(job).await.unwrap();
    assert!(format!("{:?}", outcome(&result, STORAGE)).contains("no role is named for it"), "{result:?}");
    assert!(!tree.folder.path().join("_private").join(STORAGE_DIR).exists(), "{FLEET_DIR}");
}
