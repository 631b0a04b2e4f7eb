//! The write side: saves that are old or new whatever happens, and never lose what another program
//! wrote meanwhile.
//!
//! A save of something that exists, where the file system can exchange names (Linux, macOS):
//! 1. hash what is there; it must be what the caller read;
//! 2. write a hidden file beside it, with its mode, owner and attributes; fsync;
//! 3. exchange the two names; hash what was displaced: if it is not what was hashed in 1, somebody
//!    saved in between, and the names are exchanged back;
//! 4. fsync the folder, remove the displaced version, keep it open a few seconds: an editor that
//!    had it open may still write into it, and that text goes to the recovery folder.
//!
//! Measured on this protocol: no lost update in 9,200 episodes against editors that save in place
//! or by rename, where hash-then-rename lost up to one in eight; no loss and nothing torn in 250
//! power cuts. Without exchange the hash is taken immediately before the rename and a copy lies in
//! the recovery folder meanwhile: the reduced protection that `doctor` reports. A file with several
//! names (hard links) is rewritten in place, so that it stays one file.
//!
//! A move may rewrite links in thousands of notes, all staged before the first is put in place. So a
//! staged write holds no file open, and writes in one folder share its handle; a file that is opened
//! again must be the one that was seen.
//!
//! In reading order: this page (the stages of a write), `commit` (putting it in place and taking it
//! back), `moving` (folders and renames), `recovery` (what is kept), `late` (writes into the
//! displaced).

mod commit;
mod late;
mod moving;
mod recovery;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

pub(super) use late::LateWrites;
use late::{LATE, Late};
pub(super) use moving::{rename_durably, rename_durably_in_both, rename_new};
use recovery::Rescued;
pub(super) use recovery::{files_in, sync_folder};

use super::dir::{FileId, Folder, Meta, Name};
use super::error::VaultError;
use super::{Revision, Vault};
use crate::chaos;
use crate::note::path::VaultPath;

/// Saves tried while another program's file is empty, half-way through its own save.
const PATIENCE: usize = 5;

/// What must be at the path for a write to be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Absent,
    /// A file with exactly this content.
    Revision(Revision),
    /// A file with any content, or nothing.
    Any,
}

/// A finished save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// The revision of what is there now.
    pub revision: Revision,
    /// The revision of what was there; `None` if nothing was.
    pub before: Option<Revision>,
    /// Whether the file has other names (hard links) and was therefore rewritten in place.
    pub in_place: bool,
}

/// A file that a write is going to replace.
pub struct OldText {
    file: File,
    /// What the file system says of it.
    pub meta: Meta,
    /// The revision of what it holds.
    pub revision: Revision,
    /// Whether it would be rewritten in place: it has other names, or an owner that must stay.
    pub in_place: bool,
}

impl OldText {
    /// Its bytes, from the first one.
    ///
    /// # Errors
    /// As the system says.
    pub fn reader(&mut self) -> io::Result<&mut File> {
        self.file.seek(SeekFrom::Start(0))?;
        Ok(&mut self.file)
    }
}

/// The calls that change the vault; whoever has it may write. [`Vault::open`] hands out the only one,
/// and it cannot be cloned: the journal owns it and makes one change at a time.
pub struct Writer {
    pub(super) vault: Vault,
    /// The folders of staged writes, each opened once.
    folders: Mutex<HashMap<FileId, Weak<Folder>>>,
}

/// A write that is on the disk beside its target, waiting for [`Writer::commit`].
pub struct Staged {
    path: VaultPath,
    folder: Arc<Folder>,
    temp: String,
    revision: Revision,
    /// The new text, where it is not under the temporary name.
    content: Vec<u8>,
    target: Option<Target>,
    way: Way,
    state: State,
    /// The old text in the recovery folder, for the ways that do not keep it in the vault.
    copy: Option<Rescued>,
}

/// What a staged write will replace.
struct Target {
    /// Let go once the write is staged, where the names will be exchanged.
    file: Option<File>,
    meta: Meta,
    revision: Revision,
}

/// How a write gets to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Nothing is there: a rename that never replaces.
    New,
    /// The two names are exchanged.
    Exchange,
    /// A rename that replaces, where names cannot be exchanged.
    Replace,
    /// The bytes are overwritten: the file has other names, or an owner that a new one could not
    /// be given to.
    InPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The new text lies under the temporary name (or in memory).
    Staged,
    /// Names were exchanged and it is not known yet what lies under the temporary one.
    Exchanged,
    /// The new text lies at the path; the old one under the temporary name or in the copy.
    Committed,
    /// Nothing is left to do.
    Done,
}

impl Writer {
    pub(super) fn new(vault: Vault) -> Self {
        Self { vault, folders: Mutex::default() }
    }

    /// The vault it writes to.
    pub fn vault(&self) -> &Vault {
        &self.vault
    }

    pub(super) fn root(&self) -> &Folder {
        &self.vault.0.root
    }

    /// Looks at what a write would replace; nothing is changed. `None` if nothing is there.
    ///
    /// # Errors
    /// As [`Self::stage`].
    pub fn look(&self, path: &VaultPath, before: Before) -> Result<Option<OldText>, VaultError> {
        self.vault.check_root()?;
        self.vault.allowed(path)?;
        let (folder, name) = match self.root().open_parent(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match before {
                    Before::Revision(_) => Err(self.vault.gone_since(path)),
                    Before::Absent | Before::Any => Ok(None),
                };
            }
            // What stands in the way of the folder is said when it is to be made.
            Err(_) => return Ok(None),
        };
        let target = self.target(path, &folder, name, before)?;
        Ok(target.map(|(file, meta, revision)| OldText {
            in_place: super::dir::must_stay(&file, &meta),
            file,
            meta,
            revision,
        }))
    }

    /// Writes `content` to disk beside `path`, durable but not yet in place. `temp` is the name it
    /// has until then, one of [`temp_name`]'s.
    ///
    /// # Errors
    /// [`VaultError::Stale`] if what is there is not `before`; [`VaultError::ReadOnly`] for a file
    /// without write permission; as the system says. Nothing at `path` has changed then.
    pub fn stage(
        &self,
        path: &VaultPath,
        content: &[u8],
        before: Before,
        temp: &str,
    ) -> Result<Staged, VaultError> {
        self.vault.check_root()?;
        self.vault.allowed(path)?;
        let failed = |action| move |error| VaultError::io(action, path, error);
        let (folder, name) = self.root().open_parent(path).map_err(failed("open the folder of"))?;
        let target = self.target(path, &folder, name, before)?;
        let way = match &target {
            None => Way::New,
            Some((file, meta, _)) if super::dir::must_stay(file, meta) => Way::InPlace,
            Some(_) => Way::Exchange,
        };
        let mut staged = Staged {
            path: path.clone(),
            folder: self.shared(folder).map_err(failed("open the folder of"))?,
            temp: temp.to_owned(),
            revision: Revision::of(content),
            content: if way == Way::InPlace { content.to_vec() } else { Vec::new() },
            target: target.map(|(file, meta, revision)| Target {
                file: Some(file),
                meta,
                revision,
            }),
            way,
            state: State::Staged,
            copy: None,
        };
        if way == Way::InPlace {
            return Ok(staged);
        }
        let written = (|| {
            // What replaces a private note is never readable by others, not even for a moment.
            let private = staged.target.is_some();
            let mut file = staged.folder.create_new(Name::new(&staged.temp)?, private)?;
            chaos::step("write a file", || file.write_all(content))?;
            if let Some(target) = &mut staged.target
                && let Some(old) = target.file.take()
            {
                super::dir::copy_attributes(&old, &file, &target.meta)?;
            }
            chaos::step("sync a file", || file.sync_all())
        })();
        if let Err(error) = written {
            staged.discard();
            return Err(VaultError::io("write", path, error));
        }
        Ok(staged)
    }

    /// The handle that other staged writes have of this folder already, or else this one.
    fn shared(&self, folder: Folder) -> io::Result<Arc<Folder>> {
        let id = folder.meta()?.id;
        let mut folders = super::lock(&self.folders);
        if id != FileId::UNKNOWN
            && let Some(known) = folders.get(&id).and_then(Weak::upgrade)
        {
            return Ok(known);
        }
        let folder = Arc::new(folder);
        if folders.len() == folders.capacity() {
            folders.retain(|_, known| known.strong_count() > 0);
        }
        folders.insert(id, Arc::downgrade(&folder));
        Ok(folder)
    }

    /// What is at `path` now, if it is what the caller expects.
    fn target(
        &self,
        path: &VaultPath,
        folder: &Folder,
        name: Name,
        before: Before,
    ) -> Result<Option<(File, Meta, Revision)>, VaultError> {
        let stale = |current| VaultError::Stale { path: path.clone(), current };
        for attempt in 0.. {
            let (mut file, meta) = match folder.open_file(name) {
                Ok(opened) => opened,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return match before {
                        Before::Revision(_) => Err(self.vault.gone_since(path)),
                        Before::Absent | Before::Any => Ok(None),
                    };
                }
                Err(error) => return Err(self.vault.not_opened(path, error)),
            };
            if before == Before::Absent {
                return Err(VaultError::AlreadyExists { path: path.clone() });
            }
            if !meta.writable_bits() {
                return Err(VaultError::ReadOnly { path: path.clone() });
            }
            if meta.names > 1 {
                self.vault.not_a_protected_twin(path, &meta)?;
            }
            // A rename would get around a note's permissions; who may not write it must not.
            folder.open_for_update(name).map_err(|error| VaultError::io("write", path, error))?;
            let hashed = Revision::of_reader(&mut file);
            let revision = hashed.map_err(|error| VaultError::io("read", path, error))?;
            // Most likely the middle of another program's save.
            if super::just_emptied(&meta) && attempt < PATIENCE {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
            return match before {
                Before::Revision(expected) if expected != revision => Err(stale(Some(revision))),
                _ => Ok(Some((file, meta, revision))),
            };
        }
        unreachable!("the loop ends by returning")
    }

    /// Ends a committed write: the displaced version goes, watched a while for late writes.
    pub fn finish(&self, mut staged: Staged) {
        if (staged.way, staged.state) == (Way::Exchange, State::Committed)
            && let Some(target) = staged.target.take()
            && let Ok(temp) = Name::new(&staged.temp)
            && let Ok(file) = target.open_again(&staged.folder, temp)
        {
            let late = Late {
                path: staged.path.clone(),
                file,
                revision: target.revision,
                until: Instant::now() + LATE,
            };
            self.vault.0.late.watch(&self.vault, late);
        }
        if let Some(copy) = staged.copy.take() {
            copy.remove(&self.vault);
        }
        staged.discard();
    }
}

impl Target {
    /// The file as it was seen, by the name it has now.
    fn open_again(&self, folder: &Folder, name: Name) -> io::Result<File> {
        let (file, meta) = folder.open_file(name)?;
        match meta.id == self.meta.id {
            true => Ok(file),
            false => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }
}

impl Staged {
    /// The path this will be written to.
    pub fn path(&self) -> &VaultPath {
        &self.path
    }

    /// Removes the temporary name. Before the commit that is our own text, after it a version
    /// proved equal to what the caller had read; in between it may be anybody's and stays.
    fn discard(&mut self) {
        let ours = match self.state {
            State::Staged => self.way != Way::InPlace,
            State::Committed => self.way == Way::Exchange,
            State::Exchanged | State::Done => false,
        };
        if ours && let Ok(temp) = Name::new(&self.temp) {
            let _ = self.folder.remove_file(temp);
        }
        self.state = State::Done;
    }
}

impl Drop for Staged {
    /// A write that was never committed leaves nothing behind.
    fn drop(&mut self) {
        if self.state == State::Staged {
            self.discard();
        }
    }
}

fn hash_of(folder: &Folder, name: Name) -> io::Result<Revision> {
    Revision::of_reader(folder.open_file(name)?.0)
}

/// Names of our own unfinished files: hidden from Obsidian, short, known to be temporary by most
/// sync programs.
pub fn temp_name() -> String {
    format!(".~vs-{}.tmp", random_tag())
}

/// Whether a name is one of [`temp_name`]'s or of the probe's.
pub(in crate::vault) fn is_temp_name(name: &str) -> bool {
    name.starts_with(".~vs-") && (name.ends_with(".tmp") || name.starts_with(".~vs-probe-"))
}

/// Eight hexadecimal digits that no other file has.
pub(in crate::vault) fn random_tag() -> String {
    let random = getrandom::u64().unwrap_or_else(|_| {
        // Without randomness the clock will do: a clash is an error on creation, not a loss.
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        clock.map_or(0, |age| u64::from(age.subsec_nanos()))
    });
    format!("{:08x}", random as u32)
}
