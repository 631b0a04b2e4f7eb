//! Guards against lost updates: ties a model's changes to the file version that it has read, so
//! that nothing a person typed in the meantime is lost.

use serde_json::{Value, json};

use super::read_set::ReadSet;
use crate::calls::Calls;
use crate::conversation::ConversationId;
use crate::note::code::ErrorCode;
use crate::policy::Scope;
use crate::tools::{Basis, Context, ToolError};
use crate::vault::{View, Want, WriteTarget};

const READ_FIRST: &str = "read it with read_file first, or change a part of it with `old_text`";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guarded {
    /// Unchanged, or tied to the revision that the model knows.
    AsAsked,
    /// Restricted to creating a new file, since the model has not read the existing one.
    OnlyNew,
}

/// Adds the known revision to a call that replaces a file or names lines by number, unless the call
/// has one. An undo without a number gets the conversation's own last change set. May read from the
/// disk.
///
/// # Errors
/// The call removes lines of a file that the model has not read, or this conversation has nothing
/// to undo.
pub(super) fn guard(
    calls: &Calls,
    scope: Scope,
    conversation: ConversationId,
    known: &ReadSet,
    tool: &str,
    arguments: &mut Value,
) -> Result<Guarded, ToolError> {
    let tools = calls.tools();
    let context = calls.context();
    let context = Context { vault: context.vault.in_view(calls.view(scope)), ..context.clone() };
    let (context, vault) = (&context, &context.vault);
    match tools.get(tool).and_then(|tool| tool.rests_on(arguments)) {
        None => {}
        Some(Basis::LastChange { change_set }) => {
            if let Some(set) = own_last(context, conversation, vault.view().clone())? {
                arguments[change_set] = json!(set);
            }
        }
        Some(Basis::Text { path, revision, only_new, is_only_new }) => {
            let path = match vault.resolve_new(&path) {
                Ok(WriteTarget::Existing(found)) => found.path,
                Ok(WriteTarget::Free(path)) => path,
                // The tool's own error is better.
                Err(_) => return Ok(Guarded::AsAsked),
            };
            if let Some(known) = known.fully_read(path.as_str()) {
                arguments[revision] = json!(known);
                return Ok(Guarded::AsAsked);
            }
            let (argument, word) = only_new;
            arguments[argument] = json!(word);
            return Ok(if is_only_new { Guarded::AsAsked } else { Guarded::OnlyNew });
        }
        Some(Basis::Lines { path, revision, takes }) => {
            let found = context.find(&path, Want::File).ok();
            if let Some(known) = found.and_then(|found| known.revision(found.path.as_str())) {
                arguments[revision] = json!(known);
            } else if takes {
                // The same message whether or not the file exists: this caller may not be allowed
                // to see it.
                return Err(ToolError::new(
                    ErrorCode::StaleRevision,
                    format!("`{path}` was not read in this conversation"),
                    READ_FIRST,
                ));
            }
        }
    }
    Ok(Guarded::AsAsked)
}

/// The last change set of this conversation that is still in effect and is not an undo; `None` if
/// the journal has no change set at all.
///
/// # Errors
/// Only others have made changes.
fn own_last(
    context: &Context,
    conversation: ConversationId,
    seen: View,
) -> Result<Option<u64>, ToolError> {
    // Any client may use a conversation's number, but only the agent names turns.
    let turns = turn_name(conversation, "");
    let mut newest = None;
    let own = context.journal.history().newest_standing(&seen, |set| {
        newest.get_or_insert_with(|| set.clone());
        set.turn.as_ref().is_some_and(|turn| turn.starts_with(&turns))
    })?;
    match (own, newest) {
        (Some(own), _) => Ok(Some(own.id.0)),
        (None, None) => Ok(None),
        (None, Some(newest)) => Err(ToolError::new(
            ErrorCode::NotFound,
            format!(
                "this conversation has nothing to undo; the newest change is change set {}, \
                 made by `{}`",
                newest.id, newest.caller
            ),
            format!(
                "give `change_set: {}` to undo that one; list_changes shows what it did",
                newest.id
            ),
        )),
    }
}

/// The error for a file that the model may not replace.
pub(super) fn unread(error: ToolError) -> ToolError {
    ToolError {
        message: format!("{}, and not all of it was read in this conversation", error.message),
        hint: Some(format!(
            "{READ_FIRST}; a file that cannot be read whole can be deleted (which can be undone) and written again"
        )),
        ..error
    }
}

pub fn turn_name(conversation: impl std::fmt::Display, turn: impl std::fmt::Display) -> String {
    format!("conversation {conversation}, turn {turn}")
}
