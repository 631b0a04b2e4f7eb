//! Items and changed texts as lines.

use std::collections::HashMap;

use super::room::Room;
use super::{View, summary};
use crate::note::diff;
use crate::note::path::visible;
use crate::organize::linked::ChangedText;
use crate::organize::plan::Item;

/// Characters shown of a value or text.
const MAX_TEXT_CHARS: usize = 60;

/// A path as it can be shown in one line.
pub fn shown(path: &str) -> String {
    visible(path)
}

/// An item: its number, path and change; then its problems, one line each.
pub fn item_lines(item: &Item) -> Vec<String> {
    let path = match &item.to {
        Some(to) => format!("{} → {}", shown(&item.path), shown(to)),
        None => shown(&item.path),
    };
    let effects = effects(item);
    let effects =
        if effects.is_empty() { String::new() } else { format!("  {}", effects.join(", ")) };
    let rules = if item.rules.is_empty() {
        String::new()
    } else {
        format!("  [{}]", visible(&item.rules.join(", ")))
    };
    let mut lines = vec![format!("{:>4}  {path}{effects}{rules}", item.id)];
    lines.extend(item.problems.iter().map(|problem| {
        let mark = if problem.blocks { "left out" } else { "note" };
        format!("      {mark}: {}", visible(&problem.message))
    }));
    lines
}

/// The changes of an item other than its path, each in a few words.
pub fn effects(item: &Item) -> Vec<String> {
    let mut effects = Vec::new();
    let set = item.set.iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}: {}", visible(name), short(&value))
    });
    let set: Vec<String> = set.collect();
    for (word, names) in [
        ("set", set),
        ("remove", item.remove.clone()),
        ("tag", item.tag.clone()),
        ("untag", item.untag.clone()),
    ] {
        if !names.is_empty() {
            effects.push(format!("{word} {}", visible(&names.join(", "))));
        }
    }
    if !item.prepend.is_empty() {
        effects.push(format!("text before: \"{}\"", short(&item.prepend)));
    }
    if !item.append.is_empty() && !item.create {
        effects.push(format!("text behind: \"{}\"", short(&item.append)));
    }
    if item.create {
        effects.push("new".to_owned());
    }
    if item.trash {
        effects.push("to the trash".to_owned());
    }
    effects
}

fn short(text: &str) -> String {
    let line: String = text.trim().chars().take(MAX_TEXT_CHARS).collect();
    let more = if line.len() < text.trim().len() { "…" } else { "" };
    format!("{}{more}", visible(&line))
}

/// Changed texts as unified diffs, each with its path and its new path if it moves; then files that
/// only move.
pub fn diff(view: &View<'_>, texts: &[ChangedText]) -> String {
    let mut room = Room::new(view.room);
    room.line(&summary(view.plan));
    let items: HashMap<&str, &Item> =
        view.plan.applicable().map(|item| (&*item.path, item)).collect();
    for text in texts {
        room.line("");
        let item = items.get(&*text.path);
        match item.and_then(|item| item.to.as_deref()) {
            Some(to) => room.line(&format!("{} → {}", shown(&text.path), shown(to))),
            None if text.before.is_none() => room.line(&format!("{}  new", shown(&text.path))),
            None if item.is_none() => room.line(&format!("{}  links follow", shown(&text.path))),
            None => room.line(&shown(&text.path)),
        }
        if room.is_full() {
            continue;
        }
        let before = text.before.as_deref().unwrap_or_default();
        diff::unified(before, &text.after, &text.path).lines().for_each(|line| room.line(line));
    }
    let changed: std::collections::HashSet<&str> = texts.iter().map(|text| &*text.path).collect();
    let rest = view.plan.items.iter().filter(|item| !changed.contains(&*item.path));
    room.line("");
    for item in rest {
        item_lines(item).iter().for_each(|line| room.line(line));
    }
    view.add_emptied(&mut room);
    room.finish()
}
