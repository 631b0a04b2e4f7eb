//! What a plan is made over, and why there may be none.

use super::rule::{OnConflict, Rule};
use super::settings::Settings;
use crate::bases::Scope;
use crate::index::Index;
use crate::index::properties::Moment;
use crate::note::path::VaultPath;
use crate::vault::{Cancel, Vault};

/// What a plan is made over.
pub struct World<'a> {
    /// The vault, as the caller may see it: files beyond that are in no plan.
    pub vault: &'a Vault,
    pub index: &'a Index,
    /// The vault at the moment the plan is made at; the source of `scope`.
    pub moment: &'a Moment<'a>,
    /// The clock and zone that expressions see.
    pub scope: Scope<'a>,
    pub settings: &'a Settings,
    /// Whether a rule with `once` has taken this note already: the rule's hash, and the note.
    pub taken_once: &'a dyn Fn(&str, &VaultPath) -> bool,
    pub cancel: &'a Cancel,
}

impl World<'_> {
    /// What happens where a path is taken that a rule wants.
    pub(super) fn on_conflict(&self, rule: &Rule) -> OnConflict {
        rule.on_conflict.unwrap_or(self.settings.on_conflict)
    }
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// More items than `max_items`.
    #[error("{count} files would change, and a plan holds {most}")]
    TooMany {
        count: usize,
        most: usize,
        /// The folders with most of them, and how many each has.
        largest: Vec<(String, usize)>,
    },
    /// A path is taken, and a rule says that there is no plan then.
    #[error("`{path}` cannot get its path: {reason}")]
    Taken {
        path: String,
        /// What stands in the way.
        reason: String,
    },
    /// The caller withdrew.
    #[error("the call was cancelled")]
    Withdrawn,
}
