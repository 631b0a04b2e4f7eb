//! Detection of names that an existing note already has, in any spelling and folder.

use serde_json::json;

use super::{Context, ToolError};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::vault::Want;

/// Refuses to create `path` if a note, or for a new folder also a folder, already has that name.
pub(super) fn refuse(context: &Context, path: &VaultPath, want: Want) -> Result<(), ToolError> {
    let taken = context.answering(path, want);
    let Some(first) = taken.first() else { return Ok(()) };
    let others = match taken.len() {
        1 => String::new(),
        all => format!(" and {} more", all - 1),
    };
    let names: Vec<&str> = taken.iter().map(VaultPath::as_str).collect();
    Err(ToolError {
        data: Some(json!({ "did_you_mean": names })),
        ..ToolError::new(
            ErrorCode::AmbiguousPath,
            format!("`{first}`{others} answers to the name `{path}` already; nothing was made"),
            format!("did you mean `{first}`? If not, give `create: true` to make `{path}` anyway"),
        )
    })
}
