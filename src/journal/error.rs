//! The journal's errors.

use serde_json::{Value, json};

use super::change::{ChangeId, ChangeSetId, Target};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::store::StoreError;
use crate::vault::VaultError;

/// Why a change set was not applied.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    Change(#[from] VaultError),
    /// A change failed, and some of the changes before it could not be rolled back.
    #[error("{error}; and {} of the changes before it could not be undone: {}", left.len(), left.join("; "))]
    Half {
        #[source]
        error: Box<JournalError>,
        /// Files left in a wrong state, one sentence each.
        left: Vec<String>,
    },
    /// The journal cannot be read or written; nothing has changed.
    #[error("the journal cannot be used: {0}")]
    Store(#[from] StoreError),
    /// One turn would delete or move more files than allowed without a person's agreement; nothing
    /// has changed.
    #[error("this would {action} {count} files in one turn; the limit is {limit}")]
    Limit {
        /// `delete`, `move`, or `delete or move` for the share of the vault.
        action: &'static str,
        /// The number, including earlier calls of the same turn.
        count: usize,
        limit: usize,
    },
}

impl JournalError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Change(error) => error.code(),
            Self::Half { error, .. } => error.code(),
            Self::Store(error) if error.is_full() => ErrorCode::StorageFull,
            Self::Store(error) if error.is_denied() => ErrorCode::PermissionDenied,
            Self::Store(_) => ErrorCode::IoError,
            Self::Limit { .. } => ErrorCode::Denied,
        }
    }

    /// Advice, as a sentence without its full stop.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Change(error) => error.hint(),
            Self::Half { .. } => {
                Some("check the files named above before you change anything else".to_owned())
            }
            Self::Store(error) => Some(error.hint()),
            Self::Limit { .. } => Some(
                "do less in one turn, or ask a person for approval (`steward \
                 call --yes`); `[journal]` in the settings has the limits"
                    .to_owned(),
            ),
        }
    }

    /// The details as JSON, for programs.
    pub fn data(&self) -> Option<Value> {
        match self {
            Self::Change(error) => error.data(),
            Self::Half { left, .. } => Some(json!({ "left": left })),
            Self::Store(_) => None,
            Self::Limit { count, limit, .. } => Some(json!({ "count": count, "limit": limit })),
        }
    }
}

/// Why something was not undone. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("there is no change `{0}`")]
    Unknown(Target),
    #[error("`{target}` was already undone by change set {by}")]
    AlreadyUndone { target: Target, by: ChangeSetId },
    /// The vault has nothing left to undo: others have reverted it, or a folder that the change
    /// made is in use.
    #[error("`{target}` has nothing left to undo{}", list(.notes))]
    Nothing {
        target: Target,
        /// The differences found, one sentence each.
        notes: Vec<String>,
    },
    /// The file differs from its state after the change.
    #[error("`{path}` has changed since{}{}", .by.map(|by| format!(", by change set {by}")).unwrap_or_default(), .clash.map(|line| format!(", in the same lines as that change: see line {line}")).unwrap_or_default())]
    Changed {
        path: VaultPath,
        /// The later changes as a unified diff; a sentence if there is none.
        diff: String,
        by: Option<ChangeSetId>,
        /// A line of the current file, from 1, where both edited the same or adjacent lines. `None`
        /// if the texts cannot be compared, and for a file that would be deleted.
        clash: Option<usize>,
    },
    /// The file or folder is not where the change left it.
    #[error("`{path}` is no longer there{}", .now.as_ref().map(|now| format!("; it is now `{now}`")).unwrap_or_default())]
    NotThere {
        path: VaultPath,
        /// Where it is now, as far as the journal knows.
        now: Option<VaultPath>,
        /// The later change that moved or deleted it, if any.
        by: Option<ChangeId>,
        /// Whether `force` would write its earlier text again.
        can_recreate: bool,
    },
    /// Another file or folder occupies the path to restore to.
    #[error("`{path}` cannot {}: another file is there", back_to(.path, .taken))]
    Taken {
        /// The current path of the file that would be restored.
        path: VaultPath,
        /// The occupied path, or the path of the other file if it differs only in case.
        taken: VaultPath,
    },
    /// The earlier text is no longer stored, or damaged.
    #[error("the earlier text of `{path}` is no longer stored: {reason}")]
    NotKept { path: VaultPath, reason: String },
    /// The deleted item is not in a trash, and its text is not stored.
    #[error("`{path}` is no longer in the trash, and its text is not stored")]
    NotInTrash { path: VaultPath },
    /// The deleted item was permanently removed by name.
    #[error("`{path}` was permanently removed from the trash")]
    Emptied { path: VaultPath },
    /// The reviewer of the preview refused; nothing has changed.
    #[error("it was refused before anything was done")]
    Refused,
    /// The undo failed; nothing has changed except as the error says.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

fn back_to(path: &VaultPath, taken: &VaultPath) -> String {
    if path.fold_key() == taken.fold_key() {
        format!("be written again as `{taken}`")
    } else {
        format!("go back to `{taken}`")
    }
}

/// `: one; two`, or nothing.
fn list(notes: &[String]) -> String {
    let colon = if notes.is_empty() { "" } else { ": " };
    format!("{colon}{}", notes.join("; "))
}

impl From<StoreError> for UndoError {
    fn from(error: StoreError) -> Self {
        Self::Journal(error.into())
    }
}

impl From<VaultError> for UndoError {
    fn from(error: VaultError) -> Self {
        Self::Journal(error.into())
    }
}

impl UndoError {
    /// Sets on [`Self::NotThere`] whether `force` would write the text again.
    pub(super) fn with_can_recreate(mut self, can: bool) -> Self {
        if let Self::NotThere { can_recreate, .. } = &mut self {
            *can_recreate = can;
        }
        self
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown(_)
            | Self::NotInTrash { .. }
            | Self::Emptied { .. }
            | Self::NotThere { .. } => ErrorCode::NotFound,
            Self::AlreadyUndone { .. } | Self::Nothing { .. } => ErrorCode::InvalidInput,
            Self::Changed { .. } => ErrorCode::StaleRevision,
            Self::Taken { .. } => ErrorCode::AlreadyExists,
            Self::NotKept { .. } => ErrorCode::IoError,
            Self::Refused => ErrorCode::Denied,
            Self::Journal(error) => error.code(),
        }
    }

    /// The details as JSON, for programs.
    pub fn data(&self) -> Option<Value> {
        Some(match self {
            Self::AlreadyUndone { by, .. } => json!({ "by": by }),
            Self::Nothing { notes, .. } => json!({ "notes": notes }),
            Self::Changed { path, diff, by, clash } => {
                json!({ "path": path.as_str(), "diff": diff, "by": by, "line": clash })
            }
            Self::NotThere { path, now, by, .. } => json!({
                "path": path.as_str(),
                "now": now.as_ref().map(VaultPath::as_str),
                "by": by.map(|by| by.to_string()),
            }),
            Self::Taken { path, taken } => {
                json!({ "path": path.as_str(), "taken": taken.as_str() })
            }
            Self::Journal(error) => return error.data(),
            Self::Unknown(_)
            | Self::NotKept { .. }
            | Self::NotInTrash { .. }
            | Self::Emptied { .. }
            | Self::Refused => return None,
        })
    }

    /// Advice, as a sentence without its full stop.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown(_) => "list_changes shows what can be undone".to_owned(),
            Self::AlreadyUndone { by, .. } => format!("undo {by} brings it back"),
            Self::Nothing { .. } => {
                "to undo an earlier change, give its number; list_changes has them"
                    .to_owned()
            }
            Self::Changed { by: Some(by), .. } => {
                format!(
                    "undo {by} first, or use force, which puts the whole file back as it was before \
                     the change: the newer text is stored and can be restored"
                )
            }
            Self::Changed { clash: Some(_), .. } => {
                "both changed the same lines, so one has to give way: force puts the whole file back \
                 as it was before the change; the newer text is stored and can be restored"
                    .to_owned()
            }
            Self::Changed { .. } => {
                "use force to undo anyway: the newer text stays in the journal and can be restored"
                    .to_owned()
            }
            Self::NotThere { by: Some(by), .. } => {
                format!("change {by} moved or deleted it; undo that first, or undo both change sets whole")
            }
            Self::NotThere { can_recreate: true, path, .. } => format!(
                "another program moved or removed it: put it back first, or use force, which writes \
                 its text from before the change again at `{path}`"
            ),
            Self::NotThere { .. } => {
                "it was moved or removed by another program; put it back first".to_owned()
            }
            Self::Taken { taken, .. } => format!("move `{taken}` out of the way first"),
            Self::NotKept { .. } => {
                "texts are kept for the time that `[journal]` in the settings says; \
                 `steward journal verify` lists what is damaged"
                    .to_owned()
            }
            Self::Refused => "nothing was done".to_owned(),
            Self::NotInTrash { .. } => "it was emptied or taken out of the trash".to_owned(),
            Self::Emptied { .. } => {
                "nothing can restore it; to undo an earlier change, give its number; list_changes has them"
                    .to_owned()
            }
            Self::Journal(error) => return error.hint(),
        })
    }
}
