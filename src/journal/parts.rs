//! What the journal works with.

use crate::store::Blobs;
use crate::store::journal::JournalRows;
use crate::vault::{Reader, Writer};

/// The vault with its only writer, the rows that record what is done, and the texts they name.
pub(super) struct Parts {
    pub writer: Writer,
    pub rows: JournalRows,
    pub blobs: Blobs,
}

impl Parts {
    pub fn vault(&self) -> &Reader {
        self.writer.vault()
    }
}
