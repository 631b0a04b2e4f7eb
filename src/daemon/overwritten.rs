//! Checks new notes a second time.
//!
//! A sync program can replace a note that was made on two devices within minutes by the other
//! one's, without a conflict copy: Obsidian Sync does. Then the text that the steward wrote is
//! gone from the vault, and only the journal has it. Five minutes later this is checked, and if it
//! happened, `status` and the log say how to restore the text.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::config::quoting::quoted;
use crate::journal::{Action, ChangeId, Difference, Journal, ListedSet};
use crate::locks::lock;
use crate::note::path::VaultPath;
use crate::vault::{Revision, Vault};

/// The delay of the check after the creation of a note.
const LATER: Duration = Duration::from_secs(300);

/// The most notes that are checked; further ones are ignored.
const MAX_NOTES: usize = 200;

/// The notes to check.
#[derive(Debug, Default)]
pub struct NewNotes(Mutex<Vec<NewNote>>);

#[derive(Debug)]
struct NewNote {
    path: VaultPath,
    revision: Revision,
    change: ChangeId,
    due: Instant,
}

impl NewNotes {
    /// Records a change set that was applied at `now`.
    pub fn on_change_set(&self, set: &ListedSet, now: Instant) {
        let mut waiting = lock(&self.0);
        for change in &set.changes {
            // Our own later changes explain a missing text.
            waiting.retain(|made| {
                made.path != change.path && Some(&made.path) != change.from.as_ref()
            });
            if let (Action::Created, true, Some(revision)) =
                (change.action, change.path.is_note(), change.after)
                && waiting.len() < MAX_NOTES
            {
                let (path, change, due) = (change.path.clone(), change.id, now + LATER);
                waiting.push(NewNote { path, revision, change, due });
            }
        }
    }

    pub fn is_due(&self, now: Instant) -> bool {
        lock(&self.0).iter().any(|made| made.due <= now)
    }

    /// Checks the due notes, and returns a sentence for each whose text is gone.
    pub fn check(&self, vault: &Vault, journal: &Journal, now: Instant) -> Vec<String> {
        let due: Vec<NewNote> = lock(&self.0).extract_if(.., |made| made.due <= now).collect();
        due.iter().filter_map(|made| lost(vault, journal, made)).collect()
    }
}

/// The warning if none of the text is left. A deletion or move is intended.
fn lost(vault: &Vault, journal: &Journal, made: &NewNote) -> Option<String> {
    let now = vault.read(&made.path).ok()?;
    if now.revision == made.revision {
        return None;
    }
    let Ok(Difference::Text(diff)) = journal.history().diff(made.change) else { return None };
    let text = String::from_utf8_lossy(&now.bytes);
    let ours = diff.lines().filter(|line| !line.starts_with("+++"));
    let mut ours = ours.filter_map(|line| line.strip_prefix('+')).map(str::trim);
    let left = ours.any(|line| line.chars().count() > 3 && text.contains(line));
    (!left).then(|| {
        format!(
            "another program replaced `{}` soon after it was made, and nothing of its text is \
             left; `steward log --diff {}` shows it, change {}",
            made.path,
            quoted(made.path.as_str()),
            made.change
        )
    })
}
