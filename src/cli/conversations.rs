//! `steward conversations` and `steward usage`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use super::maintenance::agreed;
use super::{CallOptions, Result, Session, export};
use crate::daemon;
use crate::methods::conversations::StoredConversations;
use crate::methods::export::{self as note, short};
use crate::note::counted::counted;
use crate::policy::Scope;
use crate::protocol::MethodParams;
use crate::protocol::conversations::{
    ConversationInfo, ConversationParams, ConversationResult, DeleteConversationParams, EndParams,
    ForkParams, ItemInfo, RenameConversationParams, SearchConversationsParams, SessionListMeta,
    SessionListParams, SessionListVaultMeta, UsageInfo, UsageParams,
};
use crate::protocol::error::ErrorObject;
use crate::protocol::session::SessionUpdate;
use crate::tools::{Tool, WriteFile};

/// The most bytes read at once without a daemon.
const AT_ONCE: u64 = 16 << 20;

#[derive(Debug, Args)]
pub struct ConversationsArguments {
    #[command(subcommand)]
    pub action: Option<ConversationsAction>,
}

#[derive(Debug, Subcommand)]
pub enum ConversationsAction {
    /// List conversations, most recent first
    List {
        /// Conversations shown at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Show one
    Show {
        /// Its number [default: the current one]
        id: Option<String>,
        /// A branch that an edited message left [default: the live one]
        #[arg(long, value_name = "N")]
        branch: Option<u64>,
    },
    /// Search conversations; double quotes search for a phrase
    Search {
        /// The words
        #[arg(required = true)]
        text: Vec<String>,
        /// Conversations shown at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        limit: u32,
    },
    /// Export one as Markdown
    Export {
        /// Its number
        id: String,
        /// Where to; in the vault it can be undone, and nothing is ever replaced [default: stdout]
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
    /// Give one a title, which no model changes
    Rename {
        /// Its number
        id: String,
        /// The title
        #[arg(required = true)]
        title: Vec<String>,
    },
    /// Go on from before an earlier message; what followed stays in a branch of its own
    Fork {
        /// Its number
        id: String,
        /// The number of the message of yours, as `show` has it
        #[arg(
            long,
            value_name = "N",
            required_unless_present = "branch",
            conflicts_with = "branch"
        )]
        before: Option<u64>,
        /// Go on with this branch instead
        #[arg(long, value_name = "N")]
        branch: Option<u64>,
    },
    /// End a conversation; the next message starts a new one
    End {
        /// Its number [default: the current one]
        id: Option<String>,
    },
    /// Delete one for good
    Delete {
        /// Its number
        id: String,
        /// Skip the confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Delete every conversation that has ended, for good
    Clear {
        /// Skip the confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub struct UsageArguments {
    /// The last N days, today included
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub days: u32,
    /// Only this conversation
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
}

pub fn run(session: &Session, arguments: &ConversationsArguments) -> Result<()> {
    use ConversationsAction as Action;
    match &arguments.action {
        None => list(session, 20),
        Some(Action::List { limit }) => list(session, *limit),
        Some(Action::Show { id, branch }) => show(session, id.as_deref(), *branch),
        Some(Action::Search { text, limit }) => search(session, &text.join(" "), *limit),
        Some(Action::Export { id, to }) => export(session, id, to.as_deref()),
        Some(Action::Rename { id, title }) => rename(session, id, &title.join(" ")),
        Some(Action::Fork { id, before, branch }) => fork(session, id, *before, *branch),
        Some(Action::End { id }) => end(session, id.as_deref()),
        Some(Action::Delete { id, yes }) => delete(session, Some(id), *yes),
        Some(Action::Clear { yes }) => delete(session, None, *yes),
    }
}

/// Asks the daemon, or the conversations in the state folder without one.
fn ask<P: MethodParams + Clone>(
    session: &Session,
    params: &P,
    changes: bool,
    work: impl FnOnce(&StoredConversations, P) -> Result<P::Result, ErrorObject>,
) -> Result<P::Result> {
    let (config, folder) = (session.config()?, session.vault()?.to_string_lossy().into_owned());
    session.ask_or_store(params, changes, |store| {
        let conversations = daemon::kept_conversations(store, config);
        work(&StoredConversations::new(conversations, folder), params.clone())
    })
}

/// A conversation with all its items.
fn full_conversation(
    session: &Session,
    id: Option<&str>,
    branch: Option<u64>,
    updates: bool,
) -> Result<ConversationResult> {
    let session_id = id.map(str::to_owned);
    let mut params =
        ConversationParams { session_id, branch, updates, ..ConversationParams::default() };
    let mut whole = page(session, &params)?;
    params.session_id = Some(whole.conversation.session_id.clone());
    while whole.more {
        params.after = whole.items.last().map_or(u64::MAX, |item| item.item);
        let next = page(session, &params)?;
        whole.items.extend(next.items);
        whole.more = next.more;
    }
    Ok(whole)
}

/// The conversation that receives the next message; `None` if that message begins one.
fn current(session: &Session) -> Option<String> {
    // The items are not needed.
    let after = u64::from(u32::MAX);
    let found = page(session, &ConversationParams { after, ..ConversationParams::default() });
    found.ok().map(|found| found.conversation.session_id)
}

fn page(session: &Session, params: &ConversationParams) -> Result<ConversationResult> {
    ask(session, params, false, |stored, params| stored.show(params, AT_ONCE))
}

fn list(session: &Session, limit: usize) -> Result<()> {
    let vault = SessionListVaultMeta { limit: Some(u32::try_from(limit).unwrap_or(u32::MAX)) };
    let meta = Some(SessionListMeta { vault: Some(vault) });
    let mut params = SessionListParams { meta, ..SessionListParams::default() };
    let mut listed: Vec<ConversationInfo> = Vec::new();
    loop {
        let page = ask(session, &params, false, |stored, params| {
            stored.list(&params, Scope::Person, AT_ONCE)
        })?;
        listed.extend(page.sessions.into_iter().map(|session| session.meta.vault));
        params.cursor = page.next_cursor;
        if params.cursor.is_none() || listed.len() >= limit {
            break;
        }
    }
    listed.truncate(limit);
    if session.output.json() {
        session.output.json_value(&json!({ "conversations": listed }))?;
    } else if listed.is_empty() {
        session.output.text("there are no conversations yet")?;
    } else {
        let current = current(session);
        let row = |one: &ConversationInfo| {
            let title = title(one, current.as_deref()).to_owned();
            vec![one.session_id.clone(), short(&one.last_active), state(one), title]
        };
        session.output.text(&session.output.table(&listed.iter().map(row).collect::<Vec<_>>()))?;
    }
    Ok(())
}

fn show(session: &Session, id: Option<&str>, branch: Option<u64>) -> Result<()> {
    let whole = full_conversation(session, id, branch, !session.output.json())?;
    let one = &whole.conversation;
    let mut lines = vec![format!(
        "{}  {}  {}  {}",
        one.session_id,
        short(&one.began),
        state(one),
        title(one, current(session).as_deref())
    )];
    lines.extend(one.summary.clone());
    if whole.branches.len() > 1 {
        let names: Vec<String> =
            whole.branches.iter().map(|branch| branch.number.to_string()).collect();
        lines.push(format!("branches: {} (live: {})", names.join(", "), one.branch));
    }
    for item in &whole.items {
        // Notices are for the model alone.
        if item.kind != "notice" {
            lines.push(String::new());
            lines.extend(item_lines(item));
        }
        // The reason why the turn ended without an answer.
        lines.extend(item.updates.iter().filter_map(|update| match update {
            SessionUpdate::Notice { title, .. } => {
                Some(format!("    ({})", escape_controls(title)))
            }
            _ => None,
        }));
    }
    session.output.answer(&whole, lines.join("\n"))
}

/// An item as lines: `[3] you, 2026-11-20 14:30`, then its text.
fn item_lines(item: &ItemInfo) -> Vec<String> {
    let mut lines = vec![format!("[{}] {}, {}", item.item, note::who(item), short(&item.time))];
    lines.extend(item.tools.iter().map(|tool| format!("    uses {tool}")));
    if item.kind == "tool_results" {
        let count = item.text.lines().count();
        lines.push(format!("    ({count} lines; --json shows them)"));
    } else if !item.text.is_empty() {
        lines.extend(item.text.lines().map(|line| format!("    {}", escape_controls(line))));
    }
    if item.cut {
        lines.push("    […]".to_owned());
    }
    lines
}

fn search(session: &Session, text: &str, limit: u32) -> Result<()> {
    let params = SearchConversationsParams { text: text.to_owned(), limit: Some(limit) };
    let result = ask(session, &params, false, |stored, params| stored.search(params))?;
    let mut lines = Vec::new();
    let current = current(session);
    for found in &result.found {
        let one = &found.conversation;
        let title = title(one, current.as_deref());
        lines.push(format!("{}  {}  {title}", one.session_id, short(&one.last_active)));
        lines.extend(found.places.iter().map(|place| {
            format!("    [{}] {}: {}", place.item, note::who(place), escape_controls(&place.text))
        }));
    }
    if lines.is_empty() {
        lines.push("no conversation matches".to_owned());
    }
    session.output.answer(&result, lines.join("\n"))
}

fn export(session: &Session, id: &str, to: Option<&Path>) -> Result<()> {
    let whole = full_conversation(session, Some(id), None, false)?;
    let note = note::note(&whole);
    let Some(to) = to else {
        return session.output.answer(&json!({ "markdown": note }), &note);
    };
    match export::within(session.vault()?, to) {
        // A file in the vault is written by a tool, so that the change is recorded and can be undone.
        Some(path) => {
            let arguments = json!({ "path": path, "content": note, "if_exists": "fail" });
            session.call_with(WriteFile::NAME, arguments, CallOptions::default())?;
        }
        None => export::write(to, &note)?,
    }
    let text = format!("wrote conversation {id} to `{}`", to.display());
    session.output.answer(&json!({ "file": to, "items": whole.items.len() }), text)
}

fn rename(session: &Session, id: &str, title: &str) -> Result<()> {
    let params = RenameConversationParams { session_id: id.to_owned(), title: title.to_owned() };
    let done = ask(session, &params, true, |stored, params| stored.rename(params))?;
    let text = format!("conversation {id} is called “{}”", escape_controls(&done.title));
    session.output.answer(&done, text)
}

fn fork(session: &Session, id: &str, item: Option<u64>, branch: Option<u64>) -> Result<()> {
    let params = ForkParams { session_id: id.to_owned(), item, branch };
    let done = ask(session, &params, true, |stored, params| stored.fork(params))?;
    let text = format!(
        "conversation {id} continues on branch {}; `steward chat --conversation {id}` continues it",
        done.branch
    );
    session.output.answer(&done, text)
}

fn end(session: &Session, id: Option<&str>) -> Result<()> {
    let params = EndParams { session_id: id.map(str::to_owned), reason: String::new() };
    let done = ask(session, &params, true, |stored, params| stored.end(params))?;
    let text = match (&done.session_id, done.ended) {
        (Some(id), true) => format!("ended conversation {id}"),
        (Some(id), false) => format!("conversation {id} had ended already"),
        (None, _) => "there is no current conversation".to_owned(),
    };
    session.output.answer(&done, text)
}

fn delete(session: &Session, id: Option<&str>, yes: bool) -> Result<()> {
    let ask = |dry_run: bool| {
        let params = DeleteConversationParams {
            session_id: id.map(str::to_owned),
            all_ended: id.is_none(),
            dry_run,
        };
        ask(session, &params, !dry_run, |stored, params| stored.delete(params))
    };
    let found = ask(true)?;
    let question = || match (id, &found.title) {
        (Some(id), Some(title)) => format!("delete conversation {id} “{title}” permanently?"),
        (Some(id), None) => {
            format!("delete conversation {id}, which has no title yet, permanently?")
        }
        (None, _) => {
            format!("delete {} for good?", counted(found.conversations, "conversation"))
        }
    };
    if found.conversations == 0 || !agreed(yes, &question)? {
        return session.output.answer(&found, "nothing was deleted");
    }
    let done = ask(false)?;
    session.output.answer(&done, format!("deleted {}", counted(done.conversations, "conversation")))
}

/// Prints the usage of models per day.
pub fn usage(session: &Session, arguments: &UsageArguments) -> Result<()> {
    let days = arguments.conversation.is_none().then_some(arguments.days);
    let params = UsageParams { days, session_id: arguments.conversation.clone() };
    let used = ask(session, &params, false, |stored, params| stored.usage(params))?;
    if used.days.is_empty() {
        return session.output.answer(&used, "no model was used");
    }
    let head = ["day", "model", "requests", "input", "cached", "output", "cost"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(used.days.iter().map(|day| row(&day.day, &day.model, &day.used)));
    rows.push(row("total", "", &used.total));
    session.output.answer(&used, session.output.table(&rows))
}

fn row(day: &str, model: &str, used: &UsageInfo) -> Vec<String> {
    vec![
        day.to_owned(),
        model.to_owned(),
        used.requests.to_string(),
        used.input.to_string(),
        used.cache_read.to_string(),
        used.output.to_string(),
        cost(used),
    ]
}

/// The cost in words: `$1.25`, or `$1.25 and 3 unpriced`.
fn cost(used: &UsageInfo) -> String {
    let cents = used.cost_millionths.div_ceil(10_000);
    match used.unpriced {
        unpriced if unpriced == used.requests => "unknown".to_owned(),
        0 => format!("${}.{:02}", cents / 100, cents % 100),
        unpriced => format!("${}.{:02} and {unpriced} unpriced", cents / 100, cents % 100),
    }
}

/// The title, or the state of an untitled conversation.
fn title<'a>(one: &'a ConversationInfo, current: Option<&str>) -> &'a str {
    let unnamed = if current == Some(&one.session_id) { "(current)" } else { "(no title yet)" };
    one.title.as_deref().unwrap_or(unnamed)
}

fn state(one: &ConversationInfo) -> String {
    match one.shown.as_str() {
        "working" => "working".to_owned(),
        "waiting_for_you" => "waiting for you".to_owned(),
        _ => one.state.clone(),
    }
}

/// The line with control characters escaped.
fn escape_controls(line: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
    if !std::io::stdout().is_terminal() {
        return line.to_owned();
    }
    line.chars().map(shown).collect()
}
