//! What the tools on links share.

use super::text_file::count;
use super::{Context, ToolError};
use crate::index::links::{Form, Gap, Kept};
use crate::note::path::VaultPath;
use crate::vault::Want;

/// Of the files whose links are not known those that the caller may see.
pub(super) fn seen(context: &Context, mut gaps: Vec<(VaultPath, Gap)>) -> Vec<(VaultPath, Gap)> {
    gaps.retain(|(path, _)| context.vault.view().shows(path));
    gaps
}

/// Brings the link graph up to date, which the first time reads the whole vault.
pub(super) fn refresh(context: &Context) -> Result<(), ToolError> {
    context.index.links.refresh(&context.cancel).map_err(|_| ToolError::cancelled())
}

/// The file or folder that `asked` names; the whole vault if it names nothing.
pub(super) fn place(context: &Context, asked: Option<&str>) -> Result<VaultPath, ToolError> {
    match asked {
        None => Ok(VaultPath::root()),
        Some(asked) => Ok(context.vault.resolve(asked, Want::Any)?.path),
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
