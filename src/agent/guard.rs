//! Has what a model changes rest on the text that it knows, so that nothing is lost that a person
//! typed while it was thinking.

use serde_json::{Value, json};

use super::known::Known;
use crate::calls::Calls;
use crate::conversation::ConversationId;
use crate::note::code::ErrorCode;
use crate::policy::Scope;
use crate::tools::{Basis, Context, ToolError};
use crate::vault::{Place, View, Want};

/// What to do instead.
const READ_FIRST: &str = "read it with read_file first, or change a part of it with `old_text`";

/// What was made of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guarded {
    /// It is as it was, or rests on what the model knows.
    AsAsked,
    /// It may only make a new file, since the model does not know the text of one that is there.
    OnlyNew,
}

/// Gives a call the revision that the model knows, where it replaces what a file holds, or names lines
/// by their numbers, and says none itself; and an undo that says no number the last change set of the
/// conversation. May look at the disk.
///
/// # Errors
/// It takes away lines of a file that the model was never shown; there is nothing of the conversation's
/// own to undo.
pub(super) fn guard(
    calls: &Calls,
    scope: Scope,
    conversation: ConversationId,
    known: &Known,
    tool: &str,
    arguments: &mut Value,
) -> Result<Guarded, ToolError> {
    let tools = calls.tools();
    let context = calls.context();
    let context =
        Context { vault: context.vault.seen_through(calls.view(scope)), ..context.clone() };
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
                Ok(Place::Existing(found)) => found.path,
                Ok(Place::Free(path)) => path,
                // The tool says it better.
                Err(_) => return Ok(Guarded::AsAsked),
            };
            if let Some(known) = known.whole(path.as_str()) {
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
                // The same words whether it is there or not: it may be one that the caller may not see.
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

/// The last change set of this conversation that stands and is no undo; `None` where there is none at
/// all, of anybody's.
///
/// # Errors
/// There are others' alone.
fn own_last(
    context: &Context,
    conversation: ConversationId,
    seen: View,
) -> Result<Option<u64>, ToolError> {
    // The name of a turn is the agent's alone; any client may name a conversation.
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
                "there is nothing to undo of this conversation; the newest change is change set {}, \
                 made by `{}`",
                newest.id, newest.caller
            ),
            format!(
                "give `change_set: {}` if that one is meant; list_changes shows what it did",
                newest.id
            ),
        )),
    }
}

/// What the model is told where it may not replace what is there.
pub(super) fn unread(error: ToolError) -> ToolError {
    ToolError {
        message: format!("{}, and not all of it was read in this conversation", error.message),
        hint: Some(format!(
            "{READ_FIRST}; what cannot be read whole can be deleted, which can be undone, and written \
             anew"
        )),
        ..error
    }
}

/// The name under which the journal knows the changes of a turn.
pub fn turn_name(conversation: impl std::fmt::Display, turn: impl std::fmt::Display) -> String {
    format!("conversation {conversation}, turn {turn}")
}
