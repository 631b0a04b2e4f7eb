//! What a call is about to change, shown to whoever decides before it is done.

use std::borrow::Cow;
use std::fmt;

use crate::journal::{Change, ChangeSetId, Journal, JournalError, Prospect, Prospected};
use crate::note::path::VaultPath;
use crate::note::{diff, extent};
use crate::policy::{Action, Effect, Refusal, remote};
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
}

/// Of a file that is written, the bytes that are there, if any, and the new ones.
type Bytes<'a> = (Option<Cow<'a, [u8]>>, Cow<'a, [u8]>);

impl Proposed<'_> {
    /// The change of its text as a unified diff; empty where it changes none.
    pub fn diff(&self) -> String {
        let Some((old, new)) = &self.text else { return String::new() };
        diff::unified(old.as_deref().unwrap_or_default(), new, self.effect.path.as_str())
    }

    /// The old text, none for a new file, and the new one, where both are text and not too long.
    pub fn texts(&self, most: usize) -> Option<(Option<&str>, &str)> {
        let (old, new) = self.text.as_ref()?;
        let old = old.as_deref().map(std::str::from_utf8).transpose().ok()?;
        let new = std::str::from_utf8(new).ok()?;
        (old.map_or(0, str::len) + new.len() <= most).then_some((old, new))
    }

    /// What tells this change from any other: the same only if the same would be done to the same.
    pub fn identity(&self, hash: &mut blake3::Hasher) {
        hash.update(format!("{:?}", self.effect).as_bytes());
        if let Some((old, new)) = &self.text {
            hash.update(blake3::hash(old.as_deref().unwrap_or_default()).as_bytes());
            hash.update(blake3::hash(new).as_bytes());
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
            let before = old.as_deref().unwrap_or_default();
            let text = String::from_utf8_lossy;
            let effect = Effect {
                bytes: content.len() as u64,
                changed: extent::changed(before, content),
                remote: remote::added(&text(before), &text(content)),
                ..effect(Action::Write, path)
            };
            Proposed { effect, text: Some((old, content.into())) }
        }
        Change::CreateFolder { path } => {
            let effect = Effect { files: 0, ..effect(Action::CreateFolder, path) };
            Proposed { effect, text: None }
        }
        Change::Move { from, to } => {
            let (folder, files) = size(vault, from);
            let effect =
                Effect { from: Some(from.clone()), folder, files, ..effect(Action::Move, to) };
            Proposed { effect, text: None }
        }
        Change::Delete { path, .. } => {
            let (folder, files) = size(vault, path);
            let effect = Effect { folder, files, ..effect(Action::Delete, path) };
            Proposed { effect, text: None }
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
    let base = Effect { shown, ..effect(action, &one.path) };
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
    let before = old.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    let (mut remote, mut bytes, mut changed, mut text) = (None, 0, 0, None);
    for (path, new) in &one.new {
        let Some(new) = new.load(journal) else {
            // What Obsidian would show and nobody could look at may hold anything.
            if remote.is_none() && (path.is_note() || one.folder) {
                remote = Some("a text that could not be looked at".to_owned());
            }
            continue;
        };
        bytes += new.len() as u64;
        changed += extent::changed(old.as_deref().unwrap_or_default(), &new);
        remote = remote.or_else(|| remote::added(&before, &String::from_utf8_lossy(&new)));
        if !one.folder {
            text = Some((old.clone().map(Cow::Owned), new.into()));
        }
    }
    let files = if one.folder { one.new.len().max(effect.files) } else { effect.files };
    Proposed { effect: Effect { remote, bytes, changed, files, ..effect }, text }
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
        remote: None,
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
