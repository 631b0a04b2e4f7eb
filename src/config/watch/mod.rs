//! Detects changes of the settings file.
//!
//! Events are only hints. After each event, and at intervals without one, this checks the file's
//! metadata, and reads the file only if it changed and then stayed unchanged for a while. Therefore
//! an editor that writes in pieces or replaces the file causes one change, and reading the file
//! causes none.

#![expect(clippy::disallowed_methods, reason = "the settings file, which is never in a vault")]

#[cfg(target_os = "linux")]
#[path = "inotify.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "polling.rs"]
mod platform;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::live::{InvalidFile, Live};

/// How long the file must stay unchanged before it is read.
const QUIET: Duration = Duration::from_millis(500);

/// How long to wait for a file that keeps changing.
const PATIENCE: Duration = Duration::from_secs(5);

/// The interval of checks without events.
pub(super) const POLL: Duration = Duration::from_secs(2);

/// A file's metadata; if it differs, the file has changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct FileStamp {
    size: u64,
    modified: Option<SystemTime>,
    /// On Unix: device, inode and ctime.
    identity: (u64, u64, i64, i64),
}

/// The current metadata; `None` if the file does not exist.
fn stamp_of(path: &Path) -> Option<FileStamp> {
    let meta = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let identity = {
        use std::os::unix::fs::MetadataExt as _;
        (meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec())
    };
    #[cfg(not(unix))]
    let identity = Default::default();
    Some(FileStamp { size: meta.len(), modified: meta.modified().ok(), identity })
}

/// Watches the file of `live` until dropped.
pub async fn follow(live: Arc<Live>) {
    let mut signs = platform::Signs::start(live.path());
    let mut known = None;
    loop {
        let now = stamp(live.path().to_path_buf()).await;
        if known.as_ref() != Some(&now) {
            known = Some(wait_until_stable(now, || stamp(live.path().to_path_buf())).await);
            let live = Arc::clone(&live);
            if let Err(error) = spawn_blocking(move || live.check(InvalidFile::Reject)).await {
                tracing::error!(%error, "checking the settings stopped unexpectedly");
            }
        }
        signs.next().await;
    }
}

/// [`stamp_of`] on a thread that may block.
async fn stamp(path: PathBuf) -> Option<FileStamp> {
    spawn_blocking(move || stamp_of(&path)).await.unwrap_or_default()
}

/// Waits until two checks in a row, [`QUIET`] apart, are equal, and returns the result.
async fn wait_until_stable<S: PartialEq, F: Future<Output = S>>(
    first: S,
    check: impl Fn() -> F,
) -> S {
    let until = Instant::now() + PATIENCE;
    let mut last = first;
    loop {
        sleep(QUIET).await;
        let now = check().await;
        if now == last || Instant::now() >= until {
            return now;
        }
        last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clock of these tests stops until all tasks wait for it, and then jumps.
    #[tokio::test(start_paused = true)]
    async fn a_file_is_read_when_it_has_been_quiet() {
        let started = Instant::now();
        // Written in pieces for a second and a half, as a slow editor does.
        let size = || async { started.elapsed().as_millis().min(1500) };
        assert_eq!(wait_until_stable(0, size).await, 1500);
        assert_eq!(started.elapsed(), Duration::from_millis(2000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_constantly_changing_file_is_read() {
        let started = Instant::now();
        wait_until_stable(0, || async { started.elapsed().as_millis() }).await;
        assert_eq!(started.elapsed(), PATIENCE);
    }

    #[test]
    fn another_file_of_the_same_size_has_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        assert_eq!(stamp_of(&path), None);
        std::fs::write(&path, "a").unwrap();
        let first = stamp_of(&path);
        std::fs::write(folder.path().join("new"), "b").unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
        assert_ne!(stamp_of(&path), first);
    }
}
