use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::active::Finding;
use super::settings::Switch;
use super::*;
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["path"],
        "additionalProperties": false,
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "limit": {"type": "integer", "minimum": 1, "maximum": 9},
            "kind": {"enum": ["a", "b"]},
            "mode": {"oneOf": [{"const": "x", "type": "string"}, {"const": "y", "type": "string"}]},
            "list": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        },
    })
}

struct TestCall {
    tool: &'static str,
    agreement: Option<RuleApproval>,
    schema: Value,
    arguments: Value,
    caller: Caller,
    permission: Permission,
    confirmed: bool,
    dry_run: bool,
    mode: Mode,
    turn: Option<String>,
    write: Option<Vec<VaultPath>>,
}

impl TestCall {
    fn new(scope: Scope, permission: Permission) -> Self {
        Self {
            tool: "write_file",
            agreement: None,
            schema: schema(),
            arguments: json!({"path": "a.md"}),
            caller: Caller { scope, name: "test".into() },
            permission,
            confirmed: false,
            dry_run: false,
            mode: Mode::Auto,
            turn: None,
            write: None,
        }
    }

    fn call(&self) -> Call<'_> {
        Call {
            tool: self.tool,
            permission: self.permission,
            schema: &self.schema,
            arguments: &self.arguments,
            caller: &self.caller,
            confirmed: self.confirmed,
            dry_run: self.dry_run,
            mode: self.mode,
            turn: self.turn.as_deref(),
            write: self.write.as_deref(),
            agreement: self.agreement.as_ref(),
            foreign: None,
        }
    }
}

fn path(text: &str) -> VaultPath {
    VaultPath::from_disk(text).expect("a path")
}

fn effect(action: Action, at: &str) -> Effect {
    Effect {
        action,
        shown: action,
        path: path(at),
        from: None,
        folder: false,
        files: 1,
        bytes: 0,
        changed: 0,
        was_gone: false,
        active: Vec::new(),
    }
}

fn policy(settings: Settings) -> Policy {
    Policy::new(settings, Arc::new(|| Duration::ZERO))
}

fn refused(policy: &Policy, test_call: &TestCall) -> Option<&'static str> {
    policy.admit(&test_call.call()).err().map(|refusal| refusal.layer)
}

#[test]
fn the_settings_limit_each_kind_of_caller() {
    use Permission::{Move, Permanent, Read, Write};
    let settings = Settings {
        client: Write,
        acp: Move,
        mcp: Read,
        voice: Permission::None,
        ..Settings::default()
    };
    let policy = policy(settings);
    let table = [
        (Scope::Person, [true, true, true, true]),
        (Scope::Client, [true, true, false, false]),
        (Scope::Acp, [true, true, true, false]),
        (Scope::Mcp, [true, false, false, false]),
        (Scope::Voice, [false, false, false, false]),
    ];
    for (scope, allowed) in table {
        for (permission, allowed) in [Read, Write, Move, Permanent].into_iter().zip(allowed) {
            let layer = refused(&policy, &TestCall::new(scope, permission));
            assert_eq!(layer, (!allowed).then_some("permission"), "{scope:?} {permission:?}");
        }
    }
}

#[test]
fn only_a_person_can_agree_in_a_persons_name() {
    let policy = policy(Settings::default());
    for scope in Scope::ALL {
        let test_call = TestCall { confirmed: true, ..TestCall::new(scope, Permission::Write) };
        let wanted = (!scope.is_person()).then_some("permission");
        assert_eq!(refused(&policy, &test_call), wanted, "{scope:?}");
    }
}

#[test]
fn rate_limits_count_effective_calls_by_tool_and_caller() {
    let now = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&now);
    let settings = Settings { changes_per_minute: 2, ..Settings::default() };
    let policy =
        Policy::new(settings, Arc::new(move || Duration::from_secs(clock.load(Ordering::SeqCst))));
    let test_call = TestCall::new(Scope::Client, Permission::Write);
    let wrong =
        TestCall { arguments: json!({}), ..TestCall::new(Scope::Client, Permission::Write) };
    let dry = TestCall { dry_run: true, ..TestCall::new(Scope::Client, Permission::Write) };
    for _ in 0..10 {
        assert_eq!(refused(&policy, &wrong), Some("input"));
        assert_eq!(refused(&policy, &dry), None);
        // Admitted as a call, and refused for its change.
        assert_eq!(refused(&policy, &test_call), None);
        policy.refund(&test_call.call());
    }
    assert_eq!([0; 3].map(|_| refused(&policy, &test_call)), [None, None, Some("rate")]);
    let refusal = policy.admit(&test_call.call()).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::RateLimited);
    assert_eq!(refusal.hint.as_deref(), Some("try again in 30 s"));
    let other = TestCall {
        caller: Caller { scope: Scope::Client, name: "other".into() },
        ..TestCall::new(Scope::Client, Permission::Write)
    };
    assert_eq!(refused(&policy, &other), None, "another caller has its own");
    assert_eq!(refused(&policy, &TestCall::new(Scope::Person, Permission::Write)), None);
    now.store(29, Ordering::SeqCst);
    assert_eq!(refused(&policy, &test_call), Some("rate"));
    now.store(30, Ordering::SeqCst);
    assert_eq!([0; 2].map(|_| refused(&policy, &test_call)), [None, Some("rate")]);
    now.store(6000, Ordering::SeqCst);
    assert_eq!(
        [0; 3].map(|_| refused(&policy, &test_call)),
        [None, None, Some("rate")],
        "no hoard"
    );
}

#[test]
fn names_with_the_same_token_share_a_rate_limit() {
    let settings = Settings { changes_per_minute: 2, ..Settings::default() };
    let policy = policy(settings);
    let named = |scope, name: usize| TestCall {
        caller: Caller { scope, name: name.to_string() },
        ..TestCall::new(scope, Permission::Write)
    };
    let made = (0..100).filter(|n| refused(&policy, &named(Scope::Client, n % 20)).is_none());
    assert_eq!(made.count(), 8);
    assert_eq!(refused(&policy, &named(Scope::Mcp, 0)), None, "another token has its own");
}

#[test]
fn arguments_are_checked_against_the_schema() {
    let policy = policy(Settings::default());
    let fault = |arguments: Value| {
        let test_call = TestCall { arguments, ..TestCall::new(Scope::Person, Permission::Read) };
        policy.admit(&test_call.call()).err().map(|refusal| refusal.reason)
    };
    for fine in [
        json!({"path": "x"}),
        json!({"path": "x", "limit": 9, "kind": "b", "mode": "y", "list": ["a", "b"]}),
        json!({"path": "x", "limit": null, "mode": null}),
        json!({"path": "x", "limit": 2.0}),
    ] {
        assert_eq!(fault(fine.clone()), None, "{fine}");
    }
    for (wrong, expected) in [
        (json!([]), "invalid type: array, expected object"),
        (json!({}), "missing field `path`"),
        (json!({"path": null}), "`path`: invalid type: null, expected string"),
        (json!({"path": 3}), "`path`: invalid type: number `3`, expected string"),
        (json!({"path": ""}), "`path`: 0 characters is less than 1"),
        (json!({"path": "x", "pth": 1}), "unknown field `pth`, expected `kind`"),
        (json!({"path": "x", "limit": 0}), "`limit`: 0 is less than 1"),
        (json!({"path": "x", "limit": 10}), "`limit`: 10 is more than 9"),
        (json!({"path": "x", "limit": 1.5}), "`limit`: invalid type: number `1.5`"),
        (json!({"path": "x", "kind": "c"}), "`kind`: string \"c\" is not one of `a`, `b`"),
        (json!({"path": "x", "mode": "z"}), "`mode`: string \"z\" is not one of `x`, `y`"),
        (json!({"path": "x", "list": ["a", 1]}), "`list[1]`: invalid type: number `1`"),
        (json!({"path": "x", "list": ["a", "b", "c"]}), "`list`: 3 items is more than 2"),
    ] {
        let found = fault(wrong.clone()).unwrap_or_default();
        assert!(found.contains(expected), "{wrong}: {found}");
    }
}

#[test]
fn a_read_only_mode_stops_every_change_and_no_read() {
    let policy = policy(Settings::default());
    for scope in Scope::ALL {
        let test_call = |permission, dry_run| TestCall {
            mode: Mode::ReadOnly,
            dry_run,
            ..TestCall::new(scope, permission)
        };
        assert_eq!(refused(&policy, &test_call(Permission::Read, false)), None);
        assert_eq!(refused(&policy, &test_call(Permission::Write, true)), None);
        assert_eq!(refused(&policy, &test_call(Permission::Write, false)), Some("paths"));
        assert_eq!(refused(&policy, &test_call(Permission::Move, false)), Some("paths"));
    }
}

#[test]
fn changes_stay_in_the_folders_that_are_named() {
    let policy = policy(Settings::default());
    let test_call = TestCall {
        write: Some(vec![path("Inbox")]),
        ..TestCall::new(Scope::Client, Permission::Move)
    };
    let refused = |effects: &[Effect]| policy.judge(&test_call.call(), effects).is_err();
    assert!(!refused(&[effect(Action::Write, "Inbox/a.md")]));
    assert!(!refused(&[effect(Action::CreateFolder, "Inbox")]));
    for outside in ["a.md", "Inbox2/a.md", "inbox/a.md", "Inbo", "X/Inbox/a.md"] {
        assert!(refused(&[effect(Action::Write, outside)]), "{outside}");
        let moved = Effect { from: Some(path(outside)), ..effect(Action::Move, "Inbox/a.md") };
        assert!(refused(&[effect(Action::Write, "Inbox/b.md"), moved]), "{outside}");
    }
}

#[test]
fn a_person_is_asked_for_more_than_a_single_change() {
    let policy = policy(Settings::default());
    let test_call = TestCall::new(Scope::Client, Permission::Move);
    let reasons =
        |effects: &[Effect]| policy.judge(&test_call.call(), effects).expect("not refused");
    assert_eq!(reasons(&[effect(Action::Write, "a.md")]), []);
    assert_eq!(reasons(&[effect(Action::Delete, "a.md")]), []);
    let folder = Effect { folder: true, files: 0, ..effect(Action::Delete, "Old") };
    assert_eq!(reasons(&[folder])[0].text, "it deletes the folder `Old` with 0 files");
    let many = |number: usize, action| -> Vec<Effect> {
        (0..number).map(|n| effect(action, &format!("{n}.md"))).collect()
    };
    assert_eq!(reasons(&many(10, Action::Write)), []);
    assert_eq!(reasons(&many(11, Action::Write))[0].text, "it changes 11 files at once");
    let mut with_links = many(300, Action::Write);
    with_links.push(effect(Action::Move, "b.md"));
    assert_eq!(reasons(&with_links), [], "the links to one moved note are part of its move");
    let moved = Effect { folder: true, files: 11, ..effect(Action::Move, "B") };
    assert_eq!(reasons(&[moved])[0].layer, "blast_radius");
}

#[test]
fn only_changed_bytes_of_a_replaced_text_count() {
    let policy = policy(Settings { bulk_bytes: 100, ..Settings::default() });
    let test_call = TestCall::new(Scope::Client, Permission::Write);
    let text = |changed| Effect { bytes: 5_000, changed, ..effect(Action::Write, "a.md") };
    assert_eq!(policy.judge(&test_call.call(), &[text(60)]), Ok(vec![]));
    let reasons = policy.judge(&test_call.call(), &[text(60), text(60)]).expect("not refused");
    assert_eq!(reasons[0].text, "it changes 120 bytes at once");
}

#[test]
fn bytes_of_a_turn_add_up_until_approval_is_needed() {
    let settings = Settings { bulk_bytes: 100, turn_bytes: 250, ..Settings::default() };
    let policy = policy(settings);
    let of = |turn: Option<&str>| TestCall {
        turn: turn.map(str::to_owned),
        ..TestCall::new(Scope::Client, Permission::Write)
    };
    let text = [Effect { bytes: 100, changed: 100, ..effect(Action::Write, "a.md") }];
    let (one, other, none) = (of(Some("one")), of(Some("other")), of(None));
    for _ in 0..2 {
        assert_eq!(policy.judge(&one.call(), &text), Ok(vec![]));
        policy.applied(&one.call(), &text);
        policy.applied(&none.call(), &text);
    }
    let reasons = policy.judge(&one.call(), &text).expect("not refused");
    assert_eq!(reasons[0].text, "this turn would have written 300 bytes");
    assert!(!reasons[0].lasting, "a tool in a folder cannot be agreed to for that");
    // Calls that write nothing, those of another turn and those of none need no approval.
    assert_eq!(policy.judge(&one.call(), &[effect(Action::Delete, "a.md")]), Ok(vec![]));
    assert_eq!(policy.judge(&other.call(), &text), Ok(vec![]));
    assert_eq!(policy.judge(&none.call(), &text), Ok(vec![]));
    // The number of stored turns is limited.
    for number in 0..5_000 {
        policy.applied(&of(Some(&format!("turn {number}"))).call(), &text);
    }
}

#[test]
fn hourly_moves_and_deletions_of_a_token_are_limited() {
    let time = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&time);
    let clock: Clock = Arc::new(move || Duration::from_secs(clock.load(Ordering::Relaxed)));
    let policy = Policy::new(Settings { hour_files: 6, ..Settings::default() }, clock);
    let by = |scope, name: &str, turn: Option<&str>| {
        let caller = Caller { scope, name: name.to_owned() };
        let turn = turn.map(str::to_owned);
        TestCall { caller, turn, ..TestCall::new(scope, Permission::Move) }
    };
    let deletes = |test_call: &TestCall, effect: Effect| {
        let reasons = policy.judge(&test_call.call(), std::slice::from_ref(&effect)).unwrap();
        if reasons.is_empty() {
            policy.applied(&test_call.call(), &[effect]);
        }
        reasons.is_empty()
    };
    // Each by another name, and in whichever way.
    let ways = [
        effect(Action::Delete, "a.md"),
        Effect { from: Some(path("c.md")), ..effect(Action::Move, "b.md") },
        Effect { shown: Action::Delete, ..effect(Action::Restore, "a.md") },
    ];
    for (number, way) in ways.iter().chain(&ways).enumerate() {
        assert!(deletes(&by(Scope::Client, &number.to_string(), None), way.clone()));
    }
    let client = by(Scope::Client, "another", None);
    for way in &ways {
        assert!(!deletes(&client, way.clone()), "{way:?}");
    }
    let reasons = policy.judge(&client.call(), &ways[..1]).unwrap();
    assert!(reasons[0].text.contains("`[policy] hour_files`") && !reasons[0].lasting);
    // Writes and restorations do not count; other tokens have their own limit, persons and turns none.
    let other = [effect(Action::Write, "a.md"), effect(Action::Restore, "a.md")];
    assert_eq!(policy.judge(&client.call(), &other), Ok(vec![]));
    assert!(deletes(&by(Scope::Voice, "v", None), ways[0].clone()));
    for _ in 0..20 {
        assert!(deletes(&by(Scope::Person, "p", None), ways[0].clone()));
        assert!(deletes(&by(Scope::Client, "c", Some("turn")), ways[0].clone()));
    }
    // It fills again with the time: one each ten minutes.
    time.store(601, Ordering::Relaxed);
    assert!(deletes(&client, ways[0].clone()) && !deletes(&client, ways[0].clone()));
    time.store(601 + 3_600, Ordering::Relaxed);
    assert!(
        (0..6).all(|_| deletes(&client, ways[0].clone())) && !deletes(&client, ways[0].clone())
    );
}

#[test]
fn active_content_needs_approval_unless_a_person_writes_it() {
    let policy = policy(Settings::default());
    let find = |line| Finding { line, text: format!("the image `https://x/{line}`") };
    let finds = |number| Effect {
        active: (1..=number).map(find).collect(),
        ..effect(Action::Write, "a.md")
    };
    let with = finds(2);
    for scope in Scope::ALL {
        let test_call = TestCall::new(scope, Permission::Write);
        let reasons = policy.judge(&test_call.call(), std::slice::from_ref(&with)).expect("passes");
        assert_eq!(reasons.len(), if scope.is_person() { 0 } else { 2 }, "{scope:?}");
        assert!(reasons.iter().all(|reason| !reason.lasting));
        let second = "it adds content that loads or runs automatically to `a.md`, line 2: the image \
                      `https://x/2`";
        assert!(reasons.last().is_none_or(|reason| reason.text == second), "{reasons:?}");
        // A person could not review so many.
        let many = policy.judge(&test_call.call(), &[finds(100), finds(1)]);
        assert_eq!(many.is_err(), !scope.is_person(), "{scope:?}");
    }
}

#[test]
fn only_persons_change_the_instructions_note_without_approval() {
    let policy = policy(Settings::default());
    let moved = |from: &str, to: &str, folder| Effect {
        from: Some(path(from)),
        folder,
        ..effect(Action::Move, to)
    };
    let touching = [
        effect(Action::Write, "Own/Steward.md"),
        effect(Action::Write, "own/STEWARD.md"),
        effect(Action::Delete, "Own/Steward.md"),
        moved("Own/Steward.md", "b.md", false),
        moved("b.md", "Own/Steward.md", false),
        moved("Own", "b", true),
        moved("b", "Own", true),
    ];
    let others = [effect(Action::Write, "Own/Steward 2.md"), effect(Action::Write, "Steward.md")];
    for named in ["Own/Steward", "Own/Steward.md"] {
        let instructions = Some(path(named));
        policy.guard(Guarded { instructions, prompts: None });
        for scope in Scope::ALL {
            let test_call = TestCall::new(scope, Permission::Move);
            let reasons = |one: &Effect| {
                policy.judge(&test_call.call(), std::slice::from_ref(one)).expect("")
            };
            for one in &touching {
                let reasons = reasons(one);
                assert_eq!(reasons.is_empty(), scope.is_person(), "{scope:?} {one:?}");
                assert!(reasons.iter().all(|reason| !reason.lasting));
            }
            others.iter().for_each(|one| assert_eq!(reasons(one), [], "{one:?}"));
        }
    }
    policy.guard(Guarded::default());
    let test_call = TestCall::new(Scope::Client, Permission::Write);
    assert_eq!(policy.judge(&test_call.call(), &touching[..1]), Ok(vec![]));
}

#[test]
fn others_than_a_person_are_asked_about_the_prompts() {
    let policy = policy(Settings::default());
    policy.guard(Guarded { instructions: None, prompts: Some(path("My/Prompts")) });
    let moved = |from: &str, to: &str, folder| Effect {
        from: Some(path(from)),
        folder,
        ..effect(Action::Move, to)
    };
    let touching = [
        effect(Action::Write, "my/prompts/Sum up.md"),
        effect(Action::Delete, "My/Prompts"),
        moved("a.md", "My/Prompts/Deep/a.md", false),
        moved("My", "b", true),
    ];
    let others =
        [effect(Action::Write, "My/Prompts 2/a.md"), effect(Action::Write, "Prompts/a.md")];
    for scope in Scope::ALL {
        let test_call = TestCall::new(scope, Permission::Move);
        let reasons =
            |one: &Effect| policy.judge(&test_call.call(), std::slice::from_ref(one)).expect("");
        for one in &touching {
            let reasons = reasons(one);
            assert_eq!(reasons.is_empty(), scope.is_person(), "{scope:?} {one:?}");
            assert!(reasons.iter().all(|reason| reason.personal));
        }
        others.iter().for_each(|one| assert_eq!(reasons(one), [], "{one:?}"));
    }
}

#[test]
fn in_mode_ask_every_change_needs_approval() {
    let policy = policy(Settings::default());
    for scope in Scope::ALL {
        let test_call = TestCall { mode: Mode::Ask, ..TestCall::new(scope, Permission::Write) };
        let reasons = policy.judge(&test_call.call(), &[effect(Action::Write, "a.md")]);
        assert_eq!(reasons.expect("passes").len(), 1);
        assert_eq!(policy.judge(&test_call.call(), &[]), Ok(vec![]), "nothing would be changed");
    }
}

#[test]
fn each_layer_can_be_switched_off() {
    let test_call = |change: fn(&mut TestCall)| {
        let mut test_call = TestCall::new(Scope::Client, Permission::Move);
        change(&mut test_call);
        test_call
    };
    let cases: [(Switch, TestCall); 4] = [
        (Switch::Permission, test_call(|one| one.confirmed = true)),
        (Switch::Rate, test_call(|_| ())),
        (Switch::Input, test_call(|one| one.arguments = json!({}))),
        (Switch::Paths, test_call(|one| one.mode = Mode::ReadOnly)),
    ];
    for (switch, test_call) in &cases {
        let changes_per_minute = if *switch == Switch::Rate { 1 } else { 600 };
        let settings = Settings { changes_per_minute, ..Settings::default() };
        let on = policy(settings.clone());
        if *switch == Switch::Rate {
            assert_eq!(refused(&on, test_call), None);
        }
        assert_eq!(refused(&on, test_call), Some(switch.word()));
        let off = policy(Settings { off: vec![*switch], ..settings });
        assert_eq!([0; 2].map(|_| refused(&off, test_call)), [None; 2], "{switch:?}");
    }
    let many: Vec<Effect> = (0..99).map(|n| effect(Action::Write, &format!("{n}.md"))).collect();
    for switch in [Switch::BlastRadius, Switch::Approval] {
        let off = policy(Settings { off: vec![switch], ..Settings::default() });
        let test_call = TestCall::new(Scope::Client, Permission::Move);
        assert_eq!(off.judge(&test_call.call(), &many), Ok(vec![]), "{switch:?}");
    }
}

#[test]
fn new_settings_apply_from_the_next_call() {
    let policy = policy(Settings::default());
    let shared = policy.clone();
    let test_call = TestCall::new(Scope::Client, Permission::Write);
    assert_eq!(refused(&shared, &test_call), None);
    policy.replace(Settings { client: Permission::Read, ..Settings::default() });
    assert_eq!(refused(&shared, &test_call), Some("permission"));
}

#[test]
fn a_rule_changes_only_what_it_was_enabled_for() {
    // Switched off or not.
    let off = vec![Switch::Permission, Switch::Paths, Switch::BlastRadius];
    let policy = policy(Settings { off, ..Settings::default() });
    let agreement =
        |trash| RuleApproval { folders: vec![path("Inbox"), path("Out/deep")], trash, left: 2 };
    let rule = |agreement| TestCall {
        tool: "apply_plan",
        agreement,
        ..TestCall::new(Scope::Rule, Permission::Move)
    };
    let mut test_call = rule(Some(agreement(false)));
    assert_eq!(refused(&policy, &test_call), None);
    assert_eq!(refused(&policy, &rule(None)), Some("standing"));
    for mode in [Mode::Ask, Mode::ReadOnly] {
        assert_eq!(
            refused(&policy, &TestCall { mode, ..rule(Some(agreement(true))) }),
            Some("standing")
        );
    }
    let other = TestCall { tool: "write_file", ..rule(Some(agreement(true))) };
    assert_eq!(refused(&policy, &other), Some("standing"));
    let moved =
        |from: &str, to: &str| Effect { from: Some(path(from)), ..effect(Action::Move, to) };
    let judged =
        |test_call: &TestCall, effects: &[Effect]| policy.judge(&test_call.call(), effects).is_ok();
    let inside = moved("Inbox/a.md", "Out/deep/a.md");
    assert!(judged(&test_call, &[effect(Action::CreateFolder, "Out"), inside.clone()]));
    assert!(
        judged(&test_call, &[inside.clone(), effect(Action::Write, "links.md")]),
        "links follow"
    );
    assert!(!judged(&test_call, &[effect(Action::Write, "links.md")]));
    assert!(!judged(&test_call, &[moved("Inbox/a.md", "Out/a.md")]));
    assert!(!judged(&test_call, &[moved("b.md", "Inbox/b.md")]));
    assert!(!judged(&test_call, &[inside.clone(), inside.clone(), inside]), "more than are left");
    let trashed = [effect(Action::Delete, "Inbox/a.md")];
    assert!(!judged(&test_call, &trashed));
    test_call.agreement = Some(agreement(true));
    assert!(judged(&test_call, &trashed));
    // Rules have no transport.
    assert!(!Scope::ALL.contains(&Scope::Rule));
}
