//! What a person agreed to for good: a tool in a folder. Kept in the state folder's store, never in
//! the vault, where a model could write it.

use std::sync::{Mutex, PoisonError};

use crate::note::path::VaultPath;
use crate::policy::Effect;
use crate::store::StoreError;
use crate::store::audit::{ApprovalRow, Approvals};

#[derive(Debug)]
pub(super) struct Agreements {
    approvals: Approvals,
    /// One change at a time.
    turn: Mutex<()>,
}

impl Agreements {
    pub fn new(approvals: Approvals) -> Self {
        Self { approvals, turn: Mutex::default() }
    }

    pub fn list(&self) -> Result<Vec<ApprovalRow>, StoreError> {
        self.approvals.list()
    }

    pub fn add(&self, tool: &str, folder: &VaultPath, by: &str) -> Result<(), StoreError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let now = chrono::Utc::now().timestamp_millis();
        self.approvals.add(tool, folder.as_str(), by, now)
    }

    pub fn revoke(&self, id: i64) -> Result<bool, StoreError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.approvals.revoke(id)
    }

    /// Whether all of this was agreed to. Read anew each time, so that what is taken back counts at
    /// once; where it cannot be read nothing was agreed to.
    pub fn cover(&self, tool: &str, effects: &[Effect]) -> bool {
        let Ok(rows) = self.approvals.list() else { return false };
        let folders: Vec<VaultPath> = rows
            .iter()
            .filter(|row| row.tool == tool)
            .filter_map(|row| VaultPath::from_disk(&row.folder))
            .collect();
        effects.iter().flat_map(Effect::paths).all(|path| {
            // The folder itself is not in it: who may tidy up `Inbox` may not delete it.
            folders.iter().any(|folder| path != folder && path.is_within(folder))
        })
    }
}
