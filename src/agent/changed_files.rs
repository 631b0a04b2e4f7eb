//! Looks up in the journal which files a call changed, to show them to people.

use serde_json::Value;

use super::call_result::ChangedFile;
use crate::journal::{Action, Journal, ListedChange, ListedSet};
use crate::vault::Kind;

/// The most bytes of texts, before and after, to show for one call.
const MAX_BYTES: u64 = 100_000;

/// The most files to show for one call.
const MAX_FILES: usize = 50;

/// The number of changes a turn has made so far.
pub fn made(journal: &Journal, turn: &str) -> usize {
    of_turn(journal, turn).map_or(0, |set| set.changes.len())
}

/// The files that a call changed. `data` is its result; `before` is the number of changes the turn
/// had made when the call started.
pub fn files(journal: &Journal, turn: &str, before: usize, data: &Value) -> Vec<ChangedFile> {
    if data.get("change_set").and_then(Value::as_u64).is_none() {
        return Vec::new();
    }
    let Some(set) = of_turn(journal, turn) else { return Vec::new() };
    let new = set.changes.get(before..).unwrap_or_default();
    // Calls of one answer may run in parallel, so the path in the result decides.
    let named = data.get("path").and_then(Value::as_str);
    let is_it = |one: &&ListedChange| named.is_some_and(|path| one.path.as_str() == path);
    match new.iter().rfind(is_it) {
        Some(one) => of_changes(journal, std::slice::from_ref(one)),
        None => of_changes(journal, new),
    }
}

pub fn of_changes(journal: &Journal, changes: &[ListedChange]) -> Vec<ChangedFile> {
    let mut bytes_left = MAX_BYTES;
    let is_file = |change: &&ListedChange| change.entry == Kind::File;
    changes
        .iter()
        .filter(is_file)
        .take(MAX_FILES)
        .map(|one| file(journal, one, &mut bytes_left))
        .collect()
}

fn of_turn(journal: &Journal, turn: &str) -> Option<ListedSet> {
    let found = journal.history().change_set_of_turn(turn);
    found
        .inspect_err(|error| tracing::warn!(%error, "the changes of a call cannot be shown"))
        .ok()?
}

fn file(journal: &Journal, change: &ListedChange, bytes_left: &mut u64) -> ChangedFile {
    let path = change.path.as_str().to_owned();
    let texts = match change.action {
        Action::Moved => None,
        _ => journal.history().texts(change.id, *bytes_left).ok().flatten(),
    };
    let Some((old, new)) = texts else {
        return ChangedFile { path, line: None, old: None, new: None };
    };
    let new = new.unwrap_or_default();
    *bytes_left =
        bytes_left.saturating_sub((old.as_ref().map_or(0, String::len) + new.len()) as u64);
    let line = first_difference(old.as_deref().unwrap_or_default(), &new);
    ChangedFile { path, line: Some(line), old, new: Some(new) }
}

/// The first line that differs, counted from 1.
fn first_difference(old: &str, new: &str) -> u32 {
    let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    u32::try_from(same).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_line_is_the_first_that_differs() {
        assert_eq!(first_difference("", "a\n"), 1);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), 2);
        assert_eq!(first_difference("a\nb\n", "a\nb\nc\n"), 3);
    }
}
