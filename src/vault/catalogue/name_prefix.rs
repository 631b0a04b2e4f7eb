//! Names by how they begin.
//!
//! Of the last component of every key its first four bytes are kept, one row's after the other's: a
//! hundred thousand in less memory than a core has beside it. A glob that says how a name begins
//! (`**/2025-0?-1*.md`) is compared with those, many at once, before anything else of a row is
//! looked at. It rules rows out, and decides nothing: what is left is asked the glob.

use super::{Catalogue, GONE, last};

/// Rows compared before any of them is looked at by itself.
const TOGETHER: usize = 64;

/// The first four bytes of the last component of a key, the first one lowest; zeros behind a shorter
/// one.
pub(super) fn beginning(key: &str) -> u32 {
    let mut four = [0; 4];
    four.iter_mut().zip(last(key).bytes()).for_each(|(byte, of_name)| *byte = of_name);
    u32::from_le_bytes(four)
}

/// How a name has to begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beginning {
    wanted: u32,
    /// The bits of the bytes that are known.
    known: u32,
}

impl Beginning {
    /// With this folded text; `None` for the empty one, with which all begin.
    pub fn new(text: &str) -> Option<Self> {
        let bytes = u32::try_from(text.len().min(4)).expect("four at most");
        let known = u32::MAX.checked_shr(32 - 8 * bytes)?;
        let mut four = [0; 4];
        four.iter_mut().zip(text.bytes()).for_each(|(byte, of_text)| *byte = of_text);
        Some(Self { wanted: u32::from_le_bytes(four), known })
    }

    /// Whether a name that begins as [`beginning`] says can begin so.
    #[inline]
    pub fn allows(self, name: u32) -> bool {
        name & self.known == self.wanted
    }
}

impl Catalogue {
    /// The rows whose name can begin so, as they were laid; `None` if they are so many that this
    /// says too little.
    pub(super) fn beginning_so(&self, wanted: Beginning) -> Option<Vec<u32>> {
        let most = self.rows.len() / 16 + 64;
        let mut found: Vec<u32> = Vec::new();
        for (piece, names) in self.beginnings.chunks(TOGETHER).enumerate() {
            // Without an early end, so that it is done with several in one step.
            if !names.iter().fold(false, |any, name| any | wanted.allows(*name)) {
                continue;
            }
            let numbers = (piece * TOGETHER..).map(|number| number as u32).zip(names);
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
