//! SmartHole in memory: the state that survives the program, and its end of a connection.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{WebSocketStream, accept_async};
use vault_steward::smarthole::dial::{Dial, Dialled, Stream};

use super::life::Life;
use super::world::{World, lock};
use crate::desktop::message;

/// The interval of pings; a client without an answer by the next counts as dead.
const BEAT: Duration = Duration::from_secs(30);

/// The state of SmartHole.
#[derive(Default)]
pub struct Desk {
    /// The connection that holds the name.
    registered: Option<u64>,
    connections: u64,
    /// Until when a dead connection holds the name.
    held: Option<Instant>,
    outgoing: VecDeque<String>,
    pub acked: BTreeSet<String>,
    /// How often each text was shown.
    pub shown: BTreeMap<String, usize>,
    /// Numbers whose message was set aside for a time, so that others went first.
    pub aside: BTreeSet<u32>,
    /// The faults that occurred, by kind, with their number.
    pub happened: BTreeMap<&'static str, usize>,
    chances: BTreeMap<&'static str, u64>,
    /// Whether each kind must occur, regardless of chance.
    pub meets_all: bool,
}

/// Everything that goes wrong between SmartHole and the program.
pub const WENT_WRONG: [&str; 14] = [
    NOT_THERE,
    TOO_MANY,
    NO_GREETING,
    NO_ANSWER,
    DUPLICATE,
    HELD,
    BROKEN_BEFORE,
    BROKEN_AFTER,
    GARBAGE,
    TOO_LARGE,
    TWICE,
    HALF_OPEN,
    ACK_LOST,
    BROKEN_AFTER_ACK,
];
const NOT_THERE: &str = "nobody listens";
const TOO_MANY: &str = "503 at the upgrade";
const NO_GREETING: &str = "no greeting";
const NO_ANSWER: &str = "no answer to the registration";
const DUPLICATE: &str = "a duplicate name";
const HELD: &str = "a dead connection holds the name";
const BROKEN_BEFORE: &str = "broken before a message";
const BROKEN_AFTER: &str = "broken after a message, by 1001 or 1006";
const GARBAGE: &str = "garbage";
const TOO_LARGE: &str = "too large";
const TWICE: &str = "sent twice";
const HALF_OPEN: &str = "half-open";
const ACK_LOST: &str = "an ack is lost";
const BROKEN_AFTER_ACK: &str = "broken after an ack";

impl Desk {
    fn happens(&mut self, what: &'static str) {
        *self.happened.entry(what).or_default() += 1;
    }
}

impl World {
    pub fn is_registered(&self) -> bool {
        lock(&self.desk).registered.is_some()
    }

    pub fn is_acked(&self, id: &str) -> bool {
        lock(&self.desk).acked.contains(id)
    }

    /// Sends a person's message to the registered client; without one it is lost.
    pub fn say(&self, id: &str, text: &str) {
        let metadata = json!({"inputMethod": "voice", "directRouted": false});
        let mut desk = lock(&self.desk);
        if desk.registered.is_none() {
            return;
        }
        desk.outgoing.push_back(message(id, text, &metadata));
        drop(desk);
        self.more.notify_one();
    }

    /// The program starts: it has no connections, and one of its old ones may hold its name.
    pub fn forget_connections(&self) {
        let is_held = self.troubles(|trouble| trouble.wire, 3);
        let seconds = self.below(60);
        let mut desk = lock(&self.desk);
        desk.registered = None;
        desk.outgoing.clear();
        desk.held = is_held.then(|| Instant::now() + Duration::from_secs(seconds));
    }

    fn troubled(&self, what: &'static str, many: u64) -> bool {
        if !lock(&self.trouble).wire {
            return false;
        }
        let by_chance = self.once_in(many);
        let mut desk = lock(&self.desk);
        let chances = desk.chances.entry(what).or_default();
        *chances += 1;
        let is_due = *chances >= many && desk.meets_all && !desk.happened.contains_key(what);
        if by_chance || is_due {
            desk.happens(what);
        }
        by_chance || is_due
    }
}

/// The dialler.
pub struct Wire {
    pub world: Arc<World>,
    pub life: Arc<Life>,
}

impl Dial for Wire {
    fn dial(&self, _: u16) -> Dialled {
        let (world, life) = (Arc::clone(&self.world), Arc::clone(&self.life));
        Box::pin(async move {
            life.pass().await;
            if world.troubled(NOT_THERE, 12) {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            let number = {
                let mut desk = lock(&world.desk);
                desk.connections += 1;
                desk.connections
            };
            let connection = Connection { world, life, number };
            tokio::spawn(connection.serve(theirs));
            let stream: Box<dyn Stream> = Box::new(ours);
            Ok(stream)
        })
    }
}

struct Connection {
    world: Arc<World>,
    life: Arc<Life>,
    number: u64,
}

/// How a connection ends: the program at the other end is closed, or breaks, or goes silent.
enum End {
    Away,
    Breaks,
    Hangs,
}

type Socket = WebSocketStream<DuplexStream>;

impl Connection {
    async fn serve(self, mut stream: DuplexStream) {
        if self.world.troubled(TOO_MANY, 20) {
            // It reads the request, as any server does.
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\n\r\n").await;
            return;
        }
        if self.world.troubled(NO_GREETING, 30) {
            tokio::time::sleep(Duration::from_secs(60)).await;
            return;
        }
        let Ok(mut socket) = accept_async(stream).await else { return };
        let end = self.converse(&mut socket).await;
        if matches!(end, End::Hangs) {
            // The name stays taken; messages sent in the meantime are lost.
            tokio::time::sleep(Duration::from_secs(100)).await;
        }
        let is_held = self.world.troubled(HELD, 3);
        let seconds = self.world.below(60);
        {
            let mut desk = lock(&self.world.desk);
            if desk.registered == Some(self.number) {
                desk.registered = None;
                desk.outgoing.clear();
                desk.held = is_held.then(|| Instant::now() + Duration::from_secs(seconds));
            }
        }
        if matches!(end, End::Away) {
            let close = CloseFrame { code: CloseCode::Away, reason: "Server shutting down".into() };
            let _ = socket.close(Some(close)).await;
        }
    }

    async fn converse(&self, socket: &mut Socket) -> End {
        let mut beats = tokio::time::interval_at(Instant::now() + BEAT, BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut has_ponged = true;
        let is_silent = self.world.troubled(NO_ANSWER, 25);
        loop {
            let frame = tokio::select! {
                frame = socket.next() => frame,
                () = self.world.more.notified(), if self.is_registered() => {
                    if let Err(end) = self.send_all(socket).await {
                        return end;
                    }
                    continue;
                }
                _ = beats.tick() => {
                    if !std::mem::replace(&mut has_ponged, false)
                        || socket.send(Message::Ping(Vec::new().into())).await.is_err()
                    {
                        return End::Breaks;
                    }
                    continue;
                }
            };
            match frame {
                Some(Ok(Message::Text(text))) => {
                    if let Err(end) = self.frame(socket, &text, is_silent).await {
                        return end;
                    }
                }
                Some(Ok(Message::Pong(_))) => has_ponged = true,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return End::Breaks,
                Some(Ok(_)) => {}
            }
        }
    }

    fn is_registered(&self) -> bool {
        lock(&self.world.desk).registered == Some(self.number)
    }

    async fn send_all(&self, socket: &mut Socket) -> Result<(), End> {
        loop {
            let Some(frame) = lock(&self.world.desk).outgoing.pop_front() else { return Ok(()) };
            if self.world.troubled(BROKEN_BEFORE, 40) {
                return Err(End::Breaks);
            }
            if self.world.troubled(GARBAGE, 25) {
                let garbage = ["", "{", "null", "{\"type\":\"message\",\"payload\":null}", "[1]"];
                let garbage = garbage[self.world.below(5) as usize];
                let _ = socket.send(Message::text(garbage)).await;
            }
            if self.world.troubled(TOO_LARGE, 150) {
                let _ = socket.send(Message::text("x".repeat(5 << 20))).await;
            }
            self.life.pass().await;
            let times = if self.world.troubled(TWICE, 12) { 2 } else { 1 };
            for _ in 0..times {
                if socket.send(Message::text(frame.clone())).await.is_err() {
                    return Err(End::Breaks);
                }
            }
            // Whether it is stored by now is unknown.
            self.life.pass().await;
            if self.world.troubled(BROKEN_AFTER, 40) {
                return Err(if self.world.once_in(2) { End::Away } else { End::Breaks });
            }
            if self.world.troubled(HALF_OPEN, 150) {
                return Err(End::Hangs);
            }
        }
    }

    async fn frame(&self, socket: &mut Socket, text: &str, is_silent: bool) -> Result<(), End> {
        let frame: Value = serde_json::from_str(text).unwrap();
        let payload = &frame["payload"];
        self.world.tell(|| format!("SmartHole hears {text}"));
        if text.contains("null") {
            self.world.fault(format!("SmartHole dies of a null: {text}"));
        }
        if frame["type"] == "registration" {
            if is_silent {
                return Ok(());
            }
            self.life.pass().await;
            return self.register(socket).await;
        }
        let id = payload["messageId"].as_str().unwrap().to_owned();
        match payload["type"].as_str() {
            Some("ack") => {
                self.life.pass().await;
                if self.world.troubled(ACK_LOST, 30) {
                    return Err(End::Breaks);
                }
                lock(&self.world.desk).acked.insert(id);
                self.life.pass().await;
                if self.world.troubled(BROKEN_AFTER_ACK, 40) {
                    return Err(End::Breaks);
                }
            }
            Some("reject") => {
                let when = if self.world.is_acked(&id) { "after its ack" } else { "" };
                self.world.fault(format!("{id} is rejected {when}: {text}"));
            }
            Some("notification") => {
                let body = payload["payload"]["body"].as_str().unwrap().to_owned();
                *lock(&self.world.desk).shown.entry(body).or_default() += 1;
                self.life.pass().await;
            }
            _ => self.world.fault(format!("what is this: {text}")),
        }
        Ok(())
    }

    async fn register(&self, socket: &mut Socket) -> Result<(), End> {
        let answer = {
            let mut desk = lock(&self.world.desk);
            let is_held = desk.held.is_some_and(|until| Instant::now() < until);
            if desk.registered.is_some() || is_held {
                desk.happens(DUPLICATE);
                json!({"success": false, "code": "DUPLICATE_NAME",
                    "message": "A client named \"obsidian\" is already registered"})
            } else {
                desk.registered = Some(self.number);
                json!({"success": true, "clientId": "c", "message": "Registration successful"})
            }
        };
        let answer = json!({"type": "registration_response", "payload": answer});
        let sent = socket.send(Message::text(answer.to_string())).await;
        sent.map_err(|_| End::Breaks)
    }
}
