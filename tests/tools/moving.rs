//! Moving and deleting (cases 42 to 44, 33, coverage A31 to A42).

use serde_json::json;
use vault_steward::note::code::ErrorCode::{
    AlreadyExists, Denied, InvalidInput, InvalidPath, NotFound,
};

use crate::machine;
use crate::vault::{TestVault, renames_case, vault};

#[test]
fn files_and_folders_move_and_folders_are_made() {
    let vault = vault(&[("a.md", "a"), ("Projects/x/y.md", "y"), ("Projects/z.md", "z")]);
    vault.ok("move", json!({ "source": "A", "destination": "New/Deep/b.md" }));
    assert_eq!(vault.content("New/Deep/b.md"), "a");
    let moved =
        vault.ok("move", json!({ "source": "projects", "destination": "archive/Projects" }));
    assert_eq!((&moved["type"], &moved["source"]), (&json!("folder"), &json!("Projects")));
    assert_eq!(vault.content("archive/Projects/x/y.md"), "y");
    // The catalogue was updated without an event.
    let listed = vault.ok("list_files", json!({ "pattern": "**/*.md", "sort_by": "name" }));
    let paths: Vec<_> =
        listed["entries"].as_array().expect("a list").iter().map(|e| e["path"].clone()).collect();
    assert_eq!(paths, ["New/Deep/b.md", "archive/Projects/x/y.md", "archive/Projects/z.md"]);
    vault.err("move", json!({ "source": "Projects/z.md", "destination": "q.md" }), NotFound);
}

#[test]
fn nothing_is_ever_replaced() {
    let vault = vault(&[("a.md", "a"), ("b.md", "b"), ("Folder/x.md", "x"), ("Other/y.md", "y")]);
    let before = vault.snapshot();
    for (source, destination) in [
        ("a.md", "b.md"),
        ("a.md", "B.md"),
        ("a", "b"),
        ("Folder", "Other"),
        ("Folder", "other"),
        ("a.md", "Folder"),
    ] {
        let pair = json!({ "source": source, "destination": destination });
        vault.err("move", pair, AlreadyExists);
    }
    let error =
        vault.err("move", json!({ "source": "a.md", "destination": "folder" }), AlreadyExists);
    assert!(error.hint.expect("a hint").contains("Folder/a.md"));
    // A free name is suggested, in any case.
    let error =
        vault.err("move", json!({ "source": "a.md", "destination": "b.md" }), AlreadyExists);
    assert_eq!(error.hint.as_deref(), Some("`b 2.md` is free"));
    vault.put("B 2.md", "b");
    let error =
        vault.err("move", json!({ "source": "a.md", "destination": "b.md" }), AlreadyExists);
    assert_eq!(error.hint.as_deref(), Some("`b 3.md` is free"));
    std::fs::remove_file(vault.place.join("B 2.md")).expect("removed");
    for destination in ["Folder/inside", "Folder/deep/er", "folder/x"] {
        let pair = json!({ "source": "Folder", "destination": destination });
        vault.err("move", pair, InvalidInput);
    }
    assert_eq!(vault.snapshot(), before);
    let same = vault.ok("move", json!({ "source": "a.md", "destination": "a.md" }));
    assert_eq!(same["moved"], false);
}

#[test]
fn what_moves_keeps_its_extension_unless_another_is_named() {
    for (source, destination, now) in [
        ("inbox", "garden/inbox", "Garden/inbox.md"),
        ("Inbox.md", "Release 2.0", "Release 2.0.md"),
        ("inbox", "Dr. Who", "Dr. Who.md"),
        ("inbox", "Notes/Mr.Smith", "Notes/Mr.Smith.md"),
        ("inbox", "Inbox.txt", "Inbox.txt"),
        ("inbox", "Later.MD", "Later.MD"),
        ("plot.png", "Garden/plot 1.2", "Garden/plot 1.2.png"),
        ("plot.png", "plot.jpg", "plot.jpg"),
        ("LICENSE", "Garden/LICENSE", "Garden/LICENSE"),
        ("Garden", "Garden 2.0", "Garden 2.0"),
    ] {
        let files = [("Inbox.md", "x"), ("plot.png", "p"), ("LICENSE", "l"), ("Garden/a.md", "a")];
        let vault = vault(&[&files[..], &[("Links.md", "[[inbox]] ![[plot.png]]")]].concat());
        let moved = vault.ok("move", json!({ "source": source, "destination": destination }));
        assert_eq!(moved["destination"], now, "{source} to {destination}");
        let broken = vault.ok("list_links", json!({ "kind": "unresolved" }));
        let is_kept = now.ends_with(".txt") || broken["total"] == 0;
        assert!(is_kept, "{source} to {destination}: {broken}");
    }
}

#[test]
fn an_added_extension_makes_no_duplicate() {
    let files = [("plot.png", "p"), ("Garden/Bed 1.2.png", "b"), ("note.md", "n")];
    let vault = vault(&[&files[..], &[("Garden/Release 2.0.md", "r")]].concat());
    let before = vault.snapshot();
    for (source, destination) in [("plot.png", "garden/BED 1.2"), ("note", "garden/release 2.0")] {
        let pair = json!({ "source": source, "destination": destination });
        vault.err("move", pair, AlreadyExists);
    }
    assert_eq!(vault.snapshot(), before);
    let long = format!("Garden/{}", "x".repeat(253));
    vault.err("move", json!({ "source": "note", "destination": long }), InvalidPath);
}

#[test]
fn a_change_of_case_alone_works() {
    let test = "a_change_of_case_alone_works";
    if !renames_case() && machine::not_possible_elsewhere(test, "a name in another case") {
        return;
    }
    let vault = vault(&[("todo.md", "t"), ("projects/x.md", "x")]);
    vault.ok("move", json!({ "source": "todo.md", "destination": "Todo.md" }));
    vault.ok("move", json!({ "source": "projects", "destination": "Projects" }));
    vault.ok("move", json!({ "source": "todo", "destination": "TODO" }));
    let names: Vec<String> = vault.snapshot().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"TODO.md".to_owned()), "{names:?}");
    assert!(
        names.contains(&"Projects/x.md".to_owned()) && !names.contains(&"projects/".to_owned())
    );
    assert_eq!(vault.context.vault.status().counts.notes, 2);
}

#[test]
fn the_vaults_own_trash_is_flat_and_numbered() {
    let vault =
        vault(&[("a/x.md", "1"), ("b/x.md", "2"), ("v1.2/y.md", "3"), ("c/v1.2/z.md", "4")]);
    let first = vault.ok("delete", json!({ "path": "a/x" }));
    assert_eq!((&first["trash"], &first["location"]), (&json!("local"), &json!(".trash/x.md")));
    assert_eq!(vault.ok("delete", json!({ "path": "b/x" }))["location"], ".trash/x 2.md");
    assert_eq!(vault.ok("delete", json!({ "path": "v1.2" }))["location"], ".trash/v1.2");
    let folder = vault.ok("delete", json!({ "path": "c/v1.2" }));
    assert_eq!((&folder["location"], &folder["files"]), (&json!(".trash/v1 2.2"), &json!(1)));
    assert_eq!(vault.content(".trash/x 2.md"), "2");
    assert_eq!(vault.content(".trash/v1 2.2/z.md"), "4");
    vault.err("delete", json!({ "path": "a/x" }), NotFound);
    vault.err("delete", json!({ "path": "a", "permanent": true }), Denied);
    assert!(vault.exists("a"));
}

#[test]
fn without_a_trash_the_steward_stores_deleted_files() {
    let vault = TestVault::new(&[("a/x.md", "1"), ("a/deep/y.md", "2")], |at| {
        std::fs::write(at.join(".obsidian/app.json"), r#"{"trashOption":"none"}"#)
            .expect("written");
    });
    let deleted = vault.ok("delete", json!({ "path": "a" }));
    assert_eq!(deleted["trash"], "kept");
    let place = std::path::PathBuf::from(deleted["location"].as_str().expect("a place"));
    assert_eq!(std::fs::read(place.join("deep/y.md")).expect("kept"), b"2");
    assert!(!vault.exists("a") && !vault.exists(".trash"));
    // The setting is read again when it changes.
    std::fs::write(vault.place.join(".obsidian/app.json"), r#"{"trashOption": "local"}"#)
        .expect("written");
    vault.put("b.md", "3");
    assert_eq!(vault.ok("delete", json!({ "path": "b" }))["trash"], "local");
}

#[test]
fn a_folder_with_something_protected_in_it_stays() {
    use vault_steward::note::code::ErrorCode::ProtectedPath;
    let vault =
        vault(&[("Code/.git/config", "x"), ("Code/a.md", "a"), ("Inner/.obsidian/app.json", "{}")]);
    let before = vault.snapshot();
    for folder in ["Code", "Inner"] {
        let error = vault.err("delete", json!({ "path": folder }), ProtectedPath);
        assert!(error.message.contains("would go with it"), "{error}");
        vault.err("move", json!({ "source": folder, "destination": "Elsewhere" }), ProtectedPath);
    }
    assert_eq!(vault.snapshot(), before);
    vault.ok("move", json!({ "source": "Code/a.md", "destination": "b.md" }));
}

#[cfg(target_os = "linux")]
#[test]
fn the_systems_trash_takes_the_file_or_says_why_not() {
    // In a process of its own, whose home is a folder of this test.
    let Some(home) = std::env::var_os("STEWARD_TEST_HOME") else {
        let home = crate::vault::temporary_folder();
        let test = "moving::the_systems_trash_takes_the_file_or_says_why_not";
        let run = |home: &std::path::Path| {
            let output = std::process::Command::new(std::env::current_exe().expect("this test"))
                .args(["--exact", test])
                .env("STEWARD_TEST_HOME", home)
                .env("HOME", home)
                .env_remove("XDG_DATA_HOME")
                .output()
                .expect("it runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        };
        run(home.path());
        run(&home.path().join("absent"));
        return;
    };
    let home = std::path::PathBuf::from(home);
    let vault = TestVault::new(&[("Notes/a b.md", "text")], |at| {
        std::fs::write(at.join(".obsidian/app.json"), "{}").expect("written");
    });
    let deleted = vault.ok("delete", json!({ "path": "notes/A B" }));
    assert!(!vault.exists("Notes/a b.md"));
    if home.is_dir() {
        assert_eq!(deleted["trash"], "system");
        let trash = home.join(".local/share/Trash");
        assert_eq!(std::fs::read(trash.join("files/a b.md")).expect("there"), b"text");
        let info = std::fs::read_to_string(trash.join("info/a b.md.trashinfo")).expect("there");
        assert!(info.contains("/Vault/Notes/a%20b.md"), "{info}");
    } else {
        // A missing home folder is not created: the vault's own trash is used.
        assert_eq!(deleted["location"], ".trash/a b.md");
        assert!(!home.exists());
    }
}
