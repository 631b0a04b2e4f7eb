//! A storm of connections leaks no file handle and no task. In a program of its own, since it
//! counts those of the whole process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

#[path = "support/fake.rs"]
mod fake;
mod support;

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use support::{Door, upgrade};
use vault_steward::server::Settings;

fn handles() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// One test at a time: each counts the handles of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn a_storm_leaves_nothing_behind() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (fake, strings) = fake::fake();
    let door = Door::open(Settings::default(), fake);
    let mut witness = door.client();
    witness.tool("echo");
    let before = (handles(), door.tasks());
    for round in 0..100 {
        // One that disconnects properly, one that does not, one in the middle of a search, one
        // refused, two more below, one that never finishes its handshake.
        let mut polite = door.client();
        polite.socket.close(None).unwrap();
        while polite.socket.read().is_ok() {}
        drop(door.client());
        let mut busy = door.client();
        busy.ask("tools/call", json!({"name": "search"}));
        busy.call("_vault/subscribe", json!({}));
        drop(busy);
        assert_eq!(door.handshake(&[door.host(), "Origin: null".to_owned()]), 403, "{round}");
        // One that stops sending in the middle of a search but would still read, and one that is
        // reset with an unread answer.
        let mut closing = door.client();
        closing.ask("tools/call", json!({"name": "search"}));
        closing.socket.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
        while closing.socket.read().is_ok() {}
        let mut reset = door.client();
        reset.ask("tools/call", json!({"name": "search"}));
        reset.ask("_vault/ping", json!({}));
        reset.socket.get_ref().peek(&mut [0]).unwrap();
        drop(reset);
        let mut half = TcpStream::connect(("127.0.0.1", door.port)).unwrap();
        half.write_all(&upgrade("/v1", &[door.host()]).as_bytes()[..20]).unwrap();
    }
    // The searches were cancelled with their clients.
    for name in strings.began.try_iter().filter(|name| name == "search") {
        assert!(strings.ended.iter().any(|ended| ended == name));
    }
    // Closing takes a moment on the other side; sending a request gives it that moment.
    let settled = (0..20_000).any(|_| {
        witness.call("_vault/ping", json!({}));
        handles() == before.0 && door.tasks() == before.1
    });
    assert!(settled, "before {before:?}, after {:?}", (handles(), door.tasks()));
}

#[test]
fn a_client_that_leaves_its_answers_unread_leaves_nothing_behind() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (fake, strings) = fake::fake();
    let door = Door::open(Settings::default(), fake);
    let mut witness = door.client();
    witness.tool("echo");
    let before = (handles(), door.tasks());
    let mut glutton = door.client();
    let asked = Settings::default().max_in_flight;
    for _ in 0..asked {
        glutton.ask("tools/call", json!({"name": "long", "arguments": {"bytes": 1_000_000}}));
    }
    // All are done, more than the outbox and the system's buffers hold: answers wait for room.
    let ended = strings.ended.iter().filter(|name| name == "long").take(asked as usize);
    assert_eq!(ended.count(), asked as usize);
    drop(glutton);
    let settled = (0..20_000).any(|_| {
        witness.call("_vault/ping", json!({}));
        handles() == before.0 && door.tasks() == before.1
    });
    assert!(settled, "before {before:?}, after {:?}", (handles(), door.tasks()));
}
