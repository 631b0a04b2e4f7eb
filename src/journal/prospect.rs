//! What an undo or a restoration is about to do, shown to whoever may still say no: what is asked
//! for names a number or a thing in the trash, and says neither paths nor texts.

use super::Journal;
use super::step::{Act, Recorded, Step};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{Kind, Trashed, Writer};

/// One step of it. Paths are those of its moment.
#[derive(Debug, Clone)]
pub struct Prospect {
    /// What is done.
    pub deed: Prospected,
    /// To what; for a move, its path afterwards.
    pub path: VaultPath,
    /// For a move, its path before.
    pub from: Option<VaultPath>,
    pub folder: bool,
    /// The text that goes, where one is replaced.
    pub old: Option<Text>,
    /// The texts that come: of a file one, of a folder all that is in it.
    pub new: Vec<(VaultPath, Text)>,
    /// Whether it is a text that only follows what is done to names.
    pub follows: bool,
    /// Whether it brings back what was deleted for good.
    pub was_gone: bool,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prospected {
    /// A file gets a text.
    Write,
    /// A folder is made.
    Folder,
    /// A folder goes if it is empty.
    RemoveFolder,
    /// A thing gets another path.
    Move,
    /// A thing goes to the trash.
    Delete,
    /// A thing comes back out of a trash.
    BringBack,
}

/// Where a text is.
#[derive(Debug, Clone)]
pub enum Text {
    Here(Vec<u8>),
    /// Among the kept ones.
    Kept(BlobHash),
    Trashed(Trashed),
}

impl Text {
    /// Its bytes; `None` if they cannot be had.
    pub fn load(&self, journal: &Journal) -> Option<Vec<u8>> {
        match self {
            Self::Here(bytes) => Some(bytes.clone()),
            Self::Kept(hash) => journal.parts().blobs.get(*hash).ok(),
            Self::Trashed(trashed) => journal.parts().writer.read_trashed(trashed),
        }
    }
}

/// Looks at all of it before anything is done, and says whether it may be. Called while nobody else
/// can change the vault through the journal.
pub type Review<'r> = &'r mut dyn FnMut(Vec<Prospect>) -> bool;

/// The steps as they are shown; the first `following` changes are those that follow, and `undone` are
/// the recorded steps that are taken back.
pub(super) fn prospects(
    writer: &Writer,
    steps: &[Step],
    following: usize,
    undone: &[Recorded],
) -> Vec<Prospect> {
    let was_gone = |step: &Step| {
        let mut gone = undone.iter().filter(|one| one.is_for_good());
        gone.any(|one| step.undoes == Some(one.row.id))
    };
    let shown = |step| Prospect {
        was_gone: was_gone(step),
        ..prospect(writer, step, step.change < following)
    };
    steps.iter().map(shown).collect()
}

fn prospect(writer: &Writer, step: &Step, follows: bool) -> Prospect {
    let plain = |deed, path: &VaultPath| Prospect {
        deed,
        path: path.clone(),
        from: None,
        folder: false,
        old: None,
        new: Vec::new(),
        follows,
        was_gone: false,
    };
    match &step.act {
        Act::Folder { path } => plain(Prospected::Folder, path),
        Act::RemoveFolder { path } => plain(Prospected::RemoveFolder, path),
        Act::Write { path, old, content, .. } => Prospect {
            old: old.as_ref().map(|old| Text::Kept(old.text)),
            new: vec![(path.clone(), Text::Here(content.clone()))],
            ..plain(Prospected::Write, path)
        },
        Act::Move { from, to, thing, .. } => Prospect {
            from: Some(from.clone()),
            folder: thing.kind() == Kind::Folder,
            ..plain(Prospected::Move, to)
        },
        Act::Delete(deletion) => Prospect {
            folder: deletion.thing.kind() == Kind::Folder,
            ..plain(Prospected::Delete, &deletion.path)
        },
        Act::Restore { from, to, thing, text, .. } => Prospect {
            folder: thing.kind() == Kind::Folder,
            new: brought_back(writer, from, to, thing.kind(), *text),
            ..plain(Prospected::BringBack, to)
        },
    }
}

fn brought_back(
    writer: &Writer,
    from: &Trashed,
    to: &VaultPath,
    kind: Kind,
    text: Option<BlobHash>,
) -> Vec<(VaultPath, Text)> {
    match kind {
        Kind::Folder => {
            let Some(files) = writer.files_in_trashed(from) else {
                // That it cannot be looked into is for whoever looks to judge.
                return vec![(to.clone(), Text::Trashed(from.clone()))];
            };
            let file = |file: String| {
                let path = file.split('/').try_fold(to.clone(), |at, name| at.join(name))?;
                Some((path, Text::Trashed(from.below(&file)?)))
            };
            files.into_iter().filter_map(file).collect()
        }
        Kind::File => {
            let text = text.map_or_else(|| Text::Trashed(from.clone()), Text::Kept);
            vec![(to.clone(), text)]
        }
        Kind::Link | Kind::Other => Vec::new(),
    }
}
