//! Where one conversation ends and the next begins.

use std::time::Duration;

use vault_steward::agent::conversations::TurnEnd;
use vault_steward::agent::{ConversationError, ConversationSettings, Conversations};
use vault_steward::conversation::{
    ConversationId, ConversationState, EndKind, ItemKind, Shown, TurnState,
};
use vault_steward::store::conversations::NewItem;

use crate::clock::{
    MINUTE, NOON, Set, arrive, conversations, exchange, history, message, to, with,
};

const DAY: i64 = 86_400_000;

#[test]
fn a_message_within_the_idle_time_belongs_to_the_conversation() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let first = exchange(&open, &message("sort my notes"), "done");
    assert!(first.began && first.ended.is_none());
    clock.pass(30 * MINUTE - Duration::from_secs(1));
    let second = exchange(&open, &message("and the rest"), "done");
    assert_eq!((second.conversation, second.began), (first.conversation, false));
    clock.pass(30 * MINUTE);
    let third = exchange(&open, &message("something else"), "done");
    assert!(third.began);
    assert_eq!(third.ended, Some(first.conversation));
    let over = open.get(first.conversation).unwrap();
    assert_eq!((over.state(), over.ended.unwrap().kind), (ConversationState::Ended, EndKind::Idle));
    assert_eq!(over.title.as_deref(), Some("sort my notes"));
}

#[test]
fn a_wall_clock_that_jumps_parts_nothing() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let first = exchange(&open, &message("one"), "ok");
    for jump in [DAY, -3 * DAY, 400 * DAY] {
        clock.jump(jump);
        clock.pass(MINUTE);
        let next = exchange(&open, &message("two"), "ok");
        assert_eq!(next.conversation, first.conversation, "after a jump of {jump}");
    }
    // Idle time counts, although the wall clock was set back in the meantime.
    clock.pass(30 * MINUTE);
    clock.jump(-DAY);
    assert_ne!(exchange(&open, &message("three"), "ok").conversation, first.conversation);
}

#[test]
fn a_restart_goes_by_the_wall_clock_and_never_below_nothing() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let first = exchange(&conversations(folder.path(), &clock), &message("one"), "ok");
    let again = Set::at(NOON + 29 * 60_000);
    let open = conversations(folder.path(), &again);
    // After the start a jump has no effect.
    again.jump(DAY);
    again.pass(Duration::from_secs(59));
    assert_eq!(exchange(&open, &message("two"), "ok").conversation, first.conversation);
    drop(open);
    // The wall clock was set back while nothing ran: messages from the future count as sent just
    // now.
    let back = Set::at(NOON - 5 * DAY);
    let open = conversations(folder.path(), &back);
    assert_eq!(exchange(&open, &message("three"), "ok").conversation, first.conversation);
    drop(open);
    let later = Set::at(NOON - 5 * DAY + 30 * 60_000);
    let open = conversations(folder.path(), &later);
    assert_ne!(exchange(&open, &message("four"), "ok").conversation, first.conversation);
}

#[test]
fn a_question_waits_for_an_hour_and_through_a_restart() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let ask = |open: &vault_steward::agent::Conversations| {
        let arrived = arrive(open, &message("delete it")).unwrap();
        let end = TurnEnd {
            question: Some("Which one?".into()),
            ..TurnEnd::plain(TurnState::Waiting, "")
        };
        assert_eq!(open.get(arrived.conversation).unwrap().shown(), Shown::Working);
        open.finish_turn(arrived.conversation, arrived.turn, &end).unwrap();
        arrived.conversation
    };
    let first = ask(&open);
    drop(open);
    let clock = Set::at(NOON + 40 * 60_000);
    let open = conversations(folder.path(), &clock);
    assert_eq!(open.get(first).unwrap().shown(), Shown::Waiting);
    let answered = exchange(&open, &message("the second"), "ok");
    assert_eq!(answered.conversation, first);
    assert_eq!(answered.answers.unwrap().question, "Which one?");
    assert_eq!(open.get(first).unwrap().shown(), Shown::Done);
    assert_eq!(ask(&open), first);
    clock.pass(60 * MINUTE);
    assert_eq!(open.get(first).unwrap().shown(), Shown::Done, "stale");
    let next = exchange(&open, &message("hello"), "ok");
    assert_eq!((next.ended, next.answers), (Some(first), None));
    assert_eq!(open.get(first).unwrap().ended.unwrap().kind, EndKind::Unanswered);
}

#[test]
fn a_message_goes_where_it_is_sent_and_one_turn_is_at_work() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let old = exchange(&open, &message("one"), "ok").conversation;
    clock.pass(60 * MINUTE);
    let new = exchange(&open, &message("two"), "ok").conversation;
    assert_ne!(old, new);
    let turn = arrive(&open, &to(old, "back to one")).unwrap();
    assert_eq!((turn.conversation, turn.began), (old, false));
    assert!(open.get(old).unwrap().ended.is_none(), "it goes on");
    let busy = arrive(&open, &to(old, "and?")).unwrap_err();
    assert!(matches!(busy, ConversationError::TurnRuns { id } if id == old), "{busy}");
    assert_eq!(history(&open, old, None).unwrap().len(), 3, "nothing was recorded");
    assert!(matches!(open.end(old, EndKind::Person, ""), Err(ConversationError::TurnRuns { .. })));
    assert!(matches!(open.delete(old), Err(ConversationError::TurnRuns { .. })));
    let end = TurnEnd::plain(TurnState::Cancelled, "withdrawn");
    assert!(open.finish_turn(old, turn.turn, &end).unwrap());
    assert!(!open.finish_turn(old, turn.turn, &end).unwrap(), "it ends once");
    assert_eq!(open.current().unwrap().unwrap().id, old);
}

#[test]
fn what_the_model_ends_ends_with_its_turn_in_it() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let arrived = arrive(&open, &message("that was all, thanks")).unwrap();
    let end = TurnEnd {
        ends: Some("the task is done".into()),
        question: Some("never asked".into()),
        ..TurnEnd::plain(TurnState::Done, "")
    };
    open.finish_turn(arrived.conversation, arrived.turn, &end).unwrap();
    let over = open.get(arrived.conversation).unwrap();
    let ended = over.ended.clone().unwrap();
    assert_eq!((ended.kind, &*ended.reason), (EndKind::Agent, "the task is done"));
    assert_eq!(over.title.as_deref(), Some("that was all, thanks"));
    assert!(over.waiting.is_none());
    assert!(open.current().unwrap().is_none());
    assert!(arrive(&open, &message("next")).unwrap().began);
}

#[test]
fn a_message_after_the_end_starts_a_new_conversation() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let mut open = conversations(folder.path(), &clock);
    let first = exchange(&open, &message("a"), "ok").conversation;
    let gone: [fn(&Conversations, ConversationId); 3] = [
        |open, id| assert!(open.end(id, EndKind::Person, "").unwrap()),
        |open, id| open.delete(id).unwrap(),
        |open, id| {
            open.end(id, EndKind::Person, "").unwrap();
            open.clear().unwrap();
        },
    ];
    for gone in gone {
        open.open_new("chat").unwrap();
        let second = exchange(&open, &message("b"), "ok").conversation;
        assert_ne!(first, second);
        gone(&open, second);
        assert_eq!(open.current().unwrap(), None);
        // Nor does a restart.
        open = conversations(folder.path(), &clock);
        assert_eq!(open.current().unwrap(), None);
        let third = exchange(&open, &message("c"), "ok").conversation;
        assert!(third != first && third != second);
        assert!(open.get(first).unwrap().ended.is_none(), "it is open still");
        open.end(third, EndKind::Person, "").unwrap();
        // A restart changes nothing.
        open = conversations(folder.path(), &clock);
        assert_eq!(open.current().unwrap(), None);
    }
    // If a message names it, it continues and becomes the current one.
    exchange(&open, &to(first, "d"), "ok");
    assert_eq!(exchange(&open, &message("e"), "ok").conversation, first);
}

#[test]
fn a_turn_at_work_elsewhere_draws_no_message_to_itself() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let turn = arrive(&open, &message("something long")).unwrap();
    let new = open.open_new("chat").unwrap().id;
    let item = NewItem { kind: ItemKind::Assistant, text: "I am at it".into(), body: None };
    open.append(turn.conversation, Some(turn.turn), &[item]).unwrap();
    assert_eq!(arrive(&open, &message("something else")).unwrap().conversation, new);
}

#[test]
fn an_idle_conversation_ends_without_a_message() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let old = exchange(&open, &message("one"), "ok").conversation;
    let empty = open.open_new("cli").unwrap().id;
    let fresh = open.open_new("chat").unwrap().id;
    assert_eq!(open.open_new("chat").unwrap().id, fresh, "one that is empty is taken again");
    clock.pass(29 * MINUTE);
    assert_eq!(open.end_idle().unwrap(), 0);
    clock.pass(MINUTE);
    assert_eq!(open.end_idle().unwrap(), 2);
    assert!(open.get(old).unwrap().ended.is_some());
    assert!(matches!(open.get(empty), Err(ConversationError::NotFound { .. })), "nothing was said");
    assert_eq!(open.current().unwrap().unwrap().id, fresh, "a client has just opened it");
    assert_eq!(exchange(&open, &message("hello"), "ok").conversation, fresh);
}

#[test]
fn without_an_idle_time_only_people_end_one() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let settings = ConversationSettings { idle_minutes: 0, ..Default::default() };
    let open = with(folder.path(), &clock, settings);
    let first = exchange(&open, &message("one"), "ok").conversation;
    clock.pass(100_000 * MINUTE);
    assert_eq!(exchange(&open, &message("two"), "ok").conversation, first);
    open.end(first, EndKind::Person, "enough").unwrap();
    assert!(!open.end(first, EndKind::Person, "").unwrap(), "it ends once");
    assert_eq!(open.get(first).unwrap().ended.unwrap().reason, "enough");
}
