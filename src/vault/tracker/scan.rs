//! The parallel directory walk: folders by handle, one `stat` a name.

use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::Scope;

use crate::locks::lock;
use crate::note::fold::fold_key;
use crate::note::path::{MAX_DEPTH, VaultPath};
use crate::vault::catalogue::{Catalogue, LinkTarget, NewEntry};
use crate::vault::dir::{Folder, Kind, Meta, Name, is_absence};
use crate::vault::protect::is_hidden_name;
use crate::vault::root::{Opened, link_target};
use crate::vault::temp::is_temp_name;
use crate::vault::threads::on_own_threads;

#[derive(Default)]
pub(in crate::vault) struct Scan {
    /// New or changed entries; all of them if nothing was known.
    pub entries: Vec<NewEntry>,
    /// Rows of the known catalogue that are unchanged.
    pub unchanged: Vec<u32>,
    /// Folders that could not be listed, with the reason.
    pub unreadable: Vec<(VaultPath, String)>,
    /// Leftover temporary files of interrupted saves; see `save`.
    pub unfinished: Vec<VaultPath>,
    /// Hidden folders, which are not entered; protected ones included.
    pub hidden: Vec<VaultPath>,
    /// Folders that vanished between the listing of their parent and their own: removed or moved
    /// during the walk, perhaps to where it had already passed. Recheck them once the scan is
    /// applied.
    pub vanished: Vec<VaultPath>,
}

/// A walk over a folder and all below it.
pub(in crate::vault) struct Walk<'a> {
    /// The vault's root. Every folder is opened from here: a queue of open handles would exhaust
    /// the descriptors.
    pub root: Arc<Opened>,
    /// Once set, the walk stops early with a partial result.
    pub stop: &'a AtomicBool,
    /// Called with each folder before it is listed. Setting the watch first makes one walk enough:
    /// earlier changes are listed, later ones cause events.
    pub watch: Option<&'a (dyn Fn(&VaultPath) + Sync)>,
    /// Entries equal to a row of this catalogue are returned as that row.
    pub known: Option<&'a Catalogue>,
    /// Called with the number of entries seen so far, from any thread.
    pub progress: &'a (dyn Fn(usize) + Sync),
}

impl<'a> Walk<'a> {
    /// A walk without watches, catalogue and progress.
    pub fn new(root: Arc<Opened>, stop: &'a AtomicBool) -> Self {
        Self { root, stop, watch: None, known: None, progress: &|_| () }
    }

    /// Walks everything below the folder at `path`.
    ///
    /// # Errors
    /// If the folder itself cannot be listed; for those below it see [`Scan::unreadable`].
    pub fn below(&self, path: &VaultPath) -> io::Result<Scan> {
        let found = Mutex::default();
        let shared = SharedScan { walk: self, found: &found, scanned: AtomicUsize::new(0) };
        on_own_threads(|| rayon::scope(|scope| shared.list(scope, path)))?;
        Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

struct SharedScan<'a> {
    walk: &'a Walk<'a>,
    found: &'a Mutex<Scan>,
    scanned: AtomicUsize,
}

impl SharedScan<'_> {
    fn walk<'s>(&'s self, scope: &Scope<'s>, path: &VaultPath) {
        if self.walk.stop.load(Ordering::Relaxed) {
            return;
        }
        match self.list(scope, path) {
            Ok(()) => {}
            Err(error) if is_absence(&error) => lock(self.found).vanished.push(path.clone()),
            Err(error) => lock(self.found).unreadable.push((path.clone(), error.to_string())),
        }
    }

    /// Lists one folder and spawns a job for each folder in it.
    fn list<'s>(&'s self, scope: &Scope<'s>, path: &VaultPath) -> io::Result<()> {
        if let Some(watch) = self.walk.watch {
            watch(path);
        }
        let folder = self.walk.root.open_folder_at(path)?;
        let mut scanned = 0;
        let mut names = Names::new(path);
        // Merged at the end: a folder whose listing fails half-way contributes nothing.
        let mut found = Scan::default();
        let mut below = Vec::new();
        let depth = path.components().count();
        let mut take = |name: &OsStr, meta: &Meta| {
            let visible = name.to_str().filter(|name| !is_hidden_name(name));
            if let Some((known, name)) = self.walk.known.zip(visible)
                && let Some(row) = known.unchanged_row(names.path(name), meta)
            {
                scanned += 1;
                found.unchanged.push(row);
                if meta.kind == Kind::Folder {
                    below.extend(path.join(name));
                }
                return;
            }
            let Some(entry) = entry(&folder, path, name, meta) else {
                return note_hidden(&mut found, path, name, meta);
            };
            scanned += 1;
            if entry.kind == Kind::Folder && !entry.unnameable {
                below.push(entry.path.clone());
            }
            found.entries.push(entry);
        };
        // `visit` moves the handle's position, and the root's handle is shared.
        if path.is_root() {
            folder.list()?.iter().for_each(|one| take(&one.name, &one.meta))
        } else {
            folder.visit(take)?
        }
        if depth >= MAX_DEPTH {
            let reason = format!("it is more than {MAX_DEPTH} folders deep");
            found.unreadable.extend(below.drain(..).map(|path| (path, reason.clone())));
        }
        for path in below {
            scope.spawn(move |scope| self.walk(scope, &path));
        }
        let scanned = self.scanned.fetch_add(scanned, Ordering::Relaxed) + scanned;
        lock(self.found).append(found);
        (self.walk.progress)(scanned);
        Ok(())
    }
}

impl Scan {
    fn append(&mut self, mut other: Self) {
        self.entries.append(&mut other.entries);
        self.unchanged.append(&mut other.unchanged);
        self.unreadable.append(&mut other.unreadable);
        self.unfinished.append(&mut other.unfinished);
        self.hidden.append(&mut other.hidden);
        self.vanished.append(&mut other.vanished);
    }
}

/// Joins a folder's path and key with its entries' names, in reused buffers.
struct Names {
    path: String,
    key: String,
    /// Lengths of the folder's path and key, with the slash.
    folder: (usize, usize),
}

impl Names {
    fn new(folder: &VaultPath) -> Self {
        let (mut path, mut key) = (folder.as_str().to_owned(), folder.fold_key());
        if !folder.is_root() {
            path.push('/');
            key.push('/');
        }
        Self { folder: (path.len(), key.len()), path, key }
    }

    /// The path of `name`, and its fold key.
    fn path(&mut self, name: &str) -> (&str, &str) {
        self.path.truncate(self.folder.0);
        self.key.truncate(self.folder.1);
        self.path.push_str(name);
        if name.is_ascii() {
            self.key.push_str(name);
            self.key[self.folder.1..].make_ascii_lowercase();
        } else {
            self.key.push_str(&fold_key(name));
        }
        (&self.path, &self.key)
    }
}

fn note_hidden(found: &mut Scan, path: &VaultPath, name: &OsStr, meta: &Meta) {
    let Some(name) = name.to_str() else { return };
    let Some(path) = path.join(name) else { return };
    if is_temp_name(name) {
        found.unfinished.push(path);
    } else if meta.kind == Kind::Folder {
        found.hidden.push(path);
    }
}

/// The catalogue entry for one listed name; `None` if it is hidden.
pub(in crate::vault) fn entry(
    folder: &Folder,
    path: &VaultPath,
    listed: &OsStr,
    meta: &Meta,
) -> Option<NewEntry> {
    let Some(name) = listed.to_str() else {
        let mut entry = NewEntry::new(path.join(&escape_invalid(listed))?, meta);
        entry.unnameable = true;
        return Some(entry);
    };
    if is_hidden_name(name) {
        return None;
    }
    let mut entry = NewEntry::new(path.join(name)?, meta);
    if entry.kind == Kind::Link {
        let target = Name::new(name).and_then(|name| folder.read_link(name)).ok();
        let inside = target.and_then(|target| link_target(path, target.to_str()?));
        entry.target = Some(Box::new(inside.map_or(LinkTarget::Outside, LinkTarget::Inside)));
    }
    Some(entry)
}

/// A name with its invalid bytes as `\xNN`.
fn escape_invalid(name: &OsStr) -> String {
    let bytes = name.as_encoded_bytes();
    bytes.utf8_chunks().fold(String::new(), |mut text, chunk| {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02X}"));
        }
        text
    })
}
