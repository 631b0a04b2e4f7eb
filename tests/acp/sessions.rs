//! Conversations of an ACP client: started, continued, loaded and closed.

use serde_json::{Value, json};
use vault_steward::llm::Wire;

use crate::editor::Ground;
use crate::models::{Answer, Step};
use crate::script::{Piece, body};

fn first_bytes(text: &str) -> Vec<u8> {
    let whole = body(Wire::Chat, &[Piece::Text(text)]);
    let end = whole.find("\n\n").unwrap() + 2;
    whole.as_bytes()[..end].to_vec()
}

#[test]
fn an_editor_finds_its_conversation_after_a_restart() {
    let ground = Ground::new("");
    let note =
        |path: &str, text: &str| std::fs::write(format!("{}/{path}", ground.vault), text).unwrap();
    std::fs::create_dir(format!("{}/Templates", ground.vault)).unwrap();
    note(".obsidian/templates.json", r#"{"folder": "Templates"}"#);
    note("Templates/Meeting notes.md", "# {{title}}\n");
    let mut editor = ground.starting();
    let opened = editor.call("initialize", json!({"protocolVersion": 1}));
    let capabilities = &opened["result"]["agentCapabilities"];
    assert_eq!(capabilities["loadSession"], true, "{opened}");
    let session = json!({"list": {}, "resume": {}, "close": {}, "delete": {}});
    assert_eq!(capabilities["sessionCapabilities"], session, "{opened}");
    assert!(capabilities.get("_meta").is_none(), "{opened}");
    assert_eq!(opened["result"]["authMethods"], json!([]));
    let vault = ground.vault.clone();
    let begun = editor.call("session/new", json!({"cwd": vault, "mcpServers": []}));
    let id = begun["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(begun["result"]["modes"]["currentModeId"], "auto", "{begun}");
    assert_eq!(begun["result"]["configOptions"][1]["currentValue"], "work/m", "{begun}");

    let edit = json!({"path": "a", "old_text": "two", "new_text": "three"});
    ground.calls("edit_file", edit);
    let end = editor.prompt(&id, "change it");
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    assert_eq!(ground.read("a.md"), "one\nthree\n");
    let commands = editor.updates("available_commands_update");
    let commands = commands[0]["availableCommands"].as_array().unwrap();
    let names: Vec<_> = commands.iter().filter_map(|one| one["name"].as_str()).collect();
    let ours = ["undo", "daily", "find", "proposals", "apply", "reject"];
    assert_eq!(names, [ours.as_slice(), &["template_Meeting_notes"]].concat());
    let calls = editor.updates("tool_call");
    assert_eq!(calls[0]["kind"], "edit", "{calls:?}");
    let over = |updates: Vec<Value>| {
        updates.into_iter().find(|update| update["status"] == "completed").unwrap()
    };
    let live = over(editor.updates("tool_call_update"));
    let path = format!("{vault}/a.md");
    let diff = json!([{"type": "diff", "path": path, "oldText": "one\ntwo\n",
        "newText": "one\nthree\n"}]);
    assert_eq!(live["content"], diff, "{live}");
    assert_eq!(live["locations"], json!([{"path": path, "line": 2}]));
    assert!(editor.updates("notice").is_empty());
    drop(editor);

    ground.end_daemon();
    let mut editor = ground.editor();
    let listed = editor.call("session/list", json!({"cwd": vault}));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], id.as_str(), "{listed}");
    let load = json!({"sessionId": id, "cwd": vault, "mcpServers": []});
    let loaded = editor.call("session/load", load);
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "auto", "{loaded}");
    assert_eq!(editor.updates("user_message_chunk")[0]["content"]["text"], "change it");
    let again = over(editor.updates("tool_call_update"));
    assert_eq!(again["content"], diff, "the journal still has it: {again}");
    assert!(!format!("{:?}", editor.heard).contains("tool_data"), "{:?}", editor.heard);
    assert_eq!(editor.updates("agent_message_chunk")[0]["content"]["text"], "done");
    let end = editor.prompt(&id, "and now?");
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");

    let deleted = editor.call("session/delete", json!({"sessionId": id}));
    assert_eq!(deleted["result"], json!({}), "{deleted}");
    let listed = editor.call("session/list", json!({}));
    assert_eq!(listed["result"]["sessions"], json!([]), "{listed}");
}

#[test]
fn a_turn_is_stopped_during_text_and_during_a_question() {
    let ground = Ground::new("[policy]\nmode = \"ask\"\n");
    let mut editor = ground.editor();
    let id = editor.begin(&ground.vault);
    ground.says(Answer::steps(vec![Step::Bytes(first_bytes("it begins")), Step::Hang]));
    let prompt = editor.begin_prompt(&id, "talk");
    editor.until(|one| one["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": id}});
    editor.say(&cancel);
    assert_eq!(editor.answer(prompt)["result"]["stopReason"], "cancelled");
    ground.model.left();

    ground.calls("write_file", json!({"path": "new", "content": "n\n"}));
    let prompt = editor.begin_prompt(&id, "write");
    let question = editor.question();
    editor.say(&cancel);
    let outcome = json!({"outcome": {"outcome": "cancelled"}});
    editor.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome}));
    assert_eq!(editor.answer(prompt)["result"]["stopReason"], "cancelled");
    assert!(!std::path::Path::new(&ground.vault).join("new.md").exists());
}

#[test]
fn loading_a_conversation_mid_answer_shows_the_whole_answer() {
    let ground = Ground::new("");
    let mut editor = ground.editor();
    let id = editor.begin(&ground.vault);
    ground.says(Answer::steps(vec![Step::Bytes(first_bytes("it begins")), Step::Hang]));
    let prompt = editor.begin_prompt(&id, "talk");
    editor.until(|one| one["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    for method in ["session/load", "session/resume"] {
        let mut later = ground.editor();
        let load = json!({"sessionId": id, "cwd": ground.vault, "mcpServers": []});
        assert!(later.call(method, load)["result"].is_object());
        let is_said = |one: &Value| one["params"]["update"]["content"]["text"] == "it begins";
        if !later.heard.iter().any(is_said) {
            later.until(is_said);
        }
    }
    editor.say(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": id}}));
    assert_eq!(editor.answer(prompt)["result"]["stopReason"], "cancelled");
    ground.model.left();
}

#[test]
fn another_folder_and_offered_servers_are_accepted_with_a_notice() {
    let ground = Ground::new("");
    let mut editor = ground.editor();
    let stdio =
        json!({"name": "files", "command": "/bin/sh", "args": ["-c", "touch ran"], "env": []});
    let http = json!({"type": "http", "name": "far", "url": "http://127.0.0.1:9/", "headers": []});
    let new = json!({"cwd": "/somewhere/else", "mcpServers": [stdio, http]});
    let begun = editor.call("session/new", new);
    let id = begun["result"]["sessionId"].as_str().unwrap().to_owned();
    let update =
        editor.until(|one| one["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    let text = update["params"]["update"]["content"]["text"].as_str().unwrap();
    for part in ["/somewhere/else", ground.vault.as_str(), "`files`", "`far`"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // An editor may name any open file.
    let prompt = json!([{"type": "text", "text": "look"},
        {"type": "resource_link", "uri": "file:///etc/passwd", "name": "passwd"},
        {"type": "resource_link", "uri": format!("file://{}/a.md", ground.vault), "name": "a"}]);
    let end = editor.call("session/prompt", json!({"sessionId": id, "prompt": prompt}));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    let asked = String::from_utf8(ground.model.requests()[0].body.clone()).unwrap();
    assert!(asked.contains("file:///etc/passwd` is meant, which is outside"), "{asked}");
    assert!(asked.contains("the note `a.md` is meant") && !asked.contains("root:x:"), "{asked}");

    let other = editor.begin(&ground.vault);
    assert_ne!(other, id, "an empty one is nobody else's");
    let ids = |answer: Value| -> Vec<String> {
        let sessions = answer["result"]["sessions"].as_array().unwrap().clone();
        sessions.iter().map(|one| one["sessionId"].as_str().unwrap().to_owned()).collect()
    };
    let there = ids(editor.call("session/list", json!({"cwd": "/somewhere/else"})));
    assert_eq!(there, std::slice::from_ref(&id));
    assert_eq!(ids(editor.call("session/list", json!({}))).len(), 2);
    let wrong = editor.call("session/new", json!({"cwd": "relative", "mcpServers": []}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

#[test]
fn a_conversations_mode_and_model_survive_a_restart() {
    let ground = Ground::new("");
    let mut editor = ground.editor();
    let (id, other) = (editor.begin(&ground.vault), editor.begin(&ground.vault));
    let option =
        |config: &str, value: &str| json!({"sessionId": id, "configId": config, "value": value});
    let set = editor.call("session/set_config_option", option("model", "work/n"));
    assert_eq!(set["result"]["configOptions"][1]["currentValue"], "work/n", "{set}");
    let set = editor.call("session/set_mode", json!({"sessionId": id, "modeId": "read-only"}));
    assert_eq!(set["result"], json!({}), "{set}");
    let update =
        editor.until(|one| one["params"]["update"]["sessionUpdate"] == "config_option_update");
    assert_eq!(update["params"]["update"]["configOptions"][0]["currentValue"], "read-only");
    for wrong in [option("model", "other/x"), option("mode", "loose"), option("colour", "red")] {
        let refused = editor.call("session/set_config_option", wrong);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    ground.end_daemon();
    let write = json!({"path": "new", "content": "n\n"});
    ground.calls("write_file", write.clone());
    let end = editor.prompt(&id, "write");
    assert_eq!(end["result"]["stopReason"], "end_turn", "the relay opened it again: {end}");
    assert!(!std::path::Path::new(&ground.vault).join("new.md").exists(), "it is read-only");
    let asked = String::from_utf8(ground.model.requests()[0].body.clone()).unwrap();
    assert!(asked.contains(r#""model":"n""#), "{asked}");
    ground.calls("write_file", write);
    editor.prompt(&other, "write");
    assert_eq!(ground.read("new.md"), "n\n");

    // The vault's own mode is the least restrictive possible.
    ground.steward(&["mode", "ask"]).expect(0);
    let looser = editor.call("session/set_mode", json!({"sessionId": other, "modeId": "auto"}));
    assert_eq!(looser["error"]["code"], -32602, "{looser}");
}

#[test]
fn two_editors_share_a_conversation_and_see_no_other() {
    let ground = Ground::new("");
    let (mut one, mut two) = (ground.editor(), ground.editor());
    let shared = one.begin(&ground.vault);
    let private = one.begin(&ground.vault);
    let early = two.prompt(&shared, "too early");
    assert_eq!(early["error"]["data"]["kind"], "unknown_session", "{early}");
    let load = json!({"sessionId": shared, "cwd": ground.vault, "mcpServers": []});
    assert!(two.call("session/load", load)["result"].is_object());
    one.prompt(&shared, "hello of one");
    let heard = two.until(|one| one["params"]["update"]["sessionUpdate"] == "user_message_chunk");
    assert_eq!(heard["params"]["update"]["content"]["text"], "hello of one");
    one.prompt(&private, "nobody else's");
    let end = two.prompt(&shared, "hello of two");
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    assert!(!format!("{:?}", two.heard).contains("nobody else"), "{:?}", two.heard);

    let close = json!({"sessionId": shared});
    assert_eq!(two.call("session/close", close)["result"], json!({}));
    two.heard.clear();
    one.prompt(&shared, "after it was closed");
    two.call("session/list", json!({}));
    assert!(!format!("{:?}", two.heard).contains("after it"), "{:?}", two.heard);
}

#[test]
fn a_persons_prompts_are_commands_whose_text_the_agent_gets() {
    let ground = Ground::new("");
    std::fs::create_dir(format!("{}/Prompts", ground.vault)).unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(format!("{}/Prompts/{name}.md", ground.vault), text).unwrap();
    };
    write("Sum up", "---\narguments: WHAT\n---\nSum up {{arguments}} in a line.\n");
    write("Find", "A command of the steward's has this name.\n");
    let mut editor = ground.editor();
    let id = editor.begin(&ground.vault);
    let end = editor.prompt(&id, "/sum-up the week");
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    let asked = String::from_utf8(ground.model.requests().last().unwrap().body.clone()).unwrap();
    assert!(asked.contains("Sum up the week in a line."), "{asked}");
    let commands = editor.updates("available_commands_update")[0]["availableCommands"].take();
    let commands = commands.as_array().unwrap();
    let own = commands.iter().find(|one| one["name"] == "sum-up").unwrap();
    assert_eq!(own["input"]["hint"], "WHAT", "{commands:?}");
    assert_eq!(commands.iter().filter(|one| one["name"] == "find").count(), 1, "{commands:?}");
    let refused = editor.prompt(&id, "/sum-up");
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("`/sum-up` needs words after its name"), "{refused}");
    let plain = editor.prompt(&id, "/etc/hosts is full");
    assert_eq!(plain["result"]["stopReason"], "end_turn", "{plain}");
    let asked = String::from_utf8(ground.model.requests().last().unwrap().body.clone()).unwrap();
    assert!(asked.contains("/etc/hosts is full"), "{asked}");
}
