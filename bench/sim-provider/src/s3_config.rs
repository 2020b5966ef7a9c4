//! `aws_s3_bucket_policy` and `aws_s3_bucket_lifecycle_configuration`.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::aws::{Answer, Aws, AwsError, Call, Element, escape_xml, found};
use crate::resource::Body;
use crate::value::{
    Attrs, Value, block, items, number, object, put, put_optional, put_text, string, text, text_or_empty,
};

pub struct Policy;

impl Policy {
    fn write(aws: &Aws, state: &mut Attrs) -> Answer<()> {
        let (bucket, policy) = (text_or_empty(state, "bucket"), text_or_empty(state, "policy"));
        if serde_json::from_str::<Json>(&policy).is_err() {
            return Err(AwsError::new("S3: PutBucketPolicy", "MalformedPolicy", "Policies must be valid JSON"));
        }
        aws.s3(&Call::new("PutBucketPolicy", "PUT", &bucket).query("?policy").body(&policy))?;
        put_text(state, "id", bucket);
        Ok(())
    }
}

impl Body for Policy {
    fn force_new(&self) -> &'static [&'static str] {
        &["bucket"]
    }

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()> {
        Self::write(aws, state)
    }

    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool> {
        let bucket = text_or_empty(state, "id");
        let Some(reply) = found(aws.s3(&Call::new("GetBucketPolicy", "GET", &bucket).query("?policy")))? else {
            return Ok(false);
        };
        put_text(state, "bucket", &bucket);
        let parsed = |text: &str| serde_json::from_str::<Json>(text).ok();
        if parsed(&text_or_empty(state, "policy")) != parsed(&reply.body) {
            put_text(state, "policy", reply.body);
        }
        Ok(true)
    }

    fn update(&self, aws: &Aws, _prior: &Attrs, state: &mut Attrs) -> Answer<()> {
        Self::write(aws, state)
    }

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()> {
        let bucket = text_or_empty(prior, "id");
        aws.s3(&Call::new("DeleteBucketPolicy", "DELETE", &bucket).query("?policy")).map(|_| ())
    }
}

pub struct Lifecycle;

/// The part of a rule that is kept in the emulator.
#[derive(Debug, PartialEq)]
struct Rule {
    id: String,
    status: String,
    prefix: String,
    transitions: Vec<(i64, String)>,
    expire_days: i64,
}

impl Rule {
    fn declared(rule: &Attrs) -> Self {
        let transitions = items(rule, "transition")
            .iter()
            .filter_map(object)
            .map(|transition| (number(transition, "days").unwrap_or(0), text_or_empty(transition, "storage_class")));
        Self {
            id: text_or_empty(rule, "id"),
            status: text_or_empty(rule, "status"),
            prefix: block(rule, "filter")
                .and_then(|filter| text(filter, "prefix"))
                .or_else(|| text(rule, "prefix"))
                .unwrap_or_default()
                .to_owned(),
            transitions: transitions.collect(),
            expire_days: block(rule, "expiration").and_then(|expiration| number(expiration, "days")).unwrap_or(0),
        }
    }

    fn standing(rule: &Element) -> Self {
        let transitions = rule.all("Transition").map(|transition| {
            (transition.number("Days").unwrap_or(0), transition.text("StorageClass").unwrap_or_default())
        });
        Self {
            id: rule.text("ID").unwrap_or_default(),
            status: rule.text("Status").unwrap_or_default(),
            prefix: rule.text("Filter/Prefix").or_else(|| rule.text("Prefix")).unwrap_or_default(),
            transitions: transitions.collect(),
            expire_days: rule.number("Expiration/Days").unwrap_or(0),
        }
    }

    fn xml(&self) -> String {
        let mut transitions = String::new();
        for (days, class) in &self.transitions {
            let _ =
                write!(transitions, "<Transition><Days>{days}</Days><StorageClass>{class}</StorageClass></Transition>");
        }
        let expiration = if self.expire_days > 0 {
            format!("<Expiration><Days>{}</Days></Expiration>", self.expire_days)
        } else {
            String::new()
        };
        format!(
            "<Rule><ID>{}</ID><Status>{}</Status><Filter><Prefix>{}</Prefix></Filter>{transitions}{expiration}</Rule>",
            escape_xml(&self.id),
            self.status,
            escape_xml(&self.prefix),
        )
    }

    fn value(&self) -> Value {
        let objects = |list: Vec<Attrs>| Value::List(list.into_iter().map(Value::Map).collect());
        let transitions = self
            .transitions
            .iter()
            .map(|(days, class)| {
                Attrs::from([
                    ("days".to_owned(), Value::Number(*days)),
                    ("storage_class".to_owned(), string(class.clone())),
                ])
            })
            .collect();
        let mut expiration = Vec::new();
        if self.expire_days > 0 {
            expiration.push(Attrs::from([("days".to_owned(), Value::Number(self.expire_days))]));
        }
        Value::Map(Attrs::from([
            ("id".to_owned(), string(self.id.clone())),
            ("status".to_owned(), string(self.status.clone())),
            ("filter".to_owned(), objects(vec![Attrs::from([("prefix".to_owned(), string(self.prefix.clone()))])])),
            ("transition".to_owned(), objects(transitions)),
            ("expiration".to_owned(), objects(expiration)),
        ]))
    }
}

fn declared(state: &Attrs) -> Vec<Rule> {
    items(state, "rule").iter().filter_map(object).map(Rule::declared).collect()
}

impl Lifecycle {
    fn write(aws: &Aws, state: &mut Attrs) -> Answer<()> {
        let bucket = text_or_empty(state, "bucket");
        let rules: String = declared(state).iter().map(Rule::xml).collect();
        let body = format!("<LifecycleConfiguration>{rules}</LifecycleConfiguration>");
        aws.s3(&Call::new("PutBucketLifecycleConfiguration", "PUT", &bucket).query("?lifecycle").body(&body))?;
        put_text(state, "id", bucket);
        Ok(())
    }
}

impl Body for Lifecycle {
    fn force_new(&self) -> &'static [&'static str] {
        &["bucket", "expected_bucket_owner"]
    }

    fn objection(&self, config: &Attrs) -> Option<String> {
        let bare = declared(config).into_iter().find(|rule| rule.transitions.is_empty() && rule.expire_days == 0)?;
        let rule = items(config, "rule").iter().filter_map(object).find(|rule| text_or_empty(rule, "id") == bare.id)?;
        let others =
            ["abort_incomplete_multipart_upload", "noncurrent_version_expiration", "noncurrent_version_transition"];
        let acts = others.iter().chain(&["expiration", "transition"]).any(|name| !items(rule, name).is_empty());
        (!acts).then(|| format!("rule {:?} has no action", bare.id))
    }

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()> {
        Self::write(aws, state)
    }

    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool> {
        let bucket = text_or_empty(state, "id");
        let answer = found(aws.s3(&Call::new("GetBucketLifecycleConfiguration", "GET", &bucket).query("?lifecycle")))?;
        let Some(reply) = answer else { return Ok(false) };
        put_text(state, "bucket", &bucket);
        let there: Vec<Rule> = reply.xml().all("Rule").map(Rule::standing).collect();
        if there != declared(state) {
            put(state, "rule", Value::List(there.iter().map(Rule::value).collect()));
        }
        if text(state, "transition_default_minimum_object_size").is_none() {
            put_text(state, "transition_default_minimum_object_size", "all_storage_classes_128K");
        }
        let owner = text(state, "expected_bucket_owner").map(ToOwned::to_owned);
        put_optional(state, "expected_bucket_owner", owner.or_else(|| Some(String::new())));
        Ok(true)
    }

    fn update(&self, aws: &Aws, _prior: &Attrs, state: &mut Attrs) -> Answer<()> {
        Self::write(aws, state)
    }

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()> {
        let bucket = text_or_empty(prior, "id");
        aws.s3(&Call::new("DeleteBucketLifecycle", "DELETE", &bucket).query("?lifecycle")).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_reads_back_as_it_was_declared() {
        let rule = Rule {
            id: "csis".to_owned(),
            status: "Enabled".to_owned(),
            prefix: String::new(),
            transitions: vec![(60, "GLACIER_IR".to_owned())],
            expire_days: 400,
        };
        let Value::Map(value) = rule.value() else { panic!("not an object") };
        assert_eq!(Rule::declared(&value), rule);
    }
}
