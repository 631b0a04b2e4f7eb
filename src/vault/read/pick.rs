//! What the catalogue says to a name, in the order that `resolve` describes.

use crate::note::fold;
use crate::note::path::VaultPath;
use crate::vault::catalogue::{Catalogue, Entry, LinkTarget};
use crate::vault::dir::Kind;
use crate::vault::error::VaultError;
use crate::vault::view::View;

/// What kind of thing a caller can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// A file; a folder of the same name does not count while there is one.
    File,
    Folder,
    /// Whatever is there.
    Any,
    /// Whatever is there, a link in the last place not followed: to delete, move or describe it.
    Entry,
}

/// What the catalogue answered, kept for after it is let go.
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

/// The catalogue's best answer to `asked`: an entry that suits `want`, else one of another kind.
pub(super) fn pick(
    catalogue: &Catalogue,
    asked: &VaultPath,
    want: Want,
    view: &View,
) -> Result<Option<Picked>, VaultError> {
    let suits = |entry: &Entry<'_>| match want {
        Want::File => matches!(entry.kind, Kind::File | Kind::Link),
        Want::Folder => matches!(entry.kind, Kind::Folder) || leads_on(entry),
        Want::Any | Want::Entry => true,
    };
    let key = asked.fold_key();
    let plain = catalogue.folded(&key);
    let with_extension = match want {
        Want::Folder => Vec::new(),
        _ => catalogue.folded(&format!("{key}.md")),
    };
    let notes = format!("{asked}.md", asked = asked.as_str());
    let tries = [
        (&plain, asked.as_str(), true),
        (&with_extension, notes.as_str(), true),
        (&plain, asked.as_str(), false),
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
                    return Err(VaultError::Ambiguous { path: asked.clone(), candidates });
                }
            }
        }
    }
    Ok(None)
}

fn leads_on(entry: &Entry<'_>) -> bool {
    matches!(entry.target, Some(LinkTarget::Inside(_) | LinkTarget::Outside))
}

/// Those of the candidates whose components, from the left, are most exactly as asked.
fn prefer_exact<'a>(candidates: &[Entry<'a>], spelt: &str) -> Vec<Entry<'a>> {
    if candidates.len() < 2 {
        return candidates.to_vec();
    }
    let exactness = |entry: &Entry<'_>| -> Vec<bool> {
        let components = entry.path().components().zip(spelt.split('/'));
        components.map(|(real, asked)| fold::normal(real) == asked).collect()
    };
    let best = candidates.iter().map(exactness).max();
    candidates.iter().filter(|entry| Some(exactness(entry)) == best).copied().collect()
}
