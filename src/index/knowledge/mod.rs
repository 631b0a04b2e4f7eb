//! Ranked search: an inverted index over the chunks of all notes, and a vector of the meaning of each chunk. Canvases, PDFs
//! and the names of other attachments are in it like notes (`content`).
//!
//! The first search builds the index in the background by reading every note. Until that ends, searches use the
//! notes read so far and report how many are missing. From then on the change feed names the notes to read again.
//! The index stores for each word the chunks that contain it (`table`). Statistics such as a word's rarity and the
//! similar words are computed per caller (`rank`), so that hidden notes do not affect any answer.
//!
//! Vectors are computed after the words, on another thread, and searches do without them until all
//! exist (`meaning/vectors`). `answer` combines both.
//!
//! The text of a PDF comes later than its name, from another thread (`pdfs`, `filling`), if the
//! settings allow it.
//!
//! In reading order: [`words`](mod@words), `content`, `postings`, `dictionary` (similar words), `table`, `saved`, `rank`, `meaning`, `answer`, this
//! file, `installed_model` (the model that can be installed), `power`, `pdfs`, `filling`, `related`, `likeness`.

mod answer;
pub mod content;
mod dictionary;
mod filling;
mod installed_model;
mod likeness;
mod meaning;
mod pdfs;
mod postings;
mod power;
mod rank;
mod reading;
mod related;
mod saved;
mod table;
#[cfg(test)]
mod tests;
pub mod words;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::changes::Feed;
use super::persistent::{CHECK_EVERY, Persistent};
use super::synced::{Cancelled, RecordTable as _};
use crate::note::path::VaultPath;
use crate::note::search_query::Filter;
use crate::vault::{Cancel, Vault, View};
use answer::{Means, answer};
pub use installed_model::BetterSummary;
use installed_model::InstalledModel;
pub use likeness::{Likeness, likeness};
pub use meaning::minilm;
use meaning::vectors::{Near, Vectors};
use pdfs::Pdfs;
pub use related::{Related, RelatedNote};
use table::Table;

/// The longest wait of a search for the first build; then it is answered from the notes read so far.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest wait for vectors after the first search. Later searches do not wait while vectors
/// are being computed.
const PATIENCE_FOR_MEANING: Duration = Duration::from_secs(1);

/// The longest time that a search spends on vectors of changed notes; without a daemon, of all
/// notes.
const MAKING: Duration = Duration::from_millis(300);
const MAKING_ALONE: Duration = Duration::from_secs(5);

/// The weight of meaning in a score; words have the rest.
const OF_MEANING: f64 = 0.3;

/// The same for the model that can be installed, once it has read all notes.
const OF_INSTALLED: f64 = 0.6;

/// The settings of knowledge; a section of the configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The model for search by meaning.
    pub meaning: Model,
    /// Whether to search the text of PDFs.
    pub pdf: bool,
}

/// A model of meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// The built-in model.
    #[default]
    BuiltIn,
    /// The model that `steward models add minilm` installs; the built-in one until all notes are
    /// read.
    Minilm,
    /// No model: search by words only.
    Off,
}

/// The role of meaning in a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Meaning {
    /// In addition to words.
    #[default]
    Auto,
    /// Not at all.
    Off,
    /// Alone.
    Only,
}

/// Whether meaning counted in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeaningUse {
    Used,
    /// It is switched off, or the search does not rank.
    #[default]
    Off,
    /// The vectors are still being computed.
    NotReady,
    /// The model knows none of the words.
    NoWords,
}

#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Words to rank by, in any spelling ([`words::of`]).
    pub words: Vec<String>,
    /// The condition for a note, independent of the words.
    pub filter: Filter,
    /// Whether a note must have at least one of the words or a similar one, or be near in meaning.
    pub needs_word: bool,
    /// Only for searches that need a word.
    pub meaning: Meaning,
}

pub struct SearchScope<'a> {
    /// The files that the caller may see.
    pub view: &'a View,
    pub cancel: &'a Cancel,
    /// Whether a note is in scope, by its path and modification time in nanoseconds since 1970.
    pub wants: &'a (dyn Fn(&VaultPath, i64) -> bool + Sync),
    /// The number of visible notes that link to a note.
    pub links: &'a dyn Fn(&VaultPath) -> usize,
    /// A quickly computed upper bound of it.
    pub links_at_most: &'a dyn Fn(&VaultPath) -> usize,
    /// The range of results to return.
    pub page: std::ops::Range<usize>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchResults {
    /// The requested page, best first.
    pub notes: Vec<FoundNote>,
    pub total: usize,
    /// Visible notes that are not indexed yet, and PDFs whose text is not.
    pub unread: usize,
    /// Words that were dropped since the query had too many.
    pub words_left_out: usize,
    /// The normalised words of the search and the similar ones, with their weights.
    pub marks: HashMap<String, f64>,
    /// Whether meaning counted.
    pub meaning_use: MeaningUse,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FoundNote {
    pub path: VaultPath,
    /// From 0 to 1, relative to the best note of this search; 0 for a search without words.
    pub score: f64,
    /// Whether its name or an alias contains one of the words.
    pub is_called: bool,
    /// Whether its text contains one of the words.
    pub is_in_text: bool,
    /// The chunk that is nearest in meaning, if it is near.
    pub near: Option<usize>,
    /// Whether it is among Obsidian's excluded files, which come last.
    pub is_excluded: bool,
    /// The indices of its best chunks, best first; at most three.
    pub chunks: Vec<usize>,
}

/// The content of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Notes whose words were read.
    pub notes: usize,
    /// Memory of the words in bytes, without the allocator's overhead.
    pub bytes: usize,
    /// The model of meaning; `None` if it is switched off.
    pub model: Option<&'static str>,
    /// Whether vectors will be computed at the first search.
    pub is_pending: bool,
    pub vectors: usize,
    pub vector_bytes: usize,
    /// The model that can be installed; `None` if the settings do not name it.
    pub better: Option<BetterSummary>,
    /// PDFs whose text is found; `None` if the settings do not allow it.
    pub pdfs: Option<usize>,
    /// Memory of their texts in bytes.
    pub pdf_bytes: usize,
}

/// The index of a vault's words and meaning. Clones share it.
#[derive(Clone)]
pub struct Knowledge(Arc<SharedKnowledge>);

struct SharedKnowledge {
    words: Arc<Persistent<Table>>,
    vectors: Arc<Persistent<Vectors>>,
    installed: InstalledModel,
    pdfs: Arc<Persistent<Pdfs>>,
    /// Whether the text of PDFs is found.
    has_pdfs: AtomicBool,
    /// Whether meaning is off.
    is_off: AtomicBool,
    /// Whether this is a daemon, which computes vectors in the background.
    is_lasting: AtomicBool,
    /// When a search first needed vectors.
    needed: OnceLock<Instant>,
}

impl Knowledge {
    /// Creates the index of `vault` without reading anything.
    pub(super) fn new(vault: Vault, feed: &Feed) -> Self {
        let shared = Arc::new(SharedKnowledge {
            words: Arc::new(Persistent::new(vault.clone(), feed)),
            vectors: Arc::new(Persistent::new(vault.clone(), feed)),
            installed: InstalledModel::new(vault.clone(), feed),
            pdfs: Arc::new(Persistent::new(vault, feed)),
            has_pdfs: AtomicBool::default(),
            is_off: AtomicBool::default(),
            is_lasting: AtomicBool::default(),
            needed: OnceLock::new(),
        });
        // One after the other: words answer more questions.
        let words = Arc::clone(&shared.words);
        shared.vectors.set_before(
            move |stop| {
                while !stop.is_cancelled() && words.is_first(CHECK_EVERY) {}
            },
        );
        let weak = Arc::downgrade(&shared);
        shared.pdfs.set_after(move |stop| {
            if let Some(shared) = weak.upgrade() {
                shared.fill(&|| stop.is_cancelled());
            }
        });
        Self(shared)
    }

    /// Loads the index that an earlier run saved in `state`, the steward's folder for the vault.
    pub fn load_saved(&self, state: &Path) {
        self.0.words.set_folder(state);
        self.0.vectors.set_folder(state);
        self.0.pdfs.set_folder(state);
        self.0.installed.set_folder(state);
    }

    /// Loads the saved index, or builds and saves one, on background threads at the first search.
    pub fn start(&self, state: &Path) {
        self.0.words.start(state, None);
        self.0.vectors.set_folder(state);
        self.0.pdfs.set_folder(state);
        self.0.installed.set_folder(state);
        self.0.is_lasting.store(true, Ordering::Relaxed);
        self.make_or_forget();
        self.0.installed.start();
        self.0.read_or_forget_pdfs();
    }

    /// Applies new settings. If meaning or texts of PDFs are off, none of their data is stored.
    pub fn set_settings(&self, settings: Settings) {
        let is_off = settings.meaning == Model::Off;
        self.0.installed.want(settings.meaning == Model::Minilm);
        if self.0.is_off.swap(is_off, Ordering::Relaxed) != is_off {
            self.make_or_forget();
        }
        if self.0.has_pdfs.swap(settings.pdf, Ordering::Relaxed) != settings.pdf {
            self.0.read_or_forget_pdfs();
        }
    }

    fn make_or_forget(&self) {
        let is_off = self.0.is_off.load(Ordering::Relaxed);
        if is_off {
            self.0.vectors.forget();
        } else if self.0.is_lasting.load(Ordering::Relaxed) {
            self.0.vectors.read_in_background(None);
        }
    }

    /// Stops the background threads of [`Self::start`] and saves changes.
    pub fn stop(&self) {
        self.0.pdfs.stop();
        self.0.words.stop();
        self.0.vectors.stop();
        self.0.installed.stop();
    }

    /// Updates the index and runs a search.
    ///
    /// # Errors
    /// [`Cancelled`]: the caller cancelled. Notes read by then stay in the index.
    pub fn search(
        &self,
        query: &Query,
        scope: &SearchScope<'_>,
    ) -> Result<SearchResults, Cancelled> {
        let words = &self.0.words;
        let is_whole = !self.is_part(scope.cancel)?;
        let are_pdfs_whole = self.0.update_pdfs(scope.cancel)?;
        let (meaning_use, near, of_meaning) = self.near(query, scope, is_whole)?;
        let vault = &words.synced.vault;
        let obsidian = vault.obsidian();
        let weight = match (meaning_use, query.meaning) {
            (MeaningUse::Used, Meaning::Auto) => of_meaning,
            (MeaningUse::Used, Meaning::Only) => 1.0,
            // Use words alone, and say so in the answer.
            _ => 0.0,
        };
        let is_excluded = |path: &VaultPath| obsidian.is_ignored(path);
        let means = Means { near, weight, is_excluded: &is_excluded };
        let mut passing = HashSet::new();
        if !query.filter.is_empty() {
            // The files are read without the lock: other searches need not wait for a slow disk.
            let candidates = RefCell::new(Vec::new());
            answer(&words.synced.table(), query, scope, &means, |path| {
                candidates.borrow_mut().push(path.clone());
                false
            });
            let is_wanted =
                |path: &VaultPath| !scope.cancel.is_cancelled() && self.holds(path, &query.filter);
            passing.extend(candidates.into_inner().into_iter().filter(is_wanted));
            if scope.cancel.is_cancelled() {
                return Err(Cancelled);
            }
        }
        let table = words.synced.table();
        let mut found = answer(&table, query, scope, &means, |path| passing.contains(path));
        found.meaning_use = meaning_use;
        if query.needs_word {
            self.0.installed.prioritise(&found.notes);
        }
        if !is_whole {
            let catalogue = vault.catalogue();
            let notes = catalogue.files().filter(|it| it.is_note() && scope.view.shows(*it));
            found.unread = notes.filter(|it| table.get(&it.to_path()).is_none()).count();
        }
        if !are_pdfs_whole {
            found.unread += self.0.unread_pdfs(&table, scope.view);
        }
        Ok(found)
    }

    /// Updates the words. Returns whether some notes have never been read.
    fn is_part(&self, cancel: &Cancel) -> Result<bool, Cancelled> {
        let is_part = self.0.words.is_first(PATIENCE);
        if !is_part {
            self.0.words.refresh(cancel)?;
        }
        Ok(is_part)
    }

    /// The notes similar in meaning to the words of a search, and the weight of that.
    fn near(
        &self,
        query: &Query,
        scope: &SearchScope<'_>,
        is_whole: bool,
    ) -> Result<(MeaningUse, Vec<Near>, f64), Cancelled> {
        let without = |meaning_use| Ok((meaning_use, Vec::new(), 0.0));
        if !query.needs_word || query.meaning == Meaning::Off || self.is_off() {
            return without(MeaningUse::Off);
        }
        if !self.is_ready(is_whole, scope.cancel)? {
            return without(MeaningUse::NotReady);
        }
        let text = query.words.join(" ");
        let Some(meaning) = meaning::of(&text) else {
            return without(MeaningUse::NoWords);
        };
        let SearchScope { view, wants, .. } = *scope;
        let is_wanted = |path: &VaultPath, changed| view.shows(path) && wants(path, changed);
        let built_in = &self.0.vectors.synced;
        let near = built_in.table().nearest(&meaning, is_wanted);
        let is_lasting = self.0.is_lasting.load(Ordering::Relaxed);
        let (near, share) = self.0.installed.improved(near, built_in, &text, is_wanted, is_lasting);
        Ok((MeaningUse::Used, near, OF_MEANING + share * (OF_INSTALLED - OF_MEANING)))
    }

    fn is_off(&self) -> bool {
        self.0.is_off.load(Ordering::Relaxed)
    }

    /// Updates the vectors. Returns whether they are up to date. A long update, and one that waits for the words, continues
    /// in the background.
    fn is_ready(&self, is_whole: bool, cancel: &Cancel) -> Result<bool, Cancelled> {
        let vectors = &self.0.vectors;
        if !is_whole {
            vectors.is_first(Duration::ZERO);
            return Ok(false);
        }
        let waited = self.0.needed.get_or_init(Instant::now).elapsed();
        if vectors.is_first(PATIENCE_FOR_MEANING.saturating_sub(waited)) {
            return Ok(false);
        }
        let is_lasting = self.0.is_lasting.load(Ordering::Relaxed);
        let most = if is_lasting { MAKING } else { MAKING_ALONE };
        match vectors.refresh(&cancel.until(Instant::now() + most)) {
            Ok(()) => {
                self.0.fill_or_strip(cancel);
                Ok(true)
            }
            Err(Cancelled) if cancel.is_cancelled() => Err(Cancelled),
            Err(Cancelled) => {
                if is_lasting {
                    vectors.read_in_background(Some(Duration::ZERO));
                }
                Ok(false)
            }
        }
    }

    /// The current content of the index.
    pub fn summary(&self) -> Summary {
        let (words, vectors) = (self.0.words.synced.table(), self.0.vectors.synced.table());
        let pdfs = self.0.pdfs.synced.table();
        let model = (!self.is_off()).then_some(meaning::MODEL);
        Summary {
            notes: words.count_of_notes,
            bytes: words.memory(),
            model,
            is_pending: model.is_some() && !self.0.vectors.is_over(),
            vectors: vectors.count,
            vector_bytes: vectors.memory(),
            better: self.0.installed.summary(),
            pdfs: self.0.has_pdfs.load(Ordering::Relaxed).then(|| pdfs.count()),
            pdf_bytes: pdfs.memory(),
        }
    }
}

debug_only!(Knowledge);
