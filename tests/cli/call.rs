//! `steward call`, with a daemon and without: the same answer.

use serde_json::{Value, json};

use crate::client::client;
use crate::support::{Home, finish, finish_with};

fn answer(home: &Home, vault: &str, rest: &[&str]) -> (i32, Value) {
    let mut arguments = vec!["call", "--vault", vault, "--json"];
    arguments.extend(rest);
    let run = home.run(&arguments);
    (run.code, run.json())
}

#[test]
fn through_a_daemon_and_directly_it_is_the_same() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let name = vault.to_str().unwrap();
    let cases: [&[&str]; 8] = [
        &["read_file", "--path", "projects/my note"],
        &["read_file", r#"{"path": "Projects/My Note.md", "start_line": 2}"#],
        &["read_file", "--path", "gone"],
        &["read_file", "--path", "../x"],
        &["read_file", "--path", ".Obsidian/app.json"],
        &["read_file", r#"{"path": 3}"#],
        &["list_files", "--pattern", "**/*.md"],
        &["search_files", "--pattern", "budget"],
    ];
    let all = || cases.map(|case| answer(&home, name, case));
    let directly = all();
    let _daemon = home.serve(&vault);
    let through = all();
    for ((case, directly), through) in cases.iter().zip(&directly).zip(&through) {
        assert_eq!(directly, through, "{case:?}");
        let forced: Vec<_> = case.iter().copied().chain(["--direct"]).collect();
        assert_eq!(&answer(&home, name, &forced), through, "{case:?}");
    }
    assert_eq!((directly[0].0, directly[2].0), (0, 1));
    assert_eq!(directly[2].1["code"], "not_found");
    assert_eq!(directly[3].1["code"], "outside_vault");
    assert_eq!(directly[4].1["code"], "protected_path");
    assert_eq!(directly[5].1["code"], "invalid_input");
}

/// Tool names of other programs are understood by every transport alike.
#[test]
fn other_names_of_arguments_are_taken_at_every_door() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let name = vault.to_str().unwrap();
    let note = vault.join("n.md");
    let edited = |how: &str, code: i32| {
        assert_eq!((std::fs::read_to_string(&note).unwrap().as_str(), code), ("two\n", 0), "{how}");
        std::fs::write(&note, "one\n").unwrap();
    };
    std::fs::write(&note, "one\n").unwrap();
    let json = r#"{"path": "n.md", "old_string": "one", "new_string": "two"}"#;
    let flags = ["edit_file", "--path", "n.md", "--old-string", "one", "--new_string", "two"];
    let by_line = |how: &str| {
        edited(how, answer(&home, name, &flags).0);
        edited(how, answer(&home, name, &["edit_file", json]).0);
    };
    by_line("without a daemon");
    let daemon = home.serve(&vault);
    by_line("with a daemon");
    let mut client = client(&home, &vault, &daemon);
    let arguments: Value = serde_json::from_str(json).unwrap();
    let done = client.call("tools/call", json!({ "name": "edit_file", "arguments": arguments }));
    edited("WebSocket", i32::from(done["result"]["isError"] != false));
    let both = json!({ "path": "n.md", "old_text": "one", "old_string": "one", "new_text": "two" });
    assert_eq!(answer(&home, name, &["edit_file", &both.to_string()]).1["code"], "invalid_input");
}

#[test]
fn text_is_the_tools_own_and_errors_are_a_line_and_a_hint() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let in_vault = |arguments: &[&str]| home.run_in(&vault, arguments);
    let run = in_vault(&["call", "read-file", "--path", "my nose"]);
    assert!(run.code == 1 && run.stderr.contains("Projects/My Note.md"), "{run:?}");
    assert!(run.stderr.starts_with("error: "), "{run:?}");
    let run = in_vault(&["call", "read_file", "--path", "projects/my note"]).expect(0);
    assert!(run.stdout.contains("budget 12"), "{run:?}");
    assert!(run.stdout.ends_with('\n'));
}

#[test]
fn json_may_come_from_stdin_and_flags_win() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let call = |arguments: &[&str], input: &str| {
        let mut command = home.steward(arguments);
        command.current_dir(&vault);
        finish_with(command, input.as_bytes())
    };
    let arguments = json!({"path": "gone.md", "start_line": 2}).to_string();
    let line = ["call", "read_file", "-", "--path", "Projects/My Note.md"];
    let run = call(&line, &arguments).expect(0);
    assert!(run.stdout.contains("budget") && !run.stdout.contains("# Mine"), "{run:?}");
    for input in ["", "[1]", "{", "\"x\""] {
        let run = call(&["call", "read_file", "-"], input).expect(2);
        assert!(run.stderr.contains("not a JSON object"), "{run:?}");
    }
}

#[test]
fn big_content_reaches_the_daemon_in_pieces() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let _daemon = home.serve(&vault);
    let content = "é".repeat(1_200_000);
    let mut command = home.steward(&["call", "write_file", "-", "--json"]);
    command.current_dir(&vault);
    let arguments = json!({"path": "Big.md", "content": content}).to_string();
    finish_with(command, arguments.as_bytes()).expect(0);
    assert_eq!(std::fs::read_to_string(vault.join("Big.md")).unwrap(), content);
}

#[test]
fn a_direct_change_respects_a_running_daemon() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let line = ["call", "create_folder", "--path", "New", "--direct", "--json"];
    home.run_in(&vault, &line).expect(0);
    assert!(vault.join("New").is_dir());
    let daemon = home.serve(&vault);
    let run = home.run_in(&vault, &line).expect(3);
    assert_eq!(run.json()["code"], "already_running");
    assert_eq!(run.json()["data"]["pid"], daemon.pid());
}

#[test]
fn a_program_that_took_over_the_port_gets_nothing() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let mut daemon = home.serve(&vault);
    let record = home.state().join("daemon.json");
    let mut text: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    daemon.kill();
    // A listener that does not speak WebSocket, recorded with the id of a running process.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    text["port"] = listener.local_addr().unwrap().port().into();
    text["pid"] = std::process::id().into();
    std::fs::write(&record, text.to_string()).unwrap();
    let heard = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = [0; 4096];
        let n = stream.read(&mut heard).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        String::from_utf8_lossy(&heard[..n]).into_owned()
    });
    if cfg!(unix) {
        let mut command = home.steward(&["call", "read_file", "--path", "Projects/My Note"]);
        command.current_dir(&vault);
        let run = finish(command);
        assert_eq!(run.code, 1, "{run:?}");
        let heard = heard.join().unwrap();
        assert!(!heard.contains("My Note"));
        let token = home.run_in(&vault, &["token"]).expect(0).stdout;
        assert!(!heard.to_lowercase().contains(token.trim_end()), "{heard}");
    }
}

#[test]
#[cfg(unix)]
fn what_passes_everything_on_to_the_daemon_learns_nothing_of_use() {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::{Arc, Mutex};

    let home = Home::new();
    let vault = home.vault("Notes");
    let daemon = home.serve(&vault);
    let there = daemon.port();
    // A program on another port that forwards the challenge to the daemon, with its true name.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap().port();
    let record = home.state().join("daemon.json");
    let mut text: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    text["port"] = here.into();
    std::fs::write(&record, text.to_string()).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut client, mut inner) =
                (stream.unwrap(), TcpStream::connect(("127.0.0.1", there)).unwrap());
            let (mut answers, mut back) = (inner.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut answers, &mut back);
                let _ = back.shutdown(std::net::Shutdown::Both);
            });
            let hears = Arc::clone(&hears);
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(n @ 1..) = client.read(&mut bytes) {
                    hears.lock().unwrap().extend_from_slice(&bytes[..n]);
                    let said = String::from_utf8_lossy(&bytes[..n]);
                    let said = said.replace(&here.to_string(), &there.to_string());
                    if inner.write_all(said.as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    let run = home.run_in(&vault, &["call", "read_file", "--path", "Projects/My Note", "--json"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(run.json()["code"], "not_the_daemon", "{run:?}");
    let heard = String::from_utf8_lossy(&heard.lock().unwrap()).into_owned();
    assert!(heard.contains("/v1/challenge/"), "it was asked: {heard}");
    let token = home.run_in(&vault, &["token"]).expect(0).stdout;
    assert!(!heard.contains(token.trim_end()), "{heard}");
    assert!(!heard.contains("vault.ticket") && !heard.contains("My Note"), "{heard}");
    // The daemon itself is still running.
    text["port"] = there.into();
    std::fs::write(&record, text.to_string()).unwrap();
    home.run_in(&vault, &["call", "read_file", "--path", "Projects/My Note"]).expect(0);
}

#[test]
fn the_direct_flag_may_precede_the_tool() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let _daemon = home.serve(&vault);
    let line = ["call", "--direct", "create_folder", "--path", "New"];
    home.run_in(&vault, &line).expect(3);
}

#[test]
fn the_fullest_answers_of_an_ordinary_vault_fit_into_one_message() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let line = "She said \"plant the beans\", and so we did.\n";
    for folder in 0..60 {
        let folder = vault.join(format!("Projects and areas/The garden, year {folder}"));
        std::fs::create_dir_all(&folder).unwrap();
        for note in 0..90 {
            let note = folder.join(format!("Notes of the week {note}.md"));
            std::fs::write(note, line.repeat(6)).unwrap();
        }
    }
    std::fs::write(vault.join("Long.md"), line.repeat(4_000)).unwrap();
    let daemon = home.serve(&vault);
    let mut client = client(&home, &vault, &daemon);
    let search = json!({
        "pattern": "beans", "max_results": 1000, "max_matches": 500, "context_lines": 20
    });
    let calls = [
        ("read_file", json!({"path": "Long.md"})),
        ("list_files", json!({"pattern": "**/*.md", "max_results": 1000})),
        ("directory_tree", json!({"max_depth": 64, "max_entries": 5000})),
        ("search_files", search),
    ];
    for (tool, arguments) in calls {
        let answer = client.call("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], false, "{tool}: {}", answer["error"]);
        assert!(answer.to_string().len() > 50_000, "{tool} was to answer at length");
    }
}

#[test]
fn what_a_tool_is_about_may_be_given_without_a_flag() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let run = |arguments: &[&str]| home.run_in(&vault, &[&["call"], arguments].concat());
    let read = run(&["read_file", "projects/my note"]).expect(0);
    assert!(read.stdout.contains("budget 12"), "{read:?}");
    run(&["read_file", "projects/my note", "--start-line", "2"]).expect(0);
    let found = run(&["search_files", "budget", "--context-lines", "0"]).expect(0);
    assert!(found.stdout.contains("(1 match)"), "{found:?}");
    assert!(run(&["list_files", "projects"]).expect(0).stdout.contains("My Note.md"));
    let dry = run(&["move", "projects/my note", "Other", "--dry-run"]).expect(0);
    assert!(dry.stdout.contains("Other.md"), "{dry:?}");
    let many = run(&["read_file", "one", "two"]).expect(2);
    assert!(many.stderr.starts_with("error: unexpected value 'two' for"), "{many:?}");
}

#[test]
fn errors_use_the_words_of_the_command_line() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let run = |arguments: &[&str]| home.run_in(&vault, arguments);
    let missing = run(&["call", "edit_file", "--old-text", "a"]).expect(1);
    let said = "error: edit_file needs `--path`\nhint: see `steward call edit_file --help`\n";
    assert_eq!(missing.stderr, said);
    let missing = run(&["call", "edit_file", "--json"]).expect(1).json();
    assert_eq!(missing["code"], "invalid_input");
    for (arguments, hint) in [
        (&["restore", "gone"][..], "`steward trash list`"),
        (&["undo"], "`steward log`"),
        (&["call", "list_files", "--path", "nowhere"], "`steward list`"),
    ] {
        let run = run(arguments).expect(1);
        assert!(run.stderr.contains(hint), "{arguments:?} {run:?}");
    }
}

#[test]
fn switches_and_properties_are_given_as_people_write_them() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let run = |arguments: &[&str]| home.run_in(&vault, &[&["call"], arguments].concat());
    let none = run(&["daily_note", "--date", "2026-11-21", "--create", "false"]).expect(0);
    assert!(none.stdout.contains("is not there yet"), "{none:?}");
    let write = ["write_file", "--path", "a.md", "--content", "true"];
    run(&write).expect(0);
    assert_eq!(std::fs::read_to_string(vault.join("a.md")).unwrap(), "true");
    let set = ["set_properties", "a", "--set", "status=done", "--set", "tags=[plot, bed]"];
    run(&[&set[..], &["--set", "pages=3"]].concat()).expect(0);
    let text = std::fs::read_to_string(vault.join("a.md")).unwrap();
    assert_eq!(text, "---\npages: 3\nstatus: done\ntags:\n  - plot\n  - bed\n---\ntrue");
}
