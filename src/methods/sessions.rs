//! Requests of ACP clients on conversations: to begin or continue one, and to choose its options.
//! ACP clients can use only conversations that an ACP client began; a person's own programs can use
//! these methods for any.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::info::numbered;
use super::prompt::{COMMANDS, TEMPLATE};
use super::prompts::is_own;
use super::proposal_commands;
use crate::agent::named::{NamedAgent, STEWARD};
use crate::agent::ports::Models as _;
use crate::agent::{Agent, Conversations, foreign_source};
use crate::calls::{Calls, Outcome, Request};
use crate::config::models::ChosenModels;
use crate::conversation::{Chosen, Conversation};
use crate::policy::{Mode, Scope};
use crate::protocol::acp::{
    AuthenticateParams, AuthenticateResult, ConfigOption, ConfigValue, ModeInfo, ModeState,
    SessionChoices, SessionDeleteParams, SessionDeleteResult, SessionResumeParams,
    SetConfigOptionParams, SetConfigOptionResult, SetModeParams, SetModeResult,
};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::session::{SessionNewParams, SessionNewResult, SessionPromptParams};
use crate::server::table::Context;
use crate::store::StoreError;

/// The longest stored folder path, in bytes.
const MAX_CWD: usize = 4_096;

/// The most servers that a notice names.
const MAX_NAMED: usize = 5;

pub struct Sessions {
    agent: Agent,
    conversations: Conversations,
    calls: Calls,
    models: ChosenModels,
    root: PathBuf,
}

impl Sessions {
    /// The conversations of the vault at `root`.
    pub fn new(
        agent: Agent,
        conversations: Conversations,
        calls: Calls,
        models: ChosenModels,
        root: &Path,
    ) -> Self {
        Self { agent, conversations, calls, models, root: root.to_owned() }
    }

    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// A conversation that this client may use.
    pub fn own(&self, session: &str, context: &Context) -> Result<Conversation> {
        let id = numbered(session)?;
        let found = self.conversations.get(id)?;
        if context.is_acp() && found.source != foreign_source(Scope::Acp) {
            let message = format!("there is no conversation {id}");
            return Err(ErrorObject::new(Kind::UnknownSession, message)
                .hint("`session/list` names those of ACP clients"));
        }
        Ok(found)
    }

    /// Begins a conversation for an ACP client.
    ///
    /// # Errors
    /// Kinds `invalid_params` and `failed`; -32000 if no model is set up.
    pub fn begin(&self, params: &SessionNewParams, context: &Context) -> Result<SessionNewResult> {
        let cwd = self.folder(params.cwd.as_deref())?;
        if context.offers_setup() && !self.models.is_any() {
            return Err(ErrorObject::new(Kind::AuthRequired, "no model is set up")
                .hint("`steward setup` finds one on this machine, or takes a key"));
        }
        let source = foreign_source(Scope::Acp);
        if let Err(error) = self.conversations.delete_empty(&source) {
            tracing::warn!(%error, "empty conversations could not be deleted");
        }
        let begun = self.conversations.open_apart(&source, &cwd)?;
        let session = begun.id.to_string();
        context.attach(&session);
        self.greet(&session, Some(cwd.as_str()), &params.mcp_servers, context);
        let choices = Some(self.choices(&begun)?);
        Ok(SessionNewResult { session_id: session, choices })
    }

    /// Subscribes an ACP client to a conversation.
    pub fn take_up(
        &self,
        conversation: &Conversation,
        cwd: Option<&str>,
        servers: &[Value],
        context: &Context,
    ) -> Result<SessionChoices> {
        self.folder(cwd)?;
        let session = conversation.id.to_string();
        self.greet(&session, None, servers, context);
        self.choices(conversation)
    }

    /// Continues a conversation without replaying it.
    pub fn resume(
        &self,
        params: &SessionResumeParams,
        context: &Context,
    ) -> Result<SessionChoices> {
        let conversation = self.own(&params.session_id, context)?;
        let choices =
            self.take_up(&conversation, params.cwd.as_deref(), &params.mcp_servers, context)?;
        context.listen();
        context.attach(&params.session_id);
        Ok(choices)
    }

    pub fn delete(
        &self,
        params: &SessionDeleteParams,
        context: &Context,
    ) -> Result<SessionDeleteResult> {
        let conversation = self.own(&params.session_id, context)?;
        self.conversations.delete(conversation.id)?;
        context.detach(&params.session_id);
        Ok(SessionDeleteResult {})
    }

    /// Checks that an ACP client speaks only in conversations that it has begun, loaded or resumed.
    pub fn may_speak(&self, params: &SessionPromptParams, context: &Context) -> Result<()> {
        if !context.is_acp() {
            return Ok(());
        }
        match &params.session_id {
            Some(session) if context.is_attached(session) => Ok(()),
            Some(session) => {
                let shown: String = session.chars().take(80).collect();
                let message =
                    format!("the conversation `{}` is not open here", shown.escape_debug());
                Err(ErrorObject::new(Kind::UnknownSession, message)
                    .hint("open it first, with `session/load` or `session/resume`"))
            }
            None => Err(ErrorObject::new(Kind::InvalidParams, "`sessionId` is missing")
                .hint("`session/new` begins a conversation")),
        }
    }

    /// Checks that a model is set up.
    pub fn authenticate(&self, params: &AuthenticateParams) -> Result<AuthenticateResult> {
        if params.method_id != "setup" {
            let message =
                format!("there is no authentication method `{}`", params.method_id.escape_debug());
            return Err(
                ErrorObject::new(Kind::InvalidParams, message).hint("`initialize` lists them")
            );
        }
        if self.models.is_any() {
            Ok(AuthenticateResult {})
        } else {
            Err(ErrorObject::new(Kind::Failed, "no model is set up yet")
                .hint("`steward setup` finds one on this machine, or takes a key"))
        }
    }

    pub fn set_mode(&self, params: &SetModeParams, context: &Context) -> Result<SetModeResult> {
        let conversation = self.own(&params.session_id, context)?;
        self.choose_mode(conversation, &params.mode_id)?;
        self.send_choices(&params.session_id, context)?;
        Ok(SetModeResult {})
    }

    pub fn set_option(
        &self,
        params: &SetConfigOptionParams,
        context: &Context,
    ) -> Result<SetConfigOptionResult> {
        let conversation = self.own(&params.session_id, context)?;
        match params.config_id.as_str() {
            "mode" => {
                self.choose_mode(conversation, &params.value)?;
                self.send_mode(&params.session_id, context)?;
            }
            "model" => self.choose_model(conversation, &params.value, context)?,
            "agent" => {
                self.choose_agent(conversation, &params.value)?;
                self.send_mode(&params.session_id, context)?;
            }
            other => {
                let message = format!("there is no option `{}`", other.escape_debug());
                return Err(ErrorObject::new(Kind::InvalidParams, message)
                    .hint("there are `mode`, `model` and `agent`"));
            }
        }
        let now = self.own(&params.session_id, context)?;
        Ok(SetConfigOptionResult { config_options: self.choices(&now)?.config_options })
    }

    /// A person's own program may choose any available model, others one of the options.
    fn choose_model(
        &self,
        conversation: Conversation,
        name: &str,
        context: &Context,
    ) -> Result<()> {
        let is_option = self.models_for(&conversation).iter().any(|model| model == name);
        let is_theirs = !context.is_acp() && self.models.has(name);
        if !is_option && !is_theirs {
            let message = format!("`{}` is not one of the configured models", name.escape_debug());
            return Err(ErrorObject::new(Kind::InvalidParams, message)
                .hint("the option lists them; `steward setup` adds one"));
        }
        let chosen = Chosen { model: Some(name.to_owned()), ..conversation.chosen };
        self.conversations.choose(conversation.id, &chosen).map_err(ErrorObject::from)
    }

    /// Sets the agent from the next turn on, with its own model if it has one.
    fn choose_agent(&self, conversation: Conversation, name: &str) -> Result<()> {
        let chosen = match name {
            STEWARD => Chosen { agent: None, ..conversation.chosen },
            name => {
                let agents = self.agent.agents();
                let found = agents.find(name).map_err(|missing| {
                    let error = ErrorObject::new(Kind::InvalidParams, missing.to_string());
                    error.hint(missing.hint())
                })?;
                let model = conversation.chosen.model.filter(|_| found.model.is_none());
                Chosen { agent: Some(name.to_owned()), model, ..conversation.chosen }
            }
        };
        self.conversations.choose(conversation.id, &chosen).map_err(ErrorObject::from)
    }

    /// The models that can be chosen for a conversation, its agent's first.
    fn models_for(&self, conversation: &Conversation) -> Vec<String> {
        let mut models = self.models.chain();
        if let Some(own) = self.agent_of(conversation).and_then(|agent| agent.model) {
            models.retain(|model| *model != own);
            models.insert(0, own);
        }
        models
    }

    /// The settings of the conversation's agent, if it can answer.
    fn agent_of(&self, conversation: &Conversation) -> Option<NamedAgent> {
        self.agent.agents().find(conversation.chosen.agent.as_deref()?).ok().cloned()
    }

    fn choose_mode(&self, conversation: Conversation, word: &str) -> Result<()> {
        let all = self.modes(&conversation)?;
        let Some(mode) = Mode::parse(word).filter(|mode| all.contains(mode)) else {
            let words: Vec<&str> = all.into_iter().map(Mode::word).collect();
            let message = format!("the mode cannot be `{}` here", word.escape_debug());
            let hint = format!("it can be {}; `steward mode` sets the vault's", words.join(", "));
            return Err(ErrorObject::new(Kind::InvalidParams, message).hint(hint));
        };
        let chosen = Chosen { mode: Some(mode.word().to_owned()), ..conversation.chosen };
        self.conversations.choose(conversation.id, &chosen).map_err(ErrorObject::from)
    }

    /// The modes that are at least as strict as the vault's and the agent's.
    fn modes(&self, conversation: &Conversation) -> Result<Vec<Mode>> {
        let loosest = self.loosest_mode(conversation)?;
        Ok(Mode::ALL.into_iter().filter(|mode| loosest.stricter(*mode) == *mode).collect())
    }

    fn loosest_mode(&self, conversation: &Conversation) -> Result<Mode> {
        let unread = |error: StoreError| {
            ErrorObject::new(Kind::Failed, error.to_string()).hint(error.hint())
        };
        let vaults = self.calls.mode().map_err(unread)?.0;
        let agents = self.agent_of(conversation).and_then(|agent| agent.mode);
        Ok(agents.map_or(vaults, |agents| vaults.stricter(agents)))
    }

    /// The options of a conversation and their current values.
    fn choices(&self, conversation: &Conversation) -> Result<SessionChoices> {
        let (loosest, modes) = (self.loosest_mode(conversation)?, self.modes(conversation)?);
        let own = conversation.chosen.mode.as_deref().and_then(Mode::parse);
        let mode = own.map_or(loosest, |own| loosest.stricter(own)).word().to_owned();
        let values = modes.iter().map(|mode| value(mode.word(), name_of(*mode).0)).collect();
        let mut config_options = vec![option("mode", "Mode", "mode", mode.clone(), values)];
        let mut models = self.models_for(conversation);
        let chosen = conversation.chosen.model.clone().filter(|model| self.models.has(model));
        models.extend(chosen.clone().filter(|model| !models.contains(model)));
        if let Some(model) = chosen.or_else(|| models.first().cloned()) {
            let values = models.iter().map(|model| value(model, model)).collect();
            config_options.push(option("model", "Model", "model", model, values));
        }
        let agents = self.agent.agents();
        let now = conversation.chosen.agent.as_deref().unwrap_or(STEWARD);
        let mut values = vec![value(STEWARD, "Steward")];
        values.extend(agents.offered().map(|(name, agent)| ConfigValue {
            description: Some(agent.description.clone()).filter(|text| !text.is_empty()),
            ..value(name, name)
        }));
        // A value that no longer exists is shown, so that another can be chosen.
        if values.iter().all(|one| one.value != now) {
            values.push(value(now, &format!("{now} (not in the settings)")));
        }
        if values.len() > 1 {
            config_options.push(option("agent", "Agent", "_agent", now.to_owned(), values));
        }
        let info = |mode: &Mode| {
            let (name, description) = name_of(*mode);
            let id = mode.word().to_owned();
            ModeInfo { id, name: name.to_owned(), description: description.to_owned() }
        };
        let available_modes = modes.iter().map(info).collect();
        Ok(SessionChoices {
            modes: ModeState { current_mode_id: mode, available_modes },
            config_options,
        })
    }

    /// After a choice by one method, sends the client the state in the form of the other.
    fn send_choices(&self, session: &str, context: &Context) -> Result<()> {
        let now = self.own(session, context)?;
        let options = self.choices(&now)?.config_options;
        let update = json!({ "sessionUpdate": "config_option_update", "configOptions": options });
        context.send_afterwards(session, &update);
        Ok(())
    }

    /// Sends the client the mode in its older form, after a choice that may have changed it.
    fn send_mode(&self, session: &str, context: &Context) -> Result<()> {
        let now = self.own(session, context)?;
        let mode = self.choices(&now)?.modes.current_mode_id;
        let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode });
        context.send_afterwards(session, &update);
        Ok(())
    }

    /// Sends a client that loaded a conversation its commands, and warnings about unsupported
    /// requests.
    fn greet(&self, session: &str, cwd: Option<&str>, servers: &[Value], context: &Context) {
        let command = |(name, description, hint, _): &(&str, &str, &str, &str)| json!({ "name": name, "description": description, "input": { "hint": hint } });
        let mut commands: Vec<Value> = COMMANDS.iter().map(command).collect();
        commands.extend(proposal_commands::COMMANDS.iter().map(|(name, description, hint)| {
            json!({ "name": name, "description": description, "input": { "hint": hint } })
        }));
        commands.extend(self.prompts(context));
        let update = json!({
            "sessionUpdate": "available_commands_update", "availableCommands": commands,
        });
        context.send_afterwards(session, &update);
        let mut notices = Vec::new();
        if let Some(cwd) = cwd.filter(|cwd| !is_within(Path::new(cwd), &self.root)) {
            notices.push(format!(
                "I work in the vault `{}`, not in `{}`.",
                self.root.display(),
                cwd.escape_debug()
            ));
        }
        if !servers.is_empty() {
            let named = servers.iter().filter_map(|server| server.get("name")?.as_str());
            let named: Vec<String> =
                named.take(MAX_NAMED).map(|name| format!("`{}`", name.escape_debug())).collect();
            notices.push(format!(
                "I do not run MCP servers that a client names ({}); I have the vault's own tools.",
                named.join(", ")
            ));
        }
        if !notices.is_empty() {
            let text = format!("({})\n\n", notices.join(" "));
            let update = json!({
                "sessionUpdate": "agent_message_chunk",
                "content": { "type": "text", "text": text },
            });
            context.send_afterwards(session, &update);
        }
    }

    /// The commands that are the person's own prompts, and those that make a note from a template.
    fn prompts(&self, context: &Context) -> Vec<Value> {
        let (tool, arguments) = ("prompts/list".to_owned(), json!({}));
        let request =
            Request { tool, arguments, caller: context.client.caller(), ..Request::default() };
        let Outcome::Answered(Ok(answer)) = self.calls.call(request, &context.cancel) else {
            return Vec::new();
        };
        let found = answer.data.value();
        let prompts = found["prompts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let command = |prompt: &Value| {
            let name = prompt["name"].as_str()?;
            let (description, hint) = match &prompt["_meta"]["vault"] {
                _ if name.starts_with(TEMPLATE) => {
                    let title = prompt["title"].as_str().unwrap_or_default();
                    let hint = json!("what the note is about");
                    (format!("make a note from the template {title}").into(), hint)
                }
                // A built-in command has this name.
                _ if COMMANDS.iter().any(|(known, ..)| *known == name)
                    || proposal_commands::COMMANDS.iter().any(|(known, ..)| *known == name) =>
                {
                    return None;
                }
                own if is_own(prompt) => match &own["hint"] {
                    Value::Null => (prompt["description"].clone(), "what to add".into()),
                    hint => (prompt["description"].clone(), hint.clone()),
                },
                _ => return None,
            };
            Some(json!({ "name": name, "description": description, "input": { "hint": hint } }))
        };
        prompts.iter().filter_map(command).collect()
    }

    /// The client's working folder: any absolute path, which need not exist.
    fn folder(&self, cwd: Option<&str>) -> Result<String> {
        let Some(cwd) = cwd else { return Ok(self.root.to_string_lossy().into_owned()) };
        let is_fit = Path::new(cwd).is_absolute() && !cwd.chars().any(char::is_control);
        if !is_fit || cwd.len() > MAX_CWD {
            return Err(ErrorObject::new(Kind::InvalidParams, "`cwd` is not an absolute path")
                .hint("name the folder from the root, or leave `cwd` out"));
        }
        Ok(cwd.to_owned())
    }
}

#[expect(clippy::disallowed_methods, reason = "whether a client means a folder of the vault")]
fn is_within(cwd: &Path, root: &Path) -> bool {
    cwd.starts_with(root) || dunce::canonicalize(cwd).is_ok_and(|real| real.starts_with(root))
}

fn value(value: &str, name: &str) -> ConfigValue {
    ConfigValue { value: value.to_owned(), name: name.to_owned(), description: None }
}

fn option(
    id: &str,
    name: &str,
    category: &str,
    current_value: String,
    options: Vec<ConfigValue>,
) -> ConfigOption {
    let [id, name, category] = [id, name, category].map(str::to_owned);
    ConfigOption { id, name, category, kind: "select".to_owned(), current_value, options }
}

/// The name and description of a mode for people.
fn name_of(mode: Mode) -> (&'static str, &'static str) {
    match mode {
        Mode::Ask => ("Ask", "every change is asked about"),
        Mode::Auto => ("Auto", "changes that can be undone are made; more is asked about"),
        Mode::Plan => ("Plan", "changes are proposed, and nothing is changed"),
        Mode::ReadOnly => ("Read only", "nothing is changed"),
    }
}
