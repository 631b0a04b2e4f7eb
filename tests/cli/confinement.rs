//! The daemon that confines itself: what it cannot do any more, and what it still must.

use std::path::Path;

use serde_json::{Value, json};
use vault_steward::daemon::confine;
use vault_steward::protocol::status::ConfinementState;

use crate::door::Client;
use crate::support::{Daemon, Home};

/// Whether this kernel has Landlock. An older one holds back less, and says so.
fn possible(test: &str) -> bool {
    let possible = confine::possible().state != ConfinementState::NotPossible;
    if !possible {
        crate::machine::missing(test, "Landlock");
    }
    possible
}

fn client(home: &Home, vault: &Path, daemon: &Daemon) -> Client {
    let token = home.run_in(vault, &["token"]).expect(0).stdout;
    let port = u16::try_from(daemon.ready["port"].as_u64().unwrap()).unwrap();
    let mut client = Client::connect(port, token.trim_end()).unwrap();
    client.initialize();
    client
}

fn tool(client: &mut Client, name: &str, arguments: Value) -> Value {
    let meta = json!({"vault": {"confirmed": true}});
    let params = json!({"name": name, "arguments": arguments, "_meta": meta});
    let answer = client.call("tools/call", params);
    assert_eq!(answer["result"]["isError"], false, "{name}: {answer}");
    answer["result"]["structuredContent"].clone()
}

#[test]
fn it_writes_nowhere_else_and_every_thread_is_held() {
    let test = "it_writes_nowhere_else_and_every_thread_is_held";
    if !possible(test) {
        return;
    }
    for (confined, config) in [(true, "# mine\n"), (false, "[security]\nlandlock = false\n")] {
        let home = Home::new();
        let vault = home.vault("Notes");
        home.write_config(config);
        let daemon = home.serve(&vault);
        let mut client = client(&home, &vault, &daemon);
        let confinement = client.call("_vault/status", json!({}))["result"]["confinement"].take();
        let expected = if confined { confine::possible() } else { confine::off() };
        assert_eq!(confinement, json!(expected));
        tool(&mut client, "search_files", json!({"pattern": "budget"}));
        let threads = std::fs::read_dir(format!("/proc/{}/task", daemon.pid())).unwrap();
        let held = threads.map(|thread| {
            let status = thread.unwrap().path().join("status");
            std::fs::read_to_string(status).unwrap_or_default().contains("NoNewPrivs:\t1")
        });
        let held: Vec<bool> = held.collect();
        assert!(held.len() > 3 && held.iter().all(|held| *held == confined), "{held:?}");

        // A link laid after the start: what the daemon would write to now lies elsewhere.
        let outside = home.path("elsewhere/config.toml");
        std::fs::write(&outside, config).unwrap();
        std::fs::remove_file(home.config_file()).unwrap();
        std::os::unix::fs::symlink(&outside, home.config_file()).unwrap();
        let set = json!({"key": "server.max_in_flight", "value": 9});
        let answer = client.call("_vault/settings/set", set);
        let text = std::fs::read_to_string(&outside).unwrap();
        if confined {
            assert_eq!(answer["error"]["data"]["kind"], "failed", "{answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains("Permission denied"), "{message}");
            assert_eq!(text, config);
        } else {
            assert_eq!(answer["result"]["changed"], json!(["server.max_in_flight"]), "{answer}");
            assert!(text.contains("max_in_flight = 9"), "{text}");
        }
        let run = home.run_in(&vault, &["doctor"]).expect(0);
        let says = if confined { "its vault and its own folders" } else { "is false" };
        assert!(run.stdout.contains(says), "{run:?}");
    }
}

#[test]
fn what_it_is_for_still_works() {
    let test = "what_it_is_for_still_works";
    if !possible(test) {
        return;
    }
    for option in ["system", "local", "none"] {
        let home = Home::new();
        let vault = home.vault("Notes");
        let app = json!({ "trashOption": option }).to_string();
        std::fs::write(vault.join(".obsidian/app.json"), app).unwrap();
        let daemon = home.serve(&vault);
        let mut client = client(&home, &vault, &daemon);
        let note = json!({"path": "New/Folder/a.md", "content": "one\n"});
        tool(&mut client, "write_file", note);
        let edit = json!({"path": "New/Folder/a.md", "old_text": "one", "new_text": "two"});
        tool(&mut client, "edit_file", edit);
        let move_ = json!({"source": "New/Folder/a.md", "destination": "Projects/b.md"});
        tool(&mut client, "move", move_);
        tool(&mut client, "delete", json!({"path": "Projects/b.md"}));
        assert!(!vault.join("Projects/b.md").exists());
        let trash = match option {
            "system" => home.path("home/.local/share/Trash/files/b.md"),
            "local" => vault.join(".trash/b.md"),
            _ => continue,
        };
        assert_eq!(std::fs::read_to_string(&trash).unwrap(), "two\n", "{option}");
        tool(&mut client, "delete", json!({"path": "New"}));
    }
}

/// The same rules on one thread of this process, and all that they are to hold back.
#[test]
fn every_bound_holds() {
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};
    let test = "every_bound_holds";
    if !possible(test) {
        return;
    }
    let home = Home::new();
    let (inside, outside) = (home.path("vaults"), home.path("elsewhere"));
    std::fs::write(outside.join("theirs"), "theirs").unwrap();
    std::fs::write(inside.join("ours"), "ours").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let confined = std::thread::spawn(move || {
        let bounds = confine::Bounds {
            writable: vec![inside.clone(), "/dev/null".into()],
            connect: Vec::new(),
            listen: 0,
        };
        confine::confine(&bounds);
        let refused = |result: std::io::Result<()>| {
            let kind = result.unwrap_err().kind();
            let kinds = [ErrorKind::PermissionDenied, ErrorKind::CrossesDevices];
            assert!(kinds.contains(&kind), "{kind}");
        };
        std::fs::write(inside.join("new"), "new").unwrap();
        std::fs::write("/dev/null", "x").unwrap();
        std::fs::create_dir(inside.join("folder")).unwrap();
        std::fs::rename(inside.join("new"), inside.join("folder/new")).unwrap();
        assert_eq!(std::fs::read_to_string(outside.join("theirs")).unwrap(), "theirs");
        refused(std::fs::write(outside.join("new"), "new"));
        refused(std::fs::write(outside.join("theirs"), "ours"));
        let file = std::fs::OpenOptions::new().write(true).open(outside.join("theirs"));
        refused(file.map(|_| ()));
        refused(std::fs::remove_file(outside.join("theirs")));
        refused(std::fs::rename(inside.join("ours"), outside.join("ours")));
        refused(std::fs::create_dir(outside.join("folder")));
        refused(std::os::unix::fs::symlink("x", outside.join("link")));
        TcpListener::bind("127.0.0.1:0").unwrap();
        if confine::possible().state != ConfinementState::Full {
            return;
        }
        refused(TcpStream::connect(address).map(|_| ()));
        let parent = std::os::unix::process::parent_id();
        let parent = rustix::process::Pid::from_raw(i32::try_from(parent).unwrap()).unwrap();
        assert!(rustix::process::test_kill_process(parent).is_err());
    });
    confined.join().unwrap();
    TcpStream::connect(address).unwrap();
}
