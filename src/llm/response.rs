//! Decodes a response: turns bytes into events and a turn. Does no I/O.

use super::error::{ErrorKind, LlmError};
use super::message::Origin;
use super::sse::{SseDecoder, SseEvent};
use super::turn::{Turn, TurnEvent};
use super::wire::{self, Decoder};

/// An event counts towards the size limit with its own size if that is more than this many times
/// the size of its content. OpenAI sends about 270 bytes for each word.
const AROUND: usize = 64;

pub struct ResponseDecoder {
    sse: SseDecoder,
    decoder: Box<dyn Decoder>,
    origin: Origin,
    limit: usize,
    /// Bytes counted so far: content, and events without content.
    taken: usize,
    events: Vec<SseEvent>,
    /// The body of a response that is one JSON document instead of a stream.
    body: Option<Vec<u8>>,
    ended: bool,
}

impl ResponseDecoder {
    /// For a response from `origin`. `is_json`: the response is one JSON document, not a stream.
    /// `limit`: the most bytes of text, thinking and arguments together; the JSON that a vendor
    /// wraps around each piece does not count.
    pub fn new(origin: Origin, is_whole: bool, limit: usize) -> Self {
        Self {
            sse: SseDecoder::new(limit),
            decoder: wire::decoder(origin.wire),
            origin,
            limit,
            taken: 0,
            events: Vec::new(),
            body: is_whole.then(Vec::new),
            ended: false,
        }
    }

    /// Decodes more bytes; returns `true` when the answer is complete. On an error, `out` still
    /// gets the events before it, and the error carries the partial answer.
    ///
    /// # Errors
    /// The vendor's error, `Protocol`, or `TooLarge`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<TurnEvent>) -> Result<bool, LlmError> {
        if let Some(body) = &mut self.body {
            body.extend_from_slice(bytes);
        }
        let fed = match &self.body {
            Some(_) => Ok(()),
            None => self.sse.feed(bytes, &mut self.events),
        };
        self.decode(out)?;
        let body = self.body.as_ref().map_or(0, Vec::len);
        let is_too_much = self.taken + self.sse.passed_over() + body > self.limit;
        if !self.ended && (fed.is_err() || is_too_much) {
            let message = format!("an answer of more than {} bytes was sent", self.limit);
            return Err(self.with_partial(LlmError::new(ErrorKind::TooLarge, message)));
        }
        Ok(self.ended)
    }

    /// Returns the answer once it is complete or the bytes have ended.
    ///
    /// # Errors
    /// `Truncated` if the answer is incomplete; otherwise as [`ResponseDecoder::feed`].
    pub fn finish(&mut self, out: &mut Vec<TurnEvent>) -> Result<Turn, LlmError> {
        let body = self.body.take();
        let is_whole = body.is_some();
        if let Some(body) = body {
            let data = String::from_utf8_lossy(&body).into_owned();
            self.events.push(SseEvent { event: String::new(), data });
        } else if !self.ended {
            self.sse.finish(&mut self.events);
        }
        self.decode(out)?;
        match self.decoder.finish(out) {
            Ok(answer) => Ok(Turn {
                content: answer.content,
                stop: answer.stop,
                usage: answer.usage,
                origin: self.origin.clone(),
                request_id: None,
            }),
            Err(_) if is_whole => {
                Err(LlmError::new(ErrorKind::Protocol, "the server did not answer with a stream"))
            }
            Err(error) => Err(self.with_partial(error)),
        }
    }

    /// Adds the partial answer and its usage to an error.
    pub fn with_partial(&mut self, mut error: LlmError) -> LlmError {
        (error.detail.partial, error.detail.usage) = self.decoder.partial();
        error
    }

    fn decode(&mut self, out: &mut Vec<TurnEvent>) -> Result<(), LlmError> {
        for event in std::mem::take(&mut self.events) {
            if self.ended {
                break;
            }
            let before = out.len();
            match self.decoder.event(&event, out) {
                Ok(ended) => self.ended = ended,
                Err(error) => return Err(self.with_partial(error)),
            }
            self.taken += match out.len() - before {
                0 => event.data.len(),
                _ => {
                    let answered: usize = out[before..].iter().map(TurnEvent::bytes).sum();
                    answered.max(event.data.len() / AROUND)
                }
            };
        }
        Ok(())
    }
}
