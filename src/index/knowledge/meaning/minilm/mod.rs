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
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::Vector;
use crate::index::sealed;
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
pub enum State {
    Ready,
    /// It is not installed.
    Missing,
    /// Its file is damaged.
    Damaged,
}

/// The model of this machine, one for all vaults of the process since it takes 60 MB: the file and its time, and what was
/// read from it.
static LOADED: Mutex<Option<(PathBuf, SystemTime, Option<Arc<Encoder>>)>> = Mutex::new(None);

/// Loads the model from this folder, unless that was done since its file changed.
pub fn load(folder: &Path) -> State {
    let path = folder.join(FILE);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let Ok(time) = sealed::modified(&path) else {
        *loaded = None;
        return State::Missing;
    };
    let is_known = loaded.as_ref().is_some_and(|known| (&known.0, known.1) == (&path, time));
    if !is_known {
        let read = sealed::read(&path).ok();
        let read = read.as_deref().and_then(|file| file::read(sealed::content(file, HEADER)?));
        *loaded = Some((path, time, read.map(Arc::new)));
    }
    match loaded.as_ref().is_some_and(|known| known.2.is_some()) {
        true => State::Ready,
        false => State::Damaged,
    }
}

/// The meaning of a text; `None` if it has no word, or the model is not loaded.
pub(super) fn of(text: &str) -> Option<Vector> {
    let encoder = LOADED.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.2.clone()?;
    Vector::of(&encoder.embed(text)?)
}
