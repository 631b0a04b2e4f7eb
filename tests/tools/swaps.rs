//! Names that are replaced between a check and its use (cases 7, 43, 60, 65).

use std::fs;
use std::path::Path;

use serde_json::json;
use vault_steward::note::code::ErrorCode;

use crate::abilities::{Ability, can};
use crate::swap::meanwhile;
use crate::vault::vault;

#[cfg(target_os = "linux")]
mod links {
    use crate::abilities::{Ability, can};
    use crate::swap::Swap;

    /// The chaos suite opens each four hundred thousand times.
    const ROUNDS: usize = 40_000;

    #[test]
    fn a_file_that_becomes_a_link_is_never_read_through() {
        if !can(Ability::SymbolicLinks) {
            return;
        }
        Swap::new("note.md", "note.md").read("note.md", ROUNDS).expect("none escapes");
    }

    #[test]
    fn a_folder_that_becomes_a_link_is_never_entered() {
        if !can(Ability::SymbolicLinks) {
            return;
        }
        Swap::new("Folder", "Folder/note.md").read("Folder/note.md", ROUNDS).expect("none escapes");
    }

    #[test]
    fn the_tools_never_write_through_a_link_that_came_meanwhile() {
        if !can(Ability::SymbolicLinks) {
            return;
        }
        Swap::new("note.md", "note.md").use_tools("note.md", 400);
        Swap::new("Folder", "Folder/note.md").use_tools("Folder/note.md", 400);
    }

    /// The fallback for systems without `openat2`, in a process of its own: it is chosen once.
    #[test]
    fn the_walk_is_as_safe_as_the_one_call() {
        if std::env::var_os("STEWARD_NO_OPENAT2").is_some() {
            return;
        }
        let output = std::process::Command::new(std::env::current_exe().expect("this test"))
            .args(["swaps::links::", "--test-threads=2"])
            .env("STEWARD_NO_OPENAT2", "1")
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("4 passed"), "{text}");
    }
}

/// Between the check and the exchange, another entry may take the name.
#[cfg(target_os = "linux")]
#[test]
fn what_takes_a_notes_place_during_a_save_stays() {
    if !can(Ability::SymbolicLinks) || !can(Ability::Exchange) {
        return;
    }
    use vault_steward::note::path::VaultPath;
    use vault_steward::vault::{Precondition, temp_name};
    let vault = vault(&[("note.md", "base"), ("real.md", "real"), ("Folder/x.md", "x")]);
    let path = VaultPath::from_disk("note.md").expect("sound");
    let note = vault.place.join("note.md");
    type Take = fn(&Path);
    let takers: [(&str, Take); 3] = [
        ("a link", |note| std::os::unix::fs::symlink("real.md", note).expect("linked")),
        ("a folder", |note| fs::rename(note.with_file_name("Folder"), note).expect("moved")),
        ("another note", |note| fs::write(note, "typed").expect("written")),
    ];
    for (what, take) in takers {
        let (_, writer) = crate::vault::open(&vault.place, &vault.state);
        let mut staged =
            writer.stage(&path, b"steward", &Precondition::Any, &temp_name()).expect("staged");
        fs::remove_file(&note).expect("removed");
        take(&note);
        let before = vault.snapshot().into_iter().filter(|(name, _)| !name.contains(".~vs"));
        let before: Vec<_> = before.collect();
        let error = writer.commit(&mut staged).expect_err(what);
        assert_eq!(error.code(), ErrorCode::StaleRevision, "{what}: {error}");
        drop(staged);
        assert_eq!(vault.snapshot(), before, "{what}");
        if note.is_dir() {
            fs::rename(&note, note.with_file_name("Folder")).expect("back");
        }
        let _ = fs::remove_file(&note);
        fs::write(&note, "base").expect("written");
    }
}

#[test]
fn a_move_never_replaces_what_came_at_the_last_moment() {
    if !can(Ability::HardLinks) {
        return;
    }
    let vault = vault(&[("a.md", "mine")]);
    let (mine, target) = (vault.place.join("a.md"), vault.place.join("b.md"));
    let theirs = vault.place.join(".theirs");
    let (mut moved, mut refused) = (0, 0);
    meanwhile(
        || {
            // Completed elsewhere, then moved there in one step unless something exists there.
            fs::write(&theirs, "theirs").expect("written");
            let _ = fs::hard_link(&theirs, &target);
            let _ = fs::remove_file(&theirs);
        },
        || {
            for _ in 0..400 {
                let pair = json!({ "source": "a.md", "destination": "b.md" });
                match vault.call("move", &pair) {
                    Ok(_) => {
                        moved += 1;
                        assert_eq!(read(&target), "mine", "what was moved is there");
                        fs::rename(&target, &mine).expect("back");
                    }
                    Err(error) => {
                        refused += 1;
                        assert_eq!(error.code, ErrorCode::AlreadyExists, "{}", error.text());
                        assert_eq!(read(&mine), "mine", "the source stays");
                        assert_eq!(read(&target), "theirs", "what came stays");
                        fs::remove_file(&target).expect("removed");
                    }
                }
            }
        },
    );
    assert!(refused > 0, "{moved} moved, {refused} refused");
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("there")
}

#[test]
fn a_file_that_changes_while_it_is_paged_shows_it_by_its_revision() {
    let lines = |word: &str| format!("{word}\n").repeat(5_000);
    let vault = vault(&[("log.md", &lines("old"))]);
    let first = vault.ok("read_file", json!({ "path": "log" }));
    let next = first["next_start_line"].clone();
    let same = vault.ok("read_file", json!({ "path": "log", "start_line": next }));
    assert_eq!(same["revision"], first["revision"], "one version, one revision");
    vault.put("log.md", &lines("new"));
    let changed = vault.ok("read_file", json!({ "path": "log", "start_line": next }));
    assert_ne!(changed["revision"], first["revision"]);
    // And a change that is based on the first page is refused.
    let edit = json!({
        "path": "log", "delete_lines": { "start": 1, "end": 1 }, "expected_revision": first["revision"],
    });
    vault.err("edit_file", edit, ErrorCode::StaleRevision);
    assert_eq!(vault.content("log.md"), lines("new"));
}

#[test]
fn files_that_vanish_during_a_walk_are_passed_over() {
    let names: Vec<String> = (0..300).map(|n| format!("{}/{n}.md", n % 7)).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "needle\n")).collect();
    let vault = vault(&files);
    meanwhile(
        || {
            for name in names.iter().step_by(2) {
                let path = vault.place.join(name);
                let _ = fs::remove_file(&path);
                let _ = fs::write(&path, "needle\n");
            }
        },
        || {
            for _ in 0..40 {
                let search = json!({ "pattern": "needle", "output_mode": "files_with_matches", "max_results": 1000 });
                let found = vault.ok("search_files", search);
                let found = found["files"].as_array().expect("a list").len();
                assert!((150..=300).contains(&found), "{found}");
                vault.context.vault.rescan().expect("rescanned");
                vault.ok("list_files", json!({ "pattern": "**/*.md", "max_results": 1000 }));
                vault.ok("directory_tree", json!({ "max_depth": 9 }));
            }
        },
    );
    vault.context.vault.rescan().expect("rescanned");
    assert_eq!(vault.context.vault.status().counts.notes, 300);
    assert_eq!(vault.context.vault.status().unreadable, []);
}
