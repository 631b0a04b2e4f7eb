//! Determines from the disk how far an interrupted operation's steps got.

use super::on_disk::{
    is_mixed, is_ours, is_there, is_vacated, locate_trashed, read_bytes, revision_on_disk,
};
use super::parts::Parts;
use super::step::{Detail, RecordedAct, RecordedStep, TrashRecord, revision};
use crate::note::path::VaultPath;
use crate::note::path_map::PathMap;
use crate::store::BlobHash;
use crate::vault::{FileId, Kind, Meta, is_temp_path};

/// How far a step got.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Status {
    Done {
        /// The step's detail, completed by data that was unknown when it was recorded.
        detail: String,
        /// Whether only this step explains the state on disk. Steps run one after the other, so
        /// then all earlier steps were done.
        proof: bool,
    },
    /// Somebody has changed the file since; the step may have written it before.
    Changed {
        detail: String,
    },
    Open,
}

/// The details of all steps, if every step was done. A write whose file was changed since counts as
/// done if a later step proves it: rolling the others back would separate what belongs together, a
/// moved note from the links to it. Consecutive writes become durable together, so after a power
/// cut one write proves nothing about another.
pub(super) fn details_if_done(parts: &Parts, steps: &[RecordedStep]) -> Option<Vec<String>> {
    let (mut details, mut proved, mut by_write) = (Vec::with_capacity(steps.len()), false, false);
    let mut later = Later::default();
    for (at, step) in steps.iter().enumerate().rev() {
        let is_write = matches!(step.act, RecordedAct::Write { .. });
        if !is_write {
            proved |= std::mem::take(&mut by_write);
        }
        let status = status_of(parts, step, (steps, at), &later);
        later.precede(step);
        match status {
            Status::Done { detail, proof } => {
                *(if is_write { &mut by_write } else { &mut proved }) |= proof;
                details.push(detail);
            }
            Status::Changed { detail } if proved => details.push(detail),
            Status::Changed { .. } | Status::Open => return None,
        }
    }
    details.reverse();
    Some(details)
}

/// How far a step got, given the later steps of its operation.
fn status_of(
    parts: &Parts,
    step: &RecordedStep,
    (steps, at): (&[RecordedStep], usize),
    later: &Later,
) -> Status {
    let detail = || step.row.detail.clone();
    let vault = parts.vault();
    let done = |proof| Status::Done { detail: detail(), proof };
    let done_if = |is_done: bool, proof: bool| if is_done { done(proof) } else { Status::Open };
    match &step.act {
        RecordedAct::Folder => match later.now_at(&step.path) {
            Some(now) => {
                let there = vault.stat(&now).is_ok_and(|meta| meta.kind == Kind::Folder);
                done_if(there, false)
            }
            None => done(false),
        },
        // A folder that is not empty was to stay.
        RecordedAct::RemoveFolder => done_if(
            vault.stat(&step.path).is_err()
                || vault.files_below(&step.path).is_ok_and(|files| !files.is_empty()),
            false,
        ),
        RecordedAct::Write { before, after } => {
            // The hidden name may hold another program's text.
            if let Some(content) = step.temp().and_then(|temp| read_bytes(parts, &temp))
                && !is_ours(parts, &content, *before, *after)
            {
                return Status::Open;
            }
            let Some(now) = later.now_at(&step.path) else { return done(false) };
            match revision_on_disk(parts, &now) {
                Some(holds) if holds == revision(*after) => done(*before != Some(*after)),
                Some(holds) if before.map(revision) == Some(holds) => Status::Open,
                Some(_) if is_torn(parts, step, &now, *before, *after) => Status::Open,
                Some(_) => Status::Changed { detail: detail() },
                None => Status::Open,
            }
        }
        RecordedAct::Move { to, identity } => match later.now_at(to) {
            Some(now) => {
                let from = vault.stat(&step.path);
                let apart = from.as_ref().map_or(true, |meta| !identity.matches(meta));
                // Nothing was at the destination before. A file there that came from no other path
                // is the moved one, saved by an editor that replaces files. A move to a hidden name
                // was done if the file has moved on from there.
                let over = is_temp_path(to)
                    && steps[at..].iter().any(|one| {
                        one.path == *to && vault.stat(to).is_err() && is_vacated(parts, one, steps)
                    });
                let is_gone = over || (from.is_err() && is_vacated(parts, step, steps));
                let saved_since =
                    is_gone && vault.stat(&now).is_ok_and(|meta| meta.kind == identity.kind());
                let there = is_there(parts, &now, *identity, step.row.after) || saved_since;
                done_if(apart && there, true)
            }
            None => done(false),
        },
        RecordedAct::Delete { identity } => {
            // In doubt the file is still there, unless it is another one of this operation: some file systems change
            // inodes.
            let is_other =
                |meta: &Meta| !step.has_id_of(meta) && steps.iter().any(|one| one.has_id_of(meta));
            let gone = vault
                .stat(&step.path)
                .map_or(true, |meta| !identity.may_be(&meta) || is_other(&meta))
                && !(identity.id() == FileId::UNKNOWN && has_text_of(parts, step, &steps[..at]));
            let aside = step.temp().is_some_and(|aside| vault.stat(&aside).is_ok());
            if !gone || aside {
                return Status::Open;
            }
            let place = locate_trashed(parts, step, *identity).as_ref().map(TrashRecord::of);
            let proof = place.is_some();
            let detail = Detail { place, ..step.detail.clone() }.json();
            Status::Done { detail, proof }
        }
        RecordedAct::Restore { from, identity } => match later.now_at(&step.path) {
            Some(now) => {
                let saved_since = from.as_ref().is_some_and(|from| {
                    parts.writer.stat_trashed(from).is_none()
                        && vault.stat(&now).is_ok_and(|meta| meta.kind == identity.kind())
                });
                done_if(is_there(parts, &now, *identity, step.row.after) || saved_since, true)
            }
            None => done(false),
        },
    }
}

/// Whether a file holds what a crash leaves when it is rewritten in place.
fn is_torn(
    parts: &Parts,
    step: &RecordedStep,
    now: &VaultPath,
    before: Option<BlobHash>,
    after: BlobHash,
) -> bool {
    if !step.detail.in_place {
        return false;
    }
    let text = |text| parts.blobs.get(text).ok();
    let texts = (read_bytes(parts, now), before.and_then(text), text(after));
    matches!(texts, (Some(torn), Some(before), Some(after)) if is_mixed(&torn, &before, &after))
}

/// Whether a file that was to be written and then deleted still exists, with any text that it had
/// meanwhile: it has no inode to identify it.
fn has_text_of(parts: &Parts, step: &RecordedStep, earlier: &[RecordedStep]) -> bool {
    let Some(now) = revision_on_disk(parts, &step.path) else { return false };
    let written = earlier.iter().filter(|one| one.path == step.path);
    let texts = written.flat_map(|one| [one.row.before, one.row.after]);
    texts.chain([step.row.before]).flatten().any(|text| revision(text) == now)
}

/// Where paths are after the steps that follow a given step.
#[derive(Default)]
struct Later(PathMap<Where>);

/// The later location of a path and of the paths below it; `None` if removed or overwritten.
#[derive(Clone)]
struct Where {
    here: Option<VaultPath>,
    below: Option<VaultPath>,
}

impl Later {
    fn locate(&self, path: &VaultPath) -> Where {
        match self.0.nearest(path) {
            Some((at, now)) if at == path => now.clone(),
            Some((at, now)) => {
                let rest = path.relative_to(at).unwrap_or_default();
                let now = now.below.as_ref().and_then(|now| now.join_all(rest));
                Where { here: now.clone(), below: now }
            }
            None => Where { here: Some(path.clone()), below: Some(path.clone()) },
        }
    }

    /// The current path of the file; `None` if a later step removes or overwrites it.
    fn now_at(&self, path: &VaultPath) -> Option<VaultPath> {
        self.locate(path).here
    }

    /// Prepends this step to the later ones.
    fn precede(&mut self, step: &RecordedStep) {
        let path = &step.path;
        match &step.act {
            RecordedAct::Move { to, .. } => {
                let now = self.locate(to);
                let below = self.0.take_within(to);
                self.0.take_within(path);
                for (at, now) in below {
                    let at = path.join_all(at.relative_to(to).unwrap_or_default());
                    at.into_iter().for_each(|at| drop(self.0.insert(at, now.clone())));
                }
                self.0.insert(path.clone(), now);
            }
            RecordedAct::Delete { .. } => {
                self.0.take_within(path);
                self.0.insert(path.clone(), Where { here: None, below: None });
            }
            RecordedAct::Write { .. } | RecordedAct::RemoveFolder => {
                let below = self.locate(path).below;
                self.0.insert(path.clone(), Where { here: None, below });
            }
            RecordedAct::Folder | RecordedAct::Restore { .. } => {}
        }
    }
}
