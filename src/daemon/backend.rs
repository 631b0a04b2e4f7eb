//! The tools and the vault as the local door shows them: the one place where their types become
//! those of the wire.

use std::sync::Arc;

use serde_json::Value;

use super::conversations::KeptConversations;
use super::models::ChosenModels;
use super::talk::Talk;
use super::voice::Voice;
use super::{asking, complete, diff, export, host, inbox, keeping, memory, model_list, settings};
use crate::agent::toolbox::turn_name;
use crate::calls::Calls;
use crate::config::live::Live;
use crate::journal::{ListedChange, ListedSet, SetKind};
use crate::policy::Scope;
use crate::protocol::complete::{CompleteParams, CompleteResult};
use crate::protocol::conversations::{ExportConversationParams, ExportConversationResult};
use crate::protocol::diff::{DiffParams, DiffResult};
use crate::protocol::error::ErrorObject;
use crate::protocol::events::{ChangeInfo, ChangeSetInfo, ChangedKind, EntryKind};
use crate::protocol::host::{HostRequestParams, HostRequestResult};
use crate::protocol::inbox::{
    InboxDiscardParams, InboxListParams, InboxListResult, InboxResult, InboxRetryParams,
    SmartHoleState,
};
use crate::protocol::keeping::{
    JournalGcParams, JournalGcResult, JournalVerifyResult, TrashEmptyParams, TrashEmptyResult,
};
use crate::protocol::models::{ModelsParams, ModelsResult};
use crate::protocol::policy::{
    ApprovalsParams, ApprovalsResult, AuditParams, AuditResult, ModeParams, ModeResult,
};
use crate::protocol::session::{
    SessionCancelParams, SessionNewParams, SessionNewResult, SessionPromptParams,
    SessionPromptResult,
};
use crate::protocol::settings::{SettingsGetResult, SettingsSetResult};
use crate::protocol::status::{
    Confinement, MemoryState, SettingsState, VaultState, Watching as Shown,
};
use crate::protocol::tools::{Tool, ToolAnnotations, ToolsListResult};
use crate::server::backend::{Backend, ConversationsBackend, Hosts, Later, Speaker};
use crate::server::events::Event;
use crate::tools::{self, Definition, Tier};
use crate::vault::{Abilities, Cancel, ChangeKind, Kind, VaultChange, Watching};

/// The tools of one vault, for the server.
pub struct VaultBackend {
    calls: Calls,
    talk: Arc<Talk>,
    live: Arc<Live>,
    models: ChosenModels,
    confinement: Confinement,
    folder: String,
    conversations: KeptConversations,
    /// What this file system cannot do, and what was found at the start, for `status`.
    reduced: Vec<String>,
    /// What comes by voice, where that is listened to.
    voice: Option<Arc<Voice>>,
}

impl VaultBackend {
    /// Opens the door onto what `context` works on. Finds out what the vault's file system can do,
    /// with two short-lived files, so it may block.
    pub fn new(
        calls: Calls,
        talk: Arc<Talk>,
        live: Arc<Live>,
        models: ChosenModels,
        confinement: Confinement,
    ) -> Self {
        let context = calls.context();
        let folder = context.vault.root().to_string_lossy().into_owned();
        let reduced = reduced(context.vault.abilities());
        reduced.iter().for_each(|warning| tracing::warn!("{warning}"));
        let conversations = KeptConversations::new(talk.conversations().clone(), folder.clone())
            .with_journal(context.journal.clone());
        Self { voice: None, calls, talk, live, models, confinement, folder, conversations, reduced }
    }

    /// Shows what comes by voice as well.
    pub fn hear(&mut self, voice: Arc<Voice>) {
        self.voice = Some(voice);
    }

    /// Has a message that a person moved be seen, and worked on where it is to be.
    fn moved(&self, moved: InboxResult) -> InboxResult {
        if let (Some(voice), Ok(number)) = (&self.voice, i64::try_from(moved.message.id)) {
            voice.tell_of(number);
            voice.try_again();
        }
        moved
    }

    /// Has `status` say this as well.
    pub fn warn(&mut self, warnings: impl IntoIterator<Item = String>) {
        self.reduced.extend(warnings);
    }
}

impl Backend for VaultBackend {
    fn name(&self) -> &str {
        self.calls.context().vault.name()
    }

    fn tools(&self) -> ToolsListResult {
        ToolsListResult { tools: tools::offered(self.calls.context()).map(shown).collect() }
    }

    fn new_session(
        &self,
        params: SessionNewParams,
        by: Scope,
    ) -> Result<SessionNewResult, ErrorObject> {
        self.talk.new_session(&params, by)
    }

    fn prompt(&self, params: SessionPromptParams, speaker: Speaker) -> Later<SessionPromptResult> {
        self.talk.prompt(params, &speaker)
    }

    fn cancel_turn(&self, params: &SessionCancelParams) {
        self.talk.cancel(params);
    }

    fn mode(&self, params: ModeParams) -> Result<ModeResult, ErrorObject> {
        asking::mode(&self.calls, &params)
    }

    fn approvals(&self, params: ApprovalsParams) -> Result<ApprovalsResult, ErrorObject> {
        asking::approvals(&self.calls, &params)
    }

    fn audit(&self, params: AuditParams) -> Result<AuditResult, ErrorObject> {
        asking::audit(&self.calls, params)
    }

    fn export_conversation(
        &self,
        params: ExportConversationParams,
        by: &Speaker,
    ) -> Result<ExportConversationResult, ErrorObject> {
        export::into_vault(&self.calls, &self.conversations, params, by)
    }

    fn diff(&self, params: &DiffParams, most: u64) -> Result<DiffResult, ErrorObject> {
        diff::diff(&self.calls.context().journal, params, most)
    }

    fn complete(&self, params: &CompleteParams) -> CompleteResult {
        complete::complete(&self.calls.context().vault, params)
    }

    fn models(&self, params: ModelsParams) -> Later<ModelsResult> {
        Box::pin(model_list::models(Arc::clone(&self.live), self.models.clone(), params))
    }

    fn ask_host(
        &self,
        params: HostRequestParams,
        hosts: &Hosts,
        cancel: &Cancel,
    ) -> Result<HostRequestResult, ErrorObject> {
        host::request(&self.calls, hosts, params, cancel)
    }

    fn conversations(&self) -> &dyn ConversationsBackend {
        &self.conversations
    }

    fn settings(&self, scope: Scope) -> SettingsGetResult {
        settings::get(&self.live, scope)
    }

    fn set_setting(
        &self,
        scope: Scope,
        key: &str,
        value: &Value,
    ) -> Result<SettingsSetResult, ErrorObject> {
        settings::set(&self.live, scope, key, value)
    }

    fn settings_state(&self) -> SettingsState {
        settings::state(&self.live)
    }

    fn confinement(&self) -> Confinement {
        self.confinement.clone()
    }

    fn smarthole(&self) -> SmartHoleState {
        self.voice.as_ref().map(|voice| voice.state()).unwrap_or_default()
    }

    fn inbox(&self, params: InboxListParams) -> Result<InboxListResult, ErrorObject> {
        inbox::list(self.talk.conversations().store(), &params)
    }

    fn retry_message(&self, params: InboxRetryParams) -> Result<InboxResult, ErrorObject> {
        inbox::retry(self.talk.conversations().store(), &params).map(|moved| self.moved(moved))
    }

    fn discard_message(&self, params: InboxDiscardParams) -> Result<InboxResult, ErrorObject> {
        inbox::discard(self.talk.conversations().store(), &params).map(|moved| self.moved(moved))
    }

    fn empty_trash(&self, params: TrashEmptyParams) -> Result<TrashEmptyResult, ErrorObject> {
        if !params.dry_run {
            asking::may_change(&self.calls)?;
        }
        keeping::empty_trash(self.calls.context(), &params)
    }

    fn verify_journal(&self) -> Result<JournalVerifyResult, ErrorObject> {
        keeping::verify_journal(self.calls.context())
    }

    fn free_journal(&self, params: JournalGcParams) -> Result<JournalGcResult, ErrorObject> {
        keeping::free_journal(self.calls.context(), &params)
    }

    fn memory(&self) -> MemoryState {
        memory::of(self.calls.context(), &self.talk.conversations().store().database)
    }

    fn vault(&self) -> VaultState {
        let vault = &self.calls.context().vault;
        let status = vault.status();
        let unreadable = status.unreadable.iter().map(|(folder, reason)| {
            format!("the folder `{}` could not be listed: {reason}", folder.as_str())
        });
        VaultState {
            name: vault.name().to_owned(),
            path: self.folder.clone(),
            notes: status.counts.notes as u64,
            files: status.counts.files as u64,
            folders: status.counts.folders as u64,
            links: status.counts.links as u64,
            conflicts: vault.catalogue().conflicts().count() as u64,
            scanned_ms: status.scan_milliseconds,
            watching: match status.watching {
                Watching::Events { .. } => Shown::Events,
                Watching::Polling { seconds, reason } => Shown::Polling { seconds, reason },
                Watching::Off => Shown::Off,
            },
            warnings: self
                .reduced
                .iter()
                .cloned()
                .chain(unreadable.take(20))
                .chain(status.warnings)
                .chain(self.calls.hooks().complaints())
                .chain(self.calls.context().journal.store().database.found_later())
                .collect(),
        }
    }
}

/// What is lost on a file system that can do no more than this.
fn reduced(can: Abilities) -> Vec<String> {
    let said = if !can.writable {
        "no file can be made in the vault: reading works, changes do not"
    } else if !(can.exchange && can.rename_new) {
        "the file system cannot exchange files in one step: a save compares, keeps a copy and \
         renames over instead, so avoid editing one note from two programs at once"
    } else {
        return Vec::new();
    };
    vec![said.to_owned()]
}

fn shown(tool: &Definition) -> Tool {
    Tool {
        name: tool.name.to_owned(),
        title: tool.title.to_owned(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        output_schema: tool.output_schema.clone(),
        annotations: ToolAnnotations {
            title: tool.title.to_owned(),
            read_only_hint: tool.tier == Tier::Safe,
            destructive_hint: tool.tier != Tier::Safe,
            idempotent_hint: tool.idempotent,
            open_world_hint: false,
        },
    }
}

/// A change of the vault as an event.
pub fn event(change: &VaultChange) -> Event {
    let (kind, from) = match &change.kind {
        ChangeKind::Created => (ChangedKind::Created, None),
        ChangeKind::Modified => (ChangedKind::Modified, None),
        ChangeKind::Removed => (ChangedKind::Removed, None),
        ChangeKind::Renamed { from } => (ChangedKind::Renamed, Some(from.as_str().to_owned())),
    };
    let entry = match change.entry {
        Kind::File => EntryKind::File,
        Kind::Folder => EntryKind::Folder,
        Kind::Link => EntryKind::Link,
        Kind::Other => EntryKind::Other,
    };
    Event::Changed { kind, path: change.path.as_str().to_owned(), from, entry }
}

/// Changes of a set that an event tells one by one.
const MAX_TOLD: usize = 100;

/// A change set that was applied, as an event.
pub fn applied(set: &ListedSet) -> Event {
    Event::Applied(set_info(set))
}

/// A change set as clients see it.
pub(super) fn set_info(set: &ListedSet) -> ChangeSetInfo {
    let change = |change: &ListedChange| ChangeInfo {
        id: change.id.to_string(),
        action: change.action.word().to_owned(),
        path: change.path.as_str().to_owned(),
        from: change.from.as_ref().map(|from| from.as_str().to_owned()),
    };
    let time = set.time.with_timezone(&chrono::Local);
    // The agent's turns have names of this form; other callers name theirs as they like.
    let turn =
        set.conversation.as_deref().zip(set.turn.as_deref()).and_then(|(within, turn)| {
            turn.strip_prefix(&turn_name(within, "")).map(str::to_owned)
        });
    ChangeSetInfo {
        id: set.id.0,
        title: set.title.clone(),
        time: time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        caller: set.caller.clone(),
        conversation: set.conversation.clone(),
        turn,
        undone: set.is_undone(),
        undoes: match set.kind {
            SetKind::Undo(target) => Some(target.to_string()),
            SetKind::Change | SetKind::Restore => None,
        },
        changes: set.changes.iter().take(MAX_TOLD).map(change).collect(),
        total: set.changes.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_system_cannot_do_is_said() {
        let full = Abilities {
            writable: true,
            exchange: true,
            rename_new: true,
            ignores_case: true,
            ignores_form: true,
        };
        assert!(reduced(full).is_empty());
        assert!(reduced(Abilities { exchange: false, ..full })[0].contains("exchange"));
        assert!(reduced(Abilities { writable: false, ..full })[0].contains("reading works"));
    }
}
