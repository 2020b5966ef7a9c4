//! What later rooms see of a plan's JSON, and what they never see.
#![expect(clippy::needless_pass_by_value, reason = "documents read better when written in place")]

use super::{Reading, Redactor, read};
use crate::pending::Tokens;
use csis_values::plan::{Action, Change, Document, Plan, Shown};
use csis_values::sha256;
use serde_json::{Value, json};

fn reading<'a>(redactor: &'a Redactor, tokens: Option<&'a Tokens>) -> Reading<'a> {
    Reading { source: "p.json", redactor, tokens, ours: false }
}

fn read_text(text: &str) -> Plan {
    read(text.as_bytes(), reading(&Redactor::default(), None)).0
}

fn plan_of(changes: Value) -> Plan {
    read_text(&json!({"format_version": "1.2", "resource_changes": changes}).to_string())
}

fn resource(kind: &str, change: Value) -> Value {
    json!({"address": format!("{kind}.this"), "mode": "managed", "type": kind, "name": "this", "provider_name": "registry.terraform.io/hashicorp/aws", "change": change})
}

fn only(change: Value) -> Change {
    let mut plan = plan_of(json!([change]));
    assert_eq!((plan.document.clone(), plan.changes.len()), (Document::Plan, 1));
    plan.changes.remove(0)
}

fn after<'a>(change: &'a Change, path: &str) -> &'a Shown {
    let all: Vec<&str> = change.attributes.iter().map(|a| a.path.as_str()).collect();
    &change.attributes.iter().find(|a| a.path == path).unwrap_or_else(|| panic!("{path} in {all:?}")).after
}

fn value(text: &str) -> Shown {
    Shown::Value(text.to_owned())
}

#[test]
fn what_is_no_plan_says_why() {
    let why = |text: &str| match read_text(text).document {
        Document::NotAPlan(why) => why,
        other => panic!("{text}: {other:?}"),
    };
    assert!(why("{}").contains("neither `resource_changes` nor `planned_values`"));
    assert!(why(r#"{"resource_changes": null}"#).contains("neither"));
    assert!(why(r#"{"format_version":"1.0","values":{"root_module":{}}}"#).contains("state"));
    assert!(why("[]").contains("list"));
    assert!(why("{broken").contains("line 1 column 2"));
    assert!(why("").contains("empty"));
    assert!(why(r#"{"resource_changes": {}}"#).contains("list of changes"));
    assert!(why(r#"{"resource_changes": []} x"#).contains("broken JSON"));
    assert!(why(r#"{"resource_changes": [{"change":{"actions":["create"]}}]}"#).contains("no `address`"));
    assert!(why(r#"{"resource_changes": [{"address":"a","address":"b"}]}"#).contains("twice"));
    assert!(why(r#"{"errored": "yes", "resource_changes": []}"#).contains("boolean"));
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let nested = |deep: &str| {
        format!(r#"{{"resource_changes":[{{"address":"a","change":{{"actions":["create"],"after":{deep}}}}}]}}"#)
    };
    assert!(why(&nested(&deep)).contains("a: a value is nested too deeply"));
    assert!(why(&nested(&deep[..10_000])).contains("broken JSON"));
}

#[test]
fn an_empty_plan_needs_no_changes_and_flags_may_come_last() {
    let plan = read_text(
        r#"{"planned_values":{"root_module":{}},"complete":false,"errored":true,"applyable":false,"format_version":"1.2"}"#,
    );
    assert_eq!(
        (plan.document, plan.complete, plan.applyable, plan.errored),
        (Document::Plan, Some(false), Some(false), true)
    );
    assert_eq!(plan.format_version.as_deref(), Some("1.2"));
}

#[test]
fn a_plan_with_deferred_changes_is_not_complete_whatever_it_says() {
    for (text, complete) in [
        (r#"{"deferred_changes":[{"reason":"x"}],"complete":true,"resource_changes":[]}"#, Some(false)),
        (r#"{"complete":true,"resource_changes":[],"deferred_changes":[{"reason":"x"}]}"#, Some(false)),
        (r#"{"resource_changes":[],"deferred_changes":[{"reason":"x"}]}"#, Some(false)),
        (r#"{"complete":true,"resource_changes":[],"deferred_changes":[]}"#, Some(true)),
    ] {
        assert_eq!(read_text(text).complete, complete, "{text}");
    }
}

#[test]
fn objects_with_nothing_to_do_are_counted_unless_they_moved_or_are_imported() {
    let noop = |extra: Value| {
        let mut one = resource("x", json!({"actions": ["no-op"], "before": {"a": 1}, "after": {"a": 1}}));
        one.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        one
    };
    let plan = plan_of(json!([
        noop(json!({})),
        noop(json!({"address": "x.b", "previous_address": "x.a"})),
        noop(json!({"address": "x.a", "change": {"actions": ["no-op"], "importing": {"id": "vol-1"}}})),
        noop(json!({"address": "data.x", "mode": "data", "change": {"actions": ["read"]}})),
        noop(json!({"address": "w", "deposed": "00000001", "change": {"actions": ["delete"]}})),
    ]));
    assert_eq!(plan.unchanged, 1);
    let seen: Vec<_> = plan.changes.iter().map(|c| (c.address.as_str(), &c.action)).collect();
    assert_eq!(
        seen,
        [("w", &Action::Delete), ("x.a", &Action::NoOp), ("x.b", &Action::NoOp), ("data.x", &Action::Read)]
    );
    assert_eq!(plan.changes[0].deposed.as_deref(), Some("00000001"));
    assert_eq!(plan.changes[1].importing.as_deref(), Some("vol-1"));
    assert_eq!(plan.changes[2].previous_address.as_deref(), Some("x.a"));
}

#[test]
fn every_path_that_differs_is_told_and_nothing_else() {
    let change = only(resource(
        "aws_x",
        json!({
            "actions": ["delete", "create"],
            "before": {"id": "x-1", "same": 1, "size": 8, "tags": {"a b": "1", "gone": "x"}, "tags_all": {"a b": "1", "gone": "x"}, "block": [{"port": 1}, {"port": 2}], "list": ["a"], "gid": 1},
            "after": {"same": 1, "size": 9, "tags": {"a b": "2"}, "tags_all": {"a b": "2"}, "block": [{"port": 1}, {"port": 3}], "list": ["a", "b"], "gid": 12_345_678_901_234_567_890_u64},
            "after_unknown": {"id": true, "arn": true},
            "before_sensitive": {}, "after_sensitive": {"block": [{}, {}]},
            "replace_paths": [["size"], ["block", 1, "port"]],
        }),
    ));
    let told: Vec<_> = change.attributes.iter().map(|a| (a.path.as_str(), a.forces_replacement)).collect();
    let expected = [
        ("arn", false),
        ("block[1].port", true),
        ("gid", false),
        ("id", false),
        ("list", false),
        ("size", true),
        ("tags.gone", false),
        ("tags[\"a b\"]", false),
    ];
    assert_eq!(told, expected);
    assert_eq!(change.replace_paths, ["block[1].port", "size"]);
    assert_eq!(change.id.as_deref(), Some("x-1"));
    assert_eq!((after(&change, "arn"), after(&change, "id")), (&Shown::Unknown, &Shown::Unknown));
    assert_eq!(after(&change, "gid"), &value("12345678901234567890"));
    assert_eq!(after(&change, "list"), &value("[\"a\",\"b\"]"));
    assert_eq!(after(&change, "tags.gone"), &Shown::Absent);
    let size = change.attributes.iter().find(|a| a.path == "size").unwrap();
    assert_eq!((&size.before, size.digest.as_deref()), (&value("8"), Some(sha256("9").as_str())));
    assert_eq!(change.attributes[0].digest, None);
}

#[test]
fn a_number_that_no_float_holds_stays_exact() {
    let text = r#"{"format_version":"1.2","resource_changes":[{"address":"a","change":{"actions":["update"],"before":{"n":1},"after":{"n":123456789012345678901234567890.5}}}]}"#;
    assert_eq!(after(&read_text(text).changes[0], "n"), &value("123456789012345678901234567890.5"));
}

#[test]
fn no_secret_passes_the_door() {
    const HUSH: &str = "hush-hush-hush";
    let redactor = Redactor::new(["opened-by-csis".to_owned()]);
    let change = resource(
        "aws_x",
        json!({
            "actions": ["update"],
            "before": {"whole": "old-secret", "part": {"deep": [{"x": HUSH}]}, "was": HUSH, "db_password": "p1", "user_data": "#!/bin/sh\nTOKEN=abc\n", "flag": true},
            "after": {"whole": HUSH, "part": {"deep": [{"x": "hush-2"}]}, "was": "plain", "db_password": "p2-hush", "pem": "-----BEGIN RSA PRIVATE KEY-----\nhush\n", "url": "mysql://u:hush@h/x",
                "marker": "ENC[age:aHVzaA==]", "opened": "a opened-by-csis b", "user_data": "#!/bin/sh\nTOKEN=hush\n", "list": ["ok", "ghp_hushhushhushhushhushhushhushhushhush"], "flag": false,
                "policy": "{\"k\":\"AKIAIOSFODNN7EXAMPLE\"}"},
            "after_unknown": {"whole": false},
            "before_sensitive": {"was": true, "part": {"deep": [{"x": true}]}},
            "after_sensitive": {"whole": true, "part": {"deep": [{"x": true}]}, "flag": true},
        }),
    );
    let text = json!({"resource_changes": [change], "resource_drift": [change], "output_changes": {"o": {"actions": ["create"], "before": null, "after": HUSH, "after_sensitive": true}}}).to_string();
    let (plan, _) = read(text.as_bytes(), reading(&redactor, None));
    let out = serde_json::to_string(&plan).unwrap();
    for secret in ["hush", "old-secret", "opened-by-csis", "AKIA", "TOKEN=abc", "\"p1\""] {
        assert!(!out.contains(secret), "{secret} in {out}");
    }
    let change = &plan.changes[0];
    for path in
        ["whole", "part.deep[0].x", "was", "db_password", "pem", "url", "marker", "opened", "list", "flag", "policy"]
    {
        let attribute = change.attributes.iter().find(|a| a.path == path).unwrap();
        assert_eq!((&attribute.after, &attribute.digest), (&Shown::Sensitive, &None), "{path}");
    }
    assert!(
        matches!(after(change, "user_data"), Shown::Value(text) if text.starts_with("script of 2 lines with SHA-256 "))
    );
    assert!(plan.outputs[0].sensitive && plan.drift.len() == 1);
}

#[test]
fn the_same_script_reads_the_same_in_base64() {
    let change = only(resource(
        "aws_instance",
        json!({"actions": ["update"], "before": {"user_data": "#!/bin/sh\necho 1\n"}, "after": {"user_data": "IyEvYmluL3NoCmVjaG8gMQo="}}),
    ));
    assert_eq!(change.attributes[0].before, change.attributes[0].after);
}

#[test]
fn long_values_are_cut_at_a_character() {
    let change = only(resource("x", json!({"actions": ["create"], "before": null, "after": {"a": "é".repeat(5000)}})));
    let Shown::Value(text) = after(&change, "a") else { panic!() };
    assert!(text.len() <= 2048 && text.ends_with('…'));
    assert_eq!(change.attributes[0].digest, Some(sha256(format!("\"{}\"", "é".repeat(5000)))));
}

#[test]
fn facts_hold_what_rules_judge_by() {
    let change = only(resource(
        "aws_security_group",
        json!({
            "actions": ["update"], "before": {},
            "after": {"ingress": [{"cidr_blocks": ["0.0.0.0/0"], "from_port": 22, "self": false}], "egress": [], "size": 10, "policy": "{}", "tags": {"csis_config": "harbor", "other": "x", "Name": "n"},
                "description": "not judged", "root_directory": [{"path": "/", "creation_info": [{"owner_gid": 5}]}]},
            "after_unknown": {"ingress": [{"cidr_blocks": [false]}], "id": true, "vpc_security_group_ids": [true], "kms_key_id": true},
        }),
    ));
    let facts = &change.facts;
    for (key, shown) in [
        ("ingress[0].cidr_blocks", value("[\"0.0.0.0/0\"]")),
        ("ingress[0].from_port", value("22")),
        ("egress", value("[]")),
        ("tags.csis_config", value("harbor")),
        ("root_directory[0].creation_info[0].owner_gid", value("5")),
        ("kms_key_id", Shown::Unknown),
        ("vpc_security_group_ids", Shown::Unknown),
        ("policy", value("{}")),
    ] {
        assert_eq!(facts.get(key), Some(&shown), "{key} in {facts:?}");
    }
    assert!(!facts.contains_key("tags.other") && !facts.contains_key("description"));
}

#[test]
fn a_destroyed_object_keeps_its_facts() {
    let change = only(resource(
        "aws_ebs_volume",
        json!({"actions": ["delete"], "before": {"id": "vol-1", "size": 50}, "after": null}),
    ));
    assert_eq!((change.facts.get("size"), change.attributes.len()), (Some(&value("50")), 0));
}

#[test]
fn only_a_token_of_the_run_is_pending() {
    let tokens = Tokens::new("emission");
    let token = tokens.for_output("storage/volumes", "storage_ledger.volume_id").to_string();
    let typed = "csis-pending:storage/volumes:storage_ledger.volume_id";
    let text = json!({"resource_changes": [resource("aws_volume_attachment", json!({
        "actions": ["create"], "before": null,
        "after": {"volume_id": token, "user_data": format!("VOL={token}\n"), "note": format!("uses {token}"), "tags": {"t": typed}},
    }))]})
    .to_string();
    let (plan, _) = read(text.as_bytes(), reading(&Redactor::default(), Some(&tokens)));
    let change = &plan.changes[0];
    assert_eq!(after(change, "volume_id"), &Shown::Pending("storage/volumes:storage_ledger.volume_id".into()));
    assert_eq!(after(change, "tags.t"), &value(typed));
    assert_eq!(after(change, "note"), &value("uses (pending storage/volumes:storage_ledger.volume_id)"));
    assert!(!serde_json::to_string(&plan).unwrap().contains(&token));
    let other = Tokens::new("emission, edited");
    let again = other.for_output("storage/volumes", "storage_ledger.volume_id").to_string();
    let (replan, _) = read(text.replace(&token, &again).as_bytes(), reading(&Redactor::default(), Some(&other)));
    assert_eq!(replan.changes, plan.changes);
}

#[test]
fn code_in_the_configuration_is_found_at_any_depth() {
    let text = json!({
        "configuration": {
            "provider_config": {"aws": {"name": "aws", "full_name": "registry.terraform.io/hashicorp/aws", "expressions": {"region": {}}}},
            "root_module": {
                "resources": [{"address": "data.external.x", "mode": "data", "type": "external", "name": "x"}],
                "module_calls": {"a": {"source": "./a", "module": {"module_calls": {"b": {"module": {"resources": [
                    {"provisioners": [{"type": "local-exec", "expressions": {}}], "address": "terraform_data.y", "mode": "managed", "type": "terraform_data"}
                ]}}}}}},
            },
        },
        "resource_changes": [],
    });
    let plan = read_text(&text.to_string());
    let code: Vec<_> = plan.code.iter().map(|c| (c.what.as_str(), c.address.as_str())).collect();
    assert!(code.contains(&("data external", "data.external.x")));
    assert!(code.contains(&("provisioner local-exec", "module.a.module.b.terraform_data.y")));
    assert_eq!(plan.providers, ["registry.terraform.io/hashicorp/aws"]);
}

#[test]
fn what_is_left_out_is_counted_and_still_part_of_the_digest() {
    let object = |last: u32| {
        let entries = (0..300).map(|n| (format!("a{n:03}"), json!(if n == 299 { last } else { n })));
        resource("x", json!({"actions": ["create"], "before": null, "after": Value::Object(entries.collect())}))
    };
    let (one, other) = (only(object(1)), only(object(2)));
    assert_eq!((one.attributes.len(), one.attributes_left_out), (200, 100));
    assert_eq!(one.attributes, other.attributes);
    assert_ne!(one.facts["left_out_digest"], other.facts["left_out_digest"]);
}

#[test]
fn actions_of_providers_are_code_and_unknown_parts_are_told() {
    let plan = read_text(
        r#"{"format_version":"1.2","resource_changes":[],"reactor_shutdowns":[],"timestamp":"x","checks":[],
            "action_invocations":[{"address":"action.aws_ec2_stop_instance.x","type":"aws_ec2_stop_instance"}],
            "deferred_action_invocations":[{"reason":"y","action_invocation":{"address":"action.b.c","type":"b"}}],
            "configuration":{"root_module":{"module_calls":{"m":{"module":{"actions":[{"type":"local_command","name":"z"}]}}}}}}"#,
    );
    let code: Vec<(&str, &str)> = plan.code.iter().map(|code| (code.what.as_str(), code.address.as_str())).collect();
    assert_eq!(
        code,
        [
            ("action aws_ec2_stop_instance", "action.aws_ec2_stop_instance.x"),
            ("action b", "action.b.c"),
            ("action local_command", "module.m.action.local_command"),
        ]
    );
    assert_eq!(plan.unknown_parts, ["reactor_shutdowns"]);
}

#[test]
fn a_configuration_that_holds_nothing_or_is_written_oddly_is_not_taken_for_one_without_code() {
    for (text, configured) in [
        (r#"{"root_module":{}}"#, Some(true)),
        ("null", Some(false)),
        ("{}", Some(false)),
        (r#"{"root_module":null}"#, Some(false)),
        ("[]", None),
        (r#"{"root_module":[]}"#, None),
        (r#"{"root_module":{"resources":{"a":{"provisioners":[{"type":"local-exec"}]}}}}"#, None),
        (r#"{"root_module":{"resources":[{"provisioners":{"0":{"type":"local-exec"}}}]}}"#, None),
        (r#"{"root_module":{"module_calls":[{"module":{}}]}}"#, None),
    ] {
        let text = format!(r#"{{"format_version":"1.2","resource_changes":[],"configuration":{text}}}"#);
        let (plan, _) = read(text.as_bytes(), reading(&Redactor::default(), None));
        let found = (plan.document == Document::Plan).then_some(plan.configured);
        assert_eq!(found, configured, "{text}");
    }
}
