//! `aws_efs_mount_target` and `aws_efs_access_point`.

use serde_json::{Value as Json, json};

use crate::aws::{Answer, Aws, found};
use crate::efs::{dns_name, json_text, retag, tags_json, tags_of};
use crate::resource::Body;
use crate::tags::{observed, wanted};
use crate::value::{
    Attrs, Value, block, items, number, put, put_optional, put_text, same, string, strings, text, text_or_empty, texts,
};

pub struct MountTarget;

impl Body for MountTarget {
    fn force_new(&self) -> &'static [&'static str] {
        &["file_system_id", "ip_address", "ip_address_type", "subnet_id"]
    }

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()> {
        let mut body = json!({"FileSystemId": text(state, "file_system_id"), "SubnetId": text(state, "subnet_id")});
        let groups = texts(state, "security_groups");
        if !groups.is_empty() {
            body["SecurityGroups"] = json!(groups);
        }
        if let Some(address) = text(state, "ip_address") {
            body["IpAddress"] = json!(address);
        }
        let created = aws.efs("CreateMountTarget", "POST", "mount-targets", Some(&body))?;
        put_optional(state, "id", json_text(&created, "MountTargetId"));
        Ok(())
    }

    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool> {
        let id = text_or_empty(state, "id");
        let answer = found(aws.efs("DescribeMountTargets", "GET", &format!("mount-targets?MountTargetId={id}"), None))?;
        let Some(target) = answer.and_then(|answer| answer["MountTargets"].get(0).cloned()) else { return Ok(false) };
        for (attribute, key) in [
            ("availability_zone_id", "AvailabilityZoneId"),
            ("availability_zone_name", "AvailabilityZoneName"),
            ("file_system_id", "FileSystemId"),
            ("ip_address", "IpAddress"),
            ("network_interface_id", "NetworkInterfaceId"),
            ("owner_id", "OwnerId"),
            ("subnet_id", "SubnetId"),
        ] {
            put_optional(state, attribute, json_text(&target, key));
        }
        let file_system = text_or_empty(state, "file_system_id");
        put_text(state, "file_system_arn", aws.arn("elasticfilesystem", &format!("file-system/{file_system}")));
        put_text(state, "dns_name", dns_name(aws, &file_system));
        let zone = text_or_empty(state, "availability_zone_name");
        put_text(state, "mount_target_dns_name", format!("{zone}.{}", dns_name(aws, &file_system)));
        if text(state, "ip_address_type").is_none() {
            put_text(state, "ip_address_type", "IPV4_ONLY");
        }
        let path = format!("mount-targets/{id}/security-groups");
        let answer = aws.efs("DescribeMountTargetSecurityGroups", "GET", &path, None)?;
        let groups = strings(answer["SecurityGroups"].as_array().into_iter().flatten().filter_map(Json::as_str));
        if !same(state.get("security_groups"), Some(&groups)) {
            put(state, "security_groups", groups);
        }
        Ok(true)
    }

    fn update(&self, aws: &Aws, prior: &Attrs, state: &mut Attrs) -> Answer<()> {
        if same(prior.get("security_groups"), state.get("security_groups")) {
            return Ok(());
        }
        let path = format!("mount-targets/{}/security-groups", text_or_empty(prior, "id"));
        let body = json!({"SecurityGroups": texts(state, "security_groups")});
        aws.efs("ModifyMountTargetSecurityGroups", "PUT", &path, Some(&body)).map(|_| ())
    }

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()> {
        let id = text_or_empty(prior, "id");
        aws.efs("DeleteMountTarget", "DELETE", &format!("mount-targets/{id}"), None).map(|_| ())
    }
}

pub struct AccessPoint;

impl Body for AccessPoint {
    fn force_new(&self) -> &'static [&'static str] {
        &["file_system_id", "posix_user", "root_directory"]
    }

    fn objection(&self, config: &Attrs) -> Option<String> {
        let directory = block(config, "root_directory")?;
        let path = text(directory, "path")?;
        if !path.starts_with('/') {
            return Some(format!("root_directory.path must begin with a slash, got {path:?}"));
        }
        let mode = text(block(directory, "creation_info")?, "permissions")?;
        let octal = (3..=4).contains(&mode.len()) && mode.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
        (!octal).then(|| format!("root_directory.creation_info.permissions must be an octal mode, got {mode:?}"))
    }

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()> {
        let mut body = json!({
            "FileSystemId": text(state, "file_system_id"),
            "ClientToken": wanted(state).get("Name").map_or("terraform-sim", String::as_str),
            "Tags": tags_json(&wanted(state)),
        });
        if let Some(user) = block(state, "posix_user") {
            body["PosixUser"] = json!({"Uid": number(user, "uid"), "Gid": number(user, "gid")});
        }
        if let Some(directory) = block(state, "root_directory") {
            body["RootDirectory"] = json!({"Path": text(directory, "path").unwrap_or("/")});
            if let Some(info) = block(directory, "creation_info") {
                body["RootDirectory"]["CreationInfo"] = json!({
                    "OwnerUid": number(info, "owner_uid"),
                    "OwnerGid": number(info, "owner_gid"),
                    "Permissions": text(info, "permissions"),
                });
            }
        }
        let created = aws.efs("CreateAccessPoint", "POST", "access-points", Some(&body))?;
        put_optional(state, "id", json_text(&created, "AccessPointId"));
        Ok(())
    }

    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool> {
        let id = text_or_empty(state, "id");
        let answer = found(aws.efs("DescribeAccessPoints", "GET", &format!("access-points?AccessPointId={id}"), None))?;
        let Some(point) = answer.and_then(|answer| answer["AccessPoints"].get(0).cloned()) else { return Ok(false) };
        put_text(state, "arn", aws.arn("elasticfilesystem", &format!("access-point/{id}")));
        put_optional(state, "file_system_id", json_text(&point, "FileSystemId"));
        put_text(state, "owner_id", &aws.account);
        let file_system = text_or_empty(state, "file_system_id");
        put_text(state, "file_system_arn", aws.arn("elasticfilesystem", &format!("file-system/{file_system}")));
        if let Some(directory) = directory_of(&point)
            && (!items(state, "root_directory").is_empty() || !same(directory.get("path"), Some(&string("/"))))
            && block(state, "root_directory").is_none_or(|known| !same_directory(known, &directory))
        {
            put(state, "root_directory", Value::List(vec![Value::Map(directory)]));
        }
        observed(state, &tags_of(&point), &aws.default_tags);
        Ok(true)
    }

    fn update(&self, aws: &Aws, prior: &Attrs, state: &mut Attrs) -> Answer<()> {
        retag(aws, prior, state)
    }

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()> {
        let id = text_or_empty(prior, "id");
        aws.efs("DeleteAccessPoint", "DELETE", &format!("access-points/{id}"), None).map(|_| ())
    }
}

fn directory_of(point: &Json) -> Option<Attrs> {
    let root = point.get("RootDirectory").filter(|root| root.is_object())?;
    let mut directory = Attrs::new();
    put_text(&mut directory, "path", json_text(root, "Path").unwrap_or_else(|| "/".to_owned()));
    let info = root.get("CreationInfo").filter(|info| info.is_object()).map(|info| {
        let whole = |key: &str| info[key].as_i64().map_or(Value::Null, Value::Number);
        Value::Map(Attrs::from([
            ("owner_uid".to_owned(), whole("OwnerUid")),
            ("owner_gid".to_owned(), whole("OwnerGid")),
            ("permissions".to_owned(), json_text(info, "Permissions").map_or(Value::Null, Value::String)),
        ]))
    });
    put(&mut directory, "creation_info", Value::List(info.into_iter().collect()));
    Some(directory)
}

fn same_directory(known: &Attrs, there: &Attrs) -> bool {
    let path = |of: &Attrs| text(of, "path").unwrap_or("/").to_owned();
    path(known) == path(there) && same(known.get("creation_info"), there.get("creation_info"))
}
