//! Text that a person types into a note while a model is thinking is not lost.

use serde_json::{Value, json};
use vault_steward::llm::Wire;

use crate::script::{Piece, answer, calls, says};
use crate::serve::{Place, Watcher};

const WIRE: Wire = Wire::Chat;

/// Sends a message in this conversation and waits for the answer.
fn ask(client: &mut Watcher, session: &Value) -> Value {
    let asked =
        client.say(json!({"sessionId": session, "prompt": [{"type": "text", "text": "Go"}]}));
    let answered = client.answer(asked);
    assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered:#}");
    answered["result"]["_meta"]["vault"]["sessionId"].clone()
}

/// The result of the call with this id, as the last request gave it to the model.
fn result_of(place: &Place, id: &str) -> String {
    let body: Value = serde_json::from_slice(&place.server.requests().pop().unwrap().body).unwrap();
    let messages = body["messages"].as_array().unwrap().clone();
    let found = messages.into_iter().find(|message| message["tool_call_id"] == id);
    found.unwrap_or_else(|| panic!("{id}: {body:#}"))["content"].as_str().unwrap().to_owned()
}

fn append(place: &Place, path: &str, line: &str) {
    std::fs::write(place.vault.join(path), place.note(path) + line).unwrap();
}

#[test]
fn a_line_typed_after_a_note_was_read_is_not_written_over() {
    let bread = |content: &str| json!({"path": "recipes/bread", "content": content});
    let delete = json!({"path": "Recipes/Soup.md", "delete_lines": {"start": 1, "end": 1}});
    let read = |path: &str| json!({"path": path});
    let place = Place::new(
        WIRE,
        vec![
            answer(
                WIRE,
                &[
                    Piece::Call("r1", "read_file", read("recipes/bread")),
                    Piece::Call("r2", "read_file", read("recipes/soup")),
                ],
            ),
            says(WIRE, "I have read them."),
            calls(WIRE, "w1", "write_file", bread("# Bread\n\nBuy it\n")),
            calls(WIRE, "d1", "edit_file", delete.clone()),
            says(WIRE, "I could not."),
            answer(
                WIRE,
                &[
                    Piece::Call("r3", "read_file", read("recipes/bread")),
                    // The edit was requested before the result of the read arrived.
                    Piece::Call("w2", "write_file", bread("# Bread\n")),
                ],
            ),
            calls(WIRE, "w3", "write_file", bread("# Bread\n\nBuy it\nMine\n")),
            // Based on the text it wrote itself.
            calls(WIRE, "w4", "write_file", bread("# Bread\n")),
            says(WIRE, "Done."),
        ],
    );
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let session = ask(&mut client, &Value::Null);
    append(&place, "Recipes/Bread.md", "Mine\n");
    let soup = format!("Mine\n{}", place.note("Recipes/Soup.md"));
    std::fs::write(place.vault.join("Recipes/Soup.md"), &soup).unwrap();
    // The read set survives a restart.
    drop((client, daemon));
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    ask(&mut client, &session);
    for id in ["w1", "d1"] {
        let result = result_of(&place, id);
        assert!(result.contains("has changed since it was read"), "{result}");
        assert!(result.contains("read it again"), "{result}");
    }
    assert!(place.note("Recipes/Bread.md").ends_with("Salt 9 g\nMine\n"));
    assert_eq!(place.note("Recipes/Soup.md"), soup);
    ask(&mut client, &session);
    let refused = result_of(&place, "w2");
    assert!(refused.contains("has changed since it was read"), "{refused}");
    for id in ["w3", "w4"] {
        let result = result_of(&place, id);
        assert!(result.contains("overwrote"), "{result}");
    }
    assert_eq!(place.note("Recipes/Bread.md"), "# Bread\n");
}

#[test]
fn a_note_that_was_not_read_is_not_written_over() {
    let write = |path: &str, content: &str| json!({"path": path, "content": content});
    let line =
        |at: i64| json!({"path": "Recipes/Soup.md", "insert_after_line": at, "content": "x"});
    let delete = json!({"path": "Recipes/Soup.md", "delete_lines": {"start": 1, "end": 1}});
    let move_to = json!({"source": "New.md", "destination": "Recipes/Newer.md"});
    let place = Place::new(
        WIRE,
        vec![
            calls(WIRE, "w1", "write_file", write("Recipes/Bread.md", "mine\n")),
            calls(WIRE, "d1", "edit_file", delete),
            calls(WIRE, "i1", "edit_file", line(-1)),
            calls(WIRE, "w2", "write_file", write("New.md", "one\n")),
            calls(WIRE, "m1", "move", move_to),
            calls(WIRE, "w3", "write_file", write("recipes/newer.md", "two\n")),
            says(WIRE, "Done."),
            calls(WIRE, "w4", "write_file", write("Recipes/Newer.md", "three\n")),
            // The model was told that the file is gone.
            calls(WIRE, "w5", "write_file", write("Recipes/Newer.md", "four\n")),
            says(WIRE, "Done."),
        ],
    );
    let bread = place.note("Recipes/Bread.md");
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let session = ask(&mut client, &Value::Null);
    let unread = result_of(&place, "w1");
    assert!(unread.contains("not all of it was read in this conversation"), "{unread}");
    assert!(unread.contains("read_file"), "{unread}");
    let unread = result_of(&place, "d1");
    assert!(unread.contains("was not read in this conversation"), "{unread}");
    assert_eq!(place.note("Recipes/Bread.md"), bread);
    assert!(place.note("Recipes/Soup.md").ends_with("Salt 5 g\nx\n"), "an end needs no reading");
    let written = result_of(&place, "w3");
    assert!(written.contains("overwrote `Recipes/Newer.md`"), "it knows what it moved: {written}");
    std::fs::remove_file(place.vault.join("Recipes/Newer.md")).unwrap();
    ask(&mut client, &session);
    let gone = result_of(&place, "w4");
    assert!(gone.contains("it was removed meanwhile"), "{gone}");
    let written = result_of(&place, "w5");
    assert!(written.contains("created"), "{written}");
    assert_eq!(place.note("Recipes/Newer.md"), "four\n");
}

#[test]
fn an_undo_without_a_number_undoes_the_conversations_own_change() {
    let write = json!({"path": "Own.md", "content": "x"});
    let place = Place::new(
        WIRE,
        vec![
            calls(WIRE, "u1", "undo", json!({})),
            says(WIRE, "Nothing."),
            calls(WIRE, "w1", "write_file", write),
            says(WIRE, "Written."),
            calls(WIRE, "u2", "undo", json!({})),
            says(WIRE, "Undone."),
        ],
    );
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    let theirs = |client: &mut Watcher, path: &str| {
        let written = client.tool("write_file", json!({"path": path, "content": "theirs"}));
        written["structuredContent"]["change_set"].as_u64().unwrap()
    };
    let set = theirs(&mut client, "Theirs.md");
    let session = ask(&mut client, &Value::Null);
    let refused = result_of(&place, "u1");
    assert!(refused.contains("this conversation has nothing to undo"), "{refused}");
    assert!(refused.contains(&format!("`change_set: {set}`")), "{refused}");
    assert_eq!(place.note("Theirs.md"), "theirs");
    ask(&mut client, &session);
    theirs(&mut client, "Later.md");
    ask(&mut client, &session);
    let undone = result_of(&place, "u2");
    assert!(undone.contains("undid"), "{undone}");
    assert!(!place.vault.join("Own.md").exists());
    assert_eq!(place.note("Later.md"), "theirs");
}

#[test]
fn a_deletion_in_a_turn_says_how_to_have_just_that_back() {
    let delete = |path: &str| json!({"path": path});
    let place = Place::new(
        WIRE,
        vec![
            calls(WIRE, "w1", "write_file", json!({"path": "W.md", "content": "x"})),
            calls(WIRE, "d1", "delete", delete("Recipes/Soup.md")),
            calls(WIRE, "d2", "delete", delete("Recipes/Bread.md")),
            calls(WIRE, "u1", "undo", json!({"change": "1.2"})),
            calls(WIRE, "l1", "list_changes", json!({})),
            says(WIRE, "Done."),
        ],
    );
    let daemon = place.serve();
    let mut client = place.client(&daemon);
    ask(&mut client, &Value::Null);
    let deleted = result_of(&place, "d1");
    assert!(deleted.contains("undo change 1.2 to have it back"), "{deleted}");
    let listed = result_of(&place, "l1");
    assert!(listed.contains("undo 1.2: deleted `Recipes/Soup.md`"), "{listed}");
    assert!(listed.contains("write `W.md` and 2 more"), "{listed}");
    assert!(place.vault.join("Recipes/Soup.md").exists());
    assert!(!place.vault.join("Recipes/Bread.md").exists() && place.vault.join("W.md").exists());
}
