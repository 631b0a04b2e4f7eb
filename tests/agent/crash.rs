//! The program is killed in the middle of a turn, and resumes.

use serde_json::{Value, json};
use vault_steward::llm::Wire;

use crate::models::{Answer, Step};
use crate::script::{Piece, answer, calls, says};
use crate::serve::Place;

#[test]
fn after_a_kill_no_call_is_repeated_and_unknown_results_are_marked() {
    let wire = Wire::Anthropic;
    let edit =
        json!({"path": "Recipes/Soup", "old_text": "Salt 5 g", "new_text": "Salt 5 g, salt"});
    let both = [
        Piece::Call("c1", "edit_file", edit),
        Piece::Call("c2", "delete", json!({"path": "Recipes"})),
    ];
    let place = Place::new(wire, vec![answer(wire, &both), says(wire, "I see.")]);
    let mut daemon = place.serve();
    let mut client = place.client(&daemon);
    client.prompt("Salt the soup, then throw it all away");
    client.until(|message| message["method"] == "session/request_permission");
    let turn = client.seen[0]["params"]["_meta"]["vault"]["turn"].clone();
    daemon.kill();
    drop(client);

    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let asked = client.prompt("What happened?");
    let answered = client.answer(asked);
    assert_eq!(answered["result"]["_meta"]["vault"]["answer"], "I see.", "{answered:#}");
    assert!(place.vault.join("Recipes/Bread.md").exists());
    assert_eq!(place.note("Recipes/Soup.md"), "# Soup\n\nSalt 5 g, salt\n", "edited once");

    let body: Value = serde_json::from_slice(&place.server.requests()[1].body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let results: Vec<&Value> = messages
        .iter()
        .filter_map(|message| message["content"].as_array())
        .flatten()
        .filter(|block| block["type"] == "tool_result")
        .collect();
    assert_eq!(results.len(), 2, "{messages:#?}");
    assert!(results[0].to_string().contains("Salt 5 g, salt"), "{}", results[0]);
    assert!(results[1].to_string().contains("unknown: the steward ended"), "{}", results[1]);
    assert!(body.to_string().contains("The steward ended in the middle of this turn"));
    // The changes of the turn are found by its name.
    let changes = client.tool("list_changes", json!({}))["structuredContent"].clone();
    assert!(changes.to_string().contains("Soup.md"), "{changes:#} of {turn}");
}

#[test]
fn a_message_that_was_being_answered_is_not_lost() {
    let hang = Answer::steps(vec![Step::Hang]);
    let place =
        Place::new(Wire::Chat, vec![hang, says(Wire::Chat, "Here."), says(Wire::Chat, "There.")]);
    let mut daemon = place.serve();
    let mut client = place.client(&daemon);
    let params = json!({"prompt": [{"type": "text", "text": "First"}],
        "_meta": {"vault": {"clientMessageId": "1"}}});
    client.say(params.clone());
    client.until(|message| message["params"]["state"] == "running");
    let second = json!({"prompt": [{"type": "text", "text": "Second"}],
        "_meta": {"vault": {"clientMessageId": "2"}}});
    client.say(second.clone());
    client.until(|message| message["params"]["queued"] == 1);
    while place.server.requests().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    daemon.kill();
    drop(client);

    let daemon = place.serve();
    let mut client = place.client(&daemon);
    // The waiting message is delivered; a repetition only gets the answer.
    let second = client.say(second);
    assert_eq!(client.answer(second)["result"]["_meta"]["vault"]["answer"], "Here.");
    // Sent again, it is not processed again: its turn was interrupted.
    let again = client.say(params);
    let error = client.answer(again)["error"].clone();
    assert_eq!(error["message"], "the steward ended in the middle of the turn", "{error:#}");
    let asked = client.prompt("Third");
    assert_eq!(client.answer(asked)["result"]["_meta"]["vault"]["answer"], "There.");
    let body = String::from_utf8(place.server.requests()[2].body.clone()).unwrap();
    let at = |text: &str| body.find(text).unwrap_or_else(|| panic!("no {text} in {body}"));
    assert!(at("First") < at("Second") && at("Second") < at("Here."));
    assert!(at("Here.") < at("Third"));
    for text in ["\"First\"", "\"Second\""] {
        assert_eq!(body.matches(text).count(), 1, "{body}");
    }
}

#[test]
fn a_stop_right_after_its_message_cancels_the_turn() {
    let hang = Answer::steps(vec![Step::Hang]);
    let place = Place::new(Wire::Chat, vec![says(Wire::Chat, "Here."), hang]);
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let asked = client.prompt("First");
    let session = client.answer(asked)["result"]["_meta"]["vault"]["sessionId"].clone();
    let text = json!([{"type": "text", "text": "Second"}]);
    let asked = client.say(json!({"sessionId": session, "prompt": text}));
    let stop = json!({"jsonrpc": "2.0", "method": "session/cancel",
        "params": {"sessionId": session}});
    client.client.send(&stop.to_string());
    assert_eq!(client.answer(asked)["result"]["stopReason"], "cancelled");
}

#[test]
fn a_conversation_continues_after_a_kill_at_any_moment() {
    let wire = Wire::Chat;
    for pause in [0_u64, 2, 5, 10, 20, 40] {
        let line =
            |n: u64| json!({"path": "Log.md", "content": format!("{n}\n"), "if_exists": "fail"});
        let place = Place::new(
            wire,
            vec![
                calls(wire, "1", "write_file", line(1)),
                calls(wire, "2", "read_file", json!({"path": "Log"})),
                calls(wire, "3", "create_folder", json!({"path": "Made"})),
                says(wire, "Done."),
            ],
        );
        let mut daemon = place.serve();
        let mut client = place.client(&daemon);
        let said = json!({"prompt": [{"type": "text", "text": "Go"}],
            "_meta": {"vault": {"clientMessageId": "go"}}});
        client.say(said.clone());
        client.until(|message| message["params"]["state"] == "running");
        std::thread::sleep(std::time::Duration::from_millis(pause));
        daemon.kill();
        drop(client);
        let daemon = place.serve();
        let mut client = place.client(&daemon);
        // As a client that lost its connection: the message is not processed again, and nothing is
        // done twice.
        let again = client.say(said);
        client.answer(again);
        let asked = client.prompt("Go on");
        let answered = client.answer(asked);
        assert_eq!(answered["result"]["stopReason"], "end_turn", "{pause}: {answered:#}");
        let last = place.server.requests().pop().unwrap();
        let last = String::from_utf8(last.body).unwrap();
        assert_eq!(last.matches("\"Go\"").count(), 1, "{pause}: {last}");
        let changes = client.tool("list_changes", json!({}))["structuredContent"].to_string();
        for (path, most) in [("Log.md", 1), ("Made", 1)] {
            let made = changes.matches(&format!("\"path\":\"{path}\"")).count();
            assert!(made <= most, "{pause}: {path} was made {made} times: {changes}");
            assert_eq!(made == 1, place.vault.join(path).exists(), "{pause}: {changes}");
        }
        // The history in each request is complete.
        for request in place.server.requests() {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let messages = body["messages"].as_array().unwrap();
            for (at, message) in messages.iter().enumerate() {
                for (n, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate()
                {
                    assert_eq!(messages[at + 1 + n]["tool_call_id"], call["id"], "{body:#}");
                }
            }
        }
    }
}
