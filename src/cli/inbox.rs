//! `steward inbox`: voice messages.

use std::path::Path;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::output::Output;
use super::reach;
use super::session::Session;
use crate::config::folders;
use crate::daemon;
use crate::methods::inbox;
use crate::protocol::MethodParams;
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::inbox::{
    InboxDiscardParams, InboxListParams, InboxMessage, InboxMessageState, InboxRetryParams,
};
use crate::store::Store;

/// How long to wait for another process's change.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most characters of a message in the list.
const SHOWN: usize = 60;

/// The arguments of `inbox`.
#[derive(Debug, Args)]
pub struct InboxArguments {
    /// The action [default: list].
    #[command(subcommand)]
    pub action: Option<InboxAction>,
}

/// Actions on messages.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum InboxAction {
    /// List those that wait, are worked on or were set aside
    List {
        /// Include finished messages
        #[arg(long)]
        all: bool,
        /// Messages shown at most, the last ones
        #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
        limit: u32,
    },
    /// Show a message and its result
    Show {
        /// Its number
        id: u64,
    },
    /// Retry a message that was set aside
    Retry {
        /// Its number
        id: u64,
    },
    /// Discard a message without acting on it
    Discard {
        /// Its number
        id: u64,
    },
}

/// Lists, shows, retries or discards messages.
pub fn run(session: &Session, arguments: &InboxArguments, output: &Output) -> Result<(), Failure> {
    let root = session.vault(output)?;
    let source = Source { session, root: &root };
    match arguments.action.unwrap_or(InboxAction::List { all: false, limit: 100 }) {
        InboxAction::List { all, limit } => {
            let params = InboxListParams { id: None, all, limit: Some(limit) };
            let listed = source.ask(&params, false, |store| inbox::list(store, &params))?;
            let lines: Vec<String> = listed.messages.iter().map(line).collect();
            let text = if lines.is_empty() { "no messages" } else { &lines.join("\n") };
            output.answer(&listed, text)?;
        }
        InboxAction::Show { id } => {
            let params = InboxListParams { id: Some(id), ..InboxListParams::default() };
            let listed = source.ask(&params, false, |store| inbox::list(store, &params))?;
            for message in &listed.messages {
                show(message, output)?;
            }
        }
        InboxAction::Retry { id } => {
            let params = InboxRetryParams { id };
            let moved = source.ask(&params, true, |store| inbox::retry(store, &params))?;
            done(&moved.message, "is tried again", output)?;
        }
        InboxAction::Discard { id } => {
            let params = InboxDiscardParams { id };
            let moved = source.ask(&params, true, |store| inbox::discard(store, &params))?;
            done(&moved.message, "is discarded", output)?;
        }
    }
    Ok(())
}

/// Access to messages: through the daemon, or in the state folder without one.
struct Source<'a> {
    session: &'a Session,
    root: &'a Path,
}

impl Source<'_> {
    fn ask<P: MethodParams>(
        &self,
        params: &P,
        changes: bool,
        work: impl FnOnce(&Store) -> Result<P::Result, ErrorObject>,
    ) -> Result<P::Result, Failure> {
        if let Some(answer) = reach::ask(self.session, self.root, params)? {
            return Ok(answer);
        }
        let ours = &self.session.folders;
        let state = ours.prepare(self.root)?;
        let _lock = match changes {
            false => None,
            true => Some(daemon::lock(ours, self.root, &state, PATIENCE)?),
        };
        work(&folders::memory(self.root, &state)).map_err(failed)
    }
}

fn line(message: &InboxMessage) -> String {
    let cut = message.text.chars().count() > SHOWN;
    let text: String = message.text.chars().take(SHOWN).collect();
    let text = text.replace(char::is_control, " ");
    let flag = if message.differs { "  (another text came under its name before)" } else { "" };
    let reason = match message.reason.is_empty() {
        true => String::new(),
        false => format!("  [{}]", message.reason),
    };
    format!(
        "{:<5} {}  {:<9} {text}{}{reason}{flag}",
        message.id,
        short(&message.received),
        word(message.state),
        if cut { "…" } else { "" },
    )
}

fn show(message: &InboxMessage, output: &Output) -> Result<(), Failure> {
    if output.json() {
        return Ok(output.json_value(message)?);
    }
    let how = match (message.typed, message.direct) {
        (false, true) => "spoken, to the steward by name",
        (false, false) => "spoken, routed",
        (true, true) => "typed, to the steward by name",
        (true, false) => "typed, routed",
    };
    let mut lines = vec![
        format!("message   {}, {}", message.id, word(message.state)),
        format!("came      {}, {how}", short(&message.received)),
        format!("begun     {} times", message.attempts),
    ];
    lines.extend(message.routing_reason.iter().map(|why| format!("routed    {why}")));
    lines.extend(message.session_id.iter().map(|id| format!("in        conversation {id}")));
    if !message.reason.is_empty() {
        lines.push(format!("became    {}", message.reason));
    }
    if message.differs {
        lines.push("flagged   another text came under its name before".to_owned());
    }
    lines.push(String::new());
    lines.push(message.text.clone());
    Ok(output.text(&lines.join("\n"))?)
}

fn done(message: &InboxMessage, what: &str, output: &Output) -> Result<(), Failure> {
    Ok(output.answer(message, format!("message {} {what}", message.id))?)
}

fn word(state: InboxMessageState) -> &'static str {
    match state {
        InboxMessageState::New => "waits",
        InboxMessageState::Taken => "at work",
        InboxMessageState::Done => "done",
        InboxMessageState::SetAside => "set aside",
    }
}

/// A time without its offset.
fn short(time: &str) -> String {
    time.chars().take(16).collect::<String>().replace('T', " ")
}

fn failed(error: ErrorObject) -> Failure {
    let kind = if error.data.kind == Kind::NotFound { "not_found" } else { "failed" };
    Failure::other(kind, error.message, error.data.hint.unwrap_or_default())
}
