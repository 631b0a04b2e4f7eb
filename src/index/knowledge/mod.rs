//! Ranked word search: an inverted index over the chunks of all notes.
//!
//! The first search builds the index in the background by reading every note. Until that ends, searches use the
//! notes read so far and report how many are missing. From then on the change feed names the notes to read again.
//! The index stores for each word the chunks that contain it (`table`). Statistics such as a word's rarity and the
//! similar words are computed per caller (`rank`), so that hidden notes do not affect any answer.
//!
//! In reading order: [`words`], `dictionary` (similar words), `table`, `saved`, `rank`, this file.

mod dictionary;
#[cfg_attr(not(test), expect(dead_code, reason = "searches begin to use it with the next change"))]
mod meaning;
mod rank;
mod saved;
mod table;
#[cfg(test)]
mod tests;
pub mod words;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::changes::Feed;
use super::persistent::Persistent;
use super::synced::{Cancelled, RecordTable as _};
use crate::note::path::VaultPath;
use crate::note::search_query::{Filter, SearchedFile};
use crate::note::text::Text;
use crate::vault::{Cancel, Vault, View};
use rank::{Ranking, Scored, WEIGHTS};
use table::{Note, Table};

/// The longest wait of a search for the first build; then it is answered from the notes read so far.
const PATIENCE: Duration = Duration::from_secs(2);

/// The number of top notes that backlinks can reorder.
const LINKS_COUNT: usize = 200;

/// The weight of backlinks.
const OF_LINKS: f64 = 0.02;

/// Chunks per found note.
const CHUNKS: usize = 3;

/// A search.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Words to rank by, in any spelling ([`words::of`]).
    pub words: Vec<String>,
    /// The condition for a note, independent of the words.
    pub filter: Filter,
    /// Whether a note must have at least one of the words or a similar one.
    pub needs_word: bool,
}

/// The caller and scope of a search.
pub struct Asking<'a> {
    /// The files that the caller may see.
    pub view: &'a View,
    pub cancel: &'a Cancel,
    /// Whether a note is in scope, by its path and modification time in nanoseconds since 1970.
    pub wants: &'a dyn Fn(&VaultPath, i64) -> bool,
    /// The number of visible notes that link to a note.
    pub links: &'a dyn Fn(&VaultPath) -> usize,
    /// The range of results to return.
    pub page: std::ops::Range<usize>,
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The requested page, best first.
    pub notes: Vec<FoundNote>,
    /// The number of matching notes.
    pub total: usize,
    /// Visible notes that are not indexed yet.
    pub unread: usize,
    /// Words that were dropped since the query had too many.
    pub words_left_out: usize,
    /// The normalised words of the search and the similar ones, with their weights.
    pub marks: HashMap<String, f64>,
}

/// A matching note.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundNote {
    pub path: VaultPath,
    /// From 0 to 1, relative to the best note of this search; 0 for a search without words.
    pub score: f64,
    /// Whether its name or an alias contains one of the words.
    pub is_called: bool,
    /// Whether its text contains one of the words.
    pub is_in_text: bool,
    /// The indices of its best chunks, best first; at most three.
    pub chunks: Vec<usize>,
}

/// The word index of a vault. Clones share it.
#[derive(Clone)]
pub struct Knowledge(Arc<Persistent<Table>>);

impl Knowledge {
    /// Creates the index of `vault` without reading anything.
    pub(super) fn new(vault: Vault, feed: &Feed) -> Self {
        Self(Arc::new(Persistent::new(vault, feed)))
    }

    /// Loads the index that an earlier run saved in `state`, the steward's folder for the vault.
    pub fn load_saved(&self, state: &Path) {
        self.0.set_folder(state);
    }

    /// Loads a saved index; without one, builds and saves it on a background thread at the first search.
    pub fn start(&self, state: &Path) {
        if !self.0.set_folder(state) {
            self.0.read_in_background(None);
        }
    }

    /// Stops the background thread of [`Self::start`] and saves changes.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Updates the index and runs a search.
    ///
    /// # Errors
    /// [`Cancelled`]: the caller cancelled. Notes read by then stay in the index.
    pub fn search(&self, query: &Query, asking: &Asking<'_>) -> Result<Found, Cancelled> {
        let is_whole = !self.0.is_first(PATIENCE);
        if is_whole {
            self.0.refresh(asking.cancel)?;
        }
        let vault = &self.0.synced.vault;
        let mut passing = HashSet::new();
        if !query.filter.is_empty() {
            // The files are read without the lock: other searches need not wait for a slow disk.
            let candidates = RefCell::new(Vec::new());
            answer(&self.0.synced.table(), query, asking, |path| {
                candidates.borrow_mut().push(path.clone());
                false
            });
            let is_wanted = |path: &VaultPath| {
                !asking.cancel.is_cancelled() && holds(vault, path, &query.filter)
            };
            passing.extend(candidates.into_inner().into_iter().filter(is_wanted));
            if asking.cancel.is_cancelled() {
                return Err(Cancelled);
            }
        }
        let table = self.0.synced.table();
        let mut found = answer(&table, query, asking, |path| passing.contains(path));
        if !is_whole {
            let catalogue = vault.catalogue();
            let notes = catalogue.files().filter(|it| Table::wants(*it) && asking.view.shows(*it));
            found.unread = notes.filter(|it| table.get(&it.to_path()).is_none()).count();
        }
        Ok(found)
    }

    /// Memory in bytes, without the allocator's overhead.
    pub fn memory(&self) -> usize {
        self.0.synced.table().memory()
    }
}

impl std::fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Knowledge").finish_non_exhaustive()
    }
}

/// Runs a search on a table; `holds` tells whether a note passes the filter.
fn answer(
    table: &Table,
    query: &Query,
    asking: &Asking<'_>,
    holds: impl Fn(&VaultPath) -> bool,
) -> Found {
    let mut ranking = Ranking::new(table, |note| asking.view.shows(&note.path), WEIGHTS);
    let asked: Vec<String> = query.words.iter().flat_map(|text| words::of(text)).collect();
    let (terms, words_left_out) = ranking.terms(&asked);
    let mut scored = ranking.rank(&terms);
    if !query.needs_word {
        let ranked: HashSet<u32> = scored.iter().map(|it| it.note).collect();
        let others = ranking.seen().filter(|(note, _)| !ranked.contains(note));
        scored.extend(others.map(|(note, _)| Scored::without_words(note)));
    }
    let note = |number: u32| table.notes[number as usize].as_ref();
    scored.retain(|it| {
        note(it.note).is_some_and(|note| {
            (asking.wants)(&note.path, note.stamp.1)
                && (query.filter.is_empty() || holds(&note.path))
        })
    });
    let mut scored: Vec<(Scored, &Note)> =
        scored.into_iter().filter_map(|it| Some((it, note(it.note)?))).collect();
    // Deterministic: equal scores are ordered by time, then by path.
    let order = |(a, of): &(Scored, &Note), (b, other): &(Scored, &Note)| {
        b.score.total_cmp(&a.score).then_with(|| {
            (Reverse(of.stamp.1), &of.path).cmp(&(Reverse(other.stamp.1), &other.path))
        })
    };
    scored.sort_unstable_by(order);
    let best = scored.len().min(LINKS_COUNT);
    for (it, note) in &mut scored[..best] {
        it.score *= 1.0 + OF_LINKS * (1.0 + (asking.links)(&note.path) as f64).ln();
    }
    scored[..best].sort_by(order);
    let most = scored.first().map_or(1.0, |(it, _)| it.score).max(f64::MIN_POSITIVE);
    let page = scored.iter().skip(asking.page.start).take(asking.page.len());
    let found = |(it, note): &(Scored, &Note)| FoundNote {
        path: note.path.clone(),
        score: it.score / most,
        is_called: it.is_called,
        is_in_text: it.is_in_text,
        chunks: ranking.best_chunks(note, CHUNKS),
    };
    let notes = page.map(found).collect();
    let mut marks: HashMap<String, f64> = HashMap::new();
    for (word, weight) in terms.iter().flat_map(|term| &term.like) {
        let known = marks.entry(table.dictionary.word(*word).text.to_string()).or_default();
        *known = known.max(*weight);
    }
    Found { notes, total: scored.len(), unread: 0, words_left_out, marks }
}

/// Whether a note matches a filter in its present state. An unreadable note does not.
fn holds(vault: &Vault, path: &VaultPath, filter: &Filter) -> bool {
    let Ok(content) = vault.read(path) else { return false };
    let text = Text::decode(&content.bytes, path.name());
    filter.holds(&SearchedFile::new(path, text.as_ref().map_or("", |text| text.body())))
}
