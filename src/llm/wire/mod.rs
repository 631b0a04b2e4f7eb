//! The vendors' API formats, one file each, without I/O: requests to bytes, events to an answer.
//!
//! A comment marks each place that handles undocumented vendor behaviour; `fixtures/llm` has a
//! stream for each.

mod anthropic;
mod blocks;
mod chat;
mod gemini;
mod responses;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::error::{ErrorKind, LlmError};
use super::facts::{Facts, ThinkingStyle};
use super::key::Key;
use super::message::{Block, Message, Origin, Usage, Wire};
use super::request::TurnRequest;
use super::sse::SseEvent;
use super::turn::{Stop, TurnEvent};

#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// API format, address and model.
    pub origin: Origin,
    pub facts: Facts,
}

/// An HTTP request without its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The URL; never contains a key.
    pub url: String,
    /// Headers other than the key and the content type.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body, as JSON.
    pub body: Vec<u8>,
}

pub trait Decoder: Send {
    /// Decodes an event; returns `true` if it was the last one.
    ///
    /// # Errors
    /// The vendor's error, or `Protocol`.
    fn event(&mut self, event: &SseEvent, out: &mut Vec<TurnEvent>) -> Result<bool, LlmError>;

    /// Returns the answer after its last event or the end of the bytes.
    ///
    /// # Errors
    /// `Truncated` if the vendor's end marker did not come.
    fn finish(&mut self, out: &mut Vec<TurnEvent>) -> Result<Answer, LlmError>;

    /// Takes the partial answer and its token usage after a failure.
    fn partial(&mut self) -> (Vec<Block>, Option<Usage>);
}

/// A complete answer, without its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub content: Vec<Block>,
    pub stop: Stop,
    pub usage: Option<Usage>,
}

/// The header that carries the key, with its value.
pub(super) fn key_header(wire: Wire, key: &Key) -> (&'static str, String) {
    match wire {
        Wire::Anthropic => ("x-api-key", key.reveal().to_owned()),
        Wire::Gemini => ("x-goog-api-key", key.reveal().to_owned()),
        Wire::Responses | Wire::Chat => ("authorization", format!("Bearer {}", key.reveal())),
    }
}

/// The path of the vendor's model list, relative to the base URL, and the headers it needs.
pub(super) fn models_path(wire: Wire) -> (&'static str, &'static [(&'static str, &'static str)]) {
    match wire {
        Wire::Anthropic => ("/models?limit=1000", anthropic::HEADERS),
        Wire::Gemini => ("/models?pageSize=1000", &[]),
        Wire::Responses | Wire::Chat => ("/models", &[]),
    }
}

pub fn decoder(wire: Wire) -> Box<dyn Decoder> {
    match wire {
        Wire::Anthropic => Box::<anthropic::AnthropicDecoder>::default(),
        Wire::Responses => Box::<responses::ResponsesDecoder>::default(),
        Wire::Chat => Box::<chat::ChatDecoder>::default(),
        Wire::Gemini => Box::<gemini::GeminiDecoder>::default(),
    }
}

impl Target {
    /// Encodes a request.
    ///
    /// # Errors
    /// `InvalidRequest` if this API format cannot express the history.
    pub fn encode(&self, request: &TurnRequest) -> Result<Call, LlmError> {
        let call = match self.origin.wire {
            Wire::Anthropic => anthropic::encode(self, request),
            Wire::Responses => responses::encode(self, request),
            Wire::Chat => chat::encode(self, request),
            Wire::Gemini => gemini::encode(self, request),
        };
        call.map_err(|error| LlmError::new(ErrorKind::InvalidRequest, error.to_string()))
    }

    /// The block's native item, if this model accepts it.
    fn native<'a>(&self, block: &'a Block, origin: Option<&Origin>) -> Option<&'a str> {
        let native = block.native.as_deref()?;
        origin.is_some_and(|origin| self.origin.reads(origin)).then_some(native)
    }

    fn output_tokens(&self, request: &TurnRequest) -> u32 {
        request.max_output_tokens.min(self.facts.output_limit()).max(1)
    }

    /// The temperature to send. Models that think reject it.
    fn temperature(&self, request: &TurnRequest) -> Option<f64> {
        let thinks = self.facts.thinking.is_some_and(|style| style != ThinkingStyle::None);
        request.temperature.filter(|_| !thinks)
    }

    /// Whether the model accepts images.
    fn has_vision(&self) -> bool {
        self.facts.vision.unwrap_or(false)
    }
}

type Encoded<T> = Result<T, serde_json::Error>;

fn raw(value: &impl Serialize) -> Encoded<Box<RawValue>> {
    serde_json::value::to_raw_value(value)
}

fn raw_native(native: &str) -> Encoded<Box<RawValue>> {
    RawValue::from_string(native.to_owned())
}

/// Replaces an image for a model without vision.
const IMAGE_PLACEHOLDER: &str = "[an image, which this model cannot see]";

/// Whether the history contains calls or results; vendors then require a tool definition.
fn has_calls(messages: &[Message]) -> bool {
    messages.iter().any(|message| match message {
        Message::Assistant { content, .. } => content.iter().any(|block| block.call().is_some()),
        Message::ToolResults { .. } => true,
        Message::User { .. } | Message::Notice { .. } => false,
    })
}

/// Converts a call id to characters every vendor accepts; deterministic.
fn plain_id(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let id: String = id.chars().map(plain).take(64).collect();
    if id.is_empty() { "call".to_owned() } else { id }
}

/// Generates call ids, unique within a history.
#[derive(Debug, Default)]
struct IdGenerator {
    prefix: Option<String>,
    issued: usize,
}

impl IdGenerator {
    fn next(&mut self) -> String {
        let prefix = self.prefix.get_or_insert_with(|| {
            let mut bytes = [0_u8; 6];
            // Without randomness, ids are unique only within an answer.
            let _ = getrandom::fill(&mut bytes);
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        });
        let id = format!("local_{prefix}_{}", self.issued);
        self.issued += 1;
        id
    }
}

/// Parses an event's data as JSON.
fn parsed<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, LlmError> {
    serde_json::from_str(data).map_err(|error| {
        LlmError::new(ErrorKind::Protocol, format!("an event has the wrong form: {error}"))
    })
}

fn truncated() -> LlmError {
    LlmError::new(ErrorKind::Truncated, "the stream ended without the vendor's end mark")
}
