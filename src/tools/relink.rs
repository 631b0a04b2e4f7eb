//! Changes of names with the links that follow them, as one change set.
//!
//! Whatever tool moves or creates files applies its changes through [`apply`]; what takes changes
//! back or restores goes through [`following`].

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::since::Since;
use super::text_file::count;
use super::{Context, ToolError, graph};
use crate::index::links::names::NameChange;
use crate::index::links::rewrite::{Plan, Rewrite, Stuck};
use crate::journal::{Applied, Change, Follow, JournalError, NameStep, UndoError};
use crate::note::base;
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::vault::{Before, Cancel, Kind, VaultError};

/// How often a change is planned anew because a note with links to rewrite changed meanwhile, as
/// when Obsidian rewrites the same links.
const ATTEMPTS: usize = 6;

/// Files, links or lines named in an answer.
const MAX_NAMED: usize = 20;

/// Names looked for in bases.
const MAX_NAMES: usize = 50;

/// What became of the links of other files.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Relinked {
    /// Links rewritten so that they lead where they led.
    pub links: usize,
    /// Files they stand in.
    pub files: usize,
    /// The first 20 of these files.
    pub rewritten: Vec<RelinkedFile>,
    /// Links that now lead elsewhere and could not be rewritten; the first 20.
    pub not_rewritten: Vec<LeftLink>,
    /// How many of those there are.
    pub total_not_rewritten: usize,
    /// Files of the vault whose links are not, or not all, known.
    pub unknown_files: usize,
}

/// A file whose links were rewritten.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RelinkedFile {
    /// Its path, afterwards.
    pub path: String,
    /// How many of its links.
    pub links: usize,
    /// The first changed lines.
    pub lines: Vec<RelinkedLine>,
}

/// A line with rewritten links.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RelinkedLine {
    /// Its number, from 1.
    pub line: usize,
    /// Its text before, cut where it is long.
    pub before: String,
    /// Its text afterwards.
    pub after: String,
}

/// A link that could not be rewritten.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftLink {
    /// The file it stands in.
    pub path: String,
    /// Its line, from 1, in a canvas the node's number, from 0; none if the file cannot be edited.
    pub line: Option<usize>,
    /// What it names; empty if the file cannot be edited.
    pub link: String,
    /// Why.
    pub reason: String,
}

/// Applies changes that go together, and with them the rewriting of every link that would lead
/// elsewhere for them. The outcomes of `changes` come first in what was applied.
///
/// # Errors
/// As [`Context::apply`]; all is as it was.
pub(super) fn apply(
    context: &Context,
    title: String,
    changes: Vec<Change>,
) -> Result<(Applied, Relinked), ToolError> {
    for _ in 1..ATTEMPTS {
        let (change, plan) = plan(context, &changes)?;
        let relinked = tell(context, &change, &plan);
        let ours: HashSet<VaultPath> = plan.rewrites.iter().map(|r| r.path.clone()).collect();
        let merged = merge(changes.clone(), plan.rewrites);
        match context.try_apply(title.clone(), merged)? {
            Ok(applied) => return Ok((applied, relinked)),
            Err(JournalError::Change(error))
                if met(&error)
                    .is_some_and(|path| ours.contains(path) && !writes(&changes, path)) =>
            {
                look_again(context, &error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let (change, plan) = plan(context, &changes)?;
    let relinked = tell(context, &change, &plan);
    Ok((context.apply(title, merge(changes, plan.rewrites))?, relinked))
}

/// The file that somebody changed, or took away, since it was looked at.
fn met(error: &VaultError) -> Option<&VaultPath> {
    match error {
        VaultError::Stale { path, .. } | VaultError::Renamed { path, .. } => Some(path),
        _ => None,
    }
}

/// Finds what is not where it was: where no watcher tells, nobody knows its new name yet.
fn look_again(context: &Context, error: &VaultError) {
    if matches!(error, VaultError::Stale { current: None, .. } | VaultError::Renamed { .. })
        && let Err(error) = context.vault.rescan()
    {
        tracing::warn!(%error, "the vault could not be looked through again");
    }
}

/// Runs an undo or a restoration, and with it the rewriting of every link that would lead
/// elsewhere for it, in the same change set. A text that it puts back itself stays as it was then, and
/// so does one that is older than what is taken back, as far as `since` tells.
///
/// # Errors
/// As `run`; all is as it was.
pub(super) fn following<T>(
    context: &Context,
    since: Option<Since>,
    mut run: impl FnMut(Follow<'_>) -> Result<T, UndoError>,
) -> Result<(T, Relinked), UndoError> {
    for attempt in 1.. {
        let (mut relinked, mut ours) = (Relinked::default(), HashSet::new());
        let mut follow = |steps: &[NameStep]| {
            let (change, plan) = plan_after(context, since, steps);
            relinked = tell(context, &change, &plan);
            ours = plan.rewrites.iter().map(|rewrite| rewrite.path.clone()).collect();
            merge(Vec::new(), plan.rewrites)
        };
        match run(&mut follow) {
            Err(UndoError::Journal(JournalError::Change(error)))
                if attempt < ATTEMPTS && met(&error).is_some_and(|path| ours.contains(path)) =>
            {
                look_again(context, &error);
            }
            result => return Ok((result?, relinked)),
        }
    }
    unreachable!("the last attempt returns")
}

/// The links that follow what an undo does to names, in files that it does not write itself and that
/// were written since.
fn plan_after(context: &Context, since: Option<Since>, steps: &[NameStep]) -> (NameChange, Plan) {
    let mut change = NameChange::default();
    let mut written: HashSet<VaultPath> = HashSet::new();
    {
        let catalogue = context.vault.catalogue();
        for step in steps {
            match step {
                NameStep::Written(path) => {
                    change.written(&catalogue, path);
                    written.insert(path.clone());
                }
                NameStep::Goes(path) => change.goes(&catalogue, path),
                NameStep::Moves { from, to } => {
                    change.moves(&catalogue, from, to);
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
    if change.is_empty() || change.only_adds_new_names(&context.vault.catalogue()) {
        return (change, Plan::default());
    }
    // Whoever undoes waits for it: a plan without the links would break them.
    let refreshed = context.index.links.refresh(&Cancel::default());
    debug_assert!(refreshed.is_ok(), "nobody can withdraw");
    let format = context.vault.obsidian().link_format;
    let mut plan = context.index.links.follow(&change, format, &|_| None);
    let stays = |path: &VaultPath| change.after(path).is_none_or(|path| !written.contains(path));
    plan.rewrites.retain(|rewrite| stays(&rewrite.path));
    plan.stuck.retain(|stuck| stays(&stuck.path));
    if let Some(since) = since {
        let rewritten = plan.rewrites.iter().map(|rewrite| &rewrite.path);
        let paths = rewritten.chain(plan.stuck.iter().map(|stuck| &stuck.path)).cloned();
        let older = since.older(context, &change, paths.collect());
        plan.rewrites.retain(|rewrite| !older.contains(&rewrite.path));
        plan.stuck.retain(|stuck| !older.contains(&stuck.path));
    }
    (change, plan)
}

/// What [`apply`] would do to links; nothing is changed.
///
/// # Errors
/// The caller withdrew.
pub(super) fn preview(context: &Context, changes: &[Change]) -> Result<Relinked, ToolError> {
    let (change, plan) = plan(context, changes)?;
    Ok(tell(context, &change, &plan))
}

/// The change of names that these changes are.
pub(super) fn names(context: &Context, changes: &[Change]) -> NameChange {
    let catalogue = context.vault.catalogue();
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

fn plan(context: &Context, changes: &[Change]) -> Result<(NameChange, Plan), ToolError> {
    let change = names(context, changes);
    // The vault is not read for the sake of a new note with a new name.
    if change.is_empty() || change.only_adds_new_names(&context.vault.catalogue()) {
        return Ok((change, Plan::default()));
    }
    graph::refresh(context)?;
    let written = |wanted: &VaultPath| {
        changes.iter().find_map(|change| match change {
            Change::Write { path, content, .. } if path == wanted => Some(content.clone()),
            _ => None,
        })
    };
    let format = context.vault.obsidian().link_format;
    let plan = context.index.links.follow(&change, format, &written);
    Ok((change, plan))
}

/// The changes with the rewritten texts put in: into those that they write themselves, or beside.
fn merge(mut changes: Vec<Change>, rewrites: Vec<Rewrite>) -> Vec<Change> {
    for rewrite in rewrites {
        let Some(revision) = rewrite.revision else {
            let mut written = changes.iter_mut().filter_map(|change| match change {
                Change::Write { path, content, .. } if *path == rewrite.path => Some(content),
                _ => None,
            });
            if let Some(content) = written.next() {
                *content = rewrite.content;
            }
            continue;
        };
        changes.push(Change::Write {
            path: rewrite.path,
            content: rewrite.content,
            before: Before::Revision(revision),
        });
    }
    changes
}

fn writes(changes: &[Change], wanted: &VaultPath) -> bool {
    changes.iter().any(|change| matches!(change, Change::Write { path, .. } if path == wanted))
}

fn tell(context: &Context, change: &NameChange, plan: &Plan) -> Relinked {
    let now = |path: &VaultPath| change.after(path).unwrap_or(path).as_str().to_owned();
    let file = |rewrite: &Rewrite| RelinkedFile {
        path: now(&rewrite.path),
        links: rewrite.links,
        lines: rewrite
            .lines
            .iter()
            .map(|line| RelinkedLine {
                line: line.line,
                before: line.before.clone(),
                after: line.after.clone(),
            })
            .collect(),
    };
    let left = |stuck: &Stuck| LeftLink {
        path: now(&stuck.path),
        line: stuck.place,
        link: stuck.link.clone(),
        reason: stuck.reason.clone(),
    };
    let looked = !(change.is_empty() || change.only_adds_new_names(&context.vault.catalogue()));
    Relinked {
        links: plan.rewrites.iter().map(|rewrite| rewrite.links).sum(),
        files: plan.rewrites.len(),
        rewritten: plan.rewrites.iter().take(MAX_NAMED).map(file).collect(),
        not_rewritten: plan.stuck.iter().take(MAX_NAMED).map(left).collect(),
        total_not_rewritten: plan.stuck.len(),
        unknown_files: if looked { context.index.links.gaps().len() } else { 0 },
    }
}

impl Relinked {
    /// One line for each thing that a reader should know; `shows` says whether with changed lines.
    pub fn text(&self, shows: bool) -> Vec<String> {
        let mut lines = Vec::new();
        if self.links > 0 {
            let verb = if shows { "would be rewritten" } else { "rewritten" };
            let (links, files) = (count(self.links, "link"), count(self.files, "file"));
            lines.push(format!("{links} in {files} {verb}:"));
        }
        for file in &self.rewritten {
            lines.push(format!("  {} ({})", file.path, count(file.links, "link")));
            for line in file.lines.iter().filter(|_| shows) {
                lines.push(format!("    {}: - {}", line.line, line.before));
                lines.push(format!("    {}: + {}", line.line, line.after));
            }
        }
        if self.files > self.rewritten.len() {
            lines.push(format!("  [{} more]", self.files - self.rewritten.len()));
        }
        if self.total_not_rewritten > 0 {
            let what = if self.total_not_rewritten == 1 { "this" } else { "these" };
            lines.push(format!("[{what} could not be rewritten: {}]", self.total_not_rewritten));
        }
        for left in &self.not_rewritten {
            let line = left.line.map_or(String::new(), |line| format!(":{line}"));
            let link =
                if left.link.is_empty() { String::new() } else { format!(" `{}`", left.link) };
            lines.push(format!("  {}{line}{link}: {}", left.path, left.reason));
        }
        if self.unknown_files > 0 {
            let files = count(self.unknown_files, "file");
            lines.push(format!("[the links of {files} are not, or not all, known]"));
        }
        lines
    }
}

/// A line of a base that names a file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BaseLine {
    /// The base.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
}

/// Lines of bases that name what moves, the first 20: bases are reported, never edited.
pub(super) fn base_lines(context: &Context, from: &VaultPath, changes: &[Change]) -> Vec<BaseLine> {
    let change = names(context, changes);
    let mut moved: Vec<&VaultPath> = change.moved().keys().collect();
    moved.sort();
    let wanted: Vec<&VaultPath> = std::iter::once(from)
        .chain(moved.into_iter().filter(|path| *path != from))
        .take(MAX_NAMES)
        .collect();
    let bases: Vec<VaultPath> = {
        let catalogue = context.vault.catalogue();
        let root = VaultPath::root();
        let bases = catalogue.within(&root).filter(|entry| {
            let extension = entry.path().extension();
            entry.kind == Kind::File && extension.is_some_and(|e| e.eq_ignore_ascii_case("base"))
        });
        bases.take(200).map(|entry| entry.path().to_path()).collect()
    };
    let mut found: Vec<BaseLine> = Vec::new();
    for file in bases {
        let Ok(content) = context.vault.read(&file) else { continue };
        let Ok(text) = Text::decode(&content.bytes, file.name()) else { continue };
        let path = change.after(&file).unwrap_or(&file).as_str();
        let mentions = wanted.iter().flat_map(|name| base::mentions(text.body(), name.as_str()));
        for mention in mentions {
            let known =
                found.iter().any(|line| (line.path.as_str(), line.line) == (path, mention.line));
            if !known && found.len() < MAX_NAMED {
                let text = mention.text.chars().take(200).collect();
                found.push(BaseLine { path: path.to_owned(), line: mention.line, text });
            }
        }
    }
    found
}
