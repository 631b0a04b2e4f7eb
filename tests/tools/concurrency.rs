//! Other programs that change the vault at the same moment (cases 67 to 72), and kills (case 79).
//!
//! Each episode has one loser and no lost text: the editor's text is in the note, or the steward's
//! text is there and is based on the editor's.

use std::fs;
#[cfg(target_os = "linux")]
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use vault_steward::note::code::ErrorCode;

use crate::abilities::{Ability, can};
use crate::races;
use crate::vault::{TestVault, vault};

/// The chaos suite runs ten thousand of each.
const EPISODES: usize = 200;

/// An editor saves while the steward edits: the editor's last text is never lost.
fn race(save: races::Save) {
    let vault = vault(&[]);
    let recovery = vault.state.join("recovery");
    let ended = races::race(&vault.context, &vault.place, &recovery, EPISODES, save);
    let ended = ended.unwrap_or_else(|lost| panic!("{lost}"));
    assert_eq!(ended.applied + ended.refused, EPISODES);
    let hidden = vault.snapshot().iter().filter(|(name, _)| name.contains(".~vs")).count();
    assert_eq!(hidden, 0, "nothing is left behind");
}

#[test]
fn an_editor_that_saves_in_place_loses_nothing() {
    if !can(Ability::Exchange) {
        return;
    }
    race(races::in_place);
}

#[test]
fn an_editor_that_saves_by_rename_loses_nothing() {
    if !can(Ability::Exchange) {
        return;
    }
    race(races::by_rename);
}

#[cfg(target_os = "linux")]
#[test]
fn text_written_into_the_displaced_file_is_rescued() {
    if !can(Ability::Exchange) {
        return;
    }
    let vault = vault(&[("note.md", "base\n")]);
    let mut editor =
        fs::File::options().append(true).open(vault.place.join("note.md")).expect("opened");
    vault.ok("write_file", json!({ "path": "note", "content": "steward\n" }));
    // The editor still has the old file open, and saves into it.
    editor.write_all(b"typed late\n").expect("written");
    vault.context.vault.stop();
    assert_eq!(vault.rescued(), ["base\ntyped late\n"]);
    let warnings = vault.context.vault.status().warnings;
    assert!(warnings[0].contains("another program wrote to `note.md`"), "{warnings:?}");
}

#[test]
fn callers_wait_for_each_other_and_none_overwrites_unseen() {
    let vault = Arc::new(vault(&[("count.md", "0\n")]));
    let done = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (vault, done) = (vault.clone(), done.clone());
            std::thread::spawn(move || {
                while done.load(Ordering::SeqCst) < 100 {
                    let read = vault.ok("read_file", json!({ "path": "count" }));
                    let number: u64 =
                        read["content"].as_str().expect("text").trim().parse().expect("a number");
                    let write = json!({
                        "path": "count", "content": format!("{}\n", number + 1),
                        "expected_revision": read["revision"],
                    });
                    if vault.call("write_file", &write).is_ok() {
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("ends"));
    let total = done.load(Ordering::SeqCst);
    assert_eq!(vault.content("count.md").trim(), total.to_string(), "no write was lost");
}

#[test]
fn a_note_that_is_empty_for_a_moment_is_read_again() {
    if !can(Ability::InKernel) {
        return;
    }
    let vault = Arc::new(vault(&[("note.md", "full\n")]));
    let note = vault.place.join("note.md");
    let stop = Arc::new(AtomicBool::new(false));
    let editor = std::thread::spawn({
        let (note, stop) = (note.clone(), stop.clone());
        move || {
            while !stop.load(Ordering::SeqCst) {
                // As an editor saves in place: truncated, then written.
                fs::write(&note, "full\n").expect("saved");
            }
        }
    });
    for _ in 0..300 {
        let read = vault.ok("read_file", json!({ "path": "note" }));
        assert_eq!(read["content"], "full\n");
    }
    stop.store(true, Ordering::SeqCst);
    editor.join().expect("ends");
}

#[test]
fn a_note_that_was_renamed_meanwhile_is_found_under_its_new_name() {
    if !can(Ability::InKernel) {
        return;
    }
    let vault = vault(&[("a.md", "text\n"), ("Work/b.md", "text\n"), ("c.md", "[[Work/b]]\n")]);
    vault.context.vault.watch();
    let read = |path: &str| vault.ok("read_file", json!({ "path": path }))["revision"].clone();
    let (a, b) = (read("a.md"), read("Work/b.md"));
    let rename = |from: &str, to: &str| {
        fs::rename(vault.place.join(from), vault.place.join(to)).expect("renamed");
    };
    rename("a.md", "Something else.md");
    rename("Work", "Job");
    let before = vault.snapshot();
    let edit = json!({ "path": "a.md", "old_text": "text", "new_text": "new" });
    let error = vault.err("edit_file", edit, ErrorCode::NotFound);
    assert!(error.text().contains("`Something else.md`"), "{}", error.text());
    for (path, revision, now) in [("a.md", a, "Something else.md"), ("Work/b.md", b, "Job/b.md")] {
        let write = json!({ "path": path, "content": "x\n", "expected_revision": revision });
        let error = vault.err("write_file", write, ErrorCode::StaleRevision);
        assert!(error.text().contains(&format!("`{now}`")), "{}", error.text());
    }
    assert_eq!(vault.snapshot(), before, "no note rises again at its old name");
}

/// Between the check and the write.
#[test]
fn a_note_that_is_renamed_during_the_edit_is_not_written_twice() {
    use vault_steward::journal::{Change, ChangeSet, JournalError, Origin};
    use vault_steward::vault::{Precondition, VaultError};
    if !can(Ability::InKernel) {
        return;
    }
    let vault = vault(&[("a.md", "text\n")]);
    vault.context.vault.watch();
    let revision = vault.ok("read_file", json!({ "path": "a" }))["revision"].clone();
    let revision = revision.as_str().expect("text").parse().expect("a revision");
    fs::rename(vault.place.join("a.md"), vault.place.join("b.md")).expect("renamed");
    let write = Change::Write {
        path: crate::changes::path("a.md"),
        content: b"new\n".to_vec(),
        before: Precondition::Revision(revision),
    };
    let set = ChangeSet { title: "t".to_owned(), changes: vec![write] };
    let refused = vault.context.journal.apply(&set, &Origin::default()).expect_err("it is gone");
    match refused {
        JournalError::Change(VaultError::Renamed { now, .. }) => assert_eq!(now.as_str(), "b.md"),
        other => panic!("{other}"),
    }
    assert!(!vault.exists("a.md"));
    assert_eq!(vault.content("b.md"), "text\n");
}

/// A program that saves again and again, without a pause (case 77): each change is made, or refused
/// after a few attempts, and the program's last save is never lost.
#[test]
fn a_file_that_never_rests_is_given_up_soon() {
    const ATTEMPTS: usize = 6;
    if !can(Ability::Exchange) {
        return;
    }
    for save in [races::in_place, races::by_rename] {
        let vault = vault(&[("note.md", "[[Old]] by 0\n"), ("Old.md", "old\n")]);
        let note = vault.place.join("note.md");
        let (stop, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (mut made, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let round = rounds.fetch_add(1, Ordering::SeqCst) + 1;
                    save(&note, &format!("[[Old]] by {round}\n"));
                }
            });
            let renamed = |to: usize| ["Old.md", "New.md"][to % 2];
            let mut at = 0;
            for attempt in 0..ATTEMPTS {
                let began = std::time::Instant::now();
                let (tool, arguments) = match attempt % 3 {
                    0 => ("write_file", json!({ "path": "note.md", "content": "[[Old]] ours\n" })),
                    1 => (
                        "edit_file",
                        json!({ "path": "note.md", "old_text": "[[Old]]", "new_text": "[[Old]] and" }),
                    ),
                    // The link in it has to follow.
                    _ => ("move", json!({ "source": renamed(at), "destination": renamed(at + 1) })),
                };
                match vault.call(tool, &arguments) {
                    Ok(_) => {
                        made += 1;
                        at += usize::from(tool == "move");
                    }
                    Err(error) => {
                        let soft = [ErrorCode::StaleRevision, ErrorCode::NoMatch];
                        // A file that is empty during a save is read again, then believed.
                        assert!(soft.contains(&error.code), "{tool}: {}", error.text());
                        refused += 1;
                    }
                }
                assert!(began.elapsed().as_secs() < 20, "{tool} took {:?}", began.elapsed());
                assert!(vault.exists(renamed(at)) && !vault.exists(renamed(at + 1)));
            }
            stop.store(true, Ordering::SeqCst);
        });
        vault.context.vault.stop();
        let hidden = vault.snapshot().iter().filter(|(name, _)| name.contains(".~vs")).count();
        assert_eq!((made + refused, hidden), (ATTEMPTS, 0));
        // In the note, in the recovery folder, or in the journal as the text that a change was
        // based on.
        let last = format!("by {}\n", rounds.load(Ordering::SeqCst));
        let kept = vault.blobs().into_iter().map(|blob| fs::read(blob).expect("read"));
        let rescued = vault.rescued().into_iter().map(String::into_bytes);
        let mut texts = kept.chain(rescued).chain([vault.bytes("note.md")]);
        assert!(texts.any(|text| text.ends_with(last.as_bytes())), "{last:?} is lost");
        eprintln!("{made} made, {refused} refused");
    }
}

/// Runs as a child of the next test: writes until it is killed.
#[test]
fn writer_to_be_killed() {
    let Some(place) = std::env::var_os("STEWARD_TEST_KILLED") else { return };
    let vault = TestVault::at(Path::new(&place), &[], |_| ());
    for round in 0.. {
        for note in 0..20 {
            let text = format!("{round}\n").repeat(2_000);
            vault.ok("write_file", json!({ "path": format!("{note}.md"), "content": text }));
        }
    }
}

#[cfg(unix)]
#[test]
fn a_kill_leaves_every_note_old_or_new() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // A killed process does not remove its own folder.
    let childs = tempfile::tempdir().expect("a temporary folder");
    let mut left = 0;
    for _ in 0..25 {
        let mut child = std::process::Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "concurrency::writer_to_be_killed"])
            .env("STEWARD_TEST_KILLED", folder.path())
            .env("TMPDIR", childs.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("it runs");
        // Any moment will do; it varies with the child's progress.
        while fs::read_dir(folder.path()).expect("listed").count() < 21 {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(7));
        child.kill().expect("killed");
        child.wait().expect("ended");
        for entry in fs::read_dir(folder.path()).expect("listed").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                let text = fs::read_to_string(entry.path()).expect("read");
                let first = text.lines().next().expect("never empty");
                assert!(text.lines().all(|line| line == first), "{name} is torn");
                assert_eq!(text.lines().count(), 2_000, "{name} is cut");
            } else if name.starts_with(".~vs") {
                left += 1;
            }
        }
        // The next start stores the leftovers, outside the vault.
        let vault = TestVault::at(folder.path(), &[], |_| ());
        vault.journal().recover().expect("recovered");
        let hidden = vault.snapshot().iter().filter(|(name, _)| name.contains(".~vs")).count();
        assert_eq!(hidden, 0);
    }
    println!("{left} unfinished saves were found and kept");
}
