//! Who calls.

use serde::{Deserialize, Serialize};

/// What kind of caller it is, from which follows what it may do. Decided by the door it came
/// through and the token it showed, never by what it says of itself.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// A person's own program: the command line, the chat view. Speaks for the person.
    Person,
    /// A program that is not trusted to speak for a person: an agent, a script.
    #[default]
    Client,
    /// An ACP client: an editor, or a program that is one. Talks to the agent, and calls no tool itself.
    Acp,
    /// An MCP client.
    Mcp,
    /// What was heard, by a microphone or a service.
    Voice,
    /// A rule that a person enabled, which runs by itself. It comes through no door, and has no token.
    Rule,
}

impl Scope {
    /// Those that come through a door.
    pub const ALL: [Self; 5] = [Self::Person, Self::Client, Self::Acp, Self::Mcp, Self::Voice];

    /// The word for it in the audit, in settings and in tokens.
    pub fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Client => "client",
            Self::Acp => "acp",
            Self::Mcp => "mcp",
            Self::Voice => "voice",
            Self::Rule => "rule",
        }
    }

    /// Whether a conversation in which it speaks is told to do less from then on. One that an ACP client
    /// speaks in was begun by one, and has had its rights from the beginning.
    pub fn limits(self) -> bool {
        matches!(self, Self::Mcp | Self::Voice)
    }

    /// Whether it speaks for a person: may agree to what needs agreement, answer questions, change
    /// the mode and see the audit.
    pub fn is_person(self) -> bool {
        self == Self::Person
    }
}

/// Who calls: the kind, and the name the program gave of itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Caller {
    /// What kind it is.
    pub scope: Scope,
    /// Its name. Claimed, not proven.
    pub name: String,
}
