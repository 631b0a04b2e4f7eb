//! A test's requirements of the machine, and the handling of missing ones.
//!
//! A test that cannot run must not look like one that passed. If this machine lacks something, the
//! test reports it through [`missing`] and returns: plain `cargo test` prints it, `scripts/test`
//! lists it at the end. In CI, where nothing may be missing, it fails instead.

#![allow(dead_code, reason = "each file of tests takes from here what it needs")]

use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A folder on a file system that cannot exchange two files (exFAT), empty for this `test`.
pub fn exfat(test: &str) -> Option<PathBuf> {
    mounted("STEWARD_TEST_EXFAT", test, "an exFAT file system")
}

/// A folder on a file system of one megabyte, which this `test` uses exclusively until the guard is
/// dropped.
pub fn nearly_full(test: &str) -> Option<Alone> {
    static FULL: Mutex<()> = Mutex::new(());
    let alone = FULL.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = mounted("STEWARD_TEST_FULL", test, "a file system to fill")?;
    Some(Alone { folder, _alone: alone })
}

/// A folder that is deleted, which frees its room, when its test has finished.
pub struct Alone {
    folder: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Deref for Alone {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A folder on a file system that holds few files, empty for this `test`.
pub fn few_inodes(test: &str) -> Option<PathBuf> {
    mounted("STEWARD_TEST_INODES", test, "a file system for few files")
}

/// A folder on a file system that only this `test` remounts, directly below its root.
pub fn remountable(test: &str) -> Option<PathBuf> {
    mounted("STEWARD_TEST_REMOUNT", test, "a file system to remount")
}

/// A folder for a vault with entries that only root can create: a file system mounted on `Mounted`,
/// a kernel file that never states its size on `endless.md`, the devices `zero.md` and `disk.md`.
/// Tests share it; each uses its own names.
pub fn odd(test: &str) -> Option<PathBuf> {
    let place = std::env::var_os("STEWARD_TEST_ODD").map(PathBuf::from);
    if place.is_none() && !not_possible_elsewhere(test, "a folder with devices") {
        missing(test, "a folder with devices and mounts in it");
    }
    place
}

/// Whether `program` can be started, to compare with.
pub fn has_program(program: &str, test: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        missing(test, &format!("`{program}`"));
    }
    found
}

/// Records that `test` did not run because `what` is missing.
///
/// # Panics
///
/// In CI, where nothing may be missing.
pub fn missing(test: &str, what: &str) {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(
        !in_ci,
        "`{test}` needs {what}, and in CI every test has to run; start the tests by scripts/test"
    );
    // Not with `eprintln!`, which the test harness hides for tests that pass.
    let _ = writeln!(std::io::stderr(), "not run: {test} (needs {what})");
    if let Some(file) = std::env::var_os("STEWARD_TEST_NOT_RUN") {
        let mut file = std::fs::File::options()
            .append(true)
            .create(true)
            .open(file)
            .expect("scripts/test made the file");
        writeln!(file, "{test} (needs {what})").expect("a line can be added");
    }
}

/// On another file system (`STEWARD_TEST_VAULTS`) or on another system than Linux not every test
/// can run: this records that `test` cannot, because `what` is missing. `false` anywhere else.
pub fn not_possible_elsewhere(test: &str, what: &str) -> bool {
    if cfg!(target_os = "linux") && std::env::var_os("STEWARD_TEST_VAULTS").is_none() {
        return false;
    }
    eprintln!("not possible here: {test} (needs {what})");
    if let Some(file) = std::env::var_os("STEWARD_TEST_NOT_POSSIBLE") {
        let file = std::fs::File::options().append(true).create(true).open(file);
        let mut file = file.expect("whoever runs the suite made the file");
        writeln!(file, "{test} (needs {what})").expect("a line can be added");
    }
    true
}

fn mounted(variable: &str, test: &str, what: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os(variable) else {
        if !not_possible_elsewhere(test, what) {
            missing(test, what);
        }
        return None;
    };
    let folder = PathBuf::from(root).join(test);
    // An interrupted run can have left its folder.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("scripts/test mounted it for writing");
    Some(folder)
}
