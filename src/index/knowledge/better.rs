//! The model that a user can install, beside the one that the program carries: its vectors are made in the background, newest
//! notes first, and count for the notes that it has read.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::meaning::minilm::{self, State};
use super::meaning::vectors::{Maker as _, MiniLm, Near, Vectors};
use crate::index::changes::Feed;
use crate::index::persistent::Persistent;
use crate::index::synced::RecordTable as _;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::{Cancel, Vault};

/// The name of the folder with models, beside the folders of the vaults.
const FOLDER: &str = "models";

/// What the model has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BetterSummary {
    pub model: &'static str,
    /// Whether the model is installed and sound.
    pub state: State,
    /// Notes and canvases that it has read, and all of them.
    pub read: usize,
    pub all: usize,
    /// Memory of its vectors in bytes.
    pub bytes: usize,
}

pub(super) struct Better {
    vectors: Arc<Persistent<Vectors<MiniLm>>>,
    /// Whether the settings name it.
    is_wanted: AtomicBool,
    /// Where it is installed.
    folder: OnceLock<PathBuf>,
}

/// Where models are installed, by the state folder of a vault.
pub fn models_folder(state: &Path) -> PathBuf {
    state.parent().unwrap_or(state).join(FOLDER)
}

impl Better {
    pub fn new(vault: Vault, feed: &Feed) -> Self {
        let vectors = Arc::new(Persistent::new(vault, feed));
        Self { vectors, is_wanted: AtomicBool::default(), folder: OnceLock::new() }
    }

    pub fn set_folder(&self, state: &Path) {
        let _ = self.folder.set(models_folder(state));
        self.vectors.set_folder(state);
    }

    /// Sets whether it is wanted. If not, nothing of it is stored.
    pub fn want(&self, is_wanted: bool) {
        if self.is_wanted.swap(is_wanted, Ordering::Relaxed) && !is_wanted {
            self.vectors.forget();
        }
    }

    pub fn stop(&self) {
        self.vectors.stop();
    }

    /// Replaces the nearness of the notes that the model has read by its own. Returns also the share of these notes.
    /// With a daemon, vectors that are missing are made in the background.
    pub fn improved(
        &self,
        near: Vec<Near>,
        text: &str,
        is_wanted: impl Fn(&VaultPath, i64) -> bool,
        sees: impl Fn(PathRef<'_>) -> bool,
        is_lasting: bool,
    ) -> (Vec<Near>, f64) {
        if self.state() != Some(State::Ready) {
            return (near, 0.0);
        }
        // A search reads nothing itself: it only sees whether something is to be read.
        let now = Cancel::default().until(Instant::now());
        let is_over = !self.vectors.is_first(Duration::ZERO) && self.vectors.refresh(&now).is_ok();
        if !is_over && is_lasting {
            self.vectors.read_in_background(Some(Duration::ZERO));
        }
        let (read, all) = if is_over { (1, 1) } else { self.counts(sees) };
        let Some(meaning) = MiniLm::of(text).filter(|_| read > 0) else { return (near, 0.0) };
        let table = self.vectors.synced.table();
        let mut improved = table.nearest(&meaning, is_wanted);
        improved.extend(near.into_iter().filter(|it| table.get(&it.path).is_none()));
        (improved, read as f64 / all.max(read) as f64)
    }

    fn state(&self) -> Option<State> {
        let folder = self.folder.get().filter(|_| self.is_wanted.load(Ordering::Relaxed))?;
        Some(minilm::load(folder))
    }

    /// The notes and canvases that it has read, and all of them, of those that a caller sees.
    fn counts(&self, sees: impl Fn(PathRef<'_>) -> bool) -> (usize, usize) {
        let read = self.vectors.synced.table();
        let read = read.iter().filter(|(path, _)| sees(path.borrowed())).count();
        let catalogue = self.vectors.synced.vault.catalogue();
        let all = catalogue.files().filter(|it| Vectors::<MiniLm>::wants(*it) && sees(*it));
        (read, all.count())
    }

    pub fn summary(&self) -> Option<BetterSummary> {
        let state = self.state()?;
        let (read, all) = self.counts(|_| true);
        let bytes = self.vectors.synced.table().memory();
        Some(BetterSummary { model: minilm::MODEL, state, read, all, bytes })
    }
}
