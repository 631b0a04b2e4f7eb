use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::agent::call_result::CallResult;
use crate::agent::context::Context;
use crate::calls::Decision;
use crate::llm::{LlmError, Origin, ToolArgs, ToolCall, Usage, Wire};
use crate::tools::ReadUpdate;

const LIMITS: Limits = Limits { rounds: 4, calls: 12, tokens: 200, result_chars: 1_000 };

impl Event {
    fn finished(call: impl Into<String>, called: CallResult) -> Self {
        Self::Finished { call: call.into(), called }
    }
}

fn turn() -> Turn {
    let changes = [("read", false), ("edit", true), ("delete", true)];
    let changes = changes.map(|(name, changes)| (name.to_owned(), changes));
    Turn::new("7", LIMITS, Arc::new(changes.into()))
}

fn user_message(text: &str) -> Event {
    Event::Message(words(text))
}

fn began() -> Event {
    Event::Started(words("go"))
}

fn words(text: &str) -> UserMessage {
    UserMessage {
        number: 1,
        text: text.to_owned(),
        to: None,
        source: "chat".to_owned(),
        scope: Scope::Person,
        from: None,
        client_id: None,
        attached: crate::agent::attachments::Attachments::default(),
        note: None,
    }
}

fn call(id: &str, name: &str, args: Value) -> Block {
    let args = ToolArgs::parse(&args.to_string());
    let call = ToolCall { id: id.to_owned(), name: name.to_owned(), args };
    Block { kind: BlockKind::ToolCall(call), native: None }
}

fn answer(content: Vec<Block>, stop: Stop) -> Event {
    let origin = Origin { wire: Wire::Chat, endpoint: "e".to_owned(), model: "m".to_owned() };
    let usage = Some(Usage { input: 10, output: 5, ..Usage::default() });
    let turn = llm::Turn { content, stop, usage, origin, request_id: None };
    Event::Answered(Box::new(turn))
}

fn done(id: &str) -> Event {
    let called = CallResult::done(format!("did {id}"), json!({}));
    Event::finished(id, called)
}

fn runs(effects: &[Effect]) -> Vec<&str> {
    let runs = effects.iter().filter_map(|effect| match effect {
        Effect::Run { call, .. } => Some(call.id.as_str()),
        _ => None,
    });
    runs.collect()
}

fn end(effects: &[Effect]) -> Option<&End> {
    effects.iter().find_map(|effect| match effect {
        Effect::Finish(end) => Some(end),
        _ => None,
    })
}

fn asks(effects: &[Effect]) -> Option<bool> {
    effects.iter().find_map(|effect| match effect {
        Effect::AskModel { tools } => Some(*tools),
        _ => None,
    })
}

fn results(effects: &[Effect]) -> Vec<(String, bool)> {
    let result = |effect: &Effect| match effect {
        Effect::Record(entry @ Entry::Result { result, .. }) => {
            Some((entry.text(), result.is_error))
        }
        _ => None,
    };
    effects.iter().filter_map(result).collect()
}

#[test]
fn an_answer_whose_tokens_are_not_reported_counts_as_a_request() {
    let mut turn = turn();
    turn.handle(began());
    let Event::Answered(mut given) = answer(vec![Block::text("hello")], Stop::EndTurn) else {
        unreachable!("it answers")
    };
    given.usage = None;
    let origin = Some(given.origin.clone());
    let ended = turn.handle(Event::Answered(given));
    assert!(ended.contains(&Effect::Usage { usage: None, origin }), "{ended:?}");
}

#[test]
fn a_question_is_asked_and_answered() {
    let mut turn = turn();
    let begun = turn.handle(began());
    assert_eq!(asks(&begun), Some(true));
    let text = TurnEvent::Text { block: 0, delta: "hel".to_owned() };
    let shown = turn.handle(Event::Streamed(text));
    assert_eq!(shown, [Effect::Show(Show::Text { id: "7.1".into(), delta: "hel".into() })]);
    let ended = turn.handle(answer(vec![Block::text("hello")], Stop::EndTurn));
    let recorded = ended.iter().position(|effect| matches!(effect, Effect::Record(_))).unwrap();
    let whole = Show::Message { id: "7.1".into(), text: "hello".into(), kind: MessageKind::Answer };
    let shown = ended.iter().position(|effect| *effect == Effect::Show(whole.clone())).unwrap();
    assert!(recorded < shown, "kept, then shown");
    assert_eq!(end(&ended).unwrap().reason, Reason::Done);
    assert!(turn.phase == Phase::Over && turn.handle(Event::Cancel).is_empty());
}

#[test]
fn reads_run_side_by_side_and_changes_alone_and_in_order() {
    let mut turn = turn();
    turn.handle(began());
    let calls = ["a", "b"].map(|id| call(id, "read", json!({"id": id})));
    let more = ["c", "d"].map(|id| call(id, "edit", json!({"id": id})));
    let last = call("e", "read", json!({}));
    let content = calls.into_iter().chain(more).chain([last]).collect();
    assert_eq!(runs(&turn.handle(answer(content, Stop::ToolUse))), ["a", "b"]);
    assert!(runs(&turn.handle(done("b"))).is_empty());
    assert_eq!(runs(&turn.handle(done("a"))), ["c"]);
    assert!(turn.handle(done("c")).len() > 2);
    assert!(turn.handle(done("c")).is_empty(), "a result counts once");
    assert_eq!(runs(&turn.handle(done("d"))), ["e"]);
    assert_eq!(asks(&turn.handle(done("e"))), Some(true));
}

#[test]
fn of_an_answer_that_is_cut_no_line_counts_as_shown() {
    let read_updates = |text: String| {
        let mut turn = turn();
        turn.handle(began());
        turn.handle(answer(vec![call("a", "read", json!({}))], Stop::ToolUse));
        let (path, revision) = ("n.md".to_owned(), "1".to_owned());
        let read = ReadUpdate::Read { path, revision, first: 1, last: 5, lines: 5 };
        let called = CallResult { read_updates: vec![read], ..CallResult::done(text, json!({})) };
        let effects = turn.handle(Event::finished("a", called));
        effects.into_iter().find_map(|effect| match effect {
            Effect::Record(Entry::Result { read_updates, .. }) => Some(read_updates),
            _ => None,
        })
    };
    let last = |text| match read_updates(text).as_deref() {
        Some([ReadUpdate::Read { last, .. }]) => *last,
        other => panic!("{other:?}"),
    };
    assert_eq!(last("short".to_owned()), 5);
    assert_eq!(last("x".repeat(LIMITS.result_chars + 1)), 0);
}

#[test]
fn a_truncated_call_is_never_run() {
    for (stop, tools) in [(Stop::MaxTokens, Some(true)), (Stop::Refusal("no".into()), None)] {
        let mut turn = turn();
        turn.handle(began());
        let effects = turn.handle(answer(vec![call("a", "edit", json!({}))], stop));
        assert!(runs(&effects).is_empty());
        assert_eq!(results(&effects).len(), 1);
        assert_eq!(asks(&effects), tools);
    }
    let mut turn = turn();
    turn.handle(began());
    let args = ToolArgs::Invalid("{\"path\":".to_owned());
    let cut = ToolCall { id: "a".to_owned(), name: "edit".to_owned(), args };
    let cut = Block { kind: BlockKind::ToolCall(cut), native: None };
    let effects = turn.handle(answer(vec![cut, call("b", "read", json!({}))], Stop::ToolUse));
    assert_eq!(runs(&effects), ["b"]);
    assert!(results(&effects)[0].0.contains("not a JSON object"));
}

#[test]
fn a_question_to_the_person_ends_the_turn_without_later_calls() {
    let mut turn = turn();
    turn.handle(began());
    let question = call("a", "send_message", json!({"text": "which?", "is_question": true}));
    let content = vec![question, call("b", "edit", json!({}))];
    let effects = turn.handle(answer(content, Stop::ToolUse));
    assert!(runs(&effects).is_empty());
    assert_eq!(end(&effects).unwrap().reason, Reason::Waiting);
    assert!(results(&effects)[1].1, "the edit was refused");
    let kept = Entry::Sent { id: "7.1".into(), text: "which?".into(), is_question: true };
    assert!(effects.contains(&Effect::Record(kept)));
}

#[test]
fn an_answer_that_ends_with_a_question_waits_for_its_answer() {
    for (text, reason) in
        [("Moved. Delete the rest, too?", Reason::Waiting), ("Moved.", Reason::Done)]
    {
        let mut turn = turn();
        turn.handle(began());
        let effects = turn.handle(answer(vec![Block::text(text)], Stop::EndTurn));
        assert_eq!(end(&effects).unwrap().reason, reason, "{text}");
    }
    // A message during a tool call does not delay it, and the model gets the message in the next round.
    let mut turn = turn();
    turn.handle(began());
    let content = vec![Block::text("Which one?"), call("a", "read", json!({}))];
    assert!(end(&turn.handle(answer(content, Stop::ToolUse))).is_none());
}

#[test]
fn the_last_round_has_no_tools() {
    let mut turn = turn();
    turn.handle(began());
    for round in 1..=LIMITS.rounds {
        let id = round.to_string();
        turn.handle(answer(vec![call(&id, "read", json!({"n": round}))], Stop::ToolUse));
        let effects = turn.handle(done(&id));
        assert_eq!(asks(&effects), Some(round < LIMITS.rounds), "round {round}");
    }
    let effects = turn.handle(answer(vec![call("x", "edit", json!({}))], Stop::ToolUse));
    assert!(runs(&effects).is_empty());
    assert_eq!(end(&effects).unwrap().reason, Reason::MaxRounds);
}

#[test]
fn a_call_that_fails_again_and_again_ends_the_turn() {
    let mut turn = turn();
    turn.handle(began());
    for time in 1..=3 {
        let id = time.to_string();
        turn.handle(answer(vec![call(&id, "edit", json!({"path": "a"}))], Stop::ToolUse));
        let effects = turn.handle(Event::finished(id, CallResult::error("no such note")));
        assert_eq!(asks(&effects), Some(time < 3));
        assert_eq!(results(&effects)[0].0.contains("do not repeat it"), time == 3);
    }
}

#[test]
fn a_message_during_a_round_is_delivered_in_the_next() {
    let mut turn = turn();
    turn.handle(began());
    assert!(turn.handle(user_message("wait")).is_empty());
    let effects = turn.handle(answer(vec![Block::text("done")], Stop::EndTurn));
    assert_eq!(asks(&effects), Some(true), "it is answered before the turn ends");
    turn.handle(user_message("late"));
    let effects = turn.handle(Event::Cancel);
    let delivered = |effect: &Effect| matches!(effect, Effect::Show(Show::User(user_message)) if user_message.text == "late");
    assert!(effects.iter().any(delivered), "what was said is never lost");
    assert_eq!(end(&effects).unwrap().reason, Reason::Cancelled);
}

#[test]
fn a_cancelled_turn_completes_its_change() {
    let mut turn = turn();
    turn.handle(began());
    let calls = vec![call("a", "edit", json!({})), call("b", "edit", json!({"n": 2}))];
    turn.handle(answer(calls, Stop::ToolUse));
    let effects = turn.handle(Event::Cancel);
    assert_eq!(effects[0], Effect::Stop);
    assert!(end(&effects).is_none());
    let effects = turn.handle(done("a"));
    assert_eq!(results(&effects), [("<tool_data>\ndid a\n</tool_data>".to_owned(), false)]);
    assert_eq!(end(&effects).unwrap().reason, Reason::Cancelled);
}

#[test]
fn an_answer_that_breaks_off_in_sight_is_discarded_reported_and_counted() {
    let mut turn = turn();
    turn.handle(began());
    turn.handle(Event::Streamed(TurnEvent::Text { block: 0, delta: "half".to_owned() }));
    let again = |usage| {
        let (provider, wait) = ("a/m".to_owned(), Duration::from_millis(400));
        let reason = ErrorKind::Truncated;
        Event::Streamed(TurnEvent::Retry { provider, wait, reason, usage })
    };
    let effects = turn.handle(again(None));
    assert_eq!(effects[0], Effect::Usage { usage: None, origin: None }, "nobody told its tokens");
    assert!(matches!(effects[1], Effect::Show(Show::Discard { .. })));
    let Effect::Show(Show::Notice { title, .. }) = &effects[2] else { panic!("{effects:?}") };
    assert_eq!(title, "the answer was interrupted; `a/m` is asked again in a second");
    let usage = Some(Usage { input: 10, ..Usage::default() });
    assert_eq!(turn.handle(again(usage))[0], Effect::Usage { usage, origin: None });
    let effects = turn.handle(again(None));
    assert_eq!(effects.len(), 1, "of this one nothing had come: {effects:?}");
}

#[test]
fn a_full_window_is_emptied_once() {
    let mut turn = turn();
    turn.handle(began());
    let full = || Event::Failed(Box::new(LlmError::new(ErrorKind::ContextLength, "")));
    assert_eq!(turn.handle(full()), [Effect::Compact]);
    assert_eq!(asks(&turn.handle(Event::Compacted { done: true })), Some(true));
    assert_eq!(end(&turn.handle(full())).unwrap().reason, Reason::Failed);
}

#[test]
fn a_person_is_asked_before_a_call_runs() {
    let mut turn = turn();
    turn.handle(began());
    turn.handle(answer(vec![call("a", "delete", json!({}))], Stop::ToolUse));
    let effects =
        turn.handle(Event::NeedsApproval { call: "a".into(), title: "delete all".into() });
    assert!(effects.contains(&Effect::AskPerson { call: "a".into() }));
    let decided = |decision| Event::Decided { call: "a".into(), decision, by: "me".into() };
    let effects = turn.handle(decided(Decision::Once));
    assert!(matches!(effects.last(), Some(Effect::Resume { decision: Decision::Once, .. })));
    assert!(turn.handle(decided(Decision::Once)).is_empty(), "an answer counts once");
}

/// The outcome of an effect in a random world.
#[derive(Debug, Clone)]
enum Fate {
    Say,
    Text,
    Answer(Vec<u8>, u8),
    Fail(u8),
    Finish(u8, bool),
    Ask(u8),
    Decide(u8, bool),
    Shorten(bool),
    Late,
    Cancel,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        1 => Just(Fate::Say),
        2 => Just(Fate::Text),
        6 => (prop::collection::vec(0_u8..9, 0..5), 0_u8..12).prop_map(|(c, s)| Fate::Answer(c, s)),
        2 => (0_u8..6).prop_map(Fate::Fail),
        8 => (any::<u8>(), any::<bool>()).prop_map(|(c, e)| Fate::Finish(c, e)),
        2 => any::<u8>().prop_map(Fate::Ask),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(c, y)| Fate::Decide(c, y)),
        1 => any::<bool>().prop_map(Fate::Shorten),
        1 => Just(Fate::Late),
        1 => Just(Fate::Cancel),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_the_history_is_valid_and_nothing_is_done_twice(
        fates in prop::collection::vec(fate(), 1..60)
    ) {
        let mut turn = turn();
        let mut context = Context::default();
        turn.handle(began());
        let (mut begun, mut open, mut asking) = (BTreeSet::new(), Vec::new(), Vec::new());
        let (mut users, mut delivered, mut ends, mut last) = (0, 0, 0, 0);
        let mut undelivered = 0;
        for fate in fates {
            let event = match fate {
                Fate::Say => { users += usize::from(ends == 0); user_message(&users.to_string()) }
                Fate::Text => Event::Streamed(TurnEvent::Text { block: 0, delta: "x".into() }),
                Fate::Answer(calls, stop) => {
                    let block = |kind: &u8| {
                        last += 1;
                        let id = last.to_string();
                        match kind {
                            0..3 => call(&id, "read", json!({"n": last % 2})),
                            3 | 4 => call(&id, "edit", json!({"n": last % 3})),
                            5 => call(&id, "nothing", json!({})),
                            6 => call(&id, "send_message", json!({"text": "t", "is_question": last % 5 == 0})),
                            7 => call(&id, "edit", json!([1])),
                            _ => Block::text("words"),
                        }
                    };
                    let stop = match stop {
                        0 => Stop::MaxTokens,
                        1 => Stop::ContextFull,
                        2 => Stop::Refusal(String::new()),
                        3 => Stop::Paused,
                        4 | 5 => Stop::EndTurn,
                        _ => Stop::ToolUse,
                    };
                    answer(calls.iter().map(block).collect(), stop)
                }
                Fate::Fail(kind) => {
                    let kind = match kind {
                        0 => ErrorKind::ContextLength,
                        1 => ErrorKind::Refused,
                        2 => ErrorKind::Auth,
                        _ => ErrorKind::Truncated,
                    };
                    Event::Failed(Box::new(LlmError::new(kind, "as the test wants")))
                }
                Fate::Finish(at, fails) => {
                    let Some(id) = pick(&open, at) else { continue };
                    let called = CallResult { is_error: fails, ..CallResult::done("r".into(), Value::Null) };
                    Event::finished(id, called)
                }
                Fate::Ask(at) => {
                    let Some(call) = pick(&open, at) else { continue };
                    Event::NeedsApproval { call, title: String::new() }
                }
                Fate::Decide(at, yes) => {
                    let Some(call) = pick(&asking, at) else { continue };
                    let decision = if yes { Decision::Once } else { Decision::Reject };
                    Event::Decided { call, decision, by: "me".into() }
                }
                Fate::Shorten(done) => Event::Compacted { done },
                Fate::Late => Event::TimeIsUp,
                Fate::Cancel => Event::Cancel,
            };
            let effects = turn.handle(event);
            prop_assert!(ends == 0 || effects.is_empty(), "nothing follows the end");
            for effect in effects {
                match effect {
                    Effect::Record(entry) => {
                        if let Entry::Message { message, .. } = &entry {
                            prop_assert!(context.missing().is_empty(), "each call has its result first");
                            delivered += usize::from(matches!(message, Message::User { .. }));
                        }
                        if let Entry::Result { result, .. } = &entry {
                            let missing = context.missing();
                            prop_assert!(missing.iter().any(|call| call.id == result.call_id));
                        }
                        context.push(entry);
                    }
                    Effect::Run { call, .. } => {
                        prop_assert!(context.missing().iter().any(|open| open.id == call.id));
                        let whole = matches!(call.args, ToolArgs::Object(_));
                        prop_assert!(whole, "what is cut off is never run");
                        prop_assert!(begun.insert(call.id.clone()), "no call runs twice");
                        open.push(call.id);
                    }
                    Effect::AskPerson { call } => asking.push(call),
                    Effect::AskModel { .. } => {
                        prop_assert!(context.missing().is_empty());
                        let answered = context.messages().last();
                        let paused = matches!(answered, Some(Message::Assistant { .. }));
                        prop_assert!(!paused || turn.then == AfterCalls::Continue);
                    }
                    Effect::Finish(end) => {
                        ends += 1;
                        undelivered = end.undelivered.len();
                        prop_assert!(context.missing().is_empty());
                    }
                    _ => {}
                }
            }
        }
        if ends == 1 {
            prop_assert_eq!(delivered + undelivered, users, "nothing said is lost");
        }
    }
}

fn pick(from: &[String], at: u8) -> Option<String> {
    (!from.is_empty()).then(|| from[usize::from(at) % from.len()].clone())
}

fn user_delivered(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Show(Show::User(_))))
}

#[test]
fn the_most_tokens_of_a_turn_bring_it_to_its_end() {
    let mut turn = Turn::new("7", Limits { tokens: 30, ..LIMITS }, Arc::default());
    turn.handle(began());
    // 15 tokens a round.
    for (round, tools) in [(1, true), (2, false)] {
        let id = format!("{round}");
        turn.handle(answer(vec![call(&id, "read", json!({"n": round}))], Stop::ToolUse));
        assert_eq!(asks(&turn.handle(done(&id))), Some(tools), "after round {round}");
    }
    // A message restarts the limits.
    turn.handle(user_message("go on"));
    let effects = turn.handle(answer(vec![call("3", "read", json!({}))], Stop::ToolUse));
    assert!(end(&effects).is_some(), "the last step has no tools: {effects:?}");
}

#[test]
fn what_takes_too_long_is_cut_off_the_second_time() {
    let mut turn = turn();
    turn.handle(began());
    assert_eq!(turn.handle(Event::TimeIsUp), []);
    // A message restarts the time limit: the next time call is the first again.
    turn.handle(user_message("wait"));
    let effects = turn.handle(answer(vec![call("1", "read", json!({}))], Stop::ToolUse));
    assert_eq!(runs(&effects), ["1"]);
    let effects = turn.handle(done("1"));
    assert!(user_delivered(&effects) && asks(&effects) == Some(true), "{effects:?}");
    turn.handle(Event::Streamed(TurnEvent::Text { block: 0, delta: "I be".into() }));
    assert_eq!(turn.handle(Event::TimeIsUp), []);
    let effects = turn.handle(Event::TimeIsUp);
    assert!(effects.contains(&Effect::Stop), "{effects:?}");
    assert_eq!(end(&effects).unwrap().reason, Reason::MaxRounds);
    let kept = effects
        .iter()
        .any(|effect| matches!(effect, Effect::Record(entry) if entry.text() == "I be"));
    assert!(kept, "{effects:?}");
}

#[test]
fn a_running_change_is_completed_after_the_time_limit() {
    let mut turn = turn();
    turn.handle(began());
    let calls = vec![call("1", "edit", json!({})), call("2", "edit", json!({"n": 2}))];
    assert_eq!(runs(&turn.handle(answer(calls, Stop::ToolUse))), ["1"]);
    turn.handle(Event::TimeIsUp);
    let effects = turn.handle(Event::TimeIsUp);
    assert!(effects.contains(&Effect::Stop) && end(&effects).is_none(), "{effects:?}");
    turn.handle(user_message("and now?"));
    let effects = turn.handle(done("1"));
    let end = end(&effects).unwrap();
    assert_eq!((end.reason, end.undelivered.len()), (Reason::MaxRounds, 1));
}
