//! The walk over the whole vault, in parallel: folders by handle, one `stat` a name.

use std::ffi::OsStr;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::Scope;

use super::catalogue::{LinkTarget, NewEntry};
use super::dir::{Folder, Kind, Listed, Name};
use super::protect::is_hidden_name;
use super::save::is_temp_name;
use crate::note::path::{MAX_DEPTH, VaultPath};

/// What a walk found.
#[derive(Default)]
pub(super) struct Scan {
    pub entries: Vec<NewEntry>,
    /// Folders that could not be listed, with the reason.
    pub unreadable: Vec<(VaultPath, String)>,
    /// Hidden files of our own saves; see `save`.
    pub unfinished: Vec<VaultPath>,
    /// Hidden folders: not entered. Those that are protected are among them.
    pub hidden: Vec<VaultPath>,
}

/// Walks everything below the folder at `path`, or part of it once `stop` is set; `progress` hears the number of entries seen so
/// far, from any thread.
pub(super) fn scan(
    root: &Folder,
    path: &VaultPath,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize) + Sync),
) -> io::Result<Scan> {
    let shared =
        Shared { root, stop, found: Mutex::default(), seen: AtomicUsize::new(0), progress };
    // Where the walk starts must be readable; anything below that is not is only reported.
    let folder = root.open_folder_at(path)?;
    let listed = folder.list()?;
    rayon::scope(|scope| shared.take(scope, &folder, path, listed));
    Ok(shared.found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

struct Shared<'a> {
    // Every folder is opened anew from here: a queue of open handles would run out of descriptors.
    root: &'a Folder,
    stop: &'a AtomicBool,
    found: Mutex<Scan>,
    seen: AtomicUsize,
    progress: &'a (dyn Fn(usize) + Sync),
}

impl Shared<'_> {
    fn walk<'s>(&'s self, scope: &Scope<'s>, path: VaultPath) {
        if self.stop.load(Ordering::Relaxed) {
            return;
        }
        let listing = self.root.open_folder_at(&path).and_then(|f| Ok((f.list_once()?, f)));
        match listing {
            Ok((listed, folder)) => self.take(scope, &folder, &path, listed),
            // Gone between listing and opening: it is not in the vault any more.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.lock().unreadable.push((path, error.to_string())),
        }
    }

    fn take<'s>(
        &'s self,
        scope: &Scope<'s>,
        folder: &Folder,
        path: &VaultPath,
        listed: Vec<Listed>,
    ) {
        let depth = path.components().count();
        let mut entries = Vec::with_capacity(listed.len());
        for one in &listed {
            let Some(entry) = entry(folder, path, one) else {
                self.note_hidden(path, one);
                continue;
            };
            if entry.kind == Kind::Folder && !entry.unnameable {
                let below = entry.path.clone();
                if depth >= MAX_DEPTH {
                    let reason = format!("it lies more than {MAX_DEPTH} folders deep");
                    self.lock().unreadable.push((below, reason));
                } else {
                    scope.spawn(move |scope| self.walk(scope, below));
                }
            }
            entries.push(entry);
        }
        let seen = self.seen.fetch_add(entries.len(), Ordering::Relaxed) + entries.len();
        self.lock().entries.append(&mut entries);
        (self.progress)(seen);
    }

    fn note_hidden(&self, path: &VaultPath, listed: &Listed) {
        let Some(name) = listed.name.to_str() else { return };
        let Some(path) = path.join(name) else { return };
        if is_temp_name(name) {
            self.lock().unfinished.push(path);
        } else if listed.meta.kind == Kind::Folder {
            self.lock().hidden.push(path);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Scan> {
        self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The catalogue's entry for one listed name; `None` for what is invisible in a vault.
pub(super) fn entry(folder: &Folder, path: &VaultPath, listed: &Listed) -> Option<NewEntry> {
    let Some(name) = listed.name.to_str() else {
        let mut entry = NewEntry::new(path.join(&escaped(&listed.name))?, &listed.meta);
        entry.unnameable = true;
        return Some(entry);
    };
    if is_hidden_name(name) {
        return None;
    }
    let mut entry = NewEntry::new(path.join(name)?, &listed.meta);
    if entry.kind == Kind::Link {
        let target = Name::new(name).and_then(|name| folder.read_link(name)).ok();
        let inside = target.and_then(|target| link_target(path, target.to_str()?));
        entry.target = Some(Box::new(inside.map_or(LinkTarget::Outside, LinkTarget::Inside)));
    }
    Some(entry)
}

/// Where a link that lies in `folder` leads, if its text stays in the vault.
pub(super) fn link_target(folder: &VaultPath, target: &str) -> Option<VaultPath> {
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

/// A name that is not UTF-8, with the odd bytes written out.
fn escaped(name: &OsStr) -> String {
    let bytes = name.as_encoded_bytes();
    bytes.utf8_chunks().fold(String::new(), |mut text, chunk| {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02X}"));
        }
        text
    })
}
