//! A note that a sync program replaced soon after it was created.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use vault_steward::daemon::overwritten::NewNotes;

use crate::vault::{TestVault, vault};

fn watched() -> (TestVault, Arc<NewNotes>, Instant) {
    let vault = vault(&[("old.md", "old\n")]);
    let (new_notes, now) = (Arc::new(NewNotes::default()), Instant::now());
    let hears = Arc::clone(&new_notes);
    vault.context.journal.subscribe(Box::new(move |set| hears.on_change_set(set, now)));
    for path in ["Daily/2026-11-21.md", "kept.md", "moved.md", "deleted.md"] {
        vault.ok("write_file", json!({ "path": path, "content": "# Today\nbuy oat milk\n" }));
    }
    (vault, new_notes, now)
}

#[test]
fn an_overwritten_note_is_reported_once_and_can_be_restored() {
    let (vault, new_notes, now) = watched();
    // As Sync does: the other device's note, created at the same time, replaces it.
    vault.put("Daily/2026-11-21.md", "from the telephone\n");
    vault.put("kept.md", "# Today\nbuy oat milk\nand bread\n");
    vault.ok("move", json!({ "source": "moved.md", "destination": "Else.md" }));
    vault.put("moved.md", "another\n");
    vault.ok("delete", json!({ "path": "deleted.md" }));

    let look = |after: u64| {
        let then = now + Duration::from_secs(after);
        new_notes.check(&vault.context.vault, &vault.context.journal, then)
    };
    assert!(!new_notes.is_due(now + Duration::from_secs(200)));
    assert_eq!(look(200), Vec::<String>::new(), "too early to tell");
    let shown = look(301);
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(
        shown[0].contains("Daily/2026-11-21.md") && shown[0].contains("change 1.1"),
        "{shown:?}"
    );
    assert_eq!(look(10_000), Vec::<String>::new());

    let shown = vault.text("list_changes", json!({ "path": "Daily/2026-11-21.md", "diff": true }));
    assert!(shown.contains("+buy oat milk"), "{shown}");
}
