//! Messages that are not requests: each is answered, and the connection stays open.

use serde_json::{Value, json};
use vault_steward::server::Settings;
use vault_steward::server::token::{Proof, Token};

use crate::fake::fake;
use crate::support::Door;

fn door() -> Door {
    Door::open(Settings::default(), fake().0)
}

#[test]
fn bad_json_is_answered_and_the_connection_stays() {
    let door = door();
    let mut client = door.client();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_params = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}1{}}}"#,
        r#"{"a":"#.repeat(128),
        "}".repeat(128)
    );
    let long_id =
        format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"_vault/ping"}}"#, "a".repeat(1_000_000));
    for (text, id, kind) in [
        (&*deep, Value::Null, "parse_error"),
        (&deep_params, Value::Null, "parse_error"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"_vault/ping"}"#, Value::Null, "parse_error"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1,"x":2}}"#,
            Value::Null,
            "parse_error",
        ),
        (r#"{"jsonrpc":"2.0","id":1e999,"method":"_vault/ping"}"#, Value::Null, "parse_error"),
        (r#"{"jsonrpc":"2.0","id":"\ud800","method":"_vault/ping"}"#, Value::Null, "parse_error"),
        (r#"{"jsonrpc":"2.0","id":NaN,"method":"_vault/ping"}"#, Value::Null, "parse_error"),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":\"\0\",\"method\":\"_vault/ping\"}",
            Value::Null,
            "parse_error",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"_vault/ping"} x"#, Value::Null, "parse_error"),
        (
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"_vault/ping\"}",
            Value::Null,
            "parse_error",
        ),
        ("", Value::Null, "parse_error"),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"_vault/ping"}]"#,
            Value::Null,
            "batch_not_supported",
        ),
        ("null", Value::Null, "invalid_request"),
        (r#"{"id":1,"method":"_vault/ping"}"#, json!(1), "invalid_request"),
        (r#"{"jsonrpc":"2.0","id":1}"#, json!(1), "invalid_request"),
        (r#"{"jsonrpc":"2.0","method":"_vault/ping"}"#, Value::Null, "missing_id"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"_vault/ping"}"#, Value::Null, "invalid_id"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"_vault/ping"}"#, Value::Null, "invalid_id"),
        (&long_id, Value::Null, "invalid_id"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"session/fly"}"#, json!(1), "unknown_method"),
        (
            r#"{"jsonrpc":"2.0","id":"s","method":"tools/call","params":[]}"#,
            json!("s"),
            "invalid_params",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
            json!(1),
            "invalid_params",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#,
            json!(1),
            "invalid_params",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no"}}"#,
            json!(1),
            "unknown_tool",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"_vault/subscribe","params":{"after":-1}}"#,
            json!(1),
            "invalid_params",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#,
            json!(1),
            "already_initialized",
        ),
    ] {
        let shown: String = text.chars().take(90).collect();
        assert_eq!(client.refused(text), (id, kind.to_owned()), "{shown}");
    }
    // Unknown members and unknown notifications are no errors: a newer client may have them.
    client.send(r#"{"jsonrpc":"2.0","method":"_vault/later","params":{}}"#);
    client.send(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    client
        .send(r#"{"jsonrpc":"2.0","id":8,"method":"_vault/ping","params":{"later":1},"_meta":{}}"#);
    assert_eq!(client.read()["id"], 8);
}

#[test]
fn initialize_is_required_first() {
    let door = door();
    let mut client = door.connect();
    for method in ["tools/list", "tools/call", "_vault/status", "_vault/ping", "nonsense"] {
        let text = json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": {}}).to_string();
        assert_eq!(client.refused(&text), (json!(5), "not_initialized".to_owned()), "{method}");
    }
    let text = r#"{"jsonrpc":"2.0","id":6,"method":"initialize","params":{}}"#;
    assert_eq!(client.refused(text).1, "invalid_params");
    let result = client.initialize();
    assert_eq!(result["protocolVersion"], 1);
    assert_eq!(result["agentInfo"]["name"], "vault-steward");
    assert!(client.call("tools/list", json!({}))["result"]["tools"].is_array());
}

#[test]
fn the_server_proves_that_it_knows_the_token() {
    let door = door();
    let mut client = door.connect();
    let params = json!({
        "protocolVersion": 7,
        "clientInfo": {"name": "test", "version": "1"},
        "clientCapabilities": {"fs": {}, "_meta": {"vault": {"events": 1, "nonce": "abc"}}},
    });
    let result = client.call("initialize", params)["result"].take();
    assert_eq!(result["protocolVersion"], 1, "the server's own version");
    let token = Token::parse(&door.token).unwrap();
    let expected = token.proof(Proof::Initialize, door.port, "abc");
    let vault = &result["agentCapabilities"]["_meta"]["vault"];
    assert_eq!(vault["proof"], expected);
    assert_eq!(vault["limits"]["maxFrameBytes"], 1 << 20);
}
