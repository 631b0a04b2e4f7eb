//! Calls that take long, are cancelled, come too fast, or break off.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use vault_steward::calls::run::blocking_threads;
use vault_steward::server::Settings;

use crate::fake::fake;
use crate::support::Door;

const SOON: Duration = Duration::from_secs(10);

#[test]
fn answers_may_overtake_each_other_and_light_calls_never_queue() {
    let (fake, strings) = fake();
    let door = Door::open(Settings::default(), fake);
    let mut client = door.client();
    let searches: Vec<i64> =
        (0..20).map(|_| client.ask("tools/call", json!({"name": "search"}))).collect();
    strings.began.recv_timeout(SOON).unwrap();
    let answer = client.call("tools/call", json!({"name": "echo", "arguments": {"a": 1}}));
    assert_eq!(answer["result"]["structuredContent"], json!({"a": 1}));
    assert_eq!(answer["result"]["isError"], false);
    for id in &searches {
        let cancel =
            json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id}});
        client.send(&cancel.to_string());
    }
    let mut cancelled: Vec<i64> = searches
        .iter()
        .map(|_| {
            let answer = client.read();
            assert_eq!(answer["error"]["code"], -32800, "{answer}");
            assert_eq!(answer["error"]["data"]["kind"], "cancelled");
            answer["id"].as_i64().unwrap()
        })
        .collect();
    cancelled.sort_unstable();
    assert_eq!(cancelled, searches, "each is answered once");
}

#[test]
fn a_client_that_leaves_ends_its_searches_but_not_its_changes() {
    let (fake, strings) = fake();
    let door = Door::open(Settings::default(), fake);
    let mut client = door.client();
    client.ask("tools/call", json!({"name": "search"}));
    assert_eq!(strings.began.recv_timeout(SOON).unwrap(), "search");
    client.ask("tools/call", json!({"name": "change"}));
    assert_eq!(strings.began.recv_timeout(SOON).unwrap(), "change");
    drop(client);
    assert_eq!(strings.ended.recv_timeout(SOON).unwrap(), "search");
    strings.go.send(()).unwrap();
    assert_eq!(strings.ended.recv_timeout(SOON).unwrap(), "change");
}

#[test]
fn a_change_is_answered_truly_even_when_cancelled() {
    let (fake, strings) = fake();
    let door = Door::open(Settings::default(), fake);
    let mut client = door.client();
    let id = client.ask("tools/call", json!({"name": "change"}));
    strings.began.recv_timeout(SOON).unwrap();
    client.send(&format!(
        r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{id}}}}}"#
    ));
    client.call("_vault/ping", json!({}));
    strings.go.send(()).unwrap();
    assert_eq!(client.answer(id)["result"]["isError"], false);
}

#[test]
fn an_id_in_flight_is_not_taken_twice_and_there_is_a_limit() {
    let (fake, strings) = fake();
    let door = Door::open(Settings::default(), fake);
    let mut client = door.client();
    let call = r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"change"}}"#;
    client.send(call);
    client.send(call);
    let answer = client.read();
    assert_eq!(answer["id"], json!(null));
    assert_eq!(answer["error"]["data"]["kind"], "duplicate_id");
    assert_eq!(answer["error"]["data"]["detail"]["requestId"], "x");
    for _ in 0..31 {
        client.ask("tools/call", json!({"name": "search"}));
    }
    let answer = client.tool("echo");
    assert_eq!(answer["error"]["code"], -32001, "{answer}");
    assert_eq!(answer["error"]["data"]["kind"], "overloaded");
    assert_eq!(answer["error"]["data"]["retryable"], true);
    assert!(answer["error"]["data"]["retryAfterMs"].as_u64().unwrap() > 0);
    assert!(client.call("_vault/ping", json!({}))["result"].is_object());
    strings.go.send(()).unwrap();
    assert_eq!(client.read()["id"], "x");
}

#[test]
fn a_message_that_there_is_no_room_for_is_not_heard() {
    let (fake, strings) = fake();
    let door = Door::open(Settings { max_in_flight: 2, ..Settings::default() }, fake);
    let mut client = door.client();
    let says = |text: &str| json!({"prompt": [{"type": "text", "text": text}]});
    for _ in 0..2 {
        client.ask("session/prompt", says("wait"));
    }
    let answer = client.call("session/prompt", says("once more"));
    assert_eq!(answer["error"]["data"]["kind"], "overloaded", "{answer}");
    assert_eq!(strings.began.try_iter().collect::<Vec<_>>(), ["prompt", "prompt"]);
}

#[test]
fn too_many_messages_are_refused_for_a_while() {
    let settings = Settings { messages_per_second: 20, message_burst: 50, ..Settings::default() };
    let door = Door::open(settings, fake().0);
    let mut client = door.client();
    let mut refused = None;
    for _ in 0..60 {
        let answer = client.call("_vault/ping", json!({}));
        if answer["error"].is_object() {
            refused = Some(answer);
        }
    }
    let refused = refused.expect("the bucket runs empty");
    assert_eq!(refused["error"]["code"], -32001);
    assert_eq!(refused["error"]["data"]["kind"], "rate_limited");
    assert!(refused["error"]["data"]["retryAfterMs"].as_u64().unwrap() <= 50);
}

#[test]
fn in_a_flood_every_request_is_answered() {
    const FLOOD: usize = 60_000;
    let door = Door::open(Settings::default(), fake().0);
    let mut neighbour = door.client();
    let mut client = door.client();
    let mut reading = client.socket.get_ref().try_clone().unwrap();
    let begun = Instant::now();
    let reader = std::thread::spawn(move || {
        let (mut served, mut refused, mut rest) = (0, 0, Vec::new());
        let mut buffer = vec![0; 1 << 16];
        while served + refused < FLOOD {
            let length = std::io::Read::read(&mut reading, &mut buffer).unwrap();
            assert_ne!(length, 0, "the connection stays: {served}, {refused}");
            rest.extend_from_slice(&buffer[..length]);
            // Each answer ends in two or more braces, which occur nowhere else in it.
            let whole = rest.windows(2).rposition(|pair| pair == b"}}").map_or(0, |at| at + 2);
            let text: Vec<u8> = rest.drain(..whole).collect();
            let text = String::from_utf8_lossy(&text);
            refused += text.matches("\"rate_limited\"").count();
            served += text.matches("\"epoch\"").count();
        }
        (served, refused)
    });
    for id in 0..FLOOD {
        let ping = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"_vault/ping"}}"#);
        client.socket.write(Message::text(ping)).unwrap();
        if id % 10_000 == 0 {
            let asked = Instant::now();
            assert!(neighbour.call("_vault/ping", json!({}))["result"].is_object());
            assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
        }
    }
    client.socket.flush().unwrap();
    let (served, refused) = reader.join().unwrap();
    let allowed = 10_000.0 + 5_000.0 * begun.elapsed().as_secs_f64();
    assert!(served as f64 <= allowed + 1.0, "{served} of {allowed}");
    assert!(served >= 9_990 && refused > 0, "{served} served, {refused} refused");
}

#[test]
fn panics_timeouts_and_oversized_answers_are_errors() {
    let (fake, _strings) = fake();
    let door = Door::open(Settings { request_seconds: 1, ..Settings::default() }, fake);
    let mut client = door.client();
    assert_eq!(client.tool("panic")["error"]["data"]["kind"], "internal");
    assert_eq!(client.tool("search")["error"]["data"]["kind"], "timeout");
    let late = client.tool("change");
    assert_eq!(late["error"]["data"]["kind"], "timeout");
    assert!(late["error"]["data"]["hint"].as_str().unwrap().contains("may still be made"));
    let long = json!({"name": "long", "arguments": {"bytes": 1_100_000}});
    let answer = client.call("tools/call", long);
    assert_eq!(answer["error"]["data"]["kind"], "reply_too_large");
    assert!(answer["error"]["data"]["hint"].as_str().unwrap().contains("narrow the request"));
    let fits = json!({"name": "long", "arguments": {"bytes": 1_000_000}});
    let answer = client.call("tools/call", fits);
    assert_eq!(answer["result"]["content"][0]["text"].as_str().unwrap().len(), 1_000_000);
}

#[test]
fn stopping_lets_running_calls_finish_and_says_why() {
    let (fake, strings) = fake();
    let mut door = Door::open(Settings::default(), fake);
    let mut client = door.client();
    let id = client.ask("tools/call", json!({"name": "change"}));
    strings.began.recv_timeout(SOON).unwrap();
    door.stop();
    strings.go.send(()).unwrap();
    assert_eq!(client.answer(id)["result"]["isError"], false);
    assert_eq!(client.close_code(), 1001);
    door.wait();
}

#[test]
fn much_asked_for_at_once_arrives_whole() {
    let door = Door::open(Settings::default(), fake().0);
    let mut client = door.client();
    // Together far more than the queue can hold.
    let long = json!({"name": "long", "arguments": {"bytes": 1_000_000}});
    let ids: Vec<i64> = (0..30).map(|_| client.ask("tools/call", long.clone())).collect();
    let mut seen: Vec<i64> = ids.iter().map(|_| client.read()["id"].as_i64().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, ids);
}

#[test]
fn changes_wait_in_order_and_hold_up_no_read() {
    let (fake, strings) = fake();
    let door = Door::open(Settings::default(), fake);
    // More than there are threads.
    let most = Settings::default().max_in_flight as usize;
    let clients = blocking_threads() / most + 1;
    let mut behind: Vec<_> = (0..=clients).map(|_| door.client()).collect();
    let mut client = behind.remove(0);
    let changes: Vec<i64> =
        (0..most).map(|_| client.ask("tools/call", json!({"name": "change"}))).collect();
    // All of them are in the queue once the request after them is answered.
    client.call("_vault/ping", json!({}));
    for one in &mut behind {
        for _ in 0..most {
            one.ask("tools/call", json!({"name": "change"}));
        }
        one.call("_vault/ping", json!({}));
    }
    let mut other = door.client();
    assert_eq!(other.tool("echo")["result"]["isError"], false);
    // A call that has not started can be cancelled.
    let (last, others) = changes.split_last().unwrap();
    let cancel =
        json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": last}});
    client.send(&cancel.to_string());
    assert_eq!(client.answer(*last)["error"]["data"]["kind"], "cancelled");
    for id in others {
        strings.go.send(()).unwrap();
        assert_eq!(client.read()["id"], *id);
    }
    let began = strings.began.try_iter().filter(|name| name == "change").count();
    // Another client's next call may have started.
    assert!((others.len()..=others.len() + 1).contains(&began), "{began}");
    drop(behind);
    let _ = strings.go.send(());
}

#[test]
fn slow_reads_of_many_clients_hold_up_no_ping_no_search_and_no_change() {
    let (fake, strings) = fake();
    strings.slow_status.store(true, std::sync::atomic::Ordering::Release);
    let door = Door::open(Settings::default(), fake);
    // More than there are threads.
    let most = Settings::default().max_in_flight as usize;
    let clients = blocking_threads() / most + 1;
    let mut slow: Vec<_> = (0..clients).map(|_| door.client()).collect();
    for client in &mut slow {
        for _ in 0..most {
            client.ask("_vault/status", json!({}));
        }
        assert!(client.call("_vault/ping", json!({}))["result"].is_object());
    }
    let mut other = door.client();
    let search = other.ask("tools/call", json!({"name": "search"}));
    other.ask("tools/call", json!({"name": "change"}));
    let mut awaited = vec!["search", "change"];
    while !awaited.is_empty() {
        let began = strings.began.recv_timeout(SOON).expect("both begin though reads wait");
        awaited.retain(|name| *name != began);
    }
    let cancel =
        json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": search}});
    other.send(&cancel.to_string());
    assert_eq!(other.answer(search)["error"]["data"]["kind"], "cancelled");
    // Each waits for its own signal, the change too.
    (0..=clients * most).for_each(|_| strings.go.send(()).unwrap());
    for client in &mut slow {
        (0..most).for_each(|_| assert!(client.read()["result"].is_object()));
    }
}

#[test]
fn a_vault_that_is_slow_to_look_at_holds_up_no_one() {
    let (fake, strings) = fake();
    strings.slow_status.store(true, std::sync::atomic::Ordering::Release);
    let door = Door::open(Settings::default(), fake);
    let mut client = door.client();
    // More than the runtime has threads.
    let asked: Vec<i64> = (0..4).map(|_| client.ask("_vault/status", json!({}))).collect();
    assert_eq!(strings.began.recv_timeout(SOON).unwrap(), "status");
    // Its name is needed for the connection, and needs no disk access.
    let mut other = door.client();
    assert_eq!(other.tool("echo")["result"]["isError"], false);
    assert!(client.call("_vault/ping", json!({}))["result"].is_object());
    let mut answered: Vec<i64> = asked
        .iter()
        .map(|_| {
            strings.go.send(()).unwrap();
            client.read()["id"].as_i64().unwrap()
        })
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, asked);
}

fn look(client: &mut crate::support::Client, arguments: serde_json::Value) -> i64 {
    client.ask("tools/call", json!({"name": "look", "arguments": arguments}))
}

#[test]
fn a_quick_call_runs_on_the_connections_task_before_slow_ones() {
    let (fake, strings) = fake();
    let door = Door::open(Settings::default(), fake);
    let mut client = door.client();
    let search = client.ask("tools/call", json!({"name": "search"}));
    assert_eq!(strings.began.recv_timeout(SOON).unwrap(), "search");
    let id = look(&mut client, json!({"a": 1}));
    let answer = client.read();
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["structuredContent"], json!({"a": 1}));
    assert_eq!(strings.began.recv_timeout(SOON).unwrap(), "nonblocking");
    // A call that would block runs like any other.
    let id = look(&mut client, json!({"wait": true}));
    assert_eq!(client.answer(id)["result"]["structuredContent"], json!({"wait": true}));
    assert_eq!(strings.began.recv_timeout(SOON).unwrap(), "look");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": search}});
    client.send(&cancel.to_string());
    assert_eq!(client.answer(search)["error"]["data"]["kind"], "cancelled");
}

#[test]
fn quick_calls_sent_at_once_are_all_answered_and_in_order() {
    let (fake, strings) = fake();
    let door = Door::open(Settings { max_in_flight: 500, ..Settings::default() }, fake);
    let mut client = door.client();
    let ids: Vec<i64> = (0..500).map(|n| look(&mut client, json!({"n": n}))).collect();
    let mut answered: Vec<i64> =
        ids.iter().map(|_| client.read()["id"].as_i64().unwrap()).collect();
    // On a busy machine one may take long, and those after it then run on threads.
    let all_nonblocking = strings.began.try_iter().all(|name| name == "nonblocking");
    assert!(!all_nonblocking || answered == ids, "{answered:?}");
    answered.sort_unstable();
    assert_eq!(answered, ids);
}

#[test]
fn a_quick_call_is_refused_where_too_much_is_in_flight() {
    let (fake, strings) = fake();
    let door = Door::open(Settings { max_in_flight: 2, ..Settings::default() }, fake);
    let mut client = door.client();
    for _ in 0..2 {
        client.ask("tools/call", json!({"name": "change"}));
    }
    let id = look(&mut client, json!({}));
    let answer = client.read();
    assert_eq!(
        (&answer["id"], &answer["error"]["data"]["kind"]),
        (&json!(id), &json!("overloaded"))
    );
    (0..2).for_each(|_| strings.go.send(()).unwrap());
}

#[test]
fn a_panicking_quick_call_is_an_error_and_affects_nothing_else() {
    let door = Door::open(Settings::default(), fake().0);
    let mut client = door.client();
    let id = look(&mut client, json!({"panic": true}));
    assert_eq!(client.answer(id)["error"]["data"]["kind"], "internal");
    let id = look(&mut client, json!({"a": 1}));
    assert_eq!(client.answer(id)["result"]["structuredContent"], json!({"a": 1}));
}

#[test]
fn a_slow_quick_call_moves_later_ones_to_threads_for_a_while() {
    let (fake, strings) = fake();
    let door = Door::open(Settings::default(), fake);
    let (mut client, mut other) = (door.client(), door.client());
    // For a hundred times as long none follows.
    let id = look(&mut client, json!({"milliseconds": 200}));
    client.answer(id);
    assert_eq!(strings.began.recv_timeout(SOON).unwrap(), "nonblocking");
    for client in [&mut client, &mut other] {
        let id = look(client, json!({"a": 1}));
        assert_eq!(client.answer(id)["result"]["structuredContent"], json!({"a": 1}));
        assert_eq!(strings.began.recv_timeout(SOON).unwrap(), "look");
    }
}

#[test]
fn clients_with_many_quick_calls_keep_no_other_from_its_answer() {
    const EACH: usize = 100;
    let (fake, strings) = fake();
    // On a busy machine some take too long, and others then run on threads.
    let settings = Settings { max_in_flight: EACH as u32, ..Settings::default() };
    let door = Door::open(settings, fake);
    let mut other = door.client();
    // More clients than workers, each with more to do than a worker does at a time.
    let mut busy: Vec<_> = (0..4).map(|_| door.client()).collect();
    for client in &mut busy {
        for _ in 0..EACH {
            look(client, json!({"milliseconds": 4}));
        }
    }
    for _ in 0..5 {
        assert!(other.call("_vault/ping", json!({}))["result"].is_object());
    }
    let done = strings.began.try_iter().count();
    assert!(done < busy.len() * EACH, "they were all done before anybody else had a turn");
    for client in &mut busy {
        (0..EACH).for_each(|_| assert!(client.read()["result"].is_object()));
    }
}
