//! What the tools on links share.

use super::text_file::count;
use super::{Context, ToolError};
use crate::index::links::{Form, Kept, Seen};
use crate::note::path::VaultPath;
use crate::vault::Want;

/// The link graph, as far as the caller may see it and up to date. While the whole vault is read for the first time,
/// as far as that has come: [`unknown`] says so.
pub(super) fn so_far(context: &Context) -> Result<Seen<'_>, ToolError> {
    let links = context.index.links.look(context.vault.view(), &context.cancel);
    links.map_err(|_| ToolError::cancelled())
}

/// The same, whole: what a change rests on.
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

/// Of how many files an answer does not know the links, or not all, and what to say of it.
pub(super) fn unknown(links: &Seen<'_>) -> (usize, Option<String>) {
    let gaps = links.gaps();
    let said = match (links.unread(), gaps.first()) {
        (0, None) => None,
        (0, Some((path, _))) => {
            let files = count(gaps.len(), "file");
            Some(format!(
                "[the links of {files} are not, or not all, known; the first is `{path}`]"
            ))
        }
        (unread, _) => {
            let all = links.count() + unread;
            Some(format!(
                "[not whole: {unread} of {} are still to be read; ask again in a while]",
                count(all, "file")
            ))
        }
    };
    (gaps.len() + links.unread(), said)
}
