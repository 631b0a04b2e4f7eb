//! The plan of an undo, built step by step.

use std::collections::HashMap;
use std::sync::Mutex;

use super::error::UndoError;
use super::follow::NameStep;
use super::overlay::Overlay;
use super::parts::Parts;
use super::plan::TextBatch;
use super::rename_counts::RenameCounts;
use super::step::{Act, Old, RecordedStep, Step};
use crate::note::path::{MAX_NAME_BYTES, VaultPath};
use crate::store::BlobHash;
use crate::vault::{Revision, is_temp_path, temp_name};

/// A planned write whose links may have to be updated.
pub(super) struct Merged {
    /// Where the file is on disk now.
    pub disk: VaultPath,
    /// The text on which updates are based: that on disk if others' edits are merged, else the
    /// planned one.
    pub now: Vec<u8>,
    pub path: VaultPath,
    /// The index of the planned step that writes it last.
    pub step: usize,
}

pub(super) struct UndoPlan<'a> {
    pub parts: &'a Parts,
    pub rename_counts: &'a Mutex<RenameCounts>,
    pub force: bool,
    pub overlay: Overlay<'a>,
    pub texts: TextBatch<'a>,
    pub steps: Vec<Step>,
    /// For each text that a step writes or restores, the index of the last such step.
    by_text: HashMap<Revision, usize>,
    /// The change that moved each file to a hidden name.
    hidden: HashMap<VaultPath, usize>,
    pub names: Vec<NameStep>,
    /// Writes that merge others' edits, or restore a text while other changes of the set stay.
    pub merged: Vec<Merged>,
    /// Whether other changes of the set stay.
    pub is_part: bool,
    /// Whether the undone changes affected names, so that links had followed.
    pub moves: bool,
    pub notes: Vec<String>,
    /// Counts the changes of the undo: one per undone step.
    pub change: usize,
}

impl<'a> UndoPlan<'a> {
    pub fn new(parts: &'a Parts, rename_counts: &'a Mutex<RenameCounts>, force: bool) -> Self {
        Self {
            parts,
            rename_counts,
            force,
            overlay: Overlay::new(parts.vault()),
            texts: TextBatch::new(&parts.blobs),
            steps: Vec::new(),
            by_text: HashMap::new(),
            hidden: HashMap::new(),
            names: Vec::new(),
            merged: Vec::new(),
            is_part: false,
            moves: false,
            notes: Vec::new(),
            change: 0,
        }
    }

    /// Makes the texts durable; returns the steps and the notes.
    pub fn finish(self) -> Result<(Vec<Step>, Vec<String>), UndoError> {
        if let Some(error) = self.overlay.failure() {
            return Err(error.into());
        }
        self.texts.finish(&self.steps, &())?;
        Ok((self.steps, self.notes))
    }

    pub fn add(&mut self, act: Act, undoes: Option<i64>, files: Vec<(String, Option<BlobHash>)>) {
        self.names.extend(NameStep::of(&act, &files));
        self.add_without_names(act, undoes, files);
    }

    /// Adds a step that does not affect names or links.
    pub fn add_without_names(
        &mut self,
        act: Act,
        undoes: Option<i64>,
        files: Vec<(String, Option<BlobHash>)>,
    ) {
        let mut change = self.change;
        if let Act::Move { from, to, .. } = &act {
            // A move over a hidden name is one change with the move that led there.
            change = self.hidden.remove(from).unwrap_or(change);
            if is_temp_path(to) {
                self.hidden.insert(to.clone(), change);
            }
        }
        let step = Step { change, act, undoes };
        let text = match &step.act {
            Act::Write { content, .. } => Some(Revision::of(content)),
            Act::Restore { text, .. } => text.map(super::step::revision),
            _ => None,
        };
        self.by_text.extend(text.map(|text| (text, self.steps.len())));
        self.overlay.add(&step, files);
        self.steps.push(step);
    }

    pub fn make_parent(&mut self, path: &VaultPath) {
        for path in path.parent().map(|parent| self.overlay.missing(&parent)).unwrap_or_default() {
            self.add(Act::Folder { path }, None, Vec::new());
        }
    }

    /// `name.md`, else `name (restored).md`, `name (restored 2).md`, …, in its folder as the plan
    /// spells it.
    pub fn free_name(&self, path: &VaultPath) -> VaultPath {
        let path = &self.overlay.spelt(path);
        let name = path.name();
        let (stem, extension) = match name.rfind('.') {
            Some(dot) if dot > 0 => name.split_at(dot),
            _ => (name, ""),
        };
        let parent = path.parent().unwrap_or_else(VaultPath::root);
        // Shortens the stem if the name would be too long.
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
            .find(|path| self.overlay.is_free(path) && !self.overlay.has_case_variant(path))
            .expect("there are more numbers than files")
    }

    pub fn text(&self, step: &RecordedStep, text: BlobHash) -> Result<Vec<u8>, UndoError> {
        let unkept = |reason: String| UndoError::NotKept { path: step.path.clone(), reason };
        if !step.row.texts_kept {
            return Err(unkept("its time is over".to_owned()));
        }
        self.parts.blobs.get(text).map_err(|error| unkept(error.to_string()))
    }

    /// The file's current text: on disk, or as this undo will have written it, if another program
    /// edited the file between two changes of one turn.
    pub fn now(&self, found: Revision, disk: Option<&VaultPath>) -> Option<Vec<u8>> {
        match disk {
            Some(disk) => self.parts.vault().read(disk).ok().map(|now| now.bytes),
            None => self.planned(found),
        }
    }

    /// The text with this revision that a planned step writes or restores.
    pub fn planned(&self, found: Revision) -> Option<Vec<u8>> {
        match &self.steps[*self.by_text.get(&found)?].act {
            Act::Write { content, .. } => Some(content.clone()),
            Act::Restore { from, .. } => {
                let bytes = self.parts.writer.read_trashed(from)?;
                (Revision::of(&bytes) == found).then_some(bytes)
            }
            _ => None,
        }
    }

    /// Plans to put back the text from before a change into the file at `disk`. If other changes of the set stay, its
    /// links can be updated.
    pub fn put_back(
        &mut self,
        step: &RecordedStep,
        (path, disk): (&VaultPath, Option<VaultPath>),
        old: BlobHash,
        content: Vec<u8>,
    ) {
        let Some(disk) = disk.filter(|_| self.is_part) else {
            return self.write(step, path, old, content, true);
        };
        self.names.push(NameStep::PutBack {
            number: step.row.number,
            was: step.path.clone(),
            disk: disk.clone(),
            path: path.clone(),
            text: content.clone(),
        });
        let (now, path) = (content.clone(), path.clone());
        self.merged.push(Merged { disk, now, path: path.clone(), step: self.steps.len() });
        self.write(step, &path, old, content, false);
    }

    /// Plans to overwrite the text `old`, which is stored already. `names`: whether the new text's
    /// links are final.
    pub fn write(
        &mut self,
        step: &RecordedStep,
        path: &VaultPath,
        old: BlobHash,
        content: Vec<u8>,
        names: bool,
    ) {
        let old = Some(Old { text: old, in_place: step.detail.in_place, read: None });
        let act = Act::Write { path: path.clone(), old, content, temp: temp_name() };
        if names {
            self.add(act, Some(step.row.id), Vec::new())
        } else {
            self.add_without_names(act, Some(step.row.id), Vec::new())
        }
    }
}
