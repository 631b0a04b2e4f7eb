//! How much one call may change before a person is asked.
//!
//! A turn's deletions and moves are counted by the journal, which knows the turn; here it is one
//! call's.

use super::Layer;
use crate::policy::call::{Action, Call, Effect, Reason, Verdict};
use crate::policy::settings::Settings;

pub(super) struct BlastRadius {
    files: usize,
    bytes: u64,
}

impl BlastRadius {
    pub(super) fn of(settings: &Settings) -> Self {
        Self { files: settings.bulk_files, bytes: settings.bulk_bytes }
    }
}

impl Layer for BlastRadius {
    fn name(&self) -> &'static str {
        "blast_radius"
    }

    fn judge(&self, _call: &Call, effects: &[Effect]) -> Verdict {
        let ask =
            |text: String| Verdict::Ask(Reason { layer: "blast_radius", text, lasting: true });
        let deleted = effects.iter().find(|one| one.action == Action::Delete && one.folder);
        if let Some(folder) = deleted {
            let files = match folder.files {
                1 => "1 file".to_owned(),
                number => format!("{number} files"),
            };
            return ask(format!("it deletes the folder `{}` with {files}", folder.path));
        }
        // What is written beside a move or its undo are the links that lead to what is moved: part
        // of it, and of no more consequence however many they are.
        let moves = |one: &Effect| matches!(one.action, Action::Move | Action::Restore);
        let moves = effects.iter().any(moves);
        let counts = |one: &&Effect| !(moves && one.action == Action::Write);
        let files: usize = effects.iter().filter(counts).map(|one| one.files).sum();
        if self.files > 0 && files > self.files {
            return ask(format!("it changes {files} files at once"));
        }
        let bytes: u64 = effects.iter().filter(counts).map(|one| one.bytes).sum();
        if self.bytes > 0 && bytes > self.bytes {
            return ask(format!("it writes {bytes} bytes at once"));
        }
        Verdict::Pass
    }
}
