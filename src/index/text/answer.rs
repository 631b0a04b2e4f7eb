//! One search: finds the notes that can match, in the order of the results, and verifies them until there are
//! enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::SharedText;
use super::notes::NoteState;
use super::plan::Plan;
use super::table::{Bits, Table};
use crate::index::changes::{self, Stamp};
use crate::index::search::file::{Outcome, Scratch, Search, SearchedFile};
use crate::index::search::{
    self, Answer, COUNTED, Limit, Mode, More, PatternError, Query, Results, Settings, candidates,
};
use crate::locks::read;
use crate::note::path::VaultPath;
use crate::vault::{BatchStat, Cancel, ObsidianSettings, Vault, nonblocking};

/// Number of newest files whose columns are checked first: most searches have enough results then.
const NEWEST: usize = 256;

/// Files that are verified first, and at least on each thread: for fewer, waking a thread takes longer.
const FEW: usize = 16;

/// Maximum number of files that are verified between two checks of the results.
const MAX_BATCH: usize = 4096;

/// Maximum number of files that are verified without handing the search to another thread.
const MAX_AT_ONCE: usize = 64;

/// Maximum number of notes whose columns are checked without handing the search to another thread: about a millisecond.
const NOTES_AT_ONCE: usize = 20_000;

/// Ids from here on are files that are not in the index.
const OTHER: u32 = 1 << 31;

/// [`super::Text::search`].
pub(super) fn search(
    inner: &SharedText,
    vault: &Vault,
    query: &Query,
    settings: &Settings,
    cancel: &Cancel,
) -> Result<Results, PatternError> {
    if nonblocking::is_active() && !is_answered_alone(inner, query) {
        nonblocking::would_block();
        return Ok(Results::default());
    }
    let pattern = inner.patterns.get(&query.pattern, query.ignore_case)?;
    let limit = Limit::new(settings, cancel);
    let search = Search { pattern: &pattern, query, limit: &limit };
    if !inner.wait_until_ready(|| limit.reached()) {
        return Ok(search::read_all(vault, &search));
    }
    if !nonblocking::is_active() {
        inner.changes.settle(|| indexed_notes(inner), || limit.reached());
        inner.catch_up();
    }
    Ok(answer(inner, vault, &search))
}

/// Whether the search can begin without waiting for the disk or another thread.
fn is_answered_alone(inner: &SharedText, query: &Query) -> bool {
    inner.vault.settle();
    !nonblocking::is_aborted()
        && inner.vault.is_watched()
        && inner.is_idle()
        && inner.patterns.is_quick(&query.pattern, query.ignore_case)
}

/// The files of a search in the order of its results: ids of notes, and from [`OTHER`] on of other files.
struct List {
    order: Arc<Vec<u32>>,
    others: Vec<VaultPath>,
}

/// A file that may match.
struct Candidate {
    /// Number of files without a match before it, after the last candidate.
    before: usize,
    path: VaultPath,
    known: Known,
}

impl Candidate {
    fn is_known(&self) -> bool {
        !matches!(self.known, Known::Nothing)
    }
}

enum Known {
    /// Nothing: the file is searched.
    Nothing,
    /// Its text, if the file still has this stamp.
    Text(Arc<[u8]>, Stamp),
    /// It is not text, if the file still has this stamp.
    Binary(Stamp),
}

/// Counts a search while it holds ids.
struct ActiveSearch<'a>(&'a AtomicUsize);

impl<'a> ActiveSearch<'a> {
    fn new(searches: &'a AtomicUsize) -> Self {
        searches.fetch_add(1, Ordering::Relaxed);
        Self(searches)
    }
}

impl Drop for ActiveSearch<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn indexed_notes(inner: &SharedText) -> Vec<(VaultPath, Stamp)> {
    inner.catch_up();
    read(&inner.table).notes().map(|(_, note)| (note.path.to_path(), note.stamp)).collect()
}

fn answer(inner: &SharedText, vault: &Vault, search: &Search<'_>) -> Results {
    let plan = search.pattern.plan();
    let obsidian = vault.obsidian();
    let (_active, list, mut walk) = {
        let table = read(&inner.table);
        let active = ActiveSearch::new(&inner.searches);
        let list = list(vault, &obsidian, search.query, &table);
        let walk = Walk::new(plan, &list, &table);
        (active, list, walk)
    };
    let mut answer = Answer::new(search.query, list.order.len());
    let verify = Verify { inner, vault, search };
    let mut tools = verify.tools();
    // Without excerpts so many files are needed in any case.
    let mut batch = match search.query.mode {
        Mode::Content => FEW,
        Mode::FilesWithMatches | Mode::Count => search.query.max_files.clamp(FEW, MAX_BATCH),
    };
    // Candidates after the last result.
    let mut left = Vec::new();
    let mut verified = 0;
    while !answer.is_full() && !answer.is_late(search.limit) {
        let mut candidates = walk.next(batch, &list, &read(&inner.table));
        if candidates.is_empty() {
            answer.without_match(walk.rest(&list));
            break;
        }
        verified += candidates.len();
        let is_little = verified <= MAX_AT_ONCE && candidates.iter().all(Candidate::is_known);
        if !is_little && nonblocking::would_block() {
            return answer.results;
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

/// Counts the matches in `candidates`; `None` on a timeout.
fn count(
    inner: &SharedText,
    vault: &Vault,
    search: &Search<'_>,
    candidates: &[Candidate],
) -> Option<More> {
    let query = search.query.counting();
    let verify = Verify { inner, vault, search: &Search { query: &query, ..*search } };
    let mut tools = verify.tools();
    More::of(candidates.iter().map(|candidate| verify.one(candidate, &mut tools)))
}

/// Size of the next batch after one with `found` files that matched: about as many candidates as give the
/// missing results; more each time that none matched.
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

/// The files that a query searches.
fn list(vault: &Vault, obsidian: &ObsidianSettings, query: &Query, table: &Table) -> List {
    let whole = query.folder.is_root() && vault.view().holds(&query.folder);
    let is_order = query.files.is_none() && whole && obsidian.ignore_filters.is_empty();
    if !is_order && nonblocking::would_block() {
        return List { order: Arc::default(), others: Vec::new() };
    }
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
    if is_order {
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

/// Iterates over a list and stops at the files that may match.
struct Walk<'p> {
    plan: &'p Plan,
    next: usize,
    /// Which notes may match; computed for the files before `until`.
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
                    // These may be enough.
                    break;
                }
                if list.order.len() > NOTES_AT_ONCE && nonblocking::would_block() {
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
                        (NoteState::Signed, Some(text)) => {
                            Known::Text(Arc::clone(text), note.stamp)
                        }
                        (NoteState::Binary, _) => Known::Binary(note.stamp),
                        _ => Known::Nothing,
                    };
                    (note.path.to_path(), known)
                }
                // Removed since the search began.
                (None, None) => (VaultPath::root(), Known::Nothing),
            };
            found.push(Candidate { before, path, known });
            before = 0;
        }
        // Files after the last candidate belong to the next candidate, or to the rest.
        self.next -= before;
        found
    }

    /// Adds the remaining files that may match to `left`. Returns whether those are all, and few. If the
    /// newest show that there are many, the columns of the others are not checked.
    fn few_left(&mut self, left: &mut Vec<Candidate>, list: &List, table: &Table) -> bool {
        let newest = &list.order[..self.until];
        let likely = newest.iter().filter(|&&id| self.may_match(id)).count() * list.order.len();
        if self.until < list.order.len() && likely > COUNTED * self.until {
            return false;
        }
        // Twice, since `next` stops after the newest.
        for _ in 0..2 {
            left.extend(self.next((COUNTED + 1).saturating_sub(left.len()), list, table));
        }
        left.len() <= COUNTED
    }

    fn may_match(&self, id: u32) -> bool {
        id >= OTHER || *self.plan == Plan::All || self.allowed.has(id)
    }

    /// Number of files that were not visited.
    fn rest(&self, list: &List) -> usize {
        list.order.len() - self.next
    }
}

/// Verifies the files that may match.
struct Verify<'a> {
    inner: &'a SharedText,
    vault: &'a Vault,
    search: &'a Search<'a>,
}

/// Per-thread state of the verification.
struct Tools<'a> {
    scratch: Scratch,
    stats: BatchStat<'a>,
}

impl<'a> Verify<'a> {
    fn tools(&self) -> Tools<'a> {
        Tools { scratch: self.search.scratch(), stats: self.vault.batch_stat() }
    }

    /// Returns how many candidates were handled before there were enough results or the time was over.
    fn all(
        &self,
        candidates: &[Candidate],
        answer: &mut Answer<'_>,
        tools: &mut Tools<'_>,
    ) -> usize {
        // Concurrent searches share the cores.
        let searches = self.inner.searches.load(Ordering::Relaxed).max(1);
        let threads = (self.inner.cores / searches).min(candidates.len() / FEW);
        if threads < 2 || nonblocking::is_active() {
            for (at, candidate) in candidates.iter().enumerate() {
                if answer.is_full() {
                    return at;
                }
                answer.without_match(candidate.before);
                if answer.is_late(self.search.limit) {
                    return at;
                }
                answer.add(&candidate.path, self.one(candidate, tools));
            }
            return candidates.len();
        }
        let outcomes = self.verify_in_parallel(candidates, threads);
        for (at, (candidate, outcome)) in candidates.iter().zip(outcomes).enumerate() {
            if answer.is_full() {
                return at;
            }
            answer.without_match(candidate.before);
            answer.add(&candidate.path, outcome);
        }
        candidates.len()
    }

    /// Verifies each candidate, on so many threads.
    fn verify_in_parallel(&self, candidates: &[Candidate], threads: usize) -> Vec<Outcome> {
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
            return Outcome::Searched(SearchedFile { timed_out: true, ..SearchedFile::default() });
        }
        let known = match &candidate.known {
            Known::Nothing => None,
            Known::Binary(stamp) => Some((Outcome::Binary, *stamp)),
            Known::Text(text, stamp) => match search.text(text, &mut tools.scratch) {
                // As for a note that the signatures exclude.
                Outcome::Searched(found) if found.matches == 0 => return Outcome::Searched(found),
                outcome => Some((outcome, *stamp)),
            },
        };
        if let Some((outcome, stamp)) = known {
            let same = tools.stats.stat(path).is_ok_and(|meta| changes::stamp(&meta) == stamp);
            if same {
                return outcome;
            }
        }
        if nonblocking::would_block() {
            return Outcome::Gone;
        }
        if candidate.is_known() {
            self.inner.vault.recheck(path);
        }
        search.file(vault, path, &mut tools.scratch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_with_the_missing_results() {
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
