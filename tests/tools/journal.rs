//! The journal: every change is visible and can be undone.

use std::collections::BTreeMap;
use std::fs;

use chrono::{Duration, Utc};
use serde_json::json;
use vault_steward::journal::{
    Action, Change, ChangeId, ChangeSet, ChangeSetId, Difference, Empty, JournalError, Origin,
    Query, SetKind, Settings, Target, TrashPlace, UndoError,
};
use vault_steward::note::code::ErrorCode;
use vault_steward::note::path::VaultPath;
use vault_steward::vault::Kind;

use crate::abilities::{Ability, can};
use crate::changes::{delete, folder, in_turn, mv, path, seen, write};
use crate::vault::{JournalAlone as _, TestVault, TrashAlone as _, is_sound, vault};

#[test]
fn changes_are_listed_with_their_caller_after_a_restart() {
    let vault = vault(&[("a.md", "one\n")]);
    let origin = Origin {
        caller: "chat".to_owned(),
        conversation: Some("c1".to_owned()),
        ..Origin::default()
    };
    let first = vault.apply_as(vec![write("a.md", "two\n"), write("New/b.md", "b")], &origin);
    let second = vault.apply(vec![mv("a.md", "c.md")]);
    assert!(second > first);
    let vault = vault.reopened();
    let sets = vault.journal().history().change_sets(&Query::default()).expect("listed");
    assert_eq!(sets.iter().map(|set| set.id).collect::<Vec<_>>(), [second, first]);
    let set = &sets[1];
    assert_eq!((set.caller.as_str(), set.conversation.as_deref()), ("chat", Some("c1")));
    assert_eq!(set.kind, SetKind::Change);
    assert!((Utc::now() - set.time).num_seconds() < 60);
    let states: Vec<_> =
        set.changes.iter().map(|c| (c.id.number, c.action, c.path.as_str())).collect();
    assert_eq!(
        states,
        [
            (2, Action::FolderMade, "New"),
            (1, Action::Modified, "a.md"),
            (2, Action::Created, "New/b.md")
        ]
    );
    let diff = vault.journal().history().diff(ChangeId { set: first, number: 1 }).expect("a diff");
    let Difference::Text(diff) = diff else { panic!("{diff:?}") };
    assert!(diff.contains("-one\n+two\n"), "{diff}");
    let diff = vault.journal().history().diff(ChangeId { set: first, number: 2 }).expect("a diff");
    assert!(matches!(&diff, Difference::Text(text) if text.contains("+b")), "{diff:?}");
    let diff =
        vault.journal().history().diff(ChangeId { set: second, number: 1 }).expect("no text");
    assert_eq!(diff, Difference::None);
    let third = vault.apply(vec![write("d.md", "d")]);
    assert!(third > second, "numbers go on");

    // By path: the file under its earlier name too, and the files in a folder.
    let of = |asked: &str| -> Vec<ChangeSetId> {
        let query = Query { path: Some(path(asked)), ..Query::default() };
        let sets = vault.journal().history().change_sets(&query).expect("listed");
        sets.into_iter().map(|set| set.id).collect()
    };
    assert_eq!(of("c.md"), [second, first]);
    assert_eq!(of("New"), [first]);
    assert_eq!(of("d.md"), [third]);
    assert_eq!(of("nothing.md"), []);
    let query = Query { before: Some(third), limit: 1, ..Query::default() };
    assert_eq!(vault.journal().history().change_sets(&query).expect("listed")[0].id, second);
    let since = Some(Utc::now() + Duration::hours(1));
    let later = Query { since, ..Query::default() };
    assert!(vault.journal().history().change_sets(&later).expect("listed").is_empty());
}

#[test]
fn every_kind_of_change_can_be_undone_and_the_undo_too() {
    if !can(Ability::SymbolicLinks) {
        return;
    }
    let sets: Vec<(&str, Vec<Change>)> = vec![
        ("overwrite", vec![write("a.md", "new text\n")]),
        ("empty", vec![write("a.md", "")]),
        ("create", vec![write("new.md", "x")]),
        ("create in new folders", vec![write("p/q/new.md", "x")]),
        ("folder", vec![folder("p/q")]),
        ("move", vec![mv("a.md", "Folder/moved.md")]),
        ("move into new folders", vec![mv("a.md", "x/y/z.md")]),
        ("change of case", vec![mv("a.md", "A.md")]),
        ("move a folder", vec![mv("Folder", "Elsewhere/Folder")]),
        ("delete", vec![delete("a.md")]),
        ("delete a folder", vec![delete("Folder")]),
        ("delete a link", vec![delete("link.md")]),
        (
            "everything",
            vec![
                write("Folder/b.md", "changed\n"),
                write("a.md", "changed too\n"),
                mv("a.md", "n/a2.md"),
                mv("Folder", "n/F"),
                delete("c.md"),
                write("n/new.md", "new\n"),
                folder("n/empty"),
            ],
        ),
    ];
    for (name, changes) in sets {
        let vault = TestVault::new(
            &[("a.md", "a\n"), ("c.md", "c\n"), ("Folder/b.md", "b\n"), ("Folder/deep/d.md", "d")],
            |_place| {
                #[cfg(unix)]
                std::os::unix::fs::symlink("a.md", _place.join("link.md")).expect("linked");
                #[cfg(not(unix))]
                fs::write(_place.join("link.md"), "x").expect("written");
            },
        );
        let before = seen(&vault);
        let set = vault.apply(changes);
        let after = seen(&vault);
        assert_ne!(before, after, "{name}");
        let undo = vault.undo(set);
        assert_eq!(seen(&vault), before, "{name}, undone");
        assert!(matches!(vault.undo_error(&set.to_string()), UndoError::AlreadyUndone { by, .. }
            if by == undo));
        let listed = vault.journal().history().change_set(undo).expect("read").expect("listed");
        assert_eq!(listed.kind, SetKind::Undo(Target::Set(set)), "{name}");
        let vault = vault.reopened();
        let redo = vault.undo(undo);
        assert_eq!(seen(&vault), after, "{name}, done again");
        vault.undo(redo);
        assert_eq!(seen(&vault), before, "{name}, undone again");
        // The first undo is in effect again; neither the change nor the other is.
        for gone in [set, redo] {
            let error = vault.undo_error(&gone.to_string());
            assert!(matches!(error, UndoError::AlreadyUndone { .. }), "{name}: {error}");
        }
        vault.undo(undo);
        assert_eq!(seen(&vault), after, "{name}, done again by the first undo");
        assert!(vault.rescued().is_empty(), "{name}");
    }
}

#[test]
fn changes_since_are_shown_and_stay() {
    let vault = vault(&[("a.md", "one\n")]);
    let set = vault.apply(vec![write("a.md", "two\n"), write("b.md", "b\n")]);
    vault.put("a.md", "two, by hand\n");
    let before = vault.snapshot();
    match vault.undo_error(&set.to_string()) {
        UndoError::Changed { path, diff, by: None, clash: Some(1) } => {
            assert_eq!(path.as_str(), "a.md");
            assert!(diff.contains("-two\n+two, by hand\n"), "{diff}");
        }
        other => panic!("{other}"),
    }
    assert_eq!(vault.snapshot(), before, "nothing was done");
    let forced = vault.journal().undo(Target::Set(set), true, &Origin::default());
    let forced = forced.expect("forced");
    assert_eq!(vault.content("a.md"), "one\n");
    assert!(!vault.exists("b.md"));
    assert!(forced.notes.iter().any(|note| note.contains("newer text")), "{:?}", forced.notes);
    vault.undo(forced.applied.change_set);
    assert_eq!(vault.content("a.md"), "two, by hand\n", "the newer text came back");
    // Changed by a later change set: it is named.
    let first = vault.apply(vec![write("c.md", "1")]);
    let second = vault.apply(vec![write("c.md", "2")]);
    match vault.undo_error(&first.to_string()) {
        UndoError::Changed { by, .. } => assert_eq!(by, Some(second)),
        other => panic!("{other}"),
    }
}

#[test]
fn edits_by_others_during_a_turn_survive_its_forced_undo() {
    let vault = vault(&[("a.md", "one\n")]);
    let origin = in_turn("turn");
    let apply = |text: &str| {
        let set = ChangeSet { title: "edit".into(), changes: vec![write("a.md", text)] };
        vault.journal().apply(&set, &origin).expect("applied").change_set
    };
    let set = apply("two\n");
    vault.put("a.md", "by hand\n");
    assert_eq!(apply("three\n"), set, "one turn is one change set");
    match vault.undo_error(&set.to_string()) {
        UndoError::Changed { diff, .. } => assert!(diff.contains("-two\n+by hand\n"), "{diff}"),
        other => panic!("{other}"),
    }
    assert_eq!(vault.content("a.md"), "three\n", "nothing was done");
    let forced = vault.journal().undo(Target::Set(set), true, &Origin::default());
    let forced = forced.expect("forced");
    assert_eq!(vault.content("a.md"), "one\n");
    assert!(forced.notes.iter().any(|note| note.contains("newer text")), "{:?}", forced.notes);
    let first = forced.applied.change_set;
    // Change by change everything can be restored, including the text of others.
    let undo = |change: &str| {
        let target = format!("{first}.{change}").parse().expect("a target");
        vault.journal().undo(target, false, &Origin::default()).expect("undone");
    };
    undo("2");
    assert_eq!(vault.content("a.md"), "by hand\n");
    undo("1");
    assert_eq!(vault.content("a.md"), "three\n");
}

#[test]
fn obstacles_of_an_undo_are_reported_or_avoided() {
    let vault = vault(&[("a.md", "a"), ("m.md", "m"), ("x.md", "x")]);
    // A deleted note whose name is taken is restored under another name, twice.
    let first = vault.apply(vec![delete("a.md")]);
    vault.put("a.md", "another");
    let undone = vault.journal().undo(Target::Set(first), false, &Origin::default());
    assert!(undone.expect("undone").notes[0].contains("a (restored).md"));
    assert_eq!(vault.content("a (restored).md"), "a");
    assert_eq!(vault.content("a.md"), "another");
    let second = vault.apply(vec![delete("a.md")]);
    vault.put("a.md", "a third");
    vault.undo(second);
    assert_eq!(vault.content("a (restored 2).md"), "another");
    // A move whose old name is taken.
    let moved = vault.apply(vec![mv("m.md", "n.md")]);
    vault.put("m.md", "taken");
    let error = vault.undo_error(&moved.to_string());
    assert!(matches!(&error, UndoError::Taken { taken, .. } if taken.as_str() == "m.md"));
    assert!(error.hint().expect("a hint").contains("m.md"));
    assert_eq!(vault.content("n.md"), "m");
    // A file that a later change moved; an edit of it is undone where it is now.
    let edited = vault.apply(vec![write("x.md", "y")]);
    let first = vault.apply(vec![mv("x.md", "y.md")]);
    let on = vault.apply(vec![mv("y.md", "z/w.md")]);
    vault.undo(edited);
    assert_eq!(vault.content("z/w.md"), "x");
    match vault.undo_error(&first.to_string()) {
        UndoError::NotThere { now, by, .. } => {
            assert_eq!(now, Some(path("z/w.md")));
            assert_eq!(by.map(|by| by.set), Some(on));
        }
        other => panic!("{other}"),
    }
    assert!(matches!(vault.undo_error("9999"), UndoError::Unknown(_)));
    // A created folder keeps what someone put into it.
    let made = vault.apply(vec![folder("New"), write("New/own.md", "o")]);
    vault.put("New/theirs.md", "t");
    let undone = vault.journal().undo(Target::Set(made), false, &Origin::default());
    let undone = undone.expect("undone");
    assert!(undone.notes.iter().any(|note| note.contains("`New` stays")), "{:?}", undone.notes);
    assert_eq!(vault.content("New/theirs.md"), "t");
    assert!(!vault.exists("New/own.md"));
    // A folder that existed before is never removed.
    vault.put("Old/", "");
    let none = vault.apply(vec![folder("Old"), write("Old/a.md", "a")]);
    vault.undo(none);
    assert!(vault.exists("Old"));
}

#[test]
fn a_turn_is_one_change_set_and_its_changes_can_be_undone_singly() {
    let vault = vault(&[("a.md", "a"), ("b.md", "b")]);
    let turn = in_turn("t1");
    let first = vault.apply_as(vec![write("a.md", "a2")], &turn);
    let other = vault.apply(vec![write("other.md", "o")]);
    let second = vault.apply_as(vec![write("b.md", "b2"), write("c.md", "c")], &turn);
    let third = vault.apply_as(vec![write("a.md", "a3")], &turn);
    assert_eq!((first, first), (second, third));
    assert_ne!(first, other);
    let set = vault.journal().history().change_set(first).expect("read").expect("listed");
    let numbers: Vec<u32> = set.changes.iter().map(|change| change.id.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    // A change on which a later one of the same set depends.
    assert!(matches!(vault.undo_error(&format!("{first}.1")), UndoError::Changed { .. }));
    let one: Target = format!("{first}.2").parse().expect("a target");
    vault.journal().undo(one, false, &Origin::default()).expect("undone");
    assert_eq!((vault.content("b.md"), vault.content("c.md")), ("b".into(), "c".into()));
    assert!(matches!(vault.undo_error(&format!("{first}.2")), UndoError::AlreadyUndone { .. }));
    // The rest of it, with the two writes of one file in reverse.
    vault.undo(first);
    assert_eq!((vault.content("a.md"), vault.content("b.md")), ("a".into(), "b".into()));
    assert!(!vault.exists("c.md"));
    assert_eq!(vault.content("other.md"), "o");
    // A failed call does not change the turn.
    let set = ChangeSet { title: "no".to_owned(), changes: vec![mv("gone.md", "x.md")] };
    vault.journal().apply(&set, &turn).expect_err("there is nothing to move");
    assert_eq!(vault.apply_as(vec![write("a.md", "again")], &turn), first);
}

#[test]
fn all_changes_are_undone_in_reverse() {
    // A small generator: the same numbers every time.
    for seed in 1..=12_u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).expect("31 bits") % below
        };
        let vault = vault(&[("a.md", "a"), ("F/b.md", "b"), ("F/G/c.md", "c"), ("d.md", "d")]);
        let names = ["a.md", "d.md", "F/b.md", "F/G/c.md", "F", "F/G", "H", "H/e.md", "F/e.md"];
        let mut states = vec![seen(&vault)];
        let mut sets = Vec::new();
        for step in 0..40 {
            let (one, two) = (names[random(names.len())], names[random(names.len())]);
            let change = match random(5) {
                0 | 1 => write(one, &format!("text {step}")),
                2 => mv(one, two),
                3 => delete(one),
                _ => folder(one),
            };
            if one.ends_with(".md") == matches!(change, Change::CreateFolder { .. }) {
                continue;
            }
            let set = ChangeSet { title: format!("step {step}"), changes: vec![change] };
            let origin = Origin { confirmed: true, ..Origin::default() };
            // A folder that already exists is not a change.
            if let Ok(applied) = vault.journal().apply(&set, &origin)
                && vault.journal().history().change_set(applied.change_set).expect("read").is_some()
            {
                sets.push(applied.change_set);
                states.push(seen(&vault));
            }
        }
        assert!(sets.len() > 8, "seed {seed}: {}", sets.len());
        let last = states.pop().expect("there is one");
        let mut undos = Vec::new();
        for (set, before) in sets.iter().rev().zip(states.iter().rev()) {
            let undone = vault.journal().undo(Target::Set(*set), false, &Origin::default());
            let undone = undone.unwrap_or_else(|error| panic!("seed {seed}, {set}: {error}"));
            undos.push(undone.applied.change_set);
            assert_eq!(&seen(&vault), before, "seed {seed}, after the undo of {set}");
        }
        for undo in undos.iter().rev() {
            vault.undo(*undo);
        }
        assert_eq!(seen(&vault), last, "seed {seed}, all undone and done again");
        assert!(is_sound(&vault.journal().texts().verify().expect("verified")));
    }
}

#[test]
fn the_trash_is_listed_restored_and_emptied() {
    let vault = vault(&[("a.md", "a"), ("F/b.md", "b"), ("F/c.md", "c")]);
    vault.put(".trash/theirs.md", "by Obsidian");
    let set = vault.apply(vec![delete("a.md"), delete("F")]);
    let trash = vault.journal().trash().list().expect("listed");
    let states: BTreeMap<_, _> = trash
        .iter()
        .map(|item| (item.id.as_str(), (item.was.as_ref().map(VaultPath::as_str), item.kind)))
        .collect();
    assert_eq!(
        states,
        BTreeMap::from([
            (".trash/F", (Some("F"), Kind::Folder)),
            (".trash/a.md", (Some("a.md"), Kind::File)),
            (".trash/theirs.md", (None, Kind::File)),
        ])
    );
    let origin = Origin::default();
    let back = vault.journal().trash().restore(".trash/F", None, &origin).expect("restored");
    assert_eq!((back.path.as_str(), vault.content("F/b.md")), ("F", "b".to_owned()));
    let back =
        vault.journal().trash().restore(&format!("{set}.1"), Some(&path("z/a2.md")), &origin);
    assert_eq!(back.expect("restored").path.as_str(), "z/a2.md");
    assert_eq!(vault.content("z/a2.md"), "a");
    let back =
        vault.journal().trash().restore(".trash/theirs.md", None, &origin).expect("restored");
    assert_eq!(vault.content("theirs.md"), "by Obsidian");
    assert!(back.notes[0].contains("root"), "{:?}", back.notes);
    assert!(vault.journal().trash().list().expect("listed").is_empty());
    assert!(matches!(
        vault.journal().trash().restore(".trash/none.md", None, &origin),
        Err(UndoError::NotInTrash { .. })
    ));
    // A restore is a change set like any other.
    vault.undo(back.applied.change_set);
    assert!(!vault.exists("theirs.md"));
    let set = vault.apply(vec![delete("F/b.md")]);
    let emptied = vault.journal().empty_trash(&Empty::Older(Utc::now() - Duration::days(30)));
    assert!(emptied.expect("emptied").items.is_empty());
    assert!(vault.exists(".trash/b.md"));
    let names = vec![".trash/b.md".to_owned(), "nothing".to_owned()];
    let emptied = vault.journal().empty_trash(&Empty::Named(names)).expect("emptied");
    assert_eq!((emptied.items.len(), emptied.bytes, emptied.left.len()), (1, 1, 1));
    assert!(!vault.exists(".trash/b.md"));
    // It cannot be restored by its name.
    let trash = vault.journal().trash().list().expect("listed");
    assert!(trash.iter().all(|item| item.was.as_ref() != Some(&path("F/b.md"))), "{trash:?}");
    let refused = vault.undo_error(&set.to_string());
    assert!(matches!(refused, UndoError::Emptied { .. }), "{refused}");
    assert!(!vault.exists("F/b.md"));
    let all = vault.journal().empty_trash(&Empty::Older(Utc::now() + Duration::days(1)));
    assert_eq!(all.expect("emptied").items.len(), 1);
    assert_eq!(fs::read_dir(vault.place.join(".trash")).expect("listed").count(), 0);
}

#[test]
fn a_vault_without_trash_stores_deleted_files() {
    let vault = TestVault::new(&[("a.md", "a"), ("F/b.md", "b")], |place| {
        fs::write(place.join(".obsidian/app.json"), r#"{"trashOption":"none"}"#).expect("written");
    });
    let before = seen(&vault);
    let set = vault.apply(vec![delete("a.md"), delete("F")]);
    assert!(!vault.exists("a.md") && !vault.exists("F"));
    let trash = vault.journal().trash().list().expect("listed");
    assert!(trash.iter().all(|item| item.place == TrashPlace::Kept), "{trash:?}");
    vault.undo(set);
    assert_eq!(seen(&vault), before);
    assert_eq!(fs::read_dir(vault.state.join("kept")).expect("listed").count(), 0);
    // The `kept/` folder is gone too: the texts are still there.
    let set = vault.apply(vec![delete("a.md"), delete("F")]);
    fs::remove_dir_all(vault.state.join("kept")).expect("removed");
    vault.undo(set);
    assert_eq!(seen(&vault), before);
}

#[test]
fn one_turn_moves_and_deletes_only_so_much() {
    let names: Vec<String> = (0..60).map(|n| format!("n/{n}.md")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let vault = vault(&files);
    let settings = Settings { max_deleted: 3, max_moved: 4, max_percent: 0, ..Settings::default() };
    let journal = vault.journal_with(settings);
    let set = |changes| ChangeSet { title: "t".to_owned(), changes };
    let turn = in_turn("t");
    journal.apply(&set(vec![delete("n/0.md"), delete("n/1.md")]), &turn).expect("two");
    let before = vault.snapshot();
    let refused = journal.apply(&set(vec![delete("n/2.md"), delete("n/3.md")]), &turn);
    assert!(matches!(refused, Err(JournalError::Limit { count: 4, limit: 3, .. })), "{refused:?}");
    assert_eq!(vault.snapshot(), before);
    // Another turn starts counting at zero; a folder counts by its notes; a person may approve.
    journal.apply(&set(vec![delete("n/2.md")]), &in_turn("u")).expect("one");
    let all = set(vec![delete("n")]);
    assert!(matches!(journal.apply(&all, &in_turn("v")), Err(JournalError::Limit { .. })));
    let moves = set(vec![mv("n", "m")]);
    let refused = journal.apply(&moves, &in_turn("v")).expect_err("57 notes");
    assert_eq!(refused.code(), ErrorCode::Denied);
    assert!(refused.hint().expect("a hint").contains("person"));
    let agreed = Origin { confirmed: true, ..in_turn("v") };
    let applied = journal.apply(&moves, &agreed).expect("agreed");
    // Undo is not limited.
    journal.undo(Target::Set(applied.change_set), false, &turn).expect("undone");
    // The share of the vault: ten notes in any vault, a tenth of a large one.
    let share = vault.journal_with(Settings { max_percent: 10, ..Settings::default() });
    let ten: Vec<Change> = (10..20).map(|n| delete(&format!("n/{n}.md"))).collect();
    let eleven: Vec<Change> = (20..31).map(|n| delete(&format!("n/{n}.md"))).collect();
    assert!(matches!(
        share.apply(&set(eleven), &Origin::default()),
        Err(JournalError::Limit { action: "delete or move", count: 11, limit: 10 })
    ));
    share.apply(&set(ten), &Origin::default()).expect("ten");
    // Attachments count like notes.
    let pictures: Vec<String> = (0..11).map(|n| format!("p/{n}.png")).collect();
    pictures.iter().for_each(|name| vault.put(name, "x"));
    vault.context.vault.rescan().expect("looked through");
    let eleven = pictures.iter().map(|name| delete(name)).collect();
    assert!(matches!(
        share.apply(&set(eleven), &Origin::default()),
        Err(JournalError::Limit { action: "delete or move", count: 11, .. })
    ));
    // The tools use the same word for it.
    let denied = vault.err("delete", json!({ "path": "n" }), ErrorCode::Denied);
    assert!(denied.hint.expect("a hint").contains("person"));
}

#[test]
fn listeners_receive_each_change_once() {
    use std::sync::{Arc, Mutex};
    let vault = vault(&[("a.md", "a")]);
    let heard: Arc<Mutex<Vec<(u64, usize)>>> = Arc::default();
    let sink = Arc::clone(&heard);
    vault.journal().subscribe(Box::new(move |set| {
        sink.lock().unwrap().push((set.id.0, set.changes.len()));
    }));
    let turn = in_turn("t");
    let set = vault.apply_as(vec![write("a.md", "b")], &turn);
    vault.apply_as(vec![write("b.md", "b"), write("c.md", "c")], &turn);
    let undo = vault.undo(set);
    assert_eq!(*heard.lock().unwrap(), [(set.0, 1), (set.0, 2), (undo.0, 3)]);
}

#[test]
fn another_thing_of_the_same_name_in_the_trash_is_not_taken_for_it() {
    let vault = vault(&[("P/one.md", "1"), ("n.md", "first")]);
    let folder = vault.apply(vec![delete("P")]);
    let note = vault.apply(vec![delete("n.md")]);
    fs::remove_dir_all(vault.place.join(".trash")).expect("emptied by hand");
    // The next files with these names take the paths, and often even the inode numbers.
    vault.put("P/two.md", "2");
    vault.put("n.md", "other");
    vault.context.vault.rescan().expect("seen");
    vault.apply(vec![delete("P"), delete("n.md")]);
    vault.undo(folder);
    vault.undo(note);
    assert_eq!((vault.content("P/one.md"), vault.content("n.md")), ("1".into(), "first".into()));
    assert!(!vault.exists("P/two.md"));
    let trash = (vault.content(".trash/P/two.md"), vault.content(".trash/n.md"));
    assert_eq!(trash, ("2".into(), "other".into()));
}

#[test]
fn a_moved_note_that_somebody_deleted_is_not_another_of_its_name() {
    let vault = vault(&[("a.md", "a")]);
    let set = vault.apply(vec![mv("a.md", "b.md")]);
    fs::create_dir(vault.place.join(".trash")).expect("made");
    fs::rename(vault.place.join("b.md"), vault.place.join(".trash/b.md")).expect("deleted");
    vault.put("b.md", "a person's new note");
    vault.context.vault.rescan().expect("seen");
    let refused = vault.undo_error(&set.to_string());
    assert!(matches!(refused, UndoError::NotThere { .. }), "{refused}");
    assert_eq!(vault.content("b.md"), "a person's new note");
    assert!(!vault.exists("a.md"));
}

#[test]
fn a_large_file_takes_no_room_from_other_notes() {
    if !can(Ability::Sparse) {
        return;
    }
    let vault = vault(&[("F/z.md", "z")]);
    let film = fs::File::create(vault.place.join("F/a-film.mp4")).expect("made");
    film.set_len(300 << 20).expect("a hole");
    let set = vault.apply(vec![delete("F")]);
    fs::remove_dir_all(vault.place.join(".trash")).expect("emptied by hand");
    vault.undo(set);
    assert_eq!(vault.content("F/z.md"), "z");
}

#[test]
fn a_name_of_full_length_comes_back_next_to_another() {
    let name = format!("{}.md", "n".repeat(252));
    let vault = vault(&[(&name, "old")]);
    let set = vault.apply(vec![delete(&name)]);
    vault.put(&name, "new");
    vault.undo(set);
    assert_eq!(vault.content(&name), "new");
    assert_eq!(vault.content(&format!("{} (restored).md", "n".repeat(241))), "old");
}

#[test]
fn an_undo_undoes_the_latest_redo() {
    let vault = vault(&[("F/a.md", "a"), ("F/b.md", "b")]);
    let first = vault.apply(vec![delete("F")]);
    let back = vault.undo(first);
    // By another program: the folder has less content when it is deleted the second time.
    fs::rename(vault.place.join("F/a.md"), vault.place.join("elsewhere.md")).expect("moved");
    let again = vault.undo(back);
    assert!(!vault.exists("F"));
    vault.undo(first);
    assert_eq!(vault.content("F/b.md"), "b");
    assert!(!vault.exists("F/a.md"), "what was moved away is not there twice");
    assert_eq!(vault.content("elsewhere.md"), "a");
    // The two are the same deletion: it has been undone by now.
    let origin = Origin::default();
    let error = vault.journal().undo(Target::Set(again), false, &origin).expect_err("done");
    assert!(matches!(error, UndoError::AlreadyUndone { .. }), "{error}");
}

#[test]
fn a_folder_that_was_created_again_is_not_taken_for_the_one_that_went() {
    let vault = vault(&[("n.md", "n")]);
    let first = vault.apply(vec![write("F/a.md", "a")]);
    let gone = vault.undo(first);
    assert!(!vault.exists("F"));
    vault.apply(vec![write("F/other.md", "o")]);
    vault.undo(gone);
    assert_eq!(vault.content("F/a.md"), "a");
    fs::rename(vault.place.join("F/other.md"), vault.place.join("other.md")).expect("moved");
    vault.undo(first);
    assert!(vault.exists("F"), "another change had made it");
    assert!(!vault.exists("F/a.md"));
}
