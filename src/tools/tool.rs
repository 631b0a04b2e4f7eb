//! What a tool is, and what it answers.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::context::Context;
use super::error::ToolError;
use super::facts::Facts;

/// How much a tool can do, from which its permission follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Reads.
    Safe,
    /// Changes something that exists, so that it can be undone.
    Cautious,
    /// Moves, deletes, changes much at once.
    Dangerous,
}

/// One tool. The type is only a name for its four parts.
pub trait Tool {
    /// What callers call it: snake_case, a verb first.
    const NAME: &'static str;
    /// For people: "Read a file".
    const TITLE: &'static str;
    /// How much it can do.
    const TIER: Tier;
    /// Whether a second call with the same input changes nothing more.
    const IDEMPOTENT: bool;
    /// Whether it may take long and waits its turn among its like.
    const HEAVY: bool = false;
    /// Whether it has mostly done its work in far less than a millisecond, so that it is tried at a
    /// glance first: where it was asked for, by a thread that must not wait.
    const QUICK: bool = false;
    /// Whether it is only there while Obsidian is connected.
    const NEEDS_HOST: bool = false;
    /// Its arguments; the doc comments are what a model reads.
    type Input: DeserializeOwned + JsonSchema;
    /// Its answer's facts.
    type Output: Serialize + JsonSchema;

    /// Does it.
    ///
    /// # Errors
    /// What the caller may mend.
    fn run(context: &Context, input: Self::Input) -> Result<Answer<Self::Output>, ToolError>;
}

/// An answer with its two faces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<T> {
    /// For a model or a person, sized for a context window.
    pub text: String,
    /// The same facts for programs.
    pub data: T,
}

impl Answer<Facts> {
    /// The same with the facts as a value, for whoever looks into them.
    pub fn read(self) -> Answer<Value> {
        Answer { data: self.data.value(), text: self.text }
    }
}
