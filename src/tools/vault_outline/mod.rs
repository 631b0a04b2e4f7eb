//! `vault_outline`

mod items;
mod outline;
mod tree;

use super::prelude::*;
use super::text_file::{local_short, shown};
use super::{graph, paging};
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::vault::Want;
use items::Item;
use outline::Outline;
use tree::Tree;

const DEFAULT_BUDGET: usize = 4_000;
const MIN_BUDGET: usize = 200;
const MAX_BUDGET: usize = 30_000;

/// Characters of the outline at the beginning of a conversation.
const OPENING: usize = 900;

/// Tags, most linked notes and newest notes in the lines above the tree.
const MAX_TAGS: usize = 12;
const MAX_LINKED: usize = 8;
const MAX_NEW: usize = 5;

/// The share of the budget that each of these lines may take.
const PART_OF_HEAD: usize = 10;

/// Shows what is in the vault, or in a folder of it, in a text of limited length: all folders with
/// their number of notes, newest change and typical tags, as many notes as fit, the most used tags,
/// the most linked and the newest notes. The rest is counted. The same vault and budget give the
/// same text. Start here when you do not know the vault; for naming habits and properties use
/// describe_vault.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct VaultOutline {
    /// Only this folder. Default: the whole vault.
    path: Option<String>,
    /// Maximum number of characters, 200 to 30,000. Default: 4,000.
    #[serde(default = "paging::default::<DEFAULT_BUDGET>")]
    budget: usize,
}

/// The outline.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The folder shown, empty for the vault.
    path: String,
    /// All notes below it.
    notes: usize,
    /// All other files below it.
    other_files: usize,
    /// All folders below it.
    folders: usize,
    /// The local date of the newest change of a file.
    newest: Option<String>,
    /// The most used tags with the number of notes.
    tags: Vec<Counted>,
    /// The notes that most other files link to, with the number of those files.
    most_linked: Vec<Counted>,
    /// The notes changed last.
    newest_notes: Vec<String>,
    /// The lines of the tree.
    entries: Vec<Line>,
    /// Files of which not all links and tags are known.
    unknown_files: usize,
}

/// A tag or the path of a note, and how often.
#[derive(Serialize, JsonSchema)]
pub struct Counted {
    name: String,
    count: usize,
}

/// A line of the tree.
#[derive(Serialize, JsonSchema)]
pub struct Line {
    /// `folder`, `note`, `alike` (several whose names differ only in digits) or `more` (the rest of a folder).
    kind: &'static str,
    /// The path of the folder or note; of several alike, that of the first; of `more`, that of the folder.
    path: String,
    /// Its level, from 1.
    depth: usize,
    /// The number of notes that it represents.
    notes: usize,
    /// Whether the lines below list its content; else its notes are only counted here.
    open: bool,
}

impl Tool for VaultOutline {
    const NAME: &'static str = "vault_outline";
    const TITLE: &'static str = "Outline the vault";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const SELDOM: bool = true;
    const HEAVY: bool = true;
    const LONG_ANSWER: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = "{}";
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let budget = paging::within(MIN_BUDGET..=MAX_BUDGET, "budget", self.budget)?;
        let requested = self.path.filter(|path| !path.trim().is_empty()).unwrap_or_default();
        let place = context.find(&requested, Want::Folder)?.path;
        outline(context, &place, budget)
    }
}

/// The outline for the beginning of a conversation; `None` if the vault has no notes that the caller may see.
pub fn opening(context: &Context) -> Option<String> {
    let answer = outline(context, &VaultPath::root(), OPENING).ok()?;
    (answer.data.notes > 0).then_some(answer.text)
}

fn outline(
    context: &Context,
    place: &VaultPath,
    budget: usize,
) -> Result<Answer<Output>, ToolError> {
    let links = graph::so_far(context)?;
    let tree = Tree::of(context, &links, place);
    let top = &tree.folders[0];
    let tags = tree.tags(0, MAX_TAGS);
    let linked = tree.most_linked(MAX_LINKED);
    let newest_notes = tree.newest(MAX_NEW);
    let folders = tree.folders.len() - 1;
    let mut details = vec![counted(top.all, "note")];
    if folders > 0 {
        details.push(counted(folders, "folder"));
    }
    if top.others > 0 {
        details.push(counted(top.others, "other file"));
    }
    let newest = top.newest.map(day);
    details.extend(newest.as_ref().map(|day| format!("newest {day}")));
    let mut text = details.join(", ");
    let part = budget / PART_OF_HEAD;
    let each = |counted: &[(String, usize)], mark: &str| -> Vec<String> {
        counted.iter().map(|(name, count)| format!("{mark}{} {count}", shown(name))).collect()
    };
    for (what, names) in [
        ("tags", each(&tags, "#")),
        ("most linked", each(&linked, "")),
        ("changed last", newest_notes.iter().map(|path| shown(path)).collect()),
    ] {
        text.extend(line_of_names(what, &names, part));
    }
    let (unknown_files, unknown) = graph::unknown(&links);
    let tail = unknown.map(|details| format!("\n{details}")).unwrap_or_default();
    let tail = if length(&text) + length(&tail) <= budget / 2 { tail } else { String::new() };
    let room = budget - length(&text) - length(&tail);
    let entries = Outline::new(&tree, room).lines();
    for (item, depth) in &entries {
        text.push('\n');
        text.push_str(&item.line(&tree, *depth));
    }
    text.push_str(&tail);
    debug_assert!(length(&text) <= budget);
    let counted = |counted: Vec<(String, usize)>| {
        counted.into_iter().map(|(name, count)| Counted { name, count }).collect()
    };
    let data = Output {
        path: place.as_str().to_owned(),
        notes: top.all,
        other_files: top.others,
        folders,
        newest,
        tags: counted(tags),
        most_linked: counted(linked),
        newest_notes,
        entries: entries.iter().map(|(item, depth)| line(item, *depth, &tree)).collect(),
        unknown_files,
    };
    Ok(Answer::new(text, data))
}

fn line(item: &Item, depth: usize, tree: &Tree) -> Line {
    Line {
        kind: item.kind(),
        path: item.path(tree).to_owned(),
        depth,
        notes: item.notes(tree),
        open: matches!(item, Item::Folder { open: true, .. }),
    }
}

/// A line with as many of the names as fit; `None` if none does.
fn line_of_names(what: &str, names: &[String], room: usize) -> Option<String> {
    let mut line = format!("\n{what}:");
    let bare = line.len();
    for name in names {
        let separator = if line.len() == bare { " " } else { ", " };
        if length(&line) + separator.len() + length(name) > room {
            break;
        }
        line.push_str(separator);
        line.push_str(name);
    }
    (line.len() > bare).then_some(line)
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn day(nanoseconds: i64) -> String {
    local_short(nanoseconds).chars().take(10).collect()
}
