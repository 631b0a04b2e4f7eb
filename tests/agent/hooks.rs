//! The events that hooks receive about turns, messages and conversations, and the effects of their
//! answers.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vault_steward::llm::Wire;

use crate::manual;
use crate::script::{calls, says};
use crate::serve::Place;

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Adds a hook that is a shell script.
fn add(place: &Place, name: &str, settings: &str, script: &str) {
    let file = place.home.path("elsewhere").join(name);
    std::fs::write(&file, script).unwrap();
    let before = std::fs::read_to_string(place.home.config_file()).unwrap();
    place.home.write_config(&format!(
        "[hooks.commands.{name}]\ncommand = [\"/bin/sh\", \"{}\"]\n{settings}\n{before}",
        file.display()
    ));
}

#[test]
fn the_commit_of_the_manual_is_made_after_a_turn_with_its_title() {
    let test = "the_commit_of_the_manual_is_made_after_a_turn";
    let Some(python) = manual::python(test) else { return };
    if !crate::machine::has_program("git", test) {
        return;
    }
    let edit = |old: &str, new: &str| json!({"path": "Recipes/Bread.md", "old_text": old, "new_text": new});
    let wire = Wire::Chat;
    let place = Place::new(
        wire,
        vec![
            calls(wire, "c1", "edit_file", edit("Salt 9 g", "Salt 10 g")),
            calls(wire, "c2", "edit_file", edit("Flour 500 g", "Flour 600 g")),
            says(wire, "Done."),
            says(wire, "You are welcome."),
        ],
    );
    manual::set_up(&place.home, "A commit after each turn", "commit.py", &python);
    let git = |arguments: &[&str]| {
        let done = Command::new("git").arg("-C").arg(&place.vault).args(arguments).output();
        String::from_utf8(done.unwrap().stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet", "--initial-branch", "main"]);
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let asked = client.prompt("More salt in the bread, please");
    client.answer(asked);
    until("the commit is there", || !git(&["log", "--format=%s"]).is_empty());
    assert_eq!(git(&["log", "--format=%s"]), "More salt in the bread, please");
    let bread = git(&["show", "HEAD:Recipes/Bread.md"]);
    assert_eq!(bread, "# Bread\n\nFlour 600 g\nSalt 10 g", "one commit for the whole turn");
    // A turn that changes nothing has no change set.
    let asked = client.prompt("Thanks");
    client.answer(asked);
    drop(daemon);
    assert_eq!(git(&["log", "--format=%s"]).lines().count(), 1);
}

#[test]
fn a_hook_refuses_or_replaces_a_message_before_delivery() {
    let wire = Wire::Chat;
    let place = Place::new(wire, vec![says(wire, "Hello.")]);
    let script = r#"read line; case "$line" in
        *secret*) echo '{"decision":"refuse","reason":"not a word of that"}';;
        *Hi*) echo '{"decision":"replace","input":"Good day"}';;
        *number*) echo '{"decision":"replace","input":7}';;
    esac"#;
    let settings = "on = [\"message_received\"]\nsees = \"texts\"\ncritical = true";
    add(&place, "guard", settings, script);
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    for (text, said) in [
        ("my secret is 4711", "the hook `guard` refuses: not a word of that"),
        ("a number", "a message can only be replaced by a text"),
    ] {
        let asked = client.prompt(text);
        let answer = client.answer(asked);
        assert_eq!(answer["error"]["data"]["kind"], "not_permitted", "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(said), "{answer}");
    }
    assert!(place.server.requests().is_empty(), "no model was asked");
    let asked = client.prompt("Hi");
    assert_eq!(client.answer(asked)["result"]["_meta"]["vault"]["answer"], "Hello.");
    let request = String::from_utf8_lossy(&place.server.requests()[0].body).into_owned();
    assert!(request.contains("Good day") && !request.contains("4711"), "{request}");
    drop(daemon);
    let kept = place.home.run_in(&place.vault, &["conversations", "list", "--json"]).expect(0);
    assert!(!kept.stdout.contains("secret"), "{kept:?}");
}

#[test]
fn a_slow_hook_delays_only_its_own_client() {
    let wire = Wire::Chat;
    let place = Place::new(wire, ["One.", "Two.", "Three."].map(|text| says(wire, text)).into());
    let script = r#"read line; echo "$line" >> "$TMPDIR/asked"
        case "$line" in *slow*) until [ -e "$TMPDIR/go" ]; do sleep 0.02; done;; esac"#;
    let settings = "on = [\"message_received\"]\nsees = \"texts\"\nseconds = 60";
    add(&place, "guard", settings, script);
    let daemon = place.serve();
    let (mut one, mut other) = (place.client(&daemon), place.client(&daemon));
    let session = |client: &mut crate::serve::Watcher| {
        let begun = client.client.call("session/new", json!({}));
        begun["result"]["sessionId"].clone()
    };
    let (mine, theirs) = (session(&mut one), session(&mut other));
    let prompt = |text: &str, to: &Value| json!({"sessionId": to, "prompt": [{"type": "text", "text": text}]});
    let slow = one.say(prompt("something slow", &mine));
    let behind = one.say(prompt("what comes behind it", &mine));
    let hooks = || place.home.state().join("hooks");
    until("the hook is asked", || hooks().join("asked").exists());
    let quick = other.say(prompt("something quick", &theirs));
    assert_eq!(other.answer(quick)["result"]["_meta"]["vault"]["answer"], "One.");
    std::fs::write(hooks().join("go"), "").unwrap();
    one.answer(slow);
    one.answer(behind);
    let loaded = one.client.call("_vault/conversation", json!({"sessionId": mine}));
    let text = loaded.to_string();
    let (first, second) = (text.find("something slow"), text.find("what comes behind it"));
    assert!(first.is_some() && first < second, "{loaded}");
}

#[test]
fn turns_and_conversations_are_reported_with_visible_content() {
    let wire = Wire::Chat;
    let write = json!({"path": "New.md", "content": "text"});
    let place =
        Place::new(wire, vec![calls(wire, "c1", "write_file", write), says(wire, "Written.")]);
    let on = "on = [\"turn_ended\", \"conversation_started\", \"conversation_ended\", \
              \"change_applied\"]";
    for sees in ["events", "texts"] {
        let settings = format!("{on}\nsees = \"{sees}\"");
        add(&place, sees, &settings, "cat >> \"$TMPDIR/$STEWARD_HOOK\"");
    }
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let asked = client.prompt("Write a new note");
    let session = client.answer(asked)["result"]["_meta"]["vault"]["sessionId"].clone();
    let events = |sees: &str| -> Vec<Value> {
        let file = place.home.state().join("hooks").join(sees);
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let of = |sees: &str, kind: &str| events(sees).into_iter().find(|one| one["event"] == kind);
    until("the end of the turn is told", || of("texts", "turn_ended").is_some());
    place.home.run_in(&place.vault, &["conversations", "end"]).expect(0);
    until("the end of the conversation is told", || of("texts", "conversation_ended").is_some());
    let started = of("texts", "conversation_started").unwrap();
    assert_eq!(started["conversation"], session);
    let turn = of("texts", "turn_ended").unwrap();
    let change = of("texts", "change_applied").unwrap();
    assert_eq!((&turn["title"], &turn["outcome"]), (&json!("Write a new note"), &json!("done")));
    assert_eq!(turn["changeSets"], json!([change["changeSet"]]));
    assert_eq!(change["caller"], "agent");
    let blind = of("events", "turn_ended").unwrap();
    assert!(blind["title"].is_null() && blind["message"].is_null() && blind["changed"].is_null());
    assert_eq!(blind["changeSets"], turn["changeSets"]);
    let whole = std::fs::read_to_string(place.home.state().join("hooks/events")).unwrap();
    assert!(!whole.contains("New.md") && !whole.contains("new note"), "{whole}");
}
