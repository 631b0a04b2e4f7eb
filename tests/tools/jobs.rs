//! Plans made by hand, jobs applied from them, resumed and undone.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode;
use vault_steward::note::path::VaultPath;
use vault_steward::tools::enabled::{self, Enabling};
use vault_steward::tools::{self, OrganizeEvent, Registry};
use vault_steward::vault::{Cancel, View};

use crate::abilities::{Ability, can};
use crate::vault::{TestVault, vault};

/// Makes a plan of these items, and returns its number and identity.
fn plan(vault: &TestVault, items: Value) -> (u64, String) {
    let made = vault.ok("plan_changes", json!({ "items": items }));
    (
        made["plan"].as_u64().expect("a number"),
        made["identity"].as_str().expect("a text").to_owned(),
    )
}

fn apply(vault: &TestVault, (plan, identity): &(u64, String)) -> Value {
    vault.ok("apply_plan", json!({ "plan": plan, "identity": identity }))
}

/// A vault in which several notes link to each other.
fn linked() -> TestVault {
    vault(&[
        ("Inbox/a.md", "to [[b]]\n"),
        ("Inbox/b.md", "---\nstatus: open\n---\nto [a](a.md)\n"),
        ("Inbox/c.md", "c\n"),
        ("Home.md", "[[Inbox/a]] and [[Inbox/b]]\n"),
    ])
}

fn moves() -> Value {
    json!([
        { "path": "Inbox/a.md", "to": "Done/a.md" },
        { "path": "Inbox/b.md", "to": "Done/b.md", "set": { "status": "done" } },
    ])
}

/// A vault of this many notes, each linking to the next, whose plans are applied in pieces of this
/// many items.
fn long(notes: usize, piece: usize) -> TestVault {
    let files: Vec<(String, String)> = (0..notes)
        .map(|at| (format!("In/n{at:03}.md"), format!("[[In/n{:03}]]\n", (at + 1) % notes)))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    let mut vault = vault(&files);
    vault.context.settings.organize.atomic_items = piece;
    vault.context.origin.confirmed = true;
    vault
}

fn long_plan(vault: &TestVault, notes: usize) -> (u64, String) {
    let items = (0..notes).map(|at| {
        json!({ "path": format!("In/n{at:03}.md"), "to": format!("Out/n{at:03}.md"), "tag": ["moved"] })
    });
    plan(vault, items.collect())
}

/// Stops the next job after its first piece, as if its caller had cancelled.
fn stop_after_first_piece(vault: &mut TestVault) {
    let cancel = Cancel::default();
    vault.context.cancel = cancel.clone();
    vault.context.listeners.subscribe(Box::new(move |news| {
        if matches!(news, OrganizeEvent::Job { done: 1.., state: "running", .. }) {
            cancel.cancel();
        }
    }));
}

#[test]
fn a_plan_is_applied_with_its_links_and_undone_by_one_undo() {
    let vault = linked();
    let before = vault.snapshot();
    let made = plan(&vault, moves());
    assert_eq!(vault.snapshot(), before, "a plan changes nothing");
    let done = apply(&vault, &made);
    assert_eq!(
        (&done["state"], &done["done"], &done["job"]),
        (&json!("completed"), &json!(2), &json!(1))
    );
    assert_eq!(vault.content("Done/b.md"), "---\nstatus: done\n---\nto [a](a.md)\n");
    assert_eq!(vault.content("Home.md"), "[[a]] and [[b]]\n");
    let set = done["change_set"].as_u64().unwrap();
    let listed = vault.ok("list_changes", json!({ "change_set": set }));
    assert_eq!(listed["change_sets"][0]["title"], "plan 1 (job 1): move 2 notes, change 1");
    vault.ok("undo", json!({ "change_set": set }));
    let files = |snapshot: Vec<(String, Vec<u8>)>| -> Vec<_> {
        snapshot.into_iter().filter(|(path, _)| !path.starts_with(".obsidian")).collect()
    };
    assert_eq!(files(vault.snapshot()), files(before));
    assert_eq!(vault.ok("list_jobs", json!({}))["jobs"][0]["state"], "undone");
}

#[test]
fn exactly_the_plan_shown_is_applied() {
    let vault = linked();
    let (number, identity) = plan(&vault, moves());
    let shown = vault.ok("show_plan", json!({ "plan": number }));
    assert_eq!(shown["identity"], identity);
    let other = json!({ "plan": number, "identity": "0".repeat(64) });
    vault.err("apply_plan", other, ErrorCode::StalePlan);
    // With another target it is another plan, under the same number.
    let target = json!({ "plan": number, "targets": [{ "item": 1, "to": "Elsewhere/a.md" }] });
    let changed = vault.ok("plan_changes", target);
    assert_eq!(changed["plan"], number);
    assert_ne!(changed["identity"], identity);
    vault.err("apply_plan", json!({ "plan": number, "identity": identity }), ErrorCode::StalePlan);
    let out = vault.ok("plan_changes", json!({ "plan": number, "take_out": [2] }));
    assert_eq!(out["items"], 1);
    vault.ok("apply_plan", json!({ "plan": number, "identity": out["identity"] }));
    assert!(vault.exists("Elsewhere/a.md") && vault.exists("Inbox/b.md"));
    let more = json!([{ "path": "Inbox/c.md", "to": "Done/c.md" }, { "path": "Inbox/b.md", "trash": true }]);
    let (number, _) = plan(&vault, more);
    let joined = json!({ "mode": "append", "plan": number, "items": [
        { "path": "Inbox/b.md", "to": "Kept/b.md" }, { "path": "Home.md", "tag": ["home"] },
    ] });
    assert_eq!(vault.ok("plan_changes", joined)["summary"], "move 1 note, change 1, trash 1");
    vault.err(
        "plan_changes",
        json!({ "mode": "append", "items": moves() }),
        ErrorCode::InvalidInput,
    );
    vault.err("plan_changes", json!({}), ErrorCode::InvalidInput);
    vault.err("show_plan", json!({ "plan": 99 }), ErrorCode::NotFound);
}

#[test]
fn a_plan_of_rules_says_why() {
    let vault = linked();
    let rules = r#"
version: 1
rules:
  - name: Open ones
    in: [Inbox]
    when: status == "open"
    do: [{ move: Open }]
  - name: All others
    in: [Inbox]
    do: [{ move: Done }]
"#;
    let made = vault.ok("plan_changes", json!({ "rules": rules }));
    let shown = vault.ok("show_plan", json!({ "plan": made["plan"] }));
    assert_eq!(shown["items"][1]["to"], "Open/b.md");
    assert_eq!(shown["faults"], json!([]));
    assert!(shown["relinked"].as_u64().unwrap() > 0, "{shown}");
    let why = vault.ok("show_plan", json!({ "plan": made["plan"], "why": "1" }));
    let asked = |at: usize| (why["why"][at]["rule"].as_str().unwrap(), &why["why"][at]["took"]);
    assert_eq!(asked(0), ("Open ones", &json!(false)));
    assert_eq!(asked(1), ("All others", &json!(true)));
}

#[test]
fn a_plan_lists_probable_mistakes_in_its_rules() {
    let vault = vault(&[("Inbox/a.md", "---\nstatus: done\n---\n"), ("Inbox/b.md", "b")]);
    let rules = "rules:\n  - name: Done\n    in: [Inbox]\n    when: statsu == \"done\"\n    do:\n      - move: Done\n";
    let made = vault.ok("plan_changes", json!({ "rules": rules }));
    let warnings = made["warnings"].as_array().unwrap();
    assert!(warnings[0].as_str().unwrap().starts_with("rules:4:11: warning: "), "{warnings:?}");
    assert!(warnings.iter().any(|one| one.to_string().contains("`status`")), "{warnings:?}");
    let text = vault.text("plan_changes", json!({ "rules": rules }));
    assert!(text.contains("statsu"), "{text}");
    let fits = rules.replace("statsu", "status");
    assert_eq!(vault.ok("plan_changes", json!({ "rules": fits }))["warnings"], json!([]));
}

#[test]
fn some_items_take_along_what_they_depend_on() {
    let vault = vault(&[("a.md", "a"), ("b.md", "b"), ("c.md", "c")]);
    let (number, identity) = plan(
        &vault,
        json!([
            { "path": "a.md", "to": "b.md" },
            { "path": "b.md", "to": "x/b.md" },
            { "path": "c.md", "to": "x/c.md" },
        ]),
    );
    let wanted = json!({ "plan": number, "identity": identity, "items": [1], "dry_run": true });
    let would = vault.ok("apply_plan", wanted);
    assert_eq!((&would["came_along"], &would["job"]), (&json!([2]), &Value::Null));
    assert!(vault.exists("a.md"));
    let wanted = json!({ "plan": number, "identity": identity, "items": [1] });
    vault.ok("apply_plan", wanted.clone());
    assert_eq!((vault.content("b.md"), vault.content("x/b.md")), ("a".into(), "b".into()));
    assert!(vault.exists("c.md"));
    vault.err("apply_plan", wanted, ErrorCode::WrongState);
    let rest = json!({ "plan": number, "identity": identity, "items": [3] });
    vault.ok("apply_plan", rest);
    assert!(vault.exists("x/c.md"));
    // A file at a path that another one needs moves back too.
    let back = vault.ok("rollback_job", json!({ "job": 1, "items": [2] }));
    assert_eq!((&back["undone"], &back["state"]), (&json!(2), &json!("undone")));
    assert_eq!((vault.content("a.md"), vault.content("b.md")), ("a".into(), "b".into()));
    let unknown = json!({ "plan": number, "identity": identity, "items": [9] });
    vault.err("apply_plan", unknown, ErrorCode::InvalidInput);
}

#[test]
fn stale_items_are_refused_or_left_out() {
    let vault = linked();
    let (number, identity) = plan(
        &vault,
        json!([
            { "path": "Inbox/a.md", "to": "Done/a.md" },
            { "path": "Inbox/b.md", "set": { "status": "done" } },
            { "path": "Inbox/c.md", "to": "Done/c.md" },
        ]),
    );
    vault.put("Done/a.md", "taken");
    vault.put("Inbox/b.md", "another text\n");
    vault.context.vault.rescan().unwrap();
    let before = vault.snapshot();
    let wanted = json!({ "plan": number, "identity": identity });
    let error = vault.err("apply_plan", wanted, ErrorCode::StalePlan);
    let stale = error.data.unwrap()["stale"].as_array().unwrap().clone();
    let paths: Vec<_> = stale.iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["Inbox/a.md", "Inbox/b.md"]);
    assert_eq!(vault.snapshot(), before);
    assert_eq!(vault.ok("list_jobs", json!({}))["total"], 0);
    let wanted = json!({ "plan": number, "identity": identity, "skip_stale": true });
    let done = vault.ok("apply_plan", wanted);
    assert_eq!((&done["total"], &done["skipped"][1]["item"]), (&json!(1), &json!(2)));
    assert!(vault.exists("Done/c.md") && vault.exists("Inbox/a.md"));
}

#[test]
fn notes_change_places() {
    let swap = json!([{ "path": "a.md", "to": "b.md" }, { "path": "b.md", "to": "a.md" }]);
    if !can(Ability::InKernel) {
        let vault = vault(&[("a.md", "one\n"), ("b.md", "two\n")]);
        let made = vault.ok("plan_changes", json!({ "items": swap }));
        let problems = made["problems"].as_array().unwrap();
        assert_eq!(problems.len(), 2, "{made}");
        for problem in problems {
            assert_eq!((&problem["kind"], &problem["blocks"]), (&json!("taken"), &json!(true)));
            assert!(problem["message"].to_string().contains("cannot safely change places"));
        }
        let wanted = json!({ "plan": made["plan"], "identity": made["identity"] });
        vault.err("apply_plan", wanted, ErrorCode::InvalidInput);
        assert_eq!(
            (vault.content("a.md"), vault.content("b.md")),
            ("one\n".into(), "two\n".into())
        );
        return;
    }
    let vault = vault(&[("a.md", "a"), ("b.md", "b"), ("home.md", "[[a]] [[b]]")]);
    let done = apply(&vault, &plan(&vault, swap));
    assert_eq!((vault.content("a.md"), vault.content("b.md")), ("b".into(), "a".into()));
    assert_eq!(vault.content("home.md"), "[[b]] [[a]]");
    let back = vault.ok("rollback_job", json!({ "job": done["job"] }));
    assert_eq!((&back["state"], &back["blocked"]), (&json!("undone"), &json!([])));
    assert_eq!(
        (vault.content("a.md"), vault.content("home.md")),
        ("a".into(), "[[a]] [[b]]".into())
    );
    let again = vault.err("rollback_job", json!({ "job": done["job"] }), ErrorCode::WrongState);
    assert_eq!(again.data.unwrap()["state"], "undone");
}

#[test]
fn a_long_plan_is_applied_in_pieces_and_one_undo_undoes_all_of_them() {
    let vault = long(23, 5);
    let made = long_plan(&vault, 23);
    let before = vault.snapshot();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let reporter = Arc::clone(&reports);
    vault
        .context
        .listeners
        .subscribe(Box::new(move |news| reporter.lock().unwrap().push(news.clone())));
    let done = apply(&vault, &made);
    assert_eq!((&done["done"], &done["state"]), (&json!(23), &json!("completed")));
    let steps: Vec<(usize, &str)> = reports
        .lock()
        .unwrap()
        .iter()
        .filter_map(|news| match news {
            OrganizeEvent::Job { done, state, .. } => Some((*done, *state)),
            OrganizeEvent::Rules | OrganizeEvent::Plan { .. } => None,
        })
        .collect();
    let running = [0, 5, 10, 15, 20, 23].map(|done| (done, "running"));
    assert_eq!(steps, [&running[..], &[(23, "completed")]].concat());
    assert_eq!(vault.content("Out/n000.md"), "---\ntags:\n  - moved\n---\n[[n001]]\n");
    vault.ok("undo", json!({ "change_set": done["change_set"] }));
    assert!(!vault.exists("Out"));
    assert_eq!(vault.content("In/n022.md"), "[[In/n000]]\n");
    assert_eq!(vault.snapshot(), before);
}

/// While a job runs, somebody undoes its first piece.
#[test]
fn a_job_counts_what_was_undone_while_it_ran() {
    let notes = ["a", "b", "c", "d"];
    let paths = notes.map(|name| format!("In/{name}.md"));
    let mut vault = vault(&paths.each_ref().map(|path| (path.as_str(), "x\n")));
    vault.context.settings.organize.atomic_items = 2;
    let moves =
        notes.map(|name| json!({ "path": format!("In/{name}"), "to": format!("Out/{name}.md") }));
    let made = plan(&vault, json!(moves));
    let (undoer, once) = (vault.context.clone(), std::sync::Once::new());
    vault.context.listeners.subscribe(Box::new(move |news| {
        if matches!(news, OrganizeEvent::Job { done: 2, state: "running", .. }) {
            let undo = Registry::built_in().get("undo").unwrap();
            once.call_once(|| drop(tools::call(undo, &undoer, &json!({})).unwrap()));
        }
    }));
    let done = apply(&vault, &made);
    let listed = vault.ok("list_jobs", json!({ "job": done["job"] }));
    assert_eq!(listed["jobs"][0]["state"], "partly_undone", "{listed}");
    assert_eq!(listed["jobs"][0]["undone"], 2, "{listed}");
    assert_eq!(done["state"], listed["jobs"][0]["state"], "{done}");
    assert!(vault.exists("In/a.md") && vault.exists("Out/d.md"));
}

#[test]
fn a_plan_in_one_piece_tells_how_far_its_change_set_is() {
    const NOTES: usize = 120;
    let vault = long(NOTES, 2_000);
    let made = long_plan(&vault, NOTES);
    let reports = Arc::new(Mutex::new(Vec::new()));
    let (reporter, asked) = (Arc::clone(&reports), vault.context.clone());
    vault.context.listeners.subscribe(Box::new(move |news| {
        if let OrganizeEvent::Job { state: "running", done, progress: Some(now), .. } = news {
            assert_eq!(*done, 0, "the journal has nothing of it yet");
            reporter.lock().unwrap().push(*now);
            let list = Registry::built_in().get("list_jobs").unwrap();
            let listed = tools::call(list, &asked, &json!({})).unwrap().read().data;
            assert_eq!(listed["jobs"][0]["progress"], json!(now));
        }
    }));
    apply(&vault, &made);
    let reports = reports.lock().unwrap();
    let mut phases: Vec<&str> = reports.iter().map(|now| now.phase).collect();
    phases.dedup();
    assert_eq!(phases, ["storing", "writing", "placing"]);
    for phase in phases {
        let steps: Vec<_> = reports.iter().filter(|now| now.phase == phase).collect();
        assert!(steps.len() <= 21 && steps.is_sorted_by_key(|now| now.done), "{steps:?}");
        let last = steps.last().unwrap();
        assert!(last.done == last.total && last.total >= NOTES, "{last:?}");
    }
    assert_eq!(vault.ok("list_jobs", json!({}))["jobs"][0]["progress"], Value::Null);
}

#[test]
fn a_long_plan_beyond_the_limits_is_refused_before_anything_is_done() {
    let mut vault = long(23, 5);
    vault.context.origin.confirmed = false;
    let (number, identity) = long_plan(&vault, 23);
    let wanted = json!({ "plan": number, "identity": identity });
    vault.err("apply_plan", wanted, ErrorCode::Denied);
    assert!(vault.exists("In/n000.md"));
    assert_eq!(vault.ok("list_jobs", json!({}))["total"], 0);
}

#[test]
fn a_stopped_job_reports_its_progress() {
    let mut vault = long(12, 5);
    let made = long_plan(&vault, 12);
    stop_after_first_piece(&mut vault);
    let wanted = json!({ "plan": made.0, "identity": made.1 });
    let error = vault.err("apply_plan", wanted.clone(), ErrorCode::Cancelled);
    assert!(error.message.starts_with("job 1 ended after 5 of 12 items"), "{error}");
    vault.context.cancel = Cancel::default();
    let job = &vault.ok("list_jobs", json!({ "state": "cancelled" }))["jobs"][0];
    assert_eq!((&job["done"], &job["total"]), (&json!(5), &json!(12)));
    let resumed = json!({ "plan": made.0, "identity": made.1, "job": 1 });
    let error = vault.err("apply_plan", resumed, ErrorCode::WrongState);
    assert_eq!(error.data.unwrap()["state"], "cancelled");
    let items = vault.ok("list_jobs", json!({ "job": 1 }))["items"].clone();
    assert_eq!((&items[4]["state"], &items[5]["state"]), (&json!("done"), &json!("waiting")));
    vault.ok("rollback_job", json!({ "job": 1 }));
    assert!(vault.exists("In/n000.md") && !vault.exists("Out"));
}

#[test]
fn a_job_that_was_cut_short_is_resumed_where_it_was() {
    let vault = long(12, 5);
    let made = long_plan(&vault, 12);
    // The program ends after the first piece: nothing more is recorded about it.
    vault.context.listeners.subscribe(Box::new(|news| {
        assert!(
            !matches!(news, OrganizeEvent::Job { done: 5, state: "running", .. }),
            "cut short here"
        );
    }));
    let wanted = json!({ "plan": made.0, "identity": made.1 });
    vault.err("apply_plan", wanted.clone(), ErrorCode::IoError);
    let mut vault = vault.reopened();
    vault.context.settings.organize.atomic_items = 5;
    vault.context.origin.confirmed = true;
    assert_eq!(vault.ok("list_jobs", json!({}))["jobs"][0]["state"], "running");
    tools::settle(&vault.context).unwrap();
    let job = vault.ok("list_jobs", json!({}))["jobs"][0].clone();
    assert_eq!((&job["state"], &job["done"]), (&json!("interrupted"), &json!(5)));
    let error = vault.err("apply_plan", wanted, ErrorCode::WrongState);
    assert_eq!(error.data.unwrap()["state"], "interrupted");
    let done = vault.ok("apply_plan", json!({ "plan": made.0, "identity": made.1, "job": 1 }));
    assert_eq!((&done["done"], &done["state"]), (&json!(12), &json!("completed")));
    assert!(vault.exists("Out/n011.md") && !vault.exists("In/n011.md"));
    let resumed = json!({ "plan": made.0, "identity": made.1, "job": 1 });
    vault.err("apply_plan", resumed, ErrorCode::WrongState);
    let undone = vault.text("undo", json!({ "change_set": done["change_set"] }));
    assert!(vault.exists("In/n000.md") && !vault.exists("Out"), "{undone} {:?}", vault.snapshot());
}

#[test]
fn an_interrupted_job_that_did_nothing_can_be_undone_and_its_plan_applied() {
    let vault = long(12, 5);
    let made = long_plan(&vault, 12);
    vault.context.listeners.subscribe(Box::new(|event| {
        assert!(
            !matches!(event, OrganizeEvent::Job { done: 0, state: "running", .. }),
            "cut short"
        );
    }));
    let wanted = json!({ "plan": made.0, "identity": made.1 });
    vault.err("apply_plan", wanted.clone(), ErrorCode::IoError);
    let mut vault = vault.reopened();
    vault.context.settings.organize.atomic_items = 5;
    vault.context.origin.confirmed = true;
    tools::settle(&vault.context).unwrap();
    let job = vault.ok("list_jobs", json!({}))["jobs"][0].clone();
    assert_eq!((&job["state"], &job["done"]), (&json!("interrupted"), &json!(0)));
    vault.err("apply_plan", wanted.clone(), ErrorCode::WrongState);
    let undone = vault.ok("rollback_job", json!({ "job": 1 }));
    assert_eq!((&undone["state"], &undone["undone"]), (&json!("undone"), &json!(0)));
    let done = vault.ok("apply_plan", wanted);
    assert_eq!((&done["done"], &done["state"]), (&json!(12), &json!("completed")));
}

#[test]
fn what_cannot_be_undone_is_named_and_the_rest_goes_back() {
    let vault = linked();
    let done = apply(&vault, &plan(&vault, moves()));
    vault.ok(
        "edit_file",
        json!({ "path": "Done/b.md", "old_text": "to [a]", "new_text": "later, to [a]" }),
    );
    vault.put("Inbox/a.md", "somebody else's");
    vault.context.vault.rescan().unwrap();
    let back = vault.ok("rollback_job", json!({ "job": done["job"] }));
    assert_eq!((&back["undone"], &back["state"]), (&json!(1), &json!("partly_undone")));
    assert_eq!(back["blocked"][0]["path"], "Done/a.md");
    assert_eq!(vault.content("Inbox/b.md"), "---\nstatus: open\n---\nlater, to [a](Done/a.md)\n");
    assert_eq!(vault.content("Inbox/a.md"), "somebody else's");
    assert_eq!(vault.content("Home.md"), "[[a]] and [[b]]\n", "`Inbox/a` is another note by now");
    std::fs::remove_file(vault.place.join("Inbox/a.md")).unwrap();
    vault.context.vault.rescan().unwrap();
    let back = vault.ok("rollback_job", json!({ "job": done["job"] }));
    assert_eq!((&back["undone"], &back["state"]), (&json!(1), &json!("undone")));
    assert_eq!(vault.content("Home.md"), "[[Inbox/a]] and [[Inbox/b]]\n");
    assert!(!vault.exists("Done"), "the folder that the job made goes with what it made it for");
}

#[test]
fn who_sees_a_part_of_the_vault_sees_plans_and_jobs_of_that_part_alone() {
    let mut vault = vault(&[
        ("Open/a.md", "a"),
        ("Open/b.md", "b"),
        ("Closed/c.md", "c"),
        ("Closed/y.md", "y"),
        ("Open/y.md", "y"),
    ]);
    let open = plan(&vault, json!([{ "path": "Open/a.md", "to": "Open/x.md" }]));
    let out = plan(&vault, json!([{ "path": "Open/b.md", "to": "Closed/b.md" }]));
    let closed = plan(&vault, json!([{ "path": "Closed/c.md", "trash": true }]));
    apply(&vault, &closed);
    // The item that leaves the plan had the name first, so that another got a number.
    let both = ["Closed/y.md", "Open/y.md"].map(|path| json!({ "path": path, "to": "Open/n.md" }));
    let (numbered, _) = plan(&vault, json!(both));
    let why = "it gets another name: `Closed/y.md` also goes to `Open/n.md`";
    let text = |vault: &TestVault| vault.text("show_plan", json!({ "plan": numbered }));
    assert!(text(&vault).contains(why), "{}", text(&vault));
    vault.ok("plan_changes", json!({ "plan": numbered, "take_out": [1] }));
    let folder = VaultPath::from_disk("Open").unwrap();
    let whole = vault.context.vault.clone();
    vault.context.vault = whole.in_view(View::of(vec![folder]));
    vault.ok("show_plan", json!({ "plan": open.0 }));
    assert!(!text(&vault).contains("Closed"), "{}", text(&vault));
    for (number, identity) in [&out, &closed] {
        vault.err("show_plan", json!({ "plan": number }), ErrorCode::NotFound);
        let wanted = json!({ "plan": number, "identity": identity });
        vault.err("apply_plan", wanted, ErrorCode::NotFound);
    }
    assert_eq!(vault.ok("list_jobs", json!({}))["total"], 0);
    vault.err("list_jobs", json!({ "job": 1 }), ErrorCode::NotFound);
    vault.err("rollback_job", json!({ "job": 1 }), ErrorCode::NotFound);
    let hidden = json!({ "items": [{ "path": "Closed/c.md", "trash": true }] });
    vault.err("plan_changes", hidden, ErrorCode::NotFound);
    apply(&vault, &open);
    assert_eq!(vault.ok("list_jobs", json!({}))["jobs"][0]["folders"], json!(["Open"]));
}

#[test]
fn plans_and_jobs_are_forgotten_with_time() {
    let mut vault = vault(&[("a.md", "a")]);
    let (number, _) = plan(&vault, json!([{ "path": "a.md", "tag": ["one"] }]));
    vault.context.settings.organize.keep_jobs = 2;
    for round in 0..3 {
        let made = plan(&vault, json!([{ "path": "a.md", "set": { "round": round } }]));
        apply(&vault, &made);
    }
    let jobs = vault.ok("list_jobs", json!({}))["jobs"].as_array().unwrap().clone();
    assert_eq!(jobs.iter().map(|job| job["job"].as_u64().unwrap()).collect::<Vec<_>>(), [3, 2]);
    vault.ok("show_plan", json!({ "plan": number }));
    let later = chrono::Local::now().fixed_offset() + chrono::Duration::days(8);
    vault.context.clock = tools::Clock::At(later);
    let error = vault.err("show_plan", json!({ "plan": number }), ErrorCode::NotFound);
    assert_eq!(
        error.hint.as_deref(),
        Some("plans are forgotten after 7 days; plan_changes makes one")
    );
}

#[test]
fn no_job_gets_the_number_of_one_that_the_journal_knows() {
    let mut vault = long(60, 100);
    vault.context.settings.organize.keep_jobs = 1;
    let first = apply(&vault, &plan(&vault, json!([{ "path": "In/n000.md", "tag": ["one"] }])));
    let (number, identity) = long_plan(&vault, 60);
    let wanted = json!({ "plan": number, "identity": identity });
    // A person must approve first, so this is not a job yet.
    vault.context.origin.confirmed = false;
    vault.err("apply_plan", wanted.clone(), ErrorCode::Denied);
    vault.context.origin.confirmed = true;
    let second = vault.ok("apply_plan", wanted);
    assert_eq!((&second["job"], &second["done"]), (&json!(2), &json!(60)));
    assert_ne!(second["change_set"], first["change_set"]);
    assert!(!vault.exists("In/n000.md"));
}

#[test]
fn rules_are_asked_again_about_a_note_that_was_edited() {
    let vault = vault(&[
        ("In/a.md", "---\ndone: true\n---\n"),
        ("In/b.md", "---\ndone: true\n---\n"),
        ("In/c.md", "---\ndone: false\n---\n"),
        (
            "Rules.md",
            "A note.\n\n```rules\nrules:\n  - name: Done\n    when: done\n    do:\n      - move: Out\n```\n",
        ),
    ]);
    let made = vault.ok("plan_changes", json!({ "rules": "Rules", "path": "In" }));
    assert_eq!(made["items"], 2);
    let shown = |why: &str| vault.text("show_plan", json!({ "plan": 1, "why": why }));
    assert!(shown("In/a.md").contains("1  Done  yes"), "{}", shown("In/a.md"));
    assert!(shown("c").contains("1  Done  no"), "{}", shown("c"));
    for format in ["tree", "table", "diff", "json", "html"] {
        let text = vault
            .text("show_plan", json!({ "plan": 1, "format": format, "include_unchanged": true }));
        assert!(text.contains("Out"), "{format}: {text}");
    }
    vault.put("In/a.md", "---\ndone: true\n---\nstill done\n");
    vault.context.vault.rescan().unwrap();
    let wanted = json!({ "plan": 1, "identity": made["identity"], "items": [1] });
    let done = vault.ok("apply_plan", wanted);
    assert_eq!(done["edited"], json!(["In/a.md"]));
    assert_eq!(vault.content("Out/a.md"), "---\ndone: true\n---\nstill done\n");
    vault.put("In/b.md", "---\ndone: false\n---\n");
    vault.context.vault.rescan().unwrap();
    let wanted = json!({ "plan": 1, "identity": made["identity"], "items": [2] });
    vault.err("apply_plan", wanted, ErrorCode::StalePlan);
    let wrong = json!({ "rules": "rules:\n  - name: x\n    wehn: done\n    do: [{move: A}]\n" });
    let error = vault.err("plan_changes", wrong, ErrorCode::InvalidRule);
    assert!(error.data.unwrap()["line"] == 3, "{}", error.message);
}

const TO_OUT: &str =
    "rules:\n- name: Out\n  in: In\n  when: status != \"keep\"\n  do: [move: Out]\n  run: change\n";

/// A vault of 12 notes in which a job of the rule in `Rules.yaml`, started by these enabled rules,
/// was cut short after its first 5.
fn cut_short_by_rule(enable: bool) -> (TestVault, Value) {
    let mut vault = long(12, 5);
    vault.put("Rules.yaml", TO_OUT);
    vault.context.vault.rescan().expect("the vault is there");
    if enable {
        let wanted = Enabling { file: "Rules.yaml".to_owned(), ..Enabling::default() };
        let enabled = enabled::enable(&vault.context, &wanted).expect("it is enabled");
        vault.context.rules = vec![enabled[0].row.id];
    }
    let made = vault.ok("plan_changes", json!({ "rules": "Rules.yaml" }));
    let wanted = json!({ "plan": made["plan"], "identity": made["identity"] });
    vault.context.listeners.subscribe(Box::new(|news| {
        assert!(
            !matches!(news, OrganizeEvent::Job { done: 5, state: "running", .. }),
            "cut short here"
        );
    }));
    vault.err("apply_plan", wanted.clone(), ErrorCode::IoError);
    let mut vault = vault.reopened();
    vault.context.settings.organize.atomic_items = 5;
    vault.context.origin.confirmed = true;
    tools::settle(&vault.context).expect("jobs are settled");
    let resumed = json!({ "plan": made["plan"], "identity": made["identity"], "job": 1 });
    (vault, resumed)
}

#[test]
fn a_resumed_job_evaluates_its_rules_again_for_edited_notes() {
    let (vault, resumed) = cut_short_by_rule(false);
    let left: Vec<String> =
        (0..12).map(|at| format!("In/n{at:03}.md")).filter(|path| vault.exists(path)).collect();
    assert_eq!(left.len(), 7);
    vault.put(&left[0], "another text\n");
    vault.put(&left[1], "---\nstatus: keep\n---\n");
    vault.context.vault.rescan().unwrap();
    let stale = vault.err("apply_plan", resumed.clone(), ErrorCode::StalePlan);
    assert!(stale.message.contains(&*left[1]) && !stale.message.contains(&*left[0]), "{stale}");
    let mut without = resumed.clone();
    without["skip_stale"] = json!(true);
    without["dry_run"] = json!(true);
    let would = vault.ok("apply_plan", without.clone());
    assert_eq!((&would["edited"], &would["done"]), (&json!([left[0]]), &json!(6)));
    without["dry_run"] = json!(false);
    let done = vault.ok("apply_plan", without);
    assert_eq!((&done["edited"], &done["done"]), (&json!([left[0]]), &json!(11)), "{done}");
    assert!(vault.exists(&left[1]) && !vault.exists(&left[0]));
    let moved = left[0].replace("In/", "Out/");
    assert_eq!(vault.content(&moved), "another text\n");
}

#[test]
fn a_rules_job_is_resumed_only_while_its_rule_is_enabled() {
    let (vault, resumed) = cut_short_by_rule(true);
    vault.put("Rules.yaml", &TO_OUT.replace("move: Out", "move: Elsewhere"));
    vault.context.vault.rescan().unwrap();
    let error = vault.err("apply_plan", resumed.clone(), ErrorCode::StalePlan);
    assert!(error.message.contains("`Out` has changed since"), "{error}");
    vault.put("Rules.yaml", &format!("# Mine.\n{TO_OUT}"));
    vault.context.vault.rescan().unwrap();
    enabled::disable(&vault.context, "Out").unwrap();
    let error = vault.err("apply_plan", resumed.clone(), ErrorCode::StalePlan);
    assert!(error.message.contains("`Out` is no longer enabled"), "{error}");
    assert_eq!(vault.ok("list_jobs", json!({}))["jobs"][0]["state"], "interrupted");
    let wanted = Enabling { file: "Rules.yaml".to_owned(), ..Enabling::default() };
    enabled::enable(&vault.context, &wanted).unwrap();
    let done = vault.ok("apply_plan", resumed);
    assert_eq!((&done["done"], &done["state"]), (&json!(12), &json!("completed")));
}

const LOGGED: &str =
    "rules:\n- name: Log\n  in: Inbox\n  once: true\n  do: [append: \"logged\\n\"]\n";

/// The notes that these rules would change.
fn taken(vault: &TestVault, rules: &str) -> Vec<String> {
    let made = vault.ok("plan_changes", json!({ "rules": rules }));
    let plan = vault.ok("show_plan", json!({ "plan": made["plan"] }));
    let items = plan["items"].as_array().expect("a list");
    items.iter().map(|item| item["path"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn a_rule_with_once_takes_each_note_a_single_time() {
    let notes = [("Inbox/a.md", "a\n"), ("Inbox/b.md", "b\n"), ("Inbox/c.md", "c\n")];
    let mut vault = vault(&notes);
    vault.context.origin.confirmed = true;
    assert_eq!(taken(&vault, LOGGED), ["Inbox/a.md", "Inbox/b.md", "Inbox/c.md"]);
    let made = vault.ok("plan_changes", json!({ "rules": LOGGED }));
    let done = vault.ok(
        "apply_plan",
        json!({ "plan": made["plan"], "identity": made["identity"], "items": [1, 2] }),
    );
    assert_eq!(done["done"], 2);
    assert_eq!(taken(&vault, LOGGED), ["Inbox/c.md"]);
    // It is the same note with another name and in another folder.
    vault.ok("move", json!({ "source": "Inbox/a.md", "destination": "Inbox/Renamed.md" }));
    vault.ok("move", json!({ "source": "Inbox", "destination": "Old" }));
    vault.ok("move", json!({ "source": "Old", "destination": "Inbox" }));
    assert_eq!(taken(&vault, LOGGED), ["Inbox/c.md"]);
    // Another note at its old path is a different note.
    vault.ok("write_file", json!({ "path": "Inbox/a.md", "content": "new\n" }));
    assert_eq!(taken(&vault, LOGGED), ["Inbox/a.md", "Inbox/c.md"]);
    // A changed rule is a different rule; an undone change is not repeated.
    assert_eq!(taken(&vault, &LOGGED.replace("logged", "seen")).len(), 4);
    let undone = vault.ok("rollback_job", json!({ "job": done["job"], "items": [2] }));
    assert_eq!(undone["undone"], 1, "{undone}");
    assert_eq!(taken(&vault, LOGGED), ["Inbox/a.md", "Inbox/b.md", "Inbox/c.md"]);
}

#[test]
fn a_renamed_file_keeps_its_extension_once() {
    let vault = vault(&[("a.md", ""), ("b.PNG", ""), ("c", "")]);
    let to = |name: &str| -> Vec<String> {
        let rules = json!([{ "name": "r", "do": [{ "rename": name }] }]).to_string();
        let made = vault.ok("plan_changes", json!({ "rules": rules }));
        let plan = vault.ok("show_plan", json!({ "plan": made["plan"] }));
        let items = plan["items"].as_array().expect("a list");
        items.iter().map(|item| item["to"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(to("{{file.name}} x"), ["a x.md", "b.PNG x.PNG", "c x"]);
    assert_eq!(to("{{file.name}}"), [] as [&str; 0]);
    assert_eq!(to("{{title}} 1.md"), ["a 1.md", "b 1.md.PNG", "c 1.md"]);
}
