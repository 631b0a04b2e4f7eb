//! The changes that a call is about to make, shown to the gate that judges them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use crate::journal::{Change, ChangeSetId, Journal, JournalError, PreviewAction, PreviewStep};
use crate::note::extent;
use crate::note::path::VaultPath;
use crate::policy::active::{self, Finding, Format};
use crate::policy::{Action, Effect, Refusal};
use crate::vault::{Catalogue, Kind, Precondition, Vault, is_temp_path};

/// Judges changes at the moment they are to be made, on their final paths.
pub trait Gate: Send + Sync + fmt::Debug {
    fn check(&self, proposal: &Proposal) -> Result<(), Refusal>;

    /// Called if the journal refused because of the limits of one turn; nothing has changed.
    fn limited(&self, proposal: &Proposal, limit: &JournalError);

    /// Called when the proposal was applied, as this change set.
    fn applied(&self, change_set: ChangeSetId);
}

/// The changes that a call is about to make.
#[derive(Debug)]
pub struct Proposal<'a> {
    /// The call's description, for people.
    pub title: &'a str,
    pub changes: Vec<Proposed<'a>>,
    /// The changes that a person approves, if those are more than these.
    pub whole: Option<Whole<'a>>,
}

/// A larger unit that a person approves: a plan, or the undo of a job.
#[derive(Debug, Clone, Copy)]
pub struct Whole<'a> {
    /// Identifies the whole, links included; `None` if a person agrees to just these changes.
    pub identity: Option<&'a str>,
    /// A summary in a few lines, since the list of changes is too long to read.
    pub outline: &'a str,
    /// Why approval is always required, if so.
    pub reason: Option<&'a str>,
    /// Whether the changes are a part of it, after [`Editor::propose`](super::Editor::propose)
    /// submitted the whole.
    pub is_part: bool,
}

#[derive(Debug)]
pub struct Proposed<'a> {
    pub effect: Effect,
    text: Option<Bytes<'a>>,
    /// For a deletion, a hash of the present state.
    state: Option<blake3::Hash>,
}

/// For a write, the current content, if the file exists, and the new content.
type Bytes<'a> = (Option<Cow<'a, [u8]>>, Cow<'a, [u8]>);

impl Proposed<'_> {
    /// For a write, the content before and after.
    pub fn content(&self) -> Option<(&[u8], &[u8])> {
        let (old, new) = self.text.as_ref()?;
        Some((old.as_deref().unwrap_or_default(), new))
    }

    pub fn is_new(&self) -> bool {
        matches!(&self.text, Some((None, _)))
    }

    /// Hashes what identifies this change: the hash is the same only for the same effect on the
    /// same content.
    pub fn identity(&self, hash: &mut blake3::Hasher) {
        hash.update(format!("{:?}", self.effect).as_bytes());
        if let Some((old, new)) = &self.text {
            hash.update(blake3::hash(old.as_deref().unwrap_or_default()).as_bytes());
            hash.update(blake3::hash(new).as_bytes());
        }
        if let Some(state) = &self.state {
            hash.update(state.as_bytes());
        }
    }
}

pub(super) fn changes<'a>(vault: &Vault, title: &'a str, changes: &'a [Change]) -> Proposal<'a> {
    let hidden = over_hidden_names(changes.iter().filter_map(|change| match change {
        Change::Move { from, to } => Some((from, to)),
        _ => None,
    }));
    let one = |change: &'a Change| match change {
        Change::Write { path, content, before } => {
            let old: Option<Cow<'a, [u8]>> = match before {
                Precondition::Read(read) => Some(Cow::Borrowed(&read.bytes)),
                _ => vault.read(path).ok().map(|file| file.bytes.into()),
            };
            let effect = Effect {
                bytes: content.len() as u64,
                changed: extent::changed(old.as_deref().unwrap_or_default(), content),
                active: added_content(old.as_deref(), content, path),
                ..effect(Action::Write, path)
            };
            Proposed { effect, text: Some((old, content.into())), state: None }
        }
        Change::CreateFolder { path } => {
            let effect = Effect { files: 0, ..effect(Action::CreateFolder, path) };
            Proposed { effect, text: None, state: None }
        }
        Change::RemoveFolder { path } => {
            let effect = Effect { files: 0, ..effect(Action::RemoveFolder, path) };
            Proposed { effect, text: None, state: None }
        }
        Change::Move { from, to } => {
            let from = hidden.get(from).copied().unwrap_or(from);
            let (folder, files) = size(vault, from);
            let active = if folder { Vec::new() } else { renamed(vault, from, to) };
            let effect = Effect {
                from: Some(from.clone()),
                folder,
                files,
                active,
                ..effect(Action::Move, to)
            };
            Proposed { effect, text: None, state: None }
        }
        Change::Delete { path, .. } => {
            let (folder, files) = size(vault, path);
            let effect = Effect { folder, files, ..effect(Action::Delete, path) };
            Proposed { effect, text: None, state: Some(state(vault, path)) }
        }
    };
    let shown = changes
        .iter()
        .filter(|change| !matches!(change, Change::Move { to, .. } if hidden.contains_key(to)));
    Proposal { title, changes: shown.map(one).collect(), whole: None }
}

/// The moves to hidden names, which free a path for another file: from hidden name to origin. Each
/// is shown as one move together with the one that leads on.
fn over_hidden_names<'a>(
    moves: impl Iterator<Item = (&'a VaultPath, &'a VaultPath)>,
) -> HashMap<&'a VaultPath, &'a VaultPath> {
    moves.filter(|(_, to)| is_temp_path(to)).map(|(from, to)| (to, from)).collect()
}

/// The proposal that an undo or a restoration makes, as the journal has planned it.
pub(super) fn preview<'a>(
    vault: &Vault,
    journal: &Journal,
    title: &'a str,
    steps: Vec<PreviewStep>,
) -> Proposal<'a> {
    let mut steps = steps;
    let moves = steps.iter().filter_map(|one| one.from.as_ref().map(|from| (from, &one.path)));
    let hidden: HashMap<VaultPath, VaultPath> = over_hidden_names(moves)
        .into_iter()
        .map(|(hidden, from)| (hidden.clone(), from.clone()))
        .collect();
    steps.retain(|one| one.from.is_none() || !hidden.contains_key(&one.path));
    for one in &mut steps {
        if let Some(first) = one.from.as_ref().and_then(|from| hidden.get(from)) {
            one.from = Some(first.clone());
        }
    }
    let changes = steps.into_iter().map(|one| proposed_step(vault, journal, one)).collect();
    Proposal { title, changes, whole: None }
}

fn proposed_step(vault: &Vault, journal: &Journal, one: PreviewStep) -> Proposed<'static> {
    // The links that follow are a part of it, like those of a move.
    let action = if one.follows { Action::Write } else { Action::Restore };
    let shown = match one.action {
        PreviewAction::Write | PreviewAction::BringBack => action,
        PreviewAction::Folder => Action::CreateFolder,
        PreviewAction::Move => Action::Move,
        PreviewAction::Delete | PreviewAction::RemoveFolder => Action::Delete,
    };
    let base = Effect { shown, was_gone: one.was_gone, ..effect(action, &one.path) };
    let effect = match one.action {
        PreviewAction::Write | PreviewAction::BringBack => Effect { folder: one.folder, ..base },
        PreviewAction::Folder | PreviewAction::RemoveFolder => Effect { files: 0, ..base },
        PreviewAction::Move => {
            let (folder, files) = one.from.as_ref().map_or((false, 1), |from| size(vault, from));
            Effect { from: one.from, folder, files, ..base }
        }
        PreviewAction::Delete => {
            let (folder, files) = size(vault, &one.path);
            Effect { folder, files, ..base }
        }
    };
    let old = one.old.and_then(|text| text.load(journal));
    let mut active = match (&effect.from, one.action) {
        (Some(from), PreviewAction::Move) if !effect.folder => renamed(vault, from, &one.path),
        _ => Vec::new(),
    };
    let (mut bytes, mut changed, mut text) = (0, 0, None);
    for (path, new) in &one.new {
        let Some(new) = new.load(journal) else {
            // A file that Obsidian renders and that cannot be read may contain anything.
            if Format::of(path).is_some() || one.folder {
                let text = format!("the text of `{path}`, which could not be read");
                active.push(Finding { line: 1, text });
            }
            continue;
        };
        bytes += new.len() as u64;
        changed += extent::changed(old.as_deref().unwrap_or_default(), &new);
        let within = if one.folder { format!(" (in `{path}`)") } else { String::new() };
        let found = added_content(old.as_deref().filter(|_| !one.folder), &new, path).into_iter();
        active.extend(found.map(|find| Finding { text: find.text + &within, ..find }));
        if !one.folder {
            text = Some((old.clone().map(Cow::Owned), new.into()));
        }
    }
    let files = if one.folder { one.new.len().max(effect.files) } else { effect.files };
    let deletes = matches!(one.action, PreviewAction::Delete);
    let state = deletes.then(|| state(vault, &effect.path));
    Proposed { effect: Effect { active, bytes, changed, files, ..effect }, text, state }
}

/// The active content of the new text of the file at `path` that the old text did not have.
fn added_content(old: Option<&[u8]>, new: &[u8], path: &VaultPath) -> Vec<Finding> {
    let Some(format) = Format::of(path) else { return Vec::new() };
    let old = old.map(String::from_utf8_lossy);
    active::added(old.as_deref().map(|old| (format, old)), (format, &String::from_utf8_lossy(new)))
}

/// The same for a file that Obsidian interprets differently under its new name.
fn renamed(vault: &Vault, from: &VaultPath, to: &VaultPath) -> Vec<Finding> {
    let (before, Some(after)) = (Format::of(from), Format::of(to)) else { return Vec::new() };
    if before == Some(after) {
        return Vec::new();
    }
    let Ok(file) = vault.read(from) else {
        let text = format!("the text of `{from}`, which could not be read");
        return vec![Finding { line: 1, text }];
    };
    let text = String::from_utf8_lossy(&file.bytes);
    active::added(before.map(|before| (before, &*text)), (after, &text))
}

/// A hash of the metadata of every file at or below `path`.
fn state(vault: &Vault, path: &VaultPath) -> blake3::Hash {
    let mut hash = blake3::Hasher::new();
    let mut add = |path: &VaultPath| {
        let found =
            vault.stat(path).map(|meta| (meta.kind, meta.size, meta.modified, meta.changed));
        hash.update(format!("{path}\0{:?}\0", found.ok()).as_bytes());
    };
    add(path);
    let visible = vault.catalogue();
    let whole: &Catalogue = &visible;
    let within = whole.within(path).filter(|entry| entry.kind == Kind::File);
    let mut files: Vec<VaultPath> = within.map(|entry| entry.path().to_path()).collect();
    files.sort_unstable();
    files.iter().for_each(add);
    hash.finalize()
}

fn effect(action: Action, path: &VaultPath) -> Effect {
    Effect {
        action,
        shown: action,
        path: path.clone(),
        from: None,
        folder: false,
        files: 1,
        bytes: 0,
        changed: 0,
        was_gone: false,
        active: Vec::new(),
    }
}

/// Whether `path` is a folder, and how many files it is or contains, including those hidden from
/// the caller.
fn size(vault: &Vault, path: &VaultPath) -> (bool, usize) {
    let found = vault.stat(path).map(|meta| meta.kind);
    let visible = vault.catalogue();
    let whole: &Catalogue = &visible;
    let kind = match found {
        Ok(kind) => Some(kind),
        Err(error) if error.is_absence() => None,
        // A file that cannot be read right now is counted as in the catalogue.
        Err(_) => whole.get(path.as_str()).map(|entry| entry.kind),
    };
    if kind != Some(Kind::Folder) {
        return (false, 1);
    }
    (true, whole.within(path).filter(|entry| entry.kind == Kind::File).count())
}
