//! The daemon, after using all its tools, changes from outside and clients that came and went, has
//! as many open handles and threads as before.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::client;
use crate::door::Client;
use crate::support::Home;

/// How many of `what` (`fd`: handles; `task`: threads) the process has.
fn count(pid: u32, what: &str) -> usize {
    let process = Path::new("/proc").join(pid.to_string());
    std::fs::read_dir(process.join(what)).unwrap().count()
}

/// Every tool once, and a change by another program.
fn round(client: &mut Client, vault: &Path, round: usize) {
    let folder = format!("Round {round}");
    let note = format!("{folder}/a.md");
    let moved = format!("{folder}/b.md");
    let patch = format!("--- a/{note}\n+++ b/{note}\n@@ -1 +1 @@\n-two\n+three\n");
    let calls = [
        ("create_folder", json!({"path": folder})),
        ("write_file", json!({"path": note, "content": "one\n"})),
        ("edit_file", json!({"path": note, "old_text": "one", "new_text": "two"})),
        ("apply_patch", json!({"patch": patch})),
        ("read_file", json!({"path": note})),
        ("get_file_info", json!({"path": note})),
        ("search_files", json!({"pattern": "three"})),
        ("search_notes", json!({"query": "three"})),
        ("list_files", json!({})),
        ("query_notes", json!({"where": "tags.contains(\"round\") || file.backlinks.length > 1"})),
        ("get_links", json!({"path": note})),
        ("list_links", json!({"kind": "orphans"})),
        ("list_tags", json!({})),
        ("get_properties", json!({"path": note})),
        ("set_properties", json!({"path": note, "set": {"tags": [format!("round-{round}")]}})),
        ("rename_tag", json!({"from": format!("round-{round}"), "to": "round"})),
        ("daily_note", json!({"date": "2026-11-21", "append": "a line"})),
        ("directory_tree", json!({})),
        ("get_active_note", json!({})),
        ("get_conversation", json!({"list_recent": 3})),
        ("copy", json!({"source": note, "destination": format!("{folder}/c.md")})),
        ("describe_vault", json!({})),
        ("vault_outline", json!({})),
        ("find_duplicates", json!({})),
        ("related_notes", json!({"path": note})),
        ("memory_search", json!({"query": "three"})),
        ("unlinked_mentions", json!({"path": note})),
        ("link_mentions", json!({"path": note, "names": ["line"]})),
        ("suggest_names", json!({"paths": [note]})),
        ("plan_changes", json!({"items": [{"path": note, "tag": ["planned"]}]})),
        ("show_plan", json!({"plan": round + 1})),
        ("apply_plan", json!({"plan": round + 1})),
        ("list_jobs", json!({})),
        ("rollback_job", json!({"job": round + 1})),
        ("move", json!({"source": note, "destination": moved})),
        ("delete", json!({"path": moved})),
        ("list_trash", json!({})),
        ("restore", json!({"item": moved})),
        ("undo", json!({})),
        ("list_changes", json!({"diff": true})),
        ("read_file", json!({"path": "../outside"})),
    ];
    let listed = client.call("tools/list", json!({}));
    for tool in listed["result"]["tools"].as_array().unwrap() {
        assert!(calls.iter().any(|(name, _)| tool["name"] == *name), "{}", tool["name"]);
    }
    let mut identity = Value::Null;
    for (name, mut arguments) in calls {
        if name == "apply_plan" {
            arguments["identity"] = identity.take();
        }
        let answer = client.call("tools/call", json!({"name": name, "arguments": arguments}));
        assert!(answer["result"].is_object(), "{name}: {answer}");
        if name == "plan_changes" {
            identity = answer["result"]["structuredContent"]["identity"].clone();
        }
        let refused = answer["result"]["isError"] == true;
        assert_eq!(
            refused,
            name == "get_active_note" || arguments["path"] == "../outside",
            "{answer}"
        );
    }
    std::fs::write(vault.join(&folder).join("outside.md"), "x").unwrap();
    std::fs::remove_dir_all(vault.join(&folder)).unwrap();
}

#[test]
fn the_daemon_leaks_nothing() {
    let home = Home::new();
    let vault = home.vault("Notes");
    // No file may go to the trash of the user who runs this.
    std::fs::write(vault.join(".obsidian/app.json"), r#"{"trashOption": "local"}"#).unwrap();
    let daemon = home.serve(&vault);
    let client = || client(&home, &vault, &daemon);
    let mut witness = client();
    let handles = count(daemon.pid(), "fd");
    // Threads that stay for later work, such as those for searching, exist after one round.
    round(&mut witness, &vault, 0);
    let threads = count(daemon.pid(), "task");
    for number in 1..=10 {
        let mut polite = client();
        polite.call("_vault/subscribe", json!({}));
        round(&mut polite, &vault, number);
        polite.socket.close(None).unwrap();
        while polite.socket.read().is_ok() {}
        let mut rude = client();
        rude.ask("tools/call", json!({"name": "search_files", "arguments": {"pattern": "."}}));
        drop(rude);
        drop(client());
        assert_eq!(Client::connect(daemon.port(), "wrong").err(), Some(401));
    }
    // A replaced version stays open for a few seconds, and an idle thread ends after ten. No
    // requests in the meantime, since they would keep threads from being idle.
    let mut now = (0, 0);
    let settled = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        now = (count(daemon.pid(), "fd"), count(daemon.pid(), "task"));
        now.0 <= handles && now.1 <= threads
    });
    assert!(settled, "handles and threads: before {handles}, {threads}, after {now:?}");
    let status = witness.call("_vault/status", json!({}));
    assert_eq!(status["result"]["connections"], 1);
}
