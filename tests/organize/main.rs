//! Plans over real folders: applying a plan does what it shows.

#[path = "../link_moves/checker.rs"]
#[allow(dead_code, reason = "the checker of random moves")]
mod checker;
#[path = "../tools/vault.rs"]
#[allow(dead_code, reason = "the harness of the tools' tests")]
mod harness;

#[path = "../support/machine.rs"]
mod machine;

mod by_hand;
mod peers;
mod random;
mod rules;

use std::collections::BTreeMap;

use chrono::{DateTime, FixedOffset};
use harness::TestVault;
use serde_json::{Value, json};
use vault_steward::bases::Scope;
use vault_steward::bases::date::Times;
use vault_steward::edits::{Editor, ReadOnly};
use vault_steward::journal::Origin;
use vault_steward::note::path::VaultPath;
use vault_steward::organize::plan::{Item, Plan, ProblemKind};
use vault_steward::organize::planner::{self, PlanError, PlanRequest, World};
use vault_steward::organize::rule::Rule;
use vault_steward::organize::settings::Settings;
use vault_steward::organize::{applying, linked, rules_file};

/// The time at which plans are made here.
fn now() -> DateTime<FixedOffset> {
    DateTime::parse_from_rfc3339("2026-11-21T10:30:00+01:00").expect("a time")
}

/// Calls `f` with the vault as the planner sees it.
fn over<T>(
    vault: &TestVault,
    settings: &Settings,
    taken_once: &dyn Fn(&str, &VaultPath) -> bool,
    work: impl FnOnce(&World<'_>) -> T,
) -> T {
    let context = &vault.context;
    let snapshot =
        context.index.properties.snapshot(&context.vault, &context.index.links, &context.cancel);
    let zone = *now().offset();
    let times = Times::new(&zone);
    let snapshot = snapshot.expect("nobody withdraws").in_zone(&times);
    let scope = Scope {
        source: &snapshot,
        now: now().timestamp_millis(),
        zone: &zone,
        this: None,
        seed: 0,
        formulas: &[],
    };
    let world = World {
        vault: &context.vault,
        index: &context.index,
        snapshot: &snapshot,
        scope,
        settings,
        taken_once,
        cancel: &context.cancel,
    };
    work(&world)
}

fn plan_with(
    vault: &TestVault,
    settings: &Settings,
    wanted: PlanRequest<'_>,
) -> Result<Plan, PlanError> {
    over(vault, settings, &|_, _| false, |world| planner::plan(world, wanted))
}

/// A plan of items given by hand.
#[track_caller]
fn plan(vault: &TestVault, items: &[Value]) -> Plan {
    let items = items.iter().map(item).collect();
    let wanted = PlanRequest { items, ..PlanRequest::default() };
    plan_with(vault, &Settings::default(), wanted).expect("a plan")
}

/// The rules of a file.
#[track_caller]
fn rules(yaml: &str) -> Vec<Rule> {
    let no_base = |name: &str| Err(format!("there is no base {name}"));
    rules_file::read(yaml, &no_base).unwrap_or_else(|faults| panic!("{faults:#?}")).rules
}

/// A plan of rules.
#[track_caller]
fn ruled(vault: &TestVault, yaml: &str) -> Plan {
    let rules = rules(yaml);
    let wanted = PlanRequest { rules: &rules, ..PlanRequest::default() };
    plan_with(vault, &Settings::default(), wanted).expect("a plan")
}

fn item(value: &Value) -> Item {
    let mut whole = json!({"id": 0, "risk": "low", "path": ""});
    let fields = value.as_object().expect("an item").clone();
    whole.as_object_mut().expect("an object").extend(fields);
    serde_json::from_value(whole).expect("an item")
}

/// Applies the applicable part of a plan.
#[track_caller]
fn apply(vault: &TestVault, plan: &Plan) {
    let items: Vec<&Item> = plan.applicable().collect();
    let changes = applying::changes(&vault.context.vault, &items).expect("it fits the vault");
    let context = &vault.context;
    let origin = Origin { confirmed: true, ..Origin::default() };
    let editor = Editor {
        vault: &context.vault,
        journal: &context.journal,
        index: &context.index,
        gate: None,
        origin: &origin,
        cancel: &context.cancel,
        whole: None,
        progress: &(),
    };
    editor
        .apply_with_links("a plan".to_owned(), changes, ReadOnly::Refuse)
        .unwrap_or_else(|error| panic!("{error}: {plan:#?}"));
}

/// The kinds of an item's problems.
fn kinds(plan: &Plan, path: &str) -> Vec<ProblemKind> {
    let item = plan.items.iter().find(|item| item.path == path).expect(path);
    item.problems.iter().map(|problem| problem.kind).collect()
}

/// Each item's path and its new one.
fn moves(plan: &Plan) -> Vec<(&str, &str)> {
    let items = plan.items.iter();
    items.filter_map(|item| Some((&*item.path, item.to.as_deref()?))).collect()
}

/// The vault's files with their texts, without folders and hidden files.
fn files(vault: &TestVault) -> BTreeMap<String, String> {
    let all = vault.snapshot().into_iter();
    let seen = all.filter(|(name, _)| {
        !name.ends_with('/') && !name.split('/').any(|part| part.starts_with('.'))
    });
    seen.map(|(name, bytes)| (name, String::from_utf8(bytes).expect("text"))).collect()
}

/// The planned state of the files: their paths and their texts.
fn foreseen(vault: &TestVault, plan: &Plan) -> BTreeMap<String, String> {
    let mut files = files(vault);
    let texts = over(vault, &Settings::default(), &|_, _| false, |world| {
        linked::texts(world, plan).expect("nobody withdraws")
    });
    for text in texts {
        files.insert(text.path, String::from_utf8(text.after).expect("text"));
    }
    for item in plan.applicable().filter(|item| item.trash) {
        files.remove(&item.path);
    }
    let moved: Vec<(String, String)> = plan
        .applicable()
        .filter(|item| item.moves())
        .map(|item| (item.to.clone().expect("a path"), files.remove(&item.path).expect("a file")))
        .collect();
    for (to, text) in moved {
        assert!(files.insert(to.clone(), text).is_none(), "two files get `{to}`");
    }
    files
}
