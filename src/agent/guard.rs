//! Has what a model changes rest on the text that it knows, so that nothing is lost that a person
//! typed while it was thinking.

use serde_json::{Map, Value, json};

use super::known::Known;
use crate::note::code::ErrorCode;
use crate::tools::ToolError;
use crate::vault::{Place, Vault, Want};

/// The argument that names the text which a change rests on.
const EXPECTED: &str = "expected_revision";

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
/// by their numbers, and says none itself. May look at the disk.
///
/// # Errors
/// It takes away lines of a file that the model was never shown.
pub(super) fn guard(
    vault: &Vault,
    known: &Known,
    tool: &str,
    arguments: &mut Map<String, Value>,
) -> Result<Guarded, ToolError> {
    let says_one = arguments.get(EXPECTED).is_some_and(|value| !value.is_null());
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
            let Ok(found) = vault.resolve(asked, Want::File) else { return Ok(Guarded::AsAsked) };
            if let Some(revision) = known.revision(found.path.as_str()) {
                arguments.insert(EXPECTED.to_owned(), json!(revision));
                return Ok(Guarded::AsAsked);
            }
            if !takes_lines(arguments) {
                return Ok(Guarded::AsAsked);
            }
            Err(ToolError::new(
                ErrorCode::StaleRevision,
                format!("`{}` was not read in this conversation", found.path),
                READ_FIRST,
            ))
        }
        _ => Ok(Guarded::AsAsked),
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
