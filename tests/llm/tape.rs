//! Recording and replaying of requests.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use vault_steward::llm::chain::RetryPolicy;
use vault_steward::llm::clock::SystemClock;
use vault_steward::llm::tape::{Tape, TapeError};
use vault_steward::llm::{
    Chain, ErrorKind, Item, LlmError, Message, Provider, Turn, TurnEvent, TurnRequest, Wire,
};

use crate::server::{Answer, KEY, Server, Step, collect, endpoint, limits, run};
use crate::streams::fixture;

const WIRES: [Wire; 4] = [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini];

type Heard = (Vec<TurnEvent>, Result<Turn, LlmError>);

/// Sends a request to a server that answers so, and then to the recording of that.
fn both(wire: Wire, answers: Vec<Answer>, folder: &Path) -> (Heard, Heard) {
    let server = Server::start(answers);
    let tape = Tape::record(folder).unwrap();
    let recorded = tape.around(Arc::new(endpoint(wire, &server.url, limits())));
    let live = run(collect(&*recorded));
    let player = Tape::replay(folder).unwrap().player().unwrap();
    (live, run(collect(&*player)))
}

/// The events, without the random ids of calls that have none.
fn without_ids(heard: &Heard) -> String {
    let mut rest = format!("{heard:#?}");
    let mut text = String::new();
    while let Some(at) = rest.find("local_") {
        text.push_str(&rest[..at]);
        rest.replace_range(..at + "local_".len() + 12, "");
    }
    text + &rest
}

fn file(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("00001.json")).unwrap()
}

#[test]
fn every_stream_is_played_back_as_it_was_in_its_own_pieces() {
    let mut played = 0;
    for wire in WIRES {
        let word = format!("{wire:?}").to_lowercase();
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/llm").join(word);
        for entry in std::fs::read_dir(all).unwrap() {
            let name = entry.unwrap().path();
            let name = name.file_stem().unwrap().to_str().unwrap().to_owned();
            let bytes = fixture(wire, &name);
            let steps = bytes.chunks(61).map(|part| Step::Bytes(part.to_vec())).collect();
            let place = tempfile::tempdir().unwrap();
            let answer = Answer::steps(steps).with("request-id", "req_1");
            let (live, replayed) = both(wire, vec![answer], place.path());
            assert_eq!(without_ids(&replayed), without_ids(&live), "{wire:?} {name}");
            // Every byte that was read is in it.
            let recorded: Value = serde_json::from_str(&file(place.path())).unwrap();
            let pieces = recorded["exchanges"][0]["pieces"].as_array().unwrap().clone();
            let texts = pieces.iter().map(|piece| match &piece["bytes"] {
                Value::String(text) => text.clone().into_bytes(),
                odd => {
                    let hex = odd["hex"].as_str().unwrap().as_bytes();
                    let pairs = hex.chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
                    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
                }
            });
            let whole: Vec<u8> = texts.flatten().collect();
            assert!(bytes.starts_with(&whole) && !whole.is_empty(), "{wire:?} {name}");
            played += 1;
        }
    }
    assert!(played > 40, "{played}");
}

#[test]
fn what_failed_fails_again_in_the_same_way() {
    let page = Answer { status: 502, ..Answer::stream(b"<!doctype html><p>Bad".to_vec()) };
    let page = Answer { headers: vec![("content-type", "text/html".to_owned())], ..page };
    let limited = json!({"error": {"type": "rate_limit_error", "message": "slow"}});
    let answers = |wire| {
        let begun = fixture(wire, "no_end");
        [
            Answer::json(429, &limited).with("retry-after", "7").with("x-should-retry", "false"),
            page.clone(),
            Answer::json(200, &json!({"choices": []})),
            Answer::steps(vec![Step::Bytes(begun.clone()), Step::Cut]),
            Answer::steps(vec![Step::Bytes(begun)]),
            Answer::refused(),
        ]
    };
    for wire in WIRES {
        for (number, answer) in answers(wire).into_iter().enumerate() {
            let place = tempfile::tempdir().unwrap();
            let (live, replayed) = both(wire, vec![answer], place.path());
            assert!(live.1.is_err(), "{wire:?} {number}");
            assert_eq!(without_ids(&replayed), without_ids(&live), "{wire:?} {number}");
        }
    }
}

#[test]
fn no_recording_contains_the_key_from_any_source() {
    let echo = json!({"error": {"type": KEY, "code": KEY, "message": format!("bad key {KEY}!")}});
    for wire in WIRES {
        let inside = format!("data: {echo}\n\n").into_bytes();
        let away = Answer { status: 307, ..Answer::stream(Vec::new()) };
        let away = away.with("location", &format!("http://{KEY}/?k={KEY}"));
        for answer in [
            Answer::json(401, &echo).with("request-id", KEY),
            Answer::steps(inside.chunks(5).map(|part| Step::Bytes(part.to_vec())).collect()),
            away,
        ] {
            let place = tempfile::tempdir().unwrap();
            let server = Server::start(vec![answer]);
            let tape = Tape::record(place.path()).unwrap();
            let recorded = tape.around(Arc::new(endpoint(wire, &server.url, limits())));
            // The person says it too.
            let said = Message::user(format!("my key is {KEY}"));
            let stream = recorded.stream(Arc::new(TurnRequest::new(vec![said])));
            let live = run(stream.collect::<Vec<_>>());
            let Some(Err(live)) = live.last() else { panic!("{live:?}") };
            let written = file(place.path());
            assert!(!written.contains(KEY) && !written.contains("canary"), "{written}");
            assert!(written.contains(&"*".repeat(KEY.len())), "{written}");
            let player = Tape::replay(place.path()).unwrap().player().unwrap();
            let replayed = run(collect(&*player)).1.unwrap_err();
            assert_eq!((replayed.kind, replayed.status), (live.kind, live.status), "{wire:?}");
        }
    }
}

#[test]
fn several_that_were_asked_are_played_back_as_one_answer() {
    let good = || Answer::stream(fixture(Wire::Chat, "ok"));
    let thought = b"data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\"}}]}\n\n".to_vec();
    let first = Server::start(vec![
        Answer::json(401, &json!({"error": "no"})),
        Answer::steps(vec![Step::Bytes(thought), Step::Cut]),
    ]);
    let second = Server::start(vec![good(), good()]);
    let retry_policy = RetryPolicy {
        retries: 0,
        max_wait: Duration::ZERO,
        budget: Duration::ZERO,
        breaker_failures: 9,
        breaker_pause: Duration::ZERO,
    };
    let link = |server: &Server| {
        Arc::new(endpoint(Wire::Chat, &server.url, limits())) as Arc<dyn Provider>
    };
    let links = vec![link(&first), link(&second)];
    let chain = Chain::new(links, retry_policy, Arc::new(SystemClock::default()));
    let place = tempfile::tempdir().unwrap();
    let recorded = Tape::record(place.path()).unwrap().around(Arc::new(chain));
    let live = [run(collect(&*recorded)), run(collect(&*recorded))];
    let player = Tape::replay(place.path()).unwrap().player().unwrap();
    for live in live {
        assert!(live.0.iter().any(|event| matches!(event, TurnEvent::Retry { .. })));
        assert!(live.1.is_ok(), "{live:?}");
        assert_eq!(without_ids(&run(collect(&*player))), without_ids(&live));
    }
}

#[test]
fn a_replay_parses_the_recorded_bytes() {
    let place = tempfile::tempdir().unwrap();
    let data = json!({"choices": [{"index": 0, "delta": {"content": "one word"}}]});
    let body = format!("data: {data}\n\ndata: [DONE]\n\n");
    let (live, _) = both(Wire::Chat, vec![Answer::stream(body.into_bytes())], place.path());
    assert!(format!("{live:?}").contains("one word"), "{live:?}");
    let other = file(place.path()).replace("one word", "another!");
    std::fs::write(place.path().join("00001.json"), other).unwrap();
    let player = Tape::replay(place.path()).unwrap().player().unwrap();
    let replayed = format!("{:?}", run(collect(&*player)));
    assert!(replayed.contains("another!") && !replayed.contains("one word"), "{replayed}");
}

#[test]
fn a_recording_is_private_and_replays_in_any_order() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("tape");
    let tape = Tape::record(&folder).unwrap();
    let hangs = Answer::steps(vec![Step::Bytes(fixture(Wire::Chat, "no_end")), Step::Hang]);
    let refused = Answer::json(401, &json!({"error": "no"}));
    let server = Server::start(vec![Answer::stream(fixture(Wire::Chat, "ok")), refused, hangs]);
    let provider = tape.around(Arc::new(endpoint(Wire::Chat, &server.url, limits())));
    let request = |messages: usize| Arc::new(TurnRequest::new(vec![Message::user("x"); messages]));
    let ask = |provider: &Arc<dyn Provider>, messages: usize| {
        run(provider.stream(request(messages)).collect::<Vec<_>>())
    };
    let heard = [ask(&provider, 1), ask(&provider, 2)];
    // Cancelled in the middle.
    let mut third = provider.stream(request(3));
    assert!(matches!(run(third.next()), Some(Ok(Item::Event(_)))));
    drop(third);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("00001.json"))), (0o700, 0o600));
    }
    assert!(matches!(Tape::record(&folder), Err(TapeError::Taken(_))));

    let player = Tape::replay(&folder).unwrap().player().unwrap();
    let [first, second] = heard;
    assert_eq!(ask(&player, 2), second);
    assert_eq!(ask(&player, 1), first);
    let given_up = ask(&player, 3);
    assert!(matches!(given_up.first(), Some(Ok(Item::Event(_)))), "{given_up:?}");
    let Some(Err(end)) = given_up.last() else { panic!("{given_up:?}") };
    assert_eq!(end.kind, ErrorKind::Truncated);
    assert!(ask(&player, 1)[0].is_err(), "there is no more");
    std::fs::write(folder.join("0.json"), "{}").unwrap();
    assert!(matches!(Tape::replay(&folder), Err(TapeError::Foreign { .. })));
}

#[test]
fn a_recording_of_an_earlier_version_is_still_played() {
    let place = tempfile::tempdir().unwrap();
    let request = json!({"system": "", "tools": [], "with_tools": true, "max_output_tokens": 4096,
        "effort": null, "messages": [Message::user("hi")]});
    let failed = LlmError::new(ErrorKind::Overloaded, "busy");
    let steps = json!([{"after": 3, "event": {"text": {"block": 0, "delta": "hel"}}},
        {"after": 5, "failed": failed}]);
    let old = json!({"model": "work/m", "request": request, "steps": steps});
    std::fs::write(place.path().join("00001.json"), old.to_string()).unwrap();
    let player = Tape::replay(place.path()).unwrap().player().unwrap();
    let (events, end) = run(collect(&*player));
    assert!(matches!(&events[..], [TurnEvent::Text { delta, .. }] if delta == "hel"), "{events:?}");
    assert_eq!(end.unwrap_err(), failed);
}
