//! A vault as a value: every folder and file with its bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A folder, or a file with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Folder,
    File(Vec<u8>),
}

/// By path from the root, with `/`. Obsidian's settings are left out.
pub type Tree = BTreeMap<String, Entry>;

/// Reads the files below `place` directly from disk.
pub fn read(place: &Path) -> Tree {
    let mut tree = Tree::new();
    collect(place, "", &mut tree);
    tree.retain(|path, _| path != ".obsidian" && !path.starts_with(".obsidian/"));
    tree
}

fn collect(folder: &Path, above: &str, tree: &mut Tree) {
    for entry in fs::read_dir(folder).expect("a folder can be listed") {
        let entry = entry.expect("a folder can be listed");
        let name = entry.file_name().into_string().expect("names are UTF-8 here");
        let path = format!("{above}{name}");
        if entry.file_type().expect("known").is_dir() {
            collect(&entry.path(), &format!("{path}/"), tree);
            tree.insert(path, Entry::Folder);
        } else {
            tree.insert(path, Entry::File(fs::read(entry.path()).expect("a file can be read")));
        }
    }
}

/// Without the vault's own trash.
pub fn outside_trash(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    tree.retain(|path, _| path != ".trash" && !path.starts_with(".trash/"));
    tree
}

/// Without the vault's own trash if that is empty: it is created when needed, and stays.
pub fn without_empty_trash(tree: &Tree) -> Tree {
    if tree.keys().any(|path| path.starts_with(".trash/")) {
        tree.clone()
    } else {
        outside_trash(tree)
    }
}

/// The differences, for people: a few lines at most.
pub fn difference(expected: &Tree, found: &Tree) -> String {
    let mut lines = Vec::new();
    for (path, entry) in expected {
        match found.get(path) {
            None => lines.push(format!("`{path}` is missing")),
            Some(other) if other != entry => {
                lines.push(format!("`{path}` holds {} instead of {}", show(other), show(entry)));
            }
            Some(_) => {}
        }
    }
    for (path, entry) in found.iter().filter(|(path, _)| !expected.contains_key(*path)) {
        lines.push(format!("`{path}` should not be there ({})", show(entry)));
    }
    lines.truncate(6);
    lines.join("; ")
}

fn show(entry: &Entry) -> String {
    match entry {
        Entry::Folder => "a folder".to_owned(),
        Entry::File(bytes) => {
            let text: String = String::from_utf8_lossy(bytes).chars().take(60).collect();
            format!("{} bytes {text:?}", bytes.len())
        }
    }
}
