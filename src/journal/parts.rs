//! The vault and the store, as the parts of the journal use them.

use crate::store::Blobs;
use crate::store::journal::JournalRows;
use crate::vault::{Reader, Writer};

/// The vault with its only writer, the rows that record changes, and the texts that rows refer to.
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
