//! The record of a file: its links and tags in compact form.

use std::sync::Arc;

use crate::index::changes::{Stamp, identity, stamp, unsure_for};
use crate::note::link::{LinkKind, is_external};
use crate::note::path::{PathRef, VaultPath};
use crate::note::text::Text;
use crate::note::{canvas, markdown};
use crate::vault::{Vault, VaultError};

/// Maximum number of links of a file; further ones are not in the graph, and the file is counted.
pub const MAX_LINKS: usize = 20_000;

/// Maximum number of tags of a file.
const MAX_TAGS: usize = 2_000;

/// The syntax of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Link(LinkKind),
    /// A file in a canvas, by its whole path.
    CanvasFile,
    CanvasCard,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLink {
    /// Linkpath and subpath, then a line break and the display text, if any. One string, since a graph has many
    /// links, shared by those with a linkpath alone.
    pub(super) text: Arc<str>,
    /// Length of the linkpath in bytes.
    pub(super) path_len: u32,
    pub form: Form,
    /// Line number from 1; in a canvas the index of the node.
    pub line: u32,
    /// First byte in the decoded text; 0 in a canvas.
    pub start: u32,
}

impl StoredLink {
    fn text(path: &str, subpath: &str, display: Option<&str>) -> (Arc<str>, u32) {
        let display = display.map(|text| format!("\n{text}")).unwrap_or_default();
        (format!("{path}{subpath}{display}").into(), small(path.len()))
    }

    /// Whether it is a linkpath alone, whose text is shared in the graph.
    pub(super) fn is_shared(&self) -> bool {
        self.path().len() == self.text.len()
    }

    /// The decoded linkpath; empty for the note itself.
    pub fn path(&self) -> &str {
        self.parts().0
    }

    /// The linkpath with the heading or block after a `#`.
    pub fn target(&self) -> &str {
        let (path, rest) = self.parts();
        &self.text[..path.len() + rest.find('\n').unwrap_or(rest.len())]
    }

    /// The display text, if there is one: after the pipe, or in the brackets of a Markdown link.
    pub fn display(&self) -> Option<&str> {
        self.parts().1.split_once('\n').map(|(_, display)| display)
    }

    fn parts(&self) -> (&str, &str) {
        self.text.split_at_checked(self.path_len as usize).unwrap_or((&self.text, ""))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTag {
    /// As in its first use, without `#`.
    pub name: Box<str>,
    pub uses: u32,
}

/// Why a file's links are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    TooLarge,
    NotText,
    NotCanvas,
    Unreadable,
    /// A folder that could not be listed.
    Unlisted,
    /// It has too many links or tags.
    TooMany,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    /// The file's stamp when it was read.
    pub stamp: Stamp,
    /// The file's identity when it was read.
    pub identity: u64,
    /// Whether the next change may have the same time, or the file could not be read, which may be
    /// temporary.
    pub unsure: bool,
    pub links: Vec<StoredLink>,
    pub tags: Vec<StoredTag>,
    pub gap: Option<Gap>,
}

/// Whether a file has a record.
pub(super) fn is_source(path: PathRef<'_>) -> bool {
    path.is_note() || is_canvas(path)
}

pub(super) fn is_canvas<'p>(path: impl Into<PathRef<'p>>) -> bool {
    path.into().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("canvas"))
}

/// Reads a file; `None` if it is gone.
pub(super) fn read(vault: &Vault, path: &VaultPath, seen: Stamp) -> Option<Record> {
    // Before the content is read: later changes have a later time.
    let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX);
    let record = read_now(vault, path, seen)?;
    let unsure = record.gap == Some(Gap::Unreadable) || unsure_for(record.stamp.1, now).is_some();
    Some(Record { unsure, ..record })
}

fn read_now(vault: &Vault, path: &VaultPath, seen: Stamp) -> Option<Record> {
    let gap = |stamp, gap| Record { stamp, gap: Some(gap), ..Record::default() };
    let content = match vault.read(path) {
        Ok(content) => content,
        Err(VaultError::TooLarge { .. }) => return Some(gap(seen, Gap::TooLarge)),
        Err(_) if vault.stat(path).is_err_and(|error| error.is_absence()) => return None,
        Err(_) => return Some(gap(seen, Gap::Unreadable)),
    };
    let stamp = stamp(&content.meta);
    let Ok(text) = Text::decode(&content.bytes, path.name()) else {
        return Some(gap(stamp, Gap::NotText));
    };
    let mut record = if is_canvas(path) { of_canvas(text.body()) } else { of_note(text.body()) };
    record.stamp = stamp;
    record.identity = identity(content.meta.id, content.meta.change_mark());
    record.links.shrink_to_fit();
    record.tags.shrink_to_fit();
    Some(record)
}

fn of_note(text: &str) -> Record {
    let document = markdown::read(text);
    let mut record = Record::default();
    for link in document.links.iter().filter(|link| link.counts()) {
        let path = link.linkpath(text);
        if !link.kind.is_wiki() && is_external(&text[link.path.clone()]) {
            continue;
        }
        if record.links.len() == MAX_LINKS {
            record.gap = Some(Gap::TooMany);
            break;
        }
        let display = link.display.clone().map(|range| link.unquoted(text[range].trim()));
        let display = display.as_deref().filter(|display| !display.is_empty());
        let (kept, path_len) = StoredLink::text(&path, &link.subpath(text), display);
        record.links.push(StoredLink {
            text: kept,
            path_len,
            form: Form::Link(link.kind),
            line: small(link.line),
            start: small(link.range.start),
        });
    }
    let properties = document.frontmatter.iter().flat_map(|found| found.tags());
    let inline = document.tags.iter().map(|tag| &text[tag.name.clone()]);
    let mut places = std::collections::HashMap::new();
    for name in properties.chain(inline) {
        let next = record.tags.len();
        let place = *places.entry(name).or_insert(next);
        match record.tags.get_mut(place) {
            Some(tag) => tag.uses += 1,
            None if next == MAX_TAGS => {
                record.gap = Some(Gap::TooMany);
                break;
            }
            None => record.tags.push(StoredTag { name: name.into(), uses: 1 }),
        }
    }
    record
}

fn of_canvas(text: &str) -> Record {
    let Ok(canvas) = canvas::read(text) else {
        return Record { gap: Some(Gap::NotCanvas), ..Record::default() };
    };
    let mut record = Record::default();
    if canvas.links.len() > MAX_LINKS {
        record.gap = Some(Gap::TooMany);
    }
    record.links = canvas
        .links
        .into_iter()
        .take(MAX_LINKS)
        .map(|link| {
            let (text, path_len) = StoredLink::text(&link.path, &link.subpath, None);
            let form = if link.is_file { Form::CanvasFile } else { Form::CanvasCard };
            StoredLink { text, path_len, form, line: small(link.number), start: 0 }
        })
        .collect();
    record
}

/// Files are limited to far less than 4 GB.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
