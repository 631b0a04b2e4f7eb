//! The read set: the version of each file that a model knows, because it read or wrote it in this
//! conversation.
//!
//! A change based on an outdated version could overwrite what a person typed in the meantime, so
//! the [toolbox](super::toolbox) refuses it. The updates are stored with the result of each call,
//! and the read set is rebuilt from them like the history. A missing entry only means that the
//! model has to read again.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::tools::ReadUpdate;

/// The version of a file that the model knows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Text {
    revision: String,
    /// The number of lines shown without a gap, from the first; [`u64::MAX`] for the whole file.
    shown: u64,
}

type Files = BTreeMap<String, Text>;

/// The file versions that a model knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// As of the model's last answer, plus the changes that this answer's calls made.
    now: Arc<Files>,
    /// The same, plus what the results of that answer's calls show.
    next: Arc<Files>,
}

impl ReadSet {
    /// Applies an update of a call. Text that was read counts only from [`Self::results_received`] on: calls of
    /// the same answer were made without knowing it.
    pub fn apply(&mut self, update: ReadUpdate) {
        if !matches!(update, ReadUpdate::Read { .. }) {
            apply(Arc::make_mut(&mut self.now), update.clone());
        }
        apply(Arc::make_mut(&mut self.next), update);
    }

    /// Called when the model has received the results of all its calls.
    pub fn results_received(&mut self) {
        self.now = Arc::clone(&self.next);
    }

    /// The revision that the model knows of a file, at least in part.
    pub fn revision(&self, path: &str) -> Option<&str> {
        self.now.get(path).map(|text| text.revision.as_str())
    }

    /// The revision in which the model has seen every line.
    pub fn fully_read(&self, path: &str) -> Option<&str> {
        let text = self.now.get(path).filter(|text| text.shown == u64::MAX);
        text.map(|text| text.revision.as_str())
    }
}

fn apply(files: &mut Files, update: ReadUpdate) {
    match update {
        ReadUpdate::Read { path, revision, first, last, lines } => {
            let before = files.get(&path).filter(|text| text.revision == revision);
            let before = before.map_or(0, |text| text.shown);
            let shown = if first <= before.saturating_add(1) { before.max(last) } else { before };
            let shown = if shown >= lines { u64::MAX } else { shown };
            files.insert(path, Text { revision, shown });
        }
        ReadUpdate::Written { path, revision } => {
            files.insert(path, Text { revision, shown: u64::MAX });
        }
        ReadUpdate::Edited { path, before, revision } => {
            // If others wrote to the file before, the model has not seen that: it keeps the older
            // revision.
            if let Some(text) = files.get_mut(&path)
                && text.revision == before
            {
                text.revision = revision;
                // If only some lines were shown, they may have moved.
                text.shown = if text.shown == u64::MAX { u64::MAX } else { 0 };
            }
        }
        ReadUpdate::Moved { from, to } => {
            let below = format!("{from}/");
            let is_moved = |path: &String| *path == from || path.starts_with(&below);
            let moved: Vec<String> = files.keys().filter(|path| is_moved(path)).cloned().collect();
            for path in moved {
                let text = files.remove(&path).expect("it was found just now");
                files.insert(format!("{to}{}", &path[from.len()..]), text);
            }
        }
        ReadUpdate::Gone { path } => {
            let below = format!("{path}/");
            files.retain(|other, _| *other != path && !other.starts_with(&below));
        }
    }
}

/// Adjusts updates if the model got only a part of the result: nothing counts as shown.
pub fn of_a_part(updates: Vec<ReadUpdate>) -> Vec<ReadUpdate> {
    let unshown = |update| match update {
        ReadUpdate::Read { path, revision, first, lines, .. } => {
            ReadUpdate::Read { path, revision, first, last: 0, lines }
        }
        other => other,
    };
    updates.into_iter().map(unshown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(revision: &str, first: u64, last: u64, lines: u64) -> ReadUpdate {
        let (path, revision) = ("a/n.md".to_owned(), revision.to_owned());
        ReadUpdate::Read { path, revision, first, last, lines }
    }

    fn read_set(all: impl IntoIterator<Item = ReadUpdate>) -> ReadSet {
        let mut read_set = ReadSet::default();
        for update in all {
            read_set.apply(update);
            read_set.results_received();
        }
        read_set
    }

    #[test]
    fn a_text_is_in_the_read_set_once_the_model_has_it() {
        let mut read_set = ReadSet::default();
        read_set.apply(read("1", 1, 5, 5));
        assert_eq!(
            read_set.revision("a/n.md"),
            None,
            "the answer that asked for it knows nothing of it"
        );
        read_set.results_received();
        assert_eq!(read_set.fully_read("a/n.md"), Some("1"));
        let (path, before) = ("a/n.md".to_owned(), "1".to_owned());
        read_set.apply(ReadUpdate::Edited { path, before, revision: "2".to_owned() });
        assert_eq!(read_set.fully_read("a/n.md"), Some("2"), "its own change is known at once");
    }

    #[test]
    fn a_file_is_known_whole_once_all_its_pages_were_shown_of_one_revision() {
        assert_eq!(read_set([read("1", 1, 5, 9)]).fully_read("a/n.md"), None);
        assert_eq!(read_set([read("1", 1, 5, 9)]).revision("a/n.md"), Some("1"));
        assert_eq!(
            read_set([read("1", 1, 5, 9), read("1", 6, 9, 9)]).fully_read("a/n.md"),
            Some("1")
        );
        assert_eq!(
            read_set([read("1", 1, 5, 9), read("1", 7, 9, 9)]).fully_read("a/n.md"),
            None,
            "a gap"
        );
        assert_eq!(
            read_set([read("1", 1, 5, 9), read("2", 6, 9, 9)]).fully_read("a/n.md"),
            None,
            "changed"
        );
        assert_eq!(read_set([read("1", 0, 0, 0)]).fully_read("a/n.md"), Some("1"), "empty");
    }

    #[test]
    fn what_others_wrote_before_an_edit_stays_unknown() {
        let path = "a/n.md".to_owned();
        let edited = ReadUpdate::Edited { path, before: "2".into(), revision: "3".into() };
        assert_eq!(read_set([read("1", 1, 5, 5), edited.clone()]).revision("a/n.md"), Some("1"));
        assert_eq!(read_set([edited]).revision("a/n.md"), None);
    }

    #[test]
    fn the_read_set_follows_moves_and_deletions() {
        let moved = ReadUpdate::Moved { from: "a".into(), to: "b/c".into() };
        let there = read_set([read("1", 1, 5, 5), moved]);
        assert_eq!((there.revision("a/n.md"), there.revision("b/c/n.md")), (None, Some("1")));
        let other = ReadUpdate::Moved { from: "a/n".into(), to: "b".into() };
        assert_eq!(read_set([read("1", 1, 5, 5), other]).revision("a/n.md"), Some("1"));
        let gone = ReadUpdate::Gone { path: "a".into() };
        assert_eq!(read_set([read("1", 1, 5, 5), gone]).revision("a/n.md"), None);
    }

    #[test]
    fn lines_of_an_answer_that_was_cut_are_not_known() {
        assert_eq!(of_a_part(vec![read("1", 1, 3, 3)]), [read("1", 1, 0, 3)]);
        let gone = ReadUpdate::Gone { path: "a/n.md".into() };
        assert_eq!(of_a_part(vec![gone.clone()]), [gone]);
    }
}
