//! One search: which notes can match, in the order of the answer, and verifying them until it is
//! full.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::notes::State;
use super::plan::Plan;
use super::table::{Bits, Table};
use super::{Inner, read};
use crate::index::changes::{self, Stamp};
use crate::index::search::file::{Found, Outcome, Scratch, Search};
use crate::index::search::{
    self, Answer, COUNTED, Limit, Mode, More, PatternError, Query, Results, Settings, candidates,
};
use crate::note::path::VaultPath;
use crate::vault::{BatchStat, Cancel, ObsidianSettings, Vault};

/// The newest files, whose columns are asked about one by one: most answers are full before more of
/// the index is looked at.
const NEWEST: usize = 256;

/// Files verified first, and at the least on each thread: waking one for fewer takes longer than they do.
const FEW: usize = 16;

/// Files verified between two looks at the answer, at most.
const MAX_BATCH: usize = 4096;

/// Numbers from here on are files that the index does not keep.
const OTHER: u32 = 1 << 31;

/// [`super::Text::search`].
pub(super) fn search(
    inner: &Inner,
    vault: &Vault,
    query: &Query,
    settings: &Settings,
    cancel: &Cancel,
) -> Result<Results, PatternError> {
    let pattern = inner.patterns.get(&query.pattern, query.ignore_case)?;
    let limit = Limit::new(settings, cancel);
    let search = Search { pattern: &pattern, query, limit: &limit };
    if !inner.comes_ready(|| limit.reached()) {
        return Ok(search::read_all(vault, &search));
    }
    inner.changes.settle(|| known(inner), || limit.reached());
    inner.catch_up();
    Ok(answer(inner, vault, &search))
}

/// The files of a search in the order of its answer: numbers of notes, and from [`OTHER`] on of
/// other files.
struct List {
    order: Arc<Vec<u32>>,
    others: Vec<VaultPath>,
}

/// A file that may have a match.
struct Candidate {
    /// How many files before it, after the candidate before, have none.
    before: usize,
    path: VaultPath,
    known: Known,
}

enum Known {
    /// Nothing: its file is searched.
    Nothing,
    /// Its text, if the file is still in this state.
    Text(Arc<[u8]>, Stamp),
    /// That it is no text, if the file is still in this state.
    Binary(Stamp),
}

/// Counts a search for as long as it holds numbers.
struct Underway<'a>(&'a AtomicUsize);

impl<'a> Underway<'a> {
    fn new(searches: &'a AtomicUsize) -> Self {
        searches.fetch_add(1, Ordering::Relaxed);
        Self(searches)
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The notes it has, as they were read.
fn known(inner: &Inner) -> Vec<(VaultPath, Stamp)> {
    inner.catch_up();
    read(&inner.table).notes().map(|(_, note)| (note.path.to_path(), note.stamp)).collect()
}

fn answer(inner: &Inner, vault: &Vault, search: &Search<'_>) -> Results {
    let plan = search.pattern.plan();
    let obsidian = vault.obsidian();
    let (_underway, list, mut walk) = {
        let table = read(&inner.table);
        let underway = Underway::new(&inner.searches);
        let list = list(vault, &obsidian, search.query, &table);
        let walk = Walk::new(plan, &list, &table);
        (underway, list, walk)
    };
    let mut answer = Answer::new(search.query, list.order.len());
    let verify = Verify { inner, vault, search };
    let mut tools = verify.tools();
    // Without excerpts an answer is full of files alone: that many have to be looked into anyway.
    let mut batch = match search.query.mode {
        Mode::Content => FEW,
        Mode::FilesWithMatches | Mode::Count => search.query.max_files.clamp(FEW, MAX_BATCH),
    };
    // Candidates that the answer had no room for.
    let mut left = Vec::new();
    while !answer.is_full() && !answer.is_late(search.limit) {
        let mut candidates = walk.next(batch, &list, &read(&inner.table));
        if candidates.is_empty() {
            answer.without_match(walk.rest(&list));
            break;
        }
        let before = answer.results.files.len();
        let taken = verify.all(&candidates, &mut answer, &mut tools);
        left = candidates.split_off(taken);
        let found = answer.results.files.len();
        let missing = search.query.max_files.saturating_sub(found);
        batch = next_batch(batch, found - before, missing);
    }
    let mut results = answer.results;
    if results.not_searched > 0 && !results.timed_out {
        let is_few = walk.few_left(&mut left, &list, &read(&inner.table));
        results.more = is_few.then(|| count(inner, vault, search, &left)).flatten();
    }
    results
}

/// The matches in `candidates`; `None` if the time was over before.
fn count(
    inner: &Inner,
    vault: &Vault,
    search: &Search<'_>,
    candidates: &[Candidate],
) -> Option<More> {
    let query = search.query.counting();
    let verify = Verify { inner, vault, search: &Search { query: &query, ..*search } };
    let mut tools = verify.tools();
    More::of(candidates.iter().map(|candidate| verify.one(candidate, &mut tools)))
}

/// How many candidates to look into after a batch in which so many files had a match: about as many as
/// give those that are missing, so that few are looked into in vain; more each time that none had one.
fn next_batch(batch: usize, found: usize, missing: usize) -> usize {
    let more = (batch * 4).min(MAX_BATCH);
    match found {
        0 => more,
        _ => {
            let expected = batch.saturating_mul(missing) / found;
            expected.saturating_add(expected / 4).clamp(FEW, more)
        }
    }
}

/// The files that a query is about.
fn list(vault: &Vault, obsidian: &ObsidianSettings, query: &Query, table: &Table) -> List {
    if query.files.is_some() {
        let mut others = Vec::new();
        let number = |path: VaultPath| {
            table.find(&path).unwrap_or_else(|| {
                others.push(path);
                OTHER | u32::try_from(others.len() - 1).expect("a vault has under 2^31 files")
            })
        };
        let order = Arc::new(candidates(vault, query).into_iter().map(number).collect());
        return List { order, others };
    }
    let others = Vec::new();
    let whole = query.folder.is_root() && vault.view().holds(&query.folder);
    if whole && obsidian.ignore_filters.is_empty() {
        return List { order: table.order(), others };
    }
    let wanted = table
        .notes()
        .filter(|(_, note)| note.path.is_within(&query.folder) && vault.view().shows(note.path));
    let (ignored, mut order): (Vec<_>, Vec<_>) =
        wanted.partition(|(_, note)| obsidian.is_ignored(note.path));
    order.extend(ignored);
    List { order: Arc::new(order.into_iter().map(|(id, _)| id).collect()), others }
}

/// Goes through a list and stops at the files that may match.
struct Walk<'p> {
    plan: &'p Plan,
    next: usize,
    /// Which notes may match; decided for the files before `until`.
    allowed: Bits,
    until: usize,
}

impl<'p> Walk<'p> {
    fn new(plan: &'p Plan, list: &List, table: &Table) -> Self {
        let until = match plan {
            Plan::All => list.order.len(),
            _ => list.order.len().min(NEWEST),
        };
        let allowed = match plan {
            Plan::All => Bits::default(),
            _ => table.allowed(plan, &list.order[..until]),
        };
        Self { plan, next: 0, allowed, until }
    }

    /// Up to `count` files that may match.
    fn next(&mut self, count: usize, list: &List, table: &Table) -> Vec<Candidate> {
        let mut found = Vec::new();
        let mut before = 0;
        while found.len() < count && self.next < list.order.len() {
            if self.next == self.until {
                if !found.is_empty() {
                    // The answer may be full with these.
                    break;
                }
                self.allowed = table.all_allowed(self.plan);
                self.until = list.order.len();
            }
            let id = list.order[self.next];
            if !self.may_match(id) {
                before += 1;
                self.next += 1;
                continue;
            }
            self.next += 1;
            let (path, known) = match (id.checked_sub(OTHER), table.note(id)) {
                (Some(other), _) => (list.others[other as usize].clone(), Known::Nothing),
                (None, Some(note)) => {
                    let known = match (note.state, note.text) {
                        (State::Signed, Some(text)) => Known::Text(Arc::clone(text), note.stamp),
                        (State::Binary, _) => Known::Binary(note.stamp),
                        _ => Known::Nothing,
                    };
                    (note.path.to_path(), known)
                }
                // Gone since the search began.
                (None, None) => (VaultPath::root(), Known::Nothing),
            };
            found.push(Candidate { before, path, known });
            before = 0;
        }
        // Those after the last candidate are the next one's, or the rest.
        self.next -= before;
        found
    }

    /// Adds the files to `left` that may match and were not taken; whether those are all, and few. Where the
    /// newest already show that there are many, the others' columns are not asked.
    fn few_left(&mut self, left: &mut Vec<Candidate>, list: &List, table: &Table) -> bool {
        let newest = &list.order[..self.until];
        let likely = newest.iter().filter(|&&id| self.may_match(id)).count() * list.order.len();
        if self.until < list.order.len() && likely > COUNTED * self.until {
            return false;
        }
        // Twice, since it stops where the newest end.
        for _ in 0..2 {
            left.extend(self.next((COUNTED + 1).saturating_sub(left.len()), list, table));
        }
        left.len() <= COUNTED
    }

    fn may_match(&self, id: u32) -> bool {
        id >= OTHER || *self.plan == Plan::All || self.allowed.has(id)
    }

    /// How many files are left.
    fn rest(&self, list: &List) -> usize {
        list.order.len() - self.next
    }
}

/// Reads the files that may match.
struct Verify<'a> {
    inner: &'a Inner,
    vault: &'a Vault,
    search: &'a Search<'a>,
}

/// The per-thread tools of verifying.
struct Tools<'a> {
    scratch: Scratch,
    stats: BatchStat<'a>,
}

impl<'a> Verify<'a> {
    fn tools(&self) -> Tools<'a> {
        Tools { scratch: self.search.scratch(), stats: self.vault.batch_stat() }
    }

    /// How many of the candidates the answer took before it was full or the time over.
    fn all(
        &self,
        candidates: &[Candidate],
        answer: &mut Answer<'_>,
        tools: &mut Tools<'_>,
    ) -> usize {
        // Searches at the same time share the cores.
        let searches = self.inner.searches.load(Ordering::Relaxed).max(1);
        let threads = (self.inner.cores / searches).min(candidates.len() / FEW);
        if threads < 2 {
            for (at, candidate) in candidates.iter().enumerate() {
                if answer.is_full() {
                    return at;
                }
                answer.without_match(candidate.before);
                if answer.is_late(self.search.limit) {
                    return at;
                }
                answer.take(&candidate.path, self.one(candidate, tools));
            }
            return candidates.len();
        }
        let outcomes = self.together(candidates, threads);
        for (at, (candidate, outcome)) in candidates.iter().zip(outcomes).enumerate() {
            if answer.is_full() {
                return at;
            }
            answer.without_match(candidate.before);
            answer.take(&candidate.path, outcome);
        }
        candidates.len()
    }

    /// What each candidate gives, by so many threads. Each keeps its tools.
    fn together(&self, candidates: &[Candidate], threads: usize) -> Vec<Outcome> {
        let taken = AtomicUsize::new(0);
        let work = || {
            let mut tools = self.tools();
            let mut outcomes = Vec::new();
            while let Some(rest) = candidates.get(taken.fetch_add(FEW, Ordering::Relaxed)..)
                && !rest.is_empty()
            {
                let first = candidates.len() - rest.len();
                for (at, candidate) in (first..).zip(rest.iter().take(FEW)) {
                    outcomes.push((at, self.one(candidate, &mut tools)));
                }
            }
            outcomes
        };
        let threads = (0..threads).into_par_iter().with_max_len(1);
        let mut outcomes: Vec<_> = threads.flat_map_iter(|_| work()).collect();
        outcomes.sort_unstable_by_key(|(at, _)| *at);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn one(&self, candidate: &Candidate, tools: &mut Tools<'_>) -> Outcome {
        let Self { vault, search, .. } = self;
        let path = &candidate.path;
        if path.is_root() {
            return Outcome::Gone;
        }
        if search.limit.reached() {
            return Outcome::Searched(Found { timed_out: true, ..Found::default() });
        }
        let known = match &candidate.known {
            Known::Nothing => None,
            Known::Binary(stamp) => Some((Outcome::Binary, *stamp)),
            Known::Text(text, stamp) => match search.text(text, &mut tools.scratch) {
                // As with a note that no signature allows.
                Outcome::Searched(found) if found.matches == 0 => return Outcome::Searched(found),
                outcome => Some((outcome, *stamp)),
            },
        };
        if let Some((outcome, stamp)) = known {
            let same = tools.stats.stat(path).is_ok_and(|meta| changes::stamp(&meta) == stamp);
            if same {
                return outcome;
            }
            self.inner.vault.recheck(path);
        }
        search.file(vault, path, &mut tools.scratch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_as_large_as_what_is_missing_asks_for() {
        assert_eq!(next_batch(FEW, 8, 2), FEW, "two more of sixteen");
        assert_eq!(next_batch(FEW, 1, 2), 40);
        assert_eq!(next_batch(FEW, 1, usize::MAX), 64, "never more than fourfold");
        assert_eq!(next_batch(4_000, 1, 9), MAX_BATCH);
        let mut batch = FEW;
        for expected in [64, 256, 1024, MAX_BATCH, MAX_BATCH] {
            batch = next_batch(batch, 0, 10);
            assert_eq!(batch, expected);
        }
    }
}
