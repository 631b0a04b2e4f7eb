//! `rename_tag` over a vault; the changes in one text are tested with `note/tag/rename`.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode;

use crate::abilities::{Ability, can};
use crate::vault::{TestVault, vault};

fn garden() -> TestVault {
    vault(&[
        ("a.md", "#Garden and #garden/soil\n`#garden`\r\nx#garden"),
        ("b/b.md", "---\ntags:\n  - garden # why\n  - plot\n---\nbody"),
        ("c.md", "#plot #gardening"),
        ("d.canvas", "{\"nodes\":[{\"id\":\"1\",\"type\":\"text\",\"text\":\"#garden\"}]}"),
    ])
}

#[test]
fn a_tag_and_its_nested_tags_change_in_all_notes() {
    let vault = garden();
    let before = vault.snapshot();
    let arguments = json!({"from": "#garden", "to": "plot", "dry_run": true});
    let preview = vault.ok("rename_tag", arguments);
    assert_eq!(vault.snapshot(), before, "a dry run changes nothing");
    assert_eq!(preview["change_set"], Value::Null);
    let done = vault.ok("rename_tag", json!({"from": "garden", "to": "plot"}));
    assert_eq!(vault.content("a.md"), "#plot and #plot/soil\n`#garden`\r\nx#garden");
    assert_eq!(vault.content("b/b.md"), "---\ntags:\n  - plot # why\n---\nbody");
    assert_eq!(vault.content("c.md"), "#plot #gardening");
    let changed =
        |path: &str| before.iter().find(|(name, _)| name == path).map(|(_, bytes)| bytes.clone());
    assert_eq!(Some(vault.bytes("d.canvas")), changed("d.canvas"));
    for (key, value) in [
        ("tags", json!(3)),
        ("in_properties", json!(1)),
        ("dropped", json!(1)),
        ("notes", json!(2)),
        ("merged_with", json!(2)),
        ("changed", json!([{"path": "a.md", "tags": 2}, {"path": "b/b.md", "tags": 1}])),
        ("skipped", json!([])),
    ] {
        assert_eq!(done[key], value, "{key}");
        assert_eq!(preview[key], value, "{key} as the dry run told");
    }
    assert!(done["change_set"].is_u64());
    vault.err("rename_tag", json!({"from": "garden", "to": "x"}), ErrorCode::NotFound);
    let tags = vault.ok("list_tags", json!({}));
    let names: Vec<_> = tags["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    assert_eq!(names, ["plot", "gardening", "plot/soil"]);
}

#[test]
fn in_a_folder_only_and_case_alone() {
    let vault = garden();
    let here = json!({"from": "garden", "to": "yard", "path": "b"});
    assert_eq!(vault.ok("rename_tag", here.clone())["notes"], 1);
    assert!(vault.content("a.md").starts_with("#Garden"));
    let error = vault.err("rename_tag", here, ErrorCode::NotFound);
    assert!(error.message.contains("in `b`"), "{}", error.message);
    let done = vault.ok("rename_tag", json!({"from": "garden", "to": "GARDEN"}));
    assert_eq!((&done["tags"], &done["merged_with"]), (&json!(2), &json!(0)));
    assert!(vault.content("a.md").starts_with("#GARDEN and #GARDEN/soil"));
    let again = vault.ok("rename_tag", json!({"from": "garden", "to": "GARDEN"}));
    assert_eq!((&again["notes"], &again["change_set"]), (&json!(0), &Value::Null));
}

#[test]
fn names_that_no_tag_has_are_refused() {
    let vault = garden();
    for (from, to) in [
        ("garden", "a b"),
        ("garden", "2026"),
        ("garden", ""),
        ("garden", "a//b"),
        ("x y", "z"),
        ("a", "#a"),
    ] {
        vault.err("rename_tag", json!({"from": from, "to": to}), ErrorCode::InvalidInput);
    }
}

#[test]
fn what_cannot_be_changed_is_named_and_the_rest_is_done() {
    let vault = TestVault::new(&[("a.md", "#x")], |place| {
        std::fs::write(place.join("wide.md"), b"\xff\xfe#\0x\0").expect("written");
    });
    let done = vault.ok("rename_tag", json!({"from": "x", "to": "y"}));
    assert_eq!(vault.content("a.md"), "#y");
    assert_eq!(vault.bytes("wide.md"), b"\xff\xfe#\0x\0");
    assert_eq!(done["skipped"][0]["path"], "wide.md");
}

#[test]
fn a_note_changed_meanwhile_keeps_the_edit() {
    if !can(Ability::Exchange) {
        return;
    }
    let notes: Vec<(String, String)> =
        (0..40).map(|at| (format!("{at}.md"), format!("#old {at}\n"))).collect();
    let files: Vec<(&str, &str)> = notes.iter().map(|(path, text)| (&**path, &**text)).collect();
    let vault = vault(&files);
    let done = AtomicBool::new(false);
    let typed = std::thread::scope(|scope| {
        let typist = scope.spawn(|| {
            let mut typed = 0;
            while !done.load(Ordering::Relaxed) {
                let text = format!("line {typed}");
                let edit = json!({"path": "7", "insert_after_line": -1, "content": text});
                // Refused if the note was renamed in between; then it is typed again.
                typed += usize::from(vault.call("edit_file", &edit).is_ok());
            }
            typed
        });
        let outcomes: Vec<_> = (0..6)
            .map(|round| {
                let (from, to) = if round % 2 == 0 { ("old", "new") } else { ("new", "old") };
                vault.call("rename_tag", &json!({"from": from, "to": to}))
            })
            .collect();
        done.store(true, Ordering::Relaxed);
        for outcome in outcomes {
            // Changed too often in the meantime, so nothing is renamed; otherwise everything is.
            let code = outcome.err().map(|error| error.code);
            assert!(
                matches!(code, None | Some(ErrorCode::StaleRevision | ErrorCode::NotFound)),
                "{code:?}"
            );
        }
        typist.join().expect("nobody panicked")
    });
    let text = vault.content("7.md");
    assert_eq!(text.lines().filter(|line| line.starts_with("line ")).count(), typed, "{text}");
    let mut spellings: Vec<String> =
        (0..40).map(|at| vault.content(&format!("{at}.md"))[..4].to_owned()).collect();
    spellings.dedup();
    assert_eq!(spellings.len(), 1, "all notes or none: {spellings:?}");
}
