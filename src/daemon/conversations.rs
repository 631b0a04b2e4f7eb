//! Conversations as the local door and the command line show them: where their types become those
//! of the wire.

use std::collections::BTreeSet;
use std::path::Path;

use super::replay::Replay;
use super::{history, listing, talk};
use crate::agent::conversations::{ConversationError, Excerpt};
use crate::agent::{ConversationEvent, Conversations, view};
use crate::conversation::title::plain;
use crate::conversation::{
    BranchId, Conversation, ConversationId, EndKind, Item, ItemKind, ItemNumber,
};
use crate::journal::Journal;
use crate::protocol::conversations::{
    BranchInfo, ConversationChange, ConversationInfo, ConversationParams, ConversationResult,
    DeleteConversationParams, DeleteConversationResult, EndParams, EndResult, ForkParams,
    ForkResult, FoundConversation, ItemInfo, RenameConversationParams, RenameConversationResult,
    SearchConversationsParams, SearchConversationsResult, SessionListParams, SessionLoadParams,
    SessionLoadResult, SessionMeta, UsageDay, UsageInfo, UsageParams, UsageResult,
};
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::session::{SessionUpdate, SessionUpdateParams};
use crate::server::backend::ConversationsBackend;
use crate::server::events::{Event, SessionTold};
use crate::store::conversations::Order;
use crate::store::usage::Used;

/// Conversations that a search finds where nothing is said, and at most.
const FOUND: u32 = 20;
const MOST_FOUND: u32 = 100;
/// Characters of a title.
const TITLE: usize = 200;
/// Characters of one thing said.
const SAID: usize = 100_000;

/// The conversations of one vault, for the server.
#[derive(Debug)]
pub struct KeptConversations {
    conversations: Conversations,
    /// The vault's folder.
    folder: String,
    /// Where changes of turns are looked up, for those who want them too.
    journal: Option<Journal>,
}

impl KeptConversations {
    /// The conversations of the vault in this folder.
    pub fn new(conversations: Conversations, folder: String) -> Self {
        Self { conversations, folder, journal: None }
    }

    /// With the journal, so that the changes of turns can be told.
    pub fn with_journal(mut self, journal: Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// The conversation that is meant; without a number the one that goes on.
    fn meant(&self, session: Option<&str>) -> Result<Option<ConversationId>, ErrorObject> {
        match session {
            Some(session) => numbered(session).map(Some),
            None => Ok(self.conversations.current().map_err(failed)?.map(|one| one.id)),
        }
    }
}

impl ConversationsBackend for KeptConversations {
    fn list(
        &self,
        params: SessionListParams,
        most: u64,
        json: &mut Vec<u8>,
    ) -> Result<(), ErrorObject> {
        if params.cwd.as_ref().is_some_and(|cwd| *cwd != self.folder) {
            listing::none(json);
            return Ok(());
        }
        listing::page(&self.conversations, &self.folder, &params, most, json)
    }

    fn load(
        &self,
        params: SessionLoadParams,
    ) -> Result<(Vec<SessionUpdateParams>, SessionLoadResult), ErrorObject> {
        let root = Path::new(&self.folder);
        talk::check_place(root, params.cwd.as_deref(), &params.mcp_servers)?;
        let id = numbered(&params.session_id)?;
        let conversation = self.conversations.get(id).map_err(failed)?;
        let history = self.conversations.history_with_gaps(id).map_err(failed)?;
        let history: Vec<Item> = history.into_iter().flatten().collect();
        let turns = self.conversations.turns(id).map_err(failed)?;
        let updates = Replay::new(&history, &turns, root, history.iter()).all(&history);
        let meta = SessionMeta { vault: info(conversation) };
        Ok((updates, SessionLoadResult { meta }))
    }

    fn show(
        &self,
        params: ConversationParams,
        most: u64,
    ) -> Result<ConversationResult, ErrorObject> {
        let Some(id) = self.meant(params.session_id.as_deref())? else {
            return Err(ErrorObject::new(Kind::UnknownSession, "no conversation goes on")
                .hint("`session/list` names those that ended"));
        };
        let conversation = self.conversations.get(id).map_err(failed)?;
        let branches = self.conversations.branches(id).map_err(failed)?;
        let items = match params.branch {
            None => self.conversations.history_with_gaps(id),
            Some(branch) => self.conversations.branch_with_gaps(id, BranchId(signed(branch))),
        };
        let items: Vec<Item> = items.map_err(failed)?.into_iter().flatten().collect();
        let root = Path::new(&self.folder);
        let turns = match params.updates {
            true => self.conversations.turns(id).map_err(failed)?,
            false => Vec::new(),
        };
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
            conversation: info(conversation),
            branches: branches.into_iter().map(branch).collect(),
            items: page.items,
            more: page.more,
            earlier: page.earlier,
            changes,
        })
    }

    fn end(&self, params: EndParams) -> Result<EndResult, ErrorObject> {
        let Some(id) = self.meant(params.session_id.as_deref())? else {
            return Ok(EndResult { session_id: None, ended: false });
        };
        let ended = self.conversations.end(id, EndKind::Person, &params.reason).map_err(failed)?;
        Ok(EndResult { session_id: Some(id.to_string()), ended })
    }

    fn fork(&self, params: ForkParams) -> Result<ForkResult, ErrorObject> {
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
        let branch = unsigned(branch.map_err(failed)?.0);
        Ok(ForkResult { session_id: id.to_string(), branch })
    }

    fn search(
        &self,
        params: SearchConversationsParams,
    ) -> Result<SearchConversationsResult, ErrorObject> {
        let limit = params.limit.unwrap_or(FOUND).clamp(1, MOST_FOUND);
        let found = self.conversations.search(&params.text, limit as usize).map_err(failed)?;
        let one = |found: crate::agent::Found| FoundConversation {
            conversation: info(found.conversation),
            places: found.excerpts.into_iter().map(place).collect(),
        };
        Ok(SearchConversationsResult { found: found.into_iter().map(one).collect() })
    }

    fn delete(
        &self,
        params: DeleteConversationParams,
    ) -> Result<DeleteConversationResult, ErrorObject> {
        match (params.session_id.as_deref(), params.all_ended) {
            (Some(session), false) => {
                let id = numbered(session)?;
                let conversation = self.conversations.get(id).map_err(failed)?;
                if !params.dry_run {
                    self.conversations.delete(id).map_err(failed)?;
                }
                Ok(DeleteConversationResult {
                    conversations: 1,
                    title: conversation.title,
                    deleted: !params.dry_run,
                })
            }
            (None, true) => {
                let conversations = if params.dry_run {
                    let ended = Order { open: Some(false), limit: u32::MAX, before: None };
                    self.conversations.list(&ended).map_err(failed)?.len()
                } else {
                    self.conversations.clear().map_err(failed)?
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

    fn rename(
        &self,
        params: RenameConversationParams,
    ) -> Result<RenameConversationResult, ErrorObject> {
        let id = numbered(&params.session_id)?;
        let title = plain(&params.title);
        let length = title.chars().count();
        if length == 0 || length > TITLE {
            let message = match length {
                0 => "the title is empty".to_owned(),
                length => format!("the title has {length} characters, and {TITLE} are taken"),
            };
            return Err(ErrorObject::new(Kind::InvalidParams, message)
                .hint("a title is one line that can be read at a glance"));
        }
        self.conversations.rename(id, &title).map_err(failed)?;
        Ok(RenameConversationResult { session_id: id.to_string(), title })
    }

    fn usage(&self, params: UsageParams) -> Result<UsageResult, ErrorObject> {
        let id = params.session_id.as_deref().map(numbered).transpose()?;
        let rows = self.conversations.usage(params.days, id).map_err(failed)?;
        let mut days: Vec<(UsageDay, Used, BTreeSet<ConversationId>)> = Vec::new();
        let mut total = Used::default();
        for row in rows {
            total.add(&row.used);
            // The rows come by day and model.
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

/// Something that happened to a conversation, as events: every client hears what, and those that show
/// it what it is called now.
pub fn events(event: &ConversationEvent) -> Vec<Event> {
    let (id, kind, conversation) = match event {
        ConversationEvent::Began(one) => (one.id, ConversationChange::Began, None),
        ConversationEvent::Ended(one) => (one.id, ConversationChange::Ended, Some(one)),
        ConversationEvent::Titled(one) => (one.id, ConversationChange::Titled, Some(one)),
        ConversationEvent::Noted(id, _) => (*id, ConversationChange::Noted, None),
        ConversationEvent::Deleted(id) => (*id, ConversationChange::Deleted, None),
    };
    let mut events = vec![Event::ConversationChanged { session_id: id.to_string(), kind }];
    events.extend(conversation.map(|one| Event::Session {
        session: id.to_string(),
        turn: None,
        told: SessionTold::Update(SessionUpdate::SessionInfoUpdate {
            title: one.title.clone(),
            updated_at: Some(local(one.last_active)),
        }),
        from: None,
    }));
    events
}

/// A conversation as clients see it.
pub fn info(one: Conversation) -> ConversationInfo {
    let (state, shown) = (one.state().word().to_owned(), one.shown().word().to_owned());
    let end = one.ended.as_ref();
    let (ended, ended_by) =
        (end.map(|end| local(end.at)), end.map(|end| end.kind.word().to_owned()));
    ConversationInfo {
        session_id: one.id.to_string(),
        title: one.title,
        summary: one.summary,
        titled_by: one.titled_by.map(|by| by.word().to_owned()),
        state,
        shown,
        question: one.waiting.map(|waiting| waiting.question),
        source: one.source,
        began: local(one.began),
        last_active: local(one.last_active),
        ended,
        ended_by,
        reason: one.ended.map(|end| end.reason).filter(|reason| !reason.is_empty()),
        branch: unsigned(one.branch.0),
        items: one.items,
    }
}

/// One thing that was said, in plain words.
pub(super) fn said(item: Item) -> ItemInfo {
    let (turn, branch, kind) = (item.turn, item.branch, item.kind);
    let said = view::said(item);
    // Where the text was cut, the client is told and not shown half of a result as the whole.
    let most = if kind == ItemKind::ToolResults { SAID / 10 } else { SAID };
    let end = said.text.char_indices().nth(most).map(|(at, _)| at);
    ItemInfo {
        item: unsigned(said.item.0),
        turn: turn.map(|turn| unsigned(turn.0)),
        branch: unsigned(branch.0),
        kind: kind.word().to_owned(),
        time: local(said.time),
        text: end.map_or(said.text.clone(), |end| said.text[..end].to_owned()),
        tools: said.tools,
        cut: end.is_some(),
        updates: Vec::new(),
    }
}

fn place(excerpt: Excerpt) -> ItemInfo {
    ItemInfo {
        item: unsigned(excerpt.item.0),
        turn: None,
        branch: unsigned(excerpt.branch.0),
        kind: excerpt.kind.word().to_owned(),
        time: local(excerpt.time),
        text: excerpt.text,
        tools: Vec::new(),
        cut: true,
        updates: Vec::new(),
    }
}

fn shown(used: &Used) -> UsageInfo {
    UsageInfo {
        requests: used.requests,
        input: used.input,
        cache_read: used.cache_read,
        cache_write: used.cache_write,
        output: used.output,
        cost_millionths: used.cost,
        unpriced: used.unpriced,
    }
}

/// A conversation's number as clients write it.
///
/// # Errors
/// Kind `unknown_session`: what is no number is no conversation.
pub fn numbered(session: &str) -> Result<ConversationId, ErrorObject> {
    session.parse().map_err(|_| {
        let shown: String = session.chars().take(80).collect();
        let message = format!("there is no conversation `{}`", shown.escape_debug());
        ErrorObject::new(Kind::UnknownSession, message).hint("`session/list` names them")
    })
}

/// Why something could not be done with a conversation, as the wire says it.
pub fn failed(error: ConversationError) -> ErrorObject {
    let kind = match error {
        ConversationError::NotFound { .. } => Kind::UnknownSession,
        ConversationError::NoMessage { .. } | ConversationError::NoBranch { .. } => Kind::NotFound,
        ConversationError::TurnRuns { .. } => Kind::TurnRunning,
        ConversationError::Store(_) => Kind::Failed,
    };
    ErrorObject::new(kind, error.to_string()).hint(error.hint())
}

fn local(milliseconds: i64) -> String {
    let time = chrono::DateTime::from_timestamp_millis(milliseconds).unwrap_or_default();
    time.with_timezone(&chrono::Local).to_rfc3339_opts(chrono::SecondsFormat::Secs, false)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(0)
}
