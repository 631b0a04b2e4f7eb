//! Completes a partly typed name or alias of a note or folder, in the protocol's types.

use std::collections::HashSet;

use crate::note::fold::fold_key;
use crate::note::markdown;
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::protocol::complete::{CompleteParams, CompleteResult, Completion, CompletionKind};
use crate::tools::{Context, Likely, likely};
use crate::vault::Vault;

/// The default and the largest number of completions.
const LIMIT: u32 = 20;
const MAX_COMPLETIONS: u32 = 100;

/// The possible completions, the likeliest first: names that begin with the text, aliases that do, other names.
pub fn complete(context: &Context, params: &CompleteParams) -> CompleteResult {
    let limit = params.limit.unwrap_or(LIMIT).clamp(1, MAX_COMPLETIONS) as usize;
    let key = fold_key(params.text.trim());
    let vault = &context.vault;
    let mut found: Vec<Completion> =
        likely(vault, &params.text, limit).0.into_iter().map(completion).collect();
    let begins = |one: &Completion| {
        fold_key(&one.name).starts_with(&key) || fold_key(&one.path).starts_with(&key)
    };
    let first = found.iter().take_while(|one| begins(one)).count();
    let others = found.split_off(first);
    let called = aliases(vault, context.aliases_with_prefix(&params.text), &key);
    found.extend(called.chain(others));
    let mut seen = HashSet::new();
    found.retain(|one| seen.insert(one.path.clone()));
    found.truncate(limit);
    CompleteResult { found }
}

/// The notes with aliases that begin like this, and these aliases.
fn aliases(vault: &Vault, notes: Vec<VaultPath>, key: &str) -> impl Iterator<Item = Completion> {
    notes.into_iter().take(MAX_COMPLETIONS as usize).filter_map(move |path| {
        let content = vault.read(&path).ok()?;
        let text = Text::decode(&content.bytes, path.name()).ok()?;
        let frontmatter = markdown::read(text.body()).frontmatter?;
        let matching =
            frontmatter.aliases().into_iter().filter(|alias| fold_key(alias).starts_with(key));
        let aliases: Vec<String> = matching.map(str::to_owned).collect();
        let found = completion(Likely { path: path.as_str().to_owned(), is_folder: false });
        (!aliases.is_empty()).then_some(Completion { aliases, ..found })
    })
}

fn completion(Likely { path, is_folder }: Likely) -> Completion {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let (kind, name) = match name.strip_suffix(".md") {
        _ if is_folder => (CompletionKind::Folder, name),
        Some(name) => (CompletionKind::Note, name),
        None => (CompletionKind::File, name),
    };
    Completion { name: name.to_owned(), folder: folder.to_owned(), kind, aliases: Vec::new(), path }
}
