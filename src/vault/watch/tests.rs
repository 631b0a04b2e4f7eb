//! Lost events, and a scan that is stopped.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use super::{FsEvent, Watching};
use crate::locks::lock;
use crate::vault::{ChangeKind, Settings, Vault};

/// A vault with events, without the thread that applies them.
fn listening(folder: &TempDir) -> Vault {
    let (place, state) = (folder.path().join("vault"), folder.path().join("state"));
    fs::create_dir(&place).expect("made");
    fs::create_dir(&state).expect("made");
    let opened = Vault::open_watched(&place, &state, Settings::default(), &|_| ());
    opened.expect("opened").0
}

/// Overflows the kernel's event queue.
fn flood(place: &Path) {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").expect("read");
    let limit: usize = limit.trim().parse().expect("a number");
    let (one, other) = (place.join("to.md"), place.join("fro.md"));
    fs::write(&one, "x").expect("written");
    // Each way is two events.
    for _ in 0..=limit / 4 {
        fs::rename(&one, &other).expect("moved");
        fs::rename(&other, &one).expect("moved");
    }
}

#[test]
fn an_overflow_is_reported_as_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let vault = listening(&folder);
    let events = vault.events().expect("events");
    fs::write(vault.root().join("a.md"), "x").expect("written");
    assert!(!events.drain(&vault).contains(&FsEvent::Lost));
    flood(vault.root());
    let drained = events.drain(&vault);
    assert!(drained == [FsEvent::Lost], "{} events", drained.len());
    assert!(events.is_empty(), "nothing of the flood is left");
    // Later events arrive.
    assert_eq!(vault.watching(), Watching::Events { folders: 1 });
    fs::remove_file(vault.root().join("a.md")).expect("removed");
    assert_eq!(events.drain(&vault).len(), 1);
}

#[test]
fn a_rename_is_one_event_even_if_it_is_read_half_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let vault = listening(&folder);
    let place = |name: &str, n: usize| vault.root().join(format!("{name} {n}.md"));
    let files = 1_000;
    (0..files).for_each(|n| fs::write(place("old", n), "x").expect("written"));
    vault.settle();
    let renames = Arc::<AtomicUsize>::default();
    let counter = Arc::clone(&renames);
    vault.subscribe(Box::new(move |change| {
        let is_rename = matches!(change.kind, ChangeKind::Renamed { .. });
        counter.fetch_add(usize::from(is_rename), Ordering::Relaxed);
    }));
    std::thread::scope(|scope| {
        let rename = |n| fs::rename(place("old", n), place("new", n)).expect("renamed");
        let renaming = scope.spawn(move || (0..files).for_each(rename));
        while !renaming.is_finished() {
            vault.settle();
        }
    });
    vault.settle();
    assert_eq!(renames.load(Ordering::Relaxed), files);
}

#[test]
fn a_stopped_scan_collects_nothing_any_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let vault = listening(&folder);
    vault.stopping.store(true, Ordering::Relaxed);
    vault.scan_all(&|_| ()).expect("given up");
    assert_eq!(*lock(&vault.touched), None);
}
