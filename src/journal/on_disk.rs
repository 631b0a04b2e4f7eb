//! The state on disk of a step that a crash interrupted.

use std::io::Read;

use super::parts::Parts;
use super::step::{FileIdentity, RecordedAct, RecordedStep, revision};
use super::trashed::{find_kept, is_deleted};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{Kind, Meta, Revision, Trashed, is_temp_path};

/// Finds the deleted file or folder of a step.
pub(super) fn locate_trashed(
    parts: &Parts,
    step: &RecordedStep,
    identity: FileIdentity,
) -> Option<Trashed> {
    if let Some(kept) = find_kept(parts, step, identity) {
        return Some(kept);
    }
    let by_number =
        parts.writer.find_trashed(&step.path, &step.keeping(), &|meta| identity.matches(meta));
    if let Some(found) = by_number
        && let Some(meta) = parts.writer.stat_trashed(&found)
        && is_deleted(parts, step, identity, &found, &meta)
    {
        return Some(found);
    }
    let text = step.row.before?;
    let alike = |meta: &Meta| {
        meta.kind == Kind::File && identity.kind() == Kind::File && meta.size == identity.size
    };
    let found = parts.writer.find_trashed(&step.path, &step.keeping(), &alike)?;
    let same = parts.writer.read_trashed(&found).is_some_and(|b| BlobHash::of(&b) == text);
    same.then_some(found)
}

pub(super) fn is_ours(
    parts: &Parts,
    content: &[u8],
    before: Option<BlobHash>,
    after: BlobHash,
) -> bool {
    let hash = BlobHash::of(content);
    if hash == after || Some(hash) == before {
        return true;
    }
    let blobs = &parts.blobs;
    let begins = |text| blobs.get(text).is_ok_and(|whole| whole.starts_with(content));
    begins(after) || before.is_some_and(begins)
}

pub(super) fn is_there(
    parts: &Parts,
    path: &VaultPath,
    identity: FileIdentity,
    text: Option<BlobHash>,
) -> bool {
    let Ok(meta) = parts.vault().stat(path) else { return false };
    match text {
        // Two files that were written together may be alike in size and time.
        Some(text) if meta.kind == Kind::File && identity.kind() == Kind::File => {
            identity.has_id_of(&meta) || revision_on_disk(parts, path) == Some(revision(text))
        }
        _ => {
            identity.matches(&meta) || (meta.kind, identity.kind()) == (Kind::Folder, Kind::Folder)
        }
    }
}

/// Whether the source of a move has been vacated, as far as a missing file can tell. Always true
/// except for a hidden name, to which another step of the operation may not have moved the file
/// yet.
pub(super) fn is_vacated(parts: &Parts, step: &RecordedStep, steps: &[RecordedStep]) -> bool {
    let RecordedAct::Move { to, .. } = &step.act else { return true };
    if !is_temp_path(&step.path) {
        return true;
    }
    let moves = || {
        steps.iter().filter_map(|one| match &one.act {
            RecordedAct::Move { to, identity } => Some((one, to, *identity)),
            _ => None,
        })
    };
    let Some((first, ..)) = moves().find(|(_, to, _)| **to == step.path) else { return true };
    // The occupant of the destination has not moved away yet.
    if moves()
        .any(|(one, _, identity)| one.path == *to && is_there(parts, to, identity, one.row.after))
    {
        return false;
    }
    match parts.vault().stat(&first.path) {
        Err(error) => error.is_absence(),
        // Another file of the operation has taken its place.
        Ok(_) => moves().any(|(one, to, identity)| {
            *to == first.path && is_there(parts, to, identity, one.row.after)
        }),
    }
}

pub(super) fn revision_on_disk(parts: &Parts, path: &VaultPath) -> Option<Revision> {
    let (file, _) = parts.vault().open_file(path).ok()?;
    Revision::of_reader(file).ok()
}

pub(super) fn read_bytes(parts: &Parts, path: &VaultPath) -> Option<Vec<u8>> {
    let (mut file, _) = parts.vault().open_file(path).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok().map(|_| bytes)
}

/// Whether a text is a mixture of `before` and `after`, as a crash leaves when rewriting in place.
pub(super) fn is_mixed(torn: &[u8], before: &[u8], after: &[u8]) -> bool {
    let lengths = before.len().min(after.len())..=before.len().max(after.len());
    lengths.contains(&torn.len())
        && torn
            .iter()
            .enumerate()
            .all(|(at, byte)| before.get(at) == Some(byte) || after.get(at) == Some(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_write_differs_from_an_edit() {
        let (before, after) = (b"old text here".as_slice(), b"new and longer text".as_slice());
        for cut in 0..=after.len() {
            let mut torn = after[..cut].to_vec();
            torn.extend_from_slice(before.get(cut..).unwrap_or_default());
            assert!(is_mixed(&torn, before, after), "{cut}");
        }
        assert!(!is_mixed(b"a person's text", before, after));
        assert!(!is_mixed(b"", before, after));
    }
}
