//! Taking back what was done.
//!
//! An undo is a change set like any other: steps that do the opposite, in the reverse order,
//! recorded as they are done. Everything that stands in its way is found first, on a picture of the
//! vault in which the steps planned so far are done.

use super::Journal;
use super::apply::Job;
use super::change::{Applied, ChangeId, ChangeSetId, Origin, Outcome, Target};
use super::error::UndoError;
use super::listing::{Difference, difference};
use super::picture::{Picture, There};
use super::plan::Texts;
use super::step::{Act, DELETE, Deed, Deletion, MOVE, Old, Recorded, Step, Thing, WRITE, revision};
use crate::note::path::VaultPath;
use crate::store::{BlobHash, StoreError};
use crate::vault::{Before, FileId, Keeping, Kind, Trashed, temp_name};

/// An undo that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The change set that did it, which can be undone itself. Its outcomes are those of its own
    /// steps, in their order.
    pub applied: Applied,
    /// What a person should hear, one sentence each: "`a.md` is back as `a (restored).md`".
    pub notes: Vec<String>,
}

impl Journal {
    /// Takes back a change set or one change of it, as a new change set. All or nothing: what
    /// stands in the way is found before anything is done.
    ///
    /// With `force` a file that has changed since goes back all the same; the newer text is kept
    /// with the undo, whose own undo brings it back.
    ///
    /// # Errors
    /// [`UndoError`]; nothing was changed then.
    pub fn undo(&self, target: Target, force: bool, origin: &Origin) -> Result<Undone, UndoError> {
        let _alone = self.alone();
        self.ready()?;
        let set = target.set();
        let mut rows = self.store().steps(set.0.cast_signed())?;
        if let Target::Change(change) = target {
            rows.retain(|row| row.number == change.number);
        }
        if rows.is_empty() {
            return Err(UndoError::Unknown(target));
        }
        if let Some(by) = rows.iter().filter_map(|row| row.undone_by).max()
            && rows.iter().all(|row| row.undone_by.is_some())
        {
            let by = ChangeSetId(by.cast_unsigned());
            return Err(UndoError::AlreadyUndone { target, by });
        }
        rows.retain(|row| row.undone_by.is_none());
        let mut undoing = Undoing::new(self, force);
        let mut undone = Vec::new();
        for row in rows.into_iter().rev() {
            let step = Recorded::read(row)?;
            undone.push(step.row.id);
            undoing.take_back(&step)?;
        }
        let title = match self.store().set(set.0.cast_signed())? {
            Some(row) => format!("undo {target}: {}", row.title),
            None => format!("undo {target}"),
        };
        let (steps, mut notes) = undoing.finish()?;
        let job = Job {
            kind: "undo",
            title: &title,
            origin,
            joins_turn: false,
            undoes: Some(target),
            steps: &steps,
            undone: &undone,
        };
        let (change_set, ends) = self.run(&job)?;
        for (step, ended) in steps.iter().zip(&ends) {
            if let (Act::RemoveFolder { path }, Outcome::FolderRemoved(false)) =
                (&step.act, &ended.outcome)
            {
                notes.push(format!("the folder `{path}` stays: it is not empty"));
            }
        }
        let outcomes = ends.into_iter().map(|ended| ended.outcome).collect();
        Ok(Undone { applied: Applied { change_set, outcomes }, notes })
    }
}

/// An undo that is being planned.
pub(super) struct Undoing<'a> {
    journal: &'a Journal,
    force: bool,
    picture: Picture<'a>,
    texts: Texts<'a>,
    steps: Vec<Step>,
    pub notes: Vec<String>,
    /// Counts the changes of the undo: one for each step of what is undone.
    change: usize,
}

impl<'a> Undoing<'a> {
    pub fn new(journal: &'a Journal, force: bool) -> Self {
        Self {
            journal,
            force,
            picture: Picture::new(journal),
            texts: Texts::new(journal.store().blobs()),
            steps: Vec::new(),
            notes: Vec::new(),
            change: 0,
        }
    }

    /// Makes the texts durable; gives the plan.
    pub fn finish(self) -> Result<(Vec<Step>, Vec<String>), StoreError> {
        self.texts.finish(&self.steps)?;
        Ok((self.steps, self.notes))
    }

    fn add(&mut self, act: Act, undoes: Option<i64>, files: Vec<(String, Option<BlobHash>)>) {
        let step = Step { change: self.change, act, undoes };
        self.picture.add(&step, files);
        self.steps.push(step);
    }

    fn make_parent(&mut self, path: &VaultPath) {
        for path in path.parent().map(|parent| self.picture.missing(&parent)).unwrap_or_default() {
            self.add(Act::Folder { path }, None, Vec::new());
        }
    }

    /// Plans the opposite of a step.
    fn take_back(&mut self, step: &Recorded) -> Result<(), UndoError> {
        let id = Some(step.row.id);
        let path = step.path.clone();
        let before = self.steps.len();
        match &step.deed {
            Deed::Folder => {
                if matches!(self.picture.at(&path), There::Folder) {
                    self.add(Act::RemoveFolder { path }, id, Vec::new());
                }
            }
            Deed::RemoveFolder => {
                if self.picture.is_free(&path) {
                    self.make_parent(&path);
                    self.add(Act::Folder { path }, id, Vec::new());
                }
            }
            Deed::Write { before: None, after } => self.uncreate(step, *after)?,
            Deed::Write { before: Some(before), after } => self.unwrite(step, *before, *after)?,
            Deed::Move { to, thing } => self.unmove(step, to, *thing)?,
            Deed::Delete { .. } => {
                self.undelete(step, None)?;
            }
            Deed::Restore { thing, .. } => self.unrestore(step, *thing)?,
        }
        self.change += usize::from(self.steps.len() > before);
        Ok(())
    }

    /// A file that was made goes, to the trash like any other.
    fn uncreate(&mut self, step: &Recorded, after: BlobHash) -> Result<(), UndoError> {
        let path = &step.path;
        match self.picture.at(path) {
            There::Nothing => {
                let by = self.later(step, MOVE)?;
                if by.is_some() || self.elsewhere(step)?.is_some() {
                    return Err(self.not_there(step)?);
                }
                self.notes.push(format!("`{path}` was gone already"));
                Ok(())
            }
            There::File { revision: found, disk } => {
                let text = match found == revision(after) {
                    true => Some(after),
                    false => self.changed(step, after, disk.as_ref())?,
                };
                self.delete(step, text)
            }
            There::Folder | There::Other => Err(self.not_there(step)?),
        }
    }

    fn delete(&mut self, step: &Recorded, text: Option<BlobHash>) -> Result<(), UndoError> {
        let path = &step.path;
        let meta = self.picture.meta(path);
        let size = |text| self.journal.store().blobs().length(text).unwrap_or(0);
        let thing = match (&meta, text) {
            (Some(meta), _) => Thing::of(meta),
            (None, text) => Thing::written(text.map_or(0, size)),
        };
        let deletion = Deletion {
            path: path.clone(),
            before: text.map_or(Before::Any, |text| Before::Revision(revision(text))),
            thing,
            text,
            files: Vec::new(),
            notes: 0,
            keeping: Keeping::new(),
        };
        self.add(Act::Delete(Box::new(deletion)), Some(step.row.id), Vec::new());
        Ok(())
    }

    fn unwrite(
        &mut self,
        step: &Recorded,
        before: BlobHash,
        after: BlobHash,
    ) -> Result<(), UndoError> {
        let path = &step.path;
        let There::File { revision: found, disk } = self.picture.at(path) else {
            return Err(self.not_there(step)?);
        };
        if found == revision(before) {
            self.notes.push(format!("`{path}` was as before already"));
            return Ok(());
        }
        let old = match found == revision(after) {
            true => after,
            false => self.changed(step, after, disk.as_ref())?.expect("a file has a text"),
        };
        let content = self.text(step, before)?;
        let in_place = step.detail.in_place;
        let act = Act::Write {
            path: path.clone(),
            old: Some(Old { text: old, in_place }),
            content,
            temp: temp_name(),
        };
        self.add(act, Some(step.row.id), Vec::new());
        Ok(())
    }

    fn unmove(&mut self, step: &Recorded, to: &VaultPath, thing: Thing) -> Result<(), UndoError> {
        let from = &step.path;
        let there = match (self.picture.at(to), thing.kind()) {
            (There::File { .. }, Kind::File) | (There::Folder, Kind::Folder) => true,
            (There::Other, Kind::Link | Kind::Other) => true,
            _ => false,
        };
        // The same name may be another file's by now.
        let meta = self.picture.meta(to);
        let moved_on = meta.is_some_and(|meta| !thing.is(&meta)) && self.by_number(thing).is_some();
        if !there || moved_on {
            return Err(self.not_there(step)?);
        }
        let respelt = from.fold_key() == to.fold_key();
        if !respelt && !self.picture.is_free(from) {
            return Err(UndoError::Taken { path: to.clone(), taken: from.clone() });
        }
        self.make_parent(from);
        let text = match self.picture.at(to) {
            There::File { disk: None, .. } => step.row.after,
            _ => None,
        };
        let thing = self.picture.meta(to).map_or(thing, |meta| Thing::of(&meta));
        let (from, to) = (to.clone(), from.clone());
        let act = Act::Move { from, to, thing, text, notes: 0 };
        self.add(act, Some(step.row.id), Vec::new());
        Ok(())
    }

    /// Plans to bring a deleted thing back, to where it was or to `to`; gives where it comes to.
    pub fn undelete(
        &mut self,
        step: &Recorded,
        to: Option<&VaultPath>,
    ) -> Result<VaultPath, UndoError> {
        let Deed::Delete { thing } = step.deed else {
            return Err(UndoError::NotInTrash { path: step.path.clone() });
        };
        let wanted = to.unwrap_or(&step.path);
        let path = self.free_name(wanted);
        if path != *wanted {
            self.notes.push(format!("`{wanted}` is taken, so it comes back as `{path}`"));
        }
        let files = self.journal.store().files(step.row.id)?;
        let id = Some(step.row.id);
        if let Some(from) = self.journal.find_deleted(step, thing) {
            self.make_parent(&path);
            let text = self.text_in_trash(&from).or(step.row.before);
            let thing = self
                .journal
                .vault()
                .writer()
                .look_at_trashed(&from)
                .map_or(thing, |meta| Thing::of(&meta));
            self.add(Act::Restore { from, to: path.clone(), thing, text }, id, files);
            return Ok(path);
        }
        match (thing.kind(), step.row.before) {
            (Kind::File, Some(text)) if step.row.texts_kept => {
                let content = self.text(step, text)?;
                self.make_parent(&path);
                let temp = temp_name();
                let write = Act::Write { path: path.clone(), old: None, content, temp };
                self.add(write, id, Vec::new());
            }
            (Kind::Folder, _)
                if step.row.texts_kept && files.iter().any(|file| file.1.is_some()) =>
            {
                self.make_parent(&path);
                self.add(Act::Folder { path: path.clone() }, id, Vec::new());
                for (below, text) in files {
                    let parts = below.split('/');
                    let file = parts.fold(Some(path.clone()), |at, name| at?.join(name));
                    let (Some(file), Some(text)) = (file, text) else {
                        self.notes.push(format!("`{path}/{below}` was not kept"));
                        continue;
                    };
                    let content = self.text(step, text)?;
                    self.make_parent(&file);
                    let temp = temp_name();
                    self.add(Act::Write { path: file, old: None, content, temp }, id, Vec::new());
                }
            }
            _ => return Err(UndoError::NotInTrash { path: step.path.clone() }),
        }
        Ok(path)
    }

    /// Plans to bring back what others put into `.trash/`.
    pub fn bring_back(&mut self, from: Trashed, thing: Thing, to: &VaultPath) -> VaultPath {
        let path = self.free_name(to);
        if path != *to {
            self.notes.push(format!("`{to}` is taken, so it comes back as `{path}`"));
        }
        self.make_parent(&path);
        let text = self.text_in_trash(&from);
        self.add(Act::Restore { from, to: path.clone(), thing, text }, None, Vec::new());
        path
    }

    /// The text of a file in a trash, which is kept with the step that brings it back.
    fn text_in_trash(&mut self, from: &Trashed) -> Option<BlobHash> {
        let bytes = self.journal.vault().writer().read_trashed(from)?;
        self.texts.keep(bytes).ok()
    }

    fn unrestore(&mut self, step: &Recorded, thing: Thing) -> Result<(), UndoError> {
        match (self.picture.at(&step.path), thing.kind()) {
            (There::File { revision: found, disk }, Kind::File) => {
                let text = match step.row.after {
                    Some(after) if found != revision(after) => {
                        self.changed(step, after, disk.as_ref())?
                    }
                    after => after,
                };
                self.delete(step, text)
            }
            (There::Folder, Kind::Folder) => {
                let plan =
                    super::plan::deletion(self.journal, &step.path, Before::Any, &mut self.texts);
                let mut deletion = plan?;
                deletion.notes = 0;
                let act = Act::Delete(Box::new(deletion));
                self.add(act, Some(step.row.id), Vec::new());
                Ok(())
            }
            (There::Other, Kind::Link | Kind::Other) => self.delete(step, None),
            _ => Err(self.not_there(step)?),
        }
    }

    /// `name.md`, else `name (restored).md`, `name (restored 2).md`, …
    fn free_name(&self, path: &VaultPath) -> VaultPath {
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
            .find(|path| self.picture.is_free(path))
            .expect("there are more numbers than files")
    }

    /// The text that a file has now, where the undo goes over it by force.
    fn changed(
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

    fn text(&self, step: &Recorded, text: BlobHash) -> Result<Vec<u8>, UndoError> {
        let unkept = |reason: String| UndoError::NotKept { path: step.path.clone(), reason };
        if !step.row.texts_kept {
            return Err(unkept("its time is over".to_owned()));
        }
        self.journal.store().blobs().get(text).map_err(|error| unkept(error.to_string()))
    }

    /// The first change after a step that did `kind` to its thing.
    fn later(&self, step: &Recorded, kind: &str) -> Result<Option<ChangeId>, UndoError> {
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
    fn elsewhere(&self, step: &Recorded) -> Result<Option<VaultPath>, UndoError> {
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
    fn by_number(&self, thing: Thing) -> Option<VaultPath> {
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

    fn not_there(&self, step: &Recorded) -> Result<UndoError, UndoError> {
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
        let known = step.detail.place.as_ref().and_then(super::step::Place::trashed);
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
