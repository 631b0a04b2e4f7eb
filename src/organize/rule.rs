//! What a rule says: which notes it takes, and what is to become of them.

use std::sync::Arc;

use chrono::NaiveTime;
use serde::{Deserialize, Serialize};

use crate::bases::ast::Expression;
use crate::bases::query::Filter;
use crate::bases::template::Template;
use crate::bases::value::Text;
use crate::note::path::VaultPath;

/// One rule of a rule file.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Unique in its file.
    pub name: String,
    /// BLAKE3, in hexadecimal, of all that the rule means: what a person enables, and what `once` remembers. Comments,
    /// order of keys and layout of the YAML do not count.
    pub hash: String,
    /// The folders where it looks; empty: everywhere.
    pub within: Vec<VaultPath>,
    /// Which notes; `None`: all that lie in its folders.
    pub when: Option<Filter>,
    /// The formulas that `when` may name, where it is a view of a base.
    pub formulas: Vec<(Text, Arc<Expression>)>,
    /// What `this` is in `when`: the base, where it is a view of one.
    pub this: Option<VaultPath>,
    /// What is done, in order.
    pub actions: Vec<Action>,
    /// Higher first; equal ones in the order of the file.
    pub priority: i64,
    /// Whether later rules are asked about a note that this one took, and see it as it will be.
    pub continues: bool,
    /// Whether it takes each note a single time.
    pub once: bool,
    /// `None`: as the settings say.
    pub on_conflict: Option<OnConflict>,
    pub trigger: Trigger,
}

/// One thing that a rule does to a note.
#[derive(Debug, Clone)]
pub enum Action {
    /// Into this folder.
    Move(Template),
    /// Into the archive folder of the settings, with the note's own folder below it.
    Archive,
    /// This name; the extension stays.
    Rename(Template),
    /// Properties and their values.
    Set {
        values: Vec<(String, Assigned)>,
        if_present: IfPresent,
    },
    /// Properties that go.
    Remove(Vec<String>),
    /// Tags in the frontmatter, without `#`.
    Tag(Vec<Template>),
    Untag(Vec<String>),
    /// Behind the text of the note.
    Append(Template),
    /// Before the text of the note, behind its frontmatter.
    Prepend(Template),
    /// The text of this template of Obsidian, into a note without text.
    Fill(Template),
    /// A note beside it; nothing if it exists.
    Create {
        path: Template,
        template: Option<Template>,
    },
    Trash,
}

/// The value that a property gets.
#[derive(Debug, Clone)]
pub enum Assigned {
    /// As the YAML has it.
    Value(serde_json::Value),
    /// One that is a single `{{expression}}` keeps the expression's type; any other gives a text.
    Template(Template),
    /// A list, element by element.
    List(Vec<Assigned>),
}

/// What becomes of a property that the note has already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IfPresent {
    #[default]
    Replace,
    Keep,
    /// Lists get what they lack; anything else is replaced.
    Merge,
}

/// What happens where the new path is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// `name_1`, `name_2`, …
    #[default]
    Number,
    /// The note stays, with a problem.
    Skip,
    /// The item waits for a person to choose a path.
    Ask,
    /// There is no plan.
    Fail,
}

/// When a rule runs once a person has enabled it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trigger {
    /// Never by itself.
    #[default]
    Manual,
    /// Some seconds after a note has changed.
    Change,
    /// So often; `at` is a time of day in the vault's zone, for periods of whole days.
    Every { seconds: u64, at: Option<NaiveTime> },
}
