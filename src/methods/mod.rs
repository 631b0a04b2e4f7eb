//! The methods of the daemon: the table of all of them, and their handlers.
//!
//! Floor 8, below `daemon`, which builds the [`Services`]. A method is a line in [`table`] and a
//! plain function on the services that it needs. Only the handlers convert the vault's types to
//! those of the wire. The command line calls the same functions if no daemon runs. The server
//! handles `initialize` and the methods that concern only a connection (`server/table`).
//!
//! In reading order: this file; [`tools`], [`status`] with `memory`, [`settings`], [`models`] with `model_usage`,
//! [`policy`], [`maintenance`], [`attachments`] (of messages), [`diff`], [`as_of`], [`timeline`],
//! [`complete`], [`resolve_link`], [`host`], [`inbox`]; [`conversations`] with `info`, `listing`,
//! [`history`], [`replay`] with `acp_replay`, and [`export`]; [`talk`] with `prompt`, [`prompts`],
//! [`proposals`] with `proposal_state` and `proposal_commands`; [`events`] and [`sessions`] (further requests of
//! ACP clients), [`workflows`], `jobs`, [`drafts`] (rules from a sentence), [`name_suggestions`] (names in a model's
//! words), [`rules`] (rules that run automatically), [`session_updates`] (agent events as session
//! updates of the protocol); `errors` (of the rooms below).

mod acp_replay;
pub mod as_of;
pub mod attachments;
pub mod complete;
pub mod conversations;
pub mod diff;
pub mod drafts;
mod errors;
pub mod events;
pub mod export;
pub mod history;
pub mod host;
pub mod inbox;
mod info;
pub mod jobs;
mod listing;
pub mod maintenance;
mod memory;
mod model_usage;
pub mod models;
pub mod name_suggestions;
pub mod policy;
mod prompt;
pub mod prompts;
mod proposal_commands;
mod proposal_state;
pub mod proposals;
pub mod replay;
pub mod resolve_link;
pub mod rules;
pub mod session_updates;
pub mod sessions;
pub mod settings;
pub mod status;
pub mod talk;
pub mod timeline;
pub mod tools;
pub mod workflows;

use std::sync::Arc;

use conversations::StoredConversations;
use inbox::Voice;
use talk::Talk;

use crate::calls::Calls;
use crate::calls::run::Work::{Change, Read, Search, Setting};
use crate::config::live::{InvalidFile, Live};
use crate::config::models::ChosenModels;
use crate::protocol::{
    acp::*, as_of::*, attachments::*, complete::*, conversations::*, diff::*, host::*, inbox::*,
    maintenance::*, models::*, names::*, organize::*, policy::*, prompts::*, proposals::*,
    resolve_link::*, session::*, settings::*, status::*, timeline::*, tools::*, workflows::*,
};
use crate::server::table::Table;
use crate::server::table::Who::{Anyone, Person, PersonOrAcp};
use crate::store::Store;
use crate::workflows::Workflows;

pub struct Services {
    pub calls: Calls,
    pub talk: Arc<Talk>,
    /// The settings, kept up to date.
    pub live: Arc<Live>,
    /// The models named in the settings.
    pub models: ChosenModels,
    pub conversations: StoredConversations,
    /// The messages that arrive by voice.
    pub voice: Arc<dyn Voice>,
    pub workflows: Workflows,
    pub confinement: Confinement,
    /// How third-party programs can be confined here.
    pub confines: Confinement,
    /// The limits of the file system and the problems found at the start, for `status`.
    pub warnings: Vec<String>,
}

impl Services {
    /// The store of conversations and messages.
    fn store(&self) -> &Store {
        self.talk.conversations().store()
    }

    /// Tells the agent and the display about a message that a person moved.
    fn moved(&self, moved: InboxResult) -> InboxResult {
        if let Ok(number) = i64::try_from(moved.message.id) {
            self.voice.moved(number);
        }
        moved
    }
}

/// Every method: who may call it, its queue, and its handler.
pub fn table() -> Table<Services> {
    Table::<Services>::default()
        .now::<ToolsListParams>(Anyone, |it, _, _| Ok(tools::list(&it.calls)))
        .on::<StatusParams>(Anyone, Read, |it, _, by| Ok(status::status(it, by)))
        .on::<SettingsGetParams>(Anyone, Read, |it, _, by| {
            Ok(settings::get(&it.live, by.scope(), &it.calls.view(by.scope())))
        })
        .on::<SettingsSetParams>(Person, Setting, |it, params, by| {
            settings::set(&it.live, by.scope(), &params.key, &params.value)
        })
        .later::<ModelsParams>(Person, |it, params, _| {
            Box::pin(models::models(Arc::clone(&it.live), it.models.clone(), params))
        })
        .later::<ModelKeyParams>(Person, |it, params, _| {
            Box::pin(models::set_key(Arc::clone(&it.live), it.models.clone(), params))
        })
        .on::<ModeParams>(Person, Read, |it, params, by| {
            policy::change_mode(&it.calls, &params, by.events())
        })
        .on::<ApprovalsParams>(Person, Read, |it, params, _| policy::approvals(&it.calls, &params))
        .on::<PendingParams>(Person, Read, |_, params, by| policy::pending(by.approvals(), &params))
        .on::<AnswerParams>(Person, Setting, |_, params, by| {
            policy::answer(by.approvals(), &params, &by.client.name)
        })
        .on::<AuditParams>(Person, Read, |it, params, _| policy::audit(&it.calls, params))
        .on_change::<TrashEmptyParams>(
            Person,
            |params| params.dry_run,
            |it, params, _| maintenance::empty_trash(&it.calls, &params),
        )
        .on::<JournalVerifyParams>(Anyone, Search, |it, _, by| {
            // Lists ids and hashes of all stored texts.
            if !it.calls.view(by.scope()).is_all() {
                Person.admit(by.scope())?;
            }
            maintenance::verify_journal(it.calls.context())
        })
        .on_change::<JournalGcParams>(
            Person,
            |params| params.dry_run,
            |it, params, _| maintenance::free_journal(it.calls.context(), &params),
        )
        .on::<DiffParams>(Person, Read, |it, params, by| {
            let (context, most) = (it.calls.context(), by.max_bytes / 2);
            match (&params.path, params.change_set, params.question) {
                (Some(path), None, None) => as_of::between(context, path, &params, most),
                _ => diff::diff(&context.journal, by.approvals(), &params, most),
            }
        })
        .on::<AsOfParams>(Person, Search, |it, params, by| {
            as_of::as_of(it.calls.context(), &params, by.max_bytes / 2)
        })
        .on::<TimelineParams>(Person, Search, |it, params, _| {
            timeline::timeline(&it.calls, &params)
        })
        .on::<CompleteParams>(Person, Read, |it, params, _| {
            Ok(complete::complete(it.calls.context(), &params))
        })
        .on::<ResolveLinkParams>(Person, Read, |it, params, _| {
            resolve_link::resolve_link(it.calls.context(), &params)
        })
        .on::<PromptsParams>(Person, Read, |it, _, by| {
            prompts::list(&it.calls, &by.client.caller(), &by.cancel)
        })
        .on::<PromptGetParams>(Person, Read, |it, params, by| {
            prompts::get(&it.calls, &params, &by.client.caller(), &by.cancel)
        })
        .on::<ProposalsListParams>(Person, Search, |it, params, _| {
            proposals::list(it.talk.conversations(), &params)
        })
        .on::<ProposalsRejectParams>(Person, Setting, |it, params, _| {
            proposals::reject(it.talk.conversations(), &params)
        })
        .on::<ProposalsApplyParams>(Person, Change, |it, params, by| {
            let conversations = it.talk.conversations();
            proposals::apply(&it.calls, conversations, &params, &by.client, None, &by.cancel)
        })
        .on::<HostRequestParams>(Person, Read, |it, params, by| {
            host::request(&it.calls, by.hosts(), params, &by.cancel)
        })
        .on::<InboxListParams>(Person, Read, |it, params, _| inbox::list(it.store(), &params))
        .on::<InboxRetryParams>(Person, Setting, |it, params, _| {
            inbox::retry(it.store(), &params).map(|moved| it.moved(moved))
        })
        .on::<InboxDiscardParams>(Person, Setting, |it, params, _| {
            inbox::discard(it.store(), &params).map(|moved| it.moved(moved))
        })
        .on::<SessionNewParams>(Anyone, Setting, |it, params, by| it.talk.new_session(&params, by))
        .later::<SessionPromptParams>(Anyone, |it, params, by| it.talk.prompt(params, by))
        .on_cancel(|it, params, by| it.talk.cancel(params, by))
        .on::<SessionListParams>(PersonOrAcp, Read, |it, params, by| {
            let most = by.max_bytes.saturating_sub(listing::FRAME);
            it.conversations.list(&params, by.scope(), most)
        })
        .on::<SessionLoadParams>(PersonOrAcp, Read, |it, params, by| {
            it.conversations.load(params, it.talk.sessions(), by)
        })
        .on::<AuthenticateParams>(PersonOrAcp, Read, |it, params, _| {
            // The settings file may have changed just now.
            it.live.check(InvalidFile::Ignore);
            it.talk.sessions().authenticate(&params)
        })
        .on::<SessionResumeParams>(PersonOrAcp, Read, |it, params, by| {
            it.talk.sessions().resume(&params, by)
        })
        .on::<SessionCloseParams>(PersonOrAcp, Setting, |it, params, by| it.talk.close(&params, by))
        .on::<SessionDeleteParams>(PersonOrAcp, Setting, |it, params, by| {
            it.talk.sessions().delete(&params, by)
        })
        .on::<SetModeParams>(PersonOrAcp, Setting, |it, params, by| {
            it.talk.sessions().set_mode(&params, by)
        })
        .on::<SetConfigOptionParams>(PersonOrAcp, Setting, |it, params, by| {
            it.talk.sessions().set_option(&params, by)
        })
        // Leaves room for the escapes that JSON adds to texts.
        .on::<ConversationParams>(Person, Read, |it, params, by| {
            it.conversations.show(params, by.max_bytes / 2)
        })
        .on::<AttachmentsParams>(Person, Search, |it, params, _| {
            attachments::attachments(it.talk.conversations(), &params)
        })
        .on::<EndParams>(Person, Setting, |it, params, _| it.conversations.end(params))
        .on::<ForkParams>(Person, Setting, |it, params, _| it.conversations.fork(params))
        .on::<SearchConversationsParams>(Person, Read, |it, params, _| {
            it.conversations.search(params)
        })
        .on::<DeleteConversationParams>(Person, Setting, |it, params, _| {
            it.conversations.delete(params)
        })
        .on::<RenameConversationParams>(Person, Setting, |it, params, _| {
            it.conversations.rename(params)
        })
        .on::<ExportConversationParams>(Person, Change, |it, params, by| {
            export::into_vault(&it.calls, &it.conversations, params, &by.client)
        })
        .later::<OrganizeDraftParams>(Person, |it, params, by| {
            drafts::draft(&it.calls, &it.models, &it.store().usage, params, by)
        })
        .later::<NamesSuggestParams>(Person, |it, params, by| {
            name_suggestions::suggest(&it.calls, &it.models, &it.store().usage, params, by)
        })
        .on::<OrganizeStopParams>(Person, Setting, |it, params, _| jobs::stop(&it.calls, &params))
        .on::<RulesListParams>(Person, Read, |it, params, _| rules::list(&it.calls, &params))
        .on::<RulesEnableParams>(Person, Search, |it, params, by| {
            rules::enable(&it.calls, params, &by.client.name)
        })
        .on::<RulesDisableParams>(Person, Setting, |it, params, _| {
            rules::disable(&it.calls, &params)
        })
        .on::<RulesDescribeParams>(Person, Search, |it, params, _| {
            rules::describe(&it.calls, &params)
        })
        .on::<RulesMarksParams>(Person, Setting, |it, params, _| rules::marks(&it.calls, params))
        .later::<WorkflowRunParams>(Person, |it, params, by| {
            workflows::run(&it.workflows, &it.models, &it.store().usage, params, by)
        })
        .later::<WorkflowResumeParams>(Person, |it, params, by| {
            workflows::resume(&it.workflows, &it.models, &it.store().usage, params, by)
        })
        .on::<WorkflowListParams>(Person, Read, |it, params, _| {
            workflows::list(&it.workflows, &params)
        })
        .on::<UsageParams>(Person, Read, |it, params, _| it.conversations.usage(params))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::protocol::{METHODS, MethodParams as _, initialize::InitializeParams};

    use super::*;

    #[test]
    fn each_method_has_a_handler_and_allowed_callers() {
        let names: BTreeSet<&str> = table().names().map(|(name, _)| name).collect();
        let opens = [InitializeParams::METHOD];
        assert_eq!(
            names.union(&opens.into()).copied().collect::<BTreeSet<_>>(),
            METHODS.iter().copied().collect()
        );
        let anyone: Vec<&str> =
            table().names().filter(|(_, who)| *who == Anyone).map(|(name, _)| name).collect();
        assert_eq!(
            anyone,
            [
                "_vault/journal/verify",
                "_vault/ping",
                "_vault/settings/get",
                "_vault/status",
                "_vault/subscribe",
                "session/new",
                "session/prompt",
                "tools/call",
                "tools/list",
            ]
        );
    }
}
