//! Bytes of an answer to events and a turn: everything between the socket and the caller, without
//! the socket.

use super::error::{ErrorKind, LlmError};
use super::message::Origin;
use super::sse::{SseDecoder, SseEvent};
use super::turn::{Turn, TurnEvent};
use super::wire::{self, Decoder};

/// Reads one answer.
pub struct Reading {
    sse: SseDecoder,
    decoder: Box<dyn Decoder>,
    origin: Origin,
    limit: usize,
    bytes: usize,
    events: Vec<SseEvent>,
    ended: bool,
}

impl Reading {
    /// For an answer of `origin` with at most `limit` bytes.
    pub fn new(origin: Origin, limit: usize) -> Self {
        Self {
            sse: SseDecoder::new(limit),
            decoder: wire::decoder(origin.wire),
            origin,
            limit,
            bytes: 0,
            events: Vec::new(),
            ended: false,
        }
    }

    /// Takes more bytes; `true` says that the answer is whole. What happened before an error is in
    /// `out`, and what had been answered in the error.
    ///
    /// # Errors
    /// What the vendor says, `Protocol`, or `TooLarge`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<TurnEvent>) -> Result<bool, LlmError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        let fed = self.sse.feed(bytes, &mut self.events);
        self.decode(out)?;
        if !self.ended && (fed.is_err() || self.bytes > self.limit) {
            let limit = self.limit;
            let error =
                LlmError::new(ErrorKind::TooLarge, format!("more than {limit} bytes were sent"));
            return Err(self.with_partial(error));
        }
        Ok(self.ended)
    }

    /// The answer, when it is whole or its bytes are at their end.
    ///
    /// # Errors
    /// `Truncated` where it is not whole, and as [`Reading::feed`].
    pub fn finish(&mut self, out: &mut Vec<TurnEvent>) -> Result<Turn, LlmError> {
        if !self.ended {
            self.sse.finish(&mut self.events);
            self.decode(out)?;
        }
        match self.decoder.finish(out) {
            Ok(answer) => Ok(Turn {
                content: answer.content,
                stop: answer.stop,
                usage: answer.usage,
                origin: self.origin.clone(),
                request_id: None,
            }),
            Err(error) => Err(self.with_partial(error)),
        }
    }

    /// Puts what had been answered by now into an error.
    pub fn with_partial(&mut self, mut error: LlmError) -> LlmError {
        (error.detail.partial, error.detail.usage) = self.decoder.partial();
        error
    }

    fn decode(&mut self, out: &mut Vec<TurnEvent>) -> Result<(), LlmError> {
        for event in std::mem::take(&mut self.events) {
            if self.ended {
                break;
            }
            match self.decoder.event(&event, out) {
                Ok(ended) => self.ended = ended,
                Err(error) => return Err(self.with_partial(error)),
            }
        }
        Ok(())
    }
}
