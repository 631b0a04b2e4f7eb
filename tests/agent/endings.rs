//! The end of a turn that is stored late, or cannot be stored.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use vault_steward::agent::clock::SystemClock;
use vault_steward::agent::entry::{Entry, UserMessage};
use vault_steward::agent::memory::StoredMemory;
use vault_steward::agent::ports::{Leftovers, Memory, MemoryError, Routing, StoredTurn, Update};
use vault_steward::agent::turn::{End, Reason};
use vault_steward::agent::{ConversationSettings, Conversations};
use vault_steward::conversation::{ConversationId, EndKind, TurnId};
use vault_steward::llm::Usage;
use vault_steward::store::Store;

use crate::arrivals::{Life, said};

/// Events at the end of a turn, before and after it is stored.
enum Odd {
    /// Storing fails this many times.
    Fails(usize),
    /// After storing, sends a signal and waits for another.
    Waits(Sender<()>, Receiver<()>),
}

/// The real memory, except for how turns end.
struct OddEnds(StoredMemory, Mutex<Odd>);

type Answer<T> = Result<T, MemoryError>;

impl Memory for OddEnds {
    fn finish(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        end: &End,
        question: Option<&str>,
    ) -> Answer<()> {
        match &mut *self.1.lock().unwrap() {
            Odd::Fails(left) if *left > 0 => {
                *left -= 1;
                let message = "the disk is full".to_owned();
                return Err(MemoryError::Broken { message, hint: None });
            }
            Odd::Fails(_) => {}
            Odd::Waits(kept, go_on) => {
                self.0.finish(conversation, turn, end, question)?;
                if kept.send(()).is_ok() {
                    let _ = go_on.recv();
                }
                return Ok(());
            }
        }
        self.0.finish(conversation, turn, end, question)
    }

    fn receive(&self, said: &UserMessage) -> Answer<(i64, Option<TurnId>)> {
        self.0.receive(said)
    }

    fn arrive(&self, said: &UserMessage) -> Answer<Routing> {
        self.0.arrive(said)
    }

    fn resume(&self, to: ConversationId, notice: &Entry, received: i64) -> Answer<Routing> {
        self.0.resume(to, notice, received)
    }

    fn refuse(&self, received: i64, why: &str) -> Answer<()> {
        self.0.refuse(received, why)
    }

    fn entries(&self, conversation: ConversationId) -> Answer<Vec<Entry>> {
        self.0.entries(conversation)
    }

    fn keep_opening(&self, conversation: ConversationId, opening: Entry) -> Answer<Entry> {
        self.0.keep_opening(conversation, opening)
    }

    fn append(&self, conversation: ConversationId, turn: TurnId, entry: &Entry) -> Answer<bool> {
        self.0.append(conversation, turn, entry)
    }

    fn interrupt(&self, conversation: ConversationId, why: &str) -> Answer<Option<TurnId>> {
        self.0.interrupt(conversation, why)
    }

    fn ended(&self, turn: TurnId) -> Answer<StoredTurn> {
        self.0.ended(turn)
    }

    fn leftovers(&self) -> Answer<Leftovers> {
        self.0.leftovers()
    }

    fn earlier(&self, conversation: ConversationId) -> Answer<Vec<(String, String, String)>> {
        self.0.earlier(conversation)
    }

    fn count(&self, conversation: ConversationId, model: &str, usage: &Usage, cost: Option<f64>) {
        self.0.count(conversation, model, usage, cost);
    }
}

fn life(folder: &std::path::Path, odd: Odd) -> Life {
    let (settings, clock) = (ConversationSettings::default(), Arc::new(SystemClock::default()));
    let conversations = Conversations::new(Store::at(folder), settings, clock);
    let memory = OddEnds(StoredMemory::new(conversations.clone()), Mutex::new(odd));
    Life::with(conversations, Box::new(memory))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_sends_no_events_before_the_last_one_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (kept, is_kept) = mpsc::channel();
    let (let_go, go_on) = mpsc::channel();
    let mut life = life(folder.path(), Odd::Waits(kept, go_on));
    life.may.add_permits(10);
    let first = life.agent.send(said("first")).await.unwrap();
    // The end is stored but not announced yet: the next message starts the next turn.
    let is_kept = tokio::task::spawn_blocking(move || is_kept.recv().map(|()| is_kept));
    let is_kept = is_kept.await.unwrap().unwrap();
    let second = life.agent.send(said("second")).await.unwrap();
    let_go.send(()).unwrap();
    drop((let_go, is_kept));
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!(first.conversation, second.conversation);
    assert_ne!(first.turn, second.turn);
    let mut order = Vec::new();
    while let Ok(update) = life.updates.try_recv() {
        match update.what {
            Update::Running { .. } => order.push((update.turn, "begins")),
            Update::Ended { .. } => order.push((update.turn, "ends")),
            _ => {}
        }
    }
    order.dedup();
    let expected = [
        (first.turn, "begins"),
        (first.turn, "ends"),
        (second.turn, "begins"),
        (second.turn, "ends"),
    ];
    assert_eq!(order, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_whose_end_cannot_be_stored_blocks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let life = life(folder.path(), Odd::Fails(1));
    life.may.add_permits(10);
    let answered = life.agent.send(said("first")).await.unwrap().await.unwrap();
    assert_eq!(answered.reason, Some(Reason::Failed));
    assert!(answered.words.contains("the disk is full"), "{answered:?}");
    // It is given up without another message, so that the conversation can be ended.
    let until = Instant::now() + Duration::from_secs(60);
    while life.conversations.get(answered.conversation).unwrap().is_working {
        assert!(Instant::now() < until, "the turn is still open");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(life.conversations.end(answered.conversation, EndKind::Person, "").unwrap());
}
