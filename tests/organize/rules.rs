//! Plans of rules.

use serde_json::json;
use vault_steward::note::path::VaultPath;
use vault_steward::organize::plan::{Item, Plan, ProblemKind, RuleResult};
use vault_steward::organize::planner::{self, PlanError, PlanRequest};
use vault_steward::organize::settings::Settings;

use super::harness::{TestVault, vault};
use super::{apply, files, foreseen, item, kinds, moves, over, plan_with, ruled, rules};

/// Applies a plan, and plans again: the result equals the plan, and nothing is left to do.
#[track_caller]
fn settled(vault: &TestVault, yaml: &str) -> Plan {
    let plan = ruled(vault, yaml);
    let foreseen = foreseen(vault, &plan);
    apply(vault, &plan);
    assert_eq!(files(vault), foreseen);
    let again = ruled(vault, yaml);
    assert_eq!(again.items, [], "{plan:#?}");
    plan
}

#[test]
fn a_rule_files_notes_and_has_nothing_to_do_afterwards() {
    let vault = vault(&[
        ("Inbox/Call.md", "---\ntags: [meeting]\ndate: 2026-03-04\n---\nText"),
        ("Inbox/Done.md", "---\ntags: [meeting]\ndone: true\n---\n"),
        ("Inbox/other.md", "#idea"),
        ("Index.md", "[[Call]] and [[Inbox/Call|the call]]"),
    ]);
    let plan = settled(
        &vault,
        r#"
rules:
  - name: File
    in: [Inbox]
    when: file.hasTag("meeting") && !done
    do:
      - set: {status: filed, n: 1, day: '{{date}}', "on": '{{today()}}'}
      - tag: [archive/meeting]
      - untag: [meeting]
      - move: 'Meetings/{{date(date).format("YYYY")}}'
      - rename: '{{date(date).format("YYYY-MM-DD")}} {{title}}'
"#,
    );
    assert_eq!(moves(&plan), [("Inbox/Call.md", "Meetings/2026/2026-03-04 Call.md")]);
    assert_eq!(plan.items[0].rules, ["File"]);
    assert_eq!((plan.rules[0].took, plan.looked_at), (1, 4));
    assert_eq!(
        vault.content("Meetings/2026/2026-03-04 Call.md"),
        "---\ntags: [archive/meeting]\ndate: 2026-03-04\nday: 2026-03-04\n\"n\": 1\n\"on\": 2026-11-21\n\
         status: filed\n---\nText"
    );
    assert_eq!(vault.content("Index.md"), "[[2026-03-04 Call]] and [[2026-03-04 Call|the call]]");
}

#[test]
fn the_first_rule_takes_a_note_unless_it_continues() {
    let vault =
        vault(&[("a.md", "---\nkind: x\n---\n"), ("b.md", "---\nkind: y\n---\n"), ("c.md", "")]);
    let plan = settled(
        &vault,
        r#"
rules:
  - name: Late
    when: '!kind'
    do: [move: Late]
  - name: Mark
    when: kind == "x"
    do: [{set: {state: new}}, {move: Moved}]
    then: continue
    priority: 5
  - name: Marked
    when: state == "new" && file.inFolder("Moved") && file.path == "Moved/a.md"
    do: [{rename: 'marked {{title}}'}, {tag: [seen]}]
    priority: 4
  - name: Never
    when: kind == "x" && state != "new"
    do: [move: Never]
    priority: 3
  - name: Rest
    when: kind == "y"
    do: [move: Rest]
"#,
    );
    assert_eq!(
        moves(&plan),
        [("a.md", "Moved/marked a.md"), ("b.md", "Rest/b.md"), ("c.md", "Late/c.md")]
    );
    assert_eq!(plan.items[0].rules, ["Mark", "Marked"]);
    let why: Vec<(&str, bool, Option<&str>)> = plan.items[0]
        .why
        .iter()
        .map(|asked| (&*asked.rule, asked.took, asked.stopped_by.as_deref()))
        .collect();
    assert_eq!(
        why,
        [
            ("Mark", true, None),
            ("Marked", true, None),
            ("Never", false, Some("Marked")),
            ("Late", false, Some("Marked")),
            ("Rest", false, Some("Marked")),
        ]
    );
}

#[test]
fn a_note_says_why_whether_it_has_an_item_or_not() {
    let vault = vault(&[
        ("Inbox/Call.md", "---\ntags: [call, work]\n---\n"),
        ("Inbox/other.md", "---\nstatus: open\n---\n"),
    ]);
    let rules = rules(
        r#"
rules:
  - name: File
    in: Inbox
    when: file.hasTag("meeting")
    do: [move: Meetings]
  - name: Calls
    when: file.hasTag("call")
    do: [move: Calls]
  - name: Old
    in: [Old]
    do: [trash: true]
"#,
    );
    let settings = Settings::default();
    let why = |path: &str| -> Vec<RuleResult> {
        over(&vault, &settings, &|_, _| false, |world| {
            let path = VaultPath::from_disk(path).expect("a path");
            planner::why(world, &rules, &path).expect("nobody withdraws").expect("a note")
        })
    };
    let asked = why("Inbox/Call.md");
    assert_eq!(asked[0].parts, [r#"file.hasTag("meeting")  false: tags are call, work"#]);
    assert_eq!(
        asked[1].parts,
        ["→ Calls/Call.md", r#"file.hasTag("call")  true: tags are call, work"#]
    );
    assert_eq!(asked[2].stopped_by.as_deref(), Some("Calls"));
    let other = why("Inbox/other.md");
    assert!(other.iter().all(|asked| !asked.took), "{other:#?}");
    assert_eq!(other[2].parts, ["it looks in `Old` only"]);
    let wanted = PlanRequest { rules: &rules, ..PlanRequest::default() };
    let plan = plan_with(&vault, &settings, wanted).expect("a plan");
    assert_eq!(plan.items[0].why, asked);
}

#[test]
fn missing_values_are_reported_and_the_rule_does_nothing() {
    let vault = vault(&[
        ("a.md", "---\nl: [1, 2]\n---\n"),
        ("b.md", "---\nproject: 'A/B: c'\n---\n"),
        ("p.png", "x"),
    ]);
    let plan = ruled(
        &vault,
        r#"
rules:
  - name: By project
    when: file.ext == "md"
    do: [{set: {seen: true}}, {move: 'Projects/{{project}}'}]
  - name: Pictures
    when: file.ext == "png"
    do: [{set: {seen: true}}, {move: Pictures}]
"#,
    );
    assert_eq!(kinds(&plan, "a.md"), [ProblemKind::NothingToInsert]);
    assert!(plan.items[0].is_blocked() && plan.items[0].set.is_empty());
    assert_eq!(kinds(&plan, "b.md"), [ProblemKind::NameChanged]);
    assert_eq!(kinds(&plan, "p.png"), [ProblemKind::NotApplicable]);
    assert_eq!(moves(&plan), [("b.md", "Projects/A-B- c/b.md"), ("p.png", "Pictures/p.png")]);
    apply(&vault, &plan);
}

#[test]
fn a_rule_that_fails_for_a_note_leaves_the_others() {
    let vault = vault(&[("a.md", "---\nn: text\n---\n"), ("b.md", "---\nn: 3\n---\n")]);
    let plan = ruled(
        &vault,
        r#"
rules:
  - name: Counts
    when: n.toFixed(1) == "3.0"
    do: [move: Three]
  - name: Others
    do: [move: Others]
"#,
    );
    assert_eq!(moves(&plan), [("a.md", "Others/a.md"), ("b.md", "Three/b.md")]);
    let [fault] = &plan.faults[..] else { panic!("{:#?}", plan.faults) };
    assert_eq!((&*fault.rule, fault.files, &*fault.path), ("Counts", 1, "a.md"));
}

#[test]
fn rules_that_move_each_others_results_are_unsettled() {
    let vault = vault(&[("Inbox/a.md", ""), ("b.md", "text"), ("x.md", "")]);
    let plan = ruled(
        &vault,
        r#"
rules:
  - name: A
    in: Inbox
    do: [move: Work]
  - name: B
    in: Work
    do: [move: Inbox]
  - name: Names
    when: file.name.startsWith("x")
    do: [rename: 'x{{title}}']
"#,
    );
    let message = |path: &str| {
        let item = plan.items.iter().find(|item| item.path == path).expect(path);
        assert_eq!(item.problems[0].kind, ProblemKind::Unsettled);
        assert!(!item.is_blocked());
        item.problems[0].message.clone()
    };
    assert_eq!(
        message("Inbox/a.md"),
        "the rules would change their own result again: A: Inbox → Work, B: Work → Inbox"
    );
    assert!(
        message("x.md").contains("Names: x.md → xx.md, Names: xx.md → xxx.md"),
        "{}",
        message("x.md")
    );
}

#[test]
fn a_rule_that_numbers_names_is_settled() {
    let vault = vault(&[("a/n.md", "1"), ("b/n.md", "2"), ("c/n.md", "3"), ("All/n.md", "4")]);
    let plan = settled(&vault, "rules: [{name: All, do: [move: All]}]");
    assert_eq!(
        moves(&plan),
        [("a/n.md", "All/n_1.md"), ("b/n.md", "All/n_2.md"), ("c/n.md", "All/n_3.md")]
    );
}

#[test]
fn once_is_once_for_each_note() {
    let vault = vault(&[("a.md", "a\n"), ("b.md", "b")]);
    let yaml = "rules: [{name: Greet, once: true, do: [append: Hello]}]";
    let rules = rules(yaml);
    let plan = ruled(&vault, yaml);
    // It would add its text again, but it processes each note once.
    assert!(plan.items.iter().all(|item| item.problems.is_empty()), "{plan:#?}");
    apply(&vault, &plan);
    assert_eq!(
        (vault.content("a.md"), vault.content("b.md")),
        ("a\nHello\n".into(), "b\nHello\n".into())
    );
    let taken = |hash: &str, path: &VaultPath| hash == rules[0].hash && path.as_str() == "a.md";
    let wanted = PlanRequest { rules: &rules, ..PlanRequest::default() };
    let again = over(&vault, &Settings::default(), &taken, |world| planner::plan(world, wanted));
    let again = again.expect("a plan");
    assert_eq!(again.items.iter().map(|item| &*item.path).collect::<Vec<_>>(), ["b.md"]);
}

#[test]
fn properties_are_kept_merged_and_removed() {
    let vault = vault(&[("a.md", "---\na: 1\nl: [x]\nold: 1\n---\n")]);
    settled(
        &vault,
        r#"
rules:
  - name: Keep
    do:
      - {set: {a: 2, b: 3}, if_present: keep}
      - {set: {l: [x, z], m: [q]}, if_present: merge}
      - remove: [old, none]
"#,
    );
    assert_eq!(vault.content("a.md"), "---\na: 1\nl: [x, z]\nb: 3\nm:\n  - q\n---\n");
}

#[test]
fn notes_are_filled_created_archived_and_put_into_the_trash() {
    let vault = vault(&[
        ("Templates/T.md", "---\nkind: daily\n---\n# {{title}} {{date}}\n"),
        ("empty.md", "---\nkind: kept\n---\n"),
        ("full.md", "text"),
        ("Old/x/y.md", ""),
        ("junk.md", "#junk"),
    ]);
    std::fs::write(vault.place.join(".obsidian/templates.json"), r#"{"folder": "Templates"}"#)
        .expect("written");
    let plan = ruled(
        &vault,
        r#"
rules:
  - {name: Templates, in: Templates, do: [{set: {t: 1}}], then: stop}
  - {name: Junk, when: 'file.hasTag("junk")', do: [trash: true]}
  - {name: Archive, in: Old, do: [archive: true]}
  - name: Fill
    do:
      - template: T
      - create: {path: 'Logs/{{title}}', template: T}
"#,
    );
    assert_eq!(kinds(&plan, "full.md"), [ProblemKind::NotApplicable]);
    apply(&vault, &plan);
    assert!(!vault.exists("junk.md") && vault.exists("Archive/Old/x/y.md"));
    assert_eq!(vault.content("empty.md"), "---\nkind: kept\n---\n# empty 2026-11-21\n");
    assert_eq!(vault.content("full.md"), "text");
    assert_eq!(vault.content("Logs/full.md"), "---\nkind: daily\n---\n# full 2026-11-21\n");
}

#[test]
fn rules_leave_conflict_copies_and_other_folders() {
    let vault = vault(&[
        ("In/a.md", ""),
        ("In/a.sync-conflict-20260101-101010-ABCDEFG.md", ""),
        ("Out/b.md", ""),
    ]);
    let rules = rules("rules: [{name: All, do: [move: Done]}]");
    let within = VaultPath::from_disk("In");
    let wanted = PlanRequest { rules: &rules, within, ..PlanRequest::default() };
    let plan = plan_with(&vault, &Settings::default(), wanted).expect("a plan");
    assert_eq!(plan.looked_at, 2);
    let applied: Vec<&str> = plan.applicable().map(|item| &*item.path).collect();
    assert_eq!(applied, ["In/a.md"]);
    assert_eq!(
        kinds(&plan, "In/a.sync-conflict-20260101-101010-ABCDEFG.md"),
        [ProblemKind::ConflictCopy]
    );
}

#[test]
fn a_rule_says_what_happens_where_a_path_is_taken() {
    let vault = vault(&[("a/n.md", "1"), ("All/n.md", "2")]);
    let yaml = |mode: &str| {
        format!(
            "rules: [{{name: R, in: a, on_conflict: {mode}, do: [{{set: {{x: 1}}}}, {{move: All}}]}}]"
        )
    };
    let plan = ruled(&vault, &yaml("skip"));
    assert_eq!(kinds(&plan, "a/n.md"), [ProblemKind::Taken]);
    assert!(
        !plan.items[0].is_blocked() && plan.items[0].to.is_none(),
        "its properties are set all the same"
    );
    let plan = ruled(&vault, &yaml("ask"));
    assert!(plan.items[0].is_blocked() && plan.items[0].to.as_deref() == Some("All/n.md"));
    let rules = rules(&yaml("fail"));
    let wanted = PlanRequest { rules: &rules, ..PlanRequest::default() };
    let failed = plan_with(&vault, &Settings::default(), wanted);
    assert!(matches!(failed, Err(PlanError::Taken { .. })), "{failed:?}");
}

#[test]
fn items_by_hand_come_before_those_of_rules() {
    let vault = vault(&[("a.md", "1"), ("b.md", "2"), ("c.md", "3")]);
    let rules = rules("rules: [{name: R, do: [{move: X}, {rename: n}]}]");
    let wanted = || PlanRequest {
        rules: &rules,
        items: vec![item(&json!({"path": "c.md", "to": "X/n.md"}))],
        ..PlanRequest::default()
    };
    let plan = plan_with(&vault, &Settings::default(), wanted()).expect("a plan");
    assert_eq!(moves(&plan), [("a.md", "X/n_1.md"), ("b.md", "X/n_2.md"), ("c.md", "X/n.md")]);
    let again = plan_with(&vault, &Settings::default(), wanted()).expect("a plan");
    assert_eq!(again.identity(), plan.identity());
}

#[test]
fn a_plan_that_is_edited_keeps_what_rules_said() {
    let vault = vault(&[
        ("a.md", "---\np: 'x:y'\n---\n"),
        ("b.md", ""),
        ("b.sync-conflict-20260101-101010-ABCDEFG.md", "---\np: z\n---\n"),
        ("c.md", "---\np: q\n---\n"),
        ("q/c.md", ""),
    ]);
    let plan = ruled(&vault, "rules: [{name: R, on_conflict: ask, do: [move: '{{p}}']}]");
    let settings = Settings::default();
    let edited = |without: &[u32]| {
        let mut joins = plan.clone();
        joins.items.retain(|item| !without.contains(&item.id));
        let wanted = PlanRequest { joins: Some(joins), ..PlanRequest::default() };
        plan_with(&vault, &settings, wanted).expect("a plan")
    };
    let bare = |plan: Plan| plan.items.into_iter().map(|item| Item { why: Vec::new(), ..item });
    assert!(bare(edited(&[])).eq(bare(plan.clone())), "{:#?}\n{plan:#?}", edited(&[]));
    let less = edited(&[1]);
    assert_eq!(less.items.len(), plan.items.len() - 1);
    assert_eq!(less.applicable().count(), 0, "{less:#?}");
}

#[test]
fn a_rule_takes_notes_by_what_they_mean() {
    let vault = vault(&[
        ("Inbox/Garage.md", "The engine of the car does not start.\n"),
        ("Inbox/Tea.md", "Green tea wants water at eighty degrees.\n"),
    ]);
    let plan = settled(
        &vault,
        r#"
rules:
  - name: File
    in: [Inbox]
    when: file.similarity("a broken vehicle") > 0.3
    do: [append: 'Hot drinks, such as tea.']
    once: true
    then: continue
  - name: Old
    in: [Inbox]
    dialect: classic
    when: vector_similarity("hot drinks") > 0.3
    do: [move: Drinks]
"#,
    );
    // The second rule reads the text of the first.
    let moved = [("Inbox/Garage.md", "Drinks/Garage.md"), ("Inbox/Tea.md", "Drinks/Tea.md")];
    assert_eq!(moves(&plan), moved);
}
