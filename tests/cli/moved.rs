//! A vault at another path, and state that belongs to another vault.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use crate::support::{Daemon, Home};

fn edit(home: &Home, vault: &Path, old: &str, new: &str) {
    let edit =
        ["call", "edit_file", "--path", "projects/my note", "--old-text", old, "--new-text", new];
    home.run_in(vault, &edit).expect(0);
}

fn log(home: &Home, vault: &Path) -> String {
    home.run_in(vault, &["log", "--diff"]).expect(0).stdout
}

fn stop(mut daemon: Daemon) {
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait(Duration::from_secs(10)), Some(0));
}

/// As a backup does: other folders with the same content.
fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// The state folder of the vault of this name.
fn state(home: &Home, name: &str) -> PathBuf {
    let all = home.state().parent().unwrap().to_owned();
    let mut all = std::fs::read_dir(all).unwrap().map(|one| one.unwrap().path());
    all.find(|one| one.file_name().unwrap().to_str().unwrap().starts_with(name)).unwrap()
}

#[test]
fn a_vault_that_was_moved_or_restored_keeps_its_history_and_mode() {
    let home = Home::new();
    let vault = home.vault("Notes");
    std::fs::write(vault.join(".obsidian/app.json"), r#"{"trashOption": "none"}"#).unwrap();
    std::fs::write(vault.join("Old.md"), "old\n").unwrap();
    edit(&home, &vault, "12", "13");
    home.run_in(&vault, &["call", "delete", "--path", "Old.md", "--yes"]).expect(0);
    let daemon = home.serve(&vault);
    home.run_in(&vault, &["mode", "read-only"]).expect(0);
    let token = home.run_in(&vault, &["token"]).expect(0).stdout;
    stop(daemon);

    let moved = home.path("vaults/Diary of 2026");
    std::fs::rename(&vault, &moved).unwrap();
    let daemon = home.serve(&moved);
    assert!(home.run_in(&moved, &["mode"]).expect(0).stdout.contains("read-only"));
    assert_eq!(home.run_in(&moved, &["token"]).expect(0).stdout, token, "who is paired stays so");
    stop(daemon);

    // Restored from a backup to the same path.
    let backup = home.path("elsewhere/backup");
    copy(&moved, &backup);
    std::fs::remove_dir_all(&moved).unwrap();
    copy(&backup, &moved);
    // Moved again, and only a read before the daemon starts.
    let vault = home.path("vaults/Third");
    log(&home, &moved);
    let daemon = home.serve(&moved);
    stop(daemon);
    std::fs::rename(&moved, &vault).unwrap();
    assert!(log(&home, &vault).contains("+budget 13"));
    home.run_in(&vault, &["mode", "auto"]).expect(0);
    home.run_in(&vault, &["undo"]).expect(0);
    assert_eq!(
        std::fs::read_to_string(vault.join("Old.md")).unwrap(),
        "old\n",
        "out of the keeping"
    );
    home.run_in(&vault, &["undo", "1"]).expect(0);
    // A copy next to it is another vault.
    copy(&vault, &home.path("vaults/Copy"));
    assert!(!log(&home, &home.path("vaults/Copy")).contains("budget"));
    assert!(log(&home, &vault).contains("budget"));
}

#[test]
fn another_vaults_database_is_refused_until_a_person_adopts_it() {
    let home = Home::new();
    let (vault, other) = (home.vault("Notes"), home.vault("Other"));
    edit(&home, &vault, "12", "13");
    stop(home.serve(&vault));
    stop(home.serve(&other));
    let database = state(&home, "other").join("state.db");
    std::fs::copy(state(&home, "notes").join("state.db"), &database).unwrap();
    let before = std::fs::read(&database).unwrap();
    let named = format!("is the database of the vault at `{}`", vault.display());
    for arguments in [
        &["serve", "--port", "0"][..],
        &["log"],
        &["conversations"],
        &[
            "call",
            "edit_file",
            "--path",
            "projects/my note",
            "--old-text",
            "12",
            "--new-text",
            "14",
        ],
    ] {
        let run = home.run_in(&other, arguments).expect(1);
        assert!(run.stderr.contains(&named), "{run:?}");
        assert!(run.stderr.contains("steward journal adopt"), "{run:?}");
    }
    assert!(std::fs::read(&database).unwrap() == before, "nothing was touched");
    home.run_in(&other, &["journal", "adopt"]).expect(0);
    let _daemon = home.serve(&other);
    // The recorded changes; the texts are in the other state folder.
    assert!(log(&home, &other).contains("modified `Projects/My Note.md`"));
    // The state of the vault that still exists stays its own.
    assert!(log(&home, &vault).contains("+budget 13"));
    let run = home.run_in(&vault, &["journal", "adopt", "--from", other.to_str().unwrap()]);
    assert!(run.expect(2).stderr.contains("a deleted vault"));
}

#[test]
fn a_vault_restored_elsewhere_gets_a_list_of_possible_histories() {
    let home = Home::new();
    let vault = home.vault("Notes");
    edit(&home, &vault, "12", "13");
    stop(home.serve(&vault));
    let elsewhere = home.path("elsewhere/Notes");
    copy(&vault, &elsewhere);
    std::fs::remove_dir_all(&vault).unwrap();
    let daemon = home.serve(&elsewhere);
    let adopt = format!("steward journal adopt --from {}", vault.display());
    let status = home.run_in(&elsewhere, &["status"]).expect(0).stdout;
    assert!(status.contains(&adopt), "{status}");
    assert!(!log(&home, &elsewhere).contains("budget"));
    let adopt = ["journal", "adopt", "--from", vault.to_str().unwrap()];
    home.run_in(&elsewhere, &adopt).expect(3);
    stop(daemon);
    home.run_in(&elsewhere, &adopt).expect(0);
    assert!(log(&home, &elsewhere).contains("+budget 13"));
    let _daemon = home.serve(&elsewhere);
    assert!(!home.run_in(&elsewhere, &["status"]).expect(0).stdout.contains("adopt"));
    home.run_in(&elsewhere, &["undo"]).expect(0);
    home.run_in(&elsewhere, &adopt).expect(3);
}
