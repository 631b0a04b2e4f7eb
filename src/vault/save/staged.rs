//! A write and its stages: beside its target, in place, taken back or finished.
//!
//! Every step that can fail is followed by one of three ends: the new text is in place; the old
//! one is, as if nothing had happened; or what could be anybody's lies in the recovery folder and
//! the error says so. No path of this file removes bytes whose hash it has not seen.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::time::Instant;

use crate::chaos;
use crate::note::path::VaultPath;
use crate::vault::content::{Before, FileContent};
use crate::vault::dir::{Folder, Kind, Meta, Name, copy_attributes, must_stay, rename_new};
use crate::vault::durable::Durable;
use crate::vault::error::VaultError;
use crate::vault::read::Reader;
use crate::vault::recovery::{LATE, Late, Rescued};
use crate::vault::revision::Revision;
use crate::vault::temp::temp_name;

/// Exchanges tried while another program saves at the same moment.
const EXCHANGES: usize = 8;

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

/// A write that is on the disk beside its target, waiting for [`super::Writer::commit`].
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
    /// Its text, where the caller has it.
    read: Option<Arc<FileContent>>,
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

impl Staged {
    /// Writes `content` beside its target, durable once `durable` has made it so, and not yet in place.
    pub(super) fn write(
        path: &VaultPath,
        folder: Arc<Folder>,
        content: &[u8],
        target: Option<(File, Meta, Revision)>,
        (before, temp): (&Before, &str),
        durable: &Durable,
    ) -> Result<Self, VaultError> {
        let way = match &target {
            None => Way::New,
            Some((file, meta, _)) if must_stay(file, meta) => Way::InPlace,
            Some(_) => Way::Exchange,
        };
        let mut staged = Self {
            path: path.clone(),
            folder,
            temp: temp.to_owned(),
            revision: Revision::of(content),
            content: if way == Way::InPlace { content.to_vec() } else { Vec::new() },
            target: target.map(|(file, meta, revision)| Target {
                read: before.text_of(&meta).map(Arc::clone),
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
            let target = &mut staged.target;
            durable.content(&staged.folder, &mut file, |file| {
                chaos::step("write a file", || file.write_all(content))?;
                match target.as_mut().and_then(|target| Some((target.file.take()?, &target.meta))) {
                    Some((old, meta)) => copy_attributes(&old, file, meta),
                    None => Ok(()),
                }
            })
        })();
        if let Err(error) = written {
            staged.discard();
            return Err(VaultError::io("write", path, error));
        }
        Ok(staged)
    }

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

    /// Puts a staged write in place. The version it displaced is kept until [`Self::finish`], so
    /// that [`Self::revert`] can bring it back.
    ///
    /// # Errors
    /// [`VaultError::Stale`] if the file changed since it was staged, [`VaultError::Busy`] if it
    /// keeps changing; the file then holds what the other program wrote. As the system says if the
    /// change could not be made or made durable: it was taken back then.
    pub(super) fn commit(
        &mut self,
        vault: &Reader,
        durable: &Durable,
    ) -> Result<Saved, VaultError> {
        let placed = match self.way {
            Way::New => self.commit_new(),
            Way::Exchange | Way::Replace => self.commit_exchange(vault, durable),
            Way::InPlace => self.commit_in_place(vault),
        };
        if let Err(error) = placed {
            // A look that failed after the new text was in place: an error means nothing changed.
            if self.state == State::Committed {
                self.take_back(vault, durable)?;
            }
            return Err(error);
        }
        if let Err(error) = durable.names(&self.folder) {
            // Never tried again on what may have been dropped: the old version goes back.
            self.take_back(vault, durable)?;
            return Err(VaultError::io("make durable", &self.path, error));
        }
        if let Ok(meta) = vault.folder().stat_at(&self.path) {
            vault.saw(&self.path, &meta);
        }
        let before = self.target.as_ref().map(|target| target.revision);
        Ok(Saved { revision: self.revision, before, in_place: self.way == Way::InPlace })
    }

    fn commit_new(&mut self) -> Result<(), VaultError> {
        let (temp, name) = (self.temp.clone(), self.path.clone());
        let (temp, name) = names(&temp, &name)?;
        rename_new(&self.folder, temp, &self.folder, name)
            .map_err(|error| VaultError::io("write", &self.path, error))?;
        self.state = State::Committed;
        Ok(())
    }

    fn commit_exchange(&mut self, vault: &Reader, durable: &Durable) -> Result<(), VaultError> {
        let path = self.path.clone();
        let (temp, name) = (self.temp.clone(), self.path.clone());
        let (temp, name) = names(&temp, &name)?;
        match self.folder.exchange(temp, &self.folder, name) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                return self.commit_replacing(vault, durable);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(vault.gone_since(&path));
            }
            Err(error) => return Err(VaultError::io("write", &path, error)),
        }
        self.state = State::Exchanged;
        let outcome = self.settle_exchange(vault);
        if self.state == State::Exchanged {
            // Whatever went wrong: what came out goes back, or is kept.
            self.put_right(vault);
        }
        outcome
    }

    /// After the exchange: was it what we had read that came out?
    fn settle_exchange(&mut self, vault: &Reader) -> Result<(), VaultError> {
        let path = self.path.clone();
        let failed = |error| VaultError::io("write", &path, error);
        let (temp, name) = (self.temp.clone(), self.path.clone());
        let (temp, name) = names(&temp, &name)?;
        let base = self.target.as_ref().map(|target| target.revision);
        match hash_of(&self.folder, temp) {
            Ok(displaced) if Some(displaced) == base => {
                self.state = State::Committed;
                return Ok(());
            }
            Ok(_) => {}
            // A link or a folder took the note's place: it goes back as it is.
            Err(_) if self.folder.stat(temp).is_ok_and(|meta| meta.kind != Kind::File) => {
                return Err(VaultError::Stale { path, current: None });
            }
            Err(error) => return Err(failed(error)),
        }
        // Not what was read: another program saved between our look and the exchange. What it
        // wrote goes back, until the thing that comes out in return is our own text.
        for _ in 0..EXCHANGES {
            self.folder.exchange(temp, &self.folder, name).map_err(failed)?;
            match hash_of(&self.folder, temp) {
                Ok(revision) if revision == self.revision => {
                    self.state = State::Staged;
                    let current = hash_of(&self.folder, name).ok();
                    return Err(VaultError::Stale { path, current });
                }
                Ok(_) => {}
                // The other's text is at the path, where it belongs; another exchange would take
                // it away again. What came out is kept unseen.
                Err(error) => {
                    vault.recovery.rescue_entry(&self.folder, temp, &path);
                    self.state = State::Done;
                    return Err(failed(error));
                }
            }
        }
        // A writer in a tight loop: whatever we hold of it is kept.
        vault.recovery.rescue_entry(&self.folder, temp, &path);
        self.state = State::Done;
        Err(VaultError::Busy { path })
    }

    /// Ends an exchange that failed half-way: what lies under the temporary name may be anybody's.
    fn put_right(&mut self, vault: &Reader) {
        let (temp, name) = (self.temp.clone(), self.path.clone());
        let Ok((temp, name)) = names(&temp, &name) else { return };
        let back = self.folder.exchange(temp, &self.folder, name);
        let ours = || hash_of(&self.folder, temp).ok() == Some(self.revision);
        if back.is_ok() && ours() {
            self.state = State::Staged;
            return;
        }
        vault.recovery.rescue_entry(&self.folder, temp, &self.path);
        self.state = State::Done;
    }

    /// For file systems that cannot exchange names.
    fn commit_replacing(&mut self, vault: &Reader, durable: &Durable) -> Result<(), VaultError> {
        let path = self.path.clone();
        let failed = |error| VaultError::io("write", &path, error);
        let (temp, name) = (self.temp.clone(), self.path.clone());
        let (temp, name) = names(&temp, &name)?;
        self.way = Way::Replace;
        let base = self.copy_old(vault)?;
        let current = hash_of(&self.folder, name);
        if current.as_ref().ok() != Some(&base) {
            self.copy.take().into_iter().for_each(|copy| copy.remove(&vault.recovery));
            return Err(VaultError::Stale { path, current: current.ok() });
        }
        self.folder.rename_replacing(temp, &self.folder, name).map_err(failed)?;
        self.state = State::Committed;
        // The old version may have been written to in the last instant, by a program that saves in
        // place: then that text is what the note holds, as if we had come first.
        let target = self.target.as_mut().expect("only what exists is replaced");
        let old = target.file.as_mut().expect("it was opened to be copied");
        old.seek(SeekFrom::Start(0)).map_err(failed)?;
        let late = Revision::of_reader(&mut *old).map_err(failed)?;
        if late == base {
            return Ok(());
        }
        old.seek(SeekFrom::Start(0)).map_err(failed)?;
        self.copy = Some(vault.recovery.rescue_text(&path, old, "late").map_err(failed)?);
        self.take_back(vault, durable)?;
        Err(VaultError::Stale { path, current: Some(late) })
    }

    /// For files with several names, or an owner that must stay.
    fn commit_in_place(&mut self, vault: &Reader) -> Result<(), VaultError> {
        let path = self.path.clone();
        let failed = |error| VaultError::io("write", &path, error);
        let base = self.copy_old(vault)?;
        let real = self.path.clone();
        let name = names("-", &real)?.1;
        let (mut file, _) = self.folder.open_for_update(name).map_err(failed)?;
        let current = Revision::of_reader(&mut file).map_err(failed)?;
        if current != base {
            self.copy.take().into_iter().for_each(|copy| copy.remove(&vault.recovery));
            return Err(VaultError::Stale { path, current: Some(current) });
        }
        if let Err(error) = overwrite(&mut file, &mut &self.content[..]) {
            // Its old blocks are still its own: the old text has room.
            if let Err(again) = restore_in_place(&mut file, self.copy.as_ref()) {
                vault.warn(format!(
                    "`{path}` was left half-written ({again}); its old text is in the recovery \
                     folder"
                ));
            }
            return Err(failed(error));
        }
        self.state = State::Committed;
        Ok(())
    }

    /// Puts a copy of the old text into the recovery folder; gives its revision, which is the one
    /// that was read.
    fn copy_old(&mut self, vault: &Reader) -> Result<Revision, VaultError> {
        let path = self.path.clone();
        let failed = |error| VaultError::io("copy", &path, error);
        let target = self.target.as_mut().expect("only what exists has an old text");
        if target.file.is_none() {
            let name = names("-", &path)?.1;
            let again = target.open_again(&self.folder, name);
            let stale = |_| VaultError::Stale { path: path.clone(), current: None };
            target.file = Some(again.map_err(stale)?);
        }
        let old = target.file.as_mut().expect("it was opened above");
        let copy = match &target.read {
            Some(read) => vault.recovery.rescue_text(&path, &mut &read.bytes[..], "before"),
            None => old
                .seek(SeekFrom::Start(0))
                .and_then(|_| vault.recovery.rescue_text(&path, old, "before")),
        };
        let copy = copy.map_err(failed)?;
        let copied = copy.open().and_then(Revision::of_reader).map_err(failed)?;
        if copied != target.revision {
            copy.remove(&vault.recovery);
            return Err(VaultError::Stale { path, current: Some(copied) });
        }
        self.copy = Some(copy);
        Ok(copied)
    }

    /// Takes a committed write back: what was at the path is there again.
    ///
    /// # Errors
    /// As the system says, or [`VaultError::Stale`] if another program has written since; its
    /// text stays.
    pub(super) fn revert(mut self, vault: &Reader, durable: &Durable) -> Result<(), VaultError> {
        self.take_back(vault, durable)
    }

    fn take_back(&mut self, vault: &Reader, durable: &Durable) -> Result<(), VaultError> {
        if self.state == State::Committed {
            let path = self.path.clone();
            let failed = |error| VaultError::io("restore", &path, error);
            let real = self.path.clone();
            let name = names("-", &real)?.1;
            let now = hash_of(&self.folder, name);
            if now.as_ref().ok() != Some(&self.revision) {
                return Err(VaultError::Stale { path, current: now.ok() });
            }
            match self.way {
                Way::New => self.take_back_new(vault)?,
                Way::Exchange => self.take_back_exchange(vault)?,
                Way::Replace => {
                    let copy = self.copy.as_ref().map(Rescued::open).transpose();
                    let mut copy = copy.map_err(failed)?.expect("a replaced text has its copy");
                    let fresh = temp_name();
                    let fresh = Name::new(&fresh).map_err(failed)?;
                    let mut file = self.folder.create_new(fresh, true).map_err(failed)?;
                    io::copy(&mut copy, &mut file).map_err(failed)?;
                    if let Some(target) = &self.target
                        && let Some(old) = &target.file
                    {
                        copy_attributes(old, &file, &target.meta).map_err(failed)?;
                    }
                    file.sync_all().map_err(failed)?;
                    self.folder.rename_replacing(fresh, &self.folder, name).map_err(failed)?;
                    self.state = State::Done;
                }
                Way::InPlace => {
                    let (mut file, _) = self.folder.open_for_update(name).map_err(failed)?;
                    restore_in_place(&mut file, self.copy.as_ref()).map_err(failed)?;
                    self.state = State::Done;
                }
            }
        }
        self.copy.take().into_iter().for_each(|copy| copy.remove(&vault.recovery));
        self.discard();
        let synced = durable.names(&self.folder);
        vault.recheck(&self.path);
        synced.map_err(|error| VaultError::io("make durable", &self.path, error))
    }

    /// Aside first and looked at there: what is removed is surely our own text.
    fn take_back_new(&mut self, vault: &Reader) -> Result<(), VaultError> {
        let path = self.path.clone();
        let failed = |error| VaultError::io("restore", &path, error);
        let (temp, name) = (self.temp.clone(), self.path.clone());
        let (temp, name) = names(&temp, &name)?;
        rename_new(&self.folder, name, &self.folder, temp).map_err(failed)?;
        if hash_of(&self.folder, temp).ok() == Some(self.revision) {
            self.state = State::Staged;
            return Ok(());
        }
        self.state = State::Done;
        if rename_new(&self.folder, temp, &self.folder, name).is_err() {
            vault.recovery.rescue_entry(&self.folder, temp, &path);
        }
        let current = hash_of(&self.folder, name).ok();
        Err(VaultError::Stale { path, current })
    }

    fn take_back_exchange(&mut self, vault: &Reader) -> Result<(), VaultError> {
        let path = self.path.clone();
        let failed = |error| VaultError::io("restore", &path, error);
        let (temp, name) = (self.temp.clone(), self.path.clone());
        let (temp, name) = names(&temp, &name)?;
        self.folder.exchange(temp, &self.folder, name).map_err(failed)?;
        if hash_of(&self.folder, temp).ok() == Some(self.revision) {
            self.state = State::Staged;
            return Ok(());
        }
        // Saved by another program since the look before: that text goes back, and the version
        // from before us is kept.
        let _ = self.folder.exchange(temp, &self.folder, name);
        vault.recovery.rescue_entry(&self.folder, temp, &path);
        self.state = State::Done;
        let current = hash_of(&self.folder, name).ok();
        Err(VaultError::Stale { path, current })
    }

    /// Ends a committed write: the displaced version goes, watched a while for late writes.
    pub fn finish(mut self, vault: &Reader) {
        if (self.way, self.state) == (Way::Exchange, State::Committed)
            && let Some(target) = self.target.take()
            && let Ok(temp) = Name::new(&self.temp)
            && let Ok(file) = target.open_again(&self.folder, temp)
        {
            let late = Late {
                path: self.path.clone(),
                file,
                revision: target.revision,
                until: Instant::now() + LATE,
            };
            vault.watch_late(late);
        }
        if let Some(copy) = self.copy.take() {
            copy.remove(&vault.recovery);
        }
        self.discard();
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

pub(super) fn hash_of(folder: &Folder, name: Name) -> io::Result<Revision> {
    Revision::of_reader(folder.open_file(name)?.0)
}

/// The temporary name and the real one, as names.
fn names<'a>(temp: &'a str, path: &'a VaultPath) -> Result<(Name<'a>, Name<'a>), VaultError> {
    let name = |text| Name::new(text).map_err(|error| VaultError::io("write", path, error));
    Ok((name(temp)?, name(path.name())?))
}

fn restore_in_place(file: &mut File, copy: Option<&Rescued>) -> io::Result<()> {
    let copy = copy.ok_or_else(|| io::Error::other("there is no copy of the old text"))?;
    overwrite(file, &mut copy.open()?)
}

fn overwrite(file: &mut File, content: &mut impl io::Read) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let length = chaos::step("overwrite a file", || io::copy(content, file))?;
    file.flush()?;
    chaos::step("cut a file", || file.set_len(length))?;
    chaos::step("sync a file", || file.sync_all())
}
