//! OpenAI's Responses API. OpenAI's own models reject tools on Chat Completions while they think.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::blocks::{Blocks, Draft};
use super::{Answer, Call, Decoder, Encoded, IMAGE_PLACEHOLDER, Target, plain_id, raw, raw_native};
use crate::llm::classify::{self, Head};
use crate::llm::error::LlmError;
use crate::llm::facts::ThinkingStyle;
use crate::llm::message::{Block, BlockKind, Message, Origin, ToolResult, Usage};
use crate::llm::request::{Effort, ToolChoice, TurnRequest};
use crate::llm::sse::SseEvent;
use crate::llm::turn::{Stop, TurnEvent};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    /// `false`: the vendor stores nothing; encrypted thinking travels with the history instead.
    store: bool,
    include: [&'static str; 1],
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    input: Vec<Box<RawValue>>,
}

pub(super) fn encode(target: &Target, request: &TurnRequest) -> Encoded<Call> {
    let mut input = Vec::new();
    for message in &request.messages {
        match message {
            Message::User { content } => input.extend(user_content(target, "user", content)?),
            Message::Notice { text } => {
                let role = if target.facts.notices.unwrap_or(false) { "developer" } else { "user" };
                input.extend(user_content(target, role, &[Block::text(text.as_str())])?);
            }
            Message::Assistant { content, origin } => {
                assistant_content(target, content, origin.as_ref(), &mut input)?;
            }
            Message::ToolResults { results } => {
                for result in results {
                    input.push(raw(&tool_result(target, result))?);
                }
            }
        }
    }
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({
                "type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.schema, "strict": false,
            })
        })
        .collect();
    let body = Body {
        model: &target.origin.model,
        stream: true,
        store: false,
        include: ["reasoning.encrypted_content"],
        max_output_tokens: target.output_tokens(request).max(16),
        instructions: &request.system,
        tool_choice: (!tools.is_empty() && request.tool_choice == ToolChoice::None)
            .then_some("none"),
        tools,
        reasoning: reasoning(target, request),
        temperature: target.temperature(request),
        prompt_cache_key: cache_key(request),
        input,
    };
    let url = format!("{}/responses", target.origin.endpoint);
    Ok(Call { url, headers: Vec::new(), body: serde_json::to_vec(&body)? })
}

/// The vendor's cache key: the same for all requests of this installation with the same system
/// prompt, across conversations.
fn cache_key(request: &TurnRequest) -> Option<String> {
    let mut hash = blake3::Hasher::new();
    hash.update(request.installation.as_bytes()).update(b"\n").update(request.system.as_bytes());
    (!request.installation.is_empty()).then(|| hash.finalize().to_hex()[..32].to_owned())
}

fn reasoning(target: &Target, request: &TurnRequest) -> Option<Value> {
    if target.facts.thinking.unwrap_or(ThinkingStyle::None) == ThinkingStyle::None {
        return None;
    }
    let mut reasoning = json!({ "summary": "auto" });
    if let Some(effort) = request.effort.and_then(|effort| target.facts.effort(effort)) {
        reasoning["effort"] = match effort {
            Effort::Off => "none",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Max => "xhigh",
        }
        .into();
    }
    Some(reasoning)
}

fn parts(target: &Target, blocks: &[Block]) -> Vec<Value> {
    let part = |block: &Block| match &block.kind {
        BlockKind::Text { text } if text.is_empty() => None,
        BlockKind::Text { text } => Some(json!({ "type": "input_text", "text": text })),
        BlockKind::Image { mime, base64 } if target.has_vision() => Some(json!({
            "type": "input_image", "image_url": format!("data:{mime};base64,{base64}"),
        })),
        BlockKind::Image { .. } | BlockKind::ImageFile { .. } => {
            Some(json!({ "type": "input_text", "text": IMAGE_PLACEHOLDER }))
        }
        BlockKind::Thinking { .. } | BlockKind::ToolCall(_) | BlockKind::Opaque => None,
    };
    blocks.iter().filter_map(part).collect()
}

fn user_content(target: &Target, role: &str, blocks: &[Block]) -> Encoded<Option<Box<RawValue>>> {
    let content = parts(target, blocks);
    if content.is_empty() {
        return Ok(None);
    }
    raw(&json!({ "type": "message", "role": role, "content": content })).map(Some)
}

/// Sends all items back in order and unchanged, thinking included. The vendor rejects thinking that
/// no item follows.
fn assistant_content(
    target: &Target,
    blocks: &[Block],
    origin: Option<&Origin>,
    input: &mut Vec<Box<RawValue>>,
) -> Encoded<()> {
    let begin = input.len();
    let mut sure = begin;
    for block in blocks {
        if let Some(native) = target.native(block, origin) {
            input.push(raw_native(native)?);
        } else {
            match &block.kind {
                BlockKind::Text { text } if !text.is_empty() => input.push(raw(&json!({
                    "type": "message", "role": "assistant",
                    "content": [{ "type": "output_text", "text": text }],
                }))?),
                BlockKind::ToolCall(call) => input.push(raw(&json!({
                    "type": "function_call", "call_id": plain_id(&call.id), "name": call.name,
                    "arguments": call.args.to_value().to_string(),
                }))?),
                _ => continue,
            }
        }
        if !matches!(block.kind, BlockKind::Thinking { .. }) {
            sure = input.len();
        }
    }
    input.truncate(sure);
    Ok(())
}

fn tool_result(target: &Target, result: &ToolResult) -> Value {
    let output = if result.images().next().is_some() {
        json!(parts(target, &result.content))
    } else {
        json!(result.text())
    };
    json!({
        "type": "function_call_output", "call_id": plain_id(&result.call_id), "output": output,
    })
}

#[derive(Default)]
pub(super) struct ResponsesDecoder {
    blocks: Blocks,
    /// From the vendor's item index to our block index.
    items: HashMap<u64, usize>,
    refusal: String,
    end: Option<Stop>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    output_index: u64,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(default)]
    delta: Value,
    #[serde(default)]
    response: Value,
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<TurnEvent>) -> Result<bool, LlmError> {
        if event.data == "[DONE]" {
            return Ok(true);
        }
        let data: Event<'_> = super::parsed(&event.data)?;
        let delta = data.delta.as_str().unwrap_or_default();
        match data.kind.as_str() {
            "response.output_item.added" => self.begin(&data, out)?,
            "response.output_text.delta" | "response.function_call_arguments.delta" => {
                self.add(data.output_index, delta, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.add(data.output_index, delta, out);
            }
            // Parts of a summary are paragraphs.
            "response.reasoning_summary_part.added" => {
                if let Some(&block) = self.items.get(&data.output_index)
                    && matches!(self.blocks.draft(block), Some(Draft::Thinking { text, .. }) if !text.is_empty())
                {
                    self.blocks.add(block, "\n\n", out);
                }
            }
            "response.refusal.delta" => self.refusal.push_str(delta),
            "response.output_item.done" => self.done(&data, out)?,
            "response.completed" | "response.incomplete" => {
                self.end(&data);
                return Ok(true);
            }
            "response.failed" => {
                self.count(&data.response["usage"]);
                return Err(classify::from_json(&Head::default(), &data.response));
            }
            "error" => {
                let value: Value = super::parsed(&event.data)?;
                return Err(classify::from_json(&Head::default(), &value));
            }
            "" => {
                let value: Value = super::parsed(&event.data)?;
                if value["error"].is_object() {
                    return Err(classify::from_json(&Head::default(), &value));
                }
            }
            _ => {}
        }
        Ok(false)
    }

    fn finish(&mut self, out: &mut Vec<TurnEvent>) -> Result<Answer, LlmError> {
        // Only the vendor's final event marks a complete answer.
        let stop = self.end.take().ok_or_else(super::truncated)?;
        self.blocks.end_all(out);
        let stop = match stop {
            _ if !self.refusal.is_empty() => Stop::Refusal(std::mem::take(&mut self.refusal)),
            // `completed` does not mention calls.
            Stop::EndTurn if self.blocks.has_calls() => Stop::ToolUse,
            stop => stop,
        };
        Ok(Answer { content: self.blocks.take(), stop, usage: self.usage })
    }

    fn partial(&mut self) -> (Vec<Block>, Option<Usage>) {
        (self.blocks.take(), self.usage)
    }
}

impl ResponsesDecoder {
    fn begin(&mut self, event: &Event<'_>, out: &mut Vec<TurnEvent>) -> Result<(), LlmError> {
        let item: Value = parsed_item(event)?;
        // The item may be incomplete here; its final event is authoritative.
        let draft = match item["type"].as_str() {
            Some("message") => Draft::Text(String::new()),
            Some("reasoning") => Draft::Thinking { text: String::new(), redacted: false },
            Some("function_call") => Draft::Call {
                // A call's id differs from its item's id.
                id: text(&item["call_id"]),
                name: text(&item["name"]),
                args: String::new(),
            },
            _ => Draft::Opaque,
        };
        let block = self.blocks.start(draft, out);
        self.items.insert(event.output_index, block);
        Ok(())
    }

    fn add(&mut self, item: u64, delta: &str, out: &mut Vec<TurnEvent>) {
        if let Some(&block) = self.items.get(&item) {
            self.blocks.add(block, delta, out);
        }
    }

    fn done(&mut self, event: &Event<'_>, out: &mut Vec<TurnEvent>) -> Result<(), LlmError> {
        if !self.items.contains_key(&event.output_index) {
            self.begin(event, out)?;
        }
        let item: Value = parsed_item(event)?;
        let block = self.items[&event.output_index];
        let joined = |parts: &Value, key: &str, between: &str| {
            let parts = parts.as_array().into_iter().flatten();
            let texts: Vec<&str> = parts.filter_map(|part| part[key].as_str()).collect();
            texts.join(between)
        };
        let whole = match self.blocks.draft(block) {
            Some(Draft::Text(_)) => joined(&item["content"], "text", ""),
            Some(Draft::Thinking { .. }) => joined(&item["summary"], "text", "\n\n"),
            Some(Draft::Call { .. }) => text(&item["arguments"]),
            _ => String::new(),
        };
        if self.refusal.is_empty() {
            self.refusal = joined(&item["content"], "refusal", "");
        }
        self.complete(block, &whole, out);
        self.blocks.set_native(block, event.item.map(|item| item.get().to_owned()));
        self.blocks.end(block, out);
        Ok(())
    }

    /// Corrects a block to the text of its final event, which overrides the deltas.
    fn complete(&mut self, block: usize, whole: &str, out: &mut Vec<TurnEvent>) {
        let Some(
            Draft::Text(so_far)
            | Draft::Thinking { text: so_far, .. }
            | Draft::Call { args: so_far, .. },
        ) = self.blocks.draft_mut(block)
        else {
            return;
        };
        match whole.strip_prefix(so_far.as_str()) {
            Some(rest) => self.blocks.add(block, rest, out),
            None if whole.is_empty() => {}
            None => whole.clone_into(so_far),
        }
    }

    fn end(&mut self, event: &Event<'_>) {
        let response = &event.response;
        self.count(&response["usage"]);
        self.end = Some(match response["incomplete_details"]["reason"].as_str() {
            Some("max_output_tokens") => Stop::MaxTokens,
            Some("content_filter") => Stop::Refusal("content_filter".to_owned()),
            Some(other) => Stop::Other(other.to_owned()),
            None if event.kind == "response.incomplete" => Stop::Other("incomplete".to_owned()),
            None => Stop::EndTurn,
        });
    }

    fn count(&mut self, usage: &Value) {
        if usage.is_object() {
            let number = |value: &Value| value.as_u64().unwrap_or_default();
            let read = &usage["input_tokens_details"];
            self.usage = Some(Usage {
                input: number(&usage["input_tokens"]),
                cache_read: number(&read["cached_tokens"]),
                cache_write: number(&read["cache_write_tokens"]),
                output: number(&usage["output_tokens"]),
                reasoning: usage["output_tokens_details"]["reasoning_tokens"].as_u64(),
            });
        }
    }
}

fn parsed_item(event: &Event<'_>) -> Result<Value, LlmError> {
    super::parsed(event.item.map_or("null", RawValue::get))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
