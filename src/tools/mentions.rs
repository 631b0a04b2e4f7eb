//! Places where the text of a note has the name of another note without being a link.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;
use unicode_normalization::char::is_combining_mark;

use super::text_file::TextFile;
use super::{Context, ToolError};
use crate::index::links::VisibleLinks;
use crate::note::fold::{fold_key, normal};
use crate::note::frontmatter;
use crate::note::link::LinkKind;
use crate::note::markdown::{self, Document};
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::vault::{Kind, Want};

/// Whether the mentions of a note are searched, or those in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Direction {
    /// Places in other notes that name this note.
    #[default]
    To,
    /// Places in this note that name other notes.
    From,
}

/// Places considered in one note.
const MAX_IN_NOTE: usize = 200;

/// The longest name in characters.
const LONGEST: usize = 120;

/// Names with fewer characters count only with the same capitals.
const SHORT: usize = 3;

/// A name that occurs in more than one of this many notes, and in more than this many notes, counts
/// only with the same capitals.
const COMMON_SHARE: usize = 20;
const COMMON: usize = 20;

/// Characters of a snippet before and after the name.
const AROUND: usize = 80;

#[derive(Debug, Clone)]
pub(super) struct Mention {
    /// The bytes of the name in the text.
    pub range: Range<usize>,
    pub line: usize,
    pub phrase: String,
    /// The text around it, in one line.
    pub snippet: String,
    pub target: VaultPath,
    /// The link to put in its place.
    pub link: String,
}

/// The names to look for, folded, each with its note.
#[derive(Debug, Default)]
struct Names {
    notes: HashMap<String, Option<VaultPath>>,
    /// Without folding.
    written: HashSet<String>,
    /// In characters, the longest first.
    lengths: Vec<usize>,
}

impl Names {
    /// The names of one note: its file's name, its aliases and `more`.
    fn of(context: &Context, note: &VaultPath, more: &[String]) -> Self {
        let mut names = Self::default();
        names.add(note, note.borrowed().stem());
        for name in aliases(context, note).iter().chain(more) {
            names.add(note, name);
        }
        names.finished()
    }

    /// The names of all visible notes but `except`. A name that several notes have means none of them.
    fn of_all(context: &Context, except: &VaultPath) -> Result<Self, ToolError> {
        let mut names = Self::default();
        for note in notes(context, &VaultPath::root()) {
            context.check_cancelled()?;
            if note == *except {
                continue;
            }
            names.add(&note, note.borrowed().stem());
            for alias in aliases(context, &note) {
                names.add(&note, &alias);
            }
        }
        for name in [except.borrowed().stem().to_owned()].iter().chain(&aliases(context, except)) {
            names.notes.remove(&fold_key(name.trim()));
        }
        Ok(names.finished())
    }

    fn add(&mut self, note: &VaultPath, name: &str) {
        let name = name.trim();
        if name.chars().count() > LONGEST || !name.contains(char::is_alphanumeric) {
            return;
        }
        self.written.insert(normal(name).into_owned());
        let known = self.notes.entry(fold_key(name)).or_insert_with(|| Some(note.clone()));
        if known.as_ref().is_some_and(|known| known != note) {
            *known = None;
        }
    }

    fn finished(mut self) -> Self {
        self.notes.retain(|_, note| note.is_some());
        let lengths: BTreeSet<usize> = self.notes.keys().map(|name| name.chars().count()).collect();
        self.lengths = lengths.into_iter().rev().collect();
        self
    }

    /// Whether the folded `text` may have one of a few names.
    fn may_be_in(&self, text: &str) -> bool {
        let key = fold_key(text);
        self.notes.len() > 100 || self.notes.keys().any(|name| key.contains(&**name))
    }

    /// Whether the text has the name with the same capitals.
    fn is_written(&self, phrase: &str) -> bool {
        self.written.contains(&*normal(phrase))
    }
}

/// All visible notes below a folder, or the note itself.
fn notes(context: &Context, place: &VaultPath) -> Vec<VaultPath> {
    if place.is_note() {
        return vec![place.clone()];
    }
    let catalogue = context.vault.catalogue();
    let files = catalogue.within(place).filter(|entry| entry.kind == Kind::File);
    files
        .map(|entry| entry.path())
        .filter(|path| path.is_note())
        .map(|path| path.to_path())
        .collect()
}

fn aliases(context: &Context, note: &VaultPath) -> Vec<String> {
    let Ok(content) = context.vault.read(note) else { return Vec::new() };
    let Ok(text) = Text::decode(&content.bytes, note.name()) else { return Vec::new() };
    let found = frontmatter::find(text.body(), 0);
    let aliases = found.as_ref().map(|found| found.aliases()).unwrap_or_default();
    aliases.into_iter().map(str::to_owned).collect()
}

/// The mentions in one note, in the order of the text, without those that cannot become a link: in
/// code, math, HTML, comments, properties, headings, tags, links and addresses.
fn in_text(text: &str, links: &VisibleLinks<'_>, names: &Names) -> Vec<Mention> {
    if !names.may_be_in(text) {
        return Vec::new();
    }
    let document = markdown::read(text);
    let mut lines = (0, 1);
    let mut found = Vec::new();
    for (range, target) in candidates(text, &document, names).into_iter().take(MAX_IN_NOTE) {
        let Some(link) = link(text, &document, &range, &links.linkpath_to(&target)) else {
            continue;
        };
        lines.1 += text[lines.0..range.start].matches('\n').count();
        lines.0 = range.start;
        found.push(Mention {
            phrase: text[range.clone()].to_owned(),
            snippet: snippet(text, &range),
            line: lines.1,
            range,
            target,
            link,
        });
    }
    found
}

/// The mentions of a note in the notes below `place`, or of others in it, by note. Notes with a link to the mentioned
/// note count only with `also_linked`.
pub(super) fn gather(
    context: &Context,
    links: &VisibleLinks<'_>,
    note: &VaultPath,
    direction: Direction,
    place: &VaultPath,
    more: &[String],
    also_linked: bool,
) -> Result<Vec<(TextFile, Vec<Mention>)>, ToolError> {
    match direction {
        Direction::To => {
            let names = Names::of(context, note, more);
            let mut places = notes(context, place);
            if !also_linked {
                let sources: HashSet<VaultPath> =
                    links.backlinks(note).into_iter().map(|found| found.source).collect();
                places.retain(|path| !sources.contains(path));
            }
            in_notes(context, links, &names, &places)
        }
        Direction::From => {
            let names = Names::of_all(context, note)?;
            let mut found = in_notes(context, links, &names, std::slice::from_ref(note))?;
            if !also_linked {
                let leads = links.outgoing(note).unwrap_or_default();
                let linked: HashSet<VaultPath> =
                    leads.into_iter().filter_map(|lead| lead.resolution.target).collect();
                found.iter_mut().for_each(|(_, mentions)| {
                    mentions.retain(|mention| !linked.contains(&mention.target));
                });
                found.retain(|(_, mentions)| !mentions.is_empty());
            }
            Ok(found)
        }
    }
}

/// The note that a tool's `path` names.
pub(super) fn note(context: &Context, requested: &str) -> Result<VaultPath, ToolError> {
    let path = context.find(requested, Want::File)?.path;
    if path.is_note() {
        Ok(path)
    } else {
        Err(ToolError::invalid(format!("`{path}` is not a note"), "give a note as `path`"))
    }
}

/// The mentions in notes, by note. Names that occur in many of the notes must have the same capitals.
fn in_notes(
    context: &Context,
    links: &VisibleLinks<'_>,
    names: &Names,
    places: &[VaultPath],
) -> Result<Vec<(TextFile, Vec<Mention>)>, ToolError> {
    let mut found = Vec::new();
    for path in places {
        context.check_cancelled()?;
        let Ok(content) = context.vault.read(path) else { continue };
        let file = TextFile { path: path.clone(), content };
        let Ok(text) = file.editable() else { continue };
        let mut mentions = in_text(text.body(), links, names);
        mentions.retain(|mention| mention.target != *path);
        if !mentions.is_empty() {
            found.push((file, mentions));
        }
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (_, mentions) in &found {
        let keys: HashSet<String> =
            mentions.iter().map(|mention| fold_key(&mention.phrase)).collect();
        keys.into_iter().for_each(|key| *counts.entry(key).or_default() += 1);
    }
    let is_common = |key: &str| {
        let notes = counts.get(key).copied().unwrap_or_default();
        notes > COMMON && notes * COMMON_SHARE > places.len()
    };
    for (_, mentions) in &mut found {
        mentions.retain(|mention| {
            !is_common(&fold_key(&mention.phrase)) || names.is_written(&mention.phrase)
        });
    }
    found.retain(|(_, mentions)| !mentions.is_empty());
    Ok(found)
}

/// The places of names as whole words in prose.
fn candidates(text: &str, document: &Document, names: &Names) -> Vec<(Range<usize>, VaultPath)> {
    let folded = Folded::of(text, document.body);
    let mut found = Vec::new();
    let mut at = 0;
    let mut link = document.links.iter().peekable();
    let last = folded.places.len() - 1;
    while at < last {
        let start = folded.places[at].0;
        // A nested link ends before the outer one.
        while link.next_if(|link| link.range.end <= start).is_some() {}
        if link.peek().is_some_and(|link| link.range.contains(&start)) || !folded.is_boundary(at) {
            at += 1;
            continue;
        }
        let named = names.lengths.iter().find_map(|length| {
            let end = at.checked_add(*length).filter(|end| *end <= last)?;
            let key = &folded.text[folded.places[at].1..folded.places[end].1];
            let note = names.notes.get(key).filter(|_| folded.is_boundary(end))?;
            Some((end, note.clone()?))
        });
        let Some((end, target)) = named else {
            at += 1;
            continue;
        };
        let range = start..folded.places[end].0;
        let phrase = &text[range.clone()];
        let is_said = phrase.chars().count() >= SHORT || names.is_written(phrase);
        if is_said && !is_address(text, &range) {
            found.push((range, target));
        }
        at = end;
    }
    found
}

/// A text as fold keys, character by character.
struct Folded {
    text: String,
    /// For each character and the end: the byte in the text where it begins, and in the folded text.
    places: Vec<(usize, usize)>,
    letters: Vec<char>,
}

impl Folded {
    fn of(text: &str, from: usize) -> Self {
        let mut folded = Self {
            text: String::with_capacity(text.len()),
            places: Vec::new(),
            letters: Vec::new(),
        };
        let mut rest = text.char_indices().skip_while(|(at, _)| *at < from).peekable();
        while let Some((start, c)) = rest.next() {
            let mut end = start + c.len_utf8();
            while let Some((at, mark)) = rest.next_if(|(_, c)| is_combining_mark(*c)) {
                end = at + mark.len_utf8();
            }
            let key = if c.is_ascii() && end == start + 1 {
                c.to_ascii_lowercase().to_string()
            } else {
                fold_key(&text[start..end])
            };
            for c in key.chars() {
                folded.places.push((start, folded.text.len()));
                folded.letters.push(c);
                folded.text.push(c);
            }
        }
        folded.places.push((text.len(), folded.text.len()));
        folded
    }

    /// Whether a word may begin or end before this character.
    fn is_boundary(&self, at: usize) -> bool {
        let (Some(before), Some(after)) =
            (at.checked_sub(1).map(|at| self.letters[at]), self.letters.get(at).copied())
        else {
            return true;
        };
        if self.places[at - 1].0 == self.places[at].0 {
            return false;
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        !is_word(before) || !is_word(after) || is_dense(before) || is_dense(after)
    }
}

/// Whether the script of this letter has no blanks between words.
fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether the place is part of an address that is not marked as a link.
fn is_address(text: &str, range: &Range<usize>) -> bool {
    let before = text[..range.start].rsplit(char::is_whitespace).next().unwrap_or_default();
    let after = text[range.end..].split(char::is_whitespace).next().unwrap_or_default();
    let word = &text[range.start - before.len()..range.end + after.len()];
    ["://", "www.", "mailto:", "@"].iter().any(|mark| word.contains(mark))
}

/// The link that replaces a name; `None` if that would change more of the note than adding this link.
fn link(text: &str, before: &Document, range: &Range<usize>, linkpath: &str) -> Option<String> {
    let line_start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[range.start..].find('\n').map_or(text.len(), |at| range.start + at);
    if before.headings.iter().any(|it| it.text.start >= line_start && it.text.start < line_end) {
        return None;
    }
    let phrase = &text[range.clone()];
    let plain = (phrase == linkpath).then(|| format!("[[{phrase}]]"));
    let forms = plain.into_iter();
    let forms =
        forms.chain([format!("[[{linkpath}|{phrase}]]"), format!("[[{linkpath}\\|{phrase}]]")]);
    forms.into_iter().find(|form| {
        let new = format!("{}{form}{}", &text[..range.start], &text[range.end..]);
        let after = markdown::read(&new);
        let is_there = after.links.iter().any(|link| {
            link.kind == LinkKind::Wikilink
                && link.range == (range.start..range.start + form.len())
                && !link.in_comment
                && link.frontmatter.is_none()
                && new[link.path.clone()] == *linkpath
                && link.display.as_ref().is_none_or(|shown| new[shown.clone()] == *phrase)
        });
        let counts = |it: &Document| {
            (it.headings.len(), it.blocks.len(), it.tags.len(), it.block_ranges.len())
        };
        is_there && after.links.len() == before.links.len() + 1 && counts(&after) == counts(before)
    })
}

fn snippet(text: &str, range: &Range<usize>) -> String {
    let line_start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
    let (before, after) = (&text[line_start..range.start], &text[range.end..line_end]);
    let cut = before.char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
    let (head, before) = (if cut > 0 { "…" } else { "" }, &before[cut..]);
    let end = after.char_indices().nth(AROUND).map(|(at, _)| at);
    let (tail, after) = match end {
        Some(end) => ("…", &after[..end]),
        None => ("", after),
    };
    format!("{head}{before}{}{after}{tail}", &text[range.clone()]).trim().to_owned()
}
