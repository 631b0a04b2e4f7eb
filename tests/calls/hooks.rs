//! The effects of hooks on a call: they bypass no layer, and run once.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use vault_steward::calls::{Calls, Decision, Outcome, Request};
use vault_steward::hooks::{self, Hooks};
use vault_steward::note::code::ErrorCode;
use vault_steward::policy::settings::{Permission, Switch};
use vault_steward::policy::{Mode, Scope, Settings};
use vault_steward::store::Store;
use vault_steward::vault::Cancel;

use crate::doors::{answered, audited, request};
use crate::vault::{TestVault, vault};

struct Ground {
    vault: TestVault,
    programs: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let vault = vault(&[("a.md", "one\n"), ("Old/b.md", "b\n")]);
        Self { vault, programs: tempfile::tempdir().unwrap() }
    }

    /// Calls with one hook, which also counts how often it ran.
    fn calls(&self, settings: Settings, mut hook: Value, script: &str) -> Calls {
        let file = self.programs.path().join("hook");
        let text = format!("#!/bin/sh\necho ran >> \"$TMPDIR/runs\"\n{script}\n");
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        hook["command"] = json!(["/bin/sh", file]);
        let hooks: hooks::Settings =
            serde_json::from_value(json!({"commands": {"hook": hook}})).unwrap();
        let hooks = Hooks::new(hooks, self.vault.place.clone(), self.place());
        let store = Store::at(&self.vault.state);
        Calls::new(self.vault.context.clone(), settings, store, hooks)
    }

    fn place(&self) -> std::path::PathBuf {
        self.programs.path().join("place")
    }

    fn runs(&self) -> usize {
        lines(&self.place().join("runs"))
    }
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap_or_default().lines().count()
}

fn replacing(input: &Value) -> String {
    format!("cat > /dev/null; printf '%s' '{}'", json!({"decision": "replace", "input": input}))
}

fn before() -> Value {
    json!({"on": ["before_tool_call"], "sees": "texts"})
}

fn write(path: &str) -> Value {
    json!({"path": path, "content": "from the caller\n"})
}

#[test]
fn a_hook_receives_the_paths_of_a_call() {
    let ground = Ground::new();
    let heard = ground.place().join("heard");
    let calls = ground.calls(Settings::default(), before(), "cat > \"$TMPDIR/heard\"");
    let call = json!({"source": "a.md", "destination": "Old/c.md"});
    answered(calls.call(request(Scope::Client, "move", call), &Cancel::default())).unwrap();
    let event: Value = serde_json::from_slice(&std::fs::read(heard).unwrap()).unwrap();
    assert_eq!(event["named"], json!(["a.md", "Old/c.md"]), "{event}");
}

#[test]
fn a_call_that_a_hook_concerns_is_never_nonblocking() {
    let ground = Ground::new();
    for on in ["before_tool_call", "after_tool_call"] {
        let hook = json!({"on": [on], "sees": "texts"});
        let calls = ground.calls(Settings::default(), hook, "");
        let read = request(Scope::Client, "read_file", json!({"path": "a.md"}));
        assert!(calls.call_nonblocking(&read).is_none(), "{on}");
    }
}

#[test]
fn what_a_hook_inserts_passes_every_layer() {
    let ground = Ground::new();
    let call = |settings: Settings, tool: &str, input: Value| {
        let calls = ground.calls(settings, before(), &replacing(&input));
        answered(calls.call(request(Scope::Client, tool, write("c.md")), &Cancel::default()))
    };
    let layer = |error: vault_steward::tools::ToolError| error.data.unwrap()["layer"].clone();
    let error = call(Settings::default(), "write_file", json!({"path": 3})).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidInput);
    let inside = Settings { write: vec!["Old".to_owned()], ..Settings::default() };
    let outside = json!({"path": "x.md", "content": "x"});
    assert_eq!(layer(call(inside, "write_file", outside).unwrap_err()), "paths");
    let error = call(
        Settings::default(),
        "write_file",
        json!({"path": ".obsidian/app.json", "content": "x"}),
    );
    assert_eq!(error.unwrap_err().code, ErrorCode::ProtectedPath);
    // The permission is derived from the replaced arguments.
    let calls = ground.calls(
        Settings::default(),
        before(),
        &replacing(&json!({"path": "a.md", "permanent": true})),
    );
    let delete = request(Scope::Client, "delete", json!({"path": "a.md"}));
    assert_eq!(layer(answered(calls.call(delete, &Cancel::default())).unwrap_err()), "permission");
    assert!(ground.vault.exists("a.md"));

    let input = json!({"path": "c.md", "content": "from the hook\n"});
    call(Settings::default(), "write_file", input).unwrap();
    assert_eq!(ground.vault.content("c.md"), "from the hook\n");
}

#[test]
fn a_person_approves_the_hooks_replacement_and_the_hook_runs_once() {
    let ground = Ground::new();
    let settings = Settings { mode: Mode::Ask, ..Settings::default() };
    let input = json!({"path": "c.md", "content": "from the hook\n"});
    let calls = ground.calls(settings, before(), &replacing(&input));
    let asked = calls.call(request(Scope::Client, "write_file", write("b.md")), &Cancel::default());
    let Outcome::Ask(question) = asked else { panic!("{asked:?}") };
    assert_eq!(question.changes()[0].path, "c.md");
    assert_eq!(ground.runs(), 1);
    answered(question.answer(Decision::Once, "chat".into(), &Cancel::default())).unwrap();
    assert_eq!(ground.vault.content("c.md"), "from the hook\n");
    assert_eq!(ground.runs(), 1, "else it would be put in twice");
    assert!(!ground.vault.exists("b.md"));
    assert_eq!(audited(&calls).last().unwrap().paths, "c.md");
}

#[test]
fn hooks_do_not_receive_calls_that_other_layers_refuse() {
    let ground = Ground::new();
    let read = Settings { client: Permission::Read, ..Settings::default() };
    let once = Settings { changes_per_minute: 1, ..Settings::default() };
    for (settings, arguments, runs) in [
        (read, write("c.md"), 0),
        (Settings { mode: Mode::ReadOnly, ..Settings::default() }, write("c.md"), 0),
        (Settings::default(), json!({"path": 3}), 0),
        (once, write("c.md"), 1),
    ] {
        let before = ground.runs();
        let calls =
            ground.calls(settings, json!({"on": ["before_tool_call", "after_tool_call"]}), "");
        for _ in 0..3 {
            let request = request(Scope::Client, "write_file", arguments.clone());
            let _ = answered(calls.call(request, &Cancel::default()));
        }
        drop(calls);
        assert_eq!(ground.runs() - before, runs * 2, "before and after");
    }
}

#[test]
fn a_refusing_hook_changes_nothing_and_counts_no_call() {
    let ground = Ground::new();
    let before = ground.vault.snapshot();
    let no = r#"echo '{"decision":"refuse","reason":"closed"}'"#;
    for kind in ["before_tool_call", "before_change"] {
        for scope in Scope::ALL {
            let settings = Settings { changes_per_minute: 1, ..Settings::default() };
            let calls = ground.calls(settings.clone(), json!({"on": [kind]}), no);
            for dry_run in [false, true, false] {
                let confirmed = scope.is_person();
                let call = request(scope, "write_file", write("c.md"));
                let call = Request { dry_run, confirmed, ..call };
                let error = answered(calls.call(call, &Cancel::default())).unwrap_err();
                assert_eq!(error.code, ErrorCode::Denied, "{kind} {scope:?}");
                assert!(error.message.contains("the hook `hook` refuses: closed"), "{error}");
                let row = audited(&calls).pop().unwrap();
                assert_eq!(row.decision, "refused");
                assert_eq!(row.layer.as_deref(), Some("hooks"));
            }
            let off = Settings { off: vec![Switch::Hooks], ..settings };
            let calls = ground.calls(off, json!({"on": [kind]}), no);
            let dry = Request { dry_run: true, ..request(scope, "write_file", write("c.md")) };
            answered(calls.call(dry, &Cancel::default())).unwrap();
        }
    }
    assert_eq!(ground.vault.snapshot(), before);
}

#[test]
fn hooks_receive_completed_calls_with_visible_content() {
    let ground = Ground::new();
    let on = json!({"on": ["change_applied", "after_tool_call"], "sees": "texts"});
    let calls = ground.calls(Settings::default(), on, "cat >> \"$TMPDIR/events\"");
    let call = |tool: &str, arguments: Value| {
        answered(calls.call(request(Scope::Client, tool, arguments), &Cancel::default()))
    };
    call("move", json!({"source": "a", "destination": "c.md"})).unwrap();
    call("read_file", json!({"path": "gone"})).unwrap_err();
    drop(calls);
    let events = std::fs::read_to_string(ground.place().join("events")).unwrap();
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&Value> = events.iter().map(|one| &one["event"]).collect();
    assert_eq!(kinds, ["change_applied", "after_tool_call", "after_tool_call"]);
    let change = json!({"action": "moved", "path": "c.md", "from": "a.md"});
    assert_eq!(events[0]["changes"], json!([change]));
    assert_eq!(events[0]["changeSet"], events[1]["changeSet"]);
    assert_eq!((&events[1]["outcome"], &events[1]["scope"]), (&json!("ok"), &json!("client")));
    assert_eq!(events[1]["paths"], json!(["c.md", "a.md"]));
    assert_eq!(events[2]["outcome"], "not_found");
    assert!(events[2]["answer"].as_str().unwrap().contains("gone"), "{events:?}");
}
