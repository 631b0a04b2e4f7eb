//! Files in the trash are listed with their real content and age.

#[cfg(unix)]
use std::collections::BTreeMap;
use std::fs;
#[cfg(unix)]
use std::path::Path;

use chrono::{Duration, Utc};
#[cfg(unix)]
use tempfile::TempDir;
#[cfg(unix)]
use vault_steward::journal::{ChangeSet, Target};
use vault_steward::journal::{Emptied, Empty, Origin, TrashItem, TrashPlace, UndoError};
use vault_steward::note::path::VaultPath;

#[cfg(unix)]
use crate::abilities::{Ability, can};
use crate::changes::{delete, write};
#[cfg(unix)]
use crate::machine;
#[cfg(unix)]
use crate::vault::JournalAlone as _;
use crate::vault::{TestVault, TrashAlone as _, is_sound, vault};

impl TestVault {
    fn trash(&self) -> Vec<TrashItem> {
        self.journal().trash().list().expect("listed")
    }

    /// Shifts everything done so far back by this many days.
    fn age_operations(&self, days: i64) {
        let database = rusqlite::Connection::open(self.state.join("state.db")).expect("opened");
        let older = "UPDATE operation SET began = began - ?1, ended = ended - ?1";
        assert!(database.execute(older, [days * 86_400_000]).expect("set") > 0);
    }

    fn empty_older(&self, days: i64) -> Vec<String> {
        let time = Utc::now() - Duration::days(days);
        let emptied = self.journal().empty_trash(&Empty::Older(time)).expect("emptied");
        assert!(emptied.left.is_empty(), "{emptied:?}");
        emptied.items.into_iter().map(|item| item.id).collect()
    }
}

/// Whether it is known when another program put something into the trash: no program can set a file's ctime.
const TIME_IS_KNOWN: bool = cfg!(unix);

/// A deletion by a person or another program, and the text that is then in the trash.
type ByHand = (&'static str, fn(&TestVault), &'static str);

#[test]
fn a_file_trashed_today_does_not_inherit_an_earlier_age() {
    let cases: [ByHand; 3] = [
        (
            "taken out, written in, and put back",
            |vault| {
                let (inside, outside) = (vault.place.join(".trash/x.md"), vault.place.join("x.md"));
                fs::rename(&inside, &outside).expect("taken out");
                fs::write(&outside, "- [ ] call Ann\nof today\n").expect("written in");
                fs::rename(&outside, &inside).expect("put back");
            },
            "- [ ] call Ann\nof today\n",
        ),
        (
            "another of the same size",
            |vault| {
                fs::remove_file(vault.place.join(".trash/x.md")).expect("emptied by hand");
                vault.put(".trash/x.md", "- [ ] call Bob\n");
            },
            "- [ ] call Bob\n",
        ),
        (
            "another of the same size and time",
            |vault| {
                let place = vault.place.join(".trash/x.md");
                let time = fs::metadata(&place).and_then(|meta| meta.modified()).expect("a time");
                vault.put(".trash/x.md", "- [ ] call Bob\n");
                let file = fs::File::options().write(true).open(&place).expect("opened");
                file.set_modified(time).expect("set back");
            },
            "- [ ] call Bob\n",
        ),
    ];
    for (name, by_hand, today) in cases {
        let vault = vault(&[("x.md", "- [ ] call Ann\n")]);
        let set = vault.apply(vec![delete("x.md")]);
        vault.age_operations(40);
        by_hand(&vault);
        let (theirs, ours): (Vec<_>, Vec<_>) =
            vault.trash().into_iter().partition(|item| item.id == ".trash/x.md");
        let ([theirs], [ours]) = (&theirs[..], &ours[..]) else { panic!("{name}: {ours:?}") };
        assert_eq!((&theirs.place, &ours.place), (&TrashPlace::Local, &TrashPlace::Text), "{name}");
        assert_eq!(ours.id, format!("{set}.1"), "{name}");
        assert_eq!(theirs.was, None, "{name}: nobody knows where this one was");
        assert_eq!(theirs.deleted.is_some(), TIME_IS_KNOWN, "{name}");
        assert!(theirs.deleted > ours.deleted || !TIME_IS_KNOWN, "{name}");
        assert_eq!(vault.empty_older(30), [""; 0], "{name}");
        assert_eq!(vault.content(".trash/x.md"), today, "{name}");
        // Each is restored by its own name.
        let origin = Origin::default();
        let back = vault.journal().trash().restore(".trash/x.md", None, &origin).expect("restored");
        assert_eq!((back.path.as_str(), vault.content("x.md")), ("x.md", today.into()), "{name}");
        vault.undo(set);
        assert_eq!(vault.content("x (restored).md"), "- [ ] call Ann\n", "{name}");
    }
}

#[test]
fn a_folder_is_as_new_as_its_last_change() {
    let vault = vault(&[("F/Sub/a.md", "a"), ("theirs/Sub/b.md", "b")]);
    vault.apply(vec![delete("F")]);
    fs::rename(vault.place.join("theirs"), vault.place.join(".trash/theirs")).expect("deleted");
    vault.age_operations(40);
    let now = Utc::now();
    for path in [".trash/F/Sub/a.md", ".trash/theirs/Sub/b.md"] {
        vault.put(path, "of today");
    }
    for item in vault.trash() {
        assert!(item.deleted.is_none_or(|time| now - time < Duration::hours(1)), "{item:?}");
        assert_eq!(item.deleted.is_some(), item.was.is_some() || TIME_IS_KNOWN, "{item:?}");
    }
    assert_eq!(vault.empty_older(30), [""; 0]);
    let was = |item: &TrashItem| item.was.as_ref().map(|was| VaultPath::as_str(was).to_owned());
    assert!(vault.trash().iter().any(|item| was(item).as_deref() == Some("F")));
    // All of it is older than tomorrow, as far as its time is known.
    let stay = usize::from(!TIME_IS_KNOWN);
    assert_eq!(vault.empty_older(-1).len(), 2 - stay);
    assert_eq!(fs::read_dir(vault.place.join(".trash")).expect("listed").count(), stay);
}

/// A vault whose `kept/` folder is on another disk, and that disk.
#[cfg(unix)]
fn on_two_disks(test: &str, prepare: impl FnOnce(&Path)) -> Option<(TestVault, TempDir)> {
    use std::os::unix::fs::MetadataExt;
    if !can(Ability::SymbolicLinks) || !can(Ability::Permissions) {
        return None;
    }
    let vault = TestVault::new(&[], |at| {
        fs::write(at.join(".obsidian/app.json"), r#"{"trashOption":"none"}"#).expect("written");
        prepare(at);
    });
    let disk = |place: &Path| fs::metadata(place).map(|meta| meta.dev()).ok();
    let memory = Path::new("/dev/shm");
    if disk(memory).is_none() || disk(memory) == disk(&vault.place) {
        machine::missing(test, "a second file system");
        return None;
    }
    let other = tempfile::tempdir_in(memory).expect("made");
    std::os::unix::fs::symlink(other.path(), vault.state.join("kept")).expect("linked");
    Some((vault, other))
}

/// Everything below a folder but the settings: kind, mode, content, time.
#[cfg(unix)]
fn tree(at: &Path) -> BTreeMap<String, (String, u32, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt;
    let (mut found, mut open) = (BTreeMap::new(), vec![at.to_owned()]);
    while let Some(here) = open.pop() {
        for entry in fs::read_dir(&here).expect("listed").flatten() {
            let (place, meta) = (entry.path(), entry.path().symlink_metadata().expect("there"));
            let name = place.strip_prefix(at).expect("below").to_string_lossy().into_owned();
            if name == ".obsidian" {
                continue;
            }
            let mode = meta.permissions().mode() & 0o777;
            let content = if meta.is_symlink() {
                let target = fs::read_link(&place).expect("a link");
                ("link".to_owned(), 0, target.to_string_lossy().into_owned().into_bytes())
            } else if meta.is_dir() {
                open.push(place);
                ("folder".to_owned(), mode, Vec::new())
            } else {
                let time = meta.modified().expect("a time");
                (format!("file of {time:?}"), mode, fs::read(&place).expect("read"))
            };
            found.insert(name, content);
        }
    }
    found
}

/// Larger than what is read whole, so that its text is not stored.
#[cfg(unix)]
fn large() -> Vec<u8> {
    (0..11_000_000_u32).map(|number| (number % 251) as u8).collect()
}

/// A folder with one entry of each kind.
#[cfg(unix)]
fn full_folder(at: &Path) {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let mode = |path: &str, mode| {
        fs::set_permissions(at.join(path), fs::Permissions::from_mode(mode)).expect("set");
    };
    fs::create_dir_all(at.join("F/Sub/Empty/Deep")).expect("made");
    fs::write(at.join("F/a.md"), "a").expect("written");
    fs::write(at.join("F/Sub/none.md"), "").expect("written");
    fs::write(at.join("F/Sub/large.pdf"), large()).expect("written");
    symlink("../a.md", at.join("F/Sub/l.md")).expect("linked");
    symlink("nowhere", at.join("F/broken")).expect("linked");
    mode("F/a.md", 0o600);
    mode("F/Sub/Empty", 0o700);
    let file = fs::File::options().write(true).open(at.join("F/a.md")).expect("opened");
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000))
        .expect("set back");
}

#[cfg(unix)]
#[test]
fn files_stored_on_another_disk_are_restored_completely() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    const NAME: &str = "files_stored_on_another_disk_are_restored_completely";
    type Made = (&'static str, &'static str, fn(&Path));
    let cases: [Made; 5] = [
        ("a large file", "large.pdf", |at| {
            fs::write(at.join("large.pdf"), large()).expect("written");
            let private = fs::Permissions::from_mode(0o600);
            fs::set_permissions(at.join("large.pdf"), private).expect("set");
        }),
        ("a folder with one of everything", "F", full_folder),
        ("empty folders", "F", |at| fs::create_dir_all(at.join("F/G/H")).expect("made")),
        ("a folder with a link alone", "F", |at| {
            fs::create_dir(at.join("F")).expect("made");
            symlink("../n.md", at.join("F/l.md")).expect("linked");
        }),
        ("a link", "l.md", |at| symlink("n.md", at.join("l.md")).expect("linked")),
    ];
    for (name, path, prepare) in cases {
        let Some((vault, kept)) = on_two_disks(NAME, prepare) else { return };
        let before = tree(&vault.place);
        let origin = Origin::default();
        for by_undo in [true, false] {
            let set = vault.apply(vec![delete(path)]);
            assert_eq!(tree(&vault.place).len(), 0, "{name}");
            let trash = vault.trash();
            let found = trash.first().map(|item| (&item.place, item.was.as_ref()));
            let was = crate::changes::path(path);
            assert_eq!((found, trash.len()), (Some((&TrashPlace::Kept, Some(&was))), 1), "{name}");
            let notes = if by_undo {
                let undone = vault.journal().undo(Target::Set(set), false, &origin);
                undone.unwrap_or_else(|error| panic!("{name}: {error}")).notes
            } else {
                let back = vault.journal().trash().restore(&trash[0].id, None, &origin);
                back.unwrap_or_else(|error| panic!("{name}: {error}")).notes
            };
            assert_eq!(notes, [""; 0], "{name}");
            assert_eq!(tree(&vault.place), before, "{name}");
            assert_eq!(tree(kept.path()).len(), 0, "{name}: nothing of it stays behind");
            assert_eq!(vault.trash(), [], "{name}");
        }
    }
}

#[cfg(unix)]
#[test]
fn coming_back_from_another_disk_may_be_cut_short_anywhere() {
    const NAME: &str = "coming_back_from_another_disk_may_be_cut_short_anywhere";
    for cut in ["half copied", "not recorded", "not cleared away"] {
        let Some((vault, kept)) = on_two_disks(NAME, full_folder) else { return };
        let before = tree(&vault.place);
        let set = vault.apply(vec![delete("F")]);
        let (saved, whole) = (tempfile::tempdir_in("/dev/shm").expect("made"), tree(kept.path()));
        let copy = |from: &Path, to: &Path| {
            let all = from.join(".");
            let done = std::process::Command::new("cp").arg("-a").args([&all, to]).status();
            assert!(done.is_ok_and(|status| status.success()));
        };
        copy(kept.path(), saved.path());
        vault.undo(set);
        assert_eq!(tree(&vault.place), before);
        copy(saved.path(), kept.path());
        assert_eq!(tree(kept.path()), whole);
        let temp = crate::recovery::temp_of(&vault);
        if cut == "half copied" {
            fs::rename(vault.place.join("F"), vault.place.join(&temp)).expect("aside");
            fs::remove_file(vault.place.join(&temp).join("a.md")).expect("removed");
            let file = vault.place.join(&temp).join("Sub/large.pdf");
            let file = fs::File::options().write(true).open(file).expect("opened");
            file.set_len(1_000_000).expect("cut");
        }
        if cut != "not cleared away" {
            vault.forget_the_end();
            let database = rusqlite::Connection::open(vault.state.join("state.db"));
            let unmark = "UPDATE step SET undone_by = NULL";
            database.and_then(|database| database.execute(unmark, [])).expect("unmarked");
        }
        let (vault, recovered) = vault.recovered();
        assert!(recovered.left.is_empty() && recovered.warnings.is_empty(), "{cut}: {recovered:?}");
        let ends = (recovered.completed, recovered.rolled_back);
        if cut == "half copied" {
            assert_eq!(ends, (0, 1));
            assert_eq!(tree(&vault.place).len(), 0, "{cut}: no half of it is in the vault");
            assert_eq!(tree(kept.path()), whole, "{cut}");
            vault.undo(set);
        } else {
            assert_eq!(ends, (usize::from(cut == "not recorded"), 0));
        }
        assert_eq!(tree(&vault.place), before, "{cut}");
        assert_eq!(tree(kept.path()).len(), 0, "{cut}: nothing of it stays behind");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_copy_to_another_disk_is_completed() {
    const NAME: &str = "an_interrupted_copy_to_another_disk_is_completed";
    let Some((vault, kept)) = on_two_disks(NAME, full_folder) else { return };
    let before = tree(&vault.place);
    vault.apply(vec![delete("F")]);
    let aside = vault.place.join(crate::recovery::temp_of(&vault));
    vault.forget_the_end();
    // Only one note of it was still in the vault.
    fs::create_dir(&aside).expect("made");
    fs::write(aside.join("a.md"), "a").expect("written");
    let (vault, recovered) = vault.recovered();
    assert_eq!((recovered.rolled_back, recovered.left.len()), (1, 0), "{recovered:?}");
    let (mut after, mut before) = (tree(&vault.place), before);
    // That note was created again here.
    after.remove("F/a.md");
    before.remove("F/a.md");
    assert_eq!(after, before);
    assert_eq!(tree(kept.path()).len(), 0, "nothing of it stays behind");
}

#[cfg(unix)]
#[test]
fn a_failed_restoration_from_another_disk_is_stored_again() {
    const NAME: &str = "a_failed_restoration_from_another_disk_is_stored_again";
    let Some((vault, kept)) = on_two_disks(NAME, full_folder) else { return };
    let before = tree(&vault.place);
    let set = vault.apply(vec![delete("F")]);
    let whole = tree(kept.path());
    let database = rusqlite::Connection::open(vault.state.join("state.db")).expect("opened");
    let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON operation WHEN NEW.state = 'applied'
                  BEGIN SELECT RAISE(ABORT, 'no room'); END";
    database.execute_batch(refuse).expect("made");
    let error = vault.undo_error(&set.to_string());
    assert!(error.to_string().contains("no room"), "{error}");
    assert_eq!((tree(&vault.place).len(), tree(kept.path())), (0, whole));
    // And a deletion that cannot be recorded restores everything.
    database.execute_batch("DROP TRIGGER refuse").expect("dropped");
    vault.undo(set);
    assert_eq!(tree(&vault.place), before);
    database.execute_batch(refuse).expect("made");
    let change = ChangeSet { title: "t".to_owned(), changes: vec![delete("F")] };
    vault.journal().apply(&change, &Origin::default()).expect_err("not recorded");
    assert_eq!((tree(&vault.place), tree(kept.path()).len()), (before, 0));
}

impl TestVault {
    fn empty_named(&self, name: &str) -> Emptied {
        let what = Empty::Named(vec![name.to_owned()]);
        let emptied = self.journal().empty_trash(&what).expect("emptied");
        assert_eq!((emptied.items.len(), emptied.left.len()), (1, 0), "{emptied:?}");
        emptied
    }
}

#[test]
fn files_removed_by_name_leave_the_journal_too() {
    let files = [("Secret.md", "my secret"), ("Other.md", "o"), ("F/a.md", "a"), ("F/b.md", "b")];
    let vault = vault(&files);
    let [note, other, folder] =
        ["Secret.md", "Other.md", "F"].map(|path| vault.apply(vec![delete(path)]));
    assert_eq!((vault.trash().len(), vault.blobs().len()), (3, 4));
    let emptied = vault.empty_named(".trash/Secret.md");
    assert_eq!((emptied.bytes, emptied.notes), (9, Vec::new()));
    assert_eq!((vault.trash().len(), vault.blobs().len()), (2, 3));
    // By the number of its change.
    vault.empty_named(&format!("{folder}.1"));
    assert!(!vault.exists(".trash/F"));
    assert_eq!((vault.trash().len(), vault.blobs().len()), (1, 1));
    // And what only the journal still has.
    fs::remove_dir_all(vault.place.join(".trash")).expect("emptied by hand");
    let item = vault.trash().remove(0);
    assert_eq!((item.id.as_str(), item.place), (format!("{other}.1").as_str(), TrashPlace::Text));
    vault.empty_named(&item.id);
    assert_eq!((vault.trash(), vault.blobs().len()), (Vec::new(), 0));
    for set in [note, other, folder] {
        let error = vault.undo_error(&set.to_string());
        assert!(error.to_string().contains("permanently removed from the trash"), "{error}");
    }
    let error = vault.journal().trash().restore(&format!("{note}.1"), None, &Origin::default());
    assert!(matches!(error, Err(UndoError::NotInTrash { .. })), "{error:?}");
    assert!(is_sound(&vault.journal().texts().verify().expect("verified")));
}

#[test]
fn a_text_of_other_changes_stays_and_is_reported() {
    let vault = vault(&[("Other.md", "x")]);
    let written = vault.apply(vec![write("Secret.md", "my secret")]);
    // Deleted twice with the same text: only the last of the two is listed.
    vault.apply(vec![delete("Secret.md")]);
    fs::remove_dir_all(vault.place.join(".trash")).expect("emptied by hand");
    vault.put("Secret.md", "my secret");
    vault.context.vault.rescan().expect("seen");
    let set = vault.apply(vec![delete("Secret.md")]);
    let emptied = vault.empty_named(".trash/Secret.md");
    assert_eq!(vault.trash(), []);
    let note = emptied.notes.join("\n");
    assert!(note.contains(&format!("`{written}.1`")) && note.contains("Secret.md"), "{note}");
    let error = vault.undo_error(&set.to_string());
    assert!(error.to_string().contains("permanently removed from the trash"), "{error}");
    assert!(is_sound(&vault.journal().texts().verify().expect("verified")));
}

#[test]
fn files_removed_by_age_keep_their_texts_in_the_journal() {
    let vault = vault(&[("a.md", "a")]);
    let set = vault.apply(vec![delete("a.md")]);
    assert_eq!(vault.empty_older(-1), [".trash/a.md"]);
    let trash = vault.trash();
    assert_eq!((trash.len(), &trash[0].place), (1, &TrashPlace::Text));
    // Nothing is in a trash any more, so nothing is removed.
    assert_eq!(vault.empty_older(-1), [""; 0]);
    vault.undo(set);
    assert_eq!(vault.content("a.md"), "a");
}
