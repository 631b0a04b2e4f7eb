//! The tree of folders before and after.

use std::collections::BTreeMap;

use super::room::Room;
use super::text::{effects, shown};
use super::{View, summary};

#[derive(Default)]
struct Folder {
    folders: BTreeMap<String, Folder>,
    lines: Vec<String>,
}

impl Folder {
    fn at(&mut self, path: &str) -> &mut Self {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.fold(self, |here, name| here.folders.entry(name.to_owned()).or_default())
    }

    fn count(&self) -> usize {
        self.lines.len() + self.folders.values().map(Self::count).sum::<usize>()
    }

    fn show(&self, depth: usize, per_group: usize, room: &mut Room) {
        let indent = "  ".repeat(depth);
        for (name, folder) in &self.folders {
            // A folder that contains only one folder shares its line.
            let (mut name, mut folder) = (shown(name), folder);
            while let (true, Some((inner, next)), 1) =
                (folder.lines.is_empty(), folder.folders.iter().next(), folder.folders.len())
            {
                name = format!("{name}/{}", shown(inner));
                folder = next;
            }
            room.line(&format!("{indent}{name}/ ({})", folder.count()));
            folder.show(depth + 1, per_group, room);
        }
        for line in self.lines.iter().take(per_group) {
            room.line(&format!("{indent}{line}"));
        }
        if self.lines.len() > per_group {
            room.line(&format!("{indent}… {} more", self.lines.len() - per_group));
        }
    }
}

fn split_name(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

pub fn tree(view: &View<'_>) -> String {
    let (mut before, mut after, mut left) =
        (Folder::default(), Folder::default(), Folder::default());
    for item in &view.plan.items {
        let (folder, name) = split_name(&item.path);
        let name = shown(name);
        let mut effects = effects(item);
        if !item.is_blocked() {
            effects.extend(item.problems.iter().map(|problem| shown(&problem.message)));
        }
        let suffix =
            if effects.is_empty() { String::new() } else { format!("  {}", effects.join(", ")) };
        if item.is_blocked() {
            let why = item.problems.iter().find(|problem| problem.blocks);
            let why = why.map(|problem| shown(&problem.message)).unwrap_or_default();
            left.at(folder).lines.push(format!("{name}  {why}"));
            continue;
        }
        if !item.create {
            before.at(folder).lines.push(name.clone());
        }
        match &item.to {
            _ if item.trash => {}
            Some(to) => {
                let (to_folder, to_name) = split_name(to);
                let from = if to_name == split_name(&item.path).1 { folder } else { &item.path };
                let from = if from.is_empty() { "/" } else { from };
                after.at(to_folder).lines.push(format!(
                    "{}  ← {}{suffix}",
                    shown(to_name),
                    shown(from)
                ));
            }
            None => after.at(folder).lines.push(format!("{name}{suffix}")),
        }
    }
    let trashed = view.plan.applicable().filter(|item| item.trash).map(|item| shown(&item.path));
    let trashed = Folder { lines: trashed.collect(), ..Folder::default() };
    for path in view.unchanged.unwrap_or_default() {
        let (folder, name) = split_name(path);
        before.at(folder).lines.push(shown(name));
        after.at(folder).lines.push(shown(name));
    }
    let mut room = Room::new(view.room);
    room.line(&summary(view.plan));
    for (title, part) in
        [("Before", before), ("After", after), ("To the trash", trashed), ("Left out", left)]
    {
        if part.count() > 0 {
            room.line("");
            room.line(&format!("{title} ({})", part.count()));
            part.show(1, view.per_group, &mut room);
        }
    }
    view.add_emptied(&mut room);
    room.finish()
}
