//! `steward mcp`, as a client starts it: lines in, lines out, and nothing else.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::ground::{meta, request};
use crate::home::Home;

/// A client with its server; the daemon that this one starts ends with the test.
struct Relay {
    home: Home,
    vault: String,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Relay {
    fn new() -> Self {
        let home = Home::new();
        let vault = home.vault("Notes");
        std::fs::write(vault.join("a.md"), "one\n").unwrap();
        // No test takes the port of a daemon that somebody uses.
        home.write_config("[server]\nport = 0\n");
        let vault = vault.to_str().unwrap().to_owned();
        let mut command = home.steward(&["mcp", "--vault", &vault]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { home, vault, child, stdin, stdout }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.say(&request(method, params));
        self.hear()
    }

    /// Ends the daemon, where one runs.
    fn end_daemon(&self) {
        let status = self.home.run(&["status", "--json", "--vault", &self.vault]).json();
        if let Some(pid) = status["daemon"]["pid"].as_i64() {
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.end_daemon();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_daemon_is_started_where_none_runs_and_again_where_it_ended() {
    let mut relay = Relay::new();
    let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "a desktop", "version": "1"}});
    let answer = relay.ask("initialize", &begin);
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
    relay.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let edit = json!({"path": "a", "old_text": "one", "new_text": "two"});
    let edited = relay.ask("tools/call", &json!({"name": "edit_file", "arguments": edit}));
    assert_eq!(edited["result"]["isError"], false, "{edited}");
    let audit = relay.home.run(&["audit", "--json", "--vault", &relay.vault]).expect(0).stdout;
    assert!(audit.contains("a desktop"), "{audit}");

    relay.end_daemon();
    let undone = relay.ask("tools/call", &json!({"name": "undo"}));
    assert_eq!(undone["result"]["isError"], false, "{undone}");
    assert_eq!(std::fs::read_to_string(format!("{}/a.md", relay.vault)).unwrap(), "one\n");
    // The modern era has no headers here.
    let read = json!({"name": "read_file", "arguments": {"path": "a"}, "_meta": meta()});
    let read = relay.ask("tools/call", &read);
    assert_eq!(read["result"]["resultType"], "complete", "{read}");

    drop(relay.stdin.take());
    assert_eq!(relay.child.wait().unwrap().code(), Some(0), "the end of its input is its end");
}

#[test]
fn nothing_but_messages_is_written_whatever_is_read() {
    let relay = Relay::new();
    let mut input = Vec::new();
    let mut seed = 7_u64;
    for number in 0..10_000_u64 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number | 1);
        let line: Vec<u8> = match number % 5 {
            // Bytes of any kind.
            0 => seed.to_le_bytes().into_iter().filter(|byte| *byte != b'\n').collect(),
            // Half a message.
            1 => {
                let whole = request("tools/list", &json!({}));
                whole.as_bytes()[..1 + usize::try_from(seed >> 33).unwrap() % (whole.len() - 1)]
                    .to_vec()
            }
            2 => format!(r#"{{"jsonrpc":"2.0","id":[{number}],"method":"ping"}}"#).into_bytes(),
            3 => format!(r#"{{"jsonrpc":"{number}","id":1,"method":"ping"}}"#).into_bytes(),
            _ => format!(r#"[{{"jsonrpc":"2.0","id":{number},"method":"ping"}}]"#).into_bytes(),
        };
        input.extend(line);
        input.push(b'\n');
    }
    input.extend(std::iter::repeat_n(b'x', 8 << 20));
    input.push(b'\n');
    input.extend(request("ping", &json!({})).bytes());
    let mut command = relay.home.steward(&["mcp", "--vault", &relay.vault]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Answers come while lines are still read.
    let writes = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    writes.join().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let answers: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no message: {line}")))
        .collect();
    // A line of bytes alone may be empty, and is then none.
    assert!(answers.len() > 9_000, "{}", answers.len());
    let (last, faults) = answers.split_last().unwrap();
    assert_eq!(last["result"], json!({}), "it still answers: {last}");
    for fault in faults {
        let code = fault["error"]["code"].as_i64().unwrap_or_default();
        assert!([-32700, -32600].contains(&code), "{fault}");
    }
    let long = |fault: &&Value| fault["error"]["message"] == "the line is too long";
    assert_eq!(faults.iter().filter(long).count(), 1);
}

#[test]
fn what_happens_is_passed_on_until_the_client_gives_up_hearing_of_it() {
    let mut relay = Relay::new();
    let wanted = json!({"resourceSubscriptions": ["vault:///a.md"]});
    let listen = json!({"notifications": wanted, "_meta": meta()});
    let acknowledged = relay.ask("subscriptions/listen", &listen);
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    std::fs::write(format!("{}/a.md", relay.vault), "two\n").unwrap();
    let told = relay.hear();
    assert_eq!(told["method"], "notifications/resources/updated", "{told}");
    relay.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    std::fs::write(format!("{}/a.md", relay.vault), "three\n").unwrap();
    // Nothing else comes.
    relay.say(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    let answer = relay.hear();
    assert_eq!((&answer["id"], &answer["result"]), (&json!(2), &json!({})), "{answer}");
}

#[test]
fn every_clients_entry_starts_the_relay_and_holds_no_token() {
    let relay = Relay::new();
    let token = relay.home.run(&["token", "--vault", &relay.vault]).expect(0);
    for client in ["claude-code", "claude-desktop", "codex", "cursor", "vscode", "zed"] {
        let run = relay.home.run(&["mcp", "config", client, "--vault", &relay.vault]).expect(0);
        for part in ["steward", "mcp", "--vault", &relay.vault] {
            assert!(run.stdout.contains(part), "{client}: {}", run.stdout);
        }
        let mcp = relay.home.run(&["token", "--scope", "mcp", "--vault", &relay.vault]).expect(0);
        for secret in [&token, &mcp] {
            assert!(!run.stdout.contains(secret.stdout.trim()), "{client}");
        }
        assert!(run.stderr.contains("add this to"), "{client}: {}", run.stderr);
    }
    let run = relay.home.run(&["mcp", "config", "codex", "--vault", &relay.vault]).expect(0);
    assert!(run.stdout.contains("[mcp_servers.vault]"), "{}", run.stdout);
    let run = relay.home.run(&["mcp", "config", "zed", "--vault", &relay.vault]).expect(0);
    assert!(run.json()["context_servers"]["vault"]["command"].is_string(), "{}", run.stdout);
}

#[test]
fn a_daemon_that_nobody_needs_any_more_ends() {
    let relay = Relay::new();
    let arguments = ["serve", "--json", "--port", "0", "--idle-exit", "1", "--vault", &relay.vault];
    let mut command = relay.home.steward(&arguments);
    let mut child = command.spawn().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
