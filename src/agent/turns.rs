//! How turns begin and end: each driven by a task of its own, and what an earlier run left made whole.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::context::Context;
use super::driver::{self, Driver};
use super::entry::{Entry, Said};
use super::ports::MemoryError;
use super::scene;
use super::shared::{Answered, Command, Running, Shared};
use super::turn::{Event, Reason};
use crate::conversation::{ConversationId, TurnId};

/// A turn that is over.
pub(super) struct Over {
    pub conversation: ConversationId,
    /// Why.
    pub reason: Reason,
    /// Whether its end is kept.
    pub is_kept: bool,
    /// What nobody has heard yet.
    pub unheard: Vec<Said>,
}

/// Makes whole what an earlier run left; what was received and not heard. Blocks.
///
/// # Errors
/// [`MemoryError`]; what was not made whole is at the next turn.
pub(super) fn recover(shared: &Shared) -> Result<Vec<Said>, MemoryError> {
    let memory = &shared.ports.memory;
    let left = memory.leftovers()?;
    for (conversation, turn) in left.turns {
        if let Err(error) = make_whole(shared, conversation, turn) {
            // Of what else is kept nothing is held up by it; the next turn there tries again.
            tracing::error!(%error, %conversation, "a conversation was not made whole");
        }
        // Last, so that a start that breaks off here leaves it to the next one.
        memory.interrupt(conversation, "the steward ended while it was at work")?;
        tracing::info!(%conversation, %turn, "a turn was interrupted by the end of the steward");
    }
    Ok(left.messages)
}

fn make_whole(
    shared: &Shared,
    conversation: ConversationId,
    turn: TurnId,
) -> Result<(), MemoryError> {
    let memory = &shared.ports.memory;
    let mut context = Context::of(memory.entries(conversation)?);
    scene::fill(shared, conversation, turn, &mut context)?;
    let words = "The steward ended in the middle of this turn. What it had changed by then stands; \
                 list_changes shows it.";
    memory.append(conversation, turn, &Entry::notice(words)).map(|_| ())
}

/// Ends a turn that nobody drives any more, and makes its history whole. Blocks.
pub(super) fn give_up(shared: &Shared, conversation: ConversationId) -> Result<(), MemoryError> {
    let memory = &shared.ports.memory;
    let Some(turn) = memory.interrupt(conversation, "it could not be ended")? else {
        return Ok(());
    };
    let mut context = Context::of(memory.entries(conversation)?);
    scene::fill(shared, conversation, turn, &mut context)
}

/// Takes note of a turn that is kept as begun with this message, and drives it to its end.
pub(super) fn begin(
    shared: &Arc<Shared>,
    conversation: ConversationId,
    turn: TurnId,
    said: Said,
    begins: fn(Said) -> Event,
) -> impl Future<Output = Over> + Send + use<> {
    let (commands, mut heard) = mpsc::unbounded_channel();
    let (over, is_over) = oneshot::channel::<()>();
    let running = Running { turn, commands, queued: 0, is_over };
    let before = shared.state().running.insert(conversation, running);
    let shared = Arc::clone(shared);
    async move {
        if let Some(before) = before {
            // Its end is kept and not told yet; nothing of this one is told before that. The
            // error is how the end is told: the other end is dropped.
            let _ = before.is_over.await;
        }
        let message = said.number;
        let mut done = match Driver::begin(Arc::clone(&shared), conversation, turn).await {
            Ok(driver) => driver.run(begins(said), &mut heard).await,
            Err(error) => driver::not_begun(&shared, conversation, turn, message, &error),
        };
        let unheard = take_note(&shared, conversation, turn, &mut done, &mut heard);
        drop(over);
        Over { conversation, reason: done.end.reason, is_kept: done.is_kept, unheard }
    }
}

/// Takes note of the end of a turn; what nobody has heard yet.
fn take_note(
    shared: &Shared,
    conversation: ConversationId,
    turn: TurnId,
    done: &mut driver::Done,
    commands: &mut mpsc::UnboundedReceiver<Command>,
) -> Vec<Said> {
    let mut unheard = std::mem::take(&mut done.end.unheard);
    let mut state = shared.state();
    while let Ok(command) = commands.try_recv() {
        if let Command::Said(said) = command {
            unheard.push(said);
        }
    }
    // The next turn may have begun already.
    if state.running.get(&conversation).is_some_and(|running| running.turn == turn) {
        state.running.remove(&conversation);
    }
    let answered = Ok(Answered {
        conversation,
        turn,
        reason: Some(done.end.reason),
        words: done.end.words.clone(),
        cause: done.end.cause,
        hint: done.end.hint.clone(),
        answer: done.answer.clone(),
    });
    done.heard.iter().for_each(|message| state.answer(*message, &answered));
    unheard
}
