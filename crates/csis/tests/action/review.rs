//! What one review leaves behind.

use crate::stage::{REPO, Stage};
use crate::support::Harbor;
use csis_bench_github::App;

pub fn grows(harbor: &Harbor) {
    harbor.edit("instances/instances.yaml", "machine_type: m7i.large", "machine_type: m7i.xlarge");
}

/// A tree of a hundred findings: each of so many machines names an image that is not there.
fn many_errors(harbor: &Harbor) {
    let machines = (0..100).fold(String::new(), |text, n| {
        text + &format!("  - name: extra-{n}\n    image: not-there\n    storages: []\n")
    });
    harbor.edit("instances/instances.yaml", "  - name: edge-1\n", &format!("{machines}  - name: edge-1\n"));
}

#[test]
fn a_first_review_is_one_comment_a_check_run_a_summary_and_outputs() {
    let stage = Stage::planned(grows);
    let ran = stage.run().ends(0);
    let comment = stage.comment();
    for words in ["m7i.xlarge", "`instance-image/fleet`", "actions/runs/1000", "Generated files: 1 changed"] {
        assert!(comment.contains(words), "{words} in {comment}");
        assert!(ran.summary.contains(words), "{words} in {}", ran.summary);
    }
    // Of the tree's executables only engines are anything to csis.
    assert!(!comment.contains("is not run here"), "{comment}");
    let checks = stage.checks();
    assert_eq!(checks.len(), 1);
    assert_eq!((checks[0].name.as_str(), checks[0].conclusion.as_deref()), ("csis plan", Some("success")));
    assert_eq!(checks[0].external_id.as_deref(), Some(ran.output("digest")));
    assert_eq!(ran.output("verdict"), "pass");
    assert_eq!(ran.output("failure-reason"), "");
    assert!(ran.output("comment-url").contains("#issuecomment-"), "{:?}", ran.outputs);
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(stage.workspace().join(ran.output("report"))).unwrap()).unwrap();
    assert_eq!(report["digest"], ran.output("digest"));
    let calls = stage.github.calls();
    assert!(calls.len() <= 12, "{calls}");
}

/// The record of the review of the head.
pub fn record(stage: &Stage) -> serde_json::Value {
    let text = stage.checks().iter().max_by_key(|check| check.id).unwrap().text.clone().unwrap();
    let hash = text.lines().find(|line| line.contains("csis-record")).unwrap().rsplit(' ').next().unwrap();
    csis_github::record::join([text.as_str()], hash).unwrap()
}

#[test]
fn the_record_says_which_tree_was_judged_and_shows_no_value() {
    let secret = "a-value-of-four-words";
    let mut stage = Stage::planned(|harbor| {
        harbor.edit("storages/storages.yaml", "{data: ledger}", &format!("{{data: {secret}}}"));
    });
    stage.run().ends(0);
    let first = record(&stage);
    assert_eq!(first["head"], stage.head.as_str());
    let names: Vec<&str> = first["roots"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["storage/buckets", "storage/shares", "storage/volumes", "instance-image/fleet"]);
    assert_eq!(first["salt"].as_str().unwrap().len(), 32);
    assert!(!first.to_string().contains(secret), "{first}");
    // Another commit with the same tree is keyed alike; the salt is another each time.
    stage.push(|_| {});
    stage.run().ends(0);
    let later = record(&stage);
    assert_eq!(later["inputs"], first["inputs"]);
    assert_ne!(later["salt"], first["salt"]);
}

#[test]
fn a_commit_that_changes_nothing_of_the_tree_is_one_update() {
    let mut stage = Stage::planned(grows);
    stage.run().ends(0);
    stage.push(|_| {});
    stage.github.forget_calls();
    stage.run().ends(0);
    let writes = stage.writes();
    assert_eq!(writes.iter().filter(|write| write.contains("comments")).count(), 1, "{writes:?}");
    assert!(writes.iter().any(|write| write.starts_with("PATCH ") && write.contains("comments")), "{writes:?}");
    assert!(stage.comment().contains("actions/runs/1001"), "{}", stage.comment());
    assert!(stage.comments()[0].body.contains(&format!("head={}", stage.head)));
}

#[test]
fn a_hundred_annotations_and_two_pages_of_comments_are_twelve_calls() {
    let stage = Stage::planned(many_errors);
    stage.github.state(|state| {
        for n in 0..130 {
            state.add_comment(REPO, 7, "mona", &format!("words {n}"));
        }
    });
    let ran = stage.run().ends(1);
    let calls = stage.github.calls();
    assert!(calls.len() <= 12, "{calls}");
    let checks = stage.checks();
    assert_eq!(checks[0].annotations.len(), 100, "{}", ran.said.all());
    assert_eq!(checks[0].conclusion.as_deref(), Some("failure"));
    let first = &checks[0].annotations[0];
    assert_eq!((first.path.as_str(), first.annotation_level.as_str()), ("instances/instances.yaml", "failure"));
    assert!(first.start_line > 1 && first.message.contains("not-there"), "{first:?}");
}

#[test]
fn two_trees_of_one_repository_have_a_comment_each() {
    let mut stage = Stage::below("infra/west", grows);
    stage.input("root", "infra/west");
    let west = stage.run();
    let other = stage.comments()[0].body.replace("key=", "key=f");
    stage.github.state(|state| state.add_app_comment(REPO, 7, &App::github_actions(), &other));
    stage.run();
    let comments = stage.comments();
    assert_eq!(comments.len(), 2);
    assert_eq!(comments[1].body, other, "the other tree's is as it was");
    let checks = stage.checks();
    assert!(checks.iter().all(|check| check.name == "csis plan (infra/west)"), "{checks:?}");
    assert!(west.summary.contains("infra/west"), "{}", west.summary);
}

#[test]
fn two_jobs_of_a_matrix_have_a_comment_and_a_check_run_each() {
    let mut stage = Stage::planned(grows);
    stage.run().ends(0);
    stage.input("only-runtime", "aws-west");
    stage.run().ends(0);
    assert_eq!(stage.comments().len(), 2);
    let names: Vec<String> = stage.checks().into_iter().map(|check| check.name).collect();
    assert_eq!(names, ["csis plan", "csis plan (aws-west)"]);
}

#[test]
fn a_change_outside_of_the_tree_is_green_and_says_nothing() {
    let mut stage = Stage::below("infra", |harbor| {
        harbor.write("../README.md", "words\n");
    });
    stage.input("root", "infra");
    let ran = stage.run().ends(0).tells(&["nothing of csis changed"]);
    assert_eq!(stage.comments().len(), 0);
    assert_eq!(ran.output("verdict"), "pass");
    // Where an earlier commit had a comment, it must not stay with what is no longer so.
    stage.push(|harbor| {
        grows(harbor);
    });
    stage.run();
    assert!(stage.comment().contains("m7i.xlarge"));
    stage.push(|harbor| {
        harbor.edit("instances/instances.yaml", "machine_type: m7i.xlarge", "machine_type: m7i.large");
    });
    stage.run().ends(0);
    assert!(!stage.comment().contains("m7i.xlarge"), "{}", stage.comment());
}

#[test]
fn edited_records_are_refused_with_the_line_that_puts_them_right() {
    let stage = Stage::planned(|harbor| {
        let pins = harbor.read("meta-state/pins.yaml");
        harbor.write("meta-state/pins.yaml", format!("{pins}\n"));
    });
    let ran = stage.run().ends(1);
    let comment = stage.comment();
    for words in ["records-edited", "git checkout", "meta-state"] {
        assert!(comment.contains(words), "{words} in {comment}");
    }
    assert_eq!(ran.output("verdict"), "failed");
    assert_eq!(ran.output("failure-reason"), "records-edited");
}

#[test]
fn the_action_does_not_give_away_the_workspace() {
    let stage = Stage::planned(grows);
    let status = |stage: &Stage| stage.harbor.git(&["status", "--porcelain", "--untracked-files=all"]).stdout;
    let before = status(&stage);
    stage.run().ends(0);
    let after: Vec<String> =
        status(&stage).lines().map(str::to_owned).filter(|l| !before.contains(l.as_str())).collect();
    assert!(after.iter().all(|line| line.contains("csis-report/")), "{after:?}");
}

/// With the real engine, the bench's account and the stand-in provider.
#[test]
fn a_planned_review_on_real_parts_shows_what_the_provider_would_do() {
    if std::env::var("CSIS_BENCH").as_deref() != Ok("1") {
        return;
    }
    let mut stage = Stage::of(grows);
    stage.input("engine", crate::support::engine().unwrap().to_str().unwrap());
    for (name, value) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_") || name.starts_with("TF_")) {
        stage.set(&name, &value);
    }
    let ran = stage.run().ends(0);
    let comment = stage.comment();
    assert!(comment.contains("m7i.large → m7i.xlarge"), "{comment}\n{}", ran.said.all());

    assert_eq!(ran.output("changes").matches(r#""update":1"#).count(), 1, "{:?}", ran.outputs);
    let calls = stage.github.calls();
    assert!(calls.len() <= 12, "{calls}");
}

#[test]
fn jobs_of_a_matrix_have_a_comment_and_a_check_each() {
    let mut stage = Stage::planned(grows);
    stage.run().ends(0);
    for (input, value) in [("only-runtime", "aws-west"), ("apply-runtime", "aws-west")] {
        stage.input(input, value);
        stage.run();
        stage.input(input, "");
    }
    stage.set("GITHUB_JOB", "another");
    stage.run();
    assert_eq!(stage.comments().len(), 4);
    let checks = stage.checks();
    let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names.iter().filter(|name| **name == "csis plan (aws-west)").count(), 2, "{names:?}");
}

/// Links of a tree lead somewhere in the base as they do in the change: what stands behind one is no addition.
#[test]
fn a_tree_with_links_is_compared_through_them() {
    let mut stage = Stage::from_base(
        "",
        |harbor| {
            std::fs::rename(harbor.path("storages"), harbor.path("elsewhere")).unwrap();
            std::os::unix::fs::symlink("elsewhere", harbor.path("storages")).unwrap();
        },
        grows,
    );
    stage.with_session();
    let ran = stage.run().ends(0).hides(&["base-unreadable"]);
    let comment = stage.comment();
    assert!(comment.contains("Generated files: 1 changed"), "{comment}\n{}", ran.said.all());
}
