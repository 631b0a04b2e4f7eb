//! Protected folders wherever they lie, and files in them that have a second name elsewhere.
//!
//! A hard link gives a protected file a name outside its folder; only its identity tells. The
//! identities of protected files with several names are gathered together and kept for a moment:
//! a vault whose notes all have two names would else walk `.git` for each of them.

use std::collections::HashSet;
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use crate::note::path::VaultPath;
use crate::vault::dir::{FileId, Folder, Kind, Meta, Name, is_absence};
use crate::vault::error::VaultError;
use crate::vault::locks::{lock, read, write};
use crate::vault::protect::Protection;

/// How long the gathered identities are believed.
const BELIEVED: Duration = Duration::from_secs(5);

/// Entries of protected folders looked at. Beyond that nobody can say, and hard links are refused.
const MOST: usize = 200_000;

/// Protected folders, and identities of files in them with several names.
#[derive(Default)]
pub(super) struct Twins {
    /// Protected folders that the last scan met, at any depth.
    folders: RwLock<Vec<VaultPath>>,
    gathered: Mutex<Option<(Instant, Gathered)>>,
}

#[derive(Default)]
struct Gathered {
    ids: HashSet<FileId>,
    looked_at: usize,
}

impl Twins {
    /// Takes in the protected folders that a scan has met.
    pub fn met(&self, folders: Vec<VaultPath>) {
        *write(&self.folders) = folders;
    }

    /// Refuses another name of a protected file.
    pub fn refuse(
        &self,
        root: &Folder,
        protection: &Protection,
        path: &VaultPath,
        meta: &Meta,
    ) -> Result<(), VaultError> {
        let mut gathered = lock(&self.gathered);
        if gathered.as_ref().is_none_or(|(when, _)| when.elapsed() > BELIEVED) {
            *gathered = Some((Instant::now(), self.gather(root, protection)));
        }
        let refused = |reason: &str| VaultError::Protected {
            path: path.to_string(),
            folder: path.name().to_owned(),
            reason: reason.to_owned(),
        };
        match gathered.as_ref().map(|(_, gathered)| gathered) {
            Some(gathered) if gathered.ids.contains(&meta.id) => {
                Err(refused("it is another name of a file in a protected folder"))
            }
            Some(gathered) if gathered.looked_at > MOST => Err(refused(
                "it has several names, and there are too many protected files to compare it with",
            )),
            _ => Ok(()),
        }
    }

    fn gather(&self, root: &Folder, protection: &Protection) -> Gathered {
        let mut gathered = Gathered::default();
        for folder in self.protected_folders(root, protection) {
            walk(root, &folder, &mut gathered);
        }
        for own in protection.settings() {
            match root.stat_at(own) {
                Ok(meta) if meta.kind == Kind::Folder => walk(root, own, &mut gathered),
                Ok(meta) => drop(gathered.ids.insert(meta.id)),
                Err(_) => {}
            }
        }
        gathered
    }

    /// Protected folders that the last scan met, at any depth, and those at the root now.
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

    /// Refuses to delete or move a folder that would take a protected one along.
    pub fn refuse_above(
        &self,
        root: &Folder,
        protection: &Protection,
        path: &VaultPath,
    ) -> Result<(), VaultError> {
        let known = read(&self.folders);
        let known = known.iter().chain(protection.settings());
        // Some may be gone since; of what cannot be looked at it is not known.
        let may_be_there = |folder: &&VaultPath| match root.stat_at(folder) {
            Ok(_) => true,
            Err(error) => !is_absence(&error),
        };
        let mut within = known.filter(|folder| *folder != path && folder.is_within(path));
        match within.find(may_be_there) {
            Some(folder) => Err(VaultError::Protected {
                path: path.to_string(),
                folder: folder.to_string(),
                reason: "it lies in this folder and would go with it".to_owned(),
            }),
            None => Ok(()),
        }
    }
}

fn walk(root: &Folder, path: &VaultPath, gathered: &mut Gathered) {
    let Ok(folder) = root.open_folder_at(path) else { return };
    for listed in folder.list().unwrap_or_default() {
        gathered.looked_at += 1;
        if gathered.looked_at > MOST {
            return;
        }
        let Some(name) = listed.name.to_str() else { continue };
        // Where a listing tells no identity it is asked for; only there does that cost a call.
        let meta = match (listed.meta.id, Name::new(name)) {
            (FileId::UNKNOWN, Ok(name)) => folder.stat(name).unwrap_or(listed.meta),
            _ => listed.meta,
        };
        match meta.kind {
            Kind::Folder => {
                if let Some(below) = path.join(name) {
                    walk(root, &below, gathered);
                }
            }
            Kind::File if meta.names > 1 => {
                gathered.ids.insert(meta.id);
            }
            Kind::File | Kind::Link | Kind::Other => {}
        }
    }
}
