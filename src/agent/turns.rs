//! How turns begin and end: each driven by a task of its own, and what an earlier run left made whole.

use tokio::sync::{mpsc, oneshot};

use super::context::Context;
use super::driver::{self, Command, Driver};
use super::entry::{Entry, Said};
use super::handle::{Agent, Answered, Left, Running};
use super::ports::MemoryError;
use super::scene;
use super::turn;
use crate::conversation::{ConversationId, TurnId};

impl Agent {
    /// Makes whole what an earlier run left, before anything is said: calls of which nobody knows
    /// what came get a result that says so. Nothing is done again. What was received and not heard
    /// is for [`Self::hear_left`]. Blocks.
    ///
    /// # Errors
    /// [`MemoryError`]; what was not made whole is at the next turn.
    pub fn recover(&self) -> Result<Left, MemoryError> {
        let memory = &self.0.ports.memory;
        let left = memory.leftovers()?;
        for (conversation, turn) in left.turns {
            if let Err(error) = self.make_whole(conversation, turn) {
                // Of what else is kept nothing is held up by it; the next turn there tries again.
                tracing::error!(%error, %conversation, "a conversation was not made whole");
            }
            // Last, so that a start that breaks off here leaves it to the next one.
            memory.interrupt(conversation, "the steward ended while it was at work")?;
            tracing::info!(%conversation, %turn, "a turn was interrupted by the end of the steward");
        }
        Ok(Left(left.messages))
    }

    fn make_whole(&self, conversation: ConversationId, turn: TurnId) -> Result<(), MemoryError> {
        let memory = &self.0.ports.memory;
        let mut context = Context::of(memory.entries(conversation)?);
        scene::fill(self, conversation, turn, &mut context)?;
        let words = "The steward ended in the middle of this turn. What it had changed by then \
                     stands; list_changes shows it.";
        memory.append(conversation, turn, &Entry::notice(words))
    }

    /// Ends a turn that nobody drives any more, and makes its history whole.
    pub(super) fn give_up(&self, conversation: ConversationId) -> Result<(), MemoryError> {
        let memory = &self.0.ports.memory;
        let Some(turn) = memory.interrupt(conversation, "it could not be ended")? else {
            return Ok(());
        };
        let mut context = Context::of(memory.entries(conversation)?);
        scene::fill(self, conversation, turn, &mut context)
    }

    /// Begins the turn that is kept as begun with this message.
    pub(super) fn begin(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        said: Said,
        how: fn(Said) -> turn::Event,
    ) {
        let (commands, mut heard) = mpsc::unbounded_channel();
        let (over, is_over) = oneshot::channel::<()>();
        let running = Running { turn, commands, queued: 0, is_over };
        let before = self.state().running.insert(conversation, running);
        let agent = self.clone();
        tokio::spawn(async move {
            if let Some(before) = before {
                // Its end is kept and not told yet; nothing of this one is told before that. The
                // error is how the end is told: the other end is dropped.
                let _ = before.is_over.await;
            }
            let message = said.id.clone();
            let mut done = match Driver::begin(agent.clone(), conversation, turn).await {
                Ok(driver) => driver.run(how(said), &mut heard).await,
                Err(error) => driver::not_begun(&agent, conversation, turn, message, &error),
            };
            let unheard = agent.over(conversation, turn, &mut done, &mut heard);
            drop(over);
            if !done.is_kept
                && let Err(error) = agent.let_go(conversation).await
            {
                tracing::error!(%error, %conversation, "a turn is still open; the next message or \
                                 its cancellation tries again");
            }
            if !unheard.is_empty() {
                agent.hear_rest(conversation, unheard, done.end.reason).await;
            }
        });
    }

    /// Takes note of the end of a turn; what nobody has heard yet.
    fn over(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        done: &mut driver::Done,
        commands: &mut mpsc::UnboundedReceiver<Command>,
    ) -> Vec<Said> {
        let mut unheard = std::mem::take(&mut done.end.unheard);
        let mut state = self.state();
        while let Ok(command) = commands.try_recv() {
            if let Command::Said(said) = command {
                unheard.push(said);
            }
        }
        // The next turn may have begun already.
        if state.running.get(&conversation).is_some_and(|running| running.turn == turn) {
            state.running.remove(&conversation);
        }
        let answered = Answered {
            conversation,
            turn,
            reason: Some(done.end.reason),
            words: done.end.words.clone(),
            cause: done.end.cause,
            hint: done.end.hint.clone(),
            answer: done.answer.clone(),
        };
        self.0.over.notify_waiters();
        for message in &done.heard {
            for waiting in state.waiting.remove(message).into_iter().flatten() {
                // Who has gone needs no answer.
                let _ = waiting.send(Ok(answered.clone()));
            }
        }
        unheard
    }

    /// A message that waited for a turn is heard in it.
    pub(super) fn has_heard(&self, conversation: ConversationId, turn: TurnId) {
        let mut state = self.state();
        if let Some(running) = state.running.get_mut(&conversation)
            && running.turn == turn
        {
            running.queued = running.queued.saturating_sub(1);
        }
    }
}
