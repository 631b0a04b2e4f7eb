//! The target path of a move or copy.

use super::{Context, ToolError};
use crate::note::path::VaultPath;
use crate::vault::{Kind, ResolvedEntry, VaultError, Want};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Move,
    Copy,
}

/// Resolves the target path `requested` for `source`, with folders in their spelling on disk. The path is
/// free. A move may name its source to change the case.
///
/// # Errors
/// [`VaultError::AlreadyExists`] with a free path as the hint; an invalid path.
pub(super) fn resolve(
    context: &Context,
    deed: Operation,
    source: &ResolvedEntry,
    requested: &str,
) -> Result<VaultPath, ToolError> {
    let (path, kind) = (&source.path, source.meta.kind);
    match context.vault.resolve(requested, Want::Entry) {
        Err(VaultError::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
        Ok(found) if found.path == *path && deed == Operation::Move => {
            // The source in another spelling: a change of case. "todo" for `Todo.md` means the name
            // without the extension.
            let mut new = context.vault.new_path(requested)?;
            let named_whole = new.fold_key() == path.fold_key();
            if let (false, Some(extension)) = (named_whole, path.extension()) {
                let with_extension = format!("{}.{extension}", new.as_str());
                new = VaultPath::from_disk(&with_extension).unwrap_or(new);
            }
            return Ok(new);
        }
        Ok(found) => {
            // A name without extension also resolves to the note of that name, which is not an obstacle.
            let new = context.vault.new_path(requested)?;
            if found.path.fold_key() == new.fold_key() || kind == Kind::File {
                return Err(taken_error(context, deed, path, &found));
            }
            return Ok(new);
        }
    }
    let new = context.vault.new_path(requested)?;
    match type_for(path, &new).filter(|_| kind == Kind::File) {
        // Look up the whole name in any spelling.
        Some(extension) => resolve(context, deed, source, &format!("{}.{extension}", new.as_str())),
        None => Ok(new),
    }
}

fn taken_error(
    context: &Context,
    deed: Operation,
    source: &VaultPath,
    found: &ResolvedEntry,
) -> ToolError {
    let hint = match found.meta.kind {
        Kind::Folder => {
            let verb = if deed == Operation::Move { "move" } else { "copy" };
            let inside = format!("{}/{}", found.path.as_str(), source.name());
            Some(format!("to {verb} it into that folder, say `{inside}`"))
        }
        _ => free_name_near(context, &found.path).map(|free| format!("`{free}` is free")),
    };
    let mut error = ToolError::from(VaultError::AlreadyExists { path: found.path.clone() });
    error.hint = hint.or(error.hint);
    error
}

/// `path` with the first free number after its name, from 2.
fn free_name_near(context: &Context, path: &VaultPath) -> Option<VaultPath> {
    let (stem, extension) = match path.extension() {
        Some(extension) => path.as_str().split_at(path.as_str().len() - extension.len() - 1),
        None => (path.as_str(), ""),
    };
    (2..MAX_NUMBERS)
        .filter_map(|number| VaultPath::from_disk(&format!("{stem} {number}{extension}")))
        .find(|path| context.vault.resolve(path.as_str(), Want::Entry).is_err())
}

const MAX_NUMBERS: u32 = 20;

/// The allowed extension of a renamed note.
const OTHER_TEXTS: [&str; 21] = [
    "base", "bak", "bib", "canvas", "csv", "htm", "html", "json", "log", "markdown", "md", "mdx",
    "org", "rst", "tex", "text", "tsv", "txt", "xml", "yaml", "yml",
];

/// The extension to take over from the old path if the new one has none: people name notes, not files, and text after
/// a dot (`Release 2.0`, `Dr. Who`) is rarely meant as an extension.
fn type_for<'a>(source: &'a VaultPath, new: &VaultPath) -> Option<&'a str> {
    let extension = source.extension()?;
    let is_same = new.extension().is_some_and(|new| new.eq_ignore_ascii_case(extension));
    let names_one = if source.is_note() {
        new.extension()
            .is_some_and(|new| OTHER_TEXTS.iter().any(|other| new.eq_ignore_ascii_case(other)))
    } else {
        new.has_type()
    };
    (!names_one && !is_same).then_some(extension)
}
