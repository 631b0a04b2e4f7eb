//! The retention of stored data, and its state after a crash.

use std::sync::{Arc, Mutex};

use vault_steward::agent::conversations::TurnEnd;
use vault_steward::agent::{
    ConversationError, ConversationEvent, ConversationSettings, Conversations,
};
use vault_steward::conversation::{ConversationId, EndKind, ItemKind, TitleOrigin, TurnState};
use vault_steward::store::Store;
use vault_steward::store::conversations::NewItem;

use crate::clock::{
    MINUTE, NOON, Set, arrive, conversations, exchange, history, item, message, to, with,
};

#[test]
fn after_1050_conversations_1000_remain_each_with_a_title() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let waiting = arrive(&open, &message("the first one asks")).unwrap();
    let end = TurnEnd { question: Some("which?".into()), ..TurnEnd::plain(TurnState::Waiting, "") };
    open.finish_turn(waiting.conversation, waiting.turn, &end).unwrap();
    for n in 2..=1050 {
        // Each opened by a client, without a message.
        let id = open.open_new("chat").unwrap().id;
        exchange(&open, &message(&format!("question number {n} about things")), "answered");
        open.end(id, EndKind::Person, "").unwrap();
    }
    let left = open.recent(2000).unwrap();
    assert_eq!(left.len(), 1000);
    assert!(left.iter().any(|one| one.id == waiting.conversation), "one that waits stays");
    for one in left.iter().filter(|one| one.id != waiting.conversation) {
        assert!(one.title.as_deref().is_some_and(|title| title.contains("question number")));
        assert!(one.summary.as_deref().is_some_and(|summary| summary.contains("answered")));
    }
    let ids: Vec<i64> = left.iter().map(|one| one.id.0).collect();
    assert_eq!((ids[0], ids[998]), (1050, 52), "the newest are kept");
    open.set_settings(ConversationSettings { kept: 10, ..Default::default() });
    assert_eq!(open.trim().unwrap(), 0);
    assert!(open.pending_deletions().unwrap().unwrap().contains("990 go after 2026-11-21 12:"));
    clock.pass(24 * 60 * MINUTE);
    assert_eq!(open.trim().unwrap(), 990);
    assert_eq!(open.clear().unwrap(), 9);
    assert_eq!(open.recent(9).unwrap().len(), 1, "what goes on is not cleared");
}

fn count(of: &Conversations) -> usize {
    of.recent(100).unwrap().len()
}

fn talk(open: &Conversations, times: usize) {
    for n in 0..times {
        let id = open.open_new("chat").unwrap().id;
        exchange(open, &message(&format!("question {n}")), "answered");
        open.end(id, EndKind::Person, "").unwrap();
    }
}

#[test]
fn a_settings_file_that_is_away_or_says_less_lets_nothing_go_for_a_day() {
    let keeps = |kept| ConversationSettings { kept, ..Default::default() };
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let start = |kept| with(folder.path(), &clock, keeps(kept));
    talk(&start(0), 12);
    // As after a start without the settings file: its limit is unknown.
    let open = start(5);
    let notice = "of the conversations 7 go after 2026-11-21 12:00, unless it keeps more by then";
    assert!(
        open.pending_deletions().unwrap().unwrap().contains(notice),
        "{:?}",
        open.pending_deletions()
    );
    clock.jump(365 * 86_400_000);
    talk(&open, 1);
    assert_eq!((open.end_idle().unwrap(), count(&open)), (0, 13), "a clock that jumps is no day");
    clock.jump(-365 * 86_400_000);
    // The file is there again, and gone again later: another day begins.
    drop(open);
    assert_eq!(start(0).pending_deletions().unwrap(), None);
    clock.pass(30 * 60 * MINUTE);
    assert_eq!(count(&start(5)), 13);
    clock.pass(23 * 60 * MINUTE);
    let open = start(5);
    assert_eq!(count(&open), 13);
    // A larger limit than before holds at once, and the requested one stays requested.
    open.set_settings(keeps(20));
    open.set_settings(keeps(6));
    clock.pass(23 * 60 * MINUTE);
    assert_eq!((open.end_idle().unwrap(), count(&open)), (0, 13));
    clock.pass(60 * MINUTE);
    open.end_idle().unwrap();
    assert_eq!(
        (count(&open), open.pending_deletions().unwrap()),
        (6, None),
        "nobody had to say a word"
    );

    // Lowered while it runs: the previous limit still holds.
    open.set_settings(keeps(2));
    talk(&open, 1);
    assert_eq!(count(&open), 6, "the seventh goes at once");
    assert!(open.pending_deletions().unwrap().unwrap().contains("4 go after"));
    clock.pass(24 * 60 * MINUTE);
    talk(&open, 1);
    assert_eq!((count(&open), open.pending_deletions().unwrap()), (2, None));
}

/// A database of an earlier version records no limit.
#[test]
fn a_database_that_knows_of_no_limit_loses_nothing_at_once() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    talk(&conversations(folder.path(), &clock), 4);
    let outside = rusqlite::Connection::open(folder.path().join("state.db")).unwrap();
    assert_eq!(outside.execute("DELETE FROM held", []).unwrap(), 1);
    let settings = ConversationSettings { kept: 3, ..Default::default() };
    let open = with(folder.path(), &clock, settings);
    assert_eq!(count(&open), 4);
    clock.pass(24 * 60 * MINUTE);
    open.end_idle().unwrap();
    assert_eq!(count(&open), 3);
}

#[test]
fn all_that_was_said_is_there_after_a_crash() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let arrived = arrive(&open, &message("do something long")).unwrap();
    let call = NewItem {
        kind: ItemKind::Assistant,
        text: "I will look".into(),
        body: Some("{\"kept\": \"as it is \u{1f980}\", \"n\": 1.50}".into()),
    };
    open.append(arrived.conversation, Some(arrived.turn), std::slice::from_ref(&call)).unwrap();
    let stored = history(&open, arrived.conversation, None).unwrap();
    // Not closed properly: the handle is leaked with its connection open, as a killed process
    // leaves it.
    std::mem::forget(open);
    let store = Store::at(folder.path());
    let clock = Set::at(NOON + 5);
    let again = vault_steward::agent::Conversations::new(
        store,
        ConversationSettings::default(),
        clock.clone() as Arc<dyn vault_steward::agent::Clock>,
    );
    let running = || again.store().conversations.turns.running().unwrap();
    assert_eq!(running(), [(arrived.conversation, arrived.turn)]);
    let cut_short = TurnEnd::plain(TurnState::Interrupted, "the steward ended");
    assert!(again.finish_turn(arrived.conversation, arrived.turn, &cut_short).unwrap());
    assert!(!again.finish_turn(arrived.conversation, arrived.turn, &cut_short).unwrap(), "once");
    assert_eq!(running(), []);
    assert_eq!(history(&again, arrived.conversation, None).unwrap(), stored);
    assert_eq!(stored[1].body, call.body, "byte for byte");
    let turns = again.turns(arrived.conversation).unwrap();
    assert_eq!((turns.len(), turns[0].state), (1, TurnState::Interrupted));
    let next = arrive(&again, &message("go on")).unwrap();
    assert_eq!(next.conversation, arrived.conversation, "nothing blocks the next turn");
}

#[test]
fn events_come_in_order_and_an_end_has_its_title() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let settings = ConversationSettings { kept: 1, ..Default::default() };
    let open = with(folder.path(), &clock, settings);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    open.subscribe(Box::new(move |event| {
        hears.lock().unwrap().push(match event {
            ConversationEvent::Began(one) => format!("began {}", one.id),
            ConversationEvent::Ended(one) => {
                assert_eq!(one.titled_by, Some(TitleOrigin::Extract));
                format!("ended {}: {}", one.id, one.title.as_deref().unwrap())
            }
            ConversationEvent::Titled(one) => format!("titled {}", one.id),
            ConversationEvent::Noted(id, _) => format!("noted {id}"),
            ConversationEvent::Decided(id) => format!("decided {id}"),
            ConversationEvent::Deleted(id) => format!("deleted {id}"),
        });
    }));
    exchange(&open, &message("one two three"), "ok");
    clock.pass(30 * MINUTE);
    exchange(&open, &message("four five six"), "ok");
    exchange(&open, &to(ConversationId(2), "seven"), "ok");
    open.end(ConversationId(2), EndKind::Person, "").unwrap();
    exchange(&open, &to(ConversationId(2), "seven"), "ok");
    assert_eq!(
        *heard.lock().unwrap(),
        [
            "began 1",
            "ended 1: one two three",
            "began 2",
            "deleted 1",
            "ended 2: four five six",
            "began 2",
        ]
    );
}

#[test]
fn what_a_model_is_given_at_the_beginning_never_changes() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let id = open.open_new("chat").unwrap().id;
    assert_eq!(open.context(id).unwrap(), None);
    assert_eq!(open.keep_context(id, "{\"system\":1}").unwrap(), "{\"system\":1}");
    assert_eq!(open.keep_context(id, "{\"system\":2}").unwrap(), "{\"system\":1}");
    drop(open);
    let open = conversations(folder.path(), &clock);
    assert_eq!(open.context(id).unwrap().as_deref(), Some("{\"system\":1}"));
    assert!(open.keep_context(ConversationId(99), "").is_err());
}

#[test]
fn a_damaged_item_is_named_and_keeps_nothing_from_ending() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let id = exchange(&open, &message("the topic of it"), "an answer").conversation;
    open.append(id, None, &[item(ItemKind::Message, "hello")]).unwrap();
    drop(open);
    // A bit flipped on the disk.
    let database = folder.path().join("state.db");
    let outside = rusqlite::Connection::open(&database).unwrap();
    outside.execute("UPDATE item SET text = 'an anSwer' WHERE text = 'an answer'", []).unwrap();
    drop(outside);
    let open = conversations(folder.path(), &clock);
    let error = history(&open, id, None).unwrap_err().to_string();
    assert!(
        error.contains("row 2 of `item`") && error.contains("not as it was written"),
        "{error}"
    );
    assert!(open.search("hello", 9).unwrap().len() == 1);
    open.end(id, EndKind::Person, "").unwrap();
    assert_eq!(open.get(id).unwrap().title.as_deref(), Some("the topic of it"));
    open.delete(id).unwrap();
    assert!(matches!(open.get(id), Err(ConversationError::NotFound { .. })));
}

#[test]
fn a_database_of_the_previous_format_is_migrated_completely() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    store.settings.set("mode", Some("ask")).unwrap();
    drop(store);
    let outside = rusqlite::Connection::open(folder.path().join("state.db")).unwrap();
    outside
        .execute_batch(
            "DROP TABLE item_text; DROP TABLE item; DROP TABLE turn; DROP TABLE branch;
             DROP TABLE conversation; DROP TABLE usage; DROP TABLE inbox; DROP TABLE item_indexed;
             DROP INDEX audit_asked; DROP TABLE held; DROP TABLE job; DROP TABLE plan;
             DROP TABLE rule_mark; DROP TABLE rule_hit; DROP TABLE enabled_rule; DROP TABLE workflow_step; DROP TABLE workflow_run;
             ALTER TABLE day ADD COLUMN versions INTEGER NOT NULL DEFAULT 0;
             ALTER TABLE day ADD COLUMN days INTEGER NOT NULL DEFAULT 0;
             PRAGMA user_version = 3;",
        )
        .unwrap();
    drop(outside);
    let clock = Set::at(NOON);
    let open = conversations(folder.path(), &clock);
    let id = exchange(&open, &message("hello there"), "hello").conversation;
    assert_eq!(open.search("there", 9).unwrap()[0].conversation.id, id);
    assert_eq!(open.store().settings.get("mode").unwrap().as_deref(), Some("ask"));
}
