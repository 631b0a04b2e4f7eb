//! Jobs that are undone in part: every link keeps its target, among files that moved back and files
//! that stayed.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::changes::seen;
use crate::listing::aged;
use crate::vault::{TestVault, vault};

fn apply(vault: &TestVault, items: Value) -> Value {
    let made = vault.ok("plan_changes", json!({ "items": items }));
    vault.ok("apply_plan", json!({ "plan": made["plan"], "identity": made["identity"] }))
}

fn undo(vault: &TestVault, items: &[u32]) -> Value {
    vault.ok("rollback_job", json!({ "job": 1, "items": items }))
}

/// The paths of all notes.
fn notes(vault: &TestVault) -> Vec<String> {
    seen(vault).into_keys().filter(|path| path.ends_with(".md")).collect()
}

/// The targets of the links of a note.
fn targets(vault: &TestVault, path: &str) -> Vec<String> {
    let found = vault.ok("get_links", json!({ "path": path }));
    let links = found["outgoing"].as_array().expect("a list");
    links.iter().map(|link| link["target"].as_str().unwrap_or("nowhere").to_owned()).collect()
}

#[test]
fn a_note_restored_alone_still_links_to_files_that_stay() {
    let vault = vault(&[
        ("In/a.md", "to [b](./b.md)\n"),
        ("In/b.md", "to [a](./a.md)\n"),
        ("a.md", "another\n"),
        ("b.md", "another\n"),
    ]);
    vault.let_time_pass();
    let before = notes(&vault);
    let items = json!([
        { "path": "In/a.md", "to": "Out/a.md" },
        { "path": "In/b.md", "to": "Out/b.md" },
    ]);
    apply(&vault, items);
    assert_eq!(vault.content("Out/a.md"), "to [b](./b.md)\n", "both went together");
    undo(&vault, &[1]);
    assert_eq!(targets(&vault, "In/a.md"), ["Out/b.md"]);
    assert_eq!(targets(&vault, "Out/b.md"), ["In/a.md"]);
    undo(&vault, &[2]);
    assert_eq!(targets(&vault, "In/a.md"), ["In/b.md"]);
    assert_eq!(targets(&vault, "In/b.md"), ["In/a.md"]);
    assert_eq!(notes(&vault), before);
}

#[test]
fn links_in_a_restored_text_lead_to_files_that_stay() {
    let text = "---\nstatus: open\n---\nto [b](./b.md), [c](./c.md) and [[a]]\n";
    let vault =
        vault(&[("In/a.md", text), ("In/b.md", "b\n"), ("In/c.md", "c\n"), ("b.md", "another\n")]);
    vault.let_time_pass();
    let before = seen(&vault);
    let items = json!([
        { "path": "In/a.md", "to": "X/a.md", "set": { "status": "done" } },
        { "path": "In/b.md", "to": "Y/b.md" },
        { "path": "In/c.md", "to": "Z/c.md" },
    ]);
    apply(&vault, items);
    let after = seen(&vault);
    let part = undo(&vault, &[1, 3]);
    let now = vault.content("In/a.md");
    assert!(now.starts_with("---\nstatus: open\n---\nto [b]("), "{now}");
    assert!(now.ends_with(", [c](./c.md) and [[a]]\n"), "{now}");
    assert_eq!(targets(&vault, "In/a.md"), ["Y/b.md", "In/c.md", "In/a.md"]);
    // That undo can be undone, and redone.
    vault.ok("undo", json!({ "change_set": part["change_set"] }));
    assert_eq!(seen(&vault), after);
    undo(&vault, &[1, 3]);
    assert_eq!(vault.content("In/a.md"), now);
    undo(&vault, &[2]);
    assert_eq!(targets(&vault, "In/a.md"), ["In/b.md", "In/c.md", "In/a.md"]);
    assert_eq!(seen(&vault).len(), before.len());
}

#[test]
fn one_change_of_a_job_that_is_undone_by_its_number_is_no_exception() {
    let files = [("In/a.md", "---\ns: 1\n---\n[b](./b.md)\n"), ("In/b.md", "b\n"), ("b.md", "c\n")];
    let vault = vault(&files);
    let items = json!([
        { "path": "In/a.md", "set": { "s": 2 } },
        { "path": "In/b.md", "to": "Out/b.md" },
    ]);
    let done = apply(&vault, items);
    assert_eq!(targets(&vault, "In/a.md"), ["Out/b.md"]);
    let listed = vault.ok("list_changes", json!({ "change_set": done["change_set"] }));
    let changes = listed["change_sets"][0]["changes"].as_array().expect("a list");
    let write = changes.iter().find(|one| one["action"] == "modified").expect("one");
    vault.ok("undo", json!({ "change": write["id"] }));
    assert!(vault.content("In/a.md").starts_with("---\ns: 1\n---\n[b]("));
    assert_eq!(targets(&vault, "In/a.md"), ["Out/b.md"]);
}

#[test]
fn an_old_link_means_again_what_comes_back_from_the_trash() {
    let vault = vault(&[("n.md", "[[b]]\n"), ("b.md", "the first\n"), ("Far/b.md", "another\n")]);
    // Older by more than two seconds, the precision of some disks.
    aged(&vault, "n.md", 3_600);
    vault.let_time_pass();
    let items = json!([
        { "path": "b.md", "trash": true },
        { "path": "Far/b.md", "to": "Farther/b.md" },
    ]);
    apply(&vault, items);
    let trashed = vault.ok("show_plan", json!({ "plan": 1 }));
    let trashed = trashed["items"].as_array().expect("a list");
    let item = trashed.iter().find(|item| item["trash"] == true).expect("one");
    undo(&vault, &[u32::try_from(item["item"].as_u64().expect("a number")).expect("small")]);
    assert_eq!(vault.content("n.md"), "[[b]]\n");
    assert_eq!(targets(&vault, "n.md"), ["b.md"]);
    assert!(vault.exists("Farther/b.md"));
}

/// The job changed a link and more; the first part of its undo changed the link again.
#[test]
fn a_note_whose_link_the_first_part_rewrote_as_well_goes_back() {
    let files =
        [("In/a.md", "---\ns: 1\n---\n[b](./b.md)\n"), ("In/b.md", "b\n"), ("b.md", "another\n")];
    let vault = vault(&files);
    vault.let_time_pass();
    let items = json!([
        { "path": "In/a.md", "to": "Z/Deep/a.md", "set": { "s": 2 }, "append": "more" },
        { "path": "In/b.md", "to": "Out/b.md" },
    ]);
    apply(&vault, items);
    assert_eq!(vault.content("Z/Deep/a.md"), "---\ns: 2\n---\n[b](Out/b.md)\nmore\n");
    undo(&vault, &[2]);
    assert_eq!(vault.content("Z/Deep/a.md"), "---\ns: 2\n---\n[b](In/b.md)\nmore\n");
    let rest = undo(&vault, &[]);
    assert_eq!((&rest["blocked"], &rest["state"]), (&json!([]), &json!("undone")));
    assert_eq!(targets(&vault, "In/a.md"), ["In/b.md"]);
    assert!(vault.content("In/a.md").starts_with("---\ns: 1\n---\n"));
    assert!(!vault.content("In/a.md").contains("more"), "{}", vault.content("In/a.md"));
}

/// The targets of each note's links, each note by its first line.
fn leads(vault: &TestVault) -> BTreeMap<String, Vec<String>> {
    let first = |path: &str| {
        let text = vault.content(path);
        let line = text.lines().find(|line| line.starts_with("note ")).expect("its name");
        line.to_owned()
    };
    let paths = seen(vault).into_keys().filter(|path| path.ends_with(".md"));
    let led = paths.map(|path| {
        let found = vault.ok("get_links", json!({ "path": path }));
        let links = found["outgoing"].as_array().expect("a list");
        let target = |link: &Value| link["target"].as_str().map_or_else(|| "nowhere".into(), first);
        (first(&path), links.iter().map(target).collect())
    });
    led.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_is_undone_every_link_leads_where_it_led(
        links in proptest::collection::vec((0..6_usize, any::<bool>()), 6),
        targets in proptest::collection::vec((0..3_usize, any::<bool>()), 6),
        first in proptest::collection::vec(1..=6_u32, 1..4),
    ) {
        let folders = ["In", "Out", "Out/Deep"];
        let start = |at: usize| format!("{}/n{at}.md", folders[at % 2]);
        let text = |at: usize| {
            let (to, by_path) = links[at];
            let relative = match (at % 2 == to % 2, by_path) {
                (_, false) => format!("[[{}/n{to}]]", folders[to % 2]),
                (true, true) => format!("[l](./n{to}.md)"),
                (false, true) => format!("[l](../{})", start(to)),
            };
            format!("---\nk: 1\n---\nnote {at}\n{relative}\n")
        };
        let files: Vec<(String, String)> = (0..6).map(|at| (start(at), text(at))).collect();
        // Others with the same names capture every link that is ambiguous.
        let others = (0..6).map(|at| (format!("n{at}.md"), format!("note {at}, another\n")));
        let files: Vec<(String, String)> = files.into_iter().chain(others).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        let vault = vault(&files);
        vault.let_time_pass();
        let items: Vec<Value> = targets
            .iter()
            .enumerate()
            .map(|(at, (folder, sets))| {
                let mut item = json!({ "path": start(at), "to": format!("{}/n{at}.md", folders[*folder]) });
                if *sets {
                    item["set"] = json!({ "k": 2 });
                }
                item
            })
            .filter(|item| item["path"] != item["to"] || item["set"].is_object())
            .collect();
        prop_assume!(!items.is_empty());
        let (before, led) = (notes(&vault), leads(&vault));
        apply(&vault, json!(items));
        prop_assert_eq!(&leads(&vault), &led);
        let part: Vec<u32> = first.into_iter().filter(|id| *id as usize <= items.len()).collect();
        prop_assume!(!part.is_empty());
        let done = undo(&vault, &part);
        prop_assert_eq!(&done["blocked"], &json!([]));
        prop_assert_eq!(&leads(&vault), &led, "{:?}", seen(&vault));
        let rest = if done["state"] == "partly_undone" { undo(&vault, &[]) } else { done };
        prop_assert_eq!(&leads(&vault), &led);
        prop_assert_eq!(&rest["blocked"], &json!([]));
        prop_assert_eq!(notes(&vault), before);
    }
}
