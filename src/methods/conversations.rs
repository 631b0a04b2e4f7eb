//! Conversations for clients and the command line, in the types of the wire.

use std::collections::BTreeSet;
use std::path::Path;

use super::info::{info, local, numbered, place, shown, signed, unsigned};
use super::replay::Replay;
use super::sessions::Sessions;
use super::{acp_replay, history, listing, talk};
use crate::agent::{Agent, Conversations, foreign_source};
use crate::conversation::title::plain;
use crate::conversation::{BranchId, Conversation, ConversationId, EndKind, Item, ItemNumber};
use crate::journal::Journal;
use crate::policy::Scope;
use crate::protocol::conversations::{
    BranchInfo, ConversationInfo, ConversationParams, ConversationResult, DeleteConversationParams,
    DeleteConversationResult, EndParams, EndResult, ForkParams, ForkResult, FoundConversation,
    RenameConversationParams, RenameConversationResult, SearchConversationsParams,
    SearchConversationsResult, SessionListParams, SessionListResult, SessionLoadParams,
    SessionLoadResult, SessionMeta, UsageDay, UsageParams, UsageResult,
};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::session::SessionUpdateParams;
use crate::server::table::Context;
use crate::store::conversations::Order;
use crate::store::usage::Used;

/// The default and the largest number of search results.
const FOUND: u32 = 20;
const MAX_FOUND: u32 = 100;
/// The most characters of a title.
const TITLE: usize = 200;

pub struct StoredConversations {
    conversations: Conversations,
    folder: String,
    /// Looks up the changes of turns, for callers that want them too.
    journal: Option<Journal>,
    /// Knows the user's own agents.
    agent: Option<Agent>,
}

impl StoredConversations {
    pub fn new(conversations: Conversations, folder: String) -> Self {
        Self { conversations, folder, journal: None, agent: None }
    }

    /// Adds the journal, so that the changes of turns can be reported.
    pub fn with_journal(mut self, journal: Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Adds the agent, so that the modes of the user's own agents can be reported.
    pub fn with_agent(mut self, agent: Agent) -> Self {
        self.agent = Some(agent);
        self
    }

    /// The mode of a conversation's own agent.
    fn agent_mode(&self, conversation: &Conversation) -> Option<String> {
        let agents = self.agent.as_ref()?.agents();
        let mode = agents.find(conversation.chosen.agent.as_deref()?).ok()?.mode?;
        Some(mode.word().to_owned())
    }

    /// The conversation with this id; without an id the current one.
    fn target(&self, session: Option<&str>) -> Result<Option<ConversationId>> {
        match session {
            Some(session) => numbered(session).map(Some),
            None => Ok(self.conversations.current()?.map(|one| one.id)),
        }
    }

    /// A page of conversations, the most recently active first, whose JSON has at most `most` bytes; but at least one
    /// conversation if there is any.
    pub fn list(
        &self,
        params: &SessionListParams,
        by: Scope,
        most: u64,
    ) -> Result<SessionListResult> {
        // An ACP client sees only conversations that ACP clients began.
        let source = (by == Scope::Acp).then(|| foreign_source(by));
        listing::page(&self.conversations, &self.folder, source.as_deref(), params, most)
    }

    /// Replays a conversation to the client and subscribes the client to its further events.
    pub fn load(
        &self,
        params: SessionLoadParams,
        sessions: &Sessions,
        context: &Context,
    ) -> Result<SessionLoadResult> {
        // Subscribes before reading, so that no event is lost.
        context.listen();
        let root = Path::new(&self.folder);
        let conversation = sessions.own(&params.session_id, context)?;
        let (id, cwd) = (conversation.id, params.cwd.as_deref());
        let choices = if context.is_acp() {
            Some(sessions.take_up(&conversation, cwd, &params.mcp_servers, context)?)
        } else {
            talk::check_place(root, cwd, &params.mcp_servers)?;
            None
        };
        context.hold(&params.session_id);
        let replay_updates = self.replay_history(id, context);
        context.replay(&params.session_id, replay_updates.as_deref().unwrap_or_default());
        replay_updates?;
        let meta = SessionMeta { vault: info(conversation) };
        Ok(SessionLoadResult { choices, meta })
    }

    fn replay_history(
        &self,
        id: ConversationId,
        context: &Context,
    ) -> Result<Vec<SessionUpdateParams>> {
        let root = Path::new(&self.folder);
        let history = self.conversations.history_with_gaps(id)?;
        let history: Vec<Item> = history.into_iter().flatten().collect();
        let turns = self.conversations.turns(id)?;
        let mut replay_updates = Replay::new(&history, &turns, root, history.iter()).all(&history);
        if context.is_acp() {
            acp_replay::complete(&mut replay_updates, self.journal.as_ref(), root);
        }
        Ok(replay_updates)
    }

    /// One conversation with its items, in an answer of about `most` bytes at most.
    pub fn show(&self, params: ConversationParams, most: u64) -> Result<ConversationResult> {
        let Some(id) = self.target(params.session_id.as_deref())? else {
            return Err(ErrorObject::new(Kind::UnknownSession, "there is no current conversation")
                .hint("`session/list` names those that ended"));
        };
        let conversation = self.conversations.get(id)?;
        let branches = self.conversations.branches(id)?;
        let items = match params.branch {
            None => self.conversations.history_with_gaps(id),
            Some(branch) => self.conversations.branch_with_gaps(id, BranchId(signed(branch))),
        };
        let items: Vec<Item> = items?.into_iter().flatten().collect();
        let root = Path::new(&self.folder);
        let turns = if params.updates { self.conversations.turns(id)? } else { Vec::new() };
        let page = history::page(items, &turns, &params, most, root);
        let changes = match &self.journal {
            Some(journal) if params.updates => {
                history::changes(journal, &id.to_string(), &page.turns)
            }
            _ => Vec::new(),
        };
        let branch = |branch: crate::store::conversations::Branch| BranchInfo {
            number: unsigned(branch.number.0),
            parent: branch.parent.map(|(parent, _)| unsigned(parent.0)),
            before: branch.parent.map(|(_, item)| unsigned(item.0)),
            began: local(branch.began),
            items: branch.items,
        };
        Ok(ConversationResult {
            conversation: ConversationInfo {
                agent_mode: self.agent_mode(&conversation),
                ..info(conversation)
            },
            branches: branches.into_iter().map(branch).collect(),
            items: page.items,
            more: page.more,
            earlier: page.earlier,
            changes,
        })
    }

    pub fn end(&self, params: EndParams) -> Result<EndResult> {
        let Some(id) = self.target(params.session_id.as_deref())? else {
            return Ok(EndResult { session_id: None, ended: false });
        };
        let ended = self.conversations.end(id, EndKind::Person, &params.reason)?;
        Ok(EndResult { session_id: Some(id.to_string()), ended })
    }

    /// Continues from before an earlier message, or on another branch.
    pub fn fork(&self, params: ForkParams) -> Result<ForkResult> {
        let id = numbered(&params.session_id)?;
        let branch = match (params.item, params.branch) {
            (Some(item), None) => self.conversations.fork(id, ItemNumber(signed(item))),
            (None, Some(branch)) => {
                let branch = BranchId(signed(branch));
                self.conversations.switch(id, branch).map(|()| branch)
            }
            _ => {
                return Err(ErrorObject::new(
                    Kind::InvalidParams,
                    "one of `item` and `branch` is needed, and not both",
                ));
            }
        };
        let branch = unsigned(branch?.0);
        Ok(ForkResult { session_id: id.to_string(), branch })
    }

    pub fn search(&self, params: SearchConversationsParams) -> Result<SearchConversationsResult> {
        let limit = params.limit.unwrap_or(FOUND).clamp(1, MAX_FOUND);
        let found = self.conversations.search(&params.text, limit as usize)?;
        let one = |found: crate::agent::ConversationMatch| FoundConversation {
            conversation: info(found.conversation),
            places: found.excerpts.into_iter().map(place).collect(),
        };
        Ok(SearchConversationsResult { found: found.into_iter().map(one).collect() })
    }

    pub fn delete(&self, params: DeleteConversationParams) -> Result<DeleteConversationResult> {
        match (params.session_id.as_deref(), params.all_ended) {
            (Some(session), false) => {
                let id = numbered(session)?;
                let conversation = self.conversations.get(id)?;
                if !params.dry_run {
                    self.conversations.delete(id)?;
                }
                Ok(DeleteConversationResult {
                    conversations: 1,
                    title: conversation.title,
                    deleted: !params.dry_run,
                })
            }
            (None, true) => {
                let conversations = if params.dry_run {
                    let ended = Order { open: Some(false), limit: u32::MAX, ..Order::default() };
                    self.conversations.list(&ended)?.len()
                } else {
                    self.conversations.clear()?
                };
                Ok(DeleteConversationResult {
                    conversations: conversations as u64,
                    title: None,
                    deleted: !params.dry_run,
                })
            }
            _ => Err(ErrorObject::new(
                Kind::InvalidParams,
                "one of `sessionId` and `allEnded` is needed, and not both",
            )),
        }
    }

    /// Gives a conversation a title chosen by a person.
    pub fn rename(&self, params: RenameConversationParams) -> Result<RenameConversationResult> {
        let id = numbered(&params.session_id)?;
        let title = plain(&params.title);
        let length = title.chars().count();
        if length == 0 || length > TITLE {
            let message = match length {
                0 => "the title is empty".to_owned(),
                length => format!("the title has {length} characters; the limit is {TITLE}"),
            };
            return Err(ErrorObject::new(Kind::InvalidParams, message)
                .hint("a title is one line that can be read at a glance"));
        }
        self.conversations.rename(id, &title)?;
        Ok(RenameConversationResult { session_id: id.to_string(), title })
    }

    pub fn usage(&self, params: UsageParams) -> Result<UsageResult> {
        let id = params.session_id.as_deref().map(numbered).transpose()?;
        let rows = self.conversations.usage(params.days, id)?;
        let mut days: Vec<(UsageDay, Used, BTreeSet<ConversationId>)> = Vec::new();
        let mut total = Used::default();
        for row in rows {
            total.add(&row.used);
            // The rows are sorted by day and model.
            match days.last_mut().filter(|(day, ..)| day.day == row.day && day.model == row.model) {
                Some((_, used, conversations)) => {
                    used.add(&row.used);
                    conversations.extend(row.conversation);
                }
                None => {
                    let day = UsageDay { day: row.day, model: row.model, ..UsageDay::default() };
                    days.push((day, row.used, row.conversation.into_iter().collect()));
                }
            }
        }
        let day = |(day, used, conversations): (UsageDay, Used, BTreeSet<ConversationId>)| {
            UsageDay { conversations: conversations.len() as u64, used: shown(&used), ..day }
        };
        Ok(UsageResult { days: days.into_iter().map(day).collect(), total: shown(&total) })
    }
}
