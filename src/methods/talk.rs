//! Messages and requests of clients to the agent: checked, queued in the order of arrival, and
//! answered.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::prompt::{is_known, user_message};
use super::prompts::expand;
use super::proposal_commands::{Command, Deciding};
use super::session_updates::stop_reason;
use super::sessions::Sessions;
use crate::agent::ports::MemoryError;
use crate::agent::turn::Reason;
use crate::agent::{Agent, Conversations, MessageOutcome, PromptError, foreign_source};
use crate::calls::{Calls, Question};
use crate::config::models::ChosenModels;
use crate::policy::Scope;
use crate::protocol::acp::{SessionCloseParams, SessionCloseResult};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::session::{
    PromptContent, PromptResultMeta, PromptResultVaultMeta, SessionCancelParams, SessionNewParams,
    SessionNewResult, SessionPromptParams, SessionPromptResult, StopReason,
};
use crate::server::approvals::WaitPolicy;
use crate::server::table::{Context, Later};

/// Refuses a working folder other than the vault at `root`, and requests to run programs for a
/// client.
#[expect(clippy::disallowed_methods, reason = "whether a client means the vault's own folder")]
pub(super) fn check_place(root: &Path, cwd: Option<&str>, mcp_servers: &[Value]) -> Result<()> {
    if !mcp_servers.is_empty() {
        let text = "no MCP servers are run for a client";
        return Err(ErrorObject::new(Kind::InvalidParams, text)
            .hint("leave `mcpServers` empty; the agent has the vault's own tools"));
    }
    let is_root =
        |cwd: &Path| cwd == root || dunce::canonicalize(cwd).is_ok_and(|real| real == root);
    if cwd.is_some_and(|cwd| !is_root(Path::new(cwd))) {
        let text = "the agent works in this vault alone";
        let hint = format!("leave `cwd` out, or make it `{}`", root.display());
        return Err(ErrorObject::new(Kind::InvalidParams, text).hint(hint));
    }
    Ok(())
}

/// The agent, as clients use it.
pub struct Talk {
    agent: Agent,
    conversations: Conversations,
    /// The requests of ACP clients on conversations.
    sessions: Sessions,
    root: PathBuf,
}

impl Talk {
    pub fn new(
        agent: Agent,
        conversations: Conversations,
        calls: Calls,
        models: ChosenModels,
        root: &Path,
    ) -> Self {
        let sessions = Sessions::new(agent.clone(), conversations.clone(), calls, models, root);
        Self { agent, conversations, sessions, root: root.to_owned() }
    }

    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The requests of ACP clients on conversations.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub fn conversations(&self) -> &Conversations {
        &self.conversations
    }

    /// Begins a conversation and makes it the current one of such callers; may block.
    pub fn new_session(
        &self,
        params: &SessionNewParams,
        context: &Context,
    ) -> Result<SessionNewResult> {
        context.listen();
        let by = context.scope();
        if context.is_acp() {
            return self.sessions.begin(params, context);
        }
        check_place(&self.root, params.cwd.as_deref(), &params.mcp_servers)?;
        let source = if by.is_person() { "chat".to_owned() } else { foreign_source(by) };
        let begun = self.conversations.open_new(&source)?;
        Ok(SessionNewResult { session_id: begun.id.to_string(), choices: None })
    }

    /// Stops the turn of a conversation that such a caller may use; does nothing if no turn is
    /// running.
    pub fn cancel(&self, params: &SessionCancelParams, by: Scope) {
        let Ok(id) = params.session_id.parse() else { return };
        let agent = self.agent.clone();
        // Queued behind earlier messages, so that it stops their turn too.
        let at_once = by.is_person().then(|| agent.stop(id));
        let conversations = self.conversations.clone();
        tokio::spawn(async move {
            let stopped = match at_once {
                Some(stopped) => stopped.await,
                None => {
                    let theirs = move || {
                        conversations.get(id).is_ok_and(|one| one.source == foreign_source(by))
                    };
                    if !tokio::task::spawn_blocking(theirs).await.unwrap_or(false) {
                        return;
                    }
                    agent.stop(id).await
                }
            };
            if let Err(error) = stopped {
                tracing::error!(%error, conversation = %id, "a turn could not be cancelled");
            }
        });
    }

    /// Stops the turn of a conversation and unsubscribes an ACP client from it.
    pub fn close(
        &self,
        params: &SessionCloseParams,
        context: &Context,
    ) -> Result<SessionCloseResult> {
        let conversation = self.sessions.own(&params.session_id, context)?;
        context.detach(&params.session_id);
        // The queue stops it; no need to wait.
        drop(self.agent.stop(conversation.id));
        Ok(SessionCloseResult {})
    }

    /// Runs a command of an ACP client's user, without the agent.
    fn decide(
        &self,
        session: String,
        command: Result<Command>,
        context: &Context,
    ) -> Later<SessionPromptResult> {
        let (calls, conversations) = (self.sessions.calls().clone(), self.conversations.clone());
        let (by, approvals) = (context.client.clone(), context.approvals().clone());
        let (tell, cancel) = (context.update_sender(), context.cancel.clone());
        Box::pin(async move {
            let (command, runtime) = (command?, Handle::current());
            let work = move || {
                let ask = |question: &Question| {
                    let asked = approvals.ask_about(question, None, WaitPolicy::default());
                    runtime.block_on(asked)
                };
                let (calls, conversations) = (&calls, &conversations);
                let (session, by, ask, cancel) = (&session, &by, &ask, &cancel);
                let deciding = Deciding { calls, conversations, session, by, ask, cancel };
                let text = deciding.run(command)?;
                tell(
                    session,
                    &json!({
                        "sessionUpdate": "agent_message_chunk",
                        "content": { "type": "text", "text": text },
                    }),
                );
                Ok(SessionPromptResult {
                    stop_reason: StopReason::EndTurn,
                    meta: PromptResultMeta {
                        vault: PromptResultVaultMeta {
                            session_id: session.clone(),
                            turn: String::new(),
                            answer: text,
                            waiting: false,
                            no_model: false,
                        },
                    },
                })
            };
            tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
                tracing::error!(%error, "a decision on proposals stopped unexpectedly");
                Err(ErrorObject::new(Kind::Internal, "this is a bug in the steward"))
            })
        })
    }

    /// Sends a message to the agent; resolves when the turn has ended. The message is queued at
    /// once, whether or not the future is awaited.
    pub fn prompt(
        &self,
        params: SessionPromptParams,
        context: &Context,
    ) -> Later<SessionPromptResult> {
        context.listen();
        let to = params.session_id.as_ref().map(|id| id.parse().map_err(|_| unknown(id)));
        let to = match self.sessions.may_speak(&params, context) {
            Ok(()) => to.transpose(),
            Err(error) => Err(error),
        };
        if let Some(session) = params.session_id.as_ref().filter(|_| context.is_acp())
            && let Some(command) = decision(&params)
        {
            return self.decide(session.clone(), to.and(command), context);
        }
        let may_be_command = context.is_acp() && is_command(&params);
        let agent = self.agent.clone();
        let (client, root) = (context.client.clone(), self.root.clone());
        if !may_be_command {
            let placed =
                to.and_then(|to| user_message(params, to, &client, &root)).map(|it| agent.send(it));
            return Box::pin(async move {
                let answering = placed?.await?;
                result(answering.await?)
            });
        }
        // The prompt's note is read first.
        let (calls, caller) = (self.sessions.calls().clone(), context.client.caller());
        let cancel = context.cancel.clone();
        Box::pin(async move {
            let (to, message) = (to?, params.prompt.clone());
            let expanded =
                tokio::task::spawn_blocking(move || expand(&calls, message, &caller, &cancel));
            let prompt = expanded.await.unwrap_or_else(|_| Ok(params.prompt.clone()))?;
            let user_message =
                user_message(SessionPromptParams { prompt, ..params }, to, &client, &root)?;
            let answering = agent.send(user_message).await?;
            result(answering.await?)
        })
    }
}

/// A message that decides on what the agent proposed.
fn decision(params: &SessionPromptParams) -> Option<Result<Command>> {
    match params.prompt.as_slice() {
        [PromptContent::Text { text }] => Command::read(text),
        _ => None,
    }
}

/// Whether a message may begin with one of the person's prompts.
fn is_command(params: &SessionPromptParams) -> bool {
    let Some(PromptContent::Text { text }) = params.prompt.first() else { return false };
    text.trim_start().starts_with('/') && !is_known(text.trim())
}

fn result(answered: MessageOutcome) -> Result<SessionPromptResult> {
    let MessageOutcome { conversation, turn, reason, words, cause, hint, answer } = answered;
    let detail = json!({ "sessionId": conversation.to_string(), "turn": turn.to_string() });
    let Some(reason) = reason else {
        let text = "the steward ended in the middle of the turn";
        return Err(ErrorObject::new(Kind::Failed, text)
            .hint("the changes it made stay and can be undone; ask it to go on")
            .detail(detail));
    };
    let Some(stop_reason) = stop_reason(reason) else {
        let error = ErrorObject::new(Kind::ModelFailed, words).detail(detail);
        return Err(error.maybe_hint(hint));
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

impl From<PromptError> for ErrorObject {
    fn from(error: PromptError) -> Self {
        match error {
            PromptError::Memory(MemoryError::NotFound { id }) => unknown(&id.to_string()),
            PromptError::Memory(MemoryError::Broken { message, hint }) => {
                ErrorObject::new(Kind::Failed, message).maybe_hint(hint)
            }
            PromptError::Full => {
                ErrorObject::new(Kind::Overloaded, error.to_string()).retry_after_ms(1_000)
            }
            PromptError::Refused { failed, .. } => {
                let hint = if failed {
                    "`steward status` says what went wrong; the message is not stored"
                } else {
                    "change the message, or the hook in `[hooks]`; the message is not stored"
                };
                ErrorObject::new(Kind::NotPermitted, error.to_string()).hint(hint)
            }
            PromptError::ShuttingDown => ending(),
        }
    }
}

fn ending() -> ErrorObject {
    ErrorObject::new(Kind::Failed, "the steward is shutting down").hint("the conversation is saved")
}
