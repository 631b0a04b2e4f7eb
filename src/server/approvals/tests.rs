//! Questions, clients and answers, by a clock that stands still.

use std::pin::pin;

use serde_json::json;

use super::*;
use crate::server::outbox::Next;

const KEPT: Duration = Duration::from_secs(600);
const MINUTE: Patience = Patience { limit: Some(Duration::from_secs(60)), for_somebody: false };

fn asked(number: i64, call: &str) -> Asked {
    let params = serde_json::from_value(json!({
        "sessionId": "1",
        "toolCall": {"toolCallId": "1", "title": "delete `Garden`", "kind": "delete",
            "status": "pending", "locations": [], "content": []},
        "options": [],
        "_meta": {"vault": {"tool": "delete", "caller": "", "scope": "client", "reasons": [],
            "changes": [], "folder": null}},
    }));
    let (key, params) = (Key::named(call), params.unwrap());
    Asked {
        number,
        time: 0,
        personal: false,
        key,
        params,
        changes: Arc::from([]),
        kept: KEPT,
        left: None,
    }
}

/// The message that was put last.
async fn put(outbox: &Outbox) -> Value {
    let Next::Send { text, .. } = outbox.next().await else {
        panic!("nothing was put");
    };
    serde_json::from_str(&text).unwrap()
}

fn client() -> Arc<Outbox> {
    Arc::new(Outbox::new(99, 99_999))
}

fn said(by: &str, words: &str) -> Answerer {
    Answerer { words: words.to_owned(), ..Answerer::from(by) }
}

fn numbers(approvals: &Approvals) -> Vec<i64> {
    approvals.pending(None).iter().map(|one| one.number).collect()
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn while_somebody_is_shown_it_a_question_outlives_its_call_and_does_not_lapse() {
    let approvals = Approvals::default();
    let (first, later) = (client(), client());
    approvals.join(1, &first, "first");
    let begun = Instant::now();
    let (decision, _) = approvals.ask(asked(7, "a"), MINUTE).await;
    assert_eq!(decision, Decision::Pending { question: 7, shown: true });
    assert_eq!(begun.elapsed(), Duration::from_secs(60));
    let shown = put(&first).await;
    assert_eq!(shown["id"], "permission-7");
    pass(100_000).await;
    assert_eq!(numbers(&approvals), [7]);
    // Who comes later is shown the very same.
    approvals.join(2, &later, "later");
    assert_eq!(put(&later).await, shown);

    // The same call again shares it, and another one has its own.
    let mut same = pin!(approvals.ask(asked(8, "a"), MINUTE));
    let other = approvals.ask(asked(9, "b"), MINUTE);
    assert_eq!(put(&first).await["id"], "permission-9");
    drop(other);
    assert_eq!(put(&first).await["method"], "$/cancel_request");
    let waits = tokio::time::timeout(Duration::from_secs(59), &mut same).await;
    assert!(waits.is_err());
    assert_eq!(
        approvals.decide(7, "reject_once", said("later", "only\n the old ones"), None),
        Some(true)
    );
    assert_eq!(same.await, (Decision::Reject, said("later", "only the old ones")));
    assert_eq!(put(&first).await["params"]["requestId"], "permission-7");
    assert_eq!(approvals.decide(7, "allow_once", said("first", ""), None), None);
    assert!(numbers(&approvals).is_empty());
}

#[tokio::test(start_paused = true)]
async fn where_nobody_is_there_it_waits_its_time_for_somebody() {
    let approvals = Approvals::default();
    let begun = Instant::now();
    let (decision, _) = approvals.ask(asked(1, "a"), MINUTE).await;
    assert_eq!(decision, Decision::Pending { question: 1, shown: false });
    assert_eq!(begun.elapsed(), Duration::ZERO);
    pass(599).await;
    let person = client();
    approvals.join(1, &person, "chat");
    assert_eq!(put(&person).await["id"], "permission-1");
    pass(10_000).await;
    assert_eq!(numbers(&approvals), [1]);
    // Who never could be asked is nobody to leave.
    approvals.leave(2);
    approvals.leave(1);
    pass(599).await;
    assert_eq!(numbers(&approvals), [1]);
    pass(2).await;
    assert!(numbers(&approvals).is_empty());
    assert_eq!(approvals.decide(1, "allow_once", said("chat", ""), None), None);

    // A call that waits for somebody to come hears that nobody did.
    let stays = Patience { limit: None, for_somebody: true };
    let begun = Instant::now();
    assert_eq!(approvals.ask(asked(2, "a"), stays).await.0, Decision::Late);
    assert_eq!(begun.elapsed(), KEPT);
}

#[tokio::test(start_paused = true)]
async fn a_later_answer_is_good_once_in_its_time_and_for_its_own_call() {
    let approvals = Approvals::default();
    let ask = |number, call| approvals.ask(asked(number, call), MINUTE);
    let waits = |question| (Decision::Pending { question, shown: false }, Answerer::default());
    assert_eq!(ask(1, "a").await, waits(1));
    assert_eq!(ask(2, "a").await, waits(1));
    assert_eq!(
        approvals.decide(1, "allow_always", said("cli", ""), None),
        None,
        "it is not offered"
    );
    assert_eq!(approvals.decide(1, "allow_once", said("cli", ""), None), Some(false));
    pass(599).await;
    assert_eq!(ask(3, "b").await, waits(3));
    assert_eq!(ask(4, "a").await, (Decision::Once, said("cli", "")));
    assert_eq!(ask(5, "a").await, waits(5), "it was good once");

    approvals.decide(5, "allow_once", said("cli", ""), None);
    pass(601).await;
    assert_eq!(ask(6, "a").await, waits(6), "it was good for its time");
    approvals.decide(6, "reject_once", said("cli", "no"), None);
    assert_eq!(ask(7, "a").await, (Decision::Reject, said("cli", "no")));
}

#[tokio::test(start_paused = true)]
async fn a_yes_lets_one_of_the_calls_go_on_that_wait() {
    let approvals = Approvals::default();
    approvals.join(1, &client(), "chat");
    let (first, second) =
        (approvals.ask(asked(1, "a"), MINUTE), approvals.ask(asked(2, "a"), MINUTE));
    assert_eq!(approvals.decide(1, "allow_once", said("chat", ""), None), Some(true));
    assert_eq!(first.await, (Decision::Anew, Answerer::default()));
    assert_eq!(second.await, (Decision::Once, said("chat", "")));
    assert_eq!(
        approvals.ask(asked(3, "a"), MINUTE).await.0,
        Decision::Pending { question: 3, shown: true }
    );
}

#[tokio::test(start_paused = true)]
async fn callers_of_one_kind_cannot_fill_the_table_for_others() {
    let approvals = Approvals::default();
    for number in 1..=32 {
        approvals.ask(asked(number, &number.to_string()), MINUTE).await;
    }
    assert_eq!(approvals.ask(asked(33, "33"), MINUTE).await.0, Decision::Crowded);
    let mut other = asked(34, "34");
    other.params.meta.vault.scope = "mcp".to_owned();
    assert_eq!(
        approvals.ask(other, MINUTE).await.0,
        Decision::Pending { question: 34, shown: false }
    );
}
