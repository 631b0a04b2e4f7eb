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
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{Vault, View, glance, lock};
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
pub(super) enum Told {
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
pub(super) struct Watch {
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

impl Vault {
    /// Asks the system to tell of changes: each folder from when a walk comes to it, so that a scan has
    /// to follow. Whether it was not asked before.
    pub(super) fn listen(&self) -> bool {
        let mut watch = lock(&self.0.watch);
        let listens = watch.events.is_some() || watch.state != Watching::Off;
        if listens || self.0.stopping.load(Ordering::Relaxed) {
            return false;
        }
        // Until the scan: no folder is watched yet.
        self.0.whole.store(false, Ordering::Release);
        let seconds = self.0.settings.load().poll_seconds;
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

    /// Starts noticing changes, on a thread that [`Vault::stop`] ends. What changed since the first
    /// scan is taken in before it returns, or is told already where the system was asked before that
    /// scan ([`Vault::open_watched`]). A second call does nothing.
    pub fn watch(&self) {
        let is_news = self.listen();
        let mut watch = lock(&self.0.watch);
        if watch.running.is_some() || self.0.stopping.load(Ordering::Relaxed) {
            return;
        }
        let stop = Arc::new(platform::Stop::new());
        let thread = std::thread::Builder::new().name("vault-watch".to_owned()).spawn({
            // Not a handle that keeps the vault alive: the thread ends with it.
            let (vault, events) = (Arc::downgrade(&self.0), watch.events.clone());
            let stop = stop.clone();
            move || run(&vault, events.as_deref(), &stop)
        });
        watch.running = Some(Running { stop, thread: thread.ok() });
        drop(watch);
        // What changed between the first scan and the first watch.
        if is_news && let Err(error) = self.rescan() {
            self.warn(format!("the vault could not be scanned: {error}"));
        }
        // For a start after one that was cut short.
        if !self.remembers() {
            self.remember();
        }
    }

    /// What the system tells by, where it does.
    pub(super) fn events(&self) -> Option<Arc<Events>> {
        let watch = match self.0.watch.try_lock() {
            Ok(watch) => watch,
            // Whoever has it may be setting thousands of watches.
            Err(_) if glance::would_wait() => return None,
            Err(_) => lock(&self.0.watch),
        };
        watch.events.clone()
    }

    /// Whether the system tells of every change: what [`Vault::settle`] has taken in is then true.
    pub fn is_told_of_changes(&self) -> bool {
        let told = self.events().is_some_and(|events| events.limited().is_none());
        told && self.0.whole.load(Ordering::Acquire)
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
        if self.0.catalogue.try_read().is_err() {
            return false;
        }
        let Ok(watch) = self.0.watch.try_lock() else { return false };
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
            self.absorb(&std::mem::take(&mut changed));
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
        self.absorb(&changed);
    }

    /// Looks at a folder with all below it once more, as at a new one after it is watched: what was
    /// put into it before is not told.
    pub(super) fn refresh_tree(&self, path: &VaultPath) {
        self.refresh_folder(path);
        let below: Vec<VaultPath> = self
            .catalogue()
            .within(path)
            .filter(|entry| entry.kind == super::Kind::Folder)
            .map(|entry| entry.path().to_path())
            .collect();
        below.iter().for_each(|folder| {
            self.refresh_folder(folder);
        });
    }
}

/// How long the thread lets events gather that nobody asks about.
const MOMENT: Duration = Duration::from_millis(2);

/// How soon the thread looks again while displaced versions are watched for late writes.
const TICK: Duration = Duration::from_secs(1);

fn run(vault: &std::sync::Weak<super::Inner>, events: Option<&Events>, stop: &platform::Stop) {
    let period = |vault: &super::Inner| {
        let settings = vault.settings.load();
        match events {
            Some(events) if events.limited().is_none() => {
                let rescans = Duration::from_secs(u64::from(settings.rescan_minutes) * 60);
                Some(rescans).filter(|period| !period.is_zero())
            }
            _ => Some(Duration::from_secs(u64::from(settings.poll_seconds.max(1)))),
        }
    };
    let mut last = Instant::now();
    let mut gone = false;
    loop {
        let Some(inner) = vault.upgrade() else { return };
        let watching_late = !inner.late.is_empty();
        let until = period(&inner).map(|period| period.saturating_sub(last.elapsed()));
        // The wait may be long, and must not keep the vault alive.
        drop(inner);
        let limit = if watching_late { Some(until.unwrap_or(TICK).min(TICK)) } else { until };
        platform::wait(events, stop, limit);
        if !stop.stopped() {
            // A save is several events within a moment. Whoever asks takes in what was told without
            // waiting for this thread, which would be at it just then and hold it up.
            platform::wait(None, stop, Some(MOMENT));
        }
        let Some(inner) = vault.upgrade() else { return };
        let vault = Vault(inner, View::default());
        if stop.stopped() {
            return;
        }
        if let Some(events) = events {
            vault.take(events);
        }
        vault.0.late.check(&vault, Instant::now());
        if period(&vault.0).is_some_and(|period| last.elapsed() >= period) {
            last = Instant::now();
            match vault.rescan() {
                Ok(()) => gone = false,
                Err(error) if !std::mem::replace(&mut gone, true) => vault.warn(error.to_string()),
                Err(_) => {}
            }
        }
    }
}
