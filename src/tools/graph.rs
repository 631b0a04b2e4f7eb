//! What the tools on links share.

use super::text_file::count;
use super::{Context, ToolError};
use crate::index::links::{Form, Gap, Kept, Seen};
use crate::note::path::VaultPath;
use crate::vault::Want;

/// The link graph, as far as the caller may see it and up to date, for which the first time the whole
/// vault is read.
pub(super) fn links(context: &Context) -> Result<Seen<'_>, ToolError> {
    context.index.links.refresh(&context.cancel).map_err(|_| ToolError::cancelled())?;
    Ok(seen(context))
}

/// The same, as it was brought up to date last.
pub(super) fn seen(context: &Context) -> Seen<'_> {
    context.index.links.seen_through(context.vault.view())
}

/// The file or folder that `asked` names; the whole vault if it names nothing.
pub(super) fn place(context: &Context, asked: Option<&str>) -> Result<VaultPath, ToolError> {
    match asked {
        None => Ok(VaultPath::root()),
        Some(asked) => Ok(context.find(asked, Want::Any)?.path),
    }
}

/// The word for the way a link is written.
pub(super) fn word(link: &Kept) -> &'static str {
    match link.form {
        Form::Link(kind) => kind.word(),
        Form::CanvasFile => "canvas file",
        Form::CanvasCard => "canvas card",
    }
}

/// What the answer does not know of, if anything.
pub(super) fn gaps(gaps: &[(VaultPath, Gap)]) -> Option<String> {
    let (path, _) = gaps.first()?;
    let files = count(gaps.len(), "file");
    Some(format!("[the links of {files} are not, or not all, known; the first is `{path}`]"))
}
