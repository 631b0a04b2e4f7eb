//! The model that a user can install for better meaning: all-MiniLM-L6-v2, which reads sentences where the built-in one reads
//! words. English.
//!
//! In reading order: `encoder`, `file` (the installed file), [`source`] (the original files), this file.

mod encoder;
mod file;
pub mod source;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use crate::index::checksummed_file;
use crate::locks::lock;
use encoder::Encoder;

/// The model's name.
pub const MODEL: &str = "all-MiniLM-L6-v2";

/// Numbers in a vector.
pub(super) const DIMENSIONS: usize = encoder::WIDTH;

/// The installed file.
const FILE: &str = "minilm";

/// The file's first bytes. They change with the format.
const HEADER: &[u8] = b"steward minilm 1\n";

/// Whether the model can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelState {
    Ready,
    /// It is not installed.
    Missing,
    /// Its file is damaged.
    Damaged,
}

/// The model of this machine, one for all vaults of the process since it takes 60 MB.
struct Loaded {
    /// The loaded file, its modification time, and whether it was valid.
    file: Option<(PathBuf, SystemTime, bool)>,
    /// From the last valid file, even after that file is gone: it may be in use.
    encoder: Option<Arc<Encoder>>,
}

static LOADED: Mutex<Loaded> = Mutex::new(Loaded { file: None, encoder: None });

/// The model in memory.
pub(in crate::index::knowledge) struct MiniLm(Arc<Encoder>);

impl MiniLm {
    /// The meaning of a text, of any length; `None` for a text without a known word.
    pub(super) fn embed(&self, text: &str) -> Option<[f32; DIMENSIONS]> {
        self.0.embed(text)
    }
}

/// Loads the model from this folder, unless its file is unchanged since the last load.
pub fn load(folder: &Path) -> ModelState {
    let path = folder.join(FILE);
    let Ok(time) = checksummed_file::modified(&path) else { return ModelState::Missing };
    let mut loaded = all();
    let known = loaded.file.as_ref().filter(|known| (&known.0, known.1) == (&path, time));
    let is_sound = known.map(|known| known.2).unwrap_or_else(|| {
        let read = checksummed_file::read(&path).ok();
        let read =
            read.as_deref().and_then(|file| file::read(checksummed_file::content(file, HEADER)?));
        let is_sound = read.is_some();
        loaded.file = Some((path, time, is_sound));
        loaded.encoder = read.map(Arc::new).or_else(|| loaded.encoder.take());
        is_sound
    });
    if is_sound { ModelState::Ready } else { ModelState::Damaged }
}

/// Frees its memory.
pub fn unload() {
    *all() = Loaded { file: None, encoder: None };
}

/// The model, if it was loaded.
pub(in crate::index::knowledge) fn loaded() -> Option<MiniLm> {
    all().encoder.clone().map(MiniLm)
}

fn all() -> MutexGuard<'static, Loaded> {
    lock(&LOADED)
}
