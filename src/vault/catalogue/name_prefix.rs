//! A prefilter on the first four bytes of every name.
//!
//! They are in one array, which fits into a core's cache for a hundred thousand rows, so a glob
//! that begins with literal text (`**/2025-0?-1*.md`) is compared with many rows at once. The glob
//! itself is then matched against the remaining rows.

use super::{Catalogue, GONE, last};

/// Rows compared in one step.
const CHUNK: usize = 64;

/// The first four bytes of a key's last component, little-endian, zero-padded.
pub(super) fn name_prefix(key: &str) -> u32 {
    first_four(last(key))
}

fn first_four(text: &str) -> u32 {
    let mut four = [0; 4];
    four.iter_mut().zip(text.bytes()).for_each(|(byte, of_text)| *byte = of_text);
    u32::from_le_bytes(four)
}

/// The first four bytes of a pattern.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamePrefix {
    wanted: u32,
    mask: u32,
}

impl NamePrefix {
    /// From folded text; `None` if it is empty.
    pub fn new(text: &str) -> Option<Self> {
        let bytes = u32::try_from(text.len().min(4)).expect("four at most");
        let mask = u32::MAX.checked_shr(32 - 8 * bytes)?;
        Some(Self { wanted: first_four(text), mask })
    }

    /// Whether a name with this [`name_prefix`] can begin with the pattern.
    #[inline]
    pub fn allows(self, name: u32) -> bool {
        name & self.mask == self.wanted
    }
}

impl Catalogue {
    /// The rows whose name can begin with `wanted`, ascending; `None` if there are too many for
    /// this to help.
    pub(super) fn rows_with_prefix(&self, wanted: NamePrefix) -> Option<Vec<u32>> {
        let most = self.rows.len() / 16 + 64;
        let mut found: Vec<u32> = Vec::new();
        for (chunk, names) in self.name_prefixes.chunks(CHUNK).enumerate() {
            // No early exit, so that the compiler vectorizes it.
            if !names.iter().fold(false, |any, name| any | wanted.allows(*name)) {
                continue;
            }
            let numbers = (chunk * CHUNK..).map(|number| number as u32).zip(names);
            let fitting = numbers.filter(|(_, name)| wanted.allows(**name));
            found.extend(fitting.map(|(number, _)| number).filter(|row| !self.row(*row).is(GONE)));
            if found.len() > most {
                return None;
            }
        }
        Some(found)
    }

    /// The rows whose last component has this fold key.
    pub(super) fn rows_named(&self, name_key: &str) -> impl Iterator<Item = u32> {
        let rows = self.by_name.iter_hash(self.hash(name_key)).copied();
        rows.filter(move |row| last(self.key(*row)) == name_key)
    }
}
