//! Many requests at once, and endless nonsense.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use vault_steward::server::Settings;

use crate::fake::fake;
use crate::support::Door;

#[test]
fn a_hundred_thousand_random_frames_are_handled_in_time() {
    let door = Door::open(Settings::default(), fake().0);
    let mut runner = TestRunner::deterministic();
    let word = prop_oneof![
        ".{0,40}",
        Just(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#.to_owned()
        ),
        Just(
            r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}"#.to_owned()
        ),
        Just(r#"{"jsonrpc":"2.0","id":"a","method":"_vault/subscribe","params":{}}"#.to_owned()),
        Just(r#"{"jsonrpc":"2.0","id":{},"method":"_vault/ping"}"#.to_owned()),
        r#"[\[\]{}",:0-9a-z\\]{0,60}"#,
    ];
    let frames: Vec<String> =
        (0..2000).map(|_| word.new_tree(&mut runner).unwrap().current()).collect();
    let mut client = door.client();
    let mut reading = client.socket.get_ref().try_clone().unwrap();
    let begun = Instant::now();
    // The answers do not matter here, but they must be read.
    let reader = std::thread::spawn(move || std::io::copy(&mut reading, &mut std::io::sink()));
    for frame in frames.iter().cycle().take(100_000) {
        client.socket.write(Message::text(frame.as_str())).unwrap();
    }
    client.socket.flush().unwrap();
    let mut other = door.client();
    assert!(other.call("_vault/ping", json!({}))["result"].is_object());
    client.socket.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
    let _ = reader.join().unwrap();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn sixty_four_clients_at_once_are_all_answered() {
    let door = Door::open(Settings::default(), fake().0);
    std::thread::scope(|scope| {
        for client in 0..64 {
            let door = &door;
            scope.spawn(move || {
                let mut connection = door.client();
                for n in 0..50 {
                    let arguments = json!({"client": client, "n": n});
                    let params = json!({"name": "echo", "arguments": arguments});
                    let answer = connection.call("tools/call", params);
                    assert_eq!(answer["result"]["structuredContent"], arguments);
                }
            });
        }
    });
}
