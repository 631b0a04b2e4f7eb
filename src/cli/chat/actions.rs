//! The actions of the slash commands.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::settings::{self, SettingsSource};
use super::calls::changed;
use super::commands::{self, Command};
use super::link::Link;
use super::look::Look;
use super::markdown::style::Style;
use super::questions::confirm;
use super::talk::Chat;
use super::transcript::OutputPart;
use super::{proposals, safe};
use crate::agent::named::STEWARD;
use crate::cli::{Failure, Result};
use crate::methods::export::short;
use crate::protocol::acp::SetConfigOptionParams;
use crate::protocol::conversations::{EndParams, SessionListParams, UsageInfo, UsageParams};
use crate::protocol::models::ModelsParams;
use crate::protocol::session::SessionNewParams;
use crate::protocol::settings::SettingsGetParams;
use crate::tools::{ListTrash, Tool, Undo};

/// The most conversations listed.
const LISTED: usize = 20;

/// The most diff lines shown before an undo that needs approval.
const MAX_DIFF: usize = 60;

pub async fn perform(talk: &mut Chat<'_>, command: Command) -> Result<()> {
    match command {
        Command::New => {
            let new_session = talk.link.call(&SessionNewParams::default()).await?;
            talk.pinned = None;
            talk.waiting = false;
            talk.new_session = Some(new_session.session_id.clone());
            talk.conversation = Some(new_session.session_id.clone());
            talk.view.remark(
                Style::DIM,
                &format!("conversation {}", safe::line(&new_session.session_id)),
            )
        }
        Command::End => {
            let reason = "ended in the chat".to_owned();
            let params = EndParams { session_id: talk.conversation.clone(), reason };
            let ended = talk.link.call(&params).await?;
            (talk.pinned, talk.conversation, talk.waiting) = (None, None, false);
            talk.new_session = None;
            match ended.session_id {
                Some(id) => {
                    let words = format!("conversation {} has ended", safe::line(&id));
                    talk.view.remark(Style::DIM, &words)
                }
                None => talk.view.remark(Style::DIM, "there is no current conversation"),
            }
        }
        Command::Undo => undo(talk).await,
        Command::Proposals => proposals::show(talk, true).await,
        Command::Apply(only) => proposals::apply(talk, only).await,
        Command::Reject(only) => proposals::reject(talk, only).await,
        Command::Model(None) => model(talk).await,
        Command::Model(Some(model)) => choose(talk, &model).await,
        Command::Agent(None) => agents(talk).await,
        Command::Agent(Some(name)) => {
            let session_id = choose_agent(&mut talk.link, talk.conversation.clone(), &name).await?;
            if talk.conversation.as_ref() != Some(&session_id) {
                talk.new_session = Some(session_id.clone());
                talk.conversation = Some(session_id.clone());
            }
            let words = format!(
                "`{}` answers in conversation {}",
                safe::line(&name),
                safe::line(&session_id)
            );
            talk.view.remark(Style::DIM, &words)
        }
        Command::Tools(number) => {
            let text = talk.view.transcript.calls().full_text(number, talk.view.look);
            talk.view.show(vec![OutputPart::Remark(text)])
        }
        Command::Conversations(None) => list(talk).await,
        Command::Conversations(Some(id)) => {
            let info = talk.look_up(Some(id)).await?;
            talk.pinned = Some(info.session_id.clone());
            talk.view.transcript.begin();
            talk.follow(&info)?;
            talk.recall(&info).await
        }
        Command::Usage => usage(talk).await,
        Command::Trash => {
            let found =
                talk.link.call_tool(ListTrash::NAME, json!({ "limit": LISTED }), None).await?;
            let items = found["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            let text = |value: &Value| safe::line(value.as_str().unwrap_or_default());
            // The original path is known only for items that the steward deleted.
            let name = |one: &Value| match &one["was"] {
                Value::Null => text(&one["item"]),
                was => text(was),
            };
            let lines = items.iter().map(|one| format!("{}  {}", text(&one["deleted"]), name(one)));
            let mut lines: Vec<String> = lines.collect();
            let more = found["total"].as_u64().unwrap_or(0).saturating_sub(lines.len() as u64);
            match (lines.is_empty(), more) {
                (true, _) => lines.push("the trash is empty".to_owned()),
                (_, 0) => {}
                _ => lines.push(format!("and {more} more; `steward trash list` shows them")),
            }
            talk.view.show(vec![OutputPart::Remark(lines.join("\n") + "\n")])
        }
        Command::Yes => talk.agree("y").await,
        Command::Always => talk.agree("a").await,
        // The words are a comment; the answer is a refusal.
        Command::No(words) => talk.agree(&format!("no {}", words.unwrap_or_default())).await,
        // The reader of lines has already handled it.
        Command::Quit => Ok(()),
        Command::Help => talk.view.show(vec![OutputPart::Remark(commands::help() + "\n")]),
    }
}

/// Undoes the changes of the last turn, newest change set first.
async fn undo(talk: &mut Chat<'_>) -> Result<()> {
    let mut sets = talk.view.transcript.take_changes();
    if sets.is_empty() {
        let words = "the last turn changed nothing; `steward log` shows what was changed before";
        return talk.view.remark(Style::DIM, words);
    }
    while let Some(set) = sets.pop() {
        let arguments = json!({ "change_set": set });
        let mut agreed = None;
        let done = loop {
            match talk.link.call_tool(Undo::NAME, arguments.clone(), agreed).await {
                Err(failure) if failure.code == "approval_needed" => {
                    let asked = agreement(failure.data.as_ref(), talk.view.look);
                    if !confirm(&asked, &mut talk.view).await? {
                        return talk.view.remark(Style::DIM, "nothing was undone");
                    }
                    agreed = Some(failure.identity());
                }
                done => break done?,
            }
        };
        let changes = done["changes"]["changes"].as_array();
        for change in changes.map(Vec::as_slice).unwrap_or_default() {
            let text = |key: &str| safe::line(change[key].as_str().unwrap_or_default());
            let line = format!("  {} {}", text("action").replace('_', " "), text("path"));
            talk.view.remark(Style::PLAIN, &line)?;
        }
        let by = done["change_set"].as_u64().unwrap_or_default();
        let line = format!("undid change set {set}; `steward undo {by}` brings it back");
        talk.view.remark(Style::GREEN, &line)?;
    }
    Ok(())
}

async fn model(talk: &mut Chat<'_>) -> Result<()> {
    let chain = chain(talk).await?;
    let words = match &chain[..] {
        [] => "no model is configured; `/model PROVIDER/MODEL` names one, and `steward models` lists them"
            .to_owned(),
        [first] => format!("{} is asked", safe::line(first)),
        [first, others @ ..] => {
            let others = safe::line(&others.join(", "));
            format!("{} answers; if it does not, {others}", safe::line(first))
        }
    };
    talk.view.remark(Style::PLAIN, &words)
}

/// Puts a model first in the chain; the previous models remain as fallbacks.
async fn choose(talk: &mut Chat<'_>, model: &str) -> Result<()> {
    let mut chain = chain(talk).await?;
    chain.retain(|known| known != model);
    chain.insert(0, model.to_owned());
    let session = talk.session;
    let place = SettingsSource::of(session);
    // Written to the file directly: a person at the shell may do so, a client may not.
    let (key, value) = ("models.chain", Value::from(chain).to_string());
    let set = move || settings::set(&place, key, Some(&value), &session.output);
    // Connects to the daemon on its own runtime, so it needs another thread.
    let done = std::thread::scope(|scope| scope.spawn(set).join());
    done.unwrap_or_else(|_| Err(Failure::other("internal", "the setting was not written", "")))
}

/// Lists the agents, and marks that of this conversation.
async fn agents(talk: &mut Chat<'_>) -> Result<()> {
    let offered = talk.link.call(&ModelsParams::default()).await?.agents;
    let now = match talk.conversation.clone() {
        Some(id) => talk.look_up(Some(id)).await?.agent,
        None => None,
    };
    let now = now.unwrap_or_else(|| STEWARD.to_owned());
    let own = offered.iter().map(|agent| (agent.name.as_str(), agent.description.as_str()));
    for (name, description) in [(STEWARD, "the steward itself")].into_iter().chain(own) {
        let mark = if name == now { "*" } else { " " };
        let line = format!("{mark} {}  {}", safe::line(name), safe::line(description));
        talk.view.remark(Style::PLAIN, line.trim_end())?;
    }
    if offered.is_empty() {
        talk.view.remark(Style::DIM, "`[agents.NAME]` in the settings adds one")
    } else {
        Ok(())
    }
}

/// Has an agent answer in a conversation, or in a new one; returns the conversation.
pub async fn choose_agent(
    link: &mut Link<'_>,
    conversation: Option<String>,
    agent: &str,
) -> Result<String> {
    let session_id = match conversation {
        Some(id) => id,
        None => link.call(&SessionNewParams::default()).await?.session_id,
    };
    let (config_id, value) = ("agent".to_owned(), agent.to_owned());
    let params = SetConfigOptionParams { session_id: session_id.clone(), config_id, value };
    link.call(&params).await?;
    Ok(session_id)
}

async fn chain(talk: &mut Chat<'_>) -> Result<Vec<String>> {
    let result = talk.link.call(&SettingsGetParams {}).await?;
    let chain = result.settings.into_iter().find(|setting| setting.key == "models.chain");
    let chain = chain.and_then(|setting| serde_json::from_value(setting.value).ok());
    Ok(chain.unwrap_or_default())
}

async fn list(talk: &mut Chat<'_>) -> Result<()> {
    let found = talk.link.call(&SessionListParams::default()).await?;
    let mut rows = vec![["N", "LAST SAID", "STATE", "TITLE"].map(str::to_owned).to_vec()];
    for session in found.sessions.iter().take(LISTED) {
        let info = &session.meta.vault;
        let mark = if talk.conversation.as_ref() == Some(&info.session_id) { "*" } else { "" };
        rows.push(vec![
            format!("{}{mark}", safe::line(&info.session_id)),
            // To the minute, local time.
            short(&safe::line(&session.updated_at)),
            safe::line(&info.shown).replace('_', " "),
            safe::line(info.title.as_deref().unwrap_or_default()),
        ]);
    }
    if rows.len() == 1 {
        return talk.view.remark(Style::DIM, "there are no conversations yet");
    }
    let table = talk.session.output.table(&rows);
    talk.view.show(vec![OutputPart::Remark(table)])?;
    talk.view.remark(Style::DIM, "/conversations N continues one")
}

async fn usage(talk: &mut Chat<'_>) -> Result<()> {
    let of = |session_id| UsageParams { days: None, session_id };
    if let Some(id) = talk.conversation.clone() {
        let used = talk.link.call(&of(Some(id.clone()))).await?.total;
        let words = format!("conversation {}: {}", safe::line(&id), tokens(&used));
        talk.view.remark(Style::PLAIN, &words)?;
    }
    if let Some(window) = talk.view.transcript.used() {
        talk.view.remark(Style::PLAIN, &window)?;
    }
    let all = talk.link.call(&of(None)).await?.total;
    talk.view.remark(Style::PLAIN, &format!("all stored conversations: {}", tokens(&all)))
}

fn tokens(used: &UsageInfo) -> String {
    let mut text = format!(
        "{} requests, {} tokens read ({} from a cache), {} written",
        used.requests, used.input, used.cache_read, used.output
    );
    if used.cost_millionths > 0 {
        let dollars = used.cost_millionths / 1_000_000;
        let rest = used.cost_millionths % 1_000_000 / 100;
        let _ = write!(text, ", about ${dollars}.{rest:04}");
    }
    if used.unpriced > 0 {
        let _ = write!(text, "; the price of {} requests is not known", used.unpriced);
    }
    text
}

/// The changes that need approval, from the tool's refusal, and the question.
fn agreement(data: Option<&Value>, look: Look) -> String {
    let Some(data) = data else { return "Do it? [y/N] ".to_owned() };
    let text = |value: &Value| safe::line(value.as_str().unwrap_or_default());
    let mut shown = String::new();
    for change in data["changes"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let action = text(&change["action"]).replace('_', " ");
        let _ = writeln!(shown, "  {action} `{}`", text(&change["path"]));
        shown.push_str(&changed(change["diff"].as_str().unwrap_or_default(), MAX_DIFF, look));
    }
    for reason in data["reasons"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let _ = writeln!(shown, "  asked because {}", text(reason));
    }
    shown + &format!("{}? [y/N] ", text(&data["title"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_one_line() {
        let used = UsageInfo {
            requests: 3,
            input: 1000,
            cache_read: 400,
            output: 20,
            cost_millionths: 1_234_567,
            unpriced: 1,
            ..UsageInfo::default()
        };
        assert_eq!(
            tokens(&used),
            "3 requests, 1000 tokens read (400 from a cache), 20 written, about $1.2345; the price \
             of 1 requests is not known"
        );
    }

    #[test]
    fn what_must_be_agreed_to_is_shown() {
        let data = json!({"title": "undo 3", "reasons": ["it deletes"], "changes": [
            {"action": "delete", "path": "a.md", "diff": "-x\n"}]});
        let look = Look { styled: false, live: false };
        let shown = agreement(Some(&data), look);
        assert_eq!(shown, "  delete `a.md`\n    -x\n  asked because it deletes\nundo 3? [y/N] ");
    }
}
