//! The opposite of each step, and whether it can be done.

use super::Journal;
use super::error::UndoError;
use super::follow::NameStep;
use super::merging::Merged;
use super::picture::{Picture, There};
use super::plan::{Texts, deletion};
use super::step::{Act, Deed, Deletion, MOVE, Recorded, Step, Thing, revision};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{Before, Keeping, Kind, Trashed, temp_name};

/// An undo that is being planned.
pub(super) struct Undoing<'a> {
    pub(super) journal: &'a Journal,
    pub(super) force: bool,
    pub(super) picture: Picture<'a>,
    pub(super) texts: Texts<'a>,
    pub(super) steps: Vec<Step>,
    /// What they do to names.
    pub(super) names: Vec<NameStep>,
    /// Writes in which somebody's own lines stay.
    pub(super) merged: Vec<Merged>,
    /// Whether what is undone has changed names, so that links had followed.
    pub(super) moves: bool,
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
            texts: Texts::new(&journal.store().blobs),
            steps: Vec::new(),
            names: Vec::new(),
            merged: Vec::new(),
            moves: false,
            notes: Vec::new(),
            change: 0,
        }
    }

    /// Makes the texts durable; gives the plan.
    ///
    /// # Errors
    /// As the store and, for what could not be looked at, as the system says.
    pub fn finish(self) -> Result<(Vec<Step>, Vec<String>), UndoError> {
        if let Some(error) = self.picture.failure() {
            return Err(error.into());
        }
        self.texts.finish(&self.steps)?;
        Ok((self.steps, self.notes))
    }

    pub(super) fn add(
        &mut self,
        act: Act,
        undoes: Option<i64>,
        files: Vec<(String, Option<BlobHash>)>,
    ) {
        self.names.extend(NameStep::of(&act, &files));
        self.plan(act, undoes, files);
    }

    /// Adds a step that is nothing to names and links.
    pub(super) fn plan(
        &mut self,
        act: Act,
        undoes: Option<i64>,
        files: Vec<(String, Option<BlobHash>)>,
    ) {
        let step = Step { change: self.change, act, undoes };
        self.picture.add(&step, files);
        self.steps.push(step);
    }

    pub(super) fn make_parent(&mut self, path: &VaultPath) {
        for path in path.parent().map(|parent| self.picture.missing(&parent)).unwrap_or_default() {
            self.add(Act::Folder { path }, None, Vec::new());
        }
    }

    /// Plans the opposite of a step.
    ///
    /// # Errors
    /// What stands in the way, and as the system says.
    pub fn take_back(&mut self, step: &Recorded) -> Result<(), UndoError> {
        let planned = self.plan_opposite(step);
        // What stands in the way may be what could not be seen.
        planned.map_err(|error| self.picture.failure().map_or(error, UndoError::from))
    }

    fn plan_opposite(&mut self, step: &Recorded) -> Result<(), UndoError> {
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
                let path = self.picture.spelt(&path);
                if self.picture.is_free(&path) && !self.picture.has_twin(&path) {
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
        let Some(path) = self.place(step)? else {
            let path = &step.path;
            let is_nothing = matches!(self.picture.at(path), There::Nothing);
            if !is_nothing || self.later(step, MOVE)?.is_some() || self.elsewhere(step)?.is_some() {
                return Err(self.not_there(step)?);
            }
            self.notes.push(format!("`{path}` was gone already"));
            return Ok(());
        };
        let There::File { revision: found, disk } = self.picture.at(&path) else {
            return Err(self.not_there(step)?);
        };
        let text = match found == revision(after) {
            true => after,
            false => {
                let now = self.now(found, disk.as_ref());
                self.changed(step, &path, after, now, None)?
            }
        };
        self.delete(step, &path, Some(text))
    }

    /// Where a step's file is, said where that is no longer its path.
    fn place(&mut self, step: &Recorded) -> Result<Option<VaultPath>, UndoError> {
        let place = self.whereabouts(step)?;
        if let Some(place) = place.as_ref().filter(|place| **place != step.path) {
            self.notes.push(format!("`{}` is `{place}` by now", step.path));
        }
        Ok(place)
    }

    fn delete(
        &mut self,
        step: &Recorded,
        path: &VaultPath,
        text: Option<BlobHash>,
    ) -> Result<(), UndoError> {
        let meta = self.picture.meta(path);
        let size = |text| self.journal.store().blobs.length(text).unwrap_or(0);
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
            counted: 0,
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
        let Some(path) = self.place(step)? else {
            return self.unwrite_gone(step, before, after);
        };
        let There::File { revision: found, disk } = self.picture.at(&path) else {
            return Err(self.not_there(step)?);
        };
        if found == revision(before) {
            self.notes.push(format!("`{path}` was as before already"));
            return Ok(());
        }
        if found != revision(after) {
            return self.take_out(step, &path, (before, after), (found, disk));
        }
        let content = self.text(step, before)?;
        self.write(step, &path, after, content, true);
        Ok(())
    }

    fn unmove(&mut self, step: &Recorded, to: &VaultPath, thing: Thing) -> Result<(), UndoError> {
        let from = &self.picture.spelt(&step.path);
        let there = matches!(
            (self.picture.at(to), thing.kind()),
            (There::File { .. }, Kind::File)
                | (There::Folder, Kind::Folder)
                | (There::Other, Kind::Link | Kind::Other)
        );
        // The same name may be another file's by now.
        let meta = self.picture.meta(to);
        let moved_on = meta.is_some_and(|meta| !thing.is(&meta))
            && (self.by_number(thing).is_some() || self.is_in_trash(to, thing));
        if !there || moved_on {
            return Err(self.not_there(step)?);
        }
        let respelt = from.fold_key() == to.fold_key();
        if !respelt && (!self.picture.is_free(from) || self.picture.has_twin(from)) {
            return Err(UndoError::Taken { path: to.clone(), taken: from.clone() });
        }
        self.make_parent(from);
        let planned = match self.picture.at(to) {
            There::File { disk: None, revision } => self.planned(revision),
            _ => None,
        };
        // What this same undo writes there before is another file by then, known by its text.
        let text = planned.as_deref().map(BlobHash::of);
        let written = planned.map_or(thing, |text| Thing::written(text.len() as u64));
        let thing = self.picture.meta(to).map_or(written, |meta| Thing::of(&meta));
        let (from, to) = (to.clone(), from.clone());
        let act = Act::Move { from, to, thing, text, counted: 0 };
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
        if path.name() != wanted.name() {
            self.notes.push(format!("`{wanted}` is taken, so it comes back as `{path}`"));
        }
        let files = self.journal.store().journal.changes.files(step.row.id)?;
        let id = Some(step.row.id);
        if let Some(from) = self.journal.find_deleted(step, thing) {
            self.make_parent(&path);
            let text = self.text_in_trash(&from).or(step.row.before);
            let thing =
                self.journal.writer().look_at_trashed(&from).map_or(thing, |meta| Thing::of(&meta));
            let (to, temp) = (path.clone(), temp_name());
            self.add(Act::Restore { from, to, thing, text, temp }, id, files);
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
                self.notes.push(format!(
                    "`{path}` is no longer in the trash: its files come back from the journal, which \
                     has no links, empty folders and rights"
                ));
                for (below, text) in files {
                    let mut parts = below.split('/');
                    let file = parts.try_fold(path.clone(), |at, name| at.join(name));
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
            _ if step.detail.emptied => {
                return Err(UndoError::Emptied { path: step.path.clone() });
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
        let below = match thing.kind() {
            Kind::Folder => self.journal.writer().trashed_files(&from),
            _ => Vec::new(),
        };
        let files = below.into_iter().map(|file| (file.as_str().to_owned(), None)).collect();
        let (to, temp) = (path.clone(), temp_name());
        self.add(Act::Restore { from, to, thing, text, temp }, None, files);
        path
    }

    /// The text of a file in a trash, which is kept with the step that brings it back.
    fn text_in_trash(&mut self, from: &Trashed) -> Option<BlobHash> {
        let bytes = self.journal.writer().read_trashed(from)?;
        self.texts.keep(bytes).ok()
    }

    fn unrestore(&mut self, step: &Recorded, thing: Thing) -> Result<(), UndoError> {
        match (self.picture.at(&step.path), thing.kind()) {
            (There::File { revision: found, disk }, Kind::File) => {
                let text = match step.row.after {
                    Some(after) if found != revision(after) => {
                        let now = self.now(found, disk.as_ref());
                        Some(self.changed(step, &step.path, after, now, None)?)
                    }
                    after => after,
                };
                self.delete(step, &step.path, text)
            }
            (There::Folder, Kind::Folder) => {
                let plan = deletion(self.journal, &step.path, Before::Any, &mut self.texts);
                let mut deletion = plan?;
                deletion.counted = 0;
                let act = Act::Delete(Box::new(deletion));
                self.add(act, Some(step.row.id), Vec::new());
                Ok(())
            }
            (There::Other, Kind::Link | Kind::Other) => self.delete(step, &step.path, None),
            _ => Err(self.not_there(step)?),
        }
    }
}
