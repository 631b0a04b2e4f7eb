//! Whether what is planned may be done, asked before it is: so that a dry run and the change itself say
//! the same, and nobody is asked to agree to what then fails.

use serde_json::json;

use super::relink::ReadOnly;
use super::text_file::count;
use super::{Context, ToolError};
use crate::index::links::rewrite::{Plan, Rewrite, Stuck};
use crate::journal::Change;
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::vault::VaultError;

/// Files named in an error's message, and in its facts.
const MAX_NAMED: (usize, usize) = (10, 100);

/// Refuses moves that the system would.
///
/// # Errors
/// As the move itself would: `permission_denied`, `protected_path`, another disk. Other errors are left
/// to the move.
pub(super) fn check_moves(context: &Context, changes: &[Change]) -> Result<(), ToolError> {
    for change in changes {
        if let Change::Move { from, to } = change
            && let Err(error) = context.vault.may_move(from, to)
            && is_refusal(&error)
        {
            return Err(error.into());
        }
    }
    Ok(())
}

/// Refuses a plan that rewrites links in files that may not be written, or leaves those files.
///
/// # Errors
/// `permission_denied`, with the files.
pub(super) fn check(
    context: &Context,
    plan: &mut Plan,
    read_only: ReadOnly,
) -> Result<(), ToolError> {
    let refused = |rewrite: &Rewrite| {
        rewrite.revision?;
        context.vault.may_write(&rewrite.path).err().filter(is_refusal)
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
        return Err(refusal(context, &blocked));
    }
    let left = |(path, reason)| Stuck { path, place: None, link: String::new(), reason };
    plan.stuck.extend(blocked.into_iter().map(left));
    plan.stuck.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

/// Whether a change would surely fail so; what is gone or changed meanwhile is planned anew.
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
            "it lies on a disk that can only be read".to_owned()
        }
        VaultError::Io { .. } => {
            "the steward's user may not write it, or not into its folder".to_owned()
        }
        other => other.to_string(),
    }
}

fn refusal(context: &Context, blocked: &[(VaultPath, String)]) -> ToolError {
    // Who may not see a file is not told its name.
    let seen: Vec<&(VaultPath, String)> =
        blocked.iter().filter(|(path, _)| context.vault.view().shows(path)).collect();
    let (message, them) = match (&seen[..], blocked.len()) {
        ([(path, reason)], 1) => {
            (format!("the links in `{path}` would have to follow, and {reason}"), "it")
        }
        (_, all) => {
            let (most, _) = MAX_NAMED;
            let named = seen.iter().take(most).map(|(path, reason)| format!("`{path}`: {reason}"));
            let mut parts: Vec<String> = named.collect();
            if all > parts.len() {
                parts.push(format!("{} more", all - parts.len()));
            }
            let files = count(all, "file");
            let parts = parts.join("; ");
            let message = format!(
                "the links in {files} would have to follow that may not be written: {parts}"
            );
            (message, "them")
        }
    };
    let hint = format!(
        "nothing was changed; make {them} writable first, or `move` with `leave_read_only`: their links \
         are left then and lead elsewhere"
    );
    let (_, most) = MAX_NAMED;
    let paths: Vec<&str> = seen.iter().take(most).map(|(path, _)| path.as_str()).collect();
    let data = json!({ "not_writable": paths, "total_not_writable": blocked.len() });
    ToolError { data: Some(data), ..ToolError::new(ErrorCode::PermissionDenied, message, hint) }
}
