//! What the door opens onto: the tools and the vault, as the wire shows them.
//!
//! A trait, so that the door's own tests can have tools that block, fail or answer at length.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

pub use super::hosts::Hosts;
pub use crate::policy::Scope;
use crate::protocol::complete::{CompleteParams, CompleteResult};
use crate::protocol::conversations::{
    ConversationParams, ConversationResult, DeleteConversationParams, DeleteConversationResult,
    EndParams, EndResult, ExportConversationParams, ExportConversationResult, ForkParams,
    ForkResult, RenameConversationParams, RenameConversationResult, SearchConversationsParams,
    SearchConversationsResult, SessionListParams, SessionLoadParams, SessionLoadResult,
    UsageParams, UsageResult,
};
use crate::protocol::diff::{DiffParams, DiffResult};
use crate::protocol::error::ErrorObject;
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
    SessionPromptResult, SessionUpdateParams,
};
use crate::protocol::settings::{SettingsGetResult, SettingsSetResult};
use crate::protocol::status::{Confinement, MemoryState, SettingsState, VaultState};
use crate::protocol::tools::ToolsListResult;
use crate::vault::Cancel;

/// Characters of the name of a turn or a conversation.
pub const MAX_NAME_CHARS: usize = 100;

/// Characters of a client's name that are kept.
pub const MAX_CALLER_CHARS: usize = 60;

/// The conversations of one vault, on threads that may block.
///
/// Errors are of the kinds `unknown_session`, `not_found`, `turn_running`, `invalid_params` and `failed`.
#[expect(clippy::missing_errors_doc, reason = "said once, above")]
pub trait ConversationsBackend: Send + Sync {
    /// Writes the conversations, the one last active first, behind what `json` holds: the JSON of a
    /// `SessionListResult` with at least one where there is any, and no more than take `most` bytes.
    fn list(
        &self,
        params: SessionListParams,
        most: u64,
        json: &mut Vec<u8>,
    ) -> Result<(), ErrorObject>;

    /// What was said in a conversation, told again as it was told live.
    fn load(
        &self,
        params: SessionLoadParams,
    ) -> Result<(Vec<SessionUpdateParams>, SessionLoadResult), ErrorObject>;

    /// One conversation with what was said in it, in an answer of at most about `most` bytes.
    fn show(
        &self,
        params: ConversationParams,
        most: u64,
    ) -> Result<ConversationResult, ErrorObject>;

    /// Ends one.
    fn end(&self, params: EndParams) -> Result<EndResult, ErrorObject>;

    /// Goes on from before an earlier message, or with another branch.
    fn fork(&self, params: ForkParams) -> Result<ForkResult, ErrorObject>;

    /// Finds conversations by what was said in them.
    fn search(
        &self,
        params: SearchConversationsParams,
    ) -> Result<SearchConversationsResult, ErrorObject>;

    /// Deletes conversations for good.
    fn delete(
        &self,
        params: DeleteConversationParams,
    ) -> Result<DeleteConversationResult, ErrorObject>;

    /// Gives one a title of a person's own.
    fn rename(
        &self,
        params: RenameConversationParams,
    ) -> Result<RenameConversationResult, ErrorObject>;

    /// What models were used for.
    fn usage(&self, params: UsageParams) -> Result<UsageResult, ErrorObject>;
}

/// Who says something to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speaker {
    /// The name the client gave of itself.
    pub name: String,
    /// What kind of caller it is, as its token says.
    pub scope: Scope,
    /// Its connection.
    pub connection: u64,
}

/// An answer that takes as long as it takes.
pub type Later<T> = Pin<Box<dyn Future<Output = Result<T, ErrorObject>> + Send>>;

/// The tools of one vault.
pub trait Backend: Send + Sync + 'static {
    /// The tools, sorted by name.
    fn tools(&self) -> ToolsListResult;

    /// Removes things from the trash for good.
    ///
    /// # Errors
    /// Kind `failed`.
    fn empty_trash(&self, params: TrashEmptyParams) -> Result<TrashEmptyResult, ErrorObject>;

    /// Checks every text the journal keeps.
    ///
    /// # Errors
    /// Kind `failed`.
    fn verify_journal(&self) -> Result<JournalVerifyResult, ErrorObject>;

    /// Frees what the journal keeps for longer than it should.
    ///
    /// # Errors
    /// Kind `failed`.
    fn free_journal(&self, params: JournalGcParams) -> Result<JournalGcResult, ErrorObject>;

    /// Says or sets the mode.
    ///
    /// # Errors
    /// Kind `failed`, `invalid_params` for a word that is no mode.
    fn mode(&self, params: ModeParams) -> Result<ModeResult, ErrorObject>;

    /// Lists or takes back what a person agreed to for good.
    ///
    /// # Errors
    /// Kind `failed`.
    fn approvals(&self, params: ApprovalsParams) -> Result<ApprovalsResult, ErrorObject>;

    /// Calls, and what was decided on them.
    ///
    /// # Errors
    /// Kind `failed`.
    fn audit(&self, params: AuditParams) -> Result<AuditResult, ErrorObject>;

    /// The conversations.
    fn conversations(&self) -> &dyn ConversationsBackend;
    /// Begins a conversation, on a thread that may block.
    ///
    /// # Errors
    /// Kinds `invalid_params` and `failed`.
    fn new_session(
        &self,
        params: SessionNewParams,
        by: Scope,
    ) -> Result<SessionNewResult, ErrorObject>;

    /// Says something to the agent; the answer comes when the turn is over. It has its place in the
    /// order of these calls, whether anybody waits or not.
    fn prompt(&self, params: SessionPromptParams, speaker: Speaker) -> Later<SessionPromptResult>;

    /// Stops the turn of a conversation.
    fn cancel_turn(&self, params: &SessionCancelParams);

    /// Writes a conversation into a note of the vault, in the name of `by`.
    ///
    /// # Errors
    /// Kinds `unknown_session`, `invalid_params` for a path that cannot be, and `failed`.
    fn export_conversation(
        &self,
        params: ExportConversationParams,
        by: &Speaker,
    ) -> Result<ExportConversationResult, ErrorObject>;

    /// What a change set did, in an answer of at most about `most` bytes.
    ///
    /// # Errors
    /// Kinds `not_found` and `failed`.
    fn diff(&self, params: &DiffParams, most: u64) -> Result<DiffResult, ErrorObject>;

    /// What could be meant by part of a name.
    fn complete(&self, params: &CompleteParams) -> CompleteResult;

    /// Lists the models that are asked or could be, and chooses one where that is wanted.
    fn models(&self, params: ModelsParams) -> Later<ModelsResult>;

    /// Asks something of the program that has the vault open, for a person; on a thread that may
    /// block.
    ///
    /// # Errors
    /// Kinds `host_unavailable`, `invalid_params`, `failed`, `timeout` and `cancelled`.
    fn ask_host(
        &self,
        params: HostRequestParams,
        hosts: &Hosts,
        cancel: &Cancel,
    ) -> Result<HostRequestResult, ErrorObject>;

    /// The vault's name, at once.
    fn name(&self) -> &str;

    /// What is known of the vault, on a thread that may block.
    fn vault(&self) -> VaultState;

    /// Where the daemon's memory goes, on a thread that may block.
    fn memory(&self) -> MemoryState;

    /// Every setting, and whether a program of this scope may change it; on a thread that may block.
    fn settings(&self, scope: Scope) -> SettingsGetResult;

    /// Gives a setting a value, by the wish of a program of this scope; null takes it out of the
    /// file. On a thread that may block.
    ///
    /// # Errors
    /// Kinds `invalid_setting`, `not_permitted` and `failed`; nothing is changed then.
    fn set_setting(
        &self,
        scope: Scope,
        key: &str,
        value: &Value,
    ) -> Result<SettingsSetResult, ErrorObject>;

    /// How the settings file stands.
    fn settings_state(&self) -> SettingsState;

    /// What holds the daemon in.
    fn confinement(&self) -> Confinement;

    /// How the connection to SmartHole stands, on a thread that may block.
    fn smarthole(&self) -> SmartHoleState;

    /// Messages that came by voice, on a thread that may block.
    ///
    /// # Errors
    /// Kinds `not_found` and `failed`.
    fn inbox(&self, params: InboxListParams) -> Result<InboxListResult, ErrorObject>;

    /// Has one tried again, on a thread that may block.
    ///
    /// # Errors
    /// Kinds `not_found`, `invalid_params` where it does not wait for that, and `failed`.
    fn retry_message(&self, params: InboxRetryParams) -> Result<InboxResult, ErrorObject>;

    /// Lets go of one, on a thread that may block.
    ///
    /// # Errors
    /// As for a retry.
    fn discard_message(&self, params: InboxDiscardParams) -> Result<InboxResult, ErrorObject>;
}
