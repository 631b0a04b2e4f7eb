//! What every tool shares: what it is given, what it answers, how it fails.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::clock::Clock;
use super::conversations::ConversationView;
use super::facts::Facts;
use super::gate::{self, Gate};
use super::history;
use super::host::Host;
use super::relink::{self, Relinked};
use super::since::Since;
use crate::index::{Index, search};
use crate::journal::{
    Applied, Change, ChangeSet, Follow, Journal, JournalError, Origin, Restored, Review, Target,
    TrashItem, UndoError, Undone,
};
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::vault::{Cancel, Vault, VaultError};

/// How the tools behave; a section of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Limits of text search.
    pub search: search::Settings,
}

/// What a tool works on.
#[derive(Debug, Clone)]
pub struct Context {
    /// The vault, to look at.
    pub vault: Vault,
    /// The way to change it.
    pub journal: Journal,
    /// What is kept about it beside its catalogue.
    pub index: Index,
    /// Limits.
    pub settings: Settings,
    /// Characters of text that the caller takes.
    pub room: usize,
    /// Set when the caller does not want the answer any more.
    pub cancel: Cancel,
    /// Who calls.
    pub origin: Origin,
    /// What time it is.
    pub clock: Clock,
    /// Decides on changes before they are made; without it all are.
    pub gate: Option<Arc<dyn Gate>>,
    /// What was said in conversations, where they are kept.
    pub conversations: Option<Arc<dyn ConversationView>>,
    /// The program that has the vault open, where one could be.
    pub host: Option<Arc<dyn Host>>,
}

impl Context {
    /// Applies changes that go together, in the caller's name.
    pub(super) fn apply(&self, title: String, changes: Vec<Change>) -> Result<Applied, ToolError> {
        Ok(self.try_apply(title, changes)??)
    }

    /// The same, with the journal's own error inside that of the gate.
    pub(super) fn try_apply(
        &self,
        title: String,
        changes: Vec<Change>,
    ) -> Result<Result<Applied, JournalError>, ToolError> {
        let set = ChangeSet { title, changes };
        let Some(gate) = &self.gate else { return Ok(self.journal.apply(&set, &self.origin)) };
        let proposal = gate::changes(self, &set.title, &set.changes);
        gate.check(&proposal)?;
        let applied = self.journal.apply(&set, &self.origin);
        match &applied {
            Ok(applied) => gate.applied(applied.change_set),
            Err(limit @ JournalError::Limit { .. }) => gate.limited(&proposal, limit),
            Err(_) => {}
        }
        Ok(applied)
    }

    /// Takes a change set or one change back, in the caller's name, and lets links follow.
    pub(super) fn undo(
        &self,
        target: Target,
        force: bool,
    ) -> Result<(Undone, Relinked), ToolError> {
        // What stands in the way is told with its text, so it is only looked for where it may be
        // seen.
        let set = self.journal.change_set(target.set())?;
        if set.as_ref().is_some_and(|set| !history::is_seen(self, set)) {
            return Err(UndoError::Unknown(target).into());
        }
        let since = set.map(|set| Since::undone(target, &set));
        let run = |follow: Follow<'_>, review: Review<'_>| {
            self.journal.undo_with(target, force, &self.origin, follow, review)
        };
        self.reviewed(&format!("undo {target}"), since, run, |done| &done.applied)
    }

    /// Brings a deleted thing back, in the caller's name, and lets links follow.
    pub(super) fn restore(
        &self,
        item: &TrashItem,
        to: Option<&VaultPath>,
    ) -> Result<(Restored, Relinked), ToolError> {
        let place = to.or(item.was.as_ref()).cloned().unwrap_or_else(VaultPath::root);
        let run = |follow: Follow<'_>, review: Review<'_>| {
            self.journal.restore_with(&item.id, to, &self.origin, follow, review)
        };
        let set = match item.change {
            Some(change) => self.journal.change_set(change.set)?,
            None => None,
        };
        let since = Since::deleted(item, set.as_ref());
        self.reviewed(&format!("restore `{place}`"), since, run, |done| &done.applied)
    }

    /// Runs an undo or a restoration whose plan, with the texts that follow, is judged like any
    /// other change before anything is done.
    fn reviewed<T>(
        &self,
        title: &str,
        since: Option<Since>,
        mut run: impl FnMut(Follow<'_>, Review<'_>) -> Result<T, UndoError>,
        applied: impl FnOnce(&T) -> &Applied,
    ) -> Result<(T, Relinked), ToolError> {
        let (mut proposal, mut refused) = (None, None);
        let done = relink::following(self, since, |follow| {
            run(follow, &mut |prospects| {
                let Some(gate) = &self.gate else { return true };
                let proposed = proposal.insert(gate::prospects(self, title, prospects));
                refused = gate.check(proposed).err();
                refused.is_none()
            })
        });
        if let (Some(gate), Some(proposal)) = (&self.gate, &proposal) {
            match &done {
                Ok((done, _)) => gate.applied(applied(done).change_set),
                Err(UndoError::Journal(limit @ JournalError::Limit { .. })) => {
                    gate.limited(proposal, limit);
                }
                Err(_) => {}
            }
        }
        match (done, refused) {
            (Err(UndoError::Refused), Some(refused)) => Err(refused),
            (done, _) => Ok(done?),
        }
    }
}

/// How much a tool can do, from which its permission follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Reads.
    Safe,
    /// Changes something that exists, so that it can be undone.
    Cautious,
    /// Moves, deletes, changes much at once.
    Dangerous,
}

/// One tool. The type is only a name for its four parts.
pub trait Tool {
    /// What callers call it: snake_case, a verb first.
    const NAME: &'static str;
    /// For people: "Read a file".
    const TITLE: &'static str;
    /// How much it can do.
    const TIER: Tier;
    /// Whether a second call with the same input changes nothing more.
    const IDEMPOTENT: bool;
    /// Whether it may take long and waits its turn among its like.
    const HEAVY: bool = false;
    /// Whether it has mostly done its work in far less than a millisecond, so that it is tried at a
    /// glance first: where it was asked for, by a thread that must not wait.
    const QUICK: bool = false;
    /// Whether it is only there while Obsidian is connected.
    const NEEDS_HOST: bool = false;
    /// Its arguments; the doc comments are what a model reads.
    type Input: DeserializeOwned + JsonSchema;
    /// Its answer's facts.
    type Output: Serialize + JsonSchema;

    /// Does it.
    ///
    /// # Errors
    /// What the caller may mend.
    fn run(context: &Context, input: Self::Input) -> Result<Answer<Self::Output>, ToolError>;
}

/// An answer with its two faces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<T> {
    /// For a model or a person, sized for a context window.
    pub text: String,
    /// The same facts for programs.
    pub data: T,
}

impl Answer<Facts> {
    /// The same with the facts as a value, for whoever looks into them.
    pub fn read(self) -> Answer<Value> {
        Answer { data: self.data.value(), text: self.text }
    }
}

/// A failure that goes back to the caller, who may mend it. One shape for all tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The stable word.
    pub code: ErrorCode,
    /// What went wrong, with the real names in it.
    pub message: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The facts for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl ToolError {
    /// An error with a hint and no data.
    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: Some(hint.into()), data: None }
    }

    /// The error as one text: the message, and the hint on a line of its own.
    pub fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\nhint: {hint}", self.message),
            None => self.message.clone(),
        }
    }
}

impl From<VaultError> for ToolError {
    fn from(error: VaultError) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            hint: error.hint(),
            data: error.data(),
        }
    }
}

impl From<JournalError> for ToolError {
    fn from(error: JournalError) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            hint: error.hint(),
            data: error.data(),
        }
    }
}

/// Characters of a difference that an error shows; the facts have all of it.
const MAX_SHOWN_DIFF: usize = 4000;

impl From<UndoError> for ToolError {
    fn from(error: UndoError) -> Self {
        let mut hint = error.hint();
        if let (UndoError::Changed { diff, .. }, Some(hint)) = (&error, &mut hint) {
            // To decide about `force` one has to see what it would undo.
            let shown: String = diff.chars().take(MAX_SHOWN_DIFF).collect();
            *hint = format!("{hint}\n{}", shown.trim_end());
        }
        Self { code: error.code(), message: error.to_string(), hint, data: error.data() }
    }
}
