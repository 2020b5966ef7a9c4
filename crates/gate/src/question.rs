//! What the gate is asked.

use csis_values::intent::Root;
use csis_values::plan::{Change, Document, Plan};
use csis_values::sanction::{Obligation, OwnAction, Receipt, Sanction};
use serde::{Deserialize, Serialize};

/// When a plan is judged; what must already be true depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// Before a merge: obligations are listed.
    #[default]
    Review,
    /// Before an apply by csis: obligations must be met.
    Landing,
    /// Before an apply by a script: obligations must be met; what stands in tree and records is not at hand.
    Script,
}

/// What a tree's settings say to the gate. They come from the base of a change, never from the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// A loss of data needs a confirmation; otherwise it is a warning.
    pub confirm_data_loss: bool,
    /// How many losses of data one landing may hold, when they need a confirmation.
    pub max_data_losses: u64,
    /// Resource types allowed besides those of the kinds (`gate.extra_types`).
    pub extra_types: Vec<String>,
    /// The types that the kinds make at all, for a plan that comes without its root; empty when not known.
    pub made_types: Vec<String>,
    /// Instance profiles the runtime declares; none when not known.
    pub profiles: Option<Vec<String>>,
    /// Prefix lists that security groups may open themselves to.
    pub prefix_lists: Vec<String>,
    /// Accounts that may be given access; the runtime's own among them. Empty when not known.
    pub accounts: Vec<String>,
    /// The `csis_config` tag value of this configuration; none when not known.
    pub config_id: Option<String>,
    /// Sources of the providers the emission names; none when not known.
    pub providers: Option<Vec<String>>,
    /// What cannot be judged is refused.
    pub strict: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            confirm_data_loss: true,
            max_data_losses: 3,
            extra_types: Vec::new(),
            made_types: Vec::new(),
            profiles: None,
            prefix_lists: Vec::new(),
            accounts: Vec::new(),
            config_id: None,
            providers: None,
            strict: false,
        }
    }
}

/// A receipt as it was found: which pair it was filed under, and what it says or why it says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filed {
    pub instance: String,
    pub storage: String,
    /// The file, for messages.
    pub path: String,
    pub content: Result<Receipt, String>,
}

/// A storage that a standing machine has mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingMount {
    pub storage: String,
    pub machine: String,
    /// The group it is mounted for; none when not known.
    pub group: Option<String>,
}

/// Everything a verdict on one root's plan depends on.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    pub plan: &'a Plan,
    pub settings: &'a Settings,
    pub moment: Moment,
    /// The root the plan is of; none in a script, where only the plan is at hand.
    pub root: Option<&'a Root>,
    /// They cover their address and what lies under it.
    pub sanctions: &'a [Sanction],
    /// They cover their address alone.
    pub exact: &'a [Sanction],
    pub obligations: &'a [Obligation],
    pub actions: &'a [OwnAction],
    pub receipts: &'a [Filed],
    /// Obligations that were proven in another way than by a receipt.
    pub met: &'a [Obligation],
    /// Ids of cloud objects that the records know; none when not known.
    pub known_ids: Option<&'a [String]>,
    /// Names of standing machines whose launch script differs from the one they were launched with.
    pub launch_scripts_changed: &'a [String],
    /// What standing machines have mounted, of every root.
    pub standing_mounts: &'a [StandingMount],
    /// Losses of data that the other roots of this landing plan.
    pub losses_elsewhere: u64,
    /// The id of this run; a receipt must carry it.
    pub run: Option<&'a str>,
    /// ISO date-time in UTC; ages of receipts are counted from it when there is no run id.
    pub now: Option<&'a str>,
    /// When the newest input of the plan was written, as an ISO date-time in UTC.
    pub inputs_written: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// A plan alone.
    pub fn new(plan: &'a Plan, settings: &'a Settings) -> Self {
        Question {
            plan,
            settings,
            moment: Moment::default(),
            root: None,
            sanctions: &[],
            exact: &[],
            obligations: &[],
            actions: &[],
            receipts: &[],
            met: &[],
            known_ids: None,
            launch_scripts_changed: &[],
            standing_mounts: &[],
            losses_elsewhere: 0,
            run: None,
            now: None,
            inputs_written: None,
        }
    }

    /// A plan of a root, with all that the root brings.
    pub fn of_root(plan: &'a Plan, root: &'a Root, settings: &'a Settings) -> Self {
        Question {
            root: Some(root),
            sanctions: &root.sanctions,
            obligations: &root.obligations,
            actions: &root.actions,
            ..Question::new(plan, settings)
        }
    }

    /// Whether the document can be judged change by change.
    pub fn is_plan(&self) -> bool {
        self.plan.document == Document::Plan
    }

    /// The changes of objects the engine manages; what it only reads is not among them.
    pub fn managed(&self) -> impl Iterator<Item = &'a Change> {
        self.plan.changes.iter().filter(|change| change.mode != "data")
    }
}
