//! A complete session of a new user: an MCP client with the written settings entry, an ACP client,
//! and the plugin's connection, which sees all of it and answers.

use std::process::Command;

use serde_json::{Value, json};

use crate::door::Client;
use crate::editor::Ground;
use crate::machine::missing;

/// The plugin's connection: shows approval requests and receives events.
fn plugin(ground: &Ground) -> Client {
    let status = ground.steward(&["status", "--json"]).json();
    let port = u16::try_from(status["daemon"]["port"].as_u64().unwrap()).unwrap();
    let token = ground.steward(&["token", "--scope", "person"]).expect(0).stdout;
    let mut plugin = Client::connect(port, token.trim()).unwrap();
    let can = json!({"_meta": {"vault": {"approvals": true}}});
    plugin.call("initialize", json!({"protocolVersion": 1, "clientCapabilities": can}));
    plugin.call("_vault/subscribe", json!({}));
    plugin
}

/// The next message that matches.
fn until(client: &mut Client, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message = client.read();
        if is_it(&message) {
            return message;
        }
    }
}

fn has_changed(path: &'static str) -> impl Fn(&Value) -> bool {
    move |message| message["method"] == "_vault/changed" && message["params"]["path"] == path
}

#[test]
fn both_doors_and_the_plugin_work_on_one_vault() {
    let test = "both_doors_and_the_plugin_work_on_one_vault";
    let Some(python) = std::env::var_os("STEWARD_TEST_MCP_PYTHON") else {
        missing(test, "the package `mcp` for Python");
        return;
    };
    let ground = Ground::new("");
    std::fs::write(format!("{}/a.md", ground.vault), "one\n").unwrap();

    // The written entry starts a server, which starts the daemon.
    ground.steward(&["mcp", "config", "cursor", "--write", "--yes"]).expect(0);
    let entry = std::fs::read_to_string(ground.home.path("home/.cursor/mcp.json")).unwrap();
    let entry: Value = serde_json::from_str(&entry).unwrap();
    let server = &entry["mcpServers"]["vault"];
    let mut first = ground.editor();
    first.begin(&ground.vault);
    let mut plugin = plugin(&ground);
    let plain = ground.home.steward(&[] as &[&str]);
    let mut client = Command::new(python);
    client.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/client.py"));
    client.arg(server["command"].as_str().unwrap());
    client.args(server["args"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()));
    let output = client.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    until(&mut plugin, has_changed("a.md"));
    let moved =
        |message: &Value| message["params"]["from"] == "Round" && has_changed("Moved")(message);
    until(&mut plugin, moved);
    until(&mut plugin, has_changed("Round"));
    assert_eq!(ground.read("a.md"), "one\n", "it was undone");

    // The agent is asked for a change; the plugin also shows the approval request, and answers it.
    let mut editor = ground.editor();
    let id = editor.begin(&ground.vault);
    editor.call("session/set_mode", json!({"sessionId": id, "modeId": "ask"}));
    let edit = |old: &str, new: &str| json!({"path": "a", "old_text": old, "new_text": new});
    ground.calls("edit_file", edit("one", "two"));
    let prompt = editor.begin_prompt(&id, "change it");
    let asked = editor.question();
    assert_eq!(asked["params"]["toolCall"]["content"][0]["type"], "diff", "{asked}");
    let is_question = |message: &Value| message["method"] == "session/request_permission";
    let question = until(&mut plugin, is_question);
    let yes = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    plugin.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}).to_string());
    assert_eq!(editor.answer(prompt)["result"]["stopReason"], "end_turn");
    until(&mut plugin, has_changed("a.md"));
    assert_eq!(ground.read("a.md"), "two\n");

    // The editor allows the next change; one is cancelled.
    ground.calls("edit_file", edit("two", "three"));
    let prompt = editor.begin_prompt(&id, "change it again");
    let asked = editor.question();
    editor.choose(&asked, "allow_once");
    assert_eq!(editor.answer(prompt)["result"]["stopReason"], "end_turn");
    ground.calls("edit_file", edit("three", "four"));
    let prompt = editor.begin_prompt(&id, "and again");
    editor.question();
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": id}});
    editor.say(&cancel);
    assert_eq!(editor.answer(prompt)["result"]["stopReason"], "cancelled");
    assert_eq!(ground.read("a.md"), "three\n");

    // After both are restarted the conversation is still there.
    drop(editor);
    ground.end_daemon();
    let mut editor = ground.editor();
    let load = json!({"sessionId": id, "cwd": ground.vault, "mcpServers": []});
    let loaded = editor.call("session/load", load);
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "ask", "{loaded}");
    let calls = editor.updates("tool_call");
    assert_eq!(calls.len(), 3, "{calls:#?}");
}
