//! Lives, and their invariants: an acknowledged message is processed exactly once, in order of
//! arrival, and its answer shown; nothing is rejected after an acknowledgement.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use vault_steward::agent::entry::UserMessage;
use vault_steward::agent::memory::StoredMemory;
use vault_steward::agent::{Agent, ConversationSettings, Conversations, Ports, TurnSettings};
use vault_steward::daemon::voice::Voice;
use vault_steward::policy::Scope;
use vault_steward::server::events::Events;
#[cfg(unix)]
use vault_steward::smarthole::frames::Delivery;
use vault_steward::smarthole::{Inbox, ReceivedMessage, Settings, SmartHole};
use vault_steward::store::Store;
use vault_steward::store::inbox::{InboxState, VOICE};

use super::life::Life;
use super::memory::Forgets;
use super::mind::{Mind, Nowhere, VoiceUpdates, request, wanted};
use super::stand_in::{WENT_WRONG, Wire};
use super::world::{Time, Trouble, World, lock};
use crate::chance::Chance;

/// Lives of each of the two parts, which run in parallel. `STEWARD_SMARTHOLE_LIVES` is the total
/// number.
const LIVES: u64 = 1_500;

fn lives() -> u64 {
    let lives = std::env::var("STEWARD_SMARTHOLE_LIVES").ok().and_then(|lives| lives.parse().ok());
    lives.map_or(LIVES, |lives: u64| lives.div_ceil(2))
}

#[test]
fn lives_of_the_first_part() {
    live_on(0);
}

#[test]
fn lives_of_the_second_part() {
    live_on(1 << 32);
}

/// `SEED=17 TALE=1 cargo test --test smarthole one_story -- --nocapture` repeats one and prints it.
#[test]
fn one_story() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    story(seed.unwrap_or(0));
}

fn live_on(first: u64) {
    let (mut lived, mut seed) = (0, first);
    while lived < lives() {
        lived += story(seed);
        seed += 1;
    }
    println!("{lived} lives, {} stories", seed - first);
}

/// A folder for a store. No power is cut here, so nothing has to wait for a disk.
fn place() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    place.unwrap()
}

/// Several lives over one store, all but the last killed; returns their number.
fn story(seed: u64) -> u64 {
    let mut chance = Chance::new(seed ^ 0x5a5a_a5a5);
    let trouble = Trouble {
        wire: chance.once_in(2),
        model: chance.once_in(3),
        deletes: chance.once_in(4),
        types: chance.once_in(4),
        forgets: chance.once_in(4),
    };
    let world = World::new(seed, trouble);
    let folder = place();
    let kills = 1 + chance.below(6);
    let messages = 1 + u32::try_from(chance.below(3)).unwrap();
    for kill in 0..kills {
        let said = messages.min(1 + u32::try_from(kill).unwrap());
        let most = if chance.once_in(3) { 30 } else { 40 + 50 * u64::from(said) };
        run(&world, folder.path(), Some(chance.below(most)), said);
        world.pass_time(Duration::from_secs(match chance.below(4) {
            0 => chance.below(3 * 3600),
            _ => chance.below(30),
        }));
    }
    lock(&world.trouble).forgets = false;
    run(&world, folder.path(), None, messages);
    judge(&world, folder.path(), messages);
    kills + 1
}

/// A day with a thousand messages and everything that can go wrong on their way.
#[test]
fn a_thousand_messages_run_once_and_in_order_over_broken_connections() {
    const MESSAGES: u32 = 1_000;
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(6);
    let trouble = Trouble { wire: true, model: true, ..Trouble::default() };
    let world = World::new(seed, trouble);
    lock(&world.desk).meets_all = true;
    let folder = place();
    run(&world, folder.path(), None, MESSAGES);
    judge(&world, folder.path(), MESSAGES);
    let desk = lock(&world.desk);
    for what in WENT_WRONG {
        assert!(desk.happened.contains_key(what), "SEED={seed}: no `{what}`: {:?}", desk.happened);
    }
    println!("{:?}", desk.happened);
}

/// The parts of one life.
struct Parts {
    world: Arc<World>,
    agent: Agent,
    conversations: Conversations,
    voice: Arc<Voice>,
    smarthole: SmartHole,
}

/// The program from its start to its end, or to the point at which it is killed. Returns the number
/// of points it passed.
fn run(world: &Arc<World>, folder: &Path, killed: Option<u64>, said: u32) -> u64 {
    let life = Life::until(killed);
    let enters = Arc::clone(&life);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .on_thread_start(move || enters.enter())
        .build()
        .unwrap();
    runtime.block_on(async {
        let lived = async {
            let parts = begin(world, &life, folder).await;
            parts.talk(said).await;
            parts.come_to_rest(said).await;
        };
        tokio::select! {
            biased;
            () = life.killed() => {}
            () = lived => {}
        }
    });
    life.end();
    world.tell(|| format!("a life ends after {} points of {killed:?}", life.passed()));
    // All running tasks end with it.
    drop(runtime);
    world.tell(|| {
        let rows = Store::at(folder).inbox.last(VOICE, 100).unwrap();
        let columns = rows.iter().map(|row| (&row.message, row.state, row.attempts, row.turn));
        format!("{:?}", columns.collect::<Vec<_>>())
    });
    life.passed()
}

/// Connects the parts as the daemon does.
async fn begin(world: &Arc<World>, life: &Arc<Life>, folder: &Path) -> Parts {
    world.forget_connections();
    let time = Arc::new(Time::begin(world));
    let conversations = conversations(folder, Arc::clone(&time));
    let mind = Mind { world: Arc::clone(world), life: Arc::clone(life) };
    let memory = StoredMemory::new(conversations.clone());
    let updates = VoiceUpdates::default();
    let ports = Ports {
        memory: Box::new(Forgets { memory, world: Arc::clone(world) }),
        models: Box::new(mind.clone()),
        toolbox: Box::new(mind),
        audience: Box::new(updates.clone()),
        place: Arc::new(Nowhere),
    };
    let agent = Agent::new(ports, TurnSettings::default());
    let recovers = agent.clone();
    let left = tokio::task::spawn_blocking(move || recovers.recover()).await.unwrap().unwrap();
    let voice = Arc::new(Voice::new(agent.clone(), conversations.clone()));
    voice.set_retry_seconds(60);
    let _ = updates.voice.set(Arc::downgrade(&voice));
    agent.deliver_undelivered(left).await;
    if world.troubles(|trouble| trouble.deletes, 2) {
        delete_some(world, &conversations).await;
    }
    let wire = Wire { world: Arc::clone(world), life: Arc::clone(life) };
    let smarthole = SmartHole::by(
        Settings::default(),
        Arc::new(Hears(Arc::downgrade(&voice))),
        time,
        Arc::new(wire),
    );
    voice.open(Events::new("a run".to_owned()), smarthole.clone());
    tokio::spawn(smarthole.clone().run());
    tokio::spawn(Arc::clone(&voice).run());
    Parts { world: Arc::clone(world), agent, conversations, voice, smarthole }
}

/// A weak reference to the worker, which owns this: it ends with a life.
struct Hears(Weak<Voice>);

impl Inbox for Hears {
    fn store(&self, heard: &ReceivedMessage) -> Result<(), String> {
        self.0.upgrade().map_or_else(|| Err("it has ended".to_owned()), |voice| voice.store(heard))
    }

    fn has(&self, id: &str, text: Option<&str>) -> bool {
        self.0.upgrade().is_some_and(|voice| voice.has(id, text))
    }
}

fn conversations(folder: &Path, time: Arc<Time>) -> Conversations {
    Conversations::new(Store::at(folder), ConversationSettings::default(), time)
}

/// A person deletes idle conversations.
async fn delete_some(world: &Arc<World>, conversations: &Conversations) {
    let conversations = conversations.clone();
    let recent = blocking({
        let conversations = conversations.clone();
        move || conversations.recent(20).unwrap()
    });
    for conversation in recent.await {
        if !conversation.is_working && world.once_in(2) {
            let conversations = conversations.clone();
            let delete = move || conversations.delete(conversation.id);
            // It may have been deleted in the meantime.
            let _ = blocking(delete).await;
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // It was killed there; nothing continues.
        Err(_) => std::future::pending().await,
    }
}

fn id(number: u32) -> String {
    format!("id-{number}")
}

impl Parts {
    /// A person says the first messages, and repeats those that were lost.
    async fn talk(&self, many: u32) {
        let world = &self.world;
        let mut typed = 0;
        loop {
            let left: Vec<u32> = (0..many).filter(|number| !world.is_acked(&id(*number))).collect();
            if left.is_empty() {
                return;
            }
            self.registered().await;
            for number in left {
                world.say(&id(number), &request(number));
                if world.troubles(|trouble| trouble.wire, 5) {
                    let again = u32::try_from(world.below(u64::from(number) + 1)).unwrap();
                    world.say(&id(again), &request(again));
                }
                if typed < 2 && world.troubles(|trouble| trouble.types, 4) {
                    typed += 1;
                    self.type_something().await;
                }
                tokio::time::sleep(Duration::from_millis(match world.below(3) {
                    0 => 0,
                    1 => world.below(500),
                    _ => world.below(4_000),
                }))
                .await;
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    }

    async fn registered(&self) {
        for _ in 0..7_200 {
            if self.world.is_registered() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        self.world.fault(format!("never registered: {:?}", self.smarthole.status()));
    }

    /// Someone types into the same conversation.
    async fn type_something(&self) {
        let number = 9_000 + u32::try_from(self.world.below(900)).unwrap();
        let said = UserMessage {
            number: 0,
            to: None,
            text: request(number),
            source: "chat".to_owned(),
            scope: Scope::Person,
            from: None,
            client_id: Some(id(number)),
            note: None,
            attached: Default::default(),
        };
        if let Ok(answered) = self.agent.send(said).await {
            tokio::spawn(answered);
        }
    }

    /// Waits until all messages are processed and shown; a person retries messages that were set aside.
    async fn come_to_rest(&self, said: u32) {
        let store = self.conversations.store().clone();
        // Ten notifications are sent in a minute, and a failed message waits for one or two.
        for _ in 0..20_000 + 200 * said {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let store = store.clone();
            let (waiting, aside) = blocking(move || {
                let count = |state| store.inbox.count(VOICE, state).unwrap();
                let waiting = [InboxState::New, InboxState::Taken, InboxState::Answered];
                let aside = store.inbox.list(Some(VOICE), InboxState::SetAside, 10_000).unwrap();
                for row in &aside {
                    let only = [InboxState::SetAside];
                    store.inbox.move_to(row.id, &only, InboxState::New, "tried again").unwrap();
                }
                (waiting.into_iter().map(count).sum::<u64>(), aside)
            })
            .await;
            for row in &aside {
                lock(&self.world.desk).aside.extend(wanted(&row.text));
            }
            if !aside.is_empty() {
                self.voice.try_again();
            } else if waiting == 0 {
                return;
            }
        }
        let states: Vec<_> = store.inbox.last(VOICE, 20).unwrap();
        let status = self.smarthole.status();
        self.world.fault(format!("it never comes to rest: {status:?} {states:#?}"));
    }
}

/// The inbox of a state folder, without a worker.
#[cfg(unix)]
pub struct Keeper(Voice, Conversations);

#[cfg(unix)]
impl Keeper {
    pub fn at(folder: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _in_it = runtime.enter();
        let world = World::new(0, Trouble::default());
        let conversations = conversations(folder, Arc::new(Time::begin(&world)));
        let mind = Mind { world: Arc::clone(&world), life: Life::until(None) };
        let ports = Ports {
            memory: Box::new(StoredMemory::new(conversations.clone())),
            models: Box::new(mind.clone()),
            toolbox: Box::new(mind),
            audience: Box::new(VoiceUpdates::default()),
            place: Arc::new(Nowhere),
        };
        let agent = Agent::new(ports, TurnSettings::default());
        Self(Voice::new(agent, conversations.clone()), conversations)
    }

    pub fn keep(&self, id: &str, text: &str) -> Result<(), String> {
        let (id, text) = (id.to_owned(), text.to_owned());
        self.0.store(&ReceivedMessage { id, text, how: Delivery::default() })
    }

    pub fn kept(&self) -> Vec<String> {
        let rows = self.1.store().inbox.last(VOICE, 100).unwrap();
        rows.into_iter().rev().map(|row| row.text).collect()
    }
}

fn judge(world: &Arc<World>, folder: &Path, messages: u32) {
    let counts = world.counts();
    for number in 0..messages {
        let times = counts.get(&number).copied().unwrap_or(0);
        if times != 1 {
            world.fault(format!("item{number:04} was added {times} times"));
        }
    }
    for (number, times) in counts.range(messages..) {
        // Typed messages that were cut short do not resume by themselves.
        if *times > 1 {
            world.fault(format!("item{number:04}, which was typed, was added {times} times"));
        }
    }
    let rows = Store::at(folder).inbox.last(VOICE, 100_000).unwrap();
    let mut names: Vec<&str> = rows.iter().rev().map(|row| row.message.as_str()).collect();
    let aside = lock(&world.desk).aside.clone();
    let is_late = |number: &u32| aside.contains(number);
    names.retain(|name| !aside.iter().any(|number| id(*number) == **name));
    let list = world.list();
    let added: Vec<String> = list
        .iter()
        .filter(|number| **number < messages && !is_late(number))
        .map(|number| id(*number))
        .collect();
    if added != names {
        world.fault(format!("they came as {names:?} and were done as {added:?}"));
    }
    let trouble = *lock(&world.trouble);
    let shown = lock(&world.desk).shown.clone();
    for number in (0..messages).filter(|_| !trouble.wire && !trouble.deletes) {
        let item = format!("item{number:04}");
        if !shown.keys().any(|text| text.contains("Added") && text.contains(&item)) {
            world.fault(format!("what came of {item} was never shown: {shown:?}"));
        }
    }
    let faults = world.faults();
    assert!(faults.is_empty(), "SEED={} {trouble:?}: {faults:#?}", world.seed);
}
