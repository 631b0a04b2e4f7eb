//! Undoes change sets.
//!
//! An undo is a change set like any other: the inverse steps in reverse order, recorded as they are
//! done. Obstacles are found beforehand, on an overlay of the vault in which the steps planned so
//! far are done.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::apply::{Executor, Job};
use super::change::{Applied, ChangeSetId, Origin, Outcome, Target};
use super::error::UndoError;
use super::follow::Follow;
use super::inverse::plan_inverse;
use super::listing::ListedSet;
use super::merging;
use super::preview::{Review, preview};
use super::step::{Act, FOLDER, RecordedStep, WRITE};
use super::undo_plan::UndoPlan;
use crate::note::path::VaultPath;
use crate::store::StoreError;
use crate::store::journal::{Changes, StepRow};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The change set of the undo, which can itself be undone. Its outcomes are those of its own
    /// steps, in order.
    pub applied: Applied,
    /// Messages for a person, one sentence each: "`a.md` is back as `a (restored).md`".
    pub notes: Vec<String>,
}

/// Undoes a change set, one change of it, or its changes with the numbers `only`, as a new change
/// set.
pub(super) fn undo(
    executor: &Executor,
    target: Target,
    only: Option<&BTreeSet<u32>>,
    force: bool,
    origin: &Origin,
    follow: Follow<'_>,
    review: Review<'_>,
) -> Result<Undone, UndoError> {
    let _guard = executor.exclusive();
    executor.check_ready()?;
    let set = target.set();
    let changes = &executor.parts.rows.changes;
    let mut rows = changes.steps(set.0.cast_signed())?;
    let standing = |rows: &[StepRow]| rows.iter().filter(|row| row.undone_by.is_none()).count();
    let all = standing(&rows);
    let mut made = folders_left(changes, &rows)?;
    if let Target::Change(change) = target {
        rows.retain(|row| row.number == change.number);
    }
    if let Some(only) = only {
        rows.retain(|row| only.contains(&row.number));
    }
    if rows.is_empty() {
        return Err(UndoError::Unknown(target));
    }
    if let Some(by) = rows.iter().filter_map(|row| row.undone_by).max()
        && rows.iter().all(|row| row.undone_by.is_some())
    {
        let by = ChangeSetId(by.cast_unsigned());
        return Err(UndoError::AlreadyUndone { target, by });
    }
    rows.retain(|row| row.undone_by.is_none());
    let mut plan = UndoPlan::new(&executor.parts, &executor.rename_counts, force);
    made.retain(|path| plan.overlay.holds_files(path));
    plan.is_part = rows.len() < all;
    plan.moves = rows.iter().any(|row| row.kind != WRITE || row.before.is_none());
    let mut undone = Vec::new();
    for row in rows.into_iter().rev() {
        for row in as_last_done(changes, row)?.into_iter().rev() {
            let step = RecordedStep::read(row)?;
            plan_inverse(&mut plan, &step)?;
            undone.push(step);
        }
    }
    for path in made.into_iter().rev() {
        if plan.overlay.is_emptied(&path) {
            plan.add(Act::RemoveFolder { path }, None, Vec::new());
            plan.change += 1;
        }
    }
    let following = merging::follow(&mut plan, follow)?;
    let title = match executor.history.listed(set.0.cast_signed(), None)? {
        Some(listed) => format!("undo {target}: {}", title_of(&listed, target)),
        None => format!("undo {target}"),
    };
    let (steps, mut notes) = plan.finish()?;
    if steps.is_empty() {
        return Err(UndoError::Nothing { target, notes });
    }
    if !review(preview(&executor.parts.writer, &steps, following, &undone)) {
        return Err(UndoError::Refused);
    }
    let job = Job {
        kind: "undo",
        title: &title,
        origin,
        joins_turn: false,
        undoes: Some(target),
        steps: &steps,
        undone: &undone.iter().map(|step| step.row.id).collect::<Vec<_>>(),
        progress: &(),
    };
    let (change_set, ends) = executor.run(&job)?;
    for (step, ended) in steps.iter().zip(&ends) {
        if let (Act::RemoveFolder { path }, Outcome::FolderRemoved(false)) =
            (&step.act, &ended.outcome)
        {
            notes.push(format!("the folder `{path}` stays: it is not empty"));
        }
    }
    if ends.iter().all(|ended| ended.no_op) {
        return Err(UndoError::Nothing { target, notes });
    }
    let outcomes = ends.into_iter().map(|ended| ended.outcome).collect();
    Ok(Undone { applied: Applied { change_set, outcomes }, notes })
}

/// The folders of a set that a partial undo left because they were not empty: it has no step for
/// them.
fn folders_left(changes: &Changes, rows: &[StepRow]) -> Result<Vec<VaultPath>, StoreError> {
    let (mut left, mut removed) = (Vec::new(), HashMap::new());
    for row in rows.iter().filter(|row| row.kind == FOLDER) {
        let Some(by) = row.undone_by else { continue };
        if let Entry::Vacant(unread) = removed.entry(by) {
            let undone = changes.steps(by)?.into_iter().filter_map(|step| step.undoes);
            unread.insert(undone.collect::<HashSet<i64>>());
        }
        if !removed[&by].contains(&row.id) {
            left.push(RecordedStep::read(row.clone())?.path);
        }
    }
    Ok(left)
}

/// The steps to undo for this row. If the row was undone and that undo was undone, these are the
/// latest ones that redid it: a folder that went to the trash a second time is at another place
/// there, with the content that it had at that time.
fn as_last_done(rows: &Changes, row: StepRow) -> Result<Vec<StepRow>, StoreError> {
    let again = rows.redone_by(row.id)?;
    if again.is_empty() {
        return Ok(vec![row]);
    }
    let each = again.into_iter().map(|row| as_last_done(rows, row));
    Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
}

/// The description of the target in the undo's title: for one change among several, only that change.
fn title_of(set: &ListedSet, target: Target) -> String {
    let one = match target {
        Target::Change(id) if set.changes.len() > 1 => {
            set.changes.iter().find(|change| change.id == id)
        }
        _ => None,
    };
    one.map_or_else(
        || set.title.clone(),
        |one| format!("{} `{}`", one.action.word().replace('_', " "), one.path),
    )
}
