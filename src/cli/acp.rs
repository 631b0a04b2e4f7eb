//! `steward acp`: an ACP agent on stdin and stdout, for editors and other clients that start it.
//!
//! Each input line is a message to the daemon, and each message of the daemon is an output line.
//! This process remembers the client's `initialize`, the unanswered requests and the open
//! conversations, so that it can bring another daemon to the same state if the first one ends.
//! Stdout carries nothing but messages, and the token stays in its file.
//!

use std::collections::{BTreeSet, HashMap};
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::client::{self, Client, ClientError};
use super::relay::{DaemonFinder, Line, lines, write};
use super::{Failure, Result, Session};
use crate::policy::Scope;
use crate::protocol::envelope::{self, Incoming, RequestId};
use crate::protocol::error::{ErrorObject, Kind};

/// The prefix of the ids of this process's own requests; client requests with such an id are not
/// passed on.
const OURS: &str = "steward-acp-";

/// The number of attempts to reach a daemon that keeps ending.
const TRIES: u32 = 4;

/// Serves a client until its input ends.
pub fn run(session: &Session) -> Result<ExitCode> {
    let root = session.vault()?;
    let most = session.settings.config.server.max_message_bytes;
    let relay = Relay {
        finder: DaemonFinder::new(session, root, Scope::Acp),
        daemon: None,
        introduction: None,
        in_flight: HashMap::new(),
        open: BTreeSet::new(),
        own: 0,
    };
    client::runtime()?.block_on(relay.serve(lines(most)))
}

struct Relay<'a> {
    finder: DaemonFinder<'a>,
    /// The connection; `None` until the next line opens one.
    daemon: Option<Client>,
    /// The params of the client's `initialize`.
    introduction: Option<Value>,
    in_flight: HashMap<RequestId, ClientRequest>,
    /// The conversations that the client has begun or opened.
    open: BTreeSet<String>,
    /// The number of own requests so far.
    own: u64,
}

struct ClientRequest {
    method: String,
    session: Option<String>,
}

/// Whether the client still reads.
type Listening = bool;

impl Relay<'_> {
    async fn serve(mut self, mut lines: mpsc::Receiver<Line>) -> Result<ExitCode> {
        let mut is_open = true;
        loop {
            // A client that has disconnected can neither see the end of a turn nor approve anything
            // in it.
            let waits = self
                .in_flight
                .values()
                .any(|client_request| client_request.method != "session/prompt");
            if !is_open && !waits {
                break;
            }
            let listening = tokio::select! {
                // Notices the end of the daemon before sending anything more.
                biased;
                handle_daemon_message = next_message(&mut self.daemon) => match handle_daemon_message {
                    Ok(message) => self.handle_daemon_message(message),
                    Err(error) => self.lost(&error),
                },
                line = lines.recv(), if is_open => match line {
                    Some(line) => self.handle_client_line(line).await,
                    None => {
                        is_open = false;
                        true
                    }
                },
            };
            if !listening {
                break;
            }
        }
        if let Some(daemon) = self.daemon {
            daemon.close().await;
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn handle_client_line(&mut self, line: Line) -> Listening {
        let text = match line {
            Line::Text(text) if text.trim().is_empty() => return true,
            Line::Text(text) => text,
            Line::TooLong => {
                let error = ErrorObject::new(Kind::InvalidRequest, "the line is too long");
                return write(&envelope::failure(None, &error));
            }
        };
        match Incoming::parse(&text) {
            Err(refusal) => write(&envelope::failure(refusal.id.as_ref(), &refusal.error)),
            Ok(Incoming::Request { id, method, params }) => {
                match self.request(&id, &method, params, text).await {
                    Ok(()) => true,
                    Err(error) => {
                        let id = (error.data.kind != Kind::DuplicateId).then_some(&id);
                        write(&envelope::failure(id, &error))
                    }
                }
            }
            // Without a daemon, notifications and answers are dropped.
            Ok(Incoming::Notification { .. } | Incoming::Answer { .. }) => {
                if self.daemon.is_some() {
                    self.send(text).await.is_ok() || self.fail_in_flight()
                } else {
                    true
                }
            }
        }
    }

    async fn request(
        &mut self,
        id: &RequestId,
        method: &str,
        params: Map<String, Value>,
        text: String,
    ) -> Result<(), ErrorObject> {
        if self.in_flight.contains_key(id) {
            return Err(ErrorObject::new(Kind::DuplicateId, "this id is already in flight"));
        }
        if matches!(id, RequestId::Text(id) if id.starts_with(OURS)) {
            let message = format!("ids that begin with `{OURS}` are not the client's");
            return Err(ErrorObject::new(Kind::InvalidId, message));
        }
        if method == "initialize" {
            return self.introduce(id, params).await;
        }
        if self.introduction.is_none() {
            return Err(ErrorObject::new(Kind::NotInitialized, "`initialize` must come first"));
        }
        if self.daemon.is_none() {
            self.reconnect().await?;
        }
        let session = params.get("sessionId").and_then(Value::as_str).map(str::to_owned);
        self.in_flight.insert(id.clone(), ClientRequest { method: method.to_owned(), session });
        if self.send(text).await.is_err() {
            self.fail_in_flight();
        }
        Ok(())
    }

    /// Connects with the client's `initialize`.
    async fn introduce(
        &mut self,
        id: &RequestId,
        params: Map<String, Value>,
    ) -> Result<(), ErrorObject> {
        if self.introduction.is_some() {
            return Err(ErrorObject::new(
                Kind::AlreadyInitialized,
                "`initialize` was called before",
            ));
        }
        let params = Value::Object(params);
        let answer = self.connect(&params).await?;
        self.introduction = Some(params);
        write(&json!({ "jsonrpc": "2.0", "id": id, "result": answer }).to_string());
        Ok(())
    }

    /// Reconnects after the daemon was lost, and reopens the open conversations.
    async fn reconnect(&mut self) -> Result<(), ErrorObject> {
        let params = self.introduction.clone().unwrap_or_default();
        self.connect(&params).await?;
        for session in self.open.clone() {
            self.own += 1;
            let resume = json!({
                "jsonrpc": "2.0",
                "id": format!("{OURS}{}", self.own),
                "method": "session/resume",
                "params": { "sessionId": session },
            });
            self.send(resume.to_string()).await.map_err(|error| unreachable(error.to_string()))?;
        }
        Ok(())
    }

    async fn connect(&mut self, params: &Value) -> Result<Value, ErrorObject> {
        let (mut gone, mut tries) = (None, 0);
        loop {
            tries += 1;
            let failed = |failure: Failure| unreachable(failure.message).maybe_hint(failure.hint);
            let (port, token) = self.finder.reach(gone).await.map_err(failed)?;
            match Client::connect_for(port, &token, params.clone()).await {
                Ok((daemon, answer)) => {
                    self.daemon = Some(daemon);
                    return Ok(answer);
                }
                Err(ClientError::Answer(error)) => return Err(error),
                // The state known of the old daemon is stale.
                Err(ClientError::NobodyThere { .. } | ClientError::NotTheDaemon { .. })
                    if tries < TRIES =>
                {
                    gone = Some(port);
                }
                // The daemon ended during the request; it has done nothing yet.
                Err(ClientError::Broken(_)) if tries < TRIES => gone = None,
                Err(error) => return Err(unreachable(error.to_string())),
            }
        }
    }

    async fn send(&mut self, text: String) -> Result<(), ClientError> {
        match &mut self.daemon {
            Some(daemon) => daemon.send(text).await,
            None => Ok(()),
        }
    }

    fn handle_daemon_message(&mut self, message: Value) -> Listening {
        if let Some(id) = message.get("id").filter(|_| message.get("method").is_none()) {
            if id.as_str().is_some_and(|id| id.starts_with(OURS)) {
                return true;
            }
            let id = serde_json::from_value::<RequestId>(id.clone()).ok();
            let client_request = id.and_then(|id| self.in_flight.remove(&id));
            if let (Some(client_request), Some(result)) = (client_request, message.get("result")) {
                self.note(&client_request, result);
            }
        }
        write(&message.to_string())
    }

    /// Updates the open conversations after a successful request.
    fn note(&mut self, client_request: &ClientRequest, result: &Value) {
        let named = client_request.session.clone();
        match client_request.method.as_str() {
            "session/new" => {
                self.open.extend(result["sessionId"].as_str().map(str::to_owned));
            }
            "session/load" | "session/resume" => self.open.extend(named),
            "session/close" | "session/delete" => {
                if let Some(session) = named {
                    self.open.remove(&session);
                }
            }
            _ => {}
        }
    }

    /// The daemon disconnected: answers its unanswered requests here.
    fn lost(&mut self, error: &ClientError) -> Listening {
        tracing::debug!(%error, "the daemon was lost");
        self.fail_in_flight()
    }

    fn fail_in_flight(&mut self) -> Listening {
        self.daemon = None;
        let mut listening = true;
        for (id, client_request) in self.in_flight.drain() {
            let error = ErrorObject::new(Kind::Failed, "the connection to the steward was lost");
            let error = error.hint(match client_request.method.as_str() {
                "session/prompt" => "the conversation is saved; ask it to continue",
                _ => "ask again",
            });
            listening &= write(&envelope::failure(Some(&id), &error));
        }
        listening
    }
}

/// The daemon's next message; pending forever without a connection.
async fn next_message(daemon: &mut Option<Client>) -> Result<Value, ClientError> {
    match daemon {
        Some(daemon) => daemon.next().await,
        None => std::future::pending().await,
    }
}

fn unreachable(message: String) -> ErrorObject {
    ErrorObject::new(Kind::Failed, message)
}
