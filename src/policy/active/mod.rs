//! What a text makes Obsidian, or a plugin in it, load or run by itself when it is shown.
//!
//! Decided by parsing. Renderers disagree about where code, quotes and lists begin, so a note is
//! read in three ways (`markdown`), and whatever any of them shows counts. Code counts like prose:
//! to ask about an example in a code block costs less than an image that carries a diary to a
//! stranger. What cannot be parsed counts as active.
//!
//! Links do nothing until somebody follows them and are no finds, unless following them acts in
//! Obsidian or on this machine (`obsidian:`, `javascript:`, `file:` and the like).

mod address;
mod base;
mod data;
mod html;
mod markdown;

use std::collections::HashMap;

use crate::note::path::VaultPath;

/// Something in a text that loads or runs by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Find {
    /// Its line, from 1.
    pub line: usize,
    /// What it is, with all of its text: ``the image `https://example.com/a.png` ``.
    pub text: String,
}

/// How Obsidian reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Markdown with frontmatter.
    Note,
    /// JSON whose strings are shown: a canvas, a drawing.
    Canvas,
    /// YAML with formulas.
    Base,
    /// A program, a style sheet or a page: active whatever is in it.
    Code,
}

impl Format {
    /// The format of the file at `path`; `None` for files that nothing in Obsidian loads or runs.
    pub fn of(path: &VaultPath) -> Option<Self> {
        match path.extension()?.to_ascii_lowercase().as_str() {
            "md" => Some(Self::Note),
            "canvas" | "excalidraw" => Some(Self::Canvas),
            "base" => Some(Self::Base),
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "css" | "html" | "htm" | "xhtml"
            | "svg" => Some(Self::Code),
            _ => None,
        }
    }
}

/// A file's text and how it is read.
pub type Text<'a> = (Format, &'a str);

/// What is in `after` and was not in `before`, by meaning: an image that moves within a note, or
/// gets another description, is not new.
pub fn added(before: Option<Text>, after: Text) -> Vec<Find> {
    let found_after = found(after);
    if found_after.is_empty() {
        return Vec::new();
    }
    let mut known: HashMap<String, usize> = HashMap::new();
    for found in before.map(found).unwrap_or_default() {
        *known.entry(found.key).or_default() += 1;
    }
    let is_new = |found: &Found| match known.get_mut(&found.key) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    let new = found_after.into_iter().filter(is_new);
    new.map(|found| Find { line: found.line, text: found.text }).collect()
}

fn found((format, text): Text) -> Vec<Found> {
    // A renderer may drop what cannot be seen, so it must not keep a word from being recognised.
    let plain: String = text
        .chars()
        .filter(|c| !crate::note::path::is_invisible(*c))
        .map(|c| if c == '\0' { '\u{fffd}' } else { c })
        .collect();
    let mut found = match format {
        Format::Note => data::note(&plain),
        Format::Canvas => data::canvas(&plain),
        Format::Base => base::found(&plain, 1),
        Format::Code if plain.trim().is_empty() => Vec::new(),
        Format::Code => vec![Found::new(1, "code", &plain, "code that runs".to_owned())],
    };
    found.sort_by_key(|found| found.line);
    found
}

/// A find with its meaning.
#[derive(Debug, Clone)]
struct Found {
    /// Equal for what loads or runs the same.
    key: String,
    line: usize,
    text: String,
}

impl Found {
    /// `what` is of this `kind`; `text` shows it.
    fn new(line: usize, kind: &str, what: &str, text: String) -> Self {
        Self { key: format!("{kind} {what}"), line, text }
    }

    /// The same, shown as its kind and itself.
    fn shown(line: usize, kind: &str, what: &str) -> Self {
        Self::new(line, kind, what, format!("{kind} `{what}`"))
    }

    /// Something that cannot be parsed.
    fn unreadable(line: usize, what: &str, text: &str) -> Self {
        Self::new(line, "unreadable", text, format!("{what} that cannot be read"))
    }
}

/// What several readings of one text found. What more than one of them found counts as often as
/// in the one that found it most often.
fn union(readings: Vec<Vec<Found>>) -> Vec<Found> {
    let mut most: HashMap<String, Vec<Found>> = HashMap::new();
    for reading in readings {
        let mut by_key: HashMap<String, Vec<Found>> = HashMap::new();
        for found in reading {
            by_key.entry(found.key.clone()).or_default().push(found);
        }
        for (key, found) in by_key {
            let known = most.entry(key).or_default();
            if found.len() > known.len() {
                *known = found;
            }
        }
    }
    most.into_values().flatten().collect()
}

#[cfg(test)]
mod tests;
