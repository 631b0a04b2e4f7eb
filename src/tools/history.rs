//! Shared by the tools of the journal: the representation of change sets.

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::text_file::local_short;
use crate::journal::{Action, ListedChange, ListedSet, SetKind, TrashItem};
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::policy::Permission;

/// Changes of one set that are shown; the rest is counted.
pub(super) const MAX_CHANGES: usize = 100;

/// Changes that go together.
#[derive(Serialize, JsonSchema)]
pub struct ChangeSetData {
    /// Its number, which `undo` takes.
    id: u64,
    /// Its description, for people.
    title: String,
    /// When it was begun, local time.
    time: String,
    /// The program that requested it.
    caller: String,
    /// The conversation that requested it.
    conversation: Option<String>,
    /// The change set (`17`) or change (`17.2`) that it undid.
    undoes: Option<String>,
    /// Whether all of it was undone.
    undone: bool,
    /// The changes in the order in which they were made, at most a hundred; `first_change` continues.
    pub changes: Vec<ChangeData>,
    /// The number of all changes.
    total: usize,
}

/// One change.
#[derive(Serialize, JsonSchema)]
pub struct ChangeData {
    /// Its number within the change set: `17.2`. `undo` takes it too.
    pub id: String,
    /// `created`, `modified`, `moved`, `deleted`, `restored`, `folder_made` or `folder_removed`.
    action: &'static str,
    /// The file's path after the change; before it, if the file was deleted.
    path: String,
    /// The path before a move.
    from: Option<String>,
    /// Where a deleted file is now.
    place: Option<String>,
    /// The change set that undid it.
    undone_by: Option<u64>,
    /// The change of the text as a unified diff, if it was requested.
    pub diff: Option<String>,
}

/// Why the caller may not see the texts of a file, given its present path and whether it was
/// permanently deleted. Only callers that may read that path, or delete permanently, see them.
pub(super) fn unread(context: &Context, (at, is_gone): &(VaultPath, bool)) -> Option<&'static str> {
    match (*is_gone, context.vault.view().holds(at)) {
        (true, _) if context.most < Permission::Permanent => Some("it was deleted for good since"),
        (_, false) => Some("it is outside of what you may see"),
        (_, true) => None,
    }
}

/// The deleted files that the caller may see. Files in the trash without a former path are only for
/// callers that may see everything.
pub(super) fn visible(context: &Context, mut items: Vec<TrashItem>) -> Vec<TrashItem> {
    let (view, root) = (context.vault.view(), VaultPath::root());
    items.retain(|item| view.holds(item.was.as_ref().unwrap_or(&root)));
    items
}

/// A change set as data, without its first `skipped` changes.
pub(super) fn data(set: &ListedSet, skipped: usize) -> ChangeSetData {
    ChangeSetData {
        id: set.id.0,
        title: set.title.clone(),
        time: super::text_file::local(nanoseconds(set)),
        caller: set.caller.clone(),
        conversation: set.conversation.clone(),
        undoes: match set.kind {
            SetKind::Undo(target) => Some(target.to_string()),
            SetKind::Change | SetKind::Restore => None,
        },
        undone: set.is_undone(),
        changes: set.changes.iter().skip(skipped).take(MAX_CHANGES).map(change).collect(),
        total: set.changes.len(),
    }
}

fn change(change: &ListedChange) -> ChangeData {
    ChangeData {
        id: change.id.to_string(),
        action: change.action.word(),
        path: change.path.as_str().to_owned(),
        from: change.from.as_ref().map(|from| from.as_str().to_owned()),
        place: change.place.clone(),
        undone_by: change.undone_by.map(|set| set.0),
        diff: None,
    }
}

/// `17  2026-11-21 14:02  steward  edit a.md (undone)`.
pub(super) fn headline(set: &ListedSet) -> String {
    let who = match &set.conversation {
        Some(conversation) => format!("{} in conversation {conversation}", set.caller),
        None => set.caller.clone(),
    };
    let undone = if set.is_undone() { " (undone)" } else { "" };
    let time = local_short(nanoseconds(set));
    let who = if who.is_empty() { "-" } else { &who };
    format!("{}  {time}  {who}  {}{undone}", set.id, set.title)
}

/// For a change set whose first `skipped` changes were shown before: the number of changes after those that [`data`]
/// shows now, in words, and the first of them.
pub(super) fn rest(set: &ListedSet, skipped: usize) -> Option<(String, usize)> {
    let shown = skipped + MAX_CHANGES;
    let rest = set.changes.len().checked_sub(shown).filter(|rest| *rest > 0)?;
    Some((format!("{} more", counted(rest, "change")), shown + 1))
}

/// A line for each change, `17.2  moved a.md to b.md`. A change that had to make folders first has several lines under
/// one number, which only the first of them shows.
pub(super) fn lines<'c>(changes: impl IntoIterator<Item = &'c ListedChange>) -> Vec<String> {
    let mut last = None;
    let line = |change: &ListedChange| {
        let number = change.id.to_string();
        if last.replace(change.id) == Some(change.id) {
            format!("{:width$}  {}", "", action_text(change), width = number.len())
        } else {
            format!("{number}  {}", action_text(change))
        }
    };
    changes.into_iter().map(line).collect()
}

fn action_text(change: &ListedChange) -> String {
    let path = &change.path;
    let what = match (change.action, &change.from, &change.place) {
        (Action::Moved, Some(from), _) => format!("moved `{from}` to `{path}`"),
        (Action::Deleted, _, Some(place)) => format!("deleted `{path}`, now `{place}`"),
        (Action::FolderMade, ..) => format!("made the folder `{path}`"),
        (Action::FolderRemoved, ..) => format!("removed the empty folder `{path}`"),
        (action, ..) => format!("{} `{path}`", action.word()),
    };
    let undone = change.undone_by.map(|by| format!(" (undone by {by})")).unwrap_or_default();
    format!("{what}{undone}")
}

fn nanoseconds(set: &ListedSet) -> i64 {
    set.time.timestamp_nanos_opt().unwrap_or_default()
}
