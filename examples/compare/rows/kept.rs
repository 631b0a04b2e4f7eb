//! Stored conversations: one more message, and the list of a thousand.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use tempfile::TempDir;
use vault_steward::agent::clock::SystemClock;
use vault_steward::agent::conversations::TurnEnd;
use vault_steward::agent::{ConversationSettings, Conversations};
use vault_steward::conversation::{EndKind, ItemKind, TurnState};
use vault_steward::methods::conversations::StoredConversations;
use vault_steward::policy::Scope;
use vault_steward::protocol::conversations::{
    SessionListMeta, SessionListParams, SessionListVaultMeta,
};
use vault_steward::store::Store;
use vault_steward::store::conversations::NewItem;

use super::Ground;
use crate::daemon::{Daemon, Home};
use crate::report::{Page, Row};
use crate::timing::{Contender, Times, side_by_side};

/// A person's conversations after a year or two, and their items.
const CONVERSATIONS: usize = 1_000;
const ITEMS: usize = 40;

fn item(text: String) -> NewItem {
    NewItem { kind: ItemKind::Message, text, body: None }
}

fn kept(state: &Path) -> Conversations {
    let settings = ConversationSettings { kept: 0, ..ConversationSettings::default() };
    Conversations::new(Store::at(state), settings, Arc::new(SystemClock::default()))
}

/// One more message, durable, compared with the least that a durable write costs on this disk.
///
/// # Errors
///
/// The disk failed.
pub fn append(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let state = TempDir::with_prefix_in("state-", ground.scratch)?;
    let mut append = appending(state.path())?;
    let mut floor = File::create(state.path().join("floor"))?;
    let block = [b'x'; 4_096];
    let times = side_by_side(
        vec![
            Contender::new("append", 10, &mut append),
            Contender::new("floor", 10, || {
                let begun = Instant::now();
                floor.write_all(&block)?;
                floor.sync_data()?;
                Ok(begun.elapsed())
            }),
        ],
        ground.rounds.max(10),
    )?;
    let (append, floor) = (times[0].1.median(), times[1].1.median());
    let row = Row::new("append a message durably, in the process", 0);
    page.add(row.within(append, floor, "4 KB written and `fdatasync`", 1.2));
    Ok(())
}

/// The cost of one more message in a conversation stored in `state`.
///
/// # Errors
/// The disk failed.
pub fn appending(state: &Path) -> Result<impl FnMut() -> Result<Duration> + use<>> {
    let kept = kept(state);
    // Like a daemon that has been running for some seconds.
    kept.store().database.preallocate_log();
    let open = kept.open_new("bench")?.id;
    let said = [item("one more line of an answer".into())];
    Ok(move || {
        let begun = Instant::now();
        kept.append(open, None, &said)?;
        Ok(begun.elapsed())
    })
}

/// Lists a thousand conversations, in the process and over the socket.
///
/// # Errors
/// The daemon failed.
pub fn list(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let home = Home::new(ground.scratch)?;
    fill(ground, &home)?;
    in_process(&kept(&home.state()?), ground, page)?;
    starts(ground, &home, page)?;
    let daemon = served(ground, &home)?;
    let mut client = daemon.client()?;
    let (mut times, mut pages) = (Times::default(), 0);
    for round in 0..=ground.rounds * 3 {
        let (mut cursor, mut listed) = (None::<String>, 0);
        let mut took = Duration::ZERO;
        pages = 0;
        loop {
            let mut asked = whole_list();
            if let Some(cursor) = &cursor {
                asked["cursor"] = json!(cursor);
            }
            let answer = client.ask("session/list", &asked)?;
            took += answer.took;
            let result = answer.result()?;
            pages += 1;
            listed += result["sessions"].as_array().map_or(0, Vec::len);
            cursor = result["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() || listed >= CONVERSATIONS {
                break;
            }
        }
        anyhow::ensure!(listed >= CONVERSATIONS, "only {listed} conversations were listed");
        if round > 0 {
            times.add(took);
        }
    }
    let pages = if pages == 1 { "1 page".to_owned() } else { format!("{pages} pages") };
    let what = format!("list {CONVERSATIONS} conversations over the socket, {pages}");
    page.add(Row::new(what, 0).alone(times.median(), "ms", 1.5));
    Ok(())
}

/// The time of a start with this many, compared with one without any.
fn starts(ground: &Ground<'_>, home: &Home, page: &mut Page) -> Result<()> {
    let empty = Home::new(ground.scratch)?;
    let start = |home: &Home| Ok(Daemon::start(ground.steward, &ground.vault, home)?.ready);
    // The first starts have more to do: the daily copy, the saved index.
    start(home)?;
    start(&empty)?;
    let times = side_by_side(
        vec![
            Contender::new("kept", 1, || start(home)),
            Contender::new("none", 1, || start(&empty)),
        ],
        ground.rounds,
    )?;
    let (kept, none) = (times[0].1.median(), times[1].1.median());
    let row = Row::new(format!("start to ready with {CONVERSATIONS} conversations kept"), 0);
    page.add(row.within(kept, none, "with none", 1.0).told());
    Ok(())
}

/// The request for a thousand conversations at once.
pub fn whole_list() -> Value {
    json!({"_meta": {"vault": {"limit": CONVERSATIONS}}})
}

/// A daemon with a thousand conversations, and its folders.
///
/// # Errors
///
/// The daemon failed.
pub fn with_conversations(ground: &Ground<'_>) -> Result<(Home, Daemon)> {
    let home = Home::new(ground.scratch)?;
    fill(ground, &home)?;
    let daemon = served(ground, &home)?;
    Ok((home, daemon))
}

fn served(ground: &Ground<'_>, home: &Home) -> Result<Daemon> {
    let daemon = Daemon::start(ground.steward, &ground.vault, home)?;
    daemon.rest();
    Ok(daemon)
}

/// Stores a thousand conversations where the daemon of this vault and these folders finds them.
fn fill(ground: &Ground<'_>, home: &Home) -> Result<()> {
    // The daemon creates its state folder, which shows its path.
    drop(Daemon::start(ground.steward, &ground.vault, home)?);
    let kept = kept(&home.state()?);
    let had = kept.recent(CONVERSATIONS as u32)?.len();
    for number in had..CONVERSATIONS {
        let said = item(format!("please look after the garden plan number {number}"));
        let arrived = kept.arrive(&said, "bench", None)?;
        let items = (0..ITEMS - 1)
            .map(|m| item(format!("{number} {m} {}", "quiet harbour words ".repeat(20))));
        let end = TurnEnd { items: items.collect(), ..TurnEnd::plain(TurnState::Done, "") };
        kept.finish_turn(arrived.conversation, arrived.turn, &end)?;
        kept.end(arrived.conversation, EndKind::Person, "")?;
    }
    Ok(())
}

/// The same list with its JSON, without a socket: read, converted, written.
fn in_process(kept: &Conversations, ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let folder = ground.vault.to_string_lossy().into_owned();
    let kept = StoredConversations::new(kept.clone(), folder);
    let limit = u32::try_from(CONVERSATIONS).ok();
    let meta = Some(SessionListMeta { vault: Some(SessionListVaultMeta { limit }) });
    let params = SessionListParams { meta, ..SessionListParams::default() };
    let mut times = Times::default();
    for round in 0..=ground.rounds * 3 {
        let begun = Instant::now();
        let listed = kept.list(&params, Scope::Person, u64::MAX);
        let listed = listed.map_err(|error| anyhow::anyhow!("{}", error.message))?;
        std::hint::black_box(serde_json::to_string(&listed)?);
        if round > 0 {
            times.add(begun.elapsed());
        }
        anyhow::ensure!(listed.sessions.len() >= CONVERSATIONS, "not all were listed");
    }
    let what = format!("list {CONVERSATIONS} conversations as JSON, in the process");
    page.add(Row::new(what, 0).alone(times.median(), "ms", 1.5));
    Ok(())
}
