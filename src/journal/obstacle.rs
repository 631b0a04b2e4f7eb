//! What stands in the way of an undo: said with what is known of it.

use super::Journal;
use super::change::{ChangeId, ChangeSetId};
use super::error::UndoError;
use super::listing::{Difference, difference};
use super::opposite::Undoing;
use super::step::{DELETE, Deed, MOVE, Place, Recorded, Thing, WRITE};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{FileId, Kind, Trashed};

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
        let names = (0_u32..).map(|number| match number {
            0 => name.to_owned(),
            1 => format!("{stem} (restored){extension}"),
            _ => format!("{stem} (restored {number}){extension}"),
        });
        names
            .filter_map(|name| parent.join(&name))
            .find(|path| self.picture.is_free(path) && !self.picture.has_twin(path))
            .expect("there are more numbers than files")
    }

    /// The text that a file has now, where the undo goes over it by force.
    pub(super) fn changed(
        &mut self,
        step: &Recorded,
        after: BlobHash,
        disk: Option<&VaultPath>,
    ) -> Result<Option<BlobHash>, UndoError> {
        let path = &step.path;
        let by = self.later(step, WRITE)?;
        let now = disk.map(|disk| self.journal.vault().read(disk)).transpose();
        if let (true, Ok(Some(now))) = (self.force, &now) {
            let text = self.texts.keep(now.bytes.clone())?;
            self.notes.push(format!(
                "the newer text of `{path}` is kept; undo this undo to have it back"
            ));
            return Ok(Some(text));
        }
        let then = self.journal.store().blobs().get(after);
        let diff = match (then, now) {
            (Ok(then), Ok(Some(now))) => match difference(&then, &now.bytes, path) {
                Difference::Text(diff) => diff,
                _ => "the file is not text".to_owned(),
            },
            _ => "what changed cannot be shown".to_owned(),
        };
        let by = by.map(|by| by.set);
        Err(UndoError::Changed { path: path.clone(), diff, by })
    }

    pub(super) fn text(&self, step: &Recorded, text: BlobHash) -> Result<Vec<u8>, UndoError> {
        let unkept = |reason: String| UndoError::NotKept { path: step.path.clone(), reason };
        if !step.row.texts_kept {
            return Err(unkept("its time is over".to_owned()));
        }
        self.journal.store().blobs().get(text).map_err(|error| unkept(error.to_string()))
    }

    /// The first change after a step that did `kind` to its thing.
    pub(super) fn later(&self, step: &Recorded, kind: &str) -> Result<Option<ChangeId>, UndoError> {
        let at = match &step.deed {
            Deed::Move { to, .. } => to,
            _ => &step.path,
        };
        let rows = self.journal.store().later_steps(kind, at.as_str(), step.row.id)?;
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
        while let Some(row) =
            self.journal.store().later_steps(MOVE, at.as_str(), after)?.into_iter().next()
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
        let found = catalogue.within(&root).find(|entry| {
            thing.id() != FileId::UNKNOWN
                && entry.id == thing.id()
                && entry.kind == thing.kind()
                && (entry.kind != Kind::File || thing.is_unchanged(entry.size, entry.modified))
        });
        found.map(|entry| entry.path().clone())
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
        Ok(UndoError::NotThere { path, now: self.elsewhere(step)?, by })
    }
}

impl Journal {
    /// Where a deleted thing lies, if it is still in a trash and still itself.
    pub(super) fn find_deleted(&self, step: &Recorded, thing: Thing) -> Option<Trashed> {
        let writer = self.vault().writer();
        let known = step.detail.place.as_ref().and_then(Place::trashed);
        if let Some(known) = known
            && let Some(meta) = writer.look_at_trashed(&known)
        {
            let text = || writer.read_trashed(&known).map(|bytes| BlobHash::of(&bytes));
            if thing.is(&meta)
                || (meta.kind == thing.kind()
                    && (meta.kind != Kind::File || text() == step.row.before))
            {
                return Some(known);
            }
        }
        writer.find_trashed(&step.path, &step.keeping(), &|meta| {
            let unchanged = thing.is_unchanged(meta.size, meta.modified);
            thing.is(meta) && (meta.kind != Kind::File || unchanged)
        })
    }
}
