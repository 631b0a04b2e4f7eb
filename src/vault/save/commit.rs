//! Putting a staged write in place, and taking it back.
//!
//! Every step that can fail is followed by one of three ends: the new text is in place; the old
//! one is, as if nothing had happened; or what could be anybody's lies in the recovery folder and
//! the error says so. No path of this file removes bytes whose hash it has not seen.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use super::recovery::Rescued;
use super::{Saved, Staged, State, Way, Writer, hash_of, rename_new, temp_name};
use crate::chaos;
use crate::note::path::VaultPath;
use crate::vault::Revision;
use crate::vault::dir::{Kind, Name};
use crate::vault::error::VaultError;

/// Exchanges tried while another program saves at the same moment.
const EXCHANGES: usize = 8;

impl Writer {
    /// Puts a staged write in place. The version it displaced is kept until [`Self::finish`], so
    /// that [`Self::revert`] can bring it back.
    ///
    /// # Errors
    /// [`VaultError::Stale`] if the file changed since it was staged, [`VaultError::Busy`] if it
    /// keeps changing; the file then holds what the other program wrote. As the system says if the
    /// change could not be made or made durable: it was taken back then.
    pub fn commit(&self, staged: &mut Staged) -> Result<Saved, VaultError> {
        let placed = match staged.way {
            Way::New => self.commit_new(staged),
            Way::Exchange | Way::Replace => self.commit_exchange(staged),
            Way::InPlace => self.commit_in_place(staged),
        };
        if let Err(error) = placed {
            // A look that failed after the new text was in place: an error means nothing changed.
            if staged.state == State::Committed {
                self.take_back(staged)?;
            }
            return Err(error);
        }
        if let Err(error) = staged.folder.sync() {
            // Never tried again on what may have been dropped: the old version goes back.
            self.take_back(staged)?;
            return Err(VaultError::io("make durable", &staged.path, error));
        }
        if let Some(meta) = self.vault.look_at(&staged.path) {
            self.vault.saw(&staged.path, &meta);
        }
        let before = staged.target.as_ref().map(|target| target.revision);
        Ok(Saved { revision: staged.revision, before, in_place: staged.way == Way::InPlace })
    }

    fn commit_new(&self, staged: &mut Staged) -> Result<(), VaultError> {
        let (temp, name) = (staged.temp.clone(), staged.path.clone());
        let (temp, name) = names(&temp, &name)?;
        rename_new(&staged.folder, temp, &staged.folder, name)
            .map_err(|error| VaultError::io("write", &staged.path, error))?;
        staged.state = State::Committed;
        Ok(())
    }

    fn commit_exchange(&self, staged: &mut Staged) -> Result<(), VaultError> {
        let path = staged.path.clone();
        let (temp, name) = (staged.temp.clone(), staged.path.clone());
        let (temp, name) = names(&temp, &name)?;
        match staged.folder.exchange(temp, &staged.folder, name) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                return self.commit_replacing(staged);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(self.vault.gone_since(&path));
            }
            Err(error) => return Err(VaultError::io("write", &path, error)),
        }
        staged.state = State::Exchanged;
        let outcome = self.settle_exchange(staged);
        if staged.state == State::Exchanged {
            // Whatever went wrong: what came out goes back, or is kept.
            self.put_right(staged);
        }
        outcome
    }

    /// After the exchange: was it what we had read that came out?
    fn settle_exchange(&self, staged: &mut Staged) -> Result<(), VaultError> {
        let path = staged.path.clone();
        let failed = |error| VaultError::io("write", &path, error);
        let (temp, name) = (staged.temp.clone(), staged.path.clone());
        let (temp, name) = names(&temp, &name)?;
        let base = staged.target.as_ref().map(|target| target.revision);
        match hash_of(&staged.folder, temp) {
            Ok(displaced) if Some(displaced) == base => {
                staged.state = State::Committed;
                return Ok(());
            }
            Ok(_) => {}
            // A link or a folder took the note's place: it goes back as it is.
            Err(_) if staged.folder.stat(temp).is_ok_and(|meta| meta.kind != Kind::File) => {
                return Err(VaultError::Stale { path, current: None });
            }
            Err(error) => return Err(failed(error)),
        }
        // Not what was read: another program saved between our look and the exchange. What it
        // wrote goes back, until the thing that comes out in return is our own text.
        for _ in 0..EXCHANGES {
            staged.folder.exchange(temp, &staged.folder, name).map_err(failed)?;
            match hash_of(&staged.folder, temp) {
                Ok(revision) if revision == staged.revision => {
                    staged.state = State::Staged;
                    let current = hash_of(&staged.folder, name).ok();
                    return Err(VaultError::Stale { path, current });
                }
                Ok(_) => {}
                // The other's text is at the path, where it belongs; another exchange would take
                // it away again. What came out is kept unseen.
                Err(error) => {
                    self.vault.rescue_entry(&staged.folder, temp, &path);
                    staged.state = State::Done;
                    return Err(failed(error));
                }
            }
        }
        // A writer in a tight loop: whatever we hold of it is kept.
        self.vault.rescue_entry(&staged.folder, temp, &path);
        staged.state = State::Done;
        Err(VaultError::Busy { path })
    }

    /// Ends an exchange that failed half-way: what lies under the temporary name may be anybody's.
    fn put_right(&self, staged: &mut Staged) {
        let (temp, name) = (staged.temp.clone(), staged.path.clone());
        let Ok((temp, name)) = names(&temp, &name) else { return };
        let back = staged.folder.exchange(temp, &staged.folder, name);
        let ours = || hash_of(&staged.folder, temp).ok() == Some(staged.revision);
        if back.is_ok() && ours() {
            staged.state = State::Staged;
            return;
        }
        self.vault.rescue_entry(&staged.folder, temp, &staged.path);
        staged.state = State::Done;
    }

    /// For file systems that cannot exchange names.
    fn commit_replacing(&self, staged: &mut Staged) -> Result<(), VaultError> {
        let path = staged.path.clone();
        let failed = |error| VaultError::io("write", &path, error);
        let (temp, name) = (staged.temp.clone(), staged.path.clone());
        let (temp, name) = names(&temp, &name)?;
        staged.way = Way::Replace;
        let base = self.copy_old(staged)?;
        let current = hash_of(&staged.folder, name);
        if current.as_ref().ok() != Some(&base) {
            staged.copy.take().into_iter().for_each(|copy| copy.remove(&self.vault));
            return Err(VaultError::Stale { path, current: current.ok() });
        }
        staged.folder.rename_replacing(temp, &staged.folder, name).map_err(failed)?;
        staged.state = State::Committed;
        // The old version may have been written to in the last instant, by a program that saves in
        // place: then that text is what the note holds, as if we had come first.
        let target = staged.target.as_mut().expect("only what exists is replaced");
        let old = target.file.as_mut().expect("it was opened to be copied");
        old.seek(SeekFrom::Start(0)).map_err(failed)?;
        let late = Revision::of_reader(&mut *old).map_err(failed)?;
        if late == base {
            return Ok(());
        }
        old.seek(SeekFrom::Start(0)).map_err(failed)?;
        staged.copy = Some(self.vault.rescue_text(&path, old, "late").map_err(failed)?);
        self.take_back(staged)?;
        Err(VaultError::Stale { path, current: Some(late) })
    }

    /// For files with several names, or an owner that must stay.
    fn commit_in_place(&self, staged: &mut Staged) -> Result<(), VaultError> {
        let path = staged.path.clone();
        let failed = |error| VaultError::io("write", &path, error);
        let base = self.copy_old(staged)?;
        let real = staged.path.clone();
        let name = names("-", &real)?.1;
        let (mut file, _) = staged.folder.open_for_update(name).map_err(failed)?;
        let current = Revision::of_reader(&mut file).map_err(failed)?;
        if current != base {
            staged.copy.take().into_iter().for_each(|copy| copy.remove(&self.vault));
            return Err(VaultError::Stale { path, current: Some(current) });
        }
        if let Err(error) = overwrite(&mut file, &mut &staged.content[..]) {
            // Its old blocks are still its own: the old text has room.
            if let Err(again) = restore_in_place(&mut file, staged.copy.as_ref()) {
                self.vault.warn(format!(
                    "`{path}` was left half-written ({again}); its old text is in the recovery \
                     folder"
                ));
            }
            return Err(failed(error));
        }
        staged.state = State::Committed;
        Ok(())
    }

    /// Puts a copy of the old text into the recovery folder; gives its revision, which is the one
    /// that was read.
    fn copy_old(&self, staged: &mut Staged) -> Result<Revision, VaultError> {
        let path = staged.path.clone();
        let failed = |error| VaultError::io("copy", &path, error);
        let target = staged.target.as_mut().expect("only what exists has an old text");
        if target.file.is_none() {
            let name = names("-", &path)?.1;
            let again = target.open_again(&staged.folder, name);
            let stale = |_| VaultError::Stale { path: path.clone(), current: None };
            target.file = Some(again.map_err(stale)?);
        }
        let old = target.file.as_mut().expect("it was opened above");
        old.seek(SeekFrom::Start(0)).map_err(failed)?;
        let copy = self.vault.rescue_text(&path, old, "before").map_err(failed)?;
        let copied = copy.open().and_then(Revision::of_reader).map_err(failed)?;
        if copied != target.revision {
            copy.remove(&self.vault);
            return Err(VaultError::Stale { path, current: Some(copied) });
        }
        staged.copy = Some(copy);
        Ok(copied)
    }

    /// Takes a committed write back: what was at the path is there again.
    ///
    /// # Errors
    /// As the system says, or [`VaultError::Stale`] if another program has written since; its
    /// text stays.
    pub fn revert(&self, mut staged: Staged) -> Result<(), VaultError> {
        self.take_back(&mut staged)
    }

    fn take_back(&self, staged: &mut Staged) -> Result<(), VaultError> {
        if staged.state == State::Committed {
            let path = staged.path.clone();
            let failed = |error| VaultError::io("restore", &path, error);
            let real = staged.path.clone();
            let name = names("-", &real)?.1;
            let now = hash_of(&staged.folder, name);
            if now.as_ref().ok() != Some(&staged.revision) {
                return Err(VaultError::Stale { path, current: now.ok() });
            }
            match staged.way {
                Way::New => self.take_back_new(staged)?,
                Way::Exchange => self.take_back_exchange(staged)?,
                Way::Replace => {
                    let copy = staged.copy.as_ref().map(Rescued::open).transpose();
                    let mut copy = copy.map_err(failed)?.expect("a replaced text has its copy");
                    let fresh = temp_name();
                    let fresh = Name::new(&fresh).map_err(failed)?;
                    let mut file = staged.folder.create_new(fresh, true).map_err(failed)?;
                    io::copy(&mut copy, &mut file).map_err(failed)?;
                    if let Some(target) = &staged.target
                        && let Some(old) = &target.file
                    {
                        crate::vault::dir::copy_attributes(old, &file, &target.meta)
                            .map_err(failed)?;
                    }
                    file.sync_all().map_err(failed)?;
                    staged.folder.rename_replacing(fresh, &staged.folder, name).map_err(failed)?;
                    staged.state = State::Done;
                }
                Way::InPlace => {
                    let (mut file, _) = staged.folder.open_for_update(name).map_err(failed)?;
                    restore_in_place(&mut file, staged.copy.as_ref()).map_err(failed)?;
                    staged.state = State::Done;
                }
            }
        }
        staged.copy.take().into_iter().for_each(|copy| copy.remove(&self.vault));
        staged.discard();
        let synced = staged.folder.sync();
        self.vault.refresh(&staged.path);
        synced.map_err(|error| VaultError::io("make durable", &staged.path, error))
    }

    /// Aside first and looked at there: what is removed is surely our own text.
    fn take_back_new(&self, staged: &mut Staged) -> Result<(), VaultError> {
        let path = staged.path.clone();
        let failed = |error| VaultError::io("restore", &path, error);
        let (temp, name) = (staged.temp.clone(), staged.path.clone());
        let (temp, name) = names(&temp, &name)?;
        rename_new(&staged.folder, name, &staged.folder, temp).map_err(failed)?;
        if hash_of(&staged.folder, temp).ok() == Some(staged.revision) {
            staged.state = State::Staged;
            return Ok(());
        }
        staged.state = State::Done;
        if rename_new(&staged.folder, temp, &staged.folder, name).is_err() {
            self.vault.rescue_entry(&staged.folder, temp, &path);
        }
        let current = hash_of(&staged.folder, name).ok();
        Err(VaultError::Stale { path, current })
    }

    fn take_back_exchange(&self, staged: &mut Staged) -> Result<(), VaultError> {
        let path = staged.path.clone();
        let failed = |error| VaultError::io("restore", &path, error);
        let (temp, name) = (staged.temp.clone(), staged.path.clone());
        let (temp, name) = names(&temp, &name)?;
        staged.folder.exchange(temp, &staged.folder, name).map_err(failed)?;
        if hash_of(&staged.folder, temp).ok() == Some(staged.revision) {
            staged.state = State::Staged;
            return Ok(());
        }
        // Saved by another program since the look before: that text goes back, and the version
        // from before us is kept.
        let _ = staged.folder.exchange(temp, &staged.folder, name);
        self.vault.rescue_entry(&staged.folder, temp, &path);
        staged.state = State::Done;
        let current = hash_of(&staged.folder, name).ok();
        Err(VaultError::Stale { path, current })
    }
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
