//! Chooses the folders that an outline opens, and their lines.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::items::Item;
use super::tree::Tree;

/// The minimum number of names that differ only in digits to be shown as one line.
const ALIKE: usize = 4;

/// The most lines of notes of an opened folder; with more, so many notes are named.
const MANY: usize = 200;
const NAMED: usize = 12;

/// The lines of an opened folder: at most so many lines of subfolders and of notes, and one for the rest.
fn lines_inside(tree: &Tree, number: usize, folders: usize, notes: usize) -> Vec<Item> {
    let folder = &tree.folders[number];
    let closed = |folder: usize| Item::Folder { folder, open: false };
    let mut subfolders: Vec<(usize, Item)> = Vec::new();
    for group in group_alike(&folder.folders, |child| tree.folders[*child].name()) {
        if let [one] = &group[..] {
            subfolders.push((tree.folders[**one].all, closed(**one)));
            continue;
        }
        let sum = group.iter().map(|child| tree.folders[**child].all).sum();
        let (first, last) = (*group[0], **group.last().unwrap_or(&group[0]));
        subfolders.push((sum, Item::Folders { first, last, count: group.len(), notes: sum }));
    }
    let kept = largest(&subfolders, folders);
    let mut rest = (0, 0);
    let mut items = Vec::new();
    for (at, (inside, item)) in subfolders.into_iter().enumerate() {
        if kept.contains(&at) {
            items.push(item)
        } else {
            let count = if let Item::Folders { count, .. } = item { count } else { 1 };
            rest = (rest.0 + count, rest.1 + inside);
        }
    }
    let numbers: Vec<usize> = (0..folder.notes.len()).collect();
    let groups = group_alike(&numbers, |note| folder.notes[*note].stem());
    let named =
        if groups.len() > notes.min(MANY) { Some(foremost(tree, number, notes)) } else { None };
    let mut left = 0;
    for group in groups {
        let item = match &group[..] {
            [one] => Item::Note(number, **one),
            [first, .., last] => {
                Item::Notes { folder: number, first: **first, last: **last, count: group.len() }
            }
            [] => continue,
        };
        match &named {
            None => items.push(item),
            Some(named) => {
                let (here, hidden): (Vec<&usize>, Vec<&usize>) =
                    group.into_iter().partition(|note| named.contains(*note));
                items.extend(here.into_iter().map(|note| Item::Note(number, *note)));
                left += hidden.len();
            }
        }
    }
    if rest.0 + left > 0 {
        let (folders, inside) = rest;
        items.push(Item::More { folder: number, folders, inside, notes: left });
    }
    items
}

/// The notes to name in a folder with many: two thirds most linked, the rest newest.
fn foremost(tree: &Tree, folder: usize, most: usize) -> HashSet<usize> {
    let most = most.min(NAMED);
    let notes = &tree.folders[folder].notes;
    let mut order: Vec<usize> = (0..notes.len()).collect();
    order.sort_by_key(|note| (Reverse(notes[*note].links), *note));
    let linked = order.iter().filter(|note| notes[**note].links > 0);
    let mut named: HashSet<usize> = linked.take(most * 2 / 3).copied().collect();
    order.sort_by_key(|note| (Reverse(notes[*note].modified), *note));
    let new = order.into_iter().filter(|note| !named.contains(note));
    let new: Vec<usize> = new.take(most - named.len()).collect();
    named.extend(new);
    named
}

/// The positions of the `most` with the largest numbers, the earlier ones among equals.
fn largest<T>(of: &[(usize, T)], most: usize) -> HashSet<usize> {
    let mut order: Vec<usize> = (0..of.len()).collect();
    order.sort_by_key(|at| (Reverse(of[*at].0), *at));
    order.into_iter().take(most).collect()
}

/// Groups the items whose names differ only in digits, if there are enough of them; each group takes the position of
/// its first item, ordered by name.
fn group_alike<'i, T>(items: &'i [T], name: impl Fn(&'i T) -> &'i str) -> Vec<Vec<&'i T>> {
    let mut groups: HashMap<String, Vec<&T>> = HashMap::new();
    let pattern = |item: &'i T| {
        let mut pattern = String::new();
        for c in name(item).chars() {
            match c.is_ascii_digit() {
                true if pattern.ends_with('\0') => {}
                true => pattern.push('\0'),
                false => pattern.push(c),
            }
        }
        pattern
    };
    for item in items {
        groups.entry(pattern(item)).or_default().push(item);
    }
    let mut ordered = Vec::new();
    for item in items {
        let pattern = pattern(item);
        let is_alike = |group: &&Vec<&T>| group.len() >= ALIKE && pattern.contains('\0');
        if groups.get(&pattern).filter(is_alike).is_none() {
            // The group was placed already, or there is none.
            if groups.contains_key(&pattern) {
                ordered.push(vec![item]);
            }
            continue;
        }
        let mut group = groups.remove(&pattern).unwrap_or_default();
        group.sort_by_key(|item| (name(item).len(), name(item)));
        ordered.push(group);
    }
    ordered
}

/// Which folders are opened, within a number of characters.
pub(super) struct Outline<'t> {
    tree: &'t Tree,
    /// The lines in each opened folder.
    opened: HashMap<usize, Vec<Item>>,
}

struct Closed {
    folder: usize,
    depth: usize,
    /// Its lines when opened, with their characters, the longest first.
    forms: Vec<(usize, Vec<Item>)>,
}

impl<'t> Outline<'t> {
    /// Opens the top folder, then the most informative closed folder as long as one fits.
    pub fn new(tree: &'t Tree, mut room: usize) -> Self {
        let mut outline = Self { tree, opened: HashMap::new() };
        let all = usize::MAX;
        let top = [(all, all), (all, 12), (all, 4), (all, 0), (24, 4), (12, 4), (6, 0), (3, 0)];
        let first = outline.closed(0, 1, &[&top[..], &[(0, 0)]].concat());
        let mut closed: Vec<Closed> = Vec::new();
        let mut next = Some(first);
        while let Some(opening) = next.take() {
            let Some((cost, items)) = opening.forms.into_iter().find(|(cost, _)| *cost <= room)
            else {
                break;
            };
            room -= cost;
            for item in &items {
                if let Item::Folder { folder, .. } = item {
                    let forms = [(all, all), (all, 12), (all, 4), (12, 4)];
                    closed.push(outline.closed(*folder, opening.depth + 1, &forms));
                }
            }
            outline.opened.insert(opening.folder, items);
            // A form that does not fit now will not fit later.
            closed.retain(|one| one.forms.iter().any(|(cost, _)| *cost <= room));
            let value = |one: &Closed| {
                let folder = &tree.folders[one.folder];
                let recent = folder.recent as f64 / folder.all.max(1) as f64;
                let cost = one.forms.first().map_or(1, |(cost, _)| *cost).max(1);
                (1.0 + folder.all as f64).ln() * (1.0 + 0.5 * recent) / cost as f64
            };
            let best = (0..closed.len()).max_by(|a, b| {
                let (one, other) = (&closed[*a], &closed[*b]);
                let paths = || tree.folders[other.folder].path.cmp(&tree.folders[one.folder].path);
                value(one).total_cmp(&value(other)).then_with(paths)
            });
            next = best.map(|best| closed.swap_remove(best));
        }
        outline
    }

    fn closed(&self, folder: usize, depth: usize, forms: &[(usize, usize)]) -> Closed {
        let cost = |items: &[Item]| items.iter().map(|item| item.cost(self.tree, depth)).sum();
        let forms = forms.iter().map(|(folders, notes)| {
            let items = lines_inside(self.tree, folder, *folders, *notes);
            (cost(&items), items)
        });
        let forms = forms.filter(|(_, items)| !items.is_empty()).collect();
        Closed { folder, depth, forms }
    }

    /// The lines with their levels, from 1.
    pub fn lines(&self) -> Vec<(Item, usize)> {
        let mut lines = Vec::new();
        self.add(0, 1, &mut lines);
        lines
    }

    fn add(&self, folder: usize, depth: usize, lines: &mut Vec<(Item, usize)>) {
        for item in self.opened.get(&folder).into_iter().flatten() {
            match item {
                Item::Folder { folder, .. } => {
                    let open = self.opened.contains_key(folder);
                    lines.push((Item::Folder { folder: *folder, open }, depth));
                    self.add(*folder, depth + 1, lines);
                }
                item => lines.push((item.clone(), depth)),
            }
        }
    }
}
