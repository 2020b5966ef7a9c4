//! `aws_s3_bucket` and `aws_s3_object`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::aws::{Answer, Aws, Call, Element, encode, escape_xml, found};
use crate::resource::Body;
use crate::tags::{Tags, observed, wanted};
use crate::value::{Attrs, Value, flag, is_unknown, put, put_optional, put_text, same, text, text_map, text_or_empty};

fn tags_of(element: &Element) -> Tags {
    element
        .all("TagSet/Tag")
        .filter_map(|tag| Some((tag.text("Key")?, tag.text("Value").unwrap_or_default())))
        .collect()
}

fn tagging(tags: &Tags) -> String {
    let tags: Vec<String> = tags
        .iter()
        .map(|(key, value)| format!("<Tag><Key>{}</Key><Value>{}</Value></Tag>", escape_xml(key), escape_xml(value)))
        .collect();
    let tags = tags.concat();
    format!("<Tagging><TagSet>{tags}</TagSet></Tagging>")
}

fn read_tags(aws: &Aws, bucket: &str, key: &str) -> Answer<Tags> {
    let reply = found(aws.s3(&Call::new("GetTagging", "GET", bucket).key(key).query("?tagging")))?;
    Ok(reply.map(|reply| tags_of(&reply.xml())).unwrap_or_default())
}

fn write_tags(aws: &Aws, bucket: &str, key: &str, tags: &Tags) -> Answer<()> {
    if tags.is_empty() {
        aws.s3(&Call::new("DeleteTagging", "DELETE", bucket).key(key).query("?tagging")).map(|_| ())
    } else {
        aws.s3(&Call::new("PutTagging", "PUT", bucket).key(key).query("?tagging").body(&tagging(tags))).map(|_| ())
    }
}

pub struct Bucket;

fn is_bucket_name(name: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (3..=63).contains(&name.len())
        && edge(name.bytes().next())
        && edge(name.bytes().last())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.')
        && !name.contains("..")
}

/// Deletes every version of every object.
fn empty(aws: &Aws, bucket: &str) -> Answer<()> {
    loop {
        let listing = aws.s3(&Call::new("ListObjectVersions", "GET", bucket).query("?versions"))?.xml();
        let versions: Vec<(String, String)> = listing
            .all("Version")
            .chain(listing.all("DeleteMarker"))
            .filter_map(|version| Some((version.text("Key")?, version.text("VersionId").unwrap_or_default())))
            .collect();
        if versions.is_empty() {
            return Ok(());
        }
        for (key, version) in versions {
            let which = if version.is_empty() || version == "null" {
                String::new()
            } else {
                format!("?versionId={}", encode(&version, ""))
            };
            aws.s3(&Call::new("DeleteObject", "DELETE", bucket).key(&key).query(&which))?;
        }
    }
}

impl Body for Bucket {
    fn force_new(&self) -> &'static [&'static str] {
        &["bucket", "bucket_prefix", "object_lock_enabled"]
    }

    fn objection(&self, config: &Attrs) -> Option<String> {
        let name = text(config, "bucket")?;
        (!is_bucket_name(name)).then(|| format!("invalid value for bucket: {name:?} is no bucket name"))
    }

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()> {
        if is_unknown(state, "bucket") {
            let prefix = text(state, "bucket_prefix").unwrap_or("terraform-");
            let name = format!("{prefix}{:08x}", crate::value::digest(&format!("{:?}", std::time::SystemTime::now())));
            put_text(state, "bucket", name);
        }
        let bucket = text_or_empty(state, "bucket");
        let place = if aws.region == "us-east-1" {
            String::new()
        } else {
            let region = &aws.region;
            format!(
                "<CreateBucketConfiguration><LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"
            )
        };
        aws.s3(&Call::new("CreateBucket", "PUT", &bucket).body(&place))?;
        put_text(state, "id", &bucket);
        let tags = wanted(state);
        if tags.is_empty() { Ok(()) } else { write_tags(aws, &bucket, "", &tags) }
    }

    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool> {
        let bucket = text_or_empty(state, "id");
        if found(aws.s3(&Call::new("HeadBucket", "HEAD", &bucket)))?.is_none() {
            return Ok(false);
        }
        put_text(state, "bucket", &bucket);
        put_text(state, "arn", format!("arn:aws:s3:::{bucket}"));
        put_text(state, "bucket_domain_name", format!("{bucket}.s3.amazonaws.com"));
        put_text(state, "bucket_regional_domain_name", format!("{bucket}.s3.{}.amazonaws.com", aws.region));
        put_text(state, "bucket_region", &aws.region);
        put_text(state, "request_payer", "BucketOwner");
        put(state, "object_lock_enabled", Value::Bool(flag(state, "object_lock_enabled")));
        for key in ["acceleration_status", "bucket_prefix"] {
            if text(state, key).is_none() {
                put_text(state, key, "");
            }
        }
        let policy = found(aws.s3(&Call::new("GetBucketPolicy", "GET", &bucket).query("?policy")))?;
        put_text(state, "policy", policy.map(|reply| reply.body).unwrap_or_default());
        observed(state, &read_tags(aws, &bucket, "")?, &aws.default_tags);
        Ok(true)
    }

    fn update(&self, aws: &Aws, prior: &Attrs, state: &mut Attrs) -> Answer<()> {
        if text_map(prior, "tags_all") == wanted(state) {
            return Ok(());
        }
        write_tags(aws, &text_or_empty(prior, "id"), "", &wanted(state))
    }

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()> {
        let bucket = text_or_empty(prior, "id");
        if flag(prior, "force_destroy") && found(empty(aws, &bucket))?.is_none() {
            return Ok(());
        }
        aws.s3(&Call::new("DeleteBucket", "DELETE", &bucket)).map(|_| ())
    }
}

pub struct Object;

impl Object {
    fn write(aws: &Aws, state: &mut Attrs) -> Answer<()> {
        let (bucket, key) = (text_or_empty(state, "bucket"), text_or_empty(state, "key"));
        let content = match text(state, "content_base64") {
            Some(encoded) => {
                STANDARD.decode(encoded).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
            }
            None => text_or_empty(state, "content"),
        };
        let kind = text(state, "content_type").unwrap_or("application/octet-stream").to_owned();
        let mut headers = vec![("Content-Type".to_owned(), kind)];
        let tags = wanted(state);
        if !tags.is_empty() {
            let pairs: Vec<String> =
                tags.iter().map(|(key, value)| format!("{}={}", encode(key, ""), encode(value, ""))).collect();
            headers.push(("x-amz-tagging".to_owned(), pairs.join("&")));
        }
        aws.s3(&Call::new("PutObject", "PUT", &bucket).key(&key).headers(headers).body(&content))?;
        put_text(state, "id", format!("{bucket}/{key}"));
        Ok(())
    }
}

impl Body for Object {
    fn force_new(&self) -> &'static [&'static str] {
        &["bucket", "key"]
    }

    fn plan(&self, prior: Option<&Attrs>, planned: &mut Attrs) {
        let Some(prior) = prior else { return };
        if ["content", "content_base64", "source", "source_hash"]
            .iter()
            .any(|key| !same(prior.get(*key), planned.get(*key)))
        {
            for key in ["etag", "version_id"] {
                put(planned, key, Value::Unknown);
            }
        }
    }

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()> {
        Self::write(aws, state)
    }

    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool> {
        let (bucket, key) = (text_or_empty(state, "bucket"), text_or_empty(state, "key"));
        let Some(head) = found(aws.s3(&Call::new("HeadObject", "HEAD", &bucket).key(&key)))? else { return Ok(false) };
        put_text(state, "arn", format!("arn:aws:s3:::{bucket}/{key}"));
        put_optional(state, "etag", head.header("etag").map(|etag| etag.trim_matches('"').to_owned()));
        put_text(state, "content_type", head.header("content-type").unwrap_or("application/octet-stream"));
        put_text(state, "version_id", head.header("x-amz-version-id").unwrap_or_default());
        put_text(state, "storage_class", head.header("x-amz-storage-class").unwrap_or("STANDARD"));
        put_text(state, "server_side_encryption", "AES256");
        put(state, "bucket_key_enabled", Value::Bool(flag(state, "bucket_key_enabled")));
        observed(state, &read_tags(aws, &bucket, &key)?, &aws.default_tags);
        Ok(true)
    }

    fn update(&self, aws: &Aws, prior: &Attrs, state: &mut Attrs) -> Answer<()> {
        let tags_only = prior.iter().all(|(key, value)| {
            matches!(key.as_str(), "tags" | "tags_all" | "force_destroy") || same(Some(value), state.get(key))
        });
        if tags_only {
            return write_tags(aws, &text_or_empty(state, "bucket"), &text_or_empty(state, "key"), &wanted(state));
        }
        Self::write(aws, state)
    }

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()> {
        let (bucket, key) = (text_or_empty(prior, "bucket"), text_or_empty(prior, "key"));
        aws.s3(&Call::new("DeleteObject", "DELETE", &bucket).key(&key)).map(|_| ())
    }

    /// `BUCKET/KEY`.
    fn import(&self, id: &str, state: &mut Attrs) {
        if let Some((bucket, key)) = id.split_once('/') {
            put_text(state, "bucket", bucket);
            put_text(state, "key", key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_names_are_judged_as_s3_does() {
        for good in ["harbor-state", "a.b-c", "123"] {
            assert!(is_bucket_name(good), "{good}");
        }
        for bad in ["ab", "Harbor", "-harbor", "harbor_", "a..b", ""] {
            assert!(!is_bucket_name(bad), "{bad}");
        }
    }
}
