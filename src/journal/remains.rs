//! What is left of a step that a crash cut short, as the disk shows it.

use std::io::Read;

use super::parts::Parts;
use super::step::{Recorded, Thing, revision};
use super::trashed::{find_kept, is_deleted};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{Kind, Meta, Revision, Trashed};

/// Where a deleted thing went.
pub(super) fn find(parts: &Parts, step: &Recorded, thing: Thing) -> Option<Trashed> {
    if let Some(kept) = find_kept(parts, step, thing) {
        return Some(kept);
    }
    let by_number = parts.writer.find_trashed(&step.path, &step.keeping(), &|meta| thing.is(meta));
    if let Some(found) = by_number
        && let Some(meta) = parts.writer.look_at_trashed(&found)
        && is_deleted(parts, step, thing, &found, &meta)
    {
        return Some(found);
    }
    let text = step.row.before?;
    let alike = |meta: &Meta| {
        meta.kind == Kind::File && thing.kind() == Kind::File && meta.size == thing.size
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
    thing: Thing,
    text: Option<BlobHash>,
) -> bool {
    let Ok(meta) = parts.vault().stat(path) else { return false };
    let by_text = || text.is_some_and(|text| holds(parts, path) == Some(revision(text)));
    thing.is(&meta) || (meta.kind == thing.kind() && (meta.kind == Kind::Folder || by_text()))
}

pub(super) fn holds(parts: &Parts, path: &VaultPath) -> Option<Revision> {
    let (file, _) = parts.vault().open_file(path).ok()?;
    Revision::of_reader(file).ok()
}

pub(super) fn bytes(parts: &Parts, path: &VaultPath) -> Option<Vec<u8>> {
    let (mut file, _) = parts.vault().open_file(path).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok().map(|_| bytes)
}

/// Whether a text is what a crash leaves of rewriting `before` to `after` in place.
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
    fn what_a_crash_tears_is_told_from_what_a_person_writes() {
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
