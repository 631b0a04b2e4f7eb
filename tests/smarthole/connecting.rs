//! The state of the connection under any behaviour of SmartHole.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::desk::{Desk, adds, says};
use crate::desktop::{Desktop, Seen, message};

#[test]
fn smarthole_may_come_and_go() {
    let mut desk = Desk::new(|_, _| says("Noted."));
    let port = desk.desktop.port;
    let _daemon = desk.serve();
    assert_eq!(desk.stands("connected")["name"], "obsidian");
    desk.desktop.break_all();
    desk.desktop.registered(2);
    desk.stands("connected");
    desk.desktop.quit();
    let gone = desk.stands("disconnected");
    assert!(!gone["reason"].as_str().unwrap().is_empty(), "{gone}");
    desk.desktop = Desktop::on(port);
    desk.desktop.registered(1);
    desk.desktop.say("1", "note this");
    desk.desktop.acked("1", 1);
    desk.desktop.shown("Noted.");
}

#[test]
fn who_has_not_answered_yet_is_being_connected_to() {
    let desk = Desk::new(|_, _| says("Noted."));
    desk.desktop.mute(true);
    let _daemon = desk.home.serve(&desk.vault);
    let standing = desk.stands("connecting");
    assert_eq!(standing["name"], "obsidian", "{standing}");
    desk.desktop.mute(false);
    desk.desktop.break_all();
    desk.desktop.registered(1);
    let standing = desk.stands("connected");
    assert_eq!(standing["reason"], "", "{standing}");
    let said = desk.home.run_in(&desk.vault, &["status"]).expect(0).stdout;
    assert!(said.contains("smarthole connected"), "{said}");
}

#[test]
fn a_refusal_is_shown_and_other_settings_are_enough() {
    let desk = Desk::new(|_, _| says("Noted."));
    desk.desktop.hold("obsidian", true);
    let _daemon = desk.home.serve(&desk.vault);
    let refused = desk.stands("refused");
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.contains("already registered (DUPLICATE_NAME): it is tried again"), "{reason}");
    // It does not give up: the dead connection's name expires.
    desk.desktop.hold("obsidian", false);
    desk.desktop.registered(1);
    desk.stands("connected");

    desk.desktop.refuse(Some(("INVALID_NAME", "no such names")));
    desk.settings("name = \"Miss Simone\"");
    let refused = desk.stands("refused");
    let reason = refused["reason"].as_str().unwrap();
    assert_eq!(reason, "no such names (INVALID_NAME): change `smarthole.name`");
    let tried = desk.desktop.seen().len();
    desk.desktop.refuse(None);
    desk.settings("name = \"Zoë\"\ndescription = \"Takes notes.\"");
    desk.stands("connected");
    let last = desk.desktop.seen().pop().unwrap();
    let named = Seen::Registered { name: "Zoe".to_owned(), description: "Takes notes.".to_owned() };
    assert_eq!(last, named, "after {tried}");
    desk.settings("enabled = false");
    desk.stands("disabled");
}

#[test]
fn unknown_frames_are_ignored_and_oversized_ones_end_the_connection() {
    let desk = Desk::new(|_, request| adds(request));
    desk.desktop.heartbeat(Duration::from_millis(700));
    let _daemon = desk.serve();
    let many = "x".repeat(1 << 20);
    for frame in ["", "{", "[]", "null", "{\"type\":\"message\",\"payload\":null}", &many] {
        desk.desktop.send_text(frame);
    }
    let hostile = "../../x\n\"";
    desk.desktop.send_text(&message(hostile, "add item0000", &Value::Null));
    desk.desktop.acked(hostile, 1);
    desk.desktop.send(Message::Binary(message("b", "add item0001", &json!({})).into()));
    desk.desktop.acked("b", 1);
    desk.desktop.send_text(&message("empty", "  ", &json!({})));
    desk.desktop.until("a rejection", |seen| {
        let reason = "the message is empty".to_owned();
        seen.contains(&Seen::Reject { id: "empty".to_owned(), reason }).then_some(())
    });
    // The largest message that SmartHole ever sends is accepted.
    desk.desktop.send_text(&message("large", &many[..(1 << 20) - 200], &json!({})));
    desk.desktop.acked("large", 1);
    assert_eq!(desk.registrations(), 1);
    assert!(!desk.desktop.is_dead(), "no null was sent");
    desk.desktop.send_text(&"x".repeat(5 << 20));
    desk.desktop.registered(2);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        // Heartbeats are answered: nothing ends this connection.
        assert!(desk.desktop.has_client() && desk.registrations() == 2);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_flood_is_stored_in_order() {
    const MANY: usize = 1_000;
    // No model answers: only the connection is tested.
    let desk = Desk::new(|_, _| crate::models::Answer::steps(vec![crate::models::Step::Hang]));
    let _daemon = desk.serve();
    for number in 0..MANY {
        desk.desktop.say(&format!("{number}"), &format!("message {number}"));
    }
    desk.desktop.acked(&format!("{}", MANY - 1), 1);
    let acks = desk.desktop.seen().into_iter().filter_map(|one| match one {
        Seen::Ack { id } => Some(id),
        _ => None,
    });
    assert!(acks.eq((0..MANY).map(|number| number.to_string())), "once each, in order");
    let listed = desk.json(&["inbox", "list", "--all", "-n", "1000"]);
    let texts: Vec<&str> = listed["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    let expected: Vec<String> = (0..MANY).map(|number| format!("message {number}")).collect();
    assert_eq!(texts, expected);
}
