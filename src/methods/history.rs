//! A page of a conversation: forwards from its beginning, or backwards from its end.

use std::path::Path;

use serde_json::Value;

use super::events::set_info;
use super::replay::Replay;
use super::{info, session_updates};
use crate::agent::toolbox::turn_name;
use crate::conversation::{Item, Turn, TurnId};
use crate::journal::Journal;
use crate::protocol::conversations::{ConversationParams, ItemInfo};
use crate::protocol::events::ChangeSetInfo;
use crate::protocol::session::SessionUpdate;

/// The most items of a page from the end.
const MAX_ITEMS: usize = 500;
/// Bytes that surround each text in the answer.
const AROUND: usize = 300;
/// Bytes of a call's arguments that are sent uncut.
const ARGUMENTS: usize = 100_000;

/// One page of a conversation.
#[derive(Debug, Default)]
pub struct Page {
    pub items: Vec<ItemInfo>,
    /// Whether later items remain.
    pub more: bool,
    /// Whether items precede the page.
    pub earlier: bool,
    /// The turns of the items, in order.
    pub turns: Vec<TurnId>,
}

/// The items of a branch that `params` selects, in an answer of about `most` bytes, but at least
/// one item. `turns` are the conversation's; `root` is the vault's folder, used to report paths.
pub fn page(
    items: Vec<Item>,
    turns: &[Turn],
    params: &ConversationParams,
    most: u64,
    root: &Path,
) -> Page {
    let number = |item: &Item| u64::try_from(item.number.0).unwrap_or(0);
    let before = params.before.unwrap_or(u64::MAX);
    let first = items.iter().map(number).min();
    let fits = |item: &Item| number(item) > params.after && number(item) < before;
    let most_items = params.last.map_or(usize::MAX, |last| (last as usize).clamp(1, MAX_ITEMS));
    let replay = params.updates.then(|| {
        let replayed = items.iter().rev().filter(|item| fits(item)).take(most_items);
        Replay::new(&items, turns, root, replayed)
    });
    let selected: Vec<Item> = items.into_iter().filter(fits).collect();
    let turn_of = |item: &Item| item.turn;
    let with_updates = |item: Item| {
        let updates = replay.as_ref().map(|replay| updates(&item, replay)).unwrap_or_default();
        let turn = turn_of(&item);
        let info = ItemInfo { updates, ..info::item_info(item) };
        (turn, info)
    };
    let mut page = Page::default();
    let mut room = most;
    let mut take = |item: Item, page: &mut Page| {
        let (turn, info) = with_updates(item);
        let size = size(&info);
        if size > room && !page.items.is_empty() {
            return false;
        }
        room = room.saturating_sub(size);
        page.items.push(info);
        page.turns.extend(turn);
        true
    };
    match params.last {
        None => page.more = selected.into_iter().any(|item| !take(item, &mut page)),
        Some(_) => {
            for item in selected.into_iter().rev().take(most_items) {
                if !take(item, &mut page) {
                    break;
                }
            }
            page.items.reverse();
            page.turns.reverse();
        }
    }
    page.turns.dedup();
    let shown = page.items.first().map_or(before, |item| item.item);
    page.earlier = first.is_some_and(|first| first < shown);
    page
}

/// The change sets of these turns, oldest first.
pub fn changes(journal: &Journal, conversation: &str, turns: &[TurnId]) -> Vec<ChangeSetInfo> {
    let set = |turn: &TurnId| match journal
        .history()
        .change_set_of_turn(&turn_name(conversation, turn))
    {
        Ok(set) => set.map(|set| set_info(&set)),
        Err(error) => {
            tracing::warn!(%error, "the changes of a turn cannot be listed");
            None
        }
    };
    turns.iter().filter_map(set).collect()
}

fn updates(item: &Item, replay: &Replay<'_>) -> Vec<SessionUpdate> {
    let mut updates = replay.updates(item).unwrap_or_else(|error| {
        tracing::warn!(%error, item = %item.number, "an item is sent as plain text only");
        Vec::new()
    });
    for update in &mut updates {
        if let SessionUpdate::ToolCall { raw_input, .. } = update
            && raw_input.to_string().len() > ARGUMENTS
        {
            shorten(raw_input);
        }
    }
    updates
}

/// Cuts long texts in a value, so that one call does not fill a whole answer.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(session_updates::SHOWN) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(values) => values.values_mut().for_each(shorten),
        _ => {}
    }
}

/// The size of an item in an answer: its text with JSON escapes, and its surroundings.
fn size(item: &ItemInfo) -> u64 {
    let updates = match item.updates.as_slice() {
        [] => 0,
        updates => serde_json::to_string(updates).map_or(0, |text| text.len()),
    };
    (2 * item.text.len() + updates + AROUND) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{BranchId, ConversationId, ItemKind, ItemNumber};

    fn items(texts: &[&str]) -> Vec<Item> {
        let item = |(at, text): (usize, &&str)| Item {
            number: ItemNumber(at as i64 + 3),
            conversation: ConversationId(1),
            turn: Some(TurnId(at as i64 / 2 + 1)),
            branch: BranchId(1),
            time: 0,
            kind: ItemKind::User,
            text: (*text).to_owned(),
            body: None,
        };
        texts.iter().enumerate().map(item).collect()
    }

    fn numbers(params: &ConversationParams, most: u64) -> (Vec<u64>, bool, bool) {
        let page = page(items(&["a", "b", "c", "d", "e"]), &[], params, most, Path::new("/v"));
        (page.items.iter().map(|item| item.item).collect(), page.more, page.earlier)
    }

    #[test]
    fn it_goes_forwards_from_the_beginning_and_backwards_from_the_end() {
        let ask = |after, before, last| ConversationParams {
            after,
            before,
            last,
            ..ConversationParams::default()
        };
        let all = 1 << 20;
        assert_eq!(numbers(&ask(0, None, None), all), (vec![3, 4, 5, 6, 7], false, false));
        assert_eq!(numbers(&ask(5, None, None), all), (vec![6, 7], false, true));
        assert_eq!(numbers(&ask(0, None, None), 700), (vec![3, 4], true, false));
        assert_eq!(numbers(&ask(0, None, Some(2)), all), (vec![6, 7], false, true));
        assert_eq!(numbers(&ask(0, Some(6), Some(2)), all), (vec![4, 5], false, true));
        assert_eq!(numbers(&ask(0, Some(4), Some(2)), all), (vec![3], false, false));
        assert_eq!(numbers(&ask(0, Some(3), Some(2)), all), (vec![], false, false));
        // With little room at least one item is returned, and paging reaches the end.
        assert_eq!(numbers(&ask(0, None, Some(5)), 1), (vec![7], false, true));
        assert_eq!(numbers(&ask(0, Some(7), Some(5)), 1), (vec![6], false, true));
    }

    #[test]
    fn a_long_argument_is_cut_and_a_short_one_stays() {
        let mut value = serde_json::json!({ "path": "a.md", "content": ["x".repeat(50_000)] });
        shorten(&mut value);
        assert_eq!(value["path"], "a.md");
        let cut = value["content"][0].as_str().unwrap();
        assert!(cut.ends_with("x…") && cut.chars().count() == session_updates::SHOWN + 1);
    }
}
