//! The file format of the saved index.

use super::postings::Postings;
use super::reading::Source;
use super::table::{Note, Read, Table};
use crate::index::checksummed_file::{Fields, put, put_text};
use crate::index::persistent::{SameAs, SavedTable};
use crate::index::synced::RecordTable as _;
use crate::note::path::VaultPath;

impl SavedTable for Table {
    const NAME: &'static str = "knowledge";
    /// Increment it also when the computation of words or chunks changes.
    const HEADER: &'static [u8] =
        concat!("steward knowledge 6 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

    fn load(&mut self, saved: &[u8], same: &SameAs<'_>) -> Option<()> {
        let mut table = Self::default();
        let mut rest = Fields(saved);
        for _ in 0..rest.small()? {
            let path = VaultPath::from_disk(rest.packed_text()?)?;
            let stamp = (rest.packed()?, rest.packed()?.cast_signed());
            let identity = rest.packed()?;
            let lengths = (0..rest.small()?).map(|_| u16::try_from(rest.packed()?).ok());
            let lengths = lengths.collect::<Option<_>>()?;
            let source = Source { stamp, identity, unsure: false };
            table.add(path, Read { source, lengths, ..Read::default() });
        }
        while !rest.0.is_empty() {
            let (word, last) = (rest.packed_text()?, rest.small()?);
            let length = usize::try_from(rest.packed()?).ok()?;
            let read = Postings::of(rest.bytes(length)?, last);
            table.dictionary.change(word, |places| *places = read);
        }
        table.is_sound().then_some(())?;
        let changed = |(path, note): (&VaultPath, &Note)| {
            (!same.is_same(path, note.stamp, Some(note.identity))).then(|| path.clone())
        };
        let changed: Vec<VaultPath> = table.iter().filter_map(changed).collect();
        changed.iter().for_each(|path| table.remove(path));
        *self = table;
        Some(())
    }

    fn save(&self) -> Vec<u8> {
        let table = self.closed_up(|note| !note.unsure);
        let mut bytes = Vec::new();
        put(&mut bytes, table.len() as u64);
        for (path, note) in table.iter() {
            put_text(&mut bytes, path.as_str());
            let (size, modified) = note.stamp;
            let chunks = u64::from(note.chunks);
            for number in [size, modified.cast_unsigned(), note.identity, chunks] {
                put(&mut bytes, number);
            }
            let lengths = &table.lengths[note.places()];
            lengths.iter().for_each(|length| put(&mut bytes, u64::from(*length)));
        }
        for (word, text) in table.dictionary.words() {
            let (places, last) = table.dictionary.places(word).parts();
            put_text(&mut bytes, text);
            put(&mut bytes, u64::from(last));
            put(&mut bytes, places.len() as u64);
            bytes.extend(places);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::seen;
    use crate::index::persistent::check;

    #[test]
    fn what_was_saved_is_loaded_and_damage_is_seen() {
        let files = [
            (
                "One.md",
                "---\naliases: [the kettle]\n---\n# Über all\nwater 東京 boils\n## Two\nwater",
            ),
            ("Two.md", "tea"),
        ];
        check::survives(&files, seen);
    }
}
