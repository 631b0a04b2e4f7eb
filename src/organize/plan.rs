//! Plans: the change of each note, as a value that is shown, stored, approved and applied.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::vault::catalogue::tree_order;

/// A planned change of a vault.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// By path, each note once.
    pub items: Vec<Item>,
    /// The rules it was made from, in the order of evaluation.
    pub rules: Vec<PlannedRule>,
    /// Errors of rules; the other rules were evaluated.
    pub faults: Vec<RuleFault>,
    /// The number of files examined.
    pub looked_at: usize,
    #[serde(default)]
    pub links: Following,
}

/// Links that are rewritten to keep their targets.
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
    /// Its current path; for a created note, its future path.
    pub path: String,
    /// The file's required revision when the plan is applied; `None` for a note that is created, and for an attachment
    /// that is only moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Its new path, if that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Properties to set.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub set: Map<String, Value>,
    /// Properties to remove.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// Tags to add to the frontmatter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tag: Vec<String>,
    /// Tags to remove from the frontmatter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untag: Vec<String>,
    /// Text to insert after the frontmatter.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prepend: String,
    /// Text to append; for a created note, its whole text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub append: String,
    /// Whether the note is to be created.
    #[serde(default, skip_serializing_if = "is_false")]
    pub create: bool,
    /// Whether it is moved to the trash.
    #[serde(default, skip_serializing_if = "is_false")]
    pub trash: bool,
    /// Folders that it and the items before it leave empty: removed at the end, if they are still
    /// empty.
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

/// The risk of the change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// A new note.
    #[default]
    Low,
    /// Changes the path, properties or text.
    Medium,
    /// Moves to the trash.
    High,
}

/// Why an item may be unintended, or cannot be applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    pub kind: ProblemKind,
    pub message: String,
    /// Whether the item is excluded from the job until a person has changed it.
    pub blocks: bool,
}

impl Problem {
    /// A problem that is reported but does not block the item.
    pub fn warning(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), blocks: false }
    }

    /// A problem that excludes its item from the job.
    pub fn blocking(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), blocks: true }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// There is no file at its path.
    Missing,
    /// Something else has or gets the path. Not blocking: the item gets another name, or stays.
    Taken,
    /// Its new path is invalid, or outside the caller's view.
    InvalidPath,
    /// Unresolved links would resolve to the new name.
    CapturesLinks,
    /// Links from notes that stay lead to the note that goes to the trash.
    LosesLinks,
    /// A link cannot be rewritten to keep its target.
    LinkStuck,
    /// The system does not allow writing or moving it.
    ReadOnly,
    /// It is a sync program's conflict copy.
    ConflictCopy,
    /// A template gives null, a list or an error where a text belongs.
    NothingToInsert,
    /// A rule would move its own result again.
    Unsettled,
    /// Characters that are not allowed in names were replaced.
    NameChanged,
    /// The action does not apply to this file: a template for a note with text, a property of an attachment.
    NotApplicable,
}

/// A rule of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedRule {
    pub name: String,
    pub hash: String,
    /// The number of files that it took.
    pub took: usize,
}

/// An error in a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleFault {
    pub rule: String,
    /// The number of files that it failed for.
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
    /// The earlier rule that stopped the evaluation before this one, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
    /// The decisive parts of its condition, with the values they read: `file.hasTag("meeting")
    /// false: tags are call, work`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
}

impl Item {
    /// Drops the reason of a numbered name.
    pub fn clear_numbering(&mut self) {
        self.problems.retain(|one| one.blocks || one.kind != ProblemKind::Taken);
    }

    /// Whether it changes the file's content.
    pub fn changes_text(&self) -> bool {
        !(self.set.is_empty()
            && self.remove.is_empty()
            && self.tag.is_empty()
            && self.untag.is_empty()
            && self.prepend.is_empty()
            && self.append.is_empty())
    }

    /// Whether it changes the file's path.
    pub fn moves(&self) -> bool {
        !self.create && !self.trash && self.to.as_ref().is_some_and(|to| *to != self.path)
    }

    /// Merges another item for the same file, which takes precedence.
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

    /// Whether it changes the file at all.
    pub fn does_anything(&self) -> bool {
        self.create || self.trash || self.moves() || self.changes_text()
    }

    /// Whether a problem excludes it from the job.
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
            // Serialising a struct of texts, numbers and sorted maps cannot fail.
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
