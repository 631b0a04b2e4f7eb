//! Every stream in `fixtures/llm`, read at every chunk size.

use std::path::{Path, PathBuf};

use vault_steward::llm::response::ResponseDecoder;
use vault_steward::llm::{
    Block, BlockKind, LlmError, Origin, ToolArgs, Turn, TurnEvent, Usage, Wire,
};

pub fn origin(wire: Wire, model: &str) -> Origin {
    Origin { wire, endpoint: "https://vendor.example/v1".to_owned(), model: model.to_owned() }
}

pub fn fixture(wire: Wire, name: &str) -> Vec<u8> {
    let path = folder(wire).join(format!("{name}.sse"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn folder(wire: Wire) -> PathBuf {
    let name = format!("{wire:?}").to_lowercase();
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/llm").join(name)
}

pub fn read(wire: Wire, bytes: &[u8], chunk: usize) -> (Vec<TurnEvent>, Result<Turn, LlmError>) {
    let mut reading = ResponseDecoder::new(origin(wire, "m"), false, 1 << 20);
    let mut events = Vec::new();
    for part in bytes.chunks(chunk) {
        match reading.feed(part, &mut events) {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) => return (events, Err(error)),
        }
    }
    let turn = reading.finish(&mut events);
    (events, turn)
}

/// Ids created here are recognised by their number alone.
fn plain(text: &str) -> String {
    let mut parts = text.split("local_");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str("local");
        plain.push_str(&part[12..]);
    }
    plain
}

/// A block as one line; `*` if the vendor's item is kept.
fn line(block: &Block) -> String {
    let mark = if block.native.is_some() { "*" } else { "" };
    let said = match &block.kind {
        BlockKind::Text { text } => format!("text {text:?}"),
        BlockKind::Thinking { text, redacted: false } => format!("thinking {text:?}"),
        BlockKind::Thinking { redacted: true, .. } => "redacted".to_owned(),
        BlockKind::ToolCall(call) => {
            let args = match &call.args {
                ToolArgs::Object(map) => serde_json::to_string(map).unwrap(),
                ToolArgs::Invalid(text) => format!("invalid {text}"),
            };
            format!("call {} {} {args}", call.id, call.name)
        }
        BlockKind::Image { .. } | BlockKind::ImageFile { .. } => "image".to_owned(),
        BlockKind::Opaque => "opaque".to_owned(),
    };
    plain(&format!("{said}{mark}"))
}

fn lines(blocks: &[Block]) -> Vec<String> {
    blocks.iter().map(line).collect()
}

/// The result of an answer: its blocks, then its end.
fn described(result: &Result<Turn, LlmError>) -> Vec<String> {
    match result {
        Ok(turn) => {
            let mut described = lines(&turn.content);
            described.push(format!("{:?}", turn.stop));
            described
        }
        Err(error) => {
            let mut described = lines(&error.detail.partial);
            described.push(format!("{:?}: {}", error.kind, error.message));
            described
        }
    }
}

const BOTH: [&str; 2] =
    [r#"call call_a read_file {"n":1.5,"path":"Gärten/ü.md"}*"#, r#"call call_b list_tags {}*"#];

/// API format, stream, expected result.
fn cases() -> Vec<(Wire, &'static str, Vec<&'static str>)> {
    use Wire::{Anthropic as A, Chat as C, Gemini as G, Responses as R};
    let no_end = "Truncated: the stream ended without the vendor's end mark";
    vec![
        (
            A,
            "ok",
            vec![
                r#"thinking "Zwei Noten …"*"#,
                "redacted*",
                r#"text "Ich lese beide 🌱.""#,
                r#"call toolu_a read_file {"n":1.5,"path":"Gärten/ü.md"}*"#,
                "call toolu_b list_tags {}*",
                "ToolUse",
            ],
        ),
        (
            A,
            "interleaved",
            vec![
                r#"thinking "first"*"#,
                r#"text "one""#,
                "call toolu_a list_tags {}*",
                r#"thinking ""*"#,
                "call toolu_b list_tags {}*",
                "ToolUse",
            ],
        ),
        // A part with deltas that were not understood must not be sent back; a complete one may.
        (A, "unknown", vec!["opaque*", "opaque", r#"text "still here""#, "EndTurn"]),
        (
            A,
            "max_tokens_in_call",
            vec![
                r#"text "So:""#,
                r#"call toolu_a write_file invalid {"path":"a.md","cont"#,
                "MaxTokens",
            ],
        ),
        (A, "context_full", vec![r#"text "half""#, "ContextFull"]),
        (A, "refusal", vec![r#"Refusal("not this")"#]),
        (A, "pause", vec![r#"text "looking""#, "Paused"]),
        (A, "error_inside", vec![r#"text "half a ""#, "Overloaded: Overloaded"]),
        (A, "no_end", vec![r#"text "looks complete""#, no_end]),
        (A, "broken_json", vec![r#"text "so far""#, "Protocol"]),
        (
            C,
            "ok",
            vec![
                r#"thinking "Zwei Noten …"*"#,
                r#"text "Ich lese beide 🌱.""#,
                BOTH[0],
                "call call_b list_tags {}",
                "ToolUse",
            ],
        ),
        (
            C,
            "calls_interleaved",
            vec![
                r#"call call_a read_file {"path":"a.md"}*"#,
                r#"call call_b read_file {"path":"b.md"}*"#,
                "ToolUse",
            ],
        ),
        (
            C,
            "index_zero_twice",
            vec![
                r#"thinking "hm"*"#,
                r#"call call_a read_file {"path":"a.md"}*"#,
                "call call_b list_tags {}*",
                "ToolUse",
            ],
        ),
        (
            C,
            "no_index",
            vec![
                r#"call call_a read_file {"path":"a.md"}*"#,
                "call call_b list_tags {}",
                "ToolUse",
            ],
        ),
        (
            C,
            "no_ids",
            vec![
                r#"call local_0 read_file {"path":"a.md"}*"#,
                r#"call local_1 read_file {"path":"b.md"}*"#,
                "ToolUse",
            ],
        ),
        (C, "error_inside", vec![r#"text "half a ""#, "Overloaded: upstream is busy"]),
        (
            C,
            "max_tokens_in_call",
            vec![r#"call call_a write_file invalid {"path":"a.md","cont"#, "MaxTokens"],
        ),
        (
            C,
            "one_id_for_all",
            vec![
                r#"call call_0 read_file {"path":"a.md"}*"#,
                r#"call local_0 read_file {"path":"b.md"}*"#,
                "ToolUse",
            ],
        ),
        (C, "refusal", vec![r#"Refusal("not this")"#]),
        (C, "filtered", vec![r#"text "h""#, r#"Refusal("content_filter")"#]),
        // Thinking between tags, as servers without a parser for it send it; tags are cut anywhere.
        (
            C,
            "think_tags",
            vec![
                r#"thinking "two\n<b> thoughts""#,
                r#"text "The answer <think> it is""#,
                "EndTurn",
            ],
        ),
        (C, "think_only", vec![r#"thinking "cut <""#, "MaxTokens"]),
        (C, "no_think", vec![r#"text " <thin""#, "EndTurn"]),
        (C, "parts", vec![r#"thinking "hm""#, r#"text "From Mistral""#, "EndTurn"]),
        (C, "no_end", vec![r#"text "looks complete""#, no_end]),
        (C, "done_without_reason", vec![r#"text "x""#, no_end]),
        (C, "broken_json", vec![r#"text "so far""#, "Protocol"]),
        (
            R,
            "ok",
            vec![
                r#"thinking "Zwei Noten …"*"#,
                r#"text "Ich lese beide 🌱."*"#,
                BOTH[0],
                BOTH[1],
                "ToolUse",
            ],
        ),
        (R, "only_items", vec![r#"text "Ich lese beide 🌱."*"#, BOTH[0], "ToolUse"]),
        (R, "unknown", vec!["opaque*", r#"text "Ich lese beide 🌱."*"#, "EndTurn"]),
        (
            R,
            "incomplete",
            vec![r#"call call_a write_file invalid {"path":"a.md","cont"#, "MaxTokens"],
        ),
        (R, "refusal", vec![r#"text ""*"#, r#"Refusal("not this")"#]),
        (R, "failed", vec![r#"text "half a ""#, "RateLimit: Rate limit reached"]),
        (R, "error_inside", vec!["Overloaded: broken"]),
        (R, "no_end", vec![r#"text "Ich lese beide 🌱."*"#, no_end]),
        (R, "broken_json", vec![r#"text "Ich lese ""#, "Protocol"]),
        (
            G,
            "ok",
            vec![
                r#"thinking "Zwei Noten …""#,
                r#"text "Ich lese beide 🌱.""#,
                r#"call local_0 read_file {"n":1.5,"path":"Gärten/ü.md"}*"#,
                "call local_1 list_tags {}*",
                "ToolUse",
            ],
        ),
        (G, "with_ids", vec![r#"call fc-1 read_file {"path":"a.md"}*"#, "ToolUse"]),
        (G, "named_reason", vec![r#"call fc-1 read_file {"path":"a.md"}*"#, "ToolUse"]),
        (
            G,
            "same_function",
            vec![
                r#"call local_0 read_file {"path":"a.md"}*"#,
                r#"call local_1 read_file {"path":"b.md"}*"#,
                "ToolUse",
            ],
        ),
        (G, "signed_text", vec![r#"text "Done.""#, r#"text ""*"#, "EndTurn"]),
        (G, "blocked", vec!["Refused: the prompt was blocked: PROHIBITED_CONTENT"]),
        (
            G,
            "malformed_call",
            vec![r#"text "half a ""#, "Protocol: the model erred: MALFORMED_FUNCTION_CALL print(x"],
        ),
        (G, "empty", vec!["EndTurn"]),
        (G, "safety", vec![r#"text "h""#, r#"Refusal("SAFETY")"#]),
        (G, "max_tokens", vec![r#"text "half""#, "MaxTokens"]),
        (G, "error_inside", vec![r#"text "half a ""#, "Overloaded: The model is overloaded."]),
        (G, "no_end", vec![r#"text "looks complete""#, no_end]),
        (G, "unknown", vec!["opaque*", r#"text "still here""#, "EndTurn"]),
        (G, "broken_json", vec![r#"text "so far""#, "Protocol"]),
    ]
}

#[test]
fn every_stream_gives_what_it_must_wherever_it_is_cut() {
    for (wire, name, expected) in cases() {
        let bytes = fixture(wire, name);
        let (whole, result) = read(wire, &bytes, bytes.len());
        let mut described = described(&result);
        // The JSON parser's own message about invalid JSON does not count.
        if expected.last() == Some(&"Protocol") {
            let last = described.last_mut().unwrap();
            assert!(last.starts_with("Protocol: an event has the wrong form"), "{last}");
            "Protocol".clone_into(last);
        }
        assert_eq!(described, expected, "{wire:?} {name}");
        check_events(&whole, &result, &format!("{wire:?} {name}"));
        let whole = plain(&format!("{whole:?} {result:?}"));
        for chunk in 1..bytes.len() {
            let (events, result) = read(wire, &bytes, chunk);
            let cut = plain(&format!("{events:?} {result:?}"));
            assert_eq!(cut, whole, "{wire:?} {name} by {chunk}");
        }
    }
}

/// The deltas add up to the blocks, and every block of a complete answer that began has ended once.
fn check_events(events: &[TurnEvent], result: &Result<Turn, LlmError>, name: &str) {
    let content = match result {
        Ok(turn) => &turn.content,
        Err(error) => &error.detail.partial,
    };
    for (index, block) in content.iter().enumerate() {
        let mut said = String::new();
        let (mut starts, mut ends) = (0, 0);
        for event in events {
            match event {
                TurnEvent::Start { block, .. } if *block == index => starts += 1,
                TurnEvent::End { block } if *block == index => ends += 1,
                TurnEvent::Text { block, delta }
                | TurnEvent::Thinking { block, delta }
                | TurnEvent::ToolArgs { block, delta }
                    if *block == index =>
                {
                    assert!(starts == 1 && ends == 0, "{name}: {event:?} within its block");
                    said.push_str(delta);
                }
                _ => {}
            }
        }
        match &block.kind {
            BlockKind::Text { text } | BlockKind::Thinking { text, redacted: false } => {
                assert_eq!(&said, text, "{name}");
            }
            BlockKind::ToolCall(call) => assert_eq!(ToolArgs::parse(&said), call.args, "{name}"),
            _ => assert_eq!((starts, ends), (0, 0), "{name}"),
        }
        assert!(ends == starts || result.is_err(), "{name}: block {index}");
    }
}

#[test]
fn every_fixture_is_a_case() {
    let cases = cases();
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini] {
        for entry in std::fs::read_dir(folder(wire)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(cases.iter().any(|case| case.0 == wire && case.1 == name), "{name}");
        }
    }
}

#[test]
fn a_stream_that_ends_anywhere_is_never_taken_for_a_whole_one() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini] {
        let bytes = fixture(wire, "ok");
        let (_, whole) = read(wire, &bytes, bytes.len());
        let whole = described(&whole);
        for end in 0..bytes.len() {
            if let (_, Ok(turn)) = read(wire, &bytes[..end], 64) {
                assert_eq!(described(&Ok(turn)), whole, "{wire:?} cut at {end}");
            }
        }
    }
}

#[test]
fn tokens_are_counted_once() {
    let expected = |reasoning| {
        Some(Usage { input: 1_225, cache_read: 1_000, cache_write: 0, output: 90, reasoning })
    };
    for wire in [Wire::Responses, Wire::Chat, Wire::Gemini] {
        let (_, turn) = read(wire, &fixture(wire, "ok"), 7);
        assert_eq!(turn.unwrap().usage, expected(Some(40)), "{wire:?}");
    }
    let (_, turn) = read(Wire::Anthropic, &fixture(Wire::Anthropic, "ok"), 7);
    let usage = Usage { cache_write: 200, ..expected(Some(40)).unwrap() };
    assert_eq!(turn.unwrap().usage, Some(usage));
    // The cost of an answer until its interruption is known too.
    let (_, broken) = read(Wire::Anthropic, &fixture(Wire::Anthropic, "error_inside"), 7);
    assert_eq!(broken.unwrap_err().detail.usage.unwrap().input, 25);
}

#[test]
fn an_answer_has_a_largest_size() {
    let read = |limit, stream: &[u8]| {
        let mut reading = ResponseDecoder::new(origin(Wire::Chat, "m"), false, limit);
        let mut events = Vec::new();
        stream.chunks(50).find_map(|part| reading.feed(part, &mut events).err())
    };
    let chunk = |text: &str| {
        let around = "a".repeat(200);
        format!(
            "data: {{\"id\":\"{around}\",\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
        )
    };
    let error = read(1_000, chunk("four").repeat(250).as_bytes()).unwrap();
    assert_eq!(error.kind, vault_steward::llm::ErrorKind::TooLarge);
    assert!(!error.detail.partial.is_empty() && !error.retry_same());
    // The framing of each piece does not count, or a paid answer would be lost.
    assert_eq!(read(1_000, chunk("four").repeat(150).as_bytes()), None);
    // Bytes without an answer do count.
    assert!(read(1_000, ": still here\n\n".repeat(100).as_bytes()).is_some());
    assert!(read(1_000, chunk("").repeat(10).as_bytes()).is_some());
}
