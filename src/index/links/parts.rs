//! The headings and blocks to which links lead, and links to some that do not exist.

use std::collections::HashMap;

use super::answers::Links;
use super::record::is_canvas;
use super::resolver::{Files as _, VisibleFiles, file_at, lower, resolve_among};
use crate::note::link::{Link, is_external};
use crate::note::path::{PathRef, VaultPath};
use crate::note::text::Text;
use crate::note::{canvas, markdown};
use crate::vault::{Vault, View};

/// A link to an existing note with a heading or block that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPart {
    /// The file with the link.
    pub source: VaultPath,
    /// Line number from 1; in a canvas the index of the node.
    pub place: usize,
    /// The linkpath; empty for the note itself.
    pub link: String,
    /// The heading or block, with its `#`.
    pub part: String,
    /// The note that the link leads to.
    pub target: VaultPath,
}

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPlace {
    pub path: VaultPath,
    /// Line number from 1 of its heading or block; `None` if it names none that exists.
    pub line: Option<usize>,
    /// Whether it names a heading or block that does not exist.
    pub is_part_missing: bool,
}

/// The parts of a note that links can name, with their lines.
#[derive(Default)]
struct Parts {
    /// Level and key, in order.
    headings: Vec<(u8, String, usize)>,
    /// By their ids in lower case.
    blocks: HashMap<String, usize>,
}

/// Where a part of a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    At(usize),
    /// It may exist: footnotes, and syntax that Obsidian resolves only while typing.
    Perhaps,
    Missing,
}

/// The target of a link such as `Note#Heading` outside of notes; `None` if there is no such file.
pub fn place(vault: &Vault, link: &str) -> Option<LinkPlace> {
    let catalogue = vault.catalogue();
    let files = VisibleFiles { catalogue: &catalogue, view: vault.view() };
    // A file's name may have a `#`.
    if let Some(path) = files.at(link) {
        return Some(LinkPlace { path: path.to_path(), line: None, is_part_missing: false });
    }
    let (name, part) = link.find('#').map_or((link, ""), |at| link.split_at(at));
    let name = Some(name.trim()).filter(|name| !name.is_empty())?;
    let path = resolve_among(&files, &VaultPath::root(), name).target?;
    drop(catalogue);
    let parts = if path.is_note() && !part.is_empty() { parts_of(vault, &path) } else { None };
    let found = parts.map_or(Found::Perhaps, |parts| parts.find(part));
    let line = if let Found::At(line) = found { Some(line) } else { None };
    Some(LinkPlace { path, line, is_part_missing: found == Found::Missing })
}

/// The links of files below `folder` to missing headings and blocks, by path and place. Reads these files and
/// all notes they link to, and skips what cannot be read.
pub fn missing_parts(links: &Links, folder: &VaultPath) -> Vec<MissingPart> {
    let mut known: HashMap<VaultPath, Option<Parts>> = HashMap::new();
    let mut missing = Vec::new();
    let vault = &links.0.synced.vault;
    for source in links.in_view(&View::default()).sources(folder) {
        for (place, link, part, is_file) in links_with_parts(vault, &source) {
            let target = {
                let catalogue = vault.catalogue();
                if is_file {
                    file_at(&*catalogue, &link).map(PathRef::to_path)
                } else {
                    resolve_among(&*catalogue, &source, &link).target
                }
            };
            let Some(target) = target.filter(VaultPath::is_note) else { continue };
            let parts = known.entry(target.clone()).or_insert_with(|| parts_of(vault, &target));
            if parts.as_ref().is_some_and(|parts| parts.find(&part) == Found::Missing) {
                let source = source.clone();
                missing.push(MissingPart { source, place, link, part, target });
            }
        }
    }
    missing
}

/// Place, linkpath, heading or block, and whether it is the file of a canvas.
fn links_with_parts(vault: &Vault, path: &VaultPath) -> Vec<(usize, String, String, bool)> {
    let Ok(content) = vault.read(path) else { return Vec::new() };
    let Ok(text) = Text::decode(&content.bytes, path.name()) else { return Vec::new() };
    let text = text.body();
    if is_canvas(path) {
        let links = canvas::read(text).unwrap_or_default().links.into_iter();
        let links = links.filter(|link| !link.subpath.is_empty());
        return links.map(|l| (l.number, l.path, l.subpath, l.is_file)).collect();
    }
    let links = markdown::read(text).links.into_iter();
    let inside = links.filter(|link| {
        link.counts()
            && link.subpath.is_some()
            && (link.kind.is_wiki() || !is_external(&text[link.path.clone()]))
    });
    let of = |link: Link| {
        (link.line, link.linkpath(text).into_owned(), link.subpath(text).into_owned(), false)
    };
    inside.map(of).collect()
}

fn parts_of(vault: &Vault, path: &VaultPath) -> Option<Parts> {
    let content = vault.read(path).ok()?;
    let text = Text::decode(&content.bytes, path.name()).ok()?;
    let (text, document) = (text.body(), markdown::read(text.body()));
    let headings = document.headings.into_iter();
    let blocks = document.blocks.into_iter();
    Some(Parts {
        headings: headings.map(|it| (it.level, key(&text[it.text]), it.line)).collect(),
        blocks: blocks.map(|it| (lower(&text[it.id]), it.line)).collect(),
    })
}

impl Parts {
    fn find(&self, part: &str) -> Found {
        let names: Vec<&str> = part.split('#').map(str::trim).filter(|n| !n.is_empty()).collect();
        let line = match names.last() {
            None => return Found::Perhaps,
            Some(name) if name.starts_with("[^") || name.starts_with("^^") => {
                return Found::Perhaps;
            }
            Some(name) if name.starts_with('^') => self.blocks.get(&lower(&name[1..])).copied(),
            Some(_) => {
                let keys: Vec<String> = names.into_iter().map(key).collect();
                nested(&self.headings, 0, &keys)
            }
        };
        line.map_or(Found::Missing, Found::At)
    }
}

/// The line of the last of nested headings with these keys, below one of `level`.
fn nested(headings: &[(u8, String, usize)], level: u8, keys: &[String]) -> Option<usize> {
    let (first, rest) = keys.split_first()?;
    let section = headings.iter().position(|(other, ..)| *other <= level);
    let section = &headings[..section.unwrap_or(headings.len())];
    let mut found = section.iter().enumerate().filter(|(_, (_, heading, _))| heading == first);
    found.find_map(|(at, (level, _, line))| {
        if rest.is_empty() { Some(*line) } else { nested(&section[at + 1..], *level, rest) }
    })
}

/// The key by which headings are compared: no case, punctuation as blanks, blanks collapsed.
fn key(heading: &str) -> String {
    let punctuation = |c| "!\"#$%&()*+,.:;<=>?@^`{|}~/[]\\".contains(c);
    let plain: String = heading.chars().map(|c| if punctuation(c) { ' ' } else { c }).collect();
    lower(&plain).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_found_by_their_nesting() {
        let headings = [(1, "One"), (2, "Two: a"), (3, "Deep"), (2, "Three"), (1, "Deep *down*")];
        let headings = headings.iter().zip(1..);
        let parts = Parts {
            headings: headings.map(|((level, text), line)| (*level, key(text), line)).collect(),
            blocks: HashMap::from([("b1".to_owned(), 9)]),
        };
        for (part, found) in [
            ("#one", Found::At(1)),
            ("#Two  a", Found::At(2)),
            ("#One#Deep", Found::At(3)),
            ("#Two: a#Deep", Found::At(3)),
            ("#Three#Deep", Found::Missing),
            ("#Deep#One", Found::Missing),
            ("#deep down", Found::At(5)),
            ("#Four", Found::Missing),
            ("#^B1", Found::At(9)),
            ("#^b2", Found::Missing),
            ("#One#^b1", Found::At(9)),
            ("#[^1]", Found::Perhaps),
            ("#", Found::Perhaps),
        ] {
            assert_eq!(parts.find(part), found, "{part}");
        }
    }
}
