//! Renders the events of a conversation. Pure: events in, text out.

use std::collections::HashMap;

use super::calls::Calls;
use super::look::{Look, Message};
use super::markdown::style::Style;
use super::safe;
use crate::note::counted::counted;
use crate::protocol::events::ChangeSetInfo;
use crate::protocol::session::{Cost, MessageKind, MessageParams, SessionUpdate, ToolCallContent};
use crate::protocol::tools::Content;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputPart {
    /// A piece of the agent's text.
    Answer(String),
    /// Whole lines of remarks.
    Remark(String),
}

/// The part of the model's context window in use, and the cost.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowUse {
    used: u64,
    size: u64,
    cost: Option<Cost>,
}

#[derive(Debug)]
pub struct Transcript {
    look: Look,
    /// Separates text from remarks by an empty line.
    airy: bool,
    /// Shows messages only once they are complete: text written into a pipe cannot be removed.
    whole_only: bool,
    /// A complete message, held back until it is known to be the model's.
    held_back: Option<String>,
    open: Option<(String, Message)>,
    /// The received text of each message of the turn.
    streamed: HashMap<String, String>,
    /// The last message that was shown in full, and its turn.
    whole: Option<(String, String)>,
    calls: Calls,
    /// The change sets of the turn, in order.
    changes: Vec<u64>,
    used: Option<WindowUse>,
    last: LastOutput,
}

/// The kind of output shown last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastOutput {
    Nothing,
    Answer,
    Remark,
}

impl Transcript {
    pub fn new(look: Look, airy: bool) -> Self {
        Self {
            look,
            airy,
            whole_only: false,
            held_back: None,
            open: None,
            streamed: HashMap::new(),
            whole: None,
            calls: Calls::default(),
            changes: Vec::new(),
            used: None,
            last: LastOutput::Nothing,
        }
    }

    /// Shows messages only once they are complete; an interrupted one becomes a remark.
    pub fn whole_only(self) -> Self {
        Self { whole_only: true, ..self }
    }

    /// Shows the held-back message.
    pub fn release(&mut self) -> Vec<OutputPart> {
        let Some(text) = self.held_back.take() else { return Vec::new() };
        let mut message = self.look.message();
        let shown = message.push(&text) + &message.finish();
        self.last = LastOutput::Answer;
        vec![OutputPart::Answer(shown)]
    }

    /// Drops the held-back message: it is reported in another way.
    pub fn discard_held_back(&mut self) {
        self.held_back = None;
    }

    /// Begins a turn and forgets the one before.
    pub fn begin(&mut self) {
        self.open = None;
        self.streamed.clear();
        self.calls.clear();
        self.changes.clear();
        self.last = LastOutput::Nothing;
    }

    /// Ends the turn; returns the rest of its output.
    pub fn end(&mut self) -> Vec<OutputPart> {
        let mut out = Vec::new();
        self.close(&mut out);
        let sets = self.changes.len();
        if sets > 0 {
            let changes = counted(sets, "change");
            // After a single message there is nobody left to type `/undo`.
            let words = match (self.airy, &self.changes[..]) {
                (true, _) => format!("{changes}; /undo undoes all of it\n"),
                (false, [only]) => format!("{changes}; `steward undo {only}` undoes it\n"),
                (false, _) => {
                    format!("{changes}; `steward log` lists them, `steward undo N` undoes one\n")
                }
            };
            let words = self.look.paint(Style::DIM, &words);
            self.remark(words, &mut out);
        }
        out
    }

    /// A line was typed: further output goes below it.
    pub fn typed(&mut self) {
        self.last = LastOutput::Nothing;
    }

    /// The current activity in a few words; `None` while text is arriving.
    pub fn doing(&self) -> Option<String> {
        if self.open.is_some() {
            return None;
        }
        let working = self.calls.working();
        Some(working.map_or_else(|| "thinking".to_owned(), |call| call.title()))
    }

    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Takes the change sets of the turn, to undo them.
    pub fn take_changes(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.changes)
    }

    /// The usage as one line; `None` if it is unknown.
    pub fn used(&self) -> Option<String> {
        let WindowUse { used, size, cost } = self.used.as_ref()?;
        let percent = (used * 100).checked_div(*size).unwrap_or(0);
        let cost = cost.as_ref().map(|cost| {
            format!("; about {:.4} {} in this run", cost.amount, safe::line(&cost.currency))
        });
        let cost = cost.unwrap_or_default();
        Some(format!("{used} of {size} tokens of the model's window ({percent} %){cost}"))
    }

    /// Records a change set that was applied in this conversation.
    pub fn changed(&mut self, set: &ChangeSetInfo) {
        if set.undoes.is_none() && !self.changes.contains(&set.id) {
            self.changes.push(set.id);
        }
    }

    /// Handles an update; `ours` are the messages that this client sent.
    pub fn update(&mut self, update: &SessionUpdate, ours: bool) -> Vec<OutputPart> {
        let mut out = Vec::new();
        match update {
            SessionUpdate::UserMessageChunk { content: Content::Text { text }, meta, .. } => {
                if !ours {
                    let source = meta.as_ref().map(|meta| safe::line(&meta.vault.source));
                    let source = source.filter(|source| !source.is_empty());
                    let source = source.map(|source| format!("({source}) ")).unwrap_or_default();
                    let words = format!("» {source}{}\n", safe::lines(text.trim_end()));
                    let words = self.look.paint(Style::BOLD, &words);
                    self.remark(words, &mut out);
                }
            }
            SessionUpdate::AgentMessageChunk { content: Content::Text { text }, message_id } => {
                self.piece(message_id, text, &mut out);
            }
            SessionUpdate::ToolCall { tool_call_id, raw_input, meta, .. } => {
                self.close(&mut out);
                out.extend(self.release());
                self.calls.begin(tool_call_id, &meta.vault.tool, raw_input);
            }
            SessionUpdate::ToolCallUpdate { tool_call_id, status, content, raw_output, .. } => {
                let texts = content.iter().map(|one| {
                    let ToolCallContent::Content { content: Content::Text { text } } = one;
                    text.as_str()
                });
                let text = texts.collect::<Vec<_>>().join("\n");
                let look = self.look;
                let ended = self.calls.update(tool_call_id, *status, &text, raw_output.as_ref());
                let line = ended.filter(|call| !call.is_silent()).map(|call| call.line(look));
                if let Some(line) = line {
                    self.remark(line, &mut out);
                }
            }
            SessionUpdate::UsageUpdate { used, size, cost } => {
                self.used = Some(WindowUse { used: *used, size: *size, cost: cost.clone() });
            }
            SessionUpdate::Notice { severity, title, description } => {
                let style = match &**severity {
                    "error" => Style::RED,
                    "warning" => Style::YELLOW,
                    _ => Style::DIM,
                };
                let more = description.as_deref().map(|more| format!(": {}", safe::line(more)));
                let words = format!("{}{}", safe::line(title), more.unwrap_or_default());
                let words = self.look.paint(style, &words) + "\n";
                self.remark(words, &mut out);
            }
            SessionUpdate::AgentThoughtChunk { .. } | SessionUpdate::SessionInfoUpdate { .. } => {}
        }
        out
    }

    /// Handles a message that is complete or was discarded.
    pub fn message(&mut self, message: &MessageParams) -> Vec<OutputPart> {
        let mut out = Vec::new();
        if message.kind == MessageKind::Void {
            self.close(&mut out);
            if self.streamed.remove(&message.message_id).is_some() {
                let words = "the answer was interrupted and discarded; asking again\n";
                let words = self.look.paint(Style::DIM, words);
                self.remark(words, &mut out);
            }
            return out;
        }
        if self.whole_only {
            return self.take_whole(message);
        }
        let streamed = self.streamed.get(&message.message_id).map_or("", String::as_str);
        // Usually nothing is missing: all pieces have arrived before.
        match message.text.strip_prefix(streamed).map(str::to_owned) {
            Some(missing) => self.piece(&message.message_id, &missing, &mut out),
            // Trailing spaces that were cut off do not count as a difference.
            None if streamed.trim_end() == message.text.trim_end() => {}
            None => {
                self.close(&mut out);
                self.streamed.remove(&message.message_id);
                let words = "a part was missed; here is all of it:\n";
                let words = self.look.paint(Style::DIM, words);
                self.remark(words, &mut out);
                self.piece(&message.message_id, &message.text, &mut out);
            }
        }
        self.close(&mut out);
        if let Some(turn) = &message.meta.vault.turn {
            self.whole = Some((turn.clone(), message.text.clone()));
        }
        out
    }

    fn take_whole(&mut self, message: &MessageParams) -> Vec<OutputPart> {
        let mut out = self.release();
        match message.kind {
            MessageKind::Part => {
                let words = format!("{}\n", safe::lines(message.text.trim_end()));
                let words = self.look.paint(Style::DIM, &words);
                self.remark(words, &mut out);
            }
            _ => self.held_back = Some(message.text.clone()),
        }
        if let Some(turn) = &message.meta.vault.turn {
            self.whole = Some((turn.clone(), message.text.clone()));
        }
        out
    }

    /// The last message of a turn, from the turn's answer: shown if the connection was down while
    /// it was sent.
    pub fn answer(&mut self, turn: &str, text: &str) -> Vec<OutputPart> {
        let mut out = Vec::new();
        let known = (turn.to_owned(), text.to_owned());
        if text.is_empty() || self.whole.as_ref() == Some(&known) {
            return out;
        }
        self.whole = Some(known);
        if self.whole_only {
            out.extend(self.release());
            self.held_back = Some(text.to_owned());
            return out;
        }
        self.close(&mut out);
        self.piece("", text, &mut out);
        self.close(&mut out);
        out
    }

    /// A remark of this program.
    pub fn styled_line(&mut self, style: Style, words: &str) -> Vec<OutputPart> {
        let mut out = Vec::new();
        self.close(&mut out);
        let line = self.look.paint(style, words) + "\n";
        self.remark(line, &mut out);
        out
    }

    fn piece(&mut self, id: &str, text: &str, out: &mut Vec<OutputPart>) {
        if text.is_empty() {
            return;
        }
        if self.whole_only {
            self.streamed.entry(id.to_owned()).or_default().push_str(text);
            return;
        }
        if self.open.as_ref().is_none_or(|(open, _)| open != id) {
            self.close(out);
            if self.airy && self.last != LastOutput::Nothing {
                out.push(OutputPart::Answer("\n".to_owned()));
            }
            self.open = Some((id.to_owned(), self.look.message()));
        }
        self.streamed.entry(id.to_owned()).or_default().push_str(text);
        self.last = LastOutput::Answer;
        if let Some((_, message)) = &mut self.open {
            let shown = message.push(text);
            if !shown.is_empty() {
                out.push(OutputPart::Answer(shown));
            }
        }
    }

    fn close(&mut self, out: &mut Vec<OutputPart>) {
        if let Some((_, mut message)) = self.open.take() {
            let shown = message.finish();
            if !shown.is_empty() {
                out.push(OutputPart::Answer(shown));
            }
        }
    }

    fn remark(&mut self, lines: String, out: &mut Vec<OutputPart>) {
        self.close(out);
        if self.airy && self.last == LastOutput::Answer {
            out.push(OutputPart::Remark("\n".to_owned()));
        }
        self.last = LastOutput::Remark;
        out.push(OutputPart::Remark(lines));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn transcript() -> Transcript {
        Transcript::new(Look { styled: false, live: false }, true)
    }

    fn apply(transcript: &mut Transcript, update: serde_json::Value) -> String {
        text(transcript.update(&serde_json::from_value(update).unwrap(), false))
    }

    fn text(shown: Vec<OutputPart>) -> String {
        shown
            .into_iter()
            .map(|(OutputPart::Answer(text) | OutputPart::Remark(text))| text)
            .collect()
    }

    fn piece(text: &str) -> serde_json::Value {
        json!({"sessionUpdate": "agent_message_chunk", "messageId": "m",
            "content": {"type": "text", "text": text}})
    }

    fn message(kind: &str, text: &str) -> MessageParams {
        serde_json::from_value(json!({"sessionId": "1", "messageId": "m", "kind": kind,
            "text": text, "_meta": {"vault": {"seq": 1}}}))
        .unwrap()
    }

    #[test]
    fn missed_text_is_shown_and_nothing_twice() {
        let mut transcript = transcript();
        assert_eq!(apply(&mut transcript, piece("Hel")), "Hel");
        assert_eq!(apply(&mut transcript, piece("lo")), "lo");
        assert_eq!(text(transcript.message(&message("answer", "Hello there"))), " there\n");
        assert_eq!(text(transcript.message(&message("answer", "Hello there"))), "");
        assert_eq!(text(transcript.end()), "");
    }

    #[test]
    fn a_missed_answer_is_shown_when_complete() {
        let mut transcript = transcript();
        let answer_update = |turn: &str, text: &str| {
            let mut message = message("answer", text);
            message.meta.vault.turn = Some(turn.to_owned());
            message
        };
        assert_eq!(text(transcript.message(&answer_update("7", "Done."))), "Done.\n");
        assert_eq!(text(transcript.answer("7", "Done.")), "", "it was heard");
        transcript.begin();
        assert_eq!(text(transcript.answer("8", "Done.")), "Done.\n", "that of another turn");
        assert_eq!(text(transcript.answer("8", "Done.")), "");
        assert_eq!(text(transcript.answer("9", "")), "");
        // The client got the beginning, but not the end.
        transcript.begin();
        apply(&mut transcript, piece("I lo"));
        assert_eq!(text(transcript.answer("10", "I looked.")), "\n\nI looked.\n");
    }

    #[test]
    fn a_message_with_a_hole_is_shown_again_whole() {
        let mut transcript = transcript();
        apply(&mut transcript, piece("one "));
        apply(&mut transcript, piece("three"));
        let shown = text(transcript.message(&message("answer", "one two three")));
        assert_eq!(shown, "\n\na part was missed; here is all of it:\n\none two three\n");
        // An answer that was only cut off at its end is not.
        transcript.begin();
        apply(&mut transcript, piece("stopped \n"));
        assert_eq!(text(transcript.message(&message("part", "stopped"))).trim(), "");
    }

    #[test]
    fn an_interrupted_message_is_marked() {
        let mut transcript = transcript();
        apply(&mut transcript, piece("Hel"));
        let shown = text(transcript.message(&message("void", "")));
        assert_eq!(shown, "\n\nthe answer was interrupted and discarded; asking again\n");
        assert_eq!(apply(&mut transcript, piece("Hi")), "\nHi");
    }

    #[test]
    fn calls_notices_and_other_messages_have_their_own_lines() {
        let mut transcript = transcript();
        apply(&mut transcript, piece("I look"));
        assert_eq!(transcript.doing(), None);
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Read",
            "kind": "read", "status": "pending", "locations": [], "rawInput": {"path": "a.md"},
            "_meta": {"vault": {"tool": "read_file"}}});
        assert_eq!(apply(&mut transcript, call), "\n");
        assert_eq!(transcript.doing().unwrap(), "read_file a.md");
        let over = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1",
            "status": "completed", "content": [
                {"type": "content", "content": {"type": "text", "text": "the note"}}]});
        assert_eq!(apply(&mut transcript, over), "\n● read_file a.md ✓\n");
        let notice = json!({"sessionUpdate": "notice", "severity": "warning",
            "title": "asked again", "description": "it was busy\u{1b}[2J"});
        assert_eq!(apply(&mut transcript, notice), "asked again: it was busy\n");
        let other = json!({"sessionUpdate": "user_message_chunk", "messageId": "u",
            "content": {"type": "text", "text": "and me"},
            "_meta": {"vault": {"source": "voice"}}});
        assert_eq!(apply(&mut transcript, other), "» (voice) and me\n");
        assert_eq!(apply(&mut transcript, piece("Done")), "\nDone");
        let usage = json!({"sessionUpdate": "usage_update", "used": 500, "size": 1000,
            "cost": {"amount": 0.01234, "currency": "USD"}});
        assert_eq!(apply(&mut transcript, usage), "");
        let used = "500 of 1000 tokens of the model's window (50 %); about 0.0123 USD in this run";
        assert_eq!(transcript.used().unwrap(), used);
    }
}
