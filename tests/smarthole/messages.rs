//! The processing of voice messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::desk::{Desk, adds, calls, counts, history, says};
use crate::desktop::{Seen, message};
use crate::door::Client;
use crate::models::{Answer, Step};

/// Reads a client's messages up to the first one that matches.
fn hear(client: &mut Client, mut fits: impl FnMut(&Value) -> bool) -> Value {
    client.socket.get_ref().set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    loop {
        let frame = client.socket.read().expect("more is heard");
        let Ok(text) = frame.to_text() else { continue };
        let Ok(message) = serde_json::from_str::<Value>(text) else { continue };
        if fits(&message) {
            return message;
        }
    }
}

#[test]
fn a_spoken_request_becomes_a_change_and_a_notification() {
    let desk = Desk::new(|_, request| adds(request));
    let daemon = desk.serve();
    let mut client = desk.client(&daemon);
    desk.desktop.say("m1", "add item0000");
    let heard = hear(&mut client, |message| message["method"] == "_vault/inbox");
    let kept = &heard["params"]["message"];
    assert_eq!((&kept["text"], &kept["state"]), (&json!("add item0000"), &json!("new")));
    assert_eq!(kept["routingReason"], "it is to be noted");
    let waits = |message: &Value, count: u64| {
        message["method"] == "_vault/smarthole"
            && message["params"]["smarthole"]["waiting"] == count
    };
    hear(&mut client, |message| waits(message, 1));
    let said = hear(&mut client, |message| {
        message["params"]["update"]["sessionUpdate"] == "user_message_chunk"
    });
    assert_eq!(said["params"]["update"]["_meta"]["vault"]["source"], "voice");
    let shown = desk.desktop.shown("Added item0000.");
    assert_eq!(shown, ("add item0000".to_owned(), "normal".to_owned()));
    hear(&mut client, |message| message["params"]["message"]["state"] == "done");
    hear(&mut client, |message| waits(message, 0));
    assert_eq!(counts(&desk.list(), 1), [1]);
    let sent = json!(history(&desk.server.requests()[0])).to_string();
    assert!(sent.contains("was spoken to SmartHole and transcribed"), "{sent}");
    assert!(sent.contains("it is to be noted"), "{sent}");
    assert_eq!(desk.json(&["inbox", "list", "--all"])["messages"][0]["state"], "done");
}

#[test]
fn a_person_gets_one_notice_that_a_voice_limits_the_conversation() {
    let desk = Desk::new(|_, _| says("Yes."));
    let daemon = desk.serve();
    let mut client = desk.client(&daemon);
    client.call("session/prompt", json!({"prompt": [{"type": "text", "text": "hello"}]}));
    for id in ["1", "2"] {
        desk.desktop.say(id, "are you there");
        desk.desktop.shown("Yes.");
    }
    desk.idle();
    let id = client.ask("session/prompt", json!({"prompt": [{"type": "text", "text": "more"}]}));
    let mut notices = Vec::new();
    hear(&mut client, |message| {
        if message["params"]["update"]["sessionUpdate"] == "notice" {
            notices.push(message["params"].to_string());
        }
        message["id"] == id
    });
    assert_eq!(notices.len(), 1, "{notices:#?}");
    assert!(notices[0].contains("a message came by voice"), "{notices:#?}");

    // A client that opens the conversation later gets the notice at the same place.
    let of = json!({"updates": true});
    let shown = client.call("_vault/conversation", of)["result"]["items"].clone();
    let items = shown.as_array().expect("items").iter();
    let updates: Vec<&Value> =
        items.flat_map(|item| item["updates"].as_array()).flatten().collect();
    let is_notice = |update: &&Value| update["sessionUpdate"] == "notice";
    let at = updates.iter().position(&is_notice).expect("it is told again");
    assert_eq!(updates[at - 1]["_meta"]["vault"]["source"], "voice", "{updates:#?}");
    assert!(updates[at]["title"].as_str().is_some_and(|title| title.contains("by voice")));
    assert_eq!(updates.iter().filter(|update| is_notice(update)).count(), 1, "{updates:#?}");
}

#[test]
fn a_message_is_acknowledged_at_once_however_long_the_model_takes() {
    let desk = Desk::new(|_, _| Answer::steps(vec![Step::Hang]));
    let _daemon = desk.serve();
    for id in ["1", "2", "3"] {
        let begun = Instant::now();
        desk.desktop.say(id, "think hard");
        desk.desktop.acked(id, 1);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }
    let status = desk.json(&["status"]);
    assert_eq!(status["status"]["smarthole"]["waiting"], 3);
    assert!(desk.desktop.seen().iter().all(|one| !matches!(one, Seen::Reject { .. })));
}

#[test]
fn a_repeated_message_runs_once_and_a_different_text_is_flagged() {
    let desk = Desk::new(|_, request| adds(request));
    let _daemon = desk.serve();
    desk.desktop.say("same", "add item0000");
    desk.desktop.say("same", "add item0000");
    desk.desktop.acked("same", 2);
    desk.desktop.shown("Added item0000");
    desk.desktop.say("same", "add item0000");
    desk.desktop.say("same", "add item0001");
    desk.desktop.acked("same", 4);
    desk.desktop.shown("Added item0001");
    desk.idle();
    assert_eq!(counts(&desk.list(), 2), [1, 1]);
    let listed = desk.json(&["inbox", "list", "--all"]);
    let differs: Vec<&Value> =
        listed["messages"].as_array().unwrap().iter().map(|one| &one["differs"]).collect();
    assert_eq!(differs, [&json!(false), &json!(true)]);
    assert!(desk.home.run_in(&desk.vault, &["inbox", "show", "2"]).stdout.contains("flagged"));
}

#[test]
fn the_next_message_answers_a_question_and_interim_messages_are_shown() {
    let desk = Desk::new(|number, _| match number {
        0 => calls("c1", "send_message", json!({"text": "I look for lists."})),
        1 => calls("c2", "send_message", json!({"text": "Which list?", "is_question": true})),
        _ => says("On the **shopping** list in [[List]]."),
    });
    let _daemon = desk.serve();
    desk.desktop.say("1", "put milk on the list");
    assert_eq!(desk.desktop.shown("I look for lists.").1, "normal");
    assert_eq!(desk.desktop.shown("Which list?").1, "high");
    desk.idle();
    desk.desktop.say("2", "the shopping list");
    desk.desktop.shown("On the shopping list in List.");
    let conversations = desk.json(&["conversations", "list"]);
    assert_eq!(conversations["conversations"].as_array().unwrap().len(), 1, "{conversations:#}");
    let sent = json!(history(desk.server.requests().last().unwrap())).to_string();
    assert!(sent.contains("put milk on the list") && sent.contains("the shopping list"));
    // Distinct titles, a second apart: none was lost.
    assert!(!desk.desktop.seen().iter().any(|one| matches!(one, Seen::Lost { .. })));
    let shown = desk.desktop.shown_at();
    assert_eq!(shown.len(), 3, "{:#?}", desk.desktop.seen());
    for pair in shown.windows(2) {
        assert!(pair[1] - pair[0] > Duration::from_millis(900), "{:?}", pair[1] - pair[0]);
    }
}

#[test]
fn an_answer_that_ends_with_a_question_is_answered_by_the_next_message() {
    let desk = Desk::new(|number, _| match number {
        0 => says("There are two lists.\n\nWhich one do you mean?"),
        _ => says("Milk is on the shopping list."),
    });
    let _daemon = desk.serve();
    desk.desktop.say("1", "put milk on the list");
    assert_eq!(desk.desktop.shown("Which one do you mean?").1, "high");
    desk.idle();
    let waits = desk.json(&["conversations", "list"]);
    let waits = &waits["conversations"][0];
    assert_eq!(
        (&waits["shown"], &waits["question"]),
        (&json!("waiting_for_you"), &json!("Which one do you mean?"))
    );
    desk.desktop.say("2", "the shopping list");
    assert_eq!(desk.desktop.shown("Milk is on the shopping list.").1, "normal");
    desk.idle();
    let conversations = desk.json(&["conversations", "list"]);
    let all = conversations["conversations"].as_array().unwrap();
    assert_eq!((all.len(), &all[0]["question"]), (1, &Value::Null), "{conversations:#}");
}

#[test]
fn an_empty_answer_is_reported() {
    let desk = Desk::new(|number, request| match number {
        0 => says(""),
        _ => adds(request),
    });
    let _daemon = desk.serve();
    desk.desktop.say("1", "be quiet");
    desk.desktop.acked("1", 1);
    desk.desktop.shown("the model gave no answer");
    desk.idle();
    desk.desktop.say("2", "add item0000");
    desk.desktop.shown("Added item0000");
    assert_eq!(desk.desktop.shown_at().len(), 2, "{:#?}", desk.desktop.seen());
}

#[test]
fn what_fails_three_times_is_set_aside_and_can_be_tried_again() {
    let is_broken = Arc::new(AtomicBool::new(true));
    let broken = Arc::clone(&is_broken);
    let desk = Desk::new(move |_, request| {
        let text = json!(history(request)).to_string();
        if broken.load(Ordering::SeqCst) && text.contains("item0000") {
            Answer::json(503, &json!({"error": {"message": "overloaded"}}))
        } else {
            adds(request)
        }
    });
    // Each conversation ends at once, so that a failure affects only its own message.
    let _daemon = desk.serve();
    desk.desktop.say("poison", "add item0000");
    desk.desktop.shown("The model could not be reached; I kept your message and will try again.");
    assert_eq!(desk.desktop.shown("so I set your message aside").1, "high");
    let status = desk.json(&["status"]);
    let smarthole = &status["status"]["smarthole"];
    assert_eq!((&smarthole["setAside"], &smarthole["waiting"]), (&json!(1), &json!(0)));
    let listed = desk.json(&["inbox", "list"])["messages"][0].clone();
    assert_eq!((&listed["state"], &listed["attempts"]), (&json!("set_aside"), &json!(3)));
    is_broken.store(false, Ordering::SeqCst);
    desk.json(&["inbox", "retry", &listed["id"].to_string()]);
    desk.desktop.shown("Added item0000");
    desk.idle();
    assert_eq!(counts(&desk.list(), 1), [1]);
    let again = desk.home.run_in(&desk.vault, &["inbox", "retry", &listed["id"].to_string()]);
    assert!(again.expect(1).stderr.contains("is done"));
}

#[test]
fn a_voice_agrees_to_nothing() {
    let desk = Desk::new(|number, request| match number {
        0 => calls("c1", "delete", json!({"path": "Projects"})),
        _ => {
            let text = json!(history(request)).to_string();
            says(if text.contains("yes, do it") { "I heard you." } else { "It is gone." })
        }
    });
    for name in ["A", "B", "C"] {
        std::fs::write(desk.vault.join(format!("Projects/{name}.md")), name).unwrap();
    }
    let daemon = desk.serve();
    desk.desktop.say("1", "delete all my projects");
    let (_, priority) = desk.desktop.shown("waits for your agreement");
    assert_eq!(priority, "high");
    desk.desktop.say("2", "yes, do it");
    desk.desktop.acked("2", 1);
    assert!(desk.vault.join("Projects/My Note.md").exists());
    // A person connects at a screen, where the question waits.
    let mut client = desk.asked(&daemon);
    let asked = hear(&mut client, |message| message["method"] == "session/request_permission");
    assert_eq!(asked["params"]["_meta"]["vault"]["scope"], "voice");
    assert!(desk.vault.join("Projects/My Note.md").exists());
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": outcome}).to_string());
    desk.desktop.shown("It is gone.");
    assert!(!desk.vault.join("Projects").exists());
    desk.desktop.shown("I heard you.");
}

#[test]
fn without_a_model_messages_wait_for_one() {
    let desk = Desk::new(|_, request| adds(request));
    let settings = std::fs::read_to_string(desk.home.config_file()).unwrap();
    desk.home.write_config(&settings.replace("chain = [\"work/m\"]", "chain = []"));
    let _daemon = desk.serve();
    desk.desktop.say("1", "add item0000");
    desk.desktop.shown("No language model is chosen yet, so I kept your message");
    assert_eq!(counts(&desk.list(), 1), [0]);
    desk.home.write_config(&settings);
    desk.desktop.shown("Added item0000");
    assert_eq!(counts(&desk.list(), 1), [1]);
}

#[test]
fn typed_and_direct_messages_are_marked() {
    let desk = Desk::new(|_, _| says("Yes."));
    let _daemon = desk.serve();
    let metadata = json!({"inputMethod": "text", "directRouted": true});
    desk.desktop.send_text(&message("1", "are you there", &metadata));
    desk.desktop.shown("Yes.");
    let sent = json!(history(&desk.server.requests()[0])).to_string();
    assert!(sent.contains("was typed into SmartHole. The user called you by name."), "{sent}");
}

#[test]
fn dictated_names_find_their_notes() {
    // A model's arguments for "in projects slash my note", "my to do list", "number twelve".
    let spoken = ["projects/my note", "Projects / my note", "my note", "to do list", "list twelve"];
    let desk = Desk::new(move |number, _| match spoken.get(number) {
        Some(path) => calls(&format!("c{number}"), "read_file", json!({"path": path})),
        None => says("Read."),
    });
    std::fs::write(desk.vault.join("To-Do List.md"), "milk\n").unwrap();
    std::fs::write(desk.vault.join("List 12.md"), "twelve\n").unwrap();
    let _daemon = desk.serve();
    desk.desktop.say("1", "read it all to me");
    desk.desktop.shown("Read.");
    let history = history(desk.server.requests().last().unwrap());
    let result = |id: usize| {
        let id = format!("c{id}");
        let found = history.iter().find(|message| message["tool_call_id"] == id.as_str());
        found.unwrap()["content"].to_string()
    };
    for (id, expected) in
        [(0, "budget 12"), (1, "My Note"), (2, "My Note"), (3, "To-Do List"), (4, "List 12")]
    {
        assert!(result(id).contains(expected), "{}: {}", spoken[id], result(id));
    }
}
