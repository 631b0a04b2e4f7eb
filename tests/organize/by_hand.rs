//! Plans of items given by a person or a model.

use serde_json::json;
use vault_steward::organize::applying;
use vault_steward::organize::plan::{Item, Plan, ProblemKind, Risk};
use vault_steward::organize::planner::{PlanError, PlanRequest};
use vault_steward::organize::rule::OnConflict;
use vault_steward::organize::settings::Settings;
use vault_steward::organize::views::View;

use super::harness::{TestVault, renames_case, vault};
use super::{apply, files, foreseen, item, kinds, moves, plan, plan_with};

#[track_caller]
fn check(vault: &TestVault, plan: &Plan) {
    let foreseen = foreseen(vault, plan);
    apply(vault, plan);
    assert_eq!(files(vault), foreseen);
}

#[test]
fn a_swap_a_chain_and_a_cycle_end_as_they_are_shown() {
    let vault = vault(&[
        ("a.md", "a [[b]]"),
        ("b.md", "b [[a]]"),
        ("1.md", "1"),
        ("2.md", "2 [[3]]"),
        ("3.md", "3"),
        ("x/p.md", "p"),
        ("y/p.md", "q"),
        ("z/p.md", "r [[x/p]]"),
    ]);
    let plan = plan(
        &vault,
        &[
            json!({"path": "a.md", "to": "b.md"}),
            json!({"path": "b.md", "to": "a.md"}),
            json!({"path": "1.md", "to": "2.md"}),
            json!({"path": "2.md", "to": "3.md"}),
            json!({"path": "3.md", "to": "4.md"}),
            json!({"path": "x/p.md", "to": "y/p.md"}),
            json!({"path": "y/p.md", "to": "z/p.md"}),
            json!({"path": "z/p.md", "to": "x/p.md"}),
        ],
    );
    assert!(plan.items.iter().all(|item| item.problems.is_empty()), "{plan:#?}");
    check(&vault, &plan);
    assert_eq!(vault.content("b.md"), "a [[a]]");
    assert_eq!(vault.content("3.md"), "2 [[4]]");
    assert_eq!(vault.content("x/p.md"), "r [[y/p]]");
    assert_eq!(vault.content("y/p.md"), "p");
}

#[test]
fn properties_tags_text_and_place_in_one_item() {
    let vault = vault(&[("Inbox/a.md", "---\nstatus: new\nold: 1\n---\nText"), ("b.md", "[[a]]")]);
    let plan = plan(
        &vault,
        &[
            json!({
                "path": "Inbox/a.md", "to": "Done/2026/a b.md", "set": {"status": "filed"},
                "remove": ["old", "none"], "tag": ["#x"], "append": "More",
            }),
            json!({"path": "New.md", "create": true, "append": "# New\n"}),
        ],
    );
    let [first, second] = &plan.items[..] else { panic!("{plan:#?}") };
    assert_eq!((first.id, second.id), (1, 2));
    assert_eq!((first.risk, second.risk), (Risk::Medium, Risk::Low));
    assert_eq!(first.remove, ["old"], "what is not there is not removed");
    assert_eq!((plan.links.files, plan.links.links), (1, 1));
    check(&vault, &plan);
    assert_eq!(
        vault.content("Done/2026/a b.md"),
        "---\nstatus: filed\ntags:\n  - x\n---\nText\nMore\n"
    );
    assert_eq!(vault.content("b.md"), "[[a b]]");
    assert_eq!(vault.content("New.md"), "# New\n");
}

#[test]
fn an_unchanged_file_is_no_item() {
    let vault = vault(&[("a.md", "---\nx: 1\ntags: [t]\n---\n")]);
    let items = [json!({
        "path": "a.md", "to": "a.md", "set": {"X": 1}, "tag": ["T"], "untag": ["u"], "remove": ["y"],
    })];
    assert_eq!(plan(&vault, &items).items, []);
}

#[test]
fn names_that_are_taken_are_numbered() {
    let vault = vault(&[
        ("Work/x.md", "stays"),
        ("Work/X_1.md", "stays"),
        ("a/x.md", "1"),
        ("b/x.md", "2"),
        ("c/y.md", "3"),
    ]);
    let items = [
        json!({"path": "a/x.md", "to": "Work/x.md"}),
        json!({"path": "b/x.md", "to": "work/x.md"}),
        json!({"path": "c/y.md", "to": "Work/New/../x.md"}),
    ];
    let plan = plan(&vault, &items[..2]);
    // Folders are spelt as on disk.
    assert_eq!(moves(&plan), [("a/x.md", "Work/x_2.md"), ("b/x.md", "Work/x_3.md")]);
    let why = |plan: &Plan, path: &str| {
        let item = plan.items.iter().find(|item| item.path == path).expect("an item");
        let problems =
            item.problems.iter().map(|problem| (problem.message.clone(), problem.blocks));
        problems.collect::<Vec<_>>()
    };
    let taken = [("it gets another name: `Work/x.md` is taken".to_owned(), false)];
    assert_eq!((&why(&plan, "a/x.md")[..], &why(&plan, "b/x.md")[..]), (&taken[..], &taken[..]));
    let wanted = ["a/x.md", "b/x.md"].map(|path| json!({"path": path, "to": "New/x.md"}));
    let wanted = super::plan(&vault, &wanted);
    assert_eq!(moves(&wanted), [("a/x.md", "New/x.md"), ("b/x.md", "New/x_1.md")]);
    assert_eq!(why(&wanted, "a/x.md"), []);
    let too = "it gets another name: `a/x.md` also goes to `New/x.md`";
    assert_eq!(why(&wanted, "b/x.md"), [(too.to_owned(), false)]);
    let shown = View::of(&wanted, 10_000);
    for text in [shown.tree(), shown.table(), shown.json().to_string(), shown.html()] {
        assert!(text.contains("`a/x.md` also goes to `New/x.md`"), "{text}");
    }
    check(&vault, &plan);
    let invalid = super::plan(&vault, &items[2..]);
    assert_eq!(kinds(&invalid, "c/y.md"), [ProblemKind::InvalidPath]);
}

#[test]
fn a_numbered_name_stays_as_long_as_the_plain_one_is_anothers() {
    let vault = vault(&[("x.md", ""), ("x_1.md", ""), ("x_2.md", ""), ("x_10.md", "")]);
    let items = ["x_1.md", "x_2.md", "x_10.md"].map(|path| json!({"path": path, "to": "x.md"}));
    assert_eq!(plan(&vault, &items).items, []);
}

#[test]
fn what_happens_where_a_path_is_taken() {
    let vault = vault(&[("Work/x.md", "stays"), ("a/x.md", "1"), ("b/n.md", "")]);
    let wanted = || PlanRequest {
        items: vec![
            item(&json!({"path": "a/x.md", "to": "Work/x.md"})),
            // Free only if the other file moves away.
            item(&json!({"path": "b/n.md", "to": "a/x.md"})),
        ],
        ..PlanRequest::default()
    };
    let with = |on_conflict| Settings { on_conflict, ..Settings::default() };
    for on_conflict in [OnConflict::Skip, OnConflict::Ask] {
        let plan = plan_with(&vault, &with(on_conflict), wanted()).expect("a plan");
        assert_eq!(kinds(&plan, "a/x.md"), [ProblemKind::Taken], "{on_conflict:?}");
        assert_eq!(kinds(&plan, "b/n.md"), [ProblemKind::Taken], "{on_conflict:?}");
        assert_eq!(plan.applicable().count(), 0);
    }
    let failed = plan_with(&vault, &with(OnConflict::Fail), wanted());
    assert!(matches!(failed, Err(PlanError::Taken { .. })), "{failed:?}");
}

#[test]
fn two_notes_never_get_one_path_in_any_case() {
    let vault = vault(&[("a.md", "1"), ("b.md", "2"), ("c/d.md", "3"), ("Straße.md", "4")]);
    let items = [
        json!({"path": "a.md", "to": "New/Café.md"}),
        json!({"path": "b.md", "to": "new/cafe\u{301}.md"}),
        json!({"path": "c/d.md", "to": "STRAßE.md"}),
    ];
    let plan = plan(&vault, &items);
    assert_eq!(
        moves(&plan),
        [("a.md", "New/Café.md"), ("b.md", "New/cafe\u{301}_1.md"), ("c/d.md", "STRAßE_1.md")]
    );
    check(&vault, &plan);
}

#[test]
fn a_change_of_case_is_a_move() {
    let test = "a_change_of_case_is_a_move";
    if !renames_case() && crate::machine::not_possible_elsewhere(test, "a name in another case") {
        return;
    }
    let vault = vault(&[("todo.md", "x"), ("b.md", "[[todo]] [[Todo]]")]);
    let plan = plan(&vault, &[json!({"path": "todo.md", "to": "Todo.md"})]);
    assert_eq!(moves(&plan), [("todo.md", "Todo.md")]);
    check(&vault, &plan);
}

#[test]
fn problems_are_named() {
    let vault = vault(&[
        ("a.md", "a"),
        ("p.png", "x"),
        ("b.md", "[[Missing]] [[missing]] [[a]]"),
        ("file", "x"),
        ("n.sync-conflict-20260101-101010-ABCDEFG.md", ""),
        ("w.md", "---\n[\n---\n"),
    ]);
    let plan = plan(
        &vault,
        &[
            json!({"path": "gone.md", "to": "x.md"}),
            json!({"path": "p.png", "set": {"x": 1}}),
            json!({"path": "a.md", "to": "Missing.md"}),
            json!({"path": "b.md", "to": "file/b.md"}),
            json!({"path": "n.sync-conflict-20260101-101010-ABCDEFG.md", "trash": true}),
            json!({"path": "w.md", "set": {"x": 1}}),
        ],
    );
    assert_eq!(kinds(&plan, "gone.md"), [ProblemKind::Missing]);
    assert_eq!(kinds(&plan, "p.png"), [ProblemKind::NotApplicable]);
    assert_eq!(kinds(&plan, "a.md"), [ProblemKind::CapturesLinks]);
    assert_eq!(kinds(&plan, "b.md"), [ProblemKind::InvalidPath]);
    assert_eq!(
        kinds(&plan, "n.sync-conflict-20260101-101010-ABCDEFG.md"),
        [ProblemKind::ConflictCopy]
    );
    assert_eq!(kinds(&plan, "w.md"), [ProblemKind::NotApplicable]);
    let captured = plan.items.iter().find(|item| item.path == "a.md").expect("an item");
    assert_eq!(
        captured.problems[0].message,
        "`[[Missing]]` in `b.md` and 1 more link, which lead nowhere now, would lead to it"
    );
    let applied: Vec<&str> = plan.applicable().map(|item| &*item.path).collect();
    assert_eq!(applied, ["a.md", "n.sync-conflict-20260101-101010-ABCDEFG.md"]);
}

#[test]
#[cfg(unix)]
fn links_in_read_only_files_hold_back_what_they_lead_to() {
    use std::os::unix::fs::PermissionsExt;
    let vault = vault(&[("a.md", "a"), ("b.md", "b"), ("c.md", "[[a]]"), ("d.md", "d")]);
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(vault.place.join("c.md"), permissions).expect("set");
    };
    mode(0o444);
    vault.context.vault.rescan().expect("scanned");
    let plan = plan(
        &vault,
        &[
            json!({"path": "a.md", "to": "x.md"}),
            // Its path is not free, since `a` stays.
            json!({"path": "b.md", "to": "a.md"}),
            json!({"path": "d.md", "to": "y.md"}),
        ],
    );
    assert_eq!(kinds(&plan, "a.md"), [ProblemKind::ReadOnly]);
    assert_eq!(moves(&plan), [("a.md", "x.md"), ("b.md", "a_1.md"), ("d.md", "y.md")]);
    assert_eq!(plan.applicable().count(), 2);
    check(&vault, &plan);
}

#[test]
fn a_plan_names_the_links_that_lead_to_what_goes_to_the_trash() {
    let vault = vault(&[
        ("a.md", "[[b]]"),
        ("b.md", "[[a]] [[c]]"),
        ("c.md", ""),
        ("d.md", "[[c]] [[c#x]] [[a]]"),
        ("e.md", "[[C|c]]"),
        ("f.md", "[[g]]"),
        ("g.md", ""),
    ]);
    let plan = plan(
        &vault,
        &[
            json!({"path": "a.md", "trash": true}),
            json!({"path": "c.md", "trash": true}),
            json!({"path": "f.md", "trash": true}),
            json!({"path": "g.md", "trash": true}),
        ],
    );
    let message = |path: &str| {
        let item = plan.items.iter().find(|item| item.path == path).expect("an item");
        item.problems.iter().map(|problem| &*problem.message).collect::<Vec<_>>()
    };
    assert_eq!(message("a.md"), ["2 links in 2 files will lead nowhere"]);
    assert_eq!(message("c.md"), ["4 links in 3 files will lead nowhere"]);
    assert_eq!(message("f.md"), [""; 0]);
    // What links to it goes to the trash too.
    assert_eq!(message("g.md"), [""; 0]);
    assert_eq!(plan.applicable().count(), 4);
    check(&vault, &plan);
}

#[test]
fn more_items_than_a_plan_holds_are_no_plan() {
    let vault = vault(&[("a/1.md", ""), ("a/2.md", ""), ("b/1.md", "")]);
    let items = ["a/1.md", "a/2.md", "b/1.md"];
    let items = items.iter().map(|path| item(&json!({"path": path, "trash": true}))).collect();
    let settings = Settings { max_items: 2, ..Settings::default() };
    let plan = plan_with(&vault, &settings, PlanRequest { items, ..PlanRequest::default() });
    let largest = vec![("a".to_owned(), 2), ("b".to_owned(), 1)];
    assert_eq!(plan, Err(PlanError::TooMany { count: 3, most: 2, largest }));
}

#[test]
fn what_changed_since_is_stale() {
    let vault = vault(&[("a.md", "a"), ("b.md", "b"), ("c.md", "c"), ("d.md", "d")]);
    let plan = plan(
        &vault,
        &[
            json!({"path": "a.md", "set": {"x": 1}}),
            json!({"path": "b.md", "to": "new.md"}),
            json!({"path": "c.md", "trash": true}),
            json!({"path": "d.md", "to": "e.md"}),
        ],
    );
    vault.put("a.md", "another");
    vault.put("new.md", "new");
    std::fs::remove_file(vault.place.join("c.md")).expect("removed");
    vault.context.vault.rescan().expect("scanned");
    let items: Vec<&Item> = plan.applicable().collect();
    let stale = applying::changes(&vault.context.vault, &items).expect_err("stale");
    let stale: Vec<_> = stale.iter().map(|stale| (&*stale.path, &*stale.reason)).collect();
    assert_eq!(
        stale,
        [
            ("a.md", "its text has changed since it was planned"),
            ("b.md", "`new.md` is taken by now"),
            ("c.md", "it is gone, or has another name by now"),
        ]
    );
}

#[test]
fn the_identity_depends_only_on_the_changes() {
    let vault = vault(&[("a.md", "a"), ("b.md", "b"), ("c.md", "c")]);
    let items = [
        json!({"path": "a.md", "to": "x.md"}),
        json!({"path": "b.md", "to": "x.md"}),
        json!({"path": "c.md", "set": {"b": 1, "a": 2}}),
    ];
    let one = plan(&vault, &items);
    let mut turned = items.clone();
    turned.reverse();
    assert_eq!(plan(&vault, &turned).identity(), one.identity());
    assert_ne!(plan(&vault, &items[..2]).identity(), one.identity());
    let read: Plan =
        serde_json::from_value(serde_json::to_value(&one).expect("json")).expect("a plan");
    assert_eq!(read.identity(), one.identity());
}

#[test]
fn items_are_joined_taken_out_and_given_other_paths() {
    let vault = vault(&[("a.md", "a"), ("b.md", "b"), ("c.md", "c")]);
    let first = plan(&vault, &[json!({"path": "b.md", "to": "x.md"})]);
    let wanted = PlanRequest {
        items: vec![
            item(&json!({"path": "a.md", "to": "x.md"})),
            item(&json!({"path": "b.md", "to": "y.md"})),
        ],
        joins: Some(first.clone()),
        ..PlanRequest::default()
    };
    let joined = plan_with(&vault, &Settings::default(), wanted).expect("a plan");
    // A planned file keeps its item and its name.
    assert_eq!(moves(&joined), [("a.md", "x_1.md"), ("b.md", "x.md")]);
    let settings = Settings::default();
    let edited = |without: &[u32], targets: &[(u32, &str)]| {
        let mut joins = joined.clone();
        joins.items.retain(|item| !without.contains(&item.id));
        for item in &mut joins.items {
            if let Some((_, to)) = targets.iter().find(|(id, _)| *id == item.id) {
                item.to = Some((*to).to_owned());
            }
        }
        let wanted = PlanRequest { joins: Some(joins), ..PlanRequest::default() };
        plan_with(&vault, &settings, wanted).expect("a plan")
    };
    assert_eq!(moves(&edited(&[2], &[])), [("a.md", "x_1.md")]);
    let other = edited(&[], &[(1, "Other/z")]);
    assert_eq!(moves(&other), [("a.md", "Other/z.md"), ("b.md", "x.md")]);
    assert_ne!(other.identity(), joined.identity());
    assert_eq!(edited(&[], &[]).identity(), joined.identity());
}
