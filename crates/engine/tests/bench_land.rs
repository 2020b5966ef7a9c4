//! On the bench (`CSIS_BENCH=1`): roots are applied by the very plan that was shown, a consumer after its producer, and the state tells what stands.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{FLEET, FLEET_DIR, STORAGE, Tree};
use csis_engine::{LandedRoot, RootOutcome, Roots};
use csis_values::plan::{Action, Plan, Shown};
use std::path::Path;

const PROVIDER: &str = "terraform {\n  required_providers {\n    aws = {\n      source = \"hashicorp/aws\"\n    }\n  }\n}\n\nprovider \"aws\" {\n  region  = \"us-west-2\"\n  profile = \"harbor\"\n}\n\n";
const LEDGER: &str = "module \"storage_ledger\" {\n  source            = \"../../../../tfmodules/aws_storage_ebs\"\n  name              = \"ledger\"\n  size              = 20\n  availability_zone = \"us-west-2a\"\n}\n\noutput \"storage_ledger\" {\n  value = module.storage_ledger\n}\n";
const API: &str = r#"data "terraform_remote_state" "volumes" {
  backend = "local"
  config = {
    path = "../../../../state/volumes.tfstate"
  }
}

module "instance_api_1" {
  source    = "../../../../tfmodules/aws_instance"
  name      = "api-1"
  ami_id    = "ami-0a9a90000000000a1"
  subnet_id = "SUBNET"
  tags      = { csis_config = "harbor" }
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

fn bench(subnet: &str) -> Option<Tree> {
    if std::env::var("CSIS_BENCH").as_deref() != Ok("1") {
        return None;
    }
    let engine = std::env::var("CSIS_BENCH_ENGINE").ok().or_else(common::engine)?;
    let fleet = format!("{PROVIDER}{}", API.replace("SUBNET", subnet));
    let mut tree = Tree::new(&engine, &format!("{PROVIDER}{LEDGER}"), &fleet);
    let names = ["TF_CLI_CONFIG_FILE", "TF_PLUGIN_CACHE_DIR", "CHECKPOINT_DISABLE"];
    for (name, value) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_") || names.contains(&name.as_str()))
    {
        tree.environment.insert(name, value);
    }
    common::copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tfmodules"), &tree.folder.path().join("tfmodules"));
    Some(tree)
}

/// The text that a change sets at a path.
fn set(plan: &Plan, address: &str, path: &str) -> Shown {
    let change = plan.changes.iter().find(|change| change.address == address).unwrap();
    change.attributes.iter().find(|attribute| attribute.path == path).unwrap().after.clone()
}

#[tokio::test]
async fn a_storage_and_the_machine_that_mounts_it_land_one_after_the_other() {
    let Some(tree) = bench("subnet-0ab0000000000000a") else { return };
    let roots = Roots::open(tree.job()).await.unwrap();
    // The rehearsal sees the machine with what its volume will be.
    let rehearsed = roots.plan().await.unwrap();
    assert!(rehearsed.roots.iter().all(|root| matches!(root.outcome, RootOutcome::Planned(_))), "{rehearsed:?}");
    let mut heard = Vec::new();
    let landed = roots.land(STORAGE, async |_: &Plan| true, |line| heard.push(line.to_owned())).await.unwrap();
    let LandedRoot::Applied { plan, kept } = landed else { panic!("{landed:?}") };
    assert!(plan.changes.iter().any(|change| change.address == VOLUME && change.action == Action::Create));
    let kept = kept.unwrap();
    let volume = kept.objects.iter().find(|object| object.address == VOLUME).unwrap().id.clone().unwrap();
    assert!(volume.starts_with("vol-") && kept.lineage.is_some() && kept.serial.is_some(), "{kept:?}");
    assert!(heard.iter().any(|line| line.contains("\"apply_complete\"")), "{heard:?}");
    // By now the volume is what it is: no token is left.
    let mut seen = Shown::Absent;
    let decide = async |plan: &Plan| {
        seen = set(plan, "module.instance_api_1.aws_volume_attachment.this[\"ledger\"]", "volume_id");
        true
    };
    let landed = roots.land(FLEET, decide, |_| {}).await.unwrap();
    let LandedRoot::Applied { kept, .. } = landed else { panic!("{landed:?}") };
    assert_eq!(seen, Shown::Value(volume));
    let kept = kept.unwrap();
    let machine = kept.objects.iter().find(|object| object.address == INSTANCE).unwrap();
    assert!(machine.id.as_deref().is_some_and(|id| id.starts_with("i-")), "{machine:?}");
    assert_eq!(machine.image.as_deref(), Some("ami-0a9a90000000000a1"));
    // Landed again, there is nothing to do, and the answer is asked all the same.
    let again = roots.land(FLEET, async |plan: &Plan| !plan.changes.is_empty(), |_| {}).await.unwrap();
    assert!(matches!(again, LandedRoot::Declined(_)), "{again:?}");
}

#[tokio::test]
async fn what_is_declined_changes_nothing_and_what_breaks_tells_how_far_it_came() {
    let Some(tree) = bench("subnet-00000000000000bad") else { return };
    let roots = Roots::open(tree.job()).await.unwrap();
    let landed = roots.land(STORAGE, async |_: &Plan| false, |_| panic!("nothing is applied")).await.unwrap();
    assert!(matches!(landed, LandedRoot::Declined(_)), "{landed:?}");
    assert!(!tree.folder.path().join("state/volumes.tfstate").exists());
    // Without its producer's state the consumer has no plan.
    let early = roots.land(FLEET, async |_: &Plan| true, |_| {}).await.unwrap();
    assert!(matches!(early, LandedRoot::Unplanned(_)), "{early:?}");
    let landed = roots.land(STORAGE, async |_: &Plan| true, |_| {}).await.unwrap();
    assert!(matches!(landed, LandedRoot::Applied { .. }), "{landed:?}");
    let broken = roots.land(FLEET, async |_: &Plan| true, |_| {}).await.unwrap();
    let LandedRoot::Broken { why, kept, .. } = broken else { panic!("{broken:?}") };
    assert!(why.why().contains("subnet"), "{why:?}");
    // What was made before the failure is in the state.
    let made = kept.unwrap().objects;
    assert!(!made.iter().any(|object| object.address == INSTANCE), "{made:?}");
    assert!(!tree.folder.path().join("_private").join(FLEET_DIR).join("errored.tfstate").exists());
}
