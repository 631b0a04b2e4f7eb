//! Finding the notes that answer a question in words, the best first.
//!
//! Built at the first question by reading every note, beside what is asked: until that is over a question is
//! answered from what was read, and says how much was not. From then on the change feed says which notes to read
//! again. Kept is, for each word, in which chunk of which note it stands (`table`); what a question finds is
//! computed from that for its asker (`rank`), so that hidden notes change nothing of it: neither how rare a word is
//! nor which words are like it.
//!
//! In reading order: [`words`], `dictionary` (which words are like a word), `table`, `saved`, `rank`, this page.

mod dictionary;
mod rank;
mod saved;
mod table;
#[cfg(test)]
mod tests;
pub mod words;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::changes::Feed;
use super::fresh::{Keeper as _, Withdrawn};
use super::lasting::Lasting;
use crate::note::path::VaultPath;
use crate::note::search_query::{Filter, SearchedFile};
use crate::note::text::Text;
use crate::vault::{Cancel, Vault, View};
use rank::{Ranking, Scored, WEIGHTS};
use table::{Note, Table};

/// How long a question waits for the first reading of all notes before it is answered from what was read.
const PATIENCE: Duration = Duration::from_secs(2);

/// The best notes whose order the links to them change.
const LINKS_COUNT: usize = 200;

/// How much they do.
const OF_LINKS: f64 = 0.02;

/// Chunks of a note that are named.
const CHUNKS: usize = 3;

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Words, in any spelling ([`words::of`]): the more of them and the rarer, the better.
    pub words: Vec<String>,
    /// What a note must be like, whatever words it has.
    pub filter: Filter,
    /// Whether it must have one of the words, or of those like them.
    pub needs_word: bool,
}

/// Who asks, and for which notes.
pub struct Asking<'a> {
    /// What the asker may see.
    pub view: &'a View,
    pub cancel: &'a Cancel,
    /// Whether a note is asked for, by its path and the time of its last change in nanoseconds since 1970.
    pub wants: &'a dyn Fn(&VaultPath, i64) -> bool,
    /// How many notes link to a note, as far as the asker may see.
    pub links: &'a dyn Fn(&VaultPath) -> usize,
    /// Notes passed over, and those given after them.
    pub page: std::ops::Range<usize>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The page that was asked for, the best first.
    pub notes: Vec<FoundNote>,
    /// How many notes there are.
    pub total: usize,
    /// Notes that were not read yet.
    pub unread: usize,
    /// Words left out since there were too many.
    pub words_left_out: usize,
    /// The words that were looked for, those like them included, in one spelling, and how much each counts.
    pub marks: HashMap<String, f64>,
}

/// A note that answers.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundNote {
    pub path: VaultPath,
    /// From 0 to 1, that of the best note for this question; 0 where no words were asked for.
    pub score: f64,
    /// Whether its name or an alias has one of the words.
    pub is_called: bool,
    /// Whether one of the words stands in its text.
    pub is_in_text: bool,
    /// Its best chunks by their number from 0, the best first; up to three.
    pub chunks: Vec<usize>,
}

/// The words of a vault's notes. A cheap clone over shared state.
#[derive(Clone)]
pub struct Knowledge(Arc<Lasting<Table>>);

impl Knowledge {
    /// The words of `vault`; nothing is read yet.
    pub(super) fn new(vault: Vault, feed: &Feed) -> Self {
        Self(Arc::new(Lasting::new(vault, feed)))
    }

    /// Goes by what an earlier run saved in `state`, the steward's folder for the vault.
    pub fn remember(&self, state: &Path) {
        self.0.remember(state);
    }

    /// The same, and where nothing was saved yet, reads all notes on a thread of its own as soon as somebody
    /// searches, and saves.
    pub fn start(&self, state: &Path) {
        if !self.0.remember(state) {
            self.0.read_beside(None);
        }
    }

    /// Ends what [`Self::start`] began, and saves what has changed.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Finds the notes that answer, brought up to date.
    ///
    /// # Errors
    /// [`Withdrawn`]; what was read by then stays.
    pub fn search(&self, query: &Query, asking: &Asking<'_>) -> Result<Found, Withdrawn> {
        let is_whole = !self.0.is_first(PATIENCE);
        if is_whole {
            self.0.refresh(asking.cancel)?;
        }
        let vault = &self.0.fresh.vault;
        let table = self.0.fresh.kept();
        let mut found = answer(&table, query, asking, |path| {
            !asking.cancel.is_cancelled() && holds(vault, path, &query.filter)
        });
        if asking.cancel.is_cancelled() {
            return Err(Withdrawn);
        }
        if !is_whole {
            let catalogue = vault.catalogue();
            let notes = catalogue.files().filter(|it| Table::wants(*it) && asking.view.shows(*it));
            found.unread = notes.filter(|it| table.get(&it.to_path()).is_none()).count();
        }
        Ok(found)
    }

    /// Bytes of memory held, the allocator's losses not counted.
    pub fn memory(&self) -> usize {
        self.0.fresh.kept().memory()
    }
}

impl std::fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Knowledge").finish_non_exhaustive()
    }
}

/// What a table answers; `holds` looks whether the text of a note is what the filter asks for.
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
    // Never by chance: equal ones by time, then by path.
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

/// Whether a note, as it is now, is what a filter asks for; one that cannot be read is not.
fn holds(vault: &Vault, path: &VaultPath, filter: &Filter) -> bool {
    let Ok(content) = vault.read(path) else { return false };
    let text = Text::decode(&content.bytes, path.name());
    filter.holds(&SearchedFile::new(path, text.as_ref().map_or("", |text| text.body())))
}
