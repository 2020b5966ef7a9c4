//! `aws_ebs_volume` and `aws_volume_attachment`.

use crate::aws::{Answer, Aws, AwsError, Element, Params, found};
use crate::ec2::{copy_flags, copy_numbers, copy_texts, observe_tags, retag};
use crate::resource::Body;
use crate::tags::{specification, wanted};
use crate::value::{Attrs, Value, digest, flag, is_null, number, put, put_text, same, text, text_or_empty};

pub struct Volume;

const TYPES: &[&str] = &["standard", "gp2", "gp3", "io1", "io2", "sc1", "st1"];

fn describe(aws: &Aws, id: &str) -> Answer<Option<Element>> {
    let answer = found(aws.ec2("DescribeVolumes", &Params::with("VolumeId.1", id)))?;
    Ok(answer.and_then(|mut answer| answer.take_first("volumeSet/item")))
}

impl Body for Volume {
    fn force_new(&self) -> &'static [&'static str] {
        &["availability_zone", "encrypted", "kms_key_id", "multi_attach_enabled", "outpost_arn", "snapshot_id"]
    }

    fn objection(&self, config: &Attrs) -> Option<String> {
        if let Some(kind) = text(config, "type")
            && !TYPES.contains(&kind)
        {
            return Some(format!("expected type to be one of {TYPES:?}, got {kind}"));
        }
        (is_null(config.get("size")) && is_null(config.get("snapshot_id")))
            .then(|| "one of `size,snapshot_id` must be specified".to_owned())
    }

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()> {
        let mut params = Params::with("AvailabilityZone", text_or_empty(state, "availability_zone"));
        for (attribute, name) in [("type", "VolumeType"), ("snapshot_id", "SnapshotId"), ("kms_key_id", "KmsKeyId")] {
            if let Some(value) = text(state, attribute) {
                params.add(name, value);
            }
        }
        for (attribute, name) in [("size", "Size"), ("iops", "Iops"), ("throughput", "Throughput")] {
            if let Some(value) = number(state, attribute) {
                params.add(name, value.to_string());
            }
        }
        if flag(state, "encrypted") {
            params.add("Encrypted", "true");
        }
        specification(&mut params, "volume", &wanted(state));
        let volume = aws.ec2("CreateVolume", &params)?;
        put_text(state, "id", volume.text("volumeId").unwrap_or_default());
        Ok(())
    }

    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool> {
        let id = text_or_empty(state, "id");
        let Some(volume) = describe(aws, &id)? else { return Ok(false) };
        put_text(state, "arn", aws.arn("ec2", &format!("volume/{id}")));
        copy_texts(
            &volume,
            state,
            &[
                ("availability_zone", "availabilityZone"),
                ("create_time", "createTime"),
                ("kms_key_id", "kmsKeyId"),
                ("snapshot_id", "snapshotId"),
                ("type", "volumeType"),
            ],
        );
        copy_numbers(&volume, state, &[("size", "size"), ("iops", "iops"), ("throughput", "throughput")]);
        copy_flags(&volume, state, &[("encrypted", "encrypted")]);
        observe_tags(aws, state, &volume.tags());
        Ok(true)
    }

    fn update(&self, aws: &Aws, prior: &Attrs, state: &mut Attrs) -> Answer<()> {
        let mut params = Params::with("VolumeId", text_or_empty(prior, "id"));
        let mut modified = false;
        for (attribute, name) in [("size", "Size"), ("iops", "Iops"), ("throughput", "Throughput")] {
            if let Some(value) = number(state, attribute)
                && !same(prior.get(attribute), state.get(attribute))
            {
                if attribute == "size" && number(prior, attribute).is_some_and(|before| value < before) {
                    let message = "New size cannot be smaller than existing size";
                    return Err(AwsError::new("EC2: ModifyVolume", "InvalidParameterValue", message));
                }
                params.add(name, value.to_string());
                modified = true;
            }
        }
        if let Some(kind) = text(state, "type")
            && text(prior, "type") != Some(kind)
        {
            params.add("VolumeType", kind);
            modified = true;
        }
        if modified {
            aws.ec2("ModifyVolume", &params)?;
        }
        retag(aws, prior, state)
    }

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()> {
        aws.ec2("DeleteVolume", &Params::with("VolumeId", text_or_empty(prior, "id"))).map(|_| ())
    }
}

pub struct Attachment;

impl Attachment {
    fn params(state: &Attrs) -> Params {
        let mut params = Params::with("VolumeId", text_or_empty(state, "volume_id"));
        params.add("InstanceId", text_or_empty(state, "instance_id"));
        params.add("Device", text_or_empty(state, "device_name"));
        params
    }
}

impl Body for Attachment {
    fn force_new(&self) -> &'static [&'static str] {
        &["device_name", "instance_id", "volume_id"]
    }

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()> {
        aws.ec2("AttachVolume", &Self::params(state))?;
        let place = ["device_name", "instance_id", "volume_id"].map(|key| text_or_empty(state, key)).join("-");
        put_text(state, "id", format!("vai-{}", digest(&place)));
        Ok(())
    }

    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool> {
        let Some(volume) = describe(aws, &text_or_empty(state, "volume_id"))? else { return Ok(false) };
        let instance = text_or_empty(state, "instance_id");
        let attachment =
            volume.all("attachmentSet/item").find(|item| item.text("instanceId").as_ref() == Some(&instance));
        let Some(attachment) = attachment else { return Ok(false) };
        copy_texts(attachment, state, &[("device_name", "device")]);
        Ok(true)
    }

    fn update(&self, _aws: &Aws, _prior: &Attrs, _state: &mut Attrs) -> Answer<()> {
        Ok(())
    }

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()> {
        if flag(prior, "skip_destroy") {
            return Ok(());
        }
        let mut params = Self::params(prior);
        if flag(prior, "force_detach") {
            params.add("Force", "true");
        }
        match aws.ec2("DetachVolume", &params) {
            Err(error) if error.code != "IncorrectState" && !error.code.contains("NotFound") => Err(error),
            _ => Ok(()),
        }
    }

    /// `DEVICE:VOLUME:INSTANCE`.
    fn import(&self, id: &str, state: &mut Attrs) {
        for (attribute, part) in ["device_name", "volume_id", "instance_id"].into_iter().zip(id.split(':')) {
            put(state, attribute, Value::String(part.to_owned()));
        }
    }
}
