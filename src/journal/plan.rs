//! Turns a change set into steps: checks the present state and stores the texts that would be lost.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::change::{Change, ChangeSet, Phase, Progress};
use super::error::JournalError;
use super::parts::Parts;
use super::step::{Act, Deletion, FileIdentity, Old, Step};
use crate::note::path::VaultPath;
use crate::store::{BlobHash, Blobs, StoreError};
use crate::vault::{
    FileContent, Keeping, Kind, Precondition, VaultError, Writer, is_temp_path, temp_name,
};

/// Maximum bytes of a folder's files that are stored in addition to the trash.
const MAX_FOLDER_BYTES: u64 = 256 << 20;

/// Texts on their way into the store, written in batches: making a hundred durable together costs
/// little more than one.
pub(super) struct TextBatch<'a> {
    blobs: &'a Blobs,
    pending: Vec<PendingText>,
    bytes: usize,
}

pub(super) enum PendingText {
    Made(Vec<u8>),
    Read(Arc<FileContent>),
}

impl From<Vec<u8>> for PendingText {
    fn from(text: Vec<u8>) -> Self {
        Self::Made(text)
    }
}

impl From<&Arc<FileContent>> for PendingText {
    fn from(read: &Arc<FileContent>) -> Self {
        Self::Read(Arc::clone(read))
    }
}

impl AsRef<[u8]> for PendingText {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Made(text) => text,
            Self::Read(read) => &read.bytes,
        }
    }
}

impl<'a> TextBatch<'a> {
    pub fn new(blobs: &'a Blobs) -> Self {
        Self { blobs, pending: Vec::new(), bytes: 0 }
    }

    /// Takes a text; it is durable after [`Self::finish`].
    pub fn add(&mut self, text: impl Into<PendingText>) -> Result<BlobHash, StoreError> {
        let text = text.into();
        let hash = BlobHash::of(text.as_ref());
        self.bytes += text.as_ref().len();
        self.pending.push(text);
        if self.bytes > 32 << 20 {
            self.flush()?;
        }
        Ok(hash)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let texts: Vec<&[u8]> = self.pending.iter().map(AsRef::as_ref).collect();
        self.blobs.put(&texts)?;
        self.pending.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Makes the taken texts and the content of all planned writes durable.
    pub fn finish(mut self, steps: &[Step], progress: &dyn Progress) -> Result<(), StoreError> {
        let written = steps.iter().filter_map(|step| match &step.act {
            Act::Write { content, .. } => Some(content.as_slice()),
            _ => None,
        });
        let texts: Vec<&[u8]> = self.pending.iter().map(AsRef::as_ref).chain(written).collect();
        let stored = |done, total| progress.advanced(Phase::Storing, done, total);
        self.blobs.put_with_progress(&texts, &stored)?;
        self.pending.clear();
        Ok(())
    }
}

/// The steps of a change set, in execution order: folders, then writes, then moves and deletions in
/// the order of the set, and at last the folders that go if they are empty. Old texts are handed to `texts`.
///
/// # Errors
/// What prevents a change, such as a missing or changed file.
pub(super) fn steps(
    parts: &Parts,
    set: &ChangeSet,
    texts: &mut TextBatch,
) -> Result<Vec<Step>, JournalError> {
    let writer = &parts.writer;
    let (mut first, mut writes, mut rest, mut last) = (vec![], vec![], vec![], vec![]);
    let mut folders = Folders { writer, there: HashSet::new() };
    // Writes of earlier changes, which later steps find.
    let written = set.changes.iter().filter_map(|change| match change {
        Change::Write { path, content, .. } => Some((path, PlannedFile::written(path, content))),
        _ => None,
    });
    let mut by_then: HashMap<&VaultPath, PlannedFile> = written.collect();
    for (change, asked) in set.changes.iter().enumerate() {
        let step = |act| Step { change, act, undoes: None };
        match asked {
            Change::CreateFolder { path } => {
                first.extend(folders.make(path)?.into_iter().map(step));
            }
            Change::RemoveFolder { path } => {
                // Rolling back makes the folder, so it has to be one that was there.
                let kind = parts.vault().stat(path)?.kind;
                if kind != Kind::Folder {
                    return Err(VaultError::NotAFolder { path: path.clone(), kind }.into());
                }
                last.push(step(Act::RemoveFolder { path: path.clone() }));
            }
            Change::Write { path, content, before } => {
                let old = match (writer.inspect(path, before)?, before) {
                    (None, _) => None,
                    (Some(old), Precondition::Read(read)) => {
                        let text = texts.add(read)?;
                        let read = Some(Arc::clone(read));
                        Some(Old { text, in_place: old.in_place, read })
                    }
                    (Some(mut old), _) => {
                        let text = store_old(parts, path, &mut old, texts)?;
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
                let mut moved = match by_then.remove(from) {
                    Some(by_then) => by_then,
                    None => {
                        let identity = FileIdentity::of(&parts.vault().stat(from)?);
                        PlannedFile { identity, text: None, origin: from, moved: None }
                    }
                };
                moved.identity.had_case_variant = has_case_variant(parts, from);
                // The two moves over a hidden name are one change, and count once.
                let (first_change, counted) = match moved.moved {
                    Some(first) if is_temp_path(from) => (first, 0),
                    _ => (change, files(parts, from, moved.identity.kind())),
                };
                first.extend(folders.make_parent(to)?.into_iter().map(step));
                by_then.insert(to, PlannedFile { moved: Some(first_change), ..moved });
                let (from, to, identity, text) =
                    (from.clone(), to.clone(), moved.identity, moved.text);
                let act = Act::Move { from, to, identity, text, counted };
                rest.push(Step { change: first_change, act, undoes: None });
            }
            Change::Delete { path, before, past_trash } => {
                let mut deletion = match by_then.remove(path) {
                    Some(PlannedFile { identity, text: text @ Some(_), .. }) => Deletion {
                        path: path.clone(),
                        before: before.clone(),
                        identity,
                        text,
                        files: Vec::new(),
                        counted: files(parts, path, Kind::File),
                        keeping: Keeping::new(),
                    },
                    Some(PlannedFile { origin, .. }) => Deletion {
                        path: path.clone(),
                        ..deletion(parts, origin, before.clone(), texts)?
                    },
                    None => deletion(parts, path, before.clone(), texts)?,
                };
                deletion.keeping.past_trash = *past_trash;
                rest.push(step(Act::Delete(Box::new(deletion))));
            }
        }
    }
    first.extend(writes.into_iter().chain(rest).chain(last));
    Ok(first)
}

/// The state of a path after the earlier steps, if it differs from the disk.
#[derive(Clone, Copy)]
struct PlannedFile<'a> {
    identity: FileIdentity,
    text: Option<BlobHash>,
    /// Its path on disk before the set.
    origin: &'a VaultPath,
    moved: Option<usize>,
}

impl<'a> PlannedFile<'a> {
    fn written(path: &'a VaultPath, content: &[u8]) -> Self {
        let identity = FileIdentity::written(content.len() as u64);
        Self { identity, text: Some(BlobHash::of(content)), origin: path, moved: None }
    }
}

/// The deletion of the file or folder now at `path`, with its texts stored.
pub(super) fn deletion(
    parts: &Parts,
    path: &VaultPath,
    before: Precondition,
    texts: &mut TextBatch,
) -> Result<Deletion, JournalError> {
    let vault = parts.vault();
    let meta = vault.stat(path)?;
    let limit = vault.max_file_bytes();
    let (mut text, mut files) = (None, Vec::new());
    match meta.kind {
        Kind::File if meta.size <= limit => text = Some(texts.add(vault.read(path)?.bytes)?),
        Kind::Folder => {
            let mut room = MAX_FOLDER_BYTES;
            // Notes first: one large picture must not use up their space.
            let mut below = vault.files_below(path)?;
            // Windows lists a removed file until it is closed, except on NTFS.
            below.retain(|(path, _)| !is_temp_path(path));
            below.sort_by_key(|(path, _)| !path.is_note());
            for (below, meta) in below {
                let whole = below.components().try_fold(path.clone(), |at, name| at.join(name));
                let kept = match whole {
                    Some(whole) if meta.size <= limit.min(room) => {
                        // An unreadable file still goes to the trash.
                        vault.read(&whole).ok().map(|content| texts.add(content.bytes))
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
    let mut identity = FileIdentity::of(&meta);
    identity.had_case_variant = has_case_variant(parts, path);
    Ok(Deletion {
        path: path.clone(),
        before,
        identity,
        text,
        counted: self::files(parts, path, meta.kind),
        files,
        keeping: Keeping::new(),
    })
}

/// Whether another entry has this path except for case, on a disk that distinguishes case.
fn has_case_variant(parts: &Parts, path: &VaultPath) -> bool {
    let catalogue = parts.vault().catalogue();
    catalogue.folded(&path.fold_key()).iter().any(|entry| entry.path() != path.borrowed())
}

/// Stores the text that a write replaces, of any size.
fn store_old(
    parts: &Parts,
    path: &VaultPath,
    old: &mut crate::vault::OldText,
    texts: &mut TextBatch,
) -> Result<BlobHash, JournalError> {
    use std::io::Read;
    let limit = parts.vault().max_file_bytes();
    let failed = |source| VaultError::Io { action: "read", path: path.to_string(), source };
    let (size, revision) = (old.meta.size, old.revision);
    let reader = old.reader().map_err(failed)?;
    let hash = if size <= limit {
        // With a byte to spare, the end is found by the first read.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        reader.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
        texts.add(bytes)?
    } else {
        parts.blobs.put_reader(reader).map_err(StoreError::from)?.0
    };
    let current = super::step::revision(hash);
    if current != revision {
        // Written to between the first check and this read.
        return Err(VaultError::Stale { path: path.clone(), current: Some(current) }.into());
    }
    Ok(hash)
}

/// The number of notes and attachments at and below a path, as counted by the limits of a turn.
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
    /// Folders that exist, or that an earlier step makes.
    pub there: HashSet<VaultPath>,
}

impl Folders<'_> {
    /// Steps that make a folder and its missing parents.
    pub fn make(&mut self, path: &VaultPath) -> Result<Vec<Act>, VaultError> {
        if self.there.contains(path) {
            return Ok(Vec::new());
        }
        let missing = self.writer.missing_folders(path)?;
        self.there.insert(path.clone());
        let new = missing
            .into_iter()
            .filter(|folder| folder == path || self.there.insert(folder.clone()));
        Ok(new.map(|path| Act::Folder { path }).collect())
    }

    pub fn make_parent(&mut self, path: &VaultPath) -> Result<Vec<Act>, VaultError> {
        path.parent().map_or_else(|| Ok(Vec::new()), |parent| self.make(&parent))
    }
}
