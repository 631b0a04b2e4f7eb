//! The similarity in meaning of notes to a text.

use super::content::Content;
use super::meaning::vectors;
use super::meaning::{self, Vector};
use super::{Knowledge, reading};
use crate::index::changes::Stamp;
use crate::note::path::VaultPath;
use crate::vault::Cancel;

/// A text to compare notes with.
pub struct Likeness {
    knowledge: Knowledge,
    /// `None`: the model knows none of its words.
    to: Option<Vector>,
    /// Whether the vectors of all notes exist. Otherwise notes are read one by one.
    is_ready: bool,
}

impl Knowledge {
    /// Prepares to compare notes with a text; `None` if meaning is switched off.
    pub fn likeness(&self, text: &str, cancel: &Cancel) -> Option<Likeness> {
        if self.is_off() {
            return None;
        }
        // A caller that cancels gets no answer anyway.
        let is_ready = self.is_ready(true, cancel).unwrap_or(false);
        Some(Likeness { knowledge: self.clone(), to: meaning::of(text), is_ready })
    }
}

impl Likeness {
    /// The greatest cosine of a chunk of the note at `path`, from 0 to 1.
    pub fn of(&self, path: &VaultPath) -> f64 {
        let Some(to) = &self.to else { return 0.0 };
        let fresh = &self.knowledge.0.vectors.synced;
        let kept = fresh.table();
        if let Some(own) = kept.of(path).filter(|own| self.is_ready && !own.is_empty()) {
            return nearest_cosine(own, to);
        }
        drop(kept);
        let read = reading::file(&fresh.vault, path, Stamp::default(), |content| {
            vectors::of(path, content)
        });
        read.map_or(0.0, |(_, own)| nearest_cosine(&own, to))
    }
}

/// The same for a note with this text.
pub fn likeness(path: &VaultPath, text: &str, to: &str) -> f64 {
    let content = Content::of(path.borrowed(), text);
    meaning::of(to).map_or(0.0, |to| nearest_cosine(&vectors::of(path, &content), &to))
}

fn nearest_cosine(own: &[Vector], to: &Vector) -> f64 {
    f64::from(own.iter().map(|one| one.cosine(to)).fold(0.0, f32::max).min(1.0))
}
