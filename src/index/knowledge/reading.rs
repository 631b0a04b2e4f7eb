//! Reads a file together with the metadata to detect later changes.

use super::content::{Content, Kind};
use crate::index::changes::{Stamp, identity, stamp, unsure_for};
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::vault::{Meta, Vault, VaultError};

/// The file from which a record was made.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Source {
    pub stamp: Stamp,
    /// The file's id on its disk.
    pub identity: u64,
    /// Whether its next change may have the same stamp.
    pub unsure: bool,
}

impl Source {
    fn new(meta: &Meta, now: i64) -> Self {
        let stamp = stamp(meta);
        let identity = identity(meta.id, meta.change_mark());
        Self { stamp, identity, unsure: unsure_for(stamp.1, now).is_some() }
    }
}

/// Makes a record of a file with this stamp in the catalogue. `make` gets no text if the file is
/// too large or not text. `None` if it is gone.
pub(super) fn file<T>(
    vault: &Vault,
    path: &VaultPath,
    seen: Stamp,
    make: impl FnOnce(&Content<'_>) -> T,
) -> Option<(Source, T)> {
    if let Some(Kind::Pdf | Kind::Media) = Kind::of(path.borrowed()) {
        let now = now();
        return match vault.stat(path) {
            Ok(meta) => Some((Source::new(&meta, now), make(&Content::of(path.borrowed(), "")))),
            Err(error) if error.is_absence() => None,
            Err(_) => {
                let source = Source { stamp: seen, unsure: true, identity: 0 };
                Some((source, make(&Content::of(path.borrowed(), ""))))
            }
        };
    }
    bytes(vault, path, seen, |bytes| {
        let text = bytes.and_then(|bytes| Text::decode(bytes, path.name()).ok());
        make(&Content::of(path.borrowed(), text.as_ref().map_or("", |text| text.body())))
    })
}

/// The same with the bytes of the file, if it is not too large.
pub(super) fn bytes<T>(
    vault: &Vault,
    path: &VaultPath,
    seen: Stamp,
    make: impl FnOnce(Option<&[u8]>) -> T,
) -> Option<(Source, T)> {
    // Read before the content, so that a change during the reading is later than this.
    let now = now();
    match vault.read(path) {
        Ok(content) => Some((Source::new(&content.meta, now), make(Some(&content.bytes)))),
        Err(VaultError::TooLarge { .. }) => {
            Some((Source { stamp: seen, ..Source::default() }, make(None)))
        }
        Err(_) if vault.stat(path).is_err_and(|error| error.is_absence()) => None,
        Err(_) => Some((Source { stamp: seen, unsure: true, identity: 0 }, make(None))),
    }
}

fn now() -> i64 {
    chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX)
}
