//! Asks a model for one complete answer without tools, and for a corrected one if the answer is
//! unusable.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;

use super::clock::Clock;
use crate::llm::{
    self, BlockKind, Effort, ErrorKind, LlmError, Message, Origin, Provider, ToolChoice, Turn,
    TurnRequest, Usage,
};

/// The most attempts for one answer, corrections included.
pub(super) const TRIES: usize = 3;

/// The most output tokens of a checked answer; thinking models need more than the answer alone.
const OUTPUT: u32 = 4_096;

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
        Err(LlmError::new(ErrorKind::Truncated, "the answer ended without its final event"))
    };
    tokio::select! {
        turn = answer => turn,
        () = clock.sleep(PATIENCE) => {
            let message = format!("no answer within {} seconds", PATIENCE.as_secs());
            Err(LlmError::new(ErrorKind::Timeout, message))
        }
    }
}

/// Asks until `check` accepts an answer; its error goes to the model. No value after [`TRIES`]
/// answers. `count` is called for each request with the model and its token usage, as far as known.
pub(super) async fn ask_checked<T>(
    model: &dyn Provider,
    clock: &dyn Clock,
    system: &str,
    question: String,
    mut check: impl FnMut(&str) -> Result<T, String>,
    count: impl Fn(Option<&Origin>, Option<Usage>),
) -> Result<(Option<T>, Origin), LlmError> {
    let mut messages = vec![Message::user(question)];
    for tried in 1.. {
        let request = TurnRequest {
            system: system.into(),
            tool_choice: ToolChoice::None,
            max_output_tokens: OUTPUT,
            effort: Some(Effort::Low),
            ..TurnRequest::new(messages.clone())
        };
        let turn = match ask(model, clock, request).await {
            Ok(turn) => turn,
            Err(error) => {
                // A failed request may have been charged too.
                if error.detail.usage.is_some() {
                    count(None, error.detail.usage);
                }
                return Err(error);
            }
        };
        count(Some(&turn.origin), turn.usage);
        match check(&text_of(&turn)) {
            Ok(found) => return Ok((Some(found), turn.origin)),
            Err(_) if tried == TRIES => return Ok((None, turn.origin)),
            Err(correction) => {
                messages
                    .push(Message::Assistant { content: turn.content, origin: Some(turn.origin) });
                messages.push(Message::user(correction));
            }
        }
    }
    unreachable!("the last attempt returns")
}

pub(super) fn text_of(turn: &Turn) -> String {
    let texts = turn.content.iter().filter_map(|block| match &block.kind {
        BlockKind::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
