//! Noticing what other programs change.
//!
//! Events are a hint: a missed or late one costs time, never truth. Lost events (an overflow, a
//! moved root) and a slow clock lead to a full scan; file systems without events are scanned
//! every so often, and `status` says so.

#[cfg(target_os = "linux")]
#[path = "inotify.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "notify.rs"]
mod platform;
mod remembered;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use super::catalogue::Counts;
use super::error::VaultError;
use super::glance;
use super::locks::{lock, read};
use super::recovery::{Late, LateWrites, Recovery};
use super::settings::Settings;
use super::tracker::Tracker;
use super::tracker::absorb::absorb;
use super::tracker::scan::Walk;
use crate::note::path::VaultPath;
use platform::Events;

/// How changes made by others are noticed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Watching {
    /// Only what is asked for is looked at.
    #[default]
    Off,
    /// The system tells.
    Events {
        /// Folders watched, where the system counts them.
        folders: usize,
    },
    /// The vault is scanned every so often.
    Polling {
        /// Seconds between two scans.
        seconds: u32,
        /// Why there are no events.
        reason: String,
    },
}

/// What the operating system told.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    /// Something about this path.
    Changed(VaultPath),
    /// This folder is new or newly named: everything in it may be, too.
    NewFolder(VaultPath),
    /// A rename, both ends seen.
    Renamed(VaultPath, VaultPath),
    /// Events were lost, or the root itself changed.
    Lost,
}

/// The state of watching one vault.
#[derive(Default)]
struct Watch {
    /// Where the system tells, from the first look on.
    events: Option<Arc<Events>>,
    /// Who takes in what it tells when nobody asks.
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

    /// Looks every so many seconds from now on, where there are no events.
    pub fn poll_every(&mut self, poll_seconds: u32) {
        self.poll_seconds = poll_seconds;
        if let Watching::Polling { seconds, .. } = &mut self.state {
            *seconds = poll_seconds;
        }
        self.wake();
    }

    /// Lets the thread look at its clock again.
    pub fn wake(&self) {
        if let Some(running) = &self.running {
            running.stop.wake();
        }
    }

    /// Asks the thread to end and gives its handle to wait on.
    pub fn stop(&mut self) -> Option<JoinHandle<()>> {
        self.events = None;
        self.state = Watching::Off;
        let mut running = self.running.take()?;
        running.stop.stop();
        running.thread.take()
    }
}

/// What `status` shows of a vault.
#[derive(Debug, Clone)]
pub struct VaultStatus {
    /// How many of each there are.
    pub counts: Counts,
    /// How changes are noticed.
    pub watching: Watching,
    /// Milliseconds the last full scan took.
    pub scan_milliseconds: u64,
    /// Bytes the catalogue holds.
    pub catalogue_bytes: usize,
    /// Folders that could not be listed, with the reason.
    pub unreadable: Vec<(VaultPath, String)>,
    /// What went wrong in the background, oldest first, at most fifty.
    pub warnings: Vec<String>,
}

/// No full scan has ended yet.
const NEVER: u64 = u64::MAX;

/// When the catalogue is brought to what is on the disk: at the start, by what the system tells, and
/// every so often.
pub struct Watcher {
    tracker: Tracker,
    pub(super) recovery: Recovery,
    late: LateWrites,
    settings: ArcSwap<Settings>,
    watch: Mutex<Watch>,
    /// One full scan at a time.
    scanning: Mutex<()>,
    /// Milliseconds of the last full scan.
    scanned: AtomicU64,
    /// Whether a scan has ended and none failed since: what is told of since then keeps the catalogue
    /// true.
    whole: AtomicBool,
    /// Whether the vault's folder was not there at the last full scan.
    gone: AtomicBool,
    /// Our own hidden files that the first scan found: a crash left them.
    unfinished: Mutex<Vec<VaultPath>>,
}

/// Whoever notices changes knows what is known.
impl Deref for Watcher {
    type Target = Tracker;

    fn deref(&self) -> &Tracker {
        &self.tracker
    }
}

impl Watcher {
    /// Notices nothing yet.
    pub(super) fn new(tracker: Tracker, recovery: Recovery, settings: Settings) -> Self {
        Self {
            tracker,
            recovery,
            late: LateWrites::default(),
            settings: ArcSwap::from_pointee(settings),
            watch: Mutex::default(),
            scanning: Mutex::default(),
            scanned: AtomicU64::new(NEVER),
            whole: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            unfinished: Mutex::default(),
        }
    }

    /// Bytes of the largest file that is read or edited whole.
    pub fn max_file_bytes(&self) -> u64 {
        self.settings.load().max_file_bytes
    }

    /// Behaves by these settings from the next call on.
    pub fn set_settings(&self, settings: Settings) {
        let poll_seconds = settings.poll_seconds;
        self.settings.store(Arc::new(settings));
        lock(&self.watch).poll_every(poll_seconds);
    }

    /// The steward's folder for what was rescued.
    pub fn recovery_folder(&self) -> PathBuf {
        self.recovery.folder()
    }

    /// Notes for `status` what went wrong where nobody was asking.
    pub fn warn(&self, warning: String) {
        self.recovery.warn(warning);
    }

    /// Our own hidden files that the first scan found and nobody has dealt with since.
    pub(super) fn take_unfinished(&self) -> Vec<VaultPath> {
        std::mem::take(&mut lock(&self.unfinished))
    }

    /// One of our own hidden names is no longer there to be swept.
    pub(super) fn forget_unfinished(&self, path: &VaultPath) {
        lock(&self.unfinished).retain(|unfinished| unfinished != path);
    }

    /// Watches a displaced version for late writes.
    pub(super) fn watch_late(&self, late: Late) {
        self.late.watch(&self.recovery, late);
        lock(&self.watch).wake();
    }

    /// How changes made by others are noticed.
    pub fn watching(&self) -> Watching {
        lock(&self.watch).state()
    }

    /// The facts for `status` and `doctor`.
    pub fn status(&self) -> VaultStatus {
        let watching = self.watching();
        let (counts, catalogue_bytes) = {
            let catalogue = self.known();
            (catalogue.counts(), catalogue.memory())
        };
        VaultStatus {
            counts,
            catalogue_bytes,
            watching,
            scan_milliseconds: self.scanned.load(Ordering::Relaxed),
            unreadable: read(&self.unreadable).clone(),
            warnings: self.recovery.warnings(),
        }
    }

    /// Scans the whole vault and tells of every difference from what was known. Another folder that took
    /// the place of the vault's, as one from a backup does, is the vault from then on.
    ///
    /// # Errors
    /// [`VaultError::Gone`] if there is no folder, or an empty one; the catalogue then stays as it was,
    /// so that nobody takes an unmounted vault for an empty one.
    pub fn rescan(&self) -> Result<(), VaultError> {
        self.whole.store(false, Ordering::Release);
        let there = self.check_root().or_else(|_| self.take_replacement());
        self.gone.store(there.is_err(), Ordering::Relaxed);
        there?;
        self.scan_all(&|_| ())
    }

    fn take_replacement(&self) -> Result<(), VaultError> {
        if self.reopen()? {
            if let Some(events) = self.events() {
                events.forget(self);
            }
            self.warn("the vault's folder was replaced by another, which is read anew".to_owned());
        }
        Ok(())
    }

    /// As [`Root::check_root`](super::Root::check_root), and takes the folder for the vault that took its place.
    ///
    /// # Errors
    /// [`VaultError::Gone`].
    pub(super) fn find_root(&self) -> Result<(), VaultError> {
        match self.check_root() {
            Err(_) if !glance::would_wait() => self.rescan(),
            found => found,
        }
    }

    /// [`Self::rescan`], also for the start: then what an earlier run kept is compared with the disk.
    pub(super) fn scan_all(&self, progress: &(dyn Fn(usize) + Sync)) -> Result<(), VaultError> {
        let _one = lock(&self.scanning);
        let started = Instant::now();
        let first = self.scanned.load(Ordering::Relaxed) == NEVER;
        let root = VaultPath::root();
        // What changes while the walk is under way may lie behind it: looked at again at the end.
        let _until_the_end = self.collect_touched();
        let saved = if first { remembered::load(self.recovery.state()) } else { None };
        let loaded = started.elapsed();
        // Before its folder is listed, so that nothing falls between the two: see `Walk::watch`.
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
        let touched = self.take_walk(found, first.then_some(saved), || {
            let took = started.elapsed();
            let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            self.scanned.store(milliseconds, Ordering::Relaxed);
            tracing::debug!(?loaded, ?walked, ?took, "scanned");
        });
        for path in touched {
            self.recheck(&path);
        }
        vanished.iter().for_each(|folder| self.look_through(folder));
        self.whole.store(true, Ordering::Release);
        Ok(())
    }

    /// Where what was at `path` went by the renames that were noticed after `mark`, whatever is
    /// there now. Of the last thousand, and of those since the vault was opened.
    pub fn renamed_since(&self, path: &VaultPath, mark: u64) -> Option<VaultPath> {
        self.settle();
        lock(&self.renames).now_since(path, mark)
    }

    /// Asks the system to tell of changes: each folder from when a walk comes to it, so that a scan has
    /// to follow. Whether it was not asked before.
    pub(super) fn listen(&self) -> bool {
        let mut watch = lock(&self.watch);
        let listens = watch.events.is_some() || watch.state != Watching::Off;
        if listens || self.stopping.load(Ordering::Relaxed) {
            return false;
        }
        // Until the scan: no folder is watched yet.
        self.whole.store(false, Ordering::Release);
        let seconds = self.settings.load().poll_seconds;
        watch.poll_seconds = seconds;
        let polling = |reason: String| Watching::Polling { seconds, reason };
        match self.remote_file_system() {
            Some(kind) => {
                watch.state = polling(format!("the vault lies on {kind}, which sends no events"));
            }
            None => match Events::start(self) {
                Ok(events) => watch.events = Some(Arc::new(events)),
                Err(reason) => watch.state = polling(reason),
            },
        }
        true
    }

    /// Starts noticing changes, on a thread that [`Self::stop`] ends. What changed since the first
    /// scan is taken in before it returns, or is told already where the system was asked before that
    /// scan ([`super::Vault::open_watched`]). A second call does nothing.
    pub fn watch(self: &Arc<Self>) {
        let is_news = self.listen();
        let mut watch = lock(&self.watch);
        if watch.running.is_some() || self.stopping.load(Ordering::Relaxed) {
            return;
        }
        let stop = Arc::new(platform::Stop::new());
        let thread = std::thread::Builder::new().name("vault-watch".to_owned()).spawn({
            // Not a handle that keeps the vault alive: the thread ends with it.
            let (watcher, events) = (Arc::downgrade(self), watch.events.clone());
            let stop = stop.clone();
            move || run(&watcher, events.as_deref(), &stop)
        });
        watch.running = Some(Running { stop, thread: thread.ok() });
        drop(watch);
        // What changed between the first scan and the first watch.
        if is_news && let Err(error) = self.rescan() {
            self.warn(format!("the vault could not be scanned: {error}"));
        }
        // For a start after one that was cut short.
        if !remembered::is_kept(self.recovery.state()) {
            self.remember();
        }
    }

    /// Keeps the catalogue for the next start.
    fn remember(&self) {
        let bytes = self.known().to_bytes();
        let _one = lock(&self.scanning);
        remembered::keep(self.recovery.state(), &bytes);
    }

    /// Stops watching and finishes what runs in the background.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        let watcher = lock(&self.watch).stop();
        if let Some(thread) = watcher {
            let _ = thread.join();
            // Only who was told of every change knows what the next start would find.
            self.remember();
        }
        self.late.finish(&self.recovery);
    }

    /// What the system tells by, where it does.
    fn events(&self) -> Option<Arc<Events>> {
        let watch = match self.watch.try_lock() {
            Ok(watch) => watch,
            // Whoever has it may be setting thousands of watches.
            Err(_) if glance::would_wait() => return None,
            Err(_) => lock(&self.watch),
        };
        watch.events.clone()
    }

    /// Whether the system tells of every change: what [`Self::settle`] has taken in is then true.
    pub fn is_told_of_changes(&self) -> bool {
        let told = self.events().is_some_and(|events| events.limited().is_none());
        told && self.whole.load(Ordering::Acquire)
    }

    /// Takes in what the system has told so far, so that an answer made now is true of the disk as
    /// it was when the question came. Cheap when nothing has happened.
    pub fn settle(&self) {
        if glance::is_on() {
            if !self.is_settled() {
                glance::would_wait();
            }
            return;
        }
        if let Some(events) = self.events() {
            self.take(&events);
        }
    }

    /// Whether there is nothing to be taken in, and nobody is at it: found out without waiting.
    fn is_settled(&self) -> bool {
        // Whoever asks has the catalogue read next.
        if self.catalogue.try_read().is_err() {
            return false;
        }
        let Ok(watch) = self.watch.try_lock() else { return false };
        let Some(events) = &watch.events else { return true };
        events.turn.try_lock().is_ok() && events.has_none()
    }

    fn take(&self, events: &Events) {
        let _turn = lock(&events.turn);
        let mut changed: Vec<VaultPath> = Vec::new();
        for told in events.drain(self) {
            if let Told::Changed(path) = told {
                changed.push(path);
                continue;
            }
            // What was told before comes before.
            absorb(self, &std::mem::take(&mut changed));
            match told {
                Told::Changed(_) => {}
                Told::NewFolder(path) => self.look_through(&path),
                Told::Renamed(from, to) => self.renamed(&from, &to),
                Told::Lost => {
                    if let Err(error) = self.rescan() {
                        self.warn(format!("the vault could not be scanned: {error}"));
                    }
                }
            }
        }
        absorb(self, &changed);
    }
}

/// How long the thread lets events gather that nobody asks about.
const MOMENT: Duration = Duration::from_millis(2);

/// How soon the thread looks again while displaced versions are watched for late writes, or the vault is
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
            // A save is several events within a moment. Whoever asks takes in what was told without
            // waiting for this thread, which would be at it just then and hold it up.
            platform::wait(None, stop, Some(MOMENT));
        }
        let Some(held) = watcher.upgrade() else { return };
        if stop.stopped() {
            return;
        }
        if let Some(events) = events {
            held.take(events);
        }
        held.late.check(&held.recovery, Instant::now());
        // It may be back, or another in its place, which nothing tells of.
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
