//! The names machines will have: labels of RFC 1123 that carry their generation.

use super::site::Site;
use super::words::not_a_hostname;
use csis_values::tree::Instance;
use csis_values::{Diagnostic, Diagnostics};

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    for instance in &site.tree.instances {
        // A standing machine keeps the name it has.
        if standing_name(site, instance).is_some() {
            continue;
        }
        let hostname = canonical(site, instance);
        if let Some(why) = not_a_hostname(&hostname) {
            let what = format!("instance `{}` would have the hostname `{hostname}`: {why}", instance.name);
            found.push(
                Diagnostic::error("hostname", what)
                    .at(&instance.at)
                    .help("rename it: letters, digits and hyphens, no hyphen at either end, and at most 63 with the generation's number"),
            );
        }
    }
}

fn standing_name<'a>(site: &Site<'a>, instance: &Instance) -> Option<&'a str> {
    let launch = site.records.launches.get(&instance.name.safe).filter(|launch| launch.launched)?;
    if site.is_replaced(instance) { None } else { launch.hostname.as_deref() }
}

/// The hostname of a machine: the recorded one while it stands, else its name with the next generation's number.
pub(super) fn canonical(site: &Site<'_>, instance: &Instance) -> String {
    if let Some(name) = standing_name(site, instance) {
        return name.to_owned();
    }
    let generations = site.records.generations.get(&instance.name.safe);
    let last = generations.map_or(0, |g| if instance.ephemeral { g.ephemeral } else { g.durable });
    format!("{}-{:03}", instance.name.safe, u64::from(last) + 1)
}
