//! Relays a client's lines to the daemon: each input line is a request to the daemon's `/mcp`, and its
//! answer is an output line.
//!
//! Between two lines the relay remembers only the client's name, its subscriptions and idle connections,
//! so a restart of the daemon goes unnoticed. Stdout carries nothing but messages. The token stays in its
//! file ([`crate::cli::http_post`]).

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, Aborted, LocalBoxFuture, abortable};
use futures_util::stream::FuturesUnordered;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::subscriptions::{SubscriptionAnswers, SubscriptionChange, Subscriptions};
use crate::cli::client::{self, ClientError};
use crate::cli::http_post::{Connection, PostAnswer};
use crate::cli::relay::{DaemonFinder, Line, lines, write};
use crate::cli::{Result, Session};
use crate::mcp::fault::{Fault, INTERNAL};
use crate::policy::Scope;
use crate::protocol::envelope::{Incoming, RequestId};
use crate::protocol::error::{ErrorObject, Kind};
use crate::server::Settings;
use crate::tools::{Registry, Tier};

/// The most unanswered requests; the next line is read when one is answered.
const MAX_UNANSWERED: usize = 64;

/// Checks that the daemon is alive.
const PING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#;

/// Serves a client until its input ends and every request is answered.
pub fn run(session: &Session, root: &Path) -> Result<()> {
    let most = session.settings.config.server.max_message_bytes;
    serve(DaemonFinder::new(session, root, Scope::Mcp), most)
}

/// Serves the MCP client of a guest, which reaches only the daemon that started it: it may read neither the settings
/// nor the vault. `None` if no daemon started this process for a guest.
pub fn run_for_guest() -> Option<Result<()>> {
    Some(serve(DaemonFinder::from_environment()?, Settings::default().max_message_bytes))
}

fn serve(finder: DaemonFinder<'_>, most: u64) -> Result<()> {
    let relay = Relay { finder, idle: RefCell::default() };
    client::runtime()?.block_on(relay.serve(lines(most)))
}

struct Relay<'a> {
    finder: DaemonFinder<'a>,
    /// Idle connections, the most recently used last.
    idle: RefCell<Vec<Connection>>,
}

/// The result of a subscription request: the resource that was refused, if any.
type Listened = Result<Option<String>, Aborted>;

type Answered = (RequestId, Result<String, Aborted>);

impl Relay<'_> {
    async fn serve(&self, mut lines: mpsc::Receiver<Line>) -> Result<()> {
        let mut calls: FuturesUnordered<LocalBoxFuture<'_, Answered>> = FuturesUnordered::new();
        let mut open = true;
        let mut in_flight: HashMap<RequestId, AbortHandle> = HashMap::new();
        let mut name = String::new();
        let mut subscribed = Subscriptions::default();
        let mut listening: FuturesUnordered<LocalBoxFuture<'_, Listened>> = FuturesUnordered::new();
        let mut listeners: Vec<AbortHandle> = Vec::new();
        loop {
            let line = tokio::select! {
                line = lines.recv(), if open && calls.len() < MAX_UNANSWERED => line,
                Some((id, answer)) = calls.next() => {
                    in_flight.remove(&id);
                    // A cancelled request gets no answer.
                    if let Ok(answer) = answer && !write(&answer) {
                        break;
                    }
                    continue;
                }
                Some(listened) = listening.next(), if open => {
                    // Otherwise the client or the daemon ended it; the client's next request reopens it.
                    if let Ok(Some(refused)) = listened {
                        subscribed.refuse(&refused);
                    }
                    continue;
                }
                else => break,
            };
            let client_message = match line {
                None => {
                    open = false;
                    continue;
                }
                Some(Line::TooLong) => {
                    let error = ErrorObject::new(Kind::InvalidRequest, "the line is too long");
                    Err(Fault::from(error).text(None))
                }
                Some(Line::Text(text)) if text.trim().is_empty() => continue,
                Some(Line::Text(text)) => parse(text),
            };
            let fault = match client_message {
                Ok(ClientLine::Ignored) => continue,
                Ok(ClientLine::Cancel(id)) => {
                    if let Some(call) = in_flight.get(&id) {
                        call.abort();
                    }
                    continue;
                }
                Ok(ClientLine::Request { id, .. } | ClientLine::Subscription { id, .. })
                    if in_flight.contains_key(&id) =>
                {
                    let message = "this id is already in flight";
                    Fault::from(ErrorObject::new(Kind::DuplicateId, message)).text(None)
                }
                Ok(ClientLine::Subscription { id, subscription }) => {
                    let uri = match &subscription {
                        SubscriptionChange::Subscribe(uri) => Some(uri.clone()),
                        SubscriptionChange::Unsubscribe(_) => None,
                    };
                    match subscribed.change(subscription) {
                        Ok(()) if subscribed.is_empty() => {
                            listeners.drain(..).for_each(|listener| listener.abort());
                            json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string()
                        }
                        Ok(()) => {
                            listeners.retain(|listener| !listener.is_aborted());
                            let (request, before) = (subscribed.request(), listeners.clone());
                            let listen =
                                self.listen(request, name.clone(), Some((id, uri)), before);
                            let (listen, handle) = abortable(listen);
                            listeners.push(handle);
                            listening.push(Box::pin(listen));
                            continue;
                        }
                        Err(fault) => fault.text(Some(&id)),
                    }
                }
                Ok(ClientLine::Request { id, text, introduced, changes }) => {
                    name = introduced.unwrap_or(name);
                    if listening.is_empty() && !subscribed.is_empty() {
                        let request = subscribed.request();
                        let listen = self.listen(request, name.clone(), None, Vec::new());
                        let (listen, handle) = abortable(listen);
                        listeners = vec![handle];
                        listening.push(Box::pin(listen));
                    }
                    let (answer, handle) =
                        abortable(self.ask(id.clone(), text, name.clone(), changes));
                    in_flight.insert(id.clone(), handle);
                    calls.push(Box::pin(async move { (id, answer.await) }));
                    continue;
                }
                Err(fault) => fault,
            };
            if !write(&fault) {
                break;
            }
        }
        Ok(())
    }

    /// The answer to one request; a failure becomes an error message.
    async fn ask(&self, id: RequestId, text: String, name: String, changes: bool) -> String {
        let pass = |piece: &str| {
            let _ = is_message(piece) && write(piece);
        };
        let answer = self.post(&text, &name, changes, pass).await;
        answer.unwrap_or_else(|fault| fault.text(Some(&id)))
    }

    /// Subscribes to resources until the daemon ends, replacing the requests `before`. `client_request` is the
    /// client's current request with its new resource; returns that resource if it was refused.
    async fn listen(
        &self,
        request: String,
        name: String,
        client_request: Option<(RequestId, Option<String>)>,
        before: Vec<AbortHandle>,
    ) -> Option<String> {
        let (id, uri) = client_request.unzip();
        let end = || before.iter().for_each(AbortHandle::abort);
        let hearing = SubscriptionAnswers::new(id, &end);
        let pass = |piece: &str| {
            if let Some(message) = hearing.translate(piece) {
                write(&message);
            }
        };
        let last = self.post(&request, &name, false, pass).await;
        let refused = hearing.ended(last)?;
        write(&refused);
        uri.flatten()
    }

    /// An idle connection. For a request that must not be sent twice, pings the daemon first: it may have
    /// ended.
    async fn idle_connection(&self, changes: bool) -> Option<Connection> {
        loop {
            let idle_connection = {
                let mut idle = self.idle.borrow_mut();
                idle.retain(Connection::is_usable);
                idle.pop()?
            };
            if !changes {
                return Some(idle_connection);
            }
            if let Ok(PostAnswer { connection: Some(idle_connection), .. }) =
                idle_connection.post("/mcp", "", PING, |_| ()).await
            {
                return Some(idle_connection);
            }
        }
    }

    /// Posts a message and returns the daemon's last message about it; earlier ones go to `pass`.
    async fn post(
        &self,
        text: &str,
        name: &str,
        changes: bool,
        pass: impl Fn(&str),
    ) -> Result<String, Fault> {
        let mut gone = None;
        let error = loop {
            let idle_connection = self.idle_connection(changes).await;
            let is_kept = idle_connection.is_some();
            let connection = match idle_connection {
                Some(connection) => Ok(connection),
                None => {
                    let (port, token) = match self.finder.reach(gone).await {
                        Ok(reached) => reached,
                        Err(failure) => break (failure.message, failure.hint),
                    };
                    Connection::open(port, &token).await
                }
            };
            let posted = match connection {
                Ok(connection) => connection.post("/mcp", name, text, &pass).await,
                Err(error) => Err(error),
            };
            match posted {
                // The daemon ended or the token was rotated: nothing was done.
                Err(ClientError::NobodyThere { .. }) | Ok(PostAnswer { status: 401, .. })
                    if is_kept => {}
                Err(ClientError::Broken(_)) if is_kept && !changes => {}
                Ok(PostAnswer { text, connection, .. }) if is_message(&text) => {
                    self.idle.borrow_mut().extend(connection);
                    return Ok(text);
                }
                Ok(PostAnswer { status, .. }) => {
                    break (format!("the daemon refused the request ({status})"), None);
                }
                // Nothing was sent, so it is sent once to the next daemon.
                Err(ClientError::NobodyThere { port } | ClientError::NotTheDaemon { port })
                    if gone.is_none() =>
                {
                    gone = Some(port);
                }
                Err(error @ ClientError::Broken(_)) => {
                    let hint =
                        "a change may still have been made; list_changes shows it".to_owned();
                    break (error.to_string(), Some(hint));
                }
                Err(error) => break (error.to_string(), None),
            }
        };
        let message = match error {
            (message, Some(hint)) => format!("{message}; {hint}"),
            (message, None) => message,
        };
        Err(Fault::new(INTERNAL, message))
    }
}

fn only_reads(call: &Map<String, Value>) -> bool {
    let name = call.get("name").and_then(Value::as_str);
    name.and_then(|name| Registry::built_in().get(name)).is_some_and(|tool| tool.tier == Tier::Safe)
}

enum ClientLine {
    Ignored,
    Cancel(RequestId),
    Request {
        id: RequestId,
        text: String,
        /// The name that the client announced in it.
        introduced: Option<String>,
        /// Whether it may change something and must not be sent twice.
        changes: bool,
    },
    /// A changed list of subscriptions.
    Subscription {
        id: RequestId,
        subscription: SubscriptionChange,
    },
}

fn parse(text: String) -> Result<ClientLine, String> {
    match Incoming::parse(&text) {
        Ok(Incoming::Request { id, method, params }) => {
            if let Some(subscription) = SubscriptionChange::of(&method, &params) {
                return match subscription {
                    Ok(subscription) => Ok(ClientLine::Subscription { id, subscription }),
                    Err(fault) => Err(fault.text(Some(&id))),
                };
            }
            let name = || params.get("clientInfo")?.get("name")?.as_str().map(str::to_owned);
            let introduced = if method == "initialize" { name() } else { None };
            let changes = method == "tools/call" && !only_reads(&params);
            Ok(ClientLine::Request { id, text, introduced, changes })
        }
        Ok(Incoming::Notification { method, mut params }) => {
            let given_up =
                params.remove("requestId").filter(|_| method == "notifications/cancelled");
            let id = given_up.and_then(|id| serde_json::from_value(id).ok());
            Ok(id.map_or(ClientLine::Ignored, ClientLine::Cancel))
        }
        Ok(Incoming::Answer { .. }) => Ok(ClientLine::Ignored),
        Err(refusal) => Err(Fault::from(*refusal.error).text(refusal.id.as_ref())),
    }
}

/// The common fields of all messages.
#[derive(Deserialize)]
struct Envelope<'a> {
    jsonrpc: &'a str,
}

fn is_message(text: &str) -> bool {
    // The gate's refusals are JSON, but not JSON-RPC.
    let message = serde_json::from_str::<Envelope>(text);
    message.is_ok_and(|message| message.jsonrpc == "2.0")
}
