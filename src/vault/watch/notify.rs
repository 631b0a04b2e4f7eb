//! macOS and Windows: the system's recursive watching through the `notify` crate.
//!
//! Written from the crate's documentation; `docs/platforms.md` says what was run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, mpsc};
use std::time::Duration;

use notify::event::{EventKind, ModifyKind, RenameMode};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::Told;
use crate::note::path::VaultPath;
use crate::vault::dir::Kind;
use crate::vault::locks::lock;
use crate::vault::protect::is_hidden;
use crate::vault::root::Root;

/// A recursive watch of the vault's root.
pub(in crate::vault) struct Events {
    root: PathBuf,
    told: Mutex<mpsc::Receiver<notify::Result<notify::Event>>>,
    pub(super) turn: Mutex<()>,
    watcher: Mutex<RecommendedWatcher>,
}

impl Events {
    /// Watches the vault's root and all below it.
    ///
    /// # Errors
    /// Why there are no events, to be shown to the user.
    pub fn start(root: &Root) -> Result<Self, String> {
        let refused = |error: notify::Error| format!("the system gave no watcher: {error}");
        let (sender, receiver) = mpsc::channel();
        let mut watcher = notify::recommended_watcher(sender).map_err(refused)?;
        watcher.watch(root.root(), RecursiveMode::Recursive).map_err(refused)?;
        Ok(Self {
            root: root.root().to_owned(),
            told: Mutex::new(receiver),
            turn: Mutex::default(),
            watcher: Mutex::new(watcher),
        })
    }

    /// Watches another root at the same place.
    pub fn forget(&self, root: &Root) {
        let mut watcher = lock(&self.watcher);
        let _ = watcher.unwatch(root.root());
        if let Err(error) = watcher.watch(root.root(), RecursiveMode::Recursive) {
            tracing::warn!(%error, "the vault that took the place of another is not watched");
        }
    }

    /// One watch covers all folders here.
    pub fn folders(&self) -> usize {
        1
    }

    /// One recursive watch has no limit of its own.
    pub fn limited(&self) -> Option<String> {
        None
    }

    /// Folders are watched with their root: none is new to it.
    pub fn watch(&self, _root: &Root, _folder: &VaultPath) {}

    /// Whether nothing has been told since the last call. The crate's channel does not say.
    pub fn has_none(&self) -> bool {
        false
    }

    /// What has been told since the last call.
    pub fn drain(&self, root: &Root) -> Vec<Told> {
        let mut told = Vec::new();
        for event in lock(&self.told).try_iter() {
            match event {
                // A rescan request comes without a path; it must be looked for in every event.
                Ok(event) if event.need_rescan() => told.push(Told::Lost),
                Ok(event) => self.sort(root, &event, &mut told),
                Err(_) => told.push(Told::Lost),
            }
        }
        if told.contains(&Told::Lost) {
            told = vec![Told::Lost];
        }
        told
    }

    fn sort(&self, root: &Root, event: &notify::Event, told: &mut Vec<Told>) {
        let paths: Vec<VaultPath> =
            event.paths.iter().filter_map(|path| self.relative(path)).collect();
        if event.paths.iter().any(|path| *path == self.root) && event.kind.is_remove() {
            told.push(Told::Lost);
            return;
        }
        match (&event.kind, &paths[..]) {
            (EventKind::Access(_), _) => {}
            (EventKind::Modify(ModifyKind::Name(RenameMode::Both)), [from, to]) => {
                told.push(Told::Renamed(from.clone(), to.clone()));
            }
            (_, paths) => told.extend(paths.iter().map(|path| {
                match root.folder().stat_at(path).map(|meta| meta.kind) {
                    Ok(Kind::Folder) => Told::NewFolder(path.clone()),
                    _ => Told::Changed(path.clone()),
                }
            })),
        }
    }

    fn relative(&self, path: &Path) -> Option<VaultPath> {
        let below = path.strip_prefix(&self.root).ok()?.to_str()?.replace('\\', "/");
        VaultPath::from_disk(&below).filter(|path| !path.is_root() && !is_hidden(path))
    }
}

/// Wakes and ends the waiting thread.
#[derive(Default)]
pub(in crate::vault) struct Stop {
    woken: Mutex<bool>,
    wake: Condvar,
    stopped: AtomicBool,
}

impl Stop {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake();
    }

    pub fn wake(&self) {
        *lock(&self.woken) = true;
        self.wake.notify_all();
    }

    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }
}

/// How often a quiet vault's events are taken in: the crate's channel cannot be waited on together
/// with a wake-up. Every request takes them in first, so this only bounds how late clients hear.
const TURN: Duration = Duration::from_millis(500);

/// Waits for a wake-up or the end of `limit`.
pub(in crate::vault) fn wait(_events: Option<&Events>, stop: &Stop, limit: Option<Duration>) {
    let limit = limit.map_or(TURN, |limit| limit.min(TURN));
    let woken = lock(&stop.woken);
    let waited = stop.wake.wait_timeout_while(woken, limit, |woken| !*woken);
    if let Ok((mut woken, _)) = waited {
        *woken = false;
    }
}
