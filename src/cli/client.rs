//! A client of the running daemon: one connection. Most commands ask one thing and leave;
//! `steward chat` stays and hears what happens.

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

use crate::calls::HOOK_CALLER;
use crate::config::running::Running;
use crate::hooks;
use crate::protocol::error::ErrorObject;
use crate::protocol::http::{ChallengeAnswer, RELAYED_FOR};
use crate::protocol::initialize::{
    AgentMeta, AgentVaultMeta, ClientCapabilities, ClientMeta, ClientVaultMeta, Implementation,
    InitializeParams,
};
use crate::protocol::{MethodParams, PROTOCOL_VERSION, SUBPROTOCOL, TICKET_SUBPROTOCOL_PREFIX};
use crate::server::token::{Proof, Token};

/// The largest frame sent before the server has said what it takes, in bytes.
const FIRST_FRAME: usize = 64 << 10;

/// The longest answer to a challenge that is read, in bytes; ours has a tenth of it.
const LONGEST_ANSWER: u64 = 4 << 10;

/// How long a local daemon may take to accept and to introduce itself.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How much longer than the daemon's own deadline a call may take before the daemon is taken for
/// dead.
const GRACE: Duration = Duration::from_secs(10);

/// Why the daemon could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens: what `daemon.json` says is stale.
    #[error("nobody answers on port {port}")]
    NobodyThere { port: u16 },
    /// The token was refused.
    #[error("the daemon on port {port} refused the connection ({status})")]
    Refused {
        port: u16,
        /// The HTTP status.
        status: u16,
    },
    /// Somebody listens who does not know the token: nothing was sent.
    #[error("what answers on port {port} is not the daemon of this vault")]
    NotTheDaemon { port: u16 },
    #[error("{}", .0.message)]
    Answer(ErrorObject),
    /// The connection broke.
    #[error("the connection to the daemon broke: {0}")]
    Broken(String),
}

/// A connection whose other end has proved to be the daemon.
#[derive(Debug)]
pub struct Client {
    socket: WebSocketStream<TcpStream>,
    next_id: i64,
    /// The largest frame the server takes, in bytes; more goes as several.
    max_frame: usize,
    /// How long an answer may take.
    patience: Duration,
    /// The run of the daemon, and its last event when it was asked.
    stands: (String, u64),
}

impl Client {
    /// Connects to the daemon and has it prove that it knows the token, which is not sent.
    ///
    /// # Errors
    /// [`ClientError`]; after [`ClientError::NotTheDaemon`] nothing of the user's was sent.
    pub async fn connect(running: &Running, token: &Token) -> Result<Self, ClientError> {
        Self::connect_as(running, token, false).await
    }

    /// As [`Client::connect`]; with `approvals` it is asked what a person must agree to.
    ///
    /// # Errors
    /// As there.
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

        // A fresh random text: an answer heard earlier proves nothing.
        let nonce = Token::generate().map_err(broken)?.reveal();
        let answer = client.call(&introduction(&nonce, approvals)).await?;
        let daemon = answer.agent_capabilities.meta.vault;
        client.checked(daemon, port, token, &nonce)?;
        Ok(client)
    }

    /// Connects in another client's name, which introduces itself with these params; what it is answered.
    /// The daemon proves itself like to any other.
    ///
    /// # Errors
    /// As [`Client::connect`]; [`ClientError::Answer`] where the daemon refuses the params.
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
                // It is between this program and the daemon.
                capabilities.remove("_meta");
            }
            Ok((client, answer))
        };
        let silent = Err(ClientError::Broken("it does not answer".to_owned()));
        tokio::time::timeout(HANDSHAKE, work).await.unwrap_or(silent)
    }

    /// Opens a connection on which nothing is said yet.
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
                    // It speaks something else.
                    _ => ClientError::NotTheDaemon { port },
                }
            })?;
        Ok(Self {
            socket,
            next_id: 1,
            max_frame: FIRST_FRAME,
            patience: HANDSHAKE,
            stands: (String::new(), 0),
        })
    }

    /// Goes by what the daemon said of itself, once its proof is right.
    fn checked(
        &mut self,
        daemon: AgentVaultMeta,
        port: u16,
        token: &Token,
        nonce: &str,
    ) -> Result<(), ClientError> {
        let proof = daemon.proof.unwrap_or_default();
        // On this connection too: another program may have taken the port since the challenge.
        if !proves(&proof, &token.proof(Proof::Initialize, port, nonce)) {
            return Err(ClientError::NotTheDaemon { port });
        }
        self.max_frame = usize::try_from(daemon.limits.max_frame_bytes)
            .map_or(FIRST_FRAME, |most| most.clamp(1, 1 << 20));
        let deadline = Duration::from_secs(u64::from(daemon.limits.request_seconds));
        self.patience = deadline + GRACE;
        self.stands = (daemon.epoch, daemon.seq);
        Ok(())
    }

    /// The run of the daemon, and the number of its last event when the connection was made.
    pub fn stands(&self) -> (&str, u64) {
        (&self.stands.0, self.stands.1)
    }

    /// How long an answer may take.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Asks and waits for the answer; what the daemon tells meanwhile is not for us.
    ///
    /// # Errors
    /// [`ClientError::Answer`] or [`ClientError::Broken`].
    pub async fn call<P: MethodParams>(&mut self, params: &P) -> Result<P::Result, ClientError> {
        let id = self.ask(params).await?;
        let answer = tokio::time::timeout(self.patience, self.answer(id))
            .await
            .map_err(|_| ClientError::Broken("it does not answer".to_owned()))??;
        serde_json::from_value(answer).map_err(broken)
    }

    /// Asks without waiting; the id of the answer, which comes by [`Client::next`].
    ///
    /// # Errors
    /// [`ClientError::Broken`].
    pub async fn ask<P: MethodParams>(&mut self, params: &P) -> Result<i64, ClientError> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({
            "jsonrpc": "2.0", "id": id, "method": P::METHOD, "params": params,
        });
        self.send(request.to_string()).await?;
        Ok(id)
    }

    /// Tells the daemon something that has no answer.
    ///
    /// # Errors
    /// [`ClientError::Broken`].
    pub async fn tell(&mut self, method: &str, params: Value) -> Result<(), ClientError> {
        let told = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send(told.to_string()).await
    }

    /// Answers what the daemon asked under `id`.
    ///
    /// # Errors
    /// [`ClientError::Broken`].
    pub async fn reply(&mut self, id: &Value, result: Value) -> Result<(), ClientError> {
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        self.send(answer.to_string()).await
    }

    /// Sends a message as it stands.
    ///
    /// # Errors
    /// [`ClientError::Broken`].
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

    /// The next message of the daemon's, whatever it is. Given up in between, it loses nothing.
    ///
    /// # Errors
    /// [`ClientError::Broken`], once there is no connection any more.
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
        loop {
            let mut answer = self.next().await?;
            // An error without an id answers the one question there is.
            let ours =
                answer["id"] == id || (answer["id"].is_null() && answer["error"].is_object());
            if !ours {
                continue;
            }
            if answer["error"].is_object() {
                let error = serde_json::from_value(answer["error"].take()).map_err(broken)?;
                return Err(ClientError::Answer(error));
            }
            return Ok(answer["result"].take());
        }
    }

    /// Says good-bye, so that the daemon need not find out.
    pub async fn close(mut self) {
        let _ = tokio::time::timeout(Duration::from_secs(1), self.socket.close(None)).await;
    }
}

async fn dial(port: u16) -> Result<TcpStream, ClientError> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
    stream.map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => ClientError::NobodyThere { port },
        _ => broken(error),
    })
}

/// Has whoever listens on `port` prove that it knows the token, and only then proves it in turn: the
/// ticket that lets one connection in. The token itself is not sent.
async fn ticket(port: u16, token: &Token) -> Result<String, ClientError> {
    let nonce = Token::generate().map_err(broken)?.reveal();
    let name = token.name();
    let mut stream = dial(port).await?;
    let request = format!(
        "GET /v1/challenge/{name}/{nonce} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.map_err(broken)?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer).await.map_err(broken)?;
    let answer = challenge_answer(&answer).map_err(|status| match status {
        Some(status @ (401 | 403 | 429 | 503)) => ClientError::Refused { port, status },
        // It speaks something else.
        _ => ClientError::NotTheDaemon { port },
    })?;
    let both = format!("{nonce} {}", answer.nonce);
    // A nonce of theirs that is no word of ours could not be part of the ticket.
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !proves(&answer.proof, &token.proof(Proof::Challenge, port, &both))
        || !answer.nonce.chars().all(is_word)
    {
        return Err(ClientError::NotTheDaemon { port });
    }
    let proof = token.proof(Proof::Ticket, port, &answer.nonce);
    Ok(format!("{name}.{}.{proof}", answer.nonce))
}

/// Posts a message of JSON to the daemon on `port`, once it has proved that it knows the token; what came
/// back, and its HTTP status. `name` is what the program calls itself in whose name it is sent. Where the answer
/// comes piece by piece, each piece is told, and the last one is what came back.
///
/// # Errors
/// [`ClientError`]; after [`ClientError::NobodyThere`] and [`ClientError::NotTheDaemon`] the message was
/// not sent.
pub async fn post(
    port: u16,
    token: &Token,
    path: &str,
    name: &str,
    message: &str,
    tell: impl Fn(&str),
) -> Result<(u16, String), ClientError> {
    let ticket = ticket(port, token).await.map_err(|error| match error {
        // It ended while it was asked.
        ClientError::Broken(_) => ClientError::NobodyThere { port },
        error => error,
    })?;
    let name: String = name.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
    let mut stream = dial(port).await?;
    let head = format!(
        "POST {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\n{RELAYED_FOR}: {name}\r\n\
         Sec-WebSocket-Protocol: {TICKET_SUBPROTOCOL_PREFIX}{ticket}\r\nConnection: close\r\n\r\n",
        message.len()
    );
    stream.write_all(head.as_bytes()).await.map_err(broken)?;
    // Who refuses by the head alone does not read the rest, and has said why.
    let sent = stream.write_all(message.as_bytes()).await;
    let mut answer = Vec::new();
    let mut piece = None;
    let read = loop {
        match stream.read_buf(&mut answer).await {
            Ok(0) => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
        let Some(head) = head_of(&answer) else { continue };
        if !is_stream(&answer[..head]) {
            continue;
        }
        // An event is a line, and an empty one after it.
        while let Some(end) = answer[head..].windows(2).position(|two| two == b"\n\n") {
            let event: Vec<u8> = answer.drain(head..head + end + 2).collect();
            let Some(data) = event.strip_prefix(b"data: ") else { continue };
            let data = str::from_utf8(data).map_err(broken)?.trim_end().to_owned();
            if let Some(before) = piece.replace(data) {
                tell(&before);
            }
            // What is no answer is passed on at once.
            if let Some(now) = piece.take_if(|now| !is_answer(now)) {
                tell(&now);
            }
        }
    };
    if let Some(last) = piece {
        return Ok((200, last));
    }
    let text = String::from_utf8(answer).map_err(broken)?;
    let rest = text.strip_prefix("HTTP/1.1 ").or_else(|| text.strip_prefix("HTTP/1.0 "));
    let status = rest.and_then(|rest| rest.get(..3)?.parse().ok());
    match (status, text.split_once("\r\n\r\n")) {
        (Some(_), Some((head, _))) if is_stream(head.as_bytes()) => {
            Err(ClientError::Broken("it hung up".to_owned()))
        }
        (Some(status), Some((_, body))) => Ok((status, body.to_owned())),
        _ => Err(match sent.and(read) {
            Err(error) => broken(error),
            Ok(_) => ClientError::Broken("it hung up".to_owned()),
        }),
    }
}

/// Where the body of an answer begins, once all of its head is there.
fn head_of(answer: &[u8]) -> Option<usize> {
    answer.windows(4).position(|four| four == b"\r\n\r\n").map(|end| end + 4)
}

/// Whether an answer comes piece by piece.
fn is_stream(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    head.contains("\r\ncontent-type: text/event-stream")
}

/// Whether a message is the answer to a request.
fn is_answer(message: &str) -> bool {
    serde_json::from_str::<Value>(message).is_ok_and(|message| message.get("method").is_none())
}

/// Reads what a challenge was answered with, to the end of the connection; otherwise its status, where
/// it is HTTP.
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

/// Compared as hashes are, in a time that says nothing.
fn proves(shown: &str, right: &str) -> bool {
    blake3::hash(shown.as_bytes()) == blake3::hash(right.as_bytes())
}

/// What the command line calls itself; where a hook has started it, after that hook, so that hooks
/// do not hear of what they do themselves.
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

fn broken(error: impl std::fmt::Display) -> ClientError {
    ClientError::Broken(error.to_string())
}

/// A small runtime for one conversation with the daemon.
///
/// # Errors
/// What the system said.
pub fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
