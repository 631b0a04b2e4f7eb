//! Taking recorded steps back, as far as they came: by what is on the disk, so that it can be asked
//! again and again.

use super::parts::Parts;
use super::remains::{bytes, find, holds, is_mixed, is_ours, is_there};
use super::step::{Deed, Recorded, Thing, revision};
use crate::note::merge;
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{Before, Meta, Revision, Trashed, VaultError, temp_name};

/// Taking back what a crash left.
pub(super) struct Rollback<'a> {
    pub parts: &'a Parts,
    /// What was left alone, one sentence each.
    pub left: &'a mut Vec<String>,
}

impl Rollback<'_> {
    /// Takes one step back as far as it came. The steps after it are taken back already.
    pub fn one(&mut self, step: &Recorded) {
        let result = self.opposite(step);
        self.tell(step, result);
    }

    /// As [`Self::one`], after a look whether the disk answers.
    pub fn one_that_is_seen(&mut self, step: &Recorded) {
        let result = self.can_see(step).and_then(|()| self.opposite(step));
        self.tell(step, result);
    }

    fn tell(&mut self, step: &Recorded, taken_back: Result<(), VaultError>) {
        if let Err(error) = taken_back {
            self.left.push(format!("`{}` could not be taken back: {error}", step.path));
        }
    }

    /// Whether the disk tells what is at the paths of a step: one that fails says nothing of it, and must
    /// not be taken for files that are not there.
    ///
    /// # Errors
    /// As the system says.
    pub fn can_see(&self, step: &Recorded) -> Result<(), VaultError> {
        let vault = self.parts.vault();
        let seen = match &step.deed {
            Deed::Write { .. } => vault.open_file(&step.path).map(drop),
            Deed::Move { to, .. } => {
                vault.stat(&step.path).map(drop).or_else(absent)?;
                vault.stat(to).map(drop)
            }
            _ => vault.stat(&step.path).map(drop),
        };
        seen.or_else(absent)
    }

    fn opposite(&mut self, step: &Recorded) -> Result<(), VaultError> {
        match &step.deed {
            Deed::Folder => match self.parts.writer.remove_empty_folder(&step.path) {
                Err(VaultError::NotFound { .. }) => Ok(()),
                other => other.map(|_| ()),
            },
            Deed::RemoveFolder => self.parts.writer.create_folders(&step.path).map(|_| ()),
            Deed::Write { before, after } => self.write(step, *before, *after),
            Deed::Move { to, thing } => self.move_back(step, to, *thing),
            Deed::Delete { thing } => self.undelete(step, *thing),
            Deed::Restore { from: Some(from), thing } => self.unrestore(step, from, *thing),
            Deed::Restore { from: None, .. } => Ok(()),
        }
    }

    /// Takes back a step that failed while the daemon lives, as far as it came. Those errors that
    /// are said before anything is touched leave nothing to look for: what is at its paths then is
    /// somebody else's doing.
    pub fn failed(&mut self, step: &Recorded, error: &VaultError) {
        let vault = self.parts.vault();
        let touched = matches!(error, VaultError::Io { .. });
        let half = match &step.deed {
            Deed::Delete { thing } => {
                step.temp().is_some_and(|aside| vault.stat(&aside).is_ok())
                    || (touched
                        && vault.stat(&step.path).is_err()
                        && find(self.parts, step, *thing).is_some())
            }
            // Says what it made, or has taken it away again.
            Deed::Folder => false,
            _ => touched,
        };
        if half {
            self.one(step);
        }
    }

    fn write(
        &mut self,
        step: &Recorded,
        before: Option<BlobHash>,
        after: BlobHash,
    ) -> Result<(), VaultError> {
        let path = &step.path;
        let (old, new) = (before.map(revision), revision(after));
        let again = step.detail.temp.as_deref().map_or_else(temp_name, second);
        let displaced = step.temp().and_then(|temp| Some((bytes(self.parts, &temp)?, temp)));
        let displaced = displaced.filter(|(bytes, _)| !is_ours(self.parts, bytes, before, after));
        let now = holds(self.parts, path);
        self.clear_temp(step);
        if now == old {
            return Ok(());
        }
        if now == Some(new) {
            if let Some((bytes, temp)) = displaced {
                // Saved by another program in the moment before the exchange: that comes back.
                self.put(path, &bytes, Before::Revision(new), &again)?;
                self.parts.writer.remove_unfinished(&temp, Revision::of(&bytes))?;
                self.left.push(format!(
                    "`{path}` was saved by another program at the same moment; that text is in place"
                ));
                return Ok(());
            }
            return match before {
                None => self.parts.writer.take_away(path, new, &again),
                Some(before) => match self.text(path, before) {
                    Some(bytes) => self.put(path, &bytes, Before::Revision(new), &again),
                    None => Ok(()),
                },
            };
        }
        if step.detail.in_place
            && let (Some(before), Some(torn)) = (before, bytes(self.parts, path))
            && let (Some(before), Some(after)) = (self.text(path, before), self.text(path, after))
            && is_mixed(&torn, &before, &after)
        {
            return self.put(path, &before, Before::Revision(Revision::of(&torn)), &again);
        }
        self.take_out(path, before, after, &again)
    }

    /// Takes the steward's change out of a text that somebody has changed since, and leaves theirs:
    /// a link that follows a move must not stay behind when the move is taken back.
    fn take_out(
        &mut self,
        path: &VaultPath,
        before: Option<BlobHash>,
        after: BlobHash,
        temp: &str,
    ) -> Result<(), VaultError> {
        let vault = self.parts.vault();
        let is_read_whole = |meta: Meta| meta.size <= vault.max_file_bytes();
        let now =
            vault.stat(path).is_ok_and(is_read_whole).then(|| bytes(self.parts, path)).flatten();
        if let (Some(before), Some(now)) = (before, now)
            && let (Some(before), Some(after)) = (self.text(path, before), self.text(path, after))
            && let Some(theirs) = merge::without(&after, &before, &now)
        {
            if theirs != now {
                self.put(path, &theirs, Before::Revision(Revision::of(&now)), temp)?;
                self.left.push(format!(
                    "`{path}` was changed since the crash: that stays, and only what the steward \
                     had changed in it is taken back"
                ));
            }
            return Ok(());
        }
        self.left.push(format!("`{path}` was changed since the crash and is left as it is"));
        Ok(())
    }

    fn put(
        &self,
        path: &VaultPath,
        content: &[u8],
        before: Before,
        temp: &str,
    ) -> Result<(), VaultError> {
        let writer = &self.parts.writer;
        let mut staged = writer.stage(path, content, &before, temp)?;
        writer.commit(&mut staged)?;
        writer.finish(staged);
        Ok(())
    }

    fn move_back(
        &mut self,
        step: &Recorded,
        to: &VaultPath,
        thing: Thing,
    ) -> Result<(), VaultError> {
        let from = &step.path;
        let vault = self.parts.vault();
        let there = is_there(self.parts, to, thing, step.row.after);
        match (vault.stat(from), there) {
            (Err(_), true) => self.parts.writer.rename(to, from),
            // One name in two spellings: whichever it has, it gets the first one.
            (Ok(_), true) if from.fold_key() == to.fold_key() => {
                match self.parts.writer.rename(to, from) {
                    Err(VaultError::AlreadyExists { .. }) => Ok(()),
                    other => other,
                }
            }
            (Ok(_), true) => {
                self.left.push(format!(
                    "`{to}` stays where it was moved to: there is another `{from}` by now"
                ));
                Ok(())
            }
            (Ok(_), false) => Ok(()),
            // Saved since by an editor that makes a new file for it. Nothing was there before.
            (Err(_), false) if vault.stat(to).is_ok_and(|meta| meta.kind == thing.kind()) => {
                self.parts.writer.rename(to, from)
            }
            (Err(_), false) => {
                self.left.push(format!("`{from}` is neither there nor at `{to}`"));
                Ok(())
            }
        }
    }

    fn unrestore(
        &mut self,
        step: &Recorded,
        from: &Trashed,
        thing: Thing,
    ) -> Result<(), VaultError> {
        let (path, writer) = (&step.path, &self.parts.writer);
        let in_trash = writer.look_at_trashed(from).is_some();
        if in_trash {
            // From another disk it was copied: the copy goes, whole or cut short.
            if let Some(temp) = step.temp() {
                writer.take_copy_away(&temp, from)?;
            }
            if writer.take_copy_away(path, from)? {
                return Ok(());
            }
        } else if is_there(self.parts, path, thing, step.row.after) {
            return writer.put_back(path, from);
        }
        if self.parts.vault().stat(path).is_ok() {
            self.left.push(format!("`{path}` was changed since it was brought back, and stays"));
        }
        Ok(())
    }

    fn undelete(&mut self, step: &Recorded, thing: Thing) -> Result<(), VaultError> {
        let (path, writer) = (&step.path, &self.parts.writer);
        let vault = self.parts.vault();
        if let Some(aside) = step.temp().filter(|aside| vault.stat(aside).is_ok()) {
            writer.bring_from_aside(&aside, path)?;
            self.fill(step)?;
            self.parts.writer.remove_kept_copy(path, &step.keeping());
            return Ok(());
        }
        if let Ok(meta) = vault.stat(path) {
            // A crash in the taking back may have left it half-way.
            let kept = writer.kept_copy(path, &step.keeping());
            if thing.is(&meta)
                && step.detail.keeping.as_ref().is_some_and(|folder| !folder.is_empty())
                && writer.look_at_trashed(&kept).is_some()
            {
                self.fill(step)?;
                self.parts.writer.remove_kept_copy(path, &step.keeping());
            }
            return Ok(());
        }
        if let Some(found) = find(self.parts, step, thing) {
            // Not the name that the deletion itself had put it aside under.
            let temp = step.detail.temp.as_deref().map_or_else(temp_name, second);
            writer.bring_back(&found, path, &temp)?;
            writer.finish_bringing_back(&found, path);
            return Ok(());
        }
        if let Some(content) = step.row.before.and_then(|text| self.text(path, text)) {
            return self.put(path, &content, Before::Absent, &temp_name());
        }
        self.left.push(format!("`{path}` was deleted and is in no trash"));
        Ok(())
    }

    /// Puts back what is missing of a folder that had been carried off name by name.
    fn fill(&mut self, step: &Recorded) -> Result<(), VaultError> {
        // What cannot be copied from there may be among the kept texts.
        let _ = self.parts.writer.fill_from_kept(&step.path, &step.keeping());
        let files = match self.parts.rows.changes.files(step.row.id) {
            Ok(files) => files,
            Err(error) => {
                self.left.push(format!("`{}` may lack files: {error}", step.path));
                return Ok(());
            }
        };
        for (below, text) in files {
            let path = below.split('/').try_fold(step.path.clone(), |at, name| at.join(name));
            let Some(path) = path.filter(|path| self.parts.vault().stat(path).is_err()) else {
                continue;
            };
            if let Some(parent) = path.parent() {
                self.parts.writer.create_folders(&parent)?;
            }
            let kept = self.parts.writer.kept_copy(&step.path, &step.keeping()).below(&below);
            let kept = || kept.and_then(|kept| self.parts.writer.read_trashed(&kept));
            let content = match text {
                Some(text) => self.text(&path, text),
                None => kept(),
            };
            match content {
                Some(content) => self.put(&path, &content, Before::Absent, &temp_name())?,
                None => self.left.push(format!("`{path}` is in `kept` in the state folder")),
            }
        }
        Ok(())
    }

    /// Removes the hidden files of a write, where they hold what is kept elsewhere or the beginning
    /// of it, and what a restoration from another disk left there.
    pub fn clear_temp(&self, step: &Recorded) {
        if let Deed::Restore { from: Some(kept @ Trashed::Kept { .. }), .. } = &step.deed {
            self.parts.writer.finish_bringing_back(kept, &step.path);
        }
        let Deed::Write { before, after } = step.deed else { return };
        let Some(first) = step.temp() else { return };
        let again = first.parent().unwrap_or_else(VaultPath::root).join(&second(first.name()));
        for temp in [Some(first), again].into_iter().flatten() {
            let Some(content) = bytes(self.parts, &temp) else { continue };
            // A kept text may be damaged by now: then this is the last good copy of it.
            if before == Some(BlobHash::of(&content)) && self.parts.blobs.put(&[&content]).is_err()
            {
                continue;
            }
            if is_ours(self.parts, &content, before, after) {
                // Where that fails the sweep moves it out of the vault.
                let _ = self.parts.writer.remove_unfinished(&temp, Revision::of(&content));
            }
        }
    }

    fn text(&mut self, path: &VaultPath, text: BlobHash) -> Option<Vec<u8>> {
        match self.parts.blobs.get(text) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.left.push(format!("`{path}` is left as it is: {error}"));
                None
            }
        }
    }
}

/// An answer of the disk, whatever it is; not that it could not answer.
fn absent(error: VaultError) -> Result<(), VaultError> {
    match error {
        VaultError::Io { .. } if !error.is_absence() => Err(error),
        _ => Ok(()),
    }
}

/// The hidden name that taking a write back uses: told from the first, so that a second crash
/// leaves nothing unknown.
fn second(temp: &str) -> String {
    format!("{}-b.tmp", temp.strip_suffix(".tmp").unwrap_or(temp))
}
