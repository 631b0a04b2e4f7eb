//! Some of the lives again, on the real store: what is stored survives the program.

use std::sync::Arc;
use std::time::Duration;

use vault_steward::agent::clock::SystemClock;
use vault_steward::agent::context::Context;
use vault_steward::agent::entry::{Entry, UserMessage};
use vault_steward::agent::memory::StoredMemory;
use vault_steward::agent::ports::{Memory as _, TurnUpdate, UpdateSink};
use vault_steward::agent::{Agent, ConversationSettings, Conversations, Ports, TurnSettings};
use vault_steward::conversation::TurnState;
use vault_steward::llm::Message;
use vault_steward::policy::Scope;
use vault_steward::store::Store;

use crate::chance::Chance;
use crate::world::{Chooses, Nowhere, Tools, World};

struct Nobody;

impl UpdateSink for Nobody {
    fn send(&self, _: TurnUpdate) {}
}

#[test]
fn lives_on_the_real_store() {
    let place = tempfile::tempdir().unwrap();
    for seed in 0..40 {
        let folder = place.path().join(seed.to_string());
        std::fs::create_dir(&folder).unwrap();
        let world = Arc::new(World { is_elsewhere: true, ..World::default() });
        *world.chance.lock().unwrap() = Some(Chance::new(seed));
        let mut chance = Chance::new(seed ^ 0xa5a5_5a5a);
        let mut accepted = Vec::new();
        for _ in 0..chance.below(3) {
            let after = chance.below(3_000);
            run(&folder, &world, &mut chance, &mut accepted, Some(after));
        }
        run(&folder, &world, &mut chance, &mut accepted, None);
        judge(&folder, &world, &accepted, seed);
    }
}

fn conversations(folder: &std::path::Path) -> Conversations {
    let (settings, clock) = (ConversationSettings::default(), Arc::new(SystemClock::default()));
    Conversations::new(Store::at(folder), settings, clock)
}

fn run(
    folder: &std::path::Path,
    world: &Arc<World>,
    chance: &mut Chance,
    accepted: &mut Vec<String>,
    killed: Option<u64>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let ports = Ports {
        memory: Box::new(StoredMemory::new(conversations(folder))),
        models: Box::new(Chooses(Arc::clone(world))),
        toolbox: Box::new(Tools(Arc::clone(world))),
        audience: Box::new(Nobody),
        place: Arc::new(Nowhere),
    };
    let agent = Agent::new(ports, TurnSettings { rounds: 6, ..TurnSettings::default() });
    let left = agent.recover().unwrap();
    if killed.is_some() && chance.once_in(5) {
        // Killed before the leftover messages are delivered.
        return;
    }
    let life = async {
        agent.deliver_undelivered(left).await;
        let mut waiting = Vec::new();
        for n in 0..1 + chance.below(3) {
            tokio::time::sleep(Duration::from_millis(chance.below(2_000))).await;
            let name = format!("{}-{n}-{}", accepted.len(), chance.below(1 << 30));
            let said = UserMessage {
                number: 0,
                to: None,
                text: name.clone(),
                source: "chat".to_owned(),
                scope: Scope::Person,
                from: None,
                client_id: Some(name.clone()),
                attached: vault_steward::agent::attachments::Attachments::default(),
                note: None,
            };
            waiting.push(agent.send(said).await.unwrap());
            accepted.push(name);
        }
        for answered in waiting {
            answered.await.unwrap();
        }
    };
    runtime.block_on(async {
        let patience = killed.map_or(Duration::from_secs(24 * 3600), Duration::from_millis);
        let ended = tokio::time::timeout(patience, life).await;
        assert!(ended.is_ok() || killed.is_some(), "a turn never ends");
    });
}

fn judge(folder: &std::path::Path, world: &World, accepted: &[String], seed: u64) {
    let effects = world.effects.lock().unwrap();
    assert!(effects.values().all(|times| *times == 1), "seed {seed}: {effects:?}");
    let conversations = conversations(folder);
    let memory = StoredMemory::new(conversations.clone());
    let mut said = Vec::new();
    for conversation in conversations.recent(1_000).unwrap() {
        let entries = memory.entries(conversation.id).unwrap();
        said.extend(entries.iter().filter_map(|entry| match entry {
            Entry::Message { message: Message::User { .. }, .. } => Some(entry.text()),
            _ => None,
        }));
        assert!(Context::of(entries).missing().is_empty(), "seed {seed}");
        for turn in conversations.turns(conversation.id).unwrap() {
            assert_ne!(turn.state, TurnState::Running, "seed {seed}");
        }
    }
    said.sort();
    let mut accepted = accepted.to_vec();
    accepted.sort();
    assert_eq!(said, accepted, "seed {seed}: said once, kept once");
    let faults = world.faults.lock().unwrap();
    assert!(faults.is_empty(), "seed {seed}: {faults:#?}");
}

#[test]
fn the_name_of_a_message_belongs_to_the_kind_of_caller_that_gave_it() {
    let place = tempfile::tempdir().unwrap();
    let memory = StoredMemory::new(conversations(place.path()));
    let said = |scope| UserMessage {
        number: 0,
        text: "what is in my diary?".to_owned(),
        to: None,
        source: "chat".to_owned(),
        scope,
        client_id: Some("the same".to_owned()),
        attached: vault_steward::agent::attachments::Attachments::default(),
        from: None,
        note: None,
    };
    let numbers: Vec<i64> =
        Scope::ALL.into_iter().map(|scope| memory.receive(&said(scope)).unwrap().0).collect();
    let again: Vec<i64> =
        Scope::ALL.into_iter().map(|scope| memory.receive(&said(scope)).unwrap().0).collect();
    assert_eq!(numbers, again);
    let distinct: std::collections::BTreeSet<_> = numbers.iter().collect();
    assert_eq!(distinct.len(), numbers.len(), "{numbers:?}");
}

#[test]
fn an_installation_has_one_name_that_says_nothing() {
    let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let name = |folder| StoredMemory::new(conversations(folder)).installation().unwrap();
    let first = name(here.path());
    assert_eq!(name(here.path()), first, "over a restart");
    assert_ne!(name(there.path()), first);
    assert!(first.len() == 32 && first.bytes().all(|byte| byte.is_ascii_hexdigit()), "{first}");
}
