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
        // No test uses the port of a daemon that someone may be running.
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

    /// Stops the daemon if one is running.
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

/// Connections to `port` that are open or ended a moment ago.
#[cfg(target_os = "linux")]
fn connections(port: u64) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let ours = format!("0100007F:{port:04X}");
    // The listening socket is one of these lines.
    table.lines().filter(|line| line.split_whitespace().nth(1) == Some(&*ours)).count() - 1
}

#[test]
#[cfg(target_os = "linux")]
fn messages_that_follow_at_once_go_over_one_connection() {
    let mut relay = Relay::new();
    relay.ask("ping", &json!({}));
    let status = relay.home.run(&["status", "--json", "--vault", &relay.vault]).json();
    let port = status["daemon"]["port"].as_u64().unwrap();
    let before = connections(port);
    for _ in 0..200 {
        assert_eq!(relay.ask("ping", &json!({}))["result"], json!({}));
    }
    // Some of the earlier connections are closed by now.
    let more = connections(port).saturating_sub(before);
    // A machine that pauses for half a second makes another one.
    assert!(more < 20, "{more} connections for 200 messages");
}

#[test]
fn a_token_that_is_rotated_between_two_messages_is_not_noticed() {
    let mut relay = Relay::new();
    let read = json!({"name": "read_file", "arguments": {"path": "a"}});
    for _ in 0..3 {
        let answer = relay.ask("tools/call", &read);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        // The connection is not idle long enough to be closed.
        relay.home.run(&["token", "--rotate", "--vault", &relay.vault]).expect(0);
    }
    let answer = relay.ask("tools/call", &read);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[test]
fn a_daemon_that_ends_between_two_of_many_messages_is_replaced() {
    let mut relay = Relay::new();
    for number in 0..4 {
        let add = json!({"path": format!("n{number}"), "content": "x\n"});
        let made = relay.ask("tools/call", &json!({"name": "write_file", "arguments": add}));
        assert_eq!(made["result"]["isError"], false, "{made}");
        relay.ask("ping", &json!({}));
        if number % 2 == 1 {
            relay.end_daemon();
        }
    }
    for number in 0..4 {
        assert!(std::path::Path::new(&format!("{}/n{number}.md", relay.vault)).exists());
    }
}

#[test]
fn only_messages_are_written_for_any_input() {
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
    // A line of random bytes may be blank, and then counts as none.
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
fn an_invalid_message_gets_an_error_with_its_id() {
    let mut relay = Relay::new();
    let listen = json!({"notifications": {}, "_meta": meta()});
    relay.ask("subscriptions/listen", &listen);
    // Its id is in flight as long as it lasts.
    let twice = relay.ask("ping", &json!({}));
    assert_eq!((&twice["id"], &twice["error"]["code"]), (&Value::Null, &json!(-32600)), "{twice}");
    relay.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    let with = |key: &str, value: Value| {
        let mut meta = meta();
        meta[format!("io.modelcontextprotocol/{key}")] = value;
        json!({ "_meta": meta })
    };
    for (params, code) in [
        (json!({"_meta": 3}), -32602),
        (with("protocolVersion", json!(3)), -32602),
        (with("protocolVersion", json!("2999-01-01")), -32022),
        (with("clientCapabilities", json!(null)), -32602),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": "w", "method": "tools/list", "params": params});
        relay.say(&body.to_string());
        let answer = relay.hear();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!("w"), &json!(code)),
            "{answer}"
        );
    }
}

#[test]
fn what_happens_is_passed_on_until_the_client_gives_up_hearing_of_it() {
    let mut relay = Relay::new();
    let wanted = json!({"resourceSubscriptions": ["vault:///a.md"]});
    let listen = json!({"notifications": wanted, "_meta": meta()});
    let acknowledged = relay.ask("subscriptions/listen", &listen);
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    std::fs::write(format!("{}/a.md", relay.vault), "two\n").unwrap();
    let notification = relay.hear();
    assert_eq!(notification["method"], "notifications/resources/updated", "{notification}");
    relay.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    std::fs::write(format!("{}/a.md", relay.vault), "three\n").unwrap();
    // Nothing else arrives.
    relay.say(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    let answer = relay.hear();
    assert_eq!((&answer["id"], &answer["result"]), (&json!(2), &json!({})), "{answer}");
}

#[test]
fn a_client_of_the_legacy_era_subscribes_and_unsubscribes() {
    let mut relay = Relay::new();
    let begin = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
    let answer = relay.ask("initialize", &begin);
    assert_eq!(answer["result"]["capabilities"]["resources"]["subscribe"], true, "{answer}");
    let uri = |name: &str| json!({"uri": format!("vault:///{name}.md")});
    for name in ["a", "b", "c"] {
        let answer = relay.ask("resources/subscribe", &uri(name));
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    let write = |relay: &Relay, name: &str, text: &str| {
        std::fs::write(format!("{}/{name}.md", relay.vault), text).unwrap();
    };
    let next = |relay: &mut Relay| {
        let notification = relay.hear();
        assert_eq!(notification["method"], "notifications/resources/updated", "{notification}");
        notification["params"].clone()
    };
    write(&relay, "a", "two\n");
    assert_eq!(next(&mut relay), uri("a"));
    write(&relay, "c", "new\n");
    assert_eq!(next(&mut relay), uri("c"));
    for (method, params) in [
        ("resources/subscribe", json!({"uri": "file:///a.md"})),
        ("resources/subscribe", json!({})),
        ("resources/unsubscribe", json!({"uri": 3})),
    ] {
        let answer = relay.ask(method, &params);
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(1), &json!(-32602)),
            "{answer}"
        );
    }
    assert_eq!(relay.ask("resources/unsubscribe", &uri("a"))["result"], json!({}));
    write(&relay, "a", "three\n");
    write(&relay, "b", "new\n");
    assert_eq!(next(&mut relay), uri("b"));

    // Another daemon does not know it; the next request tells it.
    relay.end_daemon();
    assert_eq!(relay.ask("ping", &json!({}))["result"], json!({}));
    // Until it is subscribed, nothing is sent.
    let mut notification = None;
    for number in 0..200 {
        write(&relay, "b", &format!("{number}\n"));
        relay.say(&json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}).to_string());
        let message = relay.hear();
        if message["method"] == "notifications/resources/updated" {
            notification = Some(message["params"].clone());
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(notification, Some(uri("b")));
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
fn a_daemon_that_is_asked_on_one_connection_again_and_again_is_needed() {
    let mut relay = Relay::new();
    let arguments = ["serve", "--json", "--port", "0", "--idle-exit", "1", "--vault", &relay.vault];
    let mut command = relay.home.steward(&arguments);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert!(ready.contains("ready"), "{ready}");
    let begun = std::time::Instant::now();
    while begun.elapsed() < std::time::Duration::from_millis(2500) {
        assert_eq!(relay.ask("ping", &json!({}))["result"], json!({}));
        assert!(child.try_wait().unwrap().is_none(), "it ended between two messages");
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_daemon_that_nobody_needs_any_more_ends() {
    let relay = Relay::new();
    let arguments = ["serve", "--json", "--port", "0", "--idle-exit", "1", "--vault", &relay.vault];
    let mut command = relay.home.steward(&arguments);
    let mut child = command.spawn().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
