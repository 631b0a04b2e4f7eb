//! The mode `plan`: what the agent proposes, and that a person applies it together or not at all.

use serde_json::{Value, json};

use crate::chat::{Place, WIRE};
use crate::door::Client;
use crate::models::Answer;
use crate::script::{Piece, answer, says};
use crate::support::finish;

/// An answer that edits both recipes; the second twice, in places of their own.
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

/// The vault after the agent has proposed, and a client of a person's.
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
    let told = place.asked();
    assert!(told.contains("this is a proposal") && told.contains("+Salt 11 g"), "{told}");
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
    assert_eq!(again["error"]["message"], "these proposals were applied before", "{again}");
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
