//! Where a scan is given up.

use std::fs;
use std::sync::atomic::Ordering;

use tempfile::TempDir;

use crate::vault::{Settings, Vault, lock};

/// A vault that the system tells of, without the thread that takes in what it tells.
fn listening(folder: &TempDir) -> Vault {
    let (place, state) = (folder.path().join("vault"), folder.path().join("state"));
    fs::create_dir(&place).expect("made");
    fs::create_dir(&state).expect("made");
    let opened = Vault::open_watched(&place, &state, Settings::default(), &|_| ());
    opened.expect("opened")
}

#[test]
fn a_scan_that_is_given_up_collects_nothing_any_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let vault = listening(&folder);
    vault.0.stopping.store(true, Ordering::Relaxed);
    vault.scan_all(&|_| ()).expect("given up");
    assert_eq!(*lock(&vault.0.touched), None);
}
