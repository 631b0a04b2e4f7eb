//! A person's permanent approvals: a tool in a folder, or a server's tool, with the root as its folder. Stored in the state folder, never in the
//! vault, where a model could edit them.

use std::sync::Mutex;

use crate::locks::lock;
use crate::note::path::VaultPath;
use crate::policy::Effect;
use crate::store::StoreError;
use crate::store::audit::{ApprovalRow, Approvals};

#[derive(Debug)]
pub(super) struct StandingApprovals {
    approvals: Approvals,
    /// Serialises changes.
    turn: Mutex<()>,
}

impl StandingApprovals {
    pub fn new(approvals: Approvals) -> Self {
        Self { approvals, turn: Mutex::default() }
    }

    pub fn list(&self) -> Result<Vec<ApprovalRow>, StoreError> {
        self.approvals.list()
    }

    pub fn add(&self, tool: &str, folder: &VaultPath, by: &str) -> Result<(), StoreError> {
        let _turn = lock(&self.turn);
        let now = chrono::Utc::now().timestamp_millis();
        self.approvals.add(tool, folder.as_str(), by, now)
    }

    pub fn revoke(&self, id: i64) -> Result<bool, StoreError> {
        let _turn = lock(&self.turn);
        self.approvals.revoke(id)
    }

    /// Whether a permanent approval covers all calls of a server's tool.
    pub fn cover_tool(&self, tool: &str) -> bool {
        let rows = self.approvals.list().unwrap_or_default();
        rows.iter().any(|row| row.tool == tool && row.folder.is_empty())
    }

    /// Whether permanent approvals cover all of these effects. Read from the store each time, so
    /// that a revoked approval stops counting at once; if the store cannot be read, nothing is
    /// approved.
    pub fn cover(&self, tool: &str, effects: &[Effect]) -> bool {
        // No approval covers a call with unknown effects.
        let Ok(rows) = self.approvals.list() else { return false };
        if effects.is_empty() {
            return false;
        }
        let folders: Vec<VaultPath> = rows
            .iter()
            .filter(|row| row.tool == tool)
            .filter_map(|row| VaultPath::from_disk(&row.folder))
            .collect();
        effects.iter().flat_map(Effect::paths).all(|path| {
            // The folder itself is not covered: permission to tidy up `Inbox` does not include
            // deleting it.
            folders.iter().any(|folder| path != folder && path.is_within(folder))
        })
    }
}
