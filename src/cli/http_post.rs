//! Posts messages to the daemon over persistent connections.
//!
//! On each connection the daemon proves that it knows the token before any client data is sent; the
//! ticket in the first message authenticates the connection. The token itself is not sent.

use axum::body::{Body, to_bytes};
use futures_util::StreamExt as _;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HOST, SEC_WEBSOCKET_PROTOCOL};
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::client::{Challenge, ClientError, LONGEST_ANSWER, broken, dial, refused};
use crate::protocol::TICKET_SUBPROTOCOL_PREFIX;
use crate::protocol::http::{ChallengeAnswer, RELAYED_FOR};
use crate::server::accept::HEAD_DEADLINE;
use crate::server::token::Token;

/// A connection to a server that has proved to be the daemon.
pub struct Connection {
    port: u16,
    sender: SendRequest<Body>,
    /// Authenticates the connection; used by the first message.
    ticket: Option<String>,
    /// The time of the last message.
    idle: Instant,
    /// The I/O task; dropping it closes the connection.
    _driver: JoinSet<()>,
}

/// The response to a posted message.
pub struct PostAnswer {
    pub status: u16,
    pub text: String,
    /// The connection, if it accepts another message.
    pub connection: Option<Connection>,
}

impl Connection {
    /// Connects to the listener on `port` and makes it prove that it knows the token.
    pub async fn open(port: u16, token: &Token) -> Result<Self, ClientError> {
        // A listener that disconnects or speaks another protocol is not the daemon.
        let gone = |_| ClientError::NotTheDaemon { port };
        let challenge = Challenge::new(port, token)?;
        let stream = dial(port).await?;
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "could not set TCP_NODELAY");
        }
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(gone)?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the daemon ended");
            }
        });
        let idle = Instant::now();
        let mut connection = Self { port, sender, ticket: None, idle, _driver: driver };
        let request = Request::get(challenge.path()).header(HOST, connection.host());
        let request = request.body(Body::empty()).map_err(broken)?;
        let answer = connection.sender.send_request(request).await.map_err(gone)?;
        let status = answer.status().as_u16();
        if status != 200 {
            return Err(refused(port, Some(status)));
        }
        let most = usize::try_from(LONGEST_ANSWER).unwrap_or(usize::MAX);
        let bytes = to_bytes(Body::new(answer.into_body()), most).await;
        let bytes = bytes.map_err(|_| ClientError::NotTheDaemon { port })?;
        let answer: ChallengeAnswer =
            serde_json::from_slice(&bytes).map_err(|_| ClientError::NotTheDaemon { port })?;
        connection.ticket = Some(challenge.ticket(&answer)?);
        Ok(connection)
    }

    /// Whether the daemon certainly accepts another message on it.
    pub fn is_usable(&self) -> bool {
        !self.sender.is_closed() && self.idle.elapsed() < HEAD_DEADLINE / 2
    }

    /// Posts a JSON message; `name` is the client that it is sent for. The pieces of a streamed answer go
    /// to `on_piece`, except the last one, which is returned.
    ///
    /// # Errors
    /// [`ClientError`]; after [`ClientError::NobodyThere`] the message was not sent.
    pub async fn post(
        mut self,
        path: &str,
        name: &str,
        message: &str,
        on_piece: impl Fn(&str),
    ) -> Result<PostAnswer, ClientError> {
        let port = self.port;
        let name: String = name.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
        let mut request = Request::post(path)
            .header(HOST, self.host())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header(RELAYED_FOR, name.trim());
        if let Some(ticket) = self.ticket.take() {
            let ticket = format!("{TICKET_SUBPROTOCOL_PREFIX}{ticket}");
            request = request.header(SEC_WEBSOCKET_PROTOCOL, ticket);
        }
        let request = request.body(Body::from(message.to_owned())).map_err(broken)?;
        let not_sent = ClientError::NobodyThere { port };
        if self.sender.ready().await.is_err() {
            return Err(not_sent);
        }
        let answer =
            self.sender.try_send_request(request).await.map_err(|mut error| {
                match error.take_message() {
                    Some(_) => not_sent,
                    None => broken(error.into_error()),
                }
            })?;
        let (head, body) = answer.into_parts();
        let (status, body) = (head.status.as_u16(), Body::new(body));
        if is_stream(&head.headers) {
            let text = last_piece(body, on_piece).await?;
            return Ok(PostAnswer { status, text, connection: None });
        }
        let bytes = to_bytes(body, usize::MAX).await.map_err(broken)?;
        let text = String::from_utf8(bytes.into()).map_err(broken)?;
        let stays = head.headers.get(CONNECTION).is_none_or(|value| value != "close");
        self.idle = Instant::now();
        Ok(PostAnswer { status, text, connection: stays.then_some(self) })
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// Passes each piece of an answer to `on_piece`, except the last one, which is returned.
async fn last_piece(body: Body, on_piece: impl Fn(&str)) -> Result<String, ClientError> {
    let (mut body, mut buffer, mut last) = (body.into_data_stream(), Vec::new(), None);
    while let Some(Ok(bytes)) = body.next().await {
        buffer.extend_from_slice(&bytes);
        // An event is a line followed by an empty line.
        while let Some(end) = buffer.windows(2).position(|two| two == b"\n\n") {
            let event: Vec<u8> = buffer.drain(..end + 2).collect();
            let Some(data) = event.strip_prefix(b"data: ") else { continue };
            let data = str::from_utf8(data).map_err(broken)?.trim_end().to_owned();
            if let Some(before) = last.replace(data) {
                on_piece(&before);
            }
            // Anything but an answer is passed on at once.
            if let Some(now) = last.take_if(|now| !is_answer(now)) {
                on_piece(&now);
            }
        }
    }
    last.ok_or_else(|| ClientError::Broken("it hung up".to_owned()))
}

fn is_answer(message: &str) -> bool {
    serde_json::from_str::<Value>(message).is_ok_and(|message| message.get("method").is_none())
}
