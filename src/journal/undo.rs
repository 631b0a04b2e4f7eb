//! Taking back what was done.
//!
//! An undo is a change set like any other: steps that do the opposite, in the reverse order,
//! recorded as they are done. Everything that stands in its way is found first, on a picture of the
//! vault in which the steps planned so far are done.

use super::apply::{Executor, Job};
use super::change::{Applied, ChangeSetId, Origin, Outcome, Target};
use super::error::UndoError;
use super::follow::Follow;
use super::listing::ListedSet;
use super::merging;
use super::opposite::take_back;
use super::prospect::{Review, prospects};
use super::step::{Act, Recorded, WRITE};
use super::undoing::Undoing;
use crate::store::StoreError;
use crate::store::journal::{Changes, StepRow};

/// An undo that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The change set that did it, which can be undone itself. Its outcomes are those of its own
    /// steps, in their order.
    pub applied: Applied,
    /// What a person should hear, one sentence each: "`a.md` is back as `a (restored).md`".
    pub notes: Vec<String>,
}

/// Takes back a change set or one change of it, as a new change set.
pub(super) fn undo(
    executor: &Executor,
    target: Target,
    force: bool,
    origin: &Origin,
    follow: Follow<'_>,
    review: Review<'_>,
) -> Result<Undone, UndoError> {
    let _alone = executor.alone();
    executor.ready()?;
    let set = target.set();
    let changes = &executor.parts.rows.changes;
    let mut rows = changes.steps(set.0.cast_signed())?;
    if let Target::Change(change) = target {
        rows.retain(|row| row.number == change.number);
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
    let mut undoing = Undoing::new(&executor.parts, &executor.marks, force);
    undoing.moves = rows.iter().any(|row| row.kind != WRITE || row.before.is_none());
    let mut undone = Vec::new();
    for row in rows.into_iter().rev() {
        for row in as_last_done(changes, row)?.into_iter().rev() {
            let step = Recorded::read(row)?;
            take_back(&mut undoing, &step)?;
            undone.push(step);
        }
    }
    let following = merging::follow(&mut undoing, follow)?;
    let title = match executor.history.listed(set.0.cast_signed(), None)? {
        Some(listed) => format!("undo {target}: {}", title_of(&listed, target)),
        None => format!("undo {target}"),
    };
    let (steps, mut notes) = undoing.finish()?;
    if steps.is_empty() {
        return Err(UndoError::Nothing { target, notes });
    }
    if !review(prospects(&executor.parts.writer, &steps, following, &undone)) {
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
    };
    let (change_set, ends) = executor.run(&job)?;
    for (step, ended) in steps.iter().zip(&ends) {
        if let (Act::RemoveFolder { path }, Outcome::FolderRemoved(false)) =
            (&step.act, &ended.outcome)
        {
            notes.push(format!("the folder `{path}` stays: it is not empty"));
        }
    }
    if ends.iter().all(|ended| ended.nothing) {
        return Err(UndoError::Nothing { target, notes });
    }
    let outcomes = ends.into_iter().map(|ended| ended.outcome).collect();
    Ok(Undone { applied: Applied { change_set, outcomes }, notes })
}

/// The steps to take back for this one. What was undone and done again by undoing that is as
/// it was done last: a folder that went to the trash a second time lies elsewhere there, and
/// holds what it held by then.
fn as_last_done(rows: &Changes, row: StepRow) -> Result<Vec<StepRow>, StoreError> {
    let again = rows.done_again(row.id)?;
    if again.is_empty() {
        return Ok(vec![row]);
    }
    let each = again.into_iter().map(|row| as_last_done(rows, row));
    Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
}

/// What is undone, in words: of one change among others what that did, and not the whole set.
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
