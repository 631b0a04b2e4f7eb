//! The model that a user can install, beside the one that the program carries: its vectors are made in the background, newest
//! notes first, and count for the notes that it has read.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::meaning::minilm::{self, ModelState};
use super::meaning::vectors::{BetterVectors, Maker as _, Near, Vectors};
use crate::index::changes::Feed;
use crate::index::persistent::Persistent;
use crate::index::synced::{RecordTable as _, Synced};
use crate::note::path::VaultPath;
use crate::vault::Vault;

/// The name of the folder with models, beside the folders of the vaults.
const FOLDER: &str = "models";

/// What the model has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BetterSummary {
    pub model: &'static str,
    /// Whether the model is installed and sound.
    pub state: ModelState,
    /// Notes and canvases that it has read, and all of them.
    pub read: usize,
    pub all: usize,
    /// Memory of its vectors in bytes.
    pub bytes: usize,
}

pub(super) struct Better {
    vectors: Arc<Persistent<BetterVectors>>,
    /// Whether the settings name it.
    is_wanted: AtomicBool,
    /// Where it is installed.
    folder: OnceLock<PathBuf>,
}

impl Better {
    pub fn new(vault: Vault, feed: &Feed) -> Self {
        let vectors = Arc::new(Persistent::new(vault, feed));
        Self { vectors, is_wanted: AtomicBool::default(), folder: OnceLock::new() }
    }

    pub fn set_folder(&self, state: &Path) {
        let _ = self.folder.set(state.parent().unwrap_or(state).join(FOLDER));
        self.vectors.set_folder(state);
    }

    /// Removes what an earlier run saved, if it is not wanted.
    pub fn start(&self) {
        if !self.is_wanted.load(Ordering::Relaxed) {
            self.vectors.forget();
        }
    }

    /// Sets whether it is wanted. If not, nothing of it is stored.
    pub fn want(&self, is_wanted: bool) {
        if self.is_wanted.swap(is_wanted, Ordering::Relaxed) && !is_wanted {
            self.vectors.forget();
            minilm::unload();
        }
    }

    pub fn stop(&self) {
        self.vectors.stop();
    }

    /// Replaces the nearness of the notes that the model has read by its own. Returns also which share of the near notes that
    /// are. With a daemon, vectors that are missing are made in the background.
    pub fn improved(
        &self,
        near: Vec<Near>,
        built_in: &Synced<Vectors>,
        text: &str,
        is_wanted: impl Fn(&VaultPath, i64) -> bool,
        is_lasting: bool,
    ) -> (Vec<Near>, f64) {
        if self.state() != Some(ModelState::Ready) {
            return (near, 0.0);
        }
        self.vectors.load();
        // A search reads no note itself.
        if is_lasting && !self.vectors.synced.is_current() {
            self.vectors.read_in_background(Some(Duration::ZERO));
        }
        if self.vectors.synced.table().count == 0 {
            return (near, 0.0);
        }
        let Some(meaning) = minilm::loaded().and_then(|model| model.meaning(text)) else {
            return (near, 0.0);
        };
        let (built_in, table) = (built_in.table(), self.vectors.synced.table());
        // A note may have changed since it was read.
        let is_read = |it: &Near| {
            let now = built_in.get(&it.path).map(|note| Vectors::stamp(note).0);
            table.get(&it.path).is_some_and(|note| Some(BetterVectors::stamp(note).0) == now)
        };
        let mut improved = table.nearest(&meaning, is_wanted);
        improved.retain(is_read);
        let all = near.len();
        let unread: Vec<Near> = near.into_iter().filter(|it| !is_read(it)).collect();
        let share = if all == 0 { 1.0 } else { (all - unread.len()) as f64 / all as f64 };
        improved.extend(unread);
        (improved, share)
    }

    fn state(&self) -> Option<ModelState> {
        let folder = self.folder.get().filter(|_| self.is_wanted.load(Ordering::Relaxed))?;
        Some(minilm::load(folder))
    }

    pub fn summary(&self) -> Option<BetterSummary> {
        let state = self.state()?;
        let table = self.vectors.synced.table();
        let (read, bytes) = (table.iter().count(), table.memory());
        drop(table);
        let catalogue = self.vectors.synced.vault.catalogue();
        let all = catalogue.files().filter(|it| BetterVectors::wants(*it)).count();
        Some(BetterSummary { model: minilm::MODEL, state, read, all, bytes })
    }
}
