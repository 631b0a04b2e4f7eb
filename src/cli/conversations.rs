//! `steward conversations` and `steward usage`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use super::client::ClientError;
use super::export;
use super::failure::Failure;
use super::keeping::agreed;
use super::output::Output;
use super::reach::{self, Way};
use super::session::Session;
use crate::config::folders;
use crate::daemon;
use crate::methods::conversations::StoredConversations;
use crate::methods::export::{self as note, short};
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

/// How long to wait for another process's change.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most bytes read at once without a daemon.
const AT_ONCE: u64 = 16 << 20;

/// The arguments of `conversations`.
#[derive(Debug, Args)]
pub struct ConversationsArguments {
    /// The action [default: list].
    #[command(subcommand)]
    pub action: Option<ConversationsAction>,
}

/// Actions on conversations.
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

/// The arguments of `usage`.
#[derive(Debug, Args)]
pub struct UsageArguments {
    /// The last N days, today included
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub days: u32,
    /// Only this conversation
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
}

/// Lists, shows, finds, exports, renames, forks, ends or deletes conversations.
pub fn run(
    session: &Session,
    arguments: &ConversationsArguments,
    output: &Output,
) -> Result<(), Failure> {
    let root = session.vault(output)?;
    let source = Source { session, root: &root };
    match &arguments.action {
        None => list(&source, 20, output),
        Some(ConversationsAction::List { limit }) => list(&source, *limit, output),
        Some(ConversationsAction::Show { id, branch }) => {
            show(&source, id.as_deref(), *branch, output)
        }
        Some(ConversationsAction::Search { text, limit }) => {
            search(&source, &text.join(" "), *limit, output)
        }
        Some(ConversationsAction::Export { id, to }) => export(&source, id, to.as_deref(), output),
        Some(ConversationsAction::Rename { id, title }) => {
            rename(&source, id, &title.join(" "), output)
        }
        Some(ConversationsAction::Fork { id, before, branch }) => {
            fork(&source, id, *before, *branch, output)
        }
        Some(ConversationsAction::End { id }) => end(&source, id.as_deref(), output),
        Some(ConversationsAction::Delete { id, yes }) => {
            delete(&source, Some(id.as_str()), *yes, output)
        }
        Some(ConversationsAction::Clear { yes }) => delete(&source, None, *yes, output),
    }
}

/// Access to conversations: through the daemon, or in the state folder without one.
struct Source<'a> {
    session: &'a Session,
    root: &'a Path,
}

impl Source<'_> {
    fn ask<P: MethodParams + Clone>(
        &self,
        params: &P,
        changes: bool,
        work: impl FnOnce(&StoredConversations, P) -> Result<P::Result, ErrorObject>,
    ) -> Result<P::Result, Failure> {
        if let Some(answer) = reach::ask(self.session, self.root, params)? {
            return Ok(answer);
        }
        let session = self.session;
        let config = session.config()?;
        let state = session.folders.prepare(self.root)?;
        let _lock = match changes {
            false => None,
            true => Some(daemon::lock(&session.folders, self.root, &state, PATIENCE)?),
        };
        let store = folders::memory(self.root, &state);
        let conversations = daemon::kept_conversations(store, config);
        let folder = self.root.to_string_lossy().into_owned();
        work(&StoredConversations::new(conversations, folder), params.clone()).map_err(failed)
    }

    /// A conversation with all its items.
    fn whole(
        &self,
        id: Option<&str>,
        branch: Option<u64>,
        updates: bool,
    ) -> Result<ConversationResult, Failure> {
        let session_id = id.map(str::to_owned);
        let mut params =
            ConversationParams { session_id, branch, updates, ..ConversationParams::default() };
        let mut whole = self.page(&params)?;
        params.session_id = Some(whole.conversation.session_id.clone());
        while whole.more {
            params.after = whole.items.last().map_or(u64::MAX, |item| item.item);
            let next = self.page(&params)?;
            whole.items.extend(next.items);
            whole.more = next.more;
        }
        Ok(whole)
    }

    /// The conversation that receives the next message; `None` if that message begins one.
    fn current(&self) -> Option<String> {
        // The items are not needed.
        let after = u64::from(u32::MAX);
        let params = ConversationParams { after, ..ConversationParams::default() };
        self.page(&params).ok().map(|found| found.conversation.session_id)
    }

    fn page(&self, params: &ConversationParams) -> Result<ConversationResult, Failure> {
        self.ask(params, false, |source, params| source.show(params, AT_ONCE))
    }
}

fn list(source: &Source<'_>, limit: usize, output: &Output) -> Result<(), Failure> {
    let vault = SessionListVaultMeta { limit: Some(u32::try_from(limit).unwrap_or(u32::MAX)) };
    let meta = Some(SessionListMeta { vault: Some(vault) });
    let mut params = SessionListParams { meta, ..SessionListParams::default() };
    let mut listed: Vec<ConversationInfo> = Vec::new();
    loop {
        let page = source
            .ask(&params, false, |source, params| source.list(&params, Scope::Person, AT_ONCE))?;
        listed.extend(page.sessions.into_iter().map(|session| session.meta.vault));
        params.cursor = page.next_cursor;
        if params.cursor.is_none() || listed.len() >= limit {
            break;
        }
    }
    listed.truncate(limit);
    if output.json() {
        output.json_value(&json!({ "conversations": listed }))?;
    } else if listed.is_empty() {
        output.text("there are no conversations yet")?;
    } else {
        let current = source.current();
        let row = |one: &ConversationInfo| {
            let title = title(one, current.as_deref()).to_owned();
            vec![one.session_id.clone(), short(&one.last_active), state(one), title]
        };
        output.text(&output.table(&listed.iter().map(row).collect::<Vec<_>>()))?;
    }
    Ok(())
}

fn show(
    source: &Source<'_>,
    id: Option<&str>,
    branch: Option<u64>,
    output: &Output,
) -> Result<(), Failure> {
    let whole = source.whole(id, branch, !output.json())?;
    if output.json() {
        return Ok(output.json_value(&whole)?);
    }
    let one = &whole.conversation;
    let mut lines = vec![format!(
        "{}  {}  {}  {}",
        one.session_id,
        short(&one.began),
        state(one),
        title(one, source.current().as_deref())
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
            lines.extend(told(item));
        }
        // The reason why the turn ended without an answer.
        lines.extend(item.updates.iter().filter_map(|update| match update {
            SessionUpdate::Notice { title, .. } => Some(format!("    ({})", visible(title))),
            _ => None,
        }));
    }
    Ok(output.text(&lines.join("\n"))?)
}

/// An item as lines: `[3] you, 2026-11-20 14:30`, then its text.
fn told(item: &ItemInfo) -> Vec<String> {
    let mut lines = vec![format!("[{}] {}, {}", item.item, note::who(item), short(&item.time))];
    lines.extend(item.tools.iter().map(|tool| format!("    uses {tool}")));
    if item.kind == "tool_results" {
        let count = item.text.lines().count();
        lines.push(format!("    ({count} lines; --json shows them)"));
    } else if !item.text.is_empty() {
        lines.extend(item.text.lines().map(|line| format!("    {}", visible(line))));
    }
    if item.cut {
        lines.push("    […]".to_owned());
    }
    lines
}

fn search(source: &Source<'_>, text: &str, limit: u32, output: &Output) -> Result<(), Failure> {
    let params = SearchConversationsParams { text: text.to_owned(), limit: Some(limit) };
    let result = source.ask(&params, false, |source, params| source.search(params))?;
    if output.json() {
        return Ok(output.json_value(&result)?);
    }
    let mut lines = Vec::new();
    let current = source.current();
    for found in &result.found {
        let one = &found.conversation;
        let title = title(one, current.as_deref());
        lines.push(format!("{}  {}  {title}", one.session_id, short(&one.last_active)));
        lines.extend(found.places.iter().map(|place| {
            format!("    [{}] {}: {}", place.item, note::who(place), visible(&place.text))
        }));
    }
    if lines.is_empty() {
        lines.push("no conversation matches".to_owned());
    }
    Ok(output.text(&lines.join("\n"))?)
}

fn export(
    source: &Source<'_>,
    id: &str,
    to: Option<&Path>,
    output: &Output,
) -> Result<(), Failure> {
    let whole = source.whole(Some(id), None, false)?;
    let note = note::note(&whole);
    let Some(to) = to else {
        return Ok(output.answer(&json!({ "markdown": note }), &note)?);
    };
    match export::within(source.root, to) {
        // A file in the vault is written by a tool, so that the change is recorded and can be undone.
        Some(path) => {
            let arguments = json!({ "path": path, "content": note, "if_exists": "fail" });
            let serde_json::Value::Object(arguments) = arguments else {
                unreachable!("arguments are an object")
            };
            reach::call(source.session, source.root, WriteFile::NAME, arguments, Way::default())?;
        }
        None => export::write(to, &note)?,
    }
    let text = format!("wrote conversation {id} to `{}`", to.display());
    Ok(output.answer(&json!({ "file": to, "items": whole.items.len() }), text)?)
}

fn rename(source: &Source<'_>, id: &str, title: &str, output: &Output) -> Result<(), Failure> {
    let params = RenameConversationParams { session_id: id.to_owned(), title: title.to_owned() };
    let done = source.ask(&params, true, |source, params| source.rename(params))?;
    let text = format!("conversation {id} is called “{}”", visible(&done.title));
    Ok(output.answer(&done, text)?)
}

fn fork(
    source: &Source<'_>,
    id: &str,
    item: Option<u64>,
    branch: Option<u64>,
    output: &Output,
) -> Result<(), Failure> {
    let params = ForkParams { session_id: id.to_owned(), item, branch };
    let done = source.ask(&params, true, |source, params| source.fork(params))?;
    let text = format!(
        "conversation {id} goes on with branch {}; `steward chat --conversation {id}` continues it",
        done.branch
    );
    Ok(output.answer(&done, text)?)
}

fn end(source: &Source<'_>, id: Option<&str>, output: &Output) -> Result<(), Failure> {
    let params = EndParams { session_id: id.map(str::to_owned), reason: String::new() };
    let done = source.ask(&params, true, |source, params| source.end(params))?;
    let text = match (&done.session_id, done.ended) {
        (Some(id), true) => format!("ended conversation {id}"),
        (Some(id), false) => format!("conversation {id} had ended already"),
        (None, _) => "there is no current conversation".to_owned(),
    };
    Ok(output.answer(&done, text)?)
}

fn delete(
    source: &Source<'_>,
    id: Option<&str>,
    yes: bool,
    output: &Output,
) -> Result<(), Failure> {
    let ask = |dry_run: bool| {
        let params = DeleteConversationParams {
            session_id: id.map(str::to_owned),
            all_ended: id.is_none(),
            dry_run,
        };
        source.ask(&params, !dry_run, |source, params| source.delete(params))
    };
    let found = ask(true)?;
    let question = || match (id, &found.title) {
        (Some(id), Some(title)) => format!("delete conversation {id} “{title}” permanently?"),
        (Some(id), None) => {
            format!("delete conversation {id}, which has no title yet, permanently?")
        }
        (None, _) => format!("delete {} for good?", conversations(found.conversations)),
    };
    if found.conversations == 0 || !agreed(yes, &question)? {
        return Ok(output.answer(&found, "nothing was deleted")?);
    }
    let done = ask(false)?;
    Ok(output.answer(&done, format!("deleted {}", conversations(done.conversations)))?)
}

/// Prints the usage of models per day.
pub fn usage(
    session: &Session,
    arguments: &UsageArguments,
    output: &Output,
) -> Result<(), Failure> {
    let root = session.vault(output)?;
    let source = Source { session, root: &root };
    let days = arguments.conversation.is_none().then_some(arguments.days);
    let params = UsageParams { days, session_id: arguments.conversation.clone() };
    let used = source.ask(&params, false, |source, params| source.usage(params))?;
    if output.json() {
        return Ok(output.json_value(&used)?);
    }
    if used.days.is_empty() {
        return Ok(output.text("no model was used")?);
    }
    let head = ["day", "model", "requests", "input", "cached", "output", "cost"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(used.days.iter().map(|day| row(&day.day, &day.model, &day.used)));
    rows.push(row("total", "", &used.total));
    Ok(output.text(&output.table(&rows))?)
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

fn conversations(number: u64) -> String {
    if number == 1 { "1 conversation".to_owned() } else { format!("{number} conversations") }
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
fn visible(line: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
    if !std::io::stdout().is_terminal() {
        return line.to_owned();
    }
    line.chars().map(shown).collect()
}

fn failed(error: ErrorObject) -> Failure {
    ClientError::Answer(error).into()
}
