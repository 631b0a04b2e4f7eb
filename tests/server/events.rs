//! Events: the same order for all, and nothing missing after a reconnect.

use serde_json::{Value, json};
use vault_steward::protocol::events::{ChangedKind, EntryKind};
use vault_steward::server::Settings;
use vault_steward::server::events::{Event, Events};

use crate::fake::fake;
use crate::support::{Client, Door};

fn publish(events: &Events, n: usize) {
    events.publish(Event::Changed {
        kind: ChangedKind::Modified,
        path: format!("note {n}.md"),
        from: None,
        entry: EntryKind::File,
    });
}

fn subscribe(client: &mut Client, params: Value) -> (String, u64) {
    let result = client.call("_vault/subscribe", params)["result"].take();
    (result["mode"].as_str().unwrap().to_owned(), result["seq"].as_u64().unwrap())
}

fn seqs(client: &mut Client, count: usize) -> Vec<(u64, String)> {
    (0..count)
        .map(|_| {
            let message = client.read();
            assert_eq!(message["method"], "_vault/changed");
            let params = &message["params"];
            let path = params["path"].as_str().unwrap().to_owned();
            (params["_meta"]["vault"]["seq"].as_u64().unwrap(), path)
        })
        .collect()
}

#[test]
fn every_subscriber_sees_the_same_order() {
    let door = Door::open(Settings::default(), fake().0);
    let mut clients = [door.client(), door.client(), door.client()];
    let mut quiet = door.client();
    for client in &mut clients {
        assert_eq!(subscribe(client, json!({})), ("live".to_owned(), 0));
    }
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let events = door.events.clone();
            scope.spawn(move || (0..50).for_each(|n| publish(&events, thread * 50 + n)));
        }
    });
    let [first, second, third] = clients.map(|mut client| seqs(&mut client, 200));
    assert_eq!(
        first.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(),
        (1..=200).collect::<Vec<_>>()
    );
    assert_eq!(first, second);
    assert_eq!(first, third);
    let answer = quiet.call("_vault/ping", json!({}));
    assert_eq!(answer["result"]["seq"], 200, "one that did not subscribe hears nothing");
}

#[test]
fn a_reconnect_replays_missed_events_or_reports_a_gap() {
    let door = Door::open(Settings::default(), fake().0);
    let mut client = door.client();
    let epoch = client.call("_vault/ping", json!({}))["result"]["epoch"].take();
    subscribe(&mut client, json!({}));
    publish(&door.events, 1);
    assert_eq!(seqs(&mut client, 1)[0].0, 1);
    drop(client);
    for n in 2..=3000 {
        publish(&door.events, n);
    }
    let mut client = door.client();
    let resume = json!({"epoch": epoch, "after": 1});
    assert_eq!(subscribe(&mut client, resume.clone()), ("replay".to_owned(), 3000));
    let seen: Vec<u64> = seqs(&mut client, 2999).into_iter().map(|(seq, _)| seq).collect();
    assert_eq!(seen, (2..=3000).collect::<Vec<_>>());
    publish(&door.events, 3001);
    assert_eq!(seqs(&mut client, 1)[0].0, 3001);

    for n in 0..5000 {
        publish(&door.events, n);
    }
    let mut late = door.client();
    assert_eq!(subscribe(&mut late, resume).0, "snapshot");
    assert_eq!(subscribe(&mut late, json!({"epoch": "another", "after": 1})).0, "snapshot");
}

#[test]
fn one_that_never_reads_is_closed_and_harms_no_one() {
    let door = Door::open(Settings::default(), fake().0);
    let mut stuck = door.client();
    let mut lively = door.client();
    subscribe(&mut stuck, json!({}));
    subscribe(&mut lively, json!({}));
    // More than the sockets' buffers and the queue can hold together.
    let padding = "x".repeat(4000);
    let mut count = 0;
    for n in 0..20_000 {
        door.events.publish(Event::Changed {
            kind: ChangedKind::Created,
            path: format!("{padding}{n}.md"),
            from: None,
            entry: EntryKind::File,
        });
        count += 1;
        // The client that reads keeps up, event by event.
        assert_eq!(lively.read()["params"]["_meta"]["vault"]["seq"], count);
    }
    assert!(matches!(stuck.close_code(), 4408 | 0));
    let status = lively.call("_vault/status", json!({}));
    assert_eq!(status["result"]["connections"], 1);
}
