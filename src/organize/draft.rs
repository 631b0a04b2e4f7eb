//! An item under construction, before its path is assigned.

use std::collections::HashSet;

use super::content::{self, ContentError};
use super::names::{Assignment, Obstacle, PathRequest};
use super::plan::{Item, Problem, ProblemKind, Risk};
use super::rule::OnConflict;
use crate::bases::value::FileId;
use crate::note::fold::fold_key;
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::note::{markdown, tag};
use crate::vault::{Catalogue, Vault};

/// The origin of an item. Earlier origins get their paths first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    JoinedPlan,
    Hand,
    Rule,
}

/// An item under construction.
#[derive(Debug, Clone)]
pub struct Draft {
    pub item: Item,
    /// The file's path; the intended path of a new file.
    pub path: VaultPath,
    /// The wanted path, if it differs.
    pub wanted: Option<VaultPath>,
    pub on_conflict: OnConflict,
    pub by: By,
    /// Its id in the snapshot, if rules refer to it.
    pub file: Option<FileId>,
    /// The numbers of the rules that took it.
    pub took: Vec<usize>,
    /// Why its name got a number.
    pub numbered: Option<Obstacle>,
}

impl Draft {
    /// A draft without changes.
    pub fn new(path: VaultPath, on_conflict: OnConflict) -> Self {
        let item = Item { path: path.as_str().to_owned(), ..Item::default() };
        let (wanted, file, took, numbered) = (None, None, Vec::new(), None);
        Self { item, path, wanted, on_conflict, by: By::Rule, file, took, numbered }
    }

    /// Whether the item changes the file or has a problem to report.
    pub fn wants_anything(&self) -> bool {
        self.wanted.is_some() || self.item.does_anything() || !self.item.problems.is_empty()
    }

    /// Its path afterwards.
    pub fn target(&self) -> VaultPath {
        let to = self.item.to.as_deref().filter(|_| !self.item.is_blocked() && !self.item.trash);
        to.and_then(VaultPath::from_disk).unwrap_or_else(|| self.path.clone())
    }

    /// Adds a problem, once.
    pub fn add(&mut self, problem: Problem) {
        if !self.item.problems.contains(&problem) {
            self.item.problems.push(problem);
        }
    }

    /// Adds a problem that blocks the item.
    pub fn block(&mut self, kind: ProblemKind, message: impl Into<String>) {
        self.add(Problem::blocking(kind, message));
    }

    /// The requested path, if the item takes part in the assignment of paths.
    pub fn path_request(&self) -> Option<PathRequest> {
        if self.item.is_blocked() || self.item.trash {
            return None;
        }
        let on_conflict = self.on_conflict;
        match (self.item.create, &self.wanted) {
            (true, _) => Some(PathRequest {
                from: None,
                to: self.path.clone(),
                on_conflict: OnConflict::Skip,
            }),
            (false, Some(to)) => {
                Some(PathRequest { from: Some(self.path.clone()), to: to.clone(), on_conflict })
            }
            (false, None) => None,
        }
    }

    pub fn assign(&mut self, assignment: Assignment) {
        let wanted = self.wanted.as_ref().map(|wanted| wanted.as_str().to_owned());
        self.numbered = None;
        match assignment {
            Assignment::To(path) if self.item.create => {
                path.as_str().clone_into(&mut self.item.path);
                self.path = path;
            }
            Assignment::To(path) => self.item.to = Some(path.as_str().to_owned()),
            Assignment::Numbered(path, obstacle) => {
                self.item.to = Some(path.as_str().to_owned());
                self.numbered = Some(obstacle);
            }
            Assignment::Same => self.item.to = None,
            Assignment::Stays(obstacle) => {
                let is_taken = matches!(obstacle, Obstacle::Taken { .. } | Obstacle::Wanted { .. });
                let kind = if is_taken { ProblemKind::Taken } else { ProblemKind::InvalidPath };
                let waits = !is_taken || self.item.create || self.on_conflict != OnConflict::Skip;
                self.item.to = wanted.filter(|_| waits);
                if !waits {
                    self.wanted = None;
                }
                if waits || !self.item.does_anything() {
                    self.block(kind, obstacle.to_string())
                } else {
                    self.add(Problem::warning(kind, format!("it stays where it is: {obstacle}")))
                }
            }
        }
    }

    /// Reads what the item depends on: the file's revision, and whether the changes are possible.
    /// Drops changes that the file already has.
    pub fn check_file(&mut self, vault: &Vault) {
        if self.item.is_blocked() || self.item.create {
            return;
        }
        if self.item.trash {
            self.item.to = None;
            self.wanted = None;
        }
        if !self.path.is_note() {
            if self.item.changes_text() {
                let rest = self.without_text();
                self.item.clone_from(&rest);
                let error = ContentError::NotANote;
                if self.wanted.is_some() || self.item.trash {
                    self.add(Problem::warning(ProblemKind::NotApplicable, error.to_string()))
                } else {
                    self.block(ProblemKind::NotApplicable, error.to_string())
                }
            }
            return;
        }
        let read = match vault.read(&self.path) {
            Ok(read) => read,
            Err(error) => {
                return self.block(ProblemKind::NotApplicable, error.to_string());
            }
        };
        self.item.revision = Some(read.revision.to_string());
        if !self.item.changes_text() || self.item.trash {
            self.item = if self.item.trash { self.without_text() } else { self.item.clone() };
            return;
        }
        if let Ok(text) = Text::decode(&read.bytes, self.path.name()) {
            self.leave_out_what_is_so(text.body());
        }
        if !self.item.changes_text() {
            return;
        }
        match content::changed(&self.item, &self.item.path, &read.bytes, vault.max_file_bytes()) {
            Err(error) => self.block(ProblemKind::NotApplicable, error.to_string()),
            Ok(new) if new == read.bytes => self.item = self.without_text(),
            Ok(_) => {
                if let Err(error) = vault.may_write(&self.path) {
                    self.block(ProblemKind::ReadOnly, error.to_string());
                }
            }
        }
    }

    fn without_text(&self) -> Item {
        Item {
            set: serde_json::Map::new(),
            remove: Vec::new(),
            tag: Vec::new(),
            untag: Vec::new(),
            prepend: String::new(),
            append: String::new(),
            ..self.item.clone()
        }
    }

    fn leave_out_what_is_so(&mut self, body: &str) {
        let document = markdown::read(body);
        let Some(properties) = document
            .frontmatter
            .as_ref()
            .map_or(Some(&[][..]), |found| found.properties.as_deref().ok())
        else {
            return;
        };
        let has = |name: &str| {
            let exact = properties.iter().find(|property| property.name == name);
            exact.or_else(|| {
                properties.iter().find(|property| fold_key(&property.name) == fold_key(name))
            })
        };
        self.item
            .set
            .retain(|name, value| has(name).is_none_or(|property| property.value != *value));
        self.item.remove.retain(|name| has(name).is_some());
        if self.item.tag.is_empty() && self.item.untag.is_empty() {
            return;
        }
        let changes_tags = |name: &String| fold_key(name) == "tags";
        if self.item.set.keys().any(changes_tags) || self.item.remove.iter().any(changes_tags) {
            return;
        }
        let own = document.frontmatter.as_ref().map(|found| found.tags()).unwrap_or_default();
        let own: HashSet<String> = own.into_iter().map(tag::key).collect();
        let in_text = |name: &str| {
            let mut tags = document.tags.iter();
            tags.any(|found| tag::key(&body[found.name.clone()]) == tag::key(name))
        };
        let bare = |tag: &String| tag::key(content::bare(tag));
        self.item.tag.retain(|tag| !own.contains(&bare(tag)));
        let untag = std::mem::take(&mut self.item.untag);
        for tag in &untag {
            if in_text(content::bare(tag)) {
                let message =
                    format!("`#{}` is in its text, too, and stays there", content::bare(tag));
                self.add(Problem::warning(ProblemKind::NotApplicable, message));
            }
        }
        self.item.untag = untag.into_iter().filter(|tag| own.contains(&bare(tag))).collect();
    }

    /// Checks the file before its new path is known.
    pub fn check_source(&mut self, catalogue: &Catalogue) {
        if self.item.is_blocked() || self.item.create {
            return;
        }
        if let Some(original) = catalogue.conflict_of(&self.path) {
            let message = format!(
                "it is a sync program's copy of `{original}`: which of the two counts only you can say"
            );
            // A person may name one; rules skip them.
            if self.item.rules.is_empty() {
                self.add(Problem::warning(ProblemKind::ConflictCopy, message))
            } else {
                self.block(ProblemKind::ConflictCopy, message)
            }
        }
    }

    pub fn check_target(&mut self, vault: &Vault) {
        let target = match (&self.item.to, self.item.create) {
            (_, true) => Some(self.path.clone()),
            (Some(to), false) => VaultPath::from_disk(to),
            (None, false) => None,
        };
        let Some(target) = target.filter(|_| !self.item.is_blocked()) else { return };
        if let Err(error) = vault.parse(target.as_str()) {
            return self.block(ProblemKind::InvalidPath, error.to_string());
        }
        if !self.item.create
            && let Err(error) = vault.may_move(&self.path, &target)
        {
            self.block(ProblemKind::ReadOnly, error.to_string());
        }
    }

    /// The risk of the change.
    pub fn risk(&self) -> Risk {
        match (self.item.trash, self.item.create) {
            (true, _) => Risk::High,
            (false, true) => Risk::Low,
            (false, false) => Risk::Medium,
        }
    }
}
