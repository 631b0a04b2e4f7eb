//! Detects hard links to protected files.
//!
//! A hard link gives a protected file a name outside its folder; only the file's identity shows it.
//! The identities of protected files with several names are cached briefly: a vault whose notes all
//! have two names would otherwise walk `.git` for each note.

use std::collections::HashSet;
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use crate::locks::{lock, read, write};
use crate::note::path::VaultPath;
use crate::vault::dir::{FileId, Folder, Kind, Meta, Name, is_absence};
use crate::vault::error::VaultError;
use crate::vault::protect::Protection;

/// How long the cached identities are used.
const MAX_AGE: Duration = Duration::from_secs(5);

/// Entries of protected folders that are examined. If there are more, all hard links are refused.
const MAX_ENTRIES: usize = 200_000;

/// The protected folders, and the cached identities of protected files with several names.
#[derive(Default)]
pub(super) struct HardLinks {
    /// Protected folders found by the last scan, at any depth.
    folders: RwLock<Vec<VaultPath>>,
    cached: Mutex<Option<(Instant, ProtectedIds)>>,
}

#[derive(Default)]
struct ProtectedIds {
    ids: HashSet<FileId>,
    examined: usize,
}

impl HardLinks {
    /// Stores the protected folders that a scan found.
    pub fn set_protected_folders(&self, folders: Vec<VaultPath>) {
        *write(&self.folders) = folders;
    }

    /// Refuses a hard link to a protected file.
    pub fn refuse(
        &self,
        root: &Folder,
        protection: &Protection,
        path: &VaultPath,
        meta: &Meta,
    ) -> Result<(), VaultError> {
        let mut cached = lock(&self.cached);
        if cached.as_ref().is_none_or(|(when, _)| when.elapsed() > MAX_AGE) {
            *cached = Some((Instant::now(), self.collect(root, protection)));
        }
        let refused = |reason: &str| VaultError::Protected {
            path: path.to_string(),
            folder: path.name().to_owned(),
            reason: reason.to_owned(),
        };
        match cached.as_ref().map(|(_, found)| found) {
            Some(found) if found.ids.contains(&meta.id) => {
                Err(refused("it is another name of a file in a protected folder"))
            }
            Some(found) if found.examined > MAX_ENTRIES => Err(refused(
                "it has several names, and there are too many protected files to compare it with",
            )),
            _ => Ok(()),
        }
    }

    fn collect(&self, root: &Folder, protection: &Protection) -> ProtectedIds {
        let mut found = ProtectedIds::default();
        for folder in self.protected_folders(root, protection) {
            walk(root, &folder, &mut found);
        }
        for own in protection.settings() {
            match root.stat_at(own) {
                Ok(meta) if meta.kind == Kind::Folder => walk(root, own, &mut found),
                Ok(meta) => drop(found.ids.insert(meta.id)),
                Err(_) => {}
            }
        }
        found
    }

    /// Protected folders of the last scan, and those at the root now.
    fn protected_folders(&self, root: &Folder, protection: &Protection) -> Vec<VaultPath> {
        let mut folders = read(&self.folders).clone();
        for listed in root.list().unwrap_or_default() {
            let path = listed.name.to_str().and_then(|name| VaultPath::root().join(name));
            if let Some(path) = path
                && listed.meta.kind == Kind::Folder
                && protection.check(&path).is_some()
                && !folders.contains(&path)
            {
                folders.push(path);
            }
        }
        folders
    }

    /// Refuses a folder that contains a protected one.
    pub fn refuse_folder(
        &self,
        root: &Folder,
        protection: &Protection,
        path: &VaultPath,
    ) -> Result<(), VaultError> {
        let known = read(&self.folders);
        let known = known.iter().chain(protection.settings());
        // Some may be gone since the scan; an unreadable one may not.
        let may_be_there = |folder: &&VaultPath| match root.stat_at(folder) {
            Ok(_) => true,
            Err(error) => !is_absence(&error),
        };
        let mut within = known.filter(|folder| *folder != path && folder.is_within(path));
        match within.find(may_be_there) {
            Some(folder) => Err(VaultError::Protected {
                path: path.to_string(),
                folder: folder.to_string(),
                reason: "it is in this folder and would go with it".to_owned(),
            }),
            None => Ok(()),
        }
    }
}

fn walk(root: &Folder, path: &VaultPath, found: &mut ProtectedIds) {
    let Ok(folder) = root.open_folder_at(path) else { return };
    for listed in folder.list().unwrap_or_default() {
        found.examined += 1;
        if found.examined > MAX_ENTRIES {
            return;
        }
        let Some(name) = listed.name.to_str() else { continue };
        // On Windows a listing has no identities.
        let meta = match (listed.meta.id, Name::new(name)) {
            (FileId::UNKNOWN, Ok(name)) => folder.stat(name).unwrap_or(listed.meta),
            _ => listed.meta,
        };
        match meta.kind {
            Kind::Folder => {
                if let Some(below) = path.join(name) {
                    walk(root, &below, found);
                }
            }
            Kind::File if meta.names > 1 => {
                found.ids.insert(meta.id);
            }
            Kind::File | Kind::Link | Kind::Other => {}
        }
    }
}
