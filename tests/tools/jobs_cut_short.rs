//! Jobs whose undo is interrupted, recovered, and repeated.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::abilities::{Ability, can};
use crate::changes::seen;
use crate::vault::{TestVault, vault};

/// Notes of the vault, `In/0.md` and so on, each with links to the next two.
const NOTES: usize = 7;

fn notes() -> TestVault {
    let files: Vec<(String, String)> = (0..NOTES)
        .map(|at| {
            let (next, other) = ((at + 1) % NOTES, (at + 2) % NOTES);
            let text = format!("note {at}\nsee [[{next}]] and [that]({other}.md)\n");
            (format!("In/{at}.md"), text)
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    vault(&files)
}

fn prepared(mut vault: TestVault, piece: usize) -> TestVault {
    vault.context.settings.organize.atomic_items = piece;
    vault.context.origin.confirmed = true;
    vault
}

/// Interrupts any change of the vault after `after` more changes.
fn end_after(vault: &TestVault, after: usize) {
    let known = AtomicUsize::new(0);
    vault.context.vault.subscribe(Box::new(move |change| {
        if known.fetch_add(1, Ordering::SeqCst) == after {
            panic!("ended at `{}`", change.path);
        }
    }));
}

/// Applies a plan of these items in pieces of `piece`, and interrupts its undo at every point in
/// turn, or every few.
fn undone_at_last(items: &Value, piece: usize, every: usize) {
    for after in (0..).step_by(every) {
        let vault = prepared(notes(), piece);
        let before = seen(&vault);
        let made = vault.ok("plan_changes", json!({ "items": items }));
        let wanted = json!({ "plan": made["plan"], "identity": made["identity"] });
        let job = vault.ok("apply_plan", wanted)["job"].clone();
        end_after(&vault, after);
        if vault.call("rollback_job", &json!({ "job": job })).is_ok() {
            assert!(after > 10, "it ended in the middle: {after}");
            return;
        }
        let (vault, recovered) = vault.recovered();
        let vault = prepared(vault, piece);
        assert!(recovered.left.is_empty(), "{after}: {recovered:?}");
        // Otherwise all of it was done.
        if recovered.rolled_back > 0 {
            let back = vault.ok("rollback_job", json!({ "job": job }));
            let end = (&back["state"], &back["blocked"]);
            assert_eq!(end, (&json!("undone"), &json!([])), "{after}");
        }
        assert_eq!(seen(&vault), before, "{after}");
    }
}

#[test]
fn circles_in_pieces_whose_undo_ends_in_the_middle_are_undone_at_last() {
    if !can(Ability::InKernel) {
        return;
    }
    let pairs = [
        (0, "In/1"),
        (1, "In/0"),
        (2, "In/3"),
        (3, "In/4"),
        (4, "In/2"),
        (5, "In/6"),
        (6, "Out/6"),
    ];
    let item = |(at, to): &(usize, &str)| {
        let (path, to) = (format!("In/{at}.md"), format!("{to}.md"));
        json!({ "path": path, "to": to, "tag": ["done"] })
    };
    let items: Vec<Value> = pairs.iter().map(item).collect();
    undone_at_last(&json!(items), 3, 2);
    undone_at_last(&json!(items), 100, 3);
}

#[test]
fn an_undo_removes_the_folders_that_a_job_in_pieces_created() {
    let items = json!([
        { "path": "In/0.md", "to": "Out/0.md", "tag": ["done"] },
        { "path": "In/1.md", "to": "Out/Deep/1.md", "tag": ["done"] },
        { "path": "In/2.md", "trash": true },
        { "path": "In/3.md", "to": "In/three.md", "tag": ["done"] },
        { "path": "In/4.md", "to": "Out/4.md", "tag": ["done"] },
        { "path": "In/5.md", "to": "Out/5.md", "tag": ["done"] },
    ]);
    undone_at_last(&items, 2, 1);
}
