//! Undoing changes of files that others have edited since: their edits stay.

use std::fs;

use serde_json::{Value, json};
use vault_steward::journal::{ChangeSetId, Origin, Target, UndoError, Undone};
use vault_steward::note::code::ErrorCode;

use crate::abilities::{Ability, can};
use crate::changes::{delete, in_turn, mv, seen, write};
use crate::vault::{JournalAlone as _, TestVault, is_sound, vault};

fn undo(vault: &TestVault, set: ChangeSetId, force: bool) -> Result<Undone, UndoError> {
    vault.journal().undo(Target::Set(set), force, &Origin::default())
}

#[track_caller]
fn undone(vault: &TestVault, set: ChangeSetId) -> Undone {
    undo(vault, set, false).unwrap_or_else(|error| panic!("undo of {set}: {error}"))
}

/// Undoes this undo; then everything is as it was right before it, and the undo can be done once
/// more.
#[track_caller]
fn there_and_back(vault: &TestVault, set: ChangeSetId) {
    let before = seen(vault);
    let undo = undone(vault, set).applied.change_set;
    let after = seen(vault);
    assert_ne!(before, after);
    vault.undo(undo);
    assert_eq!(seen(vault), before, "done again");
    vault.undo(set);
    assert_eq!(seen(vault), after, "undone again");
}

/// The number of the last change set.
fn last(vault: &TestVault) -> u64 {
    let listed = vault.ok("list_changes", json!({"limit": 1}));
    listed["change_sets"][0]["id"].as_u64().expect("there is one")
}

#[test]
fn edits_elsewhere_in_the_note_stay() {
    for (before, after, now, wanted) in [
        ("1\n2\n3\n4\n", "1\nTwo\n3\n4\n", "1\nTwo\n3\n4\nmine\n", "1\n2\n3\n4\nmine\n"),
        ("1\n2\n3\n4\n", "1\n2\n3\n4\n5\n", "mine\n1\n2\n3\n4\n5\n", "mine\n1\n2\n3\n4\n"),
        ("1\n2\n3\n4\n", "3\n4\n", "3\n4\nmine\n", "1\n2\n3\n4\nmine\n"),
        ("1\n2\n3\n4\n", "", "", "1\n2\n3\n4\n"),
        // Each text keeps its line endings, byte-order mark and last line.
        (
            "\u{feff}1\r\n2\r\n3",
            "\u{feff}1\r\n2\r\nIII",
            "\u{feff}I\r\n2\r\nIII",
            "\u{feff}I\r\n2\r\n3",
        ),
        // Properties.
        (
            "---\ntags: [a]\n---\ntext\n",
            "---\ntags: [a, b]\n---\ntext\n",
            "---\ntags: [a, b]\n---\ntext\nmine\n",
            "---\ntags: [a]\n---\ntext\nmine\n",
        ),
        // The same lines many times.
        (
            "- [ ] x\n- [ ] x\n",
            "- [ ] x\n- [ ] x\n- [ ] x\n",
            "# mine\n\n- [ ] x\n- [ ] x\n- [ ] x\n",
            "# mine\n\n- [ ] x\n- [ ] x\n",
        ),
        // Partly undone by hand.
        ("1\n2\n3\n4\n5\n", "1\nB\nC\n4\n5\n", "1\n2\nC\n4\nmine\n", "1\n2\n3\n4\nmine\n"),
        ("1\n2\n", "1\nx\ny\n2\n", "1\ny\n2\n", "1\n2\n"),
    ] {
        let vault = vault(&[("a.md", before), ("b.md", "b\n")]);
        let set = vault.apply(vec![write("a.md", after), write("b.md", "other\n")]);
        vault.put("a.md", now);
        assert_eq!(vault.content("a.md"), now);
        let seen_before = seen(&vault);
        let done = undone(&vault, set);
        assert_eq!(vault.content("a.md"), wanted, "{now:?}");
        assert_eq!(vault.content("b.md"), "b\n");
        let tells = done.notes.iter().any(|note| note.starts_with("`a.md` was changed since"));
        assert_eq!(tells, now != after, "{:?}", done.notes);
        vault.undo(done.applied.change_set);
        assert_eq!(seen(&vault), seen_before, "{now:?}: done again");
        there_and_back(&vault, set);
        assert!(vault.rescued().is_empty());
        assert!(is_sound(&vault.journal().texts().verify().expect("verified")));
    }
}

#[test]
fn an_undo_of_an_undo_keeps_edits_in_between() {
    let vault = vault(&[("a.md", "1\n2\n3\n4\n5\n")]);
    let set = vault.apply(vec![write("a.md", "1\nB\n3\n4\n5\n")]);
    vault.put("a.md", "1\nB\n3\n4\n5\nmine\n");
    let undo = undone(&vault, set).applied.change_set;
    vault.put("a.md", "1\n2\n3\n4, mine\n5\nmine\n");
    let again = undone(&vault, undo).applied.change_set;
    assert_eq!(vault.content("a.md"), "1\nB\n3\n4, mine\n5\nmine\n");
    vault.put("a.md", "1\nB\n3\n4, mine\n5\nmine\nmore\n");
    // By its first number too: a redone change is undone as it was last done.
    undone(&vault, set);
    assert_eq!(vault.content("a.md"), "1\n2\n3\n4, mine\n5\nmine\nmore\n");
    assert!(matches!(vault.undo_error(&again.to_string()), UndoError::AlreadyUndone { .. }));
}

#[test]
fn conflicting_lines_are_refused_with_the_effect_of_force() {
    let vault = vault(&[("a.md", "1\n2\n3\n4\n")]);
    let set = vault.apply(vec![write("a.md", "1\nB\n3\n4\n"), write("new.md", "n\n")]);
    for (now, line) in [
        ("1\nB, mine\n3\n4\n", 2),
        ("1\nB\n3, mine\n4\n", 3),
        ("0\n1\nB\nmine\n3\n4\n", 4),
        ("mine\n", 1),
    ] {
        vault.put("a.md", now);
        let before = vault.snapshot();
        let arguments = json!({ "change_set": set.0 });
        let error = vault.err("undo", arguments, ErrorCode::StaleRevision);
        assert_eq!(error.data.as_ref().expect("facts")["line"], line, "{now:?}");
        assert!(
            error.message.ends_with(&format!("the same lines as that change: see line {line}"))
        );
        let hint = error.hint.expect("a hint");
        assert!(hint.contains("force puts the whole file back"), "{hint}");
        assert!(hint.contains("@@"), "it shows what was changed since: {hint}");
        assert_eq!(vault.snapshot(), before, "nothing was done");
    }
    let forced = undo(&vault, set, true).expect("forced");
    assert_eq!(vault.content("a.md"), "1\n2\n3\n4\n");
    vault.undo(forced.applied.change_set);
    assert_eq!(vault.content("a.md"), "mine\n");
    // Where the two do not overlap, force discards nothing either.
    let vault = crate::vault::vault(&[("a.md", "1\n2\n3\n4\n")]);
    let set = vault.apply(vec![write("a.md", "1\nB\n3\n4\n")]);
    vault.put("a.md", "1\nB\n3\n4\nmine\n");
    undo(&vault, set, true).expect("undone");
    assert_eq!(vault.content("a.md"), "1\n2\n3\n4\nmine\n");
}

#[test]
fn an_edit_by_another_program_is_not_blamed_on_a_change_set() {
    let vault = vault(&[("a.md", "one\ntwo\nthree\n")]);
    let edit = |old: &str, new: &str| {
        vault.ok("edit_file", json!({ "path": "a.md", "old_text": old, "new_text": new }));
        ChangeSetId(last(&vault))
    };
    let by = |set: ChangeSetId| match undo(&vault, set, false) {
        Err(UndoError::Changed { by, clash, .. }) => (by, clash),
        other => panic!("{other:?}"),
    };
    let first = edit("three", "three\nmine");
    let path = vault.place.join("a.md");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + "typed by hand\n").unwrap();
    let second = edit("one", "ONE");
    assert_eq!(by(first), (None, Some(5)));
    undone(&vault, second);
    assert_eq!(by(first), (None, Some(5)));

    // Of the change sets since then, one that was undone has not changed it either.
    let third = edit("two", "TWO");
    let fourth = edit("TWO", "Two");
    undone(&vault, fourth);
    let fifth = edit("TWO", "2");
    assert_eq!(by(third).0, Some(fifth));
}

#[test]
fn binary_files_need_force() {
    let vault = vault(&[("a.png", "1\n2\n3\n")]);
    let set = vault.apply(vec![write("a.png", "1\n2\n3\n\u{0}\n")]);
    vault.put("a.png", "0\n1\n2\n3\n\u{0}\n");
    match vault.undo_error(&set.to_string()) {
        UndoError::Changed { clash: None, .. } => {}
        other => panic!("{other}"),
    }
    fs::write(vault.place.join("a.png"), b"\xff\xfe1").expect("written");
    let error = vault.undo_error(&set.to_string());
    assert!(error.hint().expect("a hint").contains("use force"), "{error}");
    undo(&vault, set, true).expect("forced");
    assert_eq!(vault.content("a.png"), "1\n2\n3\n");
}

#[test]
fn changes_undone_by_hand_stay() {
    let vault = vault(&[("a.md", "1\n2\n3\n4\n"), ("b.md", "b\n")]);
    let set = vault.apply(vec![write("a.md", "1\nB\n3\n4\n"), write("b.md", "bb\n")]);
    vault.put("a.md", "1\n2\n3\n4\nmine\n");
    let done = undone(&vault, set);
    assert_eq!(vault.content("a.md"), "1\n2\n3\n4\nmine\n");
    assert_eq!(vault.content("b.md"), "b\n");
    let tells = |note: &String| note.contains("`a.md` no longer contains the change");
    assert!(done.notes.iter().any(tells), "{:?}", done.notes);
    vault.undo(done.applied.change_set);
    assert_eq!(vault.content("a.md"), "1\n2\n3\n4\nmine\n");
    assert_eq!(vault.content("b.md"), "bb\n");
}

#[test]
fn changes_of_other_lines_are_undone_in_any_order() {
    let texts = [
        "0\n1\n2\n3\n4\n5\n6\n7\n",
        "0\nA\n2\n3\n4\n5\n6\n7\n",
        "0\nA\n2\n3\nD\n5\n6\n7\n",
        "0\nA\n2\n3\nD\n5\n6\nG\n8\n",
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for in_one_turn in [false, true] {
            let vault = vault(&[("a.md", texts[0])]);
            let origin = if in_one_turn { in_turn("t") } else { Origin::default() };
            let mut sets = Vec::new();
            for text in &texts[1..] {
                sets.push(vault.apply_as(vec![write("a.md", text)], &origin));
            }
            vault.put("a.md", &format!("mine\n{}", texts[3]));
            let targets: Vec<String> = if in_one_turn {
                (1..=3).map(|number| format!("{}.{number}", sets[0])).collect()
            } else {
                sets.iter().map(ToString::to_string).collect()
            };
            let mut undos = Vec::new();
            for at in order {
                let target: Target = targets[at].parse().expect("a target");
                let done = vault.journal().undo(target, false, &Origin::default());
                let done = done.unwrap_or_else(|error| panic!("{order:?}, {target}: {error}"));
                undos.push(done.applied.change_set);
            }
            assert_eq!(vault.content("a.md"), format!("mine\n{}", texts[0]), "{order:?}");
            // And redone, in yet another order.
            undos.rotate_left(1);
            for undo in undos {
                undone(&vault, undo);
            }
            assert_eq!(vault.content("a.md"), format!("mine\n{}", texts[3]), "{order:?}");
        }
    }
}

#[test]
fn a_whole_turn_is_undone_around_edits_during_it() {
    let vault = vault(&[("a.md", "0\n1\n2\n3\n4\n5\n")]);
    let origin = in_turn("t");
    let set = vault.apply_as(vec![write("a.md", "0\nA\n2\n3\n4\n5\n")], &origin);
    vault.put("a.md", "0\nA\n2\nmine\n4\n5\n");
    vault.apply_as(vec![write("a.md", "0\nA\n2\nmine\n4\nE\n")], &origin);
    vault.put("a.md", "0\nA\n2\nmine\n4\nE\nmore\n6\n");
    let error = vault.undo_error(&set.to_string());
    assert!(matches!(error, UndoError::Changed { clash: Some(7), .. }), "{error}");
    vault.put("a.md", "mine\n0\nA\n2\nmine\n4\nE\n");
    undone(&vault, set);
    assert_eq!(vault.content("a.md"), "mine\n0\n1\n2\nmine\n4\n5\n");
}

#[test]
fn a_crash_leaves_it_done_or_undone() {
    let merged = || {
        let vault = vault(&[("a.md", "1\n2\n3\n4\n"), ("b.md", "b\n")]);
        let set = vault.apply(vec![write("a.md", "1\nB\n3\n4\n"), write("b.md", "bb\n")]);
        vault.put("a.md", "1\nB\n3\n4\nmine\n");
        undone(&vault, set);
        vault.forget_the_end();
        vault
    };
    let vault = merged();
    let (vault, recovered) = vault.recovered();
    assert_eq!((recovered.completed, recovered.left.len()), (1, 0), "{recovered:?}");
    assert_eq!(vault.content("a.md"), "1\n2\n3\n4\nmine\n");
    // Interrupted between its two writes: the text it was merged with is restored.
    let vault = merged();
    vault.put("b.md", "bb\n");
    let (vault, recovered) = vault.recovered();
    assert_eq!((recovered.rolled_back, recovered.left.len()), (1, 0), "{recovered:?}");
    assert_eq!(vault.content("a.md"), "1\nB\n3\n4\nmine\n");
    assert_eq!(vault.content("b.md"), "bb\n");
}

/// A note in a folder, with links, and notes with links to it.
fn linked() -> TestVault {
    vault(&[
        ("a/Old.md", "# Old\n\n[n](./near.md)\n\nend\n"),
        ("a/near.md", "near [[Old]]\n"),
        ("near.md", "another\n"),
        ("up.md", "---\nup: \"[[a/Old]]\"\n---\nsee [[a/Old|it]] and so on\n\nend\n"),
        (
            "m.canvas",
            "{\"nodes\":[\n{\"type\":\"file\",\"file\":\"a/Old.md\"},\n{\"type\":\"text\",\"text\":\"x\"}\n]}",
        ),
    ])
}

#[track_caller]
fn links_work(vault: &TestVault, moved: &Value) {
    vault.context.vault.rescan().expect("scanned");
    let broken = vault.ok("list_links", json!({"kind": "unresolved"}));
    assert_eq!(broken["total"], 0, "{moved}: {broken}\n{:?}", seen(vault));
}

#[test]
fn an_undone_move_keeps_edits_in_notes_with_links() {
    for (source, destination, new) in
        [("a/Old.md", "b/c/New.md", "b/c/New"), ("a", "b/c d", "b/c d/Old")]
    {
        let vault = linked();
        let moving = json!({"source": source, "destination": destination});
        vault.ok("move", moving.clone());
        let set = last(&vault);
        let edit = |path: &str, old: &str, text: &str| {
            let content = vault.content(path);
            assert!(content.contains(old), "{path}: {content}");
            vault.put(path, &content.replacen(old, text, 1));
        };
        // Lines nearby, in the same paragraph, in the moved note itself; some with links.
        edit("up.md", "end\n", "end\nmine [[Old]]\n".replace("Old", new).as_str());
        edit("up.md", "and so on", "and, as I say, so on");
        let near = if source == "a" { "b/c d/near.md" } else { "a/near.md" };
        edit(near, "near", &format!("mine ![[{new}#Old]]\n\nnear"));
        edit(&format!("{new}.md"), "end", "end\n\nmine [[up]]");
        edit("m.canvas", "\"x\"", &format!("\"mine [[{new}]]\""));
        links_work(&vault, &moving);
        let after = seen(&vault);
        let undone = vault.ok("undo", json!({"change_set": set}));
        links_work(&vault, &undone);
        let up = vault.content("up.md");
        assert!(
            up.starts_with("---\nup: \"[[a/Old]]\"\n---\nsee [[a/Old|it]] and, as I say, so on\n"),
            "{up}"
        );
        assert!(up.contains("end\nmine [[") && !up.contains("New") && !up.contains("c d"), "{up}");
        let old = vault.content("a/Old.md");
        assert_eq!(old, "# Old\n\n[n](./near.md)\n\nend\n\nmine [[up]]\n");
        let near = vault.content("a/near.md");
        assert!(
            near.starts_with("mine ![[") && near.ends_with("#Old]]\n\nnear [[Old]]\n"),
            "{near}"
        );
        let canvas = vault.content("m.canvas");
        assert!(canvas.contains("\"file\":\"a/Old.md\"") && canvas.contains("mine [["), "{canvas}");
        assert!(!vault.exists("b"));
        // All of it once more, there and back.
        vault.ok("undo", json!({"change_set": last(&vault)}));
        assert_eq!(seen(&vault), after, "{source} to {destination}");
        vault.ok("undo", json!({"change_set": last(&vault)}));
        links_work(&vault, &undone);
        assert_eq!(vault.content("up.md"), up);
    }
}

#[test]
fn a_link_that_somebody_changed_since_is_no_obstacle_to_a_move() {
    let vault = linked();
    vault.ok("move", json!({"source": "a/Old.md", "destination": "b/New.md"}));
    let set = last(&vault);
    vault.put("up.md", "---\nup: \"[[b/New]]\"\n---\nsee [[b/New.md#Old|my own words]]\n");
    fs::remove_file(vault.place.join("m.canvas")).expect("removed");
    let undone = vault.ok("undo", json!({"change_set": set}));
    links_work(&vault, &undone);
    let up = vault.content("up.md");
    assert!(up.contains("#Old|my own words]]") && !up.contains("New"), "{up}");
    assert!(vault.exists("a/Old.md") && !vault.exists("m.canvas"));
    let notes = undone["notes"].to_string();
    assert!(notes.contains("`m.canvas` is gone"), "{notes}");
}

#[test]
fn an_edit_of_more_than_links_is_not_merged_within_its_lines() {
    let vault = linked();
    let edit = json!({"path": "up.md", "old_text": "it]] and", "new_text": "it]] or"});
    vault.ok("edit_file", edit);
    let set = last(&vault);
    let content = vault.content("up.md").replace("so on", "so forth");
    vault.put("up.md", &content);
    vault.err("undo", json!({"change_set": set}), ErrorCode::StaleRevision);
    assert_eq!(vault.content("up.md"), content);
}

#[test]
fn a_note_that_was_renamed_since_is_found() {
    if !can(Ability::InKernel) {
        return;
    }
    let rename = |vault: &TestVault, from: &str, to: &str| {
        let (from, to) = (vault.place.join(from), vault.place.join(to));
        fs::create_dir_all(to.parent().expect("a folder")).expect("made");
        vault.context.vault.settle();
        fs::rename(from, to).expect("renamed");
    };
    for (from, to, path) in
        [("f/a.md", "f/b.md", "f/b.md"), ("f/a.md", "g/h/a.md", "g/h/a.md"), ("f", "g", "g/a.md")]
    {
        for written in [false, true] {
            let vault = vault(&[("f/a.md", "1\n2\n3\n4\n"), ("f/other.md", "o\n")]);
            vault.context.vault.watch();
            let set = vault.apply(vec![write("f/a.md", "1\nB\n3\n4\n")]);
            rename(&vault, from, to);
            if written {
                vault.put(path, "1\nB\n3\n4\nmine\n");
            }
            let before = seen(&vault);
            let done = undone(&vault, set);
            let mine = if written { "mine\n" } else { "" };
            assert_eq!(vault.content(path), format!("1\n2\n3\n4\n{mine}"));
            assert!(!vault.exists("f/a.md"));
            let tells = |note: &String| *note == format!("`f/a.md` is `{path}` by now");
            assert!(done.notes.iter().any(tells), "{:?}", done.notes);
            vault.undo(done.applied.change_set);
            assert_eq!(seen(&vault), before);
        }
    }
    // A created folder is removed if it is unchanged.
    let vault = vault(&[("z.md", "z")]);
    vault.context.vault.watch();
    let set = vault.apply(vec![write("a.md", "1\n2\n")]);
    rename(&vault, "a.md", "b.md");
    vault.put("b.md", "1\n2\nmine\n");
    let error = vault.undo_error(&set.to_string());
    assert!(
        matches!(&error, UndoError::Changed { path, .. } if path.as_str() == "b.md"),
        "{error}"
    );
    vault.put("b.md", "1\n2\n");
    there_and_back(&vault, set);
    assert!(!vault.exists("a.md") && !vault.exists("b.md"));
}

#[test]
fn a_note_that_the_steward_moved_since_is_found() {
    let vault = vault(&[("f/a.md", "1\n2\n3\n4\n")]);
    let set = vault.apply(vec![write("f/a.md", "1\nB\n3\n4\n")]);
    vault.apply(vec![mv("f", "g")]);
    vault.apply(vec![mv("g/a.md", "b.md")]);
    // Another process knows only what the journal has.
    let vault = vault.reopened();
    there_and_back(&vault, set);
    assert_eq!(vault.content("b.md"), "1\n2\n3\n4\n");
    assert!(!vault.exists("f/a.md"));
}

#[test]
fn another_note_is_never_taken_for_the_one_that_is_gone() {
    if !can(Ability::InKernel) {
        return;
    }
    let vault = vault(&[("a.md", "1\n2\n3\n4\n")]);
    vault.context.vault.watch();
    // Renamed before the change, and another one created in its place: that one is gone.
    fs::rename(vault.place.join("a.md"), vault.place.join("b.md")).expect("renamed");
    vault.put("a.md", "1\n2\n3\n4\n");
    vault.context.vault.settle();
    let set = vault.apply(vec![write("a.md", "1\nB\n3\n4\n")]);
    fs::remove_file(vault.place.join("a.md")).expect("removed");
    let before = vault.snapshot();
    let error = vault.undo_error(&set.to_string());
    assert!(matches!(&error, UndoError::NotThere { can_recreate: true, .. }), "{error}");
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn a_note_that_is_gone_is_rewritten_by_force() {
    let vault = vault(&[("f/a.md", "1\n2\n"), ("b.md", "b\n")]);
    let set = vault.apply(vec![write("f/a.md", "1\nB\n"), write("b.md", "bb\n")]);
    // Not every disk lets go of a folder while the version that was replaced in it is open.
    let vault = vault.reopened();
    fs::remove_dir_all(vault.place.join("f")).expect("removed");
    let before = vault.snapshot();
    let error = vault.err("undo", json!({"change_set": set.0}), ErrorCode::NotFound);
    let hint = error.hint.expect("a hint");
    assert!(hint.contains("use force") && hint.contains("again at `f/a.md`"), "{hint}");
    assert_eq!(vault.snapshot(), before, "nothing was done");
    let gone = seen(&vault);
    let forced = undo(&vault, set, true).expect("forced");
    assert_eq!((vault.content("f/a.md"), vault.content("b.md")), ("1\n2\n".into(), "b\n".into()));
    assert!(forced.notes.iter().any(|note| note.contains("written again")), "{:?}", forced.notes);
    vault.undo(forced.applied.change_set);
    assert_eq!(seen(&vault), gone, "gone again");
    what_lies_there_stays("f/a.md/", "f/a.md");
    // A file that the steward itself deleted is restored by its own undo.
    let set = vault.apply(vec![write("b.md", "bbb\n")]);
    let deletion = vault.apply(vec![delete("b.md")]);
    for force in [false, true] {
        match undo(&vault, set, force) {
            Err(UndoError::NotThere { by: Some(by), can_recreate: false, .. }) => {
                assert_eq!(by.set, deletion)
            }
            other => panic!("{other:?}"),
        }
    }
    vault.undo(deletion);
    fs::remove_file(vault.place.join("b.md")).expect("removed");
    undo(&vault, set, true).expect("the deletion was undone, and somebody else's came after");
    assert_eq!(vault.content("b.md"), "bb\n");
}

/// Next to names that differ only in case everything can be moved and deleted, so everything can be
/// restored too.
#[test]
fn a_file_deleted_next_to_its_duplicate_is_restored_next_to_it() {
    if !can(Ability::Case) {
        return;
    }
    let vault = crate::vault::vault(&[
        ("Note.md", "1\n"),
        ("NOTE.md", "2\n"),
        ("a/x.md", "3\n"),
        ("A/x.md", "4\n"),
        ("lone.md", "5\n"),
    ]);
    let before = seen(&vault);
    for (from, to) in [("NOTE.md", "Z.md"), ("a/x.md", "Z.md"), ("a", "Z"), ("A", "a/Z")] {
        let set = vault.apply(vec![mv(from, to)]);
        assert!(vault.exists(to) && !vault.exists(from), "{from}");
        vault.undo(set);
        assert_eq!(seen(&vault), before, "{from}");
    }
    for gone in ["NOTE.md", "A"] {
        let set = vault.apply(vec![delete(gone)]);
        vault.undo(set);
        assert_eq!(seen(&vault), before, "{gone}");
    }
    // One that was created since is someone's new name, and is reported as it is.
    let set = vault.apply(vec![mv("lone.md", "L.md")]);
    vault.put("Lone.md", "new\n");
    match undo(&vault, set, true) {
        Err(UndoError::Taken { taken, .. }) => assert_eq!(taken.as_str(), "Lone.md"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_deleted_note_makes_no_duplicate() {
    if !can(Ability::Case) {
        return;
    }
    what_lies_there_stays("F/a.md", "f/a.md");
    what_lies_there_stays("f/A.md", "f/A.md");
}

/// Undoes by force an edit of `f/a.md`, which is gone, while something exists at `other` now: that
/// stays.
fn what_lies_there_stays(other: &str, taken: &str) {
    let vault = crate::vault::vault(&[("f/a.md", "1\n2\n")]);
    let set = vault.apply(vec![write("f/a.md", "1\nB\n")]);
    // Not every disk lets go of a folder while the version that was replaced in it is open.
    let vault = vault.reopened();
    fs::remove_dir_all(vault.place.join("f")).expect("removed");
    vault.put(other, "another\n");
    vault.context.vault.rescan().expect("scanned");
    let before = vault.snapshot();
    match undo(&vault, set, true) {
        Err(UndoError::Taken { taken: found, .. }) => {
            assert!(found.fold_key() == crate::changes::path(taken).fold_key(), "{found}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(vault.snapshot(), before);
    assert!(matches!(
        vault.undo_error(&set.to_string()),
        UndoError::NotThere { can_recreate: false, .. }
    ));
}

#[test]
fn the_last_change_is_determined_by_number_not_time() {
    let vault = vault(&[("a.md", "0\n")]);
    for n in 1..=4 {
        vault.apply(vec![write("a.md", &format!("{n}\n"))]);
    }
    // The clock was set back an hour after each of them.
    let database = rusqlite::Connection::open(vault.state.join("state.db")).expect("opened");
    for table in ["change_set", "operation"] {
        let set = format!("UPDATE {table} SET began = began - id * 3600000");
        assert_eq!(database.execute(&set, []).expect("set"), 4);
    }
    database.execute("UPDATE operation SET ended = began", []).expect("set");
    let listed = vault.ok("list_changes", json!({}));
    let numbers: Vec<_> = (0..4).map(|at| listed["change_sets"][at]["id"].clone()).collect();
    assert_eq!(json!(numbers), json!([4, 3, 2, 1]));
    for n in (0..4).rev() {
        vault.ok("undo", json!({}));
        assert_eq!(vault.content("a.md"), format!("{n}\n"));
    }
}
