//! `steward chat`: a chat with the agent in a terminal, or from a script.
//!
//! An ordinary WebSocket client: the agent runs in the daemon, and the chat shows all events of a
//! conversation, including those that other clients cause.
//!
//! Invariants: text of a model, a note or another program reaches the terminal only through [`safe`];
//! how a text was cut into pieces never changes the output ([`markdown`]); only one part reads the
//! keyboard at a time ([`event_loop`]).
//!
//! Reading order: [`safe`], [`markdown`], [`look`], [`calls`], [`approval`], [`transcript`] (pure:
//! events in, texts out), [`link`] (the connection), [`commands`], [`names`], [`prompts`], [`editor`],
//! [`terminal`], [`line_read`], [`interrupts`] (the keyboard), [`screen`], [`view`] (the output),
//! [`questions`], [`talk`] (one chat), [`proposals`], [`actions`] (of the commands), [`event_loop`]; [`scripted`].

mod actions;
pub(super) mod approval;
mod calls;
mod commands;
mod editor;
mod event_loop;
mod interrupts;
mod line_read;
mod link;
pub(super) mod look;
mod markdown;
mod names;
mod prompts;
mod proposals;
mod questions;
pub(super) mod safe;
mod screen;
mod scripted;
mod talk;
#[cfg(unix)]
#[path = "terminal_unix.rs"]
mod terminal;
#[cfg(not(unix))]
#[path = "terminal_other.rs"]
mod terminal;
mod transcript;
mod view;

use std::io::{IsTerminal as _, Read as _, stdin, stdout};
use std::process::ExitCode;

use clap::Args;

use super::client;
use crate::cli::{Failure, Output, Result, Session};
use editor::Editor;
use link::Link;
use look::Look;
use names::Names;
use talk::{Chat, ChatOptions};
use terminal::TerminalMode;

use crate::protocol::session::{EmbeddedResource, PromptContent};

/// The longest message read from stdin, in bytes: the limit of a message to the daemon.
const MAX_STDIN: u64 = 4 << 20;

/// The history file in the state folder.
const HISTORY: &str = "chat_history";

#[derive(Debug, Args)]
pub struct ChatArguments {
    /// The conversation to continue [default: the current one, or a new one]
    #[arg(long, short, value_name = "N")]
    pub conversation: Option<String>,
    /// The agent of the settings that answers; without `--conversation` in a new conversation
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Show after each turn the tokens used, and their cost if known
    #[arg(long)]
    pub usage: bool,
    /// One message: print the answer and exit. Piped text is added to it; `-` sends the piped
    /// text alone [default: a chat on the terminal, or stdin as one message]
    pub message: Option<String>,
}

/// Chats until the person leaves; with a message, prints its answer.
pub fn run(session: &Session, arguments: &ChatArguments) -> Result<ExitCode> {
    let (conversation, agent) = (arguments.conversation.clone(), arguments.agent.as_deref());
    let message = message(arguments.message.as_deref(), &session.output)?;
    let runtime = client::runtime()?;
    if session.output.json() {
        let Some(message) = message else { return Err(no_message()) };
        return runtime.block_on(async {
            let mut link = Link::open(session, false).await?;
            let conversation = with_agent(&mut link, conversation, agent).await?;
            scripted::run(link, conversation.as_deref(), message, &session.output).await
        });
    }
    let look = Look::of(&session.output);
    let person = stdin().is_terminal() && stdout().is_terminal();
    if message.is_none() && !person {
        return Err(no_message());
    }
    let _terminal_mode = person.then(TerminalMode::new);
    runtime.block_on(async {
        // Connects first: without a daemon, the terminal stays untouched.
        let mut link = Link::open(session, person).await?;
        let conversation = with_agent(&mut link, conversation, agent).await?;
        let (names, prompts) = (Names::default(), Names::default());
        let editor = if person {
            let history = session.folders.prepare(session.vault()?)?.join(HISTORY);
            let (names, prompts) = (Names::clone(&names), Names::clone(&prompts));
            Some(Editor::start(history, names, prompts, look.styled)?)
        } else {
            None
        };
        let (stays, usage) = (message.is_none(), arguments.usage);
        let choices = ChatOptions { conversation, stays, usage, look };
        let talk = Chat::new(session, link, editor, names, prompts, choices);
        event_loop::run(talk, message).await
    })
}

/// The conversation to talk in. A given agent answers in it, or in a new one.
async fn with_agent(
    link: &mut Link<'_>,
    conversation: Option<String>,
    agent: Option<&str>,
) -> Result<Option<String>> {
    match agent {
        None => Ok(conversation),
        Some(agent) => actions::choose_agent(link, conversation, agent).await.map(Some),
    }
}

/// The longest piped text that is appended to the message, in characters. A longer one is sent as a
/// separate text, marked as data.
const MAX_JOINED: usize = 10_000;

/// The single message to send; `None` for an interactive chat.
fn message(argument: Option<&str>, output: &Output) -> Result<Option<Vec<PromptContent>>> {
    let text = match argument {
        Some("-") => read()?,
        // `git diff | steward chat "explain"`
        Some(text) if is_piped() => match read()? {
            piped if piped.trim().is_empty() => text.to_owned(),
            piped if piped.chars().nth(MAX_JOINED).is_none() => format!("{text}\n\n{piped}"),
            piped => {
                let resource =
                    EmbeddedResource { uri: EmbeddedResource::STDIN.to_owned(), text: piped };
                return Ok(Some(vec![words(text), PromptContent::Resource { resource }]));
            }
        },
        Some(text) => text.to_owned(),
        None if stdin().is_terminal() => {
            let person = stdout().is_terminal() && !output.json();
            return if person { Ok(None) } else { Err(no_message()) };
        }
        None => read()?,
    };
    if text.trim().is_empty() { Err(no_message()) } else { Ok(Some(vec![words(&text)])) }
}

/// A text part of a message.
fn words(text: &str) -> PromptContent {
    PromptContent::Text { text: text.to_owned() }
}

/// Whether stdin is a file or another program's output. A terminal is not, nor is a stream that may
/// stay open forever, such as a service's stdin.
fn is_piped() -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        use std::os::unix::fs::FileTypeExt as _;
        let own = stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
        let kind = own.and_then(|file| file.metadata()).map(|meta| meta.file_type());
        kind.is_ok_and(|kind| kind.is_fifo() || kind.is_file())
    }
    #[cfg(not(unix))]
    !stdin().is_terminal()
}

fn read() -> Result<String> {
    let mut bytes = Vec::new();
    stdin().lock().take(MAX_STDIN + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_STDIN {
        let hint = "put a long text into a note and name the note";
        return Err(Failure::usage("stdin has more than 4 MiB", hint));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage("stdin is not text", "a message is text in UTF-8"))
}

fn no_message() -> Failure {
    Failure::usage(
        "there is no message",
        "give it as an argument or on stdin; on a terminal `steward chat` alone begins a chat",
    )
}
