use super::{Found, Rule};
use crate::attributes as attr;
use crate::{Question, address};
use csis_values::plan::{Action, AttributeChange, Change, Shown};

pub struct Encryption;

impl Rule for Encryption {
    fn id(&self) -> &'static str {
        "encryption"
    }

    fn sentence(&self) -> &'static str {
        "How stored data is encrypted does not change by replacing what holds it, nor to a key of another account"
    }

    fn remedy(&self) -> &'static str {
        "leave the encryption of what stands; for another key declare a new storage and copy the data"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed() {
            for attribute in change.attributes.iter().filter(|a| is_of_encryption(&a.path) && a.before != a.after) {
                judge_attribute(q, change, attribute, found);
            }
        }
    }
}

fn is_of_encryption(path: &str) -> bool {
    let path = attr::plain(path);
    let name = path.rsplit('.').next().unwrap_or(&path);
    matches!(
        name,
        "encrypted"
            | "storage_encrypted"
            | "kms_key_id"
            | "kms_key_arn"
            | "kms_master_key_id"
            | "kms_master_key_arn"
            | "sse_algorithm"
    )
}

fn judge_attribute(q: &Question<'_>, change: &Change, attribute: &AttributeChange, found: &mut Found<'_>) {
    let object = address::object(q, change);
    let path = attr::plain(&attribute.path);
    let told = format!("{path} from {} to {}", attr::say(&attribute.before), attr::say(&attribute.after));
    if change.action.is_replace() {
        // A computed key is unknown on every replacement; only what forces it is the tree's own doing.
        let forces = attribute.forces_replacement || change.replace_paths.iter().any(|p| attr::plain(p) == path);
        if forces {
            found.refuse(format!("{object} would be replaced to change its encryption: {told}")).on(change);
        }
        return;
    }
    if change.action != Action::Update || attribute.after == Shown::Unknown {
        return;
    }
    if is_of_another_account(q, attribute) {
        found.refuse(format!("{object} would be encrypted with a key of another account: {told}")).on(change);
    } else {
        found
            .warn(format!("{object} changes its encryption: {told}"))
            .on(change)
            .remedy("make sure that everybody who reads it may use the new key");
    }
}

fn is_of_another_account(q: &Question<'_>, attribute: &AttributeChange) -> bool {
    let Some(now) = attr::text(&attribute.after).and_then(account) else { return false };
    if !q.settings.accounts.is_empty() {
        return !q.settings.accounts.iter().any(|known| known == now);
    }
    attr::text(&attribute.before).and_then(account).is_some_and(|was| was != now)
}

/// The account in an ARN.
fn account(arn: &str) -> Option<&str> {
    arn.starts_with("arn:").then(|| arn.split(':').nth(4)).flatten().filter(|account| !account.is_empty())
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{Question, Settings, judge};
    use csis_values::plan::{Action, Change, Shown};
    use csis_values::sanction::Allowed;
    use csis_values::verdict::Weight;

    fn volume(action: Action, path: &str, before: Shown, after: Shown) -> Change {
        with(change("module.storage_a.aws_ebs_volume.this", action), path, before, after)
    }

    #[test]
    fn a_replacement_for_encryption_is_refused_even_where_replacements_are_sanctioned() {
        let settings = Settings::default();
        let mut forced = volume(Action::Replace, "encrypted", value("true"), value("false"));
        forced.replace_paths = vec!["encrypted".into()];
        let computed = volume(Action::Replace, "kms_key_id", value("arn:aws:kms:r:1:key/a"), Shown::Unknown);
        let sanctions = [sanction("module.storage_a", Allowed::Replace)];
        for (change, refused) in [(forced, true), (computed, false)] {
            let plan = plan(vec![change]);
            assert_eq!(
                judge(&Question { sanctions: &sanctions, ..Question::new(&plan, &settings) }).is_refused(),
                refused
            );
        }
    }

    #[test]
    fn another_key_in_place_is_told_and_another_accounts_key_is_refused() {
        let key = |account: &str| value(&format!("arn:aws:kms:us-west-2:{account}:key/k{account}"));
        let with_accounts = Settings { accounts: vec!["1".into(), "2".into()], ..Settings::default() };
        for (settings, before, after, weight) in [
            (Settings::default(), key("1"), value("arn:aws:kms:us-west-2:1:key/other"), Weight::Warn),
            (Settings::default(), key("1"), key("2"), Weight::Refuse),
            (with_accounts.clone(), key("1"), key("2"), Weight::Warn),
            (with_accounts, key("1"), key("3"), Weight::Refuse),
        ] {
            let plan = plan(vec![volume(Action::Update, "kms_key_id", before, after)]);
            assert_eq!(weights(&judge(&Question::new(&plan, &settings)), "encryption"), [weight]);
        }
    }
}
