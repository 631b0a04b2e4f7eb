//! Editing an earlier message: the previous continuation is kept as another branch.

use vault_steward::agent::{ConversationError, Conversations};
use vault_steward::conversation::{BranchId, ConversationId, EndKind, ItemNumber};

use crate::clock::{NOON, Set, arrive, conversations, exchange, history, message, to};

fn said(open: &Conversations, id: ConversationId) -> Vec<String> {
    history(open, id, None).unwrap().into_iter().map(|item| item.text).collect()
}

fn said_in(open: &Conversations, id: ConversationId, branch: i64) -> Vec<String> {
    let items = history(open, id, Some(BranchId(branch))).unwrap();
    items.into_iter().map(|item| item.text).collect()
}

#[test]
fn a_branch_continues_before_the_message_and_the_old_one_stays() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let id = exchange(&open, &message("a"), "1").conversation;
    let second = exchange(&open, &message("b"), "2").item;
    exchange(&open, &message("c"), "3");
    assert_eq!(open.fork(id, second).unwrap(), BranchId(2));
    assert_eq!(said(&open, id), ["a", "1"]);
    let edited = exchange(&open, &to(id, "B"), "4").item;
    assert_eq!(said(&open, id), ["a", "1", "B", "4"]);
    assert_eq!(said_in(&open, id, 1), ["a", "1", "b", "2", "c", "3"]);
    // A branch of the branch, and one from a message of the first branch.
    assert_eq!(open.fork(id, edited).unwrap(), BranchId(3));
    exchange(&open, &to(id, "BB"), "5");
    assert_eq!(said(&open, id), ["a", "1", "BB", "5"]);
    assert_eq!(open.fork(id, ItemNumber(1)).unwrap(), BranchId(4));
    exchange(&open, &to(id, "A"), "6");
    assert_eq!(said(&open, id), ["A", "6"]);
    open.fork(id, ItemNumber(1)).unwrap();
    assert!(exchange(&open, &to(id, "A"), "6").began, "nothing was said before it");
    let branches = open.branches(id).unwrap();
    let shape: Vec<_> = branches
        .iter()
        .map(|branch| {
            (branch.number.0, branch.parent.map(|(parent, item)| (parent.0, item.0)), branch.items)
        })
        .collect();
    assert_eq!(
        shape,
        [
            (1, None, 6),
            (2, Some((1, 3)), 2),
            (3, Some((2, 7)), 2),
            (4, Some((1, 1)), 2),
            (5, Some((1, 1)), 2)
        ]
    );
    drop(open);
    let open = conversations(folder.path(), &clock);
    assert_eq!(said(&open, id), ["A", "6"], "also after a restart");
    open.switch(id, BranchId(1)).unwrap();
    assert_eq!(said(&open, id), ["a", "1", "b", "2", "c", "3"]);
    assert!(matches!(open.switch(id, BranchId(9)), Err(ConversationError::NoBranch { .. })));
    assert!(matches!(
        open.branch_with_gaps(id, BranchId(9)),
        Err(ConversationError::NoBranch { .. })
    ));
}

#[test]
fn only_messages_of_the_person_can_be_edited_and_only_while_it_is_quiet() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let first = exchange(&open, &message("a"), "1");
    let id = first.conversation;
    for item in [2, 3, 99] {
        let error = open.fork(id, ItemNumber(item)).unwrap_err();
        assert!(matches!(error, ConversationError::NoMessage { .. }), "{error}");
    }
    open.end(id, EndKind::Person, "").unwrap();
    open.fork(id, first.item).unwrap();
    assert!(open.get(id).unwrap().ended.is_none(), "it goes on");
    assert_eq!(open.current().unwrap().unwrap().id, id);
    let turn = arrive(&open, &to(id, "A")).unwrap();
    let error = open.fork(id, turn.item).unwrap_err();
    assert!(matches!(error, ConversationError::TurnRuns { .. }), "{error}");
    assert!(open.fork(ConversationId(99), first.item).is_err());
}
