//! A whole file as a resource.

use base64::Engine as _;

use super::super::prelude::*;
use super::super::text_file::{TextFile, size};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::vault::Want;

/// The largest resource in bytes: a client passes all of it to its model.
const MAX_BYTES: u64 = 1 << 20;

/// Reads a file whole, text as text and any other as base64; at most one megabyte.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadResource {
    /// The file, from the vault's root, or the name of a note.
    path: String,
}

/// A file.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Its real path.
    path: String,
    /// Its text, if it is text.
    text: Option<String>,
    /// Its bytes in base64, if it is not.
    base64: Option<String>,
}

impl Tool for ReadResource {
    const NAME: &'static str = "resources/read";
    const TITLE: &'static str = "Read a resource";
    const TIER: Tier = Tier::Safe;
    const QUICK: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "a.md"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let found = context.find(&self.path, Want::File)?;
        small_enough(&found.path, found.meta.size)?;
        let content = context.vault.read(&found.path)?;
        small_enough(&found.path, content.bytes.len() as u64)?;
        let file = TextFile { path: found.path, content };
        let text = file.text().ok().map(|text| text.body().to_owned());
        let base64 = text
            .is_none()
            .then(|| base64::engine::general_purpose::STANDARD.encode(&file.content.bytes));
        let path = file.path.as_str().to_owned();
        Ok(Answer::new(String::new(), Output { path, text, base64 }))
    }
}

fn small_enough(path: &VaultPath, bytes: u64) -> Result<(), ToolError> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    let message =
        format!("`{path}` has {}, and a resource at most {}", size(bytes), size(MAX_BYTES));
    Err(ToolError::new(ErrorCode::TooLarge, message, "the tool `read_file` reads it in parts"))
}
