//! Checks the names of a vault: those that break on some system, mislead, or differ from their folder's convention.
//!
//! A deviation is reported only if nearly all names of the folder agree (four of five, of at least eight), so that a
//! vault without conventions has none.

use std::collections::{BTreeMap, HashMap};

use chrono::NaiveDate;

use super::about;
use super::conventions::{self, Convention};
use super::shapes::parts::{day_and_time, is_untitled};
use super::shapes::style::Vocabulary;
use super::suggest::{About, makes_the_same, suggestions};
use crate::bases::date::Times;
use crate::bases::source::Source as _;
use crate::index::properties::VaultSnapshot;
use crate::note::fold::{fold_key, normal};
use crate::note::names::{NameReason, check_new_name};
use crate::note::path::{PathRef, VaultPath};

/// The length in bytes from which sync programs and encrypted disks may reject a name.
const LONG_NAME: usize = 143;

/// The length in characters from which a path is long: Windows allows 259 including the vault's folder.
const LONG_PATH: usize = 200;

/// The number of files with a common start from which they are not exceptions.
const MIN_ALIKE: usize = 4;

/// Metadata of a file besides its name.
#[derive(Debug, Clone)]
pub struct FileMetadata {
    pub path: VaultPath,
    /// The text of its first heading.
    pub heading: Option<String>,
    pub title: Option<String>,
    /// The days of its date properties.
    pub dates: Vec<(String, NaiveDate)>,
    /// The original, if the name is that of a conflict copy.
    pub conflict_of: Option<VaultPath>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub path: VaultPath,
    pub kind: FindingKind,
    /// A sentence for people, without the path.
    pub message: String,
    /// A suggested name with its extension.
    pub suggestion: Option<String>,
    pub others: Vec<VaultPath>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A system or sync program cannot store it.
    Forbidden,
    /// It has characters with a meaning in links.
    BreaksLinks,
    Long,
    /// Another name in the folder differs only in case or Unicode form.
    Twin,
    /// It is decomposed (Unicode NFD).
    Decomposed,
    ConflictCopy,
    Untitled,
    /// Another folder has a note of this name.
    SameName,
    /// It deviates from its folder's convention.
    Convention,
    /// The first heading is a different name.
    Heading,
    /// A property has a different day.
    Date,
}

words!(pub FindingKind::word {
    Forbidden => "forbidden", BreaksLinks => "breaks links", Long => "long", Twin => "twin",
    Decomposed => "decomposed", ConflictCopy => "conflict copy", Untitled => "untitled",
    SameName => "same name", Convention => "convention", Heading => "heading", Date => "date",
});

/// Collects the metadata of all files that the snapshot's caller may see; reads every note for its heading.
/// `conflict_of` gives the original of a conflict copy. The result of a cancelled call is invalid.
pub fn read(
    snapshot: &VaultSnapshot<'_>,
    times: &Times<'_>,
    conflict_of: &HashMap<VaultPath, VaultPath>,
) -> Vec<FileMetadata> {
    let mut files = Vec::new();
    for file in snapshot.files() {
        if snapshot.is_cancelled() {
            break;
        }
        let Some(path) = VaultPath::from_disk(&snapshot.path(file)) else { continue };
        let dates = about::dates(snapshot, times, file);
        files.push(FileMetadata {
            heading: snapshot.text(file).as_deref().and_then(about::heading),
            title: about::title(snapshot, file),
            dates: dates.into_iter().map(|(property, day, _)| (property, day)).collect(),
            conflict_of: conflict_of.get(&path).cloned(),
            path,
        });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// Checks the names in and below `within`; findings by path. `files` are all files of the vault, since a name may also
/// exist elsewhere.
pub fn check(files: &[FileMetadata], within: &VaultPath) -> Vec<Finding> {
    let mut vocabulary = Vocabulary::default();
    let mut folders: BTreeMap<&str, Vec<&FileMetadata>> = BTreeMap::new();
    let mut names: HashMap<String, Vec<&FileMetadata>> = HashMap::new();
    for file in files {
        let path = file.path.borrowed();
        if path.is_note() {
            vocabulary.learn(path.stem());
            names.entry(fold_key(path.name())).or_default().push(file);
        }
        folders.entry(path.parent().map_or("", PathRef::as_str)).or_default().push(file);
    }
    let mut found = Vec::new();
    for (folder, files) in &folders {
        if within.is_root() || PathRef::of(folder).is_within(within) {
            of_folder(files, &vocabulary, &mut found);
        }
    }
    for files in names.values().filter(|files| files.len() > 1) {
        let [first, others @ ..] = &files[..] else { continue };
        if !files.iter().any(|file| file.path.is_within(within)) {
            continue;
        }
        // Two in the same folder are reported as similar names.
        let elsewhere: Vec<VaultPath> = others
            .iter()
            .filter(|other| other.path.parent() != first.path.parent())
            .map(|other| other.path.clone())
            .collect();
        if elsewhere.is_empty() {
            continue;
        }
        let message = match elsewhere.len() {
            1 => format!(
                "`{}` has this name too, so that a link by name could mean either",
                elsewhere[0]
            ),
            more => {
                format!("{more} other notes have this name, so that a link by name could mean any")
            }
        };
        found.push(Finding { others: elsewhere, ..finding(first, FindingKind::SameName, message) });
    }
    found.sort_by(|a, b| (&a.path, a.kind).cmp(&(&b.path, b.kind)));
    found
}

fn finding(file: &FileMetadata, kind: FindingKind, message: String) -> Finding {
    Finding { path: file.path.clone(), kind, message, suggestion: None, others: Vec::new() }
}

/// Checks the names of one folder.
fn of_folder(files: &[&FileMetadata], vocabulary: &Vocabulary, found: &mut Vec<Finding>) {
    let mut twins: HashMap<String, Vec<&FileMetadata>> = HashMap::new();
    for file in files {
        of_name(file, found);
        twins.entry(fold_key(file.path.name())).or_default().push(file);
    }
    for twins in twins.values().filter(|twins| twins.len() > 1) {
        let [first, others @ ..] = &twins[..] else { continue };
        let message = format!(
            "`{}` differs in case or in the form of accents alone: Windows and macOS keep one of them",
            others[0].path.name()
        );
        let others = others.iter().map(|other| other.path.clone()).collect();
        found.push(Finding { others, ..finding(first, FindingKind::Twin, message) });
    }
    let (notes, others): (Vec<&&FileMetadata>, Vec<&&FileMetadata>) =
        files.iter().partition(|file| file.path.is_note());
    for group in [&notes, &others] {
        against_convention(group, vocabulary, found);
    }
    against_headings(&notes, found);
    against_dates(&notes, found);
}

fn of_name(file: &FileMetadata, found: &mut Vec<Finding>) {
    let name = file.path.name();
    if let Err(fault) = check_new_name(name) {
        let kind = match fault.reason {
            NameReason::LinkSyntax { .. } => FindingKind::BreaksLinks,
            NameReason::TooLong { .. } => FindingKind::Long,
            _ => FindingKind::Forbidden,
        };
        let message = fault.reason.to_string();
        found.push(Finding { suggestion: Some(fault.suggestion), ..finding(file, kind, message) });
    }
    let normal = normal(name);
    if name.len() > LONG_NAME {
        let message =
            format!("the name has {} bytes; encrypted disks allow {LONG_NAME}", name.len());
        found.push(finding(file, FindingKind::Long, message));
    } else {
        let characters = file.path.as_str().chars().count();
        if characters > LONG_PATH {
            let message = format!(
                "the path has {characters} characters; Windows allows 259, the vault's own folder included"
            );
            found.push(finding(file, FindingKind::Long, message));
        }
    }
    if normal != name {
        let message = "letters and accents are stored separately, or a blank is not a plain space: names that look alike are not found";
        let suggestion = Some(normal.into_owned());
        found.push(Finding {
            suggestion,
            ..finding(file, FindingKind::Decomposed, message.to_owned())
        });
    }
    if let Some(original) = &file.conflict_of {
        let message = format!("a sync program made it of `{original}`; compare both, keep one");
        found.push(Finding {
            others: vec![original.clone()],
            ..finding(file, FindingKind::ConflictCopy, message)
        });
    } else if is_untitled(file.path.stem()) {
        let title = file.title.as_ref().or(file.heading.as_ref());
        let message = match title {
            Some(title) => format!("it has a default name; it begins with \"{title}\""),
            None => "it has a default name".to_owned(),
        };
        found.push(finding(file, FindingKind::Untitled, message));
    }
}

fn against_convention(files: &[&&FileMetadata], vocabulary: &Vocabulary, found: &mut Vec<Finding>) {
    let names: Vec<&str> = files.iter().map(|file| file.path.stem()).collect();
    let kept =
        conventions::find(&names, vocabulary).into_iter().find(|one| one.is_kept(names.len()));
    let Some(Convention { pattern, matching, .. }) = kept.filter(|one| one.matching < names.len())
    else {
        return;
    };
    let is_odd = |file: &FileMetadata| {
        let name = file.path.stem();
        let has_other_problem = is_untitled(name) || file.conflict_of.is_some();
        // The pattern cannot improve a name that it leaves unchanged.
        !has_other_problem
            && !pattern.fits(name, vocabulary)
            && !makes_the_same(name, &pattern, vocabulary)
    };
    let odd: Vec<&FileMetadata> =
        files.iter().map(|file| **file).filter(|file| is_odd(file)).collect();
    let mut beginnings: HashMap<&str, usize> = HashMap::new();
    for file in &odd {
        *beginnings.entry(first_word(file.path.stem())).or_default() += 1;
    }
    for file in odd {
        let name = file.path.stem();
        // Several names with a common start have their own convention.
        if beginnings[first_word(name)] >= MIN_ALIKE {
            continue;
        }
        let about = About {
            name,
            title: file.title.clone(),
            heading: file.heading.clone(),
            proposed: None,
            dates: file.dates.iter().map(|(name, day)| (name.clone(), *day, None)).collect(),
        };
        let suggested =
            suggestions(&about, std::slice::from_ref(&pattern), vocabulary).into_iter().next();
        let suggestion = suggested.map(|suggested| with_extension(file, &suggested.name));
        let message = format!("{matching} of {} names here are {pattern}", names.len());
        found.push(Finding { suggestion, ..finding(file, FindingKind::Convention, message) });
    }
}

fn first_word(name: &str) -> &str {
    let end = name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len());
    &name[..end]
}

fn with_extension(file: &FileMetadata, stem: &str) -> String {
    match file.path.extension() {
        Some(extension) => format!("{stem}.{extension}"),
        None => stem.to_owned(),
    }
}

/// The letters and digits of a text, for comparing headings with names, which cannot contain all signs.
fn letters(text: &str) -> String {
    fold_key(text).chars().filter(|c| c.is_alphanumeric()).collect()
}

fn against_headings(notes: &[&&FileMetadata], found: &mut Vec<Finding>) {
    let titled: Vec<(&FileMetadata, &String)> = notes
        .iter()
        .filter_map(|note| note.heading.as_ref().map(|heading| (**note, heading)))
        .collect();
    let agrees =
        |(note, heading): &&(&FileMetadata, &String)| letters(heading) == letters(note.path.stem());
    let agreeing = titled.iter().filter(agrees).count();
    if !is_nearly_all(agreeing, titled.len()) {
        return;
    }
    for (note, heading) in titled.iter().filter(|one| !agrees(one)) {
        let message = format!(
            "its heading is \"{heading}\"; {agreeing} of {} headings here are the name",
            titled.len()
        );
        found.push(finding(note, FindingKind::Heading, message));
    }
}

fn is_nearly_all(some: usize, all: usize) -> bool {
    all >= 8 && some * 5 >= all * 4
}

fn against_dates(notes: &[&&FileMetadata], found: &mut Vec<Finding>) {
    let mut properties: BTreeMap<&str, Vec<(&FileMetadata, NaiveDate, NaiveDate)>> =
        BTreeMap::new();
    for note in notes {
        let Some(day) = day_and_time(note.path.stem()).0 else { continue };
        for (property, stated) in &note.dates {
            properties.entry(property).or_default().push((note, day, *stated));
        }
    }
    for (property, dated) in properties {
        let agreeing = dated.iter().filter(|(_, day, stated)| day == stated).count();
        if !is_nearly_all(agreeing, dated.len()) {
            continue;
        }
        for (note, _, stated) in dated.iter().filter(|(_, day, stated)| day != stated) {
            let message = format!(
                "its property `{property}` says {stated}; in {agreeing} of {} notes here it says the day of the name",
                dated.len()
            );
            found.push(finding(note, FindingKind::Date, message));
        }
    }
}
