//! Links to a heading or a block that does not exist.

use std::collections::{HashMap, HashSet};

use super::answers::{Links, file_at};
use super::record::is_canvas;
use super::resolver::{lower, resolve_among};
use crate::note::link::{Link, is_external};
use crate::note::path::{PathRef, VaultPath};
use crate::note::text::Text;
use crate::note::{canvas, markdown};
use crate::vault::Vault;

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

/// The parts of a note that links can name.
#[derive(Default)]
struct Parts {
    /// Level and key, in order.
    headings: Vec<(u8, String)>,
    /// Block ids in lower case.
    blocks: HashSet<String>,
}

/// The links of files below `folder` to missing headings and blocks, by path and place. Reads these files and
/// all notes they link to, and skips what cannot be read.
pub fn missing_parts(links: &Links, folder: &VaultPath) -> Vec<MissingPart> {
    let mut known: HashMap<VaultPath, Option<Parts>> = HashMap::new();
    let mut missing = Vec::new();
    let vault = &links.0.synced.vault;
    for source in links.sources(folder) {
        for (place, link, part, is_file) in links_with_parts(vault, &source) {
            let target = {
                let catalogue = vault.catalogue();
                match is_file {
                    true => file_at(&*catalogue, &link).map(PathRef::to_path),
                    false => resolve_among(&*catalogue, &source, &link).target,
                }
            };
            let Some(target) = target.filter(VaultPath::is_note) else { continue };
            let parts = known.entry(target.clone()).or_insert_with(|| parts_of(vault, &target));
            if parts.as_ref().is_some_and(|parts| !parts.have(&part)) {
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
        headings: headings.map(|found| (found.level, key(&text[found.text]))).collect(),
        blocks: blocks.map(|found| lower(&text[found.id])).collect(),
    })
}

impl Parts {
    /// Whether a heading or block exists. Other subpaths count as existing: footnotes, and syntax that Obsidian offers
    /// only while typing.
    fn have(&self, part: &str) -> bool {
        let names: Vec<&str> = part.split('#').map(str::trim).filter(|n| !n.is_empty()).collect();
        match names.last() {
            None => true,
            Some(name) if name.starts_with("[^") || name.starts_with("^^") => true,
            Some(name) if name.starts_with('^') => self.blocks.contains(&lower(&name[1..])),
            Some(_) => {
                let keys: Vec<String> = names.into_iter().map(key).collect();
                has(&self.headings, 0, &keys)
            }
        }
    }
}

/// Whether there are nested headings with these keys, below one of `level`.
fn has(headings: &[(u8, String)], level: u8, keys: &[String]) -> bool {
    let Some((first, rest)) = keys.split_first() else { return true };
    let section = headings.iter().position(|(other, _)| *other <= level);
    let section = &headings[..section.unwrap_or(headings.len())];
    let mut found = section.iter().enumerate().filter(|(_, (_, heading))| heading == first);
    found.any(|(at, (level, _))| has(&section[at + 1..], *level, rest))
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
        let parts = Parts {
            headings: headings.iter().map(|(level, text)| (*level, key(text))).collect(),
            blocks: HashSet::from(["b1".to_owned()]),
        };
        for (part, there) in [
            ("#one", true),
            ("#Two  a", true),
            ("#One#Deep", true),
            ("#Two: a#Deep", true),
            ("#Three#Deep", false),
            ("#Deep#One", false),
            ("#deep down", true),
            ("#Four", false),
            ("#^B1", true),
            ("#^b2", false),
            ("#One#^b1", true),
            ("#[^1]", true),
            ("#", true),
        ] {
            assert_eq!(parts.have(part), there, "{part}");
        }
    }
}
