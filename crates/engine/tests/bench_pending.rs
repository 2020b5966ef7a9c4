//! On the bench (`CSIS_BENCH=1`): the project's own modules and the stand-in AWS provider. Only these tests see that tokens pass the modules, that force-new
//! attributes show a replacement, and that a stored id and a token never look the same.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{FLEET, FLEET_DIR, STORAGE, STORAGE_DIR, Tree};
use csis_engine::{PlanResult, RootOutcome, plan_all};
use csis_values::intent::BuildRef;
use csis_values::plan::{Action, Change, Plan, Shown};
use std::path::Path;

const PROVIDER: &str = r#"terraform {
  required_providers {
    aws = {
      source = "hashicorp/aws"
    }
  }
}

provider "aws" {
  region  = "us-west-2"
  profile = "harbor"
}

"#;

const LEDGER: &str = r#"module "storage_ledger" {
  source            = "../../../../tfmodules/aws_storage_ebs"
  name              = "ledger"
  size              = 20
  availability_zone = "us-west-2a"
}

output "storage_ledger" {
  value = module.storage_ledger
}
"#;

const READS: &str = r#"data "terraform_remote_state" "volumes" {
  backend = "local"
  config = {
    path = "../../../../state/volumes.tfstate"
  }
}

"#;

const API: &str = r#"variable "api_1_ami_id" {
  type    = string
  default = ""
}

module "instance_api_1" {
  source    = "../../../../tfmodules/aws_instance"
  name      = "api-1"
  ami_id    = IMAGE
  subnet_id = "subnet-0ab0000000000000a"
  tags      = { csis_config = "harbor", note = "NOTE" }
  user_data = templatefile("${path.module}/user-data.sh.tftpl", { ebs = { ledger = data.terraform_remote_state.volumes.outputs.storage_ledger } })
  ebs_volumes = {
    "ledger" = {
      device_name = "/dev/xvdf"
      volume_id   = data.terraform_remote_state.volumes.outputs.storage_ledger.volume_id
    }
  }
}
"#;

const VOLUME: &str = "module.storage_ledger.aws_ebs_volume.this";
const INSTANCE: &str = "module.instance_api_1.aws_instance.this";
const ATTACHMENT: &str = "module.instance_api_1.aws_volume_attachment.this[\"ledger\"]";

/// The tree on the bench, or none when the bench is not up.
fn bench(storage: &str, fleet: &str) -> Option<(Tree, String)> {
    if std::env::var("CSIS_BENCH").as_deref() != Ok("1") {
        return None;
    }
    let engine = std::env::var("CSIS_BENCH_ENGINE").ok().or_else(common::engine)?;
    let mut tree = Tree::new(&engine, &format!("{PROVIDER}{storage}"), &format!("{PROVIDER}{fleet}"));
    tree.file(FLEET_DIR, "user-data.sh.tftpl", "#!/usr/bin/env bash\nVOL=\"${ebs[\"ledger\"].volume_id}\"\n");
    let names = ["TF_CLI_CONFIG_FILE", "TF_PLUGIN_CACHE_DIR", "CHECKPOINT_DISABLE"];
    for (name, value) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_") || names.contains(&name.as_str()))
    {
        tree.environment.insert(name, value);
    }
    common::copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tfmodules"), &tree.folder.path().join("tfmodules"));
    Some((tree, engine))
}

fn machine() -> String {
    format!("{READS}{}", API.replace("IMAGE", "\"ami-0a9a90000000000a1\""))
}

fn plan<'r>(result: &'r PlanResult, id: &str) -> &'r Plan {
    let root = result.roots.iter().find(|root| root.id == id).unwrap();
    match &root.outcome {
        RootOutcome::Planned(plan) => plan,
        other => panic!("{id}: {other:?}"),
    }
}

fn change<'p>(plan: &'p Plan, address: &str) -> &'p Change {
    let all: Vec<&str> = plan.changes.iter().map(|change| change.address.as_str()).collect();
    plan.changes.iter().find(|change| change.address == address).unwrap_or_else(|| panic!("{address} in {all:?}"))
}

fn after<'c>(change: &'c Change, path: &str) -> &'c Shown {
    &change
        .attributes
        .iter()
        .find(|a| a.path == path)
        .unwrap_or_else(|| panic!("{path} in {:?}", change.attributes))
        .after
}

fn volume_of_this_change() -> Shown {
    Shown::Pending(format!("{STORAGE}:storage_ledger.volume_id"))
}

#[tokio::test]
async fn a_new_storage_and_a_new_machine_that_mounts_it_plan_in_one_change() {
    let Some((tree, _)) = bench(LEDGER, &machine()) else { return };
    let result = plan_all(tree.job()).await.unwrap();
    assert_eq!(change(plan(&result, STORAGE), VOLUME).action, Action::Create);
    let fleet = plan(&result, FLEET);
    assert_eq!(change(fleet, INSTANCE).action, Action::Create);
    assert_eq!(after(change(fleet, ATTACHMENT), "volume_id"), &volume_of_this_change());
    assert!(fleet.providers.iter().any(|name| name.ends_with("/hashicorp/aws")) && fleet.code.is_empty());
    let facts = &change(fleet, INSTANCE).facts;
    assert_eq!(facts.get("tags.csis_config"), Some(&Shown::Value("harbor".into())));
    let private = tree.folder.path().join("_private").join(FLEET_DIR);
    let held = std::fs::read_to_string(private.join("tfplan.inputs.json")).unwrap();
    assert!(held.contains("tfmodules/aws_instance/main.tf") && held.contains("user-data.sh.tftpl"));
    let shown = serde_json::to_string(fleet).unwrap();
    assert!(!shown.contains("aws_secret") && !shown.contains(&*tree.folder.path().to_string_lossy()));
}

#[tokio::test]
async fn a_replaced_volume_shows_its_attachment_replaced_though_the_machine_stays() {
    let Some((mut tree, engine)) = bench(LEDGER, &machine()) else { return };
    // With the keys in the environment of the apply, the profile of the provider block must exist too: the bench's own files have it.
    plan_all(tree.job()).await.unwrap();
    tree.apply(&engine, STORAGE_DIR);
    plan_all(tree.job()).await.unwrap();
    tree.apply(&engine, FLEET_DIR);
    let standing = plan_all(tree.job()).await.unwrap();
    assert!(plan(&standing, FLEET).changes.is_empty(), "{:?}", plan(&standing, FLEET).changes);
    let text = tree.emission.files.get_mut(&format!("{STORAGE_DIR}/main.tf")).unwrap();
    *text = text.replace("us-west-2a", "us-west-2b");
    let result = plan_all(tree.job()).await.unwrap();
    let volume = change(plan(&result, STORAGE), VOLUME);
    assert_eq!(
        (&volume.action, volume.replace_paths.as_slice()),
        (&Action::Replace, &["availability_zone".to_owned()][..])
    );
    assert!(volume.id.as_deref().is_some_and(|id| id.starts_with("vol-")));
    let attachment = change(plan(&result, FLEET), ATTACHMENT);
    assert!(attachment.action.is_replace(), "{attachment:?}");
    assert_eq!(
        (after(attachment, "volume_id"), attachment.replace_paths.as_slice()),
        (&volume_of_this_change(), &["volume_id".to_owned()][..])
    );
    assert!(!plan(&result, FLEET).changes.iter().any(|change| change.address == INSTANCE));
}

#[tokio::test]
async fn a_new_group_gets_an_access_point_that_its_machine_can_read() {
    let storage = r#"module "storage_ledger" {
  source = "../../../../tfmodules/aws_storage_efs"
  name   = "ledger"
  access_points = {
    "web" = { gid = 5001, path = "/web", permissions = "2770" }
  }
}

output "storage_ledger" {
  value = module.storage_ledger
}
"#;
    let fleet = format!(
        "{READS}module \"instance_api_1\" {{\n  source    = \"../../../../tfmodules/aws_instance\"\n  name      = \"api-1\"\n  ami_id    = \"ami-0a9a90000000000a1\"\n  tags      = {{ point = data.terraform_remote_state.volumes.outputs.storage_ledger.access_point_ids[\"GROUP\"] }}\n}}\n"
    );
    // It is applied and stays: a second run against the same account makes another.
    let storage = storage.replace("\"ledger\"", &format!("\"ledger-{}\"", std::process::id()));
    let Some((mut tree, engine)) = bench(&storage, &fleet.replace("GROUP", "web")) else { return };
    plan_all(tree.job()).await.unwrap();
    tree.apply(&engine, STORAGE_DIR);
    for file in ["storage", "fleet"] {
        let (directory, from, to) = match file {
            "storage" => (
                STORAGE_DIR,
                "  }\n}\n\noutput",
                "    \"ops\" = { gid = 5002, path = \"/ops\", permissions = \"2770\" }\n  }\n}\n\noutput",
            ),
            _ => (FLEET_DIR, "[\"web\"]", "[\"ops\"]"),
        };
        let text = tree.emission.files.get_mut(&format!("{directory}/main.tf")).unwrap();
        assert!(text.contains(from));
        *text = text.replace(from, to);
    }
    let result = plan_all(tree.job()).await.unwrap();
    let point = change(plan(&result, STORAGE), "module.storage_ledger.aws_efs_access_point.group[\"ops\"]");
    assert_eq!(
        (&point.action, point.facts.get("root_directory[0].path")),
        (&Action::Create, Some(&Shown::Value("/ops".into())))
    );
    let made = change(plan(&result, FLEET), INSTANCE);
    assert_eq!(after(made, "tags.point"), &Shown::Pending(format!("{STORAGE}:storage_ledger.access_point_ids.ops")));
}

#[tokio::test]
async fn a_plan_only_storage_refuses_the_machine_that_needs_it_with_the_flag() {
    let Some((mut tree, _)) = bench(LEDGER, &machine()) else { return };
    tree.machine("api-1", BuildRef::Pinned { id: "ami-0a9a90000000000a1".into() });
    tree.plan_only(("cfg/_config.yml", 9));
    let result = plan_all(tree.job()).await.unwrap();
    let fleet = &result.roots.iter().find(|root| root.id == FLEET).unwrap().outcome;
    let RootOutcome::NeedsUnapplied { flag, at, needs, .. } = fleet else { panic!("{fleet:?}") };
    assert_eq!((flag.as_str(), at.as_ref().unwrap().line), ("apply_storage", 9));
    assert!(
        needs.iter().any(|need| need.instance.as_deref() == Some("api-1") && need.storage.as_deref() == Some("ledger")),
        "{needs:?}"
    );
}

#[tokio::test]
async fn a_token_that_a_user_typed_into_a_tag_stays_a_text() {
    let typed = "csis-pending:storage/volumes:storage_ledger.volume_id";
    let Some((tree, _)) = bench(LEDGER, &machine().replace("NOTE", typed)) else { return };
    let result = plan_all(tree.job()).await.unwrap();
    assert_eq!(after(change(plan(&result, FLEET), INSTANCE), "tags.note"), &Shown::Value(typed.into()));
}

#[tokio::test]
async fn a_machine_is_planned_on_the_image_that_this_change_bakes() {
    let fleet = format!("{READS}{}", API.replace("IMAGE", "var.api_1_ami_id"));
    let Some((mut tree, _)) = bench(LEDGER, &fleet) else { return };
    tree.machine(
        "api-1",
        BuildRef::Deferred { pattern: "web-".into(), series: "web".into(), runtime: "aws-west".into() },
    );
    tree.bake("web", "0123456789abcdef0123456789abcdef");
    let result = plan_all(tree.job()).await.unwrap();
    assert_eq!(
        after(change(plan(&result, FLEET), INSTANCE), "ami"),
        &Shown::Pending("build:web@aws-west:0123456789abcdef".into())
    );
}

#[tokio::test]
async fn without_a_usable_session_a_root_is_not_judged() {
    let Some((mut tree, _)) = bench(LEDGER, &machine()) else { return };
    tree.environment.retain(|name, _| {
        !name.starts_with("AWS_ACCESS") && !name.starts_with("AWS_SECRET") && !name.ends_with("_FILE")
    });
    tree.environment.insert("HOME".into(), "/nonexistent".into());
    let result = plan_all(tree.job()).await.unwrap();
    for root in &result.roots {
        assert!(matches!(&root.outcome, RootOutcome::NotJudged { .. }), "{:?}", root.outcome);
    }
}

#[tokio::test]
async fn another_user_plans_with_the_modules_the_profile_and_a_cache_of_the_run() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let Some((mut tree, _)) = bench(LEDGER, &machine()) else { return };
    if std::fs::metadata("/proc/self").map_or(0, |meta| meta.uid()) != 0
        || tree.folder.path().metadata().unwrap().uid() != 0
    {
        eprintln!("skipped: only root can start children as another user");
        return;
    }
    std::fs::set_permissions(tree.folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let cache = tree.folder.path().join("cache");
    tree.environment.insert("TF_PLUGIN_CACHE_DIR".into(), cache.to_string_lossy().into_owned());
    let mut job = tree.job();
    job.user = Some(csis_engine::ChildUser { uid: 54321, gid: 54321 });
    let result = plan_all(job).await.unwrap();
    assert_eq!(change(plan(&result, STORAGE), VOLUME).action, Action::Create);
    assert_eq!(change(plan(&result, FLEET), INSTANCE).action, Action::Create);
    assert!(!cache.exists(), "what outlives the run is not the user's to write");
}
