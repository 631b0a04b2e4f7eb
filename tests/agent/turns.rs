//! Whole turns, end to end, in every vendor's format.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vault_steward::llm::Wire;

use crate::models::{Answer, Step};
use crate::script::{Piece, answer, body, calls, says};
use crate::serve::{Place, Watcher};

const WIRES: [Wire; 4] = [Wire::Chat, Wire::Anthropic, Wire::Responses, Wire::Gemini];

#[test]
fn search_reads_an_edit_and_a_question_answered_by_another_client() {
    for wire in WIRES {
        let edit =
            json!({"path": "Recipes/Bread.md", "old_text": "Salt 9 g", "new_text": "Salt 10 g"});
        let question = json!({"text": "Remove the folder Recipes, too?", "is_question": true});
        let reads = ["Recipes/Bread.md", "recipes/soup"].map(|path| json!({"path": path}));
        let place = Place::new(
            wire,
            vec![
                calls(wire, "c1", "search_files", json!({"pattern": "salt"})),
                answer(
                    wire,
                    &[
                        Piece::Text("Reading both."),
                        Piece::Call("c2", "read_file", reads[0].clone()),
                        Piece::Call("c3", "read_file", reads[1].clone()),
                    ],
                ),
                calls(wire, "c4", "edit_file", edit),
                calls(wire, "c5", "send_message", question),
                calls(wire, "c6", "delete", json!({"path": "Recipes"})),
                says(wire, "Done: the folder is in the trash."),
            ],
        );
        let daemon = place.serve();
        let (mut one, mut other) = (place.client(&daemon), place.client(&daemon));
        let asked = one.prompt("More salt in the bread");
        let first = one.answer(asked);
        let ours = &first["result"]["_meta"]["vault"];
        assert_eq!(first["result"]["stopReason"], "end_turn", "{wire:?}: {first:#}");
        assert_eq!(ours["waiting"], true, "{first:#}");
        assert_eq!(ours["answer"], "Remove the folder Recipes, too?");
        assert_eq!(place.note("Recipes/Bread.md"), "# Bread\n\nFlour 500 g\nSalt 10 g\n");

        // The other client has received all of it, answers the request and approves the deletion.
        other.until(|message| message["params"]["state"] == "idle");
        assert_eq!(other.kinds(), one.kinds(), "{wire:?}: everybody hears the same");
        let asked = other.prompt("Yes");
        let question = other.decide("allow_once");
        assert_eq!(question["params"]["sessionId"], ours["sessionId"]);
        assert_eq!(question["params"]["_meta"]["vault"]["caller"], "agent");
        let second = other.answer(asked);
        let theirs = &second["result"]["_meta"]["vault"];
        assert_eq!(theirs["sessionId"], ours["sessionId"], "the conversation goes on");
        assert_eq!(theirs["answer"], "Done: the folder is in the trash.", "{second:#}");
        assert!(!place.vault.join("Recipes").exists());

        // The model received everything, in an order that its vendor accepts.
        let requests = place.server.requests();
        assert_eq!(requests.len(), 6);
        let last = String::from_utf8(requests[5].body.clone()).unwrap();
        for text in ["More salt in the bread", "1: # Soup", "Yes", "tool_data", "Salt 10 g"] {
            assert!(last.contains(text), "{wire:?}: no {text} in {last}");
        }
        // The earlier part is unchanged: the prompt is only appended to.
        let (before, after) = (history(wire, &requests[4].body), history(wire, &requests[5].body));
        assert_eq!(after[..before.len()], before[..], "{wire:?}");

        let log = other.tool("list_changes", json!({}));
        let log = log["content"][0]["text"].as_str().unwrap();
        assert!(log.contains("Recipes"), "{log}");
    }
}

/// The messages of a request.
fn history(wire: Wire, body: &[u8]) -> Vec<Value> {
    let body: Value = serde_json::from_slice(body).unwrap();
    let key = match wire {
        Wire::Chat | Wire::Anthropic => "messages",
        Wire::Responses => "input",
        Wire::Gemini => "contents",
    };
    let mut messages = body[key].as_array().unwrap().clone();
    // Markers for the vendor's cache move and are not compared.
    fn unmark(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.remove("cache_control");
                map.values_mut().for_each(unmark);
            }
            Value::Array(items) => items.iter_mut().for_each(unmark),
            _ => {}
        }
    }
    messages.iter_mut().for_each(unmark);
    messages
}

#[test]
fn a_turn_is_cancelled_by_anybody_at_once() {
    let hangs = |text: &str| {
        let body = body(Wire::Chat, &[Piece::Text(text)]);
        let head = body.split("\n\n").next().unwrap().to_owned() + "\n\n";
        Answer::steps(vec![Step::Bytes(head.into_bytes()), Step::Hang])
    };
    let place = Place::new(Wire::Chat, vec![hangs("Once upon"), says(Wire::Chat, "Hello again.")]);
    let daemon = place.serve();
    let (mut one, mut other) = (place.client(&daemon), place.client(&daemon));
    let asked = one.prompt("Tell me a story");
    let chunk = other
        .until(|message| message["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    let session = chunk["params"]["sessionId"].clone();
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel",
        "params": {"sessionId": session}});
    let begun = Instant::now();
    other.client.send(&cancel.to_string());
    let left = place.server.left();
    // A few milliseconds on an idle machine; this one may be running a build.
    assert!(left.duration_since(begun) < Duration::from_secs(1), "{:?}", left - begun);
    let answered = one.answer(asked);
    assert_eq!(answered["result"]["stopReason"], "cancelled", "{answered:#}");
    assert!(one.kinds().contains(&"part".to_owned()));

    let asked = one.prompt("Go on");
    assert_eq!(one.answer(asked)["result"]["_meta"]["vault"]["answer"], "Hello again.");
    let body = String::from_utf8(place.server.requests()[1].body.clone()).unwrap();
    for said in ["Tell me a story", "Once upon", "the user stopped the answer here", "Go on"] {
        assert!(body.contains(said), "{body}");
    }
    let replayed = replay(&mut place.client(&daemon));
    let stopped = json!({"sessionUpdate": "notice", "severity": "info", "title": "stopped"});
    let at = |one: &Value| replayed.iter().position(|update| update == one).expect("it is told");
    let says = |text: &str| {
        let says = |update: &Value| update["content"]["text"].as_str().is_some_and(|it| it == text);
        replayed.iter().find(|update| says(update)).expect("it is told").clone()
    };
    assert!(at(&says("Tell me a story")) < at(&stopped) && at(&stopped) < at(&says("Go on")));
    assert_eq!(
        replayed.iter().filter(|one| one["sessionUpdate"] == "notice").count(),
        1,
        "{replayed:#?}"
    );
}

/// The replay of the newest conversation for a client.
fn replay(client: &mut Watcher) -> Vec<Value> {
    let listed = client.client.ask("session/list", json!({}));
    let listed = client.answer(listed);
    let session = &listed["result"]["sessions"][0]["sessionId"];
    let loaded = client.client.ask("session/load", json!({"sessionId": session}));
    client.answer(loaded);
    let updates = client.seen.iter().filter(|message| message["method"] == "session/update");
    updates.map(|message| message["params"]["update"].clone()).collect()
}

#[test]
fn a_message_sent_twice_is_delivered_once() {
    let place = Place::new(Wire::Chat, vec![says(Wire::Chat, "One."), says(Wire::Chat, "Two.")]);
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let params = json!({"prompt": [{"type": "text", "text": "Hello"}],
        "_meta": {"vault": {"clientMessageId": "a-1"}}});
    let first = client.say(params.clone());
    let first = client.answer(first)["result"].clone();
    // The client lost its connection, and the daemon was restarted too.
    drop(client);
    drop(daemon);
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let again = client.say(params);
    assert_eq!(client.answer(again)["result"], first);
    assert_eq!(place.server.requests().len(), 1);
}

#[test]
fn a_message_during_a_turn_joins_it() {
    let wire = Wire::Chat;
    let delete = calls(wire, "1", "delete", json!({"path": "Recipes"}));
    let place = Place::new(wire, vec![delete, says(wire, "Both done.")]);
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let first = client.prompt("Delete the recipes");
    // The turn waits as long as the approval request is open.
    let asked = client.until(|message| message["method"] == "session/request_permission");
    let second = client.prompt("And be brief");
    client.until(|message| {
        let state = &message["params"];
        state["state"] == "requires_action" && state["queued"] == 1
    });
    client.choose_saying(&asked, "reject_once", "only the old ones");
    let (first, second) = (client.answer(first), client.answer(second));
    assert_eq!(first["result"], second["result"], "one turn answers both");
    assert_eq!(first["result"]["_meta"]["vault"]["answer"], "Both done.");
    let requests = place.server.requests();
    assert_eq!(requests.len(), 2);
    // The model gets the comment with which the person refused.
    let heard = String::from_utf8_lossy(&requests[1].body).into_owned();
    assert!(heard.contains("a person refused it and said \\\"only the old ones\\\""), "{heard}");
    // The replayed call still shows who refused it.
    let replayed = replay(&mut place.client(&daemon));
    let ended =
        replayed.iter().find(|update| update["sessionUpdate"] == "tool_call_update").unwrap();
    assert_eq!(ended["rawOutput"]["code"], "denied", "{ended:#}");
    assert_eq!(ended["rawOutput"]["data"]["refused"]["words"], "only the old ones", "{ended:#}");
}

#[test]
fn a_missing_or_failing_model_is_reported() {
    let refused = Answer::json(401, &json!({"error": {"message": "bad key"}}));
    let place = Place::new(Wire::Chat, vec![refused]);
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let asked = client.prompt("Hello");
    let error = client.answer(asked)["error"].clone();
    assert_eq!(error["data"]["kind"], "model_failed", "{error:#}");
    assert!(error["message"].as_str().unwrap().contains("the key was refused"), "{error:#}");
    assert!(error["data"]["hint"].as_str().unwrap().contains("steward key set work"));
    let replayed = replay(&mut place.client(&daemon));
    let last = replayed.last().expect("something is told");
    assert_eq!((&last["sessionUpdate"], &last["severity"]), (&json!("notice"), &json!("error")));
    assert_eq!(last["title"], error["message"], "{replayed:#?}");

    // Another model, from the next turn on, without a restart.
    place.home.write_config("# no model any more\n");
    client.until(|message| message["method"] == "_vault/config_reloaded");
    let asked = client.prompt("Hello?");
    let said = client.answer(asked);
    let said = said["result"]["_meta"]["vault"]["answer"].as_str().unwrap().to_owned();
    assert!(said.starts_with("No model is configured"), "{said}");

    // The daemon is confined to the ports of the providers at its start.
    place.home.write_config(
        "[models]\nchain = [\"second/m\"]\n[models.providers.second]\nwire = \"chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n",
    );
    client.until(|message| message["method"] == "_vault/config_reloaded");
    let asked = client.prompt("Hello?");
    let answer = client.answer(asked);
    let answer = answer["result"]["_meta"]["vault"]["answer"].as_str().unwrap().to_owned();
    assert!(answer.starts_with("Restart the daemon to use the configured model"), "{answer}");
}

#[test]
fn the_users_instructions_are_in_the_prompt_after_a_restart() {
    let settings = "[agent]\ninstructions = \"Call me Ana.\"\ninstructions_note = \"Steward\"\n";
    let answers = vec![says(Wire::Chat, "Hello Ana."), says(Wire::Chat, "Still here.")];
    let place = Place::with(Wire::Chat, answers, settings);
    std::fs::write(place.vault.join("Steward.md"), "Answer in rhyme.").unwrap();
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let asked = client.prompt("Hello");
    client.answer(asked);
    drop(daemon);
    std::fs::write(place.vault.join("Steward.md"), "Never mind.").unwrap();
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let asked = client.prompt("Still there?");
    client.answer(asked);
    let requests = place.server.requests();
    let bodies: Vec<Value> =
        requests.iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    let system = bodies[0]["messages"][0].to_string();
    assert!(system.contains("Call me Ana.") && system.contains("Answer in rhyme."), "{system}");
    assert_eq!(bodies[0]["tools"], bodies[1]["tools"]);
    let (before, after) =
        (history(Wire::Chat, &requests[0].body), history(Wire::Chat, &requests[1].body));
    assert_eq!(after[..before.len()], before[..], "the same bytes, whatever the note says now");
}

#[test]
fn a_recording_is_played_back_without_a_model() {
    let place = Place::new(
        Wire::Chat,
        vec![
            calls(Wire::Chat, "1", "read_file", json!({"path": "Recipes/Soup"})),
            says(Wire::Chat, "Five grams."),
        ],
    );
    let tape = place.home.path("elsewhere/tape");
    let vault = place.vault.to_str().unwrap();
    let serve = |option: &str| {
        let tape = tape.to_str().unwrap();
        let run = ["serve", "--json", "--port", "0", "--vault", vault, option, tape];
        crate::home::Daemon::start(place.home.steward(&run))
    };
    let ask = |daemon: &crate::home::Daemon| {
        let mut client = place.client(daemon);
        client.client.call("session/new", json!({}));
        let asked = client.prompt("How much salt?");
        let answered = client.answer(asked);
        let kinds = client.kinds();
        (answered["result"]["_meta"]["vault"]["answer"].clone(), kinds)
    };
    let recorded = serve("--record");
    let first = ask(&recorded);
    assert_eq!(first.0, "Five grams.");
    drop(recorded);
    assert_eq!(std::fs::read_dir(&tape).unwrap().count(), 2);
    let played = serve("--replay");
    assert_eq!(ask(&played), first);
    assert_eq!(place.server.requests().len(), 2, "nobody was asked");
}

#[test]
fn the_request_for_a_summary_is_counted_too() {
    let wire = Wire::Chat;
    let place = Place::with(
        wire,
        ["One.", "What was said before.", "Two."].map(|text| says(wire, text)).into(),
        "[conversation]\ntitles_by_model = false\n[agent]\nmax_context_tokens = 4000",
    );
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let first = client.prompt(&"word ".repeat(2_000));
    client.answer(first);
    let second = client.prompt("And now something short");
    let answered = client.answer(second);
    let vault = &answered["result"]["_meta"]["vault"];
    assert_eq!(vault["answer"], "Two.", "{answered}");
    assert_eq!(place.server.requests().len(), 3, "two turns and a summary");
    let of = json!({"sessionId": vault["sessionId"]});
    let usage = client.client.call("_vault/usage", of);
    assert_eq!(usage["result"]["total"]["requests"], 3, "{usage}");
}

#[test]
fn calls_of_one_turn_have_unique_ids_for_any_server() {
    let wire = Wire::Chat;
    let read = |path: &str| calls(wire, "call_0", "read_file", json!({"path": path}));
    let soup = read("Recipes/Soup.md");
    let place = Place::new(wire, vec![read("Recipes/Bread.md"), soup, says(wire, "Both.")]);
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let asked = client.prompt("Read both");
    let session = client.answer(asked)["result"]["_meta"]["vault"]["sessionId"].clone();
    // The id of each call, and the result with that id.
    let named = |seen: &[Value]| -> Vec<(String, String)> {
        let update = |message: &Value| {
            let update = &message["params"]["update"];
            let id = update["toolCallId"].as_str()?.to_owned();
            let said = match update["sessionUpdate"].as_str()? {
                "tool_call" => update["rawInput"]["path"].as_str()?.to_owned(),
                _ => {
                    let text = update["content"][0]["content"]["text"].as_str()?;
                    let name = if text.contains("# Bread") { "Bread" } else { "Soup" };
                    name.to_owned()
                }
            };
            Some((id, said))
        };
        seen.iter().filter_map(update).collect()
    };
    let live = named(&client.seen);
    assert_eq!(live.len(), 4, "{live:?}");
    assert_eq!((&live[0].0, &live[2].0), (&live[1].0, &live[3].0), "{live:?}");
    assert_ne!(live[0].0, live[2].0, "{live:?}");
    client.seen.clear();
    let loaded = client.client.ask("session/load", json!({"sessionId": session}));
    client.answer(loaded);
    assert_eq!(named(&client.seen), live, "told again under the same names");
    // A page that starts within the turn also counts the calls before it.
    let end = json!({"sessionId": session, "updates": true, "last": 2});
    let asked = client.client.ask("_vault/conversation", end);
    let page = client.answer(asked)["result"]["items"].take();
    let page: Vec<Value> = page
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|item| item["updates"].as_array().cloned().unwrap_or_default())
        .map(|update| json!({"params": {"update": update}}))
        .collect();
    let replayed = named(&page);
    assert!(!replayed.is_empty() && live.ends_with(&replayed), "{replayed:?} of {live:?}");
}
