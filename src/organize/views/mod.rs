//! Displays a plan: as a tree, a table, a diff, JSON, or one HTML file without a script.
//!
//! Each group shows its first items, then a count; the whole view is limited to a number of characters.

mod html;
mod room;
mod text;
mod tree;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::linked::ChangedText;
use super::plan::{Item, Plan};
use crate::note::counted::counted;
use room::Room;

/// The heading of removed folders.
const EMPTIED: &str = "Removed when empty";

/// The default number of items shown per group.
pub const PER_GROUP: usize = 10;

/// The grouping of a plan's items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// By change: moved, renamed, changed, created, to the trash.
    #[default]
    Action,
    /// The rules that took them.
    Rule,
    Source,
    /// Their target folders.
    Destination,
}

/// A plan and the way to display it.
#[derive(Debug, Clone, Copy)]
pub struct View<'p> {
    pub plan: &'p Plan,
    pub group_by: GroupBy,
    /// Items shown per group; see [`PER_GROUP`].
    pub per_group: usize,
    /// Unchanged files by path, if they are shown.
    pub unchanged: Option<&'p [String]>,
    /// The most characters.
    pub room: usize,
}

/// Items that are shown together.
struct Group<'p> {
    name: String,
    items: Vec<&'p Item>,
}

impl<'p> View<'p> {
    /// A view of a plan by action, within `room`.
    pub fn of(plan: &'p Plan, room: usize) -> Self {
        Self { plan, group_by: GroupBy::default(), per_group: PER_GROUP, unchanged: None, room }
    }

    /// The folders before and after, with the numbers of leaving and arriving files.
    pub fn tree(&self) -> String {
        tree::tree(self)
    }

    /// One line per item, by group.
    pub fn table(&self) -> String {
        let mut room = Room::new(self.room);
        room.line(&summary(self.plan));
        for group in self.groups() {
            room.line("");
            room.line(&format!("{} ({})", group.name, group.items.len()));
            for item in group.items.iter().take(self.per_group) {
                text::item_lines(item).iter().for_each(|line| room.line(line));
            }
            room.more(group.items.len(), self.per_group);
        }
        self.add_emptied(&mut room);
        self.add_unchanged(&mut room);
        room.finish()
    }

    /// Changed texts, including updated links, as unified diffs, and changed paths.
    pub fn diff(&self, texts: &[ChangedText]) -> String {
        text::diff(self, texts)
    }

    /// The groups with their first items, for programs. Omits the reasons of items, and groups that
    /// do not fit.
    pub fn json(&self) -> Value {
        let (mut groups, mut left_out) = (Vec::new(), 0);
        let mut left = self.room;
        for group in self.groups() {
            let shown = group.items.iter().take(self.per_group);
            let shown: Vec<Item> =
                shown.map(|item| Item { why: Vec::new(), ..(*item).clone() }).collect();
            let group = json!({"group": group.name, "total": group.items.len(), "items": shown});
            match left.checked_sub(group.to_string().len()).filter(|_| left_out == 0) {
                Some(rest) => {
                    left = rest;
                    groups.push(group);
                }
                None => left_out += 1,
            }
        }
        let plan = self.plan;
        let unchanged = self.unchanged.map(|unchanged| {
            let shown: Vec<&String> = unchanged.iter().take(self.per_group).collect();
            json!({"total": unchanged.len(), "paths": shown})
        });
        let folders = plan.emptied();
        let shown = &folders[..folders.len().min(self.per_group)];
        let emptied = json!({"total": folders.len(), "paths": shown});
        json!({
            "identity": plan.identity(),
            "summary": summary(plan),
            "items": plan.items.len(),
            "looked_at": plan.looked_at,
            "links": plan.links,
            "rules": plan.rules,
            "faults": plan.faults,
            "groups": groups,
            "groups_left_out": left_out,
            "emptied": emptied,
            "unchanged": unchanged,
        })
    }

    /// A single HTML file without scripts or external resources.
    pub fn html(&self) -> String {
        html::html(self)
    }

    fn groups(&self) -> Vec<Group<'p>> {
        let mut groups: BTreeMap<(usize, String), Vec<&Item>> = BTreeMap::new();
        for item in &self.plan.items {
            groups.entry(self.group(item)).or_default().push(item);
        }
        groups.into_iter().map(|((_, name), items)| Group { name, items }).collect()
    }

    /// The order and name of an item's group.
    fn group(&self, item: &Item) -> (usize, String) {
        match self.group_by {
            GroupBy::Action => {
                let (place, name) = action(item);
                (place, name.to_owned())
            }
            GroupBy::Rule if item.rules.is_empty() => (1, "By hand".to_owned()),
            GroupBy::Rule => (0, item.rules.join(", ")),
            GroupBy::Source if item.create => (1, "New".to_owned()),
            GroupBy::Source => (0, folder(&item.path)),
            GroupBy::Destination if item.trash => (1, "Trash".to_owned()),
            GroupBy::Destination => (0, folder(item.to.as_ref().unwrap_or(&item.path))),
        }
    }

    /// The folders that are removed, if there are any.
    fn add_emptied(&self, room: &mut Room) {
        let folders = self.plan.emptied();
        if !folders.is_empty() {
            room.line("");
            room.line(&format!("{EMPTIED} ({})", folders.len()));
            for path in folders.iter().take(self.per_group) {
                room.line(&format!("  {}/", text::shown(path)));
            }
            room.more(folders.len(), self.per_group);
        }
    }

    fn add_unchanged(&self, room: &mut Room) {
        if let Some(unchanged) = self.unchanged {
            room.line("");
            room.line(&format!("Unchanged ({})", unchanged.len()));
            for path in unchanged.iter().take(self.per_group) {
                room.line(&format!("      {}", text::shown(path)));
            }
            room.more(unchanged.len(), self.per_group);
        }
    }
}

/// The main action of an item: its order in the view, and its name.
fn action(item: &Item) -> (usize, &'static str) {
    match item {
        _ if item.is_blocked() => (5, "Left out"),
        _ if item.trash => (4, "To the trash"),
        _ if item.create => (3, "New"),
        _ if item.moves() => {
            if folder(&item.path) == folder(item.to.as_deref().unwrap_or_default()) {
                (1, "Renamed")
            } else {
                (0, "Moved")
            }
        }
        _ => (2, "Changed"),
    }
}

/// The folder of a path; `/` is the vault's root.
fn folder(path: &str) -> String {
    path.rsplit_once('/').map_or("/", |(folder, _)| folder).to_owned()
}

/// Lists items, one line each and one for each problem.
pub fn lines(items: &[&Item]) -> String {
    let lines: Vec<String> = items.iter().flat_map(|item| text::item_lines(item)).collect();
    lines.join("\n")
}

/// Summarises a plan in a sentence: `12 files: 9 moved, 2 changed, 1 left out; 30 links in 14 files follow`.
pub fn summary(plan: &Plan) -> String {
    if plan.items.is_empty() {
        return match plan.looked_at {
            0 => "nothing to do".to_owned(),
            all => format!("nothing to do: {} looked at, all in order", counted(all, "file")),
        };
    }
    let mut actions: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for item in &plan.items {
        *actions.entry(action(item)).or_default() += 1;
    }
    let actions: Vec<String> = actions
        .iter()
        .map(|((_, name), count)| format!("{count} {}", name.to_lowercase()))
        .collect();
    let mut whole = format!("{}: {}", counted(plan.items.len(), "file"), actions.join(", "));
    if plan.links.links > 0 {
        let verb = if plan.links.links == 1 { "follows" } else { "follow" };
        let (links, files) = (counted(plan.links.links, "link"), counted(plan.links.files, "file"));
        whole.push_str(&format!("; {links} in {files} {verb}"));
    }
    match plan.emptied().len() {
        0 => {}
        1 => whole.push_str("; 1 folder left empty is removed"),
        folders => whole.push_str(&format!("; {folders} folders left empty are removed")),
    }
    let problems = plan.items.iter().filter(|item| !item.problems.is_empty()).count();
    if problems > 0 {
        whole.push_str(&format!("; {} with a problem", counted(problems, "file")));
    }
    whole
}

#[cfg(test)]
mod tests;
