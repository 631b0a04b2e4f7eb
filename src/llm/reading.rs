//! Bytes of an answer to events and a turn: everything between the socket and the caller, without
//! the socket.

use super::error::{ErrorKind, LlmError};
use super::message::Origin;
use super::sse::{SseDecoder, SseEvent};
use super::turn::{Turn, TurnEvent};
use super::wire::{self, Decoder};

/// How many times larger than what it answers an event may be before it counts itself: OpenAI sends
/// some 270 bytes for a word.
const AROUND: usize = 64;

/// Reads one answer.
pub struct Reading {
    sse: SseDecoder,
    decoder: Box<dyn Decoder>,
    origin: Origin,
    limit: usize,
    /// Bytes of what was answered, and of events that answer nothing.
    taken: usize,
    events: Vec<SseEvent>,
    /// An answer in one piece, without a stream around it.
    whole: Option<Vec<u8>>,
    ended: bool,
}

impl Reading {
    /// For an answer of `origin`, a stream or one piece of JSON (`is_whole`), with at most `limit` bytes of text, thinking and arguments. What a
    /// vendor sends around each piece of these does not count.
    pub fn new(origin: Origin, is_whole: bool, limit: usize) -> Self {
        Self {
            sse: SseDecoder::new(limit),
            decoder: wire::decoder(origin.wire),
            origin,
            limit,
            taken: 0,
            events: Vec::new(),
            whole: is_whole.then(Vec::new),
            ended: false,
        }
    }

    /// Takes more bytes; `true` says that the answer is whole. What happened before an error is in
    /// `out`, and what had been answered in the error.
    ///
    /// # Errors
    /// What the vendor says, `Protocol`, or `TooLarge`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<TurnEvent>) -> Result<bool, LlmError> {
        if let Some(whole) = &mut self.whole {
            whole.extend_from_slice(bytes);
        }
        let fed = match &self.whole {
            Some(_) => Ok(()),
            None => self.sse.feed(bytes, &mut self.events),
        };
        self.decode(out)?;
        let whole = self.whole.as_ref().map_or(0, Vec::len);
        let is_too_much = self.taken + self.sse.passed_over() + whole > self.limit;
        if !self.ended && (fed.is_err() || is_too_much) {
            let message = format!("an answer of more than {} bytes was sent", self.limit);
            return Err(self.with_partial(LlmError::new(ErrorKind::TooLarge, message)));
        }
        Ok(self.ended)
    }

    /// The answer, when it is whole or its bytes are at their end.
    ///
    /// # Errors
    /// `Truncated` where it is not whole, and as [`Reading::feed`].
    pub fn finish(&mut self, out: &mut Vec<TurnEvent>) -> Result<Turn, LlmError> {
        let whole = self.whole.take();
        let is_whole = whole.is_some();
        if let Some(whole) = whole {
            let data = String::from_utf8_lossy(&whole).into_owned();
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
            let told = out.len();
            match self.decoder.event(&event, out) {
                Ok(ended) => self.ended = ended,
                Err(error) => return Err(self.with_partial(error)),
            }
            self.taken += match out.len() - told {
                0 => event.data.len(),
                _ => {
                    let answered: usize = out[told..].iter().map(TurnEvent::bytes).sum();
                    answered.max(event.data.len() / AROUND)
                }
            };
        }
        Ok(())
    }
}
