//! Folders that a plan leaves empty: removed with its last change, restored by its undo.

use serde_json::{Value, json};
use vault_steward::note::path::VaultPath;
use vault_steward::vault::View;

use crate::changes::{mv, path, seen};
use crate::vault::{TestVault, vault};
use vault_steward::journal::Change;

fn removing(files: &[(&str, &str)]) -> TestVault {
    let mut vault = vault(files);
    vault.context.settings.organize.remove_empty_folders = true;
    vault
}

fn two_years() -> TestVault {
    removing(&[
        ("In/2024/a.md", "a [[b]]\n"),
        ("In/2024/b.md", "b\n"),
        ("In/c.md", "c\n"),
        ("Keep/d.md", "d\n"),
        ("Keep/e.md", "e\n"),
    ])
}

fn items() -> Value {
    json!([
        { "path": "In/2024/a.md", "to": "Out/a.md" },
        { "path": "In/2024/b.md", "to": "Out/b.md" },
        { "path": "In/c.md", "trash": true },
        { "path": "Keep/d.md", "to": "Out/d.md" },
    ])
}

fn plan(vault: &TestVault, items: &Value) -> Value {
    vault.ok("plan_changes", json!({ "items": items }))
}

fn apply(vault: &TestVault, made: &Value, items: &[u32]) -> Value {
    let wanted = json!({ "plan": made["plan"], "identity": made["identity"], "items": items });
    vault.ok("apply_plan", wanted)
}

#[test]
fn a_plan_removes_emptied_folders_and_its_undo_restores_them() {
    let vault = two_years();
    let before = seen(&vault);
    let made = plan(&vault, &items());
    assert_eq!(made["summary"], "move 3 notes, trash 1, remove 2 empty folders");
    let show =
        |format: &str| vault.text("show_plan", json!({ "plan": made["plan"], "format": format }));
    for format in ["tree", "table", "diff"] {
        let shown = show(format);
        assert!(shown.contains("\nRemoved when empty (2)\n  In/\n  In/2024/\n"), "{shown}");
        assert!(shown.contains("; 2 folders left empty are removed"), "{shown}");
    }
    let shown: Value = serde_json::from_str(&show("json")).expect("JSON");
    assert_eq!(shown["emptied"], json!({ "total": 2, "paths": ["In", "In/2024"] }));
    assert!(show("html").contains("<li>In/2024/</li>"));
    let done = apply(&vault, &made, &[]);
    assert_eq!(done["folders_left"], json!([]));
    assert!(!vault.exists("In") && vault.exists("Keep") && vault.exists("Out/a.md"));
    let listed = vault.ok("list_changes", json!({}));
    let changes = listed["change_sets"][0]["changes"].as_array().expect("a list");
    let removed = changes.iter().filter(|one| one["action"] == "folder_removed");
    assert_eq!(removed.count(), 2, "{listed}");
    vault.ok("undo", json!({ "change_set": done["change_set"] }));
    assert!(vault.exists("In/2024") && !vault.exists("Out"));
    assert_eq!(seen(&vault), before);
}

#[test]
fn a_folder_that_is_not_empty_then_stays_and_is_named() {
    for file in [".hidden", "new.md"] {
        let vault = two_years();
        let made = plan(&vault, &items());
        vault.put(&format!("In/2024/{file}"), "mine");
        let before = seen(&vault);
        let done = apply(&vault, &made, &[]);
        assert_eq!(done["folders_left"], json!(["In/2024", "In"]), "{file}");
        assert_eq!(vault.content(&format!("In/2024/{file}")), "mine");
        assert!(vault.exists("Out/b.md") && !vault.exists("In/c.md"));
        vault.ok("rollback_job", json!({ "job": done["job"] }));
        assert_eq!(seen(&vault), before, "{file}");
    }
}

#[test]
fn emptied_folders_stay_if_disabled_watched_or_filled() {
    let mut vault = two_years();
    let rules = "rules:\n  - {name: r, in: [In], do: [{move: Out}]}\n";
    let made = vault.ok("plan_changes", json!({ "rules": rules }));
    assert_eq!(made["summary"], "move 3 notes, remove 1 empty folder");
    apply(&vault, &made, &[]);
    assert!(vault.exists("In") && !vault.exists("In/2024"));
    let swap = json!([
        { "path": "Keep/d.md", "to": "Out/d.md" },
        { "path": "Keep/e.md", "to": "Out/e.md" },
        { "path": "Out/a.md", "to": "keep/a.md" },
    ]);
    assert_eq!(plan(&vault, &swap)["summary"], "move 3 notes");
    vault.context.settings.organize.remove_empty_folders = false;
    let all = json!([
        { "path": "Keep/d.md", "to": "Out/d.md" },
        { "path": "Keep/e.md", "to": "Out/e.md" },
    ]);
    let made = plan(&vault, &all);
    assert_eq!(made["summary"], "move 2 notes");
    apply(&vault, &made, &[]);
    assert!(vault.exists("Keep"));
}

#[test]
fn a_partial_plan_removes_emptied_folders_and_its_undo_restores_them() {
    let vault = two_years();
    let before = seen(&vault);
    let made = plan(&vault, &items());
    apply(&vault, &made, &[1]);
    assert!(vault.exists("In/2024/b.md"));
    let done = apply(&vault, &made, &[2, 3]);
    assert_eq!(done["folders_left"], json!([]));
    assert!(!vault.exists("In"));
    let back = vault.ok("rollback_job", json!({ "job": done["job"], "items": [2] }));
    assert_eq!(back["state"], "partly_undone");
    assert!(vault.exists("In/2024/b.md") && !vault.exists("In/c.md"));
    vault.ok("rollback_job", json!({ "job": done["job"] }));
    vault.ok("rollback_job", json!({ "job": 1 }));
    assert_eq!(seen(&vault), before);
}

#[test]
fn a_job_in_pieces_removes_folders_with_its_last_one() {
    let mut vault = two_years();
    vault.context.settings.organize.atomic_items = 1;
    vault.context.origin.confirmed = true;
    let before = seen(&vault);
    let done = apply(&vault, &plan(&vault, &items()), &[]);
    assert_eq!((&done["state"], &done["folders_left"]), (&json!("completed"), &json!([])));
    assert!(!vault.exists("In"));
    vault.ok("undo", json!({ "change_set": done["change_set"] }));
    assert_eq!(seen(&vault), before);
}

/// A caller that sees only `In/2024` and `Out` gets the same answer whether or not something else is in `In`.
#[test]
fn who_sees_a_part_of_a_folder_learns_nothing_of_the_rest() {
    let mut answers = Vec::new();
    for hidden in [&[][..], &[("In/c.md", "c"), ("Elsewhere/d.md", "d")]] {
        let files = [&[("In/2024/a.md", "a"), ("In/2024/b.md", "b"), ("Out/x.md", "x")], hidden];
        let mut vault = removing(&files.concat());
        let seen = ["In/2024", "Out"].map(|path| VaultPath::from_disk(path).expect("a path"));
        vault.context.vault = vault.context.vault.in_view(View::of(seen.to_vec()));
        let moves = json!([
            { "path": "In/2024/a.md", "to": "Out/a.md" },
            { "path": "In/2024/b.md", "to": "Out/b.md" },
        ]);
        let made = plan(&vault, &moves);
        let shown = vault.text("show_plan", json!({ "plan": made["plan"] }));
        let done = apply(&vault, &made, &[]);
        assert!(!vault.exists("In/2024") && vault.exists("In"));
        answers.push((made["summary"].clone(), made["identity"].clone(), shown, done));
    }
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn a_removed_folder_outlasts_a_crash_or_is_there_again() {
    let files = [("F/a.md", "a"), ("G/H/b.md", "b")];
    let changes = || {
        let remove = |at: &str| Change::RemoveFolder { path: path(at) };
        vec![
            mv("F/a.md", "x/a.md"),
            remove("F"),
            mv("G/H/b.md", "x/b.md"),
            remove("G/H"),
            remove("G"),
        ]
    };
    let before = seen(&vault(&files));
    // Ended after its last step.
    let whole = vault(&files);
    let set = whole.apply(changes());
    let after = seen(&whole);
    assert!(!whole.exists("F") && !whole.exists("G"));
    whole.forget_the_end();
    let (whole, recovered) = whole.recovered();
    assert_eq!((recovered.completed, recovered.rolled_back), (1, 0), "{recovered:?}");
    assert_eq!(seen(&whole), after);
    whole.undo(set);
    assert_eq!(seen(&whole), before);
    assert!(whole.exists("F") && whole.exists("G/H"));
    // Ended before some of its steps.
    type ByHand = fn(&TestVault);
    let cases: [ByHand; 2] = [
        |vault| {
            std::fs::create_dir(vault.place.join("G")).expect("made");
            std::fs::create_dir(vault.place.join("G/H")).expect("made");
            std::fs::rename(vault.place.join("x/b.md"), vault.place.join("G/H/b.md"))
                .expect("moved");
            std::fs::create_dir(vault.place.join("F")).expect("made");
        },
        |vault| {
            std::fs::create_dir(vault.place.join("G")).expect("made");
            std::fs::create_dir(vault.place.join("F")).expect("made");
        },
    ];
    for by_hand in cases {
        let half = vault(&files);
        half.apply(changes());
        by_hand(&half);
        half.forget_the_end();
        let (half, recovered) = half.recovered();
        assert_eq!((recovered.completed, recovered.rolled_back), (0, 1), "{recovered:?}");
        assert_eq!(seen(&half), before);
        assert!(half.exists("F") && half.exists("G/H") && !half.exists("x"));
    }
}

#[test]
fn the_last_partial_undo_removes_folders_that_earlier_ones_kept() {
    let vault = two_years();
    let before = seen(&vault);
    let made = plan(&vault, &items());
    let done = apply(&vault, &made, &[]);
    for items in [json!([1]), json!([2]), json!([])] {
        assert!(vault.exists("Out"), "{items}");
        vault.ok("rollback_job", json!({ "job": done["job"], "items": items }));
    }
    assert!(!vault.exists("Out"));
    assert_eq!(seen(&vault), before);
}
