//! What a clean end leaves, so that the next start need not look through the whole database before
//! anybody is served: which file it was, and how it stood.
//!
//! The mark says nothing that has to be believed. It holds only while the database's file is the very
//! one, with the size and the times that it had, and no log beside it: whatever was written since shows
//! in one of these. It is taken away at the start, and a start that finds none, or one that does not
//! hold, looks through everything first.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use super::file::{DATABASE, log_of};

/// The mark's place in the state folder.
pub(super) fn place(folder: &Path) -> PathBuf {
    folder.join(format!("{DATABASE}.ended"))
}

/// How the database stands; `None` while there is a log, or where a file cannot be told from another.
fn standing(folder: &Path) -> Option<String> {
    let database = folder.join(DATABASE);
    // An empty log is one, too: somebody has the database open.
    if log_of(&database).exists() {
        return None;
    }
    described(&std::fs::metadata(database).ok()?)
}

#[cfg(unix)]
fn described(meta: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let (modified, changed) =
        ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
    Some(format!("{} {} {} {modified:?} {changed:?}", meta.dev(), meta.ino(), meta.len()))
}

/// Windows has no time of change that nobody can set.
#[cfg(not(unix))]
fn described(_: &Metadata) -> Option<String> {
    None
}

/// Leaves the mark, for whoever has just closed a sound database.
///
/// # Errors
/// As the system says; there is no mark then.
pub(super) fn leave(folder: &Path) -> io::Result<()> {
    match standing(folder) {
        // Half of it would not hold, so it need not appear all at once.
        Some(standing) => std::fs::write(place(folder), standing),
        None => Ok(()),
    }
}

/// Takes the mark away; whether it held.
pub(super) fn take(folder: &Path) -> bool {
    let place = place(folder);
    let Ok(marked) = std::fs::read_to_string(&place) else { return false };
    // One that stays would be looked at again by the next start, and may hold then without an end.
    std::fs::remove_file(&place).is_ok() && standing(folder) == Some(marked)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_holds_once_and_for_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, database) = (folder.path(), folder.path().join(DATABASE));
        std::fs::write(&database, "some pages").unwrap();
        assert!(!take(folder), "there is none");
        leave(folder).unwrap();
        assert!(take(folder), "it holds");
        assert!(!take(folder), "once");
        type Harm = fn(&Path);
        let harms: [(&str, Harm); 4] = [
            ("written to", |database| std::fs::write(database, "some more pages").unwrap()),
            ("replaced", |database| {
                std::fs::copy(database, database.with_extension("new")).unwrap();
                std::fs::rename(database.with_extension("new"), database).unwrap();
            }),
            ("with a log", |database| std::fs::write(log_of(database), "").unwrap()),
            ("gone", |database| std::fs::remove_file(database).unwrap()),
        ];
        for (name, harm) in harms {
            leave(folder).unwrap();
            harm(&database);
            assert!(!take(folder), "{name}");
            let _ = std::fs::remove_file(log_of(&database));
            std::fs::write(&database, "some pages").unwrap();
        }
        leave(folder).unwrap();
        std::fs::write(place(folder), "half of").unwrap();
        assert!(!take(folder), "another");
    }
}
