//! Reads a note together with the facts that tell later whether it is still the same.

use crate::index::changes::{Stamp, identity, stamp, unsure_for};
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::vault::{Vault, VaultError};

/// The file from which a record was made.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Source {
    pub stamp: Stamp,
    /// The file's id on its disk.
    pub identity: u64,
    /// Whether its next change may have the same stamp.
    pub unsure: bool,
}

/// Makes a record of a note that has this stamp in the catalogue, with `make`, which gets an empty text if the note is too large or
/// is no text. `None` if it is gone.
pub(super) fn note<T>(
    vault: &Vault,
    path: &VaultPath,
    seen: Stamp,
    make: impl FnOnce(&str) -> T,
) -> Option<(Source, T)> {
    // Read before the content, so that a change during the reading is later than this.
    let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX);
    match vault.read(path) {
        Ok(content) => {
            let text = Text::decode(&content.bytes, path.name());
            let made = make(text.as_ref().map_or("", |text| text.body()));
            let stamp = stamp(&content.meta);
            let identity = identity(content.meta.id, content.meta.change_mark());
            let unsure = unsure_for(stamp.1, now).is_some();
            Some((Source { stamp, identity, unsure }, made))
        }
        Err(VaultError::TooLarge { .. }) => {
            Some((Source { stamp: seen, ..Source::default() }, make("")))
        }
        Err(_) if vault.stat(path).is_err_and(|error| error.is_absence()) => None,
        Err(_) => Some((Source { stamp: seen, unsure: true, identity: 0 }, make(""))),
    }
}
