//! Stats many files, to check that each is unchanged.
//!
//! A stat in an open folder is one system call; opening a file by its path takes three, and walks
//! all its parents.

use std::collections::HashMap;
use std::sync::Arc;

use super::Reader;
use crate::note::path::VaultPath;
use crate::vault::dir::{Folder, Kind, Meta, Name};
use crate::vault::error::VaultError;
use crate::vault::nonblocking;
use crate::vault::root::Opened;

/// The most folders held open.
const HELD: usize = 64;

/// Permission bits of a file that everybody may read.
const READABLE: u32 = 0o444;

/// Stats files with their folders held open. Use it for one answer only: it does not notice that a
/// folder was moved.
pub struct BatchStat<'v> {
    vault: &'v Reader,
    root: Arc<Opened>,
    folders: HashMap<VaultPath, Folder>,
}

impl<'v> BatchStat<'v> {
    pub(super) fn new(vault: &'v Reader) -> Self {
        Self { vault, root: vault.folder(), folders: HashMap::new() }
    }

    /// Stats a resolved path, if [`Reader::open_file`] would open it.
    pub fn stat(&mut self, path: &VaultPath) -> Result<Meta, VaultError> {
        // A folder is not opened from the kernel's cache alone.
        let plain = if nonblocking::is_active() { None } else { self.plain(path) };
        match plain {
            Some(meta) => Ok(meta),
            // Permissions and hard links take a full check.
            None => self.vault.open_file(path).map(|(_, meta)| meta),
        }
    }

    /// Stats `path`, if it is a file with one name that everybody may read.
    fn plain(&mut self, path: &VaultPath) -> Option<Meta> {
        if self.vault.allowed(path).is_err() || !self.vault.view().shows(path) {
            return None;
        }
        let name = Name::new(path.name()).ok()?;
        let meta = match path.as_str().rsplit_once('/') {
            None => self.root.stat(name),
            Some((parent, _)) => self.folder(parent)?.stat(name),
        };
        let meta = meta.ok()?;
        let readable = meta.mode.is_some_and(|mode| mode & READABLE == READABLE);
        (meta.kind == Kind::File && meta.names == 1 && readable).then_some(meta)
    }

    fn folder(&mut self, path: &str) -> Option<&Folder> {
        if !self.folders.contains_key(path) {
            if self.folders.len() >= HELD {
                self.folders.clear();
            }
            let path = VaultPath::from_disk(path)?;
            let folder = self.root.open_folder_at(&path).ok()?;
            self.folders.insert(path, folder);
        }
        self.folders.get(path)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::*;
    use crate::vault::recovery::Recovery;
    use crate::vault::root::Root;
    use crate::vault::settings::Settings;
    use crate::vault::tracker::Tracker;
    use crate::vault::watch::Watcher;

    fn reader(place: &Path, state: &Path) -> Reader {
        let tracker = Tracker::new(Root::open(place, state).expect("the vault opens"));
        let watcher = Watcher::new(tracker, Recovery::new(state), Settings::default());
        watcher.scan_all(&|_| ()).expect("the vault is scanned");
        Reader::new(watcher)
    }

    #[test]
    fn a_stat_agrees_with_opening_the_file() {
        let (root, state) =
            (tempfile::tempdir().expect("made"), tempfile::tempdir().expect("made"));
        let at = |path: &str| root.path().join(path);
        std::fs::create_dir_all(at("f/.git")).expect("made");
        for file in ["a.md", "f/b.md", "f/c.md", "f/private.md", "f/.git/config"] {
            std::fs::write(at(file), file).expect("written");
        }
        std::fs::hard_link(at("f/c.md"), at("twin.md")).expect("linked");
        std::os::unix::fs::symlink("f", at("g")).expect("linked");
        std::os::unix::fs::symlink("b.md", at("f/l.md")).expect("linked");
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(at("f/private.md"), private).expect("set");
        let vault = reader(root.path(), state.path());
        let mut batch = vault.batch_stat();
        for path in [
            "a.md",
            "f/b.md",
            "f/c.md",
            "f/private.md",
            "f/.git/config",
            "twin.md",
            "g/b.md",
            "f/l.md",
            "f",
            "gone.md",
            "f/gone.md",
            "gone/a.md",
            "a.md/a.md",
        ] {
            let path = VaultPath::from_disk(path).expect("a sound path");
            let opened = vault.open_file(&path).map(|(_, meta)| Meta { accessed: 0, ..meta }).ok();
            let found = batch.stat(&path).map(|meta| Meta { accessed: 0, ..meta }).ok();
            assert_eq!(found, opened, "{path}");
        }
        assert_eq!(batch.folders.len(), 1, "`f` and nothing that is a link or no folder");
        vault.stop();
    }

    #[test]
    fn few_folders_are_held() {
        let (root, state) =
            (tempfile::tempdir().expect("made"), tempfile::tempdir().expect("made"));
        let files: Vec<String> = (0..3 * HELD).map(|n| format!("{n}/note.md")).collect();
        for file in &files {
            let place = root.path().join(file);
            std::fs::create_dir(place.parent().expect("in a folder")).expect("made");
            std::fs::write(place, file).expect("written");
        }
        let vault = reader(root.path(), state.path());
        let mut batch = vault.batch_stat();
        for file in &files {
            let path = VaultPath::from_disk(file).expect("a sound path");
            assert_eq!(batch.stat(&path).expect("it is there").size, file.len() as u64);
            assert!(batch.folders.len() <= HELD);
        }
        vault.stop();
    }
}
