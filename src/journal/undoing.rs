//! An undo that is being planned, step by step.

use std::sync::Mutex;

use super::error::UndoError;
use super::follow::NameStep;
use super::marks::Marks;
use super::parts::Parts;
use super::picture::Picture;
use super::plan::Texts;
use super::step::{Act, Old, Recorded, Step};
use crate::note::path::{MAX_NAME_BYTES, VaultPath};
use crate::store::BlobHash;
use crate::vault::{Revision, temp_name};

/// A planned write of a text in which somebody's own lines stay.
pub(super) struct Merged {
    /// Where the file lies on the disk.
    pub disk: VaultPath,
    /// Its text there.
    pub now: Vec<u8>,
    /// Its path when it is written.
    pub path: VaultPath,
    /// Which of the planned steps writes it last.
    pub step: usize,
}

/// An undo that is being planned.
pub(super) struct Undoing<'a> {
    pub parts: &'a Parts,
    pub marks: &'a Mutex<Marks>,
    pub force: bool,
    pub picture: Picture<'a>,
    pub texts: Texts<'a>,
    pub steps: Vec<Step>,
    /// What they do to names.
    pub names: Vec<NameStep>,
    /// Writes in which somebody's own lines stay.
    pub merged: Vec<Merged>,
    /// Whether what is undone has changed names, so that links had followed.
    pub moves: bool,
    pub notes: Vec<String>,
    /// Counts the changes of the undo: one for each step of what is undone.
    pub change: usize,
}

impl<'a> Undoing<'a> {
    pub fn new(parts: &'a Parts, marks: &'a Mutex<Marks>, force: bool) -> Self {
        Self {
            parts,
            marks,
            force,
            picture: Picture::new(parts.vault()),
            texts: Texts::new(&parts.blobs),
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

    pub fn add(&mut self, act: Act, undoes: Option<i64>, files: Vec<(String, Option<BlobHash>)>) {
        self.names.extend(NameStep::of(&act, &files));
        self.plan(act, undoes, files);
    }

    /// Adds a step that is nothing to names and links.
    pub fn plan(&mut self, act: Act, undoes: Option<i64>, files: Vec<(String, Option<BlobHash>)>) {
        let step = Step { change: self.change, act, undoes };
        self.picture.add(&step, files);
        self.steps.push(step);
    }

    pub fn make_parent(&mut self, path: &VaultPath) {
        for path in path.parent().map(|parent| self.picture.missing(&parent)).unwrap_or_default() {
            self.add(Act::Folder { path }, None, Vec::new());
        }
    }

    /// `name.md` in its folder however that is spelt by now, else `name (restored).md`, `name (restored 2).md`, …
    pub fn free_name(&self, path: &VaultPath) -> VaultPath {
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

    pub fn text(&self, step: &Recorded, text: BlobHash) -> Result<Vec<u8>, UndoError> {
        let unkept = |reason: String| UndoError::NotKept { path: step.path.clone(), reason };
        if !step.row.texts_kept {
            return Err(unkept("its time is over".to_owned()));
        }
        self.parts.blobs.get(text).map_err(|error| unkept(error.to_string()))
    }

    /// The text that a file has now: on the disk, or as this same undo will have put it there by
    /// then, where somebody wrote between two changes of one turn.
    pub fn now(&self, found: Revision, disk: Option<&VaultPath>) -> Option<Vec<u8>> {
        match disk {
            Some(disk) => self.parts.vault().read(disk).ok().map(|now| now.bytes),
            None => self.planned(found),
        }
    }

    /// The text of this revision that a step planned so far writes or brings back.
    pub fn planned(&self, found: Revision) -> Option<Vec<u8>> {
        self.steps.iter().rev().find_map(|step| match &step.act {
            Act::Write { content, .. } if Revision::of(content) == found => Some(content.clone()),
            Act::Restore { from, .. } => {
                let bytes = self.parts.writer.read_trashed(from)?;
                (Revision::of(&bytes) == found).then_some(bytes)
            }
            _ => None,
        })
    }

    /// Plans to write a text over the one that is there, which is kept already; `names`: whether its
    /// links are as they are to be.
    pub fn write(
        &mut self,
        step: &Recorded,
        path: &VaultPath,
        old: BlobHash,
        content: Vec<u8>,
        names: bool,
    ) {
        let old = Some(Old { text: old, in_place: step.detail.in_place, read: None });
        let act = Act::Write { path: path.clone(), old, content, temp: temp_name() };
        match names {
            true => self.add(act, Some(step.row.id), Vec::new()),
            false => self.plan(act, Some(step.row.id), Vec::new()),
        }
    }
}
