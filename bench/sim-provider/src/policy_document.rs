//! `data.aws_iam_policy_document`: renders statements to the JSON that the real provider writes.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::value::{Attrs, digest, items, object, put_text, text, texts};

/// IAM's "one or many".
#[derive(Serialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Many(Vec<String>),
}

impl Names {
    fn of(from: &Attrs, key: &str) -> Option<Self> {
        let mut names: Vec<String> = texts(from, key).into_iter().collect();
        match names.len() {
            0 => None,
            1 => names.pop().map(Self::One),
            _ => Some(Self::Many(names)),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Principals {
    Everyone(&'static str),
    Of(BTreeMap<String, Names>),
}

impl Principals {
    fn of(statement: &Attrs, key: &str) -> Option<Self> {
        let blocks: Vec<&Attrs> = items(statement, key).iter().filter_map(object).collect();
        if blocks.is_empty() {
            return None;
        }
        if blocks.iter().any(|block| text(block, "type") == Some("*")) {
            return Some(Self::Everyone("*"));
        }
        let named = blocks
            .iter()
            .filter_map(|block| Some((text(block, "type")?.to_owned(), Names::of(block, "identifiers")?)))
            .collect();
        Some(Self::Of(named))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Statement {
    #[serde(skip_serializing_if = "Option::is_none")]
    sid: Option<String>,
    effect: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Names>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_action: Option<Names>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<Names>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_resource: Option<Names>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<Principals>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_principal: Option<Principals>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    condition: BTreeMap<String, BTreeMap<String, Names>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    statement: Vec<Statement>,
}

fn statement(from: &Attrs) -> Statement {
    let mut condition: BTreeMap<String, BTreeMap<String, Names>> = BTreeMap::new();
    for block in items(from, "condition").iter().filter_map(object) {
        if let (Some(test), Some(variable), Some(values)) =
            (text(block, "test"), text(block, "variable"), Names::of(block, "values"))
        {
            condition.entry(test.to_owned()).or_default().insert(variable.to_owned(), values);
        }
    }
    Statement {
        sid: text(from, "sid").map(ToOwned::to_owned),
        effect: text(from, "effect").unwrap_or("Allow").to_owned(),
        action: Names::of(from, "actions"),
        not_action: Names::of(from, "not_actions"),
        resource: Names::of(from, "resources"),
        not_resource: Names::of(from, "not_resources"),
        principal: Principals::of(from, "principals"),
        not_principal: Principals::of(from, "not_principals"),
        condition,
    }
}

/// Fills in `json`, `minified_json` and `id`. Documents to merge are not supported: a message says so.
pub fn render(state: &mut Attrs) -> Option<String> {
    for key in ["override_json", "source_json", "override_policy_documents", "source_policy_documents"] {
        if !crate::value::is_empty(state.get(key)) {
            return Some(format!("this stand-in does not merge policy documents ({key})"));
        }
    }
    let document = Document {
        version: text(state, "version").unwrap_or("2012-10-17").to_owned(),
        id: text(state, "policy_id").map(ToOwned::to_owned),
        statement: items(state, "statement").iter().filter_map(object).map(statement).collect(),
    };
    let (Ok(json), Ok(minified)) = (serde_json::to_string_pretty(&document), serde_json::to_string(&document)) else {
        return Some("the policy document cannot be written as JSON".to_owned());
    };
    put_text(state, "id", digest(&json).to_string());
    put_text(state, "json", json);
    put_text(state, "minified_json", minified);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Value, string, strings};

    #[test]
    fn one_is_a_text_and_many_are_a_sorted_list() {
        let principal = Attrs::from([("type".into(), string("AWS")), ("identifiers".into(), strings(["*"]))]);
        let condition = Attrs::from([
            ("test".into(), string("StringEquals")),
            ("variable".into(), string("aws:PrincipalAccount")),
            ("values".into(), strings(["123456789012"])),
        ]);
        let one = Attrs::from([
            ("sid".into(), string("Read")),
            ("actions".into(), strings(["s3:ListBucket", "s3:GetObject"])),
            ("resources".into(), strings(["arn:aws:s3:::b"])),
            ("principals".into(), Value::List(vec![Value::Map(principal)])),
            ("condition".into(), Value::List(vec![Value::Map(condition)])),
        ]);
        let mut state = Attrs::from([("statement".into(), Value::List(vec![Value::Map(one)]))]);
        assert_eq!(render(&mut state), None);
        assert_eq!(
            text(&state, "minified_json"),
            Some(
                r#"{"Version":"2012-10-17","Statement":[{"Sid":"Read","Effect":"Allow","Action":["s3:GetObject","s3:ListBucket"],"Resource":"arn:aws:s3:::b","Principal":{"AWS":"*"},"Condition":{"StringEquals":{"aws:PrincipalAccount":"123456789012"}}}]}"#
            )
        );
    }
}
