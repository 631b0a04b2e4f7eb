//! The life of a conversation, with the real program: titled, replayed, forked, deleted.

use serde_json::{Value, json};
use vault_steward::llm::Wire;

use crate::script::{Piece, answer, calls, says};
use crate::serve::{Place, Watcher};

const TITLE: &str = "{\"title\": \"Salt in the recipe for bread\", \"summary\": \"It was about the \
                     recipe for bread. Its salt was read.\"}";

fn call(watcher: &mut Watcher, method: &str, params: Value) -> Value {
    let id = watcher.client.ask(method, params);
    watcher.answer(id)
}

/// The updates that show the messages, without their position among the events.
fn updates_of(seen: &[Value], kind: &str) -> Vec<Value> {
    let updates = seen.iter().filter(|message| message["method"] == "session/update");
    let updates = updates.map(|message| message["params"]["update"].clone());
    updates.filter(|update| update["sessionUpdate"] == kind).collect()
}

#[test]
fn a_conversation_is_renamed_replayed_forked_and_deleted() {
    let wire = Wire::Chat;
    let place = Place::new(
        wire,
        vec![
            answer(
                wire,
                &[
                    Piece::Text("I look."),
                    Piece::Call("c1", "read_file", json!({"path": "Recipes/Bread.md"})),
                ],
            ),
            says(wire, "Nine grams."),
            says(wire, TITLE),
            says(wire, "Five grams."),
        ],
    );
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let asked = client.prompt("How much salt is in the bread?");
    let first = client.answer(asked);
    let session = first["result"]["_meta"]["vault"]["sessionId"].as_str().unwrap().to_owned();

    // A conversation that a person ended has a title at once, and a better one when the model
    // answers.
    let of = json!({"sessionId": session});
    let ended = call(&mut client, "_vault/end", of.clone());
    assert_eq!(ended["result"]["ended"], true, "{ended}");
    let titled = client.until(|message| {
        message["params"]["update"]["sessionUpdate"] == "session_info_update"
            && message["params"]["update"]["title"] == "Salt in the recipe for bread"
    });
    assert_eq!(titled["params"]["sessionId"], *session);
    let kinds: Vec<&str> = client
        .seen
        .iter()
        .filter(|message| message["method"] == "_vault/conversation_changed")
        .filter_map(|message| message["params"]["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["began", "ended", "titled"]);
    let listed = call(&mut client, "session/list", json!({}));
    let one = &listed["result"]["sessions"][0];
    assert_eq!(
        (&one["sessionId"], &one["_meta"]["vault"]["titledBy"]),
        (&json!(session), &json!("model"))
    );
    let naming = String::from_utf8(place.server.requests()[2].body.clone()).unwrap();
    assert!(naming.contains("[used read_file on Recipes/Bread.md]"), "{naming}");
    assert!(!naming.contains("Flour"), "what tools answered stays here: {naming}");

    // Another client gets a replay of what the first one received live, with the same ids.
    let mut other = place.client(&daemon);
    let loaded = call(&mut other, "session/load", of.clone());
    assert!(loaded["result"].is_object(), "{loaded}");
    for kind in ["user_message_chunk", "agent_message_chunk", "tool_call"] {
        let again = updates_of(&other.seen, kind);
        let names = |updates: &[Value]| -> Vec<Value> {
            let mut names: Vec<Value> = updates
                .iter()
                .map(|update| json!([update["messageId"], update["toolCallId"]]))
                .collect();
            names.dedup();
            names
        };
        assert!(!again.is_empty(), "{kind}: {:#?}", other.seen);
        assert_eq!(names(&again), names(&updates_of(&client.seen, kind)), "{kind}");
    }

    // After an edit it continues from before the message, and the model gets nothing of what
    // followed.
    let shown = call(&mut client, "_vault/conversation", of.clone());
    let items = shown["result"]["items"].as_array().unwrap();
    let message = items.iter().find(|item| item["kind"] == "user").unwrap()["item"].clone();
    let fork = json!({"sessionId": session, "item": message});
    let forked = call(&mut client, "_vault/fork", fork);
    assert_eq!(forked["result"]["branch"], 2, "{forked}");
    let edited = json!([{"type": "text", "text": "How much salt is in the soup?"}]);
    let asked = client.say(json!({"sessionId": session, "prompt": edited}));
    let second = client.answer(asked);
    assert_eq!(second["result"]["_meta"]["vault"]["answer"], "Five grams.", "{second}");
    let given = String::from_utf8(place.server.requests()[3].body.clone()).unwrap();
    assert!(given.contains("in the soup?") && !given.contains("in the bread?"), "{given}");
    let before = json!({"sessionId": session, "branch": 1});
    let before = call(&mut client, "_vault/conversation", before).to_string();
    assert!(before.contains("in the bread?") && before.contains("Nine grams."), "{before}");

    let usage = call(&mut client, "_vault/usage", of.clone());
    assert_eq!(usage["result"]["total"]["requests"], 4, "the naming counts: {usage}");
    assert!(usage["result"]["total"]["costMillionths"].as_u64() > Some(0), "{usage}");
    let deleted = call(&mut client, "_vault/delete_conversation", of.clone());
    assert_eq!(deleted["result"]["deleted"], true, "{deleted}");
    let gone = call(&mut client, "_vault/conversation", of);
    assert_eq!(gone["error"]["data"]["kind"], "unknown_session", "{gone}");
}

#[test]
fn a_table_is_drawn_again_when_its_conversation_is_loaded() {
    let wire = Wire::Chat;
    let place = Place::new(
        wire,
        vec![
            calls(wire, "c1", "query_notes", json!({"where": "file.inFolder(\"Recipes\")"})),
            calls(wire, "c2", "read_file", json!({"path": "Recipes/Bread.md"})),
            says(wire, "One recipe."),
            says(wire, TITLE),
        ],
    );
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let asked = client.prompt("Which recipes are there?");
    let answer = client.answer(asked);
    let session = answer["result"]["_meta"]["vault"]["sessionId"].clone();
    let mut other = place.client(&daemon);
    call(&mut other, "session/load", json!({"sessionId": session}));
    let over = |seen: &[Value]| -> Vec<Value> {
        let updates = updates_of(seen, "tool_call_update").into_iter();
        updates.filter(|update| update["status"] == "completed").collect()
    };
    let (live, again) = (over(&client.seen), over(&other.seen));
    assert_eq!(live[0]["rawOutput"]["rows"][0]["path"], "Recipes/Bread.md", "{live:?}");
    for field in ["toolCallId", "rawOutput"] {
        assert_eq!(again[0][field], live[0][field]);
    }
    assert!(
        again[1].get("rawOutput").is_none(),
        "what is not drawn is not stored twice: {again:?}"
    );
}

#[test]
fn a_turn_at_work_keeps_its_conversation_from_ending_and_being_deleted() {
    let wire = Wire::Chat;
    let delete = json!({"path": "Recipes"});
    let place = Place::new(
        wire,
        vec![calls(wire, "c1", "delete", delete), says(wire, "It stays."), says(wire, TITLE)],
    );
    let daemon = place.serve();
    let (mut client, mut other) = (place.client(&daemon), place.client(&daemon));
    let asked = client.prompt("Delete the recipes");
    let question = other.until(|message| message["method"] == "session/request_permission");
    let session = question["params"]["sessionId"].clone();
    let of = json!({"sessionId": session});
    for method in ["_vault/end", "_vault/delete_conversation"] {
        let refused = call(&mut other, method, of.clone());
        assert_eq!(refused["error"]["data"]["kind"], "turn_running", "{method}: {refused}");
    }
    let listed = call(&mut other, "session/list", json!({}));
    assert_eq!(listed["result"]["sessions"][0]["_meta"]["vault"]["shown"], "working", "{listed}");
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "reject_once"}});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome});
    other.client.send(&answer.to_string());
    client.answer(asked);
    let ended = call(&mut other, "_vault/end", of);
    assert_eq!(ended["result"]["ended"], true, "{ended}");
    assert!(place.vault.join("Recipes").exists());
}
