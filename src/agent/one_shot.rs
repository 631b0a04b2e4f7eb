//! Asks a model for one complete answer without tools.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;

use super::clock::Clock;
use crate::llm::{self, BlockKind, ErrorKind, LlmError, Provider, Turn, TurnRequest};

/// The timeout for an answer.
const PATIENCE: Duration = Duration::from_secs(180);

/// Sends the request and waits for the complete answer.
///
/// # Errors
/// As the model's stream; [`ErrorKind::Timeout`] after three minutes.
pub(super) async fn ask(
    model: &dyn Provider,
    clock: &dyn Clock,
    request: TurnRequest,
) -> Result<Turn, LlmError> {
    let mut stream = model.stream(Arc::new(request));
    let answer = async {
        while let Some(item) = stream.next().await {
            if let llm::Item::Done(turn) = item? {
                return Ok(*turn);
            }
        }
        Err(LlmError::new(ErrorKind::Truncated, "the answer ended without an end"))
    };
    tokio::select! {
        turn = answer => turn,
        () = clock.sleep(PATIENCE) => {
            let message = format!("no answer within {} seconds", PATIENCE.as_secs());
            Err(LlmError::new(ErrorKind::Timeout, message))
        }
    }
}

pub(super) fn text_of(turn: &Turn) -> String {
    let texts = turn.content.iter().filter_map(|block| match &block.kind {
        BlockKind::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
