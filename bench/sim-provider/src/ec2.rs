//! What the EC2 types share.

use crate::aws::{Answer, Aws, Element, Params};
use crate::tags::{Tags, difference, wanted};
use crate::value::{Attrs, Value, put, text_map, text_or_empty};

/// Brings an object's tags from the prior state's to the planned ones.
pub fn retag(aws: &Aws, prior: &Attrs, planned: &Attrs) -> Answer<()> {
    let id = text_or_empty(prior, "id");
    let (set, removed) = difference(&text_map(prior, "tags_all"), &wanted(planned));
    if !set.is_empty() {
        let mut params = Params::with("ResourceId.1", &id);
        for (index, (key, value)) in set.iter().enumerate() {
            params.add(format!("Tag.{}.Key", index + 1), key);
            params.add(format!("Tag.{}.Value", index + 1), value);
        }
        aws.ec2("CreateTags", &params)?;
    }
    if !removed.is_empty() {
        let mut params = Params::with("ResourceId.1", &id);
        for (index, key) in removed.iter().enumerate() {
            params.add(format!("Tag.{}.Key", index + 1), key);
        }
        aws.ec2("DeleteTags", &params)?;
    }
    Ok(())
}

/// The blocks `filter { name, values }` and the attribute `tags` of a data source, as parameters of a Describe call.
pub fn filters(config: &Attrs, params: &mut Params) {
    let declared = crate::value::items(config, "filter").iter().filter_map(crate::value::object).map(|filter| {
        let values: Vec<String> = crate::value::texts(filter, "values").into_iter().collect();
        (text_or_empty(filter, "name"), values)
    });
    let by_tag = text_map(config, "tags").into_iter().map(|(key, value)| (format!("tag:{key}"), vec![value]));
    for (index, (name, values)) in declared.chain(by_tag).enumerate() {
        params.add(format!("Filter.{}.Name", index + 1), name);
        for (position, value) in values.iter().enumerate() {
            params.add(format!("Filter.{}.Value.{}", index + 1, position + 1), value);
        }
    }
}

/// Copies texts of an element into attributes: pairs of attribute and path.
pub fn copy_texts(element: &Element, state: &mut Attrs, pairs: &[(&str, &str)]) {
    for (attribute, path) in pairs {
        if let Some(text) = element.text(path) {
            put(state, attribute, Value::String(text));
        }
    }
}

pub fn copy_numbers(element: &Element, state: &mut Attrs, pairs: &[(&str, &str)]) {
    for (attribute, path) in pairs {
        if let Some(number) = element.number(path) {
            put(state, attribute, Value::Number(number));
        }
    }
}

pub fn copy_flags(element: &Element, state: &mut Attrs, pairs: &[(&str, &str)]) {
    for (attribute, path) in pairs {
        if let Some(text) = element.text(path) {
            put(state, attribute, Value::Bool(text == "true"));
        }
    }
}

pub fn observe_tags(aws: &Aws, state: &mut Attrs, found: &Tags) {
    crate::tags::observed(state, found, &aws.default_tags);
}
