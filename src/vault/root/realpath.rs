//! Symbolic links, followed by hand inside the vault.
//!
//! The result is a path without links, which `dir` then opens with links forbidden: what was
//! checked is what is opened, whatever is swapped meanwhile.

use std::io;

use crate::note::path::VaultPath;
use crate::vault::dir::{Folder, Kind, Meta, Name};
use crate::vault::error::VaultError;

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// Whether a link in the last place is itself wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::vault) enum Last {
    Follow,
    Keep,
}

/// The real place of `path` and what is there. `asked` is named in errors.
pub(in crate::vault) fn real(
    root: &Folder,
    asked: &VaultPath,
    last: Last,
) -> Result<(VaultPath, Meta), VaultError> {
    // Nearly every path has no link in it: one call then.
    match root.stat_at(asked) {
        Ok(meta) if meta.kind != Kind::Link || last == Last::Keep => {
            return Ok((asked.clone(), meta));
        }
        Ok(_) => {}
        Err(error) if is_link_in_way(&error) => {}
        Err(error) => return Err(VaultError::io("look at", asked, error)),
    }
    walk(root, asked, last)
}

fn walk(root: &Folder, asked: &VaultPath, last: Last) -> Result<(VaultPath, Meta), VaultError> {
    let failed = |error| VaultError::io("look at", asked, error);
    let mut done = VaultPath::root();
    let mut rest: Vec<String> = asked.components().rev().map(str::to_owned).collect();
    let mut links = 0;
    let mut meta = root.meta().map_err(failed)?;
    while let Some(name) = rest.pop() {
        let folder = root.open_folder_at(&done).map_err(failed)?;
        let link = done.join(&name).expect("a component of a path is a name");
        let found = Name::new(&name).and_then(|name| folder.stat(name));
        meta = match found {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound && links > 0 => {
                return Err(VaultError::BrokenLink {
                    path: asked.clone(),
                    link: asked.clone(),
                    fault: "leads to nothing",
                });
            }
            Err(error) => return Err(failed(error)),
        };
        if meta.kind != Kind::Link || (rest.is_empty() && last == Last::Keep) {
            done = link;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            let (path, fault) = (asked.clone(), "leads in a circle");
            return Err(VaultError::BrokenLink { path, link, fault });
        }
        let target = Name::new(&name).and_then(|name| folder.read_link(name)).map_err(failed)?;
        let text = target.to_string_lossy();
        let Some(inside) = target.to_str().and_then(|target| link_target(&done, target)) else {
            let target = format!("`{}`", text.chars().take(200).collect::<String>());
            return Err(VaultError::LinkOutside { path: asked.clone(), link, target });
        };
        // Start over from the root: the target may have links of its own on the way.
        rest.extend(inside.components().rev().map(str::to_owned));
        done = VaultPath::root();
    }
    Ok((done, meta))
}

/// The kernel's answers to a path with a link where none may be.
fn is_link_in_way(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(link_in_way_code())
}

#[cfg(unix)]
fn link_in_way_code() -> i32 {
    rustix::io::Errno::LOOP.raw_os_error()
}

#[cfg(windows)]
fn link_in_way_code() -> i32 {
    // ERROR_STOPPED_ON_SYMLINK
    681
}

/// Where a link that lies in `folder` leads, if its text stays in the vault.
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
