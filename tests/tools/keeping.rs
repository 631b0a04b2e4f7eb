//! Retention of texts: no clock and no settings file deletes them too early.

use std::fs;

use vault_steward::journal::{Settings, UndoError};
use vault_steward::store::Store;
use vault_steward::store::journal::Limits;

use crate::changes::{mv, write};
use crate::vault::{TestVault, is_sound, vault};

const DAY: i64 = 86_400_000;

fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

/// The default limits.
fn default_limits() -> Limits {
    let Settings { versions, days, .. } = Settings::default();
    Limits { versions: versions.try_into().expect("few"), days }
}

impl TestVault {
    /// As if the daemon had cleaned the journal on each of this many days, up to yesterday.
    fn count_days(&self, days: i64) {
        self.count_days_with(days, default_limits());
    }

    fn count_days_with(&self, days: i64, limits: Limits) {
        let store = Store::at(&self.state);
        for ago in (1..=days).rev() {
            store.journal.retention.count_day(now() - ago * DAY, limits).expect("counted");
        }
    }

    /// Sets when the operations ended, oldest first.
    fn set_ends(&self, ends: &[i64]) {
        let database = rusqlite::Connection::open(self.state.join("state.db")).expect("opened");
        for (operation, ended) in (1_i64..).zip(ends) {
            let set = "UPDATE operation SET ended = ?2 WHERE id = ?1";
            assert_eq!(database.execute(set, (operation, ended)).expect("set"), 1);
        }
    }

    /// A vault in which one note was written three times.
    fn written_three_times() -> Self {
        let vault = vault(&[("a.md", "0")]);
        for n in 1..=3 {
            vault.apply(vec![write("a.md", &format!("{n}"))]);
        }
        vault
    }

    /// How many changes would lose their texts.
    fn would_go(&self, settings: Settings) -> usize {
        self.journal_with(settings).texts().gc(true).expect("looked").changes
    }
}

#[test]
fn texts_are_stored_for_their_retention_time() {
    let vault = vault(&[("a.md", "0")]);
    let sets: Vec<_> = (1..=6).map(|n| vault.apply(vec![write("a.md", &format!("{n}"))])).collect();
    assert_eq!(vault.blobs().len(), 7);
    let journal = vault.journal_with(Settings { versions: 2, ..Settings::default() });
    let would = journal.texts().gc(true).expect("looked");
    assert_eq!((would.changes, would.texts), (4, 4), "{would:?}");
    assert_eq!(vault.blobs().len(), 7);
    assert_eq!(journal.texts().gc(false).expect("let go"), would);
    assert_eq!(vault.blobs().len(), 3, "two changes have three texts");
    assert_eq!(journal.texts().gc(false).expect("nothing more").texts, 0);
    assert!(is_sound(&vault.journal().texts().verify().expect("verified")));
    // Still listed, but no longer undoable; the newer ones are.
    let old = vault.journal().history().change_set(sets[0]).expect("read").expect("listed");
    assert!(!old.changes[0].texts_kept);
    for set in sets.iter().rev().take(2) {
        vault.undo(*set);
    }
    assert_eq!(vault.content("a.md"), "4");
    assert!(matches!(vault.undo_error(&sets[3].to_string()), UndoError::NotKept { .. }));
    // By age: nothing from today is deleted, and the texts of a change in progress stay.
    let days = vault.journal_with(Settings { versions: 0, days: 1, ..Settings::default() });
    assert_eq!(days.texts().gc(true).expect("looked").changes, 0);
    fs::write(vault.state.join("blobs").join("0".repeat(64)), "an orphan").expect("written");
    assert_eq!(days.texts().gc(false).expect("let go").texts, 0);
    assert_eq!(vault.journal().texts().verify().expect("verified").orphans, 1);
}

#[test]
fn texts_of_a_lost_database_stay() {
    for moved_aside in [true, false] {
        let vault = vault(&[("a.md", "a")]);
        vault.apply(vec![write("a.md", "b")]);
        let texts = vault.blobs().len();
        let vault = vault.reopened();
        let place = vault.state.join("state.db");
        if moved_aside {
            fs::write(&place, "no database at all").expect("written")
        } else {
            fs::remove_file(&place).expect("removed")
        }
        let recovered = vault.journal().recover().expect("made sound");
        assert_eq!(recovered.warnings.len(), 1, "{recovered:?}");
        assert!(recovered.warnings[0].contains("no good copy"), "{recovered:?}");
        assert_eq!(vault.journal().texts().verify().expect("verified").orphans, texts);
        vault.age_blobs(20);
        assert_eq!(vault.journal().texts().gc(false).expect("looked").texts, 0);
        // As old as the oldest change with stored texts, and beyond the limits.
        vault.age_blobs(32);
        assert_eq!(
            vault.journal().texts().gc(false).expect("looked").texts,
            0,
            "no days are counted"
        );
        vault.count_days(31);
        let freed = vault.journal().texts().gc(false).expect("looked").texts;
        assert_eq!(freed, if moved_aside { 0 } else { texts }, "moved aside: {moved_aside}");
    }
}

#[test]
fn failed_writes_displace_no_version() {
    let vault = vault(&[("a.md", "0")]);
    let set = vault.apply(vec![write("a.md", "1")]);
    for n in 0..3 {
        vault.apply(vec![write("a.md", &format!("not done {n}"))]);
    }
    let database = rusqlite::Connection::open(vault.state.join("state.db")).expect("opened");
    let refused = "UPDATE operation SET state = 'taken_back' WHERE id > 1";
    assert_eq!(database.execute(refused, []).expect("set"), 3);
    vault.put("a.md", "1");
    vault.apply(vec![mv("a.md", "b.md")]);
    vault.apply(vec![mv("b.md", "a.md")]);
    let journal = vault.journal_with(Settings { versions: 2, ..Settings::default() });
    assert_eq!(journal.texts().gc(false).expect("looked").changes, 0);
    vault.undo(set);
    assert_eq!(vault.content("a.md"), "0");
}

#[test]
fn no_clock_lets_texts_go_before_their_days_are_counted() {
    let days = || Settings { days: 30, ..Settings::default() };
    // When the operations ended, oldest first, by a clock that was right or wrong.
    let ends = [
        // Old, or by a clock that is a year ahead now.
        [now() - 366 * DAY, now() - 365 * DAY, now() - 60 * DAY],
        // A board without a battery: 1970 in between.
        [now() - 60 * DAY, 0, 1],
    ];
    for ends in ends {
        let vault = TestVault::written_three_times();
        vault.set_ends(&ends);
        assert_eq!(vault.would_go(days()), 0, "no day is counted");
        vault.count_days(30);
        assert_eq!(vault.would_go(days()), 0, "thirty looks are twenty-nine days");
        let later = vault.apply(vec![write("a.md", "later")]);
        vault.set_ends(&[ends[0], ends[1], ends[2], now() - 365 * DAY]);
        Store::at(&vault.state)
            .journal
            .retention
            .count_day(now(), default_limits())
            .expect("counted");
        assert_eq!(vault.would_go(days()), 3, "and what came later stays, whatever its time");
        assert_eq!(vault.journal().texts().daily().expect("done").changes, 3);
        vault.undo(later);
    }
    // Enough days, and young by the clock, which was ahead when the change was made.
    let vault = TestVault::written_three_times();
    vault.set_ends(&[now() - 60 * DAY, now() + 365 * DAY, now() - 60 * DAY]);
    vault.count_days(31);
    assert_eq!(vault.would_go(days()), 2);
}

#[test]
fn a_day_counts_once() {
    let vault = TestVault::written_three_times();
    vault.set_ends(&[1, 1, 1]);
    let store = Store::at(&vault.state);
    for minute in 0..600 {
        store
            .journal
            .retention
            .count_day(now() - now() % DAY + minute * 60_000, default_limits())
            .expect("counted");
    }
    assert_eq!(vault.would_go(Settings { days: 1, ..Settings::default() }), 0);
    // A clock a year ahead counts as one more day, and so does its correction.
    store.journal.retention.count_day(now() + 365 * DAY, default_limits()).expect("counted");
    assert_eq!(vault.would_go(Settings { days: 1, ..Settings::default() }), 3);
    assert_eq!(vault.would_go(Settings { days: 2, ..Settings::default() }), 0);
}

#[test]
fn settings_that_are_away_for_a_moment_let_nothing_go() {
    let generous = || Settings { versions: 500, days: 365, ..Settings::default() };
    let limits = Limits { versions: 500, days: 365 };
    let vault = vault(&[("a.md", "0")]);
    for n in 0..60 {
        vault.apply(vec![write("a.md", &format!("{n}"))]);
    }
    vault.count_days_with(40, limits);
    let ends: Vec<i64> = (0..60).map(|_| now() - 50 * DAY).collect();
    vault.set_ends(&ends);
    assert_eq!(vault.would_go(generous()), 0);
    // The file is missing: the defaults would delete ten versions, and by age all.
    assert_eq!(vault.would_go(Settings::default()), 0);
    let daily = vault.journal_with(Settings::default()).texts().daily();
    assert_eq!(daily.expect("done").changes, 0);
    let store = Store::at(&vault.state);
    store.journal.retention.count_day(now() + DAY, default_limits()).expect("counted");
    assert_eq!(vault.would_go(Settings::default()), 0);
    store.journal.retention.count_day(now() + 2 * DAY, default_limits()).expect("counted");
    // Three days later the limit counts as intended.
    assert_eq!(vault.would_go(Settings::default()), 60);

    // Limits in the file take effect at once if a person requests it, and otherwise after days: the
    // file may have been half written.
    let vault = TestVault::written_three_times();
    vault.count_days_with(40, limits);
    let one = || Settings { versions: 1, ..Settings::default() };
    assert_eq!(vault.journal_with(one()).texts().daily().expect("done").changes, 0);
    assert_eq!(vault.would_go(one()), 2);
}

#[test]
fn a_file_keeps_its_versions_where_it_moves() {
    let one =
        |vault: &TestVault, versions| vault.would_go(Settings { versions, ..Settings::default() });
    let vault = TestVault::written_three_times();
    vault.apply(vec![mv("a.md", "b.md")]);
    vault.apply(vec![write("b.md", "4")]);
    // Of four writes of one file three are beyond the limit, and the move before the last.
    assert_eq!(one(&vault, 1), 4);
    // Another file with the old name pushes none of them out.
    for n in 0..3 {
        vault.apply(vec![write("a.md", &format!("other {n}"))]);
    }
    assert_eq!(one(&vault, 4), 0);
    assert_eq!(one(&vault, 3), 1);
    // With a folder above it.
    vault.apply(vec![mv("b.md", "f/g/b.md")]);
    vault.apply(vec![mv("f", "h")]);
    vault.apply(vec![write("h/g/b.md", "5")]);
    assert_eq!(one(&vault, 4), 1);
    // Deleted and created again it counts as the same file.
    vault.apply(vec![crate::changes::delete("h/g/b.md")]);
    vault.apply(vec![write("h/g/b.md", "6")]);
    assert_eq!(one(&vault, 5), 1);
}

#[test]
fn daily_copies_are_numbered_not_dated() {
    let copies = |vault: &TestVault| -> Vec<String> {
        let entries = fs::read_dir(vault.state.join("backups")).expect("listed").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let vault = vault(&[("a.md", "a")]);
    vault.apply(vec![write("a.md", "b")]);
    let vault = vault.reopened();
    vault.journal().recover().expect("sound, and copied");
    let backups = vault.state.join("backups");
    let first = copies(&vault).remove(0);
    // One of an earlier version, and one that was made while the clock was years ahead.
    fs::copy(backups.join(&first), backups.join("state-2039-01-01.db")).expect("copied");
    fs::rename(backups.join(&first), backups.join("state-000001-2038-01-01.db")).expect("renamed");
    let mut sets = Vec::new();
    for n in 0..9 {
        sets.push(vault.apply(vec![write("a.md", &format!("{n}"))]));
        Store::at(&vault.state).database.back_up().expect("copied");
        // Tomorrow another one is due.
        let newest = copies(&vault).into_iter().rfind(|name| !name.contains("-203")).expect("one");
        let number = &newest["state-".len()..][..6];
        let to = format!("state-{number}-19{:02}-01-01.db", 99 - n);
        fs::rename(backups.join(&newest), backups.join(to)).expect("renamed");
    }
    assert_eq!(copies(&vault).len(), 7, "{:?}", copies(&vault));
    assert!(copies(&vault)[6].starts_with("state-000010-"), "{:?}", copies(&vault));
    let vault = vault.reopened();
    fs::write(vault.state.join("state.db"), "no database").expect("written");
    let recovered = vault.journal().recover().expect("made sound");
    assert!(recovered.warnings[0].contains("state-000010-"), "{recovered:?}");
    vault.undo(sets[8]);
    assert_eq!(vault.content("a.md"), "7");
}
