//! What stands in the way of an undo: said with what is known of it.

use std::collections::HashSet;

use super::Journal;
use super::change::{ChangeId, ChangeSetId};
use super::error::UndoError;
use super::listing::{Difference, difference};
use super::opposite::Undoing;
use super::step::{Act, DELETE, Deed, MOVE, Place, Recorded, Thing};
use crate::note::path::{MAX_NAME_BYTES, VaultPath};
use crate::store::BlobHash;
use crate::vault::{FileId, Keeping, Kind, Meta, Revision, Trashed};

impl Undoing<'_> {
    /// `name.md` in its folder however that is spelt by now, else `name (restored).md`, `name (restored 2).md`, …
    pub(super) fn free_name(&self, path: &VaultPath) -> VaultPath {
        let path = &self.picture.spelt(path);
        let name = path.name();
        let (stem, extension) = match name.rfind('.') {
            Some(dot) if dot > 0 => name.split_at(dot),
            _ => (name, ""),
        };
        let parent = path.parent().unwrap_or_else(VaultPath::root);
        // Shortened where a name would become too long.
        let with = |end: String| {
            let mut room = MAX_NAME_BYTES.saturating_sub(end.len()).min(stem.len());
            while !stem.is_char_boundary(room) {
                room -= 1;
            }
            format!("{}{end}", &stem[..room])
        };
        let names = (0_u32..).map(|number| match number {
            0 => name.to_owned(),
            1 => with(format!(" (restored){extension}")),
            _ => with(format!(" (restored {number}){extension}")),
        });
        names
            .filter_map(|name| parent.join(&name))
            .find(|path| self.picture.is_free(path) && !self.picture.has_twin(path))
            .expect("there are more numbers than files")
    }

    /// The text that a file has now: on the disk, or as this same undo will have put it there by
    /// then, where somebody wrote between two changes of one turn.
    pub(super) fn now(&self, found: Revision, disk: Option<&VaultPath>) -> Option<Vec<u8>> {
        match disk {
            Some(disk) => self.journal.vault().read(disk).ok().map(|now| now.bytes),
            None => self.planned(found),
        }
    }

    /// What was changed since, for the error that says so.
    pub(super) fn difference(
        &self,
        path: &VaultPath,
        after: BlobHash,
        now: Option<Vec<u8>>,
    ) -> String {
        let then = self.journal.store().blobs.get(after);
        match (then, now) {
            (Ok(then), Some(now)) => match difference(&then, &now, path) {
                Difference::Text(diff) => diff,
                _ => "the file is not text".to_owned(),
            },
            _ => "what changed cannot be shown".to_owned(),
        }
    }

    /// The text of this revision that a step planned so far writes or brings back.
    pub(super) fn planned(&self, found: Revision) -> Option<Vec<u8>> {
        self.steps.iter().rev().find_map(|step| match &step.act {
            Act::Write { content, .. } if Revision::of(content) == found => Some(content.clone()),
            Act::Restore { from, .. } => {
                let bytes = self.journal.writer().read_trashed(from)?;
                (Revision::of(&bytes) == found).then_some(bytes)
            }
            _ => None,
        })
    }

    pub(super) fn text(&self, step: &Recorded, text: BlobHash) -> Result<Vec<u8>, UndoError> {
        let unkept = |reason: String| UndoError::NotKept { path: step.path.clone(), reason };
        if !step.row.texts_kept {
            return Err(unkept("its time is over".to_owned()));
        }
        self.journal.store().blobs.get(text).map_err(|error| unkept(error.to_string()))
    }

    /// The first change after a step that did `kind` to its thing.
    pub(super) fn later(&self, step: &Recorded, kind: &str) -> Result<Option<ChangeId>, UndoError> {
        let at = match &step.deed {
            Deed::Move { to, .. } => to,
            _ => &step.path,
        };
        let rows =
            self.journal.store().journal.changes.later_steps(kind, at.as_str(), step.row.id)?;
        Ok(rows
            .first()
            .map(|row| ChangeId { set: ChangeSetId(row.set.cast_unsigned()), number: row.number }))
    }

    /// Where a thing is now that has left its path: followed through the journal.
    pub(super) fn elsewhere(&self, step: &Recorded) -> Result<Option<VaultPath>, UndoError> {
        let (mut at, thing) = match &step.deed {
            Deed::Move { to, thing } => (to.clone(), Some(*thing)),
            _ => (step.path.clone(), None),
        };
        let (mut after, mut moved) = (step.row.id, false);
        while let Some(row) = self
            .journal
            .store()
            .journal
            .changes
            .later_steps(MOVE, at.as_str(), after)?
            .into_iter()
            .next()
        {
            let to = row.other.as_deref().unwrap_or_default();
            let rest = at.as_str().strip_prefix(row.path.as_str()).unwrap_or_default();
            let Some(next) = VaultPath::from_disk(&format!("{to}{rest}")) else { break };
            (at, after, moved) = (next, row.id, true);
        }
        if moved && !self.picture.is_free(&at) {
            return Ok(Some(at));
        }
        Ok(thing.and_then(|thing| self.by_number(thing)))
    }

    /// Where the thing with this number on the disk is, if it is in the vault.
    pub(super) fn by_number(&self, thing: Thing) -> Option<VaultPath> {
        let catalogue = self.journal.vault().catalogue();
        // Numbers are given again, so a file has to have its size and time too.
        let root = VaultPath::root();
        let mut all = catalogue.within(&root);
        let found = all.find(|entry| {
            thing.id() != FileId::UNKNOWN
                && entry.id == thing.id()
                && entry.kind == thing.kind()
                && (entry.kind != Kind::File || thing.is_unchanged(entry.size, entry.modified))
        });
        found.map(|entry| entry.path().to_path())
    }

    /// Whether the thing that had this path lies in a trash: somebody else has deleted it.
    pub(super) fn is_in_trash(&self, path: &VaultPath, thing: Thing) -> bool {
        let unchanged =
            |meta: &Meta| meta.kind != Kind::File || thing.is_unchanged(meta.size, meta.modified);
        let writer = self.journal.writer();
        let found = writer.find_trashed(path, &Keeping::new(), &|meta| {
            thing.id() != FileId::UNKNOWN && thing.id() == meta.id && unchanged(meta)
        });
        found.is_some()
    }

    pub(super) fn not_there(&self, step: &Recorded) -> Result<UndoError, UndoError> {
        let path = match &step.deed {
            Deed::Move { to, .. } => to.clone(),
            _ => step.path.clone(),
        };
        let by = match self.later(step, MOVE)? {
            Some(by) => Some(by),
            None => self.later(step, DELETE)?,
        };
        Ok(UndoError::NotThere { path, now: self.elsewhere(step)?, by, anew: false })
    }
}

impl Journal {
    /// Where a deleted thing lies, if it is still in a trash and still itself.
    pub(super) fn find_deleted(&self, step: &Recorded, thing: Thing) -> Option<Trashed> {
        let writer = self.writer();
        let known = step.detail.place.as_ref().and_then(Place::trashed);
        if let Some(known) = known
            && let Some(meta) = writer.look_at_trashed(&known)
            && self.is_deleted(step, thing, &known, &meta)
        {
            return Some(known);
        }
        if let Some(kept) = self.find_kept(step, thing) {
            return Some(kept);
        }
        let found = writer.find_trashed(&step.path, &step.keeping(), &|meta| {
            let unchanged = thing.is_unchanged(meta.size, meta.modified);
            thing.is(meta) && (meta.kind != Kind::File || unchanged)
        })?;
        let meta = writer.look_at_trashed(&found)?;
        self.is_deleted(step, thing, &found, &meta).then_some(found)
    }

    /// Where a deleted thing lies if it went into the steward's own keeping, which is told by the
    /// name of its folder there: on another disk it has another number.
    pub(super) fn find_kept(&self, step: &Recorded, thing: Thing) -> Option<Trashed> {
        step.detail.keeping.as_deref().filter(|folder| !folder.is_empty())?;
        let writer = self.writer();
        let kept = writer.kept_copy(&step.path, &step.keeping());
        let meta = writer.look_at_trashed(&kept)?;
        self.is_deleted(step, thing, &kept, &meta).then_some(kept)
    }

    /// Whether what lies in a trash is what this step deleted. A name there is given again when it
    /// is free, and so is a number on the disk: a file is told by its text, a folder by its files.
    pub(super) fn is_deleted(
        &self,
        step: &Recorded,
        thing: Thing,
        place: &Trashed,
        meta: &Meta,
    ) -> bool {
        if meta.kind != thing.kind() {
            return false;
        }
        let writer = self.writer();
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
                let Ok(had) = self.store().journal.changes.files(step.row.id) else {
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
}
