//! The answer to a search: combines words and meaning, sorts, and selects a page.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::meaning::vectors::Near;
use super::rank::{Ranking, Scored, WEIGHTS};
use super::table::{Note, Table};
use super::{FoundNote, Query, SearchResults, SearchScope, words};
use crate::note::path::VaultPath;
use crate::note::search_query::SearchedFile;

/// The number of top notes that backlinks can reorder.
const LINKS_COUNT: usize = 200;

/// The weight of backlinks.
const OF_LINKS: f64 = 0.02;

/// Chunks per found note.
const CHUNKS: usize = 3;

/// The parts of a score besides the words.
pub(super) struct Means<'a> {
    pub near: Vec<Near>,
    /// The weight of meaning in a score, from 0 to 1.
    pub weight: f64,
    /// Whether a note comes last.
    pub is_excluded: &'a dyn Fn(&VaultPath) -> bool,
}

/// Runs a search on a table; `holds` tells whether a note passes the filter.
pub(super) fn answer(
    table: &Table,
    query: &Query,
    scope: &SearchScope<'_>,
    means: &Means<'_>,
    holds: impl Fn(&VaultPath) -> bool,
) -> SearchResults {
    let mut ranking = Ranking::new(table, scope.view, WEIGHTS);
    let asked: Vec<String> = query.words.iter().flat_map(|text| words::of(text)).collect();
    let (terms, words_left_out) = ranking.terms(&asked);
    let mut scored = ranking.rank(&terms);
    // Vectors may belong to a note that is gone.
    let near = means.near.iter().filter_map(|it| Some((table.number(&it.path)?, it)));
    let near: hashbrown::HashMap<u32, &Near> = near.collect();
    if query.needs_word {
        let others = near.keys().filter(|number| !ranking.has_word(**number));
        scored.extend(others.map(|number| Scored::without_words(*number)));
    } else {
        // A filter that also matches an empty text, such as `-word`, is about texts.
        let is_about_names = !query.filter.holds(&SearchedFile::new(&VaultPath::root(), ""));
        let others = ranking.seen().filter(|(number, note)| {
            (note.is_text() || is_about_names) && !ranking.has_word(*number)
        });
        scored.extend(others.map(|(number, _)| Scored::without_words(number)));
    }
    let note = |number: u32| table.notes[number as usize].as_ref();
    let scored = scored.into_iter().filter_map(|it| Some((it, note(it.note)?)));
    let scored = scored.filter(|(_, note)| {
        (scope.wants)(&note.path, note.stamp.1) && (query.filter.is_empty() || holds(&note.path))
    });
    let mut scored: Vec<(bool, Scored, &Note)> =
        scored.map(|(it, note)| ((means.is_excluded)(&note.path), it, note)).collect();
    join(&mut scored, &near, means.weight);
    // Deterministic: equal scores are ordered by time, then by path.
    let order = |(last, a, of): &(bool, Scored, &Note),
                 (later, b, other): &(bool, Scored, &Note)| {
        last.cmp(later).then(b.score.total_cmp(&a.score)).then_with(|| {
            (Reverse(of.stamp.1), &of.path).cmp(&(Reverse(other.stamp.1), &other.path))
        })
    };
    let first = LINKS_COUNT.max(scope.page.end);
    if first < scored.len() {
        scored.select_nth_unstable_by(first, order);
    }
    let first = first.min(scored.len());
    scored[..first].sort_unstable_by(order);
    let best = scored.len().min(LINKS_COUNT);
    raise(&mut scored[..best], scope);
    scored[..best].sort_by(order);
    let most = scored.iter().map(|(_, it, _)| it.score).fold(f64::MIN_POSITIVE, f64::max);
    let page = scored.iter().skip(scope.page.start).take(scope.page.len());
    let found = |(is_excluded, it, note): &(bool, Scored, &Note)| {
        let near = near.get(&it.note).map(|near| near.chunk);
        let mut chunks = ranking.best_chunks(it.note, note, CHUNKS);
        if let Some(near) = near.filter(|near| !chunks.contains(near)) {
            chunks.truncate(CHUNKS - 1);
            chunks.push(near);
        }
        FoundNote {
            path: note.path.clone(),
            score: it.score / most,
            is_called: it.is_called,
            is_in_text: it.is_in_text,
            near,
            is_excluded: *is_excluded,
            chunks,
        }
    };
    let notes = page.map(found).collect();
    let mut marks: HashMap<String, f64> = HashMap::new();
    for (word, weight) in terms.iter().flat_map(|term| &term.like) {
        let known = marks.entry(table.dictionary.text(*word).to_owned()).or_default();
        *known = known.max(*weight);
    }
    SearchResults { notes, total: scored.len(), words_left_out, marks, ..SearchResults::default() }
}

/// Adds meaning to the scores of words, each relative to its best.
fn join(
    scored: &mut Vec<(bool, Scored, &Note)>,
    near: &hashbrown::HashMap<u32, &Near>,
    weight: f64,
) {
    if weight == 0.0 {
        return;
    }
    let best = scored.iter().map(|(_, it, _)| it.score).fold(f64::MIN_POSITIVE, f64::max);
    for (_, it, _) in scored.iter_mut() {
        let share = near.get(&it.note).map_or(0.0, |near| near.share);
        it.score = (1.0 - weight) * it.score / best + weight * share;
    }
    // Without words only similar notes count.
    scored.retain(|(_, it, _)| it.score > 0.0);
}

/// Adds backlinks to the scores of the best notes, which are sorted. After the page they are
/// counted only for notes that could move up to it.
fn raise(best: &mut [(bool, Scored, &Note)], scope: &SearchScope<'_>) {
    let with = |score: f64, links: usize| score * (1.0 + OF_LINKS * (1.0 + links as f64).ln());
    let (shown, others) = best.split_at_mut(scope.page.end.min(best.len()));
    for (_, it, note) in &mut *shown {
        it.score = with(it.score, (scope.links)(&note.path));
    }
    let least = shown.iter().map(|(_, it, _)| it.score).fold(f64::INFINITY, f64::min);
    for (_, it, note) in others {
        if with(it.score, (scope.links_at_most)(&note.path)) >= least {
            it.score = with(it.score, (scope.links)(&note.path));
        }
    }
}
