//! OpenAI's Chat Completions, as everyone speaks it: Ollama, LM Studio, llama.cpp, vLLM and more.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::blocks::{Blocks, Draft};
use super::{Answer, Call, Decoder, Encoded, Ids, Target, UNSEEN, has_calls, plain_id};
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
                messages
                    .extend(given(target, content).map(|c| json!({"role": "user", "content": c})));
            }
            Message::Notice { text } => {
                let role = if target.facts.notices.unwrap_or(false) { "system" } else { "user" };
                messages.push(json!({ "role": role, "content": text }));
            }
            Message::Assistant { content, origin } => {
                messages.extend(answered(target, content, origin.as_ref()));
            }
            Message::ToolResults { results } => tool_results(target, results, &mut messages),
        }
    }
    let mut body = json!({
        "model": target.origin.model,
        "stream": true,
        // Without it most servers do not say what an answer cost.
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
        // Some gateways refuse a history with calls where no tool is named.
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
    let url = format!("{}/chat/completions", target.origin.endpoint);
    Ok(Call { url, headers: Vec::new(), body: serde_json::to_vec(&body)? })
}

/// A plain text as a text: not every server takes a list of parts.
fn given(target: &Target, blocks: &[Block]) -> Option<Value> {
    let has_images =
        target.sees() && blocks.iter().any(|block| matches!(block.kind, BlockKind::Image { .. }));
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
            BlockKind::Image { .. } => Some(UNSEEN),
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n").into())
}

fn image(mime: &str, base64: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{mime};base64,{base64}") } })
}

/// One message; without text and calls none, since an empty one is refused.
fn answered(target: &Target, blocks: &[Block], origin: Option<&Origin>) -> Option<Value> {
    let mut text = String::new();
    let mut calls = Vec::new();
    let mut message = Map::from_iter([("role".to_owned(), "assistant".into())]);
    for block in blocks {
        match &block.kind {
            BlockKind::Text { text: more } => text.push_str(more),
            BlockKind::ToolCall(call) => {
                // Invalid arguments go back as they were only as an empty object.
                let arguments = target
                    .native(block, origin)
                    .map_or_else(|| call.args.to_value().to_string(), str::to_owned);
                calls.push(json!({
                    "id": plain_id(&call.id), "type": "function",
                    "function": { "name": call.name, "arguments": arguments },
                }));
            }
            // Some want their thinking back while they work with tools, under the name they gave it.
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

/// One message a result, then one of the user's with all images: results take none.
fn tool_results(target: &Target, results: &[ToolResult], messages: &mut Vec<Value>) {
    let mut images = Vec::new();
    for result in results {
        let mut content = result.text();
        if result.images().next().is_some() {
            let note = if target.sees() { "[its images follow]" } else { UNSEEN };
            content = [content.as_str(), note].join("\n").trim().to_owned();
            images.extend(result.images().map(|(mime, base64)| image(mime, base64)));
        }
        if result.is_error {
            content = format!("error: {content}");
        }
        let id = plain_id(&result.call_id);
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
    }
    if target.sees() && !images.is_empty() {
        messages.push(json!({ "role": "user", "content": images }));
    }
}

/// Reads an answer.
#[derive(Default)]
pub(super) struct Reader {
    blocks: Blocks,
    ids: Ids,
    /// The block that text and thinking go on in.
    open: Option<usize>,
    /// The block of the call that was spoken of last under a vendor's number.
    by_index: HashMap<u64, usize>,
    /// Calls that came with the id of another one, and that id.
    renamed: Vec<(usize, String)>,
    /// The call that was spoken of last.
    last: Option<usize>,
    /// What was read of content that may be thinking between tags.
    tagged: Tagged,
    finish: Option<String>,
    refusal: String,
    usage: Option<Usage>,
}

/// Where content stands that begins with `<think>`: servers without a parser for a model's thinking
/// send it so, cut anywhere.
#[derive(Default)]
enum Tagged {
    /// At the beginning of the answer, with what may be the tag.
    #[default]
    Begin,
    Maybe(String),
    /// In it, with what may be the tag of the end.
    Inside(String),
    /// Right behind it: blank lines are no part of the answer.
    Behind,
    Over,
}

const THINK: &str = "<think>";
const THOUGHT: &str = "</think>";

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
    /// What a server that does not stream has in the place of it.
    #[serde(default)]
    message: Value,
    #[serde(default)]
    finish_reason: Option<String>,
}

/// The names under which servers send thinking.
const THINKING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

impl Decoder for Reader {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<TurnEvent>) -> Result<bool, LlmError> {
        if event.data.trim() == "[DONE]" {
            return Ok(true);
        }
        let chunk: Chunk = super::parsed(event)?;
        if !chunk.error.is_null() {
            let value = json!({ "error": chunk.error });
            return Err(classify::object(&Head::default(), &value));
        }
        self.count(&chunk.usage);
        // The last chunk, with the usage, has no choices.
        let Some(choice) = chunk.choices.and_then(|choices| choices.into_iter().next()) else {
            return Ok(false);
        };
        let delta = if choice.delta.is_null() { &choice.message } else { &choice.delta };
        for name in THINKING {
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
            self.untagged(out);
            self.call(call, out);
        }
        // What came in one piece is whole without a reason.
        let whole = choice.message.is_object().then(|| "stop".to_owned());
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()).or(whole) {
            self.finish = Some(reason);
        }
        Ok(false)
    }

    fn finish(&mut self, out: &mut Vec<TurnEvent>) -> Result<Answer, LlmError> {
        // `[DONE]` may be missing; a reason to have finished may not.
        let reason = self.finish.take().ok_or_else(super::truncated)?;
        self.untagged(out);
        self.blocks.end_all(out);
        for block in 0..self.blocks.len() {
            if let Some(Draft::Call { args, .. }) = self.blocks.draft(block)
                && let ToolArgs::Object(_) = ToolArgs::parse(args)
                && !args.trim().is_empty()
            {
                // As the model wrote it, so that what servers keep of a prompt still fits.
                let native = args.clone();
                self.blocks.set_native(block, Some(native));
            }
        }
        let stop = match reason.as_str() {
            _ if !self.refusal.is_empty() => Stop::Refusal(std::mem::take(&mut self.refusal)),
            "length" => Stop::MaxTokens,
            "content_filter" => Stop::Refusal(reason),
            // Several servers say `stop` though calls were made.
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

impl Reader {
    /// A part of content that comes as a list: text, or thinking that has texts of its own.
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
        match std::mem::replace(&mut self.tagged, Tagged::Over) {
            Tagged::Begin if self.open.is_none() => self.begins(text.to_owned(), out),
            Tagged::Begin | Tagged::Over => self.say(text, out),
            Tagged::Maybe(before) => self.begins(before + text, out),
            Tagged::Inside(before) => self.goes_on_inside(&(before + text), out),
            Tagged::Behind => self.goes_on_behind(text, out),
        }
    }

    fn begins(&mut self, text: String, out: &mut Vec<TurnEvent>) {
        let start = text.trim_start();
        if let Some(thought) = start.strip_prefix(THINK) {
            self.goes_on_inside(thought, out);
        } else if THINK.starts_with(start) {
            self.tagged = Tagged::Maybe(text);
        } else {
            self.say(&text, out);
        }
    }

    fn goes_on_inside(&mut self, text: &str, out: &mut Vec<TurnEvent>) {
        if let Some((thought, answer)) = text.split_once(THOUGHT) {
            self.think(None, thought, out);
            return self.goes_on_behind(answer, out);
        }
        let may_end = (1..THOUGHT.len()).rev().find(|end| text.ends_with(&THOUGHT[..*end]));
        let (thought, rest) = text.split_at(text.len() - may_end.unwrap_or(0));
        self.think(None, thought, out);
        self.tagged = Tagged::Inside(rest.to_owned());
    }

    fn goes_on_behind(&mut self, text: &str, out: &mut Vec<TurnEvent>) {
        match text.trim_start() {
            "" => self.tagged = Tagged::Behind,
            answer => self.say(answer, out),
        }
    }

    /// Nothing more comes of content: what was held back is what it looked like.
    fn untagged(&mut self, out: &mut Vec<TurnEvent>) {
        match std::mem::replace(&mut self.tagged, Tagged::Over) {
            Tagged::Maybe(text) => self.say(&text, out),
            Tagged::Inside(text) => self.think(None, &text, out),
            _ => {}
        }
    }

    fn say(&mut self, text: &str, out: &mut Vec<TurnEvent>) {
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

    /// Thinking, under the name that the server wants it back by.
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

    /// A piece of a call. The id decides which one; the number only where no id contradicts it,
    /// since some servers number every call 0; with neither the last call goes on.
    fn call(&mut self, piece: &Value, out: &mut Vec<TurnEvent>) {
        let id = piece["id"].as_str().filter(|id| !id.is_empty());
        let index = piece["index"].as_u64();
        let function = &piece["function"];
        let name = function["name"].as_str().filter(|name| !name.is_empty());
        let args = match &function["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            // Some send the object itself.
            other => other.to_string(),
        };
        let numbered = index.and_then(|index| self.by_index.get(&index).copied());
        let known = match (id, name) {
            (Some(id), _) => numbered
                .filter(|block| self.came_with(*block, id))
                .or_else(|| self.with_id(id, name.and(index))),
            (None, None) => numbered.or(self.last),
            // A name without an id begins a call, unless it only repeats the name of one that is
            // not whole yet.
            (None, Some(name)) => numbered.filter(|block| self.goes_on(*block, name)),
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

    /// The call with this id. Where a name comes with a number that no piece had before, and the call
    /// has another one, it is another call: some servers give all calls of an answer the same id.
    fn with_id(&self, id: &str, begins: Option<u64>) -> Option<usize> {
        let renamed = self.renamed.iter().rev().find(|(_, known)| known == id);
        let last = renamed.map(|(block, _)| *block).or_else(|| self.named(id))?;
        let is_new = begins.is_some_and(|index| {
            !self.by_index.contains_key(&index) && self.by_index.values().any(|one| *one == last)
        });
        (!is_new).then_some(last)
    }

    fn named(&self, id: &str) -> Option<usize> {
        (0..self.blocks.len()).find(
            |block| matches!(self.blocks.draft(*block), Some(Draft::Call { id: known, .. }) if known == id),
        )
    }

    fn is_taken(&self, id: &str) -> bool {
        self.named(id).is_some()
    }

    /// Whether a call came with this id, whatever it is called here.
    fn came_with(&self, block: usize, id: &str) -> bool {
        let renamed = self.renamed.iter().any(|(one, known)| *one == block && known == id);
        renamed || self.named(id) == Some(block)
    }

    fn goes_on(&self, block: usize, name: &str) -> bool {
        match self.blocks.draft(block) {
            Some(Draft::Call { name: known, args, .. }) => {
                known == name && !matches!(serde_json::from_str(args), Ok(Value::Object(_)))
            }
            _ => false,
        }
    }

    fn count(&mut self, usage: &Value) {
        // Chunks before the last say `null`.
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
