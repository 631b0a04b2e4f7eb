//! A model's answer as it comes, piece by piece.

use std::collections::VecDeque;
use std::task::{Context as Poller, Poll, Waker};

use futures_util::StreamExt as _;

use crate::llm::{self, ErrorKind, LlmError, TurnEvent, TurnStream};

/// Pieces of an answer that are taken at once where they are there at once.
const PIECES: usize = 64;

/// The next piece of an answer. Those that are there at once are taken together, so that a model
/// that answers in single letters costs no more than one that does not.
pub(super) async fn piece(
    stream: &mut Option<TurnStream>,
    ready: &mut VecDeque<Result<llm::Item, LlmError>>,
) -> Result<llm::Item, LlmError> {
    if let Some(item) = ready.pop_front() {
        return item;
    }
    let Some(stream) = stream else { return std::future::pending().await };
    let none = || Err(LlmError::new(ErrorKind::Truncated, "the answer ended without an end"));
    let mut item = stream.next().await.unwrap_or_else(none);
    let mut poller = Poller::from_waker(Waker::noop());
    for _ in 0..PIECES {
        let Ok(llm::Item::Event(event)) = &mut item else { break };
        let Poll::Ready(next) = stream.as_mut().poll_next(&mut poller) else { break };
        let next = next.unwrap_or_else(none);
        if !joined(event, &next) {
            ready.push_back(next);
            break;
        }
    }
    item
}

/// Puts a piece behind the one before it, where they are of one kind.
fn joined(event: &mut TurnEvent, next: &Result<llm::Item, LlmError>) -> bool {
    let Ok(llm::Item::Event(next)) = next else { return false };
    match (event, next) {
        (TurnEvent::Text { block, delta }, TurnEvent::Text { block: other, delta: more })
        | (
            TurnEvent::Thinking { block, delta },
            TurnEvent::Thinking { block: other, delta: more },
        ) if block == other => {
            delta.push_str(more);
            true
        }
        _ => false,
    }
}
