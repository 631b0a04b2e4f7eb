//! What a tool is given.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::clock::Clock;
use super::conversations::ConversationView;
use super::host::Host;
use crate::edits::{Editor, Gate};
use crate::index::{Index, search};
use crate::journal::{Journal, Origin};
use crate::vault::{Cancel, Vault};

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
    /// What makes changes in the caller's name.
    pub(super) fn editor(&self) -> Editor<'_> {
        Editor {
            vault: &self.vault,
            journal: &self.journal,
            index: &self.index,
            gate: self.gate.as_deref(),
            origin: &self.origin,
            cancel: &self.cancel,
        }
    }
}
