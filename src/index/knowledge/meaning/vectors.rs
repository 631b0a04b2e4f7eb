//! The vectors of the chunks of all notes, and the notes that are nearest to a meaning.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use std::marker::PhantomData;

use rayon::prelude::*;

use super::{DIMENSIONS, MODEL_SUM, Vector, minilm, passages};
use crate::index::changes::Stamp;
use crate::index::knowledge::content::{Content, Kind};
use crate::index::knowledge::reading::{self, Source};
use crate::index::persistent::{SameAs, SavedTable};
use crate::index::sealed::{Fields, put, put_text};
use crate::index::synced::RecordTable;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::Vault;

/// The most vectors of a vault: 156 MB. Notes beyond are found by their words.
const MOST: usize = 600_000;

/// The number of nearest chunks that make a note count as near.
const NEAREST: usize = 400;

/// The cosine below which a chunk has another meaning.
const LEAST: f32 = 0.2;

/// Notes that one thread looks through at a time.
const BATCH: usize = 256;

/// What makes vectors.
pub(in crate::index::knowledge) trait Maker:
    Default + Send + Sync + 'static
{
    /// The folder of saved vectors.
    const NAME: &'static str;
    /// The first bytes of saved vectors. They change also when chunks or passages are made differently.
    const HEADER: &'static [u8];
    /// Identifies the model.
    const SUM: &'static str;
    const DIMENSIONS: usize;
    /// Whether it takes much longer than reading.
    const IS_SLOWEST: bool = false;

    fn of(text: &str) -> Option<Vector>;
}

/// The model that the program carries.
#[derive(Default)]
pub(in crate::index::knowledge) struct BuiltIn;

/// The model that can be installed.
#[derive(Default)]
pub(in crate::index::knowledge) struct MiniLm;

impl Maker for BuiltIn {
    const NAME: &'static str = "meaning";
    const HEADER: &'static [u8] =
        concat!("steward meaning 2 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();
    const SUM: &'static str = MODEL_SUM;
    const DIMENSIONS: usize = DIMENSIONS;

    fn of(text: &str) -> Option<Vector> {
        super::of(text)
    }
}

impl Maker for MiniLm {
    const NAME: &'static str = "minilm";
    const HEADER: &'static [u8] =
        concat!("steward minilm 1 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();
    const SUM: &'static str = minilm::source::ORIGINALS[0].sum;
    const DIMENSIONS: usize = minilm::DIMENSIONS;
    const IS_SLOWEST: bool = true;

    fn of(text: &str) -> Option<Vector> {
        minilm::of(text)
    }
}

/// The vectors of a note.
pub(in crate::index::knowledge) struct Note {
    source: Source,
    /// By chunk; empty beyond [`MOST`].
    chunks: Box<[Vector]>,
}

/// All notes.
#[derive(Default)]
pub(in crate::index::knowledge) struct Vectors<M> {
    maker: PhantomData<M>,
    notes: HashMap<VaultPath, Note>,
    unsure: BTreeSet<VaultPath>,
    /// All PDFs, and whether their text was read.
    pub pdfs: BTreeMap<VaultPath, bool>,
    /// Chunks of all notes.
    pub count: usize,
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

impl<M: Maker> Vectors<M> {
    /// The `wanted` notes that are nearest to a meaning, in no order.
    pub fn nearest(&self, to: &Vector, wanted: impl Fn(&VaultPath, i64) -> bool) -> Vec<Near> {
        let best = |note: &Note| {
            let mut cosines: Vec<f32> = note.chunks.iter().map(|it| it.cosine(to)).collect();
            let best = (0..cosines.len())
                .max_by(|a, b| cosines[*a].total_cmp(&cosines[*b]).then(b.cmp(a)));
            let best = best.map(|at| (cosines[at], at));
            cosines.retain(|cosine| *cosine > LEAST);
            (best, cosines)
        };
        let of_notes: Vec<_> = self.compared(wanted, best);
        let mut near: Vec<f32> = of_notes.iter().flat_map(|(_, (_, near))| near).copied().collect();
        let lowest = match near.len() > NEAREST {
            true => *near.select_nth_unstable_by(NEAREST, |a, b| b.total_cmp(a)).1,
            false => LEAST,
        };
        let best = of_notes.into_iter().filter_map(|(path, (best, _))| Some((path, best?)));
        shares(best, lowest)
    }

    /// The `wanted` notes that are near to most of `own`, the vectors of a note, in no order.
    pub fn related(&self, own: &[Vector], wanted: impl Fn(&VaultPath, i64) -> bool) -> Vec<Near> {
        let mean = |note: &Note| {
            let nearest = |one: &Vector| {
                let all = note.chunks.iter().enumerate().map(|(at, other)| (one.cosine(other), at));
                all.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
            };
            let nearest: Vec<(f32, usize)> = own.iter().filter_map(nearest).collect();
            let best = nearest.iter().max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
            let sum: f32 = nearest.iter().map(|(cosine, _)| cosine).sum();
            Some((sum / nearest.len() as f32, best.1))
        };
        let means = self.compared(wanted, mean).into_iter();
        shares(means.filter_map(|(path, mean)| Some((path, mean?))), LEAST)
    }

    /// The vectors of a note; `None` if it was not read.
    pub fn of(&self, path: &VaultPath) -> Option<&[Vector]> {
        self.notes.get(path).map(|note| &*note.chunks)
    }

    /// Compares the wanted notes on all processors if there are many.
    fn compared<T: Send>(
        &self,
        wanted: impl Fn(&VaultPath, i64) -> bool,
        compare: impl Fn(&Note) -> T + Sync,
    ) -> Vec<(&VaultPath, T)> {
        let notes = self.notes.iter().filter(|(path, note)| wanted(path, note.source.stamp.1));
        let notes: Vec<(&VaultPath, &Note)> = notes.collect();
        let notes = notes.par_iter().with_min_len(BATCH);
        notes.map(|(path, note)| (*path, compare(note))).collect()
    }

    /// Memory in bytes, without the allocator's overhead.
    pub fn memory(&self) -> usize {
        self.notes.capacity() * (size_of::<(VaultPath, Note)>() + 1)
            + self.count * (size_of::<Vector>() + M::DIMENSIONS)
    }

    fn add(&mut self, path: VaultPath, source: Source, mut chunks: Vec<Vector>) {
        if Kind::of(path.borrowed()) == Some(Kind::Pdf) {
            self.pdfs.insert(path.clone(), !chunks.is_empty());
        }
        if self.count + chunks.len() > MOST {
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
pub(in crate::index::knowledge) fn of<M: Maker>(
    path: &VaultPath,
    content: &Content<'_>,
) -> Vec<Vector> {
    let mut vectors = Vec::new();
    passages::each(path, content, |passage| {
        vectors.push(M::of(passage).unwrap_or_else(|| Vector::none(M::DIMENSIONS)));
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

impl<M: Maker> RecordTable for Vectors<M> {
    const NEWEST_FIRST: bool = M::IS_SLOWEST;
    type Record = Note;
    type Read = (Source, Vec<Vector>);

    fn wants(path: PathRef<'_>) -> bool {
        match Kind::of(path) {
            Some(Kind::Note | Kind::Canvas) => true,
            // Those come from the background, for which a slow model has enough to do.
            Some(Kind::Pdf) => !M::IS_SLOWEST,
            Some(Kind::Media) | None => false,
        }
    }

    fn read(vault: &Vault, path: &VaultPath, seen: Stamp) -> Option<Self::Read> {
        reading::file(vault, path, seen, |content| of::<M>(path, content))
    }

    fn stamp(note: &Note) -> (Stamp, bool) {
        (note.source.stamp, note.source.unsure)
    }

    fn get(&self, path: &VaultPath) -> Option<&Note> {
        self.notes.get(path)
    }

    fn iter(&self) -> impl Iterator<Item = (&VaultPath, &Note)> {
        self.notes.iter()
    }

    fn put(&mut self, path: VaultPath, (source, chunks): Self::Read) {
        self.remove(&path);
        self.add(path, source, chunks);
    }

    fn remove(&mut self, path: &VaultPath) {
        if let Some(note) = self.notes.remove(path) {
            self.unsure.remove(path);
            self.pdfs.remove(path);
            self.count -= note.chunks.len();
        }
    }

    fn unsure(&self) -> impl Iterator<Item = &VaultPath> {
        self.unsure.iter()
    }
}

impl<M: Maker> SavedTable for Vectors<M> {
    const NAME: &'static str = M::NAME;
    const HEADER: &'static [u8] = M::HEADER;
    const IS_SLOW: bool = true;
    const IS_SLOWEST: bool = M::IS_SLOWEST;

    fn load(&mut self, saved: &[u8], same: &SameAs<'_>) -> Option<()> {
        let mut rest = Fields(saved);
        (rest.packed_text()? == M::SUM).then_some(())?;
        let mut vectors = Self::default();
        while !rest.0.is_empty() {
            let path = VaultPath::from_disk(rest.packed_text()?)?;
            let stamp = (rest.packed()?, rest.packed()?.cast_signed());
            let identity = rest.packed()?;
            let count = usize::try_from(rest.packed()?).ok()?;
            let rows = rest.bytes(count.checked_mul(M::DIMENSIONS)?)?;
            if same.is_same(&path, stamp, Some(identity)) {
                let chunks = rows.chunks_exact(M::DIMENSIONS).map(Vector::of_row).collect();
                vectors.add(path, Source { stamp, identity, unsure: false }, chunks);
            }
        }
        *self = vectors;
        Some(())
    }

    fn save(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.count * M::DIMENSIONS + self.notes.len() * 64);
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
            chunks.iter().for_each(|vector| {
                bytes.extend(vector.row.iter().map(|value| value.cast_unsigned()))
            });
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::persistent::check;

    fn seen(vectors: &Vectors<BuiltIn>) -> Vec<(String, Vec<Vector>)> {
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
        let saved = Vectors::<BuiltIn>::default().save();
        assert!(check::is_loaded::<Vectors<BuiltIn>>(&saved));
        let other = String::from_utf8(saved).expect("text").replace('b', "c");
        assert!(!check::is_loaded::<Vectors<BuiltIn>>(other.as_bytes()));
        assert!(!check::is_loaded::<Vectors<MiniLm>>(&saved));
    }
}
