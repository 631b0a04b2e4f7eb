//! The relay: lines in, messages out, nothing else.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::editor::Ground;

#[test]
fn only_messages_are_written_for_any_input() {
    let ground = Ground::new("");
    let mut input = Vec::new();
    let mut seed = 7_u64;
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": 1}});
    input.extend(format!("{begin}\n").bytes());
    for number in 0..10_000_u64 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number | 1);
        let line: Vec<u8> = match number % 5 {
            0 => seed.to_le_bytes().into_iter().filter(|byte| *byte != b'\n').collect(),
            1 => {
                let whole = r#"{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}"#;
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
    let last = json!({"jsonrpc": "2.0", "id": "last", "method": "session/list", "params": {}});
    input.extend(format!("{last}\n").bytes());
    let mut command = ground.home.steward(&["acp", "--vault", &ground.vault]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writes = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    writes.join().unwrap();
    assert_eq!(output.status.code(), Some(0), "the end of its input is its end");
    let answers: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no message: {line}")))
        .collect();
    assert!(answers.len() > 9_000, "{}", answers.len());
    assert!(answers.iter().any(|one| one["id"] == "last" && one["result"].is_object()));
    for fault in answers.iter().filter(|one| one["id"] != 1 && one["id"] != "last") {
        let code = fault["error"]["code"].as_i64().unwrap_or_default();
        assert!([-32700, -32600, -32601].contains(&code) || fault["result"].is_object(), "{fault}");
    }
    let long = |fault: &&Value| fault["error"]["message"] == "the line is too long";
    assert_eq!(answers.iter().filter(long).count(), 1);
}

#[test]
fn requests_before_initialize_and_duplicate_ids_are_refused() {
    let ground = Ground::new("");
    let mut editor = ground.starting();
    let early = editor.call("session/list", json!({}));
    assert_eq!(early["error"]["data"]["kind"], "not_initialized", "{early}");
    editor.call("initialize", json!({"protocolVersion": 99}));
    let twice = editor.call("initialize", json!({"protocolVersion": 1}));
    assert_eq!(twice["error"]["data"]["kind"], "already_initialized", "{twice}");
    let id = editor.begin(&ground.vault);
    ground.says(crate::models::Answer::steps(vec![crate::models::Step::Hang]));
    let prompt = editor.begin_prompt(&id, "hang");
    editor.say(&json!({"jsonrpc": "2.0", "id": prompt, "method": "session/list", "params": {}}));
    let twice = editor.until(|one| one["id"].is_null() && one["error"].is_object());
    assert_eq!(twice["error"]["data"]["kind"], "duplicate_id", "{twice}");
    ground.end_daemon();
    let lost = editor.answer(prompt);
    assert!(lost["error"]["message"].as_str().unwrap().contains("was lost"), "{lost}");
    // The next line reaches another daemon.
    let listed = editor.call("session/list", json!({}));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], id.as_str(), "{listed}");
}

#[test]
fn a_turn_survives_the_relay_and_can_be_loaded() {
    let ground = Ground::new("");
    let mut editor = ground.editor();
    let id = editor.begin(&ground.vault);
    ground.calls("write_file", json!({"path": "new", "content": "n\n"}));
    editor.begin_prompt(&id, "write");
    editor.until(|one| one["params"]["update"]["sessionUpdate"] == "tool_call");
    editor.child.kill().unwrap();
    let mut later = ground.editor();
    let load = json!({"sessionId": id, "cwd": ground.vault, "mcpServers": []});
    assert!(later.call("session/load", load)["result"].is_object());
    let is_last = |one: &Value| {
        let update = &one["params"]["update"];
        update["sessionUpdate"] == "agent_message_chunk" && update["content"]["text"] == "done"
    };
    if !later.heard.iter().any(is_last) {
        later.until(is_last);
    }
    assert_eq!(ground.read("new.md"), "n\n");
}
