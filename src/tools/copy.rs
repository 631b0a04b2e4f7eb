//! `copy`

use super::destination::{self, Operation};
use super::prelude::*;
use super::relinked::Relinked;
use super::text_file::size;
use crate::vault::{VaultError, Want};

/// Maximum size of a copied file in bytes: it is held in memory, and stored for the undo.
const MAX_BYTES: u64 = 100 << 20;

/// Copies a note or any other file, byte for byte; not folders. Never overwrites: an existing
/// destination is an error. Missing folders are created. Links in the copy lead to the same files
/// as in the original; relative links are adapted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Copy {
    /// The file to copy, from the vault's root; up to 100 MB.
    source: String,
    /// The full path of the copy, including its name. Without an extension it gets the source's.
    destination: String,
    /// Only report what would change, including links.
    #[serde(default)]
    dry_run: bool,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The real path of the original.
    source: String,
    /// The path of the copy.
    destination: String,
    /// Bytes of the original.
    bytes: u64,
    /// Whether this was a dry run.
    dry_run: bool,
    /// The change set, for `undo`; none in a dry run.
    change_set: Option<u64>,
    /// Links rewritten in the copy, and links of other files that would lead to it now.
    links: Relinked,
}

impl Tool for Copy {
    const NAME: &'static str = "copy";
    const TITLE: &'static str = "Copy a file";
    const TIER: Tier = Tier::Cautious;
    const SELDOM: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: source, Path: destination);
    const EXAMPLE: &'static str = r#"{"source": "a.md", "destination": "copy.md"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let source = context.find(&self.source, Want::File)?;
        let destination =
            destination::resolve(context, Operation::Copy, &source, &self.destination)?;
        let from = source.path;
        let content = context.vault.read_within(&from, MAX_BYTES).map_err(too_large)?.bytes;
        let bytes = content.len() as u64;
        let (applied, links) =
            context.editor().copy((&from, &destination), content, self.dry_run)?;
        let verb = if self.dry_run { "would copy" } else { "copied" };
        let mut lines = vec![format!("{verb} `{from}` to `{destination}` ({})", size(bytes))];
        let links = Relinked::of(context.vault.view(), &links);
        lines.extend(links.text(self.dry_run));
        let data = Output {
            source: from.as_str().to_owned(),
            destination: destination.as_str().to_owned(),
            bytes,
            dry_run: self.dry_run,
            change_set: applied.map(|applied| applied.change_set.0),
            links,
        };
        Ok(Answer::new(lines.join("\n"), data))
    }
}

fn too_large(error: VaultError) -> ToolError {
    let is_limit = matches!(error, VaultError::TooLarge { .. });
    let mut error = ToolError::from(error);
    if is_limit {
        error.hint = Some("copy it with your file manager".to_owned());
    }
    error
}
