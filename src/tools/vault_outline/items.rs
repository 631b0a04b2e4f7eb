//! The lines of an outline.

use super::super::text_file::shown;
use super::day;
use super::tree::Tree;
use crate::note::counted::counted;

const FOLDER_TAGS: usize = 3;

/// A line of the outline.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Folder {
        folder: usize,
        open: bool,
    },
    /// A note, by folder and number.
    Note(usize, usize),
    /// Notes whose names differ only in digits.
    Notes {
        folder: usize,
        first: usize,
        last: usize,
        count: usize,
    },
    /// Folders whose names differ only in digits.
    Folders {
        first: usize,
        last: usize,
        count: usize,
        notes: usize,
    },
    /// The rest of a folder.
    More {
        folder: usize,
        folders: usize,
        inside: usize,
        notes: usize,
    },
}

impl Item {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Folder { .. } => "folder",
            Self::Note(..) => "note",
            Self::Notes { .. } | Self::Folders { .. } => "alike",
            Self::More { .. } => "more",
        }
    }

    pub fn path<'t>(&self, tree: &'t Tree) -> &'t str {
        match self {
            Self::Folder { folder, .. } | Self::More { folder, .. } => &tree.folders[*folder].path,
            Self::Folders { first, .. } => &tree.folders[*first].path,
            Self::Note(folder, note) | Self::Notes { folder, first: note, .. } => {
                tree.folders[*folder].notes[*note].path.as_str()
            }
        }
    }

    /// The number of notes that the line represents.
    pub fn notes(&self, tree: &Tree) -> usize {
        match self {
            Self::Folder { folder, .. } => tree.folders[*folder].all,
            Self::Note(..) => 1,
            Self::Notes { count, .. } => *count,
            Self::Folders { notes, .. } => *notes,
            Self::More { inside, notes, .. } => inside + notes,
        }
    }

    /// The line in the text, without its end.
    pub fn line(&self, tree: &Tree, depth: usize) -> String {
        let note = |folder: usize, note: usize| shown(tree.folders[folder].notes[note].stem());
        let details = match self {
            Self::Folder { folder, .. } => folder_line(tree, *folder),
            Self::Note(folder, number) => note(*folder, *number),
            Self::Notes { folder, first, last, count: notes } => {
                let (first, last) = (note(*folder, *first), note(*folder, *last));
                format!("{first} … {last}, {}", counted(*notes, "note"))
            }
            Self::Folders { first, last, count: folders, notes } => {
                let name = |folder: usize| shown(tree.folders[folder].name());
                let (folders, notes) = (counted(*folders, "folder"), counted(*notes, "note"));
                format!("{}/ … {}/, {folders}, {notes}", name(*first), name(*last))
            }
            Self::More { folders: 0, notes, .. } => format!("… {}", count_more(*notes, "note")),
            Self::More { folders, inside, notes, .. } => {
                let inside = counted(*inside, "note");
                let notes = match notes {
                    0 => String::new(),
                    notes => format!(", {}", count_more(*notes, "note")),
                };
                format!("… {} with {inside}{notes}", count_more(*folders, "folder"))
            }
        };
        format!("{}{details}", "  ".repeat(depth - 1))
    }

    /// The characters of the line and of its end.
    pub fn cost(&self, tree: &Tree, depth: usize) -> usize {
        self.line(tree, depth).chars().count() + 1
    }
}

fn count_more(number: usize, noun: &str) -> String {
    let counted = counted(number, noun);
    match counted.split_once(' ') {
        Some((number, noun)) => format!("{number} more {noun}"),
        None => counted,
    }
}

/// `Projects/  12 notes, 3 files, 2026-11-20 #garden #plan`
fn folder_line(tree: &Tree, number: usize) -> String {
    let folder = &tree.folders[number];
    let mut details = Vec::new();
    if folder.all > 0 {
        details.push(counted(folder.all, "note"));
    }
    if folder.others > 0 {
        details.push(counted(folder.others, "file"));
    }
    details.extend(folder.newest.map(day));
    if details.is_empty() {
        details.push("empty".to_owned());
    }
    let tags = tree.typical_tags(number, FOLDER_TAGS);
    let tags: String = tags.iter().map(|tag| format!(" #{}", shown(tag))).collect();
    format!("{}/  {}{tags}", shown(folder.name()), details.join(", "))
}
