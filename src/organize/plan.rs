//! Plans: the change of each note, as a value that is shown, stored, approved and applied.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::vault::catalogue::tree_order;

/// A planned change of a vault.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// By path, each note once.
    pub items: Vec<Item>,
    /// The rules it was made from, in the order in which they were asked.
    pub rules: Vec<PlannedRule>,
    /// Errors of rules; the other rules were evaluated.
    pub faults: Vec<RuleFault>,
    /// Files that were looked at.
    pub looked_at: usize,
    #[serde(default)]
    pub links: Following,
}

/// Links that are rewritten so that they lead where they led.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Following {
    pub links: usize,
    /// Number of files with these links.
    pub files: usize,
}

/// The planned change of one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// From 1, by path.
    pub id: u32,
    /// Its path now; of a note that is created, its path then.
    pub path: String,
    /// The file's required revision when the plan is applied; `None` for a note that is created, and for an attachment
    /// that is only moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Its path afterwards, if that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Properties that get these values.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub set: Map<String, Value>,
    /// Properties that go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// Tags to add to the frontmatter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tag: Vec<String>,
    /// Tags that go from the frontmatter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untag: Vec<String>,
    /// Text that comes behind the frontmatter.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prepend: String,
    /// Text that comes at the end; of a note that is created, all of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub append: String,
    /// Whether the note does not exist yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub create: bool,
    /// Whether it goes to the trash.
    #[serde(default, skip_serializing_if = "is_false")]
    pub trash: bool,
    /// Folders that nothing is in any more once it and the items before it have left: they are removed at the end, if
    /// they are empty then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub empties: Vec<String>,
    /// The rules that took it, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The hashes of those rules that process a file only once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub once: Vec<String>,
    pub risk: Risk,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// Each evaluated rule, in order, with its result. Not part of the identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<RuleResult>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

/// How much is at stake.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// A new note.
    #[default]
    Low,
    /// Another path, other properties or text.
    Medium,
    /// The trash.
    High,
}

/// Why an item may be unintended, or cannot be applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    pub kind: ProblemKind,
    pub message: String,
    /// Whether the item is left out of the job until a person has changed it.
    pub blocks: bool,
}

impl Problem {
    /// A problem that is reported but does not prevent the item.
    pub fn told(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), blocks: false }
    }

    /// A problem that leaves its item out of the job.
    pub fn blocking(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), blocks: true }
    }
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// There is no file at its path.
    Missing,
    /// Something else has or gets the path. Not blocking: the item gets another name, or stays.
    Taken,
    /// Its new path is none that a file can have, or none where the caller may look.
    InvalidPath,
    /// Links that led nowhere would lead to the new name.
    CapturesLinks,
    /// A link cannot be made to lead where it led.
    LinkStuck,
    /// The system lets nobody write or move it.
    ReadOnly,
    /// It is a copy that a sync program made of a conflict.
    ConflictCopy,
    /// A template gives null, a list or an error where a text belongs.
    NothingToInsert,
    /// A rule would move its own result again.
    Unsettled,
    /// Characters that no name may hold were replaced.
    NameChanged,
    /// The action does not apply to this file: a template for a note with text, a property of an attachment.
    NotApplicable,
}

/// A rule of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedRule {
    pub name: String,
    pub hash: String,
    /// How many files it took.
    pub took: usize,
}

/// An error in a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleFault {
    pub rule: String,
    /// How many files it went wrong for.
    pub files: usize,
    /// The first of them.
    pub path: String,
    pub message: String,
}

/// The result of evaluating one rule for a note.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleResult {
    pub rule: String,
    pub took: bool,
    /// The rule before it that stopped, where it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
    /// The parts of its condition that decided, with the values they read: `file.hasTag("meeting")  false: tags are
    /// call, work`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
}

impl Item {
    /// Whether it changes what the file holds.
    pub fn changes_text(&self) -> bool {
        !(self.set.is_empty()
            && self.remove.is_empty()
            && self.tag.is_empty()
            && self.untag.is_empty()
            && self.prepend.is_empty()
            && self.append.is_empty())
    }

    /// Whether the file gets another path.
    pub fn moves(&self) -> bool {
        !self.create && !self.trash && self.to.as_ref().is_some_and(|to| *to != self.path)
    }

    /// Adds what another item says of the same file, which counts where the two differ.
    pub(super) fn add(&mut self, other: Self) {
        self.to = other.to.or(self.to.take());
        self.set.extend(other.set);
        self.remove.extend(other.remove);
        self.tag.extend(other.tag);
        self.untag.extend(other.untag);
        self.prepend.push_str(&other.prepend);
        self.append.push_str(&other.append);
        self.create |= other.create;
        self.trash |= other.trash;
    }

    /// Whether anything happens to the file.
    pub fn does_anything(&self) -> bool {
        self.create || self.trash || self.moves() || self.changes_text()
    }

    /// Whether a problem leaves it out of the job.
    pub fn is_blocked(&self) -> bool {
        self.problems.iter().any(|problem| problem.blocks)
    }
}

impl Plan {
    /// The BLAKE3 hash of the items, in hexadecimal: the same for the same items, whichever rules produced them.
    pub fn identity(&self) -> String {
        let mut hash = blake3::Hasher::new();
        for item in &self.items {
            let bare = Item { why: Vec::new(), ..item.clone() };
            // A struct of texts, numbers and sorted maps cannot fail to be written.
            let json = serde_json::to_vec(&bare).unwrap_or_default();
            hash.update(&(json.len() as u64).to_le_bytes());
            hash.update(&json);
        }
        hash.finalize().to_hex().to_string()
    }

    /// The folders that it leaves empty, by path.
    pub fn emptied(&self) -> Vec<&str> {
        let mut folders: Vec<&str> =
            self.applicable().flat_map(|item| &item.empties).map(String::as_str).collect();
        folders.sort_by(|a, b| tree_order(a, b));
        folders
    }

    pub fn applicable(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| !item.is_blocked())
    }
}
