//! A client of the running daemon: one connection. Most commands send one request and exit;
//! `steward chat` stays connected and receives events.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::error::Error as SocketError;
use tokio_tungstenite::tungstenite::http::Uri;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::Result;
use crate::calls::HOOK_CALLER;
use crate::config::running::Running;
use crate::hooks;
use crate::protocol::error::ErrorObject;
use crate::protocol::events::SubscribeParams;
use crate::protocol::http::ChallengeAnswer;
use crate::protocol::initialize::{
    AgentMeta, AgentVaultMeta, ClientCapabilities, ClientMeta, ClientVaultMeta, Implementation,
    InitializeParams,
};
use crate::protocol::{MethodParams, PROTOCOL_VERSION, SUBPROTOCOL, TICKET_SUBPROTOCOL_PREFIX};
use crate::server::token::{Proof, Token};

/// The largest frame sent before the server has announced its limit, in bytes.
const FIRST_FRAME: usize = 64 << 10;

/// The longest accepted answer to a challenge, in bytes; the daemon's is a tenth of it.
pub(super) const LONGEST_ANSWER: u64 = 4 << 10;

/// How long a local daemon may take to accept the connection and to answer `initialize`.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Added to the daemon's own deadline; after that the daemon counts as dead.
const GRACE: Duration = Duration::from_secs(10);

/// Why a request to the daemon failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nothing listens on the port: `daemon.json` is stale.
    #[error("nothing answers on port {port}")]
    NobodyThere { port: u16 },
    /// The daemon refused the connection.
    #[error("the daemon on port {port} refused the connection ({status})")]
    Refused { port: u16, status: u16 },
    /// The listener does not know the token; nothing was sent to it.
    #[error("what answers on port {port} is not the daemon of this vault")]
    NotTheDaemon { port: u16 },
    #[error("{}", .0.message)]
    Answer(ErrorObject),
    #[error("the connection to the daemon broke: {0}")]
    Broken(String),
}

/// A connection to a server that has proved to be the daemon.
#[derive(Debug)]
pub struct Client {
    socket: WebSocketStream<TcpStream>,
    next_id: i64,
    /// The largest frame that the server accepts, in bytes; longer messages are split.
    max_frame: usize,
    answer_timeout: Duration,
    /// The id of the daemon's run, and the number of its last event at connection time.
    stands: (String, u64),
}

impl Client {
    /// Connects to the daemon and makes it prove that it knows the token, without sending the
    /// token.
    ///
    /// # Errors
    /// [`ClientError`]; with [`ClientError::NotTheDaemon`] none of the user's data was sent.
    pub async fn connect(running: &Running, token: &Token) -> Result<Self, ClientError> {
        Self::connect_as(running, token, false).await
    }

    /// Like [`Client::connect`]; with `approvals` this client receives the questions to a person.
    pub async fn connect_as(
        running: &Running,
        token: &Token,
        approvals: bool,
    ) -> Result<Self, ClientError> {
        let port = running.port;
        tokio::time::timeout(HANDSHAKE, Self::introduce(port, token, approvals))
            .await
            .unwrap_or(Err(ClientError::Broken("it does not answer".to_owned())))
    }

    async fn introduce(port: u16, token: &Token, approvals: bool) -> Result<Self, ClientError> {
        let mut client = Self::open(port, token).await?;

        // A fresh nonce: a recorded answer proves nothing.
        let nonce = Token::generate().map_err(broken)?.reveal();
        let answer = client.call(&introduction(&nonce, approvals)).await?;
        let daemon = answer.agent_capabilities.meta.vault;
        client.checked(daemon, port, token, &nonce)?;
        Ok(client)
    }

    /// Connects for another client with that client's `initialize` params; returns the daemon's
    /// answer. The daemon has to prove itself here too.
    ///
    /// # Errors
    /// As [`Client::connect`]; [`ClientError::Answer`] if the daemon rejects the params.
    pub async fn connect_for(
        port: u16,
        token: &Token,
        mut params: Value,
    ) -> Result<(Self, Value), ClientError> {
        let work = async {
            let mut client = Self::open(port, token).await?;
            let nonce = Token::generate().map_err(broken)?.reveal();
            let ours = &mut params["clientCapabilities"]["_meta"]["vault"];
            *ours = json!({ "nonce": nonce });
            let request =
                json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
            client.send(request.to_string()).await?;
            let mut answer = client.answer(0).await?;
            let ours = answer["agentCapabilities"]["_meta"].take();
            let meta: AgentMeta = serde_json::from_value(ours).map_err(broken)?;
            client.checked(meta.vault, port, token, &nonce)?;
            if let Some(capabilities) = answer["agentCapabilities"].as_object_mut() {
                // Concerns only this program and the daemon.
                capabilities.remove("_meta");
            }
            Ok((client, answer))
        };
        let silent = Err(ClientError::Broken("it does not answer".to_owned()));
        tokio::time::timeout(HANDSHAKE, work).await.unwrap_or(silent)
    }

    /// Opens a connection without sending anything on it.
    async fn open(port: u16, token: &Token) -> Result<Self, ClientError> {
        let ticket = ticket(port, token).await?;
        let stream = dial(port).await?;
        let uri: Uri = format!("ws://127.0.0.1:{port}/v1").parse().map_err(broken)?;
        let request = ClientRequestBuilder::new(uri)
            .with_sub_protocol(SUBPROTOCOL)
            .with_sub_protocol(format!("{TICKET_SUBPROTOCOL_PREFIX}{ticket}"));
        let config = WebSocketConfig::default().max_frame_size(Some(8 << 20));
        let (socket, _) =
            client_async_with_config(request, stream, Some(config)).await.map_err(|error| {
                match error {
                    SocketError::Http(answer) => {
                        ClientError::Refused { port, status: answer.status().as_u16() }
                    }
                    SocketError::Io(error) => broken(error),
                    // The server speaks another protocol.
                    _ => ClientError::NotTheDaemon { port },
                }
            })?;
        Ok(Self {
            socket,
            next_id: 1,
            max_frame: FIRST_FRAME,
            answer_timeout: HANDSHAKE,
            stands: (String::new(), 0),
        })
    }

    /// Applies the limits that the daemon announces, after checking its proof.
    fn checked(
        &mut self,
        daemon: AgentVaultMeta,
        port: u16,
        token: &Token,
        nonce: &str,
    ) -> Result<(), ClientError> {
        let proof = daemon.proof.unwrap_or_default();
        // Checked on this connection too: another program may have taken the port since the
        // challenge.
        if !is_equal_proof(&proof, &token.proof(Proof::Initialize, port, nonce)) {
            return Err(ClientError::NotTheDaemon { port });
        }
        self.max_frame = usize::try_from(daemon.limits.max_frame_bytes)
            .map_or(FIRST_FRAME, |most| most.clamp(1, 1 << 20));
        let deadline = Duration::from_secs(u64::from(daemon.limits.request_seconds));
        self.answer_timeout = deadline + GRACE;
        self.stands = (daemon.epoch, daemon.seq);
        Ok(())
    }

    /// The id of the daemon's run, and the number of its last event at connection time.
    pub fn stands(&self) -> (&str, u64) {
        (&self.stands.0, self.stands.1)
    }

    /// The time limit for an answer.
    pub fn answer_timeout(&self) -> Duration {
        self.answer_timeout
    }

    /// Sends a request and waits for its answer; skips events meanwhile.
    pub async fn call<P: MethodParams>(&mut self, params: &P) -> Result<P::Result, ClientError> {
        let id = self.ask(params).await?;
        let answer = tokio::time::timeout(self.answer_timeout, self.answer(id))
            .await
            .map_err(|_| ClientError::Broken("it does not answer".to_owned()))??;
        serde_json::from_value(answer).map_err(broken)
    }

    /// Like [`Client::call`]; subscribes to events first, and passes those that arrive meanwhile to `on_event`.
    pub async fn call_with_events<P: MethodParams>(
        &mut self,
        params: &P,
        on_event: &(dyn Fn(&Value) + Sync),
    ) -> Result<P::Result, ClientError> {
        // The request does not depend on the events.
        let _ = self.call(&SubscribeParams::default()).await;
        let id = self.ask(params).await?;
        let answer =
            tokio::time::timeout(self.answer_timeout, self.answer_with_events(id, on_event))
                .await
                .map_err(|_| ClientError::Broken("it does not answer".to_owned()))??;
        serde_json::from_value(answer).map_err(broken)
    }

    /// Like [`Client::call`], without a time limit.
    pub async fn call_for_long<P: MethodParams>(
        &mut self,
        params: &P,
    ) -> Result<P::Result, ClientError> {
        let id = self.ask(params).await?;
        serde_json::from_value(self.answer(id).await?).map_err(broken)
    }

    /// Sends a request without waiting; returns its id. [`Client::next`] returns the answer.
    pub async fn ask<P: MethodParams>(&mut self, params: &P) -> Result<i64, ClientError> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({
            "jsonrpc": "2.0", "id": id, "method": P::METHOD, "params": params,
        });
        self.send(request.to_string()).await?;
        Ok(id)
    }

    pub async fn notify(&mut self, method: &str, params: Value) -> Result<(), ClientError> {
        let notification = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send(notification.to_string()).await
    }

    /// Answers the daemon's request `id`.
    pub async fn reply(&mut self, id: &Value, result: Value) -> Result<(), ClientError> {
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        self.send(answer.to_string()).await
    }

    /// Sends a message unchanged.
    pub async fn send(&mut self, text: String) -> Result<(), ClientError> {
        if text.len() <= self.max_frame {
            return self.socket.send(Message::text(text)).await.map_err(broken);
        }
        let text = Bytes::from(text);
        let frames = text.len().div_ceil(self.max_frame);
        for index in 0..frames {
            let part =
                text.slice(index * self.max_frame..text.len().min((index + 1) * self.max_frame));
            let kind = if index == 0 { Data::Text } else { Data::Continue };
            let frame = Frame::message(part, OpCode::Data(kind), index + 1 == frames);
            self.socket.send(Message::Frame(frame)).await.map_err(broken)?;
        }
        Ok(())
    }

    /// The next message of the daemon. Cancel-safe.
    pub async fn next(&mut self) -> Result<Value, ClientError> {
        loop {
            let message = match self.socket.next().await {
                Some(message) => message.map_err(broken)?,
                None => return Err(ClientError::Broken("it hung up".to_owned())),
            };
            let text = match message {
                Message::Text(text) => text,
                Message::Close(reason) => {
                    let reason = reason.map(|reason| reason.reason.to_string());
                    let reason = reason.filter(|reason| !reason.is_empty());
                    return Err(ClientError::Broken(
                        reason.unwrap_or_else(|| "it closed the connection".to_owned()),
                    ));
                }
                _ => continue,
            };
            return serde_json::from_str(&text).map_err(broken);
        }
    }

    async fn answer(&mut self, id: i64) -> Result<Value, ClientError> {
        self.answer_with_events(id, &|_| {}).await
    }

    async fn answer_with_events(
        &mut self,
        id: i64,
        on_event: &(dyn Fn(&Value) + Sync),
    ) -> Result<Value, ClientError> {
        loop {
            let mut answer = self.next().await?;
            // An error without an id answers the only open request.
            let ours =
                answer["id"] == id || (answer["id"].is_null() && answer["error"].is_object());
            if !ours {
                on_event(&answer);
                continue;
            }
            if answer["error"].is_object() {
                let error = serde_json::from_value(answer["error"].take()).map_err(broken)?;
                return Err(ClientError::Answer(error));
            }
            return Ok(answer["result"].take());
        }
    }

    /// Closes the connection cleanly, so that the daemon notices at once.
    pub async fn close(mut self) {
        let _ = tokio::time::timeout(Duration::from_secs(1), self.socket.close(None)).await;
    }
}

pub(super) async fn dial(port: u16) -> Result<TcpStream, ClientError> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
    stream.map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => ClientError::NobodyThere { port },
        _ => broken(error),
    })
}

/// Makes the listener on `port` prove that it knows the token, and only then returns the ticket
/// that proves the same for one connection. The token itself is not sent.
async fn ticket(port: u16, token: &Token) -> Result<String, ClientError> {
    let challenge = Challenge::new(port, token)?;
    let mut stream = dial(port).await?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n",
        challenge.path()
    );
    stream.write_all(request.as_bytes()).await.map_err(broken)?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer).await.map_err(broken)?;
    let answer = challenge_answer(&answer).map_err(|status| refused(port, status))?;
    challenge.ticket(&answer)
}

/// The error for a challenge answered with this HTTP status; `None` if the listener does not speak
/// HTTP.
pub(super) fn refused(port: u16, status: Option<u16>) -> ClientError {
    match status {
        Some(status @ (401 | 403 | 429 | 503)) => ClientError::Refused { port, status },
        // The listener speaks another protocol.
        _ => ClientError::NotTheDaemon { port },
    }
}

/// A challenge that only the daemon can answer, since it knows the token.
pub(super) struct Challenge<'a> {
    port: u16,
    token: &'a Token,
    /// A fresh nonce: a recorded answer proves nothing.
    nonce: String,
}

impl<'a> Challenge<'a> {
    pub(super) fn new(port: u16, token: &'a Token) -> Result<Self, ClientError> {
        Ok(Self { port, token, nonce: Token::generate().map_err(broken)?.reveal() })
    }

    pub(super) fn path(&self) -> String {
        format!("/v1/challenge/{}/{}", self.token.name(), self.nonce)
    }

    /// The ticket for one connection.
    ///
    /// # Errors
    /// [`ClientError::NotTheDaemon`] if the answer proves nothing.
    pub(super) fn ticket(&self, answer: &ChallengeAnswer) -> Result<String, ClientError> {
        let both = format!("{} {}", self.nonce, answer.nonce);
        // A server nonce that is not one word cannot be part of the ticket.
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if !is_equal_proof(&answer.proof, &self.token.proof(Proof::Challenge, self.port, &both))
            || !answer.nonce.chars().all(is_word)
        {
            return Err(ClientError::NotTheDaemon { port: self.port });
        }
        let proof = self.token.proof(Proof::Ticket, self.port, &answer.nonce);
        Ok(format!("{}.{}.{proof}", self.token.name(), answer.nonce))
    }
}

/// Reads the answer to a challenge up to the end of the connection, or its status if it is an HTTP
/// error.
fn challenge_answer(bytes: &[u8]) -> Result<ChallengeAnswer, Option<u16>> {
    let text = str::from_utf8(bytes).map_err(|_| None)?;
    let rest = text.strip_prefix("HTTP/1.1 ").ok_or(None)?;
    let status = rest.get(..3).and_then(|status| status.parse().ok()).ok_or(None)?;
    let (_, body) = text.split_once("\r\n\r\n").ok_or(Some(status))?;
    match status {
        200 => serde_json::from_str(body).map_err(|_| Some(status)),
        _ => Err(Some(status)),
    }
}

/// Compared as hashes, so that the time reveals nothing.
fn is_equal_proof(shown: &str, right: &str) -> bool {
    blake3::hash(shown.as_bytes()) == blake3::hash(right.as_bytes())
}

/// The caller name of the command line; if a hook started it, with the hook's name, so that hooks
/// do not react to their own calls.
pub fn name() -> String {
    match std::env::var(hooks::VARIABLE) {
        Ok(hook) if !hook.is_empty() => format!("{HOOK_CALLER}{hook}"),
        _ => "steward".to_owned(),
    }
}

fn introduction(nonce: &str, approvals: bool) -> InitializeParams {
    let vault = Some(ClientVaultMeta {
        nonce: Some(nonce.to_owned()),
        approvals,
        ..ClientVaultMeta::default()
    });
    InitializeParams {
        protocol_version: PROTOCOL_VERSION,
        client_info: Some(Implementation {
            name: name(),
            title: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }),
        client_capabilities: ClientCapabilities {
            meta: Some(ClientMeta { vault }),
            ..ClientCapabilities::default()
        },
    }
}

pub(super) fn broken(error: impl std::fmt::Display) -> ClientError {
    ClientError::Broken(error.to_string())
}

/// A small async runtime for one exchange with the daemon.
pub fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
