//! The wire protocol of the local WebSocket: JSON-RPC 2.0, one object in a text frame.
//!
//! Floor 1. The server converts to and from these types by hand, so a change of the wire is
//! a change in this room; the plugin's `protocol.ts` is generated from it.
//!
//! Invariants: a method is one line in `methods!` below, from which its types and the TypeScript follow; an
//! error kind is one line in [`error::Kind`]; parsing any bytes gives a value or a typed error, never a panic.
//!
//! In reading order: [`envelope`] (the form of all messages), [`error`], the resources
//! ([`initialize`], [`tools`], [`cancel`], [`status`], [`settings`], [`events`], [`maintenance`],
//! [`permission`], [`policy`], [`session`], [`acp`], [`conversations`], [`timeline`], [`as_of`], [`diff`], [`complete`], [`resolve_link`], [`models`],
//! [`prompts`], [`attachments`], [`inbox`], [`proposals`], [`host`], [`page`], [`ping`], [`names`], [`organize`], [`workflows`]; [`http`]), [`strict`] (a strict JSON parser),
//! [`version`], `typescript`.

pub mod acp;
pub mod as_of;
pub mod attachments;
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
pub mod maintenance;
mod methods;
pub mod models;
pub mod names;
pub mod organize;
pub mod page;
pub mod permission;
pub mod ping;
pub mod policy;
pub mod prompts;
pub mod proposals;
pub mod resolve_link;
pub mod session;
pub mod settings;
pub mod status;
pub mod strict;
pub mod timeline;
pub mod tools;
#[cfg(feature = "conformance")]
pub mod typescript;
pub mod version;
pub mod workflows;

// Every method and notification needs two types of these modules, hence the `*`.
use methods::{methods, notifications, server_requests};
use {
    acp::*, as_of::*, attachments::*, cancel::*, complete::*, conversations::*, diff::*, events::*,
    host::*, inbox::*, initialize::*, maintenance::*, models::*, names::*, organize::*, page::*,
    permission::*, ping::*, policy::*, prompts::*, proposals::*, resolve_link::*, session::*,
    settings::*, status::*, timeline::*, tools::*, workflows::*,
};

/// The protocol version, as in ACP: an integer that is raised only for a breaking change.
pub const PROTOCOL_VERSION: u32 = 1;

/// The WebSocket subprotocol that the server selects.
pub const SUBPROTOCOL: &str = "vault.v1";

/// The prefix of the subprotocol that carries the token for clients that cannot set headers.
pub const TOKEN_SUBPROTOCOL_PREFIX: &str = "vault.token.";

/// The prefix of the subprotocol that carries a ticket instead of the token: `NAME.NONCE.PROOF`.
pub const TICKET_SUBPROTOCOL_PREFIX: &str = "vault.ticket.";

methods! {
    /// Opens the connection: versions, capabilities, limits, and the server's proof of the token.
    "initialize" { InitializeParams => InitializeResult },
    /// The available tools, sorted by name.
    "tools/list" { ToolsListParams => ToolsListResult },
    /// Runs one tool.
    "tools/call" { ToolsCallParams => ToolsCallResult },
    /// State of the daemon and the vault.
    "_vault/status" { StatusParams => StatusResult },
    /// All settings: value, default, origin, description.
    "_vault/settings/get" { SettingsGetParams => SettingsGetResult },
    /// Changes a setting in the settings file and keeps the file's comments.
    "_vault/settings/set" { SettingsSetParams => SettingsSetResult },
    /// Subscribes to events: new ones, or those after the last event of a lost connection.
    "_vault/subscribe" { SubscribeParams => SubscribeResult },
    /// Deletes files in the trash permanently.
    "_vault/trash/empty" { TrashEmptyParams => TrashEmptyResult },
    /// Verifies every text in the journal against its hash.
    "_vault/journal/verify" { JournalVerifyParams => JournalVerifyResult },
    /// Deletes texts in the journal that are beyond the limits in the settings.
    "_vault/journal/gc" { JournalGcParams => JournalGcResult },
    /// Gets or sets the approval mode: which changes need a person's approval.
    "_vault/mode" { ModeParams => ModeResult },
    /// Lists or revokes standing approvals.
    "_vault/approvals" { ApprovalsParams => ApprovalsResult },
    /// The approval requests that wait for a person.
    "_vault/approvals/pending" { PendingParams => PendingResult },
    /// Answers an approval request.
    "_vault/approvals/answer" { AnswerParams => AnswerResult },
    /// The audit log: calls, and the decisions on them.
    "_vault/audit" { AuditParams => AuditResult },
    /// The conversations, last active first.
    "session/list" { SessionListParams => SessionListResult },
    /// Replays the history of a conversation and subscribes to it.
    "session/load" { SessionLoadParams => SessionLoadResult },
    /// Whether a model is set up, for clients that offered to set one up.
    "authenticate" { AuthenticateParams => AuthenticateResult },
    /// Resumes a conversation and subscribes to it, without its history.
    "session/resume" { SessionResumeParams => SessionChoices },
    /// Stops the turn of a conversation and unsubscribes from it. The conversation is kept.
    "session/close" { SessionCloseParams => SessionCloseResult },
    /// Deletes a conversation permanently.
    "session/delete" { SessionDeleteParams => SessionDeleteResult },
    /// Sets the mode of a conversation.
    "session/set_mode" { SetModeParams => SetModeResult },
    /// Sets the mode or the model of a conversation.
    "session/set_config_option" { SetConfigOptionParams => SetConfigOptionResult },
    /// A conversation with its items.
    "_vault/conversation" { ConversationParams => ConversationResult },
    /// Ends a conversation; the next message begins another.
    "_vault/end" { EndParams => EndResult },
    /// Continues from before an earlier message, or on another branch.
    "_vault/fork" { ForkParams => ForkResult },
    /// Searches conversations.
    "_vault/search_conversations" {
        SearchConversationsParams => SearchConversationsResult
    },
    /// Deletes conversations permanently.
    "_vault/delete_conversation" {
        DeleteConversationParams => DeleteConversationResult
    },
    /// Sets the title of a conversation.
    "_vault/rename_conversation" {
        RenameConversationParams => RenameConversationResult
    },
    /// Writes a conversation to a note.
    "_vault/export_conversation" {
        ExportConversationParams => ExportConversationResult
    },
    /// The images and texts that went with a message.
    "_vault/attachments" { AttachmentsParams => AttachmentsResult },
    /// Diffs of a change set.
    "_vault/diff" { DiffParams => DiffResult },
    /// The changes of the vault, turn by turn, with their authors.
    "_vault/timeline" { TimelineParams => TimelineResult },
    /// A note, or the list of all files, at an earlier moment.
    "_vault/as_of" { AsOfParams => AsOfResult },
    /// Completes the name of a note or folder.
    "_vault/complete" { CompleteParams => CompleteResult },
    /// Says where a link leads.
    "_vault/resolve_link" { ResolveLinkParams => ResolveLinkResult },
    /// The person's own prompts.
    "_vault/prompts" { PromptsParams => PromptsResult },
    /// Fills one of the person's prompts.
    "_vault/prompts/get" { PromptGetParams => PromptGetResult },
    /// Lists what the agent proposed in the mode `plan`, and plans, that wait for the person.
    "_vault/proposals/list" { ProposalsListParams => ProposalsListResult },
    /// Applies what the agent proposed in the mode `plan`, or parts of it.
    "_vault/proposals/apply" { ProposalsApplyParams => ProposalsApplyResult },
    /// Rejects what the agent proposed in the mode `plan`, or parts of it.
    "_vault/proposals/reject" { ProposalsRejectParams => ProposalsRejectResult },
    /// The language models, and which of them are used.
    "_vault/models" { ModelsParams => ModelsResult },
    /// Checks a vendor's key and stores it.
    "_vault/models/key" { ModelKeyParams => ModelKeyResult },
    /// Forwards a request to the program that has the vault open.
    "_vault/host/request" { HostRequestParams => HostRequestResult },
    /// A one-time code that opens the daemon's chat page.
    "_vault/page_code" { PageCodeParams => PageCodeResult },
    /// Usage and cost of models.
    "_vault/usage" { UsageParams => UsageResult },
    /// Starts a conversation with the agent.
    "session/new" { SessionNewParams => SessionNewResult },
    /// Sends a message to the agent; answered at the end of the turn.
    "session/prompt" { SessionPromptParams => SessionPromptResult },
    /// Voice messages and their state.
    "_vault/inbox/list" { InboxListParams => InboxListResult },
    /// Retries a message that was set aside.
    "_vault/inbox/retry" { InboxRetryParams => InboxResult },
    /// Discards a message.
    "_vault/inbox/discard" { InboxDiscardParams => InboxResult },
    /// Drafts rules from a sentence with a model, and plans their changes.
    "_vault/organize/draft" { OrganizeDraftParams => OrganizeDraftResult },
    /// Has a model suggest names for files.
    "_vault/names/suggest" { NamesSuggestParams => NamesSuggestResult },
    /// Stops a running job before its next batch, whichever client started it.
    "_vault/organize/stop" { OrganizeStopParams => OrganizeStopResult },
    /// The enabled rules, which run automatically.
    "_vault/rules/list" { RulesListParams => RulesListResult },
    /// Enables rules, so that they run automatically.
    "_vault/rules/enable" { RulesEnableParams => RulesEnableResult },
    /// Disables a rule.
    "_vault/rules/disable" { RulesDisableParams => RulesDisableResult },
    /// Describes the rules of a plan, and the files that they match and nearly match.
    "_vault/rules/describe" { RulesDescribeParams => RulesDescribeResult },
    /// The files that rules with `once` have processed; can reset them.
    "_vault/rules/marks" { RulesMarksParams => RulesMarksResult },
    /// Runs a workflow, or previews it.
    "_vault/workflow/run" { WorkflowRunParams => WorkflowResult },
    /// Resumes a workflow that waits, was interrupted, or failed.
    "_vault/workflow/resume" { WorkflowResumeParams => WorkflowResult },
    /// The last workflow runs.
    "_vault/workflow/list" { WorkflowListParams => WorkflowListResult },
    /// Checks the connection, for clients that cannot send a WebSocket ping.
    "_vault/ping" { PingParams => PingResult },
}

server_requests! {
    /// Asks a person to approve a call.
    RequestPermission => "session/request_permission" {
        RequestPermissionParams => RequestPermissionResult
    },
    /// Asks for the active note.
    HostActiveNote => "_vault/host/active_note" { HostActiveNoteParams => HostActiveNoteResult },
    /// Opens a note.
    HostOpen => "_vault/host/open" { HostOpenParams => HostOpenResult },
    /// Shows a notice.
    HostNotice => "_vault/host/notice" { HostNoticeParams => HostNoticeResult },
    /// Deletes a file with the user's settings.
    HostTrash => "_vault/host/trash" { HostTrashParams => HostTrashResult },
    /// Renames a file and updates links.
    HostRename => "_vault/host/rename" { HostRenameParams => HostRenameResult },
}

notifications! {
    client {
        /// Cancels a pending request.
        CancelRequest => "$/cancel_request" { CancelParams },
        /// Stops the turn of a conversation.
        SessionCancel => "session/cancel" { SessionCancelParams },
        /// The client's window gained or lost the focus.
        HostFocus => "_vault/host/focus" { HostFocusParams },
        /// The active note of the client changed.
        ActiveNoteChanged => "_vault/host/active_note_changed" { ActiveNoteChangedParams },
    }
    server {
        /// A file or folder changed, by the steward or another program.
        VaultChanged => "_vault/changed" { ChangedParams },
        /// The steward applied a change set.
        VaultChanges => "_vault/changes" { ChangesParams },
        /// A plan was created or changed.
        VaultPlan => "_vault/plan" { PlanParams },
        /// A job began, progressed, or changed its state.
        VaultJob => "_vault/job" { JobParams },
        /// A conversation began, ended, got a title, or was deleted.
        ConversationChanged => "_vault/conversation_changed" { ConversationChangedParams },
        /// A voice message arrived or changed its state.
        VaultInbox => "_vault/inbox" { InboxParams },
        /// The state of the connection to SmartHole changed.
        VaultSmartHole => "_vault/smarthole" { SmartHoleParams },
        /// A workflow step began or ended.
        VaultWorkflow => "_vault/workflow" { WorkflowParams },
        /// The settings file changed and was loaded.
        ConfigReloaded => "_vault/config_reloaded" { ConfigReloadedParams },
        /// The mode changed.
        ModeChanged => "_vault/mode_changed" { ModeChangedParams },
        /// The settings file changed and is invalid; the old settings stay in effect.
        ConfigRejected => "_vault/config_rejected" { ConfigRejectedParams },
        /// An update of a conversation.
        SessionUpdate => "session/update" { SessionUpdateParams },
        /// A message of a conversation is complete and stored.
        VaultMessage => "_vault/message" { MessageParams },
        /// An event that this client may not see.
        VaultHidden => "_vault/hidden" { HiddenParams },
        /// The state of a conversation.
        VaultState => "_vault/state" { StateParams },
        /// A request to the client no longer needs an answer.
        WithdrawRequest => "$/cancel_request" { CancelParams },
    }
}
