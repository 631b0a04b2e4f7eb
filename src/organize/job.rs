//! Jobs: dividing the items of a plan into pieces, and the items that remain after some pieces.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::plan::Item;
use crate::journal::{Action, ListedChange};
use crate::note::path::VaultPath;

/// Items per piece of a job that is too long to be atomic.
pub const PIECE: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    Running,
    Completed,
    /// Failed without any change.
    Failed,
    /// Stopped between two pieces: the program ended, time ran out, or the next piece failed.
    Interrupted,
    /// Cancelled between two pieces.
    Cancelled,
    Undone,
    PartlyUndone,
}

words!(pub JobState::word, ALL, parse {
    Running => "running", Completed => "completed", Failed => "failed",
    Interrupted => "interrupted", Cancelled => "cancelled", Undone => "undone",
    PartlyUndone => "partly_undone",
});

fn key(path: &str) -> String {
    VaultPath::from_disk(path).map_or_else(|| path.to_owned(), |path| path.fold_key())
}

/// For each item, by index, the item that must move first, since it occupies the target.
fn waits_for(items: &[&Item]) -> Vec<Option<usize>> {
    let sources: HashMap<String, usize> =
        items.iter().enumerate().map(|(at, item)| (key(&item.path), at)).collect();
    let blocker = |(at, item): (usize, &&Item)| {
        let to = item.to.as_deref()?;
        sources.get(&key(to)).copied().filter(|other| *other != at)
    };
    items.iter().enumerate().map(blocker).collect()
}

/// Adds the items on which these depend: the item that occupies the target of another. Sorted by number.
pub fn with_dependencies(items: &[&Item], chosen: &[u32]) -> Vec<u32> {
    let waits = waits_for(items);
    let at: HashMap<u32, usize> =
        items.iter().enumerate().map(|(at, item)| (item.id, at)).collect();
    let mut found: BTreeSet<u32> = BTreeSet::new();
    let mut left: Vec<u32> = chosen.to_vec();
    while let Some(id) = left.pop() {
        if !found.insert(id) {
            continue;
        }
        let other = at.get(&id).and_then(|at| waits[*at]);
        left.extend(other.map(|other| items[other].id));
    }
    found.into_iter().collect()
}

/// Adds the items that now occupy the old paths of these. Sorted by number.
pub fn with_dependents(items: &[&Item], chosen: &[u32]) -> Vec<u32> {
    let mut followers: HashMap<u32, Vec<u32>> = HashMap::new();
    for (at, other) in waits_for(items).into_iter().enumerate() {
        if let Some(other) = other {
            followers.entry(items[other].id).or_default().push(items[at].id);
        }
    }
    let mut found: BTreeSet<u32> = BTreeSet::new();
    let mut left: Vec<u32> = chosen.to_vec();
    while let Some(id) = left.pop() {
        if found.insert(id) {
            left.extend(followers.get(&id).into_iter().flatten());
        }
    }
    found.into_iter().collect()
}

/// Divides items into pieces of at most `most` items, so that none depends on a later piece. A
/// longer chain or cycle is a separate piece.
pub fn pieces(items: &[&Item], most: usize) -> Vec<Vec<u32>> {
    let waits = waits_for(items);
    let mut group: Vec<usize> = (0..items.len()).collect();
    fn root(group: &mut [usize], mut at: usize) -> usize {
        while group[at] != at {
            group[at] = group[group[at]];
            at = group[at];
        }
        at
    }
    for (at, other) in waits.iter().enumerate() {
        if let Some(other) = other {
            let (one, two) = (root(&mut group, at), root(&mut group, *other));
            group[one.max(two)] = one.min(two);
        }
    }
    let mut chains: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        chains.entry(root(&mut group, at)).or_default().push(item.id);
    }
    let mut pieces: Vec<Vec<u32>> = Vec::new();
    for chain in chains.into_values() {
        match pieces.last_mut() {
            Some(last) if last.len() + chain.len() <= most => last.extend(chain),
            _ => pieces.push(chain),
        }
    }
    pieces
}

/// Updates the revisions of items whose notes earlier pieces of the same job changed by updating links.
pub fn follow_own_changes(items: &mut [Item], done: &[Vec<ListedChange>]) {
    let mut by_path: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        by_path.entry(item.path.clone()).or_default().push(at);
    }
    for change in done.iter().flatten().filter(|change| change.action == Action::Modified) {
        let (Some(before), Some(after)) = (&change.before, &change.after) else { continue };
        for at in by_path.get(change.path.as_str()).into_iter().flatten() {
            let item = &mut items[*at];
            if item.revision.as_deref() == Some(&*before.to_string()) {
                item.revision = Some(after.to_string());
            }
        }
    }
}

/// For each item, in order, its own changes in an operation, in the order of execution. Excludes updated links in
/// other files.
pub fn changes_of<'c>(
    items: &[&Item],
    operation: &'c [ListedChange],
) -> Vec<Vec<&'c ListedChange>> {
    let mut by_path: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    for (at, change) in operation.iter().enumerate() {
        for path in std::iter::once(&change.path).chain(&change.from) {
            by_path.entry(path.as_str()).or_default().insert(at);
        }
    }
    let of = |item: &&Item| {
        let paths = std::iter::once(&item.path).chain(&item.to);
        let near: BTreeSet<usize> =
            paths.filter_map(|path| by_path.get(path.as_str())).flatten().copied().collect();
        let changes = near.into_iter().map(|at| &operation[at]);
        changes.filter(|change| is_own(item, change)).collect()
    };
    items.iter().map(of).collect()
}

fn is_own(item: &Item, change: &ListedChange) -> bool {
    match change.action {
        Action::Moved => {
            item.to.as_deref() == Some(change.path.as_str())
                || change.from.as_ref().is_some_and(|from| from.as_str() == item.path)
        }
        Action::Created => item.create && change.path.as_str() == item.path,
        Action::Modified => item.changes_text(),
        Action::Deleted => item.trash && change.path.as_str() == item.path,
        Action::FolderMade | Action::FolderRemoved | Action::Restored => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(pairs: &[(&str, &str)]) -> Vec<Item> {
        let item = |(at, (path, to)): (usize, &(&str, &str))| Item {
            id: at as u32 + 1,
            path: (*path).to_owned(),
            to: Some((*to).to_owned()),
            ..Item::default()
        };
        pairs.iter().enumerate().map(item).collect()
    }

    #[test]
    fn a_selection_takes_along_what_stands_where_it_goes() {
        let items =
            moves(&[("a.md", "B.md"), ("b.md", "c.md"), ("c.md", "x/c.md"), ("d.md", "e.md")]);
        let items: Vec<&Item> = items.iter().collect();
        assert_eq!(with_dependencies(&items, &[1]), [1, 2, 3]);
        assert_eq!(with_dependencies(&items, &[3, 4]), [3, 4]);
        assert_eq!(with_dependents(&items, &[3]), [1, 2, 3], "what went there has to leave again");
        assert_eq!(with_dependents(&items, &[1, 4]), [1, 4]);
        let circle = moves(&[("a.md", "b.md"), ("b.md", "a.md")]);
        assert_eq!(with_dependencies(&circle.iter().collect::<Vec<_>>(), &[2]), [1, 2]);
        let case = moves(&[("a.md", "A.md")]);
        assert_eq!(with_dependencies(&case.iter().collect::<Vec<_>>(), &[1]), [1]);
    }

    #[test]
    fn no_piece_cuts_a_chain() {
        let items = moves(&[
            ("a.md", "b.md"),
            ("k.md", "l.md"),
            ("b.md", "c.md"),
            ("m.md", "n.md"),
            ("c.md", "d.md"),
        ]);
        let items: Vec<&Item> = items.iter().collect();
        assert_eq!(pieces(&items, 2), [vec![1, 3, 5], vec![2, 4]]);
        assert_eq!(pieces(&items, 9), [vec![1, 3, 5, 2, 4]]);
        assert!(pieces(&[], 2).is_empty());
    }

    #[test]
    fn every_state_has_its_word() {
        for state in JobState::ALL {
            assert_eq!(JobState::parse(state.word()), Some(state));
        }
        assert_eq!(JobState::parse("done"), None);
    }
}
