//! Updates links after a change of names: resolve before and after, then compare.
//!
//! A link must lead to the same file afterwards, at its new path. Each link is resolved twice by the
//! same resolver, among the present and the future files. If the results differ, the link gets a new
//! linkpath in the form of the vault's settings that leads to the file. So links in moved notes, links
//! that a second file of the same name would capture, and links that fall to a namesake of a removed
//! file are one case. Broken links and links to removed files stay.
//!
//! Nothing is written here: a [`Plan`] has the new bytes of each file and the state on which they are
//! based. Finding links does not access the disk, since the write compares that state.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::answers::{Links, VisibleLinks, target_of};
use super::form;
use super::names::{FilesAfter, NameChange};
use super::record::{Gap, StoredLink, is_canvas};
use super::resolver::{Files, file_at, last, lower, resolve_among};
use super::unknown::{self, Unknown};

use crate::index::synced::RecordTable as _;
use crate::note::path::{PathRef, VaultPath};
use crate::note::relink::{self, Goal, LinkReference, Rewritten};
use crate::note::text::Text;
use crate::vault::{FileContent, LinkFormat, Precondition, Vault, View};

/// The most bytes of old texts that a plan keeps. Further files are read again when they are written.
const MAX_KEPT: usize = 32 << 20;

/// The most changed lines listed for a file.
const MAX_LINES: usize = 10;

/// The most characters shown of a line.
const MAX_CHARACTERS: usize = 200;

/// The link updates of a change.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Files with updated links, by path.
    pub rewrites: Vec<Rewrite>,
    /// Links that cannot be updated.
    pub stuck: Vec<Stuck>,
    /// Files whose links are unknown and may need an update.
    pub unknown: Vec<Unknown>,
}

#[derive(Debug, Clone)]
pub struct Rewrite {
    /// Its path before the change.
    pub path: VaultPath,
    /// The file as it has to be; `None` for a text that the change writes itself.
    pub before: Option<Precondition>,
    pub content: Vec<u8>,
    pub links: usize,
    /// The first lines with changed links; empty for canvases.
    pub lines: Vec<ChangedLine>,
}

/// A line with changed links, shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLine {
    /// Its number, from 1.
    pub line: usize,
    pub before: String,
    pub after: String,
}

/// A link that will lead elsewhere, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// The path of its file before the change.
    pub path: VaultPath,
    /// Its line, or the index of the node in a canvas; `None` for the whole file.
    pub place: Option<usize>,
    /// Its linkpath; empty for the whole file.
    pub link: String,
    /// The reason why it cannot be updated.
    pub reason: String,
}

/// The links that a change breaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BrokenLinks {
    pub links: usize,
    /// The number of files that contain them.
    pub files: usize,
}

/// A broken link that a change of names would capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedLink {
    /// The path of its file before the change.
    pub source: VaultPath,
    pub link: String,
    /// The future target's path after the change.
    pub target: VaultPath,
}

/// The broken links in view that `change` would capture, by file. Does not access the disk.
pub fn captured(seen: VisibleLinks<'_>, change: &NameChange) -> Vec<CapturedLink> {
    let graph = seen.links.graph();
    let catalogue = seen.links.0.synced.vault.catalogue();
    let after = FilesAfter { catalogue: &catalogue, change };
    let names: Vec<String> = change.names().iter().cloned().collect();
    let mut found = Vec::new();
    for source in graph.sources(&names) {
        let (Some(record), Some(new_source)) = (graph.get(&source), change.after(&source)) else {
            continue;
        };
        if !seen.view.shows(&source) {
            continue;
        }
        let links = record.links.iter().filter(|link| {
            !link.path().is_empty() && change.names().contains(&*lower(last(link.path())))
        });
        found.extend(links.filter_map(|link| {
            let led_nowhere = target_of(&*catalogue, &source, link).target.is_none();
            let target = led_nowhere.then(|| target_of(&after, new_source, link).target)??;
            Some(CapturedLink { source: source.clone(), link: link.path().to_owned(), target })
        }));
    }
    found
}

/// The files with links that would lead elsewhere after `change`, by path. Does not access the disk.
pub fn affected(links: &Links, change: &NameChange) -> Vec<VaultPath> {
    let mut found = Vec::new();
    each_turned(links, change, |source, turned| {
        if turned.iter().any(|(_, wanted)| wanted.is_some()) {
            found.push(source.clone());
        }
    });
    found
}

/// Counts the links in view from remaining files to removed files. Does not access the disk.
pub fn lost(seen: VisibleLinks<'_>, change: &NameChange) -> BrokenLinks {
    let mut lost = BrokenLinks::default();
    each_turned(seen.links, change, |source, turned| {
        if !seen.view.shows(source) {
            return;
        }
        let links = turned.iter().filter(|(_, wanted)| wanted.is_none()).count();
        lost.links += links;
        lost.files += usize::from(links > 0);
    });
    lost
}

/// As [`lost`], for each removed file that has such links.
pub fn lost_by_target(
    seen: VisibleLinks<'_>,
    change: &NameChange,
) -> BTreeMap<VaultPath, BrokenLinks> {
    let mut found: BTreeMap<VaultPath, BrokenLinks> = BTreeMap::new();
    each_turned(seen.links, change, |source, turned| {
        if !seen.view.shows(source) {
            return;
        }
        let mut targets: Vec<_> = turned
            .iter()
            .filter(|(_, wanted)| wanted.is_none())
            .map(|(target, _)| target)
            .collect();
        targets.sort_unstable();
        for same in targets.chunk_by(|one, next| one == next) {
            let lost = found.entry(same[0].clone()).or_default();
            lost.links += same.len();
            lost.files += 1;
        }
    });
    found
}

/// For each remaining file with links that would lead elsewhere, the targets of these links, each
/// with its path after the change; `None` if it is removed.
fn each_turned(
    links: &Links,
    change: &NameChange,
    mut each: impl FnMut(&VaultPath, &[(VaultPath, Option<VaultPath>)]),
) {
    let names: Vec<String> = change.names().iter().cloned().collect();
    let graph = links.graph();
    let mut sources: BTreeSet<VaultPath> = graph.sources(&names);
    sources.extend(change.moved().keys().filter(|path| graph.get(path).is_some()).cloned());
    let catalogue = links.0.synced.vault.catalogue();
    let after = FilesAfter { catalogue: &catalogue, change };
    let names: HashSet<&str> = names.iter().map(String::as_str).collect();
    for source in &sources {
        let (Some(record), Some(new_source)) = (graph.get(source), change.after(source)) else {
            continue;
        };
        let moves = new_source != source;
        let touched = |link: &&StoredLink| {
            !link.path().is_empty() && (moves || names.contains(&*lower(last(link.path()))))
        };
        let turned: Vec<(VaultPath, Option<VaultPath>)> = record
            .links
            .iter()
            .filter(touched)
            .filter_map(|link| {
                let target = target_of(&*catalogue, source, link).target?;
                let wanted = change.after(&target);
                let now = target_of(&after, new_source, link).target;
                let turned = wanted.is_none() || now.as_ref() != wanted;
                turned.then(|| (target.clone(), wanted.cloned()))
            })
            .collect();
        if !turned.is_empty() {
            each(source, &turned);
        }
    }
}

/// The edits that keep the targets of links, in the form of `format`. A link to a file outside the
/// view of `seen` stays as it is: its new text would reveal where the file is. `written` gives the
/// text that the change itself writes into an existing file; links in it are updated if the file
/// had them before.
pub fn follow(
    links: &Links,
    change: &NameChange,
    format: LinkFormat,
    seen: &View,
    written: &dyn Fn(&VaultPath) -> Option<Vec<u8>>,
) -> Plan {
    let mut plan = Plan::default();
    let vault = &links.0.synced.vault;
    // If a note has more links than are recorded, all are checked as soon as one needs an update.
    let (more, unknown): (Vec<Unknown>, _) =
        unknown::unknown(links, change).into_iter().partition(|one| one.gap == Gap::TooMany);
    plan.unknown = unknown;
    let more = more.into_iter().map(|one| one.path);
    let affected: BTreeSet<VaultPath> = affected(links, change).into_iter().chain(more).collect();
    let mut kept = 0;
    for path in affected {
        let text = match written(&path) {
            Some(bytes) => Ok((bytes, None, Some(known_paths(links, &path)))),
            None => vault.read(&path).map(|c| (c.bytes, Some((c.revision, c.meta)), None)),
        };
        let whole = |reason| Stuck { path: path.clone(), place: None, link: String::new(), reason };
        let (bytes, state, known) = match text {
            Ok(text) => text,
            Err(error) => {
                plan.stuck.push(whole(error.to_string()));
                continue;
            }
        };
        let only = |link: &str| known.as_ref().is_none_or(|known| known.contains(link));
        let leads = |target: &VaultPath| !seen.holds(&path) || seen.holds(target);
        let new_path = change.after(&path).unwrap_or(&path);
        match rewrite(vault, change, format, (&path, new_path), &bytes, &|link, target| {
            only(link) && leads(target)
        }) {
            Ok((mut found, mut stuck)) => {
                plan.stuck.append(&mut stuck);
                if found.links == 0 {
                    continue;
                }
                found.before = state.map(|(revision, meta)| {
                    kept += bytes.len();
                    if kept <= MAX_KEPT {
                        Precondition::Read(Arc::new(FileContent { bytes, revision, meta }))
                    } else {
                        Precondition::Revision(revision)
                    }
                });
                plan.rewrites.push(found);
            }
            Err(reason) => plan.stuck.push(whole(reason)),
        }
    }
    plan
}

fn known_paths(links: &Links, path: &VaultPath) -> HashSet<Box<str>> {
    let graph = links.graph();
    let links = graph.get(path).map(|record| &record.links);
    links.into_iter().flatten().map(|link| link.path().into()).collect()
}

/// The content of a copy of the file at `path` for `new_path`, with links updated to the original's targets.
/// Links that leave the view of `seen` stay, and so do files other than notes and canvases.
pub fn copied(
    vault: &Vault,
    change: &NameChange,
    (path, new_path): (&VaultPath, &VaultPath),
    bytes: Vec<u8>,
) -> (Vec<u8>, Plan) {
    let mut plan = Plan::default();
    if !path.is_note() && !is_canvas(path) {
        return (bytes, plan);
    }
    let (format, seen) = (vault.obsidian().link_format, vault.view());
    let leads = |_: &str, target: &VaultPath| seen.holds(target);
    match rewrite(vault, change, format, (path, new_path), &bytes, &leads) {
        Ok((mut found, stuck)) => {
            plan.stuck = stuck;
            plan.stuck.iter_mut().for_each(|stuck| stuck.path = new_path.clone());
            found.path = new_path.clone();
            if found.links == 0 {
                return (bytes, plan);
            }
            let content = std::mem::take(&mut found.content);
            plan.rewrites.push(found);
            (content, plan)
        }
        Err(reason) => {
            let (path, link) = (new_path.clone(), String::new());
            plan.stuck.push(Stuck { path, place: None, link, reason });
            (bytes, plan)
        }
    }
}

/// An earlier text of the file now at `disk`, for its path after `change`, with its links updated
/// to their original targets; `None` if they need no update. `then` has the names of the time when
/// it was the text of `was`. Links that leave the view stay.
pub fn restore_text(
    vault: &Vault,
    (then, was): (&NameChange, &VaultPath),
    (change, disk): (&NameChange, &VaultPath),
    bytes: &[u8],
) -> Option<Vec<u8>> {
    if !was.is_note() && !is_canvas(was) {
        return None;
    }
    let seen = vault.view();
    let leads = |_: &str, target: &VaultPath| !seen.holds(disk) || seen.holds(target);
    let new_path = change.after(disk)?;
    let format = vault.obsidian().link_format;
    let rewritten = rewrite_from(vault, Some(then), change, format, (was, new_path), bytes, &leads);
    rewritten.ok().map(|(found, _)| found).filter(|found| found.links > 0).map(|one| one.content)
}

/// As [`rewrite_from`], for a current text.
fn rewrite(
    vault: &Vault,
    change: &NameChange,
    format: LinkFormat,
    paths: (&VaultPath, &VaultPath),
    bytes: &[u8],
    only: &dyn Fn(&str, &VaultPath) -> bool,
) -> Result<(Rewrite, Vec<Stuck>), String> {
    rewrite_from(vault, None, change, format, paths, bytes, only)
}

/// The text of the file at `path` for `new_path` with updated links and an open revision, or the reason why
/// it cannot be edited. The links of the text mean files as they are called after `then`, or now.
fn rewrite_from(
    vault: &Vault,
    then: Option<&NameChange>,
    change: &NameChange,
    format: LinkFormat,
    (path, new_path): (&VaultPath, &VaultPath),
    bytes: &[u8],
    only: &dyn Fn(&str, &VaultPath) -> bool,
) -> Result<(Rewrite, Vec<Stuck>), String> {
    let text = Text::decode(bytes, path.name()).map_err(|fault| format!("it is {fault}"))?;
    if !text.encoding().is_editable() {
        return Err("it is UTF-16, which is read and never edited".to_owned());
    }
    let rewritten = {
        let catalogue = vault.catalogue();
        let after = FilesAfter { catalogue: &catalogue, change };
        let before = then.map(|then| FilesAfter { catalogue: &catalogue, change: then });
        // In a file that stays, only these links can lead elsewhere. In a large vault, where many notes
        // share a name, resolving the others takes most of the time.
        let can_turn = |link: &str| {
            then.is_some() || path != new_path || change.names().contains(&*lower(last(link)))
        };
        let mut decide = |asked: LinkReference<'_>| -> Option<Goal> {
            if !can_turn(asked.path) {
                return None;
            }
            let target = |files: &dyn Files, source| {
                if asked.is_file {
                    file_at(files, asked.path).map(PathRef::to_path)
                } else {
                    resolve_among(files, source, asked.path).target
                }
            };
            let old = match &before {
                Some(before) => target(before, path)?,
                None => target(&*catalogue, path)?,
            };
            let now = then.map_or_else(|| Some(old.clone()), |then| then.before(&old))?;
            let new = change.after(&now).filter(|_| only(asked.path, &now))?;
            if target(&after, new_path).as_ref() == Some(new) {
                return None;
            }
            let paths = if asked.is_file {
                vec![new.as_str().to_owned()]
            } else {
                form::linkpaths(&after, format, new_path, new, asked.extension)
            };
            Some(form::goal(paths, &old, new))
        };
        if is_canvas(path) {
            relink::rewrite_canvas(text.body(), &mut decide)
        } else {
            relink::rewrite_note(text.body(), &mut decide)
        }
    };
    let new = relink::replaced(text.body(), &rewritten.edits);
    let lines =
        if is_canvas(path) { Vec::new() } else { changed_lines(text.body(), &new, &rewritten) };
    let stuck = rewritten.stuck.into_iter().map(|(place, link)| Stuck {
        path: path.clone(),
        place: Some(place),
        link,
        reason: "this kind of link cannot name the new path".to_owned(),
    });
    let content = [text.lead(), new.as_bytes()].concat();
    let links = rewritten.links;
    let found = Rewrite { path: path.clone(), before: None, content, links, lines };
    Ok((found, stuck.collect()))
}

/// The first lines that edits change. Edits contain no newline, so line numbers stay.
fn changed_lines(old: &str, new: &str, rewritten: &Rewritten) -> Vec<ChangedLine> {
    let mut lines = Vec::new();
    let mut edits = rewritten.edits.iter().peekable();
    let mut start = 0;
    for (number, (before, after)) in old.split('\n').zip(new.split('\n')).enumerate() {
        let end = start + before.len();
        let mut changed = false;
        while edits.next_if(|edit| edit.range.start <= end).is_some() {
            changed = true;
        }
        if changed {
            lines.push(ChangedLine { line: number + 1, before: cut(before), after: cut(after) });
        }
        if lines.len() == MAX_LINES || edits.peek().is_none() {
            break;
        }
        start = end + 1;
    }
    lines
}

fn cut(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    match line.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
