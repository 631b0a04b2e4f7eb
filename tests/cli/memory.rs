//! Large data is never held in memory (cases 54 and 110), measured by the program's own size.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use vault_steward::vault::Revision;

use crate::client::client;
use crate::support::{Daemon, Home, Run, finish};

const HUGE: usize = 300 << 20;

/// Fills a file with `piece` up to [`HUGE`] bytes, after `first`.
fn fill(path: &Path, first: &str, piece: &str) {
    let mut file = File::create(path).unwrap();
    file.write_all(first.as_bytes()).unwrap();
    let block = piece.repeat((1 << 20) / piece.len());
    for _ in 0..HUGE / block.len() + 1 {
        file.write_all(block.as_bytes()).unwrap();
    }
}

/// The most memory that the daemon ever had, in megabytes.
fn peak(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// The same with an address space smaller than the files.
fn confined(command: &Command) -> Run {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v 262144 && exec \"$0\" \"$@\""]).arg(command.get_program());
    shell.args(command.get_args()).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    // Memory that a machine with many cores would reserve for its threads.
    shell.envs([("RAYON_NUM_THREADS", "2"), ("TOKIO_WORKER_THREADS", "2")]);
    shell.env("MALLOC_ARENA_MAX", "2");
    finish(shell)
}

#[test]
fn huge_files_are_worked_with_and_never_held() {
    let home = Home::new();
    let vault = home.vault("Notes");
    fill(&vault.join("line.md"), "", "words without an end ");
    fill(&vault.join("lines.md"), "the needle\n", "a line of text like any other\n");
    let name = vault.to_str().unwrap();
    let calls: [(&[&str], i32); 8] = [
        (&["read_file", "--path", "line"], 1),
        (&["read_file", "--path", "lines", "--start-line", "9000000"], 1),
        (&["edit_file", "--path", "lines", "--old-text", "needle", "--new-text", "x"], 1),
        (&["edit_file", r#"{"path": "line", "insert_after_line": 0, "content": "x"}"#], 1),
        (&["get_file_info", "--path", "line"], 0),
        (&["get_file_info", "--path", "lines"], 0),
        (&["search_files", "--pattern", "the needle"], 0),
        (&["list_files", "--sort-by", "size"], 0),
    ];
    let check = |call: &[&str], code: i32, run: Run| {
        assert_eq!(run.code, code, "{call:?}: {run:?}");
        let answer: Value = run.json();
        match call[0] {
            "read_file" | "edit_file" => {
                assert_eq!(answer["code"], "too_large", "{answer}");
                assert!(answer["data"]["size"].as_u64().unwrap() >= HUGE as u64, "{answer}");
            }
            "get_file_info" => assert!(answer["lines"].is_null(), "{answer}"),
            "search_files" => {
                assert_eq!(answer["files"][0]["path"], "lines.md", "{answer}");
                let skipped = answer["skipped"][0]["path"] == "line.md";
                assert!(skipped || answer["timed_out"] == true, "{answer}");
            }
            _ => assert_eq!(answer["total"], 3, "{answer}"),
        }
    };
    for (call, code) in calls {
        let arguments = [&["call", "--direct", "--json", "--vault", name], call].concat();
        check(call, code, confined(&home.steward(&arguments)));
    }
    let daemon = home.serve(&vault);
    for (call, code) in calls {
        let arguments = [&["call", "--json", "--vault", name], call].concat();
        check(call, code, home.run(&arguments));
    }
    // Even when overwritten, moved and deleted.
    let change = |arguments: &[&str]| {
        let arguments = [&["call", "--vault", name], arguments].concat();
        home.run(&arguments).expect(0);
    };
    change(&["move", "--source", "lines.md", "--destination", "Big/lines.md"]);
    // It is too large to have been read by anyone.
    let write =
        ["call", "--vault", name, "write_file", "--path", "big/lines", "--content", "small"];
    assert!(home.run(&write).expect(1).stderr.contains("too large to be read"));
    let revision = Revision::of(&std::fs::read(vault.join("Big/lines.md")).unwrap()).to_string();
    change(&[&write[3..], &["--expected-revision", &revision][..]].concat());
    assert_eq!(std::fs::read(vault.join("Big/lines.md")).unwrap(), b"small");
    change(&["delete", "--path", "line"]);
    let peak = peak(&daemon);
    assert!(peak < 100, "{peak} MB");
}

#[test]
fn hostile_frames_do_not_grow_the_daemon() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let daemon = home.serve(&vault);
    let client = || client(&home, &vault, &daemon);
    let mut witness = client();
    witness.tool("list_files");
    let before = peak(&daemon);
    let flood = |begin: &[u8], piece: &[u8], times: usize| {
        let mut client = client();
        let stream = client.socket.get_mut();
        let _ = stream.write_all(begin);
        let block = piece.repeat(1_000);
        let _ = (0..times / 1_000).try_for_each(|_| stream.write_all(&block));
        client.close_code()
    };
    // Empty frames, pings, and a frame header that announces 100 MB.
    let empty = [0x00, 0x80, 0, 0, 0, 0];
    assert_eq!(flood(&[0x01, 0x80, 0, 0, 0, 0], &empty, 1_000_000), 1009);
    let full = [&[0x89, 0xfd, 0, 0, 0, 0][..], &[b'x'; 125]].concat();
    assert!(matches!(flood(&[], &full, 64_000), 1008 | 4408 | 0));
    let head = [0x81, 0xff, 0, 0, 0, 0, 0x06, 0x40, 0, 0, 0, 0, 0, 0];
    for _ in 0..10 {
        assert!(matches!(flood(&head, &[b' '; 1_000], 10_000), 1009 | 0));
    }
    assert!(witness.call("_vault/ping", serde_json::json!({}))["result"].is_object());
    let grown = peak(&daemon) - before;
    assert!(grown < 32, "{grown} MB more");
}
