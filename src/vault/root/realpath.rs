//! Resolves symbolic links inside the vault.
//!
//! The result has no links, and `dir` opens it with links forbidden: so the checked file is the one
//! that is opened, even if a link is swapped in meanwhile.

use std::io;

use crate::note::path::VaultPath;
use crate::vault::dir::{Folder, Kind, Meta, Name, is_refused_link};
use crate::vault::error::{CIRCLE, DEAD_END, VaultError};

/// Linux's own limit for one path.
pub(in crate::vault) const MAX_LINKS: usize = 40;

/// The treatment of a link as the last component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::vault) enum Last {
    Follow,
    Keep,
}

/// The real path of `requested`, and its metadata.
pub(in crate::vault) fn realpath(
    root: &Folder,
    requested: &VaultPath,
    last: Last,
) -> Result<(VaultPath, Meta), VaultError> {
    // Fast path: one call, since nearly no path has a link.
    match root.stat_at(requested) {
        Ok(meta) if meta.kind != Kind::Link || last == Last::Keep => {
            return Ok((requested.clone(), meta));
        }
        Ok(_) => {}
        // There may be a link on the way.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory || is_refused_link(&error) => {}
        Err(error) => return Err(VaultError::io("look at", requested, error)),
    }
    walk(root, requested, last)
}

fn walk(root: &Folder, requested: &VaultPath, last: Last) -> Result<(VaultPath, Meta), VaultError> {
    let failed = |error| VaultError::io("look at", requested, error);
    let mut done = VaultPath::root();
    let mut rest: Vec<String> = requested.components().rev().map(str::to_owned).collect();
    let mut links = 0;
    let mut meta = root.meta().map_err(failed)?;
    while let Some(name) = rest.pop() {
        let folder = root.open_folder_at(&done).map_err(failed)?;
        let link = done.join(&name).expect("a component of a path is a name");
        let found = Name::new(&name).and_then(|name| folder.stat(name));
        meta = match found {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound && links > 0 => {
                return Err(VaultError::broken_link(requested, requested, DEAD_END));
            }
            Err(error) => return Err(failed(error)),
        };
        if meta.kind != Kind::Link || (rest.is_empty() && last == Last::Keep) {
            done = link;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(VaultError::broken_link(requested, &link, CIRCLE));
        }
        let target = Name::new(&name).and_then(|name| folder.read_link(name)).map_err(failed)?;
        let text = target.to_string_lossy();
        let Some(inside) = target.to_str().and_then(|target| link_target(&done, target)) else {
            let target = format!("`{}`", text.chars().take(200).collect::<String>());
            return Err(VaultError::LinkOutside { path: requested.clone(), link, target });
        };
        // Restart from the root: the target may contain links.
        rest.extend(inside.components().rev().map(str::to_owned));
        done = VaultPath::root();
    }
    Ok((done, meta))
}

/// The path that a link in `folder` points to, if it stays in the vault.
pub(in crate::vault) fn link_target(folder: &VaultPath, target: &str) -> Option<VaultPath> {
    if target.starts_with('/') {
        return None;
    }
    let mut components: Vec<&str> = folder.components().collect();
    for component in target.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                components.pop()?;
            }
            name => components.push(name),
        }
    }
    VaultPath::from_disk(&components.join("/"))
}
