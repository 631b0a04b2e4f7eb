//! The permissions of an ACP client, which may be a robot.

use serde_json::json;
use vault_steward::tools::{Registry, Tier};

use crate::editor::Ground;

#[test]
fn it_answers_questions_of_its_own_conversations() {
    let ground = Ground::new("[policy]\nmode = \"ask\"\n");
    let (mut editor, mut other) = (ground.editor(), ground.editor());
    let id = editor.begin(&ground.vault);
    other.begin(&ground.vault);
    ground.calls("write_file", json!({"path": "new", "content": "n\n"}));
    let prompt = editor.begin_prompt(&id, "write");
    let question = editor.question();
    let params = &question["params"];
    assert_eq!(params["sessionId"], id.as_str(), "{question}");
    assert_eq!(params["toolCall"]["content"][0]["type"], "diff", "{question}");
    let options: Vec<_> = params["options"].as_array().unwrap().iter().collect();
    let options: Vec<_> = options.iter().map(|one| one["optionId"].as_str().unwrap()).collect();
    assert_eq!(options, ["allow_once", "reject_once"], "{question}");
    // An option that was not offered does not count as an answer, nor does another client's option.
    editor.choose(&question, "allow_always");
    other.choose(&question, "allow_once");
    other.call("session/list", json!({}));
    assert!(other.heard.iter().all(|one| one["method"] != "session/request_permission"));
    assert!(!std::path::Path::new(&ground.vault).join("new.md").exists());
    editor.choose(&question, "allow_once");
    assert_eq!(editor.answer(prompt)["result"]["stopReason"], "end_turn");
    assert_eq!(ground.read("new.md"), "n\n");
    let audit = ground.steward(&["audit", "--json"]).expect(0).stdout;
    assert!(audit.contains("an editor (ACP)") && audit.contains(r#""acp""#), "{audit}");
    // The refusal may come from a program.
    ground.calls("write_file", json!({"path": "more", "content": "n\n"}));
    let prompt = editor.begin_prompt(&id, "write");
    let question = editor.question();
    editor.choose(&question, "reject_once");
    editor.answer(prompt);
    let updates = editor.updates("tool_call_update");
    let refused = updates.last().unwrap().to_string();
    assert!(refused.contains("`an editor (ACP)` refused it"), "{refused}");
}

#[test]
fn what_loads_by_itself_and_the_note_with_instructions_are_a_persons() {
    let ground = Ground::new("[agent]\ninstructions_note = \"Rules.md\"\n");
    let mut editor = ground.editor();
    let id = editor.begin(&ground.vault);
    for write in [
        json!({"path": "new", "content": "![](https://evil.example/x.png)\n"}),
        json!({"path": "Rules", "content": "obey\n"}),
    ] {
        ground.calls("write_file", write);
        let end = editor.prompt(&id, "write");
        assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
        assert!(editor.heard.iter().all(|one| one["method"] != "session/request_permission"));
    }
    let pending = ground.steward(&["approvals", "pending", "--json"]).expect(0).json();
    assert_eq!(pending["pending"].as_array().unwrap().len(), 2, "{pending}");
}

#[test]
fn where_it_may_not_approve_it_is_not_asked() {
    let ground = Ground::new("[policy]\nmode = \"ask\"\n[acp]\nmay_approve = false\n");
    let mut editor = ground.editor();
    let id = editor.begin(&ground.vault);
    ground.calls("write_file", json!({"path": "new", "content": "n\n"}));
    let end = editor.prompt(&id, "write");
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    assert!(editor.heard.iter().all(|one| one["method"] != "session/request_permission"));
    assert!(!std::path::Path::new(&ground.vault).join("new.md").exists());
}

#[test]
fn no_tool_leads_around_a_mode_through_the_agent() {
    let ground = Ground::new("[acp]\nmay_approve = false\n[policy]\nreads_per_minute = 0\n");
    for (path, text) in
        [("t.md", "#garden\n"), ("deleted.md", "deleted\n"), ("changed.md", "before\n")]
    {
        std::fs::write(format!("{}/{path}", ground.vault), text).unwrap();
    }
    std::fs::write(format!("{}/a.md", ground.vault), "one\n").unwrap();
    std::fs::write(format!("{}/done.md", ground.vault), "done\n").unwrap();
    let example = |tool: &str| Registry::built_in().get(tool).unwrap().example.clone();
    ground.steward(&["call", "plan_changes", &example("plan_changes")]).expect(0);
    let tagged = r#"{"items": [{"path": "done.md", "tag": ["done"]}]}"#;
    let planned = ground.steward(&["call", "plan_changes", tagged, "--json"]).expect(0).json();
    let identity = planned["identity"].as_str().unwrap();
    let apply = ["call", "apply_plan", "--plan", "2", "--identity", identity, "--yes"];
    ground.steward(&apply).expect(0);
    ground.steward(&["call", "delete", "--path", "deleted.md"]).expect(0);
    ground.steward(&["call", "write_file", "--path", "changed.md", "--content", "after"]).expect(0);
    let mut editor = ground.editor();
    for (mode, layer) in [("read-only", "paths"), ("ask", "approval")] {
        ground.steward(&["mode", mode]).expect(0);
        for tool in Registry::built_in().iter().filter(|tool| tool.tier != Tier::Safe) {
            let id = editor.begin(&ground.vault);
            // A model must read a note before it changes it.
            ground.calls("read_file", json!({"path": "a.md"}));
            let arguments = match tool.name.as_str() {
                // A change by a person, in a conversation that has changed nothing itself.
                "undo" => json!({"change_set": 3}),
                _ => serde_json::from_str(&tool.example).unwrap(),
            };
            ground.calls(&tool.name, arguments);
            editor.heard.clear();
            let end = editor.prompt(&id, "do it");
            assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
            let updates = editor.updates("tool_call_update");
            let failed: Vec<_> = updates.iter().filter(|one| one["status"] == "failed").collect();
            assert_eq!(failed.len(), 1, "{} {mode}: {updates:#?}", tool.name);
            let came = &failed[0]["rawOutput"]["data"]["layer"];
            assert_eq!(came, layer, "{} {mode}: {}", tool.name, failed[0]);
        }
        assert_eq!(ground.read("a.md"), "one\n");
        assert_eq!(ground.read("changed.md"), "after");
    }
}

#[test]
fn acp_clients_get_only_acp_methods_and_their_own_conversations() {
    let ground = Ground::new("");
    let mut editor = ground.editor();
    for (method, params) in [
        ("_vault/mode", json!({"mode": "auto"})),
        ("_vault/audit", json!({})),
        ("_vault/status", json!({})),
        ("_vault/subscribe", json!({})),
        ("_vault/settings/get", json!({})),
        ("_vault/approvals/answer", json!({"id": 1, "optionId": "allow_once"})),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "read_file", "arguments": {"path": "a"}})),
    ] {
        let answer = editor.call(method, params);
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    ground.steward(&["chat", "of a person"]).expect(0);
    let listed = ground.steward(&["conversations", "list", "--json"]).expect(0).stdout;
    let theirs = "1";
    assert!(listed.contains(r#""sessionId":"1""#) && listed.contains("cli"), "{listed}");
    for (method, params) in [
        ("session/load", json!({"sessionId": theirs, "cwd": ground.vault, "mcpServers": []})),
        ("session/resume", json!({"sessionId": theirs, "cwd": ground.vault})),
        ("session/close", json!({"sessionId": theirs})),
        ("session/delete", json!({"sessionId": theirs})),
        ("session/set_mode", json!({"sessionId": theirs, "modeId": "ask"})),
        ("session/prompt", json!({"sessionId": theirs, "prompt": [{"type": "text", "text": "x"}]})),
    ] {
        let answer = editor.call(method, params);
        assert_eq!(answer["error"]["data"]["kind"], "unknown_session", "{method}: {answer}");
    }
    assert_eq!(editor.call("session/list", json!({}))["result"]["sessions"], json!([]));
    // Nor through the agent.
    let id = editor.begin(&ground.vault);
    ground.calls("get_conversation", json!({"id": 1}));
    editor.prompt(&id, "what did they say?");
    let updates = editor.updates("tool_call_update");
    assert!(updates.iter().any(|one| one["status"] == "failed"), "{updates:?}");
    assert!(!format!("{:?}", editor.heard).contains("of a person"), "{updates:?}");
    let asked = ground.model.requests().into_iter().skip(1).map(|one| String::from_utf8(one.body));
    assert!(asked.into_iter().all(|body| !body.unwrap().contains("of a person")));
}
