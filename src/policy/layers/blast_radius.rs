//! Limits on what changes without approval: by one call, by one turn, and by callers with one kind of
//! token in an hour.
//!
//! The journal counts a turn's deletions and moves. The bytes that a turn writes are counted here, in
//! memory, since writes can be undone; so are changes outside of turns, by token, since a program can
//! claim any name.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use super::Layer;
use crate::locks::lock;
use crate::note::counted::counted;
use crate::policy::Clock;
use crate::policy::bucket::Bucket;
use crate::policy::call::{Action, Call, Effect, Reason, Verdict};
use crate::policy::caller::Scope;
use crate::policy::settings::Settings;

const HOUR: Duration = Duration::from_secs(3_600);

/// Turns that are counted; beyond it the one that wrote longest ago is dropped.
const MAX_TURNS: usize = 1_024;

pub(super) struct BlastRadius {
    files: usize,
    bytes: u64,
    turn_bytes: u64,
    clock: Clock,
    turns: Mutex<HashMap<String, Written>>,
    hour_files: usize,
    /// Moves and deletions that are left for each kind of token.
    hours: Mutex<HashMap<Scope, Bucket>>,
}

/// Bytes that a turn has written, and when it last did.
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
            hour_files: settings.hour_files,
            hours: Mutex::default(),
        }
    }

    /// Calls `with` on the hourly limit of callers of this kind; `None` if they have none.
    fn in_hour<T>(&self, call: &Call, with: impl FnOnce(&mut Bucket, Duration) -> T) -> Option<T> {
        let scope = call.caller.scope;
        // The layer `standing` counts the files of rules.
        let is_free = scope.is_person() || scope == Scope::Rule;
        if self.hour_files == 0 || is_free || call.turn.is_some() {
            return None;
        }
        let now = (self.clock)();
        let mut hours = lock(&self.hours);
        let full = || Bucket::full(self.hour_files as f64, HOUR, now);
        Some(with(hours.entry(scope).or_insert_with(full), now))
    }
}

impl Layer for BlastRadius {
    fn name(&self) -> &'static str {
        "blast_radius"
    }

    fn judge(&self, call: &Call, effects: &[Effect]) -> Verdict {
        let mut reasons = Vec::new();
        let mut ask = |text: String, lasting| {
            reasons.push(Reason { layer: "blast_radius", text, lasting, personal: false });
        };
        let is_folder = |one: &&Effect| one.action == Action::Delete && one.folder;
        for folder in effects.iter().filter(is_folder) {
            let files = counted(folder.files, "file");
            ask(format!("it deletes the folder `{}` with {files}", folder.path), true);
        }
        // Writes together with a move or its undo are updated links, which count as part of it.
        let moves = |one: &Effect| matches!(one.action, Action::Move | Action::Restore);
        let moves = effects.iter().any(moves);
        let counts = |one: &&Effect| !(moves && one.action == Action::Write);
        let files = effects.iter().filter(|one| counts(one) && !is_folder(one));
        let files: usize = files.map(|one| one.files).sum();
        if self.files > 0 && files > self.files && call.caller.scope != Scope::Rule {
            ask(format!("it changes {files} files at once"), true);
        }
        let moved = count_moved(effects);
        let is_over = |bucket: &mut Bucket, now| moved as f64 > bucket.tokens(now);
        if moved > 0 && self.in_hour(call, is_over) == Some(true) {
            let text = format!(
                "callers of the kind `{}` would have moved or deleted more than {} files within an \
                 hour (`[policy] hour_files`)",
                call.caller.scope.word(),
                self.hour_files
            );
            ask(text, false);
        }
        let bytes: u64 = effects.iter().filter(counts).map(|one| one.changed).sum();
        if self.bytes > 0 && bytes > self.bytes {
            ask(format!("it changes {bytes} bytes at once"), true);
        }
        let all: u64 = effects.iter().map(|one| one.bytes).sum();
        let before = call.turn.and_then(|turn| Some(lock(&self.turns).get(turn)?.bytes));
        let written = before.unwrap_or_default().saturating_add(all);
        if call.turn.is_some() && self.turn_bytes > 0 && all > 0 && written > self.turn_bytes {
            ask(format!("this turn would have written {written} bytes"), false);
        }
        if reasons.is_empty() { Verdict::Pass } else { Verdict::Ask(reasons) }
    }

    fn applied(&self, call: &Call, effects: &[Effect]) {
        self.in_hour(call, |bucket, now| {
            bucket.tokens(now);
            bucket.take(count_moved(effects) as f64);
        });
        let bytes = effects.iter().map(|one| one.bytes).sum::<u64>();
        let Some(turn) = call.turn.filter(|_| self.turn_bytes > 0 && bytes > 0) else { return };
        let mut turns = lock(&self.turns);
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

/// Number of files that are moved or deleted, also by an undo.
fn count_moved(effects: &[Effect]) -> usize {
    let moves = |one: &&Effect| matches!(one.shown, Action::Move | Action::Delete);
    effects.iter().filter(moves).map(|one| one.files.max(1)).sum()
}
