//! The link rewrites that follow a change of names.

use std::collections::{HashMap, HashSet};

use super::error::EditsError;
use super::older_texts::Since;
use super::restored_links;
use super::rights::{self, ReadOnly};
use crate::index::Index;
use crate::index::links::names::NameChange;
use crate::index::links::rewrite::{self, Plan};
use crate::journal::{Change, Journal, ListedSet, NameStep};
use crate::note::path::VaultPath;
use crate::note::path_map::PathMap;
use crate::vault::{Cancel, Precondition, Vault};

/// A change of names and the link rewrites that follow it.
#[derive(Debug, Default)]
pub struct Followed {
    pub names: NameChange,
    /// The link rewrites. Once applied, the new texts are only in the change set.
    pub plan: Plan,
    /// Texts that a partial undo puts back, with updated links, by the path of their file on disk.
    pub(super) put_back: Vec<(VaultPath, Vec<u8>)>,
}

impl Followed {
    /// The files whose links are rewritten.
    pub(super) fn rewritten(&self) -> HashSet<VaultPath> {
        self.plan.rewrites.iter().map(|rewrite| rewrite.path.clone()).collect()
    }

    /// Moves the rewritten texts into `changes`: replaces the content of files that `changes`
    /// write, appends writes for the others.
    pub(super) fn merge_into(&mut self, mut changes: Vec<Change>) -> Vec<Change> {
        let mut own = HashMap::new();
        for (at, change) in changes.iter().enumerate() {
            if let Change::Write { path, .. } = change {
                own.entry(path.clone()).or_insert(at);
            }
        }
        for rewrite in &mut self.plan.rewrites {
            let (path, new) = (&rewrite.path, std::mem::take(&mut rewrite.content));
            let Some(before) = rewrite.before.take() else {
                if let Some(Change::Write { content, .. }) =
                    own.get(path).and_then(|at| changes.get_mut(*at))
                {
                    *content = new;
                }
                continue;
            };
            changes.push(Change::Write { path: path.clone(), content: new, before });
        }
        let put_back = std::mem::take(&mut self.put_back).into_iter();
        changes.extend(put_back.map(|(path, content)| {
            let before = Precondition::Any;
            Change::Write { path, content, before }
        }));
        changes
    }
}

/// The change of names that these changes make.
pub fn names(vault: &Vault, changes: &[Change]) -> NameChange {
    let catalogue = vault.catalogue();
    let mut names = NameChange::default();
    for change in changes {
        match change {
            Change::Write { path, .. } if catalogue.get(path.as_str()).is_none() => {
                names.add(path.clone());
            }
            Change::Move { from, to } => names.moves(&catalogue, from, to),
            Change::Delete { path, .. } => names.remove(&catalogue, path),
            Change::Write { .. } | Change::CreateFolder { .. } | Change::RemoveFolder { .. } => {}
        }
    }
    names
}

/// Plans the link rewrites that follow these changes.
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
    // A new note with a new name affects no link, so the vault is not read.
    if names.is_empty() || names.only_adds_new_names(&vault.catalogue()) {
        return Ok(Followed { names, ..Followed::default() });
    }
    index.links.refresh(cancel).map_err(|_| EditsError::Cancelled)?;
    let texts = changes.iter().rev().filter_map(|change| match change {
        Change::Write { path, content, .. } => Some((path, content)),
        _ => None,
    });
    let texts: HashMap<&VaultPath, &Vec<u8>> = texts.collect();
    let written = |target: &VaultPath| texts.get(target).map(|content| (*content).clone());
    let mut plan =
        rewrite::follow(&index.links, &names, vault.obsidian().link_format, vault.view(), &written);
    rights::check(vault, &mut plan, read_only)?;
    Ok(Followed { names, plan, ..Followed::default() })
}

/// Plans the link rewrites that follow an undo, in files that the undo does not write itself and that were written
/// since. `part` is the set that is undone in part: its other changes stay, so that links in older texts keep their
/// targets, except links to restored files.
pub(super) fn follow_back(
    vault: &Vault,
    journal: &Journal,
    index: &Index,
    since: Option<Since>,
    part: Option<&ListedSet>,
    steps: &[NameStep],
) -> Followed {
    let (mut names, mut lasting) = (NameChange::default(), NameChange::default());
    let mut written = PathMap::default();
    {
        let catalogue = vault.catalogue();
        for step in steps {
            match step {
                NameStep::Written(path) => {
                    names.written(&catalogue, path);
                    written.insert(path.clone(), ());
                }
                NameStep::PutBack { path, .. } => drop(written.insert(path.clone(), ())),
                NameStep::Goes(path) => {
                    names.remove(&catalogue, path);
                    lasting.remove(&catalogue, path);
                }
                NameStep::Moves { from, to } => {
                    names.moves(&catalogue, from, to);
                    lasting.moves(&catalogue, from, to);
                    for (path, ()) in written.take_within(from) {
                        let below = path.relative_to(from).unwrap_or_default();
                        to.join_all(below).into_iter().for_each(|path| {
                            written.insert(path, ());
                        });
                    }
                }
            }
        }
    }
    let put_back =
        part.map(|set| restored_links::updated(vault, set, &names, steps)).unwrap_or_default();
    if names.is_empty() || names.only_adds_new_names(&vault.catalogue()) {
        return Followed { names, plan: Plan::default(), put_back };
    }
    // The undo waits for the index: a plan without the links would break them.
    let refreshed = index.links.refresh(&Cancel::default());
    debug_assert!(refreshed.is_ok(), "nobody can withdraw");
    let format = vault.obsidian().link_format;
    let follow = |names: &NameChange, stays: &dyn Fn(&VaultPath) -> bool| {
        let mut plan = rewrite::follow(&index.links, names, format, vault.view(), &|_| None);
        plan.rewrites.retain(|rewrite| stays(&rewrite.path));
        plan.stuck.retain(|stuck| stays(&stuck.path));
        plan
    };
    let stays = |path: &VaultPath| names.after(path).is_none_or(|path| written.get(path).is_none());
    let mut plan = follow(&names, &stays);
    plan.unknown.retain(|unknown| stays(&unknown.path));
    if let Some(since) = since {
        let rewritten = plan.rewrites.iter().map(|rewrite| &rewrite.path);
        let paths = rewritten.chain(plan.stuck.iter().map(|stuck| &stuck.path)).cloned();
        let older = since.older(vault, journal, &names, paths.collect());
        plan.rewrites.retain(|rewrite| !older.contains(&rewrite.path));
        plan.stuck.retain(|stuck| !older.contains(&stuck.path));
        if part.is_some() && !older.is_empty() {
            let kept = follow(&lasting, &|path| stays(path) && older.contains(path));
            plan.rewrites.extend(kept.rewrites);
            plan.stuck.extend(kept.stuck);
        }
    }
    Followed { names, plan, put_back }
}

pub(super) fn writes(changes: &[Change], target: &VaultPath) -> bool {
    changes.iter().any(|change| matches!(change, Change::Write { path, .. } if path == target))
}
