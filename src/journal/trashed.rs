//! Where deleted things lie, and whether they are still themselves.

use std::collections::HashSet;

use super::parts::Parts;
use super::step::{Place, Recorded, Thing};
use crate::store::BlobHash;
use crate::vault::{Kind, Meta, Trashed};

/// Where a deleted thing lies, if it is still in a trash and still itself.
pub(super) fn find_deleted(parts: &Parts, step: &Recorded, thing: Thing) -> Option<Trashed> {
    let writer = &parts.writer;
    let known = step.detail.place.as_ref().and_then(Place::trashed);
    if let Some(known) = known
        && let Some(meta) = writer.look_at_trashed(&known)
        && is_deleted(parts, step, thing, &known, &meta)
    {
        return Some(known);
    }
    if let Some(kept) = find_kept(parts, step, thing) {
        return Some(kept);
    }
    let found = writer.find_trashed(&step.path, &step.keeping(), &|meta| {
        let unchanged = thing.is_unchanged(meta.size, meta.modified);
        thing.is(meta) && (meta.kind != Kind::File || unchanged)
    })?;
    let meta = writer.look_at_trashed(&found)?;
    is_deleted(parts, step, thing, &found, &meta).then_some(found)
}

/// Where a deleted thing lies if it went into the steward's own keeping, which is told by the
/// name of its folder there: on another disk it has another number.
pub(super) fn find_kept(parts: &Parts, step: &Recorded, thing: Thing) -> Option<Trashed> {
    step.detail.keeping.as_deref().filter(|folder| !folder.is_empty())?;
    let writer = &parts.writer;
    let kept = writer.kept_copy(&step.path, &step.keeping());
    let meta = writer.look_at_trashed(&kept)?;
    is_deleted(parts, step, thing, &kept, &meta).then_some(kept)
}

/// Whether what lies in a trash is what this step deleted. A name there is given again when it
/// is free, and so is a number on the disk: a file is told by its text, a folder by its files.
pub(super) fn is_deleted(
    parts: &Parts,
    step: &Recorded,
    thing: Thing,
    place: &Trashed,
    meta: &Meta,
) -> bool {
    if meta.kind != thing.kind() {
        return false;
    }
    let writer = &parts.writer;
    let holds = |place: &Trashed, text: BlobHash| {
        writer.read_trashed(place).is_some_and(|bytes| BlobHash::of(&bytes) == text)
    };
    // Nobody but this deletion has a folder of that name in our keeping.
    let copied = matches!(place, Trashed::Kept { .. }) && meta.id.device != thing.id().device;
    match (thing.kind(), step.row.before) {
        (Kind::File, Some(text)) => holds(place, text),
        (Kind::File, None) if copied => thing.size == meta.size,
        (Kind::File, None) => thing.is(meta) && thing.is_unchanged(meta.size, meta.modified),
        (Kind::Folder, _) => {
            let Ok(had) = parts.rows.changes.files(step.row.id) else {
                return thing.is(meta);
            };
            let has = writer.files_in_trashed(place).unwrap_or_default();
            let named: HashSet<&str> = has.iter().map(String::as_str).collect();
            if copied || thing.is(meta) {
                // Somebody may have taken some of them out.
                return had.is_empty() || had.iter().any(|(name, _)| named.contains(&**name));
            }
            // Some file systems change the numbers: then it has to be the same to the letter.
            !had.is_empty()
                && had.len() == has.len()
                && had.iter().all(|(name, text)| {
                    named.contains(&**name)
                        && text.is_none_or(|text| {
                            place.below(name).is_some_and(|file| holds(&file, text))
                        })
                })
        }
        (Kind::Link | Kind::Other, _) => copied || thing.is(meta),
    }
}
