//! Symbolic links that a move turns: what they say counts from where they lie, so they lead elsewhere or
//! nowhere once they or what they lead to has another path. Nothing here changes them.

use std::path::{Component, Path, PathBuf};

use super::resolve::Resolver;
use crate::note::path::VaultPath;
use crate::vault::dir::{Kind, Name};
use crate::vault::root::{Last, Root, real};

/// A symbolic link that will not lead where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnedLink {
    /// Its path before the move.
    pub path: VaultPath,
    /// Its path afterwards.
    pub now: VaultPath,
    pub says: String,
    /// What it would have to say to lead where it led; `None` if that lies outside the vault.
    pub should_say: Option<String>,
}

/// See [`super::Reader::turned_links`].
pub(super) fn turned_links(vault: &Resolver, from: &VaultPath, to: &VaultPath) -> Vec<TurnedLink> {
    let links: Vec<VaultPath> = {
        let catalogue = vault.catalogue();
        // Most vaults have none.
        if catalogue.counts().links == 0 {
            return Vec::new();
        }
        let root = VaultPath::root();
        let links = catalogue.within(&root).filter(|entry| entry.kind == Kind::Link);
        links.filter(|entry| !entry.unnameable).map(|entry| entry.path().to_path()).collect()
    };
    let moved = |place: PathBuf| match place.strip_prefix(vault.place_of(from)) {
        Ok(below) if below.as_os_str().is_empty() => vault.place_of(to),
        Ok(below) => vault.place_of(to).join(below),
        Err(_) => place,
    };
    let mut turned: Vec<TurnedLink> = links
        .into_iter()
        .filter_map(|path| {
            let says = says(vault, &path)?;
            let place = vault.place_of(&path);
            let now_at = moved(place.clone());
            let wanted = moved(led(&place, &says));
            if led(&now_at, &says) == wanted || !leads_somewhere(vault, &path, &says) {
                return None;
            }
            let now =
                now_at.strip_prefix(vault.root()).ok()?.to_str().and_then(VaultPath::from_disk)?;
            let should_say = wanted
                .strip_prefix(vault.root())
                .ok()
                .and_then(|_| between(now_at.parent()?, &wanted).to_str().map(str::to_owned));
            Some(TurnedLink { path, now, says: says.to_string_lossy().into_owned(), should_say })
        })
        .collect();
    turned.sort_by(|a, b| a.path.cmp(&b.path));
    turned
}

/// The text of the link at `path`.
fn says(root: &Root, path: &VaultPath) -> Option<PathBuf> {
    let (folder, name): (_, Name) = root.folder().open_parent(path).ok()?;
    folder.read_link(name).ok()
}

/// Whether the link leads to something; of one that leaves the vault nobody looks.
fn leads_somewhere(root: &Root, path: &VaultPath, says: &Path) -> bool {
    let outside = says.is_absolute() || !led(&root.place_of(path), says).starts_with(root.root());
    outside || real(&root.folder(), path, Last::Follow).is_ok()
}

/// Where a link at `place` leads by what it says, links on the way not followed.
fn led(place: &Path, says: &Path) -> PathBuf {
    let mut at = place.parent().map(Path::to_path_buf).unwrap_or_default();
    for component in says.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                at.pop();
            }
            // An absolute one begins anew.
            other => at.push(other),
        }
    }
    at
}

/// The way from a folder to a place; both are absolute and without `..`.
fn between(folder: &Path, place: &Path) -> PathBuf {
    let shared = folder.components().zip(place.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(place.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_counts_from_its_own_folder() {
        for (place, says, expected) in [
            ("/v/a/link", "b.md", "/v/a/b.md"),
            ("/v/a/link", "../b.md", "/v/b.md"),
            ("/v/a/link", "./c/../b.md", "/v/a/b.md"),
            ("/v/a/link", "/x/b.md", "/x/b.md"),
            ("/v/link", "../../../../b.md", "/b.md"),
        ] {
            assert_eq!(led(Path::new(place), Path::new(says)), Path::new(expected), "{says}");
        }
        for (folder, place, expected) in [
            ("/v/a", "/v/a/b.md", "b.md"),
            ("/v/a/c", "/v/b.md", "../../b.md"),
            ("/v", "/v/a/b", "a/b"),
        ] {
            assert_eq!(between(Path::new(folder), Path::new(place)), Path::new(expected));
        }
    }
}
