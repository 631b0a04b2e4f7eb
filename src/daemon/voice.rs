//! Voice messages: they are stored, passed to the agent one after another, and answered by
//! notifications.
//!
//! After a crash, a stored message waits in the inbox, whether or not it was acknowledged. A message
//! in progress is resumed after what its interrupted turn had done. A message whose turn had ended is
//! only answered, since it is settled when its answer has gone out.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::voice_notices;
use crate::agent::entry::UserMessage;
use crate::agent::ports::{MemoryError, TurnUpdate, Update};
use crate::agent::turn::{MessageKind, Reason, Show};
use crate::agent::{Agent, Conversations, MessageOutcome, PendingOutcome, PromptError};
use crate::conversation::{ConversationId, TurnId};
use crate::llm::ErrorKind;
use crate::locks::lock;
use crate::methods::inbox;
use crate::policy::Scope;
use crate::protocol::inbox::{SmartHoleConnection, SmartHoleState};
use crate::server::events::{Event, Events};
use crate::smarthole::{
    ConnectionState, Inbox, Notification, Priority, ReceivedMessage, SmartHole,
};
use crate::store::StoreError;
use crate::store::inbox::{ANSWERED, InboxRow, InboxState, LOST, NewMessage, Received, VOICE};

/// The most attempts before a message is set aside.
const ATTEMPTS: u32 = 3;

/// The pause after a failure of the store.
const STORE_PAUSE: Duration = Duration::from_secs(30);

/// The most messages whose sender is notified at once that there is no model.
const MAX_NOTIFIED: u32 = 100;

/// The most answers of an earlier run that are shown at a start.
const SHOWN: u32 = 1_000;

pub struct Voice {
    agent: Agent,
    conversations: Conversations,
    /// The connection for notifications, once it is open.
    outputs: OnceLock<(Events, SmartHole)>,
    /// Notified of new messages, and when a waiting message may be retried at once.
    arrived: Notify,
    hurry: Notify,
    retry: Mutex<Duration>,
    /// The last connection status that was sent to clients.
    last_status: Mutex<Option<SmartHoleState>>,
    current: Mutex<Option<CurrentMessage>>,
    /// Messages whose sender was notified that there is no model.
    waiting_for_model: Mutex<HashSet<i64>>,
    stopping: AtomicBool,
}

/// The message in progress.
#[derive(Debug)]
struct CurrentMessage {
    /// Its number, and SmartHole's id of it.
    number: i64,
    message: String,
    text: String,
    turn: Option<TurnId>,
    last_notification: String,
    /// The last complete answer of that turn, if nothing followed it.
    last_answer: String,
}

impl Voice {
    /// Creates the handler. [`Voice::run`] starts passing messages to the agent.
    pub fn new(agent: Agent, conversations: Conversations) -> Self {
        Self {
            agent,
            conversations,
            outputs: OnceLock::new(),
            arrived: Notify::new(),
            hurry: Notify::new(),
            retry: Mutex::default(),
            last_status: Mutex::default(),
            current: Mutex::default(),
            waiting_for_model: Mutex::default(),
            stopping: AtomicBool::new(false),
        }
    }

    /// Sets the connection for notifications.
    pub fn open(&self, events: Events, smarthole: SmartHole) {
        let _ = self.outputs.set((events, smarthole));
    }

    /// Applies new settings, and retries waiting messages at once.
    pub fn set_retry_seconds(&self, seconds: u32) {
        *lock(&self.retry) = Duration::from_secs(u64::from(seconds));
        self.try_again();
    }

    /// Retries waiting messages at once.
    pub fn try_again(&self) {
        // Only present waits: a later failure has its own pause.
        self.hurry.notify_waiters();
        self.arrived.notify_one();
    }

    /// Sends the state of a message to clients. Blocks.
    pub fn publish_message(&self, number: i64) {
        let Some((events, _)) = self.outputs.get() else { return };
        let store = self.conversations.store();
        let message = store.inbox.get(number).and_then(|row| inbox::message(store, &row));
        match message {
            Ok(message) => events.publish(Event::Inbox(message)),
            Err(error) => tracing::warn!(%error, "the clients could not be informed of a message"),
        }
        self.publish_status();
    }

    /// Sends the connection status and the number of waiting messages to clients if either changed.
    /// Blocks.
    pub fn publish_status(&self) {
        let Some((events, _)) = self.outputs.get() else { return };
        // Held while sending, so that the last status sent is the current one.
        let mut last_sent = lock(&self.last_status);
        let now = inbox::Voice::state(self);
        if last_sent.as_ref() != Some(&now) {
            events.publish(Event::SmartHole(now.clone()));
            *last_sent = Some(now);
        }
    }

    /// Stops taking messages. The message in progress returns to the inbox, and its attempt does not
    /// count. Blocks.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        let number = lock(&self.current).as_ref().map(|current| current.number);
        if let Some(number) = number
            && let Err(error) = self.conversations.store().inbox.release(number)
        {
            tracing::warn!(%error, "a message was not returned to the inbox");
        }
    }

    /// Handles events of conversations, to notify the sender. Never blocks.
    pub fn on_update(&self, update: &TurnUpdate) {
        let Update::Show(show) = &update.what else { return };
        let mut current = lock(&self.current);
        let Some(current) = current.as_mut() else { return };
        match show {
            Show::User(message) | Show::Resumed(message) if message.number == current.number => {
                current.turn = Some(update.turn);
            }
            _ if current.turn != Some(update.turn) => {}
            Show::Message { text, kind: MessageKind::Answer, .. } => {
                current.last_answer.clone_from(text)
            }
            Show::Call { .. } => current.last_answer.clear(),
            Show::User(_) => {
                // The turn continues with another sender's message; its last answer belongs to that.
                let last_answer = std::mem::take(&mut current.last_answer);
                self.notify(current, &last_answer, Priority::Normal, None);
            }
            Show::Message { text, kind: MessageKind::Sent, .. } => {
                current.last_notification.clone_from(text);
                self.notify(current, text, Priority::Normal, None);
            }
            Show::Message { text, kind: MessageKind::Question, .. } => {
                current.last_notification.clone_from(text);
                self.notify(current, text, Priority::High, None);
            }
            Show::AwaitingApproval { title, .. } => {
                // Approvals cannot be given by voice, since anybody may speak.
                let text = format!(
                    "This waits for your agreement in Obsidian, or wherever you use the steward: \
                     {title}"
                );
                self.notify(current, &text, Priority::High, None);
            }
            _ => {}
        }
    }

    fn notify(
        &self,
        current: &CurrentMessage,
        text: &str,
        priority: Priority,
        sent: Option<Box<dyn FnOnce() + Send>>,
    ) {
        let Some((_, smarthole)) = self.outputs.get() else { return };
        let (message, user_text) = (&current.message, &current.text);
        if let Some(notification) = Notification::of(message, user_text, text, priority) {
            smarthole.notify(notification, sent);
        } else if let Some(sent) = sent {
            sent();
        }
    }

    /// Passes messages to the agent one after another, until it is stopped.
    pub async fn run(self: Arc<Self>) {
        let begun = Arc::clone(&self);
        let given_back = blocking(move || begun.conversations.store().inbox.release_all(VOICE));
        if let Err(error) = given_back.await {
            tracing::error!(%error, "the inbox of an earlier run was not processed");
        }
        // First, since later answers are shown when they are made.
        let answered = Arc::clone(&self);
        let left = blocking(move || {
            let store = answered.conversations.store();
            store.inbox.list(Some(VOICE), InboxState::Answered, SHOWN)
        });
        let left = left.await.unwrap_or_else(|error| {
            tracing::error!(%error, "answers of an earlier run are shown after the next start");
            Vec::new()
        });
        let late = Arc::clone(&self);
        let mut shows = JoinSet::new();
        // Aborted when dropped.
        shows.spawn(async move { late.answer_late(left).await });
        while !self.stopping.load(Ordering::Acquire) {
            let voice = Arc::clone(&self);
            match blocking(move || voice.next_message()).await {
                Ok(Some(row)) => self.work(row).await,
                Ok(None) => self.arrived.notified().await,
                Err(error) => {
                    tracing::error!(%error, "the inbox cannot be read");
                    self.pause(STORE_PAUSE).await;
                }
            }
        }
    }

    /// Shows answers that an earlier run had not shown.
    async fn answer_late(self: &Arc<Self>, mut left: Vec<InboxRow>) {
        while !left.is_empty() {
            let mut unread = Vec::new();
            for row in left {
                match self.earlier_attempt(&row).await {
                    Ok(EarlierAttempt::Answered(reason, answer)) => {
                        self.answered(&row, reason, answer, "").await
                    }
                    // Deleted with its conversation: nothing to show.
                    Ok(_) => self.settle(row.id, InboxState::Done, "").await,
                    Err(error) => {
                        tracing::error!(%error, message = row.id, "an answer cannot be read");
                        unread.push(row);
                    }
                }
            }
            left = unread;
            if !left.is_empty() {
                self.conversations.clock().sleep(STORE_PAUSE).await;
            }
        }
    }

    async fn pause(&self, pause: Duration) {
        tokio::select! {
            () = self.conversations.clock().sleep(pause) => {}
            () = self.hurry.notified() => {}
        }
    }

    /// The next message. Without a model all wait, and their senders are notified.
    fn next_message(&self) -> Result<Option<InboxRow>, StoreError> {
        let store = self.conversations.store();
        if self.agent.has_model() {
            return store.inbox.take(VOICE);
        }
        for row in store.inbox.list(Some(VOICE), InboxState::New, MAX_NOTIFIED)? {
            if lock(&self.waiting_for_model).insert(row.id) {
                let text = "No language model is chosen yet, so I kept your message; I go on with \
                            it once there is one.";
                self.notify(&CurrentMessage::new(&row), text, Priority::Normal, None);
            }
        }
        Ok(None)
    }

    async fn work(self: &Arc<Self>, row: InboxRow) {
        let resumed = match self.earlier_attempt(&row).await {
            Ok(EarlierAttempt::Answered(reason, answer)) => {
                return self.answered(&row, reason, answer, "").await;
            }
            Ok(EarlierAttempt::CutShort(conversation)) => Some(conversation),
            Ok(EarlierAttempt::Nothing) => None,
            Err(error) => {
                // Without knowing that, the work might be done twice.
                tracing::error!(%error, message = row.id, "an earlier attempt cannot be read");
                let (store, number) = (self.conversations.store().clone(), row.id);
                if let Err(error) = blocking(move || store.inbox.release(number)).await {
                    tracing::error!(%error, message = row.id, "a message was not returned to the inbox");
                }
                return self.pause(STORE_PAUSE).await;
            }
        };
        if row.attempts > ATTEMPTS {
            let why = "the steward ended each time while processing it";
            return self.set_aside(&row, why, None).await;
        }
        *lock(&self.current) = Some(CurrentMessage::new(&row));
        let answered = match self.begin(&row, resumed).await {
            Ok(answering) => {
                self.publish_result(row.id).await;
                answering.await
            }
            Err(error) => Err(error),
        };
        if self.stopping.load(Ordering::Acquire) {
            return;
        }
        match answered {
            Ok(MessageOutcome { reason: Some(Reason::Failed), words, cause, .. }) => {
                self.failed(&row, &words, cause).await;
            }
            Ok(MessageOutcome { reason: None, .. }) => {
                self.failed(&row, "its turn was cut short", None).await;
            }
            Ok(MessageOutcome { reason: Some(reason), answer, .. }) => {
                let last_notification =
                    lock(&self.current).as_ref().map(|one| one.last_notification.clone());
                self.answered(&row, reason, answer, &last_notification.unwrap_or_default()).await;
            }
            Err(error @ PromptError::Refused { failed: false, .. }) => {
                self.set_aside(&row, &error.to_string(), None).await;
            }
            Err(error) => self.failed(&row, &error.to_string(), None).await,
        }
        *lock(&self.current) = None;
    }

    /// The outcome of an earlier attempt at a message.
    async fn earlier_attempt(&self, row: &InboxRow) -> Result<EarlierAttempt, MemoryError> {
        let Some(turn) = row.turn else { return Ok(EarlierAttempt::Nothing) };
        let store = self.conversations.store().clone();
        if blocking(move || store.conversations.turns.get(turn)).await?.is_none() {
            // The conversation was deleted meanwhile.
            return Ok(EarlierAttempt::Nothing);
        }
        let agent = self.agent.clone();
        let ended = tokio::task::spawn_blocking(move || agent.ended(turn));
        // It only reads; it is aborted only when the runtime ends.
        let Ok(ended) = ended.await else { return std::future::pending().await };
        let stored = ended?;
        Ok(match stored.reason {
            None | Some(Reason::Failed) => EarlierAttempt::CutShort(stored.conversation),
            Some(reason) => EarlierAttempt::Answered(reason, stored.answer),
        })
    }

    async fn begin(
        &self,
        row: &InboxRow,
        resumed: Option<ConversationId>,
    ) -> Result<PendingOutcome, PromptError> {
        let how = inbox::how(row);
        let user_message = UserMessage {
            number: row.id,
            text: row.text.clone(),
            to: None,
            source: if how.typed { "smarthole" } else { "voice" }.to_owned(),
            scope: Scope::Voice,
            from: None,
            client_id: None,
            attached: crate::agent::attachments::Attachments::default(),
            note: Some(voice_notices::arrival(&how)),
        };
        if let Some(conversation) = resumed {
            let going = self
                .agent
                .resume(
                    user_message.clone(),
                    conversation,
                    voice_notices::resumption(row, ATTEMPTS),
                )
                .await;
            match going {
                Err(PromptError::Memory(MemoryError::NotFound { .. })) => {}
                going => return going,
            }
        }
        let mut user_message = user_message;
        // Nothing records an earlier attempt, but it may be half done.
        if row.turn.is_some() || row.attempts > 1 || row.reason == LOST {
            user_message.note =
                user_message.note.map(|note| format!("{note}\n{}", voice_notices::REPEATED));
        }
        if row.turn.is_some() {
            // A message of a deleted conversation starts again.
            let (store, number) = (self.conversations.store().clone(), row.id);
            let forgotten = blocking(move || store.inbox.clear_deleted_turn(number)).await;
            forgotten.map_err(MemoryError::from)?;
        }
        self.agent.send(user_message).await
    }

    /// Handles the end of a turn: notifies the sender, unless the last notification did, and settles the
    /// message afterwards.
    async fn answered(
        self: &Arc<Self>,
        row: &InboxRow,
        reason: Reason,
        answer: String,
        last_notification: &str,
    ) {
        let answer = voice_notices::answer(reason, answer);
        if answer.trim().is_empty() || answer == last_notification {
            return self.settle(row.id, InboxState::Done, "").await;
        }
        self.settle(row.id, InboxState::Answered, ANSWERED).await;
        let (voice, number) = (Arc::clone(self), row.id);
        let sent = move || {
            tokio::spawn(async move { voice.settle(number, InboxState::Done, "").await });
        };
        let priority = match reason {
            Reason::Waiting => Priority::High,
            _ => Priority::Normal,
        };
        self.notify(&CurrentMessage::new(row), &answer, priority, Some(Box::new(sent)));
    }

    /// Handles a failed attempt: the message is retried later or set aside.
    async fn failed(self: &Arc<Self>, row: &InboxRow, words: &str, cause: Option<ErrorKind>) {
        if row.attempts >= ATTEMPTS {
            return self.set_aside(row, words, cause).await;
        }
        tracing::warn!(
            message = row.id,
            attempt = row.attempts,
            reason = words,
            "a message failed"
        );
        self.settle(row.id, InboxState::New, words).await;
        let text = format!(
            "{}; I kept your message and will try again.",
            voice_notices::plain(words, cause)
        );
        self.notify(&CurrentMessage::new(row), &text, Priority::Normal, None);
        *lock(&self.current) = None;
        let pause = *lock(&self.retry) * row.attempts.max(1);
        self.pause(pause).await;
    }

    async fn set_aside(self: &Arc<Self>, row: &InboxRow, words: &str, cause: Option<ErrorKind>) {
        tracing::error!(message = row.id, reason = words, "a message is set aside");
        self.settle(row.id, InboxState::SetAside, words).await;
        let text = format!(
            "{}, so I set your message aside. It is kept: `steward inbox retry {}` has it tried \
             again.",
            voice_notices::plain(words, cause),
            row.id
        );
        self.notify(&CurrentMessage::new(row), &text, Priority::High, None);
    }

    async fn settle(self: &Arc<Self>, number: i64, state: InboxState, reason: &str) {
        let (voice, reason) = (Arc::clone(self), reason.to_owned());
        let settled = blocking(move || {
            voice.conversations.store().inbox.settle(number, state, None, &reason)?;
            voice.publish_message(number);
            Ok(())
        });
        if let Err(error) = settled.await {
            // The next start tries again.
            tracing::error!(%error, message = number, "a message is not settled");
        }
    }

    async fn publish_result(self: &Arc<Self>, number: i64) {
        let voice = Arc::clone(self);
        let _ = tokio::task::spawn_blocking(move || voice.publish_message(number)).await;
    }
}

impl inbox::Voice for Voice {
    fn state(&self) -> SmartHoleState {
        let Some((_, smarthole)) = self.outputs.get() else { return SmartHoleState::default() };
        let store = self.conversations.store();
        // A failing store is reported by everything else that needs it.
        let count = |state| store.inbox.count(VOICE, state).unwrap_or(0);
        let status = smarthole.status();
        SmartHoleState {
            state: match status.state {
                ConnectionState::Disabled => SmartHoleConnection::Disabled,
                ConnectionState::Connecting => SmartHoleConnection::Connecting,
                ConnectionState::Connected => SmartHoleConnection::Connected,
                ConnectionState::Refused => SmartHoleConnection::Refused,
                ConnectionState::Disconnected => SmartHoleConnection::Disconnected,
            },
            name: status.name,
            reason: status.reason,
            waiting: [InboxState::New, InboxState::Taken, InboxState::Answered]
                .into_iter()
                .map(count)
                .sum(),
            set_aside: count(InboxState::SetAside),
        }
    }

    fn moved(&self, number: i64) {
        self.publish_message(number);
        self.try_again();
    }
}

enum EarlierAttempt {
    /// No turn began, or no trace of it is left.
    Nothing,
    /// The turn failed, or the steward ended during it.
    CutShort(ConversationId),
    /// The turn ended with this answer.
    Answered(Reason, String),
}

impl CurrentMessage {
    fn new(row: &InboxRow) -> Self {
        Self {
            number: row.id,
            message: row.message.clone(),
            text: row.text.clone(),
            turn: None,
            last_notification: String::new(),
            last_answer: String::new(),
        }
    }
}

impl Inbox for Voice {
    fn store(&self, message_received: &ReceivedMessage) -> Result<(), String> {
        let store = self.conversations.store();
        let body =
            serde_json::to_string(&message_received.how).map_err(|error| error.to_string())?;
        let received = store.inbox.receive(&NewMessage {
            source: VOICE,
            message: &message_received.id,
            text: &message_received.text,
            body: Some(&body),
            received: self.conversations.clock().wall().timestamp_millis(),
        });
        match received {
            Ok(Received::New(row)) => {
                if row.differs {
                    let number = row.id;
                    tracing::warn!(number, "another text came with the id of an earlier message");
                }
                self.publish_message(row.id);
                self.arrived.notify_one();
                Ok(())
            }
            Ok(Received::Known(row)) => {
                tracing::debug!(number = row.id, "a message arrived again");
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, "a message cannot be stored");
                Err(match (error.is_full(), error.is_denied()) {
                    (true, _) => "the disk is full, so nothing can be stored".to_owned(),
                    (_, true) => "the steward cannot write to its own folder".to_owned(),
                    _ => "the steward cannot store anything at the moment".to_owned(),
                })
            }
        }
    }

    fn has(&self, id: &str, text: Option<&str>) -> bool {
        // A message that cannot be looked up cannot be handled either.
        self.conversations.store().inbox.has(VOICE, id, text).unwrap_or(false)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and the waiting task with it.
            Err(_) => std::future::pending().await,
        },
    }
}
