//! One chat: the conversation that is shown, and the messages and events in it.

use std::io::IsTerminal as _;

use super::super::client::ClientError;
use super::editor::Editor;
use super::link::{ChatEvent, Link};
use super::look::Look;
use super::markdown::style::Style;
use super::names::{self, Names};
use super::questions::Questions;
use super::screen::Screen;
use super::transcript::{OutputPart, Transcript};
use super::view::View;
use super::{prompts, safe};
use crate::cli::failure::NO_MODEL;
use crate::cli::{Failure, Result, Session};
use crate::protocol::conversations::{
    ConversationChange, ConversationChangedParams, ConversationInfo, ConversationParams,
};
use crate::protocol::error::ErrorObject;
use crate::protocol::session::{
    PromptContent, SessionPromptResult, SessionState, SessionUpdate, StateParams, StopReason,
};

/// Items of a conversation that are read at the start.
const ITEMS_READ: u64 = 1_000_000;

/// Items of a continued conversation that are searched for something to show.
const RECALLED: u64 = 12;

/// The options chosen at the start.
#[derive(Debug)]
pub struct ChatOptions {
    /// The conversation to continue; otherwise the current one, or a new one.
    pub conversation: Option<String>,
    /// Whether the chat continues until the person leaves.
    pub stays: bool,
    /// Whether to show the usage after each turn.
    pub usage: bool,
    pub look: Look,
}

pub struct Chat<'a> {
    /// The context of this run.
    pub session: &'a Session,
    pub link: Link<'a>,
    pub view: View,
    pub questions: Questions,
    names: Names,
    /// The names of the person's own prompts.
    pub prompts: Names,
    /// Whether the chat continues until the person leaves.
    pub stays: bool,
    usage: bool,
    /// The conversation that receives the messages; otherwise the current one.
    pub pinned: Option<String>,
    /// A conversation begun here without a message yet: the first message goes to it, even if
    /// others become current meanwhile.
    pub new_session: Option<String>,
    pub conversation: Option<String>,
    /// Whether a turn is running in it.
    pub running: bool,
    /// Whether the agent waits for an answer.
    pub waiting: bool,
    /// The ids of this client's messages.
    ours: Vec<String>,
    /// The connection was lost, and reconnecting failed.
    pub lost: bool,
    /// Whether something was proposed that the person was not shown yet.
    pub proposed: bool,
    /// How the last turn of this client ended.
    pub outcome: Option<Result<()>>,
}

impl<'a> Chat<'a> {
    /// A chat over `link`; with `editor`, lines can be typed.
    pub fn new(
        session: &'a Session,
        link: Link<'a>,
        editor: Option<Editor>,
        names: Names,
        prompts: Names,
        choices: ChatOptions,
    ) -> Self {
        let ChatOptions { conversation, stays, usage, look } = choices;
        let transcript = Transcript::new(look, stays);
        let streams = stays || std::io::stdout().is_terminal();
        let transcript = if streams { transcript } else { transcript.whole_only() };
        let screen = Screen::new(look, !stays);
        Self {
            session,
            link,
            view: View { look, transcript, screen, editor },
            questions: Questions::default(),
            names,
            prompts,
            stays,
            usage,
            pinned: conversation,
            new_session: None,
            conversation: None,
            running: false,
            waiting: false,
            ours: Vec::new(),
            lost: false,
            proposed: false,
            outcome: None,
        }
    }

    /// Finds the conversation and shows which one it is.
    pub async fn open(&mut self) -> Result<()> {
        let requested = self.pinned.clone();
        let found = self.look_up(requested.clone()).await;
        match (found, requested) {
            (Ok(info), _) => {
                self.follow(&info)?;
                if self.stays {
                    self.recall(&info).await?;
                }
            }
            (Err(failure), Some(_)) => return Err(failure),
            // There is no current conversation: the first message begins one.
            (Err(_), None) => {}
        }
        if self.view.editor.is_some() {
            names::load(&self.names, &mut self.link).await;
            prompts::load(&self.prompts, &mut self.link).await;
        }
        if self.stays {
            let words = "/help lists the commands, Ctrl-C stops the agent, Ctrl-D leaves";
            self.view.remark(Style::DIM, words)?;
        }
        Ok(())
    }

    /// The state of a conversation, or of the current one.
    pub async fn look_up(&mut self, session_id: Option<String>) -> Result<ConversationInfo> {
        // Its items are not needed here.
        let params =
            ConversationParams { session_id, after: ITEMS_READ, ..ConversationParams::default() };
        Ok(self.link.call(&params).await?.conversation)
    }

    /// Shows this conversation from now on.
    pub fn follow(&mut self, info: &ConversationInfo) -> Result<()> {
        self.new_session = None;
        self.conversation = Some(info.session_id.clone());
        self.running = info.shown == "working";
        self.waiting = info.question.is_some();
        if !self.stays {
            return Ok(());
        }
        let title = info.title.as_deref().map(|title| format!(": {}", safe::line(title)));
        let title = title.unwrap_or_default();
        let head = format!("conversation {}{title}", safe::line(&info.session_id));
        self.view.remark(Style::DIM, &head)?;
        if let Some(question) = &info.question {
            let question = format!("you were asked: {}", safe::line(question));
            self.view.remark(Style::YELLOW, &question)?;
        }
        Ok(())
    }

    /// Shows the end of a continued conversation.
    pub async fn recall(&mut self, info: &ConversationInfo) -> Result<()> {
        let params = ConversationParams {
            session_id: Some(info.session_id.clone()),
            after: info.items.saturating_sub(RECALLED),
            ..ConversationParams::default()
        };
        for item in self.link.call(&params).await?.items {
            let text = item.text.trim();
            match &*item.kind {
                _ if text.is_empty() => {}
                "user" => {
                    let words = format!("» {}", safe::lines(text));
                    self.view.remark(Style::BOLD, &words)?;
                }
                "assistant" | "message" | "question" => {
                    let mut message = self.view.look.message();
                    let shown = message.push(text) + &message.finish();
                    self.view.show(vec![OutputPart::Remark(shown)])?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub async fn send(&mut self, message: Vec<PromptContent>) -> Result<()> {
        if self.lost {
            self.link.reconnect().await?;
            self.lost = false;
        }
        let to = self.pinned.as_deref().or(self.new_session.as_deref());
        let name = self.link.send_prompt(message, to).await?;
        self.ours.push(name);
        self.new_session = None;
        self.view.transcript.begin();
        self.outcome = None;
        self.waiting = false;
        self.running = true;
        Ok(())
    }

    /// Sends one of the person's prompts, typed as `/name`, and shows the sent text; false if there
    /// is none.
    pub async fn send_saved_prompt(&mut self, line: &str) -> Result<bool> {
        let found = prompts::filled(&self.prompts, &mut self.link, line).await?;
        let Some(message) = found else { return Ok(false) };
        if let Some(PromptContent::Text { text }) = message.first() {
            self.view.remark(Style::DIM, &safe::lines(text))?;
        }
        self.send(message).await?;
        Ok(true)
    }

    pub async fn stop_turn(&mut self) -> Result<()> {
        // A turn that was just requested is in the current conversation.
        let conversation = match &self.conversation {
            Some(conversation) => Some(conversation.clone()),
            None => self.look_up(None).await.ok().map(|info| info.session_id),
        };
        if let Some(conversation) = conversation {
            // The next receive notices a lost connection.
            let _ = self.link.cancel(&conversation).await;
        }
        Ok(())
    }

    /// Answers the first question.
    pub async fn agree(&mut self, typed: &str) -> Result<()> {
        self.questions.agree(typed, &mut self.link, &mut self.view).await
    }

    /// Handles an event and shows the part that belongs to this conversation.
    pub async fn handle(&mut self, incoming: ChatEvent) -> Result<()> {
        match incoming {
            ChatEvent::Update(update) => {
                let ours = self.is_ours(&update.update);
                if ours {
                    self.conversation = Some(update.session_id.clone());
                }
                if self.is_shown(&update.session_id) {
                    self.proposed |= is_proposed(&update.update);
                    let shown = self.view.transcript.update(&update.update, ours);
                    self.view.show(shown)?;
                }
            }
            ChatEvent::Message(message) if self.is_shown(&message.session_id) => {
                let shown = self.view.transcript.message(&message);
                self.view.show(shown)?;
            }
            ChatEvent::State(state) if self.is_shown(&state.session_id) => {
                self.show_state(&state)?
            }
            ChatEvent::Conversation(changed) => self.conversation_changed(&changed).await?,
            ChatEvent::Changes(changes) => {
                let of_ours = changes.change_set.conversation.as_deref();
                if of_ours.is_some() && of_ours == self.conversation.as_deref() {
                    self.view.transcript.changed(&changes.change_set);
                }
            }
            ChatEvent::Changed(changed) => names::update(&self.names, &changed),
            ChatEvent::Permission(id, request) => {
                self.questions.add(id, request, &mut self.view)?
            }
            ChatEvent::Withdrawn(id) => self.questions.withdraw(&id, &mut self.view)?,
            ChatEvent::Answered(answer) => self.answered(answer)?,
            ChatEvent::Message(_) | ChatEvent::State(_) | ChatEvent::Other => {}
        }
        Ok(())
    }

    fn is_ours(&self, update: &SessionUpdate) -> bool {
        let SessionUpdate::UserMessageChunk { meta: Some(meta), .. } = update else { return false };
        let name = meta.vault.client_message_id.as_ref();
        name.is_some_and(|name| self.ours.contains(name))
    }

    fn is_shown(&self, conversation: &str) -> bool {
        self.conversation.as_deref() == Some(conversation)
    }

    /// Handles a changed state of the conversation.
    fn show_state(&mut self, state: &StateParams) -> Result<()> {
        let runs = state.state != SessionState::Idle;
        // A turn that another client began.
        if runs && !self.running {
            self.view.transcript.begin();
        }
        let has_ended = self.running && !runs;
        self.running = runs;
        self.waiting = state.waiting;
        if !has_ended {
            return Ok(());
        }
        let shown = self.view.transcript.end();
        self.view.show(shown)?;
        match (&state.error, state.stop_reason) {
            // The answer reports the end of this client's turns.
            (Some(error), _) if !self.link.is_waiting() => {
                self.view.remark(Style::RED, &safe::line(error))?;
            }
            (_, Some(StopReason::Cancelled)) => self.view.remark(Style::DIM, "stopped")?,
            (_, Some(StopReason::MaxTurnRequests)) => {
                self.view
                    .remark(Style::DIM, "the turn reached its limit; say \"go on\" to go on")?;
            }
            (_, Some(StopReason::MaxTokens)) => {
                self.view
                    .remark(Style::DIM, "the answer reached its limit; say \"go on\" to go on")?;
            }
            (_, Some(StopReason::Refusal)) => self.view.remark(Style::DIM, "the model declined")?,
            _ => {}
        }
        if self.usage
            && let Some(used) = self.view.transcript.used()
        {
            self.view.remark(Style::DIM, &used)?;
        }
        Ok(())
    }

    /// Handles the answer to this client's message.
    fn answered(&mut self, answer: Result<SessionPromptResult, ErrorObject>) -> Result<()> {
        let outcome = match answer {
            Ok(result) => {
                let ours = result.meta.vault;
                let missed = self.view.transcript.answer(&ours.turn, &ours.answer);
                self.view.show(missed)?;
                let words = ours.answer;
                self.conversation = Some(ours.session_id);
                self.waiting = ours.waiting;
                match result.stop_reason {
                    _ if ours.no_model => {
                        self.view.transcript.discard_held_back();
                        Err(Failure::no_model(safe::line(&words)))
                    }
                    StopReason::Cancelled => {
                        let hint = "messages and changes until then are saved";
                        Err(Failure::other("cancelled", "the turn was stopped", hint))
                    }
                    StopReason::Refusal if !self.stays => Err(Failure::declined()),
                    _ => Ok(()),
                }
            }
            Err(error) => Err(ClientError::Answer(error).into()),
        };
        if !self.link.is_waiting() && self.running {
            // The update with the end of the turn reports it, unless the turn never began.
            self.running = false;
            let shown = self.view.transcript.end();
            self.view.show(shown)?;
        }
        match &outcome {
            Err(failure) if self.stays && !was_shown(failure) => self.view.fail(failure)?,
            _ => {}
        }
        self.outcome = Some(outcome);
        Ok(())
    }

    async fn conversation_changed(&mut self, changed: &ConversationChangedParams) -> Result<()> {
        let id = changed.session_id.clone();
        let shown = self.is_shown(&id);
        match changed.kind {
            ConversationChange::Began if self.pinned.is_none() && !shown => {
                self.new_session = None;
                self.conversation = Some(id.clone());
                self.waiting = false;
                self.remark_if_staying(&format!("conversation {}", safe::line(&id)))?;
            }
            ConversationChange::Ended if shown => {
                self.waiting = false;
                let info = self.look_up(Some(id.clone())).await.ok();
                let reason = info.and_then(|info| info.reason).filter(|reason| !reason.is_empty());
                let reason = reason.map(|reason| format!(" ({})", safe::line(&reason)));
                let reason = reason.unwrap_or_default();
                self.remark_if_staying(&format!(
                    "conversation {} has ended{reason}",
                    safe::line(&id)
                ))?;
            }
            ConversationChange::Titled if shown => {
                let info = self.look_up(Some(id)).await.ok();
                if let Some(title) = info.and_then(|info| info.title) {
                    self.remark_if_staying(&format!("it is called: {}", safe::line(&title)))?;
                }
            }
            ConversationChange::Deleted if shown => {
                (self.conversation, self.pinned, self.new_session) = (None, None, None);
                let words = "this conversation was deleted; the next message begins a new one";
                self.remark_if_staying(words)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn remark_if_staying(&mut self, words: &str) -> Result<()> {
        if self.stays { self.view.remark(Style::DIM, words) } else { Ok(()) }
    }
}

fn was_shown(failure: &Failure) -> bool {
    failure.code == "cancelled" || failure.code == NO_MODEL
}

/// Whether a call only proposed.
fn is_proposed(update: &SessionUpdate) -> bool {
    matches!(update, SessionUpdate::ToolCallUpdate { raw_output: Some(output), .. }
        if output["proposed"] == true)
}
