//! The folders and notes of a vault, with their numbers, tags and links.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::super::Context;
use crate::index::links::VisibleLinks;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::Kind;

/// Notes changed within this time before the newest change of the vault make their folder more important.
const RECENT: i64 = 30 * 24 * 3_600 * 1_000_000_000;

#[derive(Debug)]
pub(super) struct Note {
    pub path: VaultPath,
    pub modified: i64,
    pub links: usize,
}

impl Note {
    pub fn stem(&self) -> &str {
        self.path.borrowed().stem()
    }
}

#[derive(Debug, Default)]
pub(super) struct Folder {
    pub path: String,
    pub folders: Vec<usize>,
    /// Directly in it.
    pub notes: Vec<Note>,
    /// Notes in it and below.
    pub all: usize,
    /// Other files in it and below.
    pub others: usize,
    /// Including the notes in all folders below.
    pub recent: usize,
    /// The newest change of a file in it or below, in nanoseconds since 1970.
    pub newest: Option<i64>,
    /// Notes with each tag, in it and below, by the tag's key.
    tags: BTreeMap<String, usize>,
}

impl Folder {
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// The folders of a vault or a folder; the first one is the top.
#[derive(Debug)]
pub(super) struct Tree {
    pub folders: Vec<Folder>,
    /// The written form of each tag.
    names: HashMap<String, String>,
}

impl Tree {
    pub fn of(context: &Context, links: &VisibleLinks<'_>, place: &VaultPath) -> Self {
        let counts = links.backlink_counts();
        let mut tags = links.tags_by_note(place);
        let top = Folder { path: place.as_str().to_owned(), ..Folder::default() };
        let mut tree = Self { folders: vec![top], names: HashMap::new() };
        let mut numbers: HashMap<String, usize> =
            HashMap::from([(tree.folders[0].path.clone(), 0)]);
        let mut above = vec![None];
        let mut changed = Vec::new();
        let catalogue = context.vault.catalogue();
        for entry in catalogue.within(place) {
            let parent = entry.path().parent().map_or("", PathRef::as_str);
            let Some(parent) = numbers.get(parent).copied() else { continue };
            match entry.kind {
                Kind::Folder => {
                    let number = tree.folders.len();
                    let path = entry.path().as_str().to_owned();
                    numbers.insert(path.clone(), number);
                    tree.folders[parent].folders.push(number);
                    tree.folders.push(Folder { path, ..Folder::default() });
                    above.push(Some(parent));
                }
                Kind::File => changed.push((parent, entry.path().to_path(), entry.modified)),
                _ => {}
            }
        }
        drop(catalogue);
        let notes = changed.iter().filter(|(_, path, _)| path.is_note());
        let since = notes.map(|(_, _, modified)| *modified).max().map(|newest| newest - RECENT);
        for (parent, path, modified) in changed {
            let is_note = path.is_note();
            let own = tags.remove(&path).unwrap_or_default();
            let mut folder = Some(parent);
            while let Some(number) = folder {
                let one = &mut tree.folders[number];
                one.newest = one.newest.max(Some(modified));
                if is_note {
                    one.all += 1
                } else {
                    one.others += 1
                }
                one.recent += usize::from(is_note && since.is_some_and(|since| modified >= since));
                for (key, _) in &own {
                    *one.tags.entry(key.clone()).or_default() += 1;
                }
                folder = above[number];
            }
            for (key, name) in own {
                tree.names.entry(key).or_insert(name);
            }
            if is_note {
                let links = counts.get(&path).copied().unwrap_or_default();
                tree.folders[parent].notes.push(Note { path, modified, links });
            }
        }
        tree
    }

    /// The most used tags of a folder with the number of notes.
    pub fn tags(&self, folder: usize, most: usize) -> Vec<(String, usize)> {
        let mut tags: Vec<_> = self.folders[folder].tags.iter().collect();
        tags.sort_by_key(|(_, notes)| Reverse(**notes));
        tags.truncate(most);
        tags.into_iter().map(|(key, notes)| (self.names[key].clone(), *notes)).collect()
    }

    /// The tags that are more frequent in a folder than in the whole.
    pub fn typical_tags(&self, folder: usize, most: usize) -> Vec<&str> {
        let (here, whole) = (&self.folders[folder], &self.folders[0]);
        let share = |notes: usize, of: &Folder| notes as f64 / of.all.max(1) as f64;
        let mut tags: Vec<(f64, &String)> = Vec::new();
        for (key, notes) in here.tags.iter().filter(|(_, notes)| **notes > 1) {
            let against = share(*notes, here) / share(whole.tags[key], whole);
            if against > 1.0 {
                tags.push((*notes as f64 * against.ln(), key));
            }
        }
        tags.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(one.cmp(other)));
        tags.into_iter().take(most).map(|(_, key)| &*self.names[key]).collect()
    }

    fn notes(&self) -> impl Iterator<Item = &Note> {
        self.folders.iter().flat_map(|folder| &folder.notes)
    }

    /// The paths of the notes with links from most other files, with their number.
    pub fn most_linked(&self, most: usize) -> Vec<(String, usize)> {
        let mut notes: Vec<&Note> = self.notes().filter(|note| note.links > 0).collect();
        notes.sort_by(|a, b| b.links.cmp(&a.links).then_with(|| a.path.cmp(&b.path)));
        notes.truncate(most);
        notes.into_iter().map(|note| (note.path.as_str().to_owned(), note.links)).collect()
    }

    /// The paths of the notes changed last.
    pub fn newest(&self, most: usize) -> Vec<String> {
        let mut notes: Vec<&Note> = self.notes().collect();
        notes.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
        notes.truncate(most);
        notes.into_iter().map(|note| note.path.as_str().to_owned()).collect()
    }
}
