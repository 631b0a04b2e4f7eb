//! Folders that a plan leaves empty.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::plan::Item;
use super::rule::Rule;
use super::world::World;
use crate::note::path::VaultPath;
use crate::vault::Kind;

/// Assigns each folder that the items leave empty to the last of its items in their order,
/// innermost folders first. The folder cannot be empty before that item is applied, whichever items
/// a person chooses. Folders that a rule watches stay, and so do folders that the caller may only
/// see in part: their emptiness would reveal hidden files.
pub(super) fn assign(world: &World<'_>, rules: &[Rule], items: &mut [Item]) {
    items.iter_mut().for_each(|item| item.empties.clear());
    if !world.settings.remove_empty_folders {
        return;
    }
    let applicable = || items.iter().enumerate().filter(|(_, item)| !item.is_blocked());
    let mut leaving: HashMap<&str, usize> = HashMap::new();
    let mut reached: HashSet<String> = HashSet::new();
    for (at, item) in applicable() {
        if item.trash || item.moves() {
            leaving.insert(&item.path, at);
        }
        let comes = if item.create { Some(&item.path) } else { item.to.as_ref() };
        let comes = comes.filter(|_| !item.trash).and_then(|path| VaultPath::from_disk(path));
        reached.extend(comes.iter().flat_map(folders_of).map(|folder| folder.fold_key()));
    }
    let sources = leaving.keys().filter_map(|path| VaultPath::from_disk(path));
    let left: BTreeSet<VaultPath> = sources.flat_map(|path| folders_of(&path)).collect();
    let mut left: Vec<VaultPath> = left.into_iter().collect();
    left.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    let stays = |folder: &VaultPath| {
        reached.contains(&folder.fold_key())
            || !world.vault.view().holds(folder)
            || rules
                .iter()
                .flat_map(|rule| &rule.within)
                .any(|looked_in| looked_in.is_within(folder))
    };
    // Each folder that becomes empty, with the last item to leave it.
    let mut emptied: HashMap<VaultPath, usize> = HashMap::new();
    let mut found: Vec<(VaultPath, usize)> = Vec::new();
    let catalogue = world.vault.catalogue();
    for folder in left.into_iter().filter(|folder| !stays(folder)) {
        let last = catalogue.directly_in(&folder).try_fold(None, |last: Option<usize>, entry| {
            let path = entry.path().to_path();
            let gone = match entry.kind {
                Kind::Folder => emptied.get(&path).copied(),
                _ => leaving.get(path.as_str()).copied(),
            };
            gone.map(|at| last.max(Some(at)))
        });
        if let Some(Some(last)) = last {
            emptied.insert(folder.clone(), last);
            found.push((folder, last));
        }
    }
    drop(catalogue);
    for (folder, last) in found {
        items[last].empties.push(folder.as_str().to_owned());
    }
}

/// The folders above a path, the vault itself excluded.
fn folders_of(path: &VaultPath) -> Vec<VaultPath> {
    let above = std::iter::successors(path.parent(), VaultPath::parent);
    above.take_while(|folder| *folder != VaultPath::root()).collect()
}
