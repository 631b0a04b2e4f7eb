//! Every tool through every transport, in every mode, with the real daemon and the real program.
//! The decision in each case is in the table of `tests/calls/table.rs`; here the point is that no
//! transport bypasses it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use vault_steward::tools::{Definition, Registry, Tier};

use crate::door::Client;
use crate::policy::Ground;
use crate::posted;
use crate::support::Home;

/// A call of a tool, on [`prepare`]: its own example.
fn arguments(tool: &Definition) -> Value {
    serde_json::from_str(&tool.example).unwrap()
}

fn prepare(vault: &Path) {
    let put = |path: &str, text: &str| std::fs::write(vault.join(path), text).unwrap();
    put("a.md", "one\n");
    put("t.md", "#garden\n");
    put("deleted.md", "deleted\n");
    put("changed.md", "before\n");
    put("done.md", "done\n");
}

/// Makes the changes that `undo`, `restore` and `rollback_job` undo, and the plan that `apply_plan` applies.
fn prepare_history(home: &Home, vault: &Path) {
    let run = |arguments: &[&str]| home.run_in(vault, arguments).expect(0);
    let example = |tool: &str| Registry::built_in().get(tool).unwrap().example.clone();
    run(&["call", "plan_changes", &example("plan_changes")]);
    let tagged = r#"{"items": [{"path": "done.md", "tag": ["done"]}]}"#;
    let planned = run(&["call", "plan_changes", tagged, "--json"]).json();
    let identity = planned["identity"].as_str().unwrap();
    run(&["call", "apply_plan", "--plan", "2", "--identity", identity, "--yes"]);
    run(&["call", "delete", "--path", "deleted.md"]);
    run(&["call", "write_file", "--path", "changed.md", "--content", "after"]);
}

/// The whole content of the vault, including the trash.
fn snapshot(vault: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![vault.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // A replaced version, which the steward keeps open for three seconds. Wine lists it until it is closed.
            let is_replaced = path.file_name().unwrap().to_string_lossy().starts_with(".~vs-");
            if cfg!(windows) && is_replaced {
                continue;
            }
            if path.is_dir() {
                found.insert(path.clone(), Vec::new());
                folders.push(path);
            } else {
                found.insert(path.clone(), std::fs::read(path).unwrap());
            }
        }
    }
    found
}

/// The outcome: empty, or the error kind.
fn came(answer: &Value) -> String {
    let error = &answer["structuredContent"];
    match (answer["isError"] == true, error["code"].as_str(), error["data"]["layer"].as_str()) {
        (true, Some("approval_needed"), _) => "asked".to_owned(),
        (true, _, Some(layer)) => layer.to_owned(),
        _ => "through".to_owned(),
    }
}

fn wanted(tool: &Definition, mode: &str, person: bool) -> &'static str {
    match (tool.tier, mode, person) {
        (Tier::Safe, ..) | (_, "auto", _) => "through",
        (_, "read-only", _) => "paths",
        (_, _, true) => "asked",
        // No client is connected that the daemon could ask.
        (_, _, false) => "approval",
    }
}

fn over_the_socket(client: &mut Client, tool: &Definition) -> Value {
    let params = json!({"name": tool.name, "arguments": arguments(tool)});
    client.call("tools/call", params)["result"].clone()
}

fn on_the_command_line(ground: &Home, vault: &Path, tool: &Definition, more: &[&str]) -> Value {
    let text = arguments(tool).to_string();
    let run = ground.run_in(vault, &[&["call", &tool.name, &text, "--json"], more].concat());
    json!({"isError": run.code != 0, "structuredContent": run.json()})
}

#[test]
fn no_door_leads_around_a_mode() {
    let ground = Ground::with(|_, vault| prepare(vault));
    let (home, vault) = (&ground.home, &ground.vault);
    prepare_history(home, vault);
    let mut clients = ["client", "person", "mcp", "voice"].map(|kind| ground.client(kind, false));
    let token = home.run_in(vault, &["token", "--scope", "mcp"]).expect(0).stdout;
    let (port, token) = (ground.daemon.ready["port"].as_u64().unwrap(), token.trim_end());
    let port = u16::try_from(port).unwrap();
    // A mode that changes something comes last, and is used with one transport after another.
    for mode in ["read-only", "ask"] {
        home.run_in(vault, &["mode", mode]).expect(0);
        let before = snapshot(vault);
        for tool in Registry::built_in().iter() {
            for (at, client) in clients.iter_mut().enumerate() {
                let came = came(&over_the_socket(client, tool));
                assert_eq!(came, wanted(tool, mode, at == 1), "{} {mode} {at}", tool.name);
            }
            let came = came(&on_the_command_line(home, vault, tool, &[]));
            assert_eq!(came, wanted(tool, mode, true), "{} {mode} on the command line", tool.name);
            if tool.tier != Tier::Safe && !tool.seldom {
                let said = posted::call(port, token, &tool.name, &arguments(tool));
                let word = if mode == "ask" { "approval_pending: " } else { "denied: " };
                let text = said["content"][0]["text"].as_str().unwrap();
                assert!(text.starts_with(word), "{} {mode} by MCP: {said}", tool.name);
            }
        }
        assert_eq!(snapshot(vault), before, "{mode}");
    }
    // In read-only mode even a person's approval does not help.
    home.run_in(vault, &["mode", "read-only"]).expect(0);
    let before = snapshot(vault);
    for tool in Registry::built_in().iter().filter(|tool| tool.tier != Tier::Safe) {
        let answer = on_the_command_line(home, vault, tool, &["--yes"]);
        assert_eq!(came(&answer), "paths", "{}: {answer}", tool.name);
    }
    assert_eq!(snapshot(vault), before);
    home.run_in(vault, &["mode", "auto"]).expect(0);
    for (at, client) in clients.iter_mut().enumerate() {
        for tool in Registry::built_in().iter().filter(|tool| tool.tier == Tier::Safe || at == 0) {
            let answer = over_the_socket(client, tool);
            assert_eq!(came(&answer), "through", "{} {at}: {answer}", tool.name);
            let settled = [("a.md", "one\n"), ("t.md", "#garden\n")];
            settled.iter().for_each(|(path, text)| std::fs::write(vault.join(path), text).unwrap());
            let _ = std::fs::remove_file(vault.join("b.md"));
        }
    }
}

#[test]
fn without_a_daemon_the_command_line_is_held_just_the_same() {
    let home = Home::new();
    let vault = home.vault("Notes");
    std::fs::write(vault.join(".obsidian/app.json"), r#"{"trashOption": "local"}"#).unwrap();
    prepare(&vault);
    prepare_history(&home, &vault);
    for mode in ["read-only", "ask"] {
        home.run_in(&vault, &["mode", mode]).expect(0);
        let before = snapshot(&vault);
        for tool in Registry::built_in().iter() {
            let answer = on_the_command_line(&home, &vault, tool, &["--direct"]);
            assert_eq!(came(&answer), wanted(tool, mode, true), "{} {mode}: {answer}", tool.name);
        }
        assert_eq!(snapshot(&vault), before, "{mode}");
    }
    home.run_in(&vault, &["mode", "settings"]).expect(0);
    // A layer that is disabled in the settings is disabled here too, and no other layer is.
    home.write_config("[policy]\nmode = \"read-only\"\noff = [\"approval\"]\n");
    let tool = Registry::built_in().get("create_folder").unwrap();
    assert_eq!(came(&on_the_command_line(&home, &vault, tool, &[])), "paths");
    home.write_config("[policy]\nmode = \"ask\"\noff = [\"approval\"]\n");
    assert_eq!(came(&on_the_command_line(&home, &vault, tool, &[])), "through");
    assert!(vault.join("New").is_dir());
}
