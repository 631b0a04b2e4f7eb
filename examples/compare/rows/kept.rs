//! What is kept of conversations: one more message, and the list of a thousand.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use tempfile::TempDir;
use vault_steward::agent::clock::SystemClock;
use vault_steward::agent::conversations::TurnEnd;
use vault_steward::agent::{ConversationSettings, Conversations, Message};
use vault_steward::conversation::{EndKind, ItemKind, TurnState};
use vault_steward::store::Store;
use vault_steward::store::conversations::NewItem;

use super::Ground;
use crate::report::{Page, Row};
use crate::timing::{Contender, Times, side_by_side};

/// Conversations of a person after a year or two, and what was said in each.
const CONVERSATIONS: usize = 1_000;
const ITEMS: usize = 40;

fn item(text: String) -> NewItem {
    NewItem { kind: ItemKind::Message, text, body: None }
}

fn kept(state: &std::path::Path) -> Conversations {
    let settings = ConversationSettings { kept: 0, ..ConversationSettings::default() };
    Conversations::new(Store::at(state), settings, Arc::new(SystemClock::default()))
}

/// One more message, durable, beside the least that a durable write costs on this disk.
///
/// # Errors
/// The disk failed.
pub fn append(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let state = TempDir::with_prefix_in("state-", ground.scratch)?;
    let kept = kept(state.path());
    let open = kept.open_new("bench")?.id;
    let mut floor = File::create(state.path().join("floor"))?;
    let block = [b'x'; 4_096];
    let said = [item("one more line of an answer".into())];
    let times = side_by_side(
        vec![
            Contender::new("append", 10, || {
                let begun = Instant::now();
                kept.append(open, None, &said)?;
                Ok(begun.elapsed())
            }),
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

/// Lists a thousand conversations over the socket, page by page.
///
/// # Errors
/// The daemon failed.
pub fn list(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    // The daemon says where its own folder is by making it.
    drop(ground.serve()?);
    let kept = kept(&ground.home.state()?);
    let had = kept.recent(CONVERSATIONS as u32)?.len();
    for number in had..CONVERSATIONS {
        let message = Message {
            text: format!("please look after the garden plan number {number}"),
            body: None,
            source: "bench".into(),
            conversation: None,
        };
        let arrived = kept.arrive(&message)?;
        let items = (0..ITEMS - 1)
            .map(|m| item(format!("{number} {m} {}", "quiet harbour words ".repeat(20))));
        let end = TurnEnd { items: items.collect(), ..TurnEnd::plain(TurnState::Done, "") };
        kept.finish_turn(arrived.conversation, arrived.turn, &end)?;
        kept.end(arrived.conversation, EndKind::Person, "")?;
    }
    drop(kept);
    let daemon = ground.serve()?;
    let mut client = daemon.client()?;
    let (mut times, mut pages) = (Times::default(), 0);
    for round in 0..=ground.rounds * 3 {
        let (mut cursor, mut listed) = (None::<String>, 0);
        let mut took = Duration::ZERO;
        pages = 0;
        loop {
            let asked = match &cursor {
                Some(cursor) => json!({"cursor": cursor}),
                None => json!({}),
            };
            let answer = client.ask("session/list", &asked)?;
            took += answer.took;
            let result = answer.result()?;
            pages += 1;
            listed += result["sessions"].as_array().map_or(0, Vec::len);
            cursor = result["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        anyhow::ensure!(listed >= CONVERSATIONS, "only {listed} conversations were listed");
        if round > 0 {
            times.add(took);
        }
    }
    let what = format!("list {CONVERSATIONS} conversations over the socket, {pages} pages");
    page.add(Row::new(what, 0).alone(times.median(), "ms", 1.5));
    Ok(())
}
