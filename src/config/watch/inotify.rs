//! Linux: watches with inotify the folders that decide which file the path leads to.
//!
//! It does not watch the file itself, because an editor that replaces the file would remove the
//! watch with it. It watches the file's folder, or the nearest existing one above; for a link, also
//! the target's folder.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Changes of names and contents. Not opens and reads, since our own reading would trigger them.
const MASK: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// The interval of checks without events: network file systems report only the changes of this
/// machine.
const POLL_WITHOUT_EVENTS: Duration = Duration::from_secs(60);

/// The system's events about the file.
pub(super) struct Signs {
    path: PathBuf,
    /// `None` if inotify is not available.
    events: Option<Arc<AsyncFd<OwnedFd>>>,
    watched: BTreeSet<i32>,
}

impl Signs {
    pub fn start(path: &Path) -> Self {
        #[expect(
            deprecated,
            reason = "unsound for handles that are not whose they say; this one is owned"
        )]
        let register = AsyncFd::new;
        let begun = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .map_err(std::io::Error::from)
            .and_then(register);
        let events = begun
            .inspect_err(|error| tracing::warn!(%error, "no events for the settings file"))
            .ok();
        let events = events.map(Arc::new);
        let watched = events.as_ref().map(|events| arm(events.get_ref(), path, &BTreeSet::new()));
        Self { path: path.to_path_buf(), events, watched: watched.unwrap_or_default() }
    }

    /// Waits until the file should be checked.
    pub async fn next(&mut self) {
        let Some(events) = self.events.clone() else { return sleep(super::POLL).await };
        if self.watched.is_empty() {
            sleep(super::POLL).await;
        } else {
            tokio::select! {
                ready = events.readable() => {
                    if let Ok(mut ready) = ready {
                        drain(events.get_ref());
                        ready.clear_ready();
                    }
                }
                () = sleep(POLL_WITHOUT_EVENTS) => {}
            }
        }
        let (path, watched) = (self.path.clone(), std::mem::take(&mut self.watched));
        // This accesses the file system, so it runs on a thread that may block.
        let armed = spawn_blocking(move || arm(events.get_ref(), &path, &watched)).await;
        self.watched = armed.unwrap_or_default();
    }
}

/// Watches the folders that matter now, instead of `before`. Checks again after adding each watch,
/// to find folders created in the meantime.
fn arm(events: &OwnedFd, path: &Path, before: &BTreeSet<i32>) -> BTreeSet<i32> {
    let mut current = BTreeSet::new();
    let mut last = Vec::new();
    loop {
        let folders = folders(path);
        if folders == last {
            break;
        }
        for folder in &folders {
            match inotify::add_watch(events, folder, MASK) {
                Ok(watch) => drop(current.insert(watch)),
                Err(error) => {
                    let folder = folder.display();
                    tracing::debug!(%error, %folder, "could not watch a folder");
                }
            }
        }
        last = folders;
    }
    for gone in before.difference(&current) {
        let _ = inotify::remove_watch(events, *gone);
    }
    current
}

/// The nearest existing folders above the file, for its path and for the target of a link.
fn folders(path: &Path) -> Vec<PathBuf> {
    let nearest = |path: &Path| {
        path.ancestors().skip(1).find(|folder| folder.is_dir()).map(Path::to_path_buf)
    };
    let real = dunce::canonicalize(path).ok();
    nearest(path).into_iter().chain(real.as_deref().and_then(nearest)).collect()
}

/// Discards the events and returns their number of bytes: events only trigger a check.
fn drain(events: &OwnedFd) -> usize {
    let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
    let mut reader = inotify::Reader::new(events, &mut buffer);
    let mut count = 0;
    loop {
        match reader.next() {
            Ok(_) => count += 1,
            Err(Errno::INTR) => {}
            Err(_) => return count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folders_count() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let file = place.join("a/b/config.toml");
        assert_eq!(folders(&file), [place.join("")]);
        std::fs::create_dir_all(place.join("a/b")).unwrap();
        std::fs::create_dir(place.join("dots")).unwrap();
        assert_eq!(folders(&file), [place.join("a/b")]);
        std::fs::write(place.join("dots/mine.toml"), "").unwrap();
        std::os::unix::fs::symlink(place.join("dots/mine.toml"), &file).unwrap();
        assert_eq!(folders(&file), [place.join("a/b"), place.join("dots")]);
    }

    #[test]
    fn every_kind_of_change_is_reported_and_reading_is_not() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let file = at("later/config.toml");
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
        let mut watched = arm(&events, &file, &BTreeSet::new());
        let changes: [&dyn Fn(); 7] = [
            &|| std::fs::create_dir(at("later")).unwrap(),
            &|| std::fs::write(&file, "a").unwrap(),
            &|| std::fs::write(&file, "b").unwrap(),
            &|| {
                std::fs::write(at("new"), "c").unwrap();
                std::fs::rename(at("new"), &file).unwrap();
            },
            &|| std::fs::remove_file(&file).unwrap(),
            &|| std::fs::remove_dir(at("later")).unwrap(),
            &|| {
                std::fs::create_dir(at("later")).unwrap();
                std::fs::write(&file, "d").unwrap();
            },
        ];
        for (number, change) in changes.iter().enumerate() {
            change();
            assert!(drain(&events) > 0, "change {number}");
            watched = arm(&events, &file, &watched);
            drain(&events);
        }
        std::fs::read(&file).unwrap();
        assert_eq!(drain(&events), 0);
    }
}
