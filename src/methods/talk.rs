//! What clients say to the agent: checked, put into the order in which it came, and answered.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::prompt::said;
use super::told::stop_reason;
use crate::agent::entry::Said;
use crate::agent::ports::MemoryError;
use crate::agent::turn::Reason;
use crate::agent::{Agent, Answered, Conversations, PromptError, Received, foreign_source};
use crate::conversation::ConversationId;
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::session::{
    PromptResultMeta, PromptResultVaultMeta, SessionCancelParams, SessionNewParams,
    SessionNewResult, SessionPromptParams, SessionPromptResult,
};
use crate::server::table::{Client, Context, Later};

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
    Say(Box<Message>),
    Stop(ConversationId),
}

struct Message {
    said: Said,
    to: Option<ConversationId>,
    answered: Teller,
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

    /// Begins a conversation, which is the current one of such callers from then on; may block.
    ///
    /// # Errors
    /// Kinds `invalid_params` and `failed`.
    pub fn new_session(
        &self,
        params: &SessionNewParams,
        context: &Context,
    ) -> Result<SessionNewResult, ErrorObject> {
        context.listen();
        let by = context.scope();
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

    /// Says something to the agent; the answer comes when the turn is over. It has its place in the
    /// order of these calls, whether anybody waits or not.
    pub fn prompt(
        &self,
        params: SessionPromptParams,
        context: &Context,
    ) -> Later<SessionPromptResult> {
        context.listen();
        let queued = self.queued(params, &context.client);
        Box::pin(async move {
            let answered = queued?.await.map_err(|_| ending())??;
            result(answered.await?)
        })
    }

    /// Hands a message on, in its turn.
    fn queued(
        &self,
        params: SessionPromptParams,
        speaker: &Client,
    ) -> Result<oneshot::Receiver<Result<Later<Answered>, ErrorObject>>, ErrorObject> {
        let to = match &params.session_id {
            None => None,
            Some(id) => Some(id.parse().map_err(|_| unknown(id))?),
        };
        let said = said(params, speaker, &self.root)?;
        let (answered, waiting) = oneshot::channel();
        let message = Message { said, to, answered };
        self.orders().send(Order::Say(Box::new(message))).map_err(|_| ending())?;
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

/// Where a message's sender hears what became of it.
type Teller = oneshot::Sender<Result<Later<Answered>, ErrorObject>>;

async fn carry_out_all(agent: Agent, mut orders: mpsc::UnboundedReceiver<Order>) {
    // The last message of each connection that hooks are still asked about: those behind it wait for
    // it, and nobody else's do.
    let mut lanes: HashMap<Option<u64>, JoinHandle<()>> = HashMap::new();
    while let Some(order) = orders.recv().await {
        let Message { said, to, answered } = match order {
            Order::Say(message) => *message,
            Order::Stop(conversation) => {
                if let Err(error) = agent.stop(conversation).await {
                    tracing::error!(%error, %conversation, "a turn could not be given up");
                }
                continue;
            }
        };
        lanes.retain(|_, last| !last.is_finished());
        let lane = said.from;
        let received = match agent.receive(said, to).await {
            Ok(received) => received,
            Err(error) => {
                let _ = answered.send(Err(refused(error)));
                continue;
            }
        };
        let before = lanes.remove(&lane);
        if before.is_none() && !agent.asks_hooks() {
            place(&agent, received, answered).await;
            continue;
        }
        let agent = agent.clone();
        let last = tokio::spawn(async move {
            if let Some(before) = before {
                // One that broke is over, too.
                let _ = before.await;
            }
            place(&agent, received, answered).await;
        });
        lanes.insert(lane, last);
    }
}

async fn place(agent: &Agent, received: Received, answered: Teller) {
    let placed = agent.take(received).await.map_err(refused);
    let _ = answered.send(placed.map(|waiting| -> Later<Answered> {
        Box::pin(async move { waiting.await.map_err(refused) })
    }));
}

fn result(answered: Answered) -> Result<SessionPromptResult, ErrorObject> {
    let Answered { conversation, turn, reason, words, cause, hint, answer } = answered;
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
        no_model: reason == Reason::Done && cause.is_some(),
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
