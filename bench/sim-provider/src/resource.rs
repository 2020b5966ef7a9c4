//! What all resources share: planning by schema, tags, replacement; the types with a body in the emulator add the rest.

use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use tf_provider::schema::Schema;
use tf_provider::value::ValueEmpty;
use tf_provider::{AttributePath, Diagnostics, Resource};

use crate::aws::{Answer, Aws};
use crate::provider::{Session, refuse, served, session};
use crate::schema::Shared;
use crate::tags;
use crate::value::{Attrs, Value, attrs, has_unknown, is_unknown, put_text, same, settle, text, text_or_empty};
use crate::{ec2_instance, ec2_security_group, ec2_volume, efs, efs_access, s3, s3_config};

/// A resource type whose objects live in the emulator.
pub trait Body: Send + Sync {
    /// Attributes and blocks whose change means another object.
    fn force_new(&self) -> &'static [&'static str];

    /// What is wrong with a configuration, as the real provider would say before it asks AWS.
    fn objection(&self, _config: &Attrs) -> Option<String> {
        None
    }

    /// Adjusts a plan; `prior` is there for an update in place.
    fn plan(&self, _prior: Option<&Attrs>, _planned: &mut Attrs) {}

    fn create(&self, aws: &Aws, state: &mut Attrs) -> Answer<()>;

    /// Refreshes the state; false when the object is gone.
    fn read(&self, aws: &Aws, state: &mut Attrs) -> Answer<bool>;

    fn update(&self, aws: &Aws, prior: &Attrs, state: &mut Attrs) -> Answer<()>;

    fn destroy(&self, aws: &Aws, prior: &Attrs) -> Answer<()>;

    /// Spreads an import id over the attributes that `read` starts from.
    fn import(&self, _id: &str, _state: &mut Attrs) {}
}

fn body(name: &str) -> Option<Box<dyn Body>> {
    Some(match name {
        "aws_ebs_volume" => Box::new(ec2_volume::Volume),
        "aws_volume_attachment" => Box::new(ec2_volume::Attachment),
        "aws_instance" => Box::new(ec2_instance::Instance),
        "aws_security_group" => Box::new(ec2_security_group::Group),
        "aws_security_group_rule" => Box::new(ec2_security_group::Rule),
        "aws_efs_file_system" => Box::new(efs::FileSystem),
        "aws_efs_mount_target" => Box::new(efs_access::MountTarget),
        "aws_efs_access_point" => Box::new(efs_access::AccessPoint),
        "aws_s3_bucket" => Box::new(s3::Bucket),
        "aws_s3_object" => Box::new(s3::Object),
        "aws_s3_bucket_policy" => Box::new(s3_config::Policy),
        "aws_s3_bucket_lifecycle_configuration" => Box::new(s3_config::Lifecycle),
        _ => return None,
    })
}

pub struct Simulated {
    name: String,
    schema: Shared,
    session: Session,
    body: Option<Box<dyn Body>>,
}

impl Simulated {
    pub fn new(name: &str, schema: Shared, session: Session) -> Self {
        Self { name: name.to_owned(), schema, session, body: body(name) }
    }

    fn has(&self, attribute: &str) -> bool {
        self.schema.block.attributes.contains_key(attribute)
    }

    /// The attributes that the provider fills in on its own while planning.
    fn plan_common(&self, aws: &Aws, planned: &mut Attrs) {
        if self.has("region") && text(planned, "region").is_none() {
            put_text(planned, "region", &aws.region);
        }
        if self.has("tags_all") {
            tags::plan(planned, &aws.default_tags);
        }
    }

    fn finish(&self, mut state: Attrs) -> Value {
        self.schema.block.conform(&mut state);
        let mut value = Value::Map(state);
        settle(&mut value);
        value
    }

    fn told(&self, diags: &mut Diagnostics, doing: &str, state: &Attrs, answer: Answer<()>) -> Option<()> {
        match answer {
            Ok(()) => Some(()),
            Err(error) => {
                let id = text_or_empty(state, "id");
                let which = if id.is_empty() { String::new() } else { format!(" ({id})") };
                refuse(diags, format!("{doing} {}{which}", self.name), error.to_string());
                None
            }
        }
    }
}

type Private = ValueEmpty;

#[async_trait]
impl Resource for Simulated {
    type State<'a> = Value;
    type PrivateState<'a> = Private;
    type ProviderMetaState<'a> = ValueEmpty;

    fn schema(&self, diags: &mut Diagnostics) -> Option<Schema> {
        served(&self.schema, &self.name, diags)
    }

    async fn validate<'a>(&self, diags: &mut Diagnostics, config: Value) -> Option<()> {
        if let Some(message) = self.body.as_ref().and_then(|body| body.objection(&attrs(config))) {
            refuse(diags, format!("invalid {}", self.name), message);
        }
        Some(())
    }

    async fn read<'a>(
        &self,
        diags: &mut Diagnostics,
        state: Value,
        private: Private,
        _meta: ValueEmpty,
    ) -> Option<(Value, Private)> {
        let Some(body) = &self.body else { return Some((state, private)) };
        let mut state = attrs(state);
        let Some(aws) = session(&self.session, diags) else { return Some((Value::Map(state), private)) };
        let aws = aws.in_region(text(&state, "region"));
        let prior = state.clone();
        match body.read(&aws, &mut state) {
            Ok(true) => Some((self.finish(state), private)),
            Ok(false) => Some((Value::Null, private)),
            Err(error) => {
                self.told(diags, "reading", &prior, Err(error));
                Some((Value::Map(prior), private))
            }
        }
    }

    async fn plan_create<'a>(
        &self,
        diags: &mut Diagnostics,
        proposed: Value,
        config: Value,
        _meta: ValueEmpty,
    ) -> Option<(Value, Private)> {
        let aws = session(&self.session, diags)?;
        let mut planned = attrs(proposed);
        self.plan_common(&aws, &mut planned);
        self.schema.block.mark_unknown(&mut planned, &attrs(config));
        if let Some(body) = &self.body {
            body.plan(None, &mut planned);
        }
        Some((Value::Map(planned), Private::default()))
    }

    async fn plan_update<'a>(
        &self,
        diags: &mut Diagnostics,
        prior: Value,
        proposed: Value,
        config: Value,
        private: Private,
        _meta: ValueEmpty,
    ) -> Option<(Value, Private, Vec<AttributePath>)> {
        let aws = session(&self.session, diags)?;
        let (prior, mut planned, config) = (attrs(prior), attrs(proposed), attrs(config));
        let mut forcing: Vec<&str> = self
            .body
            .as_ref()
            .map_or(&[][..], |body| body.force_new())
            .iter()
            .copied()
            .filter(|key| !same(prior.get(*key), planned.get(*key)))
            .collect();
        if self.has("region") && !same(prior.get("region"), planned.get("region")) {
            forcing.push("region");
        }
        if forcing.is_empty() {
            self.plan_common(&aws, &mut planned);
            if let Some(body) = &self.body {
                body.plan(Some(&prior), &mut planned);
            }
        } else {
            self.schema.block.forget_computed(&mut planned, &config);
            self.plan_common(&aws, &mut planned);
        }
        Some((
            Value::Map(planned),
            private,
            forcing.into_iter().map(|key| AttributePath::new(key.to_owned())).collect(),
        ))
    }

    async fn plan_destroy<'a>(
        &self,
        _diags: &mut Diagnostics,
        _prior: Value,
        private: Private,
        _meta: ValueEmpty,
    ) -> Option<Private> {
        Some(private)
    }

    async fn create<'a>(
        &self,
        diags: &mut Diagnostics,
        planned: Value,
        _config: Value,
        private: Private,
        _meta: ValueEmpty,
    ) -> Option<(Value, Private)> {
        let mut state = attrs(planned);
        let aws = session(&self.session, diags)?.in_region(text(&state, "region"));
        if let Some(body) = &self.body {
            let planned = state.clone();
            let created = body.create(&aws, &mut state);
            self.told(diags, "creating", &state, created)?;
            let read = body.read(&aws, &mut state).map(|_| ());
            self.told(diags, "reading", &state, read);
            keep_promises(planned, &mut state);
        } else {
            let id = invented_id(&self.name);
            for key in ["id", "arn"] {
                if is_unknown(&state, key) {
                    put_text(&mut state, key, &id);
                }
            }
        }
        Some((self.finish(state), private))
    }

    async fn update<'a>(
        &self,
        diags: &mut Diagnostics,
        prior: Value,
        planned: Value,
        _config: Value,
        private: Private,
        _meta: ValueEmpty,
    ) -> Option<(Value, Private)> {
        let (prior, mut state) = (attrs(prior), attrs(planned));
        if let Some(body) = &self.body {
            let aws = session(&self.session, diags)?.in_region(text(&state, "region"));
            let planned = state.clone();
            let updated = body.update(&aws, &prior, &mut state);
            if self.told(diags, "updating", &prior, updated).is_none() {
                return Some((self.finish(prior), private));
            }
            let read = body.read(&aws, &mut state).map(|_| ());
            self.told(diags, "reading", &state, read);
            keep_promises(planned, &mut state);
        }
        Some((self.finish(state), private))
    }

    async fn destroy<'a>(
        &self,
        diags: &mut Diagnostics,
        prior: Value,
        _private: Private,
        _meta: ValueEmpty,
    ) -> Option<()> {
        let Some(body) = &self.body else { return Some(()) };
        let prior = attrs(prior);
        let aws = session(&self.session, diags)?.in_region(text(&prior, "region"));
        let destroyed = match body.destroy(&aws, &prior) {
            Err(error) if error.is_absent() => Ok(()),
            other => other,
        };
        self.told(diags, "deleting", &prior, destroyed)
    }

    async fn import<'a>(&self, diags: &mut Diagnostics, id: String) -> Option<(Value, Private)> {
        let aws = session(&self.session, diags)?;
        let mut state = Attrs::new();
        self.schema.block.conform(&mut state);
        put_text(&mut state, "id", &id);
        if self.has("region") {
            put_text(&mut state, "region", &aws.region);
        }
        if let Some(body) = &self.body {
            body.import(&id, &mut state);
        }
        Some((Value::Map(state), Private::default()))
    }
}

/// What a plan promised stands: an apply may only fill in what the plan left unknown.
fn keep_promises(planned: Attrs, state: &mut Attrs) {
    state.extend(planned.into_iter().filter(|(_, value)| !has_unknown(value)));
}

fn invented_id(name: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("sim-{}-{:x}", name.strip_prefix("aws_").unwrap_or(name), now.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::string;

    #[test]
    fn an_apply_fills_in_only_what_was_unknown() {
        let planned = Attrs::from([("ingress".into(), Value::List(vec![])), ("id".into(), Value::Unknown)]);
        let mut state = Attrs::from([("ingress".into(), string("changed meanwhile")), ("id".into(), string("sg-1"))]);
        keep_promises(planned, &mut state);
        assert!(state.get("ingress") == Some(&Value::List(vec![])));
        assert!(state.get("id") == Some(&string("sg-1")));
    }
}
