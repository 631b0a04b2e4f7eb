//! What crosses the local socket, and nothing else: JSON-RPC 2.0, one object a text frame.
//!
//! May import nothing of ours. The server converts to and from these types by hand, so a change of
//! the wire is a change in this room; the plugin's `protocol.ts` is written from it.
//!
//! Invariants: a method is one line in `methods!` below, from which its types
//! and the TypeScript follow; a kind of error is one line in [`error::Kind`]; parsing any bytes
//! ends in a value or a typed error, never in a panic.
//!
//! In reading order: [`envelope`] (what every message looks like), [`error`], the resources
//! ([`initialize`], [`tools`], [`cancel`], [`status`], [`settings`], [`events`], [`keeping`],
//! [`permission`], [`policy`], [`session`], [`acp`], [`conversations`], [`diff`], [`complete`], [`models`],
//! [`host`], [`page`], [`ping`], [`organize`], [`workflows`]; [`http`] beside the socket), [`strict`] (JSON
//! without surprises), [`quoted`] (a text in it), [`typescript`].

pub mod acp;
pub mod cancel;
pub mod complete;
pub mod conversations;
pub mod diff;
pub mod envelope;
pub mod error;
pub mod events;
pub mod host;
pub mod http;
pub mod inbox;
pub mod initialize;
pub mod keeping;
mod methods;
pub mod models;
pub mod organize;
pub mod page;
pub mod permission;
pub mod ping;
pub mod policy;
pub mod quoted;
pub mod session;
pub mod settings;
pub mod status;
pub mod strict;
pub mod tools;
pub mod typescript;
pub mod workflows;

use acp::{
    AuthenticateParams, AuthenticateResult, SessionChoices, SessionCloseParams, SessionCloseResult,
    SessionDeleteParams, SessionDeleteResult, SessionResumeParams, SetConfigOptionParams,
    SetConfigOptionResult, SetModeParams, SetModeResult,
};
use cancel::CancelParams;
use complete::{CompleteParams, CompleteResult};
use conversations::{
    ConversationChangedParams, ConversationParams, ConversationResult, DeleteConversationParams,
    DeleteConversationResult, EndParams, EndResult, ExportConversationParams,
    ExportConversationResult, ForkParams, ForkResult, RenameConversationParams,
    RenameConversationResult, SearchConversationsParams, SearchConversationsResult,
    SessionListParams, SessionListResult, SessionLoadParams, SessionLoadResult, UsageParams,
    UsageResult,
};
use diff::{DiffParams, DiffResult};
use events::{
    ChangedParams, ChangesParams, HiddenParams, JobParams, PlanParams, SubscribeParams,
    SubscribeResult,
};
use host::{
    ActiveNoteChangedParams, HostActiveNoteParams, HostActiveNoteResult, HostFocusParams,
    HostNoticeParams, HostNoticeResult, HostOpenParams, HostOpenResult, HostRenameParams,
    HostRenameResult, HostRequestParams, HostRequestResult, HostTrashParams, HostTrashResult,
};
use inbox::{
    InboxDiscardParams, InboxListParams, InboxListResult, InboxParams, InboxResult,
    InboxRetryParams, SmartHoleParams,
};
use initialize::{InitializeParams, InitializeResult};
use keeping::{
    JournalGcParams, JournalGcResult, JournalVerifyParams, JournalVerifyResult, TrashEmptyParams,
    TrashEmptyResult,
};
use methods::{methods, notifications, server_requests};
use models::{ModelKeyParams, ModelKeyResult, ModelsParams, ModelsResult};
use organize::{
    OrganizeDraftParams, OrganizeDraftResult, OrganizeStopParams, OrganizeStopResult,
    RulesDisableParams, RulesDisableResult, RulesEnableParams, RulesEnableResult, RulesListParams,
    RulesListResult, RulesMarksParams, RulesMarksResult,
};
use page::{PageCodeParams, PageCodeResult};
use permission::{RequestPermissionParams, RequestPermissionResult};
use ping::{PingParams, PingResult};
use policy::{
    AnswerParams, AnswerResult, ApprovalsParams, ApprovalsResult, AuditParams, AuditResult,
    ModeChangedParams, ModeParams, ModeResult, PendingParams, PendingResult,
};
use session::{
    MessageParams, SessionCancelParams, SessionNewParams, SessionNewResult, SessionPromptParams,
    SessionPromptResult, SessionUpdateParams, StateParams,
};
use settings::{
    ConfigRejectedParams, ConfigReloadedParams, SettingsGetParams, SettingsGetResult,
    SettingsSetParams, SettingsSetResult,
};
use status::{StatusParams, StatusResult};
use tools::{ToolsCallParams, ToolsCallResult, ToolsListParams, ToolsListResult};
use workflows::{
    WorkflowListParams, WorkflowListResult, WorkflowParams, WorkflowResult, WorkflowResumeParams,
    WorkflowRunParams,
};

/// The version of the wire, as ACP counts: an integer, raised only for a breaking change.
pub const PROTOCOL_VERSION: u32 = 1;

/// The WebSocket subprotocol the server selects.
pub const SUBPROTOCOL: &str = "vault.v1";

/// The prefix of the subprotocol that carries the token for clients that cannot set headers.
pub const TOKEN_SUBPROTOCOL_PREFIX: &str = "vault.token.";

/// The prefix of the subprotocol that carries a ticket in the token's place: `NAME.NONCE.PROOF`.
pub const TICKET_SUBPROTOCOL_PREFIX: &str = "vault.ticket.";

methods! {
    /// Opens the conversation: versions, capabilities, limits, and the server's proof of itself.
    "initialize" { InitializeParams => InitializeResult },
    /// The tools that can be called, sorted by name.
    "tools/list" { ToolsListParams => ToolsListResult },
    /// Runs one tool.
    "tools/call" { ToolsCallParams => ToolsCallResult },
    /// What the daemon knows of the vault and of itself.
    "_vault/status" { StatusParams => StatusResult },
    /// Every setting: value, default, where it comes from, what it is for.
    "_vault/settings/get" { SettingsGetParams => SettingsGetResult },
    /// Changes one setting in the settings file, which keeps its comments.
    "_vault/settings/set" { SettingsSetParams => SettingsSetResult },
    /// Starts the events, from now on or from where a lost connection stopped.
    "_vault/subscribe" { SubscribeParams => SubscribeResult },
    /// Removes things from the trash for good.
    "_vault/trash/empty" { TrashEmptyParams => TrashEmptyResult },
    /// Checks every text the journal keeps against its hash.
    "_vault/journal/verify" { JournalVerifyParams => JournalVerifyResult },
    /// Frees what the journal keeps longer than the settings say.
    "_vault/journal/gc" { JournalGcParams => JournalGcResult },
    /// How far callers are trusted with changes.
    "_vault/mode" { ModeParams => ModeResult },
    /// What a person agreed to for good.
    "_vault/approvals" { ApprovalsParams => ApprovalsResult },
    /// The questions that wait for a person.
    "_vault/approvals/pending" { PendingParams => PendingResult },
    /// Answers one of them.
    "_vault/approvals/answer" { AnswerParams => AnswerResult },
    /// Calls, and what was decided on them.
    "_vault/audit" { AuditParams => AuditResult },
    /// The conversations, the one last active first.
    "session/list" { SessionListParams => SessionListResult },
    /// Tells the history of a conversation again, and what happens in it from then on.
    "session/load" { SessionLoadParams => SessionLoadResult },
    /// Whether a model is set up, for clients that offered to do so.
    "authenticate" { AuthenticateParams => AuthenticateResult },
    /// Goes on with a conversation, and tells what happens in it from then on.
    "session/resume" { SessionResumeParams => SessionChoices },
    /// Stops what goes on in a conversation and tells no more of it; it is kept.
    "session/close" { SessionCloseParams => SessionCloseResult },
    /// Deletes a conversation for good.
    "session/delete" { SessionDeleteParams => SessionDeleteResult },
    /// Sets how far the calls of a conversation are trusted.
    "session/set_mode" { SetModeParams => SetModeResult },
    /// Chooses a mode or a model for a conversation.
    "session/set_config_option" { SetConfigOptionParams => SetConfigOptionResult },
    /// One conversation with what was said in it.
    "_vault/conversation" { ConversationParams => ConversationResult },
    /// Ends a conversation; the next message begins another.
    "_vault/end" { EndParams => EndResult },
    /// Goes on from before an earlier message, or with another branch.
    "_vault/fork" { ForkParams => ForkResult },
    /// Finds conversations by what was said in them.
    "_vault/search_conversations" {
        SearchConversationsParams => SearchConversationsResult
    },
    /// Deletes conversations for good.
    "_vault/delete_conversation" {
        DeleteConversationParams => DeleteConversationResult
    },
    /// Gives a conversation a title of a person's own.
    "_vault/rename_conversation" {
        RenameConversationParams => RenameConversationResult
    },
    /// Writes a conversation into a note of the vault.
    "_vault/export_conversation" {
        ExportConversationParams => ExportConversationResult
    },
    /// What a change set did, text by text.
    "_vault/diff" { DiffParams => DiffResult },
    /// Notes and folders for somebody who types part of a name.
    "_vault/complete" { CompleteParams => CompleteResult },
    /// Which language models are asked, and which could be.
    "_vault/models" { ModelsParams => ModelsResult },
    /// Checks a vendor's key and stores it.
    "_vault/models/key" { ModelKeyParams => ModelKeyResult },
    /// Asks something of the program that has the vault open.
    "_vault/host/request" { HostRequestParams => HostRequestResult },
    /// A code that opens the daemon's page once.
    "_vault/page_code" { PageCodeParams => PageCodeResult },
    /// What models were used for, and what that cost.
    "_vault/usage" { UsageParams => UsageResult },
    /// Begins a conversation with the agent.
    "session/new" { SessionNewParams => SessionNewResult },
    /// Says something to the agent; answered when the turn is over.
    "session/prompt" { SessionPromptParams => SessionPromptResult },
    /// Messages that came by voice, and how they stand.
    "_vault/inbox/list" { InboxListParams => InboxListResult },
    /// Has a message that was set aside tried again.
    "_vault/inbox/retry" { InboxRetryParams => InboxResult },
    /// Lets go of a message.
    "_vault/inbox/discard" { InboxDiscardParams => InboxResult },
    /// Has a model draft rules from a sentence, and plans what they would do.
    "_vault/organize/draft" { OrganizeDraftParams => OrganizeDraftResult },
    /// Stops a running job before its next piece, whoever began it.
    "_vault/organize/stop" { OrganizeStopParams => OrganizeStopResult },
    /// The rules that run by themselves, since a person enabled them.
    "_vault/rules/list" { RulesListParams => RulesListResult },
    /// Enables rules, so that they run by themselves.
    "_vault/rules/enable" { RulesEnableParams => RulesEnableResult },
    /// Disables a rule.
    "_vault/rules/disable" { RulesDisableParams => RulesDisableResult },
    /// The files that rules with `once` took; and has them forgotten.
    "_vault/rules/marks" { RulesMarksParams => RulesMarksResult },
    /// Runs a workflow: as a dry run, or for real.
    "_vault/workflow/run" { WorkflowRunParams => WorkflowResult },
    /// Goes on with a workflow that waits, was cut short, or failed.
    "_vault/workflow/resume" { WorkflowResumeParams => WorkflowResult },
    /// The last runs of workflows, and how they stand.
    "_vault/workflow/list" { WorkflowListParams => WorkflowListResult },
    /// Is anybody there: for clients that cannot send a WebSocket ping.
    "_vault/ping" { PingParams => PingResult },
}

server_requests! {
    /// Asks a person whether a call may go on.
    RequestPermission => "session/request_permission" {
        RequestPermissionParams => RequestPermissionResult
    },
    /// Which note is open.
    HostActiveNote => "_vault/host/active_note" { HostActiveNoteParams => HostActiveNoteResult },
    /// Open a note.
    HostOpen => "_vault/host/open" { HostOpenParams => HostOpenResult },
    /// Show a notice.
    HostNotice => "_vault/host/notice" { HostNoticeParams => HostNoticeResult },
    /// Delete a file as the user has set it.
    HostTrash => "_vault/host/trash" { HostTrashParams => HostTrashResult },
    /// Rename a file and let links follow.
    HostRename => "_vault/host/rename" { HostRenameParams => HostRenameResult },
}

notifications! {
    client {
        /// Asks that a request in flight be given up.
        CancelRequest => "$/cancel_request" { CancelParams },
        /// Stops the turn of a conversation.
        SessionCancel => "session/cancel" { SessionCancelParams },
        /// The client has, or has no longer, the focus.
        HostFocus => "_vault/host/focus" { HostFocusParams },
        /// Another note is open in the client, or none.
        ActiveNoteChanged => "_vault/host/active_note_changed" { ActiveNoteChangedParams },
    }
    server {
        /// Something in the vault changed, through us or from outside.
        VaultChanged => "_vault/changed" { ChangedParams },
        /// The steward has applied a change set.
        VaultChanges => "_vault/changes" { ChangesParams },
        /// A plan was made or changed.
        VaultPlan => "_vault/plan" { PlanParams },
        /// A job began, came further, or stands otherwise.
        VaultJob => "_vault/job" { JobParams },
        /// Something happened to a conversation as a whole.
        ConversationChanged => "_vault/conversation_changed" { ConversationChangedParams },
        /// A message came by voice, or stands otherwise.
        VaultInbox => "_vault/inbox" { InboxParams },
        /// The connection to SmartHole stands otherwise.
        VaultSmartHole => "_vault/smarthole" { SmartHoleParams },
        /// A step of a workflow begins, or has ended.
        VaultWorkflow => "_vault/workflow" { WorkflowParams },
        /// The settings file has changed, and new settings hold.
        ConfigReloaded => "_vault/config_reloaded" { ConfigReloadedParams },
        /// Another mode holds.
        ModeChanged => "_vault/mode_changed" { ModeChangedParams },
        /// The settings file has changed and is wrong; the old settings hold.
        ConfigRejected => "_vault/config_rejected" { ConfigRejectedParams },
        /// Something happened in a conversation.
        SessionUpdate => "session/update" { SessionUpdateParams },
        /// A message of a conversation is whole, and kept.
        VaultMessage => "_vault/message" { MessageParams },
        /// Something happened that is not for this client.
        VaultHidden => "_vault/hidden" { HiddenParams },
        /// How a conversation stands.
        VaultState => "_vault/state" { StateParams },
        /// An answer to a request of the server's is no longer needed.
        WithdrawRequest => "$/cancel_request" { CancelParams },
    }
}
