//! What a call is about to change, shown to whoever decides before it is done.

use std::borrow::Cow;
use std::fmt;

use crate::journal::{Change, ChangeSetId, Journal, JournalError, Prospect, Prospected};
use crate::note::extent;
use crate::note::path::VaultPath;
use crate::policy::active::{self, Find, Format};
use crate::policy::{Action, Effect, Refusal};
use crate::vault::{Before, Catalogue, Kind, Vault};

/// Decides on changes at the moment they are to be made, on the paths on which they would be.
pub trait Gate: Send + Sync + fmt::Debug {
    /// Looks at what is about to be done.
    ///
    /// # Errors
    /// Why it is not done.
    fn check(&self, proposal: &Proposal) -> Result<(), Refusal>;

    /// The journal has refused it as more than one turn may change; nothing was done.
    fn limited(&self, proposal: &Proposal, limit: &JournalError);

    /// It was done, as this change set.
    fn applied(&self, change_set: ChangeSetId);
}

/// What a call is about to do.
#[derive(Debug)]
pub struct Proposal<'a> {
    /// What it does, for people.
    pub title: &'a str,
    pub changes: Vec<Proposed<'a>>,
}

/// One change that is about to be made.
#[derive(Debug)]
pub struct Proposed<'a> {
    /// What it does to what.
    pub effect: Effect,
    text: Option<Bytes<'a>>,
    /// Of what is deleted, what it is and holds at this moment.
    state: Option<blake3::Hash>,
}

/// Of a file that is written, the bytes that are there, if any, and the new ones.
type Bytes<'a> = (Option<Cow<'a, [u8]>>, Cow<'a, [u8]>);

impl Proposed<'_> {
    /// Its text before and after, where it is a file that is written.
    pub fn content(&self) -> Option<(&[u8], &[u8])> {
        let (old, new) = self.text.as_ref()?;
        Some((old.as_deref().unwrap_or_default(), new))
    }

    /// Whether it is a file that was not there.
    pub fn is_new(&self) -> bool {
        matches!(&self.text, Some((None, _)))
    }

    /// What tells this change from any other: the same only if the same would be done to the same.
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

/// What these changes would do.
pub(super) fn changes<'a>(vault: &Vault, title: &'a str, changes: &'a [Change]) -> Proposal<'a> {
    let one = |change: &'a Change| match change {
        Change::Write { path, content, before } => {
            let old: Option<Cow<'a, [u8]>> = match before {
                Before::Read(read) => Some(Cow::Borrowed(&read.bytes)),
                _ => vault.read(path).ok().map(|file| file.bytes.into()),
            };
            let effect = Effect {
                bytes: content.len() as u64,
                changed: extent::changed(old.as_deref().unwrap_or_default(), content),
                active: added(old.as_deref(), content, path),
                ..effect(Action::Write, path)
            };
            Proposed { effect, text: Some((old, content.into())), state: None }
        }
        Change::CreateFolder { path } => {
            let effect = Effect { files: 0, ..effect(Action::CreateFolder, path) };
            Proposed { effect, text: None, state: None }
        }
        Change::Move { from, to } => {
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
    Proposal { title, changes: changes.iter().map(one).collect() }
}

/// What an undo or a restoration would do, as the journal has planned it.
pub(super) fn prospects<'a>(
    vault: &Vault,
    journal: &Journal,
    title: &'a str,
    prospects: Vec<Prospect>,
) -> Proposal<'a> {
    let changes = prospects.into_iter().map(|one| prospect(vault, journal, one)).collect();
    Proposal { title, changes }
}

fn prospect(vault: &Vault, journal: &Journal, one: Prospect) -> Proposed<'static> {
    // The links that follow are a part of it, like those of a move.
    let action = if one.follows { Action::Write } else { Action::Restore };
    let shown = match one.deed {
        Prospected::Write | Prospected::BringBack => action,
        Prospected::Folder => Action::CreateFolder,
        Prospected::Move => Action::Move,
        Prospected::Delete | Prospected::RemoveFolder => Action::Delete,
    };
    let base = Effect { shown, was_gone: one.was_gone, ..effect(action, &one.path) };
    let effect = match one.deed {
        Prospected::Write | Prospected::BringBack => Effect { folder: one.folder, ..base },
        Prospected::Folder | Prospected::RemoveFolder => Effect { files: 0, ..base },
        Prospected::Move => {
            let (folder, files) = one.from.as_ref().map_or((false, 1), |from| size(vault, from));
            Effect { from: one.from, folder, files, ..base }
        }
        Prospected::Delete => {
            let (folder, files) = size(vault, &one.path);
            Effect { folder, files, ..base }
        }
    };
    let old = one.old.and_then(|text| text.load(journal));
    let mut active = match (&effect.from, one.deed) {
        (Some(from), Prospected::Move) if !effect.folder => renamed(vault, from, &one.path),
        _ => Vec::new(),
    };
    let (mut bytes, mut changed, mut text) = (0, 0, None);
    for (path, new) in &one.new {
        let Some(new) = new.load(journal) else {
            // What Obsidian would show and nobody could look at may hold anything.
            if Format::of(path).is_some() || one.folder {
                let text = format!("the text of `{path}`, which could not be looked at");
                active.push(Find { line: 1, text });
            }
            continue;
        };
        bytes += new.len() as u64;
        changed += extent::changed(old.as_deref().unwrap_or_default(), &new);
        let within = match one.folder {
            true => format!(" (in `{path}`)"),
            false => String::new(),
        };
        let found = added(old.as_deref().filter(|_| !one.folder), &new, path).into_iter();
        active.extend(found.map(|find| Find { text: find.text + &within, ..find }));
        if !one.folder {
            text = Some((old.clone().map(Cow::Owned), new.into()));
        }
    }
    let files = if one.folder { one.new.len().max(effect.files) } else { effect.files };
    let deletes = matches!(one.deed, Prospected::Delete);
    let state = deletes.then(|| state(vault, &effect.path));
    Proposed { effect: Effect { active, bytes, changed, files, ..effect }, text, state }
}

/// What the new text of the file at `path` loads or runs by itself that the old one did not.
fn added(old: Option<&[u8]>, new: &[u8], path: &VaultPath) -> Vec<Find> {
    let Some(format) = Format::of(path) else { return Vec::new() };
    let old = old.map(String::from_utf8_lossy);
    active::added(old.as_deref().map(|old| (format, old)), (format, &String::from_utf8_lossy(new)))
}

/// The same of a file whose new name has Obsidian read it in another way.
fn renamed(vault: &Vault, from: &VaultPath, to: &VaultPath) -> Vec<Find> {
    let (before, Some(after)) = (Format::of(from), Format::of(to)) else { return Vec::new() };
    if before == Some(after) {
        return Vec::new();
    }
    let Ok(file) = vault.read(from) else {
        let text = format!("the text of `{from}`, which could not be looked at");
        return vec![Find { line: 1, text }];
    };
    let text = String::from_utf8_lossy(&file.bytes);
    active::added(before.map(|before| (before, &*text)), (after, &text))
}

/// What is at `path` at this moment: of every file in it, what changes when the file does.
fn state(vault: &Vault, path: &VaultPath) -> blake3::Hash {
    let mut hash = blake3::Hasher::new();
    let mut add = |path: &VaultPath| {
        let found =
            vault.stat(path).map(|meta| (meta.kind, meta.size, meta.modified, meta.changed));
        hash.update(format!("{path}\0{:?}\0", found.ok()).as_bytes());
    };
    add(path);
    let seen = vault.catalogue();
    let whole: &Catalogue = &seen;
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

/// Whether it is a folder, and the files that it is or holds. Counts what cannot be seen too.
fn size(vault: &Vault, path: &VaultPath) -> (bool, usize) {
    let found = vault.stat(path).map(|meta| meta.kind);
    let seen = vault.catalogue();
    let whole: &Catalogue = &seen;
    let kind = match found {
        Ok(kind) => Some(kind),
        Err(error) if error.is_absence() => None,
        // What cannot be looked at for a moment is what it was.
        Err(_) => whole.get(path.as_str()).map(|entry| entry.kind),
    };
    if kind != Some(Kind::Folder) {
        return (false, 1);
    }
    (true, whole.within(path).filter(|entry| entry.kind == Kind::File).count())
}
