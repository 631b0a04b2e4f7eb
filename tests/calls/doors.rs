//! Every tool, for every kind of caller, in every mode: no way around a layer.

use serde_json::{Value, json};
use vault_steward::calls::{Calls, Outcome, Request};
use vault_steward::index::search;
use vault_steward::note::code::ErrorCode;
use vault_steward::policy::settings::Permission;
use vault_steward::policy::{Caller, Mode, Scope, Settings, schema};
use vault_steward::store::audit::{AuditFilter, AuditRow};
use vault_steward::tools::{
    self, Answer, Context, Definition, Registry, Tier, Tool, ToolError, ToolKind,
};
use vault_steward::vault::Cancel;

use crate::vault::{TestVault, vault};

pub fn calls(vault: &TestVault, settings: Settings) -> Calls {
    vault.calls(settings)
}

pub fn request(scope: Scope, tool: &str, arguments: Value) -> Request {
    Request {
        tool: tool.to_owned(),
        arguments,
        caller: Caller { scope, name: "test".to_owned() },
        ..Request::default()
    }
}

pub fn answered(outcome: Outcome) -> Result<Answer<Value>, ToolError> {
    match outcome {
        Outcome::Answered(result) => result.map(Answer::read),
        Outcome::Ask(question) => panic!("a person is asked: {:?}", question.reasons()),
    }
}

/// A call of a tool, on [`ground`]: its own example.
pub fn arguments(tool: &str) -> Value {
    let tool = Registry::built_in().get(tool).expect("a tool");
    serde_json::from_str(&tool.example).expect("JSON")
}

/// A vault in which every tool has something to do: among others a change to undo, a file to
/// restore, a plan to apply and a job to undo.
pub fn ground() -> TestVault {
    let vault = vault(&[
        ("a.md", "one\n"),
        ("t.md", "#garden\n"),
        ("Folder/x.md", "x"),
        ("Folder/y.md", "y"),
        ("deleted.md", "deleted\n"),
        ("changed.md", "before\n"),
        ("done.md", "done\n"),
    ]);
    let planned = vault.ok("plan_changes", arguments("plan_changes"));
    let example = arguments("apply_plan")["identity"].take();
    assert_eq!(example, planned["identity"], "the example of `apply_plan` is another");
    let tagged = json!({"items": [{"path": "done.md", "tag": ["done"]}]});
    let planned = vault.ok("plan_changes", tagged);
    vault.ok("apply_plan", json!({"plan": 2, "identity": planned["identity"]}));
    vault.ok("delete", json!({"path": "deleted.md"}));
    vault.ok("write_file", json!({"path": "changed.md", "content": "after\n"}));
    vault
}

#[test]
fn in_read_only_nothing_changes_for_anybody() {
    let vault = ground();
    let calls = calls(&vault, Settings { mode: Mode::ReadOnly, ..Settings::default() });
    let before = vault.snapshot();
    for tool in Registry::built_in().iter() {
        for scope in Scope::ALL {
            let confirmed = scope.is_person();
            let request = request(scope, &tool.name, arguments(&tool.name));
            let request = Request { confirmed, ..request };
            let result = answered(calls.call(request, &Cancel::default()));
            if tool.tier == Tier::Safe {
                let denied = matches!(&result, Err(error) if error.code == ErrorCode::Denied);
                assert!(!denied, "{} is only a look", tool.name);
            } else {
                let error = result.unwrap_err();
                assert_eq!(error.code, ErrorCode::Denied, "{}: {error}", tool.name);
                assert_eq!(error.data, Some(json!({"layer": "paths"})), "{}", tool.name);
            }
        }
    }
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn in_plan_whoever_is_no_person_only_proposes() {
    let vault = ground();
    let calls = calls(&vault, Settings { mode: Mode::Plan, ..Settings::default() });
    let before = vault.snapshot();
    for tool in Registry::built_in().iter() {
        for scope in Scope::ALL.into_iter().filter(|scope| !scope.is_person()) {
            let request = request(scope, &tool.name, arguments(&tool.name));
            let result = answered(calls.call(request, &Cancel::default()));
            if tool.tier != Tier::Safe {
                let answer =
                    result.unwrap_or_else(|error| panic!("{} {scope:?}: {error}", tool.name));
                let data = &answer.data;
                assert_eq!((&data["dryRun"], &data["proposed"]), (&json!(true), &json!(true)));
                assert_eq!(data["identity"], Value::Null, "it may be of what is hidden from it");
                assert!(answer.text.contains("this is a proposal"), "{}", answer.text);
            }
        }
    }
    assert_eq!(vault.snapshot(), before);
    // A person may change anything.
    let request = request(Scope::Person, "write_file", json!({"path": "mine.md", "content": "x"}));
    answered(calls.call(request, &Cancel::default())).unwrap();
    assert_ne!(vault.snapshot(), before);
}

#[test]
fn in_ask_every_change_asks_and_does_nothing_by_itself() {
    for tool in Registry::built_in().iter().filter(|tool| tool.tier != Tier::Safe) {
        for scope in Scope::ALL {
            let vault = ground();
            let calls = calls(&vault, Settings { mode: Mode::Ask, ..Settings::default() });
            let before = vault.snapshot();
            let arguments = arguments(&tool.name);
            match calls.call(request(scope, &tool.name, arguments), &Cancel::default()) {
                Outcome::Ask(_) => assert!(!scope.is_person(), "{}", tool.name),
                Outcome::Answered(result) => {
                    assert!(scope.is_person(), "{} {scope:?}", tool.name);
                    let error = result.unwrap_err();
                    assert_eq!(error.code, ErrorCode::ApprovalNeeded, "{}: {error}", tool.name);
                }
            }
            assert_eq!(vault.snapshot(), before, "{} {scope:?}", tool.name);
        }
    }
}

#[test]
fn a_kind_of_caller_that_may_only_read_changes_nothing() {
    let vault = ground();
    let settings = Settings {
        client: Permission::Read,
        acp: Permission::Read,
        mcp: Permission::Read,
        voice: Permission::Read,
        ..Settings::default()
    };
    let calls = calls(&vault, settings);
    let before = vault.snapshot();
    for tool in Registry::built_in().iter().filter(|tool| tool.tier != Tier::Safe) {
        for scope in [Scope::Client, Scope::Acp, Scope::Mcp, Scope::Voice] {
            let arguments = arguments(&tool.name);
            let result =
                answered(calls.call(request(scope, &tool.name, arguments), &Cancel::default()));
            assert_eq!(result.unwrap_err().data, Some(json!({"layer": "permission"})));
        }
    }
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn a_dry_run_shows_what_would_be_done_and_does_nothing() {
    for tool in Registry::built_in().iter().filter(|tool| tool.tier != Tier::Safe) {
        let vault = ground();
        let calls = calls(&vault, Settings::default());
        let before = vault.snapshot();
        let arguments = arguments(&tool.name);
        let request = Request { dry_run: true, ..request(Scope::Client, &tool.name, arguments) };
        let answer = answered(calls.call(request, &Cancel::default()));
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", tool.name));
        assert_eq!(answer.data["dryRun"], true, "{}", tool.name);
        assert!(!answer.data["changes"].as_array().unwrap().is_empty(), "{}", tool.name);
        assert_eq!(vault.snapshot(), before, "{}", tool.name);
    }
    let vault = ground();
    let calls = calls(&vault, Settings::default());
    let edit = json!({"path": "A", "old_text": "one", "new_text": "two"});
    let dry = Request { dry_run: true, ..request(Scope::Client, "edit_file", edit) };
    let answer = answered(calls.call(dry, &Cancel::default())).unwrap();
    let diff = answer.data["changes"][0]["diff"].as_str().unwrap();
    assert!(diff.contains("-one\n+two"), "{diff}");
    let reads =
        Request { dry_run: true, ..request(Scope::Client, "read_file", json!({"path": "a"})) };
    assert!(answered(calls.call(reads, &Cancel::default())).unwrap().text.contains("one"));
}

/// An undo reverts what was created, and may say so: nobody approves `restore` where a file is
/// removed.
#[test]
fn an_undo_is_shown_as_what_it_does() {
    let vault = ground();
    let calls = calls(&vault, Settings::default());
    let done = |tool: &'static str, arguments: serde_json::Value| {
        answered(calls.call(request(Scope::Client, tool, arguments), &Cancel::default())).unwrap()
    };
    let undo = || {
        let dry = Request { dry_run: true, ..request(Scope::Client, "undo", json!({})) };
        let answer = answered(calls.call(dry, &Cancel::default())).unwrap();
        let changes = answer.data["changes"].as_array().unwrap().clone();
        changes.iter().map(|one| format!("{} {}", one["action"], one["path"])).collect::<Vec<_>>()
    };
    done("write_file", json!({"path": "new.md", "content": "n"}));
    assert_eq!(undo(), [r#""delete" "new.md""#]);
    done("move", json!({"source": "new", "destination": "other.md"}));
    assert_eq!(undo(), [r#""move" "new.md""#]);
    done("edit_file", json!({"path": "other", "old_text": "n", "new_text": "m"}));
    assert_eq!(undo(), [r#""restore" "other.md""#]);
    done("delete", json!({"path": "other"}));
    assert_eq!(undo(), [r#""restore" "other.md""#]);
    done("create_folder", json!({"path": "Made"}));
    assert_eq!(undo(), [r#""delete" "Made""#]);
}

#[test]
fn a_change_of_mode_holds_from_the_next_call_and_for_later_runs() {
    let vault = ground();
    let calls = calls(&vault, Settings::default());
    let write = || request(Scope::Client, "write_file", json!({"path": "n.md", "content": "n"}));
    answered(calls.call(write(), &Cancel::default())).unwrap();
    calls.set_mode(Some(Mode::ReadOnly)).unwrap();
    answered(calls.call(write(), &Cancel::default())).unwrap_err();
    let later = self::calls(&vault, Settings::default());
    assert_eq!(later.mode().unwrap(), (Mode::ReadOnly, true));
    later.set_mode(None).unwrap();
    assert_eq!(calls.mode().unwrap(), (Mode::Auto, false));
    answered(calls.call(write(), &Cancel::default())).unwrap();
}

pub fn audited(calls: &Calls) -> Vec<AuditRow> {
    calls.audited(&AuditFilter { limit: 1000, ..AuditFilter::default() }).unwrap()
}

/// A non-blocking attempt is counted and audited like any other call, and not at all if it was
/// aborted.
#[cfg(target_os = "linux")]
#[test]
fn a_nonblocking_call_is_audited_and_an_aborted_one_is_not() {
    // In the build folder: not every file system supports non-blocking reads.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let vault = TestVault::at(folder.path(), &[("a.md", "one\n")], |_| ());
    let settings = Settings { reads_per_minute: 3, ..Settings::default() };
    let calls = calls(&vault, settings);
    let nonblocking = |path: &str| {
        calls.call_nonblocking(&request(Scope::Client, "read_file", json!({"path": path})))
    };
    for _ in 0..10 {
        assert!(nonblocking("nowhere.md").is_none(), "only a look at the disk can tell");
    }
    assert!(audited(&calls).is_empty());
    vault.ok("read_file", json!({"path": "a.md"}));
    for _ in 0..3 {
        assert_eq!(nonblocking("a.md").unwrap().unwrap().data.value()["content"], "one\n");
    }
    let refused = nonblocking("a.md").unwrap().unwrap_err();
    assert_eq!(refused.code, ErrorCode::RateLimited);
    let rows = audited(&calls);
    assert_eq!(rows.len(), 4);
    assert_eq!(rows.iter().filter(|row| row.decision == "refused").count(), 1);
    let write = json!({"path": "c.md", "content": "x"});
    assert!(calls.call_nonblocking(&request(Scope::Person, "write_file", write)).is_none());
    assert!(!vault.exists("c.md"));
}

#[test]
fn every_call_is_written_down_and_never_what_a_note_says() {
    let canary = "canary-4711";
    let vault = ground();
    let calls = calls(&vault, Settings::default());
    let call = |tool: &str, arguments: Value| {
        answered(calls.call(request(Scope::Client, tool, arguments), &Cancel::default()))
    };
    call("write_file", json!({"path": "n.md", "content": canary})).unwrap();
    call("read_file", json!({"path": "n"})).unwrap();
    call("search_files", json!({"pattern": canary})).unwrap();
    call("write_file", json!({"path": "n.md", "contents": canary})).unwrap_err();
    call("write_file", json!({"path": 3, "content": canary})).unwrap_err();
    call("no_such_tool", json!({"x": canary})).unwrap_err();
    call("read_file", json!({"path": "missing"})).unwrap_err();
    let rows = audited(&calls);
    let said: Vec<_> = rows
        .iter()
        .map(|row| {
            let layer = row.layer.as_deref().unwrap_or("-");
            (row.tool.as_str(), row.decision.as_str(), layer, row.outcome.as_deref().unwrap())
        })
        .collect();
    assert_eq!(
        said,
        [
            ("write_file", "allowed", "-", "ok"),
            ("read_file", "allowed", "-", "ok"),
            ("search_files", "allowed", "-", "ok"),
            ("write_file", "refused", "input", "invalid_input"),
            ("write_file", "refused", "input", "invalid_input"),
            ("no_such_tool", "refused", "exists", "not_found"),
            ("read_file", "allowed", "-", "not_found"),
        ]
    );
    assert_eq!(rows[0].paths, "n.md");
    assert!(rows[0].change_set.is_some());
    assert!(rows.iter().all(|row| row.scope == "client" && row.caller == "test"));
    assert!(!format!("{rows:?}").contains(canary));
}

/// For every tool: of a call that changes nothing the audit has the paths that it names.
#[test]
fn the_audit_has_the_places_that_a_call_names() {
    let vault = ground();
    let calls = calls(&vault, Settings { client: Permission::None, ..Settings::default() });
    for tool in Registry::built_in().iter() {
        let given = arguments(&tool.name);
        let named = ["path", "source", "destination", "item"];
        let named: Vec<&str> = named.iter().filter_map(|name| given[*name].as_str()).collect();
        let refused = request(Scope::Client, &tool.name, given.clone());
        answered(calls.call(refused, &Cancel::default())).unwrap_err();
        let row = audited(&calls).pop().unwrap();
        assert_eq!((row.tool, row.paths), (tool.name.clone(), named.join("\n")));
    }
}

/// Clients choose an icon by the kind; models and people go by the name.
#[test]
fn the_kind_of_a_tool_is_as_its_name_says() {
    for tool in Registry::built_in().iter() {
        let kind = match tool.name.split('_').next().unwrap() {
            "delete" => ToolKind::Delete,
            "move" => ToolKind::Move,
            "search" | "list" => ToolKind::Search,
            "get" | "read" | "directory" => ToolKind::Read,
            "undo" | "restore" => ToolKind::Other,
            "open" => ToolKind::Edit,
            _ if tool.tier == Tier::Safe => continue,
            _ => ToolKind::Edit,
        };
        assert_eq!(tool.kind, kind, "{}", tool.name);
    }
}

/// A tool that is registered under a name known only at run time.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greet {
    name: String,
}

impl Tool for Greet {
    const NAME: &'static str = "greet";
    const TITLE: &'static str = "Greet";
    const TIER: Tier = Tier::Safe;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str = r#"{"name": "you"}"#;
    type Output = Vec<String>;

    fn run(self, _: &Context) -> Result<Answer<Vec<String>>, ToolError> {
        Ok(Answer::new(format!("hello {}", self.name), vec![self.name]))
    }
}

#[test]
fn tools_come_and_go() {
    let vault = ground();
    let calls = calls(&vault, Settings::default());
    let greet = || request(Scope::Client, "door-17_greet", json!({"name": "you"}));
    let error = answered(calls.call(greet(), &Cancel::default())).unwrap_err();
    assert_eq!(error.message, "there is no tool `door-17_greet`");
    let mut tools = Registry::clone(&calls.tools());
    let mut tool = Definition::of::<Greet>();
    tool.name = format!("door-{}_greet", 17);
    tools.insert(tool);
    calls.set_tools(tools.clone());
    let answer = answered(calls.call(greet(), &Cancel::default())).unwrap();
    assert_eq!((&*answer.text, answer.data), ("hello you", json!(["you"])));
    let wrong = request(Scope::Client, "door-17_greet", json!({"name": 3}));
    let error = answered(calls.call(wrong, &Cancel::default())).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidInput);
    let near = request(Scope::Client, "door-17_gret", json!({}));
    let error = answered(calls.call(near, &Cancel::default())).unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `door-17_greet`?"));
    calls.set_tools(Registry::built_in().clone());
    answered(calls.call(greet(), &Cancel::default())).unwrap_err();
    let rows = audited(&calls).into_iter().filter(|row| row.tool == "door-17_greet");
    let said: Vec<_> = rows.map(|row| (row.layer, row.outcome.unwrap())).collect();
    let exists = || Some("exists".to_owned());
    let not_found = || (exists(), "not_found".to_owned());
    let input = (Some("input".to_owned()), "invalid_input".to_owned());
    assert_eq!(said, [not_found(), (None, "ok".to_owned()), input, not_found()]);
}

#[test]
fn a_tool_that_takes_too_long_is_ended() {
    let vault = ground();
    // Lines in which the pattern almost matches everywhere, which takes seconds on any machine.
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if state >> 63 == 0 { 'a' } else { 'b' }
    };
    let mut line = || (0..4_000).map(|_| letter()).chain(['\n']).collect::<String>();
    let text: String = (0..1_000).map(|_| line()).collect();
    for number in 0..4 {
        vault.put(&format!("slow{number}.md"), &text);
    }
    vault.context.vault.rescan().unwrap();
    let slow = Settings { call_seconds: 1, ..Settings::default() };
    let calls = calls(&vault, slow);
    calls.set_tool_settings(tools::Settings {
        search: search::Settings { deadline_milliseconds: 60_000, ..Default::default() },
        ..Default::default()
    });
    let search = json!({"pattern": "[ab]*a[ab]{60}a[ab]{60}c"});
    let begun = std::time::Instant::now();
    let late = request(Scope::Client, "search_files", search);
    let error = answered(calls.call(late, &Cancel::default())).unwrap_err();
    assert_eq!(error.code, ErrorCode::Timeout, "{error} after {:?}", begun.elapsed());
    assert!(error.message.contains("took longer than 1 seconds"), "{error}");
    assert_eq!(audited(&calls).pop().unwrap().outcome.as_deref(), Some("timeout"));
    // Cancellation by the caller is a different error.
    let cancel = Cancel::default();
    cancel.cancel();
    let search = request(Scope::Client, "search_files", json!({"pattern": "x"}));
    let error = answered(calls.call(search, &cancel)).unwrap_err();
    assert_eq!(error.code, ErrorCode::Cancelled);
}

/// The keywords that `policy/schema.rs` checks, and those that only describe.
const KEYWORDS: &str = "type properties required additionalProperties enum const oneOf anyOf allOf items \
                        minimum maximum minItems maxItems minLength maxLength \
                        description title default examples $schema";

/// The first keyword in `schema` that is not one of [`KEYWORDS`].
fn unknown_keyword(schema: &Value) -> Option<String> {
    let object = schema.as_object()?;
    let is_known = |key: &str| KEYWORDS.split_whitespace().any(|one| one == key);
    if let Some(key) = object.keys().find(|key| !is_known(key)) {
        return Some(key.clone());
    }
    let below = object.get("properties").and_then(Value::as_object).into_iter().flatten();
    let shapes =
        ["oneOf", "anyOf", "allOf"].iter().filter_map(|word| object.get(*word)?.as_array());
    below
        .map(|(_, schema)| schema)
        .chain(shapes.flatten())
        .chain(object.get("items"))
        .chain(object.get("additionalProperties"))
        .find_map(unknown_keyword)
}

#[test]
fn the_input_layer_knows_every_word_of_every_schema() {
    for tool in Registry::built_in().iter() {
        let unknown = unknown_keyword(&tool.input_schema);
        assert_eq!(unknown, None, "{}: policy/schema.rs does not check it", tool.name);
        let fits = schema::check(&tool.input_schema, &arguments(&tool.name));
        assert_eq!(fits, Ok(()), "the example of {}", tool.name);
    }
}
