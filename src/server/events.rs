//! Publishes events: numbers them, keeps the latest, and sends them to all subscribers in the same
//! order.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::acp::{self, Attached};
pub use super::event::Event;
use super::event::hidden;
use super::outbox::Outbox;
pub use super::session_event::SessionEvent;
use crate::locks::lock;
use crate::protocol::events::{
    EventMeta, EventVaultMeta, SubscribeMode, SubscribeParams, SubscribeResult,
};
use crate::protocol::session::{SessionState, SessionUpdate};
use crate::vault::View;

/// The most events kept for clients that reconnect.
pub const RING_EVENTS: usize = 4096;

/// The most bytes of events kept for clients that reconnect.
pub const RING_BYTES: usize = 8 << 20;

/// The events of one run of the daemon. Clones share them.
#[derive(Debug, Clone)]
pub struct Events(Arc<SharedEvents>);

#[derive(Debug)]
struct SharedEvents {
    epoch: String,
    state: Mutex<EventsState>,
    /// The part of the vault that callers other than the person may see.
    view: ArcSwap<View>,
}

#[derive(Debug, Default)]
struct EventsState {
    seq: u64,
    /// The latest events; the last one has the number `seq`.
    ring: VecDeque<StoredEvent>,
    bytes: usize,
    subscribers: HashMap<u64, Subscriber>,
    /// ACP clients, each with its conversations.
    acp_clients: HashMap<u64, (Arc<Outbox>, Attached)>,
    /// The partial messages of each conversation, which are not stored yet.
    unfinished: HashMap<String, Vec<SessionUpdate>>,
}

/// The text of an event, and the text for callers with a limited view.
#[derive(Debug)]
struct StoredEvent {
    text: Utf8Bytes,
    instead: Option<Utf8Bytes>,
}

impl StoredEvent {
    fn for_whom(&self, is_person: bool) -> &Utf8Bytes {
        match &self.instead {
            Some(instead) if !is_person => instead,
            _ => &self.text,
        }
    }

    fn bytes(&self) -> usize {
        self.text.len() + self.instead.as_ref().map_or(0, |text| text.len())
    }
}

impl EventsState {
    /// Tracks partial messages. A client that loads a conversation in the middle of one gets its
    /// beginning from here, since the history does not contain it.
    fn follow(&mut self, event: &Event) {
        let Event::Session { session, session_event, .. } = event else { return };
        match session_event {
            SessionEvent::Update(
                update @ (SessionUpdate::AgentMessageChunk { .. }
                | SessionUpdate::AgentThoughtChunk { .. }),
            ) => {
                let updates = self.unfinished.entry(session.clone()).or_default();
                if !updates.last_mut().is_some_and(|last| last.append(update)) {
                    updates.push(update.clone());
                }
            }
            // An answer is stored before clients see it as complete, and before its calls run.
            SessionEvent::Message { .. }
            | SessionEvent::Update(SessionUpdate::ToolCall { .. })
            | SessionEvent::State { state: SessionState::Idle, .. } => {
                self.unfinished.remove(session);
            }
            SessionEvent::Update(_) | SessionEvent::State { .. } => {}
        }
    }

    fn send_to_acp_clients(&self, event: &Event) {
        let Event::Session { session, session_event, from, .. } = event else { return };
        let receives = |(connection, (_, attached)): &(&u64, &(Arc<Outbox>, Attached))| {
            *from != Some(**connection) && attached.receives(session, session_event)
        };
        let mut text = None;
        for (_, (outbox, _)) in self.acp_clients.iter().filter(receives) {
            let text = text.get_or_insert_with(|| {
                acp::of_event(session_event).map(|update| acp::update_of(session, &update))
            });
            if let Some(text) = text {
                outbox.push(text.clone());
            }
        }
    }
}

#[derive(Debug)]
struct Subscriber {
    outbox: Arc<Outbox>,
    /// It represents the person; only such a subscriber gets conversation events, which may quote
    /// any note.
    is_person: bool,
    /// It subscribed to all events. Otherwise it gets conversation events only, as every client
    /// does that talks in one.
    gets_all: bool,
}

impl Events {
    /// No events yet, in the run `epoch`.
    pub fn new(epoch: String) -> Self {
        Self(Arc::new(SharedEvents { epoch, state: Mutex::default(), view: ArcSwap::default() }))
    }

    /// Limits callers other than the person to this view from now on. Events stored before, under
    /// another view, are not sent to them.
    pub fn limit(&self, view: View) {
        // Events are prepared for the current view under the same lock.
        let mut state = lock(&self.0.state);
        if **self.0.view.load() == view {
            return;
        }
        self.0.view.store(Arc::new(view));
        let first = state.seq + 1 - state.ring.len() as u64;
        let mut bytes = 0;
        for (seq, stored) in (first..).zip(&mut state.ring) {
            stored.instead = Some(Utf8Bytes::from(hidden(seq)));
            bytes += stored.bytes();
        }
        state.bytes = bytes;
    }

    /// This run of the daemon.
    pub fn epoch(&self) -> &str {
        &self.0.epoch
    }

    /// The number of the last event.
    pub fn seq(&self) -> u64 {
        lock(&self.0.state).seq
    }

    /// Numbers an event, keeps it and sends it to every subscriber. Never waits for one: a
    /// subscriber whose queue is full is disconnected.
    pub fn publish(&self, event: Event) {
        // All under one lock: the order of numbers is the order of every queue.
        let mut state = lock(&self.0.state);
        let theirs = event.clone().in_view(&self.0.view.load());
        state.seq += 1;
        let meta = EventMeta { vault: EventVaultMeta { seq: state.seq } };
        let receives = |(connection, subscriber): &(&u64, &Subscriber)| {
            subscriber.gets_all || event.is_for_conversation_client(**connection)
        };
        let receivers = state.subscribers.iter().filter(receives);
        let receivers: Vec<_> =
            receivers.map(|(_, one)| (Arc::clone(&one.outbox), one.is_person)).collect();
        let instead = (theirs.as_ref() != Some(&event)).then(|| {
            Utf8Bytes::from(match theirs {
                Some(theirs) => theirs.message(meta),
                // Every subscriber sees numbers without gaps.
                None => hidden(state.seq),
            })
        });
        state.follow(&event);
        state.send_to_acp_clients(&event);
        let stored = StoredEvent { text: Utf8Bytes::from(event.message(meta)), instead };
        for (outbox, is_person) in receivers {
            outbox.push(stored.for_whom(is_person).clone());
        }
        state.bytes += stored.bytes();
        state.ring.push_back(stored);
        while state.ring.len() > RING_EVENTS || state.bytes > RING_BYTES {
            let dropped = state.ring.pop_front().expect("the ring is not empty");
            state.bytes -= dropped.bytes();
        }
    }

    /// Sends conversation events to a person's connection from now on, unless it gets all events
    /// already.
    pub fn listen(&self, connection: u64, outbox: &Arc<Outbox>) {
        let mut state = lock(&self.0.state);
        state.subscribers.entry(connection).or_insert_with(|| Subscriber {
            outbox: Arc::clone(outbox),
            is_person: true,
            gets_all: false,
        });
    }

    /// Sends an ACP client the events of its attached conversations.
    pub fn add_acp_client(&self, connection: u64, outbox: &Arc<Outbox>, attached: &Attached) {
        let client = (Arc::clone(outbox), attached.clone());
        lock(&self.0.state).acp_clients.insert(connection, client);
    }

    /// Holds back the events of a conversation while an ACP client is sent its history.
    pub(super) fn hold(&self, attached: &Attached, session: &str) {
        let state = lock(&self.0.state);
        let unfinished = state.unfinished.get(session).cloned().unwrap_or_default();
        attached.hold(session, unfinished.into_iter().map(SessionEvent::Update).collect());
    }

    /// Sends the events held back, except what the history already contained (these messages and
    /// calls), and then all further ones. Returns whether the conversation is new to the client.
    pub(super) fn release(
        &self,
        outbox: &Outbox,
        attached: &Attached,
        session: &str,
        known: &HashSet<&str>,
    ) -> bool {
        // Under the lock, so that no new event overtakes those held back.
        let _state = lock(&self.0.state);
        let (is_new, happened) = attached.release(session);
        let is_news = |session_event: &SessionEvent| match session_event {
            SessionEvent::Update(update) => update.part_of().is_none_or(|id| !known.contains(id)),
            _ => true,
        };
        let happened = happened
            .iter()
            .filter(|session_event| is_news(session_event))
            .filter_map(acp::of_event);
        outbox.push_replay(happened.map(|update| acp::update_of(session, &update)));
        is_new
    }

    /// Subscribes `outbox`: first comes the `answer`, then the events that the client missed, then
    /// all new ones. A second subscription of the same connection replaces the first.
    pub fn subscribe(
        &self,
        connection: u64,
        outbox: &Arc<Outbox>,
        is_person: bool,
        params: &SubscribeParams,
        answer: impl FnOnce(&SubscribeResult) -> String,
    ) {
        let mut state = lock(&self.0.state);
        let oldest = state.seq - state.ring.len() as u64;
        let (mode, missed) = match (&params.epoch, params.after) {
            (None, None) => (SubscribeMode::Live, 0),
            (Some(epoch), Some(after))
                if *epoch == self.0.epoch && (oldest..=state.seq).contains(&after) =>
            {
                (SubscribeMode::Replay, state.seq - after)
            }
            _ => (SubscribeMode::Snapshot, 0),
        };
        let result = SubscribeResult { mode, epoch: self.0.epoch.clone(), seq: state.seq };
        outbox.push(Utf8Bytes::from(answer(&result)));
        let skip = state.ring.len() - usize::try_from(missed).unwrap_or(0).min(state.ring.len());
        let missed = state.ring.iter().skip(skip).map(|stored| stored.for_whom(is_person).clone());
        outbox.push_replay(missed);
        let subscriber = Subscriber { outbox: Arc::clone(outbox), is_person, gets_all: true };
        state.subscribers.insert(connection, subscriber);
    }

    pub fn unsubscribe(&self, connection: u64) {
        let mut state = lock(&self.0.state);
        state.subscribers.remove(&connection);
        state.acp_clients.remove(&connection);
    }
}

#[cfg(test)]
mod tests {
    use super::super::outbox::Next;
    use super::*;
    use crate::note::path::VaultPath;
    use crate::protocol::events::{ChangedKind, EntryKind};
    use crate::protocol::inbox::{InboxMessage, InboxMessageState};
    use crate::protocol::session::MessageKind;
    use crate::protocol::tools::Content;

    fn event(n: u64) -> Event {
        Event::Changed {
            kind: ChangedKind::Modified,
            path: format!("{n}.md"),
            from: None,
            entry: EntryKind::File,
        }
    }

    async fn take(outbox: &Outbox) -> String {
        match outbox.next().await {
            Next::Send { text, .. } => text.to_string(),
            Next::Close(closing) => format!("{}", closing.code),
        }
    }

    fn subscribe(events: &Events, epoch: &str, after: u64) -> Arc<Outbox> {
        let outbox = Arc::new(Outbox::new(10, 1000));
        let params = SubscribeParams { epoch: Some(epoch.into()), after: Some(after) };
        events.subscribe(1, &outbox, true, &params, |result| {
            format!("{:?} {}", result.mode, result.seq)
        });
        outbox
    }

    #[tokio::test]
    async fn a_gap_is_replayed_or_reported() {
        let events = Events::new("e".into());
        let total = RING_EVENTS as u64 + 10;
        for n in 1..=total {
            events.publish(event(n));
        }
        let outbox = subscribe(&events, "e", 10);
        assert_eq!(take(&outbox).await, format!("Replay {total}"));
        events.publish(event(total + 1));
        for seq in 11..=total + 1 {
            assert!(take(&outbox).await.contains(&format!("\"seq\":{seq}}}")), "{seq}");
        }
        for (epoch, after) in [("e", 10), ("other", total), ("e", total + 9)] {
            let outbox = subscribe(&events, epoch, after);
            assert_eq!(take(&outbox).await, format!("Snapshot {}", total + 1));
        }
    }

    #[tokio::test]
    async fn a_changed_view_hides_earlier_events() {
        let events = Events::new("e".into());
        let view = |folder: &str| View::of(VaultPath::from_disk(folder).into_iter().collect());
        events.limit(view("Open"));
        let changed = |path: &str| Event::Changed {
            kind: ChangedKind::Modified,
            path: path.into(),
            from: None,
            entry: EntryKind::File,
        };
        events.publish(changed("Open/a.md"));
        events.limit(view("Elsewhere"));
        events.publish(changed("Elsewhere/b.md"));
        for (is_person, expected) in [(true, "Open/a.md"), (false, "_vault/hidden")] {
            let outbox = Arc::new(Outbox::new(10, 10_000));
            let params = SubscribeParams { epoch: Some("e".into()), after: Some(0) };
            events.subscribe(1, &outbox, is_person, &params, |_| String::new());
            take(&outbox).await;
            let first = take(&outbox).await;
            assert!(first.contains(expected) && first.contains("\"seq\":1}"), "{first}");
            assert!(take(&outbox).await.contains("Elsewhere/b.md"));
        }
    }

    fn spoken(text: &str) -> InboxMessage {
        InboxMessage {
            id: 1,
            text: text.into(),
            state: InboxMessageState::New,
            attempts: 0,
            differs: false,
            received: String::new(),
            reason: String::new(),
            typed: false,
            direct: true,
            routing_reason: None,
            session_id: None,
            turn: None,
        }
    }

    #[tokio::test]
    async fn conversation_events_are_for_persons_and_numbers_for_all() {
        let events = Events::new("e".into());
        let session_event = || SessionEvent::Message {
            id: "m".into(),
            kind: MessageKind::Answer,
            text: "secret".into(),
        };
        let event_from = |from| Event::Session {
            session: "1".into(),
            turn: None,
            session_event: session_event(),
            from,
        };
        events.publish(event_from(None));
        let hear = |connection, is_person| {
            let outbox = Arc::new(Outbox::new(10, 10_000));
            let params = SubscribeParams { epoch: Some("e".into()), after: Some(0) };
            events.subscribe(connection, &outbox, is_person, &params, |_| String::new());
            outbox
        };
        let (person, other) = (hear(1, true), hear(2, false));
        let speaker = Arc::new(Outbox::new(10, 10_000));
        events.listen(3, &speaker);
        events.publish(event(2));
        events.publish(event_from(Some(3)));
        events.publish(event_from(Some(4)));
        // A voice message is content too, though it is in no conversation yet.
        events.publish(Event::Inbox(spoken("secret")));
        for outbox in [&person, &other] {
            assert_eq!(take(outbox).await, "");
        }
        for seq in 1..=5 {
            let (theirs, hidden) = (take(&person).await, take(&other).await);
            for text in [&theirs, &hidden] {
                assert!(text.contains(&format!("\"seq\":{seq}}}")), "{text}");
            }
            assert_eq!(theirs.contains("secret"), seq != 2);
            assert!(!hidden.contains("secret"), "{hidden}");
        }
        let delivered = take(&speaker).await;
        assert!(delivered.contains("\"seq\":4") && delivered.contains("secret"), "{delivered}");
    }

    fn says(text: &str, id: &str) -> Event {
        let content = Content::Text { text: text.into() };
        let update = SessionUpdate::AgentMessageChunk { content, message_id: id.into() };
        let session_event = SessionEvent::Update(update);
        Event::Session { session: "1".into(), turn: None, session_event, from: None }
    }

    #[tokio::test]
    async fn loading_a_conversation_during_an_answer_gives_all_of_it_once() {
        let whole = |id: &str| Event::Session {
            session: "1".into(),
            turn: None,
            session_event: SessionEvent::Message {
                id: id.into(),
                kind: MessageKind::Answer,
                text: String::new(),
            },
            from: None,
        };
        for is_in_history in [false, true] {
            let (events, attached) = (Events::new("e".into()), Attached::default());
            let outbox = Arc::new(Outbox::new(100, 10_000));
            events.add_acp_client(1, &outbox, &attached);
            events.publish(says("long ago", "m0"));
            events.publish(whole("m0"));
            events.publish(says("once ", "m1"));
            events.publish(says("upon ", "m1"));
            events.hold(&attached, "1");
            events.publish(says("a ", "m1"));
            let known = if is_in_history { HashSet::from(["m1"]) } else { HashSet::new() };
            assert!(events.release(&outbox, &attached, "1", &known));
            events.publish(whole("m1"));
            events.publish(says("next", "m2"));
            let expected: &[&str] = if is_in_history { &[] } else { &["once upon ", "a "] };
            for text in expected.iter().chain(&["next"]) {
                let delivered = take(&outbox).await;
                assert!(delivered.contains(&format!("\"text\":\"{text}\"")), "{text}: {delivered}");
            }
        }
    }
}
