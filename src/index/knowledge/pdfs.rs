//! The texts of PDFs, extracted once on a thread of low priority and saved: that takes too long for a search.

use std::collections::{BTreeSet, HashMap};

use super::content::{self, Kind};
use super::reading::{self, Source};
use crate::index::changes::Stamp;
use crate::index::checksummed_file::{Fields, put, put_text};
use crate::index::persistent::{SameAs, SavedTable};
use crate::index::synced::RecordTable;
use crate::media::pdf::{self, Bounds};
use crate::note::path::{PathRef, VaultPath};
use crate::vault::Vault;

/// The most bytes of a text, and the most pages; only the beginning of a longer PDF is indexed.
const MAX_TEXT: usize = 2 << 20;
const MAX_PAGES: usize = 5_000;

/// The most bytes of all texts, compressed. Other PDFs are found by their names.
const MAX_TEXTS: usize = 64 << 20;

/// How much a text is compressed: fast.
const LEVEL: i32 = 3;

pub(super) struct Pdf {
    source: Source,
    /// Compressed; empty without text.
    packed: Box<[u8]>,
}

impl Pdf {
    pub fn has_text(&self) -> bool {
        !self.packed.is_empty()
    }
}

/// The texts of all PDFs.
#[derive(Default)]
pub(super) struct Pdfs {
    files: HashMap<VaultPath, Pdf>,
    unsure: BTreeSet<VaultPath>,
    bytes: usize,
}

impl Pdfs {
    /// The text of a PDF and the file from which it was extracted; `None` if it was not read or has no text.
    pub fn text(&self, path: &VaultPath) -> Option<(Source, String)> {
        let Pdf { source, packed } = self.files.get(path).filter(|it| it.has_text())?;
        let text = zstd::bulk::decompress(packed, 2 * MAX_TEXT).ok()?;
        Some((*source, String::from_utf8(text).ok()?))
    }

    /// PDFs that have text.
    pub fn count(&self) -> usize {
        self.files.values().filter(|it| it.has_text()).count()
    }

    /// Memory in bytes, without the allocator's overhead.
    pub fn memory(&self) -> usize {
        self.bytes + self.files.capacity() * (size_of::<(VaultPath, Pdf)>() + 1)
    }

    fn add(&mut self, path: VaultPath, source: Source, mut packed: Box<[u8]>) {
        if self.bytes + packed.len() > MAX_TEXTS {
            packed = Box::default();
        }
        if source.unsure {
            self.unsure.insert(path.clone());
        }
        self.bytes += packed.len();
        self.files.insert(path, Pdf { source, packed });
    }
}

/// The text of a PDF, compressed; empty if it has none or cannot be read.
fn compressed_text(bytes: &[u8]) -> Box<[u8]> {
    let bounds = Bounds { bytes: MAX_TEXT, pages: MAX_PAGES, is_over: &|| false };
    let Ok(read) = pdf::read(bytes, 1, &bounds) else { return Box::default() };
    if read.pages.iter().all(String::is_empty) {
        return Box::default();
    }
    let packed = zstd::bulk::compress(content::joined(&read.pages).as_bytes(), LEVEL);
    packed.unwrap_or_default().into_boxed_slice()
}

impl RecordTable for Pdfs {
    type Record = Pdf;
    type Read = (Source, Box<[u8]>);

    fn wants(path: PathRef<'_>) -> bool {
        Kind::of(path) == Some(Kind::Pdf)
    }

    fn read(vault: &Vault, path: &VaultPath, seen: Stamp) -> Option<Self::Read> {
        reading::bytes(vault, path, seen, |bytes| bytes.map(compressed_text).unwrap_or_default())
    }

    fn stamp(pdf: &Pdf) -> (Stamp, bool) {
        (pdf.source.stamp, pdf.source.unsure)
    }

    fn get(&self, path: &VaultPath) -> Option<&Pdf> {
        self.files.get(path)
    }

    fn iter(&self) -> impl Iterator<Item = (&VaultPath, &Pdf)> {
        self.files.iter()
    }

    fn put(&mut self, path: VaultPath, (source, packed): Self::Read) {
        self.remove(&path);
        self.add(path, source, packed);
    }

    fn remove(&mut self, path: &VaultPath) {
        if let Some(pdf) = self.files.remove(path) {
            self.unsure.remove(path);
            self.bytes -= pdf.packed.len();
        }
    }

    fn unsure(&self) -> impl Iterator<Item = &VaultPath> {
        self.unsure.iter()
    }
}

impl SavedTable for Pdfs {
    const NAME: &'static str = "pdfs";
    /// Increment it also when the extraction of texts changes.
    const HEADER: &'static [u8] =
        concat!("steward pdfs 2 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();
    const IS_SLOW: bool = true;

    fn load(&mut self, saved: &[u8], same: &SameAs<'_>) -> Option<()> {
        let (mut rest, mut pdfs) = (Fields(saved), Self::default());
        while !rest.0.is_empty() {
            let path = VaultPath::from_disk(rest.packed_text()?)?;
            let stamp = (rest.packed()?, rest.packed()?.cast_signed());
            let identity = rest.packed()?;
            let length = usize::try_from(rest.packed()?).ok()?;
            let packed = rest.bytes(length)?;
            if same.is_same(&path, stamp, Some(identity)) {
                pdfs.add(path, Source { stamp, identity, unsure: false }, packed.into());
            }
        }
        *self = pdfs;
        Some(())
    }

    fn save(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes + self.files.len() * 64);
        for (path, Pdf { source, packed }) in self.files.iter().filter(|it| !it.1.source.unsure) {
            put_text(&mut bytes, path.as_str());
            let (size, modified) = source.stamp;
            for number in [size, modified.cast_unsigned(), source.identity, packed.len() as u64] {
                put(&mut bytes, number);
            }
            bytes.extend(packed);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::persistent::check;

    #[test]
    fn what_was_saved_is_loaded_and_damage_is_seen() {
        let pdf = include_str!("../../../fuzz/corpus/pdf/two-pages");
        check::survives(&[("One.pdf", pdf), ("Two.pdf", "no PDF")], |pdfs: &Pdfs| {
            let texts = pdfs.files.keys().map(|path| (path.to_string(), pdfs.text(path)));
            let mut seen: Vec<_> = texts.map(|it| (it.0, it.1.map(|it| it.1))).collect();
            seen.sort();
            seen
        });
    }
}
