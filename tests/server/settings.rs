//! Limits that change while clients are connected.

use std::sync::Arc;

use serde_json::json;
use vault_steward::server::Settings;

use crate::fake::fake;
use crate::support::Door;

#[test]
fn who_is_let_in_changes_with_the_next_handshake() {
    let door = Door::open(Settings { max_connections: 2, ..Settings::default() }, fake().0);
    let put = |settings: Settings| door.settings.store(Arc::new(settings));
    let origin = || {
        let headers = [door.host(), door.bearer(), "Origin: https://notes.example".to_owned()];
        door.handshake(&headers)
    };
    let (_one, mut two) = (door.client(), door.client());
    assert_eq!(door.try_connect().err(), Some(503));
    put(Settings { max_connections: 3, ..Settings::default() });
    let mut three = door.client();
    assert_eq!(door.try_connect().err(), Some(503));
    // Fewer than are connected: nobody is disconnected.
    put(Settings { max_connections: 1, ..Settings::default() });
    assert_eq!(door.try_connect().err(), Some(503));
    two.tool("echo");
    three.tool("echo");
    put(Settings { max_pending_handshakes: 1, ..Settings::default() });
    assert_eq!(origin(), 403);
    let allowed_origins = vec!["https://notes.example".to_owned()];
    put(Settings { allowed_origins, ..Settings::default() });
    assert_eq!(origin(), 101);
}

#[test]
fn a_client_keeps_the_limits_of_its_handshake() {
    let (fake, strings) = fake();
    let door = Door::open(Settings { max_in_flight: 2, ..Settings::default() }, fake);
    let mut old = door.client();
    let fewer = Settings { max_in_flight: 1, max_reply_bytes: 100, ..Settings::default() };
    door.settings.store(Arc::new(fewer));
    let mut new = door.connect();
    let limits = new.initialize()["agentCapabilities"]["_meta"]["vault"]["limits"].take();
    assert_eq!(limits["maxInFlight"], 1);
    let long = json!({"name": "long", "arguments": {"bytes": 1000}});
    assert_eq!(old.call("tools/call", long.clone())["result"]["isError"], false);
    let answer = new.call("tools/call", long);
    assert_eq!(answer["error"]["data"]["kind"], "reply_too_large", "{answer}");
    let change = json!({"name": "change"});
    let waiting = [old.ask("tools/call", change.clone()), old.ask("tools/call", change.clone())];
    let over = old.call("tools/call", change.clone());
    assert_eq!(over["error"]["data"]["kind"], "overloaded");
    strings.go.send(()).unwrap();
    strings.go.send(()).unwrap();
    waiting.into_iter().for_each(|id| drop(old.answer(id)));
    let waiting = new.ask("tools/call", change.clone());
    let over = new.call("tools/call", change);
    assert_eq!(over["error"]["data"]["kind"], "overloaded");
    strings.go.send(()).unwrap();
    new.answer(waiting);
}
