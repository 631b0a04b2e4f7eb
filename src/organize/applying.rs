//! Converts the items of a plan into changes for the journal.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::content;
use super::order;
use super::plan::Item;
use crate::journal::Change;
use crate::note::path::VaultPath;
use crate::vault::{Catalogue, FileContent, Kind, Precondition, Vault, hidden_name, is_temp_path};

/// An item whose preconditions no longer hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    pub item: u32,
    pub path: String,
    /// The reason as a sentence: the text changed, the file is gone, the target is occupied.
    pub reason: String,
}

/// The changes of these items, ordered so that each target is free: a chain begins at its end, a cycle uses one hidden
/// name. Reads and edits texts at the revisions that the items require.
///
/// # Errors
/// All items whose preconditions no longer hold.
pub fn changes(vault: &Vault, items: &[&Item]) -> Result<Vec<Change>, Vec<Stale>> {
    let mut stale = Vec::new();
    let (mut writes, mut moves, mut deletions) = (Vec::new(), Vec::new(), Vec::new());
    let leaving: HashSet<&str> =
        items.iter().filter(|item| item.moves()).map(|item| &*item.path).collect();
    let mut arriving: HashMap<String, u32> = HashMap::new();
    for item in items {
        let mut refuse = |reason: String| {
            stale.push(Stale { item: item.id, path: item.path.clone(), reason });
        };
        let Some(path) = VaultPath::from_disk(&item.path) else {
            refuse("its path is not valid in a vault".to_owned());
            continue;
        };
        let target = match (item.create, &item.to) {
            (true, _) => Some(path.clone()),
            (false, Some(to)) if !item.trash => VaultPath::from_disk(to),
            _ => None,
        };
        if let Some(target) = &target {
            let taken = {
                let catalogue = vault.catalogue();
                is_taken(&catalogue, target, &leaving)
            };
            let other = arriving.insert(target.fold_key(), item.id);
            if let Some(other) = other {
                refuse(format!("item {other} also goes to `{target}`"));
                continue;
            }
            if taken {
                refuse(format!("`{target}` is taken by now"));
                continue;
            }
        }
        if item.create {
            match content::changed(item, &item.path, b"", vault.max_file_bytes()) {
                Ok(content) => {
                    writes.push(Change::Write { path, content, before: Precondition::Absent });
                }
                Err(error) => refuse(error.to_string()),
            }
            continue;
        }
        let read = match read_item(vault, item, &path) {
            Ok(read) => read,
            Err(reason) => {
                refuse(reason);
                continue;
            }
        };
        if item.trash {
            let before =
                read.map_or(Precondition::Any, |read| Precondition::Revision(read.revision));
            deletions.push(Change::Delete { path, before, past_trash: false });
            continue;
        }
        if let Some(read) = read.filter(|_| item.changes_text()) {
            match content::changed(item, &item.path, &read.bytes, vault.max_file_bytes()) {
                Ok(content) if content != read.bytes => {
                    let before = Precondition::Read(Arc::new(read));
                    writes.push(Change::Write { path: path.clone(), content, before });
                }
                Ok(_) => {}
                Err(error) => {
                    refuse(error.to_string());
                    continue;
                }
            }
        }
        if let Some(target) = target.filter(|target| *target != path) {
            moves.push((path, target));
        }
    }
    if !stale.is_empty() {
        return Err(stale);
    }
    moves.sort_unstable();
    let ordered = order::ordered(&moves, hidden_name);
    if let Some(reason) = exchange_obstacle(vault) {
        let aside = ordered.iter().filter(|(_, to)| is_temp_path(to)).map(|(from, _)| from);
        let circling = order::circling(&moves).into_iter().map(|at| &moves[at].0);
        let circling: HashSet<&str> = circling.chain(aside).map(VaultPath::as_str).collect();
        let circling = items.iter().filter(|item| circling.contains(&*item.path));
        stale.extend(circling.map(|item| Stale {
            item: item.id,
            path: item.path.clone(),
            reason: reason.clone(),
        }));
        if !stale.is_empty() {
            return Err(stale);
        }
    }
    writes.extend(ordered.into_iter().map(|(from, to)| Change::Move { from, to }));
    writes.extend(deletions);
    Ok(writes)
}

/// The removal of the folders that these items leave empty, innermost first; without those that are gone.
pub fn removals(vault: &Vault, items: &[Item]) -> Vec<Change> {
    let catalogue = vault.catalogue();
    let is_there = |path: &VaultPath| {
        catalogue.get(path.as_str()).is_some_and(|entry| entry.kind == Kind::Folder)
    };
    let folders = items.iter().flat_map(|item| &item.empties);
    let mut folders: Vec<VaultPath> =
        folders.filter_map(|path| VaultPath::from_disk(path)).filter(is_there).collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    folders.into_iter().map(|path| Change::RemoveFolder { path }).collect()
}

/// Why files cannot be exchanged in this vault, if so: after a crash, a cycle is recognised by file ids, which not all
/// file systems keep.
pub(super) fn exchange_obstacle(vault: &Vault) -> Option<String> {
    let system = vault.remote_file_system()?;
    Some(format!("files cannot safely change places on {system}; move one elsewhere first"))
}

/// The content of an item's file if it will be changed or must be unchanged.
fn read_item(vault: &Vault, item: &Item, path: &VaultPath) -> Result<Option<FileContent>, String> {
    let there = vault.catalogue().get(path.as_str()).map(|entry| entry.kind);
    match there {
        None => return Err("it is gone, or has another name by now".to_owned()),
        Some(Kind::File) => {}
        Some(kind) => return Err(format!("it is a {} by now", kind.word())),
    }
    if item.changes_text() && !path.is_note() {
        return Err(content::ContentError::NotANote.to_string());
    }
    if item.revision.is_none() && !item.changes_text() {
        return vault.stat(path).map(|_| None).map_err(|error| error.to_string());
    }
    let read = vault.read(path).map_err(|error| error.to_string())?;
    if item.revision.as_ref().is_none_or(|planned| *planned == read.revision.to_string()) {
        Ok(Some(read))
    } else {
        Err("its text has changed since it was planned".to_owned())
    }
}

/// Whether a file that stays has this path or another spelling of it.
pub(super) fn is_taken(catalogue: &Catalogue, path: &VaultPath, leaving: &HashSet<&str>) -> bool {
    let there = catalogue.folded(&path.fold_key());
    there.iter().any(|entry| !leaving.contains(entry.path().as_str()))
}
