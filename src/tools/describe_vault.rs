//! `describe_vault`

use std::collections::HashSet;

use super::naming_conventions::Convention;
use super::paging;
use super::prelude::*;
use super::text_file::shown;
use crate::bases::compare::Compare;
use crate::bases::date::Times;
use crate::bases::source::Source as _;
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::organize::profile::{self, Counts, Folder, Profile};
use crate::vault::{Kind, Want};

const DEFAULT_BYTES: usize = 30_000;
const MIN_BYTES: usize = 1_000;
const MAX_BYTES: usize = 200_000;
const MAX_DEPTH: usize = 64;

/// Limits for the whole, and for each folder.
const TAGS: usize = 25;
const PROPERTIES: usize = 30;
const VALUES: usize = 6;
const FOLDER_TAGS: usize = 3;
const FOLDER_PROPERTIES: usize = 6;
const FOLDER_ENDINGS: usize = 4;
const FOLDER_NUMBERED: usize = 3;
const FOLDER_ALIKE: usize = 12;

/// Describes the vault, or one of its folders, to a newcomer: its folders, the number and age of
/// their notes, how files are named, and the tags, properties and values in use. Read it before you
/// file, rename or tag notes or write rules, so that your changes fit the vault.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeVault {
    /// Only this folder. Default: the whole vault.
    path: Option<String>,
    /// Levels of folders to show, 0 to 64; deeper ones are only counted. Default: as many as fit.
    #[serde(default = "paging::default::<MAX_DEPTH>")]
    depth: usize,
    /// Maximum length of the text in bytes, 1,000 to 200,000; upper folders come before lower ones.
    /// Default: 30,000.
    #[serde(default = "paging::default::<DEFAULT_BYTES>")]
    bytes: usize,
}

/// The description.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The folder described, empty for the vault.
    path: String,
    /// All notes at and below it.
    notes: usize,
    /// All other files.
    other_files: usize,
    /// The local date of the oldest last change of a file.
    oldest: Option<String>,
    /// When the last change was, local date.
    newest: Option<String>,
    /// Its naming conventions: always three, the most certain first.
    conventions: Vec<Convention>,
    /// The commonest tags.
    tags: Vec<Counted>,
    /// The number of different tags.
    total_tags: usize,
    /// The commonest properties.
    properties: Vec<Property>,
    /// The number of different properties.
    total_properties: usize,
    /// The folders shown, each followed by those in it; the described one first.
    folders: Vec<ListedFolder>,
    /// Folders not shown because they are deeper or did not fit.
    omitted_folders: usize,
    /// Notes whose properties could not be read.
    unknown_files: usize,
}

/// A name with its number of notes.
#[derive(Serialize, JsonSchema)]
pub struct Counted {
    /// The tag, value, extension or pattern.
    name: String,
    /// The number of them.
    count: usize,
}

/// A property in use.
#[derive(Serialize, JsonSchema)]
pub struct Property {
    /// Its name.
    name: String,
    /// Notes that have it.
    notes: usize,
    /// The types of its values, most frequent first.
    types: Vec<Counted>,
    /// The commonest values, elements of lists one by one.
    values: Vec<Counted>,
    /// The smallest number or the first date.
    least: Option<String>,
    /// The largest number or the last date.
    most: Option<String>,
}

/// A folder.
#[derive(Serialize, JsonSchema)]
pub struct ListedFolder {
    /// Its path from the vault's root.
    path: String,
    /// Sibling folders of the same shape, by name.
    alike: Vec<String>,
    /// Notes in it and below, those of folders alike included.
    notes: usize,
    /// Other files likewise.
    other_files: usize,
    /// When the oldest change was, local date.
    oldest: Option<String>,
    /// When the last change was, local date.
    newest: Option<String>,
    /// The naming conventions of the files in it, the most certain first.
    conventions: Vec<Convention>,
    /// Groups of files that differ only in digits.
    numbered: Vec<Counted>,
    /// Extensions of files other than notes.
    endings: Vec<Counted>,
    /// Its commonest tags.
    tags: Vec<Counted>,
    /// Its commonest properties.
    properties: Vec<Counted>,
}

impl Tool for DescribeVault {
    const NAME: &'static str = "describe_vault";
    const TITLE: &'static str = "Describe the vault";
    const TIER: Tier = Tier::Safe;
    const SELDOM: bool = true;
    const KIND: ToolKind = ToolKind::Search;
    const HEAVY: bool = true;
    const LONG_ANSWER: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = "{}";
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        paging::within(0..=MAX_DEPTH, "depth", self.depth)?;
        paging::within(MIN_BYTES..=MAX_BYTES, "bytes", self.bytes)?;
        let requested = self.path.filter(|path| !path.trim().is_empty()).unwrap_or_default();
        let place = context.find(&requested, Want::Folder)?.path;
        let zone = context.clock.zone();
        let times = Times::new(&*zone);
        let vault = &context.vault;
        let snapshot = context.snapshot()?.in_zone(&times);
        let folders: Vec<VaultPath> = {
            let catalogue = vault.catalogue();
            let folders = catalogue.within(&place).filter(|entry| entry.kind == Kind::Folder);
            folders
                .map(|entry| entry.path().to_path())
                .filter(|path| vault.view().shows(path))
                .collect()
        };
        let compare = Compare { source: &snapshot, times: &times };
        let profile = profile::describe(&snapshot, &place, &folders, &compare);
        if snapshot.is_cancelled() || context.cancel.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        let day =
            |millis: Option<i64>| millis.map(|millis| times.local(millis).date_naive().to_string());
        let unknown = snapshot.gaps().map_or(0, |gaps| gaps.count);
        Ok(answer(&profile, &place, &self.depth, self.bytes, unknown, &day))
    }
}

fn answer(
    profile: &Profile,
    place: &VaultPath,
    depth: &usize,
    bytes: usize,
    unknown_files: usize,
    day: &dyn Fn(Option<i64>) -> Option<String>,
) -> Answer<Output> {
    let head = head(profile, place, day);
    let lines: Vec<String> =
        profile.folders.iter().map(|folder| line(folder, place, day)).collect();
    // Upper folders first, the larger ones first, as far as they fit.
    let mut order: Vec<usize> =
        (1..profile.folders.len()).filter(|at| profile.folders[*at].depth <= *depth).collect();
    order.sort_by_key(|at| {
        let folder = &profile.folders[*at];
        (folder.depth, std::cmp::Reverse(folder.all.notes + folder.all.others), *at)
    });
    let mut room = bytes.saturating_sub(head.len() + lines.first().map_or(0, String::len) + 80);
    let mut included: HashSet<usize> = HashSet::from([0]);
    for at in order {
        let cost = lines[at].len() + 1;
        if cost > room {
            break;
        }
        room -= cost;
        included.insert(at);
    }
    let omitted_folders = profile.folders.len() - included.len();
    let mut text = head;
    for (at, line) in lines.iter().enumerate().filter(|(at, _)| included.contains(at)) {
        if at == 1 {
            text.push_str("\nfolders:");
        }
        text.push('\n');
        text.push_str(line);
    }
    if omitted_folders > 0 {
        let more = counted(omitted_folders, "folder");
        text.push_str(&format!("\n[{more} more; name one as `path`, or raise `bytes` or `depth`]"));
    }
    cut_to_bytes(&mut text, bytes);
    let folders = profile.folders.iter().enumerate().filter(|(at, _)| included.contains(at));
    let data = Output {
        path: place.as_str().to_owned(),
        notes: profile.total.notes,
        other_files: profile.total.others,
        oldest: day(profile.total.oldest),
        newest: day(profile.total.newest),
        conventions: profile.conventions.iter().map(Convention::of).collect(),
        tags: most_frequent(&profile.tags, TAGS),
        total_tags: profile.tags.len(),
        properties: profile.properties.iter().take(PROPERTIES).map(Property::of).collect(),
        total_properties: profile.properties.len(),
        folders: folders.map(|(_, folder)| ListedFolder::of(folder, day)).collect(),
        omitted_folders,
        unknown_files,
    };
    Answer::new(text, data)
}

fn cut_to_bytes(text: &mut String, bytes: usize) {
    if text.len() > bytes {
        let end = (0..=bytes - 4).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push_str(" […]");
        debug_assert!(text.len() <= bytes + 3);
    }
}

fn most_frequent<T: AsRef<str>>(counts: &[(T, usize)], most: usize) -> Vec<Counted> {
    let counts = counts.iter().take(most);
    counts.map(|(name, count)| Counted { name: name.as_ref().to_owned(), count: *count }).collect()
}

impl Property {
    fn of(property: &profile::Property) -> Self {
        let (least, most) = property.range.clone().unzip();
        Self {
            name: property.name.to_string(),
            notes: property.notes,
            types: most_frequent(&property.types, VALUES),
            values: most_frequent(shown_values(property), VALUES),
            least,
            most,
        }
    }
}

/// The informative values: none if few values repeat.
fn shown_values(property: &profile::Property) -> &[(String, usize)] {
    let distinct = property.values.len();
    let is_repeated = property.values.first().is_some_and(|(_, count)| *count > 1);
    let is_many = property.has_more_values && distinct * 2 > property.notes;
    let is_telling = distinct <= 3 || (is_repeated && !is_many);
    if is_telling { &property.values } else { &[] }
}

impl ListedFolder {
    fn of(folder: &Folder, day: &dyn Fn(Option<i64>) -> Option<String>) -> Self {
        Self {
            path: folder.path.as_str().to_owned(),
            alike: folder.alike.clone(),
            notes: folder.all.notes,
            other_files: folder.all.others,
            oldest: day(folder.all.oldest),
            newest: day(folder.all.newest),
            conventions: folder.conventions.iter().map(Convention::of).collect(),
            numbered: most_frequent(&folder.numbered, FOLDER_NUMBERED),
            endings: most_frequent(&folder.endings, FOLDER_ENDINGS),
            tags: most_frequent(&folder.tags, FOLDER_TAGS),
            properties: most_frequent(&folder.properties, FOLDER_PROPERTIES),
        }
    }
}

/// The lines about the described folder.
fn head(
    profile: &Profile,
    place: &VaultPath,
    day: &dyn Fn(Option<i64>) -> Option<String>,
) -> String {
    let total = profile.total;
    let what = if place.is_root() {
        "the vault".to_owned()
    } else {
        format!("`{}`", shown(place.as_str()))
    };
    let folders = profile.folders.iter().map(|folder| 1 + folder.alike.len()).sum::<usize>() - 1;
    let mut lines = vec![format!(
        "{what}: {}, in {}{}",
        files(&total),
        counted(folders, "folder"),
        change_period(&total, day)
    )];
    let names: Vec<String> = profile
        .conventions
        .iter()
        .filter(|found| found.matching > 0)
        .map(|found| {
            format!(
                "{} ({} of {}, such as \"{}\")",
                found.pattern,
                found.matching,
                total.notes,
                shown(&found.example)
            )
        })
        .collect();
    if !names.is_empty() {
        lines.push(format!("names: {}", names.join("; ")));
    }
    if !profile.tags.is_empty() {
        lines.push(format!(
            "tags: {}{}",
            tags(&profile.tags, TAGS),
            rest(profile.tags.len(), TAGS)
        ));
    }
    if !profile.properties.is_empty() {
        lines.push("properties:".to_owned());
        lines.extend(profile.properties.iter().take(PROPERTIES).map(|property| {
            let types: Vec<String> =
                property.types.iter().take(2).map(|(word, _)| word.clone()).collect();
            let mut line = format!(
                "  {}: {}, {}",
                shown(&property.name),
                types.join(" or "),
                counted(property.notes, "note")
            );
            if let Some((least, most)) = &property.range {
                line.push_str(&format!(", {least} to {most}"));
            }
            let values: Vec<String> = shown_values(property)
                .iter()
                .take(VALUES)
                .map(|(value, count)| format!("{} {count}", shown(value)))
                .collect();
            if !values.is_empty() {
                line.push_str(&format!(
                    "; {}{}",
                    values.join(", "),
                    if shown_values(property).len() > VALUES { ", …" } else { "" }
                ));
            }
            line
        }));
        let more = rest(profile.properties.len(), PROPERTIES);
        if !more.is_empty() {
            lines.push(format!("  {}", more.trim_start_matches([',', ' '])));
        }
    }
    lines.join("\n")
}

fn files(counts: &Counts) -> String {
    match (counts.notes, counts.others) {
        (notes, 0) => counted(notes, "note"),
        (0, others) => counted(others, "file"),
        (notes, others) => {
            format!("{} and {}", counted(notes, "note"), counted(others, "other file"))
        }
    }
}

fn change_period(counts: &Counts, day: &dyn Fn(Option<i64>) -> Option<String>) -> String {
    match (day(counts.oldest), day(counts.newest)) {
        (Some(oldest), Some(newest)) if oldest == newest => format!(", changed {newest}"),
        (Some(oldest), Some(newest)) => format!(", changed {oldest} to {newest}"),
        _ => String::new(),
    }
}

fn tags<T: AsRef<str>>(tags: &[(T, usize)], most: usize) -> String {
    let tags =
        tags.iter().take(most).map(|(tag, count)| format!("#{} {count}", shown(tag.as_ref())));
    tags.collect::<Vec<_>>().join(", ")
}

fn rest(all: usize, most: usize) -> String {
    if all > most { format!(", and {} more", all - most) } else { String::new() }
}

fn line(folder: &Folder, place: &VaultPath, day: &dyn Fn(Option<i64>) -> Option<String>) -> String {
    let indent = "  ".repeat(folder.depth);
    let name = if folder.path == *place {
        "in it directly".to_owned()
    } else {
        format!("{}/", shown(folder.path.name()))
    };
    let counts = if folder.path == *place { &folder.own } else { &folder.all };
    let mut line = format!("{indent}{name}");
    if !folder.alike.is_empty() {
        let others: Vec<String> =
            folder.alike.iter().take(FOLDER_ALIKE).map(|name| shown(name)).collect();
        let more = rest(folder.alike.len(), FOLDER_ALIKE);
        line.push_str(&format!(
            " and {} like it ({}{more})",
            folder.alike.len(),
            others.join(", ")
        ));
    }
    line.push_str(&format!(": {}{}", files(counts), change_period(counts, day)));
    let mut parts: Vec<String> = Vec::new();
    let names = folder.own.notes.max(if folder.own.notes == 0 { folder.own.others } else { 0 });
    let found =
        folder.conventions.iter().find(|found| found.matching * 2 > names || found.is_kept(names));
    if let Some(found) = found {
        let share = if found.matching == names {
            String::new()
        } else {
            format!(" ({} of {names})", found.matching)
        };
        parts.push(format!("named {}{share}", found.pattern));
    }
    let numbered = folder
        .numbered
        .iter()
        .take(FOLDER_NUMBERED)
        .map(|(name, count)| format!("{} ×{count}", shown(name)));
    parts.extend(numbered);
    let endings: Vec<String> = folder
        .endings
        .iter()
        .take(FOLDER_ENDINGS)
        .map(|(ending, count)| format!("{} {count}", shown(ending)))
        .collect();
    if !endings.is_empty() {
        parts.push(format!(
            "files {}{}",
            endings.join(", "),
            rest(folder.endings.len(), FOLDER_ENDINGS)
        ));
    }
    if !folder.tags.is_empty() {
        parts.push(tags(&folder.tags, FOLDER_TAGS));
    }
    let usual = |(_, count): &&(crate::bases::value::Text, usize)| count * 5 >= folder.own.notes;
    let properties: Vec<String> = folder
        .properties
        .iter()
        .filter(usual)
        .take(FOLDER_PROPERTIES)
        .map(|(name, _)| shown(name))
        .collect();
    if !properties.is_empty() {
        parts.push(format!("properties {}", properties.join(", ")));
    }
    for part in parts {
        line.push_str("; ");
        line.push_str(&part);
    }
    line
}
