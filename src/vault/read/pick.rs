//! Looks up a requested path in the catalogue, in the order that `resolve` describes.

use crate::note::fold;
use crate::note::path::VaultPath;
use crate::vault::catalogue::{Catalogue, Entry};
use crate::vault::dir::Kind;
use crate::vault::error::VaultError;
use crate::vault::view::View;

/// The kind of entry that a caller needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// A file is preferred to a folder of the same name.
    File,
    Folder,
    Any,
    /// Any, and a final link is not followed: to delete, move or describe it.
    Entry,
}

/// An owned copy of the entry found, for use after the catalogue is unlocked.
pub(super) struct Picked {
    pub path: VaultPath,
    pub kind: Kind,
    pub unnameable: bool,
}

impl Picked {
    fn of(entry: &Entry<'_>) -> Self {
        Self { path: entry.path().to_path(), kind: entry.kind, unnameable: entry.unnameable }
    }
}

/// The best match for `requested`: an entry that suits `want`, else one of another kind.
pub(super) fn pick(
    catalogue: &Catalogue,
    requested: &VaultPath,
    want: Want,
    view: &View,
) -> Result<Option<Picked>, VaultError> {
    let suits = |entry: &Entry<'_>| match want {
        Want::File => matches!(entry.kind, Kind::File | Kind::Link),
        Want::Folder => entry.kind == Kind::Folder || entry.target.is_some(),
        Want::Any | Want::Entry => true,
    };
    let key = requested.fold_key();
    let plain = catalogue.folded(&key);
    let with_extension = match want {
        Want::Folder => Vec::new(),
        _ => catalogue.folded(&format!("{key}.md")),
    };
    let notes = format!("{requested}.md", requested = requested.as_str());
    let tries = [
        (&plain, requested.as_str(), true),
        (&with_extension, notes.as_str(), true),
        (&plain, requested.as_str(), false),
        (&with_extension, notes.as_str(), false),
    ];
    for suitable in [true, false] {
        for (candidates, spelt, exact) in tries {
            let fits = |entry: &&Entry<'_>| {
                view.shows(entry.path())
                    && (!suitable || suits(entry))
                    && (!exact || fold::normal(entry.path().as_str()) == spelt)
            };
            let fitting: Vec<Entry<'_>> = candidates.iter().filter(fits).copied().collect();
            match prefer_exact(&fitting, spelt)[..] {
                [] => {}
                [one] => return Ok(Some(Picked::of(&one))),
                ref several => {
                    let candidates = several.iter().map(|entry| entry.path().to_path()).collect();
                    return Err(VaultError::Ambiguous { path: requested.clone(), candidates });
                }
            }
        }
    }
    Ok(None)
}

/// The candidates whose components, from the left, are spelt most exactly as requested.
fn prefer_exact<'a>(candidates: &[Entry<'a>], spelt: &str) -> Vec<Entry<'a>> {
    if candidates.len() < 2 {
        return candidates.to_vec();
    }
    let exactness = |entry: &Entry<'_>| -> Vec<bool> {
        let components = entry.path().components().zip(spelt.split('/'));
        components.map(|(real, requested)| fold::normal(real) == requested).collect()
    };
    let best = candidates.iter().map(exactness).max();
    candidates.iter().filter(|entry| Some(exactness(entry)) == best).copied().collect()
}
