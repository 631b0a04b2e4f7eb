//! What a model is given, made from what is kept: it only ever grows at its end.
//!
//! A prompt that is sent again with more behind it is read from the vendor's cache, and some models
//! refuse their own thoughts where anything before them has changed. So the system prompt and the
//! tools are made once and kept, news comes as messages, and the same entries always make the same
//! bytes, after a restart too. Only where the window is nearly full is the head replaced by a
//! summary, once, and that is an entry like any other.

use std::sync::Arc;

use super::attached::Attached;
use super::entry::{Entry, result_text};
use super::wrap;
use crate::llm::{Block, BlockKind, Message, ToolArgs, ToolCall, ToolResult, ToolSpec};
use crate::policy::Scope;

/// The history is made shorter when it takes so much of the window, in hundredths.
const FULL: u64 = 80;
/// What is kept may take so much of the room that the history has, in hundredths.
const KEPT: u64 = 50;
/// The history has so much of the window, however much every request begins with, in hundredths.
const ROOM: u64 = 10;
/// Characters of one result in what a summary is made from.
const RESULT_IN_SUMMARY: usize = 600;
/// Characters of one message in it.
const MESSAGE_IN_SUMMARY: usize = 4_000;
/// What the last message of a person's that is left out is told after.
const LAST_MESSAGE: &str = "The user's last message was: ";
/// Tokens that an image counts for where nobody says better.
const IMAGE_TOKENS: f64 = 1_600.0;

/// A conversation as a model is given it.
#[derive(Debug, Clone)]
pub struct Context {
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    has_opening: bool,
    messages: Vec<Message>,
    /// Calls of the last answer, until each has its result.
    open: Vec<ToolCall>,
    results: Vec<ToolResult>,
    /// What vendors counted, against what was estimated.
    factor: f64,
    /// What the person wanted last, where that was left out.
    asked: String,
    /// What the least trusted of those may do whose words are in it.
    scope: Scope,
    /// Messages whose senders may do less than any program of the person's.
    limiting: usize,
}

/// What is left out, and how much stays.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// What goes, as plain text from which a summary can be made.
    pub dropped: String,
    /// The summary that needs no model.
    pub extract: String,
    /// What the person wants now, where it goes too; empty where it stays.
    pub asked: String,
    /// So many of the last messages stay.
    pub kept: usize,
}

/// What a model is told of a message that the person did not type.
fn foreign(scope: Scope) -> &'static str {
    match scope {
        Scope::Person | Scope::Client => "[said by a program that does not speak for the user]",
        Scope::Mcp => "[said by an MCP client, not by the user]",
        Scope::Voice => "[heard by a microphone or a service; it may not be what the user said]",
    }
}

impl Default for Context {
    fn default() -> Self {
        Self {
            system: "".into(),
            tools: Arc::new([]),
            has_opening: false,
            messages: Vec::new(),
            open: Vec::new(),
            results: Vec::new(),
            factor: 1.0,
            asked: String::new(),
            scope: Scope::Person,
            limiting: 0,
        }
    }
}

impl Context {
    /// The context that these entries make.
    pub fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut context = Self::default();
        entries.into_iter().for_each(|entry| context.push(entry));
        context
    }

    /// Takes one more entry, the newest.
    pub fn push(&mut self, entry: Entry) {
        match entry {
            Entry::Opening { system, tools } => {
                (self.system, self.tools) = (system.into(), tools.into());
                self.has_opening = true;
            }
            Entry::Message { mut message, scope, attached, .. } => {
                // Whoever keeps entries fills them first; this keeps the history valid in any case.
                for call in self.missing() {
                    self.take(unknown(&call));
                }
                if let Message::Assistant { content, .. } = &message {
                    self.open = content.iter().filter_map(Block::call).cloned().collect();
                }
                if let Message::User { content } = &mut message {
                    content.extend(attached.blocks());
                }
                if let (Some(scope), Message::User { content }) = (scope, &mut message) {
                    self.scope = self.scope.max(scope);
                    self.limiting += usize::from(scope > Scope::Client);
                    content.insert(0, Block::text(foreign(scope)));
                }
                self.messages.push(message);
            }
            Entry::Result { result } => self.take(result),
            Entry::Sent { .. } => {}
            Entry::Trimmed { summary, asked, kept } => {
                let from = self.messages.len().saturating_sub(kept);
                let told = self.messages.split_off(from);
                self.messages.clear();
                self.messages.push(Message::Notice { text: in_its_place(&summary, &asked) });
                // Where something between is damaged, results may have lost their calls.
                let is_result = |message: &Message| matches!(message, Message::ToolResults { .. });
                let told = told.into_iter().skip_while(is_result);
                self.messages.extend(told.filter_map(without_thinking));
                self.asked = asked;
            }
        }
    }

    fn take(&mut self, result: ToolResult) {
        let is_open = self.missing().iter().any(|call| call.id == result.call_id);
        if !is_open {
            return;
        }
        self.results.push(result);
        if self.results.len() < self.open.len() {
            return;
        }
        let mut results = std::mem::take(&mut self.results);
        let ordered = self.open.drain(..).map(|call| {
            let at = results.iter().position(|result| result.call_id == call.id);
            results.remove(at.expect("every call has its result"))
        });
        let results = ordered.collect();
        self.messages.push(Message::ToolResults { results });
    }

    /// The calls that have no result yet: of a turn that is at work, or was cut short.
    pub fn missing(&self) -> Vec<ToolCall> {
        let mut had: Vec<&str> = self.results.iter().map(|one| one.call_id.as_str()).collect();
        let mut missing = self.open.clone();
        missing.retain(|call| match had.iter().position(|id| *id == call.id) {
            Some(at) => {
                had.swap_remove(at);
                false
            }
            None => true,
        });
        missing
    }

    /// What the least trusted of those may do whose words are in it, also in what a summary tells of
    /// them: whatever a model does may have come of those.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// How many messages are in it whose senders may do less than any program of the person's.
    pub fn limiting(&self) -> usize {
        self.limiting
    }

    /// Whether the conversation has its system prompt and tools.
    pub fn has_opening(&self) -> bool {
        self.has_opening
    }

    /// The system prompt.
    pub fn system(&self) -> &Arc<str> {
        &self.system
    }

    /// The tools.
    pub fn tools(&self) -> &Arc<[ToolSpec]> {
        &self.tools
    }

    /// The history, whole: no call is without its result.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// About how many tokens it takes.
    pub fn tokens(&self) -> u64 {
        (self.estimate() * self.factor) as u64
    }

    fn estimate(&self) -> f64 {
        self.opening() + self.messages.iter().map(weight).sum::<f64>()
    }

    /// What every request begins with.
    fn opening(&self) -> f64 {
        let tools: f64 = self
            .tools
            .iter()
            .map(|tool| {
                let schema = tool.schema.to_string();
                tokens_of(&tool.description) + tokens_of(&schema) + 10.0
            })
            .sum();
        tokens_of(&self.system) + tools
    }

    /// How many tokens of a window the messages may take, as this context estimates them: what every
    /// request begins with takes its part first, and cannot go.
    fn room(&self, window: u64) -> f64 {
        let opening = self.opening() * self.factor;
        let room = (window * FULL / 100) as f64 - opening;
        room.max((window * ROOM / 100) as f64) / self.factor
    }

    /// Learns from what a vendor counted for the history as it was asked, `messages` long.
    pub fn counted(&mut self, input: u64, messages: usize) {
        let later: f64 = self.messages.iter().skip(messages).map(weight).sum();
        let estimate = self.estimate() - later;
        if input > 0 && estimate > 0.0 {
            self.factor = (input as f64 / estimate).clamp(0.25, 4.0);
        }
    }

    /// Whether it takes so much of a window that it has to be made shorter.
    pub fn is_full(&self, window: u64) -> bool {
        self.messages.iter().map(weight).sum::<f64>() > self.room(window)
    }

    /// What to leave out so that much less of the window is taken; `None` where nothing can be.
    /// A call stays with its results. Where the history was `refused` as too long, whatever was
    /// estimated, at most half of it is kept.
    pub fn cut(&self, window: u64, refused: bool) -> Option<Cut> {
        let mut room = self.room(window);
        if refused {
            room = room.min(self.messages.iter().map(weight).sum());
        }
        let mut left = room * KEPT as f64 / 100.0;
        let mut from = self.messages.len();
        let mut kept = from;
        while from > 0 {
            left -= weight(&self.messages[from - 1]);
            if left < 0.0 && kept < self.messages.len() {
                break;
            }
            from -= 1;
            // Results stand behind their calls.
            if !matches!(self.messages[from], Message::ToolResults { .. }) {
                kept = from;
            }
        }
        let dropped = &self.messages[..kept];
        let worth = dropped.iter().filter(|one| !matches!(one, Message::Notice { .. })).count();
        if worth == 0 {
            return None;
        }
        let told = &self.messages[kept..];
        let is_user = |message: &&Message| matches!(message, Message::User { .. });
        // What the person wants now must not be lost among what they wanted before.
        let asked = match dropped.iter().rfind(is_user) {
            _ if told.iter().any(|message| is_user(&message)) => String::new(),
            Some(last) => short(&message_text(last), MESSAGE_IN_SUMMARY),
            None => self.asked.clone(),
        };
        let lines: Vec<String> = dropped.iter().map(transcript).collect();
        let kept = self.messages.len() - kept;
        Some(Cut { dropped: lines.join("\n"), extract: extract(dropped), asked, kept })
    }
}

/// The result of a call of which nobody knows what came of it.
pub fn unknown(call: &ToolCall) -> ToolResult {
    filled(
        call,
        "unknown: the steward ended before this call did. It may have been done or not: look at \
         list_changes before doing it again",
    )
}

/// A result of ours for a call that has none.
pub fn filled(call: &ToolCall, why: &str) -> ToolResult {
    ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: vec![Block::text(why)],
        is_error: true,
    }
}

/// The notice that stands for what was left out. A summary is made of what notes say too, so that it
/// is marked like them; what the person wants stands outside.
fn in_its_place(summary: &str, asked: &str) -> String {
    let summary = wrap::data(summary, usize::MAX);
    let mut text = format!(
        "Earlier parts of this conversation were left out to make room; this is what they came \
         to.\n{summary}"
    );
    if !asked.is_empty() {
        text.push_str(&format!("\n{LAST_MESSAGE}{asked}"));
    }
    text
}

/// The meaning of a message alone: thinking is bound to all that came before it, and other items of
/// a vendor's are bound to the thinking.
fn without_thinking(message: Message) -> Option<Message> {
    let Message::Assistant { content, .. } = message else { return Some(message) };
    let content: Vec<Block> = content
        .into_iter()
        .filter(|block| !matches!(block.kind, BlockKind::Thinking { .. } | BlockKind::Opaque))
        .map(|block| Block { native: None, ..block })
        .collect();
    (!content.is_empty()).then_some(Message::Assistant { content, origin: None })
}

fn weight(message: &Message) -> f64 {
    let blocks = |content: &[Block]| -> f64 { content.iter().map(block_tokens).sum() };
    let tokens = match message {
        Message::User { content } | Message::Assistant { content, .. } => blocks(content),
        Message::ToolResults { results } => {
            results.iter().map(|result| blocks(&result.content) + 12.0).sum()
        }
        Message::Notice { text } => tokens_of(text),
    };
    tokens + 6.0
}

fn block_tokens(block: &Block) -> f64 {
    match (&block.kind, &block.native) {
        (BlockKind::Image { .. }, _) => IMAGE_TOKENS,
        // What goes back as it came is counted as it came; a signature among it costs too.
        (_, Some(native)) => tokens_of(native),
        (BlockKind::Text { text } | BlockKind::Thinking { text, .. }, None) => tokens_of(text),
        (BlockKind::ToolCall(call), None) => {
            tokens_of(&call.name) + tokens_of(&arguments(call)) + 12.0
        }
        (BlockKind::Opaque, None) => 0.0,
    }
}

/// About four letters make a token in English, fewer in most other languages.
fn tokens_of(text: &str) -> f64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - ascii;
    ascii as f64 / 3.6 + others as f64 / 1.4
}

fn arguments(call: &ToolCall) -> String {
    match &call.args {
        ToolArgs::Object(map) => serde_json::Value::Object(map.clone()).to_string(),
        ToolArgs::Invalid(text) => text.clone(),
    }
}

fn message_text(message: &Message) -> String {
    Entry::Message {
        message: message.clone(),
        id: None,
        source: None,
        scope: None,
        attached: Attached::default(),
    }
    .text()
}

/// A message as a line or two of plain text.
fn transcript(message: &Message) -> String {
    match message {
        Message::User { .. } => {
            format!("User: {}", short(&message_text(message), MESSAGE_IN_SUMMARY))
        }
        Message::Notice { text } => format!("Note: {}", short(text, MESSAGE_IN_SUMMARY)),
        Message::Assistant { content, .. } => {
            let mut text = format!("You: {}", short(&message_text(message), MESSAGE_IN_SUMMARY));
            for call in content.iter().filter_map(Block::call) {
                let arguments = short(&arguments(call), RESULT_IN_SUMMARY);
                text.push_str(&format!("\nYou called {} {arguments}", call.name));
            }
            text
        }
        Message::ToolResults { results } => {
            let lines = results.iter().map(|result| {
                let failed = if result.is_error { " failed" } else { "" };
                let text = short(&result_text(result), RESULT_IN_SUMMARY);
                format!("{}{failed}: {text}", result.name)
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

/// What was asked, and which tools were called on what, without a model's help.
fn extract(messages: &[Message]) -> String {
    let mut lines = Vec::new();
    for message in messages {
        match message {
            Message::User { .. } => {
                lines.push(format!("- the user: {}", short(&message_text(message), 300)));
            }
            Message::Assistant { content, .. } => {
                let text = message_text(message);
                if !text.is_empty() {
                    lines.push(format!("- you: {}", short(&text, 200)));
                }
                for call in content.iter().filter_map(Block::call) {
                    lines.push(format!(
                        "- you called {} {}",
                        call.name,
                        short(&arguments(call), 120)
                    ));
                }
            }
            // An earlier summary is handed on.
            Message::Notice { text } if text.starts_with("Earlier parts") => {
                lines.push(short(text, 1_500));
            }
            Message::Notice { .. } | Message::ToolResults { .. } => {}
        }
    }
    // The newest matter most.
    let skipped = lines.len().saturating_sub(60);
    let mut text = lines.split_off(skipped).join("\n");
    if skipped > 0 {
        text = format!("({skipped} older steps are not told)\n{text}");
    }
    text
}

/// The head of a text, on one line, with an ellipsis where more follows.
fn short(text: &str, most: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", &words[..cut]),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Map;

    use super::*;
    use crate::llm::{Origin, Wire};

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
            attached: Attached::default(),
        }
    }

    fn user(text: &str) -> Entry {
        Entry::Message {
            message: Message::user(text),
            id: None,
            source: None,
            scope: None,
            attached: Attached::default(),
        }
    }

    fn result(id: &str) -> Entry {
        let result = ToolResult {
            call_id: id.into(),
            name: "read_file".into(),
            content: vec![Block::text(id)],
            is_error: false,
        };
        Entry::Result { result }
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
    fn what_is_missing_is_filled_before_anything_follows() {
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
    fn a_cut_keeps_the_newest_and_what_the_user_wants() {
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
        // Counted anew by the vendor, the estimate follows.
        let messages = context.messages().len();
        context.counted(context.tokens() * 2, messages);
        assert!(context.is_full(window));
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
        // The opening alone takes most of what may be used.
        let window = opening * 10 / 7;
        assert!(context.is_full(window), "{all} of {window}");
        let Cut { extract, asked, kept, .. } = context.cut(window, false).unwrap();
        context.push(Entry::Trimmed { summary: extract.chars().take(200).collect(), asked, kept });
        assert!(!context.is_full(window), "{} of {window}", context.tokens());
        // Once more is not wanted before something is added.
        assert!(kept > 2, "{kept}");
    }

    #[test]
    fn what_was_refused_as_too_long_is_cut_though_it_seemed_to_fit() {
        let mut context = Context::of(long(40));
        let (window, before) = (context.tokens() * 10, context.tokens());
        assert_eq!(context.cut(window, false), None, "all of it seems to fit");
        let Cut { extract, asked, kept, .. } = context.cut(window, true).unwrap();
        let summary = extract.chars().take(100).collect();
        context.push(Entry::Trimmed { summary, asked, kept });
        assert!(context.tokens() < before * 6 / 10, "{} of {before}", context.tokens());
        // What the person wanted is told after another cut too.
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
}
