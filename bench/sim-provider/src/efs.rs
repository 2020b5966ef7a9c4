//! `aws_efs_file_system`, and what the EFS types share.

use serde_json::{Value as Json, json};

use crate::aws::{Answer, Aws, encode, found};
use crate::resource::Body;
use crate::tags::{Tags, difference, observed, wanted};
use crate::value::{
    Attrs, Value, is_null, items, object, put, put_optional, put_text, same, string, text, text_map, text_or_empty,
};

pub fn tags_json(tags: &Tags) -> Json {
    tags.iter().map(|(key, value)| json!({"Key": key, "Value": value})).collect()
}

pub fn tags_of(found: &Json) -> Tags {
    let pairs = found["Tags"].as_array().into_iter().flatten();
    pairs
        .filter_map(|tag| Some((tag["Key"].as_str()?.to_owned(), tag["Value"].as_str().unwrap_or_default().to_owned())))
        .collect()
}

pub fn retag(aws: &Aws, prior: &Attrs, planned: &Attrs) -> Answer<()> {
    let id = text_or_empty(prior, "id");
    let (set, removed) = difference(&text_map(prior, "tags_all"), &wanted(planned));
    if !set.is_empty() {
        let body = json!({"Tags": tags_json(&set)});
        aws.efs("TagResource", "POST", &format!("resource-tags/{id}"), Some(&body))?;
    }
    if !removed.is_empty() {
        let keys: Vec<String> = removed.iter().map(|key| format!("tagKeys={}", encode(key, ""))).collect();
        aws.efs("UntagResource", "DELETE", &format!("resource-tags/{id}?{}", keys.join("&")), None)?;
    }
    Ok(())
}

pub fn json_text(found: &Json, key: &str) -> Option<String> {
    found[key].as_str().map(ToOwned::to_owned)
}

pub fn describe(aws: &Aws, id: &str) -> Answer<Option<Json>> {
    let answer = found(aws.efs("DescribeFileSystems", "GET", &format!("file-systems?FileSystemId={id}"), None))?;
    Ok(answer.and_then(|answer| answer["FileSystems"].get(0).cloned()))
}

const POLICIES: &[(&str, &str)] = &[
    ("transition_to_archive", "TransitionToArchive"),
    ("transition_to_ia", "TransitionToIA"),
    ("transition_to_primary_storage_class", "TransitionToPrimaryStorageClass"),
];

/// The lifecycle policies of a file system, as objects of `lifecycle_policy`.
pub fn lifecycle(aws: &Aws, id: &str) -> Answer<Value> {
    let path = format!("file-systems/{id}/lifecycle-configuration");
    let answer = aws.efs("DescribeLifecycleConfiguration", "GET", &path, None)?;
    let policies = answer["LifecyclePolicies"].as_array().into_iter().flatten().map(|policy| {
        let members = POLICIES.iter().map(|(attribute, name)| {
            ((*attribute).to_owned(), json_text(policy, name).map_or(Value::Null, Value::String))
        });
        Value::Map(members.collect())
    });
    Ok(Value::List(policies.collect()))
}

fn put_lifecycle(aws: &Aws, id: &str, state: &Attrs) -> Answer<()> {
    let policies: Vec<Json> = items(state, "lifecycle_policy")
        .iter()
        .filter_map(object)
        .map(|policy| {
            let set = POLICIES
                .iter()
                .filter_map(|(attribute, name)| Some(((*name).to_owned(), json!(text(policy, attribute)?))));
            Json::Object(set.collect())
        })
        .collect();
    let body = json!({"LifecyclePolicies": policies});
    let path = format!("file-systems/{id}/lifecycle-configuration");
    aws.efs("PutLifecycleConfiguration", "PUT", &path, Some(&body)).map(|_| ())
}

pub fn dns_name(aws: &Aws, id: &str) -> String {
    format!("{id}.efs.{}.amazonaws.com", aws.region)
}

pub struct FileSystem;

const IA: &[&str] = &[
    "AFTER_1_DAY",
    "AFTER_7_DAYS",
    "AFTER_14_DAYS",
    "AFTER_30_DAYS",
    "AFTER_60_DAYS",
    "AFTER_90_DAYS",
    "AFTER_180_DAYS",
    "AFTER_270_DAYS",
    "AFTER_365_DAYS",
];

impl Body for FileSystem {
    fn force_new(&self) -> &'static [&'static str] {
        &["availability_zone_name", "creation_token", "encrypted", "kms_key_id", "performance_mode"]
    }

    fn objection(&self, config: &Attrs) -> Option<String> {
        for policy in items(config, "lifecycle_policy").iter().filter_map(object) {
            for attribute in ["transition_to_ia", "transition_to_archive"] {
                if let Some(days) = text(policy, attribute)
                    && !IA.contains(&days)
                {
                    return Some(format!("expected lifecycle_policy.{attribute} to be one of {IA:?}, got {days}"));
                }
            }
        }
        None
    }

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()> {
        let mut body = json!({
            "CreationToken": text(state, "creation_token").unwrap_or("terraform-sim"),
            "Tags": tags_json(&wanted(state)),
        });
        if let Some(mode) = text(state, "performance_mode") {
            body["PerformanceMode"] = json!(mode);
        }
        if let Some(Value::Bool(encrypted)) = state.get("encrypted") {
            body["Encrypted"] = json!(encrypted);
        }
        if let Some(mode) = text(state, "throughput_mode") {
            body["ThroughputMode"] = json!(mode);
        }
        let created = aws.efs("CreateFileSystem", "POST", "file-systems", Some(&body))?;
        let id = json_text(&created, "FileSystemId").unwrap_or_default();
        put_text(state, "id", &id);
        if !items(state, "lifecycle_policy").is_empty() {
            put_lifecycle(aws, &id, state)?;
        }
        Ok(())
    }

    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool> {
        let id = text_or_empty(state, "id");
        let Some(found) = describe(aws, &id)? else { return Ok(false) };
        put_text(state, "arn", aws.arn("elasticfilesystem", &format!("file-system/{id}")));
        put_text(state, "dns_name", dns_name(aws, &id));
        for (attribute, key) in
            [("creation_token", "CreationToken"), ("performance_mode", "PerformanceMode"), ("owner_id", "OwnerId")]
        {
            put_optional(state, attribute, json_text(&found, key));
        }
        put(state, "encrypted", Value::Bool(found["Encrypted"].as_bool().unwrap_or(false)));
        put(state, "number_of_mount_targets", Value::Number(found["NumberOfMountTargets"].as_i64().unwrap_or(0)));
        let tags = tags_of(&found);
        put_text(state, "name", tags.get("Name").cloned().unwrap_or_default());
        let size = |key: &str| Value::Number(found["SizeInBytes"][key].as_i64().unwrap_or(0));
        let sizes = Attrs::from([
            ("value".to_owned(), size("Value")),
            ("value_in_ia".to_owned(), size("ValueInIA")),
            ("value_in_standard".to_owned(), size("ValueInStandard")),
        ]);
        put(state, "size_in_bytes", Value::List(vec![Value::Map(sizes)]));
        let lifecycle = lifecycle(aws, &id)?;
        if !same(state.get("lifecycle_policy"), Some(&lifecycle)) {
            put(state, "lifecycle_policy", lifecycle);
        }
        observed(state, &tags, &aws.default_tags);
        Ok(true)
    }

    fn update(&self, aws: &Aws, prior: &Attrs, state: &mut Attrs) -> Answer<()> {
        if !same(prior.get("lifecycle_policy"), state.get("lifecycle_policy")) {
            put_lifecycle(aws, &text_or_empty(prior, "id"), state)?;
        }
        retag(aws, prior, state)
    }

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()> {
        let id = text_or_empty(prior, "id");
        aws.efs("DeleteFileSystem", "DELETE", &format!("file-systems/{id}"), None).map(|_| ())
    }
}

/// `data.aws_efs_file_system`.
pub fn look_up(aws: &Aws, state: &mut Attrs) -> Answer<Option<String>> {
    let query = match (text(state, "file_system_id"), text(state, "creation_token")) {
        (Some(id), _) => format!("file-systems?FileSystemId={id}"),
        (None, Some(token)) => format!("file-systems?CreationToken={}", encode(token, "")),
        (None, None) => "file-systems".to_owned(),
    };
    let answer = found(aws.efs("DescribeFileSystems", "GET", &query, None))?;
    let wanted = text_map(state, "tags");
    let mut matching: Vec<Json> = answer
        .and_then(|mut answer| answer["FileSystems"].as_array_mut().map(std::mem::take))
        .unwrap_or_default()
        .into_iter()
        .filter(|found| {
            let tags = tags_of(found);
            wanted.iter().all(|(key, value)| tags.get(key) == Some(value))
        })
        .collect();
    let found = match (matching.pop(), matching.is_empty()) {
        (None, _) => return Ok(Some("no matching EFS file system found".to_owned())),
        (Some(_), false) => {
            return Ok(Some("multiple EFS file systems matched; use additional constraints".to_owned()));
        }
        (Some(found), true) => found,
    };
    let id = json_text(&found, "FileSystemId").unwrap_or_default();
    put_text(state, "arn", aws.arn("elasticfilesystem", &format!("file-system/{id}")));
    put_text(state, "dns_name", dns_name(aws, &id));
    put(state, "encrypted", Value::Bool(found["Encrypted"].as_bool().unwrap_or(false)));
    for (attribute, key) in
        [("creation_token", "CreationToken"), ("performance_mode", "PerformanceMode"), ("name", "Name")]
    {
        put_optional(state, attribute, json_text(&found, key));
    }
    put(state, "size_in_bytes", Value::Number(found["SizeInBytes"]["Value"].as_i64().unwrap_or(0)));
    put(state, "lifecycle_policy", lifecycle(aws, &id)?);
    if is_null(state.get("tags")) {
        put(state, "tags", crate::value::string_map(&tags_of(&found)));
    }
    put(state, "file_system_id", string(id.clone()));
    put_text(state, "id", id);
    Ok(None)
}
