//! The rules, one file each.

pub mod bucket_protection;
pub mod code_in_plan;
pub mod data_loss;
pub mod deposed;
pub mod destroy;
pub mod encryption;
pub mod errored;
pub mod expiry;
pub mod force_destroy;
pub mod foreign_object;
pub mod forget;
pub mod format_version;
pub mod import;
pub mod incomplete;
pub mod ingress_changed;
pub mod launch_script;
pub mod mount_lost;
pub mod moved;
pub mod not_a_plan;
pub mod ownership_tags;
pub mod profile_change;
pub mod public_exposure;
pub mod replace;
pub mod resize;
pub mod stale;
pub mod state_lost;
pub mod tainted;
pub mod targeted;
pub mod uncompared;
pub mod unknown_action;
pub mod unmet;
pub mod unmounted;
pub mod unused_sanction;
pub mod volume_shrink;

pub use crate::rule::{Draft, Found, Rule};

/// Every rule, in the order findings of one weight are told: first what concerns the whole plan.
pub const ALL: &[&dyn Rule] = &[
    &not_a_plan::NotAPlan,
    &errored::Errored,
    &incomplete::Incomplete,
    &format_version::FormatVersion,
    &stale::Stale,
    &targeted::Targeted,
    &state_lost::StateLost,
    &code_in_plan::CodeInPlan,
    &unmounted::Unmounted,
    &unmet::Unmet,
    &unknown_action::UnknownAction,
    &data_loss::DataLoss,
    &expiry::Expiry,
    &destroy::Destroy,
    &replace::Replace,
    &tainted::Tainted,
    &deposed::Deposed,
    &forget::Forget,
    &public_exposure::PublicExposure,
    &foreign_object::ForeignObject,
    &moved::Moved,
    &import::Import,
    &force_destroy::ForceDestroy,
    &bucket_protection::BucketProtection,
    &volume_shrink::VolumeShrink,
    &ownership_tags::OwnershipTags,
    &profile_change::ProfileChange,
    &encryption::Encryption,
    &ingress_changed::IngressChanged,
    &resize::Resize,
    &mount_lost::MountLost,
    &launch_script::LaunchScript,
    &uncompared::Uncompared,
    &unused_sanction::UnusedSanction,
];

/// Findings that are raised where the roots are planned, with a section of their own in `docs/gate.md`: id and sentence.
pub const RAISED_ELSEWHERE: &[(&str, &str)] = &[(
    "needs-unapplied",
    "What a root needs from another root is made by this change, or stands: a root that is only planned makes nothing",
)];

/// A rule by its id.
pub fn by_id(id: &str) -> Option<&'static dyn Rule> {
    ALL.iter().copied().find(|rule| rule.id() == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rule_is_documented_under_its_id_and_nothing_else_is() {
        let page = include_str!("../../../../docs/gate.md");
        let rules = page.split("\n# The rules\n").nth(1).expect("docs/gate.md has the part `# The rules`");
        let sections: Vec<&str> = rules.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let ids: Vec<&str> = ALL.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "ids are unique");
        let elsewhere = RAISED_ELSEWHERE.iter().map(|(id, _)| *id);
        assert_eq!(
            sections,
            ids.into_iter().chain(elsewhere).collect::<Vec<_>>(),
            "the sections stand in the order of the rules"
        );
        assert!(RAISED_ELSEWHERE.iter().all(|(_, sentence)| rules.contains(sentence)));
        for rule in ALL {
            assert!(rules.contains(rule.sentence()), "docs/gate.md does not hold the sentence of {}", rule.id());
            assert!(!rule.sentence().ends_with('.') && !rule.remedy().is_empty(), "{}", rule.id());
        }
    }

    #[test]
    fn every_rule_file_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/rules");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .expect("rules folder")
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter_map(|name| Some(name.strip_suffix(".rs")?.replace('_', "-")))
            .filter(|name| name != "mod")
            .collect();
        let ids: BTreeSet<String> = ALL.iter().map(|rule| rule.id().to_owned()).collect();
        assert_eq!(files, ids);
    }
}
