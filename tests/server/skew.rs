//! Plugin and daemon of different versions, with recorded handshakes.

use serde_json::{Value, json};
use vault_steward::protocol::initialize::InitializeResult;
use vault_steward::server::Settings;

use crate::fake::fake;
use crate::support::Door;

/// The handshake of plugin 0.1.0, before it named the oldest daemon it works with.
fn recorded_plugin(version: &str) -> Value {
    json!({
        "protocolVersion": 1,
        "clientInfo": {"name": "obsidian", "title": "Obsidian", "version": version},
        "clientCapabilities": {"_meta": {"vault": {
            "approvals": true,
            "host": ["move", "open", "active", "reveal"],
            "nonce": "5f3a9c",
        }}},
    })
}

/// The answer of daemon 0.1.0, before it named the oldest plugin it works with.
const RECORDED_DAEMON: &str = r#"{
    "protocolVersion":1,
    "agentInfo":{"name":"vault-steward","title":"Vault Steward","version":"0.1.0"},
    "agentCapabilities":{
        "loadSession":true,
        "promptCapabilities":{"image":true,"audio":false,"embeddedContext":true},
        "mcpCapabilities":{"http":true,"sse":true},
        "sessionCapabilities":{"list":{},"resume":{},"close":{},"delete":{}},
        "_meta":{"vault":{
            "name":"vault","epoch":"0a1b","seq":0,"scope":"person",
            "limits":{
                "maxMessageBytes":4194304,"maxFrameBytes":1048576,"maxInFlight":32,
                "messagesPerSecond":5000,"messageBurst":10000,"requestSeconds":60}}}},
    "authMethods":[]}"#;

#[test]
fn recorded_handshakes_of_the_version_before_are_understood() {
    let door = Door::open(Settings::default(), fake().0);
    let mut client = door.connect();
    let answer = client.call("initialize", recorded_plugin("0.1.0"));
    assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
    let ours = &answer["result"]["agentCapabilities"]["_meta"]["vault"];
    assert_eq!(ours["minPlugin"], "0.1.0");
    assert!(ours["proof"].is_string());

    let older: InitializeResult = serde_json::from_str(RECORDED_DAEMON).unwrap();
    assert_eq!(older.agent_capabilities.meta.vault.min_plugin, None);
}

#[test]
fn an_outdated_client_is_told_how_to_update() {
    let door = Door::open(Settings::default(), fake().0);
    let mut client = door.connect();
    let refused = client.call("initialize", recorded_plugin("0.0.9"));
    assert_eq!(refused["error"]["data"]["kind"], "outdated", "{refused}");
    assert!(refused["error"]["data"]["hint"].as_str().unwrap().contains("steward plugin update"));
    assert_eq!(refused["error"]["data"]["retryable"], false);

    let mut newer = recorded_plugin("99.3.0");
    newer["clientCapabilities"]["_meta"]["vault"]["minDaemon"] = "99.2.0".into();
    let refused = client.call("initialize", newer.clone());
    let hint = refused["error"]["data"]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("the test's way") && hint.contains("steward service restart"), "{hint}");
    // It works with this one too.
    newer["clientCapabilities"]["_meta"]["vault"]["minDaemon"] = "0.1.0".into();
    assert_eq!(client.call("initialize", newer)["result"]["protocolVersion"], 1);
}
