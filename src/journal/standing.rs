//! How far the steps of an operation came that a crash cut short, by what is on the disk.

use super::parts::Parts;
use super::remains::{bytes, find, holds, is_mixed, is_ours, is_there};
use super::step::{Deed, Detail, Place, Recorded, revision};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{FileId, Kind};

/// How far a step came.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Standing {
    /// All the way.
    Done {
        /// Its detail, with what was not known when it was intended.
        detail: String,
        /// Whether nothing but this step explains what is there. Steps are done one after the
        /// other, so all before it were done then.
        proof: bool,
    },
    /// Somebody has changed the file since, which the step may have written before that.
    Changed { detail: String },
    /// Not all the way.
    Open,
}

/// The details of all steps, if every one of them was done. What somebody has changed since
/// was done if one after it was: taking the others back then would part what belongs together,
/// a moved note from the links to it.
pub(super) fn is_whole(parts: &Parts, steps: &[Recorded]) -> Option<Vec<String>> {
    let (mut details, mut proved) = (Vec::with_capacity(steps.len()), false);
    for (at, step) in steps.iter().enumerate().rev() {
        match standing(parts, step, &steps[..at], &steps[at + 1..]) {
            Standing::Done { detail, proof } => {
                proved |= proof;
                details.push(detail);
            }
            Standing::Changed { detail } if proved => details.push(detail),
            Standing::Changed { .. } | Standing::Open => return None,
        }
    }
    details.reverse();
    Some(details)
}

/// How far a step came, seen through those that came after it in its operation.
fn standing(parts: &Parts, step: &Recorded, earlier: &[Recorded], later: &[Recorded]) -> Standing {
    let detail = || step.row.detail.clone();
    let vault = parts.vault();
    let done = |proof| Standing::Done { detail: detail(), proof };
    let whether = |done_so: bool, proof: bool| if done_so { done(proof) } else { Standing::Open };
    match &step.deed {
        Deed::Folder => match now_at(&step.path, later) {
            Some(now) => {
                let there = vault.stat(&now).is_ok_and(|meta| meta.kind == Kind::Folder);
                whether(there, false)
            }
            None => done(false),
        },
        // One that is not empty was to stay.
        Deed::RemoveFolder => whether(
            vault.stat(&step.path).is_err()
                || vault.files_below(&step.path).is_ok_and(|files| !files.is_empty()),
            false,
        ),
        Deed::Write { before, after } => {
            // Something that nobody has seen may lie under the hidden name.
            if let Some(content) = step.temp().and_then(|temp| bytes(parts, &temp))
                && !is_ours(parts, &content, *before, *after)
            {
                return Standing::Open;
            }
            let Some(now) = now_at(&step.path, later) else { return done(false) };
            match holds(parts, &now) {
                Some(holds) if holds == revision(*after) => done(*before != Some(*after)),
                Some(holds) if before.map(revision) == Some(holds) => Standing::Open,
                Some(_) if is_torn(parts, step, &now, *before, *after) => Standing::Open,
                Some(_) => Standing::Changed { detail: detail() },
                None => Standing::Open,
            }
        }
        Deed::Move { to, thing } => match now_at(to, later) {
            Some(now) => {
                let from = vault.stat(&step.path);
                let apart = from.as_ref().map_or(true, |meta| !thing.is(meta));
                // Nothing was there before: what is there now and has not come from elsewhere
                // is this one, saved by an editor that makes a new file for it.
                let saved_since =
                    from.is_err() && vault.stat(&now).is_ok_and(|meta| meta.kind == thing.kind());
                let there = is_there(parts, &now, *thing, step.row.after) || saved_since;
                whether(apart && there, true)
            }
            None => done(false),
        },
        Deed::Delete { thing } => {
            let gone = vault.stat(&step.path).map_or(true, |meta| !thing.is(&meta))
                && !(thing.id() == FileId::UNKNOWN && has_text_of(parts, step, earlier));
            let aside = step.temp().is_some_and(|aside| vault.stat(&aside).is_ok());
            if !gone || aside {
                return Standing::Open;
            }
            let place = find(parts, step, *thing).as_ref().map(Place::of);
            let proof = place.is_some();
            let detail = Detail { place, ..step.detail.clone() }.json();
            Standing::Done { detail, proof }
        }
        Deed::Restore { from, thing } => match now_at(&step.path, later) {
            Some(now) => {
                let saved_since = from.as_ref().is_some_and(|from| {
                    parts.writer.look_at_trashed(from).is_none()
                        && vault.stat(&now).is_ok_and(|meta| meta.kind == thing.kind())
                });
                whether(is_there(parts, &now, *thing, step.row.after) || saved_since, true)
            }
            None => done(false),
        },
    }
}

/// Whether a file holds what a crash leaves of writing it in place.
fn is_torn(
    parts: &Parts,
    step: &Recorded,
    now: &VaultPath,
    before: Option<BlobHash>,
    after: BlobHash,
) -> bool {
    if !step.detail.in_place {
        return false;
    }
    let text = |text| parts.blobs.get(text).ok();
    let texts = (bytes(parts, now), before.and_then(text), text(after));
    matches!(texts, (Some(torn), Some(before), Some(after)) if is_mixed(&torn, &before, &after))
}

/// Whether a file that was to be written and then deleted is still there, with any text that it
/// had meanwhile: it has no number to be told by.
fn has_text_of(parts: &Parts, step: &Recorded, earlier: &[Recorded]) -> bool {
    let Some(now) = holds(parts, &step.path) else { return false };
    let written = earlier.iter().filter(|one| one.path == step.path);
    let texts = written.flat_map(|one| [one.row.before, one.row.after]);
    texts.chain([step.row.before]).flatten().any(|text| revision(text) == now)
}

/// Where a path is after these steps; none if they have taken it away or written over it.
fn now_at(path: &VaultPath, later: &[Recorded]) -> Option<VaultPath> {
    let mut now = path.clone();
    for step in later {
        match &step.deed {
            Deed::Move { to, .. } if now.is_within(&step.path) || now == step.path => {
                let rest = now.relative_to(&step.path).unwrap_or_default();
                let mut parts = rest.split('/').filter(|part| !part.is_empty());
                now = parts.try_fold(to.clone(), |at, name| at.join(name))?;
            }
            Deed::Delete { .. } if now == step.path || now.is_within(&step.path) => return None,
            Deed::Write { .. } | Deed::RemoveFolder if now == step.path => return None,
            _ => {}
        }
    }
    Some(now)
}
