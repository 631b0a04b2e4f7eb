//! Messages during an open request: the progress of a call, and changes of the vault.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::door::Client;
use crate::ground::{Ground, meta, request};

/// An answer that arrives in pieces.
struct Pieces(BufReader<TcpStream>);

impl Pieces {
    fn ask(ground: &Ground, method: &str, params: &Value) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", ground.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let body = request(method, params);
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            ground.port,
            ground.token,
            params["name"].as_str().unwrap_or_default(),
            body.len()
        );
        (&stream).write_all(head.as_bytes()).unwrap();
        Self(BufReader::new(stream))
    }

    /// The next message.
    fn next(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "it ended");
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }
}

/// A person's own program that shows approval requests.
fn person(ground: &Ground) -> Client {
    let mut person = Client::connect(ground.port, &ground.token("person")).unwrap();
    let can = json!({"_meta": {"vault": {"approvals": true}}});
    person.call("initialize", json!({"protocolVersion": 1, "clientCapabilities": can}));
    person
}

#[test]
fn a_call_that_waits_for_a_person_says_so_and_is_answered_in_the_end() {
    let ground = Ground::new("[policy]\nmode = \"ask\"\n");
    let mut person = person(&ground);
    let mut meta = meta();
    meta["progressToken"] = "mine".into();
    let write = json!({"name": "write_file", "arguments": {"path": "new", "content": "n\n"},
        "_meta": meta});
    let mut pieces = Pieces::ask(&ground, "tools/call", &write);
    let question = person.read();
    assert_eq!(question["method"], "session/request_permission", "{question}");
    let progress = pieces.next();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["progressToken"], "mine");
    assert_eq!(progress["params"]["progress"], 1);
    assert!(progress["params"]["message"].as_str().unwrap().contains("user"), "{progress}");
    let yes = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    let yes = json!({"jsonrpc": "2.0", "id": question["id"], "result": yes});
    person.send(&yes.to_string());
    let answer = pieces.next();
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!(1), &json!(false)),
        "{answer}"
    );
    assert_eq!(ground.read("new.md"), "n\n");
    // A quick call gets one plain answer at once.
    let mut meta = crate::ground::meta();
    meta["progressToken"] = 7.into();
    let read = json!({"name": "read_file", "arguments": {"path": "a"}, "_meta": meta});
    let headers = [
        "Accept: application/json, text/event-stream",
        "Mcp-Method: tools/call",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Name: read_file",
    ];
    let body = request("tools/call", &read);
    let (_, answer) = crate::posted::post(ground.port, &ground.token, &headers, &body);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[test]
fn a_client_receives_only_its_subscriptions() {
    let ground = Ground::new("");
    let wanted = json!({"resourcesListChanged": true, "moonListChanged": true,
        "resourceSubscriptions": ["vault:///a.md", "vault:///none.md"]});
    let mut params = json!({"notifications": wanted, "_meta": meta()});
    let mut pieces = Pieces::ask(&ground, "subscriptions/listen", &params);
    let acknowledged = pieces.next();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    let honoured = json!({"resourcesListChanged": true,
        "resourceSubscriptions": ["vault:///a.md", "vault:///none.md"]});
    assert_eq!(acknowledged["params"]["notifications"], honoured);
    for text in ["two\n", "three\n"] {
        fs::write(ground.vault.join("a.md"), text).unwrap();
    }
    let notification = pieces.next();
    assert_eq!(notification["method"], "notifications/resources/updated", "{notification}");
    assert_eq!(notification["params"]["uri"], "vault:///a.md");
    assert_eq!(notification["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    fs::write(ground.vault.join("b.md"), "new\n").unwrap();
    // The two writes may be reported separately, but the other note causes no notification.
    let mut notification = pieces.next();
    while notification["method"] == "notifications/resources/updated" {
        assert_eq!(notification["params"]["uri"], "vault:///a.md");
        notification = pieces.next();
    }
    assert_eq!(notification["method"], "notifications/resources/list_changed", "{notification}");

    for wrong in [
        json!(null),
        json!({"resourceSubscriptions": "vault:///a.md"}),
        json!({"resourceSubscriptions": ["file:///a.md"]}),
        json!({"resourceSubscriptions": vec!["vault:///a.md"; 101]}),
    ] {
        params["notifications"] = wrong;
        let (status, answer) = ground.ask_modern("subscriptions/listen", &params);
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32602)), "{answer}");
    }
    // A client that begins with `initialize` has no such request.
    let (_, answer) = ground.ask("subscriptions/listen", &json!({"notifications": {}}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}

#[test]
fn a_client_receives_changes_of_the_tool_list() {
    let ground = Ground::new("[mcp]\ntools = [\"read_file\"]\n");
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta()});
    let mut pieces = Pieces::ask(&ground, "subscriptions/listen", &params);
    assert_eq!(pieces.next()["params"]["notifications"], json!({"toolsListChanged": true}));
    ground.home.write_config("[mcp]\ntools = \"all\"\n");
    assert_eq!(pieces.next()["method"], "notifications/tools/list_changed");
    let (_, answer) = ground.ask("tools/list", &json!({}));
    assert!(answer["result"]["tools"].as_array().unwrap().len() > 20, "{answer}");
}

#[test]
fn a_client_receives_changes_of_the_prompt_list() {
    let ground = Ground::new("");
    fs::create_dir(ground.vault.join("Templates")).unwrap();
    let settings = ground.vault.join(".obsidian/templates.json");
    fs::write(settings, r#"{"folder": "templates"}"#).unwrap();
    let params = json!({"notifications": {"promptsListChanged": true}, "_meta": meta()});
    let mut pieces = Pieces::ask(&ground, "subscriptions/listen", &params);
    assert_eq!(pieces.next()["params"]["notifications"], json!({"promptsListChanged": true}));
    // Another note does not count, and the text of a template is not in the list.
    fs::write(ground.vault.join("b.md"), "new\n").unwrap();
    fs::write(ground.vault.join("Templates/Meeting.md"), "# {{title}}\n").unwrap();
    let notification = pieces.next();
    assert_eq!(notification["method"], "notifications/prompts/list_changed", "{notification}");
    let (_, answer) = ground.ask("prompts/list", &json!({}));
    assert_eq!(answer["result"]["prompts"][1]["name"], "template_Meeting", "{answer}");
}
