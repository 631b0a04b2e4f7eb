//! `conversations` and `usage`, with a daemon and without, and the events that clients receive.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use vault_steward::agent::Conversations;
use vault_steward::agent::clock::SystemClock;
use vault_steward::agent::conversations::TurnEnd;
use vault_steward::conversation::{ConversationId, EndKind, ItemKind, TurnState};
use vault_steward::store::Store;
use vault_steward::store::conversations::NewItem;
use vault_steward::store::usage::Used;

use crate::client::client;
use crate::door::Client;
use crate::support::Home;

/// Two conversations as turns would have stored them: one ended, one open.
fn talk(state: &Path) {
    let clock = Arc::new(SystemClock::default());
    let open = Conversations::new(Store::at(state), Default::default(), clock);
    let say = |text: &str, answer: &str| {
        let item = |kind, text: &str| NewItem { kind, text: text.into(), body: None };
        let arrived = open.arrive(&item(ItemKind::User, text), "chat", None).unwrap();
        let items = vec![item(ItemKind::Assistant, answer)];
        let end = TurnEnd { items, ..TurnEnd::plain(TurnState::Done, "") };
        open.finish_turn(arrived.conversation, arrived.turn, &end).unwrap();
        arrived.conversation
    };
    let first = say("please sort my meeting notes", "Six notes moved.\nAnything else?");
    let item = |kind, text: &str| NewItem { kind, text: text.into(), body: None };
    let more = open.arrive(&item(ItemKind::User, "and the rest?"), "chat", Some(first)).unwrap();
    let found = item(ItemKind::ToolResults, "<tool_data>\nReceipts/May.md\n</tool_data>");
    let end = TurnEnd { items: vec![found], ..TurnEnd::plain(TurnState::Failed, "it broke off") };
    open.finish_turn(first, more.turn, &end).unwrap();
    let used =
        Used { requests: 2, input: 1000, output: 50, cost: 12_345, unpriced: 1, ..Used::default() };
    open.count_usage(first, "claude", used).unwrap();
    open.end(first, EndKind::Person, "").unwrap();
    assert_eq!(say("会议笔记在哪里", "`Meetings`"), ConversationId(2));
}

/// The output for a user; the same with a daemon and without.
fn look(home: &Home, vault: &Path) -> Vec<String> {
    let run = |arguments: &[&str]| home.run_in(vault, arguments);
    let mut said = Vec::new();
    let list = run(&["conversations"]).expect(0).stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("2  ") && lines[0].contains("open   (current)"), "{list}");
    assert!(lines[1].contains("ended  please sort my meeting notes"), "{list}");
    said.push(list);
    let json = run(&["conversations", "list", "-n", "1", "--json"]).expect(0).json();
    assert_eq!(json["conversations"].as_array().unwrap().len(), 1);
    let show = run(&["conversations", "show", "1"]).expect(0).stdout;
    assert!(show.contains("[1] you, ") && show.contains("    Six notes moved.\n"), "{show}");
    assert!(show.ends_with("    (3 lines; --json shows them)\n    (it broke off)\n"), "{show}");
    said.push(show);
    let found = run(&["conversations", "search", "receipts"]).expect(0).stdout;
    assert!(found.contains(": Receipts/May.md\n") && !found.contains("tool_data"), "{found}");
    assert_eq!(
        run(&["conversations", "show", "--json"]).expect(0).json()["conversation"]["sessionId"],
        "2"
    );
    let none = run(&["conversations", "show", "99"]).expect(1);
    assert!(none.stderr.contains("there is no conversation 99"), "{none:?}");
    assert!(none.stderr.contains("steward conversations list"), "{none:?}");
    assert_eq!(
        run(&["conversations", "show", "x", "--json"]).expect(1).json()["code"],
        "unknown_session"
    );
    for words in [&["会议"][..], &["笔记", "哪里"]] {
        let found = run(&[&["conversations", "search"], words].concat()).expect(0).stdout;
        assert!(found.starts_with("2  ") && found.contains("[1] you: 会议笔记在哪里"), "{found}");
    }
    let nothing = run(&["conversations", "search", "nobody said this"]).expect(0);
    assert!(nothing.stdout.contains("no conversation matches"));
    let usage = run(&["usage"]).expect(0).stdout;
    assert!(usage.contains("claude") && usage.contains("$0.02 and 1 unpriced"), "{usage}");
    assert_eq!(run(&["usage", "--conversation", "2"]).expect(0).stdout, "no model was used\n");
    let called = run(&["call", "get_conversation", "--conversation-id", "1", "--json"]).expect(0);
    assert_eq!(called.json()["items"][1]["text"], "Six notes moved.\nAnything else?");
    said.push(run(&["call", "get_conversation"]).expect(0).stdout);

    let note = run(&["conversations", "export", "1"]).expect(0).stdout;
    assert!(note.starts_with("---\ntitle: \"please sort my meeting notes\"\n"), "{note}");
    run(&["conversations", "export", "1", "--to", "Talks/one.md"]).expect(0);
    assert_eq!(std::fs::read_to_string(vault.join("Talks/one.md")).unwrap(), note);
    let again = run(&["conversations", "export", "1", "--to", "Talks/one.md"]).expect(1);
    assert!(again.stderr.contains("exists"), "{again:?}");
    assert!(run(&["log"]).expect(0).stdout.contains("Talks/one.md"), "it can be undone");
    let outside = vault.parent().unwrap().join("out.md");
    let _ = std::fs::remove_file(&outside);
    let to = outside.to_str().unwrap();
    run(&["conversations", "export", "1", "--to", to]).expect(0);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), note);
    run(&["conversations", "export", "1", "--to", to]).expect(1);
    let nowhere = vault.parent().unwrap().join("missing/out.md");
    run(&["conversations", "export", "1", "--to", nowhere.to_str().unwrap()]).expect(1);

    // Nobody is there to agree.
    let asked = run(&["conversations", "delete", "1"]).expect(2);
    assert!(asked.stderr.contains("please sort my meeting notes"), "{asked:?}");
    run(&["conversations", "clear"]).expect(2);
    said.push(run(&["conversations", "end"]).expect(0).stdout);
    assert_eq!(
        run(&["conversations", "end"]).expect(0).stdout,
        "there is no current conversation\n"
    );
    said.push(run(&["conversations", "end", "2"]).expect(0).stdout);
    said.push(run(&["conversations", "delete", "1", "--yes"]).expect(0).stdout);
    run(&["conversations", "delete", "1", "--yes"]).expect(1);
    said.push(run(&["conversations", "clear", "-y"]).expect(0).stdout);
    said.push(run(&["conversations"]).expect(0).stdout);
    assert!(run(&["usage"]).expect(0).stdout.contains("claude"), "it stays counted");
    said
}

#[test]
fn only_the_one_that_the_next_message_goes_to_is_marked() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let run = |arguments: &[&str]| home.run_in(&vault, arguments).expect(0).stdout;
    run(&["conversations"]);
    talk(&home.state());
    let clock = Arc::new(SystemClock::default());
    let open = Conversations::new(Store::at(&home.state()), Default::default(), clock);
    open.open_new("chat").unwrap();
    let marked = |text: &str, mark: &str| text.lines().filter(|line| line.contains(mark)).count();
    for served in [false, true] {
        let _daemon = served.then(|| home.serve(&vault));
        let list = run(&["conversations"]);
        assert_eq!((marked(&list, "open "), marked(&list, "(current)")), (2, 1), "{list}");
        let current = run(&["conversations", "show"]);
        assert!(current.starts_with("3  ") && current.contains("(current)"), "{current}");
        let other = run(&["conversations", "show", "2"]);
        assert!(other.starts_with("2  ") && other.contains("(no title yet)"), "{other}");
        let found = run(&["conversations", "search", "会议"]);
        assert!(found.starts_with("2  ") && found.contains("(no title yet)"), "{found}");
    }
}

#[test]
fn conversations_are_shown_and_deleted_with_a_daemon_and_without() {
    let (alone, served) = (Home::new(), Home::new());
    let directly = {
        let vault = alone.vault("Notes");
        alone.run_in(&vault, &["conversations"]).expect(0);
        talk(&alone.state());
        look(&alone, &vault)
    };
    let vault = served.vault("Notes");
    served.run_in(&vault, &["conversations"]).expect(0);
    talk(&served.state());
    let daemon = served.serve(&vault);
    let mut client = client(&served, &vault, &daemon);
    client.call("_vault/subscribe", json!({}));
    assert_eq!(look(&served, &vault), directly);
    let mut events = Vec::new();
    while events.len() < 3 {
        let event: Value = client.read();
        if event["method"] == "_vault/conversation_changed" {
            let params = &event["params"];
            events.push((params["sessionId"].clone(), params["kind"].clone()));
        } else if event["method"] == "session/update" {
            let update = &event["params"]["update"];
            assert_eq!(update["sessionUpdate"], "session_info_update", "{event}");
            assert_eq!(update["title"], "会议笔记在哪里");
        }
    }
    assert_eq!(
        events,
        [
            (json!("2"), json!("ended")),
            (json!("1"), json!("deleted")),
            (json!("2"), json!("deleted")),
        ]
    );
}

#[test]
fn a_conversation_is_renamed_and_continues_from_an_earlier_message() {
    for served in [false, true] {
        let home = Home::new();
        let vault = home.vault("Notes");
        let run = |arguments: &[&str]| home.run_in(&vault, arguments);
        run(&["conversations"]).expect(0);
        talk(&home.state());
        let _daemon = served.then(|| home.serve(&vault));
        let renamed =
            run(&["conversations", "rename", "2", "Where", "the notes are"]).expect(0).stdout;
        assert_eq!(renamed, "conversation 2 is called “Where the notes are”\n");
        let forked = run(&["conversations", "fork", "2", "--before", "1"]).expect(0).stdout;
        assert!(
            forked.starts_with("conversation 2 continues on branch 2; `steward chat"),
            "{forked}"
        );
        assert!(!run(&["conversations", "show", "2"]).expect(0).stdout.contains("会议"));
        run(&["conversations", "fork", "2", "--branch", "1"]).expect(0);
        let shown = run(&["conversations", "show", "2"]).expect(0).stdout;
        assert!(shown.contains("Where the notes are") && shown.contains("会议"), "{shown}");
        run(&["conversations", "fork", "2"]).expect(2);
    }
}

#[test]
fn deletions_by_a_smaller_limit_are_announced_a_day_before() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let run = |arguments: &[&str]| home.run_in(&vault, arguments).expect(0).stdout;
    run(&["conversations"]);
    let clock = Arc::new(SystemClock::default());
    let open = Conversations::new(Store::at(&home.state()), Default::default(), clock);
    for _ in 0..3 {
        let id = open.open_new("chat").unwrap().id;
        let said = NewItem { kind: ItemKind::User, text: "hello".into(), body: None };
        open.append(id, None, &[said]).unwrap();
        open.end(id, EndKind::Person, "").unwrap();
    }
    drop(open);
    let listed = || run(&["conversations"]).lines().count();
    let says = |what: &str| run(&["status"]).contains(what);
    home.write_config("[conversation]\nkept = 2\n");
    let mut daemon = home.serve(&vault);
    let port = daemon.port();
    let mut client = Client::connect(port, run(&["token"]).trim_end()).unwrap();
    client.initialize();
    client.call("_vault/subscribe", json!({}));
    let mut set = |kept: u32| {
        home.write_config(&format!("[conversation]\nkept = {kept}\n"));
        while client.read()["method"] != "_vault/config_reloaded" {}
    };
    assert!(says(
        "`[conversation] kept` is 2, smaller than it was: of the conversations 1 go after"
    ));
    assert_eq!(listed(), 3);
    // While it runs: raising a limit takes effect at once, lowering it is announced first.
    set(0);
    assert!(!says("go after"));
    set(1);
    assert!(says("of the conversations 2 go after"));
    assert_eq!(listed(), 3);
    daemon.kill();
    let events = daemon.stderr();
    assert!(
        events.contains("conversations 1 go") && events.contains("conversations 2 go"),
        "{events}"
    );
    // A day later.
    let database = rusqlite::Connection::open(home.state().join("state.db")).unwrap();
    let pass = "UPDATE held SET since = since - 86400000 WHERE name = 'conversations'";
    assert_eq!(database.execute(pass, []).unwrap(), 1);
    drop(database);
    let _daemon = home.serve(&vault);
    assert_eq!(listed(), 1);
    assert!(!says("go after"));
}

#[test]
fn only_a_persons_own_program_sees_conversations() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.run_in(&vault, &["conversations"]).expect(0);
    talk(&home.state());
    home.write_config("[policy]\nread = [\"Projects\"]\n");
    let daemon = home.serve(&vault);
    let port = daemon.port();
    let token = home.run_in(&vault, &["token", "--scope", "mcp"]).expect(0).stdout;
    let mut client = Client::connect(port, token.trim_end()).unwrap();
    client.initialize();
    for method in ["session/list", "_vault/conversation", "_vault/end", "_vault/usage"] {
        let answer = client.call(method, json!({}));
        assert_eq!(answer["error"]["data"]["kind"], "forbidden", "{method}: {answer}");
    }
    let call = json!({"name": "get_conversation", "arguments": {"list_recent": 1}});
    let answer = client.call("tools/call", call);
    assert_eq!(answer["result"]["structuredContent"]["code"], "denied", "{answer}");
}

#[test]
fn a_loaded_conversation_is_replayed() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.run_in(&vault, &["conversations"]).expect(0);
    talk(&home.state());
    let daemon = home.serve(&vault);
    let mut client = client(&home, &vault, &daemon);
    // No model is configured: the whole turn is one sentence.
    let prompt = json!({"sessionId": "2", "prompt": [{"type": "text", "text": "and the others?"}]});
    let said = client.call("session/prompt", prompt);
    let answer = said["result"]["_meta"]["vault"]["answer"].as_str().unwrap().to_owned();
    let mut second = crate::client::client(&home, &vault, &daemon);
    for wrong in [
        json!({"sessionId": "2", "mcpServers": [{"command": "sh"}]}),
        json!({"sessionId": "2", "cwd": "/"}),
    ] {
        let refused = second.call("session/load", wrong);
        assert_eq!(refused["error"]["data"]["kind"], "invalid_params", "{refused}");
    }
    let id = second.ask("session/load", json!({"sessionId": "2", "cwd": vault}));
    let mut events = Vec::new();
    let result = loop {
        let message = second.read();
        if message["id"] == id {
            break message;
        }
        assert_eq!(message["params"]["_meta"]["vault"]["seq"], 0, "{message}");
        let update = &message["params"]["update"];
        let text = update["content"]["text"].as_str().unwrap().to_owned();
        events.push((update["sessionUpdate"].as_str().unwrap().to_owned(), text));
    };
    assert_eq!(result["result"]["_meta"]["vault"]["sessionId"], "2", "{result}");
    let asked = ["会议笔记在哪里", "and the others?"];
    let users: Vec<&str> = events
        .iter()
        .filter(|(kind, _)| kind == "user_message_chunk")
        .map(|(_, text)| text.as_str())
        .collect();
    assert_eq!(users, asked);
    assert_eq!(events.last().unwrap(), &("agent_message_chunk".to_owned(), answer));
}
