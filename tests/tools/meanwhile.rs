//! After a crash someone has edited files before the steward starts again: their text stays, and
//! links keep their targets.

use std::fs;

use serde_json::{Value, json};
use vault_steward::journal::Recovered;

use crate::changes::{delete, seen, write};
use crate::vault::{TestVault, vault};

/// How an editor saves.
#[derive(Debug, Clone, Copy)]
enum Save {
    /// In place.
    InPlace,
    /// By a new file that takes the name.
    ByRename,
}

impl Save {
    fn save(self, vault: &TestVault, path: &str, text: &str) {
        match self {
            Self::InPlace => vault.put(path, text),
            Self::ByRename => {
                vault.put(".saving", text);
                let to = vault.place.join(path);
                fs::rename(vault.place.join(".saving"), to).expect("saved");
            }
        }
    }
}

const SAVES: [Save; 2] = [Save::InPlace, Save::ByRename];

/// A note with links, and two notes that link to it.
fn linked() -> TestVault {
    vault(&[
        ("a/Old.md", "# Old\n[n](./near.md)\n"),
        ("a/near.md", "near\n"),
        ("near.md", "another\n"),
        ("up.md", "see [[a/Old|it]] and\nmore\n"),
        ("b/side.md", "[[a/Old]] [[Old]]\n"),
    ])
}

/// Moves the note with a link in each of the others, and loses the record that it was done.
fn moved(vault: &TestVault) {
    let moved = vault.ok("move", json!({ "source": "a/Old.md", "destination": "c/d/New one.md" }));
    assert_eq!(moved["links"]["files"], 3, "{moved}");
    vault.forget_the_end();
}

/// Every link of every note leads to a file.
#[track_caller]
fn links_work(vault: &TestVault) {
    let broken = vault.ok("list_links", json!({ "kind": "unresolved" }));
    assert_eq!(broken["total"], 0, "{broken}\n{:?}", seen(vault));
}

#[track_caller]
fn counts(recovered: &Recovered, completed: usize, rolled_back: usize) {
    let found = (recovered.completed, recovered.rolled_back);
    assert_eq!(found, (completed, rolled_back), "{recovered:?}");
}

#[test]
fn a_completed_move_stays_after_later_edits() {
    for save in SAVES {
        for (path, text) in [
            ("c/d/New one.md", "# Old\n[n](a/near.md)\nwritten on\n"),
            ("c/d/New one.md", "all new, [[up]]\n"),
            ("up.md", "see [[New one|it]] and\nmore by me\n"),
            ("up.md", "nothing of it\n"),
        ] {
            let vault = linked();
            moved(&vault);
            save.save(&vault, path, text);
            let (vault, recovered) = vault.recovered();
            counts(&recovered, 1, 0);
            assert_eq!(recovered.left, [""; 0], "{save:?} {path}");
            assert_eq!(vault.content(path), text, "{save:?} {path}");
            assert!(vault.exists("c/d/New one.md") && !vault.exists("a/Old.md"));
            links_work(&vault);
            // It is a change set like any other, and its undo keeps later edits.
            let undone = vault.ok("undo", json!({ "change_set": 1, "force": true }));
            assert_eq!(undone["undone"], "1", "{save:?} {path}");
            assert!(vault.exists("a/Old.md"), "{save:?} {path}");
            links_work(&vault);
        }
    }
}

#[test]
fn a_move_with_links_of_its_own_is_known_by_them() {
    let vault = linked();
    moved(&vault);
    let after = seen(&vault);
    let (vault, recovered) = vault.recovered();
    counts(&recovered, 1, 0);
    assert_eq!((seen(&vault), recovered.left.len()), (after, 0));
    // Interrupted before its last step.
    let vault = linked();
    let before = seen(&vault);
    moved(&vault);
    fs::rename(vault.place.join("c/d/New one.md"), vault.place.join("a/Old.md")).expect("moved");
    let (vault, recovered) = vault.recovered();
    counts(&recovered, 0, 1);
    assert_eq!((seen(&vault), recovered.left.len()), (before, 0));
}

#[test]
fn a_moved_note_in_which_somebody_wrote_goes_back_with_its_links() {
    // The move was done, and one of the notes with links to it has its old text: all of it is
    // rolled back.
    for save in SAVES {
        let vault = linked();
        moved(&vault);
        vault.put("b/side.md", "[[a/Old]] [[Old]]\n");
        save.save(&vault, "c/d/New one.md", "# Old\n[n](a/near.md)\nwritten on\n");
        let (vault, recovered) = vault.recovered();
        counts(&recovered, 0, 1);
        assert_eq!(vault.content("a/Old.md"), "# Old\n[n](./near.md)\nwritten on\n", "{save:?}");
        assert_eq!(vault.content("up.md"), "see [[a/Old|it]] and\nmore\n");
        assert!(!vault.exists("c"), "{recovered:?}");
        links_work(&vault);
    }
}

#[test]
fn of_a_note_that_somebody_wrote_in_only_the_link_goes_back() {
    // The links were rewritten, the note was not moved yet.
    for save in SAVES {
        let before_the_move = |vault: &TestVault| {
            let from = vault.place.join("c/d/New one.md");
            fs::rename(from, vault.place.join("a/Old.md")).expect("moved");
        };
        let vault = linked();
        moved(&vault);
        before_the_move(&vault);
        save.save(&vault, "up.md", "I see [[New one|it]] and\nmore by me\n");
        let (vault, recovered) = vault.recovered();
        counts(&recovered, 0, 1);
        assert_eq!(vault.content("up.md"), "I see [[a/Old|it]] and\nmore by me\n", "{save:?}");
        assert_eq!(vault.content("b/side.md"), "[[a/Old]] [[Old]]\n");
        assert!(recovered.left.iter().any(|left| left.contains("`up.md`")), "{recovered:?}");
        links_work(&vault);
        // Edited before it was rewritten at all: the edit is theirs, and is compatible.
        let vault = linked();
        moved(&vault);
        before_the_move(&vault);
        let theirs = "I see [[a/Old|it]] and\nmore by me\n";
        save.save(&vault, "up.md", theirs);
        let (vault, recovered) = vault.recovered();
        counts(&recovered, 0, 1);
        assert_eq!((vault.content("up.md").as_str(), recovered.left.len()), (theirs, 0));
        links_work(&vault);
        // The same link: their edit stays, and the answer says so.
        let vault = linked();
        moved(&vault);
        before_the_move(&vault);
        let theirs = "see [[New one, my own|it]] and\nmore\n";
        save.save(&vault, "up.md", theirs);
        let (vault, recovered) = vault.recovered();
        counts(&recovered, 0, 1);
        assert_eq!(vault.content("up.md"), theirs);
        assert_eq!(recovered.left.len(), 1, "{recovered:?}");
    }
}

#[test]
fn a_note_that_was_created_again_at_the_old_name_is_not_overwritten() {
    for done in [true, false] {
        let vault = linked();
        moved(&vault);
        // An editor that had it open saves under the name it knew.
        vault.put("a/Old.md", "# Old\n[n](./near.md)\nsaved late\n");
        if !done {
            vault.put("b/side.md", "[[a/Old]] [[Old]]\n");
        }
        let (vault, recovered) = vault.recovered();
        counts(&recovered, usize::from(done), usize::from(!done));
        assert_eq!(vault.content("a/Old.md"), "# Old\n[n](./near.md)\nsaved late\n");
        assert!(vault.exists("c/d/New one.md"));
        assert_eq!(
            recovered.left.iter().any(|left| left.contains("stays")),
            !done,
            "{recovered:?}"
        );
        links_work(&vault);
    }
}

#[test]
fn what_came_back_from_the_trash_and_was_written_in_is_not_thrown_away() {
    for save in SAVES {
        let vault = linked();
        vault.apply(vec![delete("a/Old.md")]);
        vault.ok("restore", json!({ "item": "a/Old.md", "to": "e/Back.md" }));
        vault.forget_the_end();
        save.save(&vault, "e/Back.md", "mine\n");
        let (vault, recovered) = vault.recovered();
        counts(&recovered, 1, 0);
        assert_eq!(vault.content("e/Back.md"), "mine\n", "{save:?}");
    }
}

#[test]
fn an_edit_by_others_does_not_complete_the_last_write() {
    let vault = vault(&[("a.md", "a\n"), ("b.md", "b\n")]);
    vault.apply(vec![write("a.md", "a\nmore\n"), write("b.md", "b\nmore\n")]);
    vault.forget_the_end();
    // Nobody can tell whether this edit was based on what the steward had written.
    vault.put("b.md", "mine\nb\nmore\n");
    let (vault, recovered) = vault.recovered();
    counts(&recovered, 0, 1);
    let texts: Value = json!([vault.content("a.md"), vault.content("b.md")]);
    assert_eq!(texts, json!(["a\n", "mine\nb\n"]));
}
