//! Finds symbolic links that a move would redirect or break: a relative target changes its meaning
//! when the link or the target moves. Nothing here changes them.

use std::path::{Component, Path, PathBuf};

use super::resolve::Resolver;
use crate::note::path::VaultPath;
use crate::vault::dir::{Kind, Name};
use crate::vault::root::{Last, Root, realpath};

/// A symbolic link whose target a move would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectedLink {
    pub path: VaultPath,
    pub now: VaultPath,
    /// The link's text.
    pub says: String,
    /// The text that would keep its target; `None` if the target is outside the vault.
    pub should_say: Option<String>,
}

/// See [`super::Reader::redirected_links`].
pub(super) fn redirected_links(
    vault: &Resolver,
    from: &VaultPath,
    to: &VaultPath,
) -> Vec<RedirectedLink> {
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
    let moved = |location: PathBuf| match location.strip_prefix(vault.place_of(from)) {
        Ok(below) if below.as_os_str().is_empty() => vault.place_of(to),
        Ok(below) => vault.place_of(to).join(below),
        Err(_) => location,
    };
    let mut redirected: Vec<RedirectedLink> = links
        .into_iter()
        .filter_map(|path| {
            let says = link_text(vault, &path)?;
            let location = vault.place_of(&path);
            let now_at = moved(location.clone());
            let expected_target = moved(target_of(&location, &says));
            if target_of(&now_at, &says) == expected_target || !has_target(vault, &path, &says) {
                return None;
            }
            let now =
                now_at.strip_prefix(vault.root()).ok()?.to_str().and_then(VaultPath::from_disk)?;
            let should_say = expected_target.strip_prefix(vault.root()).ok().and_then(|_| {
                relative_path(now_at.parent()?, &expected_target).to_str().map(str::to_owned)
            });
            Some(RedirectedLink {
                path,
                now,
                says: says.to_string_lossy().into_owned(),
                should_say,
            })
        })
        .collect();
    redirected.sort_by(|a, b| a.path.cmp(&b.path));
    redirected
}

fn link_text(root: &Root, path: &VaultPath) -> Option<PathBuf> {
    let (folder, name): (_, Name) = root.folder().open_parent(path).ok()?;
    folder.read_link(name).ok()
}

/// Whether the link's target exists; targets outside the vault are not checked.
fn has_target(root: &Root, path: &VaultPath, says: &Path) -> bool {
    let outside =
        says.is_absolute() || !target_of(&root.place_of(path), says).starts_with(root.root());
    outside || realpath(&root.folder(), path, Last::Follow).is_ok()
}

/// The target of a link at `place` with this text, without following other links.
fn target_of(location: &Path, says: &Path) -> PathBuf {
    let mut at = location.parent().map(Path::to_path_buf).unwrap_or_default();
    for component in says.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                at.pop();
            }
            // An absolute path replaces `at`.
            other => at.push(other),
        }
    }
    at
}

/// The relative path from a folder to a place; both are absolute and without `..`.
fn relative_path(folder: &Path, location: &Path) -> PathBuf {
    let shared = folder.components().zip(location.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(location.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_relative_to_its_own_folder() {
        for (location, says, expected) in [
            ("/v/a/link", "b.md", "/v/a/b.md"),
            ("/v/a/link", "../b.md", "/v/b.md"),
            ("/v/a/link", "./c/../b.md", "/v/a/b.md"),
            ("/v/a/link", "/x/b.md", "/x/b.md"),
            ("/v/link", "../../../../b.md", "/b.md"),
        ] {
            assert_eq!(
                target_of(Path::new(location), Path::new(says)),
                Path::new(expected),
                "{says}"
            );
        }
        for (folder, location, expected) in [
            ("/v/a", "/v/a/b.md", "b.md"),
            ("/v/a/c", "/v/b.md", "../../b.md"),
            ("/v", "/v/a/b", "a/b"),
        ] {
            assert_eq!(relative_path(Path::new(folder), Path::new(location)), Path::new(expected));
        }
    }
}
