//! With a real engine, but its builtin provider and local state alone: what happens between roots. Only these tests see that the engine accepts overrides, stubs
//! and tokens as csis writes them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{FLEET, FLEET_DIR, STORAGE, STORAGE_DIR, Tree, engine};
use csis_engine::{EngineError, PlanResult, RootOutcome, plan_all};
use csis_values::intent::BuildRef;
use csis_values::plan::{Action, Change, Freshness, Plan, Shown};

const LEDGER: &str = "resource \"terraform_data\" \"ledger\" {\n  input            = var.size\n  triggers_replace = [var.zone]\n}\n\nvariable \"size\" {\n  default = 1\n}\n\nvariable \"zone\" {\n  default = \"a\"\n}\n\noutput \"storage_ledger\" {\n  value = {\n    volume_id = terraform_data.ledger.id\n    size      = 12345678901234567890123\n  }\n}\n";

const MACHINE: &str = "data \"terraform_remote_state\" \"volumes\" {\n  backend = \"local\"\n  config = {\n    path = \"../../../../state/volumes.tfstate\"\n  }\n}\n\nresource \"terraform_data\" \"attachment\" {\n  for_each         = { ledger = data.terraform_remote_state.volumes.outputs.storage_ledger.volume_id }\n  input            = \"VOL=${each.value}\"\n  triggers_replace = each.value\n}\n";

fn plan<'r>(result: &'r PlanResult, id: &str) -> &'r Plan {
    let root = result.roots.iter().find(|root| root.id == id).unwrap();
    match &root.outcome {
        RootOutcome::Planned(plan) => plan,
        other => panic!("{id}: {other:?}"),
    }
}

fn outcome<'r>(result: &'r PlanResult, id: &str) -> &'r RootOutcome {
    &result.roots.iter().find(|root| root.id == id).unwrap().outcome
}

fn change<'p>(plan: &'p Plan, address: &str) -> &'p Change {
    plan.changes
        .iter()
        .find(|change| change.address == address)
        .unwrap_or_else(|| panic!("{address} in {:?}", plan.changes))
}

fn after<'c>(change: &'c Change, path: &str) -> &'c Shown {
    &change
        .attributes
        .iter()
        .find(|a| a.path == path)
        .unwrap_or_else(|| panic!("{path} in {:?}", change.attributes))
        .after
}

const ATTACHMENT: &str = "terraform_data.attachment[\"ledger\"]";

fn pending() -> Shown {
    Shown::Pending(format!("{STORAGE}:storage_ledger.volume_id"))
}

#[tokio::test]
async fn a_new_storage_and_the_machine_that_mounts_it_plan_in_one_change() {
    let Some(engine) = engine() else { return };
    let tree = Tree::new(&engine, LEDGER, MACHINE);
    let result = plan_all(tree.job()).await.unwrap();
    let storage = plan(&result, STORAGE);
    assert_eq!((storage.changes.len(), storage.ours, &storage.freshness), (1, true, &Freshness::Fresh));
    assert!(!storage.state.as_ref().unwrap().exists);
    let made = change(plan(&result, FLEET), ATTACHMENT);
    assert_eq!((&made.action, after(made, "triggers_replace")), (&Action::Create, &pending()));
    assert_eq!(after(made, "input"), &Shown::Value(format!("VOL=(pending {STORAGE}:storage_ledger.volume_id)")));
    assert_eq!(tree.emission.files.keys().filter(|name| name.contains("csis")).count(), 0);
    let again = plan_all(tree.job()).await.unwrap();
    assert_eq!(plan(&again, FLEET).changes, plan(&result, FLEET).changes);
    assert!(again.roots.iter().all(|root| root.timing.init.is_zero()), "an initialised copy is not initialised again");
}

#[tokio::test]
async fn what_stands_is_read_from_the_state_and_a_replaced_volume_replaces_its_attachment() {
    let Some(engine) = engine() else { return };
    let mut tree = Tree::new(&engine, LEDGER, MACHINE);
    plan_all(tree.job()).await.unwrap();
    tree.apply(&engine, STORAGE_DIR);
    let result = plan_all(tree.job()).await.unwrap();
    assert!(plan(&result, STORAGE).changes.is_empty() && plan(&result, STORAGE).unchanged == 1);
    let state = plan(&result, STORAGE).state.clone().unwrap();
    assert!(state.exists && state.lineage.is_some() && state.serial.is_some());
    assert!(
        matches!(after(change(plan(&result, FLEET), ATTACHMENT), "triggers_replace"), Shown::Value(id) if id.len() == 36)
    );
    tree.apply(&engine, FLEET_DIR);

    let unchanged = plan_all(tree.job()).await.unwrap();
    assert!(plan(&unchanged, FLEET).changes.is_empty());

    tree.emission
        .files
        .get_mut(&format!("{STORAGE_DIR}/main.tf"))
        .map(|text| *text = text.replace("\"a\"", "\"b\""))
        .unwrap();
    let replaced = plan_all(tree.job()).await.unwrap();
    assert_eq!(change(plan(&replaced, STORAGE), "terraform_data.ledger").action, Action::Replace);
    let attachment = change(plan(&replaced, FLEET), ATTACHMENT);
    assert_eq!((&attachment.action, after(attachment, "triggers_replace")), (&Action::Replace, &pending()));
}

#[tokio::test]
async fn a_plan_only_producer_is_named_with_its_flag_by_who_needs_it() {
    let Some(engine) = engine() else { return };
    let fleet = MACHINE.replace("resource \"terraform_data\" \"attachment\"", "module \"instance_api_1\"");
    let fleet = fleet.replace("  for_each ", "  source = \"./m\"\n  for_each ").replace("triggers_replace", "trigger");
    let mut tree = Tree::new(&engine, LEDGER, &fleet);
    tree.file(FLEET_DIR, "m/main.tf", "variable \"input\" {}\nvariable \"trigger\" {}\n");
    tree.machine("api-1", BuildRef::Pinned { id: "ami-1".into() });
    tree.plan_only(("cfg/_config.yml", 9));
    let result = plan_all(tree.job()).await.unwrap();
    plan(&result, STORAGE);
    let RootOutcome::NeedsUnapplied { producer, flag, at, needs, .. } = outcome(&result, FLEET) else {
        panic!("{:?}", outcome(&result, FLEET))
    };
    assert_eq!(
        (producer.as_str(), flag.as_str(), at.as_ref().unwrap().to_string().as_str()),
        (STORAGE, "apply_storage", "cfg/_config.yml:9:3")
    );
    let need = &needs[0];
    assert_eq!(
        (need.instance.as_deref(), need.storage.as_deref(), need.output.as_str(), need.block.as_str()),
        (Some("api-1"), Some("ledger"), "storage_ledger.volume_id", "module.instance_api_1")
    );
}

#[tokio::test]
async fn a_plan_only_producer_is_judged_as_it_stands() {
    let Some(engine) = engine() else { return };
    let mut tree = Tree::new(&engine, LEDGER, MACHINE);
    plan_all(tree.job()).await.unwrap();
    tree.apply(&engine, STORAGE_DIR);
    tree.plan_only(("cfg/_config.yml", 9));
    tree.emission
        .files
        .get_mut(&format!("{STORAGE_DIR}/main.tf"))
        .map(|text| *text = text.replace("\"a\"", "\"b\""))
        .unwrap();
    let result = plan_all(tree.job()).await.unwrap();
    assert_eq!(change(plan(&result, STORAGE), "terraform_data.ledger").action, Action::Replace);
    let stands = after(change(plan(&result, FLEET), ATTACHMENT), "triggers_replace");
    assert!(matches!(stands, Shown::Value(id) if id.len() == 36), "{stands:?}");
}

#[tokio::test]
async fn a_plan_only_producer_that_never_was_does_not_stop_who_needs_nothing_of_it() {
    let Some(engine) = engine() else { return };
    let reads_nothing =
        MACHINE.replace("data.terraform_remote_state.volumes.outputs.storage_ledger.volume_id", "\"none\"");
    let mut tree = Tree::new(&engine, LEDGER, &reads_nothing);
    tree.plan_only(("cfg/_config.yml", 9));
    let result = plan_all(tree.job()).await.unwrap();
    assert_eq!(plan(&result, FLEET).changes.len(), 1);
}

#[tokio::test]
async fn a_failed_producer_leaves_its_consumer_unjudged_and_says_why_it_failed() {
    let Some(engine) = engine() else { return };
    let tree = Tree::new(&engine, &format!("{LEDGER}\noutput \"x\" {{\n  value = [][0]\n}}\n"), MACHINE);
    let result = plan_all(tree.job()).await.unwrap();
    let RootOutcome::Failed { why } = outcome(&result, STORAGE) else { panic!("{:?}", outcome(&result, STORAGE)) };
    assert!(
        why.contains("Invalid index")
            && why.contains("main.tf:")
            && !why.contains(&*tree.folder.path().to_string_lossy()),
        "{why}"
    );
    let RootOutcome::NotJudged { why, producer } = outcome(&result, FLEET) else { panic!() };
    assert!(why.contains(STORAGE) && producer.as_deref() == Some(STORAGE));
}

#[tokio::test]
async fn a_token_text_that_a_user_typed_is_a_text() {
    let Some(engine) = engine() else { return };
    let typed = "csis-pending:storage/volumes:storage_ledger.volume_id";
    let first = Tree::new(&engine, LEDGER, MACHINE);
    plan_all(first.job()).await.unwrap();
    let stub = first.read(format!("_private/{FLEET_DIR}/csis-pending-volumes.tfstate"));
    let old_token = stub.split("\"volume_id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert!(old_token.starts_with("vol-"));
    let fleet =
        format!("{MACHINE}\nresource \"terraform_data\" \"typed\" {{\n  input = [\"{typed}\", \"{old_token}\"]\n}}\n");
    let tree = Tree::new(&engine, LEDGER, &fleet);
    let result = plan_all(tree.job()).await.unwrap();
    let change_ = change(plan(&result, FLEET), "terraform_data.typed");
    assert_eq!(after(change_, "input"), &Shown::Value(format!("[\"{typed}\",\"{old_token}\"]")));
    assert_eq!(after(change(plan(&result, FLEET), ATTACHMENT), "triggers_replace"), &pending());
}

#[tokio::test]
async fn a_machine_is_planned_on_an_image_that_is_not_baked_yet() {
    let Some(engine) = engine() else { return };
    let fleet = "variable \"api_1_ami_id\" {\n  default = \"\"\n}\n\nresource \"terraform_data\" \"api\" {\n  count = var.api_1_ami_id == \"\" ? 0 : 1\n  input = var.api_1_ami_id\n}\n";
    let mut tree = Tree::new(&engine, LEDGER, fleet);
    let build = BuildRef::Deferred { pattern: "web-".into(), series: "web".into(), runtime: "aws-west".into() };
    tree.machine("api-1", build);
    tree.bake("web", "0123456789abcdef0123456789abcdef");
    let result = plan_all(tree.job()).await.unwrap();
    let made = change(plan(&result, FLEET), "terraform_data.api[0]");
    assert_eq!(after(made, "input"), &Shown::Pending("build:web@aws-west:0123456789abcdef".into()));
}

#[tokio::test]
async fn secrets_reach_the_engine_and_nobody_else() {
    let Some(engine) = engine() else { return };
    let storage = "resource \"terraform_data\" \"x\" {\n  input = { note = \"ENC[age:eA==]\" }\n}\n\noutput \"bad\" {\n  value = \"ENC[age:eA==]\"\n}\n";
    let mut tree = Tree::new(&engine, storage, "");
    tree.secrets.insert("ENC[age:eA==]".into(), "quote\" and ${hole}".into());
    let result = plan_all(tree.job()).await.unwrap();
    let text = serde_json::to_string(plan(&result, STORAGE)).unwrap();
    assert_eq!(after(change(plan(&result, STORAGE), "terraform_data.x"), "input.note"), &Shown::Sensitive);
    assert!(!text.contains("hole"), "{text}");
    assert!(tree.read(format!("_private/{STORAGE_DIR}/main.tf")).contains(r#""quote\" and $${hole}""#));
    tree.secrets.clear();
    let result = plan_all(tree.job()).await.unwrap();
    assert!(matches!(outcome(&result, STORAGE), RootOutcome::Failed { why } if why.contains("was not opened")));
}

#[tokio::test]
async fn a_profile_without_a_session_is_not_judged_and_the_engine_is_not_asked() {
    let Some(engine) = engine() else { return };
    let mut tree = Tree::new(&engine, LEDGER, "");
    tree.file(STORAGE_DIR, "p.tf", "# profile\nlocals {\n  profile = \"harbor\"\n}\n");
    tree.environment.insert("HOME".into(), "/nonexistent".into());
    let result = plan_all(tree.job()).await.unwrap();
    assert!(
        matches!(outcome(&result, STORAGE), RootOutcome::NotJudged { why, producer: None } if why.contains("`harbor`"))
    );
    tree.environment.insert("AWS_ACCESS_KEY_ID".into(), "test".into());
    tree.environment.insert("AWS_SECRET_ACCESS_KEY".into(), "test".into());
    plan(&plan_all(tree.job()).await.unwrap(), STORAGE);
}

#[tokio::test]
async fn only_some_roots_are_planned_with_what_they_read() {
    let Some(engine) = engine() else { return };
    let tree = Tree::new(&engine, LEDGER, MACHINE);
    let mut job = tree.job();
    job.only = Some([STORAGE.to_owned()].into());
    let result = plan_all(job).await.unwrap();
    assert_eq!(result.roots.iter().map(|root| root.id.as_str()).collect::<Vec<_>>(), [STORAGE]);
    let mut job = tree.job();
    job.only = Some([FLEET.to_owned()].into());
    assert_eq!(plan_all(job).await.unwrap().roots.len(), 2);
}

#[tokio::test]
async fn a_missing_engine_or_version_is_told_before_anything_starts() {
    let Some(engine) = engine() else { return };
    let mut tree = Tree::new("no-such-engine", LEDGER, MACHINE);
    let error = plan_all(tree.job()).await.unwrap_err();
    assert!(
        matches!(&error, EngineError::Missing { binary, .. } if binary == "no-such-engine")
            && error.help().contains("--tool engine=")
    );
    let mut job = tree.job();
    job.tools.insert("tofu".into(), engine.clone());
    plan_all(job).await.unwrap();
    for root in &mut tree.intent.roots {
        root.engine.version = Some(">=99".into());
        root.engine.binary.clone_from(&engine);
    }
    assert!(matches!(plan_all(tree.job()).await, Err(EngineError::Version { .. })));
    let mut job = tree.job();
    job.tools.insert("engine".into(), engine.clone());
    let result = plan_all(job).await.unwrap();
    assert!(result.roots[0].notes[0].contains("waived"));
    assert!(!tree.folder.path().join("generated").exists(), "planning writes nothing outside the working copies");
}

#[tokio::test]
async fn locks_are_inputs_and_travel_back_only_when_asked() {
    let Some(engine) = engine() else { return };
    let tree = Tree::new(&engine, LEDGER, "");
    let generated = tree.folder.path().join("generated").join(STORAGE_DIR);
    std::fs::create_dir_all(&generated).unwrap();
    std::fs::write(generated.join(".terraform.lock.hcl"), "# kept by csis\n").unwrap();
    let mut job = tree.job();
    job.keep_locks = true;
    let result = plan_all(job).await.unwrap();
    plan(&result, STORAGE);
    assert_eq!(std::fs::read_to_string(generated.join(".terraform.lock.hcl")).unwrap(), "# kept by csis\n");
    assert!(tree.read(format!("_private/{STORAGE_DIR}/.terraform.lock.hcl")).contains("kept by csis"));
}
