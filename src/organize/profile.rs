//! A profile of a vault: its folders with their names, tags and properties, for readers who have never seen it.
//!
//! One pass over the files that the caller may see; folders of the same shape are described once.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::conventions::{self, Convention};
use super::shapes::parts::{Kind, cut, numbered};
use super::shapes::style::Vocabulary;
use crate::bases::compare::Compare;
use crate::bases::source::Source as _;
use crate::bases::value::{Text, Value};
use crate::index::properties::VaultSnapshot;
use crate::note::path::{PathRef, VaultPath};

/// The most distinct values of a property that are counted.
const MAX_VALUES: usize = 200;

/// The longest value that is listed, in characters.
const MAX_VALUE_LETTERS: usize = 48;

/// The least number of folders of the same shape that are described as one; fewer if dates or numbers name them.
const ALIKE: usize = 4;
const ALIKE_NUMBERED: usize = 3;

/// The least number of files that differ only in digits and are listed as one.
const MIN_NUMBERED: usize = 5;

#[derive(Debug)]
pub struct Profile {
    pub total: Counts,
    /// The notes in the folder and below it.
    pub conventions: Vec<Convention>,
    /// Most frequent first, with the number of notes.
    pub tags: Vec<(Text, usize)>,
    /// Most frequent first.
    pub properties: Vec<Property>,
    /// The folder and those below it, in depth-first order.
    pub folders: Vec<Folder>,
}

/// Files and their ages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub notes: usize,
    pub others: usize,
    /// The oldest modification time, in milliseconds since 1970.
    pub oldest: Option<i64>,
    pub newest: Option<i64>,
}

impl Counts {
    fn add(&mut self, is_note: bool, modified: i64) {
        if is_note {
            self.notes += 1;
        } else {
            self.others += 1;
        }
        self.oldest = Some(self.oldest.map_or(modified, |oldest| oldest.min(modified)));
        self.newest = Some(self.newest.map_or(modified, |newest| newest.max(modified)));
    }

    fn join(&mut self, other: &Self) {
        self.notes += other.notes;
        self.others += other.others;
        self.oldest = self.oldest.into_iter().chain(other.oldest).min();
        self.newest = self.newest.into_iter().chain(other.newest).max();
    }
}

/// A property of the vault's notes.
#[derive(Debug)]
pub struct Property {
    pub name: Text,
    /// The number of notes with the property, empty or not.
    pub notes: usize,
    /// Types of its values, most frequent first: `text`, `date`, `list of links`.
    pub types: Vec<(String, usize)>,
    /// Texts, links, numbers and booleans, most frequent first; lists count by element.
    pub values: Vec<(String, usize)>,
    /// Whether it has more values than were counted.
    pub has_more_values: bool,
    /// The smallest and largest number, or the first and last date, as text.
    pub range: Option<(String, String)>,
}

#[derive(Debug)]
pub struct Folder {
    pub path: VaultPath,
    /// Depth below the profiled folder, which is 0.
    pub depth: usize,
    /// The files directly in it.
    pub own: Counts,
    /// The files in it and below; for folders described as one, their sum.
    pub all: Counts,
    /// Names of sibling folders of the same shape, which are not described again.
    pub alike: Vec<String>,
    /// The naming conventions of its notes, or of its other files if it has no notes; most certain first.
    pub conventions: Vec<Convention>,
    /// Groups of files that differ only in digits, with their size.
    pub numbered: Vec<(String, usize)>,
    /// Extensions of files other than notes, most frequent first.
    pub endings: Vec<(String, usize)>,
    /// Tags and properties of its notes, most frequent first.
    pub tags: Vec<(Text, usize)>,
    pub properties: Vec<(Text, usize)>,
}

/// Profiles the files in and below `place` that the snapshot's caller may see; `empty` are folders without files.
pub fn describe(
    snapshot: &VaultSnapshot<'_>,
    place: &VaultPath,
    empty: &[VaultPath],
    compare: &Compare<'_>,
) -> Profile {
    let files = snapshot.within(place.as_str());
    let paths: Vec<Text> = files.iter().map(|file| snapshot.path(*file)).collect();
    let mut vocabulary = Vocabulary::default();
    let mut seen = Seen::default();
    for (file, path) in files.iter().zip(&paths) {
        let path = PathRef::of(path);
        let is_note = path.is_note();
        if is_note {
            vocabulary.learn(path.stem());
        }
        seen.file(path, is_note, snapshot.modified(*file));
        if is_note {
            let folder = path.parent().map_or("", PathRef::as_str);
            let tags = snapshot.tags(*file);
            let properties = snapshot.properties(*file);
            seen.note(folder, &tags, &properties.0, compare);
        }
    }
    for folder in empty {
        seen.folders.entry(folder.as_str().to_owned()).or_default();
    }
    seen.folders.entry(place.as_str().to_owned()).or_default();
    let names: Vec<&str> = paths
        .iter()
        .map(|path| PathRef::of(path))
        .filter(|path| path.is_note())
        .map(PathRef::stem)
        .collect();
    let total = seen.folders.values().fold(Counts::default(), |mut all, folder| {
        all.join(&folder.counts);
        all
    });
    let folders = describe_folders(&seen.folders, place, &vocabulary);
    let mut properties: Vec<Property> =
        seen.properties.into_iter().map(|(name, values)| values.describe(name, compare)).collect();
    properties.sort_by(|a, b| b.notes.cmp(&a.notes).then_with(|| a.name.cmp(&b.name)));
    Profile {
        total,
        conventions: conventions::find(&names, &vocabulary),
        tags: by_frequency(seen.tags),
        properties,
        folders,
    }
}

#[derive(Default)]
struct Seen<'p> {
    /// By path; the root is the empty text.
    folders: BTreeMap<String, Own<'p>>,
    tags: HashMap<Text, usize>,
    properties: HashMap<Text, Values>,
}

/// The direct content of a folder.
#[derive(Default)]
struct Own<'p> {
    counts: Counts,
    notes: Vec<&'p str>,
    others: Vec<PathRef<'p>>,
    tags: HashMap<Text, usize>,
    properties: HashMap<Text, usize>,
}

impl<'p> Seen<'p> {
    fn file(&mut self, path: PathRef<'p>, is_note: bool, modified: i64) {
        let folder = path.parent().map_or("", PathRef::as_str);
        if !self.folders.contains_key(folder) {
            self.folders.insert(folder.to_owned(), Own::default());
        }
        let Some(own) = self.folders.get_mut(folder) else { return };
        own.counts.add(is_note, modified);
        if is_note { own.notes.push(path.stem()) } else { own.others.push(path) }
    }

    fn note(
        &mut self,
        folder: &str,
        tags: &[Text],
        properties: &[(Text, Value)],
        compare: &Compare<'_>,
    ) {
        let Some(own) = self.folders.get_mut(folder) else { return };
        for tag in tags {
            *self.tags.entry(Text::clone(tag)).or_default() += 1;
            *own.tags.entry(Text::clone(tag)).or_default() += 1;
        }
        for (name, value) in properties {
            *own.properties.entry(Text::clone(name)).or_default() += 1;
            self.properties.entry(Text::clone(name)).or_default().add(value, compare);
        }
    }
}

#[derive(Default)]
struct Values {
    notes: usize,
    types: HashMap<String, usize>,
    counts: HashMap<String, usize>,
    is_cut: bool,
    numbers: Option<(f64, f64)>,
    dates: Option<(crate::bases::value::Date, crate::bases::value::Date)>,
}

impl Values {
    fn add(&mut self, value: &Value, compare: &Compare<'_>) {
        self.notes += 1;
        let word = match value {
            Value::List(list) => match list.first() {
                Some(first) => format!("list of {}s", word_for(first)),
                None => "empty list".to_owned(),
            },
            other => word_for(other).to_owned(),
        };
        *self.types.entry(word).or_default() += 1;
        match value {
            Value::List(list) => {
                list.iter().take(MAX_VALUES).for_each(|one| self.count(one, compare))
            }
            one => self.count(one, compare),
        }
    }

    fn count(&mut self, value: &Value, compare: &Compare<'_>) {
        match value {
            Value::Number(number) => {
                let (least, most) = self.numbers.unwrap_or((*number, *number));
                self.numbers = Some((least.min(*number), most.max(*number)));
            }
            Value::Date(date) => {
                let (first, last) = self.dates.unwrap_or((*date, *date));
                let first = if date.millis < first.millis { *date } else { first };
                let last = if date.millis > last.millis { *date } else { last };
                self.dates = Some((first, last));
                return;
            }
            Value::Text(_) | Value::Link(_) | Value::Bool(_) => {}
            _ => return,
        }
        let Ok(text) = compare.text(value) else { return };
        let is_telling = !text.trim().is_empty()
            && !text.contains('\n')
            && text.chars().nth(MAX_VALUE_LETTERS).is_none();
        if !is_telling {
            return;
        }
        if let Some(count) = self.counts.get_mut(&text) {
            *count += 1;
        } else if self.counts.len() < MAX_VALUES {
            self.counts.insert(text, 1);
        } else {
            self.is_cut = true;
        }
    }

    fn describe(self, name: Text, compare: &Compare<'_>) -> Property {
        let text = |value: Value| compare.text(&value).unwrap_or_default();
        let dates =
            self.dates.map(|(first, last)| (text(Value::Date(first)), text(Value::Date(last))));
        let numbers = || {
            let (least, most) = self.numbers?;
            Some((text(Value::Number(least)), text(Value::Number(most))))
        };
        let range = dates.or_else(numbers);
        Property {
            name,
            notes: self.notes,
            types: by_frequency(self.types),
            values: by_frequency(self.counts),
            has_more_values: self.is_cut,
            range,
        }
    }
}

fn word_for(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty value",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::Date(_) => "date",
        Value::Link(_) => "link",
        Value::List(_) => "list",
        Value::Object(_) => "object",
        _ => "text",
    }
}

fn by_frequency<T: Ord>(counts: HashMap<T, usize>) -> Vec<(T, usize)> {
    let mut counts: Vec<(T, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

/// A folder under construction.
struct Node<'s> {
    name: &'s str,
    own: Option<&'s Own<'s>>,
    children: Vec<Node<'s>>,
}

fn describe_folders(
    seen: &BTreeMap<String, Own<'_>>,
    place: &VaultPath,
    vocabulary: &Vocabulary,
) -> Vec<Folder> {
    let mut root = Node { name: "", own: None, children: Vec::new() };
    for (path, own) in seen {
        let Some(path) = VaultPath::from_disk(path) else { continue };
        let Some(below) = seen
            .get_key_value(path.as_str())
            .and_then(|(path, _)| PathRef::of(path).relative_to(place.borrowed()))
        else {
            continue;
        };
        let mut node = &mut root;
        for name in below.split('/').filter(|name| !name.is_empty()) {
            // The map is sorted by path, so that subfolders are adjacent.
            let at = node.children.iter().rposition(|child| child.name == name);
            let at = at.unwrap_or_else(|| {
                node.children.push(Node { name, own: None, children: Vec::new() });
                node.children.len() - 1
            });
            node = &mut node.children[at];
        }
        node.own = Some(own);
    }
    let mut folders = Vec::new();
    let (shaped, _) = shape_of(root, place.clone(), 0, vocabulary);
    write(shaped, &mut folders);
    folders
}

struct Shaped {
    folder: Folder,
    children: Vec<Shaped>,
}

/// Computes the description of a folder, and a number that is equal for folders of the same shape.
fn shape_of(
    node: Node<'_>,
    path: VaultPath,
    depth: usize,
    vocabulary: &Vocabulary,
) -> (Shaped, u64) {
    let nothing = Own::default();
    let own = node.own.unwrap_or(&nothing);
    let mut folder = folder_of(own, path.clone(), depth, vocabulary);
    let mut children: Vec<(Shaped, u64)> = node
        .children
        .into_iter()
        .filter_map(|child| Some((path.join(child.name)?, child)))
        .map(|(path, child)| shape_of(child, path, depth + 1, vocabulary))
        .collect();
    for (child, _) in &children {
        folder.all.join(&child.folder.all);
    }
    let shape = {
        let mut hasher = DefaultHasher::new();
        let usual = |(name, count): &(Text, usize)| {
            (*count * 2 > own.counts.notes).then(|| Text::clone(name))
        };
        let is_usual = |convention: &&Convention| {
            convention.matching * 2 > own.notes.len().max(own.others.len())
        };
        let pattern = folder.conventions.first().filter(is_usual);
        pattern.map(|convention| convention.pattern.to_string()).hash(&mut hasher);
        (own.counts.notes > 0, own.counts.others > 0).hash(&mut hasher);
        let mut names: Vec<Text> = folder.properties.iter().filter_map(usual).collect();
        names.sort();
        names.hash(&mut hasher);
        folder.tags.first().and_then(usual).hash(&mut hasher);
        let mut shapes: Vec<u64> = children.iter().map(|(_, shape)| *shape).collect();
        shapes.sort_unstable();
        shapes.dedup();
        shapes.hash(&mut hasher);
        hasher.finish()
    };
    // Groups subfolders of the same shape, with numbered names apart.
    let mut groups: HashMap<(u64, bool), Vec<usize>> = HashMap::new();
    for (at, (child, shape)) in children.iter().enumerate() {
        groups.entry((*shape, is_numbered(child.folder.path.name()))).or_default().push(at);
    }
    let mut gone: Vec<usize> = Vec::new();
    for ((_, is_numbered), group) in groups {
        if group.len() < if is_numbered { ALIKE_NUMBERED } else { ALIKE } {
            continue;
        }
        for at in &group[1..] {
            let (name, all) =
                (children[*at].0.folder.path.name().to_owned(), children[*at].0.folder.all);
            let first = &mut children[group[0]].0.folder;
            first.alike.push(name);
            first.all.join(&all);
        }
        gone.extend(&group[1..]);
    }
    gone.sort_unstable();
    let children = children
        .into_iter()
        .enumerate()
        .filter(|(at, _)| gone.binary_search(at).is_err())
        .map(|(_, (child, _))| child)
        .collect();
    (Shaped { folder, children }, shape)
}

fn is_numbered(name: &str) -> bool {
    cut(name).first().is_some_and(|part| matches!(part.kind, Kind::Date(_) | Kind::Digits(_)))
}

fn folder_of(own: &Own<'_>, path: VaultPath, depth: usize, vocabulary: &Vocabulary) -> Folder {
    let stems: Vec<&str> = own.others.iter().map(|path| path.stem()).collect();
    let names: &[&str] = if own.notes.is_empty() { &stems } else { &own.notes };
    let found = match names {
        [] => Vec::new(),
        names => conventions::find(names, vocabulary),
    };
    let mut endings: HashMap<String, usize> = HashMap::new();
    for other in &own.others {
        let ending = other.extension().unwrap_or("without extension").to_lowercase();
        *endings.entry(ending).or_default() += 1;
    }
    let mut alike: HashMap<String, usize> = HashMap::new();
    let numbers = stems.iter().chain(&own.notes).filter_map(|name| numbered(name));
    numbers.for_each(|name| *alike.entry(name).or_default() += 1);
    alike.retain(|_, count| *count >= MIN_NUMBERED);
    Folder {
        path,
        depth,
        own: own.counts,
        all: own.counts,
        alike: Vec::new(),
        conventions: found,
        numbered: by_frequency(alike),
        endings: by_frequency(endings),
        tags: by_frequency(own.tags.clone()),
        properties: by_frequency(own.properties.clone()),
    }
}

fn write(shaped: Shaped, folders: &mut Vec<Folder>) {
    folders.push(shaped.folder);
    shaped.children.into_iter().for_each(|child| write(child, folders));
}
