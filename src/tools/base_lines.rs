//! Lines of bases that name moved files: bases are reported, never edited.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use crate::edits;
use crate::journal::Change;
use crate::note::base;
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::vault::{FileContent, Kind, Vault};

/// Lines named in an answer.
const MAX_NAMED: usize = 20;

/// The most names that are searched for in bases.
const MAX_NAMES: usize = 50;

/// A line of a base that names a file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaseLine {
    /// The base.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
}

/// The first 20 lines of bases that name moved files: bases are reported, never edited.
pub(super) fn base_lines(context: &Context, from: &VaultPath, changes: &[Change]) -> Vec<BaseLine> {
    let change = edits::names(&context.vault, changes);
    let mut moved: Vec<&VaultPath> = change.moved().keys().collect();
    moved.sort();
    let wanted: Vec<&VaultPath> = std::iter::once(from)
        .chain(moved.into_iter().filter(|path| *path != from))
        .take(MAX_NAMES)
        .collect();
    let mut found: Vec<BaseLine> = Vec::new();
    for (file, content) in bases(&context.vault) {
        let Ok(text) = Text::decode(&content.bytes, file.name()) else { continue };
        let path = change.after(&file).unwrap_or(&file).as_str();
        let mentions = wanted.iter().flat_map(|name| base::mentions(text.body(), name.as_str()));
        for mention in mentions {
            let known =
                found.iter().any(|line| (line.path.as_str(), line.line) == (path, mention.line));
            if !known && found.len() < MAX_NAMED {
                let text = mention.text.chars().take(200).collect();
                found.push(BaseLine { path: path.to_owned(), line: mention.line, text });
            }
        }
    }
    found
}

/// The bases that can be read, the first 200.
pub(super) fn bases(vault: &Vault) -> impl Iterator<Item = (VaultPath, FileContent)> {
    let paths: Vec<VaultPath> = {
        let catalogue = vault.catalogue();
        let bases = catalogue.within(&VaultPath::root()).filter(|entry| {
            let extension = entry.path().extension();
            entry.kind == Kind::File && extension.is_some_and(|e| e.eq_ignore_ascii_case("base"))
        });
        bases.take(200).map(|entry| entry.path().to_path()).collect()
    };
    paths.into_iter().filter_map(|path| vault.read(&path).ok().map(|content| (path, content)))
}
