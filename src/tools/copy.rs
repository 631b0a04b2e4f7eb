//! `copy`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::destination::{self, Deed};
use super::relinked::Relinked;
use super::text_file::size;
use super::tool::touches;
use super::{Answer, Context, Tier, Tool, ToolError, Touch};
use crate::vault::{VaultError, Want};

/// Copies a file, links included.
pub struct Copy;

/// Maximum size of a copied file in bytes: it is held in memory, and stored for the undo.
const MAX_BYTES: u64 = 100 << 20;

/// Copies a note or any other file, byte for byte; folders are not copied. Nothing is ever replaced: an
/// existing destination is an error. Missing folders are made. Links in a copied note lead where those
/// of the original lead; relative ones are written anew for it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The file to copy, from the vault's root; up to 100 MB.
    source: String,
    /// The whole path of the copy, name included. A name without an extension gets the source's.
    destination: String,
    /// Show what would change, links included, and change nothing.
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
    /// Whether this only shows what would be done.
    dry_run: bool,
    /// The change set this is part of: what `undo` takes; none in a dry run.
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
    type Input = Input;
    type Output = Output;

    fn run(context: &Context, input: Input) -> Result<Answer<Output>, ToolError> {
        let source = context.find(&input.source, Want::File)?;
        let destination = destination::of(context, Deed::Copy, &source, &input.destination)?;
        let from = source.path;
        let content = context.vault.read_within(&from, MAX_BYTES).map_err(too_large)?.bytes;
        let bytes = content.len() as u64;
        let (applied, links) =
            context.editor().copy((&from, &destination), content, input.dry_run)?;
        let verb = if input.dry_run { "would copy" } else { "copied" };
        let mut lines = vec![format!("{verb} `{from}` to `{destination}` ({})", size(bytes))];
        let links = Relinked::of(context.vault.view(), &links);
        lines.extend(links.text(input.dry_run));
        let data = Output {
            source: from.as_str().to_owned(),
            destination: destination.as_str().to_owned(),
            bytes,
            dry_run: input.dry_run,
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
