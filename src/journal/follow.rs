//! Texts that are written with an undo or a restoration, because of the names it changes.
//!
//! Whoever undoes knows nothing of links; who does is told beforehand what will happen to the
//! vault's names, and gives the writes that belong with it. They are part of the same change set.

use super::change::Change;
use super::step::{Act, Step, Thing};
use crate::note::path::VaultPath;
use crate::store::BlobHash;

/// What an undo or a restoration does to a name. In the order in which it is done, each with the
/// paths of its moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameStep {
    /// A file or folder gets another path.
    Moves {
        from: VaultPath,
        /// Its new one.
        to: VaultPath,
    },
    /// A file is written, or brought back, with the links that it is to have. Not told of one in
    /// which somebody's own lines stay: its links follow as they are.
    Written(VaultPath),
    /// A file or folder goes.
    Goes(VaultPath),
}

impl NameStep {
    /// What a step does to names; `files` are those of a folder that is brought back.
    pub(super) fn of(act: &Act, files: &[(String, Option<BlobHash>)]) -> Vec<Self> {
        match act {
            Act::Folder { .. } | Act::RemoveFolder { .. } => Vec::new(),
            Act::Write { path, .. } => vec![Self::Written(path.clone())],
            Act::Move { from, to, .. } => vec![Self::Moves { from: from.clone(), to: to.clone() }],
            Act::Delete(deletion) => vec![Self::Goes(deletion.path.clone())],
            Act::Restore { to, .. } if files.is_empty() => vec![Self::Written(to.clone())],
            Act::Restore { to, .. } => {
                let below = |path: &str| VaultPath::from_disk(&format!("{}/{path}", to.as_str()));
                files.iter().filter_map(|(path, _)| below(path)).map(Self::Written).collect()
            }
        }
    }
}

/// Gives what is to be written with an undo: writes of files that it neither takes away nor has told
/// of as written, at their paths before it, each with the revision it rests on. Called once, while nobody else
/// can change the vault through the journal.
pub type Follow<'f> = &'f mut dyn FnMut(&[NameStep]) -> Vec<Change>;

/// Tells the steps that move a file that it will be another one by then, known by its text.
pub(super) fn written(steps: &mut [Step], path: &VaultPath, content: &[u8]) {
    let mut at = path.clone();
    for step in steps {
        if let Act::Move { from, to, thing, text, .. } = &mut step.act
            && *from == at
        {
            (*thing, *text) = (Thing::written(content.len() as u64), Some(BlobHash::of(content)));
            at = to.clone();
        }
    }
}
