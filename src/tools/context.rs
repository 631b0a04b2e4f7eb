//! The context of a tool call.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::clock::Clock;
use super::conversations::ConversationView;
use super::error::ToolError;
use super::host::Host;
use super::organize_events::Listeners;
use super::running_jobs::RunningJobs;
use crate::edits::{Editor, Gate};
use crate::index::names::NameContext;
use crate::index::properties::VaultSnapshot;
use crate::index::{Index, search};
use crate::journal::{Journal, Origin};
use crate::note::code::ErrorCode;
use crate::note::fold::fold_key;
use crate::note::markdown;
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::organize;
use crate::policy::Permission;
use crate::vault::{Cancel, ResolvedEntry, Vault, VaultError, Want};

/// The settings of tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    pub search: search::Settings,
    pub organize: organize::Settings,
    /// The folder of the person's own prompts; empty: none.
    pub prompts_folder: String,
}

#[derive(Debug, Clone)]
pub struct Context {
    pub vault: Vault,
    pub journal: Journal,
    pub index: Index,
    pub settings: Settings,
    /// The most characters of text for the caller.
    pub max_chars: usize,
    /// Set when the caller cancels.
    pub cancel: Cancel,
    pub origin: Origin,
    /// The enabled rules that make the call; empty for other callers.
    pub rules: Vec<i64>,
    pub most: Permission,
    pub clock: Clock,
    /// Decides on changes before they are made; without it all are allowed.
    pub gate: Option<Arc<dyn Gate>>,
    pub conversations: Option<Arc<dyn ConversationView>>,
    /// The program that has the vault open, if one can connect.
    pub host: Option<Arc<dyn Host>>,
    pub listeners: Listeners,
    /// The registry by which any client stops a job.
    pub running_jobs: RunningJobs,
}

impl Context {
    /// A snapshot of the vault in the caller's view, with times in UTC.
    pub(super) fn snapshot(&self) -> Result<VaultSnapshot<'_>, ToolError> {
        let snapshot = self.index.properties.snapshot(&self.vault, &self.index.links, &self.cancel);
        snapshot.map_err(|_| ToolError::cancelled())
    }

    pub(super) fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() { Err(ToolError::cancelled()) } else { Ok(()) }
    }

    /// Resolves a path, or the name of a note in any folder.
    pub fn find(&self, requested: &str, want: Want) -> Result<ResolvedEntry, VaultError> {
        self.index.names.resolve(self.name_context(), requested, want)
    }

    /// Resolves the file or folder to move or delete. The path of a deleted file never names another file,
    /// so that a repeated call affects one file and not two. Names and aliases must match except for case:
    /// similar names are not accepted.
    ///
    /// # Errors
    /// As [`Self::find`]; [`ErrorCode::AmbiguousPath`] with similar names; the trash cannot be read.
    pub(super) fn resolve_to_modify(&self, requested: &str) -> Result<ResolvedEntry, ToolError> {
        let path = match self.vault.resolve(requested, Want::Entry) {
            Err(VaultError::NotFound { path, .. }) => path,
            other => return Ok(other?),
        };
        let found = self.find(requested, Want::Entry)?;
        let (key, note) = (path.fold_key(), format!("{path}.md"));
        let note = VaultPath::from_disk(&note).map(|note| note.fold_key());
        let was_there = |was: &VaultPath| {
            let was_key = was.fold_key();
            self.vault.view().shows(was) && (was_key == key || Some(was_key) == note)
        };
        match self
            .journal
            .trash()
            .list()?
            .iter()
            .filter_map(|item| item.was.as_ref())
            .any(was_there)
        {
            true => Err(VaultError::NotFound { path, near: vec![found.path] }.into()),
            false if has_exact_name(&self.vault, &path, &found.path) => Ok(found),
            false => Err(only_sounds_alike(&path, &found.path)),
        }
    }

    /// The existing notes that have the name of a new one.
    pub(super) fn answering(&self, path: &VaultPath, want: Want) -> Vec<VaultPath> {
        self.index.names.answering(self.name_context(), path, want)
    }

    /// The notes with an alias that may begin with the typed text.
    pub fn aliases_with_prefix(&self, typed: &str) -> Vec<VaultPath> {
        self.index.names.aliases_with_prefix(self.name_context(), typed)
    }

    pub(super) fn name_context(&self) -> NameContext<'_> {
        NameContext { vault: &self.vault, now: self.clock.now(), cancel: &self.cancel }
    }

    /// The editor that makes changes on behalf of the caller.
    pub(super) fn editor(&self) -> Editor<'_> {
        Editor {
            vault: &self.vault,
            journal: &self.journal,
            index: &self.index,
            gate: self.gate.as_deref(),
            origin: &self.origin,
            cancel: &self.cancel,
            whole: None,
            progress: &(),
        }
    }
}

/// Whether a bare name equals the name or an alias of the file, ignoring case.
fn has_exact_name(vault: &Vault, requested: &VaultPath, found: &VaultPath) -> bool {
    // A path with folders would have been resolved as one.
    if requested.as_str().contains('/') {
        return false;
    }
    let key = fold_key(requested.name());
    if [found.name(), found.borrowed().stem()].iter().any(|name| fold_key(name) == key) {
        return true;
    }
    if !found.is_note() {
        return false;
    }
    let Ok(content) = vault.read(found) else { return false };
    let Ok(text) = Text::decode(&content.bytes, found.name()) else { return false };
    let frontmatter = markdown::read(text.body()).frontmatter;
    frontmatter.is_some_and(|it| it.aliases().iter().any(|name| fold_key(name) == key))
}

fn only_sounds_alike(requested: &VaultPath, found: &VaultPath) -> ToolError {
    ToolError {
        data: Some(json!({ "did_you_mean": [found.as_str()] })),
        ..ToolError::new(
            ErrorCode::AmbiguousPath,
            format!(
                "`{requested}` does not exist, and `{found}` only sounds like it; nothing was done"
            ),
            format!("did you mean `{found}`? Then give that path"),
        )
    }
}
