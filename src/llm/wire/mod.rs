//! The vendors' languages, one file each, without I/O: a request to bytes, events to an answer.
//!
//! What vendors do beside their documentation stands as a comment where it is dealt with; each has
//! its stream in `fixtures/llm`.

mod anthropic;
mod blocks;
mod chat;
mod gemini;
mod responses;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::error::{ErrorKind, LlmError};
use super::facts::Facts;
use super::key::Key;
use super::message::{Block, Message, Origin, Usage, Wire};
use super::request::TurnRequest;
use super::sse::SseEvent;
use super::turn::{Stop, TurnEvent};

/// One model at one address, and what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Language, address and model.
    pub origin: Origin,
    /// What is known of the model.
    pub facts: Facts,
}

/// A request, ready but for the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Where to; never holds a key.
    pub url: String,
    /// Headers beside the key's and the content's.
    pub headers: Vec<(&'static str, &'static str)>,
    /// JSON.
    pub body: Vec<u8>,
}

/// Reads one answer.
pub trait Decoder: Send {
    /// Takes an event; `true` says that it was the last one.
    ///
    /// # Errors
    /// What the vendor says went wrong, or `Protocol`.
    fn event(&mut self, event: &SseEvent, out: &mut Vec<TurnEvent>) -> Result<bool, LlmError>;

    /// The answer, after its last event or the end of its bytes.
    ///
    /// # Errors
    /// `Truncated` where the vendor's own mark of the end was not seen.
    fn finish(&mut self, out: &mut Vec<TurnEvent>) -> Result<Answer, LlmError>;

    /// What is there when it breaks off, and what it cost so far.
    fn partial(&mut self) -> (Vec<Block>, Option<Usage>);
}

/// A whole answer, before it is known who gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub content: Vec<Block>,
    /// Why it ended.
    pub stop: Stop,
    /// What it cost.
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

/// Where the vendor lists its models, below the base address, and the headers to ask with.
pub(super) fn listing(wire: Wire) -> (&'static str, &'static [(&'static str, &'static str)]) {
    match wire {
        Wire::Anthropic => ("/models?limit=1000", anthropic::HEADERS),
        Wire::Gemini => ("/models?pageSize=1000", &[]),
        Wire::Responses | Wire::Chat => ("/models", &[]),
    }
}

/// A decoder for one answer.
pub fn decoder(wire: Wire) -> Box<dyn Decoder> {
    match wire {
        Wire::Anthropic => Box::<anthropic::Reader>::default(),
        Wire::Responses => Box::<responses::Reader>::default(),
        Wire::Chat => Box::<chat::Reader>::default(),
        Wire::Gemini => Box::<gemini::Reader>::default(),
    }
}

impl Target {
    /// Makes the request.
    ///
    /// # Errors
    /// `InvalidRequest` where the history cannot be told in this language.
    pub fn encode(&self, request: &TurnRequest) -> Result<Call, LlmError> {
        let call = match self.origin.wire {
            Wire::Anthropic => anthropic::encode(self, request),
            Wire::Responses => responses::encode(self, request),
            Wire::Chat => chat::encode(self, request),
            Wire::Gemini => gemini::encode(self, request),
        };
        call.map_err(|error| LlmError::new(ErrorKind::InvalidRequest, error.to_string()))
    }

    /// The block's native item, where this model may be given it.
    fn native<'a>(&self, block: &'a Block, origin: Option<&Origin>) -> Option<&'a str> {
        let native = block.native.as_deref()?;
        origin.is_some_and(|origin| self.origin.reads(origin)).then_some(native)
    }

    fn output_tokens(&self, request: &TurnRequest) -> u32 {
        request.max_output_tokens.min(self.facts.output_limit()).max(1)
    }

    /// Whether images may be sent.
    fn sees(&self) -> bool {
        self.facts.vision.unwrap_or(false)
    }
}

type Encoded<T> = Result<T, serde_json::Error>;

/// A value as raw JSON.
fn raw(value: &impl Serialize) -> Encoded<Box<RawValue>> {
    serde_json::value::to_raw_value(value)
}

/// A stored native item as it came.
fn stored(native: &str) -> Encoded<Box<RawValue>> {
    RawValue::from_string(native.to_owned())
}

/// What stands where an image would, for a model that cannot see.
const UNSEEN: &str = "[an image, which this model cannot see]";

/// Whether the history holds calls or results: vendors then insist on tools being named.
fn has_calls(messages: &[Message]) -> bool {
    messages.iter().any(|message| match message {
        Message::Assistant { content, .. } => content.iter().any(|block| block.call().is_some()),
        Message::ToolResults { .. } => true,
        Message::User { .. } | Message::Notice { .. } => false,
    })
}

/// A call id as every vendor takes it; the same id always gives the same.
fn plain_id(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let id: String = id.chars().map(plain).take(64).collect();
    if id.is_empty() { "call".to_owned() } else { id }
}

/// Ids for calls that came without one, distinct within a history.
#[derive(Debug, Default)]
struct Ids {
    prefix: Option<String>,
    given: usize,
}

impl Ids {
    fn next(&mut self) -> String {
        let prefix = self.prefix.get_or_insert_with(|| {
            let mut bytes = [0_u8; 6];
            // Without randomness ids are distinct within an answer only.
            let _ = getrandom::fill(&mut bytes);
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        });
        let id = format!("local_{prefix}_{}", self.given);
        self.given += 1;
        id
    }
}

/// Reads an event's data.
fn parsed<'a, T: Deserialize<'a>>(event: &'a SseEvent) -> Result<T, LlmError> {
    serde_json::from_str(&event.data).map_err(|error| {
        LlmError::new(ErrorKind::Protocol, format!("an event is not what it should be: {error}"))
    })
}

fn truncated() -> LlmError {
    LlmError::new(ErrorKind::Truncated, "the stream ended without the vendor's mark of its end")
}
