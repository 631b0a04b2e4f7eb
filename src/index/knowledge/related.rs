//! Related notes: similar in meaning, or with rare words or links in common.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::content::Content;
use super::meaning::vectors::{self, Near};
use super::rank::{Ranking, Term, WEIGHTS};
use super::{Cancelled, Knowledge, MeaningUse, SearchScope, words};
use crate::note::path::VaultPath;

/// The note's own chunks that are compared with others, evenly spread.
const MAX_CHUNKS: usize = 8;

/// The note's rarest words that are looked for.
const MAX_WORDS: usize = 25;

/// Weights of meaning, words and links; each is relative to the note with the highest value.
const WEIGHT: [f64; 3] = [0.5, 0.3, 0.2];

/// The least score of a related note.
const MIN_SCORE: f64 = 0.1;

#[derive(Debug, Clone, PartialEq)]
pub struct RelatedNote {
    pub path: VaultPath,
    /// From 0 to 1.
    pub score: f64,
    /// The chunk that is nearest in meaning, if it is near.
    pub near: Option<usize>,
    /// Whether it has rare words in common.
    pub has_words: bool,
    /// Whether it has links in common.
    pub has_links: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Related {
    /// The requested page, best first.
    pub notes: Vec<RelatedNote>,
    pub total: usize,
    /// Whether meaning counted.
    pub meaning_use: MeaningUse,
    /// Whether some notes have not been read yet.
    pub is_part: bool,
}

impl Knowledge {
    /// The notes in scope that are related to the note at `path` with this text. `links` has for each note how much its links have in common.
    pub fn related(
        &self,
        path: &VaultPath,
        text: &str,
        links: &HashMap<VaultPath, f64>,
        scope: &SearchScope<'_>,
    ) -> Result<Related, Cancelled> {
        let is_part = self.is_part(scope.cancel)?;
        let SearchScope { view, wants, .. } = *scope;
        let wanted = |other: &VaultPath, changed: i64| {
            other != path && other.is_note() && view.shows(other) && wants(other, changed)
        };
        let (meaning_use, near) = self.near_note(path, text, scope, is_part, &wanted)?;
        let mut found: HashMap<VaultPath, RelatedNote> = HashMap::new();
        let mut add = |path: &VaultPath, score: f64, mark: &dyn Fn(&mut RelatedNote)| {
            let new = || RelatedNote {
                path: path.clone(),
                score: 0.0,
                near: None,
                has_words: false,
                has_links: false,
            };
            let note = found.entry(path.clone()).or_insert_with(new);
            note.score += score;
            mark(note);
        };
        for Near { path, chunk, share } in &near {
            add(path, WEIGHT[0] * share, &|note| note.near = Some(*chunk));
        }
        let table = self.0.words.synced.table();
        let mut ranking = Ranking::new(&table, scope.view, WEIGHTS);
        let terms = rarest_terms(&ranking, text);
        let scored = ranking.rank(&terms).into_iter();
        let scored =
            scored.filter_map(|it| Some((it.score, table.notes[it.note as usize].as_ref()?)));
        let scored: Vec<_> = scored.filter(|(_, note)| wanted(&note.path, note.stamp.1)).collect();
        let best = scored.iter().map(|(score, _)| *score).fold(f64::MIN_POSITIVE, f64::max);
        for (score, note) in scored {
            add(&note.path, WEIGHT[1] * score / best, &|note| note.has_words = true);
        }
        let changed =
            |path: &VaultPath| Some(table.notes[table.number(path)? as usize].as_ref()?.stamp.1);
        let links =
            links.iter().filter(|(path, _)| changed(path).is_some_and(|at| wanted(path, at)));
        let best = links.clone().map(|(_, common)| *common).fold(f64::MIN_POSITIVE, f64::max);
        for (path, common) in links {
            add(path, WEIGHT[2] * common / best, &|note| note.has_links = true);
        }
        let obsidian = self.0.words.synced.vault.obsidian();
        let mut notes: Vec<RelatedNote> =
            found.into_values().filter(|note| note.score >= MIN_SCORE).collect();
        notes.sort_by(|a, b| {
            let last = |note: &RelatedNote| obsidian.is_ignored(&note.path);
            let order = last(a).cmp(&last(b)).then(b.score.total_cmp(&a.score));
            order.then_with(|| {
                (Reverse(changed(&a.path)), &a.path).cmp(&(Reverse(changed(&b.path)), &b.path))
            })
        });
        let total = notes.len();
        let notes = notes.into_iter().skip(scope.page.start).take(scope.page.len()).collect();
        Ok(Related { notes, total, meaning_use, is_part })
    }

    fn near_note(
        &self,
        path: &VaultPath,
        text: &str,
        scope: &SearchScope<'_>,
        is_part: bool,
        wanted: &(dyn Fn(&VaultPath, i64) -> bool + Sync),
    ) -> Result<(MeaningUse, Vec<Near>), Cancelled> {
        if self.is_off() {
            return Ok((MeaningUse::Off, Vec::new()));
        }
        if !self.is_ready(!is_part, scope.cancel)? {
            return Ok((MeaningUse::NotReady, Vec::new()));
        }
        let kept = self.0.vectors.synced.table();
        let read;
        let own = match kept.of(path) {
            Some(own) => own,
            None => {
                read = vectors::of(path, &Content::of(path.borrowed(), text));
                &read[..]
            }
        };
        let step = own.len().div_ceil(MAX_CHUNKS).max(1);
        let own: Vec<_> = own.iter().step_by(step).copied().collect();
        Ok((MeaningUse::Used, kept.related(&own, wanted)))
    }
}

/// The words of a text that occur in the fewest other notes.
fn rarest_terms(ranking: &Ranking<'_>, text: &str) -> Vec<Term> {
    let words: HashSet<String> =
        words::of(text).into_iter().filter(|word| !words::is_stop_word(word)).collect();
    let with = words.into_iter().filter_map(|word| Some((ranking.known(&word)?, word)));
    let mut with: Vec<((usize, u32), String)> = with.filter(|((notes, _), _)| *notes > 1).collect();
    with.sort_by(|((a, _), word), ((b, _), other)| (a, word).cmp(&(b, other)));
    let terms = with.into_iter().take(MAX_WORDS);
    terms.map(|((_, number), _)| Term { like: vec![(number, 1.0)] }).collect()
}
