//! OpenAI's Chat Completions API, as spoken by Ollama, LM Studio, llama.cpp, vLLM and others.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::blocks::{Blocks, Draft};
use super::{
    Answer, Call, Decoder, Encoded, IMAGE_PLACEHOLDER, IdGenerator, Target, has_calls, plain_id,
};
use crate::llm::classify::{self, Head};
use crate::llm::error::LlmError;
use crate::llm::facts::ThinkingStyle;
use crate::llm::message::{Block, BlockKind, Message, Origin, ToolArgs, ToolResult, Usage};
use crate::llm::request::{Effort, ToolChoice, TurnRequest};
use crate::llm::sse::SseEvent;
use crate::llm::turn::{Stop, TurnEvent};

pub(super) fn encode(target: &Target, request: &TurnRequest) -> Encoded<Call> {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": &*request.system }));
    }
    for message in &request.messages {
        match message {
            Message::User { content } => {
                messages.extend(
                    user_content(target, content).map(|c| json!({"role": "user", "content": c})),
                );
            }
            Message::Notice { text } => {
                let role = if target.facts.notices.unwrap_or(false) { "system" } else { "user" };
                messages.push(json!({ "role": role, "content": text }));
            }
            Message::Assistant { content, origin } => {
                messages.extend(assistant_content(target, content, origin.as_ref()));
            }
            Message::ToolResults { results } => tool_results(target, results, &mut messages),
        }
    }
    let mut body = json!({
        "model": target.origin.model,
        "stream": true,
        // Without this, most servers do not report token usage.
        "stream_options": { "include_usage": true },
        "messages": messages,
    });
    let limit = match target.facts.max_completion_tokens {
        Some(true) => "max_completion_tokens",
        _ => "max_tokens",
    };
    body[limit] = target.output_tokens(request).into();
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({ "type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.schema,
            }})
        })
        .collect();
    if !tools.is_empty() {
        body["tools"] = tools.into();
        if request.tool_choice == ToolChoice::None {
            body["tool_choice"] = "none".into();
        }
    } else if has_calls(&request.messages) {
        // Some gateways reject a history with calls unless a tool is defined.
        body["tools"] = json!([{ "type": "function", "function": {
            "name": "none", "parameters": { "type": "object", "properties": {} },
        }}]);
        body["tool_choice"] = "none".into();
    }
    if target.facts.thinking == Some(ThinkingStyle::Effort)
        && let Some(effort) = request.effort.and_then(|effort| target.facts.effort(effort))
    {
        body["reasoning_effort"] = match effort {
            Effort::Off => "none",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High | Effort::Max => "high",
        }
        .into();
    }
    if let Some(temperature) = target.temperature(request) {
        body["temperature"] = temperature.into();
    }
    let url = format!("{}/chat/completions", target.origin.endpoint);
    Ok(Call { url, headers: Vec::new(), body: serde_json::to_vec(&body)? })
}

/// Text without images is sent as a string: not every server accepts a list of parts.
fn user_content(target: &Target, blocks: &[Block]) -> Option<Value> {
    let has_images = target.has_vision()
        && blocks.iter().any(|block| matches!(block.kind, BlockKind::Image { .. }));
    if has_images {
        let parts = blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::Text { text } if text.is_empty() => None,
            BlockKind::Text { text } => Some(json!({ "type": "text", "text": text })),
            BlockKind::Image { mime, base64 } => Some(image(mime, base64)),
            _ => None,
        });
        return Some(parts.collect());
    }
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match &block.kind {
            BlockKind::Text { text } if !text.is_empty() => Some(text.as_str()),
            BlockKind::Image { .. } => Some(IMAGE_PLACEHOLDER),
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n").into())
}

fn image(mime: &str, base64: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{mime};base64,{base64}") } })
}

/// One assistant message; `None` without text and calls, since servers reject empty messages.
fn assistant_content(target: &Target, blocks: &[Block], origin: Option<&Origin>) -> Option<Value> {
    let mut text = String::new();
    let mut calls = Vec::new();
    let mut message = Map::from_iter([("role".to_owned(), "assistant".into())]);
    for block in blocks {
        match &block.kind {
            BlockKind::Text { text: more } => text.push_str(more),
            BlockKind::ToolCall(call) => {
                // Invalid arguments go back as an empty object.
                let arguments = target
                    .native(block, origin)
                    .map_or_else(|| call.args.to_value().to_string(), str::to_owned);
                calls.push(json!({
                    "id": plain_id(&call.id), "type": "function",
                    "function": { "name": call.name, "arguments": arguments },
                }));
            }
            // Some models want their thinking back during tool use, under the field name they sent
            // it in.
            BlockKind::Thinking { text, .. } if target.facts.echo_thinking.unwrap_or(false) => {
                if let Some(field) = target.native(block, origin) {
                    let field = field.trim_matches('"');
                    message.insert(field.to_owned(), text.as_str().into());
                }
            }
            _ => {}
        }
    }
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    message.insert("content".to_owned(), if text.is_empty() { Value::Null } else { text.into() });
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    Some(Value::Object(message))
}

/// One message per result, then one user message with all images: tool results cannot hold images.
fn tool_results(target: &Target, results: &[ToolResult], messages: &mut Vec<Value>) {
    let mut images = Vec::new();
    for result in results {
        let mut content = result.text();
        if result.images().next().is_some() {
            let note = if target.has_vision() { "[its images follow]" } else { IMAGE_PLACEHOLDER };
            content = [content.as_str(), note].join("\n").trim().to_owned();
            images.extend(result.images().map(|(mime, base64)| image(mime, base64)));
        }
        if result.is_error {
            content = format!("error: {content}");
        }
        let id = plain_id(&result.call_id);
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
    }
    if target.has_vision() && !images.is_empty() {
        messages.push(json!({ "role": "user", "content": images }));
    }
}

#[derive(Default)]
pub(super) struct ChatDecoder {
    blocks: Blocks,
    ids: IdGenerator,
    /// The block that text or thinking continues.
    open: Option<usize>,
    /// Blocks of calls by the vendor's index; the latest if an index repeats.
    by_index: HashMap<u64, usize>,
    /// Calls that reused the id of an earlier call: block index and that id.
    renamed: Vec<(usize, String)>,
    /// The block of the latest call piece.
    last: Option<usize>,
    /// The state of the `<think>` tag parser.
    think_tag: ThinkTag,
    finish: Option<String>,
    refusal: String,
    usage: Option<Usage>,
}

/// The position within content that starts with `<think>`, cut anywhere. Servers without a parser
/// for a model's thinking send it this way.
#[derive(Default)]
enum ThinkTag {
    /// At the start of the answer. `MaybeOpen` holds what may be the opening tag.
    #[default]
    Start,
    MaybeOpen(String),
    /// Inside the tag; holds what may be the closing tag.
    Inside(String),
    /// After the closing tag: skip blank lines.
    After,
    Done,
}

const OPEN_TAG: &str = "<think>";
const CLOSE_TAG: &str = "</think>";

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Value,
    /// A server that does not stream uses this instead of `delta`.
    #[serde(default)]
    message: Value,
    #[serde(default)]
    finish_reason: Option<String>,
}

/// The field names that servers use for thinking.
const THINKING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<TurnEvent>) -> Result<bool, LlmError> {
        if event.data.trim() == "[DONE]" {
            return Ok(true);
        }
        let chunk: Chunk = super::parsed(&event.data)?;
        if !chunk.error.is_null() {
            let value = json!({ "error": chunk.error });
            return Err(classify::from_json(&Head::default(), &value));
        }
        self.count(&chunk.usage);
        // The last chunk holds the usage and no choices.
        let Some(choice) = chunk.choices.and_then(|choices| choices.into_iter().next()) else {
            return Ok(false);
        };
        let delta = if choice.delta.is_null() { &choice.message } else { &choice.delta };
        for name in THINKING_FIELDS {
            if let Some(text) = delta[name].as_str().filter(|text| !text.is_empty()) {
                self.think(Some(name), text, out);
                break;
            }
        }
        match &delta["content"] {
            Value::Array(parts) => parts.iter().for_each(|part| self.part(part, out)),
            content => self.content(content.as_str().unwrap_or_default(), out),
        }
        self.refusal.push_str(delta["refusal"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.flush_tag(out);
            self.call(call, out);
        }
        // A message in one piece is complete without a finish reason.
        let whole = choice.message.is_object().then(|| "stop".to_owned());
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()).or(whole) {
            self.finish = Some(reason);
        }
        Ok(false)
    }

    fn finish(&mut self, out: &mut Vec<TurnEvent>) -> Result<Answer, LlmError> {
        // `[DONE]` is optional, a finish reason is not.
        let reason = self.finish.take().ok_or_else(super::truncated)?;
        self.flush_tag(out);
        self.blocks.end_all(out);
        for block in 0..self.blocks.len() {
            if let Some(Draft::Call { args, .. }) = self.blocks.draft(block)
                && let ToolArgs::Object(_) = ToolArgs::parse(args)
                && !args.trim().is_empty()
            {
                // As the model wrote it, so that the server's prompt cache still matches.
                let native = args.clone();
                self.blocks.set_native(block, Some(native));
            }
        }
        let stop = match reason.as_str() {
            _ if !self.refusal.is_empty() => Stop::Refusal(std::mem::take(&mut self.refusal)),
            "length" => Stop::MaxTokens,
            "content_filter" => Stop::Refusal(reason),
            // Several servers report `stop` even with calls.
            _ if self.blocks.has_calls() => Stop::ToolUse,
            "stop" | "tool_calls" | "function_call" => Stop::EndTurn,
            _ => Stop::Other(reason),
        };
        Ok(Answer { content: self.blocks.take(), stop, usage: self.usage })
    }

    fn partial(&mut self) -> (Vec<Block>, Option<Usage>) {
        (self.blocks.take(), self.usage)
    }
}

impl ChatDecoder {
    /// A part of list content: text, or thinking with nested texts.
    fn part(&mut self, part: &Value, out: &mut Vec<TurnEvent>) {
        match &part["thinking"] {
            Value::Array(texts) => {
                let texts = texts.iter().filter_map(|text| text["text"].as_str());
                texts.for_each(|text| self.think(None, text, out));
            }
            Value::String(text) => self.think(None, text, out),
            _ => self.content(part["text"].as_str().unwrap_or_default(), out),
        }
    }

    fn content(&mut self, text: &str, out: &mut Vec<TurnEvent>) {
        if text.is_empty() {
            return;
        }
        match std::mem::replace(&mut self.think_tag, ThinkTag::Done) {
            ThinkTag::Start if self.open.is_none() => self.start_of_content(text.to_owned(), out),
            ThinkTag::Start | ThinkTag::Done => self.push_text(text, out),
            ThinkTag::MaybeOpen(before) => self.start_of_content(before + text, out),
            ThinkTag::Inside(before) => self.inside_tag(&(before + text), out),
            ThinkTag::After => self.after_tag(text, out),
        }
    }

    fn start_of_content(&mut self, text: String, out: &mut Vec<TurnEvent>) {
        let start = text.trim_start();
        if let Some(thought) = start.strip_prefix(OPEN_TAG) {
            self.inside_tag(thought, out);
        } else if OPEN_TAG.starts_with(start) {
            self.think_tag = ThinkTag::MaybeOpen(text);
        } else {
            self.push_text(&text, out);
        }
    }

    fn inside_tag(&mut self, text: &str, out: &mut Vec<TurnEvent>) {
        if let Some((thought, answer)) = text.split_once(CLOSE_TAG) {
            self.think(None, thought, out);
            return self.after_tag(answer, out);
        }
        let may_end = (1..CLOSE_TAG.len()).rev().find(|end| text.ends_with(&CLOSE_TAG[..*end]));
        let (thought, rest) = text.split_at(text.len() - may_end.unwrap_or(0));
        self.think(None, thought, out);
        self.think_tag = ThinkTag::Inside(rest.to_owned());
    }

    fn after_tag(&mut self, text: &str, out: &mut Vec<TurnEvent>) {
        match text.trim_start() {
            "" => self.think_tag = ThinkTag::After,
            answer => self.push_text(answer, out),
        }
    }

    /// At the end of the content: emits text held back as a possible tag.
    fn flush_tag(&mut self, out: &mut Vec<TurnEvent>) {
        match std::mem::replace(&mut self.think_tag, ThinkTag::Done) {
            ThinkTag::MaybeOpen(text) => self.push_text(&text, out),
            ThinkTag::Inside(text) => self.think(None, &text, out),
            _ => {}
        }
    }

    fn push_text(&mut self, text: &str, out: &mut Vec<TurnEvent>) {
        match self.open {
            Some(open) if matches!(self.blocks.draft(open), Some(Draft::Text(_))) => {
                self.blocks.add(open, text, out);
            }
            _ => {
                self.close(out);
                self.open = Some(self.blocks.start(Draft::Text(text.to_owned()), out));
            }
        }
    }

    /// Emits thinking. `name`: the field to send it back in.
    fn think(&mut self, name: Option<&str>, text: &str, out: &mut Vec<TurnEvent>) {
        match self.open {
            _ if text.is_empty() => {}
            Some(open) if matches!(self.blocks.draft(open), Some(Draft::Thinking { .. })) => {
                self.blocks.add(open, text, out);
            }
            _ => {
                self.close(out);
                let draft = Draft::Thinking { text: text.to_owned(), redacted: false };
                let open = self.blocks.start(draft, out);
                self.blocks.set_native(open, name.map(|name| format!("\"{name}\"")));
                self.open = Some(open);
            }
        }
    }

    fn close(&mut self, out: &mut Vec<TurnEvent>) {
        if let Some(open) = self.open.take() {
            self.blocks.end(open, out);
        }
    }

    /// Handles a piece of a call. The id identifies the call; the index does so only if no id
    /// contradicts it, because some servers give every call index 0. Without either, the piece
    /// continues the last call.
    fn call(&mut self, piece: &Value, out: &mut Vec<TurnEvent>) {
        let id = piece["id"].as_str().filter(|id| !id.is_empty());
        let index = piece["index"].as_u64();
        let function = &piece["function"];
        let name = function["name"].as_str().filter(|name| !name.is_empty());
        let args = match &function["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            // Some servers send an object instead of text.
            other => other.to_string(),
        };
        let numbered = index.and_then(|index| self.by_index.get(&index).copied());
        let known = match (id, name) {
            (Some(id), _) => numbered
                .filter(|block| self.has_id(*block, id))
                .or_else(|| self.find_call(id, name.and(index))),
            (None, None) => numbered.or(self.last),
            // A name without an id starts a new call, unless it repeats the name of a call that is
            // still incomplete.
            (None, Some(name)) => numbered.filter(|block| self.is_incomplete_call(*block, name)),
        };
        let block = match known {
            Some(block) => {
                self.blocks.add(block, &args, out);
                block
            }
            None => {
                self.close(out);
                let id = match id {
                    Some(id) if self.is_taken(id) => {
                        let own = self.ids.next();
                        self.renamed.push((self.blocks.len(), id.to_owned()));
                        own
                    }
                    Some(id) => id.to_owned(),
                    None => self.ids.next(),
                };
                let name = name.unwrap_or_default().to_owned();
                self.blocks.start(Draft::Call { id, name, args }, out)
            }
        };
        self.last = Some(block);
        if let Some(index) = index {
            self.by_index.insert(index, block);
        }
    }

    /// The block of the call with this id. A piece with a name and a new index is a new call if the
    /// call with this id has another index: some servers give all calls of an answer the same id.
    fn find_call(&self, id: &str, starts_at: Option<u64>) -> Option<usize> {
        let renamed = self.renamed.iter().rev().find(|(_, known)| known == id);
        let last = renamed.map(|(block, _)| *block).or_else(|| self.find_by_id(id))?;
        let is_new = starts_at.is_some_and(|index| {
            !self.by_index.contains_key(&index) && self.by_index.values().any(|one| *one == last)
        });
        (!is_new).then_some(last)
    }

    fn find_by_id(&self, id: &str) -> Option<usize> {
        (0..self.blocks.len()).find(
            |block| matches!(self.blocks.draft(*block), Some(Draft::Call { id: known, .. }) if known == id),
        )
    }

    fn is_taken(&self, id: &str) -> bool {
        self.find_by_id(id).is_some()
    }

    /// Whether the server sent the call with this id, even if it was renamed here.
    fn has_id(&self, block: usize, id: &str) -> bool {
        let renamed = self.renamed.iter().any(|(one, known)| *one == block && known == id);
        renamed || self.find_by_id(id) == Some(block)
    }

    fn is_incomplete_call(&self, block: usize, name: &str) -> bool {
        match self.blocks.draft(block) {
            Some(Draft::Call { name: known, args, .. }) => {
                known == name && !matches!(serde_json::from_str(args), Ok(Value::Object(_)))
            }
            _ => false,
        }
    }

    fn count(&mut self, usage: &Value) {
        // All chunks but the last have `null` usage.
        if usage.is_object() {
            let number = |value: &Value| value.as_u64().unwrap_or_default();
            let read = &usage["prompt_tokens_details"];
            self.usage = Some(Usage {
                input: number(&usage["prompt_tokens"]),
                cache_read: number(&read["cached_tokens"]),
                cache_write: number(&read["cache_write_tokens"]),
                output: number(&usage["completion_tokens"]),
                reasoning: usage["completion_tokens_details"]["reasoning_tokens"].as_u64(),
            });
        }
    }
}
