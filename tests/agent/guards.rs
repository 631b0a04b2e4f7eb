//! A model's read set from the answers of tools, and the state that its own calls rely on: every tool, through the
//! agent's toolbox.

use futures_util::future::BoxFuture;
use std::future::Future;
use std::sync::Arc;

use serde_json::{Value, json};
use vault_steward::agent::call_result::CallResult;
use vault_steward::agent::ports::{CallOutcome, CallRequest, Toolbox};
use vault_steward::agent::read_set::ReadSet;
use vault_steward::agent::toolbox::{Person, VaultToolbox};
use vault_steward::calls::{Answerer, Decision, Question};
use vault_steward::conversation::{ConversationId, TurnId};
use vault_steward::llm::{ToolArgs, ToolCall};
use vault_steward::policy::{Scope, Settings};
use vault_steward::tools::{ReadUpdate, Registry};
use vault_steward::vault::{Cancel, Revision};

use crate::vault::{TestVault, vault};

/// Approves everything.
struct Agrees;

impl Person for Agrees {
    fn ask(&self, _: &Question, _: String) -> BoxFuture<'static, (Decision, Answerer)> {
        Box::pin(std::future::ready((Decision::Once, "test".into())))
    }
}

/// A conversation in which a model makes one tool call after another.
struct Talk {
    toolbox: VaultToolbox,
    known: ReadSet,
    conversation: i64,
}

impl Talk {
    fn on(vault: &TestVault) -> Self {
        let toolbox = VaultToolbox::new(vault.calls(Settings::default()), Arc::new(Agrees));
        Self { toolbox, known: ReadSet::default(), conversation: 1 }
    }

    /// Makes a call, and gives the model its result.
    fn call(&mut self, tool: &str, arguments: &Value) -> CallResult {
        let args = ToolArgs::parse(&arguments.to_string());
        let wanted = CallRequest {
            call: ToolCall { id: "1".to_owned(), name: tool.to_owned(), args },
            scope: Scope::Client,
            conversation: ConversationId(self.conversation),
            turn: TurnId(1),
            max_chars: usize::MAX,
            known: self.known.clone(),
            agent: None,
        };
        let called = match wait(self.toolbox.call(wanted, Cancel::default())) {
            CallOutcome::Done(called) => called,
            CallOutcome::NeedsApproval(pending) => panic!("{tool}: {}", pending.title()),
        };
        called.read_updates.iter().for_each(|update| self.known.apply(update.clone()));
        self.known.results_received();
        called
    }

    #[track_caller]
    fn ok(&mut self, tool: &str, arguments: Value) -> CallResult {
        let called = self.call(tool, &arguments);
        assert!(!called.is_error, "{tool} {arguments}: {}", called.text);
        called
    }

    #[track_caller]
    fn refused(&mut self, tool: &str, arguments: Value, why: &str) {
        let called = self.call(tool, &arguments);
        assert!(called.is_error && called.text.contains(why), "{tool}: {}", called.text);
    }

    /// Replaces a whole file, which is allowed if the model knows its text or it does not exist.
    #[track_caller]
    fn writes(&mut self, path: &str) {
        self.ok("write_file", json!({"path": path, "content": "new\n"}));
    }

    #[track_caller]
    fn may_not_write(&mut self, path: &str, why: &str) {
        self.refused("write_file", json!({"path": path, "content": "new\n"}), why);
    }

    #[track_caller]
    fn reads(&mut self, path: &str) {
        self.ok("read_file", json!({"path": path}));
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

const UNREAD: &str = "not all of it was read";
const CHANGED: &str = "has changed since it was read";

/// A vault in which the examples of all tools have something to do.
fn ground() -> TestVault {
    let vault = vault(&[
        ("a.md", "one\n"),
        ("t.md", "#garden\n"),
        ("changed.md", "before\n"),
        ("deleted.md", "deleted\n"),
    ]);
    vault.ok("delete", json!({"path": "deleted.md"}));
    vault.ok("write_file", json!({"path": "changed.md", "content": "after\n"}));
    vault
}

/// A read update as one line, without revisions, which must match the files.
fn line(vault: &TestVault, update: &ReadUpdate) -> String {
    let is_now = |path: &str, revision: &str| {
        let now = Revision::of(&std::fs::read(vault.place.join(path)).unwrap());
        assert_eq!(revision, now.to_string(), "{update:?}");
    };
    match update {
        ReadUpdate::Read { path, revision, first, last, lines } => {
            is_now(path, revision);
            format!("read {path} {first}-{last}/{lines}")
        }
        ReadUpdate::Written { path, revision } => {
            is_now(path, revision);
            format!("written {path}")
        }
        ReadUpdate::Edited { path, before, revision } => {
            is_now(path, revision);
            assert_eq!(before, &Revision::of(b"one\n").to_string());
            format!("edited {path}")
        }
        ReadUpdate::Moved { from, to } => format!("moved {from} {to}"),
        ReadUpdate::Gone { path } => format!("gone {path}"),
    }
}

#[test]
fn every_example_declares_the_texts_it_reveals() {
    for tool in Registry::built_in().iter() {
        let vault = ground();
        let mut talk = Talk::on(&vault);
        if tool.name == "daily_note" {
            std::fs::write(vault.place.join(".obsidian/daily-notes.json"), r#"{"format":"[day]"}"#)
                .unwrap();
        }
        // A file that was not read is not replaced, so `a.md` must be known.
        talk.reads("a.md");
        let example: Value = serde_json::from_str(&tool.example).unwrap();
        let called = talk.call(&tool.name, &example);
        let updates: Vec<String> =
            called.read_updates.iter().map(|one| line(&vault, one)).collect();
        let wanted: &[&str] = match &*tool.name {
            "read_file" => &["read a.md 1-1/1"],
            "daily_note" => &["read day.md 1-1/1"],
            "write_file" => &["written c.md"],
            "edit_file" | "set_properties" => &["edited a.md"],
            "move" => &["moved a.md b.md"],
            "delete" => &["gone a.md"],
            _ => &[],
        };
        assert_eq!(updates, wanted, "{}: {}", tool.name, called.text);
    }
}

#[test]
fn a_patch_adds_new_and_deleted_files_to_the_read_set_but_not_changed_ones() {
    let vault = vault(&[("old.md", "old\n"), ("gone.md", "gone\n")]);
    let mut talk = Talk::on(&vault);
    ["old.md", "gone.md"].iter().for_each(|path| talk.reads(path));
    let patch = "--- /dev/null\n+++ b/new.md\n@@ -0,0 +1 @@\n+n\n--- a/gone.md\n+++ /dev/null\n\
                 @@ -1 +0,0 @@\n-gone\n--- a/old.md\n+++ b/old.md\n@@ -1 +1 @@\n-old\n+older\n";
    let called = talk.ok("apply_patch", json!({"patch": patch}));
    let updates: Vec<String> = called.read_updates.iter().map(|one| line(&vault, one)).collect();
    assert_eq!(updates, ["written new.md", "gone gone.md"]);
    talk.writes("new.md");
    talk.writes("gone.md");
    talk.may_not_write("old.md", CHANGED);
}

#[test]
fn what_a_model_was_shown_whole_or_did_itself_it_may_replace() {
    let vault = ground();
    let mut talk = Talk::on(&vault);
    talk.may_not_write("a.md", UNREAD);
    talk.reads("a.md");
    talk.ok("set_properties", json!({"path": "a.md", "set": {"x": 1}}));
    talk.writes("a.md");
    talk.ok("edit_file", json!({"path": "a.md", "old_text": "new", "new_text": "newer"}));
    talk.writes("a.md");
    talk.ok("delete", json!({"path": "a.md"}));
    talk.writes("a.md");
    talk.ok("move", json!({"source": "a.md", "destination": "b.md", "dry_run": true}));
    talk.writes("a.md");
    talk.ok("move", json!({"source": "a.md", "destination": "b.md"}));
    talk.writes("b.md");
    talk.ok("daily_note", json!({"date": "2026-11-21", "append": "text"}));
    talk.writes("2026-11-21.md");
}

#[test]
fn a_partly_read_note_is_not_replaced() {
    let long = "x".repeat(3_000);
    let vault = vault(&[
        ("pages.md", "one\ntwo\nthree\n"),
        ("line.md", &format!("one\n{long}\nthree\n")),
        ("2026-11-21.md", &"many\n".repeat(10_000)),
    ]);
    let mut talk = Talk::on(&vault);
    let page =
        |first: u64, last: u64| json!({"path": "pages", "start_line": first, "end_line": last});
    talk.ok("read_file", page(1, 2));
    talk.may_not_write("pages.md", UNREAD);
    talk.ok("read_file", page(3, 3));
    talk.writes("pages.md");
    let read = talk.ok("read_file", json!({"path": "line"}));
    assert_eq!(line(&vault, &read.read_updates[0]), "read line.md 1-1/3", "a line is cut");
    talk.may_not_write("line.md", UNREAD);
    let daily = talk.ok("daily_note", json!({"date": "2026-11-21"}));
    assert_eq!(
        line(&vault, &daily.read_updates[0]),
        "read 2026-11-21.md 1-0/1",
        "more than is shown"
    );
    talk.may_not_write("2026-11-21.md", UNREAD);
    let none = talk.ok("daily_note", json!({"date": "2026-11-22", "create": false}));
    assert_eq!(none.read_updates, [], "there is none");
}

#[test]
fn a_refusal_names_deleted_and_renamed_notes() {
    let vault = vault(&[("a.md", "one\n"), ("b.md", "two\n")]);
    let mut talk = Talk::on(&vault);
    ["a.md", "b.md"].iter().for_each(|path| talk.reads(path));
    std::fs::remove_file(vault.place.join("a.md")).unwrap();
    vault.ok("move", json!({"source": "b.md", "destination": "c.md"}));
    talk.may_not_write("a.md", "it was removed meanwhile");
    talk.writes("a.md");
    talk.may_not_write("b.md", "c.md");
    talk.writes("c.md");
}

#[test]
fn lines_are_named_by_their_numbers_in_the_text_that_was_read() {
    let vault = vault(&[("a.md", "one\ntwo\n")]);
    let edit = |more: Value| {
        let mut arguments = json!({"path": "a"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let lines = json!({"start": 1, "end": 1});
    let taking = [
        edit(json!({"delete_lines": lines})),
        edit(json!({"replace_lines": lines, "content": "x\n"})),
    ];
    let adding = [
        edit(json!({"insert_after_line": 1, "content": "x"})),
        edit(json!({"insert_before_line": 2, "content": "x"})),
    ];
    let at_an_end = [
        edit(json!({"insert_after_line": 0, "content": "x"})),
        edit(json!({"insert_after_line": -1, "content": "x"})),
        edit(json!({"insert_before_line": 1, "content": "x"})),
    ];
    let mut talk = Talk::on(&vault);
    for arguments in &taking {
        talk.refused("edit_file", arguments.clone(), "was not read in this conversation");
    }
    talk.reads("a.md");
    std::fs::write(vault.place.join("a.md"), "mine\none\ntwo\n").unwrap();
    for arguments in taking.iter().chain(&adding) {
        talk.refused("edit_file", arguments.clone(), CHANGED);
    }
    for arguments in at_an_end {
        talk.ok("edit_file", arguments);
    }
    talk.reads("a.md");
    talk.ok("edit_file", adding[0].clone());
    // A call that names a revision itself relies on that one.
    let mut said = taking[0].clone();
    said["expected_revision"] = json!(Revision::of(b"another").to_string());
    talk.refused("edit_file", said, CHANGED);
    let mut said = json!({"path": "a.md", "content": "new\n"});
    said["expected_revision"] = json!(Revision::of(&vault.bytes("a.md")).to_string());
    Talk::on(&vault).ok("write_file", said);
}

#[test]
fn a_model_may_name_arguments_as_it_knows_them() {
    let vault = vault(&[("a.md", "one\n")]);
    let mut talk = Talk::on(&vault);
    talk.ok("edit_file", json!({"path": "a.md", "old_string": "one", "new_string": "two"}));
    assert_eq!(vault.content("a.md"), "two\n");
}

#[test]
fn creating_a_new_file_requires_no_reading() {
    let vault = vault(&[("n.md", "theirs\n")]);
    let mut talk = Talk::on(&vault);
    let asked = json!({"path": "n.md", "content": "new\n", "if_exists": "fail"});
    let called = talk.call("write_file", &asked);
    assert!(called.is_error && !called.text.contains("was read"), "{}", called.text);
    talk.may_not_write("n.md", "not all of it was read in this conversation");
}

#[test]
fn an_undo_without_a_number_is_of_its_own_conversation() {
    let vault = vault(&[]);
    let mut talk = Talk::on(&vault);
    talk.refused("undo", json!({}), "there is nothing to undo");
    talk.writes("own.md");
    vault.ok("write_file", json!({"path": "theirs.md", "content": "theirs"}));
    talk.conversation = 2;
    talk.refused("undo", json!({}), "this conversation has nothing to undo");
    talk.conversation = 1;
    talk.ok("undo", json!({}));
    assert!(!vault.exists("own.md") && vault.exists("theirs.md"));
    talk.writes("kept.md");
    talk.ok("undo", json!({"change": "2.1"}));
    assert!(!vault.exists("theirs.md") && vault.exists("kept.md"));
    let again = vault.ok("write_file", json!({"path": "theirs.md", "content": "again"}));
    talk.ok("undo", json!({"change_set": again["change_set"]}));
    assert!(!vault.exists("theirs.md") && vault.exists("kept.md"));
}
