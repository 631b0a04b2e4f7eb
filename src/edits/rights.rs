//! Checks beforehand whether planned changes are permitted, so that a dry run predicts the result,
//! and nobody is asked to approve a change that would fail.

use super::error::EditsError;
use crate::index::links::rewrite::{Plan, Rewrite, Stuck};
use crate::journal::{Change, JournalError};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::policy::Refusal;
use crate::vault::{Vault, VaultError, is_temp_path};

/// The action if a file whose links have to follow is read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadOnly {
    #[default]
    Refuse,
    /// Make the change; the links in that file then lead elsewhere.
    Leave,
}

/// Refuses changes in hidden folders: the effect on links there would reveal which names are taken.
pub(super) fn check_seen(vault: &Vault, changes: &[Change]) -> Result<(), EditsError> {
    let is_hidden = |change: &Change| match change {
        // A later move takes it from there to a path that is checked.
        Change::Move { to, .. } if is_temp_path(to) => false,
        Change::Move { to, .. } => !vault.view().holds(to),
        Change::Write { path, .. }
        | Change::CreateFolder { path }
        | Change::RemoveFolder { path }
        | Change::Delete { path, .. } => !vault.view().holds(path),
    };
    if changes.iter().any(is_hidden) {
        Err(EditsError::Refused(Refusal::denied(
            "paths",
            "it would change something that this caller may not see",
            "`[policy] read` in the settings names the folders that it may see",
        )))
    } else {
        Ok(())
    }
}

/// Refuses moves that the system would refuse.
///
/// # Errors
/// As the move itself: `permission_denied`, `protected_path`, another disk. Other errors are left
/// to the move.
pub(super) fn check_moves(vault: &Vault, changes: &[Change]) -> Result<(), EditsError> {
    for change in changes {
        if let Change::Move { from, to } = change
            && let Err(error) = vault.may_move(from, to)
            && is_refusal(&error)
        {
            return Err(JournalError::Change(error).into());
        }
    }
    Ok(())
}

/// Refuses a plan that rewrites links in read-only files, or drops those rewrites.
pub(super) fn check(vault: &Vault, plan: &mut Plan, read_only: ReadOnly) -> Result<(), EditsError> {
    let refused = |rewrite: &Rewrite| {
        rewrite.before.as_ref()?;
        vault.may_write(&rewrite.path).err().filter(is_refusal)
    };
    let mut blocked: Vec<(VaultPath, String)> = Vec::new();
    plan.rewrites.retain(|rewrite| match refused(rewrite) {
        None => true,
        Some(error) => {
            blocked.push((rewrite.path.clone(), reason(&error)));
            false
        }
    });
    if blocked.is_empty() {
        return Ok(());
    }
    if read_only == ReadOnly::Refuse {
        let total = blocked.len();
        // A caller who may not see a file must not learn its name.
        blocked.retain(|(path, _)| vault.view().shows(path));
        return Err(EditsError::NotWritable { refused: blocked, total });
    }
    let left = |(path, reason)| Stuck { path, place: None, link: String::new(), reason };
    plan.stuck.extend(blocked.into_iter().map(left));
    plan.stuck.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

/// Whether a change would certainly fail with this error. Anything missing or changed is planned
/// again instead.
fn is_refusal(error: &VaultError) -> bool {
    matches!(error.code(), ErrorCode::PermissionDenied | ErrorCode::ProtectedPath)
        || matches!(error, VaultError::OtherDisk { .. })
}

fn reason(error: &VaultError) -> String {
    match error {
        VaultError::ReadOnly { .. } => "it is read-only".to_owned(),
        VaultError::Io { source, .. }
            if source.kind() == std::io::ErrorKind::ReadOnlyFilesystem =>
        {
            "it is on a read-only disk".to_owned()
        }
        VaultError::Io { .. } => "the steward may not write it, or not into its folder".to_owned(),
        other => other.to_string(),
    }
}
