//! What can be set about what may run.

use serde::{Deserialize, Serialize};

use super::caller::Scope;

/// How far callers are trusted with changes. A person changes it at any time; it holds from the
/// next call on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A person agrees to every change.
    Ask,
    /// Single changes that can be undone are made; for more than that a person is asked.
    #[default]
    Auto,
    /// Nothing is changed.
    ReadOnly,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ask, Self::Auto, Self::ReadOnly];

    /// As it is written: `ask`, `auto`, `read-only`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Auto => "auto",
            Self::ReadOnly => "read-only",
        }
    }

    /// The one of both that lets less be done.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        let rank = |mode| match mode {
            Self::Auto => 0,
            Self::Ask => 1,
            Self::ReadOnly => 2,
        };
        if rank(other) > rank(self) { other } else { self }
    }

    /// The mode of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// What a tool needs, and the most that a kind of caller has; each includes those before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Permission {
    /// Nothing at all.
    None,
    /// To look.
    Read,
    /// To write files and make folders.
    Write,
    /// To move and delete, and to change much at once.
    #[default]
    Move,
    /// To delete for good.
    Permanent,
}

impl Permission {
    /// As it is written in the settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
            Self::Move => "move",
            Self::Permanent => "permanent",
        }
    }
}

/// A layer that can be switched off. That a tool exists and that a dry run changes nothing are not
/// among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    Permission,
    Rate,
    Input,
    Paths,
    BlastRadius,
    Hooks,
    Approval,
    Audit,
    TimeLimit,
}

impl Switch {
    /// The layer's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Rate => "rate",
            Self::Input => "input",
            Self::Paths => "paths",
            Self::BlastRadius => "blast_radius",
            Self::Hooks => "hooks",
            Self::Approval => "approval",
            Self::Audit => "audit",
            Self::TimeLimit => "time_limit",
        }
    }
}

/// What may run; a section of the configuration file. How many notes one turn may delete or move
/// is not here but in `[journal]`, which counts them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How far callers are trusted with changes, until a person says otherwise.
    pub mode: Mode,
    /// Layers that are switched off.
    pub off: Vec<Switch>,
    /// The most that a client may do that does not speak for a person.
    pub client: Permission,
    /// The most that may be done for an ACP client.
    pub acp: Permission,
    /// The most that an MCP client may do.
    pub mcp: Permission,
    /// The most that may be done for what was heard.
    pub voice: Permission,
    /// The most that rules may do that run by themselves.
    pub rule: Permission,
    /// Folders that callers other than a person may see. Empty: all.
    pub read: Vec<String>,
    /// Folders in which callers other than a person may change something. Empty: all they may see.
    pub write: Vec<String>,
    /// Calls a minute that one caller may make of one tool that only reads; as many at once after
    /// a pause. 0: no limit. Persons have none.
    pub reads_per_minute: u32,
    /// The same for tools that change something.
    pub changes_per_minute: u32,
    /// Files that one call may write, move or delete before a person is asked. 0: no limit.
    pub bulk_files: usize,
    /// Bytes that one call may write, those alone that differ from what was there, before a person is
    /// asked. 0: no limit.
    pub bulk_bytes: u64,
    /// Bytes that one turn may write, whole texts, before a person is asked. 0: no limit.
    pub turn_bytes: u64,
    /// Files that callers with one kind of token may move and delete in an hour, outside of turns, before
    /// a person is asked. 0: no limit. Persons have none.
    pub hour_files: usize,
    /// Seconds that a question waits for a person's answer while no program of theirs shows it, and
    /// that an answer is kept for the call to be repeated. `approval_seconds` was its name, for two
    /// versions it still is.
    #[serde(alias = "approval_seconds")]
    pub pending_seconds: u32,
    /// Seconds that a tool may work. 0: no limit but the server's own.
    pub call_seconds: u32,
    /// Days that the audit is kept.
    pub audit_days: u32,
    /// Calls that the audit keeps at most.
    pub audit_calls: u32,
}

impl Settings {
    /// The most that a caller of this kind may do.
    pub fn most(&self, scope: Scope) -> Permission {
        match scope {
            _ if self.off.contains(&Switch::Permission) => Permission::Permanent,
            Scope::Person => Permission::Permanent,
            Scope::Client => self.client,
            Scope::Acp => self.acp,
            Scope::Mcp => self.mcp,
            Scope::Voice => self.voice,
            Scope::Rule => self.rule,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Auto,
            off: Vec::new(),
            client: Permission::Move,
            acp: Permission::Move,
            mcp: Permission::Move,
            voice: Permission::Move,
            rule: Permission::Move,
            read: Vec::new(),
            write: Vec::new(),
            reads_per_minute: 6_000,
            changes_per_minute: 600,
            bulk_files: 10,
            bulk_bytes: 4 << 20,
            turn_bytes: 32 << 20,
            hour_files: 100,
            pending_seconds: 600,
            call_seconds: 60,
            audit_days: 90,
            audit_calls: 200_000,
        }
    }
}
