//! Every tool, for every kind of caller, in every mode, with each layer disabled: the outcome is as
//! the table says, and nothing changes where it says no. The rows are derived from the tools'
//! definitions and examples, so a new tool is in the table without a line here.

use serde_json::{Value, json};
use vault_steward::calls::{Calls, Outcome, Request};
use vault_steward::note::code::ErrorCode;
use vault_steward::policy::settings::{Permission, Switch};
use vault_steward::policy::{Mode, Scope, Settings};
use vault_steward::tools::{Registry, Tier};
use vault_steward::vault::Cancel;

use crate::doors::{arguments, calls, ground, request};
use crate::vault::TestVault;

const SWITCHES: [Switch; 9] = [
    Switch::Permission,
    Switch::Rate,
    Switch::Input,
    Switch::Paths,
    Switch::BlastRadius,
    Switch::Hooks,
    Switch::Approval,
    Switch::Audit,
    Switch::TimeLimit,
];

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comes {
    /// The tool runs, or gives its own error.
    Through,
    /// A person must approve first.
    Asked,
    /// This layer refuses it.
    Refused(&'static str),
}

/// A call, and what it needs in addition to being a change.
struct Row {
    tool: &'static str,
    arguments: Value,
    changes: bool,
    permanent: bool,
    bulk: bool,
    remote: bool,
    /// It changes files outside `Folder`.
    outside: bool,
}

fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = Registry::built_in()
        .iter()
        .map(|tool| Row {
            tool: &tool.name,
            arguments: arguments(&tool.name),
            changes: tool.tier != Tier::Safe,
            permanent: false,
            bulk: false,
            remote: false,
            outside: true,
        })
        .collect();
    let special = |tool: &'static str, arguments: Value| Row {
        tool,
        arguments,
        changes: true,
        permanent: false,
        bulk: false,
        remote: false,
        outside: false,
    };
    let remote = "![](http://127.0.0.1:9/?d=secret)";
    rows.push(Row { bulk: true, ..special("delete", json!({"path": "Folder"})) });
    let permanent = json!({"path": "Folder/x.md", "permanent": true});
    rows.push(Row { permanent: true, ..special("delete", permanent) });
    let write = json!({"path": "Folder/x.md", "content": remote, "if_exists": "overwrite"});
    rows.push(Row { remote: true, ..special("write_file", write) });
    let inside = json!({"path": "Folder/x.md", "content": "inside", "if_exists": "overwrite"});
    rows.push(special("write_file", inside));
    rows
}

fn expected(row: &Row, scope: Scope, settings: &Settings) -> Comes {
    let mode = settings.mode;
    let on = |switch| !settings.off.contains(&switch);
    let person = scope.is_person();
    if !row.changes {
        return Comes::Through;
    }
    if row.permanent && !person && on(Switch::Permission) {
        return Comes::Refused("permission");
    }
    if on(Switch::Paths) && mode == Mode::ReadOnly {
        return Comes::Refused("paths");
    }
    if on(Switch::Paths) && row.outside && !person && !settings.write.is_empty() {
        return Comes::Refused("paths");
    }
    let asks = row.permanent
        || (row.bulk && on(Switch::BlastRadius))
        || (row.remote && !person)
        || mode == Mode::Ask;
    if asks && on(Switch::Approval) && !proposes(scope, settings) {
        Comes::Asked
    } else {
        Comes::Through
    }
}

/// Whether a change becomes only a proposal.
fn proposes(scope: Scope, settings: &Settings) -> bool {
    settings.mode == Mode::Plan && !scope.is_person()
}

fn comes(outcome: Outcome) -> Comes {
    let error = match outcome {
        Outcome::Ask(_) => return Comes::Asked,
        Outcome::Answered(Ok(_)) => return Comes::Through,
        Outcome::Answered(Err(error)) => error,
    };
    let layer = error.data.as_ref().and_then(|data| data["layer"].as_str().map(str::to_owned));
    match (error.code, layer.as_deref()) {
        (ErrorCode::ApprovalNeeded, _) => Comes::Asked,
        (_, Some("permission")) => Comes::Refused("permission"),
        (_, Some("paths")) => Comes::Refused("paths"),
        (_, None) => Comes::Through,
        other => panic!("{other:?}: {error:?}"),
    }
}

/// A vault for many calls, until one changes it.
struct Place {
    vault: TestVault,
    calls: Calls,
    /// Its files, read once: calls that change nothing leave them so.
    before: Vec<(String, Vec<u8>)>,
}

impl Place {
    fn new() -> Self {
        let vault = ground();
        let calls = calls(&vault, Settings::default());
        let before = vault.snapshot();
        Self { vault, calls, before }
    }

    fn is_changed(&self) -> bool {
        self.vault.snapshot() != self.before
    }
}

#[test]
fn no_tool_gets_around_a_layer() {
    let mut place: Option<Place> = None;
    let mut tried = 0;
    for row in rows() {
        for (scope, settings) in cases(&row) {
            let wanted = expected(&row, scope, &settings);
            // If disabling the layer makes no difference to the outcome, one check is enough.
            let usual = expected(&row, scope, &Settings { off: vec![], ..settings.clone() });
            let proposes = proposes(scope, &settings);
            let changes = row.changes && wanted == Comes::Through && !proposes;
            if changes && usual == wanted && !settings.off.is_empty() {
                continue;
            }
            let there = place.get_or_insert_with(Place::new);
            there.calls.set_settings(settings.clone());
            let request = request(scope, row.tool, row.arguments.clone());
            let came = comes(there.calls.call(request, &Cancel::default()));
            let case = format!("{} {} {scope:?} {settings:?}", row.tool, row.arguments);
            assert_eq!(came, wanted, "{case}");
            assert_eq!(there.is_changed(), changes, "{case}");
            tried += 1;
            if changes {
                place = None;
            }
        }
    }
    assert!(tried > Registry::built_in().iter().len() * 3 * 20, "{tried}");
}

/// Every kind of caller with every mode, each layer disabled in turn, and a change restricted to a
/// folder.
fn cases(row: &Row) -> Vec<(Scope, Settings)> {
    let held = if row.changes { vec![vec![], vec!["Folder".to_owned()]] } else { vec![vec![]] };
    let mut cases = Vec::new();
    for scope in Scope::ALL {
        for mode in Mode::ALL {
            for write in &held {
                let settings = |off| Settings { mode, off, write: write.clone(), ..many() };
                // Where these callers differ; what does not depend on the caller is tried with two.
                let differ = [Switch::Permission, Switch::Paths, Switch::Approval];
                let switches = match scope {
                    Scope::Person | Scope::Client => &SWITCHES[..],
                    Scope::Acp | Scope::Mcp | Scope::Voice | Scope::Rule => &differ[..],
                };
                let off = switches.iter().map(|one| vec![*one]);
                let all = std::iter::once(Vec::new()).chain(off);
                cases.extend(all.map(|off| (scope, settings(off))));
            }
        }
    }
    cases
}

/// Settings without a rate limit.
fn many() -> Settings {
    Settings { reads_per_minute: 0, changes_per_minute: 0, ..Settings::default() }
}

#[test]
fn no_caller_but_a_person_agrees_for_itself() {
    let vault = ground();
    let before = vault.snapshot();
    for mode in Mode::ALL {
        let calls = calls(&vault, Settings { mode, ..Settings::default() });
        for tool in Registry::built_in().iter() {
            for scope in [Scope::Client, Scope::Acp, Scope::Mcp, Scope::Voice] {
                let call = request(scope, &tool.name, arguments(&tool.name));
                let call = Request { confirmed: true, ..call };
                let came = comes(calls.call(call, &Cancel::default()));
                assert_eq!(came, Comes::Refused("permission"), "{} {scope:?}", tool.name);
            }
        }
    }
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn invalid_arguments_reach_no_tool_even_without_the_input_layer() {
    let vault = ground();
    let before = vault.snapshot();
    for off in [vec![], vec![Switch::Input]] {
        let calls = calls(&vault, Settings { off, ..Settings::default() });
        for tool in Registry::built_in().iter() {
            for scope in Scope::ALL {
                let mut wrong = arguments(&tool.name);
                wrong["no_such_argument"] = json!(1);
                let call = request(scope, &tool.name, wrong);
                match calls.call(call, &Cancel::default()) {
                    Outcome::Answered(Err(error)) => {
                        assert_eq!(error.code, ErrorCode::InvalidInput, "{}", tool.name);
                    }
                    other => panic!("{}: {other:?}", tool.name),
                }
            }
        }
    }
    assert_eq!(vault.snapshot(), before);
}

#[test]
fn a_kind_of_caller_does_what_its_permission_allows_with_every_tool() {
    let by_tier = |tier| match tier {
        Tier::Safe => Permission::Read,
        Tier::Cautious => Permission::Write,
        Tier::Dangerous | Tier::Unknown => Permission::Move,
    };
    let mut place: Option<Place> = None;
    for has in [Permission::None, Permission::Read, Permission::Write, Permission::Move] {
        let settings =
            Settings { client: has, acp: has, mcp: has, voice: has, ..Settings::default() };
        for tool in Registry::built_in().iter() {
            for scope in Scope::ALL {
                let there = place.get_or_insert_with(Place::new);
                there.calls.set_settings(settings.clone());
                let call = request(scope, &tool.name, arguments(&tool.name));
                let came = comes(there.calls.call(call, &Cancel::default()));
                let may = scope.is_person() || by_tier(tool.tier) <= has;
                let wanted = if may { Comes::Through } else { Comes::Refused("permission") };
                assert_eq!(came, wanted, "{} {scope:?} {has:?}", tool.name);
                if there.is_changed() {
                    assert!(may && tool.tier != Tier::Safe, "{} {scope:?} {has:?}", tool.name);
                    place = None;
                }
            }
        }
    }
}

#[test]
fn every_tool_has_a_rate_for_every_caller_but_a_person() {
    let vault = ground();
    let settings = Settings {
        // A dry run, so that the calls that pass change nothing.
        mode: Mode::Auto,
        reads_per_minute: 2,
        changes_per_minute: 2,
        ..Settings::default()
    };
    let calls = calls(&vault, settings);
    for tool in Registry::built_in().iter() {
        for scope in Scope::ALL {
            let mut codes = Vec::new();
            for _ in 0..3 {
                // It matches the schema; it does not matter that nothing has that name.
                let call = request(scope, &tool.name, nowhere(&tool.name));
                codes.push(match calls.call(call, &Cancel::default()) {
                    Outcome::Answered(Err(error)) => Some(error.code),
                    _ => None,
                });
            }
            let limited: Vec<bool> =
                codes.iter().map(|code| *code == Some(ErrorCode::RateLimited)).collect();
            assert_eq!(limited, [false, false, !scope.is_person()], "{} {codes:?}", tool.name);
        }
    }
}

/// The same call on something that does not exist.
fn nowhere(tool: &str) -> Value {
    let mut arguments = arguments(tool);
    for name in ["path", "source", "item"] {
        if arguments.get(name).is_some() {
            arguments[name] = json!(format!("nowhere/{tool}.md"));
        }
    }
    match tool {
        "undo" => json!({"change_set": 999_999}),
        "rename_tag" => json!({"from": "nowhere", "to": "elsewhere"}),
        _ => arguments,
    }
}
