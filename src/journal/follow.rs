//! Link rewrites that accompany an undo or a restoration.
//!
//! The journal does not know links; its caller does. The caller receives the name changes of the
//! undo in advance and returns the writes that belong with it. They are applied in the same change
//! set.

use std::collections::HashMap;

use super::change::Change;
use super::step::{Act, FileIdentity, Step};
use crate::note::path::VaultPath;
use crate::store::BlobHash;

/// The effect of an undo or a restoration on a name. In execution order, each with the paths at its
/// moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameStep {
    Moves {
        from: VaultPath,
        to: VaultPath,
    },
    /// A file is written or restored with its final links. Not reported for a merged text with
    /// others' lines, in which links must be updated.
    Written(VaultPath),
    /// An earlier text is put back into a file while other changes of its set stay, so that its links may name files
    /// that are elsewhere. Its new text may be returned as a write of `disk`.
    PutBack {
        /// The number of the undone change.
        number: u32,
        was: VaultPath,
        /// The path to read it from until then.
        disk: VaultPath,
        path: VaultPath,
        text: Vec<u8>,
    },
    /// A file or folder is deleted.
    Goes(VaultPath),
}

impl NameStep {
    /// How a step changes names; `files` are the files of a folder that is restored.
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

/// Returns what to write together with an undo: writes of files that the undo neither removes nor
/// reports as written, at their paths before the undo, each with the revision that it is based on.
/// Called once, while the journal is locked for other changes.
pub type Follow<'f> = &'f mut dyn FnMut(&[NameStep]) -> Vec<Change>;

/// Updates moves of files that earlier steps rewrite: such a file is identified by its new text.
pub(super) fn written<'a>(
    steps: &mut [Step],
    texts: impl IntoIterator<Item = (&'a VaultPath, &'a [u8])>,
) {
    let known =
        |content: &[u8]| (FileIdentity::written(content.len() as u64), BlobHash::of(content));
    let texts = texts.into_iter().map(|(path, content)| (path.clone(), known(content)));
    let mut at: HashMap<VaultPath, (FileIdentity, BlobHash)> = texts.collect();
    for step in steps {
        if let Act::Move { from, to, identity, text, .. } = &mut step.act
            && let Some((written, hash)) = at.remove(from)
        {
            (*identity, *text) = (written, Some(hash));
            at.insert(to.clone(), (written, hash));
        }
    }
}
