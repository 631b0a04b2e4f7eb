//! Faults of servers, through real sockets.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_json::json;
use vault_steward::llm::settings::Limits;
use vault_steward::llm::{ErrorKind, Item, LlmError, Provider, Stop, TurnEvent, Wire};

use crate::server::{Answer, Server, Step, ask, collect, endpoint, limits, request, run};
use crate::streams::fixture;

const WIRES: [Wire; 4] = [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini];

fn failure(wire: Wire, answer: Answer) -> LlmError {
    ask(wire, answer).1.unwrap_err()
}

#[test]
fn a_whole_answer_comes_in_any_pieces() {
    for wire in WIRES {
        let steps = fixture(wire, "ok").chunks(7).map(|part| Step::Bytes(part.to_vec())).collect();
        let (events, turn) = ask(wire, Answer::steps(steps).with("request-id", "req_1"));
        let turn = turn.unwrap();
        assert_eq!(turn.stop, Stop::ToolUse, "{wire:?}");
        assert_eq!(turn.request_id.as_deref(), Some("req_1"));
        assert!(events.iter().any(|event| matches!(event, TurnEvent::Text { .. })));
    }
}

#[test]
fn refusals_by_status_keep_what_the_vendor_says() {
    let limited =
        json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}});
    let error = failure(Wire::Anthropic, Answer::json(429, &limited).with("retry-after", "7"));
    assert_eq!(
        (error.kind, error.retry_after),
        (ErrorKind::RateLimit, Some(Duration::from_secs(7)))
    );
    assert_eq!((error.status, error.message.as_str()), (Some(429), "slow"));
    assert_eq!(error.to_string(), "`vendor/m`: too many requests (429): slow");

    let both = Answer::json(429, &limited).with("retry-after", "7").with("retry-after-ms", "1500");
    assert_eq!(failure(Wire::Responses, both).retry_after, Some(Duration::from_millis(1_500)));
    let google = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m",
        "details": [{"retryDelay": "34.07s"}]}});
    let error = failure(Wire::Gemini, Answer::json(429, &google));
    assert_eq!(error.retry_after, Some(Duration::from_millis(34_070)));

    let quota = json!({"error": {"type": "insufficient_quota", "code": "insufficient_quota"}});
    let error = failure(Wire::Responses, Answer::json(429, &quota).with("x-should-retry", "true"));
    assert_eq!((error.kind, error.retry_same()), (ErrorKind::Billing, false));

    let busy = json!({"type": "error", "error": {"type": "overloaded_error", "message": "m"}});
    let error = failure(Wire::Anthropic, Answer::json(529, &busy).with("x-should-retry", "false"));
    assert_eq!((error.kind, error.retry_same()), (ErrorKind::Overloaded, false));

    let auth = json!({"error": {"code": "invalid_api_key", "message": "Incorrect API key"}});
    let error = failure(Wire::Chat, Answer::json(401, &auth));
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(error.hint().unwrap().contains("steward key set vendor"));

    let full = json!({"error": {"type": "exceed_context_size_error", "code": 400,
        "message": "the request exceeds the available context size", "n_ctx": 4096}});
    assert_eq!(failure(Wire::Chat, Answer::json(400, &full)).kind, ErrorKind::ContextLength);
}

#[test]
fn an_unstreamed_answer_is_read_where_servers_send_one() {
    let whole = json!({"id": "c1", "object": "chat.completion", "choices": [{"index": 0,
        "message": {"role": "assistant", "content": "<think>so</think>Hello", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "list_tags", "arguments": "{}"}}]},
        "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}});
    let (events, turn) = ask(Wire::Chat, Answer::json(200, &whole));
    let turn = turn.unwrap();
    assert_eq!((turn.stop, turn.content.len()), (Stop::ToolUse, 3));
    assert_eq!(turn.usage.unwrap().output, 4);
    assert!(
        events
            .iter()
            .any(|event| matches!(event, TurnEvent::Text { delta, .. } if delta == "Hello"))
    );
    let error = failure(Wire::Chat, Answer::json(200, &json!({"message": "no such route"})));
    assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
}

#[test]
fn a_body_that_is_not_a_stream_is_an_error() {
    let page = |status| {
        let mut answer = Answer::stream(b"<!doctype html><p>Bad gateway".to_vec());
        answer.status = status;
        answer.headers = vec![("content-type", "text/html; charset=utf-8".to_owned())];
        answer
    };
    for wire in WIRES {
        let error = failure(wire, page(502));
        assert_eq!(error.kind, ErrorKind::Overloaded, "{wire:?}");
        assert_eq!(error.message, "the server answered with an HTML page");
        assert_eq!(failure(wire, page(200)).kind, ErrorKind::Protocol, "{wire:?}");
        // An error with status 200, and an answer that was not streamed.
        let said = json!({"error": {"type": "server_error", "message": "sorry"}});
        let error = failure(wire, Answer::json(200, &said));
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Overloaded, "sorry"));
        let whole = json!({"choices": [{"message": {"content": "hi"}}]});
        let answered = ask(wire, Answer::json(200, &whole)).1;
        if wire == Wire::Chat {
            assert_eq!(answered.unwrap().content.len(), 1);
        } else {
            let error = answered.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Protocol);
            assert!(error.message.contains("did not answer with a stream"), "{error}");
        }
        assert_eq!(failure(wire, Answer::stream(Vec::new())).kind, ErrorKind::Truncated);
    }
}

#[test]
fn a_broken_connection_is_an_error_after_the_received_events() {
    for wire in WIRES {
        assert_eq!(failure(wire, Answer::refused()).kind, ErrorKind::Network, "{wire:?}");
        let begun = fixture(wire, "no_end");
        let cut = vec![Step::Bytes(begun.clone()), Step::Cut];
        let (events, result) = ask(wire, Answer::steps(cut));
        let error = result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Network, "{wire:?} {error}");
        assert_eq!(error.detail.partial.len(), 1, "{wire:?}");
        assert!(events.iter().any(|event| matches!(event, TurnEvent::Text { .. })));
        assert_eq!(failure(wire, Answer::stream(begun)).kind, ErrorKind::Truncated);
    }
    // An address without a listener.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{gone}/v1");
    let error = run(collect(&endpoint(Wire::Chat, &url, limits()))).1.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Network);
    assert!(error.hint().unwrap().contains("base_url"), "{error}");
}

#[test]
fn silence_ends_a_turn_and_slowness_does_not() {
    let short = Limits { stall: Duration::from_millis(400), ..limits() };
    let begun = fixture(Wire::Chat, "no_end");
    let server = Server::start(vec![Answer::steps(vec![Step::Bytes(begun), Step::Hang])]);
    let (_, result) = run(collect(&endpoint(Wire::Chat, &server.url, short)));
    let error = result.unwrap_err();
    assert_eq!((error.kind, error.detail.partial.len()), (ErrorKind::Timeout, 1));
    server.left();

    let short = Limits { first_byte: Duration::from_millis(300), ..limits() };
    let server = Server::start(vec![Answer::steps(vec![Step::Hang])]);
    let (_, result) = run(collect(&endpoint(Wire::Chat, &server.url, short)));
    let error = result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.contains("first byte"), "{error}");

    // In total longer than any limit, but each piece in time; a comment counts as a piece.
    let limit = Duration::from_millis(2_000);
    let slow = Limits { first_byte: limit, stall: limit, ..limits() };
    let mut steps = Vec::new();
    for _ in 0..20 {
        steps
            .extend([Step::Bytes(b": wait\n\n".to_vec()), Step::Pause(Duration::from_millis(100))]);
    }
    steps.push(Step::Bytes(fixture(Wire::Chat, "ok")));
    let server = Server::start(vec![Answer::steps(steps)]);
    let (_, result) = run(collect(&endpoint(Wire::Chat, &server.url, slow)));
    assert_eq!(result.unwrap().stop, Stop::ToolUse);
}

#[test]
fn dropping_a_turn_closes_its_connection_at_once() {
    let begun = fixture(Wire::Anthropic, "no_end");
    let server = Server::start(vec![Answer::steps(vec![Step::Bytes(begun), Step::Hang])]);
    let endpoint = endpoint(Wire::Anthropic, &server.url, limits());
    run(async {
        let mut stream = endpoint.stream(request());
        while !matches!(stream.next().await, Some(Ok(Item::Event(TurnEvent::Text { .. })))) {}
        drop(stream);
        let dropped = Instant::now();
        // The connection's own task closes it; it needs the runtime to continue.
        let left = tokio::task::spawn_blocking(move || server.left()).await.unwrap();
        // A few milliseconds on an idle machine; no limit ends it sooner.
        let took = left.saturating_duration_since(dropped);
        assert!(took < Duration::from_secs(2), "{took:?}");
    });
}

#[test]
fn dropping_a_turn_before_its_first_byte_closes_its_connection_too() {
    let server = Server::start(vec![Answer::steps(vec![Step::Hang])]);
    let endpoint = endpoint(Wire::Gemini, &server.url, limits());
    run(async {
        let mut stream = endpoint.stream(request());
        // Until the server has the request.
        while server.requests().is_empty() {
            let waited = tokio::time::timeout(Duration::from_millis(10), stream.next()).await;
            assert!(waited.is_err(), "there is nothing to come");
        }
        drop(stream);
        tokio::task::spawn_blocking(move || server.left()).await.unwrap();
    });
}

#[test]
fn an_answer_that_never_ends_is_cut_at_its_limit() {
    let text = "x".repeat(10_000);
    let piece = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let steps = (0..20).map(|_| Step::Bytes(piece.clone().into_bytes())).chain([Step::Hang]);
    let server = Server::start(vec![Answer::steps(steps.collect())]);
    let small = Limits { answer: 50_000, ..limits() };
    let (_, result) = run(collect(&endpoint(Wire::Chat, &server.url, small)));
    assert_eq!(result.unwrap_err().kind, ErrorKind::TooLarge);
    server.left();
}

#[test]
fn a_connection_is_used_again_after_a_whole_answer() {
    for wire in WIRES {
        let server = Server::start(vec![Answer::stream(fixture(wire, "ok"))]);
        let endpoint = endpoint(wire, &server.url, limits());
        let is_again = run(async {
            for _ in 0..50 {
                collect(&endpoint).await.1.unwrap();
                let requests = server.requests();
                if requests.last().is_some_and(|last| last.connection + 1 < requests.len()) {
                    return true;
                }
                // The end of an answer is read by a separate task, which must get a chance to run.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            false
        });
        assert!(is_again, "{wire:?}");
    }
}
