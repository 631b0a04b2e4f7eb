//! The marker file of a clean shutdown, with which the next start postpones the integrity check.
//!
//! The marker is a hint: it is valid only if the database's inode, size, mtime and ctime match and there
//! is no write-ahead log. It is removed at startup; without a valid one the database is checked first.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use super::file::{DATABASE, log_of};

pub(super) fn marker_path(folder: &Path) -> PathBuf {
    folder.join(format!("{DATABASE}.ended"))
}

/// The file's identity and times; `None` if there is a log, or on a system without such an identity.
fn fingerprint(folder: &Path) -> Option<String> {
    let database = folder.join(DATABASE);
    // An empty log counts, too: a process has the database open.
    if log_of(&database).exists() {
        return None;
    }
    describe(&std::fs::metadata(database).ok()?)
}

#[cfg(unix)]
fn describe(meta: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let (modified, changed) =
        ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
    Some(format!("{} {} {} {modified:?} {changed:?}", meta.dev(), meta.ino(), meta.len()))
}

/// Windows has no change time that programs cannot set.
#[cfg(not(unix))]
fn describe(_: &Metadata) -> Option<String> {
    None
}

/// Writes the marker, after a sound database was closed.
pub(super) fn write_marker(folder: &Path) -> io::Result<()> {
    match fingerprint(folder) {
        // Not written atomically: a partial marker is not valid.
        Some(fingerprint) => std::fs::write(marker_path(folder), fingerprint),
        None => Ok(()),
    }
}

/// Writes a removed marker again if it still describes the database.
pub(super) fn put_back(folder: &Path, marker: Option<&str>) -> io::Result<()> {
    match marker.filter(|marker| fingerprint(folder).as_deref() == Some(*marker)) {
        Some(marker) => std::fs::write(marker_path(folder), marker),
        None => Ok(()),
    }
}

/// Removes the marker, and returns it if it was valid.
pub(super) fn take_marker(folder: &Path) -> Option<String> {
    let path = marker_path(folder);
    let marker = std::fs::read_to_string(&path).ok()?;
    // If it cannot be removed it does not count: the next start could take it for another shutdown's.
    std::fs::remove_file(&path).ok()?;
    (fingerprint(folder).as_deref() == Some(&*marker)).then_some(marker)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_valid_once_and_for_an_unchanged_database() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, database) = (folder.path(), folder.path().join(DATABASE));
        let is_valid = |folder| take_marker(folder).is_some();
        std::fs::write(&database, "some pages").unwrap();
        assert!(!is_valid(folder), "there is none");
        write_marker(folder).unwrap();
        assert!(is_valid(folder), "it is valid");
        assert!(!is_valid(folder), "once");
        type Change = fn(&Path);
        let changes: [(&str, Change); 4] = [
            ("written to", |database| std::fs::write(database, "some more pages").unwrap()),
            ("replaced", |database| {
                std::fs::copy(database, database.with_extension("new")).unwrap();
                std::fs::rename(database.with_extension("new"), database).unwrap();
            }),
            ("with a log", |database| std::fs::write(log_of(database), "").unwrap()),
            ("gone", |database| std::fs::remove_file(database).unwrap()),
        ];
        for (name, change) in changes {
            write_marker(folder).unwrap();
            change(&database);
            assert!(!is_valid(folder), "{name}");
            let _ = std::fs::remove_file(log_of(&database));
            std::fs::write(&database, "some pages").unwrap();
        }
        write_marker(folder).unwrap();
        std::fs::write(marker_path(folder), "half of").unwrap();
        assert!(!is_valid(folder), "another");
    }
}
