//! How a call is announced: its title, kind and locations.

use std::path::Path;

use serde_json::{Value, json};
use vault_steward::llm::{ToolArgs, ToolCall};
use vault_steward::methods::session_updates;

/// Title, kind and locations.
fn shown(tool: &str, arguments: Value) -> (String, String, Vec<String>) {
    let args = ToolArgs::parse(&arguments.to_string());
    let call = ToolCall { id: "1".to_owned(), name: tool.to_owned(), args };
    let shown = json!(session_updates::tool_call("1/1".to_owned(), &call, Path::new("/v")));
    let text = |value: &Value| value.as_str().unwrap().replace('\\', "/");
    let locations = shown["locations"].as_array().unwrap();
    let locations = locations.iter().map(|one| text(&one["path"])).collect();
    (text(&shown["title"]), text(&shown["kind"]), locations)
}

#[test]
fn a_call_is_shown_by_its_paths() {
    for (tool, arguments, title, kind, locations) in [
        ("read_file", json!({"path": "a.md"}), "Read a file: a.md", "read", &["/v/a.md"][..]),
        // It is announced before its arguments are validated.
        ("read_file", json!({"path": "a.md", "x": 1}), "Read a file: a.md", "read", &["/v/a.md"]),
        ("read_file", json!({"path": "../a.md"}), "Read a file: ../a.md", "read", &[]),
        ("list_files", json!({"pattern": "*"}), "List files: *", "search", &[]),
        ("list_files", json!({"pattern": "*", "path": "b"}), "List files: b", "search", &["/v/b"]),
        (
            "move",
            json!({"source": "a.md", "destination": "b.md"}),
            "Move or rename: a.md",
            "move",
            &["/v/a.md", "/v/b.md"],
        ),
        ("delete", json!({"path": "a"}), "Delete a file or folder: a", "delete", &["/v/a"]),
        (
            "delete",
            json!({"path": "a", "permanent": true}),
            "Delete a file or folder for good: a",
            "delete",
            &["/v/a"],
        ),
        ("restore", json!({"item": "a.md"}), "Restore from the trash", "other", &[]),
        ("rename_tag", json!({"from": "a", "to": "b"}), "Rename a tag", "edit", &[]),
        ("send_message", json!({"text": "hm"}), "send_message", "other", &[]),
        ("nothing", json!("hm"), "nothing", "other", &[]),
    ] {
        let session_updates = shown(tool, arguments.clone());
        let locations: Vec<String> = locations.iter().map(|one| (*one).to_owned()).collect();
        assert_eq!(
            session_updates,
            (title.to_owned(), kind.to_owned(), locations),
            "{tool} {arguments}"
        );
    }
}
