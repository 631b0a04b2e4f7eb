//! Shared by tools on links.

use super::{Context, ToolError};
use crate::index::links::{Form, StoredLink, VisibleLinks};
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::vault::Want;

/// The updated link graph in the caller's view. During the first reading of the vault it is incomplete, as [`unknown`]
/// reports.
pub(super) fn so_far(context: &Context) -> Result<VisibleLinks<'_>, ToolError> {
    let links = context.index.links.available(context.vault.view(), &context.cancel);
    links.map_err(|_| ToolError::cancelled())
}

/// The complete link graph, for changes.
pub(super) fn links(context: &Context) -> Result<VisibleLinks<'_>, ToolError> {
    context.index.links.refresh(&context.cancel).map_err(|_| ToolError::cancelled())?;
    Ok(visible_links(context))
}

/// The link graph without an update.
pub(super) fn visible_links(context: &Context) -> VisibleLinks<'_> {
    context.index.links.in_view(context.vault.view())
}

/// The file or folder that `requested` names; the whole vault if it is empty.
pub(super) fn place(context: &Context, requested: Option<&str>) -> Result<VaultPath, ToolError> {
    match requested {
        None => Ok(VaultPath::root()),
        Some(requested) => Ok(context.find(requested, Want::Any)?.path),
    }
}

pub(super) fn word(link: &StoredLink) -> &'static str {
    match link.form {
        Form::Link(kind) => kind.word(),
        Form::CanvasFile => "canvas file",
        Form::CanvasCard => "canvas card",
    }
}

/// The number of files whose links are unknown or incomplete, with the note about it.
pub(super) fn unknown(links: &VisibleLinks<'_>) -> (usize, Option<String>) {
    let gaps = links.gaps();
    let note = match (links.unread(), gaps.first()) {
        (0, None) => None,
        (0, Some((path, _))) => {
            let files = counted(gaps.len(), "file");
            Some(format!("[not all links of {files} are known; the first is `{path}`]"))
        }
        (unread, _) => {
            let unread = counted(unread, "file");
            Some(format!("[incomplete: {unread} are still to be read; ask again in a while]"))
        }
    };
    (gaps.len() + links.unread(), note)
}
