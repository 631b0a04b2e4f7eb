//! Kinds of callers.

use serde::{Deserialize, Serialize};

/// A kind of caller, which determines its permissions. It follows from the transport and the token, never from the
/// caller's own claims.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// A person's own program, such as the command line or the chat. Speaks for the person.
    Person,
    /// A program that is not trusted to speak for a person: an agent, a script.
    #[default]
    Client,
    /// An ACP client, such as an editor. Talks to the agent and calls no tool itself.
    Acp,
    Mcp,
    Voice,
    /// A rule that a person enabled. It has no transport and no token.
    Rule,
}

// The scope's name in the audit, in settings and in tokens.
words!(pub Scope::word {
    Person => "person", Client => "client", Acp => "acp", Mcp => "mcp", Voice => "voice",
    Rule => "rule",
});

impl Scope {
    /// The scopes of callers with a transport.
    pub const ALL: [Self; 5] = [Self::Person, Self::Client, Self::Acp, Self::Mcp, Self::Voice];

    /// Whether a conversation gets fewer rights once this caller speaks in it. A conversation with an ACP
    /// client was begun by one and has had its rights from the beginning.
    pub fn limits(self) -> bool {
        matches!(self, Self::Mcp | Self::Voice)
    }

    /// Whether the caller speaks for a person: may give approvals, answer questions, change the mode and
    /// see the audit.
    pub fn is_person(self) -> bool {
        self == Self::Person
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Caller {
    pub scope: Scope,
    /// The program's name for itself. Claimed, not proven.
    pub name: String,
}
