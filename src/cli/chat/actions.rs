//! What the slash commands do.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::failure::{Failure, OTHER};
use super::super::settings::{self, Place};
use super::calls::changed;
use super::commands::{self, Command};
use super::look::Look;
use super::markdown::style::Style;
use super::safe;
use super::talk::Talk;
use super::transcript::Shown;
use crate::protocol::conversations::{
    ConversationInfo, ConversationParams, EndParams, SessionListParams, UsageInfo, UsageParams,
};
use crate::protocol::session::SessionNewParams;
use crate::protocol::settings::SettingsGetParams;
use crate::protocol::tools::{CallMeta, CallVaultMeta, ToolsCallParams};
use crate::tools::{Tool, Undo};

/// Conversations that are listed.
const LISTED: usize = 20;

/// Items of a conversation that is taken up again that are looked at for something to show.
const RECALLED: u64 = 12;

/// Lines of a diff that is shown before an undo that must be agreed to.
const MAX_DIFF: usize = 60;

impl Talk<'_> {
    /// Does what a command says.
    ///
    /// # Errors
    /// Why it cannot; the chat goes on.
    pub(super) async fn command(&mut self, command: Command) -> Result<(), Failure> {
        match command {
            Command::New => {
                let begun = self.link.call(&SessionNewParams::default()).await?;
                self.pinned = None;
                self.waiting = false;
                self.begun = Some(begun.session_id.clone());
                self.conversation = Some(begun.session_id.clone());
                self.tell(Style::DIM, &format!("conversation {}", safe::line(&begun.session_id)))
            }
            Command::End => {
                let reason = "ended in the chat".to_owned();
                let params = EndParams { session_id: self.conversation.clone(), reason };
                let ended = self.link.call(&params).await?;
                (self.pinned, self.conversation, self.waiting) = (None, None, false);
                self.begun = None;
                match ended.session_id {
                    Some(id) => {
                        let words = format!("conversation {} has ended", safe::line(&id));
                        self.tell(Style::DIM, &words)
                    }
                    None => self.tell(Style::DIM, "no conversation goes on"),
                }
            }
            Command::Undo => self.undo().await,
            Command::Model(None) => self.model().await,
            Command::Model(Some(model)) => self.choose(&model).await,
            Command::Tools(number) => {
                let text = self.transcript.calls().whole(number, self.look);
                self.show(vec![Shown::Remark(text)])
            }
            Command::Conversations(None) => self.list().await,
            Command::Conversations(Some(id)) => {
                let info = self.look_up(Some(id)).await?;
                self.pinned = Some(info.session_id.clone());
                self.transcript.begin();
                self.follow(&info)?;
                self.recall(&info).await
            }
            Command::Usage => self.used().await,
            // Answered and left before it comes here.
            Command::Yes | Command::Always | Command::No | Command::Quit => Ok(()),
            Command::Help => self.show(vec![Shown::Remark(commands::help() + "\n")]),
        }
    }

    /// Takes back what the last turn changed, the last change set first.
    async fn undo(&mut self) -> Result<(), Failure> {
        let mut sets = self.transcript.take_changes();
        if sets.is_empty() {
            let words =
                "the last turn changed nothing; `steward log` shows what was changed before";
            return self.tell(Style::DIM, words);
        }
        while let Some(set) = sets.pop() {
            let arguments = json!({ "change_set": set });
            let mut agreed = None;
            let done = loop {
                match self.call_tool(Undo::NAME, arguments.clone(), agreed).await {
                    Err(failure) if failure.code == "approval_needed" => {
                        let asked = agreement(failure.data.as_ref(), self.look);
                        if !self.confirm(&asked).await? {
                            return self.tell(Style::DIM, "nothing was taken back");
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
                self.tell(Style::PLAIN, &line)?;
            }
            let by = done["change_set"].as_u64().unwrap_or_default();
            let line = format!("took back change set {set}; `steward undo {by}` brings it back");
            self.tell(Style::GREEN, &line)?;
        }
        Ok(())
    }

    /// Which model is asked.
    async fn model(&mut self) -> Result<(), Failure> {
        let chain = self.chain().await?;
        let words = match &chain[..] {
            [] => {
                "no model is configured; `/model PROVIDER/MODEL` names one, and `steward models` \
                   says what there is"
                    .to_owned()
            }
            [first] => format!("{} is asked", safe::line(first)),
            [first, others @ ..] => {
                let others = safe::line(&others.join(", "));
                format!("{} is asked, and where it does not answer {others}", safe::line(first))
            }
        };
        self.tell(Style::PLAIN, &words)
    }

    /// Asks another model from now on, and those of before where it does not answer.
    async fn choose(&mut self, model: &str) -> Result<(), Failure> {
        let mut chain = self.chain().await?;
        chain.retain(|known| known != model);
        chain.insert(0, model.to_owned());
        let session = self.session;
        let place =
            Place::new(session.environment.clone(), session.folders.clone(), session.flags.clone());
        // The person at the shell may write the file, which a client may not.
        let (key, value, output) = ("models.chain", Value::from(chain).to_string(), self.output);
        let set = move || settings::set(&place, key, Some(&value), &output);
        // It asks the daemon itself, which needs a runtime of its own.
        let done = std::thread::scope(|scope| scope.spawn(set).join());
        done.unwrap_or_else(|_| Err(Failure::other("internal", "the setting was not written", "")))
    }

    async fn chain(&mut self) -> Result<Vec<String>, Failure> {
        let held = self.link.call(&SettingsGetParams {}).await?;
        let chain = held.settings.into_iter().find(|setting| setting.key == "models.chain");
        let chain = chain.and_then(|setting| serde_json::from_value(setting.value).ok());
        Ok(chain.unwrap_or_default())
    }

    async fn list(&mut self) -> Result<(), Failure> {
        let found = self.link.call(&SessionListParams::default()).await?;
        let mut rows = vec![["N", "LAST SAID", "STATE", "TITLE"].map(str::to_owned).to_vec()];
        for session in found.sessions.iter().take(LISTED) {
            let info = &session.meta.vault;
            let mark = if self.conversation.as_ref() == Some(&info.session_id) { "*" } else { "" };
            rows.push(vec![
                format!("{}{mark}", safe::line(&info.session_id)),
                // To the minute, local time.
                safe::line(&session.updated_at).replace('T', " ").chars().take(16).collect(),
                safe::line(&info.shown).replace('_', " "),
                safe::line(info.title.as_deref().unwrap_or_default()),
            ]);
        }
        if rows.len() == 1 {
            return self.tell(Style::DIM, "nothing was ever said");
        }
        let table = self.output.table(&rows);
        self.show(vec![Shown::Remark(table)])?;
        self.tell(Style::DIM, "/conversations N goes on with one")
    }

    /// Shows the end of what was said in a conversation that is taken up again.
    pub(super) async fn recall(&mut self, info: &ConversationInfo) -> Result<(), Failure> {
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
                    self.tell(Style::BOLD, &words)?;
                }
                "assistant" | "message" | "question" => {
                    let mut message = self.look.message();
                    let shown = message.push(text) + &message.finish();
                    self.show(vec![Shown::Remark(shown)])?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    async fn used(&mut self) -> Result<(), Failure> {
        let of = |session_id| UsageParams { days: None, session_id };
        if let Some(id) = self.conversation.clone() {
            let used = self.link.call(&of(Some(id.clone()))).await?.total;
            let words = format!("conversation {}: {}", safe::line(&id), tokens(&used));
            self.tell(Style::PLAIN, &words)?;
        }
        if let Some(window) = self.transcript.used() {
            self.tell(Style::PLAIN, &window)?;
        }
        let all = self.link.call(&of(None)).await?.total;
        self.tell(Style::PLAIN, &format!("all that is kept: {}", tokens(&all)))
    }

    /// Calls a tool as the person at the terminal; `agreed` where they were asked, with the identity of
    /// what they were shown.
    pub(super) async fn call_tool(
        &mut self,
        name: &str,
        arguments: Value,
        agreed: Option<Option<String>>,
    ) -> Result<Value, Failure> {
        let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
        let meta = agreed.map(|agreed| {
            let vault = CallVaultMeta { confirmed: true, agreed, ..CallVaultMeta::default() };
            CallMeta { vault: Some(vault) }
        });
        let params = ToolsCallParams { name: name.to_owned(), arguments, meta };
        let answer = self.link.call(&params).await?;
        let mut data = answer.structured_content;
        if !answer.is_error {
            return Ok(data);
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Err(Failure {
            exit: OTHER,
            code: text(&data["code"]).unwrap_or_else(|| "io_error".to_owned()),
            message: text(&data["message"]).unwrap_or_else(|| "the tool failed".to_owned()),
            hint: text(&data["hint"]),
            data: Some(data["data"].take()).filter(|data| !data.is_null()),
        })
    }
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

/// What a person must agree to, as a tool refused it, and the question.
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
    fn what_was_used_is_said_in_a_line() {
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
