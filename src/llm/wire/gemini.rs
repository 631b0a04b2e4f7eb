//! Gemini's `generateContent` API.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::blocks::{Blocks, Draft};
use super::{
    Answer, Call, Decoder, Encoded, IMAGE_PLACEHOLDER, IdGenerator, Target, raw, raw_native,
};
use crate::llm::classify::{self, Head};
use crate::llm::error::{ErrorKind, LlmError};
use crate::llm::facts::ThinkingStyle;
use crate::llm::message::{Block, BlockKind, Message, Origin, ToolResult, Usage};
use crate::llm::request::{Effort, ToolChoice, TurnRequest};
use crate::llm::sse::SseEvent;
use crate::llm::turn::{Stop, TurnEvent};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Value>,
    contents: Vec<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<Value>,
    generation_config: Value,
}

#[derive(Serialize)]
struct Content {
    role: &'static str,
    parts: Vec<Box<RawValue>>,
}

/// Placeholder signature for a call that another model made.
const NOT_SIGNED_HERE: &str = "skip_thought_signature_validator";

pub(super) fn encode(target: &Target, request: &TurnRequest) -> Encoded<Call> {
    let mut contents = Vec::new();
    for message in &request.messages {
        let (role, parts) = match message {
            Message::User { content } => ("user", user_content(target, content)?),
            Message::Notice { text } => {
                ("user", user_content(target, &[Block::text(text.as_str())])?)
            }
            Message::Assistant { content, origin } => {
                ("model", assistant_content(target, content, origin.as_ref())?)
            }
            Message::ToolResults { results } => {
                ("user", tool_results(target, results, &request.messages)?)
            }
        };
        if !parts.is_empty() {
            contents.push(Content { role, parts });
        }
    }
    let declarations: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name, "description": tool.description,
                // `parameters` supports only a part of JSON Schema.
                "parametersJsonSchema": tool.schema,
            })
        })
        .collect();
    let has_tools = !declarations.is_empty();
    let body = Body {
        system_instruction: (!request.system.trim().is_empty())
            .then(|| json!({ "parts": [{ "text": &*request.system }] })),
        contents,
        tools: has_tools.then(|| json!([{ "functionDeclarations": declarations }])),
        tool_config: (has_tools && request.tool_choice == ToolChoice::None)
            .then(|| json!({ "functionCallingConfig": { "mode": "NONE" } })),
        generation_config: generation(target, request),
    };
    let (endpoint, model) = (&target.origin.endpoint, &target.origin.model);
    // Without `alt=sse` the response is one long JSON list.
    let url = format!("{endpoint}/models/{model}:streamGenerateContent?alt=sse");
    Ok(Call { url, headers: Vec::new(), body: serde_json::to_vec(&body)? })
}

fn generation(target: &Target, request: &TurnRequest) -> Value {
    let mut config = json!({ "maxOutputTokens": target.output_tokens(request) });
    if target.facts.thinking.unwrap_or(ThinkingStyle::None) != ThinkingStyle::None {
        let mut thinking = json!({ "includeThoughts": true });
        if let Some(effort) = request.effort.and_then(|effort| target.facts.effort(effort)) {
            thinking["thinkingLevel"] = match effort {
                Effort::Off | Effort::Low => "LOW",
                Effort::Medium => "MEDIUM",
                Effort::High | Effort::Max => "HIGH",
            }
            .into();
        }
        config["thinkingConfig"] = thinking;
    }
    if let Some(temperature) = target.temperature(request) {
        config["temperature"] = temperature.into();
    }
    config
}

fn user_content(target: &Target, blocks: &[Block]) -> Encoded<Vec<Box<RawValue>>> {
    let part = |block: &Block| match &block.kind {
        BlockKind::Text { text } if text.is_empty() => None,
        BlockKind::Text { text } => Some(json!({ "text": text })),
        BlockKind::Image { mime, base64 } if target.has_vision() => Some(inline(mime, base64)),
        BlockKind::Image { .. } | BlockKind::ImageFile { .. } => {
            Some(json!({ "text": IMAGE_PLACEHOLDER }))
        }
        BlockKind::Thinking { .. } | BlockKind::ToolCall(_) | BlockKind::Opaque => None,
    };
    blocks.iter().filter_map(part).map(|part| raw(&part)).collect()
}

fn inline(mime: &str, base64: &str) -> Value {
    json!({ "inlineData": { "mimeType": mime, "data": base64 } })
}

/// Every part keeps its position: a signature belongs to the part in which it arrived.
fn assistant_content(
    target: &Target,
    blocks: &[Block],
    origin: Option<&Origin>,
) -> Encoded<Vec<Box<RawValue>>> {
    let is_ours = origin.is_some_and(|origin| target.origin.reads(origin));
    let mut is_first_call = true;
    let mut parts = Vec::new();
    for block in blocks {
        if let Some(native) = target.native(block, origin) {
            parts.push(raw_native(native)?);
        } else if let BlockKind::ToolCall(call) = &block.kind {
            let mut part = json!({
                "functionCall": { "name": call.name, "args": call.args.to_value() },
            });
            if is_first_call && !is_ours {
                part["thoughtSignature"] = NOT_SIGNED_HERE.into();
            }
            parts.push(raw(&part)?);
        } else {
            parts.extend(user_content(target, std::slice::from_ref(block))?);
        }
        is_first_call &= block.call().is_none();
    }
    Ok(parts)
}

/// All results in call order, then the images. An id goes back only to the model that issued it.
fn tool_results(
    target: &Target,
    results: &[ToolResult],
    history: &[Message],
) -> Encoded<Vec<Box<RawValue>>> {
    let mut parts = Vec::new();
    for result in results {
        let key = if result.is_error { "error" } else { "output" };
        let mut response = json!({ "name": result.name, "response": { key: result.text() } });
        if gave_id(target, history, &result.call_id) {
            response["id"] = result.call_id.as_str().into();
        }
        parts.push(raw(&json!({ "functionResponse": response }))?);
    }
    for (mime, base64) in results.iter().flat_map(ToolResult::images) {
        let part = if target.has_vision() {
            inline(mime, base64)
        } else {
            json!({ "text": IMAGE_PLACEHOLDER })
        };
        parts.push(raw(&part)?);
    }
    Ok(parts)
}

fn gave_id(target: &Target, history: &[Message], id: &str) -> bool {
    let native = history.iter().rev().find_map(|message| match message {
        Message::Assistant { content, origin } => {
            let block =
                content.iter().find(|block| block.call().is_some_and(|call| call.id == id))?;
            Some(target.native(block, origin.as_ref()))
        }
        _ => None,
    });
    let part: Option<Value> = native.flatten().and_then(|native| serde_json::from_str(native).ok());
    part.is_some_and(|part| part["functionCall"]["id"] == id)
}

#[derive(Default)]
pub(super) struct GeminiDecoder {
    blocks: Blocks,
    ids: IdGenerator,
    /// The block that text or thinking continues.
    open: Option<usize>,
    finish: Option<String>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, default)]
    candidates: Vec<Candidate<'a>>,
    #[serde(default)]
    prompt_feedback: Value,
    #[serde(default)]
    usage_metadata: Value,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Parts<'a>>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default)]
    parts: Vec<&'a RawValue>,
}

impl Decoder for GeminiDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<TurnEvent>) -> Result<bool, LlmError> {
        let chunk: Chunk<'_> = super::parsed(&event.data)?;
        if !chunk.error.is_null() {
            let value = json!({ "error": chunk.error });
            return Err(classify::from_json(&Head::default(), &value));
        }
        self.count(&chunk.usage_metadata);
        if let Some(reason) = chunk.prompt_feedback["blockReason"].as_str() {
            // A response to a blocked prompt has no candidates.
            let more = chunk.prompt_feedback["blockReasonMessage"].as_str().unwrap_or_default();
            let mut error = LlmError::new(
                ErrorKind::Refused,
                format!("the prompt was blocked: {reason} {more}"),
            );
            error.detail.code = Some(reason.to_owned());
            return Err(error);
        }
        let Some(candidate) = chunk.candidates.into_iter().next() else { return Ok(false) };
        for part in candidate.content.into_iter().flat_map(|content| content.parts) {
            self.part(part.get(), out)?;
        }
        if let Some(reason) = candidate.finish_reason {
            let spoilt = [
                "MALFORMED_FUNCTION_CALL",
                "UNEXPECTED_TOOL_CALL",
                "MALFORMED_RESPONSE",
                "MISSING_THOUGHT_SIGNATURE",
            ];
            if spoilt.contains(&reason.as_str()) {
                let message = candidate.finish_message.unwrap_or_default();
                let mut error = LlmError::new(
                    ErrorKind::Protocol,
                    format!("the model erred: {reason} {message}"),
                );
                error.detail.code = Some(reason);
                return Err(error);
            }
            self.finish = Some(reason);
        }
        // The format has no end marker; the answer ends with the bytes.
        Ok(false)
    }

    fn finish(&mut self, out: &mut Vec<TurnEvent>) -> Result<Answer, LlmError> {
        let reason = self.finish.take().ok_or_else(super::truncated)?;
        self.blocks.end_all(out);
        let stop = match reason.as_str() {
            "MAX_TOKENS" => Stop::MaxTokens,
            "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" => Stop::Refusal(reason),
            // `STOP` does not mention calls; compatible servers use other words.
            "STOP" | "FUNCTION_CALL" | "TOOL_USE" if self.blocks.has_calls() => Stop::ToolUse,
            "STOP" => Stop::EndTurn,
            _ => Stop::Other(reason),
        };
        Ok(Answer { content: self.blocks.take(), stop, usage: self.usage })
    }

    fn partial(&mut self) -> (Vec<Block>, Option<Usage>) {
        (self.blocks.take(), self.usage)
    }
}

impl GeminiDecoder {
    fn part(&mut self, native: &str, out: &mut Vec<TurnEvent>) -> Result<(), LlmError> {
        let part: Value = super::parsed(native)?;
        let is_signed = part["thoughtSignature"].is_string();
        if let Some(call) = part["functionCall"].as_object() {
            self.close(out);
            let text = |key: &str| call.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
            // Calls without an id can have the same name; generated ids tell them apart.
            let id = text("id").map_or_else(|| self.ids.next(), str::to_owned);
            let name = text("name").unwrap_or_default().to_owned();
            let args = call.get("args").filter(|args| args.is_object());
            let args = args.map_or_else(|| "{}".to_owned(), Value::to_string);
            let block = self.blocks.start(Draft::Call { id, name, args }, out);
            self.blocks.set_native(block, Some(native.to_owned()));
            self.blocks.end(block, out);
        } else if let Some(text) = part["text"].as_str() {
            let is_thought = part["thought"].as_bool().unwrap_or(false);
            let goes_on = self.open.filter(|open| match self.blocks.draft(*open) {
                Some(Draft::Text(_)) => !is_thought,
                Some(Draft::Thinking { .. }) => is_thought,
                _ => false,
            });
            match goes_on {
                // A signed part is never merged with another.
                Some(open) if !is_signed => self.blocks.add(open, text, out),
                _ if text.is_empty() && !is_signed => {}
                _ => {
                    self.close(out);
                    let draft = if is_thought {
                        Draft::Thinking { text: text.to_owned(), redacted: false }
                    } else {
                        Draft::Text(text.to_owned())
                    };
                    let open = self.blocks.start(draft, out);
                    self.open = Some(open);
                    if is_signed {
                        self.blocks.set_native(open, Some(native.to_owned()));
                        self.close(out);
                    }
                }
            }
        } else {
            self.close(out);
            let block = self.blocks.start(Draft::Opaque, out);
            self.blocks.set_native(block, Some(native.to_owned()));
        }
        Ok(())
    }

    fn close(&mut self, out: &mut Vec<TurnEvent>) {
        if let Some(open) = self.open.take() {
            self.blocks.end(open, out);
        }
    }

    /// Every chunk repeats the total; the last one counts.
    fn count(&mut self, usage: &Value) {
        if usage.is_object() {
            let number = |name: &str| usage[name].as_u64();
            let thought = number("thoughtsTokenCount");
            self.usage = Some(Usage {
                input: number("promptTokenCount").unwrap_or_default()
                    + number("toolUsePromptTokenCount").unwrap_or_default(),
                cache_read: number("cachedContentTokenCount").unwrap_or_default(),
                cache_write: 0,
                // `candidatesTokenCount` excludes thinking.
                output: number("candidatesTokenCount").unwrap_or_default()
                    + thought.unwrap_or_default(),
                reasoning: thought,
            });
        }
    }
}
