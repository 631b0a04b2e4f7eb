//! The thread of the index: reads new and changed notes, newest first, caches the newest texts, compacts the
//! columns, and saves. Without work it waits without a timeout.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::notes::{Note, NoteState};
use super::reading::{self, Reading};
use super::saved::{self, SavedNote, SavedNotes};
use super::{Gate, SharedText};
use crate::index::changes::{Stamp, identity};
use crate::locks::{lock, read, write};
use crate::note::path::VaultPath;

/// Notes that are read between two locks of the table.
const BATCH: usize = 64;

/// How long changes may stay unsaved.
const SAVE_AFTER: Duration = Duration::from_secs(300);

/// The delay after the start before texts are cached: a search that waited for the index runs first, and its reads fill
/// the system's page cache.
const FILL_AFTER: Duration = Duration::from_millis(100);

type ToRead = (u32, VaultPath, Stamp);

/// Works until there is nothing to do. Returns when there will be more, unless the bell rings
/// earlier.
pub(super) fn work(inner: &SharedText) -> Option<Instant> {
    loop {
        inner.catch_up();
        if stopping(inner) || !(read_some(inner) || tidy(inner) || fill(inner)) {
            break;
        }
    }
    let fill_at = *lock(&inner.refill_at);
    lock(&inner.waiting).iter().map(|(when, _)| *when).chain(fill_at).min()
}

fn stopping(inner: &SharedText) -> bool {
    inner.stop.load(Ordering::Relaxed)
}

/// Reads a batch of notes on each thread. Returns whether there were any.
fn read_some(inner: &SharedText) -> bool {
    let now = Instant::now();
    let due: Vec<u32> = {
        let mut waiting = lock(&inner.waiting);
        let (due, later) = waiting.drain(..).partition(|(when, _)| *when <= now);
        *waiting = later;
        due.into_iter().map(|(_, id): (Instant, u32)| id).collect()
    };
    let batches: Vec<Vec<ToRead>> = {
        let mut table = write(&inner.table);
        due.into_iter().for_each(|id| table.read_later(id));
        // Use more cores while no search runs.
        let threads = match inner.searches.load(Ordering::Relaxed) {
            0 => inner.cores.min(4),
            _ => 1,
        };
        (0..threads).map(|_| table.next_unread(BATCH)).collect()
    };
    if batches.iter().all(Vec::is_empty) {
        return false;
    }
    std::thread::scope(|scope| {
        let (first, others) = batches.split_at(1);
        let others = others.iter().filter(|batch| !batch.is_empty());
        for batch in others {
            scope.spawn(|| read_batch(inner, batch));
        }
        first.iter().for_each(|batch| read_batch(inner, batch));
    });
    inner.changed.store(true, Ordering::Relaxed);
    true
}

fn read_batch(inner: &SharedText, batch: &[ToRead]) {
    let budget = inner.budget.load(Ordering::Relaxed);
    // When the whole vault is read, only the newest texts are cached.
    let mut room = budget.saturating_sub(read(&inner.table).text_bytes());
    let mut contents = Vec::with_capacity(batch.len());
    let mut buffer = Vec::new();
    for (id, path, stamp) in batch {
        if stopping(inner) {
            return;
        }
        let wanted = if batch.len() == BATCH { room } else { usize::MAX };
        match reading::read(&inner.vault, path, *stamp, wanted, &mut buffer) {
            Reading::Content(content) => {
                let size = content.text.as_ref().map_or(0, |text| text.len());
                room = room.saturating_sub(size);
                contents.push((*id, path, content));
            }
            // The change feed reports the change.
            Reading::Changed => {}
            Reading::TooFresh(wait) => {
                lock(&inner.waiting).push((Instant::now() + wait, *id));
            }
        }
    }
    let mut table = write(&inner.table);
    for (id, path, content) in contents {
        table.read(id, path, content);
    }
    // The budget may be exceeded a little, so that not every change evicts texts.
    if table.text_bytes() > budget + budget / 16 {
        table.evict_texts(budget);
    }
}

/// Caches some of the newest texts that are missing. Returns whether there were any.
fn fill(inner: &SharedText) -> bool {
    if !inner.refill.load(Ordering::Relaxed) || !may_fill(inner) {
        return false;
    }
    let budget = inner.budget.load(Ordering::Relaxed);
    let missing = read(&inner.table).missing_texts(budget, BATCH);
    let mut kept = Vec::new();
    for (id, path, stamp) in &missing {
        if let Some(text) = reading::text(&inner.vault, path, *stamp) {
            kept.push((*id, path, *stamp, text));
        }
    }
    let any = !kept.is_empty();
    let mut table = write(&inner.table);
    for (id, path, stamp, text) in kept {
        table.keep_text(id, path, stamp, text);
    }
    table.evict_texts(budget);
    if !any {
        inner.refill.store(false, Ordering::Relaxed);
    }
    any
}

/// Whether texts may be cached already.
fn may_fill(inner: &SharedText) -> bool {
    let mut at = lock(&inner.refill_at);
    let may = at.is_none_or(|at| at <= Instant::now());
    if may {
        *at = None;
    }
    may
}

fn tidy(inner: &SharedText) -> bool {
    // A read lock first: most of the time there is nothing to do.
    read(&inner.table).columns().wasteful().is_some() && write(&inner.table).compact()
}

/// Saves the index if it has changed.
pub(super) fn save(inner: &SharedText) {
    let Some(folder) = inner.folder.get() else { return };
    if !inner.changed.swap(false, Ordering::Relaxed) {
        return;
    }
    let (notes, blocks, kept) = {
        let table = read(&inner.table);
        let known = table.notes().filter(|(_, note)| note.state != NoteState::Unread);
        let mut notes = SavedNotes::with_capacity(table.order().len(), table.path_bytes());
        for (_, note) in known {
            let Note { path, stamp, identity, state, first, count, .. } = note;
            notes.put(path, &SavedNote { stamp, identity, state, first, count });
        }
        (notes, table.columns().blocks(), table.columns().named_slots().to_vec())
    };
    match saved::save(folder, &notes, &blocks, &kept) {
        Ok(slots) => {
            let rows = blocks.into_iter().map(|(rows, _)| rows);
            let written: Vec<_> = rows.zip(slots).collect();
            write(&inner.table).columns_mut().saved(&written);
        }
        // It is rebuilt at the next start.
        Err(error) => tracing::warn!(%error, "the text index could not be saved"),
    }
}

/// Builds the table from the catalogue and from the valid part of the saved index.
pub(super) fn begin(inner: &SharedText) {
    let started = Instant::now();
    // Later changes are collected.
    drop(inner.changes.take());
    let mut table = super::table::Table::default();
    // Loading is limited by the disk, the other by memory. The catalogue is not locked while
    // waiting.
    let (saved, identities) = std::thread::scope(|scope| {
        let load = || inner.folder.get().map(|folder| saved::load(folder)).unwrap_or_default();
        let loading = std::thread::Builder::new().name("text-load".to_owned());
        let loading = loading.spawn_scoped(scope, load);
        let identities = fill_table(inner, &mut table);
        // Without another thread, one after the other.
        let saved = loading.map_or_else(|_| load(), |it| it.join().unwrap_or_default());
        (saved, identities)
    });
    table.set_columns(super::columns::Columns::of(saved.blocks));
    let (all, mut adopted) = (identities.len(), 0);
    // Both are in the same order, newest first, and a changed note has another time: a merge of the two
    // finds all notes that have not changed. Ids are given in this order.
    let mut kept = saved.notes.iter().peekable();
    for (id, identity) in (0_u32..).zip(identities) {
        let Some(Note { path, stamp, .. }) = table.note(id) else { continue };
        let place = |stamp: Stamp| Reverse(stamp.1);
        let here = (place(stamp), path.as_str());
        while kept.next_if(|(path, note)| (place(note.stamp), *path) < here).is_some() {}
        let same = kept.next_if(|(path, note)| (place(note.stamp), *path) == here);
        if let Some((_, note)) = same
            && note.stamp == stamp
            && note.identity == identity
        {
            let is_kept = table.adopt(id, note.state, note.identity, note.first, note.count);
            adopted += usize::from(is_kept);
        }
    }
    table.adopted();
    *write(&inner.table) = table;
    // Save, unless the table equals the saved one.
    let changed = adopted != all || adopted != saved.notes.count;
    inner.changed.store(changed, Ordering::Relaxed);
    inner.refill.store(true, Ordering::Relaxed);
    inner.open_gate(Gate::Ready);
    tracing::debug!(took = ?started.elapsed(), all, adopted, "the text index is ready");
}

/// Adds the catalogue's notes to an empty table. Returns the identity of each.
fn fill_table(inner: &SharedText, table: &mut super::table::Table) -> Vec<u64> {
    let catalogue = inner.vault.catalogue();
    // One pass over the entries, since their paths are elsewhere in memory.
    let notes = catalogue.recent().filter(|entry| inner.changes.wants(entry));
    let (notes, identities): (Vec<_>, Vec<_>) = notes
        .map(|entry| {
            ((entry.path(), (entry.size, entry.modified)), identity(entry.id, entry.change_mark))
        })
        .unzip();
    table.fill(notes.into_iter());
    identities
}

/// The thread's main function.
pub(super) fn run(inner: &Arc<SharedText>) {
    // Searches do not wait for a thread that panicked.
    let _open = Opened(inner);
    *lock(&inner.refill_at) = Some(Instant::now() + FILL_AFTER);
    begin(inner);
    let mut saved = Instant::now();
    let mut first = true;
    loop {
        let next = work(inner);
        if stopping(inner) {
            break;
        }
        let unsaved = inner.changed.load(Ordering::Relaxed);
        let save_at = unsaved.then(|| if first { Instant::now() } else { saved + SAVE_AFTER });
        if save_at.is_some_and(|at| at <= Instant::now()) {
            save(inner);
            (saved, first) = (Instant::now(), false);
            continue;
        }
        inner.bell.wait(next.into_iter().chain(save_at).min());
    }
    save(inner);
}

/// Opens the gate when the thread ends early.
struct Opened<'a>(&'a SharedText);

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        if !self.0.is_ready() {
            self.0.open_gate(Gate::Closed);
        }
    }
}
