//! The checks of an undo, a restoration and a deletion that bypasses the trash.

use serde_json::{Value, json};
use vault_steward::calls::{Calls, Decision, Outcome, Question, Request};
use vault_steward::note::code::ErrorCode;
use vault_steward::policy::settings::Permission;
use vault_steward::policy::{Mode, Scope, Settings};
use vault_steward::tools::ToolError;
use vault_steward::vault::Cancel;

use crate::doors::{answered, audited, calls, request};
use crate::vault::{TestVault, vault};

const REMOTE: &str = "text\n![](http://127.0.0.1:9/?d=secret)\n";

#[track_caller]
fn asked(calls: &Calls, tool: &str, arguments: Value) -> Question {
    match calls.call(request(Scope::Client, tool, arguments), &Cancel::default()) {
        Outcome::Ask(question) => *question,
        Outcome::Answered(result) => panic!("not asked: {result:?}"),
    }
}

#[track_caller]
fn by(calls: &Calls, scope: Scope, tool: &str, arguments: Value) -> Value {
    let request = Request { confirmed: scope.is_person(), ..request(scope, tool, arguments) };
    answered(calls.call(request, &Cancel::default())).unwrap().data
}

#[track_caller]
fn refused(calls: &Calls, tool: &str, arguments: Value) -> ToolError {
    answered(calls.call(request(Scope::Client, tool, arguments), &Cancel::default())).unwrap_err()
}

#[test]
fn what_would_load_by_itself_once_it_is_put_back_is_asked_about() {
    let vault = vault(&[("a.md", REMOTE), ("b.md", REMOTE), ("Folder/c.md", REMOTE)]);
    let calls = calls(&vault, Settings::default());
    // A person removes it; an agent would restore it by an undo.
    let write = json!({"path": "a.md", "content": "text\n"});
    let set = by(&calls, Scope::Person, "write_file", write)["change_set"].clone();
    let question = asked(&calls, "undo", json!({"change_set": set}));
    assert!(
        question.reasons()[0].contains("loads or runs automatically"),
        "{:?}",
        question.reasons()
    );
    assert!(question.changes()[0].diff.contains("+![]("), "{:?}", question.changes());
    assert_eq!(question.folder(), None, "never for good");
    answered(question.answer(Decision::Reject, "chat".into(), &Cancel::default())).unwrap_err();
    assert_eq!(vault.content("a.md"), "text\n");
    // From the trash, a file and a whole folder, and by undoing the deletion.
    for path in ["b.md", "Folder"] {
        let set = by(&calls, Scope::Person, "delete", json!({"path": path}))["change_set"].clone();
        let question = asked(&calls, "restore", json!({"item": path}));
        assert!(question.reasons()[0].contains("loads or runs"), "{:?}", question.reasons());
        drop(question);
        asked(&calls, "undo", json!({"change_set": set}));
        assert!(!vault.exists(path));
    }
    // A file that another program deleted is read in the trash.
    vault.put(".trash/theirs.md", REMOTE);
    vault.put(".trash/plain.md", "plain\n");
    asked(&calls, "restore", json!({"item": ".trash/theirs.md"}));
    by(&calls, Scope::Client, "restore", json!({"item": ".trash/plain.md"}));
    assert_eq!(vault.content("plain.md"), "plain\n");
    // With a person's approval it is restored unchanged.
    let question = asked(&calls, "restore", json!({"item": "Folder"}));
    answered(question.answer(Decision::Once, "chat".into(), &Cancel::default())).unwrap();
    assert_eq!(vault.content("Folder/c.md"), REMOTE);
    // Restoring something that loads nothing needs no approval.
    let edit = json!({"path": "a.md", "old_text": "text", "new_text": "words"});
    let set = by(&calls, Scope::Client, "edit_file", edit)["change_set"].clone();
    by(&calls, Scope::Client, "undo", json!({"change_set": set}));
    assert_eq!(vault.content("a.md"), "text\n");
}

#[test]
fn an_undo_around_later_edits_is_approved_as_shown() {
    let vault = vault(&[("a.md", "1\n2\n3\n4\n")]);
    let calls = calls(&vault, Settings { mode: Mode::Ask, ..Settings::default() });
    let edit = json!({"path": "a.md", "old_text": "2", "new_text": "B"});
    let set = by(&calls, Scope::Person, "edit_file", edit)["change_set"].clone();
    vault.put("a.md", "1\nB\n3\n4\nmine\n");
    let question = asked(&calls, "undo", json!({"change_set": set}));
    let diff = question.changes()[0].diff.clone();
    assert!(diff.ends_with(" 1\n-B\n+2\n 3\n 4\n mine\n"), "{diff}");
    // The file is edited while the request is open: that makes it a different change.
    vault.put("a.md", "1\nB\n3\n4\nmine, more\n");
    let once = |question: Question| {
        answered(question.answer(Decision::Once, "chat".into(), &Cancel::default()))
    };
    once(question).unwrap_err();
    assert_eq!(vault.content("a.md"), "1\nB\n3\n4\nmine, more\n");
    once(asked(&calls, "undo", json!({"change_set": set}))).unwrap();
    assert_eq!(vault.content("a.md"), "1\n2\n3\n4\nmine, more\n");
}

#[test]
fn an_undo_writes_nothing_where_the_caller_may_not() {
    let vault = vault(&[("Open/a.md", "1\n2\n"), ("Closed/b.md", "b\n")]);
    let settings = Settings { write: vec!["Open".to_owned()], ..Settings::default() };
    let limited = calls(&vault, settings);
    let edit = json!({"path": "Open/a.md", "old_text": "2", "new_text": "B"});
    let set = by(&limited, Scope::Client, "edit_file", edit)["change_set"].clone();
    let there = json!({"source": "Open/a.md", "destination": "Closed/a.md"});
    by(&limited, Scope::Person, "move", there);
    let error = refused(&limited, "undo", json!({"change_set": set}));
    assert_eq!(error.data.unwrap()["layer"], "paths");
    assert_eq!(vault.content("Closed/a.md"), "1\nB\n");
    by(&limited, Scope::Person, "undo", json!({"change_set": set}));
    assert_eq!(vault.content("Closed/a.md"), "1\n2\n");
}

#[test]
fn following_links_are_changes_of_their_notes() {
    let linked = [("Open/a.md", "a\n"), ("Open/Sub/x.md", "x\n"), ("Closed/l.md", "[[Open/a]]\n")];
    let vault = vault(&linked);
    let settings = Settings { write: vec!["Open".to_owned()], ..Settings::default() };
    let limited = calls(&vault, settings.clone());
    let there = json!({"source": "Open/a.md", "destination": "Open/Sub/b.md"});
    let layer = |error: ToolError| error.data.unwrap()["layer"].clone();
    assert_eq!(layer(refused(&limited, "move", there.clone())), "paths");
    // A person moved it. An undo that moves it back would also change the link in the other folder.
    let set = by(&limited, Scope::Person, "move", there)["change_set"].clone();
    assert_eq!(vault.content("Closed/l.md"), "[[b]]\n");
    let before = vault.snapshot();
    assert_eq!(layer(refused(&limited, "undo", json!({"change_set": set}))), "paths");
    assert_eq!(vault.snapshot(), before);

    // So would a link that was added since, which no change set names.
    let vault = crate::vault::vault(&[
        ("Open/a.md", "a\n"),
        ("Open/Sub/x.md", "x\n"),
        ("Closed/l.md", "l\n"),
    ]);
    let limited = calls(&vault, settings.clone());
    let there = json!({"source": "Open/a.md", "destination": "Open/Sub/b.md"});
    let set = by(&limited, Scope::Client, "move", there)["change_set"].clone();
    vault.put("Closed/l.md", "[[b]]\n");
    vault.context.vault.rescan().unwrap();
    assert_eq!(layer(refused(&limited, "undo", json!({"change_set": set}))), "paths");
    assert_eq!(vault.content("Closed/l.md"), "[[b]]\n");
    by(&limited, Scope::Person, "undo", json!({"change_set": set}));
    assert_eq!(vault.content("Closed/l.md"), "[[a]]\n");

    // A restoration can capture a link in a note of another folder: `[[n]]` leads to the file in
    // the folder below until the nearer one is restored.
    let vault = twins();
    let limited = calls(&vault, settings);
    by(&limited, Scope::Person, "delete", json!({"path": "Open/n.md"}));
    vault.put("Closed/later.md", "[[n]]\n");
    vault.context.vault.rescan().unwrap();
    let before = vault.snapshot();
    let restore = json!({"item": "Open/n.md"});
    let result = answered(
        limited.call(request(Scope::Client, "restore", restore.clone()), &Cancel::default()),
    );
    assert_eq!(layer(result.unwrap_err()), "paths");
    assert_eq!(vault.snapshot(), before);
    by(&limited, Scope::Person, "restore", restore);
    assert_eq!(vault.content("Closed/later.md"), "[[Open/Deep/Down/n]]\n");
}

fn twins() -> TestVault {
    vault(&[("Open/n.md", "near\n"), ("Open/Deep/Down/n.md", "deep\n")])
}

#[test]
fn what_may_not_be_seen_cannot_be_undone_nor_heard_of() {
    let vault = vault(&[("Open/a.md", "a\n"), ("Closed/l.md", "canary-secret\n")]);
    let settings = Settings { read: vec!["Open".to_owned()], ..Settings::default() };
    let calls = calls(&vault, settings);
    let write = json!({"path": "Closed/l.md", "content": "canary-secret two\n"});
    let set = by(&calls, Scope::Person, "write_file", write)["change_set"].clone();
    vault.put("Closed/l.md", "canary-secret three\n");
    for force in [false, true] {
        let error = refused(&calls, "undo", json!({"change_set": set, "force": force}));
        assert_eq!(error.code, ErrorCode::NotFound);
        let said = format!("{}{:?}", error.text(), error.data);
        assert!(!said.contains("canary") && !said.contains("Closed"), "{said}");
    }
    assert_eq!(vault.content("Closed/l.md"), "canary-secret three\n");
}

#[test]
fn deleting_past_the_trash_is_a_persons_alone_and_asked_about_each_time() {
    let vault = vault(&[("a.md", "one\n"), ("Old/b.md", "b\n")]);
    let permanent = |path: &str| json!({"path": path, "permanent": true});
    let usual = calls(&vault, Settings::default());
    for scope in [Scope::Client, Scope::Acp, Scope::Mcp, Scope::Voice] {
        let call = request(scope, "delete", permanent("a.md"));
        let error = answered(usual.call(call, &Cancel::default())).unwrap_err();
        assert_eq!(error.data.unwrap()["layer"], "permission", "{scope:?}");
    }
    let person = request(Scope::Person, "delete", permanent("a.md"));
    let error = answered(usual.call(person, &Cancel::default())).unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalNeeded);
    assert!(error.message.contains("it deletes without the trash"), "{error}");
    assert!(vault.exists("a.md"));

    let data = by(&usual, Scope::Person, "delete", permanent("a.md"));
    assert_eq!(data["trash"], "kept");
    assert!(!vault.exists("a.md") && !vault.exists(".trash/a.md"));
    // It is recorded like any other change, and can be restored until the trash is emptied.
    by(&usual, Scope::Person, "undo", json!({"change_set": data["change_set"]}));
    assert_eq!(vault.content("a.md"), "one\n");

    // Where the settings allow it to a kind of caller, a person still approves it, each time.
    let trusting = Settings { client: Permission::Permanent, ..Settings::default() };
    let trusting = calls(&vault, trusting);
    let question = asked(&trusting, "delete", permanent("Old"));
    assert_eq!(question.folder(), None);
    answered(question.answer(Decision::Once, "chat".into(), &Cancel::default())).unwrap();
    assert!(!vault.exists("Old") && !vault.exists(".trash/Old"));
    asked(&trusting, "delete", permanent("a.md"));
    let reading = calls(&vault, Settings { mode: Mode::ReadOnly, ..Settings::default() });
    let call = request(Scope::Person, "delete", permanent("a.md"));
    let call = Request { confirmed: true, ..call };
    answered(reading.call(call, &Cancel::default())).unwrap_err();
    assert!(vault.exists("a.md"));
}

#[test]
fn the_audits_retention_changes_at_once() {
    let vault = vault(&[("a.md", "one\n")]);
    let calls = calls(&vault, Settings::default());
    calls.begin().unwrap();
    for _ in 0..20 {
        by(&calls, Scope::Client, "read_file", json!({"path": "a.md"}));
    }
    assert_eq!(audited(&calls).len(), 20);
    calls.set_settings(Settings { audit_calls: 5, ..Settings::default() });
    assert_eq!(audited(&calls).len(), 5);
    calls.end();
}

/// A permanently deleted file is a person's own: no limited caller restores it, or reads it in
/// earlier changes, under any of its names.
#[test]
fn permanently_deleted_files_are_neither_restored_nor_read() {
    const SECRET: &str = "canary-secret";
    let limited = [Scope::Client, Scope::Acp, Scope::Mcp, Scope::Voice];
    let vault = vault(&[("Open/n.md", "n\n"), ("Open/Deep/d.md", SECRET), ("Open/t.md", SECRET)]);
    let calls = calls(&vault, Settings::default());
    let mut sets = Vec::new();
    let mut person = |tool: &str, arguments: Value| {
        let set = by(&calls, Scope::Person, tool, arguments)["change_set"].clone();
        sets.push(set.clone());
        set
    };
    person("write_file", json!({"path": "Open/a.md", "content": format!("{SECRET}\n")}));
    let edit = json!({"path": "Open/a.md", "old_text": SECRET, "new_text": "canary-secret 2"});
    person("edit_file", edit);
    person("move", json!({"source": "Open/a.md", "destination": "Open/b.md"}));
    let gone = person("delete", json!({"path": "Open/b.md", "permanent": true}));
    let deep = person("delete", json!({"path": "Open/Deep", "permanent": true}));
    let answer = |scope: Scope, tool: &str, arguments: Value| match calls
        .call(request(scope, tool, arguments), &Cancel::default())
    {
        Outcome::Answered(Ok(answer)) => {
            format!("{}\n{}", answer.text, answer.data.clone().into_json())
        }
        Outcome::Answered(Err(error)) => format!("{}\n{:?}", error.text(), error.data),
        Outcome::Ask(question) => format!("{:?}", question.changes()),
    };
    let before = vault.snapshot();
    for scope in limited {
        for set in &sets {
            for arguments in [json!({"change_set": set}), json!({"change_set": set, "force": true})]
            {
                let said = answer(scope, "undo", arguments);
                assert!(!said.contains("canary"), "{scope:?}: {said}");
            }
            let changes = answer(scope, "list_changes", json!({"change_set": set, "diff": true}));
            assert!(!changes.contains("canary"), "{scope:?}: {changes}");
        }
        for set in [&gone, &deep] {
            let item = format!("{set}.1");
            for (tool, arguments) in [
                ("undo", json!({"change_set": set})),
                ("undo", json!({"change": item})),
                ("restore", json!({"item": item})),
                ("restore", json!({"item": item, "to": "Open/c.md"})),
            ] {
                let error =
                    answered(calls.call(request(scope, tool, arguments), &Cancel::default()))
                        .expect_err("it is the person's");
                assert_eq!(error.data.as_ref().unwrap()["layer"], "permission", "{error:?}");
                assert!(error.message.contains("was deleted for good"), "{error:?}");
            }
        }
        let all = answer(scope, "list_changes", json!({"diff": true, "limit": 200}));
        assert!(all.contains("deleted for good since") && !all.contains("canary"), "{all}");
    }
    assert_eq!(vault.snapshot(), before);
    // A file in the trash is not secret: every caller that may move files can restore it.
    let set =
        by(&calls, Scope::Person, "delete", json!({"path": "Open/t.md"}))["change_set"].clone();
    let shown = answer(Scope::Client, "list_changes", json!({"change_set": set, "diff": true}));
    assert!(shown.contains(SECRET), "{shown}");
    by(&calls, Scope::Client, "undo", json!({"change_set": set}));
    // A person restores the rest; from then on it is like any other note.
    by(&calls, Scope::Person, "undo", json!({"change_set": gone}));
    assert_eq!(vault.content("Open/b.md"), "canary-secret 2\n");
    let shown = answer(Scope::Client, "list_changes", json!({"change_set": sets[0], "diff": true}));
    assert!(shown.contains(SECRET), "{shown}");
    // A caller that may delete permanently may restore such files.
    let settings = Settings { client: Permission::Permanent, ..Settings::default() };
    calls.set_settings(settings);
    by(&calls, Scope::Client, "undo", json!({"change_set": deep}));
    assert_eq!(vault.content("Open/Deep/d.md"), SECRET);
}

#[test]
fn diffs_of_files_that_moved_out_of_view_are_hidden() {
    let vault = vault(&[("Open/a.md", "canary-secret\n"), ("Closed/x.md", "x\n")]);
    let calls = calls(&vault, Settings { read: vec!["Open".to_owned()], ..Settings::default() });
    let edit = json!({"path": "Open/a.md", "old_text": "canary", "new_text": "other canary"});
    let set = by(&calls, Scope::Person, "edit_file", edit)["change_set"].clone();
    let seen = || {
        let asked = json!({"change_set": set, "diff": true});
        answered(calls.call(request(Scope::Client, "list_changes", asked), &Cancel::default()))
            .unwrap()
            .text
    };
    assert!(seen().contains("canary"));
    let there = json!({"source": "Open/a.md", "destination": "Closed/a.md"});
    by(&calls, Scope::Person, "move", there);
    assert!(!seen().contains("canary"), "{}", seen());
}
