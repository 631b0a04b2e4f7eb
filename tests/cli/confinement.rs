//! The daemon that confines itself: what it can no longer do, and what it must still be able to do.

use std::net::TcpListener;

use serde_json::{Value, json};
use vault_steward::daemon::confine;
use vault_steward::protocol::status::ConfinementState;

use crate::client::client;
use crate::door::Client;
use crate::support::{Daemon, Home};

/// Whether this kernel has Landlock. An older one restricts less, and the daemon says so.
fn possible(test: &str) -> bool {
    let possible = confine::possible().state != ConfinementState::NotPossible;
    if !possible {
        crate::machine::missing(test, "Landlock");
    }
    possible
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
        assert!(is_settable(&mut client, "server.max_in_flight"));
        tool(&mut client, "search_files", json!({"pattern": "budget"}));
        let threads = std::fs::read_dir(format!("/proc/{}/task", daemon.pid())).unwrap();
        let held = threads.map(|thread| {
            let status = thread.unwrap().path().join("status");
            std::fs::read_to_string(status).unwrap_or_default().contains("NoNewPrivs:\t1")
        });
        let held: Vec<bool> = held.collect();
        assert!(held.len() > 3 && held.iter().all(|held| *held == confined), "{held:?}");

        // A link created after the start: its target is now outside.
        let outside = home.path("elsewhere/config.toml");
        std::fs::write(&outside, config).unwrap();
        std::fs::remove_file(home.config_file()).unwrap();
        std::os::unix::fs::symlink(&outside, home.config_file()).unwrap();
        assert_eq!(is_settable(&mut client, "server.max_in_flight"), !confined);
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
        let says = if confined { "its vault, its own folders" } else { "is false" };
        assert!(run.stdout.contains(says), "{run:?}");
    }
}

fn is_settable(client: &mut Client, key: &str) -> bool {
    let answer = client.call("_vault/settings/get", json!({}));
    let settings = answer["result"]["settings"].as_array().unwrap();
    settings.iter().find(|setting| setting["key"] == key).unwrap()["settable"] == true
}

/// It may write to the folder that existed at the start, not to whatever is at its path later.
#[test]
fn a_replaced_vault_folder_is_writable_after_a_restart() {
    let test = "a_replaced_vault_folder_is_writable_after_a_restart";
    if !possible(test) {
        return;
    }
    let home = Home::new();
    let vault = home.vault("Notes");
    let mut daemon = home.serve(&vault);
    let mut served = client(&home, &vault, &daemon);
    std::fs::rename(&vault, vault.with_file_name("aside")).unwrap();
    let vault = home.vault("Notes");
    std::fs::write(vault.join("new.md"), "new\n").unwrap();
    let read = tool(&mut served, "read_file", json!({"path": "new"}));
    assert_eq!(read["content"], "new\n");
    let write =
        json!({"name": "write_file", "arguments": {"path": "new.md", "content": "newer\n"}});
    let refused = served.call("tools/call", write.clone())["result"].take();
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("restart the steward"), "{text}");
    daemon.kill();
    let daemon = home.serve(&vault);
    let mut served = client(&home, &vault, &daemon);
    let written = served.call("tools/call", write)["result"].take();
    assert_eq!(written["isError"], false, "{written}");
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

/// The same rules on one thread of this process, and everything they must prevent.
#[test]
fn every_bound_holds() {
    use std::io::ErrorKind;
    use std::net::TcpStream;
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

/// A folder that contains other people's files, even a home folder, is not writable for the daemon.
#[test]
fn a_settings_file_among_other_files_opens_none_of_them() {
    let test = "a_settings_file_among_other_files_opens_none_of_them";
    if !possible(test) {
        return;
    }
    for by_link in [false, true] {
        let home = Home::new();
        let vault = home.vault("Notes");
        let file = home.path("elsewhere/mine.toml");
        let script = home.path("elsewhere/hook.sh");
        let beside = home.path("elsewhere/beside");
        let text = format!("echo x > {}\necho x > ran\n", beside.display());
        std::fs::write(&script, text).unwrap();
        let config = format!(
            "[hooks.commands.touches]\non = [\"change_applied\"]\ncommand = [\"/bin/sh\", \"{}\"]\n",
            script.display()
        );
        std::fs::write(&file, &config).unwrap();
        let mut serve = home.steward(&["serve", "--json", "--port", "0", "--vault"]);
        serve.arg(&vault);
        if by_link {
            std::fs::create_dir_all(home.config_file().parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(&file, home.config_file()).unwrap();
        } else {
            serve.arg("--config").arg(&file);
        }
        let daemon = Daemon::start(serve);
        let mut client = client(&home, &vault, &daemon);
        let set = json!({"key": "server.max_in_flight", "value": 9});
        let answer = client.call("_vault/settings/set", set);
        assert_eq!(answer["error"]["data"]["kind"], "failed", "{answer}");
        let hint = answer["error"]["data"]["hint"].as_str().unwrap();
        assert!(hint.contains("`steward config set` in a terminal"), "{answer}");
        assert!(!is_settable(&mut client, "server.max_in_flight"));
        tool(&mut client, "write_file", json!({"path": "a.md", "content": "a\n"}));
        let ran = home.state().join("hooks/ran");
        crate::hooks::until("the hook has run", || ran.exists());
        assert!(!beside.exists(), "what the daemon starts writes nowhere else either");
        // The user's own program on a terminal is not confined, and the daemon follows the file.
        let place = ["--config", file.to_str().unwrap()];
        let run = [&["config", "set", "server.max_in_flight", "9"][..], &place].concat();
        home.run_in(&vault, &run).expect(0);
        assert!(std::fs::read_to_string(&file).unwrap().contains("max_in_flight = 9"));
    }
}

/// A third-party program started through ours: everything it must not reach, and everything it
/// needs.
#[test]
fn a_confined_command_sees_and_writes_what_it_was_given() {
    let test = "a_confined_command_sees_and_writes_what_it_was_given";
    if !possible(test) {
        return;
    }
    let home = Home::new();
    let vault = home.vault("Notes");
    let (own, beside) = (home.path("vaults/own"), home.path("elsewhere/beside"));
    std::fs::create_dir(&own).unwrap();
    std::fs::write(&beside, "beside\n").unwrap();
    std::fs::write(home.path("vaults/key"), "secret\n").unwrap();
    // A link next to the hidden folder leads into it, and opens nothing.
    std::os::unix::fs::symlink(&vault, home.path("elsewhere/way")).unwrap();
    let hidden = home.path("vaults");
    let run = |options: &[&str], script: &str| {
        let mut arguments = vec!["confined", "--hide", hidden.to_str().unwrap(), "--write"];
        arguments.extend([own.to_str().unwrap()]);
        arguments.extend(options.iter().chain(&["--", "/bin/sh", "-c", script]));
        home.run(&arguments)
    };
    let (note, new) = (vault.join("Projects/My Note.md"), own.join("new"));
    let done = run(
        &[],
        &format!(
            "cat {} && echo x > {} && echo y > /dev/null && ls {}",
            beside.display(),
            new.display(),
            own.display()
        ),
    )
    .expect(0);
    assert_eq!(done.stdout, "beside\nnew\n");
    for script in [
        format!("cat '{}'", note.display()),
        format!("ls '{}'", vault.display()),
        format!("ls '{}'", hidden.display()),
        format!("cat '{}'", hidden.join("key").display()),
        format!("cat '{}/Projects/My Note.md'", home.path("elsewhere/way").display()),
        format!("echo x > '{}'", beside.display()),
        format!("echo x > '{}'", vault.join("new.md").display()),
        "kill -0 $PPID".to_owned(),
    ] {
        let refused = run(&[], &script);
        assert_ne!(refused.code, 0, "{script}: {refused:?}");
    }
    let shown = run(
        &["--read", hidden.join("key").to_str().unwrap()],
        &format!("cat '{}'", hidden.join("key").display()),
    );
    assert_eq!(shown.expect(0).stdout, "secret\n");
    assert_eq!(run(&["--max-files", "5"], "ulimit -n").expect(0).stdout, "5\n");
    let gone = home.run(&["confined", "--", "/nowhere/program"]).expect(1);
    assert!(gone.stderr.contains("`/nowhere/program` could not be started"), "{gone:?}");

    let Some(python) = crate::manual::python(test) else { return };
    if confine::possible().state != ConfinementState::Full {
        return;
    }
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let connects = format!("import socket; socket.create_connection(('127.0.0.1', {port}))");
    for (options, may) in [
        (&[][..], false),
        (&["--network"], true),
        (&["--connect", &port], true),
        (&["--connect", "9"], false),
    ] {
        let mut arguments = vec!["confined"];
        arguments.extend(options);
        arguments.extend(["--", &python, "-c", &connects]);
        assert_eq!(home.run(&arguments).code == 0, may, "{options:?}");
    }
}
