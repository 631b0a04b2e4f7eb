//! The names of the files from one run to the next, in one file of the steward's own folder. Safe to delete at
//! any time.
//!
//! What it says of a file counts only if the file has the size, the time, the number on its disk and the time
//! of its last change of any kind that it had when it was read.

#![expect(clippy::disallowed_methods, reason = "the index's own files, in the steward's folder")]

use std::io;
use std::path::{Path, PathBuf};

use super::table::{Known, Labels, Table};
use crate::index::changes::identity;
use crate::index::fresh::Keeper as _;
use crate::index::sealed::{self, Fields};
use crate::note::path::VaultPath;
use crate::vault::{Kind, Vault};

/// How the file begins. Another number for every change of the format, or of what words are made of a name.
const HEADER: &[u8] = concat!("steward names 1 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

const FILE: &str = "table";

/// Where the file lies.
pub(super) fn folder(state: &Path) -> PathBuf {
    state.join("names")
}

/// Whether something was saved.
pub(super) fn is_there(folder: &Path) -> bool {
    folder.join(FILE).exists()
}

/// Puts what was saved and still holds into a table that is empty.
pub(super) fn load(folder: &Path, vault: &Vault, table: &mut Table) {
    let Ok(file) = std::fs::read(folder.join(FILE)) else { return };
    let known = sealed::content(&file, HEADER).and_then(|saved| parse(saved, table));
    let catalogue = vault.catalogue();
    for known in known.unwrap_or_default() {
        let now = catalogue.get(known.path.as_str()).filter(|entry| entry.kind == Kind::File);
        let is_same = now.is_some_and(|now| {
            let is_read =
                !known.path.is_note() || known.identity == identity(now.id, now.change_mark);
            is_read && known.stamp == (now.size, now.modified)
        });
        if is_same {
            table.set(known);
        }
    }
    table.is_unsaved = false;
}

fn parse(saved: &[u8], table: &mut Table) -> Option<Vec<Known>> {
    let mut rest = Fields(saved);
    let words = rest.number()?;
    for _ in 0..words {
        table.words.add(rest.text()?);
    }
    let mut known = Vec::new();
    while !rest.0.is_empty() {
        let path = VaultPath::from_disk(rest.text()?)?;
        let stamp = (rest.number()?, rest.number()?.cast_signed());
        let identity = rest.number()?;
        let length = usize::try_from(rest.number()?).ok()?;
        let numbers = rest.bytes(length.checked_mul(4)?)?.chunks_exact(4);
        let numbers = numbers.filter_map(|bytes| Some(u32::from_le_bytes(bytes.try_into().ok()?)));
        let labels = Labels(numbers.collect());
        if labels.iter().flat_map(|label| label.words).any(|word| u64::from(*word) >= words) {
            return None;
        }
        known.push(Known { path, kind: Kind::File, stamp, identity, unsure: false, labels });
    }
    Some(known)
}

/// Saves the names of all files that were read and stayed as they were.
///
/// # Errors
/// As the system says; what was saved before is there then.
pub(super) fn save(folder: &Path, table: &Table) -> io::Result<()> {
    let mut bytes = Vec::new();
    let put = |bytes: &mut Vec<u8>, number: u64| bytes.extend(number.to_le_bytes());
    let put_text = |bytes: &mut Vec<u8>, text: &str| {
        put(bytes, text.len() as u64);
        bytes.extend(text.as_bytes());
    };
    put(&mut bytes, table.words.iter().len() as u64);
    table.words.iter().for_each(|word| put_text(&mut bytes, &word.text));
    for (path, known) in table.iter().filter(|(_, known)| !known.unsure) {
        put_text(&mut bytes, path.as_str());
        let (size, modified) = known.stamp;
        let labels = &known.labels.0;
        for number in [size, modified.cast_unsigned(), known.identity, labels.len() as u64] {
            put(&mut bytes, number);
        }
        bytes.extend(labels.iter().flat_map(|number| number.to_le_bytes()));
    }
    sealed::write(folder, FILE, &[HEADER, &bytes])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::changes::Feed;
    use crate::index::fresh::Fresh;
    use crate::vault::{Cancel, Settings};

    #[test]
    fn what_was_saved_is_loaded_and_damage_is_seen() {
        let folders = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
        let [place, state, kept] = folders.each_ref().map(tempfile::TempDir::path);
        let old = |name: &str, text: &str| {
            let path = place.join(name);
            std::fs::write(&path, text).expect("written");
            let file = std::fs::File::options().append(true).open(path).expect("opened");
            file.set_modified(std::time::UNIX_EPOCH).expect("set");
        };
        old("One.md", "---\naliases: [the kettle]\n---\n# Über all\n");
        old("Bild 2.png", "picture");
        let vault = Vault::open(place, state, Settings::default(), &|_| ()).expect("opened").0;
        let names = Fresh::<Table>::new(vault.clone(), &Feed::new(vault.clone()));
        names.refresh(&Cancel::default()).expect("nobody withdraws");
        save(kept, &names.kept()).expect("saved");
        assert!(is_there(kept));
        let labels = |table: &Table| {
            let words = |labels: &Labels| {
                let text = |word: &u32| table.words.get(*word).text.to_string();
                labels.iter().map(|it| (it.origin, it.words.iter().map(text).collect())).collect()
            };
            let known = table.iter().map(|(path, known)| (path.to_string(), words(&known.labels)));
            known.collect::<std::collections::BTreeMap<String, Vec<(_, Vec<String>)>>>()
        };
        let mut loaded = Table::default();
        load(kept, &vault, &mut loaded);
        assert_eq!(labels(&loaded), labels(&names.kept()));
        assert_eq!(loaded.sounding("kettle").len(), 1);
        let file = std::fs::read(kept.join(FILE)).expect("read");
        for at in (0..file.len()).step_by(7) {
            let mut damaged = file.clone();
            damaged[at] ^= 16;
            std::fs::write(kept.join(FILE), damaged).expect("written");
            let mut loaded = Table::default();
            load(kept, &vault, &mut loaded);
            assert_eq!(loaded.count(), 0, "byte {at}");
        }
    }
}
