//! A stand-in for SmartHole: it accepts, sends, rejects, ignores and forgets.

use std::collections::HashMap;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

/// The largest frame that it accepts.
const LARGEST: usize = 1 << 20;

/// How long a title is remembered.
const COALESCED: Duration = Duration::from_secs(5);

/// The longest wait of a test.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// The events.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    Registered {
        name: String,
        description: String,
    },
    Refused {
        code: String,
    },
    Ack {
        id: String,
    },
    Reject {
        id: String,
        reason: String,
    },
    /// A notification that a person saw.
    Shown {
        id: String,
        title: String,
        body: String,
        priority: String,
    },
    /// A notification that was lost: its title had just been shown.
    Lost {
        title: String,
    },
    Gone,
}

#[derive(Default)]
struct State {
    seen: Vec<(Instant, Seen)>,
    /// Registered names, by connection.
    names: HashMap<u64, String>,
    outgoing: HashMap<u64, Vec<Message>>,
    streams: HashMap<u64, TcpStream>,
    titles: Vec<(Instant, String)>,
    /// Names held by dead connections.
    held: Vec<String>,
    /// The reason with which it rejects any registration.
    refuses: Option<(String, String)>,
    is_dead: bool,
    /// It does not answer registrations.
    is_mute: bool,
    heartbeat: Option<Duration>,
    last: u64,
}

/// SmartHole, until dropped.
#[derive(Clone)]
pub struct Desktop {
    pub port: u16,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Desktop {
    pub fn start() -> Self {
        Self::on(0)
    }

    /// On this port.
    pub fn on(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let desktop = Self { port: listener.local_addr().unwrap().port(), state: Arc::default() };
        let shared = desktop.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                if shared.lock().is_dead {
                    return;
                }
                let desktop = shared.clone();
                std::thread::spawn(move || desktop.serve(stream));
            }
        });
        desktop
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn saw(&self, seen: Seen) {
        self.lock().seen.push((Instant::now(), seen));
        self.state.1.notify_all();
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.lock().seen.iter().map(|(_, seen)| seen.clone()).collect()
    }

    /// When the notifications were shown, in order.
    pub fn shown_at(&self) -> Vec<Instant> {
        let shown =
            |(at, seen): &(Instant, Seen)| matches!(seen, Seen::Shown { .. }).then_some(*at);
        self.lock().seen.iter().filter_map(shown).collect()
    }

    /// Waits until `wanted` finds its event.
    pub fn until<T>(&self, what: &str, wanted: impl Fn(&[Seen]) -> Option<T>) -> T {
        let begun = Instant::now();
        let mut state = self.lock();
        loop {
            let seen: Vec<Seen> = state.seen.iter().map(|(_, seen)| seen.clone()).collect();
            if let Some(found) = wanted(&seen) {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "no {what}: {seen:#?}");
            state = self.state.1.wait_timeout(state, Duration::from_millis(200)).unwrap().0;
        }
    }

    /// Waits for this many registrations in total.
    pub fn registered(&self, times: usize) {
        self.until("registration", |seen| {
            let count = seen.iter().filter(|one| matches!(one, Seen::Registered { .. })).count();
            (count >= times).then_some(())
        });
    }

    /// Waits for this many acknowledgements of a message.
    pub fn acked(&self, id: &str, times: usize) {
        self.until(&format!("ack of {id}"), |seen| {
            let ack = Seen::Ack { id: id.to_owned() };
            (seen.iter().filter(|one| **one == ack).count() >= times).then_some(())
        });
    }

    /// Waits for a notification whose body contains this; returns its title and priority.
    pub fn shown(&self, words: &str) -> (String, String) {
        self.until(&format!("notification of `{words}`"), |seen| {
            seen.iter().find_map(|one| match one {
                Seen::Shown { title, body, priority, .. } if body.contains(words) => {
                    Some((title.clone(), priority.clone()))
                }
                _ => None,
            })
        })
    }

    /// Sends a spoken message for which the router chose the steward.
    pub fn say(&self, id: &str, text: &str) {
        let metadata = json!({"inputMethod": "voice", "directRouted": false,
            "routingReason": "it is to be noted"});
        self.send_text(&message(id, text, &metadata));
    }

    /// Sends a frame to the registered client.
    pub fn send_text(&self, frame: &str) {
        self.send(Message::text(frame));
    }

    pub fn send(&self, frame: Message) {
        let mut state = self.lock();
        let clients: Vec<u64> = state.names.keys().copied().collect();
        assert!(!clients.is_empty(), "nobody is registered");
        for client in clients {
            state.outgoing.entry(client).or_default().push(frame.clone());
        }
    }

    /// Whether a client is registered.
    pub fn has_client(&self) -> bool {
        !self.lock().names.is_empty()
    }

    /// Rejects all registrations with this reason; `None`: the usual behaviour.
    pub fn refuse(&self, refusal: Option<(&str, &str)>) {
        self.lock().refuses = refusal.map(|(code, words)| (code.to_owned(), words.to_owned()));
    }

    /// A dead connection holds this name, or no longer.
    pub fn hold(&self, name: &str, is_held: bool) {
        let mut state = self.lock();
        state.held.retain(|held| held != name);
        if is_held {
            state.held.push(name.to_owned());
        }
    }

    /// Does not answer registrations, or answers them again.
    pub fn mute(&self, is_mute: bool) {
        self.lock().is_mute = is_mute;
    }

    pub fn heartbeat(&self, every: Duration) {
        self.lock().heartbeat = Some(every);
    }

    /// Every connection breaks: 1006.
    pub fn break_all(&self) {
        for (_, stream) in self.lock().streams.drain() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// It exits as when a person closes it: 1001.
    pub fn quit(&self) {
        {
            let mut state = self.lock();
            state.is_dead = true;
            let close = CloseFrame { code: CloseCode::Away, reason: "Server shutting down".into() };
            let clients: Vec<u64> = state.streams.keys().copied().collect();
            for client in clients {
                let close = Message::Close(Some(close.clone()));
                state.outgoing.entry(client).or_default().push(close);
            }
        }
        // Nothing listens once this connection is closed.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.until("good-bye", |seen| (seen.last() == Some(&Seen::Gone)).then_some(()));
    }

    pub fn is_dead(&self) -> bool {
        self.lock().is_dead
    }

    fn serve(&self, stream: TcpStream) {
        let connection = {
            let mut state = self.lock();
            state.last += 1;
            let connection = state.last;
            state.streams.insert(connection, stream.try_clone().unwrap());
            connection
        };
        let config = WebSocketConfig::default()
            .max_message_size(Some(LARGEST))
            .max_frame_size(Some(LARGEST));
        let raw = stream.try_clone().unwrap();
        if let Ok(mut socket) = tungstenite::accept_with_config(stream, Some(config)) {
            raw.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
            self.converse(&mut socket, connection);
        }
        let mut state = self.lock();
        state.streams.remove(&connection);
        state.outgoing.remove(&connection);
        state.names.remove(&connection);
        drop(state);
        let _ = raw.shutdown(Shutdown::Both);
        self.saw(Seen::Gone);
    }

    fn converse(&self, socket: &mut WebSocket<TcpStream>, connection: u64) {
        let (mut beat, mut has_ponged) = (Instant::now(), true);
        loop {
            let (out, heartbeat) = {
                let mut state = self.lock();
                (state.outgoing.remove(&connection).unwrap_or_default(), state.heartbeat)
            };
            for frame in out {
                let is_close = frame.is_close();
                if socket.send(frame).is_err() || is_close {
                    return;
                }
            }
            if heartbeat.is_some_and(|every| beat.elapsed() >= every) {
                // A client without an answer by the next ping counts as dead.
                if !std::mem::replace(&mut has_ponged, false)
                    || socket.send(Message::Ping(Vec::new().into())).is_err()
                {
                    return;
                }
                beat = Instant::now();
            }
            match socket.read() {
                Ok(Message::Text(text)) => self.frame(socket, connection, &text),
                Ok(Message::Binary(bytes)) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    self.frame(socket, connection, &text);
                }
                Ok(Message::Pong(_)) => has_ponged = true,
                Ok(Message::Close(_)) => return,
                Ok(_) => {}
                Err(tungstenite::Error::Io(error))
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) => {}
                Err(tungstenite::Error::Capacity(_)) => {
                    let close = CloseFrame { code: CloseCode::Size, reason: "".into() };
                    let _ = socket.close(Some(close));
                    return;
                }
                Err(_) => return,
            }
            if self.lock().is_dead && self.lock().outgoing.is_empty() {
                return;
            }
        }
    }

    /// Handles a frame as SmartHole does: it ignores what it does not know, and a null crashes it.
    fn frame(&self, socket: &mut WebSocket<TcpStream>, connection: u64, text: &str) {
        let Ok(frame) = serde_json::from_str::<Value>(text) else { return };
        let payload = &frame["payload"];
        match frame["type"].as_str() {
            Some("registration") if payload.is_null() => {
                self.lock().is_dead = true;
            }
            Some("registration") if self.lock().is_mute => {}
            Some("registration") => {
                if let Some(answer) = self.register(connection, payload) {
                    let answer = json!({"type": "registration_response", "payload": answer});
                    let _ = socket.send(Message::text(answer.to_string()));
                }
            }
            Some("response") => self.response(payload),
            _ => {}
        }
    }

    fn register(&self, connection: u64, payload: &Value) -> Option<Value> {
        let name = payload["name"].as_str().unwrap_or_default().to_owned();
        let description = payload["description"].as_str().unwrap_or_default().to_owned();
        let mut state = self.lock();
        let is_letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let refusal = if let Some(refusal) = state.refuses.clone() {
            Some(refusal)
        } else if state.names.contains_key(&connection) {
            Some(("ALREADY_REGISTERED".to_owned(), "already registered".to_owned()))
        } else if !is_letter || !name.chars().all(fits) || name.len() > 64 {
            Some(("INVALID_NAME".to_owned(), format!("\"{name}\" is not valid")))
        } else if description.is_empty() || description.encode_utf16().count() > 1024 {
            Some(("INVALID_DESCRIPTION".to_owned(), "empty or too long".to_owned()))
        } else if state.held.contains(&name) || state.names.values().any(|held| *held == name) {
            let words = format!("A client named \"{name}\" is already registered");
            Some(("DUPLICATE_NAME".to_owned(), words))
        } else {
            None
        };
        if let Some((code, message)) = refusal {
            drop(state);
            self.saw(Seen::Refused { code: code.clone() });
            return Some(json!({"success": false, "code": code, "message": message}));
        }
        state.names.insert(connection, name.clone());
        drop(state);
        self.saw(Seen::Registered { name, description });
        let words = "Registration successful";
        Some(json!({"success": true, "clientId": format!("c{connection}"), "message": words}))
    }

    fn response(&self, payload: &Value) {
        let (Some(id), Some(inner)) =
            (payload["messageId"].as_str(), payload["payload"].as_object())
        else {
            return;
        };
        let id = id.to_owned();
        let text = |key: &str| inner.get(key).and_then(Value::as_str).map(str::to_owned);
        match payload["type"].as_str() {
            Some("ack") if inner.is_empty() => self.saw(Seen::Ack { id }),
            Some("reject") => self.saw(Seen::Reject { id, reason: text("reason").unwrap() }),
            Some("notification") => {
                let is_null = |key: &str| inner.get(key).is_some_and(Value::is_null);
                let (title, body) = (text("title"), text("body").unwrap_or_default());
                let is_empty = title.is_none() && body.is_empty();
                if is_null("title") || is_null("priority") || is_empty {
                    return;
                }
                let title = title.unwrap_or_default();
                let is_known = {
                    let mut state = self.lock();
                    state.titles.retain(|(at, _)| at.elapsed() < COALESCED);
                    let is_known = state.titles.iter().any(|(_, known)| *known == title);
                    state.titles.push((Instant::now(), title.clone()));
                    is_known
                };
                let priority = text("priority").unwrap_or_default();
                self.saw(if is_known {
                    Seen::Lost { title }
                } else {
                    Seen::Shown { id, title, body, priority }
                });
            }
            _ => {}
        }
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        // The last owner: each connection's thread has one, and the listening thread.
        if Arc::strong_count(&self.state) <= 2 {
            self.lock().is_dead = true;
        }
    }
}

/// A message's frame.
pub fn message(id: &str, text: &str, metadata: &Value) -> String {
    let payload = json!({"id": id, "text": text, "timestamp": "2026-11-21T17:00:00.000Z",
        "metadata": metadata});
    json!({"type": "message", "payload": payload}).to_string()
}
