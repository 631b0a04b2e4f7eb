//! A chat with a person: what they type goes out, what happens is shown, until they leave.
//!
//! One loop, and one thing at a time: a line is being typed, or a question is being answered, or a
//! turn is at work. What happens meanwhile in the same conversation, whoever began it, is shown.

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::super::failure::{Failure, NO_MODEL};
use super::super::output::Output;
use super::super::session::Session;
use super::asking::Asking;
use super::commands::{self, Command};
use super::editor::{Editor, Typed};
use super::interrupts::Interrupts;
use super::link::{Back, Link};
use super::look::Look;
use super::markdown::style::Style;
use super::names::Names;
use super::questions::Question;
use super::safe;
use super::screen::Screen;
use super::transcript::{Shown, Transcript};
use crate::protocol::conversations::{ConversationInfo, ConversationParams};
use crate::server::token::Token;

/// How soon a second Ctrl-C leaves.
const TWICE: Duration = Duration::from_secs(2);

/// Items of a conversation that are read at its beginning.
const ITEMS_READ: u64 = 1_000_000;

/// What the chat is for.
#[derive(Debug)]
pub enum Aim {
    /// To go on until the person leaves.
    Stay,
    /// This message and its answer.
    Once(String),
}

/// What is chosen at the beginning.
#[derive(Debug)]
pub struct Choices {
    /// The conversation to go on with; else the one that goes on, or a new one.
    pub conversation: Option<String>,
    /// Whether to say what was used after each turn.
    pub usage: bool,
    /// How it looks.
    pub look: Look,
    /// The way out of other commands.
    pub output: Output,
}

/// One chat.
pub struct Talk<'a> {
    pub(super) session: &'a Session,
    pub(super) link: Link<'a>,
    pub(super) screen: Screen,
    pub(super) transcript: Transcript,
    pub(super) look: Look,
    pub(super) output: Output,
    pub(super) editor: Option<Editor>,
    pub(super) names: Names,
    pub(super) stays: bool,
    pub(super) usage: bool,
    /// The conversation that messages are sent to; else whichever goes on.
    pub(super) pinned: Option<String>,
    /// The one that was begun here and nothing was said in yet: the first message is for it, whatever
    /// is said elsewhere meanwhile.
    pub(super) begun: Option<String>,
    /// The conversation that is shown.
    pub(super) conversation: Option<String>,
    /// Whether a turn is at work in it.
    pub(super) running: bool,
    /// Whether the agent waits for an answer.
    pub(super) waiting: bool,
    /// What this client called its messages.
    pub(super) ours: Vec<String>,
    pub(super) questions: VecDeque<Question>,
    pub(super) asking: Option<Asking>,
    interrupted: Option<Instant>,
    /// The connection is gone, and did not come back.
    lost: bool,
    /// How the last turn of ours ended.
    pub(super) ended: Option<Result<(), Failure>>,
}

/// Whether to go on.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// The chat goes on.
    GoOn,
    /// It is over.
    Leave,
}

impl<'a> Talk<'a> {
    /// A chat over `link`; with `editor` lines can be typed.
    pub fn new(
        session: &'a Session,
        link: Link<'a>,
        editor: Option<Editor>,
        names: Names,
        stays: bool,
        choices: Choices,
    ) -> Self {
        let Choices { conversation, usage, look, output } = choices;
        let transcript = Transcript::new(look, stays);
        let streams = stays || std::io::stdout().is_terminal();
        Self {
            session,
            link,
            screen: Screen::new(look, !stays),
            transcript: if streams { transcript } else { transcript.whole_only() },
            look,
            output,
            editor,
            names,
            stays,
            usage,
            pinned: conversation,
            begun: None,
            conversation: None,
            running: false,
            waiting: false,
            ours: Vec::new(),
            questions: VecDeque::new(),
            asking: None,
            interrupted: None,
            lost: false,
            ended: None,
        }
    }

    /// Talks until the person leaves, or for one message until its answer is there.
    ///
    /// # Errors
    /// The conversation does not exist, the connection broke for good, or the one message could not
    /// be answered.
    pub async fn run(mut self, aim: Aim) -> Result<ExitCode, Failure> {
        self.open().await?;
        if let Aim::Once(message) = aim {
            self.say(&message).await?;
        }
        let done = self.go_on().await;
        let held = self.transcript.release();
        self.show(held)?;
        self.screen.status(None)?;
        self.link.close().await;
        done?;
        match self.ended {
            // On a terminal its words were read already.
            Some(Err(failure)) if !self.stays && is_read(&failure) => Ok(failure.exit.into()),
            Some(Err(failure)) if !self.stays => Err(failure),
            _ => Ok(ExitCode::SUCCESS),
        }
    }

    /// Finds the conversation that is meant, and says where we are.
    async fn open(&mut self) -> Result<(), Failure> {
        let wanted = self.pinned.clone();
        let found = self.look_up(wanted.clone()).await;
        match (found, wanted) {
            (Ok(info), wanted) => {
                self.follow(&info)?;
                if wanted.is_some() && self.stays {
                    self.recall(&info).await?;
                }
            }
            (Err(failure), Some(_)) => return Err(failure),
            // None goes on: the first message begins one.
            (Err(_), None) => {}
        }
        if self.editor.is_some() {
            self.load_names().await;
        }
        if self.stays {
            let words = "/help says what can be typed, Ctrl-C stops the agent, Ctrl-D leaves";
            self.tell(Style::DIM, words)?;
        }
        Ok(())
    }

    /// What is known of a conversation, or of the one that goes on.
    pub(super) async fn look_up(
        &mut self,
        session_id: Option<String>,
    ) -> Result<ConversationInfo, Failure> {
        // What was said in it is not needed here.
        let params =
            ConversationParams { session_id, after: ITEMS_READ, ..ConversationParams::default() };
        Ok(self.link.call(&params).await?.conversation)
    }

    /// Shows this conversation from now on.
    pub(super) fn follow(&mut self, info: &ConversationInfo) -> Result<(), Failure> {
        self.begun = None;
        self.conversation = Some(info.session_id.clone());
        self.running = info.shown == "working";
        self.waiting = info.question.is_some();
        if !self.stays {
            return Ok(());
        }
        let title = info.title.as_deref().map(|title| format!(": {}", safe::line(title)));
        let title = title.unwrap_or_default();
        let head = format!("conversation {}{title}", safe::line(&info.session_id));
        self.tell(Style::DIM, &head)?;
        if let Some(question) = &info.question {
            let question = format!("you were asked: {}", safe::line(question));
            self.tell(Style::YELLOW, &question)?;
        }
        Ok(())
    }

    async fn go_on(&mut self) -> Result<(), Failure> {
        let mut stop = Interrupts::new()?;
        loop {
            if self.screen.is_closed() {
                return Ok(());
            }
            self.ask_next()?;
            let busy = self.link.is_waiting();
            if !busy && self.asking.is_none() && !self.stays && self.ended.is_some() {
                let answers = self.waiting && self.editor.is_some();
                if !answers {
                    return Ok(());
                }
            }
            if !busy && self.asking.is_none() {
                self.screen.status(None)?;
                let prompt = if self.waiting { "? " } else { "> " };
                if let Some(editor) = &mut self.editor {
                    editor.read(prompt);
                }
            }
            let editing = self.editor.as_ref().is_some_and(Editor::is_reading);
            if self.running && !editing && self.asking.is_none() {
                self.screen.status(self.transcript.doing())?;
            }
            let next = tokio::select! {
                biased;
                () = stop.next() => match editing {
                    // Pressed just before the line could be typed, or sent by another program.
                    true => self.interrupted_at_prompt(false).await?,
                    false => self.interrupt().await?,
                },
                typed = line(&mut self.editor), if editing => self.typed(typed).await?,
                answer = answered(&mut self.asking), if self.asking.is_some() => {
                    self.decided(answer).await?
                }
                heard = self.link.next(), if !self.lost => match heard {
                    Ok((heard, _)) => self.hear(heard).await?,
                    Err(_) => self.come_back(&mut stop).await?,
                },
            };
            if next == Next::Leave {
                return Ok(());
            }
        }
    }

    /// What was typed at the prompt.
    async fn typed(&mut self, typed: Typed) -> Result<Next, Failure> {
        let interrupted = self.interrupted.take();
        self.transcript.typed();
        match typed {
            Typed::Line(line) => match commands::read(&line) {
                None if line.trim().is_empty() => {}
                None => self.say(line.trim()).await?,
                Some(Ok(Command::Quit)) => return Ok(Next::Leave),
                Some(Ok(Command::Yes)) => self.agree("y").await?,
                Some(Ok(Command::Always)) => self.agree("a").await?,
                Some(Ok(Command::No)) => self.agree("n").await?,
                Some(Ok(command)) => {
                    if let Err(failure) = self.command(command).await {
                        self.fail(&failure)?;
                    }
                }
                Some(Err(error)) => self.tell(Style::RED, &error.to_string())?,
            },
            Typed::Interrupted { had_text } => {
                self.interrupted = interrupted;
                return self.interrupted_at_prompt(had_text).await;
            }
            Typed::End => return Ok(Next::Leave),
        }
        Ok(Next::GoOn)
    }

    /// Ctrl-C at the prompt; with text in it that is all it takes away.
    async fn interrupted_at_prompt(&mut self, had_text: bool) -> Result<Next, Failure> {
        let before = self.interrupted.take();
        if had_text {
            return Ok(Next::GoOn);
        }
        if before.is_some_and(|at| at.elapsed() < TWICE) {
            return Ok(Next::Leave);
        }
        if self.running {
            self.stop_turn().await?;
        } else {
            self.tell(Style::DIM, "Ctrl-C once more leaves; so does Ctrl-D")?;
        }
        self.interrupted = Some(Instant::now());
        Ok(Next::GoOn)
    }

    /// Ctrl-C while nothing is being typed.
    async fn interrupt(&mut self) -> Result<Next, Failure> {
        if let Some(question) = self.questions.front().filter(|_| self.asking.is_some()) {
            let id = question.id.clone();
            let _ = self.link.decide(&id, "reject_once").await;
            self.questions.pop_front();
            self.asking = None;
            self.screen.write("\n", None)?;
        }
        self.stop_turn().await?;
        Ok(Next::GoOn)
    }

    async fn stop_turn(&mut self) -> Result<(), Failure> {
        // A turn that has only just been asked for is in the conversation that goes on.
        let conversation = match &self.conversation {
            Some(conversation) => Some(conversation.clone()),
            None => self.look_up(None).await.ok().map(|info| info.session_id),
        };
        if let Some(conversation) = conversation {
            // Where the connection broke it is noticed by whoever hears.
            let _ = self.link.cancel(&conversation).await;
        }
        Ok(())
    }

    /// Sends a message.
    async fn say(&mut self, text: &str) -> Result<(), Failure> {
        if self.lost {
            self.link.come_back().await?;
            self.lost = false;
        }
        let name = Token::generate().map_err(|error| {
            Failure::other("random", format!("could not name the message: {error}"), "")
        })?;
        let name = name.reveal()[..32].to_owned();
        self.ours.push(name.clone());
        self.transcript.begin();
        self.ended = None;
        self.waiting = false;
        self.running = true;
        let begun = self.begun.take();
        let to = self.pinned.clone().or(begun);
        self.link.say(text, to.as_deref(), name).await;
        Ok(())
    }

    /// The connection broke.
    async fn come_back(&mut self, stop: &mut Interrupts) -> Result<Next, Failure> {
        self.tell(Style::YELLOW, "the connection to the daemon broke; trying again")?;
        // What was asked is asked again by whoever is there then.
        self.questions.clear();
        self.asking = None;
        let editing = self.editor.as_ref().is_some_and(Editor::is_reading);
        let back = tokio::select! {
            back = self.link.come_back() => back,
            () = stop.next(), if !editing => {
                Err(Failure::other("cancelled", "the connection is lost", "what was said is kept"))
            }
        };
        match back {
            Ok(Back { missed: true, anew }) => {
                self.tell(
                    Style::YELLOW,
                    match anew {
                        true => "it is back; the daemon was started anew meanwhile",
                        false => "it is back; more happened meanwhile than it could tell",
                    },
                )?;
                self.running = self.link.is_waiting();
            }
            Ok(Back { missed: false, .. }) => self.tell(Style::DIM, "it is back")?,
            Err(failure) if self.stays && editing => {
                self.lost = true;
                self.fail(&failure)?;
                self.tell(Style::DIM, "the next message tries again")?;
            }
            Err(failure) => return Err(failure),
        }
        Ok(Next::GoOn)
    }

    /// A line of our own.
    pub(super) fn tell(&mut self, style: Style, words: &str) -> Result<(), Failure> {
        let shown = self.transcript.say(style, words);
        self.show(shown)
    }

    pub(super) fn fail(&mut self, failure: &Failure) -> Result<(), Failure> {
        self.tell(Style::RED, &safe::line(&failure.message))?;
        match failure.hint.as_deref().filter(|hint| !hint.is_empty()) {
            Some(hint) => self.tell(Style::DIM, &safe::lines(hint)),
            None => Ok(()),
        }
    }

    pub(super) fn show(&mut self, shown: Vec<Shown>) -> Result<(), Failure> {
        Ok(self.screen.show(shown, self.editor.as_ref())?)
    }
}

/// Whether its words were streamed to a terminal.
fn is_read(failure: &Failure) -> bool {
    failure.code == NO_MODEL && std::io::stdout().is_terminal()
}

async fn line(editor: &mut Option<Editor>) -> Typed {
    match editor {
        Some(editor) => editor.line().await,
        None => std::future::pending().await,
    }
}

async fn answered(asking: &mut Option<Asking>) -> Option<String> {
    match asking {
        Some(asking) => asking.line().await,
        None => std::future::pending().await,
    }
}
