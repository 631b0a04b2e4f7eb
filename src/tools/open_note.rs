//! `open_note`

use super::prelude::*;
use crate::note::code::ErrorCode;
use crate::vault::Want;

/// Opens a note in Obsidian in front of the person, optionally at a line. Use it only when they
/// want to see it: it replaces what they are looking at. Needs Obsidian to be open with the plugin.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenNote {
    /// The note, or another file that Obsidian shows.
    path: String,
    /// The line to show, from 1.
    line: Option<u32>,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The path of the requested note.
    path: String,
    /// The path of the note that is open in Obsidian now, if it reports one.
    open: Option<String>,
}

impl Tool for OpenNote {
    const NAME: &'static str = "open_note";
    const TITLE: &'static str = "Open a note in Obsidian";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Edit;
    const SELDOM: bool = true;
    const NEEDS_HOST: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "a.md"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let path = context.find(&self.path, Want::File)?.path;
        if self.line == Some(0) {
            return Err(ToolError::invalid("there is no line 0", "lines count from 1"));
        }
        let Some(host) = &context.host else { return Err(no_host()) };
        // Another program reports the path: omit a note hidden from the caller.
        let is_seen = |open: &String| context.vault.resolve(open, Want::File).is_ok();
        let open = host.open(&path, self.line, &context.cancel)?.filter(is_seen);
        let text = match &open {
            Some(open) if open == path.as_str() => format!("`{path}` is open in Obsidian"),
            Some(open) => format!("Obsidian was asked to open `{path}` but shows `{open}`"),
            None => {
                format!("Obsidian was asked to open `{path}`, and did not report what it shows")
            }
        };
        Ok(Answer::new(text, Output { path: path.as_str().to_owned(), open }))
    }
}

fn no_host() -> ToolError {
    ToolError::new(
        ErrorCode::HostUnavailable,
        "Obsidian is not connected",
        "open the vault in Obsidian with the Vault Steward plugin enabled, or name the note instead",
    )
}
