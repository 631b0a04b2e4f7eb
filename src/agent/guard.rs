//! Has what a model changes rest on the text that it knows, so that nothing is lost that a person
//! typed while it was thinking.

use serde_json::{Map, Value, json};

use super::known::Known;
use super::toolbox::turn_name;
use crate::conversation::ConversationId;
use crate::journal::{ListedSet, Query, SetKind};
use crate::note::code::ErrorCode;
use crate::tools::{Context, ToolError};
use crate::vault::{Place, Want};

/// The argument that names the text which a change rests on.
const EXPECTED: &str = "expected_revision";

/// What to do instead.
const READ_FIRST: &str = "read it with read_file first, or change a part of it with `old_text`";

/// Change sets looked through for the last one of a conversation.
const LOOKED_THROUGH: usize = 500;

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
    context: &Context,
    conversation: ConversationId,
    known: &Known,
    tool: &str,
    arguments: &mut Map<String, Value>,
) -> Result<Guarded, ToolError> {
    let is_given = |key: &str| arguments.get(key).is_some_and(|value| !value.is_null());
    if tool == "undo" && !is_given("change_set") && !is_given("change") {
        if let Some(set) = own_last(context, conversation)? {
            arguments.insert("change_set".to_owned(), json!(set));
        }
        return Ok(Guarded::AsAsked);
    }
    let vault = &context.vault;
    let says_one = is_given(EXPECTED);
    let Some(asked) = arguments.get("path").and_then(Value::as_str).filter(|_| !says_one) else {
        return Ok(Guarded::AsAsked);
    };
    match tool {
        "write_file" => {
            let path = match vault.resolve_new(asked) {
                Ok(Place::Existing(found)) => found.path,
                Ok(Place::Free(path)) => path,
                // The tool says it better.
                Err(_) => return Ok(Guarded::AsAsked),
            };
            if let Some(revision) = known.whole(path.as_str()) {
                arguments.insert(EXPECTED.to_owned(), json!(revision));
                return Ok(Guarded::AsAsked);
            }
            let asks_so = arguments.get("if_exists").is_some_and(|value| value == "fail");
            arguments.insert("if_exists".to_owned(), json!("fail"));
            Ok(if asks_so { Guarded::AsAsked } else { Guarded::OnlyNew })
        }
        "edit_file" if goes_by_line(arguments) => {
            let found = vault.resolve(asked, Want::File).ok();
            let revision = found.and_then(|found| known.revision(found.path.as_str()));
            if let Some(revision) = revision {
                arguments.insert(EXPECTED.to_owned(), json!(revision));
                return Ok(Guarded::AsAsked);
            }
            if !takes_lines(arguments) {
                return Ok(Guarded::AsAsked);
            }
            // The same words whether it is there or not: it may be one that the caller may not see.
            Err(ToolError::new(
                ErrorCode::StaleRevision,
                format!("`{asked}` was not read in this conversation"),
                READ_FIRST,
            ))
        }
        _ => Ok(Guarded::AsAsked),
    }
}

/// The last change set of this conversation that stands and is no undo; `None` where there is none at
/// all, of anybody's.
///
/// # Errors
/// There are others' alone.
fn own_last(context: &Context, conversation: ConversationId) -> Result<Option<u64>, ToolError> {
    let query = Query { limit: LOOKED_THROUGH, ..Query::default() };
    let mut sets = context.journal.history().change_sets(&query)?;
    sets.retain(|set| !matches!(set.kind, SetKind::Undo(_)) && !set.is_undone());
    // The name of a turn is the agent's alone; any client may name a conversation.
    let turns = turn_name(conversation, "");
    let is_own = |set: &&ListedSet| set.turn.as_ref().is_some_and(|turn| turn.starts_with(&turns));
    match (sets.iter().find(is_own), sets.first()) {
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

/// Whether an edit is one at a numbered line. The start and the end of a file stay what they are.
fn goes_by_line(arguments: &Map<String, Value>) -> bool {
    let is_at = |key: &str, fixed: &[i64]| {
        let line = arguments.get(key).filter(|line| !line.is_null());
        line.is_some_and(|line| !line.as_i64().is_some_and(|line| fixed.contains(&line)))
    };
    takes_lines(arguments)
        || is_at("insert_after_line", &[0, -1])
        || is_at("insert_before_line", &[1])
}

/// Whether an edit takes lines away by their numbers.
fn takes_lines(arguments: &Map<String, Value>) -> bool {
    let is_given = |key: &&str| arguments.get(*key).is_some_and(|lines| !lines.is_null());
    ["delete_lines", "replace_lines"].iter().any(is_given)
}
