//! What a call is about to change, shown to whoever decides before it is done.

use std::fmt;

use crate::journal::{
    Action as Was, Change, ChangeSetId, Difference, JournalError, ListedChange, Target,
};
use crate::note::diff;
use crate::note::path::VaultPath;
use crate::policy::{Action, Effect, remote};
use crate::vault::Kind;

use super::{Context, ToolError};

/// Decides on changes at the moment they are to be made, on the paths on which they would be.
pub trait Gate: Send + Sync + fmt::Debug {
    /// Looks at what is about to be done; nothing is done on an error.
    ///
    /// # Errors
    /// What the caller is told instead.
    fn check(&self, proposal: &Proposal) -> Result<(), ToolError>;

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
    /// Its changes.
    pub changes: Vec<Proposed<'a>>,
}

/// One change that is about to be made.
#[derive(Debug)]
pub struct Proposed<'a> {
    /// What it does to what.
    pub effect: Effect,
    text: Text<'a>,
}

#[derive(Debug)]
enum Text<'a> {
    None,
    Whole { old: Option<Vec<u8>>, new: &'a [u8] },
    Diff(String),
}

impl Proposed<'_> {
    /// The change of its text as a unified diff; empty where it changes none.
    pub fn diff(&self) -> String {
        match &self.text {
            Text::None => String::new(),
            Text::Whole { old, new } => {
                diff::unified(old.as_deref().unwrap_or_default(), new, self.effect.path.as_str())
            }
            Text::Diff(diff) => diff.clone(),
        }
    }

    /// The old text, none for a new file, and the new one, where both are text and not too long.
    pub fn texts(&self, most: usize) -> Option<(Option<&str>, &str)> {
        let Text::Whole { old, new } = &self.text else { return None };
        let old = old.as_deref().map(std::str::from_utf8).transpose().ok()?;
        let new = std::str::from_utf8(new).ok()?;
        (old.map_or(0, str::len) + new.len() <= most).then_some((old, new))
    }

    /// What tells this change from any other: the same only if the same would be done to the same.
    pub fn identity(&self, hash: &mut blake3::Hasher) {
        hash.update(format!("{:?}", self.effect).as_bytes());
        match &self.text {
            Text::None => {}
            Text::Whole { old, new } => {
                hash.update(blake3::hash(old.as_deref().unwrap_or_default()).as_bytes());
                hash.update(blake3::hash(new).as_bytes());
            }
            Text::Diff(diff) => {
                hash.update(diff.as_bytes());
            }
        }
    }
}

/// What these changes would do.
pub(super) fn changes<'a>(
    context: &Context,
    title: &'a str,
    changes: &'a [Change],
) -> Proposal<'a> {
    let one = |change: &'a Change| match change {
        Change::Write { path, content, .. } => {
            let old = context.vault.read(path).ok().map(|file| file.bytes);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let before = old.as_deref().map(text).unwrap_or_default();
            let effect = Effect {
                bytes: content.len() as u64,
                remote: remote::added(&before, &text(content)),
                ..effect(Action::Write, path)
            };
            Proposed { effect, text: Text::Whole { old, new: content } }
        }
        Change::CreateFolder { path } => Proposed {
            effect: Effect { files: 0, ..effect(Action::CreateFolder, path) },
            text: Text::None,
        },
        Change::Move { from, to } => {
            let (folder, files) = size(context, from);
            let effect =
                Effect { from: Some(from.clone()), folder, files, ..effect(Action::Move, to) };
            Proposed { effect, text: Text::None }
        }
        Change::Delete { path, .. } => {
            let (folder, files) = size(context, path);
            let effect = Effect { folder, files, ..effect(Action::Delete, path) };
            Proposed { effect, text: Text::None }
        }
    };
    Proposal { title, changes: changes.iter().map(one).collect() }
}

/// What taking `target` back would do, as far as the journal tells.
pub(super) fn undoing<'a>(context: &Context, title: &'a str, target: Target) -> Proposal<'a> {
    let set = context.journal.change_set(target.set()).ok().flatten();
    let meant = |change: &ListedChange| match target {
        Target::Set(_) => true,
        Target::Change(id) => change.id == id,
    };
    let changes = set.into_iter().flat_map(|set| set.changes).filter(meant).map(|change| {
        let diff = match context.journal.diff(change.id) {
            Ok(Difference::Text(diff)) => Text::Diff(reversed(&diff)),
            _ => Text::None,
        };
        let effect = match (change.action, change.from) {
            (Was::Moved, Some(from)) => {
                let (folder, files) = size(context, &change.path);
                Effect { from: Some(change.path), folder, files, ..effect(Action::Restore, &from) }
            }
            _ => effect(Action::Restore, &change.path),
        };
        Proposed { effect, text: diff }
    });
    Proposal { title, changes: changes.collect() }
}

/// What bringing something back to `path` would do.
pub(super) fn restoring<'a>(title: &'a str, path: &VaultPath) -> Proposal<'a> {
    let change = Proposed { effect: effect(Action::Restore, path), text: Text::None };
    Proposal { title, changes: vec![change] }
}

fn effect(action: Action, path: &VaultPath) -> Effect {
    Effect {
        action,
        path: path.clone(),
        from: None,
        folder: false,
        files: 1,
        bytes: 0,
        remote: None,
    }
}

/// Whether it is a folder, and the files that it is or holds. Counts what cannot be seen too.
fn size(context: &Context, path: &VaultPath) -> (bool, usize) {
    let folder = context.vault.stat(path).is_ok_and(|meta| meta.kind == Kind::Folder);
    if !folder {
        return (false, 1);
    }
    let seen = context.vault.catalogue();
    let whole: &crate::vault::Catalogue = &seen;
    (true, whole.within(path).filter(|entry| entry.kind == Kind::File).count())
}

/// The diff the other way round.
fn reversed(diff: &str) -> String {
    let turned = diff.lines().map(|line| match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => line.to_owned(),
        [b'+', ..] => format!("-{}", &line[1..]),
        [b'-', ..] => format!("+{}", &line[1..]),
        _ => line.to_owned(),
    });
    turned.collect::<Vec<_>>().join("\n")
}
