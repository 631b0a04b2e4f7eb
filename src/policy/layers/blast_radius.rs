//! How much one call may change, and one turn write, before a person is asked.
//!
//! A turn's deletions and moves are counted by the journal, which keeps them; what it writes can be
//! undone, so that is counted here, for as long as the settings stay.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Layer;
use crate::policy::Clock;
use crate::policy::call::{Action, Call, Effect, Reason, Verdict};
use crate::policy::settings::Settings;

/// Turns that are remembered; beyond it the one that wrote longest ago is forgotten.
const MAX_TURNS: usize = 1_024;

pub(super) struct BlastRadius {
    files: usize,
    bytes: u64,
    turn_bytes: u64,
    clock: Clock,
    turns: Mutex<HashMap<String, Written>>,
}

/// What a turn has written so far, and when it last did.
#[derive(Clone, Copy)]
struct Written {
    bytes: u64,
    at: Duration,
}

impl BlastRadius {
    pub(super) fn new(settings: &Settings, clock: Clock) -> Self {
        Self {
            files: settings.bulk_files,
            bytes: settings.bulk_bytes,
            turn_bytes: settings.turn_bytes,
            clock,
            turns: Mutex::default(),
        }
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<String, Written>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Layer for BlastRadius {
    fn name(&self) -> &'static str {
        "blast_radius"
    }

    fn judge(&self, call: &Call, effects: &[Effect]) -> Verdict {
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
        let bytes: u64 = effects.iter().filter(counts).map(|one| one.changed).sum();
        if self.bytes > 0 && bytes > self.bytes {
            return ask(format!("it changes {bytes} bytes at once"));
        }
        let all: u64 = effects.iter().map(|one| one.bytes).sum();
        let before = call.turn.and_then(|turn| Some(self.turns().get(turn)?.bytes));
        let written = before.unwrap_or_default().saturating_add(all);
        if call.turn.is_some() && self.turn_bytes > 0 && all > 0 && written > self.turn_bytes {
            let text = format!("this turn would have written {written} bytes");
            return Verdict::Ask(Reason { layer: "blast_radius", text, lasting: false });
        }
        Verdict::Pass
    }

    fn applied(&self, call: &Call, bytes: u64) {
        let Some(turn) = call.turn.filter(|_| self.turn_bytes > 0 && bytes > 0) else { return };
        let mut turns = self.turns();
        if turns.len() >= MAX_TURNS && !turns.contains_key(turn) {
            let oldest = turns.iter().min_by_key(|(_, written)| written.at);
            if let Some(oldest) = oldest.map(|(turn, _)| turn.clone()) {
                turns.remove(&oldest);
            }
        }
        let now = (self.clock)();
        let written = turns.entry(turn.to_owned()).or_insert(Written { bytes: 0, at: now });
        *written = Written { bytes: written.bytes.saturating_add(bytes), at: now };
    }
}
