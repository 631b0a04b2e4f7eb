//! Thousands of lives of the agent, in simulated time.

use std::sync::Arc;
use std::time::Duration;

use vault_steward::agent::context::Context;
use vault_steward::agent::entry::{Entry, UserMessage};
use vault_steward::agent::{Agent, Ports, TurnSettings};
use vault_steward::conversation::ConversationId;
use vault_steward::llm::Message;
use vault_steward::policy::Scope;

use crate::chance::Chance;
use crate::world::{Chooses, Conversation, Nowhere, Remembers, Tools, Watches, World};

/// The seeds of one of the four parts, which run in parallel.
const SEEDS: u64 = 2_600;

#[test]
fn lives_of_the_first_part() {
    (0..SEEDS).for_each(live);
}

#[test]
fn lives_of_the_second_part() {
    (SEEDS..SEEDS * 2).for_each(live);
}

#[test]
fn lives_of_the_third_part() {
    (SEEDS * 2..SEEDS * 3).for_each(live);
}

#[test]
fn lives_of_the_fourth_part() {
    (SEEDS * 3..SEEDS * 4).for_each(live);
}

/// `SEED=17 TALE=1 cargo test --test agent one_life -- --nocapture` prints what happens in one
/// life.
#[test]
fn one_life() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    live(seed.unwrap_or(0));
}

/// One life: several starts, all but the last cut short.
fn live(seed: u64) {
    let world = Arc::new(World::default());
    *world.chance.lock().unwrap() = Some(Chance::new(seed));
    let mut chance = Chance::new(seed ^ 0xa5a5_5a5a);
    world.kept.lock().unwrap().fails = chance.once_in(4);
    let crashes = chance.below(3);
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    for _ in 0..crashes {
        let after = if chance.once_in(2) { chance.below(400) } else { chance.below(8_000) };
        run(&world, &mut chance, (&mut accepted, &mut refused), Some(after));
    }
    world.kept.lock().unwrap().fails &= chance.once_in(2);
    run(&world, &mut chance, (&mut accepted, &mut refused), None);
    judge(&world, &accepted, &refused, seed);
}

/// One run of the program, until it ends or is killed after this many milliseconds.
fn run(
    world: &Arc<World>,
    chance: &mut Chance,
    (accepted, refused): (&mut Vec<String>, &mut Vec<String>),
    killed: Option<u64>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let ports = Ports {
        memory: Box::new(Remembers(Arc::clone(world))),
        models: Box::new(Chooses(Arc::clone(world))),
        toolbox: Box::new(Tools(Arc::clone(world))),
        audience: Box::new(Watches(Arc::clone(world))),
        place: Arc::new(Nowhere),
    };
    let settings = TurnSettings { rounds: 6, calls: 20, minutes: 2, ..TurnSettings::default() };
    let agent = Agent::new(ports, settings);
    // What cannot be repaired now is repaired at the next turn.
    if killed.is_some() && chance.once_in(4) {
        // Killed in the middle of the repair.
        world.kept.lock().unwrap().dies_after = Some(chance.below(6));
        let _ = agent.recover();
        world.kept.lock().unwrap().dies_after = None;
        return;
    }
    let left = agent.recover().unwrap_or_default();
    if killed.is_some() && chance.once_in(6) {
        // Killed before the leftover messages are delivered.
        return;
    }
    let life = async {
        let mut waiting = Vec::new();
        let mut earlier: Option<UserMessage> = None;
        agent.deliver_undelivered(left).await;
        for n in 0..1 + chance.below(3) {
            tokio::time::sleep(Duration::from_millis(chance.below(3_000))).await;
            let name = format!("{}-{n}-{}", accepted.len(), chance.below(1 << 30));
            let said = UserMessage {
                number: 0,
                to: None,
                text: name.clone(),
                source: "chat".to_owned(),
                scope: if chance.once_in(3) { Scope::Voice } else { Scope::Person },
                from: None,
                client_id: Some(name.clone()),
                attached: vault_steward::agent::attachments::Attachments::default(),
                note: None,
            };
            let kept = world.kept.lock().unwrap().conversations.len() as i64;
            let to = match chance.below(4) {
                0 if kept > 0 => Some(ConversationId(1 + chance.below(kept as u64) as i64)),
                // A conversation that does not exist.
                1 if chance.once_in(4) => Some(ConversationId(kept + 50)),
                _ => None,
            };
            let said = UserMessage { to, ..said };
            if let Ok(answered) = agent.send(said.clone()).await {
                accepted.push(name);
                waiting.push(answered);
            } else {
                refused.push(name);
            }
            if let Some(earlier) = earlier.take().filter(|_| chance.once_in(2)) {
                // Sent again much later, when its turn is over or ending.
                let name = earlier.text.clone();
                if let Ok(answered) = agent.send(UserMessage { to: None, ..earlier }).await {
                    accepted.push(name);
                    waiting.push(answered);
                }
            }
            if chance.once_in(4) {
                // Sent again, by a client that lost its connection.
                if let Ok(answered) = agent.send(said.clone()).await {
                    accepted.push(said.text.clone());
                    waiting.push(answered);
                }
            }
            earlier = Some(said);
            if chance.once_in(3) {
                tokio::time::sleep(Duration::from_millis(chance.below(2_000))).await;
                let last = world.kept.lock().unwrap().conversations.len();
                if let Ok(id) = last.to_string().parse() {
                    agent.cancel(id);
                }
            }
        }
        for answered in waiting {
            // However it ends, it must end.
            let _ = answered.await;
        }
        // So must what an earlier run left, although nobody waits for it any more. Between two
        // turns a conversation is idle for a moment.
        let mut at_rest = 0;
        while at_rest < 3 {
            let kept = world.kept.lock().unwrap().conversations.len() as i64;
            let works = (1..=kept).any(|id| agent.is_working(ConversationId(id)));
            at_rest = if works { 0 } else { at_rest + 1 };
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    runtime.block_on(async {
        match killed {
            Some(after) => {
                let _ = tokio::time::timeout(Duration::from_millis(after), life).await;
            }
            None => {
                let patience = Duration::from_secs(24 * 3600);
                if tokio::time::timeout(patience, life).await.is_err() {
                    let kept = world.kept.lock().unwrap();
                    let all: Vec<_> = kept.conversations.iter().map(described).collect();
                    let (turns, inbox) = (&kept.turns, &kept.inbox);
                    world.fault(format!("a turn never ends: {all:#?} {turns:?} {inbox:?}"));
                }
            }
        }
    });
    // All running tasks end with it.
    drop(runtime);
}

fn judge(world: &World, accepted: &[String], refused: &[String], seed: u64) {
    for (call, times) in &*world.effects.lock().unwrap() {
        if *times > 1 {
            world.fault(format!("the call {call} was made {times} times"));
        }
    }
    let kept = world.kept.lock().unwrap();
    for name in accepted {
        let said = kept.conversations.iter().flat_map(|one| &one.entries).filter(|entry| {
            matches!(entry, Entry::Message { message: Message::User { .. }, .. })
                && entry.text() == *name
        });
        let times = said.count();
        let is_waiting = kept.inbox.iter().any(|(said, turn)| said.text == *name && turn.is_none());
        // With a failing disk it may still wait in the inbox for the next start.
        if times != 1 && !(times == 0 && is_waiting && kept.has_failed) {
            world.fault(format!("`{name}` was said once and kept {times} times"));
        }
    }
    for name in refused {
        let is_kept = kept.conversations.iter().flat_map(|one| &one.entries).any(|entry| {
            matches!(entry, Entry::Message { message: Message::User { .. }, .. })
                && entry.text() == *name
        });
        // With a failing disk nobody can say whether it is stored.
        if is_kept && !kept.has_failed && !accepted.contains(name) {
            world.fault(format!("`{name}` was refused and heard"));
        }
    }
    for one in &kept.conversations {
        let context = Context::of(one.opening.iter().chain(&one.entries).cloned());
        if !kept.has_failed && (one.running.is_some() || !context.missing().is_empty()) {
            world.fault("a turn is left open");
        }
        let calls = one.entries.iter().map(|entry| match entry {
            Entry::Message { message: Message::Assistant { content, .. }, .. } => {
                content.iter().filter(|block| block.call().is_some()).count()
            }
            _ => 0,
        });
        let results = one.entries.iter().filter(|entry| matches!(entry, Entry::Result { .. }));
        let (calls, results) = (calls.sum::<usize>(), results.count());
        if results > calls || (!kept.has_failed && results < calls) {
            world.fault(format!("{calls} calls have {results} results: {}", described(one)));
        }
    }
    let faults = world.faults.lock().unwrap();
    assert!(faults.is_empty(), "seed {seed}: {faults:#?}");
}

/// A conversation in a few words.
fn described(one: &Conversation) -> String {
    let word = |entry: &Entry| match entry {
        Entry::Message { message: Message::Assistant { content, .. }, .. } => {
            let ids = content.iter().filter_map(|block| Some(block.call()?.id.as_str()));
            format!("answer {:?}", ids.collect::<Vec<_>>())
        }
        Entry::Result { result, .. } => format!("result {}", result.call_id),
        entry => entry.text().chars().take(60).collect(),
    };
    one.entries.iter().map(word).collect::<Vec<_>>().join("\n")
}
