//! The same on file systems with other abilities: no exchange, no case, no room.

use serde_json::json;
use vault_steward::note::code::ErrorCode;

#[cfg(target_os = "linux")]
use crate::{machine, vault::TestVault};

#[cfg(target_os = "linux")]
#[test]
fn a_plain_run_names_the_tests_that_could_not_run() {
    let program = std::env::current_exe().expect("this is a program");
    let run = std::process::Command::new(program)
        .arg("platform::without_exchange_and_case")
        .env_remove("CI")
        .env_remove("STEWARD_TEST_EXFAT")
        .env_remove("STEWARD_TEST_NOT_RUN")
        .env_remove("STEWARD_TEST_VAULTS")
        .output()
        .expect("it can be started");
    assert!(run.status.success());
    let heard = String::from_utf8_lossy(&run.stderr);
    assert!(heard.contains("not run: without_exchange_and_case (needs an exFAT"), "{heard}");
}

#[cfg(target_os = "linux")]
#[test]
fn without_exchange_and_case_the_tools_work_the_same() {
    let Some(place) = machine::exfat("without_exchange_and_case") else { return };
    let vault = TestVault::at(&place, &[("Note.md", "old"), ("Folder/x.md", "x")], |_| ());
    let abilities = vault.context.vault.abilities();
    assert!(abilities.writable && abilities.ignores_case && !abilities.exchange, "{abilities:?}");
    let written = vault.ok("write_file", json!({ "path": "NOTE", "content": "new" }));
    assert_eq!(written["path"], "Note.md");
    assert_eq!(vault.content("Note.md"), "new");
    let revision = written["revision"].clone();
    vault.put("Note.md", "from an editor");
    let stale = json!({ "path": "Note.md", "content": "x", "expected_revision": revision });
    vault.err("write_file", stale, ErrorCode::StaleRevision);
    vault.ok("write_file", json!({ "path": "fresh.md", "content": "1" }));
    let again = json!({ "path": "FRESH.md", "content": "2", "if_exists": "fail" });
    vault.err("write_file", again, ErrorCode::AlreadyExists);
    vault.ok("move", json!({ "source": "Note.md", "destination": "note.md" }));
    let names: Vec<String> = vault.snapshot().into_iter().map(|(name, _)| name).collect();
    assert!(
        names.contains(&"note.md".to_owned()) && !names.contains(&"Note.md".to_owned()),
        "{names:?}"
    );
    vault.ok("move", json!({ "source": "folder", "destination": "FOLDER" }));
    vault.err(
        "move",
        json!({ "source": "note.md", "destination": "Fresh.md" }),
        ErrorCode::AlreadyExists,
    );
    vault.ok("delete", json!({ "path": "fresh" }));
    assert_eq!(vault.content(".trash/fresh.md"), "1");
    // One file never appears as two.
    let listed = vault.ok("list_files", json!({ "pattern": "**/*.md" }));
    assert_eq!(listed["total"], 2, "{listed}");
    assert_eq!(vault.rescued(), [""; 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_every_note_as_it_was() {
    let Some(place) = machine::nearly_full("a_full_disk") else { return };
    let vault = TestVault::at(&place, &[("a.md", "old")], |_| ());
    let big = "x".repeat(3 << 20);
    for _ in 0..5 {
        let write = json!({ "path": "a.md", "content": big });
        vault.err("write_file", write, ErrorCode::StorageFull);
        vault.err("write_file", json!({ "path": "b.md", "content": big }), ErrorCode::StorageFull);
    }
    assert_eq!(vault.content("a.md"), "old");
    assert!(!vault.exists("b.md"));
    let hidden = vault.snapshot().iter().filter(|(name, _)| name.contains(".~vs")).count();
    assert_eq!(hidden, 0, "the attempts left nothing");
    vault.ok("write_file", json!({ "path": "a.md", "content": "small" }));
    assert_eq!(vault.content("a.md"), "small");
}

/// Opens a folder as a program does that works in it or shows it.
#[cfg(windows)]
fn hold(folder: &std::path::Path) -> std::fs::File {
    use std::os::windows::fs::OpenOptionsExt;
    const SHARE_READ_AND_WRITE: u32 = 3;
    const BACKUP_SEMANTICS: u32 = 0x0200_0000;
    let mut options = std::fs::File::options();
    options.read(true).share_mode(SHARE_READ_AND_WRITE).custom_flags(BACKUP_SEMANTICS);
    options.open(folder).expect("it can be opened")
}

#[cfg(windows)]
#[test]
fn a_folder_that_another_program_holds_moves_once_that_lets_go() {
    use crate::changes::{mv, seen, write};
    use vault_steward::journal::{ChangeSet, Origin};
    let vault =
        crate::vault::vault(&[("F/a.md", "a\n"), ("F/deep/b.md", "b\n"), ("H/c.md", "c\n")]);
    let before = seen(&vault);
    let changes = || {
        let writes =
            vec![write("F/a.md", "A\n"), write("F/deep/b.md", "B\n"), write("F/n.md", "n")];
        [writes, vec![mv("F", "G"), mv("H", "I")]].concat()
    };
    let held = hold(&vault.place.join("H"));
    let set = ChangeSet { title: "a test's change".to_owned(), changes: changes() };
    let error = vault.journal().apply(&set, &Origin::default()).expect_err("it is held");
    assert_eq!(error.to_string(), "could not move `H`");
    assert_eq!(seen(&vault), before, "what came before it is taken back");
    drop(held);
    vault.apply(changes());
    let after = seen(&vault);
    let held = hold(&vault.place.join("G"));
    let error = vault.err("undo", json!({}), ErrorCode::IoError).text();
    assert!(error.contains("`G`") && error.contains("another program has it open"), "{error}");
    assert_eq!(seen(&vault), after);
    drop(held);
    vault.ok("undo", json!({}));
    assert_eq!(seen(&vault), before);
}
