//! The connection at work: found, registered, listened to, lost and found again, for ever.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::{Notify, watch};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::error::Error as SocketError;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::backoff;
use super::dial::{Dial, Loopback, Stream};
use super::frames::{self, Heard, Incoming};
use super::name;
use super::notification::Notification;
use super::outbox::{Outbox, Sent};
use super::settings::Settings;
use super::standing::{Standing, State};
use crate::llm::clock::Clock;

/// The largest message taken, in bytes. SmartHole's own texts are of one mebibyte at most; what JSON
/// makes of one may be more.
const MAX_MESSAGE: usize = 4 << 20;

/// How long SmartHole may take to greet, and to answer a registration.
const GREETING: Duration = Duration::from_secs(10);

/// SmartHole pings every thirty seconds; one that is silent for so long is not there any more.
const SILENCE: Duration = Duration::from_secs(75);

/// How long a frame may take to be written.
const WRITING: Duration = Duration::from_secs(10);

/// How long a good-bye may take.
const CLOSING: Duration = Duration::from_secs(1);

/// Where messages go.
pub trait Inbox: Send + Sync + 'static {
    /// Keeps a message; it is durable when this returns, and may block until then. One that is kept
    /// already is not kept again.
    ///
    /// # Errors
    /// Why it cannot be kept, for the person who said it.
    fn keep(&self, heard: &Heard) -> Result<(), String>;

    /// Whether a message of this name is kept, with this text where one is given: then it was
    /// acknowledged, or is to be. May block.
    fn has(&self, id: &str, text: Option<&str>) -> bool;
}

/// Told how the connection stands.
type Subscriber = Box<dyn Fn(&Standing) + Send + Sync>;

/// The door to SmartHole. Clones are the same.
#[derive(Clone)]
pub struct SmartHole(Arc<Inner>);

struct Inner {
    settings: watch::Sender<Settings>,
    stopping: watch::Sender<bool>,
    standing: Mutex<Standing>,
    told: Mutex<Vec<Subscriber>>,
    inbox: Arc<dyn Inbox>,
    clock: Arc<dyn Clock>,
    dial: Arc<dyn Dial>,
    outbox: Mutex<Outbox>,
    /// Woken when there is something more to show.
    more: Notify,
    /// Messages that are kept, and whose acknowledgement did not go out.
    unacknowledged: Mutex<Vec<String>>,
}

/// How a connection ended.
enum End {
    /// Other settings, or the end of the steward.
    Asked,
    /// Nobody listens.
    Nobody,
    /// It was lost; whether the registration had held.
    Lost { reason: String, was_registered: bool },
    /// SmartHole does not want us, and trying again as we are is of no use, or may be.
    Refused { reason: String, for_good: bool },
}

type Socket = WebSocketStream<Box<dyn Stream>>;

impl SmartHole {
    /// A door that is not open yet.
    pub fn new(settings: Settings, inbox: Arc<dyn Inbox>, clock: Arc<dyn Clock>) -> Self {
        Self::by(settings, inbox, clock, Arc::new(Loopback))
    }

    /// A door that is not open yet, to what `dial` connects to.
    pub fn by(
        settings: Settings,
        inbox: Arc<dyn Inbox>,
        clock: Arc<dyn Clock>,
        dial: Arc<dyn Dial>,
    ) -> Self {
        let state = if settings.enabled { State::Connecting } else { State::Disabled };
        let name = registered(&settings);
        let standing = Mutex::new(Standing { state, name, reason: String::new() });
        Self(Arc::new(Inner {
            settings: watch::Sender::new(settings),
            stopping: watch::Sender::new(false),
            standing,
            told: Mutex::default(),
            inbox,
            clock,
            dial,
            outbox: Mutex::default(),
            more: Notify::new(),
            unacknowledged: Mutex::default(),
        }))
    }

    /// Gives other settings, from now on.
    pub fn set_settings(&self, settings: Settings) {
        self.0.settings.send_if_modified(|held| {
            let differs = *held != settings;
            *held = settings;
            differs
        });
    }

    /// How the connection stands.
    pub fn standing(&self) -> Standing {
        lock(&self.0.standing).clone()
    }

    /// Has `hear` told each time it stands otherwise. It must be quick.
    pub fn subscribe(&self, hear: Box<dyn Fn(&Standing) + Send + Sync>) {
        lock(&self.0.told).push(hear);
    }

    /// Shows something to the person, as soon as it can be; `sent` is told once it went out.
    pub fn notify(&self, notification: Notification, sent: Option<Sent>) {
        lock(&self.0.outbox).push(notification, sent);
        self.0.more.notify_one();
    }

    /// Takes no more messages, and says good-bye.
    pub fn stop(&self) {
        self.0.stopping.send_replace(true);
    }

    /// Keeps the connection until it is stopped.
    pub async fn run(self) {
        let mut settings = self.0.settings.subscribe();
        let mut stopping = self.0.stopping.subscribe();
        let mut attempts = 0;
        let mut is_first = true;
        loop {
            let held = settings.borrow_and_update().clone();
            if *stopping.borrow() {
                return;
            }
            if std::mem::take(&mut is_first) || registered(&held) != self.standing().name {
                say_name(&held);
            }
            let end = match held.enabled {
                false => {
                    self.stands(&held, State::Disabled, String::new());
                    None
                }
                true => Some(self.connection(&held, &mut settings, &mut stopping).await),
            };
            let pause = match end {
                None => None,
                Some(End::Asked) => {
                    attempts = 0;
                    continue;
                }
                Some(End::Refused { reason, for_good }) => {
                    self.stands(&held, State::Refused, reason);
                    attempts += 1;
                    (!for_good).then(|| backoff::pause(attempts, self.0.clock.spread()))
                }
                Some(End::Nobody) => {
                    let reason =
                        format!("SmartHole does not run: nobody listens on port {}", held.port);
                    self.stands(&held, State::Disconnected, reason);
                    attempts += 1;
                    Some(backoff::pause(attempts, self.0.clock.spread()))
                }
                Some(End::Lost { reason, was_registered }) => {
                    self.stands(&held, State::Disconnected, reason);
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
                () = stopped(&mut stopping) => return,
            }
        }
    }

    /// One connection, from the first try to its end.
    async fn connection(
        &self,
        held: &Settings,
        settings: &mut watch::Receiver<Settings>,
        stopping: &mut watch::Receiver<bool>,
    ) -> End {
        let lost = |reason: String| End::Lost { reason, was_registered: false };
        let Ok(stream) = self.0.dial.dial(held.port).await else {
            return End::Nobody;
        };
        self.stands(held, State::Connecting, String::new());
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE))
            .max_write_buffer_size(MAX_MESSAGE);
        let url = format!("ws://127.0.0.1:{}/", held.port);
        let greeted = tokio::select! {
            greeted = client_async_with_config(url, stream, Some(config)) => greeted,
            () = self.0.clock.sleep(GREETING) => {
                return lost("what listens there does not greet as SmartHole does".to_owned());
            }
            _ = settings.changed() => return End::Asked,
            () = stopped(stopping) => return End::Asked,
        };
        let mut socket = match greeted {
            Ok((socket, _)) => socket,
            Err(SocketError::Http(answer)) => {
                let status = answer.status().as_u16();
                let why = if status == 503 { ": it has as many clients as it takes" } else { "" };
                return lost(format!("SmartHole refused the connection ({status}){why}"));
            }
            Err(error) => return lost(format!("it could not be greeted: {error}")),
        };
        let version = env!("CARGO_PKG_VERSION");
        let frame = frames::registration(&registered(held), &held.description, version);
        if let Err(reason) = self.send(&mut socket, frame).await {
            return lost(reason);
        }
        self.listen(&mut socket, held, settings, stopping).await
    }

    async fn listen(
        &self,
        socket: &mut Socket,
        held: &Settings,
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
                    return lost(match is_registered {
                        true => "SmartHole is silent; it is connected to anew".to_owned(),
                        false => "SmartHole does not answer the registration".to_owned(),
                    }, is_registered);
                }
                _ = settings.changed() => {
                    self.part(socket).await;
                    return End::Asked;
                }
                () = stopped(stopping) => {
                    self.part(socket).await;
                    return End::Asked;
                }
            };
            let frame = match frame {
                Some(Ok(frame)) => frame,
                Some(Err(SocketError::Capacity(error))) => {
                    return lost(
                        format!("SmartHole sent more than is taken: {error}"),
                        is_registered,
                    );
                }
                // 1001 and a connection that just breaks are the same: it has gone.
                Some(Err(_)) | None => return lost("SmartHole has gone".to_owned(), is_registered),
            };
            if is_registered {
                silence = self.0.clock.sleep(SILENCE);
            }
            let text = match &frame {
                Message::Text(text) => text.as_str(),
                Message::Binary(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
                Message::Close(_) => return lost("SmartHole has gone".to_owned(), is_registered),
                _ => continue,
            };
            match frames::read(text) {
                Some(Incoming::Registered) if !is_registered => {
                    is_registered = true;
                    silence = self.0.clock.sleep(SILENCE);
                    self.stands(held, State::Connected, String::new());
                    if let Err(reason) = self.acknowledge_again(socket).await {
                        return lost(reason, true);
                    }
                }
                Some(Incoming::Refused { code, message }) if !is_registered => {
                    self.part(socket).await;
                    return refused(&code, &message);
                }
                Some(Incoming::Message(heard)) if is_registered => {
                    if let Err(reason) = self.take(socket, heard).await {
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
                _ => tracing::debug!("SmartHole sent what is not understood"),
            }
        }
    }

    /// Keeps a message, then acknowledges it.
    async fn take(&self, socket: &mut Socket, heard: Heard) -> Result<(), String> {
        let (id, text) = (heard.id.clone(), heard.text.clone());
        let is_stopping = *self.0.stopping.borrow();
        let kept = match is_stopping {
            true => Err("the steward is shutting down".to_owned()),
            false => {
                let inbox = Arc::clone(&self.0.inbox);
                let keep = tokio::task::spawn_blocking(move || inbox.keep(&heard));
                keep.await.unwrap_or_else(|_| Err("the steward could not keep it".to_owned()))
            }
        };
        match kept {
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

    /// Says that a message is not taken. One that is kept is taken, whatever is so by now: who is
    /// told otherwise after an acknowledgement gives it to somebody else, who does it again.
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
        tracing::warn!(reason, "a message of SmartHole's is not taken");
        self.send(socket, frames::reject(id, reason)).await
    }

    async fn acknowledge_again(&self, socket: &mut Socket) -> Result<(), String> {
        loop {
            let Some(id) = lock(&self.0.unacknowledged).first().cloned() else { return Ok(()) };
            self.send(socket, frames::ack(&id)).await?;
            lock(&self.0.unacknowledged).retain(|one| *one != id);
        }
    }

    /// Waits until a notification may go out.
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
                // One that is more urgent goes in the place of the next, not before its time.
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
                sent.map_err(|error| format!("SmartHole has gone: {error}"))
            }
            () = self.0.clock.sleep(WRITING) => Err("SmartHole does not read".to_owned()),
        }
    }

    async fn part(&self, socket: &mut Socket) {
        let _ = tokio::time::timeout(CLOSING, socket.close(None)).await;
    }

    /// Notes how it stands, and tells of it where that is new.
    fn stands(&self, held: &Settings, state: State, reason: String) {
        let standing = Standing { state, name: registered(held), reason };
        // A try that comes to nothing again is no news.
        if state == State::Connecting && matches!(self.standing().state, State::Refused) {
            return;
        }
        let before = std::mem::replace(&mut *lock(&self.0.standing), standing.clone());
        if before == standing {
            return;
        }
        let Standing { state, name, reason } = &standing;
        match state {
            State::Refused => tracing::warn!(reason, "SmartHole refuses the steward"),
            State::Connected => tracing::info!(name, "connected to SmartHole"),
            State::Disconnected if before.state == State::Connected => {
                tracing::info!(reason, "disconnected from SmartHole");
            }
            state => tracing::debug!(state = state.word(), reason, "SmartHole"),
        }
        lock(&self.0.told).iter().for_each(|hear| hear(&standing));
    }
}

/// Waits for the end of the steward.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // It ends as well where nobody is left to say so.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// The name that the settings come to; they hold none that comes to none.
fn registered(settings: &Settings) -> String {
    name::registered(&settings.name).unwrap_or_else(|| "obsidian".to_owned())
}

fn say_name(settings: &Settings) {
    let name = registered(settings);
    if settings.enabled && name != settings.name {
        tracing::info!(
            "SmartHole takes no name such as `{}`, so the steward is called `{name}` there",
            settings.name
        );
    }
}

fn refused(code: &str, message: &str) -> End {
    let said: String = message.chars().filter(|c| !c.is_control()).collect();
    let (advice, for_good) = match code {
        // A connection that broke holds its name for up to a minute.
        "DUPLICATE_NAME" => {
            ("it is tried again; if another program has that name, change `smarthole.name`", false)
        }
        "INVALID_NAME" => ("change `smarthole.name`", true),
        "INVALID_DESCRIPTION" => ("change `smarthole.description`", true),
        "VALIDATION_ERROR" => ("this version of SmartHole may be too new or too old", true),
        _ => ("it is tried again", false),
    };
    End::Refused { reason: format!("{said} ({code}): {advice}"), for_good }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
