//! The diffs of a change set or of an open question, file by file, for a person to read.

use super::policy;
use crate::calls::call::word;
use crate::journal::{Action, ChangeSetId, Difference, Journal, ListedChange, UndoError};
use crate::protocol::diff::{DiffChange, DiffParams, DiffResult};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::server::approvals::Approvals;
use crate::tools;
use crate::vault::Kind as EntryKind;

/// Files of a deleted folder that are named.
const MAX_FILES: usize = 1_000;
/// Bytes that surround each diff in the answer.
pub(super) const AROUND: usize = 400;

/// The changes of one set, or of one question, from `first` on, in an answer of about `most` bytes,
/// but at least one change.
///
/// # Errors
/// Kind `not_found`: no such change set, or no such open question. Kind `invalid_params`: neither
/// or more than one were named. Kind `failed`: the journal cannot be read.
pub fn diff(
    journal: &Journal,
    approvals: &Approvals,
    params: &DiffParams,
    most: u64,
) -> Result<DiffResult> {
    match (params.change_set, params.question, &params.path) {
        (Some(number), None, None) => change_diff(journal, number, params, most),
        (None, Some(number), None) => question_changes(approvals, number, params, most),
        _ => Err(ErrorObject::new(Kind::InvalidParams, "name a change set, a question or a note")
            .hint("give one of `changeSet`, `question` and `path`")),
    }
}

/// The changes of a question. Continues within a diff if the answer before ended there.
fn question_changes(
    approvals: &Approvals,
    number: i64,
    params: &DiffParams,
    most: u64,
) -> Result<DiffResult> {
    let Some((title, changes)) = approvals.changes(number) else {
        return Err(policy::no_question(number));
    };
    let first = first(params);
    let mut line = usize::try_from(params.line.unwrap_or(0)).unwrap_or(usize::MAX);
    let mut bytes_left = usize::try_from(most).unwrap_or(usize::MAX);
    let (mut shown, mut next_line) = (Vec::new(), None);
    for (at, change) in changes.iter().enumerate().skip(first) {
        let part = change.part(std::mem::take(&mut line));
        let size = 2 * part.text.len() + AROUND;
        if size > bytes_left && !shown.is_empty() {
            break;
        }
        bytes_left = bytes_left.saturating_sub(size);
        let is_kept = change.content.is_some() || change.more == 0;
        let reason =
            (!is_kept).then(|| "its texts are too long to be stored with a question".to_owned());
        shown.push(DiffChange {
            id: (at + 1).to_string(),
            action: word(change.action).to_owned(),
            path: change.path.clone(),
            from: change.from.clone(),
            diff: Some(part.text).filter(|diff| !diff.is_empty()),
            reason,
            added: change.added as u64,
            removed: change.removed as u64,
            ..DiffChange::default()
        });
        next_line = part.next;
        if next_line.is_some() {
            break;
        }
    }
    let next = match next_line {
        Some(_) => first + shown.len() - 1,
        None => first + shown.len(),
    };
    Ok(DiffResult {
        title,
        total: changes.len() as u64,
        next: (next < changes.len()).then_some(next as u64 + 1),
        next_line: next_line.map(|line| line as u64),
        changes: shown,
    })
}

/// The 0-based index of the first change to show.
fn first(params: &DiffParams) -> usize {
    usize::try_from(params.first.unwrap_or(1).max(1)).unwrap_or(usize::MAX) - 1
}

fn change_diff(
    journal: &Journal,
    number: u64,
    params: &DiffParams,
    most: u64,
) -> Result<DiffResult> {
    let set = journal.history().change_set(ChangeSetId(number))?;
    let set = set.ok_or_else(|| {
        ErrorObject::new(Kind::NotFound, format!("there is no change set {number}"))
            .hint("`list_changes` lists the change sets")
    })?;
    let total = set.changes.len();
    let first = first(params);
    let mut bytes_left = usize::try_from(most).unwrap_or(usize::MAX);
    let mut changes = Vec::new();
    for change in set.changes.iter().skip(first) {
        let one = diff_change(journal, change);
        // The size that a text can grow to when escaped as JSON.
        let names: usize = one.files.iter().map(String::len).sum();
        let size = 2 * (one.diff.as_ref().map_or(0, String::len) + names) + AROUND;
        if size > bytes_left && !changes.is_empty() {
            break;
        }
        bytes_left = bytes_left.saturating_sub(size);
        changes.push(one);
    }
    let next = first.saturating_add(changes.len());
    let next = (next < total).then_some(next as u64 + 1);
    Ok(DiffResult { title: set.title, changes, total: total as u64, next, next_line: None })
}

fn diff_change(journal: &Journal, change: &ListedChange) -> DiffChange {
    let (diff, reason) = match change.entry {
        EntryKind::File => difference(journal, change),
        EntryKind::Folder | EntryKind::Link | EntryKind::Other => (None, None),
    };
    let (added, removed) = diff.as_deref().map_or((0, 0), counted);
    let is_folder = change.entry == EntryKind::Folder && change.action == Action::Deleted;
    // A deletion is listed even if its files cannot be read.
    let files = is_folder.then(|| journal.history().files(change.id).unwrap_or_default());
    let total_files = files.as_ref().map(|files| files.len() as u64);
    DiffChange {
        id: change.id.to_string(),
        action: change.action.word().to_owned(),
        path: change.path.as_str().to_owned(),
        from: change.from.as_ref().map(|from| from.as_str().to_owned()),
        diff,
        reason,
        added,
        removed,
        files: files.into_iter().flatten().take(MAX_FILES).collect(),
        total_files,
        undone_by: change.undone_by.map(|by| by.0),
    }
}

/// The diff, or the reason why there is none.
fn difference(journal: &Journal, change: &ListedChange) -> (Option<String>, Option<String>) {
    let found = match journal.history().diff(change.id) {
        Ok(found) => found,
        Err(UndoError::NotKept { reason, .. }) => return (None, Some(reason)),
        Err(error) => return (None, Some(error.to_string())),
    };
    let why = match found {
        Difference::None => return (None, None),
        Difference::Text(diff) => return (Some(diff), None),
        Difference::Binary => "it is not text".to_owned(),
        Difference::TooLarge(bytes) => {
            format!("it is too large to compare: {}", tools::size(bytes))
        }
        Difference::NotKept => "its texts are no longer stored".to_owned(),
    };
    (None, Some(why))
}

/// The lines that a unified diff adds and removes.
pub(super) fn counted(diff: &str) -> (u64, u64) {
    let lines = diff.lines().skip_while(|line| !line.starts_with("@@"));
    lines.fold((0, 0), |(added, removed), line| match line.as_bytes().first() {
        Some(b'+') => (added + 1, removed),
        Some(b'-') => (added, removed + 1),
        _ => (added, removed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_headers_are_none() {
        let diff = "--- a/a.md\n+++ b/a.md\n@@ -1,3 +1,3 @@\n one\n-two\n--- three\n+2\n four\n";
        assert_eq!(counted(diff), (1, 2));
        assert_eq!(counted(""), (0, 0));
    }
}
