//! A chat with a person: sends what they type and shows what happens, until they leave.
//!
//! One loop with one state at a time: the person types a line or answers a question, or a turn
//! runs. It shows the conversation's events in every state, also those of other clients.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::commands::{self, Command};
use super::editor::{Editor, Typed};
use super::interrupts::Interrupts;
use super::link::Reconnected;
use super::markdown::style::Style;
use super::talk::Chat;
use super::{actions, prompts, proposals, words};
use crate::cli::failure::NO_MODEL;
use crate::cli::{Failure, Result};
use crate::protocol::session::PromptContent;

/// The time within which a second Ctrl-C leaves.
const TWICE: Duration = Duration::from_secs(2);

#[derive(Debug, PartialEq, Eq)]
enum NextStep {
    /// The chat continues.
    GoOn,
    Leave,
}

/// The chat's inputs.
struct EventLoop<'t, 'a> {
    talk: &'t mut Chat<'a>,
    interrupts: Interrupts,
    /// The last Ctrl-C at the prompt.
    interrupted: Option<Instant>,
}

/// Chats until the person leaves; with a `message`, until its answer has arrived.
pub async fn run(mut talk: Chat<'_>, message: Option<Vec<PromptContent>>) -> Result<ExitCode> {
    talk.open().await?;
    if let Some(message) = message {
        let message = prompts::expanded(&talk.prompts, &mut talk.link, message).await?;
        talk.send(message).await?;
    }
    let done = match Interrupts::new() {
        Ok(interrupts) => {
            EventLoop { talk: &mut talk, interrupts, interrupted: None }.go_on().await
        }
        Err(error) => Err(error.into()),
    };
    let held = talk.view.transcript.release();
    talk.view.show(held)?;
    talk.view.screen.status(None)?;
    talk.link.close().await;
    done?;
    match talk.outcome {
        // On a terminal the text was read before.
        Some(Err(failure)) if !talk.stays && is_read(&failure) => Ok(failure.exit.into()),
        Some(Err(failure)) if !talk.stays => Err(failure),
        _ => Ok(ExitCode::SUCCESS),
    }
}

impl EventLoop<'_, '_> {
    async fn go_on(mut self) -> Result<()> {
        loop {
            let talk = &mut *self.talk;
            if talk.view.screen.is_closed() {
                return Ok(());
            }
            talk.questions.ask_next(&mut talk.view)?;
            let busy = talk.link.is_waiting();
            let asking = talk.questions.is_asking();
            if !busy && !talk.running && std::mem::take(&mut talk.proposed) {
                proposals::show(talk, false).await?;
            }
            if !busy && !asking && !talk.stays && talk.outcome.is_some() {
                let answers = talk.waiting && talk.view.editor.is_some();
                if !answers {
                    return Ok(());
                }
            }
            if !busy && !asking {
                talk.view.screen.status(None)?;
                let prompt = if talk.waiting { "? " } else { "> " };
                if let Some(editor) = &mut talk.view.editor {
                    editor.read(prompt);
                }
            }
            let typing = talk.view.is_typing();
            if talk.running && !typing && !asking {
                talk.view.screen.status(talk.view.transcript.doing())?;
            }
            let mut next = NextStep::GoOn;
            tokio::select! {
                biased;
                () = self.interrupts.next() => if typing {
                    // Pressed just before the prompt appeared, or sent by another program.
                    next = self.interrupted_at_prompt(false).await?;
                } else {
                    self.interrupt().await?;
                },
                typed = line(&mut talk.view.editor), if typing => next = self.typed(typed).await?,
                answer = talk.questions.typed(), if asking => {
                    talk.questions.decide(answer, &mut talk.link, &mut talk.view).await?;
                }
                incoming = talk.link.next(), if !talk.lost => match incoming {
                    Ok((incoming, _)) => talk.handle(incoming).await?,
                    Err(_) => self.reconnect().await?,
                },
            }
            if next == NextStep::Leave {
                return Ok(());
            }
        }
    }

    /// Handles a line typed at the prompt.
    async fn typed(&mut self, typed: Typed) -> Result<NextStep> {
        let interrupted = self.interrupted.take();
        self.talk.view.transcript.typed();
        match typed {
            Typed::Line(line) => match commands::read(&line) {
                None | Some(Err(_)) if commands::prompt(&line).is_some() => {
                    match self.talk.send_saved_prompt(&line).await {
                        Ok(true) => {}
                        Ok(false) => self.no_prompt(&line).await?,
                        Err(failure) => self.talk.view.fail(&failure)?,
                    }
                }
                None if line.trim().is_empty() => {}
                None => self.talk.send(vec![words(line.trim())]).await?,
                Some(Ok(Command::Quit)) => return Ok(NextStep::Leave),
                Some(Ok(command)) => {
                    if let Err(failure) = actions::perform(self.talk, command).await {
                        self.talk.view.fail(&failure)?;
                    }
                }
                Some(Err(error)) => self.talk.view.remark(Style::RED, &error.to_string())?,
            },
            Typed::Interrupted { had_text } => {
                self.interrupted = interrupted;
                return self.interrupted_at_prompt(had_text).await;
            }
            Typed::End => return Ok(NextStep::Leave),
        }
        Ok(NextStep::GoOn)
    }

    /// Handles a line that could have been a prompt and is none.
    async fn no_prompt(&mut self, line: &str) -> Result<()> {
        match commands::read(line) {
            Some(Err(error)) => self.talk.view.remark(Style::RED, &error.to_string()),
            _ => self.talk.send(vec![words(line.trim())]).await,
        }
    }

    /// Handles Ctrl-C at the prompt; if there is text, only clears it.
    async fn interrupted_at_prompt(&mut self, had_text: bool) -> Result<NextStep> {
        let before = self.interrupted.take();
        if had_text {
            return Ok(NextStep::GoOn);
        }
        if before.is_some_and(|at| at.elapsed() < TWICE) {
            return Ok(NextStep::Leave);
        }
        if self.talk.running {
            self.talk.stop_turn().await?;
        } else {
            self.talk.view.remark(Style::DIM, "press Ctrl-C again or Ctrl-D to leave")?;
        }
        self.interrupted = Some(Instant::now());
        Ok(NextStep::GoOn)
    }

    /// Handles Ctrl-C while nothing is being typed.
    async fn interrupt(&mut self) -> Result<()> {
        let talk = &mut *self.talk;
        talk.questions.refuse(&mut talk.link, &mut talk.view).await?;
        talk.stop_turn().await
    }

    /// Handles a lost connection.
    async fn reconnect(&mut self) -> Result<()> {
        let talk = &mut *self.talk;
        let words = "the connection to the daemon broke; trying again";
        talk.view.remark(Style::YELLOW, words)?;
        // The daemon asks open questions again after the reconnect.
        talk.questions.clear();
        let typing = talk.view.is_typing();
        let back = tokio::select! {
            back = talk.link.reconnect() => back,
            () = self.interrupts.next(), if !typing => {
                Err(Failure::other("cancelled", "the connection is lost", "the conversation is saved"))
            }
        };
        match back {
            Ok(Reconnected { missed: true, is_new_run }) => {
                let words = if is_new_run {
                    "connected again; the daemon was restarted"
                } else {
                    "connected again; some events were missed"
                };
                talk.view.remark(Style::YELLOW, words)?;
                talk.running = talk.link.is_waiting();
                Ok(())
            }
            Ok(Reconnected { missed: false, .. }) => {
                talk.view.remark(Style::DIM, "connected again")
            }
            Err(failure) if talk.stays && typing => {
                talk.lost = true;
                talk.view.fail(&failure)?;
                talk.view.remark(Style::DIM, "the next message tries again")
            }
            Err(failure) => Err(failure),
        }
    }
}

/// Whether the answer was streamed to a terminal.
fn is_read(failure: &Failure) -> bool {
    failure.code == NO_MODEL && std::io::stdout().is_terminal()
}

async fn line(editor: &mut Option<Editor>) -> Typed {
    match editor {
        Some(editor) => editor.line().await,
        None => std::future::pending().await,
    }
}
