//! After a crash, and with a damaged store: no note is lost, nothing is done that cannot be
//! recorded. `tests/chaos` kills the process everywhere; here single cases are constructed.

use std::fs;
use std::time::Duration;

use serde_json::json;
use vault_steward::journal::{JournalError, Origin, Recovered, Settings, Target, UndoError};
use vault_steward::note::code::ErrorCode;
use vault_steward::store::StoreError;

#[cfg(unix)]
use crate::abilities::{Ability, can};
use crate::changes::{delete, folder, in_turn, mv, seen, write};
use crate::machine;
use crate::vault::{JournalAlone as _, TestVault, is_sound, vault};

const HOUR: Duration = Duration::from_secs(3_600);

impl TestVault {
    /// Another process recovers after a crash.
    pub fn recovered(self) -> (Self, Recovered) {
        let vault = self.reopened();
        let recovered = vault.journal().recover().expect("recovered");
        let again = vault.journal().recover().expect("recovered again");
        assert_eq!((again.completed, again.rolled_back, again.left.len()), (0, 0, 0), "{again:?}");
        let hidden = vault.snapshot().into_iter().filter(|(name, _)| name.contains(".~vs"));
        assert_eq!(hidden.count(), 0, "nothing of ours is left in the vault");
        (vault, recovered)
    }

    /// Makes a file at a hidden name, as a crash leaves it. A crash closes all files; while the replaced version is open,
    /// wine, and Windows on disks other than NTFS, keep its name.
    fn leave(&self, hidden: &str, text: &str) {
        self.context.vault.stop();
        self.put(hidden, text);
    }

    fn has_journal(&self) -> bool {
        self.journal().recover().is_ok()
    }
}

fn full() -> TestVault {
    vault(&[("a.md", "a"), ("b.md", "b"), ("c.md", "c"), ("F/d.md", "d"), ("e.md", "e")])
}

#[test]
fn a_complete_operation_counts_as_done() {
    let vault = full();
    let before = seen(&vault);
    let changes = vec![
        write("a.md", "a2"),
        write("n/new.md", "new"),
        mv("b.md", "n/b2.md"),
        mv("F", "G"),
        delete("c.md"),
        folder("empty"),
    ];
    let set = vault.apply(changes);
    let after = seen(&vault);
    vault.forget_the_end();
    let (vault, recovered) = vault.recovered();
    assert_eq!((recovered.completed, recovered.rolled_back), (1, 0), "{recovered:?}");
    assert_eq!(seen(&vault), after);
    vault.undo(set);
    assert_eq!(seen(&vault), before, "and can be undone");
    // The undo itself, interrupted after its last step.
    vault.forget_the_end();
    let (vault, recovered) = vault.recovered();
    assert_eq!(recovered.completed, 1);
    assert_eq!(seen(&vault), before);
    assert!(matches!(vault.undo_error(&set.to_string()), UndoError::AlreadyUndone { .. }));
}

#[test]
fn an_incomplete_operation_is_rolled_back() {
    // Makes the changes that the crash prevented.
    type Undo = fn(&TestVault);
    let cases: [(&str, Undo); 6] = [
        ("a deletion open", |vault| {
            fs::rename(vault.place.join(".trash/c.md"), vault.place.join("c.md")).expect("moved");
        }),
        ("a move open", |vault| {
            fs::rename(vault.place.join("n/b2.md"), vault.place.join("b.md")).expect("moved");
        }),
        ("a write open", |vault| vault.put("a.md", "a")),
        ("a new file open", |vault| {
            fs::remove_file(vault.place.join("n/new.md")).expect("removed");
        }),
        ("a folder open", |vault| {
            fs::remove_dir(vault.place.join("empty")).expect("removed");
        }),
        ("everything open but the folders", |vault| {
            fs::rename(vault.place.join(".trash/c.md"), vault.place.join("c.md")).expect("moved");
            fs::rename(vault.place.join("n/b2.md"), vault.place.join("b.md")).expect("moved");
            fs::rename(vault.place.join("G"), vault.place.join("F")).expect("moved");
            vault.put("a.md", "a");
            fs::remove_file(vault.place.join("n/new.md")).expect("removed");
        }),
    ];
    for (name, by_hand) in cases {
        let vault = full();
        let before = seen(&vault);
        vault.apply(vec![
            folder("empty"),
            write("a.md", "a2"),
            write("n/new.md", "new"),
            mv("b.md", "n/b2.md"),
            mv("F", "G"),
            delete("c.md"),
        ]);
        by_hand(&vault);
        vault.forget_the_end();
        let (vault, recovered) = vault.recovered();
        assert_eq!((recovered.completed, recovered.rolled_back), (0, 1), "{name}: {recovered:?}");
        assert!(recovered.left.is_empty(), "{name}: {recovered:?}");
        assert_eq!(seen(&vault), before, "{name}");
        let set = vault.apply(vec![write("a.md", "goes on")]);
        vault.undo(set);
        assert_eq!(seen(&vault), before, "{name}");
    }
}

#[test]
fn what_somebody_changed_since_the_crash_is_left() {
    let vault = full();
    vault.apply(vec![write("a.md", "a2"), write("e.md", "e2"), delete("c.md")]);
    vault.forget_the_end();
    // It had not got further than the first of three.
    fs::rename(vault.place.join(".trash/c.md"), vault.place.join("c.md")).expect("moved");
    vault.put("e.md", "e");
    vault.put("a.md", "by a person");
    let (vault, recovered) = vault.recovered();
    assert_eq!(vault.content("a.md"), "by a person");
    assert_eq!((vault.content("e.md"), vault.content("c.md")), ("e".into(), "c".into()));
    assert_eq!(recovered.left.len(), 1, "{recovered:?}");
    assert!(recovered.left[0].contains("`a.md`"), "{recovered:?}");
}

#[test]
fn hidden_files_are_identified_by_their_content() {
    // Old text, new text, the beginning of the new text: ours. Anything else: someone else's.
    for (holds, ours) in [("a", true), ("a new text", true), ("a ne", true), ("", true)] {
        let vault = full();
        vault.apply(vec![write("a.md", "a new text")]);
        let temp = temp_of(&vault);
        vault.forget_the_end();
        vault.leave(&temp, holds);
        let (vault, recovered) = vault.recovered();
        assert_eq!(recovered.completed == 1, ours, "{holds:?}");
        assert!(vault.rescued().is_empty(), "{holds:?}: nothing is somebody's");
        assert_eq!(vault.content("a.md"), "a new text");
        // Also after the last record.
        vault.leave(&temp, holds);
        let (vault, _) = vault.recovered();
        assert!(!vault.exists(&temp) && vault.rescued().is_empty(), "{holds:?}");
    }
    // Displaced unseen at the moment of the exchange: it is the person's note, and is restored.
    let vault = full();
    vault.apply(vec![write("a.md", "a new text")]);
    let temp = temp_of(&vault);
    vault.forget_the_end();
    vault.leave(&temp, "a person's own words");
    let (vault, recovered) = vault.recovered();
    assert_eq!(vault.content("a.md"), "a person's own words");
    assert_eq!(recovered.left.len(), 1);
}

/// Windows gives the replaced file a third name in the middle of an exchange.
#[test]
fn an_exchange_that_a_crash_interrupted_is_ended() {
    let theirs = "a person's own words";
    for (displaced, new_is_in_place, expected) in [
        ("a", true, "a new text"),
        ("a", false, "a"),
        (theirs, true, theirs),
        (theirs, false, theirs),
    ] {
        let vault = full();
        vault.apply(vec![write("a.md", "a new text")]);
        let temp = temp_of(&vault);
        vault.forget_the_end();
        vault.leave(&temp.replace(".tmp", "-a.tmp"), displaced);
        if !new_is_in_place {
            fs::rename(vault.place.join("a.md"), vault.place.join(&temp)).expect("renamed");
        }
        let (vault, recovered) = vault.recovered();
        let case = format!("{displaced:?}, {new_is_in_place}: {recovered:?}");
        assert_eq!(vault.content("a.md"), expected, "{case}");
        assert_eq!(recovered.completed == 1, expected == "a new text", "{case}");
        assert_eq!(recovered.left.len(), usize::from(displaced == theirs), "{case}");
        assert!(vault.rescued().is_empty(), "{case}");
        assert!(vault.context.vault.status().warnings.is_empty(), "{case}");
    }
    // Neither name is there any more: the replaced file is the note again.
    for displaced in ["a", theirs] {
        let vault = full();
        vault.apply(vec![write("a.md", "a new text")]);
        let temp = temp_of(&vault);
        vault.forget_the_end();
        vault.leave(&temp.replace(".tmp", "-a.tmp"), displaced);
        fs::remove_file(vault.place.join("a.md")).expect("removed");
        let (vault, recovered) = vault.recovered();
        assert_eq!(vault.content("a.md"), displaced, "{recovered:?}");
        assert!(vault.rescued().is_empty(), "{displaced:?}");
    }
    // Somebody has made the note again: what was replaced is in the recovery folder.
    let vault = full();
    vault.apply(vec![write("a.md", "a new text")]);
    let temp = temp_of(&vault);
    vault.forget_the_end();
    vault.leave(&temp.replace(".tmp", "-a.tmp"), theirs);
    fs::rename(vault.place.join("a.md"), vault.place.join(&temp)).expect("renamed");
    vault.put("a.md", "made again");
    let (vault, recovered) = vault.recovered();
    assert_eq!(vault.content("a.md"), "made again", "{recovered:?}");
    assert_eq!(vault.rescued(), [theirs]);
}

/// The hidden name that the last write used.
pub fn temp_of(vault: &TestVault) -> String {
    let database = rusqlite::Connection::open(vault.state.join("state.db")).expect("opened");
    let query = "SELECT detail ->> 'temp' FROM step ORDER BY id DESC LIMIT 1";
    database.query_row(query, [], |row| row.get(0)).expect("it has one")
}

#[cfg(unix)]
#[test]
fn a_file_with_two_names_is_put_right() {
    if !can(Ability::HardLinks) {
        return;
    }
    for torn in ["nld text", "new text", "new text is", "new text is longer", "old text"] {
        let vault = vault(&[("a.md", "old text")]);
        fs::hard_link(vault.place.join("a.md"), vault.place.join("twin.md")).expect("linked");
        vault.apply(vec![write("a.md", "new text is longer"), write("z.md", "z")]);
        vault.forget_the_end();
        fs::remove_file(vault.place.join("z.md")).expect("removed");
        vault.put("a.md", torn);
        let (vault, _) = vault.recovered();
        assert_eq!(vault.content("twin.md"), "old text", "{torn}");
        assert_eq!(vault.content("a.md"), "old text", "{torn}");
    }
}

#[test]
fn a_damaged_database_is_moved_aside_and_the_copy_taken() {
    type Damage = fn(&std::path::Path);
    let cases: [(&str, Damage); 6] = [
        ("empty", |place| fs::write(place, "").expect("written")),
        ("garbage", |place| fs::write(place, "no database at all".repeat(400)).expect("written")),
        ("cut short", |place| {
            let whole = fs::read(place).expect("read");
            fs::write(place, &whole[..whole.len() / 2]).expect("written");
        }),
        ("a page of zeros", |place| {
            let mut whole = fs::read(place).expect("read");
            whole[4096..8192].fill(0);
            fs::write(place, whole).expect("written");
        }),
        ("another program's", |place| {
            fs::remove_file(place).expect("removed");
            let other = rusqlite::Connection::open(place).expect("made");
            other.execute_batch("CREATE TABLE theirs (x); PRAGMA application_id = 7;").expect("it");
        }),
        ("missing", |place| fs::remove_file(place).expect("removed")),
    ];
    for (name, damage) in cases {
        let vault = vault(&[("a.md", "a")]);
        let set = vault.apply(vec![write("a.md", "b")]);
        let vault = vault.reopened();
        // The first start of a day makes the copy.
        vault.journal().recover().expect("sound");
        vault.apply(vec![write("later.md", "x")]);
        let notes = seen(&vault);
        // Closed, so that all of it is in one file.
        let vault = vault.reopened();
        damage(&vault.state.join("state.db"));
        if name != "missing" {
            let refused = vault.err(
                "write_file",
                json!({ "path": "n.md", "content": "x" }),
                ErrorCode::IoError,
            );
            assert!(refused.hint.expect("a hint").contains("daemon") || name == "a page of zeros");
        }
        let vault = vault.reopened();
        let recovered = vault.journal().recover().expect("made sound");
        assert_eq!(recovered.warnings.len(), 1, "{name}: {recovered:?}");
        assert!(recovered.warnings[0].contains("took its place"), "{name}: {recovered:?}");
        assert_eq!(vault.in_state("state.db.corrupt-").is_empty(), name == "missing", "{name}");
        assert_eq!(seen(&vault), notes, "{name}: the vault is not touched");
        // Changes that the copy has can be undone, and new ones work.
        vault.undo(set);
        assert_eq!(vault.content("a.md"), "a", "{name}");
        vault.apply(vec![write("a.md", "c")]);
    }
}

#[test]
fn copies_that_cannot_be_listed_are_not_none() {
    let vault = vault(&[("a.md", "a")]);
    vault.apply(vec![write("a.md", "b")]);
    let vault = vault.reopened();
    let backups = vault.state.join("backups");
    fs::write(&backups, "no folder").expect("written");
    fs::write(vault.state.join("state.db"), "no database, and nothing to take its place")
        .expect("it");
    let vault = vault.reopened();
    let error = vault.journal().recover().expect_err("there may be a good copy");
    assert!(error.to_string().contains("backups"), "{error}");
    // No new store was started in its place.
    let found = fs::metadata(vault.state.join("state.db"));
    assert!(found.is_err() || found.expect("it").len() < 100);
}

/// A vault whose journal has thirty change sets, all of it in one file.
fn with_thirty_sets() -> TestVault {
    let vault = vault(&[("a.md", "a")]);
    for n in 0..30 {
        vault.apply(vec![write(&format!("n{n}.md"), "text"), write("a.md", &format!("{n}"))]);
    }
    let vault = vault.reopened();
    vault.journal().recover().expect("sound");
    vault.reopened()
}

/// The reports about a journal with one flipped bit: the number of damaged entries.
fn told_with_flipped(vault: &TestVault, whole: &[u8], bit: usize) -> usize {
    let place = vault.state.join("state.db");
    let mut flipped = whole.to_vec();
    flipped[bit / 8] ^= 1 << (bit % 8);
    fs::write(&place, &flipped).expect("written");
    let _ = fs::remove_file(vault.state.join("state.db-wal"));
    let _ = fs::remove_file(vault.state.join("state.db-shm"));
    let mut told = match vault.journal().recover() {
        Ok(recovered) => recovered.warnings.len(),
        // A bit of the format number.
        Err(JournalError::Store(StoreError::Newer { .. })) => return 1,
        Err(error) => panic!("bit {bit}: {error}"),
    };
    // A changed row is reported with its position, and hides no other.
    let listed = vault.journal().history().change_sets(&vault_steward::journal::Query::default());
    let listed = listed.expect("one damaged row hides no other");
    assert!(listed.len() >= 29, "bit {bit}: {} are listed", listed.len());
    told += listed.iter().filter(|set| set.title.contains("damaged")).count();
    told + 30 - listed.len().min(30)
}

#[test]
fn flipped_bits_never_harm_a_note() {
    let mut vault = with_thirty_sets();
    let whole = fs::read(vault.state.join("state.db")).expect("read");
    let notes = seen(&vault);
    // Anywhere: much of a database is used by no row, so nothing need be reported.
    for flip in 0..60_usize {
        vault = vault.reopened();
        let bit = (flip * 7_919_993) % (whole.len() * 8);
        told_with_flipped(&vault, &whole, bit);
        assert_eq!(seen(&vault), notes, "bit {bit}");
    }
}

#[test]
fn a_flipped_bit_in_a_row_is_reported() {
    let mut vault = with_thirty_sets();
    let place = vault.state.join("state.db");
    let texts: Vec<String> = {
        let database = rusqlite::Connection::open(&place).expect("opened");
        let mut rows = database
            .prepare("SELECT after_text FROM step WHERE path = 'a.md' ORDER BY id")
            .expect("asked");
        let texts = rows.query_map([], |row| row.get(0)).expect("asked");
        texts.collect::<Result<_, _>>().expect("read")
    };
    assert_eq!(texts.len(), 30);
    vault = vault.reopened();
    let whole = fs::read(&place).expect("read");
    let notes = seen(&vault);
    // Each is named in one row, and a copy may remain where the row was before.
    for (number, text) in texts.iter().enumerate().step_by(3) {
        let found = whole.windows(text.len()).enumerate();
        let places: Vec<usize> =
            found.filter(|(_, bytes)| *bytes == text.as_bytes()).map(|(at, _)| at).collect();
        let mut told = 0;
        for at in places {
            vault = vault.reopened();
            // One of the lowest bits of a digit: a higher one can turn a letter into its capital,
            // which means the same.
            told += told_with_flipped(&vault, &whole, (at + number % text.len()) * 8 + number % 3);
            assert_eq!(seen(&vault), notes, "{text}");
        }
        assert!(told > 0, "nothing is told of row {number}");
    }
}

#[test]
fn a_newer_database_is_left_alone() {
    let vault = vault(&[("a.md", "a")]);
    vault.apply(vec![write("a.md", "b")]);
    let vault = vault.reopened();
    let place = vault.state.join("state.db");
    {
        let database = rusqlite::Connection::open(&place).expect("opened");
        database.execute_batch("PRAGMA user_version = 99;").expect("set");
        database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("written");
    }
    let before = fs::read(&place).expect("read");
    let vault = vault.reopened();
    let refused = vault.journal().recover();
    let refused = refused.expect_err("a newer program's");
    assert!(matches!(&refused, JournalError::Store(StoreError::Newer { found: 99, .. })));
    assert!(refused.hint().expect("a hint").contains("update"));
    vault.err("write_file", json!({ "path": "a.md", "content": "c" }), ErrorCode::IoError);
    assert_eq!(vault.content("a.md"), "b");
    assert_eq!(vault.ok("read_file", json!({ "path": "a.md" }))["path"], "a.md");
    assert_eq!(fs::read(&place).expect("read"), before);
    assert!(vault.in_state("state.db.corrupt").is_empty());
}

#[cfg(unix)]
#[test]
fn nothing_is_changed_that_cannot_be_recorded() {
    let vault = vault(&[("a.md", "a")]);
    vault.apply(vec![write("a.md", "b")]);
    let before = vault.snapshot();
    let write_c = json!({ "path": "a.md", "content": "c" });
    // Removed while it is open: SQLite would continue without an error.
    let place = vault.state.join("state.db");
    fs::rename(&place, vault.state.join("elsewhere")).expect("moved");
    vault.err("write_file", write_c.clone(), ErrorCode::IoError);
    vault.err("delete", json!({ "path": "a.md" }), ErrorCode::IoError);
    fs::rename(vault.state.join("elsewhere"), &place).expect("moved back");
    vault.ok("write_file", write_c.clone());
    fs::rename(vault.state.join("state.db-wal"), vault.state.join("wal")).expect("moved");
    vault.err("write_file", json!({ "path": "a.md", "content": "d" }), ErrorCode::IoError);
    fs::rename(vault.state.join("wal"), vault.state.join("state.db-wal")).expect("moved back");
    assert_eq!(vault.content("a.md"), "c");
    vault.ok("write_file", json!({ "path": "a.md", "content": "b" }));
    assert_eq!(vault.snapshot(), before);
    // No folder for the texts.
    let vault = crate::vault::vault(&[("a.md", "a")]);
    fs::write(vault.state.join("blobs"), "a file where the folder should be").expect("written");
    let before = vault.snapshot();
    vault.err("write_file", write_c, ErrorCode::IoError);
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn a_full_disk_changes_nothing() {
    let Some(place) = machine::nearly_full("a_full_disk_for_the_journal") else { return };
    let vault = vault(&[("a.md", "a")]);
    // The state folder alone is on the full disk.
    let state = place.join("state");
    fs::create_dir(&state).expect("made");
    let journal = vault.journal_in(&state, Settings::default());
    let set = |text: &str| vault_steward::journal::ChangeSet {
        title: "t".to_owned(),
        changes: vec![write("a.md", text)],
    };
    journal.apply(&set("b"), &Origin::default()).expect("there is room for that");
    let filler = place.join("filler");
    let mut room = 4 << 20;
    while room > 256 {
        use std::io::Write;
        let mut file = fs::File::options().append(true).create(true).open(&filler).expect("open");
        if file.write_all(&vec![0; room]).is_err() {
            room /= 2;
        }
    }
    let before = vault.snapshot();
    for text in ["c", "a long text that has no place, "] {
        let refused = journal.apply(&set(&text.repeat(4_000)), &Origin::default());
        let refused = refused.expect_err("there is no room");
        assert_eq!(refused.code(), ErrorCode::StorageFull, "{refused}");
        assert_eq!(vault.snapshot(), before);
    }
    fs::remove_file(filler).expect("removed");
    let applied = journal.apply(&set("c"), &Origin::default()).expect("there is room again");
    journal.undo(Target::Set(applied.change_set), false, &Origin::default()).expect("undone");
    assert_eq!(vault.content("a.md"), "b");
}

#[test]
fn damaged_and_missing_texts_are_reported_and_never_used() {
    let vault = vault(&[("a.md", "first\n"), ("b.md", "unlike\n")]);
    let first = vault.apply(vec![write("a.md", "second\n")]);
    let second = vault.apply(vec![write("b.md", "another\n")]);
    assert!(is_sound(&vault.journal().texts().verify().expect("verified")));
    let holds = |text: &str| {
        let of = vault
            .blobs()
            .into_iter()
            .find(|place| fs::read(place).expect("read").ends_with(text.as_bytes()));
        of.expect("it is kept")
    };
    let (damaged, missing) = (holds("first\n"), holds("unlike\n"));
    let mut bytes = fs::read(&damaged).expect("read");
    *bytes.last_mut().expect("not empty") ^= 1;
    fs::write(&damaged, bytes).expect("written");
    fs::remove_file(&missing).expect("removed");
    let verified = vault.journal().texts().verify().expect("verified");
    assert_eq!((verified.damaged.len(), verified.missing.len()), (1, 1), "{verified:?}");
    assert!(damaged.ends_with(&verified.damaged[0].0));
    let before = vault.snapshot();
    for set in [first, second] {
        let error = vault.undo_error(&set.to_string());
        assert!(matches!(error, UndoError::NotKept { .. }), "{error}");
    }
    assert_eq!(vault.snapshot(), before);
    assert!(vault.has_journal());
}

#[test]
fn who_only_reads_makes_no_database() {
    let vault = vault(&[("a.md", "a")]);
    let set = vault.apply(vec![write("a.md", "b")]);
    let vault = vault.reopened();
    vault.journal().recover().expect("sound, and copied");
    let vault = vault.reopened();
    let place = vault.state.join("state.db");
    fs::remove_file(&place).expect("removed");
    let all = vault_steward::journal::Query::default();
    assert!(vault.journal().history().change_sets(&all).expect("read").is_empty());
    assert!(vault.journal().trash().list().expect("read").is_empty());
    assert_eq!(vault.journal().texts().verify().expect("verified").orphans, 2);
    assert_eq!(vault.journal().texts().gc(true).expect("looked").texts, 0);
    // Nor does the audit row of a reading call.
    let store = vault_steward::store::Store::at(&vault.state);
    let row = vault_steward::store::audit::AuditRow::default();
    let refused = store.audit.write(&[row]).expect_err("it is missed");
    assert!(matches!(refused, StoreError::Missing { .. }), "{refused}");
    assert!(vault.in_state("state.db").is_empty(), "{:?}", vault.in_state("state.db"));
    // So the next start detects that it is missing, and the same journal continues with the copy.
    let recovered = vault.journal().recover().expect("made sound");
    assert!(recovered.warnings[0].contains("took its place"), "{recovered:?}");
    vault.undo(set);
    assert_eq!(vault.content("a.md"), "a");
}

#[test]
fn a_deletion_after_a_write_of_the_same_file_is_not_taken_for_done() {
    for holds in ["first", "second", "a person's"] {
        let vault = vault(&[]);
        let set = vault.apply_as(vec![write("x.md", "first")], &in_turn("1"));
        vault.apply_as(vec![write("x.md", "second")], &in_turn("1"));
        // First restored to its initial text, then deleted.
        vault.undo(set);
        vault.forget_the_end();
        fs::remove_dir_all(vault.place.join(".trash")).expect("removed");
        vault.put("x.md", holds);
        let (vault, recovered) = vault.recovered();
        let done = usize::from(holds == "a person's");
        assert_eq!((recovered.completed, recovered.rolled_back), (done, 1 - done), "{holds}");
        assert_eq!(vault.content("x.md"), if done == 0 { "second" } else { holds });
    }
}

/// Another file of the operation has its size and time, so the inode decides; on a disk that changes inode numbers
/// none does, and the file that is still there was not deleted.
#[test]
fn a_deletion_counts_as_done_only_if_the_file_is_surely_gone() {
    let vault = vault(&[("c.md", "one"), ("d.md", "two")]);
    for path in ["c.md", "d.md"] {
        let file = fs::File::options().write(true).open(vault.place.join(path));
        file.and_then(|file| file.set_modified(std::time::UNIX_EPOCH + HOUR)).expect("set");
    }
    vault.apply(vec![delete("c.md"), mv("d.md", "e.md")]);
    vault.forget_the_end();
    // It was not deleted yet, and its inode has another number by now.
    vault.put("c.md", "one");
    let file = fs::File::options().write(true).open(vault.place.join("c.md"));
    file.and_then(|file| file.set_modified(std::time::UNIX_EPOCH + HOUR)).expect("set");
    fs::remove_dir_all(vault.place.join(".trash")).expect("removed");
    let (vault, recovered) = vault.recovered();
    assert_eq!((recovered.completed, recovered.rolled_back), (0, 1), "{recovered:?}");
    assert_eq!((vault.content("c.md"), vault.content("d.md")), ("one".into(), "two".into()));
    assert!(!vault.exists("e.md"));
}

#[test]
fn what_failed_and_was_changed_meanwhile_stays_unfinished() {
    let vault = vault(&[("a.md", "a")]);
    vault.apply(vec![write("z.md", "z")]);
    let database = rusqlite::Connection::open(vault.state.join("state.db")).expect("opened");
    let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON operation WHEN NEW.state = 'applied'
                  BEGIN SELECT RAISE(ABORT, 'no room'); END";
    database.execute_batch(refuse).expect("made");
    // Someone saves the first note while the second is written.
    let place = vault.place.clone();
    vault.context.vault.subscribe(Box::new(move |change| {
        if change.path.as_str() == "b.md" {
            fs::write(place.join("a.md"), "by a person").expect("saved");
        }
    }));
    let set = vault_steward::journal::ChangeSet {
        title: "t".to_owned(),
        changes: vec![write("a.md", "new"), write("b.md", "b")],
    };
    let refused = vault.journal().apply(&set, &Origin::default()).expect_err("not recorded");
    assert!(matches!(&refused, JournalError::Half { left, .. } if left.len() == 1), "{refused}");
    assert_eq!(vault.content("a.md"), "by a person");
    let state = || -> String {
        let query = "SELECT state FROM operation ORDER BY id DESC LIMIT 1";
        database.query_row(query, [], |row| row.get(0)).expect("it is there")
    };
    assert_eq!(state(), "intended");
    database.execute_batch("DROP TRIGGER refuse").expect("dropped");
    vault.apply(vec![write("c.md", "c")]);
    assert_eq!(state(), "applied");
    assert_eq!(vault.content("a.md"), "by a person");
    assert!(!vault.exists("b.md"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_is_carried_off_in_part_is_whole_again() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    const NAME: &str = "a_folder_that_is_carried_off_in_part_is_whole_again";
    if !can(Ability::Permissions) {
        return;
    }
    let vault = TestVault::new(&[("F/a.md", "a"), ("F/locked/m.md", "m"), ("F/z.md", "z")], |at| {
        fs::write(at.join(".obsidian/app.json"), r#"{"trashOption":"none"}"#).expect("written");
    });
    let memory = std::path::Path::new("/dev/shm");
    let device = |place: &std::path::Path| fs::metadata(place).map(|meta| meta.dev()).ok();
    if device(memory).is_none() || device(memory) == device(&vault.place) {
        return machine::missing(NAME, "a second file system");
    }
    let other = tempfile::tempdir_in(memory).expect("made");
    symlink(other.path(), vault.state.join("kept")).expect("linked");
    let locked = vault.place.join("F/locked");
    let mode = |mode| fs::set_permissions(&locked, fs::Permissions::from_mode(mode)).expect("set");
    // Root may do what a user may not, unless the file system forbids it.
    let attribute = |how: &str| {
        let done = std::process::Command::new("chattr").arg(how).arg(locked.join("m.md")).output();
        done.is_ok_and(|output| output.status.success())
    };
    mode(0o555);
    if fs::write(locked.join("may.md"), "").is_ok() {
        fs::remove_file(locked.join("may.md")).expect("removed");
        if !attribute("+i") {
            return machine::missing(NAME, "files that root may not remove");
        }
    }
    let before = vault.snapshot();
    let refused = vault.call("delete", &json!({ "path": "F" }));
    attribute("-i");
    mode(0o755);
    assert_eq!(refused.err().map(|error| error.code), Some(ErrorCode::PermissionDenied));
    assert_eq!(vault.snapshot(), before);
    let kept = || fs::read_dir(other.path()).expect("listed").count();
    assert_eq!(kept(), 0, "nothing of it stays behind");
    vault.apply(vec![delete("F")]);
    assert!(!vault.exists("F"));
    // A crash in the middle: half of the folder is still under its hidden name.
    let aside = vault.place.join(temp_of(&vault));
    vault.forget_the_end();
    fs::create_dir_all(aside.join("locked")).expect("made");
    fs::write(aside.join("z.md"), "z").expect("written");
    let (vault, recovered) = vault.recovered();
    assert_eq!((recovered.rolled_back, recovered.left.len()), (1, 0), "{recovered:?}");
    assert_eq!(vault.snapshot(), before);
    assert_eq!(kept(), 0, "nothing of it stays behind");
}

#[test]
fn one_damaged_row_keeps_nothing_from_working() {
    for state in ["intended", "applied"] {
        let vault = vault(&[("a.md", "a"), ("b.md", "b")]);
        let first = vault.apply(vec![write("a.md", "a2")]);
        vault.apply(vec![delete("b.md"), write("c.md", "c")]);
        let database = rusqlite::Connection::open(vault.state.join("state.db")).expect("opened");
        let damage = "UPDATE step SET path = 'x.md' WHERE id = (SELECT max(id) FROM step)";
        database.execute(damage, []).expect("done");
        drop(database);
        if state == "intended" {
            vault.forget_the_end();
        }
        let vault = vault.reopened();
        let recovered = vault.journal().recover().expect("the daemon starts");
        let told = recovered.left.iter().chain(&recovered.warnings);
        assert_eq!(told.count(), 1, "{state}: {recovered:?}");
        let listed =
            vault.journal().history().change_sets(&vault_steward::journal::Query::default());
        let listed = listed.expect("listed");
        assert!(listed.iter().any(|set| set.id == first), "{state}");
        assert_eq!(listed[0].title.contains("damaged"), state == "applied", "{state}");
        vault.journal().trash().list().expect("listed");
        vault.undo(first);
        assert_eq!(vault.content("a.md"), "a");
    }
}

#[test]
fn what_a_panic_left_is_rolled_back_before_the_next_change() {
    let vault = vault(&[("a.md", "a")]);
    vault.apply(vec![write("a.md", "a2"), write("b.md", "b")]);
    vault.forget_the_end();
    fs::remove_file(vault.place.join("b.md")).expect("removed");
    // The same process continues.
    vault.apply(vec![write("c.md", "c")]);
    assert_eq!((vault.content("a.md"), vault.exists("b.md")), ("a".to_owned(), false));
}

#[test]
fn the_last_good_copy_of_a_text_is_not_thrown_away() {
    let vault = vault(&[("a.md", "first text\n")]);
    vault.apply(vec![write("a.md", "second text\n"), write("b.md", "b")]);
    let temp = temp_of_first(&vault);
    let of_first = vault
        .blobs()
        .into_iter()
        .find(|place| fs::read(place).expect("read").ends_with(b"first text\n"));
    fs::write(of_first.expect("kept"), "damaged").expect("written");
    // Between the exchange and the end: the displaced version has the hidden name.
    vault.leave(&temp, "first text\n");
    fs::remove_file(vault.place.join("b.md")).expect("removed");
    vault.forget_the_end();
    let (vault, recovered) = vault.recovered();
    assert!(recovered.left.is_empty(), "{recovered:?}");
    assert_eq!(vault.content("a.md"), "first text\n");
    assert!(is_sound(&vault.journal().texts().verify().expect("verified")));
}

fn temp_of_first(vault: &TestVault) -> String {
    let database = rusqlite::Connection::open(vault.state.join("state.db")).expect("opened");
    let query = "SELECT detail ->> 'temp' FROM step ORDER BY id LIMIT 1";
    database.query_row(query, [], |row| row.get(0)).expect("it has one")
}

#[test]
fn a_panic_during_a_change_is_rolled_back_and_others_continue() {
    let vault = vault(&[("a.md", "a\n"), ("b.md", "b\n"), ("c.md", "c\n")]);
    let before = vault.snapshot();
    // Subscribers of a change are called in the middle of it.
    for (path, kept) in [("a.md", false), ("b.md", false), ("d.md", false), ("after.md", true)] {
        let fired = std::sync::atomic::AtomicBool::new(false);
        let place = vault.place.clone();
        let told = path.to_owned();
        vault.context.vault.subscribe(Box::new(move |change| {
            if change.path.as_str() == told
                && !fired.swap(true, std::sync::atomic::Ordering::SeqCst)
            {
                let there = fs::read_dir(&place).expect("listed").count();
                panic!("in the middle, with {there} files there");
            }
        }));
        let changes =
            || vec![write("a.md", "new a\n"), write("b.md", "new b\n"), mv("c.md", "d.md")];
        let change = std::panic::AssertUnwindSafe(|| vault.apply(changes()));
        let panicked = std::panic::catch_unwind(change).is_err();
        assert_eq!(panicked, !kept, "{path}");
        // Reads continue, and so does the next change, which rolls the incomplete one back.
        vault.ok("read_file", json!({ "path": "a.md" }));
        vault.ok("write_file", json!({ "path": "next.md", "content": "next\n" }));
        if !kept {
            vault.ok("undo", json!({}));
            if path == "d.md" {
                // All of it was done by then, so it counts as done, as after a crash.
                vault.ok("undo", json!({}));
            }
            let mut after = vault.snapshot();
            after.retain(|(name, _)| !name.starts_with(".trash"));
            assert_eq!(after, before, "{path}");
        }
    }
    assert!(is_sound(&vault.journal().texts().verify().expect("verified")));
    // Without an exchange of files, a copy of the replaced file is stored until the end.
    let exchange = vault.context.vault.abilities().exchange;
    let rescued = vault.rescued();
    assert!(
        rescued.iter().all(|text| !exchange && ["a\n", "b\n"].contains(&&**text)),
        "{rescued:?}"
    );
}
