//! A real server on a free port, and a client that can misbehave.
#![allow(dead_code, reason = "each test program uses its part")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};
use vault_steward::calls::run::blocking_threads;
use vault_steward::server::events::Events;
use vault_steward::server::token::{Proof, Token, TokenKeeper};
use vault_steward::server::{Backend, Server, Settings};

/// A server that runs until dropped.
pub struct Door {
    pub port: u16,
    pub token: String,
    pub events: Events,
    /// Where new settings are put.
    pub settings: Arc<ArcSwap<Settings>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    runtime: tokio::runtime::Handle,
    /// The path of the token.
    _folder: tempfile::TempDir,
}

impl Door {
    pub fn open(settings: Settings, backend: impl Into<Backend>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            // As in the daemon.
            .max_blocking_threads(blocking_threads())
            .enable_all()
            .build()
            .unwrap();
        let handle = runtime.handle().clone();
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { port: 0, ..settings };
        let keeper = TokenKeeper::follow(&folder.path().join("state/token")).unwrap();
        let token = keeper.current();
        let server = Server::bind(settings, keeper, backend.into());
        let server = runtime.block_on(server).unwrap();
        let (port, events, settings) = (server.port(), server.events(), server.settings());
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            runtime.block_on(server.run(async {
                let _ = stopped.await;
            }));
            runtime.shutdown_timeout(Duration::from_secs(1));
        });
        Self {
            port,
            token: token.reveal(),
            events,
            settings,
            stop: Some(stop),
            thread: Some(thread),
            runtime: handle,
            _folder: folder,
        }
    }

    /// Asks the server to stop, without waiting.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Waits until it has stopped.
    pub fn wait(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    /// Tasks alive on the server's runtime.
    pub fn tasks(&self) -> usize {
        self.runtime.metrics().num_alive_tasks()
    }

    /// Sends `request` unchanged and reads until the server closes or upgrades.
    pub fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(n) => answer.extend_from_slice(&buffer[..n]),
            }
            if answer.starts_with(b"HTTP/1.1 101") && answer.ends_with(b"\r\n\r\n") {
                break;
            }
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The status of the answer to `request`; 0 without an answer.
    pub fn status(&self, request: &str) -> u16 {
        let answer = self.raw(request);
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    /// A handshake with these header lines in addition to the usual ones.
    pub fn handshake(&self, headers: &[String]) -> u16 {
        self.status(&upgrade("/v1", headers))
    }

    pub fn host(&self) -> String {
        format!("Host: 127.0.0.1:{}", self.port)
    }

    pub fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token)
    }

    /// The answer to a challenge: status and body.
    pub fn challenge(&self, name: &str, nonce: &str) -> (u16, Value) {
        let line = format!("GET /v1/challenge/{name}/{nonce} HTTP/1.1");
        let answer = self.raw(&format!("{line}\r\n{}\r\nConnection: close\r\n\r\n", self.host()));
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// A ticket, as a header, for the holder of the key `name`, after the server has proved itself.
    pub fn ticket(&self, name: &str, key: &Token) -> String {
        let nonce = "0123456789abcdef";
        let (status, answer) = self.challenge(name, nonce);
        assert_eq!(status, 200, "{answer}");
        let theirs = answer["nonce"].as_str().unwrap();
        let both = format!("{nonce} {theirs}");
        assert_eq!(answer["proof"], key.proof(Proof::Challenge, self.port, &both));
        let proof = key.proof(Proof::Ticket, self.port, theirs);
        format!("Sec-WebSocket-Protocol: vault.v1, vault.ticket.{name}.{theirs}.{proof}")
    }

    /// A client before its handshake.
    pub fn connect(&self) -> Client {
        self.try_connect().unwrap()
    }

    /// The same, or the status of the refusal.
    pub fn try_connect(&self) -> Result<Client, u16> {
        Client::connect(self.port, &self.token)
    }

    /// A client after its handshake.
    pub fn client(&self) -> Client {
        let mut client = self.connect();
        client.initialize();
        client
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the server panicked");
        }
    }
}

/// The head of a WebSocket handshake.
pub fn upgrade(target: &str, headers: &[String]) -> String {
    let mut head = format!("GET {target} HTTP/1.1\r\n");
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    head + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
}

/// One WebSocket connection.
pub struct Client {
    pub socket: WebSocket<TcpStream>,
    next: i64,
    /// Answers that arrived early: requests are answered in any order.
    early: Vec<Value>,
}

impl Client {
    /// Connects to `port`, or returns the status of the refusal.
    pub fn connect(port: u16, token: &str) -> Result<Self, u16> {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut request = format!("ws://127.0.0.1:{port}/v1").into_client_request().unwrap();
        let authorization = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert("authorization", authorization);
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(Self { socket, next: 1, early: Vec::new() }),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
                Err(response.status().as_u16())
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub fn initialize(&mut self) -> Value {
        self.call("initialize", json!({"protocolVersion": 1}))["result"].take()
    }

    pub fn send(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    /// Sends a request and returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        id
    }

    /// Sends a request and reads its answer, skipping other messages.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// As [`Self::call`]; `None` if the server is gone.
    pub fn call_if_there(&mut self, method: &str, params: Value) -> Option<Value> {
        let id = self.next;
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.socket.send(Message::text(request.to_string())).ok()?;
        loop {
            if let Message::Text(text) = self.socket.read().ok()? {
                let answer: Value = serde_json::from_str(&text).unwrap();
                if answer["id"] == id {
                    return Some(answer);
                }
            }
        }
    }

    pub fn tool(&mut self, name: &str) -> Value {
        self.call("tools/call", json!({"name": name, "arguments": {}}))
    }

    /// The answer to a request, skipping other messages.
    ///
    /// # Panics
    ///
    /// After a minute: the server's pings would make it wait forever.
    pub fn answer(&mut self, id: i64) -> Value {
        if let Some(at) = self.early.iter().position(|answer| answer["id"] == id) {
            return self.early.swap_remove(at);
        }
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "{id} is not answered");
            let message = self.read();
            if message["id"] == id {
                return message;
            }
            if message.get("id").is_some() && message.get("method").is_none() {
                self.early.push(message);
            }
        }
    }

    /// The next message.
    pub fn read(&mut self) -> Value {
        loop {
            match self.socket.read().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Reads until the server closes and returns the close code; 0 if it closed without one.
    ///
    /// # Panics
    ///
    /// After a minute: the server's pings would make it wait forever.
    pub fn close_code(&mut self) -> u16 {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "it is not closed");
            match self.socket.read() {
                Ok(Message::Close(Some(frame))) => return frame.code.into(),
                Ok(_) => {}
                Err(_) => return 0,
            }
        }
    }

    /// Sends `text` and reads the error that answers it: the id and the kind.
    pub fn refused(&mut self, text: &str) -> (Value, String) {
        self.send(text);
        let mut answer = self.read();
        let kind = answer["error"]["data"]["kind"].as_str().map(str::to_owned);
        (answer["id"].take(), kind.unwrap_or_else(|| panic!("no error: {answer}")))
    }
}
