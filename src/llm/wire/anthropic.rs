//! Anthropic's Messages API.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::blocks::{Blocks, Draft};
use super::{
    Answer, Call, Decoder, Encoded, IMAGE_PLACEHOLDER, Target, has_calls, plain_id, raw, raw_native,
};
use crate::llm::classify::{self, Head};
use crate::llm::error::LlmError;
use crate::llm::facts::ThinkingStyle;
use crate::llm::message::{Block, BlockKind, Message, Origin, ToolResult, Usage};
use crate::llm::request::{Cache, Effort, ToolChoice, TurnRequest};
use crate::llm::sse::SseEvent;
use crate::llm::turn::{Stop, TurnEvent};

pub(super) const HEADERS: &[(&str, &str)] = &[("anthropic-version", "2023-06-01")];

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Value>,
    messages: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    role: &'static str,
    content: Vec<Box<RawValue>>,
}

pub(super) fn encode(target: &Target, request: &TurnRequest) -> Encoded<Call> {
    let mut messages = Vec::new();
    for message in &request.messages {
        let entry = entry(target, message)?;
        // The vendor rejects empty messages.
        if !entry.content.is_empty() {
            messages.push(entry);
        }
    }
    let mark = (request.cache == Cache::On).then(|| json!({ "type": "ephemeral" }));
    let tools = tools(request);
    let (thinking, output_config) = thinking(target, request);
    let body = Body {
        model: &target.origin.model,
        max_tokens: target.output_tokens(request),
        stream: true,
        system: (!request.system.trim().is_empty()).then(|| {
            let mut system = json!({ "type": "text", "text": &*request.system });
            if let Some(mark) = &mark {
                system["cache_control"] = mark.clone();
            }
            json!([system])
        }),
        tool_choice: (request.tool_choice == ToolChoice::None && !tools.is_empty())
            .then(|| json!({ "type": "none" })),
        tools,
        thinking,
        temperature: target.temperature(request),
        output_config,
        // At the top level, this marks the end of the history and moves with it.
        cache_control: mark,
        messages,
    };
    let url = format!("{}/messages", target.origin.endpoint);
    Ok(Call { url, headers: HEADERS.to_vec(), body: serde_json::to_vec(&body)? })
}

fn tools(request: &TurnRequest) -> Vec<Value> {
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name, "description": tool.description, "input_schema": tool.schema,
            })
        })
        .collect();
    if tools.is_empty() && has_calls(&request.messages) {
        // The vendor rejects a history with calls unless a tool is defined.
        return vec![json!({ "name": "none", "input_schema": { "type": "object" } })];
    }
    tools
}

/// `thinking` and `output_config`. A parameter that the model does not support must not be sent.
/// `display` is sent with adaptive thinking, since its default differs between models.
fn thinking(target: &Target, request: &TurnRequest) -> (Option<Value>, Option<Value>) {
    let effort = request.effort.and_then(|effort| target.facts.effort(effort));
    match target.facts.thinking.unwrap_or(ThinkingStyle::None) {
        ThinkingStyle::None => (None, None),
        ThinkingStyle::Adaptive | ThinkingStyle::Effort => match effort {
            Some(Effort::Off) => (Some(json!({ "type": "disabled" })), None),
            effort => (
                Some(json!({ "type": "adaptive", "display": "summarized" })),
                effort.map(|effort| json!({ "effort": effort })),
            ),
        },
        ThinkingStyle::Budget => {
            let most = target.output_tokens(request);
            let budget = match effort {
                None | Some(Effort::Off) => return (None, None),
                Some(Effort::Low) => 2_048,
                Some(Effort::Medium) => 8_192,
                Some(Effort::High | Effort::Max) => 24_576,
            };
            // The budget must leave room for the answer; its minimum is 1024.
            let budget = budget.min(most / 2);
            let thinking = json!({ "type": "enabled", "budget_tokens": budget });
            ((budget >= 1_024).then_some(thinking), None)
        }
    }
}

fn entry(target: &Target, message: &Message) -> Encoded<Entry> {
    let mut content = Vec::new();
    let role = match message {
        Message::User { content: blocks } => {
            for block in blocks {
                content.extend(user_content(target, block)?);
            }
            "user"
        }
        Message::Assistant { content: blocks, origin } => {
            for block in blocks {
                content.extend(assistant_content(target, block, origin.as_ref())?);
            }
            "assistant"
        }
        Message::ToolResults { results } => {
            for result in results {
                content.push(raw(&tool_result(target, result)?)?);
            }
            "user"
        }
        Message::Notice { text } => {
            content.extend(user_content(target, &Block::text(text.as_str()))?);
            if target.facts.notices.unwrap_or(false) { "system" } else { "user" }
        }
    };
    Ok(Entry { role, content })
}

/// Encodes a block that the model did not write. The vendor rejects blank text.
fn user_content(target: &Target, block: &Block) -> Encoded<Option<Box<RawValue>>> {
    Ok(match &block.kind {
        BlockKind::Text { text } if text.trim().is_empty() => None,
        BlockKind::Text { text } => Some(raw(&json!({ "type": "text", "text": text }))?),
        BlockKind::Image { mime, base64 } if target.has_vision() => Some(raw(&json!({
            "type": "image",
            "source": { "type": "base64", "media_type": mime, "data": base64 },
        }))?),
        BlockKind::Image { .. } | BlockKind::ImageFile { .. } => {
            Some(raw(&json!({ "type": "text", "text": IMAGE_PLACEHOLDER }))?)
        }
        BlockKind::Thinking { .. } | BlockKind::ToolCall(_) | BlockKind::Opaque => None,
    })
}

fn assistant_content(
    target: &Target,
    block: &Block,
    origin: Option<&Origin>,
) -> Encoded<Option<Box<RawValue>>> {
    if let Some(native) = target.native(block, origin) {
        return raw_native(native).map(Some);
    }
    match &block.kind {
        BlockKind::ToolCall(call) => raw(&json!({
            "type": "tool_use", "id": plain_id(&call.id), "name": call.name,
            "input": call.args.to_value(),
        }))
        .map(Some),
        _ => user_content(target, block),
    }
}

fn tool_result(target: &Target, result: &ToolResult) -> Encoded<Value> {
    let mut content = Vec::new();
    for block in &result.content {
        content.extend(user_content(target, block)?);
    }
    let mut value = json!({ "type": "tool_result", "tool_use_id": plain_id(&result.call_id) });
    if !content.is_empty() {
        value["content"] = serde_json::to_value(content)?;
    }
    if result.is_error {
        value["is_error"] = true.into();
    }
    Ok(value)
}

#[derive(Default)]
pub(super) struct AnthropicDecoder {
    blocks: Blocks,
    /// Open blocks by the vendor's index.
    open: HashMap<u64, Open>,
    usage: Option<Usage>,
    plain_input: u64,
    stop: Option<Stop>,
    ended: bool,
}

#[derive(Debug)]
struct Open {
    block: usize,
    fields: BTreeMap<String, Box<RawValue>>,
    signature: Option<String>,
    /// An unknown delta arrived, so the native item is incomplete.
    has_unknown_delta: bool,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(default)]
    delta: Value,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    usage: Value,
}

impl Decoder for AnthropicDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<TurnEvent>) -> Result<bool, LlmError> {
        let event_data: Event<'_> = super::parsed(&event.data)?;
        let kind = if event_data.kind.is_empty() { &event.event } else { &event_data.kind };
        match kind.as_str() {
            "message_start" => self.count(&event_data.message["usage"]),
            "content_block_start" => self.start(&event_data, out)?,
            "content_block_delta" => self.delta(event_data.index, &event_data.delta, out),
            "content_block_stop" => self.close(event_data.index, out),
            "message_delta" => {
                self.count(&event_data.usage);
                if let Some(reason) = event_data.delta["stop_reason"].as_str() {
                    self.stop = Some(stop(reason, &event_data.delta));
                }
            }
            "message_stop" => self.ended = true,
            "error" => {
                let value: Value = super::parsed(&event.data)?;
                return Err(classify::from_json(&Head::default(), &value));
            }
            // `ping`, and unknown events.
            _ => {}
        }
        Ok(self.ended)
    }

    fn finish(&mut self, out: &mut Vec<TurnEvent>) -> Result<Answer, LlmError> {
        if !self.ended {
            return Err(super::truncated());
        }
        // After `max_tokens` the last block may be incomplete and unclosed.
        self.blocks.end_all(out);
        let stop = self.stop.take().ok_or_else(super::truncated)?;
        Ok(Answer { content: self.blocks.take(), stop, usage: self.usage })
    }

    fn partial(&mut self) -> (Vec<Block>, Option<Usage>) {
        (self.blocks.take(), self.usage)
    }
}

impl AnthropicDecoder {
    fn start(&mut self, event: &Event<'_>, out: &mut Vec<TurnEvent>) -> Result<(), LlmError> {
        let text = event.content_block.map_or("{}", RawValue::get);
        let fields: BTreeMap<String, Box<RawValue>> = super::parsed(text)?;
        let value: Value = super::parsed(text)?;
        let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let draft = match value["type"].as_str() {
            Some("text") => Draft::Text(field("text")),
            Some("thinking") => Draft::Thinking { text: field("thinking"), redacted: false },
            Some("redacted_thinking") => Draft::Thinking { text: String::new(), redacted: true },
            Some("tool_use") => {
                // A complete call may come at once; otherwise its input starts as an empty object.
                let whole = value["input"].as_object().is_some_and(|input| !input.is_empty());
                let input = fields.get("input").filter(|_| whole);
                let args = input.map(|input| input.get().to_owned()).unwrap_or_default();
                Draft::Call { id: field("id"), name: field("name"), args }
            }
            _ => Draft::Opaque,
        };
        let is_whole = matches!(draft, Draft::Thinking { redacted: true, .. } | Draft::Opaque);
        let signature = value["signature"].as_str().filter(|signature| !signature.is_empty());
        let open = Open {
            block: self.blocks.start(draft, out),
            fields,
            signature: signature.map(str::to_owned),
            has_unknown_delta: false,
        };
        if is_whole {
            self.blocks.set_native(open.block, Some(text.to_owned()));
        }
        self.open.insert(event.index, open);
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: &Value, out: &mut Vec<TurnEvent>) {
        let Some(open) = self.open.get_mut(&index) else { return };
        let text = |name: &str| delta[name].as_str().unwrap_or_default();
        let draft = self.blocks.draft(open.block);
        match (delta["type"].as_str().unwrap_or_default(), draft) {
            ("text_delta", Some(Draft::Text(_))) => self.blocks.add(open.block, text("text"), out),
            ("thinking_delta", Some(Draft::Thinking { .. })) => {
                self.blocks.add(open.block, text("thinking"), out);
            }
            // Replaces the signature; comes once, at the end of the block.
            ("signature_delta", Some(Draft::Thinking { .. })) => {
                open.signature = Some(text("signature").to_owned());
            }
            ("input_json_delta", Some(Draft::Call { .. })) => {
                self.blocks.add(open.block, text("partial_json"), out);
            }
            // The sources of a text, which is complete without them.
            ("citations_delta", Some(Draft::Text(_))) => {}
            _ => {
                open.has_unknown_delta = true;
                self.blocks.set_native(open.block, None);
            }
        }
    }

    fn close(&mut self, index: u64, out: &mut Vec<TurnEvent>) {
        let Some(mut open) = self.open.remove(&index) else { return };
        let quoted = |text: &str| raw(&text).ok();
        let whole = match self.blocks.draft(open.block) {
            // Text needs no native item: the neutral form encodes to the same JSON.
            Some(Draft::Text(_)) => false,
            Some(Draft::Thinking { text, redacted: false }) => {
                // Thinking goes back even without text, but not without a signature.
                let signature = open.signature.as_deref().and_then(quoted);
                let has_signature = signature.is_some();
                open.fields.extend(signature.map(|signature| ("signature".to_owned(), signature)));
                open.fields.extend(quoted(text).map(|text| ("thinking".to_owned(), text)));
                has_signature
            }
            Some(Draft::Call { args, .. }) => {
                let args = if args.trim().is_empty() { "{}" } else { args.as_str() };
                // The arguments byte for byte, as the model wrote them.
                let input = raw_native(args).ok();
                let is_whole = input.is_some();
                open.fields.extend(input.map(|input| ("input".to_owned(), input)));
                is_whole
            }
            _ => false,
        };
        if whole && !open.has_unknown_delta {
            self.blocks.set_native(open.block, serde_json::to_string(&open.fields).ok());
        }
        self.blocks.end(open.block, out);
    }

    /// Updates the usage. Each number is a running total, not an increment.
    fn count(&mut self, usage: &Value) {
        if !usage.is_object() {
            return;
        }
        let mut sum = self.usage.unwrap_or_default();
        let number = |name: &str| usage[name].as_u64();
        self.plain_input = number("input_tokens").unwrap_or(self.plain_input);
        sum.cache_read = number("cache_read_input_tokens").unwrap_or(sum.cache_read);
        sum.cache_write = number("cache_creation_input_tokens").unwrap_or(sum.cache_write);
        sum.output = number("output_tokens").unwrap_or(sum.output);
        let thought = usage["output_tokens_details"]["thinking_tokens"].as_u64();
        sum.reasoning = thought.or(sum.reasoning);
        // `input_tokens` excludes cached tokens.
        sum.input = self.plain_input + sum.cache_read + sum.cache_write;
        self.usage = Some(sum);
    }
}

fn stop(reason: &str, delta: &Value) -> Stop {
    match reason {
        "end_turn" | "stop_sequence" => Stop::EndTurn,
        "tool_use" => Stop::ToolUse,
        "max_tokens" => Stop::MaxTokens,
        "model_context_window_exceeded" => Stop::ContextFull,
        "pause_turn" => Stop::Paused,
        "refusal" => {
            let why = delta["stop_details"]["explanation"].as_str();
            Stop::Refusal(why.unwrap_or_default().to_owned())
        }
        other => Stop::Other(other.to_owned()),
    }
}
