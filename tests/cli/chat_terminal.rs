//! `steward chat` on a terminal, as a person uses it.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::chat::{Place, WIRE, salt};
use crate::models::{Answer, Step};
use crate::script::{Piece, answer, body, calls, says};
use crate::terminal::Terminal;

fn open(place: &Place, arguments: &[&str]) -> Terminal {
    let mut terminal = Terminal::start(&place.command(arguments), 80);
    terminal.expect("/help lists the commands");
    terminal.expect("> ");
    terminal
}

fn question() -> Answer {
    calls(WIRE, "q1", "send_message", json!({"text": "White or rye?", "is_question": true}))
}

#[test]
fn words_are_shown_as_they_come_and_ctrl_c_stops_the_turn_alone() {
    let first = body(WIRE, &[Piece::Text("Once **upon** a time ")]);
    let first = first.split("data: {\"choices\":[{\"delta\":{},").next().unwrap().to_owned();
    let hang = Answer::steps(vec![Step::Bytes(first.into_bytes()), Step::Hang]);
    let place = Place::new(vec![hang, says(WIRE, "Here I am.")]);
    let mut terminal = open(&place, &[]);
    terminal.press("tell me a story\r");
    terminal.expect("Once upon a");
    terminal.press("\x03");
    terminal.expect("stopped");
    place.server.left();
    terminal.expect("> ");
    terminal.press("are you there?\r");
    terminal.expect("Here I am.");
    terminal.expect("> ");
    assert!(place.asked().contains("tell me a story"), "what was said stays in the conversation");
    assert!(terminal.all().contains("\u{1b}[1mupon\u{1b}[0m"), "{:?}", terminal.all());
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
    let history = place.home.state().join("chat_history");
    let mode = std::fs::metadata(&history).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(std::fs::read_to_string(&history).unwrap().contains("are you there?"));
    let mut terminal = open(&place, &[]);
    terminal.press("\x1b[A");
    terminal.expect("are you there?");
    terminal.press("\x03");
    terminal.expect("> ");
    terminal.press("\x03");
    terminal.expect("Ctrl-D to leave");
    terminal.expect("> ");
    terminal.press("\x03");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn what_must_be_agreed_to_is_asked_in_place() {
    let delete = |id| calls(WIRE, id, "delete", json!({"path": "Recipes"}));
    let place =
        Place::new(vec![delete("c1"), says(WIRE, "Kept."), delete("c2"), says(WIRE, "Gone.")]);
    let mut terminal = open(&place, &[]);
    terminal.press("clean up\r");
    let asked = terminal.expect("Allow it?");
    assert!(asked.contains("? delete `Recipes`") && asked.contains("asked because"), "{asked}");
    terminal.press("n\r");
    terminal.expect("● delete Recipes ✗");
    terminal.expect("Kept.");
    assert!(place.vault.join("Recipes/Soup.md").exists());
    terminal.expect("> ");
    terminal.press("do it all the same\r");
    terminal.expect("Allow it?");
    terminal.press("y\r");
    terminal.expect("● delete Recipes ✓");
    terminal.expect("Gone.");
    assert!(!place.vault.join("Recipes").exists());
    terminal.expect("> ");
    terminal.press("/undo\r");
    terminal.expect("undid change set");
    assert!(place.vault.join("Recipes/Soup.md").exists());
    terminal.expect("> ");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_question_is_answered_here_or_by_another_client() {
    let place =
        Place::new(vec![question(), says(WIRE, "Rye it is."), question(), says(WIRE, "White.")]);
    let mut terminal = open(&place, &[]);
    terminal.press("buy bread\r");
    terminal.expect("White or rye?");
    terminal.expect("? ");
    terminal.press("rye\r");
    terminal.expect("Rye it is.");
    terminal.expect("> ");
    terminal.press("and tomorrow?\r");
    terminal.expect("White or rye?");
    terminal.expect("? ");
    let mut other = place.client(false);
    let answer = other.call(
        "session/prompt",
        json!({"prompt": [{"type": "text", "text": "white, for once"}],
            "_meta": {"vault": {"source": "voice"}}}),
    );
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    terminal.expect("» (voice) white, for once");
    terminal.expect("White.");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn an_approval_that_another_client_gives_is_closed_here() {
    let delete = calls(WIRE, "c1", "delete", json!({"path": "Recipes"}));
    let place = Place::new(vec![delete, says(WIRE, "Gone.")]);
    let mut terminal = open(&place, &[]);
    let mut other = place.client(true);
    terminal.press("clean up\r");
    terminal.expect("Allow it?");
    let asked = loop {
        let message = other.read();
        if message["method"] == "session/request_permission" {
            break message;
        }
    };
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    other.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": outcome}).to_string());
    terminal.expect("that question no longer needs an answer");
    terminal.expect("Gone.");
    terminal.expect("> ");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn commands_do_what_they_say() {
    let place = Place::new(vec![salt(), says(WIRE, "Saltier."), says(WIRE, "Anew.")]);
    let mut terminal = open(&place, &[]);
    terminal.press("/udno\r");
    terminal.expect("there is no command `/udno`; did you mean `/undo`?");
    terminal.press("/undo\r");
    terminal.expect("the last turn changed nothing");
    terminal.press("/he\t\r");
    terminal.expect("undo what the last turn changed");
    terminal.expect("Anything else is a message");
    terminal.press("more salt in [[bre\t\r");
    terminal.expect("● edit_file Recipes/Bread.md ✓");
    terminal.expect("+Salt 11 g");
    terminal.expect("Saltier.");
    terminal.expect("1 change; /undo undoes all of it");
    assert!(place.asked().contains("[[Recipes/Bread]]"), "{}", place.asked());
    terminal.expect("> ");
    terminal.press("/tools\r");
    terminal.expect("1. edit_file Recipes/Bread.md");
    terminal.expect("\"old_text\": \"Salt 9 g\"");
    terminal.press("/undo\r");
    terminal.expect("undid change set");
    assert_eq!(place.note("Recipes/Bread.md"), "# Bread\n\nFlour 500 g\nSalt 9 g\n");
    terminal.press("/usage\r");
    terminal.expect("2 requests, 200 tokens read");
    terminal.press("/model\r");
    terminal.expect("work/m is asked");
    terminal.press("/new\r");
    terminal.expect("conversation 2");
    terminal.press("hello\r");
    terminal.expect("Anew.");
    terminal.expect("> ");
    assert!(!place.asked().contains("[[Recipes/Bread]]"), "it is another conversation");
    terminal.press("/end\r");
    terminal.expect("conversation 2 has ended");
    terminal.press("/conversations\r");
    terminal.expect("LAST SAID");
    terminal.press("/conversations 1\r");
    terminal.expect("» more salt in [[Recipes/Bread]]");
    terminal.expect("Saltier.");
    terminal.press("/model other/one\r");
    terminal.expect("there is no provider `other`");
    terminal.expect("ollama, lmstudio, llamacpp, vllm, work");
    terminal.press("/model work/two\r");
    terminal.expect("wrote models.chain = [\"work/two\",\"work/m\"]");
    terminal.press("/quit\r");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn proposals_are_shown_after_their_turn_and_decided_by_commands() {
    let read = calls(WIRE, "r1", "read_file", json!({"path": "Recipes/Bread.md"}));
    let edit = |old: &str, new: &str| json!({"path": "Recipes/Bread.md", "old_text": old, "new_text": new});
    let edits = [
        Piece::Call("c1", "edit_file", edit("Salt 9 g", "Salt 11 g")),
        Piece::Call("c2", "edit_file", edit("Flour 500 g", "Flour 600 g")),
        Piece::Call("c3", "write_file", json!({"path": "Recipes/Rice.md", "content": "# Rice\n"})),
    ];
    let answers = vec![read, answer(WIRE, &edits), says(WIRE, "A larger loaf.")];
    let place = Place::with(answers, "[policy]\nmode = \"plan\"\n");
    let mut terminal = open(&place, &[]);
    terminal.press("/proposals\r");
    terminal.expect("no proposed change waits in this conversation");
    terminal.press("a larger loaf, please\r");
    terminal.expect("A larger loaf.");
    terminal.expect("3 proposed changes; nothing has been changed yet");
    terminal.expect("+Salt 11 g");
    terminal.expect("/apply applies all of it");
    terminal.press("/apply all\r");
    terminal.expect("`/apply` takes numbers, such as `1` or `2.3`");
    terminal.press("/apply 2.1\r");
    terminal.expect("applied 1 of 1; `steward undo ");
    assert_eq!(place.note("Recipes/Bread.md"), "# Bread\n\nFlour 600 g\nSalt 9 g\n");
    terminal.press("/reject 3\r");
    terminal.expect("rejected 1; nothing was changed");
    terminal.press("/apply\r");
    terminal.expect("applied 1 of 1");
    assert_eq!(place.note("Recipes/Bread.md"), "# Bread\n\nFlour 600 g\nSalt 11 g\n");
    terminal.press("/apply\r");
    terminal.expect("these proposals were decided before");
    terminal.press("/quit\r");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn the_first_message_after_new_goes_to_the_new_conversation() {
    let place = Place::new(["One.", "Elsewhere.", "Three."].map(|text| says(WIRE, text)).into());
    let mut terminal = open(&place, &[]);
    terminal.press("the first thing\r");
    terminal.expect("One.");
    terminal.expect("> ");
    terminal.press("/new\r");
    terminal.expect("> ");
    // Another client writes in the first one, which is the current one from then on.
    let mut other = place.client(false);
    let listed = other.call("session/list", json!({}));
    let sessions = listed["result"]["sessions"].as_array().unwrap();
    let is_first = |one: &&serde_json::Value| one["_meta"]["vault"]["items"] != 0;
    let first = sessions.iter().find(is_first).unwrap()["sessionId"].clone();
    let text = json!([{"type": "text", "text": "something else"}]);
    other.call("session/prompt", json!({"sessionId": first, "prompt": text}));
    terminal.press("the new thing\r");
    terminal.expect("Three.");
    terminal.expect("> ");
    let asked = place.asked();
    assert!(asked.contains("the new thing") && !asked.contains("the first thing"), "{asked}");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_connection_that_broke_is_made_again() {
    let slow = vec![
        Step::Pause(std::time::Duration::from_millis(100)),
        Step::Bytes(body(WIRE, &[Piece::Text("Back again.")]).into_bytes()),
    ];
    let mut place = Place::new(vec![says(WIRE, "Hello."), Answer::steps(slow)]);
    let mut terminal = open(&place, &[]);
    terminal.press("hello\r");
    terminal.expect("Hello.");
    terminal.expect("> ");
    place.daemon.kill();
    terminal.expect("the connection to the daemon broke");
    place.daemon = place.home.serve(&place.vault);
    terminal.expect("connected again");
    terminal.press("still there?\r");
    terminal.expect("Back again.");
    assert!(place.asked().contains("hello"), "it is the same conversation");
    terminal.expect("> ");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_connection_that_broke_in_the_middle_of_an_answer_repeats_nothing() {
    let first = body(WIRE, &[Piece::Text("Once upon a time ")]);
    let first = first.split("data: {\"choices\":[{\"delta\":{},").next().unwrap().to_owned();
    let hang = Answer::steps(vec![Step::Bytes(first.into_bytes()), Step::Hang]);
    let mut place = Place::new(vec![hang, says(WIRE, "Here I am.")]);
    let mut terminal = open(&place, &[]);
    terminal.press("tell me a story\r");
    terminal.expect("Once upon a");
    place.daemon.kill();
    terminal.expect("the connection to the daemon broke");
    place.daemon = place.home.serve(&place.vault);
    // The message is sent again, and its result is shown.
    terminal.expect("the daemon was restarted");
    terminal.expect("> ");
    assert_eq!(place.server.requests().len(), 1, "no model is asked for it a second time");
    terminal.press("are you there?\r");
    terminal.expect("Here I am.");
    let requests = place.server.requests();
    let asked = String::from_utf8_lossy(&requests[1].body);
    assert_eq!(asked.matches("tell me a story").count(), 1, "{asked}");
    terminal.expect("> ");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn one_message_on_a_terminal_is_answered_and_that_is_all() {
    let two = [Piece::Text("- one\n- two, which is `code`\n")];
    let place = Place::new(vec![answer(WIRE, &two)]);
    let mut terminal = Terminal::start(&place.command(&["count"]), 80);
    terminal.expect("• one\n• two, which is code");
    assert_eq!(terminal.end(), 0);
    // Styles can be switched off.
    let mut command = place.command(&["count"]);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(&command, 80);
    terminal.expect("- two, which is `code`");
    let all = terminal.all();
    assert!(!all.contains("\u{1b}[36m"), "{all:?}");
    assert_eq!(terminal.end(), 0);
}
