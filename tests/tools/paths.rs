//! How names are found, and which are refused (cases 1 to 46).

use serde_json::json;
use vault_steward::note::code::ErrorCode::{
    AlreadyExists, AmbiguousPath, InvalidPath, NotAFile, NotAFolder, NotFound, OutsideVault,
    ProtectedPath,
};

use crate::abilities::{Ability, can};
use crate::vault::{TestVault, vault};

/// The real path from which `asked` is read.
#[track_caller]
fn read(vault: &TestVault, asked: &str) -> String {
    vault.ok("read_file", json!({ "path": asked }))["path"].as_str().expect("a path").to_owned()
}

#[test]
fn every_spelling_finds_the_one_note() {
    let vault = vault(&[("Projects/My Note.md", "x"), ("Über/Café.md", "x"), ("b\u{a0}c.md", "x")]);
    for asked in [
        "Projects/My Note.md",
        "Projects/My Note",
        "projects/my note",
        "PROJECTS/MY NOTE.MD",
        "/Projects/My Note.md",
        "./Projects//My Note.md/",
        "Projects\\My Note.md",
        " \"Projects/My Note.md\" ",
        "“Projects/My Note”",
        "Projects/My\u{a0}Note.md",
    ] {
        assert_eq!(read(&vault, asked), "Projects/My Note.md", "{asked}");
    }
    let inside = format!("{}/projects/my note.md", vault.place.display());
    assert_eq!(read(&vault, &inside), "Projects/My Note.md");
    for asked in ["über/café", "U\u{308}ber/Cafe\u{301}.md", "ÜBER/CAFÉ"] {
        assert_eq!(read(&vault, asked), "Über/Café.md", "{asked}");
    }
    assert_eq!(read(&vault, "b c"), "b\u{a0}c.md");
}

#[test]
fn a_spelling_on_disk_stays() {
    let decomposed = "Cafe\u{301}.md";
    let vault = vault(&[(decomposed, "x")]);
    assert_eq!(read(&vault, "Café"), decomposed);
    vault.ok("write_file", json!({ "path": "CAFÉ.md", "content": "y" }));
    assert_eq!(vault.content(decomposed), "y");
}

#[test]
fn the_more_exact_wins_and_a_draw_is_an_error() {
    if !can(Ability::Case) {
        return;
    }
    let vault = vault(&[
        ("Note.md", "1"),
        ("note.md", "2"),
        ("Projects/Todo.md", "3"),
        ("projects/todo.md", "4"),
        ("projects/Only.md", "5"),
    ]);
    assert_eq!(read(&vault, "Note.md"), "Note.md");
    assert_eq!(read(&vault, "note"), "note.md");
    let error = vault.err("read_file", json!({ "path": "NOTE" }), AmbiguousPath);
    assert_eq!(error.data.expect("data")["candidates"], json!(["Note.md", "note.md"]));
    // The component that is spelt exactly decides.
    assert_eq!(read(&vault, "Projects/todo"), "Projects/Todo.md");
    assert_eq!(read(&vault, "projects/TODO"), "projects/todo.md");
    // An exact folder without the file does not hide the other one.
    assert_eq!(read(&vault, "Projects/only"), "projects/Only.md");
    // Two Unicode forms of one name cannot be told apart in a request.
    vault.put("Caf\u{e9}.md", "6");
    vault.put("Cafe\u{301}.md", "7");
    vault.err("read_file", json!({ "path": "Café.md" }), AmbiguousPath);
}

#[test]
fn a_note_is_preferred_to_the_folder_of_its_name() {
    let vault = vault(&[("Garden/Bed.md", "x"), ("Garden.md", "y"), ("Shed/x.md", "z")]);
    assert_eq!(read(&vault, "garden"), "Garden.md");
    assert_eq!(vault.ok("list_files", json!({ "path": "garden" }))["path"], "Garden");
    let error = vault.err("read_file", json!({ "path": "shed" }), NotAFile);
    assert_eq!(error.message, "`Shed` is a folder, not a file");
    vault.err("list_files", json!({ "path": "garden.md" }), NotAFolder);
}

#[test]
fn what_leaves_the_vault_is_refused() {
    let vault = vault(&[("a.md", "x")]);
    let evil = vault.place.with_file_name("Vault-evil");
    std::fs::create_dir(&evil).expect("made");
    std::fs::write(evil.join("secret.md"), "secret").expect("written");
    let before = vault.snapshot();
    let sibling = format!("{}/secret.md", evil.display());
    for asked in [
        "../x",
        "a/../../x",
        "../Vault-evil/secret.md",
        &sibling,
        "/etc/passwd",
        "C:\\x",
        "C:/x",
        "\\\\srv\\x",
        "~/x",
        "file:///x",
        "https://example.org/x",
        "..",
    ] {
        for tool in ["read_file", "get_file_info", "delete"] {
            vault.err(tool, json!({ "path": asked }), OutsideVault);
        }
        vault.err("write_file", json!({ "path": asked, "content": "" }), OutsideVault);
        vault.err("move", json!({ "source": "a.md", "destination": asked }), OutsideVault);
        vault.err("create_folder", json!({ "path": asked }), OutsideVault);
        vault.err("list_files", json!({ "path": asked }), OutsideVault);
    }
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn a_detour_is_refused_with_the_plain_path() {
    let vault = vault(&[("a.md", "x")]);
    let error = vault.err("read_file", json!({ "path": "b/../a.md" }), InvalidPath);
    assert!(error.message.contains("say `a.md` instead"), "{}", error.message);
}

#[test]
fn no_path_can_be_made_of_these() {
    let vault = vault(&[]);
    let (long, deep) = (format!("{}.md", "日".repeat(100)), "a/".repeat(2100));
    for asked in ["a\0b", "a\nb", "a\u{7f}", &long, &deep] {
        vault.err("write_file", json!({ "path": asked, "content": "" }), InvalidPath);
        vault.err("read_file", json!({ "path": asked }), InvalidPath);
    }
}

#[test]
fn new_names_must_fit_every_system_and_old_ones_are_tolerated() {
    if !can(Ability::AnyName) {
        return;
    }
    let vault = vault(&[]);
    for name in [
        "a:b",
        "a*b",
        "a?b",
        "a\"b",
        "a<b",
        "a|b",
        "a#b",
        "a^b",
        "a[b]",
        "note.",
        "CON",
        "nul.md",
        "aux.txt",
        "COM1",
        "com¹.md",
        "LPT³",
        ".hidden.md",
        "zero\u{200b}width",
        "tag\u{e0041}",
    ] {
        let error = vault.err("write_file", json!({ "path": name, "content": "" }), InvalidPath);
        assert!(error.hint.is_some(), "{name}: {}", error.message);
        let folder = format!("{name}/x.md");
        vault.err("write_file", json!({ "path": folder, "content": "" }), InvalidPath);
    }
    assert_eq!(vault.snapshot().len(), 2, "only the settings are there");
    if cfg!(unix) {
        for name in ["a:b.md", "what?.md", "note [draft].md", "dot..md", "c#.md"] {
            vault.put(name, "old");
            assert_eq!(read(&vault, name), name);
        }
    }
}

#[test]
fn the_root_is_never_changed() {
    use vault_steward::note::code::ErrorCode::InvalidInput;
    let vault = vault(&[("a.md", "x")]);
    for asked in ["", ".", "/", "  ", "./"] {
        vault.err("delete", json!({ "path": asked }), InvalidInput);
        vault.err("move", json!({ "source": asked, "destination": "b" }), InvalidInput);
        vault.err("write_file", json!({ "path": asked, "content": "" }), NotAFile);
        vault.err("move", json!({ "source": "a.md", "destination": asked }), AlreadyExists);
    }
}

#[test]
fn protected_in_every_tool_and_spelling() {
    let vault = vault(&[
        ("a.md", "needle"),
        (".git/config", "needle"),
        (".trash/old.md", "needle"),
        (".smarthole/inbox/1.md", "needle"),
        ("nested/.obsidian/app.json", "needle"),
        (".obsidian/note.md", "needle"),
    ]);
    let before = vault.snapshot();
    for asked in [
        ".obsidian",
        ".Obsidian/app.json",
        ".OBSIDIAN/app.json",
        "./.obsidian/app.json",
        "x/../.obsidian/app.json",
        "x/../.obsidian",
        ".obsidian/../.obsidian/x",
        ".git/config",
        ".Trash/old.md",
        ".smarthole/inbox/1.md",
        "nested/.obsidian/app.json",
        ".obsidian./app.json",
        ".obsidian/",
        "\\.obsidian\\app.json",
        "new/.git/hooks/post-commit",
    ] {
        for tool in ["read_file", "get_file_info", "delete", "create_folder", "list_files"] {
            let error = vault.err(tool, json!({ "path": asked }), ProtectedPath);
            assert!(error.message.contains("protected because"), "{}", error.message);
        }
        vault.err("directory_tree", json!({ "path": asked }), ProtectedPath);
        vault.err("search_files", json!({ "path": asked, "pattern": "x" }), ProtectedPath);
        vault.err("write_file", json!({ "path": asked, "content": "" }), ProtectedPath);
        vault.err("move", json!({ "source": asked, "destination": "b.md" }), ProtectedPath);
        vault.err("move", json!({ "source": "a.md", "destination": asked }), ProtectedPath);
        let edit = json!({ "path": asked, "old_text": "a", "new_text": "b" });
        vault.err("edit_file", edit, ProtectedPath);
    }
    for path in [".obsidian/x.md", ".OBSIDIAN/plugins/x/main.js"] {
        let patch = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+evil\n");
        vault.err("apply_patch", json!({ "patch": patch }), ProtectedPath);
    }
    assert_eq!(vault.snapshot(), before);
    // And nothing lists or finds their content.
    let all = vault.ok("list_files", json!({ "pattern": "**" }));
    let paths: Vec<&str> = all["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|e| e["path"].as_str())
        .collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
    let found = vault.ok("search_files", json!({ "pattern": "needle", "file_pattern": "**" }));
    assert_eq!(found["files"].as_array().expect("a list").len(), 1);
}

#[test]
fn another_configuration_folder_and_the_own_state_are_protected() {
    let vault = TestVault::new(
        &[(".config-work/app.json", "{}"), (".config-work/core-plugins.json", "[]")],
        |_| (),
    );
    vault.err("read_file", json!({ "path": ".config-work/app.json" }), ProtectedPath);
    // An unprotected dot-folder simply does not exist for callers.
    vault.put(".cache/x.md", "x");
    vault.err("read_file", json!({ "path": ".cache/x.md" }), NotFound);
    vault.err("write_file", json!({ "path": ".cache/y.md", "content": "" }), InvalidPath);
    // Nor is it the name of a note elsewhere.
    vault.put("Notes/secret.md", "x");
    vault.err("read_file", json!({ "path": ".secret.md" }), NotFound);
}

#[test]
fn nothing_found_names_the_nearest() {
    let vault = vault(&[
        ("Projects/SmartHole Notes.md", "x"),
        ("To-Do List.md", "x"),
        ("Chapter 2.md", "x"),
    ]);
    for (asked, near) in [
        ("projects/smart hole nodes", "Projects/SmartHole Notes.md"),
        ("todo lust", "To-Do List.md"),
        ("the second chapter", "Chapter 2.md"),
        ("notes/smarthole notes", "Projects/SmartHole Notes.md"),
    ] {
        let error = vault.err("read_file", json!({ "path": asked }), NotFound);
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains(near)), "{error:?}");
        assert_eq!(error.data.expect("data")["near"][0], near);
    }
}

#[test]
fn a_write_changes_the_existing_file_and_makes_no_duplicate() {
    let vault = vault(&[("Projects/Todo.md", "old")]);
    let written = vault.ok("write_file", json!({ "path": "projects/todo.md", "content": "new" }));
    assert_eq!(written["path"], "Projects/Todo.md");
    assert_eq!(written["created"], false);
    vault.ok("write_file", json!({ "path": "projects/new/idea.md", "content": "x" }));
    assert!(vault.exists("Projects/new/idea.md"), "the folder's own spelling is used");
    vault.err(
        "write_file",
        json!({ "path": "PROJECTS/TODO.md", "content": "x", "if_exists": "fail" }),
        AlreadyExists,
    );
    assert_eq!(vault.ok("create_folder", json!({ "path": "projects" }))["created"], false);
    vault.err("write_file", json!({ "path": "Projects/Todo.md/x.md", "content": "" }), NotAFolder);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, Instant};
    use vault_steward::note::code::ErrorCode;

    fn with_links() -> (TestVault, tempfile::TempDir) {
        let outside = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(outside.path().join("secret.md"), "secret").expect("written");
        let place = outside.path().to_owned();
        let vault =
            TestVault::new(&[("Real/Note.md", "inside"), (".obsidian/x.json", "{}")], |at| {
                symlink(place.join("secret.md"), at.join("out.md")).expect("linked");
                symlink(&place, at.join("Out")).expect("linked");
                symlink(place.join("absent.md"), at.join("dangling-out.md")).expect("linked");
                symlink("absent.md", at.join("dangling.md")).expect("linked");
                symlink("loop-b", at.join("loop-a")).expect("linked");
                symlink("loop-a", at.join("loop-b")).expect("linked");
                symlink("Real", at.join("Alias")).expect("linked");
                symlink("../Real/Note.md", at.join("Real/Again.md")).expect("linked");
                symlink(at.join("Real/Note.md"), at.join("absolute.md")).expect("linked");
                symlink(".obsidian", at.join("settings")).expect("linked");
            });
        (vault, outside)
    }

    #[test]
    fn links_out_of_the_vault_are_refused_and_links_within_followed() {
        if !can(Ability::SymbolicLinks) {
            return;
        }
        let (vault, outside) = with_links();
        for asked in ["out.md", "Out/secret.md", "out/secret", "dangling-out.md", "absolute.md"] {
            let error = vault.err("read_file", json!({ "path": asked }), OutsideVault);
            assert!(error.message.contains("is a link to"), "{}", error.message);
            vault.err("write_file", json!({ "path": asked, "content": "x" }), OutsideVault);
            let edit = json!({ "path": asked, "insert_after_line": 0, "content": "x" });
            vault.err("edit_file", edit, OutsideVault);
        }
        for asked in ["Out/new.md", "Out/new/deep.md"] {
            vault.err("write_file", json!({ "path": asked, "content": "x" }), OutsideVault);
            vault.err("create_folder", json!({ "path": asked }), OutsideVault);
            vault.err(
                "move",
                json!({ "source": "Real/Note.md", "destination": asked }),
                OutsideVault,
            );
        }
        vault.err("list_files", json!({ "path": "Out" }), OutsideVault);
        assert_eq!(std::fs::read_dir(outside.path()).expect("listed").count(), 1);
        assert_eq!(std::fs::read(outside.path().join("secret.md")).expect("read"), b"secret");

        for asked in ["Alias/Note.md", "alias/note", "Real/Again.md"] {
            assert_eq!(read(&vault, asked), "Real/Note.md", "{asked}");
        }
        vault.ok("write_file", json!({ "path": "Alias/Note.md", "content": "through" }));
        assert_eq!(vault.content("Real/Note.md"), "through");
        assert!(vault.place.join("Alias").is_symlink(), "the link is kept");
        vault.ok("write_file", json!({ "path": "Alias/New.md", "content": "x" }));
        assert!(vault.exists("Real/New.md"));
    }

    #[test]
    fn broken_and_circular_links_are_errors() {
        if !can(Ability::SymbolicLinks) {
            return;
        }
        let (vault, _outside) = with_links();
        for asked in ["dangling.md", "loop-a", "loop-b/x.md"] {
            vault.err("read_file", json!({ "path": asked }), NotFound);
            vault.err("write_file", json!({ "path": asked, "content": "x" }), NotFound);
        }
        assert!(!vault.exists("absent.md"), "nothing is made through a link");
    }

    #[test]
    fn a_link_to_a_protected_folder_is_protected() {
        if !can(Ability::SymbolicLinks) {
            return;
        }
        let (vault, _outside) = with_links();
        for asked in ["settings/app.json", "settings", "SETTINGS/App.json"] {
            vault.err("read_file", json!({ "path": asked }), ProtectedPath);
        }
        vault.err("write_file", json!({ "path": "settings/x.md", "content": "" }), ProtectedPath);
        vault.err("list_files", json!({ "path": "settings" }), ProtectedPath);
        std::fs::hard_link(vault.place.join(".obsidian/x.json"), vault.place.join("twin.md"))
            .expect("linked");
        vault.err("read_file", json!({ "path": "twin.md" }), ProtectedPath);
        let edit = json!({ "path": "twin.md", "content": "evil" });
        vault.err("write_file", edit, ProtectedPath);
    }

    #[test]
    fn deleting_a_link_deletes_the_link() {
        if !can(Ability::SymbolicLinks) {
            return;
        }
        let (vault, outside) = with_links();
        for asked in ["out.md", "Out", "dangling.md", "loop-a", "Alias"] {
            vault.ok("delete", json!({ "path": asked }));
            assert!(!vault.exists(asked), "{asked}");
        }
        assert!(outside.path().join("secret.md").exists());
        assert!(vault.exists("Real/Note.md"));
    }

    #[test]
    fn links_are_listed_as_links_and_not_entered() {
        if !can(Ability::SymbolicLinks) {
            return;
        }
        let (vault, _outside) = with_links();
        let listed = vault.ok("list_files", json!({ "pattern": "**", "sort_by": "name" }));
        let entries = listed["entries"].as_array().expect("a list");
        let kind = |path: &str| {
            entries.iter().find(|e| e["path"] == path).map(|e| e["type"].as_str().expect("a word"))
        };
        assert_eq!(kind("Out"), Some("link"));
        assert_eq!(kind("Alias"), Some("link"));
        assert_eq!(kind("Out/secret.md"), None);
        assert_eq!(kind("Alias/Note.md"), None);
        let info = vault.ok("get_file_info", json!({ "path": "Out" }));
        assert!(info["link_target"].as_str().expect("told").contains("outside"));
    }

    #[test]
    fn pipes_and_sockets_are_refused_at_once() {
        if !can(Ability::Pipes) {
            return;
        }
        let vault = TestVault::new(&[("a.md", "x")], |at| {
            let pipe = std::process::Command::new("mkfifo").arg(at.join("pipe.md")).status();
            assert!(pipe.expect("mkfifo runs").success());
            std::os::unix::net::UnixListener::bind(at.join("socket.md")).expect("bound");
        });
        let start = Instant::now();
        for asked in ["pipe.md", "socket.md"] {
            vault.err("read_file", json!({ "path": asked }), NotAFile);
            let write = json!({ "path": asked, "content": "x" });
            vault.err("write_file", write, NotAFile);
        }
        let all = json!({ "pattern": "x", "file_pattern": "**" });
        assert_eq!(vault.ok("search_files", all)["files"].as_array().expect("a list").len(), 1);
        assert!(start.elapsed() < Duration::from_secs(5), "nobody waited on the pipe");
    }

    #[test]
    fn names_that_are_not_utf8_are_shown_and_left_alone() {
        if !can(Ability::AnyName) {
            return;
        }
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"bad\xff.md");
        let vault = TestVault::new(&[], |at| std::fs::write(at.join(name), "x").expect("written"));
        let listed = vault.ok("list_files", json!({}));
        assert_eq!(listed["entries"][0]["path"], "bad\\xFF.md");
        vault.err("read_file", json!({ "path": "bad\\xFF.md" }), ErrorCode::NotFound);
        assert_eq!(vault.context.vault.status().counts.unusable, 1);
    }

    #[test]
    fn the_walk_gives_the_same_protection_as_one_call() {
        // The fallback for systems without openat2, in a process of its own: it is chosen once.
        if std::env::var_os("STEWARD_NO_OPENAT2").is_some() {
            return;
        }
        let own = std::env::current_exe().expect("this test");
        let tests = ["paths::", "content::", "moving::"];
        let output = std::process::Command::new(own)
            .args(tests)
            .env("STEWARD_NO_OPENAT2", "1")
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
        assert!(!text.contains("running 0 tests"), "{text}");
    }
}

// Windows refuses to rename a vault that is open.
#[cfg(not(windows))]
#[test]
fn a_vault_that_went_away_is_not_an_empty_vault() {
    let vault = vault(&[("a.md", "x"), ("b.md", "y")]);
    let away = vault.place.with_file_name("Away");
    std::fs::rename(&vault.place, &away).expect("moved");
    let error = vault.err(
        "read_file",
        json!({ "path": "a.md" }),
        vault_steward::note::code::ErrorCode::IoError,
    );
    assert!(error.message.contains("is gone"), "{}", error.message);
    // An empty folder in its place is a different folder.
    std::fs::create_dir(&vault.place).expect("made");
    let write = json!({ "path": "c.md", "content": "x" });
    vault.err("write_file", write, vault_steward::note::code::ErrorCode::IoError);
    assert!(vault.context.vault.rescan().is_err());
    assert_eq!(vault.context.vault.status().counts.notes, 2, "nothing is forgotten");
    assert_eq!(std::fs::read_dir(&vault.place).expect("listed").count(), 0);
    std::fs::remove_dir(&vault.place).expect("removed");
    std::fs::rename(&away, &vault.place).expect("back");
    assert_eq!(read(&vault, "a"), "a.md");
}

#[test]
fn a_leading_slash_is_the_vaults_where_it_has_such_a_folder() {
    let vault = vault(&[("run/5k.md", "x")]);
    assert_eq!(read(&vault, "/run/5k.md"), "run/5k.md");
    assert_eq!(read(&vault, "/Run/5K"), "run/5k.md");
    vault.err("read_file", json!({ "path": "/etc/passwd" }), OutsideVault);
    vault.err("read_file", json!({ "path": "//run/5k.md" }), OutsideVault);
}

#[test]
fn what_a_listing_names_can_be_asked_for() {
    let odd = "soft\u{ad}hyphen \u{200b}.md";
    let vault = vault(&[(odd, "x")]);
    let listed = vault.ok("list_files", json!({}));
    assert_eq!(listed["entries"][0]["path"], odd);
    assert_eq!(read(&vault, odd), odd);
    let text = vault.text("list_files", json!({}));
    assert!(text.contains("\\u{ad}"), "shown escaped: {text}");
}

#[test]
fn no_folder_is_deeper_than_a_listing() {
    let vault = vault(&[]);
    let deep = format!("{}x.md", "a/".repeat(64));
    vault.err("write_file", json!({ "path": deep, "content": "" }), InvalidPath);
    let most = format!("{}x.md", "a/".repeat(63));
    vault.ok("write_file", json!({ "path": most, "content": "" }));
    assert_eq!(vault.ok("list_files", json!({ "pattern": "**/x.md" }))["total"], 1);
}

#[test]
fn a_cloud_placeholder_counts_as_existing() {
    let vault = vault(&[("Notes/.far.md.icloud", "bplist")]);
    let error = vault.err("read_file", json!({ "path": "Notes/far" }), NotFound);
    assert!(error.message.contains("iCloud"), "{error}");
}
