//! The walk over the whole vault, in parallel: folders by handle, one `stat` a name.

use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rayon::Scope;

use crate::note::fold::fold_key;
use crate::note::path::{MAX_DEPTH, VaultPath};
use crate::vault::catalogue::{Catalogue, LinkTarget, NewEntry};
use crate::vault::dir::{Folder, Kind, Meta, Name, is_absence};
use crate::vault::protect::is_hidden_name;
use crate::vault::root::{Opened, link_target};
use crate::vault::temp::is_temp_name;
use crate::vault::threads::on_own_threads;

/// What a walk found.
#[derive(Default)]
pub(in crate::vault) struct Scan {
    /// What was found; without what is just as it is known, where something was.
    pub entries: Vec<NewEntry>,
    /// The rows of what is just as it is known.
    pub met: Vec<u32>,
    /// Folders that could not be listed, with the reason.
    pub unreadable: Vec<(VaultPath, String)>,
    /// Hidden files of our own saves; see `save`.
    pub unfinished: Vec<VaultPath>,
    /// Hidden folders: not entered. Those that are protected are among them.
    pub hidden: Vec<VaultPath>,
    /// Folders that were listed by their parent and not there when it was their turn: gone, or moved
    /// by somebody while the walk was under way, perhaps to where it had been already. To be looked
    /// at again once the walk is taken in.
    pub vanished: Vec<VaultPath>,
}

/// A walk over a folder and all below it.
pub(in crate::vault) struct Walk<'a> {
    /// The vault's root. Every folder is opened anew from here: a queue of open handles would run out
    /// of descriptors.
    pub root: Arc<Opened>,
    /// Gives up, with a part, once it is set.
    pub stop: &'a AtomicBool,
    /// Watches each folder before it is listed, so that whatever comes to it afterwards is told, and
    /// one walk is enough: what was there before is listed, what comes later is an event, and what
    /// happens in between is both, which costs a look.
    pub watch: Option<WatchFolder<'a>>,
    /// What is known already: what is just so is not put together anew.
    pub known: Option<&'a Catalogue>,
    /// Hears the number of entries seen so far, from any thread.
    pub progress: &'a (dyn Fn(usize) + Sync),
}

/// Watches one folder, on the thread that is about to list it.
pub(in crate::vault) type WatchFolder<'a> = &'a (dyn Fn(&VaultPath) + Sync);

impl<'a> Walk<'a> {
    /// A walk that only looks.
    pub fn new(root: Arc<Opened>, stop: &'a AtomicBool) -> Self {
        Self { root, stop, watch: None, known: None, progress: &|_| () }
    }

    /// Walks everything below the folder at `path`.
    ///
    /// # Errors
    /// Where the walk starts must be readable; anything below that is not is only reported.
    pub fn below(&self, path: &VaultPath) -> io::Result<Scan> {
        let found = Mutex::default();
        let shared = Shared { walk: self, found: &found, seen: AtomicUsize::new(0) };
        on_own_threads(|| rayon::scope(|scope| shared.list(scope, path)))?;
        Ok(found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

struct Shared<'a> {
    walk: &'a Walk<'a>,
    found: &'a Mutex<Scan>,
    seen: AtomicUsize,
}

impl Shared<'_> {
    fn walk<'s>(&'s self, scope: &Scope<'s>, path: &VaultPath) {
        if self.walk.stop.load(Ordering::Relaxed) {
            return;
        }
        match self.list(scope, path) {
            Ok(()) => {}
            Err(error) if is_absence(&error) => self.lock().vanished.push(path.clone()),
            Err(error) => self.lock().unreadable.push((path.clone(), error.to_string())),
        }
    }

    /// Lists one folder, and leaves those in it to whichever thread is free.
    fn list<'s>(&'s self, scope: &Scope<'s>, path: &VaultPath) -> io::Result<()> {
        if let Some(watch) = self.walk.watch {
            watch(path);
        }
        let folder = self.walk.root.open_folder_at(path)?;
        let mut seen = 0;
        let mut names = Names::new(path);
        // Apart until the folder is through: of one that cannot be listed to its end nothing counts.
        let mut found = Scan::default();
        let mut below = Vec::new();
        let depth = path.components().count();
        let mut take = |name: &OsStr, meta: &Meta| {
            let visible = name.to_str().filter(|name| !is_hidden_name(name));
            if let Some((known, name)) = self.walk.known.zip(visible)
                && let Some(row) = known.row_of_same(names.path(name), meta)
            {
                seen += 1;
                found.met.push(row);
                if meta.kind == Kind::Folder {
                    below.extend(path.join(name));
                }
                return;
            }
            let Some(entry) = entry(&folder, path, name, meta) else {
                return note_hidden(&mut found, path, name, meta);
            };
            seen += 1;
            if entry.kind == Kind::Folder && !entry.unnameable {
                below.push(entry.path.clone());
            }
            found.entries.push(entry);
        };
        // The root's own handle stays as it is.
        match path.is_root() {
            true => folder.list()?.iter().for_each(|one| take(&one.name, &one.meta)),
            false => folder.visit(take)?,
        }
        if depth >= MAX_DEPTH {
            let reason = format!("it lies more than {MAX_DEPTH} folders deep");
            found.unreadable.extend(below.drain(..).map(|path| (path, reason.clone())));
        }
        for path in below {
            scope.spawn(move |scope| self.walk(scope, &path));
        }
        let seen = self.seen.fetch_add(seen, Ordering::Relaxed) + seen;
        self.lock().append(found);
        (self.walk.progress)(seen);
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Scan> {
        self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Scan {
    fn append(&mut self, mut other: Self) {
        self.entries.append(&mut other.entries);
        self.met.append(&mut other.met);
        self.unreadable.append(&mut other.unreadable);
        self.unfinished.append(&mut other.unfinished);
        self.hidden.append(&mut other.hidden);
        self.vanished.append(&mut other.vanished);
    }
}

/// The paths of a folder's entries with their fold keys, in memory that is used again. A key is made
/// of those of its components.
struct Names {
    path: String,
    key: String,
    /// Bytes of the folder in either, with the slash behind it.
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

/// The catalogue's entry for one listed name; `None` for what is invisible in a vault.
pub(in crate::vault) fn entry(
    folder: &Folder,
    path: &VaultPath,
    listed: &OsStr,
    meta: &Meta,
) -> Option<NewEntry> {
    let Some(name) = listed.to_str() else {
        let mut entry = NewEntry::new(path.join(&escaped(listed))?, meta);
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
