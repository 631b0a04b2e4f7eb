//! Links in texts that an undo puts back while other changes of the set stay.
//!
//! Such a text uses the names of the time of its change. Files whose changes stay have other names
//! now.

use crate::index::links::names::NameChange;
use crate::index::links::rewrite;
use crate::journal::{Action, ListedSet, NameStep};
use crate::note::path::VaultPath;
use crate::vault::Vault;

/// The texts among `steps` whose links have to be updated, by the path of their file on disk. `names` is how the undo
/// affects names.
pub(super) fn updated(
    vault: &Vault,
    set: &ListedSet,
    names: &NameChange,
    steps: &[NameStep],
) -> Vec<(VaultPath, Vec<u8>)> {
    let mut found = Vec::new();
    // The names as they were, from the last change of the set back to the first.
    let mut then = NameChange::default();
    for change in set.changes.iter().rev() {
        let catalogue = vault.catalogue();
        match (change.action, &change.from) {
            _ if change.undone_by.is_some() => {}
            (Action::Moved, Some(from)) => then.moves(&catalogue, &change.path, from),
            (Action::Created | Action::Restored, _) => then.remove(&catalogue, &change.path),
            (Action::Deleted, _) => then.add(change.path.clone()),
            _ => {}
        }
        drop(catalogue);
        if change.action != Action::Modified {
            continue;
        }
        let number = change.id.number;
        found.extend(steps.iter().filter_map(|step| match step {
            NameStep::PutBack { number: put_back, was, disk, text, .. }
                if *put_back == number && *was == change.path =>
            {
                let content = rewrite::restore_text(vault, (&then, was), (names, disk), text)?;
                Some((disk.clone(), content))
            }
            _ => None,
        }));
    }
    found
}
