//! Requests, clients and answers, with a paused clock.

use std::pin::pin;

use serde_json::json;

use super::*;
use crate::server::outbox::Next;

const EXPIRY: Duration = Duration::from_secs(600);
const MINUTE: WaitPolicy = WaitPolicy { limit: Some(Duration::from_secs(60)), for_somebody: false };

fn request(number: i64, call: &str) -> NewRequest {
    let params = serde_json::from_value(json!({
        "sessionId": "1",
        "toolCall": {"toolCallId": "1", "title": "delete `Garden`", "kind": "delete",
            "status": "pending", "locations": [], "content": []},
        "options": [],
        "_meta": {"vault": {"tool": "delete", "caller": "", "scope": "client", "reasons": [],
            "changes": [], "folder": null}},
    }));
    let (key, params) = (Key::named(call), params.unwrap());
    NewRequest {
        number,
        time: 0,
        personal: false,
        key,
        params,
        changes: Arc::from([]),
        expiry: EXPIRY,
        unanswered: None,
    }
}

async fn last(outbox: &Outbox) -> Value {
    let Next::Send { text, .. } = outbox.next().await else {
        panic!("no message");
    };
    serde_json::from_str(&text).unwrap()
}

fn client() -> Arc<Outbox> {
    Arc::new(Outbox::new(99, 99_999))
}

fn answerer(by: &str, words: &str) -> Answerer {
    Answerer { words: words.to_owned(), ..Answerer::from(by) }
}

fn numbers(approvals: &Approvals) -> Vec<i64> {
    approvals.pending(None).iter().map(|one| one.number).collect()
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_shown_request_outlives_its_call_and_does_not_expire() {
    let approvals = Approvals::default();
    let (first, later) = (client(), client());
    approvals.join(1, &first, "first");
    let started = Instant::now();
    let (decision, _) = approvals.ask(request(7, "a"), MINUTE).await;
    assert_eq!(decision, Decision::Pending { question: 7, shown: true });
    assert_eq!(started.elapsed(), Duration::from_secs(60));
    let shown = last(&first).await;
    assert_eq!(shown["id"], "permission-7");
    pass(100_000).await;
    assert_eq!(numbers(&approvals), [7]);
    // A later client gets the same message.
    approvals.join(2, &later, "later");
    assert_eq!(last(&later).await, shown);

    // The same call again shares it, and another one has its own.
    let mut same = pin!(approvals.ask(request(8, "a"), MINUTE));
    let other = approvals.ask(request(9, "b"), MINUTE);
    assert_eq!(last(&first).await["id"], "permission-9");
    drop(other);
    assert_eq!(last(&first).await["method"], "$/cancel_request");
    let waits = tokio::time::timeout(Duration::from_secs(59), &mut same).await;
    assert!(waits.is_err());
    assert_eq!(
        approvals.decide(7, "reject_once", answerer("later", "only\n the old ones"), None),
        Some(true)
    );
    assert_eq!(same.await, (Decision::Reject, answerer("later", "only the old ones")));
    assert_eq!(last(&first).await["params"]["requestId"], "permission-7");
    assert_eq!(approvals.decide(7, "allow_once", answerer("first", ""), None), None);
    assert!(numbers(&approvals).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_no_client_shows_waits_until_it_expires() {
    let approvals = Approvals::default();
    let started = Instant::now();
    let (decision, _) = approvals.ask(request(1, "a"), MINUTE).await;
    assert_eq!(decision, Decision::Pending { question: 1, shown: false });
    assert_eq!(started.elapsed(), Duration::ZERO);
    pass(599).await;
    let person = client();
    approvals.join(1, &person, "chat");
    assert_eq!(last(&person).await["id"], "permission-1");
    pass(10_000).await;
    assert_eq!(numbers(&approvals), [1]);
    // A client that never joined changes nothing.
    approvals.leave(2);
    approvals.leave(1);
    pass(599).await;
    assert_eq!(numbers(&approvals), [1]);
    pass(2).await;
    assert!(numbers(&approvals).is_empty());
    assert_eq!(approvals.decide(1, "allow_once", answerer("chat", ""), None), None);

    // A call that waits for a client gets an error that none connected.
    let stays = WaitPolicy { limit: None, for_somebody: true };
    let started = Instant::now();
    assert_eq!(approvals.ask(request(2, "a"), stays).await.0, Decision::Late);
    assert_eq!(started.elapsed(), EXPIRY);
}

#[tokio::test(start_paused = true)]
async fn a_stored_answer_is_valid_once_until_it_expires_and_for_its_call() {
    let approvals = Approvals::default();
    let ask = |number, call| approvals.ask(request(number, call), MINUTE);
    let waits = |question| (Decision::Pending { question, shown: false }, Answerer::default());
    assert_eq!(ask(1, "a").await, waits(1));
    assert_eq!(ask(2, "a").await, waits(1));
    assert_eq!(
        approvals.decide(1, "allow_always", answerer("cli", ""), None),
        None,
        "it is not offered"
    );
    assert_eq!(approvals.decide(1, "allow_once", answerer("cli", ""), None), Some(false));
    pass(599).await;
    assert_eq!(ask(3, "b").await, waits(3));
    assert_eq!(ask(4, "a").await, (Decision::Once, answerer("cli", "")));
    assert_eq!(ask(5, "a").await, waits(5), "it was valid once");

    approvals.decide(5, "allow_once", answerer("cli", ""), None);
    pass(601).await;
    assert_eq!(ask(6, "a").await, waits(6), "it has expired");
    approvals.decide(6, "reject_once", answerer("cli", "no"), None);
    assert_eq!(ask(7, "a").await, (Decision::Reject, answerer("cli", "no")));
}

#[tokio::test(start_paused = true)]
async fn an_approval_is_for_one_of_the_waiting_calls() {
    let approvals = Approvals::default();
    approvals.join(1, &client(), "chat");
    let (first, second) =
        (approvals.ask(request(1, "a"), MINUTE), approvals.ask(request(2, "a"), MINUTE));
    assert_eq!(approvals.decide(1, "allow_once", answerer("chat", ""), None), Some(true));
    assert_eq!(first.await, (Decision::JudgeAgain, Answerer::default()));
    assert_eq!(second.await, (Decision::Once, answerer("chat", "")));
    assert_eq!(
        approvals.ask(request(3, "a"), MINUTE).await.0,
        Decision::Pending { question: 3, shown: true }
    );
}

#[tokio::test(start_paused = true)]
async fn one_scope_cannot_use_up_the_pending_requests_of_others() {
    let approvals = Approvals::default();
    for number in 1..=32 {
        approvals.ask(request(number, &number.to_string()), MINUTE).await;
    }
    assert_eq!(approvals.ask(request(33, "33"), MINUTE).await.0, Decision::Crowded);
    let mut other = request(34, "34");
    other.params.meta.vault.scope = "mcp".to_owned();
    assert_eq!(
        approvals.ask(other, MINUTE).await.0,
        Decision::Pending { question: 34, shown: false }
    );
}
