use proptest::prelude::*;
use serde_json::Map;

use super::*;
use crate::agent::attachments::Attachments;
use crate::llm::{Origin, ToolArgs, Wire};

impl Context {
    fn tokens(&self) -> u64 {
        (self.estimate() * self.factor) as u64
    }
}

fn call(id: &str) -> Block {
    let args = ToolArgs::Object(Map::new());
    let call = ToolCall { id: id.into(), name: "read_file".into(), args };
    Block { kind: BlockKind::ToolCall(call), native: Some("{\"native\":1}".into()) }
}

fn thinking() -> Block {
    let kind = BlockKind::Thinking { text: "hm".into(), redacted: false };
    Block { kind, native: Some("{\"signature\":1}".into()) }
}

fn answer(content: Vec<Block>) -> Entry {
    let origin = Origin { wire: Wire::Anthropic, endpoint: "e".into(), model: "m".into() };
    let message = Message::Assistant { content, origin: Some(origin) };
    Entry::Message {
        message,
        id: None,
        source: None,
        scope: None,
        attached: Attachments::default(),
    }
}

fn user(text: &str) -> Entry {
    Entry::Message {
        message: Message::user(text),
        id: None,
        source: None,
        scope: None,
        attached: Attachments::default(),
    }
}

fn result(id: &str) -> Entry {
    let result = ToolResult {
        call_id: id.into(),
        name: "read_file".into(),
        content: vec![Block::text(id)],
        is_error: false,
    };
    Entry::Result { result, read_updates: Vec::new(), data: None }
}

fn ids(message: &Message) -> Vec<&str> {
    let Message::ToolResults { results } = message else { panic!("{message:?}") };
    results.iter().map(|result| result.call_id.as_str()).collect()
}

#[test]
fn results_come_in_the_order_of_their_calls_and_once() {
    let mut context = Context::of([user("a"), answer(vec![call("1"), call("2")])]);
    assert_eq!(context.missing().len(), 2);
    for entry in [result("2"), result("2"), result("9"), result("1"), result("1")] {
        context.push(entry);
    }
    assert_eq!(context.messages().len(), 3);
    assert_eq!(ids(&context.messages()[2]), ["1", "2"]);
    assert!(context.missing().is_empty());
}

#[test]
fn missing_results_are_filled_in_first() {
    let context = Context::of([answer(vec![call("1"), call("2")]), result("2"), user("b")]);
    assert_eq!(ids(&context.messages()[1]), ["1", "2"]);
    assert!(matches!(context.messages()[2], Message::User { .. }));
}

#[test]
fn thinking_goes_where_something_before_it_goes() {
    let entries = [
        user("a"),
        answer(vec![thinking(), call("1")]),
        result("1"),
        answer(vec![thinking(), Block::text("done")]),
        Entry::Trimmed { summary: "s".into(), asked: String::new(), kept: 3 },
    ];
    let context = Context::of(entries);
    assert_eq!(context.messages().len(), 4);
    let Message::Assistant { content, origin } = &context.messages()[1] else { panic!() };
    assert!(origin.is_none() && content.len() == 1 && content[0].native.is_none());
}

#[test]
fn a_cut_keeps_the_newest_messages_and_the_users_request() {
    let mut entries = vec![user("first"), user("tidy up")];
    for round in 0..40 {
        entries.push(answer(vec![call(&round.to_string()), Block::text("x".repeat(400))]));
        entries.push(result(&round.to_string()));
    }
    let mut context = Context::of(entries);
    let window = context.tokens();
    assert!(context.is_full(window) && !context.is_full(window * 2));
    let cut = context.cut(window, false).unwrap();
    assert_eq!(cut.asked, "tidy up");
    let Cut { extract, asked, kept, .. } = cut;
    context.push(Entry::Trimmed { summary: extract, asked, kept });
    let Message::Notice { text } = &context.messages()[0] else { panic!() };
    assert!(text.ends_with("</tool_data>\nThe user's last message was: tidy up"), "{text}");
    assert!(!context.is_full(window), "{} of {window}", context.tokens());
    assert!(!matches!(context.messages()[1], Message::ToolResults { .. }));
    // The estimate follows the vendor's next count.
    let messages = context.messages().len();
    context.counted(context.tokens() * 2, messages);
    assert!(context.is_full(window));
}

#[test]
fn a_message_that_is_not_answered_stays_however_long_it_is() {
    let notice = || Entry::Trimmed { summary: "s".into(), asked: String::new(), kept: 1 };
    let mut entries = vec![user("first"), notice(), user(&"long ".repeat(2_000))];
    let mut context = Context::of(entries.clone());
    let window = context.tokens() / 2;
    assert!(context.is_full(window));
    assert_eq!(context.messages().len(), 3);
    let cut = context.cut(window, false).unwrap();
    assert_eq!((cut.kept, cut.asked.as_str()), (1, ""));
    context.push(Entry::Trimmed { summary: cut.extract, asked: cut.asked, kept: cut.kept });
    assert!(context.cut(window, true).is_none(), "nothing is left to leave out");
    entries.push(answer(vec![Block::text("done")]));
    entries.push(user("thanks"));
    assert_eq!(Context::of(entries).cut(window, false).unwrap().kept, 2, "once it is answered");
}

fn long(rounds: usize) -> Vec<Entry> {
    let mut entries = vec![user("tidy up")];
    for round in 0..rounds {
        entries.push(answer(vec![call(&round.to_string()), Block::text("x".repeat(400))]));
        entries.push(result(&round.to_string()));
    }
    entries
}

#[test]
fn what_every_request_begins_with_takes_its_part_of_the_room() {
    let system = "word ".repeat(5_000);
    let mut entries = vec![Entry::Opening { system, tools: Vec::new() }];
    entries.extend(long(40));
    let mut context = Context::of(entries);
    let (all, opening) = (context.tokens(), context.opening() as u64);
    // The opening alone takes most of the limit.
    let window = opening * 10 / 7;
    assert!(context.is_full(window), "{all} of {window}");
    let Cut { extract, asked, kept, .. } = context.cut(window, false).unwrap();
    context.push(Entry::Trimmed { summary: extract.chars().take(200).collect(), asked, kept });
    assert!(!context.is_full(window), "{} of {window}", context.tokens());
    // No second cut before something is added.
    assert!(kept > 2, "{kept}");
}

#[test]
fn a_history_refused_as_too_long_is_cut() {
    let mut context = Context::of(long(40));
    let (window, before) = (context.tokens() * 10, context.tokens());
    assert_eq!(context.cut(window, false), None, "all of it seems to fit");
    let Cut { extract, asked, kept, .. } = context.cut(window, true).unwrap();
    let summary = extract.chars().take(100).collect();
    context.push(Entry::Trimmed { summary, asked, kept });
    assert!(context.tokens() < before * 6 / 10, "{} of {before}", context.tokens());
    // The person's request is repeated after another cut too.
    let again = context.cut(window, true).unwrap();
    assert_eq!(again.asked, "tidy up");
}

proptest! {
    #[test]
    fn a_cut_never_parts_a_call_from_its_results(
        shape in prop::collection::vec(0_u8..4, 1..60),
        window in 10_u64..4_000,
        refused: bool,
    ) {
        let mut entries = Vec::new();
        for (at, kind) in shape.iter().enumerate() {
            match kind {
                0 => entries.push(user(&"word ".repeat(at))),
                1 => entries.push(Entry::notice("n")),
                2 => entries.push(answer(vec![Block::text("text")])),
                _ => {
                    let id = at.to_string();
                    entries.push(answer(vec![thinking(), call(&id)]));
                    entries.push(result(&id));
                }
            }
        }
        let mut context = Context::of(entries);
        let before = context.messages().len();
        if let Some(cut) = context.cut(window, refused) {
            prop_assert!(cut.kept < before);
            let Cut { extract, asked, kept, .. } = cut;
            context.push(Entry::Trimmed { summary: extract, asked, kept });
        }
        for pair in context.messages().windows(2) {
            let calls = match &pair[0] {
                Message::Assistant { content, .. } => {
                    content.iter().filter(|block| block.call().is_some()).count()
                }
                _ => 0,
            };
            let results = match &pair[1] {
                Message::ToolResults { results } => results.len(),
                _ => 0,
            };
            prop_assert_eq!(calls, results);
        }
        let first = context.messages().first();
        let is_result = matches!(first, Some(Message::ToolResults { .. }));
        prop_assert!(!is_result);
    }
}
