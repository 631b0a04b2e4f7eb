//! Proposals of the mode `plan`, decided by the user of an ACP client.

use serde_json::{Value, json};

use crate::editor::{Editor, Ground};

fn planning(ground: &Ground) -> (Editor, String) {
    let mut editor = ground.editor();
    let id = editor.begin(&ground.vault);
    let mode = json!({"sessionId": id, "modeId": "plan"});
    let answer = editor.call("session/set_mode", mode);
    assert!(answer["error"].is_null(), "{answer}");
    (editor, id)
}

fn propose(ground: &Ground, editor: &mut Editor, id: &str, text: &str) {
    ground.calls("edit_file", json!({"path": "a", "old_text": "two", "new_text": text}));
    let end = editor.prompt(id, "change it");
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    assert_eq!(ground.read("a.md"), "one\ntwo\n", "it is only proposed");
    editor.heard.clear();
}

/// The answer to a slash command.
fn said(editor: &mut Editor, end: &Value) -> String {
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    let chunks = editor.updates("agent_message_chunk");
    editor.heard.clear();
    chunks.iter().filter_map(|one| one["content"]["text"].as_str()).collect()
}

#[test]
fn what_was_proposed_is_shown_rejected_and_applied() {
    let ground = Ground::new("");
    let (mut editor, id) = planning(&ground);
    let end = editor.prompt(&id, "/proposals");
    assert!(said(&mut editor, &end).starts_with("No proposed change waits"));

    propose(&ground, &mut editor, &id, "three");
    let end = editor.prompt(&id, "/proposals");
    let shown = said(&mut editor, &end);
    assert!(shown.contains("1. write `a.md`") && shown.contains("-two\n+three"), "{shown}");
    let asked = ground.model.requests().len();
    let end = editor.prompt(&id, "/reject");
    assert_eq!(said(&mut editor, &end), "Rejected 1.");
    let end = editor.prompt(&id, "/apply");
    assert_eq!(end["error"]["message"], "these proposals were decided before", "{end}");
    assert_eq!(ground.model.requests().len(), asked, "no model is asked");

    // The command does not count as an approval: the client may be a robot.
    propose(&ground, &mut editor, &id, "four");
    let prompt = editor.begin_prompt(&id, "/apply");
    let question = editor.question();
    assert_eq!(
        question["params"]["toolCall"]["content"][0]["newText"], "one\nfour\n",
        "{question}"
    );
    editor.choose(&question, "reject_once");
    let end = editor.answer(prompt);
    let refused = said(&mut editor, &end);
    assert!(refused.starts_with("Applied 0 of 1.") && refused.contains("refused"), "{refused}");
    assert_eq!(ground.read("a.md"), "one\ntwo\n");
    let prompt = editor.begin_prompt(&id, "/apply 1");
    let question = editor.question();
    editor.choose(&question, "allow_once");
    let end = editor.answer(prompt);
    let applied = said(&mut editor, &end);
    assert!(applied.starts_with("Applied 1 of 1. `steward undo "), "{applied}");
    assert_eq!(ground.read("a.md"), "one\nfour\n");
    let end = editor.prompt(&id, "/apply it");
    let hint = "it takes numbers, such as `1` or `2.3`, as `/proposals` shows them";
    assert!(end["error"].to_string().contains(hint), "{end}");
    editor.prompt(&id, "go on");
    let requests = ground.model.requests();
    let asked = String::from_utf8_lossy(&requests.last().unwrap().body);
    assert!(asked.contains("The user has applied some of the proposals of turn"), "{asked}");
}

#[test]
fn where_it_may_not_approve_a_persons_own_program_decides() {
    let ground = Ground::new("[acp]\nmay_approve = false\n");
    let (mut editor, id) = planning(&ground);
    propose(&ground, &mut editor, &id, "three");
    let end = editor.prompt(&id, "/apply");
    let text = said(&mut editor, &end);
    assert!(text.starts_with("Applied 0 of 1."), "{text}");
    assert_eq!(ground.read("a.md"), "one\ntwo\n");
}

#[test]
fn a_plan_is_applied_or_rejected() {
    let ground = Ground::new("");
    let (mut editor, id) = planning(&ground);
    let mut plan = || {
        let items = json!({"items": [{"path": "a.md", "to": "Archive/a.md"}]});
        ground.calls("plan_changes", items);
        let end = editor.prompt(&id, "tidy up");
        assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
        editor.heard.clear();
        let end = editor.prompt(&id, "/proposals");
        let shown = said(&mut editor, &end);
        assert!(shown.starts_with("Plan "), "{shown}");
    };
    plan();
    plan();
    let end = editor.prompt(&id, "/reject");
    assert_eq!(said(&mut editor, &end), "Rejected plan 2.");
    let end = editor.prompt(&id, "/proposals");
    assert!(said(&mut editor, &end).starts_with("No proposed change waits"));
    ground.calls("plan_changes", json!({"items": [{"path": "a.md", "to": "Archive/a.md"}]}));
    editor.prompt(&id, "again");
    editor.heard.clear();
    let prompt = editor.begin_prompt(&id, "/apply");
    let question = editor.question();
    editor.choose(&question, "allow_once");
    let end = editor.answer(prompt);
    let applied = said(&mut editor, &end);
    assert!(applied.starts_with("Applied plan 3: 1 of 1 as job 1."), "{applied}");
    assert_eq!(ground.read("Archive/a.md"), "one\ntwo\n");
}
