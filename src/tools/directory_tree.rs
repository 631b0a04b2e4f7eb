//! `directory_tree`

use std::collections::HashMap;

use super::list_files::parse_glob;
use super::paging;
use super::prelude::*;
use super::text_file::shown;
use crate::note::counted::counted;
use crate::note::fold::fold_key;
use crate::note::glob::Glob;
use crate::note::path::{PathRef, VaultPath};
use crate::vault::{Entry, Kind, Want};

const MAX_ENTRIES: usize = 5_000;
const MAX_DEPTH: usize = 64;

/// Bytes of paths in one answer: with the text around them it stays below the megabyte that a
/// message can have.
const MAX_PATH_BYTES: usize = 300 << 10;

/// Shows the folders and files below a folder as an indented tree, folders first. If not everything
/// fits, upper levels come before lower ones, and the entries left out are counted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectoryTree {
    /// The folder, from the vault's root. Default: the root.
    #[serde(default)]
    path: String,
    /// Levels to show, 1 to 64. Default: 3.
    #[serde(default = "paging::default::<3>")]
    max_depth: usize,
    /// Names to leave out, as globs for the name alone: `*.png`, `Archive`. Everything below such a
    /// folder is left out too.
    #[serde(default)]
    exclude: Vec<String>,
    /// Maximum number of entries, 1 to 5,000. Default: 500.
    #[serde(default = "paging::default::<500>")]
    max_entries: usize,
}

/// The tree, flat and in order.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The folder shown.
    path: String,
    /// Its entries, each folder followed by its content.
    entries: Vec<Node>,
    /// Entries below the folder that are not shown, those excluded not counted.
    omitted: usize,
}

/// One entry of the tree.
#[derive(Serialize, JsonSchema)]
pub struct Node {
    /// Its path from the vault's root.
    path: String,
    /// `file`, `folder`, `link` or `special file`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Its level below the folder shown, from 1.
    depth: usize,
    /// For a folder: entries directly in it that are not shown.
    omitted: usize,
}

impl Tool for DirectoryTree {
    const NAME: &'static str = "directory_tree";
    const TITLE: &'static str = "Show the folder tree";
    const TIER: Tier = Tier::Safe;
    const SELDOM: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = "{}";
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        paging::within(1..=MAX_DEPTH, "max_depth", self.max_depth)?;
        paging::within(1..=MAX_ENTRIES, "max_entries", self.max_entries)?;
        let exclude: Vec<Glob> =
            self.exclude.iter().map(|glob| parse_glob(glob)).collect::<Result<_, _>>()?;
        let folder = context.find(&self.path, Want::Folder)?.path;
        let catalogue = context.vault.catalogue();
        let tree = Tree::build(catalogue.within(&folder), &exclude);
        let shown = tree.choose(folder.borrowed(), self.max_depth, self.max_entries);
        let mut entries = Vec::new();
        tree.flatten(folder.borrowed(), 1, &shown, &mut entries);
        let omitted = tree.total - entries.len();
        let at_top = tree.children(folder.borrowed()).len()
            - entries.iter().filter(|node| node.depth == 1).count();
        let text = text(&folder, &entries, at_top, omitted);
        let path = folder.as_str().to_owned();
        Ok(Answer::new(text, Output { path, entries, omitted }))
    }
}

/// The entries by the folder they are in, folders first.
struct Tree<'a> {
    below: HashMap<&'a str, Vec<Entry<'a>>>,
    total: usize,
}

impl<'a> Tree<'a> {
    fn build(entries: impl Iterator<Item = Entry<'a>>, exclude: &[Glob]) -> Self {
        let mut below: HashMap<&'a str, Vec<Entry<'a>>> = HashMap::new();
        let mut left_out: Option<PathRef<'a>> = None;
        let mut total = 0;
        for entry in entries {
            if left_out.is_some_and(|folder| entry.path().is_within(folder)) {
                continue;
            }
            let name = fold_key(entry.path().name());
            if exclude.iter().any(|glob| glob.matches(&name)) {
                left_out = Some(entry.path());
                continue;
            }
            total += 1;
            let parent = entry.path().parent().expect("an entry lies in a folder");
            below.entry(parent.as_str()).or_default().push(entry);
        }
        for children in below.values_mut() {
            children.sort_by_key(|entry| entry.kind != Kind::Folder);
        }
        Self { below, total }
    }

    fn children(&self, folder: PathRef<'_>) -> &[Entry<'a>] {
        self.below.get(folder.as_str()).map_or(&[], Vec::as_slice)
    }

    /// How many children of each folder to show: level by level, until there are enough.
    fn choose<'f>(
        &'f self,
        folder: PathRef<'f>,
        depth: usize,
        most: usize,
    ) -> HashMap<PathRef<'f>, usize> {
        let mut shown = HashMap::new();
        let (mut room, mut bytes) = (most, MAX_PATH_BYTES);
        let mut level = vec![folder];
        for _ in 0..depth {
            let mut next = Vec::new();
            for folder in level {
                let children = self.children(folder);
                let fits = children.iter().take(room).take_while(|entry| {
                    let cost = entry.path().as_str().len();
                    let fits = cost <= bytes;
                    bytes = bytes.saturating_sub(cost);
                    fits
                });
                let taken = fits.count();
                room -= taken;
                let folders = children[..taken].iter().filter(|entry| entry.kind == Kind::Folder);
                next.extend(folders.map(|entry| entry.path()));
                shown.insert(folder, taken);
            }
            level = next;
        }
        shown
    }

    fn flatten(
        &self,
        folder: PathRef<'_>,
        depth: usize,
        shown: &HashMap<PathRef<'_>, usize>,
        nodes: &mut Vec<Node>,
    ) {
        let taken = shown.get(&folder).copied().unwrap_or(0);
        for entry in &self.children(folder)[..taken] {
            let children = self.children(entry.path()).len();
            let below = shown.get(&entry.path()).copied().unwrap_or(0);
            nodes.push(Node {
                path: entry.path().as_str().to_owned(),
                kind: entry.kind.word(),
                depth,
                omitted: children - below,
            });
            self.flatten(entry.path(), depth + 1, shown, nodes);
        }
    }
}

fn text(folder: &VaultPath, entries: &[Node], at_top: usize, omitted: usize) -> String {
    let mut lines = vec![if folder.is_root() { "/".to_owned() } else { format!("{folder}/") }];
    // The number of omitted entries follows the last entry shown of a folder.
    let mut pending: Vec<(usize, usize)> = vec![(1, at_top)];
    for node in entries {
        flush(&mut lines, &mut pending, node.depth);
        let indent = "  ".repeat(node.depth);
        let name = shown(node.path.rsplit('/').next().unwrap_or_default());
        lines.push(match node.kind {
            "folder" => format!("{indent}{name}/"),
            "file" => format!("{indent}{name}"),
            kind => format!("{indent}{name}  [{kind}]"),
        });
        if node.kind == "folder" {
            pending.push((node.depth + 1, node.omitted));
        }
    }
    flush(&mut lines, &mut pending, 0);
    if entries.is_empty() && omitted == 0 {
        lines.push("  [empty]".to_owned());
    } else if omitted > 0 {
        lines.push(format!(
            "[{} not shown; raise max_depth or max_entries]",
            counted(omitted, "entry")
        ));
    }
    lines.join("\n")
}

fn flush(lines: &mut Vec<String>, pending: &mut Vec<(usize, usize)>, depth: usize) {
    while let Some((level, rest)) = pending.pop_if(|(level, _)| *level > depth) {
        if rest > 0 {
            lines.push(format!("{}… {} more", "  ".repeat(level), rest));
        }
    }
}
