//! From a client's lines to the daemon and back: a line in is a request to the daemon's `/mcp`, and its
//! answer is a line out.
//!
//! Nothing is kept between two lines but the client's name, so a daemon that was started again is not
//! noticed. Nothing but messages is written to stdout. The token stays in its file: each request goes in
//! by a ticket, once the daemon has proved that it knows the token.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, Aborted, LocalBoxFuture, abortable};
use futures_util::stream::FuturesUnordered;
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::cli::client::{self, ClientError};
use crate::cli::failure::Failure;
use crate::cli::relay::{Line, Way, lines, tell};
use crate::cli::session::Session;
use crate::mcp::fault::{Fault, INTERNAL};
use crate::policy::Scope;
use crate::protocol::envelope::{Incoming, RequestId};
use crate::protocol::error::{ErrorObject, Kind};

/// Requests that are unanswered at a time; the next line is read when one is answered.
const MOST: usize = 64;

/// Serves a client until its input ends and all it asked is answered.
///
/// # Errors
/// stdin or stdout cannot be used.
pub fn run(session: &Session, root: &Path) -> Result<ExitCode, Failure> {
    let relay = Relay { way: Way::new(session, root, Scope::Mcp) };
    let most = session.settings.config.server.max_message_bytes;
    client::runtime()?.block_on(relay.serve(lines(most)))
}

struct Relay<'a> {
    way: Way<'a>,
}

/// A request, and what came of it.
type Answered = (RequestId, Result<String, Aborted>);

impl Relay<'_> {
    async fn serve(&self, mut lines: mpsc::Receiver<Line>) -> Result<ExitCode, Failure> {
        let mut asked: FuturesUnordered<LocalBoxFuture<'_, Answered>> = FuturesUnordered::new();
        let mut open = true;
        let mut in_flight: HashMap<RequestId, AbortHandle> = HashMap::new();
        let mut name = String::new();
        loop {
            let line = tokio::select! {
                line = lines.recv(), if open && asked.len() < MOST => line,
                Some((id, answer)) = asked.next() => {
                    in_flight.remove(&id);
                    // One that the client gave up is not answered.
                    if let Ok(answer) = answer && !tell(&answer) {
                        break;
                    }
                    continue;
                }
                else => break,
            };
            let heard = match line {
                None => {
                    open = false;
                    continue;
                }
                Some(Line::TooLong) => {
                    let error = ErrorObject::new(Kind::InvalidRequest, "the line is too long");
                    Err(Fault::from(error).text(None))
                }
                Some(Line::Text(text)) if text.trim().is_empty() => continue,
                Some(Line::Text(text)) => hear(text),
            };
            let fault = match heard {
                Ok(Heard::Nothing) => continue,
                Ok(Heard::GivenUp(id)) => {
                    if let Some(asked) = in_flight.get(&id) {
                        asked.abort();
                    }
                    continue;
                }
                Ok(Heard::Request { id, .. }) if in_flight.contains_key(&id) => {
                    let message = "this id is in flight already";
                    Fault::from(ErrorObject::new(Kind::DuplicateId, message)).text(None)
                }
                Ok(Heard::Request { id, text, introduced }) => {
                    name = introduced.unwrap_or(name);
                    let (answer, handle) = abortable(self.ask(id.clone(), text, name.clone()));
                    in_flight.insert(id.clone(), handle);
                    asked.push(Box::pin(async move { (id, answer.await) }));
                    continue;
                }
                Err(fault) => fault,
            };
            if !tell(&fault) {
                break;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The answer to one request, whatever becomes of it.
    async fn ask(&self, id: RequestId, text: String, name: String) -> String {
        let mut gone = None;
        let error = loop {
            let (port, token) = match self.way.reach(gone).await {
                Ok(reached) => reached,
                Err(failure) => break (failure.message, failure.hint),
            };
            let pass = |piece: &str| {
                let _ = is_message(piece) && tell(piece);
            };
            match client::post(port, &token, "/mcp", &name, &text, pass).await {
                Ok((_, answer)) if is_message(&answer) => return answer,
                Ok((status, _)) => {
                    break (format!("the daemon refused the request ({status})"), None);
                }
                // Nothing was sent, so that it can be sent to the next one: once.
                Err(ClientError::NobodyThere { .. } | ClientError::NotTheDaemon { .. })
                    if gone.is_none() =>
                {
                    gone = Some(port);
                }
                Err(error @ ClientError::Broken(_)) => {
                    let hint = "a change may still have been made; list_changes tells".to_owned();
                    break (error.to_string(), Some(hint));
                }
                Err(error) => break (error.to_string(), None),
            }
        };
        let message = match error {
            (message, Some(hint)) => format!("{message}; {hint}"),
            (message, None) => message,
        };
        Fault::new(INTERNAL, message).text(Some(&id))
    }
}

/// What a line asks for.
enum Heard {
    Nothing,
    GivenUp(RequestId),
    Request {
        id: RequestId,
        text: String,
        /// What the client called itself with it.
        introduced: Option<String>,
    },
}

/// Reads a line.
///
/// # Errors
/// What is wrong with it, as a message.
fn hear(text: String) -> Result<Heard, String> {
    match Incoming::parse(&text) {
        Ok(Incoming::Request { id, method, params }) => {
            let name = || params.get("clientInfo")?.get("name")?.as_str().map(str::to_owned);
            let introduced = if method == "initialize" { name() } else { None };
            Ok(Heard::Request { id, text, introduced })
        }
        Ok(Incoming::Notification { method, mut params }) => {
            let given_up =
                params.remove("requestId").filter(|_| method == "notifications/cancelled");
            let id = given_up.and_then(|id| serde_json::from_value(id).ok());
            Ok(id.map_or(Heard::Nothing, Heard::GivenUp))
        }
        Ok(Incoming::Answer { .. }) => Ok(Heard::Nothing),
        Err(refusal) => Err(Fault::from(*refusal.error).text(refusal.id.as_ref())),
    }
}

/// What every message has.
#[derive(Deserialize)]
struct Envelope<'a> {
    jsonrpc: &'a str,
}

fn is_message(text: &str) -> bool {
    // Refusals of the gate are JSON too, and none.
    let message = serde_json::from_str::<Envelope>(text);
    message.is_ok_and(|message| message.jsonrpc == "2.0")
}
