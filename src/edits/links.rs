//! The links that follow a change of names, and the texts in which they stand.

use std::collections::HashSet;

use super::error::EditsError;
use super::rights::{self, ReadOnly};
use super::since::Since;
use crate::index::Index;
use crate::index::links::names::NameChange;
use crate::index::links::rewrite::{self, Plan};
use crate::journal::{Change, Journal, NameStep};
use crate::note::path::VaultPath;
use crate::vault::{Before, Cancel, Vault};

/// A change of names, and what follows it.
#[derive(Debug, Default)]
pub struct Followed {
    pub names: NameChange,
    /// What becomes of links. Once it is applied, the new texts are in the change set alone.
    pub plan: Plan,
}

impl Followed {
    /// The files whose links are rewritten.
    pub(super) fn rewritten(&self) -> HashSet<VaultPath> {
        self.plan.rewrites.iter().map(|rewrite| rewrite.path.clone()).collect()
    }

    /// Moves the rewritten texts into `changes`: into those that they write themselves, or behind.
    pub(super) fn merge_into(&mut self, mut changes: Vec<Change>) -> Vec<Change> {
        for rewrite in &mut self.plan.rewrites {
            let (path, new) = (&rewrite.path, std::mem::take(&mut rewrite.content));
            let Some(revision) = rewrite.revision else {
                let mut written = changes.iter_mut().filter_map(|change| match change {
                    Change::Write { path: same, content, .. } if same == path => Some(content),
                    _ => None,
                });
                if let Some(content) = written.next() {
                    *content = new;
                }
                continue;
            };
            let before = Before::Revision(revision);
            changes.push(Change::Write { path: path.clone(), content: new, before });
        }
        changes
    }
}

/// The change of names that these changes are.
pub fn names(vault: &Vault, changes: &[Change]) -> NameChange {
    let catalogue = vault.catalogue();
    let mut names = NameChange::default();
    for change in changes {
        match change {
            Change::Write { path, .. } if catalogue.get(path.as_str()).is_none() => {
                names.comes(path.clone());
            }
            Change::Move { from, to } => names.moves(&catalogue, from, to),
            Change::Delete { path, .. } => names.goes(&catalogue, path),
            Change::Write { .. } | Change::CreateFolder { .. } => {}
        }
    }
    names
}

/// What follows these changes.
///
/// # Errors
/// The caller withdrew; what the system would refuse.
pub(super) fn follow(
    vault: &Vault,
    index: &Index,
    cancel: &Cancel,
    changes: &[Change],
    read_only: ReadOnly,
) -> Result<Followed, EditsError> {
    rights::check_seen(vault, changes)?;
    rights::check_moves(vault, changes)?;
    let names = names(vault, changes);
    // The vault is not read for the sake of a new note with a new name.
    if names.is_empty() || names.only_adds_new_names(&vault.catalogue()) {
        return Ok(Followed { names, plan: Plan::default() });
    }
    index.links.refresh(cancel).map_err(|_| EditsError::Withdrawn)?;
    let written = |wanted: &VaultPath| {
        changes.iter().find_map(|change| match change {
            Change::Write { path, content, .. } if path == wanted => Some(content.clone()),
            _ => None,
        })
    };
    let mut plan =
        rewrite::follow(&index.links, &names, vault.obsidian().link_format, vault.view(), &written);
    rights::check(vault, &mut plan, read_only)?;
    Ok(Followed { names, plan })
}

/// The links that follow what an undo does to names, in files that it does not write itself and that
/// were written since.
pub(super) fn follow_back(
    vault: &Vault,
    journal: &Journal,
    index: &Index,
    since: Option<Since>,
    steps: &[NameStep],
) -> Followed {
    let mut names = NameChange::default();
    let mut written: HashSet<VaultPath> = HashSet::new();
    {
        let catalogue = vault.catalogue();
        for step in steps {
            match step {
                NameStep::Written(path) => {
                    names.written(&catalogue, path);
                    written.insert(path.clone());
                }
                NameStep::Goes(path) => names.goes(&catalogue, path),
                NameStep::Moves { from, to } => {
                    names.moves(&catalogue, from, to);
                    let moved = |path: VaultPath| match path.relative_to(from) {
                        Some("") => Some(to.clone()),
                        Some(below) => VaultPath::from_disk(&format!("{}/{below}", to.as_str())),
                        None => Some(path),
                    };
                    written = written.into_iter().filter_map(moved).collect();
                }
            }
        }
    }
    if names.is_empty() || names.only_adds_new_names(&vault.catalogue()) {
        return Followed { names, plan: Plan::default() };
    }
    // Whoever undoes waits for it: a plan without the links would break them.
    let refreshed = index.links.refresh(&Cancel::default());
    debug_assert!(refreshed.is_ok(), "nobody can withdraw");
    let format = vault.obsidian().link_format;
    let mut plan = rewrite::follow(&index.links, &names, format, vault.view(), &|_| None);
    let stays = |path: &VaultPath| names.after(path).is_none_or(|path| !written.contains(path));
    plan.rewrites.retain(|rewrite| stays(&rewrite.path));
    plan.stuck.retain(|stuck| stays(&stuck.path));
    plan.unknown.retain(|unknown| stays(&unknown.path));
    if let Some(since) = since {
        let rewritten = plan.rewrites.iter().map(|rewrite| &rewrite.path);
        let paths = rewritten.chain(plan.stuck.iter().map(|stuck| &stuck.path)).cloned();
        let older = since.older(vault, journal, &names, paths.collect());
        plan.rewrites.retain(|rewrite| !older.contains(&rewrite.path));
        plan.stuck.retain(|stuck| !older.contains(&stuck.path));
    }
    Followed { names, plan }
}

/// Whether one of the changes writes this file.
pub(super) fn writes(changes: &[Change], wanted: &VaultPath) -> bool {
    changes.iter().any(|change| matches!(change, Change::Write { path, .. } if path == wanted))
}
