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

use super::DATABASE;
use super::database::log_of;

/// The mark's place in the state folder.
fn place(folder: &Path) -> PathBuf {
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
    use super::super::Store;
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

    /// A store with one setting and today's copy, cleanly ended.
    fn ended() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        store.prepare().unwrap();
        store.keep_setting("kept", Some("early")).unwrap();
        // The daily copy has it.
        std::fs::remove_dir_all(folder.path().join("backups")).unwrap();
        store.back_up().unwrap();
        store.keep_setting("kept", Some("late")).unwrap();
        store.end();
        let database = folder.path().join(DATABASE);
        (folder, database)
    }

    /// Waits for the thread that looks through the database and copies it: at work in a folder while
    /// that is taken away it leaves some of it behind.
    fn wait_for_thread(store: &Store) {
        while std::sync::Arc::strong_count(&store.0) > 1 {
            std::thread::yield_now();
        }
    }

    /// Damages a page that opening does not read, as a disk does: no time of the file says so.
    fn damage(folder: &Path, database: &Path) {
        let connection = rusqlite::Connection::open(database).unwrap();
        let query = "SELECT rootpage FROM sqlite_schema WHERE name = 'audit_asked'";
        let page: u32 = connection.query_row(query, [], |row| row.get(0)).unwrap();
        connection.close().unwrap();
        let mut bytes = std::fs::read(database).unwrap();
        let end = page as usize * 4_096;
        bytes[end - 4_096..end].fill(0xff);
        std::fs::write(database, bytes).unwrap();
        leave(folder).unwrap();
    }

    #[test]
    fn after_a_clean_end_the_look_is_later_and_all_is_there() {
        let (folder, database) = ended();
        assert!(!log_of(&database).exists() && place(folder.path()).is_file());
        let store = Store::at(folder.path());
        assert_eq!(store.prepare().unwrap().warnings, [""; 0]);
        assert!(!place(folder.path()).exists(), "the mark holds for one start");
        assert_eq!(store.setting("kept").unwrap().as_deref(), Some("late"));
        store.keep_setting("more", Some("x")).unwrap();
        assert_eq!(store.found_later(), [""; 0]);
        wait_for_thread(&store);
        // Without an end there is no mark.
        drop(store);
        assert!(!place(folder.path()).exists());
    }

    #[test]
    fn damage_after_a_clean_end_is_repaired_before_anything_is_written() {
        let (folder, database) = ended();
        damage(folder.path(), &database);
        let store = Store::at(folder.path());
        assert_eq!(store.prepare().unwrap().warnings, [""; 0], "it does not show at once");
        // Others that read meanwhile; what they are told is of the damaged one, if anything.
        let others = [store.another(), store.another()];
        let _ = others.each_ref().map(|other| other.setting("kept"));
        store.keep_setting("written", Some("after")).unwrap();
        for other in &others {
            assert_eq!(other.setting("written").unwrap().as_deref(), Some("after"));
            other.keep_setting("by another", Some("too")).unwrap();
        }
        let told = store.found_later();
        assert!(told.len() == 1 && told[0].contains("took its place"), "{told:?}");
        assert!(store.has_moved_aside().unwrap(), "what was there is kept");
        assert_eq!(store.setting("kept").unwrap().as_deref(), Some("early"), "from the copy");
        wait_for_thread(&store);
        store.end();
        assert!(!place(folder.path()).exists(), "others are not at their end");
        others.iter().for_each(Store::end);
        assert!(place(folder.path()).is_file());
        let store = Store::at(folder.path());
        assert_eq!(store.prepare().unwrap().warnings, [""; 0]);
        assert_eq!(store.setting("written").unwrap().as_deref(), Some("after"));
        wait_for_thread(&store);
    }

    /// One that is made while the database changes places would open the old one, and find it gone.
    #[test]
    fn while_it_is_closed_nobody_comes_to_it() {
        let (folder, _) = ended();
        let store = Store::at(folder.path());
        let others = [store.another(), store.another()];
        others.iter().for_each(|other| drop(other.setting("kept").unwrap()));
        store.closed(|| {
            assert!(store.0.soundness.all.try_lock().is_err(), "another could be made");
            for there in [&store, &others[0], &others[1]] {
                assert!(there.0.database.try_lock().is_err(), "one could be opened");
            }
        });
        assert_eq!(store.another().setting("kept").unwrap().as_deref(), Some("late"));
    }

    #[test]
    fn a_store_that_was_not_looked_through_leaves_no_mark() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        store.keep_setting("kept", Some("early")).unwrap();
        store.end();
        assert!(!place(folder.path()).exists());
        assert_eq!(store.setting("kept").unwrap().as_deref(), Some("early"), "it opens again");
    }

    #[test]
    fn nothing_is_written_where_damage_cannot_be_repaired() {
        let (folder, database) = ended();
        damage(folder.path(), &database);
        // The good copy cannot be put in its place: where it would be copied to, a folder lies.
        std::fs::create_dir_all(folder.path().join(format!("{DATABASE}.restored/full"))).unwrap();
        let store = Store::at(folder.path());
        assert_eq!(store.prepare().unwrap().warnings, [""; 0], "it does not show at once");
        let refused = store.keep_setting("written", Some("after")).unwrap_err();
        assert!(refused.is_damage(), "{refused}");
        assert!(store.found_later()[0].contains("cannot be used"), "{:?}", store.found_later());
        // Another start repairs it once that is possible.
        std::fs::remove_dir_all(folder.path().join(format!("{DATABASE}.restored"))).unwrap();
        assert_eq!(store.prepare().unwrap().warnings.len(), 1);
        assert_eq!(store.setting("kept").unwrap().as_deref(), Some("early"), "from the copy");
        assert!(store.has_moved_aside().unwrap(), "what was there is kept");
        wait_for_thread(&store);
    }
}
