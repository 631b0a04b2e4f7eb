//! Reads a model's answer and merges small pieces.

use std::collections::VecDeque;
use std::task::{Context as Poller, Poll, Waker};

use futures_util::StreamExt as _;

use crate::llm::{self, ErrorKind, LlmError, TurnEvent, TurnStream};

/// The most pieces to merge at once.
const MAX_MERGED: usize = 64;

/// The next item of the stream. Merges pieces that are already there, so that a model that sends
/// single letters costs no more than one that sends lines.
pub(super) async fn next_item(
    stream: &mut Option<TurnStream>,
    ready: &mut VecDeque<Result<llm::Item, LlmError>>,
) -> Result<llm::Item, LlmError> {
    if let Some(item) = ready.pop_front() {
        return item;
    }
    let Some(stream) = stream else { return std::future::pending().await };
    let none =
        || Err(LlmError::new(ErrorKind::Truncated, "the answer ended without its final event"));
    let mut item = stream.next().await.unwrap_or_else(none);
    let mut poller = Poller::from_waker(Waker::noop());
    for _ in 0..MAX_MERGED {
        let Ok(llm::Item::Event(event)) = &mut item else { break };
        let Poll::Ready(next) = stream.as_mut().poll_next(&mut poller) else { break };
        let next = next.unwrap_or_else(none);
        if !append_if_same(event, &next) {
            ready.push_back(next);
            break;
        }
    }
    item
}

/// Appends `next` to `event` if both are deltas of the same block.
fn append_if_same(event: &mut TurnEvent, next: &Result<llm::Item, LlmError>) -> bool {
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
