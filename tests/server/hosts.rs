//! Requests to the program that has the vault open.

use serde_json::{Value, json};
use vault_steward::policy::Scope;
use vault_steward::server::Settings;
use vault_steward::server::token::Token;

use crate::fake::fake;
use crate::support::{Client, Door};

fn door() -> Door {
    Door::open(Settings::default(), fake().0)
}

fn introduce(client: &mut Client, name: &str, host: &[&str], focused: bool) {
    let answer = client.call(
        "initialize",
        json!({"protocolVersion": 1, "clientInfo": {"name": name}, "clientCapabilities": {
            "_meta": {"vault": {"host": host, "focused": focused}}}}),
    );
    assert!(answer["result"].is_object(), "{answer}");
}

fn host(door: &Door, name: &str, focused: bool) -> Client {
    let mut client = door.connect();
    introduce(&mut client, name, &["open", "active_note", "a_later_one"], focused);
    client
}

/// A client that requests opening a note; its answer.
fn ask(door: &Door) -> (Client, i64) {
    let mut client = door.client();
    let id = client.ask("_vault/host/request", json!({"operation": "open", "path": "A.md"}));
    (client, id)
}

fn answered(asked: &mut Client, question: &Value) {
    let result = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"path": "A.md"}});
    asked.send(&result.to_string());
}

#[test]
fn the_one_that_had_the_focus_last_is_asked_and_nobody_else() {
    let door = door();
    let mut first = host(&door, "first", true);
    let mut second = host(&door, "second", true);
    let notify = |client: &mut Client, focused: bool| {
        client.send(
            &json!({"jsonrpc": "2.0", "method": "_vault/host/focus", "params": {
                "focused": focused}})
            .to_string(),
        );
        // Processed before every later request.
        client.call("_vault/ping", json!({}));
    };
    let served_by = |asked: &mut Client, name: &str| {
        let (mut client, id) = ask(&door);
        let question = asked.read();
        assert_eq!(question["method"], "_vault/host/open");
        assert_eq!(question["params"]["path"], "A.md");
        assert!(question["params"]["opId"].is_string(), "{question}");
        assert_eq!(question["params"]["deadlineMs"], 200);
        answered(asked, &question);
        let answer = client.answer(id);
        assert_eq!(answer["result"]["client"], name, "{answer}");
        assert_eq!(answer["result"]["note"]["path"], "A.md");
    };
    served_by(&mut second, "second");
    notify(&mut first, true);
    served_by(&mut first, "first");
    // The client that loses the focus to another program is still the last one that had it.
    notify(&mut first, false);
    served_by(&mut first, "first");
    drop(first);
    let status = door.client().call("_vault/status", json!({}));
    let known = |name: &Value| *name == json!("second") || *name == json!("first");
    assert!(known(&status["result"]["host"]["client"]), "{status}");
}

#[test]
fn without_a_host_the_error_comes_at_once() {
    let door = door();
    let (mut client, id) = ask(&door);
    assert_eq!(client.answer(id)["error"]["data"]["kind"], "host_unavailable");

    // A client that supports only other operations is no host either, nor is one that does not act
    // for a person.
    let mut other = door.connect();
    introduce(&mut other, "other", &["notice"], true);
    let token = Token::parse(&door.token).unwrap().scoped(Scope::Client).reveal();
    let mut program = Client::connect(door.port, &token).unwrap();
    introduce(&mut program, "program", &["open"], true);
    let (mut client, id) = ask(&door);
    assert_eq!(client.answer(id)["error"]["data"]["kind"], "host_unavailable");
    let refused = program.call("_vault/host/request", json!({"operation": "active_note"}));
    assert_eq!(refused["error"]["data"]["kind"], "forbidden");
}

#[test]
fn an_answer_that_does_not_come_is_never_asked_for_again() {
    let door = door();
    let mut silent = host(&door, "silent", true);
    let (mut client, id) = ask(&door);
    let question = silent.read();
    let answer = client.answer(id);
    assert_eq!(answer["error"]["data"]["kind"], "timeout", "{answer}");
    // The host gets a cancellation, and its late answer is ignored.
    let withdrawn = silent.read();
    assert_eq!(withdrawn["method"], "$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    answered(&mut silent, &question);
    assert!(silent.call("_vault/ping", json!({}))["result"].is_object());

    // If it disconnects in between the outcome is unknown too, and the other host is not asked
    // instead.
    let mut other = host(&door, "other", false);
    let (mut client, id) = ask(&door);
    silent.read();
    drop(silent);
    assert_eq!(client.answer(id)["error"]["data"]["kind"], "timeout");
    let pinged = other.ask("_vault/ping", json!({}));
    assert_eq!(other.read()["id"], pinged, "nothing else came");
}

#[test]
fn a_host_may_say_no_and_a_stranger_cannot_answer() {
    let door = door();
    let mut asked = host(&door, "asked", true);
    let (mut client, id) = ask(&door);
    let question = asked.read();
    let mut stranger = door.client();
    answered(&mut stranger, &question);
    assert!(stranger.call("_vault/ping", json!({}))["result"].is_object());
    let no = json!({"jsonrpc": "2.0", "id": question["id"], "error": {
        "code": -32000, "message": "the vault is locked"}});
    asked.send(&no.to_string());
    let answer = client.answer(id);
    assert_eq!(answer["error"]["data"]["kind"], "failed", "{answer}");
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(said.contains("`asked`") && said.contains("the vault is locked"), "{said}");

    let (mut client, id) = ask(&door);
    let question = asked.read();
    let nonsense = json!({"jsonrpc": "2.0", "id": question["id"], "result": [7]});
    asked.send(&nonsense.to_string());
    assert_eq!(client.answer(id)["error"]["data"]["kind"], "failed");
}
