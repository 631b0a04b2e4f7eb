//! What happens in the vault, numbered, kept for a while, and told to every subscriber in the same
//! order.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::acp::{self, Attached};
use super::lock;
use super::outbox::Outbox;
use crate::note::path::VaultPath;
use crate::protocol::conversations::{ConversationChange, ConversationChangedParams};
use crate::protocol::envelope;
use crate::protocol::events::{
    ChangeSetInfo, ChangedKind, ChangedParams, ChangesParams, EntryKind, EventMeta, EventVaultMeta,
    HiddenParams, SubscribeMode, SubscribeParams, SubscribeResult,
};
use crate::protocol::inbox::{InboxMessage, InboxParams, SmartHoleParams, SmartHoleState};
use crate::protocol::policy::{ModeChangedParams, ModeResult};
use crate::protocol::session::{
    MessageKind, MessageParams, SessionEventMeta, SessionEventVaultMeta, SessionState,
    SessionUpdate, SessionUpdateParams, StateParams, StopReason,
};
use crate::protocol::settings::{ConfigProblem, ConfigRejectedParams, ConfigReloadedParams};
use crate::vault::View;

/// Events kept for those who come back.
pub const RING_EVENTS: usize = 4096;

/// Bytes of events kept for those who come back.
pub const RING_BYTES: usize = 8 << 20;

/// What happened, before it has a number.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Something in the vault changed, whoever did it.
    Changed {
        kind: ChangedKind,
        /// What it happened to.
        path: String,
        /// The old path of something renamed.
        from: Option<String>,
        /// What lies, or lay, there.
        entry: EntryKind,
    },
    /// The steward has applied a change set.
    Applied(ChangeSetInfo),
    /// Something happened to a conversation as a whole.
    ConversationChanged { session_id: String, kind: ConversationChange },
    /// A message came by voice, or stands otherwise.
    Inbox(InboxMessage),
    /// The connection to SmartHole stands otherwise.
    SmartHole(SmartHoleState),
    /// New settings hold.
    ConfigReloaded {
        /// What is another value now, by name.
        changed: Vec<String>,
        /// What only a restart brings.
        needs_restart: Vec<String>,
    },
    /// Another mode holds.
    ModeChanged(ModeResult),
    /// The settings file is wrong; the old settings hold.
    ConfigRejected(ConfigProblem),
    /// Something happened in a conversation.
    Session {
        session: String,
        /// The turn it belongs to.
        turn: Option<String>,
        told: SessionTold,
        /// The connection whose doing it is, which hears of it only if it asked for all events.
        from: Option<u64>,
    },
}

/// What happened in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionTold {
    /// Something was said or done.
    Update(SessionUpdate),
    /// A message is whole.
    Message {
        id: String,
        kind: MessageKind,
        /// All of it.
        text: String,
    },
    /// It stands otherwise.
    State {
        state: SessionState,
        /// How many messages wait to be heard.
        queued: u32,
        /// Whether the person is asked something.
        waiting: bool,
        /// Why the turn is over.
        stop_reason: Option<StopReason>,
        /// Why it failed.
        error: Option<String>,
    },
}

impl Event {
    /// The notification that tells of it.
    fn tell(self, meta: EventMeta) -> String {
        match self {
            Self::Changed { kind, path, from, entry } => {
                envelope::notification(&ChangedParams { kind, path, from, entry, meta })
            }
            Self::Applied(change_set) => {
                envelope::notification(&ChangesParams { change_set, meta })
            }
            Self::ConversationChanged { session_id, kind } => {
                envelope::notification(&ConversationChangedParams { session_id, kind, meta })
            }
            Self::Inbox(message) => envelope::notification(&InboxParams { message, meta }),
            Self::SmartHole(smarthole) => {
                envelope::notification(&SmartHoleParams { smarthole, meta })
            }
            Self::ConfigReloaded { changed, needs_restart } => {
                envelope::notification(&ConfigReloadedParams { changed, needs_restart, meta })
            }
            Self::ModeChanged(mode) => envelope::notification(&ModeChangedParams { mode, meta }),
            Self::ConfigRejected(problem) => {
                envelope::notification(&ConfigRejectedParams { problem, meta })
            }
            Self::Session { session, turn, told, .. } => {
                let vault = SessionEventVaultMeta { seq: meta.vault.seq, turn };
                told.tell(session, SessionEventMeta { vault })
            }
        }
    }

    /// The event as it is for a caller that sees this much of the vault; none where it is of what it
    /// may not see. What comes into view was made there, and what leaves it is gone.
    fn seen_through(self, view: &View) -> Option<Self> {
        let shows = |path: &str| VaultPath::from_disk(path).is_some_and(|path| view.shows(&path));
        match self {
            // What is said in a conversation, or was spoken, may quote any note.
            Self::Session { .. } | Self::Inbox(_) => None,
            event if view.is_all() => Some(event),
            // The words quote the settings file.
            Self::ConfigRejected(_) => None,
            Self::Changed { kind, path, from: Some(from), entry } => {
                match (shows(&path), shows(&from)) {
                    (true, true) => Some(Self::Changed { kind, path, from: Some(from), entry }),
                    (true, false) => {
                        let kind = ChangedKind::Created;
                        Some(Self::Changed { kind, path, from: None, entry })
                    }
                    (false, true) => {
                        let kind = ChangedKind::Removed;
                        Some(Self::Changed { kind, path: from, from: None, entry })
                    }
                    (false, false) => None,
                }
            }
            Self::Changed { ref path, .. } if !shows(path) => None,
            Self::Applied(set)
                if set.total > set.changes.len() as u64
                    || !set
                        .changes
                        .iter()
                        .all(|one| shows(&one.path) && one.from.as_deref().is_none_or(shows)) =>
            {
                None
            }
            event => Some(event),
        }
    }

    /// Whether a connection hears of it that only talks to the agent.
    fn is_for_speaker(&self, connection: u64) -> bool {
        matches!(self, Self::Session { from, .. } if *from != Some(connection))
    }
}

impl SessionTold {
    /// The update that tells it to an ACP client; none where ACP has nothing to say of it.
    fn in_acp(&self) -> Option<Value> {
        match self {
            Self::Update(update) => Some(acp::of_update(update)),
            Self::Message { id, kind: MessageKind::Void, .. } => Some(acp::void(id)),
            Self::Message { .. } | Self::State { .. } => None,
        }
    }

    fn tell(self, session_id: String, meta: SessionEventMeta) -> String {
        match self {
            Self::Update(update) => {
                envelope::notification(&SessionUpdateParams { session_id, update, meta })
            }
            Self::Message { id: message_id, kind, text } => {
                envelope::notification(&MessageParams { session_id, message_id, kind, text, meta })
            }
            Self::State { state, queued, waiting, stop_reason, error } => {
                envelope::notification(&StateParams {
                    session_id,
                    state,
                    queued,
                    waiting,
                    stop_reason,
                    error,
                    meta,
                })
            }
        }
    }
}

/// That the event of this number is not for who hears of it.
fn hidden(seq: u64) -> String {
    envelope::notification(&HiddenParams { meta: EventMeta { vault: EventVaultMeta { seq } } })
}

/// The events of one run of the daemon. A clone is the same.
#[derive(Debug, Clone)]
pub struct Events(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    epoch: String,
    state: Mutex<State>,
    /// What callers may see of the vault that are no persons.
    view: ArcSwap<View>,
}

#[derive(Debug, Default)]
struct State {
    seq: u64,
    /// The texts of the last events; the last one has the number `seq`.
    ring: VecDeque<Kept>,
    bytes: usize,
    subscribers: HashMap<u64, Subscriber>,
    /// ACP clients, each with the conversations of which it hears.
    speakers: HashMap<u64, (Arc<Outbox>, Attached)>,
}

/// The text of an event, and the one in its place for who may not hear it.
#[derive(Debug)]
struct Kept {
    text: Utf8Bytes,
    instead: Option<Utf8Bytes>,
}

impl Kept {
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

impl State {
    fn tell_speakers(&self, event: &Event) {
        let Event::Session { session, told, from, .. } = event else { return };
        let hears = |(connection, (_, attached)): &(&u64, &(Arc<Outbox>, Attached))| {
            *from != Some(**connection) && attached.has(session)
        };
        let mut text = None;
        for (_, (outbox, _)) in self.speakers.iter().filter(hears) {
            let text = text.get_or_insert_with(|| {
                told.in_acp().map(|update| acp::update_of(session, &update))
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
    /// It speaks for a person: what is said in conversations may quote any note.
    is_person: bool,
    /// It asked for all events; else it hears what happens in conversations, as every client does
    /// that talks in one.
    hears_all: bool,
}

impl Events {
    /// No events yet, in the run `epoch`.
    #[must_use]
    pub fn new(epoch: String) -> Self {
        Self(Arc::new(Inner { epoch, state: Mutex::default(), view: ArcSwap::default() }))
    }

    /// From now on whoever is no person hears of what this view shows, and of nothing else: of what is
    /// kept from before, where another view held, of nothing at all.
    pub fn limit(&self, view: View) {
        // An event is laid down for the view that holds under the same lock.
        let mut state = lock(&self.0.state);
        if **self.0.view.load() == view {
            return;
        }
        self.0.view.store(Arc::new(view));
        let first = state.seq + 1 - state.ring.len() as u64;
        let mut bytes = 0;
        for (seq, kept) in (first..).zip(&mut state.ring) {
            kept.instead = Some(Utf8Bytes::from(hidden(seq)));
            bytes += kept.bytes();
        }
        state.bytes = bytes;
    }

    /// This run of the daemon.
    #[must_use]
    pub fn epoch(&self) -> &str {
        &self.0.epoch
    }

    /// The number of the last event.
    #[must_use]
    pub fn seq(&self) -> u64 {
        lock(&self.0.state).seq
    }

    /// Numbers an event, keeps it and hands it to every subscriber. Never waits for one: a
    /// subscriber that is behind by more than its queue holds is closed.
    pub fn publish(&self, event: Event) {
        // All under one lock: the order of numbers is the order of every queue.
        let mut state = lock(&self.0.state);
        let theirs = event.clone().seen_through(&self.0.view.load());
        state.seq += 1;
        let meta = EventMeta { vault: EventVaultMeta { seq: state.seq } };
        let hears = |(connection, subscriber): &(&u64, &Subscriber)| {
            subscriber.hears_all || event.is_for_speaker(**connection)
        };
        let hearers = state.subscribers.iter().filter(hears);
        let hearers: Vec<_> =
            hearers.map(|(_, one)| (Arc::clone(&one.outbox), one.is_person)).collect();
        let instead = (theirs.as_ref() != Some(&event)).then(|| {
            Utf8Bytes::from(match theirs {
                Some(theirs) => theirs.tell(meta),
                // The numbers go on without gaps for everybody.
                None => hidden(state.seq),
            })
        });
        state.tell_speakers(&event);
        let kept = Kept { text: Utf8Bytes::from(event.tell(meta)), instead };
        for (outbox, is_person) in hearers {
            outbox.push(kept.for_whom(is_person).clone());
        }
        state.bytes += kept.bytes();
        state.ring.push_back(kept);
        while state.ring.len() > RING_EVENTS || state.bytes > RING_BYTES {
            let dropped = state.ring.pop_front().expect("the ring is not empty");
            state.bytes -= dropped.bytes();
        }
    }

    /// Tells a person's connection what happens in conversations from now on, unless it hears all
    /// already.
    pub fn listen(&self, connection: u64, outbox: &Arc<Outbox>) {
        let mut state = lock(&self.0.state);
        state.subscribers.entry(connection).or_insert_with(|| Subscriber {
            outbox: Arc::clone(outbox),
            is_person: true,
            hears_all: false,
        });
    }

    /// Tells an ACP client what happens in the conversations that are attached to it.
    pub fn attend(&self, connection: u64, outbox: &Arc<Outbox>, attached: &Attached) {
        let speaker = (Arc::clone(outbox), attached.clone());
        lock(&self.0.state).speakers.insert(connection, speaker);
    }

    /// Makes `outbox` a subscriber: first `answer` of the result is put into it, then what it
    /// missed, then every event to come. A second subscription of the same connection replaces
    /// the first.
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
        let missed = state.ring.iter().skip(skip).map(|kept| kept.for_whom(is_person).clone());
        outbox.push_replay(missed);
        let subscriber = Subscriber { outbox: Arc::clone(outbox), is_person, hears_all: true };
        state.subscribers.insert(connection, subscriber);
    }

    /// Forgets a connection.
    pub fn unsubscribe(&self, connection: u64) {
        let mut state = lock(&self.0.state);
        state.subscribers.remove(&connection);
        state.speakers.remove(&connection);
    }
}

#[cfg(test)]
mod tests {
    use super::super::outbox::Next;
    use super::*;
    use crate::protocol::inbox::InboxMessageState;

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
    async fn a_gap_is_filled_when_it_can_be_and_told_when_not() {
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
    async fn who_sees_another_part_from_now_on_hears_nothing_of_before() {
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
        for (is_person, told) in [(true, "Open/a.md"), (false, "_vault/hidden")] {
            let outbox = Arc::new(Outbox::new(10, 10_000));
            let params = SubscribeParams { epoch: Some("e".into()), after: Some(0) };
            events.subscribe(1, &outbox, is_person, &params, |_| String::new());
            take(&outbox).await;
            let first = take(&outbox).await;
            assert!(first.contains(told) && first.contains("\"seq\":1}"), "{first}");
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
    async fn what_is_said_is_for_persons_and_the_numbers_are_for_all() {
        let events = Events::new("e".into());
        let told = || SessionTold::Message {
            id: "m".into(),
            kind: MessageKind::Answer,
            text: "secret".into(),
        };
        let said = |from| Event::Session { session: "1".into(), turn: None, told: told(), from };
        events.publish(said(None));
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
        events.publish(said(Some(3)));
        events.publish(said(Some(4)));
        // What was spoken is said too, though in no conversation yet.
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
        let heard = take(&speaker).await;
        assert!(heard.contains("\"seq\":4") && heard.contains("secret"), "{heard}");
    }
}
