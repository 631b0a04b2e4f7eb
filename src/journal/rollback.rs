//! Rolls back recorded steps as far as they were executed, by the state on disk, so that it can be repeated.

use super::on_disk::{
    is_mixed, is_ours, is_there, is_vacated, locate_trashed, read_bytes, revision_on_disk,
};
use super::parts::Parts;
use super::step::{FileIdentity, RecordedAct, RecordedStep, revision};
use crate::note::merge;
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{Meta, Precondition, Revision, Trashed, VaultError, is_temp_path, temp_name};

pub(super) struct Rollback<'a> {
    pub parts: &'a Parts,
    pub steps: &'a [RecordedStep],
    /// Files left unchanged, one sentence each.
    pub left: &'a mut Vec<String>,
}

impl Rollback<'_> {
    /// Rolls one step back as far as it got. The later steps are rolled back already.
    pub fn roll_back_step(&mut self, step: &RecordedStep) {
        let result = self.roll_back(step);
        self.report(step, result);
    }

    /// Like [`Self::roll_back_step`], but only if the disk can be read.
    pub fn roll_back_if_readable(&mut self, step: &RecordedStep) {
        let result = self.check_readable(step).and_then(|()| self.roll_back(step));
        self.report(step, result);
    }

    fn report(&mut self, step: &RecordedStep, result: Result<(), VaultError>) {
        if let Err(error) = result {
            self.left.push(format!("`{}` could not be undone: {error}", step.path));
        }
    }

    /// Ends the exchange of a write, and that of an earlier rollback of it, if a crash interrupted it in the middle.
    pub fn finish_exchanges(&mut self, step: &RecordedStep) {
        let RecordedAct::Write { .. } = step.act else { return };
        let Some(temp) = step.detail.temp.as_deref() else { return };
        for temp in [temp, &rollback_name(temp)] {
            if let Err(error) = self.parts.writer.finish_exchange(&step.path, temp) {
                let text =
                    format!("an interrupted save of `{}` could not be ended: {error}", step.path);
                self.left.push(text);
            }
        }
    }

    /// Checks that the state of a step's paths can be read. A read error must not be mistaken for a
    /// missing file.
    pub fn check_readable(&self, step: &RecordedStep) -> Result<(), VaultError> {
        let vault = self.parts.vault();
        let seen = match &step.act {
            RecordedAct::Write { .. } => vault.open_file(&step.path).map(drop),
            RecordedAct::Move { to, .. } => {
                vault.stat(&step.path).map(drop).or_else(accept_absence)?;
                vault.stat(to).map(drop)
            }
            _ => vault.stat(&step.path).map(drop),
        };
        seen.or_else(accept_absence)
    }

    fn roll_back(&mut self, step: &RecordedStep) -> Result<(), VaultError> {
        match &step.act {
            RecordedAct::Folder => match self.parts.writer.remove_empty_folder(&step.path) {
                Err(VaultError::NotFound { .. }) => Ok(()),
                other => other.map(|_| ()),
            },
            RecordedAct::RemoveFolder => self.parts.writer.create_folders(&step.path).map(|_| ()),
            RecordedAct::Write { before, after } => self.roll_back_write(step, *before, *after),
            RecordedAct::Move { to, identity } => self.move_back(step, to, *identity),
            RecordedAct::Delete { identity } => self.undelete(step, *identity),
            RecordedAct::Restore { from: Some(from), identity } => {
                self.unrestore(step, from, *identity)
            }
            RecordedAct::Restore { from: None, .. } => Ok(()),
        }
    }

    /// Rolls a failed step back while the daemon runs, as far as it was executed. Errors that are
    /// raised before any change need no rollback: the files at the step's paths then belong to
    /// others.
    pub fn roll_back_failed(&mut self, step: &RecordedStep, error: &VaultError) {
        let vault = self.parts.vault();
        let touched = matches!(error, VaultError::Io { .. });
        let half = match &step.act {
            RecordedAct::Delete { identity } => {
                step.temp().is_some_and(|aside| vault.stat(&aside).is_ok())
                    || (touched
                        && vault.stat(&step.path).is_err()
                        && locate_trashed(self.parts, step, *identity).is_some())
            }
            // The step reports what it made, or has removed it again.
            RecordedAct::Folder => false,
            _ => touched,
        };
        if half {
            self.finish_exchanges(step);
            self.roll_back_step(step);
        }
    }

    fn roll_back_write(
        &mut self,
        step: &RecordedStep,
        before: Option<BlobHash>,
        after: BlobHash,
    ) -> Result<(), VaultError> {
        let path = &step.path;
        let (old, new) = (before.map(revision), revision(after));
        let again = step.detail.temp.as_deref().map_or_else(temp_name, rollback_name);
        let displaced = step.temp().and_then(|temp| Some((read_bytes(self.parts, &temp)?, temp)));
        let displaced = displaced.filter(|(bytes, _)| !is_ours(self.parts, bytes, before, after));
        let now = revision_on_disk(self.parts, path);
        self.clear_temp(step);
        if now == old {
            return Ok(());
        }
        if now == Some(new) {
            if let Some((bytes, temp)) = displaced {
                // Another program saved the file just before the exchange; that text is restored.
                self.write_text(path, &bytes, Precondition::Revision(new), &again)?;
                self.parts.writer.remove_unfinished(&temp, Revision::of(&bytes))?;
                self.left.push(format!(
                    "`{path}` was saved by another program at the same moment; that text is in place"
                ));
                return Ok(());
            }
            return match before {
                None => self.parts.writer.remove_exact(path, new, &again),
                Some(before) => match self.text(path, before) {
                    Some(bytes) => {
                        self.write_text(path, &bytes, Precondition::Revision(new), &again)
                    }
                    None => Ok(()),
                },
            };
        }
        if step.detail.in_place
            && let (Some(before), Some(torn)) = (before, read_bytes(self.parts, path))
            && let (Some(before), Some(after)) = (self.text(path, before), self.text(path, after))
            && is_mixed(&torn, &before, &after)
        {
            return self.write_text(
                path,
                &before,
                Precondition::Revision(Revision::of(&torn)),
                &again,
            );
        }
        self.revert_in_text(path, before, after, &again)
    }

    /// Reverts the steward's change in a text that was edited since, and keeps the edits: a link
    /// that follows a move must not remain when the move is rolled back.
    fn revert_in_text(
        &mut self,
        path: &VaultPath,
        before: Option<BlobHash>,
        after: BlobHash,
        temp: &str,
    ) -> Result<(), VaultError> {
        let vault = self.parts.vault();
        let is_read_whole = |meta: Meta| meta.size <= vault.max_file_bytes();
        let now = vault
            .stat(path)
            .is_ok_and(is_read_whole)
            .then(|| read_bytes(self.parts, path))
            .flatten();
        if let (Some(before), Some(now)) = (before, now)
            && let (Some(before), Some(after)) = (self.text(path, before), self.text(path, after))
            && let Some(theirs) = merge::without(&after, &before, &now)
        {
            if theirs != now {
                self.write_text(path, &theirs, Precondition::Revision(Revision::of(&now)), temp)?;
                self.left.push(format!(
                    "`{path}` was changed since the crash: that stays, and only the steward's change in it is rolled back"
                ));
            }
            return Ok(());
        }
        self.left.push(format!("`{path}` was changed since the crash and is left as it is"));
        Ok(())
    }

    fn write_text(
        &self,
        path: &VaultPath,
        content: &[u8],
        before: Precondition,
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
        step: &RecordedStep,
        to: &VaultPath,
        identity: FileIdentity,
    ) -> Result<(), VaultError> {
        let from = &step.path;
        let vault = self.parts.vault();
        let there = is_there(self.parts, to, identity, step.row.after);
        match (vault.stat(from), there) {
            (Err(_), true) => self.parts.writer.rename(to, from),
            // One name in two spellings: the file gets the first one.
            (Ok(_), true) if from.fold_key() == to.fold_key() => {
                match self.parts.writer.rename(to, from) {
                    Err(VaultError::AlreadyExists { .. }) => Ok(()),
                    other => other,
                }
            }
            (Ok(_), true) if is_temp_path(to) => {
                self.left.push(format!(
                    "there is another `{from}` by now: the previous one is in the recovery folder"
                ));
                Ok(())
            }
            (Ok(_), true) => {
                self.left.push(format!(
                    "`{to}` stays where it was moved to: there is another `{from}` by now"
                ));
                Ok(())
            }
            (Ok(_), false) => Ok(()),
            // Nothing was moved to the hidden name yet.
            (Err(_), false) if !is_vacated(self.parts, step, self.steps) => Ok(()),
            // An editor that replaces files has saved it since. Nothing was there before.
            (Err(_), false) if vault.stat(to).is_ok_and(|meta| meta.kind == identity.kind()) => {
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
        step: &RecordedStep,
        from: &Trashed,
        identity: FileIdentity,
    ) -> Result<(), VaultError> {
        let (path, writer) = (&step.path, &self.parts.writer);
        let in_trash = writer.stat_trashed(from).is_some();
        if in_trash {
            // It was copied from another disk: the copy is removed, complete or not.
            if let Some(temp) = step.temp() {
                writer.remove_restored_copy(&temp, from)?;
            }
            if writer.remove_restored_copy(path, from)? {
                return Ok(());
            }
        } else if is_there(self.parts, path, identity, step.row.after) {
            return writer.undo_restore(path, from);
        }
        if self.parts.vault().stat(path).is_ok() {
            self.left.push(format!("`{path}` was changed since it was brought back, and stays"));
        }
        Ok(())
    }

    fn undelete(&mut self, step: &RecordedStep, identity: FileIdentity) -> Result<(), VaultError> {
        let (path, writer) = (&step.path, &self.parts.writer);
        let vault = self.parts.vault();
        if let Some(aside) = step.temp().filter(|aside| vault.stat(aside).is_ok()) {
            writer.restore_from_temp(&aside, path)?;
            self.fill(step)?;
            self.parts.writer.remove_kept_copy(path, &step.keeping());
            return Ok(());
        }
        if let Ok(meta) = vault.stat(path) {
            // A crash during an earlier rollback may have left it half-restored.
            let kept = writer.kept_copy(path, &step.keeping());
            if identity.matches(&meta)
                && step.detail.keeping.as_ref().is_some_and(|folder| !folder.is_empty())
                && writer.stat_trashed(&kept).is_some()
            {
                self.fill(step)?;
                self.parts.writer.remove_kept_copy(path, &step.keeping());
            }
            return Ok(());
        }
        if let Some(found) = locate_trashed(self.parts, step, identity) {
            // Not the hidden name that the deletion itself used.
            let temp = step.detail.temp.as_deref().map_or_else(temp_name, rollback_name);
            writer.restore(&found, path, &temp)?;
            writer.finish_restore(&found, path);
            return Ok(());
        }
        if let Some(content) = step.row.before.and_then(|text| self.text(path, text)) {
            return self.write_text(path, &content, Precondition::Absent, &temp_name());
        }
        self.left.push(format!("`{path}` was deleted and is in no trash"));
        Ok(())
    }

    /// Restores the missing files of a folder that was being copied away file by file.
    fn fill(&mut self, step: &RecordedStep) -> Result<(), VaultError> {
        // The stored texts may have what cannot be copied from there.
        let _ = self.parts.writer.complete_from_kept(&step.path, &step.keeping());
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
                Some(content) => {
                    self.write_text(&path, &content, Precondition::Absent, &temp_name())?
                }
                None => self.left.push(format!("`{path}` is in `kept` in the state folder")),
            }
        }
        Ok(())
    }

    /// Removes the hidden files of a write if their content, or the text that they are the
    /// beginning of, is stored elsewhere; and the leftovers of a restoration from another disk.
    pub fn clear_temp(&self, step: &RecordedStep) {
        if let RecordedAct::Restore { from: Some(kept @ Trashed::Kept { .. }), .. } = &step.act {
            self.parts.writer.finish_restore(kept, &step.path);
        }
        let RecordedAct::Write { before, after } = step.act else { return };
        let Some(first) = step.temp() else { return };
        let again =
            first.parent().unwrap_or_else(VaultPath::root).join(&rollback_name(first.name()));
        for temp in [Some(first), again].into_iter().flatten() {
            let Some(content) = read_bytes(self.parts, &temp) else { continue };
            // The stored text may be damaged by now. Then this is its last good copy.
            if before == Some(BlobHash::of(&content)) && self.parts.blobs.put(&[&content]).is_err()
            {
                continue;
            }
            if is_ours(self.parts, &content, before, after) {
                // If this fails, the sweep moves the file out of the vault.
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

/// Turns an error that is an answer about the file into `Ok`; keeps errors that mean the disk could
/// not answer.
fn accept_absence(error: VaultError) -> Result<(), VaultError> {
    match error {
        VaultError::Io { .. } if !error.is_absence() => Err(error),
        _ => Ok(()),
    }
}

/// The hidden name for rolling a write back. It is derived from the recorded one, so a second crash
/// leaves no unknown file.
fn rollback_name(temp: &str) -> String {
    format!("{}-b.tmp", temp.strip_suffix(".tmp").unwrap_or(temp))
}
