//! The client: connects, registers, receives messages, and reconnects.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::{Notify, watch};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::error::Error as SocketError;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::dial::{Dial, Loopback, Stream};
use super::frames::{self, Incoming, ReceivedMessage};
use super::notification::Notification;
use super::outbox::{Outbox, Sent};
use super::settings::Settings;
use super::status::{ConnectionState, ConnectionStatus};
use super::{backoff, name};
use crate::llm::clock::Clock;
use crate::locks::lock;

/// The largest frame, in bytes. SmartHole's texts have at most one mebibyte; JSON escapes may
/// lengthen it.
const MAX_MESSAGE: usize = 4 << 20;

/// Timeout of the handshake, and of the answer to the registration.
const GREETING: Duration = Duration::from_secs(10);

/// SmartHole pings every thirty seconds; after this long without a frame it counts as gone.
const SILENCE: Duration = Duration::from_secs(75);

/// Timeout of writing a frame.
const WRITING: Duration = Duration::from_secs(10);

/// Timeout of the closing handshake.
const CLOSING: Duration = Duration::from_secs(1);

pub trait Inbox: Send + Sync + 'static {
    /// Stores a message durably, unless it is stored already. May block.
    ///
    /// # Errors
    /// The reason why the message cannot be stored, for its speaker.
    fn store(&self, message: &ReceivedMessage) -> Result<(), String>;

    /// Whether a message with this id, and with this text if one is given, is stored: then it was
    /// or will be acknowledged. May block.
    fn has(&self, id: &str, text: Option<&str>) -> bool;
}

type Subscriber = Box<dyn Fn(&ConnectionStatus) + Send + Sync>;

/// The client. Clones share the connection.
#[derive(Clone)]
pub struct SmartHole(Arc<SharedSmartHole>);

struct SharedSmartHole {
    settings: watch::Sender<Settings>,
    stopping: watch::Sender<bool>,
    status: Mutex<ConnectionStatus>,
    subscribers: Mutex<Vec<Subscriber>>,
    inbox: Arc<dyn Inbox>,
    clock: Arc<dyn Clock>,
    dial: Arc<dyn Dial>,
    outbox: Mutex<Outbox>,
    /// Woken when a notification is queued.
    more: Notify,
    /// Ids of stored messages whose acknowledgement could not be sent.
    unacknowledged: Mutex<Vec<String>>,
}

enum End {
    /// The settings changed, or the steward stops.
    Requested,
    /// It failed or broke.
    Lost { reason: String, was_registered: bool },
    /// SmartHole refused the registration; `for_good`: a retry needs other settings.
    Refused { reason: String, for_good: bool },
}

type Socket = WebSocketStream<Box<dyn Stream>>;

impl SmartHole {
    /// A client that connects once [`Self::run`].
    pub fn new(settings: Settings, inbox: Arc<dyn Inbox>, clock: Arc<dyn Clock>) -> Self {
        Self::by(settings, inbox, clock, Arc::new(Loopback))
    }

    /// As [`Self::new`], connecting through `dial`.
    pub fn by(
        settings: Settings,
        inbox: Arc<dyn Inbox>,
        clock: Arc<dyn Clock>,
        dial: Arc<dyn Dial>,
    ) -> Self {
        let state =
            if settings.enabled { ConnectionState::Connecting } else { ConnectionState::Disabled };
        let name = registered(&settings);
        let status = Mutex::new(ConnectionStatus { state, name, reason: String::new() });
        Self(Arc::new(SharedSmartHole {
            settings: watch::Sender::new(settings),
            stopping: watch::Sender::new(false),
            status,
            subscribers: Mutex::default(),
            inbox,
            clock,
            dial,
            outbox: Mutex::default(),
            more: Notify::new(),
            unacknowledged: Mutex::default(),
        }))
    }

    /// Reconnects if the settings differ.
    pub fn set_settings(&self, settings: Settings) {
        self.0.settings.send_if_modified(|current| {
            let differs = *current != settings;
            *current = settings;
            differs
        });
    }

    pub fn status(&self) -> ConnectionStatus {
        lock(&self.0.status).clone()
    }

    /// Calls `subscriber` with each new status. It must be quick.
    pub fn subscribe(&self, subscriber: Box<dyn Fn(&ConnectionStatus) + Send + Sync>) {
        lock(&self.0.subscribers).push(subscriber);
    }

    /// Queues a notification; `sent` is called once it was sent.
    pub fn notify(&self, notification: Notification, sent: Option<Sent>) {
        lock(&self.0.outbox).push(notification, sent);
        self.0.more.notify_one();
    }

    /// Rejects further messages, and closes the connection.
    pub fn stop(&self) {
        self.0.stopping.send_replace(true);
    }

    /// Connects and reconnects until [`Self::stop`].
    pub async fn run(self) {
        let mut settings = self.0.settings.subscribe();
        let mut stopping = self.0.stopping.subscribe();
        let mut attempts = 0;
        let mut is_first = true;
        loop {
            let current = settings.borrow_and_update().clone();
            if *stopping.borrow() {
                return;
            }
            if std::mem::take(&mut is_first) || registered(&current) != self.status().name {
                log_name(&current);
            }
            let end = if current.enabled {
                Some(self.connection(&current, &mut settings, &mut stopping).await)
            } else {
                self.set_status(&current, ConnectionState::Disabled, String::new());
                None
            };
            let pause = match end {
                None => None,
                Some(End::Requested) => {
                    attempts = 0;
                    continue;
                }
                Some(End::Refused { reason, for_good }) => {
                    self.set_status(&current, ConnectionState::Refused, reason);
                    attempts += 1;
                    (!for_good).then(|| backoff::pause(attempts, self.0.clock.spread()))
                }
                Some(End::Lost { reason, was_registered }) => {
                    self.set_status(&current, ConnectionState::Disconnected, reason);
                    attempts = if was_registered { 1 } else { attempts + 1 };
                    Some(backoff::pause(attempts, self.0.clock.spread()))
                }
            };
            let wait = async {
                match pause {
                    Some(pause) => self.0.clock.sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = wait => {}
                changed = settings.changed() => if changed.is_err() { return },
                () = wait_for_stop(&mut stopping) => return,
            }
        }
    }

    /// One connection, from dialling to closing.
    async fn connection(
        &self,
        current: &Settings,
        settings: &mut watch::Receiver<Settings>,
        stopping: &mut watch::Receiver<bool>,
    ) -> End {
        let lost = |reason: String| End::Lost { reason, was_registered: false };
        let Ok(stream) = self.0.dial.dial(current.port).await else {
            return lost(format!(
                "SmartHole is not running: nothing listens on port {}",
                current.port
            ));
        };
        self.set_status(current, ConnectionState::Connecting, String::new());
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE))
            .max_write_buffer_size(MAX_MESSAGE);
        let url = format!("ws://127.0.0.1:{}/", current.port);
        let greeted = tokio::select! {
            greeted = client_async_with_config(url, stream, Some(config)) => greeted,
            () = self.0.clock.sleep(GREETING) => {
                return lost("the program on that port does not answer as SmartHole does".to_owned());
            }
            _ = settings.changed() => return End::Requested,
            () = wait_for_stop(stopping) => return End::Requested,
        };
        let mut socket = match greeted {
            Ok((socket, _)) => socket,
            Err(SocketError::Http(answer)) => {
                let status = answer.status().as_u16();
                let why = if status == 503 { ": it has too many clients" } else { "" };
                return lost(format!("SmartHole refused the connection ({status}){why}"));
            }
            Err(error) => return lost(format!("the WebSocket handshake failed: {error}")),
        };
        let version = env!("CARGO_PKG_VERSION");
        let frame = frames::registration(&registered(current), &current.description, version);
        if let Err(reason) = self.send(&mut socket, frame).await {
            return lost(reason);
        }
        self.listen(&mut socket, current, settings, stopping).await
    }

    async fn listen(
        &self,
        socket: &mut Socket,
        current: &Settings,
        settings: &mut watch::Receiver<Settings>,
        stopping: &mut watch::Receiver<bool>,
    ) -> End {
        let mut is_registered = false;
        let mut silence = self.0.clock.sleep(GREETING);
        let lost = |reason: String, was_registered| End::Lost { reason, was_registered };
        loop {
            let next = self.next_notification(is_registered);
            let frame = tokio::select! {
                frame = socket.next() => frame,
                () = next => {
                    if let Err(reason) = self.show_next(socket).await {
                        return lost(reason, true);
                    }
                    continue;
                }
                () = &mut silence => {
                    return lost(if is_registered { "SmartHole is silent; reconnecting".to_owned() } else { "SmartHole does not answer the registration".to_owned() }, is_registered);
                }
                _ = settings.changed() => {
                    self.part(socket).await;
                    return End::Requested;
                }
                () = wait_for_stop(stopping) => {
                    self.part(socket).await;
                    return End::Requested;
                }
            };
            let frame = match frame {
                Some(Err(SocketError::Capacity(error))) => {
                    let message = format!("SmartHole sent a frame over the size limit: {error}");
                    return lost(message, is_registered);
                }
                // A close frame 1001 and a broken connection are treated alike.
                Some(Ok(Message::Close(_)) | Err(_)) | None => {
                    return lost("SmartHole closed the connection".to_owned(), is_registered);
                }
                Some(Ok(frame)) => frame,
            };
            if is_registered {
                silence = self.0.clock.sleep(SILENCE);
            }
            let text = match &frame {
                Message::Text(text) => text.as_str(),
                Message::Binary(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
                _ => continue,
            };
            match frames::read(text) {
                Some(Incoming::Registered) if !is_registered => {
                    is_registered = true;
                    silence = self.0.clock.sleep(SILENCE);
                    self.set_status(current, ConnectionState::Connected, String::new());
                    if let Err(reason) = self.acknowledge_again(socket).await {
                        return lost(reason, true);
                    }
                }
                Some(Incoming::Refused { code, message }) if !is_registered => {
                    self.part(socket).await;
                    return refused_end(&code, &message);
                }
                Some(Incoming::Message(message)) if is_registered => {
                    if let Err(reason) = self.receive(socket, message).await {
                        return lost(reason, true);
                    }
                }
                Some(Incoming::Empty { id }) if is_registered => {
                    if let Err(reason) =
                        self.refuse(socket, &id, None, "the message is empty").await
                    {
                        return lost(reason, true);
                    }
                }
                _ => tracing::debug!("SmartHole sent an unknown frame"),
            }
        }
    }

    /// Stores a message, then acknowledges it.
    async fn receive(&self, socket: &mut Socket, message: ReceivedMessage) -> Result<(), String> {
        let (id, text) = (message.id.clone(), message.text.clone());
        let is_stopping = *self.0.stopping.borrow();
        let stored = if is_stopping {
            Err("the steward is shutting down".to_owned())
        } else {
            let inbox = Arc::clone(&self.0.inbox);
            let keep = tokio::task::spawn_blocking(move || inbox.store(&message));
            keep.await.unwrap_or_else(|_| Err("the steward could not keep it".to_owned()))
        };
        match stored {
            Ok(()) => {
                let sent = self.send(socket, frames::ack(&id)).await;
                if sent.is_err() {
                    lock(&self.0.unacknowledged).push(id);
                }
                sent
            }
            Err(reason) => self.refuse(socket, &id, Some(text), &reason).await,
        }
    }

    /// Rejects a message; one that is already stored is acknowledged instead. SmartHole would route
    /// a rejected message to another program, and it would be done twice.
    async fn refuse(
        &self,
        socket: &mut Socket,
        id: &str,
        text: Option<String>,
        reason: &str,
    ) -> Result<(), String> {
        let (inbox, name) = (Arc::clone(&self.0.inbox), id.to_owned());
        let has = tokio::task::spawn_blocking(move || inbox.has(&name, text.as_deref()));
        if has.await.unwrap_or(false) {
            return self.send(socket, frames::ack(id)).await;
        }
        tracing::warn!(reason, "a message from SmartHole was rejected");
        self.send(socket, frames::reject(id, reason)).await
    }

    async fn acknowledge_again(&self, socket: &mut Socket) -> Result<(), String> {
        loop {
            let Some(id) = lock(&self.0.unacknowledged).first().cloned() else { return Ok(()) };
            self.send(socket, frames::ack(&id)).await?;
            lock(&self.0.unacknowledged).retain(|one| *one != id);
        }
    }

    /// Waits until the next notification may be sent.
    async fn next_notification(&self, is_registered: bool) {
        if !is_registered {
            return std::future::pending().await;
        }
        loop {
            let more = self.0.more.notified();
            let pause = lock(&self.0.outbox).pause(self.0.clock.now());
            match pause {
                None => more.await,
                Some(Duration::ZERO) => return,
                // An urgent one takes the next slot, but is not sent earlier.
                Some(pause) => self.0.clock.sleep(pause).await,
            }
        }
    }

    async fn show_next(&self, socket: &mut Socket) -> Result<(), String> {
        let taken = lock(&self.0.outbox).take(self.0.clock.now());
        let Some((notification, sent)) = taken else { return Ok(()) };
        match self.send(socket, frames::notification(&notification)).await {
            Ok(()) => {
                if let Some(sent) = sent {
                    sent();
                }
                Ok(())
            }
            Err(reason) => {
                lock(&self.0.outbox).put_back(notification, sent);
                Err(reason)
            }
        }
    }

    async fn send(&self, socket: &mut Socket, frame: String) -> Result<(), String> {
        tokio::select! {
            sent = socket.send(Message::text(frame)) => {
                sent.map_err(|error| format!("SmartHole closed the connection: {error}"))
            }
            () = self.0.clock.sleep(WRITING) => Err("SmartHole does not read".to_owned()),
        }
    }

    async fn part(&self, socket: &mut Socket) {
        let _ = tokio::time::timeout(CLOSING, socket.close(None)).await;
    }

    /// Sets the status and notifies subscribers if it changed.
    fn set_status(&self, current: &Settings, state: ConnectionState, reason: String) {
        let status = ConnectionStatus { state, name: registered(current), reason };
        // A retry after a refusal is not reported.
        if state == ConnectionState::Connecting && self.status().state == ConnectionState::Refused {
            return;
        }
        let before = std::mem::replace(&mut *lock(&self.0.status), status.clone());
        if before == status {
            return;
        }
        let ConnectionStatus { state, name, reason } = &status;
        match state {
            ConnectionState::Refused => tracing::warn!(reason, "SmartHole refuses the steward"),
            ConnectionState::Connected => tracing::info!(name, "connected to SmartHole"),
            ConnectionState::Disconnected if before.state == ConnectionState::Connected => {
                tracing::info!(reason, "disconnected from SmartHole");
            }
            state => tracing::debug!(state = state.word(), reason, "SmartHole"),
        }
        lock(&self.0.subscribers).iter().for_each(|subscriber| subscriber(&status));
    }
}

async fn wait_for_stop(stopping: &mut watch::Receiver<bool>) {
    // A dropped sender counts as a stop.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// The registered form of the configured name, which the settings have validated.
fn registered(settings: &Settings) -> String {
    name::registered(&settings.name).unwrap_or_else(|| "obsidian".to_owned())
}

fn log_name(settings: &Settings) {
    let name = registered(settings);
    if settings.enabled && name != settings.name {
        tracing::info!(
            "SmartHole does not accept the name `{}`; the steward is registered as `{name}`",
            settings.name
        );
    }
}

fn refused_end(code: &str, message: &str) -> End {
    let printable: String = message.chars().filter(|c| !c.is_control()).collect();
    let (advice, for_good) = match code {
        // SmartHole reserves the name of a broken connection for up to a minute.
        "DUPLICATE_NAME" => {
            ("it is tried again; if another program has that name, change `smarthole.name`", false)
        }
        "INVALID_NAME" => ("change `smarthole.name`", true),
        "INVALID_DESCRIPTION" => ("change `smarthole.description`", true),
        "VALIDATION_ERROR" => ("this version of SmartHole may be too new or too old", true),
        _ => ("it is tried again", false),
    };
    End::Refused { reason: format!("{printable} ({code}): {advice}"), for_good }
}
