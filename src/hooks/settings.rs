//! The `[hooks]` section of the configuration file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, de};

/// The largest time limit of a hook, in seconds.
pub const MAX_SECONDS: u32 = 60;

/// The `[hooks]` section, read from the user's settings file alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// By name; hooks run in the order of their names.
    #[serde(deserialize_with = "checked")]
    pub commands: BTreeMap<String, Hook>,
}

/// A command that receives events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    pub on: Vec<Kind>,
    /// The program, an absolute path or one that begins with `~/`, and its arguments.
    pub command: Vec<String>,
    /// The tools whose events it receives. Empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    #[serde(default = "usual_seconds")]
    pub seconds: u32,
    /// Whether a failure refuses the operation; else it is only logged.
    #[serde(default)]
    pub critical: bool,
    #[serde(default)]
    pub sees: Sees,
    /// Further environment variables that it inherits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
}

fn usual_seconds() -> u32 {
    5
}

/// The kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Before a valid and permitted tool call. Can be refused, and the arguments replaced.
    BeforeToolCall,
    /// Before a call changes paths. Can be refused.
    BeforeChange,
    ChangeApplied,
    AfterToolCall,
    /// Before the agent reads a message. Can be refused, and the text replaced.
    MessageReceived,
    TurnEnded,
    /// Also when an ended conversation continues.
    ConversationStarted,
    ConversationEnded,
    /// A step of a workflow is about to begin; a hook can refuse it.
    BeforeStep,
    AfterStep,
}

// As in the settings file.
words!(pub Kind::word {
    BeforeToolCall => "before_tool_call", BeforeChange => "before_change",
    ChangeApplied => "change_applied", AfterToolCall => "after_tool_call",
    MessageReceived => "message_received", TurnEnded => "turn_ended",
    ConversationStarted => "conversation_started", ConversationEnded => "conversation_ended",
    BeforeStep => "before_step", AfterStep => "after_step",
});

impl Kind {
    /// Whether a hook can refuse.
    pub fn may_refuse(self) -> bool {
        matches!(
            self,
            Self::BeforeToolCall | Self::BeforeChange | Self::MessageReceived | Self::BeforeStep
        )
    }

    /// Whether a hook can replace the event's input.
    pub fn may_replace(self) -> bool {
        matches!(self, Self::BeforeToolCall | Self::MessageReceived)
    }
}

/// The data that a hook receives; each level includes those before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Sees {
    /// The event, its time and the caller.
    Events,
    /// Names of notes and folders.
    #[default]
    Paths,
    /// The text of notes and messages.
    Texts,
}

impl Hook {
    /// Whether it receives events of this kind and tool.
    pub(super) fn wants(&self, kind: Kind, tool: Option<&str>) -> bool {
        let wants = |tool: &str| self.tools.is_empty() || self.tools.iter().any(|one| one == tool);
        self.on.contains(&kind) && tool.is_none_or(wants)
    }

    fn fault(&self) -> Option<String> {
        let Some(program) = self.command.first() else {
            return Some("`command` is empty: the program comes first".to_owned());
        };
        if !Path::new(program).is_absolute() && !program.starts_with("~/") {
            let rule = "must be an absolute path, or begin with `~/`: `PATH` is not searched";
            return Some(format!("the program `{program}` {rule}"));
        }
        if self.command.iter().any(|part| part.contains('\0')) {
            return Some("`command` holds a NUL".to_owned());
        }
        if self.on.is_empty() {
            return Some("`on` is empty: it would never run".to_owned());
        }
        if !(1..=MAX_SECONDS).contains(&self.seconds) {
            return Some(format!("`seconds` must be from 1 to {MAX_SECONDS}"));
        }
        if self.critical && !self.on.iter().any(|kind| kind.may_refuse()) {
            let text =
                "`critical` is for hooks that may refuse; this one is only told what was done";
            return Some(text.to_owned());
        }
        let named = |name: &String| {
            name.is_empty() || name.contains(['=', '\0']) || name.starts_with("STEWARD_")
        };
        let wrong = self.environment.iter().find(|name| named(name));
        wrong.map(|name| format!("`{name}` is not a variable that can be passed on"))
    }
}

fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Hook>, D::Error> {
    let hooks = BTreeMap::<String, Hook>::deserialize(deserializer)?;
    for (name, hook) in &hooks {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        if !(1..=64).contains(&name.len()) || !name.chars().all(plain) {
            return Err(de::Error::custom(format!(
                "the hook's name `{name}` may only hold a-z, 0-9, `-` and `_`"
            )));
        }
        if let Some(fault) = hook.fault() {
            return Err(de::Error::custom(format!("the hook `{name}`: {fault}")));
        }
    }
    Ok(hooks)
}
