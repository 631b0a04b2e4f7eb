//! `list_changes`

use chrono::{Local, Utc};

use super::history::{self, ChangeSetData};
use super::prelude::*;
use super::text_file::shown;
use super::{paging, time_text};
use crate::journal::{ChangeSetId, Difference, ListedChange, ListedSet, Query, UndoError};
use crate::note::path::VaultPath;
use crate::vault::Want;

/// Change sets in one answer.
const MAX_SETS: usize = 200;

/// Bytes of diffs in one answer; further changes are listed without.
const MAX_DIFF_BYTES: usize = 60_000;

/// Lists the changes made through the steward, newest first: change sets with number, time and
/// caller, each with its changes. `undo` takes these numbers. Changes by other programs, including
/// Obsidian, are not listed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListChanges {
    /// Only changes of this file, of a folder above it that took it along, or in this folder, even if it no longer exists.
    path: Option<String>,
    /// Only changes since then: `2026-11-20`, `2026-11-20 14:30`, `2h`, `3d`, `today`.
    since: Option<String>,
    /// Only change sets with a smaller number, to continue a list that was cut off.
    before: Option<u64>,
    /// Only this change set, with its changes, a hundred at a time.
    change_set: Option<u64>,
    /// The first change of each set to show, from 1, to continue a large set.
    #[serde(default = "paging::default::<1>")]
    first_change: usize,
    /// Maximum number of change sets, up to 200.
    #[serde(default = "paging::default::<20>")]
    limit: usize,
    /// Whether to include text diffs.
    #[serde(default)]
    diff: bool,
}

/// The change sets.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Newest first.
    change_sets: Vec<ChangeSetData>,
    /// Whether there are older ones; `before` with the last number continues.
    more: bool,
}

impl Tool for ListChanges {
    const NAME: &'static str = "list_changes";
    const TITLE: &'static str = "List what was changed";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = "{}";
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let since = self
            .since
            .as_deref()
            .map(|text| time_text::parse(text, context.clock.now().with_timezone(&Local)));
        let (limit, limit_note) = paging::bounded(self.limit, MAX_SETS);
        let query = Query {
            path: self.path.as_deref().map(|path| requested_path(context, path)).transpose()?,
            since: since.transpose()?.map(|time| time.with_timezone(&Utc)),
            before: self.before.map(ChangeSetId),
            seen: context.vault.view().clone(),
            limit: limit + 1,
        };
        let mut sets = match self.change_set {
            None => context.journal.history().change_sets(&query)?,
            Some(id) => vec![one_set(context, id)?],
        };
        let more = sets.len() > limit;
        sets.truncate(limit);
        let skipped = self.first_change.max(1) - 1;
        let mut lines = Vec::new();
        let mut change_sets = Vec::new();
        let mut room = MAX_DIFF_BYTES;
        for set in &sets {
            lines.push(history::headline(set));
            let mut data = history::data(set, skipped);
            let shown_now = set.changes.get(skipped..).unwrap_or_default();
            let change_lines = history::lines(shown_now.iter().take(data.changes.len()));
            for ((change, line), data) in shown_now.iter().zip(change_lines).zip(&mut data.changes)
            {
                lines.push(format!("    {line}"));
                if self.diff {
                    data.diff = difference(context, change, &mut room)?;
                    let diff = data.diff.as_deref().unwrap_or_default();
                    lines.extend(diff.lines().map(|line| format!("          {}", shown(line))));
                }
            }
            if let Some((rest, from)) = history::rest(set, skipped) {
                let id = set.id;
                lines.push(format!(
                    "    and {rest}; go on with change_set: {id}, first_change: {from}"
                ));
            }
            change_sets.push(data);
        }
        match sets.last() {
            None if self.path.is_some() || self.since.is_some() => {
                lines.push("no changes match".to_owned());
            }
            None => lines.push("nothing was changed through the steward yet".to_owned()),
            Some(last) if more => {
                lines.push(format!("[older ones with before: {}]", last.id));
            }
            Some(_) => {}
        }
        lines.extend(limit_note);
        Ok(Answer::new(lines.join("\n"), Output { change_sets, more }))
    }
}

fn one_set(context: &Context, id: u64) -> Result<ListedSet, ToolError> {
    let set = context.journal.history().change_set(ChangeSetId(id))?;
    set.filter(|set| set.is_seen_through(context.vault.view())).ok_or_else(|| {
        let hint = "list_changes without a number lists the change sets";
        ToolError::not_found(format!("there is no change set {id}"), hint)
    })
}

/// The requested path: resolved if it exists, else as written.
fn requested_path(context: &Context, path: &str) -> Result<VaultPath, ToolError> {
    match context.vault.resolve(path, Want::Entry) {
        Ok(found) => Ok(found.path),
        Err(_) => Ok(context.vault.parse(path)?),
    }
}

/// The diff of a change; in the answer's data too, so that it gives the reason if there is no diff.
fn difference(
    context: &Context,
    change: &ListedChange,
    room: &mut usize,
) -> Result<Option<String>, ToolError> {
    if *room == 0 {
        return Ok(None);
    }
    // A damaged entry must not hide the others.
    let history = context.journal.history();
    let current = history.current_path(change.id);
    if let Some(why) = current.as_ref().ok().and_then(|current| history::unread(context, current)) {
        return Ok(Some(format!("({why})")));
    }
    let difference = match current.and_then(|_| history.diff(change.id)) {
        Err(UndoError::NotKept { reason, .. }) => {
            return Ok(Some(format!("(cannot be shown: {reason})")));
        }
        Err(error) => return Ok(Some(format!("(cannot be shown: {error})"))),
        Ok(difference) => difference,
    };
    Ok(match difference {
        Difference::Text(diff) if diff.len() > *room => {
            *room = 0;
            Some("(the rest of the differences is too long; ask with `path`)".to_owned())
        }
        Difference::Text(diff) => {
            *room -= diff.len();
            Some(diff)
        }
        Difference::Binary => Some("(no text)".to_owned()),
        Difference::TooLarge(bytes) => {
            Some(format!("(too large to compare: {})", super::text_file::size(bytes)))
        }
        Difference::NotKept => Some("(its texts are no longer stored)".to_owned()),
        Difference::None => None,
    })
}
