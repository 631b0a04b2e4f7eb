//! The trait of tools, and their answers.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::context::Context;
use super::error::ToolError;
use super::facts::Facts;
use super::image::Image;
use super::read_update::ReadUpdate;

/// The risk of a tool, which determines its permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Reads.
    Safe,
    /// Makes changes that can be undone.
    Cautious,
    /// Moves, deletes or changes much at once.
    Dangerous,
    /// A third-party server's tool, with unknown effects.
    Unknown,
}

/// The kind of work that a tool does; clients choose an icon by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    Read,
    /// It searches the vault.
    Search,
    /// It edits content.
    Edit,
    /// It moves or renames.
    Move,
    Delete,
    Other,
}

/// The kind of name in an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Path,
    Trashed,
    Tag,
    Pattern,
}

/// An argument that names a file, folder or tag, and the kind of the name.
pub type Touch = (Cow<'static, str>, Names);

/// The name of an argument, checked by the compiler to be a field of the tool.
macro_rules! argument {
    ($field:ident) => {{
        let _ = std::mem::offset_of!(Self, $field);
        stringify!($field)
    }};
}

/// The arguments that name something: `touches!(Path: source, Path: destination)`.
macro_rules! touches {
    ($($names:ident: $field:ident),+) => {
        &[$((
            std::borrow::Cow::Borrowed($crate::tools::tool::argument!($field)),
            $crate::tools::tool::Names::$names,
        )),+]
    };
}
pub(super) use {argument, touches};

/// The state that a call relies on without naming it, and the arguments that would name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    /// The whole text of the file, which it replaces.
    Text {
        path: String,
        /// The argument for the revision of the text.
        revision: &'static str,
        /// The argument that makes it fail if the file exists, and its value.
        only_new: (&'static str, &'static str),
        /// Whether the call already sets it.
        is_only_new: bool,
    },
    /// Lines of the file, by their numbers.
    Lines {
        path: String,
        /// The argument for the revision of the text.
        revision: &'static str,
        /// Whether it removes lines.
        takes: bool,
    },
    LastChange {
        /// The argument for the number of the change set.
        change_set: &'static str,
    },
}

/// A tool: its fields are the arguments, and its doc comments the manual that a model reads.
pub trait Tool: DeserializeOwned + JsonSchema {
    /// The tool's name, in snake_case.
    const NAME: &'static str;
    /// Other names that callers know arguments by: the argument, and the other name.
    const ALIASES: &'static [(&'static str, &'static str)] = &[];
    /// Other names that models use for such a tool: accepted in calls, never listed.
    const OTHER_NAMES: &'static [&'static str] = &[];
    /// For people: "Read a file".
    const TITLE: &'static str;
    /// Its risk.
    const TIER: Tier;
    const KIND: ToolKind = match Self::TIER {
        Tier::Safe => ToolKind::Read,
        Tier::Cautious | Tier::Dangerous => ToolKind::Edit,
        Tier::Unknown => ToolKind::Other,
    };
    /// Whether a second call with the same input changes nothing more.
    const IDEMPOTENT: bool = matches!(Self::TIER, Tier::Safe);
    /// Whether it may take long, so that such calls queue.
    const HEAVY: bool = false;
    /// Whether it usually takes less than a millisecond, so that it is tried first without
    /// blocking, on the connection's task.
    const QUICK: bool = false;
    /// Whether it is rarely needed, so that short lists of tools omit it.
    const SELDOM: bool = false;
    /// Whether clients draw its answer's data, as a table or with buttons: a conversation stores it, so that it is
    /// drawn again when the conversation is opened later.
    const DRAWN: bool = false;
    /// Whether its answer may quote any note, also for callers with a view.
    const QUOTES: bool = false;
    /// Whether its answer may fill many pages.
    const LONG_ANSWER: bool = false;
    /// For a tool that replaces whole files: the argument that makes it fail if the file exists,
    /// and its value.
    const ONLY_NEW: Option<(&'static str, &'static str)> = None;
    /// Whether it is available only while Obsidian is connected.
    const NEEDS_HOST: bool = false;
    /// The arguments that name files, folders or tags, most important first: for the audit, hooks
    /// and clients. By name, since they are also read from calls whose input is invalid.
    const TOUCHES: &'static [Touch] = &[];
    /// The argument that, if true, makes the effect permanent.
    const PERMANENT: Option<&'static str> = None;
    /// The arguments of a call, as JSON, in a vault with `a.md` (one line: `one`), `t.md` (`#garden`),
    /// `changed.md`, written last, `deleted.md` in the trash, what `plan_changes` plans by its example as plan 1, and a
    /// job 1. If it changes something, it is one
    /// change that can be undone. The tests of the doors and the policy drive every tool with it.
    const EXAMPLE: &'static str;
    type Output: Serialize + JsonSchema;

    /// Runs the call.
    fn run(self, context: &Context) -> Result<Answer<Self::Output>, ToolError>;

    /// The file texts that the answer reveals.
    fn read_updates(_: &Self::Output) -> Vec<ReadUpdate> {
        Vec::new()
    }

    /// The state that the call relies on without naming it.
    fn rests_on(&self) -> Option<Basis> {
        None
    }
}

/// An answer in two forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<T> {
    /// For a model or a person, sized for a context window.
    pub text: String,
    /// The same as data for programs.
    pub data: T,
    /// The file texts that the answer reveals.
    pub read_updates: Vec<ReadUpdate>,
    /// The image that the text is about.
    pub image: Option<Arc<Image>>,
}

impl<T> Answer<T> {
    /// An answer that reveals no text of a file.
    pub fn new(text: String, data: T) -> Self {
        Self { text, data, read_updates: Vec::new(), image: None }
    }
}

impl Answer<Facts> {
    /// The answer with its facts as a JSON value.
    pub fn read(self) -> Answer<Value> {
        let Self { text, data, read_updates, image } = self;
        Answer { data: data.value(), text, read_updates, image }
    }
}
