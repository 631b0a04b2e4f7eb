//! Watches for changes made by other programs.
//!
//! Events are a hint: a missed or late one delays an update but never makes an answer permanently
//! wrong. Lost events (a queue overflow, a moved root) and a timer cause a full scan; file systems
//! without events are scanned periodically, and `status` says so.

#[cfg(target_os = "linux")]
#[path = "inotify.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "notify.rs"]
mod platform;
mod snapshot;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use super::catalogue::Counts;
use super::dir::Folder;
use super::error::VaultError;
use super::nonblocking;
use super::recovery::{Late, LateWrites, Recovery};
use super::settings::Settings;
use super::tracker::Tracker;
use super::tracker::batch::recheck_batch;
use super::tracker::scan::Walk;
use crate::locks::{lock, read};
use crate::note::path::VaultPath;
use platform::Events;

/// How changes made by other programs are found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Watching {
    /// Paths are checked when a call names them.
    #[default]
    Off,
    Events {
        /// Folders watched; 1 where one watch is recursive.
        folders: usize,
    },
    Polling {
        /// Between two scans.
        seconds: u32,
        /// Why there are no events.
        reason: String,
    },
}

/// An event of the operating system.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FsEvent {
    Changed(VaultPath),
    /// A folder was created or moved here: its content may be new too.
    NewFolder(VaultPath),
    /// The old path, then the new one.
    Renamed(VaultPath, VaultPath),
    /// Events were lost, or the root itself changed.
    Lost,
}

#[derive(Default)]
struct Watch {
    events: Option<Arc<Events>>,
    /// The thread that applies events while no call does.
    running: Option<Running>,
    state: Watching,
    poll_seconds: u32,
}

struct Running {
    stop: Arc<platform::Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub fn state(&self) -> Watching {
        match &self.events {
            Some(events) => match events.limited() {
                Some(reason) => Watching::Polling { seconds: self.poll_seconds, reason },
                None => Watching::Events { folders: events.folders() },
            },
            None => self.state.clone(),
        }
    }

    pub fn poll_every(&mut self, poll_seconds: u32) {
        self.poll_seconds = poll_seconds;
        if let Watching::Polling { seconds, .. } = &mut self.state {
            *seconds = poll_seconds;
        }
        self.wake();
    }

    /// Lets the thread compute its next deadline again.
    pub fn wake(&self) {
        if let Some(running) = &self.running {
            running.stop.wake();
        }
    }

    /// Asks the thread to end; returns its handle to join.
    pub fn stop(&mut self) -> Option<JoinHandle<()>> {
        self.events = None;
        self.state = Watching::Off;
        let mut running = self.running.take()?;
        running.stop.stop();
        running.thread.take()
    }
}

/// The vault's part of `status`.
#[derive(Debug, Clone)]
pub struct VaultStatus {
    pub counts: Counts,
    pub watching: Watching,
    /// Duration of the last full scan.
    pub scan_milliseconds: u64,
    /// Folders that could not be listed, with the reason.
    pub unreadable: Vec<(VaultPath, String)>,
    /// Background problems, oldest first, at most fifty.
    pub warnings: Vec<String>,
}

/// `Watcher::scanned` before the first full scan has ended.
const NEVER: u64 = u64::MAX;

/// Keeps the catalogue up to date: at the start, by events, and periodically.
pub struct Watcher {
    tracker: Tracker,
    pub(super) recovery: Recovery,
    late: LateWrites,
    settings: ArcSwap<Settings>,
    watch: Mutex<Watch>,
    /// Held during a full scan.
    scanning: Mutex<()>,
    /// Milliseconds of the last full scan.
    scanned: AtomicU64,
    /// Whether the last full scan succeeded: then events keep the catalogue complete.
    is_complete: AtomicBool,
    /// Whether the vault's folder was missing at the last full scan.
    gone: AtomicBool,
    /// Temporary files found by the first scan: left by a crash.
    unfinished: Mutex<Vec<VaultPath>>,
}

impl Deref for Watcher {
    type Target = Tracker;

    fn deref(&self) -> &Tracker {
        &self.tracker
    }
}

impl Watcher {
    /// Does not watch yet.
    pub(super) fn new(tracker: Tracker, recovery: Recovery, settings: Settings) -> Self {
        Self {
            tracker,
            recovery,
            late: LateWrites::default(),
            settings: ArcSwap::from_pointee(settings),
            watch: Mutex::default(),
            scanning: Mutex::default(),
            scanned: AtomicU64::new(NEVER),
            is_complete: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            unfinished: Mutex::default(),
        }
    }

    /// Bytes of the largest file that is read or edited whole.
    pub fn max_file_bytes(&self) -> u64 {
        self.settings.load().max_file_bytes
    }

    /// Takes effect from the next call on.
    pub fn set_settings(&self, settings: Settings) {
        let poll_seconds = settings.poll_seconds;
        self.settings.store(Arc::new(settings));
        lock(&self.watch).poll_every(poll_seconds);
    }

    /// The steward's folder for rescued texts, for the chaos suite.
    #[cfg(feature = "chaos")]
    pub fn recovery_folder(&self) -> std::path::PathBuf {
        self.recovery.folder()
    }

    /// Logs a background problem and keeps it for `status`.
    pub fn warn(&self, warning: String) {
        self.recovery.warn(warning);
    }

    /// Takes the list of temporary files left by a crash.
    pub(super) fn take_unfinished(&self) -> Vec<VaultPath> {
        std::mem::take(&mut lock(&self.unfinished))
    }

    /// Adds one to that list.
    pub(super) fn note_unfinished(&self, path: VaultPath) {
        lock(&self.unfinished).push(path);
    }

    /// Removes one from that list.
    pub(super) fn forget_unfinished(&self, path: &VaultPath) {
        lock(&self.unfinished).retain(|unfinished| unfinished != path);
    }

    /// Watches a displaced version for late writes.
    pub(super) fn watch_late(&self, late: Late) {
        self.late.watch(&self.recovery, late);
        lock(&self.watch).wake();
    }

    /// Closes the displaced versions below a folder that is about to be renamed or removed, if they would prevent it.
    pub(super) fn close_late_below(&self, folder: &VaultPath) {
        if Folder::is_fixed_while_in_use() {
            self.late.finish_below(&self.recovery, folder);
        }
    }

    /// How changes made by other programs are found now.
    pub fn watching(&self) -> Watching {
        lock(&self.watch).state()
    }

    pub fn status(&self) -> VaultStatus {
        let watching = self.watching();
        VaultStatus {
            counts: self.known().counts(),
            watching,
            scan_milliseconds: self.scanned.load(Ordering::Relaxed),
            unreadable: read(&self.unreadable).clone(),
            warnings: self.recovery.warnings(),
        }
    }

    /// Scans the whole vault and reports every change. If another folder took the vault's path
    /// (restored from a backup, say), that becomes the vault.
    ///
    /// # Errors
    /// [`VaultError::Gone`] if there is no folder, or an empty one; the catalogue then stays as it
    /// is, so that an unmounted vault is not taken for an empty one.
    pub fn rescan(&self) -> Result<(), VaultError> {
        self.is_complete.store(false, Ordering::Release);
        let there = self.check_root().or_else(|_| self.take_replacement());
        self.gone.store(there.is_err(), Ordering::Relaxed);
        there?;
        self.scan_all(&|_| ())
    }

    fn take_replacement(&self) -> Result<(), VaultError> {
        if self.reopen()? {
            if let Some(events) = self.events() {
                events.reset(self);
            }
            self.warn("the vault's folder was replaced; the new one is scanned".to_owned());
        }
        Ok(())
    }

    /// As [`Root::check_root`](super::Root::check_root), but accepts a replacement folder.
    pub(super) fn find_root(&self) -> Result<(), VaultError> {
        match self.check_root() {
            Err(_) if !nonblocking::would_block() => self.rescan(),
            found => found,
        }
    }

    /// [`Self::rescan`] without the check of the root; the first scan also loads the snapshot.
    pub(super) fn scan_all(&self, progress: &(dyn Fn(usize) + Sync)) -> Result<(), VaultError> {
        let _scanning = lock(&self.scanning);
        let started = Instant::now();
        let first = self.scanned.load(Ordering::Relaxed) == NEVER;
        let root = VaultPath::root();
        // Paths that change behind the walk are rechecked at the end.
        let _collecting = self.collect_touched();
        let saved = if first { snapshot::load(self.recovery.state()) } else { None };
        let loaded = started.elapsed();
        let events = self.events();
        let watch = |folder: &VaultPath| {
            if let Some(events) = &events {
                events.watch(self, folder);
            }
        };
        let walk = Walk { watch: Some(&watch), known: saved.as_ref(), progress, ..self.walk() };
        let mut found =
            walk.below(&root).map_err(|source| VaultError::io("list", &root, source))?;
        let walked = started.elapsed();
        if self.stopping.load(Ordering::Relaxed) {
            return Ok(());
        }
        let vanished = std::mem::take(&mut found.vanished);
        if first {
            *lock(&self.unfinished) = std::mem::take(&mut found.unfinished);
        }
        let touched = self.apply_scan(found, first.then_some(saved), || {
            let took = started.elapsed();
            let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            self.scanned.store(milliseconds, Ordering::Relaxed);
            tracing::debug!(?loaded, ?walked, ?took, "scanned");
        });
        for path in touched {
            self.recheck(&path);
        }
        vanished.iter().for_each(|folder| self.recheck_deep(folder));
        self.is_complete.store(true, Ordering::Release);
        Ok(())
    }

    /// The new path of the file that was at `path`, by the renames after position `mark`, whether
    /// or not it exists now. Only the last thousand renames are recorded.
    pub fn renamed_since(&self, path: &VaultPath, mark: u64) -> Option<VaultPath> {
        self.settle();
        lock(&self.renames).present_path_since(path, mark)
    }

    /// Starts to receive events. A scan must follow, which adds the watches. Returns `false` if
    /// already started.
    pub(super) fn listen(&self) -> bool {
        let mut watch = lock(&self.watch);
        let listens = watch.events.is_some() || watch.state != Watching::Off;
        if listens || self.stopping.load(Ordering::Relaxed) {
            return false;
        }
        // No folder is watched until the scan.
        self.is_complete.store(false, Ordering::Release);
        let seconds = self.settings.load().poll_seconds;
        watch.poll_seconds = seconds;
        let polling = |reason: String| Watching::Polling { seconds, reason };
        match self.remote_file_system() {
            Some(kind) => {
                watch.state = polling(format!("the vault is on {kind}, which sends no events"));
            }
            None => match Events::start(self) {
                Ok(events) => watch.events = Some(Arc::new(events)),
                Err(reason) => watch.state = polling(reason),
            },
        }
        true
    }

    /// Starts a thread that applies changes until [`Self::stop`]. Scans first, unless the vault was
    /// opened by [`super::Vault::open_watched`]. A second call does nothing.
    pub fn watch(self: &Arc<Self>) {
        let needs_scan = self.listen();
        let mut watch = lock(&self.watch);
        if watch.running.is_some() || self.stopping.load(Ordering::Relaxed) {
            return;
        }
        let stop = Arc::new(platform::Stop::new());
        let thread = std::thread::Builder::new().name("vault-watch".to_owned()).spawn({
            // Weak, so that the thread does not keep the vault alive.
            let (watcher, events) = (Arc::downgrade(self), watch.events.clone());
            let stop = stop.clone();
            move || run(&watcher, events.as_deref(), &stop)
        });
        watch.running = Some(Running { stop, thread: thread.ok() });
        drop(watch);
        if needs_scan && let Err(error) = self.rescan() {
            self.warn(format!("the vault could not be scanned: {error}"));
        }
        // For the start after a crash of this run.
        if !snapshot::exists(self.recovery.state()) {
            self.save_snapshot();
        }
    }

    fn save_snapshot(&self) {
        let bytes = self.known().to_bytes();
        let _scanning = lock(&self.scanning);
        snapshot::save(self.recovery.state(), &bytes);
    }

    /// Stops watching and finishes what runs in the background.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        let watcher = lock(&self.watch).stop();
        if let Some(thread) = watcher {
            let _ = thread.join();
            // Without events the catalogue may be out of date.
            self.save_snapshot();
        }
        self.late.finish(&self.recovery);
    }

    fn events(&self) -> Option<Arc<Events>> {
        let watch = match self.watch.try_lock() {
            Ok(watch) => watch,
            // The holder may be setting thousands of watches.
            Err(_) if nonblocking::would_block() => return None,
            Err(_) => lock(&self.watch),
        };
        watch.events.clone()
    }

    /// Whether events report every change: then the catalogue is up to date after [`Self::settle`].
    pub fn is_watched(&self) -> bool {
        let has_all = self.events().is_some_and(|events| events.limited().is_none());
        has_all && self.is_complete.load(Ordering::Acquire)
    }

    /// Applies all pending events, so that an answer is true of the disk as it was when the call
    /// came. Cheap if there are none.
    pub fn settle(&self) {
        if nonblocking::is_active() {
            if !self.is_settled() {
                nonblocking::would_block();
            }
            return;
        }
        if let Some(events) = self.events() {
            self.apply_events(&events);
        }
    }

    /// Whether no event is pending or being applied; does not block.
    fn is_settled(&self) -> bool {
        // The caller reads the catalogue next.
        if self.catalogue.try_read().is_err() {
            return false;
        }
        let Ok(watch) = self.watch.try_lock() else { return false };
        let Some(events) = &watch.events else { return true };
        events.turn.try_lock().is_ok() && events.is_empty()
    }

    fn apply_events(&self, events: &Events) {
        let _turn = lock(&events.turn);
        let mut changed: Vec<VaultPath> = Vec::new();
        for event in events.drain(self) {
            if let FsEvent::Changed(path) = event {
                changed.push(path);
                continue;
            }
            // Events are applied in order.
            recheck_batch(self, &std::mem::take(&mut changed));
            match event {
                FsEvent::Changed(_) => {}
                FsEvent::NewFolder(path) => self.recheck_deep(&path),
                FsEvent::Renamed(from, to) => self.renamed(&from, &to),
                FsEvent::Lost => {
                    if let Err(error) = self.rescan() {
                        self.warn(format!("the vault could not be scanned: {error}"));
                    }
                }
            }
        }
        recheck_batch(self, &changed);
    }
}

/// How long the thread lets events accumulate.
const MOMENT: Duration = Duration::from_millis(2);

/// The thread's interval while displaced versions are watched for late writes, or the vault is
/// gone.
const TICK: Duration = Duration::from_secs(1);

fn run(watcher: &Weak<Watcher>, events: Option<&Events>, stop: &platform::Stop) {
    let period = |watcher: &Watcher| {
        let settings = watcher.settings.load();
        match events {
            Some(events) if events.limited().is_none() => {
                let rescans = Duration::from_secs(u64::from(settings.rescan_minutes) * 60);
                Some(rescans).filter(|period| !period.is_zero())
            }
            _ => Some(Duration::from_secs(u64::from(settings.poll_seconds.max(1)))),
        }
    };
    let mut last = Instant::now();
    loop {
        let Some(held) = watcher.upgrade() else { return };
        let watching_late = !held.late.is_empty();
        let is_gone = held.gone.load(Ordering::Relaxed);
        let until = period(&held).map(|period| period.saturating_sub(last.elapsed()));
        // The wait may be long, and must not keep the vault alive.
        drop(held);
        let soon = watching_late || is_gone;
        let limit = if soon { Some(until.unwrap_or(TICK).min(TICK)) } else { until };
        platform::wait(events, stop, limit);
        if !stop.stopped() {
            // A save causes several events. Calls apply them without this thread, which would
            // otherwise hold the lock just then.
            platform::wait(None, stop, Some(MOMENT));
        }
        let Some(held) = watcher.upgrade() else { return };
        if stop.stopped() {
            return;
        }
        if let Some(events) = events {
            held.apply_events(events);
        }
        held.late.check(&held.recovery, Instant::now());
        // No event reports its return or replacement.
        let was_gone = held.gone.load(Ordering::Relaxed);
        if was_gone || period(&held).is_some_and(|period| last.elapsed() >= period) {
            last = Instant::now();
            if let Err(error) = held.rescan()
                && !was_gone
            {
                held.warn(error.to_string());
            }
        }
    }
}
