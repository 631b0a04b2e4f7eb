//! The effects of a plan on links: those that are updated, those that cannot be, and those that new names would capture.

use std::collections::{BTreeMap, HashMap};

use super::content;
use super::draft::Draft;
use super::order;
use super::plan::{Following, Item, Plan, Problem, ProblemKind};
use super::world::{PlanError, World};
use crate::index::links::names::NameChange;
use crate::index::links::resolver::lower;
use crate::index::links::rewrite;
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::vault::{Vault, hidden_name};

fn name_change<'i>(vault: &Vault, items: impl Iterator<Item = &'i Item>) -> NameChange {
    let mut names = NameChange::default();
    let mut moves = Vec::new();
    let catalogue = vault.catalogue();
    for item in items {
        let Some(path) = VaultPath::from_disk(&item.path) else { continue };
        if item.create {
            names.add(path);
        } else if item.trash {
            names.remove(&catalogue, &path);
        } else if let Some(to) = item.to.as_deref().and_then(VaultPath::from_disk) {
            moves.push((path, to));
        }
    }
    for (from, to) in order::ordered(&moves, hidden_name) {
        names.moves(&catalogue, &from, &to);
    }
    names
}

fn written_texts<'i>(
    vault: &Vault,
    items: impl Iterator<Item = &'i Item>,
) -> impl Fn(&VaultPath) -> Option<Vec<u8>> {
    let items: HashMap<&str, &Item> = items
        .filter(|item| item.changes_text() && !item.create && !item.trash)
        .map(|item| (&*item.path, item))
        .collect();
    move |path| {
        let item = items.get(path.as_str())?;
        let read = vault.read(path).ok()?;
        content::changed(item, path.name(), &read.bytes, u64::MAX).ok()
    }
}

/// A file whose content a plan changes or removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedText {
    /// The path before; the new path of a created file.
    pub path: String,
    /// The current content; `None` for a created file.
    pub before: Option<Vec<u8>>,
    pub after: Vec<u8>,
}

/// The texts that a plan changes by path, including updated links: byte for byte those that its job writes.
pub fn texts(world: &World<'_>, plan: &Plan) -> Result<Vec<ChangedText>, PlanError> {
    let vault = world.vault;
    let names = name_change(vault, plan.applicable());
    let own = written_texts(vault, plan.applicable());
    let mut found: BTreeMap<String, ChangedText> = BTreeMap::new();
    for item in plan.applicable().filter(|item| item.create || item.changes_text() && !item.trash) {
        let Some(path) = VaultPath::from_disk(&item.path) else { continue };
        let (before, after) = if item.create {
            (None, content::changed(item, &item.path, b"", u64::MAX).ok())
        } else {
            (vault.read(&path).ok().map(|read| read.bytes), own(&path))
        };
        if let Some(after) = after.filter(|after| before.as_ref() != Some(after)) {
            let path = item.path.clone();
            found.insert(path.clone(), ChangedText { path, before, after });
        }
    }
    if !names.is_empty() && !names.only_adds_new_names(&vault.catalogue()) {
        world.index.links.refresh(world.cancel).map_err(|_| PlanError::Cancelled)?;
        let format = vault.obsidian().link_format;
        let follow = rewrite::follow(&world.index.links, &names, format, vault.view(), &own);
        for rewrite in follow.rewrites {
            let path = rewrite.path.as_str().to_owned();
            let before = vault.read(&rewrite.path).ok().map(|read| read.bytes);
            found.insert(path.clone(), ChangedText { path, before, after: rewrite.content });
        }
    }
    Ok(found.into_values().collect())
}

/// Computes link updates and adds problems to the drafts that cause them. Returns the updated links, and whether a
/// draft was blocked, so that paths must be assigned again.
pub fn check(world: &World<'_>, drafts: &mut [Draft]) -> Result<(Following, bool), PlanError> {
    let applied = || drafts.iter().map(|draft| &draft.item).filter(|item| !item.is_blocked());
    let names = name_change(world.vault, applied());
    if names.is_empty() || names.only_adds_new_names(&world.vault.catalogue()) {
        return Ok((Following::default(), false));
    }
    let links = &world.index.links;
    links.refresh(world.cancel).map_err(|_| PlanError::Cancelled)?;
    let written = written_texts(world.vault, applied());
    let format = world.vault.obsidian().link_format;
    let plan = rewrite::follow(links, &names, format, world.vault.view(), &written);
    drop(written);
    let visible_links = links.in_view(world.vault.view());
    let causes = Causes::new(drafts);
    let mut found: Vec<(usize, Problem)> = Vec::new();
    let mut following = Following::default();
    for rewrite in &plan.rewrites {
        following.files += 1;
        following.links += rewrite.links;
        let Some(Err(error)) =
            rewrite.before.as_ref().map(|_| world.vault.may_write(&rewrite.path))
        else {
            continue;
        };
        let leads = visible_links.outgoing(&rewrite.path).unwrap_or_default();
        let targets = leads.iter().map(|lead| (lead.link.path(), lead.resolution.target.as_ref()));
        let message = if world.vault.view().shows(&rewrite.path) {
            format!("links in `{}` would have to be updated: {error}", rewrite.path)
        } else {
            "links would have to be updated in a file that may not be written".to_owned()
        };
        for at in causes.find(&rewrite.path, targets) {
            found.push((at, Problem::blocking(ProblemKind::ReadOnly, message.clone())));
        }
    }
    let stuck = plan.stuck.iter().map(|stuck| (&stuck.path, &stuck.link, stuck.reason.clone()));
    let unknown = plan.unknown.iter().map(|unknown| {
        (&unknown.path, &unknown.link, "the links of this file are not all known".to_owned())
    });
    for (path, link, reason) in stuck.chain(unknown) {
        let target = visible_links.resolve(path, link).target;
        let message = match (world.vault.view().shows(path), link.is_empty()) {
            (false, _) => "a link will lead elsewhere".to_owned(),
            (true, true) => format!("links in `{path}` may lead elsewhere: {reason}"),
            (true, false) => format!("`[[{link}]]` in `{path}` will lead elsewhere: {reason}"),
        };
        for at in causes.find(path, [(link.as_str(), target.as_ref())].into_iter()) {
            found.push((at, Problem::warning(ProblemKind::LinkStuck, message.clone())));
        }
    }
    let mut captured: HashMap<VaultPath, Vec<rewrite::CapturedLink>> = HashMap::new();
    for one in rewrite::captured(visible_links, &names) {
        captured.entry(one.target.clone()).or_default().push(one);
    }
    for (target, links) in captured {
        let (Some(at), Some(first)) = (causes.arriving.get(target.as_str()), links.first()) else {
            continue;
        };
        // Links to a note that does not exist yet are intended for it.
        if drafts[*at].item.create {
            continue;
        }
        let (more, lead) = match links.len() {
            1 => (String::new(), "leads"),
            2 => (" and 1 more link".to_owned(), "lead"),
            all => (format!(" and {} more links", all - 1), "lead"),
        };
        let message = format!(
            "`[[{}]]` in `{}`{more}, which {lead} nowhere now, would lead to it",
            first.link, first.source
        );
        found.push((*at, Problem::warning(ProblemKind::CapturesLinks, message)));
    }
    for (target, lost) in rewrite::lost_by_target(visible_links, &names) {
        let Some(at) = causes.leaving.get(target.as_str()) else { continue };
        let (links, files) = (counted(lost.links, "link"), counted(lost.files, "file"));
        let message = format!("{links} in {files} will lead nowhere");
        found.push((*at, Problem::warning(ProblemKind::LosesLinks, message)));
    }
    let is_blocked = found.iter().any(|(_, problem)| problem.blocks);
    // Warnings are computed again after blocked drafts stay.
    found.retain(|(_, problem)| problem.blocks || !is_blocked);
    for (at, problem) in found {
        drafts[at].add(problem);
    }
    Ok((following, is_blocked))
}

/// Finds the draft that changes a link's target.
struct Causes {
    /// By a file's old path.
    leaving: HashMap<String, usize>,
    /// By a file's new path.
    arriving: HashMap<String, usize>,
    /// By the names that links use, before and after.
    called: HashMap<String, Vec<usize>>,
}

impl Causes {
    fn new(drafts: &[Draft]) -> Self {
        let mut causes =
            Self { leaving: HashMap::new(), arriving: HashMap::new(), called: HashMap::new() };
        for (at, draft) in drafts.iter().enumerate() {
            if draft.item.is_blocked() {
                continue;
            }
            if draft.item.moves() || draft.item.trash {
                causes.leaving.insert(draft.item.path.clone(), at);
                causes.call(&draft.item.path, at);
            }
            let arrives =
                if draft.item.create { Some(&draft.item.path) } else { draft.item.to.as_ref() };
            if let Some(to) = arrives {
                causes.arriving.insert(to.clone(), at);
                causes.call(to, at);
            }
        }
        causes
    }

    fn call(&mut self, path: &str, at: usize) {
        let name = lower(path.rsplit('/').next().unwrap_or_default());
        if let Some(bare) = name.strip_suffix(".md") {
            self.called.entry(bare.to_owned()).or_default().push(at);
        }
        self.called.entry(name).or_default().push(at);
    }

    /// The drafts that change the targets of a file's links: that of the file itself, those of the target files, else
    /// those with the names in the links.
    fn find<'l>(
        &self,
        source: &VaultPath,
        links: impl Iterator<Item = (&'l str, Option<&'l VaultPath>)>,
    ) -> Vec<usize> {
        let mut exact: Vec<usize> =
            self.leaving.get(source.as_str()).copied().into_iter().collect();
        let mut by_name = Vec::new();
        for (link, target) in links {
            exact.extend(target.and_then(|target| self.leaving.get(target.as_str())));
            let name = lower(link.rsplit('/').next().unwrap_or_default());
            by_name.extend(self.called.get(&name).into_iter().flatten());
        }
        let mut found = if exact.is_empty() { by_name } else { exact };
        found.sort_unstable();
        found.dedup();
        found
    }
}
