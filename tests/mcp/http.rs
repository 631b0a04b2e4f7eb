//! `POST /mcp`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use vault_steward::server::token::{Proof, Token};
use vault_steward::tools::{Registry, Tier};

use crate::ground::{Ground, meta, request};
use crate::home::Home;
use crate::posted::post;

/// The largest list of tools, in bytes: it is part of every conversation of a client's model.
const MOST: usize = 24_000;

/// The same if all tools are requested.
const MAX_BYTES: usize = 46_000;

#[test]
fn a_client_of_either_era_lists_reads_changes_and_undoes() {
    let ground = Ground::new("");
    let begin = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "legacy", "version": "1"}});
    let (status, answer) = ground.ask("initialize", &begin);
    let result = &answer["result"];
    assert_eq!((status, &result["protocolVersion"]), (200, &json!("2025-06-18")), "{answer}");
    assert_eq!(result["serverInfo"]["name"], "vault-steward");
    assert!(result["instructions"].as_str().unwrap().len() <= 1500);
    let other = json!({"protocolVersion": "1999-01-01"});
    assert_eq!(ground.ask("initialize", &other).1["result"]["protocolVersion"], "2025-11-25");
    let said = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    assert_eq!(ground.post(&said), (202, Value::Null));
    assert_eq!(ground.ask("ping", &json!({})).1["result"], json!({}));

    let (_, discovered) = ground.ask_modern("server/discover", &json!({}));
    let result = &discovered["result"];
    let versions = json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
    assert_eq!(result["supportedVersions"], versions, "{discovered}");
    assert_eq!(
        (&result["resultType"], &result["cacheScope"]),
        (&json!("complete"), &json!("public"))
    );
    let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server["name"], "vault-steward");

    let (_, legacy) = ground.ask("tools/list", &json!({}));
    let (_, modern) = ground.ask_modern("tools/list", &json!({}));
    assert_eq!(legacy["result"]["tools"], modern["result"]["tools"]);
    assert!(legacy["result"].get("ttlMs").is_none());
    assert_eq!(modern["result"]["ttlMs"], 60_000);

    let (failed, text) = ground.call("read_file", &json!({"path": "A"}));
    assert!(!failed && text.contains("one"), "{text}");
    let edit = json!({"path": "a", "old_text": "one", "new_text": "two"});
    let (status, edited) =
        ground.ask_modern("tools/call", &json!({"name": "edit_file", "arguments": edit}));
    assert_eq!((status, &edited["result"]["isError"]), (200, &json!(false)), "{edited}");
    assert_eq!(edited["result"]["resultType"], "complete");
    let text = edited["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("`undo` undoes it"), "{text}");
    assert_eq!(ground.read("a.md"), "two\n");
    let (failed, text) = ground.call("undo", &json!({}));
    assert!(!failed, "{text}");
    assert_eq!(ground.read("a.md"), "one\n");
    let audit = ground.home.run_in(&ground.vault, &["audit", "--json"]).expect(0).stdout;
    assert!(audit.contains("a modern one") && audit.contains(r#""mcp""#), "{audit}");
}

#[test]
fn an_image_is_given_as_an_image() {
    let ground = Ground::new("");
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    std::fs::write(ground.vault.join("dot.png"), STANDARD.decode(pixel).unwrap()).unwrap();
    let asked = json!({"name": "read_file", "arguments": {"path": "dot.png"}});
    for (_, answer) in [ground.ask("tools/call", &asked), ground.ask_modern("tools/call", &asked)] {
        let content = answer["result"]["content"].as_array().unwrap();
        assert_eq!((content.len(), &answer["result"]["isError"]), (2, &json!(false)), "{answer}");
        let text = content[0]["text"].as_str().unwrap();
        assert!(text.starts_with("dot.png\nPNG image, 1 × 1 pixels"), "{text}");
        assert_eq!(
            (&content[1]["type"], &content[1]["mimeType"]),
            (&json!("image"), &json!("image/png"))
        );
        let image = STANDARD.decode(content[1]["data"].as_str().unwrap()).unwrap();
        assert!(image.starts_with(b"\x89PNG"));
    }
}

#[test]
fn the_list_is_short_and_made_from_the_registry() {
    let ground = Ground::new("");
    let (_, answer) = ground.ask("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let bytes = answer["result"].to_string().len();
    assert!(bytes <= MOST, "{bytes} bytes");
    let expected: Vec<_> = Registry::built_in().iter().filter(|tool| !tool.seldom).collect();
    assert_eq!(tools.len(), expected.len());
    for (shown, tool) in tools.iter().zip(expected) {
        assert_eq!(shown["name"], tool.name.as_str());
        assert_eq!(shown["annotations"]["readOnlyHint"], tool.tier == Tier::Safe, "{}", tool.name);
        assert_eq!(shown["annotations"]["idempotentHint"], tool.idempotent, "{}", tool.name);
        assert!(shown.get("outputSchema").is_none(), "{}", tool.name);
        assert!(shown["description"].as_str().unwrap().len() <= 600, "{}", tool.name);
        assert!(shown["inputSchema"].get("description").is_none(), "it stands there already");
        let long = shown["_meta"]["anthropic/maxResultSizeChars"].is_number();
        assert_eq!(long, tool.long_answer, "{}", tool.name);
        assert!(tool.name.len() <= 16, "{}", tool.name);
    }
    let write = tools.iter().find(|tool| tool["name"] == "write_file").unwrap();
    assert_eq!(write["inputSchema"]["properties"]["if_exists"]["default"], "fail");
}

/// The names of the listed tools, and the size of the list in bytes.
fn listed(settings: &str) -> (Ground, Vec<String>, usize) {
    let ground = Ground::new(settings);
    let (_, answer) = ground.ask("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    (ground, names, answer["result"].to_string().len())
}

#[test]
fn the_settings_say_which_tools_there_are() {
    let (ground, names, bytes) = listed("[mcp]\ntools = \"all\"\n");
    assert!(bytes <= MAX_BYTES, "{bytes} bytes");
    let quoting = ["get_conversation", "memory_search"];
    assert_eq!(names.len(), Registry::built_in().iter().count() - quoting.len());
    assert!(!names.iter().any(|name| quoting.contains(&name.as_str())));
    assert!(!ground.call("create_folder", &json!({"path": "new"})).0);
    let (ground, names, _) = listed("[mcp]\ntools = [\"read_file\"]\nconversations = true\n");
    assert_eq!(names, ["get_conversation", "memory_search", "read_file"]);
    assert_eq!(ground.call_unknown("list_files", &json!({})), -32602);
    let wrong = "[server]\nport = 0\n[mcp]\ntools = [\"fly\"]\n";
    let home = Home::new();
    home.write_config(wrong);
    let said = home.run(&["config", "list"]);
    assert!(said.stderr.contains("there is no tool `fly`"), "{}{}", said.stdout, said.stderr);
}

#[test]
fn one_text_is_taken_for_a_list_of_one() {
    let ground = Ground::new("");
    let asked = json!({"where": "file.name == \"a\"", "select": "file.size", "sort": "file.name"});
    let (failed, text) = ground.call("query_notes", &asked);
    assert!(!failed && text.contains("a.md | 4"), "{text}");
    let (failed, text) = ground.call("query_notes", &json!({"where": ["true"]}));
    assert!(failed && text.starts_with("invalid_input: "), "{text}");
}

#[test]
fn a_file_that_exists_is_replaced_only_where_that_is_asked_for() {
    let ground = Ground::new("");
    let blind = json!({"path": "a", "content": "three\n"});
    let (failed, text) = ground.call("write_file", &blind);
    assert!(failed && text.starts_with("already_exists: "), "{text}");
    assert!(text.contains("expected_revision") && text.contains("overwrite"), "{text}");
    assert_eq!(ground.read("a.md"), "one\n");
    let asked = json!({"path": "a", "content": "three\n", "if_exists": "overwrite"});
    assert!(!ground.call("write_file", &asked).0);
    assert_eq!(ground.read("a.md"), "three\n");
    let (_, text) = ground.call("write_file", &json!({"path": "new", "content": "four\n"}));
    let revision = text.split("revision ").nth(1).unwrap().split_whitespace().next().unwrap();
    let known = json!({"path": "new", "content": "five\n", "expected_revision": revision});
    let (failed, text) = ground.call("write_file", &known);
    assert!(!failed, "{text}");
    assert_eq!(ground.read("new.md"), "five\n");
}

#[test]
fn errors_have_the_numbers_of_the_protocol() {
    let ground = Ground::new("");
    let code = |body: &str| {
        let (status, answer) = ground.post(body);
        (status, answer["error"]["code"].as_i64().unwrap_or(0))
    };
    for (body, expected) in [
        ("", (400, -32700)),
        ("{", (400, -32700)),
        ("\u{fffd}", (400, -32700)),
        ("[]", (400, -32600)),
        ("3", (400, -32600)),
        (r#"{"id":1,"method":"ping"}"#, (400, -32600)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, (400, -32600)),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, (400, -32600)),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, (400, -32700)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, (400, -32602)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":3}}"#, (400, -32602)),
    ] {
        assert_eq!(code(body), expected, "{body}");
    }
    for (method, params, expected) in [
        ("initialize", json!({}), (200, -32602)),
        ("logging/setLevel", json!({"level": "debug"}), (200, -32601)),
        ("no/such", json!({}), (200, -32601)),
        ("tools/list", json!({"cursor": "x"}), (200, -32602)),
        ("tools/call", json!({}), (200, -32602)),
        ("tools/call", json!({"name": "fly"}), (200, -32602)),
        ("tools/call", json!({"name": "get_conversation"}), (200, -32602)),
        ("tools/call", json!({"name": "read_file", "arguments": 3}), (200, -32602)),
    ] {
        assert_eq!(code(&request(method, &params)), expected, "{method} {params}");
    }
    // Every message of a tool is for the model.
    let (failed, text) = ground.call("read_file", &json!({"path": "nowhere"}));
    assert!(failed && text.starts_with("not_found: ") && text.contains("hint: "), "{text}");
    let (failed, text) = ground.call("read_file", &json!({"path": 3}));
    assert!(failed && text.starts_with("invalid_input: "), "{text}");
}

#[test]
fn garbage_is_answered_as_such_and_the_next_request_as_ever() {
    let ground = Ground::new("[server]\nmessages_per_second = 1000000\nmessage_burst = 1000000\n");
    let whole = request("tools/list", &json!({}));
    let mut seed = 7_u64;
    for number in 0..600_u64 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number | 1);
        let body = match number % 4 {
            0 => format!("{seed:x}\u{fffd}\n{seed}"),
            1 => whole[..usize::try_from(seed >> 33).unwrap() % whole.len()].to_owned(),
            2 => format!(r#"{{"jsonrpc":"2.0","id":[{number}],"method":"ping"}}"#),
            _ => format!(r#"[{{"jsonrpc":"{number}","id":1,"method":"ping"}}]"#),
        };
        let (status, answer) = ground.post(&body);
        let code = answer["error"]["code"].as_i64().unwrap_or_default();
        assert!(status == 400 && [-32700, -32600].contains(&code), "{body}: {status} {answer}");
    }
    assert_eq!(ground.post(&request("ping", &json!({}))).1["result"], json!({}));
}

#[test]
fn a_modern_request_says_what_it_speaks_and_its_headers_agree() {
    let ground = Ground::new("");
    let send = |headers: &[&str], params: Value| {
        let body = request("tools/list", &params);
        let (status, answer) = post(ground.port, &ground.token, headers, &body);
        (status, answer["error"]["code"].as_i64().unwrap_or(0))
    };
    let (method, version) = ("Mcp-Method: tools/list", "MCP-Protocol-Version: 2026-07-28");
    let with = |key: &str, value: Value| {
        let mut meta = meta();
        meta[format!("io.modelcontextprotocol/{key}")] = value;
        json!({ "_meta": meta })
    };
    let right = json!({"_meta": meta()});
    assert_eq!(send(&[method, version], right.clone()), (200, 0));
    // Base64, which is for names that are not ASCII.
    assert_eq!(
        send(&["Mcp-Method: =?base64?dG9vbHMvbGlzdA==?=", version], right.clone()),
        (200, 0)
    );
    assert_eq!(send(&[version], right.clone()), (400, -32020));
    assert_eq!(send(&[method], right.clone()), (400, -32020));
    assert_eq!(send(&["Mcp-Method: tools/call", version], right), (400, -32020));
    assert_eq!(send(&[method, version], json!({})), (400, -32602));
    assert_eq!(send(&[method, version], with("protocolVersion", json!(3))), (400, -32602));
    assert_eq!(send(&[method, version], with("clientCapabilities", json!(null))), (400, -32602));
    let future = "MCP-Protocol-Version: 2999-01-01";
    assert_eq!(
        send(&[method, future], with("protocolVersion", json!("2999-01-01"))),
        (400, -32022)
    );
    assert_eq!(ground.ask_modern("ping", &json!({})).0, 404);
    assert_eq!(ground.ask_modern("no/such", &json!({})).1["error"]["code"], -32601);
    let (_, refused) = ground.ask_modern("tools/call", &json!({"name": "fly"}));
    assert_eq!(refused["error"]["code"], -32602);
}

#[test]
fn only_the_token_of_mcp_clients_lets_in() {
    let ground = Ground::new("");
    let body = request("tools/list", &json!({}));
    for scope in ["person", "client", "voice"] {
        let (status, answer) = post(ground.port, &ground.token(scope), &[], &body);
        assert_eq!(status, 403, "{scope}");
        let hint = answer["error"]["data"]["hint"].as_str().unwrap();
        assert!(hint.contains("steward token --scope mcp"), "{hint}");
    }
    assert_eq!(post(ground.port, &"0".repeat(64), &[], &body).0, 401);
    assert_eq!(post(ground.port, &ground.token, &["Origin: https://evil.example"], &body).0, 403);
    assert_eq!(post(ground.port, &ground.token, &["Origin: null"], &body).0, 403);
    let large = format!("{body}{}", " ".repeat(8 << 20));
    assert_eq!(post(ground.port, &ground.token, &[], &large).0, 413);
    assert_eq!(post(ground.port, &ground.token, &[], &body).0, 200);
}

#[test]
fn a_late_yes_is_valid_for_the_identical_call() {
    let ground = Ground::new("[policy]\nmode = \"ask\"\n");
    let write = json!({"path": "new", "content": "n\n"});
    let (failed, text) = ground.call("write_file", &write);
    assert!(failed && text.starts_with("approval_pending: "), "{text}");
    assert!(!ground.vault.join("new.md").exists());
    let run = |arguments: &[&str]| ground.home.run_in(&ground.vault, arguments).expect(0);
    let pending = run(&["approvals", "pending", "--json"]).json();
    let number = pending["pending"][0]["id"].as_i64().unwrap_or_else(|| panic!("{pending}"));
    run(&["approvals", "allow", &number.to_string()]);
    let (failed, text) = ground.call("write_file", &write);
    assert!(!failed, "{text}");
    assert_eq!(ground.read("new.md"), "n\n");
    let (failed, text) = ground.call("write_file", &json!({"path": "more", "content": "n\n"}));
    assert!(failed && text.starts_with("approval_pending: "), "another call: {text}");
}

/// Sends this on a connection; returns the status and the body of the answer.
fn say(mut stream: &TcpStream, head: &str, body: &str) -> (String, String) {
    let length = body.len();
    let request = format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = BufReader::new(stream);
    let (mut status, mut length) = (String::new(), 0);
    answer.read_line(&mut status).unwrap();
    loop {
        let mut line = String::new();
        answer.read_line(&mut line).unwrap();
        if let Some(bytes) = line.strip_prefix("content-length: ") {
            length = bytes.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    answer.read_exact(&mut body).unwrap();
    (status[9..12].to_owned(), String::from_utf8(body).unwrap())
}

/// Requests a note, with this header if given.
fn read_on(ground: &Ground, stream: &TcpStream, header: &str) -> (String, String) {
    let body = request("tools/call", &json!({"name": "read_file", "arguments": {"path": "a"}}));
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json{header}",
        ground.port
    );
    say(stream, &head, &body)
}

fn connect(ground: &Ground) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", ground.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

#[test]
fn a_connection_carries_one_request_after_another_each_with_its_token() {
    let ground = Ground::new("");
    let ask = |stream: &TcpStream, token: &str| {
        read_on(&ground, stream, &format!("\r\nAuthorization: Bearer {token}"))
    };
    let mut stream = connect(&ground);
    for _ in 0..3 {
        let (status, body) = ask(&stream, &ground.token);
        assert!(status == "200" && body.contains("one"), "{status} {body}");
    }
    assert_eq!(ask(&stream, "wrong").0, "401");
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "who was refused is not listened to any longer");
    let mut idle = connect(&ground);
    assert_eq!(ask(&idle, &ground.token).0, "200");
    assert_eq!(idle.read(&mut [0]).unwrap(), 0, "who says nothing more is let go");
    let shown = connect(&ground);
    assert_eq!(ask(&shown, &ground.token).0, "200");
    assert_eq!(read_on(&ground, &shown, "").0, "401", "a token is shown with each request");

    let busy = connect(&ground);
    assert_eq!(ask(&busy, &ground.token).0, "200");
    ground.home.run_in(&ground.vault, &["token", "--rotate"]).expect(0);
    assert_eq!(ask(&connect(&ground), &ground.token).0, "401", "at once on a new connection");
    let rotated = Instant::now();
    while ask(&busy, &ground.token).0 != "401" {
        assert!(rotated.elapsed() < Duration::from_secs(30), "the old token stays valid");
    }
}

/// A connection on which the daemon has proved itself, and the header that authenticates the
/// client.
fn challenged(ground: &Ground) -> (TcpStream, String) {
    let stream = connect(ground);
    let token = Token::parse(&ground.token).unwrap();
    let (name, nonce) = (token.name(), Token::generate().unwrap().reveal());
    let head =
        format!("GET /v1/challenge/{name}/{nonce} HTTP/1.1\r\nHost: 127.0.0.1:{}", ground.port);
    let (status, answer) = say(&stream, &head, "");
    assert_eq!(status, "200", "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let theirs = answer["nonce"].as_str().unwrap();
    let both = format!("{nonce} {theirs}");
    assert_eq!(answer["proof"], token.proof(Proof::Challenge, ground.port, &both));
    let proof = token.proof(Proof::Ticket, ground.port, theirs);
    (stream, format!("\r\nSec-WebSocket-Protocol: vault.ticket.{name}.{theirs}.{proof}"))
}

#[test]
fn a_ticket_admits_its_connection_until_the_token_is_rotated() {
    let mut ground = Ground::new("");
    let (stream, ticket) = challenged(&ground);
    assert_eq!(read_on(&ground, &stream, &ticket).0, "200");
    for _ in 0..3 {
        let (status, body) = read_on(&ground, &stream, "");
        assert!(status == "200" && body.contains("one"), "{status} {body}");
    }
    // It authenticates nobody else, nor does a challenge alone.
    assert_eq!(read_on(&ground, &connect(&ground), &ticket).0, "401", "a second time");
    assert_eq!(read_on(&ground, &connect(&ground), "").0, "401");
    let (mut asked, _) = challenged(&ground);
    assert_eq!(read_on(&ground, &asked, "").0, "401");
    assert_eq!(asked.read(&mut [0]).unwrap(), 0);
    let (mut silent, _) = challenged(&ground);
    assert_eq!(silent.read(&mut [0]).unwrap(), 0, "who only asks is let go");

    let (mut before, ticket) = challenged(&ground);
    assert_eq!(read_on(&ground, &before, &ticket).0, "200");
    ground.home.run_in(&ground.vault, &["token", "--rotate"]).expect(0);
    assert_eq!(read_on(&ground, &before, "").0, "401", "the old token let it in");
    assert_eq!(before.read(&mut [0]).unwrap(), 0);
    ground.token = ground.token("mcp");
    let (after, ticket) = challenged(&ground);
    assert_eq!(read_on(&ground, &after, &ticket).0, "200");
}
