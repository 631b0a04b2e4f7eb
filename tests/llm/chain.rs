//! Several models in a row, the clock held by the test.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use vault_steward::llm::chain::{Chain, RetryPolicy};
use vault_steward::llm::clock::Clock;
use vault_steward::llm::{ErrorKind, Provider, Stop, TurnEvent, Wire};

use crate::server::{Answer, Server, Step, collect, endpoint, limits, run};
use crate::streams::fixture;

/// Time that passes only by being waited out.
#[derive(Debug, Default)]
struct Still(Mutex<Duration>, Mutex<Vec<Duration>>);

impl Still {
    fn pass(&self, duration: Duration) {
        *self.0.lock().unwrap() += duration;
    }

    fn pauses(&self) -> Vec<Duration> {
        std::mem::take(&mut self.1.lock().unwrap())
    }
}

impl Clock for Still {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap()
    }

    fn sleep(&self, duration: Duration) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        self.pass(duration);
        self.1.lock().unwrap().push(duration);
        Box::pin(std::future::ready(()))
    }

    fn spread(&self) -> f64 {
        1.0
    }
}

const PATIENCE: RetryPolicy = RetryPolicy {
    retries: 2,
    max_wait: Duration::from_secs(30),
    budget: Duration::from_secs(40),
    breaker_failures: 2,
    breaker_pause: Duration::from_secs(60),
};

fn chain(servers: &[&Server]) -> (Chain, Arc<Still>) {
    let clock = Arc::new(Still::default());
    let links = servers
        .iter()
        .map(|server| Arc::new(endpoint(Wire::Chat, &server.url, limits())) as Arc<dyn Provider>);
    let clone: Arc<dyn Clock> = Arc::<Still>::clone(&clock);
    (Chain::new(links.collect(), PATIENCE, clone), clock)
}

fn good() -> Answer {
    Answer::stream(fixture(Wire::Chat, "ok"))
}

fn limited(after: &str) -> Answer {
    Answer::json(429, &json!({"error": {"code": "rate_limit_exceeded"}})).with("retry-after", after)
}

fn broken() -> Answer {
    Answer::json(500, &json!({"error": "broken"}))
}

fn agains(events: &[TurnEvent]) -> usize {
    events.iter().filter(|event| matches!(event, TurnEvent::Retry { .. })).count()
}

#[test]
fn the_vendors_own_delay_is_respected() {
    let server = Server::start(vec![limited("7"), broken(), good()]);
    let (chain, clock) = chain(&[&server]);
    let (events, turn) = run(collect(&chain));
    assert_eq!(turn.unwrap().stop, Stop::ToolUse);
    assert_eq!(agains(&events), 2);
    let pauses = clock.pauses();
    assert!(pauses[0] >= Duration::from_secs(7) && pauses[0] < Duration::from_secs(8));
    assert_eq!(pauses[1], Duration::from_secs(1), "doubled, where no delay is named");
}

#[test]
fn retries_have_a_number_and_a_budget() {
    let server = Server::start(vec![broken()]);
    let (chain, _) = chain(&[&server]);
    let (events, result) = run(collect(&chain));
    assert_eq!(result.unwrap_err().kind, ErrorKind::Overloaded);
    assert_eq!((agains(&events), server.requests().len()), (2, 3));
    // Two waits of 25 s are more than the 40 s there are.
    let server = Server::start(vec![limited("25")]);
    let (chain, _) = self::chain(&[&server]);
    let error = run(collect(&chain)).1.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_secs(25)), "the caller may wait for it");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn what_cannot_be_mended_by_asking_again_is_not_asked_again() {
    let invalid = Answer::json(400, &json!({"error": {"type": "invalid_request_error"}}));
    let (first, second) = (Server::start(vec![invalid]), Server::start(vec![good()]));
    let (chain, _) = chain(&[&first, &second]);
    assert_eq!(run(collect(&chain)).1.unwrap_err().kind, ErrorKind::InvalidRequest);
    assert_eq!((first.requests().len(), second.requests().len()), (1, 0));
}

#[test]
fn the_next_model_answers_where_one_cannot() {
    let auth = Answer::json(401, &json!({"error": "no"}));
    let quota = Answer::json(429, &json!({"error": {"type": "insufficient_quota"}}));
    let full = Answer::json(400, &json!({"error": {"code": "context_length_exceeded"}}));
    for answer in [auth, quota, full, limited("300")] {
        let (first, second) = (Server::start(vec![answer]), Server::start(vec![good()]));
        let (chain, clock) = chain(&[&first, &second]);
        let (events, turn) = run(collect(&chain));
        turn.unwrap();
        assert_eq!((agains(&events), first.requests().len()), (1, 1));
        assert!(clock.pauses().is_empty(), "the next one is asked at once");
    }
    // All fail: the last error, and the attempts before it.
    let first = Server::start(vec![Answer::json(401, &json!({"error": "no"}))]);
    let second = Server::start(vec![Answer::json(402, &json!({"error": "pay"}))]);
    let (chain, _) = chain(&[&first, &second]);
    let error = run(collect(&chain)).1.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Billing);
    assert!(error.message.contains("before: `vendor/m`: the key was refused"), "{error}");
}

#[test]
fn two_halves_of_two_answers_are_never_put_together() {
    let begun = fixture(Wire::Chat, "no_end");
    let half = Answer::steps(vec![Step::Bytes(begun), Step::Cut]);
    let (first, second) = (Server::start(vec![half.clone()]), Server::start(vec![good()]));
    let (chain, clock) = chain(&[&first, &second]);
    let (events, result) = run(collect(&chain));
    assert_eq!(result.unwrap_err().kind, ErrorKind::Network);
    // Without a fallback the same model is asked again, with the usual number of attempts and
    // pauses.
    assert_eq!((agains(&events), first.requests().len(), second.requests().len()), (2, 3, 0));
    assert_eq!(clock.pauses(), [500, 1_000].map(Duration::from_millis));
    // The partial answer is discarded, so any other model may be asked then.
    let server = Server::start(vec![half, Answer::json(401, &json!({"error": "no"}))]);
    let (chain, _) = self::chain(&[&server, &second]);
    let (events, turn) = run(collect(&chain));
    assert_eq!((agains(&events), turn.unwrap().stop), (2, Stop::ToolUse));
    // An answer with only thinking so far may be started again.
    let thought = b"data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\"}}]}\n\n".to_vec();
    let half = Answer::steps(vec![Step::Bytes(thought), Step::Cut]);
    let server = Server::start(vec![half, good()]);
    let (chain, _) = self::chain(&[&server]);
    let (events, turn) = run(collect(&chain));
    assert_eq!((agains(&events), turn.unwrap().content.len()), (1, 4));
}

#[test]
fn a_model_that_fails_is_passed_over_for_a_while_and_comes_back() {
    let mut answers = vec![broken(); 6];
    answers.push(good());
    let (first, second) = (Server::start(answers), Server::start(vec![good()]));
    let (chain, clock) = chain(&[&first, &second]);
    run(async {
        for asked in [3, 6, 6, 6] {
            collect(&chain).await.1.unwrap();
            assert_eq!(first.requests().len(), asked);
        }
        assert_eq!(second.requests().len(), 4);
        clock.pass(Duration::from_secs(61));
        collect(&chain).await.1.unwrap();
        assert_eq!((first.requests().len(), second.requests().len()), (7, 4), "it is tried again");
        collect(&chain).await.1.unwrap();
        assert_eq!(first.requests().len(), 8, "and stays the first");
    });
}

#[test]
fn the_only_model_is_asked_however_often_it_failed() {
    let server = Server::start(vec![Answer::json(401, &json!({"error": "no"}))]);
    let (chain, _) = chain(&[&server]);
    run(async {
        for asked in 1..5 {
            collect(&chain).await.1.unwrap_err();
            assert_eq!(server.requests().len(), asked);
        }
    });
}
