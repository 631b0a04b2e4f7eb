//! The stored state of a voice message after each commit of its turn.

use std::sync::Arc;

use vault_steward::agent::clock::SystemClock;
use vault_steward::agent::{ConversationSettings, Conversations, DeliveryResult, TurnEnd};
use vault_steward::conversation::{ItemKind, TurnState};
use vault_steward::store::Store;
use vault_steward::store::conversations::NewItem;
use vault_steward::store::inbox::{InboxState, NewMessage, VOICE};

fn conversations(folder: &std::path::Path) -> Conversations {
    let clock = Arc::new(SystemClock::default());
    Conversations::new(Store::at(folder), ConversationSettings::default(), clock)
}

fn item(kind: ItemKind, text: &str) -> NewItem {
    NewItem { kind, text: text.to_owned(), body: None }
}

fn said(text: &str) -> NewItem {
    item(ItemKind::User, text)
}

/// Stores a spoken message and takes it; returns its number.
fn take(conversations: &Conversations, name: &str) -> i64 {
    let store = conversations.store();
    let new =
        NewMessage { source: VOICE, message: name, text: "add milk", body: None, received: 1 };
    store.inbox.receive(&new).unwrap();
    store.inbox.take(VOICE).unwrap().unwrap().id
}

#[test]
fn an_answered_message_stays_answered_though_its_conversation_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    for (state, is_done) in [
        (TurnState::Done, true),
        (TurnState::Waiting, true),
        (TurnState::Cancelled, true),
        (TurnState::Failed, false),
        (TurnState::Interrupted, false),
    ] {
        let open = conversations(folder.path());
        let number = take(&open, state.word());
        let DeliveryResult::Arrived(begun) =
            open.arrive_received(&said("add milk"), "voice", None, number).unwrap()
        else {
            panic!("it is new")
        };
        open.finish_turn(begun.conversation, begun.turn, &TurnEnd::plain(state, "")).unwrap();
        open.delete(begun.conversation).unwrap();
        // As after a kill: only committed data is left.
        let store = Store::at(folder.path());
        assert_eq!(store.inbox.release_all(VOICE).unwrap(), usize::from(!is_done), "{state:?}");
        let kept = store.inbox.get(number).unwrap();
        let expected = if is_done { InboxState::Answered } else { InboxState::New };
        assert_eq!(kept.state, expected, "{state:?}");
        assert_eq!(store.inbox.take(VOICE).unwrap().is_none(), is_done, "{state:?}");
        store.inbox.settle(number, InboxState::Done, None, "").unwrap();
    }
}

#[test]
fn resuming_a_message_answers_no_question() {
    let folder = tempfile::tempdir().unwrap();
    let open = conversations(folder.path());
    let number = take(&open, "1");
    let DeliveryResult::Arrived(begun) =
        open.arrive_received(&said("add milk"), "voice", None, number).unwrap()
    else {
        panic!("it is new")
    };
    let id = begun.conversation;
    open.finish_turn(id, begun.turn, &TurnEnd::plain(TurnState::Interrupted, "")).unwrap();
    // In the meantime someone types there, and is asked something.
    let typed = open.arrive(&said("plan my day"), "chat", None).unwrap();
    assert_eq!(typed.conversation, id);
    let asks = TurnEnd {
        question: Some("which day?".to_owned()),
        ..TurnEnd::plain(TurnState::Waiting, "")
    };
    open.finish_turn(id, typed.turn, &asks).unwrap();
    let gone_on = open.resume(&item(ItemKind::Notice, "go on"), id, number).unwrap();
    let waits = || {
        let found = open.recent(1).unwrap().remove(0);
        found.waiting.map(|waiting| waiting.question)
    };
    assert_eq!(waits().as_deref(), Some("which day?"));
    open.finish_turn(id, gone_on.turn, &TurnEnd::plain(TurnState::Done, "")).unwrap();
    assert_eq!(waits().as_deref(), Some("which day?"));
    let answer = open.arrive(&said("tomorrow"), "chat", None).unwrap();
    assert_eq!(answer.answers.map(|waiting| waiting.question).as_deref(), Some("which day?"));
    assert_eq!(waits(), None);
}
