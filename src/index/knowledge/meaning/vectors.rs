//! The vectors of the chunks of all notes, and the notes that are nearest to a meaning.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::marker::PhantomData;

use indexmap::IndexMap;
use rayon::prelude::*;

use super::minilm::MiniLm;
use super::{DIMENSIONS, MODEL_SUM, Vector, minilm, passages};
use crate::index::changes::Stamp;
use crate::index::checksummed_file::{Fields, put, put_text};
use crate::index::knowledge::content::{Content, Kind};
use crate::index::knowledge::reading::{self, Source};
use crate::index::persistent::{SameAs, SavedTable};
use crate::index::synced::{Cancelled, RecordTable};
use crate::note::path::{PathRef, VaultPath};
use crate::vault::{Cancel, Vault};

/// The most vectors of a vault: 156 MB, or 233 MB for the installable model. Further notes are
/// found only by words.
const MAX_VECTORS: usize = 600_000;

/// The number of nearest chunks that make a note count as near.
const NEAREST: usize = 400;

/// The cosine below which a chunk has another meaning.
const MIN_COSINE: f32 = 0.2;

/// The fewest notes for which a second thread is worth its start.
const BATCH: usize = 1_024;

/// A model with vectors of `D` numbers.
pub(in crate::index::knowledge) trait Maker<const D: usize>:
    Sized + Send + Sync + 'static
{
    /// The folder of saved vectors.
    const NAME: &'static str;
    /// The first bytes of saved vectors. Change them also when the computation of chunks or
    /// passages changes.
    const HEADER: &'static [u8];
    /// The SHA-256 of the model.
    const SUM: &'static str;
    /// Whether it takes much longer than reading.
    const IS_SLOWEST: bool = false;

    /// The model; `None` if it cannot be used now.
    fn ready() -> Option<Self>;

    /// The meaning of a text; `None` if the model knows none of its words.
    fn meaning(&self, text: &str) -> Option<Vector<D>>;
}

/// The built-in model.
pub(in crate::index::knowledge) struct BuiltIn;

impl Maker<DIMENSIONS> for BuiltIn {
    const NAME: &'static str = "meaning";
    const HEADER: &'static [u8] =
        concat!("steward meaning 5 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();
    const SUM: &'static str = MODEL_SUM;

    fn ready() -> Option<Self> {
        Some(Self)
    }

    fn meaning(&self, text: &str) -> Option<Vector> {
        super::of(text)
    }
}

impl Maker<{ minilm::DIMENSIONS }> for MiniLm {
    const NAME: &'static str = "minilm";
    const HEADER: &'static [u8] =
        concat!("steward minilm 3 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();
    const SUM: &'static str = minilm::source::ORIGINALS[0].sum;
    const IS_SLOWEST: bool = true;

    fn ready() -> Option<Self> {
        minilm::loaded()
    }

    fn meaning(&self, text: &str) -> Option<Vector<{ minilm::DIMENSIONS }>> {
        Vector::of(&self.embed(text)?)
    }
}

/// The vectors of a note.
pub(in crate::index::knowledge) struct Note<const D: usize> {
    source: Source,
    /// By chunk; empty beyond [`MAX_VECTORS`].
    chunks: Box<[Vector<D>]>,
}

/// The vectors of the built-in model.
pub(in crate::index::knowledge) type Vectors = VectorsOf<BuiltIn, DIMENSIONS>;

/// The vectors of the model that can be installed.
pub(in crate::index::knowledge) type InstalledVectors = VectorsOf<MiniLm, { minilm::DIMENSIONS }>;

/// All notes.
pub(in crate::index::knowledge) struct VectorsOf<M, const D: usize> {
    maker: PhantomData<M>,
    /// Contiguous, since a search reads all.
    notes: IndexMap<VaultPath, Note<D>>,
    unsure: BTreeSet<VaultPath>,
    /// All PDFs, and whether their text was read.
    pub pdfs: BTreeMap<VaultPath, bool>,
    /// Chunks of all notes.
    pub count: usize,
}

impl<M, const D: usize> Default for VectorsOf<M, D> {
    fn default() -> Self {
        Self {
            maker: PhantomData,
            notes: IndexMap::default(),
            unsure: BTreeSet::default(),
            pdfs: BTreeMap::default(),
            count: 0,
        }
    }
}

/// A note that is near in meaning.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::index::knowledge) struct Near {
    pub path: VaultPath,
    /// Its nearest chunk.
    pub chunk: usize,
    /// How near it is, from just above 0 to 1 for the nearest note.
    pub share: f64,
}

/// The nearest chunks of those that were compared.
struct Nearest<'n> {
    /// The cosine that a chunk must exceed to be included.
    least: f32,
    /// Cosine, note and chunk.
    chunks: Vec<(f32, &'n VaultPath, usize)>,
}

impl Nearest<'_> {
    fn new() -> Self {
        Self { least: MIN_COSINE, chunks: Vec::new() }
    }

    /// Reduces the chunks to the nearest ones, and the best one that is none of them.
    fn cut(&mut self) {
        if self.chunks.len() > NEAREST {
            let order = |a: &(f32, _, _), b: &(f32, _, _)| b.0.total_cmp(&a.0);
            self.least = self.chunks.select_nth_unstable_by(NEAREST, order).1.0;
            self.chunks.truncate(NEAREST + 1);
        }
    }
}

impl<M, const D: usize> VectorsOf<M, D> {
    /// The `wanted` notes that are nearest to a meaning, in no order.
    pub fn nearest(
        &self,
        to: &Vector<D>,
        wanted: impl Fn(&VaultPath, i64) -> bool + Sync,
    ) -> Vec<Near> {
        let of_all = self.notes().fold(Nearest::new, |mut nearest, (path, note)| {
            for (chunk, vector) in note.chunks.iter().enumerate() {
                let cosine = vector.cosine(to);
                // Check the cheaper condition first: few are similar enough.
                if cosine > nearest.least && wanted(path, note.source.stamp.1) {
                    nearest.chunks.push((cosine, path, chunk));
                }
            }
            if nearest.chunks.len() > 4 * NEAREST {
                nearest.cut();
            }
            nearest
        });
        let mut nearest = of_all.reduce(Nearest::new, |mut some, others| {
            some.chunks.extend(others.chunks);
            some
        });
        nearest.cut();
        let lowest = nearest.least;
        let mut best: HashMap<&VaultPath, (f32, usize)> = HashMap::new();
        for (cosine, path, chunk) in nearest.chunks {
            let known = best.entry(path).or_insert((cosine, chunk));
            if cosine.total_cmp(&known.0).then(known.1.cmp(&chunk)).is_gt() {
                *known = (cosine, chunk);
            }
        }
        shares(best.into_iter(), lowest)
    }

    /// The `wanted` notes that are near to most of `own`, the vectors of a note, in no order.
    pub fn related(
        &self,
        own: &[Vector<D>],
        wanted: impl Fn(&VaultPath, i64) -> bool + Sync,
    ) -> Vec<Near> {
        let means = self.notes().filter_map(|(path, note)| {
            if !wanted(path, note.source.stamp.1) {
                return None;
            }
            let nearest = |one: &Vector<D>| {
                let all = note.chunks.iter().enumerate().map(|(at, other)| (one.cosine(other), at));
                all.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
            };
            let nearest: Vec<(f32, usize)> = own.iter().filter_map(nearest).collect();
            let best = nearest.iter().max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
            let sum: f32 = nearest.iter().map(|(cosine, _)| cosine).sum();
            Some((path, (sum / nearest.len() as f32, best.1)))
        });
        let means: Vec<_> = means.collect();
        shares(means.into_iter(), MIN_COSINE)
    }

    /// The vectors of a note; `None` if it was not read.
    pub fn of(&self, path: &VaultPath) -> Option<&[Vector<D>]> {
        self.notes.get(path).map(|note| &*note.chunks)
    }

    /// All notes, for all processors if there are many.
    fn notes(&self) -> impl ParallelIterator<Item = (&VaultPath, &Note<D>)> {
        let notes = &self.notes;
        let numbers = (0..notes.len()).into_par_iter().with_min_len(BATCH);
        numbers.filter_map(|number| notes.get_index(number))
    }

    /// Memory in bytes, without the allocator's overhead.
    pub fn memory(&self) -> usize {
        // A hash, and a number of the table.
        self.notes.capacity() * (size_of::<(VaultPath, Note<D>)>() + 2 * size_of::<usize>())
            + self.count * size_of::<Vector<D>>()
    }

    fn add(&mut self, path: VaultPath, source: Source, mut chunks: Vec<Vector<D>>) {
        if Kind::of(path.borrowed()) == Some(Kind::Pdf) {
            self.pdfs.insert(path.clone(), !chunks.is_empty());
        }
        if self.count + chunks.len() > MAX_VECTORS {
            chunks.clear();
        }
        if source.unsure {
            self.unsure.insert(path.clone());
        }
        self.count += chunks.len();
        self.notes.insert(path, Note { source, chunks: chunks.into_boxed_slice() });
    }
}

/// The vectors of a file's chunks.
pub(in crate::index::knowledge) fn of(path: &VaultPath, content: &Content<'_>) -> Vec<Vector> {
    let mut vectors = Vec::new();
    passages::each(path, content, |passage| {
        vectors.push(super::of(passage).unwrap_or(Vector::NONE))
    });
    vectors
}

/// The notes that are nearer than `lowest`.
fn shares<'p>(
    notes: impl Iterator<Item = (&'p VaultPath, (f32, usize))>,
    lowest: f32,
) -> Vec<Near> {
    let near: Vec<_> = notes.filter(|(_, (cosine, _))| *cosine > lowest).collect();
    let best = near.iter().map(|(_, (cosine, _))| *cosine).fold(lowest, f32::max);
    let share = |cosine: f32| f64::from(cosine - lowest) / f64::from(best - lowest);
    let near = near.into_iter();
    near.map(|(path, (cosine, chunk))| Near { path: path.clone(), chunk, share: share(cosine) })
        .collect()
}

impl<M: Maker<D>, const D: usize> RecordTable for VectorsOf<M, D> {
    const IS_SLOWEST: bool = M::IS_SLOWEST;
    type Record = Note<D>;
    type Read = (Source, Vec<Vector<D>>);

    fn wants(path: PathRef<'_>) -> bool {
        match Kind::of(path) {
            Some(Kind::Note | Kind::Canvas) => true,
            // Their text comes later, from `filling`.
            Some(Kind::Pdf) => !M::IS_SLOWEST,
            Some(Kind::Media) | None => false,
        }
    }

    fn read(vault: &Vault, path: &VaultPath, seen: Stamp) -> Option<Self::Read> {
        Self::read_until(vault, path, seen, &Cancel::default()).ok().flatten()
    }

    fn read_until(
        vault: &Vault,
        path: &VaultPath,
        seen: Stamp,
        cancel: &Cancel,
    ) -> Result<Option<Self::Read>, Cancelled> {
        let model = M::ready().ok_or(Cancelled)?;
        let mut is_whole = true;
        let read = reading::file(vault, path, seen, |content| {
            let mut vectors = Vec::new();
            passages::each(path, content, |passage| {
                is_whole &= !(M::IS_SLOWEST && cancel.is_cancelled());
                if is_whole {
                    vectors.push(model.meaning(passage).unwrap_or(Vector::NONE));
                }
            });
            vectors
        });
        if is_whole { Ok(read) } else { Err(Cancelled) }
    }

    fn stamp(note: &Note<D>) -> (Stamp, bool) {
        (note.source.stamp, note.source.unsure)
    }

    fn get(&self, path: &VaultPath) -> Option<&Note<D>> {
        self.notes.get(path)
    }

    fn iter(&self) -> impl Iterator<Item = (&VaultPath, &Note<D>)> {
        self.notes.iter()
    }

    fn put(&mut self, path: VaultPath, (source, chunks): Self::Read) {
        self.remove(&path);
        self.add(path, source, chunks);
    }

    fn remove(&mut self, path: &VaultPath) {
        if let Some(note) = self.notes.swap_remove(path) {
            self.unsure.remove(path);
            self.pdfs.remove(path);
            self.count -= note.chunks.len();
        }
    }

    fn unsure(&self) -> impl Iterator<Item = &VaultPath> {
        self.unsure.iter()
    }
}

impl<M: Maker<D>, const D: usize> SavedTable for VectorsOf<M, D> {
    const NAME: &'static str = M::NAME;
    const HEADER: &'static [u8] = M::HEADER;
    const IS_SLOW: bool = true;

    fn load(&mut self, saved: &[u8], same: &SameAs<'_>) -> Option<()> {
        let mut rest = Fields(saved);
        (rest.packed_text()? == M::SUM).then_some(())?;
        let mut vectors = Self::default();
        while !rest.0.is_empty() {
            let path = VaultPath::from_disk(rest.packed_text()?)?;
            let stamp = (rest.packed()?, rest.packed()?.cast_signed());
            let identity = rest.packed()?;
            let count = usize::try_from(rest.packed()?).ok()?;
            let rows = rest.bytes(count.checked_mul(D)?)?;
            if same.is_same(&path, stamp, Some(identity)) {
                let chunks = rows.chunks_exact(D).map(Vector::of_row).collect();
                vectors.add(path, Source { stamp, identity, unsure: false }, chunks);
            }
        }
        *self = vectors;
        Some(())
    }

    fn save(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.count * D + self.notes.len() * 64);
        put_text(&mut bytes, M::SUM);
        for (path, Note { source, chunks }) in &self.notes {
            if source.unsure {
                continue;
            }
            put_text(&mut bytes, path.as_str());
            let (size, modified) = source.stamp;
            for number in [size, modified.cast_unsigned(), source.identity, chunks.len() as u64] {
                put(&mut bytes, number);
            }
            chunks.iter().for_each(|vector| bytes.extend(vector.row.map(i8::cast_unsigned)));
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::index::changes::Feed;
    use crate::index::persistent::check;
    use crate::index::synced::Synced;
    use crate::vault::Settings;

    fn seen(vectors: &Vectors) -> Vec<(String, Vec<Vector>)> {
        let notes = vectors.notes.iter();
        let mut seen: Vec<_> =
            notes.map(|(path, note)| (path.to_string(), note.chunks.to_vec())).collect();
        seen.sort_by(|a, b| a.0.cmp(&b.0));
        seen
    }

    #[test]
    fn what_was_saved_is_loaded_and_damage_is_seen() {
        check::survives(&[("One.md", "# Kettle\nwater boils\n"), ("Two.md", "")], seen);
    }

    #[test]
    fn vectors_of_another_model_are_not_used() {
        let saved = Vectors::default().save();
        assert!(check::is_loaded::<Vectors>(&saved));
        let other = String::from_utf8(saved.clone()).expect("text").replace('b', "c");
        assert!(!check::is_loaded::<Vectors>(other.as_bytes()));
        assert!(!check::is_loaded::<InstalledVectors>(&saved));
        assert!(check::is_loaded::<InstalledVectors>(&InstalledVectors::default().save()));
    }

    /// A model that is slow, or missing.
    struct Slow;

    static IS_READY: AtomicBool = AtomicBool::new(false);
    /// The texts that the test model has read, and its cancellation.
    static READ: Mutex<Vec<String>> = Mutex::new(Vec::new());
    static CANCEL: Mutex<Option<Cancel>> = Mutex::new(None);

    impl Maker<2> for Slow {
        const NAME: &'static str = "slow";
        const HEADER: &'static [u8] = b"slow";
        const SUM: &'static str = "";
        const IS_SLOWEST: bool = true;

        fn ready() -> Option<Self> {
            IS_READY.load(Ordering::Relaxed).then_some(Self)
        }

        fn meaning(&self, text: &str) -> Option<Vector<2>> {
            READ.lock().expect("read").push(text.trim().to_owned());
            CANCEL.lock().expect("read").iter().for_each(Cancel::cancel);
            Vector::of(&[1.0, 0.0])
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests make the vaults they look at")]
    fn a_slow_model_reads_the_newest_first_and_a_note_as_a_whole_or_not_at_all() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [place, state] = folders.each_ref().map(tempfile::TempDir::path);
        let text = format!("# A\n{0}\n# B\n{0}\n", "word ".repeat(60));
        for (name, age) in [("Old.md", 1), ("Newest.md", 3), ("New.md", 2)] {
            let path = place.join(name);
            std::fs::write(&path, &text).expect("written");
            let file = std::fs::File::options().append(true).open(path).expect("opened");
            file.set_modified(UNIX_EPOCH + Duration::from_secs(age)).expect("set");
        }
        let vault = Vault::open(place, state, Settings::default(), &|_| ()).expect("opened").0;
        let synced = Synced::<VectorsOf<Slow, 2>>::new(vault.clone(), &Feed::new(vault));
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        let refresh = |cancel: &Cancel| alone.install(|| synced.refresh(cancel));
        let read = || std::mem::take(&mut *READ.lock().expect("read"));
        assert_eq!(refresh(&Cancel::default()), Err(Cancelled), "there is no model");
        assert_eq!((synced.table().notes.len(), synced.is_current()), (0, false));
        IS_READY.store(true, Ordering::Relaxed);
        let cancel = Cancel::default();
        *CANCEL.lock().expect("read") = Some(cancel.clone());
        assert_eq!(refresh(&cancel), Err(Cancelled));
        assert_eq!(read().len(), 1, "cancelled in the middle of a note");
        assert_eq!((synced.table().notes.len(), synced.is_current()), (0, false));
        *CANCEL.lock().expect("read") = None;
        assert_eq!(refresh(&Cancel::default()), Ok(()));
        let names: Vec<String> = read().iter().map(|text| text[..4].to_owned()).collect();
        assert_eq!(names, ["Newe", "Newe", "New ", "New ", "Old ", "Old "]);
        assert_eq!((synced.table().count, synced.is_current()), (6, true));
    }
}
