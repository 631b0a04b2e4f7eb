//! The `[agents]` section: the user's own agents, each with instructions, tools, a model and a
//! mode.
//!
//! An agent only restricts a conversation: it has some of the tools, and a mode at least as strict.
//! Its instructions come from the settings file alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

use super::prompt::MAX_INSTRUCTIONS;
use super::{own_tools, wrap};
use crate::guests::Guest;
use crate::guests::settings::{Variables, command_fault};
use crate::hooks::MIN_MEMORY;
use crate::hooks::program_path::at_home;
use crate::llm::ToolSpec;
use crate::llm::settings::{is_name, split_reference};
use crate::note::glob::Glob;
use crate::policy::Mode;

/// The name of the steward's own agent where an agent is chosen.
pub const STEWARD: &str = "steward";

/// The longest description, in characters.
const DESCRIPTION: usize = 200;

/// The default memory limit of a guest, in MB.
const GUEST_MEMORY: u32 = 4_096;

/// The highest temperature that any vendor accepts.
const HOTTEST: f64 = 2.0;

/// The `[agents]` section: agents by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Agents(#[serde(deserialize_with = "checked")] pub BTreeMap<String, NamedAgent>);

/// One agent, `[agents.NAME]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NamedAgent {
    /// One line for the person who chooses an agent.
    pub description: String,
    /// Its instructions, which follow those of the steward.
    pub prompt: String,
    /// Its tools, by name or glob; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Its only model, as `provider/model`; `None`: those of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A stricter mode than the conversation's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The temperature, for models that accept one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Whether it can be chosen and answers.
    pub enabled: bool,
    /// The program of a guest, with its arguments; empty: an agent of our own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    #[serde(skip_serializing_if = "Variables::is_empty")]
    pub env: Variables,
    /// The folders that a guest may write, besides its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub config_folders: Vec<String>,
    /// The `_meta` of the request that begins a guest's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
    /// The mode of a guest's sessions, by the guest's name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_mode: Option<String>,
    /// TCP ports that a guest may connect to, besides 443 and the daemon's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// The memory limit for a guest and everything that it starts, in MB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u32>,
    /// Whether a guest passes its environment to its MCP servers.
    #[serde(skip_serializing_if = "is_false")]
    pub passes_env: bool,
}

impl Default for NamedAgent {
    fn default() -> Self {
        Self {
            description: String::new(),
            prompt: String::new(),
            tools: None,
            model: None,
            mode: None,
            temperature: None,
            enabled: true,
            command: Vec::new(),
            env: Variables::default(),
            config_folders: Vec::new(),
            meta: None,
            session_mode: None,
            ports: Vec::new(),
            memory_mb: None,
            passes_env: false,
        }
    }
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// Why the agent of a conversation cannot answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentMissing {
    /// The settings have no agent of that name.
    #[error("the settings have no agent `{name}`")]
    Unknown { name: String, known: Vec<String> },
    #[error("the agent `{name}` is switched off in the settings")]
    Off { name: String },
    /// Its program cannot be used.
    #[error("the agent `{name}` cannot be used: {reason}")]
    NoGuest { name: String, reason: String },
    #[error("the agent `{name}` has a model that cannot be used: {reason}")]
    NoModel { name: String, reason: String },
}

impl AgentMissing {
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { known, .. } if known.is_empty() => {
                format!("`[agents.NAME]` adds one; the agent `{STEWARD}` is always there")
            }
            Self::Unknown { known, .. } => {
                format!("there are `{STEWARD}` and `{}`", known.join("`, `"))
            }
            Self::Off { name } => {
                format!("set `enabled` in `[agents.{name}]`, or choose another: `{STEWARD}`")
            }
            Self::NoGuest { name, .. } => {
                format!("correct `[agents.{name}]`, or choose another: `{STEWARD}`")
            }
            Self::NoModel { name, .. } => {
                format!("correct `model` in `[agents.{name}]`, or choose a model or an agent")
            }
        }
    }
}

impl Agents {
    /// The agents that a person can choose, by name.
    pub fn offered(&self) -> impl Iterator<Item = (&str, &NamedAgent)> {
        let all = self.0.iter().map(|(name, agent)| (name.as_str(), agent));
        all.filter(|(_, agent)| agent.enabled)
    }

    pub fn find(&self, name: &str) -> Result<&NamedAgent, AgentMissing> {
        match self.0.get(name) {
            Some(agent) if agent.enabled => Ok(agent),
            Some(_) => Err(AgentMissing::Off { name: name.to_owned() }),
            None => {
                let known = self.offered().map(|(name, _)| name.to_owned()).collect();
                Err(AgentMissing::Unknown { name: name.to_owned(), known })
            }
        }
    }

    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter_map(|agent| agent.model.as_deref())
    }
}

impl NamedAgent {
    /// Whether it is another program.
    pub fn is_guest(&self) -> bool {
        !self.command.is_empty()
    }

    /// Whether it has the tool with this name. Every agent has the tools that write to the person
    /// and end the conversation.
    pub fn has_tool(&self, name: &str) -> bool {
        let Some(tools) = &self.tools else { return true };
        let fits = |pattern: &String| Glob::parse(pattern).is_ok_and(|glob| glob.matches(name));
        own_tools::is_own(name) || tools.iter().any(fits)
    }

    /// The names among its tools that are not globs.
    pub fn exact_tools(&self) -> impl Iterator<Item = &str> {
        let named = self.tools.iter().flatten().map(String::as_str);
        named.filter(|name| !name.contains(['*', '?', '{']))
    }

    /// The command and settings of a guest; `None` for an agent of our own.
    pub fn guest(&self, name: &str) -> Option<Guest> {
        self.is_guest().then(|| Guest {
            name: name.to_owned(),
            command: self.command.clone(),
            env: self.env.clone(),
            config_folders: self.config_folders.iter().map(|folder| at_home(folder)).collect(),
            meta: self.meta.clone().map_or(Value::Null, Value::Object),
            session_mode: self.session_mode.clone(),
            ports: self.ports.clone(),
            memory_mb: self.memory_mb.unwrap_or(GUEST_MEMORY),
            passes_env: self.passes_env,
        })
    }

    fn guest_fault(&self) -> Option<String> {
        if !self.is_guest() {
            let given = [
                ("env", !self.env.is_empty()),
                ("config_folders", !self.config_folders.is_empty()),
                ("meta", self.meta.is_some()),
                ("session_mode", self.session_mode.is_some()),
                ("ports", !self.ports.is_empty()),
                ("memory_mb", self.memory_mb.is_some()),
                ("passes_env", self.passes_env),
            ];
            let given = given.into_iter().find(|(_, is_given)| *is_given)?.0;
            return Some(format!("`{given}` is for a guest, which has a `command`"));
        }
        if self.model.is_some() || self.temperature.is_some() {
            return Some(
                "a guest chooses its model itself: leave `model` and `temperature` out".to_owned(),
            );
        }
        if let Some(wrong) = self.config_folders.iter().find(|one| !at_home(one).is_absolute()) {
            let wrong = wrong.escape_debug();
            return Some(format!(
                "`config_folders`: `{wrong}` must be absolute, or begin with `~/`"
            ));
        }
        if self.memory_mb.is_some_and(|most| most < MIN_MEMORY) {
            return Some(format!("`memory_mb` must be at least {MIN_MEMORY}"));
        }
        command_fault(&self.command).or_else(|| self.env.fault())
    }

    fn fault(&self) -> Option<String> {
        if let Some(fault) = self.guest_fault() {
            return Some(fault);
        }
        if self.description.chars().count() > DESCRIPTION
            || self.description.chars().any(char::is_control)
        {
            return Some(format!(
                "`description` must be one line of at most {DESCRIPTION} characters"
            ));
        }
        if self.prompt.chars().count() > MAX_INSTRUCTIONS {
            return Some(format!("`prompt` has more than {MAX_INSTRUCTIONS} characters"));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-*?{},".contains(c);
        let is_wrong = |tool: &&String| {
            tool.is_empty() || !tool.chars().all(plain) || Glob::parse(tool).is_err()
        };
        if let Some(wrong) = self.tools.iter().flatten().find(is_wrong) {
            return Some(format!(
                "`{}` is neither the name of a tool nor a glob",
                wrong.escape_debug()
            ));
        }
        if let Some(model) = self.model.as_deref().filter(|it| split_reference(it).is_none()) {
            return Some(format!("`{}` must be `provider/model`", model.escape_debug()));
        }
        let is_fit = |degree: f64| (0.0..=HOTTEST).contains(&degree);
        if self.temperature.is_some_and(|degree| !is_fit(degree)) {
            return Some(format!("`temperature` must be from 0 to {HOTTEST}"));
        }
        None
    }
}

fn checked<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, NamedAgent>, D::Error> {
    let agents = BTreeMap::<String, NamedAgent>::deserialize(deserializer)?;
    for (name, agent) in &agents {
        if !is_name(name) {
            return Err(de::Error::custom(format!(
                "the agent's name `{}` may only hold a-z, 0-9, `-` and `_`",
                name.escape_debug()
            )));
        }
        if name == STEWARD {
            let text = format!("the name `{STEWARD}` is the steward's own");
            return Err(de::Error::custom(text));
        }
        if let Some(fault) = agent.fault() {
            return Err(de::Error::custom(format!("the agent `{name}`: {fault}")));
        }
    }
    Ok(agents)
}

/// An agent that answers in a conversation, with its settings as of the start of the turn.
#[derive(Debug, Clone, PartialEq)]
pub struct ActiveAgent {
    pub name: String,
    pub settings: NamedAgent,
}

impl ActiveAgent {
    /// The system prompt: that of the conversation, and the agent's own instructions after it.
    pub fn system(&self, system: &str) -> String {
        let Self { name, settings } = self;
        let mut prompt = format!(
            "{system}\n\n# The agent of this conversation, from the user's settings\n\nIn this conversation \
             you are the user's agent `{name}`."
        );
        let clear = |text: &str| wrap::cleared(text.trim()).0;
        if !settings.description.trim().is_empty() {
            prompt.push_str(&format!(" It is for: {}", clear(&settings.description)));
        }
        if settings.tools.is_some() {
            prompt.push_str(
                "\nYou have only the tools that are offered to you here, whatever is said of others above.",
            );
        }
        if !settings.prompt.trim().is_empty() {
            prompt.push_str(&format!("\n\n{}", clear(&settings.prompt)));
        }
        prompt
    }

    /// The conversation's tools that it may use.
    pub fn tools(&self, all: &[ToolSpec]) -> Vec<ToolSpec> {
        // A guest writes to the user directly.
        let is_left_out = |name: &str| self.settings.is_guest() && own_tools::is_own(name);
        let has = |tool: &&ToolSpec| self.settings.has_tool(&tool.name) && !is_left_out(&tool.name);
        all.iter().filter(has).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Agents, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn an_agent_has_the_tools_that_it_names() {
        let agents =
            read("[a]\ntools = [\"read_file\", \"search_*\"]\n[none]\ntools = []\n[all]\n")
                .unwrap();
        let has = |name: &str, tool: &str| agents.find(name).unwrap().has_tool(tool);
        assert!(has("a", "read_file") && has("a", "search_notes") && has("a", "send_message"));
        assert!(!has("a", "read_files") && !has("a", "write_file"));
        assert!(!has("none", "read_file") && has("none", "end_conversation"));
        assert!(has("all", "write_file"));
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (text, fault) in [
            ("[steward]\n", "is the steward's own"),
            ("[\"A b\"]\n", "may only hold"),
            ("[a]\ntools = [\"../x\"]\n", "neither the name of a tool"),
            ("[a]\nmodel = \"x\"\n", "provider/model"),
            ("[a]\ntemperature = 3.0\n", "from 0 to 2"),
            ("[a]\ntemperature = nan\n", "from 0 to 2"),
            ("[a]\ndescription = \"a\\nb\"\n", "one line"),
            ("[a]\nmode = \"loose\"\n", "unknown variant"),
            ("[a]\ncolour = 1\n", "unknown field"),
            ("[a]\nenv = { A = \"b\" }\n", "is for a guest"),
            ("[a]\ncommand = [\"x\"]\nmodel = \"a/b\"\n", "leave `model`"),
            ("[a]\ncommand = [\"./x\"]\n", "name of a program"),
            ("[a]\ncommand = [\"x\"]\nconfig_folders = [\"c\"]\n", "must be absolute"),
            ("[a]\ncommand = [\"x\"]\nenv = { STEWARD_GUEST = \"b\" }\n", "cannot be set"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(fault), "{text}: {message}");
        }
    }

    #[test]
    fn those_that_cannot_answer_are_told_apart() {
        let agents = read("[off]\nenabled = false\n[guest]\ncommand = [\"x\"]\n[on]\n").unwrap();
        let names: Vec<&str> = agents.offered().map(|(name, _)| name).collect();
        assert_eq!(names, ["guest", "on"]);
        assert_eq!(agents.find("off"), Err(AgentMissing::Off { name: "off".to_owned() }));
        let missing = agents.find("gone").unwrap_err();
        assert_eq!(missing.hint(), "there are `steward` and `guest`, `on`");
        assert_eq!(agents.find("guest").unwrap().guest("guest").unwrap().command, ["x"]);
    }

    #[test]
    fn its_words_follow_those_of_the_conversation() {
        let agents =
            read("[a]\ndescription = \"Reads.\"\nprompt = \"Quote\\u200b much.\"\ntools = []\n");
        let settings = agents.unwrap().find("a").unwrap().clone();
        let agent = ActiveAgent { name: "a".to_owned(), settings };
        let prompt = agent.system("You are the steward.");
        assert!(prompt.starts_with("You are the steward.\n\n# The agent"), "{prompt}");
        assert!(prompt.contains("`a`. It is for: Reads.\nYou have only"), "{prompt}");
        assert!(prompt.ends_with("\n\nQuote much."), "{prompt}");
    }
}
