//! The whole daemon is killed under load, two hundred times, and started again.
//!
//! One client changes the vault as the model says, another writes notes of its own, a third
//! searches. After the kill the next daemon recovers; the vault is then exactly as after the last
//! acknowledged change, or as after the one in progress.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::child::Plan;
use crate::door::Client;
use crate::place;
use crate::random::{self, Random};
use crate::report::{self, Line, Tally};
use crate::support::{Daemon, Home};
use crate::tree::{self, Entry, Tree};

const KILLS: u64 = 200;

/// Kills per vault, before a new one is used.
const KILLS_OF_ONE: u64 = 20;

/// The folder of the second client; the model's client never uses it.
const SECOND: &str = "Second";

/// The notes the second client writes, in turn.
const SECOND_NOTES: u64 = 3;

pub fn run() -> Vec<Line> {
    let tally = Tally::new("kills of the daemon under load", KILLS);
    let acknowledged = AtomicU64::new(0);
    let seed = random::seed();
    report::each(tally.wanted().div_ceil(KILLS_OF_ONE), &tally, |vault| {
        let vault_seed = seed.wrapping_add(vault << 32);
        if let Err(fault) = one_vault(vault_seed, &tally, &acknowledged) {
            tally.bad(format!("seed {vault_seed}: {fault}"));
        }
    });
    let acknowledged = acknowledged.into_inner();
    vec![tally.line(format!("{acknowledged} changes acknowledged"))]
}

fn one_vault(seed: u64, tally: &Tally, acknowledged: &AtomicU64) -> Result<(), String> {
    let home = Home::within(place::folder_in_memory());
    let vault = home.path("vaults").join("Notes");
    std::fs::create_dir_all(vault.join(".obsidian")).expect("made");
    std::fs::write(vault.join(".obsidian/app.json"), r#"{"trashOption":"local"}"#)
        .expect("written");
    std::fs::create_dir(vault.join(SECOND)).expect("made");
    let mut daemon = home.serve(&vault);
    let token = home.run_in(&vault, &["token"]).expect(0).stdout.trim_end().to_owned();
    for kill in 1..=KILLS_OF_ONE {
        let mut random = Random::new(seed.wrapping_add(kill));
        let mut plan = Plan::on(own(&tree::read(&vault)), random.next(), kill * 10_000);
        let first = load(&mut daemon, &token, &mut plan, kill, &mut random)?;
        acknowledged.fetch_add(first.done + first.second, Ordering::Relaxed);
        daemon = home.serve(&vault);
        first.check(&tree::read(&vault), &plan).map_err(|fault| format!("kill {kill}: {fault}"))?;
        tally.count(1);
    }
    Ok(())
}

/// The changes acknowledged before the daemon died.
struct Acknowledged {
    before: Tree,
    /// Changes of the model's client that were acknowledged.
    done: u64,
    /// Acknowledged writes of the second client.
    second: u64,
    /// The prefix of its texts.
    kill: u64,
}

/// Three clients at work until the daemon is killed.
fn load(
    daemon: &mut Daemon,
    token: &str,
    plan: &mut Plan,
    kill: u64,
    random: &mut Random,
) -> Result<Acknowledged, String> {
    let port = daemon.port();
    let connect = || {
        let mut client = Client::connect(port, token).expect("the daemon lets us in");
        client.initialize();
        client
    };
    let (mut model, mut writer, mut reader) = (connect(), connect(), connect());
    let (done, second) = (AtomicU64::new(0), AtomicU64::new(0));
    let enough = 1 + random.below(30) as u64;
    let moment = Duration::from_micros(random.below(3_000) as u64);
    std::thread::scope(|scope| {
        let planned = scope.spawn(|| -> Result<Tree, String> {
            loop {
                let before = plan.tree().clone();
                let (operation, refused) = plan.next();
                let (tool, arguments) = operation.call();
                let Some(answer) = call(&mut model, tool, arguments) else { return Ok(before) };
                if (answer["isError"] == true) != refused {
                    return Err(format!("{operation:?}: {answer}"));
                }
                done.fetch_add(1, Ordering::SeqCst);
            }
        });
        scope.spawn(|| {
            for number in 1.. {
                let path = format!("{SECOND}/{}.md", number % SECOND_NOTES);
                let text = second_text(kill, number);
                let write = json!({ "path": path, "content": text, "create": true });
                match call(&mut writer, "write_file", write) {
                    Some(answer) if answer["isError"] != true => {}
                    _ => break,
                }
                second.store(number, Ordering::SeqCst);
            }
        });
        scope.spawn(|| {
            let search = json!({ "pattern": "line" });
            while call(&mut reader, "search_files", search.clone()).is_some() {}
        });
        while done.load(Ordering::SeqCst) < enough && !planned.is_finished() {
            std::thread::yield_now();
        }
        // Any moment will do.
        std::thread::sleep(moment);
        daemon.kill();
        let before = planned.join().expect("it ends")?;
        Ok(before)
    })
    .map(|before| Acknowledged {
        before,
        done: done.into_inner(),
        second: second.into_inner(),
        kill,
    })
}

fn call(client: &mut Client, tool: &str, arguments: Value) -> Option<Value> {
    // A person approves everything: limits are tested elsewhere.
    let agreed = json!({ "vault": { "confirmed": true } });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": agreed });
    Some(client.call_if_there("tools/call", params)?["result"].take())
}

/// The part of the vault that the model's client uses.
fn own(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    tree.retain(|path, _| !Path::new(path).starts_with(SECOND));
    tree
}

fn second_text(kill: u64, number: u64) -> String {
    format!("{kill}.{number}\n").repeat(200)
}

impl Acknowledged {
    /// Whether `found` is as after the last change, or as after the one in progress, which `plan`
    /// has already applied.
    fn check(&self, found: &Tree, plan: &Plan) -> Result<(), String> {
        let (before, after, found_own) = (&self.before, plan.tree(), own(found));
        let same =
            |one: &Tree| tree::without_empty_trash(one) == tree::without_empty_trash(&found_own);
        if !same(before) && !same(after) {
            return Err(format!(
                "after {} acknowledged changes, what differs from before the one under way: {}; \
                 from after it: {}",
                self.done,
                tree::difference(before, &found_own),
                tree::difference(after, &found_own)
            ));
        }
        for note in 0..SECOND_NOTES {
            // The newest acknowledged text of this note, and the one in progress.
            let newest = (1..=self.second).rev().find(|number| number % SECOND_NOTES == note);
            let Some(newest) = newest else { continue };
            let path = format!("{SECOND}/{note}.md");
            let text = |number| Entry::File(second_text(self.kill, number).into_bytes());
            let under_way = self.second + 1;
            let there = found.get(&path);
            let fits = there == Some(&text(newest))
                || (under_way % SECOND_NOTES == note && there == Some(&text(under_way)));
            if !fits {
                return Err(format!("`{path}` holds neither text {newest} nor {under_way}"));
            }
        }
        Ok(())
    }
}
