//! Rules: the notes that they select, and their actions.

use std::sync::Arc;

use chrono::NaiveTime;
use serde::{Deserialize, Serialize};

use crate::bases::ast::Expression;
use crate::bases::query::Filter;
use crate::bases::template::Template;
use crate::bases::value::Text;
use crate::note::path::VaultPath;

#[derive(Debug, Clone)]
pub struct Rule {
    /// Unique in its file.
    pub name: String,
    /// The BLAKE3 hash of the rule's meaning, in hexadecimal. A person enables this hash, and `once` marks refer to it.
    /// It does not depend on comments, order of keys and layout of the YAML.
    pub hash: String,
    /// The folders of the rule; empty: everywhere.
    pub within: Vec<VaultPath>,
    /// The condition; `None`: all notes in its folders.
    pub when: Option<Filter>,
    /// The formulas of the base, if `when` is a view of one.
    pub formulas: Vec<(Text, Arc<Expression>)>,
    /// The value of `this` in `when`: the base, if `when` is a view of one.
    pub this: Option<VaultPath>,
    pub actions: Vec<Action>,
    /// Higher priorities first; equal ones in the order of the file.
    pub priority: i64,
    /// Whether later rules are evaluated for a note that this one took; they see it in its planned state.
    pub continues: bool,
    /// Whether it takes each note only once.
    pub once: bool,
    /// `None`: the default of the settings.
    pub on_conflict: Option<OnConflict>,
    pub trigger: Trigger,
}

impl Rule {
    /// The templates in the rule's actions.
    pub(super) fn templates(&self) -> Vec<&Template> {
        fn of<'r>(assigned: &'r Assigned, found: &mut Vec<&'r Template>) {
            match assigned {
                Assigned::Value(_) => {}
                Assigned::Template(template) => found.push(template),
                Assigned::List(all) => all.iter().for_each(|one| of(one, found)),
            }
        }
        let mut found = Vec::new();
        for action in &self.actions {
            match action {
                Action::Move(template)
                | Action::Rename(template)
                | Action::Append(template)
                | Action::Prepend(template)
                | Action::Fill(template) => found.push(template),
                Action::Set { values, .. } => {
                    values.iter().for_each(|(_, assigned)| of(assigned, &mut found));
                }
                Action::Tag(templates) => found.extend(templates),
                Action::Create { path, template } => {
                    found.push(path);
                    found.extend(template);
                }
                Action::Archive | Action::Remove(_) | Action::Untag(_) | Action::Trash => {}
            }
        }
        found
    }
}

#[derive(Debug, Clone)]
pub enum Action {
    /// Moves the note into this folder.
    Move(Template),
    /// Moves the note into the archive folder of the settings, where it keeps its folder path.
    Archive,
    /// Renames the note; the extension stays.
    Rename(Template),
    Set {
        values: Vec<(String, Assigned)>,
        if_present: IfPresent,
    },
    Remove(Vec<String>),
    /// Adds tags to the frontmatter, without `#`.
    Tag(Vec<Template>),
    Untag(Vec<String>),
    /// Appends to the text of the note.
    Append(Template),
    /// Inserts before the text of the note, after its frontmatter.
    Prepend(Template),
    /// Inserts an Obsidian template into a note without text.
    Fill(Template),
    /// Creates another note if it does not exist.
    Create {
        path: Template,
        template: Option<Template>,
    },
    Trash,
}

/// The new value of a property.
#[derive(Debug, Clone)]
pub enum Assigned {
    /// A literal YAML value.
    Value(serde_json::Value),
    /// A template. A single `{{expression}}` keeps the expression's type; any other template gives a text.
    Template(Template),
    /// A list, element by element.
    List(Vec<Assigned>),
}

/// How a property is set that the note already has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IfPresent {
    #[default]
    Replace,
    Keep,
    /// Missing elements are added to lists; other values are replaced.
    Merge,
}

/// The policy for an occupied target path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// `name_1`, `name_2`, …
    #[default]
    Number,
    /// The note stays, and the item has a problem.
    Skip,
    /// The item waits for a person to choose a path.
    Ask,
    Fail,
}

/// When an enabled rule runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trigger {
    /// Never automatically.
    #[default]
    Manual,
    /// Some seconds after a note has changed.
    Change,
    /// Periodically; `at` is a time of day in the vault's time zone, for periods of whole days.
    Every { seconds: u64, at: Option<NaiveTime> },
}
