//! The tools of the journal: listing changes and undoing them.

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode;

use crate::abilities::{Ability, can};
use crate::vault::{TestVault, vault};

fn sets(vault: &TestVault, arguments: Value) -> Vec<Value> {
    let answer = vault.ok("list_changes", arguments);
    answer["change_sets"].as_array().expect("a list").clone()
}

fn user_files(vault: &TestVault) -> Vec<(String, Vec<u8>)> {
    let mut files = vault.snapshot();
    files.retain(|(path, _)| !path.starts_with(".trash"));
    files
}

#[test]
fn an_agents_work_is_listed_shown_and_undone_piece_by_piece() {
    let vault =
        vault(&[("Garden.md", "- [ ] seeds\n"), ("Old.md", "old\n"), ("Work/Plan.md", "p\n")]);
    let before = user_files(&vault);
    let done = [
        vault.ok("edit_file", json!({ "path": "garden", "old_text": "[ ]", "new_text": "[x]" })),
        vault.ok("write_file", json!({ "path": "New/Idea.md", "content": "idea\n" })),
        vault.ok("move", json!({ "source": "Work", "destination": "Archive/Work" })),
        vault.ok("delete", json!({ "path": "Old" })),
        vault.ok("create_folder", json!({ "path": "Empty/Deep" })),
    ];
    let numbers: Vec<u64> =
        done.iter().map(|data| data["change_set"].as_u64().expect("a number")).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");

    let listed = sets(&vault, json!({}));
    let listed_numbers: Vec<u64> = listed.iter().filter_map(|set| set["id"].as_u64()).collect();
    assert!(listed_numbers.iter().eq(numbers.iter().rev()), "{listed_numbers:?}");
    assert_eq!(listed[4]["title"], "edit `Garden.md`");
    assert_eq!(
        listed[1]["changes"].as_array().expect("a list").last().expect("one")["path"],
        "Old.md"
    );

    let text = vault.text("list_changes", json!({ "diff": true }));
    assert!(text.contains("-- [ ] seeds") && text.contains("+- [x] seeds"), "{text}");
    assert!(text.contains("+idea") && text.contains("-old"), "{text}");
    let text = vault.text("list_changes", json!({}));
    assert!(!text.contains("seeds"), "differences only where they are asked for: {text}");

    // A path finds the changes of its file, also those under its earlier name.
    let about = |path: &str| sets(&vault, json!({ "path": path })).len();
    assert_eq!((about("Garden.md"), about("New"), about("Old.md")), (1, 1, 1));
    assert_eq!(about("Never.md"), 0);
    assert_eq!(sets(&vault, json!({ "limit": 2 })).len(), 2);
    let first = vault.ok("list_changes", json!({ "limit": 2 }));
    assert_eq!(first["more"], true);
    let rest = sets(&vault, json!({ "before": first["change_sets"][1]["id"] }));
    assert_eq!(rest.len(), 3);
    assert_eq!(sets(&vault, json!({ "since": "1h" })).len(), 5);
    assert_eq!(sets(&vault, json!({ "since": "2999-01-01" })).len(), 0);
    vault.err("list_changes", json!({ "since": "soon" }), ErrorCode::InvalidInput);

    // Without a number the last change is undone, then the one before it.
    for number in numbers.iter().rev() {
        let undone = vault.ok("undo", json!({}));
        assert_eq!(undone["undone"], number.to_string());
    }
    assert_eq!(user_files(&vault), before);
    vault.err("undo", json!({}), ErrorCode::NotFound);
    let text = vault.text("list_changes", json!({}));
    assert!(text.contains("(undone)"), "{text}");
}

#[test]
fn an_undo_can_be_undone() {
    let vault = vault(&[("a.md", "one\n")]);
    let set =
        vault.ok("write_file", json!({ "path": "a.md", "content": "two\n" }))["change_set"].take();
    let undo = vault.ok("undo", json!({ "change_set": set }));
    assert_eq!(vault.content("a.md"), "one\n");
    let error = vault.err("undo", json!({ "change_set": set }), ErrorCode::InvalidInput);
    assert!(error.text().contains(&undo["change_set"].to_string()), "{}", error.text());
    vault.ok("undo", json!({ "change_set": undo["change_set"] }));
    assert_eq!(vault.content("a.md"), "two\n");
    vault.err("undo", json!({ "change_set": 4711 }), ErrorCode::NotFound);
    vault.err("undo", json!({ "change": "x" }), ErrorCode::InvalidInput);
    vault.err("undo", json!({ "change": "1.1", "change_set": 1 }), ErrorCode::InvalidInput);
}

#[test]
fn later_changes_are_shown_and_stay() {
    let vault = vault(&[("a.md", "one\n")]);
    let set =
        vault.ok("write_file", json!({ "path": "a.md", "content": "two\n" }))["change_set"].take();
    vault.put("a.md", "two\nby hand\n");
    let before = vault.snapshot();
    let error = vault.err("undo", json!({ "change_set": set }), ErrorCode::StaleRevision);
    assert!(error.text().contains("+by hand"), "{}", error.text());
    assert_eq!(vault.snapshot(), before, "a refusal changes nothing");
    let undo = vault.ok("undo", json!({ "change_set": set, "force": true }));
    assert_eq!(vault.content("a.md"), "one\n");
    vault.ok("undo", json!({ "change_set": undo["change_set"] }));
    assert_eq!(vault.content("a.md"), "two\nby hand\n");
}

#[test]
fn an_undo_that_finds_nothing_left_says_so_and_is_no_change_set() {
    let vault = vault(&[("a.md", "one\n")]);
    let write = json!({ "path": "a.md", "content": "two\n" });
    let set = vault.ok("write_file", write)["change_set"].take();
    let folders = vault.ok("create_folder", json!({ "path": "New/Deep" }))["change_set"].take();
    // By another program: the text is as before, the folder is in use.
    vault.put("a.md", "one\n");
    vault.put("New/Deep/note.md", "mine\n");
    let (before, known) = (vault.snapshot(), sets(&vault, json!({})));
    for (set, why) in [(&set, "`a.md` was as before"), (&folders, "`New/Deep` stays")] {
        let error = vault.err("undo", json!({ "change_set": set }), ErrorCode::InvalidInput);
        assert!(error.text().contains(why), "{}", error.text());
        assert!(error.text().contains("list_changes"), "{}", error.text());
    }
    assert_eq!(vault.snapshot(), before);
    assert_eq!(sets(&vault, json!({})), known, "neither recorded nor marked as undone");
    // Both can be undone as soon as there is something to undo.
    vault.put("a.md", "two\n");
    let undo = vault.ok("undo", json!({ "change_set": set }));
    assert_eq!(vault.content("a.md"), "one\n");
    assert!(sets(&vault, json!({})).iter().any(|listed| listed["id"] == undo["change_set"]));
    std::fs::remove_file(vault.place.join("New/Deep/note.md")).expect("removed");
    vault.ok("undo", json!({ "change_set": folders }));
    assert!(!vault.exists("New"));
}

#[test]
fn each_change_has_one_number_however_many_folders_it_made() {
    let vault = vault(&[]);
    vault.ok("write_file", json!({ "path": "a/b/c.md", "content": "x" }));
    let log = vault.text("list_changes", json!({}));
    let (_, changes) = log.split_once('\n').unwrap();
    let expected =
        "    1.1  made the folder `a`\n         made the folder `a/b`\n         created `a/b/c.md`";
    assert_eq!(changes, expected);
    let undone = vault.text("undo", json!({}));
    assert_eq!(undone.matches("2.1").count(), 1, "{undone}");
}

#[test]
fn one_change_of_a_set_is_undone_alone() {
    let vault = vault(&[("a.md", "a\n"), ("b.md", "b\n")]);
    let patch = "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-a\n+A\n--- a/b.md\n+++ b/b.md\n@@ -1 +1 @@\n-b\n+B\n";
    vault.ok("apply_patch", json!({ "patch": patch }));
    let set = sets(&vault, json!({})).remove(0);
    let change = set["changes"].as_array().expect("two").iter().find(|c| c["path"] == "b.md");
    vault.ok("undo", json!({ "change": change.expect("b.md")["id"] }));
    assert_eq!((vault.content("a.md"), vault.content("b.md")), ("A\n".into(), "b\n".into()));
    // The rest of the set can still be undone.
    vault.ok("undo", json!({ "change_set": set["id"] }));
    assert_eq!(vault.content("a.md"), "a\n");
}

#[test]
fn a_great_change_set_is_shown_in_parts() {
    let mut vault = vault(&[]);
    vault.context.origin.turn = Some("great".to_owned());
    for number in 0..130 {
        vault.ok("write_file", json!({ "path": format!("{number:03}.md"), "content": "x" }));
    }
    let text = vault.text("list_changes", json!({}));
    assert!(
        text.contains("30 changes more; go on with change_set: 1, first_change: 101"),
        "{text}"
    );
    let rest = vault.ok("list_changes", json!({ "change_set": 1, "first_change": 101 }));
    let rest = rest["change_sets"][0]["changes"].as_array().expect("a list").clone();
    assert_eq!((rest.len(), &rest[29]["path"]), (30, &json!("129.md")));
    vault.err("list_changes", json!({ "change_set": 9 }), ErrorCode::NotFound);
}

#[test]
fn a_damaged_text_hides_none_of_the_others() {
    let vault = vault(&[("a.md", "one\n")]);
    vault.ok("write_file", json!({ "path": "a.md", "content": "two\n" }));
    vault.ok("write_file", json!({ "path": "b.md", "content": "three\n" }));
    let blobs = std::fs::read_dir(vault.state.join("blobs")).expect("kept texts");
    let two = blobs.flatten().find(|blob| {
        std::fs::read(blob.path()).is_ok_and(|bytes| bytes.windows(4).any(|part| part == b"two\n"))
    });
    std::fs::write(two.expect("the text").path(), "damaged").expect("written");
    let text = vault.text("list_changes", json!({ "diff": true }));
    assert!(text.contains("+three") && text.contains("cannot be shown"), "{text}");
}

#[test]
fn a_turn_is_one_change_set() {
    let mut vault = vault(&[("a.md", "a\n")]);
    let before = user_files(&vault);
    vault.context.origin.caller = "chat".to_owned();
    vault.context.origin.conversation = Some("7".to_owned());
    vault.context.origin.turn = Some("7/3".to_owned());
    let first = vault.ok("write_file", json!({ "path": "b.md", "content": "b\n" }));
    let second = vault.ok("edit_file", json!({ "path": "a.md", "old_text": "a", "new_text": "A" }));
    assert_eq!(first["change_set"], second["change_set"]);
    let set = sets(&vault, json!({})).remove(0);
    assert_eq!((set["total"].as_u64(), set["conversation"].as_str()), (Some(2), Some("7")));
    vault.context.origin.turn = None;
    vault.ok("undo", json!({ "change_set": first["change_set"] }));
    assert_eq!(user_files(&vault), before);
}

#[test]
fn deleted_files_are_restored_by_spoken_names() {
    let vault = vault(&[
        ("Projects/Garden.md", "garden\n"),
        ("Work/Garden.md", "work\n"),
        ("Folder/x.md", "x\n"),
        ("Folder/Sub/y.md", "y\n"),
    ]);
    for path in ["Projects/Garden.md", "Work/Garden.md", "Folder"] {
        vault.ok("delete", json!({ "path": path }));
    }
    let listed = vault.ok("list_trash", json!({}));
    assert_eq!(listed["total"], 3);
    assert_eq!(vault.ok("list_trash", json!({ "pattern": "*.MD" }))["total"], 2);
    assert_eq!(vault.ok("list_trash", json!({ "pattern": "work/**" }))["total"], 1);
    let error = vault.err("restore", json!({ "item": "garden" }), ErrorCode::AmbiguousPath);
    assert!(error.text().contains("Work/Garden.md"), "{}", error.text());
    let error = vault.err("restore", json!({ "item": "Work/Gardn.md" }), ErrorCode::NotFound);
    assert!(error.text().contains("Work/Garden.md"), "{}", error.text());

    let back = vault.ok("restore", json!({ "item": "projects/garden" }));
    assert_eq!(back["path"], "Projects/Garden.md");
    assert_eq!(vault.content("Projects/Garden.md"), "garden\n");
    let back = vault.ok("restore", json!({ "item": "work/garden.md", "to": "Else/G.md" }));
    assert_eq!(back["path"], "Else/G.md");
    vault.ok("restore", json!({ "item": "folder" }));
    assert_eq!(vault.content("Folder/Sub/y.md"), "y\n");
    assert_eq!(vault.ok("list_trash", json!({}))["total"], 0);

    // It never overwrites anything.
    vault.ok("delete", json!({ "path": "Folder/x.md" }));
    vault.put("Folder/x.md", "another\n");
    let back = vault.ok("restore", json!({ "item": "Folder/x.md" }));
    assert_eq!(back["path"], "Folder/x (restored).md");
    assert_eq!(vault.content("Folder/x.md"), "another\n");
    // A restoration can be undone like anything else.
    vault.ok("undo", json!({ "change_set": back["change_set"] }));
    assert!(!vault.exists("Folder/x (restored).md"));
    // Both can be restored: the file in the trash now, and the one deleted first.
    let listed = vault.ok("list_trash", json!({}));
    let was: Vec<&str> = listed["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|i| i["was"].as_str())
        .collect();
    assert_eq!(was, ["Folder/x (restored).md", "Folder/x.md"]);
}

#[test]
fn a_restored_file_makes_no_duplicate_of_an_unseen_one() {
    let vault = vault(&[("Work/Two.md", "mine\n")]);
    vault.ok("delete", json!({ "path": "Work/Two.md" }));
    // By another program, a moment ago.
    vault.put("Work/TWO.md", "theirs\n");
    let back = vault.ok("restore", json!({ "item": "Work/Two.md" }));
    assert_eq!(back["path"], "Work/Two (restored).md");
    assert_eq!(vault.content("Work/TWO.md"), "theirs\n");
}

#[test]
fn a_folder_that_changed_its_case_is_not_made_a_second_time() {
    if !can(Ability::Case) {
        return;
    }
    let vault = vault(&[("Work/Two.md", "two\n"), ("Work/Keep.md", "keep\n")]);
    vault.ok("delete", json!({ "path": "Work/Two.md" }));
    let moved = vault.ok("move", json!({ "source": "Work/Keep.md", "destination": "Keep.md" }));
    vault.put("Work/Else.md", "else\n");
    vault.ok("move", json!({ "source": "Work", "destination": "WORK" }));
    let back = vault.ok("restore", json!({ "item": "Work/Two.md" }));
    assert_eq!(back["path"], "WORK/Two.md");
    vault.ok("undo", json!({ "change_set": moved["change_set"] }));
    assert_eq!(vault.content("WORK/Keep.md"), "keep\n");
    assert!(!vault.exists("Work"));
}

#[test]
fn a_restored_file_makes_no_duplicate_that_differs_in_case() {
    let vault = vault(&[("Work/Two.md", "old\n")]);
    vault.ok("delete", json!({ "path": "Work/Two.md" }));
    vault.ok("write_file", json!({ "path": "Work/two.md", "content": "new\n" }));
    let back = vault.ok("restore", json!({ "item": "Work/Two.md" }));
    assert_eq!(back["path"], "Work/Two (restored).md");
    assert_eq!(vault.content("Work/two.md"), "new\n");
    let before = vault.snapshot();
    vault.ok("move", json!({ "source": "Work/two.md", "destination": "Else.md" }));
    vault.ok("write_file", json!({ "path": "Work/TWO.md", "content": "third\n" }));
    vault.err("undo", json!({ "change_set": 4 }), ErrorCode::AlreadyExists);
    vault.ok("delete", json!({ "path": "Work/TWO.md" }));
    vault.ok("undo", json!({ "change_set": 4 }));
    let mut after = vault.snapshot();
    after.retain(|(path, _)| path != ".trash/TWO.md");
    assert_eq!(after, before);
}

/// The numbers of the change sets of a note, the newest first.
fn of(vault: &TestVault, path: &str) -> Vec<u64> {
    let listed = sets(vault, json!({ "path": path }));
    listed.iter().map(|set| set["id"].as_u64().expect("a number")).collect()
}

#[test]
fn what_happens_to_its_folders_happens_to_a_note() {
    let vault = vault(&[("A/n.md", "n\n"), ("A/other.md", "o\n"), ("z.md", "z\n")]);
    let write = |path: &str| vault.ok("write_file", json!({ "path": path, "content": "w\n" }));
    let mv = |source: &str, destination: &str| {
        vault.ok("move", json!({ "source": source, "destination": destination }));
    };
    write("A/n.md");
    mv("A", "B");
    write("B/other.md");
    write("B/late.md");
    assert_eq!(of(&vault, "B/n.md"), [2, 1]);
    assert_eq!(of(&vault, "B/other.md"), [3, 2]);
    assert_eq!(of(&vault, "B/late.md"), [4], "it is newer than the move");
    // By the path that it had, which nothing has now.
    assert_eq!(of(&vault, "A/n.md"), [2, 1]);
    assert_eq!(of(&vault, "A/never.md"), [0; 0]);
    mv("B", "C/D");
    mv("C", "E");
    assert_eq!(of(&vault, "E/D/n.md"), [6, 5, 2, 1]);
    assert_eq!(of(&vault, "E/D/late.md"), [6, 5, 4]);
    assert_eq!(of(&vault, "E/D"), [6, 5, 4, 3, 2, 1]);
    vault.ok("delete", json!({ "path": "E" }));
    assert_eq!(of(&vault, "E/D/n.md"), [7, 6, 5, 2, 1]);
    assert_eq!(of(&vault, "E/D/never.md"), [0; 0]);
    vault.ok("undo", json!({ "change_set": 7 }));
    assert_eq!(of(&vault, "E/D/n.md"), [8, 7, 6, 5, 2, 1]);
    vault.ok("undo", json!({ "change_set": 6 }));
    assert_eq!(of(&vault, "C/D/n.md"), [9, 8, 7, 6, 5, 2, 1]);
    write("E/D/n.md");
    assert_eq!(of(&vault, "C/D/n.md"), [9, 8, 7, 6, 5, 2, 1], "another note is there now");
    assert_eq!(of(&vault, "z.md"), [0; 0]);
    assert_eq!(of(&vault, "E/D/n.md")[0], 10);
}
