//! A journal of a hundred thousand change sets answers like one of ten.

use std::time::{Duration, Instant};

use serde_json::json;
use vault_steward::journal::{Query, Settings};
use vault_steward::store::journal::DELETIONS;

use crate::changes::{delete, mv, write};
use crate::vault::{TestVault, vault};

/// Repeats the change sets of this journal after this one so many times.
fn multiply(vault: &TestVault, after: u64, times: u32) {
    let mut database = rusqlite::Connection::open(vault.state.join("state.db")).expect("opened");
    let change = database.transaction().expect("begun");
    change
        .execute_batch(&format!(
            "CREATE TEMP TABLE times AS
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {times})
                 SELECT i, (SELECT max(id) FROM change_set) AS sets,
                        (SELECT max(id) FROM operation) AS operations,
                        (SELECT max(id) FROM step) AS steps FROM n;
             INSERT INTO change_set (id, kind, undoes_set, title, caller, began)
                 SELECT id + i * sets, kind, undoes_set, title, caller, began FROM change_set, times
                 WHERE id > {after};
             INSERT INTO operation (id, change_set, state, began, ended)
                 SELECT id + i * operations, change_set + i * sets, state, began, ended
                 FROM operation, times WHERE change_set > {after};
             INSERT INTO step (id, operation, change_set, number, kind, path, other, before_text,
                               after_text, notes, detail, checksum)
                 SELECT id + i * steps, operation + i * operations, change_set + i * sets, number,
                        kind, path, other, before_text, after_text, notes, detail, checksum
                 FROM step, times WHERE change_set > {after};"
        ))
        .expect("copied");
    change.commit().expect("done");
}

#[test]
fn a_long_history_is_listed_at_once() {
    let vault = vault(&[("a.md", "a"), ("b.md", "b"), ("F/c.md", "c")]);
    for n in 0..6 {
        vault.apply(vec![write("a.md", &format!("{n}"))]);
    }
    vault.apply(vec![mv("b.md", "x.md"), mv("x.md", "b.md")]);
    vault.apply(vec![write("F/c.md", "c2")]);
    vault.apply(vec![write("gone.md", "g")]);
    vault.apply(vec![delete("gone.md")]);
    multiply(&vault, 0, 10_000);
    // Time quadratic in the length of the history would be minutes. The fastest of three, since the
    // machine has other work.
    let timed = |what: &str, most: Duration, work: &dyn Fn()| {
        let time = || {
            let began = Instant::now();
            work();
            began.elapsed()
        };
        let fastest = (0..3).map(|_| time()).min().expect("three");
        eprintln!("{what}: {fastest:?}");
        assert!(fastest < most, "{what} took {fastest:?}");
    };
    let (at_once, moment) = (Duration::from_millis(100), Duration::from_millis(1_500));
    let list = |path: Option<&str>| Query {
        path: path.map(crate::changes::path),
        limit: 20,
        ..Query::default()
    };
    let listed = |path: Option<&str>| {
        vault.journal().history().change_sets(&list(path)).expect("listed").len()
    };
    timed("the newest", at_once, &|| assert_eq!(listed(None), 20));
    // One that changed all the time, one that was renamed often, a folder, one that never existed.
    for (path, count) in [("a.md", 20), ("b.md", 20), ("F", 20), ("none.md", 0)] {
        timed(path, moment, &|| assert_eq!(listed(Some(path)), count));
    }
    timed("the trash", moment, &|| drop(vault.ok("list_trash", json!({}))));
    timed("a change and its undo", moment, &|| {
        vault.apply(vec![write("a.md", "more")]);
        vault.ok("undo", json!({}));
    });
    let long = Duration::from_secs(10);
    timed("letting go", long, &|| {
        vault.journal_with(Settings::default()).texts().gc(true).expect("looked");
    });
    timed("a start", long, &|| drop(vault.journal().recover().expect("recovered")));
}

#[test]
fn the_last_change_in_effect_is_found_after_many_undos() {
    let vault = vault(&[("a.md", "a"), ("b.md", "b")]);
    let first = vault.apply(vec![write("b.md", "changed")]);
    let undone = vault.apply(vec![write("a.md", "changed")]);
    vault.undo(undone);
    multiply(&vault, undone.0, 1_000);
    let rolled_back = vault.ok("undo", json!({}));
    assert_eq!(rolled_back["undone"], first.0.to_string());
    assert_eq!(vault.content("b.md"), "b");
}

#[test]
fn the_trash_is_listed_however_much_was_deleted() {
    let vault = vault(&[]);
    let first = vault.apply(vec![write("first.md", "first")]);
    let deleted = vault.apply(vec![delete("first.md")]);
    std::fs::remove_dir_all(vault.place.join(".trash")).expect("emptied by hand");
    multiply(&vault, 0, 25_000);
    let database = rusqlite::Connection::open(vault.state.join("state.db")).expect("opened");
    let rows: i64 = database
        .query_row("SELECT count(*) FROM step WHERE kind = 'delete'", [], |row| row.get(0))
        .expect("counted");
    assert!(rows > 2 * DELETIONS, "{rows}");
    let began = Instant::now();
    let listed = vault.ok("list_trash", json!({}));
    assert_eq!(listed["total"], 1, "the same text at the same path is one thing");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // The very first change set is beyond the search, and can be undone by its number.
    vault.undo(deleted);
    assert_eq!(vault.content("first.md"), "first");
    assert!(first < deleted);
}
