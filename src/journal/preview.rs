//! A preview of an undo or a restoration, for the reviewer who may still refuse: the request names
//! only a change number or a trash item, not paths and texts.

use std::collections::HashSet;

use super::Journal;
use super::step::{Act, RecordedStep, Step};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{Kind, Trashed, Writer};

/// One step of the preview. Paths are those at its moment.
#[derive(Debug, Clone)]
pub struct PreviewStep {
    pub action: PreviewAction,
    /// The path concerned; for a move, the path afterwards.
    pub path: VaultPath,
    /// For a move, the path before.
    pub from: Option<VaultPath>,
    pub folder: bool,
    /// The text that is replaced, if any.
    pub old: Option<TextSource>,
    /// The new texts: for a file one, for a folder all files in it.
    pub new: Vec<(VaultPath, TextSource)>,
    /// Whether it only rewrites links that follow the other steps.
    pub follows: bool,
    /// Whether it restores a permanently deleted file.
    pub was_gone: bool,
}

/// The action of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreviewAction {
    Write,
    Folder,
    RemoveFolder,
    Move,
    /// Moves a file or folder to the trash.
    Delete,
    /// Restores a file or folder from a trash.
    BringBack,
}

#[derive(Debug, Clone)]
pub enum TextSource {
    Here(Vec<u8>),
    Kept(BlobHash),
    Trashed(Trashed),
}

impl TextSource {
    /// The bytes; `None` if they cannot be read.
    pub fn load(&self, journal: &Journal) -> Option<Vec<u8>> {
        match self {
            Self::Here(bytes) => Some(bytes.clone()),
            Self::Kept(hash) => journal.parts().blobs.get(*hash).ok(),
            Self::Trashed(trashed) => journal.parts().writer.read_trashed(trashed),
        }
    }
}

/// Receives the whole preview before any change, and returns whether to proceed. Called while the
/// journal is locked for other changes.
pub type Review<'r> = &'r mut dyn FnMut(Vec<PreviewStep>) -> bool;

/// The preview of `steps`. The first `following` changes are link rewrites; `undone` are the
/// recorded steps that are undone.
pub(super) fn preview(
    writer: &Writer,
    steps: &[Step],
    following: usize,
    undone: &[RecordedStep],
) -> Vec<PreviewStep> {
    let gone = undone.iter().filter(|one| one.is_for_good()).map(|one| one.row.id);
    let gone: HashSet<i64> = gone.collect();
    let was_gone = |step: &Step| step.undoes.is_some_and(|undone| gone.contains(&undone));
    let shown = |step| PreviewStep {
        was_gone: was_gone(step),
        ..preview_step(writer, step, step.change < following)
    };
    steps.iter().map(shown).collect()
}

fn preview_step(writer: &Writer, step: &Step, follows: bool) -> PreviewStep {
    let plain = |action, path: &VaultPath| PreviewStep {
        action,
        path: path.clone(),
        from: None,
        folder: false,
        old: None,
        new: Vec::new(),
        follows,
        was_gone: false,
    };
    match &step.act {
        Act::Folder { path } => plain(PreviewAction::Folder, path),
        Act::RemoveFolder { path } => plain(PreviewAction::RemoveFolder, path),
        Act::Write { path, old, content, .. } => PreviewStep {
            old: old.as_ref().map(|old| TextSource::Kept(old.text)),
            new: vec![(path.clone(), TextSource::Here(content.clone()))],
            ..plain(PreviewAction::Write, path)
        },
        Act::Move { from, to, identity, .. } => PreviewStep {
            from: Some(from.clone()),
            folder: identity.kind() == Kind::Folder,
            ..plain(PreviewAction::Move, to)
        },
        Act::Delete(deletion) => PreviewStep {
            folder: deletion.identity.kind() == Kind::Folder,
            ..plain(PreviewAction::Delete, &deletion.path)
        },
        Act::Restore { from, to, identity, text, .. } => PreviewStep {
            folder: identity.kind() == Kind::Folder,
            new: brought_back(writer, from, to, identity.kind(), *text),
            ..plain(PreviewAction::BringBack, to)
        },
    }
}

fn brought_back(
    writer: &Writer,
    from: &Trashed,
    to: &VaultPath,
    kind: Kind,
    text: Option<BlobHash>,
) -> Vec<(VaultPath, TextSource)> {
    match kind {
        Kind::Folder => {
            let Some(files) = writer.files_in_trashed(from) else {
                // The reviewer judges what it means that the folder cannot be read.
                return vec![(to.clone(), TextSource::Trashed(from.clone()))];
            };
            let file = |file: VaultPath| {
                let path = file.components().try_fold(to.clone(), |at, name| at.join(name))?;
                Some((path, TextSource::Trashed(from.below(file.as_str())?)))
            };
            files.into_iter().filter_map(file).collect()
        }
        Kind::File => {
            let text = text.map_or_else(|| TextSource::Trashed(from.clone()), TextSource::Kept);
            vec![(to.clone(), text)]
        }
        Kind::Link | Kind::Other => Vec::new(),
    }
}
