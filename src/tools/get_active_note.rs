//! `get_active_note`

use super::host::OpenNote;
use super::prelude::*;
use super::text_file::local_short;
use crate::vault::Want;

/// The path of the note that is open in Obsidian, and the text that is selected in it.
pub(super) fn open_note(context: &Context) -> Option<(String, Option<String>)> {
    let open = GetActiveNote {}.run(context).ok()?.data;
    open.exists.then(|| (open.path, open.selection.map(|selected| selected.text)))
}

/// Characters of a selection in an answer.
const MAX_SELECTION: usize = 20_000;

/// Tells which note is open in Obsidian right now, so that "this note" can be understood, and its
/// selected text. The source is Obsidian's plugin if it is connected, else the workspace file,
/// which lags a moment behind the screen; the answer says which.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetActiveNote {}

/// The open note.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Its path.
    path: String,
    /// Whether it still exists.
    exists: bool,
    /// The source: `obsidian` itself, or `workspace`, its workspace file.
    source: &'static str,
    /// The source in words.
    found_as: &'static str,
    /// When Obsidian saved it, local time.
    as_of: Option<String>,
    /// The line with the cursor, from 1, if Obsidian reports it.
    line: Option<u32>,
    /// The selected text, if Obsidian reports it.
    selection: Option<Selected>,
}

/// The selected text on the screen, which may not have been saved yet.
#[derive(Serialize, JsonSchema)]
pub struct Selected {
    /// The text.
    text: String,
    /// The line it begins in, from 1.
    start_line: u32,
    /// The line it ends in.
    end_line: u32,
    /// Whether only the beginning is included.
    cut: bool,
}

impl Tool for GetActiveNote {
    const NAME: &'static str = "get_active_note";
    const TITLE: &'static str = "Which note is open";
    const TIER: Tier = Tier::Safe;
    const EXAMPLE: &'static str = "{}";
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let open = context.host.as_ref().and_then(|host| host.open_note(&context.cancel));
        let Some(open) = open else { return from_workspace(context) };
        open.and_then(|open| on_screen(context, open)).ok_or_else(|| {
            let hint = "ask which note is meant, or list_files for the ones changed last";
            ToolError::not_found("no note is open in Obsidian", hint)
        })
    }
}

/// The open note as Obsidian reports it.
fn on_screen(context: &Context, open: OpenNote) -> Option<Answer<Output>> {
    // Another program reports the path: if this caller may not see the note, the answer is as if
    // none were open.
    let found = context.vault.resolve(&open.path, Want::File).ok()?;
    let path = found.path.as_str().to_owned();
    let mut text = format!("`{path}` is open in Obsidian");
    if let Some(line) = open.line {
        text.push_str(&format!(", with the cursor in line {line}"));
    }
    let selection = open.selection.filter(|(text, ..)| !text.is_empty());
    let selection = selection.map(|(text, start_line, end_line)| {
        let end = text.char_indices().nth(MAX_SELECTION).map_or(text.len(), |(at, _)| at);
        Selected { text: text[..end].to_owned(), start_line, end_line, cut: end < text.len() }
    });
    if let Some(selected) = &selection {
        let Selected { text: shown, start_line, end_line, cut } = selected;
        text.push_str(&format!("\nselected, lines {start_line} to {end_line}:\n{shown}"));
        if *cut {
            text.push_str("\n[the rest of the selection is too long]");
        }
    }
    let data = Output {
        path,
        exists: true,
        source: "obsidian",
        found_as: "the note on the screen",
        as_of: None,
        line: open.line,
        selection,
    };
    Some(Answer::new(text, data))
}

fn from_workspace(context: &Context) -> Result<Answer<Output>, ToolError> {
    let Some(note) = context.vault.active_note() else {
        return Err(ToolError::not_found(
            "no note is open in Obsidian, according to its workspace file",
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
    let gone = if exists { "" } else { "; it is no longer in the vault" };
    let text = format!("`{path}` is {} in Obsidian's workspace file{when}{gone}", note.source);
    let data = Output {
        path,
        exists,
        source: "workspace",
        found_as: note.source,
        as_of,
        line: None,
        selection: None,
    };
    Ok(Answer::new(text, data))
}
