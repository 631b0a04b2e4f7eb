//! The file format of the saved index.

use super::table::{Labels, NameEntry, Table};
use crate::index::checksummed_file::{Fields, put, put_text};
use crate::index::persistent::{SameAs, SavedTable};
use crate::index::synced::RecordTable as _;
use crate::note::path::VaultPath;
use crate::vault::Kind;

impl SavedTable for Table {
    const NAME: &'static str = "names";
    /// Increment it also when the computation of words of names changes.
    const HEADER: &'static [u8] =
        concat!("steward names 5 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

    fn load(&mut self, saved: &[u8], same: &SameAs<'_>) -> Option<()> {
        let mut rest = Fields(saved);
        let words = rest.small()?;
        for _ in 0..words {
            self.words.add(rest.packed_text()?);
        }
        while !rest.0.is_empty() {
            let path = VaultPath::from_disk(rest.packed_text()?)?;
            let stamp = (rest.packed()?, rest.packed()?.cast_signed());
            let identity = rest.packed()?;
            let length = rest.small()?;
            let numbers = (0..length).map(|_| rest.small()).collect::<Option<_>>()?;
            let labels = Labels(numbers);
            if labels.iter().flat_map(|label| label.words).any(|word| *word >= words) {
                return None;
            }
            if same.is_same(&path, stamp, path.is_note().then_some(identity)) {
                let kind = Kind::File;
                self.set(NameEntry { path, kind, stamp, identity, unsure: false, labels });
            }
        }
        Some(())
    }

    fn save(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, self.words.iter().len() as u64);
        self.words.iter().for_each(|word| put_text(&mut bytes, &word.text));
        for (path, known) in self.iter().filter(|(_, known)| !known.unsure) {
            put_text(&mut bytes, path.as_str());
            let (size, modified) = known.stamp;
            let labels = &known.labels.0;
            for number in [size, modified.cast_unsigned(), known.identity, labels.len() as u64] {
                put(&mut bytes, number);
            }
            labels.iter().for_each(|number| put(&mut bytes, u64::from(*number)));
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::index::persistent::check;

    #[test]
    fn what_was_saved_is_loaded_and_damage_is_seen() {
        let files = [
            ("One.md", "---\naliases: [the kettle]\n---\n# Über all\n"),
            ("Bild 2.png", "picture"),
        ];
        check::survives(&files, |table: &Table| {
            let words = |labels: &Labels| {
                let text = |word: &u32| table.words.get(*word).text.to_string();
                labels.iter().map(|it| (it.origin, it.words.iter().map(text).collect())).collect()
            };
            let known = table.iter().map(|(path, known)| (path.to_string(), words(&known.labels)));
            let known: BTreeMap<String, Vec<(_, Vec<String>)>> = known.collect();
            (known, table.with_key("kettle").len())
        });
    }
}
