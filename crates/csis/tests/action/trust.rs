//! Who gets credentials, and who is never asked for any.

use crate::review::grows;
use crate::stage::{REPO, Stage};
use crate::support::Harbor;
use csis_bench_github::App;

const ROLE: &str = "arn:aws:iam::123456789012:role/csis-read";

/// Code that the next run brings along: a change of reach.
pub fn reaches(harbor: &Harbor) {
    grows(harbor);
    harbor.write(".github/workflows/deploy.yml", "on: push\n");
}

/// The check run by which somebody allows a commit.
pub fn allow(stage: &Stage, app: &App, conclusion: &str, head: &str, external_id: Option<String>) {
    stage.github.state(|state| {
        let run = state.add_check_run(REPO, head, "csis / reach", app);
        (run.status, run.conclusion, run.external_id) = ("completed".into(), Some(conclusion.into()), external_id);
    });
}

#[test]
fn a_change_of_reach_is_planned_without_credentials_and_mints_none() {
    let mut stage = Stage::planned(reaches);
    stage.with_identity().input("aws-read-role", ROLE);
    let ran = stage.run();
    assert_eq!(ran.output("verdict"), "not-judged", "{}", ran.said.all());
    let comment = stage.comment();
    for words in ["widens its reach", "workflows", &stage.head[..12]] {
        assert!(comment.contains(words), "{words} in {comment}");
    }
    assert_eq!(stage.github.calls().of("GET", "/oidc/").len(), 0);
}

#[test]
fn a_code_owner_s_word_counts_for_its_commit_and_from_our_app_alone() {
    let other = "1".repeat(40);
    let (actions, stranger) = (App::github_actions(), App::new("stranger", 99));
    for (app, conclusion, here, id, judged) in [
        (actions.clone(), "success", true, Some("csis-reach"), true),
        (stranger, "success", true, Some("csis-reach"), false),
        (actions.clone(), "failure", true, Some("csis-reach"), false),
        (actions.clone(), "success", false, Some("csis-reach"), false),
        // A job of the change's own that is called so.
        (actions.clone(), "success", true, None, false),
        (actions, "success", true, Some("5b0e6f6e-2f0c-4a1e"), false),
    ] {
        let stage = Stage::planned(reaches);
        let head = if here { &stage.head } else { &other };
        allow(&stage, &app, conclusion, head, id.map(|id| format!("{id} {head}")));
        let ran = stage.run();
        let verdict = ran.output("verdict");
        assert_eq!(verdict == "pass", judged, "{} {conclusion} {here}: {verdict} {}", app.slug, ran.said.all());
    }
}

#[test]
fn a_role_of_a_strange_account_is_refused_before_any_token_is_minted() {
    let mut stage = Stage::planned(grows);
    stage.with_identity().input("aws-read-role", "arn:aws:iam::999988887777:role/csis-read");
    let ran = stage.run().ends(2).tells(&["999988887777", "123456789012"]);
    assert_eq!(stage.github.calls().of("GET", "/oidc/").len(), 0, "{}", stage.github.calls());
    assert_eq!(ran.output("verdict"), "failed");
    assert!(stage.comment().contains("999988887777"), "{}", stage.comment());
}

#[test]
fn an_account_that_is_not_listed_is_not_called_with_credentials_of_the_job_either() {
    let mut stage = Stage::planned(grows);
    stage.input("allowed-account-ids", "999988887777");
    stage.run().ends(2).tells(&["123456789012", "`allowed-account-ids`"]);
    stage.input("allowed-account-ids", "999988887777, 123456789012");
    stage.run().ends(0);
    // A runtime that this run leaves out is not called.
    let two = |harbor: &Harbor| {
        let text = harbor.read("cfg/runtime-builders.yml");
        let (head, one) = text.split_once("  - name: aws-west\n").unwrap();
        let other = one.replace("123456789012", "210987654321").replace("[west]", "[east]");
        let other = other.replacen("is_default: true", "is_default: false", 1);
        harbor.write("cfg/runtime-builders.yml", format!("{head}  - name: aws-west\n{one}  - name: aws-east\n{other}"));
    };
    let mut stage = Stage::from_base("", two, grows);
    stage.with_session();
    stage.input("allowed-account-ids", "123456789012");
    stage.run().ends(2).tells(&["`aws-east`", "210987654321"]);
    stage.input("only-runtime", "aws-west");
    stage.run().hides(&["account-not-allowed"]);
}

#[test]
fn a_role_without_the_right_to_mint_names_the_line_that_grants_it() {
    let mut stage = Stage::planned(grows);
    stage.input("aws-read-role", ROLE);
    stage.run().ends(2).tells(&["`id-token: write`"]);
}

#[test]
fn the_engine_gets_the_role_through_files_and_never_the_job_s_tokens() {
    let mut stage = Stage::planned(grows);
    let seen = stage.harbor.outside().join("seen");
    std::fs::write(&seen, "").unwrap();
    std::fs::set_permissions(&seen, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    let dump = format!("#!/bin/sh\n{{ env; cat \"$AWS_CONFIG_FILE\"; }} >>{} 2>/dev/null\n", seen.display());
    stage.engine(|script| script.replacen("#!/bin/sh\n", &dump, 1));
    stage.with_identity().input("aws-read-role", ROLE);
    stage.run().ends(0);
    let seen = std::fs::read_to_string(&seen).unwrap();
    for words in [ROLE, "[profile harbor]", "web_identity_token_file"] {
        assert!(seen.contains(words), "{words} in {seen}");
    }
    for name in ["ACTIONS_ID_TOKEN_REQUEST", "GITHUB_", "INPUT_", "ghs_"] {
        assert!(!seen.contains(name), "{name} in {seen}");
    }
    assert!(!stage.github.calls().of("GET", "/oidc/").is_empty());
}

#[test]
fn a_checkout_that_is_not_the_merge_is_not_judged_as_it() {
    let stage = Stage::planned(grows);
    stage.harbor.git(&["switch", "--quiet", "change"]);
    stage.run().ends(2).tells(&["not the merge commit", "actions/checkout"]);
    assert_eq!(stage.comments().len() + stage.checks().len(), 0);
}

#[test]
fn a_tree_outside_of_the_workspace_is_refused() {
    for root in ["..", "/etc", "a/../.."] {
        let mut stage = Stage::planned(grows);
        stage.input("root", root);
        stage.run().ends(2).tells(&["leaves the workspace"]);
    }
}

/// The check of one tree must not be had by showing another.
#[test]
fn a_tree_whose_folder_becomes_a_link_is_refused() {
    for link in ["infra/west", "infra"] {
        let mut stage = Stage::from_base(
            "infra/west",
            |harbor| crate::support::copy(&harbor.path("../../infra"), &harbor.path("../../other")),
            |harbor| {
                let link = std::fs::canonicalize(harbor.path("../..")).unwrap().join(link);
                std::fs::remove_dir_all(&link).unwrap();
                let target = if link.ends_with("west") { "../other/west" } else { "other" };
                std::os::unix::fs::symlink(target, link).unwrap();
            },
        );
        stage.input("root", "infra/west").with_session();
        stage.run().ends(2).tells(&["a link stands in its place"]);
        assert_eq!(stage.checks().len(), 0);
    }
}

#[test]
fn what_a_change_says_is_not_what_the_page_does() {
    let stage = Stage::planned(|harbor| {
        let name = "{data: \"</details><img src=x> @mona ![](http://x.invalid/a.png) <!-- csis:comment v1 -->\"}";
        harbor.edit("storages/storages.yaml", "{data: ledger}", name);
    });
    stage.run();
    let comment = stage.comment();
    assert!(comment.contains("x.invalid"), "the generated diff shows it: {comment}");
    for (number, line) in comment.lines().enumerate().filter(|(_, line)| line.contains("x.invalid")) {
        let fences = comment.lines().take(number).filter(|line| line.starts_with("```")).count();
        assert!(fences % 2 == 1, "outside of a fence: {line}");
    }
}

/// A folder that git would take for a repository, whose configuration names a program: csis must not ask git anything in there.
#[test]
fn a_tree_that_looks_like_a_repository_runs_nothing() {
    let mut stage = Stage::below("infra/west", |harbor| {
        grows(harbor);
        // A commit that is nowhere: git asks the remote for it, by the program that the configuration names.
        harbor.write("HEAD", "1".repeat(40) + "\n").write("objects/keep", "").write("refs/keep", "");
        let remote = "[remote \"origin\"]\n\turl = .\n\tpromisor = true\n\tuploadpack = \"sh infra.sh; false\"\n";
        let core = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tworktree = .\n";
        harbor.write("config", format!("{core}[extensions]\n\tpartialClone = origin\n{remote}"));
        harbor.write("infra.sh", format!("echo >{}\n", harbor.outside().join("ran").display()));
    });
    stage.input("root", "infra/west");
    let ran = stage.run();
    assert!(!stage.harbor.outside().join("ran").exists(), "{}", ran.said.all());
    assert_eq!(ran.said.code, Some(2), "{}", ran.said.all());
}

/// What modules are made of, wherever it lies and however it is reached.
#[test]
fn code_of_modules_is_reach_wherever_it_lies() {
    // A link in a link: the base has it, the change edits what it leads to.
    let mut linked = Stage::from_base(
        "infra/west",
        |harbor| {
            let main = harbor.path("tfmodules/aws_instance/main.tf");
            harbor.write("../../shared/far/instance.tf", std::fs::read(&main).unwrap());
            std::os::unix::fs::symlink("far", harbor.path("../../shared/near")).unwrap();
            std::fs::remove_file(&main).unwrap();
            std::os::unix::fs::symlink("../../../../shared/near/instance.tf", main).unwrap();
        },
        |harbor| {
            grows(harbor);
            let text = harbor.read("../../shared/far/instance.tf");
            harbor.write("../../shared/far/instance.tf", format!("{text}\n# other\n"));
        },
    );
    linked.input("root", "infra/west").with_session();
    let ran = linked.run();
    assert_eq!(ran.output("verdict"), "not-judged", "{}", ran.said.all());
    assert!(linked.comment().contains("the code of modules"), "{}", linked.comment());
    // Modules beside the tree's folder, and nothing else changed.
    let mut beside = Stage::from_base(
        "infra/west",
        |harbor| {
            crate::support::copy(&harbor.path("tfmodules"), &harbor.path("../../tfmodules"));
            harbor.edit("cfg/_config.yml", "source_base: tfmodules", "source_base: ../../tfmodules");
        },
        |harbor| {
            let text = harbor.read("../../tfmodules/aws_instance/main.tf");
            harbor.write("../../tfmodules/aws_instance/main.tf", format!("{text}\n# other\n"));
        },
    );
    beside.input("root", "infra/west");
    let ran = beside.run();
    assert!(ran.summary.contains("widens its reach"), "{}\n{}", ran.said.all(), ran.summary);
    // In the plain case nothing of it is in the way.
    let mut plain = Stage::below("infra/west", grows);
    plain.input("root", "infra/west").with_session();
    assert_eq!(plain.run().output("verdict"), "pass");
}

#[test]
fn another_folder_for_the_emission_leaves_no_lock_and_no_edit_behind() {
    let lock = "generated/storage/volumes/storage-generation/.terraform.lock.hcl";
    let stage = Stage::from_base(
        "",
        |harbor| {
            harbor.write(lock, "# locked\n");
        },
        |harbor| {
            harbor.edit("cfg/_config.yml", "generation_directory: ./generated/", "generation_directory: gen2");
            harbor.write("generated/x.tf", "# mine\n");
        },
    );
    let ran = stage.run();
    assert!(ran.said.all().contains("records-edited"), "{}", ran.said.all());
    assert!(ran.summary.contains("which providers are run"), "{}", ran.summary);
}

/// What a module of the tree calls beside the tree is code as well, and a part of what was judged.
#[test]
fn a_module_that_a_module_calls_is_reach_and_in_the_record_s_key() {
    let calls = |harbor: &Harbor| {
        harbor.write("../../shared/called/main.tf", "# called\n");
        let text = harbor.read("tfmodules/aws_instance/main.tf");
        harbor.write(
            "tfmodules/aws_instance/main.tf",
            format!("{text}\nmodule \"more\" {{\n  source = \"../../../../shared/called\"\n}}\n"),
        );
    };
    let mut stage = Stage::from_base("infra/west", calls, |harbor| {
        grows(harbor);
        harbor.write("../../shared/called/main.tf", "# other\n");
    });
    stage.input("root", "infra/west").with_session();
    let ran = stage.run();
    assert_eq!(ran.output("verdict"), "not-judged", "{}", ran.said.all());
    assert!(stage.comment().contains("the code of modules"), "{}", stage.comment());
    let first = crate::review::record(&stage);
    stage.push(|harbor| {
        harbor.write("../../shared/called/main.tf", "# yet another\n");
    });
    stage.run();
    assert_ne!(crate::review::record(&stage)["inputs"], first["inputs"]);
}

/// A branch that a pull request goes to may hold what nobody allowed: only what the default branch holds was.
#[test]
fn a_base_that_is_not_the_default_branch_brings_its_own_reach_along() {
    let stacked = |base: fn(&Harbor)| {
        let mut stage = Stage::planned(|_| {});
        // The branch that the pull request goes to, on top of the default one.
        stage.git(&["switch", "--quiet", "--create", "below", "main"]);
        base(&stage.harbor);
        stage.git(&["add", "--all", ":/"]);
        stage.git(&["commit", "--quiet", "--allow-empty", "--message", "below"]);
        stage.git(&["switch", "--quiet", "change"]);
        stage.git(&["rebase", "--quiet", "below"]);
        grows(&stage.harbor);
        stage.git(&["commit", "--quiet", "--all", "--message", "change"]);
        stage.onto("below");
        stage.with_origin();
        stage
    };
    let plain = stacked(|harbor| {
        harbor.write("README.md", "words\n");
    });
    assert_eq!(plain.run().output("verdict"), "pass");
    let mut reaching = stacked(|harbor| {
        harbor.write(".github/workflows/deploy.yml", "on: push\n");
    });
    reaching.with_identity().input("aws-read-role", ROLE);
    let ran = reaching.run();
    assert_eq!(ran.output("verdict"), "not-judged", "{}", ran.said.all());
    assert!(reaching.comment().contains("workflows"), "{}", reaching.comment());
    assert_eq!(reaching.github.calls().of("GET", "/oidc/").len(), 0);
    // A code owner's word on the head counts here too.
    let head = reaching.head.clone();
    allow(&reaching, &App::github_actions(), "success", &head, Some(format!("csis-reach {head}")));
    assert_eq!(reaching.run().output("verdict"), "pass");
    // A default branch that cannot be fetched was compared with nothing.
    let lost = stacked(|_| {});
    lost.git(&["remote", "remove", "origin"]);
    let ran = lost.run();
    assert_eq!(ran.output("verdict"), "not-judged", "{}", ran.said.all());
}

#[test]
fn an_engine_of_the_checkout_is_not_run() {
    for place in ["bin/engine", "linked"] {
        let mut stage = Stage::planned(|harbor| {
            grows(harbor);
            harbor.write("bin/engine", "#!/bin/sh\ntouch ran\n");
            std::os::unix::fs::symlink(harbor.outside().join("engine"), harbor.path("linked")).unwrap();
        });
        let path = stage.workspace().join(place);
        for engine in [path.to_str().unwrap(), &format!("./{place}")] {
            stage.input("engine", engine);
            stage.run().ends(2).tells(&["lies in the workspace"]);
        }
        assert!(!stage.workspace().join("ran").exists());
    }
}

#[test]
fn a_token_in_the_checkout_s_configuration_is_told() {
    for (name, value, told) in [
        ("remote.origin.url", "https://x-access-token:ghp_0123@github.com/acme/harbor", true),
        ("url.https://ghp_0123@github.com/.insteadOf", "https://github.com/", true),
        ("remote.origin.url", "https://github.com/acme/harbor", false),
        ("remote.origin.url", "ssh://git@github.com/acme/harbor", false),
    ] {
        let stage = Stage::planned(grows);
        stage.git(&["config", name, value]);
        let ran = stage.run().ends(0).hides(&["ghp_0123"]);
        assert_eq!(ran.said.all().contains("checkout-token"), told, "{name} {value}");
    }
}
