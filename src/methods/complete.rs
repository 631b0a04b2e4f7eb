//! Completes a partly typed name of a note or folder, in the protocol's types.

use crate::protocol::complete::{CompleteParams, CompleteResult, Completion, CompletionKind};
use crate::tools::{Likely, likely};
use crate::vault::Vault;

/// The default and the largest number of completions.
const LIMIT: u32 = 20;
const MOST: u32 = 100;

/// The possible completions, the likeliest first.
pub fn complete(vault: &Vault, params: &CompleteParams) -> CompleteResult {
    let limit = params.limit.unwrap_or(LIMIT).clamp(1, MOST) as usize;
    let (found, _) = likely(vault, &params.text, limit);
    CompleteResult { found: found.into_iter().map(completion).collect() }
}

fn completion(Likely { path, is_folder }: Likely) -> Completion {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let (kind, name) = match name.strip_suffix(".md") {
        _ if is_folder => (CompletionKind::Folder, name),
        Some(name) => (CompletionKind::Note, name),
        None => (CompletionKind::File, name),
    };
    Completion { name: name.to_owned(), folder: folder.to_owned(), kind, path }
}
