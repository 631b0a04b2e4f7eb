//! The connection of a chat: sends messages, receives events, and reconnects.
//!
//! It subscribes to all events and remembers the number of the last one, so that after a reconnect
//! none is missed or shown twice. Unanswered messages are sent again with the same id, which the
//! daemon accepts only once.

use std::collections::VecDeque;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::client::{Client, ClientError};
use crate::cli::{Failure, Result, Session};
use crate::config::folders;
use crate::protocol::MethodParams;
use crate::protocol::conversations::ConversationChangedParams;
use crate::protocol::error::ErrorObject;
use crate::protocol::events::{
    ChangedParams, ChangesParams, SubscribeMode, SubscribeParams, SubscribeResult,
};
use crate::protocol::permission::RequestPermissionParams;
use crate::protocol::session::{
    MessageParams, PromptContent, PromptMeta, PromptVaultMeta, SessionPromptParams,
    SessionPromptResult, SessionUpdateParams, StateParams,
};
use crate::protocol::tools::{CallMeta, CallVaultMeta, ToolsCallParams};
use crate::server::token::Token;

/// The source of the messages, for the daemon.
const SOURCE: &str = "cli";

/// The pauses between attempts to reconnect, in milliseconds; the last one repeats.
const PAUSES: [u64; 6] = [100, 250, 500, 1_000, 2_000, 5_000];

/// The number of attempts: about a minute, time for a daemon to be restarted.
const ATTEMPTS: usize = 16;

/// An event received from the daemon.
#[derive(Debug)]
pub enum ChatEvent {
    Update(SessionUpdateParams),
    Message(MessageParams),
    State(StateParams),
    Conversation(ConversationChangedParams),
    Changes(ChangesParams),
    Changed(ChangedParams),
    /// A question to the person.
    Permission(Value, Box<RequestPermissionParams>),
    /// The question with this id no longer needs an answer.
    Withdrawn(Value),
    /// The answer to a sent message: its turn has ended.
    Answered(Result<SessionPromptResult, ErrorObject>),
    /// Not relevant for a chat.
    Other,
}

/// The result of a reconnect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reconnected {
    /// The events in between can no longer be received.
    pub missed: bool,
    /// Another daemon, or the same one restarted.
    pub is_new_run: bool,
}

/// A message without an answer yet.
#[derive(Debug, Clone)]
struct Unanswered {
    id: i64,
    params: SessionPromptParams,
}

pub struct Link<'a> {
    session: &'a Session,
    approvals: bool,
    client: Client,
    epoch: String,
    /// The number of the last received event.
    seq: u64,
    /// Messages received while waiting for something else.
    backlog: VecDeque<Value>,
    unanswered: VecDeque<Unanswered>,
}

impl<'a> Link<'a> {
    /// Connects to the daemon of the vault and receives its events from now on. With
    /// `approvals` this client receives the questions to a person.
    pub async fn open(session: &'a Session, approvals: bool) -> Result<Self> {
        let client = connect(session, approvals).await?;
        let (epoch, seq) = client.stands();
        let (epoch, backlog) = (epoch.to_owned(), VecDeque::new());
        let unanswered = VecDeque::new();
        let mut link = Self { session, approvals, client, epoch, seq, backlog, unanswered };
        link.subscribe().await?;
        Ok(link)
    }

    /// Subscribes to the events after the last received one.
    async fn subscribe(&mut self) -> Result<Reconnected> {
        let (epoch, after) = (Some(self.epoch.clone()), Some(self.seq));
        let SubscribeResult { mode, epoch, seq } =
            self.call(&SubscribeParams { epoch, after }).await?;
        let back = Reconnected {
            missed: mode == SubscribeMode::Snapshot,
            is_new_run: epoch != self.epoch,
        };
        if mode != SubscribeMode::Replay {
            (self.epoch, self.seq) = (epoch, seq);
        }
        Ok(back)
    }

    /// Sends a request and waits for the answer; messages received meanwhile are queued.
    pub async fn call<P: MethodParams>(&mut self, params: &P) -> Result<P::Result> {
        let id = self.client.ask(params).await?;
        let answer_timeout = self.client.answer_timeout();
        let wait = async {
            loop {
                let mut message = self.client.next().await?;
                if message["id"] != id || message.get("method").is_some() {
                    self.backlog.push_back(message);
                } else if message["error"].is_object() {
                    return Err(ClientError::Answer(parse_result(message["error"].take())?));
                } else {
                    return parse_result(message["result"].take());
                }
            }
        };
        let answered = tokio::time::timeout(answer_timeout, wait).await;
        let silent = || Err(ClientError::Broken("it does not answer".to_owned()));
        Ok(answered.unwrap_or_else(|_| silent())?)
    }

    /// Calls a tool for the person at the terminal; `agreed` carries the identity of the changes
    /// that they were shown and approved.
    pub async fn call_tool(
        &mut self,
        name: &str,
        arguments: Value,
        agreed: Option<Option<String>>,
    ) -> Result<Value> {
        let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
        let meta = agreed.map(|agreed| {
            let vault = CallVaultMeta { confirmed: true, agreed, ..CallVaultMeta::default() };
            CallMeta { vault: Some(vault) }
        });
        let params = ToolsCallParams { name: name.to_owned(), arguments, meta };
        let answer = self.call(&params).await?;
        if answer.is_error {
            Err(Failure::of_tool(answer.structured_content))
        } else {
            Ok(answer.structured_content)
        }
    }

    /// Sends a message with a new id and returns the id; the answer arrives as [`ChatEvent::Answered`].
    /// If the connection is lost, the message is sent again after the reconnect.
    pub async fn send_prompt(
        &mut self,
        prompt: Vec<PromptContent>,
        to: Option<&str>,
    ) -> Result<String> {
        let name = Token::generate().map_err(|error| {
            Failure::other("random", format!("could not name the message: {error}"), "")
        })?;
        let name = name.reveal()[..32].to_owned();
        let vault = PromptVaultMeta {
            client_message_id: Some(name.clone()),
            source: Some(SOURCE.to_owned()),
        };
        let params = SessionPromptParams {
            session_id: to.map(str::to_owned),
            prompt,
            meta: Some(PromptMeta { vault: Some(vault) }),
        };
        // The next receive notices a lost connection.
        let id = self.client.ask(&params).await.unwrap_or(-1);
        self.unanswered.push_back(Unanswered { id, params });
        Ok(name)
    }

    /// Whether a sent message has no answer yet.
    pub fn is_waiting(&self) -> bool {
        !self.unanswered.is_empty()
    }

    pub async fn cancel(&mut self, conversation: &str) -> Result<(), ClientError> {
        self.client.notify("session/cancel", json!({ "sessionId": conversation })).await
    }

    /// Answers question `id`, with the person's comment.
    pub async fn decide(
        &mut self,
        id: &Value,
        option: &str,
        words: &str,
    ) -> Result<(), ClientError> {
        let outcome = json!({ "outcome": "selected", "optionId": option });
        let meta = json!({ "vault": { "words": words } });
        self.client.reply(id, json!({ "outcome": outcome, "_meta": meta })).await
    }

    /// The next event, with the message that carried it. Cancel-safe.
    ///
    /// # Errors
    /// The connection was lost; call [`Link::reconnect`].
    pub async fn next(&mut self) -> Result<(ChatEvent, Value), ClientError> {
        let message = match self.backlog.pop_front() {
            Some(message) => message,
            None => self.client.next().await?,
        };
        let seq = message["params"]["_meta"]["vault"]["seq"].as_u64().filter(|seq| *seq > 0);
        if let Some(seq) = seq {
            self.seq = self.seq.max(seq);
        }
        Ok((self.read(&message), message))
    }

    fn read(&mut self, message: &Value) -> ChatEvent {
        let params = message["params"].clone();
        match message["method"].as_str() {
            Some("session/update") => parse(params, ChatEvent::Update),
            Some("_vault/message") => parse(params, ChatEvent::Message),
            Some("_vault/state") => parse(params, ChatEvent::State),
            Some("_vault/conversation_changed") => parse(params, ChatEvent::Conversation),
            Some("_vault/changes") => parse(params, ChatEvent::Changes),
            Some("_vault/changed") => parse(params, ChatEvent::Changed),
            Some("session/request_permission") => {
                let id = message["id"].clone();
                parse(params, |params| ChatEvent::Permission(id, Box::new(params)))
            }
            Some("$/cancel_request") => ChatEvent::Withdrawn(params["requestId"].clone()),
            Some(_) => ChatEvent::Other,
            None => self.answered(message),
        }
    }

    fn answered(&mut self, message: &Value) -> ChatEvent {
        let Some(at) = self.unanswered.iter().position(|one| message["id"] == one.id) else {
            return ChatEvent::Other;
        };
        self.unanswered.remove(at);
        if let Ok(error) = serde_json::from_value::<ErrorObject>(message["error"].clone()) {
            return ChatEvent::Answered(Err(error));
        }
        parse(message["result"].clone(), |result| ChatEvent::Answered(Ok(result)))
    }

    /// Reconnects, with growing pauses. The result says whether missed events follow; unanswered
    /// messages are sent again.
    ///
    /// # Errors
    /// No answer for a minute, or the listener is not the daemon.
    pub async fn reconnect(&mut self) -> Result<Reconnected> {
        let mut attempt = 0;
        loop {
            let pause = PAUSES[attempt.min(PAUSES.len() - 1)];
            tokio::time::sleep(Duration::from_millis(pause)).await;
            attempt += 1;
            match self.try_again().await {
                Ok(mode) => return Ok(mode),
                Err(failure) if attempt >= ATTEMPTS || failure.code == "not_the_daemon" => {
                    return Err(failure);
                }
                Err(_) => {}
            }
        }
    }

    async fn try_again(&mut self) -> Result<Reconnected> {
        self.client = connect(self.session, self.approvals).await?;
        self.backlog.retain(|message| message.get("method").is_some());
        let back = self.subscribe().await?;
        for unanswered in &mut self.unanswered {
            unanswered.id = self.client.ask(&unanswered.params).await?;
        }
        Ok(back)
    }

    pub async fn close(self) {
        self.client.close().await;
    }
}

async fn connect(session: &Session, approvals: bool) -> Result<Client> {
    let Some((running, state)) = session.running(session.vault()?) else { return Err(no_daemon()) };
    let token = Token::load_or_create(&folders::token_file(&state))?;
    Client::connect_as(&running, &token, approvals).await.map_err(|error| match error {
        // Left over from an ended daemon; another process now has its id.
        ClientError::NobodyThere { .. } => no_daemon(),
        error => error.into(),
    })
}

fn no_daemon() -> Failure {
    Failure::other(
        "not_running",
        "chat needs the daemon, which is not running",
        "start one with `steward serve` in another terminal, or for good with `steward service \
         install`",
    )
}

fn parse_result<T: DeserializeOwned>(value: Value) -> Result<T, ClientError> {
    serde_json::from_value(value).map_err(|error| ClientError::Broken(error.to_string()))
}

/// Ignores what only a newer daemon knows.
fn parse<T: DeserializeOwned>(params: Value, variant: impl FnOnce(T) -> ChatEvent) -> ChatEvent {
    serde_json::from_value(params).map_or(ChatEvent::Other, variant)
}
