//! Changes of names with the links that follow them, as one change set.
//!
//! Whatever tool moves or creates files applies its changes through [`apply`]; what takes changes
//! back or restores goes through [`following`].

use std::collections::HashSet;

pub use super::relinked::Relinked;
use super::relinked::tell;
use super::since::Since;
use super::{Context, ToolError, graph, rights};
use crate::index::links::names::NameChange;
use crate::index::links::rewrite::{Plan, Rewrite};
use crate::journal::{Applied, Change, Follow, JournalError, NameStep, UndoError};
use crate::note::path::VaultPath;
use crate::vault::{Before, Cancel, VaultError};

/// How often a change is planned anew because a note with links to rewrite changed meanwhile, as
/// when Obsidian rewrites the same links.
const ATTEMPTS: usize = 6;

/// What becomes of a change where a file may not be written whose links would have to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ReadOnly {
    /// It is not made.
    #[default]
    Refuse,
    /// It is made, and these links lead elsewhere then.
    Leave,
}

/// Applies changes that go together, and with them the rewriting of every link that would lead
/// elsewhere for them. The outcomes of `changes` come first in what was applied.
///
/// # Errors
/// As [`Context::apply`] and [`rights::check`]; all is as it was.
pub(super) fn apply(
    context: &Context,
    title: String,
    changes: Vec<Change>,
    read_only: ReadOnly,
) -> Result<(Applied, Relinked), ToolError> {
    for _ in 1..ATTEMPTS {
        let (change, plan) = plan(context, &changes, read_only)?;
        let relinked = tell(context, &change, &plan);
        let ours: HashSet<VaultPath> = plan.rewrites.iter().map(|r| r.path.clone()).collect();
        let merged = merge(changes.clone(), plan.rewrites);
        match context.try_apply(title.clone(), merged)? {
            Ok(applied) => return Ok((applied, relinked)),
            Err(JournalError::Change(error))
                if met(&error)
                    .is_some_and(|path| ours.contains(path) && !writes(&changes, path)) =>
            {
                look_again(context, &error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let (change, plan) = plan(context, &changes, read_only)?;
    let relinked = tell(context, &change, &plan);
    Ok((context.apply(title, merge(changes, plan.rewrites))?, relinked))
}

/// The file that somebody changed, or took away, since it was looked at.
fn met(error: &VaultError) -> Option<&VaultPath> {
    match error {
        VaultError::Stale { path, .. } | VaultError::Renamed { path, .. } => Some(path),
        _ => None,
    }
}

/// Finds what is not where it was: where no watcher tells, nobody knows its new name yet.
fn look_again(context: &Context, error: &VaultError) {
    if matches!(error, VaultError::Stale { current: None, .. } | VaultError::Renamed { .. })
        && let Err(error) = context.vault.rescan()
    {
        tracing::warn!(%error, "the vault could not be looked through again");
    }
}

/// Runs an undo or a restoration, and with it the rewriting of every link that would lead
/// elsewhere for it, in the same change set. A text that it puts back itself stays as it was then, and
/// so does one that is older than what is taken back, as far as `since` tells.
///
/// # Errors
/// As `run`; all is as it was.
pub(super) fn following<T>(
    context: &Context,
    since: Option<Since>,
    mut run: impl FnMut(Follow<'_>) -> Result<T, UndoError>,
) -> Result<(T, Relinked), UndoError> {
    for attempt in 1.. {
        let (mut relinked, mut ours) = (Relinked::default(), HashSet::new());
        let mut follow = |steps: &[NameStep]| {
            let (change, plan) = plan_after(context, since, steps);
            relinked = tell(context, &change, &plan);
            ours = plan.rewrites.iter().map(|rewrite| rewrite.path.clone()).collect();
            merge(Vec::new(), plan.rewrites)
        };
        match run(&mut follow) {
            Err(UndoError::Journal(JournalError::Change(error)))
                if attempt < ATTEMPTS && met(&error).is_some_and(|path| ours.contains(path)) =>
            {
                look_again(context, &error);
            }
            result => return Ok((result?, relinked)),
        }
    }
    unreachable!("the last attempt returns")
}

/// The links that follow what an undo does to names, in files that it does not write itself and that
/// were written since.
fn plan_after(context: &Context, since: Option<Since>, steps: &[NameStep]) -> (NameChange, Plan) {
    let mut change = NameChange::default();
    let mut written: HashSet<VaultPath> = HashSet::new();
    {
        let catalogue = context.vault.catalogue();
        for step in steps {
            match step {
                NameStep::Written(path) => {
                    change.written(&catalogue, path);
                    written.insert(path.clone());
                }
                NameStep::Goes(path) => change.goes(&catalogue, path),
                NameStep::Moves { from, to } => {
                    change.moves(&catalogue, from, to);
                    let moved = |path: VaultPath| match path.relative_to(from) {
                        Some("") => Some(to.clone()),
                        Some(below) => VaultPath::from_disk(&format!("{}/{below}", to.as_str())),
                        None => Some(path),
                    };
                    written = written.into_iter().filter_map(moved).collect();
                }
            }
        }
    }
    if change.is_empty() || change.only_adds_new_names(&context.vault.catalogue()) {
        return (change, Plan::default());
    }
    // Whoever undoes waits for it: a plan without the links would break them.
    let refreshed = context.index.links.refresh(&Cancel::default());
    debug_assert!(refreshed.is_ok(), "nobody can withdraw");
    let format = context.vault.obsidian().link_format;
    let mut plan = context.index.links.follow(&change, format, &|_| None);
    let stays = |path: &VaultPath| change.after(path).is_none_or(|path| !written.contains(path));
    plan.rewrites.retain(|rewrite| stays(&rewrite.path));
    plan.stuck.retain(|stuck| stays(&stuck.path));
    plan.unknown.retain(|unknown| stays(&unknown.path));
    if let Some(since) = since {
        let rewritten = plan.rewrites.iter().map(|rewrite| &rewrite.path);
        let paths = rewritten.chain(plan.stuck.iter().map(|stuck| &stuck.path)).cloned();
        let older = since.older(context, &change, paths.collect());
        plan.rewrites.retain(|rewrite| !older.contains(&rewrite.path));
        plan.stuck.retain(|stuck| !older.contains(&stuck.path));
    }
    (change, plan)
}

/// What [`apply`] would do to links; nothing is changed.
///
/// # Errors
/// The caller withdrew; [`apply`] would be refused.
pub(super) fn preview(
    context: &Context,
    changes: &[Change],
    read_only: ReadOnly,
) -> Result<Relinked, ToolError> {
    let (change, plan) = plan(context, changes, read_only)?;
    Ok(tell(context, &change, &plan))
}

/// The change of names that these changes are.
pub(super) fn names(context: &Context, changes: &[Change]) -> NameChange {
    let catalogue = context.vault.catalogue();
    let mut names = NameChange::default();
    for change in changes {
        match change {
            Change::Write { path, .. } if catalogue.get(path.as_str()).is_none() => {
                names.comes(path.clone());
            }
            Change::Move { from, to } => names.moves(&catalogue, from, to),
            Change::Delete { path, .. } => names.goes(&catalogue, path),
            Change::Write { .. } | Change::CreateFolder { .. } => {}
        }
    }
    names
}

fn plan(
    context: &Context,
    changes: &[Change],
    read_only: ReadOnly,
) -> Result<(NameChange, Plan), ToolError> {
    rights::check_moves(context, changes)?;
    let change = names(context, changes);
    // The vault is not read for the sake of a new note with a new name.
    if change.is_empty() || change.only_adds_new_names(&context.vault.catalogue()) {
        return Ok((change, Plan::default()));
    }
    graph::refresh(context)?;
    let written = |wanted: &VaultPath| {
        changes.iter().find_map(|change| match change {
            Change::Write { path, content, .. } if path == wanted => Some(content.clone()),
            _ => None,
        })
    };
    let format = context.vault.obsidian().link_format;
    let mut plan = context.index.links.follow(&change, format, &written);
    rights::check(context, &mut plan, read_only)?;
    Ok((change, plan))
}

/// The changes with the rewritten texts put in: into those that they write themselves, or beside.
fn merge(mut changes: Vec<Change>, rewrites: Vec<Rewrite>) -> Vec<Change> {
    for rewrite in rewrites {
        let Some(revision) = rewrite.revision else {
            let mut written = changes.iter_mut().filter_map(|change| match change {
                Change::Write { path, content, .. } if *path == rewrite.path => Some(content),
                _ => None,
            });
            if let Some(content) = written.next() {
                *content = rewrite.content;
            }
            continue;
        };
        changes.push(Change::Write {
            path: rewrite.path,
            content: rewrite.content,
            before: Before::Revision(revision),
        });
    }
    changes
}

fn writes(changes: &[Change], wanted: &VaultPath) -> bool {
    changes.iter().any(|change| matches!(change, Change::Write { path, .. } if path == wanted))
}
