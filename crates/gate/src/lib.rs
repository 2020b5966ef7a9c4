//! Plans and sanctions to a verdict.
//!
//! Every rule is one file under `rules/`, listed in [`rules::ALL`], with a section of its own in `docs/gate.md`. A rule sees a [`Question`]: the plan as the
//! engine read it, what declared operations allow, what stands, and the settings. It never looks anywhere else.
//!
//! **Invariants:** nothing here reads a clock, a file, the environment or the network. What a rule cannot tell, it refuses or says that it did not judge.

mod address;
mod allow;
mod attributes;
mod clock;
mod coverage;
mod loss;
mod question;
mod rule;
pub mod rules;
mod strict;
#[cfg(test)]
mod testing;

pub use address::parse as parse_address;
pub use clock::Instant;
pub use coverage::{Uncovered, uncovered};
pub use loss::{Loss, losses, say as say_losses};
pub use question::{Filed, Moment, Question, Settings, StandingMount};
pub use rule::Rule;

use csis_values::verdict::Verdict;

/// Judges a plan by every rule. The findings stand by weight, then in the order of the rules, then by address.
pub fn judge(question: &Question<'_>) -> Verdict {
    let mut findings = Vec::new();
    for rule in rules::ALL {
        let from = findings.len();
        rule.judge(question, &mut rule::Found::new(*rule, &mut findings));
        findings[from..].sort_by(|a, b| a.address.cmp(&b.address));
    }
    findings.sort_by_key(|finding| finding.weight);
    Verdict { findings, obligations: question.obligations.to_vec(), used: allow::used(question) }
}
