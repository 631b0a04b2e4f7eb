//! From a change set to steps: what is there now is looked at, what would be lost is kept.

use std::collections::HashMap;
use std::sync::Arc;

use super::change::{Change, ChangeSet};
use super::error::JournalError;
use super::parts::Parts;
use super::step::{Act, Deletion, Old, Step, Thing};
use crate::note::path::VaultPath;
use crate::store::{BlobHash, Blobs, StoreError};
use crate::vault::{Before, FileContent, Keeping, Kind, VaultError, Writer, temp_name};

/// Bytes of a folder's files that are kept beside what the trash holds, at most.
const MOST_OF_A_FOLDER: u64 = 256 << 20;

/// Texts on their way into the store, put there many at once: making a hundred durable together
/// costs little more than one.
pub(super) struct Texts<'a> {
    blobs: &'a Blobs,
    waiting: Vec<Waiting>,
    bytes: usize,
}

/// A text that is to be put into the store.
pub(super) enum Waiting {
    Made(Vec<u8>),
    Read(Arc<FileContent>),
}

impl From<Vec<u8>> for Waiting {
    fn from(text: Vec<u8>) -> Self {
        Self::Made(text)
    }
}

impl From<&Arc<FileContent>> for Waiting {
    fn from(read: &Arc<FileContent>) -> Self {
        Self::Read(Arc::clone(read))
    }
}

impl AsRef<[u8]> for Waiting {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Made(text) => text,
            Self::Read(read) => &read.bytes,
        }
    }
}

impl<'a> Texts<'a> {
    pub fn new(blobs: &'a Blobs) -> Self {
        Self { blobs, waiting: Vec::new(), bytes: 0 }
    }

    /// Takes a text; it is durable after [`Self::finish`].
    pub fn keep(&mut self, text: impl Into<Waiting>) -> Result<BlobHash, StoreError> {
        let text = text.into();
        let hash = BlobHash::of(text.as_ref());
        self.bytes += text.as_ref().len();
        self.waiting.push(text);
        if self.bytes > 32 << 20 {
            self.flush()?;
        }
        Ok(hash)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let texts: Vec<&[u8]> = self.waiting.iter().map(AsRef::as_ref).collect();
        self.blobs.put(&texts)?;
        self.waiting.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Makes durable what was taken, and these beside it.
    pub fn finish(mut self, steps: &[Step]) -> Result<(), StoreError> {
        let written = steps.iter().filter_map(|step| match &step.act {
            Act::Write { content, .. } => Some(content.as_slice()),
            _ => None,
        });
        let texts: Vec<&[u8]> = self.waiting.iter().map(AsRef::as_ref).chain(written).collect();
        self.blobs.put(&texts)?;
        self.waiting.clear();
        Ok(())
    }
}

/// The steps of a change set, in the order in which they are done. Old texts are handed to `texts`.
///
/// # Errors
/// What stands in the way; nothing was changed.
pub(super) fn steps(
    parts: &Parts,
    set: &ChangeSet,
    texts: &mut Texts,
) -> Result<Vec<Step>, JournalError> {
    let writer = &parts.writer;
    let (mut first, mut writes, mut moves, mut deletions) = (vec![], vec![], vec![], vec![]);
    let mut folders = Folders { writer, planned: Vec::new() };
    // What a step that comes later finds where an earlier one has been. All writes are done before
    // anything is moved or deleted, wherever they stand in the set.
    let written: HashMap<&VaultPath, (BlobHash, u64)> = set
        .changes
        .iter()
        .filter_map(|change| match change {
            Change::Write { path, content, .. } => {
                Some((path, (BlobHash::of(content), content.len() as u64)))
            }
            _ => None,
        })
        .collect();
    let mut moved: HashMap<&VaultPath, Thing> = HashMap::new();
    for (change, asked) in set.changes.iter().enumerate() {
        let step = |act| Step { change, act, undoes: None };
        match asked {
            Change::CreateFolder { path } => {
                first.extend(folders.make(path)?.into_iter().map(step));
            }
            Change::Write { path, content, before } => {
                let old = match (writer.look(path, before)?, before) {
                    (None, _) => None,
                    (Some(old), Before::Read(read)) => {
                        let text = texts.keep(read)?;
                        let read = Some(Arc::clone(read));
                        Some(Old { text, in_place: old.in_place, read })
                    }
                    (Some(mut old), _) => {
                        let text = keep_old(parts, path, &mut old, texts)?;
                        Some(Old { text, in_place: old.in_place, read: None })
                    }
                };
                first.extend(folders.make_parent(path)?.into_iter().map(step));
                writes.push(step(Act::Write {
                    path: path.clone(),
                    old,
                    content: content.clone(),
                    temp: temp_name(),
                }));
            }
            Change::Move { from, to } => {
                let (mut thing, text) = match (written.get(from), moved.get(from)) {
                    (Some((text, size)), _) => (Thing::written(*size), Some(*text)),
                    (None, Some(thing)) => (*thing, None),
                    (None, None) => (Thing::of(&parts.vault().stat(from)?), None),
                };
                thing.had_twin = has_twin(parts, from);
                first.extend(folders.make_parent(to)?.into_iter().map(step));
                moved.insert(to, thing);
                let counted = files(parts, from, thing.kind());
                let (from, to) = (from.clone(), to.clone());
                moves.push(step(Act::Move { from, to, thing, text, counted }));
            }
            Change::Delete { path, before, past_trash } => {
                let mut deletion = match written.get(path) {
                    Some((text, size)) => Deletion {
                        path: path.clone(),
                        before: before.clone(),
                        thing: Thing::written(*size),
                        text: Some(*text),
                        files: Vec::new(),
                        counted: files(parts, path, Kind::File),
                        keeping: Keeping::new(),
                    },
                    None => deletion(parts, path, before.clone(), texts)?,
                };
                deletion.keeping.past_trash = *past_trash;
                deletions.push(step(Act::Delete(Box::new(deletion))));
            }
        }
    }
    first.extend(writes.into_iter().chain(moves).chain(deletions));
    Ok(first)
}

/// A deletion of what is at `path` now, its texts kept.
pub(super) fn deletion(
    parts: &Parts,
    path: &VaultPath,
    before: Before,
    texts: &mut Texts,
) -> Result<Deletion, JournalError> {
    let vault = parts.vault();
    let meta = vault.stat(path)?;
    let limit = vault.max_file_bytes();
    let (mut text, mut files) = (None, Vec::new());
    match meta.kind {
        Kind::File if meta.size <= limit => text = Some(texts.keep(vault.read(path)?.bytes)?),
        Kind::Folder => {
            let mut room = MOST_OF_A_FOLDER;
            // Notes first: one large picture must not take their room.
            let mut below = vault.files_below(path)?;
            below.sort_by_key(|(path, _)| !path.is_note());
            for (below, meta) in below {
                let whole = below.components().try_fold(path.clone(), |at, name| at.join(name));
                let kept = match whole {
                    Some(whole) if meta.size <= limit.min(room) => {
                        // What cannot be read goes to the trash all the same.
                        vault.read(&whole).ok().map(|content| texts.keep(content.bytes))
                    }
                    _ => None,
                };
                if kept.is_some() {
                    room = room.saturating_sub(meta.size);
                }
                files.push((below.as_str().to_owned(), kept.transpose()?));
            }
        }
        Kind::File | Kind::Link | Kind::Other => {}
    }
    let mut thing = Thing::of(&meta);
    thing.had_twin = has_twin(parts, path);
    Ok(Deletion {
        path: path.clone(),
        before,
        thing,
        text,
        counted: self::files(parts, path, meta.kind),
        files,
        keeping: Keeping::new(),
    })
}

/// Whether something has this path but for the case, as on a disk that tells the two apart.
fn has_twin(parts: &Parts, path: &VaultPath) -> bool {
    let catalogue = parts.vault().catalogue();
    catalogue.folded(&path.fold_key()).iter().any(|entry| entry.path() != path.borrowed())
}

/// Keeps the text that a write replaces, whatever its size.
fn keep_old(
    parts: &Parts,
    path: &VaultPath,
    old: &mut crate::vault::OldText,
    texts: &mut Texts,
) -> Result<BlobHash, JournalError> {
    use std::io::Read;
    let limit = parts.vault().max_file_bytes();
    let failed = |source| VaultError::Io { action: "read", path: path.to_string(), source };
    let (size, revision) = (old.meta.size, old.revision);
    let reader = old.reader().map_err(failed)?;
    let hash = match size <= limit {
        true => {
            let mut bytes = Vec::new();
            reader.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
            texts.keep(bytes)?
        }
        false => parts.blobs.put_reader(reader).map_err(StoreError::from)?.0,
    };
    match super::step::revision(hash) == revision {
        true => Ok(hash),
        // Written to between the look and this one.
        false => {
            let current = Some(super::step::revision(hash));
            Err(VaultError::Stale { path: path.clone(), current }.into())
        }
    }
}

/// How many notes and attachments something is, or holds: what the limits of a turn count.
pub(super) fn files(parts: &Parts, path: &VaultPath, kind: Kind) -> usize {
    match kind {
        Kind::Folder => {
            let catalogue = parts.vault().catalogue();
            catalogue.within(path).filter(|entry| entry.kind != Kind::Folder).count()
        }
        Kind::File | Kind::Link | Kind::Other => 1,
    }
}

/// The folders that a set makes, each once.
pub(super) struct Folders<'a> {
    pub writer: &'a Writer,
    pub planned: Vec<VaultPath>,
}

impl Folders<'_> {
    /// Steps that make a folder and those above it.
    ///
    /// # Errors
    /// As [`Writer::missing_folders`].
    pub fn make(&mut self, path: &VaultPath) -> Result<Vec<Act>, VaultError> {
        let missing = self.writer.missing_folders(path)?;
        let new: Vec<VaultPath> =
            missing.into_iter().filter(|folder| !self.planned.contains(folder)).collect();
        self.planned.extend(new.iter().cloned());
        Ok(new.into_iter().map(|path| Act::Folder { path }).collect())
    }

    /// Steps that make the folder that will hold `path`.
    ///
    /// # Errors
    /// As [`Self::make`].
    pub fn make_parent(&mut self, path: &VaultPath) -> Result<Vec<Act>, VaultError> {
        path.parent().map_or_else(|| Ok(Vec::new()), |parent| self.make(&parent))
    }
}
