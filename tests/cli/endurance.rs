//! The daemon on a machine that gives it less than it wants: few watches, few handles, suspended
//! time, a kill at any moment (cases 91, 95, 96, 103).

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::door::Client;
use crate::support::{Daemon, Home};

fn client(home: &Home, vault: &Path, daemon: &Daemon) -> Client {
    let mut client = connect(home, vault, daemon).expect("the door is open");
    client.initialize();
    client
}

fn connect(home: &Home, vault: &Path, daemon: &Daemon) -> Result<Client, u16> {
    let token = home.run_in(vault, &["token"]).expect(0).stdout;
    let port = daemon.port();
    Client::connect(port, token.trim_end())
}

/// A tool's answer with a person's approval; `None` if it was refused.
fn tool(client: &mut Client, name: &str, arguments: Value) -> Option<Value> {
    let meta = json!({"vault": {"confirmed": true}});
    let params = json!({"name": name, "arguments": arguments, "_meta": meta});
    let mut answer = client.call("tools/call", params);
    (answer["result"]["isError"] == false).then(|| answer["result"]["structuredContent"].take())
}

/// Repeats a request until `there` accepts the answer, for half a minute at most.
fn until(mut there: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(30);
    while Instant::now() < end {
        if there() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    false
}

#[test]
fn where_the_system_watches_no_more_folders_it_looks_by_itself() {
    let limited = "echo 5 > /proc/sys/user/max_inotify_watches";
    let tried = Command::new("unshare").args(["-Ur", "sh", "-c", limited]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        let test = "where_the_system_watches_no_more_folders_it_looks_by_itself";
        return crate::machine::missing(test, "a limit of watched folders of its own");
    }
    let home = Home::new();
    let vault = home.vault("Notes");
    for number in 0..20 {
        std::fs::create_dir(vault.join(format!("Folder {number}"))).unwrap();
    }
    home.write_config("[vault]\npoll_seconds = 1\n");
    let shell = format!("exec unshare -Ur sh -c '{limited}; exec \"$0\" \"$@\"'");
    let daemon = home.serve_by(&shell, &vault);
    let mut client = client(&home, &vault, &daemon);
    let watching = client.call("_vault/status", json!({}))["result"]["vault"]["watching"].take();
    assert_eq!(watching["mode"], "polling", "{watching}");
    let reason = watching["reason"].as_str().unwrap();
    assert!(reason.contains("fs.inotify.max_user_watches"), "{reason}");
    let run = home.run_in(&vault, &["status"]).expect(0);
    assert!(run.stdout.contains("max_user_watches"), "{run:?}");
    // Changes by others in an unwatched folder are found too.
    for number in [0, 19] {
        let path = format!("Folder {number}/late.md");
        std::fs::write(vault.join(&path), "# Late\n").unwrap();
        let listed = |client: &mut Client| {
            let all = json!({"pattern": "**/late.md"});
            tool(client, "list_files", all).unwrap().to_string().contains(&path)
        };
        assert!(until(|| listed(&mut client)), "{path}");
        std::fs::remove_file(vault.join(&path)).unwrap();
        assert!(until(|| !listed(&mut client)), "{path}");
    }
}

#[test]
fn with_few_handles_it_refuses_and_continues() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let daemon = home.serve_by("ulimit -n 48 && exec", &vault);
    let mut witness = client(&home, &vault, &daemon);
    let read = json!({"path": "Projects/My Note.md"});
    let others: Vec<_> = (0..60)
        .map(|_| {
            let port = daemon.ready["port"].as_u64().unwrap();
            std::net::TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap()))
        })
        .collect();
    // It may refuse while the disk is full; it must not end, or report a false state.
    for number in 0..20 {
        let note = json!({"path": format!("n{number}.md"), "content": "x\n"});
        let written = tool(&mut witness, "write_file", note).is_some();
        assert_eq!(vault.join(format!("n{number}.md")).exists(), written);
    }
    drop(others);
    assert!(until(|| tool(&mut witness, "read_file", read.clone()).is_some()));
    assert!(until(|| {
        let note = json!({"path": "after.md", "content": "x\n"});
        tool(&mut witness, "write_file", note).is_some()
    }));
    // New clients can connect again.
    assert!(until(|| connect(&home, &vault, &daemon).is_ok()));
}

#[test]
fn after_a_sleep_it_processes_changes_once() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.write_config("[vault]\npoll_seconds = 1\n");
    let daemon = home.serve(&vault);
    let mut client = client(&home, &vault, &daemon);
    client.call("_vault/subscribe", json!({}));
    let processor = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", daemon.pid())).unwrap();
        let fields: Vec<u64> = stat
            .rsplit(") ")
            .next()
            .unwrap()
            .split(' ')
            .skip(11)
            .take(2)
            .map(|field| field.parse().unwrap())
            .collect();
        fields[0] + fields[1]
    };
    daemon.signal(Signal::STOP);
    std::fs::write(vault.join("Projects/asleep.md"), "# Asleep\n").unwrap();
    std::fs::rename(vault.join("Projects/My Note.md"), vault.join("Mine.md")).unwrap();
    std::thread::sleep(Duration::from_secs(5));
    let before = processor();
    daemon.signal(Signal::CONT);
    for path in ["Projects/asleep.md", "Mine.md"] {
        assert!(tool(&mut client, "read_file", json!({"path": path})).is_some(), "{path}");
    }
    assert!(tool(&mut client, "read_file", json!({"path": "Projects/My Note.md"})).is_none());
    // A timer that caught up on missed ticks would be noticed: five scans at once, and more after a
    // night.
    std::thread::sleep(Duration::from_secs(1));
    let ticks = processor() - before;
    assert!(ticks < 100, "{ticks} hundredths of a second of work after a sleep");
}

#[test]
fn asked_to_end_in_the_middle_it_ends_what_it_has_begun() {
    const NOTES: usize = 60;
    // The kill can hit any point of the move.
    for wait in [0, 30, 90, 200] {
        let home = Home::new();
        let vault = home.vault("Notes");
        std::fs::create_dir(vault.join("Folder")).unwrap();
        for number in 0..NOTES {
            let text = format!("[[Folder/n{number}]] [[Folder/Sub/x|x]]\n");
            std::fs::write(vault.join(format!("Folder/n{number}.md")), &text).unwrap();
            std::fs::write(vault.join(format!("Projects/p{number}.md")), &text).unwrap();
        }
        std::fs::create_dir(vault.join("Folder/Sub")).unwrap();
        std::fs::write(vault.join("Folder/Sub/x.md"), "x\n").unwrap();
        let mut daemon = home.serve(&vault);
        let mut mover = client(&home, &vault, &daemon);
        let meta = json!({"vault": {"confirmed": true}});
        let move_it = json!({"name": "move", "_meta": meta,
            "arguments": {"source": "Folder", "destination": "Else/Where"}});
        mover.ask("tools/call", move_it);
        std::thread::sleep(Duration::from_millis(wait));
        daemon.signal(Signal::TERM);
        daemon.signal(Signal::TERM);
        assert_eq!(daemon.wait(Duration::from_secs(15)), Some(0), "after {wait} ms");
        let (old, new) = (vault.join("Folder").exists(), vault.join("Else/Where").exists());
        assert!(old != new, "after {wait} ms: {old} {new}");
        let folder = if old { "Folder" } else { "Else/Where" };
        assert_eq!(std::fs::read_dir(vault.join(folder)).unwrap().count(), NOTES + 1);
        let hidden = std::fs::read_dir(vault.join("Projects")).unwrap().flatten();
        let hidden = hidden.filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
        assert_eq!(hidden.count(), 0, "after {wait} ms");
        let run = home.run_in(&vault, &["links", "check"]);
        assert_eq!(run.code, 0, "after {wait} ms: {run:?}");
        // The next start finds nothing to repair, or repairs it, and continues.
        let next = home.serve(&vault);
        let mut client = client(&home, &vault, &next);
        let read = json!({"path": format!("{folder}/Sub/x.md")});
        assert!(tool(&mut client, "read_file", read).is_some(), "after {wait} ms");
        let undone = tool(&mut client, "undo", json!({})).is_some();
        assert_eq!(undone, new, "after {wait} ms");
        assert!(vault.join("Folder/Sub/x.md").exists());
    }
}
