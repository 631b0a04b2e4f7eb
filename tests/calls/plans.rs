//! A person's approval of a plan covers it as a whole, by its identity.

use serde_json::{Value, json};
use vault_steward::calls::{Answerer, Calls, Decision, Outcome, Question};
use vault_steward::note::code::ErrorCode;
use vault_steward::policy::{Mode, Scope, Settings};
use vault_steward::store::audit::AuditFilter;
use vault_steward::vault::Cancel;

use crate::doors::{answered, calls, request};
use crate::vault::{TestVault, vault};

const NOTES: usize = 120;

fn long() -> (TestVault, Calls, Value) {
    let files: Vec<(String, String)> = (0..NOTES)
        .map(|at| (format!("In/n{at:03}.md"), format!("[[n{:03}]]\n", (at + 1) % NOTES)))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    let vault = vault(&files);
    let items = (0..NOTES)
        .map(|at| json!({"path": format!("In/n{at:03}.md"), "to": format!("Out/n{at:03}.md")}));
    let planned = vault.ok("plan_changes", json!({"items": items.collect::<Vec<_>>()}));
    let calls = calls(&vault, Settings { mode: Mode::Auto, ..Settings::default() });
    let mut settings = vault.context.settings.clone();
    settings.organize.atomic_items = 50;
    calls.set_tool_settings(settings);
    (vault, calls, planned)
}

fn apply(calls: &Calls, planned: &Value) -> Outcome {
    let wanted = json!({"plan": planned["plan"], "identity": planned["identity"]});
    calls.call(request(Scope::Client, "apply_plan", wanted), &Cancel::default())
}

fn asked(outcome: Outcome) -> Box<Question> {
    match outcome {
        Outcome::Ask(question) => question,
        Outcome::Answered(answer) => panic!("nobody is asked: {answer:?}"),
    }
}

fn jobs(calls: &Calls) -> Value {
    let list = request(Scope::Client, "list_jobs", json!({}));
    answered(calls.call(list, &Cancel::default())).unwrap().data
}

#[test]
fn a_long_plan_is_agreed_to_once_and_as_a_whole() {
    let (vault, calls, planned) = long();
    let question = asked(apply(&calls, &planned));
    assert_eq!(question.changes().len(), 50, "the first of them");
    let outline = question.outline().unwrap();
    assert!(outline.contains("Out/ (120)") || outline.contains("120"), "{outline}");
    assert!(question.reasons().iter().any(|why| why.contains("in 3 pieces")));
    assert!(question.title().contains("move 120 notes"), "{}", question.title());
    assert_eq!(jobs(&calls)["total"], 0, "it waits, and is no job yet");
    let answer = question.answer(Decision::Once, Answerer::from("chat"), &Cancel::default());
    let done = answered(answer).unwrap().data;
    assert_eq!((&done["state"], &done["done"]), (&json!("completed"), &json!(NOTES)));
    assert!(vault.exists("Out/n119.md") && !vault.exists("In/n119.md"));
    let undone = answered({
        let back = request(Scope::Client, "rollback_job", json!({"job": done["job"]}));
        let question = asked(calls.call(back, &Cancel::default()));
        assert!(question.outline().is_some());
        question.answer(Decision::Once, Answerer::from("chat"), &Cancel::default())
    });
    assert_eq!(undone.unwrap().data["state"], "undone");
    assert!(vault.exists("In/n119.md"));
}

#[test]
fn a_plan_that_nobody_agrees_to_is_no_job() {
    let (vault, calls, planned) = long();
    let question = asked(apply(&calls, &planned));
    let answer = question.answer(Decision::Reject, Answerer::from("chat"), &Cancel::default());
    assert_eq!(answered(answer).unwrap_err().code, ErrorCode::Denied);
    assert_eq!(jobs(&calls)["total"], 0);
    assert!(vault.exists("In/n000.md"));
}

#[test]
fn a_person_approves_exactly_the_identity_shown() {
    let (vault, calls, planned) = long();
    let wanted = json!({"plan": planned["plan"], "identity": planned["identity"]});
    let mine = request(Scope::Person, "apply_plan", wanted.clone());
    let error = answered(calls.call(mine.clone(), &Cancel::default())).unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalNeeded);
    let identity = error.data.unwrap()["identity"].as_str().unwrap().to_owned();
    let mut agreed = mine.clone();
    (agreed.confirmed, agreed.agreed) = (true, Some("0".repeat(64)));
    let error = answered(calls.call(agreed.clone(), &Cancel::default())).unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalNeeded, "it is another than was agreed to");
    assert!(vault.exists("In/n000.md"));
    agreed.agreed = Some(identity);
    let done = answered(calls.call(agreed, &Cancel::default())).unwrap().data;
    assert_eq!(done["done"], NOTES);
}

/// Models know such tools by other names. The names are no tools of their own: permission, approval
/// and audit are the tool's.
#[test]
fn policy_and_audit_resolve_a_tools_other_names() {
    let (vault, calls, planned) = long();
    let tools = calls.tools();
    let mut others = 0;
    for tool in tools.iter() {
        for other in tool.other_names {
            assert_eq!(tools.get(other).unwrap().name, tool.name);
            assert!(tools.iter().all(|one| one.name != **other), "`{other}` is a tool of its own");
            others += 1;
        }
    }
    assert_eq!(others, 3);
    let call = |name: &str, input: Value| {
        calls.call(request(Scope::Client, name, input), &Cancel::default())
    };
    let shown = answered(call("preview_operations", json!({"plan": planned["plan"]}))).unwrap();
    assert_eq!(shown.data["identity"], planned["identity"]);
    let items = json!([{"path": "In/n000.md", "to": "Out/x.md"}]);
    let made = answered(call("apply_organization_rules", json!({"items": items}))).unwrap();
    assert_eq!(made.data["items"], 1);
    assert!(vault.exists("In/n000.md"), "it only plans");
    let wanted = json!({"plan": planned["plan"], "identity": planned["identity"]});
    let question = asked(call("commit_plan", wanted.clone()));
    assert_eq!(question.tool(), "apply_plan");
    let answer = question.answer(Decision::Reject, Answerer::from("chat"), &Cancel::default());
    assert_eq!(answered(answer).unwrap_err().code, ErrorCode::Denied);
    let read_only = Settings { mode: Mode::ReadOnly, ..Settings::default() };
    calls.set_settings(read_only);
    assert_eq!(answered(call("commit_plan", wanted)).unwrap_err().code, ErrorCode::Denied);
    let rows = calls.audited(&AuditFilter { limit: 20, ..AuditFilter::default() }).unwrap();
    let recorded: Vec<&str> = rows.iter().map(|row| &*row.tool).collect();
    for name in ["show_plan", "plan_changes", "apply_plan"] {
        assert!(recorded.contains(&name), "{recorded:?}");
    }
    for other in ["preview_operations", "apply_organization_rules", "commit_plan"] {
        assert!(!recorded.contains(&other), "{recorded:?}");
    }
}
