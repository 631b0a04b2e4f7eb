//! `steward inbox`: voice messages.

use clap::{Args, Subcommand};

use super::{Result, Session};
use crate::methods::export::short;
use crate::methods::inbox;
use crate::protocol::inbox::{
    InboxDiscardParams, InboxListParams, InboxListResult, InboxMessage, InboxMessageState,
    InboxRetryParams,
};

/// The most characters of a message in the list.
const SHOWN: usize = 60;

#[derive(Debug, Args)]
pub struct InboxArguments {
    #[command(subcommand)]
    pub action: Option<InboxAction>,
}

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

pub fn run(session: &Session, arguments: &InboxArguments) -> Result<()> {
    match arguments.action.unwrap_or(InboxAction::List { all: false, limit: 100 }) {
        InboxAction::List { all, limit } => {
            let listed = list(session, &InboxListParams { id: None, all, limit: Some(limit) })?;
            let lines: Vec<String> = listed.messages.iter().map(line).collect();
            let text = if lines.is_empty() { "no messages" } else { &lines.join("\n") };
            session.output.answer(&listed, text)
        }
        InboxAction::Show { id } => {
            let params = InboxListParams { id: Some(id), ..InboxListParams::default() };
            let messages = list(session, &params)?.messages;
            messages.iter().try_for_each(|one| session.output.answer(one, described(one)))
        }
        InboxAction::Retry { id } => {
            let params = InboxRetryParams { id };
            let moved =
                session.ask_or_store(&params, true, |store| inbox::retry(&store, &params))?;
            session.output.answer(&moved.message, format!("retrying message {id}"))
        }
        InboxAction::Discard { id } => {
            let params = InboxDiscardParams { id };
            let moved =
                session.ask_or_store(&params, true, |store| inbox::discard(&store, &params))?;
            session.output.answer(&moved.message, format!("discarded message {id}"))
        }
    }
}

fn list(session: &Session, params: &InboxListParams) -> Result<InboxListResult> {
    session.ask_or_store(params, false, |store| inbox::list(&store, params))
}

fn line(message: &InboxMessage) -> String {
    let cut = message.text.chars().count() > SHOWN;
    let text: String = message.text.chars().take(SHOWN).collect();
    let text = text.replace(char::is_control, " ");
    let flag = if message.differs { "  (another text with its id came before)" } else { "" };
    let reason =
        if message.reason.is_empty() { String::new() } else { format!("  [{}]", message.reason) };
    format!(
        "{:<5} {}  {:<9} {text}{}{reason}{flag}",
        message.id,
        short(&message.received),
        word(message.state),
        if cut { "…" } else { "" },
    )
}

fn described(message: &InboxMessage) -> String {
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
        lines.push("flagged   another text with its id came before".to_owned());
    }
    lines.push(String::new());
    lines.push(message.text.clone());
    lines.join("\n")
}

fn word(state: InboxMessageState) -> &'static str {
    match state {
        InboxMessageState::New => "waits",
        InboxMessageState::Taken => "at work",
        InboxMessageState::Done => "done",
        InboxMessageState::SetAside => "set aside",
    }
}
