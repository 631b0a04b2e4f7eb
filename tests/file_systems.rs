//! Saves on file systems that make them hard: one that cannot exchange two files, one that is full.
#![cfg(target_os = "linux")]

#[path = "support/machine.rs"]
mod machine;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use vault_steward::journal::Journal;
use vault_steward::note::code::ErrorCode;
use vault_steward::tools::{self, Context};
use vault_steward::vault::{Cancel, Settings, Vault};

struct Ground {
    context: Context,
    // Kept, since dropping it removes the folder.
    _state: tempfile::TempDir,
}

impl Ground {
    fn open(root: &Path) -> Self {
        let state = tempfile::tempdir().expect("the machine has room for temporary files");
        let vault = Vault::open(root, state.path(), Settings::default(), &|_| {})
            .expect("the folder can be opened");
        let context = Context {
            journal: Journal::new(vault.clone()),
            vault,
            settings: tools::Settings::default(),
            cancel: Cancel::default(),
        };
        Self { context, _state: state }
    }

    fn call(&self, tool: &str, arguments: Value) -> Result<Value, ErrorCode> {
        match tools::call(&self.context, tool, arguments) {
            Ok(answer) => Ok(answer.data),
            Err(tools::CallError::Tool(error)) => Err(error.code),
            Err(other) => panic!("{tool}: {other}"),
        }
    }
}

/// Every name in `root`, sorted: whatever a save leaves lying about is seen here.
fn names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).expect("the folder can be listed").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_save_works_where_files_cannot_be_exchanged() {
    let Some(root) = machine::exfat("a_save_works_where_files_cannot_be_exchanged") else { return };
    let ground = Ground::open(&root);
    let note = root.join("Note.md");

    let made = ground.call("write_file", json!({"path": "Note.md", "content": "one\n"}));
    let revision = made.expect("a new note can be written")["revision"].clone();
    let edited = ground.call(
        "edit_file",
        json!({"path": "note", "old_text": "one", "new_text": "two", "expected_revision": revision}),
    );
    edited.expect("a note can be edited");
    assert_eq!(fs::read(&note).expect("the note is there"), b"two\n");

    // Somebody else saves between reading and editing.
    fs::write(&note, "theirs\n").expect("the note can be written");
    let refused = ground.call(
        "write_file",
        json!({"path": "Note.md", "content": "mine\n", "expected_revision": revision}),
    );
    assert_eq!(refused.expect_err("the note has changed"), ErrorCode::StaleRevision);
    assert_eq!(fs::read(&note).expect("the note is there"), b"theirs\n");
    assert_eq!(names(&root), ["Note.md"]);
}

#[test]
fn a_full_file_system_leaves_the_note_as_it_was() {
    let Some(root) = machine::nearly_full("a_full_file_system_leaves_the_note_as_it_was") else {
        return;
    };
    let ground = Ground::open(&root);
    let before = "A line that was there before.\n".repeat(10_000);
    fs::write(root.join("Note.md"), &before).expect("300 KB fit into one megabyte");

    let after = "A line that does not fit any more.\n".repeat(25_000);
    let refused = ground.call("write_file", json!({"path": "Note.md", "content": after}));
    assert_eq!(refused.expect_err("875 KB do not fit beside it"), ErrorCode::StorageFull);
    assert_eq!(fs::read_to_string(root.join("Note.md")).expect("the note is there"), before);
    assert_eq!(names(&root), ["Note.md"], "nothing half written is left behind");
}
