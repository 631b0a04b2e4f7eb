//! The agent as the local door shows it: what clients say to it, and what they are told.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::asking;
use crate::agent::entry::Said;
use crate::agent::ports::{Audience, Later, MemoryError, Place, Told, What};
use crate::agent::prompt::Moment;
use crate::agent::toolbox::Person;
use crate::agent::turn::{self, End, Reason, Severity, Show};
use crate::agent::{Agent, Answered, Conversations, PromptError, foreign_source, is_foreign};
use crate::calls::{Calls, Decision, Question};
use crate::conversation::ConversationId;
use crate::journal::ListedSet;
use crate::llm::{ToolArgs, ToolCall};
use crate::policy::Scope;
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::permission::PermissionLocation;
use crate::protocol::session::{
    Cost, MessageKind, PromptContent, PromptResultMeta, PromptResultVaultMeta, SessionCancelParams,
    SessionNewParams, SessionNewResult, SessionPromptParams, SessionPromptResult, SessionState,
    SessionUpdate, StopReason, ToolCallContent, ToolCallMeta, ToolCallStatus, ToolCallVaultMeta,
    UserMessageMeta, UserMessageVaultMeta,
};
use crate::protocol::tools::Content;
use crate::server::approvals::Approvals;
use crate::server::backend::{self, Speaker};
use crate::server::events::{Event, Events, SessionTold};
use crate::tools;
use crate::vault::{ChangeKind, Kind as EntryKind, Vault, VaultChange, Want};

/// The longest message, in characters.
const MAX_CHARS: usize = 200_000;

/// Characters of a name that a client gives.
const MAX_NAME: usize = 100;

/// Characters of a tool's answer that clients are shown as text; programs get all of it.
pub(super) const SHOWN: usize = 20_000;

/// Changes by others that are remembered.
const NEWS: usize = 500;

/// How near to a change of ours one that is seen is taken for it.
const OURS: Duration = Duration::from_secs(5);

/// Told of what happens in turns.
type Hearer = Box<dyn Fn(&Told) + Send + Sync>;

/// The way from the agent to clients; leads nowhere until the server is there.
#[derive(Default)]
pub struct Doors {
    server: OnceLock<(Events, Approvals)>,
    /// Who else is told all of it.
    hearer: OnceLock<Hearer>,
    root: PathBuf,
}

impl Doors {
    /// Of the vault at `root`.
    pub fn new(root: &Path) -> Self {
        Self { server: OnceLock::new(), hearer: OnceLock::new(), root: root.to_owned() }
    }

    /// Has `hear` told of everything that happens in turns; it must be quick.
    pub fn tell_too(&self, hear: Box<dyn Fn(&Told) + Send + Sync>) {
        let _ = self.hearer.set(hear);
    }

    /// Opens the way.
    pub fn open(&self, events: Events, approvals: Approvals) {
        let _ = self.server.set((events, approvals));
    }
}

impl Person for Doors {
    fn ask(&self, question: &Question, call: String) -> Later<(Decision, String)> {
        let Some((_, approvals)) = self.server.get() else {
            return Box::pin(std::future::ready((Decision::Nobody, String::new())));
        };
        let mut params = asking::params(question, &self.root);
        params.tool_call.tool_call_id = call;
        // Who speaks to a microphone may be on the way to the screen; nobody else would come for it.
        let waits = question.caller().scope == Scope::Voice;
        Box::pin(approvals.ask(params, asking::patience(question), waits))
    }
}

impl Audience for Doors {
    fn tell(&self, told: Told) {
        if let Some(hear) = self.hearer.get() {
            hear(&told);
        }
        let Some((events, _)) = self.server.get() else { return };
        let Told { conversation, turn, what } = told;
        let (turn, from) = (turn.to_string(), speaker(&what));
        for told in shown(&turn, what, &self.root) {
            let (session, turn) = (conversation.to_string(), Some(turn.clone()));
            events.publish(Event::Session { session, turn, told, from });
        }
    }
}

fn speaker(what: &What) -> Option<u64> {
    match what {
        What::Show(Show::User(said)) => said.from,
        _ => None,
    }
}

/// What happened in a turn, in the protocol's words.
pub fn shown(turn: &str, what: What, root: &Path) -> Vec<SessionTold> {
    let state = |state, queued: usize| SessionTold::State {
        state,
        queued: u32::try_from(queued).unwrap_or(u32::MAX),
        waiting: false,
        stop_reason: None,
        error: None,
    };
    vec![match what {
        What::Show(show) => return shown_in(turn, show, root),
        What::Running { queued } => state(SessionState::Running, queued),
        What::RequiresAction { queued } => state(SessionState::RequiresAction, queued),
        What::Ended { end } => SessionTold::State {
            state: SessionState::Idle,
            queued: u32::try_from(end.unheard.len()).unwrap_or(u32::MAX),
            waiting: end.reason == Reason::Waiting,
            stop_reason: stop_reason(end.reason),
            error: (end.reason == Reason::Failed).then(|| failure(&end)),
        },
        What::Usage { used, size, cost } => {
            let cost = cost.map(|amount| Cost { amount, currency: "USD".to_owned() });
            SessionTold::Update(SessionUpdate::UsageUpdate { used, size, cost })
        }
    }]
}

fn shown_in(turn: &str, show: Show, root: &Path) -> Vec<SessionTold> {
    let text = |text| Content::Text { text };
    let named = |call: &str| format!("{turn}/{call}");
    let update = match show {
        Show::User(said) => user_message(said.id, said.text, said.source, said.client_id),
        Show::Again(said) => SessionUpdate::Notice {
            severity: "info".to_owned(),
            title: "a message is worked on once more".to_owned(),
            description: Some(said.text),
        },
        Show::Text { id, delta } => {
            SessionUpdate::AgentMessageChunk { content: text(delta), message_id: id }
        }
        Show::Thought { id, delta } => {
            SessionUpdate::AgentThoughtChunk { content: text(delta), message_id: id }
        }
        Show::Void { id } => {
            let (kind, text) = (MessageKind::Void, String::new());
            return vec![SessionTold::Message { id, kind, text }];
        }
        Show::Message { id, text, kind } => {
            let kind = match kind {
                turn::MessageKind::Answer => MessageKind::Answer,
                turn::MessageKind::Part => MessageKind::Part,
                turn::MessageKind::Sent => MessageKind::Sent,
                turn::MessageKind::Question => MessageKind::Question,
            };
            return vec![SessionTold::Message { id, kind, text }];
        }
        Show::Call { call } => tool_call(named(&call.id), &call, root),
        Show::Running { call } => update_of(named(&call), ToolCallStatus::InProgress),
        Show::Asking { call, title } => SessionUpdate::ToolCallUpdate {
            tool_call_id: named(&call),
            status: ToolCallStatus::Pending,
            title: Some(title),
            content: Vec::new(),
            raw_output: None,
        },
        Show::Result { call, called } => {
            let status = match called.is_error {
                true => ToolCallStatus::Failed,
                false => ToolCallStatus::Completed,
            };
            let text: String = called.text.chars().take(SHOWN).collect();
            let content = vec![ToolCallContent::Content { content: Content::Text { text } }];
            SessionUpdate::ToolCallUpdate {
                tool_call_id: named(&call),
                status,
                title: None,
                content,
                raw_output: Some(called.data).filter(|data| !data.is_null()),
            }
        }
        Show::Notice { severity, title, text } => {
            let severity = match severity {
                Severity::Info => "info",
                Severity::Warning => "warning",
                Severity::Error => "error",
            };
            SessionUpdate::Notice { severity: severity.to_owned(), title, description: text }
        }
    };
    vec![SessionTold::Update(update)]
}

/// A person's message, as it is told.
pub fn user_message(
    id: String,
    text: String,
    source: String,
    client_message_id: Option<String>,
) -> SessionUpdate {
    SessionUpdate::UserMessageChunk {
        content: Content::Text { text },
        message_id: id,
        meta: Some(UserMessageMeta { vault: UserMessageVaultMeta { source, client_message_id } }),
    }
}

/// A call, as it is told when it begins.
pub fn tool_call(id: String, call: &ToolCall, root: &Path) -> SessionUpdate {
    let arguments = match &call.args {
        ToolArgs::Object(arguments) => Value::Object(arguments.clone()),
        ToolArgs::Invalid(text) => Value::String(text.clone()),
    };
    let known = tools::definitions().iter().find(|tool| tool.name == call.name);
    let title = known.map_or(&*call.name, |tool| tool.title);
    let keys = ["path", "source", "destination", "pattern", "name"];
    let named: Vec<&str> = keys.iter().filter_map(|key| arguments[*key].as_str()).collect();
    let title = match named.first() {
        Some(named) => format!("{title}: {}", named.chars().take(120).collect::<String>()),
        None => title.to_owned(),
    };
    let paths = keys[..3].iter().filter_map(|key| arguments[*key].as_str());
    // A path that leads out is refused by the tool; here it is only not told.
    let inside = paths.filter(|path| !Path::new(path).is_absolute() && !path.contains(".."));
    let locations = inside
        .map(|path| PermissionLocation { path: root.join(path).to_string_lossy().into_owned() });
    let kind = match &*call.name {
        "delete" => "delete",
        "move" => "move",
        name if name.starts_with("search") || name.starts_with("list") => "search",
        name if name.starts_with("get") || name.starts_with("read") => "read",
        "directory_tree" => "read",
        "send_message" | "end_conversation" | "undo" | "restore" => "other",
        _ if known.is_some() => "edit",
        _ => "other",
    };
    SessionUpdate::ToolCall {
        tool_call_id: id,
        title,
        kind: kind.to_owned(),
        status: ToolCallStatus::Pending,
        locations: locations.collect(),
        raw_input: arguments,
        meta: ToolCallMeta { vault: ToolCallVaultMeta { tool: call.name.clone() } },
    }
}

fn update_of(tool_call_id: String, status: ToolCallStatus) -> SessionUpdate {
    let (title, content, raw_output) = (None, Vec::new(), None);
    SessionUpdate::ToolCallUpdate { tool_call_id, status, title, content, raw_output }
}

fn stop_reason(reason: Reason) -> Option<StopReason> {
    Some(match reason {
        Reason::Done | Reason::Waiting | Reason::Ended => StopReason::EndTurn,
        Reason::MaxTokens => StopReason::MaxTokens,
        Reason::MaxRounds => StopReason::MaxTurnRequests,
        Reason::Refused => StopReason::Refusal,
        Reason::Cancelled => StopReason::Cancelled,
        Reason::Failed => return None,
    })
}

fn failure(end: &End) -> String {
    match &end.hint {
        Some(hint) => format!("{}\nhint: {hint}", end.words),
        None => end.words.clone(),
    }
}

/// Refuses to work in another folder than the vault at `root`, and to run programs for a client.
///
/// # Errors
/// Kind `invalid_params`.
#[expect(clippy::disallowed_methods, reason = "whether a client means the vault's own folder")]
pub(super) fn check_place(
    root: &Path,
    cwd: Option<&str>,
    mcp_servers: &[Value],
) -> Result<(), ErrorObject> {
    if !mcp_servers.is_empty() {
        let text = "no MCP servers are run for a client";
        return Err(ErrorObject::new(Kind::InvalidParams, text)
            .hint("leave `mcpServers` empty; the agent has the vault's own tools"));
    }
    let is_root = |cwd: &Path| cwd == root || cwd.canonicalize().is_ok_and(|real| real == root);
    if cwd.is_some_and(|cwd| !is_root(Path::new(cwd))) {
        let text = "the agent works in this vault alone";
        let hint = format!("leave `cwd` out, or make it `{}`", root.display());
        return Err(ErrorObject::new(Kind::InvalidParams, text).hint(hint));
    }
    Ok(())
}

/// What clients may ask of the agent.
pub struct Talk {
    agent: Agent,
    conversations: Conversations,
    root: PathBuf,
    /// Messages find their place in the order in which they came, and stop what was said before them.
    orders: OnceLock<mpsc::UnboundedSender<Order>>,
}

enum Order {
    Say(Message),
    Stop(ConversationId),
}

struct Message {
    said: Said,
    to: Option<ConversationId>,
    answered: oneshot::Sender<Result<backend::Later<Answered>, ErrorObject>>,
}

impl Talk {
    /// With this agent.
    pub fn new(agent: Agent, conversations: Conversations, root: &Path) -> Self {
        let orders = OnceLock::new();
        Self { agent, conversations, root: root.to_owned(), orders }
    }

    /// The agent.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The conversations.
    pub fn conversations(&self) -> &Conversations {
        &self.conversations
    }

    /// Begins a conversation, which is the current one of such callers from then on.
    ///
    /// # Errors
    /// Kinds `invalid_params` and `failed`.
    pub fn new_session(
        &self,
        params: &SessionNewParams,
        by: Scope,
    ) -> Result<SessionNewResult, ErrorObject> {
        check_place(&self.root, params.cwd.as_deref(), &params.mcp_servers)?;
        let source = if by.is_person() { "chat".to_owned() } else { foreign_source(by) };
        let begun = self.conversations.open_new(&source).map_err(|error| {
            ErrorObject::new(Kind::Failed, error.to_string()).hint(error.hint())
        })?;
        Ok(SessionNewResult { session_id: begun.id.to_string() })
    }

    /// Stops the turn of a conversation; of one where none is at work there is nothing to stop.
    pub fn cancel(&self, params: &SessionCancelParams) {
        if let Ok(id) = params.session_id.parse() {
            // Behind the messages that came before it, so that it stops their turn too.
            let _ = self.orders().send(Order::Stop(id));
        }
    }

    /// Says something to the agent.
    pub fn prompt(
        &self,
        params: SessionPromptParams,
        speaker: &Speaker,
    ) -> backend::Later<SessionPromptResult> {
        let queued = self.queued(params, speaker);
        Box::pin(async move {
            let answered = queued?.await.map_err(|_| ending())??;
            result(answered.await?)
        })
    }

    /// Hands a message on, in its turn.
    fn queued(
        &self,
        params: SessionPromptParams,
        speaker: &Speaker,
    ) -> Result<oneshot::Receiver<Result<backend::Later<Answered>, ErrorObject>>, ErrorObject> {
        let to = match &params.session_id {
            None => None,
            Some(id) => Some(id.parse().map_err(|_| unknown(id))?),
        };
        let said = said(params, speaker, &self.root)?;
        let (answered, waiting) = oneshot::channel();
        let message = Message { said, to, answered };
        self.orders().send(Order::Say(message)).map_err(|_| ending())?;
        Ok(waiting)
    }

    fn orders(&self) -> &mpsc::UnboundedSender<Order> {
        self.orders.get_or_init(|| {
            let (orders, waiting) = mpsc::unbounded_channel();
            // Nobody who goes away takes a message with them that is half put in its place.
            tokio::spawn(carry_out_all(self.agent.clone(), waiting));
            orders
        })
    }
}

async fn carry_out_all(agent: Agent, mut orders: mpsc::UnboundedReceiver<Order>) {
    while let Some(order) = orders.recv().await {
        let Message { said, to, answered } = match order {
            Order::Say(message) => message,
            Order::Stop(conversation) => {
                if let Err(error) = agent.stop(conversation).await {
                    tracing::error!(%error, %conversation, "a turn could not be given up");
                }
                continue;
            }
        };
        let placed = agent.say(said, to).await.map_err(refused);
        let _ = answered.send(placed.map(|waiting| -> backend::Later<Answered> {
            Box::pin(async move { waiting.await.map_err(refused) })
        }));
    }
}

fn said(params: SessionPromptParams, speaker: &Speaker, root: &Path) -> Result<Said, ErrorObject> {
    let invalid = |text: String| ErrorObject::new(Kind::InvalidParams, text);
    let mut texts = Vec::new();
    for piece in params.prompt {
        texts.push(match piece {
            PromptContent::Text { text } => text,
            PromptContent::ResourceLink { uri, .. } => {
                let path = uri.strip_prefix("file://").unwrap_or(&uri);
                let path = Path::new(path).strip_prefix(root).unwrap_or(Path::new(path));
                format!("(the note `{}` is meant)", path.display())
            }
            PromptContent::Other => {
                return Err(invalid("the agent takes text and links to notes only".to_owned())
                    .hint("send pieces of the type `text` or `resource_link`"));
            }
        });
    }
    let text = texts.join("\n").trim().to_owned();
    if text.is_empty() {
        return Err(invalid("the message is empty".to_owned()));
    }
    let long = text.chars().count();
    if long > MAX_CHARS {
        return Err(invalid(format!(
            "the message has {long} characters, and {MAX_CHARS} are taken"
        ))
        .hint("put a long text into a note and name the note"));
    }
    let ours = params.meta.and_then(|meta| meta.vault).unwrap_or_default();
    let name = |text: String| -> Result<String, ErrorObject> {
        match text.chars().count() <= MAX_NAME && !text.chars().any(char::is_control) {
            true => Ok(text),
            false => Err(invalid(format!("a name is one line of at most {MAX_NAME} characters"))),
        }
    };
    let source = ours.source.map(name).transpose()?.unwrap_or_else(|| "chat".to_owned());
    // Where a program's words came from is what its token says, not what it says itself.
    let source = match speaker.scope.is_person() {
        true if is_foreign(&source) => {
            return Err(invalid("a person's words do not come from a token".to_owned())
                .hint("leave `source` out"));
        }
        true => source,
        false => foreign_source(speaker.scope),
    };
    let heard = (source == "voice").then_some(Scope::Voice);
    Ok(Said {
        id: String::new(),
        text,
        scope: heard.map_or(speaker.scope, |heard| heard.max(speaker.scope)),
        source,
        from: Some(speaker.connection),
        client_id: ours.client_message_id.map(name).transpose()?.filter(|id| !id.is_empty()),
        note: None,
    })
}

fn result(answered: Answered) -> Result<SessionPromptResult, ErrorObject> {
    let Answered { conversation, turn, reason, words, hint, answer, .. } = answered;
    let detail = json!({ "sessionId": conversation.to_string(), "turn": turn.to_string() });
    let Some(reason) = reason else {
        let text = "the steward ended in the middle of the turn";
        return Err(ErrorObject::new(Kind::Failed, text)
            .hint("what was changed by then stands: see list_changes; ask it to go on")
            .detail(detail));
    };
    let Some(stop_reason) = stop_reason(reason) else {
        let error = ErrorObject::new(Kind::ModelFailed, words).detail(detail);
        return Err(match hint {
            Some(hint) => error.hint(hint),
            None => error,
        });
    };
    let vault = PromptResultVaultMeta {
        session_id: conversation.to_string(),
        turn: turn.to_string(),
        answer,
        waiting: reason == Reason::Waiting,
    };
    Ok(SessionPromptResult { stop_reason, meta: PromptResultMeta { vault } })
}

fn unknown(id: &str) -> ErrorObject {
    let id: String = id.chars().take(40).collect();
    let text = format!("there is no conversation `{}`", id.escape_debug());
    ErrorObject::new(Kind::UnknownSession, text).hint("`session/new` begins one")
}

fn refused(error: PromptError) -> ErrorObject {
    match error {
        PromptError::Memory(MemoryError::NotFound { id }) => unknown(&id.to_string()),
        PromptError::Memory(MemoryError::Broken { message, hint }) => {
            let error = ErrorObject::new(Kind::Failed, message);
            match hint {
                Some(hint) => error.hint(hint),
                None => error,
            }
        }
        PromptError::Full => {
            ErrorObject::new(Kind::Overloaded, error.to_string()).retry_after_ms(1_000)
        }
        PromptError::Refused { failed, .. } => {
            let hint = match failed {
                false => "it is a rule of the user's; the message is not kept",
                true => "`steward status` says what went wrong; the message is not kept",
            };
            ErrorObject::new(Kind::NotPermitted, error.to_string()).hint(hint)
        }
        PromptError::Ending => ending(),
    }
}

fn ending() -> ErrorObject {
    ErrorObject::new(Kind::Failed, "the steward ends").hint("what was said is kept")
}

/// The vault around the agent, and what others do in it.
pub struct Surroundings {
    calls: Calls,
    news: Mutex<News>,
}

#[derive(Default)]
struct News {
    /// How many changes there have been.
    count: u64,
    /// The last of them: its number, when, the path, in words.
    last: VecDeque<(u64, Instant, String, String)>,
    /// What the steward itself changed, and when.
    ours: VecDeque<(Instant, String)>,
    /// Up to which change each conversation was told.
    told: HashMap<ConversationId, u64>,
}

impl Surroundings {
    /// Of the vault that `calls` works on.
    pub fn new(calls: Calls) -> Self {
        Self { calls, news: Mutex::default() }
    }

    /// Takes in a change of the vault.
    pub fn changed(&self, change: &VaultChange) {
        if change.entry != EntryKind::File {
            return;
        }
        let path = change.path.as_str().to_owned();
        let words = match &change.kind {
            ChangeKind::Created => format!("created `{path}`"),
            ChangeKind::Modified => format!("edited `{path}`"),
            ChangeKind::Removed => format!("removed `{path}`"),
            ChangeKind::Renamed { from } => format!("renamed `{from}` to `{path}`"),
        };
        let mut news = self.news();
        news.count += 1;
        let count = news.count;
        news.last.retain(|(.., known)| *known != words);
        news.last.push_back((count, Instant::now(), path, words));
        while news.last.len() > NEWS {
            news.last.pop_front();
        }
    }

    /// Takes in what the steward has changed, which is no news to the agent.
    pub fn applied(&self, set: &ListedSet) {
        let mut news = self.news();
        let now = Instant::now();
        for change in &set.changes {
            let paths = [Some(&change.path), change.from.as_ref()];
            news.ours
                .extend(paths.into_iter().flatten().map(|path| (now, path.as_str().to_owned())));
        }
        while news.ours.len() > NEWS {
            news.ours.pop_front();
        }
    }

    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn vault(&self) -> &Vault {
        &self.calls.context().vault
    }
}

impl Place for Surroundings {
    fn vault(&self) -> String {
        self.vault().name().to_owned()
    }

    fn moment(&self, conversation: ConversationId) -> Moment {
        let mut news = self.news();
        let count = news.count;
        // A conversation that begins is told nothing: it has seen nothing yet.
        let since = news.told.insert(conversation, count).unwrap_or(count);
        let is_ours = |when: Instant, path: &str| {
            news.ours.iter().any(|(ours, changed)| {
                let apart = when.max(*ours).duration_since(when.min(*ours));
                changed == path && apart < OURS
            })
        };
        let others = news
            .last
            .iter()
            .filter(|(number, when, path, _)| *number > since && !is_ours(*when, path));
        let told = others.map(|(.., words)| words.clone()).collect();
        drop(news);
        Moment {
            now: self.calls.context().clock.now(),
            active_note: self.vault().active_note().map(|note| note.path),
            news: told,
        }
    }

    fn note(&self, path: &str) -> Option<(String, String)> {
        let vault = self.vault();
        let found = vault.resolve(path, Want::File).ok()?;
        let text = match vault.read(&found.path) {
            Ok(read) => String::from_utf8_lossy(&read.bytes).into_owned(),
            Err(error) => {
                tracing::warn!(%error, "the note with instructions cannot be read");
                return None;
            }
        };
        Some((found.path.as_str().to_owned(), text))
    }
}
