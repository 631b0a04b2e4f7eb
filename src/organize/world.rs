//! The environment of planning, and the errors of planning.

use super::rule::{OnConflict, Rule};
use super::settings::Settings;
use crate::bases::Scope;
use crate::index::Index;
use crate::index::properties::VaultSnapshot;
use crate::note::path::VaultPath;
use crate::vault::{Cancel, Vault};

/// The environment of planning.
pub struct World<'a> {
    /// The vault within the caller's view: plans contain no other files.
    pub vault: &'a Vault,
    pub index: &'a Index,
    /// The snapshot for which the plan is made; the source of `scope`.
    pub snapshot: &'a VaultSnapshot<'a>,
    /// The clock and time zone for expressions.
    pub scope: Scope<'a>,
    pub settings: &'a Settings,
    /// Whether a `once` rule, by its hash, has already taken a note.
    pub taken_once: &'a dyn Fn(&str, &VaultPath) -> bool,
    pub cancel: &'a Cancel,
}

impl World<'_> {
    /// The default policy for occupied target paths.
    pub(super) fn on_conflict(&self, rule: &Rule) -> OnConflict {
        rule.on_conflict.unwrap_or(self.settings.on_conflict)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The plan has more items than `max_items`.
    #[error("{count} files would change; the limit of a plan is {most}")]
    TooMany {
        count: usize,
        most: usize,
        /// The folders with the most items, and their counts.
        largest: Vec<(String, usize)>,
    },
    /// A target path is occupied, and the rule's policy is to refuse the plan.
    #[error("`{path}` cannot get its path: {reason}")]
    Taken {
        path: String,
        /// The occupant of the path.
        reason: String,
    },
    #[error("the call was cancelled")]
    Cancelled,
}
