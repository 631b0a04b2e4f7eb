//! Where something moved or copied goes.

use super::{Context, ToolError};
use crate::note::path::VaultPath;
use crate::vault::{Found, Kind, VaultError, Want};

/// What is done with the thing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Move,
    Copy,
}

/// The new path that `asked` names for `source`, its folders spelt as they are on disk. Nothing else
/// is there. A move may name the thing itself, for a change of case.
///
/// # Errors
/// [`VaultError::AlreadyExists`], with a free path as the hint; a path that cannot be.
pub(super) fn of(
    context: &Context,
    deed: Deed,
    source: &Found,
    asked: &str,
) -> Result<VaultPath, ToolError> {
    let (path, kind) = (&source.path, source.meta.kind);
    match context.vault.resolve(asked, Want::Entry) {
        Err(VaultError::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
        Ok(found) if found.path == *path && deed == Deed::Move => {
            // The thing itself under another spelling: a change of case. "todo" for `Todo.md`
            // means the name, not the extension.
            let mut new = context.vault.new_path(asked)?;
            let named_whole = new.fold_key() == path.fold_key();
            if let (false, Some(extension)) = (named_whole, path.extension()) {
                let with_extension = format!("{}.{extension}", new.as_str());
                new = VaultPath::from_disk(&with_extension).unwrap_or(new);
            }
            return Ok(new);
        }
        Ok(found) => {
            // A name without extension also finds the note of that name, which is no obstacle.
            let new = context.vault.new_path(asked)?;
            if found.path.fold_key() == new.fold_key() || kind == Kind::File {
                return Err(taken(context, deed, path, &found));
            }
            return Ok(new);
        }
    }
    let new = context.vault.new_path(asked)?;
    match type_for(path, &new).filter(|_| kind == Kind::File) {
        // What lies there under any spelling is looked for by the whole name.
        Some(extension) => of(context, deed, source, &format!("{}.{extension}", new.as_str())),
        None => Ok(new),
    }
}

fn taken(context: &Context, deed: Deed, source: &VaultPath, found: &Found) -> ToolError {
    let hint = match found.meta.kind {
        Kind::Folder => {
            let verb = if deed == Deed::Move { "move" } else { "copy" };
            let inside = format!("{}/{}", found.path.as_str(), source.name());
            Some(format!("to {verb} it into that folder, say `{inside}`"))
        }
        _ => free_beside(context, &found.path).map(|free| format!("`{free}` is free")),
    };
    let mut error = ToolError::from(VaultError::AlreadyExists { path: found.path.clone() });
    error.hint = hint.or(error.hint);
    error
}

/// `path` with the first number behind its name that nothing is called by, from 2.
fn free_beside(context: &Context, path: &VaultPath) -> Option<VaultPath> {
    let (stem, extension) = match path.extension() {
        Some(extension) => path.as_str().split_at(path.as_str().len() - extension.len() - 1),
        None => (path.as_str(), ""),
    };
    (2..MOST_NUMBERS)
        .filter_map(|number| VaultPath::from_disk(&format!("{stem} {number}{extension}")))
        .find(|path| context.vault.resolve(path.as_str(), Want::Entry).is_err())
}

/// The most names that are tried for a free one.
const MOST_NUMBERS: u32 = 20;

/// What a note may become by its new name.
const OTHER_TEXTS: [&str; 21] = [
    "base", "bak", "bib", "canvas", "csv", "htm", "html", "json", "log", "markdown", "md", "mdx",
    "org", "rst", "tex", "text", "tsv", "txt", "xml", "yaml", "yml",
];

/// The extension that a new path is to have from the old one, where it names none: people name notes and
/// not files, and what is behind a dot (`Release 2.0`, `Dr. Who`) is hardly ever meant as one.
fn type_for<'a>(source: &'a VaultPath, new: &VaultPath) -> Option<&'a str> {
    let extension = source.extension()?;
    let is_same = new.extension().is_some_and(|new| new.eq_ignore_ascii_case(extension));
    let names_one = match source.is_note() {
        true => new
            .extension()
            .is_some_and(|new| OTHER_TEXTS.iter().any(|other| new.eq_ignore_ascii_case(other))),
        false => new.has_type(),
    };
    (!names_one && !is_same).then_some(extension)
}
