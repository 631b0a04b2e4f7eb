//! The error for a file that moved or was deleted says what became of it.

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode;
use vault_steward::note::path::VaultPath;
use vault_steward::tools::{Registry, ToolError};
use vault_steward::vault::View;

use crate::vault::{TestVault, vault};

fn mv(vault: &TestVault, from: &str, to: &str) {
    vault.ok("move", json!({ "source": from, "destination": to }));
}

#[track_caller]
fn unread(vault: &TestVault, path: &str) -> ToolError {
    vault.err("read_file", json!({ "path": path }), ErrorCode::NotFound)
}

/// A part of the error's data.
fn error_data(error: &ToolError, what: &str) -> Value {
    error.data.as_ref().map_or(Value::Null, |data| data[what].clone())
}

#[test]
fn every_tool_says_where_a_moved_note_is() {
    let vault = vault(&[("a.md", "one\n"), ("t.md", "t\n")]);
    mv(&vault, "a.md", "Deep/x.md");
    mv(&vault, "Deep", "Deeper");
    mv(&vault, "Deeper/x.md", "New/named.md");
    let mut asked = Vec::new();
    for tool in Registry::built_in().iter().filter(|tool| tool.example.contains("a.md")) {
        let arguments: Value = serde_json::from_str(&tool.example).expect("JSON");
        let Err(error) = vault.call(&tool.name, &arguments) else {
            panic!("{} found something", tool.name)
        };
        if error.code == ErrorCode::HostUnavailable {
            continue;
        }
        assert_eq!(error.code, ErrorCode::NotFound, "{}: {}", tool.name, error.text());
        assert_eq!(error_data(&error, "now"), "New/named.md", "{}: {}", tool.name, error.text());
        let happened = "`a.md` does not exist in the vault: it was moved to `New/named.md` on 20";
        assert!(error.message.starts_with(happened), "{}: {}", tool.name, error.message);
        assert_eq!(error.hint.as_deref(), Some("give that path"), "{}", tool.name);
        asked.push(tool.name.as_str());
    }
    assert!(["delete", "edit_file", "move", "read_file"].iter().all(|one| asked.contains(one)));
    assert!(asked.len() >= 12, "{asked:?}");
    // By each path that it had, with or without `.md`.
    for path in ["a", "Deep/x.md", "Deeper/x"] {
        assert_eq!(error_data(&unread(&vault, path), "now"), "New/named.md", "{path}");
    }
    // Only its name is given, so the path that it left is named too.
    let error = unread(&vault, "x");
    assert!(error.message.contains(": `Deeper/x.md` was moved to `New/named.md`"), "{error}");
    assert_eq!(error_data(&unread(&vault, "Deep/other.md"), "now"), Value::Null);
    vault.put("a.md", "another\n");
    vault.ok("read_file", json!({ "path": "a.md" }));
}

#[test]
fn a_deleted_note_is_said_to_be_deleted_with_the_way_back() {
    let vault = vault(&[("a.md", "a\n"), ("F/b.md", "b\n"), ("c.md", "c\n"), ("d.md", "d\n")]);
    vault.ok("delete", json!({ "path": "a.md" }));
    let error = unread(&vault, "a.md");
    let happened = "`a.md` does not exist in the vault: it was deleted on 20";
    assert!(error.message.starts_with(happened), "{error}");
    assert_eq!(error_data(&error, "deleted")["path"], "a.md");
    assert_eq!(error.hint.as_deref(), Some("`restore` with item `a.md` brings it back"));
    vault.ok("restore", json!({ "item": "a.md" }));
    vault.ok("read_file", json!({ "path": "a.md" }));
    // Under another name, with its folder.
    mv(&vault, "c.md", "F/C.md");
    vault.ok("delete", json!({ "path": "F" }));
    let error = unread(&vault, "c.md");
    assert!(error.message.contains(": it was deleted as `F/C.md` on 20"), "{error}");
    assert_eq!(error.hint.as_deref(), Some("`restore` with item `F` brings it back"));
    assert_eq!(error_data(&unread(&vault, "F/b.md"), "deleted")["path"], "F/b.md");
    // The trash was emptied, and nothing else has it.
    std::fs::remove_dir_all(vault.place.join(".trash")).expect("emptied");
    vault.ok("delete", json!({ "path": "d.md" }));
    let state = vault.state.join("blobs");
    std::fs::remove_dir_all(vault.place.join(".trash")).expect("emptied");
    std::fs::remove_dir_all(state).expect("gone");
    let error = unread(&vault, "d.md");
    assert!(error.message.contains(": it was deleted on 20"), "{error}");
}

#[test]
fn who_sees_a_part_of_the_vault_learns_nothing_of_the_rest() {
    let files = [
        ("Open/out.md", "1\n"),
        ("Closed/in.md", "2\n"),
        ("Open/gone.md", "3\n"),
        ("Closed/dead.md", "4\n"),
        ("Open/within.md", "5\n"),
        ("Open/through.md", "6\n"),
    ];
    let mut vault = vault(&files);
    mv(&vault, "Open/out.md", "Closed/elsewhere.md");
    mv(&vault, "Closed/in.md", "Open/arrived.md");
    mv(&vault, "Open/gone.md", "Closed/gone.md");
    vault.ok("delete", json!({ "path": "Closed/gone.md" }));
    vault.ok("delete", json!({ "path": "Closed/dead.md" }));
    mv(&vault, "Open/within.md", "Open/Deep/within it.md");
    mv(&vault, "Open/through.md", "Closed/through.md");
    mv(&vault, "Closed/through.md", "Open/passed.md");
    let whole = vault.context.vault.clone();
    let open = VaultPath::from_disk("Open").expect("a path");
    vault.context.vault = whole.in_view(View::of(vec![open]));
    for path in
        ["Open/out.md", "Closed/in.md", "in", "Open/gone.md", "gone", "Closed/dead.md", "dead"]
    {
        let error = unread(&vault, path);
        assert_eq!(error.message, format!("`{path}` does not exist in the vault"));
        let hint = error.hint.as_deref().unwrap_or_default();
        assert!(!hint.contains("Closed"), "{path}: {hint}");
        for what in ["now", "moved", "deleted"] {
            assert_eq!(error_data(&error, what), Value::Null, "{path}");
        }
    }
    assert_eq!(error_data(&unread(&vault, "Open/within.md"), "now"), "Open/Deep/within it.md");
    let passed = unread(&vault, "Open/through.md");
    assert_eq!(error_data(&passed, "now"), "Open/passed.md");
    assert!(!passed.text().contains("Closed"), "{passed}");
    vault.context.vault = whole;
    assert_eq!(error_data(&unread(&vault, "Open/out.md"), "now"), "Closed/elsewhere.md");
    assert_eq!(error_data(&unread(&vault, "dead"), "deleted")["path"], "Closed/dead.md");
}

#[test]
fn a_hidden_files_changes_look_like_a_missing_files() {
    let mut vault = vault(&[("Open/A/real.md", "1\n"), ("Open/other.md", "2\n")]);
    mv(&vault, "Open/A", "Open/B");
    mv(&vault, "Open/B", "Closed/B");
    let whole = vault.context.vault.clone();
    let open = VaultPath::from_disk("Open").expect("a path");
    let changes = |vault: &TestVault, path: &str| {
        let listed = vault.ok("list_changes", json!({ "path": path }));
        listed["change_sets"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(changes(&vault, "Open/A/real.md"), 1);
    vault.context.vault = whole.in_view(View::of(vec![open]));
    for folder in ["Open/A", "Open/B", "Closed/B"] {
        let real = changes(&vault, &format!("{folder}/real.md"));
        assert_eq!(real, changes(&vault, &format!("{folder}/guess.md")), "{folder}");
    }
}
