//! What is kept of each file from one run to the next, and the very first reading of all files, which is done
//! beside what is asked.
//!
//! What was saved of a file counts only if the file has the size, the time, the number on its disk and the time of
//! its last change of any kind that it had when it was read ([`SameAs`]). A saved file is safe to delete at any
//! time.

#![expect(clippy::disallowed_methods, reason = "the index's own files, in the steward's folder")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::changes::{Feed, Stamp, identity};
use super::fresh::{Fresh, Keeper, Withdrawn};
use super::sealed;
use crate::note::path::VaultPath;
use crate::vault::{Cancel, Kind, Vault};

/// The file in a keeper's folder.
const FILE: &str = "table";

/// How often somebody who waits for the first reading looks whether they withdrew.
const LOOK: Duration = Duration::from_millis(50);

/// A keeper whose records are saved.
pub(super) trait Saved: Keeper + 'static {
    /// The name of its folder in the steward's folder, and of the thread that reads all files.
    const NAME: &'static str;
    /// How its file begins. Another one for every change of the format, or of what is kept of a file.
    const HEADER: &'static [u8];

    /// Puts in what was saved of the files that are still the same; `None` if it is not sound.
    fn load(&mut self, saved: &[u8], same: &SameAs<'_>) -> Option<()>;
    /// What is known of all files that stayed as they were read.
    fn save(&self) -> Vec<u8>;
}

/// Which files are still the ones that were read.
pub(super) struct SameAs<'a>(&'a Vault);

impl SameAs<'_> {
    /// Whether the file at `path` has this size and time, and this `identity` where its text was read.
    pub fn is_same(&self, path: &VaultPath, known: Stamp, read: Option<u64>) -> bool {
        // Held for a moment each time: others wait for it.
        let catalogue = self.0.catalogue();
        let now = catalogue.get(path.as_str()).filter(|entry| entry.kind == Kind::File);
        now.is_some_and(|now| {
            known == (now.size, now.modified)
                && read.is_none_or(|read| read == identity(now.id, now.change_mark))
        })
    }
}

/// What is kept of a vault's files, from one run to the next.
pub(super) struct Lasting<K: Keeper> {
    pub fresh: Fresh<K>,
    /// Where it is saved.
    folder: OnceLock<PathBuf>,
    loaded: Once,
    /// All files are to be read for the first time.
    is_first: Mutex<bool>,
    /// Rung when they were.
    was_first: Condvar,
    stop: Cancel,
    reader: Mutex<Option<JoinHandle<()>>>,
}

impl<K: Saved> Lasting<K> {
    /// What is kept of `vault`; nothing is read yet.
    pub fn new(vault: Vault, feed: &Feed) -> Self {
        Self {
            fresh: Fresh::new(vault, feed),
            folder: OnceLock::new(),
            loaded: Once::new(),
            is_first: Mutex::default(),
            was_first: Condvar::new(),
            stop: Cancel::default(),
            reader: Mutex::default(),
        }
    }

    /// Goes by what an earlier run saved in `state`, the steward's folder for the vault. Whether there is anything.
    pub fn remember(&self, state: &Path) -> bool {
        self.folder.get_or_init(|| state.join(K::NAME)).join(FILE).exists()
    }

    /// Reads all files on a thread of its own and saves what is kept of them: as soon as somebody asks, or `after`
    /// that time.
    pub fn read_beside(self: &Arc<Self>, after: Option<Duration>) {
        self.set_first(true);
        let works = Arc::clone(self);
        let read = move || {
            match after {
                Some(time) => std::thread::park_timeout(time),
                None => std::thread::park(),
            }
            works.load();
            if works.fresh.refresh(&works.stop).is_ok() {
                works.set_first(false);
                works.save();
            }
        };
        match std::thread::Builder::new().name(K::NAME.to_owned()).spawn(read) {
            Ok(reader) => *lock(&self.reader) = Some(reader),
            // Whoever asks first reads them.
            Err(_) => self.set_first(false),
        }
    }

    /// Ends the first reading, and saves what has changed.
    pub fn stop(&self) {
        self.stop.cancel();
        if let Some(reader) = lock(&self.reader).take() {
            reader.thread().unpark();
            let _ = reader.join();
        }
        // A reading that was cut short begins anew.
        if !*lock(&self.is_first) {
            self.save();
        }
    }

    /// Brings it up to date, once the first reading is over.
    ///
    /// # Errors
    /// [`Withdrawn`]; what was read by then stays.
    pub fn refresh(&self, cancel: &Cancel) -> Result<(), Withdrawn> {
        while self.is_first(LOOK) {
            if cancel.is_cancelled() {
                return Err(Withdrawn);
            }
        }
        self.load();
        self.fresh.refresh(cancel)
    }

    /// Whether the first reading is not over, which is waited for so long. Begins it.
    pub fn is_first(&self, patience: Duration) -> bool {
        let first = lock(&self.is_first);
        if !*first {
            return false;
        }
        lock(&self.reader).iter().for_each(|reader| reader.thread().unpark());
        let waited = self.was_first.wait_timeout_while(first, patience, |first| *first);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Whether all files are still to be read for the first time.
    pub fn set_first(&self, is_first: bool) {
        *lock(&self.is_first) = is_first;
        self.was_first.notify_all();
    }

    fn load(&self) {
        self.loaded.call_once(|| {
            let Some(file) = self.folder.get().and_then(|folder| read(folder).ok()) else { return };
            if let Some(saved) = sealed::content(&file, K::HEADER) {
                let _ = self.fresh.kept_mut().load(saved, &SameAs(&self.fresh.vault));
            }
        });
    }

    fn save(&self) {
        let Some(folder) = self.folder.get().filter(|_| self.fresh.take_unsaved()) else { return };
        let saved = self.fresh.kept().save();
        if let Err(error) = sealed::write(folder, FILE, &[K::HEADER, &saved]) {
            // They are read again at the next start.
            tracing::warn!(%error, kept = K::NAME, "what was read of the notes could not be saved");
        }
    }
}

fn read(folder: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(folder.join(FILE))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(super) mod check {
    use super::*;
    use crate::vault::Settings;

    /// What is saved of these files is loaded again as it was, and nothing of it where a byte is damaged.
    pub fn survives<K: Saved, S: PartialEq + std::fmt::Debug>(
        files: &[(&str, &str)],
        seen: impl Fn(&K) -> S,
    ) {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [place, state] = folders.each_ref().map(tempfile::TempDir::path);
        for (name, text) in files {
            let path = place.join(name);
            std::fs::write(&path, text).expect("written");
            let file = std::fs::File::options().append(true).open(path).expect("opened");
            file.set_modified(std::time::UNIX_EPOCH).expect("set");
        }
        let vault = Vault::open(place, state, Settings::default(), &|_| ()).expect("opened").0;
        let new = || Lasting::<K>::new(vault.clone(), &Feed::new(vault.clone()));
        let nothing = seen(&K::default());
        let first = new();
        assert!(!first.remember(state));
        first.refresh(&Cancel::default()).expect("nobody withdraws");
        let all = seen(&first.fresh.kept());
        assert_ne!(all, nothing);
        first.stop();
        let again = new();
        assert!(again.remember(state));
        again.load();
        assert_eq!(seen(&again.fresh.kept()), all);
        let place = state.join(K::NAME).join(FILE);
        let file = std::fs::read(&place).expect("read");
        for at in (0..file.len()).step_by(7) {
            let mut damaged = file.clone();
            damaged[at] ^= 16;
            std::fs::write(&place, damaged).expect("written");
            let loaded = new();
            loaded.remember(state);
            loaded.load();
            assert_eq!(seen(&loaded.fresh.kept()), nothing, "byte {at}");
        }
    }
}
