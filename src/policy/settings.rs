//! Settings of permissions.

use serde::{Deserialize, Serialize};

use super::caller::Scope;

/// The approval mode: which changes need a person's approval. A person may set it at any time; it
/// takes effect at the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Every change needs approval.
    Ask,
    /// Single changes that can be undone are made; larger ones need approval.
    #[default]
    Auto,
    /// Changes by others than a person are only proposed; a person applies those of a turn together.
    Plan,
    /// No changes.
    ReadOnly,
}

words!(pub Mode::word, ALL, parse {
    Ask => "ask", Auto => "auto", Plan => "plan", ReadOnly => "read-only",
});

impl Mode {
    /// The mode of the two that allows less.
    pub fn stricter(self, other: Self) -> Self {
        let rank = |mode| match mode {
            Self::Auto => 0,
            Self::Ask => 1,
            Self::Plan => 2,
            Self::ReadOnly => 3,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

/// The permission that a tool needs, and the maximum of a kind of caller; each includes those before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Permission {
    None,
    Read,
    /// To write files and create folders.
    Write,
    /// To move and delete, and to change much at once.
    #[default]
    Move,
    /// To delete permanently.
    Permanent,
}

words!(pub Permission::word {
    None => "none", Read => "read", Write => "write", Move => "move", Permanent => "permanent",
});

/// A layer that can be switched off. The check that the tool exists, the dry run and `standing` cannot.
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

words!(pub Switch::word {
    Permission => "permission", Rate => "rate", Input => "input", Paths => "paths",
    BlastRadius => "blast_radius", Hooks => "hooks", Approval => "approval", Audit => "audit",
    TimeLimit => "time_limit",
});

/// Permissions; a section of the configuration file. The limit on notes that one turn may delete or move is in
/// `[journal]`, which counts them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The approval mode, until a person sets another.
    pub mode: Mode,
    /// Layers that are switched off.
    pub off: Vec<Switch>,
    /// The maximum for clients that do not speak for a person.
    pub client: Permission,
    pub acp: Permission,
    pub mcp: Permission,
    pub voice: Permission,
    pub rule: Permission,
    /// Folders that callers other than a person may see. Empty: all.
    pub read: Vec<String>,
    /// Folders that callers other than a person may change. Empty: all that they may see.
    pub write: Vec<String>,
    /// Calls of one read-only tool that one caller may make in a minute, in a burst or spread. 0: no limit.
    /// Persons have none.
    pub reads_per_minute: u32,
    /// The same for tools that change the vault.
    pub changes_per_minute: u32,
    /// Files that one call may write, move or delete without approval. 0: no limit.
    pub bulk_files: usize,
    /// Bytes that one call may change without approval; unchanged bytes of a text do not count. 0: no
    /// limit.
    pub bulk_bytes: u64,
    /// Bytes that one turn may write without approval, as whole texts. 0: no limit.
    pub turn_bytes: u64,
    /// Files that callers with one kind of token may move and delete in an hour, outside of turns, without
    /// approval. 0: no limit. Persons have none.
    pub hour_files: usize,
    /// Seconds that a question waits for an answer while no program shows it, and that an answer is stored
    /// until the call is repeated. `approval_seconds` is an alias for two versions.
    #[serde(alias = "approval_seconds")]
    pub pending_seconds: u32,
    /// Time limit of a tool in seconds. 0: no limit but the server's own.
    pub call_seconds: u32,
    pub audit_days: u32,
    /// Maximum number of audit rows.
    pub audit_calls: u32,
}

impl Settings {
    /// The maximum permission of this kind of caller.
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
