//! A note that a sync program replaced soon after it was made.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use vault_steward::daemon::fresh::Fresh;

use crate::vault::{TestVault, vault};

fn watched() -> (TestVault, Arc<Fresh>, Instant) {
    let vault = vault(&[("old.md", "old\n")]);
    let (fresh, now) = (Arc::new(Fresh::default()), Instant::now());
    let hears = Arc::clone(&fresh);
    vault.context.journal.subscribe(Box::new(move |set| hears.hear(set, now)));
    for path in ["Daily/2026-11-21.md", "kept.md", "moved.md", "deleted.md"] {
        vault.ok("write_file", json!({ "path": path, "content": "# Today\nbuy oat milk\n" }));
    }
    (vault, fresh, now)
}

#[test]
fn a_note_whose_text_is_gone_is_told_once_and_can_be_had_back() {
    let (vault, fresh, now) = watched();
    // What Sync does: the other device's note, made at the same time, is there instead.
    vault.put("Daily/2026-11-21.md", "from the telephone\n");
    vault.put("kept.md", "# Today\nbuy oat milk\nand bread\n");
    vault.ok("move", json!({ "source": "moved.md", "destination": "Else.md" }));
    vault.put("moved.md", "another\n");
    vault.ok("delete", json!({ "path": "deleted.md" }));

    let look = |after: u64| {
        let then = now + Duration::from_secs(after);
        fresh.look(&vault.context.vault, &vault.context.journal, then)
    };
    assert!(!fresh.is_due(now + Duration::from_secs(200)));
    assert_eq!(look(200), Vec::<String>::new(), "too early to tell");
    let told = look(301);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("Daily/2026-11-21.md") && told[0].contains("change 1.1"), "{told:?}");
    assert_eq!(look(10_000), Vec::<String>::new());

    let shown = vault.text("list_changes", json!({ "path": "Daily/2026-11-21.md", "diff": true }));
    assert!(shown.contains("+buy oat milk"), "{shown}");
}
