//! What the doctor tells of a machine, and the tools a caller names for it. Only the binary meets a real PATH.
#![allow(clippy::unwrap_used, reason = "what cannot be set up cannot be judged")]

mod support;

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use support::{Harbor, run};

const SOON: Duration = Duration::from_mins(1);

/// A program that answers as this engine does when asked for its version.
fn engine(harbor: &Harbor, version: &str) -> String {
    let path = harbor.outside().join(format!("engine-{version}"));
    fs::write(&path, format!("#!/bin/sh\necho 'Terraform v{version}'\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A folder for PATH that holds these programs and nothing else.
fn path_with(harbor: &Harbor, programs: &[&str]) -> PathBuf {
    let folder = harbor.outside().join(programs.join("-"));
    fs::create_dir_all(&folder).unwrap();
    for program in programs {
        let found = run(Command::new("sh").args(["-c", &format!("command -v {program}")]), SOON).ends(0).stdout;
        std::os::unix::fs::symlink(found.trim(), folder.join(program)).unwrap();
    }
    folder
}

#[test]
fn doctor_tells_all_that_is_missing_each_with_its_remedy() {
    let harbor = Harbor::new();
    let mut command = harbor.command(&["doctor"]);
    let said = run(command.env("PATH", path_with(&harbor, &["git"])), SOON).ends(2);
    let said =
        said.tells(&["tree", "harbor loads", "error[modules]", "init-config", "error[session]", "profile harbor"]);
    let said = said.tells(&["no engine", "`tofu`", "--tool", "cfg/executables.yml:6"]);
    assert!(said.stdout.contains("harbor loads") && !said.stdout.contains("error"), "{}", said.stdout);
}

#[test]
fn doctor_is_content_when_nothing_is_missing() {
    let harbor = Harbor::new();
    harbor.csis(&["init-config", "."]).ends(0);
    harbor.write("aws", "[profile harbor]\nregion = us-west-2\naws_access_key_id = x\naws_secret_access_key = y\n");
    let tool = format!("engine={}", engine(&harbor, "1.11.4"));
    let mut command = harbor.command(&["--tool", &tool, "doctor"]);
    let said = run(command.env("AWS_CONFIG_FILE", harbor.path("aws")), SOON).ends(0);
    said.tells(&["1.11.4", "they are of this release", "every profile"]).hides(&["error["]);
}

#[test]
fn doctor_judges_the_machine_of_a_refused_tree_too() {
    let harbor = Harbor::new();
    harbor.edit("storages/storages.yaml", "2775", "2777");
    harbor.csis(&["doctor"]).ends(1).tells(&["the tree is refused", "csis validate"]);
}

#[test]
fn an_engine_of_another_version_is_told_and_a_named_one_is_taken() {
    let harbor = Harbor::new();
    let old = engine(&harbor, "1.5.7");
    harbor.csis(&["--tool", "engine=/no/such/engine", "doctor"]).ends(2).tells(&["/no/such/engine", "no such file"]);
    // A named binary waives the tree's rule, with a note; what csis itself needs stays needed.
    harbor.csis(&["--tool", &format!("tofu={old}"), "doctor"]).tells(&["1.5.7", "1.10"]);
    let new = engine(&harbor, "2.1.0");
    harbor.csis(&["--tool", &format!("tofu={new}"), "doctor"]).tells(&["2.1.0"]).hides(&["no engine"]);
    for tool in ["engine", "=x", "engine="] {
        harbor.csis(&["--tool", tool, "doctor"]).ends(2).tells(&["NAME=PATH"]);
    }
}

#[test]
fn an_engine_by_the_other_name_is_offered() {
    let harbor = Harbor::new();
    let folder = path_with(&harbor, &["git"]);
    fs::rename(engine(&harbor, "1.11.4"), folder.join("terraform")).unwrap();
    let mut command = harbor.command(&["--offline", "doctor"]);
    let said = run(command.env("PATH", &folder), SOON).ends(2);
    said.tells(&["no engine", "--tool tofu=terraform", &format!("{}/terraform", folder.display())]);
    let mut taken = harbor.command(&["--offline", "--tool", "tofu=terraform", "doctor"]);
    run(taken.env("PATH", &folder), SOON).hides(&["no engine"]).tells(&["terraform 1.11.4"]);
}

#[test]
fn offline_no_session_is_asked_for() {
    let harbor = Harbor::new();
    harbor.csis(&["init-config"]).ends(0);
    let tool = format!("engine={}", engine(&harbor, "1.11.4"));
    harbor.csis(&["--tool", &tool, "doctor"]).ends(2).tells(&["error[session]"]);
    harbor.csis(&["--offline", "--tool", &tool, "doctor"]).ends(0).hides(&["session", "every profile"]);
}

#[test]
fn a_tool_that_nothing_uses_is_refused_with_the_ones_there_are() {
    let harbor = Harbor::new();
    let tool = |tool: &str| harbor.csis(&["--offline", "--tool", tool, "validate"]);
    tool("tofy=terraform").ends(2).tells(&["`tofy`", "--tool tofu=terraform"]);
    tool("nothing=terraform").ends(2).tells(&["`nothing`", "engine", "packer", "bash"]);
    tool("tofu=/nope").ends(2).tells(&["/nope", "no such file"]).hides(&["PATH is"]);
    tool("tofu=./generated").ends(2).tells(&["no such file"]);
    for fine in ["tofu=terraform", "engine=terraform", "packer=packer"] {
        tool(fine).ends(0);
    }
}

/// The policies that doctor prints, by the line above each.
fn policies(said: &str) -> Vec<(String, Value)> {
    all_policies(said).into_iter().filter(|(head, _)| head.starts_with("What ")).collect()
}

fn all_policies(said: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut lines = said.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("What ") || line.starts_with("Who ") {
            let policy: String = lines.by_ref().take_while(|line| !line.is_empty()).collect();
            found.push((line.to_owned(), serde_json::from_str(&policy).unwrap()));
        }
    }
    found
}

#[test]
fn the_read_role_is_allowed_what_this_trees_roots_read_and_no_more() {
    let harbor = Harbor::new();
    let said = harbor.csis(&["--offline", "doctor"]).stdout;
    let found = policies(&said);
    assert_eq!(found.len(), 1, "{said}");
    assert!(found[0].0.contains("`harbor`"), "{}", found[0].0);
    let of = |sid: &str| {
        let statements = found[0].1["Statement"].as_array().unwrap();
        statements.iter().find(|s| s["Sid"] == sid).map(|s| (s["Action"].clone(), s["Resource"].clone()))
    };
    assert_eq!(
        of("ReadState"),
        Some((json!(["s3:GetObject"]), json!(["arn:aws:s3:::harbor-state/roots/harbor/*.tfstate"])))
    );
    assert_eq!(of("FindState"), Some((json!(["s3:ListBucket"]), json!(["arn:aws:s3:::harbor-state"]))));
    let described = json!(["ec2:Describe*", "elasticfilesystem:Describe*", "elasticfilesystem:ListTagsForResource"]);
    assert_eq!(of("Describe"), Some((described, json!(["*"]))));
    let buckets = of("RefreshBuckets").unwrap();
    assert_eq!(buckets.1, json!(["arn:aws:s3:::harbor-public-docs", "arn:aws:s3:::harbor-vault"]));
    assert!(of("ReachState").is_none());
    let actions = found[0].1.to_string();
    for word in ["Put", "Delete", "Create", "tflock", "s3:*"] {
        assert!(!actions.contains(word), "{word} in {actions}");
    }
}

#[test]
fn a_backend_in_another_account_has_a_policy_of_its_own() {
    let harbor = Harbor::new();
    harbor.edit(
        "cfg/state-backends.yml",
        "profile: harbor, ",
        "profile: keeper, assume_role: {role_arn: \"arn:aws-us-gov:iam::123456789012:role/state\"}, ",
    );
    harbor.edit("cfg/state-backends.yml", "region: us-west-2", "region: us-gov-west-1");
    let said = harbor.csis(&["--offline", "doctor"]).stdout;
    let found = policies(&said);
    assert_eq!(found.len(), 3, "{said}");
    let of = |word: &str| found.iter().find(|(head, _)| head.contains(word)).unwrap().1.to_string();
    let (keeper, state, harbor) = (of("profile `keeper`"), of("role/state`"), of("profile `harbor`"));
    assert!(keeper.contains("sts:AssumeRole") && keeper.contains("role/state") && !keeper.contains("s3:"), "{keeper}");
    assert!(state.contains("arn:aws-us-gov:s3:::harbor-state/roots/harbor/*.tfstate"), "{state}");
    assert!(harbor.contains("ec2:Describe*") && !harbor.contains("ReadState"), "{harbor}");
}

/// Whether AWS would let a token with these claims assume a role of this trust policy.
fn trusts(policy: &Value, issuer: &str, claims: &Value) -> bool {
    let statements = policy["Statement"].as_array().unwrap();
    assert_eq!(statements.len(), 1);
    assert_eq!(statements[0]["Effect"], "Allow");
    assert_eq!(statements[0]["Action"], "sts:AssumeRoleWithWebIdentity");
    statements[0]["Condition"].as_object().unwrap().iter().all(|(operator, keys)| {
        keys.as_object().unwrap().iter().all(|(key, wanted)| {
            let claim =
                key.strip_prefix(issuer).and_then(|key| key.strip_prefix(':')).unwrap_or_else(|| panic!("{key}"));
            let wanted: Vec<&str> = match wanted {
                Value::Array(all) => all.iter().map(|one| one.as_str().unwrap()).collect(),
                one => vec![one.as_str().unwrap()],
            };
            let Some(claim) = claims[claim].as_str() else { return false };
            match operator.as_str() {
                "StringEquals" => wanted.contains(&claim),
                "StringLike" => wanted.iter().any(|pattern| match pattern.split_once('*') {
                    Some((before, after)) => claim.starts_with(before) && claim.ends_with(after),
                    None => *pattern == claim,
                }),
                other => panic!("{other}: only these two refuse a claim that is not there"),
            }
        })
    })
}

const ISSUER: &str = "token.actions.githubusercontent.com";
const LAND: &str = "Acme/harbor/.github/workflows/land.yml@refs/heads/trunk";

fn token(subject: &str) -> Value {
    json!({ "aud": "sts.amazonaws.com", "sub": subject, "repository_id": "74", "job_workflow_ref": LAND })
}

/// The tree in a repository whose origin knows its default branch.
fn of_acme(url: &str) -> Harbor {
    let harbor = Harbor::standing();
    harbor.git(&["remote", "add", "origin", url]);
    harbor.git(&["update-ref", "refs/remotes/origin/trunk", "HEAD"]);
    harbor.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
    harbor
}

/// The trust policies of the read role and of the apply role, and all that was said.
fn trust(harbor: &Harbor, environment: &[(&str, &str)]) -> (Value, Value, String) {
    let mut command = harbor.command(&["--offline", "doctor"]);
    let said = run(command.envs(environment.iter().copied()), SOON).stdout;
    let found = all_policies(&said);
    let of = |role: &str| {
        let mut of_role = found.iter().filter(|(head, _)| head.starts_with("Who ") && head.contains(role));
        let (_, policy) = of_role.next().unwrap_or_else(|| panic!("no {role} in {said}"));
        assert!(of_role.next().is_none(), "{said}");
        policy.clone()
    };
    (of("the read role"), of("the apply role"), said)
}

const RUN: [(&str, &str); 4] = [
    ("GITHUB_REPOSITORY", "Acme/harbor"),
    ("GITHUB_REPOSITORY_ID", "74"),
    ("GITHUB_REPOSITORY_OWNER_ID", "65"),
    ("GITHUB_SERVER_URL", "https://github.com"),
];

#[test]
fn the_roles_trust_this_repositorys_runs_in_both_forms_of_a_subject_and_no_others() {
    let (read, apply, said) = trust(&of_acme("git@github.com:Acme/fork.git"), &RUN);
    assert!(!said.contains("To fill in"), "{said}");
    for policy in [&read, &apply] {
        let principal = &policy["Statement"][0]["Principal"]["Federated"];
        assert_eq!(principal, &format!("arn:aws:iam::123456789012:oidc-provider/{ISSUER}"));
    }
    for whose in ["repo:Acme/harbor", "repo:Acme@65/harbor@74"] {
        for (rest, reads, applies) in [
            ("pull_request", true, false),
            ("ref:refs/heads/gh-readonly-queue/trunk/pr-7-0123abcd", true, false),
            ("ref:refs/heads/trunk", true, false),
            ("environment:csis-apply", true, true),
            ("environment:other", false, false),
            ("ref:refs/heads/feature", false, false),
            ("ref:refs/heads/trunk-2", false, false),
            ("ref:refs/heads/gh-readonly-queue/other/pr-7-0123abcd", false, false),
            ("ref:refs/tags/v1", false, false),
        ] {
            let claims = token(&format!("{whose}:{rest}"));
            assert_eq!(trusts(&read, ISSUER, &claims), reads, "read {whose}:{rest}");
            assert_eq!(trusts(&apply, ISSUER, &claims), applies, "apply {whose}:{rest}");
            for (claim, other) in [
                ("aud", json!("https://github.com/Acme")),
                ("repository_id", json!("75")),
                ("repository_id", Value::Null),
                ("job_workflow_ref", json!(LAND.replace("land.yml", "other.yml"))),
                ("job_workflow_ref", json!(LAND.replace("trunk", "feature"))),
                ("job_workflow_ref", Value::Null),
            ] {
                let mut claims = claims.clone();
                claims[claim] = other.clone();
                assert!(!trusts(&apply, ISSUER, &claims), "apply {whose}:{rest} {claim} {other}");
                assert_eq!(trusts(&read, ISSUER, &claims), reads && claim != "aud", "read {whose}:{rest} {claim}");
            }
        }
    }
    for whose in [
        "repo:Acme/harbor-2",
        "repo:Evil/harbor",
        "repo:Acme@65/harbor@75",
        "repo:Acme@66/harbor@74",
        "repo:acme/harbor",
    ] {
        for rest in ["pull_request", "environment:csis-apply"] {
            let claims = token(&format!("{whose}:{rest}"));
            assert!(!trusts(&read, ISSUER, &claims) && !trusts(&apply, ISSUER, &claims), "{whose}:{rest}");
        }
    }
}

#[test]
fn what_is_not_known_of_the_repository_is_said_with_the_command_that_tells_it() {
    let (read, apply, said) = trust(&of_acme("https://x:s3cr3t@github.com/Acme/harbor.git"), &[]);
    assert!(!said.contains("s3cr3t") && !said.contains("DEFAULT-BRANCH"), "{said}");
    for line in
        ["OWNER-ID       gh api repos/Acme/harbor --jq .owner.id", "REPO-ID        gh api repos/Acme/harbor --jq .id"]
    {
        assert!(said.contains(line), "{line} in {said}");
    }
    assert!(trusts(&read, ISSUER, &token("repo:Acme/harbor:pull_request")));
    assert!(!trusts(&apply, ISSUER, &token("repo:Acme/harbor:environment:csis-apply")), "no id is trusted unseen");
    // The ids are the run's, and so nothing without its repository.
    let (_, apply, _) = trust(&of_acme("git@github.com:Acme/harbor.git"), &RUN[1..]);
    assert!(apply.to_string().contains("OWNER-ID"), "{apply}");

    let nowhere = Harbor::new();
    nowhere.edit("cfg/runtime-builders.yml", "    account_id: \"123456789012\"\n", "");
    let (read, _, said) = trust(&nowhere, &[]);
    for word in ["OWNER/REPO", "DEFAULT-BRANCH", "ACCOUNT-ID"] {
        assert!(read.to_string().contains(word) && said.contains(&format!("  {word:<14} ")), "{word} in {said}");
    }
    for odd in ["Acme", "a/b/c", "Acme/har*bor", "$(x)/y"] {
        let (read, _, _) = trust(&nowhere, &[("GITHUB_REPOSITORY", odd)]);
        assert!(read.to_string().contains("repo:OWNER/REPO:"), "{odd}: {read}");
    }
}

#[test]
fn a_server_of_its_own_signs_its_own_tokens() {
    let harbor = of_acme("git@github.com:Acme/harbor.git");
    let of = |server: &'static str| {
        let mut environment = RUN;
        environment[3].1 = server;
        trust(&harbor, &environment)
    };
    let (read, apply, said) = of("https://ghe.example.com");
    let issuer = "ghe.example.com/_services/token";
    assert!(trusts(&read, issuer, &token("repo:Acme/harbor:pull_request")));
    assert!(trusts(&apply, issuer, &token("repo:Acme/harbor:environment:csis-apply")));
    assert!(!said.contains("Acme@65") && said.contains("job_workflow_ref` of the tokens of github.com"), "{said}");
    let (read, apply, said) = of("https://acme.ghe.com");
    let issuer = "token.actions.acme.ghe.com";
    assert!(trusts(&read, issuer, &token("repo:Acme@65/harbor@74:pull_request")));
    assert!(trusts(&apply, issuer, &token("repo:Acme@65/harbor@74:environment:csis-apply")));
    assert!(!said.contains("tokens of github.com"), "{said}");
}

#[test]
fn the_policies_are_announced_and_stand_at_the_end() {
    let help = run(&mut support::csis(&["doctor", "--help"]), SOON).ends(0).stdout;
    for word in ["trust policies", "read role", "apply role"] {
        assert!(help.contains(word), "{help}");
    }
    let said = Harbor::new().csis(&["--offline", "doctor"]).stdout;
    let (head, policies) = said.split_once("\nWhat ").unwrap();
    assert!(head.contains("harbor loads") && !head.contains('{') && policies.contains("\nWho "), "{said}");
    let refused = Harbor::new();
    refused.edit("storages/storages.yaml", "2775", "2777");
    refused.csis(&["--offline", "doctor"]).ends(1).hides(&["Statement"]);
}
