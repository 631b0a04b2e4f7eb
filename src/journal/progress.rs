//! Computes how many steps of an interrupted operation were done, from the files at all of its paths.
//!
//! One path is not enough: when files are exchanged, a file that a later step wrote and a file that an earlier
//! step has yet to move may be at the same path. All paths together are, since steps run one after the other.

use std::collections::{HashMap, HashSet};

use super::on_disk::revision_on_disk;
use super::parts::Parts;
use super::step::{FileIdentity, RecordedAct, RecordedStep, revision};
use crate::note::path::VaultPath;
use crate::note::path_map::PathMap;
use crate::store::BlobHash;
use crate::vault::{Kind, Meta, Revision};

/// The content of a path between two steps.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Nothing,
    Entry {
        kind: Kind,
        identity: Option<FileIdentity>,
        text: Option<BlobHash>,
    },
    /// Nothing, or a folder that was not empty and stayed.
    Unknown,
}

impl Expected {
    const FOLDER: Self = Self::Entry { kind: Kind::Folder, identity: None, text: None };

    fn file(text: BlobHash) -> Self {
        Self::Entry { kind: Kind::File, identity: None, text: Some(text) }
    }

    fn text(&self) -> Option<BlobHash> {
        match self {
            Self::Entry { text, .. } => *text,
            Self::Nothing | Self::Unknown => None,
        }
    }
}

/// Gives each move and restoration the text that its file had at that time, as far as the later
/// steps record it: rolling those back creates the file again, so that only its text identifies it.
pub(super) fn complete_texts(steps: &mut [RecordedStep]) {
    let mut before = PathMap::default();
    for step in steps.iter_mut().rev() {
        let text = match &step.act {
            RecordedAct::Move { to, .. } => before.get(to).and_then(Expected::text),
            RecordedAct::Restore { .. } => before.get(&step.path).and_then(Expected::text),
            _ => None,
        };
        step.row.after = step.row.after.or(text);
        precede(&mut before, step);
    }
}

/// How many steps may have been begun: those that were done, and the one or the consecutive writes that follow them.
/// Between two states that the disk fits equally, the later one counts.
pub(super) fn count_begun(parts: &Parts, steps: &[RecordedStep]) -> usize {
    let mut states = States { parts, seen: HashMap::new(), at: PathMap::default(), differences: 0 };
    let mut before = PathMap::default();
    steps.iter().rev().for_each(|step| precede(&mut before, step));
    for (path, expected) in before.take_within(&VaultPath::root()) {
        states.set(path, expected);
    }
    let (mut done, mut fewest) = (0, states.differences);
    for (at, step) in steps.iter().enumerate() {
        states.follow(step);
        if states.differences <= fewest {
            (done, fewest) = (at + 1, states.differences);
        }
    }
    let mut paths = HashSet::new();
    let writes = steps[done..].iter().take_while(|step| {
        matches!(step.act, RecordedAct::Write { .. }) && paths.insert(&step.path)
    });
    (done + writes.count().max(1)).min(steps.len())
}

/// Turns what the paths hold after a step into what they held before it.
fn precede(state: &mut PathMap<Expected>, step: &RecordedStep) {
    let path = &step.path;
    let expected = match &step.act {
        RecordedAct::Folder => Expected::Nothing,
        RecordedAct::RemoveFolder => Expected::FOLDER,
        RecordedAct::Write { before, .. } => before.map_or(Expected::Nothing, Expected::file),
        RecordedAct::Move { to, identity } => {
            let moved = state.take_within(to);
            state.take_within(path);
            for (at, expected) in moved {
                let at = path.join_all(at.relative_to(to).unwrap_or_default());
                if let Some(at) = at {
                    state.insert(at, expected);
                }
            }
            state.insert(to.clone(), Expected::Nothing);
            let text = step.row.after.or(state.get(path).and_then(Expected::text));
            Expected::Entry { kind: identity.kind(), identity: Some(*identity), text }
        }
        RecordedAct::Delete { identity } => {
            state.take_within(path);
            let text = step.row.before;
            Expected::Entry { kind: identity.kind(), identity: Some(*identity), text }
        }
        RecordedAct::Restore { .. } => {
            state.take_within(path);
            Expected::Nothing
        }
    };
    state.insert(path.clone(), expected);
}

/// The contents of an operation's paths after some of its steps, compared with the disk.
struct States<'a> {
    parts: &'a Parts,
    seen: HashMap<VaultPath, SeenFile>,
    at: PathMap<Expected>,
    /// The sum over all paths.
    differences: u32,
}

/// The content of a path on disk.
struct SeenFile {
    meta: Option<Meta>,
    revision: Option<Revision>,
}

impl States<'_> {
    fn set(&mut self, path: VaultPath, expected: Expected) {
        self.differences += self.difference(&path, expected);
        if let Some(old) = self.at.insert(path.clone(), expected) {
            self.differences -= self.difference(&path, old);
        }
    }

    fn take_within(&mut self, path: &VaultPath) -> Vec<(VaultPath, Expected)> {
        let taken = self.at.take_within(path);
        for (at, expected) in &taken {
            self.differences -= self.difference(at, *expected);
        }
        taken
    }

    /// The distance between the content of a path and its expected content: 0 if they are the same, 3 for something
    /// instead of nothing.
    fn difference(&mut self, path: &VaultPath, expected: Expected) -> u32 {
        let parts = self.parts;
        let seen = self.seen.entry(path.clone()).or_insert_with(|| {
            let meta = parts.vault().stat(path).ok();
            let is_file = meta.as_ref().is_some_and(|meta| meta.kind == Kind::File);
            let revision = is_file.then(|| revision_on_disk(parts, path)).flatten();
            SeenFile { meta, revision }
        });
        let (kind, identity, text) = match (expected, &seen.meta) {
            (Expected::Unknown, _) | (Expected::Nothing, None) => return 0,
            (Expected::Entry { kind, identity, text }, Some(_)) => (kind, identity, text),
            (Expected::Nothing, Some(_)) | (Expected::Entry { .. }, None) => return 3,
        };
        let Some(meta) = seen.meta.as_ref().filter(|meta| meta.kind == kind) else { return 3 };
        match (kind, text, identity) {
            (Kind::Folder, ..) => 0,
            (Kind::File, Some(text), _) if seen.revision == Some(revision(text)) => 0,
            (Kind::File, Some(_), Some(identity)) if identity.has_id_of(meta) => 1,
            (Kind::File, Some(_), _) => 2,
            (.., identity) if identity.is_none_or(|identity| identity.matches(meta)) => 0,
            _ => 2,
        }
    }

    fn follow(&mut self, step: &RecordedStep) {
        let path = step.path.clone();
        match &step.act {
            RecordedAct::Folder => self.set(path, Expected::FOLDER),
            RecordedAct::RemoveFolder => self.set(path, Expected::Unknown),
            RecordedAct::Write { after, .. } => self.set(path, Expected::file(*after)),
            RecordedAct::Move { to, .. } => {
                let moved = self.take_within(&path);
                self.take_within(to);
                self.set(path.clone(), Expected::Nothing);
                for (at, expected) in moved {
                    let at = to.join_all(at.relative_to(&path).unwrap_or_default());
                    at.into_iter().for_each(|at| self.set(at, expected));
                }
            }
            RecordedAct::Delete { .. } => {
                for (at, _) in self.take_within(&path) {
                    self.set(at, Expected::Nothing);
                }
                self.set(path, Expected::Nothing);
            }
            RecordedAct::Restore { identity, .. } => {
                let (kind, text) = (identity.kind(), step.row.after);
                self.set(path, Expected::Entry { kind, identity: Some(*identity), text });
            }
        }
    }
}
