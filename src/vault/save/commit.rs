//! Putting a staged write in place, and taking it back.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use super::{Before, Saved, Staged, State, Writer, hash_of, rename_new};
use crate::vault::Revision;
use crate::vault::dir::Name;
use crate::vault::error::VaultError;

/// Exchanges tried while another program saves at the same moment.
const EXCHANGES: usize = 8;

impl Writer<'_> {
    /// Puts a staged write in place. The version it displaced is kept under a hidden name until
    /// [`Self::finish`], so that [`Self::revert`] can bring it back.
    ///
    /// # Errors
    /// [`VaultError::Stale`] if the file changed since it was staged, [`VaultError::Busy`] if it
    /// keeps changing; the file then holds what the other program wrote. As the system says if the
    /// change could not be made durable: it was taken back then.
    pub fn commit(&self, staged: &mut Staged) -> Result<Saved, VaultError> {
        let before = staged.target.as_ref().map(|target| target.revision);
        let in_place = staged.target.as_ref().is_some_and(|target| target.meta.names > 1);
        match &staged.target {
            None => self.commit_new(staged)?,
            Some(_) if in_place => self.commit_in_place(staged)?,
            Some(_) => self.commit_exchange(staged)?,
        }
        if let Err(error) = staged.folder.sync() {
            // Never tried again on what may have been dropped: the old version goes back.
            self.take_back(staged)?;
            return Err(VaultError::io("make durable", &staged.path, error));
        }
        if let Some(meta) = self.vault.look_at(&staged.path) {
            self.vault.saw(&staged.path, &meta);
        }
        Ok(Saved { revision: staged.revision, before, in_place })
    }

    fn commit_new(&self, staged: &mut Staged) -> Result<(), VaultError> {
        let names = (Name::new(&staged.temp), Name::new(staged.path.name()));
        let (Ok(temp), Ok(name)) = names else { unreachable!("both were names when staged") };
        let renamed = rename_new(&staged.folder, temp, &staged.folder, name);
        renamed.map_err(|error| VaultError::io("write", &staged.path, error))?;
        staged.state = State::Committed(false);
        Ok(())
    }

    fn commit_exchange(&self, staged: &mut Staged) -> Result<(), VaultError> {
        let path = staged.path.clone();
        let failed = |error| VaultError::io("write", &path, error);
        let names = (Name::new(&staged.temp), Name::new(path.name()));
        let (Ok(temp), Ok(name)) = names else { unreachable!("both were names when staged") };
        let target = staged.target.as_ref().expect("only what exists is exchanged");
        let base = target.revision;
        match staged.folder.exchange(temp, &staged.folder, name) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                return self.commit_replacing(staged);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(VaultError::Stale { path, current: None });
            }
            Err(error) => return Err(failed(error)),
        }
        let displaced = hash_of(&staged.folder, temp).map_err(failed)?;
        if displaced == base {
            staged.state = State::Committed(true);
            return Ok(());
        }
        // Not what was read: another program saved between our look and the exchange. What it
        // wrote goes back, until the thing that comes out in return is our own text.
        for _ in 0..EXCHANGES {
            staged.folder.exchange(temp, &staged.folder, name).map_err(failed)?;
            if hash_of(&staged.folder, temp).map_err(failed)? == staged.revision {
                staged.discard();
                let current = hash_of(&staged.folder, name).ok();
                return Err(VaultError::Stale { path, current });
            }
        }
        // A writer in a tight loop: whatever we hold of it is kept.
        self.vault.rescue_file(&staged.folder, temp, &path);
        staged.state = State::Done;
        Err(VaultError::Busy { path })
    }

    /// For file systems that cannot exchange names.
    fn commit_replacing(&self, staged: &mut Staged) -> Result<(), VaultError> {
        let path = staged.path.clone();
        let failed = |error| VaultError::io("write", &path, error);
        let names = (Name::new(&staged.temp), Name::new(path.name()));
        let (Ok(temp), Ok(name)) = names else { unreachable!("both were names when staged") };
        let target = staged.target.as_mut().expect("only what exists is replaced");
        target.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut old = Vec::new();
        target.file.read_to_end(&mut old).map_err(failed)?;
        let base = target.revision;
        let copy = self.vault.rescue_bytes(&path, &old, "before").map_err(failed)?;
        let current = hash_of(&staged.folder, name);
        if current.as_ref().ok() != Some(&base) {
            copy.remove()?;
            staged.discard();
            return Err(VaultError::Stale { path, current: current.ok() });
        }
        staged.folder.rename_replacing(temp, &staged.folder, name).map_err(failed)?;
        staged.state = State::Committed(false);
        // The old version may have been written to in the last instant, by a program that saves in
        // place: then that text is what the note holds, as if we had come first.
        target.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let late = Revision::of_reader(&mut target.file).map_err(failed)?;
        if late == base {
            return copy.remove();
        }
        self.vault.keep_late_write(&path, &mut target.file);
        self.put_back(staged)?;
        Err(VaultError::Stale { path, current: Some(late) })
    }

    /// For files with several names. A crash half-way leaves the old text in the recovery folder.
    fn commit_in_place(&self, staged: &mut Staged) -> Result<(), VaultError> {
        let path = staged.path.clone();
        let failed = |error| VaultError::io("write", &path, error);
        let Ok(name) = Name::new(path.name()) else { unreachable!("it was a name when staged") };
        let base = staged.target.as_ref().map(|target| target.revision);
        let (mut file, _) = staged.folder.open_for_update(name).map_err(failed)?;
        let mut old = Vec::new();
        file.read_to_end(&mut old).map_err(failed)?;
        let current = Revision::of(&old);
        if Some(current) != base {
            return Err(VaultError::Stale { path, current: Some(current) });
        }
        let copy = self.vault.rescue_bytes(&path, &old, "before").map_err(failed)?;
        overwrite(&mut file, &staged.content).map_err(failed)?;
        staged.content = old;
        staged.state = State::Committed(false);
        copy.remove()
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
        let path = staged.path.clone();
        let failed = |error| VaultError::io("restore", &path, error);
        let names = (Name::new(&staged.temp), Name::new(path.name()));
        let (Ok(temp), Ok(name)) = names else { unreachable!("both were names when staged") };
        let now = hash_of(&staged.folder, name);
        if staged.state != State::Staged && now.as_ref().ok() != Some(&staged.revision) {
            return Err(VaultError::Stale { path, current: now.ok() });
        }
        match (staged.state, &staged.target) {
            (State::Committed(true), _) => {
                staged.folder.exchange(temp, &staged.folder, name).map_err(failed)?;
                if hash_of(&staged.folder, temp).ok() != Some(staged.revision) {
                    // Saved by another program since the look above: that text stays, and the
                    // version from before us is kept.
                    staged.folder.exchange(temp, &staged.folder, name).map_err(failed)?;
                    self.vault.rescue_file(&staged.folder, temp, &path);
                    staged.state = State::Done;
                    let current = hash_of(&staged.folder, name).ok();
                    return Err(VaultError::Stale { path, current });
                }
                staged.state = State::Staged;
            }
            (State::Committed(false), None) => {
                // Aside first and looked at there: what is removed is surely our own text.
                rename_new(&staged.folder, name, &staged.folder, temp).map_err(failed)?;
                if hash_of(&staged.folder, temp).ok() != Some(staged.revision) {
                    rename_new(&staged.folder, temp, &staged.folder, name).map_err(failed)?;
                    staged.state = State::Done;
                    let current = hash_of(&staged.folder, name).ok();
                    return Err(VaultError::Stale { path, current });
                }
                staged.state = State::Staged;
            }
            (State::Committed(false), Some(target)) if target.meta.names > 1 => {
                let (mut file, _) = staged.folder.open_for_update(name).map_err(failed)?;
                // The commit left the old text here in exchange for the new.
                overwrite(&mut file, &staged.content).map_err(failed)?;
                staged.state = State::Done;
            }
            (State::Committed(false), Some(_)) => self.put_back(staged)?,
            (State::Staged | State::Done, _) => {}
        }
        staged.discard();
        let synced = staged.folder.sync();
        self.vault.refresh(&path);
        synced.map_err(failed)
    }

    /// Writes the replaced version anew where names cannot be exchanged.
    fn put_back(&self, staged: &mut Staged) -> Result<(), VaultError> {
        let path = staged.path.clone();
        let failed = |error| VaultError::io("restore", &path, error);
        let target = staged.target.as_mut().expect("something was replaced");
        target.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut old = Vec::new();
        target.file.read_to_end(&mut old).map_err(failed)?;
        let mut again = self.stage(&path, &old, Before::Revision(staged.revision))?;
        self.commit(&mut again)?;
        again.state = State::Done;
        staged.state = State::Done;
        Ok(())
    }
}

fn overwrite(file: &mut File, content: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    file.sync_all()
}
