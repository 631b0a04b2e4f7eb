//! `get_active_note`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_file::local_short;
use super::{Answer, Context, Tier, Tool, ToolError};
use crate::note::code::ErrorCode;
use crate::vault::Want;

pub(super) struct GetActiveNote;

/// Tells which note is open in Obsidian right now, so that "this note" can be understood. It is
/// taken from Obsidian's workspace file, which lags a moment behind the screen; the answer says
/// how it was found.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {}

/// The open note.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Its path.
    path: String,
    /// Whether it is still there.
    exists: bool,
    /// Where this is known from: `workspace`, Obsidian's workspace file.
    source: &'static str,
    /// How it was found, in words.
    found_as: &'static str,
    /// When Obsidian wrote that down, local time.
    as_of: Option<String>,
}

impl Tool for GetActiveNote {
    const NAME: &'static str = "get_active_note";
    const TITLE: &'static str = "Which note is open";
    const TIER: Tier = Tier::Safe;
    const IDEMPOTENT: bool = true;
    type Input = Input;
    type Output = Output;

    fn run(context: &Context, _: Input) -> Result<Answer<Output>, ToolError> {
        let Some(note) = context.vault.active_note() else {
            return Err(ToolError::new(
                ErrorCode::NotFound,
                "no note is open in Obsidian, as far as its workspace file tells",
                "ask which note is meant, or list_files for the ones changed last",
            ));
        };
        let found = context.vault.resolve(&note.path, Want::File);
        let exists = found.is_ok();
        let path = found.map_or(note.path, |found| found.path.as_str().to_owned());
        let as_of = note.written.and_then(|time| {
            let age = time.duration_since(std::time::UNIX_EPOCH).ok()?;
            Some(local_short(i64::try_from(age.as_nanos()).ok()?))
        });
        let when = as_of.as_ref().map_or(String::new(), |time| format!(" as of {time}"));
        let gone = if exists { "" } else { "; it is not in the vault any more" };
        let text = format!("`{path}` is {} in Obsidian's workspace file{when}{gone}", note.source);
        let data = Output { path, exists, source: "workspace", found_as: note.source, as_of };
        Ok(Answer { text, data })
    }
}
