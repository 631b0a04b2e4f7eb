//! The daemon's lifecycle: one per vault, found, stopped, with nothing left behind.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::Value;

use crate::support::Home;

#[test]
fn it_says_where_it_is_and_answers() {
    let home = Home::new();
    let vault = home.vault("My Notes");
    let daemon = home.serve(&vault);
    assert_eq!(daemon.ready["vault"], "My Notes");
    assert_eq!(daemon.ready["notes"], 1);
    let port = daemon.ready["port"].as_u64().unwrap();
    assert_eq!(daemon.ready["url"], format!("ws://127.0.0.1:{port}/v1"));

    let record: Value =
        serde_json::from_slice(&std::fs::read(home.state().join("daemon.json")).unwrap()).unwrap();
    assert_eq!(record["pid"], daemon.pid());
    assert_eq!(record["port"], port);
    assert_eq!(record["protocol"], 1);
    assert_eq!(record["vault"], vault.to_str().unwrap());
    #[cfg(unix)]
    for (file, mode) in [("", 0o700), ("daemon.json", 0o600), ("token", 0o600)] {
        use std::os::unix::fs::PermissionsExt;
        let meta = std::fs::metadata(home.state().join(file)).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, mode, "{file}");
    }

    let status = home.run_in(&vault, &["status", "--json"]).expect(0).json();
    assert_eq!(status["running"], true);
    assert_eq!(status["status"]["vault"]["notes"], 1);
    let run = home.run_in(&vault, &["status"]).expect(0);
    assert!(run.stdout.contains("1 note,"), "{run:?}");
    let run = home.run_in(&vault, &["doctor"]).expect(0);
    assert!(run.stdout.contains("in use by the daemon of this vault"), "{run:?}");
    let run = home.run_in(&vault, &["doctor", "--json"]).expect(0);
    assert_eq!(run.json()["ok"], true);
}

#[test]
#[cfg(unix)]
fn the_status_counts_symbolic_links_as_such() {
    let home = Home::new();
    let vault = home.vault("Notes");
    std::fs::write(vault.join("Home.md"), "[[My Note]] and [[Nowhere]]\n").unwrap();
    {
        let _daemon = home.serve(&vault);
        let status = home.run_in(&vault, &["status"]).expect(0).stdout;
        assert!(status.contains("holds     2 notes, 2 files, 1 folder\n"), "{status}");
    }
    for name in ["out", "there"] {
        std::os::unix::fs::symlink(home.path("elsewhere"), vault.join(name)).unwrap();
    }
    let _daemon = home.serve(&vault);
    let status = home.run_in(&vault, &["status"]).expect(0).stdout;
    assert!(status.contains(" folder, 2 symbolic links\n"), "{status}");
}

#[test]
fn a_folder_without_obsidian_settings_is_reported_once_at_startup() {
    let home = Home::new();
    let vault = home.vault("Notes");
    std::fs::remove_dir_all(vault.join(".obsidian")).unwrap();
    let notice = "has no `.obsidian`";
    let named = ["--vault", vault.to_str().unwrap(), "list"];
    assert!(home.run(&named).expect(0).stderr.contains(notice), "without a daemon");
    let mut daemon = home.serve(&vault);
    assert_eq!(home.run(&named).expect(0).stderr, "", "the daemon has printed it");
    daemon.kill();
    assert!(daemon.stderr().contains(notice));
}

#[test]
fn a_second_one_names_the_first() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let daemon = home.serve(&vault);
    let aliases = [
        vault.clone(),
        vault.join("Projects").join(".."),
        #[cfg(unix)]
        {
            let alias = home.path("alias");
            std::os::unix::fs::symlink(&vault, &alias).unwrap();
            alias
        },
    ];
    for alias in aliases {
        let alias = alias.to_str().unwrap();
        let run = home.run(&["serve", "--port", "0", "--vault", alias]).expect(3);
        assert!(run.stderr.contains(&format!("pid {}", daemon.pid())), "{alias}: {run:?}");
        let run = home.run(&["serve", "--port", "0", "--json", "--vault", alias]).expect(3);
        assert_eq!(run.json()["data"]["pid"], daemon.pid());
    }
}

#[test]
#[cfg(unix)]
fn both_signals_stop_it_in_time_and_it_tidies_up() {
    use rustix::process::Signal;
    for signal in [Signal::TERM, Signal::INT] {
        let home = Home::new();
        let vault = home.vault("Notes");
        let mut daemon = home.serve(&vault);
        let record = home.state().join("daemon.json");
        assert!(record.exists());
        daemon.signal(signal);
        daemon.signal(signal);
        assert_eq!(daemon.wait(Duration::from_secs(10)), Some(0));
        assert!(!record.exists());
        assert!(home.state().join("token").exists(), "a client is paired once");
        let log = daemon.stderr();
        let token = home.run_in(&vault, &["token"]).expect(0).stdout;
        assert!(log.contains("stopped") && !log.contains(token.trim_end()), "{log}");
        let left: Vec<_> =
            std::fs::read_dir(&vault).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "nothing of ours in the vault: {left:?}");
    }
}

#[test]
fn what_a_killed_one_left_behind_does_not_count() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let mut daemon = home.serve(&vault);
    let token = home.run_in(&vault, &["token"]).expect(0).stdout;
    daemon.kill();
    assert!(home.state().join("daemon.json").exists());
    let status = home.run_in(&vault, &["status", "--json"]).expect(0).json();
    assert_eq!(status["running"], false);
    let line = ["call", "read_file", "--path", "Projects/My Note.md"];
    home.run_in(&vault, &line).expect(0);
    let _next = home.serve(&vault);
    assert_eq!(home.run_in(&vault, &["token"]).expect(0).stdout, token);
    home.run_in(&vault, &line).expect(0);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = home.run_in(&vault, &["serve", "--port", &port]).expect(1);
    assert!(run.stderr.contains(&format!("port {port} on 127.0.0.1 is in use")), "{run:?}");
    assert!(run.stderr.contains("--port 0"), "{run:?}");
    assert!(!home.state().join("daemon.json").exists());
    let run = home.run_in(&vault, &["doctor"]).expect(0);
    assert!(run.stdout.contains("not running"), "{run:?}");
}

#[test]
fn a_rotated_token_counts_at_once() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let _daemon = home.serve(&vault);
    let old = home.run_in(&vault, &["token"]).expect(0).stdout;
    let new = home.run_in(&vault, &["token", "--rotate"]).expect(0).stdout;
    assert_ne!(old, new);
    assert_eq!(new.trim_end().len(), 64);
    assert_eq!(home.run_in(&vault, &["token"]).expect(0).stdout, new);
    let status = home.run_in(&vault, &["status", "--json"]).expect(0).json();
    assert_eq!(status["running"], true);
}

#[test]
#[cfg(unix)]
fn the_process_that_holds_the_vault_is_named_before_it_serves() {
    let home = Home::new();
    let vault = home.vault("Notes");
    // The token command creates the state folder; then this test acts as a starting daemon.
    home.run_in(&vault, &["token"]).expect(0);
    let folder = std::fs::File::open(&vault).unwrap();
    folder.lock().unwrap();
    std::fs::write(home.state().join("holder"), std::process::id().to_string()).unwrap();
    let run = home.run_in(&vault, &["serve", "--port", "0"]).expect(3);
    assert!(run.stderr.contains(&format!("pid {}", std::process::id())), "{run:?}");
    drop(folder);
    home.serve(&vault);
}

#[test]
#[cfg(unix)]
fn it_stops_in_order_when_nobody_reads_its_log() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let mut daemon = home.serve(&vault);
    daemon.close_stderr();
    daemon.signal(rustix::process::Signal::TERM);
    assert_eq!(daemon.wait(Duration::from_secs(10)), Some(0));
    assert!(!home.state().join("daemon.json").exists());
}

#[test]
fn of_several_started_at_once_one_serves() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let line = ["serve", "--port", "0", "--json", "--vault", vault.to_str().unwrap()];
    let mut children: Vec<_> = (0..5).map(|_| home.steward(&line).spawn().unwrap()).collect();
    let mut serving = Vec::new();
    let until = std::time::Instant::now() + Duration::from_secs(20);
    let mut refused = 0;
    while refused < 4 && std::time::Instant::now() < until {
        serving.clear();
        refused = 0;
        for child in &mut children {
            match child.try_wait().unwrap() {
                Some(status) => {
                    assert_eq!(status.code(), Some(3));
                    refused += 1;
                }
                None => serving.push(child.id()),
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = home.run_in(&vault, &["status", "--json"]).expect(0).json();
    assert_eq!((refused, serving.len()), (4, 1));
    assert_eq!(status["daemon"]["pid"], serving[0]);
    for child in &mut children {
        let _ = child.kill();
        child.wait().unwrap();
    }
}

#[test]
fn a_change_by_another_program_reaches_subscribers_and_lists() {
    use futures_util::{SinkExt, StreamExt};
    use tokio_tungstenite::tungstenite::{ClientRequestBuilder, Message};

    let home = Home::new();
    let vault = home.vault("Notes");
    let daemon = home.serve(&vault);
    let token = home.run_in(&vault, &["token"]).expect(0).stdout;
    let uri = daemon.ready["url"].as_str().unwrap().parse().unwrap();
    let request = ClientRequestBuilder::new(uri)
        .with_header("Authorization", format!("Bearer {}", token.trim_end()));
    let subscribed = async {
        let (mut socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
        for message in [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"_vault/subscribe","params":{}}"#,
        ] {
            socket.send(Message::text(message)).await.unwrap();
            socket.next().await.unwrap().unwrap();
        }
        std::fs::write(vault.join("From outside.md"), "new").unwrap();
        loop {
            let message = socket.next().await.unwrap().unwrap();
            let Ok(text) = message.to_text() else { continue };
            if text.contains("_vault/changed") && text.contains("From outside.md") {
                return;
            }
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(10), subscribed).await })
        .unwrap();
    let run = home.run_in(&vault, &["call", "list_files"]).expect(0);
    assert!(run.stdout.contains("From outside.md"), "{run:?}");
}

#[test]
fn an_empty_mount_point_is_not_taken_for_the_vault() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.serve(&vault);
    // The disk is unmounted, and its mount point remains.
    std::fs::rename(&vault, home.path("disk")).unwrap();
    std::fs::create_dir(&vault).unwrap();
    let named = vault.to_str().unwrap();
    for line in [
        &["serve", "--port", "0", "--vault", named][..],
        &["call", "list_files", "--vault", named],
        &["call", "write_file", "--path", "a.md", "--content", "x", "--vault", named],
    ] {
        let run = home.run(line).expect(4);
        assert!(run.stderr.contains("seems not to be mounted"), "{run:?}");
        assert!(run.stderr.contains("hint: mount the disk"), "{run:?}");
    }
    let run = home.run(&["doctor", "--vault", named]).expect(1);
    assert!(run.stdout.contains("mount the disk"), "{run:?}");
    assert_eq!(std::fs::read_dir(&vault).unwrap().count(), 0, "nothing was put there");
    // It is mounted again, or was emptied on purpose.
    std::fs::remove_dir(&vault).unwrap();
    std::fs::rename(home.path("disk"), &vault).unwrap();
    home.serve(&vault);
    std::fs::remove_dir_all(&vault).unwrap();
    std::fs::create_dir(&vault).unwrap();
    let refused = home.run(&["serve", "--port", "0", "--json", "--vault", named]).expect(4).json();
    assert_eq!(refused["code"], "not_mounted");
    std::fs::remove_file(refused["data"]["marker"].as_str().unwrap()).unwrap();
    home.serve(&vault);
}

#[test]
fn status_reports_a_file_system_without_protection() {
    let test = "status_reports_a_file_system_without_protection";
    let Some(vault) = crate::machine::exfat(test) else { return };
    std::fs::create_dir(vault.join(".obsidian")).unwrap();
    let home = Home::new();
    let _daemon = home.serve(&vault);
    let run = home.run_in(&vault, &["status"]).expect(0);
    assert!(run.stdout.contains("cannot exchange files in one step"), "{run:?}");
    let left = std::fs::read_dir(&vault).unwrap().count();
    assert_eq!(left, 1, "what was tried is tidied up");
}

/// By a program that keeps size and time, as some sync programs do; only the ctime shows it.
#[test]
#[cfg(unix)]
fn overwritten_files_are_found_at_the_next_start() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let then = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let write = |text: &str| {
        std::fs::write(vault.join("note.md"), text).unwrap();
        let file = std::fs::File::options().append(true).open(vault.join("note.md")).unwrap();
        file.set_modified(then).unwrap();
    };
    let count = |pattern: &str| {
        let run = home.run_in(&vault, &["call", "search_files", "--pattern", pattern, "--json"]);
        run.expect(0).json()["files"].as_array().unwrap().len()
    };
    write("- [ ] beans");
    let mut daemon = home.serve(&vault);
    assert_eq!((count("\\[ \\] beans"), count("\\[x\\] beans")), (1, 0));
    daemon.signal(rustix::process::Signal::TERM);
    assert_eq!(daemon.wait(Duration::from_secs(10)), Some(0));
    write("- [x] beans");
    let _next = home.serve(&vault);
    assert_eq!((count("\\[ \\] beans"), count("\\[x\\] beans")), (0, 1));
}

#[test]
#[cfg(unix)]
fn the_text_index_is_saved_and_no_end_makes_it_wrong() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let vault = home.vault("Notes");
    // Long ago: a change within the last moments cannot be recognised by its time.
    for (name, text) in [("needle.md", "the needle lies here\n"), ("hay.md", "nothing but hay\n")] {
        std::fs::write(vault.join(name), text).unwrap();
        let file = std::fs::File::options().append(true).open(vault.join(name)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    }
    let found = |pattern: &str| {
        let run = home.run_in(&vault, &["call", "search_files", "--pattern", pattern, "--json"]);
        let answer = run.expect(0).json();
        let files = answer["files"].as_array().unwrap().iter();
        files.map(|file| file["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    type Damage = Box<dyn Fn(&std::path::Path)>;
    let mut damage: Vec<Damage> = vec![
        Box::new(|_| ()),
        Box::new(|folder| std::fs::write(folder.join("table"), b"no table").unwrap()),
        Box::new(|folder| std::fs::remove_file(folder.join("signatures")).unwrap()),
        Box::new(|folder| std::fs::remove_dir_all(folder).unwrap()),
    ];
    let mut number = 0;
    while let Some(damage) = damage.pop() {
        number += 1;
        let mut daemon = home.serve(&vault);
        let folder = home.state().join("text");
        assert_eq!(found("needle"), ["needle.md"], "whether or not it is ready");
        let started = std::time::Instant::now();
        while !(folder.join("table").exists() && folder.join("signatures").exists()) {
            assert!(started.elapsed() < Duration::from_secs(60), "it is saved when it is made");
            std::thread::sleep(Duration::from_millis(20));
        }
        for file in ["table", "signatures"] {
            let mode = std::fs::metadata(folder.join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
        assert_eq!(found("needle"), ["needle.md"]);
        let marker = format!("marker {number}");
        std::fs::write(vault.join("hay.md"), &marker).unwrap();
        assert_eq!(found(&marker), ["hay.md"], "a change is found at once");
        assert_eq!(found("nothing but"), [] as [&str; 0]);
        daemon.kill();
        damage(&folder);
    }
}
