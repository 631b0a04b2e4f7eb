//! What happens while the chat goes on, and what is shown of it.

use super::super::client::ClientError;
use super::super::failure::{Failure, NO_MODEL};
use super::link::Heard;
use super::markdown::style::Style;
use super::safe;
use super::talk::{Next, Talk};
use crate::protocol::conversations::{ConversationChange, ConversationChangedParams};
use crate::protocol::error::ErrorObject;
use crate::protocol::session::{
    SessionPromptResult, SessionState, SessionUpdate, StateParams, StopReason,
};

impl Talk<'_> {
    pub(super) async fn hear(&mut self, heard: Heard) -> Result<Next, Failure> {
        match heard {
            Heard::Update(update) => {
                let ours = self.is_ours(&update.update);
                if ours {
                    self.conversation = Some(update.session_id.clone());
                }
                if self.is_shown(&update.session_id) {
                    let shown = self.transcript.update(&update.update, ours);
                    self.show(shown)?;
                }
            }
            Heard::Message(message) if self.is_shown(&message.session_id) => {
                let shown = self.transcript.message(&message);
                self.show(shown)?;
            }
            Heard::State(state) if self.is_shown(&state.session_id) => self.stands(&state)?,
            Heard::Conversation(changed) => self.conversation_changed(&changed).await?,
            Heard::Changes(changes) => {
                let of_ours = changes.change_set.conversation.as_deref();
                if of_ours.is_some() && of_ours == self.conversation.as_deref() {
                    self.transcript.changed(&changes.change_set);
                }
            }
            Heard::Changed(changed) => self.renamed(&changed),
            Heard::Permission(id, asked) => self.asked(id, asked)?,
            Heard::Withdrawn(id) => self.withdrawn(&id)?,
            Heard::Answered(answer) => self.answered(answer)?,
            Heard::Message(_) | Heard::State(_) | Heard::Other => {}
        }
        Ok(Next::GoOn)
    }

    fn is_ours(&self, update: &SessionUpdate) -> bool {
        let SessionUpdate::UserMessageChunk { meta: Some(meta), .. } = update else { return false };
        let name = meta.vault.client_message_id.as_ref();
        name.is_some_and(|name| self.ours.contains(name))
    }

    fn is_shown(&self, conversation: &str) -> bool {
        self.conversation.as_deref() == Some(conversation)
    }

    /// The conversation stands otherwise.
    fn stands(&mut self, state: &StateParams) -> Result<(), Failure> {
        let runs = state.state != SessionState::Idle;
        // One that somebody else began.
        if runs && !self.running {
            self.transcript.begin();
        }
        let ended = self.running && !runs;
        self.running = runs;
        self.waiting = state.waiting;
        if !ended {
            return Ok(());
        }
        let shown = self.transcript.end();
        self.show(shown)?;
        match (&state.error, state.stop_reason) {
            // Of ours it is told with the answer.
            (Some(error), _) if !self.link.is_waiting() => {
                self.tell(Style::RED, &safe::line(error))?;
            }
            (_, Some(StopReason::Cancelled)) => self.tell(Style::DIM, "stopped")?,
            (_, Some(StopReason::MaxTurnRequests)) => {
                self.tell(Style::DIM, "the turn reached its limit; say \"go on\" to go on")?;
            }
            (_, Some(StopReason::MaxTokens)) => {
                self.tell(Style::DIM, "the answer reached its limit; say \"go on\" to go on")?;
            }
            (_, Some(StopReason::Refusal)) => self.tell(Style::DIM, "the model declined")?,
            _ => {}
        }
        if self.usage
            && let Some(used) = self.transcript.used()
        {
            self.tell(Style::DIM, &used)?;
        }
        Ok(())
    }

    /// What we said is answered.
    fn answered(
        &mut self,
        answer: Result<SessionPromptResult, ErrorObject>,
    ) -> Result<(), Failure> {
        let ended = match answer {
            Ok(result) => {
                let ours = result.meta.vault;
                let missed = self.transcript.answer(&ours.turn, &ours.answer);
                self.show(missed)?;
                let words = ours.answer;
                self.conversation = Some(ours.session_id);
                self.waiting = ours.waiting;
                match result.stop_reason {
                    _ if ours.no_model => {
                        self.transcript.forget_held();
                        Err(Failure::no_model(safe::line(&words)))
                    }
                    StopReason::Cancelled => {
                        let hint = "what was said and changed until then stays";
                        Err(Failure::other("cancelled", "the turn was stopped", hint))
                    }
                    _ => Ok(()),
                }
            }
            Err(error) => Err(ClientError::Answer(error).into()),
        };
        if !self.link.is_waiting() && self.running {
            // The end of the turn comes with it, unless it never began.
            self.running = false;
            let shown = self.transcript.end();
            self.show(shown)?;
        }
        match &ended {
            Err(failure) if self.stays && !is_told(failure) => self.fail(failure)?,
            _ => {}
        }
        self.ended = Some(ended);
        Ok(())
    }

    async fn conversation_changed(
        &mut self,
        changed: &ConversationChangedParams,
    ) -> Result<(), Failure> {
        let id = changed.session_id.clone();
        let shown = self.is_shown(&id);
        match changed.kind {
            ConversationChange::Began if self.pinned.is_none() && !shown => {
                self.begun = None;
                self.conversation = Some(id.clone());
                self.waiting = false;
                self.tell_staying(&format!("conversation {}", safe::line(&id)))?;
            }
            ConversationChange::Ended if shown => {
                self.waiting = false;
                let info = self.look_up(Some(id.clone())).await.ok();
                let reason = info.and_then(|info| info.reason).filter(|reason| !reason.is_empty());
                let reason = reason.map(|reason| format!(" ({})", safe::line(&reason)));
                let reason = reason.unwrap_or_default();
                self.tell_staying(&format!("conversation {} has ended{reason}", safe::line(&id)))?;
            }
            ConversationChange::Titled if shown => {
                let info = self.look_up(Some(id)).await.ok();
                if let Some(title) = info.and_then(|info| info.title) {
                    self.tell_staying(&format!("it is called: {}", safe::line(&title)))?;
                }
            }
            ConversationChange::Deleted if shown => {
                (self.conversation, self.pinned, self.begun) = (None, None, None);
                let words = "this conversation was deleted; the next message begins a new one";
                self.tell_staying(words)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn tell_staying(&mut self, words: &str) -> Result<(), Failure> {
        if self.stays { self.tell(Style::DIM, words) } else { Ok(()) }
    }
}

/// Whether a failure was shown as it happened.
fn is_told(failure: &Failure) -> bool {
    failure.code == "cancelled" || failure.code == NO_MODEL
}
