//! Starts and ends turns, each in its own task, and repairs what an earlier run left.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::context::Context;
use super::driver::{self, Driver};
use super::entry::{Entry, UserMessage};
use super::load;
use super::ports::Result;
use super::shared::{MessageOutcome, RunningTurn, SharedAgent, TurnCommand};
use super::turn::{Event, Reason};
use crate::conversation::{ConversationId, TurnId};

pub(super) struct FinishedTurn {
    pub conversation: ConversationId,
    pub reason: Reason,
    /// Whether the end was stored.
    pub is_stored: bool,
    /// The messages that were not delivered.
    pub undelivered: Vec<UserMessage>,
}

/// Repairs what an earlier run left; returns the undelivered messages. Blocks.
pub(super) fn recover(shared: &SharedAgent) -> Result<Vec<UserMessage>> {
    let memory = &shared.ports.memory;
    let left = memory.leftovers()?;
    for (conversation, turn) in left.turns {
        if let Err(error) = repair(shared, conversation, turn) {
            // This does not hold up the others; the next turn there tries again.
            tracing::error!(%error, %conversation, "a conversation could not be repaired");
        }
        // Last, so that a crash before this leaves the turn to the next start.
        memory.interrupt(conversation, "the steward ended during the turn")?;
        tracing::info!(%conversation, %turn, "a turn was interrupted by the end of the steward");
    }
    Ok(left.messages)
}

fn repair(shared: &SharedAgent, conversation: ConversationId, turn: TurnId) -> Result<()> {
    let memory = &shared.ports.memory;
    let mut context = Context::of(memory.entries(conversation)?);
    load::fill_missing(shared, conversation, turn, &mut context)?;
    let words = "The steward ended in the middle of this turn. What it had changed by then stands; \
                 list_changes shows it.";
    memory.append(conversation, turn, &Entry::notice(words)).map(|_| ())
}

/// Ends a turn that is stored as running but has no task, and repairs its history. Blocks.
pub(super) fn give_up(shared: &SharedAgent, conversation: ConversationId) -> Result<()> {
    let memory = &shared.ports.memory;
    let Some(turn) = memory.interrupt(conversation, "it could not be ended")? else {
        return Ok(());
    };
    let mut context = Context::of(memory.entries(conversation)?);
    load::fill_missing(shared, conversation, turn, &mut context)
}

/// Registers a stored turn and runs it to completion.
pub(super) fn begin(
    shared: &Arc<SharedAgent>,
    conversation: ConversationId,
    turn: TurnId,
    user_message: UserMessage,
    begins: fn(UserMessage) -> Event,
) -> impl Future<Output = FinishedTurn> + Send + use<> {
    let (commands, mut receiver) = mpsc::unbounded_channel();
    let (over, is_over) = oneshot::channel::<()>();
    let running = RunningTurn { turn, commands, queued: 0, is_over };
    let before = shared.state().running.insert(conversation, running);
    let shared = Arc::clone(shared);
    async move {
        if let Some(before) = before {
            // The previous turn's end is stored but may not be sent yet; this turn must not send
            // anything before. The channel closes without a value, so the result is always an
            // error.
            let _ = before.is_over.await;
        }
        let message = user_message.number;
        let mut done = match Driver::begin(Arc::clone(&shared), conversation, turn).await {
            Ok(driver) => driver.run(begins(user_message), &mut receiver).await,
            Err(error) => driver::failed_to_begin(&shared, conversation, turn, message, &error),
        };
        let undelivered = unregister(&shared, conversation, turn, &mut done, &mut receiver);
        drop(over);
        FinishedTurn {
            conversation,
            reason: done.end.reason,
            is_stored: done.is_stored,
            undelivered,
        }
    }
}

/// Unregisters a finished turn and answers its messages; returns the undelivered ones.
fn unregister(
    shared: &SharedAgent,
    conversation: ConversationId,
    turn: TurnId,
    done: &mut driver::TurnResult,
    commands: &mut mpsc::UnboundedReceiver<TurnCommand>,
) -> Vec<UserMessage> {
    let mut undelivered = std::mem::take(&mut done.end.undelivered);
    let mut state = shared.state();
    while let Ok(command) = commands.try_recv() {
        if let TurnCommand::Message(user_message) = command {
            undelivered.push(user_message);
        }
    }
    // The next turn may be registered already.
    if state.running.get(&conversation).is_some_and(|running| running.turn == turn) {
        state.running.remove(&conversation);
    }
    let answered = Ok(MessageOutcome {
        conversation,
        turn,
        reason: Some(done.end.reason),
        words: done.end.words.clone(),
        cause: done.end.cause,
        hint: done.end.hint.clone(),
        answer: done.answer.clone(),
    });
    done.delivered.iter().for_each(|message| state.answer(*message, &answered));
    undelivered
}
