//! macOS and Windows: the system's recursive watching through the `notify` crate.
//!
//! Written from the crate's documentation; `docs/platforms.md` lists the tests that ran.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, mpsc};
use std::time::Duration;

use notify::event::{EventKind, ModifyKind, RenameMode};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::FsEvent;
use crate::locks::lock;
use crate::note::path::VaultPath;
use crate::vault::dir::Kind;
use crate::vault::protect::is_hidden;
use crate::vault::root::Root;

/// A recursive watch of the vault's root.
pub(in crate::vault) struct Events {
    root: PathBuf,
    receiver: Mutex<mpsc::Receiver<notify::Result<notify::Event>>>,
    /// The old path of a rename: Windows reports the new one in the next event.
    renamed_from: Mutex<Option<VaultPath>>,
    pub(super) turn: Mutex<()>,
    watcher: Mutex<RecommendedWatcher>,
}

impl Events {
    /// Watches the vault's root and all below it.
    pub fn start(root: &Root) -> Result<Self, String> {
        let refused = |error: notify::Error| format!("the system refused a watcher: {error}");
        let (sender, receiver) = mpsc::channel();
        let mut watcher = notify::recommended_watcher(sender).map_err(refused)?;
        watcher.watch(root.root(), RecursiveMode::Recursive).map_err(refused)?;
        Ok(Self {
            root: root.root().to_owned(),
            receiver: Mutex::new(receiver),
            renamed_from: Mutex::default(),
            turn: Mutex::default(),
            watcher: Mutex::new(watcher),
        })
    }

    /// Watches again after another root took the vault's path.
    pub fn reset(&self, root: &Root) {
        let mut watcher = lock(&self.watcher);
        let _ = watcher.unwatch(root.root());
        if let Err(error) = watcher.watch(root.root(), RecursiveMode::Recursive) {
            tracing::warn!(%error, "the vault that took the place of another is not watched");
        }
    }

    /// One watch covers all folders.
    pub fn folders(&self) -> usize {
        1
    }

    /// A recursive watch has no limit.
    pub fn limited(&self) -> Option<String> {
        None
    }

    /// The root's watch covers all folders.
    pub fn watch(&self, _root: &Root, _folder: &VaultPath) {}

    /// Whether no event is queued; the crate's channel cannot tell.
    pub fn is_empty(&self) -> bool {
        false
    }

    pub fn drain(&self, root: &Root) -> Vec<FsEvent> {
        let mut events = Vec::new();
        for event in lock(&self.receiver).try_iter() {
            match event {
                // A rescan request may come with any event, without a path.
                Ok(event) if event.need_rescan() => events.push(FsEvent::Lost),
                Ok(event) => self.convert(root, &event, &mut events),
                Err(_) => events.push(FsEvent::Lost),
            }
        }
        if events.contains(&FsEvent::Lost) {
            events = vec![FsEvent::Lost];
            *lock(&self.renamed_from) = None;
        }
        events
    }

    fn convert(&self, root: &Root, event: &notify::Event, events: &mut Vec<FsEvent>) {
        let paths: Vec<VaultPath> =
            event.paths.iter().filter_map(|path| self.relative(path)).collect();
        if event.paths.iter().any(|path| *path == self.root) && event.kind.is_remove() {
            events.push(FsEvent::Lost);
            return;
        }
        let from = lock(&self.renamed_from).take();
        let rename = match event.kind {
            EventKind::Modify(ModifyKind::Name(mode)) => Some(mode),
            _ => None,
        };
        if let (Some(RenameMode::To), Some(from), [to]) = (rename, &from, &paths[..]) {
            events.push(FsEvent::Renamed(from.clone(), to.clone()));
            return;
        }
        let changed = |path: &VaultPath| match root.folder().stat_at(path).map(|meta| meta.kind) {
            Ok(Kind::Folder) => FsEvent::NewFolder(path.clone()),
            _ => FsEvent::Changed(path.clone()),
        };
        // It went to a name that is hidden.
        events.extend(from.iter().map(changed));
        match (&event.kind, &paths[..]) {
            (EventKind::Access(_), _) => {}
            (_, [from]) if cfg!(windows) && rename == Some(RenameMode::From) => {
                *lock(&self.renamed_from) = Some(from.clone());
            }
            (_, [from, to]) if rename == Some(RenameMode::Both) => {
                events.push(FsEvent::Renamed(from.clone(), to.clone()));
            }
            (_, paths) => events.extend(paths.iter().map(changed)),
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

/// How often the thread polls for events, since it cannot wait on the crate's channel and a wake-up
/// together. Every call applies them first, so this only delays notifications.
const INTERVAL: Duration = Duration::from_millis(500);

/// Waits for a wake-up or the end of `limit`.
pub(in crate::vault) fn wait(_events: Option<&Events>, stop: &Stop, limit: Option<Duration>) {
    let limit = limit.map_or(INTERVAL, |limit| limit.min(INTERVAL));
    let woken = lock(&stop.woken);
    let waited = stop.wake.wait_timeout_while(woken, limit, |woken| !*woken);
    if let Ok((mut woken, _)) = waited {
        *woken = false;
    }
}
