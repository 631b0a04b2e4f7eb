//! Reading a note for the index.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use super::notes::NoteState;
use super::signature;
use super::table::Content;
use crate::index::changes::{Stamp, identity, stamp, unsure_for};
use crate::note::path::VaultPath;
use crate::vault::{Vault, VaultError};

/// Maximum size of a note that is signed. Its lines are shorter than a search's buffer.
const MAX_SIGNED: u64 = 4 << 20;

/// A search detects a NUL in this many first bytes before it searches any line, unless a line ends
/// within the first three bytes, which are read separately for the byte order mark.
const SEEN_FIRST: usize = 60_000;

pub(super) enum Reading {
    Content(Content),
    /// The file differs from its entry in the catalogue, or is gone: the vault was asked to check it.
    Changed,
    /// The file changed so recently that another change may have the same time: read it after this time.
    TooFresh(Duration),
}

/// Reads the note at `path` with the stamp `expected` into `buffer`. Its text is returned if it has at most
/// `wanted` bytes.
pub(super) fn read(
    vault: &Vault,
    path: &VaultPath,
    expected: Stamp,
    wanted: usize,
    buffer: &mut Vec<u8>,
) -> Reading {
    // Before the content is read: later changes have a later time.
    let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX);
    let odd = |identity| {
        let (stamp, state) = (expected, NoteState::Odd);
        Reading::Content(Content { stamp, identity, state, signatures: Vec::new(), text: None })
    };
    let (mut file, meta) = match vault.open_file(path) {
        Ok(opened) => opened,
        Err(VaultError::NotFound { .. }) => {
            vault.recheck(path);
            return Reading::Changed;
        }
        // The search reports the error.
        Err(_) => return odd(0),
    };
    if stamp(&meta) != expected {
        vault.recheck(path);
        return Reading::Changed;
    }
    let identity = identity(meta.id, meta.change_mark());
    if let Some(wait) = unsure_for(meta.modified, now) {
        return Reading::TooFresh(wait);
    }
    // A change through another hard link is not reported for this folder.
    if meta.size > MAX_SIGNED || meta.names > 1 {
        return odd(identity);
    }
    buffer.clear();
    buffer.reserve(usize::try_from(meta.size).unwrap_or(0) + 1);
    let read = file.by_ref().take(MAX_SIGNED + 1).read_to_end(buffer);
    let bytes = &buffer[..];
    if read.is_err() || bytes.len() as u64 != meta.size {
        return odd(identity);
    }
    let state = state(bytes);
    let signed = state == NoteState::Signed;
    let signatures =
        if signed { signature::chunks(bytes).map(signature::sign).collect() } else { Vec::new() };
    let text = (signed && bytes.len() <= wanted).then(|| Arc::from(bytes));
    Reading::Content(Content { stamp: expected, identity, state, signatures, text })
}

/// The text of a signed note, if its file has the stamp `expected`.
pub(super) fn text(vault: &Vault, path: &VaultPath, expected: Stamp) -> Option<Arc<[u8]>> {
    let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX);
    let (mut file, meta) = vault.open_file(path).ok()?;
    if stamp(&meta) != expected {
        vault.recheck(path);
        return None;
    }
    if unsure_for(meta.modified, now).is_some() || meta.size > MAX_SIGNED || meta.names > 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.size).unwrap_or(0) + 1);
    file.by_ref().take(MAX_SIGNED + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == meta.size && state(&bytes) == NoteState::Signed)
        .then(|| Arc::from(bytes))
}

/// How a search treats these bytes before it reads lines.
fn state(bytes: &[u8]) -> NoteState {
    // `contains` is faster, and most have none.
    let nul = bytes.contains(&0).then(|| bytes.iter().position(|byte| *byte == 0)).flatten();
    let marked = bytes.starts_with(b"\xef\xbb\xbf");
    match nul {
        // UTF-16 is decoded before it is searched.
        _ if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") => NoteState::Odd,
        Some(_) if marked => NoteState::Odd,
        None if marked && std::str::from_utf8(bytes).is_err() => NoteState::Odd,
        None => NoteState::Signed,
        Some(at) if at < SEEN_FIRST && !bytes.iter().take(3).any(|byte| *byte == b'\n') => {
            NoteState::Binary
        }
        Some(_) => NoteState::Odd,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_not_plain_text_are_recognised() {
        for (bytes, expected) in [
            (&b"text\n"[..], NoteState::Signed),
            (b"", NoteState::Signed),
            (b"invalid \xff\xfe", NoteState::Signed),
            (b"\xef\xbb\xbfmarked", NoteState::Signed),
            (b"\xef\xbb\xbfmarked \xff", NoteState::Odd),
            (b"\xef\xbb\xbf\0", NoteState::Odd),
            (b"\xff\xfef\0", NoteState::Odd),
            (b"\xfe\xff\0f", NoteState::Odd),
            (b"foo\nbar\0", NoteState::Binary),
            (b"\0", NoteState::Binary),
            (b"a\n\0", NoteState::Odd),
        ] {
            assert_eq!(state(bytes), expected, "{bytes:?}");
        }
        assert_eq!(state(&[vec![b'a'; 70_000], vec![0]].concat()), NoteState::Odd);
    }
}
