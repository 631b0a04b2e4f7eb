//! The mode `plan`: what the agent proposes, which a person applies together or not at all.

use serde_json::{Value, json};

use crate::chat::{Place, WIRE};
use crate::door::Client;
use crate::models::Answer;
use crate::script::{Piece, answer, says};
use crate::support::finish;

/// An answer that edits both recipes, the second one at two places.
fn edits() -> Answer {
    let edit =
        |path: &str, old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
    let calls = [
        ("c1", edit("Recipes/Bread.md", "Salt 9 g", "Salt 11 g")),
        ("c2", edit("Recipes/Soup.md", "Salt 5 g", "Salt 6 g")),
        ("c3", edit("Recipes/Soup.md", "# Soup", "# A soup")),
    ];
    let pieces: Vec<Piece<'_>> =
        calls.iter().map(|(id, given)| Piece::Call(id, "edit_file", given.clone())).collect();
    answer(WIRE, &pieces)
}

fn read(id: &'static str, path: &str) -> Answer {
    crate::script::calls(WIRE, id, "read_file", json!({"path": path}))
}

/// The vault after the agent has proposed changes, and a person's client.
fn proposed(more: Vec<Answer>) -> (Place, Client) {
    let mut answers = vec![
        read("r1", "Recipes/Bread.md"),
        read("r2", "Recipes/Soup.md"),
        edits(),
        says(WIRE, "More salt everywhere."),
    ];
    answers.extend(more);
    let place = Place::with(answers, "[policy]\nmode = \"plan\"\n");
    finish(place.command(&["more salt, please"])).expect(0);
    let client = place.client(false);
    (place, client)
}

fn apply(client: &mut Client) -> Value {
    client.call("_vault/proposals/apply", json!({"sessionId": "1"}))
}

#[test]
fn what_is_proposed_changes_nothing_until_a_person_applies_all_of_it() {
    let (place, mut client) = proposed(vec![says(WIRE, "You are welcome.")]);
    assert_eq!(place.note("Recipes/Bread.md"), "# Bread\n\nFlour 500 g\nSalt 9 g\n");
    let output = place.asked();
    assert!(output.contains("this is a proposal") && output.contains("+Salt 11 g"), "{output}");
    let items = client.call("_vault/conversation", json!({"sessionId": "1", "updates": true}));
    assert_eq!(items["result"]["conversation"]["mode"], Value::Null, "{items}");
    let text = items.to_string();
    assert_eq!(text.matches(r#""proposed":true"#).count(), 3, "{text}");

    let done = apply(&mut client);
    assert_eq!(
        (&done["result"]["applied"], &done["result"]["total"]),
        (&json!(3), &json!(3)),
        "{done}"
    );
    assert_eq!(place.note("Recipes/Bread.md"), "# Bread\n\nFlour 500 g\nSalt 11 g\n");
    assert_eq!(place.note("Recipes/Soup.md"), "# A soup\n\nSalt 6 g\n");
    let again = apply(&mut client);
    assert_eq!(again["error"]["message"], "these proposals were decided before", "{again}");
    finish(place.command(&["thank you"])).expect(0);
    assert!(place.asked().contains("The user has applied the proposals"), "{}", place.asked());

    // They are one change set.
    place.home.run_in(&place.vault, &["undo", &done["result"]["changeSet"].to_string()]).expect(0);
    assert_eq!(place.note("Recipes/Bread.md"), "# Bread\n\nFlour 500 g\nSalt 9 g\n");
    assert_eq!(place.note("Recipes/Soup.md"), "# Soup\n\nSalt 5 g\n");
}

#[test]
fn a_proposal_that_no_longer_fits_is_applied_in_no_part() {
    let (place, mut client) = proposed(Vec::new());
    let mine = "# Soup\n\nSalt 5 g, or more\n";
    std::fs::write(place.vault.join("Recipes/Soup.md"), mine).unwrap();
    let refused = apply(&mut client);
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("nothing was applied: `"), "{refused}");
    assert_eq!(place.note("Recipes/Bread.md"), "# Bread\n\nFlour 500 g\nSalt 9 g\n");
    assert_eq!(place.note("Recipes/Soup.md"), mine);
    let none = client.call("_vault/proposals/apply", json!({"sessionId": "1", "turn": "77"}));
    assert_eq!(none["error"]["data"]["kind"], "not_found", "{none}");
}

/// A person's decision on parts of a proposal.
fn decide(client: &mut Client, method: &str, only: Value) -> Value {
    let params = json!({"sessionId": "1", "only": only});
    client.call(&format!("_vault/proposals/{method}"), params)
}

/// What waits: the numbers of each proposal's hunks.
fn waiting(client: &mut Client) -> Value {
    let listed = client.call("_vault/proposals/list", json!({}));
    let waiting = listed["result"]["waiting"].as_array().unwrap().iter();
    let proposals =
        waiting.flat_map(|one| one["proposals"].as_array().cloned().unwrap_or_default());
    let numbers = |hunks: &Value| -> Vec<Value> {
        hunks.as_array().into_iter().flatten().map(|hunk| hunk["number"].clone()).collect()
    };
    proposals.map(|one| json!([one["number"], numbers(&one["changes"][0]["hunks"])])).collect()
}

#[test]
fn parts_of_what_is_proposed_are_applied_and_rejected_one_by_one() {
    let edit = json!({"path": "Recipes/Long.md", "old_text": "Salt", "new_text": "More salt", "replace_all": true});
    let soup =
        |old: &str, new: &str| json!({"path": "Recipes/Soup.md", "old_text": old, "new_text": new});
    let pieces = [
        Piece::Call("c1", "edit_file", edit),
        Piece::Call("c2", "edit_file", soup("Salt 5 g", "Salt 6 g")),
        Piece::Call("c3", "edit_file", soup("# Soup", "# A soup")),
        Piece::Call("c4", "write_file", json!({"path": "Recipes/Rice.md", "content": "# Rice\n"})),
    ];
    let answers = vec![
        read("r1", "Recipes/Long.md"),
        read("r2", "Recipes/Soup.md"),
        answer(WIRE, &pieces),
        says(WIRE, "More salt everywhere."),
        says(WIRE, "You are welcome."),
    ];
    let place = Place::with(answers, "[policy]\nmode = \"plan\"\n");
    let water = "Water\n".repeat(20);
    std::fs::write(place.vault.join("Recipes/Long.md"), format!("Salt 1\n{water}Salt 2\n"))
        .unwrap();
    finish(place.command(&["more salt, please"])).expect(0);
    let mut client = place.client(false);
    assert_eq!(waiting(&mut client), json!([[1, [1, 2]], [2, [1]], [3, [1]], [4, []]]));

    let done = decide(&mut client, "apply", json!([{"proposal": 1, "hunk": 2}]));
    assert_eq!(
        (&done["result"]["applied"], &done["result"]["total"]),
        (&json!(1), &json!(1)),
        "{done}"
    );
    assert_eq!(place.note("Recipes/Long.md"), format!("Salt 1\n{water}More salt 2\n"));
    let again = decide(&mut client, "reject", json!([{"proposal": 1, "hunk": 2}]));
    assert_eq!(again["error"]["message"], "these proposals were decided before", "{again}");
    let none = decide(&mut client, "apply", json!([{"proposal": 1, "hunk": 7}]));
    assert_eq!(none["error"]["message"], "there is no hunk 7 of proposal 1 in this turn", "{none}");
    assert_eq!(waiting(&mut client), json!([[1, [1]], [2, [1]], [3, [1]], [4, []]]));

    let done = decide(&mut client, "reject", json!([{"proposal": 1, "hunk": 1}, {"proposal": 4}]));
    assert_eq!(done["result"]["rejected"], 2, "{done}");
    decide(&mut client, "apply", json!([{"proposal": 2}]));
    assert_eq!(place.note("Recipes/Soup.md"), "# Soup\n\nSalt 6 g\n");
    // The rest is for a note that has changed since: its own lines are unchanged.
    let done = apply(&mut client);
    assert_eq!(
        (&done["result"]["applied"], &done["result"]["total"]),
        (&json!(1), &json!(1)),
        "{done}"
    );
    assert_eq!(place.note("Recipes/Soup.md"), "# A soup\n\nSalt 6 g\n");
    assert!(!place.vault.join("Recipes/Rice.md").exists());
    assert_eq!(waiting(&mut client), json!([]));
    assert_eq!(apply(&mut client)["error"]["message"], "these proposals were decided before");

    finish(place.command(&["thank you"])).expect(0);
    let output = place.asked();
    assert!(
        output.contains("applied some of the proposals") && output.contains("rejected some"),
        "{output}"
    );
    place.home.run_in(&place.vault, &["undo", &done["result"]["changeSet"].to_string()]).expect(0);
    assert_eq!(place.note("Recipes/Soup.md"), "# Soup\n\nSalt 5 g\n");
    assert_eq!(place.note("Recipes/Long.md"), format!("Salt 1\n{water}Salt 2\n"));
}

#[test]
fn what_is_rejected_or_answered_no_longer_waits() {
    let (_place, mut client) = proposed(Vec::new());
    assert_eq!(waiting(&mut client), json!([[1, [1]], [2, [1]], [3, [1]]]));
    let done = decide(&mut client, "reject", json!([]));
    assert_eq!(done["result"]["rejected"], 3, "{done}");
    assert_eq!(waiting(&mut client), json!([]));

    let (place, mut client) = proposed(vec![says(WIRE, "As you like.")]);
    finish(place.command(&["leave it"])).expect(0);
    assert_eq!(waiting(&mut client), json!([]), "the person has said something else");
}

#[test]
fn a_mode_is_chosen_for_one_conversation_and_never_a_looser_one() {
    let place = Place::new(vec![]);
    let mut client = place.client(false);
    let id = client.call("session/new", json!({}))["result"]["sessionId"].clone();
    let set = |mode: &str| json!({"sessionId": id, "modeId": mode});
    client.call("session/set_mode", set("plan"));
    let info = client.call("_vault/conversation", json!({"sessionId": id}));
    assert_eq!(info["result"]["conversation"]["mode"], "plan", "{info}");
    let listed = client.call("session/list", json!({}));
    assert_eq!(listed["result"]["sessions"][0]["_meta"]["vault"]["mode"], "plan", "{listed}");
    client.call("_vault/mode", json!({"mode": "read-only"}));
    let refused = client.call("session/set_mode", set("plan"));
    assert_eq!(refused["error"]["data"]["kind"], "invalid_params", "{refused}");
}
