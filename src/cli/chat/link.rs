//! The connection of a chat: what is said, what is heard, and coming back after it broke.
//!
//! It is subscribed to all events and keeps the number of the last one, so that nothing is missed
//! and nothing shown twice when it comes back. What was said and not answered is said again under
//! the same name, which the daemon hears once.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::client::{Client, ClientError};
use super::super::failure::Failure;
use super::super::session::Session;
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

/// Where the words come from, for the daemon.
const SOURCE: &str = "cli";

/// The pauses between attempts to come back, in milliseconds; the last one repeats.
const PAUSES: [u64; 6] = [100, 250, 500, 1_000, 2_000, 5_000];

/// How often coming back is attempted: for about a minute, time for a daemon to be started anew.
const ATTEMPTS: usize = 16;

/// Something that was heard.
#[derive(Debug)]
pub enum Heard {
    /// Something was said or done in a conversation.
    Update(SessionUpdateParams),
    /// A message is whole.
    Message(MessageParams),
    /// A conversation stands otherwise.
    State(StateParams),
    /// A conversation began, ended or is called otherwise.
    Conversation(ConversationChangedParams),
    /// Something was changed through the steward.
    Changes(ChangesParams),
    /// Something in the vault is another.
    Changed(ChangedParams),
    /// A person is asked.
    Permission(Value, Box<RequestPermissionParams>),
    /// What was asked under this id needs no answer any more.
    Withdrawn(Value),
    /// What was said is answered: the turn is over.
    Answered(Result<SessionPromptResult, ErrorObject>),
    /// Nothing that matters here.
    Other,
}

/// How a connection came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Back {
    /// What happened meanwhile cannot be heard any more.
    pub missed: bool,
    /// It is another daemon, or the same one started anew.
    pub anew: bool,
}

/// A message that is not answered yet.
#[derive(Debug, Clone)]
struct Unanswered {
    id: i64,
    params: SessionPromptParams,
}

/// The connection.
pub struct Link<'a> {
    session: &'a Session,
    root: PathBuf,
    approvals: bool,
    client: Client,
    epoch: String,
    /// The last event that was heard.
    seq: u64,
    /// What came while something else was waited for.
    backlog: VecDeque<Value>,
    unanswered: VecDeque<Unanswered>,
}

impl<'a> Link<'a> {
    /// Connects to the daemon of the vault at `root`, and hears its events from now on. With
    /// `approvals` it is asked what a person must agree to.
    ///
    /// # Errors
    /// No daemon runs, or as [`Client::connect`].
    pub async fn open(
        session: &'a Session,
        root: PathBuf,
        approvals: bool,
    ) -> Result<Self, Failure> {
        let client = connect(session, &root, approvals).await?;
        let (epoch, seq) = client.stands();
        let (epoch, backlog) = (epoch.to_owned(), VecDeque::new());
        let unanswered = VecDeque::new();
        let mut link = Self { session, root, approvals, client, epoch, seq, backlog, unanswered };
        link.subscribe().await?;
        Ok(link)
    }

    /// Begins with what came after the event that was heard last.
    async fn subscribe(&mut self) -> Result<Back, Failure> {
        let (epoch, after) = (Some(self.epoch.clone()), Some(self.seq));
        let SubscribeResult { mode, epoch, seq } =
            self.call(&SubscribeParams { epoch, after }).await?;
        let back = Back { missed: mode == SubscribeMode::Snapshot, anew: epoch != self.epoch };
        if mode != SubscribeMode::Replay {
            (self.epoch, self.seq) = (epoch, seq);
        }
        Ok(back)
    }

    /// Asks something and waits for the answer; what comes meanwhile is heard afterwards.
    ///
    /// # Errors
    /// What the daemon answers, or the connection broke.
    pub async fn call<P: MethodParams>(&mut self, params: &P) -> Result<P::Result, Failure> {
        let id = self.client.ask(params).await?;
        let patience = self.client.patience();
        let wait = async {
            loop {
                let mut message = self.client.next().await?;
                if message["id"] != id || message.get("method").is_some() {
                    self.backlog.push_back(message);
                } else if message["error"].is_object() {
                    return Err(ClientError::Answer(read(message["error"].take())?));
                } else {
                    return read(message["result"].take());
                }
            }
        };
        let answered = tokio::time::timeout(patience, wait).await;
        let silent = || Err(ClientError::Broken("it does not answer".to_owned()));
        Ok(answered.unwrap_or_else(|_| silent())?)
    }

    /// Calls a tool as the person at the terminal; `agreed` where they were asked, with the identity of
    /// what they were shown.
    ///
    /// # Errors
    /// What the tool or the daemon answers, or the connection broke.
    pub async fn call_tool(
        &mut self,
        name: &str,
        arguments: Value,
        agreed: Option<Option<String>>,
    ) -> Result<Value, Failure> {
        let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
        let meta = agreed.map(|agreed| {
            let vault = CallVaultMeta { confirmed: true, agreed, ..CallVaultMeta::default() };
            CallMeta { vault: Some(vault) }
        });
        let params = ToolsCallParams { name: name.to_owned(), arguments, meta };
        let answer = self.call(&params).await?;
        match answer.is_error {
            true => Err(Failure::of_tool(answer.structured_content)),
            false => Ok(answer.structured_content),
        }
    }

    /// Says something under a new name, which is returned; the answer comes as [`Heard::Answered`].
    /// Where the connection broke it is said again when it is back.
    ///
    /// # Errors
    /// The system has no random numbers to name it with.
    pub async fn say(
        &mut self,
        prompt: Vec<PromptContent>,
        to: Option<&str>,
    ) -> Result<String, Failure> {
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
        // A connection that broke is noticed when something is to be heard.
        let id = self.client.ask(&params).await.unwrap_or(-1);
        self.unanswered.push_back(Unanswered { id, params });
        Ok(name)
    }

    /// Whether something that was said is not answered yet.
    pub fn is_waiting(&self) -> bool {
        !self.unanswered.is_empty()
    }

    /// Stops the turn of a conversation.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn cancel(&mut self, conversation: &str) -> Result<(), ClientError> {
        self.client.tell("session/cancel", json!({ "sessionId": conversation })).await
    }

    /// Answers what a person was asked under `id`, with what they say of it.
    ///
    /// # Errors
    /// The connection broke.
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

    /// The next thing that happens, with the message it came as. Given up in between, it loses
    /// nothing.
    ///
    /// # Errors
    /// The connection broke; [`Link::come_back`] is next.
    pub async fn next(&mut self) -> Result<(Heard, Value), ClientError> {
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

    fn read(&mut self, message: &Value) -> Heard {
        let params = message["params"].clone();
        match message["method"].as_str() {
            Some("session/update") => known(params, Heard::Update),
            Some("_vault/message") => known(params, Heard::Message),
            Some("_vault/state") => known(params, Heard::State),
            Some("_vault/conversation_changed") => known(params, Heard::Conversation),
            Some("_vault/changes") => known(params, Heard::Changes),
            Some("_vault/changed") => known(params, Heard::Changed),
            Some("session/request_permission") => {
                let id = message["id"].clone();
                known(params, |params| Heard::Permission(id, Box::new(params)))
            }
            Some("$/cancel_request") => Heard::Withdrawn(params["requestId"].clone()),
            Some(_) => Heard::Other,
            None => self.answered(message),
        }
    }

    fn answered(&mut self, message: &Value) -> Heard {
        let Some(at) = self.unanswered.iter().position(|one| message["id"] == one.id) else {
            return Heard::Other;
        };
        self.unanswered.remove(at);
        if let Ok(error) = serde_json::from_value::<ErrorObject>(message["error"].clone()) {
            return Heard::Answered(Err(error));
        }
        known(message["result"].clone(), |result| Heard::Answered(Ok(result)))
    }

    /// Connects again, with growing pauses. What was missed follows, or cannot, as is said;
    /// what was said and not answered is said again.
    ///
    /// # Errors
    /// Nobody answered for a minute, or what answers is not the daemon.
    pub async fn come_back(&mut self) -> Result<Back, Failure> {
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

    async fn try_again(&mut self) -> Result<Back, Failure> {
        self.client = connect(self.session, &self.root, self.approvals).await?;
        self.backlog.retain(|message| message.get("method").is_some());
        let back = self.subscribe().await?;
        for unanswered in &mut self.unanswered {
            unanswered.id = self.client.ask(&unanswered.params).await?;
        }
        Ok(back)
    }

    /// Says good-bye.
    pub async fn close(self) {
        self.client.close().await;
    }
}

async fn connect(
    session: &Session,
    root: &std::path::Path,
    approvals: bool,
) -> Result<Client, Failure> {
    let Some((running, state)) = session.running(root) else { return Err(no_daemon()) };
    let token = Token::load_or_create(&folders::token_file(&state))?;
    Client::connect_as(&running, &token, approvals).await.map_err(|error| match error {
        // Left behind by a daemon whose number another process has now.
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

fn read<T: DeserializeOwned>(value: Value) -> Result<T, ClientError> {
    serde_json::from_value(value).map_err(|error| ClientError::Broken(error.to_string()))
}

/// What a newer daemon says otherwise is none of ours.
fn known<T: DeserializeOwned>(params: Value, heard: impl FnOnce(T) -> Heard) -> Heard {
    serde_json::from_value(params).map_or(Heard::Other, heard)
}
