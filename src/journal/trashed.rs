//! Locates deleted files and folders in a trash, and checks that they are unchanged.

use std::collections::HashSet;

use super::parts::Parts;
use super::step::{FileIdentity, RecordedStep, TrashRecord};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{Kind, Meta, Trashed};

/// Finds a deleted file or folder that is still in a trash and unchanged.
pub(super) fn find_deleted(
    parts: &Parts,
    step: &RecordedStep,
    identity: FileIdentity,
) -> Option<Trashed> {
    let writer = &parts.writer;
    let known = step.detail.place.as_ref().and_then(TrashRecord::trashed);
    if let Some(known) = known
        && let Some(meta) = writer.stat_trashed(&known)
        && is_deleted(parts, step, identity, &known, &meta)
    {
        return Some(known);
    }
    if let Some(kept) = find_kept(parts, step, identity) {
        return Some(kept);
    }
    let found = writer.find_trashed(&step.path, &step.keeping(), &|meta| {
        let unchanged = identity.is_unchanged(meta.size, meta.modified);
        identity.matches(meta) && (meta.kind != Kind::File || unchanged)
    })?;
    let meta = writer.stat_trashed(&found)?;
    is_deleted(parts, step, identity, &found, &meta).then_some(found)
}

/// The location of a deleted file or folder in the steward's own `kept` folder, found by the name
/// of its subfolder: a copy on another disk has another inode.
pub(super) fn find_kept(
    parts: &Parts,
    step: &RecordedStep,
    identity: FileIdentity,
) -> Option<Trashed> {
    step.detail.keeping.as_deref().filter(|folder| !folder.is_empty())?;
    let writer = &parts.writer;
    let kept = writer.kept_copy(&step.path, &step.keeping());
    let meta = writer.stat_trashed(&kept)?;
    is_deleted(parts, step, identity, &kept, &meta).then_some(kept)
}

/// Whether the item in a trash is what this step deleted. Names and inodes are reused, so a file is
/// identified by its text and a folder by its files.
pub(super) fn is_deleted(
    parts: &Parts,
    step: &RecordedStep,
    identity: FileIdentity,
    place: &Trashed,
    meta: &Meta,
) -> bool {
    if meta.kind != identity.kind() {
        return false;
    }
    let writer = &parts.writer;
    let holds = |place: &Trashed, text: BlobHash| {
        writer.read_trashed(place).is_some_and(|bytes| BlobHash::of(&bytes) == text)
    };
    // Only this deletion uses a folder of that name in `kept`.
    let copied = matches!(place, Trashed::Kept { .. }) && meta.id.device != identity.id().device;
    match (identity.kind(), step.row.before) {
        (Kind::File, Some(text)) => holds(place, text),
        (Kind::File, None) if copied => identity.size == meta.size,
        (Kind::File, None) => {
            identity.matches(meta) && identity.is_unchanged(meta.size, meta.modified)
        }
        (Kind::Folder, _) => {
            let Ok(had) = parts.rows.changes.files(step.row.id) else {
                return identity.matches(meta);
            };
            let has = writer.files_in_trashed(place).unwrap_or_default();
            let named: HashSet<&str> = has.iter().map(VaultPath::as_str).collect();
            if copied || identity.matches(meta) {
                // Somebody may have taken some of the files out.
                return had.is_empty() || had.iter().any(|(name, _)| named.contains(&**name));
            }
            // Some file systems change inodes. Then all files have to match exactly.
            !had.is_empty()
                && had.len() == has.len()
                && had.iter().all(|(name, text)| {
                    named.contains(&**name)
                        && text.is_none_or(|text| {
                            place.below(name).is_some_and(|file| holds(&file, text))
                        })
                })
        }
        (Kind::Link | Kind::Other, _) => copied || identity.matches(meta),
    }
}
