//! What a change set did, text by text, for a person to look at.

use crate::journal::{ChangeSetId, Difference, Journal, JournalError, ListedChange, UndoError};
use crate::protocol::diff::{DiffChange, DiffParams, DiffResult};
use crate::protocol::error::{ErrorObject, Kind};
use crate::tools;
use crate::vault::Kind as EntryKind;

/// Bytes that stand around each diff.
const AROUND: usize = 400;

/// The changes of one set from `first` on, in an answer of about `most` bytes; one at least.
///
/// # Errors
/// Kind `not_found`: no such change set. Kind `failed`: the journal cannot be read.
pub fn diff(journal: &Journal, params: &DiffParams, most: u64) -> Result<DiffResult, ErrorObject> {
    let set =
        journal.history().change_set(ChangeSetId(params.change_set)).map_err(|e| failed(&e))?;
    let set = set.ok_or_else(|| {
        let message = format!("there is no change set {}", params.change_set);
        ErrorObject::new(Kind::NotFound, message).hint("`list_changes` shows what there is")
    })?;
    let total = set.changes.len();
    let first = usize::try_from(params.first.unwrap_or(1).max(1)).unwrap_or(usize::MAX) - 1;
    let mut room = usize::try_from(most).unwrap_or(usize::MAX);
    let mut changes = Vec::new();
    for change in set.changes.iter().skip(first) {
        let one = told(journal, change);
        // What a text may grow to when it is written as JSON.
        let size = 2 * one.diff.as_ref().map_or(0, String::len) + AROUND;
        if size > room && !changes.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        changes.push(one);
    }
    let next = first.saturating_add(changes.len());
    let next = (next < total).then_some(next as u64 + 1);
    Ok(DiffResult { title: set.title, changes, total: total as u64, next })
}

fn told(journal: &Journal, change: &ListedChange) -> DiffChange {
    let (diff, reason) = match change.entry {
        EntryKind::File => difference(journal, change),
        EntryKind::Folder | EntryKind::Link | EntryKind::Other => (None, None),
    };
    let (added, removed) = diff.as_deref().map_or((0, 0), counted);
    DiffChange {
        id: change.id.to_string(),
        action: change.action.word().to_owned(),
        path: change.path.as_str().to_owned(),
        from: change.from.as_ref().map(|from| from.as_str().to_owned()),
        diff,
        reason,
        added,
        removed,
        undone_by: change.undone_by.map(|by| by.0),
    }
}

/// The diff, or why there is none.
fn difference(journal: &Journal, change: &ListedChange) -> (Option<String>, Option<String>) {
    let found = match journal.history().diff(change.id) {
        Ok(found) => found,
        Err(UndoError::NotKept { reason, .. }) => return (None, Some(reason)),
        Err(error) => return (None, Some(error.to_string())),
    };
    let why = match found {
        Difference::None => return (None, None),
        Difference::Text(diff) => return (Some(diff), None),
        Difference::Binary => "it is no text".to_owned(),
        Difference::TooLarge(bytes) => {
            format!("it is too large to compare: {}", tools::size(bytes))
        }
        Difference::NotKept => "its texts are no longer kept".to_owned(),
    };
    (None, Some(why))
}

/// Lines that a unified diff adds and takes away.
fn counted(diff: &str) -> (u64, u64) {
    let lines = diff.lines().skip_while(|line| !line.starts_with("@@"));
    lines.fold((0, 0), |(added, removed), line| match line.as_bytes().first() {
        Some(b'+') => (added + 1, removed),
        Some(b'-') => (added, removed + 1),
        _ => (added, removed),
    })
}

fn failed(error: &JournalError) -> ErrorObject {
    let object = ErrorObject::new(Kind::Failed, error.to_string());
    match error.hint() {
        Some(hint) => object.hint(hint),
        None => object,
    }
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
